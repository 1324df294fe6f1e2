//! `docs/counts.toml`: the accepted counts of each operation, and how new ones differ from them.
//!
//! A table for each operation has its counts for one run, in hundredths at the finest: sums over many runs need not be
//! whole numbers for each. The table `tolerance` says by how many per cent a count may rise before that is a fault; a
//! count that is not named there may not rise at all. `instructions` stands for those of each module, too. Small
//! numbers of instructions may rise by [`SLACK`] in any case.
//!
//! Only as much of TOML is read as is written: tables, and keys with a number.

use crate::processes::Failure;
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

/// Instructions that a module may take more for one operation, however few it took.
const SLACK: Hundredths = Hundredths(20 * 100);
/// How far counts may rise, in per cent, where there is no book yet. Buffers that grow once in many operations, and
/// memory that is used again, come a little earlier or later when anything before them changes.
const TOLERANCES: [(&str, Hundredths); 3] =
    [(INSTRUCTIONS, Hundredths(200)), ("allocations", Hundredths(100)), ("atomics", Hundredths(100))];
/// The table that is no operation.
const TOLERANCE: &str = "tolerance";
/// The counts that callgrind makes.
const INSTRUCTIONS: &str = "instructions";

const HEAD: &str = "\
# What one operation costs, counted and not timed: `cargo xtask counts` compares, `cargo xtask counts --accept` writes.
# docs/verification.md says what is counted. Tolerances are per cent; what is not named there may not rise.
";

/// A number with two decimals.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(super) struct Hundredths(u64);

impl fmt::Display for Hundredths {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0 / 100, self.0 % 100) {
            (whole, 0) => formatter.pad(&whole.to_string()),
            (whole, part) => formatter.pad(&format!("{whole}.{part:02}")),
        }
    }
}

impl Hundredths {
    fn parse(text: &str) -> Option<Self> {
        let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
        let part = match part.len() {
            1 => part.parse::<u64>().ok()? * 10,
            2 => part.parse().ok()?,
            _ => return None,
        };
        Some(Self(whole.parse::<u64>().ok()?.checked_mul(100)? + part))
    }
}

/// The counts of one operation, for one run of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Counts {
    name: String,
    times: u64,
    values: BTreeMap<String, Hundredths>,
}

impl Counts {
    /// No counts yet, for an operation that ran so many times while it was counted.
    pub(super) fn new(name: &str, times: u64) -> Self {
        Self { name: name.to_owned(), times, values: BTreeMap::new() }
    }

    /// Adds a count by its sum over all runs.
    pub(super) fn add(&mut self, count: &str, sum: u64) {
        self.values.insert(count.to_owned(), Hundredths((sum * 100 + self.times / 2) / self.times));
    }
}

/// All that was accepted.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Book {
    tolerance: BTreeMap<String, Hundredths>,
    operations: Vec<(String, BTreeMap<String, Hundredths>)>,
}

impl Default for Book {
    fn default() -> Self {
        let tolerance = TOLERANCES.map(|(count, per_cent)| (count.to_owned(), per_cent));
        Self { tolerance: BTreeMap::from(tolerance), operations: Vec::new() }
    }
}

/// The result of the comparison.
pub(super) struct Verdict {
    /// A table, for people.
    pub(super) text: String,
    /// Counts that rose too far, or that the book does not know, or that were not made.
    pub(super) risen: usize,
    pub(super) fallen: usize,
}

/// A count beside what was accepted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    None,
    Rose,
    Fell,
}

impl Book {
    pub(super) fn parse(text: &str) -> Result<Self, Failure> {
        let mut tables: Vec<(String, BTreeMap<String, Hundredths>)> = Vec::new();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let wrong = || Failure::new(format!("{line:?} is not understood"));
            if let Some(name) = line.strip_prefix('[') {
                tables.push((name.strip_suffix(']').ok_or_else(wrong)?.to_owned(), BTreeMap::new()));
            } else {
                let (key, value) = line.split_once('=').ok_or_else(wrong)?;
                let value = Hundredths::parse(value.trim()).ok_or_else(wrong)?;
                let (_, table) = tables.last_mut().ok_or_else(wrong)?;
                table.insert(key.trim().to_owned(), value);
            }
        }
        let is_tolerance = |(name, _): &(String, _)| name == TOLERANCE;
        let tolerance = tables.iter().find(|table| is_tolerance(table)).map(|(_, table)| table.clone());
        tables.retain(|table| !is_tolerance(table));
        Ok(Self { tolerance: tolerance.unwrap_or_default(), operations: tables })
    }

    /// The same tolerances, with these counts.
    pub(super) fn with(self, counts: Vec<Counts>) -> Self {
        let operations = counts.into_iter().map(|operation| (operation.name, operation.values)).collect();
        Self { operations, ..self }
    }

    pub(super) fn text(&self) -> String {
        let mut text = HEAD.to_owned();
        let tolerance = std::iter::once((TOLERANCE, &self.tolerance));
        let operations = self.operations.iter().map(|(name, values)| (name.as_str(), values));
        for (name, values) in tolerance.chain(operations) {
            let _ = writeln!(text, "\n[{name}]");
            for (key, value) in values {
                let _ = writeln!(text, "{key} = {value}");
            }
        }
        text
    }

    /// Holds counts against the book. Counts of callgrind that are missing everywhere are not missed.
    pub(super) fn judge(&self, counted: &[Counts]) -> Verdict {
        let mut verdict = Verdict { text: String::new(), risen: 0, fallen: 0 };
        for operation in counted {
            let accepted = self.operations.iter().find(|(name, _)| *name == operation.name);
            let _ = writeln!(verdict.text, "{}", operation.name);
            let empty = BTreeMap::new();
            self.judge_one(&operation.values, accepted.map_or(&empty, |(_, values)| values), &mut verdict);
        }
        for (name, _) in &self.operations {
            if counted.iter().all(|operation| operation.name != *name) {
                let _ = writeln!(verdict.text, "{name}\n  NOT COUNTED");
                verdict.risen += 1;
            }
        }
        verdict
    }

    fn judge_one(
        &self,
        counted: &BTreeMap<String, Hundredths>,
        accepted: &BTreeMap<String, Hundredths>,
        verdict: &mut Verdict,
    ) {
        for (count, value) in counted {
            let before = accepted.get(count).copied();
            let change = before.map_or(Change::Rose, |before| self.change(count, before, *value));
            let note = match (change, before) {
                (Change::None, _) => String::new(),
                (Change::Fell, Some(before)) => format!("  fell from {before}"),
                (Change::Rose, Some(before)) => format!("  ROSE from {before}"),
                (_, None) => "  NEW".to_owned(),
            };
            verdict.risen += usize::from(change == Change::Rose);
            verdict.fallen += usize::from(change == Change::Fell);
            // A count that is zero, as it was, says nothing.
            if *value != Hundredths::default() || !note.is_empty() {
                let _ = writeln!(verdict.text, "  {count:<24} {value:>12}{note}");
            }
        }
        let is_counted = |count: &str| {
            let is_callgrinds = count.starts_with(INSTRUCTIONS) || count == "atomics";
            counted.contains_key(count) || (is_callgrinds && !counted.contains_key(INSTRUCTIONS))
        };
        for (count, before) in accepted.iter().filter(|(count, _)| !is_counted(count)) {
            let _ = writeln!(verdict.text, "  {count:<24} {:>12}  fell from {before}", 0);
            verdict.fallen += 1;
        }
    }

    /// A tolerance holds in both directions: a smaller change is nothing to write down.
    fn change(&self, count: &str, before: Hundredths, now: Hundredths) -> Change {
        let is_instructions = count.starts_with(INSTRUCTIONS);
        let name = if is_instructions { INSTRUCTIONS } else { count };
        let tolerance = self.tolerance.get(name).copied().unwrap_or_default();
        let allowed = before.0 * tolerance.0 / 10_000;
        let allowed = if is_instructions { allowed.max(SLACK.0) } else { allowed };
        match now.0 {
            now if now > before.0 + allowed => Change::Rose,
            now if now + allowed < before.0 => Change::Fell,
            _ => Change::None,
        }
    }
}
