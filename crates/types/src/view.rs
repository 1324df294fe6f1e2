//! Views: queries with names.
//!
//! A view's query is a text with all names in full, as MySQL prints it: it is bound anew by each statement that names
//! the view. Its columns are known as they were when the view was made; clients are shown these.

use crate::{Collation, TableDefinition, UserName};
use std::sync::Arc;
use wire_derive::Wire;

/// A view.
#[derive(Clone, PartialEq, Debug, Wire)]
pub struct ViewDefinition {
    /// Its database, name and columns, without keys. Its id is nobody's.
    pub table: Arc<TableDefinition>,
    /// The SELECT.
    pub query: String,
    /// The account that made it, or another one that it was made for.
    pub definer: UserName,
    /// The account whose privileges the query needs.
    pub security: ViewSecurity,
    /// ALGORITHM.
    pub algorithm: ViewAlgorithm,
    /// WITH CHECK OPTION.
    pub check: ViewCheck,
    /// Its rows are rows of tables, and it can take its place among the tables of a query.
    pub is_merged: bool,
    /// Rows of a table can be changed through it.
    pub is_updatable: bool,
    /// collation_connection: that of the literals of the query.
    pub collation: Collation,
    /// character_set_client.
    pub character_set: String,
}

impl ViewDefinition {
    /// Database and name.
    #[must_use]
    pub fn full_name(&self) -> (&str, &str) {
        (&self.table.database, &self.table.name)
    }
}

/// SQL SECURITY.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Wire)]
pub enum ViewSecurity {
    /// The definer's.
    #[default]
    Definer,
    /// Those of the account that names the view.
    Invoker,
}

impl ViewSecurity {
    /// As MySQL prints it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Definer => "DEFINER",
            Self::Invoker => "INVOKER",
        }
    }
}

/// ALGORITHM.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Wire)]
pub enum ViewAlgorithm {
    /// The server decides.
    #[default]
    Undefined,
    /// The view's tables take its place.
    Merge,
    /// Its rows are gathered.
    TempTable,
}

impl ViewAlgorithm {
    /// As MySQL prints it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Undefined => "UNDEFINED",
            Self::Merge => "MERGE",
            Self::TempTable => "TEMPTABLE",
        }
    }
}

/// WITH CHECK OPTION: the conditions that rows must meet that are written through the view.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Wire)]
pub enum ViewCheck {
    /// None.
    #[default]
    None,
    /// The view's own, and those of the views below it that have a check option.
    Local,
    /// The view's own and those of all views below it.
    Cascaded,
}

impl ViewCheck {
    /// As MySQL prints it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "NONE",
            Self::Local => "LOCAL",
            Self::Cascaded => "CASCADED",
        }
    }
}
