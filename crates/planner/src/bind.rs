//! Statements to plans: names become columns, expressions get types, clauses are checked as MySQL checks them.
//!
//! - `scope`: which column a name means. `expression/`: expressions and calls. `grouping`: GROUP BY and aggregates.
//! - `query`, `with`: UNION and its like, WITH. `select`, `joined`, `from`, `subquery`, `window`: one SELECT.
//! - `insert`, `modify`, `change`, `session`, `ddl`, `create_select`: the other statements.
//!
//! Invariant: a bound statement names only columns and indexes of the schema it was bound to, and every expression in
//! it is typed.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "the parser crate's enums hold every dialect: what is not named does not fit"
)]

mod change;
mod check;
mod conflict_queries;
mod create_select;
mod ddl;
mod expression;
mod from;
mod grant;
mod grouping;
mod insert;
mod inserted_columns;
mod item_names;
mod joined;
mod known;
mod lock;
mod modify;
mod named_items;
mod outer_join;
mod query;
mod scope;
mod select;
mod session;
mod session_values;
mod subquery;
mod unnest;
mod value_queries;
mod variables;
mod view;
mod view_change;
mod window;
mod with;

pub use grant::role_names;
pub(crate) use session::result_table;
pub use variables::LAST_INSERT_ID;

use super::statement::{FlushOption, Statement, TableName};
use super::view_text::Names;
use super::{BindContext, privileges};
use crate::algebra::{Block, Subquery};
use crate::plan::{
    DdlPlan, ExplainFormat, Plan, Prepared, ResultColumn, Rows, SessionValue, SetTarget, Source,
    UserLockCall, UserLockFunction, VirtualRead, VirtualTable,
};
use crate::statistics::{Band, Remembered};
use ::expression::aggregate::GROUP_CONCAT_SIZE_MAX;
use ::expression::{AggregateCall, Expression, IMPLICIT};
use protocol::SqlError;
use sqlparser::ast::{Expr, Query, Value as AstValue};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::Arc;
use types::{
    Collation, ColumnIndex, IntegerWidth, NumberFormat, SqlType, TableDefinition, TableKind, Value,
    ViewDefinition,
};

/// Items of a SELECT list, of GROUP BY and of ORDER BY: as many as a prepared statement can have markers.
const ITEM_COUNT_MAX: usize = 65_535;

/// MySQL's warning about `@v := value` in expressions.
const ASSIGNMENT_IS_DEPRECATED: &str = "Setting user variables within expressions is deprecated and will be removed in a \
    future release. Consider alternatives: 'SET variable=expression, ...', or \
    'SELECT expression(s) INTO variables(s)'.";

/// The clause that an expression stands in, for messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Clause {
    FieldList,
    Where,
    /// ON of a join.
    On,
    /// USING and NATURAL.
    From,
    GroupBy,
    Having,
    OrderBy,
    WindowPartition,
    WindowOrder,
    Limit,
    Default,
}

impl Clause {
    /// As MySQL names it.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::FieldList => "field list",
            Self::Where => "where clause",
            Self::On => "on clause",
            Self::From => "from clause",
            Self::GroupBy => "group statement",
            Self::Having => "having clause",
            Self::OrderBy => "order clause",
            Self::WindowPartition => "window partition by",
            Self::WindowOrder => "window order by",
            Self::Limit => "limit clause",
            Self::Default => "default value expression",
        }
    }
}

/// Binds one statement.
pub(crate) struct Binder<'a> {
    pub(crate) text: &'a str,
    pub(crate) context: &'a BindContext<'a>,
    pub(crate) parameter_types: &'a [SqlType],
    pub(crate) session_values: session_values::SessionValues,
    /// The work that it was so far.
    pub(crate) work: Work,
    /// The columns that the statement stores into.
    pub(crate) uses: ColumnUse,
    /// The columns that it reads, of each table.
    pub(crate) reads: Vec<(Arc<TableDefinition>, ColumnUse)>,
    /// The subqueries of the SELECT that is bound; None where none may stand.
    pub(crate) subqueries: Option<Vec<Subquery>>,
    /// The window functions of the SELECT that is bound; None where none may stand.
    pub(crate) windows: Option<window::WindowsDraft>,
    /// The SELECTs around the one that is bound.
    pub(crate) outward: Outward,
    /// The INSERT that is bound.
    pub(crate) insert: InsertState,
    /// The common table expressions that are in sight, the innermost last.
    pub(crate) common: Vec<with::CommonScope>,
    /// The virtual tables that are read.
    pub(crate) virtuals: VirtualState,
    /// How many recursions the query that is bound is a part of.
    pub(crate) rounds: usize,
    /// Its FROM clauses so far.
    pub(crate) joins: JoinState,
    /// Its volatile functions.
    pub(crate) volatile: VolatileState,
    /// It may store defaults that are computed, and may be volatile.
    pub(crate) stores_computed: bool,
    /// The views that are bound.
    pub(crate) views: ViewState,
    /// The user variables that it assigns.
    pub(crate) variables: variables::Variables,
    /// It names a temporary table.
    pub(crate) names_temporary: Cell<bool>,
}

/// The work that grows faster than a statement's text, as it is counted against limits.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Work {
    /// Nodes of items that stood for their aliases and ordinals.
    pub(crate) substituted: usize,
    /// Compiling patterns.
    pub(crate) patterns: usize,
}

/// The binder's knowledge of the SELECTs around the one that is bound.
#[derive(Default)]
pub(crate) struct Outward {
    /// They, the outermost first.
    pub(crate) blocks: Vec<OuterBlock>,
    /// Their columns that were named from within.
    pub(crate) columns: Vec<OuterColumn>,
}

/// The binder's knowledge of virtual tables.
#[derive(Default)]
pub(crate) struct VirtualState {
    /// Numbers given to common table expressions and to virtual tables.
    pub(crate) count: u32,
    /// Those that are read.
    pub(crate) reads: Vec<Arc<VirtualRead>>,
}

/// The binder's knowledge of what is joined.
#[derive(Debug, Default)]
pub(crate) struct JoinState {
    /// Tables and queries in FROM so far.
    pub(crate) relation_count: usize,
    /// Queries around the one that is bound.
    pub(crate) depth: usize,
    /// Subqueries in ON of outer joins so far.
    pub(crate) on_subqueries: usize,
    /// How deep subqueries that have two plans are within one another in that one.
    pub(crate) alternatives: usize,
    /// The tables by whose rows joins were ordered.
    pub(crate) bands: Vec<Band>,
    /// The query that is bound next is a subquery, whose parts are wanted beside its plan.
    pub(crate) wants_block: bool,
    /// They are here.
    pub(crate) block: Option<Box<Block>>,
}

/// The binder's knowledge of views.
#[derive(Debug, Default)]
pub(crate) struct ViewState {
    /// The views in whose queries the binder is, the outermost first: database and name.
    pub(crate) stack: Vec<(String, String)>,
    /// One was met.
    pub(crate) was_met: bool,
    /// How many trees of joins with outer ones are around the table that is bound.
    pub(crate) outer_joins: usize,
    /// The meanings of names are noted here, for a view that is made.
    pub(crate) names: Option<Box<Names>>,
    /// Warnings of each execution, by number.
    pub(crate) warnings: Vec<(u16, String)>,
}

/// The binder's knowledge of an INSERT.
#[derive(Debug, Default)]
pub(crate) struct InsertState {
    /// Its query, while ON DUPLICATE KEY UPDATE is bound, and the query's columns that were named there.
    query: Option<InsertedQuery>,
    /// The new row, within subqueries of ON DUPLICATE KEY UPDATE.
    new_row: Option<conflict_queries::NewRow>,
}

/// A query whose rows are inserted.
#[derive(Clone, Debug)]
pub(crate) struct InsertedQuery {
    query: Query,
    /// The slot of the first column that is named.
    first_slot: u16,
    /// The columns, as they are written.
    named: Vec<(Expr, Expression)>,
}

/// A SELECT around the one that is bound.
#[derive(Clone, Debug, Default)]
pub(crate) struct OuterBlock {
    /// Its names.
    scope: std::rc::Rc<scope::Scope>,
    /// Its aggregates that were named from within, and the parameters in which their values stand; None: there may be
    /// none where the query within stands.
    calls: Option<Vec<(u16, AggregateCall)>>,
}

/// A column of a SELECT around the one that names it.
#[derive(Debug)]
pub(crate) struct OuterColumn {
    /// How many SELECTs are around the one that it belongs to.
    depth: usize,
    column: Expression,
    /// In which it stands.
    parameter: u16,
}

/// The binder's knowledge of volatile functions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VolatileState {
    /// Calls so far, and uses of user variables that are assigned.
    pub(crate) calls: u16,
    /// Those that are allowed where the expression that is bound next stands.
    pub(crate) place: VolatilePlace,
}

/// Where a volatile function stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum VolatilePlace {
    /// The session evaluates it row by row.
    Session,
    /// The session evaluates it, but cannot wait in the middle.
    Restless,
    /// The rows' own nodes evaluate it.
    Rows,
}

/// The columns of its table that a statement names, and what for.
#[derive(Clone, Debug, Default)]
pub(crate) struct ColumnUse {
    /// Columns whose values are read.
    pub(crate) read: BTreeSet<ColumnIndex>,
    /// `*` stands for some of them.
    pub(crate) reads_all: bool,
    /// That INSERT gives values.
    pub(crate) inserted: BTreeSet<ColumnIndex>,
    /// INSERT names none and means all.
    pub(crate) inserts_all: bool,
    /// That UPDATE or ON DUPLICATE KEY UPDATE assigns.
    pub(crate) updated: BTreeSet<ColumnIndex>,
}

/// A plan and the columns of its result.
pub(crate) struct Bound {
    pub(crate) plan: Plan,
    pub(crate) columns: Vec<ResultColumn>,
}

impl Bound {
    /// A statement without a result set.
    pub(crate) fn without_rows(plan: Plan) -> Self {
        Self { plan, columns: Vec::new() }
    }

    /// A change of the catalogue.
    pub(crate) fn ddl(request: catalogue::DdlRequest) -> Self {
        Self::without_rows(Plan::Ddl(Box::new(DdlPlan { request, fill: None })))
    }
}

/// A table that a statement names.
pub(crate) enum NamedTable {
    Stored(Arc<TableDefinition>),
    Virtual(VirtualTable, Arc<TableDefinition>),
    View(Arc<ViewDefinition>),
}

impl NamedTable {
    /// Its columns.
    pub(crate) fn definition(&self) -> &Arc<TableDefinition> {
        match self {
            NamedTable::Stored(table) | NamedTable::Virtual(_, table) => table,
            NamedTable::View(view) => &view.table,
        }
    }
}

/// Binds a statement whose `?` have the given types.
pub(crate) fn bind(
    text: &str,
    statement: &Statement,
    context: &BindContext<'_>,
    parameter_types: &[SqlType],
) -> Result<Prepared, SqlError> {
    privileges::check(statement, context)?;
    let statistics = Remembered::new(context.statistics);
    let context = &BindContext { statistics: &statistics, ..*context };
    let is_set = matches!(statement, Statement::Set(items)
        if items.iter().any(|item| item.target != SetTarget::Nothing));
    let mut variables = variables::Variables::of(text, context.modes, is_set);
    for _ in 1..variables::ROUNDS_MAX {
        let (prepared, bound) = bind_once(text, statement, context, parameter_types, variables)?;
        match bound.again() {
            Ok(again) => variables = again,
            Err(_) => return Ok(prepared),
        }
    }
    bind_once(text, statement, context, parameter_types, variables).map(|(prepared, _)| prepared)
}

/// Binds a statement with the types of its user variables as far as they are known.
fn bind_once(
    text: &str,
    statement: &Statement,
    context: &BindContext<'_>,
    parameter_types: &[SqlType],
    variables: variables::Variables,
) -> Result<(Prepared, variables::Variables), SqlError> {
    let mut binder = Binder {
        text,
        context,
        parameter_types,
        session_values: session_values::SessionValues::default(),
        work: Work::default(),
        uses: ColumnUse::default(),
        reads: Vec::new(),
        common: Vec::new(),
        virtuals: VirtualState::default(),
        rounds: 0,
        joins: JoinState::default(),
        subqueries: None,
        windows: None,
        outward: Outward::default(),
        insert: InsertState::default(),
        volatile: VolatileState { calls: 0, place: VolatilePlace::Session },
        stores_computed: false,
        views: ViewState::default(),
        variables,
        names_temporary: Cell::new(false),
    };
    let bound = binder.statement(statement);
    let bound =
        bound.map_err(|error| privileges::hide_unknown_column(error, statement, &binder.reads, context))?;
    for (table, uses) in &binder.reads {
        privileges::check_columns(table, uses, context)?;
    }
    let calls_user_locks =
        binder.session_values.iter().any(|value| matches!(value, SessionValue::UserLock(_)));
    let is_without_table = matches!(&bound.plan, Plan::Set(_))
        || matches!(&bound.plan, Plan::Select(select) if matches!(select.source, Source::Nothing));
    if calls_user_locks && !is_without_table {
        return Err(user_lock_in_table());
    }
    if let Some(table) = table_of(&bound.plan) {
        privileges::check_columns(table, &binder.uses, context)?;
    }
    // A plan is made of the texts of the views that it reads, too.
    let depends_on_tables = binder.virtuals.reads.is_empty() && !binder.views.was_met;
    let mut warnings = ddl::deprecations(statement);
    warnings.append(&mut binder.views.warnings);
    let variables = binder.variables;
    warnings.extend((0..variables.assignments).map(|_| (1287, ASSIGNMENT_IS_DEPRECATED.to_owned())));
    let prepared = Prepared {
        schema: context.schema.version,
        tables: stored_tables_of(&bound.plan).filter(|_| depends_on_tables && variables.sets.is_empty()),
        bands: binder.joins.bands,
        virtual_reads: binder.virtuals.reads,
        plan: bound.plan,
        parameters: parameter_types.to_vec(),
        session_values: binder.session_values.into_values(),
        is_volatile: binder.volatile.calls > 0 || binder.stores_computed,
        columns: Arc::new(bound.columns),
        assigned: variables.names(),
        into: variables.into.clone(),
        sets: variables.sets.clone(),
        analyzes: matches!(statement, Statement::Analyze(_)),
        names_temporary: binder.names_temporary.get(),
        warnings,
    };
    Ok((prepared, variables))
}

/// The table whose columns a plan names.
fn table_of(plan: &Plan) -> Option<&TableDefinition> {
    match plan.rows()? {
        Rows::Nothing | Rows::Joined(_) => None,
        Rows::Stored(table) => Some(table),
    }
}

/// The stored tables that a plan names, if it depends on nothing else of the schema.
fn stored_tables_of(plan: &Plan) -> Option<Vec<Arc<TableDefinition>>> {
    let mut tables: Vec<Arc<TableDefinition>> = Vec::new();
    let mut add = |table: &Arc<TableDefinition>| {
        if !tables.iter().any(|known| known.id == table.id) {
            tables.push(Arc::clone(table));
        }
    };
    match plan.rows()? {
        Rows::Nothing => {}
        Rows::Stored(table) => add(table),
        Rows::Joined(select) => select.visit_tables(&mut add),
    }
    if let Some(source) = plan.insert_source() {
        source.visit_tables(&mut add);
    }
    Some(tables)
}

/// Whether a column of the table has an expression for its default.
fn has_computed_default(table: &TableDefinition) -> bool {
    table.columns.iter().any(|column| matches!(column.default, types::DefaultValue::Expression { .. }))
}

impl Binder<'_> {
    /// A select item in the place of its alias or ordinal. A short text can ask for a huge tree in this way, so they
    /// are counted.
    pub(crate) fn substitute(&mut self, item: &Expression) -> Result<Expression, SqlError> {
        self.work.substituted += item.node_count();
        let limit = self.context.limits.substituted_node_count_max;
        super::limits::exceeds("substituted_node_count_max", self.work.substituted, limit)?;
        Ok(item.clone())
    }

    fn statement(&mut self, statement: &Statement) -> Result<Bound, SqlError> {
        match statement {
            Statement::Select(select) => self.select(select),
            Statement::Insert(insert) => self.insert(insert),
            Statement::Update(update) => self.update(update),
            Statement::Delete(delete) => self.delete(delete),
            Statement::Change(change) => self.change(change),
            Statement::Explain(format, explained) => {
                let plan = Box::new(self.statement(explained)?.plan);
                let columns = super::explain::columns(*format);
                Ok(Bound {
                    plan: Plan::Explain { plan, format: *format },
                    columns: explain_columns(&columns),
                })
            }
            Statement::Analyze(select) => {
                let bound = self.select(select)?;
                self.variables.into.clear();
                let columns = explain_columns(&super::explain::columns(ExplainFormat::Tree));
                Ok(Bound { plan: bound.plan, columns })
            }
            Statement::Ddl(ddl) => self.ddl(ddl),
            Statement::Transaction(transaction) => {
                Ok(Bound::without_rows(Plan::Transaction(transaction.clone())))
            }
            Statement::Set(items) => self.set(items),
            Statement::Use(database) => {
                self.known_database(database)?;
                Ok(Bound::without_rows(Plan::Use(database.clone())))
            }
            Statement::Show(show) => {
                self.volatile.place = VolatilePlace::Restless;
                self.show(show)
            }
            Statement::Maintenance(operation, tables) => self.maintenance(*operation, tables),
            Statement::Kill { connection, query_only } => self.kill(connection, *query_only),
            Statement::LockTables(tables) => self.lock_tables(tables),
            Statement::UnlockTables => Ok(Bound::without_rows(Plan::UnlockTables)),
            Statement::Named(named) => Ok(Bound::without_rows(Plan::Named(named.clone()))),
            Statement::Grant(grant) => self.grant(grant),
            Statement::SetRole(roles) => Ok(Bound::without_rows(Plan::SetRole(self.set_role(roles)?))),
            Statement::Shutdown => Ok(Bound::without_rows(Plan::Shutdown)),
            Statement::Flush(options) => {
                let resets =
                    |option| matches!(option, &FlushOption::UserResources | &FlushOption::Privileges);
                let nothing = Plan::Nothing { note: None };
                let plan = if options.iter().any(resets) { Plan::FlushUserResources } else { nothing };
                Ok(Bound::without_rows(plan))
            }
            Statement::Nothing(note) => {
                let note = note.clone().map(|note| (1235, note));
                Ok(Bound::without_rows(Plan::Nothing { note }))
            }
        }
    }

    /// The current database, or 1046.
    pub(crate) fn current_database(&self) -> Result<&str, SqlError> {
        self.context.database.ok_or_else(|| SqlError::new(1046, "No database selected"))
    }

    /// 1049 unless the database exists; databases of virtual tables do.
    pub(crate) fn known_database(&self, database: &str) -> Result<(), SqlError> {
        if self.context.schema.database(database).is_some() || is_virtual_database(database) {
            return Ok(());
        }
        Err(SqlError::new(1049, format!("Unknown database '{database}'")))
    }

    /// The table of that name: 1046, 1049, 1146.
    pub(crate) fn named_table(&self, name: &TableName) -> Result<NamedTable, SqlError> {
        let database = match &name.database {
            Some(database) => database.as_str(),
            None => self.current_database()?,
        };
        if let Some(table) = self.context.temporary_table(database, &name.name) {
            if self.views.names.is_some() {
                let text = format!("View's SELECT refers to a temporary table '{}'", name.name);
                return Err(SqlError::new(1352, text));
            }
            self.names_temporary.set(true);
            return Ok(NamedTable::Stored(Arc::clone(table)));
        }
        if let Some(table) = self.context.schema.table(database, &name.name) {
            return Ok(NamedTable::Stored(Arc::clone(table)));
        }
        if let Some(view) = self.context.schema.view(database, &name.name) {
            return Ok(NamedTable::View(Arc::clone(view)));
        }
        if is_virtual_database(database) {
            let table = VirtualTable {
                database: database.to_ascii_lowercase(),
                name: name.name.to_ascii_lowercase(),
            };
            if let Some(definition) = self.context.surroundings.virtual_table(&table.database, &table.name) {
                return Ok(NamedTable::Virtual(table, definition));
            }
            if table.database == "information_schema" {
                let upper = name.name.to_ascii_uppercase();
                return Err(SqlError::new(1109, format!("Unknown table '{upper}' in information_schema")));
            }
        }
        self.known_database(database)?;
        Err(SqlError::new(1146, format!("Table '{database}.{}' doesn't exist", name.name)))
    }

    /// Whether a view has this name.
    pub(crate) fn is_view(&self, name: &TableName) -> bool {
        let database = name.database.as_deref().or(self.context.database).unwrap_or_default();
        self.context.temporary_table(database, &name.name).is_none()
            && self.context.schema.view(database, &name.name).is_some()
    }

    /// A table that may be changed.
    pub(crate) fn stored_table(&self, name: &TableName) -> Result<Arc<TableDefinition>, SqlError> {
        match self.named_table(name)? {
            NamedTable::Stored(table) if table.kind == TableKind::User => Ok(table),
            NamedTable::Stored(table) => Err(system_table_rejected(&table)),
            NamedTable::View(_) => Err(SqlError::unsupported("changes through views")),
            NamedTable::Virtual(table, _) => {
                let (user, host) = self.context.user;
                Err(SqlError::new(
                    1044,
                    format!("Access denied for user '{user}'@'{host}' to database '{}'", table.database),
                ))
            }
        }
    }

    /// A value of the session as a parameter behind the statement's own.
    pub(crate) fn session_value(&mut self, value: SessionValue, name: &str) -> Result<Expression, SqlError> {
        let Some(present) = self.context.surroundings.session_value(&value) else {
            return Err(SqlError::new(1193, format!("Unknown system variable '{name}'")));
        };
        self.session_parameter(value, type_of_value(&present))
    }

    /// `@name`.
    pub(crate) fn user_variable(&mut self, name: String) -> Result<Expression, SqlError> {
        if let Some(assigned) = self.assigned_variable(&name)? {
            return Ok(assigned);
        }
        let sql_type = self
            .context
            .surroundings
            .user_variable_type(&name)
            .unwrap_or_else(|| type_of_value(&Value::Null));
        self.session_parameter(SessionValue::User(name), sql_type)
    }

    /// A call of GET_LOCK or its kin: not the same as another one, however alike.
    pub(crate) fn user_lock_call(
        &mut self,
        function: UserLockFunction,
        arguments: Vec<Expression>,
    ) -> Result<Expression, SqlError> {
        let call = UserLockCall { function, arguments };
        self.session_values.push(SessionValue::UserLock(Box::new(call)));
        self.numbered_parameter(self.session_values.len() - 1, type_of_value(&Value::Int(0)))
    }

    fn session_parameter(&mut self, value: SessionValue, sql_type: SqlType) -> Result<Expression, SqlError> {
        let position = self.session_values.place(value);
        self.numbered_parameter(position, sql_type)
    }

    fn numbered_parameter(&self, position: usize, sql_type: SqlType) -> Result<Expression, SqlError> {
        Ok(Expression::parameter(self.session_value_number(position)?, sql_type))
    }

    /// The parameter in which a session value stands.
    pub(crate) fn session_value_number(&self, position: usize) -> Result<u16, SqlError> {
        u16::try_from(self.parameter_types.len() + position)
            .map_err(|_| SqlError::new(1390, "Prepared statement contains too many placeholders"))
    }

    /// The columns that the statement reads of a table.
    pub(crate) fn reads_of(&mut self, table: &Arc<TableDefinition>) -> &mut ColumnUse {
        let position = self.reads.iter().position(|(known, _)| Arc::ptr_eq(known, table));
        let position = position.unwrap_or_else(|| {
            self.reads.push((Arc::clone(table), ColumnUse::default()));
            self.reads.len() - 1
        });
        &mut self.reads[position].1
    }

    /// LIMIT or OFFSET: an unsigned integer or a parameter.
    pub(crate) fn limit_number(&mut self, expr: &Expr) -> Result<Expression, SqlError> {
        let refused = || super::syntax::syntax_error_behind_word(self.text, "LIMIT");
        let Expr::Value(value) = expr else { return Err(refused()) };
        match &value.value {
            AstValue::Number(digits, _) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                Ok(Expression::unsigned(digits.parse().unwrap_or(u64::MAX)))
            }
            AstValue::Placeholder(_) => {
                let scope = scope::Scope::default();
                self.expression(expr, &mut expression::Place::new(&scope, Clause::Limit))
            }
            _ => Err(refused()),
        }
    }
}

/// Calls of GET_LOCK and its kin are made once, before the statement: they can't depend on rows.
pub(crate) fn user_lock_in_table() -> SqlError {
    SqlError::unsupported("GET_LOCK and its kin in statements on tables")
}

/// The error of a statement that would change or lock rows of a system table.
pub(crate) fn system_table_rejected(table: &TableDefinition) -> SqlError {
    SqlError::new(3554, format!("Access to system table '{}.{}' is rejected.", table.database, table.name))
}

/// `group_concat_max_len`.
pub(crate) fn group_concat_size_max(context: &BindContext<'_>) -> u32 {
    let name = SessionValue::Variable("group_concat_max_len".to_owned());
    match context.surroundings.session_value(&name) {
        Some(Value::Int(size)) => u32::try_from(size).unwrap_or(GROUP_CONCAT_SIZE_MAX),
        Some(Value::UInt(size)) => u32::try_from(size).unwrap_or(u32::MAX),
        _ => GROUP_CONCAT_SIZE_MAX,
    }
}

/// Databases whose tables are made when read.
pub(crate) fn is_virtual_database(database: &str) -> bool {
    ["information_schema", "performance_schema", "ndbinfo", "mysql", "sys"]
        .iter()
        .any(|name| database.eq_ignore_ascii_case(name))
}

fn type_of_value(value: &Value) -> SqlType {
    match value {
        Value::Null | Value::Bytes(_) => {
            SqlType::VarChar { length: 1_024, collation: Collation::Utf8mb4GeneralCi }
        }
        Value::Int(_) => SqlType::Integer { width: IntegerWidth::Big, unsigned: false },
        Value::UInt(_) => SqlType::Integer { width: IntegerWidth::Big, unsigned: true },
        Value::Double(_) => SqlType::Double,
        Value::Decimal(decimal) => {
            SqlType::Decimal { precision: decimal.precision(), scale: decimal.scale(), unsigned: false }
        }
        Value::Date(_) => SqlType::Date,
        Value::Time(_) => SqlType::Time { fraction: 6 },
        Value::DateTime(_) => SqlType::DateTime { fraction: 6 },
    }
}

/// A column of a result that no table has.
pub(crate) fn computed_column(name: impl Into<String>, sql_type: SqlType, nullable: bool) -> ResultColumn {
    ResultColumn {
        name: name.into(),
        original_name: String::new(),
        table: String::new(),
        original_table: String::new(),
        database: String::new(),
        sql_type,
        nullable,
        coercibility: IMPLICIT,
        origin: None,
        format: NumberFormat::default(),
    }
}

/// A column of a result that an expression gives.
pub(crate) fn item_column(name: impl Into<String>, item: &Expression) -> ResultColumn {
    let column = computed_column(name, item.sql_type.clone(), item.nullable);
    ResultColumn { coercibility: item.coercibility, ..column }
}

fn explain_columns(columns: &[(&'static str, SqlType)]) -> Vec<ResultColumn> {
    columns.iter().map(|(name, sql_type)| computed_column(*name, sql_type.clone(), true)).collect()
}
