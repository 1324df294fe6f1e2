//! Prepared statements of the binary protocol.
//!
//! COM_STMT_PREPARE describes the text; the plan is made at the first execute, when the types of the parameters are
//! known, and again when they change or another schema is installed. Types are those that the client binds, made
//! canonical (all strings are one type), so that executions with values of different lengths share a plan.
//!
//! Invariants: `bound` was planned for exactly the types in `bound_types`, and is permitted: GRANT and REVOKE install
//! another schema, and SET ROLE forgets it.

use super::Session;
use super::running::TextSource;
use crate::cursor::{Cursor, Fetched};
use crate::environment::Environment;
use crate::results;
use crate::row_counts::LocalCounts;
use crate::session_core::SessionCore;
use crate::statement_cache::{CachedStatement, NEVER, checked_for};
use mysql_protocol::command;
use mysql_protocol::result::{EndPacket, RowFormat, StatementPrepared};
use mysql_protocol::{
    ColumnDefinition, ColumnFlags, ColumnType, CommandError, Execute, LongData, ParameterType,
    ParameterTypes, ParameterValue, StatusFlags,
};
use planner::normalize::text_parameter_type;
use protocol::SqlError;
use std::sync::Arc;
use stdx::FixedMap;
use types::{Collation, Date, DateTime, Decimal, IntegerWidth, SchemaVersion, SqlType, Time, Value};

/// Statements that one session may hold.
pub(super) const STATEMENTS_MAX: usize = 16_382;

/// One prepared statement.
pub(super) struct PreparedStatement {
    pub(super) text: Arc<str>,
    parameter_count: u16,
    types: ParameterTypes,
    long_data: LongData,
    /// The rows of its last execution, if it opened a cursor.
    cursor: Option<Cursor>,
    bound: Option<Arc<CachedStatement>>,
    bound_types: Vec<ParameterType>,
    /// The schema that `bound` is known to fit; `NEVER` if it was chosen by row counts.
    bound_schema: SchemaVersion,
}

/// Bytes of a statement besides its text, and of each of its parameters.
const STATEMENT_SIZE: usize = 256;
const PARAMETER_SIZE: usize = 16;

/// The prepared statements of a session, by id.
#[derive(Default)]
pub(super) struct PreparedStatements {
    by_id: FixedMap<u32, PreparedStatement>,
    last_id: u32,
    /// Bytes of all, values that were sent ahead included.
    size: usize,
}

impl PreparedStatements {
    pub(super) fn len(&self) -> usize {
        self.by_id.len()
    }

    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// The text that was prepared.
    pub(super) fn text(&self, id: u32) -> Option<Arc<str>> {
        self.by_id.get(&id).map(|statement| Arc::clone(&statement.text))
    }

    /// Keeps a statement; its id.
    fn insert(&mut self, statement: PreparedStatement) -> u32 {
        self.last_id = self.last_id.wrapping_add(1).max(1);
        self.size += statement.size();
        self.by_id.insert(self.last_id, statement);
        self.last_id
    }

    pub(super) fn forget_all(&mut self) {
        *self = Self { last_id: self.last_id, ..Self::default() };
    }

    pub(super) fn remove(&mut self, id: u32) {
        if let Some(statement) = self.by_id.remove(&id) {
            self.size -= statement.size();
        }
    }

    /// Other roles are active: each next execution asks again whether it may.
    pub(super) fn forget_plans(&mut self) {
        self.by_id.values_mut().for_each(|statement| statement.bound = None);
    }

    /// Changes what was sent ahead of a statement's execution; false if there is no such statement.
    fn change_long_data(&mut self, id: u32, change: impl FnOnce(&mut LongData)) -> bool {
        self.change(id, |statement| change(&mut statement.long_data)).is_some()
    }

    /// Changes what is kept of a statement, if there is one.
    fn change<T>(&mut self, id: u32, change: impl FnOnce(&mut PreparedStatement) -> T) -> Option<T> {
        let statement = self.by_id.get_mut(&id)?;
        self.size -= statement.size();
        let changed = change(statement);
        self.size += statement.size();
        Some(changed)
    }
}

impl PreparedStatement {
    fn size(&self) -> usize {
        let parameters = usize::from(self.parameter_count) * PARAMETER_SIZE;
        let kept = self.cursor.as_ref().map_or(0, Cursor::size);
        STATEMENT_SIZE + self.text.len() + parameters + self.long_data.size() + kept
    }
}

/// How a parameter is described before it is bound.
fn parameter_definition() -> ColumnDefinition<'static> {
    ColumnDefinition {
        schema: b"",
        table: b"",
        original_table: b"",
        name: b"?",
        original_name: b"",
        collation: mysql_protocol::charset::BINARY,
        length: 0,
        column_type: ColumnType::VarString,
        flags: ColumnFlags::BINARY,
        decimals: 0,
    }
}

/// The type that a plan is made for.
fn type_of(parameter: ParameterType, collation: Collation) -> SqlType {
    match parameter.column_type {
        ColumnType::Null => SqlType::Null,
        ColumnType::Tiny
        | ColumnType::Bool
        | ColumnType::Short
        | ColumnType::Year
        | ColumnType::Long
        | ColumnType::Int24
        | ColumnType::LongLong => SqlType::Integer { width: IntegerWidth::Big, unsigned: parameter.unsigned },
        ColumnType::Float | ColumnType::Double => SqlType::Double,
        ColumnType::Decimal | ColumnType::NewDecimal => {
            SqlType::Decimal { precision: Decimal::PRECISION_MAX, scale: Decimal::SCALE_MAX, unsigned: false }
        }
        ColumnType::Date | ColumnType::NewDate => SqlType::Date,
        ColumnType::DateTime | ColumnType::Timestamp | ColumnType::Timestamp2 | ColumnType::DateTime2 => {
            SqlType::DateTime { fraction: 6 }
        }
        ColumnType::Time | ColumnType::Time2 => SqlType::Time { fraction: 6 },
        ColumnType::TinyBlob
        | ColumnType::MediumBlob
        | ColumnType::LongBlob
        | ColumnType::Blob
        | ColumnType::Bit
        | ColumnType::Geometry
        | ColumnType::Vector => SqlType::VarBinary { length: 65_535 },
        ColumnType::VarChar
        | ColumnType::VarString
        | ColumnType::String
        | ColumnType::Json
        | ColumnType::Enum
        | ColumnType::Set => text_parameter_type(collation),
    }
}

/// A bound value; the wire may carry dates that do not exist.
fn value_of(value: ParameterValue<'_>) -> Result<Value, SqlError> {
    Ok(match value {
        ParameterValue::Null => Value::Null,
        ParameterValue::Int(number) => Value::Int(number),
        ParameterValue::UInt(number) => Value::UInt(number),
        ParameterValue::Float(number) => Value::Double(f64::from(number)),
        ParameterValue::Double(number) => Value::Double(number),
        ParameterValue::Bytes(bytes) => Value::Bytes(bytes.to_vec()),
        ParameterValue::Date(date) => {
            Value::Date(date_of(date.year, date.month, date.day).ok_or_else(|| incorrect("date"))?)
        }
        ParameterValue::DateTime(moment) => {
            let value = date_of(moment.year, moment.month, moment.day).and_then(|date| {
                let (hour, minute, second) = (moment.hour.into(), moment.minute.into(), moment.second.into());
                DateTime::new(date, hour, minute, second, moment.microsecond)
            });
            Value::DateTime(value.ok_or_else(|| incorrect("datetime"))?)
        }
        ParameterValue::Time(time) => {
            let hours = i64::from(time.days) * 24 + i64::from(time.hours);
            let seconds = hours * 3_600 + i64::from(time.minutes) * 60 + i64::from(time.seconds);
            // Days are any number that the client sent; the value ends at 838:59:59 anyway.
            let microseconds = seconds.saturating_mul(1_000_000).saturating_add(time.microseconds.into());
            Value::Time(Time::from_microseconds_clamped(if time.negative {
                -microseconds
            } else {
                microseconds
            }))
        }
    })
}

fn incorrect(kind: &str) -> SqlError {
    SqlError::new(1292, format!("Incorrect {kind} value in a parameter"))
}

/// A DECIMAL travels as text.
fn read_decimal(value: &mut Value) -> Result<(), SqlError> {
    let Value::Bytes(bytes) = value else { return Ok(()) };
    let decimal = Decimal::parse(bytes).filter(|(_, consumed)| *consumed == bytes.len());
    let (decimal, _) = decimal.ok_or_else(|| incorrect("DECIMAL"))?;
    *value = Value::Decimal(Box::new(decimal));
    Ok(())
}

fn date_of(year: u16, month: u8, day: u8) -> Option<Date> {
    Date::written(year.into(), month.into(), day.into())
}

pub(super) fn too_many_statements() -> SqlError {
    let message = format!(
        "Can't create more than max_prepared_stmt_count statements (current value: {STATEMENTS_MAX})"
    );
    SqlError::new(1461, message)
}

fn unknown_statement(id: u32, command: &str) -> SqlError {
    SqlError::new(1243, format!("Unknown prepared statement handler ({id}) given to {command}"))
}

impl Session {
    pub(super) fn on_prepare(&mut self, env: &mut Environment<'_>, text: &[u8]) {
        self.core.client.diagnostics.clear();
        if self.statements.len() + self.named_statements.count() >= STATEMENTS_MAX {
            return self.end_with_error(env, &too_many_statements());
        }
        let text = match planner::statement_text(text, self.core.variables.modes.text) {
            Ok(text) => text,
            Err(error) => return self.end_with_error(env, &error),
        };
        let text = text.trim_end().trim_end_matches(';');
        let description = match self.core.describe(env.module, text) {
            Ok(description) => description,
            Err(error) => return self.end_with_error(env, &error),
        };
        let parameter_count = u16::try_from(description.parameter_count).unwrap_or(u16::MAX);
        let statement = PreparedStatement {
            text: text.into(),
            parameter_count,
            types: ParameterTypes::new(),
            long_data: LongData::new(),
            cursor: None,
            bound: None,
            bound_types: Vec::new(),
            bound_schema: SchemaVersion(0),
        };
        let statement_id = self.statements.insert(statement);
        if let Err(error) = self.account(env) {
            self.statements.remove(statement_id);
            return self.end_with_error(env, &error);
        }
        let columns = &description.columns;
        self.core.reply(env, |writer, core| {
            let column_count = u16::try_from(columns.len()).unwrap_or(u16::MAX);
            writer.statement_prepared(&StatementPrepared {
                statement_id,
                column_count,
                parameter_count,
                warnings: 0,
            });
            if parameter_count > 0 {
                for _ in 0..parameter_count {
                    writer.column_definition(&parameter_definition());
                }
                writer.end_of_columns(core.capabilities, core.end_packet());
            }
            if column_count > 0 {
                let results = core.variables.result_collation();
                for column in columns.iter() {
                    results::with_definition(column, results, |shown| writer.column_definition(shown));
                }
                writer.end_of_columns(core.capabilities, core.end_packet());
            }
        });
    }

    pub(super) fn on_statement_reset(&mut self, env: &mut Environment<'_>, id: u32) {
        let reset = |statement: &mut PreparedStatement| {
            statement.long_data.clear();
            statement.cursor = None;
        };
        if self.statements.change(id, reset).is_none() {
            return self.end_with_error(env, &unknown_statement(id, "mysqld_stmt_reset"));
        }
        self.core.reply_ok(env, 0, 0, "");
        self.account_or_reject(env);
    }

    /// Has no answer, so an unknown statement is passed over.
    pub(super) fn on_long_data(&mut self, env: &mut Environment<'_>, id: u32, parameter: u16, data: &[u8]) {
        let size_max = self.core.variables.max_allowed_packet;
        self.statements.change_long_data(id, |long_data| long_data.append(parameter, data, size_max));
        if self.account(env).is_err() {
            self.statements.change_long_data(id, LongData::refuse_for_memory);
            self.account_or_reject(env);
        }
    }

    pub(super) fn on_execute(&mut self, env: &mut Environment<'_>, execute: &Execute<'_>) {
        self.execute_with(env, execute, |_, _| Ok(()));
    }

    /// COM_STMT_FETCH: the next rows of a cursor. It is closed when it has told that there are no more.
    pub(super) fn on_fetch(&mut self, env: &mut Environment<'_>, id: u32, row_count: u32) {
        env.module.statement_counts.count_fetch();
        let Some(mut cursor) = self.statements.change(id, |statement| statement.cursor.take()) else {
            return self.end_with_error(env, &unknown_statement(id, "mysqld_stmt_fetch"));
        };
        let Some(rows) = &mut cursor else {
            let message = format!("The statement ({id}) has no open cursor.");
            return self.end_with_error(env, &SqlError::new(1421, message));
        };
        let mut fetched = Fetched::All;
        self.core.reply(env, |writer, core| {
            fetched = rows.fetch(row_count, writer);
            let mark = match fetched {
                Fetched::All => StatusFlags::CURSOR_EXISTS,
                Fetched::End => StatusFlags::LAST_ROW_SENT,
            };
            let end = core.end_packet();
            writer.end_of_rows(core.capabilities, EndPacket { status: end.status | mark, ..end });
        });
        let cursor = cursor.filter(|_| fetched == Fetched::All);
        self.statements.change(id, |statement| statement.cursor = cursor);
        self.account_or_reject(env);
    }

    /// The statement has run: its rows wait until they are fetched.
    pub(super) fn open_cursor(
        &mut self,
        env: &mut Environment<'_>,
        id: u32,
        cursor: Cursor,
        cached: &CachedStatement,
    ) {
        self.statements.change(id, |statement| statement.cursor = Some(cursor));
        if let Err(error) = self.account(env) {
            self.statements.change(id, |statement| statement.cursor = None);
            return self.end_with_error(env, &error);
        }
        self.core.reply(env, |writer, core| {
            writer.append_frames(&cached.column_frames);
            let end = core.end_packet();
            let status = end.status | StatusFlags::CURSOR_EXISTS;
            writer.end_of_rows(core.capabilities, EndPacket { status, ..end });
        });
    }

    /// COM_STMT_EXECUTE; `read` brings each value into UTF-8.
    #[inline]
    pub(super) fn execute_with(
        &mut self,
        env: &mut Environment<'_>,
        execute: &Execute<'_>,
        read: impl Fn(ColumnType, &mut Value) -> Result<(), SqlError>,
    ) {
        env.module.counters.executions += 1;
        let id = execute.statement_id;
        let Some(statement) = self.statements.by_id.get_mut(&id) else {
            return self.end_with_error(env, &unknown_statement(id, "mysqld_stmt_execute"));
        };
        let long_data = std::mem::take(&mut statement.long_data);
        self.statements.size -= long_data.size();
        if let Some(cursor) = statement.cursor.take() {
            self.statements.size -= cursor.size();
        }
        let mut values = std::mem::take(&mut self.normalized.parameters);
        values.clear();
        let bound = statement.bind(&mut self.core, env, execute, (&long_data, read), &mut values);
        match bound {
            Err(ExecuteError::Command(error)) => {
                self.core.reply(env, |writer, _| writer.error(&error.packet()));
            }
            Err(ExecuteError::Sql(error)) => {
                self.core.client.diagnostics.clear();
                self.end_with_error(env, &error);
            }
            Ok(cached) => {
                let source = TextSource::Prepared(Arc::clone(&statement.text));
                if execute.cursor == command::Cursor::ReadOnly {
                    self.opening.wanted = Some(id);
                    self.begin(env, cached, values, RowFormat::Binary, source);
                    self.opening.wanted = None;
                    return;
                }
                if self.try_point(env, &cached, &values, RowFormat::Binary) {
                    self.normalized.parameters = values;
                    return;
                }
                self.begin(env, cached, values, RowFormat::Binary, source);
            }
        }
    }
}

impl PreparedStatement {
    /// Reads the values and finds the plan for their types.
    fn bind(
        &mut self,
        core: &mut SessionCore,
        env: &mut Environment<'_>,
        execute: &Execute<'_>,
        (long_data, read): (&LongData, impl Fn(ColumnType, &mut Value) -> Result<(), SqlError>),
        values: &mut Vec<Value>,
    ) -> Result<Arc<CachedStatement>, ExecuteError> {
        let count = self.parameter_count;
        let parameters = execute
            .parameters(count, &mut self.types, long_data, core.capabilities)
            .map_err(ExecuteError::Command)?;
        for parameter in parameters {
            let value = value_of(parameter.map_err(ExecuteError::Command)?);
            values.push(value.map_err(ExecuteError::Sql)?);
        }
        let types = self.types.as_slice().get(..usize::from(count)).unwrap_or_default();
        for (value, parameter) in values.iter_mut().zip(types) {
            read(parameter.column_type, value).map_err(ExecuteError::Sql)?;
            if matches!(parameter.column_type, ColumnType::Decimal | ColumnType::NewDecimal) {
                read_decimal(value).map_err(ExecuteError::Sql)?;
            }
        }
        let schema = env.module.site.map.schema.version;
        if let Some(bound) = &self.bound
            && self.bound_schema == schema
            && self.bound_types == types
            && !bound.prepared.reads_user_variables()
        {
            return Ok(Arc::clone(bound));
        }
        if let Some(bound) = &self.bound
            && self.bound_schema == NEVER
            && self.bound_types == types
            && bound.prepared.schema == schema
            && !bound.prepared.reads_user_variables()
            && bound.prepared.fits_rows(&LocalCounts::new(&env.module.site.map, &core.client))
        {
            return Ok(Arc::clone(bound));
        }
        let sql_types: Vec<SqlType> =
            types.iter().map(|parameter| type_of(*parameter, core.variables.collation)).collect();
        let planned =
            core.plan_of_prepared(env, &self.text, &sql_types, values).map_err(ExecuteError::Sql)?;
        self.bound_types = types.to_vec();
        self.bound_schema = checked_for(&planned.prepared, schema);
        self.bound = Some(Arc::clone(&planned));
        Ok(planned)
    }
}

/// Why an execute did not begin.
enum ExecuteError {
    Command(CommandError),
    Sql(SqlError),
}
