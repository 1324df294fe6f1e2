//! The order in which tables are joined.
//!
//! ```text
//! draft ─ flatten ─► cluster: units and conjuncts ─ equals ─ facts ─► search ─► order ─ rebuild ─► draft
//! ```
//! A **cluster** is a tree of inner joins, with the left sides of LEFT JOINs, semi and anti joins. Its **units** are
//! what is joined: tables, queries, and the right sides of those as they stand in the text. They are joined one after
//! the other. Such a right side that is itself a tree of joins is a cluster of its own.
//!
//! *Rules.* Inner units may stand in any order. The right side of another join stands behind all that its ON names, and
//! is never first. A LATERAL query stands behind what it reads, the right side of STRAIGHT_JOIN behind its left one. A
//! conjunct is tested as soon as all units that it names are there. These rules suffice: `(X ⟕ R) ⋈ Y = (X ⋈ Y) ⟕ R`
//! where the inner condition does not name R; where it names R it is a filter above both. Semi and anti joins are
//! filters of what is on their left.
//!
//! *Search.* Dynamic programming over sets of units, the cheapest way to each. It passes over products of unrelated
//! units where others are left. Above [`STEPS_MAX`] steps the next unit is the cheapest one, from several beginnings.
//! The order of the text stays unless another one is clearly cheaper, and where there are more than [`CONJUNCTS_MAX`]
//! conjuncts.
//!
//! Invariant: the result is the bag of the draft as written.

mod constants;
mod cost;
mod price;
mod query_cost;

use crate::algebra::{Draft, JoinHint};
use crate::plan::{JoinKind, SelectPlan};
use crate::statistics::Counts;
use cost::{Facts, Step};
use expression::{ColumnSlot, Expression};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Units of a cluster: one for each bit of a set.
const UNITS_MAX: usize = 64;
/// Ways that are compared before the search becomes a greedy one.
const STEPS_MAX: usize = 10_000;
/// A step looks at all conjuncts: beyond so many it counts as another one.
const CONJUNCTS_OF_STEP: usize = 256;
/// With more conjuncts the order of the text stays.
const CONJUNCTS_MAX: usize = 2_048;
/// Beginnings that the greedy search tries.
const BEGINNINGS_MAX: usize = 8;
/// Another order must cost less than this share of the text's order.
const CLEARLY_CHEAPER: f64 = 0.8;
/// A unit of so few rows may be joined with what it has no condition with.
const PRODUCT_ROWS_MAX: f64 = 20.0;

/// Nanoseconds that a query is thought to take.
pub(crate) fn cost_of(plan: &SelectPlan, counts: &mut Counts<'_>) -> f64 {
    let mut tables = Vec::new();
    plan.visit_tables(&mut |table| tables.push(Arc::clone(table)));
    tables.iter().for_each(|table| {
        counts.rows(table);
    });
    query_cost::of_query(plan, counts.statistics).0
}

/// Units, as a set of bits.
type Set = u64;

/// Something that is joined.
struct Unit {
    draft: Draft,
    /// How it is joined.
    kind: JoinKind,
    /// ON, if it is the right side of another join than an inner one.
    left_on: Option<Vec<Expression>>,
    /// Those that stand before it.
    behind: Set,
}

impl Unit {
    fn has_any(&self, slots: &[ColumnSlot]) -> bool {
        slots.iter().any(|slot| self.draft.has(*slot))
    }
}

/// A conjunct over several units.
struct Conjunct {
    expression: Expression,
    units: Set,
    /// Equalities of the same class follow from each other.
    class: Option<usize>,
    /// It follows from others: it is used only where these do not join the same units.
    is_derived: bool,
}

#[derive(Default)]
struct Cluster {
    units: Vec<Unit>,
    conjuncts: Vec<Conjunct>,
}

/// Whether the text or the planner says in which order tables are joined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TableOrder {
    /// The planner.
    Free,
    /// The text: SELECT STRAIGHT_JOIN.
    Written,
}

/// The draft with its joins in the cheapest order that was found, and conditions that are to be tested above it.
pub(crate) fn ordered(draft: Draft, order: TableOrder, counts: &mut Counts<'_>) -> (Draft, Vec<Expression>) {
    if !matches!(draft, Draft::Join { .. }) || unit_count(&draft) > UNITS_MAX {
        return (draft, Vec::new());
    }
    let mut cluster = Cluster::default();
    cluster.flatten(draft, order, counts);
    cluster.bind();
    constants::spread(&mut cluster);
    let facts = Facts::of(&cluster, counts);
    let steps = search(&facts, order);
    cluster.rebuild(&steps, &facts)
}

/// How many units a draft's cluster has.
fn unit_count(draft: &Draft) -> usize {
    match draft {
        Draft::Join { kind: JoinKind::Inner, left, right, .. } => unit_count(left) + unit_count(right),
        Draft::Join { left, .. } => unit_count(left) + 1,
        Draft::One | Draft::Table { .. } | Draft::Query { .. } => 1,
    }
}

/// The set of one unit.
fn bit(unit: usize) -> Set {
    1 << unit
}

/// The units of a set, ascending.
fn members(set: Set) -> impl Iterator<Item = usize> {
    (0..UNITS_MAX).filter(move |unit| set & bit(*unit) != 0)
}

impl Cluster {
    fn flatten(&mut self, draft: Draft, order: TableOrder, counts: &mut Counts<'_>) {
        match draft {
            Draft::Join { kind: JoinKind::Inner, left, right, on, hint } => {
                let first = self.units.len();
                self.flatten(*left, order, counts);
                let second = self.units.len();
                self.flatten(*right, order, counts);
                if hint == JoinHint::Straight {
                    let left_side = (first..second).map(bit).fold(0, |set, unit| set | unit);
                    self.units[second..].iter_mut().for_each(|unit| unit.behind |= left_side);
                }
                let conjunct = |expression| Conjunct { expression, units: 0, class: None, is_derived: false };
                self.conjuncts.extend(on.into_iter().map(conjunct));
            }
            Draft::Join { kind, left, right, mut on, .. } => {
                self.flatten(*left, order, counts);
                let (draft, above) = ordered(*right, order, counts);
                on.extend(above);
                self.units.push(Unit { draft, kind, left_on: Some(on), behind: 0 });
            }
            Draft::One | Draft::Table { .. } | Draft::Query { .. } => {
                self.units.push(Unit { draft, kind: JoinKind::Inner, left_on: None, behind: 0 });
            }
        }
    }

    /// The units that have one of these slots.
    fn units_of(&self, slots: &[ColumnSlot]) -> Set {
        let named = self.units.iter().enumerate().filter(|(_, unit)| unit.has_any(slots));
        named.map(|(number, _)| bit(number)).fold(0, |set, unit| set | unit)
    }

    /// Finds out which units conditions name, and which units must stand before others.
    fn bind(&mut self) {
        for number in 0..self.conjuncts.len() {
            self.conjuncts[number].units = self.units_of(&self.conjuncts[number].expression.columns());
        }
        for number in 0..self.units.len() {
            let unit = &self.units[number];
            let mut slots: Vec<ColumnSlot> =
                unit.left_on.iter().flatten().flat_map(Expression::columns).collect();
            slots.extend(unit.draft.outer_columns().into_iter().map(|(_, slot)| slot));
            let behind = self.units_of(&slots) & !bit(number);
            self.units[number].behind |= behind;
        }
    }

    /// The joins in this order.
    fn rebuild(self, order: &[Step], facts: &Facts) -> (Draft, Vec<Expression>) {
        let mut units: Vec<Option<Unit>> = self.units.into_iter().map(Some).collect();
        let mut waiting: Vec<Option<Conjunct>> = self.conjuncts.into_iter().map(Some).collect();
        let mut there: Set = 0;
        let mut draft: Option<Draft> = None;
        let mut above: Vec<Expression> = Vec::new();
        for step in order {
            let Some(unit) = units[step.unit].take() else { continue };
            let mut tested = Vec::new();
            for number in facts.tested(there, step.unit) {
                tested.extend(waiting[number].take().map(|conjunct| conjunct.expression));
            }
            there |= bit(step.unit);
            draft = Some(match (draft, unit.left_on) {
                (None, _) => {
                    above.extend(tested);
                    unit.draft
                }
                (Some(left), Some(on)) => {
                    above.extend(tested);
                    joined(unit.kind, left, unit.draft, on, step.hint)
                }
                (Some(left), None) => {
                    above.append(&mut tested);
                    joined(JoinKind::Inner, left, unit.draft, std::mem::take(&mut above), step.hint)
                }
            });
        }
        // Those that name no unit.
        let rest = waiting.into_iter().flatten().filter(|conjunct| !conjunct.is_derived);
        above.extend(rest.map(|conjunct| conjunct.expression));
        (draft.unwrap_or(Draft::One), above)
    }
}

fn joined(kind: JoinKind, left: Draft, right: Draft, on: Vec<Expression>, hint: JoinHint) -> Draft {
    Draft::Join { kind, left: Box::new(left), right: Box::new(right), on, hint }
}

/// A way to join some units.
struct Way {
    cost: f64,
    rows: f64,
    /// The units before the last one.
    before: Set,
    last: Step,
}

/// The cheapest order that is found.
fn search(facts: &Facts, order: TableOrder) -> Vec<Step> {
    let written = walk(facts, 0..facts.count());
    let found = match order {
        TableOrder::Free if facts.conjunct_count() <= CONJUNCTS_MAX => {
            cheapest(facts).or_else(|| greedy(facts))
        }
        TableOrder::Free | TableOrder::Written => None,
    };
    match (written, found) {
        (Some((written, cost)), Some((_, other))) if other >= cost * CLEARLY_CHEAPER => written,
        (_, Some((found, _))) => found,
        (Some((written, _)), None) => written,
        (None, None) => facts.as_written(),
    }
}

/// The steps of an order and what they cost; None: it breaks the rules.
fn walk(facts: &Facts, order: impl Iterator<Item = usize>) -> Option<(Vec<Step>, f64)> {
    let (mut there, mut rows, mut cost) = (0, 1.0, 0.0);
    let mut steps = Vec::with_capacity(facts.count());
    for unit in order {
        if !facts.may_follow(there, unit) {
            return None;
        }
        let step = facts.step(there, rows, unit);
        (cost, rows, there) = (cost + step.cost, step.rows, there | bit(unit));
        steps.push(step);
    }
    Some((steps, cost))
}

/// The units that the search joins next.
fn candidates(facts: &Facts, there: Set) -> Vec<usize> {
    let possible: Vec<usize> =
        (0..facts.count()).filter(|unit| there & bit(*unit) == 0 && facts.may_follow(there, *unit)).collect();
    let is_related = |unit: &usize| there == 0 || facts.is_related(there, *unit);
    if !possible.iter().any(is_related) {
        return possible;
    }
    possible.into_iter().filter(|unit| is_related(unit) || facts.given(*unit) <= PRODUCT_ROWS_MAX).collect()
}

/// By dynamic programming; None: there are too many ways.
fn cheapest(facts: &Facts) -> Option<(Vec<Step>, f64)> {
    let mut levels: Vec<BTreeMap<Set, Way>> = Vec::with_capacity(facts.count());
    let mut steps = 0;
    for size in 0..facts.count() {
        let mut next: BTreeMap<Set, Way> = BTreeMap::new();
        let start = (0, (0.0, 1.0));
        let known: Vec<(Set, (f64, f64))> = match size.checked_sub(1).map(|size| &levels[size]) {
            None => vec![start],
            Some(level) => level.iter().map(|(set, way)| (*set, (way.cost, way.rows))).collect(),
        };
        for (there, (cost, rows)) in known {
            for unit in candidates(facts, there) {
                steps += 1 + facts.conjunct_count() / CONJUNCTS_OF_STEP;
                if steps > STEPS_MAX {
                    return None;
                }
                let last = facts.step(there, rows, unit);
                let way = Way { cost: cost + last.cost, rows: last.rows, before: there, last };
                let set = there | bit(unit);
                if next.get(&set).is_none_or(|known| way.cost < known.cost) {
                    next.insert(set, way);
                }
            }
        }
        levels.push(next);
    }
    let mut order = Vec::with_capacity(facts.count());
    let mut set = members_of_all(facts.count());
    let cost = levels.last()?.get(&set)?.cost;
    for level in levels.iter().rev() {
        let way = level.get(&set)?;
        order.push(way.last);
        set = way.before;
    }
    order.reverse();
    Some((order, cost))
}

fn members_of_all(count: usize) -> Set {
    (0..count).map(bit).fold(0, |set, unit| set | unit)
}

/// The cheapest of several orders, each of which goes on with the cheapest step.
fn greedy(facts: &Facts) -> Option<(Vec<Step>, f64)> {
    let mut beginnings = candidates(facts, 0);
    beginnings.sort_by(|one, other| facts.given(*one).total_cmp(&facts.given(*other)));
    beginnings.truncate(BEGINNINGS_MAX);
    let orders = beginnings.into_iter().filter_map(|first| greedy_from(facts, first));
    orders.reduce(|best, other| if other.1 < best.1 { other } else { best })
}

fn greedy_from(facts: &Facts, first: usize) -> Option<(Vec<Step>, f64)> {
    let first = facts.step(0, 1.0, first);
    let (mut there, mut steps, mut cost, mut rows) = (bit(first.unit), vec![first], first.cost, first.rows);
    while steps.len() < facts.count() {
        let next = candidates(facts, there).into_iter().map(|unit| facts.step(there, rows, unit));
        let next = next.reduce(|best, other| if other.weight() < best.weight() { other } else { best })?;
        (there, cost, rows) = (there | bit(next.unit), cost + next.cost, next.rows);
        steps.push(next);
    }
    Some((steps, cost))
}
