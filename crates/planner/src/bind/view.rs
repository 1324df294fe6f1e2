//! Views: what CREATE VIEW keeps of a query, and how a statement reads a view.
//!
//! ```text
//! CREATE VIEW: text ─ bind, noting what names mean ─ print with all names in full ─ bind that ─► ViewDefinition
//! a statement: view's text ─ parse ─ bind in a scope of its own, with the definer's privileges ─┬─► tables of FROM
//!                                                                                              └─► derived table
//! ```
//! *Merging.* The tables of a merged view stand in FROM in its place. Its columns are expressions over them: names are
//! bound to slots of the view, which [`Scope::resolve`] replaces by these before a plan is made. So conditions on
//! the view find rows by the keys of its tables. Below an outer join only a view is merged whose items are all columns:
//! there its rows may be missing, and its constants with them.
//!
//! Invariant: a view's names mean what they meant when it was made, whatever the statement that reads it can see.

use super::from::{Part, names_of, query_table, take_slots};
use super::query::BoundQuery;
use super::scope::{Scope, ScopeTable, first_repeated};
use super::session::{result_column, table_of_columns};
use super::{Binder, Clause, OuterBlock, Outward};
use crate::algebra::Draft;
use crate::bind::expression::{Aggregates, Place, WindowPlace};
use crate::plan::{Derived, Relation, ResultColumn, Show};
use crate::statement::{CreateViewStatement, Statement};
use crate::view_text::{self, quoted};
use crate::{BindContext, limits, parse, privileges};
use catalogue::{DdlRequest, ViewRequest};
use expression::Expression;
use protocol::SqlError;
use sqlparser::ast::{GroupByExpr, Query, Select, SelectItem, SetExpr};
use std::sync::Arc;
use types::{
    ColumnDefinition, DefaultValue, PrivilegeSet, TableDefinition, TableKind, UserName, ViewAlgorithm,
    ViewCheck, ViewDefinition, ViewSecurity,
};

/// Views within views.
const VIEW_DEPTH_MAX: usize = 64;
/// Characters of a column's name.
const NAME_CHARACTERS_MAX: usize = 64;

/// A merged view: its tables, its items over their slots, and its columns.
struct Merged {
    draft: Draft,
    items: Vec<Expression>,
    columns: Vec<ResultColumn>,
    /// One of them is a column whose table can be changed.
    is_updatable: bool,
}

impl Binder<'_> {
    /// A view as a table of FROM.
    pub(super) fn view(
        &mut self,
        view: &Arc<ViewDefinition>,
        alias: Option<&str>,
        next_slot: &mut u16,
    ) -> Result<Part, SqlError> {
        let (database, name) = view.full_name();
        let full_name = (database.to_owned(), name.to_owned());
        if self.views.stack.contains(&full_name) {
            return Err(SqlError::new(1462, format!("`{database}`.`{name}` contains view recursion")));
        }
        limits::exceeds("view_depth_max", self.views.stack.len() + 1, VIEW_DEPTH_MAX)?;
        self.views.stack.push(full_name);
        self.views.was_met = true;
        let part = self.view_part(view, alias.unwrap_or(name), next_slot);
        self.views.stack.pop();
        part.map_err(|error| invalid_view(error, view))
    }

    fn view_part(
        &mut self,
        view: &ViewDefinition,
        alias: &str,
        next_slot: &mut u16,
    ) -> Result<Part, SqlError> {
        let query = self.stored_query(view)?;
        let merged = match merged_select(&query).filter(|_| view.is_merged) {
            Some(select) => self.in_view(view, |binder| binder.merged(select, next_slot))?,
            None => None,
        };
        let names: Vec<String> = view.table.columns.iter().map(|column| column.name.clone()).collect();
        let (draft, columns, items) = match merged {
            Some(Merged { draft, items, columns, .. }) => (draft, columns, Some(Arc::new(items))),
            None => {
                let (plan, columns) = self.in_view(view, |binder| binder.nested_query(&query))?;
                let alias = alias.to_owned();
                let derived = Derived { alias, names: names.clone(), plan };
                let first_slot = take_slots(next_slot, names.len())?;
                let relation = Relation::Derived(Arc::new(derived));
                (Draft::query(relation, names.len(), first_slot), columns, None)
            }
        };
        if names.len() != columns.len() {
            return Err(invalid(view));
        }
        let first_slot = match &draft {
            Draft::Query { first_slot, .. } if items.is_none() => *first_slot,
            _ => take_slots(next_slot, names.len())?,
        };
        let mut table = query_table(alias, &names, &columns, first_slot);
        let definition = Arc::make_mut(&mut table.definition);
        (definition.database, definition.name) = (view.table.database.clone(), view.table.name.clone());
        let table = ScopeTable { database: Some(view.table.database.clone()), is_view: true, items, ..table };
        Ok(Part::of_one(draft, table))
    }

    /// Binds a view's query, or what is behind it: with the view's database, privileges and collation, and no names of
    /// this statement.
    pub(super) fn in_view<T>(
        &mut self,
        view: &ViewDefinition,
        bind: impl FnOnce(&mut Binder<'_>) -> Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        let UserName { name, host } = &view.definer;
        let grants = &self.context.schema.grants;
        let of_definer = match view.security {
            ViewSecurity::Invoker => None,
            ViewSecurity::Definer if self.context.schema.user(name, host).is_none() => {
                return Err(unknown_definer(&view.definer));
            }
            ViewSecurity::Definer => {
                let roles = grants.default_roles_of(&view.definer).cloned();
                Some(PrivilegeSet::of(grants, &view.definer, roles))
            }
        };
        let mut typing = self.context.typing;
        typing.collation = view.collation;
        let context = BindContext {
            // No view reads temporary tables.
            temporary: None,
            database: Some(&view.table.database),
            user: if of_definer.is_some() { (name, host) } else { self.context.user },
            privileges: of_definer.as_ref().unwrap_or(self.context.privileges),
            typing,
            modes: VIEW_MODES,
            ..*self.context
        };
        let names = self.views.names.take();
        let bound = self.within(&view.query, &context, bind);
        self.views.names = names;
        bound
    }

    /// The query of a view that is there.
    pub(super) fn stored_query(&self, view: &ViewDefinition) -> Result<Box<Query>, SqlError> {
        parsed_query(&view.query, &BindContext { modes: VIEW_MODES, ..*self.context })
    }

    /// Binds another text as a part of this statement.
    fn within<T>(
        &mut self,
        text: &str,
        context: &BindContext<'_>,
        bind: impl FnOnce(&mut Binder<'_>) -> Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        let mut inner = self.inner_binder(text, context);
        let bound = bind(&mut inner);
        self.session_values = inner.session_values;
        self.work = inner.work;
        self.virtuals = inner.virtuals;
        self.joins = inner.joins;
        self.volatile.calls = inner.volatile.calls;
        self.views = inner.views;
        self.variables = inner.variables;
        self.names_temporary.set(inner.names_temporary.get());
        let bound = bound?;
        inner.reads.iter().try_for_each(|(table, uses)| privileges::check_columns(table, uses, context))?;
        Ok(bound)
    }

    /// The binder of another text. It is not on the stack, where views within views would pile up.
    #[inline(never)]
    fn inner_binder<'b>(&mut self, text: &'b str, context: &'b BindContext<'b>) -> Box<Binder<'b>>
    where
        Self: 'b,
    {
        Box::new(Binder {
            text,
            context,
            parameter_types: self.parameter_types,
            session_values: std::mem::take(&mut self.session_values),
            work: self.work,
            uses: super::ColumnUse::default(),
            reads: Vec::new(),
            subqueries: None,
            windows: None,
            outward: Outward {
                blocks: vec![OuterBlock::default(); self.outward.blocks.len()],
                columns: Vec::new(),
            },
            insert: super::InsertState::default(),
            common: Vec::new(),
            virtuals: std::mem::take(&mut self.virtuals),
            rounds: self.rounds,
            joins: std::mem::take(&mut self.joins),
            volatile: self.volatile,
            stores_computed: self.stores_computed,
            views: std::mem::take(&mut self.views),
            variables: std::mem::take(&mut self.variables),
            names_temporary: self.names_temporary.clone(),
        })
    }

    /// The tables of a view's SELECT for the FROM around it. None: something of it cannot be merged.
    fn merged(&mut self, select: &Select, next_slot: &mut u16) -> Result<Option<Merged>, SqlError> {
        let (volatile_calls, on_subqueries) = (self.volatile.calls, self.joins.on_subqueries);
        self.subqueries = Some(Vec::new());
        self.windows = Some(self.named_windows(&select.named_window)?);
        let Part { mut draft, scope, .. } = self.bind_from_at(&select.from, next_slot)?;
        let mut is_updatable = false;
        let mut aggregates = Aggregates { first_slot: *next_slot, ..Aggregates::default() };
        let mut items = Vec::with_capacity(select.projection.len());
        let mut columns = Vec::with_capacity(select.projection.len());
        for item in &select.projection {
            let SelectItem::ExprWithAlias { expr, alias } = item else { return Ok(None) };
            let mut place = Place::new(&scope, Clause::FieldList);
            place.aggregates = Some(&mut aggregates);
            place.windows = WindowPlace::Allowed;
            let mut expression = self.expression(expr, &mut place)?;
            let mut column = super::item_column(alias.value.clone(), &expression);
            if let Some((table, index)) = expression.as_column().and_then(|slot| scope.table_of(slot)) {
                is_updatable |= self.is_changeable(table);
                column.format = table.definition.column_at(index).format;
            }
            self.resolve(&scope, &mut expression)?;
            items.push(expression);
            columns.push(column);
        }
        let mut conjuncts = Vec::new();
        if let Some(selection) = &select.selection {
            let mut place = Place::new(&scope, Clause::Where);
            let mut selection = self.expression(selection, &mut place)?;
            self.resolve(&scope, &mut selection)?;
            conjuncts = selection.into_conjuncts();
        }
        let has_subqueries = self.subqueries.take().is_some_and(|subqueries| !subqueries.is_empty());
        let is_computed = items.iter().any(|item| item.as_column().is_none());
        let has_windows = self.windows.take().is_some_and(|windows| windows.has_calls());
        let is_whole = has_subqueries
            || self.joins.on_subqueries != on_subqueries
            || has_windows
            || !aggregates.calls.things().is_empty()
            || self.volatile.calls != volatile_calls
            || (is_computed && self.views.outer_joins > 0);
        if is_whole {
            return Ok(None);
        }
        for conjunct in conjuncts {
            if draft.push(conjunct).is_some() {
                return Ok(None);
            }
        }
        Ok(Some(Merged { draft, items, columns, is_updatable }))
    }

    /// Whether rows of a table, or those behind a view, can be changed.
    fn is_changeable(&self, table: &ScopeTable) -> bool {
        let definition = &table.definition;
        match self.context.schema.view(&definition.database, &definition.name) {
            Some(view) if table.is_view => view.is_updatable,
            _ => table.is_table && definition.kind == TableKind::User,
        }
    }

    /// Puts the items of merged views in the places of their columns. A short text can ask for a huge tree in this way,
    /// so they are counted.
    pub(super) fn resolve(&mut self, scope: &Scope, expression: &mut Expression) -> Result<(), SqlError> {
        if scope.resolve(expression) {
            self.work.substituted += expression.node_count();
            let limit = self.context.limits.substituted_node_count_max;
            limits::exceeds("substituted_node_count_max", self.work.substituted, limit)?;
        }
        Ok(())
    }

    /// The same for a column that a query within reads.
    pub(super) fn resolve_outer(&mut self, scope: &Scope, column: &mut Expression) -> Result<(), SqlError> {
        self.resolve(scope, column)?;
        match column.as_column() {
            Some(_) => Ok(()),
            None => Err(SqlError::unsupported("computed columns of a view in a query within the query")),
        }
    }

    /// The stored tables that a view reads.
    pub(super) fn tables_of_view(
        &mut self,
        view: &Arc<ViewDefinition>,
    ) -> Result<Vec<Arc<TableDefinition>>, SqlError> {
        let part = self.view(view, None, &mut 0)?;
        let mut tables = Vec::new();
        part.draft.visit_tables(&mut |table| tables.push(Arc::clone(table)));
        Ok(tables)
    }

    /// SHOW CREATE VIEW with the statement that makes the view.
    pub(super) fn shown_view(&self, view: &ViewDefinition) -> Result<Show, SqlError> {
        let (database, name) = view.full_name();
        let is_here = self.context.database == Some(database);
        let query = self.stored_query(view)?;
        let short = if is_here { view_text::within(&query, database)? } else { None };
        let shown_name = match is_here {
            true => quoted(name),
            false => format!("{}.{}", quoted(database), quoted(name)),
        };
        let check = match view.check {
            ViewCheck::None => String::new(),
            check => format!(" WITH {} CHECK OPTION", check.name()),
        };
        let text = format!(
            "CREATE ALGORITHM={} DEFINER={}@{} SQL SECURITY {} VIEW {shown_name} AS {}{check}",
            view.algorithm.name(),
            quoted(&view.definer.name),
            quoted(&view.definer.host),
            view.security.name(),
            short.as_deref().unwrap_or(&view.query),
        );
        Ok(Show::CreateView { database: database.to_owned(), view: name.to_owned(), text })
    }

    // ---- CREATE VIEW ------------------------------------------------------------------------------------------------

    /// CREATE VIEW, ALTER VIEW.
    pub(super) fn create_view(&mut self, create: &CreateViewStatement) -> Result<DdlRequest, SqlError> {
        let name = self.full_name(&create.name)?;
        let definer = match &create.definer {
            Some(account) => self.user_name(account),
            None => UserName::new(self.context.user.0, self.context.user.1),
        };
        if self.context.schema.user(&definer.name, &definer.host).is_none() {
            self.views.warnings.push((1449, unknown_definer(&definer).message));
        }
        let query = parsed_query(&create.query, self.context)?;
        let (context, relation_count) = (*self.context, self.joins.relation_count);
        self.views.names = Some(Box::default());
        let (_, columns) = self.within(&create.query, &context, |binder| binder.nested_query(&query))?;
        let names = self.views.names.take().unwrap_or_default();
        self.joins.relation_count = relation_count;
        let columns = column_names(&create.columns, &columns)?;
        let database = self.context.database.unwrap_or(&name.database);
        let query = view_text::full(&query, &names, database, Some(&columns))?;
        let table =
            TableDefinition { database: name.database, name: name.name, ..table_of_columns("", Vec::new()) };
        let view = ViewDefinition {
            table: Arc::new(table),
            query,
            definer,
            security: create.security,
            algorithm: create.algorithm,
            check: create.check,
            is_merged: false,
            is_updatable: false,
            collation: self.context.typing.collation,
            character_set: self.context.typing.collation.character_set().to_owned(),
        };
        let view = self.completed(view)?;
        Ok(DdlRequest::PutView(Box::new(ViewRequest { verb: create.verb, view })))
    }

    /// A new view with what its text means.
    fn completed(&mut self, view: ViewDefinition) -> Result<ViewDefinition, SqlError> {
        // The account that makes a view for another one may see what it sees.
        let own = ViewDefinition { security: ViewSecurity::Invoker, ..view.clone() };
        let query = self.stored_query(&view)?;
        let relation_count = self.joins.relation_count;
        let (_, columns): BoundQuery = self.in_view(&own, |binder| binder.nested_query(&query))?;
        self.joins.relation_count = relation_count;
        let wants_merge = view.algorithm != ViewAlgorithm::TempTable;
        let items = match merged_select(&query).filter(|_| wants_merge) {
            Some(select) => self.in_view(&own, |binder| binder.merged(select, &mut 0))?,
            None => None,
        };
        let is_merged = items.is_some();
        let mut algorithm = view.algorithm;
        if algorithm == ViewAlgorithm::Merge && !is_merged {
            algorithm = ViewAlgorithm::Undefined;
            let text = "View merge algorithm can't be used here for now (assumed undefined algorithm)";
            self.views.warnings.push((1354, text.to_owned()));
        }
        let is_updatable = items.is_some_and(|merged| merged.is_updatable);
        if view.check != ViewCheck::None && !is_updatable {
            let (database, name) = view.full_name();
            return Err(SqlError::new(
                1368,
                format!("CHECK OPTION on non-updatable view '{database}.{name}'"),
            ));
        }
        let columns = columns.iter().map(shown_column).collect();
        let table = Arc::new(TableDefinition { columns, ..(*view.table).clone() });
        Ok(ViewDefinition { table, algorithm, is_merged, is_updatable, ..view })
    }
}

/// Texts of views are printed so that no setting of a session matters.
const VIEW_MODES: crate::TextModes = crate::TextModes {
    ansi_quotes: false,
    no_backslash_escapes: false,
    pipes_as_concat: false,
    high_not_precedence: false,
    ignore_space: false,
    real_as_float: false,
    pad_char_to_full_length: false,
};

/// The query of a view.
fn parsed_query(text: &str, context: &BindContext<'_>) -> Result<Box<Query>, SqlError> {
    let parsed = parse::parse(text, context.limits, context.modes)?;
    if parsed.marker_count > 0 {
        return Err(SqlError::new(1351, "View's SELECT contains a variable or parameter"));
    }
    match parsed.statement {
        Statement::Select(select) if !select.into.is_empty() => {
            Err(SqlError::new(1350, "View's SELECT contains a 'INTO' clause"))
        }
        Statement::Select(select) if !select.lock_in_share_mode => Ok(select.query),
        _ => Err(crate::syntax::syntax_error(text, 0)),
    }
}

/// The SELECT of a query that does nothing with the rows of its tables but to choose some and to name their values.
fn merged_select(query: &Query) -> Option<&Select> {
    let is_bare = query.with.is_none()
        && query.order_by.is_none()
        && query.limit_clause.is_none()
        && query.locks.is_empty();
    let SetExpr::Select(select) = &*query.body else { return None };
    let is_grouped = !matches!(&select.group_by, GroupByExpr::Expressions(items, _) if items.is_empty());
    let is_plain = select.distinct.is_none() && !is_grouped && select.having.is_none();
    let has_tables = match select.from.as_slice() {
        [] => false,
        [only] => {
            !matches!(super::select::from_table("", &only.relation), Ok(super::select::FromTable::Dual))
        }
        _ => true,
    };
    (is_bare && is_plain && has_tables).then_some(&**select)
}

/// The names of a view's columns: those in parentheses behind its name, or those of the items. Names that no column may
/// have are replaced.
fn column_names(listed: &[String], columns: &[ResultColumn]) -> Result<Vec<String>, SqlError> {
    if !listed.is_empty() && listed.len() != columns.len() {
        return names_of(&[], columns).and_then(|_| Err(SqlError::new(1353, DIFFERENT_COUNTS)));
    }
    let mut names: Vec<String> = Vec::with_capacity(columns.len());
    for (number, column) in columns.iter().enumerate() {
        let name = listed.get(number).unwrap_or(&column.name);
        let is_bad = name.chars().count() > NAME_CHARACTERS_MAX || name.ends_with(' ') || name.is_empty();
        let is_own = listed.is_empty() && column.original_name.is_empty();
        names.push(if is_bad && is_own { format!("Name_exp_{}", number + 1) } else { name.clone() });
    }
    match first_repeated(names.iter().map(String::as_str)) {
        Some(name) => Err(SqlError::new(1060, format!("Duplicate column name '{name}'"))),
        None => Ok(names),
    }
}

const DIFFERENT_COUNTS: &str = "In definition of view, derived table or common table expression, SELECT list and column names list have different \
     column counts";

/// A column as clients see it: one of a table keeps its default.
fn shown_column(column: &ResultColumn) -> ColumnDefinition {
    let origin = column.origin.as_ref().map(|origin| origin.table.column_at(origin.column));
    let default = match origin.map(|origin| &origin.default) {
        None if column.nullable => DefaultValue::Literal(types::Value::Null),
        None | Some(DefaultValue::AutoIncrement | DefaultValue::Generated { .. }) => DefaultValue::Missing,
        Some(default) => default.clone(),
    };
    ColumnDefinition {
        default,
        format: column.format,
        ..result_column(&column.name, column.sql_type.clone(), column.nullable)
    }
}

/// 1356.
fn invalid(view: &ViewDefinition) -> SqlError {
    let (database, name) = view.full_name();
    SqlError::new(
        1356,
        format!(
            "View '{database}.{name}' references invalid table(s) or column(s) or function(s) or definer/invoker of view \
             lack rights to use them"
        ),
    )
}

/// An error in a view's query says what the view is made of: not everybody may know that.
pub(super) fn invalid_view(error: SqlError, view: &ViewDefinition) -> SqlError {
    const HIDDEN: [u16; 9] = [1044, 1049, 1054, 1109, 1142, 1143, 1146, 1305, 1356];
    if HIDDEN.contains(&error.code) { invalid(view) } else { error }
}

fn unknown_definer(definer: &UserName) -> SqlError {
    let UserName { name, host } = definer;
    SqlError::new(1449, format!("The user specified as a definer ('{name}'@'{host}') does not exist"))
}
