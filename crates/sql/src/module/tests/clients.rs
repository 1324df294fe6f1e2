//! The memory and the time that a client may take.

use super::{affected, errno, harness::Harness, rows, text};
use mysql_protocol::client::Response;
use mysql_protocol::command::Cursor;
use mysql_protocol::framing::FRAME_PAYLOAD_SIZE_MAX;
use mysql_protocol::{ClientOptions, ParameterValue};
use std::sync::Arc;

const MIB: usize = 1 << 20;
/// Pages that a ledger keeps.
const SLACK: u64 = 4 * memory::PAGE_BYTES as u64;

/// The header of a frame of so many bytes.
fn header(size: usize, sequence: u8) -> Vec<u8> {
    let [low, middle, high, ..] = size.to_le_bytes();
    vec![low, middle, high, sequence]
}

/// The number and the errno of the only packet in an answer.
fn error_in(answer: &[u8]) -> (u8, u16) {
    assert_eq!(answer[4], 0xff, "an error was expected: {answer:?}");
    assert_eq!(answer.len(), 4 + usize::from(answer[0]) + 256 * usize::from(answer[1]));
    (answer[3], u16::from_le_bytes([answer[5], answer[6]]))
}

fn prepared(harness: &mut Harness, client: usize, text: &str) -> u32 {
    harness.client(client).prepare(text.as_bytes());
    match harness.response(client) {
        Response::Prepared(prepared) => prepared.statement_id,
        other => panic!("a statement was expected: {other:?}"),
    }
}

#[test]
fn unfinished_packets_fill_the_region_and_end_only_their_own_connections() {
    let mut harness = Harness::new();
    let other = harness.connect();
    let clients: Vec<usize> = (0..40).map(|_| harness.connect()).collect();
    let before = harness.client_memory();
    let mut refused = 0;
    for client in &clients {
        harness.feed(*client, &header(8 * MIB, 0));
        for _ in 0..16 {
            harness.feed(*client, &[b'x'; 50_000]);
        }
        if harness.is_closed(*client) {
            assert_eq!(error_in(&harness.answer(*client)), (1, 1041));
            refused += 1;
        }
    }
    assert!((1..40).contains(&refused), "{refused} were refused");
    assert!(harness.client_memory() <= harness.client_memory_max());
    // Those who hold little go on, and come in.
    assert_eq!(rows(harness.ask(other, "SELECT 1")), [[text("1")]]);
    let late = harness.connect();
    assert_eq!(rows(harness.ask(late, "SELECT 2")), [[text("2")]]);
    harness.disconnect(late);
    clients.iter().for_each(|client| harness.disconnect(*client));
    assert!(harness.client_memory() <= before + SLACK);
}

#[test]
fn a_large_statement_leaves_nothing_behind() {
    let mut harness = Harness::new();
    let client = harness.connect();
    let before = harness.client_memory();
    let large = "y".repeat(3 * MIB);
    assert_eq!(rows(harness.ask(client, &format!("SELECT LENGTH('{large}') AS n"))), [[text("3145728")]]);
    assert!(harness.client_memory_high() > before + 2 * MIB as u64);
    assert!(harness.client_memory() <= before + SLACK);
}

#[test]
fn prepared_statements_and_variables_are_charged() {
    let mut harness = Harness::new();
    let client = harness.connect();
    let before = harness.client_memory();
    let mut ids = Vec::new();
    let comment = "z".repeat(MIB);
    let refusal = loop {
        harness.client(client).prepare(format!("SELECT 1 /* {} {comment} */", ids.len()).as_bytes());
        match harness.response(client) {
            Response::Prepared(prepared) => ids.push(prepared.statement_id),
            other => break errno(other),
        }
        assert!(ids.len() < 100, "a hundred statements of 1 MiB find room");
    };
    assert_eq!(refusal, 1041);
    assert!(harness.client_memory() >= before + (ids.len() * MIB) as u64);
    assert_eq!(rows(harness.ask(client, "SELECT 'still there'")), [[text("still there")]]);
    for id in ids {
        harness.client(client).close_statement(id);
    }
    harness.pump(client);
    assert!(harness.client_memory() <= before + SLACK);
    assert_eq!(affected(harness.ask(client, &format!("SET @a = '{}'", "v".repeat(MIB / 2)))), 0);
    assert!(harness.client_memory() > before + MIB as u64 / 4);
    harness.client(client).reset_connection();
    assert_eq!(affected(harness.response(client)), 0);
    assert!(harness.client_memory() <= before + SLACK);
}

#[test]
fn values_sent_ahead_find_no_room_and_the_execute_says_so() {
    let mut harness = Harness::new();
    let clients: Vec<usize> = (0..3).map(|_| harness.connect()).collect();
    let mut answers = Vec::new();
    for client in clients {
        let id = prepared(&mut harness, client, "SELECT LENGTH(?)");
        for _ in 0..6 {
            harness.client(client).send_long_data(id, 0, &vec![b'a'; MIB]);
        }
        harness.pump(client);
        answers.push((client, id));
    }
    let mut refused = 0;
    for (client, id) in answers {
        for attempt in 0..2 {
            harness.client(client).execute(id, &[ParameterValue::Bytes(b"b")], Cursor::None);
            match harness.response(client) {
                Response::Error(error) => {
                    assert_eq!((error.errno, attempt), (1041, 0));
                    refused += 1;
                }
                Response::ResultSet(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }
    assert!((1..3).contains(&refused), "{refused} were refused");
}

#[test]
fn too_large_a_packet_is_answered_with_the_number_behind_its_last_frame() {
    let mut harness = Harness::with_config(|config| {
        config.globals = Arc::new([("max_allowed_packet", "1024".to_owned())].into())
    });
    let client = harness.connect();
    harness.feed(client, &header(FRAME_PAYLOAD_SIZE_MAX, 0));
    for piece in vec![b'x'; FRAME_PAYLOAD_SIZE_MAX].chunks(60_000) {
        harness.feed(client, piece);
    }
    assert!(!harness.is_closed(client) && harness.answer(client).is_empty());
    harness.feed(client, &header(10, 1));
    assert_eq!(error_in(&harness.answer(client)), (2, 1153));
    assert!(harness.is_closed(client));
}

#[test]
fn a_packet_that_does_not_get_on_ends_its_connection() {
    let mut harness = Harness::new();
    let (slow, silent, busy) = (harness.connect(), harness.connect(), harness.connect());
    harness.ask(silent, "SET net_read_timeout = 5, wait_timeout = 1");
    for client in [slow, silent, busy] {
        harness.feed(client, &header(40_000, 0));
    }
    // Half a packet is not idleness: the shorter wait_timeout does not count.
    harness.advance_ms(2_000);
    assert!(!harness.is_closed(silent));
    harness.advance_ms(3_001);
    assert_eq!(error_in(&harness.answer(silent)), (1, 1159));
    assert!(harness.is_closed(silent));
    // A byte now and then is not enough; a modem is.
    harness.feed(slow, b"x");
    for _ in 0..5 {
        harness.feed(busy, &[b'x'; 5_000]);
        harness.advance_ms(30_000);
    }
    assert!(harness.is_closed(slow) && !harness.is_closed(busy));
    // The rest of it is no command that is known.
    harness.feed(busy, &[b'x'; 15_000]);
    assert_eq!(error_in(&harness.answer(busy)), (1, 1047));
    harness.advance_ms(60_000);
    assert!(!harness.is_closed(busy));
}

#[test]
fn a_client_that_takes_nothing_is_closed() {
    let mut harness = Harness::new();
    let (stuck, slow, well) = (harness.connect(), harness.connect(), harness.connect());
    for client in [stuck, slow, well] {
        harness.block(client);
    }
    harness.advance_ms(59_999);
    harness.take(slow, 5_000);
    harness.unblock(well);
    harness.advance_ms(2);
    assert_eq!([stuck, slow, well].map(|client| harness.is_closed(client)), [true, false, false]);
    harness.take(slow, 100);
    harness.advance_ms(60_000);
    assert_eq!([slow, well].map(|client| harness.is_closed(client)), [true, false]);
}

#[test]
fn the_driver_has_no_room_for_a_client() {
    let mut harness = Harness::new();
    let (client, other) = (harness.connect(), harness.connect());
    harness.memory_full(client);
    assert_eq!(error_in(&harness.answer(client)), (1, 1041));
    assert!(harness.is_closed(client) && !harness.is_closed(other));
}

#[test]
fn set_global_holds_for_sessions_that_begin_later() {
    let mut harness = Harness::new();
    let first = harness.connect();
    assert_eq!(errno(harness.ask(first, "SET max_allowed_packet = 1024")), 1621);
    // Somewhere in the cluster they were set.
    harness.set_globals(&[
        ("max_allowed_packet", "4096"),
        ("net_read_timeout", "7"),
        ("of_another_build", "1"),
    ]);
    let both = "SELECT @@global.max_allowed_packet, @@max_allowed_packet, @@net_read_timeout";
    assert_eq!(rows(harness.ask(first, both)), [[text("4096"), text("67108864"), text("30")]]);
    let second = harness.connect();
    assert_eq!(rows(harness.ask(second, both)), [[text("4096"), text("4096"), text("7")]]);
    let shown = "SHOW GLOBAL VARIABLES LIKE 'net_read%'";
    assert_eq!(rows(harness.ask(first, shown)), [[text("net_read_timeout"), text("7")]]);
    let shown = "SHOW SESSION VARIABLES LIKE 'net_read%'";
    assert_eq!(rows(harness.ask(first, shown)), [[text("net_read_timeout"), text("30")]]);
    harness.query(second, &format!("SELECT '{}'", "x".repeat(5_000)));
    assert_eq!(errno(harness.response(second)), 1153);
}

#[test]
fn set_global_is_checked_before_the_cluster_is_asked() {
    let mut harness = Harness::new();
    let client = harness.connect();
    for (statement, code) in [
        ("SET GLOBAL no_such_variable = 1", 1193),
        ("SET GLOBAL version = '9'", 1238),
        ("SET PERSIST version = '9'", 1238),
        ("SET GLOBAL timestamp = 1", 1228),
        ("SET activate_all_roles_on_login = ON", 1229),
        ("SET GLOBAL autocommit = maybe", 1231),
        ("SET GLOBAL net_read_timeout = 'seven'", 1232),
        ("SET GLOBAL sql_mode = 'NO_AUTO_CREATE_USER'", 1231),
        ("SET @@persist.lc_messages = 'xx_XX'", 1649),
        ("SET @a = 1, GLOBAL wait_timeout = 7, no_such_variable = 1", 1193),
        ("RESET PERSIST wait_timeout", 3615),
        ("RESET PERSISTENCE", 1064),
        ("SET STATEMENT max_statement_time = 1 FOR SELECT 1", 1064),
        ("SELECT @@global.timestamp", 1238),
        ("SELECT @@session.max_connections", 1238),
        ("SELECT @@persist.wait_timeout", 1193),
    ] {
        assert_eq!(errno(harness.ask(client, statement)), code, "{statement}");
    }
    assert_eq!(rows(harness.ask(client, "SELECT @a")), [[mysql_protocol::client::Value::Null]]);
    assert_eq!(affected(harness.ask(client, "RESET PERSIST IF EXISTS wait_timeout")), 0);
    assert_eq!(rows(harness.ask(client, "SHOW WARNINGS"))[0][1], text("3615"));
    assert!(harness.signals().is_empty());
    // A right value asks for the lock of the catalogue.
    harness.query(client, "SET GLOBAL wait_timeout = 7");
    assert!(matches!(harness.signals().as_slice(), [protocol::Signal::Read(_)]));
}

#[test]
fn connections_above_the_limit_are_refused_but_for_an_administrators() {
    let mut harness = Harness::with_config(|config| config.max_connections = 2);
    let first = harness.connect();
    harness.connect();
    let administrator = harness.connect();
    assert_eq!(rows(harness.ask(administrator, "SELECT 1")), [[text("1")]]);
    for _ in 0..100 {
        let late = harness.connect_from(true, ClientOptions::new("root", ""));
        assert_eq!(errno(harness.response(late)), 1040);
        assert!(harness.is_closed(late));
        harness.disconnect(late);
    }
    // A line a minute.
    let told = |harness: &mut Harness| harness.events().len();
    assert_eq!(told(&mut harness), 1);
    harness.advance_ms(60_000);
    for _ in 0..3 {
        let late = harness.connect_from(true, ClientOptions::new("root", ""));
        assert_eq!(errno(harness.response(late)), 1040);
        harness.disconnect(late);
    }
    assert_eq!(told(&mut harness), 1);
    for leaving in [first, administrator] {
        harness.disconnect(leaving);
    }
    harness.connect();
}

#[test]
fn strangers_that_do_not_log_in_give_way_and_lock_nobody_out() {
    let mut harness = Harness::with_config(|config| {
        config.max_connections = 2;
        config.handshakes_max = 3;
    });
    let inside = harness.connect();
    let strangers: Vec<usize> =
        (0..20).map(|_| harness.open(false, ClientOptions::new("nobody", ""))).collect();
    let open = strangers.iter().filter(|stranger| !harness.is_closed(**stranger)).count();
    assert_eq!(open, 3);
    assert!(!harness.is_closed(strangers[19]), "the oldest go first");
    let late = harness.connect();
    for client in [inside, late] {
        assert_eq!(rows(harness.ask(client, "SELECT 1")), [[text("1")]]);
    }
}

#[test]
fn clients_that_all_come_at_once_have_time_to_log_in() {
    let mut harness = Harness::with_config(|config| {
        config.max_connections = 10;
        config.handshakes_max = 3;
    });
    let come = |harness: &mut Harness, count: usize| -> Vec<usize> {
        (0..count).map(|_| harness.open(false, ClientOptions::new("nobody", ""))).collect()
    };
    let clients = come(&mut harness, 10);
    assert!(clients.iter().all(|client| !harness.is_closed(*client)), "as many as may be logged in");
    come(&mut harness, 1);
    assert!(harness.is_closed(clients[0]), "one more than that");
    harness.advance_ms(1_000);
    come(&mut harness, 2);
    let open: Vec<bool> = clients.iter().map(|client| !harness.is_closed(*client)).collect();
    assert_eq!(open, [&[false; 3][..], &[true; 7]].concat(), "they have had their time");
}

#[test]
fn the_refusal_of_a_driver_is_an_error_packet() {
    assert_eq!(error_in(&crate::too_many_connections()), (0, 1040));
}
