//! The timers of a session. They limit a login (connect_timeout), a packet that has begun (net_read_timeout), results
//! (net_write_timeout), and the time to the next command (wait_timeout, interactive_timeout). They also limit the time
//! to the next statement of a transaction (TransactionInactiveTimeout), and the time until the node stops.
//!
//! A client that is in the middle of something must get on: [`PROGRESS_MIN`] bytes in each time-out, or the end. Any
//! byte would do in MySQL; here a byte a minute holds nothing for ever. Before the login, connect_timeout is the time
//! for all of it.
//!
//! Invariant: at most one alarm of each kind is set for a session.
//!
//! Deliberately not here: waking a session whose statement waits (`executor::Site::wakes`).

use super::{Session, Stage};
use crate::environment::{Alarm, AlarmKind, Environment};
use protocol::SqlError;
use stdx::{Duration, Instant};

/// How long an idle client of a node that is about to stop may take for its next command.
const DRAIN_IDLE: Duration = Duration::from_millis(300);

/// An open transaction is looked at no more often than this.
const INACTIVITY_CHECK_MIN: Duration = Duration::from_millis(10);
/// A session whose statement outlasts wait_timeout is looked at no more often than this.
const IDLE_CHECK_MIN: Duration = Duration::from_secs(1);
/// The bytes that a client must send or take in one time-out, if it is not done by then.
const PROGRESS_MIN: u64 = 4 * 1024;

/// A session's timers, and its client's pace.
#[derive(Debug, Default)]
pub(super) struct Timers {
    /// When a client that has not logged in is told to go.
    handshake_until: Option<Instant>,
    /// The earliest alarm for wait_timeout. It is set only when it must ring earlier than it would already.
    idle_alarm_at: Option<Instant>,
    /// An alarm for TransactionInactiveTimeout is set.
    is_inactivity_watched: bool,
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
    fn set_alarm(&self, env: &mut Environment<'_>, at: Instant, kind: AlarmKind) {
        env.module.deadlines.register(at, Alarm { connection_id: self.core.client.id, kind });
    }

    /// A time has come.
    pub(crate) fn on_alarm(&mut self, env: &mut Environment<'_>, kind: AlarmKind) {
        match kind {
            AlarmKind::Handshake => {
                if self.stage == Stage::Handshake
                    && self.timers.handshake_until.is_some_and(|until| until <= env.now.monotonic)
                {
                    env.module.counters.refused += 1;
                    self.close(env);
                }
            }
            AlarmKind::Login => self.resume(env),
            AlarmKind::Inactive => {
                self.timers.is_inactivity_watched = false;
                self.check_inactivity(env);
            }
            AlarmKind::Drain | AlarmKind::DrainOpen if env.module.draining.is_none() => {}
            AlarmKind::Drain if self.is_at_rest() => self.tell_shutdown(env),
            AlarmKind::DrainOpen => self.kill_for_shutdown(env),
            AlarmKind::Drain => {}
            AlarmKind::Idle => self.check_idle(env),
            AlarmKind::Reading => self.check_reading(env),
            AlarmKind::Writing => self.check_writing(env),
        }
    }

    // ---- the login
    // ----------------------------------------------------------------------------------------------------------------

    /// Begins the time that a client has to log in.
    pub(super) fn watch_handshake(&mut self, env: &mut Environment<'_>, timeout: Duration) {
        let until = env.now.monotonic + timeout;
        self.timers.handshake_until = Some(until);
        self.set_alarm(env, until, AlarmKind::Handshake);
    }

    /// Wakes a login that has to wait.
    pub(super) fn wake_login(&self, env: &mut Environment<'_>, at: Instant) {
        self.set_alarm(env, at, AlarmKind::Login);
    }

    // ---- packets
    // -----------------------------------------------------------------------------------------------------------------

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
        self.timers.is_reading = true;
        self.timers.received = (self.reassembler.received() + left) as u64;
        if self.timers.reading_since.is_none() {
            self.watch_reading(env);
        }
    }

    fn watch_reading(&mut self, env: &mut Environment<'_>) {
        self.timers.reading_since = Some((self.active_since, self.timers.received));
        let timeout = Duration::from_secs(self.core.variables.timeouts.read_s.into());
        self.set_alarm(env, env.now.monotonic + timeout, AlarmKind::Reading);
    }

    pub(super) fn check_reading(&mut self, env: &mut Environment<'_>) {
        let Some((command, received)) = self.timers.reading_since.take() else { return };
        // While a statement runs, nothing is read; its end looks at what came meanwhile.
        if !self.timers.is_reading || !self.is_ready() || self.running.is_some() {
            return;
        }
        let got_on = command != self.active_since || self.timers.received >= received + PROGRESS_MIN;
        if got_on {
            return self.watch_reading(env);
        }
        self.reject_with(env, &SqlError::new(1159, "Got timeout reading communication packets"));
    }

    // ---- results
    // -----------------------------------------------------------------------------------------------------------------

    /// The client takes its results more slowly than they come.
    pub(crate) fn on_blocked(&mut self, env: &mut Environment<'_>) {
        let timeout = Duration::from_secs(self.core.variables.timeouts.write_s.into());
        let until = env.now.monotonic + timeout;
        self.timers.writing_until = Some((until, env.outputs.taken(self.core.connection)));
        if !self.timers.is_writing_watched {
            self.timers.is_writing_watched = true;
            self.set_alarm(env, until, AlarmKind::Writing);
        }
    }

    pub(super) fn check_writing(&mut self, env: &mut Environment<'_>) {
        self.timers.is_writing_watched = false;
        let Some((until, taken)) = self.timers.writing_until else { return };
        if self.stage == Stage::Closing || !env.outputs.is_blocked(self.core.connection) {
            return;
        }
        if until > env.now.monotonic {
            // It was blocked anew meanwhile.
            self.timers.is_writing_watched = true;
            self.set_alarm(env, until, AlarmKind::Writing);
            return;
        }
        if env.outputs.taken(self.core.connection) >= taken + PROGRESS_MIN {
            return self.on_blocked(env);
        }
        // It takes nothing, so there is nothing to tell it.
        env.module.counters.refused += 1;
        self.close(env);
    }

    // ---- the next command
    // ---------------------------------------------------------------------------------------------------------

    /// When the next command must have come.
    pub(super) fn watch_idle(&mut self, env: &mut Environment<'_>) {
        let until = Some(self.idle_until()).filter(|until| *until > env.now.monotonic);
        let until = until.unwrap_or(env.now.monotonic + IDLE_CHECK_MIN);
        if self.timers.idle_alarm_at.is_none_or(|at| at > until) {
            self.timers.idle_alarm_at = Some(until);
            self.set_alarm(env, until, AlarmKind::Idle);
        }
    }

    fn idle_until(&self) -> Instant {
        self.active_since + Duration::from_secs(self.core.variables.timeouts.idle_s.into())
    }

    pub(super) fn check_idle(&mut self, env: &mut Environment<'_>) {
        if self.timers.idle_alarm_at.is_none_or(|at| at > env.now.monotonic) {
            return;
        }
        self.timers.idle_alarm_at = None;
        let is_waiting = self.is_ready() && self.running.is_none() && !self.timers.is_reading;
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

    // ---- the next statement of a transaction
    // --------------------------------------------------------------------------------------

    /// A statement of an open transaction is done: when the next one must have come.
    pub(super) fn watch_inactivity(&mut self, env: &mut Environment<'_>) {
        if let Some(timeout) = env.module.config.transaction_inactive_timeout
            && !self.timers.is_inactivity_watched
            && self.core.client.transaction.has_participants()
        {
            self.timers.is_inactivity_watched = true;
            let at = self.active_since + timeout;
            let at = at.max(env.now.monotonic + INACTIVITY_CHECK_MIN);
            self.set_alarm(env, at, AlarmKind::Inactive);
        }
    }

    fn check_inactivity(&mut self, env: &mut Environment<'_>) {
        let Some(timeout) = env.module.config.transaction_inactive_timeout else { return };
        let is_inactive = self.running.is_none() && self.active_since + timeout <= env.now.monotonic;
        if is_inactive && self.core.client.transaction.has_participants() {
            env.module.counters.rollbacks += 1;
            return self.core.client.transaction.time_out(&mut env.executor());
        }
        // While a statement runs, its end begins the watch anew.
        if self.running.is_none() {
            self.watch_inactivity(env);
        }
    }

    // ---- the node is about to stop
    // ------------------------------------------------------------------------------------------------

    /// The next command outside of a transaction is answered by 1053. An idle client hears it after a moment, one in a
    /// transaction has more time.
    pub(crate) fn drain(&mut self, env: &mut Environment<'_>, patience: Duration) {
        for (pause, kind) in [(DRAIN_IDLE.min(patience), AlarmKind::Drain), (patience, AlarmKind::DrainOpen)]
        {
            let at = env.now.monotonic + pause;
            self.set_alarm(env, at, kind);
        }
    }

    /// Says so without being asked: nothing runs.
    fn tell_shutdown(&mut self, env: &mut Environment<'_>) {
        self.core.sequence = 0;
        self.core.reply_error(env, &SqlError::shutdown());
        self.close(env);
    }

    fn kill_for_shutdown(&mut self, env: &mut Environment<'_>) {
        if self.is_at_rest() {
            return self.tell_shutdown(env);
        }
        // The end of a commit that is on its way is not known: such a client hears nothing but the end of its
        // connection.
        if !self.core.client.inbox.has_commit() {
            self.core.reply_error(env, &SqlError::shutdown());
        }
        self.close(env);
    }
}
