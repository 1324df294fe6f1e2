//! The use of one index for the conditions.

use super::conditions::{Condition, Form, Interval};
use crate::plan::{AccessPath, Inclusive, KeyTemplate, RangeTemplate, ScanDirection};
use expression::Expression;
use types::{ColumnIndex, IndexDefinition, IndexId, IndexKind, KeyPart, TableDefinition};

/// Keys or ranges that a path has at most: longer IN lists still make single columns' keys, but no products.
const PRODUCT_MAX: usize = 4_096;

/// Shares of a table that conditions are thought to leave, lacking statistics.
mod share {
    pub(super) const POINT: f64 = 0.001;
    pub(super) const BOUNDED: f64 = 0.05;
    pub(super) const HALF_BOUNDED: f64 = 0.3;
}
/// One key of a whole primary key, as a share of a table; a unique key needs two steps.
const KEY_COST: f64 = 1e-9;
/// Scanning another index than the primary costs so much more.
const SECONDARY_FACTOR: f64 = 1.5;

/// A way to find the rows.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) path: AccessPath,
    /// Conjuncts that the path implies.
    pub(crate) implied: Vec<usize>,
    /// Columns that have the same value in all rows found.
    pub(crate) single_points: Vec<ColumnIndex>,
    /// Share of the table that is visited, weighted.
    pub(crate) cost: f64,
    pub(crate) direction: Option<ScanDirection>,
}

impl Candidate {
    pub(crate) fn is_of_ranges(&self) -> bool {
        matches!(self.path, AccessPath::Ranges { .. })
    }

    /// Its ranges hold this share of the table.
    pub(crate) fn set_share(&mut self, share: f64) {
        let is_secondary = !matches!(self.path, AccessPath::Ranges { index: IndexId(0), .. });
        self.cost = share.max(KEY_COST) * if is_secondary { SECONDARY_FACTOR } else { 1.0 };
    }
}

/// The candidates of an index: at most one by columns and one by rows.
pub(crate) fn of_index(
    table: &TableDefinition,
    index: &IndexDefinition,
    conditions: &[Condition],
) -> Vec<Candidate> {
    let mut candidates = Vec::new();
    candidates.extend(by_columns(index, conditions));
    for condition in conditions {
        if let Form::Rows(rows) = &condition.form {
            candidates.extend(by_rows(index, condition, rows));
        }
    }
    stdx::require!(candidates.iter().all(|candidate| candidate.cost > 0.0), "costs of {}", table.name);
    candidates
}

/// Values of the leading columns: one per row of the product of points so far.
struct Prefixes {
    rows: Vec<KeyTemplate>,
    implied: Vec<usize>,
    single_points: Vec<ColumnIndex>,
    cost: f64,
    /// A part with a prefix length was used: nothing may follow.
    is_closed: bool,
}

fn by_columns(index: &IndexDefinition, conditions: &[Condition]) -> Option<Candidate> {
    let mut prefixes = Prefixes {
        rows: vec![Vec::new()],
        implied: Vec::new(),
        single_points: Vec::new(),
        cost: 1.0,
        is_closed: false,
    };
    let mut used = 0;
    for part in &index.parts {
        if prefixes.is_closed || !extend_by_points(&mut prefixes, part, conditions) {
            break;
        }
        used += 1;
    }
    if used == index.parts.len() && !prefixes.is_closed {
        return Some(whole_keys(index, prefixes));
    }
    let next = if prefixes.is_closed { None } else { index.parts.get(used) };
    let tails = next.and_then(|part| tails(part, conditions));
    if used == 0 && tails.is_none() {
        return None;
    }
    Some(ranges(index, prefixes, tails))
}

/// All columns of the key are given.
fn whole_keys(index: &IndexDefinition, prefixes: Prefixes) -> Candidate {
    let count = prefixes.rows.len();
    let keys = prefixes.rows;
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    let count = count as f64;
    let (path, cost) = match index.kind {
        IndexKind::Primary => (AccessPath::PrimaryKeys(keys), count * KEY_COST),
        IndexKind::Unique { .. } => {
            (AccessPath::UniqueKeys { index: index.id, keys }, count * KEY_COST * 2.0)
        }
        IndexKind::Ordered => {
            let ranges =
                keys.into_iter().map(|equal| RangeTemplate { equal, ..RangeTemplate::default() }).collect();
            (AccessPath::Ranges { index: index.id, ranges }, prefixes.cost * SECONDARY_FACTOR)
        }
    };
    Candidate {
        path,
        implied: prefixes.implied,
        single_points: prefixes.single_points,
        cost,
        direction: None,
    }
}

/// The condition that leaves the fewest values of a column, and these values.
fn fewest_points<'c>(
    part: &KeyPart,
    conditions: &'c [Condition],
) -> Option<(&'c Condition, Vec<&'c Expression>)> {
    let counted = |condition: &'c Condition| Some((condition, condition.points_of(part.column)?));
    let (condition, _) = conditions.iter().filter_map(counted).min_by_key(|(_, count)| *count)?;
    let points = condition.intervals_of(part.column)?.iter().filter_map(|interval| match interval {
        Interval::Point(value) => Some(value),
        Interval::Null | Interval::Between { .. } => None,
    });
    Some((condition, points.collect()))
}

/// The cost that an index is thought to have and how many keys it takes, as far as conditions fix its leading columns.
/// It says so without making the keys.
pub(crate) fn outline(index: &IndexDefinition, conditions: &[Condition]) -> (f64, usize) {
    let (mut cost, mut keys) = (1.0, 1_usize);
    for part in &index.parts {
        let count = conditions.iter().filter_map(|condition| condition.points_of(part.column)).min();
        let Some(count) = count.filter(|count| keys == 1 || keys.saturating_mul(*count) <= PRODUCT_MAX)
        else {
            break;
        };
        keys = keys.saturating_mul(count);
        cost *= points_share(count);
    }
    let rows = conditions.iter().map(|condition| match &condition.form {
        Form::Rows(rows) => rows.len(),
        Form::Intervals { .. } => 0,
    });
    let first = index.parts.first().map(|part| part.column);
    let intervals = conditions.iter().filter_map(|condition| Some(condition.intervals_of(first?)?.len()));
    (cost, keys.max(intervals.max().unwrap_or(0)) + rows.sum::<usize>())
}

/// The share of a table that so many values of a column are thought to leave.
#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn points_share(count: usize) -> f64 {
    (count as f64 * share::POINT).min(0.5)
}

/// Multiplies the prefixes by the points of the next column; false if there are none.
fn extend_by_points(prefixes: &mut Prefixes, part: &KeyPart, conditions: &[Condition]) -> bool {
    let Some((condition, points)) = fewest_points(part, conditions) else { return false };
    if prefixes.rows.len() > 1 && prefixes.rows.len().saturating_mul(points.len()) > PRODUCT_MAX {
        return false;
    }
    if points.len() == 1 {
        prefixes.single_points.push(part.column);
    }
    prefixes.cost *= points_share(points.len());
    prefixes.rows = prefixes
        .rows
        .iter()
        .flat_map(|row| {
            points.iter().map(|point| {
                let mut row = row.clone();
                row.push(Expression::clone(point));
                row
            })
        })
        .collect();
    if part.prefix_length.is_some() {
        // The key only holds the beginning of the value: more rows than wanted are found, in no useful order.
        prefixes.is_closed = true;
        prefixes.single_points.retain(|column| *column != part.column);
    } else if condition.is_exact {
        prefixes.implied.push(condition.conjunct);
    }
    true
}

/// Ranges of the column behind the prefixes.
struct Tails {
    intervals: Vec<Interval>,
    implied: Vec<usize>,
    cost: f64,
}

fn tails(part: &KeyPart, conditions: &[Condition]) -> Option<Tails> {
    let mut several: Option<Tails> = None;
    let mut single: Option<Tails> = None;
    for condition in conditions {
        let Form::Intervals { column, intervals } = &condition.form else { continue };
        if *column != part.column {
            continue;
        }
        let implied: Vec<usize> = condition.is_exact.then_some(condition.conjunct).into_iter().collect();
        match intervals.as_slice() {
            [Interval::Between { lower, upper }] => {
                single = Some(match single {
                    None => Tails {
                        intervals: intervals.clone(),
                        implied,
                        cost: bounds_share(lower.is_some(), upper.is_some()),
                    },
                    Some(known) => narrowed(known, lower.as_ref(), upper.as_ref(), implied),
                });
            }
            _ if several.is_none() => {
                let cost: f64 = intervals.iter().map(interval_share).sum();
                several = Some(Tails { intervals: intervals.clone(), implied, cost: cost.min(0.9) });
            }
            _ => {}
        }
    }
    let mut best = match (single, several) {
        (Some(single), Some(several)) => Some(if several.cost < single.cost { several } else { single }),
        (single, several) => single.or(several),
    }?;
    if part.prefix_length.is_some() {
        blur(&mut best);
    }
    Some(best)
}

/// A bound is added where there is none yet; a second bound on the same side stays in the filter.
fn narrowed(
    mut known: Tails,
    lower: Option<&(Expression, Inclusive)>,
    upper: Option<&(Expression, Inclusive)>,
    implied: Vec<usize>,
) -> Tails {
    let [Interval::Between { lower: known_lower, upper: known_upper }] = known.intervals.as_mut_slice()
    else {
        return known;
    };
    let fits = (lower.is_none() || known_lower.is_none()) && (upper.is_none() || known_upper.is_none());
    if fits {
        *known_lower = known_lower.take().or_else(|| lower.cloned());
        *known_upper = known_upper.take().or_else(|| upper.cloned());
        known.cost = bounds_share(known_lower.is_some(), known_upper.is_some());
        known.implied.extend(implied);
    }
    known
}

/// On a part that holds only the beginning of values, bounds include their own beginning and nothing is implied.
fn blur(tails: &mut Tails) {
    tails.implied.clear();
    for interval in &mut tails.intervals {
        if let Interval::Between { lower, upper } = interval {
            for (_, inclusive) in [lower, upper].into_iter().flatten() {
                *inclusive = Inclusive::Yes;
            }
        }
    }
}

fn bounds_share(lower: bool, upper: bool) -> f64 {
    if lower && upper { share::BOUNDED } else { share::HALF_BOUNDED }
}

fn interval_share(interval: &Interval) -> f64 {
    match interval {
        Interval::Point(_) | Interval::Null => share::POINT,
        Interval::Between { lower, upper } => bounds_share(lower.is_some(), upper.is_some()),
    }
}

fn ranges(index: &IndexDefinition, prefixes: Prefixes, tails: Option<Tails>) -> Candidate {
    let mut implied = prefixes.implied;
    let mut cost = prefixes.cost;
    let mut ranges: Vec<RangeTemplate> =
        prefixes.rows.into_iter().map(|equal| RangeTemplate { equal, ..RangeTemplate::default() }).collect();
    if let Some(tails) = tails.filter(|tails| {
        ranges.len().saturating_mul(tails.intervals.len()) <= PRODUCT_MAX || ranges.len() == 1
    }) {
        implied.extend(tails.implied);
        cost *= tails.cost;
        ranges = ranges
            .iter()
            .flat_map(|range| tails.intervals.iter().map(|interval| with_interval(range.clone(), interval)))
            .collect();
    }
    if index.kind != IndexKind::Primary {
        cost *= SECONDARY_FACTOR;
    }
    Candidate {
        path: AccessPath::Ranges { index: index.id, ranges },
        implied,
        single_points: prefixes.single_points,
        cost,
        direction: None,
    }
}

fn with_interval(mut range: RangeTemplate, interval: &Interval) -> RangeTemplate {
    match interval {
        Interval::Point(value) => range.equal.push(value.clone()),
        Interval::Null => range.with_null = true,
        Interval::Between { lower, upper } => {
            range.lower.clone_from(lower);
            range.upper.clone_from(upper);
        }
    }
    range
}

/// `(a, b) IN ((1, 2), …)`: the leading columns that every row gives.
fn by_rows(
    index: &IndexDefinition,
    condition: &Condition,
    rows: &[Vec<(ColumnIndex, Expression)>],
) -> Option<Candidate> {
    let value = |row: &[(ColumnIndex, Expression)], part: &KeyPart| {
        let found = row.iter().find(|(column, _)| *column == part.column && part.prefix_length.is_none())?;
        Some(found.1.clone())
    };
    let used =
        index.parts.iter().take_while(|part| rows.iter().all(|row| value(row, part).is_some())).count();
    if used == 0 {
        return None;
    }
    let keys: Vec<KeyTemplate> = rows
        .iter()
        .map(|row| index.parts[..used].iter().filter_map(|part| value(row, part)).collect())
        .collect();
    let is_exact = condition.is_exact && rows.iter().all(|row| row.len() == used);
    let implied = if is_exact { vec![condition.conjunct] } else { Vec::new() };
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    let cost = (keys.len() as f64 * share::POINT.powi(i32::try_from(used).unwrap_or(i32::MAX))).min(0.9);
    let prefixes = Prefixes {
        rows: keys,
        implied,
        single_points: Vec::new(),
        cost: cost.max(KEY_COST),
        is_closed: false,
    };
    if used == index.parts.len() {
        return Some(whole_keys(index, prefixes));
    }
    Some(ranges(index, prefixes, None))
}
