//! Bringing a value into a column's type (skeleton: signatures are final).
use crate::{SqlType, Value};

/// What a value that is not one of a type was meant to be: the `%s` of "Incorrect %s value".
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IncorrectKind {
    /// integer
    Integer,
    /// decimal
    Decimal,
    /// double
    Double,
    /// string
    String,
}
/// The `%s` of "Incorrect %s value" for temporal types.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TemporalKind {
    /// date
    Date,
    /// time
    Time,
    /// datetime
    DateTime,
}
/// Why a value cannot be stored as it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StoreError {
    /// 1264 Out of range value for column
    OutOfRange,
    /// 1406 Data too long for column
    TooLong,
    /// 1265 Data truncated for column
    Truncated,
    /// 1366 Incorrect … value for column
    Incorrect(IncorrectKind),
    /// 1292 Incorrect … value for column
    IncorrectTemporal(TemporalKind),
}
impl StoreError {
    /// MySQL's error number.
    #[must_use]
    pub fn code(self) -> u16 {
        unimplemented!()
    }
}
/// Whether what does not fit is an error or is adjusted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StoreMode {
    /// MySQL 8's default sql_mode: an error.
    Strict,
    /// INSERT IGNORE and the like: the nearest value, with a warning.
    Lenient,
}
/// A value of the column's type, and what was lost on the way.
#[derive(Clone, PartialEq, Debug)]
pub struct Stored {
    /// The value as the column holds it.
    pub value: Value,
    /// In lenient mode what strict mode refuses; in both modes a note (a cut trailing space, a rounded decimal).
    pub warning: Option<StoreError>,
}
/// Brings `value` into the type `to`.
pub fn store(value: Value, to: &SqlType, mode: StoreMode) -> Result<Value, StoreError> {
    store_with_warning(value, to, mode).map(|stored| stored.value)
}
/// As [`store`], with the warning.
pub fn store_with_warning(_value: Value, _to: &SqlType, _mode: StoreMode) -> Result<Stored, StoreError> {
    unimplemented!()
}
/// What a NOT NULL column without DEFAULT gets where MySQL fills it in (lenient INSERT, ADD COLUMN): 0, '', the zero date, the first member.
#[must_use]
pub fn implicit_default(_sql_type: &SqlType) -> Value {
    unimplemented!()
}
