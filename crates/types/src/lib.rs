//! The vocabulary of the database: ids, SQL types, values, collations, table and index definitions, and the two encodings
//! that storage works on: order-preserving key bytes and row bytes.
//!
//! Deliberately not here: expressions and conversions with MySQL's coercion rules (`expression`), and anything that
//! knows where data lives (`query::NodeMap`).

pub mod definition;
pub mod ids;
pub mod sql_type;
pub mod value;

pub use definition::{
    ColumnDefinition, ColumnFlags, DefaultValue, IndexDefinition, IndexKind, IndexState, KeyPart, TableDefinition, TableKind,
};
pub use ids::{
    BUCKET_COUNT, ColumnIndex, Epoch, Incarnation, IndexId, NodeId, PartitionId, SchemaVersion, Sequence, TableId,
    TransactionId, ViewNumber,
};
pub use sql_type::{BlobSize, Collation, IntegerWidth, SqlType};
pub use value::{Value, ValueRef};
