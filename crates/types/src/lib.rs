//! The vocabulary of the database: ids, SQL types, values, collations, table and index definitions, and the two
//! encodings that storage works on: order-preserving key bytes and row bytes.
//!
//! Deliberately not here: expressions and conversions with MySQL's coercion rules (`expression`), and anything that
//! knows where data lives (`query::NodeMap`).

pub mod account;
pub mod character_set;
pub mod chunks;
pub mod collation;
pub mod decimal;
pub mod definition;
mod form;
pub mod ids;
pub mod key;
mod node_set;
mod plain_column;
pub mod privilege;
mod recode;
pub mod row;
pub mod schema;
pub mod sql_type;
pub mod store;
mod table_modifiers;
mod table_slots;
pub mod temporal;
pub mod text;
pub mod value;
pub mod view;

pub use account::{
    AccountAttributes, PasswordLifetime, PasswordLockTime, RequiredSecurity, ResourceLimits, User,
};
pub use character_set::{CharacterSet, MalformedAt};
pub use chunks::TableChunks;
pub use collation::{COLLATION_VERSION, Collation, CollationName};
pub use decimal::{Decimal, DecimalError, DecimalRef, OutOfRange};
pub use definition::{
    COLUMN_COUNT_MAX, CheckConstraint, ColumnDefinition, ColumnFlags, DefaultValue, DefinitionError,
    INDEX_COUNT_MAX, IndexDefinition, IndexKind, IndexState, KEY_PART_COUNT_MAX, KeyPart, NumberFormat,
    TableDefinition, TableKind, equal_without_case,
};
pub use ids::{
    BUCKET_COUNT, ColumnIndex, Epoch, Incarnation, IndexId, NodeId, RestartNumber, SchemaVersion, Sequence,
    SlotId, TableId, TransactionId, ViewNumber,
};
pub use key::{KeyEncoder, successor_of_prefix};
pub use node_set::NodeSet;
pub use plain_column::{NullBit, NumberColumn, NumberKind, TextColumn};
pub use privilege::{
    AdminOption, DefaultRole, DynamicPrivileges, GrantPlace, GrantRow, GrantTables, Grants, PrivilegeSet,
    Privileges, RoleEdge, TableGrants, UserName, quote_name,
};
pub use recode::recoded;
pub use row::{RowError, RowLayout};
pub use schema::{
    Assembled, Database, GlobalVariable, Schema, SchemaAssembly, SchemaError, SchemaPart, SchemaParts,
};
pub use sql_type::{BlobSize, IntegerWidth, SqlType};
pub use store::{
    IncorrectKind, Severity, StoreError, StoreMode, Stored, TemporalKind, implicit_default,
    is_stored_unchanged, store, store_in_column, store_with_warning,
};
pub use table_modifiers::TableModifiers;
pub use table_slots::{RankCounts, SlotPosition, SlotTerms, TableSlots};
pub use temporal::{Date, DateMode, DateTime, Interval, Parsed, Time, WeekMode};
pub use text::{format_double, format_float, format_number, format_text, parse_double};
pub use value::{Value, ValueRef};
pub use view::{ViewAlgorithm, ViewCheck, ViewDefinition, ViewSecurity};
