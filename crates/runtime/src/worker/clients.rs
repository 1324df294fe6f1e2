//! Client connections as the worker serves them: accept, read, act, write, close.
//!
//! Invariants:
//! - a module hears `Opened` first, `Closed` last and once, and `Bytes` only in between, while it has not paused
//!   reading;
//! - replies leave in the round in which they were made, in one write per connection; "writable" events are asked for
//!   only while the kernel's buffer is full;
//! - `Writable` follows whenever `Outputs::is_congested` may have said yes: after a blocked write or a buffer above the
//!   high mark has drained;
//! - bytes that a module left over come again with more bytes, or after it resumed reading.

use super::{SWEEP_INTERVAL, Timer, Worker};
use crate::config::UNIX_SPARE;
use crate::connections::{
    Client, FirstByte, IDLE_BUFFER_SIZE, NewClient, READ_SIZE, ReadOutcome, Stage, WriteOutcome, read_once,
    write_once,
};
use crate::exchange::{Control, Parcel};
use crate::listeners::{Accepted, ListenerKind};
use crate::process::Process;
use crate::tls::{NO_KEYS_ALERT, TlsFilter, TlsProgress};
use crate::wake::{Readiness, Token, Wanted};
use protocol::module::SEND_BUFFER_HIGH;
use protocol::{CloseReason, ConnectionId, ConnectionKind, Input, ModuleKind, ReceiveBuffer, Severity};
use rustix::io::Errno;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use stdx::Duration;

/// Connections accepted per listener and round.
const ACCEPTS_PER_ROUND: usize = 32;
/// Clients served per round.
const CLIENTS_PER_ROUND: usize = 64;
/// A blocked connection whose buffers find no room in ClientMemory keeps at most so much until it is closed.
const UNCHARGED_MAX: usize = 16 * 1024;
/// A send buffer that was larger is given back as soon as it is encrypted.
const LARGE_REPLY: usize = 4 * SEND_BUFFER_HIGH;
/// Refused clients are logged no more often than this.
const REFUSAL_LOG_PAUSE: Duration = Duration::from_secs(60);
/// How long to wait when the process has no descriptor left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The result of one read of a client.
struct Filled {
    outcome: ReadOutcome,
    tls: TlsProgress,
}

impl<S: Send + 'static> Worker<S> {
    // ---- accepting --------------------------------------------------------------------------------------------------

    /// This node may now be used: listen, and say so where it fails.
    pub(super) fn open_client_listeners(&mut self) {
        for index in 0..self.listeners.len() {
            if self.listeners[index].kind.is_for_clients() {
                self.open_listener(index);
            }
        }
    }

    pub(super) fn open_listener(&mut self, index: usize) {
        let listener = &self.listeners[index];
        let token = Token::Listener(u32::try_from(index).unwrap_or(u32::MAX));
        if let Err(error) = listener.open() {
            // Somebody else took the address between our bind and now: as fatal as finding it taken at start.
            self.process.log(Severity::Error, error.to_string());
            self.process.exit(1);
        } else if self.poller.watch_level(&listener.socket, token).is_ok() {
            let message = format!("listening on {} {}", listener.kind.name(), listener.address);
            self.process.log(Severity::Info, message);
        }
    }

    pub(super) fn accept(&mut self, index: u32) {
        for _ in 0..ACCEPTS_PER_ROUND {
            let listener = &self.listeners[index as usize];
            self.counting.system_calls += 1;
            match listener.accept() {
                Ok(accepted) => self.on_accepted(listener.kind, accepted),
                Err(Errno::AGAIN) => return,
                Err(error @ (Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM)) => {
                    let message = format!("{}: no connection can be accepted: {error}", listener.kind.name());
                    self.process.log(Severity::Warning, message);
                    self.poller.forget(&listener.socket);
                    self.timers.register(self.now.monotonic + ACCEPT_PAUSE, Timer::AcceptAgain(index));
                    return;
                }
                // The connection is gone already.
                Err(_) => {}
            }
        }
    }

    pub(super) fn accept_again(&mut self, index: u32) {
        let listener = &self.listeners[index as usize];
        if self.poller.watch_level(&listener.socket, Token::Listener(index)).is_err() {
            self.timers.register(self.now.monotonic + ACCEPT_PAUSE, Timer::AcceptAgain(index));
        }
    }

    fn on_accepted(&mut self, listener: ListenerKind, accepted: Accepted) {
        if !listener.is_for_clients() {
            self.welcome_stranger(listener, accepted);
            return;
        }
        let process = &self.process;
        let spare = if listener == ListenerKind::MySqlUnix { UNIX_SPARE } else { 0 };
        let limit = process.limits.connections_max.saturating_add(spare);
        if process.connections.fetch_add(1, Ordering::Relaxed) >= limit {
            process.connections.fetch_sub(1, Ordering::Relaxed);
            self.refuse(listener, &accepted);
            return;
        }
        let (thread, module, sql) = if listener == ListenerKind::Management {
            let (thread, module) = process.modules.find(ModuleKind::Main, 0).unwrap_or((self.index, 0));
            (thread, module, None)
        } else {
            let sql = process.reserve_sql(&mut self.placement, self.now.monotonic);
            (process.sql_modules[sql].0, process.sql_modules[sql].1, Some(sql))
        };
        let Accepted { socket, kind, peer } = accepted;
        let client = NewClient { socket, kind, peer, module, sql };
        if thread == self.index {
            self.open_client(client);
        } else {
            self.exchange.send(thread, Parcel::Control(Box::new(Control::Client(client))));
        }
    }

    /// One connection too many: it is told so, if the kernel takes the words at once, and closed.
    #[cold]
    fn refuse(&mut self, listener: ListenerKind, accepted: &Accepted) {
        let process = &self.process;
        process.counters.connections_refused.fetch_add(1, Ordering::Relaxed);
        if listener != ListenerKind::Management && !process.limits.refusal.is_empty() {
            self.counting.system_calls += 1;
            let _ = write_once(&accepted.socket, &process.limits.refusal);
        }
        self.refusals += 1;
        if self.now.monotonic >= self.refusal_log_at {
            let (count, limit) = (std::mem::take(&mut self.refusals), process.limits.connections_max);
            let message = format!("{}: {count} connections above {limit} were refused", listener.name());
            process.log(Severity::Warning, message);
            self.refusal_log_at = self.now.monotonic + REFUSAL_LOG_PAUSE;
        }
    }

    /// TLS at the management port has failed: an operator whose keys are not right finds here why.
    #[cold]
    fn tell_of_failed_tls(&mut self, connection: ConnectionId) {
        let Some(client) = self.clients.get(connection).filter(|client| !client.is_mysql()) else { return };
        let why = match &client.tls {
            Some(tls) => tls.failure().to_owned(),
            None if self.process.keys().is_some() => {
                "it does not speak TLS, which is required here".to_owned()
            }
            None => "it speaks TLS, and this node has no keys".to_owned(),
        };
        if self.now.monotonic < self.failed_tls_log_at {
            self.failed_tls_unlogged += 1;
            return;
        }
        self.failed_tls_log_at = self.now.monotonic + REFUSAL_LOG_PAUSE;
        let address = rustix::net::getpeername(&client.socket).ok().flatten();
        let address = address.and_then(|address| SocketAddr::try_from(address).ok());
        let from = address.map_or_else(|| "a client that is gone".to_owned(), |address| address.to_string());
        let others = match std::mem::take(&mut self.failed_tls_unlogged) {
            0 => String::new(),
            count => format!(" ({count} others since the last such line)"),
        };
        let message = format!("management port: connection from {from} refused: TLS: {why}{others}");
        self.process.log(Severity::Warning, message);
    }

    pub(super) fn open_client(&mut self, client: NewClient) {
        let (module, kind, peer) = (client.module, client.kind, client.peer.clone());
        let connection = self.clients.insert(client);
        let token = Token::Client(connection.slot, connection.generation);
        self.counting.system_calls += 1;
        let first_byte = self.first_byte(kind, &peer);
        let watched = match self.clients.get(connection) {
            Some(client) => {
                client.first_byte = first_byte;
                self.poller.watch(&client.socket, token).is_ok()
            }
            None => false,
        };
        if !watched {
            self.clients.remove(connection, &self.process);
            return;
        }
        self.shared().statistics.connections.fetch_add(1, Ordering::Relaxed);
        self.dispatch(module, Input::Opened { connection, kind, peer });
    }

    /// Operators' tools speak TLS with the management port where there are keys; from other machines they may have to.
    fn first_byte(&self, kind: ConnectionKind, peer: &str) -> FirstByte {
        let is_near = || peer.parse::<SocketAddr>().is_ok_and(|address| address.ip().is_loopback());
        match kind {
            ConnectionKind::MySqlTcp { .. } | ConnectionKind::MySqlUnix { .. } => FirstByte::Plain,
            ConnectionKind::Management if self.process.management_requires_tls && !is_near() => {
                FirstByte::Tls
            }
            // Without keys, too: a client that wants TLS is told.
            ConnectionKind::Management => FirstByte::Either,
        }
    }

    // ---- reading ----------------------------------------------------------------------------------------------------

    pub(super) fn on_client_event(&mut self, slot: u32, generation: u32, event: Readiness) {
        let Some(connection) = self.clients.identify(slot, generation) else { return };
        let Some(client) = self.clients.get(connection) else { return };
        client.is_readable |= event.readable;
        client.is_hung_up |= event.hung_up;
        if client.is_hung_up && (client.is_paused || client.stage != Stage::Open) {
            // Nobody will read what is still to come, and the session should hear that its client has left.
            let reason = match client.stage {
                Stage::Closing | Stage::Discarding => CloseReason::Requested,
                Stage::Open | Stage::StartingTls => CloseReason::Peer,
            };
            self.close_client(connection, reason);
            return;
        }
        let (wants_service, is_blocked) = (client.wants_service(), client.is_blocked);
        if wants_service {
            self.clients.make_ready(connection);
        }
        if event.writable && is_blocked {
            self.write_client(connection);
        }
    }

    /// Reads ready clients once each, as long as nothing downstream is congested.
    pub(super) fn serve_clients(&mut self) {
        let count = self.clients.ready_count().min(CLIENTS_PER_ROUND);
        for _ in 0..count {
            if self.is_congested() {
                return;
            }
            let Some(connection) = self.clients.next_ready() else { return };
            self.read_client(connection);
            if self.handled_since_clock == 0 && self.is_round_over() {
                return;
            }
        }
    }

    fn read_client(&mut self, connection: ConnectionId) {
        let Some(client) = self.clients.get(connection) else { return };
        if !client.wants_service() {
            return;
        }
        if client.stage == Stage::Discarding {
            self.discard(connection);
            return;
        }
        let module = client.module;
        let owns_buffer = !client.receive.bytes().is_empty();
        let mut buffer = std::mem::take(if owns_buffer { &mut client.receive } else { &mut self.scratch });
        let owed = std::mem::take(&mut client.is_owed_bytes);
        let known = buffer.bytes().len();
        let filled = self.fill(connection, &mut buffer);
        self.look_at_clock();
        if filled.tls == TlsProgress::Established {
            let filter = self.clients.get(connection).and_then(|client| client.tls.as_ref());
            if let Some(tls) = filter.map(|filter| filter.session()) {
                self.dispatch(module, Input::SecurityChanged { connection, tls });
            }
        }
        let received = buffer.bytes().len();
        if received > known || (owed && received > 0) {
            self.reading = Some(connection);
            self.dispatch(module, Input::Bytes { connection, buffer: &mut buffer });
            let resumed = self.reading.take().is_none();
            let left = buffer.bytes().len();
            // A module that resumes within the call is owed the rest, if the call moved something: else it would never
            // end.
            if resumed
                && left < received
                && let Some(client) = self.clients.get(connection)
            {
                client.is_owed_bytes = left > 0;
            }
        }
        let left = buffer.bytes().len();
        self.put_back(connection, buffer, owns_buffer);
        if filled.tls == TlsProgress::Failed {
            self.process.counters.connections_refused.fetch_add(1, Ordering::Relaxed);
            self.tell_of_failed_tls(connection);
            self.write_client(connection);
            self.close_client(connection, CloseReason::Limit);
        } else if filled.outcome == ReadOutcome::Ended {
            // Replies to what came before the end still leave.
            self.write_client(connection);
            self.close_client(connection, CloseReason::Peer);
        } else if left > self.process.limits.receive_buffer_max {
            self.process.counters.connections_refused.fetch_add(1, Ordering::Relaxed);
            self.close_client(connection, CloseReason::Limit);
        } else if self.clients.get(connection).is_some_and(|client| client.wants_service()) {
            self.clients.make_ready(connection);
        }
    }

    /// Reads once from the socket, through TLS if there is TLS.
    fn fill(&mut self, connection: ConnectionId, buffer: &mut ReceiveBuffer) -> Filled {
        let nothing = Filled { outcome: ReadOutcome::Drained, tls: TlsProgress::Going };
        let Some(client) = self.clients.get(connection) else { return nothing };
        if !client.is_readable {
            return nothing;
        }
        self.counting.system_calls += 1;
        let tail = buffer.tail();
        let mut filled = nothing;
        match &mut client.tls {
            None => {
                tail.reserve(READ_SIZE);
                filled.outcome = read_once(&client.socket, tail);
                if client.first_byte != FirstByte::Plain && !tail.is_empty() {
                    let answer = self.outputs.buffer(connection);
                    filled.tls = begin_tls_or_not(&self.process, client, tail, answer);
                }
            }
            Some(tls) => {
                self.raw_scratch.clear();
                filled.outcome = read_once(&client.socket, &mut self.raw_scratch);
                filled.tls = tls.receive(&self.raw_scratch, tail);
                if tls.has_ended() {
                    filled.outcome = ReadOutcome::Ended;
                }
                if !tls.outgoing.is_empty() {
                    // Marks it for the flush: the handshake has something to say.
                    self.outputs.buffer(connection);
                }
            }
        }
        // After a hang-up the end must still be seen, however short the read was.
        client.is_readable = filled.outcome == ReadOutcome::More || client.is_hung_up;
        filled
    }

    /// Keeps what the module left over with its connection, and the thread's buffer with the thread.
    fn put_back(&mut self, connection: ConnectionId, mut buffer: ReceiveBuffer, owns_buffer: bool) {
        let client = self.clients.get(connection);
        if owns_buffer {
            if let Some(client) = client {
                if !buffer.bytes().is_empty() {
                    buffer.shrink();
                    client.receive = buffer;
                }
                self.account(connection);
            }
            return;
        }
        let left = buffer.bytes().len();
        if left > 0 {
            if let Some(client) = client {
                client.receive.tail().extend_from_slice(buffer.bytes());
                self.account(connection);
            }
            buffer.consume(left);
        }
        self.scratch = buffer;
    }

    /// Drops what a rejected client still sends.
    fn discard(&mut self, connection: ConnectionId) {
        let Some(client) = self.clients.get(connection) else { return };
        self.counting.system_calls += 1;
        self.raw_scratch.clear();
        match read_once(&client.socket, &mut self.raw_scratch) {
            ReadOutcome::Ended => self.close_client(connection, CloseReason::Requested),
            ReadOutcome::Drained => client.is_readable = client.is_hung_up,
            ReadOutcome::More => self.clients.make_ready(connection),
        }
    }

    // ---- memory -----------------------------------------------------------------------------------------------------

    /// Brings what is charged for a connection's buffers up to date. Without room, the module is told, which closes the
    /// connection.
    #[cold]
    fn account(&mut self, connection: ConnectionId) {
        let Some(ledger) = &mut self.ledger else { return };
        let Some(client) = self.clients.get(connection) else { return };
        // A send buffer that the kernel has emptied is given back by the next sweep, or used again.
        let unsent = if client.is_blocked { self.outputs.unsent(connection) } else { None };
        // The rest of its capacity was never written to.
        let unsent = unsent.map_or(0, |bytes| bytes.len());
        let size = client.buffers_size() + unsent;
        if ledger.bring(&mut client.holding, size as u64).is_ok() {
            return;
        }
        self.process.counters.memory_refused.fetch_add(1, Ordering::Relaxed);
        // Bytes are missing from here on: none that follow may be taken for a packet.
        client.receive = ReceiveBuffer::default();
        client.is_paused = true;
        let (module, stage, is_blocked) = (client.module, client.stage, client.is_blocked);
        match stage {
            // The client takes nothing: hardly anything of what it would be told would reach it.
            _ if is_blocked && size > UNCHARGED_MAX => self.close_client(connection, CloseReason::Limit),
            _ if !client.is_mysql() => self.close_client(connection, CloseReason::Limit),
            Stage::Open => self.notify(module, Input::MemoryFull { connection }),
            Stage::StartingTls => self.close_client(connection, CloseReason::Limit),
            Stage::Closing | Stage::Discarding => {}
        }
    }

    // ---- what modules ask for ---------------------------------------------------------------------------------------

    pub(super) fn act(&mut self, connection: ConnectionId, action: protocol::module::ConnectionAction) {
        use protocol::module::ConnectionAction as Action;
        let reading_this = self.reading == Some(connection);
        let Some(client) = self.clients.get(connection) else { return };
        match action {
            Action::PauseReading => client.is_paused = true,
            Action::ResumeReading => {
                client.is_paused = false;
                if reading_this {
                    self.reading = None;
                } else {
                    client.is_owed_bytes = !client.receive.bytes().is_empty();
                    if client.wants_service() {
                        self.clients.make_ready(connection);
                    }
                }
            }
            Action::StartTls => {
                if client.stage == Stage::Open && client.tls.is_none() {
                    client.stage = Stage::StartingTls;
                    // Marks it for the flush, which begins TLS once the bytes before it have left.
                    self.outputs.buffer(connection);
                }
            }
            Action::Close | Action::Reject => {
                if !matches!(client.stage, Stage::Closing | Stage::Discarding) {
                    client.stage = Stage::Closing;
                    client.is_rejected = action == Action::Reject;
                    self.outputs.buffer(connection);
                }
            }
        }
    }

    fn start_tls(&mut self, connection: ConnectionId) {
        let filter = self.process.tls.as_ref().and_then(|config| TlsFilter::new(config).ok());
        let Some(client) = self.clients.get(connection) else { return };
        let Some(mut filter) = filter else {
            self.close_client(connection, CloseReason::Limit);
            return;
        };
        // A client may send its first TLS bytes without waiting: they lie behind what the module consumed.
        let raw = std::mem::take(&mut client.receive);
        let progress = filter.receive(raw.bytes(), client.receive.tail());
        let session = filter.session();
        let module = client.module;
        client.tls = Some(Box::new(filter));
        let size = client.buffers_size() as u64;
        if let Some(ledger) = &mut self.ledger
            && ledger.bring(&mut client.holding, size).is_err()
        {
            self.process.counters.memory_refused.fetch_add(1, Ordering::Relaxed);
            self.close_client(connection, CloseReason::Limit);
            return;
        }
        client.stage = Stage::Open;
        client.is_owed_bytes = !client.receive.bytes().is_empty();
        if client.wants_service() {
            self.clients.make_ready(connection);
        }
        match progress {
            TlsProgress::Going => self.write_client(connection),
            TlsProgress::Established => {
                self.notify(module, Input::SecurityChanged { connection, tls: session });
                self.write_client(connection);
            }
            TlsProgress::Failed => self.close_client(connection, CloseReason::Limit),
        }
    }

    // ---- writing ----------------------------------------------------------------------------------------------------

    pub(super) fn flush_clients(&mut self) {
        let mut dirty = std::mem::take(&mut self.dirty_scratch);
        self.outputs.take_dirty(&mut dirty);
        for connection in dirty.drain(..) {
            let Some(client) = self.clients.get(connection) else {
                self.outputs.forget(connection);
                continue;
            };
            if client.is_blocked {
                let unsent = self.outputs.unsent(connection).map_or(0, |bytes| bytes.len());
                let is_closing = client.stage == Stage::Closing;
                self.account(connection);
                if unsent > self.process.limits.send_buffer_max {
                    self.process.counters.connections_refused.fetch_add(1, Ordering::Relaxed);
                    self.close_client(connection, CloseReason::Limit);
                } else if is_closing {
                    self.linger(connection);
                }
            } else {
                self.write_client(connection);
            }
        }
        self.dirty_scratch = dirty;
    }

    /// Writes once what is unsent, then does what waited for the buffer to be empty.
    fn write_client(&mut self, connection: ConnectionId) {
        let Some(client) = self.clients.get(connection) else { return };
        let mut nothing = Vec::new();
        let plain = self.outputs.unsent(connection).unwrap_or(&mut nothing);
        let was_high = plain.len() >= SEND_BUFFER_HIGH;
        let bytes = match &mut client.tls {
            None => plain,
            Some(tls) => {
                // Behind whatever the handshake still has to say: nothing else would send it later.
                if !plain.is_empty() {
                    tls.send(plain);
                    if plain.capacity() > LARGE_REPLY {
                        *plain = Vec::new();
                    }
                }
                &mut tls.outgoing
            }
        };
        let mut taken = 0;
        if !bytes.is_empty() {
            self.counting.system_calls += 1;
            match write_once(&client.socket, bytes) {
                WriteOutcome::Took(count) if count == bytes.len() => bytes.clear(),
                WriteOutcome::Took(count) => {
                    drop(bytes.drain(..count));
                    if bytes.capacity() > 2 * bytes.len() + SEND_BUFFER_HIGH {
                        bytes.shrink_to_fit();
                    }
                    taken = count;
                }
                WriteOutcome::Broken => {
                    self.close_client(connection, CloseReason::Peer);
                    return;
                }
            }
        }
        let is_blocked = !bytes.is_empty();
        if is_blocked || client.is_blocked || was_high {
            self.outputs.add_taken(connection, taken);
            self.on_written_partly(connection, is_blocked, was_high);
        }
        if !is_blocked {
            self.on_drained(connection);
        }
    }

    #[cold]
    fn on_written_partly(&mut self, connection: ConnectionId, is_blocked: bool, was_high: bool) {
        let Some(client) = self.clients.get(connection) else { return };
        if is_blocked != client.is_blocked {
            let wanted = if is_blocked { Wanted::Yes } else { Wanted::No };
            let token = Token::Client(connection.slot, connection.generation);
            self.counting.system_calls += 1;
            self.poller.set_writable_wanted(&client.socket, token, wanted);
            client.is_blocked = is_blocked;
            self.outputs.set_congested(connection, is_blocked);
            if is_blocked && client.stage == Stage::Open {
                let module = client.module;
                self.notify(module, Input::Blocked { connection });
            }
        }
        self.account(connection);
        let Some(client) = self.clients.get(connection) else { return };
        client.is_congested |= is_blocked || was_high;
        if is_blocked && client.stage == Stage::Closing {
            self.linger(connection);
            return;
        }
        if !is_blocked && client.is_congested {
            client.is_congested = false;
            let module = client.module;
            self.notify(module, Input::Writable { connection });
        }
    }

    /// A closing connection's client has some time to take the last bytes.
    fn linger(&mut self, connection: ConnectionId) {
        let until = self.now.monotonic + self.process.limits.close_linger;
        if let Some(client) = self.clients.get(connection)
            && !client.is_lingering
        {
            client.is_lingering = true;
            self.timers.register(until, Timer::Linger(connection));
        }
    }

    fn on_drained(&mut self, connection: ConnectionId) {
        let Some(client) = self.clients.get(connection) else { return };
        match client.stage {
            Stage::Open => {}
            Stage::StartingTls => {
                self.start_tls(connection);
                return;
            }
            Stage::Closing if client.is_rejected && !client.is_hung_up => {
                self.begin_discarding(connection);
                return;
            }
            Stage::Closing => {
                self.close_client(connection, CloseReason::Requested);
                return;
            }
            Stage::Discarding => return,
        }
        if !client.is_swollen
            && self.outputs.unsent(connection).is_some_and(|bytes| bytes.capacity() > IDLE_BUFFER_SIZE)
        {
            client.is_swollen = true;
            self.clients.swollen.push(connection);
            if !self.is_sweep_planned {
                self.is_sweep_planned = true;
                self.timers.register(self.now.monotonic + SWEEP_INTERVAL, Timer::Sweep);
            }
        }
    }

    /// All is sent: the client hears that nothing follows, and has some time to stop sending.
    fn begin_discarding(&mut self, connection: ConnectionId) {
        let Some(client) = self.clients.get(connection) else { return };
        client.stage = Stage::Discarding;
        client.receive = ReceiveBuffer::default();
        let told = rustix::net::shutdown(&client.socket, rustix::net::Shutdown::Write);
        if told.is_err() {
            self.close_client(connection, CloseReason::Requested);
            return;
        }
        if client.wants_service() {
            self.clients.make_ready(connection);
        }
        self.account(connection);
        self.linger(connection);
    }

    /// Gives back the memory of send buffers that are empty now; the busy ones will take it again, once per sweep.
    pub(super) fn sweep(&mut self) {
        self.is_sweep_planned = false;
        for connection in std::mem::take(&mut self.clients.swollen) {
            let Some(client) = self.clients.get(connection) else { continue };
            client.is_swollen = false;
            if let Some(tls) = &mut client.tls
                && tls.outgoing.is_empty()
            {
                tls.outgoing = Vec::new();
            }
            if let Some(bytes) = self.outputs.unsent(connection)
                && bytes.is_empty()
            {
                *bytes = Vec::new();
            }
            if self.clients.get(connection).is_some_and(|client| client.holding.bytes() > 0) {
                self.account(connection);
            }
        }
    }

    /// Closes the socket at once; the module hears of it in its turn.
    pub(super) fn close_client(&mut self, connection: ConnectionId, reason: CloseReason) {
        let Some(mut client) = self.clients.remove(connection, &self.process) else { return };
        if let Some(ledger) = &mut self.ledger {
            let released = ledger.bring(&mut client.holding, 0);
            stdx::require!(released.is_ok(), "giving back is refused");
        }
        self.outputs.forget(connection);
        self.shared().statistics.connections.fetch_sub(1, Ordering::Relaxed);
        self.notify(client.module, Input::Closed { connection, reason });
    }
}

/// The first bytes of a connection that may speak TLS have come: a record of a handshake begins TLS with certificates
/// at both ends. Without keys the other end is answered that there are none.
fn begin_tls_or_not(
    process: &Process,
    client: &mut Client,
    received: &mut Vec<u8>,
    answer: &mut Vec<u8>,
) -> TlsProgress {
    const HANDSHAKE_RECORD: u8 = 22;
    let first_byte = std::mem::replace(&mut client.first_byte, FirstByte::Plain);
    if received.first() != Some(&HANDSHAKE_RECORD) {
        if first_byte == FirstByte::Tls {
            // Nothing of it is obeyed.
            received.clear();
            return TlsProgress::Failed;
        }
        return TlsProgress::Going;
    }
    let Some(mut filter) = process.keys().and_then(|keys| keys.accept().ok()) else {
        received.clear();
        answer.extend_from_slice(&NO_KEYS_ALERT);
        return TlsProgress::Failed;
    };
    let raw = std::mem::take(received);
    let progress = filter.receive(&raw, received);
    client.tls = Some(Box::new(filter));
    progress
}
