//! Row bytes: all columns of a row in one piece, each readable in O(1) without allocation.
//!
//! ```text
//! head    1 byte: bit 7 wide offsets, bit 6 wide counts, bits 0–5 the column count (0 with wide counts)
//!         then the variable count (1 byte), or with wide counts both counts (2 × 2 bytes)
//! nulls   1 bit per column
//! starts  per variable column where its bytes start, from the row's first byte: u16, or u32 with wide offsets
//! fixed   fixed-width columns in column order, little-endian; a NULL keeps its room
//! bytes   variable columns in column order; each ends where the next starts, the last at the row's end
//! ```
//! A sysbench row (INT, INT, CHAR(120), CHAR(60)) costs 7 bytes above its data.
//!
//! Because both counts are in the row, a row is readable by the layout of an older *and* of a newer schema version.
//! Columns are only ever added behind the others. A column that the row lacks reads as its default; one that the layout
//! lacks is not looked at.
//!
//! Invariants: `column` of a row that this build encoded gives back what was encoded. `column` never panics, whatever
//! the bytes: what [`RowLayout::check`] would refuse reads as NULL or as some value of the type.
//!
//! Deliberately not here: versions, locks and overflow chains (`storage`), and conversion into a column's type
//! (`store`).

use crate::form::Form;
use crate::{
    ColumnDefinition, ColumnIndex, Decimal, DecimalRef, DefaultValue, TableDefinition, Value, ValueRef,
    implicit_default,
};

const WIDE_OFFSETS: u8 = 0x80;
const WIDE_COUNTS: u8 = 0x40;
/// The column count in the head byte, if both counts fit.
const COUNT_MASK: u8 = 0x3f;

/// Why bytes are not a row of this layout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RowError;

/// One column: its form, its place, and what a row without it shows.
#[derive(Clone, Debug)]
struct Column {
    form: Form,
    /// Bytes of the fixed columns before it, or its number among the variable columns.
    place: u32,
    default: Value,
}

/// Where the columns of a table lie in its rows.
#[derive(Clone, Debug)]
pub struct RowLayout {
    columns: Vec<Column>,
    fixed_size: u32,
    variable_count: u16,
}

/// Where a column lies in the rows that a layout writes, if they are not wide.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) form: Form,
    /// The bytes with which such rows begin.
    pub(crate) head: [u8; 2],
    /// The byte with its null bit, and the bit.
    pub(crate) null: (usize, u8),
    /// Where a fixed-width column starts; of a variable one where the row says that.
    pub(crate) start: usize,
    /// Of a variable column: another one comes behind it.
    pub(crate) has_next: bool,
}

/// The head of a row, read.
#[derive(Clone, Copy)]
struct Head {
    column_count: usize,
    variable_count: usize,
    wide_offsets: bool,
    nulls: usize,
    starts: usize,
    fixed: usize,
}

impl Head {
    #[inline]
    fn read(row: &[u8]) -> Option<Head> {
        let first = *row.first()?;
        let (column_count, variable_count, nulls) = if first & WIDE_COUNTS == 0 {
            (usize::from(first & COUNT_MASK), usize::from(*row.get(1)?), 2)
        } else {
            let counts: &[u8; 4] = row.get(1..5)?.try_into().ok()?;
            let column_count = u16::from_le_bytes([counts[0], counts[1]]);
            (usize::from(column_count), usize::from(u16::from_le_bytes([counts[2], counts[3]])), 5)
        };
        let wide_offsets = first & WIDE_OFFSETS != 0;
        let starts = nulls + column_count.div_ceil(8);
        let fixed = starts + variable_count * if wide_offsets { 4 } else { 2 };
        Some(Head { column_count, variable_count, wide_offsets, nulls, starts, fixed })
    }

    #[inline]
    fn is_null(&self, row: &[u8], index: usize) -> bool {
        row.get(self.nulls + index / 8).is_none_or(|byte| byte >> (index % 8) & 1 != 0)
    }

    /// Where the bytes of a variable column start.
    #[inline]
    fn start(&self, row: &[u8], number: usize) -> Option<usize> {
        if self.wide_offsets {
            let at = self.starts + number * 4;
            let bytes: [u8; 4] = row.get(at..at + 4)?.try_into().ok()?;
            usize::try_from(u32::from_le_bytes(bytes)).ok()
        } else {
            let at = self.starts + number * 2;
            let bytes: [u8; 2] = row.get(at..at + 2)?.try_into().ok()?;
            Some(usize::from(u16::from_le_bytes(bytes)))
        }
    }

    #[inline]
    fn variable<'a>(&self, row: &'a [u8], number: usize) -> Option<&'a [u8]> {
        if number >= self.variable_count {
            return None;
        }
        let start = self.start(row, number)?;
        let end = if number + 1 < self.variable_count { self.start(row, number + 1)? } else { row.len() };
        row.get(start..end)
    }
}

impl RowLayout {
    /// The layout of rows with these columns.
    #[must_use]
    pub fn new(columns: &[ColumnDefinition]) -> Self {
        stdx::require!(columns.len() <= usize::from(u16::MAX));
        let (mut fixed_size, mut variable_count) = (0, 0);
        let columns = columns
            .iter()
            .map(|column| {
                let form = Form::of(&column.sql_type);
                let place = match form.fixed_width() {
                    Some(width) => {
                        fixed_size += width;
                        fixed_size - width
                    }
                    None => {
                        variable_count += 1;
                        u32::from(variable_count) - 1
                    }
                };
                Column { form, place, default: default_of(column) }
            })
            .collect();
        Self { columns, fixed_size, variable_count }
    }

    /// The layout of a table's rows.
    #[must_use]
    pub fn of_table(table: &TableDefinition) -> Self {
        Self::new(&table.columns)
    }

    /// How many columns.
    #[must_use]
    pub fn column_count(&self) -> usize {
        self.columns.len()
    }

    /// True if `values` are one per column and of the columns' types: what came from a peer is asked this before it is
    /// encoded.
    #[must_use]
    pub fn accepts(&self, values: &[ValueRef<'_>]) -> bool {
        values.len() == self.columns.len()
            && self.columns.iter().zip(values).all(|(column, value)| column.form.accepts(*value))
    }

    /// Appends the row of `values`, one per column and of the columns' types (`store` brings them there).
    pub fn encode(&self, values: &[ValueRef<'_>], row: &mut Vec<u8>) {
        stdx::require!(self.accepts(values), "values are not of the columns' types: {values:?}");
        let origin = row.len();
        let bound = 5 + self.columns.len() + 4 * usize::from(self.variable_count) + self.fixed_size as usize;
        let variable_size: usize = values.iter().map(|value| variable_bound(*value)).sum();
        row.reserve(bound + variable_size);
        let wide_offsets = bound + variable_size > usize::from(u16::MAX);
        self.write_head(wide_offsets, row);
        let nulls = row.len();
        row.resize(nulls + self.columns.len().div_ceil(8), 0);
        let starts = row.len();
        let start_size = if wide_offsets { 4 } else { 2 };
        row.resize(starts + usize::from(self.variable_count) * start_size, 0);
        for (index, (column, value)) in self.columns.iter().zip(values).enumerate() {
            if value.is_null() {
                row[nulls + index / 8] |= 1 << (index % 8);
            }
            column.form.write_fixed(*value, row);
        }
        let mut slot = starts;
        for (column, value) in self.columns.iter().zip(values) {
            if column.form.fixed_width().is_some() {
                continue;
            }
            let start = u32::try_from(row.len() - origin).unwrap_or(u32::MAX);
            stdx::require!(start < u32::MAX, "a row is below 4 GiB");
            row[slot..slot + start_size].copy_from_slice(&start.to_le_bytes()[..start_size]);
            slot += start_size;
            if let ValueRef::Bytes(bytes) = value {
                row.extend_from_slice(bytes);
            } else if let ValueRef::Decimal(decimal) = value {
                decimal.write_row_bytes(row);
            }
        }
    }

    /// None if the layout has too many columns, or not this one.
    pub(crate) fn place(&self, column: ColumnIndex) -> Option<Place> {
        let index = usize::from(column.0);
        let Column { form, place, .. } = self.columns.get(index)?;
        let place = *place as usize;
        let bytes = self.narrow_head(0)?;
        let head = Head::read(&bytes)?;
        let null = (head.nulls + index / 8, 1 << (index % 8));
        let (start, has_next) = match form.fixed_width() {
            Some(_) => (head.fixed + place, false),
            None => (head.starts + 2 * place, place + 1 < head.variable_count),
        };
        Some(Place { form: *form, head: bytes, null, start, has_next })
    }

    /// The head of rows whose counts fit into two bytes.
    fn narrow_head(&self, offsets: u8) -> Option<[u8; 2]> {
        let columns = u8::try_from(self.columns.len()).ok().filter(|columns| *columns <= COUNT_MASK)?;
        Some([offsets | columns, u8::try_from(self.variable_count).ok()?])
    }

    fn write_head(&self, wide_offsets: bool, row: &mut Vec<u8>) {
        let offsets = if wide_offsets { WIDE_OFFSETS } else { 0 };
        match self.narrow_head(offsets) {
            Some(head) => row.extend_from_slice(&head),
            None => {
                row.push(offsets | WIDE_COUNTS);
                row.extend_from_slice(&u16::try_from(self.columns.len()).unwrap_or(u16::MAX).to_le_bytes());
                row.extend_from_slice(&self.variable_count.to_le_bytes());
            }
        }
    }

    /// One column; O(1), no allocation. A column that was added after the row was written yields its default.
    #[must_use]
    #[inline]
    pub fn column<'a>(&'a self, row: &'a [u8], column: ColumnIndex) -> ValueRef<'a> {
        let index = usize::from(column.0);
        match Head::read(row) {
            Some(head) => self.column_at(head, row, index).unwrap_or(ValueRef::Null),
            None => ValueRef::Null,
        }
    }

    /// `None` where the bytes are no row of this layout.
    #[inline]
    fn column_at<'a>(&'a self, head: Head, row: &'a [u8], index: usize) -> Option<ValueRef<'a>> {
        let column = self.columns.get(index)?;
        if index >= head.column_count {
            return Some(column.default.as_ref());
        }
        if head.is_null(row, index) {
            return Some(ValueRef::Null);
        }
        match column.form.fixed_width() {
            Some(width) => column.form.read_fixed(row, head.fixed + column.place as usize, width),
            None => {
                let bytes = head.variable(row, column.place as usize)?;
                Some(if column.form == Form::Decimal {
                    ValueRef::Decimal(DecimalRef::from_row_bytes(bytes))
                } else {
                    ValueRef::Bytes(bytes)
                })
            }
        }
    }

    /// Some columns, in any order, as `column` gives each.
    #[inline]
    pub fn pick<'a>(
        &'a self,
        row: &'a [u8],
        columns: &'a [ColumnIndex],
    ) -> impl ExactSizeIterator<Item = ValueRef<'a>> {
        let head = Head::read(row);
        columns.iter().map(move |column| {
            head.and_then(|head| self.column_at(head, row, usize::from(column.0))).unwrap_or(ValueRef::Null)
        })
    }

    /// All columns, borrowed.
    pub fn columns<'a>(&'a self, row: &'a [u8]) -> impl Iterator<Item = ValueRef<'a>> {
        let head = Head::read(row);
        (0..self.columns.len()).map(move |index| {
            head.and_then(|head| self.column_at(head, row, index)).unwrap_or(ValueRef::Null)
        })
    }

    /// All columns.
    #[must_use]
    pub fn decode(&self, row: &[u8]) -> Vec<Value> {
        self.columns(row).map(ValueRef::to_value).collect()
    }

    /// Checks bytes that came from a peer or a disk; `column` of a checked row gives what was encoded.
    pub fn check(&self, row: &[u8]) -> Result<(), RowError> {
        let head = Head::read(row).ok_or(RowError)?;
        let known = head.column_count.min(self.columns.len());
        let variable_known =
            self.columns[..known].iter().filter(|column| column.form.fixed_width().is_none()).count();
        if variable_known > head.variable_count || head.variable_count > head.column_count {
            return Err(RowError);
        }
        for index in 0..known {
            let value = self.column_at(head, row, index).ok_or(RowError)?;
            let is_broken = matches!(value, ValueRef::Decimal(decimal) if !decimal.is_valid());
            if is_broken || (value.is_null() && !head.is_null(row, index)) {
                return Err(RowError);
            }
        }
        Ok(())
    }
}

impl RowLayout {
    /// Appends `row` with the values of the columns that `changed` names by their indexes, which are of the columns'
    /// types. It reads as what [`RowLayout::encode`] writes. False if the row is of another layout or wide, or if one
    /// of its columns would begin beyond 64 KiB: then nothing is appended.
    pub fn patch<'v>(
        &self,
        row: &[u8],
        changed: impl Fn(usize) -> Option<ValueRef<'v>>,
        patched: &mut Vec<u8>,
    ) -> bool {
        let origin = patched.len();
        let is_done = self.try_patch(row, changed, patched).is_some();
        if !is_done {
            patched.truncate(origin);
        }
        is_done
    }

    fn try_patch<'v>(
        &self,
        row: &[u8],
        changed: impl Fn(usize) -> Option<ValueRef<'v>>,
        patched: &mut Vec<u8>,
    ) -> Option<()> {
        if !row.starts_with(&self.narrow_head(0)?) {
            return None;
        }
        let head = Head::read(row)?;
        let (kept, rest) = row.split_at_checked(head.fixed + self.fixed_size as usize)?;
        let origin = patched.len();
        patched.extend_from_slice(kept);
        let mut is_rest_changed = false;
        for (index, column) in self.columns.iter().enumerate() {
            let Some(value) = changed(index) else { continue };
            stdx::require!(column.form.accepts(value), "a value is not of its column's type: {value:?}");
            let nulls = &mut patched[origin + head.nulls + index / 8];
            let bit = 1 << (index % 8);
            *nulls = if value.is_null() { *nulls | bit } else { *nulls & !bit };
            if column.form.fixed_width().is_some() {
                let end = patched.len();
                column.form.write_fixed(value, patched);
                patched.copy_within(end.., origin + head.fixed + column.place as usize);
                patched.truncate(end);
            } else {
                is_rest_changed = true;
            }
        }
        if !is_rest_changed {
            patched.extend_from_slice(rest);
            return Some(());
        }
        for (index, column) in self.columns.iter().enumerate() {
            if column.form.fixed_width().is_some() {
                continue;
            }
            let number = column.place as usize;
            let start = u16::try_from(patched.len() - origin).ok()?;
            let at = origin + head.starts + 2 * number;
            patched[at..at + 2].copy_from_slice(&start.to_le_bytes());
            match changed(index) {
                None => patched.extend_from_slice(head.variable(row, number)?),
                Some(ValueRef::Bytes(bytes)) => patched.extend_from_slice(bytes),
                Some(ValueRef::Decimal(decimal)) => decimal.write_row_bytes(patched),
                // NULL: it is accepted.
                Some(_) => {}
            }
        }
        Some(())
    }
}

/// No fewer bytes than the value takes among the variable columns.
fn variable_bound(value: ValueRef<'_>) -> usize {
    if let ValueRef::Bytes(bytes) = value {
        bytes.len()
    } else if let ValueRef::Decimal(_) = value {
        Decimal::ROW_BYTES_MAX
    } else {
        0
    }
}

/// The value of rows that were written before the column was added. DDL that adds a column with another kind of default
/// than a literal writes the rows again.
fn default_of(column: &ColumnDefinition) -> Value {
    if let Some(absent) = &column.absent {
        absent.clone()
    } else if let DefaultValue::Literal(value) = &column.default {
        value.clone()
    } else if column.flags.nullable {
        Value::Null
    } else {
        implicit_default(&column.sql_type)
    }
}

#[cfg(test)]
pub(crate) mod tests;
