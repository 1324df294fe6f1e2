use super::{RowWriter, column_frames, definition_of, shifted};
use mysql_protocol::ColumnFlags;
use mysql_protocol::result::{RowCells, RowFormat};
use mysql_protocol::{ColumnDefinition, ColumnType, PacketWriter, ParameterValue};
use planner::plan::ResultColumn;
use query::RowSink;
use types::{Collation, Date, DateTime, IntegerWidth, NumberFormat, SqlType, ValueRef};

fn column(name: &str, sql_type: SqlType) -> ResultColumn {
    ResultColumn {
        name: name.to_owned(),
        original_name: name.to_owned(),
        table: "t".to_owned(),
        original_table: "t".to_owned(),
        database: "test".to_owned(),
        sql_type,
        nullable: true,
        coercibility: expression::IMPLICIT,
        origin: None,
        format: NumberFormat::default(),
    }
}

fn columns() -> Vec<ResultColumn> {
    vec![
        column("a", SqlType::Integer { width: IntegerWidth::Normal, unsigned: false }),
        column("b", SqlType::VarChar { length: 10, collation: Collation::Utf8mb40900AiCi }),
        column("c", SqlType::Timestamp { fraction: 0 }),
        column("d", SqlType::Integer { width: IntegerWidth::Tiny, unsigned: true }),
    ]
}

fn moment() -> DateTime {
    let date = Date::new(2024, 2, 29).expect("a day");
    DateTime::new(date, 23, 30, 0, 0).expect("a time")
}

fn written(format: RowFormat, skip: u64, left: u64) -> (Vec<u8>, u64) {
    let (columns, mut buffer, mut scratch) = (columns(), Vec::new(), Vec::new());
    let mut writer = RowWriter {
        packets: PacketWriter::new(&mut buffer, 1),
        format,
        columns: &columns,
        time_zone: 3_600,
        scratch: &mut scratch,
        count: 0,
        skip,
        left,
    };
    let row = [ValueRef::Int(-7), ValueRef::Bytes(b"x"), ValueRef::DateTime(moment()), ValueRef::Null];
    for _ in 0..3 {
        writer.row(&[], &[], &row);
    }
    assert_eq!(writer.is_full(), writer.left == 0);
    let count = writer.count;
    (buffer, count)
}

#[test]
fn text_rows_show_the_session_s_time_zone() {
    let (buffer, count) = written(RowFormat::Text, 0, 10);
    assert_eq!(count, 3);
    let types: Vec<_> = columns().iter().map(|column| definition_of(column, None).value_type()).collect();
    let size = usize::from(buffer[0]);
    let cells: Vec<_> = RowCells::new(&buffer[4..4 + size], RowFormat::Text, &types)
        .expect("a row")
        .map(|cell| cell.expect("a cell"))
        .collect();
    assert_eq!(
        cells,
        vec![
            ParameterValue::Bytes(b"-7"),
            ParameterValue::Bytes(b"x"),
            ParameterValue::Bytes(b"2024-03-01 00:30:00"),
            ParameterValue::Null,
        ]
    );
}

#[test]
fn binary_rows_have_their_columns_types() {
    let (buffer, _) = written(RowFormat::Binary, 0, 10);
    let types: Vec<_> = columns().iter().map(|column| definition_of(column, None).value_type()).collect();
    let size = usize::from(buffer[0]);
    let cells: Vec<_> = RowCells::new(&buffer[4..4 + size], RowFormat::Binary, &types)
        .expect("a row")
        .map(|cell| cell.expect("a cell"))
        .collect();
    assert_eq!(cells[0], ParameterValue::Int(-7));
    assert_eq!(cells[1], ParameterValue::Bytes(b"x"));
    assert!(
        matches!(cells[2], ParameterValue::DateTime(value) if (value.month, value.day, value.minute) == (3, 1, 30))
    );
    assert_eq!(cells[3], ParameterValue::Null);
}

#[test]
fn offset_and_limit_count_rows() {
    assert_eq!(written(RowFormat::Text, 1, 10).1, 2);
    assert_eq!(written(RowFormat::Text, 0, 1).1, 1);
    assert_eq!(written(RowFormat::Text, 3, 1).1, 0);
}

#[test]
fn definitions_are_whole_packets() {
    let frames = column_frames(&columns(), None);
    assert_eq!(frames[4], 4);
    let size = usize::from(frames[5]);
    let definition = ColumnDefinition::parse(&frames[9..9 + size]).expect("a definition");
    assert_eq!(
        (definition.name, definition.table, definition.column_type),
        (&b"a"[..], &b"t"[..], ColumnType::Long)
    );
    assert!(column_frames(&[], None).is_empty());
}

#[test]
fn zero_dates_have_no_time_zone() {
    assert_eq!(shifted(DateTime::ZERO, 3_600), DateTime::ZERO);
    assert_eq!(shifted(moment(), 0), moment());
}

#[test]
fn numbers_are_described_and_shown_as_their_table_declares_them() {
    let tiny = SqlType::Integer { width: IntegerWidth::Tiny, unsigned: false };
    let int = SqlType::Integer { width: IntegerWidth::Normal, unsigned: true };
    let columns = [
        (tiny, NumberFormat { width: Some(1), ..NumberFormat::default() }),
        (int, NumberFormat { width: Some(5), zerofill: true, ..NumberFormat::default() }),
        (SqlType::Double, NumberFormat { width: Some(10), scale: Some(2), ..NumberFormat::default() }),
        (SqlType::Float, NumberFormat { unsigned: true, ..NumberFormat::default() }),
    ]
    .map(|(sql_type, format)| ResultColumn { format, ..column("a", sql_type) });
    let described: Vec<_> = columns
        .iter()
        .map(|column| {
            let definition = definition_of(column, None);
            let has = |flag| definition.flags.contains(flag);
            (definition.length, definition.decimals, has(ColumnFlags::UNSIGNED), has(ColumnFlags::ZEROFILL))
        })
        .collect();
    assert_eq!(
        described,
        [(1, 0, false, false), (5, 0, true, true), (10, 2, false, false), (12, 31, true, false)]
    );
    let types: Vec<_> = columns.iter().map(|column| definition_of(column, None).value_type()).collect();
    let row = [ValueRef::Int(1), ValueRef::UInt(7), ValueRef::Double(1.5), ValueRef::Double(1.5)];
    let cells = |format| {
        let (mut buffer, mut scratch) = (Vec::new(), Vec::new());
        let mut writer = RowWriter {
            packets: PacketWriter::new(&mut buffer, 1),
            format,
            columns: &columns,
            time_zone: 0,
            scratch: &mut scratch,
            count: 0,
            skip: 0,
            left: 1,
        };
        writer.row(&[], &[], &row);
        let cells = RowCells::new(&buffer[4..], format, &types).expect("a row");
        cells.map(|cell| format!("{:?}", cell.expect("a cell"))).collect::<Vec<String>>()
    };
    let text = |text: &str| format!("{:?}", ParameterValue::Bytes(text.as_bytes()));
    assert_eq!(cells(RowFormat::Text), [text("1"), text("00007"), text("1.50"), text("1.5")]);
    assert_eq!(cells(RowFormat::Binary), ["Int(1)", "UInt(7)", "Double(1.5)", "Float(1.5)"]);
}
