//! The actions of ALTER TABLE on columns, and whether rows must be written again for it.
//!
//! Rows stay if each column keeps its place and reads the same bytes as before, and so do the keys of its indexes. That
//! is so for other names, comments and defaults, a longer VARCHAR, and more members behind those of an ENUM. It is so
//! for NULL where it was not allowed, and for new columns behind the others with a literal default.
//!
//! **Invariant**: `origins` says for each column of the new table which one it was, whatever the actions were. Encoded
//! expressions name columns by these numbers until the plan is made: places in the old table, and new columns behind
//! them in the order of their actions.

use super::Change;
use crate::request::{ColumnSpec, DefaultSpec, Nullability};
use crate::table;
use crate::{check, error};
use expression::Expression;
use protocol::SqlError;
use types::{
    Collation, ColumnDefinition, ColumnIndex, DefaultValue, IndexKind, SqlType, Value, equal_without_case,
    implicit_default,
};

impl Change<'_> {
    fn position(&self, name: &str) -> Result<usize, SqlError> {
        let column = self.after.column(name);
        column
            .map(|column| usize::from(column.0))
            .ok_or_else(|| error::unknown_column(name, &self.before.name))
    }

    pub(super) fn add_column(&mut self, spec: &ColumnSpec) -> Result<(), SqlError> {
        // Rows that are there get numbers, in the order of their keys.
        self.rewrites |= spec.auto_increment;
        table::add_column(&mut self.after, spec)?;
        self.note_new_column();
        let is_visible = |column: &&ColumnDefinition| !column.flags.hidden;
        let visible = self.after.columns.iter().take_while(is_visible).count();
        let last = self.after.columns.len() - 1;
        if visible < last {
            // Hidden columns are the last ones.
            self.put_in(last, visible);
        } else if let Some(column) = self.after.columns.last_mut() {
            column.absent = Some(if let DefaultValue::Literal(value) = &column.default {
                value.clone()
            } else if column.flags.nullable {
                Value::Null
            } else {
                implicit_default(&column.sql_type)
            });
        }
        Ok(())
    }

    /// The last column of the new table is one that the old table does not have.
    pub(super) fn note_new_column(&mut self) {
        self.origins
            .push(ColumnIndex(u16::try_from(self.before.columns.len() + self.new_count).unwrap_or(u16::MAX)));
        self.new_count += 1;
    }

    pub(super) fn rename_column(&mut self, from: &str, to: &str) -> Result<(), SqlError> {
        let position = self.position(from)?;
        error::check_name(to, error::Named::Column)?;
        let mut others = self.after.columns.iter().enumerate().filter(|(other, _)| *other != position);
        if others.any(|(_, other)| equal_without_case(&other.name, to)) {
            return Err(error::duplicate_column(to));
        }
        self.check_unnamed(position)?;
        to.clone_into(&mut self.after.columns[position].name);
        Ok(())
    }

    pub(super) fn modify_column(&mut self, from: &str, spec: &ColumnSpec) -> Result<(), SqlError> {
        let position = self.position(from)?;
        if !equal_without_case(from, &spec.name) {
            self.check_unnamed(position)?;
        }
        let was_auto = self.after.columns[position].default == DefaultValue::AutoIncrement;
        let mut column = table::column_at(&mut self.after, position, spec)?;
        let index = ColumnIndex(u16::try_from(position).unwrap_or(u16::MAX));
        let mut keys = self.after.indexes.iter().filter(|other| other.kind == IndexKind::Primary);
        if keys.any(|key| key.parts.iter().any(|part| part.column == index)) {
            if spec.nullability == Nullability::Null {
                return Err(error::nullable_primary_key());
            }
            column.flags.nullable = false;
            column.default = table::default_value(spec, false)?;
        }
        self.rewrites |= was_auto != (column.default == DefaultValue::AutoIncrement);
        column.absent = self.after.columns[position].absent.clone();
        self.after.columns[position] = column;
        self.resolve_indexes_over(index)
    }

    /// The indexes over a column that has another type now.
    fn resolve_indexes_over(&mut self, column: ColumnIndex) -> Result<(), SqlError> {
        for position in 0..self.after.indexes.len() {
            let index = &self.after.indexes[position];
            if index.parts.iter().any(|part| part.column == column) {
                let again = crate::key::resolve_again(&self.after, index)?;
                self.rewrites |= again != *index;
                self.after.indexes[position] = again;
            }
        }
        Ok(())
    }

    pub(super) fn move_column(&mut self, column: &str, after: Option<&str>) -> Result<(), SqlError> {
        let from = self.position(column)?;
        let to = match after {
            None => 0,
            Some(after) => {
                let other = self.position(after)?;
                if other < from { other + 1 } else { other }
            }
        };
        self.put_in(from, to);
        Ok(())
    }

    /// Takes a column out and puts it in at another position.
    fn put_in(&mut self, from: usize, to: usize) {
        let mut order: Vec<usize> = (0..self.after.columns.len()).collect();
        let moved = order.remove(from);
        order.insert(to, moved);
        self.reorder(&order);
    }

    pub(super) fn drop_column(&mut self, name: &str) -> Result<(), SqlError> {
        let column = self.after.column(name).ok_or_else(|| error::cannot_drop(name))?;
        let position = usize::from(column.0);
        let origin = self.origins[position];
        // As MySQL: a constraint goes with its only column.
        self.after.checks.retain(|check| check::columns_of(check) != [origin]);
        self.check_unnamed(position)?;
        if self.after.visible_columns().count() == 1 {
            return Err(error::cannot_drop_all());
        }
        let order: Vec<usize> = (0..self.after.columns.len()).filter(|other| *other != position).collect();
        self.reorder(&order);
        // As MySQL: an index loses the column, and goes with its last one.
        self.after.indexes.retain(|index| !index.parts.is_empty());
        self.rewrites = true;
        Ok(())
    }

    /// Gives the columns another order; those that `order` does not name are gone.
    pub(super) fn reorder(&mut self, order: &[usize]) {
        let place = |column: ColumnIndex| {
            let position = order.iter().position(|old| *old == usize::from(column.0))?;
            u16::try_from(position).ok().map(ColumnIndex)
        };
        for index in &mut self.after.indexes {
            index.parts.retain_mut(|part| match place(part.column) {
                Some(column) => {
                    part.column = column;
                    true
                }
                None => false,
            });
        }
        self.after.auto_increment = self.after.auto_increment.and_then(place);
        self.after.columns = order.iter().map(|old| self.after.columns[*old].clone()).collect();
        self.origins = order.iter().map(|old| self.origins[*old]).collect();
    }

    pub(super) fn set_default(&mut self, name: &str, default: &DefaultSpec) -> Result<(), SqlError> {
        let position = self.position(name)?;
        let column = &mut self.after.columns[position];
        if column.default == DefaultValue::AutoIncrement {
            return Err(error::invalid_default(&column.name));
        }
        let spec = ColumnSpec {
            default: default.clone(),
            format: column.format,
            ..ColumnSpec::new(column.name.clone(), column.sql_type.clone())
        };
        column.default = table::default_value(&spec, column.flags.nullable)?;
        Ok(())
    }

    pub(super) fn convert(&mut self, collation: Collation) -> Result<(), SqlError> {
        if collation == Collation::Binary {
            return Err(SqlError::unsupported("ALTER TABLE … CONVERT TO CHARACTER SET binary"));
        }
        self.after.collation = collation;
        for position in 0..self.after.columns.len() {
            let column = &mut self.after.columns[position];
            let (SqlType::Char { collation: of, .. }
            | SqlType::VarChar { collation: of, .. }
            | SqlType::Text { collation: of, .. }
            | SqlType::Enum { collation: of, .. }
            | SqlType::Set { collation: of, .. }) = &mut column.sql_type
            else {
                continue;
            };
            *of = collation;
            table::check_type(&column.name, &column.sql_type)?;
            self.resolve_indexes_over(ColumnIndex(u16::try_from(position).unwrap_or(u16::MAX)))?;
        }
        Ok(())
    }

    /// 3959, 3774 and 3108 if a constraint, the default of a column, or a generated column is computed from this one:
    /// its text names it.
    fn check_unnamed(&self, position: usize) -> Result<(), SqlError> {
        let origin = self.origins[position];
        let mut checks = self.after.checks.iter();
        if let Some(check) = checks.find(|check| check::columns_of(check).contains(&origin)) {
            return Err(error::check_depends(&check.name, &self.after.columns[position].name));
        }
        let names = |encoded: &[u8]| {
            let expression: Result<Expression, _> = stdx::wire::from_bytes(encoded);
            expression.is_ok_and(|expression| expression.columns().iter().any(|slot| slot.0 == origin.0))
        };
        let name = &self.after.columns[position].name;
        for (other, column) in self.after.columns.iter().enumerate() {
            match &column.default {
                DefaultValue::Expression { encoded, .. } if names(encoded) => {
                    return Err(error::default_depends(name, &self.before.name));
                }
                DefaultValue::Generated { encoded, .. } if other != position && names(encoded) => {
                    return Err(error::generated_depends(name));
                }
                DefaultValue::Missing
                | DefaultValue::Literal(_)
                | DefaultValue::CurrentTimestamp
                | DefaultValue::AutoIncrement
                | DefaultValue::Expression { .. }
                | DefaultValue::Generated { .. } => {}
            }
        }
        Ok(())
    }

    /// The expression of a generated column again, over columns that have other types.
    pub(super) fn bind_generated(&mut self, name: &str, bound: &[u8]) -> Result<(), SqlError> {
        let position = self.position(name)?;
        if let DefaultValue::Generated { encoded, .. } = &mut self.after.columns[position].default {
            *encoded = bound.to_vec();
            self.rewrites = true;
        }
        Ok(())
    }

    /// Whether the column with this number is one that the old table does not have.
    pub(super) fn is_new(&self, origin: ColumnIndex) -> bool {
        usize::from(origin.0) >= self.before.columns.len()
    }

    // ---- whether rows stay ------------------------------------------------------------------------------------------

    /// Whether rows, or keys of indexes, have other bytes than before.
    pub(super) fn must_rewrite(&self) -> bool {
        let count = self.before.columns.len();
        let is_in_place = |(position, origin): (usize, &ColumnIndex)| usize::from(origin.0) == position;
        let keeps_places = self.origins.iter().enumerate().all(is_in_place) && self.origins.len() >= count;
        if self.rewrites || !keeps_places {
            return true;
        }
        let (kept, new) = self.after.columns.split_at(count);
        let is_computed = |column: &ColumnDefinition| {
            column.is_generated()
                || matches!(column.default, DefaultValue::CurrentTimestamp | DefaultValue::Expression { .. })
        };
        let mut kept = kept.iter().zip(&self.before.columns).enumerate();
        new.iter().any(is_computed)
            || !kept.all(|(position, (after, before))| self.reads(position, before, after))
    }

    /// Whether a column reads the bytes of the column that it was.
    fn reads(&self, position: usize, before: &ColumnDefinition, after: &ColumnDefinition) -> bool {
        let is_of_entry = |kind: IndexKind| !matches!(kind, IndexKind::Ordered);
        let mut over = self
            .before
            .indexes
            .iter()
            .filter(|index| index.parts.iter().any(|part| usize::from(part.column.0) == position));
        let keeps_null = before.flags.nullable == after.flags.nullable;
        // The hidden tables of unique indexes have columns of the same types.
        let keeps_keys =
            over.all(|index| keeps_null && (before.sql_type == after.sql_type || !is_of_entry(index.kind)));
        let formats = (&before.format, &after.format);
        let is_computed = before.is_generated() || after.is_generated();
        keeps_keys
            && !(is_computed && before.default != after.default)
            && after.sql_type.extends(&before.sql_type)
            && (after.flags.nullable || !before.flags.nullable)
            && formats.0.scale == formats.1.scale
            && (formats.0.scale.is_none() || formats.0.width == formats.1.width)
            && (formats.0.unsigned == formats.1.unsigned)
    }
}
