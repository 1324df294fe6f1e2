//! The temporary tables of a session: their definitions and their rows.
//!
//! Each table, and the hidden table of each of its unique indexes, has one fragment that nobody else knows. To readers
//! and writers it lies in a slot of its own, [`SlotId::SESSION`]. `Cx` answers what is asked of that slot at once, so
//! every operator reads and changes temporary tables as it does others.
//!
//! The rows that a transaction changes are staged, all by one transaction id, which every read here sees. A list of
//! what was staged, in its order, undoes a statement, goes back to a savepoint, and rolls back. There are no locks, for
//! nobody else comes, and commits have no participant here.
//!
//! A table that a query fills has no name before it has its rows. A statement that fails drops what it has not named.
//!
//! Invariants: a row is staged exactly as long as it is in the list of a transaction that has not ended. A dropped
//! table's rows may be in the list; they are passed over. An id is never used twice in a session. All of it is charged
//! to QueryMemory.
//!
//! Deliberately not here: who may make tables, and what statements mean.

#[cfg(test)]
mod tests;

use memory::{Ledger, MemoryManager, Region, RegionFull};
use protocol::Budget;
use protocol::program::{Access, ReadProgram, Refusal, Results, TableRef, WriteOperation};
use protocol::signal::{ReadBatch, WriteFailure, WriteSummary};
use query::{
    BatchShape, ReadRun, ReadStep, RowBatchWriter, RowChange, TableAccessInfo, Warnings, evaluate_operation,
};
use std::collections::BTreeMap;
use std::sync::Arc;
use stdx::IdRange;
use storage::{Fragment, FragmentDefinition, Reader, RowHandle, VersionState, Visibility};
use types::{Epoch, Schema, SchemaVersion, SlotTerms, TableDefinition, TableId, TransactionId};

/// The one that stages rows of temporary tables.
const OWNER: TransactionId = TransactionId(0);
/// Readers of them see everything.
pub const OWN: Visibility = Visibility::Transaction(OWNER);
/// The epoch of rows of transactions that have ended.
const ENDED: Epoch = Epoch(1);
/// Bytes that a staged row costs beside its version: its place in the list, and the fragment's in its slab.
const STAGED_COST: u64 = 64;

/// A table with its rows.
#[derive(Debug)]
struct Kept {
    info: Arc<TableAccessInfo>,
    fragment: Fragment,
    reader: Reader,
}

/// A row that was staged.
#[derive(Clone, Copy, Debug)]
struct Staged {
    table: TableId,
    row: RowHandle,
    /// The transaction had nothing on the row before.
    is_first: bool,
}

/// The temporary tables of a session.
#[derive(Debug)]
pub struct TemporaryTables {
    memory: Arc<MemoryManager>,
    /// The memory of `staged`.
    ledger: Ledger,
    /// Those that SQL can name. There are no databases in it.
    named: Schema,
    /// All, hidden ones included.
    tables: BTreeMap<TableId, Kept>,
    next_id: TableId,
    staged: Vec<Staged>,
    /// How many were staged when the running statement began.
    statement_mark: usize,
}

impl TemporaryTables {
    /// A session without any.
    #[must_use]
    pub fn new(memory: &Arc<MemoryManager>) -> Self {
        Self {
            memory: Arc::clone(memory),
            ledger: Ledger::new(Arc::clone(memory), Region::QueryMemory),
            named: Schema::empty(SchemaVersion(0)),
            tables: BTreeMap::new(),
            next_id: TableId::FIRST_TEMPORARY,
            staged: Vec::new(),
            statement_mark: 0,
        }
    }

    // ---- tables -----------------------------------------------------------------------------------------------------

    /// The tables that SQL can name. There are no databases in it.
    #[must_use]
    pub fn named(&self) -> &Schema {
        &self.named
    }

    /// The next id of a table.
    #[must_use]
    pub fn next_id(&self) -> TableId {
        self.next_id
    }

    /// A table's access info; that of a hidden one, too.
    #[must_use]
    pub fn info(&self, table: TableId) -> Option<&Arc<TableAccessInfo>> {
        self.tables.get(&table).map(|kept| &kept.info)
    }

    /// A reader of a table.
    #[must_use]
    pub fn reader(&self, table: TableId) -> Option<&Reader> {
        self.tables.get(&table).map(|kept| &kept.reader)
    }

    /// About how many rows a table has.
    #[must_use]
    pub fn row_count(&self, table: TableId) -> Option<u64> {
        self.reader(table).map(Reader::row_count)
    }

    /// Makes a table and its hidden tables, without a name; `first` is the first value that its AUTO_INCREMENT column
    /// draws.
    pub fn create(&mut self, table: TableDefinition, hidden: Vec<TableDefinition>, first: u64) {
        for definition in hidden.into_iter().chain([table]) {
            stdx::require!(definition.id >= self.next_id, "ids of temporary tables rise");
            let definition = Arc::new(definition);
            let range = Arc::new(IdRange::default());
            range.refill(first.max(1), u64::MAX);
            let info = Arc::new(TableAccessInfo::new(&definition, SlotTerms::default(), range));
            let shape = Arc::new(FragmentDefinition::new(&definition));
            let fragment = Fragment::temporary(shape, Arc::clone(&self.memory));
            let reader = fragment.reader();
            self.tables.insert(definition.id, Kept { info, fragment, reader });
        }
        let last = self.tables.keys().next_back().copied().unwrap_or(self.next_id);
        self.next_id = TableId(last.0 + 1);
    }

    /// SQL can name a table from now on.
    pub fn name(&mut self, table: TableId) {
        if let Some(kept) = self.tables.get(&table) {
            self.named.put_table(Arc::clone(&kept.info.definition));
        }
    }

    /// Drops a table with its hidden tables.
    pub fn drop_table(&mut self, table: TableId) {
        let Some(dropped) = self.tables.remove(&table) else { return };
        for hidden in dropped.info.definition.hidden_tables() {
            self.tables.remove(&hidden);
        }
        self.named.remove_table(table);
    }

    /// Drops the tables that a statement has not named.
    fn drop_unnamed(&mut self) {
        let is_unnamed = |kept: &Kept| {
            let definition = &kept.info.definition;
            definition.kind.is_named() && self.named.table_by_id(definition.id).is_none()
        };
        let unnamed: Vec<TableId> =
            self.tables.iter().filter(|(_, kept)| is_unnamed(kept)).map(|(id, _)| *id).collect();
        unnamed.into_iter().for_each(|table| self.drop_table(table));
    }

    // ---- rows -------------------------------------------------------------------------------------------------------

    /// Does the operations in their order. Of a failure those before it stay staged.
    pub(crate) fn write(
        &mut self,
        table: TableRef,
        operations: &[WriteOperation],
    ) -> Result<WriteSummary, WriteFailure> {
        let warnings = Warnings::default();
        let mut results = Results::with_capacity(operations.len());
        for (number, operation) in (0..).zip(operations) {
            let result = self.write_one(table, operation, &warnings);
            results.push(result.map_err(|refusal| WriteFailure { operation: number, refusal })?);
        }
        Ok(WriteSummary { results, operations: 0, committed: None, raised: warnings.take_raised() })
    }

    fn write_one(
        &mut self,
        table: TableRef,
        operation: &WriteOperation,
        warnings: &Warnings,
    ) -> Result<protocol::program::OperationResult, Refusal> {
        let kept = self.tables.get_mut(&table.id).ok_or(Refusal::WrongSchema)?;
        let newest = kept.fragment.newest(operation.key());
        let is_first = !matches!(newest.state, Some(VersionState::Staged(_)));
        match evaluate_operation(operation, newest.row, &kept.info, warnings)? {
            RowChange::None(result) => Ok(result),
            RowChange::Stage(result, row) => {
                self.ledger.charge(STAGED_COST).map_err(full)?;
                let staged = kept.fragment.stage(operation.key(), OWNER, row.as_deref());
                let row = staged.map_err(|region| {
                    self.ledger.release(STAGED_COST);
                    full(region)
                })?;
                self.staged.push(Staged { table: table.id, row, is_first });
                Ok(result)
            }
        }
    }

    /// Reads at once, as much as one answer holds.
    pub(crate) fn read(&self, program: &Arc<ReadProgram>, access: Access) -> Result<ReadBatch, Refusal> {
        let kept = self.tables.get(&program.table.id).ok_or(Refusal::WrongSchema)?;
        let mut writer = RowBatchWriter::new(BatchShape::of(program));
        let mut run = ReadRun::new(Arc::clone(program), access);
        let mut budget = Budget::of(u32::MAX);
        let step = run.step(&kept.info, &kept.reader, OWN, &mut budget, &mut writer);
        let step: ReadStep = step.map_err(Refusal::Error)?;
        run.emit_groups(&mut writer);
        let (progress, raised) = (run.progress(step), run.take_raised());
        Ok(ReadBatch { rows: writer.finish(), progress, operations: 0, raised, granted: None })
    }

    // ---- transactions -----------------------------------------------------------------------------------------------

    /// How many rows the transaction has staged.
    pub(crate) fn mark(&self) -> usize {
        self.staged.len()
    }

    /// A statement begins.
    pub(crate) fn start_statement(&mut self) {
        self.statement_mark = self.staged.len();
    }

    /// Undoes what the statement did; tables that it has named stay.
    pub(crate) fn undo_statement(&mut self) {
        self.undo_to(self.statement_mark);
        self.drop_unnamed();
    }

    /// Undoes what was staged since there were so many.
    pub(crate) fn undo_to(&mut self, mark: usize) {
        let undone = self.staged.len().saturating_sub(mark) as u64;
        while self.staged.len() > mark
            && let Some(staged) = self.staged.pop()
        {
            if let Some(kept) = self.tables.get_mut(&staged.table) {
                kept.fragment.unstage(staged.row, OWNER);
            }
        }
        self.ledger.release(undone * STAGED_COST);
        self.statement_mark = self.statement_mark.min(mark);
    }

    /// The transaction is committed: what it staged stays.
    pub(crate) fn publish(&mut self) {
        if self.staged.is_empty() {
            return;
        }
        for staged in self.staged.iter().filter(|staged| staged.is_first) {
            if let Some(kept) = self.tables.get_mut(&staged.table) {
                kept.fragment.commit(staged.row, OWNER, ENDED);
            }
        }
        self.ledger.release(self.staged.len() as u64 * STAGED_COST);
        // A large transaction's list is not kept.
        self.staged = Vec::new();
        self.statement_mark = 0;
    }
}

fn full(full: RegionFull) -> Refusal {
    Refusal::RegionFull { region: full.region.name().to_owned() }
}
