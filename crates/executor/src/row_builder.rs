//! The rows of INSERT: values and defaults brought into the columns' types by MySQL's rules, with its errors and
//! warnings.
//!
//! Values are evaluated from left to right and may name columns before them. NULL or 0 in an AUTO_INCREMENT column
//! draws a value. With IGNORE, what strict mode refuses becomes the nearest value with a warning.
//!
//! Invariant: a row that comes out has a value of its column's type in every column, NULL only where that is allowed.

use crate::access::to_utc;
use crate::outcome::Failure;
use expression::{Context, Expression, NoColumns};
use planner::plan::InsertPlan;
use protocol::SqlError;
use protocol::program::ROW_SIZE_MAX;
use query::{TableAccessInfo, generated_value, now_for, store_value, timestamp_in_range};
use std::sync::Arc;
use types::{
    ColumnDefinition, ColumnIndex, DateMode, DefaultValue, SqlType, StoreMode, Value, ValueRef,
    implicit_default,
};

/// The loss that is accepted when a value is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Strictness {
    /// sql_mode has a STRICT mode.
    Strict,
    /// It has none.
    Lenient,
    /// IGNORE.
    Ignore,
}

impl Strictness {
    fn store_mode(self) -> StoreMode {
        match self {
            Strictness::Strict => StoreMode::Strict,
            Strictness::Lenient | Strictness::Ignore => StoreMode::Lenient,
        }
    }
}

/// AUTO_INCREMENT values of one statement: consecutive.
#[derive(Clone, Copy, Debug, Default)]
pub struct DrawnIds {
    pub next: u64,
    pub left: u64,
}

/// No AUTO_INCREMENT value can be had.
pub(crate) fn no_ids() -> SqlError {
    SqlError::new(1467, "Failed to read auto-increment value from storage engine")
}

/// A row as it will be stored.
#[derive(Debug)]
pub struct BuiltRow {
    pub values: Vec<Value>,
    /// The value that was drawn for the AUTO_INCREMENT column.
    pub generated: Option<u64>,
    /// The value that the statement gave for it.
    pub explicit: Option<u64>,
}

/// The values that a statement gives for a row.
pub enum NewRow<'a> {
    /// As written; None is DEFAULT.
    Written(&'a [Option<Expression>]),
    /// Those that a query has read.
    Read { values: Vec<ValueRef<'a>>, types: &'a [SqlType] },
}

impl NewRow<'_> {
    /// A value and its type; None: the column gets its default. It may name columns that are there.
    fn value(
        &self,
        position: usize,
        columns: &Vec<Value>,
        context: &Context<'_>,
    ) -> Result<Option<(Value, &SqlType)>, Failure> {
        match self {
            Self::Written(row) => {
                let Some(Some(expression)) = row.get(position) else { return Ok(None) };
                Ok(Some((expression.evaluate(columns, context)?, &expression.sql_type)))
            }
            Self::Read { values, types } => Ok(values
                .get(position)
                .zip(types.get(position))
                .map(|(value, from)| (value.to_value(), from))),
        }
    }
}

/// Builds the rows of one statement.
pub struct RowBuilder {
    info: Arc<TableAccessInfo>,
    columns: Vec<ColumnIndex>,
    /// Position in VALUES of the AUTO_INCREMENT column, if it is named.
    auto_position: Option<usize>,
    is_hidden_id_drawn: bool,
    strictness: Strictness,
    zero_draws: bool,
    /// NULL where none may be is the implicit default, with a warning: with IGNORE, and without a STRICT mode in a
    /// statement that may give several rows.
    replaces_null: bool,
}

impl RowBuilder {
    pub fn new(
        plan: &InsertPlan,
        info: &Arc<TableAccessInfo>,
        strictness: Strictness,
        zero_draws: bool,
    ) -> Self {
        let definition = &info.definition;
        let auto = definition.auto_increment;
        let is_hidden_id_drawn = definition
            .columns
            .iter()
            .any(|column| column.flags.hidden && column.default == DefaultValue::AutoIncrement);
        Self {
            info: Arc::clone(info),
            columns: plan.columns.clone(),
            auto_position: plan.columns.iter().position(|column| Some(*column) == auto),
            is_hidden_id_drawn,
            strictness,
            zero_draws,
            replaces_null: match strictness {
                Strictness::Strict => false,
                Strictness::Lenient => plan.rows.len() > 1 || plan.source.is_some(),
                Strictness::Ignore => true,
            },
        }
    }

    /// Columns that the statement omits and that have no default: refused before any row, or told once.
    pub(crate) fn check_omitted(&self, context: &Context<'_>) -> Result<(), Failure> {
        for (position, column) in self.info.definition.columns.iter().enumerate() {
            let has_none =
                matches!(column.default, DefaultValue::Missing) && default_of(column, context).is_none();
            if has_none && !self.is_named(position) {
                self.missing_default(column, context)?;
            }
        }
        Ok(())
    }

    /// Whether the statement names the column at a position.
    fn is_named(&self, position: usize) -> bool {
        self.columns.iter().any(|index| usize::from(index.0) == position)
    }

    fn missing_default(&self, column: &ColumnDefinition, context: &Context<'_>) -> Result<(), Failure> {
        let message = || format!("Field '{}' doesn't have a default value", column.name);
        if self.strictness == Strictness::Strict {
            return Err(Failure::Error(SqlError::new(1364, message())));
        }
        context.warnings.push(1364, message);
        Ok(())
    }

    /// Whether a row needs a drawn value, and the value that it gives for the AUTO_INCREMENT column itself.
    pub(crate) fn needs_id(
        &self,
        row: &NewRow<'_>,
        context: &Context<'_>,
    ) -> Result<(bool, Option<u64>), Failure> {
        let Some(auto) = self.info.definition.auto_increment else {
            return Ok((self.is_hidden_id_drawn, None));
        };
        let Some(position) = self.auto_position else { return Ok((true, None)) };
        let value = match row {
            NewRow::Read { values, .. } => values.get(position).map_or(Value::Null, |value| value.to_value()),
            NewRow::Written(row) => match row.get(position) {
                Some(Some(expression)) if expression.is_constant() => {
                    expression.evaluate(&NoColumns, context)?
                }
                _ => return Ok((true, None)),
            },
        };
        let sql_type = &self.info.definition.column_at(auto).sql_type;
        let stored = types::store(value, sql_type, StoreMode::Lenient, context.sql_mode.dates());
        let stored = stored.unwrap_or(Value::Null);
        let explicit = self.explicit_id(&stored);
        // The sequence goes on above what is above zero.
        let raises = !matches!(stored, Value::Int(..=0));
        Ok((self.is_hidden_id_drawn || explicit.is_none(), explicit.filter(|id| raises && *id > 0)))
    }

    /// The value that the client gave, unless it asks for one by NULL or 0. A negative one is told as its 64 bits.
    fn explicit_id(&self, value: &Value) -> Option<u64> {
        match value {
            Value::Int(0) | Value::UInt(0) if self.zero_draws => None,
            Value::Int(number) => Some(number.cast_unsigned()),
            Value::UInt(number) => Some(*number),
            Value::Null => None,
            Value::Double(_)
            | Value::Decimal(_)
            | Value::Bytes(_)
            | Value::Date(_)
            | Value::Time(_)
            | Value::DateTime(_) => Some(0),
        }
    }

    /// Builds the row with this number, counted from 1.
    pub fn build(
        &self,
        number: u64,
        row: &NewRow<'_>,
        ids: &mut DrawnIds,
        context: &Context<'_>,
    ) -> Result<BuiltRow, Failure> {
        let definition = &self.info.definition;
        let mut values = vec![Value::Null; definition.columns.len()];
        let mut is_given = vec![false; definition.columns.len()];
        for (place, index) in self.columns.iter().enumerate() {
            let Some((value, from)) = row.value(place, &values, context)? else { continue };
            let position = usize::from(index.0);
            is_given[position] = true;
            let column = definition.column_at(*index);
            let is_auto = definition.auto_increment == Some(*index);
            values[position] = self.stored(number, value, from, column, is_auto, context)?;
        }
        let mut late = Vec::new();
        for (position, column) in definition.columns.iter().enumerate() {
            if !is_given[position] {
                match default_of(column, context) {
                    Some(value) => values[position] = value,
                    // The statement was told, or refused, as a whole.
                    None if matches!(column.default, DefaultValue::Missing) && !self.is_named(position) => {
                        values[position] = implicit_default(&column.sql_type);
                    }
                    // When all others are there.
                    None if column.is_generated() => {}
                    None => late.push(position),
                }
            }
        }
        for position in late {
            values[position] = self.late_default(number, &definition.columns[position], &values, context)?;
        }
        let (generated, explicit) = self.draw(&mut values, ids)?;
        generate(&self.info, number, self.strictness.store_mode(), &mut values, context)?;
        Ok(BuiltRow { values, generated, explicit })
    }

    /// Puts drawn values where they are wanted.
    fn draw(&self, values: &mut [Value], ids: &mut DrawnIds) -> Result<(Option<u64>, Option<u64>), Failure> {
        let definition = &self.info.definition;
        let explicit = match definition.auto_increment {
            Some(auto) => self.explicit_id(&values[usize::from(auto.0)]),
            None => Some(0),
        };
        if explicit.is_some() && !self.is_hidden_id_drawn {
            return Ok((None, explicit));
        }
        let Some(left) = ids.left.checked_sub(1) else { return Err(Failure::Error(no_ids())) };
        let id = ids.next;
        *ids = DrawnIds { next: id.saturating_add(1), left };
        for (position, column) in definition.columns.iter().enumerate() {
            let is_auto = definition.auto_increment.is_some_and(|auto| usize::from(auto.0) == position);
            let is_hidden = column.flags.hidden && column.default == DefaultValue::AutoIncrement;
            if is_hidden || (is_auto && explicit.is_none()) {
                values[position] =
                    types::store(Value::UInt(id), &column.sql_type, StoreMode::Strict, DateMode::CALENDAR)
                        .map_err(|_| no_ids())?;
            }
        }
        let is_visible = definition.auto_increment.is_some() && explicit.is_none();
        Ok((is_visible.then_some(id), explicit.filter(|_| definition.auto_increment.is_some())))
    }

    /// A value as its column stores it.
    fn stored(
        &self,
        number: u64,
        value: Value,
        from: &SqlType,
        column: &ColumnDefinition,
        is_auto: bool,
        context: &Context<'_>,
    ) -> Result<Value, Failure> {
        if value.is_null() {
            return self.null_for(column, is_auto, context);
        }
        store_in_column(number, value, from, column, self.strictness.store_mode(), context)
    }

    fn null_for(
        &self,
        column: &ColumnDefinition,
        is_auto: bool,
        context: &Context<'_>,
    ) -> Result<Value, Failure> {
        if column.flags.nullable || is_auto {
            return Ok(Value::Null);
        }
        let message = || format!("Column '{}' cannot be null", column.name);
        if !self.replaces_null {
            return Err(Failure::Error(SqlError::new(1048, message())));
        }
        context.warnings.push(1048, message);
        Ok(implicit_default(&column.sql_type))
    }

    /// A default that must be computed, or that is missing.
    fn late_default(
        &self,
        number: u64,
        column: &ColumnDefinition,
        values: &Vec<Value>,
        context: &Context<'_>,
    ) -> Result<Value, Failure> {
        if let DefaultValue::Expression { encoded, .. } = &column.default {
            let expression: Expression = stdx::wire::from_bytes(encoded).map_err(|_| {
                SqlError::new(1815, format!("The default of column '{}' is malformed", column.name))
            })?;
            let value = expression.evaluate(values, context)?;
            return self.stored(number, value, &expression.sql_type, column, false, context);
        }
        self.missing_default(column, context)?;
        Ok(implicit_default(&column.sql_type))
    }
}

/// Gives a row the values of its generated columns.
pub(crate) fn generate(
    info: &TableAccessInfo,
    number: u64,
    mode: StoreMode,
    values: &mut [Value],
    context: &Context<'_>,
) -> Result<(), Failure> {
    for generated in &info.generated {
        let value = generated_value(generated, info, &&*values, (mode, number), context)?;
        values[usize::from(generated.column.0)] = value;
    }
    Ok(())
}

/// A column's default, unless it must be computed or is missing. AUTO_INCREMENT is NULL until it is drawn.
pub fn default_of(column: &ColumnDefinition, context: &Context<'_>) -> Option<Value> {
    match &column.default {
        DefaultValue::Literal(value) => Some(value.clone()),
        DefaultValue::CurrentTimestamp => Some(now_for(&column.sql_type, context)),
        DefaultValue::AutoIncrement => Some(Value::Null),
        DefaultValue::Missing if matches!(column.sql_type, SqlType::Enum { .. }) => Some(Value::UInt(1)),
        DefaultValue::Missing | DefaultValue::Expression { .. } | DefaultValue::Generated { .. } => None,
    }
}

/// Brings a value into a column's type; TIMESTAMP values go to UTC.
pub(crate) fn store_in_column(
    number: u64,
    value: Value,
    from: &SqlType,
    column: &ColumnDefinition,
    mode: StoreMode,
    context: &Context<'_>,
) -> Result<Value, Failure> {
    if let (Value::Int(integer), SqlType::Integer { width: types::IntegerWidth::Big, unsigned: false }) =
        (&value, &column.sql_type)
    {
        return Ok(Value::Int(*integer));
    }
    let stored = store_value(value, from, column, (mode, number), context)?;
    let moment = to_utc(stored, from, &column.sql_type, context.time_zone_offset_seconds);
    Ok(timestamp_in_range(moment, column, (mode, number), context)?)
}

/// The row's bytes; 1118 if they are too many.
pub(crate) fn encode_row(info: &TableAccessInfo, values: &[Value]) -> Result<Box<[u8]>, SqlError> {
    let references: Vec<ValueRef<'_>> = crate::row::borrowed(values).collect();
    let mut row = Vec::new();
    info.layout.encode(&references, &mut row);
    if row.len() > ROW_SIZE_MAX { Err(SqlError::row_too_large()) } else { Ok(row.into()) }
}

/// The row's primary key.
pub fn primary_key_of(info: &TableAccessInfo, row: &[u8]) -> Box<[u8]> {
    let mut key = Vec::new();
    info.primary_key.encode_row(&info.layout, row, &mut key);
    key.into()
}
