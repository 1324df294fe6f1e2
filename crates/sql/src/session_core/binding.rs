//! Binding: the facts about a session that the planner gets, and the way from a text to a plan.
//!
//! A text is normalised; its plan is looked up, or prepared for the types of its literals and kept. If the text with
//! markers cannot be prepared, the original is, so that errors quote what the client wrote.

use super::SessionCore;
use crate::environment::{Environment, ModuleState};
use crate::row_counts::LocalCounts;
use crate::statement_cache::{Bound, CachedStatement};
use crate::variables;
use catalogue::Authentication;
use executor::temporary::TemporaryTables;
use expression::TypingContext;
use planner::plan::{Prepared, Reach, SessionValue, Show};
use planner::{BindContext, Description, Normalized, Surroundings};
use protocol::SqlError;
use std::sync::Arc;
use types::{SqlType, TableDefinition, Value};

struct Facts<'a> {
    core: &'a SessionCore,
}

impl Surroundings for Facts<'_> {
    fn session_value(&self, name: &SessionValue) -> Option<Value> {
        self.core.session_value(name)
    }

    fn user_variable_type(&self, name: &str) -> Option<SqlType> {
        self.core.user_variables.get(name).map(|(_, sql_type)| sql_type.clone())
    }

    fn virtual_table(&self, database: &str, name: &str) -> Option<Arc<TableDefinition>> {
        crate::show::known_tables::definition(database, name)
    }

    fn show_columns(&self, show: &Show) -> Vec<(String, SqlType)> {
        crate::show::columns_of(show)
    }

    fn variable_reach(&self, name: &str) -> Option<Reach> {
        variables::definition(name).map(|definition| definition.reach)
    }

    fn version(&self) -> &'static str {
        variables::VERSION
    }

    fn check_authentication(&self, authentication: &Authentication) -> Result<(), SqlError> {
        crate::accounts::check_authentication(authentication)
    }
}

impl SessionCore {
    /// With what a text is bound that is planned for these values.
    fn with_bind_context<T>(
        &self,
        module: &ModuleState,
        values: &[Value],
        bind: impl FnOnce(&BindContext<'_>) -> T,
    ) -> T {
        let facts = Facts { core: self };
        bind(&BindContext {
            schema: &module.site.map.schema,
            temporary: self.client.transaction.own().map(TemporaryTables::named),
            database: self.database.as_deref(),
            user: (&self.account.0, &self.account.1),
            privileges: self.rights.set(),
            typing: TypingContext {
                collation: self.variables.collation,
                sql_mode: self.variables.modes.evaluation,
            },
            only_full_group_by: self.variables.modes.only_full_group_by,
            server_collation: self.variables.server_collation,
            time_zone_offset_s: self.variables.time_zone_offset(),
            limits: &module.config.text_limits,
            modes: self.variables.modes.text,
            surroundings: &facts,
            statistics: &LocalCounts::new(&module.site.map, &self.client).with_parameters(values),
        })
    }

    /// Binds and plans a text for parameters of these types; the values are those of the first execution.
    pub(crate) fn prepare(
        &self,
        module: &ModuleState,
        text: &str,
        parameter_types: &[SqlType],
        values: &[Value],
    ) -> Result<Prepared, SqlError> {
        self.with_bind_context(module, values, |context| planner::prepare(text, context, parameter_types))
    }

    /// The parameters and columns of a text before values come.
    pub(crate) fn describe(&mut self, module: &mut ModuleState, text: &str) -> Result<Description, SqlError> {
        self.renew_rights(module);
        self.with_bind_context(module, &[], |context| planner::describe(text, context))
    }

    /// The plan for a text of COM_QUERY; `normalized` holds its literals afterwards.
    pub(crate) fn plan_of(
        &mut self,
        env: &mut Environment<'_>,
        text: &str,
        normalized: &mut Normalized,
    ) -> Result<Arc<CachedStatement>, SqlError> {
        self.renew_rights(env.module);
        let (text_modes, collation) = (self.variables.modes.text, self.variables.collation);
        planner::normalize_into(text, &env.module.config.text_limits, text_modes, collation, normalized)?;
        if normalized.is_cacheable {
            let (digest, markers) = (normalized.digest, normalized.text_with_markers.as_str());
            if let Some(found) = self.cached(env, digest, markers) {
                return Ok(found);
            }
            if let Ok(prepared) =
                self.prepare(env.module, markers, &normalized.parameter_types, &normalized.parameters)
            {
                let statement = Arc::new(CachedStatement::new(prepared, self.variables.result_collation()));
                // A text that names a user variable is not cacheable.
                self.cache(env, digest, markers, &statement);
                return Ok(statement);
            }
        }
        normalized.parameters.clear();
        normalized.parameter_types.clear();
        let prepared = self.prepare(env.module, text, &[], &[])?;
        Ok(Arc::new(CachedStatement::new(prepared, self.variables.result_collation())))
    }

    /// The plan of a prepared statement for parameters of these types.
    pub(crate) fn plan_of_prepared(
        &mut self,
        env: &mut Environment<'_>,
        text: &str,
        parameter_types: &[SqlType],
        values: &[Value],
    ) -> Result<Arc<CachedStatement>, SqlError> {
        self.renew_rights(env.module);
        let digest = planner::digest(text, parameter_types);
        if let Some(found) = self.cached(env, digest, text)
            && found.prepared.parameters == parameter_types
        {
            return Ok(found);
        }
        let prepared = self.prepare(env.module, text, parameter_types, values)?;
        let statement = Arc::new(CachedStatement::new(prepared, self.variables.result_collation()));
        if !statement.prepared.reads_user_variables() {
            self.cache(env, digest, text, &statement);
        }
        Ok(statement)
    }

    fn cached(&self, env: &mut Environment<'_>, digest: u128, text: &str) -> Option<Arc<CachedStatement>> {
        let map = &env.module.site.map;
        let bound = Bound {
            database: self.database.as_deref(),
            bind_key: self.variables.bind_key,
            privileges: self.rights.number(),
        };
        let counts = LocalCounts::new(map, &self.client);
        let found =
            env.module.cache.get(digest, text, bound, &map.schema, |prepared| prepared.fits_rows(&counts))?;
        match self.client.transaction.own() {
            Some(own) if found.prepared.may_name(own.named()) => None,
            _ => Some(found),
        }
    }

    fn cache(&self, env: &mut Environment<'_>, digest: u128, text: &str, statement: &Arc<CachedStatement>) {
        if statement.prepared.is_shareable() {
            let bound = Bound {
                database: self.database.as_ref(),
                bind_key: self.variables.bind_key,
                privileges: self.rights.number(),
            };
            env.module.cache.insert(digest, text, bound, Arc::clone(statement));
        }
    }
}
