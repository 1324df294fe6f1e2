//! Outer joins whose ON reads subqueries.
//!
//! An outer join *keeps* all rows of one side; those of the other side are *optional*. Its ON decides which optional
//! rows a kept row meets, so ON cannot become a condition of WHERE. Each subquery goes to one of the sides:
//!
//! ```text
//! reads the kept side at most     a column of the kept side, below the join
//! reads the optional side         a part of a query that takes the optional side's place
//! ```
//! *On the kept side* a subquery is joined as the group that it names (`unnest`). Else it is one row that is made for
//! each kept row. Neither adds or removes kept rows. ON then compares columns, so optional rows can be looked up.
//!
//! *On the optional side* the query is `SELECT optional.* FROM optional WHERE …`. It has the conditions of the optional
//! side alone. If a condition names both sides and a subquery, the query has all of ON and runs for each kept row. So
//! it does if a subquery names both sides. `kept LEFT JOIN LATERAL (SELECT … WHERE ON) ON TRUE` has the same rows. The
//! query has the slots of the optional side, so nothing around it sees the difference.
//!
//! *Late conditions* are those of inner joins that read subqueries. Those of the kept side stay late. Those of the
//! optional side decide which of its rows there are, as the conditions of ON do.
//!
//! Invariant: the rows are those of the join as written.

use super::Binder;
use super::from::Part;
use super::scope::Scope;
use super::select::Body;
use crate::algebra::{
    Applied, Draft, ITEM_SLOTS, ONE_SLOT, Parameters, Positions, SUBQUERY_SLOTS, Subquery, reads_subquery,
};
use crate::join_order::cost_of;
use crate::plan::{Derived, JoinKind, Limit, Relation, SelectPlan};
use expression::{ColumnSlot, Expression};
use protocol::SqlError;
use std::collections::BTreeSet;
use std::sync::Arc;
use types::SqlType;

/// A side of an outer join that a query takes the place of.
struct Optional {
    draft: Draft,
    /// Its columns, and 0 for slots that are no column.
    items: Vec<Expression>,
    names: Vec<String>,
    alias: String,
}

impl Binder<'_> {
    /// An outer join, and the late conditions on its rows.
    pub(super) fn outer_join(
        &mut self,
        kept: Part,
        optional: Part,
        mut on: Vec<Expression>,
        next_slot: &mut u16,
    ) -> Result<(Draft, Vec<Expression>), SqlError> {
        on.extend(optional.late);
        let mut subqueries = self.subqueries_of(&on);
        let mut draft = kept.draft;
        if subqueries.is_empty() {
            return Ok((Draft::join(JoinKind::Left, draft, optional.draft, on), kept.late));
        }
        self.joins.on_subqueries += 1;
        let mut position = 0;
        while position < subqueries.len() {
            if !draft.has_all(&subqueries[position].columns()) {
                position += 1;
                continue;
            }
            let subquery = subqueries.remove(position);
            draft = self.beside_kept(draft, &subquery, &mut on, &mut subqueries, next_slot)?;
        }
        if subqueries.is_empty() {
            return Ok((Draft::join(JoinKind::Left, draft, optional.draft, on), kept.late));
        }
        let optional = Optional::of(optional.draft, &optional.scope)?;
        let draft = match is_apart(&optional.draft, &on, &subqueries) {
            true => self.join_query(draft, optional, on, subqueries)?,
            false => self.join_lateral(draft, optional, on, subqueries)?,
        };
        Ok((draft, kept.late))
    }

    /// Puts the items of merged views in the places of their columns, in the subqueries behind the first `before`.
    pub(super) fn resolve_subqueries(&mut self, scope: &Scope, before: usize) -> Result<(), SqlError> {
        let Some(mut all) = self.subqueries.take() else { return Ok(()) };
        for subquery in all.iter_mut().skip(before) {
            subquery.condition.iter_mut().try_for_each(|condition| self.resolve(scope, condition))?;
            subquery.outer.iter_mut().try_for_each(|(_, column)| self.resolve_outer(scope, column))?;
        }
        self.subqueries = Some(all);
        Ok(())
    }

    /// Takes the subqueries that these conditions read, and those that they read in turn.
    fn subqueries_of(&mut self, conditions: &[Expression]) -> Vec<Subquery> {
        let mut wanted: BTreeSet<ColumnSlot> = conditions.iter().flat_map(Expression::columns).collect();
        let (mut taken, mut others) = (Vec::new(), Vec::new());
        // A subquery reads only those that stand before it.
        for subquery in self.subqueries.take().unwrap_or_default().into_iter().rev() {
            if wanted.contains(&subquery.slot) {
                wanted.extend(subquery.columns());
                taken.push(subquery);
            } else {
                others.push(subquery);
            }
        }
        taken.reverse();
        others.reverse();
        self.subqueries = Some(others);
        taken
    }

    /// The kept side with the value of a subquery as a column.
    fn beside_kept(
        &mut self,
        kept: Draft,
        subquery: &Subquery,
        on: &mut Vec<Expression>,
        others: &mut [Subquery],
        next_slot: &mut u16,
    ) -> Result<Draft, SqlError> {
        let (kept, is_joined) = self.joined_beside(kept, next_slot, on, subquery, others)?;
        if is_joined {
            return Ok(kept);
        }
        let first_slot = super::from::take_slots(next_slot, ROW_WIDTH)?;
        let row = self.row_of_subquery(&kept, subquery, first_slot)?;
        let value = ColumnSlot(first_slot + 1);
        let mut put = |expression: &mut Expression| {
            expression.map_columns(&mut |slot| if slot == subquery.slot { value } else { slot });
        };
        on.iter_mut().for_each(&mut put);
        others.iter_mut().flat_map(|other| &mut other.condition).for_each(&mut put);
        Ok(Draft::join(JoinKind::Inner, kept, row, Vec::new()))
    }

    /// One row, with a NULL and the value of a subquery. It is made for each row around it that it reads.
    pub(super) fn row_of_subquery(
        &mut self,
        around: &Draft,
        subquery: &Subquery,
        first_slot: u16,
    ) -> Result<Draft, SqlError> {
        let mut outer = subquery.outer.clone();
        let mut condition = subquery.condition.clone();
        if let Some(condition) = &mut condition {
            self.put_parameters(condition, around, &mut outer)?;
            let mut layout = vec![ONE_SLOT];
            layout.extend((ITEM_SLOTS..SUBQUERY_SLOTS).take(subquery.derived.names.len()).map(ColumnSlot));
            Positions::of(&layout).put_into(condition)?;
        }
        Ok(Draft::Query {
            relation: subquery.one_row(condition),
            width: ROW_WIDTH,
            first_slot,
            filter: Vec::new(),
            outer,
            apply: None,
        })
    }

    /// The join with a query that reads nothing of the kept side. It may also run for each of few kept rows.
    fn join_query(
        &mut self,
        kept: Draft,
        optional: Optional,
        on: Vec<Expression>,
        subqueries: Vec<Subquery>,
    ) -> Result<Draft, SqlError> {
        let is_own = |condition: &Expression| {
            let is_own = |slot: &ColumnSlot| optional.draft.has(*slot) || slot.0 >= SUBQUERY_SLOTS;
            condition.columns().iter().all(is_own)
        };
        let (inner, both): (Vec<_>, Vec<_>) = on.into_iter().partition(is_own);
        let may_repeat = self.volatile.calls == 0 || !optional.draft.has_query();
        let is_other = |(_, column): &&(u16, Expression)| !optional.draft.has_all(&column.columns());
        let lateral: Vec<(u16, Expression)> =
            optional.draft.outer().into_iter().filter(is_other).cloned().collect();
        let has_two = !both.is_empty()
            && lateral.is_empty()
            && may_repeat
            && self.may_have_alternative()
            && !optional.draft.has_alternative()
            && !optional.draft.has_virtual();
        let mut outer = Vec::new();
        let mut applied = None;
        if has_two {
            let mut all = both.clone();
            all.iter_mut().try_for_each(|conjunct| self.put_parameters(conjunct, &kept, &mut outer))?;
            all.splice(0..0, inner.iter().cloned());
            applied = Some(self.optional_plan(&optional, all, subqueries.clone())?);
        }
        let whole = self.optional_plan(&optional, inner, subqueries)?;
        let mut counts = self.counts();
        let costs =
            applied.as_ref().map(|applied| (cost_of(applied, &mut counts), cost_of(&whole, &mut counts)));
        let apply = applied
            .zip(costs)
            .filter(|(_, costs)| costs.0 < costs.1)
            .map(|(applied, costs)| Box::new(Applied { derived: optional.derived(applied), outer, costs }));
        if apply.is_some() {
            self.repeats(&optional);
            self.joins.alternatives += 1;
        }
        let draft = Draft::Query {
            relation: Relation::Derived(optional.derived(whole)),
            width: optional.items.len(),
            first_slot: optional.draft.slots_begin(),
            filter: Vec::new(),
            outer: lateral,
            apply,
        };
        Ok(Draft::join(JoinKind::Left, kept, draft, both))
    }

    /// The join with a query that has all of ON and runs for each kept row.
    fn join_lateral(
        &mut self,
        kept: Draft,
        optional: Optional,
        mut on: Vec<Expression>,
        mut subqueries: Vec<Subquery>,
    ) -> Result<Draft, SqlError> {
        if self.volatile.calls > 0 && optional.draft.has_query() {
            return Err(SqlError::unsupported("RAND() and its like beside such subqueries in ON"));
        }
        let is_of_others = |(_, column): &&(u16, Expression)| !optional.draft.has_all(&column.columns());
        let mut outer: Vec<(u16, Expression)> =
            optional.draft.outer().into_iter().filter(is_of_others).cloned().collect();
        for subquery in &mut subqueries {
            let (of_kept, own): (Vec<_>, Vec<_>) = std::mem::take(&mut subquery.outer)
                .into_iter()
                .partition(|(_, column)| kept.has_all(&column.columns()));
            subquery.outer = own;
            outer.extend(of_kept);
        }
        let conditions = subqueries.iter_mut().flat_map(|subquery| &mut subquery.condition);
        for condition in on.iter_mut().chain(conditions) {
            self.put_parameters(condition, &kept, &mut outer)?;
        }
        let plan = self.optional_plan(&optional, on, subqueries)?;
        self.repeats(&optional);
        let draft = Draft::Query {
            relation: Relation::Derived(optional.derived(plan)),
            width: optional.items.len(),
            first_slot: optional.draft.slots_begin(),
            filter: Vec::new(),
            outer,
            apply: None,
        };
        Ok(Draft::join(JoinKind::Left, kept, draft, Vec::new()))
    }

    /// The optional rows that pass these conditions.
    fn optional_plan(
        &mut self,
        optional: &Optional,
        conjuncts: Vec<Expression>,
        subqueries: Vec<Subquery>,
    ) -> Result<SelectPlan, SqlError> {
        let around = self.subqueries.replace(subqueries);
        let body = Body::of_items(optional.items.clone());
        let from = (optional.draft.clone(), &Scope::default());
        let plan = self.joined_plan(from, conjuncts, body, Limit::default(), false);
        self.subqueries = around;
        plan.map(|(plan, _)| plan)
    }

    /// A query with the optional side runs for each kept row: common tables that its queries read are read again.
    fn repeats(&mut self, optional: &Optional) {
        if optional.draft.has_query() {
            self.read_common_again();
        }
    }
}

/// The width of a subquery's row.
const ROW_WIDTH: usize = 2;

/// Whether the subqueries, and the conditions that read them, name nothing but the optional side.
fn is_apart(optional: &Draft, on: &[Expression], subqueries: &[Subquery]) -> bool {
    let is_own =
        |slot: &ColumnSlot| optional.has(*slot) || subqueries.iter().any(|subquery| subquery.slot == *slot);
    subqueries.iter().all(|subquery| subquery.columns().iter().all(is_own))
        && on
            .iter()
            .filter(|conjunct| reads_subquery(conjunct))
            .all(|conjunct| conjunct.columns().iter().all(is_own))
}

impl Optional {
    fn of(draft: Draft, scope: &Scope) -> Result<Self, SqlError> {
        let alias = scope.table().map_or_else(String::new, |table| table.alias.clone());
        let slots = draft.slots_begin()..draft.slots_end();
        let mut items = Vec::with_capacity(slots.len());
        let mut names = Vec::with_capacity(slots.len());
        for slot in slots.map(ColumnSlot) {
            let named = scope.table_of(slot);
            names.push(match named {
                Some((table, column)) => table.definition.column_at(column).name.clone(),
                None => format!("c{}", slot.0),
            });
            items.push(match (draft.leaf(slot), named) {
                // Views that are merged have slots that nothing reads.
                (None, _) => Expression::integer(0),
                (Some(_), Some((table, column))) => table.expression(column),
                (Some(leaf), None) => column_of(leaf, slot)?,
            });
        }
        Ok(Self { draft, items, names, alias })
    }

    fn derived(&self, plan: SelectPlan) -> Arc<Derived> {
        Arc::new(Derived { alias: self.alias.clone(), names: self.names.clone(), plan })
    }
}

/// A column of a table or query that has no name of its own here: it is behind a view, or a subquery's value.
fn column_of(leaf: &Draft, slot: ColumnSlot) -> Result<Expression, SqlError> {
    let sql_type: Option<SqlType> = match leaf {
        Draft::Table { table, first_slot, .. } => {
            let column = table.columns.get(usize::from(slot.0 - first_slot));
            column.map(|column| column.sql_type.clone())
        }
        Draft::Query { relation: Relation::Derived(derived), first_slot, .. } => {
            let item = derived.plan.projection.get(usize::from(slot.0 - first_slot));
            item.map(|item| item.sql_type.clone())
        }
        Draft::Query { relation: Relation::Virtual(read), first_slot, .. } => {
            let column = read.definition.columns.get(usize::from(slot.0 - first_slot));
            column.map(|column| column.sql_type.clone())
        }
        // Only ON below has read it.
        Draft::Query { relation: Relation::Join(_), .. } => return Ok(Expression::integer(0)),
        Draft::One | Draft::Query { .. } | Draft::Join { .. } => None,
    };
    let sql_type = sql_type.ok_or_else(|| SqlError::unsupported("this query beside subqueries in ON"))?;
    Ok(Expression::column(slot, sql_type, true))
}
