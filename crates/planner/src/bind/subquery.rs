//! Subqueries in expressions: each becomes a value of the row that it stands for.
//!
//! A name that a subquery's own FROM does not have is looked for in the SELECTs around it, from the innermost outwards.
//! Such a column stands in a parameter, to which the SELECT that has it gives its value.

use super::conflict_queries::NewRow;
use super::expression::{Aggregates, Place, columns_wanted, placed_call, tuple};
use super::named_items::NameOrder;
use super::query::BoundQuery;
use super::scope::{Scope, unknown_column};
use super::{Binder, Clause, OuterBlock, OuterColumn};
use crate::algebra::{
    Block, ITEM_SLOTS, Parameters, SUBQUERY_COUNT_MAX, SUBQUERY_SLOTS, Subquery, SubqueryPlace,
};
use crate::plan::{Derived, JoinKind, ResultColumn, SelectPlan};
use expression::{AggregateCall, ColumnSlot, Comparison, Expression, UnaryOperator};
use protocol::SqlError;
use sqlparser::ast::{Expr, Ident, Query};
use std::rc::Rc;
use std::sync::Arc;
use types::{IntegerWidth, SqlType};

/// A subquery that is bound.
struct Inner {
    plan: SelectPlan,
    columns: Vec<ResultColumn>,
    outer: Vec<(u16, Expression)>,
    block: Option<Box<Block>>,
}

/// A column of this SELECT, if it may be named here.
fn own_column(qualifier: &[&str], name: &str, place: &Place<'_>) -> Result<Option<Expression>, SqlError> {
    match place.items {
        // HAVING has looked for names among items.
        Some(items) if items.order == NameOrder::ItemsOnly && qualifier.is_empty() => Ok(None),
        items => {
            let column = place.scope.find(qualifier, name, place.clause)?;
            Ok(column.filter(|column| items.is_none_or(|items| items.permits(column))))
        }
    }
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
        let identifiers = (qualifier, name);
        let qualifier: Vec<&str> = qualifier.iter().map(|part| part.value.as_str()).collect();
        let (qualifier, name) = (qualifier.as_slice(), name.value.as_str());
        if let Some(column) = own_column(qualifier, name, place)? {
            self.note_column(&column, place.scope, first);
            return Ok(self.read_column(column, place.scope));
        }
        if place.new_row.is_some()
            && let Some(column) = self.inserted_column(identifiers)?
        {
            return Ok(column);
        }
        for depth in (0..self.outward.blocks.len()).rev() {
            let scope = Rc::clone(&self.outward.blocks[depth].scope);
            if let Some(column) = scope.find(qualifier, name, place.clause)? {
                self.note_column(&column, &scope, first);
                let column = self.read_column(column, &scope);
                let mut computed = column.clone();
                self.resolve(&scope, &mut computed)?;
                if computed.as_column().is_some() {
                    return self.outer_column(depth, column);
                }
                // A column of a merged view: the columns that it is computed from are outer ones.
                self.of_outer_columns(depth, &mut computed)?;
                return Ok(computed);
            }
        }
        if let Some(new_row) = self.insert.new_row
            && let Some(column) = self.inserted_column(identifiers)?
        {
            return self.outer_column(new_row.depth, column);
        }
        Err(unknown_column(qualifier, name, place.clause))
    }

    /// Puts parameters in the places of the columns of the SELECT at this depth.
    fn of_outer_columns(&mut self, depth: usize, expression: &mut Expression) -> Result<(), SqlError> {
        if expression.as_column().is_some() {
            *expression = self.outer_column(depth, expression.clone())?;
            return Ok(());
        }
        expression.operands_mut().into_iter().try_for_each(|operand| self.of_outer_columns(depth, operand))
    }

    pub(super) fn outer_column(&mut self, depth: usize, column: Expression) -> Result<Expression, SqlError> {
        let is_same = |known: &&OuterColumn| known.depth == depth && known.column == column;
        let parameter = match self.outward.columns.iter().find(is_same) {
            Some(known) => known.parameter,
            None => {
                let parameter = self.add()?;
                self.outward.columns.push(OuterColumn { depth, column: column.clone(), parameter });
                parameter
            }
        };
        Ok(Expression::outer_column(parameter, &column))
    }

    /// An aggregate as a value of the SELECT that it belongs to, if that is one around this one. That is the innermost
    /// whose columns it names, if there may be aggregates where this query stands in it. `known` outer columns were
    /// named before the call.
    pub(super) fn aggregate_of_outer(
        &mut self,
        call: &AggregateCall,
        known: usize,
    ) -> Result<Option<Expression>, SqlError> {
        let expressions = || call.arguments.iter().chain(call.order_by.iter().map(|order| &order.expression));
        if expressions().any(|expression| !expression.columns().is_empty()) {
            return Ok(None);
        }
        let mut depth = None;
        for expression in expressions() {
            expression
                .visit(&mut |part| depth = depth.max(self.outer_column_of(part).map(|column| column.depth)));
        }
        let Some(depth) = depth else { return Ok(None) };
        if self.outward.blocks[depth].calls.is_none() {
            return Ok(None);
        }
        let mut call = call.clone();
        let orders = call.order_by.iter_mut().map(|order| &mut order.expression);
        for expression in call.arguments.iter_mut().chain(orders) {
            self.seen_from(depth, expression);
        }
        let mut number = 0;
        self.outward.columns.retain(|column| {
            number += 1;
            number <= known || column.depth != depth
        });
        let parameter = self.add()?;
        let value = call.as_column(ColumnSlot(0));
        self.outward.blocks[depth].calls.get_or_insert_default().push((parameter, call));
        Ok(Some(Expression::outer_column(parameter, &value)))
    }

    fn outer_column_of(&self, part: &Expression) -> Option<&OuterColumn> {
        let number = part.as_outer_column()?;
        self.outward.columns.iter().find(|column| column.parameter == number)
    }

    /// Puts the columns of the SELECT at this depth in the places of their parameters.
    fn seen_from(&self, depth: usize, expression: &mut Expression) {
        if let Some(column) = self.outer_column_of(expression).filter(|column| column.depth == depth) {
            *expression = column.column.clone();
            return;
        }
        for operand in expression.operands_mut() {
            self.seen_from(depth, operand);
        }
    }

    /// `(SELECT …)` as a value.
    pub(super) fn scalar_subquery(
        &mut self,
        query: &Query,
        place: &mut Place<'_>,
    ) -> Result<Expression, SqlError> {
        let inner = self.inner(query, place)?;
        let slot = self.subquery_slot()?;
        let value = Expression { nullable: true, ..column_of_query(slot, only_column(&inner)?) };
        self.add_subquery(JoinKind::Single, slot, inner, None, Some(2), place);
        Ok(value)
    }

    /// EXISTS.
    pub(super) fn exists(
        &mut self,
        query: &Query,
        negated: bool,
        place: &mut Place<'_>,
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
        let item = |(slot, column): (u16, &ResultColumn)| column_of_query(ColumnSlot(slot), column);
        let items = (ITEM_SLOTS..SUBQUERY_SLOTS).zip(&inner.columns).map(item);
        self.row_condition(comparison, operands.into_iter().zip(items).collect())
    }

    fn marked(&mut self, slot: ColumnSlot, nullable: bool, negated: bool) -> Result<Expression, SqlError> {
        let truth = SqlType::Integer { width: IntegerWidth::Big, unsigned: false };
        let value = Expression::column(slot, truth, nullable);
        if negated { self.typed(Expression::unary(UnaryOperator::Not, value)) } else { Ok(value) }
    }

    /// Binds a query that sees the names of this place.
    fn inner(&mut self, query: &Query, place: &mut Place<'_>) -> Result<Inner, SqlError> {
        if self.subqueries.is_none() {
            return Err(SqlError::unsupported("subqueries here"));
        }
        let new_row = place.new_row.map(|first_slot| NewRow::new(self.outward.blocks.len(), first_slot));
        let around = self.insert.new_row;
        self.insert.new_row = new_row.or(around);
        let volatile_calls = self.volatile.calls;
        self.joins.wants_block = true;
        let bound = self.query_seeing(query, place.scope, place.aggregates.as_deref_mut());
        self.joins.wants_block = false;
        self.insert.new_row = around;
        let block = self.joins.block.take();
        let ((plan, columns), outer) = bound?;
        if self.volatile.calls != volatile_calls {
            return Err(SqlError::unsupported("RAND(), := and their like in a subquery of an expression"));
        }
        Ok(Inner { plan, columns, outer, block })
    }

    /// Binds a query that sees these names, and tells which of their columns it reads in which parameters, and which
    /// aggregates.
    pub(super) fn query_seeing(
        &mut self,
        query: &Query,
        scope: &Scope,
        aggregates: Option<&mut Aggregates>,
    ) -> Result<(BoundQuery, Vec<(u16, Expression)>), SqlError> {
        let depth = self.outward.blocks.len();
        let calls = aggregates.is_some().then(Vec::new);
        self.outward.blocks.push(OuterBlock { scope: Rc::new(Scope::clone(scope)), calls });
        let bound = self.nested_query(query);
        let calls = self.outward.blocks.drain(depth..).next().and_then(|block| block.calls);
        let bound = bound?;
        let (own, others) =
            std::mem::take(&mut self.outward.columns).into_iter().partition(|column| column.depth == depth);
        self.outward.columns = others;
        let own: Vec<OuterColumn> = own;
        let mut outer: Vec<(u16, Expression)> =
            own.into_iter().map(|column| (column.parameter, column.column)).collect();
        if let (Some(aggregates), Some(calls)) = (aggregates, calls) {
            for (parameter, call) in calls {
                outer.push((parameter, placed_call(aggregates, call)?));
            }
        }
        Ok((bound, outer))
    }

    fn subquery_slot(&self) -> Result<ColumnSlot, SqlError> {
        // Outer joins have taken some of them.
        let last = self.subqueries.iter().flatten().map(|subquery| subquery.slot.0).max();
        let next = last.map_or(SUBQUERY_SLOTS, |last| last + 1);
        match next < SUBQUERY_SLOTS + SUBQUERY_COUNT_MAX {
            true => Ok(ColumnSlot(next)),
            false => Err(SqlError::unsupported("so many subqueries")),
        }
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
            Clause::Where | Clause::On => SubqueryPlace::Where,
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

/// The value of a query's column, in this slot.
fn column_of_query(slot: ColumnSlot, column: &ResultColumn) -> Expression {
    Expression::column(slot, column.sql_type.clone(), column.nullable).as_coercible(column.coercibility)
}

fn only_column(inner: &Inner) -> Result<&ResultColumn, SqlError> {
    match inner.columns.as_slice() {
        [column] => Ok(column),
        _ => Err(columns_wanted(1)),
    }
}
