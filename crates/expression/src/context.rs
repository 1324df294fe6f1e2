//! The context of an expression: the row, and the statement it runs in.
//!
//! A [`Context`] is made once per statement (or per batch in a data node, from [`Settings`]). Time is a field, never a
//! clock. Warnings are collected here, bounded, because MySQL warns per value while evaluation goes on.
//!
//! Invariants: at most [`WARNINGS_MAX`] warnings are kept, the rest are only counted. A row source yields NULL for no
//! slot it has, and evaluation asks for no slot that the binder did not number.

use crate::regexp_functions::Program;
use crate::volatile_functions::Volatile;
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use stdx::WallTime;
pub use types::Severity;
use types::{Collation, ColumnIndex, DateMode, DateTime, RowLayout, Value, ValueRef};
use wire_derive::Wire;

/// How many warnings a statement keeps (MySQL's `max_error_count` default).
pub const WARNINGS_MAX: usize = 1024;
/// Strings a function may build (`max_allowed_packet` default): longer results are NULL with warning 1301.
pub const RESULT_SIZE_MAX: usize = 64 << 20;

/// Bytes of text that functions may read and build for one row. A byte takes up to some ten nanoseconds, so this is
/// seconds of a thread.
pub const TEXT_WORK_MAX: u64 = 256 << 20;
/// Bytes of text that cost as much of a slice as one more row.
pub const TEXT_WORK_PER_ROW: u64 = 4 << 10;
/// A character beyond ASCII takes so many times as long to compare as one byte of text that is only copied.
pub(crate) const WIDE_FACTOR: usize = 8;
/// Texts below this are a part of what a row costs anyway.
pub(crate) const TEXT_WORK_MIN: usize = 1 << 10;

/// The number of no error.
const ASLEEP: u16 = 0;
/// Errno of "Out of memory", and of other resources of one statement.
pub(crate) const ER_OUT_OF_RESOURCES: u16 = 1041;
/// Errno of "Division by 0".
pub(crate) const ER_DIVISION_BY_ZERO: u16 = 1365;
/// Errno of "Truncated incorrect … value".
pub(crate) const ER_TRUNCATED_WRONG_VALUE: u16 = 1292;
/// Errno of "… value is out of range in '…'".
pub(crate) const ER_DATA_OUT_OF_RANGE: u16 = 1690;
/// Errno of "Out of range value".
pub(crate) const ER_WARN_DATA_OUT_OF_RANGE: u16 = 1264;
/// Errno of "Result of … was larger than max_allowed_packet".
pub(crate) const ER_WARN_ALLOWED_PACKET_OVERFLOWED: u16 = 1301;
/// Errno of "Incorrect … value: '…' for function …".
pub(crate) const ER_WRONG_VALUE_FOR_TYPE: u16 = 1411;
pub(crate) const ER_INVALID_CHARACTER_STRING: u16 = 1300;
/// Errno of "Datetime function: … field overflow".
pub(crate) const ER_DATETIME_FUNCTION_OVERFLOW: u16 = 1441;
/// Errno of "This version does not yet support …".
pub(crate) const ER_NOT_SUPPORTED_YET: u16 = 1235;
/// Errno of "Incorrect DATE value".
pub(crate) const ER_WRONG_VALUE: u16 = 1525;
/// Errno of "Incorrect parameters in the call to native function …".
pub(crate) const ER_WRONG_PARAMETERS_TO_NATIVE_FUNCTION: u16 = 1583;
/// Errno of "Incorrect arguments to …".
pub(crate) const ER_WRONG_ARGUMENTS: u16 = 1210;
/// Errno of "Invalid argument for logarithm".
pub(crate) const ER_INVALID_ARGUMENT_FOR_LOGARITHM: u16 = 3020;

/// A column of the input row by position, as the binder numbered it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Wire)]
pub struct ColumnSlot(pub u16);

impl ColumnSlot {
    /// The position as an index.
    #[must_use]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// A row that expressions read. A slot outside the row reads as NULL: bytes from a peer may name one.
pub trait Columns {
    /// The value in `slot`, borrowed from the row.
    fn column(&self, slot: ColumnSlot) -> ValueRef<'_>;
}

impl Columns for &[Value] {
    fn column(&self, slot: ColumnSlot) -> ValueRef<'_> {
        self.get(slot.index()).map_or(ValueRef::Null, Value::as_ref)
    }
}

impl Columns for Vec<Value> {
    fn column(&self, slot: ColumnSlot) -> ValueRef<'_> {
        self.get(slot.index()).map_or(ValueRef::Null, Value::as_ref)
    }
}

impl Columns for &[ValueRef<'_>] {
    fn column(&self, slot: ColumnSlot) -> ValueRef<'_> {
        self.get(slot.index()).copied().unwrap_or(ValueRef::Null)
    }
}

/// The row of expressions that read no column.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoColumns;

impl Columns for NoColumns {
    fn column(&self, _: ColumnSlot) -> ValueRef<'_> {
        ValueRef::Null
    }
}

/// A row as storage keeps it, read in place.
#[derive(Clone, Copy, Debug)]
pub struct StoredRow<'a> {
    layout: &'a RowLayout,
    row: &'a [u8],
    /// Slot to column; `None` when slots are column positions.
    projection: Option<&'a [ColumnIndex]>,
}

impl<'a> StoredRow<'a> {
    /// The row `bytes`, whose slots are its columns.
    #[must_use]
    pub fn new(layout: &'a RowLayout, row: &'a [u8]) -> Self {
        Self { layout, row, projection: None }
    }

    /// The row `bytes`, whose slot n is column `projection[n]`.
    #[must_use]
    pub fn projected(layout: &'a RowLayout, row: &'a [u8], projection: &'a [ColumnIndex]) -> Self {
        Self { layout, row, projection: Some(projection) }
    }
}

impl Columns for StoredRow<'_> {
    #[inline]
    fn column(&self, slot: ColumnSlot) -> ValueRef<'_> {
        let column = match self.projection {
            None => ColumnIndex(slot.0),
            Some(projection) => match projection.get(slot.index()) {
                Some(column) => *column,
                None => return ValueRef::Null,
            },
        };
        if usize::from(column.0) >= self.layout.column_count() {
            return ValueRef::Null;
        }
        self.layout.column(self.row, column)
    }
}

/// The parts of `sql_mode` that values depend on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub struct SqlMode {
    /// STRICT_*_TABLES **and** the value is about to be stored: warnings about truncation and (with the next flag)
    /// division by zero are then errors. A plain SELECT evaluates with `strict` off whatever the session's mode is.
    pub strict: bool,
    /// ERROR_FOR_DIVISION_BY_ZERO: division by zero warns (or fails when `strict`); off, it is a silent NULL.
    pub error_for_division_by_zero: bool,
    /// NO_UNSIGNED_SUBTRACTION: the difference of unsigned integers is signed.
    pub no_unsigned_subtraction: bool,
    /// NO_ZERO_DATE: functions that parse dates refuse '0000-00-00'.
    pub no_zero_date: bool,
    /// NO_ZERO_IN_DATE: functions that parse dates refuse month or day 0.
    pub no_zero_in_date: bool,
    /// ALLOW_INVALID_DATES: dates are read whose month has fewer days.
    #[wire(since = 6)]
    pub allow_invalid_dates: bool,
}

impl SqlMode {
    /// The dates that a statement lets in.
    #[must_use]
    pub fn dates(&self) -> DateMode {
        let Self { no_zero_date, no_zero_in_date, allow_invalid_dates, .. } = *self;
        DateMode { no_zero_date, no_zero_in_date, allow_invalid_dates }
    }
}

impl Default for SqlMode {
    /// MySQL 8's default for a statement that reads.
    fn default() -> Self {
        Self {
            strict: false,
            error_for_division_by_zero: true,
            no_unsigned_subtraction: false,
            no_zero_date: true,
            no_zero_in_date: true,
            allow_invalid_dates: false,
        }
    }
}

/// The part of a context that travels with pushed-down expressions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Wire)]
pub struct Settings {
    /// Statement start, microseconds since 1970 UTC: NOW().
    pub now_us: u64,
    /// The session's time zone, seconds east of UTC.
    pub time_zone_offset_seconds: i32,
    /// See [`SqlMode`].
    pub sql_mode: SqlMode,
}

/// A warning for SHOW WARNINGS.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct Warning {
    /// Note or Warning.
    pub severity: Severity,
    /// MySQL errno.
    pub code: u16,
    /// Text for the human.
    pub message: String,
}

/// Bytes of text that a slice has worked on and not paid for.
///
/// A slice is measured in rows, but functions and clients can make a row as long as they like.
/// `REPLACE(REPEAT(b, 60000000), 'x', 'y')` of a thousand rows held a thread until its watchdog ended the node. So
/// every loop over rows takes the work of each row ([`TextWork::take_rows`]) and pays for it.
#[derive(Clone, Debug, Default)]
pub struct TextWork(Cell<u64>);

impl TextWork {
    /// A text of this size is read, built or compared.
    #[inline]
    pub fn add(&self, size: usize) {
        if size >= TEXT_WORK_MIN {
            self.0.set(self.0.get().saturating_add(size as u64));
        }
    }

    /// The rows of a slice that the text since the last call was worth.
    #[must_use]
    #[inline]
    pub fn take_rows(&self) -> u32 {
        match self.0.replace(0) {
            0 => 0,
            work => u32::try_from(work / TEXT_WORK_PER_ROW).unwrap_or(u32::MAX),
        }
    }

    /// Whether so much text was worked on that others should have a turn.
    #[must_use]
    pub fn is_much(&self) -> bool {
        self.0.get() > TEXT_WORK_MAX / 64
    }
}

/// The warnings of a statement so far, and the text that its functions have worked on: [`TEXT_WORK_MAX`] for one row.
#[derive(Clone, Debug, Default)]
pub struct Warnings {
    kept: RefCell<Option<Box<Kept>>>,
    count: Cell<u64>,
    text_work: TextWork,
}

/// The state that an evaluation keeps.
#[derive(Clone, Debug, Default)]
struct Kept {
    warnings: Vec<Warning>,
    /// The last pattern that was no constant.
    program: Option<Arc<Program>>,
}

impl Warnings {
    /// The last pattern that was kept.
    pub(crate) fn program(&self) -> Option<Arc<Program>> {
        self.kept.borrow().as_ref().and_then(|kept| kept.program.clone())
    }

    /// Keeps a pattern for the next row.
    pub(crate) fn keep_program(&self, program: Arc<Program>) {
        self.kept.borrow_mut().get_or_insert_default().program = Some(program);
    }

    /// A function reads or builds a text of this size; an error if that is too much for one row.
    #[inline]
    pub(crate) fn work_on_text(&self, size: usize) -> Result<(), EvaluationError> {
        if size < TEXT_WORK_MIN {
            return Ok(());
        }
        self.text_work.add(size);
        if self.text_work.0.get() <= TEXT_WORK_MAX {
            return Ok(());
        }
        let message =
            format!("Out of resources: functions of one row work on more than {TEXT_WORK_MAX} bytes of text");
        Err(EvaluationError::new(ER_OUT_OF_RESOURCES, message))
    }

    /// Two values are compared, perhaps texts. Letters beyond ASCII take so much longer under most collations that the
    /// longest texts cannot be.
    #[inline]
    pub(crate) fn work_on_comparison(
        &self,
        left: ValueRef<'_>,
        right: ValueRef<'_>,
        collation: Collation,
    ) -> Result<(), EvaluationError> {
        let (ValueRef::Bytes(left), ValueRef::Bytes(right)) = (left, right) else { return Ok(()) };
        let size = left.len().min(right.len());
        if size < TEXT_WORK_MIN {
            return Ok(());
        }
        let is_fast = collation.is_code_point_order() || (left.is_ascii() && right.is_ascii());
        self.work_on_text(if is_fast { size } else { size.saturating_mul(WIDE_FACTOR) })
    }

    /// A text is aggregated: no reason for an error, but to be paid for.
    #[inline]
    pub(crate) fn pass_text(&self, size: usize) {
        self.text_work.add(size);
    }

    /// See [`TextWork::take_rows`].
    #[must_use]
    #[inline]
    pub fn take_text_work(&self) -> u32 {
        self.text_work.take_rows()
    }

    /// See [`TextWork::is_much`].
    #[must_use]
    pub fn is_much_text(&self) -> bool {
        self.text_work.is_much()
    }

    /// Takes over what another evaluation of the same statement has worked on.
    pub fn add_text_work(&self, other: &Self) {
        let work = self.text_work.0.get().saturating_add(other.text_work.0.replace(0));
        self.text_work.0.set(work);
    }

    /// Adds one; behind the limit only the count grows, and the message is never built.
    pub fn push(&self, code: u16, message: impl FnOnce() -> String) {
        self.push_with(Severity::Warning, code, message);
    }

    /// As [`Warnings::push`], for what matters less.
    pub fn note(&self, code: u16, message: impl FnOnce() -> String) {
        self.push_with(Severity::Note, code, message);
    }

    fn push_with(&self, severity: Severity, code: u16, message: impl FnOnce() -> String) {
        self.count.set(self.count.get().saturating_add(1));
        let mut kept = self.kept.borrow_mut();
        let warnings = &mut kept.get_or_insert_default().warnings;
        if warnings.len() < WARNINGS_MAX {
            warnings.push(Warning { severity, code, message: message() });
        }
    }

    /// Takes back all behind the first `count`.
    pub(crate) fn forget_since(&self, count: u64) {
        self.count.set(count);
        if let Some(kept) = self.kept.borrow_mut().as_mut() {
            kept.warnings.truncate(usize::try_from(count).unwrap_or(usize::MAX));
        }
    }

    /// Adds what was raised elsewhere.
    pub fn absorb(&self, raised: Raised) {
        self.count.set(self.count.get().saturating_add(raised.count));
        let mut kept = self.kept.borrow_mut();
        let warnings = &mut kept.get_or_insert_default().warnings;
        let room = WARNINGS_MAX.saturating_sub(warnings.len());
        warnings.extend(raised.warnings.into_iter().take(room));
    }

    /// Takes all of them; `None` if there were none.
    #[must_use]
    pub fn take_raised(&self) -> Option<Box<Raised>> {
        let count = self.count();
        (count > 0).then(|| Box::new(Raised { count, warnings: self.take() }))
    }

    /// How many there were, kept or not (`@@warning_count`).
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count.get()
    }

    /// Takes the kept ones; the count starts again from zero.
    #[must_use]
    pub fn take(&self) -> Vec<Warning> {
        self.count.set(0);
        self.kept.borrow_mut().as_mut().map(|kept| std::mem::take(&mut kept.warnings)).unwrap_or_default()
    }
}

/// Warnings on their way from a data node to the session.
#[derive(Clone, PartialEq, Eq, Debug, Default, Wire)]
pub struct Raised {
    /// How many there were.
    pub count: u64,
    /// The first of them, at most [`WARNINGS_MAX`].
    pub warnings: Vec<Warning>,
}

/// The facts about the statement and its session that evaluation needs.
#[derive(Clone, Debug)]
pub struct Context<'a> {
    /// Values of `?`, by number.
    pub parameters: &'a [Value],
    /// Statement start: NOW().
    pub now: WallTime,
    /// The session's time zone, seconds east of UTC.
    pub time_zone_offset_seconds: i32,
    /// See [`SqlMode`].
    pub sql_mode: SqlMode,
    /// CONNECTION_ID().
    pub connection_id: u64,
    /// LAST_INSERT_ID().
    pub last_insert_id: u64,
    /// DATABASE().
    pub database: Option<&'a str>,
    /// USER(): name@host.
    pub user: &'a str,
    /// The source of RAND(), UUID() and SLEEP(); there is one only where the session evaluates.
    pub volatile: Option<&'a Volatile>,
    /// Warnings raised so far.
    pub warnings: Warnings,
}

impl Default for Context<'_> {
    fn default() -> Self {
        Self::from_settings(Settings::default())
    }
}

impl Context<'_> {
    /// A context without a session: what a data node evaluates pushed-down expressions in.
    #[must_use]
    pub fn from_settings(settings: Settings) -> Self {
        Self {
            parameters: &[],
            now: WallTime(settings.now_us),
            time_zone_offset_seconds: settings.time_zone_offset_seconds,
            sql_mode: settings.sql_mode,
            connection_id: 0,
            last_insert_id: 0,
            database: None,
            user: "",
            volatile: None,
            warnings: Warnings::default(),
        }
    }

    /// The part that travels to data nodes.
    #[must_use]
    pub fn settings(&self) -> Settings {
        Settings {
            now_us: self.now.0,
            time_zone_offset_seconds: self.time_zone_offset_seconds,
            sql_mode: self.sql_mode,
        }
    }

    /// The statement's start in the session's time zone, with microseconds.
    #[must_use]
    pub fn local_now(&self) -> DateTime {
        self.shifted_now(i64::from(self.time_zone_offset_seconds))
    }

    /// The statement's start in UTC, with microseconds.
    #[must_use]
    pub fn utc_now(&self) -> DateTime {
        self.shifted_now(0)
    }

    fn shifted_now(&self, offset_seconds: i64) -> DateTime {
        let since_1970 = i64::try_from(self.now.0).unwrap_or(0).saturating_add(offset_seconds * 1_000_000);
        DateTime::from_unix_microseconds(since_1970).unwrap_or(DateTime::ZERO)
    }

    /// Raises warning 1292, or the error when values are about to be stored.
    pub(crate) fn truncated(&self, kind: &str, text: &[u8]) -> Result<(), EvaluationError> {
        let message = || format!("Truncated incorrect {kind} value: '{}'", shown(text));
        if self.sql_mode.strict {
            return Err(EvaluationError::new(ER_TRUNCATED_WRONG_VALUE, message()));
        }
        self.warnings.push(ER_TRUNCATED_WRONG_VALUE, message);
        Ok(())
    }

    /// Raises warning 1292 "Incorrect datetime value", or the error when values are about to be stored.
    pub(crate) fn incorrect(&self, kind: &str, text: &[u8]) -> Result<(), EvaluationError> {
        let message = || format!("Incorrect {kind} value: '{}'", shown(text));
        if self.sql_mode.strict {
            return Err(EvaluationError::new(ER_TRUNCATED_WRONG_VALUE, message()));
        }
        self.warnings.push(ER_TRUNCATED_WRONG_VALUE, message);
        Ok(())
    }

    /// Raises warning 1411, or the error when values are about to be stored.
    pub(crate) fn incorrect_for_function(
        &self,
        kind: &str,
        text: &[u8],
        function: &str,
    ) -> Result<(), EvaluationError> {
        let message = || format!("Incorrect {kind} value: '{}' for function {function}", shown(text));
        if self.sql_mode.strict {
            return Err(EvaluationError::new(ER_WRONG_VALUE_FOR_TYPE, message()));
        }
        self.warnings.push(ER_WRONG_VALUE_FOR_TYPE, message);
        Ok(())
    }

    /// Raises warning or error 1365 as the mode says.
    pub(crate) fn division_by_zero(&self) -> Result<(), EvaluationError> {
        let message = || "Division by 0".to_owned();
        if !self.sql_mode.error_for_division_by_zero {
            return Ok(());
        }
        if self.sql_mode.strict {
            return Err(EvaluationError::new(ER_DIVISION_BY_ZERO, message()));
        }
        self.warnings.push(ER_DIVISION_BY_ZERO, message);
        Ok(())
    }
}

/// Text for a message: at most 128 characters, invalid UTF-8 replaced.
pub(crate) fn shown(text: &[u8]) -> String {
    String::from_utf8_lossy(text).chars().take(128).collect()
}

/// Why a value could not be computed: what the client is told. SQLSTATE is a function of the code, kept elsewhere.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct EvaluationError {
    /// MySQL errno.
    pub code: u16,
    /// Text for the human.
    pub message: String,
}

impl EvaluationError {
    /// No error: a SLEEP has begun, and the row must be evaluated again when it is over.
    #[must_use]
    pub fn asleep() -> Self {
        Self { code: ASLEEP, message: String::new() }
    }

    /// See [`EvaluationError::asleep`].
    #[must_use]
    pub fn is_asleep(&self) -> bool {
        self.code == ASLEEP
    }

    /// An error with MySQL's number and text.
    #[must_use]
    pub fn new(code: u16, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

impl std::fmt::Display for EvaluationError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for EvaluationError {}

/// Why an expression has no type: the statement is refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TypeError {
    /// No function of that name (1305).
    UnknownFunction(String),
    /// The function exists, but not with so many arguments (1582).
    WrongArgumentCount(String),
    /// MySQL has it, this version does not (1235); says what.
    Unsupported(String),
    /// Two collations that cannot be reconciled (1267): names and the operation.
    IllegalCollations(String, String, String),
    /// A collation that does not fit the string's character set (1253).
    WrongCollation(String, String),
    /// A CAST to a precision or scale that no DECIMAL, TIME or DATETIME has (1425, 1426, 1427).
    BadPrecision(u16, String),
    /// An argument that can never be right (1210).
    WrongArguments(String),
    /// A fault of a pattern, or of the text beside it (3685 to 3700, 3995).
    BadPattern(u16, String),
}

impl TypeError {
    /// MySQL errno.
    #[must_use]
    pub fn code(&self) -> u16 {
        match self {
            Self::UnknownFunction(_) => 1305,
            Self::WrongArgumentCount(_) => 1582,
            Self::Unsupported(_) => ER_NOT_SUPPORTED_YET,
            Self::IllegalCollations(..) => 1267,
            Self::WrongCollation(..) => 1253,
            Self::BadPrecision(code, _) | Self::BadPattern(code, _) => *code,
            Self::WrongArguments(_) => ER_WRONG_ARGUMENTS,
        }
    }
}

impl std::fmt::Display for TypeError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::UnknownFunction(name) => write!(formatter, "FUNCTION {name} does not exist"),
            Self::WrongArgumentCount(name) => {
                write!(formatter, "Incorrect parameter count in the call to native function '{name}'")
            }
            Self::Unsupported(what) => {
                write!(formatter, "This version of LatsDB doesn't yet support '{what}'")
            }
            Self::IllegalCollations(left, right, operation) => {
                write!(
                    formatter,
                    "Illegal mix of collations ({left}) and ({right}) for operation '{operation}'"
                )
            }
            Self::WrongCollation(collation, character_set) => {
                write!(formatter, "COLLATION '{collation}' is not valid for CHARACTER SET '{character_set}'")
            }
            Self::BadPrecision(_, message) | Self::BadPattern(_, message) => formatter.write_str(message),
            Self::WrongArguments(name) => write!(formatter, "Incorrect arguments to {name}"),
        }
    }
}

impl std::error::Error for TypeError {}
