//! What a table is: columns, keys, indexes. Definitions are immutable; a DDL step makes a new one with a higher version.

use crate::{ColumnIndex, IndexId, SqlType, TableId, Value};
use wire_derive::Wire;

/// What DEFAULT gives.
#[derive(Clone, PartialEq, Debug, Wire)]
pub enum DefaultValue {
    /// NOT NULL without DEFAULT: an INSERT must name the column (1364).
    Missing,
    /// A literal, already of the column's type (NULL included).
    Literal(Value),
    /// CURRENT_TIMESTAMP.
    CurrentTimestamp,
    /// AUTO_INCREMENT, or the hidden row id.
    AutoIncrement,
    /// DEFAULT (expression), stored encoded (`expression::Expression`).
    Expression(#[wire(bytes)] Vec<u8>),
}

/// Properties of a column that are on or off.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Wire)]
pub struct ColumnFlags {
    /// NULL is allowed.
    pub nullable: bool,
    /// Not visible to SQL: the row id of a table without a primary key.
    pub hidden: bool,
    /// ON UPDATE CURRENT_TIMESTAMP.
    pub on_update_now: bool,
}

/// A column.
#[derive(Clone, PartialEq, Debug, Wire)]
pub struct ColumnDefinition {
    /// As written in CREATE TABLE; compared without case.
    pub name: String,
    /// Its type.
    pub sql_type: SqlType,
    /// Its default.
    pub default: DefaultValue,
    /// On or off.
    pub flags: ColumnFlags,
    /// COMMENT.
    pub comment: String,
}

/// One column of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub struct KeyPart {
    /// Which column.
    pub column: ColumnIndex,
    /// Index only this many characters (bytes for binary types).
    pub prefix_length: Option<u32>,
    /// DESC.
    pub descending: bool,
}

/// How an index is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub enum IndexKind {
    /// The rows' own key: hash and ordered.
    Primary,
    /// A hidden table keyed by the unique key (rows with a NULL in it have no entry), plus an ordered index for ranges.
    Unique {
        /// The hidden table.
        table: TableId,
    },
    /// An ordered index in the row's own partition.
    Ordered,
}

/// How far an index is on its way in or out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub enum IndexState {
    /// Deletes keep it right, inserts do not fill it.
    DeleteOnly,
    /// Writes keep it right, readers do not use it; backfill runs.
    WriteOnly,
    /// In use.
    Public,
}

/// An index.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct IndexDefinition {
    /// Unique in the table, never used again.
    pub id: IndexId,
    /// `PRIMARY`, or as written.
    pub name: String,
    /// Primary, unique or ordered.
    pub kind: IndexKind,
    /// Its columns in order.
    pub parts: Vec<KeyPart>,
    /// Progress of CREATE INDEX or DROP INDEX.
    pub state: IndexState,
}

/// What a table serves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub enum TableKind {
    /// Made by CREATE TABLE.
    User,
    /// A part of the catalogue, in partition 0.
    System,
    /// The entries of a unique index: its first columns are the unique key (its primary key), the rest the base table's primary key.
    UniqueIndex {
        /// The base table.
        base: TableId,
        /// The index of the base table.
        index: IndexId,
    },
}

/// A table.
#[derive(Clone, PartialEq, Debug, Wire)]
pub struct TableDefinition {
    /// Unique in the cluster, never used again.
    pub id: TableId,
    /// Raised by every DDL step on this table; statements carry it.
    pub version: u32,
    /// Its database.
    pub database: String,
    /// Its name.
    pub name: String,
    /// What it serves.
    pub kind: TableKind,
    /// All columns, hidden ones last.
    pub columns: Vec<ColumnDefinition>,
    /// All indexes; the first is the primary key.
    pub indexes: Vec<IndexDefinition>,
    /// The AUTO_INCREMENT column.
    pub auto_increment: Option<ColumnIndex>,
    /// COMMENT.
    pub comment: String,
    /// Default collation of new string columns.
    pub collation: crate::Collation,
}

impl TableDefinition {
    /// The primary key's parts. Every table has a primary key: a hidden row id if none was declared.
    #[must_use]
    pub fn primary_key(&self) -> &[KeyPart] {
        &self.indexes[0].parts
    }

    /// The position of the column called `name`, without regard to case; hidden columns have no name for SQL.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<ColumnIndex> {
        let position = self
            .columns
            .iter()
            .position(|column| !column.flags.hidden && column.name.to_lowercase() == name.to_lowercase())?;
        u16::try_from(position).ok().map(ColumnIndex)
    }
}
