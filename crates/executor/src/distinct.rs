//! DISTINCT: rows that were seen before are omitted. Rows are equal if each shown value is, under its collation.
//!
//! New rows are given on as they come. When they find no more memory they go to scratch (`hash_runs`). From then on
//! rows are kept and not given on: the first run tells at the end which of them were given before.
//!
//! *In order.* Rows may come in the order of an index that ORDER BY asks for. Then those in scratch have the numbers of
//! their arrival, and the ones that were not given on are sorted by them.
//!
//! Invariant: what the seen rows hold is charged, but for `UNCHARGED_MAX`. A row in a run is its place in the order of
//! hashes, its values, and its number; 0: it was given on.

use crate::cx::Cx;
use crate::hash_runs::{HashRuns, Put};
use crate::outcome::Failure;
use crate::row_buffer::{RowAt, RowBuffer};
use crate::row_memory::RowMemory;
use crate::scratch::RunWriter;
use crate::sort::Merged;
use crate::table_reader::Pump;
use expression::context::TextWork;
use expression::{compare_values, hash_value};
use planner::plan::SortColumn;
use query::RowSink;
use stdx::{HashIndex, Pages};
use types::{IntegerWidth, SqlType, ValueRef};

/// Texts are hashed, and compared with one that is probably equal.
pub(crate) fn pass_texts(row: &[ValueRef<'_>], work: &TextWork) {
    for value in row {
        if let ValueRef::Bytes(text) = value {
            work.add(text.len());
        }
    }
}

/// The hash of the first values of a row.
pub(crate) fn hash_row(row: &[ValueRef<'_>], types: &[SqlType]) -> u64 {
    let hashes = row.iter().zip(types).map(|(value, sql_type)| hash_value(value, sql_type));
    hashes.fold(0, |hash: u64, value| (hash.rotate_left(5) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Whether the first values of two rows are equal.
pub(crate) fn equal_rows<'l>(
    left: impl Iterator<Item = ValueRef<'l>>,
    right: &[ValueRef<'_>],
    types: &[SqlType],
) -> bool {
    left.zip(right).zip(types).all(|((left, right), sql_type)| compare_values(&left, right, sql_type).is_eq())
}

/// Rows, each once.
#[derive(Debug)]
pub(crate) struct RowTable {
    types: Vec<SqlType>,
    rows: RowBuffer,
    /// Where each row is, by its position.
    places: Pages<RowAt>,
    positions: HashIndex,
    /// Bytes of all of this. Counted when a row is kept, because each row asks for it.
    size: usize,
    memory: RowMemory,
    text_work: TextWork,
}

impl RowTable {
    /// Compares the first values of each row, of these types.
    pub(crate) fn new(types: Vec<SqlType>) -> Self {
        Self {
            types,
            rows: RowBuffer::default(),
            places: Pages::default(),
            positions: HashIndex::default(),
            size: 0,
            memory: RowMemory::default(),
            text_work: TextWork::default(),
        }
    }

    /// Pays for the rows that came. True if they should go to scratch.
    pub(crate) fn pay(&mut self, may_spill: bool, cx: &mut Cx<'_>) -> Result<bool, Failure> {
        cx.env.budget.spend(self.text_work.take_rows());
        self.memory.pay(self.size, may_spill, cx)
    }

    /// No more rows before they are paid for.
    pub(crate) fn is_full(&self) -> bool {
        self.text_work.is_much() || self.memory.is_full(self.size)
    }

    /// The position of an equal row, in the order in which rows were kept.
    pub(crate) fn find(&self, row: &[ValueRef<'_>]) -> Option<usize> {
        let shown = self.shown(row);
        pass_texts(shown, &self.text_work);
        self.find_hashed(shown, hash_row(shown, &self.types))
    }

    /// The same; the row is kept if there is none, which is told.
    pub(crate) fn find_or_keep(&mut self, row: &[ValueRef<'_>]) -> (usize, bool) {
        self.find_or_keep_as(row, self.shown(row))
    }

    /// The same; `kept` are the values that are kept.
    fn find_or_keep_as(&mut self, row: &[ValueRef<'_>], kept: &[ValueRef<'_>]) -> (usize, bool) {
        let shown = self.shown(row);
        pass_texts(shown, &self.text_work);
        let hash = hash_row(shown, &self.types);
        if let Some(position) = self.find_hashed(shown, hash) {
            return (position, false);
        }
        self.positions.push(hash);
        self.places.push(self.rows.push(kept.iter().copied()));
        self.size = self.rows.size() + self.places.size() + self.positions.size();
        (self.places.len() - 1, true)
    }

    fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Forgets all rows, and keeps the memory of a few.
    fn clear(&mut self) {
        self.rows.clear();
        self.places.clear();
        self.positions.clear();
        self.size = self.rows.size() + self.places.size() + self.positions.size();
    }

    /// Forgets all rows, and gives their memory back.
    pub(crate) fn give_up_rows(&mut self, cx: &mut Cx<'_>) {
        (self.rows, self.places) = (RowBuffer::default(), Pages::default());
        (self.positions, self.size) = (HashIndex::default(), 0);
        self.memory.give_back(cx);
    }

    /// Lends the row at a position.
    pub(crate) fn lend(&self, position: usize, take: impl FnOnce(&[ValueRef<'_>])) {
        self.rows.lend(*self.places.get(position), take);
    }

    fn shown<'r, 'v>(&self, row: &'r [ValueRef<'v>]) -> &'r [ValueRef<'v>] {
        &row[..self.types.len().min(row.len())]
    }

    fn find_hashed(&self, shown: &[ValueRef<'_>], hash: u64) -> Option<usize> {
        let same_hash =
            std::iter::successors(self.positions.first(hash), |position| self.positions.next(*position));
        let is_equal =
            |position: &usize| equal_rows(self.rows.values(*self.places.get(*position)), shown, &self.types);
        same_hash.map(|position| position as usize).find(is_equal)
    }
}

/// DISTINCT.
#[derive(Debug)]
pub struct Distinct {
    /// The rows that came since the last run was written.
    seen: RowTable,
    /// Rows that were written to scratch.
    runs: Option<Box<HashRuns>>,
    /// Some runs are written: rows are not given on when they come.
    is_held: bool,
    /// Rows come in an order that is kept. They have no values behind those that are compared.
    is_ordered: bool,
    /// Rows of the runs.
    written: u64,
    rest: Option<Box<Rest>>,
}

impl Distinct {
    /// Compares the first values of each row, of these types.
    pub fn new(types: Vec<SqlType>) -> Self {
        let seen = RowTable::new(types);
        Self { seen, runs: None, is_held: false, is_ordered: false, written: 0, rest: None }
    }

    /// The same for rows that come in an order which is to be kept.
    pub(crate) fn in_order(types: Vec<SqlType>) -> Self {
        Self { is_ordered: true, ..Self::new(types) }
    }

    /// A sink that gives new rows on to another, after [`Distinct::pay`].
    pub fn before<'a>(&'a mut self, sink: &'a mut dyn RowSink) -> DistinctSink<'a> {
        DistinctSink { distinct: self, sink }
    }

    /// All inputs have ended. If the rows that were not given on have lost their order: the column behind their values
    /// that gives it.
    pub(crate) fn lost_order(&self) -> Option<SortColumn> {
        let sql_type = SqlType::Integer { width: IntegerWidth::Big, unsigned: true };
        let column = SortColumn { position: self.seen.types.len(), sql_type, descending: false };
        (self.is_ordered && self.runs.is_some()).then_some(column)
    }

    /// All inputs have ended: gives the rows that were not given on when they came.
    pub fn give_rest(&mut self, cx: &mut Cx<'_>, sink: &mut dyn RowSink) -> Result<Pump, Failure> {
        if self.runs.is_none() {
            self.seen.give_up_rows(cx);
            return Ok(Pump::End);
        }
        let is_ordered = self.is_ordered;
        let rest = match &mut self.rest {
            Some(rest) => rest,
            None => match self.merge(cx)? {
                Ok(merged) => {
                    let equals = RowTable::new(std::mem::take(&mut self.seen.types));
                    self.rest.insert(Box::new(Rest { merged, equals, is_ordered, order: 0 }))
                }
                Err(pump) => return Ok(pump),
            },
        };
        rest.give(cx, sink)
    }

    /// Nobody wants more rows.
    pub(crate) fn close(&mut self, cx: &mut Cx<'_>) {
        self.seen.give_up_rows(cx);
        if let Some(runs) = &mut self.runs {
            runs.close(cx);
        }
        if let Some(rest) = &mut self.rest {
            rest.merged.close(cx);
            rest.equals.give_up_rows(cx);
        }
    }

    /// False if the row was seen before.
    fn is_new(&mut self, row: &[ValueRef<'_>]) -> bool {
        self.seen.find_or_keep(row).1
    }

    // ---- scratch ----------------------------------------------------------------------------------------------------

    /// Pays for the rows that came, or writes them to scratch. If it has to go on with that: why it has stopped.
    pub fn pay(&mut self, cx: &mut Cx<'_>) -> Result<Option<Pump>, Failure> {
        if self.runs.as_ref().is_some_and(|runs| runs.is_writing()) {
            return self.go_on_spilling(cx);
        }
        if self.seen.pay(true, cx)? { self.spill(cx) } else { Ok(None) }
    }

    #[cold]
    fn spill(&mut self, cx: &mut Cx<'_>) -> Result<Option<Pump>, Failure> {
        if self.runs.is_none() {
            self.runs = HashRuns::new(cx).map(Box::new);
        }
        self.runs.iter_mut().for_each(|runs| runs.begin());
        self.go_on_spilling(cx)
    }

    fn go_on_spilling(&mut self, cx: &mut Cx<'_>) -> Result<Option<Pump>, Failure> {
        let Self { seen, runs, is_held, written, .. } = self;
        let Some(runs) = runs else { return Ok(None) };
        let put = |writer: &mut RunWriter, order: ValueRef<'_>, position: usize| {
            let number = ValueRef::UInt(if *is_held { *written + position as u64 + 1 } else { 0 });
            let row = seen.rows.values(*seen.places.get(position));
            writer.put(std::iter::once(order).chain(row).chain([number]));
            Put::Whole
        };
        if let Some(pump) = runs.write(&seen.positions, cx, put)? {
            return Ok(Some(pump));
        }
        *written += seen.places.len() as u64;
        *is_held = true;
        seen.give_up_rows(cx);
        Ok(None)
    }

    /// The merge of all runs, or why it is not there now.
    fn merge(&mut self, cx: &mut Cx<'_>) -> Result<Result<Merged, Pump>, Failure> {
        if let Some(pump) = self.pay(cx)? {
            return Ok(Err(pump));
        }
        if !self.seen.is_empty()
            && let Some(pump) = self.spill(cx)?
        {
            return Ok(Err(pump));
        }
        self.runs.as_mut().map_or(Ok(Err(Pump::End)), |runs| runs.merge(cx))
    }
}

/// See [`Distinct::before`]. Once rows are in scratch it gives none on.
pub struct DistinctSink<'a> {
    distinct: &'a mut Distinct,
    sink: &'a mut dyn RowSink,
}

impl RowSink for DistinctSink<'_> {
    fn row(&mut self, primary_key: &[u8], index_key: &[u8], values: &[ValueRef<'_>]) {
        if self.distinct.is_held && !self.distinct.is_ordered {
            self.distinct.seen.find_or_keep_as(values, values);
        } else if self.distinct.is_held {
            self.distinct.seen.find_or_keep(values);
        } else if self.distinct.is_new(values) {
            self.sink.row(primary_key, index_key, values);
        }
    }

    fn is_full(&self) -> bool {
        (!self.distinct.is_held && self.sink.is_full()) || self.distinct.seen.is_full()
    }
}

/// Rows from scratch.
#[derive(Debug)]
struct Rest {
    merged: Merged,
    /// Different rows of the hash that is read.
    equals: RowTable,
    /// Rows have their numbers behind them.
    is_ordered: bool,
    /// The place of that hash in the order.
    order: u64,
}

impl Rest {
    fn give(&mut self, cx: &mut Cx<'_>, sink: &mut dyn RowSink) -> Result<Pump, Failure> {
        let (equals, order) = (&mut self.equals, &mut self.order);
        let mut rest = RestSink { equals, order, is_ordered: self.is_ordered, sink };
        let pump = self.merged.give(cx, &mut rest)?;
        if pump == Pump::End {
            self.equals.give_up_rows(cx);
        } else if self.equals.is_full() {
            self.equals.pay(false, cx)?;
        }
        Ok(if pump == Pump::Rows && cx.env.budget.is_spent() { Pump::Spent } else { pump })
    }
}

/// Gives each row on once, unless it was given before.
struct RestSink<'a> {
    equals: &'a mut RowTable,
    order: &'a mut u64,
    is_ordered: bool,
    sink: &'a mut dyn RowSink,
}

impl RowSink for RestSink<'_> {
    fn row(&mut self, _: &[u8], _: &[u8], values: &[ValueRef<'_>]) {
        let [ValueRef::UInt(order), row @ .., ValueRef::UInt(number)] = values else { return };
        if self.order != order {
            *self.order = *order;
            self.equals.clear();
        }
        if self.equals.find_or_keep(row).1 && *number > 0 {
            self.sink.row(&[], &[], if self.is_ordered { &values[1..] } else { row });
        }
    }

    fn is_full(&self) -> bool {
        self.sink.is_full() || self.equals.is_full()
    }
}

#[cfg(test)]
mod tests {
    use super::{Distinct, RowTable, hash_row};
    use types::{Collation, SqlType, ValueRef};

    #[test]
    fn equal_under_the_collation_is_seen_once() {
        let text = SqlType::VarChar { length: 10, collation: Collation::Utf8mb40900AiCi };
        let mut distinct = Distinct::new(vec![text]);
        assert!(distinct.is_new(&[ValueRef::Bytes(b"a"), ValueRef::Int(1)]));
        assert!(!distinct.is_new(&[ValueRef::Bytes(b"A"), ValueRef::Int(2)]));
        assert!(distinct.is_new(&[ValueRef::Null, ValueRef::Int(2)]));
        assert!(!distinct.is_new(&[ValueRef::Null, ValueRef::Int(3)]));
        assert!(distinct.is_new(&[ValueRef::Bytes(b"b"), ValueRef::Int(2)]));
    }

    #[test]
    fn rows_with_the_same_hash_are_told_apart() {
        let mut distinct = Distinct::new(vec![SqlType::Double]);
        let double = |number: f64| [ValueRef::Double(number)];
        // The row of 3.0 is found by the hash of 4.0.
        let RowTable { rows, places, positions, types, .. } = &mut distinct.seen;
        positions.push(hash_row(&double(4.0), types));
        places.push(rows.push(double(3.0)));
        assert!(distinct.is_new(&double(4.0)));
        assert!(!distinct.is_new(&double(4.0)));
    }
}
