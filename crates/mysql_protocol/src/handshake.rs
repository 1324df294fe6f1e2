//! The packets of the connection phase: greeting, response, TLS request, authentication switch and more data.
//!
//! Each has a `parse` and a writer. The order in which they are sent is in `server_handshake` and `client`.

use crate::auth::{AuthPlugin, NONCE_SIZE, Nonce};
use crate::constants::{Capabilities, StatusFlags};
use crate::encoding::{Malformed, Reader, append_lenenc_bytes};
use crate::framing::PacketWriter;

const PROTOCOL_VERSION: u8 = 10;

/// The nonce travels in two pieces, for the sake of clients from before 4.1.
const NONCE_FIRST_SIZE: usize = 8;

/// A NUL follows the nonce and is counted with it.
const AUTH_DATA_SIZE: u8 = 21;

/// Handshake V10: the server's first packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Greeting<'a> {
    pub server_version: &'a [u8],
    pub connection_id: u32,
    pub nonce: Nonce,
    pub capabilities: Capabilities,
    /// Low byte of the server's collation id.
    pub collation: u8,
    pub status: StatusFlags,
    /// Name of the plugin that the nonce is for.
    pub plugin: &'a [u8],
}

impl<'a> Greeting<'a> {
    pub fn parse(payload: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        if reader.u8()? != PROTOCOL_VERSION {
            return Err(Malformed);
        }
        let server_version = reader.nul_terminated()?;
        let connection_id = reader.u32()?;
        let mut nonce = [0; NONCE_SIZE];
        nonce[..NONCE_FIRST_SIZE].copy_from_slice(reader.bytes(NONCE_FIRST_SIZE)?);
        reader.u8()?;
        let capabilities_low = reader.u16()?;
        let collation = reader.u8()?;
        let status = StatusFlags::from_bits(reader.u16()?);
        let capabilities_high = reader.u16()?;
        let _auth_data_size = reader.u8()?;
        let _reserved = reader.bytes(10)?;
        nonce[NONCE_FIRST_SIZE..].copy_from_slice(reader.bytes(NONCE_SIZE - NONCE_FIRST_SIZE)?);
        reader.u8()?;
        let plugin = reader.nul_or_end_terminated();
        let bits = u32::from(capabilities_low) | u32::from(capabilities_high) << 16;
        let (nonce, capabilities) = (Nonce::received(nonce), Capabilities::from_bits(bits));
        Ok(Self { server_version, connection_id, nonce, capabilities, collation, status, plugin })
    }
}

impl PacketWriter<'_> {
    pub fn greeting(&mut self, greeting: &Greeting<'_>) {
        let (nonce_first, nonce_second) = greeting.nonce.as_bytes().split_at(NONCE_FIRST_SIZE);
        let [low_0, low_1, high_0, high_1] = greeting.capabilities.bits().to_le_bytes();
        let mut packet = self.open();
        packet.u8(PROTOCOL_VERSION);
        packet.nul_terminated(greeting.server_version);
        packet.u32(greeting.connection_id);
        packet.bytes(nonce_first);
        packet.u8(0);
        packet.bytes(&[low_0, low_1]);
        packet.u8(greeting.collation);
        packet.u16(greeting.status.bits());
        packet.bytes(&[high_0, high_1]);
        packet.u8(AUTH_DATA_SIZE);
        packet.bytes(&[0; 10]);
        packet.bytes(nonce_second);
        packet.u8(0);
        packet.nul_terminated(greeting.plugin);
        packet.finish();
    }

    pub fn handshake_response(&mut self, response: &HandshakeResponse<'_>) {
        let capabilities = response.capabilities;
        let mut packet = self.open();
        packet.bytes(&login_start(capabilities, response.payload_size_max, response.collation));
        packet.nul_terminated(response.user);
        // A scramble has at most 32 bytes, for which all forms of a counted string are the same.
        packet.lenenc_bytes(response.auth_response);
        if let Some(database) = response.database {
            packet.nul_terminated(database);
        }
        if let Some(plugin) = response.plugin {
            packet.nul_terminated(plugin);
        }
        if capabilities.contains(Capabilities::CONNECT_ATTRS) {
            packet.lenenc_bytes(response.attributes.bytes);
        }
        packet.finish();
    }

    /// Asks for TLS; a handshake response follows within it.
    pub fn tls_request(&mut self, capabilities: Capabilities, payload_size_max: u32, collation: u8) {
        self.append_payload(&login_start(capabilities | Capabilities::SSL, payload_size_max, collation));
    }

    /// Asks the client to authenticate by another plugin.
    pub fn auth_switch_request(&mut self, plugin: AuthPlugin, nonce: &Nonce) {
        let mut packet = self.open();
        packet.u8(AuthSwitchRequest::HEADER);
        packet.nul_terminated(plugin.name().as_bytes());
        packet.bytes(nonce.as_bytes());
        packet.u8(0);
        packet.finish();
    }

    /// A plugin's own message to the client.
    pub fn auth_more_data(&mut self, data: &[u8]) {
        let mut packet = self.open();
        packet.u8(auth_more_data::HEADER);
        packet.bytes(data);
        packet.finish();
    }
}

/// The first 32 bytes of a login; alone, they ask for TLS.
fn login_start(capabilities: Capabilities, payload_size_max: u32, collation: u8) -> [u8; LOGIN_START_SIZE] {
    let mut start = [0; LOGIN_START_SIZE];
    start[..4].copy_from_slice(&capabilities.bits().to_le_bytes());
    start[4..8].copy_from_slice(&payload_size_max.to_le_bytes());
    start[8] = collation;
    start
}

const LOGIN_START_SIZE: usize = 32;

/// The client's first packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClientHello<'a> {
    /// TLS first; the response comes within it.
    TlsRequest,
    Response(HandshakeResponse<'a>),
}

/// HandshakeResponse41: the client's login.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HandshakeResponse<'a> {
    /// As parsed: what client and server have in common.
    pub capabilities: Capabilities,
    /// The largest packet that the client takes.
    pub payload_size_max: u32,
    pub collation: u8,
    pub user: &'a [u8],
    pub auth_response: &'a [u8],
    /// Present if the capabilities have `CONNECT_WITH_DB`.
    pub database: Option<&'a [u8]>,
    /// Name of the plugin that made `auth_response`; present if the capabilities have `PLUGIN_AUTH`.
    pub plugin: Option<&'a [u8]>,
    pub attributes: ConnectAttributes<'a>,
}

impl<'a> ClientHello<'a> {
    /// `offered` is what the greeting offered: a client that speaks of more is read as if it did not.
    ///
    /// A client without `PROTOCOL_41` and `SECURE_CONNECTION` (before MySQL 4.1) is malformed to us.
    pub fn parse(payload: &'a [u8], offered: Capabilities) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        let capabilities = Capabilities::from_bits(reader.u32()?).intersection(offered);
        if payload.len() == LOGIN_START_SIZE && capabilities.contains(Capabilities::SSL) {
            return Ok(Self::TlsRequest);
        }
        if !capabilities.contains(Capabilities::PROTOCOL_41 | Capabilities::SECURE_CONNECTION) {
            return Err(Malformed);
        }
        let payload_size_max = reader.u32()?;
        let collation = reader.u8()?;
        let _reserved = reader.bytes(23)?;
        let user = reader.nul_terminated()?;
        let auth_response = if capabilities.contains(Capabilities::PLUGIN_AUTH_LENENC_CLIENT_DATA) {
            reader.lenenc_bytes()?
        } else {
            let size = reader.u8()?;
            reader.bytes(size.into())?
        };
        let database =
            capabilities.contains(Capabilities::CONNECT_WITH_DB).then(|| reader.nul_or_end_terminated());
        let plugin = capabilities.contains(Capabilities::PLUGIN_AUTH).then(|| reader.nul_or_end_terminated());
        let attributes = ConnectAttributes::read(&mut reader, capabilities)?;
        Ok(Self::Response(HandshakeResponse {
            capabilities,
            payload_size_max,
            collation,
            user,
            auth_response,
            database,
            plugin,
            attributes,
        }))
    }
}

/// A client's description of itself: program name, version, process id and the like.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ConnectAttributes<'a> {
    bytes: &'a [u8],
}

impl<'a> ConnectAttributes<'a> {
    /// Bytes that [`Self::append`] made.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// Appends one attribute in the form that travels.
    pub fn append(buffer: &mut Vec<u8>, name: &[u8], value: &[u8]) {
        append_lenenc_bytes(buffer, name);
        append_lenenc_bytes(buffer, value);
    }

    pub(crate) fn read(reader: &mut Reader<'a>, capabilities: Capabilities) -> Result<Self, Malformed> {
        if !capabilities.contains(Capabilities::CONNECT_ATTRS) || reader.is_empty() {
            return Ok(Self::default());
        }
        reader.lenenc_bytes().map(|bytes| Self { bytes })
    }

    /// Names and values. Attributes are for people to look at, so a broken one only ends the list.
    pub fn iter(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
        let mut reader = Reader::new(self.bytes);
        std::iter::from_fn(move || Some((reader.lenenc_bytes().ok()?, reader.lenenc_bytes().ok()?)))
    }
}

/// The server wants another plugin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AuthSwitchRequest<'a> {
    pub plugin: &'a [u8],
    pub nonce: Nonce,
}

impl<'a> AuthSwitchRequest<'a> {
    pub const HEADER: u8 = 0xFE;

    pub fn parse(payload: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        if reader.u8()? != Self::HEADER {
            return Err(Malformed);
        }
        let plugin = reader.nul_terminated()?;
        Ok(Self { plugin, nonce: Nonce::received(reader.array()?) })
    }
}

/// The words of `caching_sha2_password` in AuthMoreData packets.
pub mod auth_more_data {
    pub const HEADER: u8 = 0x01;
    /// The scramble was right; an OK packet follows.
    pub const FAST_AUTHENTICATION_SUCCESS: u8 = 0x03;
    /// The server needs the password itself.
    pub const FULL_AUTHENTICATION: u8 = 0x04;
    /// From the client: send me your public key.
    pub const PUBLIC_KEY_REQUEST: u8 = 0x02;
}

#[cfg(test)]
mod tests;
