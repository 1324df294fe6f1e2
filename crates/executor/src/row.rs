//! Rows on their way through the operators, and single values as messages show them.

use types::{DateTime, Interval, SqlType, Value, ValueRef};

/// A row on its way through the operators.
pub type Row = Vec<Value>;

/// Bytes that an operator may keep before it must pay for them.
pub(crate) const UNCHARGED_MAX: usize = 256 * 1024;

/// The memory that a row costs.
pub fn row_size(row: &[Value]) -> usize {
    let heap = |value: &Value| match value {
        Value::Bytes(bytes) => bytes.len(),
        Value::Decimal(_) => size_of::<types::Decimal>(),
        Value::Null
        | Value::Int(_)
        | Value::UInt(_)
        | Value::Double(_)
        | Value::Date(_)
        | Value::Time(_)
        | Value::DateTime(_) => 0,
    };
    size_of::<Row>() + size_of_val(row) + row.iter().map(heap).sum::<usize>()
}

/// A moment in UTC as a session `offset` seconds east of it sees it. The zero date stays.
#[inline]
pub fn shifted(value: DateTime, offset: i32) -> DateTime {
    if offset == 0 || value.date().has_zero_part() {
        return value;
    }
    let interval = Interval { microseconds: i64::from(offset) * 1_000_000, ..Interval::default() };
    value.add_interval(interval).unwrap_or(value)
}

/// The text of a value in the session's time zone.
#[inline]
pub fn formatted(value: ValueRef<'_>, sql_type: &SqlType, zone: i32, scratch: &mut Vec<u8>) {
    scratch.clear();
    let value = match (value, sql_type) {
        (ValueRef::DateTime(moment), SqlType::Timestamp { .. }) => ValueRef::DateTime(shifted(moment, zone)),
        (value, _) => value,
    };
    types::format_text(value, sql_type, scratch);
}

/// The text of a value as SHOW and messages print it.
pub(crate) fn text_of(value: ValueRef<'_>, sql_type: &SqlType) -> String {
    let mut text = Vec::new();
    formatted(value, sql_type, 0, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// Values of a made-up row (SHOW, information_schema) as borrowed ones.
#[inline]
pub fn borrowed(values: &[Value]) -> impl Iterator<Item = ValueRef<'_>> {
    values.iter().map(Value::as_ref)
}
