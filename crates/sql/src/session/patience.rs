//! How long a client may take: for a packet that has begun (net_read_timeout), for results (net_write_timeout), and for the next command
//! (wait_timeout, interactive_timeout).
//!
//! A client that is in the middle of something must get on: [`PROGRESS_MIN`] bytes in each time-out, or the end. Any byte would do in MySQL; here a
//! byte a minute holds nothing for ever. Before the login, connect_timeout is the time for all of it.
//!
//! Invariant: at most one alarm of each kind is set for a session.

use super::{IDLE_CHECK_MIN, Session, Stage};
use crate::environment::{Alarm, AlarmKind, Environment};
use protocol::SqlError;
use stdx::{Duration, Instant};

/// What a client must send or take in one time-out, if it is not done by then.
const PROGRESS_MIN: u64 = 4 * 1024;

/// What a session knows of its client's pace.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// A packet has begun to arrive and is not whole.
    pub(super) is_reading: bool,
    /// Bytes of it that are here.
    received: u64,
    /// Where the packet was when its alarm was set: when the command before it came, and bytes received.
    reading_since: Option<(Instant, u64)>,
    /// Until when the client must take some, and how much it had taken when that was said.
    writing_until: Option<(Instant, u64)>,
    /// An alarm for that is set.
    is_writing_watched: bool,
}

impl Session {
    // ---- packets ------------------------------------------------------------------------------------------------------------------

    /// A packet is not whole: `left` bytes of it are not taken from the receive buffer.
    #[cold]
    pub(super) fn on_unfinished(&mut self, env: &mut Environment<'_>, left: usize) {
        if let Err(error) = self.account(env) {
            // Clients read the answer when they have sent all.
            if self.reassembler.refuse_for_memory().is_err() || self.account(env).is_err() {
                return self.reject_with(env, &error);
            }
        }
        if !self.is_ready() {
            return;
        }
        self.pace.is_reading = true;
        self.pace.received = (self.reassembler.received() + left) as u64;
        if self.pace.reading_since.is_none() {
            self.watch_reading(env);
        }
    }

    fn watch_reading(&mut self, env: &mut Environment<'_>) {
        self.pace.reading_since = Some((self.active_since, self.pace.received));
        let timeout = Duration::from_secs(self.core.variables.net_read_timeout.into());
        let alarm = Alarm { connection_id: self.core.client.id, kind: AlarmKind::Reading };
        env.module.deadlines.register(env.now.monotonic + timeout, alarm);
    }

    pub(super) fn check_reading(&mut self, env: &mut Environment<'_>) {
        let Some((command, received)) = self.pace.reading_since.take() else { return };
        // While a statement runs, nothing is read; its end looks at what came meanwhile.
        if !self.pace.is_reading || !self.is_ready() || self.running.is_some() {
            return;
        }
        let got_on = command != self.active_since || self.pace.received >= received + PROGRESS_MIN;
        if got_on {
            return self.watch_reading(env);
        }
        self.reject_with(env, &SqlError::new(1159, "Got timeout reading communication packets"));
    }

    // ---- results ------------------------------------------------------------------------------------------------------------------

    /// The client takes its results more slowly than they come.
    pub(crate) fn on_blocked(&mut self, env: &mut Environment<'_>) {
        let timeout = Duration::from_secs(self.core.variables.net_write_timeout.into());
        let until = env.now.monotonic + timeout;
        self.pace.writing_until = Some((until, env.outputs.taken(self.core.connection)));
        if !self.pace.is_writing_watched {
            self.pace.is_writing_watched = true;
            let alarm = Alarm { connection_id: self.core.client.id, kind: AlarmKind::Writing };
            env.module.deadlines.register(until, alarm);
        }
    }

    pub(super) fn check_writing(&mut self, env: &mut Environment<'_>) {
        self.pace.is_writing_watched = false;
        let Some((until, taken)) = self.pace.writing_until else { return };
        if self.stage == Stage::Closing || !env.outputs.is_blocked(self.core.connection) {
            return;
        }
        if until > env.now.monotonic {
            // It was blocked anew meanwhile.
            self.pace.is_writing_watched = true;
            let alarm = Alarm { connection_id: self.core.client.id, kind: AlarmKind::Writing };
            env.module.deadlines.register(until, alarm);
            return;
        }
        if env.outputs.taken(self.core.connection) >= taken + PROGRESS_MIN {
            return self.on_blocked(env);
        }
        // It takes nothing, so there is nothing to tell it.
        env.module.counters.refused += 1;
        self.close(env);
    }

    // ---- the next command ---------------------------------------------------------------------------------------------------------

    /// When the next command must have come.
    pub(super) fn watch_idle(&mut self, env: &mut Environment<'_>) {
        let until = Some(self.idle_until()).filter(|until| *until > env.now.monotonic);
        let until = until.unwrap_or(env.now.monotonic + IDLE_CHECK_MIN);
        if self.idle_alarm_at.is_none_or(|at| at > until) {
            self.idle_alarm_at = Some(until);
            env.module
                .deadlines
                .register(until, Alarm { connection_id: self.core.client.id, kind: AlarmKind::Idle });
        }
    }

    fn idle_until(&self) -> Instant {
        self.active_since + Duration::from_secs(self.core.variables.wait_timeout.into())
    }

    pub(super) fn check_idle(&mut self, env: &mut Environment<'_>) {
        if self.idle_alarm_at.is_none_or(|at| at > env.now.monotonic) {
            return;
        }
        self.idle_alarm_at = None;
        let is_waiting = self.is_ready() && self.running.is_none() && !self.pace.is_reading;
        if !is_waiting || self.idle_until() > env.now.monotonic {
            return self.watch_idle(env);
        }
        self.core.sequence = 0;
        let error = SqlError::new(
            4031,
            "The client was disconnected by the server because of inactivity. See wait_timeout and interactive_timeout for configuring this behavior.",
        );
        self.core.reply_error(env, &error);
        self.close(env);
    }
}
