//! System variables: what `@@name`, SHOW VARIABLES and SET know.
//!
//! `variables/table.rs` lists them all with their defaults and what SET may do to them. A session holds the few that
//! the engine reads often as fields ([`SessionVariables`]); everything else that was set is kept by name. A variable
//! that has no effect here is accepted only if that is harmless (`net_write_timeout`), and refused where a client would
//! be misled (`transaction_isolation = SERIALIZABLE`).
//!
//! Invariants: the fields and the values shown agree; a failed SET changes nothing.
//!
//! Globals come from the configuration of the node, and from SET GLOBAL: that is a DDL job, so every node has them
//! (`types::Schema::variables`) before the statement is answered. Sessions that exist keep the values that they began
//! with, as in MySQL.
//!
//! Deliberately not here: how a SET runs (`session::control`).
#![expect(clippy::wildcard_enum_match_arm, reason = "a value of another kind is refused")]

mod character_sets;
mod locales;
mod sql_mode;
mod table;
#[cfg(test)]
mod tests;
mod user;

use table::DURABILITY;
pub(crate) use table::{Definition, Kind, TABLE, VERSION, definition};
pub(crate) use user::UserVariables;

use executor::Joining;
use expression::SqlMode;
use expression::aggregate::GROUP_CONCAT_SIZE_MAX;
use locales::LOCALES;
use mysql_protocol::StatusFlags;
use planner::TextModes;
use planner::plan::Reach;
use protocol::SqlError;
use std::collections::BTreeMap;
use std::sync::Arc;
use types::{CharacterSet, Collation, GlobalVariable, IntegerWidth, SqlType, Value};

/// Global values that the node's configuration says, by name: the others are what the table has.
pub type Globals = BTreeMap<&'static str, String>;

/// The variables of one session.
#[derive(Clone, Debug)]
pub(crate) struct SessionVariables {
    /// autocommit.
    pub(crate) autocommit: bool,
    /// Seconds east of UTC; None: SYSTEM, which is UTC.
    pub(crate) time_zone: Option<i32>,
    /// How long things may take.
    pub(crate) timeouts: Timeouts,
    /// sql_mode.
    pub(crate) modes: Modes,
    /// The status flags that variables say: AUTOCOMMIT, NO_BACKSLASH_ESCAPES.
    pub(crate) status: StatusFlags,
    /// All that a shareable plan depends on besides its text, its parameters' types, the database and the schema: a
    /// cache keeps one per text *and* this.
    pub(crate) bind_key: u64,
    /// group_concat_max_len.
    pub(crate) group_concat_size_max: u32,
    /// max_allowed_packet, bytes.
    pub(crate) max_allowed_packet: usize,

    /// How much a statement may give, repeat or change.
    pub(crate) limits: Limits,
    /// Whether transactions may change nothing.
    pub(crate) read_only: ReadOnly,
    /// latsdb_stale_reads: where no view can follow any more, rows of this node are read though others may have changed
    /// them.
    pub(crate) reads_stale: bool,
    /// durability: commits are answered when they are durable.
    pub(crate) awaits_durable: bool,
    /// A fixed `timestamp`, microseconds since 1970.
    pub(crate) timestamp: Option<u64>,
    /// collation_connection.
    pub(crate) collation: Collation,
    /// character_set_client.
    pub(crate) client: CharacterSet,
    /// character_set_results; None: NULL, or binary.
    pub(crate) results: Option<CharacterSet>,
    /// collation_server.
    pub(crate) server_collation: Collation,
    /// The values that were set, by name.
    changed: BTreeMap<&'static str, Value>,
    /// When the session began.
    globals: Arc<Globals>,
    /// Now.
    newest: Arc<Globals>,
}

/// How long a session lets things take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timeouts {
    /// innodb_lock_wait_timeout.
    pub(crate) lock_wait_s: u32,
    /// lock_wait_timeout: how long DDL waits.
    pub(crate) ddl_wait_s: u32,
    /// wait_timeout or interactive_timeout.
    pub(crate) idle_s: u32,
    /// net_read_timeout.
    pub(crate) read_s: u32,
    /// net_write_timeout.
    pub(crate) write_s: u32,
    /// max_execution_time; 0 is for ever.
    pub(crate) execution_ms_max: u32,
}

/// Whether transactions may change nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReadOnly {
    /// transaction_read_only.
    pub(crate) session: bool,
    /// SET TRANSACTION READ ONLY or READ WRITE: of the next transaction only.
    pub(crate) next: Option<bool>,
}

impl ReadOnly {
    /// Whether a transaction that begins is read only: as it asks for itself, else as was set for the next one, else as
    /// the session is.
    pub(crate) fn take(&mut self, asked: Option<bool>) -> bool {
        let next = self.next.take();
        asked.or(next).unwrap_or(self.session)
    }
}

impl Timeouts {
    /// MySQL's.
    const DEFAULT: Self = Self {
        lock_wait_s: 50,
        ddl_wait_s: 31_536_000,
        idle_s: 28_800,
        read_s: 30,
        write_s: 60,
        execution_ms_max: 0,
    };
}

/// How much a statement may give, repeat or change.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// sql_select_limit.
    pub(crate) select: u64,
    /// cte_max_recursion_depth.
    pub(crate) recursion_depth: u32,
    /// optimizer_switch, the part that is about joins.
    pub(crate) joining: Joining,
    /// Left rows that a join matches together: a row for each KiB of join_buffer_size.
    pub(crate) batch_rows: usize,
    /// sql_safe_updates: UPDATE and DELETE name a key or have LIMIT.
    pub(crate) updates_safely: bool,
}

/// The modes that sql_mode names.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Modes {
    /// A STRICT mode.
    pub(crate) is_strict: bool,
    /// Those that evaluation depends on.
    pub(crate) evaluation: SqlMode,
    /// Those that say how texts are read.
    pub(crate) text: TextModes,
    /// NO_AUTO_VALUE_ON_ZERO.
    pub(crate) no_auto_value_on_zero: bool,
    /// ONLY_FULL_GROUP_BY.
    pub(crate) only_full_group_by: bool,
}

/// Bytes of a global value: every node keeps it.
const GLOBAL_SIZE_MAX: usize = 65_535;

/// MySQL 8's default sql_mode.
pub(crate) const SQL_MODE_DEFAULT: &str = "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION";

impl Default for SessionVariables {
    fn default() -> Self {
        let mut variables = Self {
            autocommit: true,
            time_zone: None,
            timeouts: Timeouts::DEFAULT,
            modes: Modes::of(SQL_MODE_DEFAULT),
            status: StatusFlags::EMPTY,
            bind_key: 0,

            group_concat_size_max: GROUP_CONCAT_SIZE_MAX,

            max_allowed_packet: 64 << 20,

            limits: Limits {
                select: u64::MAX,
                recursion_depth: 1_000,
                joining: Joining::Chosen,
                batch_rows: 256,
                updates_safely: false,
            },
            read_only: ReadOnly::default(),
            reads_stale: false,
            awaits_durable: false,
            timestamp: None,
            collation: Collation::Utf8mb40900AiCi,
            client: CharacterSet::Utf8mb4,
            results: Some(CharacterSet::Utf8mb4),
            server_collation: Collation::Utf8mb40900AiCi,
            changed: BTreeMap::new(),
            globals: Arc::default(),
            newest: Arc::default(),
        };

        variables.derive();
        variables
    }
}

/// The scope of a value that is asked for or set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Scope {
    /// `@@session.x`, `@@x`.
    Session,
    /// `@@global.x`.
    Global,
}

/// The values that sessions begin with: those of the configuration, and those of SET GLOBAL since.
pub(crate) fn globals(configured: &Globals, set: &BTreeMap<String, GlobalVariable>) -> Globals {
    let mut globals = configured.clone();
    for (name, variable) in set {
        if let (Some(definition), Some(value)) = (definition(name), &variable.value) {
            globals.insert(definition.name, value.clone());
        }
    }
    let configured = configured.get("durability").map_or("memory", String::as_str);
    // A value that was set may be older than the configuration.
    let set = globals.get("durability").map(String::as_str).filter(|_| !is_diskless(&globals));
    let strongest = set.into_iter().chain([configured]).max_by_key(|mode| strength(mode));
    let strongest = strongest.unwrap_or(configured).to_owned();
    globals.extend([("durability", strongest), (CONFIGURED_DURABILITY, configured.to_owned())]);
    globals
}

/// The data nodes keep no redo log.
fn is_diskless(globals: &Globals) -> bool {
    globals.get("latsdb_diskless").is_none_or(|value| value != "OFF")
}

/// The variable that says what config.ini says.
const CONFIGURED_DURABILITY: &str = "latsdb_durability";

/// The order of the values of `durability`.
fn strength(mode: &str) -> usize {
    DURABILITY.iter().position(|known| *known == mode).unwrap_or(0)
}

fn check_settable(definition: &Definition) -> Result<(), SqlError> {
    if definition.is_settable {
        return Ok(());
    }
    Err(SqlError::new(1238, format!("Variable '{}' is a read only variable", definition.name)))
}

fn unknown(name: &str) -> SqlError {
    SqlError::new(1193, format!("Unknown system variable '{name}'"))
}

fn wrong_value(name: &str, value: &Value) -> SqlError {
    SqlError::new(1231, format!("Variable '{name}' can't be set to the value of '{}'", shown(value)))
}

fn wrong_type(name: &str) -> SqlError {
    SqlError::new(1232, format!("Incorrect argument type to variable '{name}'"))
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::Bytes(text) => String::from_utf8_lossy(text).into_owned(),
        Value::Int(number) => number.to_string(),
        Value::UInt(number) => number.to_string(),
        Value::Double(number) => number.to_string(),
        Value::Decimal(decimal) => decimal.to_string(),
        Value::Date(date) => date.to_string(),
        Value::Time(time) => time.to_string(),
        Value::DateTime(moment) => moment.to_string(),
    }
}

/// A value that may be a number or its text.
fn number_of(value: &Value) -> Option<i128> {
    match value {
        Value::Int(number) => Some(i128::from(*number)),
        Value::UInt(number) => Some(i128::from(*number)),
        Value::Decimal(decimal) => decimal.to_i64().map(i128::from),
        Value::Bytes(text) => std::str::from_utf8(text).ok()?.trim().parse().ok(),
        Value::Null | Value::Double(_) | Value::Date(_) | Value::Time(_) | Value::DateTime(_) => None,
    }
}

/// Whether the value of a switch is ON.
pub(crate) fn is_on(value: &Value) -> bool {
    bool_of(value) == Some(true)
}

fn bool_of(value: &Value) -> Option<bool> {
    match value {
        Value::Bytes(text) => match text.to_ascii_lowercase().as_slice() {
            b"on" | b"true" | b"yes" | b"1" => Some(true),
            b"off" | b"false" | b"no" | b"0" => Some(false),
            _ => None,
        },
        _ => match number_of(value)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        },
    }
}

/// '+05:30' as seconds; SYSTEM and UTC are None and 0.
pub(crate) fn time_zone_offset(text: &str) -> Result<Option<i32>, SqlError> {
    let refused = || SqlError::new(1298, format!("Unknown or incorrect time zone: '{text}'"));
    if text.eq_ignore_ascii_case("SYSTEM") {
        return Ok(None);
    }
    if text.eq_ignore_ascii_case("UTC") || text.eq_ignore_ascii_case("Etc/UTC") {
        return Ok(Some(0));
    }
    let (sign, rest) = match text.as_bytes() {
        [b'+', ..] => (1, &text[1..]),
        [b'-', ..] => (-1, &text[1..]),
        _ => return Err(refused()),
    };
    let (hours, minutes) = rest.split_once(':').ok_or_else(refused)?;
    let digits =
        |part: &str| part.len() <= 2 && !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(hours) || !digits(minutes) {
        return Err(refused());
    }
    let (hours, minutes): (i32, i32) =
        (hours.parse().map_err(|_| refused())?, minutes.parse().map_err(|_| refused())?);
    let seconds = sign * (hours * 3_600 + minutes * 60);
    if minutes > 59 || !(-13 * 3_600 - 59 * 60..=14 * 3_600).contains(&seconds) {
        return Err(refused());
    }
    Ok(Some(seconds))
}

impl SessionVariables {
    /// Computes what follows from the other fields, so that no statement has to.
    fn derive(&mut self) {
        self.status = StatusFlags::given(StatusFlags::AUTOCOMMIT, self.autocommit)
            | StatusFlags::given(StatusFlags::NO_BACKSLASH_ESCAPES, self.modes.text.no_backslash_escapes);
        self.bind_key = self.derived_bind_key();
    }

    fn derived_bind_key(&self) -> u64 {
        let SqlMode {
            strict,
            error_for_division_by_zero,
            no_unsigned_subtraction,
            no_zero_date,
            no_zero_in_date,
            allow_invalid_dates,
        } = self.modes.evaluation;
        let flags = [
            strict,
            error_for_division_by_zero,
            no_unsigned_subtraction,
            no_zero_date,
            no_zero_in_date,
            allow_invalid_dates,
            self.modes.only_full_group_by,
        ];
        let flags = flags.into_iter().fold(0_u64, |bits, flag| bits << 1 | u64::from(flag));
        let text = self.modes.text.bits() << 24;
        u64::from(self.group_concat_size_max) << 32 | text | self.character_key() << 8 | flags
    }

    /// SET TRANSACTION READ ONLY or READ WRITE; the default is the session's.
    pub(crate) fn set_next_read_only(&mut self, value: Option<&Value>) -> Result<(), SqlError> {
        let wrong = || SqlError::new(1232, "Incorrect argument type to variable 'transaction_read_only'");
        self.read_only.next = value.map(|value| bool_of(value).ok_or_else(wrong)).transpose()?;
        Ok(())
    }

    /// Seconds east of UTC.
    pub(crate) fn time_zone_offset(&self) -> i32 {
        self.time_zone.unwrap_or(0)
    }

    /// Those of a session that nothing was set in.
    pub(crate) fn new(globals: &Arc<Globals>) -> Self {
        let mut variables =
            Self { globals: Arc::clone(globals), newest: Arc::clone(globals), ..Self::default() };
        for (name, text) in globals.iter() {
            if let Some(definition) = definition(name)
                && matches!(definition.reach, Reach::Both | Reach::Begin)
            {
                // Its value was checked when it was set, or came from the configuration.
                let _ = variables.apply(name, &definition.value_of(text));
            }
        }
        variables
    }

    /// SET GLOBAL has changed something.
    pub(crate) fn follow(&mut self, newest: &Arc<Globals>) {
        self.newest = Arc::clone(newest);
    }

    /// The value before any SET.
    fn global(&self, definition: &Definition, scope: Scope) -> Value {
        let globals = match (scope, definition.reach) {
            (Scope::Session, Reach::Both | Reach::Begin | Reach::Session) => &self.globals,
            (Scope::Session, Reach::Global) | (Scope::Global, _) => &self.newest,
        };
        definition.value_of(globals.get(definition.name).map_or(definition.default, String::as_str))
    }

    /// The value of a variable and its type; None if there is no such variable.
    pub(crate) fn get(&self, name: &str, scope: Scope) -> Option<(Value, SqlType)> {
        let definition = definition(name)?;
        let own = match scope {
            Scope::Session => self.changed.get(definition.name),
            Scope::Global => None,
        };
        let value = own.cloned().unwrap_or_else(|| self.global(definition, scope));
        Some((value, definition.sql_type()))
    }

    /// The value as SHOW VARIABLES prints it.
    pub(crate) fn text(&self, definition: &Definition, scope: Scope) -> String {
        let own = match scope {
            Scope::Session => self.changed.get(definition.name),
            Scope::Global => None,
        };
        let value = own.cloned().unwrap_or_else(|| self.global(definition, scope));
        if matches!(definition.kind, Kind::Bool) {
            return if bool_of(&value) == Some(true) { "ON".to_owned() } else { "OFF".to_owned() };
        }
        if value.is_null() { String::new() } else { shown(&value) }
    }

    /// SET name = value (None: DEFAULT).
    pub(crate) fn set(&mut self, name: &str, value: Option<&Value>) -> Result<(), SqlError> {
        let definition = definition(name).ok_or_else(|| unknown(name))?;
        check_settable(definition)?;
        let name = definition.name;
        match definition.reach {
            Reach::Both | Reach::Session => {}
            Reach::Begin => {
                let message =
                    format!("SESSION variable '{name}' is read-only. Use SET GLOBAL to assign the value");
                return Err(SqlError::new(1621, message));
            }
            Reach::Global => {
                let message =
                    format!("Variable '{name}' is a GLOBAL variable and should be set with SET GLOBAL");
                return Err(SqlError::new(1229, message));
            }
        }
        let default = self.global(definition, Scope::Global);
        let value = self.checked(definition, value.unwrap_or(&default))?;
        self.apply(definition.name, &value)?;
        self.set_companion(definition.name, &value);
        self.changed.insert(definition.name, value);
        Ok(())
    }

    /// SET GLOBAL (None: DEFAULT): the variable, and its new value as text.
    pub(crate) fn global_value(
        &self,
        name: &str,
        value: Option<&Value>,
    ) -> Result<(&'static str, String), SqlError> {
        let definition = definition(name).ok_or_else(|| unknown(name))?;
        check_settable(definition)?;
        let name = definition.name;
        if definition.reach == Reach::Session {
            let message =
                format!("Variable '{name}' is a SESSION variable and can't be used with SET GLOBAL");
            return Err(SqlError::new(1228, message));
        }
        let configured = self.globals.get(CONFIGURED_DURABILITY).filter(|_| name == "durability");
        let default = definition.value_of(configured.map_or(definition.default, String::as_str));
        let value = self.checked(definition, value.unwrap_or(&default))?;
        let text = match (definition.kind, value) {
            (_, Value::Null) => return Err(wrong_value(name, &Value::Null)),
            (Kind::Bool, value) => if is_on(&value) { "ON" } else { "OFF" }.to_owned(),
            (_, value) => shown(&value),
        };
        if text.len() > GLOBAL_SIZE_MAX {
            return Err(wrong_value(name, &Value::text(&text)));
        }
        Ok((name, text))
    }

    /// The value as the variable keeps it, if it may have it.
    fn checked(&self, definition: &Definition, value: &Value) -> Result<Value, SqlError> {
        let name = definition.name;
        let text = || match value {
            Value::Bytes(text) => String::from_utf8(text.clone()).map_err(|_| wrong_value(name, value)),
            _ => Err(wrong_type(name)),
        };
        match definition.kind {
            Kind::Bool => match bool_of(value) {
                Some(is_on) => Ok(Value::Int(i64::from(is_on))),
                None => Err(wrong_value(name, value)),
            },
            Kind::Integer { minimum, maximum } => {
                let Some(number) = number_of(value) else { return Err(wrong_type(name)) };
                let number = number.clamp(i128::from(minimum), i128::from(maximum));
                let number = if name == "max_allowed_packet" { number / 1024 * 1024 } else { number };
                Ok(Value::UInt(u64::try_from(number).unwrap_or(0)))
            }
            Kind::Double => match value {
                Value::Double(number) => Ok(Value::Double(*number)),
                Value::Decimal(decimal) => Ok(Value::Double(decimal.to_f64())),
                _ => match number_of(value) {
                    Some(number) => Ok(Value::Double(i64::try_from(number).unwrap_or(0) as f64)),
                    None => Err(wrong_type(name)),
                },
            },
            Kind::Text => match value {
                Value::Null => Ok(Value::Null),
                _ => Ok(Value::text(&text()?)),
            },
            Kind::Choice(choices) => {
                let by_number =
                    number_of(value).and_then(|number| choices.get(usize::try_from(number).ok()?));
                let chosen = match by_number {
                    Some(choice) => Some(choice),
                    None => {
                        let text = text()?;
                        choices.iter().find(|choice| choice.eq_ignore_ascii_case(&text))
                    }
                };
                let chosen =
                    chosen.map(|choice| Value::text(choice)).ok_or_else(|| wrong_value(name, value))?;
                if name == "durability" {
                    self.check_durability(&chosen)?;
                }
                Ok(chosen)
            }
            Kind::SqlMode => checked_sql_mode(value).map(|modes| Value::text(&modes)),
            Kind::TimeZone => {
                let text = text()?;
                time_zone_offset(&text)?;
                Ok(Value::text(&text))
            }
            Kind::CharacterSet => match (value, number_of(value)) {
                (Value::Null, _) if name == "character_set_results" => Ok(Value::Null),
                (Value::Null, _) => Err(wrong_value(name, value)),
                (_, Some(id)) => {
                    character_sets::checked(name, character_sets::numbered_collation(id)?.character_set())
                }
                _ => character_sets::checked(name, &text()?),
            },
            Kind::Collation => match number_of(value) {
                Some(id) => character_sets::numbered_collation(id),
                None => planner::named_collation(&text()?),
            }
            .map(|collation| Value::text(collation.name())),
            Kind::Locale => checked_locale(name, value).map(Value::text),
            Kind::Isolation => checked_isolation(&text()?).map(|()| Value::text("READ-COMMITTED")),
        }
    }

    /// `durability` needs a redo log. Nobody has less than the configuration says, and only it can say `fsync`.
    fn check_durability(&self, chosen: &Value) -> Result<(), SqlError> {
        let configured = self.globals.get(CONFIGURED_DURABILITY).map_or("memory", String::as_str);
        let mode = shown(chosen);
        if mode != "memory" && self.is_diskless() {
            return Err(SqlError::unsupported(
                "durability other than 'memory' while data nodes are Diskless",
            ));
        }
        let is_less = strength(&mode) < strength(configured);
        if is_less || mode == "fsync" && configured != "fsync" {
            return Err(wrong_value("durability", chosen));
        }
        Ok(())
    }

    /// The data nodes keep no redo log: there is nothing to wait for.
    pub(crate) fn is_diskless(&self) -> bool {
        is_diskless(&self.globals)
    }

    /// Brings the fields in line with a value that was checked.
    fn apply(&mut self, name: &str, value: &Value) -> Result<(), SqlError> {
        let integer = || number_of(value).unwrap_or(0);
        let narrow = |number: i128| u32::try_from(number).unwrap_or(u32::MAX);
        match name {
            "autocommit" => self.autocommit = bool_of(value) == Some(true),
            "time_zone" => self.time_zone = time_zone_offset(&shown(value))?,
            "innodb_lock_wait_timeout" => self.timeouts.lock_wait_s = narrow(integer()),
            "lock_wait_timeout" => self.timeouts.ddl_wait_s = narrow(integer()),
            "wait_timeout" => self.timeouts.idle_s = narrow(integer()),
            "net_read_timeout" => self.timeouts.read_s = narrow(integer()),
            "net_write_timeout" => self.timeouts.write_s = narrow(integer()),
            "max_allowed_packet" => {
                self.max_allowed_packet = usize::try_from(integer()).unwrap_or(usize::MAX);
            }
            "max_execution_time" => self.timeouts.execution_ms_max = narrow(integer()),
            "cte_max_recursion_depth" => self.limits.recursion_depth = narrow(integer()),
            "join_buffer_size" => self.limits.batch_rows = batch_rows(integer()),
            "sql_select_limit" => self.limits.select = u64::try_from(integer()).unwrap_or(u64::MAX),
            "transaction_read_only" | "tx_read_only" => self.read_only.session = bool_of(value) == Some(true),
            "durability" => self.awaits_durable = shown(value) != "memory" && !self.is_diskless(),
            "sql_safe_updates" => self.limits.updates_safely = bool_of(value) == Some(true),
            "latsdb_stale_reads" => self.reads_stale = bool_of(value) == Some(true),
            "optimizer_switch" => self.limits.joining = joining(&shown(value)),
            "sql_mode" => self.modes = Modes::of(&shown(value)),
            "group_concat_max_len" => self.group_concat_size_max = narrow(integer()),
            "timestamp" => self.timestamp = fixed_timestamp(value),
            "collation_connection" => {
                self.collation = Collation::by_name(&shown(value)).unwrap_or(self.collation);
            }
            "character_set_connection" => {
                self.collation = self.default_of(&shown(value)).unwrap_or(self.collation);
            }
            "collation_server" => {
                self.server_collation = Collation::by_name(&shown(value)).unwrap_or(self.server_collation);
            }
            "character_set_server" => {
                self.server_collation = self.default_of(&shown(value)).unwrap_or(self.server_collation);
            }
            "character_set_client" => {
                self.client = CharacterSet::by_name(&shown(value)).unwrap_or(self.client);
            }
            "character_set_results" => {
                let set = CharacterSet::by_name(&shown(value));
                self.results = set.filter(|set| *set != CharacterSet::Binary);
            }
            _ => {}
        }
        self.derive();
        Ok(())
    }
}

/// Left rows that are matched together with a join_buffer_size.
fn batch_rows(join_buffer_size: i128) -> usize {
    const BATCH_ROWS_MAX: usize = 4_096;
    usize::try_from(join_buffer_size / 1_024).unwrap_or(usize::MAX).clamp(1, BATCH_ROWS_MAX)
}

/// The way that is left to joins whose right rows may be looked up or gathered.
fn joining(switches: &str) -> Joining {
    let has = |switch: &str| switches.split(',').any(|part| part.trim().eq_ignore_ascii_case(switch));
    if has("hash_join=off") {
        Joining::LookedUp
    } else if has("batched_key_access=off") {
        Joining::Gathered
    } else {
        Joining::Chosen
    }
}

impl Modes {
    /// The modes of a value of sql_mode: their names.
    fn of(names: &str) -> Self {
        let has = |mode: &str| names.split(',').any(|other| other == mode);
        let evaluation = SqlMode {
            strict: false,
            error_for_division_by_zero: has("ERROR_FOR_DIVISION_BY_ZERO"),
            no_unsigned_subtraction: has("NO_UNSIGNED_SUBTRACTION"),
            no_zero_date: has("NO_ZERO_DATE"),
            no_zero_in_date: has("NO_ZERO_IN_DATE"),
            allow_invalid_dates: has("ALLOW_INVALID_DATES"),
        };
        let text = TextModes {
            ansi_quotes: has("ANSI_QUOTES"),
            no_backslash_escapes: has("NO_BACKSLASH_ESCAPES"),
            pipes_as_concat: has("PIPES_AS_CONCAT"),
            high_not_precedence: has("HIGH_NOT_PRECEDENCE"),
            ignore_space: has("IGNORE_SPACE"),
            real_as_float: has("REAL_AS_FLOAT"),
            pad_char_to_full_length: has("PAD_CHAR_TO_FULL_LENGTH"),
        };
        Self {
            is_strict: has("STRICT_TRANS_TABLES") || has("STRICT_ALL_TABLES"),
            evaluation,
            text,
            no_auto_value_on_zero: has("NO_AUTO_VALUE_ON_ZERO"),
            only_full_group_by: has("ONLY_FULL_GROUP_BY"),
        }
    }
}

/// The type of a variable's value.
impl Definition {
    pub(crate) fn sql_type(&self) -> SqlType {
        match self.kind {
            Kind::Bool => SqlType::Integer { width: IntegerWidth::Big, unsigned: false },
            Kind::Integer { .. } => SqlType::Integer { width: IntegerWidth::Big, unsigned: true },
            Kind::Double => SqlType::Double,
            Kind::Text
            | Kind::Choice(_)
            | Kind::SqlMode
            | Kind::TimeZone
            | Kind::CharacterSet
            | Kind::Collation
            | Kind::Isolation
            | Kind::Locale => SqlType::VarChar { length: 1024, collation: Collation::Utf8mb4GeneralCi },
        }
    }

    /// The value that is written so.
    fn value_of(&self, text: &str) -> Value {
        match self.kind {
            Kind::Bool => Value::Int(i64::from(text == "ON")),
            Kind::Integer { .. } => Value::UInt(text.parse().unwrap_or(0)),
            Kind::Double => Value::Double(text.parse().unwrap_or(0.0)),
            Kind::Text
            | Kind::Choice(_)
            | Kind::SqlMode
            | Kind::TimeZone
            | Kind::CharacterSet
            | Kind::Collation
            | Kind::Isolation
            | Kind::Locale => Value::text(text),
        }
    }
}

/// A locale by name. Names of days and months are there in English only; messages are English under every locale.
fn checked_locale(name: &str, value: &Value) -> Result<&'static str, SqlError> {
    let locale = match value {
        Value::Bytes(text) => {
            let text = String::from_utf8_lossy(text);
            let found = LOCALES.iter().find(|locale| locale.eq_ignore_ascii_case(&text));
            found.ok_or_else(|| SqlError::new(1649, format!("Unknown locale: '{text}'")))
        }
        // MySQL has numbers for them.
        Value::Int(_) | Value::UInt(_) => {
            Err(SqlError::new(1649, format!("Unknown locale: '{}'", shown(value))))
        }
        Value::Null => Err(wrong_value(name, value)),
        _ => Err(wrong_type(name)),
    }?;
    if name == "lc_time_names" && !locale.starts_with("en_") {
        return Err(SqlError::unsupported(&format!("lc_time_names = {locale}")));
    }
    Ok(locale)
}

/// READ COMMITTED is what there is.
pub(crate) fn checked_isolation(text: &str) -> Result<(), SqlError> {
    match text.to_ascii_uppercase().replace('-', " ").as_str() {
        "READ COMMITTED" => Ok(()),
        level @ ("REPEATABLE READ" | "SERIALIZABLE" | "READ UNCOMMITTED") => Err(SqlError::new(
            1235,
            format!(
                "This version of LatsDB doesn't yet support 'transaction isolation level {level}'; transactions run at READ COMMITTED"
            ),
        )),
        _ => Err(SqlError::new(
            1231,
            format!("Variable 'transaction_isolation' can't be set to the value of '{text}'"),
        )),
    }
}

/// sql_mode as it is read back.
fn checked_sql_mode(value: &Value) -> Result<String, SqlError> {
    let refused = |value: &Value| wrong_value("sql_mode", value);
    match value {
        Value::Bytes(names) => {
            let names = std::str::from_utf8(names).map_err(|_| refused(value))?;
            sql_mode::from_names(names).map_err(|name| refused(&Value::text(name)))
        }
        Value::Int(_) | Value::UInt(_) => number_of(value)
            .and_then(|number| u64::try_from(number).ok())
            .and_then(sql_mode::from_number)
            .ok_or_else(|| refused(value)),
        Value::Null => Err(refused(value)),
        _ => Err(wrong_type("sql_mode")),
    }
}

/// `SET timestamp = 0` is DEFAULT: the clock.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float cast saturates, and negative numbers are the clock"
)]
fn fixed_timestamp(value: &Value) -> Option<u64> {
    match value {
        Value::Double(seconds) if *seconds > 0.0 => Some((seconds * 1_000_000.0) as u64),
        _ => None,
    }
}
