//! Whether a node that has ended is started again, and how soon: for angels and for `dev`.
//!
//! | how it ended | angel | `dev` |
//! | --- | --- | --- |
//! | it was asked to stop (exit code 0), or must not start (1) | stays away | the same |
//! | it wants to be started again (3): an operator's `N restart`, or the others have left it out | again | again |
//! | anything else: an error | again if StopOnError=0 | again |
//!
//! The first time hardly any time passes; a node that dies again and again is given ever more, so that it does not keep the machine busy. Who has
//! lived for a while is trusted again.
//!
//! **Invariant.** The pause lies between [`FIRST`] and [`LONGEST`].

use protocol::module::{EXIT_LEFT_OUT, EXIT_REFUSED};
use std::process::ExitStatus;
use std::time::Duration;

const FIRST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(10);

/// A node that ran for so long has not died of its start.
const CALM: Duration = Duration::from_secs(3);

/// Why a node has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ending {
    /// It was asked to.
    Stopped,
    /// It must not start.
    Refused,
    /// It is to be started again.
    Again,
    /// An error, or a signal.
    Error,
}

impl Ending {
    /// What a status means.
    pub(crate) fn of(status: ExitStatus) -> Self {
        match status.code().map(u8::try_from) {
            Some(Ok(0)) => Self::Stopped,
            Some(Ok(EXIT_REFUSED)) => Self::Refused,
            Some(Ok(EXIT_LEFT_OUT)) => Self::Again,
            Some(_) | None => Self::Error,
        }
    }
}

/// The pauses of one node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backoff {
    next: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { next: FIRST }
    }
}

impl Backoff {
    /// The pause after a life of this length.
    pub(crate) fn pause_after(&mut self, life: Duration) -> Duration {
        let pause = if life >= CALM { FIRST } else { self.next };
        self.next = (pause * 2).min(LONGEST);
        pause
    }
}

#[cfg(test)]
mod tests;
