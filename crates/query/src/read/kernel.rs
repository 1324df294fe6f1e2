//! The parts of a read program that a scan does without evaluating anything: conditions on columns of integers, and
//! such columns where groups and aggregates ask for their values. Made once for a scan.
//!
//! Conditions are taken from the front of the filter up to the first one of another kind. So what the others raise is
//! raised for the same rows as without.
//!
//! It also knows whether the scan's index has the rows of each group side by side, so that a row belongs to the last
//! group or begins one. Columns of texts are not looked at: texts that an index has side by side may differ.
//!
//! Invariant: whatever it says is what the evaluation would say. Where it says nothing the evaluation has to.

use crate::TableAccessInfo;
use expression::aggregate::AggregateCall;
use expression::context::ColumnSlot;
use expression::{Expression, IntegerRange};
use protocol::program::{ReadOutput, ReadProgram};
use types::{ColumnIndex, IndexId, IntegerColumn, KeyPart, SqlType, TableDefinition, ValueRef};

/// The parts of a program that need no evaluation.
#[derive(Debug, Default)]
pub(super) struct Kernel {
    /// The first conditions of the filter.
    ranges: Vec<(IntegerColumn, IntegerRange)>,
    /// By number of a GROUP BY expression, where it is a column of integers.
    keys: Vec<Option<IntegerColumn>>,
    /// By number of an aggregate.
    arguments: Vec<Argument>,
    /// Rows of a group come one after the other.
    pub(super) is_ordered: bool,
}

/// The value that an aggregate asks of a row.
#[derive(Debug)]
enum Argument {
    /// Nothing: COUNT(*).
    Nothing,
    /// A column of integers.
    Column(IntegerColumn),
    /// The same for one that keeps rows, so that memory has to be counted.
    Kept(IntegerColumn),
    /// A value that the evaluation makes.
    Other,
}

impl Kernel {
    /// The kernel of a read program for a scan of an index.
    pub(super) fn of(program: &ReadProgram, info: &TableAccessInfo, index: IndexId) -> Self {
        let layout = &info.layout;
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
            let argument = |call: &AggregateCall| match call.plain_argument().and_then(column) {
                Some(column) if call.keeps_rows() => Argument::Kept(column),
                Some(column) => Argument::Column(column),
                None if call.arguments.is_empty() => Argument::Nothing,
                None => Argument::Other,
            };
            kernel.arguments = calls.iter().map(argument).collect();
            kernel.is_ordered = is_prefix(group_by, &info.definition, index);
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

    /// The value of an aggregate's argument, if that takes no memory; for COUNT(*) one that is not NULL.
    #[inline]
    pub(super) fn argument(&self, number: usize, row: &[u8]) -> Option<ValueRef<'static>> {
        match self.arguments.get(number)? {
            Argument::Nothing => Some(ValueRef::Int(1)),
            Argument::Column(column) => column.read(row),
            Argument::Kept(_) | Argument::Other => None,
        }
    }

    /// The value of the argument of an aggregate that keeps rows.
    pub(super) fn kept(&self, number: usize, row: &[u8]) -> Option<ValueRef<'static>> {
        match self.arguments.get(number)? {
            Argument::Kept(column) => column.read(row),
            Argument::Nothing | Argument::Column(_) | Argument::Other => None,
        }
    }
}

/// Whether these are the first columns of an index, in any order, and equal where their keys are.
fn is_prefix(group_by: &[Expression], table: &TableDefinition, index: IndexId) -> bool {
    let Some(first) = table.index(index).and_then(|index| index.parts.get(..group_by.len())) else {
        return false;
    };
    let is_grouped = |part: &KeyPart| {
        let of_part = |key: &Expression| key.as_column().is_some_and(|slot| slot.0 == part.column.0);
        group_by.iter().any(of_part) && has_plain_keys(&table.column_at(part.column).sql_type)
    };
    !first.is_empty() && first.iter().all(is_grouped)
}

/// Whether two values of a column are the same if their keys are.
fn has_plain_keys(sql_type: &SqlType) -> bool {
    matches!(
        sql_type,
        SqlType::Integer { .. } | SqlType::Date | SqlType::DateTime { .. } | SqlType::Timestamp { .. }
    )
}
