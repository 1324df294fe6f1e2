//! The definition of a table: columns, keys, indexes. Definitions are immutable; a DDL step makes a new one with a
//! higher version.
//!
//! [`TableDefinition::check`] is asked of everything that comes as bytes, where it is decoded. Invariants of a
//! definition that passed it: it has columns of valid types with defaults of these types. Its first index is the
//! primary key, the only one of that kind, over columns that are NOT NULL. The hidden table of a unique index is the
//! exception: its key bytes must be those of the base table's index, nullable columns included. Rows with a NULL in
//! them have no entry there. All key parts name columns that the table has.
//!
//! Deliberately not here: the limits and messages of DDL (`catalogue`), and expressions (stored encoded).

use crate::form::Form;
use crate::{Collation, ColumnIndex, Decimal, IndexId, IntegerWidth, SqlType, TableId, TableSlots, Value};
use wire_derive::Wire;

/// The value that DEFAULT gives.
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
    /// DEFAULT (expression).
    Expression {
        /// The encoded `expression::Expression`, bound to the table's columns.
        #[wire(bytes)]
        encoded: Vec<u8>,
        /// As SHOW CREATE TABLE prints it, without the parentheses around it.
        text: String,
    },
    /// GENERATED ALWAYS AS (expression): every row has this value, whatever a statement says.
    Generated {
        /// The encoded `expression::Expression`, bound to the table's columns.
        #[wire(bytes)]
        encoded: Vec<u8>,
        /// As SHOW CREATE TABLE prints it, without the parentheses around it.
        text: String,
        /// STORED. (VIRTUAL ones are stored, too: this is how they are shown.)
        is_stored: bool,
    },
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

/// The declaration of a column of numbers besides its type: how it is shown, and what FLOAT and DOUBLE round to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Wire)]
pub struct NumberFormat {
    /// Digits shown: the n of `INT(n)`, the M of `FLOAT(M,D)`.
    pub width: Option<u16>,
    /// The D of `FLOAT(M,D)`; only beside a width.
    pub scale: Option<u8>,
    /// UNSIGNED of FLOAT and DOUBLE; other types have it themselves.
    pub unsigned: bool,
    /// ZEROFILL; the column is unsigned.
    pub zerofill: bool,
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
    /// The format of numbers.
    #[wire(since = 6)]
    pub format: NumberFormat,
    /// The value of rows that were written before the column was added. None: there are no such rows, or they show the
    /// default, which has not changed since.
    #[wire(since = 7)]
    pub absent: Option<Value>,
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
    /// An ordered index in the row's own slot.
    Ordered,
}

/// A CHECK constraint.
#[derive(Clone, PartialEq, Debug, Wire)]
pub struct CheckConstraint {
    /// Unique in the database, without regard to case.
    pub name: String,
    /// The encoded `expression::Expression`, bound to the table's columns.
    #[wire(bytes)]
    pub encoded: Vec<u8>,
    /// As SHOW CREATE TABLE prints it, without the parentheses around it.
    pub text: String,
    /// Rows are held to it.
    pub is_enforced: bool,
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

/// The purpose of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub enum TableKind {
    /// Made by CREATE TABLE.
    User,
    /// A part of the catalogue, in slot 0.
    System,
    /// The entries of a unique index: its first columns are the unique key (its primary key), the rest the base table's
    /// primary key.
    UniqueIndex {
        /// The base table.
        base: TableId,
        /// The index of the base table.
        index: IndexId,
    },
    /// Rows of another table, copied by an ALTER TABLE that is under way, as they are to be afterwards. It has no name
    /// for SQL.
    Copy {
        /// The table that it will replace.
        of: TableId,
    },
    /// Made by a CREATE TABLE … SELECT that is under way. It has no name for SQL before it has its rows.
    New,
}

impl TableKind {
    /// The number and the name of NDB's dictionary for such objects.
    #[must_use]
    pub const fn dictionary_type(self) -> (u64, &'static str) {
        match self {
            Self::System => (1, "System table"),
            Self::User => (2, "User table"),
            Self::UniqueIndex { .. } => (3, "Unique hash index"),
            Self::Copy { .. } | Self::New => (2, "User table"),
        }
    }
}

impl TableDefinition {
    /// Its name in NDB's dictionary: `database/def/name`.
    #[must_use]
    pub fn dictionary_name(&self) -> String {
        format!("{}/def/{}", self.database, self.name)
    }
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
    /// The purpose of the table.
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
    /// Where its partitions lie.
    #[wire(since = 7)]
    pub slots: TableSlots,
    /// An ALTER TABLE copies its rows into this table: nobody may change or lock them until that has ended.
    #[wire(since = 7)]
    pub copied_to: Option<TableId>,
    /// CHECK constraints, in the order of their names.
    #[wire(since = 7)]
    pub checks: Vec<CheckConstraint>,
}

/// The fault of a definition that came as bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DefinitionError {
    /// No columns, or more than [`COLUMN_COUNT_MAX`] and the hidden ones.
    ColumnCount,
    /// A type with a precision, length or member count that no column can have.
    ColumnType,
    /// A default that is not of its column's type.
    ColumnDefault,
    /// An index without parts, over columns that are not there, or with the id of another.
    Index,
    /// No primary key, two of them, or one over nullable columns.
    PrimaryKey,
    /// The AUTO_INCREMENT column is none.
    AutoIncrement,
    /// It has no slots, or is a system table that has some.
    Slots,
}

/// Columns of a table, hidden ones not counted.
pub const COLUMN_COUNT_MAX: usize = 4_096;
/// Columns of a key.
pub const KEY_PART_COUNT_MAX: usize = 16;
/// Keys of a table besides the primary key.
pub const INDEX_COUNT_MAX: usize = 64;

impl SqlType {
    /// The collation of a type of characters; `None` for numbers, moments and bytes.
    pub fn character_collation(&self) -> Option<Collation> {
        match self {
            SqlType::Char { collation, .. }
            | SqlType::VarChar { collation, .. }
            | SqlType::Text { collation, .. }
            | SqlType::Enum { collation, .. }
            | SqlType::Set { collation, .. } => Some(*collation),
            SqlType::Null
            | SqlType::Integer { .. }
            | SqlType::Float
            | SqlType::Double
            | SqlType::Decimal { .. }
            | SqlType::Bit { .. }
            | SqlType::Binary { .. }
            | SqlType::VarBinary { .. }
            | SqlType::Blob { .. }
            | SqlType::Date
            | SqlType::Time { .. }
            | SqlType::DateTime { .. }
            | SqlType::Timestamp { .. }
            | SqlType::Year
            | SqlType::Json => None,
        }
    }

    /// Whether its values are strings, of characters or bytes; ENUM and SET are none, and JSON is none.
    #[must_use]
    pub fn is_string(&self) -> bool {
        match self {
            SqlType::Char { .. }
            | SqlType::VarChar { .. }
            | SqlType::Text { .. }
            | SqlType::Binary { .. }
            | SqlType::VarBinary { .. }
            | SqlType::Blob { .. } => true,
            SqlType::Null
            | SqlType::Integer { .. }
            | SqlType::Float
            | SqlType::Double
            | SqlType::Decimal { .. }
            | SqlType::Bit { .. }
            | SqlType::Enum { .. }
            | SqlType::Set { .. }
            | SqlType::Date
            | SqlType::Time { .. }
            | SqlType::DateTime { .. }
            | SqlType::Timestamp { .. }
            | SqlType::Year
            | SqlType::Json => false,
        }
    }

    /// Whether rows and index keys that were written with the type `before` are right with this one, too.
    #[must_use]
    pub fn extends(&self, before: &SqlType) -> bool {
        match (before, self) {
            (
                SqlType::VarChar { length: old, collation: from },
                SqlType::VarChar { length: new, collation: to },
            ) => old <= new && from == to,
            (SqlType::VarBinary { length: old }, SqlType::VarBinary { length: new }) => old <= new,
            (
                SqlType::Enum { members: old, collation: from },
                SqlType::Enum { members: new, collation: to },
            )
            | (
                SqlType::Set { members: old, collation: from },
                SqlType::Set { members: new, collation: to },
            ) => new.starts_with(old) && from == to,
            (before, after) => before == after,
        }
    }

    /// True if a column can be of this type: precision, scale, fraction and members are in their limits.
    #[must_use]
    pub fn is_valid_column(&self) -> bool {
        match self {
            SqlType::Null => false,
            SqlType::Decimal { precision, scale, .. } => {
                (1..=Decimal::PRECISION_MAX).contains(precision)
                    && *scale <= Decimal::SCALE_MAX.min(*precision)
            }
            SqlType::Bit { length } => (1..=64).contains(length),
            SqlType::Enum { members, .. } => (1..=usize::from(u16::MAX)).contains(&members.len()),
            SqlType::Set { members, .. } => (1..=64).contains(&members.len()),
            SqlType::Time { fraction } | SqlType::DateTime { fraction } | SqlType::Timestamp { fraction } => {
                *fraction <= 6
            }
            SqlType::Integer { .. }
            | SqlType::Float
            | SqlType::Double
            | SqlType::Char { .. }
            | SqlType::VarChar { .. }
            | SqlType::Binary { .. }
            | SqlType::VarBinary { .. }
            | SqlType::Text { .. }
            | SqlType::Blob { .. }
            | SqlType::Date
            | SqlType::Year
            | SqlType::Json => true,
        }
    }
}

impl IntegerWidth {
    /// Digits and sign of the longest number.
    #[must_use]
    pub fn digits(self, unsigned: bool) -> u16 {
        let (signed_digits, unsigned_digits) = match self {
            IntegerWidth::Tiny => (4, 3),
            IntegerWidth::Small => (6, 5),
            IntegerWidth::Medium => (9, 8),
            IntegerWidth::Normal => (11, 10),
            IntegerWidth::Big => (20, 20),
        };
        if unsigned { unsigned_digits } else { signed_digits }
    }
}

impl NumberFormat {
    /// The most characters that a number of this type shows, as the protocol tells it; 0 for what is no number.
    #[must_use]
    pub fn display_width(&self, sql_type: &SqlType) -> u16 {
        let of_type = match sql_type {
            SqlType::Integer { width, unsigned } => width.digits(*unsigned),
            SqlType::Float => 12,
            SqlType::Double => 22,
            SqlType::Decimal { precision, scale, unsigned } => {
                u16::from(*precision) + u16::from(!*unsigned) + u16::from(*scale > 0)
            }
            SqlType::Null
            | SqlType::Bit { .. }
            | SqlType::Char { .. }
            | SqlType::VarChar { .. }
            | SqlType::Binary { .. }
            | SqlType::VarBinary { .. }
            | SqlType::Text { .. }
            | SqlType::Blob { .. }
            | SqlType::Enum { .. }
            | SqlType::Set { .. }
            | SqlType::Date
            | SqlType::Time { .. }
            | SqlType::DateTime { .. }
            | SqlType::Timestamp { .. }
            | SqlType::Year
            | SqlType::Json => 0,
        };
        self.width.unwrap_or(of_type)
    }
}

impl ColumnDefinition {
    /// True for GENERATED ALWAYS AS.
    #[must_use]
    pub fn is_generated(&self) -> bool {
        matches!(self.default, DefaultValue::Generated { .. })
    }

    fn check(&self) -> Result<(), DefinitionError> {
        if !self.sql_type.is_valid_column() {
            return Err(DefinitionError::ColumnType);
        }
        let default = if let DefaultValue::Literal(value) = &self.default { Some(value) } else { None };
        let is_fit = |value: &Value| {
            Form::of(&self.sql_type).accepts(value.as_ref()) && (self.flags.nullable || !value.is_null())
        };
        if default.into_iter().chain(&self.absent).all(is_fit) {
            Ok(())
        } else {
            Err(DefinitionError::ColumnDefault)
        }
    }
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
            .position(|column| !column.flags.hidden && equal_without_case(&column.name, name))?;
        u16::try_from(position).ok().map(ColumnIndex)
    }

    /// The definition of a column of this table.
    #[must_use]
    pub fn column_at(&self, column: ColumnIndex) -> &ColumnDefinition {
        &self.columns[usize::from(column.0)]
    }

    /// The columns that SQL sees, with their positions.
    pub fn visible_columns(&self) -> impl Iterator<Item = (ColumnIndex, &ColumnDefinition)> {
        let numbered = (0..).map(ColumnIndex).zip(&self.columns);
        numbered.filter(|(_, column)| !column.flags.hidden)
    }

    /// The index with this id.
    #[must_use]
    pub fn index(&self, id: IndexId) -> Option<&IndexDefinition> {
        self.indexes.iter().find(|index| index.id == id)
    }

    /// The index in use that is called `name`, without regard to case. The primary key over a hidden row id has no name
    /// for SQL.
    #[must_use]
    pub fn index_by_name(&self, name: &str) -> Option<&IndexDefinition> {
        self.public_indexes().find(|index| equal_without_case(&index.name, name))
    }

    /// The indexes that SQL sees and the planner may use: public ones, without the primary key over a hidden row id.
    pub fn public_indexes(&self) -> impl Iterator<Item = &IndexDefinition> {
        let visible = |part: &KeyPart| !self.column_at(part.column).flags.hidden;
        self.indexes
            .iter()
            .filter(move |index| index.state == IndexState::Public && index.parts.iter().all(visible))
    }

    /// True if it has a primary key: a definition in the making may have none yet.
    #[must_use]
    pub fn has_primary_key(&self) -> bool {
        self.indexes.first().is_some_and(|index| index.kind == IndexKind::Primary)
    }

    /// True if its rows are keyed by a hidden row id, because no primary key was declared.
    #[must_use]
    pub fn has_hidden_row_id(&self) -> bool {
        self.primary_key().iter().any(|part| self.column_at(part.column).flags.hidden)
    }

    /// The tables that hold the entries of its unique indexes, in whatever state these are.
    pub fn hidden_tables(&self) -> impl Iterator<Item = TableId> + '_ {
        self.indexes.iter().filter_map(|index| match index.kind {
            IndexKind::Unique { table } => Some(table),
            IndexKind::Primary | IndexKind::Ordered => None,
        })
    }

    /// True if rows draw values from the table's sequence: for an AUTO_INCREMENT column, or for the hidden row id.
    #[must_use]
    pub fn has_sequence(&self) -> bool {
        self.columns.iter().any(|column| column.default == DefaultValue::AutoIncrement)
    }

    /// Says whether the definition keeps what this file promises.
    pub fn check(&self) -> Result<(), DefinitionError> {
        if !(1..=COLUMN_COUNT_MAX + KEY_PART_COUNT_MAX).contains(&self.columns.len()) {
            return Err(DefinitionError::ColumnCount);
        }
        let TableSlots { ranks, groups, .. } = self.slots;
        let has_slots = ranks > 0 && groups > 0;
        if has_slots == (self.kind == TableKind::System) {
            return Err(DefinitionError::Slots);
        }
        self.columns.iter().try_for_each(ColumnDefinition::check)?;
        for (position, index) in self.indexes.iter().enumerate() {
            let is_known = |part: &KeyPart| usize::from(part.column.0) < self.columns.len();
            let is_repeated = self.indexes[..position].iter().any(|earlier| earlier.id == index.id);
            if index.parts.is_empty() || !index.parts.iter().all(is_known) || is_repeated {
                return Err(DefinitionError::Index);
            }
            if (index.kind == IndexKind::Primary) != (position == 0) {
                return Err(DefinitionError::PrimaryKey);
            }
        }
        let primary = self.indexes.first().ok_or(DefinitionError::PrimaryKey)?;
        let is_nullable = |part: &KeyPart| self.column_at(part.column).flags.nullable;
        let may_be_nullable = matches!(self.kind, TableKind::UniqueIndex { .. });
        if primary.id != IndexId(0) || (!may_be_nullable && primary.parts.iter().any(is_nullable)) {
            return Err(DefinitionError::PrimaryKey);
        }
        match self.auto_increment {
            Some(column) => match self.columns.get(usize::from(column.0)) {
                Some(column) if column.default == DefaultValue::AutoIncrement => Ok(()),
                _ => Err(DefinitionError::AutoIncrement),
            },
            None => Ok(()),
        }
    }
}

/// How column, index and user variable names compare.
#[must_use]
pub fn equal_without_case(left: &str, right: &str) -> bool {
    if left.is_ascii() && right.is_ascii() {
        left.eq_ignore_ascii_case(right)
    } else {
        left.to_lowercase() == right.to_lowercase()
    }
}
