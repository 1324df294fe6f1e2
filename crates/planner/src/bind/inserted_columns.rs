//! `INSERT … SELECT … ON DUPLICATE KEY UPDATE`: assignments may name columns of the SELECT's tables.
//!
//! Such a column becomes one more item of the SELECT, behind those that are inserted. The executor puts its value in
//! the place of its slot, row by row.
//!
//! As in MySQL, only a SELECT without DISTINCT, GROUP BY and UNION has such columns: rows of others have no tables.

use super::Binder;
use expression::{ColumnSlot, Expression};
use protocol::SqlError;
use sqlparser::ast::{Expr, GroupByExpr, Ident, Query, Select, SelectItem, SetExpr};

impl Binder<'_> {
    /// A column of the query whose rows are inserted, by its name; None: the query can have none, or has no such one.
    pub(super) fn inserted_column(
        &mut self,
        (qualifier, name): (&[Ident], &Ident),
    ) -> Result<Option<Expression>, SqlError> {
        let Some(mut inserted) = self.insert.query.take() else { return Ok(None) };
        let written = match qualifier {
            [] => Expr::Identifier(name.clone()),
            _ => Expr::CompoundIdentifier(qualifier.iter().chain([name]).cloned().collect()),
        };
        let known = inserted.named.iter().find(|(known, _)| *known == written);
        let column = match known {
            Some((_, column)) => Ok(Some(column.clone())),
            None => {
                let mut alone = inserted.query.clone();
                let bound = match plain_select(&mut alone) {
                    None => Ok(None),
                    Some(select) => {
                        select.projection = vec![SelectItem::UnnamedExpr(written.clone())];
                        self.nested_query(&alone).map(|(_, items)| items.into_iter().next())
                    }
                };
                bound.map(|item| {
                    let position = u16::try_from(inserted.named.len()).unwrap_or(u16::MAX);
                    let slot = ColumnSlot(inserted.first_slot.saturating_add(position));
                    let column = item.map(|item| Expression::column(slot, item.sql_type, true));
                    inserted.named.extend(column.clone().map(|column| (written, column)));
                    column
                })
            }
        };
        self.insert.query = Some(inserted);
        match column {
            // The name is told as it stands in ON DUPLICATE KEY UPDATE.
            Err(error) if error.code == 1054 => Ok(None),
            column => column,
        }
    }
}

/// A query with the columns behind its items that ON DUPLICATE KEY UPDATE names.
pub(super) fn with_named(query: &Query, named: Vec<(Expr, Expression)>) -> Query {
    let mut query = query.clone();
    if let Some(select) = plain_select(&mut query) {
        select.projection.extend(named.into_iter().map(|(written, _)| SelectItem::UnnamedExpr(written)));
    }
    query
}

/// The SELECT whose rows are rows of its tables.
fn plain_select(query: &mut Query) -> Option<&mut Select> {
    let SetExpr::Select(select) = &mut *query.body else { return None };
    let is_plain = select.distinct.is_none()
        && select.having.is_none()
        && matches!(&select.group_by, GroupByExpr::Expressions(items, _) if items.is_empty());
    is_plain.then_some(&mut **select)
}
