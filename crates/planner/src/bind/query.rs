//! Queries: one SELECT, VALUES, or several of which set operations make one.
//!
//! ```text
//! UNION of SELECTs ── branches, each bound alone ── types of the columns ── Relation::Set
//!                                                     ORDER BY and LIMIT of the whole ──┴─► a plan that reads it
//! ```
//! Parentheses around a query mean nothing, unless it has ORDER BY or LIMIT inside and outside. Then the outer clauses
//! are over the rows that the inner ones leave: it is a set operation of one branch.
//!
//! *Names.* ORDER BY of the whole sees the columns of the result, named as in the first branch.

use super::expression::{Aggregates, Place, type_error};
use super::from::query_table;
use super::named_items::{ItemList, NamedItem};
use super::scope::Scope;
use super::select::{Body, Parts, check_select};
use super::{Binder, Bound, Clause, computed_column};
use crate::algebra::Draft;
use crate::join_order::TableOrder;
use crate::limits::{self, SELECT_ITEM_COUNT_MAX};
use crate::plan::{
    Branch, Equals, Limit, Plan, Relation, ResultColumn, SelectPlan, SetOperation, SetStep, SetVerb, Source,
    ValueRows,
};
use crate::statement::SelectStatement;
use crate::syntax::{syntax_error_at_word, syntax_error_behind_word};
use expression::{ColumnSlot, Expression, strongest};
use protocol::SqlError;
use sqlparser::ast::{
    Expr, LimitClause, LockClause, OrderBy, OrderByExpr, OrderByKind, Query, SetExpr, SetOperator,
    SetQuantifier, Values, With,
};
use std::sync::Arc;
use types::SqlType;

/// A query whose parentheses are gone.
pub(super) struct QueryParts<'q> {
    /// The clauses of WITH, the outermost first.
    pub(super) withs: Vec<&'q With>,
    pub(super) body: QueryBody<'q>,
    pub(super) order_by: &'q [OrderByExpr],
    pub(super) limit: Option<&'q LimitClause>,
    locks: &'q [LockClause],
}

pub(super) enum QueryBody<'q> {
    One(Parts<'q>),
    /// A set operation, or a query with clauses behind its parentheses.
    Several(&'q SetExpr),
}

/// A query that is bound.
pub(super) type BoundQuery = (SelectPlan, Vec<ResultColumn>);

impl<'q> QueryParts<'q> {
    /// A body without clauses.
    pub(super) fn bare(body: &'q SetExpr) -> Self {
        Self { withs: Vec::new(), body: QueryBody::Several(body), order_by: &[], limit: None, locks: &[] }
    }
}

impl Binder<'_> {
    pub(crate) fn select(&mut self, statement: &SelectStatement) -> Result<Bound, SqlError> {
        let parts = query_parts(self.text, &statement.query)?;
        let before = self.open_with(&parts.withs)?;
        let (mut plan, columns) = match &parts.body {
            QueryBody::One(block) => {
                let counts_found = counts_found(block);
                let is_locking = !block.locks.is_empty() || statement.lock_in_share_mode;
                let block = if parts.withs.is_empty() { *block } else { block.found() };
                let (mut plan, columns) = self.block(&block, statement.lock_in_share_mode)?;
                if counts_found && is_locking && matches!(plan.source, Source::Joined { .. }) {
                    return Err(SqlError::unsupported("SQL_CALC_FOUND_ROWS of joined rows that are locked"));
                }
                plan.counts_found = counts_found;
                (plan, columns)
            }
            QueryBody::Several(_) if statement.lock_in_share_mode => return Err(lock_of_set()),
            QueryBody::Several(body) => self.set_operation(body, &parts)?,
        };
        self.close_with(before, &mut plan);
        let columns = self.left_in_variables(statement, columns)?;
        Ok(Bound { plan: Plan::Select(Box::new(plan)), columns })
    }

    /// A query in a query: as a plan of its own.
    pub(super) fn nested_query(&mut self, query: &Query) -> Result<BoundQuery, SqlError> {
        self.joins.relation_count += 1;
        limits::exceeds(
            "relation_count_max",
            self.joins.relation_count,
            self.context.limits.relation_count_max,
        )?;
        let wants_block = std::mem::take(&mut self.joins.wants_block);
        let mut parts = query_parts(self.text, query)?;
        let before = self.open_with(&parts.withs)?;
        if let QueryBody::One(block) = &mut parts.body {
            block.is_kept = wants_block && parts.withs.is_empty();
        }
        limits::exceeds("query_depth_max", self.joins.depth + 1, self.context.limits.query_depth_max)?;
        self.joins.depth += 1;
        let beside = std::mem::take(&mut self.joins.alternatives);
        let bound = self.nested_parts(&parts);
        self.joins.depth -= 1;
        self.joins.alternatives = self.joins.alternatives.max(beside);
        let mut bound = bound?;
        self.close_with(before, &mut bound.0);
        Ok(bound)
    }

    fn nested_parts(&mut self, parts: &QueryParts<'_>) -> Result<BoundQuery, SqlError> {
        match &parts.body {
            QueryBody::One(block) => self.nested_block(block),
            QueryBody::Several(body) => self.set_operation(body, parts),
        }
    }

    /// A SELECT in a query.
    fn nested_block(&mut self, block: &Parts<'_>) -> Result<BoundQuery, SqlError> {
        if !block.locks.is_empty() {
            return Err(SqlError::unsupported("FOR UPDATE and FOR SHARE in a query within a query"));
        }
        if counts_found(block) {
            return Err(SqlError::unsupported("SQL_CALC_FOUND_ROWS in a query within a query"));
        }
        self.block(&block.found(), false)
    }

    /// UNION, INTERSECT, EXCEPT, with the clauses of the whole.
    fn set_operation(&mut self, body: &SetExpr, parts: &QueryParts<'_>) -> Result<BoundQuery, SqlError> {
        if !parts.locks.is_empty() {
            return Err(lock_of_set());
        }
        let bodies = self.branch_bodies(body)?;
        let mut branches = Vec::with_capacity(bodies.len());
        for (step, branch) in bodies {
            branches.push((step, self.branch(branch)?));
        }
        self.set_of(branches, parts)
    }

    /// Branches that are bound, with the clauses of the whole.
    pub(super) fn set_of(
        &mut self,
        branches: Vec<(SetStep, BoundQuery)>,
        parts: &QueryParts<'_>,
    ) -> Result<BoundQuery, SqlError> {
        let columns = united(&branches)?;
        let set = operation_of(branches, &columns);
        let around = (self.subqueries.replace(Vec::new()), self.windows.take());
        let bound = self.over_set(set, columns, parts);
        (self.subqueries, self.windows) = around;
        bound
    }

    /// The branches in the order of the text, each with what is done with it and those before it.
    pub(super) fn branch_bodies<'q>(
        &self,
        body: &'q SetExpr,
    ) -> Result<Vec<(SetStep, &'q SetExpr)>, SqlError> {
        // A chain of operations leans to the left.
        let (mut first, mut branches) = (body, Vec::new());
        while let SetExpr::SetOperation { left, op, set_quantifier, right } = first {
            branches.push((self.step(*op, *set_quantifier)?, &**right));
            first = left;
        }
        branches.push((SetStep::UNION_ALL, first));
        branches.reverse();
        Ok(branches)
    }

    fn step(&self, operator: SetOperator, quantifier: SetQuantifier) -> Result<SetStep, SqlError> {
        let verb = match operator {
            SetOperator::Union => SetVerb::Union,
            SetOperator::Intersect => SetVerb::Intersect,
            SetOperator::Except => SetVerb::Except,
            SetOperator::Minus => return Err(syntax_error_at_word(self.text, &["MINUS"])),
        };
        let equals = match quantifier {
            SetQuantifier::All => Equals::Kept,
            SetQuantifier::Distinct | SetQuantifier::None => Equals::Dropped,
            SetQuantifier::ByName | SetQuantifier::AllByName | SetQuantifier::DistinctByName => {
                return Err(syntax_error_at_word(self.text, &["BY"]));
            }
        };
        Ok(SetStep { verb, equals })
    }

    /// One branch.
    pub(super) fn branch(&mut self, body: &SetExpr) -> Result<BoundQuery, SqlError> {
        match body {
            SetExpr::Query(query) => return self.nested_query(query),
            SetExpr::Values(values) => return self.values(values),
            _ => {}
        }
        let body = query_body(self.text, body, &[], None, &[])?;
        self.nested_parts(&QueryParts { withs: Vec::new(), body, order_by: &[], limit: None, locks: &[] })
    }

    /// VALUES: its columns are of types that hold the values of all rows.
    fn values(&mut self, values: &Values) -> Result<BoundQuery, SqlError> {
        if !values.explicit_row || values.value_keyword {
            return Err(syntax_error_behind_word(self.text, "VALUES"));
        }
        let subqueries = self.subqueries.take();
        let bound = self.values_plan(values);
        self.subqueries = subqueries;
        bound
    }

    fn values_plan(&mut self, values: &Values) -> Result<BoundQuery, SqlError> {
        let mut rows = self.value_rows(values)?;
        let width = rows.first().map_or(0, Vec::len);
        let mut columns = Vec::with_capacity(width);
        for position in 0..width {
            let items: Vec<&Expression> = rows.iter().map(|row| &row[position]).collect();
            let sql_type =
                Expression::common_type_of(&items, "VALUES").map_err(|error| type_error(&error, None))?;
            let nullable = items.iter().any(|item| item.nullable);
            let coercibility = strongest(items.iter().map(|item| item.coercibility));
            for row in &mut rows {
                let value = std::mem::replace(&mut row[position], Expression::null());
                row[position] = value.brought_into(&sql_type);
            }
            let column = computed_column(format!("column_{position}"), sql_type, nullable);
            columns.push(ResultColumn { coercibility, ..column });
        }
        let names: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
        let items = (0..).zip(&columns).map(|(slot, column): (u16, &ResultColumn)| {
            Expression::column(ColumnSlot(slot), column.sql_type.clone(), column.nullable)
        });
        let projection = items.collect();
        let relation = Relation::Values(Arc::new(ValueRows { names, rows }));
        let draft = Draft::query(relation, width, 0);
        let body = Body {
            table_order: TableOrder::Free,
            projection,
            columns,
            grouping: None,
            windows: None,
            having: None,
            order_by: Vec::new(),
        };
        self.joined_plan((draft, &Scope::default()), Vec::new(), body, Limit::default(), false)
    }

    fn value_rows(&mut self, values: &Values) -> Result<Vec<Vec<Expression>>, SqlError> {
        let scope = Scope::default();
        let volatile_calls = self.volatile.calls;
        let mut rows: Vec<Vec<Expression>> = Vec::with_capacity(values.rows.len());
        for (number, row) in values.rows.iter().enumerate() {
            if row.content.is_empty() {
                let text = "Each row of a VALUES clause must have at least one column, unless when used as source in an \
                            INSERT statement.";
                return Err(SqlError::new(3942, text));
            }
            if rows.first().is_some_and(|first| first.len() != row.content.len()) {
                let text = format!("Column count doesn't match value count at row {}", number + 1);
                return Err(SqlError::new(1136, text));
            }
            if row.content.len() > SELECT_ITEM_COUNT_MAX {
                return Err(SqlError::new(1117, "Too many columns"));
            }
            let mut place = Place::new(&scope, Clause::FieldList);
            let bound = row.content.iter().map(|value| self.expression(value, &mut place));
            rows.push(bound.collect::<Result<_, _>>()?);
        }
        if self.volatile.calls != volatile_calls {
            return Err(SqlError::unsupported("RAND() and its like in VALUES"));
        }
        Ok(rows)
    }

    /// The rows of a set operation in the order and within the limits of the whole.
    fn over_set(
        &mut self,
        set: SetOperation,
        columns: Vec<ResultColumn>,
        parts: &QueryParts<'_>,
    ) -> Result<BoundQuery, SqlError> {
        let table = query_table("", &set.names, &columns, 0);
        let width = set.names.len();
        let items = set
            .names
            .iter()
            .zip(table.definition.visible_columns())
            .map(|(name, (column, _))| {
                let expression = table.expression(column);
                let column = expression.as_column();
                NamedItem { name: name.clone(), expression, column, is_alias: false, subquery: None }
            })
            .collect();
        let items = ItemList::new(items);
        let scope = Scope::new(vec![table], Vec::new());
        for item in parts.order_by {
            if let Expr::CompoundIdentifier(qualified) = &item.expr
                && let [.., table, _] = qualified.as_slice()
            {
                let text = format!(
                    "Table '{}' from one of the SELECTs cannot be used in global ORDER clause",
                    table.value
                );
                return Err(SqlError::new(1250, text));
            }
        }
        let first_slot = u16::try_from(width).map_err(|_| SqlError::new(1117, "Too many columns"))?;
        let mut aggregates = Aggregates { first_slot, ..Aggregates::default() };
        let order_by = self.order_by(parts.order_by, &scope, &mut aggregates, &items)?;
        if !aggregates.calls.things().is_empty() {
            let text = "Expression #1 of ORDER BY contains aggregate function and applies to a UNION, EXCEPT or INTERSECT";
            return Err(SqlError::new(3028, text));
        }
        let limit = self.limit_clause(parts.limit)?;
        let relation = Relation::Set(Arc::new(set));
        let draft = Draft::query(relation, width, 0);
        let projection = items.into_items().into_iter().map(|item| item.expression).collect();
        let body = Body {
            table_order: TableOrder::Free,
            projection,
            columns,
            grouping: None,
            windows: None,
            having: None,
            order_by,
        };
        self.joined_plan((draft, &scope), Vec::new(), body, limit, false)
    }
}

fn lock_of_set() -> SqlError {
    SqlError::unsupported("FOR UPDATE and FOR SHARE over UNION and its like")
}

/// Branches whose items are brought into the columns' types.
fn operation_of(branches: Vec<(SetStep, BoundQuery)>, columns: &[ResultColumn]) -> SetOperation {
    let names = columns.iter().map(|column| column.name.clone()).collect();
    let types: Vec<SqlType> = columns.iter().map(|column| column.sql_type.clone()).collect();
    let branches = branches.into_iter().map(|(step, (query, _))| {
        let mut is_converted = false;
        let items = (0..).zip(&query.projection).zip(&types);
        let converted = |((slot, item), sql_type): ((u16, &Expression), &SqlType)| {
            let column = Expression::column_of(ColumnSlot(slot), item);
            let converted = column.brought_into(sql_type);
            is_converted |= converted.as_column().is_none();
            converted
        };
        let conversions: Vec<Expression> = items.map(converted).collect();
        Branch { step, query, conversions: is_converted.then_some(conversions) }
    });
    let branches = branches.collect();
    SetOperation { names, types, branches }
}

/// The columns of the whole: named as in the first branch, of types that hold the values of all.
pub(super) fn united(branches: &[(SetStep, BoundQuery)]) -> Result<Vec<ResultColumn>, SqlError> {
    let Some((_, (_, first))) = branches.first() else { return Ok(Vec::new()) };
    if branches.len() == 1 {
        // A query in parentheses: what is known of its columns stays known.
        return Ok(first.clone());
    }
    if branches.iter().any(|(_, (_, columns))| columns.len() != first.len()) {
        let text = "The used SELECT statements have a different number of columns";
        return Err(SqlError::new(1222, text));
    }
    let mut united = Vec::with_capacity(first.len());
    for (position, column) in first.iter().enumerate() {
        let items: Vec<&Expression> =
            branches.iter().map(|(_, (query, _))| &query.projection[position]).collect();
        let sql_type =
            Expression::common_type_of(&items, "UNION").map_err(|error| type_error(&error, None))?;
        let nullable = branches.iter().any(|(_, (_, columns))| columns[position].nullable);
        let coercibility = strongest(branches.iter().map(|(_, (_, columns))| columns[position].coercibility));
        let column = computed_column(column.name.clone(), sql_type, nullable);
        united.push(ResultColumn { coercibility, ..column });
    }
    Ok(united)
}

/// Takes a query apart; every part that is not here is refused by name.
pub(super) fn query_parts<'q>(text: &str, query: &'q Query) -> Result<QueryParts<'q>, SqlError> {
    let Query {
        with,
        body,
        order_by,
        limit_clause,
        fetch,
        locks,
        for_clause,
        settings,
        format_clause,
        pipe_operators,
    } = query;
    if fetch.is_some()
        || for_clause.is_some()
        || settings.is_some()
        || format_clause.is_some()
        || !pipe_operators.is_empty()
    {
        return Err(syntax_error_at_word(text, &["FETCH", "XML", "JSON", "BROWSE", "SETTINGS", "FORMAT"]));
    }
    let order_by = match order_by {
        None => &[],
        Some(OrderBy { kind: OrderByKind::Expressions(items), interpolate: None }) => items.as_slice(),
        Some(_) => return Err(syntax_error_at_word(text, &["ALL", "INTERPOLATE"])),
    };
    let limit = limit_clause.as_ref();
    let mut withs: Vec<&With> = with.iter().collect();
    if let SetExpr::Query(inner) = &**body {
        let has_clauses = !order_by.is_empty() || limit.is_some() || !locks.is_empty();
        let inner = query_parts(text, inner)?;
        if !has_clauses {
            withs.extend(inner.withs);
            return Ok(QueryParts { withs, ..inner });
        }
        if inner.order_by.is_empty() && inner.limit.is_none() && inner.locks.is_empty() {
            withs.extend(inner.withs);
            let body = match inner.body {
                QueryBody::One(block) => QueryBody::One(Parts { order_by, limit, locks, ..block }),
                several @ QueryBody::Several(_) => several,
            };
            return Ok(QueryParts { withs, body, order_by, limit, locks });
        }
        return Ok(QueryParts { withs, body: QueryBody::Several(body), order_by, limit, locks });
    }
    let body = query_body(text, body, order_by, limit, locks)?;
    Ok(QueryParts { withs, body, order_by, limit, locks })
}

/// SQL_CALC_FOUND_ROWS.
fn counts_found(block: &Parts<'_>) -> bool {
    block.select.select_modifiers.as_ref().is_some_and(|modifiers| modifiers.sql_calc_found_rows)
}

/// A query's body; the clauses are those of its SELECT, if it is one.
fn query_body<'q>(
    text: &str,
    body: &'q SetExpr,
    order_by: &'q [OrderByExpr],
    limit: Option<&'q LimitClause>,
    locks: &'q [LockClause],
) -> Result<QueryBody<'q>, SqlError> {
    match body {
        SetExpr::Select(select) => {
            check_select(text, select)?;
            Ok(QueryBody::One(Parts { select, order_by, limit, locks, start: 0, is_kept: false }))
        }
        SetExpr::Query(_) | SetExpr::SetOperation { .. } | SetExpr::Values(_) => Ok(QueryBody::Several(body)),
        SetExpr::Table(_) => Err(syntax_error_behind_word(text, "TABLE")),
        SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_) => {
            Err(SqlError::unsupported("common table expressions (WITH)"))
        }
    }
}
