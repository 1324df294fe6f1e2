//! Which select item a name in GROUP BY, HAVING or ORDER BY means.
//!
//! An item is called by its alias, else by its column's name or its text. Of items of one name a computed one wins. Two
//! that are different columns make the name ambiguous (1052), as in MySQL.
//!
//! *HAVING* sees items and what GROUP BY groups by, and no other columns; those inside of aggregates are looked for
//! elsewhere. Where an item and a column of GROUP BY have one name and differ, GROUP BY's is meant.

use super::Clause;
use super::scope::{Scope, ambiguous_column, same_name};
use expression::{ColumnSlot, Expression};
use protocol::SqlError;
use sqlparser::ast::Query;

/// A select item as other clauses see it.
#[derive(Clone, Debug)]
pub(crate) struct NamedItem<'q> {
    pub(crate) name: String,
    /// In the mixed space.
    pub(crate) expression: Expression,
    /// The column that it is, perhaps padded.
    pub(crate) column: Option<ColumnSlot>,
    /// The name is an alias.
    pub(crate) is_alias: bool,
    /// The scalar subquery that it is: the same one in another clause is this item.
    pub(crate) subquery: Option<&'q Query>,
}

/// Whether items or the columns of FROM are asked first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NameOrder {
    /// A whole item of ORDER BY.
    ItemsFirst,
    /// A whole item of GROUP BY; of several columns of the name it is the one that is an item.
    ColumnsThenItems,
    /// Parts of items of GROUP BY and ORDER BY.
    ColumnsFirst,
    /// HAVING: columns are not asked.
    ItemsOnly,
}

/// The items that names may mean.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NamedItems<'a> {
    pub(crate) items: &'a [NamedItem<'a>],
    pub(crate) order: NameOrder,
}

impl<'a> NamedItems<'a> {
    /// The item of this name.
    pub(crate) fn find(
        &self,
        name: &str,
        scope: &Scope,
        clause: Clause,
    ) -> Result<Option<&'a NamedItem<'a>>, SqlError> {
        let mut found: Option<&NamedItem<'_>> = None;
        for item in self.items.iter().filter(|item| same_name(&item.name, name)) {
            if item.column.is_none() {
                return Ok(Some(item));
            }
            found = only(found, item, name, clause)?;
        }
        if found.is_some() || self.order != NameOrder::ItemsOnly {
            return Ok(found);
        }
        // The name of a column behind its alias.
        let is_own = |item: &&NamedItem<'_>| column_name(item, scope).is_some_and(|own| same_name(own, name));
        for item in self.items.iter().filter(is_own) {
            found = only(found, item, name, clause)?;
        }
        Ok(found)
    }

    /// The item that is this scalar subquery.
    pub(crate) fn of_subquery(&self, query: &Query) -> Option<&'a Expression> {
        let found = self.items.iter().find(|item| item.subquery.is_some_and(|own| own == query));
        found.map(|item| &item.expression)
    }

    /// Whether a column may be named here.
    pub(crate) fn permits(&self, column: &Expression) -> bool {
        let is_column = |item: &NamedItem<'_>| item.column.is_some() && item.column == column.as_column();
        self.order != NameOrder::ItemsOnly || self.items.iter().any(is_column)
    }
}

/// The items that HAVING sees: a column of GROUP BY hides what differs from it.
pub(crate) fn items_of_having<'q>(
    items: &[NamedItem<'q>],
    group_by: &[Expression],
    scope: &Scope,
) -> Vec<NamedItem<'q>> {
    let grouped = group_by.iter().filter_map(|expression| {
        let slot = expression.as_column()?;
        let (table, column) = scope.table_of(slot)?;
        let name = table.definition.column_at(column).name.clone();
        let expression = expression.clone();
        Some(NamedItem { name, expression, column: Some(slot), is_alias: false, subquery: None })
    });
    let grouped: Vec<NamedItem<'_>> = grouped.collect();
    let is_hidden = |item: &NamedItem<'_>| {
        grouped.iter().any(|group| same_name(&group.name, &item.name) && group.column != item.column)
    };
    let seen = items.iter().filter(|item| !is_hidden(item)).cloned();
    seen.chain(grouped.iter().cloned()).collect()
}

fn only<'a>(
    found: Option<&'a NamedItem<'a>>,
    item: &'a NamedItem<'a>,
    name: &str,
    clause: Clause,
) -> Result<Option<&'a NamedItem<'a>>, SqlError> {
    match found {
        Some(found) if found.column != item.column => Err(ambiguous_column(&[], name, clause)),
        found => Ok(found.or(Some(item))),
    }
}

fn column_name<'s>(item: &NamedItem<'_>, scope: &'s Scope) -> Option<&'s str> {
    let (table, column) = scope.table_of(item.column?)?;
    Some(table.definition.column_at(column).name.as_str())
}
