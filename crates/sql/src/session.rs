//! A client's session: the command phase of one connection.
//!
//! ```text
//! Handshake --accepted--> Ready: read a command -> run its statements one after the other -> reply -> read the next
//!                           |  COM_CHANGE_USER --> Handshake
//!                           +--> Closing (reply sent, connection told to close)
//! ```
//! Commands are taken in order; while a statement waits nothing more is read. Packets that arrive in the meantime wait
//! in `pending`, and reading stops when that is full. One call runs until a statement must wait or the budget is spent;
//! then the session puts itself behind the module's queue.
//!
//! | file | what |
//! | --- | --- |
//! | `connection` | the handshake |
//! | `login` | who is let in, and what accounts are held to |
//! | `commands` | what each command does |
//! | `prepared` | prepared statements and their parameters |
//! | `named` | PREPARE, EXECUTE and DEALLOCATE PREPARE as texts |
//! | `running` | the statement that runs: execution, commit, undoing, trying again |
//! | `control`, `kill` | SET, USE; KILL |
//! | `transactions` | BEGIN, COMMIT, ROLLBACK, savepoints |
//! | `foreign` | clients that do not speak UTF-8 |
//! | `client_memory` | what is charged to ClientMemory |
//! | `timers` | how long a client may take, and everything else that is due at a time |
//! | `point` | point selects without any of that |
//!
//! Invariants: replies are in the order of commands; the sequence number of the next packet is `core.sequence`; a
//! statement is running only in `Ready`.

mod chain;
mod client_memory;
mod commands;
mod connection;
mod control;
mod foreign;
mod key_list;
mod kill;
mod login;
mod named;
pub(crate) mod point;
mod prepared;
mod running;
mod timers;
mod transactions;

pub(crate) use login::ROUNDS_PER_SLICE;

use crate::cursor::Cursor;
use crate::environment::Environment;
use crate::requester::Requester;
use crate::session_core::SessionCore;
pub use connection::too_many_connections;
use login::Login;
use memory::Holding;
use mysql_protocol::{Expected, LetGo, Reassembler, Received};
use named::NamedStatements;
use planner::Normalized;
use prepared::PreparedStatements;
use protocol::module::ConnectionAction;
use protocol::program::TableRef;
use protocol::signal::TableUsers;
use protocol::{Address, ConnectionId, ConnectionKind, ModuleKind, ReceiveBuffer, SqlError, View};
use running::Running;
use std::collections::VecDeque;
use stdx::{Duration, Instant};
use timers::Timers;
use types::{NodeId, SlotId, TransactionId};

/// Bytes that wait while a statement runs; above it reading stops.
const PENDING_MAX: usize = 128 * 1024;

/// When a command that waits for a lease is looked at again.
const LEASE_PAUSE: Duration = Duration::from_millis(5);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    Handshake,
    Ready,
    /// As `Ready`, but each command is looked at first: the account has limits, its password has expired, or the client
    /// does not speak UTF-8.
    Restricted,
    Closing,
}

/// A cursor on its way from the command that asks for it to the statement that keeps it.
#[derive(Default)]
struct Opening {
    /// The prepared statement that begins, if a cursor is to be opened for it.
    wanted: Option<u32>,
    /// The cursor of the statement that ends.
    opened: Option<(u32, Cursor)>,
}

/// A session.
pub(crate) struct Session {
    pub(crate) core: SessionCore,
    kind: ConnectionKind,
    /// Host of the client, for messages and SHOW PROCESSLIST.
    pub(crate) host: String,
    stage: Stage,
    login: Login,
    reassembler: Reassembler,
    /// Its charge to ClientMemory.
    holding: Holding,
    timers: Timers,
    pending: Vec<u8>,
    /// The command in front waits until this node may answer.
    awaits_lease: bool,
    is_paused: bool,
    statements: PreparedStatements,
    /// The statements of PREPARE, by name in lower case.
    named_statements: NamedStatements,
    opening: Opening,
    running: Option<Box<Running>>,
    /// Statements of a COM_QUERY that were not begun.
    queue: VecDeque<String>,
    normalized: Normalized,
    multi_statements: bool,
    /// When the last command came.
    pub(crate) active_since: Instant,
    is_continue_sent: bool,
}

impl Session {
    pub(crate) fn new(
        id: u32,
        connection: ConnectionId,
        kind: ConnectionKind,
        peer: &str,
        env: &Environment<'_>,
    ) -> Self {
        Self {
            core: SessionCore::new(id, connection, env),
            kind,
            host: connection::host_of(kind, peer),
            stage: Stage::Handshake,
            login: Login::default(),
            reassembler: Reassembler::new(),
            holding: Holding::default(),
            timers: Timers::default(),
            pending: Vec::new(),
            awaits_lease: false,
            is_paused: false,
            statements: PreparedStatements::default(),
            named_statements: NamedStatements::default(),
            opening: Opening::default(),
            running: None,
            queue: VecDeque::new(),
            normalized: Normalized::default(),
            multi_statements: false,
            active_since: env.now.monotonic,
            is_continue_sent: false,
        }
    }

    /// True if clients count it: logged in.
    pub(crate) fn is_ready(&self) -> bool {
        matches!(self.stage, Stage::Ready | Stage::Restricted)
    }

    /// The statement that runs.
    pub(crate) fn running_text(&self) -> Option<&str> {
        self.running.as_ref().map(|running| running.text())
    }

    /// The reason for which the running statement waits, if it is DDL.
    pub(crate) fn waits_for(&self) -> Option<String> {
        self.running.as_ref().and_then(|running| running.waits_for())
    }

    /// Whether it is among the users of one of these tables, and for so long. That is so if its statement runs on
    /// it, or its open transaction has changed or locked rows of it. A transaction does not keep rows that it has only
    /// read.
    pub(crate) fn uses(&self, tables: &[TableUsers], used_for: Duration, now: Instant) -> bool {
        let running = self.running.iter().flat_map(|running| running.tables());
        let running = running.map(|table| (table, self.active_since));
        self.core
            .client
            .transaction
            .uses()
            .chain(self.core.locks.uses())
            .chain(running)
            .any(|(used, since)| now.since(since) >= used_for && tables.iter().any(|users| users.count(used)))
    }

    /// A newer schema is installed. The version that a statement was bound to and the one after that fit each other, no
    /// later one: an index of that table may not be kept any more.
    pub(crate) fn leave_old_table(&mut self, env: &mut Environment<'_>) {
        let Some(running) = &mut self.running else { return };
        let is_left = |used: TableRef| {
            let installed = env.module.site.map.table(used.id).map(|info| info.definition.version);
            installed.is_some_and(|installed| used.version + 1 < installed)
        };
        if running.tables().any(is_left) {
            running.leave_table();
            self.run(env);
        }
    }

    /// True while a statement runs.
    pub(crate) fn is_busy(&self) -> bool {
        self.running.is_some()
    }

    // ---- input ------------------------------------------------------------------------------------------------------

    /// Bytes arrived.
    pub(crate) fn on_bytes(&mut self, env: &mut Environment<'_>, buffer: &mut ReceiveBuffer) {
        if self.stage == Stage::Closing {
            buffer.consume(buffer.bytes().len());
            return;
        }
        self.timers.is_reading = false;
        if self.pending.is_empty() && self.running.is_none() {
            let consumed = self.take_packets(env, buffer.bytes());
            buffer.consume(consumed);
            let nothing_waits = buffer.bytes().is_empty() || !(self.is_held_up() || self.awaits_lease);
            if nothing_waits {
                return;
            }
        }
        self.pending.extend_from_slice(buffer.bytes());
        buffer.consume(buffer.bytes().len());
        if self.running.is_none() && !self.is_continue_sent {
            self.take_pending(env);
        }
        self.account_or_reject(env);
        if self.pending.len() >= PENDING_MAX && !self.is_paused {
            self.is_paused = true;
            env.outputs.act(self.core.connection, ConnectionAction::PauseReading);
        }
    }

    /// Something must happen before the next command is taken.
    fn is_held_up(&self) -> bool {
        self.running.is_some() || self.is_continue_sent
    }

    /// Takes commands that waited for a statement to end.
    fn take_pending(&mut self, env: &mut Environment<'_>) {
        let pending = std::mem::take(&mut self.pending);
        let consumed = self.take_packets(env, &pending);
        if self.stage == Stage::Closing {
            return;
        }
        self.pending = pending;
        self.pending.drain(..consumed);
        self.shrink_pending();
        if self.is_paused && self.pending.len() < PENDING_MAX {
            self.is_paused = false;
            env.outputs.act(self.core.connection, ConnectionAction::ResumeReading);
        }
    }

    /// A node that stood still longer than its lease may not know that it is left out. A node without replicas may have
    /// missed a DDL statement while a connection was broken. So their word about tables that are there or not may be
    /// wrong. Commands wait until the node is told, or until nobody awaits that any more: then what needs rows is
    /// refused.
    fn has_lease(&mut self, env: &mut Environment<'_>) -> bool {
        let map = &env.module.site.map;
        let is_current = map.may_read(env.now.monotonic) && !map.is_behind;
        let may_answer = is_current || !map.given_up.is_empty();
        let is_watched = std::mem::replace(&mut self.awaits_lease, !may_answer);
        if self.awaits_lease && !is_watched {
            env.module.site.wakes.register(env.now.monotonic + LEASE_PAUSE, self.core.client.id);
        }
        may_answer
    }

    /// Takes whole packets until a statement waits or the budget is spent; the bytes it took.
    fn take_packets(&mut self, env: &mut Environment<'_>, bytes: &[u8]) -> usize {
        let mut consumed = 0;
        let mut reassembler = std::mem::take(&mut self.reassembler);
        while self.stage != Stage::Closing
            && !self.is_held_up()
            && !self.login.is_busy
            && consumed < bytes.len()
        {
            if env.budget.is_spent() {
                self.later(env);
                break;
            }
            if self.stage != Stage::Handshake && !self.has_lease(env) {
                break;
            }
            let expected = self.expected();
            match reassembler.next(&bytes[consumed..], expected) {
                Ok(Received::Packet { sequence, payload, consumed: size }) => {
                    consumed += size;
                    self.on_packet(env, sequence, payload);
                    if reassembler.let_go() == LetGo::Large {
                        self.after_large_packet(env);
                    }
                }
                Ok(Received::Incomplete { consumed: size }) => {
                    consumed += size;
                    self.reassembler = reassembler;
                    self.on_unfinished(env, bytes.len() - consumed);
                    return consumed;
                }
                Err(error) => {
                    self.core.sequence = reassembler.answer_sequence(expected);
                    self.core.reply(env, |writer, _| writer.error(&error.packet()));
                    self.reject(env);
                }
            }
        }
        self.reassembler = reassembler;
        consumed
    }

    fn expected(&self) -> Expected {
        match &self.login.handshake {
            Some(handshake) if self.stage == Stage::Handshake => handshake.expected(),
            _ => Expected::command(self.core.variables.max_allowed_packet),
        }
    }

    fn on_packet(&mut self, env: &mut Environment<'_>, sequence: u8, payload: &[u8]) {
        self.core.sequence = sequence.wrapping_add(1);
        match self.stage {
            Stage::Handshake => self.on_handshake_packet(env, payload),
            Stage::Ready if env.module.draining.is_some() && self.is_at_rest() => {
                self.core.reply_error(env, &SqlError::shutdown());
                self.close(env);
            }
            Stage::Ready => {
                self.active_since = env.now.monotonic;
                env.budget.spend(1);
                self.on_command(env, payload);
                self.watch_idle(env);
            }
            Stage::Restricted => self.on_restricted_packet(env, payload),
            Stage::Closing => {}
        }
    }

    /// Goes on after other work had its turn.
    fn later(&mut self, env: &mut Environment<'_>) {
        if !self.is_continue_sent {
            self.is_continue_sent = true;
            env.continue_later(self.core.client.id);
        }
    }

    /// Goes on with what waits: an answer came, the client has read, or it is this session's turn.
    pub(crate) fn resume(&mut self, env: &mut Environment<'_>) {
        if self.stage == Stage::Closing || self.is_continue_sent {
            return;
        }
        if self.login.waits() {
            self.resume_login(env);
        }
        if self.running.is_some() {
            self.run(env);
        }
        self.run_queue(env);
        if self.running.is_none() && !self.is_continue_sent && !self.pending.is_empty() {
            self.take_pending(env);
        }
    }

    // ---- signals ----------------------------------------------------------------------------------------------------

    /// A lock of GET_LOCK is void with its primary, so others may get it: the session must not go on as if it had it.
    fn end_if_name_void(&mut self, env: &mut Environment<'_>) {
        let Some(name) = self.core.locks.void_name().filter(|_| self.is_ready()) else { return };
        let why = format!("Session was killed: the node that kept its lock '{name}' is lost");
        let is_idle = self.running.is_none() && self.queue.is_empty();
        if is_idle {
            self.core.sequence = 0;
        }
        // The end of a commit that is on its way is not known: such a client hears nothing but the end of its
        // connection.
        if !self.core.client.inbox.has_commit() {
            self.core.reply_error(env, &SqlError::new(3169, why));
        }
        self.close(env);
    }

    /// KILL.
    pub(crate) fn kill(&mut self, env: &mut Environment<'_>, query_only: bool) {
        if query_only {
            if let Some(running) = &mut self.running {
                running.kill();
                self.resume(env);
            }
            return;
        }
        // The end of a commit that is on its way is not known: such a client hears nothing but the end of its
        // connection.
        let is_idle = self.is_ready() && self.running.is_none();
        if !is_idle && !self.core.client.inbox.has_commit() {
            self.core.reply_error(env, &SqlError::interrupted());
        }
        self.close(env);
    }

    // ---- the end ----------------------------------------------------------------------------------------------------

    /// No statement runs and no transaction is open.
    fn is_at_rest(&self) -> bool {
        self.running.is_none()
            && self.queue.is_empty()
            && !self.core.client.transaction.is_open()
            && !self.core.client.transaction.has_participants()
    }

    /// Sends what is buffered, then closes.
    fn close(&mut self, env: &mut Environment<'_>) {
        self.end(env, ConnectionAction::Close);
    }

    /// The same while the client may still be sending.
    fn reject(&mut self, env: &mut Environment<'_>) {
        self.end(env, ConnectionAction::Reject);
    }

    fn end(&mut self, env: &mut Environment<'_>, action: ConnectionAction) {
        if self.stage != Stage::Closing {
            self.stage = Stage::Closing;
            self.abandon(env);
            env.outputs.act(self.core.connection, action);
        }
    }

    /// The connection is gone.
    pub(crate) fn on_closed(&mut self, env: &mut Environment<'_>) {
        self.stage = Stage::Closing;
        self.abandon(env);
        self.release(env);
    }

    /// The commit that is under way, if there is one.
    fn commit_under_way(&self) -> Option<CommitUnderWay> {
        let transaction =
            self.core.client.transaction.id().filter(|_| self.core.client.inbox.has_commit())?;
        let (to, participant) =
            (self.core.client.inbox.commit_waits_at(), self.core.client.transaction.only_participant());
        Some(CommitUnderWay { transaction, to, participant })
    }

    /// Drops the statement that runs and aborts the transaction, unless its commit is on its way.
    fn abandon(&mut self, env: &mut Environment<'_>) {
        self.leave_account(env);
        self.login.stop_waiting();
        let is_committing = self.running.as_ref().is_some_and(|running| running.is_committing());
        let coordinator = self.running.as_ref().and_then(|running| running.coordinator());
        if let (Some((request, coordinator)), Some(transaction)) =
            (coordinator, self.core.client.transaction.id())
        {
            let participants = self.core.client.transaction.participants();
            env.module.left.orphans.adopt(request, coordinator, transaction, participants);
        }
        if let Some(mut running) = self.running.take() {
            running.abandon(env);
        }
        self.queue.clear();
        let under_way = self.commit_under_way();
        if is_committing {
            self.core.client.transaction.end()
        } else {
            self.core.client.transaction.abort(&mut env.executor())
        }
        self.core.client.transaction.drop_own();
        self.core.locks.release_all(env);
        // This comes behind the abort, which drops a request that has not begun: the rest is held at its primary.
        waive_outcome(env, under_way);
        self.core.forget_requests(env);
        self.core.client.end_statement(env.outputs);
        self.pending = Vec::new();
        self.forget_statements();
    }
}

impl Requester for Session {
    fn core(&self) -> &SessionCore {
        &self.core
    }

    fn core_mut(&mut self) -> &mut SessionCore {
        &mut self.core
    }

    fn go_on(&mut self, env: &mut Environment<'_>) {
        self.resume(env);
    }

    /// The thing that it waits for may have come.
    fn on_wake(&mut self, env: &mut Environment<'_>) {
        self.awaits_lease = false;
        self.resume(env);
    }

    /// The turn that `later` asked for.
    fn on_continue(&mut self, env: &mut Environment<'_>) {
        self.is_continue_sent = false;
        self.resume(env);
    }

    /// A node is lost: what the transaction had there is undone by that node, too, even if it is back at once.
    fn on_node_lost(&mut self, env: &mut Environment<'_>, node: NodeId) {
        let map = &env.module.site.map;
        env.module.left.aborts_due.extend(self.core.client.transaction.held_at(node, map));
        env.module.left.aborts_due.extend(self.core.locks.held_at(node, map));
        let was_there = |slot| map.primary(slot).is_some_and(|primary| primary.node == node);
        self.core.void(|slot, _| was_there(slot));
        self.end_if_name_void(env);
        if self.core.client.inbox.node_lost(node) {
            self.resume(env);
        }
    }

    /// Another view is installed.
    fn on_view_changed(&mut self, env: &mut Environment<'_>, before: &View) {
        self.core.on_view_changed(before, &env.module.site.map.view);
        self.end_if_name_void(env);
        if self.running.is_some() {
            self.resume(env);
        }
    }
}

/// A commit whose answer has not come.
struct CommitUnderWay {
    transaction: TransactionId,
    /// The module that was asked for it.
    to: Option<Address>,
    /// The only participant.
    participant: Option<SlotId>,
}

/// Nobody will hear what becomes of a commit: nobody need keep it.
fn waive_outcome(env: &mut Environment<'_>, under_way: Option<CommitUnderWay>) {
    let Some(CommitUnderWay { transaction, to, participant }) = under_way else { return };
    match (to, participant) {
        (Some(tc), _) if tc.kind == ModuleKind::Tc => env.executor().confirm_to_coordinator(tc, transaction),
        (to, Some(slot)) => env.executor().confirm_to_primary(to.map(|to| to.node), slot, transaction),
        (_, None) => {}
    }
}
