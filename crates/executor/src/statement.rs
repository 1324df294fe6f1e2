//! The inputs of a statement that runs: its parameters, and what it sees of the session.

use expression::{Context, Expression, Settings, Volatile, fold_constants};
use protocol::program::StatementContext;
use std::sync::Arc;
use types::{TableDefinition, Value};

/// The statement that runs: its values, and what it and its expressions see of the session.
#[derive(Debug)]
pub struct Statement {
    pub parameters: Vec<Value>,
    /// For expressions whose values are shown or tested.
    pub settings: Settings,
    /// sql_mode has a STRICT mode: values that are stored must fit.
    pub is_strict: bool,
    pub connection_id: u32,
    pub last_insert_id: u64,
    pub database: Option<Arc<str>>,
    pub user: Arc<str>,
    /// The source of its volatile functions; none if it has none.
    pub volatile: Option<Box<Volatile>>,
    /// The stored table whose rows it reads or changes, if it has volatile functions.
    pub table: Option<Arc<TableDefinition>>,
    /// It is done for one row of another one: again and again, and a few rows of its own may be enough.
    pub is_for_a_row: bool,
    /// The settings of the session and its client.
    pub options: Options,
}

/// The settings of a session and its client that say how statements run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// innodb_lock_wait_timeout, seconds.
    pub lock_wait_timeout_s: u32,
    /// sql_select_limit.
    pub select_limit: u64,
    /// cte_max_recursion_depth.
    pub recursion_depth_max: u32,
    /// latsdb_stale_reads: where no view can follow any more, rows of this node are read though others may have
    /// changed them.
    pub reads_stale: bool,
    /// The way that joins take where there are two.
    pub joining: Joining,
    /// Left rows that a join matches together: a row for each KiB of join_buffer_size.
    pub batch_rows_max: usize,
    /// An AUTO_INCREMENT column draws a value where 0 is stored.
    pub zero_draws: bool,
    /// An UPDATE tells how many rows it found, not how many it changed.
    pub counts_found: bool,
}

/// The way of joins whose right rows may be looked up or gathered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Joining {
    /// By how many left rows come.
    Chosen,
    /// Always looked up: optimizer_switch has hash_join=off.
    LookedUp,
    /// Always gathered: optimizer_switch has batched_key_access=off.
    Gathered,
}

impl Statement {
    /// A SLEEP of it has begun.
    pub fn sleeps(&self) -> bool {
        self.volatile.as_ref().is_some_and(|volatile| volatile.wanted_us().is_some())
    }

    /// The same statement for something that is done for one row of it: values of the row stand in parameters.
    pub(crate) fn within(&self) -> Self {
        Self {
            parameters: self.parameters.clone(),
            settings: self.settings,
            is_strict: self.is_strict,
            connection_id: self.connection_id,
            last_insert_id: self.last_insert_id,
            database: self.database.clone(),
            user: Arc::clone(&self.user),
            volatile: None,
            table: None,
            is_for_a_row: true,
            options: self.options,
        }
    }

    /// The statement for a query whose values are stored; None: this one is right as it is. Only this one has a
    /// source of volatile functions.
    pub(crate) fn storing(&self) -> Option<Self> {
        let settings = self.store_settings();
        (settings != self.settings).then(|| Self {
            settings,
            is_for_a_row: self.is_for_a_row,
            ..self.within()
        })
    }

    /// Puts a value into a parameter.
    pub(crate) fn bind(&mut self, parameter: u16, value: Value) {
        if let Some(place) = self.parameters.get_mut(usize::from(parameter)) {
            *place = value;
        }
    }

    /// The context of its expressions.
    #[inline]
    pub fn context(&self) -> Context<'_> {
        self.context_of(self.settings)
    }

    /// The context of expressions whose values are about to be stored.
    #[inline]
    pub(crate) fn store_context(&self) -> Context<'_> {
        self.context_of(self.store_settings())
    }

    /// The settings of a write.
    pub fn store_settings(&self) -> Settings {
        let mut settings = self.settings;
        settings.sql_mode.strict = self.is_strict;
        settings
    }

    fn context_of(&self, settings: Settings) -> Context<'_> {
        Context {
            parameters: &self.parameters,
            connection_id: u64::from(self.connection_id),
            last_insert_id: self.last_insert_id,
            database: self.database.as_deref(),
            user: &self.user,
            volatile: self.volatile.as_deref(),
            ..Context::from_settings(settings)
        }
    }

    /// The context that goes with programs: expressions are folded before they leave, so parameters stay here.
    pub fn program_context(&self, settings: Settings) -> StatementContext {
        StatementContext { parameters: Vec::new(), settings }
    }

    /// An expression that another node may evaluate: what depends on this session only is a literal in it.
    pub fn folded(&self, expression: &Expression) -> Expression {
        self.folded_in(expression, &self.context())
    }

    /// The same, evaluated in `context`.
    pub(crate) fn folded_in(&self, expression: &Expression, context: &Context<'_>) -> Expression {
        let mut folded = fold_constants(expression, context);
        self.make_of_row(&mut folded, 0);
        folded
    }

    /// Makes volatile functions in a change of rows functions of the row; `place` tells expressions apart that were not
    /// bound together. An expression that is none of a row either stays, and is refused when it is evaluated.
    pub(crate) fn make_of_row(&self, expression: &mut Expression, place: u16) {
        let (Some(volatile), Some(table)) = (&self.volatile, &self.table) else {
            return;
        };
        let slot = |column: types::ColumnIndex| expression::ColumnSlot(column.0);
        let key: Vec<_> = table
            .primary_key()
            .iter()
            .map(|part| (slot(part.column), table.column_at(part.column).sql_type.clone()))
            .collect();
        let _ = expression.of_row(volatile.seed() ^ u64::from(place), &key);
    }

    /// The same for several.
    pub(crate) fn folded_all(&self, expressions: &[Expression]) -> Vec<Expression> {
        let context = self.context();
        expressions.iter().map(|expression| self.folded_in(expression, &context)).collect()
    }
}
