//! Aggregates over columns of numbers, a batch of rows at a time.
//!
//! A program that only counts, sums and compares columns of numbers, in groups by such columns, needs no values. Its
//! columns are gathered into vectors, and each row gets the number of its group. Then each aggregate runs over its
//! vector by itself. Groups are found in a table of open addressing by the numbers of their keys. Where an index has
//! the rows of a group side by side, each row is only compared with the last group.
//!
//! Numbers are added in 128 bits, so that nothing overflows: there are fewer than 2⁶⁴ rows, and each number has 64
//! bits.
//!
//! Invariants: the groups and states are those that the evaluation would make of the same rows. A batch with a row that
//! a column cannot be read from in place is refused as a whole, and changes nothing: it is left to the evaluation.

use super::groups::{GROUP_COST, GroupTable, GroupWriter};
use super::kernel::{Selection, number_column};
use super::{INLINE, RowSink};
use crate::TableAccessInfo;
use expression::aggregate::{AggregateCall, AggregateFunction, AggregateState, Sum};
use expression::{ColumnSlot, Evaluated, Expression};
use protocol::program::{BATCH_BYTES_MAX, ReadOutput, ReadProgram};
use storage::{SCAN_BATCH_MAX, ScanRow};
use types::{NumberColumn, NumberKind, Value, ValueRef};

/// Slots of the first table of groups.
const FIRST_SLOTS: usize = 32;
/// A slot without a group.
const FREE: u32 = u32::MAX;

/// The numbers of a column of the rows of a batch.
#[derive(Debug)]
struct Numbers {
    column: NumberColumn,
    /// 0 for NULL.
    values: [i64; SCAN_BATCH_MAX],
    is_null: [bool; SCAN_BATCH_MAX],
    null_count: usize,
}

impl Numbers {
    fn new(column: NumberColumn) -> Self {
        Self { column, values: [0; SCAN_BATCH_MAX], is_null: [false; SCAN_BATCH_MAX], null_count: 0 }
    }

    /// Reads the selected rows; false if one cannot be read.
    fn gather(&mut self, rows: &[ScanRow<'_>], positions: &[u8]) -> bool {
        let (mut place, mut null_count) = (0_u8, 0);
        let bytes = positions.iter().map(|position| rows[usize::from(*position)].bytes());
        let are_read = self.column.read_each(bytes, |number| {
            self.values[usize::from(place)] = number.unwrap_or(0);
            self.is_null[usize::from(place)] = number.is_none();
            null_count += usize::from(number.is_none());
            place = place.wrapping_add(1);
        });
        self.null_count = null_count;
        are_read
    }
}

/// A key of groups.
#[derive(Clone, Copy, Debug)]
struct Key {
    /// By number of the vectors.
    column: usize,
    /// The key is the remainder of a division by it.
    divisor: Option<i64>,
}

/// The work of an aggregate, and by which vector.
#[derive(Clone, Copy, Debug)]
enum Fold {
    CountRows,
    Count(usize),
    Total(usize),
    Least(usize),
    Greatest(usize),
}

/// The states of one aggregate, by group.
#[derive(Debug)]
struct States {
    fold: Fold,
    /// Rows that were counted; those whose number is not NULL if there is a vector.
    counts: Vec<u64>,
    /// Of totals the sum, of the others the best number. 0 before the first row.
    numbers: Vec<i128>,
}

/// The aggregates of a read and their groups so far.
#[derive(Debug)]
pub(super) struct Vectors {
    columns: Vec<Numbers>,
    keys: Vec<Key>,
    states: Vec<States>,
    /// Rows of a group come one after the other.
    is_ordered: bool,
    groups: GroupKeys,
    /// The keys of each row of the batch, and a bit for each key that is NULL.
    row_keys: Vec<i64>,
    row_nulls: [u64; SCAN_BATCH_MAX],
    /// The group of each row of the batch.
    group_of: [u32; SCAN_BATCH_MAX],
    /// Rows that were taken into account.
    rows: usize,
}

/// The keys of groups.
#[derive(Debug, Default)]
struct GroupKeys {
    count: usize,
    /// For each group the numbers of its keys.
    numbers: Vec<i64>,
    /// For each group a bit for each key that is NULL.
    nulls: Vec<u64>,
    /// Groups by hash; a power of two of them, at most half of them in use.
    slots: Vec<u32>,
}

impl GroupKeys {
    #[inline]
    fn is_of(&self, group: usize, key: &[i64], nulls: u64) -> bool {
        let first = group * key.len();
        self.nulls[group] == nulls
            && match key {
                [number] => self.numbers[group] == *number,
                _ => self.numbers[first..first + key.len()] == *key,
            }
    }

    #[inline]
    fn hash(key: &[i64], nulls: u64) -> u64 {
        const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
        key.iter().fold(nulls.wrapping_mul(FACTOR), |hash, number| {
            (hash.rotate_left(23) ^ number.cast_unsigned()).wrapping_mul(FACTOR)
        })
    }

    /// The first slot of a hash: its upper bits, which depend on all others.
    #[inline]
    fn first_slot(&self, hash: u64) -> usize {
        let bits = self.slots.len().trailing_zeros();
        #[expect(clippy::cast_possible_truncation, reason = "so many bits as slots need")]
        let slot = hash.unbounded_shr(u64::BITS - bits) as usize;
        slot
    }

    /// The group of a key; a new one if there is none.
    #[inline]
    fn find(&mut self, key: &[i64], nulls: u64) -> usize {
        if self.slots.is_empty() {
            self.slots.resize(FIRST_SLOTS, FREE);
        }
        let mask = self.slots.len() - 1;
        let mut slot = self.first_slot(Self::hash(key, nulls));
        loop {
            let group = self.slots[slot];
            if group == FREE {
                return self.begin_at(slot, key, nulls);
            }
            if self.is_of(group as usize, key, nulls) {
                return group as usize;
            }
            slot = (slot + 1) & mask;
        }
    }

    /// The last group if it has the key; else a new one.
    #[inline]
    fn find_last(&mut self, key: &[i64], nulls: u64) -> usize {
        match self.count.checked_sub(1) {
            Some(last) if self.is_of(last, key, nulls) => last,
            _ => self.begin(key, nulls),
        }
    }

    #[cold]
    fn begin_at(&mut self, slot: usize, key: &[i64], nulls: u64) -> usize {
        let group = self.begin(key, nulls);
        self.slots[slot] = number_of(group);
        if self.count * 2 > self.slots.len() {
            self.grow(key.len());
        }
        group
    }

    fn begin(&mut self, key: &[i64], nulls: u64) -> usize {
        self.numbers.extend_from_slice(key);
        self.nulls.push(nulls);
        self.count += 1;
        self.count - 1
    }

    fn grow(&mut self, width: usize) {
        let count = self.slots.len() * 2;
        self.slots.clear();
        self.slots.resize(count, FREE);
        let mask = count - 1;
        for group in 0..self.count {
            let numbers = &self.numbers[group * width..(group + 1) * width];
            let mut slot = self.first_slot(Self::hash(numbers, self.nulls[group]));
            while self.slots[slot] != FREE {
                slot = (slot + 1) & mask;
            }
            self.slots[slot] = number_of(group);
        }
    }

    fn clear(&mut self) {
        self.count = 0;
        self.numbers.clear();
        self.nulls.clear();
        self.slots.fill(FREE);
    }
}

fn number_of(group: usize) -> u32 {
    u32::try_from(group).unwrap_or(FREE)
}

impl Vectors {
    /// The vectors of a read program; none if it asks for something else.
    pub(super) fn of(program: &ReadProgram, info: &TableAccessInfo, is_ordered: bool) -> Option<Box<Self>> {
        let ReadOutput::Aggregate { group_by, calls } = &program.output else { return None };
        // A bit for each key.
        if group_by.len() > INLINE {
            return None;
        }
        let mut columns = Vec::new();
        let vector = |slot: ColumnSlot, columns: &mut Vec<(ColumnSlot, Numbers)>| {
            if let Some(known) = columns.iter().position(|(known, _)| *known == slot) {
                return Some(known);
            }
            columns.push((slot, Numbers::new(number_column(info, slot)?)));
            Some(columns.len() - 1)
        };
        let parameters = &program.context.parameters;
        let key = |expression: &Expression, columns: &mut _| {
            let plain = expression.as_column().map(|column| (column, None));
            let of_column = |(column, divisor)| (column, Some(divisor));
            let (slot, divisor) =
                plain.or_else(|| expression.as_column_remainder(parameters).map(of_column))?;
            Some(Key { column: vector(slot, columns)?, divisor })
        };
        let keys: Vec<Key> =
            group_by.iter().map(|expression| key(expression, &mut columns)).collect::<Option<_>>()?;
        let mut fold = |call: &AggregateCall| {
            if call.arguments.is_empty() {
                return (call.function == AggregateFunction::Count).then_some(Fold::CountRows);
            }
            let slot = call.plain_argument().filter(|_| !call.keeps_rows())?;
            let number = vector(slot, &mut columns)?;
            let fold = fold_of(call.function)?(number);
            // The sum of dates is one of other numbers.
            let is_summed = matches!(fold, Fold::Total(_));
            let kind = columns[number].1.column.kind();
            let is_date = matches!(kind, NumberKind::Date | NumberKind::DateTime);
            (!(is_summed && is_date)).then_some(fold)
        };
        let states = |fold| States { fold, counts: Vec::new(), numbers: Vec::new() };
        let states = calls.iter().map(|call| fold(call).map(states)).collect::<Option<Vec<States>>>()?;
        Some(Box::new(Self {
            columns: columns.into_iter().map(|(_, numbers)| numbers).collect(),
            groups: GroupKeys::default(),
            row_keys: vec![0; keys.len() * SCAN_BATCH_MAX],
            row_nulls: [0; SCAN_BATCH_MAX],
            keys,
            states,
            is_ordered,
            group_of: [0; SCAN_BATCH_MAX],
            rows: 0,
        }))
    }

    /// Takes the selected rows of a batch into account; false if it cannot.
    pub(super) fn take(&mut self, rows: &[ScanRow<'_>], selection: &Selection) -> bool {
        let positions = selection.positions();
        if !self.columns.iter_mut().all(|column| column.gather(rows, positions)) {
            return false;
        }
        let count = positions.len();
        self.rows += count;
        if count == 0 {
            return true;
        }
        if self.keys.is_empty() {
            if self.groups.count == 0 {
                self.groups.begin(&[], 0);
            }
        } else {
            self.find_groups(count);
        }
        for states in &mut self.states {
            states.counts.resize(self.groups.count, 0);
            states.numbers.resize(self.groups.count, 0);
            if self.keys.is_empty() {
                states.take_all(&self.columns, count);
            } else {
                states.take(&self.columns, &self.group_of, count);
            }
        }
        true
    }

    /// The group of each row.
    fn find_groups(&mut self, count: usize) {
        let width = self.keys.len();
        self.row_nulls[..count].fill(0);
        for (number, key) in self.keys.iter().enumerate() {
            let column = &self.columns[key.column];
            let places = self.row_keys[number..].iter_mut().step_by(width);
            match key.divisor {
                None => places.zip(&column.values[..count]).for_each(|(place, value)| *place = *value),
                Some(divisor) => {
                    places.zip(&column.values[..count]).for_each(|(place, value)| *place = value % divisor);
                }
            }
            if column.null_count > 0 {
                let nulls = self.row_nulls.iter_mut().zip(&column.is_null[..count]);
                nulls.for_each(|(nulls, is_null)| *nulls |= u64::from(*is_null) << number);
            }
        }
        let keys = self.row_keys.chunks_exact(width).zip(&self.row_nulls);
        for ((key, nulls), group) in keys.zip(&mut self.group_of[..count]) {
            *group = number_of(if self.is_ordered {
                self.groups.find_last(key, *nulls)
            } else {
                self.groups.find(key, *nulls)
            });
        }
    }

    /// The bytes of its groups, roughly.
    fn size(&self) -> usize {
        let of_group = GROUP_COST
            + 2 * size_of::<i64>() * self.keys.len()
            + self.states.len() * size_of::<AggregateState>();
        self.groups.count * of_group
    }

    /// The groups must leave before the next rows.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.size() >= BATCH_BYTES_MAX
    }

    /// Rows that were taken into account since the groups left.
    #[inline]
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// How many groups.
    pub(super) fn group_count(&self) -> usize {
        self.groups.count
    }

    /// Gives all groups to another table, or as rows to a sink, and goes on with none.
    pub(super) fn emit(&mut self, sink: &mut dyn RowSink) {
        let (mut values, mut states, mut writer) = (Vec::new(), Vec::new(), GroupWriter::default());
        for group in 0..self.groups.count {
            values.clear();
            values.extend((0..self.keys.len()).map(|key| self.key(group, key)));
            states.clear();
            states.extend(self.states.iter().map(|states| states.state(group, &self.columns)));
            match sink.groups() {
                Some(table) => merge_group(table, &values, &mut states),
                None => writer.give(&values, &states, sink),
            }
        }
        self.groups.clear();
        for states in &mut self.states {
            states.counts.clear();
            states.numbers.clear();
        }
        self.rows = 0;
    }

    fn key(&self, group: usize, key: usize) -> Evaluated<'static> {
        if self.groups.nulls[group] >> key & 1 != 0 {
            return Evaluated::Borrowed(ValueRef::Null);
        }
        let number = self.groups.numbers[group * self.keys.len() + key];
        Evaluated::Owned(self.columns[self.keys[key].column].column.kind().value(i128::from(number)))
    }
}

fn merge_group(table: &mut dyn GroupTable, values: &[Evaluated<'_>], states: &mut Vec<AggregateState>) {
    super::with_values(values.len(), values.iter().map(Evaluated::as_ref), |values| {
        table.merge(values, &mut states.drain(..));
    });
}

/// The work of an aggregate of a vector.
fn fold_of(function: AggregateFunction) -> Option<fn(usize) -> Fold> {
    Some(match function {
        AggregateFunction::Count => Fold::Count,
        AggregateFunction::Sum | AggregateFunction::Average => Fold::Total,
        AggregateFunction::Minimum => Fold::Least,
        AggregateFunction::Maximum => Fold::Greatest,
        AggregateFunction::GroupConcat
        | AggregateFunction::BitAnd
        | AggregateFunction::BitOr
        | AggregateFunction::BitXor
        | AggregateFunction::StandardDeviation
        | AggregateFunction::SampleStandardDeviation
        | AggregateFunction::Variance
        | AggregateFunction::SampleVariance
        | AggregateFunction::AnyValue => return None,
    })
}

impl Fold {
    fn vector(self) -> Option<usize> {
        match self {
            Fold::CountRows => None,
            Fold::Count(vector) | Fold::Total(vector) | Fold::Least(vector) | Fold::Greatest(vector) => {
                Some(vector)
            }
        }
    }
}

/// The numbers of so many rows that are not NULL.
#[inline]
fn present(numbers: &Numbers, count: usize) -> impl Iterator<Item = i64> + '_ {
    let all = numbers.values[..count].iter().zip(&numbers.is_null[..count]);
    all.filter(|(_, is_null)| !**is_null).map(|(number, _)| *number)
}

/// Each of so many rows whose number is not NULL: its group and the number.
#[inline]
fn for_each_number(
    numbers: &Numbers,
    groups: &[u32; SCAN_BATCH_MAX],
    count: usize,
    mut take: impl FnMut(usize, i64),
) {
    let has_nulls = numbers.null_count > 0;
    for (row, group) in groups.iter().enumerate().take(count) {
        if !has_nulls || !numbers.is_null[row] {
            take(*group as usize, numbers.values[row]);
        }
    }
}

impl States {
    /// Takes rows into account that are all of the first group.
    fn take_all(&mut self, columns: &[Numbers], count: usize) {
        let (state, counted) = (&mut self.numbers[0], &mut self.counts[0]);
        let Some(numbers) = self.fold.vector().map(|vector| &columns[vector]) else {
            *counted += count as u64;
            return;
        };
        let is_first = *counted == 0;
        *counted += (count - numbers.null_count) as u64;
        let all = &numbers.values[..count];
        let has_nulls = numbers.null_count > 0;
        let best = match self.fold {
            Fold::CountRows | Fold::Count(_) => return,
            Fold::Total(_) => {
                // NULL is 0 here.
                *state += all.iter().map(|number| i128::from(*number)).sum::<i128>();
                return;
            }
            Fold::Least(_) if has_nulls => present(numbers, count).min(),
            Fold::Least(_) => all.iter().copied().min(),
            Fold::Greatest(_) if has_nulls => present(numbers, count).max(),
            Fold::Greatest(_) => all.iter().copied().max(),
        };
        if let Some(best) = best.map(i128::from)
            && (is_first || self.fold.is_better(best, *state))
        {
            *state = best;
        }
    }

    /// Takes so many rows into account, whose groups are these.
    fn take(&mut self, columns: &[Numbers], groups: &[u32; SCAN_BATCH_MAX], count: usize) {
        let Some(numbers) = self.fold.vector().map(|vector| &columns[vector]) else {
            groups[..count].iter().for_each(|group| self.counts[*group as usize] += 1);
            return;
        };
        let (counts, states) = (&mut self.counts[..], &mut self.numbers[..]);
        let is_least = matches!(self.fold, Fold::Least(_));
        match self.fold {
            Fold::CountRows | Fold::Count(_) => {
                for_each_number(numbers, groups, count, |group, _| counts[group] += 1);
            }
            Fold::Total(_) => for_each_number(numbers, groups, count, |group, number| {
                counts[group] += 1;
                states[group] += i128::from(number);
            }),
            Fold::Least(_) | Fold::Greatest(_) => {
                for_each_number(numbers, groups, count, |group, number| {
                    let (number, best) = (i128::from(number), &mut states[group]);
                    let is_better = if is_least { number < *best } else { number > *best };
                    if is_better || counts[group] == 0 {
                        *best = number;
                    }
                    counts[group] += 1;
                });
            }
        }
    }

    /// The state of a group, as the evaluation makes it.
    fn state(&self, group: usize, columns: &[Numbers]) -> AggregateState {
        let (count, number) = (self.counts[group], self.numbers[group]);
        let kind = self.fold.vector().map_or(NumberKind::Signed, |vector| columns[vector].column.kind());
        match self.fold {
            Fold::CountRows | Fold::Count(_) => AggregateState::Count(count),
            Fold::Total(_) => {
                let sum = match (count, kind.value(number)) {
                    (0, _) => Sum::Nothing,
                    (_, Value::Decimal(sum)) => Sum::Decimal(*sum),
                    _ => Sum::Integer(number),
                };
                AggregateState::Total { sum, count }
            }
            Fold::Least(_) | Fold::Greatest(_) => {
                AggregateState::Extreme(if count == 0 { Value::Null } else { kind.value(number) })
            }
        }
    }
}

impl Fold {
    #[inline]
    fn is_better(self, number: i128, best: i128) -> bool {
        if matches!(self, Fold::Least(_)) { number < best } else { number > best }
    }
}
