//! Definitions of temporary tables: the same checks as for other tables, but for one session, and without jobs.
//!
//! A request is looked at with a schema of its own: all databases, and of tables the temporary ones of the session
//! only. A temporary table may have the name of another table, and hides it.
//!
//! Deliberately not here: rows.

use crate::alter::{self, Rewritten};
use crate::error;
use crate::plan::{changeable_table, check_free};
use crate::request::{AlterAction, CreateTable, TableName};
use crate::table::{self, NewTable, TableIds};
use protocol::SqlError;
use protocol::program::StatementContext;
use types::{ColumnIndex, Schema, SlotTerms, TableDefinition, TableId, TableKind, TableSlots};

/// A table that is to be made.
#[derive(Clone, Debug)]
pub struct TemporaryTable {
    /// The table.
    pub table: TableDefinition,
    /// The hidden tables of its unique indexes.
    pub hidden: Vec<TableDefinition>,
    /// The first value that its AUTO_INCREMENT column draws.
    pub first: u64,
}

/// A table that takes the place of another one, whose rows are written again.
#[derive(Clone, Debug)]
pub struct AlteredTable {
    /// The table as it will be.
    pub to: TemporaryTable,
    /// For each column of it the one of the old table that has its values; None: it gets its default.
    pub columns: Vec<Option<ColumnIndex>>,
    /// Values are converted in it.
    pub context: StatementContext,
}

impl TemporaryTable {
    fn new(new: NewTable, first: u64) -> Self {
        Self { table: new.definition, hidden: new.hidden, first }
    }

    /// CREATE TEMPORARY TABLE; ids are given from `next` on.
    pub fn create(request: &CreateTable, schema: &Schema, next: TableId) -> Result<Self, SqlError> {
        check_free(schema, &request.table)?;
        let made = table::create(request, schema, &mut ids(next))?;
        Ok(Self::new(made, request.options.auto_increment.unwrap_or(1)))
    }

    /// CREATE TEMPORARY TABLE … LIKE.
    pub fn like(
        name: &TableName,
        like: &TableDefinition,
        schema: &Schema,
        next: TableId,
    ) -> Result<Self, SqlError> {
        check_free(schema, name)?;
        Ok(Self::new(table::copy(like, name, TableSlots::ONE_RANK, &mut ids(next)), 1))
    }

    /// TRUNCATE TABLE: the same table, empty.
    #[must_use]
    pub fn emptied(of: &TableDefinition, next: TableId) -> Self {
        let name = TableName::new(&of.database, &of.name);
        Self::new(table::copy(of, &name, TableSlots::ONE_RANK, &mut ids(next)), 1)
    }
}

impl AlteredTable {
    /// ALTER TABLE; None: nothing changes.
    pub fn new(
        name: &TableName,
        actions: &[AlterAction],
        schema: &Schema,
        next: TableId,
    ) -> Result<Option<Self>, SqlError> {
        changeable_table(schema, name)?;
        let rewritten = alter::rewritten(schema, name, actions, &mut ids(next))?;
        Ok(rewritten.map(|Rewritten { copy, hidden, columns, at_least, context }| {
            let table = TableDefinition { kind: TableKind::User, ..copy };
            let first = at_least.saturating_add(1);
            Self { to: TemporaryTable { table, hidden, first }, columns, context }
        }))
    }
}

/// The error for a temporary table that is not there.
#[must_use]
pub fn unknown_table(names: &str) -> SqlError {
    error::unknown_table(names)
}

fn ids(next: TableId) -> TableIds {
    TableIds { next, terms: SlotTerms { slots_per_node: 1, partitions_per_node: 1, groups: 1, replicas: 1 } }
}
