//! The run as text: one line per signal between modules, event and client answer.
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
    /// Kept lines carry what signals say, not only their names.
    pub is_detailed: bool,
}

impl Transcript {
    /// A transcript that keeps the last `kept` lines.
    #[must_use]
    pub fn new(kept: usize) -> Self {
        Self { lines: VecDeque::new(), kept, digest: 0, count: 0, is_detailed: false }
    }

    /// The same; what signals say is kept with their lines.
    #[must_use]
    pub fn in_detail(kept: usize) -> Self {
        Self { is_detailed: true, ..Self::new(kept) }
    }

    /// Adds a line; the detail is kept with it if details are wanted, and never counts.
    pub fn push_with(&mut self, line: String, detail: impl FnOnce() -> String) {
        self.push(line);
        if self.is_detailed
            && let Some(last) = self.lines.back_mut()
        {
            last.push(' ');
            last.push_str(&detail());
        }
    }

    /// Adds a line that is only a detail.
    pub fn add_detail(&mut self, line: String) {
        self.lines.push_back(line);
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
