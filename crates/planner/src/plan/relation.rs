//! Rows of several relations: what FROM with joins and derived tables becomes.
//!
//! A relation is a tree. Each node gives rows of a fixed layout. A scan gives the columns that the statement reads of
//! its table. A join gives the values of its left side and then those of its right side. Expressions of a node name
//! positions in the rows that come into it.
//!
//! *Set operations* give the rows of their branches in the types of the whole.
//!
//! *Subqueries* of expressions are joins, too: of kind Mark or Single, with the query on the right. Where it names
//! columns of the row, these stand in parameters, and the query runs for each combination of their values.
//!
//! *Joins* keep the order of their left side, unless they have used scratch: no plan relies on it. The right side is
//! gathered once for all, or for each batch of left rows: then a **lookup** finds the rows that the batch can match.
//! The whole condition is tested on each pair of rows, so a lookup may find too much, never too little. **Hash keys**
//! tell which pairs are worth the test.
//! A lookup, or a query that runs for each left row (**apply**), may be right for few left rows only. The join counts
//! them, and gathers the right side once where they are more.
//!
//! Invariant: a pair for which the condition is true has equal hash keys and is found by the lookup.

use super::{Equals, Limit, SelectPlan, TableAccess, VirtualTable};
use expression::Expression;
use protocol::program::{LockMode, LockWait};
use std::sync::Arc;
use types::{Collation, ColumnIndex, SqlType, TableDefinition};

/// A tree that gives rows.
#[derive(Clone, Debug)]
pub enum Relation {
    /// One row with a NULL: of a SELECT without FROM.
    One,
    /// Rows of constant expressions.
    Values(Arc<ValueRows>),
    /// The rows of the groups.
    Groups,
    /// A stored table.
    Scan(Arc<Scan>),
    /// A derived table: its items.
    Derived(Arc<Derived>),
    /// UNION, INTERSECT and EXCEPT.
    Set(Arc<SetOperation>),
    /// Common table expressions, and what reads them.
    With {
        /// Each may read those before it.
        tables: Vec<Arc<CommonTable>>,
        /// The rows.
        input: Box<Relation>,
    },
    /// The rows of a common table expression.
    Common(Arc<CommonRead>),
    /// A table of information_schema, performance_schema, ndbinfo or mysql that is made when it is read.
    Virtual(Arc<VirtualRead>),
    /// Two relations.
    Join(Arc<Join>),
    /// A query whose rows are locked.
    Locked(Arc<LockedQuery>),
    /// The rows for which all conditions are true.
    Filter {
        /// The rows.
        input: Box<Relation>,
        /// Over them.
        conditions: Vec<Expression>,
    },
}

/// FOR UPDATE and FOR SHARE over relations.
#[derive(Clone, Debug)]
pub struct LockedQuery {
    /// The query: its items, then what is compared under the locks.
    pub query: SelectPlan,
    /// How many items it has.
    pub width: usize,
    /// The tables whose rows are locked, and how.
    pub tables: Vec<(FoundTable, (LockMode, LockWait))>,
}

/// A table whose rows a query finds, and that are locked as they were found.
#[derive(Clone, Debug)]
pub struct FoundTable {
    /// The table.
    pub table: Arc<TableDefinition>,
    /// Its name in the statement.
    pub alias: String,
    /// The position of the first column's value in rows of the query; those of the others follow.
    pub first: usize,
    /// The columns of the primary key, then the others that the statement reads.
    pub columns: Vec<ColumnIndex>,
}

/// Columns of a stored table.
#[derive(Clone, Debug)]
pub struct Scan {
    /// The rows; the filter is over the whole row.
    pub access: TableAccess,
    /// The columns that are read; at least one.
    pub columns: Vec<ColumnIndex>,
}

/// VALUES.
#[derive(Clone, Debug)]
pub struct ValueRows {
    /// Names of its columns.
    pub names: Vec<String>,
    /// In the types of the columns.
    pub rows: Vec<Vec<Expression>>,
}

/// A query in FROM.
#[derive(Clone, Debug)]
pub struct Derived {
    /// Its name.
    pub alias: String,
    /// Names of its columns.
    pub names: Vec<String>,
    /// The query.
    pub plan: SelectPlan,
}

/// A common table expression.
#[derive(Clone, Debug)]
pub struct CommonTable {
    /// Its readers name it by this number, which no other of the statement has.
    pub number: u32,
    /// Its name.
    pub name: String,
    /// The query; of a recursive one, the part that its recursion begins with.
    pub query: SelectPlan,
    /// The rest of a recursive one.
    pub recursion: Option<Recursion>,
    /// How often its rows are read.
    pub reads: Reads,
}

/// How often the rows of a common table expression or virtual table are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reads {
    /// They need not be kept.
    Once,
    /// By several readers, or again and again by one.
    Often,
}

/// The part of a common table expression that reads the rows that it gave last, until it gives none.
#[derive(Clone, Debug)]
pub struct Recursion {
    /// Under this number it reads the rows of the round before.
    pub last: u32,
    /// The columns: all rows are brought into their types as if they were stored.
    pub columns: Arc<TableDefinition>,
    /// The queries of each round.
    pub steps: Vec<SelectPlan>,
    /// The fate of rows that were there before.
    pub equals: Equals,
    /// LIMIT: recursion ends when so many rows are there.
    pub limit: Limit,
}

/// A reader of a common table expression.
#[derive(Clone, Debug)]
pub struct CommonRead {
    /// Which.
    pub number: u32,
    /// Its name here.
    pub alias: String,
    /// Names of its columns.
    pub names: Vec<String>,
}

/// A reader of a table that is made when it is read: its rows are lent to the statement before it runs.
#[derive(Clone, Debug)]
pub struct VirtualRead {
    /// The rows are lent under this number, which no other reader of the statement has.
    pub number: u32,
    /// Its database and name.
    pub table: VirtualTable,
    /// Its columns.
    pub definition: Arc<TableDefinition>,
    /// Its name in the statement.
    pub alias: String,
    /// The conditions on its rows.
    pub filter: Option<Expression>,
    /// The part of them that reads nothing of other rows: rows that do not match it need not be made.
    pub known: Option<Expression>,
    /// How often its rows are read.
    pub reads: Reads,
}

/// Queries that set operations make one of, from left to right: the result of the first ones is the left operand of the
/// next.
#[derive(Clone, Debug)]
pub struct SetOperation {
    /// Names of its columns.
    pub names: Vec<String>,
    /// Their types.
    pub types: Vec<SqlType>,
    /// At least one.
    pub branches: Vec<Branch>,
}

/// One query of a set operation.
#[derive(Clone, Debug)]
pub struct Branch {
    /// The operation on the rows of the branches before it and on its own. The first one's are just taken.
    pub step: SetStep,
    /// The query.
    pub query: SelectPlan,
    /// Its items in the types of the columns; None: they have them.
    pub conversions: Option<Vec<Expression>>,
}

/// A set operation and whether equal rows count once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SetStep {
    /// Which.
    pub verb: SetVerb,
    /// The fate of equal rows.
    pub equals: Equals,
}

/// Kinds of set operations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SetVerb {
    /// Rows of both.
    Union,
    /// Rows that both have.
    Intersect,
    /// Rows of the left one that the right one does not have.
    Except,
}

impl SetStep {
    /// UNION ALL.
    pub const UNION_ALL: Self = Self { verb: SetVerb::Union, equals: Equals::Kept };
}

impl SetOperation {
    /// The branches whose rows are told apart; those behind them are added as they come.
    #[must_use]
    pub fn compared_count(&self) -> usize {
        let last = self.branches.iter().rposition(|branch| branch.step != SetStep::UNION_ALL);
        last.filter(|last| *last > 0).map_or(0, |last| last + 1)
    }

    /// A row of the result may depend on branches that are read later: all compared ones are read first.
    #[must_use]
    pub fn is_counted(&self) -> bool {
        self.branches.iter().any(|branch| branch.step.verb != SetVerb::Union)
    }
}

/// Kinds of joins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JoinKind {
    /// Pairs that match.
    Inner,
    /// Also left rows that match nothing, with NULLs.
    Left,
    /// Left rows that match something, once and alone.
    Semi,
    /// Left rows that match nothing, alone.
    Anti,
    /// Each left row with one value more: whether a right row matches. It is 1, 0, or NULL if no condition is true and
    /// one is NULL.
    Mark,
    /// Each left row with one value more: that of the only right row, NULL if there is none. A second one is 1242.
    /// With a condition the value is its truth.
    Single,
}

/// Two relations.
#[derive(Clone, Debug)]
pub struct Join {
    /// The fate of matches.
    pub kind: JoinKind,
    /// The side whose order the result keeps.
    pub left: Relation,
    /// Gathered.
    pub right: Relation,
    /// Values of a left row.
    pub left_width: usize,
    /// Values of a right row.
    pub right_width: usize,
    /// Over both rows, left values first; None: every pair matches.
    pub condition: Option<Expression>,
    /// Empty: every pair is tested.
    pub keys: Vec<HashKey>,
    /// None: the right side is gathered once.
    pub lookup: Option<Lookup>,
    /// Values of the left row that the right side reads; it is gathered anew where they change.
    pub outer: Vec<Binding>,
    /// So many right rows are enough.
    pub rows_max: Option<usize>,
    /// The right rows that one left row can match, found for each of the first left rows.
    pub apply: Option<Apply>,
}

/// A right side for few left rows: it runs for each of them.
#[derive(Clone, Debug)]
pub struct Apply {
    /// The right rows that match the values in its parameters, or more; of the same layout as those of the join.
    pub right: Relation,
    /// Values of the left row that it reads.
    pub outer: Vec<Binding>,
    /// Beyond so many left rows the right side of the join costs less.
    pub left_rows_max: u64,
}

impl Join {
    /// Its rows are those of the left side: nothing of the right one is shown.
    #[must_use]
    pub fn is_filter(&self) -> bool {
        self.kind.is_filter()
    }
}

impl JoinKind {
    /// The result holds left rows only.
    #[must_use]
    pub fn is_filter(self) -> bool {
        matches!(self, JoinKind::Semi | JoinKind::Anti)
    }
}

/// Two values that are equal in every match.
#[derive(Clone, Debug)]
pub struct HashKey {
    /// Over the left row.
    pub left: Expression,
    /// Over the right row.
    pub right: Expression,
    /// Equal values of both sides hash alike in this form.
    pub form: HashForm,
}

/// The form in which values are hashed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum HashForm {
    /// Both are integers.
    Integer,
    /// Both are exact numbers.
    Exact,
    /// One is a double.
    Double,
    /// Strings.
    Text(Collation),
    /// Dates and moments.
    Instant,
    /// Durations.
    Duration,
}

/// How the rows of a table are found that some left rows can match.
#[derive(Clone, Debug)]
pub struct Lookup {
    /// Its keys name the parameters of `bindings`; its filter is all that is asked of the table alone.
    pub access: TableAccess,
    /// Values of the left row.
    pub bindings: Vec<Binding>,
    /// Beyond so many left rows the right side is gathered: that costs less. None: it never is.
    pub left_rows_max: Option<u64>,
}

/// A value of a row that stands in a parameter while something else is evaluated.
#[derive(Clone, Debug)]
pub struct Binding {
    /// Which.
    pub parameter: u16,
    /// Position in the row.
    pub position: usize,
}

impl Relation {
    /// Calls `visit` for each stored table of it, from left to right.
    pub fn visit_tables<'a>(&'a self, visit: &mut impl FnMut(&'a Arc<TableDefinition>)) {
        match self {
            Relation::One
            | Relation::Values(_)
            | Relation::Groups
            | Relation::Common(_)
            | Relation::Virtual(_) => {}
            Relation::With { tables, input } => {
                for table in tables {
                    table.query.visit_tables(&mut *visit);
                    let steps = table.recursion.iter().flat_map(|recursion| &recursion.steps);
                    steps.for_each(|step| step.visit_tables(&mut *visit));
                }
                input.visit_tables(visit);
            }
            Relation::Scan(scan) => visit(&scan.access.table),
            Relation::Derived(derived) => derived.plan.visit_tables(&mut *visit),
            Relation::Locked(locked) => locked.query.visit_tables(&mut *visit),
            Relation::Set(set) => {
                set.branches.iter().for_each(|branch| branch.query.visit_tables(&mut *visit));
            }
            Relation::Join(join) => {
                join.left.visit_tables(visit);
                join.right.visit_tables(visit);
                if let Some(apply) = &join.apply {
                    apply.right.visit_tables(visit);
                }
            }
            Relation::Filter { input, .. } => input.visit_tables(visit),
        }
    }
}
