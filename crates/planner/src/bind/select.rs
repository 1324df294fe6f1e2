//! SELECT from no table or one; `joined` has those from several.
//!
//! Everything is bound in the mixed space first; then, if there is a grouping, brought into the group space, and behind
//! window functions over the rows that they leave.

use super::expression::{Aggregates, Place, WindowPlace};
use super::grouping::{Adopted, GroupModes, Groups, ordinal, select_item};
use super::item_names::item_texts;
use super::known::Known;
use super::named_items::{ItemList, NameOrder, NamedItem, NamedItems, items_of_having};
use super::scope::{Scope, ScopeTable, Visible};
use super::{Binder, Clause, NamedTable, VolatilePlace, item_column, system_table_rejected};
use crate::access_path::{self, Purpose, Wanted};
use crate::algebra::{Dependency, Draft, ITEM_SLOTS, Parameters, Subquery, SubqueryPlace, equalities};
use crate::alternatives;
use crate::join_order::TableOrder;
use crate::limits::SELECT_ITEM_COUNT_MAX;
use crate::plan::{
    ColumnOrigin, Grouping, Limit, ResultColumn, ScanDirection, SelectPlan, SortKey, Source, TableAccess,
    Windows,
};
use crate::privileges;
use crate::statement::TableName;
use crate::steps::steps_of;
use crate::syntax::{syntax_error, syntax_error_at_word, syntax_error_behind_word};
use crate::tokens::offset_of;
use expression::{ColumnSlot, Expression, Fingerprint};
use protocol::SqlError;
use protocol::program::{LockMode, LockWait};
use sqlparser::ast::{
    Distinct, Expr, GroupByExpr, GroupByWithModifier, LimitClause, LockClause, LockType, NonBlock,
    ObjectNamePart, OrderByExpr, OrderByOptions, OrderBySort, Query, Select, SelectFlavor, SelectItem,
    SelectItemQualifiedWildcardKind, TableFactor, TableWithJoins, Value as AstValue,
    WildcardAdditionalOptions,
};
use std::sync::Arc;
use types::{ColumnIndex, TableDefinition, TableKind};

/// A select item.
struct Item<'q> {
    /// In the mixed space.
    expression: Expression,
    column: ResultColumn,
    /// The column of FROM that it is.
    slot: Option<ColumnSlot>,
    has_alias: bool,
    subquery: Option<&'q Query>,
}

impl<'q> Item<'q> {
    fn named(&self) -> NamedItem<'q> {
        let (name, column) = (self.column.name.clone(), self.slot);
        let (expression, subquery) = (self.expression.clone(), self.subquery);
        NamedItem { name, expression, column, is_alias: self.has_alias, subquery }
    }
}

/// The parts of one SELECT.
#[derive(Clone, Copy)]
pub(super) struct Parts<'q> {
    pub(super) select: &'q Select,
    pub(super) order_by: &'q [OrderByExpr],
    pub(super) limit: Option<&'q LimitClause>,
    pub(super) locks: &'q [LockClause],
    /// Where its text begins.
    pub(super) start: usize,
    /// They are kept beside its plan, if they are those of a simple subquery.
    pub(super) is_kept: bool,
}

impl Parts<'_> {
    /// The same where other SELECTs may stand before it in the text.
    pub(super) fn found(&self) -> Self {
        Self { start: offset_of(self.select.select_token.0.span.start), ..*self }
    }
}

impl Binder<'_> {
    /// One SELECT.
    pub(super) fn block(
        &mut self,
        parts: &Parts<'_>,
        in_share_mode: bool,
    ) -> Result<(SelectPlan, Vec<ResultColumn>), SqlError> {
        let windows = self.named_windows(&parts.select.named_window)?;
        let around = (self.subqueries.replace(Vec::new()), self.windows.replace(windows));
        let bound = self.block_with_subqueries(parts, in_share_mode);
        (self.subqueries, self.windows) = around;
        bound
    }

    fn block_with_subqueries(
        &mut self,
        parts: &Parts<'_>,
        in_share_mode: bool,
    ) -> Result<(SelectPlan, Vec<ResultColumn>), SqlError> {
        let Some(table) = from(self.text, &parts.select.from)? else {
            return self.joined_block(parts, in_share_mode);
        };
        let (named, alias) = match table {
            FromTable::Named(name, _) if name.database.is_none() && self.is_common(&name.name) => {
                return self.joined_block(parts, in_share_mode);
            }
            FromTable::Named(name, _) if self.is_view(&name) => {
                return self.joined_block(parts, in_share_mode);
            }
            FromTable::Named(name, alias) => (Some(self.read_table(&name, parts.locks)?), alias),
            FromTable::Dual => (None, None),
        };
        let name = named.as_ref().map_or("", |named| &named.definition().name);
        let lock = lock(parts.locks, in_share_mode, alias.as_deref().unwrap_or(name))?;
        for clause in parts.locks {
            check_locked_name(clause, named.as_ref(), alias.as_deref())?;
        }
        let scope = match &named {
            Some(named) => Scope::of_table(Arc::clone(named.definition()), alias.as_deref()),
            None => Scope::default(),
        };
        let selection = match &parts.select.selection {
            Some(selection) => Some(self.expression(selection, &mut Place::new(&scope, Clause::Where))?),
            None => None,
        };
        let mut dependencies = Vec::new();
        let conjuncts = selection.clone().map(Expression::into_conjuncts).unwrap_or_default();
        let conjuncts = alternatives::factored(conjuncts);
        conjuncts.iter().for_each(|conjunct| equalities(conjunct, &mut dependencies));
        let mut body = self.body(parts, &scope, &dependencies)?;
        let limit = self.limit_clause(parts.limit)?;
        let distinct = distinct(self.text, parts.select.distinct.as_ref())?;
        if distinct {
            check_distinct_order(&body)?;
        }
        let has_subqueries = self.subqueries.as_ref().is_some_and(|subqueries| !subqueries.is_empty());
        if has_subqueries || matches!(named, Some(NamedTable::Virtual(..))) {
            let draft = match named {
                None => Draft::One,
                Some(named) => self.table_draft(named, alias, 0),
            };
            if !has_subqueries || lock.is_none() {
                return self.kept_plan((draft, &scope), conjuncts, body, (limit, distinct), parts.is_kept);
            }
            if distinct {
                return Err(SqlError::unsupported(
                    "FOR UPDATE and FOR SHARE over DISTINCT beside subqueries",
                ));
            }
            let locks = self.table_locks(parts.locks, in_share_mode, &scope)?;
            return self.locked_plan((draft, &scope), conjuncts, body, limit, locks);
        }
        if parts.is_kept && lock.is_none() {
            self.keep_table(named.as_ref(), alias.as_deref(), &conjuncts, (&body, &limit));
        }
        let is_made = body.grouping.is_some() || body.windows.is_some();
        let ordered: &[SortKey] = if is_made { &[] } else { &body.order_by };
        let has_lock = lock.is_some();
        let mut order_by_index = None;
        let source = match named {
            None => {
                if selection.is_some() && body.grouping.is_some() {
                    return Err(SqlError::unsupported("WHERE with aggregates and without a table"));
                }
                body.order_by.clear();
                Source::Nothing
            }
            Some(NamedTable::View(_)) => return self.joined_block(parts, in_share_mode),
            Some(NamedTable::Stored(table) | NamedTable::Virtual(_, table)) => {
                if has_lock && table.kind != TableKind::User {
                    // A lock on a row of the catalogue would keep others from DDL, AUTO_INCREMENT values and accounts.
                    return Err(system_table_rejected(&table));
                }
                let purpose = if has_lock { Purpose::Lock } else { Purpose::Read };
                let alias = alias.unwrap_or_else(|| table.name.clone());
                let is_limited = limit.count.is_some() && body.windows.is_none();
                let wanted = Wanted { order_by: ordered, is_limited, purpose };
                let access;
                (access, order_by_index) = self.access(table, alias, selection.clone(), &wanted);
                Source::Table(access)
            }
        };
        let having = merged_having(body.having, &source, selection);
        let mut plan = SelectPlan {
            source,
            grouping: body.grouping,
            over_groups: None,
            windows: body.windows,
            projection: body.projection,
            distinct,
            having,
            order_by: body.order_by,
            order_by_index,
            limit,
            lock,
            counts_found: false,
            steps: Box::default(),
        };
        plan.steps = Box::new(steps_of(&plan, self.volatile.calls > 0));
        Ok((plan, body.columns))
    }

    /// The best access to a table, and the direction in which it gives the wanted order.
    pub(super) fn access(
        &mut self,
        table: Arc<TableDefinition>,
        alias: String,
        selection: Option<Expression>,
        wanted: &Wanted<'_>,
    ) -> (TableAccess, Option<ScanDirection>) {
        access_path::access(table, alias, selection, wanted, &mut self.counts())
    }

    /// A table that is read, and perhaps locked, if that is permitted: it is not looked up before.
    pub(super) fn read_table(
        &mut self,
        name: &TableName,
        locks: &[LockClause],
    ) -> Result<NamedTable, SqlError> {
        privileges::check_read(name, locks.first().map(|lock| lock.lock_type), self.context)?;
        let table = self.named_table(name)?;
        if let NamedTable::Stored(table) = &table {
            // It is told of even if no column of it is read.
            self.reads_of(table);
        }
        Ok(table)
    }

    /// The query whose only row has these values: a SELECT without FROM.
    pub(super) fn row_of(
        &mut self,
        projection: Vec<Expression>,
        scope: &Scope,
    ) -> Result<(SelectPlan, Vec<ResultColumn>), SqlError> {
        let body = Body {
            table_order: TableOrder::Free,
            projection,
            columns: Vec::new(),
            grouping: None,
            windows: None,
            having: None,
            order_by: Vec::new(),
        };
        self.joined_plan((Draft::One, scope), Vec::new(), body, Limit::default(), false)
    }

    /// Items, GROUP BY, HAVING and ORDER BY.
    pub(super) fn body(
        &mut self,
        parts: &Parts<'_>,
        scope: &Scope,
        dependencies: &[Dependency],
    ) -> Result<Body, SqlError> {
        let first_slot =
            u16::try_from(scope.slot_count()).map_err(|_| SqlError::new(1117, "Too many columns"))?;
        let (grouped, is_rolled_up) = self.group_clause(&parts.select.group_by)?;
        let nullable = is_rolled_up.then(|| scope.with_nulls());
        let scope = nullable.as_ref().unwrap_or(scope);
        let mut aggregates = Aggregates { first_slot, ..Aggregates::default() };
        let texts = item_texts(self.text.get(parts.start..).unwrap_or_default(), self.context.modes);
        let mut items = self.items(&parts.select.projection, &texts, scope, &mut aggregates)?;
        let named = ItemList::new(items.iter().map(Item::named).collect());
        let volatile_place = std::mem::replace(&mut self.volatile.place, VolatilePlace::Restless);
        let is_aggregate = |expression: &Expression| uses_slot_from(expression, first_slot);
        let group_by = self.group_by(grouped, scope, &named, is_aggregate, is_rolled_up)?;
        self.volatile.place = volatile_place;
        if group_by.iter().any(Expression::sleeps) {
            return Err(SqlError::unsupported("SLEEP() in GROUP BY"));
        }
        // Rows are grouped by the values of these.
        let mut grouped_by: Vec<ColumnSlot> = group_by.iter().flat_map(Expression::columns).collect();
        grouped_by.retain(|slot| slot.0 >= ITEM_SLOTS);
        for subquery in self.subqueries.as_deref_mut().unwrap_or_default() {
            if grouped_by.contains(&subquery.slot) {
                subquery.place = SubqueryPlace::Source;
            }
        }
        let mut having = match &parts.select.having {
            Some(having) => {
                let seen = items_of_having(&named, &group_by, scope);
                let mut place = Place::new(scope, Clause::Having);
                place.aggregates = Some(&mut aggregates);
                place.items = Some(NamedItems { items: &seen, order: NameOrder::ItemsOnly });
                Some(self.expression(having, &mut place)?)
            }
            None => None,
        };
        let mut order_by = self.order_by(parts.order_by, scope, &mut aggregates, &named)?;
        let mut place = Place::new(scope, Clause::WindowOrder);
        place.aggregates = Some(&mut aggregates);
        self.check_unused_windows(&mut place)?;
        let mut windows = self.windows.take().unwrap_or_default();
        let mut grouping = None;
        if !group_by.is_empty() || !aggregates.calls.things().is_empty() {
            let is_single = group_by.is_empty();
            let only_full_group_by = self.context.only_full_group_by;
            let modes = GroupModes { only_full_group_by, is_rolled_up };
            let mut groups = Groups::new(scope, group_by, aggregates, dependencies, modes);
            for (number, item) in items.iter_mut().enumerate() {
                groups.adopt(&mut item.expression, Adopted::Item(number))?;
            }
            if let Some(having) = &mut having {
                groups.adopt(having, Adopted::Having)?;
            }
            if is_single {
                // One row needs no order.
                order_by.clear();
            }
            for (number, key) in order_by.iter_mut().enumerate() {
                groups.adopt(&mut key.expression, Adopted::OrderBy(number))?;
            }
            for (number, expression) in windows.expressions_mut().enumerate() {
                groups.adopt(expression, Adopted::Window(number))?;
            }
            let subqueries = self.subqueries.as_deref_mut().unwrap_or_default();
            let of_groups = |subquery: &&mut Subquery| subquery.place == SubqueryPlace::Items;
            for subquery in subqueries.iter_mut().filter(of_groups) {
                let outer = subquery.outer.iter_mut().map(|(_, column)| column);
                for expression in subquery.condition.iter_mut().chain(outer) {
                    groups.adopt(expression, Adopted::Item(0))?;
                }
            }
            let of_subqueries = subqueries.iter_mut().filter(of_groups).flat_map(|subquery| {
                subquery.condition.iter_mut().chain(subquery.outer.iter_mut().map(|(_, column)| column))
            });
            let adopted = items.iter_mut().map(|item| &mut item.expression);
            let adopted = adopted
                .chain(&mut having)
                .chain(order_by.iter_mut().map(|key| &mut key.expression))
                .chain(windows.expressions_mut())
                .chain(of_subqueries);
            grouping = Some(groups.finish(adopted));
        } else if !aggregates.groupings.is_empty() {
            return Err(SqlError::new(1111, "Invalid use of group function"));
        }
        let (mut projection, columns): (Vec<Expression>, Vec<ResultColumn>) =
            items.into_iter().map(|item| (item.expression, item.column)).unzip();
        let keys = order_by.iter_mut().map(|key| &mut key.expression);
        let windows = windows.finish(projection.iter_mut().chain(keys))?;
        if self.views.names.is_some() {
            self.note_items(parts, scope, &columns)?;
        }
        let is_straight =
            parts.select.select_modifiers.as_ref().is_some_and(|modifiers| modifiers.straight_join);
        let table_order = if is_straight { TableOrder::Written } else { TableOrder::Free };
        Ok(Body { table_order, projection, columns, grouping, windows, having, order_by })
    }

    /// The items of GROUP BY, and whether they are rolled up.
    fn group_clause<'q>(&self, group_by: &'q GroupByExpr) -> Result<(&'q [Expr], bool), SqlError> {
        match group_by {
            GroupByExpr::Expressions(items, modifiers) => match modifiers.as_slice() {
                [] => Ok((items, false)),
                [GroupByWithModifier::Rollup] => Ok((items, true)),
                _ => Err(syntax_error_at_word(self.text, &["WITH"])),
            },
            GroupByExpr::All(_) => Err(syntax_error_at_word(self.text, &["ALL"])),
        }
    }

    fn items<'q>(
        &mut self,
        projection: &'q [SelectItem],
        texts: &[&str],
        scope: &Scope,
        aggregates: &mut Aggregates,
    ) -> Result<Vec<Item<'q>>, SqlError> {
        if projection.len() > SELECT_ITEM_COUNT_MAX {
            return Err(SqlError::new(1117, "Too many columns"));
        }
        let mut items = Vec::with_capacity(projection.len());
        for (position, item) in projection.iter().enumerate() {
            match item {
                SelectItem::UnnamedExpr(expr) => {
                    let text = texts.get(position).filter(|_| texts.len() == projection.len());
                    let name = text.map_or_else(|| expr.to_string(), |text| (*text).to_owned());
                    items.push(self.item(expr, name, None, scope, aggregates)?);
                }
                SelectItem::ExprWithAlias { expr, alias } => {
                    let name = alias.value.clone();
                    items.push(self.item(expr, name.clone(), Some(name), scope, aggregates)?);
                }
                SelectItem::ExprWithAliases { .. } => return Err(syntax_error_at_word(self.text, &["AS"])),
                SelectItem::Wildcard(options) => {
                    plain_wildcard(self.text, options)?;
                    if scope.tables.is_empty() {
                        return Err(SqlError::new(1096, "No tables used"));
                    }
                    for visible in scope.visible_columns() {
                        items.push(self.column_item(&scope.tables[visible.table], visible.column)?);
                    }
                }
                SelectItem::QualifiedWildcard(kind, options) => {
                    plain_wildcard(self.text, options)?;
                    let table = qualified_table(self.text, kind, scope)?;
                    for (column, _) in table.definition.visible_columns() {
                        items.push(self.column_item(table, column)?);
                    }
                }
            }
        }
        Ok(items)
    }

    /// Notes what the items of a SELECT are called, and which columns `*` stands for.
    fn note_items(
        &mut self,
        parts: &Parts<'_>,
        scope: &Scope,
        columns: &[ResultColumn],
    ) -> Result<(), SqlError> {
        let text = self.text;
        let Some(names) = &mut self.views.names else { return Ok(()) };
        names.items.insert(parts.start, columns.iter().map(|column| column.name.clone()).collect());
        for (position, item) in parts.select.projection.iter().enumerate() {
            let stars = match item {
                SelectItem::Wildcard(_) => {
                    let name = |visible: Visible| scope.tables[visible.table].full_name(visible.column);
                    scope.visible_columns().into_iter().map(name).collect()
                }
                SelectItem::QualifiedWildcard(kind, _) => {
                    let table = qualified_table(text, kind, scope)?;
                    table.definition.visible_columns().map(|(column, _)| table.full_name(column)).collect()
                }
                _ => continue,
            };
            names.stars.insert((parts.start, position), stars);
        }
        Ok(())
    }

    /// A column that `*` stands for.
    fn column_item<'q>(&mut self, table: &ScopeTable, index: ColumnIndex) -> Result<Item<'q>, SqlError> {
        if table.is_table || table.is_view {
            let uses = self.reads_of(&table.definition);
            uses.reads_all = true;
            uses.read.insert(index);
        }
        let expression = table.expression(index);
        let name = table.definition.column_at(index).name.as_str();
        let mut column = item_column(name, &expression);
        describe_origin(&mut column, table, index);
        let slot = expression.as_column();
        Ok(Item { expression: self.padded(expression)?, column, slot, has_alias: false, subquery: None })
    }

    fn item<'q>(
        &mut self,
        expr: &'q Expr,
        name: String,
        alias: Option<String>,
        scope: &Scope,
        aggregates: &mut Aggregates,
    ) -> Result<Item<'q>, SqlError> {
        let mut place = Place::new(scope, Clause::FieldList);
        place.aggregates = Some(aggregates);
        place.windows = WindowPlace::Allowed;
        let mut expression = self.expression(expr, &mut place)?;
        if expression.is_pi() {
            // Shown as DOUBLE(8,6); what is computed with it has all digits.
            expression = self.call("ROUND", vec![expression, Expression::integer(6)])?;
        }
        let mut named = expr;
        while let Expr::Nested(inner) = named {
            named = inner;
        }
        let name = match (named, &alias) {
            // A column is named as it was written, without its qualifiers; a text by its value.
            (Expr::Identifier(ident), None) if expression.as_column().is_some() => ident.value.clone(),
            (Expr::CompoundIdentifier(parts), None) => parts.last().map_or(name, |part| part.value.clone()),
            (Expr::Value(value), None) => {
                let is_nested = !std::ptr::eq(named, expr);
                text_of(&value.value).unwrap_or_else(|| if is_nested { named.to_string() } else { name })
            }
            (Expr::Prefixed { value, .. }, None) => match &**value {
                Expr::Value(value) => text_of(&value.value).unwrap_or(name),
                _ => name,
            },
            _ => name,
        };
        let mut column = item_column(name, &expression);
        if let Some(slot) = expression.as_column()
            && let Some((table, index)) = scope.table_of(slot)
        {
            describe_origin(&mut column, table, index);
        }
        let slot = expression.as_column().filter(|slot| scope.table_of(*slot).is_some());
        let subquery = if let Expr::Subquery(query) = named { Some(&**query) } else { None };
        Ok(Item { expression: self.padded(expression)?, column, slot, has_alias: alias.is_some(), subquery })
    }

    /// ORDER BY items: ordinals, aliases, columns, expressions. Constants order nothing.
    pub(super) fn order_by(
        &mut self,
        items: &[OrderByExpr],
        scope: &Scope,
        aggregates: &mut Aggregates,
        select: &ItemList<'_>,
    ) -> Result<Vec<SortKey>, SqlError> {
        if items.len() > super::ITEM_COUNT_MAX {
            return Err(SqlError::new(1117, "Too many columns"));
        }
        let mut keys: Known<SortKey> = Known::default();
        for item in items {
            let OrderByExpr { expr, options: OrderByOptions { sort, nulls_first: None }, with_fill: None } =
                item
            else {
                return Err(syntax_error_at_word(self.text, &["NULLS", "FILL"]));
            };
            let descending = match sort {
                None | Some(OrderBySort::Asc) => false,
                Some(OrderBySort::Desc) => true,
                Some(OrderBySort::Using(_)) => return Err(syntax_error_at_word(self.text, &["USING"])),
            };
            let expression = match ordinal(expr) {
                Some(digits) => self.substitute(select_item(digits, select, Clause::OrderBy)?)?,
                None => {
                    let mut place = Place::new(scope, Clause::OrderBy);
                    place.aggregates = Some(aggregates);
                    place.windows = WindowPlace::Allowed;
                    let is_whole = matches!(expr, Expr::Identifier(_));
                    let order = if is_whole { NameOrder::ItemsFirst } else { NameOrder::ColumnsFirst };
                    place.items = Some(NamedItems { items: select, order });
                    self.expression(expr, &mut place)?
                }
            };
            if expression.is_constant() {
                continue;
            }
            let hash = if keys.is_indexed() { expression.fingerprint() } else { 0 };
            if keys.last_position_by(hash, |key| key.expression == expression).is_none() {
                keys.push(SortKey { expression, descending });
            }
        }
        Ok(keys.into_things())
    }

    pub(super) fn limit_clause(&mut self, clause: Option<&LimitClause>) -> Result<Limit, SqlError> {
        match clause {
            None => Ok(Limit::default()),
            Some(LimitClause::OffsetCommaLimit { offset, limit }) => {
                Ok(Limit { count: Some(self.limit_number(limit)?), offset: Some(self.limit_number(offset)?) })
            }
            Some(LimitClause::LimitOffset { limit: Some(limit), offset, limit_by })
                if limit_by.is_empty() =>
            {
                let count = Some(self.limit_number(limit)?);
                let offset = match offset {
                    Some(offset) => Some(self.limit_number(&offset.value)?),
                    None => None,
                };
                Ok(Limit { count, offset })
            }
            Some(LimitClause::LimitOffset { .. }) => Err(syntax_error_at_word(self.text, &["OFFSET"])),
        }
    }
}

fn text_of(value: &AstValue) -> Option<String> {
    let AstValue::SingleQuotedString(text) = value else { return None };
    // As MySQL names it.
    Some(text.trim_start_matches(|first: char| first.is_whitespace() || first.is_control()).to_owned())
}

/// Everything but rows and limits.
pub(super) struct Body {
    /// The order of the tables of FROM.
    pub(super) table_order: TableOrder,
    pub(super) projection: Vec<Expression>,
    pub(super) columns: Vec<ResultColumn>,
    pub(super) grouping: Option<Grouping>,
    /// Then items and ORDER BY are over the rows that these leave.
    pub(super) windows: Option<Windows>,
    pub(super) having: Option<Expression>,
    pub(super) order_by: Vec<SortKey>,
}

impl Body {
    /// Items over rows of FROM.
    pub(super) fn of_items(projection: Vec<Expression>) -> Self {
        let columns = projection.iter().map(|item| item_column("", item)).collect();
        Self {
            table_order: TableOrder::Free,
            projection,
            columns,
            grouping: None,
            windows: None,
            having: None,
            order_by: Vec::new(),
        }
    }
}

/// Without a table, WHERE filters the one row, as HAVING does.
fn merged_having(
    having: Option<Expression>,
    source: &Source,
    selection: Option<Expression>,
) -> Option<Expression> {
    match (source, selection) {
        (Source::Nothing, Some(selection)) => {
            Some(Expression::and(std::iter::once(selection).chain(having).collect()))
        }
        (Source::Nothing | Source::Table(_) | Source::Joined { .. }, _) => having,
    }
}

fn uses_slot_from(expression: &Expression, first: u16) -> bool {
    match expression.as_column() {
        Some(slot) => slot.0 >= first && slot.0 < ITEM_SLOTS,
        None => expression.operands().into_iter().any(|operand| uses_slot_from(operand, first)),
    }
}

/// Tells drivers the origin of a plain column.
fn describe_origin(column: &mut ResultColumn, table: &ScopeTable, index: ColumnIndex) {
    let definition = &table.definition;
    let own = definition.column_at(index);
    if !table.is_table {
        column.table.clone_from(&table.alias);
        column.format = own.format;
        return;
    }
    column.original_name.clone_from(&own.name);
    column.table.clone_from(&table.alias);
    column.original_table.clone_from(&definition.name);
    column.database.clone_from(&definition.database);
    column.origin = Some(ColumnOrigin { table: Arc::clone(definition), column: index });
    column.format = own.format;
}

fn plain_wildcard(text: &str, options: &WildcardAdditionalOptions) -> Result<(), SqlError> {
    let WildcardAdditionalOptions {
        wildcard_token: _,
        opt_ilike: None,
        opt_exclude: None,
        opt_except: None,
        opt_replace: None,
        opt_rename: None,
        opt_alias: None,
    } = options
    else {
        return Err(syntax_error_at_word(text, &["EXCEPT", "EXCLUDE", "REPLACE", "RENAME", "ILIKE"]));
    };
    Ok(())
}

fn qualified_table<'s>(
    text: &str,
    kind: &SelectItemQualifiedWildcardKind,
    scope: &'s Scope,
) -> Result<&'s ScopeTable, SqlError> {
    let SelectItemQualifiedWildcardKind::ObjectName(name) = kind else {
        return Err(syntax_error(text, text.len()));
    };
    let mut parts = Vec::new();
    for part in &name.0 {
        match part {
            ObjectNamePart::Identifier(ident) => parts.push(ident.value.as_str()),
            ObjectNamePart::Function(_) => return Err(syntax_error(text, text.len())),
        }
    }
    let found = scope.tables.iter().find(|table| !parts.is_empty() && table.is_meant_by(&parts));
    found.ok_or_else(|| SqlError::new(1051, format!("Unknown table '{}'", parts.join("."))))
}

/// 3065: what DISTINCT drops cannot order.
pub(super) fn check_distinct_order(body: &Body) -> Result<(), SqlError> {
    if body.order_by.is_empty() {
        return Ok(());
    }
    let items: Known<&Expression> = body.projection.iter().collect();
    for (number, key) in body.order_by.iter().enumerate() {
        let marks = if items.is_indexed() { key.expression.fingerprints() } else { Vec::new() };
        if !is_made_of(&key.expression, &marks, &items) {
            return Err(SqlError::new(
                3065,
                format!(
                    "Expression #{} of ORDER BY clause is not in SELECT list, references column which is not in SELECT list; this is \
                     incompatible with DISTINCT",
                    number + 1
                ),
            ));
        }
    }
    Ok(())
}

/// `marks` are the fingerprints of the expression, where they are asked for.
fn is_made_of(expression: &Expression, marks: &[Fingerprint], items: &Known<&Expression>) -> bool {
    let hash = marks.first().map_or(0, |mark| mark.hash);
    if items.last_position_by(hash, |item| *item == expression).is_some() {
        return true;
    }
    let mut marks = marks.get(1..).unwrap_or_default();
    let is_made = |operand: &Expression| {
        let (own, others) = marks.split_at(marks.first().map_or(0, |mark| mark.node_count));
        marks = others;
        is_made_of(operand, own, items)
    };
    expression.as_column().is_none() && expression.operands().into_iter().all(is_made)
}

pub(super) fn distinct(text: &str, distinct: Option<&Distinct>) -> Result<bool, SqlError> {
    match distinct {
        None | Some(Distinct::All) => Ok(false),
        Some(Distinct::Distinct) => Ok(true),
        Some(Distinct::On(_)) => Err(syntax_error_at_word(text, &["ON"])),
    }
}

/// Refuses every part of a SELECT that is not here, by name.
pub(super) fn check_select(text: &str, select: &Select) -> Result<(), SqlError> {
    let Select {
        select_token: _,
        optimizer_hints: _,
        distinct: _,
        // SQL_CALC_FOUND_ROWS is the statement's.
        select_modifiers: _,
        top,
        top_before_distinct: _,
        projection: _,
        exclude,
        into,
        from: _,
        lateral_views,
        prewhere,
        selection: _,
        connect_by,
        group_by: _,
        cluster_by,
        distribute_by,
        sort_by,
        having: _,
        named_window: _,
        qualify,
        window_before_qualify: _,
        value_table_mode,
        flavor,
    } = select;
    if let Some(into) = into {
        // In its right place the parser has taken it out.
        return Err(match into.targets.first() {
            Some(Expr::Identifier(name)) if !name.value.starts_with('@') => {
                SqlError::new(1327, format!("Undeclared variable: {}", name.value))
            }
            _ => syntax_error_at_word(text, &["INTO"]),
        });
    }
    let is_foreign = top.is_some()
        || exclude.is_some()
        || !lateral_views.is_empty()
        || prewhere.is_some()
        || !connect_by.is_empty()
        || !cluster_by.is_empty()
        || !distribute_by.is_empty()
        || !sort_by.is_empty()
        || qualify.is_some()
        || value_table_mode.is_some()
        || *flavor != SelectFlavor::Standard;
    if is_foreign {
        return Err(syntax_error_at_word(
            text,
            &[
                "TOP",
                "EXCLUDE",
                "LATERAL",
                "PREWHERE",
                "CONNECT",
                "START",
                "CLUSTER",
                "DISTRIBUTE",
                "SORT",
                "QUALIFY",
            ],
        ));
    }
    Ok(())
}

/// A table of FROM by its name.
pub(super) enum FromTable {
    /// DUAL, or no FROM.
    Dual,
    /// A table and its alias.
    Named(TableName, Option<String>),
}

/// The only table of FROM; None if there are several, or a derived one.
fn from(text: &str, tables: &[TableWithJoins]) -> Result<Option<FromTable>, SqlError> {
    let [TableWithJoins { relation, joins }] = tables else {
        return Ok(if tables.is_empty() { Some(FromTable::Dual) } else { None });
    };
    let is_several = matches!(relation, TableFactor::Derived { .. } | TableFactor::NestedJoin { .. });
    if is_several || !joins.is_empty() {
        return Ok(None);
    }
    from_table(text, relation).map(Some)
}

/// A table of FROM.
pub(super) fn from_table(text: &str, relation: &TableFactor) -> Result<FromTable, SqlError> {
    let TableFactor::Table {
        name,
        alias,
        args: None,
        with_hints,
        version: None,
        with_ordinality: false,
        partitions,
        json_path: None,
        sample: None,
        // Hints change speed, not results.
        index_hints: _,
    } = relation
    else {
        return Err(SqlError::unsupported("table functions"));
    };
    if !partitions.is_empty() {
        return Err(SqlError::unsupported("PARTITION clause"));
    }
    if !with_hints.is_empty() {
        return Err(syntax_error_at_word(text, &["WITH"]));
    }
    let name = match name.0.as_slice() {
        // The parser crate takes a text for a name.
        [ObjectNamePart::Identifier(name), ..] if name.quote_style == Some('\'') => {
            return Err(syntax_error(text, offset_of(name.span.start)));
        }
        [_, ObjectNamePart::Identifier(name), ..] if name.quote_style == Some('\'') => {
            return Err(syntax_error(text, offset_of(name.span.start)));
        }
        [ObjectNamePart::Identifier(table)] => {
            if table.quote_style.is_none() && table.value.eq_ignore_ascii_case("dual") {
                return Ok(FromTable::Dual);
            }
            TableName { database: None, name: table.value.clone() }
        }
        [ObjectNamePart::Identifier(database), ObjectNamePart::Identifier(table)] => {
            TableName { database: Some(database.value.clone()), name: table.value.clone() }
        }
        _ => return Err(syntax_error_behind_word(text, "FROM")),
    };
    match alias {
        Some(alias) if alias.name.quote_style == Some('\'') => {
            Err(syntax_error(text, offset_of(alias.name.span.start)))
        }
        Some(alias) if !alias.columns.is_empty() => Err(syntax_error_behind_word(text, "FROM")),
        alias => Ok(FromTable::Named(name, alias.as_ref().map(|alias| alias.name.value.clone()))),
    }
}

/// `OF name` names the table by its alias, or, if it has none, by its name.
fn check_locked_name(
    clause: &LockClause,
    named: Option<&NamedTable>,
    alias: Option<&str>,
) -> Result<(), SqlError> {
    let Some(of) = &clause.of else { return Ok(()) };
    let own = named.map(NamedTable::definition);
    let is_known = match (of.0.as_slice(), own, alias) {
        ([ObjectNamePart::Identifier(name)], Some(_), Some(alias)) => name.value == alias,
        ([ObjectNamePart::Identifier(name)], Some(table), None) => name.value == table.name,
        ([ObjectNamePart::Identifier(database), ObjectNamePart::Identifier(name)], Some(table), None) => {
            database.value == table.database && name.value == table.name
        }
        _ => false,
    };
    if is_known {
        return Ok(());
    }
    let name = match of.0.last() {
        Some(ObjectNamePart::Identifier(name)) => name.value.as_str(),
        _ => "",
    };
    Err(SqlError::new(3568, format!("Unresolved table name {name} in locking clause.")))
}

/// The lock that a clause wants. The timeout is the session's to fill in.
pub(super) fn lock_of(clause: &LockClause) -> (LockMode, LockWait) {
    let mode = match clause.lock_type {
        LockType::Share => LockMode::Shared,
        LockType::Update => LockMode::Exclusive,
    };
    let wait = match clause.nonblock {
        None => LockWait::Wait { timeout_ms: 0 },
        Some(NonBlock::Nowait) => LockWait::NoWait,
        Some(NonBlock::SkipLocked) => LockWait::SkipLocked,
    };
    (mode, wait)
}

fn lock(
    locks: &[LockClause],
    in_share_mode: bool,
    table: &str,
) -> Result<Option<(LockMode, LockWait)>, SqlError> {
    const WAIT: LockWait = LockWait::Wait { timeout_ms: 0 };
    match locks {
        [] => Ok(in_share_mode.then_some((LockMode::Shared, WAIT))),
        [clause] if !in_share_mode => Ok(Some(lock_of(clause))),
        _ => Err(SqlError::new(3569, format!("Table {table} appears in multiple locking clauses."))),
    }
}
