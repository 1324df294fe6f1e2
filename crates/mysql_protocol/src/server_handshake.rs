//! The connection phase as the server sees it; and COM_CHANGE_USER, which repeats its second half.
//!
//! ```text
//! begin ──greeting──▶ Response ─┬─TLS request─▶ Tls ──on_tls_established──▶ Response
//!                               └─response──▶ Account ──on_account─┬─▶ Accepted | Denied
//!        on_change_user ──────────────────────────▲                ├─▶ Switched ──response──▶ Accepted | Denied
//!                                                                  └─▶ ClearPassword ──password──▶ CheckPassword
//! ```
//!
//! The caller moves the bytes, looks accounts up, and writes the last packet: OK once it has opened the database,
//! or an error that says who was refused. Its number is [`ServerHandshake::sequence`].
//!
//! **Invariants.** Nothing is kept of a client before its packet was parsed whole; packets are at most 16 KiB. An
//! account that does not exist goes through the same steps as one with the default plugin, so that an attacker
//! can't list users. A clear password is asked for only from clients that will protect it. Verifiers don't outlive
//! the handshake.

use crate::auth::{self, AuthPlugin, Nonce, Verifier};
use crate::command::ChangeUser;
use crate::constants::{Capabilities, StatusFlags};
use crate::encoding::Malformed;
use crate::framing::{Expected, PacketWriter, UNAUTHENTICATED_PAYLOAD_SIZE_MAX};
use crate::handshake::{ClientHello, ConnectAttributes, Greeting, HandshakeResponse, auth_more_data};

/// The transport of the bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transport {
    Tcp,
    Tls,
    UnixSocket,
}

impl Transport {
    /// Nobody else can read it: a password may travel in clear.
    #[must_use]
    pub fn is_secure(self) -> bool {
        match self {
            Self::Tcp => false,
            Self::Tls | Self::UnixSocket => true,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct HandshakeOptions<'a> {
    /// Clients derive features from its number: `8.0.x-…`.
    pub server_version: &'a str,
    pub connection_id: u32,
    pub nonce: Nonce,
    /// [`Capabilities::SERVER`], with `SSL` if [`HandshakeStep::StartTls`] can be followed.
    pub capabilities: Capabilities,
    /// Low byte of the default collation's id.
    pub collation: u8,
    pub status: StatusFlags,
    pub default_plugin: AuthPlugin,
    pub transport: Transport,
}

/// Bytes of a connection's attributes that are kept, names and values: MySQL's
/// `performance_schema_session_connect_attrs_size`.
pub const ATTRIBUTES_SIZE_MAX: usize = 512;

/// The login that a client asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Login {
    /// Invalid UTF-8 is replaced by U+FFFD, which no account has in its name.
    pub user: String,
    /// `None` if the client chose none.
    pub database: Option<String>,
    /// `None` if an old client's COM_CHANGE_USER left it out: keep the one in use.
    pub collation: Option<u16>,
    /// The capabilities that client and server have in common.
    pub capabilities: Capabilities,
    /// Name and value: those that fit into [`ATTRIBUTES_SIZE_MAX`].
    pub attributes: Vec<(String, String)>,
    /// The client did not send the empty password: the "using password" of an access-denied message.
    pub used_password: bool,
}

/// The next thing for the caller to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HandshakeStep {
    /// Send what was appended, receive the next packet.
    Receive,
    /// Run TLS over the socket (what is left in the receive buffer is its first bytes), then call
    /// [`ServerHandshake::on_tls_established`].
    StartTls,
    /// Find the account for [`ServerHandshake::login`], then call [`ServerHandshake::on_account`].
    FindAccount,
    /// The client wants to encrypt its password with our public key: answer by
    /// [`ServerHandshake::send_public_key`], or refuse.
    PublicKeyRequested,
    /// RSA-encrypted (OAEP): decrypt it, undo the mask by [`auth::password_from_decrypted`], then as for
    /// `CheckPassword`.
    DecryptPassword { encrypted: Vec<u8> },
    /// Check it against the account's stored hash, or in vain if there is no such account; answer OK or access
    /// denied. The handshake is over.
    CheckPassword { password: Vec<u8> },
    /// Answer OK. The handshake is over.
    Accepted,
    /// Answer access denied (1045), close. The handshake is over.
    Denied,
}

/// The client can't be talked to. Answer with the error's packet, close.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HandshakeError {
    Malformed,
    /// It asked for TLS, which the greeting did not offer.
    TlsNotOffered,
    /// It can't switch to the plugin that the account needs.
    PluginUnsupported,
}

impl From<Malformed> for HandshakeError {
    fn from(_: Malformed) -> Self {
        Self::Malformed
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    Response,
    Tls,
    Account,
    Switched,
    ClearPassword,
    PublicKey,
    EncryptedPassword,
    Finished,
}

/// One connection's handshake; kept with the connection, for COM_CHANGE_USER.
#[derive(Debug)]
pub struct ServerHandshake {
    stage: Stage,
    /// Number of the next packet of either side.
    sequence: u8,
    nonce: Nonce,
    offered: Capabilities,
    default_plugin: AuthPlugin,
    transport: Transport,
    login: Login,
    /// The plugin that made `auth_response`; `None` if we don't speak it.
    client_plugin: Option<AuthPlugin>,
    auth_response: Vec<u8>,
    account: Account,
}

#[derive(Debug)]
enum Account {
    Known(Verifier),
    /// Its verifier has the shape of a real one.
    Unknown(Verifier),
}

impl Account {
    fn verifier(&self) -> &Verifier {
        match self {
            Self::Known(verifier) | Self::Unknown(verifier) => verifier,
        }
    }
}

impl ServerHandshake {
    /// Appends the greeting to `out`.
    #[must_use]
    pub fn begin(options: &HandshakeOptions<'_>, out: &mut Vec<u8>) -> Self {
        let mut writer = PacketWriter::new(out, 0);
        writer.greeting(&Greeting {
            server_version: options.server_version.as_bytes(),
            connection_id: options.connection_id,
            nonce: options.nonce,
            capabilities: options.capabilities,
            collation: options.collation,
            status: options.status,
            plugin: options.default_plugin.name().as_bytes(),
        });
        Self {
            stage: Stage::Response,
            sequence: writer.sequence(),
            nonce: options.nonce,
            offered: options.capabilities,
            default_plugin: options.default_plugin,
            transport: options.transport,
            login: Login {
                user: String::new(),
                database: None,
                collation: None,
                capabilities: Capabilities::EMPTY,
                attributes: Vec::new(),
                used_password: false,
            },
            client_plugin: None,
            auth_response: Vec::new(),
            account: Account::Unknown(Verifier::Empty),
        }
    }

    /// The packet that is taken next, until the handshake is over.
    #[must_use]
    pub fn expected(&self) -> Expected {
        Expected { sequence: self.sequence, payload_size_max: UNAUTHENTICATED_PAYLOAD_SIZE_MAX }
    }

    /// Number of the packet that ends the handshake.
    #[must_use]
    pub fn sequence(&self) -> u8 {
        self.sequence
    }

    /// The login; valid from [`HandshakeStep::FindAccount`] on.
    #[must_use]
    pub fn login(&self) -> &Login {
        &self.login
    }

    /// The client's description of itself; [`Self::login`] has it no more.
    pub fn take_attributes(&mut self) -> Vec<(String, String)> {
        std::mem::take(&mut self.login.attributes)
    }

    #[must_use]
    pub fn nonce(&self) -> &Nonce {
        &self.nonce
    }

    #[must_use]
    pub fn transport(&self) -> Transport {
        self.transport
    }

    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.stage == Stage::Finished
    }

    /// Takes the client's next packet; appends answers to `out`.
    ///
    /// Framing has checked its number against [`Self::expected`].
    pub fn on_packet(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<HandshakeStep, HandshakeError> {
        self.sequence = self.sequence.wrapping_add(1);
        match self.stage {
            Stage::Response => self.on_hello(payload),
            Stage::Switched => {
                self.auth_response = payload.to_vec();
                self.login.used_password = !auth::is_empty_password(payload);
                Ok(self.check_response(out))
            }
            Stage::ClearPassword => self.on_clear_password(payload),
            Stage::EncryptedPassword => {
                self.finish();
                Ok(HandshakeStep::DecryptPassword { encrypted: payload.to_vec() })
            }
            Stage::Tls | Stage::Account | Stage::PublicKey | Stage::Finished => {
                Err(HandshakeError::Malformed)
            }
        }
    }

    /// TLS runs; the response will come within it.
    pub fn on_tls_established(&mut self) {
        stdx::require!(self.stage == Stage::Tls, "TLS established in {:?}", self.stage);
        self.transport = Transport::Tls;
        self.stage = Stage::Response;
    }

    /// A COM_CHANGE_USER came, in a packet with this number. The nonce of the connection holds again, as in MySQL.
    pub fn on_change_user(&mut self, sequence: u8, request: &ChangeUser<'_>) -> HandshakeStep {
        stdx::require!(self.stage == Stage::Finished, "change of user in {:?}", self.stage);
        self.sequence = sequence.wrapping_add(1);
        self.login = Login {
            user: text(request.user),
            database: (!request.database.is_empty()).then(|| text(request.database)),
            collation: request.collation,
            capabilities: self.login.capabilities,
            attributes: attributes(request.attributes),
            used_password: !auth::is_empty_password(request.auth_response),
        };
        self.await_account(request.plugin, request.auth_response)
    }

    /// The account's verifier, or that there is no such account.
    pub fn on_account(
        &mut self,
        verifier: Option<&Verifier>,
        out: &mut Vec<u8>,
    ) -> Result<HandshakeStep, HandshakeError> {
        stdx::require!(self.stage == Stage::Account, "account in {:?}", self.stage);
        self.account = match verifier {
            Some(verifier) => Account::Known(verifier.clone()),
            None => Account::Unknown(Verifier::from_password(self.default_plugin, b"no such account")),
        };
        // An account without a password takes any plugin's empty answer, but it must be one that we can read.
        let plugin = self.account.verifier().plugin().or(self.client_plugin).unwrap_or(self.default_plugin);
        if self.client_plugin == Some(plugin) {
            return Ok(self.check_response(out));
        }
        if !self.login.capabilities.contains(Capabilities::PLUGIN_AUTH) {
            self.finish();
            return Err(HandshakeError::PluginUnsupported);
        }
        self.client_plugin = Some(plugin);
        self.stage = Stage::Switched;
        self.write(out, |writer, nonce| writer.auth_switch_request(plugin, nonce));
        Ok(HandshakeStep::Receive)
    }

    /// In place of [`Self::on_account`]: the client is let in whatever it has sent, because the caller knows it
    /// otherwise.
    pub fn on_trusted(&mut self, out: &mut Vec<u8>) -> HandshakeStep {
        stdx::require!(self.stage == Stage::Account, "trusted in {:?}", self.stage);
        self.accept(out)
    }

    /// Answers [`HandshakeStep::PublicKeyRequested`] with the RSA public key, in PEM.
    pub fn send_public_key(&mut self, pem: &[u8], out: &mut Vec<u8>) -> HandshakeStep {
        stdx::require!(self.stage == Stage::PublicKey, "public key in {:?}", self.stage);
        self.stage = Stage::EncryptedPassword;
        self.write(out, |writer, _| writer.auth_more_data(pem));
        HandshakeStep::Receive
    }

    fn on_hello(&mut self, payload: &[u8]) -> Result<HandshakeStep, HandshakeError> {
        // The bit is in the greeting's offer, so a client that was not offered TLS but asks is not taken for one
        // whose login is merely short.
        match ClientHello::parse(payload, self.offered | Capabilities::SSL)? {
            ClientHello::TlsRequest if self.transport != Transport::Tcp => Err(HandshakeError::Malformed),
            ClientHello::TlsRequest if !self.offered.contains(Capabilities::SSL) => {
                Err(HandshakeError::TlsNotOffered)
            }
            ClientHello::TlsRequest => {
                self.stage = Stage::Tls;
                Ok(HandshakeStep::StartTls)
            }
            ClientHello::Response(response) => Ok(self.on_response(&response)),
        }
    }

    fn on_response(&mut self, response: &HandshakeResponse<'_>) -> HandshakeStep {
        self.login = Login {
            user: text(response.user),
            database: response.database.filter(|name| !name.is_empty()).map(text),
            collation: Some(response.collation.into()),
            capabilities: response.capabilities.intersection(self.offered),
            attributes: attributes(response.attributes),
            used_password: !auth::is_empty_password(response.auth_response),
        };
        self.await_account(response.plugin, response.auth_response)
    }

    fn await_account(&mut self, plugin: Option<&[u8]>, auth_response: &[u8]) -> HandshakeStep {
        // Clients from before pluggable authentication speak the native plugin and name none.
        self.client_plugin = match plugin {
            None | Some(b"") => Some(AuthPlugin::MysqlNativePassword),
            Some(name) => AuthPlugin::from_name(name),
        };
        self.auth_response = auth_response.to_vec();
        self.stage = Stage::Account;
        HandshakeStep::FindAccount
    }

    fn check_response(&mut self, out: &mut Vec<u8>) -> HandshakeStep {
        let is_empty = auth::is_empty_password(&self.auth_response);
        let verified = self.account.verifier().verify_response(&self.nonce, &self.auth_response);
        if verified && matches!(self.account, Account::Known(_)) {
            return self.accept(out);
        }
        // Whether the account is known, and whether its password was seen in clear before, must not show.
        if !is_empty && self.client_plugin == Some(AuthPlugin::CachingSha2Password) {
            self.stage = Stage::ClearPassword;
            self.write(out, |writer, _| writer.auth_more_data(&[auth_more_data::FULL_AUTHENTICATION]));
            return HandshakeStep::Receive;
        }
        self.finish();
        HandshakeStep::Denied
    }

    /// A client that has sent a `caching_sha2_password` scramble awaits a word about it before the OK.
    fn accept(&mut self, out: &mut Vec<u8>) -> HandshakeStep {
        let is_empty = auth::is_empty_password(&self.auth_response);
        if !is_empty && self.client_plugin == Some(AuthPlugin::CachingSha2Password) {
            self.write(out, |writer, _| {
                writer.auth_more_data(&[auth_more_data::FAST_AUTHENTICATION_SUCCESS])
            });
        }
        self.finish();
        HandshakeStep::Accepted
    }

    fn on_clear_password(&mut self, payload: &[u8]) -> Result<HandshakeStep, HandshakeError> {
        if self.transport.is_secure() {
            let (_, password) = payload.split_last().filter(|(last, _)| **last == 0).ok_or(Malformed)?;
            self.finish();
            return Ok(HandshakeStep::CheckPassword { password: password.to_vec() });
        }
        if payload == [auth_more_data::PUBLIC_KEY_REQUEST] {
            self.stage = Stage::PublicKey;
            return Ok(HandshakeStep::PublicKeyRequested);
        }
        // The client has our key already.
        self.finish();
        Ok(HandshakeStep::DecryptPassword { encrypted: payload.to_vec() })
    }

    fn finish(&mut self) {
        self.stage = Stage::Finished;
        self.auth_response = Vec::new();
        self.account = Account::Unknown(Verifier::Empty);
    }

    fn write(&mut self, out: &mut Vec<u8>, packet: impl FnOnce(&mut PacketWriter<'_>, &Nonce)) {
        let mut writer = PacketWriter::new(out, self.sequence);
        packet(&mut writer, &self.nonce);
        self.sequence = writer.sequence();
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn attributes(attributes: ConnectAttributes<'_>) -> Vec<(String, String)> {
    let mut left = ATTRIBUTES_SIZE_MAX;
    let mut fits = |(name, value): &(&[u8], &[u8])| {
        let rest = left.checked_sub(name.len().saturating_add(value.len()));
        left = rest.unwrap_or(0);
        rest.is_some()
    };
    attributes.iter().take_while(|pair| fits(pair)).map(|(name, value)| (text(name), text(value))).collect()
}

#[cfg(test)]
mod tests;
