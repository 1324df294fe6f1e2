//! An aggregate over the frames of one row after the other.
//!
//! | frames | state |
//! | --- | --- |
//! | that all begin with the partition | rows are added |
//! | of counts and exact sums | rows are added, and taken away |
//! | others | two stacks |
//!
//! *Two stacks*: the frame is cut in two. For each row of the front part there is the state of all rows from it to the
//! cut; the back part has one state, to which rows are added. When the frame begins behind the cut, the cut moves to
//! the end and a new front part is made, row by row from behind. So each row is added twice, however long frames are.
//!
//! Invariant: no value is ever taken away from a sum of doubles, which would leave its rounding behind.

use super::Looking;
use crate::outcome::Failure;
use expression::aggregate::{AggregateCall, AggregateState};
use expression::{Context, Warnings};
use planner::plan::{Frame, FrameEdge};
use std::ops::Range;
use types::Value;

/// How a state follows its frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Method {
    Growing,
    Retracting,
    TwoStacks,
}

/// An aggregate that runs.
#[derive(Debug)]
pub(super) struct AggregateRun {
    method: Method,
    /// The rows that are accounted for.
    taken: Range<usize>,
    /// The state of those behind the cut.
    back: AggregateState,
    /// Where the back part begins.
    cut: usize,
    /// States of the front part, that of its first row last.
    front: Vec<AggregateState>,
    /// A front part is being made; so many of its rows are missing.
    missing: usize,
    /// Bytes that the states of the front part hold beyond their own size.
    front_size: usize,
    /// The value of the frame before.
    known: Option<(Range<usize>, Value)>,
}

impl AggregateRun {
    pub(super) fn new(call: &AggregateCall, frame: &Frame) -> Self {
        let method = match frame.start {
            FrameEdge::Unbounded => Method::Growing,
            _ if call.is_retractable() => Method::Retracting,
            FrameEdge::Row | FrameEdge::Peers | FrameEdge::Rows(..) | FrameEdge::Distance(_) => {
                Method::TwoStacks
            }
        };
        Self {
            method,
            taken: 0..0,
            back: call.initial_state(),
            cut: 0,
            front: Vec::new(),
            missing: 0,
            front_size: 0,
            known: None,
        }
    }

    /// The memory it holds.
    pub(super) fn size(&self) -> usize {
        self.front.capacity() * size_of::<AggregateState>() + self.front_size + self.back.memory_size()
    }

    /// The value over a frame; None: the budget ended first.
    pub(super) fn value(
        &mut self,
        call: &AggregateCall,
        frame: Range<usize>,
        looking: &mut Looking<'_, '_>,
    ) -> Result<Option<Value>, Failure> {
        if let Some((known, value)) = &self.known
            && *known == frame
        {
            return Ok(Some(value.clone()));
        }
        if frame.start >= self.taken.end || self.taken.end > frame.end {
            self.begin(call, frame.start);
        }
        if !self.leave(call, frame.start, looking)? {
            return Ok(None);
        }
        while self.taken.end < frame.end {
            self.back.update(call, &looking.rows.row(self.taken.end), looking.context)?;
            self.taken.end += 1;
            if !looking.budget.spend(1) {
                return Ok(None);
            }
        }
        let value = match self.front.last() {
            Some(front) => {
                let mut whole = front.clone();
                whole.merge(call, self.back.clone())?;
                whole.finish(call, looking.context)?
            }
            None => self.back.finish(call, looking.context)?,
        };
        self.known = Some((frame, value.clone()));
        Ok(Some(value))
    }

    /// No row is accounted for; the next is this one.
    fn begin(&mut self, call: &AggregateCall, start: usize) {
        self.taken = start..start;
        self.cut = start;
        self.back = call.initial_state();
        self.front.clear();
        (self.missing, self.front_size) = (0, 0);
    }

    /// Takes the rows before the frame out of the state; false if the budget ended first.
    fn leave(
        &mut self,
        call: &AggregateCall,
        start: usize,
        looking: &mut Looking<'_, '_>,
    ) -> Result<bool, Failure> {
        match self.method {
            Method::Growing => Ok(true),
            Method::Retracting => {
                // Its warnings were given when the row came.
                let context = Context { warnings: Warnings::default(), ..looking.context.clone() };
                while self.taken.start < start {
                    self.back.retract(call, &looking.rows.row(self.taken.start), &context)?;
                    self.taken.start += 1;
                    if !looking.budget.spend(1) {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Method::TwoStacks => {
                if self.missing == 0 && start > self.cut {
                    self.front.clear();
                    self.front_size = 0;
                    self.taken.start = start;
                    self.missing = self.taken.end - start;
                }
                while self.taken.start < start {
                    let passed = self.front.pop();
                    self.front_size -= passed.map_or(0, |state| state.memory_size());
                    self.taken.start += 1;
                }
                self.make_front(call, looking)
            }
        }
    }

    /// Goes on to make a front part; false if the budget ended first.
    fn make_front(&mut self, call: &AggregateCall, looking: &mut Looking<'_, '_>) -> Result<bool, Failure> {
        if self.missing == 0 {
            return Ok(true);
        }
        let context = Context { warnings: Warnings::default(), ..looking.context.clone() };
        while self.missing > 0 {
            let mut state = call.initial_state();
            let row = self.taken.start + self.missing - 1;
            state.update(call, &looking.rows.row(row), &context)?;
            if let Some(behind) = self.front.last() {
                state.merge(call, behind.clone())?;
            }
            self.front_size += state.memory_size();
            self.front.push(state);
            self.missing -= 1;
            if !looking.budget.spend(1) && self.missing > 0 {
                return Ok(false);
            }
        }
        self.cut = self.taken.end;
        self.back = call.initial_state();
        Ok(true)
    }
}
