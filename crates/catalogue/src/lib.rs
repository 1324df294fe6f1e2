//! The catalogue: databases, tables, indexes and users as rows of system tables, and DDL as resumable jobs made of schema versions.
//!
//! The catalogue has no storage of its own. It is rows of the system tables ([`system`]) in partition 0, which lives on every data node,
//! written by ordinary transactions; the definitions of the system tables themselves are compiled in. A [`types::Schema`] is one reading
//! of these rows at one schema version.
//!
//! | file | what |
//! | --- | --- |
//! | request.rs | [`DdlRequest`]: what a DDL statement asks for, as the binder understood it |
//!
//! Deliberately not here: SQL text, sessions, transactions, signals. The session that runs a job does what its steps say.

pub mod request;

pub use request::{
    AlterAction, ColumnSpec, CreateTable, DdlRequest, DefaultSpec, KeyPartSpec, KeySpec, KeySpecKind,
    Nullability, TableName, TableOptions, UserName, UserSpec,
};
