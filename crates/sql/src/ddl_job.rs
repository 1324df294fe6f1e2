//! Runs a DDL statement: the steps of a `catalogue::DdlJob` under the cluster-wide DDL lock.
//!
//! ```text
//! [Hash passwords] -> Users (of the statement's tables: to end) -> Lock
//!      -> Read (version row, ids, journal) -> install that version everywhere
//!      -> an unfinished job of the journal? run it, Read again
//!      -> own job: Write (compare and set, one transaction) | Install (all members) | Backfill ...
//!      -> release the lock -> done
//! ```
//! The lock is a transaction of its own that lives as long as this run; each write is another one, the session's. A
//! write that finds another version, or whose outcome is unknown, makes the runner read the journal again, which knows
//! what became of its job.
//!
//! A run that waits for users, members or the lock says for whom: in SHOW PROCESSLIST at once, and in the log every ten
//! seconds. The wait for the lock lasts as long as `lock_wait_timeout` says, and users are waited for that long, or for
//! ten seconds if that is less.
//!
//! A run whose session or node ends leaves its job; `finisher` runs without a statement of its own, only to end what
//! others have left.
//!
//! Invariants: those of `catalogue::job`. No user of a table is waited for before the statement's tables are known, nor
//! with the lock held if it was there when the statement came. The lock is released however the run ends. The statement
//! returns only when every member has installed its last version.
//!
//! Deliberately not here: what the steps are.

mod backfill;
pub(crate) mod copy;
mod fill;
pub(crate) mod finisher;
mod members;
mod passwords;

use crate::environment::Environment;
use crate::statement::Cx;
use backfill::UniqueBackfill;
use catalogue::job::{InstallStep, JobName, JobOutcome, JobStep, Journal, StepWrite};
use catalogue::{DdlJob, DdlRequest, SystemTables, system};
use copy::CopyRun;
use executor::commit::{CommitRun, CommitStart, start_commit};
use executor::inbox::{Reply, RequestKind};
use executor::locked_reader::LockBatch;
use executor::table_reader::{Collector, Order, Pump, TableReader, Target};
use executor::write_set::{Origin, WriteSet};
use executor::{Completion, Failure, Progress, conflicts, failure_of, lock_wait_timeout, table_ref};
use fill::{Fill, FillRun};
use members::{MemberTask, Members};
use passwords::PasswordHashing;
use planner::plan::FillPlan;
use protocol::program::{
    Access, KeyRange, LockMode, LockWait, OnDuplicate, ReadOutput, ReadProgram, TableRef, WriteOperation,
};
use protocol::signal::{CommitOutcome, ReadRequest, RequestId, TableUsers};
use protocol::{Severity, Signal, SqlError};
use std::sync::Arc;
use stdx::{Duration, Instant};
use types::{IndexId, SchemaVersion, SlotId, TableId, TransactionId, Value};

/// How long a step waits for users of its tables, if lock_wait_timeout is not shorter.
const USERS_PATIENCE: Duration = Duration::from_secs(10);
/// How often a run that waits says in the log for what.
const TELL_INTERVAL: Duration = Duration::from_secs(10);
/// How often a run goes on with a job that another began, when steps of it cannot be done.
const STUCK_MAX: u32 = 3;

/// Rows of a system table being read.
struct SystemRead {
    table: TableId,
    reader: TableReader,
}

enum Stage {
    Hash(PasswordHashing),
    Start,
    /// Without any lock: those who use the statement's tables now are waited for.
    Users(Members),
    Begin,
    Lock(RequestId),
    ReadVersion(SystemRead),
    ReadJournal {
        reading: SystemRead,
        rest: Vec<TableId>,
    },
    /// Members install a version; then `next`.
    Install {
        step: InstallStep,
        members: Members,
        next: AfterInstall,
    },
    Choose,
    NextStep,
    Check {
        step: Box<StepWrite>,
        batch: LockBatch,
    },
    Write(WriteSet),
    Commit(CommitRun),
    Backfill(Members),
    BackfillUnique(Box<UniqueBackfill>),
    Copy(Box<CopyRun>),
    Fill(Box<FillRun>),
    /// The sequence of a table is raised.
    Raise(TableId, RequestId),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum AfterInstall {
    Choose,
    NextStep,
}

/// A DDL statement that runs.
pub(crate) struct DdlRun {
    /// None: jobs that others have left are ended, and that is all.
    request: Option<DdlRequest>,
    /// The rows of CREATE TABLE … SELECT.
    fill: Option<Fill>,
    system: SystemTables,
    stage: Stage,
    lock: Option<TransactionId>,
    version: SchemaVersion,
    journal: Journal,
    job: Option<DdlJob>,
    /// This statement's job, once it has one.
    own_job: Option<JobName>,
    /// Another's job of which a step could not be done, and how often.
    stuck: Option<(JobName, u32)>,
    completion: Completion,
    attempts: u32,
    /// When it will say what it waits for, if it still waits then.
    tell_at: Option<Instant>,
    /// It is woken then.
    alarm_at: Option<Instant>,
}

impl DdlRun {
    /// The run of a statement; without one it ends the jobs that others have left.
    pub(crate) fn new(request: Option<&DdlRequest>) -> Self {
        Self {
            request: request.cloned(),
            fill: None,
            system: SystemTables::new(),
            stage: Stage::Hash(PasswordHashing::default()),
            lock: None,
            version: SchemaVersion(0),
            journal: Journal::default(),
            job: None,
            own_job: None,
            stuck: None,
            completion: Completion::default(),
            attempts: 0,
            tell_at: None,
            alarm_at: None,
        }
    }

    /// Rows that it writes again are converted as the session would store them.
    pub(crate) fn in_context_of(mut self, statement: &executor::Statement) -> Self {
        if let Some(request) = &mut self.request {
            request.set_context(statement.program_context(statement.store_settings()));
        }
        self
    }

    /// The new table gets these rows; their query was bound to this schema.
    pub(crate) fn filled_by(mut self, plan: Option<&FillPlan>, schema: SchemaVersion) -> Self {
        self.fill = plan.map(|plan| Fill::new(plan, schema));
        self
    }

    /// Whether it reads the tables of its query now. Before, it does not use them: whoever changes one has the lock
    /// that it waits for.
    pub(crate) fn reads(&self) -> bool {
        matches!(self.stage, Stage::Fill(_))
    }

    pub(crate) fn step(&mut self, cx: &mut Cx<'_, '_>) -> Result<Progress, Failure> {
        let progress = self.run(cx);
        if matches!(progress, Ok(Progress::Wait)) {
            self.tell(cx);
        } else {
            self.tell_at = None;
        }
        // A query that sleeps goes on.
        if !matches!(progress, Ok(Progress::Wait | Progress::Spent) | Err(Failure::Asleep)) {
            cx.env.module.left.has_ddl |= progress.is_err() && self.job.is_some();
            self.release(cx.env);
        }
        match progress {
            // Before it has a job the statement waits for the next view and begins again; what is done then is not the
            // client's to try again piece by piece.
            Err(Failure::ViewChanged(error)) if self.own_job.is_some() => Err(Failure::Error(error)),
            progress => progress,
        }
    }

    /// Its session does not go on with it.
    pub(crate) fn abandon(&mut self, env: &mut Environment<'_>) {
        env.module.left.has_ddl |= self.lock.is_some();
        self.release(env);
    }

    /// Lets go of the DDL lock.
    fn release(&mut self, env: &mut Environment<'_>) {
        let Some(transaction) = self.lock.take() else { return };
        env.module.ddl_locks.remove(&transaction);
        if let Some(primary) = env.module.site.map.primary(SlotId(0)) {
            env.send(primary, Signal::Abort { transaction, slot: SlotId(0) });
        }
    }

    fn run(&mut self, cx: &mut Cx<'_, '_>) -> Result<Progress, Failure> {
        loop {
            let waits = match std::mem::replace(&mut self.stage, Stage::Start) {
                Stage::Start => self.start(cx),
                Stage::Users(members) => self.poll_users(members, cx)?,
                Stage::Hash(hashing) => self.hash(hashing, cx)?,
                Stage::Begin => self.begin(cx)?,
                Stage::Lock(request) => self.poll_lock(request, cx)?,
                Stage::ReadVersion(reading) => self.poll_version(reading, cx)?,
                Stage::ReadJournal { reading, rest } => self.poll_journal(reading, rest, cx)?,
                Stage::Install { step, members, next } => self.poll_install(step, members, next, cx)?,
                Stage::Choose => match self.choose(cx)? {
                    Some(completion) => return Ok(Progress::Done(completion)),
                    None => None,
                },
                Stage::NextStep => match self.next_step(cx)? {
                    Some(completion) => return Ok(Progress::Done(completion)),
                    None => None,
                },
                Stage::Check { step, batch } => self.poll_check(step, batch, cx)?,
                Stage::Write(set) => self.poll_write(set, cx)?,
                Stage::Commit(commit) => self.poll_commit(commit, cx)?,
                Stage::Backfill(members) => self.poll_backfill(members, cx),
                Stage::BackfillUnique(run) => self.poll_backfill_unique(run, cx)?,
                Stage::Copy(run) => self.poll_copy(run, cx)?,
                Stage::Fill(run) => self.poll_fill(run, cx)?,
                Stage::Raise(table, request) => self.poll_raise(table, request, cx)?,
            };
            if let Some(progress) = waits {
                return Ok(progress);
            }
        }
    }

    // ---- what it waits for ------------------------------------------------------------------------------------------

    /// The reason for which it waits, as SHOW PROCESSLIST says it.
    pub(crate) fn waits_for(&self) -> Option<String> {
        match &self.stage {
            Stage::Users(members) | Stage::Backfill(members) | Stage::Install { members, .. } => {
                Some(members.waits_for())
            }
            Stage::Lock(_) => Some("Waiting for the cluster's schema lock (latsdb.jobs)".to_owned()),
            Stage::BackfillUnique(_) => Some("Filling a unique index".to_owned()),
            Stage::Copy(run) => Some(format!("Copying rows: {} so far", run.rows())),
            Stage::Fill(_) => Some("executing".to_owned()),
            Stage::Hash(_)
            | Stage::Start
            | Stage::Begin
            | Stage::ReadVersion(_)
            | Stage::ReadJournal { .. }
            | Stage::Choose
            | Stage::NextStep
            | Stage::Check { .. }
            | Stage::Write(_)
            | Stage::Commit(_)
            | Stage::Raise(..) => None,
        }
    }

    /// Says now and then, in the log, for what it waits.
    fn tell(&mut self, cx: &mut Cx<'_, '_>) {
        let now = cx.env.now.monotonic;
        let at = match self.tell_at {
            Some(at) if at > now => return,
            Some(at) => {
                let what = self.waits_for().unwrap_or_else(|| "Waiting for the catalogue".to_owned());
                let summary = self.job.as_ref().map_or("DDL", |job| job.summary());
                let message = format!("connection {}: {summary}: {what}", cx.core.client.id);
                cx.env.outputs.event(Severity::Info, message);
                at.max(now) + TELL_INTERVAL
            }
            None => now + TELL_INTERVAL,
        };
        self.tell_at = Some(at);
        // A run that waits often, and never for long, has one alarm.
        if self.alarm_at.is_none_or(|alarm_at| alarm_at <= now) {
            self.alarm_at = Some(at);
            cx.env.module.site.wakes.register(at, cx.core.client.id);
        }
    }

    /// How long users of tables are waited for.
    fn patience(cx: &Cx<'_, '_>) -> Duration {
        USERS_PATIENCE.min(Duration::from_secs(cx.core.variables.timeouts.ddl_wait_s.into()))
    }

    // ---- users of its tables ----------------------------------------------------------------------------------------

    /// Those who use the tables already are waited for before anything is locked or written: there is nothing to undo
    /// if they do not end.
    fn start(&mut self, cx: &mut Cx<'_, '_>) -> Option<Progress> {
        let schema = &cx.env.module.site.map.schema;
        let request = self.request.as_ref().filter(|_| self.own_job.is_none());
        let tables = request.map_or_else(Vec::new, |request| DdlJob::tables_of(request, schema));
        let tables: Arc<[TableUsers]> = tables.into_iter().map(TableUsers::all).collect();
        self.stage = if tables.is_empty() {
            Stage::Begin
        } else {
            let (version, used_since) = (schema.version, Some(cx.env.now.monotonic));
            Stage::Users(Members::new(MemberTask::Install { version, tables, used_since }))
        };
        None
    }

    fn poll_users(&mut self, mut members: Members, cx: &mut Cx<'_, '_>) -> Result<Option<Progress>, Failure> {
        if members.poll(&mut cx.executor())? {
            self.stage = Stage::Begin;
            return Ok(None);
        }
        if members.is_held_up(Self::patience(cx), cx.env.now.monotonic) {
            members.forget(&mut cx.core.client.inbox);
            return Err(Failure::Error(lock_wait_timeout()));
        }
        self.stage = Stage::Users(members);
        Ok(Some(Progress::Wait))
    }

    // ---- passwords --------------------------------------------------------------------------------------------------

    fn hash(
        &mut self,
        mut hashing: PasswordHashing,
        cx: &mut Cx<'_, '_>,
    ) -> Result<Option<Progress>, Failure> {
        let progress = match &mut self.request {
            Some(request) => hashing.step(request, cx)?,
            None => None,
        };
        self.stage = if progress.is_some() { Stage::Hash(hashing) } else { Stage::Start };
        Ok(progress)
    }

    // ---- the lock ---------------------------------------------------------------------------------------------------

    fn begin(&mut self, cx: &mut Cx<'_, '_>) -> Result<Option<Progress>, Failure> {
        let primary = cx.executor().primary(SlotId(0))?;
        let transaction = cx.env.module.site.next_transaction();
        let request = cx.core.client.inbox.register(primary, RequestKind::Change);
        let info = cx.executor().hidden_info(system::DDL_LOCK)?;
        let program = ReadProgram {
            table: table_ref(&info.definition),
            filter: None,
            output: ReadOutput::StoredRow,
            with_primary_key: false,
            with_index_key: false,
            context: cx.statement.program_context(cx.statement.settings),
        };
        let wait = LockWait::Wait { timeout_ms: cx.core.variables.timeouts.ddl_wait_s.saturating_mul(1_000) };
        let read = ReadRequest {
            request,
            transaction: Some(transaction),
            lock: Some((LockMode::Exclusive, wait)),
            slot: SlotId(0),
            program: Arc::new(program),
            access: Access::Keys(vec![self.system.ddl_lock_key()]),
            known: 0,
            under: None,
            grant_only: false,
        };
        cx.env.send(primary, Signal::Read(Box::new(read)));
        self.lock = Some(transaction);
        cx.env.module.ddl_locks.insert(transaction);
        self.stage = Stage::Lock(request);
        Ok(None)
    }

    fn poll_lock(&mut self, request: RequestId, cx: &mut Cx<'_, '_>) -> Result<Option<Progress>, Failure> {
        match cx.core.client.inbox.take(request) {
            None => {
                self.stage = Stage::Lock(request);
                Ok(Some(Progress::Wait))
            }
            Some(Reply::Read(Ok(_))) => {
                self.read_catalogue(cx)?;
                Ok(None)
            }
            Some(Reply::Read(Err(refusal))) => Err(failure_of(refusal, "ddl_lock")),
            Some(_) => {
                Err(Failure::ViewChanged(SqlError::deadlock("the node that held the DDL lock is lost")))
            }
        }
    }

    // ---- reading ----------------------------------------------------------------------------------------------------

    fn read_table(&self, table: TableId, cx: &mut Cx<'_, '_>) -> Result<SystemRead, Failure> {
        let info = cx.executor().hidden_info(table)?;
        let program = TableReader::program(&info, None, ReadOutput::StoredRow, cx.statement);
        let target = Target::Ranges(IndexId(0), vec![KeyRange::all()]);
        Ok(SystemRead { table, reader: TableReader::new(&info, program, target, Order::Any, None) })
    }

    fn read_catalogue(&mut self, cx: &mut Cx<'_, '_>) -> Result<(), Failure> {
        self.journal = Journal::default();
        self.job = None;
        self.stage = Stage::ReadVersion(self.read_table(system::SCHEMA_VERSION, cx)?);
        Ok(())
    }

    fn poll_version(
        &mut self,
        mut reading: SystemRead,
        cx: &mut Cx<'_, '_>,
    ) -> Result<Option<Progress>, Failure> {
        let mut rows = Vec::new();
        if let Some(progress) = read_rows(&mut reading, &mut rows, cx)? {
            for row in rows {
                self.take_version(&row)?;
            }
            self.stage = Stage::ReadVersion(reading);
            return Ok(Some(progress));
        }
        for row in rows {
            self.take_version(&row)?;
        }
        let mut rest = Journal::TABLES.to_vec();
        let Some(first) = rest.pop() else { return Ok(None) };
        self.stage = Stage::ReadJournal { reading: self.read_table(first, cx)?, rest };
        Ok(None)
    }

    fn take_version(&mut self, row: &[u8]) -> Result<(), Failure> {
        self.version = self.system.schema_version(row).map_err(|_| damaged(system::SCHEMA_VERSION))?;
        Ok(())
    }

    fn poll_journal(
        &mut self,
        mut reading: SystemRead,
        mut rest: Vec<TableId>,
        cx: &mut Cx<'_, '_>,
    ) -> Result<Option<Progress>, Failure> {
        let mut rows = Vec::new();
        let progress = read_rows(&mut reading, &mut rows, cx)?;
        for row in rows {
            self.journal.add(&self.system, reading.table, &row).map_err(|_| damaged(reading.table))?;
        }
        if let Some(progress) = progress {
            self.stage = Stage::ReadJournal { reading, rest };
            return Ok(Some(progress));
        }
        match rest.pop() {
            Some(table) => self.stage = Stage::ReadJournal { reading: self.read_table(table, cx)?, rest },
            None => {
                // The run that wrote it has waited for users of the tables, or by the primaries' checks they cannot do
                // harm.
                let step = InstallStep { version: self.version, tables: Vec::new(), can_go_back: false };
                self.install(step, AfterInstall::Choose);
            }
        }
        Ok(None)
    }

    // ---- installing -------------------------------------------------------------------------------------------------

    fn install(&mut self, step: InstallStep, next: AfterInstall) {
        let tables = step.tables.iter().copied().map(TableUsers::from).collect();
        let task = MemberTask::Install { version: step.version, tables, used_since: None };
        self.stage = Stage::Install { step, members: Members::new(task), next };
    }

    fn poll_install(
        &mut self,
        step: InstallStep,
        mut members: Members,
        next: AfterInstall,
        cx: &mut Cx<'_, '_>,
    ) -> Result<Option<Progress>, Failure> {
        if !members.poll(&mut cx.executor())? {
            if !members.is_held_up(Self::patience(cx), cx.env.now.monotonic) {
                self.stage = Stage::Install { step, members, next };
                return Ok(Some(Progress::Wait));
            }
            members.forget(&mut cx.core.client.inbox);
            if step.can_go_back {
                return self.fail_job(Failure::Error(lock_wait_timeout()));
            }
            // Primaries refuse what is left of the users when the next version comes.
            let message = format!("DDL does not wait any longer: {}", members.waits_for());
            cx.env.outputs.event(Severity::Warning, message);
        }
        if cx.env.module.site.map.schema.version < step.version {
            // This module's own map follows at once.
            cx.executor().retry_at(&mut self.attempts, "the schema was not installed here")?;
            self.stage = Stage::Install { step, members, next };
            return Ok(Some(Progress::Wait));
        }
        self.stage = match next {
            AfterInstall::Choose => Stage::Choose,
            AfterInstall::NextStep => Stage::NextStep,
        };
        Ok(None)
    }

    // ---- steps ------------------------------------------------------------------------------------------------------

    /// Decides by the journal; Some: the statement is done.
    fn choose(&mut self, cx: &mut Cx<'_, '_>) -> Result<Option<Completion>, Failure> {
        if let Some(job) = self.journal.unfinished() {
            if self.stuck.is_some_and(|(name, count)| name == job.name() && count >= STUCK_MAX) {
                let why = "a DDL statement that was left unfinished cannot be finished now";
                return Err(Failure::Error(SqlError::deadlock(why)));
            }
            self.job = Some(job.clone());
            self.stage = Stage::NextStep;
            return Ok(None);
        }
        match self.own_job.map_or(JobOutcome::NeverBegun, |own| self.journal.outcome(own)) {
            JobOutcome::NeverBegun => {}
            JobOutcome::Done => return Ok(Some(self.completion.clone())),
            JobOutcome::Failed(error) => return Err(Failure::Error(error)),
            JobOutcome::Unfinished(_) | JobOutcome::Forgotten => {
                let overtaken = "the statement was overtaken by other DDL statements";
                return Err(Failure::Error(SqlError::deadlock(overtaken)));
            }
        }
        let Some(request) = &self.request else {
            // The journal is old if a commit of a runner that left is still under way: that commit holds this lock.
            let version = self.version;
            self.check(Box::new(StepWrite { expected: version, version, writes: Vec::new() }), cx)?;
            return Ok(None);
        };
        if cx.env.module.site.map.schema.version != self.version {
            // A commit of whoever left was decided since the journal was read: the tables are newer than what that
            // says.
            self.read_catalogue(cx)?;
            return Ok(None);
        }
        if self.fill.as_ref().is_some_and(|fill| fill.schema != self.version) {
            // Its query is bound again. With the lock held no other table changes any more.
            return Err(Failure::WrongSchema);
        }
        let ids = self.journal.ids().ok_or_else(|| damaged(system::IDS))?;
        let Some(maker) = self.lock else {
            return Err(Failure::Error(SqlError::deadlock("the DDL lock is lost")));
        };
        let map = &cx.env.module.site.map;
        let job = DdlJob::new(request, &map.schema, ids, map.view.slot_terms(), maker)?;
        self.own_job = Some(job.name());
        self.completion.affected_rows = job.affected_rows();
        for note in job.notes() {
            cx.core.client.diagnostics.note(note.code, note.message.clone());
        }
        self.job = Some(job);
        self.stage = Stage::NextStep;
        Ok(None)
    }

    fn next_step(&mut self, cx: &mut Cx<'_, '_>) -> Result<Option<Completion>, Failure> {
        let Some(job) = &mut self.job else { return Ok(Some(self.completion.clone())) };
        let is_own = Some(job.name()) == self.own_job;
        match job.next() {
            JobStep::Write(step) => self.check(step, cx)?,
            JobStep::Install(step) => self.install(step, AfterInstall::NextStep),
            JobStep::Backfill { table, index } => {
                self.stage = Stage::Backfill(Members::new(MemberTask::Backfill { table, index }));
            }
            JobStep::BackfillUnique { table, index, hidden } => {
                let run = UniqueBackfill::new(table, index, hidden, Self::patience(cx), &mut cx.executor())?;
                self.stage = Stage::BackfillUnique(Box::new(run));
            }
            JobStep::Copy(task) => {
                let patience = Self::patience(cx);
                match CopyRun::new(task, patience, &mut cx.executor()) {
                    Ok(run) => self.stage = Stage::Copy(Box::new(run)),
                    Err(failure) => return self.fail_job(failure).map(|_| None),
                }
            }
            JobStep::Fill(table) => return self.fill(table, is_own, cx).map(|_| None),
            JobStep::Raise { table, at_least } => {
                // The values that this node has reserved may go on above it already.
                self.stage = if cx.executor().hidden_info(table)?.auto_increment.pass(at_least) {
                    Stage::NextStep
                } else {
                    Stage::Raise(table, copy::ask(table, at_least, &mut cx.executor()))
                };
            }
            JobStep::Done if is_own => return Ok(Some(self.completion.clone())),
            JobStep::Failed(error) if is_own => return Err(Failure::Error(error)),
            // Another's job is ended, or stands where it stood: now for what the journal says.
            JobStep::Done => self.read_catalogue(cx)?,
            JobStep::Failed(_) => {
                let name = job.name();
                let count = self.stuck.filter(|(stuck, _)| *stuck == name).map_or(0, |(_, count)| count);
                self.stuck = Some((name, count + 1));
                self.read_catalogue(cx)?;
            }
        }
        Ok(None)
    }

    /// Locks the version row, to compare it before `step` is written.
    fn check(&mut self, step: Box<StepWrite>, cx: &mut Cx<'_, '_>) -> Result<(), Failure> {
        let info = cx.executor().hidden_info(system::SCHEMA_VERSION)?;
        let program = conflicts::stored_rows(&info, None, &cx.executor());
        let lock = (LockMode::Exclusive, cx.executor().lock_wait());
        cx.core.client.transaction.start_statement();
        let batch = LockBatch::start(
            &info,
            &program,
            vec![self.system.schema_version_key()],
            lock,
            &mut cx.executor(),
        )?;
        self.stage = Stage::Check { step, batch };
        Ok(())
    }

    /// The version row is locked: compare, then write.
    fn poll_check(
        &mut self,
        step: Box<StepWrite>,
        mut batch: LockBatch,
        cx: &mut Cx<'_, '_>,
    ) -> Result<Option<Progress>, Failure> {
        let rows = match batch.poll(&mut cx.executor())? {
            Ok(rows) => rows,
            Err(pending) => {
                self.stage = Stage::Check { step, batch };
                return Ok(Some(pending.into()));
            }
        };
        let info = cx.executor().hidden_info(system::SCHEMA_VERSION)?;
        let found = match rows.first() {
            Some(row) => conflicts::stored_bytes(row, &info)?,
            None => return Err(damaged(system::SCHEMA_VERSION)),
        };
        let found = self.system.schema_version(&found).map_err(|_| damaged(system::SCHEMA_VERSION))?;
        if found != step.expected {
            cx.core.client.transaction.abort(&mut cx.env.executor());
            self.read_catalogue(cx)?;
            return Ok(None);
        }
        if step.writes.is_empty() {
            cx.core.client.transaction.abort(&mut cx.env.executor());
            self.stage = Stage::NextStep;
            return Ok(None);
        }
        let mut set = WriteSet::default();
        for (number, write) in step.writes.into_iter().enumerate() {
            let info = cx.executor().hidden_info(write.table)?;
            let operation = match write.row {
                // An insert takes the place of what is there: the row may be new or not.
                Some(row) => {
                    WriteOperation::Insert { key: write.key, row, on_duplicate: OnDuplicate::Replace }
                }
                None => WriteOperation::Delete { key: write.key, filter: None },
            };
            set.add(&info, operation, Origin::row(number));
        }
        set.send(false, &mut cx.executor())?;
        self.stage = Stage::Write(set);
        Ok(None)
    }

    fn poll_write(&mut self, mut set: WriteSet, cx: &mut Cx<'_, '_>) -> Result<Option<Progress>, Failure> {
        let Some(outcome) = set.poll(&mut cx.executor()) else {
            self.stage = Stage::Write(set);
            return Ok(Some(Progress::Wait));
        };
        if let Some((_, failed)) = outcome.failed {
            cx.core.client.transaction.abort(&mut cx.env.executor());
            return self.fail_job(failed.into_failure("the catalogue"));
        }
        match start_commit(&mut cx.core.client, &mut cx.env.executor()) {
            CommitStart::Sent(commit) => self.stage = Stage::Commit(commit),
            CommitStart::Nothing => self.stage = Stage::NextStep,
            CommitStart::Refused(why) => {
                cx.core.client.transaction.abort(&mut cx.env.executor());
                return self.fail_job(Failure::Error(SqlError::deadlock(why)));
            }
        }
        Ok(None)
    }

    fn poll_commit(
        &mut self,
        mut commit: CommitRun,
        cx: &mut Cx<'_, '_>,
    ) -> Result<Option<Progress>, Failure> {
        let Some(outcome) = commit.poll(&mut cx.core.client, &mut cx.env.executor()) else {
            self.stage = Stage::Commit(commit);
            return Ok(Some(Progress::Wait));
        };
        cx.core.client.transaction.end();
        match outcome {
            CommitOutcome::Committed(epoch) => {
                cx.core.client.transaction.see(epoch);
                self.stage = Stage::NextStep;
                Ok(None)
            }
            CommitOutcome::Aborted(refusal) => self.fail_job(failure_of(refusal, "the catalogue")),
            // The journal knows.
            CommitOutcome::Unknown => {
                self.read_catalogue(cx)?;
                Ok(None)
            }
        }
    }

    fn poll_backfill(&mut self, mut members: Members, cx: &mut Cx<'_, '_>) -> Option<Progress> {
        match members.poll(&mut cx.executor()) {
            Ok(false) => {
                self.stage = Stage::Backfill(members);
                return Some(Progress::Wait);
            }
            Ok(true) => {}
            Err(failure) => self.fail_step(failure),
        }
        self.stage = Stage::NextStep;
        None
    }

    fn poll_backfill_unique(
        &mut self,
        mut run: Box<UniqueBackfill>,
        cx: &mut Cx<'_, '_>,
    ) -> Result<Option<Progress>, Failure> {
        match run.step(&mut cx.executor()) {
            Ok(Progress::Done(_)) => {
                self.stage = Stage::NextStep;
                Ok(None)
            }
            Ok(progress) => {
                self.stage = Stage::BackfillUnique(run);
                Ok(Some(progress))
            }
            Err(failure) => {
                cx.core.client.transaction.abort(&mut cx.env.executor());
                self.fail_job(failure)
            }
        }
    }

    fn poll_copy(&mut self, mut run: Box<CopyRun>, cx: &mut Cx<'_, '_>) -> Result<Option<Progress>, Failure> {
        match run.step(&mut cx.executor()) {
            Ok(Progress::Done(completion)) => {
                let is_own = self.job.as_ref().map(DdlJob::name) == self.own_job;
                if is_own {
                    self.completion = completion;
                }
                self.stage = Stage::NextStep;
                Ok(None)
            }
            Ok(progress) => {
                self.stage = Stage::Copy(run);
                Ok(Some(progress))
            }
            Err(failure) => {
                cx.core.client.transaction.abort(&mut cx.env.executor());
                self.fail_job(failure)
            }
        }
    }

    /// The rows are inserted, unless they are there. Nobody but the statement's own session can do it.
    fn fill(
        &mut self,
        table: TableRef,
        is_own: bool,
        cx: &mut Cx<'_, '_>,
    ) -> Result<Option<Progress>, Failure> {
        let Some(fill) = self.fill.as_ref().filter(|_| is_own) else {
            let why = "the session that ran CREATE TABLE ... SELECT has ended";
            return self.fail_job(Failure::Error(SqlError::deadlock(why)));
        };
        if fill.is_done {
            self.stage = Stage::NextStep;
            return Ok(None);
        }
        match fill.start(table, &mut cx.executor()) {
            Ok(run) => {
                self.stage = Stage::Fill(Box::new(run));
                Ok(None)
            }
            Err(failure) => self.fail_fill(failure, cx),
        }
    }

    fn poll_fill(&mut self, mut run: Box<FillRun>, cx: &mut Cx<'_, '_>) -> Result<Option<Progress>, Failure> {
        match run.step(&mut cx.executor()) {
            Ok(Progress::Done(completion)) => {
                if let Some(fill) = &mut self.fill {
                    fill.is_done = true;
                }
                self.completion = completion;
                self.stage = Stage::NextStep;
                Ok(None)
            }
            Ok(progress) => {
                self.stage = Stage::Fill(run);
                Ok(Some(progress))
            }
            Err(Failure::Asleep) => {
                self.stage = Stage::Fill(run);
                Err(Failure::Asleep)
            }
            Err(failure) => self.fail_fill(failure, cx),
        }
    }

    fn fail_fill(&mut self, failure: Failure, cx: &mut Cx<'_, '_>) -> Result<Option<Progress>, Failure> {
        cx.core.client.transaction.abort(&mut cx.env.executor());
        if matches!(failure, Failure::OutcomeUnknown) {
            // It does not matter: the table goes.
            return self.fail_job(Failure::Error(SqlError::deadlock(fill::NODE_LOST)));
        }
        self.fail_job(failure)
    }

    fn poll_raise(
        &mut self,
        table: TableId,
        request: RequestId,
        cx: &mut Cx<'_, '_>,
    ) -> Result<Option<Progress>, Failure> {
        let Some(reply) = cx.core.client.inbox.take(request) else {
            self.stage = Stage::Raise(table, request);
            return Ok(Some(Progress::Wait));
        };
        let (first, count) = match copy::range_of(reply) {
            Ok(range) => range,
            Err(failure) => return self.fail_job(failure),
        };
        // Other nodes use up what they have reserved.
        cx.executor().hidden_info(table)?.auto_increment.refill(first, count);
        self.stage = Stage::NextStep;
        Ok(None)
    }

    /// A step could not be done: the job says how it goes back.
    fn fail_job(&mut self, failure: Failure) -> Result<Option<Progress>, Failure> {
        self.fail_step(failure);
        self.stage = Stage::NextStep;
        Ok(None)
    }

    fn fail_step(&mut self, failure: Failure) {
        let error = match failure {
            Failure::Error(error)
            | Failure::Doomed(error)
            | Failure::ViewChanged(error)
            | Failure::DrawnTaken(error) => error,
            Failure::WrongSchema => {
                SqlError::new(1412, "Table definition has changed, please retry transaction")
            }
            Failure::OutcomeUnknown => SqlError::new(1180, "Got error 'outcome unknown' during COMMIT"),
            Failure::Asleep => SqlError::unsupported("SLEEP() here"),
        };
        if let Some(job) = &mut self.job {
            job.fail(error);
        }
    }
}

/// How long a backfill waits for rows that others have locked.
fn row_wait(patience: Duration, cx: &executor::Cx<'_>) -> LockWait {
    let patience_ms = u32::try_from(patience.as_millis()).unwrap_or(u32::MAX);
    match cx.lock_wait() {
        LockWait::Wait { timeout_ms } => LockWait::Wait { timeout_ms: timeout_ms.min(patience_ms) },
        wait @ (LockWait::NoWait | LockWait::SkipLocked) => wait,
    }
}

fn damaged(table: TableId) -> Failure {
    Failure::Error(SqlError::new(1815, format!("Internal error: a row of system table {table} is malformed")))
}

/// Takes all rows that come; None at the end.
fn read_rows(
    reading: &mut SystemRead,
    rows: &mut Vec<Vec<u8>>,
    cx: &mut Cx<'_, '_>,
) -> Result<Option<Progress>, Failure> {
    loop {
        let mut collector = Collector::new(256, false);
        let pump = reading.reader.pump(&mut cx.executor(), &mut collector)?;
        for row in collector.rows {
            match row.values.into_iter().next() {
                Some(Value::Bytes(bytes)) => rows.push(bytes),
                _ => return Err(damaged(reading.table)),
            }
        }
        match pump {
            Pump::Rows => {}
            Pump::Wait => return Ok(Some(Progress::Wait)),
            Pump::Spent => return Ok(Some(Progress::Spent)),
            Pump::End => return Ok(None),
        }
    }
}
