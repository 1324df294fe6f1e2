//! Rows of a table that finds them by hash, in scratch. Each time the table finds no more memory, its rows become a
//! run in the order of their hashes, and it begins anew. In the end the runs are merged.
//!
//! ```text
//! table --memory is full--> run 1              runs --merged--> rows of one hash, those of the next, ..
//!       --memory is full--> run 2, ..
//! ```
//! Equal rows have equal hashes, so the merge gives them one behind the other, those of earlier runs first. Its reader
//! needs memory for the rows of a few hashes only.
//!
//! Runs, not parts by hash: a part may be too large again, and one that holds a single hash remains so. And equal rows
//! keep the order in which they came: aggregates that depend on it see no difference.
//!
//! Invariant: the first value of a row in a run is its place in the order (`HashIndex::walk`).
//!
//! Deliberately not here: what rows hold behind that, and whether rows of one hash are equal.

use crate::cx::Cx;
use crate::outcome::Failure;
use crate::scratch::RunWriter;
use crate::sort::{Merged, SortOrder, Spill};
use crate::table_reader::Pump;
use planner::plan::{Equals, SortColumn};
use stdx::HashIndex;
use types::{IntegerWidth, SqlType, ValueRef};

/// The part of a row that a table has put into its run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Put {
    /// Not the last one: it is to be asked again.
    Part,
    /// All of it, or the last part.
    Whole,
}

/// The runs of a table.
#[derive(Debug)]
pub(crate) struct HashRuns {
    spill: Spill,
    /// The numbers of a segment that is written, in order: the next one for each hash, and the hash that is next.
    numbers: Vec<(u32, u32)>,
    next: usize,
}

impl HashRuns {
    /// No runs. None if the node has no scratch.
    pub(crate) fn new(cx: &Cx<'_>) -> Option<Self> {
        let terms = cx.env.site.scratch.as_ref()?;
        Some(Self { spill: Spill::new(terms.piece_size()), numbers: Vec::new(), next: 0 })
    }

    /// Rows are being written.
    pub(crate) fn is_writing(&self) -> bool {
        self.spill.writing.is_some()
    }

    /// The rows of the table are to become a run.
    pub(crate) fn begin(&mut self) {
        self.spill.begin_run();
    }

    /// Writes the rows of the table that has this index: `put` writes the one with a place in the order and a number.
    /// If it has to go on with that: why it has stopped.
    pub(crate) fn write(
        &mut self,
        index: &HashIndex,
        cx: &mut Cx<'_>,
        mut put: impl FnMut(&mut RunWriter, ValueRef<'_>, usize) -> Put,
    ) -> Result<Option<Pump>, Failure> {
        while let Some((writer, at)) = &mut self.spill.writing {
            if !writer.is_ready(&self.spill.hold, cx)? {
                return Ok(Some(Pump::Wait));
            }
            if let Some((order, number)) = self.numbers.get_mut(self.next) {
                if put(writer, ValueRef::UInt((*order).into()), *number as usize) == Put::Whole {
                    match index.next(*number) {
                        Some(same_hash) => *number = same_hash,
                        None => self.next += 1,
                    }
                }
                if !cx.env.budget.spend(1) {
                    return Ok(Some(Pump::Spent));
                }
                continue;
            }
            self.next = 0;
            if let Some(next) = index.walk(*at, &mut self.numbers) {
                *at = next;
            } else if !self.spill.end_run(cx)? {
                return Ok(Some(Pump::Wait));
            }
        }
        Ok(None)
    }

    /// Nobody wants the rows.
    pub(crate) fn close(&mut self, cx: &mut Cx<'_>) {
        self.spill.close(cx);
    }

    /// All rows are in runs: their merge, or why it is not there now.
    pub(crate) fn merge(&mut self, cx: &mut Cx<'_>) -> Result<Result<Merged, Pump>, Failure> {
        let sql_type = SqlType::Integer { width: IntegerWidth::Big, unsigned: true };
        let order = SortOrder::new(vec![SortColumn { position: 0, sql_type, descending: false }]);
        Ok(match self.spill.merge(&order, Equals::Kept, usize::MAX, cx)? {
            Ok(merge) => Ok(Merged::new(order, &mut self.spill, merge)),
            Err(pump) => Err(pump),
        })
    }
}
