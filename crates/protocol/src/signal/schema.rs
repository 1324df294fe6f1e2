//! Steps of DDL: the users of tables that a step waits for.

use crate::program::TableRef;
use types::TableId;
use wire_derive::Wire;

/// The users of a table that count in [`super::Signal::SchemaInstall`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub struct TableUsers {
    /// The table.
    pub table: TableId,
    /// Those that are bound to an older version than this; None: all.
    pub older_than: Option<u32>,
}

impl TableUsers {
    /// All users of a table.
    #[must_use]
    pub const fn all(table: TableId) -> Self {
        Self { table, older_than: None }
    }

    /// Whether this use of a table counts.
    #[must_use]
    pub fn count(&self, used: TableRef) -> bool {
        self.table == used.id && self.older_than.is_none_or(|version| used.version < version)
    }
}

impl From<TableRef> for TableUsers {
    /// The users of older versions.
    fn from(table: TableRef) -> Self {
        Self { table: table.id, older_than: Some(table.version) }
    }
}
