use super::*;
use crate::command::{Command, Cursor, Execute};
use proptest::prelude::*;

const WITHOUT_ATTRIBUTES: Capabilities = Capabilities::PROTOCOL_41;

fn execute(bytes: &[u8]) -> Execute<'_> {
    let Ok(Command::StatementExecute(execute)) = Command::parse(bytes, WITHOUT_ATTRIBUTES) else { panic!() };
    execute
}

fn values<'a>(
    execute: &Execute<'a>,
    count: u16,
    types: &mut ParameterTypes,
    long_data: &'a LongData,
    capabilities: Capabilities,
) -> Result<Vec<ParameterValue<'a>>, CommandError> {
    execute.parameters(count, types, long_data, capabilities)?.collect()
}

/// As sysbench sends it: one INT parameter, types first, then only the value.
#[test]
fn types_are_sent_once_and_kept() {
    let first = [0x17, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 3, 0, 42, 0, 0, 0];
    let second = [0x17, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 43, 0, 0, 0];
    let (mut types, long_data) = (ParameterTypes::new(), LongData::new());
    let mut read = |bytes: &[u8]| {
        let execute = execute(bytes);
        assert_eq!((execute.statement_id, execute.cursor), (1, Cursor::None));
        values(&execute, 1, &mut types, &long_data, WITHOUT_ATTRIBUTES).map(|values| format!("{values:?}"))
    };
    assert_eq!(read(&second), Err(CommandError::WrongArguments));
    assert_eq!(read(&first).unwrap(), "[Int(42)]");
    assert_eq!(read(&second).unwrap(), "[Int(43)]");
}

#[test]
fn nulls_are_in_the_bitmap_and_take_no_bytes() {
    let mut bytes = vec![0x17, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0b0000_0001, 0b10, 1];
    for _ in 0..10 {
        bytes.extend_from_slice(&[1, 0x80]);
    }
    bytes.extend_from_slice(&[1, 2, 3, 4, 5, 6, 7, 200]);
    let execute = execute(&bytes);
    assert_eq!(execute.cursor, Cursor::ReadOnly);
    let (mut types, long_data) = (ParameterTypes::new(), LongData::new());
    let values = values(&execute, 10, &mut types, &long_data, WITHOUT_ATTRIBUTES).unwrap();
    assert_eq!(values[0], ParameterValue::Null);
    assert_eq!(values[1], ParameterValue::UInt(1));
    assert_eq!(values[8], ParameterValue::UInt(200));
    assert_eq!(values[9], ParameterValue::Null);
}

#[test]
fn long_data_stands_for_a_value_that_is_not_sent() {
    // A BLOB sent ahead, then a TINY.
    let bytes = [0x17, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 252, 0, 1, 0, 7];
    let mut long_data = LongData::new();
    long_data.append(0, b"first ", 100);
    long_data.append(0, b"second", 100);
    assert_eq!(long_data.size(), 12);
    let values =
        values(&execute(&bytes), 2, &mut ParameterTypes::new(), &long_data, WITHOUT_ATTRIBUTES).unwrap();
    assert_eq!(values, [ParameterValue::Bytes(b"first second"), ParameterValue::Int(7)]);
}

#[test]
fn too_much_long_data_is_dropped_and_refuses_the_execute() {
    let bytes = [0x17, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 252, 0];
    let mut long_data = LongData::new();
    long_data.append(0, &[0; 60], 100);
    long_data.append(1, &[0; 41], 100);
    long_data.append(1, &[0; 1], 100);
    assert_eq!(long_data.size(), 0);
    let mut types = ParameterTypes::new();
    let refused = values(&execute(&bytes), 1, &mut types, &long_data, WITHOUT_ATTRIBUTES);
    assert_eq!(refused, Err(CommandError::LongDataTooLarge));
    long_data.clear();
    long_data.append(0, b"x", 100);
    assert!(values(&execute(&bytes), 1, &mut types, &long_data, WITHOUT_ATTRIBUTES).is_ok());
}

/// As mysql2 (Node.js) sends it to MySQL 8: names, and the count before them.
#[test]
fn with_query_attributes_parameters_are_counted_and_named() {
    let bytes = [0x17, 4, 0, 0, 0, 8, 1, 0, 0, 0, 1, 0, 1, 0xFD, 0, 0, 5, b'a', b'd', b'm', b'i', b'n'];
    let capabilities = WITHOUT_ATTRIBUTES | Capabilities::QUERY_ATTRIBUTES;
    let mut types = ParameterTypes::new();
    let long_data = LongData::new();
    let read = values(&execute(&bytes), 1, &mut types, &long_data, capabilities).unwrap();
    assert_eq!(read, [ParameterValue::Bytes(b"admin")]);
    let too_many = values(&execute(&bytes), 2, &mut types, &long_data, capabilities);
    assert_eq!(too_many, Err(CommandError::WrongArguments));
    // A statement without parameters takes the one sent for an attribute.
    assert_eq!(values(&execute(&bytes), 0, &mut types, &long_data, capabilities), Ok(vec![]));
}

#[test]
fn a_broken_type_leaves_no_types() {
    let good = [0x17, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 3, 0, 42, 0, 0, 0];
    let bad = [0x17, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 200, 0, 42, 0, 0, 0];
    let (mut types, long_data) = (ParameterTypes::new(), LongData::new());
    values(&execute(&good), 1, &mut types, &long_data, WITHOUT_ATTRIBUTES).unwrap();
    assert_eq!(types.as_slice().len(), 1);
    let refused = values(&execute(&bad), 1, &mut types, &long_data, WITHOUT_ATTRIBUTES);
    assert_eq!(refused, Err(CommandError::WrongArguments));
    assert!(types.as_slice().is_empty());
}

#[test]
fn a_missing_value_ends_the_values() {
    let bytes = [0x17, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 3, 0, 1, 0, 42, 0, 0];
    let (mut types, long_data) = (ParameterTypes::new(), LongData::new());
    let execute = execute(&bytes);
    let mut parameters = execute.parameters(2, &mut types, &long_data, WITHOUT_ATTRIBUTES).unwrap();
    assert_eq!(parameters.next(), Some(Err(CommandError::Malformed)));
    assert_eq!(parameters.next(), None);
}

proptest! {
    #[test]
    fn any_execute_is_handled(body: Vec<u8>, count in 0u16..20, attributes: bool, sent_ahead in 0u16..20) {
        let mut bytes = vec![0x17];
        bytes.extend_from_slice(&body);
        let capabilities = Capabilities::given(Capabilities::QUERY_ATTRIBUTES, attributes);
        let mut long_data = LongData::new();
        long_data.append(sent_ahead, b"x", 10);
        if let Ok(Command::StatementExecute(execute)) = Command::parse(&bytes, capabilities) {
            let mut types = ParameterTypes::new();
            let _ = values(&execute, count, &mut types, &long_data, capabilities);
            let _ = values(&execute, count, &mut types, &long_data, capabilities);
        }
    }

    #[test]
    fn any_query_attributes_are_handled(body: Vec<u8>) {
        let mut bytes = vec![0x03];
        bytes.extend_from_slice(&body);
        if let Ok(Command::Query { attributes, .. }) = Command::parse(&bytes, Capabilities::QUERY_ATTRIBUTES) {
            prop_assert_eq!(attributes.iter().count(), attributes.count());
        }
    }
}
