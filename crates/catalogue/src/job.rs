//! [`DdlJob`]: a DDL statement as a resumable list of steps. Pure: it says what to do next, a session's runner does it.
//!
//! # The scheme
//!
//! **Lock.** The runner opens a transaction that locks the only row of `ddl_lock` exclusively and keeps it open until
//! the job has ended. So there is one job at a time in the cluster, and others queue (1205 when their wait times out).
//! The lock only keeps runners from stepping on each other's toes. It goes when the primary of slot 0 changes. The next
//! rule keeps the catalogue right:
//!
//! **Compare and set.** [`JobStep::Write`] is *one* transaction on slot 0: lock the `schema_version` row exclusively,
//! compare it with `expected`, put all `writes` (of which the first raises that row), commit. A runner that has no lock
//! any more, without knowing, finds another version there and writes nothing. So two runners can never both write step
//! n.
//!
//! **Journal.** Every step that is written also puts the job's row in `jobs`: the job as it stands *after* that write.
//! A runner that gets the lock reads `ids` and `jobs` first ([`Journal`]). Before a job of its own it runs the
//! unfinished one that it finds there to its end. The last write marks the row `done`, or `failed` with the error. The
//! row stays for [`JOURNAL_LENGTH`] jobs. A runner may have no lock any more, or not know the outcome of its commit
//! (1180). Then it locks again and looks up the outcome of its job ([`Journal::outcome`]). A job is known by its id
//! *and* the runner that made it. Two runners, of which one has no lock any more without knowing, may make jobs with
//! one id; one of them at most is written.
//!
//! **Two versions.** [`JobStep::Install`] sends `SchemaInstall` to `main` of every member. It waits until each has
//! installed the version *and nobody there uses an older version of the tables that the step has changed*. The next
//! version is written only then, so that two neighbouring versions *of a table* are in use at most (the online schema
//! change of Google's F1). A member that is gone from the view is not waited for: it reads the rows when it starts. A
//! runner that dies between write and install leaves a version that not all know; so every runner, once it has the
//! lock, first installs what the version row says.
//!
//! **Users.** A statement that runs on a table uses it in the version that it was bound to; so does an open transaction
//! that has changed or locked rows of it. Rows that were only read are not kept for their reader, at READ COMMITTED.
//!
//! - *Before it locks or writes anything*, a statement waits for the present users of its tables
//!   ([`DdlJob::tables_of`]). If one of them does not end within ten seconds (or `lock_wait_timeout`, if that is
//!   shorter), the statement fails with 1205, and there is nothing to undo.
//! - A step waits as long for users of older versions that began meanwhile. A job that can go back then does, with
//!   1205. One that cannot goes on.
//! - The last step of a job waits for nobody: no version follows that older users must not meet.
//!
//! # Why users of other tables need not end
//!
//! Every write, lock and prepare names the version of its table. A primary takes the installed one and the one before
//! only, and no table that was dropped; it looks again when the transaction is prepared. So waiting decides which
//! statement fails, and never what is written:
//!
//! - *States of an index* are part of the base table's version. A user of the version before meets the neighbouring
//!   state; one of an older version is refused at its next request and at its commit. A statement that reads by an
//!   index looks when its node installs a version. It runs again (or fails with 1412) if it is bound to a version that
//!   is older than the one before. Entries of its index may be missing from the next one on.
//! - *The hidden table of a unique index* keeps its own version while its index changes state. Only statements on the
//!   base table touch it, and those are waited for as its users. When the index is gone, so is the hidden table, and
//!   what is left for it is refused.
//! - *TRUNCATE and DROP* put nothing in the place of the old id, which is never used again. An open transaction that
//!   holds rows of it is refused when it commits (1412). So holders of such rows are waited for *before* the write.
//! - *RENAME* and what else takes one version changes names, not rows: statements that are bound to the old name go on
//!   in the version before. A database is dropped with its tables, in one version, and waits for users of all of them.
//! - *AUTO_INCREMENT*: a sequence belongs to a table's id. `main` reserves ranges in short transactions of its own. A
//!   range of a dropped table is never used: its rows are refused.
//! - *Accounts, privileges, databases* change no table. Nobody's transaction is waited for. They are in force when
//!   every member has installed the version, because each statement is bound to the newest schema of its node.
//!
//! # Steps
//!
//! | statement | versions |
//! | --- | --- |
//! | databases, users, CREATE, LIKE, DROP, RENAME, TRUNCATE | one; TRUNCATE puts an empty table with a new id there |
//! | CREATE TABLE … SELECT | there, without a name → **filled** → it has the name |
//! | ALTER TABLE without indexes | one, if no row must be written again |
//! | ALTER TABLE, rows written again | closed, with the copy → closed → **copy** → the copy takes the name |
//! | new indexes | delete-only (with hidden tables) → write-only → **backfill** → public, with all other changes |
//! | dropped indexes | (with the public step above) write-only → delete-only → gone |
//!
//! Backfill comes after write-only is installed everywhere. The `ldm`s of every replica do [`JobStep::Backfill`]
//! (`BackfillRequest` to every data node's `main`): the ordered index of the table, for unique indexes too (ranges).
//! The runner does [`JobStep::BackfillUnique`], batch by batch, each in a transaction of its own. It reads primary keys
//! of the table, locks these rows *shared*, and reads their newest versions. For each row without a NULL in the key it
//! inserts the entry (unique key columns, then primary key columns) into the hidden table. An entry that is there
//! already with the same primary key is right: a writer was faster, or an earlier run of this backfill. An entry with
//! another primary key is a duplicate: [`DdlJob::fail`] with 1062. Both kinds can be run again from the start.
//!
//! **Copying.** Where rows must change, they are written into a new table that has no name yet (`TableKind::Copy`).
//! The old one is *closed* (`TableDefinition::copied_to`): statements that change or lock its rows wait until they may.
//! Only transactions that did so before go on; the next version waits for their end, and the one behind it has
//! primaries refuse what is left of them. So from then on the rows do not change. [`JobStep::Copy`] reads them and
//! writes each into the copy, batch by batch. Each batch is a transaction of its own that locks the old rows shared.
//! So when the old table is gone, a runner that has no lock any more cannot commit. It can be run again from the start,
//! and by two runners at a time: a row that is there already is right. The step says how values are converted, so all
//! runners write the same. The last version drops the old table and gives its name to the copy.
//!
//! **Filling.** The rows of CREATE TABLE … SELECT are those of a query, which only the statement's own session can run.
//! [`JobStep::Fill`] is one transaction of that session. Any other runner that comes to this step lets the job fail,
//! and the table goes. So does the session itself, if it does not know whether its transaction was committed.
//!
//! A table's versions on the way back are new ones, too. So a transaction for which the job gave way may be two
//! versions behind when the job has stepped back. Its commit is refused with 1412, though the table is as it was.
//!
//! Failing. Before the public step the job steps back: write-only → delete-only → gone, then [`JobStep::Failed`]. From
//! the public step on it only goes forward: if the runner cannot go on it reports the error, and the journal's next
//! reader finishes the job.
//!
//! **Invariants**: all changes are computed under the lock by [`DdlJob::new`], from the schema at the version row, and
//! nothing else changes the catalogue while the job is unfinished. Every write raises the schema version by one. A
//! table's version is raised by every step that touches it. No step but a backfill or a copy touches rows of users'
//! tables. A job
//! read from any bytes is refused or harmless to decode.
//!
//! Deliberately not here: transactions, signals, timeouts and retries.

use crate::plan::{self, Planned};
use crate::request::DdlRequest;
use crate::rows::{self, SchemaChange};
use crate::system::{self, IDS, JOBS, MalformedRow, SystemTables, SystemWrite};
use crate::table::TableIds;
use protocol::SqlError;
use protocol::program::{StatementContext, TableRef};
use types::{
    ColumnIndex, IndexId, Schema, SchemaVersion, SlotTerms, TableId, TransactionId, Value, ValueRef,
};
use wire_derive::Wire;

/// How many ended jobs the journal remembers.
pub const JOURNAL_LENGTH: u64 = 64;
/// Bytes of a statement's summary in the journal.
const SUMMARY_BYTES_MAX: usize = 512;
/// Bytes of an error's text in the journal.
const ERROR_BYTES_MAX: usize = 2_048;

/// The next step of the runner.
#[derive(Clone, PartialEq, Debug)]
pub enum JobStep {
    /// Write these rows in one transaction, if the schema version is the expected one.
    Write(Box<StepWrite>),
    /// Wait until every member has installed a version.
    Install(InstallStep),
    /// Have every replica build its ordered index from the rows it has.
    Backfill {
        /// The table.
        table: TableRef,
        /// Its index, in state `WriteOnly`.
        index: IndexId,
    },
    /// Fill the hidden table of a unique index.
    BackfillUnique {
        /// The table.
        table: TableRef,
        /// Its index, in state `WriteOnly`.
        index: IndexId,
        /// The hidden table.
        hidden: TableRef,
    },
    /// Write the rows of a table that nobody changes any more into another one.
    Copy(Box<TableCopy>),
    /// Insert the rows of the statement's query into a table that has no name yet.
    Fill(TableRef),
    /// Have the next AUTO_INCREMENT value of a table be above this one.
    Raise {
        /// The table.
        table: TableId,
        /// The value.
        at_least: u64,
    },
    /// The statement has succeeded.
    Done,
    /// The statement has failed; what it did is undone, or will be finished by the journal's next reader.
    Failed(SqlError),
}

/// Which rows are written into which table, and how.
#[derive(Clone, PartialEq, Debug, Wire)]
pub struct TableCopy {
    /// The rows are here.
    pub from: TableRef,
    /// They go here, into its hidden tables too.
    pub to: TableRef,
    /// For each column of `to` the one of `from` that has its values; None: it gets its default.
    pub columns: Vec<Option<ColumnIndex>>,
    /// The next AUTO_INCREMENT value of `to` is above this one, whatever the rows have.
    pub at_least: u64,
    /// Values are converted in it, whoever does it.
    pub context: StatementContext,
}

/// The members that a step waits for when a version has been written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InstallStep {
    /// The version that every member installs.
    pub version: SchemaVersion,
    /// Nobody may be left who uses an older version of one of these tables. Empty if no other version follows.
    pub tables: Vec<TableRef>,
    /// The job can go back: it gives way to users that do not end. If it cannot, it does not wait for them any longer.
    pub can_go_back: bool,
}

/// The rows of one step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StepWrite {
    /// The version that the `schema_version` row must have before. If it has another one, another runner went on with
    /// the journal.
    pub expected: SchemaVersion,
    /// The version that it has after.
    pub version: SchemaVersion,
    /// All rows, that of `schema_version` first.
    pub writes: Vec<SystemWrite>,
}

/// A step as it is planned.
#[derive(Clone, PartialEq, Debug, Wire)]
pub(crate) enum Step {
    Write {
        changes: Vec<SchemaChange>,
        /// Where in `undo` to start when a later step fails; None: there is no way back.
        undo: Option<u32>,
    },
    Install,
    Backfill {
        table: TableRef,
        index: IndexId,
    },
    BackfillUnique {
        table: TableRef,
        index: IndexId,
        hidden: TableRef,
    },
    Copy(Box<TableCopy>),
    Raise {
        table: TableId,
        at_least: u64,
    },
    Fill(TableRef),
}

impl Step {
    /// The changes of a write; none for other steps.
    fn changes(&self) -> &[SchemaChange] {
        if let Step::Write { changes, .. } = self { changes } else { &[] }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
enum Direction {
    /// Along `steps`.
    Forward,
    /// Along `undo`.
    Back,
    /// A runner could not go on; the journal's next reader will.
    Stuck,
}

/// Which job: no two of a cluster's life have one name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub struct JobName {
    /// Its row in the journal, if it is ever written.
    pub id: u64,
    /// The transaction that held the DDL lock for the runner that made it.
    pub maker: TransactionId,
}

/// A DDL statement on its way.
#[derive(Clone, PartialEq, Debug, Wire)]
pub struct DdlJob {
    name: JobName,
    summary: String,
    /// The last version that was written (or found, before the first write).
    version: SchemaVersion,
    /// The first table id that is free when this job has ended.
    next_table: TableId,
    steps: Vec<Step>,
    undo: Vec<Step>,
    direction: Direction,
    /// How many steps of `steps` or `undo` were given to the runner; all but the last of them are done.
    position: u32,
    error: Option<SqlError>,
    notes: Vec<SqlError>,
    affected_rows: u64,
}

/// The next ids, as the rows of `ids` say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ids {
    /// The next table's (and index's).
    pub next_table: TableId,
    /// The next job's.
    pub next_job: u64,
}

/// Slots for tables that nobody makes.
const ANY_SLOTS: SlotTerms = SlotTerms { slots_per_node: 1, partitions_per_node: 1, groups: 1, replicas: 1 };

impl DdlJob {
    /// The job that does what `request` asks, or MySQL's error if it makes no sense.
    ///
    /// To be called with the DDL lock held by transaction `maker`, with the schema of the version that the version row
    /// shows, and with ids read under the lock.
    /// `terms` are the slots that new tables are spread over.
    pub fn new(
        request: &DdlRequest,
        schema: &Schema,
        ids: Ids,
        terms: SlotTerms,
        maker: TransactionId,
    ) -> Result<Self, SqlError> {
        let mut table_ids = TableIds { next: ids.next_table, terms };
        let Planned { steps, undo, notes, affected_rows } = plan::plan(request, schema, &mut table_ids)?;
        Ok(Self {
            name: JobName { id: ids.next_job, maker },
            summary: first_bytes(&plan::summary(request), SUMMARY_BYTES_MAX).to_owned(),
            version: schema.version,
            next_table: table_ids.next,
            steps,
            undo,
            direction: Direction::Forward,
            position: 0,
            error: None,
            notes,
            affected_rows,
        })
    }

    /// The tables that a statement changes, drops or makes again, as they are in `schema`: users of these are waited
    /// for before it begins. Empty if it makes no sense (or touches no table that exists).
    #[must_use]
    pub fn tables_of(request: &DdlRequest, schema: &Schema) -> Vec<TableId> {
        // (Ids and slots of new tables do not matter here.)
        let mut ids = TableIds { next: TableId(u32::MAX / 4), terms: ANY_SLOTS };
        let Ok(Planned { steps, .. }) = plan::plan(request, schema, &mut ids) else { return Vec::new() };
        let changes = steps.iter().flat_map(Step::changes);
        let touched = changes.filter_map(|change| {
            if let SchemaChange::DropTable { table } = change {
                return Some(*table);
            }
            let SchemaChange::PutTable(table) = change else { return None };
            Some(table.id)
        });
        let tables: std::collections::BTreeSet<TableId> =
            touched.filter(|id| schema.tables().contains_key(*id)).collect();
        tables.into_iter().collect()
    }

    /// Which job it is.
    #[must_use]
    pub const fn name(&self) -> JobName {
        self.name
    }

    /// The statement in short.
    #[must_use]
    pub fn summary(&self) -> &str {
        &self.summary
    }

    /// Notes for SHOW WARNINGS: what IF [NOT] EXISTS passed over.
    #[must_use]
    pub fn notes(&self) -> &[SqlError] {
        &self.notes
    }

    /// The affected rows that the OK packet shows.
    #[must_use]
    pub const fn affected_rows(&self) -> u64 {
        self.affected_rows
    }

    /// The next step; the one that the last call gave is done.
    ///
    /// After [`JobStep::Done`] and [`JobStep::Failed`] it gives the same again.
    #[must_use]
    #[expect(clippy::should_implement_trait, reason = "a job has no end of items: its last step repeats")]
    pub fn next(&mut self) -> JobStep {
        let steps = match self.direction {
            Direction::Forward => &self.steps,
            Direction::Back => &self.undo,
            Direction::Stuck => return self.end(),
        };
        let Some(step) = steps.get(self.position as usize).cloned() else { return self.end() };
        self.position += 1;
        match step {
            Step::Write { changes, .. } => {
                let expected = self.version;
                self.version = SchemaVersion(expected.0 + 1);
                let writes = self.rows(&changes);
                JobStep::Write(Box::new(StepWrite { expected, version: self.version, writes }))
            }
            Step::Install => JobStep::Install(self.install_step()),
            Step::Backfill { table, index } => JobStep::Backfill { table, index },
            Step::BackfillUnique { table, index, hidden } => JobStep::BackfillUnique { table, index, hidden },
            Step::Copy(copy) => JobStep::Copy(copy),
            Step::Fill(table) => JobStep::Fill(table),
            Step::Raise { table, at_least } => JobStep::Raise { table, at_least },
        }
    }

    /// The `Install` that `next` has come to.
    fn install_step(&self) -> InstallStep {
        let steps = if self.direction == Direction::Back { &self.undo } else { &self.steps };
        let before = (self.position as usize).checked_sub(2).and_then(|position| steps.get(position));
        let changes = before.map_or(&[][..], Step::changes);
        let undo = if let Some(Step::Write { undo, .. }) = before { *undo } else { None };
        let changed = |change: &SchemaChange| {
            let SchemaChange::PutTable(table) = change else { return None };
            Some(TableRef { id: table.id, version: table.version })
        };
        // The version that comes next is what older users must not meet.
        let tables =
            if self.is_last_write() { Vec::new() } else { changes.iter().filter_map(changed).collect() };
        InstallStep { version: self.version, tables, can_go_back: undo.is_some() }
    }

    /// The step that [`Self::next`] gave last cannot be done: go back if there is a way. `next` says how it goes on.
    ///
    /// A `Write` that met another version than expected is *not* a failure of the job: the runner looks into the
    /// journal.
    pub fn fail(&mut self, error: SqlError) {
        self.error.get_or_insert(error);
        if self.direction != Direction::Forward {
            self.direction = Direction::Stuck;
            return;
        }
        let failed = (self.position as usize).saturating_sub(1);
        if let Some(Step::Write { .. }) = self.steps.get(failed) {
            // It was not written.
            self.version = SchemaVersion(self.version.0.saturating_sub(1));
        }
        let done = self.steps.get(..failed).unwrap_or_default();
        let written = done
            .iter()
            .rev()
            .find_map(|step| if let Step::Write { undo, .. } = step { Some(*undo) } else { None });
        match written {
            Some(Some(undo)) => {
                self.direction = Direction::Back;
                self.position = undo;
            }
            // Nothing was written, or there is no way back.
            None | Some(None) => self.direction = Direction::Stuck,
        }
    }

    fn end(&self) -> JobStep {
        self.error.clone().map_or(JobStep::Done, JobStep::Failed)
    }

    /// True if no `Write` is left on the way the job goes.
    fn is_last_write(&self) -> bool {
        let steps = if self.direction == Direction::Back { &self.undo } else { &self.steps };
        let rest = steps.get(self.position as usize..).unwrap_or_default();
        !rest.iter().any(|step| matches!(step, Step::Write { .. }))
    }

    fn rows(&self, changes: &[SchemaChange]) -> Vec<SystemWrite> {
        let tables = SystemTables::new();
        let id = self.name.id;
        let mut writes = Vec::with_capacity(changes.len() + 7);
        writes.push(tables.put_schema_version(self.version));
        writes.push(self.journal_row(&tables));
        let name = |name: &'static str| ValueRef::Bytes(name.as_bytes());
        writes.push(tables.put(IDS, &[name(system::TABLE_IDS), ValueRef::UInt(self.next_table.0.into())]));
        writes.push(tables.put(IDS, &[name(system::JOB_IDS), ValueRef::UInt(id + 1)]));
        if id > JOURNAL_LENGTH {
            writes.push(tables.delete(JOBS, &[ValueRef::UInt(id - JOURNAL_LENGTH)]));
        }
        writes.extend(rows::change_writes(&tables, self.version, changes));
        writes.extend(changes.iter().map(|change| change.write(&tables)));
        writes
    }

    fn journal_row(&self, tables: &SystemTables) -> SystemWrite {
        let is_last = self.is_last_write();
        let job = if is_last { Vec::new() } else { system::to_blob(self) };
        let state = match (is_last, &self.error) {
            (false, _) => JobState::Running,
            (true, None) => JobState::Done,
            (true, Some(_)) => JobState::Failed,
        };
        let message = self.error.as_ref().map(|error| first_bytes(&error.message, ERROR_BYTES_MAX));
        let values = [
            ValueRef::UInt(self.name.id),
            ValueRef::Bytes(state.name().as_bytes()),
            ValueRef::Bytes(self.summary.as_bytes()),
            self.error.as_ref().map_or(ValueRef::Null, |error| ValueRef::UInt(error.code.into())),
            message.map_or(ValueRef::Null, |message| ValueRef::Bytes(message.as_bytes())),
            ValueRef::Bytes(&job),
            ValueRef::UInt(self.name.maker.0),
        ];
        tables.put(JOBS, &values)
    }
}

/// The longest start of `text` that has at most so many bytes.
fn first_bytes(text: &str, limit: usize) -> &str {
    let mut end = limit.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The state of a job in the journal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum JobState {
    Running,
    Done,
    Failed,
}

impl JobState {
    const fn name(self) -> &'static str {
        match self {
            JobState::Running => "running",
            JobState::Done => "done",
            JobState::Failed => "failed",
        }
    }
}

/// The outcome of a job, by the journal.
#[derive(Clone, PartialEq, Debug)]
pub enum JobOutcome {
    /// Nothing of it was written, and nothing will be unless its runner writes it.
    NeverBegun,
    /// Another runner may go on with it, or this one, with the job as it stands there.
    Unfinished(Box<DdlJob>),
    /// It succeeded; its last version may still have to be installed.
    Done,
    /// It failed with this error and left nothing behind.
    Failed(SqlError),
    /// So many jobs came after it that its row is gone.
    Forgotten,
}

/// The rows that a runner reads under the DDL lock, before it makes a job: those of `ids` and `jobs`.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Journal {
    next_table: Option<TableId>,
    next_job: Option<u64>,
    jobs: Vec<(JobName, JobOutcome)>,
}

impl Journal {
    /// The tables whose rows it needs, all of them.
    pub const TABLES: [TableId; 2] = [IDS, JOBS];

    /// Takes one row of one of [`Self::TABLES`].
    pub fn add(&mut self, system: &SystemTables, table: TableId, row: &[u8]) -> Result<(), MalformedRow> {
        let values = system.decode(table, row)?;
        let taken = match table {
            IDS => self.add_id(&values),
            JOBS => job_of(&values).map(|job| self.jobs.push(job)),
            _ => None,
        };
        taken.ok_or(MalformedRow { table })
    }

    fn add_id(&mut self, values: &[Value]) -> Option<()> {
        let [Value::Bytes(name), Value::UInt(next), ..] = values else { return None };
        if name == system::TABLE_IDS.as_bytes() {
            self.next_table = Some(TableId(u32::try_from(*next).ok()?));
        } else if name == system::JOB_IDS.as_bytes() {
            self.next_job = Some(*next);
        }
        Some(())
    }

    /// The ids for the next job; None if rows are missing, which only a damaged replica shows.
    #[must_use]
    pub fn ids(&self) -> Option<Ids> {
        Some(Ids { next_table: self.next_table?, next_job: self.next_job? })
    }

    /// The job that must be run to its end before any other. There is one at most; the lowest id goes first.
    #[must_use]
    pub fn unfinished(&self) -> Option<&DdlJob> {
        let running = self.jobs.iter().filter_map(|(_, outcome)| match outcome {
            JobOutcome::Unfinished(job) => Some(&**job),
            JobOutcome::NeverBegun | JobOutcome::Done | JobOutcome::Failed(_) | JobOutcome::Forgotten => None,
        });
        running.min_by_key(|job| job.name.id)
    }

    /// The outcome of a job.
    #[must_use]
    pub fn outcome(&self, job: JobName) -> JobOutcome {
        let of_id = self.jobs.iter().find(|(name, _)| name.id == job.id);
        match of_id {
            Some((name, outcome)) if *name == job => outcome.clone(),
            Some(_) => JobOutcome::NeverBegun,
            None if self.next_job.is_some_and(|next| job.id < next) => JobOutcome::Forgotten,
            None => JobOutcome::NeverBegun,
        }
    }
}

fn job_of(values: &[Value]) -> Option<(JobName, JobOutcome)> {
    let [Value::UInt(id), Value::Bytes(state), _, code, message, Value::Bytes(job), Value::UInt(maker), ..] =
        values
    else {
        return None;
    };
    let name = JobName { id: *id, maker: TransactionId(*maker) };
    let outcome = match std::str::from_utf8(state).ok()? {
        "running" => {
            let job: DdlJob = system::from_blob(job)?;
            if job.name != name {
                return None;
            }
            JobOutcome::Unfinished(Box::new(job))
        }
        "done" => JobOutcome::Done,
        "failed" => match (code, message) {
            (Value::UInt(code), Value::Bytes(message)) => {
                let code = u16::try_from(*code).ok()?;
                JobOutcome::Failed(SqlError::new(code, String::from_utf8_lossy(message)))
            }
            _ => return None,
        },
        _ => return None,
    };
    Some((name, outcome))
}

#[cfg(test)]
mod tests;
