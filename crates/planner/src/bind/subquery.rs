//! Subqueries in expressions: each becomes a value of the row that it stands for.
//!
//! A name that a subquery's own FROM does not have is looked for in the SELECTs around it, from the innermost outwards.
//! Such a column stands in a parameter, to which the SELECT that has it gives its value.

use super::expression::{Place, columns_wanted, tuple};
use super::query::BoundQuery;
use super::scope::{Scope, unknown_column};
use super::{Binder, Clause, OuterColumn};
use crate::algebra::{
    Block, ITEM_SLOTS, Parameters, SUBQUERY_COUNT_MAX, SUBQUERY_SLOTS, Subquery, SubqueryPlace,
};
use crate::plan::{Derived, JoinKind, ResultColumn, SelectPlan};
use expression::{ColumnSlot, Comparison, Expression, Node, UnaryOperator};
use protocol::SqlError;
use sqlparser::ast::{Expr, Ident, Query};
use std::sync::Arc;
use types::{IntegerWidth, SqlType};

/// A subquery that is bound.
struct Inner {
    plan: SelectPlan,
    columns: Vec<ResultColumn>,
    outer: Vec<(u16, Expression)>,
    block: Option<Box<Block>>,
}

impl Binder<'_> {
    /// A column by name: of this SELECT, or of one around it.
    pub(super) fn named_column(
        &mut self,
        qualifier: &[Ident],
        name: &Ident,
        place: &Place<'_>,
    ) -> Result<Expression, SqlError> {
        let first = qualifier.first().unwrap_or(name);
        let qualifier: Vec<&str> = qualifier.iter().map(|part| part.value.as_str()).collect();
        let (qualifier, name) = (qualifier.as_slice(), name.value.as_str());
        if let Some(column) = place.scope.find(qualifier, name, place.clause)? {
            self.note_column(&column, place.scope, first);
            return Ok(self.read_column(column, place.scope));
        }
        for depth in (0..self.outer_scopes.len()).rev() {
            let scope = Arc::clone(&self.outer_scopes[depth]);
            if let Some(column) = scope.find(qualifier, name, place.clause)? {
                self.note_column(&column, &scope, first);
                let column = self.read_column(column, &scope);
                return self.outer_column(depth, column);
            }
        }
        Err(unknown_column(qualifier, name, place.clause))
    }

    fn outer_column(&mut self, depth: usize, column: Expression) -> Result<Expression, SqlError> {
        let is_same = |known: &&OuterColumn| known.depth == depth && known.column == column;
        let parameter = match self.outer_columns.iter().find(is_same) {
            Some(known) => known.parameter,
            None => {
                let parameter = self.add()?;
                self.outer_columns.push(OuterColumn { depth, column: column.clone(), parameter });
                parameter
            }
        };
        Ok(Expression { node: Node::Parameter(parameter), ..column })
    }

    /// Whether an expression reads columns of SELECTs around this one, and none of this one.
    pub(super) fn is_of_outer(&self, expressions: &[Expression]) -> bool {
        let mut is_of_outer = false;
        for expression in expressions {
            expression.visit(&mut |part| {
                is_of_outer |= matches!(part.node, Node::Parameter(number)
                    if self.outer_columns.iter().any(|column| column.parameter == number));
            });
        }
        is_of_outer && expressions.iter().all(|expression| expression.columns().is_empty())
    }

    /// `(SELECT …)` as a value.
    pub(super) fn scalar_subquery(
        &mut self,
        query: &Query,
        place: &Place<'_>,
    ) -> Result<Expression, SqlError> {
        let inner = self.inner(query, place)?;
        let sql_type = only_column(&inner)?.sql_type.clone();
        let slot = self.subquery_slot()?;
        self.add_subquery(JoinKind::Single, slot, inner, None, Some(2), place);
        Ok(Expression::column(slot, sql_type, true))
    }

    /// EXISTS.
    pub(super) fn exists(
        &mut self,
        query: &Query,
        negated: bool,
        place: &Place<'_>,
    ) -> Result<Expression, SqlError> {
        let inner = self.inner(query, place)?;
        let slot = self.subquery_slot()?;
        self.add_subquery(JoinKind::Mark, slot, inner, None, Some(1), place);
        self.marked(slot, false, negated)
    }

    /// `operand comparison ANY (SELECT …)`; IN is `= ANY`.
    pub(super) fn any_of_subquery(
        &mut self,
        operand: &Expr,
        comparison: Comparison,
        query: &Query,
        negated: bool,
        place: &mut Place<'_>,
    ) -> Result<Expression, SqlError> {
        let operands = match tuple(operand) {
            Some(_) if comparison != Comparison::Equal => return Err(columns_wanted(1)),
            Some(columns) => self.row(columns, place)?,
            None => vec![self.expression(operand, place)?],
        };
        let inner = self.inner(query, place)?;
        if query.limit_clause.is_some() {
            return Err(SqlError::unsupported("LIMIT & IN/ALL/ANY/SOME subquery"));
        }
        let slot = self.subquery_slot()?;
        let condition = self.beside_items(operands, comparison, &inner)?;
        let nullable = condition.nullable;
        self.add_subquery(JoinKind::Mark, slot, inner, Some(condition), None, place);
        self.marked(slot, nullable, negated)
    }

    /// `(a, b) comparison (SELECT …)`: NULL if there is no row.
    pub(super) fn row_subquery(
        &mut self,
        row: &[Expr],
        comparison: Comparison,
        query: &Query,
        place: &mut Place<'_>,
    ) -> Result<Expression, SqlError> {
        let operands = self.row(row, place)?;
        let inner = self.inner(query, place)?;
        let slot = self.subquery_slot()?;
        let condition = self.beside_items(operands, comparison, &inner)?;
        self.add_subquery(JoinKind::Single, slot, inner, Some(condition), Some(2), place);
        self.marked(slot, true, false)
    }

    /// The columns of a row value.
    fn row(&mut self, columns: &[Expr], place: &mut Place<'_>) -> Result<Vec<Expression>, SqlError> {
        columns.iter().map(|column| self.expression(column, place)).collect()
    }

    /// Values compared with the items of a subquery.
    fn beside_items(
        &self,
        operands: Vec<Expression>,
        comparison: Comparison,
        inner: &Inner,
    ) -> Result<Expression, SqlError> {
        if operands.len() != inner.columns.len() {
            return Err(columns_wanted(operands.len()));
        }
        if operands.len() > usize::from(SUBQUERY_SLOTS - ITEM_SLOTS) {
            return Err(SqlError::unsupported("such wide rows beside subqueries"));
        }
        let item = |(slot, column): (u16, &ResultColumn)| {
            Expression::column(ColumnSlot(slot), column.sql_type.clone(), column.nullable)
        };
        let items = (ITEM_SLOTS..SUBQUERY_SLOTS).zip(&inner.columns).map(item);
        self.row_condition(comparison, operands.into_iter().zip(items).collect())
    }

    fn marked(&mut self, slot: ColumnSlot, nullable: bool, negated: bool) -> Result<Expression, SqlError> {
        let truth = SqlType::Integer { width: IntegerWidth::Big, unsigned: false };
        let value = Expression::column(slot, truth, nullable);
        if negated { self.typed(Expression::unary(UnaryOperator::Not, value)) } else { Ok(value) }
    }

    /// Binds a query that sees the names of this place.
    fn inner(&mut self, query: &Query, place: &Place<'_>) -> Result<Inner, SqlError> {
        if self.subqueries.is_none() || place.new_row.is_some() {
            return Err(SqlError::unsupported("subqueries here"));
        }
        let volatile_calls = self.volatile.calls;
        self.joins.wants_block = true;
        let bound = self.query_seeing(query, place.scope);
        self.joins.wants_block = false;
        let block = self.joins.block.take();
        let ((plan, columns), outer) = bound?;
        if self.volatile.calls != volatile_calls {
            return Err(SqlError::unsupported("RAND(), := and their like in a subquery of an expression"));
        }
        Ok(Inner { plan, columns, outer, block })
    }

    /// Binds a query that sees these names, and tells which of their columns it reads in which parameters.
    pub(super) fn query_seeing(
        &mut self,
        query: &Query,
        scope: &Scope,
    ) -> Result<(BoundQuery, Vec<(u16, Expression)>), SqlError> {
        let depth = self.outer_scopes.len();
        self.outer_scopes.push(Arc::new(Scope::clone(scope)));
        let bound = self.nested_query(query);
        self.outer_scopes.truncate(depth);
        let bound = bound?;
        let (own, others) =
            std::mem::take(&mut self.outer_columns).into_iter().partition(|column| column.depth == depth);
        self.outer_columns = others;
        let own: Vec<OuterColumn> = own;
        Ok((bound, own.into_iter().map(|column| (column.parameter, column.column)).collect()))
    }

    fn subquery_slot(&self) -> Result<ColumnSlot, SqlError> {
        let count = self.subqueries.as_ref().map_or(0, Vec::len);
        let count = u16::try_from(count).ok().filter(|count| *count < SUBQUERY_COUNT_MAX);
        count
            .map(|count| ColumnSlot(SUBQUERY_SLOTS + count))
            .ok_or_else(|| SqlError::unsupported("so many subqueries"))
    }

    fn add_subquery(
        &mut self,
        kind: JoinKind,
        slot: ColumnSlot,
        inner: Inner,
        condition: Option<Expression>,
        rows_max: Option<usize>,
        place: &Place<'_>,
    ) {
        let names = inner.columns.iter().map(|column| column.name.clone()).collect();
        let derived = Arc::new(Derived { alias: "subquery".to_owned(), names, plan: inner.plan });
        let place = match place.clause {
            Clause::Where => SubqueryPlace::Where,
            Clause::GroupBy => SubqueryPlace::Source,
            // Within an aggregate there are no others.
            _ if place.aggregates.is_none() => SubqueryPlace::Source,
            _ => SubqueryPlace::Items,
        };
        let Inner { outer, block, .. } = inner;
        let subquery = Subquery { kind, slot, derived, condition, outer, rows_max, place, block };
        self.subqueries.get_or_insert_default().push(subquery);
    }
}

fn only_column(inner: &Inner) -> Result<&ResultColumn, SqlError> {
    match inner.columns.as_slice() {
        [column] => Ok(column),
        _ => Err(columns_wanted(1)),
    }
}
