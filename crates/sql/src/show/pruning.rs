//! Which databases and tables a WHERE over a virtual table can be about, so that rows about all others need not be
//! made.
//!
//! Tools ask for one table at a time (`WHERE TABLE_SCHEMA = 'd' AND TABLE_NAME LIKE 't'`), and a catalogue may have
//! thousands. The conditions that read nothing but the columns of the database's and the table's name are evaluated on
//! these two before anything else is made.
//!
//! Invariant: only a hint. Omitted rows do not match the filter. The caller filters the others again, and there an
//! error of evaluation is reported.

use expression::{ColumnSlot, Context, Expression, Node, Warnings};
use types::{TableDefinition, Value};

/// Names of the columns that hold a database's name; a virtual table has at most one that rows are made by.
const DATABASE_COLUMNS: [&str; 3] = ["TABLE_SCHEMA", "CONSTRAINT_SCHEMA", "SCHEMA_NAME"];

/// The hint.
pub(super) struct Pruning<'a> {
    conditions: Vec<&'a Expression>,
    /// A copy: warnings are for the evaluation that counts.
    context: Option<Context<'a>>,
    database: Option<ColumnSlot>,
    table: Option<ColumnSlot>,
    column_count: usize,
}

impl<'a> Pruning<'a> {
    /// Everything is wanted.
    pub(super) fn none() -> Self {
        Self { conditions: Vec::new(), context: None, database: None, table: None, column_count: 0 }
    }

    /// The hint in a filter over `definition`.
    pub(super) fn of(filter: &'a Expression, definition: &TableDefinition, context: &'a Context<'a>) -> Self {
        let slot = |name: &str| definition.column(name).map(|column| ColumnSlot(column.0));
        let database = DATABASE_COLUMNS.iter().find_map(|name| slot(name));
        let table = slot("TABLE_NAME");
        let is_about_names = |condition: &&Expression| {
            let columns = condition.columns();
            !columns.is_empty() && columns.iter().all(|column| [database, table].contains(&Some(*column)))
        };
        let conjuncts: Vec<&Expression> =
            if let Node::And(conjuncts) = &filter.node { conjuncts.iter().collect() } else { vec![filter] };
        Self {
            conditions: conjuncts.into_iter().filter(is_about_names).collect(),
            context: Some(Context { warnings: Warnings::default(), ..context.clone() }),
            database,
            table,
            column_count: definition.columns.len(),
        }
    }

    /// Rows about this database may be wanted, as far as conditions on the database alone say.
    pub(super) fn wants_database(&self, database: &str) -> bool {
        self.wants(database, None)
    }

    /// Rows about this table may be wanted.
    pub(super) fn wants_table(&self, database: &str, table: &str) -> bool {
        self.wants(database, Some(table))
    }

    fn wants(&self, database: &str, table: Option<&str>) -> bool {
        let Some(context) = self.context.as_ref().filter(|_| !self.conditions.is_empty()) else {
            return true;
        };
        let mut row = vec![Value::Null; self.column_count];
        let mut put = |slot: Option<ColumnSlot>, name: &str| {
            if let Some(slot) = slot {
                row[slot.index()] = Value::text(name);
            }
        };
        put(self.database, database);
        if let Some(table) = table {
            put(self.table, table);
        }
        let may_hold = |condition: &&Expression| {
            let is_open =
                table.is_none() && condition.columns().iter().any(|column| Some(*column) == self.table);
            is_open || condition.is_true(&row, context).unwrap_or(true)
        };
        self.conditions.iter().all(may_hold)
    }
}
