//! FROM with joins and derived tables: which names it makes, and what is joined with what.
//!
//! ON sees the tables of its two operands, LATERAL those before it. USING and NATURAL make one column of two: the left
//! one, of a RIGHT JOIN the right one. A RIGHT JOIN is a LEFT JOIN of its operands exchanged.
//!
//! Subqueries in ON: `outer_join`. The conditions of inner joins that read them are left to WHERE.

use super::expression::Place;
use super::scope::{
    Scope, ScopeTable, Visible, ambiguous_column, first_repeated, folded_name, same_name, unknown_column,
};
use super::select::{FromTable, from_table};
use super::session::{result_column, table_of_columns};
use super::{Binder, Clause, NamedTable};
use crate::algebra::{Draft, JoinHint, Parameters, reads_subquery};
use crate::alternatives;
use crate::bind::expression::object_name;
use crate::limits;
use crate::plan::{Derived, JoinKind, Reads, Relation, ResultColumn, SessionValue, VirtualRead};
use crate::statistics::Counts;
use crate::syntax::{syntax_error, syntax_error_at_word};
use expression::{Comparison, Expression};
use protocol::SqlError;
use sqlparser::ast::{
    Expr, JoinConstraint, JoinOperator, ObjectName, Query, TableAlias, TableAliasColumnDef, TableFactor,
    TableWithJoins,
};
use std::collections::BTreeSet;
use std::sync::Arc;
use types::{ColumnDefinition, TableDefinition};

/// Names of USING that are looked for one by one.
const SEARCH_COUNT_MAX: usize = 4;
/// Tables of one FROM.
const TABLE_COUNT_MAX: usize = 61;
/// Slots of one FROM: those behind them are for aggregates.
const SLOT_COUNT_MAX: usize = 1 << 14;

/// A part of FROM.
pub(super) struct Part {
    pub(super) draft: Draft,
    pub(super) scope: Scope,
    /// Conditions of inner joins that read subqueries: its rows are those for which they are true.
    pub(super) late: Vec<Expression>,
}

impl Part {
    /// A table or query.
    pub(super) fn of_one(draft: Draft, table: ScopeTable) -> Self {
        Self { draft, scope: Scope::new(vec![table], Vec::new()), late: Vec::new() }
    }
}

impl Binder<'_> {
    /// All of FROM.
    pub(super) fn bind_from(&mut self, tables: &[TableWithJoins]) -> Result<Part, SqlError> {
        self.bind_from_at(tables, &mut 0)
    }

    /// The same with slots from this one on.
    pub(super) fn bind_from_at(
        &mut self,
        tables: &[TableWithJoins],
        next_slot: &mut u16,
    ) -> Result<Part, SqlError> {
        let mut all: Option<Part> = None;
        for table in tables {
            let before = all.as_ref().map_or_else(Scope::default, |all| all.scope.clone());
            let part = self.table_with_joins(table, &before, next_slot)?;
            all = Some(match all {
                None => part,
                Some(left) => crossed(left, part)?,
            });
        }
        let part = all.ok_or_else(|| SqlError::new(1096, "No tables used"))?;
        if part.scope.tables.len() > TABLE_COUNT_MAX {
            let text = format!("Too many tables; MySQL can only use {TABLE_COUNT_MAX} tables in a join");
            return Err(SqlError::new(1116, text));
        }
        Ok(part)
    }

    /// `before` is what stands before it in FROM, for LATERAL.
    fn table_with_joins(
        &mut self,
        table: &TableWithJoins,
        before: &Scope,
        next_slot: &mut u16,
    ) -> Result<Part, SqlError> {
        let has_outer = table.joins.iter().any(|join| is_outer(&join.join_operator));
        self.views.outer_joins += usize::from(has_outer);
        let part = self.joins_of(table, before, next_slot);
        self.views.outer_joins -= usize::from(has_outer);
        part
    }

    fn joins_of(
        &mut self,
        table: &TableWithJoins,
        before: &Scope,
        next_slot: &mut u16,
    ) -> Result<Part, SqlError> {
        let mut left = self.factor(&table.relation, before, next_slot)?;
        for join in &table.joins {
            let is_right = matches!(join.join_operator, JoinOperator::Right(_) | JoinOperator::RightOuter(_));
            // The rows that a RIGHT JOIN keeps cannot depend on those that it may lack.
            let seen = if is_right { before.clone() } else { before.and(&left.scope) };
            let beside = std::mem::take(&mut self.joins.alternatives);
            let right = self.factor(&join.relation, &seen, next_slot)?;
            let (side, constraint) = match &join.join_operator {
                JoinOperator::Join(constraint)
                | JoinOperator::Inner(constraint)
                | JoinOperator::CrossJoin(constraint)
                | JoinOperator::StraightJoin(constraint) => (Side::Neither, constraint),
                JoinOperator::Left(constraint) | JoinOperator::LeftOuter(constraint) => {
                    (Side::Left, constraint)
                }
                JoinOperator::Right(constraint) | JoinOperator::RightOuter(constraint) => {
                    (Side::Right, constraint)
                }
                _ => return Err(syntax_error_at_word(self.text, &["FULL", "SEMI", "ANTI", "ASOF", "ARRAY"])),
            };
            if side != Side::Neither && matches!(constraint, JoinConstraint::None) {
                return Err(syntax_error(self.text, self.text.len()));
            }
            if side == Side::Right {
                self.joins.alternatives = self.joins.alternatives.max(beside);
            }
            left = self.joined(left, right, side, constraint, next_slot)?;
            self.joins.alternatives = self.joins.alternatives.max(beside);
            if matches!(join.join_operator, JoinOperator::StraightJoin(_)) {
                left.draft = left.draft.with_hint(JoinHint::Straight);
            }
        }
        Ok(left)
    }

    fn factor(
        &mut self,
        factor: &TableFactor,
        before: &Scope,
        next_slot: &mut u16,
    ) -> Result<Part, SqlError> {
        self.joins.relation_count += 1;
        let limit = self.context.limits.relation_count_max;
        limits::exceeds("relation_count_max", self.joins.relation_count, limit)?;
        match factor {
            TableFactor::NestedJoin { table_with_joins, alias: None } => {
                self.table_with_joins(table_with_joins, before, next_slot)
            }
            TableFactor::Derived { lateral, subquery, alias, sample: None } => {
                let before = lateral.then_some(before);
                self.derived(subquery, alias.as_ref(), before, next_slot)
            }
            factor => {
                let FromTable::Named(name, alias) = from_table(self.text, factor)? else {
                    return Err(syntax_error_at_word(self.text, &["DUAL"]));
                };
                if name.database.is_none()
                    && let Some(part) = self.common_table(&name.name, alias.as_deref(), next_slot)
                {
                    return part;
                }
                let named = self.read_table(&name, &[])?;
                if let NamedTable::View(view) = &named {
                    return self.view(view, alias.as_deref(), next_slot);
                }
                let table = named.definition();
                let mut scope_table = ScopeTable::new(Arc::clone(table), alias.as_deref());
                scope_table.first_slot = take_slots(next_slot, table.columns.len())?;
                let draft = self.table_draft(named, alias, scope_table.first_slot);
                Ok(Part::of_one(draft, scope_table))
            }
        }
    }

    /// A table with nothing asked of it yet.
    pub(super) fn table_draft(&mut self, named: NamedTable, alias: Option<String>, first_slot: u16) -> Draft {
        let alias = alias.unwrap_or_else(|| named.definition().name.clone());
        let filter = Vec::new();
        match named {
            // A view is no single relation: `view` reads it.
            NamedTable::View(_) => Draft::One,
            NamedTable::Stored(table) => Draft::Table { table, alias, first_slot, filter },
            NamedTable::Virtual(table, definition) => {
                // The right side of an outer join may run for each row.
                let may_repeat = self.rounds > 0 || self.views.outer_joins > 0;
                let is_read_again = !self.outward.blocks.is_empty() || may_repeat;
                let reads = if is_read_again { Reads::Often } else { Reads::Once };
                let width = definition.columns.len();
                let number = self.common_number();
                let read = VirtualRead { number, table, definition, alias, filter: None, known: None, reads };
                Draft::query(Relation::Virtual(Arc::new(read)), width, first_slot)
            }
        }
    }

    fn derived(
        &mut self,
        subquery: &Query,
        alias: Option<&TableAlias>,
        before: Option<&Scope>,
        next_slot: &mut u16,
    ) -> Result<Part, SqlError> {
        let Some(alias) = alias else {
            return Err(SqlError::new(1248, "Every derived table must have its own alias"));
        };
        let volatile_calls = self.volatile.calls;
        let bound = match before {
            Some(before) => self.query_seeing(subquery, before, None),
            None => self.nested_query(subquery).map(|bound| (bound, Vec::new())),
        };
        let ((plan, columns), mut outer) = bound?;
        if !outer.is_empty() && self.volatile.calls != volatile_calls {
            return Err(SqlError::unsupported(
                "RAND() and its like in a LATERAL query that names other columns",
            ));
        }
        if let Some(before) = before {
            outer.iter_mut().try_for_each(|(_, column)| self.resolve_outer(before, column))?;
        }
        let names = names_of(&alias.columns, &columns)?;
        let alias = alias.name.value.clone();
        let first_slot = take_slots(next_slot, names.len())?;
        let scope_table = query_table(&alias, &names, &columns, first_slot);
        let width = names.len();
        let relation = Relation::Derived(Arc::new(Derived { alias, names, plan }));
        let draft = Draft::Query { relation, width, first_slot, filter: Vec::new(), outer, apply: None };
        Ok(Part::of_one(draft, scope_table))
    }

    fn joined(
        &mut self,
        left: Part,
        right: Part,
        side: Side,
        constraint: &JoinConstraint,
        next_slot: &mut u16,
    ) -> Result<Part, SqlError> {
        if side != Side::Neither {
            self.check_optional(if side == Side::Left { &right.draft } else { &left.draft })?;
        }
        let mut on = Vec::new();
        let common = match constraint {
            JoinConstraint::On(_) | JoinConstraint::None => Vec::new(),
            JoinConstraint::Using(names) => self.using(names, &left.scope, &right.scope)?,
            JoinConstraint::Natural => natural(&left.scope, &right.scope)?,
        };
        for (of_left, of_right) in &common {
            let columns = [(&left.scope, of_left), (&right.scope, of_right)].map(|(scope, visible)| {
                let column = scope.tables[visible.table].expression(visible.column);
                self.read_column(column, scope)
            });
            let [of_left, of_right] = columns;
            on.push(self.typed(Expression::compare(Comparison::Equal, of_left, of_right))?);
        }
        let mut scope = merged(&left.scope, &right.scope, side, &common)?;
        if let JoinConstraint::On(condition) = constraint {
            on.extend(self.on_condition(condition, &scope)?);
        }
        on.iter_mut().try_for_each(|conjunct| self.resolve(&scope, conjunct))?;
        let on = alternatives::factored(on);
        let left_count = left.scope.tables.len();
        for (position, table) in scope.tables.iter_mut().enumerate() {
            table.is_optional |= match side {
                Side::Neither => false,
                Side::Left => position >= left_count,
                Side::Right => position < left_count,
            };
        }
        let (draft, late) = match side {
            Side::Neither => {
                let (late, early): (Vec<_>, Vec<_>) = on.into_iter().partition(reads_subquery);
                let late = [left.late, right.late, late].concat();
                (Draft::join(JoinKind::Inner, left.draft, right.draft, early), late)
            }
            Side::Left => self.outer_join(left, right, on, next_slot)?,
            Side::Right => self.outer_join(right, left, on, next_slot)?,
        };
        Ok(Part { draft, scope, late })
    }

    /// The conjuncts of ON.
    fn on_condition(&mut self, condition: &Expr, scope: &Scope) -> Result<Vec<Expression>, SqlError> {
        let before = self.subqueries.as_ref().map_or(0, Vec::len);
        let condition = self.expression(condition, &mut Place::new(scope, Clause::On))?;
        if condition.is_volatile() {
            return Err(SqlError::unsupported("RAND() and its like in ON"));
        }
        self.resolve_subqueries(scope, before)?;
        Ok(condition.into_conjuncts())
    }

    /// The columns that USING names, of both sides.
    fn using(
        &self,
        names: &[ObjectName],
        left: &Scope,
        right: &Scope,
    ) -> Result<Vec<(Visible, Visible)>, SqlError> {
        let sides = [left, right];
        // Few names are looked for one by one.
        let names_of = |scope: &Scope| (names.len() > SEARCH_COUNT_MAX).then(|| scope.visible_names());
        let indexes = sides.map(names_of);
        let found = |side: usize, name: &str| {
            let mut found = match &indexes[side] {
                Some(index) => index.get(&folded_name(name)).cloned().unwrap_or_default(),
                None => named(sides[side], name),
            };
            match (found.pop(), found.pop()) {
                (Some(column), None) => Ok(column),
                (Some(_), Some(_)) => Err(ambiguous_column(&[], name, Clause::From)),
                (None, _) => Err(unknown_column(&[], name, Clause::From)),
            }
        };
        let mut common = Vec::with_capacity(names.len());
        for name in names {
            let name = object_name(name)?;
            common.push((found(0, name)?, found(1, name)?));
        }
        Ok(common)
    }
}

/// The side of a join whose rows all stay.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Neither,
    Left,
    Right,
}

fn is_outer(operator: &JoinOperator) -> bool {
    matches!(
        operator,
        JoinOperator::Left(_)
            | JoinOperator::LeftOuter(_)
            | JoinOperator::Right(_)
            | JoinOperator::RightOuter(_)
    )
}

/// All pairs of two parts.
fn crossed(left: Part, right: Part) -> Result<Part, SqlError> {
    let scope = merged(&left.scope, &right.scope, Side::Neither, &[])?;
    let draft = Draft::join(JoinKind::Inner, left.draft, right.draft, Vec::new());
    Ok(Part { draft, scope, late: [left.late, right.late].concat() })
}

pub(super) fn take_slots(next_slot: &mut u16, count: usize) -> Result<u16, SqlError> {
    let first = *next_slot;
    let next = usize::from(first) + count;
    *next_slot = u16::try_from(next)
        .ok()
        .filter(|_| next <= SLOT_COUNT_MAX)
        .ok_or_else(|| SqlError::new(1117, "Too many columns"))?;
    Ok(first)
}

/// The visible columns of this name.
fn named(scope: &Scope, name: &str) -> Vec<Visible> {
    let mut columns = scope.visible_columns();
    columns.retain(|visible| same_name(name_of(scope, *visible), name));
    columns
}

fn name_of(scope: &Scope, visible: Visible) -> &str {
    &scope.tables[visible.table].definition.column_at(visible.column).name
}

/// The columns that both sides have, in the order of the left one.
fn natural(left: &Scope, right: &Scope) -> Result<Vec<(Visible, Visible)>, SqlError> {
    let (of_left, of_right) = (left.visible_names(), right.visible_names());
    let mut common = Vec::new();
    for column in left.visible_columns() {
        let name = name_of(left, column);
        let folded = folded_name(name);
        let Some(found) = of_right.get(&folded) else { continue };
        if found.len() > 1 || of_left.get(&folded).is_some_and(|own| own.len() > 1) {
            return Err(ambiguous_column(&[], name, Clause::From));
        }
        common.extend(found.iter().map(|found| (column, *found)));
    }
    Ok(common)
}

/// The names of two sides together: common columns first, then the others of the side that is kept, then the rest.
fn merged(left: &Scope, right: &Scope, side: Side, common: &[(Visible, Visible)]) -> Result<Scope, SqlError> {
    for table in &right.tables {
        let is_same = |other: &&ScopeTable| other.alias == table.alias && other.database == table.database;
        if left.tables.iter().any(|other| is_same(&other)) {
            return Err(SqlError::new(1066, format!("Not unique table/alias: '{}'", table.alias)));
        }
    }
    let behind = left.tables.len();
    let moved = |visible: Visible| Visible { table: visible.table + behind, ..visible };
    let (common_left, common_right): (BTreeSet<Visible>, BTreeSet<Visible>) = common.iter().copied().unzip();
    let mut of_left = left.visible_columns();
    of_left.retain(|visible| !common_left.contains(visible));
    let mut of_right = right.visible_columns();
    of_right.retain(|visible| !common_right.contains(visible));
    let of_right: Vec<Visible> = of_right.into_iter().map(moved).collect();
    let visible = match side {
        Side::Right if !common.is_empty() => {
            // In the order of the right side.
            let mut shown: Vec<Visible> = common.iter().map(|(_, right)| moved(*right)).collect();
            shown.sort_by_key(|visible| (visible.table, visible.column));
            shown.into_iter().chain(of_right).chain(of_left).collect()
        }
        Side::Neither | Side::Left | Side::Right => {
            let mut shown: Vec<Visible> = common.iter().map(|(left, _)| *left).collect();
            shown.sort_by_key(|visible| (visible.table, visible.column));
            shown.into_iter().chain(of_left).chain(of_right).collect()
        }
    };
    let tables = left.tables.iter().chain(&right.tables).cloned().collect();
    Ok(Scope::new(tables, visible))
}

/// The names of a query's columns: those behind its alias, if there are any.
pub(super) fn names_of(
    listed: &[TableAliasColumnDef],
    columns: &[ResultColumn],
) -> Result<Vec<String>, SqlError> {
    let names: Vec<String> = if listed.is_empty() {
        columns.iter().map(|column| column.name.clone()).collect()
    } else if listed.len() == columns.len() {
        listed.iter().map(|column| column.name.value.clone()).collect()
    } else {
        let text = "In definition of view, derived table or common table expression, SELECT list and column names list \
                    have different column counts";
        return Err(SqlError::new(1353, text));
    };
    match first_repeated(names.iter().map(String::as_str)) {
        Some(name) => Err(SqlError::new(1060, format!("Duplicate column name '{name}'"))),
        None => Ok(names),
    }
}

/// The rows of a query as a table that names see.
pub(super) fn query_table(
    alias: &str,
    names: &[String],
    columns: &[ResultColumn],
    first_slot: u16,
) -> ScopeTable {
    ScopeTable {
        alias: alias.to_owned(),
        database: None,
        definition: Arc::new(definition_of(alias, names, columns)),
        column_names: Vec::new(),
        first_slot,
        coercibilities: columns.iter().map(|column| column.coercibility).collect(),
        is_optional: false,
        is_table: false,
        is_view: false,
        items: None,
    }
}

fn definition_of(alias: &str, names: &[String], columns: &[ResultColumn]) -> TableDefinition {
    let column = |(name, column): (&String, &ResultColumn)| ColumnDefinition {
        format: column.format,
        ..result_column(name, column.sql_type.clone(), column.nullable)
    };
    table_of_columns(alias, names.iter().zip(columns).map(column).collect())
}

impl Parameters for Binder<'_> {
    fn counts(&mut self) -> Counts<'_> {
        Counts::new(self.context.statistics, &mut self.joins.bands)
    }

    fn add(&mut self) -> Result<u16, SqlError> {
        self.session_values.push(SessionValue::Outer);
        self.session_value_number(self.session_values.len() - 1)
    }

    fn is_of_row(&self, parameter: u16) -> bool {
        let position = usize::from(parameter).checked_sub(self.parameter_types.len());
        position.is_some_and(|position| self.session_values.get(position) == Some(&SessionValue::Outer))
    }

    fn add_virtual(&mut self, read: &Arc<VirtualRead>) {
        self.virtuals.reads.push(Arc::clone(read));
    }

    fn take_back(&mut self, count: usize) {
        let kept = self.session_values.len() - count;
        self.session_values.truncate(kept);
    }
}
