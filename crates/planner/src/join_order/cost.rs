//! The cost of joining one more unit, and how many rows that makes.
//!
//! Costs are nanoseconds, as orders of magnitude. A whole key is looked up for less than a range of an index. Rows that
//! are gathered and hashed cost their scan once. A nested loop costs every pair.
//!
//! *Rows.* Each conjunct leaves a share of the pairs, one equality of a class counting for all. A unit of which a whole
//! unique key is given matches each row at most once.

use super::{Cluster, Conjunct, Set, Unit, bit, members, price, query_cost};
use crate::access_path;
use crate::algebra::{Draft, JoinHint, access_of, hash_form};
use crate::estimate::{self, Estimate, UNKNOWN_ROWS};
use crate::plan::{AccessPath, JoinKind};
use crate::statistics::Counts;
use crate::statistics::Statistics;
use expression::{ColumnSlot, Comparison, Expression, Node};
use std::sync::Arc;
use stdx::FixedSet;
use types::{ColumnIndex, IndexId, IndexKind, KeyPart, TableDefinition};

/// Rows whose keys are looked up together.
const BATCH_ROWS: f64 = 256.0;
/// Rows that are thought to fit into QueryMemory.
const KEPT_ROWS: f64 = 500_000.0;
/// Gathering a unit whose rows are not counted is thought to cost so much more: it may be a large one.
const UNKNOWN_FACTOR: f64 = 4.0;
/// An anti join is thought to leave this share at least.
const ANTI_SHARE_MIN: f64 = 0.1;
/// The share of pairs in which two computed values are equal.
const UNKNOWN_SHARE: f64 = 0.1;

/// A unit that is joined next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) unit: usize,
    pub(super) cost: f64,
    /// Behind it.
    pub(super) rows: f64,
    pub(super) hint: JoinHint,
}

impl Step {
    /// The weight by which a step is preferred if the steps behind it are not known: its rows cost those something.
    pub(super) fn weight(&self) -> f64 {
        self.cost + self.rows * price::KEY
    }
}

/// All that costs are computed from.
pub(super) struct Facts {
    units: Vec<UnitFacts>,
    conjuncts: Vec<ConjunctFacts>,
}

struct UnitFacts {
    /// Those that stand before it.
    behind: Set,
    kind: JoinKind,
    /// ON of the right side of another join than an inner one.
    left_on: Option<Vec<ConjunctFacts>>,
    /// Of its table, without conditions.
    rows: f64,
    /// Left by its own conditions.
    given: f64,
    /// Of reading it once by its own conditions.
    scan: f64,
    /// Its rows are counted.
    is_known: bool,
    /// It reads columns of others: it runs once for each row.
    is_lateral: bool,
    /// It may run for each row of these units instead, at this cost.
    applied: Option<(Set, f64)>,
    indexes: Vec<IndexFacts>,
    /// Columns that are equal to something.
    points: Vec<Point>,
}

/// An index of a unit's table.
struct IndexFacts {
    /// The first ones, as far as they are equal to something.
    columns: Vec<ColumnIndex>,
    /// With all of these columns there is one entry at most.
    is_unique: bool,
    /// Entries that are equal in the first one, two, … columns.
    entries: Vec<f64>,
}

/// A column that is equal to values that are known once some units are there.
struct Point {
    column: ColumnIndex,
    needs: Set,
    count: f64,
}

struct ConjunctFacts {
    units: Set,
    class: Option<usize>,
    is_derived: bool,
    /// The share of pairs that it leaves.
    share: f64,
    /// The units of the two sides, if it is an equality that can be hashed.
    sides: Option<(Set, Set)>,
}

impl Facts {
    pub(super) fn of(cluster: &Cluster, counts: &mut Counts<'_>) -> Self {
        let mut units: Vec<UnitFacts> = cluster.units.iter().map(|unit| unit_facts(unit, counts)).collect();
        let conjuncts =
            cluster.conjuncts.iter().map(|conjunct| conjunct_facts(conjunct, cluster, &units, counts));
        let conjuncts: Vec<ConjunctFacts> = conjuncts.collect();
        for (number, unit) in cluster.units.iter().enumerate() {
            let on = unit.left_on.as_ref().map(|on| {
                let facts = on.iter().map(|expression| {
                    let slots = expression.columns();
                    let conjunct = Conjunct {
                        expression: expression.clone(),
                        units: cluster.units_of(&slots),
                        class: None,
                        is_derived: false,
                    };
                    (conjunct_facts(&conjunct, cluster, &units, counts), conjunct)
                });
                facts.collect::<Vec<_>>()
            });
            let of_inner = cluster
                .conjuncts
                .iter()
                .filter(|conjunct| unit.left_on.is_none() && conjunct.units & bit(number) != 0);
            let mut points: Vec<Point> =
                of_inner.filter_map(|conjunct| point_of(conjunct, unit, number)).collect();
            points.extend(on.iter().flatten().filter_map(|(_, conjunct)| point_of(conjunct, unit, number)));
            units[number].points.extend(points);
            match &unit.draft {
                Draft::Table { table, .. } => {
                    units[number].indexes = index_facts(table, &units[number], counts);
                }
                Draft::Query { apply: Some(apply), .. } => {
                    let slots: Vec<ColumnSlot> = apply.columns().collect();
                    units[number].applied = Some((cluster.units_of(&slots), apply.costs.0));
                }
                Draft::One | Draft::Query { .. } | Draft::Join { .. } => {}
            }
            units[number].left_on = on.map(|on| on.into_iter().map(|(facts, _)| facts).collect());
        }
        Self { units, conjuncts }
    }

    /// Conditions over several units.
    pub(super) fn conjunct_count(&self) -> usize {
        self.conjuncts.len()
    }

    pub(super) fn count(&self) -> usize {
        self.units.len()
    }

    /// Rows of a unit that its own conditions leave.
    pub(super) fn given(&self, unit: usize) -> f64 {
        self.units[unit].given
    }

    /// Whether a unit may stand behind these.
    pub(super) fn may_follow(&self, there: Set, unit: usize) -> bool {
        let unit = &self.units[unit];
        unit.behind & !there == 0 && (there != 0 || unit.left_on.is_none())
    }

    /// Whether a condition names the unit and some of these, or it stands behind some of them.
    pub(super) fn is_related(&self, there: Set, unit: usize) -> bool {
        let names_both =
            |conjunct: &ConjunctFacts| conjunct.units & bit(unit) != 0 && conjunct.units & there != 0;
        self.units[unit].behind & there != 0
            || self.units[unit].left_on.is_some()
            || self.conjuncts.iter().any(names_both)
    }

    /// The steps of the text's order.
    pub(super) fn as_written(&self) -> Vec<Step> {
        (0..self.count()).map(|unit| Step { unit, cost: 0.0, rows: 0.0, hint: JoinHint::Free }).collect()
    }

    /// The conjuncts that are tested when a unit comes to these. A derived one is tested if no other
    /// of its class is.
    pub(super) fn tested(&self, there: Set, unit: usize) -> Vec<usize> {
        let all = there | bit(unit);
        let is_new = |conjunct: &ConjunctFacts| conjunct.units & !all == 0 && conjunct.units & bit(unit) != 0;
        let mut classes: FixedSet<usize> = FixedSet::default();
        let mut tested = Vec::new();
        for is_derived in [false, true] {
            for (number, conjunct) in self.conjuncts.iter().enumerate() {
                let is_known = conjunct.class.is_some_and(|class| classes.contains(&class));
                if conjunct.is_derived != is_derived || !is_new(conjunct) || (is_derived && is_known) {
                    continue;
                }
                classes.extend(conjunct.class);
                tested.push(number);
            }
        }
        tested
    }

    /// Joins a unit to rows of these.
    pub(super) fn step(&self, there: Set, left_rows: f64, number: usize) -> Step {
        let unit = &self.units[number];
        if there == 0 {
            let rows = unit.given.max(1.0);
            return Step { unit: number, cost: unit.scan, rows, hint: JoinHint::Free };
        }
        let tested: Vec<&ConjunctFacts> = match &unit.left_on {
            Some(on) => on.iter().collect(),
            None => self.tested(there, number).into_iter().map(|number| &self.conjuncts[number]).collect(),
        };
        let found = unit.lookup(there);
        let mut share = 1.0;
        let mut classes: FixedSet<usize> = FixedSet::default();
        for conjunct in &tested {
            if conjunct.class.is_none_or(|class| !classes.contains(&class)) {
                share *= conjunct.share;
                classes.extend(conjunct.class);
            }
        }
        let mut matches = unit.given * share;
        if found.as_ref().is_some_and(|found| found.is_unique) {
            matches = matches.min((unit.given / unit.rows.max(1.0)).min(1.0));
        }
        let pairs_given = (left_rows * matches).max(1.0);
        let rows = match unit.kind {
            JoinKind::Left => pairs_given.max(left_rows),
            JoinKind::Semi => (left_rows * matches.min(1.0)).max(1.0),
            JoinKind::Anti => (left_rows * (1.0 - matches).max(ANTI_SHARE_MIN)).max(1.0),
            JoinKind::Inner | JoinKind::Mark | JoinKind::Single => pairs_given,
        };
        let is_hashed = tested.iter().any(|conjunct| {
            conjunct.sides.is_some_and(|(one, other)| {
                let fits = |own: Set, others: Set| own == bit(number) && others & !there == 0;
                fits(one, other) || fits(other, one)
            })
        });
        let pairs = if is_hashed { pairs_given } else { left_rows * unit.given };
        let kept = unit.given * price::KEEP + (unit.given - KEPT_ROWS).max(0.0) * price::CROWD;
        let risk = if unit.is_known { 1.0 } else { UNKNOWN_FACTOR };
        let gathered = if unit.is_lateral {
            left_rows * (unit.scan + kept) + pairs * price::PAIR
        } else {
            (unit.scan + kept) * risk + left_rows * price::PROBE + pairs * price::PAIR
        };
        let gathered = match unit.applied {
            Some((needs, cost)) if needs & !there == 0 => gathered.min(left_rows * cost),
            _ => gathered,
        };
        let looked_up = found.map(|found| {
            let batches = (left_rows / BATCH_ROWS).ceil();
            // Equal keys of a batch are looked up once.
            let keys = left_rows.min(batches * unit.rows);
            let per_key =
                if found.is_unique { price::KEY } else { price::SEEK + found.entries * price::FETCH };
            batches * price::BEGIN
                + keys * found.keys * per_key
                + left_rows * price::PROBE
                + pairs_given * price::PAIR
        });
        let (cost, hint) = match looked_up {
            None => (gathered, JoinHint::Free),
            Some(cost) if is_hashed && unit.may_be_gathered() => {
                let left_rows_max = left_rows_max(cost / left_rows.max(1.0), unit.scan + kept);
                (cost.min(gathered), JoinHint::LookUp { left_rows_max })
            }
            Some(cost) => (cost, JoinHint::Free),
        };
        Step { unit: number, cost, rows, hint }
    }
}

/// So many left rows cost as much to look up, each at `per_row`, as gathering the right side once.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an estimate, in bounds")]
fn left_rows_max(per_row: f64, gathered: f64) -> u64 {
    (gathered / per_row.max(1.0)).clamp(1.0, 1e12) as u64
}

/// A way to look rows up.
struct Found {
    is_unique: bool,
    /// For each row.
    keys: f64,
    /// For each key.
    entries: f64,
}

impl UnitFacts {
    /// Whether its rows may be gathered though they can be looked up.
    fn may_be_gathered(&self) -> bool {
        self.is_known && self.given <= KEPT_ROWS
    }

    /// The index by which rows of these units find rows of this one.
    fn lookup(&self, there: Set) -> Option<Found> {
        let mut best: Option<Found> = None;
        for index in &self.indexes {
            let (mut keys, mut parts, mut reads_rows) = (1.0, 0, false);
            for column in &index.columns {
                let usable =
                    self.points.iter().filter(|point| point.column == *column && point.needs & !there == 0);
                // As the access path takes the condition with the fewest values.
                let Some(point) =
                    usable.reduce(|best, other| if other.count < best.count { other } else { best })
                else {
                    break;
                };
                keys *= point.count;
                reads_rows |= point.needs != 0;
                parts += 1;
            }
            if !reads_rows {
                continue;
            }
            let is_unique = index.is_unique && parts == index.columns.len();
            let entries = index.entries.get(parts - 1).copied().unwrap_or(1.0);
            let is_better = |best: &Found| {
                (!best.is_unique && is_unique) || (best.is_unique == is_unique && entries < best.entries)
            };
            if best.as_ref().is_none_or(is_better) {
                best = Some(Found { is_unique, keys, entries });
            }
        }
        best
    }
}

fn unit_facts(unit: &Unit, counts: &mut Counts<'_>) -> UnitFacts {
    let (rows, is_known, estimate, price) = estimate_of(&unit.draft, counts);
    let mut facts = UnitFacts {
        behind: unit.behind,
        kind: unit.kind,
        left_on: None,
        rows,
        given: estimate.given,
        scan: price::BEGIN + estimate.read * price,
        is_known,
        is_lateral: !unit.draft.outer_columns().is_empty(),
        applied: None,
        indexes: Vec::new(),
        points: Vec::new(),
    };
    if let Draft::Table { table, filter, first_slot, .. } = &unit.draft {
        let own = filter.iter().filter_map(|conjunct| point_in(conjunct, table, *first_slot, 0));
        facts.points = own.collect();
    }
    facts
}

/// The indexes of which a first column is equal to something.
fn index_facts(table: &TableDefinition, unit: &UnitFacts, counts: &Counts<'_>) -> Vec<IndexFacts> {
    let is_point = |part: &KeyPart| unit.points.iter().any(|point| point.column == part.column);
    let mut facts = Vec::new();
    for index in table.public_indexes() {
        let columns: Vec<ColumnIndex> =
            index.parts.iter().take_while(|part| is_point(part)).map(|part| part.column).collect();
        if columns.is_empty() {
            continue;
        }
        let per_key = |parts| estimate::entries_per_key(table, index, parts, unit.rows, counts.statistics);
        let entries = (1..=columns.len()).map(per_key).collect();
        let is_whole =
            columns.len() == index.parts.len() && index.parts.iter().all(|part| part.prefix_length.is_none());
        facts.push(IndexFacts { columns, is_unique: index.kind != IndexKind::Ordered && is_whole, entries });
    }
    facts
}

/// Rows of a draft without conditions, whether they are counted, rows read and left, and the price of reading one.
fn estimate_of(draft: &Draft, counts: &mut Counts<'_>) -> (f64, bool, Estimate, f64) {
    match draft {
        Draft::One => (1.0, true, Estimate::all(1.0), price::READ),
        Draft::Table { table, alias, first_slot, filter } => {
            let counted = counts.rows(table);
            let rows = counted.unwrap_or(UNKNOWN_ROWS);
            let access = access_of(Arc::clone(table), alias.clone(), *first_slot, filter.clone(), counts);
            let estimate = estimate::of_access(&access, rows, counts.statistics);
            let price = match &access.path {
                AccessPath::PrimaryKeys(_) | AccessPath::UniqueKeys { .. } => price::KEY,
                AccessPath::Ranges { index, .. } if *index != IndexId(0) => price::FETCH,
                AccessPath::Ranges { .. } | AccessPath::Empty => price::READ,
            };
            (rows, counted.is_some(), estimate, price)
        }
        Draft::Query { relation, filter, .. } => {
            let tables = estimate::tables_of(relation);
            let is_known = !tables.is_empty() && tables.iter().all(|table| counts.rows(table).is_some());
            let rows = estimate::of_relation(relation, counts.statistics);
            let share: f64 =
                filter.iter().map(|conjunct| estimate::share_of(conjunct, None, rows, 0)).product();
            let cost = query_cost::of_relation(relation, counts.statistics);
            (rows, is_known, Estimate { read: 1.0, given: rows * share }, cost)
        }
        Draft::Join { kind, left, right, on, .. } => {
            let (_, left_known, of_left, left_price) = estimate_of(left, counts);
            let (_, right_known, of_right, right_price) = estimate_of(right, counts);
            let share: f64 = on.iter().map(|conjunct| join_share(conjunct, &[left, right], counts)).product();
            let mut given = of_left.given * of_right.given * share;
            match kind {
                JoinKind::Inner => {}
                JoinKind::Semi | JoinKind::Anti => given = given.min(of_left.given),
                JoinKind::Left | JoinKind::Mark | JoinKind::Single => given = given.max(of_left.given),
            }
            let cost = of_left.read * left_price + of_right.read * right_price;
            (given, left_known && right_known, Estimate { read: 1.0, given }, cost)
        }
    }
}

/// A unit's column that a conjunct compares with values of other units.
fn point_of(conjunct: &Conjunct, unit: &Unit, number: usize) -> Option<Point> {
    let Draft::Table { table, first_slot, .. } = &unit.draft else { return None };
    let needs = conjunct.units & !bit(number);
    if needs == 0 {
        return None;
    }
    point_in(&conjunct.expression, table, *first_slot, needs)
}

fn point_in(expression: &Expression, table: &TableDefinition, first_slot: u16, needs: Set) -> Option<Point> {
    let mut condition = expression.clone();
    to_own_columns(&mut condition, table, first_slot);
    let (column, count) = access_path::points(&condition, table)?;
    Some(Point { column, needs, count: estimate::rows_of(count as u64) })
}

/// Columns of others become parameters: their values are known when rows are looked up.
fn to_own_columns(expression: &mut Expression, table: &TableDefinition, first_slot: u16) {
    if let Node::Column(slot) = expression.node {
        let own = slot.0.checked_sub(first_slot).filter(|own| usize::from(*own) < table.columns.len());
        expression.node = own.map_or(Node::Parameter(0), |own| Node::Column(ColumnSlot(own)));
    }
    expression.operands_mut().into_iter().for_each(|operand| to_own_columns(operand, table, first_slot));
}

fn conjunct_facts(
    conjunct: &Conjunct,
    cluster: &Cluster,
    units: &[UnitFacts],
    counts: &Counts<'_>,
) -> ConjunctFacts {
    let Conjunct { expression, units: named, class, is_derived } = conjunct;
    let drafts: Vec<(&Draft, f64)> =
        members(*named).map(|unit| (&cluster.units[unit].draft, units[unit].rows)).collect();
    let mut sides = None;
    let mut share = estimate::share_of(expression, None, UNKNOWN_ROWS, 0);
    if let Node::Compare { operator: Comparison::Equal, domain, left, right } = &expression.node {
        let of = |side: &Expression| cluster.units_of(&side.columns());
        let (one, other) = (of(left), of(right));
        if hash_form(*domain, &left.sql_type, &right.sql_type).is_some() && one & other == 0 {
            sides = Some((one, other));
        }
        share = equal_share(left, right, &drafts, counts.statistics);
        let has_constant = |side: &Expression| is_constant_in(side, &drafts);
        if has_constant(left) && has_constant(right) {
            share = 1.0;
        }
    }
    ConjunctFacts { units: *named, class: *class, is_derived: *is_derived, share, sides }
}

/// Whether a table's own conditions make a column equal to a constant.
fn is_constant_in(column: &Expression, drafts: &[(&Draft, f64)]) -> bool {
    let Some(slot) = column.as_column() else { return false };
    drafts.iter().filter(|(draft, _)| draft.has(slot)).any(|(draft, _)| match draft {
        Draft::Table { filter, .. } | Draft::Query { filter, .. } => filter.iter().any(|conjunct| {
            matches!(&conjunct.node, Node::Compare { operator: Comparison::Equal, left, right, .. }
                if (left.as_column() == Some(slot) && right.is_constant())
                    || (right.as_column() == Some(slot) && left.is_constant()))
        }),
        Draft::One | Draft::Join { .. } => false,
    })
}

/// The share of pairs in which two values are equal: the side with more values decides.
fn equal_share(
    left: &Expression,
    right: &Expression,
    drafts: &[(&Draft, f64)],
    statistics: &dyn Statistics,
) -> f64 {
    let values = |side: &Expression| {
        let slot = side.as_column()?;
        let (draft, rows) = drafts.iter().find(|(draft, _)| draft.has(slot))?;
        Some(match draft {
            Draft::Table { table, first_slot, .. } => {
                estimate::value_count(table, ColumnIndex(slot.0 - first_slot), *rows, statistics)
            }
            Draft::One | Draft::Query { .. } | Draft::Join { .. } => rows.max(1.0).powf(0.75),
        })
    };
    match (values(left), values(right)) {
        (Some(one), Some(other)) => 1.0 / one.max(other),
        (Some(one), None) | (None, Some(one)) => 1.0 / one,
        (None, None) => UNKNOWN_SHARE,
    }
}

/// The share of pairs that a condition of an inner tree of joins leaves.
fn join_share(conjunct: &Expression, sides: &[&Draft], counts: &mut Counts<'_>) -> f64 {
    let Node::Compare { operator: Comparison::Equal, left, right, .. } = &conjunct.node else {
        return estimate::share_of(conjunct, None, UNKNOWN_ROWS, 0);
    };
    let mut drafts = Vec::with_capacity(sides.len());
    for side in sides {
        let (rows, ..) = estimate_of(side, counts);
        drafts.push((*side, rows));
    }
    equal_share(left, right, &drafts, counts.statistics)
}
