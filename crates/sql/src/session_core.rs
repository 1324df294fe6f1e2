//! The part of a session that its statements see and change: client, variables, rights, locks, and the replies.
//!
//! `session` owns one and adds commands, the login and the statement that runs. The finisher of DDL jobs has one
//! without a connection.
//!
//! | file | what |
//! | --- | --- |
//! | `binding` | what the front end is told about the session |
//! | `roles` | active roles, and what they and the account may do |
//! | `probe_log` | deadlock probes that it has passed on |
//!
//! Invariant: the sequence number of the next packet is `sequence`.
//!
//! Deliberately not here: commands, and how a statement runs. Nothing here calls them.

mod binding;
mod probe_log;
mod roles;

use crate::environment::Environment;
use crate::locks::SessionLocks;
use crate::variables::{Scope, SessionVariables, UserVariables};
use executor::diagnostics::Level;
use executor::transaction_client::TransactionClient;
use executor::{Client, Options};
use expression::{AssignedVariables, Context, Settings};
use mysql_protocol::result::{EndPacket, OkPacket};
use mysql_protocol::{Capabilities, ErrorPacket, PacketWriter, StatusFlags};
use planner::plan::SessionValue;
use probe_log::ProbeLog;
use protocol::module::TlsSession;
use protocol::signal::{Probe, RequestId};
use protocol::{Address, ConnectionId, Signal, SqlError, View};
use roles::Rights;
use std::sync::Arc;
use stdx::Now;
use types::{Collation, NodeId, Schema, SlotId, TransactionId, Value, ViewNumber};

/// That part of a session.
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
            lock_wait_timeout_s: self.variables.timeouts.lock_wait_s,
            select_limit: self.variables.limits.select,
            recursion_depth_max: self.variables.limits.recursion_depth,
            reads_stale: self.variables.reads_stale,
            joining: self.variables.limits.joining,
            batch_rows_max: self.variables.limits.batch_rows,
            zero_draws: !self.variables.modes.no_auto_value_on_zero,
            counts_found: self.capabilities.contains(Capabilities::FOUND_ROWS),
        }
    }

    /// The session's settings that values depend on.
    #[inline]
    pub(crate) fn settings(&self, now: Now) -> Settings {
        Settings {
            now_us: self.variables.timestamp.unwrap_or(now.wall.0),
            time_zone_offset_seconds: self.variables.time_zone_offset(),
            sql_mode: self.variables.modes.evaluation,
        }
    }

    /// All that an expression's value depends on, but for the row.
    #[inline]
    pub(crate) fn context<'v>(&'v self, settings: Settings, parameters: &'v [Value]) -> Context<'v> {
        Context {
            parameters,
            connection_id: u64::from(self.client.id),
            last_insert_id: self.client.last_insert_id,
            database: self.database.as_deref(),
            user: &self.user,
            ..Context::from_settings(settings)
        }
    }

    /// The status flags of the next OK or EOF packet.
    #[inline]
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
    #[inline]
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
            SessionValue::Outer | SessionValue::UserLock(_) => Some(Value::Null),
            SessionValue::FoundRows => Some(Value::Int(i64::try_from(self.found_rows).unwrap_or(i64::MAX))),
        }
    }

    /// The variables of these names, for a statement that assigns them.
    pub(crate) fn assigned_variables(&self, names: &[String]) -> AssignedVariables {
        self.user_variables.of(names, self.client.last_insert_id)
    }

    /// USE.
    pub(crate) fn use_database(&mut self, env: &mut Environment<'_>, name: &str) -> Result<(), SqlError> {
        self.check_database(env.module, name)?;
        if !crate::show::database_exists(&env.module.site.map.schema, name) {
            return Err(SqlError::new(1049, format!("Unknown database '{name}'")));
        }
        let schema = Arc::clone(&env.module.site.map.schema);
        self.enter_database(&schema, name);
        Ok(())
    }

    /// `name` is the current database from now on.
    pub(crate) fn enter_database(&mut self, schema: &Schema, name: &str) {
        self.database = Some(name.into());
        self.variables.follow_database(schema.database(name).map(|database| database.collation));
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
        self.void(|slot, began| now.is_void(slot, began));
        let gone =
            before.nodes.iter().filter(|info| before.is_in_sync(info.node) && !now.is_in_sync(info.node));
        for info in gone {
            self.client.inbox.node_lost(info.node);
        }
    }

    /// Some primaries are gone, and with them what was staged or locked there.
    pub(crate) fn void(&mut self, is_gone: impl Fn(SlotId, ViewNumber) -> bool) {
        self.client.transaction.void_participants(&is_gone);
        self.locks.void(is_gone);
        if self.locks.has_void_tables() {
            self.client.transaction.doom();
        }
    }

    /// A request waits at another primary now, or nowhere; true if nobody answers it.
    pub(crate) fn follow_wait(
        &mut self,
        map: &query::NodeMap,
        request: RequestId,
        moved_in: ViewNumber,
        to: Option<Address>,
    ) -> bool {
        let is_cut_off = self.client.inbox.follow(&map.view, request, moved_in, to);
        let is_out = |node: &NodeId| map.lost.contains(node) || !map.view.is_in_sync(*node);
        let gone = to.map(|to| to.node).filter(is_out);
        gone.is_some_and(|node| self.client.inbox.node_lost(node)) || is_cut_off
    }

    /// Whether it is in this transaction, or holds locks by it.
    pub(crate) fn is_in(&self, transaction: TransactionId) -> bool {
        self.client.transaction.id() == Some(transaction) || self.locks.has(transaction)
    }

    /// Passes a deadlock probe on to where the transaction waits.
    pub(crate) fn on_probe(&mut self, env: &mut Environment<'_>, probe: Probe) {
        if !self.is_in(probe.transaction) || !self.probes.pass(probe.initiator, probe.wait, env.now.monotonic)
        {
            return;
        }
        // All that the session has it keeps until its wait is over, whichever of its transactions waits.
        let open = self.locks.open.as_ref().and_then(TransactionClient::id);
        let Some(waiting) = open.or(self.client.transaction.id()) else { return };
        if waiting == probe.initiator && waiting != probe.transaction {
            let Probe { initiator, home, wait, transaction: other, .. } = probe;
            return env.send(home, Signal::ProbeHit { initiator, wait, other });
        }
        let probe = Probe { transaction: waiting, ..probe };
        for ldm in self.client.inbox.lock_waits() {
            env.send(ldm, Signal::ProbeWait(probe));
        }
    }

    /// Nobody waits for anything any more: reads that are on their way need not go on.
    pub(crate) fn forget_requests(&mut self, env: &mut Environment<'_>) {
        for (to, request) in self.client.inbox.open_reads() {
            env.send(to, Signal::CancelRead { request });
        }
        self.client.inbox.forget_all();
    }

    /// Resets the session for COM_RESET_CONNECTION and COM_CHANGE_USER: an open transaction is aborted.
    pub(crate) fn reset(&mut self, env: &mut Environment<'_>) {
        self.client.transaction.abort(&mut env.executor());
        self.client.transaction.drop_own();
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
        self.client.end_statement(env.outputs);
    }
}
