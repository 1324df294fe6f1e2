//! Window functions: values that are made of several rows and stand behind each of them.
//!
//! ```text
//! rows of the source or the groups ─ input ─► step ─► step ─► items, DISTINCT, ORDER BY
//!                                             each sorts, and puts its values behind those of the row
//! ```
//! Calls whose windows have the same partitions and the same order share a step. The expressions of a step are over the
//! row that comes into it.
//!
//! *Frames* are pairs of edges. As a partition is walked, both only move forward.

use super::SortColumn;
use expression::{AggregateCall, Expression};
use std::sync::Arc;
use types::SqlType;

/// All window functions of a SELECT.
#[derive(Clone, Debug)]
pub struct Windows {
    /// The first values of each row, over the groups if there are any, else over the source's rows. At least one.
    pub input: Vec<Expression>,
    /// One after the other.
    pub steps: Vec<Arc<WindowStep>>,
}

/// The calls over windows with the same partitions and the same order.
#[derive(Clone, Debug)]
pub struct WindowStep {
    /// PARTITION BY, then ORDER BY: rows are sorted by all of it.
    pub columns: Vec<SortColumn>,
    /// How many of these are PARTITION BY.
    pub partition_count: usize,
    /// Each gives one value.
    pub calls: Vec<WindowCall>,
}

/// A call of a window function, or of an aggregate over a window.
#[derive(Clone, PartialEq, Debug)]
pub struct WindowCall {
    /// Which.
    pub function: WindowFunction,
    /// The rows that it is made of, where the function asks for a frame.
    pub frame: Frame,
    /// The type of its value.
    pub sql_type: SqlType,
    /// Its value may be NULL.
    pub nullable: bool,
}

/// Window functions. Numbers of rows are constant; they are evaluated once per execution.
#[derive(Clone, PartialEq, Debug)]
pub enum WindowFunction {
    /// ROW_NUMBER.
    RowNumber,
    /// RANK.
    Rank,
    /// DENSE_RANK.
    DenseRank,
    /// PERCENT_RANK.
    PercentRank,
    /// CUME_DIST.
    CumulativeDistribution,
    /// NTILE of so many.
    Tile(Expression),
    /// LAG and LEAD.
    Offset {
        /// Of the other row.
        value: Expression,
        /// Where that row is.
        direction: Direction,
        /// How far away it is.
        count: Expression,
        /// The value where there is no such row, over the own row; None: NULL.
        default: Option<Expression>,
    },
    /// FIRST_VALUE.
    First(Expression),
    /// LAST_VALUE.
    Last(Expression),
    /// NTH_VALUE, and which; they count from 1.
    Nth(Expression, Expression),
    /// An aggregate, never DISTINCT and never GROUP_CONCAT.
    Aggregate(Box<AggregateCall>),
}

impl WindowFunction {
    /// Its name as messages have it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::RowNumber => "row_number",
            Self::Rank => "rank",
            Self::DenseRank => "dense_rank",
            Self::PercentRank => "percent_rank",
            Self::CumulativeDistribution => "cume_dist",
            Self::Tile(_) => "ntile",
            Self::Offset { direction: Direction::Before, .. } => "lag",
            Self::Offset { direction: Direction::Behind, .. } => "lead",
            Self::First(_) => "first_value",
            Self::Last(_) => "last_value",
            Self::Nth(..) => "nth_value",
            Self::Aggregate(call) => call.function.name(),
        }
    }

    /// The expressions that it evaluates on rows.
    #[must_use]
    pub fn arguments(&self) -> Vec<&Expression> {
        match self {
            Self::RowNumber
            | Self::Rank
            | Self::DenseRank
            | Self::PercentRank
            | Self::CumulativeDistribution
            | Self::Tile(_) => Vec::new(),
            Self::Offset { value, default, .. } => std::iter::once(value).chain(default).collect(),
            Self::First(value) | Self::Last(value) | Self::Nth(value, _) => vec![value],
            Self::Aggregate(call) => call.arguments.iter().collect(),
        }
    }

    /// The same, to be changed in place.
    pub(crate) fn arguments_mut(&mut self) -> Vec<&mut Expression> {
        match self {
            Self::RowNumber
            | Self::Rank
            | Self::DenseRank
            | Self::PercentRank
            | Self::CumulativeDistribution
            | Self::Tile(_) => Vec::new(),
            Self::Offset { value, default, .. } => std::iter::once(value).chain(default).collect(),
            Self::First(value) | Self::Last(value) | Self::Nth(value, _) => vec![value],
            Self::Aggregate(call) => call.arguments.iter_mut().collect(),
        }
    }
}

/// Where another row is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// PRECEDING, LAG.
    Before,
    /// FOLLOWING, LEAD.
    Behind,
}

/// The rows that a value is made of.
#[derive(Clone, PartialEq, Debug)]
pub struct Frame {
    /// The window's name in messages.
    pub window: String,
    /// Where it begins.
    pub start: FrameEdge,
    /// Where it ends.
    pub end: FrameEdge,
}

/// Where a frame begins or ends.
#[derive(Clone, PartialEq, Debug)]
pub enum FrameEdge {
    /// With the partition.
    Unbounded,
    /// With the row itself.
    Row,
    /// With the first or the last row that is equal to it in ORDER BY.
    Peers,
    /// So many rows away: a constant.
    Rows(Direction, Expression),
    /// Where the value of ORDER BY is so far away.
    Distance(Box<Distance>),
}

/// A distance from the row's value of the only ORDER BY column.
#[derive(Clone, PartialEq, Debug)]
pub struct Distance {
    /// Which way.
    pub direction: Direction,
    /// How far: a constant, not negative.
    pub amount: Expression,
    /// The value at that distance, over the row. NULL if there is none, and where the row has none.
    pub limit: Expression,
    /// Whether a value (slot 0) comes before such a limit (slot 1).
    pub is_before: Expression,
    /// Whether it comes behind.
    pub is_behind: Expression,
}

impl Frame {
    /// The limits of its edges.
    pub(crate) fn limits_mut(&mut self) -> impl Iterator<Item = &mut Expression> {
        [&mut self.start, &mut self.end].into_iter().filter_map(|edge| match edge {
            FrameEdge::Distance(distance) => Some(&mut distance.limit),
            FrameEdge::Unbounded | FrameEdge::Row | FrameEdge::Peers | FrameEdge::Rows(..) => None,
        })
    }
}
