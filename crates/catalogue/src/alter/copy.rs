//! ALTER TABLE when rows must be written again: they go into a new table, which takes the place of the old one.
//!
//! ```text
//! version of the old table    the copy
//! 1  closed                   there, without a name
//! 2  closed
//!                             its rows are written
//!    gone                     has the name
//! ```
//! A failure before the last version leads back to the old table, open, without the copy.
//!
//! The copy keeps the slots of the old table, so that most rows stay on their nodes.

use super::Change;
use crate::job::{Step, TableCopy};
use crate::key;
use crate::plan::{Planned, drop_table_changes};
use crate::request::{KeySpec, KeySpecKind};
use crate::rows::SchemaChange;
use crate::table::{self, TableIds, hidden_tables};
use crate::{check, error};
use expression::{ColumnSlot, Expression};
use protocol::SqlError;
use protocol::program::{StatementContext, TableRef};
use types::{
    ColumnIndex, DefaultValue, IndexDefinition, IndexId, IndexKind, TableDefinition, TableId, TableKind,
    Value,
};

/// A table that takes the place of another one, and its rows.
pub(crate) struct Rewritten {
    pub(crate) copy: TableDefinition,
    pub(crate) hidden: Vec<TableDefinition>,
    /// For each column of the copy the one of the old table that has its values.
    pub(crate) columns: Vec<Option<ColumnIndex>>,
    /// The next AUTO_INCREMENT value is above this one, whatever the rows have.
    pub(crate) at_least: u64,
    /// Values are converted in it.
    pub(crate) context: StatementContext,
}

impl Change<'_> {
    /// ADD KEY and ADD PRIMARY KEY: the copy has them from the start.
    pub(super) fn add_key_of_copy(&mut self, spec: &KeySpec) -> Result<(), SqlError> {
        if spec.kind != KeySpecKind::Primary {
            let index = key::resolve(&self.after, spec, IndexId(0))?;
            self.after.indexes.push(index);
            return Ok(());
        }
        if self.after.has_primary_key() && !self.after.has_hidden_row_id() {
            return Err(error::two_primary_keys());
        }
        self.after.indexes.retain(|index| index.kind != IndexKind::Primary);
        let visible = |position: &usize| !self.after.columns[*position].flags.hidden;
        let order: Vec<usize> = (0..self.after.columns.len()).filter(visible).collect();
        self.reorder(&order);
        for part in &spec.parts {
            let column = self.after.column(&part.column);
            let column = column.ok_or_else(|| error::key_column_missing(&part.column))?;
            let column = &mut self.after.columns[usize::from(column.0)];
            if column.flags.nullable {
                column.flags.nullable = false;
                if column.default == DefaultValue::Literal(Value::Null) {
                    column.default = DefaultValue::Missing;
                }
            }
        }
        let index = key::resolve(&self.after, spec, IndexId(0))?;
        self.after.indexes.insert(0, index);
        Ok(())
    }

    pub(super) fn plan_copy(self, ids: &mut TableIds) -> Result<Planned, SqlError> {
        let before = self.before;
        let Rewritten { copy, hidden, columns, at_least, context } = self.rewritten(ids)?;
        let version = before.version;
        let at = |version: u32, copied_to: Option<TableId>| {
            SchemaChange::PutTable(TableDefinition { version, copied_to, ..before.clone() })
        };
        let mut closed = vec![at(version + 1, Some(copy.id)), SchemaChange::PutTable(copy.clone())];
        closed.extend(hidden.iter().cloned().map(SchemaChange::PutTable));
        let mut back = vec![at(version + 3, None), SchemaChange::DropTable { table: copy.id }];
        back.extend(hidden.iter().map(|hidden| SchemaChange::DropTable { table: hidden.id }));
        if copy.has_sequence() {
            closed.push(SchemaChange::PutSequence { table: copy.id, next: 1 });
            back.push(SchemaChange::DropSequence { table: copy.id });
        }
        let task = TableCopy {
            from: TableRef { id: before.id, version: version + 2 },
            to: TableRef { id: copy.id, version: copy.version },
            columns,
            at_least,
            context,
        };
        let mut named = drop_table_changes(before);
        named.push(SchemaChange::PutTable(TableDefinition { version: 2, kind: TableKind::User, ..copy }));
        let steps = vec![
            Step::Write { changes: closed, undo: Some(0) },
            Step::Install,
            Step::Write { changes: vec![at(version + 2, Some(task.to.id))], undo: Some(0) },
            Step::Install,
            Step::Copy(Box::new(task)),
            Step::Write { changes: named, undo: None },
            Step::Install,
        ];
        let undo = vec![Step::Write { changes: back, undo: None }, Step::Install];
        Ok(Planned { steps, undo, ..Planned::default() })
    }

    /// The table as it will be, and how its rows come there.
    pub(super) fn rewritten(mut self, ids: &mut TableIds) -> Result<Rewritten, SqlError> {
        if !self.after.has_primary_key() {
            table::add_row_id(&mut self.after);
            self.note_new_column();
        }
        key::check_auto_increment(&self.after)?;
        key::sort(&mut self.after);
        let copy = self.copy(ids)?;
        let hidden = hidden_tables(&copy);
        table::check_made(&copy);
        let source = |origin: &ColumnIndex| Some(*origin).filter(|origin| !self.is_new(*origin));
        let columns = self.origins.iter().map(source).collect();
        let at_least = self.raised.unwrap_or(0);
        Ok(Rewritten { copy, hidden, columns, at_least, context: self.context })
    }

    /// The table as it will be, under new ids.
    fn copy(&self, ids: &mut TableIds) -> Result<TableDefinition, SqlError> {
        let name = |before: &str, target: Option<&String>| target.map_or(before, String::as_str).to_owned();
        let target = self.target.as_ref();
        let mut copy = TableDefinition {
            id: ids.take(),
            version: 1,
            database: name(&self.after.database, target.map(|target| &target.database)),
            name: name(&self.after.name, target.map(|target| &target.name)),
            kind: TableKind::Copy { of: self.before.id },
            ..self.after.clone()
        };
        for column in &mut copy.columns {
            column.absent = None;
            if let DefaultValue::Expression { encoded, .. } | DefaultValue::Generated { encoded, .. } =
                &mut column.default
            {
                *encoded = self.moved(encoded, &column.name)?;
            }
        }
        if !table::generates_in_order(&copy) {
            return Err(error::generated_order());
        }
        if self.target.is_some() {
            check::rename(&mut copy, &self.before.name);
        }
        for check in &mut copy.checks {
            check.encoded = self.moved(&check.encoded, &check.name)?;
        }
        for (position, index) in (0..).zip(&mut copy.indexes) {
            let IndexDefinition { id, kind, .. } = index;
            *id = IndexId(position);
            if let IndexKind::Unique { table } = kind {
                *table = ids.take();
            }
        }
        Ok(copy)
    }

    /// An encoded expression over the old table's columns, over the new one's.
    fn moved(&self, encoded: &[u8], column: &str) -> Result<Vec<u8>, SqlError> {
        let invalid = || error::invalid_default(column);
        let mut expression: Expression = stdx::wire::from_bytes(encoded).map_err(|_| invalid())?;
        let mut is_gone = false;
        expression.map_columns(&mut |slot| {
            let place = self.origins.iter().position(|origin| *origin == ColumnIndex(slot.0));
            is_gone |= place.is_none();
            ColumnSlot(place.and_then(|place| u16::try_from(place).ok()).unwrap_or(u16::MAX))
        });
        if is_gone { Err(invalid()) } else { Ok(stdx::wire::to_bytes(&expression)) }
    }
}
