//! From the mixed space (columns, then aggregates) to the group space (values of GROUP BY, then aggregates).
//!
//! A column that GROUP BY determines is added to the group's values: that changes no group. GROUP BY determines it if
//! it holds a whole key of the table, or WHERE and ON fix the column to a constant or to a determined column. Any other
//! bare column is 1055 or 1140 under ONLY_FULL_GROUP_BY; without it, ANY_VALUE.
//!
//! *WITH ROLLUP* makes rows in which values of GROUP BY are NULL. Behind the aggregates each row has the number of
//! those that it has; GROUPING() asks that.
//!
//! Invariant: after [`Groups::finish`] every slot of an adopted expression is that of a value of the group, or of a
//! subquery or a window function.

use super::expression::{Aggregates, Place};
use super::known::Known;
use super::named_items::{ItemList, NameOrder, NamedItems};
use super::scope::{Scope, ScopeTable};
use super::{Binder, Clause};
use crate::algebra::{Dependency, GROUPING_SLOTS, LEVEL_SLOT, WINDOW_SLOTS};
use crate::plan::Grouping;
use expression::{
    AggregateCall, AggregateFunction, BinaryOperator, ColumnSlot, Comparison, Expression, Fingerprint, Node,
    TypeError,
};
use protocol::SqlError;
use sqlparser::ast::{Expr, Value as AstValue};
use stdx::{FixedMap, FixedSet};
use types::{IndexKind, IntegerWidth, SqlType};

/// Slots of aggregates until all values of GROUP BY are known.
const AGGREGATE_SLOTS: u16 = 1 << 15;

/// A grouping in the making.
pub(crate) struct Groups<'a> {
    scope: &'a Scope,
    /// The expressions that the statement groups by.
    written: Known<Expression>,
    /// The columns that these determine, as far as they are asked for: they stand behind them.
    behind: Vec<Expression>,
    places_behind: FixedMap<ColumnSlot, usize>,
    first_aggregate: u16,
    calls: Known<AggregateCall>,
    /// Columns that each group has one value of.
    determined: FixedSet<ColumnSlot>,
    only_full_group_by: bool,
    /// WITH ROLLUP.
    is_rolled_up: bool,
    /// The arguments of each GROUPING().
    groupings: Vec<Vec<Expression>>,
}

/// How a statement groups.
#[derive(Clone, Copy)]
pub(crate) struct GroupModes {
    pub(crate) only_full_group_by: bool,
    pub(crate) is_rolled_up: bool,
}

/// Which expression is being adopted, for messages.
#[derive(Clone, Copy)]
pub(crate) enum Adopted {
    Item(usize),
    OrderBy(usize),
    Having,
    /// Of PARTITION BY and ORDER BY of windows, or of what is asked of them.
    Window(usize),
}

impl<'a> Groups<'a> {
    pub(crate) fn new(
        scope: &'a Scope,
        group_by: Vec<Expression>,
        aggregates: Aggregates,
        dependencies: &[Dependency],
        modes: GroupModes,
    ) -> Self {
        let GroupModes { only_full_group_by, is_rolled_up } = modes;
        let columns = group_by.iter().filter_map(Expression::as_column);
        let determined = if group_by.is_empty() {
            FixedSet::default()
        } else {
            determined_by(columns.collect(), scope, dependencies)
        };
        Self {
            scope,
            written: group_by.into_iter().collect(),
            behind: Vec::new(),
            places_behind: FixedMap::default(),
            first_aggregate: aggregates.first_slot,
            calls: aggregates.calls,
            determined,
            only_full_group_by,
            is_rolled_up,
            groupings: aggregates.groupings,
        }
    }

    /// Brings an expression into the group space (aggregates still at [`AGGREGATE_SLOTS`]).
    pub(crate) fn adopt(&mut self, expression: &mut Expression, adopted: Adopted) -> Result<(), SqlError> {
        let fingerprints = if self.written.is_indexed() { expression.fingerprints() } else { Vec::new() };
        self.adopt_marked(expression, &fingerprints, adopted)
    }

    /// The same with the expression's fingerprints, where they are asked for.
    fn adopt_marked(
        &mut self,
        expression: &mut Expression,
        mut marks: &[Fingerprint],
        adopted: Adopted,
    ) -> Result<(), SqlError> {
        // Where groups are rolled up, the last of equal values goes first.
        let hash = marks.first().map_or(0, |mark| mark.hash);
        if let Some(position) = self.written.last_position_by(hash, |group| group == expression) {
            *expression = self.group_column(position, expression)?;
            return Ok(());
        }
        let Some(slot) = expression.as_column() else {
            marks = marks.get(1..).unwrap_or_default();
            for operand in expression.operands_mut() {
                let (own, others) = marks.split_at(marks.first().map_or(0, |mark| mark.node_count));
                self.adopt_marked(operand, own, adopted)?;
                marks = others;
            }
            return Ok(());
        };
        if slot.0 >= WINDOW_SLOTS {
            // The value of a subquery or of a window function: it is asked for each group.
            return Ok(());
        }
        if slot.0 >= GROUPING_SLOTS {
            *expression = self.grouping_of(usize::from(slot.0 - GROUPING_SLOTS))?;
            return Ok(());
        }
        if slot.0 >= self.first_aggregate {
            *expression = aggregate_column(slot.0 - self.first_aggregate, expression)?;
            return Ok(());
        }
        if self.determined.contains(&slot) {
            let place = *self.places_behind.entry(slot).or_insert(self.behind.len());
            if place == self.behind.len() {
                self.behind.push(expression.clone());
            }
            *expression = self.group_column(self.written.things().len() + place, expression)?;
            return Ok(());
        }
        if self.only_full_group_by {
            return Err(self.bare_column(slot, adopted));
        }
        let any = AggregateCall::new(AggregateFunction::AnyValue, vec![expression.clone()], false)
            .map_err(|error| super::expression::type_error(&error, None))?;
        let position = self.calls.place(any);
        *expression = aggregate_column(u16::try_from(position).unwrap_or(u16::MAX), expression)?;
        Ok(())
    }

    /// GROUPING(): a bit for each argument, set where the row is one for all its values.
    fn grouping_of(&self, number: usize) -> Result<Expression, SqlError> {
        if !self.is_rolled_up {
            return Err(SqlError::new(1111, "Invalid use of group function"));
        }
        let typed = |result: Result<Expression, TypeError>| {
            result.map_err(|error| super::expression::type_error(&error, None))
        };
        let mut bits: Option<Expression> = None;
        for (position, argument) in self.groupings[number].iter().enumerate() {
            let group = self.written.last_position(argument);
            let group = group.and_then(|group| i64::try_from(group).ok()).ok_or_else(|| {
                let text = format!("Argument #{} of GROUPING function is not in GROUP BY", position + 1);
                SqlError::new(3602, text)
            })?;
            let integer = SqlType::Integer { width: IntegerWidth::Big, unsigned: false };
            let level = Expression::column(ColumnSlot(LEVEL_SLOT), integer, false);
            let bit = typed(Expression::compare(Comparison::LessOrEqual, level, Expression::integer(group)))?;
            bits = Some(match bits {
                None => bit,
                Some(bits) => {
                    let two = Expression::integer(2);
                    let twice = typed(Expression::binary(BinaryOperator::Multiply, bits, two))?;
                    typed(Expression::binary(BinaryOperator::Add, twice, bit))?
                }
            });
        }
        Ok(bits.unwrap_or_else(|| Expression::integer(0)))
    }

    fn group_column(&self, position: usize, expression: &Expression) -> Result<Expression, SqlError> {
        let slot = u16::try_from(position).ok().filter(|slot| *slot < AGGREGATE_SLOTS);
        let slot = slot.ok_or_else(|| SqlError::new(1117, "Too many columns"))?;
        let nullable = expression.nullable || self.is_rolled_up;
        Ok(Expression { nullable, ..Expression::column_of(ColumnSlot(slot), expression) })
    }

    fn bare_column(&self, slot: ColumnSlot, adopted: Adopted) -> SqlError {
        let column = self.scope.table_of(slot).map_or_else(String::new, |(table, column)| {
            let definition = &table.definition;
            format!("{}.{}.{}", definition.database, table.alias, definition.column_at(column).name)
        });
        let place = match adopted {
            Adopted::Item(number) => format!("#{} of SELECT list", number + 1),
            Adopted::OrderBy(number) => format!("#{} of ORDER BY", number + 1),
            Adopted::Having => "#1 of HAVING clause".to_owned(),
            Adopted::Window(number) => {
                format!("#{} of PARTITION BY or ORDER BY clause of window", number + 1)
            }
        };
        if self.written.things().is_empty() {
            return SqlError::new(
                1140,
                format!(
                    "In aggregated query without GROUP BY, expression {place} contains nonaggregated column '{column}'; this is \
                     incompatible with sql_mode=only_full_group_by"
                ),
            );
        }
        SqlError::new(
            1055,
            format!(
                "Expression {place} is not in GROUP BY clause and contains nonaggregated column '{column}' which is not \
                 functionally dependent on columns in GROUP BY clause; this is incompatible with sql_mode=only_full_group_by"
            ),
        )
    }

    /// The grouping; `adopted` are all expressions that were adopted.
    pub(crate) fn finish<'e>(self, adopted: impl Iterator<Item = &'e mut Expression>) -> Grouping {
        let rolled_up = self.is_rolled_up.then_some(self.written.things().len());
        let mut group_by = self.written.into_things();
        group_by.extend(self.behind);
        let calls = self.calls.into_things();
        let first = u16::try_from(group_by.len()).unwrap_or(AGGREGATE_SLOTS);
        let level = u16::try_from(group_by.len() + calls.len()).unwrap_or(u16::MAX);
        for expression in adopted {
            place_behind(expression, first, level);
        }
        Grouping { group_by, calls, rolled_up }
    }
}

/// Columns of aggregates lie behind the `first` ones, which are grouped by. Behind them is the level.
fn place_behind(expression: &mut Expression, first: u16, level: u16) {
    if let Node::Column(slot) = &mut expression.node {
        if slot.0 == LEVEL_SLOT {
            slot.0 = level;
        } else if slot.0 >= AGGREGATE_SLOTS && slot.0 < LEVEL_SLOT {
            slot.0 = slot.0 - AGGREGATE_SLOTS + first;
        }
        return;
    }
    for operand in expression.operands_mut() {
        place_behind(operand, first, level);
    }
}

fn aggregate_column(position: u16, expression: &Expression) -> Result<Expression, SqlError> {
    let slot = AGGREGATE_SLOTS.checked_add(position).filter(|slot| *slot < LEVEL_SLOT);
    let slot = slot.ok_or_else(|| SqlError::new(1117, "Too many columns"))?;
    Ok(Expression::column_of(ColumnSlot(slot), expression))
}

/// These columns and those that they determine.
fn determined_by(
    mut open: Vec<ColumnSlot>,
    scope: &Scope,
    dependencies: &[Dependency],
) -> FixedSet<ColumnSlot> {
    let mut determined = FixedSet::default();
    // `missing` counts the columns that each dependency still lacks. `waiting` has the dependencies that lack a column.
    let mut missing: Vec<usize> = dependencies.iter().map(|dependency| dependency.from.len()).collect();
    let mut waiting: FixedMap<ColumnSlot, Vec<usize>> = FixedMap::default();
    for (number, Dependency { from, to }) in dependencies.iter().enumerate() {
        from.iter().for_each(|slot| waiting.entry(*slot).or_default().push(number));
        open.extend(from.is_empty().then_some(*to));
    }
    let mut is_whole = vec![false; scope.tables.len()];
    while let Some(slot) = open.pop() {
        if !determined.insert(slot) {
            continue;
        }
        for number in waiting.remove(&slot).unwrap_or_default() {
            missing[number] -= 1;
            open.extend((missing[number] == 0).then_some(dependencies[number].to));
        }
        for (table, is_whole) in scope.tables.iter().zip(&mut is_whole) {
            if !*is_whole && table.has_slot(slot) && holds_key(table, &determined) {
                *is_whole = true;
                open.extend((table.first_slot..).take(table.definition.columns.len()).map(ColumnSlot));
            }
        }
    }
    determined
}

/// Whether the columns hold all of a key without NULL.
fn holds_key(table: &ScopeTable, columns: &FixedSet<ColumnSlot>) -> bool {
    let definition = &table.definition;
    definition.public_indexes().any(|index| {
        !matches!(index.kind, IndexKind::Ordered)
            && index.parts.iter().all(|part| {
                part.prefix_length.is_none()
                    && columns.contains(&ColumnSlot(table.first_slot + part.column.0))
                    && !definition.column_at(part.column).flags.nullable
            })
    })
}

impl Binder<'_> {
    /// GROUP BY items: ordinals, columns, aliases, expressions.
    pub(crate) fn group_by(
        &mut self,
        items: &[Expr],
        scope: &Scope,
        select: &ItemList<'_>,
        has_aggregate: impl Fn(&Expression) -> bool,
        is_rolled_up: bool,
    ) -> Result<Vec<Expression>, SqlError> {
        if items.len() > super::ITEM_COUNT_MAX {
            return Err(SqlError::new(1117, "Too many columns"));
        }
        let mut group_by: Known<Expression> = Known::default();
        for item in items {
            let bound = match ordinal(item) {
                Some(digits) => self.substitute(select_item(digits, select, Clause::GroupBy)?)?,
                None => {
                    let mut place = Place::new(scope, Clause::GroupBy);
                    let is_whole = matches!(item, Expr::Identifier(_));
                    let order = if is_whole { NameOrder::ColumnsThenItems } else { NameOrder::ColumnsFirst };
                    place.items = Some(NamedItems { items: select, order });
                    self.expression(item, &mut place)?
                }
            };
            if has_aggregate(&bound) {
                return Err(SqlError::new(1056, format!("Can't group on '{item}'")));
            }
            // Each is a level of its own where groups are rolled up.
            if is_rolled_up {
                group_by.push(bound);
            } else {
                group_by.place(bound);
            }
        }
        Ok(group_by.into_things())
    }
}

/// The digits of an item that is only an unsigned integer.
pub(crate) fn ordinal(item: &Expr) -> Option<&str> {
    let Expr::Value(value) = item else { return None };
    match &value.value {
        AstValue::Number(digits, _) if digits.bytes().all(|byte| byte.is_ascii_digit()) => Some(digits),
        _ => None,
    }
}

/// The item of the select list that an ordinal of `clause` means; they count from 1.
pub(crate) fn select_item<'a>(
    digits: &str,
    select: &'a ItemList<'a>,
    clause: Clause,
) -> Result<&'a Expression, SqlError> {
    let position = digits.parse::<usize>().ok().and_then(|ordinal| ordinal.checked_sub(1));
    match position.and_then(|position| select.items().get(position)) {
        Some(item) => Ok(&item.expression),
        None => Err(SqlError::new(1054, format!("Unknown column '{digits}' in '{}'", clause.text()))),
    }
}
