//! SELECT from several relations, and queries within queries.
//!
//! Everything is bound over the slots of the block; conditions of WHERE move down the joins; then the draft is lowered
//! and all expressions name positions in its rows.

use super::expression::Place;
use super::select::{Body, Parts, check_distinct_order, distinct, parts};
use super::{Binder, Clause};
use crate::algebra::{equalities, to_positions};
use crate::plan::{ResultColumn, SelectPlan, Source, Steps};
use crate::steps::steps_of;
use crate::tokens::offset_of;
use expression::{ColumnSlot, Expression};
use protocol::SqlError;
use sqlparser::ast::Query;
use std::collections::BTreeSet;

impl Binder<'_> {
    /// A query in FROM: as a plan of its own.
    pub(super) fn nested_query(
        &mut self,
        query: &Query,
    ) -> Result<(SelectPlan, Vec<ResultColumn>), SqlError> {
        let mut parts = parts(self.text, query)?;
        if !parts.locks.is_empty() {
            return Err(SqlError::unsupported("FOR UPDATE and FOR SHARE in a query within a query"));
        }
        parts.start = offset_of(parts.select.select_token.0.span.start);
        let volatile_calls = self.volatile_calls;
        let bound = self.block(&parts, false)?;
        if self.volatile_calls != volatile_calls {
            return Err(SqlError::unsupported("RAND() and its like in a query within a query"));
        }
        if matches!(bound.0.source, Source::Virtual { .. }) {
            return Err(SqlError::unsupported(
                "tables of information_schema and its like in a query within a query",
            ));
        }
        Ok(bound)
    }

    /// A SELECT from several relations or a derived table.
    pub(super) fn joined_block(
        &mut self,
        parts: &Parts<'_>,
        in_share_mode: bool,
    ) -> Result<(SelectPlan, Vec<ResultColumn>), SqlError> {
        if !parts.locks.is_empty() || in_share_mode {
            return Err(SqlError::unsupported("FOR UPDATE and FOR SHARE over joins"));
        }
        let from = self.bind_from(&parts.select.from)?;
        let (mut draft, scope) = (from.draft, from.scope);
        let selection = match &parts.select.selection {
            Some(selection) => Some(self.expression(selection, &mut Place::new(&scope, Clause::Where))?),
            None => None,
        };
        let conjuncts = selection.map(Expression::into_conjuncts).unwrap_or_default();
        let mut dependencies = Vec::new();
        draft.dependencies(&mut dependencies);
        conjuncts.iter().for_each(|conjunct| equalities(conjunct, &mut dependencies));
        let mut body = self.body(parts, &scope, &dependencies)?;
        let limit = self.limit_clause(parts.limit)?;
        let distinct = distinct(self.text, parts.select.distinct.as_ref())?;
        if distinct {
            check_distinct_order(&body)?;
        }
        let mut filter = Vec::new();
        for conjunct in conjuncts {
            filter.extend(if conjunct.is_volatile() { Some(conjunct) } else { draft.push(conjunct) });
        }
        let mut used: BTreeSet<ColumnSlot> = filter.iter().flat_map(Expression::columns).collect();
        draft.add_used(&mut used);
        for_each_of_source(&mut body, &mut |expression| used.extend(expression.columns()));
        let (relation, layout) = draft.lower(&used, self)?;
        filter.iter_mut().for_each(|conjunct| to_positions(conjunct, &layout));
        for_each_of_source(&mut body, &mut |expression| to_positions(expression, &layout));
        let mut plan = SelectPlan {
            source: Source::Joined { relation, filter },
            grouping: body.grouping,
            projection: body.projection,
            distinct,
            having: body.having,
            order_by: body.order_by,
            order_by_index: None,
            limit,
            lock: None,
            steps: Steps::default(),
        };
        plan.steps = steps_of(&plan, self.volatile_calls > 0);
        Ok((plan, body.columns))
    }
}

/// The expressions that are over rows of the source.
fn for_each_of_source(body: &mut Body, each: &mut dyn FnMut(&mut Expression)) {
    match &mut body.grouping {
        Some(grouping) => {
            grouping.group_by.iter_mut().for_each(&mut *each);
            for call in &mut grouping.calls {
                call.arguments.iter_mut().for_each(&mut *each);
                call.order_by.iter_mut().for_each(|order| each(&mut order.expression));
            }
        }
        None => {
            body.projection.iter_mut().chain(&mut body.having).for_each(&mut *each);
            body.order_by.iter_mut().for_each(|key| each(&mut key.expression));
        }
    }
}
