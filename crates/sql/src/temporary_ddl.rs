//! CREATE, DROP, TRUNCATE and ALTER of temporary tables: by the session itself, without a job.
//!
//! ```text
//! new: definitions are made and dropped --> Done
//!      CREATE … SELECT --> Fill (the rows of the query) --> it gets its name --> Done
//!      ALTER --> Copy (rows are written again) --> it takes the place of the old one --> Done
//! ```
//! A table that is being filled has no name, and a statement that fails drops it (`executor::temporary`).
//!
//! Deliberately not here: whether the statement ends a transaction (`session::transactions`).

use crate::ddl_job::copy::drawn_value;
use catalogue::temporary::{AlteredTable, TemporaryTable, unknown_table};
use catalogue::{AlterAction, DdlRequest, TableName};
use executor::copied_row::CopiedRows;
use executor::insert::InsertRun;
use executor::row_builder::primary_key_of;
use executor::table_reader::{Collector, Order, Pump, TableReader, Target, stored_bytes, stored_rows};
use executor::temporary::TemporaryTables;
use executor::write_set::{HiddenIndexes, Origin, WriteSet, duplicate_error};
use executor::{Completion, Cx, Failure, Progress, warnings_of};
use planner::plan::{InsertPlan, ScanDirection, TemporaryPlan};
use protocol::SqlError;
use protocol::program::{KeyRange, OnDuplicate, Refusal, WriteOperation};
use query::TableAccessInfo;
use std::sync::Arc;
use types::{IndexId, Schema, TableDefinition, TableId};

/// Rows that are written again at once.
const BATCH_ROWS: usize = 256;

/// A statement that runs.
pub(crate) enum TemporaryRun {
    /// All is done.
    Done,
    Fill {
        plan: Box<InsertPlan>,
        run: Box<InsertRun>,
    },
    Copy(Box<CopyRun>),
}

impl TemporaryRun {
    /// Does what takes no time; `draws` counts the runs of this statement that met a duplicate of a drawn value.
    #[expect(clippy::wildcard_enum_match_arm, reason = "no other request is about a temporary table")]
    pub(crate) fn new(plan: &TemporaryPlan, draws: u32, cx: &mut Cx<'_>) -> Result<Self, Failure> {
        match &plan.request {
            DdlRequest::CreateTable(request) => {
                let made = TemporaryTable::create(request, &schema_of(cx), own(cx).next_id());
                let Some(table) = made_or_noted(made, request.if_not_exists, cx)? else {
                    return Ok(Self::Done);
                };
                let Some(fill) = &plan.fill else {
                    own(cx).name(table);
                    return Ok(Self::Done);
                };
                let info = cx.hidden_info(table)?;
                let plan = Box::new(fill.into_table(Arc::clone(&info.definition)));
                let run = Box::new(InsertRun::new(&plan, draws, cx)?);
                Ok(Self::Fill { plan, run })
            }
            DdlRequest::CreateTableLike { table, if_not_exists, .. } => {
                let Some(like) = &plan.like else { return Err(Failure::WrongSchema) };
                let made = TemporaryTable::like(table, like, &schema_of(cx), own(cx).next_id());
                if let Some(table) = made_or_noted(made, *if_not_exists, cx)? {
                    own(cx).name(table);
                }
                Ok(Self::Done)
            }
            DdlRequest::DropTables { tables, if_exists } => {
                drop_tables(tables, *if_exists, cx)?;
                Ok(Self::Done)
            }
            DdlRequest::Truncate { table } => {
                let old = named(table, cx)?;
                let made = TemporaryTable::emptied(&old, own(cx).next_id());
                let new = create(made, cx);
                own(cx).drop_table(old.id);
                own(cx).name(new);
                Ok(Self::Done)
            }
            DdlRequest::AlterTable { table, actions } => {
                let old = named(table, cx)?;
                let context = cx.statement.program_context(cx.statement.store_settings());
                let actions = actions.iter().cloned().chain([AlterAction::Context(context)]);
                let actions: Vec<AlterAction> = actions.collect();
                let altered = AlteredTable::new(table, &actions, &schema_of(cx), own(cx).next_id())?;
                match altered {
                    None => Ok(Self::Done),
                    Some(altered) => Ok(Self::Copy(Box::new(CopyRun::new(&old, altered, cx)?))),
                }
            }
            _ => Err(Failure::Error(SqlError::unsupported("this statement on a temporary table"))),
        }
    }

    pub(crate) fn step(&mut self, cx: &mut Cx<'_>) -> Result<Progress, Failure> {
        match self {
            Self::Done => Ok(Progress::Done(Completion::default())),
            Self::Fill { plan, run } => {
                let progress = run.step(plan, cx)?;
                if matches!(progress, Progress::Done(_)) {
                    own(cx).name(plan.table.id);
                }
                Ok(progress)
            }
            Self::Copy(run) => run.step(cx),
        }
    }
}

/// The session's temporary tables.
fn own<'a>(cx: &'a mut Cx<'_>) -> &'a mut TemporaryTables {
    let memory = cx.client.memory.manager();
    cx.client.transaction.own_or_new(&memory)
}

/// The schema that requests are looked at with: the databases, and the session's temporary tables.
fn schema_of(cx: &mut Cx<'_>) -> Schema {
    let databases = Arc::clone(&cx.env.site.map.schema.databases);
    let mut schema = own(cx).named().clone();
    schema.databases = databases;
    schema
}

fn named(name: &TableName, cx: &mut Cx<'_>) -> Result<Arc<TableDefinition>, Failure> {
    let table = own(cx).named().table(&name.database, &name.name);
    table.map(Arc::clone).ok_or(Failure::WrongSchema)
}

fn create(made: TemporaryTable, cx: &mut Cx<'_>) -> TableId {
    let id = made.table.id;
    own(cx).create(made.table, made.hidden, made.first);
    id
}

/// Makes a table that has no name yet; None: there is one of its name, and that is a note.
fn made_or_noted(
    made: Result<TemporaryTable, SqlError>,
    if_not_exists: bool,
    cx: &mut Cx<'_>,
) -> Result<Option<TableId>, Failure> {
    match made {
        Ok(made) => Ok(Some(create(made, cx))),
        Err(exists) if exists.code == 1050 && if_not_exists => {
            cx.client.diagnostics.note(exists.code, exists.message);
            Ok(None)
        }
        Err(error) => Err(Failure::Error(error)),
    }
}

/// DROP TABLE: all or nothing.
fn drop_tables(names: &[TableName], if_exists: bool, cx: &mut Cx<'_>) -> Result<(), Failure> {
    let (mut dropped, mut unknown) = (Vec::new(), Vec::new());
    for name in names {
        match own(cx).named().table(&name.database, &name.name) {
            Some(table) if dropped.contains(&table.id) => {
                let text = format!("Not unique table/alias: '{}'", name.name);
                return Err(Failure::Error(SqlError::new(1066, text)));
            }
            Some(table) => dropped.push(table.id),
            None => unknown.push(name.to_string()),
        }
    }
    if !unknown.is_empty() && !if_exists {
        return Err(Failure::Error(unknown_table(&unknown.join(","))));
    }
    for name in unknown {
        let note = unknown_table(&name);
        cx.client.diagnostics.note(note.code, note.message);
    }
    dropped.into_iter().for_each(|table| own(cx).drop_table(table));
    Ok(())
}

/// The rows of an ALTER TABLE on their way into the table that takes the place of the old one.
pub(crate) struct CopyRun {
    altered: AlteredTable,
    from: Arc<TableAccessInfo>,
    to: Arc<TableAccessInfo>,
    indexes: HiddenIndexes,
    reader: TableReader,
    rows: u64,
    /// The highest value that rows have in columns that draw one.
    highest: u64,
}

impl CopyRun {
    fn new(old: &TableDefinition, altered: AlteredTable, cx: &mut Cx<'_>) -> Result<Self, Failure> {
        let from = cx.info(old)?;
        let to = create(altered.to.clone(), cx);
        let to = cx.hidden_info(to)?;
        let indexes = HiddenIndexes::of(&to, cx)?;
        let program = (*stored_rows(&from, None, cx)).clone();
        let target = Target::Ranges(IndexId(0), vec![KeyRange::all()]);
        // In order: the row that an error names is always the same.
        let order = Order::Key(ScanDirection::Forward);
        let reader = TableReader::new(&from, program, target, order, None);
        Ok(Self { altered, from, to, indexes, reader, rows: 0, highest: 0 })
    }

    fn step(&mut self, cx: &mut Cx<'_>) -> Result<Progress, Failure> {
        let mut found = Collector::new(BATCH_ROWS, true);
        let pump = self.reader.pump(cx, &mut found)?;
        if found.rows.is_empty() && pump == Pump::End {
            return Ok(Progress::Done(self.finish(cx)));
        }
        let copied = CopiedRows {
            from: &self.from,
            to: &self.to,
            columns: &self.altered.columns,
            at_least: self.altered.to.first.saturating_sub(1),
        };
        let context = self.altered.context.evaluation();
        let mut set = WriteSet::default();
        let mut rows = Vec::with_capacity(found.rows.len());
        for row in &found.rows {
            self.rows += 1;
            let bytes = copied.row(self.rows, &stored_bytes(row, &self.from)?, &context)?;
            let insert = |key, row| WriteOperation::Insert { key, row, on_duplicate: OnDuplicate::Fail };
            for (position, index) in self.indexes.0.iter().enumerate() {
                if let Some(key) = index.key_of(&self.to, &bytes) {
                    let entry = insert(key, index.entry_of(&self.to, &bytes));
                    set.add(&index.hidden, entry, Origin::entry(rows.len(), position));
                }
            }
            let key = primary_key_of(&self.to, &bytes);
            set.add(&self.to, insert(key, bytes.clone()), Origin::row(rows.len()));
            self.highest = self.highest.max(drawn_value(&self.to, &bytes));
            rows.push(bytes);
        }
        cx.client.diagnostics.add_all(warnings_of(&context));
        set.send(false, cx)?;
        let outcome = set.poll(cx).unwrap_or_default();
        if let Some((origin, failed)) = outcome.failed {
            if failed.is_refused(|refusal| matches!(refusal, Refusal::Duplicate { .. })) {
                let row = rows.get(origin.row as usize).map_or(&[][..], |row| row);
                let zone = self.altered.context.settings.time_zone_offset_seconds;
                let error = duplicate_error(&self.to, &self.indexes, origin.entry, row, zone);
                return Err(Failure::Error(error));
            }
            return Err(failed.into_failure(&self.from.definition.name));
        }
        Ok(Progress::Spent)
    }

    /// The new table takes the place of the old one.
    fn finish(&mut self, cx: &mut Cx<'_>) -> Completion {
        let next = if self.from.definition.has_sequence() { self.from.auto_increment.take(1) } else { None };
        let drawn = next.map_or(0, |next| next.saturating_sub(1));
        self.to.auto_increment.pass(self.highest.max(drawn));
        own(cx).drop_table(self.from.definition.id);
        own(cx).name(self.to.definition.id);
        let (rows, warnings) = (self.rows, cx.client.diagnostics.count());
        let info = format!("Records: {rows}  Duplicates: 0  Warnings: {warnings}");
        Completion { affected_rows: rows, info: info.into(), ..Completion::default() }
    }
}
