//! The rows that DISTINCT and GROUP_CONCAT keep: arguments, then ORDER BY keys, row after row.
//!
//! - DISTINCT: a row is found again by hash. The sum of COUNT, SUM and AVG is made as rows come in.
//! - GROUP_CONCAT: rows behind the longest result are not kept. With ORDER BY that is not known before the end, so rows
//!   lie in a heap. Only as many are taken out of it, in order, as the result has place for.
//!
//! Invariants: no call does more than a row's share of the work, but for `concatenate`, which writes the result.
//! [`KeptRows::settle`] does before it, in portions, what grows with the rows. A row is kept once if the call says
//! DISTINCT.

use super::{AggregateCall, AggregateFunction, Sum};
use crate::comparison::{compare_values, hash_value};
use crate::context::{Context, EvaluationError};
use crate::conversion::write_text;
use std::cmp::Ordering;
use stdx::HashIndex;
use stdx::wire::{Decoder, Encoder, Wire, WireError};
use types::{Value, ValueRef};

/// A portion of rows has so many bytes and a row at most.
const PORTION_BYTES: usize = 4 * 1024;

/// Rows of one group.
#[derive(Clone, Debug, Default)]
pub struct KeptRows {
    values: Vec<Value>,
    /// Bytes of the texts, and one for each other value: the result of GROUP_CONCAT is not shorter.
    size: usize,
    /// Rows were not kept because the result is full already.
    cut: bool,
    /// DISTINCT: rows by hash. Empty after decoding: made again when the next row comes.
    positions: HashIndex,
    /// SUM and AVG of the first so many rows.
    sum: Sum,
    summed: usize,
    /// ORDER BY: the rows that are not taken yet, the first of them at the top.
    heap: Vec<u32>,
    /// The rows that were taken, in order, and the bytes of their texts.
    taken: Vec<u32>,
    taken_size: usize,
}

impl PartialEq for KeptRows {
    fn eq(&self, other: &Self) -> bool {
        self.values == other.values && self.cut == other.cut
    }
}

impl Wire for KeptRows {
    fn encode(&self, encoder: &mut Encoder<'_>) {
        self.values.encode(encoder);
        self.cut.encode(encoder);
    }
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, WireError> {
        let values: Vec<Value> = Vec::decode(decoder)?;
        let size = values.iter().map(|value| text_size(&value.as_ref())).sum();
        Ok(Self { values, size, cut: bool::decode(decoder)?, ..Self::default() })
    }
}

/// The bytes that a value has at least as text.
fn text_size(value: &ValueRef<'_>) -> usize {
    if let ValueRef::Bytes(bytes) = value { bytes.len() } else { 1 }
}

fn width_of(call: &AggregateCall) -> usize {
    (call.arguments.len() + call.order_by.len()).max(1)
}

impl KeptRows {
    /// How many rows there are.
    pub(super) fn count(&self, call: &AggregateCall) -> usize {
        self.values.len() / width_of(call)
    }

    /// The bytes that it holds beyond its own size.
    pub(super) fn memory_size(&self) -> usize {
        let orders = (self.heap.capacity() + self.taken.capacity()) * size_of::<u32>();
        self.size + self.values.capacity() * size_of::<Value>() + self.positions.size() + orders
    }

    fn row(&self, index: usize, width: usize) -> &[Value] {
        self.values.get(index * width..(index + 1) * width).unwrap_or_default()
    }

    /// Adds a row, unless DISTINCT knows it already or the result is full.
    pub(super) fn insert(
        &mut self,
        row: &[ValueRef<'_>],
        call: &AggregateCall,
    ) -> Result<(), EvaluationError> {
        stdx::require!(row.len() == width_of(call), "a row has all values of its call");
        let Some(hash) = self.admit(|number| row[number], call)? else { return Ok(()) };
        self.values.extend(row.iter().map(|value| value.to_value()));
        self.admitted(hash, call)
    }

    /// Whether a row with these values is added: then its hash, for `admitted`.
    fn admit<'v>(
        &mut self,
        value: impl Fn(usize) -> ValueRef<'v>,
        call: &AggregateCall,
    ) -> Result<Option<u64>, EvaluationError> {
        self.catch_up(call)?;
        let hash = if call.distinct { hash_row(&value, call) } else { 0 };
        if call.distinct && self.knows(&value, hash, call) {
            return Ok(None);
        }
        let is_concatenated = call.function == AggregateFunction::GroupConcat;
        if is_concatenated && call.order_by.is_empty() && self.size > size_max(call) {
            self.cut = true;
            return Ok(None);
        }
        self.size += (0..width_of(call)).map(|number| text_size(&value(number))).sum::<usize>();
        Ok(Some(hash))
    }

    /// A row that was admitted is behind the others.
    fn admitted(&mut self, hash: u64, call: &AggregateCall) -> Result<(), EvaluationError> {
        if call.distinct {
            self.positions.push(hash);
        }
        self.catch_up(call)
    }

    /// Does for rows that came by a message what is done for each when it is inserted.
    fn catch_up(&mut self, call: &AggregateCall) -> Result<(), EvaluationError> {
        let is_summed = matches!(call.function, AggregateFunction::Sum | AggregateFunction::Average);
        if !is_summed
            && call.order_by.is_empty()
            && self.positions.len() * width_of(call) == self.values.len()
        {
            return Ok(());
        }
        let (width, count) = (width_of(call), self.count(call));
        while call.distinct && self.positions.len() < count {
            let row = self.row(self.positions.len(), width);
            let hash = hash_row(&|number| row.get(number).map_or(ValueRef::Null, Value::as_ref), call);
            self.positions.push(hash);
        }
        while !call.order_by.is_empty() && self.heap.len() + self.taken.len() < count {
            self.push_heap(call);
        }
        if is_summed {
            (self.sum, self.summed) = (self.whole_sum(call)?, count);
        }
        Ok(())
    }

    fn knows<'v>(&self, value: &impl Fn(usize) -> ValueRef<'v>, hash: u64, call: &AggregateCall) -> bool {
        let same_hash =
            std::iter::successors(self.positions.first(hash), |number| self.positions.next(*number));
        same_hash.into_iter().any(|number| {
            let known = self.row(number as usize, width_of(call)).iter().zip(&call.arguments).enumerate();
            known.into_iter().all(|(number, (known, argument))| {
                compare_values(&known.as_ref(), &value(number), &argument.sql_type).is_eq()
            })
        })
    }

    /// The sum of the first values of all rows.
    pub(super) fn whole_sum(&self, call: &AggregateCall) -> Result<Sum, EvaluationError> {
        let (mut sum, width) = (self.sum, width_of(call));
        for row in self.values.chunks_exact(width).skip(self.summed) {
            // Arguments are numbers: nothing of their conversion is worth a warning.
            sum.add_value(row[0].as_ref(), &Context::default())?;
        }
        Ok(sum)
    }

    // ---- the order of rows ------------------------------------------------------------------------------------------

    fn order(&self, left: u32, right: u32, call: &AggregateCall) -> Ordering {
        let width = width_of(call);
        let keys = |number: u32| self.row(number as usize, width).iter().skip(call.arguments.len());
        for ((left, right), order) in keys(left).zip(keys(right)).zip(&call.order_by) {
            let ordering = compare_values(&left.as_ref(), &right.as_ref(), &order.expression.sql_type);
            if ordering.is_ne() {
                return if order.descending { ordering.reverse() } else { ordering };
            }
        }
        left.cmp(&right)
    }

    /// Puts the next row into the heap.
    fn push_heap(&mut self, call: &AggregateCall) {
        let number = self.heap.len() + self.taken.len();
        let mut place = self.heap.len();
        self.heap.push(u32::try_from(number).unwrap_or(u32::MAX));
        while place > 0 {
            let parent = (place - 1) / 2;
            if self.order(self.heap[parent], self.heap[place], call).is_le() {
                return;
            }
            self.heap.swap(parent, place);
            place = parent;
        }
    }

    /// Takes the first row out of the heap.
    fn pop_heap(&mut self, call: &AggregateCall) {
        if self.heap.is_empty() {
            return;
        }
        let first = self.heap.swap_remove(0);
        let mut place = 0;
        loop {
            let children = 2 * place + 1..(2 * place + 3).min(self.heap.len());
            let Some(child) =
                children.min_by(|left, right| self.order(self.heap[*left], self.heap[*right], call))
            else {
                break;
            };
            if self.order(self.heap[place], self.heap[child], call).is_le() {
                break;
            }
            self.heap.swap(place, child);
            place = child;
        }
        let row = self.row(first as usize, width_of(call));
        let size: usize = row.iter().take(call.arguments.len()).map(|value| text_size(&value.as_ref())).sum();
        self.taken_size += size;
        self.taken.push(first);
    }

    /// Takes at most `rows_max` rows in order; true if the result needs no more.
    pub(super) fn settle(&mut self, call: &AggregateCall, rows_max: usize) -> Result<bool, EvaluationError> {
        self.catch_up(call)?;
        for _ in 0..rows_max {
            if self.is_settled(call) {
                return Ok(true);
            }
            self.pop_heap(call);
        }
        Ok(self.is_settled(call))
    }

    fn is_settled(&self, call: &AggregateCall) -> bool {
        self.heap.is_empty() || self.taken_size > size_max(call)
    }

    /// GROUP_CONCAT of all rows.
    pub(super) fn concatenate(
        &self,
        call: &AggregateCall,
        context: &Context<'_>,
    ) -> Result<Value, EvaluationError> {
        let count = self.count(call);
        if count == 0 {
            return Ok(Value::Null);
        }
        if call.order_by.is_empty() {
            return Ok(self.written(0..count, call, context));
        }
        if self.taken.len() + self.heap.len() == count && self.is_settled(call) {
            let rows = self.taken.iter().map(|number| *number as usize);
            return Ok(self.written(rows, call, context));
        }
        let mut settled = self.clone();
        settled.settle(call, count)?;
        settled.concatenate(call, context)
    }

    /// The texts of rows, as far as they fit.
    fn written(
        &self,
        rows: impl Iterator<Item = usize>,
        call: &AggregateCall,
        context: &Context<'_>,
    ) -> Value {
        let (limit, width) = (size_max(call), width_of(call));
        let (mut text, mut written) = (Vec::new(), 0);
        for row in rows {
            if written > 0 {
                text.extend_from_slice(&call.separator);
            }
            for (value, argument) in self.row(row, width).iter().zip(&call.arguments) {
                write_text(value.as_ref(), &argument.sql_type, &mut text);
            }
            written += 1;
            if text.len() > limit {
                break;
            }
        }
        let is_cut = self.cut || text.len() > limit;
        if text.len() > limit {
            let mut end = limit;
            while end > 0 && text.get(end).is_some_and(|byte| byte & 0xc0 == 0x80) {
                end -= 1;
            }
            text.truncate(end);
        }
        if is_cut {
            context.warnings.push(1260, || format!("Row {written} was cut by GROUP_CONCAT()"));
        }
        Value::Bytes(text)
    }

    /// Some rows from this one on, and the one behind them if there is any.
    pub(super) fn portion(&self, call: &AggregateCall, from: usize) -> (Self, Option<usize>) {
        let (width, count) = (width_of(call), self.count(call));
        let (mut size, mut end) = (0, from.min(count));
        while end < count && size < PORTION_BYTES {
            size += self.row(end, width).iter().map(|value| text_size(&value.as_ref())).sum::<usize>();
            end += 1;
        }
        let values = self.values.get(from * width..end * width).unwrap_or_default().to_vec();
        let portion = Self { values, size, cut: self.cut, ..Self::default() };
        (portion, (end < count).then_some(end))
    }

    /// Rows of another state of the same group.
    pub(super) fn merge(&mut self, other: Self, call: &AggregateCall) -> Result<(), EvaluationError> {
        let width = width_of(call);
        self.cut |= other.cut;
        let mut values = other.values.into_iter();
        while values.len() >= width {
            let row = values.as_slice();
            match self.admit(|number| row[number].as_ref(), call)? {
                Some(hash) => {
                    self.values.extend(values.by_ref().take(width));
                    self.admitted(hash, call)?;
                }
                None => values.by_ref().take(width).for_each(drop),
            }
        }
        Ok(())
    }
}

fn size_max(call: &AggregateCall) -> usize {
    usize::try_from(call.size_max).unwrap_or(usize::MAX)
}

fn hash_row<'v>(value: &impl Fn(usize) -> ValueRef<'v>, call: &AggregateCall) -> u64 {
    call.arguments.iter().enumerate().fold(0_u64, |hash, (number, argument)| {
        hash.rotate_left(21) ^ hash_value(&value(number), &argument.sql_type)
    })
}
