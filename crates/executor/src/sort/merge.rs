//! Sorted runs become one: the least of the rows at which the runs stand is the next one.
//!
//! Runs stand in a heap. A run whose next piece is still on its way is *due*: without its row nobody knows the least.
//!
//! Invariants: of equal rows those of earlier runs come first; no row is behind the limit; where equal rows are
//! dropped, the first one is given.

use super::order::SortOrder;
use crate::cx::Cx;
use crate::outcome::Failure;
use crate::scratch::{Advance, Hold, PackedRow, Run, RunReader, RunWriter};
use crate::table_reader::Pump;
use planner::plan::Equals;
use query::RowSink;
use std::cmp::Ordering;

/// A run, and the prefix of the row that it stands at.
#[derive(Debug)]
struct Source {
    reader: RunReader,
    prefix: Option<u64>,
}

/// The result of a step to the next row.
enum Next<'a> {
    Row(PackedRow<'a>),
    /// A row was dropped, because it equals the one before.
    Again,
    /// An answer of the disk comes.
    Wait,
    End,
}

/// A merge of runs.
#[derive(Debug)]
pub(crate) struct Merge {
    sources: Vec<Source>,
    /// Sources that stand at a row; the least row is at the root.
    heap: Vec<usize>,
    due: Vec<usize>,
    /// The row at the root was given.
    is_given: bool,
    equals: Equals,
    /// The row that was given last, where equal rows are dropped.
    last: Option<Vec<u8>>,
    /// Rows that may still be given.
    left: usize,
}

impl Merge {
    /// Of these runs, the earliest first.
    pub(crate) fn new(runs: impl IntoIterator<Item = Run>, equals: Equals, limit: usize) -> Self {
        let source = |run| Source { reader: RunReader::new(run), prefix: None };
        let sources: Vec<Source> = runs.into_iter().map(source).collect();
        let due = (0..sources.len()).collect();
        Self { sources, heap: Vec::new(), due, is_given: false, equals, last: None, left: limit }
    }

    /// Gives rows to `sink` until it is full, an answer must come, the budget is spent, or there are no more.
    pub(crate) fn give(
        &mut self,
        order: &SortOrder,
        hold: &Hold,
        cx: &mut Cx<'_>,
        sink: &mut dyn RowSink,
    ) -> Result<Pump, Failure> {
        loop {
            if sink.is_full() {
                return Ok(Pump::Rows);
            }
            match self.next(order, hold, cx)? {
                Next::Again => {}
                Next::Row(row) => row.lend(|values| sink.row(&[], &[], values)),
                Next::Wait => return Ok(Pump::Wait),
                Next::End => return Ok(Pump::End),
            }
            if !spend(order, cx) {
                return Ok(Pump::Spent);
            }
        }
    }

    /// The same into a run. `End` if all rows are in it.
    pub(crate) fn write(
        &mut self,
        order: &SortOrder,
        hold: &Hold,
        cx: &mut Cx<'_>,
        writer: &mut RunWriter,
    ) -> Result<Pump, Failure> {
        loop {
            if !writer.is_ready(hold, cx)? {
                return Ok(Pump::Wait);
            }
            match self.next(order, hold, cx)? {
                Next::Again => {}
                Next::Row(row) => writer.put(row.values()),
                Next::Wait => return Ok(Pump::Wait),
                Next::End => return Ok(Pump::End),
            }
            if !spend(order, cx) {
                return Ok(Pump::Spent);
            }
        }
    }

    /// The next row, or why there is none now.
    fn next(&mut self, order: &SortOrder, hold: &Hold, cx: &mut Cx<'_>) -> Result<Next<'_>, Failure> {
        if self.left == 0 {
            return Ok(Next::End);
        }
        if std::mem::take(&mut self.is_given) {
            let root = self.heap[0];
            if self.advance(root, order, hold, cx)? != Advance::Row {
                self.heap.swap_remove(0);
            }
            self.sink_down(order);
        }
        for source in std::mem::take(&mut self.due) {
            if self.advance(source, order, hold, cx)? == Advance::Row {
                self.heap.push(source);
                self.rise(order);
            }
        }
        if !self.due.is_empty() {
            return Ok(Next::Wait);
        }
        let Some(root) = self.heap.first() else { return Ok(Next::End) };
        self.is_given = true;
        let row = self.sources[*root].reader.row();
        if self.equals == Equals::Dropped {
            let is_again = self.last.as_ref().is_some_and(|last| {
                let last = PackedRow::of(last);
                order.compare(|position| last.value(position), |position| row.value(position)).is_eq()
            });
            if is_again {
                return Ok(Next::Again);
            }
            let last = self.last.get_or_insert_default();
            last.clear();
            last.extend_from_slice(row.bytes());
        }
        self.left -= 1;
        Ok(Next::Row(row))
    }

    /// A source goes to its next row, or becomes due.
    fn advance(
        &mut self,
        number: usize,
        order: &SortOrder,
        hold: &Hold,
        cx: &mut Cx<'_>,
    ) -> Result<Advance, Failure> {
        let source = &mut self.sources[number];
        let advance = source.reader.advance(hold, cx)?;
        match advance {
            Advance::Row => {
                let row = source.reader.row();
                source.prefix = order.prefix(|position| Some(row.value(position)));
            }
            Advance::Wait => self.due.push(number),
            Advance::End => {}
        }
        Ok(advance)
    }

    fn is_before(&self, left: usize, right: usize, order: &SortOrder) -> bool {
        let (first, second) = (&self.sources[left], &self.sources[right]);
        let by_columns = || {
            let (first, second) = (first.reader.row(), second.reader.row());
            order.compare(|position| first.value(position), |position| second.value(position))
        };
        let by_row = match (first.prefix, second.prefix) {
            (Some(first), Some(second)) if first != second => first.cmp(&second),
            _ => by_columns(),
        };
        by_row.then(left.cmp(&right)) == Ordering::Less
    }

    /// The last entry of the heap goes up to its place.
    fn rise(&mut self, order: &SortOrder) {
        let mut at = self.heap.len() - 1;
        while at > 0 && self.is_before(self.heap[at], self.heap[(at - 1) / 2], order) {
            self.heap.swap(at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
    }

    /// The root goes down to its place.
    fn sink_down(&mut self, order: &SortOrder) {
        let mut at = 0;
        loop {
            let children = (2 * at + 1..=2 * at + 2).filter(|child| *child < self.heap.len());
            let least = children.reduce(|one, other| {
                if self.is_before(self.heap[other], self.heap[one], order) { other } else { one }
            });
            match least {
                Some(child) if self.is_before(self.heap[child], self.heap[at], order) => {
                    self.heap.swap(at, child);
                    at = child;
                }
                Some(_) | None => return,
            }
        }
    }
}

/// Pays for a row, and for the texts that were compared for it.
fn spend(order: &SortOrder, cx: &mut Cx<'_>) -> bool {
    cx.env.budget.spend(1 + if order.text_work.is_much() { order.text_work.take_rows() } else { 0 })
}
