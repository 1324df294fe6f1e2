//! Locking reads: FOR UPDATE, FOR SHARE, and the rows that the session changes itself.
//!
//! Candidates are found by a committed read (or the transaction's own view); then each is locked at its primary, where
//! the condition is tested again on the newest version. Rows that do not match any more, or are passed over by SKIP
//! LOCKED, are omitted; with a LIMIT the next candidates take their place.
//!
//! A primary on this node only grants the locks, if reads go where the client is. The client reads the rows itself and
//! encodes nothing. A grant holds in its view, under a good lease, and where the transaction has written nothing. Then
//! the newest version of each row is committed, and stays so until the transaction ends. A spent slice does not end the
//! grant: the client goes on in the next one. A grant that does not hold any more is void as a whole: the client asks
//! again, and gets rows.
//!
//! Invariants: rows come in the order of their candidates. A row is read after its lock was granted, at its primary.
#![expect(clippy::wildcard_enum_match_arm, reason = "an answer of another kind is a failure like any other")]

use crate::cx::{Cx, LockedRows};
use crate::inbox::Reply;
use crate::outcome::{Failure, Pending, Pull, failure_of};
use crate::row::{Row, row_size};
use crate::sort::Sorter;
use crate::table_reader::{KeyedRow, Pump, TableReader, by_slot, malformed};
use expression::context::{TextWork, Warnings};
use memory::Guard;
use planner::plan::{Equals, SortColumn};
use protocol::placement::ReadPlacement;
use protocol::program::{LockMode, LockWait, ReadProgram, ReadProgress};
use protocol::signal::{Granted, RequestId};
use query::{BatchShape, RowBatchReader, RowSink, TableAccessInfo, give_locked_row};
use std::collections::VecDeque;
use std::iter::Peekable;
use std::ops::Range;
use std::sync::Arc;
use stdx::FixedMap;
use storage::Lookup;
use types::{SlotId, ValueRef, ViewNumber};

/// Keys locked at once.
const LOCK_BATCH: usize = 256;

/// Keys of one slot, which its primary locks.
struct OpenLocks {
    slot: SlotId,
    /// An answer that is full stops in front of one of them.
    keys: Vec<Box<[u8]>>,
    /// Where their rows come from.
    rows: LockedRows,
    request: RequestId,
    /// The answer to the request: the client reads what it grants.
    grant: Option<Grant>,
}

/// Keys that are locked, and whose rows the client reads.
struct Grant {
    view: ViewNumber,
    /// The positions of those that are still to be read.
    left: Range<u32>,
    /// The positions at which there is nothing to read, ascending.
    omitted: Peekable<std::vec::IntoIter<u32>>,
    /// Those of the filter, which the primary has tested, and of what was read.
    warnings: Warnings,
}

/// How far the rows of a grant are read.
enum Reading {
    All,
    /// The budget is spent.
    Spent,
    /// The grant does not hold any more.
    Void,
}

/// Keys being locked.
pub struct LockBatch {
    table: String,
    shape: BatchShape,
    keys: Vec<Box<[u8]>>,
    program: Arc<ReadProgram>,
    lock: (LockMode, LockWait),
    open: Vec<OpenLocks>,
    rows: FixedMap<Box<[u8]>, Row>,
    warnings: Warnings,
    failure: Option<Failure>,
}

impl LockBatch {
    /// Asks the primaries to lock `keys`; `program` must give primary keys.
    pub fn start(
        info: &TableAccessInfo,
        program: &Arc<ReadProgram>,
        keys: Vec<Box<[u8]>>,
        lock: (LockMode, LockWait),
        cx: &mut Cx<'_>,
    ) -> Result<Self, Failure> {
        let groups = by_slot(keys.clone(), |key| info.slot_of_key(key));
        let mut open = Vec::with_capacity(groups.len());
        let rows = match cx.env.site.read_placement {
            ReadPlacement::Adaptive | ReadPlacement::Local => LockedRows::ReadHere,
            ReadPlacement::Owner => LockedRows::Sent,
        };
        for (slot, keys) in groups {
            let request = cx.locked_read(slot, program, keys.clone(), lock, rows)?;
            open.push(OpenLocks { slot, keys, rows, request, grant: None });
        }
        let table = info.definition.name.clone();
        Ok(Self {
            table,
            shape: BatchShape::of(program),
            keys,
            program: Arc::clone(program),
            lock,
            open,
            rows: FixedMap::default(),
            warnings: Warnings::default(),
            failure: None,
        })
    }

    /// The rows, in the order of the keys, or why they are not all there yet.
    pub fn poll(&mut self, cx: &mut Cx<'_>) -> Result<Result<Vec<KeyedRow>, Pending>, Failure> {
        let (mut still_open, mut pending) = (Vec::new(), Pending::Wait);
        for mut open in std::mem::take(&mut self.open) {
            match self.go_on(&mut open, cx) {
                Ok(None) => {}
                Ok(Some(why)) => {
                    pending = pending.or(why);
                    still_open.push(open);
                }
                Err(failure) => {
                    self.failure.get_or_insert(failure);
                }
            }
        }
        self.open = still_open;
        if !self.open.is_empty() {
            return Ok(Err(pending));
        }
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        let mut rows = Vec::with_capacity(self.rows.len());
        for key in std::mem::take(&mut self.keys) {
            if let Some(values) = self.rows.remove(&key) {
                rows.push(KeyedRow { primary_key: key, index_key: Box::default(), values });
            }
        }
        Ok(Ok(rows))
    }

    /// Takes an answer, or goes on to read what it grants; None: the rows of all keys are there.
    fn go_on(&mut self, open: &mut OpenLocks, cx: &mut Cx<'_>) -> Result<Option<Pending>, Failure> {
        let mut grant = match open.grant.take() {
            Some(grant) => grant,
            None => {
                let Some(reply) = cx.client.inbox.take(open.request) else { return Ok(Some(Pending::Wait)) };
                match self.on_reply(reply, open, cx)? {
                    (_, Some(grant)) => grant,
                    (end, None) => return self.ask_for_rest(open, end, cx),
                }
            }
        };
        match self.read_granted(open, &mut grant, cx)? {
            Reading::All => {
                if let Some(raised) = grant.warnings.take_raised() {
                    self.warnings.absorb(*raised);
                }
                self.ask_for_rest(open, grant.left.end as usize, cx)
            }
            Reading::Spent => {
                open.grant = Some(grant);
                Ok(Some(Pending::Spent))
            }
            Reading::Void => {
                // The answer with rows has the warnings of all of them.
                open.keys.iter().for_each(|key| drop(self.rows.remove(key)));
                open.rows = LockedRows::Sent;
                self.ask_for_rest(open, 0, cx)
            }
        }
    }

    /// Takes the rows or the grant of an answer, and gives how many keys it is about.
    fn on_reply(
        &mut self,
        reply: Reply,
        open: &OpenLocks,
        cx: &mut Cx<'_>,
    ) -> Result<(usize, Option<Grant>), Failure> {
        let batch = match reply {
            Reply::Read(Ok(batch)) => batch,
            Reply::Read(Err(refusal)) => return Err(failure_of(refusal, &self.table)),
            _ => return Err(lost_lock()),
        };
        cx.client.transaction.holds(open.slot, batch.operations);
        let end = match batch.progress {
            ReadProgress::More { position, .. } => position as usize,
            _ => open.keys.len(),
        };
        if end == 0 || end > open.keys.len() {
            return Err(malformed());
        }
        let grant = batch.granted.map(|Granted { view, omitted }| Grant {
            view,
            left: 0..u32::try_from(end).unwrap_or(u32::MAX),
            omitted: omitted.into_iter().peekable(),
            warnings: Warnings::default(),
        });
        if let Some(raised) = batch.raised {
            grant.as_ref().map_or(&self.warnings, |grant| &grant.warnings).absorb(*raised);
        }
        for row in RowBatchReader::new(self.shape, &batch.rows) {
            let row = row.map_err(|_| malformed())?;
            self.rows.insert(row.primary_key.into(), row.values);
        }
        Ok((end, grant))
    }

    /// The rows of the first `end` keys are there: asks for the others.
    fn ask_for_rest(
        &self,
        open: &mut OpenLocks,
        end: usize,
        cx: &mut Cx<'_>,
    ) -> Result<Option<Pending>, Failure> {
        if end == open.keys.len() {
            return Ok(None);
        }
        open.keys.drain(..end);
        open.request = cx.locked_read(open.slot, &self.program, open.keys.clone(), self.lock, open.rows)?;
        Ok(Some(Pending::Wait))
    }

    /// Reads rows of keys that are locked until the budget is spent. Large rows are paid for like text.
    fn read_granted(
        &mut self,
        open: &OpenLocks,
        grant: &mut Grant,
        cx: &mut Cx<'_>,
    ) -> Result<Reading, Failure> {
        let program = &self.program;
        let Some((reader, info)) = cx.reader_of_locked(program.table, open.slot, grant.view) else {
            return Ok(Reading::Void);
        };
        let guard = Guard::enter();
        let mut sink = LockedSink { rows: &mut self.rows, text_work: TextWork::default() };
        let mut work = 0_u32;
        let mut reading = Reading::All;
        while !grant.left.is_empty() {
            if work >= cx.env.budget.rows {
                reading = Reading::Spent;
                break;
            }
            let position = grant.left.start;
            grant.left.start += 1;
            if grant.omitted.next_if_eq(&position).is_some() {
                continue;
            }
            let key = &open.keys[position as usize];
            let Lookup::Found(row) = reader.get_locked(&guard, key) else { return Ok(Reading::Void) };
            give_locked_row(program, info, key, row, &grant.warnings, &mut sink).map_err(Failure::Error)?;
            let text_work = grant.warnings.take_text_work().saturating_add(sink.text_work.take_rows());
            work = work.saturating_add(text_work);
        }
        cx.env.budget.spend(work);
        Ok(reading)
    }
}

/// Rows of primary keys that are locked.
struct LockedSink<'a> {
    rows: &'a mut FixedMap<Box<[u8]>, Row>,
    text_work: TextWork,
}

impl RowSink for LockedSink<'_> {
    fn row(&mut self, primary_key: &[u8], _: &[u8], values: &[ValueRef<'_>]) {
        let row: Row = values.iter().map(|value| value.to_value()).collect();
        self.text_work.add(row_size(&row));
        self.rows.insert(primary_key.into(), row);
    }

    fn is_full(&self) -> bool {
        false
    }
}

/// The node that was asked for a lock is lost, and the lock with it.
pub fn lost_lock() -> Failure {
    Failure::ViewChanged(protocol::SqlError::deadlock("the node that held its locks is lost"))
}

/// Primary keys, or what to wait for before there are any.
pub type Taken = Result<Vec<Box<[u8]>>, Pull>;

/// Where candidates come from.
pub enum Candidates {
    /// The keys are in the statement.
    Keys(VecDeque<Box<[u8]>>),
    /// They are found as they are needed, in the order that is wanted.
    Found(TableReader),
    /// All are found and sorted first: the values are sort columns.
    Unsorted(TableReader, Sorter),
    /// All are found.
    Sorting(Sorter),
}

impl Candidates {
    /// Up to `count` more; fewer only if there are no more. An error value says what to wait for.
    pub fn take(&mut self, count: usize, cx: &mut Cx<'_>) -> Result<Taken, Failure> {
        match self {
            Candidates::Keys(keys) => {
                let count = count.min(keys.len());
                Ok(Ok(keys.drain(..count).collect()))
            }
            Candidates::Found(reader) => {
                let mut found = KeySink { keys: Vec::new(), limit: count };
                let pump = reader.pump(cx, &mut found)?;
                if found.keys.is_empty() {
                    match pump {
                        Pump::Wait => return Ok(Err(Pull::Wait)),
                        Pump::Spent | Pump::Rows => return Ok(Err(Pull::Spent)),
                        Pump::End => {}
                    }
                }
                Ok(Ok(found.keys))
            }
            Candidates::Unsorted(reader, sorter) => {
                if let Some(pull) = fill_sorter(reader, sorter, cx)? {
                    return Ok(Err(pull));
                }
                let sorter = std::mem::replace(sorter, Sorter::new(Vec::new(), Equals::Kept, None));
                *self = Candidates::Sorting(sorter);
                self.take(count, cx)
            }
            Candidates::Sorting(sorter) => {
                let Some(mut sorted) = sorter.finish(cx)? else { return Ok(Err(Pull::Spent)) };
                let mut keys = VecDeque::new();
                while let Some(values) = sorted.next() {
                    if let Some(ValueRef::Bytes(key)) = values.last() {
                        keys.push_back(key.into());
                    }
                }
                sorted.close(cx);
                *self = Candidates::Keys(keys);
                self.take(count, cx)
            }
        }
    }

    /// Sorted candidates: rows of sort columns.
    pub fn sorted(reader: TableReader, columns: Vec<SortColumn>) -> Self {
        Candidates::Unsorted(reader, Sorter::new(columns, Equals::Kept, None))
    }

    /// Nobody wants more.
    pub fn close(&mut self, cx: &mut Cx<'_>) {
        match self {
            Candidates::Keys(keys) => keys.clear(),
            Candidates::Sorting(_) => {}
            Candidates::Found(reader) | Candidates::Unsorted(reader, _) => reader.close(cx),
        }
    }
}

/// Keeps the primary keys of rows.
struct KeySink {
    keys: Vec<Box<[u8]>>,
    limit: usize,
}

impl RowSink for KeySink {
    fn row(&mut self, primary_key: &[u8], _: &[u8], _: &[ValueRef<'_>]) {
        self.keys.push(primary_key.into());
    }

    fn is_full(&self) -> bool {
        self.keys.len() >= self.limit
    }
}

/// Gives a sorter rows that end with their primary key.
struct WithKey<'a>(&'a mut Sorter);

impl RowSink for WithKey<'_> {
    fn row(&mut self, primary_key: &[u8], index_key: &[u8], values: &[ValueRef<'_>]) {
        let mut row = values.to_vec();
        row.push(ValueRef::Bytes(primary_key));
        self.0.row(primary_key, index_key, &row);
    }

    fn is_full(&self) -> bool {
        self.0.is_full()
    }
}

/// Reads all candidates into the sorter, each with its primary key as the last value; Some: poll again later.
fn fill_sorter(
    reader: &mut TableReader,
    sorter: &mut Sorter,
    cx: &mut Cx<'_>,
) -> Result<Option<Pull>, Failure> {
    loop {
        if sorter.pay(cx)?.is_some() {
            return Ok(Some(Pull::Spent));
        }
        match reader.pump(cx, &mut WithKey(sorter))? {
            Pump::Rows => {}
            Pump::Wait => return Ok(Some(Pull::Wait)),
            Pump::Spent => return Ok(Some(Pull::Spent)),
            Pump::End => return Ok(None),
        }
    }
}

/// The source of a locking SELECT.
pub struct LockedReader {
    info: Arc<TableAccessInfo>,
    program: Arc<ReadProgram>,
    lock: (LockMode, LockWait),
    candidates: Candidates,
    batch: Option<LockBatch>,
    /// Rows wanted at most.
    left: usize,
}

impl LockedReader {
    pub fn new(
        info: &Arc<TableAccessInfo>,
        program: ReadProgram,
        lock: (LockMode, LockWait),
        candidates: Candidates,
        limit: Option<u64>,
    ) -> Self {
        let program = Arc::new(ReadProgram { with_primary_key: true, ..program });
        let left = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
        Self { info: Arc::clone(info), program, lock, candidates, batch: None, left }
    }

    pub fn next(&mut self, cx: &mut Cx<'_>) -> Result<Pull, Failure> {
        loop {
            if let Some(batch) = &mut self.batch {
                let rows = match batch.poll(cx)? {
                    Ok(rows) => rows,
                    Err(pending) => return Ok(pending.into()),
                };
                cx.keep_raised(batch.warnings.take_raised());
                self.batch = None;
                if !rows.is_empty() {
                    self.left = self.left.saturating_sub(rows.len());
                    return Ok(Pull::Batch(rows.into_iter().map(|row| row.values).collect()));
                }
            }
            if self.left == 0 {
                self.candidates.close(cx);
                return Ok(Pull::End);
            }
            let keys = match self.candidates.take(self.left.min(LOCK_BATCH), cx)? {
                Ok(keys) => keys,
                Err(pull) => return Ok(pull),
            };
            if keys.is_empty() {
                return Ok(Pull::End);
            }
            cx.env.budget.spend(u32::try_from(keys.len()).unwrap_or(u32::MAX));
            self.batch = Some(LockBatch::start(&self.info, &self.program, keys, self.lock, cx)?);
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
