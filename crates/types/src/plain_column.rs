//! Columns that are read in place, without looking at the rest of the row: texts, and numbers of 64 bits at most. These
//! are integers, dates, and decimals of up to 18 digits, as their digits without the point.
//!
//! They know where the value lies in rows that the table's present layout has written. They begin with the same two
//! bytes. Another row (wide, or of an older version of the schema) has another beginning, and is left to
//! [`RowLayout::column`].
//!
//! Invariant: a number is the one of the value that [`RowLayout::column`] gives, and numbers order as values do.

use crate::form::Form;
use crate::row::{Place, RowLayout};
use crate::{ColumnIndex, Date, DateTime, Decimal, SqlType, Value, ValueRef};

/// Bytes that are loaded at once. The number lies at their end, or at their beginning where the row begins too near.
const WINDOW: usize = 8;
/// Digits that always fit into 64 bits.
const DIGITS_MAX: u8 = 18;

/// The kind of values that a column has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NumberKind {
    /// `Int`.
    Signed,
    /// `UInt`.
    Unsigned,
    /// A date, packed.
    Date,
    /// A date and a time, packed.
    DateTime,
    /// A decimal with so many digits behind the point.
    Decimal {
        /// The column's.
        scale: u8,
    },
}

impl NumberKind {
    /// The value that has a number. A sum has more bits; one of dates is NULL.
    #[must_use]
    pub fn value(self, number: i128) -> Value {
        let narrow = || i64::try_from(number).ok();
        let value = match self {
            NumberKind::Signed => narrow().map(Value::Int),
            NumberKind::Unsigned => u64::try_from(number).ok().map(Value::UInt),
            NumberKind::Date => u32::try_from(number).ok().and_then(Date::from_packed).map(Value::Date),
            NumberKind::DateTime => {
                u64::try_from(number).ok().and_then(DateTime::from_packed).map(Value::DateTime)
            }
            NumberKind::Decimal { scale } => {
                Decimal::from_parts(number, scale).map(|decimal| Value::Decimal(Box::new(decimal)))
            }
        };
        value.unwrap_or(Value::Null)
    }
}

/// The bit that says whether a column is NULL.
#[derive(Clone, Copy, Debug)]
pub struct NullBit {
    place: Place,
}

impl NullBit {
    /// That of a column. None if it lies in no row at one place.
    #[must_use]
    pub fn of(layout: &RowLayout, column: ColumnIndex) -> Option<Self> {
        Some(Self { place: layout.place(column)? })
    }

    fn of_place(place: Place) -> Self {
        Self { place }
    }

    /// Whether the column is NULL, if [`RowLayout::check`] accepts the row. `None` where [`RowLayout::column`] has to
    /// look.
    #[inline]
    #[must_use]
    pub fn read(&self, row: &[u8]) -> Option<bool> {
        let (null_byte, null_bit) = self.place.null;
        if row.first_chunk() != Some(&self.place.head) {
            return None;
        }
        Some(row.get(null_byte)? & null_bit != 0)
    }
}

impl Place {
    /// The bytes of a variable column, of a row with this head.
    #[inline]
    fn variable(self, row: &[u8]) -> Option<&[u8]> {
        let start_at =
            |place: usize| Some(usize::from(u16::from_le_bytes(*row.get(place..)?.first_chunk::<2>()?)));
        let start = start_at(self.start)?;
        let end = if self.has_next { start_at(self.start + 2)? } else { row.len() };
        row.get(start..end)
    }
}

/// Where the texts of a column lie: strings of characters or of bytes.
#[derive(Clone, Copy, Debug)]
pub struct TextColumn {
    place: Place,
}

impl TextColumn {
    /// The texts of a column. None if its values are others, or lie in no row at one place.
    #[must_use]
    pub fn of(layout: &RowLayout, column: ColumnIndex) -> Option<Self> {
        let place = layout.place(column)?;
        (place.form == Form::Bytes).then_some(Self { place })
    }

    /// The text in a row, the inner `None` for NULL. The outer one where [`RowLayout::column`] has to look.
    #[inline]
    #[must_use]
    pub fn read<'r>(&self, row: &'r [u8]) -> Option<Option<&'r [u8]>> {
        if NullBit::of_place(self.place).read(row)? {
            return Some(None);
        }
        self.place.variable(row).map(Some)
    }
}

/// Where the numbers of a column lie.
#[derive(Clone, Copy, Debug)]
pub struct NumberColumn {
    kind: NumberKind,
    place: Place,
    window: usize,
    /// Bits of the window that are not the number's: above it, and all.
    above: u32,
    unused: u32,
}

impl NumberColumn {
    /// The numbers of a column. None if its values are others, or lie in no row at one place.
    #[must_use]
    pub fn of(layout: &RowLayout, column: ColumnIndex, sql_type: &SqlType) -> Option<Self> {
        let place = layout.place(column)?;
        let (kind, width) = match place.form {
            Form::Signed(width) => (NumberKind::Signed, width),
            Form::Unsigned(width) => (NumberKind::Unsigned, width),
            Form::Date => (NumberKind::Date, 3),
            Form::DateTime => (NumberKind::DateTime, 8),
            Form::Decimal => {
                let SqlType::Decimal { precision: ..=DIGITS_MAX, scale, .. } = sql_type else { return None };
                (NumberKind::Decimal { scale: *scale }, 8)
            }
            Form::Nothing | Form::Float | Form::Double | Form::Time | Form::Bytes => return None,
        };
        let unused = u64::BITS - 8 * u32::from(width);
        let (window, above) = match (place.start + usize::from(width)).checked_sub(WINDOW) {
            Some(window) => (window, 0),
            None => (place.start, unused),
        };
        Some(Self { kind, place, window, above, unused })
    }

    /// The kind of its numbers.
    #[must_use]
    pub fn kind(&self) -> NumberKind {
        self.kind
    }

    /// The number in a row, the inner `None` for NULL. The outer one where [`RowLayout::column`] has to look.
    #[inline]
    #[must_use]
    pub fn read(&self, row: &[u8]) -> Option<Option<i64>> {
        if NullBit::of_place(self.place).read(row)? {
            return Some(None);
        }
        let window = || Some(u64::from_le_bytes(*row.get(self.window..)?.first_chunk::<WINDOW>()?));
        let unsigned = || Some(window()? << self.above >> self.unused);
        match self.kind {
            NumberKind::Signed => Some(Some(window()?.cast_signed() << self.above >> self.unused)),
            NumberKind::Unsigned => i64::try_from(unsigned()?).ok().map(Some),
            NumberKind::Date => {
                let date = unsigned().and_then(|bits| Date::from_packed(u32::try_from(bits).ok()?))?;
                Some(Some(i64::from(date.packed())))
            }
            NumberKind::DateTime => {
                let packed = DateTime::from_packed(unsigned()?)?.packed();
                i64::try_from(packed).ok().map(Some)
            }
            NumberKind::Decimal { scale } => self.digits(row, scale).map(Some),
        }
    }

    /// Gives the numbers of rows in turn, `None` for NULL; false as soon as [`NumberColumn::read`] cannot tell one.
    #[inline]
    pub fn read_each<'r>(
        &self,
        mut rows: impl Iterator<Item = &'r [u8]>,
        mut take: impl FnMut(Option<i64>),
    ) -> bool {
        if self.kind != NumberKind::Signed {
            return rows.all(|row| self.read(row).map(&mut take).is_some());
        }
        let (null_byte, null_bit) = self.place.null;
        let window = self.window..self.window + WINDOW;
        rows.all(|row| {
            let bytes = row.get(window.clone()).and_then(|window| window.first_chunk::<WINDOW>());
            let (Some(nulls), Some(bytes)) = (row.get(null_byte), bytes) else { return false };
            if row.first_chunk() != Some(&self.place.head) {
                return false;
            }
            let number = i64::from_le_bytes(*bytes).wrapping_shl(self.above).wrapping_shr(self.unused);
            take((nulls & null_bit == 0).then_some(number));
            true
        })
    }

    /// The digits of a decimal.
    #[inline]
    fn digits(&self, row: &[u8], scale: u8) -> Option<i64> {
        let (head, coefficient) = self.place.variable(row)?.split_first()?;
        if head & 0x7f != scale || coefficient.len() > 8 || coefficient.last() == Some(&0) {
            return None;
        }
        let digits = coefficient.iter().rev().fold(0_u64, |digits, byte| digits << 8 | u64::from(*byte));
        let (digits, is_negative) = (i64::try_from(digits).ok()?, head >> 7 != 0);
        match (is_negative, digits) {
            (true, 0) => None,
            (true, _) => Some(-digits),
            (false, _) => Some(digits),
        }
    }

    /// The value in a row, where [`NumberColumn::read`] knows it; no decimals.
    #[inline]
    #[must_use]
    pub fn read_value(&self, row: &[u8]) -> Option<ValueRef<'static>> {
        let Some(number) = self.read(row)? else { return Some(ValueRef::Null) };
        Some(match self.kind {
            NumberKind::Signed => ValueRef::Int(number),
            NumberKind::Unsigned => ValueRef::UInt(number.cast_unsigned()),
            NumberKind::Date => ValueRef::Date(Date::from_packed(u32::try_from(number).ok()?)?),
            NumberKind::DateTime => ValueRef::DateTime(DateTime::from_packed(number.cast_unsigned())?),
            NumberKind::Decimal { .. } => return None,
        })
    }
}
