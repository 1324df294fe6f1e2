//! The catalogue: databases, tables, indexes and users as rows of system tables, and DDL as resumable jobs made of
//! schema versions.
//!
//! The catalogue has no storage of its own. It is rows of the system tables ([`system`]) in slot 0, which lives on
//! every data node. Ordinary transactions write them. The definitions of the system tables themselves are compiled in.
//! A [`types::Schema`] is one reading of these rows at one schema version.
//!
//! | file | what |
//! | --- | --- |
//! | request.rs | [`DdlRequest`]: what a DDL statement asks for, as the binder understood it |
//! | job.rs | [`DdlJob`]: the statement as resumable steps; the whole argument why DDL is online and safe |
//! | plan.rs, alter.rs, accounts.rs | from request to steps, with MySQL's checks (error.rs) |
//! | table.rs, key.rs, check.rs | the parts of a table |
//! | system.rs | the system tables, their codecs, and the first rows of a cluster |
//! | grant.rs | GRANT, REVOKE, roles |
//! | rows.rs | [`SchemaBuilder`]: rows → `Schema`; [`SchemaChange`]: a change of both |
//! | temporary.rs | tables of one session, which are no part of any schema |
//! | show.rs | SHOW CREATE TABLE and COLUMN_TYPE texts |
//!
//! Deliberately not here: SQL text, sessions, transactions, signals. The session that runs a job does what its steps
//! say.

pub mod accounts;
mod alter;
mod check;
mod error;
mod grant;
pub mod job;
mod key;
mod metadata;
mod plan;
pub mod request;
pub mod rows;
pub mod show;
pub mod system;
mod table;
pub mod temporary;

pub use job::{DdlJob, Ids, JobName, JobOutcome, JobStep, Journal, StepWrite, TableCopy};
pub use request::{
    AccountOptions, AlterAction, Authentication, CheckSpec, ColumnSpec, CreateTable, Credential, DdlRequest,
    DefaultRoles, DefaultSpec, GrantLevel, KeyPartSpec, KeySpec, KeySpecKind, MetadataOption, Nullability,
    PrivilegeChange, RoleChange, Secret, TableName, TableOptions, UserName, UserSpec, VariableChange,
    VariableSetting, ViewRequest, ViewVerb,
};
pub use rows::{CatalogueError, SchemaBuilder, SchemaChange, SchemaChanges};
pub use show::{column_default_text, column_type_text, show_create_database, show_create_table};
pub use system::{RESERVED_DATABASES, SYSTEM_DATABASE, SystemTables, SystemWrite, bootstrap, bootstrap_rows};
