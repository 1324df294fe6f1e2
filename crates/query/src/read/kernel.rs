//! The parts of a read program that a scan does without evaluating anything: conditions on columns of integers, and
//! such columns where groups and aggregates ask for their values. Made once for a scan.
//!
//! Conditions are taken from the front of the filter up to the first one of another kind. So what the others raise is
//! raised for the same rows as without.
//!
//! Invariant: whatever it says is what the evaluation would say. Where it says nothing the evaluation has to.

use expression::IntegerRange;
use expression::context::ColumnSlot;
use protocol::program::{ReadOutput, ReadProgram};
use types::{ColumnIndex, IntegerColumn, RowLayout, ValueRef};

/// The parts of a program that need no evaluation.
#[derive(Debug, Default)]
pub(super) struct Kernel {
    /// The first conditions of the filter.
    ranges: Vec<(IntegerColumn, IntegerRange)>,
    /// By number of a GROUP BY expression, where it is a column of integers.
    keys: Vec<Option<IntegerColumn>>,
    /// By number of an aggregate, where its argument is a column of integers.
    arguments: Vec<Option<IntegerColumn>>,
}

impl Kernel {
    /// The kernel of a read program for rows of this layout.
    pub(super) fn of(program: &ReadProgram, layout: &RowLayout) -> Self {
        let column = |slot: ColumnSlot| IntegerColumn::of(layout, ColumnIndex(slot.0));
        let parameters = &program.context.parameters;
        let filter = program.filter.iter().flat_map(|filter| filter.conjuncts());
        let range = filter.map_while(|condition| {
            let range = condition.as_integer_range(parameters)?;
            Some((column(range.column)?, range))
        });
        let mut kernel = Self { ranges: range.collect(), ..Self::default() };
        if let ReadOutput::Aggregate { group_by, calls } = &program.output {
            kernel.keys = group_by.iter().map(|key| key.as_column().and_then(column)).collect();
            kernel.arguments = calls.iter().map(|call| call.plain_argument().and_then(column)).collect();
        }
        kernel
    }

    /// How many of the filter's first conditions are TRUE for a row and need not be asked again; None if one is not
    /// TRUE.
    #[inline]
    pub(super) fn passed(&self, row: &[u8]) -> Option<usize> {
        for (number, (column, range)) in self.ranges.iter().enumerate() {
            match column.read(row) {
                None => return Some(number),
                Some(ValueRef::Int(value)) if range.holds(value) => {}
                Some(_) => return None,
            }
        }
        Some(self.ranges.len())
    }

    /// The value of a GROUP BY expression.
    #[inline]
    pub(super) fn key(&self, number: usize, row: &[u8]) -> Option<ValueRef<'static>> {
        self.keys.get(number)?.as_ref()?.read(row)
    }

    /// The value of an aggregate's argument.
    #[inline]
    pub(super) fn argument(&self, number: usize, row: &[u8]) -> Option<ValueRef<'static>> {
        self.arguments.get(number)?.as_ref()?.read(row)
    }
}
