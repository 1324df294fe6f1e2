//! Clients and columns of other character sets than UTF-8.

use super::{errno, harness::Harness, rows, text};
use mysql_protocol::ClientOptions;
use mysql_protocol::client::{Response, Value};
use mysql_protocol::command::Cursor;

fn bytes(value: &[u8]) -> Value {
    Value::Bytes(value.to_vec())
}

fn connect(harness: &mut Harness, collation: u8) -> Response {
    let options = ClientOptions { collation, ..ClientOptions::new("root", "") };
    let client = harness.connect_from(true, options);
    harness.response(client)
}

fn variables(harness: &mut Harness, client: usize) -> Vec<String> {
    let names =
        ["character_set_client", "character_set_connection", "character_set_results", "collation_connection"];
    let value = |name: &&str| match &rows(harness.ask(client, &format!("SELECT @@{name}")))[0][0] {
        Value::Bytes(value) => String::from_utf8_lossy(value).into_owned(),
        other => format!("{other:?}"),
    };
    names.iter().map(value).collect()
}

fn warnings(harness: &mut Harness, client: usize) -> Vec<Value> {
    rows(harness.ask(client, "SHOW WARNINGS")).into_iter().map(|row| row[1].clone()).collect()
}

#[test]
fn a_client_speaks_the_character_set_it_names() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.ask(client, "SET NAMES latin1");
    harness.query_bytes(client, b"SELECT '\xe9\x80', CHAR_LENGTH('\xe9'), HEX('\xe9'), HEX(CONVERT('\xe9' USING utf8mb4)), x'e9' AS '\xe9'");
    let Response::ResultSet(result) = harness.response(client) else { panic!("rows") };
    assert_eq!(result.rows, [[bytes(b"\xe9\x80"), text("1"), text("E9"), text("C3A9"), bytes(b"\xe9")]]);
    // Not UTF-8: one byte.
    assert_eq!(result.columns[4].name, "\u{fffd}");
    assert_eq!((result.columns[0].collation, result.columns[4].collation), (8, 63));
    // A character that latin1 does not have is a question mark; errors are in latin1, too.
    assert_eq!(rows(harness.ask(client, "SELECT _utf8mb4 x'd18f'")), [[text("?")]]);
    harness.query_bytes(client, b"SELECT n\xf6");
    let Response::Error(error) = harness.response(client) else { panic!("no such column") };
    assert!(error.message.contains("n\u{fffd}"), "{error:?}");
    // Binary literals are the bytes that were sent.
    harness.query_bytes(client, b"SELECT HEX(_binary'\xe9\xff'), HEX(_latin1'\xe9'), HEX(_latin2 '\xb1')");
    assert_eq!(rows(harness.response(client)), [[text("E9FF"), text("E9"), text("B1")]]);
    harness.ask(client, "SET NAMES utf8mb4");
    assert_eq!(rows(harness.ask(client, "SELECT 'é'")), [[text("é")]]);
}

#[test]
fn second_bytes_are_no_quotes() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.ask(client, "SET NAMES sjis");
    // The second byte of this character is a backslash.
    harness.query_bytes(client, b"SELECT '\x83\x5c', HEX('\x83\x5c'), HEX(_binary'\x83\x5c')");
    assert_eq!(rows(harness.response(client)), [[bytes(b"\x83\x5c"), text("835C"), text("835C")]]);
    // Bytes that are no text: this statement only.
    harness.query_bytes(client, b"SELECT '\x83\x20'");
    assert_eq!(errno(harness.response(client)), 1300);
    assert_eq!(rows(harness.ask(client, "SELECT 1")), [[text("1")]]);
    harness.ask(client, "SET NAMES gbk");
    harness.query_bytes(client, b"SELECT HEX(CONVERT('\xd6\xd0' USING utf8mb4))");
    assert_eq!(rows(harness.response(client)), [[text("E4B8AD")]]);
}

#[test]
fn the_handshake_names_a_character_set() {
    let mut harness = Harness::new();
    for (number, expected) in [(8, "latin1"), (33, "utf8mb3"), (224, "utf8mb4"), (28, "gbk"), (63, "binary")]
    {
        let options = ClientOptions { collation: number, ..ClientOptions::new("root", "") };
        let client = harness.connect_from(true, options);
        assert_eq!(harness.response(client), Response::Connected);
        assert_eq!(variables(&mut harness, client)[0], expected);
    }
    // cp850 is MySQL's, and not here; 17 is nobody's; ucs2 is not for clients.
    assert_eq!(errno(connect(&mut harness, 4)), 1115);
    assert_eq!(connect(&mut harness, 17), Response::Connected);
    assert_eq!(connect(&mut harness, 35), Response::Connected);
}

#[test]
fn set_names_keeps_names_and_warns() {
    let mut harness = Harness::new();
    let client = harness.connect();
    for (statement, expected) in [
        (
            "SET NAMES utf8mb4 COLLATE utf8mb4_unicode_520_ci",
            ["utf8mb4", "utf8mb4", "utf8mb4", "utf8mb4_unicode_520_ci"],
        ),
        ("SET NAMES utf8", ["utf8mb3", "utf8mb3", "utf8mb3", "utf8mb3_general_ci"]),
        ("SET NAMES latin1 COLLATE latin1_bin", ["latin1", "latin1", "latin1", "latin1_bin"]),
        ("SET NAMES DEFAULT", ["utf8mb4", "utf8mb4", "utf8mb4", "utf8mb4_0900_ai_ci"]),
        (
            "SET collation_connection = latin2_general_ci",
            ["utf8mb4", "latin2", "utf8mb4", "latin2_general_ci"],
        ),
        ("SET character_set_connection = ascii", ["utf8mb4", "ascii", "utf8mb4", "ascii_general_ci"]),
        ("SET CHARACTER SET latin1", ["latin1", "utf8mb4", "latin1", "utf8mb4_0900_ai_ci"]),
        ("SET character_set_results = NULL", ["latin1", "utf8mb4", "Null", "utf8mb4_0900_ai_ci"]),
        (
            "SET default_collation_for_utf8mb4 = utf8mb4_general_ci",
            ["latin1", "utf8mb4", "Null", "utf8mb4_0900_ai_ci"],
        ),
        ("SET NAMES utf8mb4", ["utf8mb4", "utf8mb4", "utf8mb4", "utf8mb4_general_ci"]),
    ] {
        assert!(!matches!(harness.ask(client, statement), Response::Error(_)), "{statement}");
        assert_eq!(variables(&mut harness, client), expected, "{statement}");
    }
    for (statement, number) in [
        ("SET NAMES klingon", 1115),
        ("SET NAMES cp850", 1115),
        ("SET NAMES latin1 COLLATE klingon_ci", 1273),
        ("SET NAMES latin1 COLLATE utf8mb4_bin", 1253),
        ("SET NAMES ucs2", 1231),
        ("SET character_set_client = utf16", 1231),
        ("SET character_set_client = NULL", 1231),
        ("SET collation_connection = utf8mb4_klingon_ci", 1273),
        ("SELECT _klingon'a'", 1115),
        ("SELECT 'a' COLLATE latin1_swedish_ci", 1253),
        ("SELECT CONVERT('a' USING klingon)", 1115),
        ("CREATE TABLE test.x (a CHAR(1) CHARACTER SET latin1 COLLATE utf8mb4_bin)", 1253),
    ] {
        assert_eq!(errno(harness.ask(client, statement)), number, "{statement}");
    }
    for (statement, number) in [
        ("SET NAMES utf8", 3719),
        ("SET NAMES utf8mb3", 1287),
        ("SET collation_connection = utf8mb3_bin", 3778),
    ] {
        harness.ask(client, statement);
        assert_eq!(warnings(&mut harness, client), [text(&number.to_string())], "{statement}");
    }
}

#[test]
fn a_utf8mb3_client_has_no_characters_of_four_bytes() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.ask(client, "SET NAMES utf8mb3");
    assert_eq!(errno(harness.ask(client, "SELECT '😀'")), 1300);
    assert_eq!(rows(harness.ask(client, "SELECT _utf8mb4 x'f09f9880c3a9'")), [[text("?é")]]);
}

#[test]
fn parameters_are_in_the_client_s_character_set() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.ask(client, "SET NAMES latin1");
    harness.client(client).prepare(b"SELECT ?, HEX(CONVERT(? USING utf8mb4))");
    harness.pump(client);
    let Response::Prepared(prepared) = harness.response(client) else { panic!("it can be prepared") };
    let value = mysql_protocol::ParameterValue::Bytes(b"\xe9");
    harness.client(client).execute(prepared.statement_id, &[value, value], Cursor::None);
    harness.pump(client);
    assert_eq!(rows(harness.response(client)), [[bytes(b"\xe9"), text("C3A9")]]);
}

#[test]
fn bytes_are_converted_between_character_sets() {
    let mut harness = Harness::new();
    let client = harness.connect();
    for (expression, expected) in [
        ("LENGTH(CONVERT('é' USING latin1))", text("1")),
        ("HEX(_latin1 x'e9')", text("E9")),
        ("_latin1 x'e9'", text("é")),
        ("HEX(CONVERT('a' USING ucs2))", text("0061")),
        ("_ucs2 x'e9'", text("é")),
        ("CONVERT('aя' USING latin1)", text("a?")),
        ("CONVERT(x'e9' USING latin1)", text("é")),
        ("CONVERT(x'81' USING gbk)", Value::Null),
        ("CHARSET(CONVERT('a' USING latin2))", text("latin2")),
        ("COLLATION(_latin1'a')", text("latin1_swedish_ci")),
        ("HEX(CAST(_latin1 x'e9' AS BINARY))", text("E9")),
        ("_latin1 x'e9' = 'é'", text("1")),
        ("'ß' COLLATE utf8mb4_general_ci = 's'", text("1")),
        ("'ß' COLLATE utf8mb4_general_ci LIKE 's'", text("1")),
        ("'ß' COLLATE utf8mb4_0900_ai_ci = 'ss'", text("1")),
        ("'a' COLLATE utf8mb4_unicode_ci = 'A '", text("1")),
        ("'e' COLLATE utf8mb4_0900_as_ci = 'é'", text("0")),
        ("'e' COLLATE utf8mb4_0900_as_ci = 'E'", text("1")),
    ] {
        assert_eq!(rows(harness.ask(client, &format!("SELECT {expression}"))), [[expected]], "{expression}");
    }
}

#[test]
fn a_column_of_a_query_is_as_coercible_as_its_item() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.ask(client, "SET NAMES utf8mb4 COLLATE utf8mb4_unicode_ci");
    let general = "(SELECT 'B' COLLATE utf8mb4_general_ci AS g) k";
    for (query, expected) in [
        ("SELECT COERCIBILITY(x) FROM (SELECT 'b' AS x) d", "4"),
        (
            "SELECT COERCIBILITY(x) FROM (SELECT 'b' AS x UNION SELECT COLUMN_NAME FROM information_schema.COLUMNS) d LIMIT 1",
            "2",
        ),
        ("SELECT COERCIBILITY(x) FROM (SELECT MIN('b') AS x) d", "4"),
        ("SELECT COERCIBILITY(x) FROM (SELECT COUNT('b') AS x) d", "5"),
        ("SELECT COERCIBILITY(CAST('b' AS BINARY))", "2"),
        ("SELECT COERCIBILITY(CAST(5 AS CHAR))", "2"),
        ("SELECT COERCIBILITY(CAST('b' AS BINARY)) FROM (SELECT 'b' AS x) d WHERE x < BINARY 'c'", "2"),
        (&format!("SELECT COERCIBILITY(g) FROM {general}"), "0"),
        (&format!("SELECT g IN (SELECT 'a' UNION SELECT 'b') FROM {general}"), "1"),
        (&format!("SELECT g = (SELECT 'b') FROM {general}"), "1"),
        (&format!("WITH c AS (SELECT 'b' AS x) SELECT COUNT(*) FROM {general} JOIN c ON c.x = g"), "1"),
        (
            &format!(
                "SELECT COUNT(*) FROM {general} WHERE EXISTS (SELECT 1 FROM (SELECT 'b' AS x) d WHERE x = g)"
            ),
            "1",
        ),
        (&format!("SELECT COUNT(*) FROM {general}, (SELECT 'b' AS x) d GROUP BY g, x HAVING g = x"), "1"),
    ] {
        assert_eq!(rows(harness.ask(client, query)), [[text(expected)]], "{query}");
    }
    let two = format!("SELECT g = x FROM {general}, (SELECT 'b' COLLATE utf8mb4_bin AS x) d");
    assert_eq!(errno(harness.ask(client, &two)), 1267);
}

#[test]
fn the_database_s_collation_follows_use() {
    let mut harness = Harness::new();
    let client = harness.connect();
    let both = |harness: &mut Harness| {
        rows(harness.ask(client, "SELECT @@collation_database, @@character_set_database")).remove(0)
    };
    harness.ask(client, "SET collation_database = latin1_bin");
    assert_eq!(both(&mut harness), [text("latin1_bin"), text("latin1")]);
    harness.ask(client, "USE test");
    assert_eq!(both(&mut harness), [text("utf8mb4_0900_ai_ci"), text("utf8mb4")]);
}
