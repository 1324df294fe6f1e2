//! DDL statements to requests of the catalogue: names completed, types and collations resolved, defaults evaluated.
//! Whether a request makes sense is the catalogue's to say.

use super::expression::{Place, hex_for_column};
use super::scope::Scope;
use super::{Binder, Bound, Clause, NamedTable};
use crate::character_sets::{character_set_deprecation, collation_deprecation, resolved_collation};
use crate::limits::exceeds;
use crate::modes::TextModes;
use crate::plan::{Plan, TemporaryPlan};
use crate::statement::{
    Account, AccountWithPassword, AlterClause, CollationClause, ColumnClause, CreateTableStatement,
    DdlStatement, DefaultClause, ProgramKind, Statement, TableName as WrittenName, TableOptionsClause,
    TypeClause,
};
use catalogue::{
    AccountOptions, AlterAction, CheckSpec, ColumnSpec, CreateTable, DdlRequest, DefaultSpec, TableName,
    TableOptions, UserName, UserSpec,
};
use expression::{Context, Expression, NoColumns};
use protocol::SqlError;
use std::cell::OnceCell;
use std::rc::Rc;
use std::sync::Arc;
use stdx::wire::to_bytes;
use types::{
    BlobSize, COLUMN_COUNT_MAX, Collation, ColumnDefinition, ColumnFlags, DefaultValue, IntegerWidth,
    NumberFormat, SqlType, TableDefinition, TableId, TableKind, Value,
};

fn no_definition(table: &TableDefinition) -> SqlError {
    SqlError::unsupported(&format!("CREATE TABLE … LIKE {}", table.name))
}

/// The plan of an ALTER TABLE whose clauses change nothing here.
fn nothing_to_alter(table: &WrittenName, actions: &[AlterClause]) -> Plan {
    let is_about_keys = actions.iter().any(|action| matches!(action, AlterClause::Keys));
    let text = || format!("Table storage engine for '{}' doesn't have this option", table.name);
    Plan::Nothing { note: is_about_keys.then(|| (1031, text())) }
}

impl Binder<'_> {
    pub(crate) fn ddl(&mut self, ddl: &DdlStatement) -> Result<Bound, SqlError> {
        if let Some(plan) = self.temporary_ddl(ddl)? {
            return Ok(Bound::without_rows(plan));
        }
        let request = match ddl {
            DdlStatement::CreateDatabase { name, if_not_exists, collation } => DdlRequest::CreateDatabase {
                name: name.clone(),
                if_not_exists: *if_not_exists,
                collation: Some(resolved_collation(collation)?.unwrap_or(self.context.server_collation)),
            },
            DdlStatement::DropDatabase { name, if_exists } => {
                DdlRequest::DropDatabase { name: name.clone(), if_exists: *if_exists }
            }
            DdlStatement::AlterDatabase { name, collation } => DdlRequest::AlterDatabase {
                name: match name {
                    Some(name) => name.clone(),
                    None => self.current_database()?.to_owned(),
                },
                collation: resolved_collation(collation)?.unwrap_or(Collation::Utf8mb40900AiCi),
            },
            DdlStatement::CreateTable(create) => match &create.select {
                Some(select) => return self.create_select(create, select),
                None => DdlRequest::CreateTable(Box::new(self.create_table(create)?)),
            },
            DdlStatement::CreateTableLike { table, if_not_exists, like, .. }
                if let Some(own) = self.temporary(like).cloned() =>
            {
                DdlRequest::CreateTable(Box::new(self.like_temporary(table, *if_not_exists, &own)?))
            }
            DdlStatement::CreateTableLike { table, if_not_exists, like, .. } => DdlRequest::CreateTableLike {
                table: self.full_name(table)?,
                if_not_exists: *if_not_exists,
                like: self.full_name(like)?,
            },
            DdlStatement::CreateView(create) => self.create_view(create)?,
            DdlStatement::DropProgram { kind, name, if_exists } => {
                return self.drop_program(*kind, name, *if_exists);
            }
            DdlStatement::DropViews { views, if_exists } => {
                DdlRequest::DropViews { views: self.full_names(views)?, if_exists: *if_exists }
            }
            DdlStatement::DropTables { tables, if_exists, .. } => {
                DdlRequest::DropTables { tables: self.full_names(tables)?, if_exists: *if_exists }
            }
            DdlStatement::Truncate(table) => DdlRequest::Truncate { table: self.full_name(table)? },
            DdlStatement::RenameTables(renames) => {
                let mut named = Vec::with_capacity(renames.len());
                for (from, to) in renames {
                    named.push((self.full_name(from)?, self.full_name(to)?));
                }
                DdlRequest::RenameTables(named)
            }
            DdlStatement::AlterTable { table, actions, .. } => match self.alter_table(table, actions)? {
                Some(request) => request,
                None => return Ok(Bound::without_rows(nothing_to_alter(table, actions))),
            },
            DdlStatement::CreateUsers { users, options, if_not_exists } => DdlRequest::CreateUsers {
                users: self.users(users)?,
                options: (**options).clone(),
                if_not_exists: *if_not_exists,
            },
            DdlStatement::DropUsers { users, if_exists } => DdlRequest::DropUsers {
                users: users.iter().map(|account| self.user_name(account)).collect(),
                if_exists: *if_exists,
            },
            DdlStatement::AlterUsers { users, options, if_exists } => DdlRequest::AlterUsers {
                users: self.users(users)?,
                options: (**options).clone(),
                if_exists: *if_exists,
            },
            DdlStatement::SetPassword(user) => {
                let UserName { name, host } = self.user_name(&user.account);
                if self.context.schema.user(&name, &host).is_none() {
                    return Err(SqlError::new(1133, "Can't find any matching row in the user table"));
                }
                let users = self.users(std::slice::from_ref(user))?;
                DdlRequest::AlterUsers { users, options: AccountOptions::default(), if_exists: false }
            }
            DdlStatement::RenameUsers(renames) => DdlRequest::RenameUsers(
                renames.iter().map(|(from, to)| (self.user_name(from), self.user_name(to))).collect(),
            ),
            DdlStatement::CreateRoles { roles, if_not_exists } => {
                DdlRequest::CreateRoles { roles: self.user_names(roles), if_not_exists: *if_not_exists }
            }
            DdlStatement::DropRoles { roles, if_exists } => DdlRequest::DropRoles {
                roles: self.user_names(roles),
                if_exists: *if_exists,
                mandatory: self.mandatory_roles(),
            },
            DdlStatement::SetDefaultRoles { accounts, roles } => self.default_roles(accounts, roles),
        };
        Ok(Bound::ddl(request))
    }

    /// DDL of temporary tables; None: the statement is about other objects.
    fn temporary_ddl(&mut self, ddl: &DdlStatement) -> Result<Option<Plan>, SqlError> {
        let mut plan = TemporaryPlan {
            request: DdlRequest::DropTables { tables: Vec::new(), if_exists: false },
            fill: None,
            like: None,
            commits: true,
            rest: None,
        };
        match ddl {
            DdlStatement::CreateTable(create) if create.is_temporary && create.select.is_none() => {
                plan.request = DdlRequest::CreateTable(Box::new(self.create_table(create)?));
                plan.commits = false;
            }
            DdlStatement::CreateTableLike { table, if_not_exists, like, is_temporary: true } => {
                plan.like = Some(self.stored_source(like)?);
                let (table, like) = (self.full_name(table)?, self.full_name(like)?);
                plan.request = DdlRequest::CreateTableLike { table, if_not_exists: *if_not_exists, like };
                plan.commits = false;
            }
            DdlStatement::DropTables { tables, if_exists, is_temporary } => {
                let is_own = |table: &&WrittenName| *is_temporary || self.temporary(table).is_some();
                let (own, others): (Vec<_>, Vec<_>) = tables.iter().partition(is_own);
                if own.is_empty() {
                    return Ok(None);
                }
                let names = |tables: Vec<&WrittenName>| -> Result<Vec<_>, SqlError> {
                    tables.into_iter().map(|table| self.full_name(table)).collect()
                };
                let (if_exists, rest) = (*if_exists, names(others)?);
                if !if_exists {
                    self.check_there(&rest)?;
                }
                plan.request = DdlRequest::DropTables { tables: names(own)?, if_exists };
                plan.rest = (!rest.is_empty()).then_some(DdlRequest::DropTables { tables: rest, if_exists });
                plan.commits = !is_temporary;
            }
            DdlStatement::Truncate(table) if self.temporary(table).is_some() => {
                plan.request = DdlRequest::Truncate { table: self.full_name(table)? };
            }
            DdlStatement::AlterTable { table, actions, .. } if self.temporary(table).is_some() => {
                match self.alter_table(table, actions)? {
                    Some(request) => plan.request = request,
                    None => return Ok(Some(nothing_to_alter(table, actions))),
                }
            }
            _ => return Ok(None),
        }
        Ok(Some(Plan::Temporary(Box::new(plan))))
    }

    /// CREATE TABLE … LIKE a temporary table, of which only the session knows: its definition is printed and read.
    fn like_temporary(
        &mut self,
        table: &WrittenName,
        if_not_exists: bool,
        like: &TableDefinition,
    ) -> Result<CreateTable, SqlError> {
        let text = catalogue::show_create_table(like, None);
        let parsed = crate::parse::parse(&text, self.context.limits, TextModes::default())?;
        let Statement::Ddl(ddl) = parsed.statement else { return Err(no_definition(like)) };
        let DdlStatement::CreateTable(mut create) = *ddl else { return Err(no_definition(like)) };
        create.table = table.clone();
        create.if_not_exists = if_not_exists;
        create.is_temporary = false;
        // They are named after their table.
        create.checks.iter_mut().for_each(|check| check.name = None);
        self.create_table(&create)
    }

    /// DROP of a stored program.
    fn drop_program(
        &self,
        kind: ProgramKind,
        name: &WrittenName,
        if_exists: bool,
    ) -> Result<Bound, SqlError> {
        let (code, text) = match kind {
            ProgramKind::Trigger => (1360, "Trigger does not exist".to_owned()),
            ProgramKind::Event => (1539, format!("Unknown event '{}'", name.name)),
            ProgramKind::Procedure | ProgramKind::Function => {
                (1305, format!("{} {} does not exist", kind.name(), self.full_name(name)?))
            }
        };
        if !if_exists {
            return Err(SqlError::new(code, text));
        }
        let text =
            if kind == ProgramKind::Event { format!("Event {} does not exist", name.name) } else { text };
        let code = if kind == ProgramKind::Event { 1305 } else { code };
        Ok(Bound::without_rows(Plan::Nothing { note: Some((code, text)) }))
    }

    /// The temporary table of that name.
    fn temporary(&self, name: &WrittenName) -> Option<&Arc<TableDefinition>> {
        let database = name.database.as_deref().or(self.context.database)?;
        self.context.temporary_table(database, &name.name)
    }

    /// The table that CREATE TEMPORARY TABLE … LIKE names.
    fn stored_source(&self, name: &WrittenName) -> Result<Arc<TableDefinition>, SqlError> {
        match self.named_table(name)? {
            NamedTable::Stored(table) => Ok(table),
            NamedTable::View(_) | NamedTable::Virtual(..) => {
                let text = format!("'{}' is not BASE TABLE", self.full_name(name)?);
                Err(SqlError::new(1347, text))
            }
        }
    }

    /// 1051 if one of these stored tables is not there.
    fn check_there(&self, tables: &[TableName]) -> Result<(), SqlError> {
        let is_missing =
            |table: &&TableName| self.context.schema.table(&table.database, &table.name).is_none();
        let missing: Vec<String> = tables.iter().filter(is_missing).map(ToString::to_string).collect();
        if missing.is_empty() {
            return Ok(());
        }
        Err(catalogue::temporary::unknown_table(&missing.join(",")))
    }

    pub(super) fn full_name(&self, name: &WrittenName) -> Result<TableName, SqlError> {
        let database = match &name.database {
            Some(database) => database.clone(),
            None => self.current_database()?.to_owned(),
        };
        Ok(TableName { database, name: name.name.clone() })
    }

    fn full_names(&self, names: &[WrittenName]) -> Result<Vec<TableName>, SqlError> {
        names.iter().map(|name| self.full_name(name)).collect()
    }

    /// The collation of a new table's columns that name none.
    pub(super) fn table_collation(
        &self,
        database: &str,
        options: &TableOptionsClause,
    ) -> Result<Collation, SqlError> {
        if let Some(collation) = resolved_collation(&options.collation)? {
            return Ok(collation);
        }
        let database = self.context.schema.database(database);
        Ok(database.map_or(Collation::Utf8mb40900AiCi, |database| database.collation))
    }

    fn create_table(&mut self, create: &CreateTableStatement) -> Result<CreateTable, SqlError> {
        let table = self.full_name(&create.table)?;
        let collation = self.table_collation(&table.database, &create.options)?;
        if create.columns.len() > COLUMN_COUNT_MAX {
            return Err(SqlError::new(1117, "Too many columns"));
        }
        let made = OnceCell::new();
        let siblings = Siblings::Written(&create.columns, collation, &made);
        let mut columns = Vec::with_capacity(create.columns.len());
        for column in &create.columns {
            columns.push(self.column(column, collation, siblings)?);
        }
        self.table_of(create, columns, siblings)
    }

    /// A new table of these columns.
    pub(super) fn table_of(
        &mut self,
        create: &CreateTableStatement,
        columns: Vec<ColumnSpec>,
        siblings: Siblings<'_>,
    ) -> Result<CreateTable, SqlError> {
        let checks = self.checks(create, siblings)?;
        let options = TableOptions {
            comment: create.options.comment.clone().unwrap_or_default(),
            collation: resolved_collation(&create.options.collation)?,
            auto_increment: create.options.auto_increment,
        };
        Ok(CreateTable {
            table: self.full_name(&create.table)?,
            if_not_exists: create.if_not_exists,
            columns,
            keys: create.keys.clone(),
            options,
            checks,
            is_filled: create.select.is_some(),
        })
    }

    /// The constraints of a new table: those of columns, then those of the table, as MySQL numbers them.
    fn checks(
        &mut self,
        create: &CreateTableStatement,
        siblings: Siblings<'_>,
    ) -> Result<Vec<CheckSpec>, SqlError> {
        let of_columns = create
            .columns
            .iter()
            .flat_map(|column| column.checks.iter().map(|check| (check, Some(column.name.as_str()))));
        let of_table = create.checks.iter().map(|check| (check, None));
        let all: Vec<_> = of_columns.chain(of_table).collect();
        if all.is_empty() {
            return Ok(Vec::new());
        }
        exceeds("check_count_max", all.len(), self.context.limits.check_count_max)?;
        let scope = siblings.scope()?;
        let mut specs = Vec::with_capacity(all.len());
        let mut unnamed = 0;
        for (clause, column) in all {
            unnamed += u32::from(clause.name.is_none());
            let generated = format!("{}_chk_{unnamed}", create.table.name);
            let shown = clause.name.as_deref().unwrap_or(&generated);
            specs.push(self.check(clause, &scope, column, shown)?);
        }
        Ok(specs)
    }

    /// A column; `siblings` are the columns that an expression default may name.
    pub(super) fn column(
        &mut self,
        column: &ColumnClause,
        table_collation: Collation,
        siblings: Siblings<'_>,
    ) -> Result<ColumnSpec, SqlError> {
        let sql_type = column_type(column, table_collation)?;
        let format = number_format(&column.data_type, &sql_type);
        let default = match &column.generated {
            None => self.column_default(&column.default, (&column.name, &sql_type), siblings)?,
            Some(_) if !matches!(column.default, DefaultClause::Missing) => {
                return Err(SqlError::new(1221, "Incorrect usage of DEFAULT and generated column"));
            }
            Some(generated) => {
                let scope = siblings.scope()?;
                self.generated(generated, &scope, &column.name)?
            }
        };
        Ok(ColumnSpec {
            name: column.name.clone(),
            sql_type,
            nullability: column.nullability,
            default,
            auto_increment: column.auto_increment,
            on_update_now: column.on_update_now,
            comment: column.comment.clone(),
            format,
        })
    }

    /// The default of a column of this name and type.
    fn column_default(
        &mut self,
        default: &DefaultClause,
        (name, sql_type): (&str, &SqlType),
        siblings: Siblings<'_>,
    ) -> Result<DefaultSpec, SqlError> {
        Ok(match default {
            DefaultClause::Missing => DefaultSpec::Unspecified,
            DefaultClause::CurrentTimestamp { fraction } => {
                DefaultSpec::CurrentTimestamp { fraction: *fraction }
            }
            DefaultClause::Literal(expr) => {
                let scope = Scope::default();
                let value = match hex_for_column(expr, sql_type) {
                    Some(number) => number,
                    None => self.expression(expr, &mut Place::new(&scope, Clause::Default))?,
                };
                DefaultSpec::Literal(self.default_value(&value, sql_type, name)?)
            }
            DefaultClause::Expression(expr, text) => {
                let scope = siblings.scope()?;
                let expression = self.expression(expr, &mut Place::new(&scope, Clause::Default))?;
                if !self.session_values.is_empty() {
                    return Err(SqlError::new(
                        3772,
                        format!(
                            "Default value expression of column '{name}' cannot refer user or system variables."
                        ),
                    ));
                }
                DefaultSpec::Expression { encoded: to_bytes(&expression), text: text.clone() }
            }
        })
    }

    /// The value of a literal default: a date that sql_mode lets in, that of a TIMESTAMP in UTC.
    fn default_value(
        &self,
        expression: &Expression,
        sql_type: &SqlType,
        column: &str,
    ) -> Result<Value, SqlError> {
        let invalid = || SqlError::new(1067, format!("Invalid default value for '{column}'"));
        let context = Context::default();
        let value = expression.evaluate(&NoColumns, &context).map_err(|_| invalid())?;
        let is_dated =
            matches!(sql_type, SqlType::Date | SqlType::DateTime { .. } | SqlType::Timestamp { .. });
        if value.is_null() || !is_dated {
            return Ok(value);
        }
        let dates = self.context.typing.sql_mode.dates();
        let stored = types::store(value, sql_type, types::StoreMode::Strict, dates).map_err(|_| invalid())?;
        let (Value::DateTime(local), SqlType::Timestamp { .. }) = (&stored, sql_type) else {
            return Ok(stored);
        };
        let offset_us = i64::from(self.context.time_zone_offset_s) * 1_000_000;
        if local.date().has_zero_part() {
            // The zero timestamp is the same everywhere.
            return Ok(stored);
        }
        let utc = types::DateTime::from_unix_microseconds(local.to_unix_microseconds() - offset_us);
        utc.map(Value::DateTime).ok_or_else(invalid)
    }

    /// None if every clause is one that changes nothing here.
    fn alter_table(
        &mut self,
        table: &WrittenName,
        clauses: &[AlterClause],
    ) -> Result<Option<DdlRequest>, SqlError> {
        exceeds("alter_clause_count_max", clauses.len(), self.context.limits.alter_clause_count_max)?;
        let existing = self.stored_table(table)?;
        let name = self.full_name(table)?;
        let mut actions = Vec::with_capacity(clauses.len());
        let mut altered = Altered::new(&existing);
        // String columns of this statement have the collation that the table gets.
        let mut collation = existing.collation;
        for clause in clauses {
            if let AlterClause::Convert(clause) | AlterClause::Collation(clause) = clause {
                collation = resolved_collation(clause)?.unwrap_or(collation);
            }
        }
        for clause in clauses {
            actions.push(match clause {
                AlterClause::AddColumn(column) => {
                    let spec = self.column(column, collation, Siblings::Stored(&altered.table))?;
                    altered.put(None, &spec);
                    AlterAction::AddColumn(spec)
                }
                AlterClause::ModifyColumn { from, column } => {
                    let spec = self.column(column, collation, Siblings::Stored(&altered.table))?;
                    altered.put(Some(from), &spec);
                    AlterAction::ModifyColumn { from: from.clone(), spec: Box::new(spec) }
                }
                AlterClause::MoveColumn { column, after } => {
                    AlterAction::MoveColumn { column: column.clone(), after: after.clone() }
                }
                AlterClause::DropColumn(name) => AlterAction::DropColumn { name: name.clone() },
                AlterClause::SetDefault { column, default } => {
                    let known = existing.column(column).ok_or_else(|| {
                        SqlError::new(1054, format!("Unknown column '{column}' in '{}'", existing.name))
                    })?;
                    let sql_type = &existing.column_at(known).sql_type;
                    let siblings = Siblings::Stored(&existing);
                    let default = self.column_default(default, (column, sql_type), siblings)?;
                    AlterAction::SetDefault { column: column.clone(), default }
                }
                AlterClause::Convert(clause) => {
                    altered.convert(collation);
                    AlterAction::Convert(resolved_collation(clause)?.unwrap_or(Collation::Utf8mb40900AiCi))
                }
                AlterClause::DropPrimaryKey => AlterAction::DropPrimaryKey,
                AlterClause::DropCheck(name) => AlterAction::DropCheck { name: name.clone() },
                AlterClause::DropConstraint(name) => AlterAction::DropConstraint { name: name.clone() },
                AlterClause::EnforceCheck { name, is_enforced } => {
                    AlterAction::EnforceCheck { name: name.clone(), is_enforced: *is_enforced }
                }
                // Behind the columns, which they may name.
                AlterClause::AddCheck(_) => continue,
                AlterClause::AutoIncrement(next) => AlterAction::AutoIncrement(*next),
                AlterClause::AddKey(key) => AlterAction::AddIndex(key.clone()),
                AlterClause::DropKey(name) => AlterAction::DropIndex { name: name.clone() },
                AlterClause::RenameKey { from, to } => {
                    AlterAction::RenameIndex { from: from.clone(), to: to.clone() }
                }
                AlterClause::RenameColumn { from, to } => {
                    altered.rename(from, to);
                    AlterAction::RenameColumn { from: from.clone(), to: to.clone() }
                }
                AlterClause::RenameTo(to) => AlterAction::RenameTo(self.full_name(to)?),
                AlterClause::Comment(comment) => AlterAction::Comment(comment.clone()),
                AlterClause::Collation(collation) => AlterAction::Collation(
                    resolved_collation(collation)?.unwrap_or(Collation::Utf8mb40900AiCi),
                ),
                AlterClause::Accepted | AlterClause::Keys => continue,
            });
        }
        self.add_checks(clauses, &altered.table, &mut actions)?;
        self.bind_checks(&existing, &altered.table, &mut actions)?;
        if actions.iter().any(is_computed) {
            actions.push(AlterAction::BoundTo(existing.version));
        }
        Ok((!actions.is_empty()).then_some(DdlRequest::AlterTable { table: name, actions }))
    }

    /// The constraints that clauses of an ALTER TABLE add.
    fn add_checks(
        &mut self,
        clauses: &[AlterClause],
        table: &Arc<TableDefinition>,
        actions: &mut Vec<AlterAction>,
    ) -> Result<(), SqlError> {
        let scope = Scope::of_table(Arc::clone(table), None);
        let mut added = 0;
        for clause in clauses {
            let (checks, column) = match clause {
                AlterClause::AddColumn(column) | AlterClause::ModifyColumn { column, .. } => {
                    (column.checks.as_slice(), Some(column.name.as_str()))
                }
                AlterClause::AddCheck(check) => (std::slice::from_ref(&**check), None),
                _ => continue,
            };
            added += checks.len();
            exceeds("check_count_max", table.checks.len() + added, self.context.limits.check_count_max)?;
            for check in checks {
                let shown = check.name.clone().unwrap_or_else(|| format!("{}_chk", table.name));
                actions.push(AlterAction::AddCheck(self.check(check, &scope, column, &shown)?));
            }
        }
        Ok(())
    }

    /// The constraints and generated columns that the table has, where columns that they name have other types.
    fn bind_checks(
        &mut self,
        before: &TableDefinition,
        after: &Arc<TableDefinition>,
        actions: &mut Vec<AlterAction>,
    ) -> Result<(), SqlError> {
        let is_other = |slot: &expression::ColumnSlot| {
            let types =
                [before, after].map(|table| table.columns.get(slot.index()).map(|column| &column.sql_type));
            types[0] != types[1]
        };
        let is_stale = |encoded: &[u8]| {
            let expression: Result<Expression, _> = stdx::wire::from_bytes(encoded);
            expression.is_ok_and(|expression| expression.columns().iter().any(is_other))
        };
        let scope = Scope::of_table(Arc::clone(after), None);
        for check in before.checks.iter().filter(|check| is_stale(&check.encoded)) {
            if let Some(encoded) = self.bound_again(&check.text, &scope)? {
                actions.push(AlterAction::BindCheck { name: check.name.clone(), encoded });
            }
        }
        for (column, now) in before.columns.iter().zip(&after.columns) {
            // One that the statement defines again is bound already.
            if let (DefaultValue::Generated { encoded, text, .. }, DefaultValue::Generated { .. }) =
                (&column.default, &now.default)
                && is_stale(encoded)
                && let Some(encoded) = self.bound_again(text, &scope)?
            {
                actions.push(AlterAction::BindGenerated { column: now.name.clone(), encoded });
            }
        }
        Ok(())
    }

    pub(super) fn user_names(&self, accounts: &[Account]) -> Vec<UserName> {
        accounts.iter().map(|account| self.user_name(account)).collect()
    }

    pub(super) fn user_name(&self, account: &Account) -> UserName {
        match account {
            Account::Current => {
                let (name, host) = self.context.user;
                UserName { name: name.to_owned(), host: host.to_owned() }
            }
            Account::Named { name, host } => UserName { name: name.clone(), host: host.clone() },
        }
    }

    fn users(&self, accounts: &[AccountWithPassword]) -> Result<Vec<UserSpec>, SqlError> {
        let mut users = Vec::with_capacity(accounts.len());
        for AccountWithPassword { account, authentication } in accounts {
            let user = self.user_name(account);
            if let Some(authentication) = authentication {
                self.context.surroundings.check_authentication(authentication)?;
            }
            users.push(UserSpec { user, authentication: authentication.clone() });
        }
        Ok(users)
    }
}

/// The columns that the expression of a default may name.
#[derive(Clone, Copy)]
pub(super) enum Siblings<'a> {
    /// Those of a CREATE TABLE, with the table's collation, and their names once they are asked for.
    Written(&'a [ColumnClause], Collation, &'a OnceCell<Rc<Scope>>),
    /// Those of a table that is there.
    Stored(&'a Arc<TableDefinition>),
}

/// A table as the clauses of an ALTER TABLE leave it for expressions: its columns keep their places, new ones are
/// behind.
struct Altered {
    table: Arc<TableDefinition>,
}

impl Altered {
    fn new(table: &Arc<TableDefinition>) -> Self {
        Self { table: Arc::clone(table) }
    }

    /// Puts a column in place of the one called `from`, or behind the others.
    fn put(&mut self, from: Option<&str>, spec: &ColumnSpec) {
        let table = Arc::make_mut(&mut self.table);
        let column = column_of(&spec.name, spec.sql_type.clone());
        match from {
            None => table.columns.push(column),
            Some(from) => {
                if let Some(position) = table.column(from) {
                    table.columns[usize::from(position.0)] = column;
                }
            }
        }
    }

    /// Gives all strings this collation.
    fn convert(&mut self, to: Collation) {
        for column in &mut Arc::make_mut(&mut self.table).columns {
            if let SqlType::Char { collation, .. }
            | SqlType::VarChar { collation, .. }
            | SqlType::Text { collation, .. }
            | SqlType::Enum { collation, .. }
            | SqlType::Set { collation, .. } = &mut column.sql_type
            {
                *collation = to;
            }
        }
    }

    fn rename(&mut self, from: &str, to: &str) {
        let table = Arc::make_mut(&mut self.table);
        if let Some(position) = table.column(from) {
            to.clone_into(&mut table.columns[usize::from(position.0)].name);
        }
    }
}

/// A column of which expressions see the name and the type.
pub(super) fn column_of(name: &str, sql_type: SqlType) -> ColumnDefinition {
    ColumnDefinition {
        name: name.to_owned(),
        sql_type,
        default: DefaultValue::Missing,
        flags: ColumnFlags { nullable: true, ..ColumnFlags::default() },
        comment: String::new(),
        format: NumberFormat::default(),
        absent: None,
    }
}

impl Siblings<'_> {
    /// The names of a table of them.
    fn scope(self) -> Result<Rc<Scope>, SqlError> {
        match self {
            Siblings::Stored(table) => Ok(Rc::new(Scope::of_table(Arc::clone(table), None))),
            Siblings::Written(columns, collation, made) => match made.get() {
                Some(scope) => Ok(Rc::clone(scope)),
                None => {
                    let table = Arc::new(sibling_table(columns, collation)?);
                    Ok(Rc::clone(made.get_or_init(|| Rc::new(Scope::of_table(table, None)))))
                }
            },
        }
    }
}

/// Whether an action has an expression over the table's columns.
fn is_computed(action: &AlterAction) -> bool {
    let default = match action {
        AlterAction::AddColumn(spec) => &spec.default,
        AlterAction::ModifyColumn { spec, .. } => &spec.default,
        AlterAction::SetDefault { default, .. } => default,
        AlterAction::AddCheck(_) | AlterAction::BindCheck { .. } | AlterAction::BindGenerated { .. } => {
            return true;
        }
        _ => return false,
    };
    matches!(default, DefaultSpec::Expression { .. } | DefaultSpec::Generated { .. })
}

fn clause_of_alteration(clause: &AlterClause) -> Option<&CollationClause> {
    match clause {
        AlterClause::AddColumn(column) | AlterClause::ModifyColumn { column, .. } => Some(&column.collation),
        AlterClause::Collation(collation) | AlterClause::Convert(collation) => Some(collation),
        _ => None,
    }
}

/// The warnings of a DDL statement: names of utf8mb3.
pub(super) fn deprecations(statement: &Statement) -> Vec<(u16, String)> {
    let Statement::Ddl(ddl) = statement else { return Vec::new() };
    let clauses: Vec<&CollationClause> = match &**ddl {
        DdlStatement::CreateDatabase { collation, .. } | DdlStatement::AlterDatabase { collation, .. } => {
            vec![collation]
        }
        DdlStatement::CreateTable(create) => {
            let columns = create.columns.iter().map(|column| &column.collation);
            columns.chain([&create.options.collation]).collect()
        }
        DdlStatement::AlterTable { actions: clauses, .. } => {
            clauses.iter().filter_map(clause_of_alteration).collect()
        }
        _ => Vec::new(),
    };
    let warnings = |clause: &CollationClause| {
        let set = clause.character_set.as_deref().and_then(character_set_deprecation);
        set.into_iter().chain(clause.collation.as_deref().and_then(collation_deprecation))
    };
    clauses.into_iter().flat_map(warnings).collect()
}

/// A table of the columns being made, so that expression defaults can be bound.
pub(super) fn sibling_table(
    columns: &[ColumnClause],
    collation: Collation,
) -> Result<TableDefinition, SqlError> {
    let mut definitions = Vec::with_capacity(columns.len());
    for column in columns {
        definitions.push(column_of(&column.name, column_type(column, collation)?));
    }
    let index = |position: usize| u16::try_from(position).ok().map(types::ColumnIndex);
    Ok(TableDefinition {
        id: TableId(0),
        version: 0,
        database: String::new(),
        name: String::new(),
        kind: TableKind::User,
        columns: definitions,
        indexes: Vec::new(),
        auto_increment: columns.iter().position(|column| column.auto_increment).and_then(index),
        comment: String::new(),
        collation,
        slots: types::TableSlots::ONE_RANK,
        copied_to: None,
        checks: Vec::new(),
    })
}

fn first_number(data_type: &TypeClause) -> Option<u64> {
    data_type.numbers.first().copied()
}

/// The type of a column; numbers that do not fit are saturated, the catalogue refuses them.
pub(super) fn column_type(column: &ColumnClause, table_collation: Collation) -> Result<SqlType, SqlError> {
    let data_type = &column.data_type;
    let mut collation = resolved_collation(&column.collation)?.unwrap_or(table_collation);
    if data_type.binary && column.collation.collation.is_none() {
        collation = collation.bin();
    }
    let byte = |number: u64| u8::try_from(number).unwrap_or(u8::MAX);
    let length = |default: u64| u32::try_from(first_number(data_type).unwrap_or(default)).unwrap_or(u32::MAX);
    let fraction = byte(first_number(data_type).unwrap_or(0));
    let unsigned = data_type.unsigned;
    let is_binary = collation == Collation::Binary;
    Ok(match data_type.name.as_str() {
        "BOOL" | "BOOLEAN" => SqlType::Integer { width: IntegerWidth::Tiny, unsigned: false },
        "SERIAL" => SqlType::Integer { width: IntegerWidth::Big, unsigned: true },
        "TINYINT" => SqlType::Integer { width: IntegerWidth::Tiny, unsigned },
        "SMALLINT" => SqlType::Integer { width: IntegerWidth::Small, unsigned },
        "MEDIUMINT" => SqlType::Integer { width: IntegerWidth::Medium, unsigned },
        "INT" => SqlType::Integer { width: IntegerWidth::Normal, unsigned },
        "BIGINT" => SqlType::Integer { width: IntegerWidth::Big, unsigned },
        "DECIMAL" => {
            let precision = byte(first_number(data_type).unwrap_or(10));
            let scale = byte(data_type.numbers.get(1).copied().unwrap_or(0));
            SqlType::Decimal { precision, scale, unsigned }
        }
        // FLOAT(25) and above is a DOUBLE; FLOAT(7,4) is a FLOAT.
        "FLOAT" if data_type.numbers.len() == 1 && first_number(data_type) > Some(53) => {
            return Err(SqlError::new(
                1063,
                format!("Incorrect column specifier for column '{}'", column.name),
            ));
        }
        "FLOAT" if data_type.numbers.len() == 1 && first_number(data_type) > Some(24) => SqlType::Double,
        "FLOAT" => SqlType::Float,
        "DOUBLE" => SqlType::Double,
        "BIT" => SqlType::Bit { length: byte(first_number(data_type).unwrap_or(1)) },
        "CHAR" if is_binary => SqlType::Binary { length: length(1) },
        "CHAR" => SqlType::Char { length: length(1), collation },
        "VARCHAR" if is_binary => SqlType::VarBinary { length: length(0) },
        "VARCHAR" => SqlType::VarChar { length: length(0), collation },
        "BINARY" => SqlType::Binary { length: length(1) },
        "VARBINARY" => SqlType::VarBinary { length: length(0) },
        "ENUM" => SqlType::Enum { members: Arc::new(trimmed(&data_type.members)), collation },
        "SET" => SqlType::Set { members: Arc::new(trimmed(&data_type.members)), collation },
        "DATE" => SqlType::Date,
        "TIME" => SqlType::Time { fraction },
        "DATETIME" => SqlType::DateTime { fraction },
        "TIMESTAMP" => SqlType::Timestamp { fraction },
        "YEAR" => SqlType::Year,
        name => large_type(name, first_number(data_type), collation)?,
    })
}

/// The format that the type says besides its range. A width of 0 is none, as in MySQL.
fn number_format(data_type: &TypeClause, sql_type: &SqlType) -> NumberFormat {
    let is_floating = matches!(sql_type, SqlType::Float | SqlType::Double);
    let mut format = NumberFormat {
        unsigned: data_type.unsigned && is_floating,
        zerofill: data_type.zerofill,
        ..NumberFormat::default()
    };
    let width = |number: u64| u16::try_from(number).unwrap_or(u16::MAX);
    match (data_type.numbers.as_slice(), sql_type) {
        (&[number], SqlType::Integer { .. }) if number > 0 => format.width = Some(width(number)),
        (&[number, scale], SqlType::Float | SqlType::Double) if number > 0 || scale > 0 => {
            format.width = Some(width(number));
            format.scale = Some(u8::try_from(scale).unwrap_or(u8::MAX));
        }
        _ if matches!(data_type.name.as_str(), "BOOL" | "BOOLEAN") => format.width = Some(1),
        _ => {}
    }
    format
}

/// The TEXT and BLOB families; TEXT(n) is the smallest that holds n.
fn large_type(name: &str, length: Option<u64>, collation: Collation) -> Result<SqlType, SqlError> {
    let size = match name {
        "TINYTEXT" | "TINYBLOB" => BlobSize::Tiny,
        "MEDIUMTEXT" | "MEDIUMBLOB" => BlobSize::Medium,
        "LONGTEXT" | "LONGBLOB" => BlobSize::Long,
        "TEXT" | "BLOB" => match length {
            None => BlobSize::Normal,
            Some(..=255) => BlobSize::Tiny,
            Some(..=65_535) => BlobSize::Normal,
            Some(..=16_777_215) => BlobSize::Medium,
            Some(_) => BlobSize::Long,
        },
        _ => return Err(SqlError::unsupported(&format!("column type {name}"))),
    };
    if name.ends_with("BLOB") || collation == Collation::Binary {
        return Ok(SqlType::Blob { size });
    }
    Ok(SqlType::Text { size, collation })
}

/// Members lose their trailing spaces.
fn trimmed(members: &[String]) -> Vec<String> {
    members.iter().map(|member| member.trim_end_matches(' ').to_owned()).collect()
}
