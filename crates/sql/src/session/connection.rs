//! The connection phase: greeting, TLS, and the steps of the handshake. login.rs says who is let in.
//!
//! Connections that have logged in are at most `max_connections`, and one more of an administrator's. A connection
//! above that is told 1040, before anything is read from it or when it has logged in. Those that have not logged in are
//! counted apart (`SqlModule::make_room_for_login`).
//!
//! A connection that does not finish its handshake in time is closed.
//!
//! Deliberately not here: accounts, and what they may do (`roles`, `planner::privileges`).

use super::{Session, Stage};
use crate::environment::Environment;
use mysql_protocol::server_handshake::{HandshakeOptions, HandshakeStep};
use mysql_protocol::{
    AuthPlugin, Capabilities, ErrorPacket, HandshakeError, PacketWriter, ServerHandshake, StatusFlags,
    Transport,
};
use protocol::module::{ConnectionAction, TlsSession};
use protocol::{ConnectionKind, RequestToRuntime, Severity, SqlError};
use stdx::Duration;
use types::DynamicPrivileges;

/// Refused connections are logged no more often than this.
const REFUSAL_LOG_PAUSE: Duration = Duration::from_secs(60);

/// The low byte of utf8mb4_0900_ai_ci.
const COLLATION: u8 = 255;

fn one_too_many() -> SqlError {
    SqlError::new(1040, "Too many connections")
}

/// The packet by which a driver refuses a connection without asking a session.
#[must_use]
pub fn too_many_connections() -> Vec<u8> {
    let (error, mut bytes) = (one_too_many(), Vec::new());
    let sqlstate = error.sqlstate().as_bytes().try_into().unwrap_or(*b"HY000");
    let packet = ErrorPacket { errno: error.code, sqlstate, message: error.message.as_bytes() };
    PacketWriter::new(&mut bytes, 0).error(&packet);
    bytes
}

/// The client's host, without the port.
pub(super) fn host_of(kind: ConnectionKind, peer: &str) -> String {
    match kind {
        ConnectionKind::MySqlUnix { .. } => "localhost".to_owned(),
        ConnectionKind::MySqlTcp { .. } | ConnectionKind::Management => {
            let address = peer.rsplit_once(':').map_or(peer, |(address, _)| address);
            address.trim_start_matches('[').trim_end_matches(']').to_owned()
        }
    }
}

impl Session {
    /// Greets the client, or refuses it.
    pub(crate) fn open(&mut self, env: &mut Environment<'_>) {
        // The one above the limit may be an administrator's.
        if env.module.counters.logged_in > u64::from(env.module.config.max_connections) {
            return self.refuse_one_too_many(env);
        }
        if let Err(error) = self.account(env) {
            env.module.counters.refused += 1;
            self.core.reply_error(env, &error);
            self.close(env);
            return;
        }
        let transport = match self.kind {
            ConnectionKind::MySqlUnix { .. } => Transport::UnixSocket,
            ConnectionKind::MySqlTcp { .. } | ConnectionKind::Management => Transport::Tcp,
        };
        let offers_tls = env.module.config.has_tls && transport == Transport::Tcp;
        let options = HandshakeOptions {
            server_version: crate::variables::VERSION,
            connection_id: self.core.client.id,
            nonce: env.module.nonces.next(),
            capabilities: Capabilities::SERVER | Capabilities::given(Capabilities::SSL, offers_tls),
            collation: COLLATION,
            status: StatusFlags::AUTOCOMMIT,
            default_plugin: AuthPlugin::CachingSha2Password,
            transport,
        };
        let handshake = ServerHandshake::begin(&options, env.outputs.buffer(self.core.connection));
        self.login.handshake = Some(Box::new(handshake));
        self.await_login(env);
    }

    /// It has not logged in yet.
    pub(crate) fn is_about_to_log_in(&self) -> bool {
        self.stage == Stage::Handshake && !self.login.has_succeeded
    }

    /// It counts for max_connections.
    pub(crate) fn has_logged_in(&self) -> bool {
        self.login.has_succeeded
    }

    /// Others want to log in, and this one has had more time than they.
    pub(crate) fn give_way(&mut self, env: &mut Environment<'_>) {
        env.module.counters.refused += 1;
        self.close(env);
    }

    /// 1040, with a log line a minute.
    fn refuse_one_too_many(&mut self, env: &mut Environment<'_>) {
        env.module.counters.refused += 1;
        let (count, logged_at) = &mut env.module.too_many;
        *count += 1;
        if logged_at.is_none_or(|at| env.now.monotonic.since(at) >= REFUSAL_LOG_PAUSE) {
            let message = format!(
                "too many connections: {count} told 1040; {} are logged in at {}",
                env.module.counters.logged_in, env.module.site.address
            );
            *count = 0;
            *logged_at = Some(env.now.monotonic);
            env.outputs.event(Severity::Warning, message);
        }
        self.core.reply_error(env, &one_too_many());
        self.close(env);
    }

    /// An account that may use the connection above the limit.
    fn is_administrator(&self) -> bool {
        self.core.rights.set().is_super_or(DynamicPrivileges::CONNECTION_ADMIN)
    }

    /// The client has connect_timeout from now on.
    pub(super) fn await_login(&mut self, env: &mut Environment<'_>) {
        let timeout = Duration::from_millis(env.module.config.handshake_timeout_ms);
        self.watch_handshake(env, timeout);
    }

    /// TLS runs.
    pub(crate) fn on_security_changed(&mut self, env: &mut Environment<'_>, tls: TlsSession) {
        self.login.is_busy = false;
        self.core.tls = Some(tls);
        env.module.counters.tls_accepts += 1;
        if let Some(handshake) = &mut self.login.handshake {
            handshake.on_tls_established();
        }
    }

    pub(super) fn on_handshake_packet(&mut self, env: &mut Environment<'_>, payload: &[u8]) {
        let Some(mut handshake) = self.login.handshake.take() else { return self.close(env) };
        let step = handshake.on_packet(payload, env.outputs.buffer(self.core.connection));
        self.login.handshake = Some(handshake);
        self.on_handshake_step(env, step);
    }

    /// Does what the handshake asks for until it waits for the client or is over.
    pub(super) fn on_handshake_step(
        &mut self,
        env: &mut Environment<'_>,
        step: Result<HandshakeStep, HandshakeError>,
    ) {
        let mut step = step;
        loop {
            let Some(handshake) = &self.login.handshake else { return self.close(env) };
            self.core.sequence = handshake.sequence();
            match step {
                Ok(HandshakeStep::FindAccount) => match self.on_login(env) {
                    Some(next) => step = next,
                    None => return,
                },
                Ok(HandshakeStep::StartTls) => {
                    self.login.is_busy = true;
                    return env.outputs.act(self.core.connection, ConnectionAction::StartTls);
                }
                Ok(HandshakeStep::Receive) => return,
                Ok(HandshakeStep::Accepted) => return self.admit(env),
                Ok(HandshakeStep::CheckPassword { password }) => return self.check_password(env, password),
                Ok(HandshakeStep::PublicKeyRequested) => {
                    let connection = self.core.connection;
                    return self.ask_for_key(env, RequestToRuntime::PublicKey { connection });
                }
                Ok(HandshakeStep::DecryptPassword { encrypted }) => {
                    let connection = self.core.connection;
                    return self.ask_for_key(env, RequestToRuntime::Decrypt { connection, encrypted });
                }
                Ok(HandshakeStep::Denied) => return self.on_denied(env),
                Err(error) => {
                    env.module.counters.refused += 1;
                    self.core.reply(env, |writer: &mut PacketWriter<'_>, _| {
                        let packet: ErrorPacket<'_> = error.packet();
                        writer.error(&packet);
                    });
                    return self.close(env);
                }
            }
        }
    }

    /// The account may come in: opens the database, and says OK.
    pub(super) fn on_accepted(&mut self, env: &mut Environment<'_>) {
        let Some(handshake) = &self.login.handshake else { return self.close(env) };
        let login = handshake.login().clone();
        let schema = std::sync::Arc::clone(&env.module.site.map.schema);
        self.core.activate_default_roles(env.module);
        if !self.login.has_succeeded {
            let limit = u64::from(env.module.config.max_connections) + u64::from(self.is_administrator());
            if env.module.counters.logged_in >= limit {
                return self.refuse_one_too_many(env);
            }
            self.login.has_succeeded = true;
            env.module.counters.logged_in += 1;
        }
        self.core.capabilities = login.capabilities;
        self.core.user = format!("{}@{}", login.user, self.host).into();
        self.multi_statements = login.capabilities.contains(Capabilities::MULTI_STATEMENTS);
        if let Some(number) = login.collation
            && let Err(error) = self.core.variables.set_client_number(number)
        {
            self.core.reply_error(env, &error);
            return self.close(env);
        }
        self.core.database = None;
        if let Some(database) = &login.database {
            if let Err(error) = self.core.check_database(env.module, database) {
                self.core.reply_error(env, &error);
                return self.close(env);
            }
            if !crate::show::database_exists(&schema, database) {
                let error = SqlError::new(1049, format!("Unknown database '{database}'"));
                self.core.reply_error(env, &error);
                return self.close(env);
            }
            self.core.enter_database(&schema, database);
        }
        self.stage = self.stage_of_ready();
        self.active_since = env.now.monotonic;
        self.watch_idle(env);
        self.core.reply_ok(env, 0, 0, "");
    }
}
