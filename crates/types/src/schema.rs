//! The catalogue as sessions see it: an immutable snapshot of all databases, tables and users at one schema version.
//!
//! `catalogue` makes it from the rows of the system tables; every module of a node holds an `Arc` of the newest installed one.

use crate::{SchemaVersion, TableDefinition, TableId};
use std::collections::BTreeMap;
use std::sync::Arc;
use wire_derive::Wire;

/// A user that may connect.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct User {
    /// Name.
    pub name: String,
    /// Host pattern: `%`, `localhost`, an address.
    pub host: String,
    /// `caching_sha2_password` or `mysql_native_password`.
    pub plugin: String,
    /// The stored verifier, as the plugin defines it; empty if there is no password.
    #[wire(bytes)]
    pub verifier: Vec<u8>,
}

/// A database.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct Database {
    /// As written; compared as it is.
    pub name: String,
    /// Default collation of its tables.
    pub collation: crate::Collation,
}

/// All databases, tables and users at one version.
#[derive(Clone, PartialEq, Debug)]
pub struct Schema {
    /// Raised by every DDL step.
    pub version: SchemaVersion,
    /// By name.
    pub databases: BTreeMap<String, Database>,
    /// Visible tables by database and name; hidden tables of unique indexes are not here.
    pub names: BTreeMap<(String, String), TableId>,
    /// All tables by id, system tables and hidden tables included.
    pub tables: BTreeMap<TableId, Arc<TableDefinition>>,
    /// All users.
    pub users: Vec<User>,
}

impl Schema {
    /// The table called `database`.`name`.
    #[must_use]
    pub fn table(&self, database: &str, name: &str) -> Option<&Arc<TableDefinition>> {
        let id = self.names.get(&(database.to_owned(), name.to_owned()))?;
        self.tables.get(id)
    }
}
