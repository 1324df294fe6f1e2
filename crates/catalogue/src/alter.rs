//! ALTER TABLE as steps: all actions become visible in one schema version, whatever has to be built before it or
//! cleared away after it.
//!
//! ```text
//! version  new indexes              everything else                     dropped indexes
//! 1        delete-only  ┐ only if
//! 2        write-only   │ there are
//!          backfill     ┘ new ones
//! 3        public                   columns, names, comment: changed    write-only   ┐ only if
//! 4                                                                     delete-only  │ there are
//! 5                                                                     gone         ┘ dropped ones
//! ```
//! If a backfill fails: version 3' delete-only, 4' gone, and the statement has left nothing behind.
//!
//! Ids of indexes that are added here come from the cluster's table ids, so none is ever used twice in a table.
//!
//! **Invariants**: a new index is over columns that the table has already, so that version 1 can name them. Added
//! columns are the last ones, and rows without them read as their default, so the default is a literal.

use crate::error;
use crate::job::Step;
use crate::key::{self, check_index_name};
use crate::plan::{Planned, changeable_table, check_free, move_table};
use crate::request::{AlterAction, ColumnSpec, DefaultSpec, KeySpec, KeySpecKind, TableName};
use crate::rows::SchemaChange;
use crate::table::{self, TableIds, hidden_table};
use protocol::SqlError;
use protocol::program::TableRef;
use types::{
    IndexDefinition, IndexId, IndexKind, IndexState, Schema, TableDefinition, TableId, equal_without_case,
};

/// The steps of an ALTER TABLE.
pub(crate) fn plan(
    schema: &Schema,
    name: &TableName,
    actions: &[AlterAction],
    ids: &mut TableIds,
) -> Result<Planned, SqlError> {
    let before = &**changeable_table(schema, name)?;
    if actions.is_empty() {
        return Ok(Planned::default());
    }
    let mut change =
        Change { before, after: before.clone(), target: None, added: Vec::new(), dropped: Vec::new() };
    for action in actions {
        change.apply(schema, action)?;
    }
    // MySQL resolves new keys last: they may use new names of columns and names of dropped keys.
    for action in actions {
        if let AlterAction::AddIndex(spec) = action {
            change.add_index(spec, ids)?;
        }
    }
    key::check_auto_increment(&change.after)?;
    key::sort(&mut change.after);
    Ok(change.plan(schema))
}

struct Change<'a> {
    before: &'a TableDefinition,
    /// The table as it will be, without the dropped indexes.
    after: TableDefinition,
    /// RENAME TO.
    target: Option<TableName>,
    added: Vec<IndexDefinition>,
    dropped: Vec<IndexDefinition>,
}

impl Change<'_> {
    fn apply(&mut self, schema: &Schema, action: &AlterAction) -> Result<(), SqlError> {
        match action {
            AlterAction::AddIndex(_) => Ok(()),
            AlterAction::DropIndex { name } => self.drop_index(name),
            AlterAction::RenameIndex { from, to } => self.rename_index(from, to),
            AlterAction::AddColumn(spec) => self.add_column(spec),
            AlterAction::RenameColumn { from, to } => self.rename_column(from, to),
            AlterAction::RenameTo(target) => {
                let is_same = target.database == self.before.database && target.name == self.before.name;
                if !is_same {
                    check_free(schema, target)?;
                    self.target = Some(target.clone());
                }
                Ok(())
            }
            AlterAction::Comment(comment) => {
                let name = TableName::new(&self.before.database, &self.before.name);
                table::check_table_comment(&name, comment)?;
                self.after.comment.clone_from(comment);
                Ok(())
            }
            AlterAction::Collation(collation) => {
                self.after.collation = *collation;
                Ok(())
            }
        }
    }

    /// The position of an index that SQL can name.
    fn index_position(&self, name: &str) -> Option<usize> {
        let id = self.after.index_by_name(name)?.id;
        self.after.indexes.iter().position(|index| index.id == id)
    }

    fn drop_index(&mut self, name: &str) -> Result<(), SqlError> {
        let position = self.index_position(name).ok_or_else(|| error::cannot_drop(name))?;
        if self.after.indexes[position].kind == IndexKind::Primary {
            return Err(SqlError::unsupported("ALTER TABLE … DROP PRIMARY KEY"));
        }
        self.dropped.push(self.after.indexes.remove(position));
        Ok(())
    }

    fn rename_index(&mut self, from: &str, to: &str) -> Result<(), SqlError> {
        let position =
            self.index_position(from).ok_or_else(|| error::no_such_key(from, &self.before.name))?;
        if self.after.indexes[position].kind == IndexKind::Primary {
            return Err(error::wrong_index_name(from));
        }
        // Only the case may change.
        if !equal_without_case(from, to) {
            check_index_name(&self.after, to)?;
        }
        to.clone_into(&mut self.after.indexes[position].name);
        Ok(())
    }

    fn add_column(&mut self, spec: &ColumnSpec) -> Result<(), SqlError> {
        if self.before.has_hidden_row_id() {
            return Err(SqlError::unsupported("ALTER TABLE … ADD COLUMN on a table without a primary key"));
        }
        if spec.auto_increment {
            return Err(SqlError::unsupported("ALTER TABLE … ADD COLUMN … AUTO_INCREMENT"));
        }
        if matches!(spec.default, DefaultSpec::CurrentTimestamp { .. } | DefaultSpec::Expression { .. }) {
            return Err(SqlError::unsupported(
                "ALTER TABLE … ADD COLUMN with a DEFAULT that is not a literal",
            ));
        }
        table::add_column(&mut self.after, spec)
    }

    fn rename_column(&mut self, from: &str, to: &str) -> Result<(), SqlError> {
        let column = self.after.column(from).ok_or_else(|| error::unknown_column(from, &self.before.name))?;
        error::check_name(to, error::Named::Column)?;
        let position = usize::from(column.0);
        let mut others = self.after.columns.iter().enumerate().filter(|(other, _)| *other != position);
        if others.any(|(_, other)| equal_without_case(&other.name, to)) {
            return Err(error::duplicate_column(to));
        }
        to.clone_into(&mut self.after.columns[position].name);
        Ok(())
    }

    fn add_index(&mut self, spec: &KeySpec, ids: &mut TableIds) -> Result<(), SqlError> {
        if spec.kind == KeySpecKind::Primary {
            return Err(if self.before.has_hidden_row_id() {
                SqlError::unsupported("ALTER TABLE … ADD PRIMARY KEY")
            } else {
                error::two_primary_keys()
            });
        }
        let id = ids.take();
        let mut index = key::resolve(&self.after, spec, IndexId(id.0))?;
        if index.parts.iter().any(|part| usize::from(part.column.0) >= self.before.columns.len()) {
            return Err(SqlError::unsupported("ADD COLUMN and a key over that column in one ALTER TABLE"));
        }
        if let IndexKind::Unique { table } = &mut index.kind {
            *table = id;
        }
        self.after.indexes.push(index.clone());
        self.added.push(index);
        Ok(())
    }

    fn plan(self, schema: &Schema) -> Planned {
        let mut steps = Vec::new();
        let mut undo = Vec::new();
        let mut version = self.before.version;
        if !self.added.is_empty() {
            self.plan_new_indexes(&mut steps, &mut undo);
            version += 2;
        }
        self.plan_cut_over(schema, version, &mut steps);
        Planned { steps, undo, ..Planned::default() }
    }

    /// The table before the change, with the new indexes in `state`.
    fn before_with(&self, version: u32, state: IndexState) -> SchemaChange {
        let mut table = TableDefinition { version, ..self.before.clone() };
        table.indexes.extend(self.added.iter().map(|index| IndexDefinition { state, ..index.clone() }));
        SchemaChange::PutTable(table)
    }

    fn hidden(&self) -> impl Iterator<Item = TableDefinition> {
        self.added.iter().filter_map(|index| hidden_table(self.before, index))
    }

    fn plan_new_indexes(&self, steps: &mut Vec<Step>, undo: &mut Vec<Step>) {
        let version = self.before.version;
        let mut delete_only: Vec<_> = self.hidden().map(SchemaChange::PutTable).collect();
        delete_only.push(self.before_with(version + 1, IndexState::DeleteOnly));
        let write_only = vec![self.before_with(version + 2, IndexState::WriteOnly)];
        // In `undo`: 0 and 1 lead back to delete-only, 2 and 3 to nothing.
        steps.push(Step::Write { changes: delete_only, undo: Some(2) });
        steps.push(Step::Install);
        steps.push(Step::Write { changes: write_only, undo: Some(0) });
        steps.push(Step::Install);
        let table = TableRef { id: self.before.id, version: version + 2 };
        for index in &self.added {
            steps.push(Step::Backfill { table, index: index.id });
            if let IndexKind::Unique { table: hidden } = index.kind {
                let hidden = TableRef { id: hidden, version: 1 };
                steps.push(Step::BackfillUnique { table, index: index.id, hidden });
            }
        }
        let mut gone =
            vec![SchemaChange::PutTable(TableDefinition { version: version + 4, ..self.before.clone() })];
        gone.extend(self.hidden().map(|hidden| SchemaChange::DropTable { table: hidden.id }));
        let delete_only = vec![self.before_with(version + 3, IndexState::DeleteOnly)];
        undo.push(Step::Write { changes: delete_only, undo: None });
        undo.push(Step::Install);
        undo.push(Step::Write { changes: gone, undo: None });
        undo.push(Step::Install);
    }

    /// The version in which everything is seen, and those that clear dropped indexes away.
    fn plan_cut_over(&self, schema: &Schema, version: u32, steps: &mut Vec<Step>) {
        let cleared = self.after_with(version + 1, None);
        let target = self.target.clone();
        let first = if self.dropped.is_empty() {
            cleared
        } else {
            self.after_with(version + 1, Some(IndexState::WriteOnly))
        };
        let mut changes = vec![SchemaChange::PutTable(first)];
        if let Some(target) = target {
            changes.extend(self.moved_hidden(schema, &target).map(SchemaChange::PutTable));
        }
        steps.push(Step::Write { changes, undo: None });
        steps.push(Step::Install);
        if self.dropped.is_empty() {
            return;
        }
        let delete_only = self.after_with(version + 2, Some(IndexState::DeleteOnly));
        steps.push(Step::Write { changes: vec![SchemaChange::PutTable(delete_only)], undo: None });
        steps.push(Step::Install);
        let mut gone = vec![SchemaChange::PutTable(self.after_with(version + 3, None))];
        gone.extend(self.dropped.iter().filter_map(|index| match index.kind {
            IndexKind::Unique { table } => Some(SchemaChange::DropTable { table }),
            IndexKind::Primary | IndexKind::Ordered => None,
        }));
        steps.push(Step::Write { changes: gone, undo: None });
        steps.push(Step::Install);
    }

    /// The table after the change, with the dropped indexes (if they are still to be there) in a state.
    fn after_with(&self, version: u32, dropped: Option<IndexState>) -> TableDefinition {
        let mut table = TableDefinition { version, ..self.after.clone() };
        if let Some(target) = &self.target {
            table.database.clone_from(&target.database);
            table.name.clone_from(&target.name);
        }
        if let Some(state) = dropped {
            table.indexes.extend(self.dropped.iter().map(|index| IndexDefinition { state, ..index.clone() }));
        }
        table
    }

    /// All hidden tables (old, new and to be dropped), if the table moves to another database.
    fn moved_hidden(&self, schema: &Schema, target: &TableName) -> impl Iterator<Item = TableDefinition> {
        let mut schema = schema.clone();
        for hidden in self.hidden() {
            schema.put_table(hidden.into());
        }
        let mut whole = self.before.clone();
        whole.indexes.extend(self.added.iter().cloned());
        let base: TableId = whole.id;
        move_table(&schema, &whole, target).into_iter().filter(move |table| table.id != base)
    }
}
