//! Locking reads: FOR UPDATE, FOR SHARE, and the rows that the session changes itself.
//!
//! Candidates are found by a committed read (or the transaction's own view); then each is locked at its primary, where
//! the condition is tested again on the newest version. Rows that do not match any more, or are passed over by SKIP
//! LOCKED, are omitted; with a LIMIT the next candidates take their place.
//!
//! A primary on this node only grants the locks, if reads go where the client is. The client reads the rows itself, in
//! the call that brings the grant, and encodes nothing. It does so in the grant's view and under a good lease: then the
//! newest version of each row is committed or its own. Else it asks again, and gets rows.
//!
//! Invariants: rows come in the order of their candidates. A row is read after its lock was granted, at its primary.
#![expect(clippy::wildcard_enum_match_arm, reason = "an answer of another kind is a failure like any other")]

use crate::cx::{Cx, LockedRows};
use crate::inbox::Reply;
use crate::outcome::{Failure, Pull, failure_of};
use crate::row::{Row, row_size};
use crate::sort::Sorter;
use crate::table_reader::{KeyedRow, Pump, TableReader, by_slot, malformed};
use expression::context::Warnings;
use memory::Guard;
use planner::plan::{Equals, SortColumn};
use protocol::placement::ReadPlacement;
use protocol::program::{BATCH_BYTES_MAX, LockMode, LockWait, ReadProgram, ReadProgress};
use protocol::signal::{Granted, RequestId};
use query::{BatchShape, RowBatchReader, RowSink, TableAccessInfo, give_locked_row};
use std::collections::VecDeque;
use std::sync::Arc;
use stdx::FixedMap;
use storage::Lookup;
use types::{SlotId, ValueRef};

/// Keys locked at once.
const LOCK_BATCH: usize = 256;

/// A request to one primary.
struct OpenLocks {
    request: RequestId,
    slot: SlotId,
    /// Those it asked for: an answer that is full stops in front of one of them.
    keys: Vec<Box<[u8]>>,
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
            open.push(OpenLocks { request, slot, keys });
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

    /// The rows, in the order of the keys; None while answers are missing.
    pub fn poll(&mut self, cx: &mut Cx<'_>) -> Result<Option<Vec<KeyedRow>>, Failure> {
        let mut still_open = Vec::new();
        for open in std::mem::take(&mut self.open) {
            match cx.client.inbox.take(open.request) {
                None => still_open.push(open),
                Some(reply) => match self.on_reply(reply, open, cx) {
                    Ok(None) => {}
                    Ok(Some(rest)) => still_open.push(rest),
                    Err(failure) => {
                        self.failure.get_or_insert(failure);
                    }
                },
            }
        }
        self.open = still_open;
        if !self.open.is_empty() {
            return Ok(None);
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
        Ok(Some(rows))
    }

    /// Takes rows; if there were too many for one answer, asks for the others.
    fn on_reply(
        &mut self,
        reply: Reply,
        mut open: OpenLocks,
        cx: &mut Cx<'_>,
    ) -> Result<Option<OpenLocks>, Failure> {
        let batch = match reply {
            Reply::Read(Ok(batch)) => batch,
            Reply::Read(Err(refusal)) => return Err(failure_of(refusal, &self.table)),
            _ => return Err(lost_lock()),
        };
        cx.client.transaction.holds(open.slot, batch.operations);
        if let Some(raised) = batch.raised {
            self.warnings.absorb(*raised);
        }
        for row in RowBatchReader::new(self.shape, &batch.rows) {
            let row = row.map_err(|_| malformed())?;
            self.rows.insert(row.primary_key.into(), row.values);
        }
        let end = match batch.progress {
            ReadProgress::More { position, .. } => position as usize,
            _ => open.keys.len(),
        };
        if end == 0 || end > open.keys.len() {
            return Err(malformed());
        }
        let (position, rows) = match batch.granted {
            Some(granted) => self.read_granted(&open, &granted, end, cx)?,
            None => (end, LockedRows::ReadHere),
        };
        if position == open.keys.len() {
            return Ok(None);
        }
        open.keys.drain(..position);
        open.request = cx.locked_read(open.slot, &self.program, open.keys.clone(), self.lock, rows)?;
        Ok(Some(open))
    }

    /// Reads the rows of the first `end` keys, which are locked. Gives the first key that is to be asked for again, and
    /// how.
    fn read_granted(
        &mut self,
        open: &OpenLocks,
        granted: &Granted,
        end: usize,
        cx: &Cx<'_>,
    ) -> Result<(usize, LockedRows), Failure> {
        let program = &self.program;
        let found = cx.reader_of_locked(program.table, open.slot, granted.view);
        let (Some((reader, info)), Some(transaction)) = (found, cx.client.transaction.id()) else {
            return Ok((0, LockedRows::Sent));
        };
        let guard = Guard::enter();
        let mut omitted = granted.omitted.iter().peekable();
        let mut sink = LockedSink { rows: &mut self.rows, size: 0 };
        for (position, key) in (0..).zip(&open.keys[..end]) {
            if omitted.next_if_eq(&&position).is_some() {
                continue;
            }
            let Lookup::Found(row) = reader.get_locked(&guard, key, transaction) else {
                return Ok((position as usize, LockedRows::Sent));
            };
            if sink.is_full() {
                return Ok((position as usize, LockedRows::ReadHere));
            }
            give_locked_row(program, info, key, row, &self.warnings, &mut sink).map_err(Failure::Error)?;
        }
        Ok((end, LockedRows::ReadHere))
    }
}

/// Rows of primary keys that are locked.
struct LockedSink<'a> {
    rows: &'a mut FixedMap<Box<[u8]>, Row>,
    /// Bytes of this call.
    size: usize,
}

impl RowSink for LockedSink<'_> {
    fn row(&mut self, primary_key: &[u8], _: &[u8], values: &[ValueRef<'_>]) {
        let row: Row = values.iter().map(|value| value.to_value()).collect();
        self.size += row_size(&row);
        self.rows.insert(primary_key.into(), row);
    }

    fn is_full(&self) -> bool {
        self.size >= BATCH_BYTES_MAX
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
                let Some(rows) = batch.poll(cx)? else { return Ok(Pull::Wait) };
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
