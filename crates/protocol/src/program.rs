//! The work on rows that sessions ask of slots: read programs, write operations, and the batches that come back.
//!
//! Column slots in all expressions here are column indexes of the stored row. A program names its table by id *and*
//! version: a slot refuses any but the installed version or the one before, and the session binds again.

use crate::SqlError;
use expression::aggregate::AggregateCall;
use expression::{Context, Expression, Settings};
use std::ops::Bound;
use std::sync::Arc;
use stdx::SmallVec;
use stdx::wire::{Decoder, Encoder, Wire, WireError};
use types::{ColumnIndex, IndexId, TableId, TransactionId, Value};
use wire_derive::Wire;

/// Rows one reply to a read carries at most; the session asks again from where it ended.
pub const BATCH_ROWS_MAX: usize = 1_024;
/// Bytes after which a reply to a read ends early.
pub const BATCH_BYTES_MAX: usize = 256 * 1024;
/// Bytes of one row at most, stored or computed: so that no signal comes near the size of the largest frame, whatever
/// else it carries.
pub const ROW_SIZE_MAX: usize = 128 << 20;
/// Bytes at most of what a request carries besides rows: programs with their literals, keys and ranges.
pub const PROGRAM_SIZE_MAX: usize = 128 << 20;

/// A table as a statement was bound to it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Wire)]
pub struct TableRef {
    /// Which table.
    pub id: TableId,
    /// The definition's version.
    pub version: u32,
}

/// The context of evaluation besides rows; the same for all of a statement.
#[derive(Clone, PartialEq, Debug, Default, Wire)]
pub struct StatementContext {
    /// Values of parameter markers.
    pub parameters: Vec<Value>,
    /// Time, time zone, modes.
    pub settings: Settings,
}

impl StatementContext {
    /// Bytes on the wire, roughly: parameters are as large as clients make them.
    #[must_use]
    pub fn wire_size(&self) -> usize {
        let size = |value: &Value| 16 + if let Value::Bytes(bytes) = value { bytes.len() } else { 0 };
        self.parameters.iter().map(size).sum()
    }

    /// The context with which expressions are evaluated.
    #[must_use]
    pub fn evaluation(&self) -> Context<'_> {
        Context { parameters: &self.parameters, ..Context::from_settings(self.settings) }
    }
}

/// A read as it is done with each row.
#[derive(Clone, PartialEq, Debug, Wire)]
pub struct ReadProgram {
    /// The table.
    pub table: TableRef,
    /// Rows for which this is not true are passed over.
    pub filter: Option<Expression>,
    /// The values that come back.
    pub output: ReadOutput,
    /// Each row comes with its primary key bytes.
    pub with_primary_key: bool,
    /// Each row comes with the bytes of the index key it was found by (scans; for merging in key order).
    pub with_index_key: bool,
    /// Parameters, time, modes.
    pub context: StatementContext,
}

impl ReadProgram {
    /// Bytes on the wire, roughly.
    #[must_use]
    pub fn wire_size(&self) -> usize {
        let all = |expressions: &[Expression]| expressions.iter().map(Expression::wire_size).sum::<usize>();
        let output = match &self.output {
            ReadOutput::Columns(_) | ReadOutput::StoredRow => 0,
            ReadOutput::Expressions(expressions) => all(expressions),
            ReadOutput::Aggregate { group_by, calls } => {
                let of_calls = calls.iter().flat_map(AggregateCall::expressions).map(Expression::wire_size);
                all(group_by) + of_calls.sum::<usize>()
            }
        };
        self.filter.as_ref().map_or(0, Expression::wire_size) + output + self.context.wire_size()
    }
}

/// The values that a read returns of each row, or of all.
#[derive(Clone, PartialEq, Debug, Wire)]
pub enum ReadOutput {
    /// These columns.
    Columns(Vec<ColumnIndex>),
    /// These expressions.
    Expressions(Vec<Expression>),
    /// The stored row as it is (one `Value::Bytes`): for writes that the session computes itself.
    StoredRow,
    /// One partial aggregate per group: the group's values, then one encoded `AggregateState` (`Value::Bytes`) per
    /// call.
    Aggregate {
        /// Groups.
        group_by: Vec<Expression>,
        /// Aggregates.
        calls: Vec<AggregateCall>,
    },
}

/// A range of index keys.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeyRange {
    /// Where it starts.
    pub lower: Bound<Box<[u8]>>,
    /// Where it ends.
    pub upper: Bound<Box<[u8]>>,
}

impl KeyRange {
    /// All keys.
    #[must_use]
    pub const fn all() -> Self {
        Self { lower: Bound::Unbounded, upper: Bound::Unbounded }
    }
}

fn encode_bound(bound: &Bound<Box<[u8]>>, encoder: &mut Encoder<'_>) {
    match bound {
        Bound::Unbounded => encoder.bytes.push(0),
        Bound::Included(key) => {
            encoder.bytes.push(1);
            key.encode(encoder);
        }
        Bound::Excluded(key) => {
            encoder.bytes.push(2);
            key.encode(encoder);
        }
    }
}

fn decode_bound(decoder: &mut Decoder<'_>) -> Result<Bound<Box<[u8]>>, WireError> {
    Ok(match u8::decode(decoder)? {
        0 => Bound::Unbounded,
        1 => Bound::Included(Wire::decode(decoder)?),
        2 => Bound::Excluded(Wire::decode(decoder)?),
        _ => return Err(WireError::UnknownTag),
    })
}

impl Wire for KeyRange {
    fn encode(&self, encoder: &mut Encoder<'_>) {
        encode_bound(&self.lower, encoder);
        encode_bound(&self.upper, encoder);
    }
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, WireError> {
        Ok(Self { lower: decode_bound(decoder)?, upper: decode_bound(decoder)? })
    }
}

/// Which rows of a slot a read visits.
#[derive(Clone, PartialEq, Debug, Wire)]
pub enum Access {
    /// These primary keys, in this order; a key without a row gives nothing.
    Keys(Vec<Box<[u8]>>),
    /// Ranges of an index.
    Scan {
        /// The index.
        index: IndexId,
        /// The ranges left to scan, disjoint, in the order in which they are visited.
        ranges: Arc<Vec<KeyRange>>,
        /// Each from its upper end down.
        descending: bool,
        /// Rows wanted at most (after the filter), of all ranges together.
        limit: Option<u64>,
    },
}

impl Access {
    /// Bytes on the wire, roughly.
    #[must_use]
    pub fn wire_size(&self) -> usize {
        let bound = |bound: &Bound<Box<[u8]>>| match bound {
            Bound::Unbounded => 1,
            Bound::Included(key) | Bound::Excluded(key) => key.len() + 5,
        };
        match self {
            Access::Keys(keys) => keys.iter().map(|key| key.len() + 4).sum(),
            Access::Scan { ranges, .. } => {
                ranges.iter().map(|range| bound(&range.lower) + bound(&range.upper)).sum()
            }
        }
    }
}

/// The rows that come back for a read.
#[derive(Clone, PartialEq, Debug, Default, Wire)]
pub struct RowBatch {
    /// Rows in `bytes`.
    pub count: u32,
    /// The rows, encoded by `query::batch`.
    #[wire(bytes)]
    pub bytes: Vec<u8>,
}

/// Where a read stands after a batch.
#[derive(Clone, PartialEq, Debug, Wire)]
pub enum ReadProgress {
    /// All rows were visited.
    End,
    /// The batch is full: ask again for the keys from this position on, or for the ranges from this position on behind
    /// this index key.
    More {
        /// The last index key visited in the range at `position`.
        after: Option<Box<[u8]>>,
        /// The next position in `Access::Keys`; the current one in the ranges of `Access::Scan`.
        position: u32,
    },
    /// The next row's newest version is prepared and its outcome not known here: ask its primary for this primary key,
    /// then go on behind `after`. Never comes from a primary's `ldm`, which waits for the outcome.
    Undecided {
        /// The row.
        primary_key: Box<[u8]>,
        /// The index key it was found by.
        after: Box<[u8]>,
        /// As in `More`.
        position: u32,
    },
}

/// The behaviour of INSERT when the primary key exists.
#[derive(Clone, PartialEq, Debug, Wire)]
pub enum OnDuplicate {
    /// 1062.
    Fail,
    /// Nothing (INSERT IGNORE); `OperationResult::Duplicate` says so.
    Ignore,
    /// The new row takes the old one's place (REPLACE).
    Replace,
    /// ON DUPLICATE KEY UPDATE: slots behind the stored columns are the columns of the new row (VALUES()).
    Update(Arc<UpdateProgram>),
}

/// An UPDATE as it is done with one row, after locking it, on its newest version.
#[derive(Clone, PartialEq, Debug, Wire)]
pub struct UpdateProgram {
    /// The row is left alone unless this is true.
    pub filter: Option<Expression>,
    /// New values, evaluated from left to right, each seeing the ones before; never of primary key columns.
    pub assignments: Vec<Assignment>,
    /// Parameters, time, modes.
    pub context: StatementContext,
    /// The row must be so afterwards.
    #[wire(since = 7)]
    pub view_check: Option<ViewCondition>,
}

/// WITH CHECK OPTION: what a row that is changed through a view must be.
#[derive(Clone, PartialEq, Debug, Wire)]
pub struct ViewCondition {
    /// Over the columns of the table.
    pub condition: Expression,
    /// The view, with its database.
    pub view: String,
}

impl ViewCondition {
    /// The error of a row that is not so.
    #[must_use]
    pub fn failed(&self) -> SqlError {
        SqlError::new(1369, format!("CHECK OPTION failed '{}'", self.view))
    }
}

impl UpdateProgram {
    /// Bytes on the wire, roughly.
    #[must_use]
    pub fn wire_size(&self) -> usize {
        let assigned = self.assignments.iter().map(|assignment| assignment.value.wire_size());
        let filter = self.filter.as_ref().map_or(0, Expression::wire_size);
        let check = self.view_check.as_ref().map_or(0, |check| check.condition.wire_size());
        filter + assigned.sum::<usize>() + check + self.context.wire_size()
    }
}

/// One `column = expression`.
#[derive(Clone, PartialEq, Debug, Wire)]
pub struct Assignment {
    /// The column.
    pub column: ColumnIndex,
    /// Its new value, brought into the column's type when stored.
    pub value: Expression,
}

/// A change of one row. The primary locks the row exclusively first.
#[derive(Clone, PartialEq, Debug, Wire)]
pub enum WriteOperation {
    /// A new row.
    Insert {
        /// Its primary key.
        key: Box<[u8]>,
        /// Its row bytes.
        row: Box<[u8]>,
        /// If the key exists.
        on_duplicate: OnDuplicate,
    },
    /// The row becomes this, whatever it was: the session has locked and read it before.
    Put {
        /// Its primary key.
        key: Box<[u8]>,
        /// Its new row bytes.
        row: Box<[u8]>,
    },
    /// Evaluated at the primary.
    Update {
        /// Its primary key.
        key: Box<[u8]>,
        /// The change of the row.
        program: Arc<UpdateProgram>,
    },
    /// Deleted if the filter (if any) is true for its newest version.
    Delete {
        /// Its primary key.
        key: Box<[u8]>,
        /// WHERE.
        filter: Option<Arc<DeleteFilter>>,
    },
}

impl WriteOperation {
    /// The primary key of its row.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        match self {
            Self::Insert { key, .. }
            | Self::Put { key, .. }
            | Self::Update { key, .. }
            | Self::Delete { key, .. } => key,
        }
    }

    /// The bytes of its row, if it brings them.
    #[must_use]
    pub fn row(&self) -> Option<&[u8]> {
        match self {
            Self::Insert { row, .. } | Self::Put { row, .. } => Some(row),
            Self::Update { .. } | Self::Delete { .. } => None,
        }
    }
}

/// The WHERE of a DELETE.
#[derive(Clone, PartialEq, Debug, Wire)]
pub struct DeleteFilter {
    /// Must be true.
    pub filter: Expression,
    /// Parameters, time, modes.
    pub context: StatementContext,
}

impl DeleteFilter {
    /// Bytes on the wire, roughly.
    #[must_use]
    pub fn wire_size(&self) -> usize {
        self.filter.wire_size() + self.context.wire_size()
    }
}

impl WriteOperation {
    /// Bytes on the wire, roughly: key, row and program.
    #[must_use]
    pub fn wire_size(&self) -> usize {
        match self {
            Self::Insert { key, row, on_duplicate: OnDuplicate::Update(program) } => {
                key.len() + row.len() + program.wire_size()
            }
            Self::Insert { key, row, on_duplicate: _ } | Self::Put { key, row } => key.len() + row.len(),
            Self::Update { key, program } => key.len() + program.wire_size(),
            Self::Delete { key, filter } => {
                key.len() + filter.as_ref().map_or(0, |filter| filter.wire_size())
            }
        }
    }
}

/// The operations of a request: one, mostly.
pub type Operations = SmallVec<[WriteOperation; 1]>;
/// The effects of a request's operations.
pub type Results = SmallVec<[OperationResult; 16]>;

/// The effect of an operation.
#[derive(Clone, Copy, PartialEq, Debug, Wire)]
pub enum OperationResult {
    /// A new row.
    Inserted,
    /// The key existed and OnDuplicate::Ignore left it alone.
    Duplicate,
    /// REPLACE deleted the old row and inserted the new one.
    Replaced,
    /// The row matched and was changed.
    Updated,
    /// The row matched and has these values already.
    Unchanged,
    /// Deleted.
    Deleted,
    /// No such row, or the filter is not true for its newest version.
    NotMatched,
    /// Put.
    Stored,
}

/// Row locks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Wire)]
pub enum LockMode {
    /// FOR SHARE.
    Shared,
    /// FOR UPDATE.
    Exclusive,
}

/// The behaviour at a conflicting lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub enum LockWait {
    /// Wait at most this long, then 1205.
    Wait {
        /// innodb_lock_wait_timeout.
        timeout_ms: u32,
    },
    /// NOWAIT: 3572.
    NoWait,
    /// SKIP LOCKED: the row is passed over.
    SkipLocked,
}

/// Why a slot did not do what was asked.
#[derive(Clone, PartialEq, Debug, Wire)]
pub enum Refusal {
    /// The request was made in another view, or this node is not the primary any more: the transaction is doomed if it
    /// had state here.
    WrongView,
    /// A replica of the slot is given up: no new writes or locks.
    ReplicaLost,
    /// The statement was bound to a version of the table that is not installed: bind again (1412 if it cannot).
    WrongSchema,
    /// The row exists (1062).
    Duplicate {
        /// The key that exists.
        key: Box<[u8]>,
    },
    /// The wait for a lock took too long (1205); only the statement is undone.
    LockTimeout,
    /// NOWAIT (3572).
    LockNotAvailable,
    /// Chosen as the victim of a deadlock (1213).
    Deadlock {
        /// A transaction of the cycle.
        other: TransactionId,
    },
    /// A memory region is full (1114, or 1297-like abort for TransactionMemory).
    RegionFull {
        /// Its name.
        region: String,
    },
    /// Evaluation failed.
    Error(SqlError),
    /// The slot does not hold what the commit names: it is void or rolled back; the transaction aborts.
    NotHeld,
    /// The transaction is already decided or being decided here.
    AlreadyEnding,
}
