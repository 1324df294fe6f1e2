//! SELECT from several relations, and queries within queries.
//!
//! Everything is bound over the slots of the block; conditions of WHERE move down the joins; then the draft is lowered
//! and all expressions name positions in its rows.

use super::expression::Place;
use super::scope::Scope;
use super::select::{Body, Parts, check_distinct_order, distinct};
use super::{Binder, Clause};
use crate::algebra::{
    Draft, Parameters, Positions, Subquery, SubqueryPlace, equalities, filtered, reads_subquery,
};
use crate::alternatives;
use crate::join_order::{self, TableOrder};
use crate::nulls;
use crate::plan::{Limit, Relation, ResultColumn, SelectPlan, Source};
use crate::steps::steps_of;
use expression::{ColumnSlot, Expression};
use protocol::SqlError;
use std::collections::BTreeSet;

impl Binder<'_> {
    /// A SELECT from several relations or a derived table.
    pub(super) fn joined_block(
        &mut self,
        parts: &Parts<'_>,
        in_share_mode: bool,
    ) -> Result<(SelectPlan, Vec<ResultColumn>), SqlError> {
        let from = self.bind_from(&parts.select.from)?;
        let (draft, scope, mut conjuncts) = (from.draft, from.scope, from.late);
        let locks = self.table_locks(parts.locks, in_share_mode, &scope)?;
        let selection = match &parts.select.selection {
            Some(selection) => Some(self.expression(selection, &mut Place::new(&scope, Clause::Where))?),
            None => None,
        };
        conjuncts.extend(selection.map(Expression::into_conjuncts).unwrap_or_default());
        let mut dependencies = Vec::new();
        draft.dependencies(&mut dependencies);
        conjuncts.iter().for_each(|conjunct| equalities(conjunct, &mut dependencies));
        let body = self.body(parts, &scope, &dependencies)?;
        let limit = self.limit_clause(parts.limit)?;
        let distinct = distinct(self.text, parts.select.distinct.as_ref())?;
        if distinct {
            check_distinct_order(&body)?;
        }
        if locks.is_empty() {
            return self.kept_plan((draft, &scope), conjuncts, body, (limit, distinct), parts.is_kept);
        }
        if distinct {
            return Err(SqlError::unsupported("FOR UPDATE and FOR SHARE over DISTINCT of joined rows"));
        }
        self.locked_plan((draft, &scope), conjuncts, body, limit, locks)
    }

    /// The plan of a SELECT whose parts are bound, with the subqueries that were met.
    pub(super) fn joined_plan(
        &mut self,
        from: (Draft, &Scope),
        conjuncts: Vec<Expression>,
        body: Body,
        limit: Limit,
        distinct: bool,
    ) -> Result<(SelectPlan, Vec<ResultColumn>), SqlError> {
        self.kept_plan(from, conjuncts, body, (limit, distinct), false)
    }

    /// The same; its parts may be kept.
    pub(super) fn kept_plan(
        &mut self,
        (mut draft, scope): (Draft, &Scope),
        mut conjuncts: Vec<Expression>,
        mut body: Body,
        (limit, distinct): (Limit, bool),
        is_kept: bool,
    ) -> Result<(SelectPlan, Vec<ResultColumn>), SqlError> {
        let is_grouped = body.grouping.is_some();
        let subqueries = self.subqueries.take().unwrap_or_default();
        let (of_groups, mut of_source): (Vec<Subquery>, Vec<Subquery>) =
            subqueries.into_iter().partition(|subquery| is_grouped && subquery.place == SubqueryPlace::Items);
        if scope.tables.iter().any(|table| table.items.is_some()) {
            self.resolve_all(scope, &mut conjuncts, &mut body, &mut of_source)?;
        }
        conjuncts = alternatives::factored(conjuncts);
        draft = self.unnested(draft, scope.slot_count(), &mut conjuncts, &mut body, &mut of_source)?;
        if is_kept && of_groups.is_empty() && of_source.is_empty() {
            self.keep_block(&draft, &conjuncts, &body, &limit);
        }
        let (of_where, of_source): (Vec<Subquery>, Vec<Subquery>) =
            of_source.into_iter().partition(|subquery| subquery.place == SubqueryPlace::Where);
        let (mut filter, mut early, mut late) = (Vec::new(), Vec::new(), Vec::new());
        let is_moved = |conjunct: &&Expression| !conjunct.is_volatile();
        let needed = conjuncts.iter().filter(is_moved).flat_map(nulls::rejected).collect();
        draft = draft.without_needless_outer(&needed);
        for conjunct in conjuncts {
            if conjunct.is_volatile() {
                filter.push(conjunct);
            } else if reads_subquery(&conjunct) {
                late.push(conjunct);
            } else {
                early.extend(draft.push(conjunct));
            }
        }
        // Variables are assigned in the order of the rows.
        let is_free = self.variables.is_empty();
        let order = if is_free { body.table_order } else { TableOrder::Written };
        let mut counts = self.counts();
        let (draft, above) = join_order::ordered(draft, order, &mut counts);
        early.extend(above);
        let conditions = filter.iter().chain(&early).chain(&late);
        let mut used: BTreeSet<ColumnSlot> = conditions.flat_map(Expression::columns).collect();
        used.extend(of_where.iter().chain(&of_source).flat_map(Subquery::columns));
        draft.add_used(&mut used);
        for_each_of_source(&mut body, &mut |expression| used.extend(expression.columns()));
        let (relation, mut layout) = draft.lower(&used, self)?;
        let mut relation = filtered(relation, early, &layout)?;
        for subquery in of_where {
            relation = subquery.applied_to(relation, &mut layout)?;
        }
        relation = filtered(relation, late, &layout)?;
        for subquery in of_source {
            relation = subquery.applied_to(relation, &mut layout)?;
        }
        let positions = Positions::of(&layout);
        filter.iter_mut().try_for_each(|conjunct| positions.put_into(conjunct))?;
        let mut lowered = Ok(());
        for_each_of_source(&mut body, &mut |expression| {
            if lowered.is_ok() {
                lowered = positions.put_into(expression);
            }
        });
        lowered?;
        let over_groups = over_groups(&mut body, of_groups)?;
        let mut plan = SelectPlan {
            source: Source::Joined { relation, filter },
            grouping: body.grouping,
            over_groups,
            windows: body.windows,
            projection: body.projection,
            distinct,
            having: body.having,
            order_by: body.order_by,
            order_by_index: None,
            limit,
            lock: None,
            counts_found: false,
            steps: Box::default(),
        };
        plan.steps = Box::new(steps_of(&plan, self.volatile.calls > 0));
        Ok((plan, body.columns))
    }
}

impl Binder<'_> {
    /// Puts the items of merged views in the places of their columns.
    fn resolve_all(
        &mut self,
        scope: &Scope,
        conjuncts: &mut Vec<Expression>,
        body: &mut Body,
        subqueries: &mut [Subquery],
    ) -> Result<(), SqlError> {
        let mut resolved = Ok(());
        let mut resolve = |expression: &mut Expression| {
            if resolved.is_ok() {
                resolved = self.resolve(scope, expression);
            }
        };
        conjuncts.iter_mut().for_each(&mut resolve);
        subqueries.iter_mut().flat_map(|subquery| &mut subquery.condition).for_each(&mut resolve);
        for_each_of_source(body, &mut resolve);
        for (_, column) in subqueries.iter_mut().flat_map(|subquery| &mut subquery.outer) {
            self.resolve_outer(scope, column)?;
        }
        *conjuncts = std::mem::take(conjuncts).into_iter().flat_map(Expression::into_conjuncts).collect();
        resolved
    }
}

/// The groups with the values of subqueries behind them.
fn over_groups(body: &mut Body, subqueries: Vec<Subquery>) -> Result<Option<Relation>, SqlError> {
    let Some(grouping) = &body.grouping else { return Ok(None) };
    let has_subqueries = !subqueries.is_empty();
    let width = grouping.group_by.len() + grouping.calls.len() + usize::from(grouping.rolled_up.is_some());
    let width = u16::try_from(width).unwrap_or(u16::MAX);
    let mut layout: Vec<ColumnSlot> = (0..width).map(ColumnSlot).collect();
    let mut relation = Relation::Groups;
    for subquery in subqueries {
        relation = subquery.applied_to(relation, &mut layout)?;
    }
    let positions = Positions::of(&layout);
    let mut lowered = Ok(());
    for_each_behind(body, &mut |expression| {
        if lowered.is_ok() {
            lowered = positions.put_into(expression);
        }
    });
    lowered?;
    Ok(has_subqueries.then_some(relation))
}

/// The expressions that are over rows of the source.
pub(super) fn for_each_of_source(body: &mut Body, each: &mut dyn FnMut(&mut Expression)) {
    match &mut body.grouping {
        Some(grouping) => {
            grouping.group_by.iter_mut().for_each(&mut *each);
            for call in &mut grouping.calls {
                call.arguments.iter_mut().for_each(&mut *each);
                call.order_by.iter_mut().for_each(|order| each(&mut order.expression));
            }
        }
        None => for_each_behind(body, each),
    }
}

/// The expressions that are over the groups, or over rows of the source if there are none.
fn for_each_behind(body: &mut Body, each: &mut dyn FnMut(&mut Expression)) {
    body.having.iter_mut().for_each(&mut *each);
    match &mut body.windows {
        Some(windows) => windows.input.iter_mut().for_each(&mut *each),
        None => {
            body.projection.iter_mut().for_each(&mut *each);
            body.order_by.iter_mut().for_each(|key| each(&mut key.expression));
        }
    }
}
