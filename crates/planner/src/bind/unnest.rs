//! Subqueries that become joins: the rows that a subquery reads are found together for many rows of the block around
//! it.
//!
//! ```text
//! x IN (SELECT y FROM …), EXISTS (SELECT … WHERE y = x)       semi join; inner join if y is a whole unique key
//! NOT IN, NOT EXISTS                                          anti join
//! (SELECT SUM(z) FROM … WHERE y = x)                          left join with the groups of y
//! k > (SELECT MAX(z) FROM …)                                  join with the one row; for = k may be looked up
//! k = (SELECT z FROM … WHERE y = x LIMIT 1)                   join with the one row for each x; k is of another table
//! ```
//! A subquery is bound as a plan that can run for each row (`Apply`); that stays where nothing here fits. If it is one
//! SELECT, its parts are kept beside the plan ([`Block`]). A condition that names columns of the block around it then
//! becomes a condition of the join: in the place of a parameter stands the column.
//!
//! *One table* joins as any other: it is looked up or gathered. *Several tables*, or groups, become a query of their
//! own. It may run for each of the first rows with their values in parameters ([`Applied`]): few rows cost what they
//! cost as a subquery, many what a hash join costs.
//!
//! *NULL.* A conjunct of WHERE passes rows for which IN is true, so a semi join needs no third value. `NOT IN` passes
//! no row for which one comparison is unknown: its anti join matches what is not false. Without an equality beside it
//! that cannot be hashed, and it stays a mark join, which can.
//!
//! *Groups.* An aggregate over nothing is NULL, and COUNT is 0. Groups are those of the comparison: a column whose own
//! equality is that of the comparison, so that one group at most matches a row. Items are computed above the join.
//!
//! Invariant: the block has the rows that it has with its subqueries run for each row.
//!
//! Deliberately not here: subqueries with LIMIT (but EXISTS), window functions, HAVING, and those in OR or of groups.
//! Those in ON of outer joins go to one of its sides first (`outer_join`). Where user variables are assigned the order
//! of rows is seen, and nothing is moved.

use super::select::Body;
use super::{Binder, NamedTable};
use crate::access_path::{Purpose, Wanted};
use crate::algebra::{
    Applied, Block, Draft, ITEM_SLOTS, Parameters, SUBQUERY_SLOTS, Subquery, SubqueryPlace, hash_form,
    hash_key,
};
use crate::join_order::cost_of;
use crate::plan::{Derived, Grouping, HashForm, JoinKind, Limit, Relation, SelectPlan, Source};
use crate::steps::steps_of;
use expression::aggregate::AggregateFunction;
use expression::{ColumnSlot, Comparison, Domain, Expression, Node, Test, UnaryOperator};
use protocol::SqlError;
use std::sync::Arc;
use types::{IndexDefinition, IndexKind, KeyPart, SqlType};

/// Subqueries with two plans within one another: each plan has both of those within it, so there are twice as many at
/// each level.
const ALTERNATIVE_DEPTH_MAX: usize = 3;
/// Slots that tables and queries of a block may have: those behind them have other meanings.
const SLOTS_MAX: u16 = 1 << 15;

/// A block whose subqueries become joins.
struct Outside<'b> {
    draft: Draft,
    /// The first slot that nothing has.
    next_slot: u16,
    /// Its subqueries may run for each of few rows, too.
    has_alternatives: bool,
    conjuncts: &'b mut Vec<Expression>,
    body: &'b mut Body,
}

/// Conditions of a join with a block.
struct Conditions {
    /// Over the block alone.
    inner: Vec<Expression>,
    /// Over both sides; the outer columns stand in parameters.
    both: Vec<Expression>,
}

/// The join with a scalar subquery: its kind, right side and conditions, and the value above it.
type JoinedValue = (JoinKind, Draft, Vec<Expression>, Expression);

impl Binder<'_> {
    /// Makes joins of subqueries, as far as that is sure to give the same; the others are left. Slots from `first_free`
    /// on are free.
    pub(super) fn unnested(
        &mut self,
        draft: Draft,
        first_free: usize,
        conjuncts: &mut Vec<Expression>,
        body: &mut Body,
        subqueries: &mut Vec<Subquery>,
    ) -> Result<Draft, SqlError> {
        if subqueries.is_empty() || !self.variables.is_empty() {
            return Ok(draft);
        }
        let next_slot = draft.slots_end().max(u16::try_from(first_free).unwrap_or(SLOTS_MAX));
        let within = self.joins.alternatives;
        let has_alternatives = self.may_have_alternative();
        let mut outside = Outside { draft, next_slot, has_alternatives, conjuncts, body };
        let mut position = 0;
        while position < subqueries.len() && outside.next_slot < SLOTS_MAX / 2 {
            let mut subquery = subqueries.remove(position);
            let is_joined = match subquery.kind {
                JoinKind::Mark => self.joined_by_match(&mut outside, &subquery)?,
                JoinKind::Single => self.joined_by_value(&mut outside, &subquery, subqueries)?,
                JoinKind::Inner | JoinKind::Left | JoinKind::Semi | JoinKind::Anti => false,
            };
            if !is_joined {
                subquery.block = None;
                subqueries.insert(position, subquery);
                position += 1;
            }
        }
        if outside.draft.has_alternative() {
            self.joins.alternatives = within + 1;
        }
        Ok(outside.draft)
    }

    /// Whether a query may have another plan for few rows of what is around it.
    pub(super) fn may_have_alternative(&self) -> bool {
        self.joins.alternatives < ALTERNATIVE_DEPTH_MAX
    }

    /// Joins a scalar subquery with rows that have all that it reads, if that is sure to give the same. Each row stays,
    /// and stays one. The value is put into conditions and into other subqueries.
    pub(super) fn joined_beside(
        &mut self,
        draft: Draft,
        next_slot: &mut u16,
        conjuncts: &mut Vec<Expression>,
        subquery: &Subquery,
        others: &mut [Subquery],
    ) -> Result<(Draft, bool), SqlError> {
        let is_scalar = subquery.kind == JoinKind::Single && !subquery.outer.is_empty();
        if !is_scalar || !self.variables.is_empty() || *next_slot >= SLOTS_MAX / 4 {
            return Ok((draft, false));
        }
        let within = self.joins.alternatives;
        let has_alternatives = self.may_have_alternative();
        let body = &mut Body::of_items(Vec::new());
        let mut outside = Outside { draft, next_slot: *next_slot, has_alternatives, conjuncts, body };
        let is_joined = self.joined_by_value(&mut outside, subquery, others)?;
        if is_joined && outside.draft.has_alternative() {
            self.joins.alternatives = within + 1;
        }
        *next_slot = outside.next_slot;
        Ok((outside.draft, is_joined))
    }

    /// Keeps the parts of a simple subquery for the block around it. DISTINCT and ORDER BY do not matter there.
    pub(super) fn keep_block(&mut self, draft: &Draft, conjuncts: &[Expression], body: &Body, limit: &Limit) {
        let is_whole = body.windows.is_none() && body.having.is_none() && limit.offset.is_none();
        if is_whole && !draft.has_virtual() {
            self.joins.block = Some(Box::new(Block {
                draft: draft.clone(),
                conjuncts: conjuncts.to_vec(),
                grouping: body.grouping.clone(),
                projection: body.projection.clone(),
                count: limit.count.clone(),
            }));
        }
    }

    /// The same for a SELECT from one stored table.
    pub(super) fn keep_table(
        &mut self,
        named: Option<&NamedTable>,
        alias: Option<&str>,
        conjuncts: &[Expression],
        (body, limit): (&Body, &Limit),
    ) {
        if let Some(NamedTable::Stored(table)) = named {
            let named = NamedTable::Stored(Arc::clone(table));
            let draft = self.table_draft(named, alias.map(str::to_owned), 0);
            self.keep_block(&draft, conjuncts, body, limit);
        }
    }

    /// IN and EXISTS as a conjunct of WHERE.
    fn joined_by_match(&mut self, outside: &mut Outside<'_>, subquery: &Subquery) -> Result<bool, SqlError> {
        let found =
            outside.conjuncts.iter().enumerate().find_map(|(number, conjunct)| {
                matched_by(conjunct, subquery.slot).map(|kind| (number, kind))
            });
        let Some((number, kind)) = found else { return Ok(false) };
        let is_seen = |slot: &ColumnSlot| outside.draft.has(*slot);
        if subquery.place != SubqueryPlace::Where || !subquery.columns().iter().all(is_seen) {
            return Ok(false);
        }
        let is_unknown = subquery.condition.as_ref().is_some_and(|condition| condition.nullable);
        let is_null_aware = kind == JoinKind::Anti && is_unknown;
        let on = match &subquery.block {
            Some(block) if block.is_plain(&subquery.outer) => {
                self.side_of_block(outside, subquery, (**block).clone(), is_null_aware)?
            }
            _ if subquery.outer.is_empty() && !is_null_aware => side_of_query(outside, subquery),
            _ => None,
        };
        let Some((right, on)) = on else { return Ok(false) };
        outside.conjuncts.remove(number);
        outside.next_slot = right.slots_end();
        let left = std::mem::replace(&mut outside.draft, Draft::One);
        let is_inner = kind == JoinKind::Semi && is_met_once(&left, &right, &on);
        outside.draft = Draft::join(if is_inner { JoinKind::Inner } else { kind }, left, right, on);
        Ok(true)
    }

    /// The right side of a semi or anti join, and its conditions. None: nothing of these can be hashed.
    fn side_of_block(
        &mut self,
        outside: &Outside<'_>,
        subquery: &Subquery,
        mut block: Block,
        is_null_aware: bool,
    ) -> Result<Option<(Draft, Vec<Expression>)>, SqlError> {
        block.shift(outside.next_slot);
        if block.draft.slots_end() >= SLOTS_MAX {
            return Ok(None);
        }
        let mut conditions = block.conditions(&subquery.outer);
        if let Some(count) = &block.count {
            // As many rows as LIMIT says make no difference, unless it says none.
            let Ok(some) = Expression::compare(Comparison::Greater, count.clone(), Expression::integer(0))
            else {
                return Ok(None);
            };
            conditions.inner.push(some);
        }
        let mut outer = subquery.outer.clone();
        let has_key = |both: &[Expression], outer: &[(u16, Expression)]| {
            both.iter().any(|conjunct| {
                let mut conjunct = conjunct.clone();
                put_columns(&mut conjunct, outer);
                is_hashed(&conjunct, &outside.draft, &block.draft)
            })
        };
        if is_null_aware && !has_key(&conditions.both, &outer) {
            return Ok(None);
        }
        if let Some(condition) = &subquery.condition {
            let mut condition = condition.clone();
            put_items(&mut condition, &block.projection);
            if !matches!(block.draft, Draft::Table { .. }) {
                self.put_parameters(&mut condition, &outside.draft, &mut outer)?;
            }
            if is_null_aware {
                conditions.both.push(Expression::is(Test::NotFalse, condition));
            } else {
                conditions.both.extend(condition.into_conjuncts());
            }
        }
        if !has_key(&conditions.both, &outer) {
            return Ok(None);
        }
        if let Draft::Table { .. } = &block.draft {
            let Conditions { inner, mut both } = conditions;
            both.iter_mut().for_each(|conjunct| put_columns(conjunct, &outer));
            return Ok(Some((block.draft, inner.into_iter().chain(both).collect())));
        }
        self.side_of_tables(&block, conditions, &outer, outside.has_alternatives).map(Some)
    }

    /// The same of several tables: a query that gives the columns that conditions of the join read.
    fn side_of_tables(
        &mut self,
        block: &Block,
        conditions: Conditions,
        outer: &[(u16, Expression)],
        has_alternatives: bool,
    ) -> Result<(Draft, Vec<Expression>), SqlError> {
        let Conditions { inner, mut both } = conditions;
        let mut items: Vec<Expression> = Vec::new();
        for conjunct in &both {
            conjunct.visit(&mut |part| {
                if part.as_column().is_some() && !items.contains(part) {
                    items.push(part.clone());
                }
            });
        }
        let all = inner.iter().chain(&both).cloned().collect();
        let whole = self.block_plan(block, inner, None, items.clone())?;
        let applied = match has_alternatives {
            true => Some(self.block_plan(block, all, None, items.clone())?),
            false => None,
        };
        let first_slot = block.draft.slots_end();
        for conjunct in &mut both {
            conjunct.map_columns(&mut |slot| {
                let position = items.iter().position(|item| item.as_column() == Some(slot));
                ColumnSlot(
                    first_slot + position.and_then(|position| u16::try_from(position).ok()).unwrap_or(0),
                )
            });
            put_columns(conjunct, outer);
        }
        let draft = self.query_draft(whole, applied, outer, items.len(), first_slot);
        Ok((draft, both))
    }

    /// A scalar subquery.
    fn joined_by_value(
        &mut self,
        outside: &mut Outside<'_>,
        subquery: &Subquery,
        others: &mut [Subquery],
    ) -> Result<bool, SqlError> {
        let reads = |other: &Subquery| {
            other.outer.iter().any(|(_, column)| column.columns().contains(&subquery.slot))
        };
        let is_seen = |slot: &ColumnSlot| outside.draft.has(*slot);
        let is_odd = subquery.condition.is_some() || others.iter().any(reads);
        if is_odd || !subquery.columns().iter().all(is_seen) {
            return Ok(false);
        }
        let joined = if subquery.outer.is_empty() {
            row_of_value(outside, subquery)
        } else {
            match self.groups_of_block(outside, subquery)? {
                None => self.row_for_each(outside, subquery)?,
                groups => groups,
            }
        };
        let Some((kind, right, on, value)) = joined else { return Ok(false) };
        outside.next_slot = right.slots_end();
        let left = std::mem::replace(&mut outside.draft, Draft::One);
        outside.draft = Draft::join(kind, left, right, on);
        let mut put = |expression: &mut Expression| put_value(expression, subquery.slot, &value);
        outside.conjuncts.iter_mut().for_each(&mut put);
        super::joined::for_each_of_source(outside.body, &mut put);
        others.iter_mut().flat_map(|other| &mut other.condition).for_each(&mut put);
        Ok(true)
    }

    /// A correlated scalar subquery that a table which it does not name is equal to: one row for each row that it
    /// reads. Its value may be a key of that table.
    fn row_for_each(
        &mut self,
        outside: &Outside<'_>,
        subquery: &Subquery,
    ) -> Result<Option<JoinedValue>, SqlError> {
        let Some(item) = outside.conjuncts.iter().find_map(|conjunct| keyed_by(outside, subquery, conjunct))
        else {
            return Ok(None);
        };
        if subquery.place != SubqueryPlace::Where {
            return Ok(None);
        }
        let right = self.row_of_subquery(&outside.draft, subquery, outside.next_slot)?;
        let value = Expression { node: Node::Column(slot_at(outside.next_slot, 1)), ..item };
        Ok(Some((JoinKind::Inner, right, Vec::new(), value)))
    }

    /// A correlated aggregate without GROUP BY: the groups that a left join finds.
    fn groups_of_block(
        &mut self,
        outside: &Outside<'_>,
        subquery: &Subquery,
    ) -> Result<Option<JoinedValue>, SqlError> {
        let Some(mut block) = subquery.block.as_deref().cloned() else { return Ok(None) };
        let (Some(grouping), true) = (block.grouping.clone(), block.count.is_none()) else { return Ok(None) };
        let is_outer = |expression: &Expression| mentions(expression, &subquery.outer);
        let arguments = grouping.calls.iter().flat_map(|call| {
            call.arguments.iter().chain(call.order_by.iter().map(|order| &order.expression))
        });
        let is_free = block.draft.is_free_of(&subquery.outer) && !arguments.clone().any(is_outer);
        let is_one = grouping.group_by.is_empty() && grouping.rolled_up.is_none();
        let Some(item) = block.projection.first().cloned().filter(|_| is_one && is_free) else {
            return Ok(None);
        };
        block.shift(outside.next_slot);
        let mut grouping = block.grouping.clone().unwrap_or(grouping);
        let Conditions { inner, both } = block.conditions(&subquery.outer);
        let keys: Option<Vec<Key>> = both.iter().map(|conjunct| Key::of(conjunct, &block.draft)).collect();
        let empty: Option<Vec<Empty>> = grouping.calls.iter().map(|call| Empty::of(call.function)).collect();
        let (Some(keys), Some(empty)) = (keys, empty) else { return Ok(None) };
        if keys.is_empty() || block.draft.slots_end() >= SLOTS_MAX {
            return Ok(None);
        }
        let first_slot = block.draft.slots_end();
        let calls = grouping.calls.clone();
        let results = |first: usize| {
            calls.iter().enumerate().map(move |(number, call)| call.as_column(slot_at(0, first + number)))
        };
        // For one row the group is found by conditions, and its keys are the values in parameters.
        let all = inner.iter().chain(&both).cloned().collect();
        let own = keys.iter().map(|key| key.outer.clone()).chain(results(0)).collect();
        let applied = match outside.has_alternatives {
            true => Some(self.block_plan(&block, all, Some(grouping.clone()), own)?),
            false => None,
        };
        grouping.group_by = keys.iter().map(|key| key.inner.clone()).collect();
        let grouped = keys
            .iter()
            .enumerate()
            .map(|(number, key)| Expression::column_of(slot_at(0, number), &key.inner));
        let items = grouped.chain(results(keys.len())).collect();
        let whole = self.block_plan(&block, inner, Some(grouping), items)?;
        let draft = self.query_draft(whole, applied, &subquery.outer, keys.len() + calls.len(), first_slot);
        let on = keys.iter().enumerate().map(|(number, key)| {
            let mut conjunct = key.with_column(slot_at(first_slot, number));
            put_columns(&mut conjunct, &subquery.outer);
            conjunct
        });
        let on = on.collect();
        let Some(mut value) = computed_above(item, &empty, slot_at(first_slot, keys.len())) else {
            return Ok(None);
        };
        put_columns(&mut value, &subquery.outer);
        Ok(Some((JoinKind::Left, draft, on, value)))
    }

    /// A query as a side of a join, with the one that runs for each of few rows.
    fn query_draft(
        &mut self,
        whole: SelectPlan,
        applied: Option<SelectPlan>,
        outer: &[(u16, Expression)],
        width: usize,
        first_slot: u16,
    ) -> Draft {
        let mut counts = self.counts();
        let costs =
            applied.as_ref().map(|applied| (cost_of(applied, &mut counts), cost_of(&whole, &mut counts)));
        let names: Vec<String> = (0..width).map(|number| format!("c{number}")).collect();
        let derived = |plan| Arc::new(Derived { alias: "subquery".to_owned(), names: names.clone(), plan });
        let apply = applied.zip(costs).filter(|(_, costs)| costs.0 < costs.1).map(|(applied, costs)| {
            Box::new(Applied { derived: derived(applied), outer: outer.to_vec(), costs })
        });
        Draft::Query {
            relation: Relation::Derived(derived(whole)),
            width,
            first_slot,
            filter: Vec::new(),
            outer: Vec::new(),
            apply,
        }
    }

    /// Columns of the block around a condition, in parameters of their own where they have none.
    pub(super) fn put_parameters(
        &mut self,
        condition: &mut Expression,
        around: &Draft,
        outer: &mut Vec<(u16, Expression)>,
    ) -> Result<(), SqlError> {
        if condition.as_column().is_some_and(|slot| around.has(slot)) {
            let parameter = match outer.iter().find(|(_, column)| column == condition) {
                Some((known, _)) => *known,
                None => {
                    let parameter = self.add()?;
                    outer.push((parameter, condition.clone()));
                    parameter
                }
            };
            condition.node = Node::Parameter(parameter);
        }
        for operand in condition.operands_mut() {
            self.put_parameters(operand, around, outer)?;
        }
        Ok(())
    }

    /// A plan of a block.
    fn block_plan(
        &mut self,
        block: &Block,
        mut conjuncts: Vec<Expression>,
        mut grouping: Option<Grouping>,
        mut projection: Vec<Expression>,
    ) -> Result<SelectPlan, SqlError> {
        let Draft::Table { table, alias, first_slot, filter } = &block.draft else {
            let body = Body { grouping, ..Body::of_items(projection) };
            let around = self.subqueries.take();
            let draft = block.draft.clone();
            let plan = self.joined_plan(
                (draft, &super::scope::Scope::default()),
                conjuncts,
                body,
                Limit::default(),
                false,
            );
            self.subqueries = around;
            return plan.map(|(plan, _)| plan);
        };
        conjuncts.splice(0..0, filter.iter().cloned());
        let mut own = |slot: ColumnSlot| ColumnSlot(slot.0 - first_slot);
        conjuncts.iter_mut().for_each(|conjunct| conjunct.map_columns(&mut own));
        match &mut grouping {
            Some(grouping) => {
                for_each_of_grouping(grouping, &mut |expression| expression.map_columns(&mut own))
            }
            None => projection.iter_mut().for_each(|item| item.map_columns(&mut own)),
        }
        let selection = if conjuncts.is_empty() { None } else { Some(Expression::and(conjuncts)) };
        let wanted = Wanted { order_by: &[], is_limited: false, purpose: Purpose::Read };
        let (access, _) = self.access(Arc::clone(table), alias.clone(), selection, &wanted);
        let mut plan = SelectPlan {
            source: Source::Table(access),
            grouping,
            over_groups: None,
            windows: None,
            projection,
            distinct: false,
            having: None,
            order_by: Vec::new(),
            order_by_index: None,
            limit: Limit::default(),
            lock: None,
            counts_found: false,
            steps: Box::default(),
        };
        plan.steps = Box::new(steps_of(&plan, self.volatile.calls > 0));
        Ok(plan)
    }
}

impl Block {
    /// Whether it gives rows of tables as they are, and names columns of the block around it in WHERE and items only.
    fn is_plain(&self, outer: &[(u16, Expression)]) -> bool {
        self.grouping.is_none() && self.draft.is_free_of(outer)
    }

    /// The same with other slots.
    fn shift(&mut self, by: u16) {
        let mut moved = |slot: ColumnSlot| ColumnSlot(slot.0.saturating_add(by));
        self.draft.shift(by);
        self.conjuncts.iter_mut().for_each(|conjunct| conjunct.map_columns(&mut moved));
        match &mut self.grouping {
            Some(grouping) => {
                for_each_of_grouping(grouping, &mut |expression| expression.map_columns(&mut moved))
            }
            None => self.projection.iter_mut().for_each(|item| item.map_columns(&mut moved)),
        }
    }

    fn conditions(&self, outer: &[(u16, Expression)]) -> Conditions {
        let all = self.conjuncts.iter().cloned();
        let (both, inner) = all.partition(|conjunct| mentions(conjunct, outer));
        Conditions { inner, both }
    }
}

/// A column of a block that is equal to something of the row.
struct Key {
    conjunct: Expression,
    inner: Expression,
    outer: Expression,
}

impl Key {
    /// None: it is no such equality, or groups of the column are not those of the comparison.
    fn of(conjunct: &Expression, block: &Draft) -> Option<Self> {
        let Node::Compare { operator: Comparison::Equal, domain, left, right } = &conjunct.node else {
            return None;
        };
        let is_inner = |side: &Expression| side.as_column().is_some_and(|slot| block.has(slot));
        let (inner, outer) = if is_inner(left) { (left, right) } else { (right, left) };
        if !is_inner(inner) || !outer.columns().is_empty() {
            return None;
        }
        let is_own = is_own_equality(*domain, &inner.sql_type, &outer.sql_type);
        let (inner, outer) = (Expression::clone(inner), Expression::clone(outer));
        is_own.then(|| Self { conjunct: conjunct.clone(), inner, outer })
    }

    /// The equality with another column in the place of the block's.
    fn with_column(&self, slot: ColumnSlot) -> Expression {
        let mut conjunct = self.conjunct.clone();
        for operand in conjunct.operands_mut() {
            if *operand == self.inner {
                operand.node = Node::Column(slot);
            }
        }
        conjunct
    }
}

/// Whether a column of this type has one value at most that is equal to another one, as its unique keys see values.
fn is_own_equality(domain: Domain, column: &SqlType, other: &SqlType) -> bool {
    match hash_form(domain, column, other) {
        Some(HashForm::Integer | HashForm::Exact | HashForm::Instant | HashForm::Duration) => true,
        Some(HashForm::Text(collation)) => collation_of(column) == Some(collation),
        Some(HashForm::Double) | None => false,
    }
}

/// Whether conditions give a whole unique key of a table: a row of the other side meets one row at most.
fn is_met_once(left: &Draft, right: &Draft, on: &[Expression]) -> bool {
    let Draft::Table { table, first_slot, .. } = right else { return false };
    let is_given = |part: &KeyPart| {
        let slot = ColumnSlot(first_slot + part.column.0);
        on.iter().any(|conjunct| {
            let Node::Compare { operator: Comparison::Equal, domain, left: one, right: other } =
                &conjunct.node
            else {
                return false;
            };
            [(one, other), (other, one)].into_iter().any(|(column, value)| {
                column.as_column() == Some(slot)
                    && left.has_all(&value.columns())
                    && is_own_equality(*domain, &column.sql_type, &value.sql_type)
            })
        })
    };
    let is_whole = |index: &IndexDefinition| {
        index.kind != IndexKind::Ordered
            && index.parts.iter().all(|part| part.prefix_length.is_none() && is_given(part))
    };
    table.public_indexes().any(is_whole)
}

fn collation_of(sql_type: &SqlType) -> Option<types::Collation> {
    if let SqlType::Char { collation, .. }
    | SqlType::VarChar { collation, .. }
    | SqlType::Text { collation, .. } = sql_type
    {
        Some(*collation)
    } else {
        None
    }
}

/// The result of an aggregate over no rows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Empty {
    Null,
    Zero,
}

impl Empty {
    fn of(function: AggregateFunction) -> Option<Self> {
        match function {
            AggregateFunction::Count => Some(Self::Zero),
            AggregateFunction::Sum
            | AggregateFunction::Average
            | AggregateFunction::Minimum
            | AggregateFunction::Maximum => Some(Self::Null),
            AggregateFunction::GroupConcat
            | AggregateFunction::BitAnd
            | AggregateFunction::BitOr
            | AggregateFunction::BitXor
            | AggregateFunction::StandardDeviation
            | AggregateFunction::SampleStandardDeviation
            | AggregateFunction::Variance
            | AggregateFunction::SampleVariance
            | AggregateFunction::AnyValue => None,
        }
    }
}

/// An item over groups, where these may be missing: their results have slots from `first` on.
fn computed_above(mut item: Expression, empty: &[Empty], first: ColumnSlot) -> Option<Expression> {
    if let Some(slot) = item.as_column() {
        let result = Expression::column(slot_at(first.0, slot.index()), item.sql_type.clone(), true);
        return match empty.get(slot.index())? {
            Empty::Null => Some(result),
            Empty::Zero => {
                let is_missing = Expression::is(Test::Null, result.clone());
                let zero = Expression::literal(types::Value::Int(0), item.sql_type.clone());
                let mut value = Expression::if_else(is_missing, zero, result).ok()?;
                value.nullable = false;
                (value.sql_type == item.sql_type).then_some(value)
            }
        };
    }
    for operand in item.operands_mut() {
        let computed = computed_above(operand.clone(), empty, first)?;
        *operand = computed;
    }
    // Above the join any of it may be missing.
    item.nullable = true;
    Some(item)
}

fn slot_at(first: u16, position: usize) -> ColumnSlot {
    ColumnSlot(
        u16::try_from(position).ok().and_then(|position| first.checked_add(position)).unwrap_or(u16::MAX),
    )
}

fn for_each_of_grouping(grouping: &mut Grouping, each: &mut dyn FnMut(&mut Expression)) {
    grouping.group_by.iter_mut().for_each(&mut *each);
    for call in &mut grouping.calls {
        call.arguments.iter_mut().for_each(&mut *each);
        call.order_by.iter_mut().for_each(|order| each(&mut order.expression));
    }
}

/// The join that a conjunct asks for, which is the value of a subquery or its negation.
fn matched_by(conjunct: &Expression, slot: ColumnSlot) -> Option<JoinKind> {
    if conjunct.as_column() == Some(slot) {
        return Some(JoinKind::Semi);
    }
    let Node::Unary { operator: UnaryOperator::Not, operand } = &conjunct.node else { return None };
    (operand.as_column() == Some(slot)).then_some(JoinKind::Anti)
}

/// IN over a query of any kind that reads nothing of the row.
fn side_of_query(outside: &Outside<'_>, subquery: &Subquery) -> Option<(Draft, Vec<Expression>)> {
    let width = subquery.derived.names.len();
    let right = Draft::query(Relation::Derived(Arc::clone(&subquery.derived)), width, outside.next_slot);
    let mut condition = subquery.condition.clone()?;
    condition.map_columns(&mut |slot| match slot.0.checked_sub(ITEM_SLOTS) {
        Some(item) if slot.0 < SUBQUERY_SLOTS => ColumnSlot(outside.next_slot + item),
        _ => slot,
    });
    let on = condition.into_conjuncts();
    let has_key = on.iter().any(|conjunct| is_hashed(conjunct, &outside.draft, &right));
    has_key.then_some((right, on))
}

/// The value of a subquery, if the conjunct makes something of other tables than those that it reads equal to it.
fn keyed_by(outside: &Outside<'_>, subquery: &Subquery, conjunct: &Expression) -> Option<Expression> {
    let Node::Compare { operator: Comparison::Equal, left, right, .. } = &conjunct.node else { return None };
    let is_value = |side: &Expression| side.as_column() == Some(subquery.slot);
    let (value, other) = if is_value(left) { (left, right) } else { (right, left) };
    let columns = other.columns();
    let is_read = |slot: &ColumnSlot| {
        let leaf = outside.draft.leaf(*slot);
        leaf.is_none_or(|leaf| subquery.columns().iter().any(|read| leaf.has(*read)))
    };
    let is_key = is_value(value) && !columns.is_empty() && !columns.iter().any(is_read);
    (is_key && !conjunct.is_volatile()).then(|| Expression::clone(value))
}

/// A scalar subquery that reads nothing of the row, where something of the row is compared with its value. The value
/// may be a key, and rows that do not pass are left out early.
fn row_of_value(outside: &Outside<'_>, subquery: &Subquery) -> Option<JoinedValue> {
    let item = outside.conjuncts.iter().find_map(|conjunct| {
        let Node::Compare { .. } = &conjunct.node else { return None };
        let mut item = None;
        conjunct.visit(&mut |part| {
            if part.as_column() == Some(subquery.slot) {
                item = Some(part.clone());
            }
        });
        let mut columns = conjunct.columns();
        columns.retain(|slot| *slot != subquery.slot);
        item.filter(|_| !columns.is_empty() && outside.draft.has_all(&columns) && !conjunct.is_volatile())
    })?;
    if subquery.place != SubqueryPlace::Where {
        return None;
    }
    let right = Draft::query(subquery.one_row(None), 2, outside.next_slot);
    let value = Expression { node: Node::Column(slot_at(outside.next_slot, 1)), ..item };
    Some((JoinKind::Inner, right, Vec::new(), value))
}

/// Whether a conjunct makes something of one side equal to something of the other, so that it can be hashed.
fn is_hashed(conjunct: &Expression, left: &Draft, right: &Draft) -> bool {
    hash_key(conjunct, left, right)
        .is_some_and(|(left, right, _)| !left.columns().is_empty() && !right.columns().is_empty())
}

/// Whether an expression reads one of these parameters.
fn mentions(expression: &Expression, outer: &[(u16, Expression)]) -> bool {
    let mut mentions = false;
    expression.visit(&mut |part| {
        mentions |=
            matches!(part.node, Node::Parameter(number) if outer.iter().any(|(own, _)| *own == number));
    });
    mentions
}

/// Columns in the places of parameters.
fn put_columns(expression: &mut Expression, outer: &[(u16, Expression)]) {
    let parameter = match expression.node {
        Node::Parameter(number) => Some(number),
        _ => expression.as_outer_column(),
    };
    if let Some(number) = parameter
        && let Some((_, column)) = outer.iter().find(|(own, _)| *own == number)
    {
        *expression = column.clone();
        return;
    }
    expression.operands_mut().into_iter().for_each(|operand| put_columns(operand, outer));
}

/// Items of a query in the places of their slots.
fn put_items(expression: &mut Expression, items: &[Expression]) {
    let item =
        expression.as_column().and_then(|slot| items.get(usize::from(slot.0.checked_sub(ITEM_SLOTS)?)));
    match item {
        Some(item) => *expression = item.clone(),
        None => expression.operands_mut().into_iter().for_each(|operand| put_items(operand, items)),
    }
}

/// A value in the place of a slot.
fn put_value(expression: &mut Expression, slot: ColumnSlot, value: &Expression) {
    if expression.as_column() == Some(slot) {
        *expression = value.clone();
        return;
    }
    expression.operands_mut().into_iter().for_each(|operand| put_value(operand, slot, value));
}
