//! Commands: what each packet of the command phase asks for.
//!
//! Texts must be UTF-8. A COM_QUERY of several statements runs them one after the other, each with its own result; an
//! error ends the rest.

use super::{Session, Stage};
use crate::environment::Environment;

use crate::session::running::TextSource;
use mysql_protocol::Command;
use mysql_protocol::command::{MultiStatements, refresh};
use mysql_protocol::result::RowFormat;
use protocol::SqlError;
use std::collections::VecDeque;
use std::sync::Arc;

impl Session {
    pub(super) fn on_command(&mut self, env: &mut Environment<'_>, payload: &[u8]) {
        let command = match Command::parse(payload, self.core.capabilities) {
            Ok(command) => command,
            Err(error) => {
                self.core.reply(env, |writer, _| writer.error(&error.packet()));
                return;
            }
        };
        self.run_command(env, command);
    }

    /// Does what a command asks for.
    #[inline]
    pub(super) fn run_command(&mut self, env: &mut Environment<'_>, command: Command<'_>) {
        self.core.has_more_results = false;
        match command {
            Command::Query { text, .. } => self.on_query(env, text),
            Command::StatementExecute(execute) => self.on_execute(env, &execute),
            Command::StatementPrepare { text } => {
                env.module.statement_counts.count_prepare();
                self.on_prepare(env, text);
            }
            Command::StatementClose { statement_id } => {
                env.module.statement_counts.count_close();
                self.statements.remove(statement_id);
                self.account_or_reject(env);
            }
            Command::StatementReset { statement_id } => self.on_statement_reset(env, statement_id),
            Command::StatementSendLongData { statement_id, parameter, data } => {
                self.on_long_data(env, statement_id, parameter, data);
            }
            Command::StatementFetch { statement_id, row_count } => {
                self.on_fetch(env, statement_id, row_count);
            }
            Command::Ping => self.core.reply_ok(env, 0, 0, ""),
            Command::Quit => self.close(env),
            Command::InitDatabase { name } => self.on_init_database(env, name),
            Command::FieldList { table, wildcard } => self.on_field_list(env, table, wildcard),
            Command::Statistics => self.on_statistics(env),
            Command::Refresh { what } => self.on_refresh(env, what),
            Command::ProcessInfo => self.on_query(env, b"SHOW PROCESSLIST"),
            Command::ProcessKill { connection_id } => self.begin_text(env, &format!("KILL {connection_id}")),
            Command::Debug => self.core.reply(env, |writer, core| writer.eof(core.end_packet())),
            Command::ChangeUser(request) => self.on_change_user(env, &request),
            Command::ResetConnection => {
                self.core.reset(env);
                self.stage = self.stage_of_ready();
                self.forget_statements();
                self.account_or_reject(env);
                self.core.reply_ok(env, 0, 0, "");
            }
            Command::SetOption(option) => {
                self.multi_statements = option == MultiStatements::On;
                self.core.reply(env, |writer, core| writer.end_of_rows(core.capabilities, core.end_packet()));
            }
        }
    }

    fn on_query(&mut self, env: &mut Environment<'_>, text: &[u8]) {
        let text = match planner::statement_text(text, self.core.variables.modes.text) {
            Ok(text) => text,
            Err(error) => return self.core.reply_error(env, &error),
        };
        let text = text.as_ref();
        env.module.counters.queries += 1;
        if !text.contains(';') {
            return self.begin_text(env, text);
        }
        let statements = planner::split_statements(text, self.core.variables.modes.text);
        match statements.as_slice() {
            [] => self.begin_text(env, text),
            [only] => self.begin_text(env, only),
            [first, rest @ ..] if self.multi_statements => {
                self.queue = rest.iter().map(|statement| (*statement).to_owned()).collect::<VecDeque<_>>();
                if let Err(error) = self.account(env) {
                    return self.end_with_error(env, &error);
                }
                self.core.has_more_results = true;
                self.begin_text(env, first);
                self.run_queue(env);
            }
            // Without the capability it is one statement with a semicolon in it: a syntax error that quotes it.
            _ => self.begin_text(env, text),
        }
    }

    /// Begins a text statement: answers it at once if it can, else it runs.
    pub(super) fn begin_text(&mut self, env: &mut Environment<'_>, text: &str) {
        if text.trim().is_empty() {
            return self.end_with_error(env, &SqlError::new(1065, "Query was empty"));
        }
        let mut normalized = std::mem::take(&mut self.normalized);
        let planned = self.core.plan_of(env, text, &mut normalized);
        match planned {
            Ok(cached) => {
                let is_answered = self.try_point(env, &cached, &normalized.parameters, RowFormat::Text);
                if !is_answered {
                    let parameters = std::mem::take(&mut normalized.parameters);
                    self.normalized = normalized;
                    self.begin(env, cached, parameters, RowFormat::Text, TextSource::Text(text.into()));
                    return;
                }
                self.normalized = normalized;
            }
            Err(error) => {
                self.normalized = normalized;
                self.core.client.diagnostics.clear();
                self.end_with_error(env, &error);
            }
        }
    }

    /// Runs what is left of a COM_QUERY until a statement waits or the budget is spent. A loop, so that many short
    /// statements do not nest.
    pub(super) fn run_queue(&mut self, env: &mut Environment<'_>) {
        while self.is_ready() && !self.is_held_up() {
            if env.budget.is_spent() && !self.queue.is_empty() {
                return self.later(env);
            }
            let Some(text) = self.queue.pop_front() else { return };
            env.budget.spend(1);
            self.core.has_more_results = !self.queue.is_empty();
            self.begin_text(env, &text);
        }
    }

    /// Reports an error and drops the rest of the COM_QUERY.
    pub(super) fn end_with_error(&mut self, env: &mut Environment<'_>, error: &SqlError) {
        self.queue.clear();
        self.core.has_more_results = false;
        self.core.row_count = -1;
        self.core.client.diagnostics.error(error);
        self.core.reply_error(env, error);
    }

    fn on_init_database(&mut self, env: &mut Environment<'_>, name: &[u8]) {
        let name = String::from_utf8_lossy(name).into_owned();
        self.core.client.diagnostics.clear();
        match self.core.use_database(env, &name) {
            Ok(()) => self.core.reply_ok(env, 0, 0, ""),
            Err(error) => self.end_with_error(env, &error),
        }
    }

    /// COM_FIELD_LIST: what completion in old clients asks for.
    fn on_field_list(&mut self, env: &mut Environment<'_>, table: &[u8], wildcard: &[u8]) {
        let table = String::from_utf8_lossy(table).into_owned();
        let schema = Arc::clone(&env.module.site.map.schema);
        let database = self.core.database.clone().unwrap_or_else(|| "".into());
        self.core.renew_rights(env.module);
        let own = self.core.client.transaction.own();
        let own = own.and_then(|own| own.named().table(&database, &table)).cloned();
        let is_free = own.is_some() || planner::privileges::is_free(&database, &table);
        let rights = self.core.rights.set();
        if !is_free && !rights.sees_table(&database, &table) {
            let account = (&*self.core.account.0, &*self.core.account.1);
            let error = planner::privileges::denied("SELECT", &table, account);
            return self.end_with_error(env, &error);
        }
        let definition = own
            .or_else(|| schema.table(&database, &table).cloned())
            .or_else(|| schema.view(&database, &table).map(|view| Arc::clone(&view.table)))
            .or_else(|| crate::show::known_tables::definition(&database, &table.to_lowercase()));
        let Some(definition) = definition else {
            let error = SqlError::new(1146, format!("Table '{database}.{table}' doesn't exist"));
            return self.end_with_error(env, &error);
        };
        let pattern =
            if wildcard.is_empty() { None } else { Some(String::from_utf8_lossy(wildcard).into_owned()) };
        let mut columns = crate::show::field_list(&definition, pattern.as_deref());
        let rights = self.core.rights.set();
        columns.retain(|(column, _)| is_free || rights.sees_column(&database, &table, &column.original_name));
        self.core.reply(env, |writer, core| {
            for (column, default) in &columns {
                let default = default.as_ref().map(String::as_bytes);
                crate::results::with_definition(column, core.variables.result_collation(), |shown| {
                    writer.column_definition_with_default(shown, default);
                });
            }
            writer.end_of_rows(core.capabilities, core.end_packet());
        });
    }

    /// COM_REFRESH: FLUSH of what its bits name, with the privilege and the answer of that.
    fn on_refresh(&mut self, env: &mut Environment<'_>, what: u8) {
        const PARTS: [(u8, &str); 5] = [
            (refresh::PRIVILEGES, "PRIVILEGES"),
            (refresh::LOGS, "LOGS"),
            (refresh::TABLES, "TABLES"),
            (refresh::HOSTS, "HOSTS"),
            (refresh::STATUS, "STATUS"),
        ];
        let is_asked = |bit: u8| what & bit != 0;
        if is_asked(refresh::MASTER | refresh::REPLICA) {
            let verb = if is_asked(refresh::MASTER) { "RESET MASTER" } else { "RESET REPLICA" };
            return self.begin_text(env, verb);
        }
        let parts: Vec<&str> =
            PARTS.iter().filter(|(bit, _)| is_asked(*bit)).map(|(_, part)| *part).collect();
        // The other bits are of caches that are not there.
        let parts = if parts.is_empty() { "HOSTS".to_owned() } else { parts.join(", ") };
        self.begin_text(env, &format!("FLUSH {parts}"));
    }

    fn on_statistics(&mut self, env: &mut Environment<'_>) {
        let counters = env.module.counters;
        let (uptime_s, questions) = (env.module.uptime_s(env.now), counters.questions());
        // Three decimals, as MySQL has them.
        let thousandths = questions.saturating_mul(1_000) / uptime_s.max(1);
        let (connected, tables) = (counters.connected, env.module.site.map.tables.len());
        let text = format!(
            "Uptime: {uptime_s}  Threads: {connected}  Questions: {questions}  Slow queries: 0  Opens: 0  Flush tables: 0  \
             Open tables: {tables}  Queries per second avg: {}.{:03}",
            thousandths / 1_000,
            thousandths % 1_000,
        );
        self.core.reply(env, |writer, _| writer.append_payload(text.as_bytes()));
    }

    fn on_change_user(
        &mut self,
        env: &mut Environment<'_>,
        request: &mysql_protocol::command::ChangeUser<'_>,
    ) {
        let Some(mut handshake) = self.login.handshake.take() else { return self.close(env) };
        // The number of the command is one below that of the reply.
        let step = handshake.on_change_user(self.core.sequence.wrapping_sub(1), request);
        self.login.handshake = Some(handshake);
        self.core.reset(env);
        self.forget_statements();
        self.leave_account(env);
        self.stage = Stage::Handshake;
        self.await_login(env);
        self.on_handshake_step(env, Ok(step));
    }
}
