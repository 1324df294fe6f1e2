//! The catalogue as sessions see it: an immutable snapshot of all databases, tables and users at one schema version.
//!
//! `catalogue` makes it from the rows of the system tables; every module of a node holds an `Arc` of the newest
//! installed one. Nodes without slots get it by `Signal::SchemaFetched`: whole, in parts (`parts`), or what changed.
//!
//! Names: databases and tables compare byte by byte, as on a MySQL server on Linux (`lower_case_table_names = 0`);
//! columns and indexes compare without case ([`TableDefinition::column`]).
//!
//! A copy of a schema shares its parts, and a change copies the parts that it touches. Parts are: a chunk of tables,
//! a chunk of names, all databases, all users, all grants, all variables, all views. So a schema that differs in one
//! table costs that table's chunks, however many tables there are.
//!
//! [`Schema::new`] and [`Schema::put_table`] keep these invariants, and parts from peers are held to them. Every
//! definition passed [`TableDefinition::check`]. `names` holds exactly the user and system tables of `tables`. Each of
//! these is in a database that exists. No two tables have one id or one name. A unique index's hidden table is there
//! and points back.

mod names;
mod parts;

use crate::account::{HostSpecificity, User, matches_host};
use crate::definition::DefinitionError;
use crate::{
    GrantTables, RankCounts, SchemaVersion, SlotTerms, TableChunks, TableDefinition, TableId, TableKind,
    TableSlots, ViewDefinition,
};
use names::TableNames;
pub use parts::{Assembled, SchemaAssembly, SchemaPart, SchemaParts};
use std::collections::BTreeMap;
use std::sync::Arc;
use wire_derive::Wire;

/// A database.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct Database {
    /// As written; compared as it is.
    pub name: String,
    /// Default collation of its tables.
    pub collation: crate::Collation,
}

/// A system variable that was set for the whole cluster: texts, as SHOW VARIABLES prints them.
#[derive(Clone, PartialEq, Eq, Debug, Default, Wire)]
pub struct GlobalVariable {
    /// SET GLOBAL, SET PERSIST: what sessions begin with.
    pub value: Option<String>,
    /// SET PERSIST, SET PERSIST_ONLY: what the cluster is to begin with.
    pub persisted: Option<String>,
}

/// All databases, tables and users at one version.
#[derive(Clone, Debug)]
pub struct Schema {
    /// Raised by every DDL step.
    pub version: SchemaVersion,
    /// By name.
    pub databases: Arc<BTreeMap<String, Database>>,
    /// Visible tables by database and name; hidden tables of unique indexes are not here.
    names: TableNames,
    /// All tables by id, system tables and hidden tables included.
    tables: TableChunks<Arc<TableDefinition>>,
    /// All users, by name and host.
    pub users: Arc<Vec<User>>,
    /// The privileges of accounts, and their roles.
    pub grants: Arc<GrantTables>,
    /// System variables that are not as the configuration has them, by name.
    pub variables: Arc<BTreeMap<String, GlobalVariable>>,
    /// By database and name.
    views: Arc<BTreeMap<(String, String), Arc<ViewDefinition>>>,
    /// How many tables use each rank of slots: of `tables`, as they are put in and taken out.
    ranks: RankCounts,
}

/// (`names` and `ranks` follow from the rest.)
impl PartialEq for Schema {
    fn eq(&self, other: &Self) -> bool {
        self.version == other.version
            && self.databases == other.databases
            && self.tables == other.tables
            && self.users == other.users
            && self.grants == other.grants
            && self.variables == other.variables
            && self.views == other.views
    }
}

/// Why databases, tables and users do not make a schema.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SchemaError {
    /// A definition is broken.
    Definition(TableId, DefinitionError),
    /// Two databases, tables or users have one name or id; the text says which.
    Duplicate(String),
    /// A table is in a database that does not exist.
    UnknownDatabase(TableId),
    /// A unique index and its hidden table do not name each other.
    HiddenTable(TableId),
}

impl Schema {
    /// A schema without anything.
    #[must_use]
    pub fn empty(version: SchemaVersion) -> Self {
        Self {
            version,
            databases: Arc::default(),
            names: TableNames::default(),
            tables: TableChunks::default(),
            users: Arc::default(),
            grants: Arc::default(),
            variables: Arc::default(),
            views: Arc::default(),
            ranks: RankCounts::default(),
        }
    }

    /// The schema of these databases, tables and users, if they keep this file's invariants.
    pub fn new(
        version: SchemaVersion,
        databases: impl IntoIterator<Item = Database>,
        tables: impl IntoIterator<Item = Arc<TableDefinition>>,
        users: impl IntoIterator<Item = User>,
    ) -> Result<Self, SchemaError> {
        let mut schema = Self::empty(version);
        databases.into_iter().try_for_each(|database| schema.add_database(database))?;
        tables.into_iter().try_for_each(|table| schema.add_table(table))?;
        users.into_iter().try_for_each(|user| schema.add_user(user))?;
        schema.check()?;
        Ok(schema)
    }

    /// Takes a database into a schema that is being made.
    pub fn add_database(&mut self, database: Database) -> Result<(), SchemaError> {
        match self.put_database(database) {
            Some(other) => Err(SchemaError::Duplicate(other.name)),
            None => Ok(()),
        }
    }

    /// Takes a table into a schema that is being made ([`Self::check`]).
    pub fn add_table(&mut self, table: Arc<TableDefinition>) -> Result<(), SchemaError> {
        table.check().map_err(|error| SchemaError::Definition(table.id, error))?;
        self.ranks.add(&table);
        let has_name = table.kind.is_named() && self.names.insert(Arc::clone(&table)).is_some();
        if self.tables.insert(table.id, Arc::clone(&table)).is_some() || has_name {
            return Err(SchemaError::Duplicate(table.name.clone()));
        }
        Ok(())
    }

    /// Takes a user into a schema that is being made.
    pub fn add_user(&mut self, user: User) -> Result<(), SchemaError> {
        match self.user_position(&user.name, &user.host) {
            Ok(_) => return Err(SchemaError::Duplicate(user.name)),
            Err(position) => Arc::make_mut(&mut self.users).insert(position, user),
        }
        Ok(())
    }

    /// Whether a schema is whole into which all was taken that belongs to it.
    pub fn check(&self) -> Result<(), SchemaError> {
        for table in self.tables.values() {
            if table.kind.is_named() && !self.databases.contains_key(&table.database) {
                return Err(SchemaError::UnknownDatabase(table.id));
            }
            let is_paired = |hidden: TableId| match self.tables.get(hidden).map(|hidden| hidden.kind) {
                Some(TableKind::UniqueIndex { base, .. }) => base == table.id,
                _ => false,
            };
            if !table.hidden_tables().all(is_paired) {
                return Err(SchemaError::HiddenTable(table.id));
            }
            if let TableKind::UniqueIndex { base, index } = table.kind {
                let index = self.tables.get(base).and_then(|base| base.index(index));
                if index.is_none_or(|index| index.kind != crate::IndexKind::Unique { table: table.id }) {
                    return Err(SchemaError::HiddenTable(table.id));
                }
            }
        }
        Ok(())
    }

    /// The database called `name`.
    #[must_use]
    pub fn database(&self, name: &str) -> Option<&Database> {
        self.databases.get(name)
    }

    /// Puts a database in, in place of the one of its name, which it gives.
    pub fn put_database(&mut self, database: Database) -> Option<Database> {
        Arc::make_mut(&mut self.databases).insert(database.name.clone(), database)
    }

    /// The table called `database`.`name`.
    #[must_use]
    pub fn table(&self, database: &str, name: &str) -> Option<&Arc<TableDefinition>> {
        self.names.get(database, name)
    }

    /// The table with this id, hidden ones included.
    #[must_use]
    pub fn table_by_id(&self, id: TableId) -> Option<&Arc<TableDefinition>> {
        self.tables.get(id)
    }

    /// All tables by id, system tables and hidden tables included.
    #[must_use]
    pub fn tables(&self) -> &TableChunks<Arc<TableDefinition>> {
        &self.tables
    }

    /// All visible tables, in order of database and name.
    pub fn named_tables(&self) -> impl Iterator<Item = &Arc<TableDefinition>> {
        self.names.iter()
    }

    /// The visible tables of a database, in order of their names.
    pub fn tables_of<'a>(&'a self, database: &'a str) -> impl Iterator<Item = &'a Arc<TableDefinition>> {
        self.names.from(database).take_while(move |table| table.database == database)
    }

    /// Puts a table in, in place of an older version of it.
    pub fn put_table(&mut self, table: Arc<TableDefinition>) {
        self.ranks.add(&table);
        if let Some(before) = self.tables.insert(table.id, Arc::clone(&table)) {
            self.ranks.remove(&before);
            if before.kind.is_named() {
                self.names.remove(&before);
            }
        }
        if table.kind.is_named() {
            self.names.insert(table);
        }
    }

    /// The view called `database`.`name`.
    #[must_use]
    pub fn view(&self, database: &str, name: &str) -> Option<&Arc<ViewDefinition>> {
        if self.views.is_empty() {
            return None;
        }
        self.views.get(&(database.to_owned(), name.to_owned()))
    }

    /// All views, in order of database and name.
    pub fn views(&self) -> impl Iterator<Item = &Arc<ViewDefinition>> {
        self.views.values()
    }

    /// The views of a database, in order of their names.
    pub fn views_of<'a>(&'a self, database: &'a str) -> impl Iterator<Item = &'a Arc<ViewDefinition>> {
        let from = self.views.range((database.to_owned(), String::new())..);
        from.map(|(_, view)| view).take_while(move |view| view.table.database == database)
    }

    /// Puts a view in, in place of the one of its name.
    pub fn put_view(&mut self, view: ViewDefinition) {
        let name = (view.table.database.clone(), view.table.name.clone());
        Arc::make_mut(&mut self.views).insert(name, Arc::new(view));
    }

    /// Takes a view out.
    pub fn remove_view(&mut self, database: &str, name: &str) {
        Arc::make_mut(&mut self.views).remove(&(database.to_owned(), name.to_owned()));
    }

    /// The slots of a table that is made now.
    #[must_use]
    pub fn slots_for_new_table(&self, terms: SlotTerms) -> TableSlots {
        self.ranks.choose(terms)
    }

    /// Takes a table out.
    pub fn remove_table(&mut self, id: TableId) {
        if let Some(table) = self.tables.remove(id) {
            self.ranks.remove(&table);
            if table.kind.is_named() {
                // While tables swap their names, another one may have it already: that stays.
                self.names.remove(&table);
            }
        }
    }

    /// Takes the parts of `known` that are equal to this schema's for its own: who compares the two sees what
    /// differs.
    pub fn share(&mut self, known: &Self) {
        for (id, table) in known.tables.iter() {
            if self.tables.get(id).is_some_and(|own| !Arc::ptr_eq(own, table) && own == table) {
                self.put_table(Arc::clone(table));
            }
        }
        self.share_rest(known);
    }

    /// The same without tables.
    fn share_rest(&mut self, known: &Self) {
        fn same<T: PartialEq>(own: &mut Arc<T>, known: &Arc<T>) {
            if own == known {
                *own = Arc::clone(known);
            }
        }
        same(&mut self.databases, &known.databases);
        same(&mut self.users, &known.users);
        same(&mut self.grants, &known.grants);
        same(&mut self.variables, &known.variables);
        same(&mut self.views, &known.views);
    }

    /// The account `name`@`host`, the host pattern taken as it was written.
    #[must_use]
    pub fn user(&self, name: &str, host: &str) -> Option<&User> {
        self.user_position(name, host).ok().map(|position| &self.users[position])
    }

    /// Puts an account in, in place of one with its name and host.
    pub fn put_user(&mut self, user: User) {
        match self.user_position(&user.name, &user.host) {
            Ok(position) => Arc::make_mut(&mut self.users)[position] = user,
            Err(position) => Arc::make_mut(&mut self.users).insert(position, user),
        }
    }

    /// Takes an account out.
    pub fn remove_user(&mut self, name: &str, host: &str) {
        if let Ok(position) = self.user_position(name, host) {
            Arc::make_mut(&mut self.users).remove(position);
        }
    }

    fn user_position(&self, name: &str, host: &str) -> Result<usize, usize> {
        self.users.binary_search_by(|user| (user.name.as_str(), user.host.as_str()).cmp(&(name, host)))
    }

    /// The account called `name` that a client known by any of `hosts` gets, the anonymous ones left aside.
    #[must_use]
    pub fn user_named(&self, name: &str, hosts: &[&str]) -> Option<&User> {
        let matches =
            |user: &&User| user.name == name && hosts.iter().any(|host| matches_host(&user.host, host));
        self.users.iter().filter(matches).max_by_key(|user| HostSpecificity::of(&user.host))
    }

    /// The account that a client called `name` gets, who is known by any of `hosts` (`localhost` and `127.0.0.1`, say).
    ///
    /// As in MySQL: of the accounts that match, the one with the most specific host, then a named one before the
    /// anonymous one.
    #[must_use]
    pub fn user_of_client(&self, name: &str, hosts: &[&str]) -> Option<&User> {
        let matches = |user: &&User| hosts.iter().any(|host| matches_host(&user.host, host));
        let specificity = |user: &&User| (HostSpecificity::of(&user.host), !user.name.is_empty());
        self.users_called("").iter().chain(self.users_called(name)).filter(matches).max_by_key(specificity)
    }

    /// The accounts of one name: users are in order of their names, so that a login does not look at all of them.
    fn users_called(&self, name: &str) -> &[User] {
        let from_name = &self.users[self.users.partition_point(|user| user.name.as_str() < name)..];
        &from_name[..from_name.partition_point(|user| user.name == name)]
    }
}

impl TableKind {
    /// True if SQL can name the table.
    #[must_use]
    pub const fn is_named(self) -> bool {
        matches!(self, TableKind::User | TableKind::System)
    }
}

#[cfg(test)]
mod tests;
