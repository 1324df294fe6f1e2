//! The book of counts, as `cargo xtask counts` accepted it: what operations of the production modules take, counted and
//! not timed.
//!
//! The book is part of the program, so that a prediction always goes with the build that makes it.
//!
//! **Deliberately not here**: judgement of counts (`xtask`), and what an instruction costs (`costs`).

use std::collections::BTreeMap;

/// `docs/counts.toml`: headings with the names of operations, and a number on each line below.
const BOOK: &str = include_str!("../../../docs/counts.toml");

/// The counts of one run of an operation that matter to the model.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Counts {
    /// Instructions of sessions and coordinators.
    pub(crate) session: f64,
    /// Instructions of local data managers, on all nodes together.
    pub(crate) ldm: f64,
    /// Instructions that code signals between nodes.
    pub(crate) link: f64,
    /// Signals between nodes.
    pub(crate) signals_cluster: f64,
}

impl Counts {
    /// All instructions.
    pub(crate) fn instructions(&self) -> f64 {
        self.session + self.ldm + self.link
    }

    /// Instructions for one signal between nodes.
    pub(crate) fn per_signal(&self) -> f64 {
        if self.signals_cluster > 0.0 { self.link / self.signals_cluster } else { 0.0 }
    }

    /// The middle between two operations.
    pub(crate) fn between(&self, other: &Self) -> Self {
        Self {
            session: f64::midpoint(self.session, other.session),
            ldm: f64::midpoint(self.ldm, other.ldm),
            link: f64::midpoint(self.link, other.link),
            signals_cluster: f64::midpoint(self.signals_cluster, other.signals_cluster),
        }
    }
}

/// All operations.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Book(BTreeMap<String, Counts>);

impl Book {
    /// The book of this build.
    pub(crate) fn of_this_build() -> Result<Self, String> {
        Self::parse(BOOK)
    }

    fn parse(text: &str) -> Result<Self, String> {
        let mut operations: BTreeMap<String, Counts> = BTreeMap::new();
        let mut current = None;
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                // The tolerances are no operation.
                current = (name != "tolerance").then(|| operations.entry(name.to_owned()).or_default());
                continue;
            }
            let (Some(counts), Some((name, value))) = (&mut current, line.split_once('=')) else { continue };
            let value = value.trim().parse::<f64>();
            let value = value.map_err(|error| format!("counts.toml:{number}: {error}"))?;
            match name.trim() {
                "instructions_sql" | "instructions_tc" | "instructions_query" => counts.session += value,
                "instructions_ldm" => counts.ldm = value,
                "instructions_link" => counts.link = value,
                "signals_cluster" => counts.signals_cluster = value,
                _ => {}
            }
        }
        Ok(Self(operations))
    }

    pub(crate) fn of(&self, operation: &str) -> Result<Counts, String> {
        let found = self.0.get(operation).copied();
        found.ok_or_else(|| format!("docs/counts.toml has no operation '{operation}'"))
    }
}

#[cfg(test)]
mod tests;
