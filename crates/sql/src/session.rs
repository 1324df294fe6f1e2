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
//! | `binding` | what the front end is told about the session |
//! | `roles` | active roles, and what they and the account may do |
//! | `point` | point selects without any of that |
//!
//! Invariants: replies are in the order of commands; the sequence number of the next packet is `core.sequence`; a
//! statement is running only in `Ready`.

mod binding;
mod client_memory;
mod commands;
mod connection;
mod control;
mod foreign;
mod kill;
mod login;
mod named;
pub(crate) mod point;
mod prepared;
mod probe_log;
mod roles;
mod running;
mod timers;
mod transactions;

pub(crate) use login::ROUNDS_PER_SLICE;

use crate::environment::Environment;
use crate::locks::SessionLocks;
use crate::requester::Requester;
use crate::variables::{Scope, SessionVariables, UserVariables};
pub use connection::too_many_connections;
use executor::diagnostics::Level;
use executor::transaction_client::TransactionClient;
use executor::{Client, Options};
use login::{LoginWait, Restriction};
use memory::Holding;
use mysql_protocol::result::{EndPacket, OkPacket};
use mysql_protocol::{
    Capabilities, ErrorPacket, Expected, LetGo, PacketWriter, Reassembler, Received, ServerHandshake,
    StatusFlags,
};
use named::NamedStatements;
use planner::Normalized;
use planner::plan::SessionValue;
use prepared::PreparedStatements;
use probe_log::ProbeLog;
use protocol::module::{ConnectionAction, TlsSession};
use protocol::program::TableRef;
use protocol::signal::{Probe, RequestId};
use protocol::{Address, ConnectionId, ConnectionKind, ModuleKind, ReceiveBuffer, Signal, SqlError, View};
use query::AccountName;
use roles::Rights;
use running::Running;
use std::collections::VecDeque;
use std::sync::Arc;
use stdx::{Duration, Instant};
use timers::Timers;
use types::{Collation, NodeId, SlotId, TransactionId, Value, ViewNumber};

/// Bytes that wait while a statement runs; above it reading stops.
const PENDING_MAX: usize = 128 * 1024;

/// When a command that waits for a lease is looked at again.
const LEASE_PAUSE: Duration = Duration::from_millis(5);
/// The part of the session that statements see and change.
#[derive(Debug)]
pub(crate) struct SessionCore {
    /// The client for which statements run.
    pub(crate) client: Client,
    pub(crate) connection: ConnectionId,
    /// The terms that its TLS agreed on.
    pub(crate) tls: Option<TlsSession>,
    pub(crate) capabilities: Capabilities,
    /// The account's name and host pattern.
    pub(crate) account: (Arc<str>, Arc<str>),
    /// The privileges of the account and its active roles, and these roles.
    pub(crate) rights: Rights,
    /// USER(): name@host of the client.
    pub(crate) user: Arc<str>,
    /// The client's description of itself: name and value.
    pub(crate) attributes: Vec<(String, String)>,
    pub(crate) database: Option<Arc<str>>,
    pub(crate) variables: SessionVariables,
    pub(crate) user_variables: UserVariables,
    /// Its session locks.
    pub(crate) locks: SessionLocks,
    probes: ProbeLog,
    /// ROW_COUNT().
    pub(crate) row_count: i64,
    /// FOUND_ROWS().
    pub(crate) found_rows: u64,
    /// The number of the next packet.
    pub(crate) sequence: u8,
    /// Another result follows this one.
    pub(crate) has_more_results: bool,
}

impl SessionCore {
    pub(crate) fn new(id: u32, connection: ConnectionId, env: &Environment<'_>) -> Self {
        let incarnation = env.module.site.map.incarnation;
        Self {
            client: Client::new(id, incarnation, &env.module.memory),
            connection,
            tls: None,
            capabilities: Capabilities::EMPTY,
            account: ("".into(), "".into()),
            rights: Rights::default(),
            user: "".into(),
            attributes: Vec::new(),
            database: None,
            variables: SessionVariables::new(&env.module.globals),
            user_variables: UserVariables::default(),
            locks: SessionLocks::default(),
            probes: ProbeLog::default(),
            row_count: 0,
            found_rows: 0,
            sequence: 0,
            has_more_results: false,
        }
    }

    /// The options that statements get from the session's variables and its client.
    pub(crate) fn options(&self) -> Options {
        Options {
            lock_wait_timeout_s: self.variables.lock_wait_timeout,
            select_limit: self.variables.select_limit,
            reads_stale: self.variables.reads_stale,
            zero_draws: !self.variables.no_auto_value_on_zero,
            counts_found: self.capabilities.contains(Capabilities::FOUND_ROWS),
        }
    }

    /// The status flags of the next OK or EOF packet.
    pub(crate) fn status(&self) -> StatusFlags {
        let is_open = self.client.transaction.is_open();
        self.variables.status
            | StatusFlags::given(StatusFlags::IN_TRANSACTION, is_open)
            | StatusFlags::given(
                StatusFlags::IN_READ_ONLY_TRANSACTION,
                is_open && self.client.transaction.is_read_only(),
            )
            | StatusFlags::given(StatusFlags::MORE_RESULTS_EXISTS, self.has_more_results)
    }

    /// The end of columns or rows.
    pub(crate) fn end_packet(&self) -> EndPacket {
        EndPacket { status: self.status(), warnings: self.client.diagnostics.count_for_packet() }
    }

    /// The value of something that a statement names.
    pub(crate) fn session_value(&self, name: &SessionValue) -> Option<Value> {
        match name {
            SessionValue::Variable(name) => match name.as_str() {
                "warning_count" => Some(Value::UInt(self.client.diagnostics.count())),
                "error_count" => Some(Value::UInt(
                    self.client
                        .diagnostics
                        .conditions
                        .iter()
                        .filter(|condition| condition.level == Level::Error)
                        .count() as u64,
                )),
                "last_insert_id" | "identity" => Some(Value::UInt(self.client.last_insert_id)),
                name => self.variables.get(name, Scope::Session).map(|(value, _)| value),
            },
            SessionValue::GlobalVariable(name) => {
                self.variables.get(name, Scope::Global).map(|(value, _)| value)
            }
            SessionValue::User(name) => {
                Some(self.user_variables.get(name).map_or(Value::Null, |(value, _)| value.clone()))
            }
            SessionValue::CurrentUser => Some(Value::text(&format!("{}@{}", self.account.0, self.account.1))),
            SessionValue::RowCount => Some(Value::Int(self.row_count)),
            SessionValue::CurrentRole => Some(Value::text(&self.rights.current_role())),
            // Its value is put there when the call is made.
            SessionValue::UserLock(_) => Some(Value::Null),
            SessionValue::FoundRows => Some(Value::Int(i64::try_from(self.found_rows).unwrap_or(i64::MAX))),
        }
    }

    /// Appends packets to the reply.
    pub(crate) fn reply(
        &mut self,
        env: &mut Environment<'_>,
        write: impl FnOnce(&mut PacketWriter<'_>, &Self),
    ) {
        let buffer = env.outputs.buffer(self.connection);
        let mut writer = PacketWriter::new(buffer, self.sequence);
        write(&mut writer, self);
        self.sequence = writer.sequence();
    }

    /// OK with what a statement did.
    pub(crate) fn reply_ok(
        &mut self,
        env: &mut Environment<'_>,
        affected_rows: u64,
        last_insert_id: u64,
        info: &str,
    ) {
        self.reply(env, |writer, core| {
            writer.ok(&OkPacket {
                affected_rows,
                last_insert_id,
                status: core.status(),
                warnings: core.client.diagnostics.count_for_packet(),
                info: info.as_bytes(),
            });
        });
    }

    /// An error.
    pub(crate) fn reply_error(&mut self, env: &mut Environment<'_>, error: &SqlError) {
        let mut sqlstate = *b"HY000";
        if let Ok(state) = error.sqlstate().as_bytes().try_into() {
            sqlstate = state;
        }
        let mut encoded = Vec::new();
        let message = match self.variables.result_collation().and_then(Collation::narrow_set) {
            None => error.message.as_bytes(),
            Some(set) => {
                set.encode(&error.message, &mut encoded);
                &encoded
            }
        };
        self.reply(env, |writer, _| writer.error(&ErrorPacket { errno: error.code, sqlstate, message }));
    }

    /// Another view is installed: what was staged or locked at primaries that were lost is gone, and who left does not
    /// answer.
    pub(crate) fn on_view_changed(&mut self, before: &View, now: &View) {
        self.lose(|slot, began| now.is_lost(slot, began));
        let left_out =
            before.nodes.iter().filter(|info| before.is_in_sync(info.node) && !now.is_in_sync(info.node));
        for info in left_out {
            self.client.inbox.node_lost(info.node);
        }
    }

    /// Some primaries are gone, and with them what was staged or locked there.
    fn lose(&mut self, is_gone: impl Fn(SlotId, ViewNumber) -> bool) {
        self.client.transaction.lose_participants(&is_gone);
        self.locks.lose(is_gone);
        if self.locks.has_lost_tables() {
            self.client.transaction.doom();
        }
    }

    /// A request waits at another primary now; true if that one is lost already.
    pub(crate) fn follow_wait(
        &mut self,
        map: &query::NodeMap,
        request: RequestId,
        moved_in: ViewNumber,
        to: Address,
    ) -> bool {
        let is_out = map.lost.contains(&to.node) || !map.view.is_in_sync(to.node);
        let is_lost = self.client.inbox.follow(&map.view, request, moved_in, to);
        (is_out && self.client.inbox.node_lost(to.node)) || is_lost
    }

    /// Nobody waits for anything any more: reads that are on their way need not go on.
    fn forget_requests(&mut self, env: &mut Environment<'_>) {
        for (to, request) in self.client.inbox.open_reads() {
            env.send(to, Signal::CancelRead { request });
        }
        self.client.inbox.forget_all();
    }

    /// Resets the session for COM_RESET_CONNECTION and COM_CHANGE_USER: an open transaction is aborted.
    fn reset(&mut self, env: &mut Environment<'_>) {
        self.client.transaction.abort(&mut env.executor());
        self.locks.release_all(env);
        self.client.transaction.set_locked_tables(None);
        self.forget_requests(env);
        self.variables = SessionVariables::new(&env.module.globals);
        if let Some(name) = self.database.clone() {
            self.enter_database(&Arc::clone(&env.module.site.map.schema), &name);
        }
        self.user_variables.clear();
        self.client.diagnostics.clear();
        self.client.last_insert_id = 0;
        self.row_count = 0;
        self.found_rows = 0;
        self.client.memory.release_all();
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    Handshake,
    Ready,
    /// As `Ready`, but each command is looked at first: the account has limits, its password has expired, or the client
    /// does not speak UTF-8.
    Restricted,
    Closing,
}

/// A session.
pub(crate) struct Session {
    pub(crate) core: SessionCore,
    kind: ConnectionKind,
    /// Host of the client, for messages and SHOW PROCESSLIST.
    pub(crate) host: String,
    stage: Stage,
    has_logged_in: bool,
    handshake: Option<Box<ServerHandshake>>,
    reassembler: Reassembler,
    /// Its charge to ClientMemory.
    holding: Holding,
    timers: Timers,
    pending: Vec<u8>,
    /// The command in front waits until this node may answer.
    awaits_lease: bool,
    is_paused: bool,
    statements: PreparedStatements,
    last_statement_id: u32,
    /// The statements of PREPARE, by name in lower case.
    named_statements: NamedStatements,
    running: Option<Box<Running>>,
    /// Statements of a COM_QUERY that were not begun.
    queue: VecDeque<String>,
    normalized: Normalized,
    multi_statements: bool,
    is_query_killed: bool,
    /// The table that the running statement was bound to has a version that the statement may not meet.
    is_outdated: bool,
    /// When the last command came.
    pub(crate) active_since: Instant,
    is_continue_sent: bool,
    /// TLS was asked for, or a password is being checked: the bytes that follow are not to be read until then.
    is_login_busy: bool,
    login: Option<Box<LoginWait>>,
    /// The account that counts this connection.
    counted: Option<AccountName>,
    restriction: Restriction,
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
            has_logged_in: false,
            handshake: None,
            reassembler: Reassembler::new(),
            holding: Holding::default(),
            timers: Timers::default(),
            pending: Vec::new(),
            awaits_lease: false,
            is_paused: false,
            statements: PreparedStatements::default(),
            last_statement_id: 0,
            named_statements: NamedStatements::default(),
            running: None,
            queue: VecDeque::new(),
            normalized: Normalized::default(),
            multi_statements: false,
            is_query_killed: false,
            is_outdated: false,
            active_since: env.now.monotonic,
            is_continue_sent: false,
            is_login_busy: false,
            login: None,
            counted: None,
            restriction: Restriction::default(),
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

    /// Whether it has used one of these tables for so long, in an older version. That is so if its statement runs on
    /// it, or its open transaction has changed or locked rows of it. A transaction does not keep rows that it has only
    /// read.
    pub(crate) fn uses(&self, tables: &[TableRef], used_for: Duration, now: Instant) -> bool {
        let running = self.running.as_ref().and_then(|running| running.table());
        let running = running.map(|table| (table, self.active_since));
        self.core.client.transaction.uses().chain(self.core.locks.uses()).chain(running).any(
            |(used, since)| {
                let is_older = |table: &TableRef| table.id == used.id && used.version < table.version;
                now.since(since) >= used_for && tables.iter().any(is_older)
            },
        )
    }

    /// A newer schema is installed. The version that a statement was bound to and the one after that fit each other, no
    /// later one: an index of that table may not be kept any more.
    pub(crate) fn leave_old_table(&mut self, env: &mut Environment<'_>) {
        let Some(used) = self.running.as_ref().and_then(|running| running.table()) else { return };
        let installed = env.module.site.map.table(used.id).map(|info| info.definition.version);
        if installed.is_some_and(|installed| used.version + 1 < installed) {
            self.is_outdated = true;
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
            && !self.is_login_busy
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
        match &self.handshake {
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
        if self.login.is_some() {
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

    /// Whether it is in this transaction, or holds locks by it.
    pub(crate) fn is_in(&self, transaction: TransactionId) -> bool {
        self.core.client.transaction.id() == Some(transaction) || self.core.locks.has(transaction)
    }

    /// A name that GET_LOCK locked is lost with its primary, so others may get it: the session must not go on as if it
    /// had it.
    fn end_if_name_lost(&mut self, env: &mut Environment<'_>) {
        let Some(name) = self.core.locks.lost_name().filter(|_| self.is_ready()) else { return };
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

    /// Passes a deadlock probe on to where the transaction waits.
    pub(crate) fn on_probe(&mut self, env: &mut Environment<'_>, probe: Probe) {
        if !self.is_in(probe.transaction)
            || !self.core.probes.pass(probe.initiator, probe.wait, env.now.monotonic)
        {
            return;
        }
        // All that the session has it keeps until its wait is over, whichever of its transactions waits.
        let open = self.core.locks.open.as_ref().and_then(TransactionClient::id);
        let Some(waiting) = open.or(self.core.client.transaction.id()) else { return };
        if waiting == probe.initiator && waiting != probe.transaction {
            let Probe { initiator, home, wait, transaction: other, .. } = probe;
            return env.send(home, Signal::ProbeHit { initiator, wait, other });
        }
        let probe = Probe { transaction: waiting, ..probe };
        for ldm in self.core.client.inbox.lock_waits() {
            env.send(ldm, Signal::ProbeWait(probe));
        }
    }

    /// KILL.
    pub(crate) fn kill(&mut self, env: &mut Environment<'_>, query_only: bool) {
        if query_only {
            if self.running.is_some() {
                self.is_query_killed = true;
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
        self.login = None;
        let is_committing = self.running.as_ref().is_some_and(|running| running.is_committing());
        let coordinator = self.running.as_ref().and_then(|running| running.coordinator());
        if let (Some((request, coordinator)), Some(transaction)) =
            (coordinator, self.core.client.transaction.id())
        {
            let participants = self.core.client.transaction.participants();
            env.module.orphans.adopt(request, coordinator, transaction, participants);
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
        self.core.locks.release_all(env);
        // This comes behind the abort, which drops a request that has not begun: the rest is held at its primary.
        waive_outcome(env, under_way);
        self.core.forget_requests(env);
        self.core.client.memory.release_all();
        self.pending = Vec::new();
        self.statements = PreparedStatements::default();
        self.named_statements = NamedStatements::default();
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
        env.module.aborts_due.extend(self.core.client.transaction.held_at(node, map));
        env.module.aborts_due.extend(self.core.locks.held_at(node, map));
        let was_there = |slot| map.primary(slot).is_some_and(|primary| primary.node == node);
        self.core.lose(|slot, _| was_there(slot));
        self.end_if_name_lost(env);
        if self.core.client.inbox.node_lost(node) {
            self.resume(env);
        }
    }

    /// Another view is installed.
    fn on_view_changed(&mut self, env: &mut Environment<'_>, before: &View) {
        self.core.on_view_changed(before, &env.module.site.map.view);
        self.end_if_name_lost(env);
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
