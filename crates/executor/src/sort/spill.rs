//! A sort whose rows find no room in memory: sorted runs in scratch, which are merged in the end.
//!
//! ```text
//! rows --memory is full--> sorted --> run 1     runs --too many at once--> merged into fewer runs, level by level
//!        rows --memory is full--> .. run 2, ..  runs --few enough--> merged into the sink
//! ```
//! Invariants: runs are in the order in which their rows came, so that equal rows keep it. A merge has paid for a piece
//! of each of its runs, and for those that it writes; rows that are longer than a piece are not counted. Only a merge
//! of [`RUNS_MIN`] runs has not if memory is full: without it a statement whose rows are all in scratch would fail.

use super::merge::Merge;
use super::order::SortOrder;
use crate::cx::Cx;
use crate::outcome::Failure;
use crate::scratch::{Hold, Run, RunWriter, WRITTEN_PIECES};
use crate::table_reader::Pump;
use planner::plan::Equals;
use query::RowSink;
use std::collections::VecDeque;

/// Runs that are merged even if there is no memory for it.
const RUNS_MIN: u64 = 2;

/// The runs of an operator.
#[derive(Debug)]
pub(crate) struct Spill {
    pub(crate) hold: Hold,
    /// The size of a piece.
    piece_size: u64,
    /// The rows in memory become a run, and so many of them are in it.
    pub(crate) writing: Option<(RunWriter, usize)>,
    /// Runs that are in order behind those in `merged`.
    runs: VecDeque<Run>,
    /// Runs that were made of several.
    merged: VecDeque<Run>,
    merging: Option<(Merge, RunWriter)>,
    /// Paid for the merge under way.
    charged: usize,
}

impl Spill {
    pub(crate) fn new(piece_size: u64) -> Self {
        Self {
            hold: Hold::default(),
            piece_size,
            writing: None,
            runs: VecDeque::new(),
            merged: VecDeque::new(),
            merging: None,
            charged: 0,
        }
    }

    /// The rows in memory are to become a run.
    pub(crate) fn begin_run(&mut self) {
        self.writing = Some((RunWriter::new(self.piece_size), 0));
    }

    /// Ends the run. False if an answer of the disk must come first.
    pub(crate) fn end_run(&mut self, cx: &mut Cx<'_>) -> Result<bool, Failure> {
        let Some((writer, _)) = &mut self.writing else { return Ok(true) };
        let Some(run) = writer.finish(&self.hold, cx)? else { return Ok(false) };
        self.runs.push_back(run);
        self.writing = None;
        Ok(true)
    }

    /// Nobody wants the rows.
    pub(crate) fn close(&mut self, cx: &mut Cx<'_>) {
        cx.client.memory.release(std::mem::take(&mut self.charged));
        *self = Self::new(self.piece_size);
    }

    /// Merges runs until the rest can be merged at once: that merge, or why it is not there now.
    pub(crate) fn merge(
        &mut self,
        order: &SortOrder,
        equals: Equals,
        limit: usize,
        cx: &mut Cx<'_>,
    ) -> Result<Result<Merge, Pump>, Failure> {
        loop {
            if let Some((merge, writer)) = &mut self.merging {
                match merge.write(order, &self.hold, cx, writer)? {
                    Pump::End => {}
                    pump @ (Pump::Rows | Pump::Wait | Pump::Spent) => return Ok(Err(pump)),
                }
                let Some(run) = writer.finish(&self.hold, cx)? else { return Ok(Err(Pump::Wait)) };
                self.merged.push_back(run);
                self.merging = None;
                cx.client.memory.release(std::mem::take(&mut self.charged));
                continue;
            }
            let count = self.runs.len() + self.merged.len();
            let most = self.pay_for_merge(count, cx);
            if count <= most {
                let runs = self.merged.drain(..).chain(self.runs.drain(..));
                return Ok(Ok(Merge::new(runs, equals, limit)));
            }
            if self.runs.len() < 2 {
                // The next level; a single run is the last one of it.
                self.merged.append(&mut self.runs);
                std::mem::swap(&mut self.merged, &mut self.runs);
            }
            // No more than that the rest can be merged at once.
            let merged = most.min(count - most + 1).min(self.runs.len());
            let merge = Merge::new(self.runs.drain(..merged), equals, limit);
            self.merging = Some((merge, RunWriter::new(self.piece_size)));
        }
    }

    /// Pays for a merge of `count` runs, or of as many as there is memory for: how many.
    fn pay_for_merge(&mut self, count: usize, cx: &mut Cx<'_>) -> usize {
        let terms_max = cx.env.site.scratch.as_ref().map_or(RUNS_MIN, |terms| terms.merged_max());
        let mut most = u64::try_from(count).unwrap_or(u64::MAX).min(terms_max).max(RUNS_MIN);
        loop {
            let size = usize::try_from((most + WRITTEN_PIECES) * self.piece_size).unwrap_or(usize::MAX);
            match cx.client.memory.charge(size) {
                Ok(()) => self.charged = size,
                Err(_) if most > RUNS_MIN => {
                    most = (most / 2).max(RUNS_MIN);
                    continue;
                }
                Err(_) => {}
            }
            return usize::try_from(most).unwrap_or(usize::MAX);
        }
    }
}

/// The last merge of a sort.
#[derive(Debug)]
pub struct Merged {
    order: SortOrder,
    hold: Hold,
    merge: Merge,
    charged: usize,
}

impl Merged {
    pub(crate) fn new(order: SortOrder, spill: &mut Spill, merge: Merge) -> Self {
        Self {
            order,
            hold: std::mem::take(&mut spill.hold),
            merge,
            charged: std::mem::take(&mut spill.charged),
        }
    }

    /// As [`Operator::pump`](crate::select::Operator::pump).
    pub(crate) fn give(&mut self, cx: &mut Cx<'_>, sink: &mut dyn RowSink) -> Result<Pump, Failure> {
        let pump = self.merge.give(&self.order, &self.hold, cx, sink)?;
        if pump == Pump::End {
            self.close(cx);
        }
        Ok(pump)
    }

    /// Nobody wants more rows.
    pub(crate) fn close(&mut self, cx: &mut Cx<'_>) {
        (self.merge, self.hold) = (Merge::new([], Equals::Kept, 0), Hold::default());
        cx.client.memory.release(std::mem::take(&mut self.charged));
    }
}
