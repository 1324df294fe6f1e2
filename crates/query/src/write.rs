//! Write programs: the new bytes of a row from its newest version, evaluated at the primary that holds the lock.
//!
//! Invariant: programs never change primary key columns; sessions turn such an update into a delete and an insert. A
//! row whose columns all keep their values is `Unchanged`: nothing is staged or replicated for it.

use crate::TableAccessInfo;
use crate::check::check_row;
use crate::generated::Generated;
use crate::read::{absorb, evaluation_error};
use expression::context::{Context, Severity, Warnings};
use expression::{ColumnSlot, Columns, Node, StoredRow};
use protocol::SqlError;
use protocol::program::{
    DeleteFilter, OnDuplicate, OperationResult, ROW_SIZE_MAX, Refusal, UpdateProgram, WriteOperation,
};
use std::borrow::Cow;
use std::fmt::Write as _;
use stdx::{SmallVec, smallvec};
use types::store::IncorrectKind;
use types::{ColumnDefinition, DateMode, SqlType, StoreError, StoreMode, Value, ValueRef};

const INCORRECT_STRING: StoreError = StoreError::Incorrect(IncorrectKind::String);
/// Bytes of such a string that its error shows.
const SHOWN_BYTES: usize = 6;

/// The result of a write program on a row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Evaluated {
    /// The filter is not true.
    NotMatched,
    /// Every column keeps its value.
    Unchanged,
    /// The new row.
    Changed(Vec<u8>),
}

/// Columns of the stored row as changed so far, then those of the row that INSERT wanted to write (VALUES()).
struct UpdateRow<'a> {
    stored: StoredRow<'a>,
    /// By column; the columns that have no new value are read where they are stored.
    changed: SmallVec<[Option<Value>; 8]>,
    inserted: Option<StoredRow<'a>>,
}

impl Columns for UpdateRow<'_> {
    fn column(&self, slot: ColumnSlot) -> ValueRef<'_> {
        match self.changed.get(slot.index()) {
            Some(Some(value)) => value.as_ref(),
            Some(None) => self.stored.column(slot),
            None => {
                let behind = u16::try_from(slot.index() - self.changed.len()).unwrap_or(u16::MAX);
                self.inserted.as_ref().map_or(ValueRef::Null, |row| row.column(ColumnSlot(behind)))
            }
        }
    }
}

/// The change that an operation makes.
#[derive(Clone, PartialEq, Debug)]
pub enum RowChange<'a> {
    /// Nothing; this is the result.
    None(OperationResult),
    /// The row becomes these bytes (None: it is deleted).
    Stage(OperationResult, Option<Cow<'a, [u8]>>),
}

/// The change that an operation makes to its row's newest version.
pub fn evaluate_operation<'a>(
    operation: &'a WriteOperation,
    newest: Option<&[u8]>,
    info: &TableAccessInfo,
    warnings: &Warnings,
) -> Result<RowChange<'a>, Refusal> {
    let stored = |result, row: &'a [u8]| RowChange::Stage(result, Some(Cow::Borrowed(row)));
    match operation {
        WriteOperation::Insert { key, row, on_duplicate } => match (newest, on_duplicate) {
            (None, _) => Ok(stored(OperationResult::Inserted, row)),
            (Some(_), OnDuplicate::Fail) => Err(Refusal::Duplicate { key: key.clone() }),
            (Some(_), OnDuplicate::Ignore) => Ok(RowChange::None(OperationResult::Duplicate)),
            (Some(_), OnDuplicate::Replace) => Ok(stored(OperationResult::Replaced, row)),
            (Some(old), OnDuplicate::Update(program)) => {
                let evaluated = evaluate_insert_conflict(program, info, old, row, warnings);
                Ok(change_of(evaluated.map_err(Refusal::Error)?))
            }
        },
        WriteOperation::Put { row, .. } => Ok(stored(OperationResult::Stored, row)),
        WriteOperation::Update { program, .. } => match newest {
            None => Ok(RowChange::None(OperationResult::NotMatched)),
            Some(old) => {
                Ok(change_of(evaluate_update(program, info, old, warnings).map_err(Refusal::Error)?))
            }
        },
        WriteOperation::Delete { filter, .. } => {
            let Some(old) = newest else {
                return Ok(RowChange::None(OperationResult::NotMatched));
            };
            let matches = match filter {
                None => true,
                Some(filter) => delete_matches(filter, info, old, warnings).map_err(Refusal::Error)?,
            };
            Ok(if matches {
                RowChange::Stage(OperationResult::Deleted, None)
            } else {
                RowChange::None(OperationResult::NotMatched)
            })
        }
    }
}

fn change_of(evaluated: Evaluated) -> RowChange<'static> {
    match evaluated {
        Evaluated::NotMatched => RowChange::None(OperationResult::NotMatched),
        Evaluated::Unchanged => RowChange::None(OperationResult::Unchanged),
        Evaluated::Changed(row) => RowChange::Stage(OperationResult::Updated, Some(Cow::Owned(row))),
    }
}

/// UPDATE: the row as `program` changes it.
pub fn evaluate_update(
    program: &UpdateProgram,
    info: &TableAccessInfo,
    row: &[u8],
    warnings: &Warnings,
) -> Result<Evaluated, SqlError> {
    // The read that found the row has evaluated the filter, and warned.
    if let Some(filter) = &program.filter {
        let context = program.context.evaluation();
        let matches =
            filter.is_true(&StoredRow::new(&info.layout, row), &context).map_err(evaluation_error)?;
        warnings.add_text_work(&context.warnings);
        if !matches {
            return Ok(Evaluated::NotMatched);
        }
    }
    evaluate_assignments(program, info, row, None, warnings)
}

/// ON DUPLICATE KEY UPDATE: the existing row as `program` changes it, `inserted` being the row that INSERT wanted to
/// write.
pub fn evaluate_insert_conflict(
    program: &UpdateProgram,
    info: &TableAccessInfo,
    row: &[u8],
    inserted: &[u8],
    warnings: &Warnings,
) -> Result<Evaluated, SqlError> {
    evaluate_assignments(program, info, row, Some(inserted), warnings)
}

/// DELETE: whether the row matches.
fn delete_matches(
    filter: &DeleteFilter,
    info: &TableAccessInfo,
    row: &[u8],
    warnings: &Warnings,
) -> Result<bool, SqlError> {
    // The read that found the row has warned: only the work counts.
    let context = filter.context.evaluation();
    let matches = filter.filter.is_true(&StoredRow::new(&info.layout, row), &context);
    warnings.add_text_work(&context.warnings);
    matches.map_err(evaluation_error)
}

fn evaluate_assignments(
    program: &UpdateProgram,
    info: &TableAccessInfo,
    row: &[u8],
    inserted: Option<&[u8]>,
    warnings: &Warnings,
) -> Result<Evaluated, SqlError> {
    let context = program.context.evaluation();
    let mut source = UpdateRow {
        stored: StoredRow::new(&info.layout, row),
        changed: smallvec![None; info.layout.column_count()],
        inserted: inserted.map(|inserted| StoredRow::new(&info.layout, inserted)),
    };
    let mut is_changed = false;
    for assignment in &program.assignments {
        let index = usize::from(assignment.column.0);
        let Some(definition) = info.definition.columns.get(index) else {
            return Err(SqlError::new(
                1054,
                format!("Unknown column {index} of table '{}'", info.definition.name),
            ));
        };
        let value = assignment.value.evaluate(&source, &context).map_err(evaluation_error)?;
        let mode = if context.sql_mode.strict { StoreMode::Strict } else { StoreMode::Lenient };
        let is_itself = assignment.value.node == Node::Column(ColumnSlot(assignment.column.0));
        let value = if is_itself {
            value
        } else {
            store_value(value, &assignment.value.sql_type, definition, (mode, 1), &context)?
        };
        let mut value = timestamp_in_range(value, definition, (mode, 1), &context)?;
        if value.is_null() && !definition.flags.nullable {
            let message = || format!("Column '{}' cannot be null", definition.name);
            if context.sql_mode.strict {
                return Err(SqlError::new(1048, message()));
            }
            context.warnings.push(1048, message);
            value = types::implicit_default(&definition.sql_type);
        }
        is_changed |= value.as_ref() != source.column(ColumnSlot(assignment.column.0));
        source.changed[index] = Some(value);
    }
    absorb(warnings, &context);
    if !is_changed {
        return Ok(Evaluated::Unchanged);
    }
    touch_timestamps(program, info, &context, &mut source.changed);
    for generated in &info.generated {
        let mode = if context.sql_mode.strict { StoreMode::Strict } else { StoreMode::Lenient };
        let value = generated_value(generated, info, &source, (mode, 1), &context)?;
        source.changed[usize::from(generated.column.0)] = Some(value);
    }
    check_row(&info.checks, &source, &context)?;
    if let Some(check) = &program.view_check
        && !check.condition.is_true(&source, &context).map_err(evaluation_error)?
    {
        return Err(check.failed());
    }
    let changed = |index: usize| source.changed.get(index)?.as_ref().map(Value::as_ref);
    let mut bytes = Vec::with_capacity(row.len() + 32);
    if !info.layout.patch(row, changed, &mut bytes) {
        let columns = u16::try_from(source.changed.len()).unwrap_or(u16::MAX);
        let references: Vec<ValueRef<'_>> =
            (0..columns).map(|column| source.column(ColumnSlot(column))).collect();
        info.layout.encode(&references, &mut bytes);
    }
    if bytes.len() > ROW_SIZE_MAX {
        return Err(SqlError::row_too_large());
    }
    Ok(Evaluated::Changed(bytes))
}

/// The value of a generated column in a row whose other columns have theirs; `number` of the row for messages.
pub fn generated_value(
    generated: &Generated,
    info: &TableAccessInfo,
    row: &dyn Columns,
    (mode, number): (StoreMode, u64),
    context: &Context<'_>,
) -> Result<Value, SqlError> {
    let column = info.definition.column_at(generated.column);
    let Some(expression) = &generated.expression else {
        return Err(SqlError::new(1815, format!("Internal error: column '{}' is malformed", column.name)));
    };
    let value = expression.evaluate(row, context).map_err(evaluation_error)?;
    let value = store_value(value, &expression.sql_type, column, (mode, number), context)?;
    let value = timestamp_in_range(value, column, (mode, number), context)?;
    if value.is_null() && !column.flags.nullable {
        return Err(SqlError::new(1048, format!("Column '{}' cannot be null", column.name)));
    }
    Ok(value)
}

/// ON UPDATE CURRENT_TIMESTAMP: set unless the statement assigns the column itself.
fn touch_timestamps(
    program: &UpdateProgram,
    info: &TableAccessInfo,
    context: &expression::Context<'_>,
    changed: &mut [Option<Value>],
) {
    for (index, column) in info.definition.columns.iter().enumerate() {
        let is_assigned =
            || program.assignments.iter().any(|assignment| usize::from(assignment.column.0) == index);
        if column.flags.on_update_now && !is_assigned() {
            changed[index] = Some(now_for(&column.sql_type, context));
        }
    }
}

/// NOW() as a column of this type stores it: TIMESTAMP in UTC, DATETIME in the session's time zone, cut to the column's
/// fraction digits.
#[must_use]
#[expect(clippy::wildcard_enum_match_arm, reason = "two types of many")]
pub fn now_for(sql_type: &types::SqlType, context: &expression::Context<'_>) -> Value {
    match sql_type {
        types::SqlType::Timestamp { fraction } => Value::DateTime(context.utc_now().truncate(*fraction)),
        types::SqlType::DateTime { fraction } => Value::DateTime(context.local_now().truncate(*fraction)),
        // Only these two types have CURRENT_TIMESTAMP; anything else is brought into its type when stored.
        _ => Value::DateTime(context.local_now()),
    }
}

/// Brings a value of type `from` into a column's type, or says as MySQL does what is wrong with it; `row` is for
/// messages.
pub fn store_value(
    value: Value,
    from: &SqlType,
    column: &ColumnDefinition,
    (mode, row): (StoreMode, u64),
    context: &Context<'_>,
) -> Result<Value, SqlError> {
    // A value of the column's own type is stored as it is, also one that nobody could write: an ENUM's 0. But each
    // statement's sql_mode says which dates it stores, and a string's type does not say that its characters are in the
    // character set.
    let dates = context.sql_mode.dates();
    let is_limited = column.format.scale.is_some() || column.format.unsigned;
    let is_narrow = matches!(value, Value::Bytes(_)) && narrow_set(column).is_some();
    let is_checked = is_limited || is_narrow;
    if value.is_null() || (*from == column.sql_type && !is_checked && is_admitted(&value, from, dates)) {
        return Ok(value);
    }
    if types::is_stored_unchanged(&value, &column.sql_type) {
        return Ok(value);
    }
    let is_member = |sql_type: &SqlType| matches!(sql_type, SqlType::Enum { .. } | SqlType::Set { .. });
    let value = if is_member(from) && is_member(&column.sql_type) {
        // The members of one type say nothing about those of another: their texts do.
        let mut text = Vec::new();
        types::format_text(value.as_ref(), from, &mut text);
        Value::Bytes(text)
    } else {
        value
    };
    let mut recoded = None;
    if let Value::Bytes(bytes) = &value {
        match types::recoded(bytes.as_slice().into(), from, &column.sql_type) {
            Ok(Cow::Owned(bytes)) => recoded = Some(bytes),
            Ok(Cow::Borrowed(_)) => {}
            Err(_) => return Err(store_error(INCORRECT_STRING, &value, &column.name, row)),
        }
    }
    let value = recoded.map_or(value, Value::Bytes);
    let stored = types::store_in_column(value.clone(), &column.sql_type, &column.format, mode, dates);
    let stored = match stored {
        Ok(stored) => stored,
        Err(error) => return Err(store_error(error, &from_foreign(value, column), &column.name, row)),
    };
    if let Some((severity, warning)) = stored.warning {
        let shown = match warning.warning_code() {
            1264 => StoreError::OutOfRange,
            1265 => StoreError::Truncated,
            _ => warning,
        };
        let message = || store_error(shown, &from_foreign(value, column), &column.name, row).message;
        match severity {
            Severity::Note => context.warnings.note(warning.warning_code(), message),
            Severity::Warning => context.warnings.push(warning.warning_code(), message),
        }
    }
    Ok(stored.value)
}

/// False for a date that the mode does not let in.
fn is_admitted(value: &Value, sql_type: &SqlType, dates: DateMode) -> bool {
    match (value, sql_type) {
        (Value::Date(date), _) => dates.admits(date.at_midnight()),
        (Value::DateTime(moment), SqlType::Timestamp { .. }) => dates.of_timestamp().admits(*moment),
        (Value::DateTime(moment), _) => dates.admits(*moment),
        _ => true,
    }
}

/// The column's character set, if it does not have every character.
fn narrow_set(column: &ColumnDefinition) -> Option<types::CharacterSet> {
    column.sql_type.character_collation().and_then(types::Collation::narrow_set)
}

/// A string from the first character on that the column's character set does not have; any other value as it is.
fn from_foreign(value: Value, column: &ColumnDefinition) -> Value {
    if let Value::Bytes(bytes) = &value
        && let Some(set) = narrow_set(column)
        && let Ok(text) = std::str::from_utf8(bytes)
        && let Some(position) = set.first_foreign(text)
    {
        return Value::Bytes(bytes.get(position..).unwrap_or_default().to_vec());
    }
    value
}

/// As MySQL shows a string that is no text: its first bytes, those in hexadecimal that are no ASCII.
fn shown_bytes(bytes: &[u8]) -> String {
    let start = std::str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), |_| 0);
    let bytes = bytes.get(start..).unwrap_or_default();
    let mut shown = String::new();
    for byte in bytes.iter().take(SHOWN_BYTES) {
        if byte.is_ascii_graphic() || *byte == b' ' {
            shown.push(char::from(*byte));
        } else {
            // Writing into a String can't fail.
            let _ = write!(shown, "\\x{byte:02X}");
        }
    }
    if bytes.len() > SHOWN_BYTES {
        shown.push_str("...");
    }
    shown
}

/// A moment that goes into a TIMESTAMP column, in UTC: it must be one that the type has.
pub fn timestamp_in_range(
    value: Value,
    column: &ColumnDefinition,
    (mode, row): (StoreMode, u64),
    context: &Context<'_>,
) -> Result<Value, SqlError> {
    let (Value::DateTime(moment), SqlType::Timestamp { .. }) = (&value, &column.sql_type) else {
        return Ok(value);
    };
    if moment.is_timestamp() {
        return Ok(value);
    }
    let error = StoreError::TemporalOutOfRange(types::TemporalKind::DateTime);
    if mode == StoreMode::Strict {
        return Err(store_error(error, &value, &column.name, row));
    }
    let code = error.warning_code();
    context.warnings.push(code, || store_error(StoreError::OutOfRange, &value, &column.name, row).message);
    Ok(Value::DateTime(types::DateTime::ZERO))
}

/// A value that a column does not take, as MySQL says it.
#[must_use]
pub fn store_error(error: StoreError, value: &Value, column: &str, row: u64) -> SqlError {
    let message = match (error, error.incorrect_type()) {
        (_, Some(kind)) => {
            let mut text = Vec::new();
            types::format_text(value.as_ref(), &SqlType::Null, &mut text);
            let is_string = error == INCORRECT_STRING;
            let text =
                if is_string { shown_bytes(&text) } else { String::from_utf8_lossy(&text).into_owned() };
            format!("Incorrect {kind} value: '{text}' for column '{column}' at row {row}")
        }
        (StoreError::OutOfRange, None) => format!("Out of range value for column '{column}' at row {row}"),
        (StoreError::TooLong, None) => format!("Data too long for column '{column}' at row {row}"),
        (_, None) => format!("Data truncated for column '{column}' at row {row}"),
    };
    SqlError::new(error.code(), message)
}

#[cfg(test)]
mod tests;
