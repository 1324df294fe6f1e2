//! How a virtual table is declared and found by name: its columns, and where its rows come from.
//!
//! Declarations are constants; the [`TableDefinition`]s that the binder sees are made from them once per process. They
//! have no index, not even a primary key: nothing but a scan reads them, and they are in no [`types::Schema`].

use super::ShowContext;
use super::pruning::Pruning;
use protocol::signal::InfoTable;
use std::collections::BTreeMap;
use std::sync::Arc;
use types::{
    BlobSize, Collation, ColumnDefinition, ColumnFlags, DefaultValue, IntegerWidth, NumberFormat, SqlType,
    TableDefinition, TableId, TableKind, Value,
};

/// The types that columns of virtual tables have. MySQL's ENUM and SET columns are texts here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// VARCHAR(64) that compares byte by byte: names of databases and tables.
    Identifier,
    /// VARCHAR of so many characters, case ignored.
    Text(u32),
    /// TEXT, MEDIUMTEXT or LONGTEXT: what may be longer.
    LongText(BlobSize),
    /// INT.
    Int,
    /// INT UNSIGNED.
    UnsignedInt,
    /// BIGINT.
    BigInt,
    /// BIGINT UNSIGNED.
    UnsignedBigInt,
    /// DECIMAL(9,6): seconds.
    Seconds,
    /// TIMESTAMP.
    Timestamp,
    /// DATETIME.
    DateTime,
}

/// VARCHAR(64): names that compare without case.
pub(super) const NAME: Kind = Kind::Text(64);

impl Kind {
    /// Its type in utf8mb3, as all text of MySQL's information_schema is.
    fn narrow_type(self) -> SqlType {
        match self {
            Kind::Identifier => SqlType::VarChar { length: 64, collation: narrow("bin") },
            Kind::Text(length) => SqlType::VarChar { length, collation: narrow("general_ci") },
            Kind::LongText(size) => SqlType::Text { size, collation: narrow("general_ci") },
            Kind::Int
            | Kind::UnsignedInt
            | Kind::BigInt
            | Kind::UnsignedBigInt
            | Kind::Seconds
            | Kind::Timestamp
            | Kind::DateTime => self.sql_type(),
        }
    }

    pub(super) fn sql_type(self) -> SqlType {
        let integer = |width, unsigned| SqlType::Integer { width, unsigned };
        let insensitive = Collation::Utf8mb4GeneralCi;
        match self {
            Kind::Identifier => SqlType::VarChar { length: 64, collation: Collation::Utf8mb4Bin },
            Kind::Text(length) => SqlType::VarChar { length, collation: insensitive },
            Kind::LongText(size) => SqlType::Text { size, collation: insensitive },
            Kind::Int => integer(IntegerWidth::Normal, false),
            Kind::UnsignedInt => integer(IntegerWidth::Normal, true),
            Kind::BigInt => integer(IntegerWidth::Big, false),
            Kind::UnsignedBigInt => integer(IntegerWidth::Big, true),
            Kind::Seconds => SqlType::Decimal { precision: 9, scale: 6, unsigned: false },
            Kind::Timestamp => SqlType::Timestamp { fraction: 0 },
            Kind::DateTime => SqlType::DateTime { fraction: 0 },
        }
    }
}

/// A utf8mb3 collation.
fn narrow(ending: &str) -> Collation {
    Collation::by_name(&format!("utf8mb3_{ending}")).unwrap_or(Collation::Utf8mb4Bin)
}

/// A column.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) nullable: bool,
}

/// A column that is never NULL.
pub(super) const fn column(name: &'static str, kind: Kind) -> Column {
    Column { name, kind, nullable: false }
}

/// A column that may be NULL.
pub(super) const fn nullable(name: &'static str, kind: Kind) -> Column {
    Column { name, kind, nullable: true }
}

/// Makes the rows of a table, or at least those that the hint does not rule out.
pub(super) type MakeRows = fn(&ShowContext<'_>, &Pruning<'_>) -> Vec<Vec<Value>>;

/// Makes a row of one that a node has answered.
pub(super) type Shape = fn(Vec<Value>) -> Option<Vec<Value>>;

/// Where rows come from.
#[derive(Clone, Copy)]
pub(super) enum Origin {
    /// There are none: nothing of the kind exists here.
    Nowhere,
    /// Made from what the session knows.
    Made(MakeRows),
    /// Nodes are asked.
    Asked(InfoTable, Respondents),
    /// All nodes are asked; a row is made of each answered one, or none.
    Shaped(InfoTable, Shape),
    /// All nodes are asked; rows of transactions of this node's sessions count, with the session's number in front.
    AskedForSessions(InfoTable),
}

/// The nodes that are asked for rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Respondents {
    /// Only this node's `main`: its rows are about all nodes.
    OwnNode,
    /// Every node's `main`.
    AllNodes,
}

/// A virtual table.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    pub(super) database: &'static str,
    /// As clients see it; compared without case.
    pub(super) name: &'static str,
    pub(super) columns: &'static [Column],
    pub(super) origin: Origin,
}

/// A table that is always empty.
pub(super) const fn empty(database: &'static str, name: &'static str, columns: &'static [Column]) -> Layout {
    Layout { database, name, columns, origin: Origin::Nowhere }
}

/// Databases of virtual tables.
pub(super) const VIRTUAL_DATABASES: [&str; 5] =
    ["information_schema", "mysql", "ndbinfo", "performance_schema", "sys"];

/// A declaration and its definition for the binder.
pub(super) struct Known {
    pub(super) layout: &'static Layout,
    pub(super) definition: Arc<TableDefinition>,
}

/// Virtual tables by database and name, both in lower case.
pub(crate) struct Registry(BTreeMap<(String, String), Known>);

impl Registry {
    pub(super) fn new(layouts: impl Iterator<Item = &'static Layout>) -> Self {
        // Ids from the top, where CREATE TABLE will never come.
        let numbered = (0..u32::MAX).map(|number| TableId(u32::MAX - number)).zip(layouts);
        let known = |(id, layout): (TableId, &'static Layout)| {
            let key = (layout.database.to_owned(), layout.name.to_ascii_lowercase());
            (key, Known { layout, definition: Arc::new(layout.definition(id)) })
        };
        Self(numbered.map(known).collect())
    }

    /// The table of that name, in any case.
    pub(super) fn known(&self, database: &str, name: &str) -> Option<&Known> {
        self.0.get(&(database.to_ascii_lowercase(), name.to_ascii_lowercase()))
    }

    /// All tables, by database and name.
    pub(super) fn all(&self) -> impl Iterator<Item = &Known> {
        self.0.values()
    }
}

impl Layout {
    fn definition(&self, id: TableId) -> TableDefinition {
        // Tools write `TABLE_SCHEMA COLLATE utf8_bin`, which is right of this character set only.
        let is_narrow = self.database == "information_schema";
        let sql_type = |kind: Kind| if is_narrow { kind.narrow_type() } else { kind.sql_type() };
        let column = |column: &Column| ColumnDefinition {
            name: column.name.to_owned(),
            sql_type: sql_type(column.kind),
            default: if column.nullable { DefaultValue::Literal(Value::Null) } else { DefaultValue::Missing },
            flags: ColumnFlags { nullable: column.nullable, ..ColumnFlags::default() },
            comment: String::new(),
            format: NumberFormat::default(),
            absent: None,
        };
        TableDefinition {
            id,
            version: 1,
            database: self.database.to_owned(),
            name: self.name.to_owned(),
            kind: TableKind::System,
            columns: self.columns.iter().map(column).collect(),
            indexes: Vec::new(),
            auto_increment: None,
            comment: String::new(),
            collation: Collation::Utf8mb4GeneralCi,
            slots: types::TableSlots::default(),
            copied_to: None,
            checks: Vec::new(),
        }
    }
}

/// A text.
pub(super) fn text(text: &str) -> Value {
    Value::text(text)
}

/// A text, or NULL.
pub(super) fn optional_text(text: Option<&str>) -> Value {
    text.map_or(Value::Null, Value::text)
}

/// A number, or NULL.
pub(super) fn optional_number(number: Option<u64>) -> Value {
    number.map_or(Value::Null, Value::UInt)
}

/// A count or position.
pub(super) fn count(number: usize) -> Value {
    Value::UInt(number as u64)
}

/// YES or NO.
pub(super) fn yes_or_no(truth: bool) -> Value {
    Value::text(if truth { "YES" } else { "NO" })
}
