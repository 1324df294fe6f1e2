//! Order-preserving keys: bytes that compare as the values of the key's parts do, part by part.
//!
//! | part | bytes |
//! | --- | --- |
//! | nullable | 0 for NULL, else 1 and the value; parts of NOT NULL columns have no such byte |
//! | integers, BIT, ENUM, SET, YEAR | big-endian in the column's width, sign bit flipped if signed |
//! | FLOAT, DOUBLE | 8 bytes: bits of the double, all flipped if negative, else the sign bit |
//! | DECIMAL | the coefficient at the column's scale, sign-flipped, in the width of its precision |
//! | DATE, TIME, DATETIME | their order-preserving integers, big-endian: 3, 6 and 8 bytes |
//! | strings by a UCA collation | the sort key (which has no zero byte), then 0 |
//! | strings by code point, binary strings | the bytes with 0 → 1 1 and 1 → 1 2, then 0 |
//!
//! A descending part has all its bits flipped. A prefix part (`KEY (name(10))`) is the value cut to so many characters
//! or bytes.
//!
//! Invariants: `compare(key(a), key(b)) == compare(a, b)` for values of the parts' types. The bytes of a part are never
//! a prefix of another value's. So the key of the first n parts is a byte prefix of exactly the keys that start with
//! them. Floating point zeros are one key; strings that are equal under the collation are one key.
//!
//! Deliberately not here: decoding, because a sort key has no way back and the row has the values; conversion into the
//! part's type. Callers bring values there by `store` first, and a value of another type is a bug.

use crate::collation::TrimSpaces;
use crate::form::Form;
use crate::{Collation, ColumnIndex, KeyPart, RowLayout, SqlType, TableDefinition, ValueRef};

/// How a part becomes bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum PartForm {
    /// The encoding that its row form says.
    Fixed(Form),
    Decimal {
        precision: u8,
        scale: u8,
    },
    Text {
        collation: Collation,
        padded: Padded,
        characters: Option<u32>,
    },
    Binary {
        bytes: Option<u32>,
    },
}

/// Whether trailing spaces are part of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Padded {
    /// CHAR: they are not part of what is stored.
    Yes,
    /// The collation decides.
    No,
}

#[derive(Clone, Copy, Debug)]
struct Part {
    column: ColumnIndex,
    form: PartForm,
    nullable: bool,
    descending: bool,
}

/// Makes the key bytes of one index.
#[derive(Clone, Debug)]
pub struct KeyEncoder {
    parts: Vec<Part>,
}

impl PartForm {
    fn of(sql_type: &SqlType, prefix: Option<u32>) -> Self {
        match sql_type {
            SqlType::Decimal { precision, scale, .. } => {
                PartForm::Decimal { precision: *precision, scale: *scale }
            }
            SqlType::Char { collation, .. } => {
                PartForm::Text { collation: *collation, padded: Padded::Yes, characters: prefix }
            }
            SqlType::VarChar { collation, .. } | SqlType::Text { collation, .. } => {
                PartForm::Text { collation: *collation, padded: Padded::No, characters: prefix }
            }
            SqlType::Binary { .. } | SqlType::VarBinary { .. } | SqlType::Blob { .. } | SqlType::Json => {
                PartForm::Binary { bytes: prefix }
            }
            SqlType::Null
            | SqlType::Integer { .. }
            | SqlType::Float
            | SqlType::Double
            | SqlType::Bit { .. }
            | SqlType::Enum { .. }
            | SqlType::Set { .. }
            | SqlType::Date
            | SqlType::Time { .. }
            | SqlType::DateTime { .. }
            | SqlType::Timestamp { .. }
            | SqlType::Year => PartForm::Fixed(Form::of(sql_type)),
        }
    }

    fn accepts(self, value: ValueRef<'_>) -> bool {
        match self {
            PartForm::Fixed(form) => form.accepts(value),
            PartForm::Decimal { precision, scale } => {
                if let ValueRef::Decimal(decimal) = value {
                    decimal.to_decimal().rescale(precision, scale).is_ok()
                } else {
                    value.is_null()
                }
            }
            PartForm::Text { .. } | PartForm::Binary { .. } => Form::Bytes.accepts(value),
        }
    }
}

impl Part {
    fn accepts(&self, value: ValueRef<'_>) -> bool {
        self.form.accepts(value) && (self.nullable || !value.is_null())
    }

    /// Nothing stands before the value, and its bits stay.
    fn is_bare(&self) -> bool {
        !self.nullable && !self.descending
    }

    fn encode(&self, value: ValueRef<'_>, key: &mut Vec<u8>) {
        self.encode_as(self.form, value, key);
    }

    /// A constant has its trailing spaces, unless the part cuts its values.
    fn encode_constant(&self, value: ValueRef<'_>, key: &mut Vec<u8>) {
        let form = if let PartForm::Text { collation, characters: None, .. } = self.form {
            PartForm::Text { collation, padded: Padded::No, characters: None }
        } else {
            self.form
        };
        self.encode_as(form, value, key);
    }

    fn encode_as(&self, form: PartForm, value: ValueRef<'_>, key: &mut Vec<u8>) {
        let start = key.len();
        if value.is_null() {
            stdx::require!(self.nullable, "NULL in a key part that is NOT NULL");
            key.push(0);
        } else {
            if self.nullable {
                key.push(1);
            }
            encode_value(form, value, key);
        }
        if self.descending {
            for byte in &mut key[start..] {
                *byte = !*byte;
            }
        }
    }
}

fn encode_value(form: PartForm, value: ValueRef<'_>, key: &mut Vec<u8>) {
    match (form, value) {
        (PartForm::Fixed(form), _) => encode_fixed(form, value, key),
        (PartForm::Decimal { precision, scale }, ValueRef::Decimal(decimal)) => {
            decimal.to_decimal().write_key_bytes(precision, scale, key);
        }
        (PartForm::Text { collation, padded, characters }, ValueRef::Bytes(bytes)) => {
            let text = characters.map_or(bytes, |count| first_characters(bytes, count));
            let text = if padded == Padded::Yes { text.trim_suffix_spaces() } else { text };
            encode_text(collation, text, key);
        }
        (PartForm::Binary { bytes: limit }, ValueRef::Bytes(bytes)) => {
            let length = limit.map_or(bytes.len(), |limit| bytes.len().min(limit as usize));
            encode_escaped(&bytes[..length], key);
        }
        _ => stdx::require!(false, "a value of another type than its key part: {value:?} for {form:?}"),
    }
}

/// Appends the last bytes of a number, so many of them.
#[inline]
fn append_tail(ordered: u64, width: u8, key: &mut Vec<u8>) {
    match (width, ordered.to_be_bytes()) {
        (8, bytes) => key.extend_from_slice(&bytes),
        (4, [.., a, b, c, d]) => key.extend_from_slice(&[a, b, c, d]),
        (_, bytes) => key.extend_from_slice(&bytes[8 - usize::from(width)..]),
    }
}

/// A signed integer as one without a sign that compares alike.
#[inline]
fn order_of_signed(number: i64, width: u8) -> u64 {
    number.cast_unsigned() ^ 1 << (8 * u32::from(width) - 1)
}

fn encode_fixed(form: Form, value: ValueRef<'_>, key: &mut Vec<u8>) {
    stdx::require!(form.accepts(value), "a value of another type than its key part: {value:?} for {form:?}");
    let mut tail = |ordered: u64, width: u8| append_tail(ordered, width, key);
    match (form, value) {
        (Form::Signed(width), ValueRef::Int(number)) => tail(order_of_signed(number, width), width),
        (Form::Unsigned(width), ValueRef::UInt(number)) => tail(number, width),
        (Form::Float | Form::Double, ValueRef::Double(number)) => tail(order_of_double(number), 8),
        (Form::Date, ValueRef::Date(date)) => tail(u64::from(date.packed()), 3),
        (Form::Time, ValueRef::Time(time)) => tail(time.microseconds().cast_unsigned() ^ 1 << 47, 6),
        (Form::DateTime, ValueRef::DateTime(datetime)) => tail(datetime.packed(), 8),
        _ => {}
    }
}

fn order_of_double(number: f64) -> u64 {
    // -0.0 + 0.0 is 0.0: one key for both zeros.
    let bits = (number + 0.0).to_bits();
    if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
}

fn encode_text(collation: Collation, text: &[u8], key: &mut Vec<u8>) {
    if collation.has_zero_free_sort_key() {
        collation.sort_key(text, key);
        key.push(0);
    } else {
        let text = if collation.is_pad_space() { text.trim_suffix_spaces() } else { text };
        encode_escaped(text, key);
    }
}

/// Appends `bytes` so that no value's bytes are a prefix of another's and the order is kept.
fn encode_escaped(bytes: &[u8], key: &mut Vec<u8>) {
    key.reserve(bytes.len() + 1);
    if bytes.iter().all(|byte| *byte > 1) {
        key.extend_from_slice(bytes);
    } else {
        for byte in bytes {
            match byte {
                0 | 1 => key.extend_from_slice(&[1, byte + 1]),
                _ => key.push(*byte),
            }
        }
    }
    key.push(0);
}

/// The first `count` characters of UTF-8 text (bytes that are not UTF-8 count by their lead bytes).
pub(crate) fn first_characters(text: &[u8], count: u32) -> &[u8] {
    let count = count as usize;
    if text.len() <= count {
        return text;
    }
    let start_of_next = text.iter().enumerate().filter(|(_, byte)| **byte & 0xc0 != 0x80).nth(count);
    start_of_next.map_or(text, |(position, _)| &text[..position])
}

impl KeyEncoder {
    /// The encoder of `parts` of `table`.
    #[must_use]
    pub fn new(table: &TableDefinition, parts: &[KeyPart]) -> Self {
        let parts = parts
            .iter()
            .map(|part| {
                let column = &table.columns[usize::from(part.column.0)];
                Part {
                    column: part.column,
                    form: PartForm::of(&column.sql_type, part.prefix_length),
                    nullable: column.flags.nullable,
                    descending: part.descending,
                }
            })
            .collect();
        Self { parts }
    }

    /// How many parts a whole key has.
    #[must_use]
    pub fn part_count(&self) -> usize {
        self.parts.len()
    }

    /// True if `values` can be encoded: not more than there are parts, each of its part's type, NULL only where the
    /// column is nullable. Values that came from a peer are asked this before they are encoded.
    #[must_use]
    pub fn accepts(&self, values: &[ValueRef<'_>]) -> bool {
        values.len() <= self.parts.len()
            && self.parts.iter().zip(values).all(|(part, value)| part.accepts(*value))
    }

    /// Appends the key of `values`, one per part, or fewer: then it is the common prefix of all keys that start with
    /// them.
    pub fn encode_values(&self, values: &[ValueRef<'_>], key: &mut Vec<u8>) {
        stdx::require!(values.len() <= self.parts.len());
        for (part, value) in self.parts.iter().zip(values) {
            part.encode(*value, key);
        }
    }

    /// Appends the next part of a key that is looked for, whose parts before `position` are there. The value is a
    /// constant that was compared with the column. A CHAR column has no value with trailing spaces: under a collation
    /// that does not pad, the constant `'a '` is the key of no row, and lies behind `'a'`.
    #[inline]
    pub fn encode_part(&self, position: usize, value: ValueRef<'_>, key: &mut Vec<u8>) {
        stdx::require!(position < self.parts.len());
        let part = &self.parts[position];
        // Most keys are integers.
        match (part.form, value) {
            (PartForm::Fixed(form @ Form::Signed(width)), ValueRef::Int(number))
                if part.is_bare() && form.accepts(value) =>
            {
                append_tail(order_of_signed(number, width), width, key);
            }
            _ => part.encode_constant(value, key),
        }
    }

    /// Appends the key of a stored row.
    pub fn encode_row(&self, layout: &RowLayout, row: &[u8], key: &mut Vec<u8>) {
        for part in &self.parts {
            part.encode(layout.column(row, part.column), key);
        }
    }

    /// Appends the key of a stored row in a non-unique index: these parts, then the primary key.
    pub fn encode_row_with_primary(
        &self,
        primary: &KeyEncoder,
        layout: &RowLayout,
        row: &[u8],
        key: &mut Vec<u8>,
    ) {
        self.encode_row(layout, row, key);
        primary.encode_row(layout, row, key);
    }

    /// True if a part is NULL in the row: such a row has no entry in a unique index.
    #[must_use]
    pub fn row_has_null(&self, layout: &RowLayout, row: &[u8]) -> bool {
        self.parts.iter().any(|part| part.nullable && layout.column(row, part.column).is_null())
    }
}

/// The first key behind all keys that start with `prefix`; `None` if there is none (only 0xff bytes).
#[must_use]
pub fn successor_of_prefix(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|byte| *byte != 0xff)?;
    let mut successor = prefix[..=last].to_vec();
    successor[last] += 1;
    Some(successor)
}

#[cfg(test)]
mod tests;
