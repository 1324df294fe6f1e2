//! Whether a node that has ended is started again, and how soon: for angels and for `dev`.
//!
//! | how it ended | its first life | a later life |
//! | --- | --- | --- |
//! | it was asked to stop: exit code 0, or a signal before it listened for them | stays away | stays away |
//! | it wants to be started again (3): an operator's `N restart`, or the others have left it out | again | again |
//! | it has too little memory for the rows of the others (5) | again, patiently | again, patiently |
//! | the cluster refuses it (1) | stays away | again, patiently |
//! | it could not start: configuration, disk, ports (6), command line (2) | stays away | again, patiently |
//! | anything else: an error | again if StopOnError=0, and by `dev` | the same |
//!
//! A node that could not start at all was started by hand just now, and somebody reads why. A node that has run may be
//! started again with a mistake in config.ini, or before a file system is there. It must come back when that is mended:
//! nobody may be there to type its command line.
//!
//! The first time hardly any time passes. A node that dies again and again is given ever more, so that it keeps neither
//! the machine busy nor the others, who copy all rows to it. A node that has lived for a while is trusted again. But
//! *patiently* holds whatever the length of its life.
//!
//! **Invariant.** The pause lies between [`FIRST`] and [`LONGEST`], or [`LONGEST_PATIENT`].

use protocol::module::{EXIT_CANNOT_JOIN, EXIT_CANNOT_START, EXIT_LEFT_OUT, EXIT_REFUSED};
use rustix::process::Signal;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

const FIRST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(10);
/// Each try to join has all rows copied.
const LONGEST_PATIENT: Duration = Duration::from_secs(60);

/// A node that ran for so long has not died of its start.
const CALM: Duration = Duration::from_secs(3);

/// The command line is wrong, as clap says it: another version of the program may not know an option.
const EXIT_USAGE: u8 = 2;

/// Why a node has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ending {
    /// It was asked to.
    Stopped,
    /// The cluster does not want it.
    Refused,
    /// It is to be started again.
    Again,
    /// It has too little memory.
    CannotJoin,
    /// It never got as far as running.
    CannotStart,
    /// An error, or a signal.
    Error,
}

impl Ending {
    /// The meaning of a status.
    pub(crate) fn of(status: ExitStatus) -> Self {
        let asks_to_stop = [Signal::TERM, Signal::INT, Signal::HUP].map(Signal::as_raw);
        match status.code().map(u8::try_from) {
            Some(Ok(0)) => Self::Stopped,
            // Before it had its configuration it could not listen for signals.
            None if status.signal().is_some_and(|signal| asks_to_stop.contains(&signal)) => Self::Stopped,
            Some(Ok(EXIT_REFUSED)) => Self::Refused,
            Some(Ok(EXIT_LEFT_OUT)) => Self::Again,
            Some(Ok(EXIT_CANNOT_JOIN)) => Self::CannotJoin,
            Some(Ok(EXIT_CANNOT_START | EXIT_USAGE)) => Self::CannotStart,
            Some(_) | None => Self::Error,
        }
    }

    /// Why a node that has ended so is not started again at once.
    pub(crate) const fn why_later(self) -> &'static str {
        match self {
            Self::CannotJoin => {
                "it has too little memory for the rows of the others (its log names the region)"
            }
            Self::Refused => "the cluster refused it; its log says why",
            Self::CannotStart => "it could not start; what it said above has to be mended",
            Self::Error => "it ended after an error",
            Self::Stopped | Self::Again => "it has ended several times in a row",
        }
    }

    /// Why a node that has ended so is not started again, if that wants to be told.
    pub(crate) const fn why_not_again(self) -> Option<&'static str> {
        match self {
            Self::Error => Some(
                "it ended after an error, and StopOnError is 1. Its log, and latsdb_N_error.log in its DataDir, say what happened; start it by hand, or \
                 set StopOnError=0 in config.ini to have it started again after errors",
            ),
            Self::Refused => Some("the cluster refuses it; its log says why"),
            Self::CannotStart => Some("it could not start"),
            Self::Stopped | Self::Again | Self::CannotJoin => None,
        }
    }
}

/// The history of a node's lives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lives {
    /// StopOnError=0, as the last life that had read its configuration said.
    restarts_after_errors: bool,
    /// One of them ran.
    has_run: bool,
    backoff: Backoff,
}

impl Lives {
    /// The history of a node that was not started yet. A node that has not read its configuration is treated like this
    /// after an error.
    pub(crate) fn new(restarts_after_errors: bool) -> Self {
        Self { restarts_after_errors, has_run: false, backoff: Backoff::default() }
    }

    /// A life of this length has ended: when the next one begins, if at all. `configured`: whether its configuration
    /// wants it to be started again after errors, if it had read that.
    pub(crate) fn after(
        &mut self,
        ending: Ending,
        life: Duration,
        configured: Option<bool>,
    ) -> Option<Duration> {
        if let Some(wanted) = configured {
            self.restarts_after_errors = wanted;
        }
        let had_run = self.has_run;
        self.has_run |= configured.is_some() && !matches!(ending, Ending::Refused | Ending::CannotStart);
        match ending {
            Ending::Stopped => None,
            Ending::Again => Some(self.backoff.pause_after(life)),
            Ending::CannotJoin => Some(self.backoff.patient_pause()),
            Ending::Refused | Ending::CannotStart => had_run.then(|| self.backoff.patient_pause()),
            Ending::Error => self.restarts_after_errors.then(|| self.backoff.pause_after(life)),
        }
    }

    /// Its process could not even be made.
    pub(crate) fn after_no_life(&mut self) -> Duration {
        self.backoff.pause_after(Duration::ZERO)
    }
}

/// The pauses of one node.
#[derive(Clone, Copy, Debug)]
struct Backoff {
    next: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { next: FIRST }
    }
}

impl Backoff {
    /// The pause after a life of this length.
    fn pause_after(&mut self, life: Duration) -> Duration {
        let pause = if life >= CALM { FIRST } else { self.next.min(LONGEST) };
        self.next = pause * 2;
        pause
    }

    /// The pause after a life that was in vain, however long it was.
    fn patient_pause(&mut self) -> Duration {
        let pause = self.next.min(LONGEST_PATIENT);
        self.next = pause * 2;
        pause
    }
}

#[cfg(test)]
mod tests;
