//! A column of signed integers, read in place without looking at the rest of the row.
//!
//! It knows where the number lies in rows that the table's present layout has written. They begin with the same two
//! bytes. Another row (wide, or of an older version of the schema) has another beginning.

use crate::form::Form;
use crate::row::{FixedPlace, RowLayout};
use crate::{ColumnIndex, ValueRef};

/// Bytes that are loaded at once. The number lies at their end, or at their beginning where the row begins too near.
const WINDOW: usize = 8;

/// Where the numbers of a column lie.
#[derive(Clone, Copy, Debug)]
pub struct IntegerColumn {
    place: FixedPlace,
    window: usize,
    /// Bits of the window that are not the number's: above it, and all.
    above: u32,
    unused: u32,
}

impl IntegerColumn {
    /// A column of signed integers. None if it has another type, or lies in no row at one place.
    #[must_use]
    pub fn of(layout: &RowLayout, column: ColumnIndex) -> Option<Self> {
        let place = layout.fixed_place(column)?;
        let Form::Signed(width) = place.form else { return None };
        let end = place.start + usize::from(width);
        let unused = u64::BITS - 8 * u32::from(width);
        let (window, above) = match end.checked_sub(WINDOW) {
            Some(window) => (window, 0),
            None => (place.start, unused),
        };
        Some(Self { place, window, above, unused })
    }

    /// The number, or NULL; `None` where [`RowLayout::column`] has to look.
    #[inline]
    #[must_use]
    pub fn read(&self, row: &[u8]) -> Option<ValueRef<'static>> {
        let (null_byte, null_bit) = self.place.null;
        if row.first_chunk() != Some(&self.place.head) {
            return None;
        }
        if row.get(null_byte)? & null_bit != 0 {
            return Some(ValueRef::Null);
        }
        let window = row.get(self.window..)?.first_chunk::<WINDOW>()?;
        Some(ValueRef::Int(i64::from_le_bytes(*window) << self.above >> self.unused))
    }
}
