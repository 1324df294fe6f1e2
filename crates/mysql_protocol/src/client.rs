//! The client half: a connection without a socket.
//!
//! The caller moves bytes: what arrives goes to [`ClientConnection::receive`], what [`ClientConnection::take_output`]
//! gives goes out. Requests may be sent ahead of answers; answers come in the order of the requests. There are two ways
//! to read them. [`ClientConnection::next_event`] lends each packet as it lies in the buffer and allocates nothing once
//! the buffers have grown (load generators). [`ClientConnection::next_response`] collects an answer into owned values
//! (simulator, tests).
//!
//! ```text
//! Greeting ─▶ Authenticating ─▶ FirstPacket ─┬─▶ Columns ─▶ Rows ─▶ FirstPacket (of the next result or answer)
//!                                            └─▶ PreparedDefinitions ─▶ FirstPacket
//! ```
//!
//! **Invariants.** `pending` holds the requests not answered completely; the reading stage belongs to its front.
//! After an error of the connection ([`ClientError`]) nothing more is read.
//!
//! **Deliberately not here**: TLS, compression, full authentication over an open network, LOCAL INFILE.

use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;

use crate::auth::{self, AuthPlugin, NONCE_SIZE, Nonce};
use crate::charset;
use crate::constants::{Capabilities, StatusFlags};
use crate::encoding::{Malformed, Reader};
use crate::error::ErrorPacket;
use crate::framing::{FrameError, PacketWriter};
use crate::handshake::{AuthSwitchRequest, ConnectAttributes, Greeting, HandshakeResponse, auth_more_data};
use crate::parameters::ParameterType;
use crate::result::{ColumnDefinition, EndPacket, OkPacket, RowCells, RowFormat, StatementPrepared};
use crate::server_handshake::Transport;

mod inbox;
mod request;
mod response;

use inbox::{Inbox, PayloadLocation};
use response::Piece;

pub use response::{Column, Completion, Response, ResultSet, ServerError, Value};

/// A client that sends this many requests without reading answers is broken.
const PENDING_COUNT_MAX: usize = 1 << 16;

#[derive(Clone, Debug)]
pub struct ClientOptions {
    pub user: String,
    pub password: Vec<u8>,
    pub database: Option<String>,
    /// Low byte of a collation id.
    pub collation: u8,
    /// The capabilities that are asked for; those that the server lacks are omitted.
    pub capabilities: Capabilities,
    pub attributes: Vec<(String, String)>,
    /// Whether the password may be sent in clear, should the server ask.
    pub transport: Transport,
    pub payload_size_max: usize,
}

impl ClientOptions {
    /// utf8mb4, no database, packets of up to 64 MiB, over TCP.
    #[must_use]
    pub fn new(user: &str, password: &str) -> Self {
        Self {
            user: user.to_owned(),
            password: password.as_bytes().to_vec(),
            database: None,
            collation: charset::UTF8MB4_GENERAL_CI.to_le_bytes()[0],
            capabilities: Capabilities::CLIENT,
            attributes: Vec::new(),
            transport: Transport::Tcp,
            payload_size_max: 64 << 20,
        }
    }
}

/// The connection can't go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClientError {
    Malformed,
    Frame(FrameError),
    /// A packet to which no request belongs.
    Unexpected,
    /// The server wants a plugin that we don't speak.
    PluginUnsupported,
    /// The server wants the password, and the transport would show it to others.
    FullAuthenticationNeeded,
    /// The server asked for a file.
    LocalInfile,
}

impl From<Malformed> for ClientError {
    fn from(_: Malformed) -> Self {
        Self::Malformed
    }
}

impl fmt::Display for ClientError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Malformed => "malformed packet from the server",
            Self::Frame(FrameError::PacketTooLarge) => "packet from the server is too large",
            Self::Frame(FrameError::OutOfMemory) => "there is no memory for a packet",
            Self::Frame(FrameError::SequenceOutOfOrder) => "packets from the server out of order",
            Self::Unexpected => "packet from the server without a request",
            Self::PluginUnsupported => "the server wants an authentication plugin that is not supported",
            Self::FullAuthenticationNeeded => "the server wants the password over an insecure connection",
            Self::LocalInfile => "the server wants a local file",
        })
    }
}

impl std::error::Error for ClientError {}

/// One step of an answer, lent until the next call.
#[derive(Clone, Debug)]
pub enum Event<'a> {
    /// Logged in; the first event, unless it is an error.
    Connected,
    Ok(OkPacket<'a>),
    Error(ErrorPacket<'a>),
    Prepared(StatementPrepared),
    /// A result set begins.
    Columns(ColumnsView<'a>),
    Row(RowView<'a>),
    /// The result set is complete; `MORE_RESULTS_EXISTS` says that another one follows.
    End(EndPacket),
    /// COM_FIELD_LIST's answer.
    Fields(ColumnsView<'a>),
    /// COM_STATISTICS' line.
    Text(&'a [u8]),
}

/// The columns of a result set.
#[derive(Clone, Copy, Debug)]
pub struct ColumnsView<'a> {
    columns: &'a Columns,
}

impl<'a> ColumnsView<'a> {
    #[must_use]
    pub fn count(&self) -> usize {
        self.columns.types.len()
    }

    pub fn definitions(&self) -> impl Iterator<Item = ColumnDefinition<'a>> {
        let columns = self.columns;
        // Each was parsed when it came.
        columns.ranges.iter().filter_map(|range| ColumnDefinition::parse(&columns.bytes[range.clone()]).ok())
    }
}

/// A row as it was received.
#[derive(Clone, Copy, Debug)]
pub struct RowView<'a> {
    payload: &'a [u8],
    format: RowFormat,
    types: &'a [ParameterType],
}

impl<'a> RowView<'a> {
    #[must_use]
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    pub fn cells(&self) -> Result<RowCells<'a>, Malformed> {
        RowCells::new(self.payload, self.format, self.types)
    }
}

/// Definitions of the last result set's columns, kept as bytes.
#[derive(Debug, Default)]
struct Columns {
    bytes: Vec<u8>,
    ranges: Vec<Range<usize>>,
    types: Vec<ParameterType>,
}

impl Columns {
    fn clear(&mut self) {
        self.bytes.clear();
        self.ranges.clear();
        self.types.clear();
    }

    fn push(&mut self, payload: &[u8]) -> Result<(), Malformed> {
        let definition = ColumnDefinition::parse(payload)?;
        self.types.push(definition.value_type());
        self.ranges.push(self.bytes.len()..self.bytes.len() + payload.len());
        self.bytes.extend_from_slice(payload);
        Ok(())
    }
}

/// The shape of the answer to a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Request {
    /// OK, an error, or result sets with rows of this format.
    Statement(RowFormat),
    Prepare,
    /// Rows without definitions.
    Fetch,
    /// Definitions only.
    FieldList,
    /// A line of text.
    Statistics,
    /// OK in either form.
    Acknowledged,
}

/// A request not answered completely.
#[derive(Clone, Copy, Debug)]
struct Pending {
    request: Request,
    /// Number of the first packet of the answer: 1, unless the request took several frames.
    answer_sequence: u8,
}

/// Which packet comes next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    Greeting,
    Authenticating,
    FirstPacket,
    Columns {
        remaining: u64,
        format: RowFormat,
    },
    ColumnsEnd {
        format: RowFormat,
    },
    Rows {
        format: RowFormat,
    },
    FieldList,
    /// `remaining` packets define parameters and columns, and end these lists. They are counted, not looked at:
    /// the execute defines its columns again.
    PreparedDefinitions {
        remaining: u32,
        prepared: StatementPrepared,
    },
    Closed,
}

/// The meaning of a packet: [`Event`] without the borrows.
#[derive(Clone, Copy)]
enum Outcome {
    /// Part of something larger.
    Nothing,
    Connected,
    Ok,
    Error,
    Prepared(StatementPrepared),
    Columns,
    Fields,
    Row(RowFormat),
    End(EndPacket),
    Text,
}

/// One connection; see the module's documentation.
#[derive(Debug)]
pub struct ClientConnection {
    options: ClientOptions,
    /// The capabilities that both sides have; until the greeting came, those that were asked for.
    capabilities: Capabilities,
    connection_id: u32,
    /// The server's challenge, and whose it is; kept for COM_CHANGE_USER.
    nonce: Nonce,
    plugin: AuthPlugin,
    stage: Stage,
    pending: VecDeque<Pending>,
    /// Number of the next packet of either side. Each command begins a new exchange.
    sequence: u8,
    inbox: Inbox,
    output: Vec<u8>,
    columns: Columns,
    /// Statement and parameter of data sent ahead of the next execute.
    sent_ahead: Vec<(u32, u16)>,
    /// The part of a result set that [`Self::next_response`] has.
    collected: Option<ResultSet>,
}

impl ClientConnection {
    #[must_use]
    pub fn new(options: ClientOptions) -> Self {
        let with_database = Capabilities::given(Capabilities::CONNECT_WITH_DB, options.database.is_some());
        Self {
            capabilities: options.capabilities | with_database,
            connection_id: 0,
            nonce: Nonce::received([0; NONCE_SIZE]),
            plugin: AuthPlugin::CachingSha2Password,
            stage: Stage::Greeting,
            pending: VecDeque::new(),
            sequence: 0,
            inbox: Inbox::new(options.payload_size_max),
            output: Vec::new(),
            columns: Columns::default(),
            sent_ahead: Vec::new(),
            collected: None,
            options,
        }
    }

    /// Bytes from the server.
    pub fn receive(&mut self, bytes: &[u8]) {
        self.inbox.receive(bytes);
    }

    /// Bytes for the server; the caller removes what it has sent.
    pub fn output(&mut self) -> &mut Vec<u8> {
        &mut self.output
    }

    /// Bytes for the server, all of them.
    #[must_use]
    pub fn take_output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.output)
    }

    /// The capabilities of both sides; valid once connected.
    #[must_use]
    pub fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    /// The server's number for this connection; valid once connected.
    #[must_use]
    pub fn connection_id(&self) -> u32 {
        self.connection_id
    }

    /// Logged in, and every request answered.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.stage == Stage::FirstPacket && self.pending.is_empty()
    }

    /// Nothing more can be read: the login failed, or a packet was wrong.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.stage == Stage::Closed
    }

    /// The next step of the next answer; `None` if more bytes are needed.
    pub fn next_event(&mut self) -> Result<Option<Event<'_>>, ClientError> {
        while self.stage != Stage::Closed {
            // Out of `self`, so that a payload can be read while the connection changes.
            let mut inbox = std::mem::take(&mut self.inbox);
            let step = self.step(&mut inbox);
            self.inbox = inbox;
            match step.inspect_err(|_| self.stage = Stage::Closed)? {
                None => return Ok(None),
                Some((Outcome::Nothing, _)) => {}
                Some((outcome, location)) => return self.event(outcome, &location).map(Some),
            }
        }
        Ok(None)
    }

    /// The next answer, complete; `None` if more bytes are needed. A result set of several is one answer each.
    ///
    /// Don't mix with [`Self::next_event`] within one answer.
    pub fn next_response(&mut self) -> Result<Option<Response>, ClientError> {
        loop {
            let piece = match self.next_event()? {
                Some(event) => Piece::from_event(event)?,
                None => return Ok(None),
            };
            match piece {
                Piece::Whole(response) => {
                    // An error in the middle of the rows makes them void.
                    self.collected = None;
                    return Ok(Some(response));
                }
                Piece::Columns(columns) => {
                    self.collected = Some(ResultSet { columns, ..ResultSet::default() })
                }
                Piece::Row(row) => self.collected.get_or_insert_default().rows.push(row),
                Piece::End(EndPacket { status, warnings }) => {
                    let collected = self.collected.take().unwrap_or_default();
                    return Ok(Some(Response::ResultSet(ResultSet { status, warnings, ..collected })));
                }
            }
        }
    }

    fn step(&mut self, inbox: &mut Inbox) -> Result<Option<(Outcome, PayloadLocation)>, ClientError> {
        let location = inbox.next_payload(&mut self.sequence).map_err(ClientError::Frame)?;
        let Some(location) = location else { return Ok(None) };
        let outcome = self.on_payload(inbox.payload(&location))?;
        Ok(Some((outcome, location)))
    }

    fn event(&self, outcome: Outcome, location: &PayloadLocation) -> Result<Event<'_>, ClientError> {
        let payload = self.inbox.payload(location);
        Ok(match outcome {
            Outcome::Nothing => return Err(ClientError::Unexpected),
            Outcome::Connected => Event::Connected,
            Outcome::Ok => Event::Ok(parse_acknowledgement(payload, self.capabilities)?),
            Outcome::Error => Event::Error(ErrorPacket::parse(payload)?),
            Outcome::Prepared(prepared) => Event::Prepared(prepared),
            Outcome::Columns => Event::Columns(ColumnsView { columns: &self.columns }),
            Outcome::Fields => Event::Fields(ColumnsView { columns: &self.columns }),
            Outcome::Row(format) => Event::Row(RowView { payload, format, types: &self.columns.types }),
            Outcome::End(end) => Event::End(end),
            Outcome::Text => Event::Text(payload),
        })
    }

    fn on_payload(&mut self, payload: &[u8]) -> Result<Outcome, ClientError> {
        match self.stage {
            Stage::Greeting => self.on_greeting(payload),
            Stage::Authenticating => self.on_authentication(payload),
            Stage::FirstPacket => self.on_first_packet(payload),
            Stage::Columns { remaining, format } => self.on_column(payload, remaining, format),
            Stage::ColumnsEnd { format } => self.on_columns_end(payload, format),
            Stage::Rows { format } => self.on_row(payload, format),
            Stage::FieldList => self.on_field(payload),
            Stage::PreparedDefinitions { remaining, prepared } => {
                Ok(self.await_definitions(remaining.saturating_sub(1), prepared))
            }
            Stage::Closed => Err(ClientError::Unexpected),
        }
    }

    fn on_greeting(&mut self, payload: &[u8]) -> Result<Outcome, ClientError> {
        if payload.first() == Some(&ErrorPacket::HEADER) {
            return Ok(self.refused());
        }
        let greeting = Greeting::parse(payload)?;
        self.capabilities = self.capabilities.intersection(greeting.capabilities);
        self.connection_id = greeting.connection_id;
        self.nonce = greeting.nonce;
        // If the server's default is not ours, it will ask for a switch to what the account needs.
        self.plugin = AuthPlugin::from_name(greeting.plugin).unwrap_or(AuthPlugin::MysqlNativePassword);
        self.stage = Stage::Authenticating;
        let mut attributes = Vec::new();
        for (name, value) in &self.options.attributes {
            ConnectAttributes::append(&mut attributes, name.as_bytes(), value.as_bytes());
        }
        let has = |capability| self.capabilities.contains(capability);
        let response = HandshakeResponse {
            capabilities: self.capabilities,
            payload_size_max: u32::try_from(self.options.payload_size_max).unwrap_or(u32::MAX),
            collation: self.options.collation,
            user: self.options.user.as_bytes(),
            auth_response: &auth::scramble(self.plugin, &self.options.password, &self.nonce),
            database: self
                .options
                .database
                .as_deref()
                .map(str::as_bytes)
                .filter(|_| has(Capabilities::CONNECT_WITH_DB)),
            plugin: has(Capabilities::PLUGIN_AUTH).then(|| self.plugin.name().as_bytes()),
            attributes: ConnectAttributes::new(&attributes),
        };
        let mut writer = PacketWriter::new(&mut self.output, self.sequence);
        writer.handshake_response(&response);
        self.sequence = writer.sequence();
        Ok(Outcome::Nothing)
    }

    fn on_authentication(&mut self, payload: &[u8]) -> Result<Outcome, ClientError> {
        match *payload {
            [OkPacket::HEADER, ..] => {
                OkPacket::parse(payload)?;
                self.await_command();
                return Ok(Outcome::Connected);
            }
            [ErrorPacket::HEADER, ..] => return Ok(self.refused()),
            [AuthSwitchRequest::HEADER, ..] => {
                let request = AuthSwitchRequest::parse(payload)?;
                self.plugin = AuthPlugin::from_name(request.plugin).ok_or(ClientError::PluginUnsupported)?;
                self.nonce = request.nonce;
                let answer = auth::scramble(self.plugin, &self.options.password, &self.nonce);
                self.answer(&answer);
            }
            [auth_more_data::HEADER, auth_more_data::FAST_AUTHENTICATION_SUCCESS] => {}
            [auth_more_data::HEADER, auth_more_data::FULL_AUTHENTICATION] => {
                if !self.options.transport.is_secure() {
                    return Err(ClientError::FullAuthenticationNeeded);
                }
                let mut answer = self.options.password.clone();
                answer.push(0);
                self.answer(&answer);
            }
            _ => return Err(ClientError::Malformed),
        }
        Ok(Outcome::Nothing)
    }

    fn on_first_packet(&mut self, payload: &[u8]) -> Result<Outcome, ClientError> {
        let Pending { request, .. } = *self.pending.front().ok_or(ClientError::Unexpected)?;
        let header = *payload.first().ok_or(ClientError::Malformed)?;
        if header == ErrorPacket::HEADER {
            return Ok(self.finish(Outcome::Error));
        }
        match request {
            Request::Statement(_) if header == OkPacket::HEADER => {
                let ok = OkPacket::parse(payload)?;
                Ok(self.finish_result(ok.status, Outcome::Ok))
            }
            Request::Statement(_) if header == LOCAL_INFILE => Err(ClientError::LocalInfile),
            Request::Statement(format) => {
                let remaining = Reader::new(payload).lenenc_integer()?;
                self.columns.clear();
                self.stage = Stage::Columns { remaining, format };
                Ok(Outcome::Nothing)
            }
            Request::Prepare => {
                let prepared = StatementPrepared::parse(payload)?;
                let list_end = u32::from(!self.capabilities.contains(Capabilities::DEPRECATE_EOF));
                let packets = |count| if count == 0 { 0 } else { u32::from(count) + list_end };
                let remaining = packets(prepared.parameter_count) + packets(prepared.column_count);
                Ok(self.await_definitions(remaining, prepared))
            }
            Request::Fetch => {
                self.stage = Stage::Rows { format: RowFormat::Binary };
                self.on_row(payload, RowFormat::Binary)
            }
            Request::FieldList => {
                self.columns.clear();
                self.stage = Stage::FieldList;
                self.on_field(payload)
            }
            Request::Statistics => Ok(self.finish(Outcome::Text)),
            Request::Acknowledged => {
                parse_acknowledgement(payload, self.capabilities)?;
                Ok(self.finish(Outcome::Ok))
            }
        }
    }

    fn on_column(
        &mut self,
        payload: &[u8],
        remaining: u64,
        format: RowFormat,
    ) -> Result<Outcome, ClientError> {
        self.columns.push(payload)?;
        if remaining > 1 {
            self.stage = Stage::Columns { remaining: remaining - 1, format };
            return Ok(Outcome::Nothing);
        }
        self.stage = if self.capabilities.contains(Capabilities::DEPRECATE_EOF) {
            Stage::Rows { format }
        } else {
            Stage::ColumnsEnd { format }
        };
        Ok(Outcome::Columns)
    }

    fn on_columns_end(&mut self, payload: &[u8], format: RowFormat) -> Result<Outcome, ClientError> {
        let end = EndPacket::parse(payload, self.capabilities)?;
        if end.status.contains(StatusFlags::CURSOR_EXISTS) {
            return Ok(self.finish_result(end.status, Outcome::End(end)));
        }
        self.stage = Stage::Rows { format };
        Ok(Outcome::Nothing)
    }

    fn on_row(&mut self, payload: &[u8], format: RowFormat) -> Result<Outcome, ClientError> {
        if payload.first() == Some(&ErrorPacket::HEADER) {
            return Ok(self.finish(Outcome::Error));
        }
        if EndPacket::is_end(payload, self.capabilities) {
            let end = EndPacket::parse(payload, self.capabilities)?;
            return Ok(self.finish_result(end.status, Outcome::End(end)));
        }
        Ok(Outcome::Row(format))
    }

    fn on_field(&mut self, payload: &[u8]) -> Result<Outcome, ClientError> {
        if payload.first() == Some(&ErrorPacket::HEADER) {
            return Ok(self.finish(Outcome::Error));
        }
        if EndPacket::is_end(payload, self.capabilities) {
            return Ok(self.finish(Outcome::Fields));
        }
        self.columns.push(payload)?;
        Ok(Outcome::Nothing)
    }

    fn await_definitions(&mut self, remaining: u32, prepared: StatementPrepared) -> Outcome {
        if remaining == 0 {
            return self.finish(Outcome::Prepared(prepared));
        }
        self.stage = Stage::PreparedDefinitions { remaining, prepared };
        Outcome::Nothing
    }

    /// A result is complete; another may follow it in the same answer.
    fn finish_result(&mut self, status: StatusFlags, outcome: Outcome) -> Outcome {
        if status.contains(StatusFlags::MORE_RESULTS_EXISTS) {
            self.stage = Stage::FirstPacket;
            return outcome;
        }
        self.finish(outcome)
    }

    /// The front request is answered.
    fn finish(&mut self, outcome: Outcome) -> Outcome {
        self.pending.pop_front();
        self.await_command();
        outcome
    }

    fn await_command(&mut self) {
        self.stage = Stage::FirstPacket;
        self.sequence = self.pending.front().map_or(1, |pending| pending.answer_sequence);
    }

    fn refused(&mut self) -> Outcome {
        self.stage = Stage::Closed;
        Outcome::Error
    }

    fn answer(&mut self, payload: &[u8]) {
        let mut writer = PacketWriter::new(&mut self.output, self.sequence);
        writer.append_payload(payload);
        self.sequence = writer.sequence();
    }
}

/// A server that asks for a file starts its answer with this.
const LOCAL_INFILE: u8 = 0xFB;

/// An OK packet, or the EOF packet that stands for it.
fn parse_acknowledgement(payload: &[u8], capabilities: Capabilities) -> Result<OkPacket<'_>, Malformed> {
    if EndPacket::is_end(payload, capabilities) {
        let EndPacket { status, warnings } = EndPacket::parse(payload, capabilities)?;
        return Ok(OkPacket { status, warnings, ..OkPacket::default() });
    }
    OkPacket::parse(payload)
}

#[cfg(test)]
mod tests;
