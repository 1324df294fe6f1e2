//! Which column a name means.
//!
//! Invariant: names of columns, aliases and tables in a statement compare without case (table names in FROM do not: the
//! catalogue decides).

use crate::bind::{Clause, is_virtual_database};
use expression::{ColumnSlot, Expression};
use protocol::SqlError;
use std::cell::{Cell, OnceCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;
use types::{ColumnIndex, TableDefinition};

/// A table, or the new row of ON DUPLICATE KEY UPDATE, as names see it.
#[derive(Clone, Debug)]
pub(crate) struct ScopeTable {
    /// Its alias or name.
    pub(crate) alias: String,
    /// Its database, if it may be qualified by it.
    pub(crate) database: Option<String>,
    /// Its columns.
    pub(crate) definition: Arc<TableDefinition>,
    /// Other names for its visible columns (`AS new(a, b)`).
    pub(crate) column_names: Vec<String>,
    /// The slot of its first column.
    pub(crate) first_slot: u16,
    /// How strong the collations of its columns are; empty: as those of a table.
    pub(crate) coercibilities: Vec<u8>,
    /// Its rows may be missing: each column may be NULL then.
    pub(crate) is_optional: bool,
    /// Its rows are those of a stored or virtual table.
    pub(crate) is_table: bool,
    /// It is a view: privileges on its columns are asked for.
    pub(crate) is_view: bool,
    /// The columns of a merged view, over the slots of its tables.
    pub(crate) items: Option<Arc<Vec<Expression>>>,
}

impl ScopeTable {
    /// The only table of a statement.
    pub(crate) fn new(definition: Arc<TableDefinition>, alias: Option<&str>) -> Self {
        let database = alias.is_none().then(|| definition.database.clone());
        let alias = alias.map_or_else(|| definition.name.clone(), str::to_owned);
        // `database.alias.column` is right for an alias too.
        let database = database.or_else(|| Some(definition.database.clone()));
        Self {
            alias,
            database,
            definition,
            column_names: Vec::new(),
            first_slot: 0,
            coercibilities: Vec::new(),
            is_optional: false,
            is_table: true,
            is_view: false,
            items: None,
        }
    }

    pub(crate) fn column(&self, name: &str) -> Option<ColumnIndex> {
        if self.column_names.is_empty() {
            return self.definition.column(name);
        }
        let position = self.column_names.iter().position(|own| same_name(own, name))?;
        u16::try_from(position).ok().map(ColumnIndex)
    }

    /// The names of its columns.
    fn names(&self) -> Box<dyn Iterator<Item = (ColumnIndex, &str)> + '_> {
        if self.column_names.is_empty() {
            let visible = self.definition.visible_columns();
            return Box::new(visible.map(|(column, definition)| (column, definition.name.as_str())));
        }
        Box::new((0..).map(ColumnIndex).zip(self.column_names.iter().map(String::as_str)))
    }

    pub(crate) fn is_meant_by(&self, qualifier: &[&str]) -> bool {
        match qualifier {
            [] => true,
            [table] => same_name(table, &self.alias),
            [database, table] => {
                let is_same = |own: &str| is_virtual_database(database) && own.eq_ignore_ascii_case(database);
                let is_own = |own: &str| own == *database || is_same(own);
                same_name(table, &self.alias) && self.database.as_deref().is_some_and(is_own)
            }
            _ => false,
        }
    }

    /// A column's name in full: behind its table's alias, or behind its database and table.
    pub(crate) fn full_name(&self, column: ColumnIndex) -> Vec<String> {
        let name = match self.column_names.get(usize::from(column.0)) {
            Some(name) => name.clone(),
            None => self.definition.column_at(column).name.clone(),
        };
        let has_alias = self.alias != self.definition.name || !(self.is_table || self.is_view);
        let database = self.database.iter().filter(|_| !has_alias).cloned();
        database.chain([self.alias.clone(), name]).collect()
    }

    /// Whether the slot is that of a column of it.
    pub(crate) fn has_slot(&self, slot: ColumnSlot) -> bool {
        slot.0.checked_sub(self.first_slot).is_some_and(|at| usize::from(at) < self.definition.columns.len())
    }

    /// A column as an expression.
    pub(crate) fn expression(&self, column: ColumnIndex) -> Expression {
        let definition = &self.definition.columns[usize::from(column.0)];
        let slot = ColumnSlot(self.first_slot + column.0);
        let nullable = definition.flags.nullable || self.is_optional;
        let expression = Expression::column(slot, definition.sql_type.clone(), nullable);
        match self.coercibilities.get(usize::from(column.0)) {
            Some(coercibility) => expression.as_coercible(*coercibility),
            None => expression,
        }
    }
}

/// All that names may mean.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    pub(crate) tables: Vec<ScopeTable>,
    /// The columns that `*` and names without qualifiers mean; empty: all. A column of USING or of a natural join is
    /// here once.
    pub(crate) visible: Vec<Visible>,
    index: LazyIndex,
}

/// Columns by name, made when many names were looked for among many columns.
#[derive(Clone, Debug, Default)]
struct LazyIndex {
    columns: OnceCell<Rc<NamedColumns>>,
    look_ups: Cell<usize>,
}

/// Names that are looked for one by one; and columns that are compared with each of them.
const SEARCH_COUNT_MAX: usize = 32;
const SEARCHED_COLUMN_COUNT_MAX: usize = 64;

/// The columns that a name may mean.
enum Named {
    Nothing,
    One(Visible),
    Several,
}

impl Named {
    fn of(mut columns: impl Iterator<Item = Visible>) -> Self {
        match (columns.next(), columns.next()) {
            (None, _) => Self::Nothing,
            (Some(column), None) => Self::One(column),
            (Some(_), Some(_)) => Self::Several,
        }
    }
}

#[derive(Debug)]
struct NamedColumns {
    /// By folded name, in the order of the tables.
    all: BTreeMap<String, Vec<Visible>>,
    visible: BTreeSet<Visible>,
}

/// A column of a table of the scope.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Visible {
    /// Position of the table.
    pub(crate) table: usize,
    pub(crate) column: ColumnIndex,
}

impl Scope {
    /// One table.
    pub(crate) fn of_table(definition: Arc<TableDefinition>, alias: Option<&str>) -> Self {
        Self::new(vec![ScopeTable::new(definition, alias)], Vec::new())
    }

    pub(crate) fn new(tables: Vec<ScopeTable>, visible: Vec<Visible>) -> Self {
        Self { tables, visible, index: LazyIndex::default() }
    }

    /// The same names; each column may be NULL.
    pub(crate) fn with_nulls(&self) -> Self {
        let mut scope = Self::new(self.tables.clone(), self.visible.clone());
        scope.tables.iter_mut().for_each(|table| table.is_optional = true);
        scope
    }

    /// The names of both, for those that look from outside.
    pub(crate) fn and(&self, other: &Scope) -> Self {
        let behind = self.tables.len();
        let moved = |visible: Visible| Visible { table: visible.table + behind, column: visible.column };
        let visible = if self.visible.is_empty() && other.visible.is_empty() {
            Vec::new()
        } else {
            let others = other.visible_columns().into_iter().map(moved);
            self.visible_columns().into_iter().chain(others).collect()
        };
        Self::new(self.tables.iter().chain(&other.tables).cloned().collect(), visible)
    }

    /// The first table.
    pub(crate) fn table(&self) -> Option<&ScopeTable> {
        self.tables.first()
    }

    /// The table that a slot belongs to, and which column of it that is.
    pub(crate) fn table_of(&self, slot: ColumnSlot) -> Option<(&ScopeTable, ColumnIndex)> {
        self.tables.iter().find_map(|table| {
            let column = slot.0.checked_sub(table.first_slot)?;
            (usize::from(column) < table.definition.columns.len()).then_some((table, ColumnIndex(column)))
        })
    }

    /// How many slots its tables have.
    pub(crate) fn slot_count(&self) -> usize {
        let behind = |table: &ScopeTable| usize::from(table.first_slot) + table.definition.columns.len();
        self.tables.iter().map(behind).max().unwrap_or(0)
    }

    /// Puts the items of merged views in the places of their columns; false if none is named.
    pub(crate) fn resolve(&self, expression: &mut Expression) -> bool {
        let mut is_changed = false;
        for table in &self.tables {
            if let Some(items) = &table.items {
                is_changed |= put_items(expression, table.first_slot, items);
            }
        }
        is_changed
    }

    /// The columns that `*` stands for.
    pub(crate) fn visible_columns(&self) -> Vec<Visible> {
        if !self.visible.is_empty() {
            return self.visible.clone();
        }
        let of_table = |(table, scope_table): (usize, &ScopeTable)| {
            let columns: Vec<ColumnIndex> =
                scope_table.definition.visible_columns().map(|(column, _)| column).collect();
            columns.into_iter().map(move |column| Visible { table, column })
        };
        self.tables.iter().enumerate().flat_map(of_table).collect()
    }

    /// The column that a name means.
    pub(crate) fn find(
        &self,
        qualifier: &[&str],
        name: &str,
        clause: Clause,
    ) -> Result<Option<Expression>, SqlError> {
        match self.column_named(qualifier, name) {
            Named::Nothing => Ok(None),
            Named::One(Visible { table, column }) => Ok(Some(self.tables[table].expression(column))),
            Named::Several => Err(ambiguous_column(qualifier, name, clause)),
        }
    }

    /// The meaning of a name. Of each table it means one column at most.
    fn column_named(&self, qualifier: &[&str], name: &str) -> Named {
        let hides = qualifier.is_empty() && !self.visible.is_empty();
        if let Some(index) = self.index() {
            let named = index.all.get(&folded_name(name)).into_iter().flatten();
            let is_seen = |column: &&Visible| !hides || index.visible.contains(column);
            let is_meant = |column: &&Visible| self.tables[column.table].is_meant_by(qualifier);
            return Named::of(named.filter(is_meant).filter(is_seen).copied());
        }
        Named::of(self.tables.iter().enumerate().filter_map(|(table, scope_table)| {
            let column = scope_table.is_meant_by(qualifier).then(|| scope_table.column(name))??;
            Some(Visible { table, column }).filter(|column| !hides || self.visible.contains(column))
        }))
    }

    /// The only column of this name.
    pub(crate) fn column_of_name(&self, name: &str) -> Option<ColumnIndex> {
        match self.column_named(&[], name) {
            Named::One(visible) => Some(visible.column),
            Named::Nothing | Named::Several => None,
        }
    }

    /// The index of names, where a search would take long; the name that is looked for is counted.
    fn index(&self) -> Option<&NamedColumns> {
        if self.index.look_ups.get() < SEARCH_COUNT_MAX {
            self.index.look_ups.set(self.index.look_ups.get() + 1);
            return None;
        }
        let count: usize = self.tables.iter().map(|table| table.definition.columns.len()).sum();
        if count <= SEARCHED_COLUMN_COUNT_MAX {
            return None;
        }
        Some(self.index.columns.get_or_init(|| Rc::new(self.named_columns())))
    }

    fn named_columns(&self) -> NamedColumns {
        let mut all: BTreeMap<String, Vec<Visible>> = BTreeMap::new();
        for (table, scope_table) in self.tables.iter().enumerate() {
            for (column, name) in scope_table.names() {
                let of_name = all.entry(folded_name(name)).or_default();
                // A name that a table has twice means its first column.
                if of_name.last().is_none_or(|known| known.table != table) {
                    of_name.push(Visible { table, column });
                }
            }
        }
        NamedColumns { all, visible: self.visible.iter().copied().collect() }
    }

    /// The columns without a qualifier by folded name.
    pub(crate) fn visible_names(&self) -> BTreeMap<String, Vec<Visible>> {
        let mut names: BTreeMap<String, Vec<Visible>> = BTreeMap::new();
        for visible in self.visible_columns() {
            let name = &self.tables[visible.table].definition.column_at(visible.column).name;
            names.entry(folded_name(name)).or_default().push(visible);
        }
        names
    }
}

/// Puts items in the places of the columns from this slot on.
fn put_items(expression: &mut Expression, first_slot: u16, items: &[Expression]) -> bool {
    let item = |slot: ColumnSlot| items.get(usize::from(slot.0.checked_sub(first_slot)?));
    if let Some(item) = expression.as_column().and_then(item) {
        let nullable = expression.nullable;
        *expression = Expression { nullable, ..item.clone() };
        return true;
    }
    let mut is_changed = false;
    for operand in expression.operands_mut() {
        is_changed |= put_items(operand, first_slot, items);
    }
    is_changed
}

/// 1052.
pub(crate) fn ambiguous_column(qualifier: &[&str], name: &str, clause: Clause) -> SqlError {
    let name = qualified(qualifier, name);
    SqlError::new(1052, format!("Column '{name}' in {} is ambiguous", clause.text()))
}

/// 1054.
pub(crate) fn unknown_column(qualifier: &[&str], name: &str, clause: Clause) -> SqlError {
    SqlError::new(1054, format!("Unknown column '{}' in '{}'", qualified(qualifier, name), clause.text()))
}

fn qualified(qualifier: &[&str], name: &str) -> String {
    qualifier.iter().copied().chain(std::iter::once(name)).collect::<Vec<_>>().join(".")
}

/// Equal without case. Names are compared with many others, so those of ASCII are not copied.
pub(crate) fn same_name(left: &str, right: &str) -> bool {
    left.eq_ignore_ascii_case(right)
        || (!(left.is_ascii() && right.is_ascii()) && left.to_lowercase() == right.to_lowercase())
}

/// The form of a name that is the same for names that [`same_name`] finds equal.
pub(crate) fn folded_name(name: &str) -> String {
    if name.is_ascii() { name.to_ascii_lowercase() } else { name.to_lowercase() }
}

/// The first name that equals one before it.
pub(crate) fn first_repeated<'n>(names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let mut seen = BTreeSet::new();
    names.into_iter().find(|name| !seen.insert(folded_name(name)))
}
