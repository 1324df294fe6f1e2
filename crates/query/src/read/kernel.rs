//! The parts of a read program that a scan does without evaluating anything. Made once for a scan. They are conditions
//! that compare one column with constants, and columns of numbers where groups and aggregates ask for their values.
//!
//! Conditions are taken from the front of the filter up to the first one of another kind. So what the others raise is
//! raised for the same rows as without.
//!
//! It also knows whether the scan's index has the rows of each group side by side, so that a row belongs to the last
//! group or begins one. Columns of texts are not looked at: texts that an index has side by side may differ.
//!
//! Invariant: whatever it says is what the evaluation would say. Where it says nothing the evaluation has to.

use crate::TableAccessInfo;
use crate::mutants::{self, Mutant};
use expression::aggregate::AggregateCall;
use expression::context::ColumnSlot;
use expression::{ColumnCondition, ColumnTest, Expression, TextTest, remainder};
use protocol::program::{ReadOutput, ReadProgram};
use storage::{SCAN_BATCH_MAX, ScanRow};
use types::{
    ColumnIndex, IndexId, KeyPart, NullBit, NumberColumn, NumberKind, SqlType, TableDefinition, TextColumn,
    ValueRef,
};

/// The parts of a program that need no evaluation.
#[derive(Debug, Default)]
pub(super) struct Kernel {
    /// The first conditions of the filter.
    conditions: Vec<Condition>,
    /// These are all of its conditions.
    is_whole_filter: bool,
    /// By number of a GROUP BY expression, where it is a column of numbers.
    keys: Vec<Option<NumberColumn>>,
    /// By number of an aggregate.
    arguments: Vec<Argument>,
    /// Rows of a group come one after the other.
    pub(super) is_ordered: bool,
}

/// A condition of the filter.
#[derive(Debug)]
enum Condition {
    /// A test of a column of integers, or of the remainder when it is divided by a number.
    Number(NumberColumn, Option<i64>, ColumnTest),
    /// Of a column of texts.
    Text(TextColumn, TextTest),
    /// IS NULL, IS NOT NULL: whether the column has to be NULL.
    Null(NullBit, bool),
}

/// The value that an aggregate asks of a row.
#[derive(Debug)]
enum Argument {
    /// Nothing: COUNT(*).
    Nothing,
    /// A column of numbers.
    Column(NumberColumn),
    /// The same for one that keeps rows, so that memory has to be counted.
    Kept(NumberColumn),
    /// A value that the evaluation makes.
    Other,
}

/// The rows of a batch that passed, by their positions in it.
pub(super) struct Selection {
    positions: [u8; SCAN_BATCH_MAX],
    count: usize,
}

impl Selection {
    /// So many rows, all of them.
    #[inline]
    pub(super) fn all(count: usize) -> Self {
        Self { positions: IN_ORDER, count }
    }

    /// Their positions, in ascending order.
    #[inline]
    pub(super) fn positions(&self) -> &[u8] {
        &self.positions[..self.count]
    }

    /// Keeps the rows for whose numbers `holds` says so; false if one cannot be told.
    #[inline]
    fn narrow_by(
        &mut self,
        rows: &[ScanRow<'_>],
        column: &NumberColumn,
        holds: impl Fn(Option<i64>) -> bool,
    ) -> bool {
        let before = self.positions;
        let (mut place, mut kept) = (0_u8, 0);
        let bytes = before[..self.count].iter().map(|position| rows[usize::from(*position)].bytes());
        let are_read = column.read_each(bytes, |number| {
            self.positions[kept % SCAN_BATCH_MAX] = before[usize::from(place)];
            place = place.wrapping_add(1);
            kept += usize::from(holds(number));
        });
        self.count = kept;
        are_read
    }

    /// Keeps the rows for which `is_true` says so; false as soon as it says nothing.
    #[inline]
    fn narrow<'r>(&mut self, rows: &[ScanRow<'r>], is_true: impl Fn(&'r [u8]) -> Option<bool>) -> bool {
        let mut kept = 0;
        for place in 0..self.count {
            let position = self.positions[place];
            let Some(row) = rows.get(usize::from(position)) else { return false };
            let Some(is_true) = is_true(row.bytes()) else { return false };
            self.positions[kept] = position;
            kept += usize::from(is_true);
        }
        self.count = kept;
        true
    }
}

/// Position by position.
const IN_ORDER: [u8; SCAN_BATCH_MAX] = {
    let mut positions = [0; SCAN_BATCH_MAX];
    let mut position = 0;
    while position < SCAN_BATCH_MAX {
        #[expect(clippy::cast_possible_truncation, reason = "a batch has 256 rows at most")]
        let number = position as u8;
        positions[position] = number;
        position += 1;
    }
    positions
};

impl Condition {
    fn of(condition: ColumnCondition, info: &TableAccessInfo) -> Option<Self> {
        let ColumnCondition { column, divisor, test } = condition;
        if let ColumnTest::Null { is_true_for_null } = test {
            return Some(Self::Null(NullBit::of(&info.layout, ColumnIndex(column.0))?, is_true_for_null));
        }
        if let ColumnTest::Text(test) = test {
            let has_texts = is_text(&info.definition.columns.get(column.index())?.sql_type);
            let column = TextColumn::of(&info.layout, ColumnIndex(column.0)).filter(|_| has_texts)?;
            return Some(Self::Text(column, test));
        }
        let column = number_column(info, column)?;
        matches!(column.kind(), NumberKind::Signed | NumberKind::Unsigned)
            .then_some(Self::Number(column, divisor, test))
    }

    #[inline]
    fn is_true(&self, row: &[u8]) -> Option<bool> {
        match self {
            Self::Number(column, divisor, test) => {
                column.read(row).map(|number| test.holds(remainder(number, *divisor)))
            }
            Self::Text(column, test) => is_text_true(column, test, row),
            Self::Null(bit, is_true_for_null) => bit.read(row).map(|is_null| is_null == *is_true_for_null),
        }
    }

    /// Keeps the rows of a selection for which it is TRUE; false if it cannot tell of one.
    fn narrow(&self, rows: &[ScanRow<'_>], selection: &mut Selection) -> bool {
        match self {
            Self::Number(column, None, ColumnTest::Range { low, high, is_true_inside }) => {
                let holds = |number: i64| (*low <= number && number <= *high) == *is_true_inside;
                selection.narrow_by(rows, column, |number| number.is_some_and(holds))
            }
            Self::Number(column, None, test) => {
                selection.narrow_by(rows, column, |number| test.holds(number))
            }
            Self::Number(column, divisor, test) => {
                selection.narrow_by(rows, column, |number| test.holds(remainder(number, *divisor)))
            }
            Self::Text(column, test) => selection.narrow(rows, |row| is_text_true(column, test, row)),
            Self::Null(bit, is_true_for_null) => {
                selection.narrow(rows, |row| bit.read(row).map(|is_null| is_null == *is_true_for_null))
            }
        }
    }
}

#[inline]
fn is_text_true(column: &TextColumn, test: &TextTest, row: &[u8]) -> Option<bool> {
    match column.read(row)? {
        Some(text) => test.holds(text),
        None => Some(false),
    }
}

fn is_text(sql_type: &SqlType) -> bool {
    matches!(
        sql_type,
        SqlType::Char { .. }
            | SqlType::VarChar { .. }
            | SqlType::Binary { .. }
            | SqlType::VarBinary { .. }
            | SqlType::Text { .. }
            | SqlType::Blob { .. }
    )
}

/// The numbers of a table's column.
pub(super) fn number_column(info: &TableAccessInfo, slot: ColumnSlot) -> Option<NumberColumn> {
    let definition = info.definition.columns.get(slot.index())?;
    NumberColumn::of(&info.layout, ColumnIndex(slot.0), &definition.sql_type)
}

impl Kernel {
    /// The kernel of a read program for a scan of an index.
    pub(super) fn of(program: &ReadProgram, info: &TableAccessInfo, index: IndexId) -> Self {
        let column = |slot: ColumnSlot| number_column(info, slot);
        let parameters = &program.context.parameters;
        let filter = program.filter.iter().flat_map(|filter| filter.conjuncts());
        let condition =
            |condition: &Expression| Condition::of(condition.as_column_condition(parameters)?, info);
        let mut kernel =
            Self { conditions: filter.clone().map_while(condition).collect(), ..Self::default() };
        kernel.is_whole_filter = kernel.conditions.len() == filter.count();
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

    /// Its conditions are the whole filter.
    pub(super) fn is_whole_filter(&self) -> bool {
        self.is_whole_filter
    }

    /// How many of the filter's first conditions it asks.
    pub(super) fn condition_count(&self) -> usize {
        self.conditions.len()
    }

    /// How many of the filter's first conditions are TRUE for a row and need not be asked again; None if one is not
    /// TRUE.
    #[inline]
    pub(super) fn passed(&self, row: &[u8]) -> Option<usize> {
        for (number, condition) in self.conditions.iter().enumerate() {
            match condition.is_true(row) {
                None => return Some(number),
                Some(true) => {}
                Some(false) => return None,
            }
        }
        Some(self.conditions.len())
    }

    /// The rows of a batch for which its conditions are TRUE; none if they cannot tell of one.
    pub(super) fn select(&self, rows: &[ScanRow<'_>]) -> Option<Selection> {
        let mut selection = Selection::all(rows.len());
        if mutants::is(Mutant::KernelGuesses) {
            self.conditions.iter().for_each(|condition| _ = condition.narrow(rows, &mut selection));
            return Some(selection);
        }
        let are_known = self.conditions.iter().all(|condition| condition.narrow(rows, &mut selection));
        are_known.then_some(selection)
    }

    /// The value of a GROUP BY expression.
    #[inline]
    pub(super) fn key(&self, number: usize, row: &[u8]) -> Option<ValueRef<'static>> {
        self.keys.get(number)?.as_ref()?.read_value(row)
    }

    /// The value of an aggregate's argument, if that takes no memory; for COUNT(*) one that is not NULL.
    #[inline]
    pub(super) fn argument(&self, number: usize, row: &[u8]) -> Option<ValueRef<'static>> {
        match self.arguments.get(number)? {
            Argument::Nothing => Some(ValueRef::Int(1)),
            Argument::Column(column) => column.read_value(row),
            Argument::Kept(_) | Argument::Other => None,
        }
    }

    /// The value of the argument of an aggregate that keeps rows.
    pub(super) fn kept(&self, number: usize, row: &[u8]) -> Option<ValueRef<'static>> {
        match self.arguments.get(number)? {
            Argument::Kept(column) => column.read_value(row),
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
