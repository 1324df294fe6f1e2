//! The `sql` module: the sessions of one thread and what they share.
//!
//! Connections are numbered on the node: the module's instance in the low part, a counter above it. Request ids carry
//! the number, so that an answer finds its session without a table of requests. The number whose counter is 0 is that
//! of the module's `Finisher`.
//!
//! Invariants: a session belongs to exactly one connection and goes when that is closed. Answers, alarms and turns for
//! sessions that are gone are dropped. At most `max_connections` clients and one administrator are let in per module,
//! and `handshakes_max` are about to log in.

use crate::config::{INSTANCES_MAX, SqlConfig};
use crate::ddl_job::finisher::Finisher;
use crate::environment::{Alarm, Environment, ModuleState};
use crate::requester::Requester;
use crate::session::Session;
use crate::session_core::SessionCore;
use executor::Scratch;
use executor::inbox::{Inbox, Reply};
use memory::MemoryManager;
use protocol::module::{ConnectionAction, Counts};
use protocol::signal::{
    InfoSource, InfoTable, Probe, RequestId, ReturnedRequest, SCHEMA_USERS_MAX, SqlTable, TableUsers,
    WriteDone,
};
use protocol::{
    Address, Budget, ConnectionId, ConnectionKind, Envelope, Input, NodeRole, Outputs, RestartPoint, Signal,
    SqlError, View,
};
use query::{NodeMap, Shared};
use std::collections::VecDeque;
use std::sync::Arc;
use stdx::{Duration, FixedMap, Instant, Now};
use types::{Incarnation, NodeId, SlotId, TransactionId, Value};

/// Characters of a statement that SHOW PROCESSLIST shows.
const SHOWN_TEXT_MAX: usize = 1024;
/// A client that is about to log in has so long before it gives way.
const LOGIN_GRACE: Duration = Duration::from_secs(1);

/// The sessions of one thread.
pub struct SqlModule {
    state: ModuleState,
    /// By connection number.
    sessions: FixedMap<u32, Box<Session>>,
    /// Connection numbers by the driver's ids.
    by_connection: FixedMap<ConnectionId, u32>,
    last_number: u32,
    /// Connections over TCP in the order in which they came: those that are about to log in, and some that have.
    handshakes: VecDeque<(u32, Instant)>,
    /// Made when it is first wanted.
    finisher: Option<Box<Finisher>>,
    /// The node is about to stop, and was told that there are no sessions any more.
    is_drained: bool,
}

impl SqlModule {
    /// A module without sessions; it knows no tables until the first map comes.
    #[must_use]
    pub fn new(config: SqlConfig, memory: Arc<MemoryManager>) -> Self {
        let map =
            Arc::new(NodeMap::empty(config.node, Arc::new(types::Schema::empty(types::SchemaVersion(0)))));
        Self {
            state: ModuleState::new(config, memory, map, [0; 32]),
            sessions: FixedMap::default(),
            by_connection: FixedMap::default(),
            last_number: 0,
            handshakes: VecDeque::new(),
            finisher: None,
            is_drained: false,
        }
    }

    /// Its address.
    #[must_use]
    pub fn address(&self) -> Address {
        self.state.site.address
    }

    /// When `Input::Deadline` must come.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        let alarm = stdx::earlier(self.state.deadlines.next(), self.state.site.wakes.next());
        stdx::earlier(alarm, self.state.site.known.deadline())
    }

    /// Takes one input.
    pub fn handle(
        &mut self,
        now: Now,
        input: Input<'_, Shared>,
        budget: &mut Budget,
        outputs: &mut Outputs<Shared>,
    ) {
        self.take(now, input, budget, outputs);
        if self.sessions.is_empty()
            && let Some(main) = self.state.draining.filter(|_| !self.is_drained)
        {
            self.is_drained = true;
            outputs.send(self.state.site.address, main, Signal::Drained);
        }
    }

    fn take(
        &mut self,
        now: Now,
        input: Input<'_, Shared>,
        budget: &mut Budget,
        outputs: &mut Outputs<Shared>,
    ) {
        match input {
            Input::Bytes { connection, buffer } => match self.by_connection.get(&connection) {
                Some(number) => {
                    let number = *number;
                    self.with_session(number, now, budget, outputs, |session, env| {
                        session.on_bytes(env, buffer)
                    });
                }
                None => buffer.consume(buffer.bytes().len()),
            },
            Input::Signal(envelope) => self.on_signal(now, envelope, budget, outputs),
            Input::Writable { connection } => {
                self.with_connection(connection, now, budget, outputs, |session, env| session.resume(env));
            }
            Input::Blocked { connection } => {
                self.with_connection(connection, now, budget, outputs, |session, env| {
                    session.on_blocked(env)
                });
            }
            Input::MemoryFull { connection } => {
                self.with_connection(connection, now, budget, outputs, |session, env| {
                    session.on_memory_full(env)
                });
            }
            Input::Opened { connection, kind, peer } => {
                self.on_opened(connection, kind, &peer, now, budget, outputs)
            }
            Input::SecurityChanged { connection, tls } => {
                self.with_connection(connection, now, budget, outputs, |session, env| {
                    session.on_security_changed(env, tls)
                });
            }
            Input::Closed { connection, .. } => self.on_closed(connection, now, budget, outputs),
            Input::PasswordKey { connection, answer } => {
                self.with_connection(connection, now, budget, outputs, |session, env| {
                    session.on_password_key(env, answer)
                });
            }
            Input::Deadline => self.on_deadline(now, budget, outputs),
            Input::Shared { shared, .. } => self.on_shared(shared, now, budget, outputs),
            Input::Start { seed } => {
                self.state.nonces = crate::nonce::NonceSource::new(seed);
                self.state.started = Some(now.monotonic);
            }
            Input::DiskDone { ticket, result } => {
                self.with_requester(Scratch::client_of(ticket), now, budget, outputs, |requester, env| {
                    let scratch = &mut requester.core_mut().client.scratch;
                    if scratch.on_done(ticket, result, env.outputs) {
                        requester.go_on(env);
                    }
                });
            }
            Input::LinkUp { .. }
            | Input::LinkDown { .. }
            | Input::ProcessExited { .. }
            | Input::Report(_)
            | Input::StopRequested => {}
        }
        if std::mem::take(&mut self.state.left.has_ddl) {
            self.finish_ddl(now, budget, outputs);
        }
    }

    // ---- DDL jobs that were left ------------------------------------------------------------------------------------

    /// The number that the finisher has in place of a connection's: no connection has it.
    fn finisher_number(&self) -> u32 {
        u32::from(self.state.site.address.instance)
    }

    fn finish_ddl(&mut self, now: Now, budget: &mut Budget, outputs: &mut Outputs<Shared>) {
        let number = self.finisher_number();
        let mut env = Environment { now, budget, outputs, module: &mut self.state };
        let finisher = self.finisher.get_or_insert_with(|| Box::new(Finisher::new(number, &env)));
        finisher.want(&mut env);
    }

    /// Whether this module looks after the DDL jobs of whoever has died: one in the cluster does.
    fn looks_after_ddl(&self) -> bool {
        let primary = self.state.site.map.primary(SlotId(0));
        self.state.site.address.instance == 0
            && primary.is_some_and(|primary| primary.node == self.state.node())
    }

    /// Acts on the one that a number belongs to, if it is there.
    fn with_requester(
        &mut self,
        number: u32,
        now: Now,
        budget: &mut Budget,
        outputs: &mut Outputs<Shared>,
        act: impl FnOnce(&mut dyn Requester, &mut Environment<'_>),
    ) {
        if number != self.finisher_number() {
            return self.with_session(number, now, budget, outputs, |session, env| act(session, env));
        }
        if let Some(finisher) = &mut self.finisher {
            act(&mut **finisher, &mut Environment { now, budget, outputs, module: &mut self.state });
        }
    }

    /// Acts on all sessions, in the order of their numbers, and then on the finisher.
    fn with_all_requesters(
        &mut self,
        now: Now,
        budget: &mut Budget,
        outputs: &mut Outputs<Shared>,
        mut act: impl FnMut(&mut dyn Requester, &mut Environment<'_>),
    ) {
        self.with_all(now, budget, outputs, |session, env| act(session, env));
        let finisher = self.finisher_number();
        self.with_requester(finisher, now, budget, outputs, act);
    }

    /// The one that a number belongs to.
    fn requester(&self, number: u32) -> Option<&dyn Requester> {
        if number == self.finisher_number() {
            return self.finisher.as_deref().map(|finisher| finisher as &dyn Requester);
        }
        self.sessions.get(&number).map(|session| &**session as &dyn Requester)
    }

    fn with_connection(
        &mut self,
        connection: ConnectionId,
        now: Now,
        budget: &mut Budget,
        outputs: &mut Outputs<Shared>,
        act: impl FnOnce(&mut Session, &mut Environment<'_>),
    ) {
        if let Some(number) = self.by_connection.get(&connection) {
            let number = *number;
            self.with_session(number, now, budget, outputs, act);
        }
    }

    /// Acts on a session, if it is there.
    fn with_session(
        &mut self,
        number: u32,
        now: Now,
        budget: &mut Budget,
        outputs: &mut Outputs<Shared>,
        act: impl FnOnce(&mut Session, &mut Environment<'_>),
    ) {
        if let Some(session) = self.sessions.get_mut(&number) {
            let mut env = Environment { now, budget, outputs, module: &mut self.state };
            act(session, &mut env);
        }
    }

    /// Acts on all sessions, in the order of their numbers.
    fn with_all(
        &mut self,
        now: Now,
        budget: &mut Budget,
        outputs: &mut Outputs<Shared>,
        mut act: impl FnMut(&mut Session, &mut Environment<'_>),
    ) {
        let mut numbers: Vec<u32> = self.sessions.keys().copied().collect();
        numbers.sort_unstable();
        for number in numbers {
            self.with_session(number, now, budget, outputs, &mut act);
        }
    }

    // ---- connections ------------------------------------------------------------------------------------------------

    fn on_opened(
        &mut self,
        connection: ConnectionId,
        kind: ConnectionKind,
        peer: &str,
        now: Now,
        budget: &mut Budget,
        outputs: &mut Outputs<Shared>,
    ) {
        let number = self.next_number();
        self.state.counters.connections += 1;
        let mut env = Environment { now, budget, outputs, module: &mut self.state };
        let mut session = Box::new(Session::new(number, connection, kind, peer, &env));
        if env.module.draining.is_some() {
            session.core.reply_error(&mut env, &SqlError::shutdown());
            return env.outputs.act(connection, ConnectionAction::Close);
        }
        let counters = &mut env.module.counters;
        counters.connected += 1;
        counters.connected_max = counters.connected_max.max(counters.connected);
        session.open(&mut env);
        let is_about_to_log_in = session.is_about_to_log_in();
        self.sessions.insert(number, session);
        self.by_connection.insert(connection, number);
        if is_about_to_log_in && !matches!(kind, ConnectionKind::MySqlUnix { .. }) {
            self.make_room_for_login(number, now, budget, outputs);
        }
    }

    /// Strangers that do not log in have a bound of their own: the one that has had the most time goes, so that nobody
    /// is locked out. As many clients as may be logged in can come at the same moment, as after the failure of a node.
    /// They have some time first.
    fn make_room_for_login(
        &mut self,
        number: u32,
        now: Now,
        budget: &mut Budget,
        outputs: &mut Outputs<Shared>,
    ) {
        let (sessions, config) = (&self.sessions, &self.state.config);
        if self.handshakes.len() >= config.handshakes_max {
            self.handshakes.retain(|(number, _)| {
                sessions.get(number).is_some_and(|session| session.is_about_to_log_in())
            });
        }
        let together = config.handshakes_max.max(config.max_connections as usize);
        let (many, too_many) =
            (self.handshakes.len() >= config.handshakes_max, self.handshakes.len() >= together);
        let had_time = |since: Instant| now.monotonic.since(since) >= LOGIN_GRACE;
        if let Some((oldest, _)) =
            self.handshakes.pop_front_if(|(_, since)| too_many || (many && had_time(*since)))
        {
            self.with_session(oldest, now, budget, outputs, |session, env| session.give_way(env));
        }
        self.handshakes.push_back((number, now.monotonic));
    }

    /// A number that no session of the node has.
    fn next_number(&mut self) -> u32 {
        loop {
            self.last_number = (self.last_number + 1) % (u32::MAX / INSTANCES_MAX);
            let number = self.last_number * INSTANCES_MAX + u32::from(self.state.site.address.instance);
            if self.last_number > 0 && !self.sessions.contains_key(&number) {
                return number;
            }
        }
    }

    fn on_closed(
        &mut self,
        connection: ConnectionId,
        now: Now,
        budget: &mut Budget,
        outputs: &mut Outputs<Shared>,
    ) {
        let Some(number) = self.by_connection.remove(&connection) else { return };
        self.with_session(number, now, budget, outputs, |session, env| session.on_closed(env));
        if let Some(session) = self.sessions.remove(&number) {
            self.state.counters.logged_in -= u64::from(session.has_logged_in());
            self.state.site.forget_transaction(session.core.client.last_transaction);
        }
        self.state.counters.connected -= 1;
        let (finisher, sessions) = (self.finisher_number(), &self.sessions);
        self.state.deadlines.prune(sessions.len(), |alarm| sessions.contains_key(&alarm.connection_id));
        let matters = |number: &u32| *number == finisher || sessions.contains_key(number);
        self.state.site.wakes.prune(sessions.len(), matters);
    }

    fn on_deadline(&mut self, now: Now, budget: &mut Budget, outputs: &mut Outputs<Shared>) {
        for (slot, transactions) in self.state.site.known.take_due(now) {
            self.state.site.send_forget(slot, transactions, outputs);
        }
        while let Some(Alarm { connection_id, kind }) = self.state.deadlines.expired(now.monotonic) {
            self.with_session(connection_id, now, budget, outputs, |session, env| {
                session.on_alarm(env, kind)
            });
        }
        while let Some(number) = self.state.site.wakes.expired(now.monotonic) {
            self.with_requester(number, now, budget, outputs, |requester, env| requester.on_wake(env));
        }
    }

    fn on_shared(&mut self, shared: Shared, now: Now, budget: &mut Budget, outputs: &mut Outputs<Shared>) {
        let map = match shared {
            Shared::Map(map) => map,
            Shared::Account(news) => return self.state.accounts.take(&news, now),
            Shared::Tables(_)
            | Shared::Installed { .. }
            | Shared::Readers { .. }
            | Shared::Redo { .. }
            | Shared::Catalogue(_)
            | Shared::Fragments { .. }
            | Shared::ListFragments
            | Shared::FragmentsListed(_)
            | Shared::Scan(_)
            | Shared::Scanned(..)
            | Shared::Load(_)
            | Shared::Loaded(_) => return,
        };
        let is_new_view = map.view.number > self.state.site.map.view.number;
        let is_new_schema = map.schema.version > self.state.site.map.schema.version;
        let lost = if map.lost == self.state.site.map.lost { Vec::new() } else { map.lost.clone() };
        let before = std::mem::replace(&mut self.state.site.map, map);
        let (map, members) = (Arc::clone(&self.state.site.map), Arc::clone(&before.view));
        let life = |view: &View, node| view.node(node).map(|info| info.incarnation);
        let is_out = |node| map.is_out(node) || life(&members, node) != life(&map.view, node);
        self.state.left.orphans.on_lost(is_out, &map, self.state.site.address, outputs);
        self.abort_again(&before, outputs);
        if is_new_schema && self.state.renew_globals() {
            self.state.cache.clear();
            for session in self.sessions.values_mut() {
                session.core.variables.follow(&self.state.globals);
            }
        }
        if is_new_schema {
            self.with_all(now, budget, outputs, |session, env| session.leave_old_table(env));
        }
        if is_new_view {
            self.with_all_requesters(now, budget, outputs, |requester, env| {
                requester.on_view_changed(env, &before.view);
            });
            // A node that was left out may have left a job, and so may a cluster that lost its power. Nobody has when
            // the cluster is founded.
            let is_founding =
                before.view.number.0 == 0 && self.state.site.map.view.restart == RestartPoint::FOUNDING;
            self.state.left.has_ddl |= !is_founding && self.looks_after_ddl();
        }
        // Requests to a lost node between the news of its loss and this map get no other answer.
        for node in lost {
            self.on_node_lost(node, now, budget, outputs);
        }
    }

    /// Nodes that were lost are back: what ended meanwhile is aborted there.
    fn abort_again(&mut self, before: &NodeMap, outputs: &mut Outputs<Shared>) {
        for (transaction, slot) in std::mem::take(&mut self.state.left.aborts_due) {
            let map = &self.state.site.map;
            let is_back = |node: &NodeId| map.view.number > before.view.number || before.lost.contains(node);
            let Some(primary) = map.primary_in_reach(slot).filter(|primary| is_back(&primary.node)) else {
                self.state.left.aborts_due.insert((transaction, slot));
                continue;
            };
            let session =
                self.state.site.session_of(transaction).and_then(|number| self.sessions.get(&number));
            if session.is_none_or(|session| !session.core.is_in(transaction)) {
                outputs.send(self.state.site.address, primary, Signal::Abort { transaction, slot });
            }
        }
    }

    fn on_node_lost(&mut self, node: NodeId, now: Now, budget: &mut Budget, outputs: &mut Outputs<Shared>) {
        self.with_all_requesters(now, budget, outputs, |requester, env| requester.on_node_lost(env, node));
    }

    // ---- signals ----------------------------------------------------------------------------------------------------

    fn on_signal(
        &mut self,
        now: Now,
        envelope: Envelope,
        budget: &mut Budget,
        outputs: &mut Outputs<Shared>,
    ) {
        let from = envelope.from;
        match envelope.signal {
            // The wrapper refuses these.
            protocol::not_for!(sql) => {}
            Signal::ReadDone(done) => {
                self.on_reply(done.request, Reply::Read(done.result), now, budget, outputs)
            }
            Signal::WriteDone(done) => {
                let WriteDone { request, result, spent } = *done;
                self.state.site.take_back(spent);
                self.on_reply(request, Reply::Write(result), now, budget, outputs)
            }
            Signal::CommitDone(done) => {
                self.state.left.orphans.on_answer(done.request);
                self.on_reply(done.request, Reply::Commit(done.outcome), now, budget, outputs)
            }
            Signal::EpochDurable { .. } if from != Address::main(self.state.node()) => {}
            Signal::EpochDurable { durable, .. } => {
                for connection in self.state.durable.advance(durable) {
                    self.with_requester(connection, now, budget, outputs, |requester, env| {
                        requester.on_wake(env);
                    });
                }
            }
            Signal::RollbackDone { request, held } => {
                self.on_reply(request, Reply::Rollback { held }, now, budget, outputs);
            }
            Signal::Drain { patience_ms } => self.on_drain(from, patience_ms, now, budget, outputs),
            Signal::Returned(returned) => self.on_returned(*returned, now, budget, outputs),
            Signal::LastWord => outputs.send(self.state.site.address, from, Signal::LastWordHeard),
            Signal::TransactionMoved { transaction, slot } => {
                self.on_transaction_moved(from, (transaction, slot), outputs);
            }
            Signal::WaitMoved { request, to } => {
                let number = Inbox::connection_of(request);
                self.with_requester(number, now, budget, outputs, |requester, env| {
                    requester.on_wait_moved(env, request, envelope.view, to);
                });
            }
            Signal::Continue(number) => {
                let number = u32::try_from(number).unwrap_or(0);
                self.with_requester(number, now, budget, outputs, |requester, env| {
                    requester.on_continue(env);
                });
            }
            Signal::SequenceDone { request, first, count, .. } => {
                self.on_reply(request, Reply::Sequence { first, count }, now, budget, outputs);
            }
            Signal::SchemaInstalled { request, users, .. } => {
                self.on_reply(request, Reply::SchemaInstalled { users }, now, budget, outputs);
            }
            Signal::SchemaInstall { request, version, tables, used_for_ms } => {
                let users = self.users_of(&tables, Duration::from_millis(used_for_ms.into()), now);
                outputs.send(
                    self.state.site.address,
                    from,
                    Signal::SchemaInstalled { request, version, users },
                );
            }
            Signal::BackfillDone { request, refusal } => {
                self.on_reply(request, Reply::Backfilled(refusal), now, budget, outputs);
            }
            Signal::InfoDone { request, rows } => {
                self.on_reply(request, Reply::Info(rows), now, budget, outputs)
            }
            Signal::Failed { request, error } => {
                self.on_reply(request, Reply::Failed(error), now, budget, outputs)
            }
            Signal::ProbeSession(probe) => self.on_probe(probe, now, budget, outputs),
            Signal::PeerLost { node, incarnation } => {
                self.on_peer_lost(node, incarnation, now, budget, outputs);
            }
            Signal::KillSession { connection, query_only, only_of, request } => {
                let killed = self.kill_session(connection, query_only, only_of, now, budget, outputs);
                let signal = match killed {
                    Ok(()) => Signal::InfoDone { request, rows: Vec::new() },
                    Err(error) => Signal::Failed { request, error },
                };
                outputs.send(self.state.site.address, from, signal);
            }
            Signal::InfoRequest { request, table } => {
                self.on_info_request(from, request, table, now, outputs)
            }
        }
    }

    /// The node is about to stop, or goes on after all.
    fn on_drain(
        &mut self,
        from: Address,
        patience_ms: Option<u32>,
        now: Now,
        budget: &mut Budget,
        outputs: &mut Outputs<Shared>,
    ) {
        if from != Address::main(self.state.node()) {
            return;
        }
        let Some(patience_ms) = patience_ms else {
            (self.state.draining, self.is_drained) = (None, false);
            return;
        };
        self.state.draining = Some(from);
        let patience = Duration::from_millis(patience_ms.into());
        self.with_all(now, budget, outputs, |session, env| session.drain(env, patience));
    }

    fn on_peer_lost(
        &mut self,
        node: NodeId,
        incarnation: Incarnation,
        now: Now,
        budget: &mut Budget,
        outputs: &mut Outputs<Shared>,
    ) {
        self.with_all_requesters(now, budget, outputs, |requester, _| {
            requester.core_mut().client.inbox.cut_off(node, incarnation);
        });
        let map = Arc::clone(&self.state.site.map);
        self.state.left.orphans.on_lost(|lost| lost == node, &map, self.state.site.address, outputs);
        self.on_node_lost(node, now, budget, outputs);
        // No view tells of the end of an SQL node.
        let is_sql = self.state.site.map.view.node(node).is_some_and(|info| info.role == NodeRole::Sql);
        self.state.left.has_ddl |= is_sql && self.looks_after_ddl();
    }

    fn on_reply(
        &mut self,
        request: RequestId,
        reply: Reply,
        now: Now,
        budget: &mut Budget,
        outputs: &mut Outputs<Shared>,
    ) {
        let number = Inbox::connection_of(request);
        self.with_requester(number, now, budget, outputs, |requester, env| {
            requester.on_reply(env, request, reply);
        });
    }

    /// KILL: 1094 if there is no such connection, 1095 if it is not the user's who asks and may end only those.
    fn kill_session(
        &mut self,
        connection: u64,
        query_only: bool,
        only_of: Option<String>,
        now: Now,
        budget: &mut Budget,
        outputs: &mut Outputs<Shared>,
    ) -> Result<(), SqlError> {
        let mut killed = Err(SqlError::new(1094, format!("Unknown thread id: {connection}")));
        let number = u32::try_from(connection).unwrap_or(0);
        self.with_session(number, now, budget, outputs, |session, env| {
            killed = if only_of.is_none_or(|user| *user == *session.core.account.0) {
                session.kill(env, query_only);
                Ok(())
            } else {
                Err(SqlError::new(1095, format!("You are not owner of thread {connection}")))
            };
        });
        killed
    }

    /// The inbox that waits for the answer to a request.
    fn inbox_of(&mut self, request: RequestId) -> Option<&mut Inbox> {
        let number = Inbox::connection_of(request);
        if number == self.finisher_number() {
            return self.finisher.as_mut().map(|finisher| &mut finisher.core_mut().client.inbox);
        }
        self.sessions.get_mut(&number).map(|session| &mut session.core.client.inbox)
    }

    /// A request came back: its slot has another primary, who has all that its transaction did there. (A commit is
    /// ended even if nobody waits for it any more, or its transaction would stay open. A session that gave up something
    /// else has undone it.)
    fn on_returned(
        &mut self,
        returned: ReturnedRequest,
        now: Now,
        budget: &mut Budget,
        outputs: &mut Outputs<Shared>,
    ) {
        let (request, slot) = returned.place();
        let view = self.state.site.map.view.number;
        let Some(primary) = self.state.site.map.primary_in_reach(slot) else {
            if let ReturnedRequest::CommitOne(commit) = &returned {
                self.state.left.aborts_due.insert((commit.transaction, slot));
            }
            return self.on_reply(request, Reply::Lost, now, budget, outputs);
        };
        let is_awaited = self.inbox_of(request).is_some_and(|inbox| inbox.move_to(request, view, primary));
        if is_awaited || matches!(returned, ReturnedRequest::CommitOne(_)) {
            outputs.send(self.state.site.address, primary, returned.into_signal());
        }
    }

    /// Only the session of the probe's transaction knows where it waits.
    fn on_probe(&mut self, probe: Probe, now: Now, budget: &mut Budget, outputs: &mut Outputs<Shared>) {
        if let Some(number) = self.state.site.session_of(probe.transaction) {
            self.with_session(number, now, budget, outputs, |session, env| session.core.on_probe(env, probe));
        }
    }

    /// A new primary has taken what is open of a transaction. If that is over, the word did not reach the old one in
    /// time; it may have been an earlier life's, too.
    fn on_transaction_moved(
        &self,
        from: Address,
        (transaction, slot): (TransactionId, SlotId),
        outputs: &mut Outputs<Shared>,
    ) {
        let goes_on = |core: &SessionCore| {
            core.client.transaction.takes_part(transaction, slot) || core.locks.takes_part(transaction, slot)
        };
        let goes_on = self.state.ddl_locks.contains(&transaction)
            || self.state.site.session_of(transaction).is_some_and(|number| {
                self.requester(number).is_some_and(|requester| goes_on(requester.core()))
            });
        if !goes_on || !transaction.is_of(self.state.site.map.incarnation) {
            outputs.send(self.state.site.address, from, Signal::Abort { transaction, slot });
        }
    }

    /// The counts of its sessions since the start.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let counters = &self.state.counters;
        // All modules of the node have it together: one of them tells.
        let scratch = self.state.site.scratch.as_ref().filter(|_| self.state.site.address.instance == 0);
        vec![
            ("QUESTIONS", counters.questions()),
            ("CONNECTIONS", counters.connections),
            ("CONNECTIONS_REFUSED", counters.refused),
            ("SELECTS", counters.selects + counters.point_selects),
            ("INSERTS", counters.inserts),
            ("UPDATES", counters.updates),
            ("DELETES", counters.deletes),
            ("COMMITS", self.state.site.commits),
            ("ABORTS", counters.rollbacks),
            ("SCRATCH_BYTES_WRITTEN", self.state.site.scratch_bytes.written),
            ("SCRATCH_BYTES_READ", self.state.site.scratch_bytes.read),
            ("SCRATCH_BYTES_HELD", scratch.map_or(0, |terms| terms.room.used())),
        ]
    }

    fn on_info_request(
        &mut self,
        from: Address,
        request: RequestId,
        table: InfoTable,
        now: Now,
        outputs: &mut Outputs<Shared>,
    ) {
        let rows = match table.source() {
            InfoSource::Sql(SqlTable::Processes) => self.process_rows(now),
            InfoSource::Sql(SqlTable::ServerTransactions) => self.state.site.transaction_rows(),
            InfoSource::Sql(SqlTable::UserLocks) => self.user_lock_rows(),
            InfoSource::Main(_) | InfoSource::Driver(_) | InfoSource::Ldm(_) | InfoSource::All(_) => {
                Vec::new()
            }
        };
        outputs.send(self.state.site.address, from, Signal::InfoDone { request, rows });
    }

    /// Connections that use one of the tables in an older version, and have for so long.
    fn users_of(&self, tables: &[TableUsers], used_for: Duration, now: Now) -> Vec<u32> {
        let is_user = |session: &Session| session.uses(tables, used_for, now.monotonic);
        let users = self.sessions.iter().filter(|(_, session)| is_user(session));
        let mut users: Vec<u32> = users.map(|(number, _)| *number).collect();
        users.sort_unstable();
        users.truncate(SCHEMA_USERS_MAX);
        users
    }

    /// name, connection.
    fn user_lock_rows(&self) -> Vec<Vec<Value>> {
        let mut names: Vec<(&str, u32)> = Vec::new();
        for (number, session) in &self.sessions {
            names.extend(session.core.locks.names.iter().map(|lock| (lock.name.as_str(), *number)));
        }
        names.sort_unstable();
        names.into_iter().map(|(name, number)| vec![Value::text(name), Value::Int(number.into())]).collect()
    }

    fn process_rows(&self, now: Now) -> Vec<Vec<Value>> {
        let mut numbers: Vec<u32> = self.sessions.keys().copied().collect();
        numbers.sort_unstable();
        let row = |number: &u32| {
            let session = self.sessions.get(number)?;
            let user = if session.is_ready() { &*session.core.account.0 } else { "unauthenticated user" };
            let text = |text: Option<&str>| text.map_or(Value::Null, Value::text);
            let (command, state) = match (session.is_ready(), session.is_busy()) {
                (false, _) => ("Connect", "login".to_owned()),
                (true, true) => ("Query", session.waits_for().unwrap_or_else(|| "executing".to_owned())),
                (true, false) => ("Sleep", String::new()),
            };
            let seconds = now.monotonic.since(session.active_since).as_secs();
            Some(vec![
                Value::UInt((*number).into()),
                Value::text(user),
                Value::text(&session.host),
                text(session.core.database.as_deref()),
                Value::text(command),
                Value::Int(i64::try_from(seconds).unwrap_or(i64::MAX)),
                Value::text(&state),
                session.running_text().map_or(Value::Null, |text| {
                    let modes = session.core.variables.modes.text;
                    Value::text(&planner::without_secrets(first_characters(text, SHOWN_TEXT_MAX), modes))
                }),
                Value::UInt(self.state.site.address.node.0.into()),
            ])
        };
        numbers.iter().filter_map(row).collect()
    }

    /// For checks after a run: no statement runs and no transaction is open.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.finisher.as_ref().is_none_or(|finisher| finisher.is_idle())
            && self
                .sessions
                .values()
                .all(|session| !session.is_busy() && !session.core.client.transaction.has_participants())
    }

    /// How many alarms are set.
    #[cfg(test)]
    fn alarms(&self) -> usize {
        self.state.deadlines.len()
    }
}

fn first_characters(text: &str, count: usize) -> &str {
    text.char_indices().nth(count).map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
mod tests;
