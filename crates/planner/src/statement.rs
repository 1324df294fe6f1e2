//! A statement as it was written: what the parser gives and the binder reads. Names are not resolved, expressions are
//! the parser crate's.

use crate::plan::{ExplainFormat, NamedStatement, Show, TableMaintenance, TransactionStatement};
use catalogue::{AccountOptions, Authentication};
use protocol::program::LockMode;
use sqlparser::ast::{Expr, Query, TableWithJoins, With};

/// Any statement.
#[derive(Clone, Debug)]
pub(crate) enum Statement {
    /// SELECT.
    Select(Box<SelectStatement>),
    /// INSERT, REPLACE.
    Insert(Box<InsertStatement>),
    /// UPDATE.
    Update(Box<UpdateStatement>),
    /// DELETE.
    Delete(Box<DeleteStatement>),
    /// UPDATE and DELETE of several tables.
    Change(Box<ChangeStatement>),
    /// EXPLAIN of another.
    Explain(ExplainFormat, Box<Statement>),
    /// EXPLAIN ANALYZE.
    Analyze(Box<SelectStatement>),
    /// CREATE, DROP, ALTER, RENAME, TRUNCATE.
    Ddl(Box<DdlStatement>),
    /// Transaction control.
    Transaction(TransactionStatement),
    /// SET.
    Set(Vec<SetStatementItem>),
    /// USE.
    Use(String),
    /// SHOW, DESCRIBE.
    Show(Box<ShowStatement>),
    /// ANALYZE, CHECK, OPTIMIZE TABLE.
    Maintenance(TableMaintenance, Vec<TableName>),
    /// KILL.
    Kill {
        /// Connection id.
        connection: Box<Expr>,
        /// KILL QUERY.
        query_only: bool,
    },
    /// SHUTDOWN.
    Shutdown,
    /// PREPARE, EXECUTE, DEALLOCATE PREPARE.
    Named(NamedStatement),
    /// GRANT, REVOKE.
    Grant(Box<GrantStatement>),
    /// SET ROLE.
    SetRole(RoleList),
    /// FLUSH: nothing is kept that could be flushed, but what is counted of accounts.
    Flush(Vec<FlushOption>),
    /// LOCK TABLES.
    LockTables(Vec<(TableReference, LockMode)>),
    /// UNLOCK TABLES.
    UnlockTables,
    /// Accepted, without effect.
    Nothing(Option<String>),
}

/// `[database.]table`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct TableName {
    pub(crate) database: Option<String>,
    pub(crate) name: String,
}

/// A table and its alias.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct TableReference {
    pub(crate) name: TableName,
    pub(crate) alias: Option<String>,
}

/// SELECT.
#[derive(Clone, Debug)]
pub(crate) struct SelectStatement {
    pub(crate) query: Box<Query>,
    /// LOCK IN SHARE MODE.
    pub(crate) lock_in_share_mode: bool,
    /// INTO: user variables, in lower case.
    pub(crate) into: Vec<String>,
}

/// A value that may be DEFAULT.
#[derive(Clone, Debug)]
pub(crate) enum ValueOrDefault {
    Default,
    Value(Box<Expr>),
}

/// `column = value`.
#[derive(Clone, Debug)]
pub(crate) struct Assignment {
    pub(crate) column: ColumnName,
    pub(crate) value: ValueOrDefault,
}

/// `[[database.]table.]column`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ColumnName {
    pub(crate) qualifier: Vec<String>,
    pub(crate) name: String,
}

/// INSERT, REPLACE.
#[derive(Clone, Debug)]
pub(crate) struct InsertStatement {
    pub(crate) table: TableName,
    pub(crate) kind: InsertKind,
    /// None: all columns.
    pub(crate) columns: Option<Vec<ColumnName>>,
    pub(crate) rows: Vec<Vec<ValueOrDefault>>,
    /// A value of the rows has a query in it.
    pub(crate) has_queries: bool,
    /// INSERT … SELECT.
    pub(crate) source: Option<Box<Query>>,
    /// `AS new(a, b)`.
    pub(crate) row_alias: Option<RowAlias>,
    pub(crate) on_duplicate: Vec<Assignment>,
}

/// The name of the new row in ON DUPLICATE KEY UPDATE.
#[derive(Clone, Debug)]
pub(crate) struct RowAlias {
    pub(crate) name: String,
    pub(crate) columns: Vec<String>,
}

/// Kinds of INSERT.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum InsertKind {
    Insert,
    Ignore,
    Replace,
}

/// One ORDER BY item.
#[derive(Clone, Debug)]
pub(crate) struct OrderItem {
    pub(crate) expression: Expr,
    pub(crate) descending: bool,
}

/// UPDATE.
#[derive(Clone, Debug)]
pub(crate) struct UpdateStatement {
    pub(crate) with: Option<With>,
    pub(crate) table: TableReference,
    pub(crate) assignments: Vec<Assignment>,
    pub(crate) selection: Option<Expr>,
    pub(crate) order_by: Vec<OrderItem>,
    pub(crate) limit: Option<Expr>,
    pub(crate) ignore: bool,
}

/// DELETE.
#[derive(Clone, Debug)]
pub(crate) struct DeleteStatement {
    pub(crate) with: Option<With>,
    pub(crate) table: TableReference,
    pub(crate) selection: Option<Expr>,
    pub(crate) order_by: Vec<OrderItem>,
    pub(crate) limit: Option<Expr>,
}

/// UPDATE and DELETE of several tables.
#[derive(Clone, Debug)]
pub(crate) struct ChangeStatement {
    pub(crate) with: Option<With>,
    pub(crate) from: Vec<TableWithJoins>,
    /// The tables that DELETE names; None: UPDATE.
    pub(crate) deleted: Option<Vec<TableName>>,
    pub(crate) assignments: Vec<Assignment>,
    pub(crate) selection: Option<Expr>,
    /// UPDATE IGNORE.
    pub(crate) ignore: bool,
}

/// SHOW.
#[derive(Clone, Debug)]
pub(crate) struct ShowStatement {
    pub(crate) what: Show,
    pub(crate) like: Option<String>,
    pub(crate) filter: Option<Expr>,
    /// The table is named without its database: the current one is meant.
    pub(crate) database_missing: bool,
}

/// One assignment of SET.
#[derive(Clone, Debug)]
pub(crate) struct SetStatementItem {
    pub(crate) target: crate::plan::SetTarget,
    /// None: DEFAULT.
    pub(crate) value: Option<Expr>,
}

/// An account in CREATE USER and the like.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Account {
    /// CURRENT_USER().
    Current,
    /// `'name'@'host'`.
    Named { name: String, host: String },
}

/// GRANT or REVOKE.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum GrantVerb {
    Grant,
    Revoke,
}

impl GrantVerb {
    /// The word before the accounts.
    pub(crate) fn preposition(self) -> &'static str {
        match self {
            Self::Grant => "TO",
            Self::Revoke => "FROM",
        }
    }
}

/// GRANT and REVOKE.
#[derive(Clone, Debug)]
pub(crate) struct GrantStatement {
    pub(crate) verb: GrantVerb,
    pub(crate) object: GrantedObject,
    pub(crate) accounts: Vec<Account>,
}

/// The privilege or role that is granted or taken away.
#[derive(Clone, Debug)]
pub(crate) enum GrantedObject {
    Privileges {
        items: Vec<GrantItem>,
        level: WrittenLevel,
    },
    Roles {
        roles: Vec<Account>,
        admin: types::AdminOption,
    },
    /// REVOKE ALL PRIVILEGES, GRANT OPTION.
    Everything,
}

/// An entry of a list of privileges.
#[derive(Clone, Debug)]
pub(crate) enum GrantItem {
    Static {
        privilege: types::Privileges,
        columns: Vec<String>,
    },
    Dynamic(types::DynamicPrivileges),
    /// ALL: what the level has.
    All,
    Usage,
    /// WITH GRANT OPTION.
    GrantOption,
}

/// The level of GRANT, as written.
#[derive(Clone, Debug)]
pub(crate) enum WrittenLevel {
    Global,
    /// None: the current database.
    Database(Option<String>),
    Table {
        database: Option<String>,
        name: String,
    },
}

/// A list of roles.
#[derive(Clone, Debug)]
pub(crate) enum RoleList {
    None,
    Default,
    All,
    AllExcept(Vec<Account>),
    These(Vec<Account>),
}

/// The options of FLUSH, as far as privileges differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FlushOption {
    Tables,
    Status,
    UserResources,
    /// The grant tables: nothing of them is kept, but what is counted of accounts begins anew.
    Privileges,
    OptimizerCosts,
    Other,
}

/// The statement that became an ALTER TABLE.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AlterVerb {
    AlterTable,
    /// CREATE INDEX, DROP INDEX.
    Index,
}

/// DDL, with types and defaults as they were written.
#[derive(Clone, Debug)]
pub(crate) enum DdlStatement {
    CreateDatabase {
        name: String,
        if_not_exists: bool,
        collation: CollationClause,
    },
    DropDatabase {
        name: String,
        if_exists: bool,
    },
    AlterDatabase {
        name: Option<String>,
        collation: CollationClause,
    },
    CreateTable(CreateTableStatement),
    CreateView(Box<CreateViewStatement>),
    DropViews {
        views: Vec<TableName>,
        if_exists: bool,
    },
    /// DROP of a stored program: there are none.
    DropProgram {
        kind: ProgramKind,
        name: TableName,
        if_exists: bool,
    },
    CreateTableLike {
        table: TableName,
        if_not_exists: bool,
        like: TableName,
        is_temporary: bool,
    },
    DropTables {
        tables: Vec<TableName>,
        if_exists: bool,
        is_temporary: bool,
    },
    Truncate(TableName),
    RenameTables(Vec<(TableName, TableName)>),
    AlterTable {
        verb: AlterVerb,
        table: TableName,
        actions: Vec<AlterClause>,
    },
    CreateUsers {
        users: Vec<AccountWithPassword>,
        options: Box<AccountOptions>,
        if_not_exists: bool,
    },
    DropUsers {
        users: Vec<Account>,
        if_exists: bool,
    },
    SetPassword(AccountWithPassword),
    AlterUsers {
        users: Vec<AccountWithPassword>,
        options: Box<AccountOptions>,
        if_exists: bool,
    },
    RenameUsers(Vec<(Account, Account)>),
    CreateRoles {
        roles: Vec<Account>,
        if_not_exists: bool,
    },
    DropRoles {
        roles: Vec<Account>,
        if_exists: bool,
    },
    SetDefaultRoles {
        accounts: Vec<Account>,
        roles: RoleList,
    },
}

/// CREATE VIEW, ALTER VIEW.
#[derive(Clone, Debug)]
pub(crate) struct CreateViewStatement {
    pub(crate) verb: catalogue::ViewVerb,
    pub(crate) algorithm: types::ViewAlgorithm,
    /// None: the account that sends the statement.
    pub(crate) definer: Option<Account>,
    pub(crate) security: types::ViewSecurity,
    pub(crate) name: TableName,
    pub(crate) columns: Vec<String>,
    /// The text of the SELECT.
    pub(crate) query: String,
    pub(crate) check: types::ViewCheck,
}

/// An account and its IDENTIFIED clause.
#[derive(Clone, Debug)]
pub(crate) struct AccountWithPassword {
    pub(crate) account: Account,
    pub(crate) authentication: Option<Authentication>,
}

/// CHARACTER SET and COLLATE, as written.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct CollationClause {
    pub(crate) character_set: Option<String>,
    pub(crate) collation: Option<String>,
}

/// CREATE TABLE.
#[derive(Clone, Debug)]
pub(crate) struct CreateTableStatement {
    pub(crate) table: TableName,
    pub(crate) if_not_exists: bool,
    /// CREATE TEMPORARY TABLE.
    pub(crate) is_temporary: bool,
    pub(crate) columns: Vec<ColumnClause>,
    pub(crate) keys: Vec<catalogue::KeySpec>,
    pub(crate) checks: Vec<CheckClause>,
    pub(crate) options: TableOptionsClause,
    /// CREATE TABLE … SELECT.
    pub(crate) select: Option<CreateSelect>,
}

/// Kinds of stored programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ProgramKind {
    Procedure,
    Function,
    Trigger,
    Event,
}

impl ProgramKind {
    pub(crate) const ALL: [Self; 4] = [Self::Procedure, Self::Function, Self::Trigger, Self::Event];

    /// As SQL names it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Procedure => "PROCEDURE",
            Self::Function => "FUNCTION",
            Self::Trigger => "TRIGGER",
            Self::Event => "EVENT",
        }
    }
}

/// The query of CREATE TABLE … SELECT.
#[derive(Clone, Debug)]
pub(crate) struct CreateSelect {
    pub(crate) query: Box<Query>,
    /// IGNORE, REPLACE.
    pub(crate) kind: InsertKind,
}

/// A CHECK constraint, with the text of its condition.
#[derive(Clone, Debug)]
pub(crate) struct CheckClause {
    pub(crate) name: Option<String>,
    pub(crate) condition: Expr,
    pub(crate) text: String,
    pub(crate) is_enforced: bool,
}

/// Table options that mean something.
#[derive(Clone, Debug, Default)]
pub(crate) struct TableOptionsClause {
    pub(crate) comment: Option<String>,
    pub(crate) collation: CollationClause,
    pub(crate) auto_increment: Option<u64>,
}

/// A column with its options.
#[derive(Clone, Debug)]
pub(crate) struct ColumnClause {
    pub(crate) name: String,
    pub(crate) data_type: TypeClause,
    pub(crate) collation: CollationClause,
    pub(crate) nullability: catalogue::Nullability,
    pub(crate) default: DefaultClause,
    pub(crate) auto_increment: bool,
    pub(crate) on_update_now: Option<u8>,
    pub(crate) comment: String,
    /// PRIMARY KEY, UNIQUE.
    pub(crate) key: Option<catalogue::KeySpecKind>,
    pub(crate) checks: Vec<CheckClause>,
    pub(crate) generated: Option<GeneratedClause>,
}

/// GENERATED ALWAYS AS, with the text of its expression.
#[derive(Clone, Debug)]
pub(crate) struct GeneratedClause {
    pub(crate) expression: Expr,
    pub(crate) text: String,
    pub(crate) is_stored: bool,
}

/// DEFAULT as written.
#[derive(Clone, Debug)]
pub(crate) enum DefaultClause {
    Missing,
    CurrentTimestamp {
        fraction: u8,
    },
    /// A literal, perhaps with a sign.
    Literal(Expr),
    /// In parentheses; with its text.
    Expression(Expr, String),
}

/// A column type as written: its name in upper case and what is in the parentheses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct TypeClause {
    pub(crate) name: String,
    pub(crate) numbers: Vec<u64>,
    pub(crate) members: Vec<String>,
    pub(crate) unsigned: bool,
    pub(crate) zerofill: bool,
    /// BINARY, or CHARACTER SET binary: see `collation` too.
    pub(crate) binary: bool,
}

/// One clause of ALTER TABLE.
#[derive(Clone, Debug)]
pub(crate) enum AlterClause {
    AddColumn(Box<ColumnClause>),
    AddKey(catalogue::KeySpec),
    DropKey(String),
    RenameKey {
        from: String,
        to: String,
    },
    RenameColumn {
        from: String,
        to: String,
    },
    RenameTo(TableName),
    Comment(String),
    Collation(CollationClause),
    /// MODIFY and CHANGE, with the name that the column has.
    ModifyColumn {
        from: String,
        column: Box<ColumnClause>,
    },
    /// FIRST and AFTER, of the column in the clause before.
    MoveColumn {
        column: String,
        after: Option<String>,
    },
    DropColumn(String),
    /// ALTER COLUMN … SET DEFAULT, DROP DEFAULT (`Missing`).
    SetDefault {
        column: String,
        default: Box<DefaultClause>,
    },
    /// CONVERT TO CHARACTER SET.
    Convert(CollationClause),
    DropPrimaryKey,
    AddCheck(Box<CheckClause>),
    DropCheck(String),
    DropConstraint(String),
    EnforceCheck {
        name: String,
        is_enforced: bool,
    },
    AutoIncrement(u64),
    /// DISABLE KEYS, ENABLE KEYS.
    Keys,
    /// ENGINE and the like.
    Accepted,
}
