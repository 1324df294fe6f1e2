//! A call of a window function: its value for the current row.

use super::Looking;
use super::aggregate::AggregateRun;
use super::frame::{FrameRun, row_count};
use crate::outcome::Failure;
use expression::{Context, Expression, NoColumns};
use planner::plan::{Direction, WindowCall, WindowFunction, WindowStep};
use protocol::SqlError;
use types::Value;

/// A call that runs.
#[derive(Debug)]
pub(super) struct CallRun {
    frame: FrameRun,
    /// Of aggregates.
    aggregate: Option<AggregateRun>,
    /// The number that NTILE, LAG, LEAD and NTH_VALUE were given.
    count: usize,
}

impl CallRun {
    pub(super) fn new(call: &WindowCall, context: &Context<'_>) -> Result<Self, Failure> {
        let count = |number: &Expression, least: usize| {
            let count = row_count(number.evaluate(&NoColumns, context)?).filter(|count| *count >= least);
            let wrong = || SqlError::new(1210, format!("Incorrect arguments to {}", call.function.name()));
            Ok::<usize, Failure>(count.ok_or_else(wrong)?)
        };
        let count = match &call.function {
            WindowFunction::Tile(tiles) => count(tiles, 1)?,
            WindowFunction::Nth(_, number) => count(number, 1)?,
            WindowFunction::Offset { count: number, .. } => count(number, 0)?,
            WindowFunction::RowNumber
            | WindowFunction::Rank
            | WindowFunction::DenseRank
            | WindowFunction::PercentRank
            | WindowFunction::CumulativeDistribution
            | WindowFunction::First(_)
            | WindowFunction::Last(_)
            | WindowFunction::Aggregate(_) => 0,
        };
        let aggregate = match &call.function {
            WindowFunction::Aggregate(aggregate) => Some(AggregateRun::new(aggregate, &call.frame)),
            _ => None,
        };
        Ok(Self { frame: FrameRun::new(&call.frame, context)?, aggregate, count })
    }

    /// The memory it holds.
    pub(super) fn size(&self) -> usize {
        self.aggregate.as_ref().map_or(0, AggregateRun::size)
    }

    /// The value for the current row; None: the budget ended first.
    pub(super) fn value(
        &mut self,
        plan: &WindowStep,
        call: &WindowCall,
        looking: &mut Looking<'_, '_>,
    ) -> Result<Option<Value>, Failure> {
        let place = looking.place;
        let (row, partition) = (place.row, place.partition.clone());
        let before = row - partition.start;
        let rank = place.peers.start - partition.start;
        Ok(Some(match &call.function {
            WindowFunction::RowNumber => number(before + 1),
            WindowFunction::Rank => number(rank + 1),
            WindowFunction::DenseRank => Value::UInt(place.dense_rank),
            WindowFunction::PercentRank => ratio(rank, partition.len() - 1),
            WindowFunction::CumulativeDistribution => {
                ratio(place.peers.end - partition.start, partition.len())
            }
            WindowFunction::Tile(_) => number(tile(before, partition.len(), self.count)),
            WindowFunction::Offset { value, direction, default, .. } => {
                let other = match direction {
                    Direction::Before => row.checked_sub(self.count),
                    Direction::Behind => row.checked_add(self.count),
                };
                match (other.filter(|other| partition.contains(other)), default) {
                    (Some(other), _) => evaluated(value, other, looking)?,
                    (None, Some(default)) => evaluated(default, row, looking)?,
                    (None, None) => Value::Null,
                }
            }
            WindowFunction::First(_)
            | WindowFunction::Last(_)
            | WindowFunction::Nth(..)
            | WindowFunction::Aggregate(_) => return self.framed(plan, call, looking),
        }))
    }

    /// The same for functions of a frame.
    fn framed(
        &mut self,
        plan: &WindowStep,
        call: &WindowCall,
        looking: &mut Looking<'_, '_>,
    ) -> Result<Option<Value>, Failure> {
        let order_by = plan.columns.get(plan.partition_count);
        let Some(frame) = self.frame.settle(&call.frame, order_by, looking)? else { return Ok(None) };
        if let (WindowFunction::Aggregate(aggregate), Some(run)) = (&call.function, &mut self.aggregate) {
            return run.value(aggregate, frame, looking);
        }
        let (value, row) = match &call.function {
            WindowFunction::First(value) => (Some(value), Some(frame.start)),
            WindowFunction::Last(value) => (Some(value), frame.end.checked_sub(1)),
            WindowFunction::Nth(value, _) => (Some(value), frame.start.checked_add(self.count - 1)),
            _ => (None, None),
        };
        Ok(Some(match (value, row.filter(|row| frame.contains(row))) {
            (Some(value), Some(row)) => evaluated(value, row, looking)?,
            _ => Value::Null,
        }))
    }
}

fn evaluated(expression: &Expression, row: usize, looking: &Looking<'_, '_>) -> Result<Value, Failure> {
    Ok(expression.evaluate(&looking.rows.row(row), looking.context)?)
}

fn number(number: usize) -> Value {
    Value::UInt(number as u64)
}

#[expect(clippy::cast_precision_loss, reason = "the nearest double is asked for")]
fn ratio(part: usize, whole: usize) -> Value {
    Value::Double(if whole == 0 { 0.0 } else { part as f64 / whole as f64 })
}

/// The tile of the row behind `before` others, of `count` tiles that hold `rows`: the first ones have one row more, if
/// they cannot have the same number.
fn tile(before: usize, rows: usize, count: usize) -> usize {
    let (each, larger) = (rows / count, rows % count);
    let in_larger = larger * (each + 1);
    if before < in_larger { before / (each + 1) + 1 } else { larger + (before - in_larger) / each.max(1) + 1 }
}

#[cfg(test)]
mod tests {
    use super::tile;

    #[test]
    fn tiles_are_as_equal_as_can_be_and_the_first_are_larger() {
        let tiles = |rows: usize, count: usize| -> Vec<usize> {
            (0..rows).map(|before| tile(before, rows, count)).collect()
        };
        assert_eq!(tiles(7, 3), [1, 1, 1, 2, 2, 3, 3]);
        assert_eq!(tiles(6, 3), [1, 1, 2, 2, 3, 3]);
        assert_eq!(tiles(2, 5), [1, 2]);
        assert_eq!(tiles(3, 1), [1, 1, 1]);
    }
}
