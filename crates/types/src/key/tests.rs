use super::*;
use crate::row::tests::{any_type, value_of};
use crate::{BlobSize, ColumnDefinition, ColumnFlags, DefaultValue, IntegerWidth, TableId, TableKind, Value};
use proptest::prelude::*;
use std::cmp::Ordering;

fn table(types: &[(SqlType, bool)]) -> TableDefinition {
    let column = |(sql_type, nullable): &(SqlType, bool)| ColumnDefinition {
        name: "c".to_owned(),
        sql_type: sql_type.clone(),
        default: DefaultValue::Missing,
        flags: ColumnFlags { nullable: *nullable, ..ColumnFlags::default() },
        comment: String::new(),
        format: crate::NumberFormat::default(),
        absent: None,
    };
    TableDefinition {
        id: TableId(1),
        version: 1,
        database: "d".to_owned(),
        name: "t".to_owned(),
        kind: TableKind::User,
        columns: types.iter().map(column).collect(),
        indexes: Vec::new(),
        auto_increment: None,
        comment: String::new(),
        collation: Collation::Utf8mb40900AiCi,
        slots: crate::TableSlots::ONE_RANK,
        copied_to: None,
        checks: Vec::new(),
    }
}

fn nullable_table(types: &[SqlType]) -> TableDefinition {
    table(&types.iter().map(|sql_type| (sql_type.clone(), true)).collect::<Vec<_>>())
}

fn parts_of(descending: &[bool]) -> Vec<KeyPart> {
    (0..)
        .zip(descending)
        .map(|(column, descending)| KeyPart { descending: *descending, ..part(column) })
        .collect()
}

fn part(column: u16) -> KeyPart {
    KeyPart { column: ColumnIndex(column), prefix_length: None, descending: false }
}

fn key(encoder: &KeyEncoder, values: &[Value]) -> Vec<u8> {
    let values: Vec<_> = values.iter().map(Value::as_ref).collect();
    let mut key = Vec::new();
    encoder.encode_values(&values, &mut key);
    key
}

/// The order of two values of a type, without keys.
fn compare(sql_type: &SqlType, left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Null, Value::Null) => Ordering::Equal,
        (Value::Null, _) => Ordering::Less,
        (_, Value::Null) => Ordering::Greater,
        (Value::Int(left), Value::Int(right)) => left.cmp(right),
        (Value::UInt(left), Value::UInt(right)) => left.cmp(right),
        (Value::Double(left), Value::Double(right)) => left.partial_cmp(right).unwrap(),
        (Value::Decimal(left), Value::Decimal(right)) => left.cmp(right),
        (Value::Date(left), Value::Date(right)) => left.cmp(right),
        (Value::Time(left), Value::Time(right)) => left.cmp(right),
        (Value::DateTime(left), Value::DateTime(right)) => left.cmp(right),
        (Value::Bytes(left), Value::Bytes(right)) => {
            if let SqlType::Char { collation, .. }
            | SqlType::VarChar { collation, .. }
            | SqlType::Text { collation, .. } = sql_type
            {
                collation.compare(left, right)
            } else {
                left.cmp(right)
            }
        }
        _ => panic!("{left:?} {right:?}"),
    }
}

fn key_type() -> impl Strategy<Value = SqlType> {
    any_type().prop_filter("NULL's type has no keys", |sql_type| *sql_type != SqlType::Null)
}

/// Types of parts, which are descending, and two rows of values.
fn parts_and_rows() -> impl Strategy<Value = (Vec<SqlType>, Vec<bool>, Vec<Value>, Vec<Value>)> {
    proptest::collection::vec((key_type(), any::<bool>()), 1..4).prop_flat_map(|parts| {
        let (types, descending): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
        let values: Vec<_> = types.iter().map(value_of).collect();
        // Half of the second row's values are the first row's, so that later parts get to decide.
        let others: Vec<_> = types.iter().map(|sql_type| (any::<bool>(), value_of(sql_type))).collect();
        (Just(types), Just(descending), values, others).prop_map(|(types, descending, values, others)| {
            let others = values
                .iter()
                .zip(others)
                .map(|(value, (same, other))| if same { value.clone() } else { other })
                .collect();
            (types, descending, values, others)
        })
    })
}

#[test]
fn the_format_is_pinned() {
    let int = SqlType::Integer { width: IntegerWidth::Normal, unsigned: false };
    let name = SqlType::VarChar { length: 9, collation: Collation::Utf8mb40900Bin };
    let table = table(&[(int, false), (name, true)]);
    let encoder = KeyEncoder::new(&table, &[part(0), part(1)]);
    assert_eq!(
        key(&encoder, &[Value::Int(-2), Value::text("a\0\u{1}")]),
        [0x7f, 0xff, 0xff, 0xfe, 1, b'a', 1, 1, 1, 2, 0]
    );
    assert_eq!(key(&encoder, &[Value::Int(1), Value::Null]), [0x80, 0, 0, 1, 0]);
    let descending = KeyEncoder::new(&table, &[KeyPart { descending: true, ..part(1) }]);
    assert_eq!(key(&descending, &[Value::text("a")]), [!1, !b'a', !0]);
}

#[test]
fn prefix_parts_cut_characters_and_bytes() {
    let text = SqlType::Text { size: BlobSize::Normal, collation: Collation::Utf8mb40900Bin };
    let table = table(&[(text, false), (SqlType::Blob { size: BlobSize::Normal }, false)]);
    let prefix =
        |column, length| KeyEncoder::new(&table, &[KeyPart { prefix_length: Some(length), ..part(column) }]);
    assert_eq!(key(&prefix(0, 2), &[Value::text("äöü")]), key(&prefix(0, 3), &[Value::text("äö")]));
    assert_ne!(key(&prefix(0, 3), &[Value::text("äöü")]), key(&prefix(0, 3), &[Value::text("äö")]));
    assert_eq!(key(&prefix(1, 2), &[Value::text("abc")]), [b'a', b'b', 0]);
    assert_eq!(first_characters("aéx".as_bytes(), 2), "aé".as_bytes());
    assert_eq!(first_characters(b"abc", 0), b"");
    assert_eq!(first_characters(b"\x80\x80\x80", 1), b"\x80\x80\x80");
}

#[test]
fn what_cannot_be_encoded_is_not_accepted() {
    let int = SqlType::Integer { width: IntegerWidth::Tiny, unsigned: true };
    let decimal = SqlType::Decimal { precision: 3, scale: 1, unsigned: false };
    let table = table(&[(int, false), (decimal, true)]);
    let encoder = KeyEncoder::new(&table, &[part(0), part(1)]);
    let big = crate::Decimal::from(1_000_u64);
    assert!(encoder.accepts(&[ValueRef::UInt(255), ValueRef::Null]));
    assert!(encoder.accepts(&[]));
    assert!(!encoder.accepts(&[ValueRef::Null]));
    assert!(!encoder.accepts(&[ValueRef::UInt(256)]));
    assert!(!encoder.accepts(&[ValueRef::Int(1)]));
    assert!(!encoder.accepts(&[ValueRef::UInt(1), ValueRef::Decimal(big.as_decimal_ref())]));
    assert!(!encoder.accepts(&[ValueRef::UInt(1), ValueRef::Null, ValueRef::Null]));
}

#[test]
fn successors() {
    assert_eq!(successor_of_prefix(b"ab"), Some(b"ac".to_vec()));
    assert_eq!(successor_of_prefix(&[1, 0xff, 0xff]), Some(vec![2]));
    assert_eq!(successor_of_prefix(&[0xff]), None);
    assert_eq!(successor_of_prefix(&[]), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn byte_order_is_value_order((types, descending, left, right) in parts_and_rows()) {
        let table = nullable_table(&types);
        let parts = parts_of(&descending);
        let encoder = KeyEncoder::new(&table, &parts);
        let expected = types.iter().zip(&descending).zip(left.iter().zip(&right)).map(|((sql_type, descending), (left, right))| {
            let order = compare(sql_type, left, right);
            if *descending { order.reverse() } else { order }
        }).find(|order| order.is_ne()).unwrap_or(Ordering::Equal);
        let (left_key, right_key) = (key(&encoder, &left), key(&encoder, &right));
        prop_assert_eq!(left_key.cmp(&right_key), expected, "{:?} {:?}", left, right);
        prop_assert!(left_key == right_key || (!left_key.starts_with(&right_key) && !right_key.starts_with(&left_key)));
    }

    #[test]
    fn a_prefix_of_the_parts_is_a_prefix_of_the_key((types, descending, left, right) in parts_and_rows(), count in any::<prop::sample::Index>()) {
        let table = nullable_table(&types);
        let parts = parts_of(&descending);
        let encoder = KeyEncoder::new(&table, &parts);
        let count = count.index(types.len() + 1);
        let prefix = key(&encoder, &left[..count]);
        prop_assert!(key(&encoder, &left).starts_with(&prefix));
        let same = types[..count].iter().zip(left.iter().zip(&right)).all(|(sql_type, (left, right))| compare(sql_type, left, right).is_eq());
        let right_key = key(&encoder, &right);
        prop_assert_eq!(right_key.starts_with(&prefix), same);
        if let Some(successor) = successor_of_prefix(&prefix) {
            prop_assert_eq!(prefix <= right_key && right_key < successor, same);
        }
    }

    #[test]
    fn rows_have_the_keys_of_their_values((types, descending, left, _) in parts_and_rows()) {
        let table = nullable_table(&types);
        let layout = RowLayout::of_table(&table);
        let mut parts = parts_of(&descending);
        parts.reverse();
        let encoder = KeyEncoder::new(&table, &parts);
        let primary = KeyEncoder::new(&table, &[part(0)]);
        let mut row = Vec::new();
        layout.encode(&left.iter().map(Value::as_ref).collect::<Vec<_>>(), &mut row);
        let reversed: Vec<_> = left.iter().rev().cloned().collect();
        let mut row_key = Vec::new();
        encoder.encode_row_with_primary(&primary, &layout, &row, &mut row_key);
        prop_assert_eq!(row_key, [key(&encoder, &reversed), key(&primary, &left[..1])].concat());
        prop_assert_eq!(encoder.row_has_null(&layout, &row), left.iter().any(Value::is_null));
        prop_assert!(encoder.accepts(&reversed.iter().map(Value::as_ref).collect::<Vec<_>>()));
    }
}
