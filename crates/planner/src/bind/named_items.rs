//! Which select item a name in GROUP BY, HAVING or ORDER BY means.
//!
//! An item is called by its alias, else by its column's name or its text. Of items of one name a computed one wins. Two
//! that are different columns make the name ambiguous (1052), as in MySQL.
//!
//! *HAVING* sees items and what GROUP BY groups by, and no other columns; those inside of aggregates are looked for
//! elsewhere. Where an item and a column of GROUP BY have one name and differ, GROUP BY's is meant.

use super::Clause;
use super::known::INDEXED_FROM;
use super::scope::{Scope, ambiguous_column, folded_name, same_name};
use expression::{ColumnSlot, Expression};
use protocol::SqlError;
use sqlparser::ast::Query;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

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

/// The items of a SELECT. Of many items it makes indexes, when they are first asked for.
#[derive(Debug, Default)]
pub(crate) struct ItemList<'q> {
    items: Vec<NamedItem<'q>>,
    by_name: OnceCell<BTreeMap<String, Meaning>>,
    by_column_name: OnceCell<BTreeMap<String, Meaning>>,
    columns: OnceCell<BTreeSet<ColumnSlot>>,
}

/// The meaning of a name among items.
#[derive(Clone, Copy, Debug)]
enum Meaning {
    Item(usize),
    /// Several columns.
    Ambiguous,
}

impl<'q> ItemList<'q> {
    pub(crate) fn new(items: Vec<NamedItem<'q>>) -> Self {
        Self { items, ..Self::default() }
    }

    pub(crate) fn items(&self) -> &[NamedItem<'q>] {
        &self.items
    }

    pub(crate) fn into_items(self) -> Vec<NamedItem<'q>> {
        self.items
    }

    fn is_indexed(&self) -> bool {
        self.items.len() >= INDEXED_FROM
    }

    /// The meaning of a name, of which this is said by the items before.
    fn meaning(&self, said: Option<Meaning>, position: usize) -> Meaning {
        let columns = |known: usize| (self.items[known].column, self.items[position].column);
        match said {
            None => Meaning::Item(position),
            Some(Meaning::Ambiguous) => Meaning::Ambiguous,
            Some(Meaning::Item(known)) => match columns(known) {
                // The first computed one is meant.
                (None, _) => Meaning::Item(known),
                (Some(_), None) => Meaning::Item(position),
                (Some(one), Some(other)) if one == other => Meaning::Item(known),
                (Some(_), Some(_)) => Meaning::Ambiguous,
            },
        }
    }

    fn named(&self, name: &str) -> Option<Meaning> {
        if self.is_indexed() {
            let name_of = |item: &NamedItem<'_>| Some(folded_name(&item.name));
            return self.by_name.get_or_init(|| self.index(name_of)).get(&folded_name(name)).copied();
        }
        self.searched(|item| same_name(&item.name, name))
    }

    /// The same for the names of columns behind their aliases.
    fn named_by_column(&self, name: &str, scope: &Scope) -> Option<Meaning> {
        if self.is_indexed() {
            let name_of = |item: &NamedItem<'_>| column_name(item, scope).map(folded_name);
            return self.by_column_name.get_or_init(|| self.index(name_of)).get(&folded_name(name)).copied();
        }
        self.searched(|item| column_name(item, scope).is_some_and(|own| same_name(own, name)))
    }

    fn index(&self, name_of: impl Fn(&NamedItem<'_>) -> Option<String>) -> BTreeMap<String, Meaning> {
        let mut index: BTreeMap<String, Meaning> = BTreeMap::new();
        for (position, item) in self.items.iter().enumerate() {
            let Some(name) = name_of(item) else { continue };
            let meaning = self.meaning(index.get(&name).copied(), position);
            index.insert(name, meaning);
        }
        index
    }

    fn searched(&self, is_named: impl Fn(&NamedItem<'_>) -> bool) -> Option<Meaning> {
        let named = self.items.iter().enumerate().filter(|(_, item)| is_named(item));
        named.fold(None, |said, (position, _)| Some(self.meaning(said, position)))
    }

    /// Whether an item is this column.
    fn has_column(&self, slot: ColumnSlot) -> bool {
        if !self.is_indexed() {
            return self.items.iter().any(|item| item.column == Some(slot));
        }
        let columns = || self.items.iter().filter_map(|item| item.column).collect();
        self.columns.get_or_init(columns).contains(&slot)
    }
}

/// The items that names may mean.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NamedItems<'a> {
    pub(crate) items: &'a ItemList<'a>,
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
        let mut meaning = self.items.named(name);
        if meaning.is_none() && self.order == NameOrder::ItemsOnly {
            meaning = self.items.named_by_column(name, scope);
        }
        match meaning {
            None => Ok(None),
            Some(Meaning::Item(position)) => Ok(Some(&self.items.items[position])),
            Some(Meaning::Ambiguous) => Err(ambiguous_column(&[], name, clause)),
        }
    }

    /// The item that is this scalar subquery.
    pub(crate) fn of_subquery(&self, query: &Query) -> Option<&'a Expression> {
        let items = &self.items.items;
        let found = items.iter().find(|item| item.subquery.is_some_and(|own| own == query));
        found.map(|item| &item.expression)
    }

    /// Whether a column may be named here.
    pub(crate) fn permits(&self, column: &Expression) -> bool {
        self.order != NameOrder::ItemsOnly
            || column.as_column().is_some_and(|slot| self.items.has_column(slot))
    }
}

/// The items that HAVING sees: a column of GROUP BY hides what differs from it.
pub(crate) fn items_of_having<'q>(
    items: &ItemList<'q>,
    group_by: &[Expression],
    scope: &Scope,
) -> ItemList<'q> {
    let grouped = group_by.iter().filter_map(|expression| {
        let slot = expression.as_column()?;
        let (table, column) = scope.table_of(slot)?;
        let name = table.definition.column_at(column).name.clone();
        let expression = expression.clone();
        Some(NamedItem { name, expression, column: Some(slot), is_alias: false, subquery: None })
    });
    let grouped = ItemList::new(grouped.collect());
    // One of several columns of a name differs from any item.
    let is_hidden = |item: &NamedItem<'_>| match grouped.named(&item.name) {
        None => false,
        Some(Meaning::Ambiguous) => true,
        Some(Meaning::Item(group)) => grouped.items[group].column != item.column,
    };
    let seen = items.items.iter().filter(|item| !is_hidden(item)).cloned();
    ItemList::new(seen.chain(grouped.items.iter().cloned()).collect())
}

fn column_name<'s>(item: &NamedItem<'_>, scope: &'s Scope) -> Option<&'s str> {
    let (table, column) = scope.table_of(item.column?)?;
    Some(table.definition.column_at(column).name.as_str())
}
