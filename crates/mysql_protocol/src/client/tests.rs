//! Client half against server half: what one writes the other must read.

use super::*;
use crate::auth::Verifier;
use crate::charset::UTF8MB4_0900_AI_CI;
use crate::command::{Command, Cursor, MultiStatements};
use crate::constants::{ColumnFlags, ColumnType};
use crate::error::CommandError;
use crate::framing::{Expected, FRAME_PAYLOAD_SIZE_MAX, Reassembler, Received};
use crate::parameters::{LongData, ParameterTypes};
use crate::server_handshake::{HandshakeOptions, HandshakeStep, ServerHandshake};
use crate::value::{Date, DateTime, ParameterValue, Time};
use proptest::prelude::*;

const PAYLOAD_SIZE_MAX: usize = 1 << 26;

/// A server with one account and one table, which answers what these tests ask.
struct Server {
    handshake: ServerHandshake,
    verifier: Verifier,
    connected: bool,
    received: Vec<u8>,
    reassembler: Reassembler,
    out: Vec<u8>,
    types: ParameterTypes,
    long_data: LongData,
    /// Parameters of the last execute.
    parameters: Vec<Value>,
    /// Texts and names that commands carried.
    heard: Vec<String>,
}

fn column<'a>(name: &'a [u8], column_type: ColumnType, flags: ColumnFlags) -> ColumnDefinition<'a> {
    ColumnDefinition {
        schema: b"test",
        table: b"alias",
        original_table: b"table",
        name,
        original_name: name,
        collation: UTF8MB4_0900_AI_CI,
        length: 1024,
        column_type,
        flags,
        decimals: 0,
    }
}

impl Server {
    fn new(verifier: Verifier, default_plugin: AuthPlugin, capabilities: Capabilities) -> Self {
        let options = HandshakeOptions {
            server_version: "8.0.39-LatsDB",
            connection_id: 77,
            nonce: Nonce::from_random([200; NONCE_SIZE]),
            capabilities,
            collation: 255,
            status: StatusFlags::AUTOCOMMIT,
            default_plugin,
            transport: Transport::UnixSocket,
        };
        let mut out = Vec::new();
        let handshake = ServerHandshake::begin(&options, &mut out);
        Self {
            handshake,
            verifier,
            connected: false,
            received: Vec::new(),
            reassembler: Reassembler::new(),
            out,
            types: ParameterTypes::new(),
            long_data: LongData::new(),
            parameters: Vec::new(),
            heard: Vec::new(),
        }
    }

    fn receive(&mut self, bytes: &[u8]) {
        self.received.extend_from_slice(bytes);
        loop {
            let expected =
                if self.connected { Expected::command(PAYLOAD_SIZE_MAX) } else { self.handshake.expected() };
            match self.reassembler.next(&self.received, expected).unwrap() {
                Received::Packet { sequence, payload, consumed } => {
                    let payload = payload.to_vec();
                    self.received.drain(..consumed);
                    self.on_packet(sequence, &payload);
                }
                Received::Incomplete { consumed } => {
                    self.received.drain(..consumed);
                    return;
                }
            }
        }
    }

    fn on_packet(&mut self, sequence: u8, payload: &[u8]) {
        if self.connected {
            return self.on_command(sequence, payload);
        }
        let step = self.handshake.on_packet(payload, &mut self.out).unwrap();
        self.on_step(step);
    }

    fn on_step(&mut self, mut step: HandshakeStep) {
        if step == HandshakeStep::FindAccount {
            let account = (self.handshake.login().user == "me").then_some(&self.verifier);
            step = self.handshake.on_account(account, &mut self.out).unwrap();
        }
        if step == HandshakeStep::Receive {
            return;
        }
        let accepted = if let HandshakeStep::CheckPassword { password } = &step {
            password == b"secret"
        } else {
            step == HandshakeStep::Accepted
        };
        assert!(
            accepted || matches!(step, HandshakeStep::Denied | HandshakeStep::CheckPassword { .. }),
            "{step:?}"
        );
        let mut writer = PacketWriter::new(&mut self.out, self.handshake.sequence());
        if accepted {
            writer.ok(&OkPacket::default());
        } else {
            writer.error(&ErrorPacket::new(1045, *b"28000", "Access denied"));
        }
        self.connected = accepted;
    }

    fn on_command(&mut self, sequence: u8, payload: &[u8]) {
        let capabilities = self.handshake.login().capabilities;
        let mut writer = PacketWriter::new(&mut self.out, sequence.wrapping_add(1));
        let command = match Command::parse(payload, capabilities) {
            Ok(command) => command,
            Err(error) => return writer.error(&error.packet()),
        };
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match command {
            Command::Query { text: statement, attributes } => {
                let attributes: Vec<_> = attributes.iter().map(|(name, value)| (text(name), value)).collect();
                if !attributes.is_empty() {
                    self.heard.push(format!("{attributes:?}"));
                }
                answer_query(&mut writer, statement, capabilities);
            }
            Command::StatementPrepare { .. } => answer_prepare(&mut writer, capabilities),
            Command::StatementExecute(execute) => {
                let count = 9;
                let parameters =
                    execute.parameters(count, &mut self.types, &self.long_data, capabilities).unwrap();
                self.parameters = parameters.map(|value| Value::from(value.unwrap())).collect();
                answer_execute(&mut writer, &self.parameters, execute.cursor, capabilities);
                self.long_data.clear();
            }
            Command::StatementSendLongData { parameter, data, .. } => {
                self.long_data.append(parameter, data, PAYLOAD_SIZE_MAX);
            }
            Command::StatementFetch { row_count, .. } => {
                (0..row_count).for_each(|_| binary_row(&mut writer, &self.parameters));
                let status = StatusFlags::LAST_ROW_SENT | StatusFlags::CURSOR_EXISTS;
                writer.end_of_rows(capabilities, EndPacket { status, warnings: 0 });
            }
            Command::FieldList { table, wildcard } => {
                self.heard.push(format!("{} like {}", text(table), text(wildcard)));
                let definition = column(b"id", ColumnType::Long, ColumnFlags::NOT_NULL);
                writer.column_definition_with_default(&definition, Some(b"7"));
                writer.column_definition_with_default(&definition, None);
                writer.end_of_rows(capabilities, EndPacket::default());
            }
            Command::Statistics => writer.append_payload(b"Uptime: 1"),
            Command::ChangeUser(request) => {
                self.connected = false;
                let step = self.handshake.on_change_user(sequence, &request);
                self.on_step(step);
            }
            Command::SetOption(_) => writer.end_of_rows(capabilities, EndPacket::default()),
            Command::InitDatabase { name } => {
                self.heard.push(text(name));
                writer.ok(&OkPacket::default());
            }
            Command::ProcessKill { connection_id } => {
                self.heard.push(connection_id.to_string());
                writer.ok(&OkPacket::default());
            }
            Command::Ping | Command::Debug | Command::ResetConnection | Command::StatementReset { .. } => {
                writer.ok(&OkPacket::default());
            }
            Command::Refresh { .. } => writer.error(&CommandError::Unknown(7).packet()),
            Command::ProcessInfo => writer.error(&CommandError::Unknown(10).packet()),
            Command::Quit => self.heard.push("quit".to_owned()),
            Command::StatementClose { statement_id } => self.heard.push(format!("close {statement_id}")),
        }
    }
}

/// `rows N` gives rows, `error` fails, `half` fails within the rows, `multi` has three results, anything else is
/// done and echoed in the OK packet's info.
fn answer_query(writer: &mut PacketWriter<'_>, statement: &[u8], capabilities: Capabilities) {
    let failure = ErrorPacket::new(1146, *b"42S02", "no such table");
    let status = StatusFlags::AUTOCOMMIT;
    match statement {
        b"error" => writer.error(&failure),
        b"half" => {
            text_header(writer, capabilities);
            text_row(writer, b"x");
            writer.error(&failure);
        }
        b"multi" => {
            let status = status | StatusFlags::MORE_RESULTS_EXISTS;
            writer.ok(&OkPacket { affected_rows: 1, status, ..OkPacket::default() });
            text_header(writer, capabilities);
            text_row(writer, b"x");
            writer.end_of_rows(capabilities, EndPacket { status, warnings: 0 });
            writer.ok(&OkPacket { affected_rows: 2, ..OkPacket::default() });
        }
        [b'r', b'o', b'w', b's', b' ', digits @ ..] => {
            let size: usize = std::str::from_utf8(digits).unwrap().parse().unwrap();
            text_header(writer, capabilities);
            text_row(writer, &vec![b'x'; size]);
            text_row(writer, b"");
            writer.end_of_rows(capabilities, EndPacket { status, warnings: 2 });
        }
        info => {
            writer.ok(&OkPacket { affected_rows: 251, last_insert_id: 1 << 40, status, warnings: 1, info })
        }
    }
}

fn text_header(writer: &mut PacketWriter<'_>, capabilities: Capabilities) {
    writer.column_count(2);
    writer.column_definition(&column(b"text", ColumnType::VarString, ColumnFlags::EMPTY));
    writer.column_definition(&column(b"nothing", ColumnType::Long, ColumnFlags::EMPTY));
    writer.end_of_columns(capabilities, EndPacket::default());
}

fn text_row(writer: &mut PacketWriter<'_>, text: &[u8]) {
    let mut row = writer.text_row();
    row.bytes(text);
    row.null();
    row.finish();
}

fn answer_prepare(writer: &mut PacketWriter<'_>, capabilities: Capabilities) {
    writer.statement_prepared(&StatementPrepared {
        statement_id: 5,
        column_count: 1,
        parameter_count: 9,
        warnings: 0,
    });
    let definition = column(b"?", ColumnType::VarString, ColumnFlags::EMPTY);
    (0..9).for_each(|_| writer.column_definition(&definition));
    writer.end_of_columns(capabilities, EndPacket::default());
    writer.column_definition(&definition);
    writer.end_of_columns(capabilities, EndPacket::default());
}

/// Sends the parameters back as one row, or only the columns if there is to be a cursor.
fn answer_execute(
    writer: &mut PacketWriter<'_>,
    parameters: &[Value],
    cursor: Cursor,
    capabilities: Capabilities,
) {
    writer.column_count(u16::try_from(parameters.len()).unwrap());
    for value in parameters {
        let value_type = value.as_parameter().parameter_type();
        let flags = ColumnFlags::given(ColumnFlags::UNSIGNED, value_type.unsigned);
        writer.column_definition(&column(b"c", value_type.column_type, flags));
    }
    if cursor == Cursor::ReadOnly {
        let status = StatusFlags::CURSOR_EXISTS;
        return writer.end_of_rows(capabilities, EndPacket { status, warnings: 0 });
    }
    writer.end_of_columns(capabilities, EndPacket::default());
    binary_row(writer, parameters);
    writer.end_of_rows(capabilities, EndPacket::default());
}

fn binary_row(writer: &mut PacketWriter<'_>, values: &[Value]) {
    let mut row = writer.binary_row(u16::try_from(values.len()).unwrap());
    for value in values {
        match value {
            Value::Null => row.null(),
            Value::Int(value) => row.long_long(*value),
            Value::UInt(value) => row.unsigned_long_long(*value),
            Value::Float(value) => row.float(*value),
            Value::Double(value) => row.double(*value),
            Value::Bytes(bytes) => row.bytes(bytes),
            Value::Date(date) => row.date(*date),
            Value::DateTime(value) => row.date_time(*value),
            Value::Time(time) => row.time(*time),
        }
    }
    row.finish();
}

/// A client and a server, and the wire between them, which delivers pieces of `piece_size` bytes.
struct Pair {
    client: ClientConnection,
    server: Server,
    piece_size: usize,
}

impl Pair {
    fn new(options: ClientOptions, server: Server) -> Self {
        Self { client: ClientConnection::new(options), server, piece_size: 1 << 20 }
    }

    /// Logged in, with these capabilities on the server's side.
    fn connected(capabilities: Capabilities) -> Self {
        let plugin = AuthPlugin::CachingSha2Password;
        let server = Server::new(Verifier::from_password(plugin, b"secret"), plugin, capabilities);
        let mut pair = Self::new(ClientOptions::new("me", "secret"), server);
        assert_eq!(pair.exchange().unwrap(), [Response::Connected]);
        pair
    }

    /// Moves bytes until nothing moves any more; gives the answers.
    fn exchange(&mut self) -> Result<Vec<Response>, ClientError> {
        let mut responses = Vec::new();
        loop {
            let to_client = std::mem::take(&mut self.server.out);
            for piece in to_client.chunks(self.piece_size) {
                self.client.receive(piece);
                while let Some(response) = self.client.next_response()? {
                    responses.push(response);
                }
            }
            let to_server = self.client.take_output();
            if to_server.is_empty() && self.server.out.is_empty() {
                return Ok(responses);
            }
            to_server.chunks(self.piece_size).for_each(|piece| self.server.receive(piece));
        }
    }

    fn response(&mut self) -> Response {
        let mut responses = self.exchange().unwrap();
        assert_eq!(responses.len(), 1, "{responses:?}");
        assert!(self.client.is_idle());
        responses.remove(0)
    }
}

const OLD_SERVER: Capabilities =
    Capabilities::SERVER.without(Capabilities::DEPRECATE_EOF).without(Capabilities::QUERY_ATTRIBUTES);

const PLUGINS: [AuthPlugin; 2] = [AuthPlugin::MysqlNativePassword, AuthPlugin::CachingSha2Password];

#[test]
fn logins_by_either_plugin_whatever_the_default() {
    for default_plugin in PLUGINS {
        for account_plugin in PLUGINS {
            for (account, given, user, accepted) in [
                ("secret", "secret", "me", true),
                ("secret", "wrong", "me", false),
                ("secret", "", "me", false),
                ("secret", "secret", "you", false),
                ("", "", "me", true),
                ("", "x", "me", false),
            ] {
                let verifier = Verifier::from_password(account_plugin, account.as_bytes());
                let server = Server::new(verifier, default_plugin, Capabilities::SERVER);
                let mut options = ClientOptions::new(user, given);
                options.database = Some("test".to_owned());
                options.attributes = vec![("program_name".to_owned(), "x".repeat(300))];
                let mut pair = Pair::new(options, server);
                pair.piece_size = 7;
                let exchanged = pair.exchange();
                if exchanged == Err(ClientError::FullAuthenticationNeeded) {
                    // The password would have to travel in clear.
                    assert!(!accepted && !given.is_empty());
                    // An account that is not there, or has no password, answers by the default plugin.
                    assert!(account_plugin == PLUGINS[1] || account.is_empty() || user == "you");
                    continue;
                }
                let responses = exchanged.unwrap();
                let login = pair.server.handshake.login().clone();
                assert_eq!((login.user.as_str(), login.database.as_deref()), (user, Some("test")));
                assert_eq!(login.attributes, [("program_name".to_owned(), "x".repeat(300))]);
                assert_eq!(login.used_password, !given.is_empty());
                assert_eq!(pair.client.is_idle(), accepted);
                assert_eq!(pair.client.is_closed(), !accepted);
                match &responses[..] {
                    [Response::Connected] => assert!(accepted),
                    [Response::Error(error)] => assert!(!accepted && error.errno == 1045),
                    other => panic!("{other:?}"),
                }
            }
        }
    }
}

#[test]
fn the_password_goes_in_clear_only_where_nobody_listens() {
    for (transport, expected) in [
        (Transport::UnixSocket, Ok(vec![Response::Connected])),
        (Transport::Tcp, Err(ClientError::FullAuthenticationNeeded)),
    ] {
        let plugin = AuthPlugin::CachingSha2Password;
        let hash =
            crate::auth::slow::SlowHash::of_password(b"secret", [1; 20]).unwrap().run(u32::MAX).unwrap();
        let server = Server::new(Verifier::Slow(hash), plugin, Capabilities::SERVER);
        let options = ClientOptions { transport, ..ClientOptions::new("me", "secret") };
        assert_eq!(Pair::new(options, server).exchange(), expected);
    }
}

#[test]
fn statements_without_rows() {
    for capabilities in [Capabilities::SERVER, OLD_SERVER] {
        let mut pair = Pair::connected(capabilities);
        assert_eq!(pair.client.connection_id(), 77);
        pair.client.query(b"did it");
        assert_eq!(
            pair.response(),
            Response::Ok(Completion {
                affected_rows: 251,
                last_insert_id: 1 << 40,
                status: StatusFlags::AUTOCOMMIT,
                warnings: 1,
                info: b"did it".to_vec(),
            })
        );
        pair.client.query(b"error");
        let Response::Error(error) = pair.response() else { panic!() };
        assert_eq!((error.errno, &error.sqlstate, error.message.as_str()), (1146, b"42S02", "no such table"));
    }
}

#[test]
fn text_results_with_values_at_the_boundaries_of_their_lengths() {
    for capabilities in [Capabilities::SERVER, OLD_SERVER] {
        let mut pair = Pair::connected(capabilities);
        // The last two make the row two frames: one row has the column's length and a NULL besides the text.
        for size in
            [0, 1, 250, 251, 255, 65_535, 65_536, FRAME_PAYLOAD_SIZE_MAX - 5, FRAME_PAYLOAD_SIZE_MAX, 1 << 24]
        {
            pair.client.query(format!("rows {size}").as_bytes());
            let Response::ResultSet(result) = pair.response() else { panic!() };
            assert_eq!(result.columns.len(), 2);
            assert_eq!(
                (result.columns[0].name.as_str(), result.columns[0].original_table.as_str()),
                ("text", "table")
            );
            assert!(result.rows[0] == [Value::Bytes(vec![b'x'; size]), Value::Null], "{size}");
            assert_eq!(result.rows[1], [Value::Bytes(vec![]), Value::Null]);
            assert_eq!((result.status, result.warnings), (StatusFlags::AUTOCOMMIT, 2));
        }
    }
}

#[test]
fn several_results_and_an_error_within_rows() {
    for capabilities in [Capabilities::SERVER, OLD_SERVER] {
        let mut pair = Pair::connected(capabilities);
        pair.client.query(b"multi");
        let responses = pair.exchange().unwrap();
        assert!(
            matches!(&responses[..], [Response::Ok(_), Response::ResultSet(_), Response::Ok(_)]),
            "{responses:?}"
        );
        assert!(pair.client.is_idle());
        pair.client.query(b"half");
        assert!(matches!(pair.response(), Response::Error(_)));
    }
}

#[test]
fn requests_sent_ahead_are_answered_in_order() {
    let mut pair = Pair::connected(Capabilities::SERVER);
    // The large one takes two frames, so its answer begins at 2.
    let large = vec![b'l'; FRAME_PAYLOAD_SIZE_MAX + 10];
    let texts: [&[u8]; 4] = [b"first", &large, b"rows 3", b"last"];
    texts.iter().for_each(|text| pair.client.query(text));
    pair.client.close_statement(9);
    pair.client.ping();
    let responses = pair.exchange().unwrap();
    assert!(pair.client.is_idle());
    let info = |response: &Response| {
        let Response::Ok(completion) = response else { panic!("{response:?}") };
        completion.info.clone()
    };
    assert_eq!(responses.len(), 5);
    assert_eq!(info(&responses[0]), b"first");
    assert!(info(&responses[1]) == large);
    assert!(matches!(responses[2], Response::ResultSet(_)));
    assert_eq!(info(&responses[3]), b"last");
    assert_eq!(info(&responses[4]), b"");
    assert_eq!(pair.server.heard, ["close 9"]);
}

fn parameters() -> [ParameterValue<'static>; 9] {
    [
        ParameterValue::Int(i64::MIN),
        ParameterValue::UInt(u64::MAX),
        ParameterValue::Float(1.5),
        ParameterValue::Double(-2.5),
        ParameterValue::Bytes(b"text"),
        ParameterValue::Null,
        ParameterValue::Date(Date { year: 2024, month: 2, day: 29 }),
        ParameterValue::DateTime(DateTime { year: 2024, month: 1, microsecond: 6, ..DateTime::default() }),
        ParameterValue::Time(Time {
            negative: true,
            days: 34,
            hours: 22,
            minutes: 59,
            seconds: 59,
            microseconds: 0,
        }),
    ]
}

fn owned(parameters: &[ParameterValue<'_>]) -> Vec<Value> {
    parameters.iter().map(|&value| Value::from(value)).collect()
}

#[test]
fn prepared_statements_from_prepare_to_close() {
    for capabilities in [Capabilities::SERVER, OLD_SERVER] {
        let mut pair = Pair::connected(capabilities);
        pair.client.prepare(b"SELECT ?");
        let Response::Prepared(prepared) = pair.response() else { panic!() };
        assert_eq!((prepared.statement_id, prepared.parameter_count, prepared.column_count), (5, 9, 1));
        pair.client.execute(5, &parameters(), Cursor::None);
        let Response::ResultSet(result) = pair.response() else { panic!() };
        assert_eq!(pair.server.parameters, owned(&parameters()));
        assert_eq!(result.rows, [owned(&parameters())]);

        pair.client.send_long_data(5, 4, b"in two ");
        pair.client.send_long_data(5, 4, b"pieces");
        pair.client.execute(5, &parameters(), Cursor::None);
        let Response::ResultSet(result) = pair.response() else { panic!() };
        let mut sent_ahead = owned(&parameters());
        sent_ahead[4] = Value::Bytes(b"in two pieces".to_vec());
        assert_eq!(result.rows, [sent_ahead]);
        // Used up by the execute.
        pair.client.execute(5, &parameters(), Cursor::None);
        let Response::ResultSet(result) = pair.response() else { panic!() };
        assert_eq!(result.rows, [owned(&parameters())]);

        pair.client.reset_statement(5);
        assert!(matches!(pair.response(), Response::Ok(_)));
        pair.client.close_statement(5);
        assert_eq!(pair.exchange().unwrap(), []);
        assert_eq!(pair.server.heard, ["close 5"]);
    }
}

#[test]
fn a_cursor_gives_its_rows_when_they_are_fetched() {
    for capabilities in [Capabilities::SERVER, OLD_SERVER] {
        let mut pair = Pair::connected(capabilities);
        pair.client.execute(5, &parameters(), Cursor::ReadOnly);
        let Response::ResultSet(result) = pair.response() else { panic!() };
        assert_eq!((result.columns.len(), result.rows.len()), (9, 0));
        assert!(result.status.contains(StatusFlags::CURSOR_EXISTS));
        pair.client.fetch(5, 3);
        let Response::ResultSet(result) = pair.response() else { panic!() };
        assert_eq!(result.rows, vec![owned(&parameters()); 3]);
        assert!(result.status.contains(StatusFlags::LAST_ROW_SENT));
    }
}

#[test]
fn the_smaller_commands() {
    for capabilities in [Capabilities::SERVER, OLD_SERVER] {
        let mut pair = Pair::connected(capabilities);
        pair.client.ping();
        pair.client.debug();
        pair.client.reset_connection();
        pair.client.init_database(b"test");
        pair.client.process_kill(1 << 30);
        pair.client.set_multi_statements(MultiStatements::On);
        let responses = pair.exchange().unwrap();
        assert!(responses.iter().all(|response| matches!(response, Response::Ok(_))), "{responses:?}");
        assert_eq!(responses.len(), 6);
        pair.client.statistics();
        assert_eq!(pair.response(), Response::Text(b"Uptime: 1".to_vec()));
        pair.client.process_info();
        assert!(matches!(pair.response(), Response::Error(ServerError { errno: 1047, .. })));
        pair.client.field_list(b"t", b"i%");
        let Response::Fields(fields) = pair.response() else { panic!() };
        assert_eq!(fields.len(), 2);
        pair.client.quit();
        assert_eq!(pair.exchange().unwrap(), []);
        assert_eq!(pair.server.heard, ["test", "1073741824", "t like i%", "quit"]);
    }
}

#[test]
fn query_attributes_reach_a_server_that_takes_them() {
    let attributes: [(&[u8], _); 2] =
        [(b"traceparent", ParameterValue::Bytes(b"00-1")), (b"none", ParameterValue::Null)];
    for (capabilities, heard) in [(Capabilities::SERVER, 1), (OLD_SERVER, 0)] {
        let mut pair = Pair::connected(capabilities);
        pair.client.query_with_attributes(b"text", &attributes);
        let Response::Ok(completion) = pair.response() else { panic!() };
        assert_eq!(completion.info, b"text");
        assert_eq!(pair.server.heard.len(), heard);
        pair.server.heard.iter().for_each(|attributes| assert!(attributes.contains("\"none\", Null")));
    }
}

#[test]
fn a_change_of_user_over_an_open_connection() {
    for account_plugin in PLUGINS {
        let verifier = Verifier::from_password(account_plugin, b"secret");
        let server = Server::new(verifier, AuthPlugin::CachingSha2Password, Capabilities::SERVER);
        let mut pair = Pair::new(ClientOptions::new("me", "secret"), server);
        assert_eq!(pair.exchange().unwrap(), [Response::Connected]);
        pair.client.query(b"before");
        pair.response();
        pair.client.change_user("me", "secret", Some("other"));
        assert_eq!(pair.response(), Response::Connected);
        assert_eq!(pair.server.handshake.login().database.as_deref(), Some("other"));
        pair.client.query(b"after");
        assert!(matches!(pair.response(), Response::Ok(_)));
        pair.client.change_user("me", "wrong", None);
        match pair.exchange() {
            Ok(responses) => assert!(matches!(&responses[..], [Response::Error(_)])),
            Err(error) => assert_eq!(error, ClientError::FullAuthenticationNeeded),
        }
        assert!(pair.client.is_closed());
    }
}

#[test]
fn a_server_that_asks_for_a_file_gets_none() {
    let mut pair = Pair::connected(Capabilities::SERVER);
    pair.client.query(b"LOAD DATA LOCAL");
    pair.client.receive(&[5, 0, 0, 1, 0xFB, b'/', b'e', b't', b'c']);
    assert_eq!(pair.client.next_response(), Err(ClientError::LocalInfile));
    assert!(pair.client.is_closed());
}

#[test]
fn a_server_without_a_request_is_not_listened_to() {
    let mut pair = Pair::connected(Capabilities::SERVER);
    pair.client.receive(&[7, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(pair.client.next_response(), Err(ClientError::Unexpected));
}

proptest! {
    #[test]
    fn any_answer_is_handled(
        packets in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..60), 0..8),
        first in proptest::option::of(0u8..6),
        request in 0usize..7,
    ) {
        let mut client = ClientConnection::new(ClientOptions::new("me", "secret"));
        if request < 6 {
            client = Pair::connected(Capabilities::SERVER).client;
            match request {
                0 => client.query(b"x"),
                1 => client.prepare(b"x"),
                2 => client.execute(1, &[], Cursor::None),
                3 => client.fetch(1, 1),
                4 => client.field_list(b"t", b""),
                _ => client.change_user("me", "secret", None),
            }
        }
        let mut bytes = Vec::new();
        let mut writer = PacketWriter::new(&mut bytes, u8::from(request < 6));
        if let Some(byte) = first {
            writer.append_payload(&[byte]);
        }
        packets.iter().for_each(|packet| writer.append_payload(packet));
        client.receive(&bytes);
        for _ in 0..packets.len() + 2 {
            let _ = client.next_response();
        }
    }

    #[test]
    fn damaged_answers_are_handled(position in 0usize..400, byte: u8, cut in 0usize..600, execute: bool) {
        let mut pair = Pair::connected(Capabilities::SERVER);
        if execute {
            pair.client.execute(5, &parameters(), Cursor::None);
        } else {
            pair.client.query(b"rows 20");
        }
        let request = pair.client.take_output();
        pair.server.receive(&request);
        let mut answer = std::mem::take(&mut pair.server.out);
        answer.truncate(cut);
        // Payloads only: a damaged header is a matter of framing.
        if let Some(damaged) = answer.get_mut(position) {
            *damaged = byte;
        }
        pair.client.receive(&answer);
        while let Ok(Some(_)) = pair.client.next_response() {}
    }

    #[test]
    fn texts_survive_any_cut(sizes in proptest::collection::vec(0usize..70_000, 1..4), piece_size in 1usize..9000) {
        let mut pair = Pair::connected(OLD_SERVER);
        pair.piece_size = piece_size;
        for &size in &sizes {
            pair.client.query(format!("rows {size}").as_bytes());
        }
        let responses = pair.exchange().unwrap();
        prop_assert_eq!(responses.len(), sizes.len());
        for (response, &size) in responses.iter().zip(&sizes) {
            let Response::ResultSet(result) = response else { panic!("{response:?}") };
            prop_assert!(result.rows[0][0] == Value::Bytes(vec![b'x'; size]));
        }
    }
}
