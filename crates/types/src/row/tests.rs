use super::*;
use crate::{
    BlobSize, Collation, ColumnFlags, Date, DateTime, IntegerWidth, NullBit, NumberColumn, SqlType,
    TextColumn, Time,
};
use proptest::prelude::*;
use std::sync::Arc;

fn column(sql_type: SqlType, default: DefaultValue) -> ColumnDefinition {
    let flags = ColumnFlags { nullable: true, ..ColumnFlags::default() };
    ColumnDefinition {
        name: "c".to_owned(),
        sql_type,
        default,
        flags,
        comment: String::new(),
        format: crate::NumberFormat::default(),
        absent: None,
    }
}

fn layout(types: &[SqlType]) -> RowLayout {
    let columns: Vec<_> =
        types.iter().map(|sql_type| column(sql_type.clone(), DefaultValue::Missing)).collect();
    RowLayout::new(&columns)
}

fn encoded(layout: &RowLayout, values: &[Value]) -> Vec<u8> {
    let values: Vec<_> = values.iter().map(Value::as_ref).collect();
    let mut row = vec![0xee; 3];
    layout.encode(&values, &mut row);
    row.split_off(3)
}

/// NaN equals itself here.
fn same(left: &[Value], right: &[Value]) -> bool {
    format!("{left:?}") == format!("{right:?}")
}

pub(crate) fn any_type() -> impl Strategy<Value = SqlType> {
    let collation = prop_oneof![
        Just(Collation::Binary),
        Just(Collation::Utf8mb40900AiCi),
        Just(Collation::Utf8mb40900AsCs),
        Just(Collation::Utf8mb40900Bin),
        Just(Collation::Utf8mb4Bin),
        Just(Collation::Utf8mb4GeneralCi),
    ];
    let width = prop_oneof![
        Just(IntegerWidth::Tiny),
        Just(IntegerWidth::Small),
        Just(IntegerWidth::Medium),
        Just(IntegerWidth::Normal),
        Just(IntegerWidth::Big),
    ];
    let size = prop_oneof![Just(BlobSize::Tiny), Just(BlobSize::Normal), Just(BlobSize::Long)];
    let members = Arc::new(vec!["a".to_owned(), "b".to_owned(), "c".to_owned()]);
    let set_members = Arc::clone(&members);
    prop_oneof![
        (width, any::<bool>()).prop_map(|(width, unsigned)| SqlType::Integer { width, unsigned }),
        Just(SqlType::Float),
        Just(SqlType::Double),
        (1..=65_u8, 0..=30_u8, any::<bool>()).prop_map(|(precision, scale, unsigned)| SqlType::Decimal {
            precision,
            scale: scale.min(precision),
            unsigned
        }),
        (1..=64_u8).prop_map(|length| SqlType::Bit { length }),
        (0..=10_u32, collation.clone()).prop_map(|(length, collation)| SqlType::Char { length, collation }),
        (0..=10_u32, collation.clone())
            .prop_map(|(length, collation)| SqlType::VarChar { length, collation }),
        (0..=10_u32).prop_map(|length| SqlType::Binary { length }),
        (0..=10_u32).prop_map(|length| SqlType::VarBinary { length }),
        (size.clone(), collation.clone()).prop_map(|(size, collation)| SqlType::Text { size, collation }),
        size.prop_map(|size| SqlType::Blob { size }),
        collation
            .clone()
            .prop_map(move |collation| SqlType::Enum { members: Arc::clone(&members), collation }),
        collation.prop_map(move |collation| SqlType::Set { members: Arc::clone(&set_members), collation }),
        Just(SqlType::Date),
        (0..=6_u8).prop_map(|fraction| SqlType::Time { fraction }),
        (0..=6_u8).prop_map(|fraction| SqlType::DateTime { fraction }),
        (0..=6_u8).prop_map(|fraction| SqlType::Timestamp { fraction }),
        Just(SqlType::Year),
        Just(SqlType::Json),
        Just(SqlType::Null),
    ]
}

/// A value that a column of the type may hold; seldom NULL.
pub(crate) fn value_of(sql_type: &SqlType) -> BoxedStrategy<Value> {
    let date = (366_i64..=3_652_424).prop_map(|days| Date::from_days(days).unwrap());
    let source = match sql_type {
        SqlType::Integer { .. } | SqlType::Bit { .. } => prop_oneof![
            any::<i64>().prop_map(Value::Int),
            (-200_i64..200).prop_map(Value::Int),
            any::<u64>().prop_map(Value::UInt)
        ]
        .boxed(),
        SqlType::Float | SqlType::Double => prop_oneof![
            any::<f64>().prop_map(Value::Double),
            (-3..3).prop_map(|number| Value::Double(f64::from(number) / 2.0))
        ]
        .boxed(),
        SqlType::Decimal { .. } => "-?[0-9]{1,35}(\\.[0-9]{1,30})?"
            .prop_map(|text| Value::Decimal(Box::new(Decimal::parse(text.as_bytes()).unwrap().0)))
            .boxed(),
        SqlType::Char { .. } | SqlType::VarChar { .. } | SqlType::Text { .. } | SqlType::Json => {
            prop_oneof!["[a-cA-C \u{0}\u{1}é中]{0,8}", "\\PC{0,6}"]
                .prop_map(|text| Value::text(&text))
                .boxed()
        }
        SqlType::Binary { .. } | SqlType::VarBinary { .. } | SqlType::Blob { .. } => prop_oneof![
            proptest::collection::vec(0..4_u8, 0..8).prop_map(Value::Bytes),
            proptest::collection::vec(any::<u8>(), 0..30).prop_map(Value::Bytes),
        ]
        .boxed(),
        SqlType::Enum { .. } | SqlType::Set { .. } => (0..9_u64).prop_map(Value::UInt).boxed(),
        SqlType::Date => date.prop_map(Value::Date).boxed(),
        SqlType::Time { .. } => any::<i64>()
            .prop_map(|number| Value::Time(Time::from_microseconds_clamped(number / 2_000_000)))
            .boxed(),
        SqlType::DateTime { .. } | SqlType::Timestamp { .. } => (date, 0..86_400_000_000_i64)
            .prop_map(|(date, microseconds)| {
                let time = Time::from_microseconds(microseconds).unwrap();
                Value::DateTime(DateTime::from_date_and_duration(date, time).unwrap())
            })
            .boxed(),
        SqlType::Year => (1_900..2_156_u64).prop_map(Value::UInt).boxed(),
        SqlType::Null => Just(Value::Null).boxed(),
    };
    let sql_type = sql_type.clone();
    let stored = source.prop_map(move |value| {
        crate::store(value, &sql_type, crate::StoreMode::Lenient, crate::DateMode::CALENDAR).unwrap()
    });
    prop_oneof![9 => stored, 1 => Just(Value::Null)].boxed()
}

fn table() -> impl Strategy<Value = (Vec<SqlType>, Vec<Value>)> {
    proptest::collection::vec(any_type(), 0..12).prop_flat_map(|types| {
        let values: Vec<_> = types.iter().map(value_of).collect();
        (Just(types), values)
    })
}

/// Where a `NumberColumn` or a `NullBit` says anything, it is what the layout says.
fn assert_numbers_lie_where_they_should(types: &[SqlType], layout: &RowLayout, row: &[u8]) {
    for (index, sql_type) in types.iter().enumerate() {
        let column = ColumnIndex(u16::try_from(index).unwrap());
        let expected = layout.column(row, column);
        let is_null = NullBit::of(layout, column).and_then(|bit| bit.read(row));
        // A damaged value may be NULL without the bit.
        let is_told = is_null.is_none_or(|is_null| is_null == expected.is_null());
        assert!(is_told || layout.check(row).is_err(), "{expected:?}");
        let text = TextColumn::of(layout, column).and_then(|column| column.read(row));
        assert!(text.is_none_or(|text| text.map_or(ValueRef::Null, ValueRef::Bytes) == expected));
        let Some(numbers) = NumberColumn::of(layout, column, sql_type) else { continue };
        let value = numbers.read_value(row);
        assert!(value.is_none_or(|value| value == expected), "{value:?} for {expected:?}");
        let Some(number) = numbers.read(row) else { continue };
        let value = number.map_or(Value::Null, |number| numbers.kind().value(i128::from(number)));
        assert_eq!(value.as_ref(), expected);
    }
}

#[test]
fn numbers_of_this_layouts_rows_are_read_in_place() {
    let signed = |width| SqlType::Integer { width, unsigned: false };
    let unsigned = |width| SqlType::Integer { width, unsigned: true };
    let text = SqlType::VarChar { length: 9, collation: Collation::Binary };
    let decimal = |precision| SqlType::Decimal { precision, scale: 2, unsigned: false };
    let types = [
        signed(IntegerWidth::Tiny),
        text,
        signed(IntegerWidth::Medium),
        signed(IntegerWidth::Big),
        decimal(18),
        decimal(9),
        decimal(19),
        unsigned(IntegerWidth::Big),
        SqlType::Date,
    ];
    let old = layout(&types[..2]);
    let layout = layout(&types);
    let number = |text: &str| Value::Decimal(Box::new(Decimal::parse(text.as_bytes()).unwrap().0));
    let mut values = vec![
        Value::Int(-3),
        Value::text("abc"),
        Value::Int(-70_000),
        Value::Null,
        number("-9999999999999999.99"),
        number("0.00"),
        number("5.00"),
        Value::UInt(1 << 63),
        Value::Date(Date::from_packed((2024 << 9) + (2 << 5) + 29).unwrap()),
    ];
    let at = |column: u16| NumberColumn::of(&layout, ColumnIndex(column), &types[usize::from(column)]);
    let read = |column, row: &[u8]| at(column).unwrap().read(row);
    let row = encoded(&layout, &values);
    assert_numbers_lie_where_they_should(&types, &layout, &row);
    let found = [0, 2, 3, 4, 5].map(|column| read(column, &row).unwrap());
    assert_eq!(found, [Some(-3), Some(-70_000), None, Some(-999_999_999_999_999_999), Some(0)]);
    assert!([1, 6].iter().all(|column| at(*column).is_none()), "a text, and too many digits");
    assert_eq!(read(7, &row), None, "too large for a number of 63 bits");
    assert_eq!(read(8, &row), Some(Some((2024 << 9) + (2 << 5) + 29)));
    let older = encoded(&old, &values[..2]);
    assert_eq!(read(0, &older), None, "rows of another layout are left to it");
    values[1] = Value::Bytes(vec![b'x'; 70_000]);
    let wide = encoded(&layout, &values);
    assert_eq!(read(0, &wide), None);
    assert_numbers_lie_where_they_should(&types, &layout, &wide);
}

#[test]
fn a_sysbench_row_costs_seven_bytes() {
    let int = SqlType::Integer { width: IntegerWidth::Normal, unsigned: false };
    let text = |length| SqlType::Char { length, collation: Collation::Utf8mb40900AiCi };
    let layout = layout(&[int.clone(), int, text(120), text(60)]);
    let row = encoded(
        &layout,
        &[Value::Int(1), Value::Int(2), Value::Bytes(vec![b'c'; 119]), Value::Bytes(vec![b'p'; 59])],
    );
    assert_eq!(row.len(), 4 + 4 + 119 + 59 + 7);
}

#[test]
fn the_format_is_pinned() {
    let types = [
        SqlType::Integer { width: IntegerWidth::Medium, unsigned: false },
        SqlType::VarChar { length: 9, collation: Collation::Binary },
        SqlType::Date,
        SqlType::Decimal { precision: 5, scale: 2, unsigned: false },
    ];
    let decimal = Decimal::parse(b"-1.00").unwrap().0;
    let values = [Value::Int(-2), Value::text("xy"), Value::Null, Value::Decimal(Box::new(decimal))];
    let row = encoded(&layout(&types), &values);
    assert_eq!(row, [4, 2, 0b0100, 13, 0, 15, 0, 0xfe, 0xff, 0xff, 0, 0, 0, b'x', b'y', 0x82, 100]);
}

#[test]
fn columns_come_and_go() {
    let text = SqlType::VarChar { length: 99, collation: Collation::Binary };
    let old = [column(SqlType::Year, DefaultValue::Missing), column(text.clone(), DefaultValue::Missing)];
    let mut new = old.to_vec();
    new.push(column(SqlType::Double, DefaultValue::Literal(Value::Double(1.5))));
    new.push(column(text.clone(), DefaultValue::Literal(Value::text("none"))));
    new.push(column(text, DefaultValue::Missing));
    new.push(column(SqlType::Date, DefaultValue::AutoIncrement));
    new[5].flags.nullable = false;
    let (old, new) = (RowLayout::new(&old), RowLayout::new(&new));
    let before = [Value::UInt(2024), Value::text("abc")];
    let row = encoded(&old, &before);
    let added = [Value::Double(1.5), Value::text("none"), Value::Null, Value::Date(Date::ZERO)];
    assert_eq!(new.decode(&row), [&before[..], &added].concat());
    assert_eq!(new.check(&row), Ok(()));
    let after = [&before[..], &[Value::Null, Value::text("x"), Value::text("y"), Value::Null]].concat();
    let row = encoded(&new, &after);
    assert_eq!(old.decode(&row), before);
    assert_eq!(old.check(&row), Ok(()));
    assert_eq!(new.column(&row, ColumnIndex(99)), ValueRef::Null);
}

#[test]
fn many_columns_and_long_values() {
    let text = SqlType::Text { size: BlobSize::Long, collation: Collation::Binary };
    for (count, size) in [(63, 1), (64, 1), (300, 100), (3, 40_000), (600, 600), (2, 5_000_000)] {
        let types: Vec<_> =
            (0..count).map(|index| if index % 3 == 2 { SqlType::Year } else { text.clone() }).collect();
        let values: Vec<_> = (0..count)
            .map(|index| {
                if index % 3 == 2 {
                    Value::UInt(2000 + index)
                } else {
                    Value::Bytes(vec![b'x'; size + usize::try_from(index).unwrap()])
                }
            })
            .collect();
        let layout = layout(&types);
        let row = encoded(&layout, &values);
        assert_eq!(layout.decode(&row), values);
        assert_eq!(layout.check(&row), Ok(()));
    }
}

#[test]
fn rows_of_other_layouts_and_wide_ones_are_not_patched() {
    let narrow = layout(&[SqlType::Double]);
    let both = layout(&[SqlType::Double, SqlType::Blob { size: BlobSize::Long }]);
    let row = encoded(&narrow, &[Value::Double(1.0)]);
    let mut patched = Vec::new();
    assert!(!both.patch(&row, |_| None, &mut patched));
    let row = encoded(&both, &[Value::Double(1.0), Value::Bytes(vec![7; 10])]);
    assert!(both.patch(&row, |_| None, &mut patched));
    assert_eq!(patched, row);
    let large = vec![7; 70_000];
    let change = |index: usize| (index == 1).then_some(ValueRef::Bytes(&large));
    assert!(both.patch(&row, change, &mut patched));
    assert_eq!(both.column(&patched[row.len()..], ColumnIndex(1)), ValueRef::Bytes(&large));
    let row = encoded(&both, &[Value::Double(1.0), Value::Bytes(large)]);
    assert!(!both.patch(&row, |_| None, &mut Vec::new()));
}

#[test]
fn a_row_without_columns() {
    let layout = layout(&[]);
    let row = encoded(&layout, &[]);
    assert_eq!(row.len(), 2);
    assert_eq!(layout.decode(&row), []);
    assert_eq!(layout.check(&[]), Err(RowError));
}

proptest! {
    #[test]
    fn rows_round_trip((types, values) in table()) {
        let layout = layout(&types);
        let row = encoded(&layout, &values);
        prop_assert!(same(&layout.decode(&row), &values), "{:?}", values);
        prop_assert_eq!(layout.check(&row), Ok(()));
        let borrowed: Vec<_> = (0..types.len()).map(|index| layout.column(&row, ColumnIndex(u16::try_from(index).unwrap())).to_value()).collect();
        prop_assert!(same(&borrowed, &values));
        assert_numbers_lie_where_they_should(&types, &layout, &row);
        // A value that was read from a row can be written to another as it is.
        let mut copy = Vec::new();
        layout.encode(&layout.columns(&row).collect::<Vec<_>>(), &mut copy);
        prop_assert_eq!(copy, row);
    }

    #[test]
    fn a_patched_row_is_the_row_of_its_values(
        (types, values) in table(),
        others in proptest::collection::vec(any::<bool>(), 12),
        seed in any::<prop::sample::Index>(),
    ) {
        let layout = layout(&types);
        let row = encoded(&layout, &values);
        // The other values are those of the same row turned, where the types allow it, or NULL.
        let turned = |index: usize| values[(index + seed.index(values.len())) % values.len()].clone();
        let other = |index: usize| {
            let value = turned(index);
            if layout.columns[index].form.accepts(value.as_ref()) { value } else { Value::Null }
        };
        let wanted: Vec<Value> = (0..values.len())
            .map(|index| if others[index] { other(index) } else { values[index].clone() })
            .collect();
        let changed = |index: usize| others[index].then(|| wanted[index].as_ref());
        let mut patched = vec![0xee; 3];
        prop_assert!(layout.patch(&row, changed, &mut patched));
        prop_assert_eq!(patched.split_off(3), encoded(&layout, &wanted));
    }

    #[test]
    fn damaged_rows_are_refused_or_read((types, values) in table(), position in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<prop::sample::Index>()) {
        let layout = layout(&types);
        let mut row = encoded(&layout, &values);
        let at = position.index(row.len());
        row[at] = byte;
        row.truncate(cut.index(row.len() * 2));
        let _ = layout.check(&row);
        assert_numbers_lie_where_they_should(&types, &layout, &row);
        for value in layout.decode(&row) {
            let _ = format!("{value:?}");
        }
    }

    #[test]
    fn any_bytes_are_a_row_or_refused(types in proptest::collection::vec(any_type(), 0..6), bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
        let layout = layout(&types);
        let _ = (layout.check(&bytes), layout.decode(&bytes));
    }
}
