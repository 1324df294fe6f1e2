//! All virtual tables that there are.
//!
//! The makers of rows do not import this file: they find the tables in [`ShowContext`](super::ShowContext). Else each
//! of them would depend on all others.

use super::virtual_tables::{Layout, Registry};
use super::{information_schema, instruments, mysql, ndbinfo, performance_schema, sys};
use std::sync::{Arc, OnceLock};
use types::TableDefinition;

/// The declarations of all databases.
fn layouts() -> impl Iterator<Item = &'static Layout> {
    information_schema::TABLES
        .iter()
        .chain(instruments::TABLES)
        .chain(mysql::TABLES)
        .chain(ndbinfo::TABLES)
        .chain(performance_schema::TABLES)
        .chain(sys::TABLES)
}

/// All virtual tables.
pub(super) fn registry() -> &'static Registry {
    static REGISTRY: OnceLock<Registry> = OnceLock::new();
    REGISTRY.get_or_init(|| Registry::new(layouts()))
}

/// The definition that the binder sees of the virtual table of that name, in any case.
pub(crate) fn definition(database: &str, name: &str) -> Option<Arc<TableDefinition>> {
    registry().known(database, name).map(|known| Arc::clone(&known.definition))
}
