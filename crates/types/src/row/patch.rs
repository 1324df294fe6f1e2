//! A row with other values in some columns: what stays of it is copied in pieces, and not decoded.

use super::{Head, RowLayout};
use crate::ValueRef;

impl RowLayout {
    /// Appends `row` with the values of the columns that `changed` names by their indexes, which are of the columns'
    /// types. It reads as what [`RowLayout::encode`] writes. False if the row is of another layout or wide, or would
    /// be: then nothing is appended.
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
