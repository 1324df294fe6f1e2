//! INSERT … VALUES with subqueries among the values: it becomes INSERT … SELECT, a SELECT without tables for each row.
//!
//! Several rows are joined by UNION ALL, so the values of a column are brought into one type first. DEFAULT is no value
//! of a query: a column that all rows leave to its default is left out of the statement.

use crate::statement::{InsertStatement, ValueOrDefault};
use protocol::SqlError;
use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{
    Expr, GroupByExpr, Query, Select, SelectFlavor, SelectItem, SetExpr, SetOperator, SetQuantifier,
};
use types::ColumnIndex;

/// The columns that get values, and the query whose rows they are.
pub(super) fn rows_as_query(
    insert: &InsertStatement,
    columns: &[ColumnIndex],
) -> Result<(Vec<ColumnIndex>, Box<Query>), SqlError> {
    if let Some(number) = insert.rows.iter().position(|row| row.len() != columns.len()) {
        let text = format!("Column count doesn't match value count at row {}", number + 1);
        return Err(SqlError::new(1136, text));
    }
    let is_given = |place: usize| {
        let mut values = insert.rows.iter().map(|row| &row[place]);
        values.any(|value| matches!(value, ValueOrDefault::Value(_)))
    };
    let given: Vec<usize> = (0..columns.len()).filter(|place| is_given(*place)).collect();
    let mut body = None;
    for row in &insert.rows {
        let items = given.iter().map(|place| match &row[*place] {
            ValueOrDefault::Value(value) => Ok(SelectItem::UnnamedExpr(Expr::clone(value))),
            ValueOrDefault::Default => Err(SqlError::unsupported("DEFAULT in some rows beside subqueries")),
        });
        let own = select(items.collect::<Result<_, _>>()?);
        body = Some(match body {
            None => own,
            Some(before) => SetExpr::SetOperation {
                op: SetOperator::Union,
                set_quantifier: SetQuantifier::All,
                left: Box::new(before),
                right: Box::new(own),
            },
        });
    }
    let body = body.ok_or_else(|| SqlError::unsupported("VALUES without rows"))?;
    let query = Query {
        with: None,
        body: Box::new(body),
        order_by: None,
        limit_clause: None,
        fetch: None,
        locks: Vec::new(),
        for_clause: None,
        settings: None,
        format_clause: None,
        pipe_operators: Vec::new(),
    };
    Ok((given.into_iter().map(|place| columns[place]).collect(), Box::new(query)))
}

/// A SELECT without tables.
fn select(projection: Vec<SelectItem>) -> SetExpr {
    SetExpr::Select(Box::new(Select {
        select_token: AttachedToken::empty(),
        optimizer_hints: Vec::new(),
        distinct: None,
        select_modifiers: None,
        top: None,
        top_before_distinct: false,
        projection,
        exclude: None,
        into: None,
        from: Vec::new(),
        lateral_views: Vec::new(),
        prewhere: None,
        selection: None,
        connect_by: Vec::new(),
        group_by: GroupByExpr::Expressions(Vec::new(), Vec::new()),
        cluster_by: Vec::new(),
        distribute_by: Vec::new(),
        sort_by: Vec::new(),
        having: None,
        named_window: Vec::new(),
        qualify: None,
        window_before_qualify: false,
        value_table_mode: None,
        flavor: SelectFlavor::Standard,
    }))
}
