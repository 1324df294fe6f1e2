//! The warnings of a statement: the lines of SHOW WARNINGS.
//!
//! Invariant: `count` counts all conditions, of which the first `WARNINGS_MAX` are kept.

use expression::Warning;
use expression::context::{Severity, WARNINGS_MAX};
use protocol::SqlError;

/// How a condition is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    Note,
    Warning,
    Error,
}

/// One line of SHOW WARNINGS.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Condition {
    pub level: Level,
    pub code: u16,
    pub message: String,
}

/// Warnings and the error of the last statement.
#[derive(Clone, Debug, Default)]
pub struct Diagnostics {
    pub conditions: Vec<Condition>,
    count: u64,
    /// Those of an earlier statement, which this one only shows.
    shown: u64,
}

impl Diagnostics {
    #[inline]
    pub fn clear(&mut self) {
        self.conditions.clear();
        (self.count, self.shown) = (0, 0);
    }

    /// A statement begins that shows the conditions of the one before.
    pub fn keep(&mut self) {
        self.shown = self.count;
    }

    fn push(&mut self, level: Level, code: u16, message: String) {
        self.count += 1;
        if self.conditions.len() < WARNINGS_MAX {
            self.conditions.push(Condition { level, code, message });
        }
    }

    pub fn warn(&mut self, code: u16, message: String) {
        self.push(Level::Warning, code, message);
    }

    pub fn note(&mut self, code: u16, message: String) {
        self.push(Level::Note, code, message);
    }

    pub fn error(&mut self, error: &SqlError) {
        self.push(Level::Error, error.code, error.message.clone());
    }

    /// Warnings of an evaluation.
    #[inline]
    pub fn add_all(&mut self, (count, warnings): (u64, Vec<Warning>)) {
        if count == 0 {
            return;
        }
        let kept = warnings.len() as u64;
        for warning in warnings {
            let level = match warning.severity {
                Severity::Note => Level::Note,
                Severity::Warning => Level::Warning,
            };
            self.push(level, warning.code, warning.message);
        }
        self.count += count.saturating_sub(kept);
    }

    /// Those of a part of the statement.
    pub fn append(&mut self, other: Self) {
        let kept = other.conditions.len() as u64;
        other
            .conditions
            .into_iter()
            .for_each(|Condition { level, code, message }| self.push(level, code, message));
        self.count += other.count - kept;
    }

    /// How many there were.
    #[inline]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Those of this statement alone.
    #[inline]
    pub fn count_for_packet(&self) -> u16 {
        u16::try_from(self.count - self.shown).unwrap_or(u16::MAX)
    }
}
