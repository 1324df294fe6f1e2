//! The bound, planned form of a statement, which the executor runs, cached by digest.
//!
//! *Row spaces.* Expressions name their inputs by slot. In the **source space** slot `i` is column `i` of the table
//! (hidden columns included). Behind a grouping the **group space** holds the values of GROUP BY, then one result per
//! aggregate call. `SELECT` items, HAVING and ORDER BY are in the group space if there is a grouping, else in the
//! source space.
//!
//! *Constant expressions* (keys, ranges, LIMIT, VALUES) use no slots, only literals and parameters; they are evaluated
//! once per execution.
//!
//! *Values of keys.* A path is chosen by types, because values are only known when it runs. Each value of a key or
//! bound is brought into its column's type exactly, never rounded or cut silently (`executor::access` does it):
//!
//! - NULL in a key, in `equal` or as a bound finds nothing (`column = NULL` is never true). `with_null` is how NULLs
//!   are found.
//! - A value that the column's type cannot hold equals no row: that key, or that whole range, is omitted. (Examples:
//!   3.5, 70000 or '1abc' in a SMALLINT, 0.1 in a FLOAT, a DATETIME with a time in a DATE.)
//! - As a bound, such a value becomes the nearest value of the type inside the range, inclusive; beyond the type's
//!   limits the bound falls away or the range is empty.
//! - Strings keep their full length, whatever the column's. For a part with a prefix length the encoder cuts the key to
//!   it, and the planner keeps the condition in the filter and makes the bound inclusive.
//!
//! *Session values.* `@@variable`, ROW_COUNT() and the like are parameters behind the statement's own: a plan never
//! holds their values.
//!
//! Invariant: a plan is valid for every schema version in which its tables have the names, ids and versions that it was
//! bound to ([`Prepared::fits`]). Slots check a table's version, too.

mod relation;
mod safe_updates;
mod window;

pub use relation::{
    Apply, Binding, Branch, CommonRead, CommonTable, Derived, FoundTable, HashForm, HashKey, Join, JoinKind,
    LockedQuery, Lookup, Reads, Recursion, Relation, Scan, SetOperation, SetStep, SetVerb, ValueRows,
    VirtualRead,
};
pub use window::{Direction, Distance, Frame, FrameEdge, WindowCall, WindowFunction, WindowStep, Windows};

use crate::statistics::{Band, Statistics};
use expression::Expression;
use expression::aggregate::AggregateCall;
pub use protocol::program::ViewCondition;
use protocol::program::{LockMode, LockWait};
use std::sync::Arc;
use types::{
    ColumnIndex, IndexId, NumberFormat, Privileges, Schema, SchemaVersion, SqlType, TableDefinition, UserName,
};

/// A statement ready to run.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The schema it was bound to.
    pub schema: SchemaVersion,
    /// All that it was bound to of the schema, beside what the session may do. None: of no use for another schema.
    pub tables: Option<Vec<Arc<TableDefinition>>>,
    /// The tables by whose rows it was chosen: it is of no use when one has left its band.
    pub bands: Vec<Band>,
    /// The virtual tables that it reads: their rows are lent to it before it runs.
    pub virtual_reads: Vec<Arc<VirtualRead>>,
    /// The work itself.
    pub plan: Plan,
    /// Types of the parameters it was bound for, in order.
    pub parameters: Vec<SqlType>,
    /// The values that the session appends to the parameters at each execution, in order.
    pub session_values: Vec<SessionValue>,
    /// An expression of it has another value each time, or a default that it stores may have.
    pub is_volatile: bool,
    /// Columns of its result set; empty if it has none.
    pub columns: Arc<Vec<ResultColumn>>,
    /// The user variables that its expressions assign, in lower case: expressions name them by their place here.
    pub assigned: Vec<String>,
    /// SELECT … INTO: the user variables that its only row goes to, in lower case, with the types of its values.
    pub into: Vec<(String, SqlType)>,
    /// SET and DO with subqueries: their values are expressions over the only row of the query that is the plan.
    pub sets: Vec<SetItem>,
    /// EXPLAIN ANALYZE: its rows are counted, and what became of each step is the result.
    pub analyzes: bool,
    /// The warnings of each execution, by number.
    pub warnings: Vec<(u16, String)>,
    /// It names a temporary table: no other session has the same.
    pub names_temporary: bool,
}

impl Prepared {
    /// Whether it was bound to the types that user variables have at this moment.
    pub fn reads_user_variables(&self) -> bool {
        let reads = |value: &SessionValue| matches!(value, SessionValue::User(_));
        !self.assigned.is_empty() || self.session_values.iter().any(reads)
    }

    /// Whether binding the statement to this schema would give the same plan.
    #[must_use]
    pub fn fits(&self, schema: &Schema) -> bool {
        let is_same = |table: &Arc<TableDefinition>| {
            let named = schema.table(&table.database, &table.name);
            named.is_some_and(|named| (named.id, named.version) == (table.id, table.version))
        };
        self.schema == schema.version || self.tables.as_ref().is_some_and(|tables| tables.iter().all(is_same))
    }

    /// Whether it names a table that one of these hides, as far as is known.
    #[must_use]
    pub fn may_name(&self, temporary: &Schema) -> bool {
        match (&self.plan, &self.tables) {
            (_, Some(tables)) => {
                tables.iter().any(|table| temporary.table(&table.database, &table.name).is_some())
            }
            (
                Plan::Select(_)
                | Plan::Insert(_)
                | Plan::Update(_)
                | Plan::Delete(_)
                | Plan::Change(_)
                | Plan::Explain { .. },
                None,
            ) => temporary.named_tables().next().is_some(),
            _ => false,
        }
    }

    /// Whether the tables that it was chosen by have about as many rows as then.
    #[must_use]
    pub fn fits_rows(&self, statistics: &dyn Statistics) -> bool {
        let holds = |band: &Band| statistics.row_count(&band.table).is_none_or(|count| band.holds(count));
        self.bands.iter().all(holds)
    }

    /// Whether it is a SELECT whose rows are sent to the client.
    pub fn sends_rows_of_select(&self) -> bool {
        matches!(self.plan, Plan::Select(_)) && self.into.is_empty() && self.sets.is_empty() && !self.analyzes
    }

    /// Whether it calls GET_LOCK or its kin.
    pub fn calls_user_locks(&self) -> bool {
        self.session_values.iter().any(|value| matches!(value, SessionValue::UserLock(_)))
    }

    /// Whether another session may run this plan for the same text, database, parameter types and
    /// `SessionVariables::bind_key`. DDL, SET and SHOW are bound to more of a session than that: ALTER USER
    /// CURRENT_USER() changes the password of its user.
    #[must_use]
    pub fn is_shareable(&self) -> bool {
        if self.names_temporary || !self.sets.is_empty() {
            return false;
        }
        match &self.plan {
            Plan::Select(_)
            | Plan::Insert(_)
            | Plan::Update(_)
            | Plan::Delete(_)
            | Plan::Change(_)
            | Plan::Explain { .. }
            | Plan::Transaction(_)
            | Plan::Use(_)
            | Plan::Kill { .. }
            | Plan::FlushUserResources
            | Plan::Shutdown
            | Plan::UnlockTables
            | Plan::Nothing { .. } => true,
            Plan::LockTables(_)
            | Plan::Ddl(_)
            | Plan::Temporary(_)
            | Plan::Set(_)
            | Plan::SetRole(_)
            | Plan::Show(_)
            | Plan::Named(_) => false,
        }
    }
}

/// A value of the session that a statement names.
#[derive(Clone, PartialEq, Debug)]
pub enum SessionValue {
    /// `@@name`, `@@session.name`: the session's value, or the global one if the variable has no other.
    Variable(String),
    /// `@@global.name`.
    GlobalVariable(String),
    /// `@name`, in lower case: of the type that it has when the statement is bound, and NULL if it was never set.
    User(String),
    /// ROW_COUNT().
    RowCount,
    /// FOUND_ROWS().
    FoundRows,
    /// CURRENT_ROLE().
    CurrentRole,
    /// CURRENT_USER(): name and host pattern of the account.
    CurrentUser,
    /// NULL here: the place of a value of one row while something is done for that row.
    Outer,
    /// GET_LOCK and its kin: each call is made once, in their order, before the statement runs.
    UserLock(Box<UserLockCall>),
}

/// Where a system variable has values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    /// In each session, which begins with the global one.
    Both,
    /// In the cluster (or node) only.
    Global,
    /// In each session only.
    Session,
    /// In each session the global one as it was when the session began.
    Begin,
}

/// A call of GET_LOCK or its kin.
#[derive(Clone, PartialEq, Debug)]
pub struct UserLockCall {
    /// Which.
    pub function: UserLockFunction,
    /// A text, and for GET_LOCK an integer: constants.
    pub arguments: Vec<Expression>,
}

/// GET_LOCK and its kin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UserLockFunction {
    /// GET_LOCK.
    Get,
    /// RELEASE_LOCK.
    Release,
    /// RELEASE_ALL_LOCKS.
    ReleaseAll,
    /// IS_FREE_LOCK.
    IsFree,
    /// IS_USED_LOCK.
    IsUsed,
}

/// A column of a result set, as the client sees it.
#[derive(Clone, Debug)]
pub struct ResultColumn {
    /// Alias or text of the item.
    pub name: String,
    /// Column name in the table; empty for expressions.
    pub original_name: String,
    /// Table alias or name; empty for expressions.
    pub table: String,
    /// Table name; empty for expressions.
    pub original_table: String,
    /// Its database; empty for expressions.
    pub database: String,
    /// Type.
    pub sql_type: SqlType,
    /// May be NULL.
    pub nullable: bool,
    /// How strong its collation is where the query is a table of another one.
    pub coercibility: u8,
    /// The column of a table that it is; clients are told of its keys and its default.
    pub origin: Option<ColumnOrigin>,
    /// How the table shows its numbers.
    pub format: NumberFormat,
}

/// A column of a table.
#[derive(Clone, Debug)]
pub struct ColumnOrigin {
    /// The table.
    pub table: Arc<TableDefinition>,
    /// Which column.
    pub column: ColumnIndex,
}

/// Kinds of statements.
#[derive(Clone, Debug)]
pub enum Plan {
    /// SELECT, also without a table.
    Select(Box<SelectPlan>),
    /// INSERT, REPLACE.
    Insert(Box<InsertPlan>),
    /// UPDATE.
    Update(Box<UpdatePlan>),
    /// DELETE.
    Delete(Box<DeletePlan>),
    /// UPDATE and DELETE whose rows a query finds.
    Change(Box<ChangePlan>),
    /// EXPLAIN of a plan: `explain::rows` makes the result.
    Explain {
        /// The plan that is explained.
        plan: Box<Plan>,
        /// How.
        format: ExplainFormat,
    },
    /// CREATE, DROP, ALTER … of databases, tables, indexes, users.
    Ddl(Box<DdlPlan>),
    /// The same of temporary tables.
    Temporary(Box<TemporaryPlan>),
    /// Transaction control.
    Transaction(TransactionStatement),
    /// SET and DO without subqueries; with subqueries they are a SELECT with [`Prepared::sets`].
    Set(Vec<SetItem>),
    /// USE.
    Use(String),
    /// SHOW, DESCRIBE and the like: rows made from the catalogue or the session, then filtered.
    Show(Box<ShowPlan>),
    /// SET ROLE.
    SetRole(SetRole),
    /// FLUSH USER_RESOURCES, FLUSH PRIVILEGES.
    FlushUserResources,
    /// SHUTDOWN.
    Shutdown,
    /// KILL.
    Kill {
        /// Connection id.
        connection: u64,
        /// KILL QUERY.
        query_only: bool,
    },
    /// LOCK TABLES: each table once, as it is to be locked.
    LockTables(Vec<(Arc<TableDefinition>, LockMode)>),
    /// UNLOCK TABLES.
    UnlockTables,
    /// Accepted and without effect.
    Nothing {
        /// A note that says so, with its number, if it deserves one.
        note: Option<(u16, String)>,
    },
    /// PREPARE, EXECUTE, DEALLOCATE PREPARE.
    Named(NamedStatement),
}

impl Plan {
    /// The stored table whose rows it reads or changes.
    #[must_use]
    pub fn table(&self) -> Option<&Arc<TableDefinition>> {
        match self.rows() {
            Some(Rows::Stored(table)) if !matches!(self, Plan::Explain { .. }) => Some(table),
            Some(Rows::Stored(_) | Rows::Joined(_) | Rows::Nothing) | None => None,
        }
    }

    /// All stored tables whose rows it reads or changes, in the order of the statement.
    #[must_use]
    pub fn tables(&self) -> Vec<&Arc<TableDefinition>> {
        match self.rows() {
            Some(Rows::Joined(select)) if !matches!(self, Plan::Explain { .. }) => {
                let mut tables = Vec::new();
                select.visit_tables(&mut |table| tables.push(table));
                tables
            }
            _ => {
                let mut tables: Vec<_> = self.table().into_iter().collect();
                if let Some(source) = self.insert_source() {
                    source.visit_tables(&mut |table| tables.push(table));
                }
                tables
            }
        }
    }

    /// The stored tables that it changes.
    pub fn changed(&self) -> impl Iterator<Item = &Arc<TableDefinition>> {
        let targets = if let Plan::Change(plan) = self { plan.targets.as_slice() } else { &[] };
        let changes = matches!(self, Plan::Insert(_) | Plan::Update(_) | Plan::Delete(_));
        let table = self.table().filter(|_| changes);
        targets.iter().map(|target| &target.found.table).chain(table)
    }

    /// Whether it changes rows of stored tables.
    #[must_use]
    pub fn is_change(&self) -> bool {
        self.changed().next().is_some()
    }

    /// Whether the values of its query are stored: what does not fit is then an error in the query.
    #[must_use]
    pub fn stores_query(&self) -> bool {
        let conflict = if let Plan::Insert(insert) = self {
            insert.source.as_ref().map(|_| &insert.conflict)
        } else if let Some(fill) = self.fill() {
            Some(&fill.conflict)
        } else {
            return matches!(self, Plan::Change(_));
        };
        conflict.is_some_and(|conflict| {
            !matches!(conflict, InsertConflict::Ignore | InsertConflict::UpdateIgnoring(_))
        })
    }

    /// The stored tables that it changes, or locks rows of, whose rows are being copied: it must wait.
    pub fn closed(&self) -> impl Iterator<Item = &Arc<TableDefinition>> {
        let is_locking = matches!(self, Plan::Select(select) if select.lock.is_some());
        let tables: Vec<_> = if is_locking {
            self.tables()
        } else if let Plan::LockTables(tables) = self {
            tables.iter().map(|(table, _)| table).collect()
        } else {
            self.changed().collect()
        };
        tables.into_iter().filter(|table| table.copied_to.is_some())
    }

    /// The query whose rows it inserts.
    #[expect(clippy::wildcard_enum_match_arm, reason = "nothing else inserts rows of a query")]
    pub(crate) fn insert_source(&self) -> Option<&SelectPlan> {
        if let Plan::Explain { plan, .. } = self {
            return plan.insert_source();
        }
        match self {
            Plan::Insert(insert) => insert.source.as_deref(),
            _ => self.fill().map(|fill| &fill.source),
        }
    }

    /// The rows of CREATE TABLE … SELECT.
    fn fill(&self) -> Option<&FillPlan> {
        if let Plan::Ddl(ddl) = self {
            return ddl.fill.as_deref();
        }
        if let Plan::Temporary(ddl) = self { ddl.fill.as_deref() } else { None }
    }

    /// The rows that it reads, changes or explains; None: it is about no rows.
    pub(crate) fn rows(&self) -> Option<Rows<'_>> {
        match self {
            Plan::Select(plan) => Some(match &plan.source {
                Source::Nothing => Rows::Nothing,
                Source::Table(access) => Rows::Stored(&access.table),
                Source::Joined { .. } => Rows::Joined(plan),
            }),
            Plan::Insert(plan) => Some(Rows::Stored(&plan.table)),
            Plan::Update(plan) => Some(Rows::Stored(&plan.access.table)),
            Plan::Delete(plan) => Some(Rows::Stored(&plan.access.table)),
            Plan::Change(plan) => Some(Rows::Joined(&plan.query)),
            Plan::Explain { plan, .. } => plan.rows(),
            Plan::Ddl(_)
            | Plan::Temporary(_)
            | Plan::Transaction(_)
            | Plan::Set(_)
            | Plan::SetRole(_)
            | Plan::Use(_)
            | Plan::Show(_)
            | Plan::Kill { .. }
            | Plan::FlushUserResources
            | Plan::Shutdown
            | Plan::LockTables(_)
            | Plan::UnlockTables
            | Plan::Nothing { .. }
            | Plan::Named(_) => None,
        }
    }
}

/// DDL.
#[derive(Clone, Debug)]
pub struct DdlPlan {
    /// The change of the catalogue.
    pub request: catalogue::DdlRequest,
    /// The rows of CREATE TABLE … SELECT.
    pub fill: Option<Box<FillPlan>>,
}

/// DDL of temporary tables.
#[derive(Clone, Debug)]
pub struct TemporaryPlan {
    /// The request: CREATE, CREATE … LIKE, DROP, TRUNCATE or ALTER TABLE.
    pub request: catalogue::DdlRequest,
    /// The rows of CREATE TABLE … SELECT.
    pub fill: Option<Box<FillPlan>>,
    /// The table that CREATE … LIKE copies.
    pub like: Option<Arc<TableDefinition>>,
    /// Whether the statement ends the transaction that is open: all do but CREATE and DROP with the word TEMPORARY.
    pub commits: bool,
    /// The stored tables that a DROP TABLE names, too.
    pub rest: Option<catalogue::DdlRequest>,
}

/// The rows that a new table gets before it has a name.
#[derive(Clone, Debug)]
pub struct FillPlan {
    /// The columns of the new table that the query has values for, in their order.
    pub columns: Vec<ColumnIndex>,
    /// The query.
    pub source: SelectPlan,
    /// IGNORE, REPLACE.
    pub conflict: InsertConflict,
}

impl FillPlan {
    /// The insertion into the new table, once it is there.
    #[must_use]
    pub fn into_table(&self, table: Arc<TableDefinition>) -> InsertPlan {
        let FillPlan { columns, source, conflict } = self.clone();
        InsertPlan {
            table,
            columns,
            rows: Vec::new(),
            source: Some(Box::new(source)),
            conflict,
            id_column: None,
            view_check: None,
        }
    }
}

/// Where a plan's rows are.
pub(crate) enum Rows<'a> {
    /// SELECT without FROM.
    Nothing,
    Stored(&'a Arc<TableDefinition>),
    /// A SELECT of relations.
    Joined(&'a SelectPlan),
}

/// The roles that SET ROLE makes active.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SetRole {
    /// NONE.
    None,
    /// DEFAULT: as at login.
    Default,
    /// ALL, or ALL EXCEPT these.
    AllExcept(Vec<UserName>),
    /// These.
    These(Vec<UserName>),
}

/// Forms of EXPLAIN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExplainFormat {
    /// MySQL's table.
    Table,
    /// FORMAT=TREE.
    Tree,
    /// FORMAT=JSON.
    Json,
}

/// ANALYZE TABLE and its like: one row per table that says it is well.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TableMaintenance {
    /// ANALYZE TABLE.
    Analyze,
    /// CHECK TABLE.
    Check,
    /// OPTIMIZE TABLE.
    Optimize,
    /// REPAIR TABLE.
    Repair,
}

/// Where a SELECT gets its rows.
#[derive(Clone, Debug)]
pub enum Source {
    /// No table: one row without columns.
    Nothing,
    /// A table.
    Table(TableAccess),
    /// Several relations, a derived or a virtual table.
    Joined {
        /// The rows.
        relation: Relation,
        /// The conditions of WHERE that are tested on whole rows, in the relation's layout.
        filter: Vec<Expression>,
    },
}

/// A virtual table by name (lower case); `show::virtual_tables` knows them all.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VirtualTable {
    /// `information_schema`, `performance_schema`, `ndbinfo`.
    pub database: String,
    /// Name in lower case.
    pub name: String,
}

/// How the rows of a table are found.
#[derive(Clone, Debug)]
pub struct TableAccess {
    /// The table.
    pub table: Arc<TableDefinition>,
    /// Its name in the statement.
    pub alias: String,
    /// Keys or ranges.
    pub path: AccessPath,
    /// The part of WHERE that the path does not imply, in the source space. It is the whole WHERE if rows are found
    /// through a unique key's hidden table, or by another index than the primary key and then locked or changed. The
    /// row may have changed since its key was found.
    pub filter: Option<Expression>,
    /// The rest of WHERE, where ranges of another index than the primary key imply it and rows are only read. If the
    /// ranges turn out to hold much of the table, a scan asks for it, too.
    pub implied: Vec<Expression>,
}

/// Access by key or by range.
#[derive(Clone, Debug)]
pub enum AccessPath {
    /// Full primary keys: a batch of point reads. Duplicates are read once. A NULL in a key finds nothing.
    PrimaryKeys(Vec<KeyTemplate>),
    /// Full unique keys without NULL: through the hidden table, then the primary key.
    UniqueKeys {
        /// The unique index.
        index: IndexId,
        /// The keys.
        keys: Vec<KeyTemplate>,
    },
    /// Ranges of an ordered index (IndexId(0): the primary key), disjoint and ascending once evaluated (the executor
    /// sorts and merges).
    Ranges {
        /// The index.
        index: IndexId,
        /// At least one; a range without bounds is a full scan.
        ranges: Vec<RangeTemplate>,
    },
    /// WHERE can never be true.
    Empty,
}

/// One constant expression per key column; how their values become key values is told at the top of this file.
pub type KeyTemplate = Vec<Expression>;

/// A range: equal in the first columns, bounded in the next. Without bounds it is everything that is equal in the first
/// columns, NULLs in the next included; with `with_null` and no bounds it is only the NULLs in the next.
#[derive(Clone, Debug, Default)]
pub struct RangeTemplate {
    /// Values of the first columns.
    pub equal: Vec<Expression>,
    /// Lower bound of the next column, inclusive or not.
    pub lower: Option<(Expression, Inclusive)>,
    /// Upper bound of the next column, inclusive or not.
    pub upper: Option<(Expression, Inclusive)>,
    /// NULL in the next column is in this range (a bounded range leaves it out by default).
    pub with_null: bool,
}

impl RangeTemplate {
    /// Whether it is all entries of the index.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.equal.is_empty() && self.lower.is_none() && self.upper.is_none() && !self.with_null
    }

    /// The values that it is made of.
    pub fn expressions(&self) -> impl Iterator<Item = &Expression> {
        let bounds = self.lower.iter().chain(&self.upper).map(|(bound, _)| bound);
        self.equal.iter().chain(bounds)
    }
}

/// Whether a bound belongs to the range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Inclusive {
    /// `<=`, `>=`.
    Yes,
    /// `<`, `>`.
    No,
}

/// SELECT.
#[derive(Clone, Debug)]
pub struct SelectPlan {
    /// Rows.
    pub source: Source,
    /// GROUP BY and aggregates.
    pub grouping: Option<Grouping>,
    /// Subqueries that are asked for each group: a tree over [`Relation::Groups`].
    pub over_groups: Option<Relation>,
    /// Window functions. Items and ORDER BY are over the rows that these leave.
    pub windows: Option<Windows>,
    /// The items.
    pub projection: Vec<Expression>,
    /// DISTINCT.
    pub distinct: bool,
    /// HAVING, in the group space (or the source space without a grouping).
    pub having: Option<Expression>,
    /// ORDER BY.
    pub order_by: Vec<SortKey>,
    /// The access path yields rows in this order already (forwards or backwards): no sort, LIMIT ends the scan.
    pub order_by_index: Option<ScanDirection>,
    /// LIMIT.
    pub limit: Limit,
    /// FOR UPDATE, FOR SHARE.
    pub lock: Option<(LockMode, LockWait)>,
    /// SQL_CALC_FOUND_ROWS: rows behind LIMIT are found, too, and counted.
    pub counts_found: bool,
    /// The steps of the executor that follow from all that.
    pub steps: Box<Steps>,
}

impl SelectPlan {
    /// Whether rows are given as they are found: not grouped, numbered, counted out or locked. They may be sorted.
    #[must_use]
    pub fn gives_rows_as_found(&self) -> bool {
        self.grouping.is_none()
            && self.windows.is_none()
            && self.having.is_none()
            && self.lock.is_none()
            && self.limit.count.is_none()
            && self.limit.offset.is_none()
    }

    /// Calls `visit` for each stored table that it reads.
    pub fn visit_tables<'a>(&'a self, visit: &mut dyn FnMut(&'a Arc<TableDefinition>)) {
        match &self.source {
            Source::Nothing => {}
            Source::Table(access) => visit(&access.table),
            Source::Joined { relation, .. } => relation.visit_tables(&mut |table| visit(table)),
        }
        if let Some(relation) = &self.over_groups {
            relation.visit_tables(&mut |table| visit(table));
        }
    }
}

/// The steps that the rows of a SELECT's source go through. They are decided once per plan: the executor runs them,
/// EXPLAIN shows them.
#[derive(Clone, Debug, Default)]
pub struct Steps {
    /// How filters and projections that are not done where the rows are stored are evaluated.
    pub evaluation: Evaluation,
    /// The rows of a table of which only some columns are read, because volatile functions are evaluated here.
    pub narrow: Option<Box<Narrow>>,
    /// The values that a row of the source or a group becomes: the items, then what else is sorted by. With window
    /// functions, what these read.
    pub output: Vec<Expression>,
    /// The same, if all of it is plain columns of the source.
    pub output_columns: Option<Vec<ColumnIndex>>,
    /// With window functions, the values that a row becomes behind them.
    pub windowed: Option<Vec<Expression>>,
    /// An operator drops rows that are equal: the types of the items.
    pub distinct: Option<Vec<SqlType>>,
    /// An operator sorts.
    pub sort: Option<Sort>,
    /// The items, where they are computed behind the sort.
    pub deferred: Option<Vec<Expression>>,
    /// The first rows of the source are the ones that LIMIT leaves: it need not give more.
    pub limits_source: bool,
    /// Each row that is locked is one that LIMIT counts: no more need be locked.
    pub limits_locks: bool,
}

/// How expressions are evaluated in the session.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Evaluation {
    /// As the rows come.
    #[default]
    Flowing,
    /// One row after the other, because some are volatile.
    RowByRow,
}

/// Rows with only the columns that are read here. All its expressions are over those.
#[derive(Clone, Debug)]
pub struct Narrow {
    /// The columns, ascending.
    pub columns: Vec<ColumnIndex>,
    /// Conjuncts of WHERE that are tested where the rows are; over the whole row.
    pub pushed: Vec<Expression>,
    /// The others.
    pub conditions: Vec<Expression>,
    /// GROUP BY and aggregates.
    pub grouping: Option<Grouping>,
    /// HAVING.
    pub having: Option<Expression>,
    /// As in [`Steps`].
    pub output: Vec<Expression>,
}

/// ORDER BY by an operator.
#[derive(Clone, Debug)]
pub struct Sort {
    /// By what.
    pub columns: Vec<SortColumn>,
    /// The fate of rows that are equal in all of it.
    pub equals: Equals,
}

/// One sort column.
#[derive(Clone, Debug)]
pub struct SortColumn {
    /// Position in the row.
    pub position: usize,
    /// Its type.
    pub sql_type: SqlType,
    /// DESC.
    pub descending: bool,
}

/// The fate of rows that are equal in all sort columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Equals {
    /// All are kept.
    Kept,
    /// Only the first is: they are one row of a DISTINCT.
    Dropped,
}

/// Direction of an index scan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScanDirection {
    /// In key order.
    Forward,
    /// Against it.
    Backward,
}

/// GROUP BY and aggregates. Without GROUP BY there is one group, also over no rows.
#[derive(Clone, Debug)]
pub struct Grouping {
    /// GROUP BY, in the source space.
    pub group_by: Vec<Expression>,
    /// Aggregates, their arguments in the source space.
    pub calls: Vec<AggregateCall>,
    /// WITH ROLLUP: the number of `group_by` that the statement names. Groups that are equal in the first of these have
    /// a row more together, for each number of them; the other values are NULL there. Behind the aggregates each row
    /// has that number.
    pub rolled_up: Option<usize>,
}

/// One ORDER BY item.
#[derive(Clone, PartialEq, Debug)]
pub struct SortKey {
    /// In the same space as the items.
    pub expression: Expression,
    /// DESC.
    pub descending: bool,
}

/// LIMIT and OFFSET: constant expressions.
#[derive(Clone, Debug, Default)]
pub struct Limit {
    /// Rows at most.
    pub count: Option<Expression>,
    /// Rows passed over first.
    pub offset: Option<Expression>,
}

/// INSERT and REPLACE.
#[derive(Clone, Debug)]
pub struct InsertPlan {
    /// The table.
    pub table: Arc<TableDefinition>,
    /// The columns that VALUES name, in their order.
    pub columns: Vec<ColumnIndex>,
    /// Rows of constant expressions; None is DEFAULT. (A value that names an earlier column of its row uses its slot in
    /// the source space.)
    pub rows: Vec<Vec<Option<Expression>>>,
    /// INSERT … SELECT: its rows are inserted instead.
    pub source: Option<Box<SelectPlan>>,
    /// IGNORE, REPLACE, ON DUPLICATE KEY UPDATE.
    pub conflict: InsertConflict,
    /// ON DUPLICATE KEY UPDATE assigns it LAST_INSERT_ID(expression).
    pub id_column: Option<ColumnIndex>,
    /// WITH CHECK OPTION of the view that it inserts through.
    pub view_check: Option<ViewCondition>,
}

/// The way to treat a row whose primary or unique key exists.
#[derive(Clone, Debug)]
pub enum InsertConflict {
    /// 1062.
    Fail,
    /// IGNORE: passed over with a warning; conversion errors become warnings too.
    Ignore,
    /// REPLACE: the rows in the way are deleted.
    Replace,
    /// ON DUPLICATE KEY UPDATE: slots behind the table's columns are the new row's (VALUES(c), alias.c). Behind these
    /// are the items of the query that have no column of the table.
    Update(Vec<ColumnAssignment>),
    /// The same with IGNORE: a row that can't get its new keys stays as it is, with a warning.
    UpdateIgnoring(Vec<ColumnAssignment>),
}

/// `column = expression` in the source space; None is DEFAULT.
#[derive(Clone, Debug)]
pub struct ColumnAssignment {
    /// The column.
    pub column: ColumnIndex,
    /// Its value.
    pub value: Option<Expression>,
}

/// UPDATE.
#[derive(Clone, Debug)]
pub struct UpdatePlan {
    /// Rows.
    pub access: TableAccess,
    /// SET, from left to right.
    pub assignments: Vec<ColumnAssignment>,
    /// ORDER BY.
    pub order_by: Vec<SortKey>,
    /// As in [`SelectPlan`]: the first rows of the scan are the ones that LIMIT leaves.
    pub order_by_index: Option<ScanDirection>,
    /// LIMIT.
    pub limit: Limit,
    /// IGNORE.
    pub ignore: bool,
    /// WITH CHECK OPTION of the view that it updates.
    pub view_check: Option<ViewCondition>,
}

/// DELETE.
#[derive(Clone, Debug)]
pub struct DeletePlan {
    /// Rows.
    pub access: TableAccess,
    /// ORDER BY.
    pub order_by: Vec<SortKey>,
    /// As in [`SelectPlan`]: the first rows of the scan are the ones that LIMIT leaves.
    pub order_by_index: Option<ScanDirection>,
    /// LIMIT.
    pub limit: Limit,
}

impl UpdatePlan {
    /// Its rows are sorted. Without LIMIT the order of changes shows nowhere, unless the first row that comes gets a
    /// key.
    #[must_use]
    pub fn sorts(&self) -> bool {
        let matters = self.limit.count.is_some() || self.ignore;
        matters && !self.order_by.is_empty() && self.order_by_index.is_none()
    }
}

impl DeletePlan {
    /// Its rows are sorted: only LIMIT makes the order matter.
    #[must_use]
    pub fn sorts(&self) -> bool {
        self.limit.count.is_some() && !self.order_by.is_empty() && self.order_by_index.is_none()
    }
}

/// UPDATE and DELETE of several tables, or with subqueries.
#[derive(Clone, Debug)]
pub struct ChangePlan {
    /// UPDATE or DELETE.
    pub verb: ChangeVerb,
    /// UPDATE IGNORE: values are made to fit, and a row whose new keys others have stays, with a warning.
    pub ignore: bool,
    /// Finds them: its items are what the targets name.
    pub query: SelectPlan,
    /// The tables that are changed; one may be there under several names.
    pub targets: Vec<Target>,
}

/// The two kinds of changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChangeVerb {
    /// UPDATE.
    Update,
    /// DELETE.
    Delete,
}

/// A table that a [`ChangePlan`] changes.
#[derive(Clone, Debug)]
pub struct Target {
    /// Its rows.
    pub found: FoundTable,
    /// SET: positions and types of the new values; None is DEFAULT.
    pub assignments: Vec<(ColumnIndex, Option<(usize, SqlType)>)>,
}

/// Transaction control.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TransactionStatement {
    /// BEGIN, START TRANSACTION.
    Begin {
        /// READ ONLY, or READ WRITE, if it says so.
        read_only: Option<bool>,
    },
    /// COMMIT.
    Commit,
    /// ROLLBACK.
    Rollback,
    /// SAVEPOINT.
    Savepoint(String),
    /// ROLLBACK TO.
    RollbackTo(String),
    /// RELEASE SAVEPOINT.
    Release(String),
}

/// PREPARE, EXECUTE and DEALLOCATE PREPARE as texts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NamedStatement {
    /// PREPARE name FROM source.
    Prepare {
        /// In lower case.
        name: String,
        /// Where its text is.
        source: StatementSource,
    },
    /// EXECUTE name USING variables.
    Execute {
        /// In lower case.
        name: String,
        /// User variables, in lower case.
        using: Vec<String>,
    },
    /// DEALLOCATE PREPARE name.
    Deallocate {
        /// In lower case.
        name: String,
    },
}

/// Where PREPARE finds the text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StatementSource {
    /// A literal.
    Text(String),
    /// A user variable, in lower case.
    Variable(String),
}

/// One assignment of SET.
#[derive(Clone, Debug)]
pub struct SetItem {
    /// The variable that is set.
    pub target: SetTarget,
    /// To what; None is DEFAULT. A constant expression (bare words arrive as string literals), or one over the row of
    /// [`Prepared::sets`].
    pub value: Option<Expression>,
}

/// The kinds of variables that SET knows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SetTarget {
    /// A session system variable, lower case.
    Session(String),
    /// A global system variable, lower case.
    Global(String),
    /// A global system variable, lower case, and what the cluster is to begin with.
    Persist(String),
    /// The value with which the cluster is to begin.
    PersistOnly(String),
    /// RESET PERSIST.
    ResetPersist {
        /// Lower case; None: all.
        name: Option<String>,
        /// IF EXISTS.
        if_exists: bool,
    },
    /// A user variable, lower case.
    User(String),
    /// SET NAMES.
    Names,
    /// SET CHARACTER SET.
    CharacterSet,
    /// Nothing, as of DO.
    Nothing,
    /// The isolation level of this session, or of the next transaction.
    Isolation {
        /// Only the next transaction.
        next_only: bool,
    },
    /// Whether the next transaction is READ ONLY.
    NextReadOnly,
}

/// SHOW and DESCRIBE.
#[derive(Clone, Debug)]
pub struct ShowPlan {
    /// The thing that is shown.
    pub what: Show,
    /// LIKE pattern.
    pub like: Option<String>,
    /// WHERE over the result's columns.
    pub filter: Option<Expression>,
}

/// In which engine's form SHOW ENGINE … STATUS shows the cluster.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EngineForm {
    /// One text in sections.
    InnoDb,
    /// A row for each fact.
    Ndb,
}

/// The things that SHOW knows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Show {
    /// SHOW DATABASES.
    Databases,
    /// SHOW [FULL] TABLES [FROM database].
    Tables {
        /// The database.
        database: String,
        /// FULL.
        full: bool,
    },
    /// SHOW [FULL] COLUMNS, DESCRIBE.
    Columns {
        /// The table.
        database: String,
        /// The table.
        table: String,
        /// FULL.
        full: bool,
    },
    /// SHOW INDEX.
    Indexes {
        /// The table.
        database: String,
        /// The table.
        table: String,
    },
    /// SHOW CREATE TABLE.
    CreateTable {
        /// The table.
        database: String,
        /// The table.
        table: String,
    },
    /// SHOW CREATE VIEW, and SHOW CREATE TABLE of a view.
    CreateView {
        /// The view.
        database: String,
        /// The view.
        view: String,
        /// The statement that makes it, as it is shown where this database is the current one.
        text: String,
    },
    /// SHOW CREATE DATABASE.
    CreateDatabase {
        /// The database.
        database: String,
    },
    /// SHOW TABLE STATUS.
    TableStatus {
        /// The database.
        database: String,
    },
    /// SHOW [SESSION | GLOBAL] VARIABLES.
    Variables {
        /// Those that sessions begin with.
        global: bool,
    },
    /// SHOW STATUS.
    Status,
    /// SHOW WARNINGS, SHOW ERRORS.
    Diagnostics {
        /// Which.
        which: Diagnosed,
        /// LIMIT.
        window: Window,
    },
    /// SHOW COUNT(*) WARNINGS, SHOW COUNT(*) ERRORS.
    DiagnosticsCount(Diagnosed),
    /// SHOW ENGINES.
    Engines,
    /// SHOW ENGINE … STATUS.
    EngineStatus(EngineForm),
    /// SHOW CHARACTER SET.
    CharacterSets,
    /// SHOW COLLATION.
    Collations,
    /// SHOW [FULL] PROCESSLIST.
    ProcessList,
    /// SHOW GRANTS.
    Grants {
        /// Name and host; none: the session's own.
        account: Option<(String, String)>,
        /// USING: roles whose privileges are shown with the account's own.
        using: Vec<(String, String)>,
    },
    /// SHOW CREATE USER.
    CreateUser {
        /// Name and host; none: the session's own.
        account: Option<(String, String)>,
    },
    /// SHOW PRIVILEGES.
    Privileges,
    /// SHOW PLUGINS.
    Plugins,
    /// ANALYZE TABLE and its like: columns Table, Op, Msg_type, Msg_text.
    Maintenance {
        /// Which.
        operation: TableMaintenance,
        /// Databases and tables.
        tables: Vec<(String, String)>,
    },
    /// SHOW MASTER STATUS and other things that are empty here.
    Nothing {
        /// Names of the columns of the empty result.
        columns: &'static [&'static str],
        /// One of these privileges is needed to ask; none if everybody may.
        privilege: Privileges,
        /// The database in which they would be, where one is meant.
        database: Option<String>,
    },
}

/// Diagnostics by their level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Diagnosed {
    /// Notes, warnings and errors.
    All,
    /// Errors.
    Errors,
}

/// The rows of a result that are wanted.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Window {
    /// So many are passed over.
    pub offset: u64,
    /// So many at most.
    pub count: Option<u64>,
}
