//! Changes on their way to the primaries: gathered by partition and table, sent together, answered together.
//!
//! In each request deletes come first, so that a unique key that one row gives up can be taken by another of the same request, whatever
//! the order of the rows.
//!
//! Invariants: nothing is sent twice; [`WriteSet::poll`] gives results only when every request is answered; of several failures the one of
//! the first row is reported.
#![expect(clippy::wildcard_enum_match_arm, reason = "an answer of another kind is a failure like any other")]

use super::locked_reader::lost_lock;
use super::row_builder::primary_key_of;
use super::{Cx, Failure, failure_of, table_ref};
use crate::inbox::Reply;
use protocol::SqlError;
use protocol::program::{OnDuplicate, OperationResult, Refusal, TableRef, WriteOperation};
use protocol::signal::RequestId;
use query::TableAccessInfo;
use std::sync::Arc;
use types::{IndexKind, IndexState, KeyEncoder, PartitionId, TableDefinition, Value, ValueRef};

/// Operations of one request at most.
const REQUEST_OPERATIONS: usize = 1024;
/// Bytes of one request at most (one larger operation makes a request of its own).
const REQUEST_BYTES: usize = 1 << 20;

/// What an operation is for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Origin {
    /// The row, by its number in the statement or batch.
    pub(crate) row: u32,
    /// None: the row itself; else an entry of the n-th unique index of [`HiddenIndexes`].
    pub(crate) entry: Option<u16>,
}

impl Origin {
    /// The row itself.
    pub(crate) fn row(row: usize) -> Self {
        Self { row: u32::try_from(row).unwrap_or(u32::MAX), entry: None }
    }

    /// An entry of a unique index.
    pub(crate) fn entry(row: usize, entry: usize) -> Self {
        Self { entry: u16::try_from(entry).ok(), ..Self::row(row) }
    }
}

struct Group {
    partition: PartitionId,
    table: TableRef,
    deletes: Vec<(WriteOperation, Origin)>,
    others: Vec<(WriteOperation, Origin)>,
}

struct OpenRequest {
    request: RequestId,
    partition: PartitionId,
    origins: Vec<Origin>,
    is_alone: bool,
}

/// What became of all operations.
#[derive(Debug, Default)]
pub(crate) struct WriteOutcome {
    pub(crate) results: Vec<(Origin, OperationResult)>,
    /// The first row's failure.
    pub(crate) failed: Option<(Origin, FailedWrite)>,
}

/// Why an operation failed.
#[derive(Debug)]
pub(crate) enum FailedWrite {
    Refused(Refusal),
    /// The node is lost, and what it held.
    Lost,
    /// The request carried the commit and was not answered.
    Unknown,
}

/// The set.
#[derive(Default)]
pub(crate) struct WriteSet {
    groups: Vec<Group>,
    open: Vec<OpenRequest>,
    outcome: WriteOutcome,
}

impl WriteSet {
    /// Adds an operation on a row of `table`.
    pub(crate) fn add(
        &mut self,
        table: &TableDefinition,
        operation: WriteOperation,
        origin: Origin,
        cx: &Cx<'_, '_>,
    ) {
        let partition = cx.env.module.map.partition_of_key(table, operation_key(&operation));
        let reference = table_ref(table);
        let known =
            self.groups.iter().position(|group| group.partition == partition && group.table.id == table.id);
        let position = known.unwrap_or_else(|| {
            self.groups.push(Group { partition, table: reference, deletes: Vec::new(), others: Vec::new() });
            self.groups.len() - 1
        });
        let group = &mut self.groups[position];
        if matches!(operation, WriteOperation::Delete { .. }) {
            group.deletes.push((operation, origin));
        } else {
            group.others.push((operation, origin));
        }
    }

    /// Sends everything; if `is_whole` (nothing else belongs to this transaction) and one request is enough, it carries the commit.
    pub(crate) fn send(&mut self, is_whole: bool, cx: &mut Cx<'_, '_>) -> Result<(), Failure> {
        let groups = std::mem::take(&mut self.groups);
        let is_single = groups.len() == 1
            && groups.iter().all(|group| group.deletes.len() + group.others.len() <= REQUEST_OPERATIONS);
        let is_alone = is_whole && is_single && cx.is_alone();
        for group in groups {
            let mut operations = Vec::new();
            let mut origins = Vec::new();
            let mut bytes = 0;
            for (operation, origin) in group.deletes.into_iter().chain(group.others) {
                if !is_alone && (operations.len() >= REQUEST_OPERATIONS || bytes >= REQUEST_BYTES) {
                    let full = (std::mem::take(&mut operations), std::mem::take(&mut origins));
                    self.send_request(group.partition, group.table, full, false, cx)?;
                    bytes = 0;
                }
                bytes += operation_size(&operation);
                operations.push(operation);
                origins.push(origin);
            }
            self.send_request(group.partition, group.table, (operations, origins), is_alone, cx)?;
        }
        Ok(())
    }

    fn send_request(
        &mut self,
        partition: PartitionId,
        table: TableRef,
        (operations, origins): (Vec<WriteOperation>, Vec<Origin>),
        is_alone: bool,
        cx: &mut Cx<'_, '_>,
    ) -> Result<(), Failure> {
        let request = cx.write(partition, table, operations, is_alone)?;
        self.open.push(OpenRequest { request, partition, origins, is_alone });
        Ok(())
    }

    /// What became of everything that was sent; None while answers are missing.
    pub(crate) fn poll(&mut self, cx: &mut Cx<'_, '_>) -> Option<WriteOutcome> {
        let mut still_open = Vec::new();
        for open in std::mem::take(&mut self.open) {
            match cx.core.inbox.take(open.request) {
                None => still_open.push(open),
                Some(reply) => self.on_reply(open, reply, cx),
            }
        }
        self.open = still_open;
        self.open.is_empty().then(|| std::mem::take(&mut self.outcome))
    }

    fn on_reply(&mut self, open: OpenRequest, reply: Reply, cx: &mut Cx<'_, '_>) {
        match reply {
            Reply::Write(Ok(summary)) => {
                cx.keep_raised(summary.raised);
                match summary.committed {
                    Some(epoch) => {
                        cx.core.transaction.see(epoch);
                        cx.core.transaction.end();
                        cx.env.module.counters.commits += 1;
                    }
                    None => cx.core.transaction.holds(open.partition, summary.operations),
                }
                self.outcome.results.extend(open.origins.into_iter().zip(summary.results));
            }
            Reply::Write(Err(failure)) => {
                if open.is_alone {
                    // The participant has undone it.
                    cx.core.transaction.end();
                }
                let origin = open.origins.get(failure.operation as usize).copied().unwrap_or(Origin::row(0));
                self.fail(origin, FailedWrite::Refused(failure.refusal));
            }
            // A commit whose outcome the participant itself cannot know any more.
            Reply::Commit(_) | Reply::Lost if open.is_alone => {
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
    /// As the statement fails by it; duplicates are for the caller, who knows the row.
    pub(crate) fn into_failure(self, table: &str) -> Failure {
        match self {
            FailedWrite::Refused(refusal) => failure_of(refusal, table),
            FailedWrite::Lost => lost_lock(),
            FailedWrite::Unknown => Failure::OutcomeUnknown,
        }
    }
}

fn operation_key(operation: &WriteOperation) -> &[u8] {
    match operation {
        WriteOperation::Insert { key, .. }
        | WriteOperation::Put { key, .. }
        | WriteOperation::Update { key, .. }
        | WriteOperation::Delete { key, .. } => key,
    }
}

fn operation_size(operation: &WriteOperation) -> usize {
    match operation {
        WriteOperation::Insert { key, row, .. } | WriteOperation::Put { key, row } => {
            key.len() + row.len() + 32
        }
        // Each operation carries its program when it travels.
        WriteOperation::Update { key, program } => key.len() + 32 + parameters_size(&program.context),
        WriteOperation::Delete { key, filter } => {
            key.len() + 32 + filter.as_ref().map_or(0, |filter| parameters_size(&filter.context))
        }
    }
}

/// What a statement's parameters take, roughly: the part of a program that a client can make large.
fn parameters_size(context: &protocol::program::StatementContext) -> usize {
    let size =
        |value: &types::Value| if let types::Value::Bytes(bytes) = value { bytes.len() + 8 } else { 16 };
    context.parameters.iter().map(size).sum()
}

/// A unique index of a table, with the hidden table that holds its entries.
pub(crate) struct HiddenIndex {
    pub(crate) name: String,
    pub(crate) hidden: Arc<TableAccessInfo>,
    /// Of its key in rows of the base table.
    pub(crate) encoder: KeyEncoder,
    parts: Vec<types::KeyPart>,
    state: IndexState,
}

/// The unique indexes of a table, in whatever state.
pub(crate) struct HiddenIndexes(pub(crate) Vec<HiddenIndex>);

impl HiddenIndexes {
    pub(crate) fn of(info: &TableAccessInfo, cx: &Cx<'_, '_>) -> Result<Self, Failure> {
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

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// True if one of these columns is part of a unique index.
    pub(crate) fn have_column(&self, column: types::ColumnIndex) -> bool {
        self.0.iter().any(|index| index.parts.iter().any(|part| part.column == column))
    }
}

impl HiddenIndex {
    /// The key of a row's entry; None if it has none because of a NULL.
    pub(crate) fn key_of(&self, info: &TableAccessInfo, row: &[u8]) -> Option<Box<[u8]>> {
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
    pub(crate) fn entry_of(&self, info: &TableAccessInfo, row: &[u8]) -> Box<[u8]> {
        let primary = info.definition.primary_key();
        let columns = self.parts.iter().chain(primary).map(|part| info.layout.column(row, part.column));
        let values: Vec<ValueRef<'_>> = columns.collect();
        let mut entry = Vec::new();
        self.hidden.layout.encode(&values, &mut entry);
        entry.into()
    }

    /// The primary key of the row that an entry (its columns behind the unique key's) points to.
    pub(crate) fn primary_key_in(&self, info: &TableAccessInfo, entry: &[u8]) -> Option<Box<[u8]>> {
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
    cx: &Cx<'_, '_>,
) {
    for (position, index) in indexes.0.iter().enumerate() {
        if let Some(key) = index.key_of(info, &row).filter(|_| index.takes_entries()) {
            let entry = index.entry_of(info, &row);
            let insert = WriteOperation::Insert { key, row: entry, on_duplicate: OnDuplicate::Fail };
            set.add(&index.hidden.definition, insert, Origin::entry(number, position), cx);
        }
    }
    let key = primary_key_of(info, &row);
    let insert = WriteOperation::Insert { key, row, on_duplicate: OnDuplicate::Fail };
    set.add(&info.definition, insert, Origin::row(number), cx);
}

/// Adds the deletion of a row that was locked and read, and of its entries.
pub(crate) fn add_delete(
    set: &mut WriteSet,
    info: &TableAccessInfo,
    indexes: &HiddenIndexes,
    row: &[u8],
    number: usize,
    cx: &Cx<'_, '_>,
) {
    for (position, index) in indexes.0.iter().enumerate() {
        if let Some(key) = index.key_of(info, row) {
            let delete = WriteOperation::Delete { key, filter: None };
            set.add(&index.hidden.definition, delete, Origin::entry(number, position), cx);
        }
    }
    let delete = WriteOperation::Delete { key: primary_key_of(info, row), filter: None };
    set.add(&info.definition, delete, Origin::row(number), cx);
}

/// Adds the change of a row that was locked and read into another, and of its entries.
pub(crate) fn add_change(
    set: &mut WriteSet,
    info: &TableAccessInfo,
    indexes: &HiddenIndexes,
    (old, new): (&[u8], Box<[u8]>),
    number: usize,
    cx: &Cx<'_, '_>,
) {
    let (old_key, new_key) = (primary_key_of(info, old), primary_key_of(info, &new));
    for (position, index) in indexes.0.iter().enumerate() {
        let (before, after) =
            (index.key_of(info, old), index.key_of(info, &new).filter(|_| index.takes_entries()));
        let origin = Origin::entry(number, position);
        let table = &index.hidden.definition;
        if before == after {
            if let Some(key) = after.filter(|_| old_key != new_key) {
                set.add(table, WriteOperation::Put { key, row: index.entry_of(info, &new) }, origin, cx);
            }
            continue;
        }
        if let Some(key) = before {
            set.add(table, WriteOperation::Delete { key, filter: None }, origin, cx);
        }
        if let Some(key) = after {
            let entry = index.entry_of(info, &new);
            let insert = WriteOperation::Insert { key, row: entry, on_duplicate: OnDuplicate::Fail };
            set.add(table, insert, origin, cx);
        }
    }
    if old_key == new_key {
        set.add(&info.definition, WriteOperation::Put { key: new_key, row: new }, Origin::row(number), cx);
    } else {
        let delete = WriteOperation::Delete { key: old_key, filter: None };
        set.add(&info.definition, delete, Origin::row(number), cx);
        let insert = WriteOperation::Insert { key: new_key, row: new, on_duplicate: OnDuplicate::Fail };
        set.add(&info.definition, insert, Origin::row(number), cx);
    }
}

/// 1062 for a row's key.
pub(crate) fn duplicate_error(
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
                ValueRef::DateTime(crate::results::shifted(moment, time_zone))
            }
            (value, _) => value,
        };
        if value.is_null() {
            shown.push_str("NULL");
        } else {
            shown.push_str(&crate::results::text_of(value, &column.sql_type));
        }
    }
    let shown: String = shown.chars().take(SHOWN_MAX).collect();
    SqlError::new(1062, format!("Duplicate entry '{shown}' for key '{}.{name}'", info.definition.name))
}
