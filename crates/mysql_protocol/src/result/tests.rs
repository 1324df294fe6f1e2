use super::*;
use crate::error::ErrorPacket;
use crate::framing::HEADER_SIZE;
use proptest::prelude::*;

fn payload(write: impl FnOnce(&mut PacketWriter<'_>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(&mut PacketWriter::new(&mut bytes, 0));
    bytes.split_off(HEADER_SIZE)
}

fn column(column_type: ColumnType, flags: ColumnFlags) -> ColumnDefinition<'static> {
    ColumnDefinition {
        schema: b"test",
        table: b"t",
        original_table: b"sbtest1",
        name: b"c",
        original_name: b"c",
        collation: 255,
        length: 480,
        column_type,
        flags,
        decimals: 0,
    }
}

#[test]
fn packets_come_back_as_they_were_written() {
    let ok = OkPacket {
        affected_rows: 251,
        last_insert_id: u64::MAX,
        status: StatusFlags::AUTOCOMMIT,
        warnings: 3,
        info: b"Rows matched: 1",
    };
    assert_eq!(OkPacket::parse(&payload(|writer| writer.ok(&ok))), Ok(ok));
    let ok = OkPacket::default();
    assert_eq!(payload(|writer| writer.ok(&ok)), [0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(OkPacket::parse(&[0, 0, 0, 0, 0, 0, 0]), Ok(ok));

    let error = ErrorPacket::new(1146, *b"42S02", "no such table");
    assert_eq!(payload(|writer| writer.error(&error)), b"\xFF\x7A\x04#42S02no such table");
    assert_eq!(ErrorPacket::parse(&payload(|writer| writer.error(&error))), Ok(error));
    let early = ErrorPacket::parse(b"\xFF\x10\x04Too many connections").unwrap();
    assert_eq!((early.errno, &early.sqlstate), (1040, b"HY000"));

    let definition = column(ColumnType::String, ColumnFlags::NOT_NULL);
    let bytes = payload(|writer| writer.column_definition(&definition));
    assert!(bytes.starts_with(b"\x03def\x04test\x01t\x07sbtest1\x01c\x01c\x0C"));
    assert_eq!(ColumnDefinition::parse(&bytes), Ok(definition));
    let bytes = payload(|writer| writer.column_definition_with_default(&definition, None));
    assert_eq!(ColumnDefinition::parse(&bytes), Ok(definition));

    let prepared = StatementPrepared { statement_id: 7, column_count: 2, parameter_count: 300, warnings: 1 };
    assert_eq!(
        StatementPrepared::parse(&payload(|writer| writer.statement_prepared(&prepared))),
        Ok(prepared)
    );
}

#[test]
fn the_end_has_the_form_that_was_negotiated() {
    let end = EndPacket { status: StatusFlags::AUTOCOMMIT | StatusFlags::LAST_ROW_SENT, warnings: 9 };
    for (capabilities, expected) in [
        (Capabilities::EMPTY, vec![0xFE, 9, 0, 0x82, 0]),
        (Capabilities::DEPRECATE_EOF, vec![0xFE, 0, 0, 0x82, 0, 9, 0]),
    ] {
        let bytes = payload(|writer| writer.end_of_rows(capabilities, end));
        assert_eq!(bytes, expected);
        assert!(EndPacket::is_end(&bytes, capabilities));
        assert_eq!(EndPacket::parse(&bytes, capabilities), Ok(end));
    }
    let mut nothing = Vec::new();
    PacketWriter::new(&mut nothing, 0).end_of_columns(Capabilities::DEPRECATE_EOF, end);
    assert!(nothing.is_empty());
}

#[test]
fn a_row_that_begins_like_the_end_is_a_row() {
    let mut row = vec![0xFE; 9];
    assert!(!EndPacket::is_end(&row, Capabilities::EMPTY));
    row.resize(crate::framing::FRAME_PAYLOAD_SIZE_MAX, 0);
    assert!(!EndPacket::is_end(&row, Capabilities::DEPRECATE_EOF));
}

#[test]
fn an_unfinished_row_is_not_sent() {
    let mut bytes = Vec::new();
    let mut writer = PacketWriter::new(&mut bytes, 0);
    writer.text_row().bytes(b"half");
    writer.binary_row(300).tiny(1);
    assert!(bytes.is_empty());
}

#[test]
fn null_bits_begin_at_the_third() {
    let bytes = payload(|writer| {
        let mut row = writer.binary_row(7);
        row.null();
        (0..5).for_each(|value| row.tiny(value));
        row.null();
        row.finish();
    });
    assert_eq!(bytes, [0, 0b0000_0100, 0b0000_0001, 0, 1, 2, 3, 4]);
}

#[test]
fn every_type_of_cell() {
    let date = Date { year: 2024, month: 2, day: 29 };
    let date_time =
        DateTime { year: 2024, month: 2, day: 29, hour: 1, microsecond: 5, ..DateTime::default() };
    let time = Time { negative: true, days: 34, hours: 22, minutes: 59, seconds: 59, microseconds: 0 };
    let bytes = payload(|writer| {
        let mut row = writer.binary_row(16);
        row.tiny(-1);
        row.unsigned_tiny(255);
        row.short(-2);
        row.unsigned_short(65_535);
        row.long(-3);
        row.unsigned_long(u32::MAX);
        row.long_long(-4);
        row.unsigned_long_long(u64::MAX);
        row.float(1.5);
        row.double(-2.5);
        row.date(date);
        row.date_time(date_time);
        row.time(time);
        row.bytes(b"12.50");
        row.bytes(&[7; 300]);
        row.null();
        row.finish();
    });
    let signed = |column_type| ParameterType { column_type, unsigned: false };
    let unsigned = |column_type| ParameterType { column_type, unsigned: true };
    let types = [
        signed(ColumnType::Tiny),
        unsigned(ColumnType::Tiny),
        signed(ColumnType::Short),
        unsigned(ColumnType::Short),
        signed(ColumnType::Int24),
        unsigned(ColumnType::Long),
        signed(ColumnType::LongLong),
        unsigned(ColumnType::LongLong),
        signed(ColumnType::Float),
        signed(ColumnType::Double),
        signed(ColumnType::Date),
        signed(ColumnType::Timestamp),
        signed(ColumnType::Time),
        signed(ColumnType::NewDecimal),
        signed(ColumnType::Blob),
        signed(ColumnType::Long),
    ];
    let cells: Vec<_> =
        RowCells::new(&bytes, RowFormat::Binary, &types).unwrap().map(Result::unwrap).collect();
    let expected = [
        ParameterValue::Int(-1),
        ParameterValue::UInt(255),
        ParameterValue::Int(-2),
        ParameterValue::UInt(65_535),
        ParameterValue::Int(-3),
        ParameterValue::UInt(u32::MAX.into()),
        ParameterValue::Int(-4),
        ParameterValue::UInt(u64::MAX),
        ParameterValue::Float(1.5),
        ParameterValue::Double(-2.5),
        ParameterValue::Date(date),
        ParameterValue::DateTime(date_time),
        ParameterValue::Time(time),
        ParameterValue::Bytes(b"12.50"),
        ParameterValue::Bytes(&[7; 300]),
        ParameterValue::Null,
    ];
    assert_eq!(cells, expected);
}

proptest! {
    #[test]
    fn text_rows_round_trip(
        cells in proptest::collection::vec(proptest::option::of(any::<Vec<u8>>()), 1..20),
        signed: i64,
        unsigned: u64,
    ) {
        let bytes = payload(|writer| {
            let mut row = writer.text_row();
            for cell in &cells {
                match cell {
                    None => row.null(),
                    Some(bytes) => row.bytes(bytes),
                }
            }
            row.signed(signed);
            row.unsigned(unsigned);
            row.finish();
        });
        let mut expected = cells.clone();
        expected.push(Some(signed.to_string().into_bytes()));
        expected.push(Some(unsigned.to_string().into_bytes()));
        let types = vec![ParameterType { column_type: ColumnType::VarString, unsigned: false }; expected.len()];
        let read: Vec<_> = RowCells::new(&bytes, RowFormat::Text, &types).unwrap().map(Result::unwrap).collect();
        let expected: Vec<_> = expected
            .iter()
            .map(|cell| cell.as_ref().map_or(ParameterValue::Null, |bytes| ParameterValue::Bytes(bytes)))
            .collect();
        prop_assert_eq!(read, expected);
    }

    #[test]
    fn binary_rows_round_trip(cells in proptest::collection::vec(proptest::option::of(any::<i64>()), 1..600)) {
        let count = u16::try_from(cells.len()).unwrap();
        let bytes = payload(|writer| {
            let mut row = writer.binary_row(count);
            for cell in &cells {
                match cell {
                    None => row.null(),
                    Some(value) => row.long_long(*value),
                }
            }
            row.finish();
        });
        let types = vec![ParameterType { column_type: ColumnType::LongLong, unsigned: false }; cells.len()];
        let read: Vec<_> = RowCells::new(&bytes, RowFormat::Binary, &types).unwrap().map(Result::unwrap).collect();
        let expected: Vec<_> =
            cells.iter().map(|cell| cell.map_or(ParameterValue::Null, ParameterValue::Int)).collect();
        prop_assert_eq!(read, expected);
    }

    #[test]
    fn any_bytes_are_handled(bytes: Vec<u8>, wire in proptest::collection::vec(any::<u8>(), 0..30), text: bool) {
        let _ = OkPacket::parse(&bytes);
        let _ = ErrorPacket::parse(&bytes);
        let _ = EndPacket::parse(&bytes, Capabilities::EMPTY);
        let _ = EndPacket::parse(&bytes, Capabilities::DEPRECATE_EOF);
        let _ = ColumnDefinition::parse(&bytes);
        let _ = StatementPrepared::parse(&bytes);
        let types: Vec<_> = wire.iter().filter_map(|&byte| ParameterType::from_wire(byte.into())).collect();
        let format = if text { RowFormat::Text } else { RowFormat::Binary };
        if let Ok(cells) = RowCells::new(&bytes, format, &types) {
            prop_assert!(cells.count() <= types.len());
        }
    }
}
