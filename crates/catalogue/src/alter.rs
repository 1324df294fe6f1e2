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
//! An ALTER TABLE after which rows or keys would have other bytes takes another way (`copy`): the rows are written into
//! a new table, with all its indexes.
//!
//! | file | what |
//! | --- | --- |
//! | columns.rs | what actions do to columns, and whether rows must be written again for it |
//! | copy.rs | the steps if they must |
//!
//! Ids of indexes that are added here come from the cluster's table ids, so none is ever used twice in a table.
//!
//! **Invariants**: a new index of a table whose rows stay is over columns that it has already, so that version 1 can
//! name them. Columns that are added to such a table are the last ones, and rows without them read as the literal that
//! was their default then.

mod columns;
mod copy;

pub(crate) use copy::Rewritten;

use crate::job::Step;
use crate::key::{self, check_index_name};
use crate::plan::{Planned, changeable_table, check_free, move_table};
use crate::request::{AlterAction, KeySpec, KeySpecKind, TableName};
use crate::rows::SchemaChange;
use crate::table::{self, TableIds, hidden_table};
use crate::{check, error};
use protocol::SqlError;
use protocol::program::{StatementContext, TableRef};
use types::{
    ColumnIndex, IndexDefinition, IndexId, IndexKind, IndexState, Schema, TableDefinition, TableId,
    equal_without_case,
};

/// The steps of an ALTER TABLE.
pub(crate) fn plan(
    schema: &Schema,
    name: &TableName,
    actions: &[AlterAction],
    ids: &mut TableIds,
) -> Result<Planned, SqlError> {
    let before = &**changeable_table(schema, name)?;
    let Some(mut change) = Change::of(before, schema, actions)? else { return Ok(Planned::default()) };
    change.rewrites |= new_keys(actions).any(|spec| change.is_over_new_column(spec));
    if change.must_rewrite() {
        change.add_keys_of_copy(actions)?;
        return change.plan_copy(ids);
    }
    new_keys(actions).try_for_each(|spec| change.add_index(spec, ids))?;
    key::check_auto_increment(&change.after)?;
    key::sort(&mut change.after);
    Ok(change.plan(schema))
}

/// The same where rows are always written again: a temporary table. None: nothing changes.
pub(crate) fn rewritten(
    schema: &Schema,
    name: &TableName,
    actions: &[AlterAction],
    ids: &mut TableIds,
) -> Result<Option<Rewritten>, SqlError> {
    let before = &**changeable_table(schema, name)?;
    let Some(mut change) = Change::of(before, schema, actions)? else { return Ok(None) };
    change.add_keys_of_copy(actions)?;
    change.rewritten(ids).map(Some)
}

/// The keys that are added. MySQL resolves them last: they may use new names of columns and names of dropped keys.
fn new_keys(actions: &[AlterAction]) -> impl Iterator<Item = &KeySpec> {
    actions
        .iter()
        .filter_map(|action| if let AlterAction::AddIndex(spec) = action { Some(spec) } else { None })
}

/// Whether an action asks for anything.
fn is_change(action: &AlterAction) -> bool {
    !matches!(action, AlterAction::BoundTo(_) | AlterAction::Context(_))
}

struct Change<'a> {
    before: &'a TableDefinition,
    /// The table as it will be, without the dropped indexes.
    after: TableDefinition,
    /// For each column of `after` the one of `before` that it was; new ones are numbered behind those.
    origins: Vec<ColumnIndex>,
    /// How many columns were added.
    new_count: usize,
    /// Rows must be written again, whatever became of the columns.
    rewrites: bool,
    /// AUTO_INCREMENT =: the next value is above this one.
    raised: Option<u64>,
    /// RENAME TO.
    target: Option<TableName>,
    added: Vec<IndexDefinition>,
    dropped: Vec<IndexDefinition>,
    /// In which rows are written again.
    context: StatementContext,
}

impl<'a> Change<'a> {
    /// All but the new keys; None: nothing is asked for.
    fn of(
        before: &'a TableDefinition,
        schema: &Schema,
        actions: &[AlterAction],
    ) -> Result<Option<Self>, SqlError> {
        let mut change = Self::new(before);
        for action in actions {
            change.apply(schema, action)?;
        }
        Ok(actions.iter().any(is_change).then_some(change))
    }

    /// The new keys of a table whose rows are written again: a primary key first, for others may be over columns that
    /// it makes NOT NULL.
    fn add_keys_of_copy(&mut self, actions: &[AlterAction]) -> Result<(), SqlError> {
        let (primary, others): (Vec<_>, Vec<_>) =
            new_keys(actions).partition(|key| key.kind == KeySpecKind::Primary);
        primary.into_iter().chain(others).try_for_each(|spec| self.add_key_of_copy(spec))
    }

    fn new(before: &'a TableDefinition) -> Self {
        let origins = (0..).map(ColumnIndex).take(before.columns.len()).collect();
        Self {
            before,
            after: before.clone(),
            origins,
            new_count: 0,
            rewrites: false,
            raised: None,
            target: None,
            added: Vec::new(),
            dropped: Vec::new(),
            context: StatementContext::default(),
        }
    }

    fn apply(&mut self, schema: &Schema, action: &AlterAction) -> Result<(), SqlError> {
        match action {
            AlterAction::AddIndex(_) => Ok(()),
            AlterAction::DropIndex { name } => self.drop_index(name),
            AlterAction::RenameIndex { from, to } => self.rename_index(from, to),
            AlterAction::AddColumn(spec) => self.add_column(spec),
            AlterAction::RenameColumn { from, to } => self.rename_column(from, to),
            AlterAction::ModifyColumn { from, spec } => self.modify_column(from, spec),
            AlterAction::MoveColumn { column, after } => self.move_column(column, after.as_deref()),
            AlterAction::DropColumn { name } => self.drop_column(name),
            AlterAction::SetDefault { column, default } => self.set_default(column, default),
            AlterAction::Convert(collation) => self.convert(*collation),
            AlterAction::DropPrimaryKey => self.drop_index(key::PRIMARY),
            AlterAction::AddCheck(spec) => {
                self.rewrites |= spec.is_enforced;
                check::add(&mut self.after, std::slice::from_ref(spec), schema)
            }
            AlterAction::DropCheck { name } => self.drop_check(name),
            AlterAction::DropConstraint { name } => self.drop_constraint(name),
            AlterAction::BindCheck { name, encoded } => {
                if let Some(position) = check::position(&self.after, name) {
                    self.after.checks[position].encoded.clone_from(encoded);
                }
                Ok(())
            }
            AlterAction::BindGenerated { column, encoded } => self.bind_generated(column, encoded),
            AlterAction::EnforceCheck { name, is_enforced } => self.enforce_check(name, *is_enforced),
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
            AlterAction::AutoIncrement(next) => {
                self.raised = Some(next.saturating_sub(1));
                Ok(())
            }
            AlterAction::BoundTo(version) if *version == self.before.version => Ok(()),
            AlterAction::BoundTo(_) => Err(error::definition_changed()),
            AlterAction::Context(context) => {
                self.context = context.clone();
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
        let index = self.after.indexes.remove(position);
        if index.kind == IndexKind::Primary {
            self.rewrites = true;
        } else {
            self.dropped.push(index);
        }
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

    fn drop_check(&mut self, name: &str) -> Result<(), SqlError> {
        let position = check::position(&self.after, name).ok_or_else(|| error::no_such_check(name))?;
        self.after.checks.remove(position);
        Ok(())
    }

    fn drop_constraint(&mut self, name: &str) -> Result<(), SqlError> {
        if check::position(&self.after, name).is_some() {
            return self.drop_check(name);
        }
        let is_key = self.after.index_by_name(name).is_some_and(|index| index.kind != IndexKind::Ordered);
        if is_key { self.drop_index(name) } else { Err(error::no_such_constraint(name)) }
    }

    fn enforce_check(&mut self, name: &str, is_enforced: bool) -> Result<(), SqlError> {
        let position = check::position(&self.after, name).ok_or_else(|| error::no_such_check(name))?;
        let check = &mut self.after.checks[position];
        // Rows that are there must pass.
        self.rewrites |= is_enforced && !check.is_enforced;
        check.is_enforced = is_enforced;
        Ok(())
    }

    /// Whether a key needs columns that rows do not have yet, or is the rows' own key.
    fn is_over_new_column(&self, spec: &KeySpec) -> bool {
        let is_new = |name: &str| {
            let column = self.after.column(name);
            column.is_some_and(|column| self.is_new(self.origins[usize::from(column.0)]))
        };
        spec.kind == KeySpecKind::Primary || spec.parts.iter().any(|part| is_new(&part.column))
    }

    fn add_index(&mut self, spec: &KeySpec, ids: &mut TableIds) -> Result<(), SqlError> {
        let id = ids.take();
        let mut index = key::resolve(&self.after, spec, IndexId(id.0))?;
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
        if let Some(at_least) = self.raised.filter(|_| self.before.has_sequence()) {
            steps.push(Step::Raise { table: self.before.id, at_least });
        }
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
            check::rename(&mut table, &self.before.name);
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
