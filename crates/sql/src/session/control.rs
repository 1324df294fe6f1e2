//! Statements that are done at once: SET without subqueries, USE, and transaction control while no slot takes part
//! (`transactions`).
//!
//! SET is all or nothing: all values are evaluated and checked on a copy of the variables first. Its changes for the
//! whole cluster are a DDL job, after which the copy is taken over.
#![expect(clippy::wildcard_enum_match_arm, reason = "a value of another kind is refused")]

use super::Session;
use crate::environment::{Environment, ModuleState};
use crate::session_core::SessionCore;
use crate::statement::Statement;
use crate::variables::{SessionVariables, UserVariables, checked_isolation};
use catalogue::{VariableChange, VariableSetting};
use executor::{Completion, Diagnostics, warnings_of};
use expression::{Columns, NoColumns};
use planner::plan::{Plan, SetItem, SetTarget};
use planner::{character_set_deprecation, collation_deprecation};
use protocol::signal::FullStop;
use protocol::{Address, Signal, SqlError};
use query::AccountNews;
use types::Value;

/// The warning of SET about names of utf8mb3.
fn deprecation(target: &SetTarget, value: &Value) -> Option<(u16, String)> {
    let Value::Bytes(name) = value else { return None };
    let name = std::str::from_utf8(name).ok()?;
    match target {
        SetTarget::Names | SetTarget::CharacterSet => {
            character_set_deprecation(name).or_else(|| collation_deprecation(name))
        }
        SetTarget::Session(variable) if variable.starts_with("character_set_") => {
            character_set_deprecation(name)
        }
        SetTarget::Session(variable) if variable.starts_with("collation_") => collation_deprecation(name),
        _ => None,
    }
}

/// The result of a SET, checked; nothing of it is in force yet.
pub(super) struct Assigned {
    variables: SessionVariables,
    last_insert_id: Option<u64>,
    user_variables: Option<UserVariables>,
    diagnostics: Diagnostics,
    /// Its changes for the whole cluster.
    pub(super) changes: Vec<VariableChange>,
}

impl SessionCore {
    /// Evaluates and checks the items of a SET over the row of its query.
    pub(super) fn assigned(
        &self,
        module: &ModuleState,
        items: &[SetItem],
        row: &dyn Columns,
        statement: &Statement,
    ) -> Result<Assigned, SqlError> {
        let mut assigned = Assigned {
            variables: self.variables.clone(),
            last_insert_id: None,
            user_variables: None,
            diagnostics: Diagnostics::default(),
            changes: Vec::new(),
        };
        let context = statement.run.context();
        context.volatile.inspect(|volatile| volatile.begin_row());
        for item in items {
            let value = match &item.value {
                None => None,
                Some(expression) => {
                    let value = expression.evaluate(row, &context);
                    Some(value.map_err(|error| SqlError::new(error.code, error.message))?)
                }
            };
            let deprecated = value.as_ref().and_then(|value| deprecation(&item.target, value));
            self.assign_item(module, &mut assigned, item, value)?;
            deprecated.into_iter().for_each(|(code, message)| assigned.diagnostics.warn(code, message));
        }
        assigned.diagnostics.add_all(warnings_of(&context));
        Ok(assigned)
    }

    fn assign_item(
        &self,
        module: &ModuleState,
        assigned: &mut Assigned,
        item: &SetItem,
        value: Option<Value>,
    ) -> Result<(), SqlError> {
        let Assigned { variables, last_insert_id, user_variables, diagnostics, changes } = assigned;
        let mut global = |name: &str, setting: fn(String) -> VariableSetting| {
            let (name, value) = self.variables.global_value(name, value.as_ref())?;
            changes.push(VariableChange { name: name.to_owned(), setting: setting(value) });
            Ok(())
        };
        match &item.target {
            SetTarget::Session(name) if name == "last_insert_id" || name == "identity" => {
                *last_insert_id = value.as_ref().and_then(as_id);
                Ok(())
            }
            SetTarget::Session(name) => variables.set(name, value.as_ref()),
            SetTarget::Global(name) => global(name, VariableSetting::Global),
            SetTarget::Persist(name) => global(name, VariableSetting::Persist),
            SetTarget::PersistOnly(name) => global(name, VariableSetting::PersistOnly),
            SetTarget::ResetPersist { name, if_exists } => {
                changes.extend(reset_persist(module, name.as_deref(), *if_exists, diagnostics)?);
                Ok(())
            }
            SetTarget::User(name) => {
                let user_variables = user_variables.get_or_insert_with(|| self.user_variables.clone());
                match (value, &item.value) {
                    (Some(value), Some(expression)) => {
                        user_variables.set(name, value, expression.sql_type.clone())
                    }
                    _ => Ok(()),
                }
            }
            SetTarget::NextReadOnly if self.client.transaction.is_open() => Err(SqlError::new(
                1568,
                "Transaction characteristics can't be changed while a transaction is in progress",
            )),
            SetTarget::NextReadOnly => variables.set_next_read_only(value.as_ref()),
            SetTarget::Nothing => Ok(()),
            SetTarget::Names => variables.set_names(value.as_ref()),
            SetTarget::CharacterSet => variables.set_character_set(value.as_ref()),
            SetTarget::Isolation { .. } => {
                let text = value.unwrap_or_else(|| Value::text("READ COMMITTED"));
                match &text {
                    Value::Bytes(text) => checked_isolation(&String::from_utf8_lossy(text)),
                    _ => Err(SqlError::new(
                        1232,
                        "Incorrect argument type to variable 'transaction_isolation'",
                    )),
                }
            }
        }
    }
}

/// RESET PERSIST: of one variable, or of all that are kept.
fn reset_persist(
    module: &ModuleState,
    name: Option<&str>,
    if_exists: bool,
    diagnostics: &mut Diagnostics,
) -> Result<Vec<VariableChange>, SqlError> {
    let kept = module.site.map.schema.variables.iter();
    let mut kept: Vec<&str> =
        kept.filter(|(_, variable)| variable.persisted.is_some()).map(|(name, _)| name.as_str()).collect();
    if let Some(name) = name {
        kept.retain(|known| *known == name);
        if kept.is_empty() {
            let message = format!("Variable {name} does not exist in persisted config file");
            if !if_exists {
                return Err(SqlError::new(3615, message));
            }
            diagnostics.warn(3615, message);
        }
    }
    let reset = |name: &str| VariableChange { name: name.to_owned(), setting: VariableSetting::Reset };
    Ok(kept.into_iter().map(reset).collect())
}

impl Session {
    /// Does a statement that needs nobody else; None: it must run.
    pub(super) fn control(
        &mut self,
        env: &mut Environment<'_>,
        statement: &Statement,
    ) -> Option<Result<Completion, SqlError>> {
        let done = || Ok(Completion::default());
        Some(match &statement.cached.prepared.plan {
            Plan::Set(items) => return self.set(env, items, statement),
            Plan::SetRole(roles) => {
                self.core.set_role(env.module, roles);
                // They were permitted to other roles.
                self.statements.forget_plans();
                done()
            }
            Plan::Use(name) => self.core.use_database(env, name).map(|()| Completion::default()),
            Plan::Nothing { note } => {
                if let Some(note) = note {
                    let (code, text) = note;
                    self.core.client.diagnostics.note(*code, text.clone());
                }
                done()
            }
            Plan::FlushUserResources => {
                env.tell(AccountNews::HourBegun);
                done()
            }
            Plan::Shutdown => self.shut_down(env).map(|()| Completion::default()),
            Plan::Transaction(transaction) => return self.control_transaction(env, transaction),
            Plan::UnlockTables if !self.core.client.transaction.has_locked_tables() => done(),
            Plan::Kill { .. }
            | Plan::LockTables(_)
            | Plan::UnlockTables
            | Plan::Select(_)
            | Plan::Insert(_)
            | Plan::Update(_)
            | Plan::Delete(_)
            | Plan::Change(_)
            | Plan::Explain { .. }
            | Plan::Ddl(_)
            | Plan::Temporary(_)
            | Plan::Named(_)
            | Plan::Show(_) => return None,
        })
    }

    /// SHUTDOWN: the whole cluster stops. Where rows are in memory only they would be lost, so an operator has to say
    /// that (`latsdb mgm`).
    fn shut_down(&self, env: &mut Environment<'_>) -> Result<(), SqlError> {
        if self.core.variables.is_diskless() {
            return Err(SqlError::unsupported("SHUTDOWN while data nodes are Diskless"));
        }
        let main = Address::main(env.module.node());
        let reason = format!("SHUTDOWN of user '{}' at node {}", self.core.account.0, main.node);
        env.send(main, Signal::FullStopWanted { extent: FullStop::Shutdown, reason });
        Ok(())
    }

    /// SET; None if it must commit first (autocommit is switched on in a transaction), changes what all sessions see,
    /// or sleeps.
    fn set(
        &mut self,
        env: &mut Environment<'_>,
        items: &[SetItem],
        statement: &Statement,
    ) -> Option<Result<Completion, SqlError>> {
        let assigned = match self.core.assigned(env.module, items, &NoColumns, statement) {
            Ok(assigned) => assigned,
            Err(error) if is_asleep(&error) => return None,
            Err(error) => return Some(Err(error)),
        };
        if self.must_commit_before(&assigned) {
            return None;
        }
        Some(self.assign(env, assigned).map(|()| Completion::default()))
    }

    /// Whether a SET commits what is open: it changes what all sessions see, or autocommit is switched on.
    pub(super) fn must_commit_before(&self, assigned: &Assigned) -> bool {
        let is_switched_on = assigned.variables.autocommit && !self.core.variables.autocommit;
        !assigned.changes.is_empty() || is_switched_on && self.core.client.transaction.has_participants()
    }

    /// Takes over what a SET has made.
    pub(super) fn assign(&mut self, env: &mut Environment<'_>, assigned: Assigned) -> Result<(), SqlError> {
        let Assigned { mut variables, last_insert_id, user_variables, diagnostics, changes: _ } = assigned;
        if variables.autocommit && !self.core.variables.autocommit {
            self.core.client.transaction.end();
        }
        if let Some(user_variables) = user_variables {
            let before = std::mem::replace(&mut self.core.user_variables, user_variables);
            if let Err(error) = self.account(env) {
                self.core.user_variables = before;
                return Err(error);
            }
        }
        if let Some(id) = last_insert_id {
            self.core.client.last_insert_id = id;
        }
        variables.follow(&env.module.globals);
        let before = self.core.variables.bind_key;
        self.core.variables = variables;
        self.stage = self.stage_of_ready();
        if self.core.variables.bind_key != before {
            self.statements.forget_plans();
        }
        self.core.client.diagnostics.append(diagnostics);
        Ok(())
    }
}

/// Whether the error of an evaluation says that a SLEEP has begun.
pub(super) fn is_asleep(error: &SqlError) -> bool {
    error.code == expression::EvaluationError::asleep().code
}

fn as_id(value: &Value) -> Option<u64> {
    match value {
        Value::Int(number) => u64::try_from(*number).ok(),
        Value::UInt(number) => Some(*number),
        _ => None,
    }
}
