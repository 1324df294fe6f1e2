//! Logins, and the limits of accounts.
//!
//! ```text
//! FindAccount ─ wait for the pair's turn ─ verifier ─┬─ Accepted ──────────────────────────────┬─► checks
//!                        (guessing.rs)              └─ CheckPassword ─ slow hash, in slices ──┘      │
//!                                                                                Ready | Restricted ◄┘
//! ```
//! The checks come after the password, as in MySQL, so that only those who know it hear more than 1045. They are: too
//! many wrong ones before (3955), ACCOUNT LOCK (3118), REQUIRE SSL (1045), an expired password (1862), and how many
//! connections there may be (1226, 1203).
//!
//! An account without a password is let in only from this machine. `root` is let in by the Unix socket without a
//! password if the client's process runs as the user that this process runs as, even if the account is locked.
//!
//! A session of an account with limits on statements, or with an expired password, is `Restricted`: each command is
//! looked at before it is done. Others pay nothing for that.
//!
//! Deliberately not here: privileges.

use super::{Session, Stage};
use crate::accounts::{self, Admission, Demand};
use crate::environment::Environment;

use crate::variables::Scope;
use mysql_protocol::auth;
use mysql_protocol::auth::slow::{SlowHash, SlowVerifier};
use mysql_protocol::{
    AuthPlugin, Capabilities, Command, HandshakeError, HandshakeStep, ServerHandshake, Transport, Verifier,
};
use protocol::{ConnectionKind, PasswordKeyAnswer, RequestToRuntime, Severity, SqlError};
use query::{AccountName, AccountNews};
use stdx::{Duration, Instant};
use types::{PasswordLockTime, RequiredSecurity, ResourceLimits, User, Value};

/// Rounds of a slow hash at a time: about as long as as many rows take.
pub(crate) const ROUNDS_PER_SLICE: u32 = 50;

/// The account that the node's own user gets by the Unix socket.
const OWNER: &str = "root";

/// The reason for which a login waits. The client's next bytes wait with it.
enum LoginWait {
    /// Its turn: the pair of host and name was refused before.
    Turn(Instant),
    /// The key with which passwords are encrypted on connections without TLS, or what it says.
    Key,
    /// A slow hash of the password that it gave.
    Password(PasswordCheck),
}

/// A password that is being checked.
struct PasswordCheck {
    hash: SlowHash,
    /// None: it is checked in vain.
    expected: Option<SlowVerifier>,
    password: Vec<u8>,
}

impl Drop for PasswordCheck {
    fn drop(&mut self) {
        self.password.fill(0);
    }
}

/// The state of a session's login.
#[derive(Default)]
pub(super) struct Login {
    pub(super) handshake: Option<Box<ServerHandshake>>,
    /// It counts for max_connections.
    pub(super) has_succeeded: bool,
    /// TLS was asked for, or a password is being checked: the bytes that follow are not to be read until then.
    pub(super) is_busy: bool,
    wait: Option<Box<LoginWait>>,
    /// The account that counts this connection.
    counted: Option<AccountName>,
    restriction: Restriction,
}

impl Login {
    pub(super) fn waits(&self) -> bool {
        self.wait.is_some()
    }

    pub(super) fn stop_waiting(&mut self) {
        self.wait = None;
    }
}

/// The restriction that each command of a session is checked against.
#[derive(Clone, Copy, Default)]
struct Restriction {
    limits: ResourceLimits,
    must_change_password: bool,
}

impl Restriction {
    fn is_none(&self) -> bool {
        !self.must_change_password && self.limits.queries_per_hour == 0 && self.limits.updates_per_hour == 0
    }
}

impl Session {
    fn is_local(&self) -> bool {
        matches!(self.kind, ConnectionKind::MySqlUnix { .. } | ConnectionKind::MySqlTcp { loopback: true })
    }

    /// The hosts that an account's pattern may match.
    fn hosts(&self) -> Vec<&str> {
        let mut hosts = vec![self.host.as_str()];
        if self.is_local() {
            hosts.extend(["localhost", "127.0.0.1"]);
        }
        hosts
    }

    /// True if the node's own user asks for `root` by the Unix socket.
    fn is_owner(&self, name: &str) -> bool {
        name == OWNER && self.kind == (ConnectionKind::MySqlUnix { is_owner: true })
    }

    fn login_name(&self) -> String {
        self.login.handshake.as_ref().map_or_else(String::new, |handshake| handshake.login().user.clone())
    }

    /// The account that the client gets if it knows the password; None if it can get none from where it comes.
    fn account_of_client(&self, env: &Environment<'_>) -> Option<User> {
        let name = self.login_name();
        let schema = &env.module.site.map.schema;
        if self.is_owner(&name)
            && let Some(user) = schema.user_named(OWNER, &self.hosts())
        {
            return Some(user.clone());
        }
        let user = schema.user_of_client(&name, &self.hosts())?;
        (!user.verifier.is_empty() || self.is_local()).then(|| user.clone())
    }

    // ---- before the password ----------------------------------------------------------------------------------------

    /// The client has said who it is: the next step, unless it must wait for its turn.
    pub(super) fn on_login(
        &mut self,
        env: &mut Environment<'_>,
    ) -> Option<Result<HandshakeStep, HandshakeError>> {
        let name = self.login_name();
        if self.is_owner(&name) {
            return self.find_account(env);
        }
        let patience = Duration::from_millis(env.module.config.handshake_timeout_ms);
        let now = env.now.monotonic;
        match env.module.accounts.guessing.admit(&self.host, &name, patience, now) {
            Admission::Now => self.find_account(env),
            Admission::At(at) => {
                self.wake_login(env, at);
                self.wait(LoginWait::Turn(at));
                None
            }
            Admission::Refused => {
                self.refuse(env, &self.access_denied());
                None
            }
        }
    }

    fn find_account(&mut self, env: &mut Environment<'_>) -> Option<Result<HandshakeStep, HandshakeError>> {
        let user = self.account_of_client(env);
        let is_trusted = user.is_some() && self.is_owner(&self.login_name());
        let verifier = user.and_then(|user| env.module.accounts.verifier(&user));
        let handshake = self.login.handshake.as_mut()?;
        let out = env.outputs.buffer(self.core.connection);
        let step = match is_trusted {
            true => Ok(handshake.on_trusted(out)),
            false => handshake.on_account(verifier.as_ref(), out),
        };
        Some(step)
    }

    fn wait(&mut self, wait: LoginWait) {
        self.login.wait = Some(Box::new(wait));
        (self.login.is_busy, self.awaits_lease) = (true, true);
    }

    /// Goes on with a login that waited.
    pub(super) fn resume_login(&mut self, env: &mut Environment<'_>) {
        let Some(wait) = self.login.wait.take() else { return };
        match *wait {
            LoginWait::Turn(at) if env.now.monotonic < at => self.login.wait = Some(wait),
            LoginWait::Turn(_) => {
                (self.login.is_busy, self.awaits_lease) = (false, false);
                if let Some(step) = self.find_account(env) {
                    self.on_handshake_step(env, step);
                }
            }
            LoginWait::Key => self.login.wait = Some(wait),
            LoginWait::Password(check) => self.step_password(env, check),
        }
    }

    // ---- the password encrypted -------------------------------------------------------------------------------------

    /// The runtime has the key.
    pub(super) fn ask_for_key(&mut self, env: &mut Environment<'_>, request: RequestToRuntime) {
        env.outputs.request(request);
        self.wait(LoginWait::Key);
    }

    /// The runtime's answer: the key, or the password.
    pub(crate) fn on_password_key(&mut self, env: &mut Environment<'_>, answer: PasswordKeyAnswer) {
        let is_awaited = matches!(self.login.wait.as_deref(), Some(LoginWait::Key));
        let (true, Some(handshake)) = (is_awaited, &mut self.login.handshake) else { return };
        self.login.wait = None;
        (self.login.is_busy, self.awaits_lease) = (false, false);
        match answer {
            PasswordKeyAnswer::Public(pem) if !handshake.is_finished() => {
                let out = env.outputs.buffer(self.core.connection);
                let step = handshake.send_public_key(pem.as_bytes(), out);
                self.on_handshake_step(env, Ok(step));
            }
            PasswordKeyAnswer::Clear(clear) => {
                match auth::password_from_decrypted(&clear, handshake.nonce()) {
                    Some(password) => self.check_password(env, password),
                    None => self.on_denied(env),
                }
            }
            PasswordKeyAnswer::Public(_) | PasswordKeyAnswer::None => self.on_denied(env),
            // That is no guess of a password, so nobody is locked for it.
            PasswordKeyAnswer::Busy => self.refuse(env, &SqlError::new(1040, "Too many connections")),
        }
        self.resume(env);
    }

    // ---- the password in clear --------------------------------------------------------------------------------------

    /// Checks a password that the client gave in clear.
    pub(super) fn check_password(&mut self, env: &mut Environment<'_>, password: Vec<u8>) {
        let stored = self.account_of_client(env).and_then(|user| Verifier::from_stored(&user.verifier));
        let expected = match stored {
            Some(Verifier::Slow(expected)) => Some(expected),
            Some(fast @ Verifier::CachingSha2Password(_)) if fast.verify_password(&password) => {
                return self.admit(env);
            }
            _ => None,
        };
        let hash = match &expected {
            Some(expected) => expected.hash(&password),
            None => accounts::decoy().and_then(|decoy| decoy.hash(&password)),
        };
        match hash {
            Some(hash) => self.step_password(env, PasswordCheck { hash, expected, password }),
            // No password is so long.
            None => self.on_denied(env),
        }
    }

    fn step_password(&mut self, env: &mut Environment<'_>, mut check: PasswordCheck) {
        let made = loop {
            if let Some(made) = check.hash.run(ROUNDS_PER_SLICE) {
                break made;
            }
            if !env.budget.spend(ROUNDS_PER_SLICE) {
                self.wait(LoginWait::Password(check));
                return self.later(env);
            }
        };
        (self.login.is_busy, self.awaits_lease) = (false, false);
        let user = self.account_of_client(env);
        let (Some(expected), Some(user)) = (&check.expected, user) else { return self.on_denied(env) };
        if !made.is_equal(expected) || user.verifier != expected.to_bytes() {
            return self.on_denied(env);
        }
        if let Verifier::CachingSha2Password(digest) =
            Verifier::from_password(AuthPlugin::CachingSha2Password, &check.password)
        {
            let (account, stored) = (accounts::name_of(&user), user.verifier);
            let digest = query::account_news::Digest(digest);
            env.tell(AccountNews::PasswordSeen { account, stored, digest });
        }
        self.admit(env);
    }

    // ---- refused ----------------------------------------------------------------------------------------------------

    fn access_denied(&self) -> SqlError {
        let (user, used_password) = match &self.login.handshake {
            Some(handshake) => (handshake.login().user.as_str(), handshake.login().used_password),
            None => ("", false),
        };
        let (host, used) = (&self.host, if used_password { "YES" } else { "NO" });
        SqlError::new(1045, format!("Access denied for user '{user}'@'{host}' (using password: {used})"))
    }

    fn refuse(&mut self, env: &mut Environment<'_>, error: &SqlError) {
        env.module.counters.refused += 1;
        self.core.reply_error(env, error);
        self.close(env);
    }

    /// The password is wrong, or there is no such account.
    pub(super) fn on_denied(&mut self, env: &mut Environment<'_>) {
        let name = self.login_name();
        let mut error = self.access_denied();
        if let Some(user) = self.account_of_client(env) {
            let attributes = &user.attributes;
            let locks = attributes.failed_login_attempts > 0
                && attributes.password_lock_time != PasswordLockTime::Days(0);
            if locks {
                let (account, resets) = (accounts::name_of(&user), attributes.login_resets);
                let is_first = env.module.accounts.is_lock_over(&user, env.now);
                env.tell(AccountNews::WrongPassword { account, resets, is_first });
            }
            if let Err(locked) = env.module.accounts.check_lock(&user, &name, &self.host, env.now) {
                error = locked;
            }
        }
        let line = env.module.accounts.guessing.log_line(&self.host, &name, env.now.monotonic);
        let (host, is_logged) = (self.host.clone(), line.is_some());
        if let Some(line) = line {
            env.outputs.event(Severity::Warning, line);
        }
        env.tell(AccountNews::Refused { host, user: name, is_logged });
        self.refuse(env, &error);
    }

    // ---- let in -----------------------------------------------------------------------------------------------------

    /// The client is who it says: whether its account may come in now.
    pub(super) fn admit(&mut self, env: &mut Environment<'_>) {
        let Some(user) = self.account_of_client(env) else { return self.on_denied(env) };
        let name = self.login_name();
        let mut must_change_password = false;
        if !self.is_owner(&name) {
            match self.check_account(env, &user, &name) {
                Ok(is_expired) => must_change_password = is_expired,
                Err(error) => return self.refuse(env, &error),
            }
        }
        let account = accounts::name_of(&user);
        if user.attributes.failed_login_attempts > 0 {
            env.tell(AccountNews::RightPassword(account.clone()));
        }
        if env.module.accounts.guessing.remembers(&self.host, &name) {
            env.tell(AccountNews::Welcomed { host: self.host.clone(), user: name });
        }
        env.tell(AccountNews::Opened(account.clone()));
        self.core.account = (account.0.as_str().into(), account.1.as_str().into());
        self.core.attributes =
            self.login.handshake.as_mut().map_or_else(Vec::new, |handshake| handshake.take_attributes());
        self.login.counted = Some(account);
        self.login.restriction = Restriction { limits: user.attributes.limits, must_change_password };
        self.on_accepted(env);
    }

    /// Whether the account must change its password, or why it may not come in.
    fn check_account(&self, env: &mut Environment<'_>, user: &User, name: &str) -> Result<bool, SqlError> {
        let Some(handshake) = &self.login.handshake else { return Err(self.access_denied()) };
        env.module.accounts.check_lock(user, name, &self.host, env.now)?;
        if user.attributes.is_locked {
            let message = format!("Access denied for user '{name}'@'{}'. Account is locked.", self.host);
            return Err(SqlError::new(3118, message));
        }
        if user.attributes.security == RequiredSecurity::Ssl && handshake.transport() != Transport::Tls {
            return Err(self.access_denied());
        }
        let lifetime = self.global_number("default_password_lifetime");
        let is_expired = accounts::is_password_expired(user, lifetime, env.now);
        let capabilities = handshake.login().capabilities;
        if is_expired && !capabilities.contains(Capabilities::CAN_HANDLE_EXPIRED_PASSWORDS) {
            let message = "Your password has expired. To log in you must change it using a client that supports \
                           expired passwords.";
            return Err(SqlError::new(1862, message));
        }
        let for_everybody = self.global_number("max_user_connections");
        env.module.accounts.check_connections(user, for_everybody, env.now)?;
        Ok(is_expired)
    }

    fn global_number(&self, name: &str) -> u32 {
        match self.core.variables.get(name, Scope::Global) {
            Some((Value::UInt(number), _)) => u32::try_from(number).unwrap_or(u32::MAX),
            Some((Value::Int(number), _)) => u32::try_from(number).unwrap_or(0),
            _ => 0,
        }
    }

    /// The account does not count this connection any more.
    pub(super) fn leave_account(&mut self, env: &mut Environment<'_>) {
        if let Some(account) = self.login.counted.take() {
            env.tell(AccountNews::Closed(account));
        }
    }

    // ---- restricted sessions ----------------------------------------------------------------------------------------

    /// The stage of a session that was let in.
    pub(super) fn stage_of_ready(&self) -> Stage {
        let is_plain = self.login.restriction.is_none() && !self.core.variables.is_foreign();
        if is_plain { Stage::Ready } else { Stage::Restricted }
    }

    /// A command of a restricted session.
    pub(super) fn on_restricted_packet(&mut self, env: &mut Environment<'_>, payload: &[u8]) {
        if env.module.draining.is_some() && self.is_at_rest() {
            self.core.reply_error(env, &SqlError::shutdown());
            return self.close(env);
        }
        self.active_since = env.now.monotonic;
        env.budget.spend(1);
        match Command::parse(payload, self.core.capabilities) {
            Ok(command) => self.run_in_client_set(env, command),
            // A command that cannot be read is refused where it is done.
            Err(_) => self.on_command(env, payload),
        }
        self.watch_idle(env);
    }

    pub(super) fn check_command(
        &mut self,
        env: &mut Environment<'_>,
        command: &Command<'_>,
    ) -> Result<(), SqlError> {
        self.look_for_new_password(env);
        if self.login.restriction.is_none() {
            return Ok(());
        }
        match command {
            Command::Query { text, .. } => {
                let text = String::from_utf8_lossy(text);
                planner::split_statements(&text, self.core.variables.modes.text)
                    .into_iter()
                    .try_for_each(|text| self.check_text(env, text))
            }
            Command::StatementPrepare { text } if self.login.restriction.must_change_password => {
                match planner::leading_words(&String::from_utf8_lossy(text)).changes_password() {
                    true => Ok(()),
                    false => Err(must_change_password()),
                }
            }
            Command::StatementExecute(execute) => {
                let text = self.statements.text(execute.statement_id);
                text.map_or(Ok(()), |text| self.check_text(env, &text))
            }
            Command::InitDatabase { .. } | Command::FieldList { .. }
                if self.login.restriction.must_change_password =>
            {
                Err(must_change_password())
            }
            Command::StatementPrepare { .. }
            | Command::InitDatabase { .. }
            | Command::FieldList { .. }
            | Command::StatementClose { .. }
            | Command::StatementReset { .. }
            | Command::StatementSendLongData { .. }
            | Command::StatementFetch { .. }
            | Command::Ping
            | Command::Quit
            | Command::Statistics
            | Command::Refresh { .. }
            | Command::ProcessInfo
            | Command::ProcessKill { .. }
            | Command::Debug
            | Command::ChangeUser(_)
            | Command::ResetConnection
            | Command::SetOption(_) => Ok(()),
        }
    }

    /// Whether a statement may run; it is counted.
    fn check_text(&self, env: &mut Environment<'_>, text: &str) -> Result<(), SqlError> {
        let words = planner::leading_words(text);
        if self.login.restriction.must_change_password && !words.changes_password() {
            return Err(must_change_password());
        }
        let limits = self.login.restriction.limits;
        let is_counted = limits.queries_per_hour > 0 || limits.updates_per_hour > 0;
        let Some(account) = self.login.counted.as_ref().filter(|_| is_counted) else { return Ok(()) };
        let demand = Demand { queries: 1, updates: u32::from(words.changes_data()) };
        env.module.accounts.check_statements(account, limits, demand, env.now)?;
        let (queries, updates) = (demand.queries, demand.updates);
        env.tell(AccountNews::Statements { account: account.clone(), queries, updates });
        Ok(())
    }

    /// The restriction is lifted as soon as the account has a new password.
    fn look_for_new_password(&mut self, env: &Environment<'_>) {
        let lifetime = self.global_number("default_password_lifetime");
        let account = env.module.site.map.schema.user(&self.core.account.0, &self.core.account.1);
        let is_expired = |user: &User| accounts::is_password_expired(user, lifetime, env.now);
        self.login.restriction.must_change_password &= account.is_some_and(is_expired);
        self.stage = self.stage_of_ready();
    }
}

fn must_change_password() -> SqlError {
    let message = "You must reset your password using ALTER USER statement before executing this statement.";
    SqlError::new(1820, message)
}
