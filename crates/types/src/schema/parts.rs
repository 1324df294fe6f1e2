//! A schema on its way to another node: in parts, so that no call makes or takes all of it.
//!
//! Tables come first, in the order of their ids, [`TABLES_PER_PART`] in a part. Everything else comes with the last
//! part. [`SchemaParts`] makes them, [`SchemaAssembly`] puts them together.
//!
//! Invariants: what is put together passed the checks of every schema. Parts of two versions, and parts in another
//! order, make none. A table that is equal to the receiver's is the same object, so comparing the two schemas sees
//! what differs.

use super::{Database, GlobalVariable, Schema};
use crate::{
    DefaultRole, GrantRow, GrantTables, RoleEdge, SchemaVersion, TableDefinition, TableId, User,
    ViewDefinition,
};
use std::collections::BTreeMap;
use std::sync::Arc;
use wire_derive::Wire;

/// Tables in a part: their definitions are decoded in less than a millisecond.
const TABLES_PER_PART: usize = 64;

/// A part of a schema.
#[derive(Clone, PartialEq, Debug, Wire)]
pub struct SchemaPart {
    /// The version of the schema.
    pub version: SchemaVersion,
    /// Its number, from 0.
    pub number: u32,
    /// Its tables.
    tables: Vec<Arc<TableDefinition>>,
    /// In the last part: everything else.
    rest: Option<Box<SchemaRest>>,
}

impl SchemaPart {
    /// Whether nothing follows it.
    #[must_use]
    pub const fn is_last(&self) -> bool {
        self.rest.is_some()
    }
}

/// Everything that a schema has besides tables.
#[derive(Clone, PartialEq, Debug, Wire)]
struct SchemaRest {
    databases: Vec<Database>,
    users: Arc<Vec<User>>,
    grants: Vec<GrantRow>,
    role_edges: Vec<RoleEdge>,
    default_roles: Vec<DefaultRole>,
    variables: Vec<(String, GlobalVariable)>,
    views: Vec<Arc<ViewDefinition>>,
}

/// The parts of a schema, one after the other.
pub struct SchemaParts {
    schema: Arc<Schema>,
    number: u32,
    /// The table with which the next part begins; None behind the last part.
    next: Option<TableId>,
}

impl SchemaParts {
    /// The parts of a schema.
    #[must_use]
    pub fn of(schema: &Arc<Schema>) -> Self {
        Self { schema: Arc::clone(schema), number: 0, next: Some(TableId(0)) }
    }

    fn rest(&self) -> SchemaRest {
        let Schema { databases, users, grants, variables, views, .. } = &*self.schema;
        SchemaRest {
            databases: databases.values().cloned().collect(),
            users: Arc::clone(users),
            grants: grants.rows(),
            role_edges: grants.role_edges().collect(),
            default_roles: grants.default_roles().collect(),
            variables: variables.iter().map(|(name, variable)| (name.clone(), variable.clone())).collect(),
            views: views.values().map(Arc::clone).collect(),
        }
    }
}

impl Iterator for SchemaParts {
    type Item = SchemaPart;

    fn next(&mut self) -> Option<SchemaPart> {
        let mut tables = self.schema.tables.from(self.next?);
        let taken = tables.by_ref().take(TABLES_PER_PART).map(|(_, table)| Arc::clone(table)).collect();
        self.next = tables.next().map(|(id, _)| id);
        let rest = self.next.is_none().then(|| Box::new(self.rest()));
        let part = SchemaPart { version: self.schema.version, number: self.number, tables: taken, rest };
        self.number += 1;
        Some(part)
    }
}

/// A schema whose parts come one after the other.
pub struct SchemaAssembly {
    schema: Schema,
    next: u32,
}

/// The assembly behind a part.
pub enum Assembled {
    /// More parts belong to it.
    More(SchemaAssembly),
    /// The schema.
    Whole(Schema),
}

impl SchemaAssembly {
    /// An assembly that waits for the first part of this version.
    #[must_use]
    pub fn new(version: SchemaVersion) -> Self {
        Self { schema: Schema::empty(version), next: 0 }
    }

    /// Takes the next part. None: it is not the next one, or what it says makes no schema.
    #[must_use]
    pub fn add(mut self, part: SchemaPart, known: &Schema) -> Option<Assembled> {
        if (part.version, part.number) != (self.schema.version, self.next) {
            return None;
        }
        self.next += 1;
        for table in part.tables {
            let same = known.table_by_id(table.id).filter(|same| **same == table).map(Arc::clone);
            self.schema.add_table(same.unwrap_or(table)).ok()?;
        }
        let Some(rest) = part.rest else { return Some(Assembled::More(self)) };
        let mut schema = self.schema;
        rest.databases.into_iter().try_for_each(|database| schema.add_database(database)).ok()?;
        Arc::unwrap_or_clone(rest.users).into_iter().try_for_each(|user| schema.add_user(user)).ok()?;
        let mut grants = GrantTables::default();
        rest.grants.iter().for_each(|row| grants.put(row));
        rest.role_edges.iter().for_each(|edge| grants.put_role(edge));
        rest.default_roles.iter().for_each(|default| grants.put_default_role(default));
        schema.grants = Arc::new(grants);
        schema.variables = Arc::new(BTreeMap::from_iter(rest.variables));
        rest.views.into_iter().for_each(|view| schema.put_view(Arc::unwrap_or_clone(view)));
        schema.check().ok()?;
        schema.share_rest(known);
        Some(Assembled::Whole(schema))
    }
}
