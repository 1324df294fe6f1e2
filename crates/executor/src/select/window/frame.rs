//! The frame of a row: from which row of the partition to which.
//!
//! Edges at a distance in rows are computed. Those at a distance in values are looked for, from where they were for
//! the row before: no row is passed twice in a partition.
//!
//! *NULL in ORDER BY.* Rows with NULL are peers of each other, at no distance from any other row.

use super::Looking;
use crate::outcome::Failure;
use expression::{Context, Expression, NoColumns};
use planner::plan::{Direction, Distance, Frame, FrameEdge, SortColumn};
use protocol::SqlError;
use std::cmp::Ordering;
use std::ops::Range;
use types::{Value, ValueRef};

/// The frame of a call.
#[derive(Debug)]
pub(super) struct FrameRun {
    start: EdgeRun,
    end: EdgeRun,
}

/// An edge of a frame.
#[derive(Debug)]
struct EdgeRun {
    /// Its distance in rows.
    rows: usize,
    /// Where it is, if it is looked for.
    at: usize,
}

impl FrameRun {
    pub(super) fn new(frame: &Frame, context: &Context<'_>) -> Result<Self, Failure> {
        let edge = |edge: &FrameEdge| {
            let wrong = || {
                let text = format!(
                    "Window '{}': frame start or end is negative, NULL or of non-integral type",
                    frame.window
                );
                Failure::Error(SqlError::new(3586, text))
            };
            let rows = match edge {
                FrameEdge::Unbounded | FrameEdge::Row | FrameEdge::Peers => 0,
                FrameEdge::Rows(_, count) => {
                    row_count(count.evaluate(&NoColumns, context)?).ok_or_else(wrong)?
                }
                FrameEdge::Distance(distance) => {
                    if is_negative_or_null(&distance.amount.evaluate(&NoColumns, context)?) {
                        return Err(wrong());
                    }
                    0
                }
            };
            Ok(EdgeRun { rows, at: 0 })
        };
        Ok(Self { start: edge(&frame.start)?, end: edge(&frame.end)? })
    }

    /// The frame of the current row; None: the budget ended first.
    pub(super) fn settle(
        &mut self,
        frame: &Frame,
        order_by: Option<&SortColumn>,
        looking: &mut Looking<'_, '_>,
    ) -> Result<Option<Range<usize>>, Failure> {
        let partition = looking.place.partition.clone();
        let row = looking.place.row;
        let start = match &frame.start {
            FrameEdge::Unbounded => partition.start,
            FrameEdge::Row => row,
            FrameEdge::Peers => looking.place.peers.start,
            FrameEdge::Rows(Direction::Before, _) => row.saturating_sub(self.start.rows).max(partition.start),
            FrameEdge::Rows(Direction::Behind, _) => row.saturating_add(self.start.rows).min(partition.end),
            FrameEdge::Distance(distance) => {
                match self.start.seek(distance, order_by, looking, Ordering::is_lt)? {
                    Some(start) => start,
                    None => return Ok(None),
                }
            }
        };
        let behind = row + 1;
        let end = match &frame.end {
            FrameEdge::Unbounded => partition.end,
            FrameEdge::Row => behind,
            FrameEdge::Peers => looking.place.peers.end,
            FrameEdge::Rows(Direction::Before, _) => {
                behind.saturating_sub(self.end.rows).max(partition.start)
            }
            FrameEdge::Rows(Direction::Behind, _) => behind.saturating_add(self.end.rows).min(partition.end),
            FrameEdge::Distance(distance) => {
                match self.end.seek(distance, order_by, looking, Ordering::is_le)? {
                    Some(end) => end,
                    None => return Ok(None),
                }
            }
        };
        Ok(Some(start..end.max(start)))
    }
}

impl EdgeRun {
    /// Passes over the rows whose values lie so beside the limit; None: the budget ended first.
    fn seek(
        &mut self,
        distance: &Distance,
        order_by: Option<&SortColumn>,
        looking: &mut Looking<'_, '_>,
        is_passed: impl Fn(Ordering) -> bool,
    ) -> Result<Option<usize>, Failure> {
        let Some(order_by) = order_by else { return Ok(Some(looking.place.partition.end)) };
        self.at = self.at.max(looking.place.partition.start);
        while self.at < looking.place.partition.end {
            if !is_passed(side(distance, order_by, self.at, looking)?) {
                break;
            }
            self.at += 1;
            if !looking.budget.spend(1) {
                return Ok(None);
            }
        }
        Ok(Some(self.at))
    }
}

/// Where a row lies beside the limit of the current one.
fn side(
    distance: &Distance,
    order_by: &SortColumn,
    candidate: usize,
    looking: &Looking<'_, '_>,
) -> Result<Ordering, Failure> {
    let row = looking.rows.row(looking.place.row);
    let (value, own) = (looking.rows.row(candidate).value(order_by.position), row.value(order_by.position));
    let nulls = if order_by.descending { Ordering::Greater } else { Ordering::Less };
    match (value.is_null(), own.is_null()) {
        (true, true) => return Ok(Ordering::Equal),
        (true, false) => return Ok(nulls),
        (false, true) => return Ok(nulls.reverse()),
        (false, false) => {}
    }
    let limit = distance.limit.evaluate_ref(&row, looking.context)?;
    if limit.is_null() {
        // It is beyond all values of the type.
        let is_first = distance.direction == Direction::Before;
        return Ok(if is_first { Ordering::Greater } else { Ordering::Less });
    }
    let pair: [ValueRef<'_>; 2] = [value, limit.as_ref()];
    let pair: &[ValueRef<'_>] = &pair;
    let is_true = |condition: &Expression| condition.is_true(&pair, looking.context);
    Ok(if is_true(&distance.is_before)? {
        Ordering::Less
    } else if is_true(&distance.is_behind)? {
        Ordering::Greater
    } else {
        Ordering::Equal
    })
}

/// A number of rows.
pub(super) fn row_count(value: Value) -> Option<usize> {
    match value {
        Value::Int(number) => usize::try_from(number).ok(),
        Value::UInt(number) => Some(usize::try_from(number).unwrap_or(usize::MAX)),
        // Some clients send numbers as texts.
        Value::Bytes(digits) if !digits.is_empty() && digits.iter().all(u8::is_ascii_digit) => {
            std::str::from_utf8(&digits).ok()?.parse().ok()
        }
        Value::Null
        | Value::Double(_)
        | Value::Decimal(_)
        | Value::Bytes(_)
        | Value::Date(_)
        | Value::Time(_)
        | Value::DateTime(_) => None,
    }
}

fn is_negative_or_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Int(number) => *number < 0,
        Value::Double(number) => *number < 0.0,
        Value::Decimal(decimal) => decimal.is_negative(),
        Value::Bytes(text) => text.trim_ascii_start().first() == Some(&b'-'),
        Value::Time(time) => time.is_negative(),
        Value::UInt(_) | Value::Date(_) | Value::DateTime(_) => false,
    }
}
