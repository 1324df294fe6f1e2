//! How long `dev` waits before it starts a node again that died.
//!
//! The first time hardly at all; a node that dies again and again is given ever more time, so that it does not keep the machine busy. Who has
//! lived for a while is trusted again.
//!
//! **Invariant.** The pause lies between [`FIRST`] and [`LONGEST`].

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(10);

/// A node that ran for so long has not died of its start.
const CALM: Duration = Duration::from_secs(3);

/// The pauses of one node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Backoff {
    next: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { next: FIRST }
    }
}

impl Backoff {
    /// The pause after a life of this length.
    pub(super) fn pause_after(&mut self, life: Duration) -> Duration {
        let pause = if life >= CALM { FIRST } else { self.next };
        self.next = (pause * 2).min(LONGEST);
        pause
    }
}

#[cfg(test)]
mod tests;
