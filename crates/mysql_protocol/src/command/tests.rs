use super::*;
use proptest::prelude::*;

const CAPABILITIES: Capabilities = Capabilities::SERVER;

fn parsed(bytes: &[u8]) -> String {
    match Command::parse(bytes, CAPABILITIES.without(Capabilities::QUERY_ATTRIBUTES)) {
        Ok(command) => format!("{command:?}"),
        Err(error) => format!("{error:?}"),
    }
}

#[test]
fn commands_without_a_body() {
    for (byte, name) in [
        (0x01, "Quit"),
        (0x09, "Statistics"),
        (0x0A, "ProcessInfo"),
        (0x0D, "Debug"),
        (0x0E, "Ping"),
        (0x1F, "ResetConnection"),
    ] {
        assert_eq!(parsed(&[byte]), name);
    }
}

#[test]
fn commands_with_numbers() {
    assert_eq!(parsed(&[0x0C, 7, 1, 0, 0]), "ProcessKill { connection_id: 263 }");
    assert_eq!(parsed(&[0x19, 7, 0, 0, 0]), "StatementClose { statement_id: 7 }");
    assert_eq!(parsed(&[0x1A, 7, 0, 0, 0]), "StatementReset { statement_id: 7 }");
    assert_eq!(parsed(&[0x1C, 7, 0, 0, 0, 9, 0, 0, 0]), "StatementFetch { statement_id: 7, row_count: 9 }");
    assert_eq!(parsed(&[0x07, 5]), "Refresh { what: 5 }");
    assert_eq!(parsed(&[0x07]), "Malformed");
    assert_eq!(parsed(&[0x1B, 0, 0]), "SetOption(On)");
    assert_eq!(parsed(&[0x1B, 1, 0]), "SetOption(Off)");
    let long_data = "StatementSendLongData { statement_id: 7, parameter: 2, data: [120] }";
    assert_eq!(parsed(&[0x18, 7, 0, 0, 0, 2, 0, b'x']), long_data);
}

#[test]
fn commands_with_text() {
    assert!(matches!(
        Command::parse(b"\x03SELECT 1", Capabilities::EMPTY),
        Ok(Command::Query { text: b"SELECT 1", .. })
    ));
    assert!(matches!(
        Command::parse(b"\x03\0\x01SELECT 1", CAPABILITIES),
        Ok(Command::Query { text: b"SELECT 1", .. })
    ));
    assert!(matches!(Command::parse(b"\x02db", CAPABILITIES), Ok(Command::InitDatabase { name: b"db" })));
    assert!(matches!(Command::parse(b"\x16x", CAPABILITIES), Ok(Command::StatementPrepare { text: b"x" })));
    assert!(matches!(
        Command::parse(b"\x04table\0a%", CAPABILITIES),
        Ok(Command::FieldList { table: b"table", wildcard: b"a%" })
    ));
}

#[test]
fn unknown_and_broken_commands_have_different_errors() {
    assert_eq!(parsed(&[]), "Malformed");
    assert_eq!(parsed(&[0x19, 1]), "Malformed");
    assert_eq!(parsed(&[0x1B, 9, 0]), "Unknown(27)");
    // COM_SHUTDOWN, COM_BINLOG_DUMP, COM_SLEEP and what nobody has defined.
    for byte in [0x00, 0x08, 0x12, 0x1E, 0x20, 0xFF] {
        assert_eq!(parsed(&[byte]), format!("Unknown({byte})"));
        assert_eq!(CommandError::Unknown(byte).packet().errno, 1047);
    }
}

#[test]
fn query_attributes_stand_before_the_text() {
    let mut bytes = vec![0x03, 2, 1, 0b10, 1, 3, 0, 1, b'a', 254, 0, 1, b'b', 42, 0, 0, 0];
    bytes.extend_from_slice(b"SELECT");
    let Ok(Command::Query { text, attributes }) = Command::parse(&bytes, CAPABILITIES) else { panic!() };
    assert_eq!(text, b"SELECT");
    let attributes: Vec<_> = attributes.iter().collect();
    let expected: [(&[u8], _); 2] =
        [(b"a", crate::ParameterValue::Int(42)), (b"b", crate::ParameterValue::Null)];
    assert_eq!(attributes, expected);
}

#[test]
fn change_user_of_old_and_new_clients() {
    let Ok(Command::ChangeUser(old)) = Command::parse(b"\x11me\0\x02xydb\0", CAPABILITIES) else { panic!() };
    assert_eq!((old.user, old.auth_response, old.database), (&b"me"[..], &b"xy"[..], &b"db"[..]));
    assert_eq!((old.collation, old.plugin), (None, None));
    let new = b"\x11me\0\x00\0\xFF\0mysql_native_password\0\x04\x01a\x01b";
    let Ok(Command::ChangeUser(new)) = Command::parse(new, CAPABILITIES) else { panic!() };
    assert_eq!((new.collation, new.plugin), (Some(255), Some(&b"mysql_native_password"[..])));
    assert_eq!(new.attributes.iter().collect::<Vec<_>>(), [(&b"a"[..], &b"b"[..])]);
}

proptest! {
    #[test]
    fn any_bytes_are_handled(byte in 0u8..0x20, body: Vec<u8>, capabilities: u32) {
        let mut bytes = vec![byte];
        bytes.extend_from_slice(&body);
        let _ = Command::parse(&bytes, Capabilities::from_bits(capabilities));
        let _ = Command::parse(&bytes, CAPABILITIES);
    }
}
