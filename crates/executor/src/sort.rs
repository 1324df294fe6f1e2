//! ORDER BY: rows in memory, compared by the collations of their sort columns; with a LIMIT only the first rows are
//! kept.
//!
//! Small entries that point to the rows are sorted: the index of the row, and a number that orders as the first sort
//! column does as far as it goes. Only rows with equal numbers are looked at. Sort columns may stand behind the values
//! that are shown.
//!
//! With a LIMIT the last row within it is copied as soon as it is known. A row that comes later and is not before it is
//! dropped at once, also where many rows have the same first sort column.
//!
//! Sorting is done in slices: a million rows, or a hundred rows of a megabyte each that begin alike, would hold up the
//! thread's other clients.
//!
//! A sort that may spill writes its rows to scratch whenever they find no room in memory (`spill`). Those that reach
//! all their rows by number may not: window functions.
//!
//! Invariants: rows that compare equal keep the order in which they came; what the buffer holds is charged, but for
//! what may be kept unpaid.

mod merge;
mod order;
mod spill;

pub(crate) use order::SortOrder;
pub(crate) use spill::{Merged, Spill};

use crate::cx::Cx;
use crate::outcome::Failure;
use crate::row::Row;
use crate::row_buffer::{RowAt, RowBuffer};
use crate::row_memory::RowMemory;
use crate::scratch::ScratchTerms;
use crate::site::Site;
use crate::table_reader::Pump;
use expression::{ColumnSlot, Columns};
use planner::plan::{Equals, SortColumn};
use protocol::Budget;
use query::RowSink;
use std::cmp::Ordering;
use types::{Value, ValueRef};

/// A row being sorted.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// The prefix of the first sort column, turned round if it descends.
    prefix: Option<u64>,
    at: RowAt,
}

/// A copy of the last row within the limit, as far as it is compared. It outlives the rows that the sort keeps.
#[derive(Debug)]
struct BoundRow {
    prefix: Option<u64>,
    /// Values of sort columns by their positions; NULL elsewhere.
    values: Row,
    /// In bytes.
    size: usize,
}

/// Entries that are sorted first, in one go, unless their rows are large.
const RUN: usize = 256;
/// Rows above this, on average, are compared in turns from the first pair on.
const LARGE_ROW: usize = 256;
/// Where memory may be little, the bound takes no more than this part of what may be kept unpaid.
const BOUND_PART: usize = 4;
/// Comparisons of short values that cost as much of a slice as a row.
const COMPARISONS_PER_ROW: u32 = 8;

/// A sort that goes on where its slice ended: short runs are sorted, pairs of runs become one each until one is left,
/// then equal rows are dropped.
#[derive(Debug)]
struct Sorting {
    /// Length of the sorted runs.
    width: usize,
    /// The entries that are sorted or merged, and where to.
    from: Vec<Entry>,
    to: Vec<Entry>,
    /// The next entries: of the runs to sort, of the first and the second run of the pair, of those to look at for
    /// equals.
    left: usize,
    right: usize,
    stage: Stage,
    /// Comparisons that are not paid for.
    compared: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    Runs,
    Merging,
    Dropping,
}

impl Sorting {
    /// Where the two runs of the pair end.
    fn ends(&self) -> (usize, usize) {
        let pair = self.to.len() / (2 * self.width) * (2 * self.width);
        ((pair + self.width).min(self.from.len()), (pair + 2 * self.width).min(self.from.len()))
    }

    fn enter(&mut self, stage: Stage) {
        (self.stage, self.left, self.right) = (stage, 0, self.width);
        self.to.clear();
    }
}

/// Rows being sorted.
#[derive(Debug)]
pub struct Sorter {
    order: SortOrder,
    equals: Equals,
    /// Rows of use: LIMIT and OFFSET together.
    limit: usize,
    buffer: RowBuffer,
    entries: Vec<Entry>,
    /// The last row within the limit, once so many rows are known: rows to come are of use before it only.
    bound: Option<BoundRow>,
    /// While it goes on, the entries are there.
    sorting: Option<Sorting>,
    memory: RowMemory,
    /// It may use scratch.
    may_spill: bool,
    spill: Option<Box<Spill>>,
}

impl Sorter {
    /// A sort without a use for scratch.
    pub fn new(columns: Vec<SortColumn>, equals: Equals, limit: Option<u64>) -> Self {
        let limit = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
        Self {
            order: SortOrder::new(columns),
            equals,
            limit,
            buffer: RowBuffer::default(),
            entries: Vec::new(),
            bound: None,
            sorting: None,
            memory: RowMemory::default(),
            may_spill: false,
            spill: None,
        }
    }

    /// The same sort, with the scratch of its node if there is any.
    pub(crate) fn spilling(self, site: &Site) -> Self {
        Self { may_spill: site.scratch.is_some(), ..self }
    }

    fn size(&self) -> usize {
        let sorting = self.sorting.as_ref().map_or(0, |sort| sort.from.capacity() + sort.to.capacity());
        let bound = self.bound.as_ref().map_or(0, |bound| bound.size);
        self.buffer.size() + bound + (self.entries.capacity() + sorting) * size_of::<Entry>()
    }

    /// Pays for the rows that came, after dropping those that are behind the limit, or writes them to scratch. If it
    /// has to go on with that: why it has stopped.
    pub fn pay(&mut self, cx: &mut Cx<'_>) -> Result<Option<Pump>, Failure> {
        if self.is_spilling() {
            return self.go_on_spilling(cx);
        }
        cx.env.budget.spend(self.order.text_work.take_rows());
        let is_due = self.sorting.is_some() || self.is_due();
        let is_cut = !is_due || self.cut(cx.env.budget);
        if is_due && is_cut {
            self.keep_the_first();
        }
        if self.charge(cx)? {
            return self.spill(cx);
        }
        Ok((!is_cut).then_some(Pump::Spent))
    }

    /// Enough rows have come to find the first ones among them: twice the limit, so that each row is sorted a bounded
    /// number of times.
    #[inline]
    fn is_due(&self) -> bool {
        self.entries.len() >= self.limit.saturating_mul(2).max(RUN)
    }

    /// Pays for what is held. True if it should go to scratch.
    fn charge(&mut self, cx: &mut Cx<'_>) -> Result<bool, Failure> {
        // Sorting takes memory for its entries once more.
        let sorting = self.entries.len() * size_of::<Entry>();
        self.memory.pay_for_work(self.size(), sorting, self.may_spill, cx)
    }

    /// Nobody wants its rows.
    pub(crate) fn close(&mut self, cx: &mut Cx<'_>) {
        self.give_up_rows();
        self.memory.give_back(cx);
        if let Some(mut spill) = self.spill.take() {
            spill.close(cx);
        }
    }

    fn give_up_rows(&mut self) {
        (self.buffer, self.entries, self.sorting) = (RowBuffer::default(), Vec::new(), None);
    }

    // ---- scratch ----------------------------------------------------------------------------------------------------

    fn is_spilling(&self) -> bool {
        self.spill.as_ref().is_some_and(|spill| spill.writing.is_some())
    }

    /// Some of its rows are in scratch: `merge` gives them.
    pub(crate) fn has_spilled(&self) -> bool {
        self.spill.is_some()
    }

    /// Writes its rows to scratch.
    #[cold]
    fn spill(&mut self, cx: &mut Cx<'_>) -> Result<Option<Pump>, Failure> {
        let piece_size = cx.env.site.scratch.as_ref().map_or(0, ScratchTerms::piece_size);
        self.spill.get_or_insert_with(|| Box::new(Spill::new(piece_size))).begin_run();
        self.go_on_spilling(cx)
    }

    /// Sorts the rows and writes them. If it has to go on with that: why it has stopped.
    fn go_on_spilling(&mut self, cx: &mut Cx<'_>) -> Result<Option<Pump>, Failure> {
        let is_begun =
            self.spill.as_ref().and_then(|spill| spill.writing.as_ref()).is_some_and(|(_, next)| *next > 0);
        if !is_begun && !self.cut(cx.env.budget) {
            return Ok(Some(Pump::Spent));
        }
        let Some(spill) = &mut self.spill else { return Ok(None) };
        while let Some((writer, next)) = &mut spill.writing
            && let Some(entry) = self.entries.get(*next)
        {
            if !writer.is_ready(&spill.hold, cx)? {
                return Ok(Some(Pump::Wait));
            }
            writer.put(self.buffer.values(entry.at));
            *next += 1;
            if !cx.env.budget.spend(1) {
                return Ok(Some(Pump::Spent));
            }
        }
        if !spill.end_run(cx)? {
            return Ok(Some(Pump::Wait));
        }
        self.note_bound();
        self.give_up_rows();
        // Of the bound, which is small enough to be kept unpaid.
        self.charge(cx)?;
        Ok(None)
    }

    /// All rows have come, and some are in scratch: their merge, or why it is not there now.
    pub(crate) fn merge(&mut self, cx: &mut Cx<'_>) -> Result<Result<Merged, Pump>, Failure> {
        if !self.entries.is_empty() || self.sorting.is_some() || self.is_spilling() {
            let pump = if self.is_spilling() { self.go_on_spilling(cx)? } else { self.spill(cx)? };
            if let Some(pump) = pump {
                return Ok(Err(pump));
            }
        }
        let Some(spill) = &mut self.spill else { return Ok(Err(Pump::End)) };
        // Of the bound.
        self.memory.give_back(cx);
        Ok(match spill.merge(&self.order, self.equals, self.limit, cx)? {
            Ok(merge) => Ok(Merged::new(std::mem::take(&mut self.order), spill, merge)),
            Err(pump) => Err(pump),
        })
    }

    // ---- sorting ----------------------------------------------------------------------------------------------------

    #[inline]
    fn compare(&self, left: &Entry, right: &Entry) -> Ordering {
        match (left.prefix, right.prefix) {
            (Some(left), Some(right)) if left != right => left.cmp(&right),
            _ => self.compare_columns(left, right),
        }
    }

    #[inline(never)]
    fn compare_columns(&self, left: &Entry, right: &Entry) -> Ordering {
        let value = |entry: &Entry, position| self.buffer.value(entry.at, position);
        self.order.compare(|position| value(left, position), |position| value(right, position))
    }

    #[inline]
    fn compare_stably(&self, left: &Entry, right: &Entry) -> Ordering {
        self.compare(left, right).then(left.at.cmp(&right.at))
    }

    /// Sorts, and keeps the first entries. False if the budget ended first.
    fn cut(&mut self, budget: &mut Budget) -> bool {
        let mut sorting = self.sorting.take().unwrap_or_else(|| self.begin());
        loop {
            let is_done = match sorting.stage {
                Stage::Runs => self.sort_run(&mut sorting),
                Stage::Merging => self.merge_next(&mut sorting),
                Stage::Dropping => self.drop_equal(&mut sorting),
            };
            if is_done {
                let kept = if self.equals == Equals::Dropped { sorting.to } else { sorting.from };
                self.entries = kept;
                self.entries.truncate(self.limit);
                return true;
            }
            let rows = sorting.compared / COMPARISONS_PER_ROW;
            if rows > 0 || self.order.text_work.is_much() {
                sorting.compared %= COMPARISONS_PER_ROW;
                if !budget.spend(rows.saturating_add(self.order.text_work.take_rows())) {
                    self.sorting = Some(sorting);
                    return false;
                }
            }
        }
    }

    fn begin(&mut self) -> Sorting {
        let from = std::mem::take(&mut self.entries);
        let is_large = self.buffer.size() > from.len().saturating_mul(LARGE_ROW);
        let (width, stage) = if is_large { (1, Stage::Merging) } else { (RUN, Stage::Runs) };
        let to = Vec::with_capacity(from.len());
        Sorting { width, from, to, left: 0, right: width, stage, compared: 0 }
    }

    /// Sorts one run. True if that was all.
    fn sort_run(&self, sorting: &mut Sorting) -> bool {
        let end = (sorting.left + RUN).min(sorting.from.len());
        let run = &mut sorting.from[sorting.left..end];
        run.sort_unstable_by(|left, right| self.compare_stably(left, right));
        sorting.compared += u32::try_from(run.len() * 8).unwrap_or(u32::MAX);
        sorting.left = end;
        if end == sorting.from.len() {
            sorting.enter(Stage::Merging);
        }
        false
    }

    /// Moves one entry. True if that was all.
    fn merge_next(&self, sorting: &mut Sorting) -> bool {
        if sorting.to.len() == sorting.from.len() {
            std::mem::swap(&mut sorting.from, &mut sorting.to);
            sorting.width = sorting.width.saturating_mul(2);
            sorting.enter(Stage::Merging);
        }
        if sorting.width >= sorting.from.len() {
            sorting.enter(Stage::Dropping);
            return self.equals == Equals::Kept;
        }
        let (left_end, right_end) = sorting.ends();
        let left = sorting.from[..left_end].get(sorting.left);
        let right = sorting.from[..right_end].get(sorting.right);
        let (next, is_left) = match (left, right) {
            (Some(left), Some(right)) if self.compare_stably(left, right).is_gt() => (*right, false),
            (None, Some(right)) => (*right, false),
            (Some(left), _) => (*left, true),
            (None, None) => return false,
        };
        sorting.to.push(next);
        *(if is_left { &mut sorting.left } else { &mut sorting.right }) += 1;
        sorting.compared += 1;
        if sorting.to.len() == right_end {
            (sorting.left, sorting.right) = (right_end, right_end + sorting.width);
        }
        false
    }

    /// Keeps one entry, unless the one before is equal. True if that was all.
    fn drop_equal(&self, sorting: &mut Sorting) -> bool {
        let Some(next) = sorting.from.get(sorting.left) else { return true };
        let is_equal = sorting.to.last().is_some_and(|last| self.compare(last, next).is_eq());
        if !is_equal {
            sorting.to.push(*next);
        }
        sorting.left += 1;
        sorting.compared += 1;
        false
    }

    /// Gives up the rows that no entry points to, and those to come that are behind them.
    fn keep_the_first(&mut self) {
        let mut kept = RowBuffer::default();
        for entry in &mut self.entries {
            entry.at = kept.push(self.buffer.values(entry.at));
        }
        self.buffer = kept;
        self.note_bound();
    }

    /// The entries are the first ones: those to come that are behind them are of no use.
    fn note_bound(&mut self) {
        let last = self.limit.checked_sub(1).and_then(|last| self.entries.get(last));
        let Some(last) = last else { return };
        let positions = self.order.columns.iter().map(|column| column.position);
        let mut values = vec![Value::Null; positions.clone().max().map_or(0, |position| position + 1)];
        let mut size = values.len() * size_of::<Value>();
        for position in positions {
            let value = self.buffer.value(last.at, position);
            size += if let ValueRef::Bytes(bytes) = value { bytes.len() } else { 0 };
            values[position] = value.to_value();
        }
        // An earlier bound is as true, and memory may be for rows only.
        if self.may_spill && size > self.memory.uncharged_max() / BOUND_PART {
            return;
        }
        self.bound = Some(BoundRow { prefix: last.prefix, values, size });
    }

    /// A row that comes now, and begins with this prefix, is of no use: it is not before the last one within the limit.
    #[inline]
    fn is_behind(&self, prefix: Option<u64>, values: &[ValueRef<'_>]) -> bool {
        let Some(bound) = &self.bound else { return false };
        match (prefix, bound.prefix) {
            (Some(prefix), Some(bound)) if prefix != bound => prefix > bound,
            _ => {
                let value = |position: usize| values.get(position).copied().unwrap_or(ValueRef::Null);
                self.order.compare(value, |position| bound.values[position].as_ref()).is_ge()
            }
        }
    }

    /// All rows have come: they are given in order, or none are if that takes another slice.
    pub fn finish(&mut self, cx: &mut Cx<'_>) -> Result<Option<Sorted>, Failure> {
        let is_sorted = self.cut(cx.env.budget);
        // If that is refused: the entries are needed twice for a while only.
        self.charge(cx)?;
        Ok(is_sorted.then(|| self.take()))
    }

    fn take(&mut self) -> Sorted {
        let (buffer, entries) = (std::mem::take(&mut self.buffer), std::mem::take(&mut self.entries));
        Sorted { buffer, entries: entries.into_iter(), memory: std::mem::take(&mut self.memory) }
    }
}

impl RowSink for Sorter {
    fn row(&mut self, _: &[u8], _: &[u8], values: &[ValueRef<'_>]) {
        let prefix = self.order.prefix(|position| values.get(position).copied());
        if self.is_behind(prefix, values) {
            return;
        }
        let at = self.buffer.push(values.iter().copied());
        self.entries.push(Entry { prefix, at });
    }

    fn is_full(&self) -> bool {
        self.is_due() || self.order.text_work.is_much() || self.memory.is_full(self.size())
    }
}

/// Rows in order.
#[derive(Debug)]
pub struct Sorted {
    buffer: RowBuffer,
    entries: std::vec::IntoIter<Entry>,
    memory: RowMemory,
}

impl Sorted {
    /// The next row, for as long as `self` is borrowed.
    pub fn next(&mut self) -> Option<impl Iterator<Item = ValueRef<'_>> + Clone> {
        let entry = self.entries.next()?;
        Some(self.buffer.values(entry.at))
    }

    /// The rows that were not taken yet, by number.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// A row that was not taken yet; they count from 0.
    pub(crate) fn row(&self, number: usize) -> SortedRow<'_> {
        SortedRow { buffer: &self.buffer, at: self.entries.as_slice()[number].at }
    }

    /// Gives rows to `sink` until it is full or the budget is spent: behind it may be one that only counts them.
    pub fn give(&mut self, cx: &mut Cx<'_>, sink: &mut dyn RowSink) -> Pump {
        while !sink.is_full() {
            let Some(entry) = self.entries.next() else {
                self.close(cx);
                return Pump::End;
            };
            self.buffer.lend(entry.at, |values| sink.row(&[], &[], values));
            if !cx.env.budget.spend(1) {
                return Pump::Spent;
            }
        }
        Pump::Rows
    }

    /// Nobody wants more rows.
    pub(crate) fn close(&mut self, cx: &mut Cx<'_>) {
        (self.buffer, self.entries) = (RowBuffer::default(), Vec::new().into_iter());
        self.memory.give_back(cx);
    }
}

/// One of the rows, as expressions read it.
#[derive(Clone, Copy)]
pub(crate) struct SortedRow<'a> {
    buffer: &'a RowBuffer,
    at: RowAt,
}

impl<'a> SortedRow<'a> {
    /// A value of it.
    pub(crate) fn value(&self, position: usize) -> ValueRef<'a> {
        self.buffer.value(self.at, position)
    }

    /// All of them.
    pub(crate) fn values(&self) -> impl Iterator<Item = ValueRef<'a>> + Clone {
        self.buffer.values(self.at)
    }
}

impl Columns for SortedRow<'_> {
    fn column(&self, slot: ColumnSlot) -> ValueRef<'_> {
        self.value(slot.index())
    }
}

#[cfg(test)]
mod tests {
    use super::{Equals, SortColumn, Sorter};
    use expression::compare_values;
    use protocol::Budget;
    use query::RowSink;
    use stdx::Prng;
    use types::{Collation, IntegerWidth, SqlType, Value, ValueRef};

    fn integer(position: usize, descending: bool) -> SortColumn {
        let sql_type = SqlType::Integer { width: IntegerWidth::Normal, unsigned: false };
        SortColumn { position, sql_type, descending }
    }

    fn text(position: usize, collation: Collation, descending: bool) -> SortColumn {
        SortColumn { position, sql_type: SqlType::VarChar { length: 10, collation }, descending }
    }

    fn add(sorter: &mut Sorter, row: &[Value]) {
        let values: Vec<ValueRef<'_>> = crate::row::borrowed(row).collect();
        sorter.row(&[], &[], &values);
    }

    fn finish(mut sorter: Sorter) -> Vec<Vec<Value>> {
        while !sorter.cut(&mut Budget::of(3)) {}
        let mut sorted = sorter.take();
        let mut rows = Vec::new();
        while let Some(values) = sorted.next() {
            rows.push(values.map(ValueRef::to_value).collect());
        }
        rows
    }

    #[test]
    fn nulls_first_then_by_each_column() {
        let columns = vec![text(0, Collation::Utf8mb40900AiCi, false), integer(1, true)];
        let mut sorter = Sorter::new(columns, Equals::Kept, None);
        add(&mut sorter, &[Value::text("b"), Value::Int(1)]);
        add(&mut sorter, &[Value::text("A"), Value::Int(1)]);
        add(&mut sorter, &[Value::text("a"), Value::Int(2)]);
        add(&mut sorter, &[Value::Null, Value::Int(0)]);
        let numbers: Vec<Value> = finish(sorter).into_iter().map(|mut row| row.swap_remove(1)).collect();
        assert_eq!(numbers, vec![Value::Int(0), Value::Int(2), Value::Int(1), Value::Int(1)]);
    }

    #[test]
    fn only_the_first_rows_are_kept() {
        let mut sorter = Sorter::new(vec![integer(0, false)], Equals::Kept, Some(3));
        for number in (0..100).rev() {
            add(&mut sorter, &[Value::Int(number), Value::text("x")]);
            if number % 7 == 0 {
                while !sorter.cut(&mut Budget::of(3)) {}
                sorter.keep_the_first();
                assert!(sorter.buffer.len() <= 3);
            }
        }
        // A row behind them is not even kept.
        let before = sorter.buffer.len();
        add(&mut sorter, &[Value::Int(50), Value::text("x")]);
        assert_eq!(sorter.buffer.len(), before);
        let first: Vec<Value> = finish(sorter).into_iter().map(|mut row| row.swap_remove(0)).collect();
        assert_eq!(first, vec![Value::Int(0), Value::Int(1), Value::Int(2)]);
    }

    #[test]
    fn as_a_stable_sort_by_the_general_comparison() {
        let mut prng = Prng::new(5);
        let letters = ["a", "A", "b", "ä", "é", " ", "\t", "ß", "z", "0", "-", "\u{1}", "日"];
        let collations = [
            Collation::Utf8mb40900AiCi,
            Collation::Utf8mb4GeneralCi,
            Collation::Utf8mb40900AsCs,
            Collation::Utf8mb4Bin,
        ];
        for collation in collations {
            for descending in [false, true] {
                let columns = vec![text(0, collation, descending), integer(1, false)];
                let mut word = || match prng.below(12) {
                    0 => Value::Null,
                    // Long common beginnings, so that prefixes are equal.
                    1..4 => Value::text(&format!("commonly {}", letters[prng.index(letters.len())])),
                    _ => Value::text(
                        &(0..prng.below(12)).map(|_| letters[prng.index(letters.len())]).collect::<String>(),
                    ),
                };
                let rows: Vec<Vec<Value>> =
                    (0..300).map(|number| vec![word(), Value::Int(number % 3), Value::Int(number)]).collect();
                let mut expected = rows.clone();
                let compare = |left: &[Value], right: &[Value]| {
                    let order = columns.iter().map(|column| {
                        let value = |row: &[Value]| row[column.position].clone();
                        let order =
                            compare_values(&value(left).as_ref(), &value(right).as_ref(), &column.sql_type);
                        if column.descending { order.reverse() } else { order }
                    });
                    order.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
                };
                expected.sort_by(|left, right| compare(left, right));
                for (equals, limit) in
                    [(Equals::Kept, None), (Equals::Dropped, None), (Equals::Dropped, Some(20))]
                {
                    let mut expected = expected.clone();
                    if equals == Equals::Dropped {
                        expected.dedup_by(|later, first| compare(first, later).is_eq());
                    }
                    expected.truncate(limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap()));
                    let mut sorter = Sorter::new(columns.clone(), equals, limit);
                    for row in &rows {
                        add(&mut sorter, row);
                        if limit.is_some() && sorter.entries.len() > 60 {
                            while !sorter.cut(&mut Budget::of(3)) {}
                            sorter.keep_the_first();
                        }
                    }
                    assert_eq!(finish(sorter), expected, "{collation:?} {descending} {equals:?} {limit:?}");
                }
            }
        }
    }
}
