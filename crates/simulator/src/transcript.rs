//! What happened, as text: one line per signal between modules, event and client answer.
//!
//! A run keeps only the last lines and a running digest of all of them; two runs of a seed must have equal digests.

use std::collections::VecDeque;
use stdx::hash64;

/// The record of one run.
#[derive(Debug)]
pub struct Transcript {
    lines: VecDeque<String>,
    kept: usize,
    digest: u64,
    count: u64,
}

impl Transcript {
    /// A transcript that keeps the last `kept` lines.
    #[must_use]
    pub fn new(kept: usize) -> Self {
        Self { lines: VecDeque::new(), kept, digest: 0, count: 0 }
    }

    /// Adds a line.
    pub fn push(&mut self, line: String) {
        self.digest = hash64(&[self.digest.to_le_bytes(), hash64(line.as_bytes()).to_le_bytes()].concat());
        self.count += 1;
        if self.kept > 0 {
            if self.lines.len() >= self.kept {
                self.lines.pop_front();
            }
            self.lines.push_back(line);
        }
    }

    /// A number that depends on every line and their order.
    #[must_use]
    pub fn digest(&self) -> u64 {
        self.digest
    }

    /// How many lines there were.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The last lines, one string.
    #[must_use]
    pub fn tail(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }
}
