//! Changes on their way to the primaries: gathered by slot and table, sent together, answered together.
//!
//! In each request deletes come first. So a unique key that one row leaves can be taken by another of the same request,
//! whatever the order of the rows.
//!
//! Each operation carries its program when it travels, so a long IN list or a large literal counts once per row.
//! Requests are cut by bytes, and only so many are under way at once that no link fills up with one statement.
//!
//! Invariants: nothing is sent twice. Requests of a slot are sent in order. [`WriteSet::poll`] gives results only when
//! every request is answered. Of several failures the one of the first row is reported. No request exceeds a frame.
#![expect(clippy::wildcard_enum_match_arm, reason = "an answer of another kind is a failure like any other")]

use crate::commit::Question;
use crate::cx::{Cx, table_ref};
use crate::inbox::Reply;
use crate::locked_reader::lost_lock;
use crate::outcome::{Failure, failure_of};
use crate::row_builder::primary_key_of;
use protocol::SqlError;
use protocol::program::{
    DeleteFilter, OnDuplicate, OperationResult, Operations, PROGRAM_SIZE_MAX, ROW_SIZE_MAX, Refusal,
    TableRef, UpdateProgram, WriteOperation,
};
use protocol::signal::RequestId;
use query::TableAccessInfo;
use std::collections::VecDeque;
use std::sync::Arc;
use stdx::SmallVec;
use stdx::wire::Wire;
use types::{IndexKind, IndexState, KeyEncoder, SlotId, Value, ValueRef};

/// Operations of one request at most.
const REQUEST_OPERATIONS: usize = 1024;
/// Bytes of one request at most (one larger operation makes a request of its own).
const REQUEST_BYTES: usize = 1 << 20;
/// Bytes of requests that are not answered; one larger request is alone.
const UNDER_WAY_BYTES_MAX: usize = 16 << 20;
/// Bytes of one operation at most: a row of the largest size with a program of the largest size, and their keys.
const OPERATION_BYTES_MAX: usize = ROW_SIZE_MAX + PROGRAM_SIZE_MAX + (1 << 20);

/// The origin of an operation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Origin {
    /// The row, by its number in the statement or batch.
    pub row: u32,
    /// None: the row itself; else an entry of the n-th unique index of [`HiddenIndexes`].
    pub entry: Option<u16>,
}

impl Origin {
    /// The row itself.
    pub fn row(row: usize) -> Self {
        Self { row: u32::try_from(row).unwrap_or(u32::MAX), entry: None }
    }

    /// An entry of a unique index.
    pub fn entry(row: usize, entry: usize) -> Self {
        Self { entry: u16::try_from(entry).ok(), ..Self::row(row) }
    }
}

/// The origins of a request's operations: one, mostly.
type Origins = SmallVec<[Origin; 1]>;

struct Group {
    slot: SlotId,
    table: TableRef,
    deletes: Batch,
    others: Batch,
}

/// Operations and, in the same order, what they are for.
#[derive(Default)]
struct Batch {
    operations: Operations,
    origins: Origins,
}

impl Batch {
    fn push(&mut self, operation: WriteOperation, origin: Origin) {
        self.operations.push(operation);
        self.origins.push(origin);
    }

    fn len(&self) -> usize {
        self.operations.len()
    }
}

impl IntoIterator for Batch {
    type Item = (WriteOperation, Origin);
    type IntoIter =
        std::iter::Zip<<Operations as IntoIterator>::IntoIter, <Origins as IntoIterator>::IntoIter>;

    fn into_iter(self) -> Self::IntoIter {
        self.operations.into_iter().zip(self.origins)
    }
}

struct WaitingRequest {
    slot: SlotId,
    table: TableRef,
    operations: Operations,
    origins: Origins,
    size: usize,
    is_alone: bool,
}

struct OpenRequest {
    /// None while nobody can be asked what became of it.
    request: Option<RequestId>,
    slot: SlotId,
    origins: Origins,
    size: usize,
    /// It carries the commit.
    alone: Option<Question>,
}

/// The outcome of all operations.
#[derive(Debug, Default)]
pub struct WriteOutcome {
    pub results: SmallVec<[(Origin, OperationResult); 1]>,
    /// The first row's failure.
    pub failed: Option<(Origin, FailedWrite)>,
}

/// Why an operation failed.
#[derive(Debug)]
pub enum FailedWrite {
    Refused(Refusal),
    /// The node is lost, and what it held.
    Lost,
    /// The request carried the commit and was not answered.
    Unknown,
}

/// The set.
#[derive(Default)]
pub struct WriteSet {
    groups: SmallVec<[Group; 1]>,
    waiting: VecDeque<WaitingRequest>,
    open: SmallVec<[OpenRequest; 1]>,
    outcome: WriteOutcome,
}

impl WriteSet {
    /// Adds an operation on a row of a table.
    pub fn add(&mut self, info: &TableAccessInfo, operation: WriteOperation, origin: Origin) {
        let slot = info.slot_of_key(operation.key());
        let reference = table_ref(&info.definition);
        let known = self.groups.iter().position(|group| group.slot == slot && group.table.id == reference.id);
        let position = known.unwrap_or_else(|| {
            let (deletes, others) = Default::default();
            self.groups.push(Group { slot, table: reference, deletes, others });
            self.groups.len() - 1
        });
        let group = &mut self.groups[position];
        if matches!(operation, WriteOperation::Delete { .. }) {
            group.deletes.push(operation, origin);
        } else {
            group.others.push(operation, origin);
        }
    }

    /// Sends everything; if `is_whole` (nothing else belongs to this transaction) and one request is enough, it carries
    /// the commit.
    pub fn send(&mut self, is_whole: bool, cx: &mut Cx<'_>) -> Result<(), Failure> {
        if let [group] = &self.groups[..]
            && group.deletes.len() + group.others.len() == 1
            && self.waiting.is_empty()
        {
            return self.send_only(is_whole, cx);
        }
        for group in std::mem::take(&mut self.groups) {
            let mut request = WaitingRequest {
                slot: group.slot,
                table: group.table,
                operations: Operations::new(),
                origins: Origins::new(),
                size: 0,
                is_alone: false,
            };
            let is_only = group.deletes.len() + group.others.len() == 1;
            let mut scale = Scale::default();
            for (operation, origin) in group.deletes.into_iter().chain(group.others) {
                if request.operations.len() >= REQUEST_OPERATIONS || request.size >= REQUEST_BYTES {
                    let operations = std::mem::take(&mut request.operations);
                    let origins = std::mem::take(&mut request.origins);
                    self.waiting.push_back(WaitingRequest { operations, origins, ..request });
                    request.size = 0;
                }
                // One is sent alone, whatever it weighs.
                let size = if is_only { 0 } else { scale.weigh(&operation) };
                if size > OPERATION_BYTES_MAX {
                    return Err(Failure::Error(SqlError::packet_too_large()));
                }
                request.size += size;
                request.operations.push(operation);
                request.origins.push(origin);
            }
            self.waiting.push_back(request);
        }
        if let [only] = self.waiting.make_contiguous() {
            only.is_alone = is_whole && cx.is_alone(only.slot);
        }
        self.send_waiting(cx)
    }

    /// The usual case, a statement of one operation: nothing is copied, or weighed.
    fn send_only(&mut self, is_whole: bool, cx: &mut Cx<'_>) -> Result<(), Failure> {
        let Some(Group { slot, table, deletes, others }) = self.groups.pop() else { return Ok(()) };
        let Batch { operations, origins } = if others.len() == 0 { deletes } else { others };
        let is_alone = is_whole && cx.is_alone(slot);
        let request = cx.write(slot, table, operations, is_alone)?;
        let alone = is_alone.then(|| Question::new(cx.transaction_id(), slot, true, &cx.env));
        self.open.push(OpenRequest { request: Some(request), slot, origins, size: 0, alone });
        Ok(())
    }

    /// Sends what may be under way.
    fn send_waiting(&mut self, cx: &mut Cx<'_>) -> Result<(), Failure> {
        let mut under_way: usize = self.open.iter().map(|open| open.size).sum();
        while let Some(next) = self.waiting.front()
            && (self.open.is_empty() || under_way + next.size <= UNDER_WAY_BYTES_MAX)
            && let Some(next) = self.waiting.pop_front()
        {
            let WaitingRequest { slot, table, operations, origins, size, is_alone } = next;
            let request = cx.write(slot, table, operations, is_alone)?;
            let transaction = cx.transaction_id();
            let alone = is_alone.then(|| Question::new(transaction, slot, true, &cx.env));
            self.open.push(OpenRequest { request: Some(request), slot, origins, size, alone });
            under_way += size;
        }
        Ok(())
    }

    /// The outcome of everything that was sent; None while answers are missing.
    pub fn poll(&mut self, cx: &mut Cx<'_>) -> Option<WriteOutcome> {
        let mut position = 0;
        while let Some(open) = self.open.get_mut(position) {
            let reply = match (open.request, open.alone) {
                (None, Some(question)) if question.is_hopeless(&cx.env) => Some(Reply::Lost),
                (None, Some(question)) => {
                    open.request = question.ask(cx.client, &mut cx.env);
                    None
                }
                (request, _) => request.and_then(|request| cx.client.inbox.take(request)),
            };
            match (reply, open.alone) {
                (None, _) => position += 1,
                // Somebody knows what became of it, or will.
                (Some(Reply::Lost), Some(question)) if !question.is_hopeless(&cx.env) => {
                    open.request = None;
                    question.ask_later(cx.client, &mut cx.env);
                    position += 1;
                }
                (Some(reply), _) => {
                    let open = self.open.remove(position);
                    self.on_reply(open, reply, cx);
                }
            }
        }
        if let Some(next) = self.waiting.front().and_then(|next| next.origins.first().copied())
            && self.send_waiting(cx).is_err()
        {
            self.waiting.clear();
            self.fail(next, FailedWrite::Lost);
        }
        self.open.is_empty().then(|| std::mem::take(&mut self.outcome))
    }

    fn on_reply(&mut self, open: OpenRequest, reply: Reply, cx: &mut Cx<'_>) {
        match reply {
            Reply::Write(Ok(summary)) => {
                cx.keep_raised(summary.raised);
                match summary.committed {
                    Some(epoch) => {
                        if let Some(question) = open.alone {
                            question.confirm(&mut cx.env);
                        }
                        cx.client.transaction.see(epoch);
                        cx.client.transaction.end();
                        cx.env.site.commits += 1;
                    }
                    None => cx.client.transaction.holds(open.slot, summary.operations),
                }
                self.outcome.results.extend(open.origins.into_iter().zip(summary.results));
            }
            Reply::Write(Err(failure)) => {
                if open.alone.is_some() {
                    // The participant has undone it.
                    cx.client.transaction.end();
                }
                let origin = open.origins.get(failure.operation as usize).copied().unwrap_or(Origin::row(0));
                self.fail(origin, FailedWrite::Refused(failure.refusal));
            }
            // A commit whose outcome the participant itself cannot know any more.
            Reply::Commit(_) | Reply::Lost if open.alone.is_some() => {
                if let Some(question) = open.alone {
                    question.confirm(&mut cx.env);
                }
                self.fail(Origin::row(0), FailedWrite::Unknown)
            }
            _ => self.fail(Origin::row(0), FailedWrite::Lost),
        }
    }

    fn fail(&mut self, origin: Origin, failed: FailedWrite) {
        let is_first = self.outcome.failed.as_ref().is_none_or(|(other, _)| origin < *other);
        if is_first {
            self.outcome.failed = Some((origin, failed));
        }
    }
}

impl FailedWrite {
    /// Whether the primary has refused it, for such a reason.
    pub fn is_refused(&self, is_such: impl FnOnce(&Refusal) -> bool) -> bool {
        matches!(self, FailedWrite::Refused(refusal) if is_such(refusal))
    }

    /// As the statement fails by it; duplicates are for the caller, who knows the row.
    pub fn into_failure(self, table: &str) -> Failure {
        match self {
            FailedWrite::Refused(refusal) => failure_of(refusal, table),
            FailedWrite::Lost => lost_lock(),
            FailedWrite::Unknown => Failure::OutcomeUnknown,
        }
    }
}

/// Weighs operations. Those of a statement share a program, which is weighed once.
#[derive(Default)]
struct Scale {
    program: Option<(Arc<UpdateProgram>, usize)>,
    filter: Option<(Arc<DeleteFilter>, usize)>,
}

impl Scale {
    /// About what an operation takes on its way.
    fn weigh(&mut self, operation: &WriteOperation) -> usize {
        let (carried, program) = match operation {
            WriteOperation::Insert { row, on_duplicate: OnDuplicate::Update(program), .. } => {
                (row.len(), weight_of(&mut self.program, program))
            }
            WriteOperation::Insert { row, .. } | WriteOperation::Put { row, .. } => (row.len(), 0),
            WriteOperation::Update { program, .. } => (0, weight_of(&mut self.program, program)),
            WriteOperation::Delete { filter: Some(filter), .. } => (0, weight_of(&mut self.filter, filter)),
            WriteOperation::Delete { filter: None, .. } => (0, 0),
        };
        operation.key().len() + carried + program + 32
    }
}

fn weight_of<T: Wire>(last: &mut Option<(Arc<T>, usize)>, value: &Arc<T>) -> usize {
    match last {
        Some((known, weight)) if Arc::ptr_eq(known, value) => *weight,
        _ => {
            let weight = stdx::wire::to_bytes(&**value).len();
            *last = Some((Arc::clone(value), weight));
            weight
        }
    }
}

/// A unique index of a table, with the hidden table that holds its entries.
pub struct HiddenIndex {
    pub name: String,
    pub hidden: Arc<TableAccessInfo>,
    /// The encoder of its key in rows of the base table.
    pub encoder: KeyEncoder,
    parts: Vec<types::KeyPart>,
    state: IndexState,
}

/// The unique indexes of a table, in whatever state.
pub struct HiddenIndexes(pub Vec<HiddenIndex>);

impl HiddenIndexes {
    pub fn of(info: &TableAccessInfo, cx: &Cx<'_>) -> Result<Self, Failure> {
        let mut indexes = Vec::new();
        for index in &info.definition.indexes {
            if let IndexKind::Unique { table } = index.kind {
                indexes.push(HiddenIndex {
                    name: index.name.clone(),
                    hidden: cx.hidden_info(table)?,
                    encoder: info.index(index.id).ok_or(Failure::WrongSchema)?.clone(),
                    parts: index.parts.clone(),
                    state: index.state,
                });
            }
        }
        Ok(Self(indexes))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// True if one of these columns is part of a unique index.
    pub(crate) fn have_column(&self, column: types::ColumnIndex) -> bool {
        self.0.iter().any(|index| index.parts.iter().any(|part| part.column == column))
    }
}

impl HiddenIndex {
    /// The key of a row's entry; None if it has none because of a NULL.
    pub fn key_of(&self, info: &TableAccessInfo, row: &[u8]) -> Option<Box<[u8]>> {
        if self.encoder.row_has_null(&info.layout, row) {
            return None;
        }
        let mut key = Vec::new();
        self.encoder.encode_row(&info.layout, row, &mut key);
        Some(key.into())
    }

    /// True if new rows get an entry.
    pub(crate) fn takes_entries(&self) -> bool {
        self.state != IndexState::DeleteOnly
    }

    /// The entry of a row: the unique key's columns, then the primary key's.
    pub fn entry_of(&self, info: &TableAccessInfo, row: &[u8]) -> Box<[u8]> {
        let primary = info.definition.primary_key();
        let columns = self.parts.iter().chain(primary).map(|part| info.layout.column(row, part.column));
        let values: Vec<ValueRef<'_>> = columns.collect();
        let mut entry = Vec::new();
        self.hidden.layout.encode(&values, &mut entry);
        entry.into()
    }

    /// The primary key of the row that an entry (its columns behind the unique key's) points to.
    pub fn primary_key_in(&self, info: &TableAccessInfo, entry: &[u8]) -> Option<Box<[u8]>> {
        self.hidden.layout.check(entry).ok()?;
        let values = self.hidden.layout.decode(entry);
        let values: Vec<ValueRef<'_>> = values
            .iter()
            .skip(self.parts.len())
            .map(Value::as_ref)
            .take(info.definition.primary_key().len())
            .collect();
        if !info.primary_key.accepts(&values) {
            return None;
        }
        let mut key = Vec::new();
        info.primary_key.encode_values(&values, &mut key);
        Some(key.into())
    }
}

/// Adds the insertion of a row and its entries.
pub(crate) fn add_insert(
    set: &mut WriteSet,
    info: &TableAccessInfo,
    indexes: &HiddenIndexes,
    row: Box<[u8]>,
    number: usize,
) {
    for (position, index) in indexes.0.iter().enumerate() {
        if let Some(key) = index.key_of(info, &row).filter(|_| index.takes_entries()) {
            let entry = index.entry_of(info, &row);
            let insert = WriteOperation::Insert { key, row: entry, on_duplicate: OnDuplicate::Fail };
            set.add(&index.hidden, insert, Origin::entry(number, position));
        }
    }
    let key = primary_key_of(info, &row);
    let insert = WriteOperation::Insert { key, row, on_duplicate: OnDuplicate::Fail };
    set.add(info, insert, Origin::row(number));
}

/// Adds the deletion of a row that was locked and read, and of its entries.
pub(crate) fn add_delete(
    set: &mut WriteSet,
    info: &TableAccessInfo,
    indexes: &HiddenIndexes,
    row: &[u8],
    number: usize,
) {
    for (position, index) in indexes.0.iter().enumerate() {
        if let Some(key) = index.key_of(info, row) {
            let delete = WriteOperation::Delete { key, filter: None };
            set.add(&index.hidden, delete, Origin::entry(number, position));
        }
    }
    let delete = WriteOperation::Delete { key: primary_key_of(info, row), filter: None };
    set.add(info, delete, Origin::row(number));
}

/// Adds the change of a row that was locked and read into another, and of its entries.
pub(crate) fn add_change(
    set: &mut WriteSet,
    info: &TableAccessInfo,
    indexes: &HiddenIndexes,
    (old, new): (&[u8], Box<[u8]>),
    number: usize,
) {
    let (old_key, new_key) = (primary_key_of(info, old), primary_key_of(info, &new));
    for (position, index) in indexes.0.iter().enumerate() {
        let (before, after) =
            (index.key_of(info, old), index.key_of(info, &new).filter(|_| index.takes_entries()));
        let origin = Origin::entry(number, position);
        let table = &index.hidden;
        if before == after {
            if let Some(key) = after.filter(|_| old_key != new_key) {
                set.add(table, WriteOperation::Put { key, row: index.entry_of(info, &new) }, origin);
            }
            continue;
        }
        if let Some(key) = before {
            set.add(table, WriteOperation::Delete { key, filter: None }, origin);
        }
        if let Some(key) = after {
            let entry = index.entry_of(info, &new);
            let insert = WriteOperation::Insert { key, row: entry, on_duplicate: OnDuplicate::Fail };
            set.add(table, insert, origin);
        }
    }
    if old_key == new_key {
        set.add(info, WriteOperation::Put { key: new_key, row: new }, Origin::row(number));
    } else {
        let delete = WriteOperation::Delete { key: old_key, filter: None };
        set.add(info, delete, Origin::row(number));
        let insert = WriteOperation::Insert { key: new_key, row: new, on_duplicate: OnDuplicate::Fail };
        set.add(info, insert, Origin::row(number));
    }
}

/// 1062 for a row's key.
pub fn duplicate_error(
    info: &TableAccessInfo,
    indexes: &HiddenIndexes,
    entry: Option<u16>,
    row: &[u8],
    time_zone: i32,
) -> SqlError {
    const SHOWN_MAX: usize = 64;
    let (name, parts) = match entry.and_then(|entry| indexes.0.get(usize::from(entry))) {
        Some(index) => (index.name.as_str(), index.parts.as_slice()),
        None => ("PRIMARY", info.definition.primary_key()),
    };
    let mut shown = String::new();
    for (position, part) in parts.iter().enumerate() {
        if position > 0 {
            shown.push('-');
        }
        let column = info.definition.column_at(part.column);
        let value = match (info.layout.column(row, part.column), &column.sql_type) {
            (ValueRef::DateTime(moment), types::SqlType::Timestamp { .. }) => {
                ValueRef::DateTime(crate::row::shifted(moment, time_zone))
            }
            (value, _) => value,
        };
        if value.is_null() {
            shown.push_str("NULL");
        } else {
            shown.push_str(&crate::row::text_of(value, &column.sql_type));
        }
    }
    let shown: String = shown.chars().take(SHOWN_MAX).collect();
    SqlError::new(1062, format!("Duplicate entry '{shown}' for key '{}.{name}'", info.definition.name))
}
