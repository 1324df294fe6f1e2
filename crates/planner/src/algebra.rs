//! A FROM clause in the making: which conditions are tested where, and how it becomes a [`Relation`].
//!
//! Expressions name **slots of the block**: each table of FROM has a run of them, in the order of the text. `lower`
//! keeps the slots that something reads, and renumbers them to positions in the rows of each node.
//!
//! *Conditions move down* to the side of a join whose columns they name. Below the side of an outer join whose rows may
//! be missing they move from its ON only; below the other side they never move from ON. Volatile ones stay.
//!
//! Invariant: the result is that of the joins as written, followed by WHERE.

use crate::access_path::{self, Purpose, Wanted};
use crate::alternatives;
use crate::nulls;
use crate::plan::{
    AccessPath, Apply, Binding, Derived, Grouping, HashForm, HashKey, Join, JoinKind, Lookup, Relation, Scan,
    TableAccess, VirtualRead,
};
use crate::statistics::Counts;
use expression::{ColumnSlot, Comparison, Domain, Expression, Node};
use protocol::SqlError;
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::sync::Arc;
use stdx::FixedMap;
use types::{ColumnIndex, SqlType, TableDefinition};

/// Keys or ranges that a lookup makes of one row at most.
const LOOKUP_KEYS_MAX: usize = 16;

/// A tree of FROM.
#[derive(Clone, Debug)]
pub(crate) enum Draft {
    /// No FROM.
    One,
    Table {
        table: Arc<TableDefinition>,
        alias: String,
        first_slot: u16,
        filter: Vec<Expression>,
    },
    /// Rows of a query, of a certain width.
    Query {
        relation: Relation,
        width: usize,
        first_slot: u16,
        filter: Vec<Expression>,
        /// LATERAL: columns of what stands before it, in the parameters where it finds them.
        outer: Vec<(u16, Expression)>,
        /// The same for few rows of what stands before it.
        apply: Option<Box<Applied>>,
    },
    Join {
        kind: JoinKind,
        left: Box<Draft>,
        right: Box<Draft>,
        on: Vec<Expression>,
        hint: JoinHint,
    },
}

/// Hints of a join besides its condition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum JoinHint {
    /// Nothing.
    Free,
    /// STRAIGHT_JOIN: the left side comes first.
    Straight,
    /// Beyond so many left rows the right side is gathered once: looking its rows up would cost more.
    LookUp { left_rows_max: u64 },
}

/// A query that gives the rows of another one that some values match.
#[derive(Clone, Debug)]
pub(crate) struct Applied {
    pub(crate) derived: Arc<Derived>,
    /// The columns that have these values, in the parameters where it finds them.
    pub(crate) outer: Vec<(u16, Expression)>,
    /// The cost of running it once, and of the other query.
    pub(crate) costs: (f64, f64),
}

impl Applied {
    /// The slots that it reads.
    pub(crate) fn columns(&self) -> impl Iterator<Item = ColumnSlot> {
        self.outer.iter().flat_map(|(_, column)| column.columns())
    }

    /// So many rows it runs for before the other query would have cost less.
    fn left_rows_max(&self) -> u64 {
        let (own, other) = self.costs;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an estimate, in bounds")]
        let count = (other / own.max(1.0)).clamp(1.0, 1e9) as u64;
        count
    }
}

/// One column has one value for each combination of values of others.
#[derive(Debug)]
pub(crate) struct Dependency {
    pub(crate) from: Vec<ColumnSlot>,
    pub(crate) to: ColumnSlot,
}

/// Where a lowered draft gets numbers for parameters.
pub(crate) trait Parameters {
    /// A new parameter.
    fn add(&mut self) -> Result<u16, SqlError>;
    /// Takes back the last ones.
    fn take_back(&mut self, count: usize);
    /// Whether the value of a row stands in it.
    fn is_of_row(&self, parameter: u16) -> bool;
    /// Counts of rows.
    fn counts(&mut self) -> Counts<'_>;
    /// The plan reads a virtual table.
    fn add_virtual(&mut self, read: &Arc<VirtualRead>);
}

impl Draft {
    /// Rows of a query.
    pub(crate) fn query(relation: Relation, width: usize, first_slot: u16) -> Self {
        Draft::Query { relation, width, first_slot, filter: Vec::new(), outer: Vec::new(), apply: None }
    }

    /// Two drafts, joined.
    pub(crate) fn join(kind: JoinKind, left: Draft, right: Draft, on: Vec<Expression>) -> Self {
        let (left, right, hint) = (Box::new(left), Box::new(right), JoinHint::Free);
        let mut join = Draft::Join { kind, left, right, on: Vec::new(), hint };
        for conjunct in on {
            join.push_on(conjunct);
        }
        join
    }

    /// The same with something said of the topmost join.
    pub(crate) fn with_hint(mut self, said: JoinHint) -> Self {
        if let Draft::Join { hint, .. } = &mut self {
            *hint = said;
        }
        self
    }

    pub(crate) fn has(&self, slot: ColumnSlot) -> bool {
        let within = |first: u16, count: usize| {
            slot.0.checked_sub(first).is_some_and(|column| usize::from(column) < count)
        };
        match self {
            Draft::Table { table, first_slot, .. } => within(*first_slot, table.columns.len()),
            Draft::Query { width, first_slot, .. } => within(*first_slot, *width),
            Draft::Join { left, right, .. } => left.has(slot) || right.has(slot),
            Draft::One => false,
        }
    }

    pub(crate) fn has_all(&self, slots: &[ColumnSlot]) -> bool {
        slots.iter().all(|slot| self.has(*slot))
    }

    /// The same tree. LEFT JOINs are inner ones where a row without a match fails anyway: conditions above name a
    /// column of their right side that must not be NULL.
    pub(crate) fn without_needless_outer(self, needed: &BTreeSet<ColumnSlot>) -> Self {
        let Draft::Join { kind, left, right, on, hint } = self else { return self };
        let of_on: BTreeSet<ColumnSlot> = on.iter().flat_map(nulls::rejected).collect();
        let both = needed.union(&of_on).copied().collect();
        if kind.is_filter() {
            // A left row that meets no right one passes an anti join.
            let of_left = if kind == JoinKind::Semi { &both } else { needed };
            let (left, right) = (left.without_needless_outer(of_left), right.without_needless_outer(&of_on));
            return Draft::Join { kind, left: Box::new(left), right: Box::new(right), on, hint };
        }
        let is_inner = kind == JoinKind::Inner || needed.iter().any(|slot| right.has(*slot));
        if is_inner {
            let (left, right) = (left.without_needless_outer(&both), right.without_needless_outer(&both));
            return Draft::join(JoinKind::Inner, left, right, on).with_hint(hint);
        }
        let (left, right) = (left.without_needless_outer(needed), right.without_needless_outer(&of_on));
        Draft::Join { kind, left: Box::new(left), right: Box::new(right), on, hint }
    }

    /// A conjunct of ON of the topmost join.
    fn push_on(&mut self, conjunct: Expression) {
        let Draft::Join { kind, right, on, .. } = self else { return };
        let left_over = match kind {
            JoinKind::Inner => self.push(conjunct),
            JoinKind::Left | JoinKind::Semi | JoinKind::Anti if right.has_all(&conjunct.columns()) => {
                match right.push(conjunct) {
                    Some(conjunct) => {
                        on.push(conjunct);
                        None
                    }
                    None => None,
                }
            }
            JoinKind::Left | JoinKind::Semi | JoinKind::Anti | JoinKind::Mark | JoinKind::Single => {
                alternatives::test_early(&conjunct, right);
                on.push(conjunct);
                None
            }
        };
        stdx::require!(left_over.is_none(), "an inner join takes every condition over its sides");
    }

    /// Tests a condition as far down as it may be tested; gives it back if that is above this tree.
    pub(crate) fn push(&mut self, conjunct: Expression) -> Option<Expression> {
        match self {
            Draft::Table { filter, .. } | Draft::Query { filter, .. } => {
                filter.push(conjunct);
                None
            }
            Draft::Join { kind, left, right, on, .. } => {
                let columns = conjunct.columns();
                let kept = if left.has_all(&columns) {
                    left.push(conjunct)?
                } else if *kind == JoinKind::Inner && right.has_all(&columns) {
                    right.push(conjunct)?
                } else {
                    conjunct
                };
                match kind {
                    JoinKind::Inner => {
                        alternatives::test_early(&kept, left);
                        alternatives::test_early(&kept, right);
                        on.push(kept);
                        None
                    }
                    JoinKind::Left | JoinKind::Semi | JoinKind::Anti | JoinKind::Mark | JoinKind::Single => {
                        Some(kept)
                    }
                }
            }
            Draft::One => Some(conjunct),
        }
    }

    /// The first slot behind all of its tables and queries.
    pub(crate) fn slots_end(&self) -> u16 {
        let end = |first: u16, count: usize| first.saturating_add(u16::try_from(count).unwrap_or(u16::MAX));
        match self {
            Draft::One => 0,
            Draft::Table { table, first_slot, .. } => end(*first_slot, table.columns.len()),
            Draft::Query { width, first_slot, .. } => end(*first_slot, *width),
            Draft::Join { left, right, .. } => left.slots_end().max(right.slots_end()),
        }
    }

    /// The first slot of all of its tables and queries.
    pub(crate) fn slots_begin(&self) -> u16 {
        match self {
            Draft::One => 0,
            Draft::Table { first_slot, .. } | Draft::Query { first_slot, .. } => *first_slot,
            Draft::Join { left, right, .. } => left.slots_begin().min(right.slots_begin()),
        }
    }

    /// Calls `each` for its first slots and for all expressions over its slots.
    fn shift_all(&mut self, by: u16, each: &mut impl FnMut(&mut Expression)) {
        match self {
            Draft::One => {}
            Draft::Table { first_slot, filter, .. } => {
                *first_slot = first_slot.saturating_add(by);
                filter.iter_mut().for_each(each);
            }
            Draft::Query { first_slot, filter, outer, apply, .. } => {
                *first_slot = first_slot.saturating_add(by);
                filter.iter_mut().for_each(&mut *each);
                outer.iter_mut().for_each(|(_, column)| each(column));
                let applied = apply.iter_mut().flat_map(|apply| &mut apply.outer);
                applied.for_each(|(_, column)| each(column));
            }
            Draft::Join { left, right, on, .. } => {
                on.iter_mut().for_each(&mut *each);
                left.shift_all(by, each);
                right.shift_all(by, each);
            }
        }
    }

    /// Gives it slots that are higher by this.
    pub(crate) fn shift(&mut self, by: u16) {
        self.shift_all(by, &mut |expression: &mut Expression| {
            expression.map_columns(&mut |slot| ColumnSlot(slot.0.saturating_add(by)));
        });
    }

    /// Whether none of these parameters is read in it, for certain.
    pub(crate) fn is_free_of(&self, outer: &[(u16, Expression)]) -> bool {
        let reads = |expression: &Expression| {
            let mut reads = false;
            expression.visit(&mut |part| {
                reads |= matches!(part.node, Node::Parameter(number) if outer.iter().any(|(own, _)| *own == number));
            });
            reads
        };
        match self {
            Draft::One => true,
            Draft::Table { filter, .. } => !filter.iter().any(reads),
            Draft::Query { relation, .. } => outer.is_empty() || matches!(relation, Relation::Common(_)),
            Draft::Join { left, right, on, .. } => {
                !on.iter().any(reads) && left.is_free_of(outer) && right.is_free_of(outer)
            }
        }
    }

    /// Whether it reads a table that is made when it is read.
    pub(crate) fn has_virtual(&self) -> bool {
        match self {
            Draft::One | Draft::Table { .. } => false,
            Draft::Query { relation, .. } => matches!(relation, Relation::Virtual(_)),
            Draft::Join { left, right, .. } => left.has_virtual() || right.has_virtual(),
        }
    }

    /// Calls `visit` for each table and query of it to which conditions above it move down.
    pub(crate) fn visit_leaves(&mut self, visit: &mut impl FnMut(&mut Draft)) {
        match self {
            Draft::One => {}
            Draft::Table { .. } | Draft::Query { .. } => visit(self),
            Draft::Join { kind, left, right, .. } => {
                left.visit_leaves(visit);
                if *kind == JoinKind::Inner {
                    right.visit_leaves(visit);
                }
            }
        }
    }

    /// The conditions on its own rows.
    pub(crate) fn filters(&self) -> &[Expression] {
        match self {
            Draft::Table { filter, .. } | Draft::Query { filter, .. } => filter,
            Draft::One | Draft::Join { .. } => &[],
        }
    }

    /// Whether it has a query with another plan for few rows.
    pub(crate) fn has_alternative(&self) -> bool {
        match self {
            Draft::One | Draft::Table { .. } => false,
            Draft::Query { apply, .. } => apply.is_some(),
            Draft::Join { left, right, .. } => left.has_alternative() || right.has_alternative(),
        }
    }

    /// The slots that its own conditions read where they are tested on rows of several columns.
    pub(crate) fn add_used(&self, used: &mut BTreeSet<ColumnSlot>) {
        match self {
            Draft::One | Draft::Table { .. } => {}
            Draft::Query { filter, outer, apply, .. } => {
                used.extend(filter.iter().flat_map(Expression::columns));
                used.extend(outer.iter().flat_map(|(_, column)| column.columns()));
                used.extend(apply.iter().flat_map(|apply| apply.columns()));
            }
            Draft::Join { left, right, on, .. } => {
                used.extend(on.iter().flat_map(Expression::columns));
                left.add_used(used);
                right.add_used(used);
            }
        }
    }

    /// The columns that queries in it read of what stands before them.
    pub(crate) fn outer_columns(&self) -> Vec<Bound> {
        let bound = |(parameter, column): &(u16, Expression)| Some((*parameter, column.as_column()?));
        self.outer().into_iter().filter_map(bound).collect()
    }

    /// The same, with the parameters where they find them.
    pub(crate) fn outer(&self) -> Vec<&(u16, Expression)> {
        match self {
            Draft::One | Draft::Table { .. } => Vec::new(),
            Draft::Query { outer, .. } => outer.iter().collect(),
            Draft::Join { left, right, .. } => left.outer().into_iter().chain(right.outer()).collect(),
        }
    }

    /// The table or query that has this slot.
    pub(crate) fn leaf(&self, slot: ColumnSlot) -> Option<&Self> {
        match self {
            Draft::Join { left, right, .. } => left.leaf(slot).or_else(|| right.leaf(slot)),
            Draft::One | Draft::Table { .. } | Draft::Query { .. } => {
                Some(self).filter(|leaf| leaf.has(slot))
            }
        }
    }

    /// Whether a query stands in it.
    pub(crate) fn has_query(&self) -> bool {
        match self {
            Draft::One | Draft::Table { .. } => false,
            Draft::Query { .. } => true,
            Draft::Join { left, right, .. } => left.has_query() || right.has_query(),
        }
    }

    /// Calls `visit` for each stored table of it.
    pub(crate) fn visit_tables(&self, visit: &mut impl FnMut(&Arc<TableDefinition>)) {
        match self {
            Draft::One => {}
            Draft::Table { table, .. } => visit(table),
            Draft::Query { relation, .. } => relation.visit_tables(&mut |table| visit(table)),
            Draft::Join { left, right, .. } => {
                left.visit_tables(visit);
                right.visit_tables(visit);
            }
        }
    }

    /// Adds the columns that its conditions fix.
    pub(crate) fn dependencies(&self, dependencies: &mut Vec<Dependency>) {
        match self {
            Draft::Table { filter, .. } | Draft::Query { filter, .. } => {
                filter.iter().for_each(|conjunct| equalities(conjunct, dependencies));
            }
            Draft::Join { kind: JoinKind::Inner, left, right, on, .. } => {
                on.iter().for_each(|conjunct| equalities(conjunct, dependencies));
                left.dependencies(dependencies);
                right.dependencies(dependencies);
            }
            Draft::One => {}
            Draft::Join { kind: JoinKind::Semi | JoinKind::Anti, left, .. } => {
                left.dependencies(dependencies)
            }
            Draft::Join { left, right, on, .. } => {
                left.dependencies(dependencies);
                // A missing row has NULLs: whether it is missing depends on all of ON.
                let mut from: Vec<ColumnSlot> = on.iter().flat_map(Expression::columns).collect();
                from.retain(|slot| left.has(*slot));
                let mut inner = Vec::new();
                on.iter().for_each(|conjunct| equalities(conjunct, &mut inner));
                right.dependencies(&mut inner);
                for Dependency { from: own, to } in inner {
                    if right.has(to) {
                        let from = own.into_iter().chain(from.iter().copied()).collect();
                        dependencies.push(Dependency { from, to });
                    }
                }
            }
        }
    }

    /// The relation, and which slots its rows hold.
    pub(crate) fn lower(
        self,
        used: &BTreeSet<ColumnSlot>,
        parameters: &mut dyn Parameters,
    ) -> Result<(Relation, Vec<ColumnSlot>), SqlError> {
        match self {
            Draft::One => Ok((Relation::One, vec![ONE_SLOT])),
            Draft::Table { table, alias, first_slot, filter } => {
                Ok(scan(table, alias, first_slot, filter, used, &mut parameters.counts()))
            }
            Draft::Query { relation, width, first_slot, filter, .. } => {
                let layout: Vec<ColumnSlot> = (first_slot..).take(width).map(ColumnSlot).collect();
                if let Relation::Virtual(read) = relation {
                    return Ok((virtual_rows(read, first_slot, filter, parameters), layout));
                }
                Ok((filtered(relation, filter, &layout)?, layout))
            }
            Draft::Join { kind, left, right, on, hint } => {
                let lookup = lookup(&left, &right, &on, parameters)?;
                let left_rows_max = match hint {
                    JoinHint::LookUp { left_rows_max } => Some(left_rows_max),
                    JoinHint::Free | JoinHint::Straight => None,
                };
                let applied = applied(&left, &right);
                let keys: Vec<(Expression, Expression, HashForm)> =
                    on.iter().filter_map(|conjunct| hash_key(conjunct, &left, &right)).collect();
                let mut outer = right.outer_columns();
                outer.retain(|(_, slot)| left.has(*slot));
                let (left, mut layout) = left.lower(used, parameters)?;
                let (right, right_layout) = right.lower(used, parameters)?;
                let (left_positions, right_positions) =
                    (Positions::of(&layout), Positions::of(&right_layout));
                let binding = |(parameter, slot): Bound| Binding {
                    parameter,
                    position: left_positions.position(slot).unwrap_or(usize::MAX),
                };
                let outer = outer.into_iter().map(binding).collect();
                let apply =
                    applied.map(|applied| lower_applied(applied, &layout, &right_layout)).transpose()?;
                let key = |(mut of_left, mut of_right, form)| {
                    left_positions.put_into(&mut of_left)?;
                    right_positions.put_into(&mut of_right)?;
                    Ok(HashKey { left: of_left, right: of_right, form })
                };
                let keys = keys.into_iter().map(key).collect::<Result<Vec<_>, SqlError>>()?;
                let lookup = lookup.map(|(access, bound)| Lookup {
                    access,
                    bindings: bound.into_iter().map(binding).collect(),
                    left_rows_max: left_rows_max.filter(|_| !keys.is_empty()),
                });
                let (left_width, right_width) = (layout.len(), right_layout.len());
                layout.extend(right_layout);
                let mut condition = if on.is_empty() { None } else { Some(Expression::and(on)) };
                if let Some(condition) = &mut condition {
                    Positions::of(&layout).put_into(condition)?;
                }
                if kind.is_filter() {
                    layout.truncate(left_width);
                }
                let rows_max = None;
                let join = Join {
                    kind,
                    left,
                    right,
                    left_width,
                    right_width,
                    condition,
                    keys,
                    lookup,
                    outer,
                    rows_max,
                    apply,
                };
                Ok((Relation::Join(Arc::new(join)), layout))
            }
        }
    }
}

/// The value of the only row of a SELECT without FROM.
pub(crate) const ONE_SLOT: ColumnSlot = ColumnSlot(ITEM_SLOTS - 1);
/// The slot of the number of GROUP BY's values that a row of ROLLUP has.
pub(crate) const LEVEL_SLOT: u16 = GROUPING_SLOTS - 1;
/// Slots of GROUPING().
pub(crate) const GROUPING_SLOTS: u16 = 0xf300;
/// Calls of GROUPING() of one block.
pub(crate) const GROUPING_COUNT_MAX: u16 = 0x100;
/// Slots of the values of window functions.
pub(crate) const WINDOW_SLOTS: u16 = 0xf400;
/// Window functions of one block.
pub(crate) const WINDOW_COUNT_MAX: u16 = 0x3ff;
/// Slots of the items of a subquery, where they are compared with values of the row.
pub(crate) const ITEM_SLOTS: u16 = 0xf800;
/// Slots of the values of subqueries.
pub(crate) const SUBQUERY_SLOTS: u16 = 0xfc00;
/// Subqueries of one block.
pub(crate) const SUBQUERY_COUNT_MAX: u16 = 0x3ff;

/// A SELECT of a subquery before it becomes a plan.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) draft: Draft,
    /// WHERE.
    pub(crate) conjuncts: Vec<Expression>,
    pub(crate) grouping: Option<Grouping>,
    /// Over the groups, if there are any.
    pub(crate) projection: Vec<Expression>,
    /// LIMIT.
    pub(crate) count: Option<Expression>,
}

/// Whether a condition reads the value of a subquery.
pub(crate) fn reads_subquery(condition: &Expression) -> bool {
    condition.columns().iter().any(|slot| slot.0 >= SUBQUERY_SLOTS)
}

/// A query in an expression of a block.
#[derive(Clone, Debug)]
pub(crate) struct Subquery {
    /// Mark or Single.
    pub(crate) kind: JoinKind,
    /// Its value.
    pub(crate) slot: ColumnSlot,
    /// The query.
    pub(crate) derived: Arc<Derived>,
    /// Its items, compared with something of the row; over slots of the block and the items'.
    pub(crate) condition: Option<Expression>,
    /// The columns of the row that it reads, in the parameters where it finds them.
    pub(crate) outer: Vec<(u16, Expression)>,
    pub(crate) rows_max: Option<usize>,
    pub(crate) place: SubqueryPlace,
    /// Its parts, if it is one SELECT of stored tables and queries.
    pub(crate) block: Option<Box<Block>>,
}

/// On which rows a subquery is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SubqueryPlace {
    /// Those of FROM, before WHERE; of an inner join's ON, too.
    Where,
    /// Those that WHERE leaves.
    Source,
    /// The groups if there are any, else as `Source`.
    Items,
}

impl Subquery {
    /// The slots of its items, where they are compared.
    fn item_slots(&self) -> Vec<ColumnSlot> {
        (ITEM_SLOTS..SUBQUERY_SLOTS).take(self.derived.names.len()).map(ColumnSlot).collect()
    }

    /// The slots of the row that it reads.
    pub(crate) fn columns(&self) -> Vec<ColumnSlot> {
        let own = ITEM_SLOTS..SUBQUERY_SLOTS;
        let of_outer = self.outer.iter().flat_map(|(_, column)| column.columns());
        self.condition
            .iter()
            .flat_map(Expression::columns)
            .filter(|slot| !own.contains(&slot.0))
            .chain(of_outer)
            .collect()
    }

    /// One row: a NULL, and its value. The condition is over the row's NULL and the items.
    pub(crate) fn one_row(&self, condition: Option<Expression>) -> Relation {
        Relation::Join(Arc::new(Join {
            kind: self.kind,
            left: Relation::One,
            right: Relation::Derived(Arc::clone(&self.derived)),
            left_width: 1,
            right_width: self.derived.names.len(),
            condition,
            keys: Vec::new(),
            lookup: None,
            outer: Vec::new(),
            rows_max: self.rows_max,
            apply: None,
        }))
    }

    /// Rows with its value behind them.
    pub(crate) fn applied_to(
        self,
        left: Relation,
        layout: &mut Vec<ColumnSlot>,
    ) -> Result<Relation, SqlError> {
        let left_width = layout.len();
        let items = self.item_slots();
        let value = self.slot;
        let mut outer = Vec::with_capacity(self.outer.len());
        let positions = Positions::of(layout);
        for (parameter, column) in &self.outer {
            let mut column = column.clone();
            positions.put_into(&mut column)?;
            outer.extend(
                column.as_column().map(|slot| Binding { parameter: *parameter, position: slot.index() }),
            );
        }
        let mut condition = self.condition;
        let mut keys = Vec::new();
        if let Some(condition) = &mut condition {
            let is_mark = self.kind == JoinKind::Mark;
            let conjuncts = if is_mark { condition.clone().into_conjuncts() } else { Vec::new() };
            // Of rows, a NULL in one column does not make all of it unknown: another column may be unequal.
            let is_row = conjuncts.len() > 1;
            let found = conjuncts.iter().filter_map(|conjunct| item_key(conjunct, &items));
            for (mut left, mut right, form) in
                found.filter(|(left, right, _)| !is_row || !(left.nullable || right.nullable))
            {
                positions.put_into(&mut left)?;
                Positions::of(&items).put_into(&mut right)?;
                keys.push(HashKey { left, right, form });
            }
            layout.extend(&items);
            Positions::of(layout).put_into(condition)?;
            layout.truncate(left_width);
        }
        layout.push(value);
        let right_width = self.derived.names.len();
        Ok(Relation::Join(Arc::new(Join {
            kind: self.kind,
            left,
            right: Relation::Derived(self.derived),
            left_width,
            right_width,
            condition,
            keys,
            lookup: None,
            outer,
            rows_max: self.rows_max,
            apply: None,
        })))
    }
}

/// The two sides of an equality of something with a subquery's item, if they can be hashed.
fn item_key(condition: &Expression, items: &[ColumnSlot]) -> Option<(Expression, Expression, HashForm)> {
    let Node::Compare { operator: Comparison::Equal, domain, left, right } = &condition.node else {
        return None;
    };
    let form = hash_form(*domain, &left.sql_type, &right.sql_type)?;
    let is_item = |slot: &ColumnSlot| items.contains(slot);
    (matches!(right.columns().as_slice(), [slot] if is_item(slot)) && !left.columns().iter().any(is_item))
        .then(|| (Expression::clone(left), Expression::clone(right), form))
}

/// Tests conditions on rows of this layout.
pub(crate) fn filtered(
    input: Relation,
    mut conditions: Vec<Expression>,
    layout: &[ColumnSlot],
) -> Result<Relation, SqlError> {
    if conditions.is_empty() {
        return Ok(input);
    }
    let positions = Positions::of(layout);
    conditions.iter_mut().try_for_each(|condition| positions.put_into(condition))?;
    Ok(Relation::Filter { input: Box::new(input), conditions })
}

/// A table with the columns that are used.
fn scan(
    table: Arc<TableDefinition>,
    alias: String,
    first_slot: u16,
    filter: Vec<Expression>,
    used: &BTreeSet<ColumnSlot>,
    counts: &mut Counts<'_>,
) -> (Relation, Vec<ColumnSlot>) {
    let columns = (0..table.columns.len()).filter_map(|column| u16::try_from(column).ok());
    let mut columns: Vec<ColumnIndex> =
        columns.filter(|column| used.contains(&ColumnSlot(first_slot + column))).map(ColumnIndex).collect();
    if columns.is_empty() {
        columns.extend(table.primary_key().first().map(|part| part.column));
    }
    let layout = columns.iter().map(|column| ColumnSlot(first_slot + column.0)).collect();
    let access = access_of(table, alias, first_slot, filter, counts);
    (Relation::Scan(Arc::new(Scan { access, columns })), layout)
}

/// A virtual table with its conditions.
fn virtual_rows(
    read: Arc<VirtualRead>,
    first_slot: u16,
    filter: Vec<Expression>,
    parameters: &mut dyn Parameters,
) -> Relation {
    let is_of_row = |conjunct: &Expression| {
        let mut is_of_row = false;
        conjunct.visit(&mut |part| {
            is_of_row |= matches!(part.node, Node::Parameter(number) if parameters.is_of_row(number));
        });
        is_of_row
    };
    let known = filter.iter().filter(|conjunct| !is_of_row(conjunct)).cloned().collect();
    let known = to_columns(known, first_slot);
    let read = VirtualRead { filter: to_columns(filter, first_slot), known, ..Arc::unwrap_or_clone(read) };
    let read = Arc::new(read);
    parameters.add_virtual(&read);
    Relation::Virtual(read)
}

pub(crate) fn access_of(
    table: Arc<TableDefinition>,
    alias: String,
    first_slot: u16,
    filter: Vec<Expression>,
    counts: &mut Counts<'_>,
) -> TableAccess {
    let selection = to_columns(filter, first_slot);
    let wanted = Wanted { order_by: &[], is_limited: false, purpose: Purpose::Read };
    access_path::access(table, alias, selection, &wanted, counts).0
}

/// Conditions over slots of one table as one over its columns.
fn to_columns(mut conjuncts: Vec<Expression>, first_slot: u16) -> Option<Expression> {
    for conjunct in &mut conjuncts {
        conjunct.map_columns(&mut |slot| ColumnSlot(slot.0 - first_slot));
    }
    if conjuncts.is_empty() { None } else { Some(Expression::and(conjuncts)) }
}

/// A layout of rows, with an index of its slots if there are many.
pub(crate) struct Positions<'l> {
    layout: &'l [ColumnSlot],
    index: OnceCell<FixedMap<ColumnSlot, usize>>,
}

/// Slots that are searched one by one.
const SEARCHED_SLOT_COUNT_MAX: usize = 32;

impl<'l> Positions<'l> {
    pub(crate) fn of(layout: &'l [ColumnSlot]) -> Self {
        Self { layout, index: OnceCell::new() }
    }

    fn position(&self, slot: ColumnSlot) -> Option<usize> {
        if self.layout.len() <= SEARCHED_SLOT_COUNT_MAX {
            return self.layout.iter().position(|held| *held == slot);
        }
        // A slot that stands there twice is found at its first place.
        let index =
            || self.layout.iter().enumerate().rev().map(|(position, held)| (*held, position)).collect();
        self.index.get_or_init(index).get(&slot).copied()
    }

    /// Renumbers slots to positions in rows of this layout. The value of a subquery is only there from a certain step
    /// on.
    pub(crate) fn put_into(&self, expression: &mut Expression) -> Result<(), SqlError> {
        let mut is_missing = false;
        expression.map_columns(&mut |slot| {
            let position = self.position(slot);
            is_missing |= position.is_none();
            ColumnSlot(position.and_then(|position| u16::try_from(position).ok()).unwrap_or(u16::MAX))
        });
        if is_missing {
            Err(SqlError::unsupported("this use of a subquery beside GROUP BY or window functions"))
        } else {
            Ok(())
        }
    }
}

/// The query that runs for each of few left rows in the place of the right side, with the right side's conditions.
fn applied(left: &Draft, right: &Draft) -> Option<(Box<Applied>, Vec<Expression>)> {
    let Draft::Query { filter, apply, .. } = right else { return None };
    let applied = apply.clone().filter(|applied| applied.columns().all(|slot| left.has(slot)))?;
    Some((applied, filter.clone()))
}

fn lower_applied(
    (applied, filter): (Box<Applied>, Vec<Expression>),
    left_layout: &[ColumnSlot],
    layout: &[ColumnSlot],
) -> Result<Apply, SqlError> {
    let left_rows_max = applied.left_rows_max();
    let mut outer = Vec::with_capacity(applied.outer.len());
    let positions = Positions::of(left_layout);
    for (parameter, mut column) in applied.outer {
        positions.put_into(&mut column)?;
        let position = column.as_column().map_or(usize::MAX, |slot| slot.index());
        outer.push(Binding { parameter, position });
    }
    let right = filtered(Relation::Derived(applied.derived), filter, layout)?;
    Ok(Apply { right, outer, left_rows_max })
}

/// A parameter and the slot whose value stands in it.
pub(crate) type Bound = (u16, ColumnSlot);

/// The keys of the right side's table that a left row gives, and which slots stand in which parameters.
fn lookup(
    left: &Draft,
    right: &Draft,
    on: &[Expression],
    parameters: &mut dyn Parameters,
) -> Result<Option<(TableAccess, Vec<Bound>)>, SqlError> {
    let Draft::Table { table, alias, first_slot, filter } = right else { return Ok(None) };
    let names_both = |conjunct: &&Expression| {
        let columns = conjunct.columns();
        columns.iter().any(|slot| left.has(*slot)) && columns.iter().any(|slot| right.has(*slot))
    };
    let mut conjuncts: Vec<Expression> = on.iter().filter(names_both).cloned().collect();
    let mut slots: Vec<ColumnSlot> = conjuncts.iter().flat_map(Expression::columns).collect();
    slots.retain(|slot| left.has(*slot));
    slots.sort_unstable();
    slots.dedup();
    let mut bound = Vec::with_capacity(slots.len());
    for slot in slots {
        bound.push((parameters.add()?, slot));
    }
    for conjunct in &mut conjuncts {
        bind_slots(conjunct, &bound);
    }
    let is_bound = |expression: &Expression| {
        let mut is_bound = false;
        expression.visit(&mut |part| {
            is_bound |= matches!(part.node, Node::Parameter(number) if bound.iter().any(|(own, _)| *own == number));
        });
        is_bound
    };
    let is_lookup = |access: &TableAccess| match &access.path {
        AccessPath::Empty => false,
        AccessPath::PrimaryKeys(keys) | AccessPath::UniqueKeys { keys, .. } => {
            keys.len() <= LOOKUP_KEYS_MAX && keys.iter().flatten().any(is_bound)
        }
        AccessPath::Ranges { ranges, .. } => {
            ranges.len() <= LOOKUP_KEYS_MAX && ranges.iter().all(|range| range.equal.iter().any(is_bound))
        }
    };
    // Constants may make a longer key, or lead to an index that says nothing of the left row.
    let with_filter = conjuncts.iter().chain(filter).cloned().collect();
    for conditions in [with_filter, conjuncts] {
        let mut access =
            access_of(Arc::clone(table), alias.clone(), *first_slot, conditions, &mut parameters.counts());
        if is_lookup(&access) {
            // The path need not imply what is asked of the table alone, nor the condition of the join.
            access.filter = to_columns(filter.clone(), *first_slot);
            return Ok(Some((access, bound)));
        }
        if !matches!(access.path, AccessPath::Ranges { .. }) {
            break;
        }
    }
    parameters.take_back(bound.len());
    Ok(None)
}

fn bind_slots(expression: &mut Expression, bound: &[Bound]) {
    if let Node::Column(slot) = expression.node
        && let Some((parameter, _)) = bound.iter().find(|(_, own)| *own == slot)
    {
        expression.node = Node::Parameter(*parameter);
    }
    for operand in expression.operands_mut() {
        bind_slots(operand, bound);
    }
}

/// The two sides of an equality whose values can be hashed.
pub(crate) fn hash_key(
    conjunct: &Expression,
    left: &Draft,
    right: &Draft,
) -> Option<(Expression, Expression, HashForm)> {
    let Node::Compare { operator: Comparison::Equal, domain, left: first, right: second } = &conjunct.node
    else {
        return None;
    };
    let form = hash_form(*domain, &first.sql_type, &second.sql_type)?;
    let is_of = |draft: &Draft, expression: &Expression| draft.has_all(&expression.columns());
    if is_of(left, first) && is_of(right, second) {
        Some((Expression::clone(first), Expression::clone(second), form))
    } else if is_of(right, first) && is_of(left, second) {
        Some((Expression::clone(second), Expression::clone(first), form))
    } else {
        None
    }
}

/// The form in which values of two types hash alike if they are equal in the domain; None: they need not.
pub(crate) fn hash_form(domain: Domain, left: &SqlType, right: &SqlType) -> Option<HashForm> {
    let both = |is: fn(&SqlType) -> bool| is(left) && is(right);
    let is_integer = |sql_type: &SqlType| matches!(sql_type, SqlType::Integer { .. });
    let is_exact = |sql_type: &SqlType| matches!(sql_type, SqlType::Integer { .. } | SqlType::Decimal { .. });
    let is_double = |sql_type: &SqlType| matches!(sql_type, SqlType::Double | SqlType::Float);
    let is_number = |sql_type: &SqlType| {
        matches!(
            sql_type,
            SqlType::Integer { .. } | SqlType::Decimal { .. } | SqlType::Double | SqlType::Float
        )
    };

    let is_instant = |sql_type: &SqlType| {
        matches!(sql_type, SqlType::Date | SqlType::DateTime { .. } | SqlType::Timestamp { .. })
    };
    match domain {
        Domain::Number if both(is_integer) => Some(HashForm::Integer),
        Domain::Number if both(is_exact) => Some(HashForm::Exact),
        Domain::Number if both(is_number) && (is_double(left) || is_double(right)) => Some(HashForm::Double),
        Domain::Text(collation) if both(SqlType::is_string) => Some(HashForm::Text(collation)),
        Domain::DateTime if both(is_instant) => Some(HashForm::Instant),
        Domain::Time if both(|sql_type| matches!(sql_type, SqlType::Time { .. })) => Some(HashForm::Duration),
        Domain::Number | Domain::Text(_) | Domain::DateTime | Domain::Time => None,
    }
}

/// Adds the columns that a conjunct fixes. Texts are omitted: equal under a collation is not the same.
pub(crate) fn equalities(conjunct: &Expression, dependencies: &mut Vec<Dependency>) {
    let Node::Compare { operator: Comparison::Equal, left, right, .. } = &conjunct.node else { return };
    let is_text = |sql_type: &SqlType| {
        matches!(sql_type, SqlType::Char { .. } | SqlType::VarChar { .. } | SqlType::Text { .. })
    };
    let mut add = |column: &Expression, other: &Expression| {
        let Some(to) = column.as_column() else { return };
        if is_text(&column.sql_type) {
            return;
        }
        if other.is_constant() {
            dependencies.push(Dependency { from: Vec::new(), to });
        } else if let Some(from) = other.as_column() {
            dependencies.push(Dependency { from: vec![from], to });
        }
    };
    add(left, right);
    add(right, left);
}
