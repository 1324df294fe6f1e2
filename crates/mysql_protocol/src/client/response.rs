//! Answers as owned values, for callers that want them whole.

use crate::constants::{ColumnFlags, ColumnType, StatusFlags};
use crate::encoding::Malformed;
use crate::error::ErrorPacket;
use crate::result::{ColumnDefinition, EndPacket, OkPacket, StatementPrepared};
use crate::value::{Date, DateTime, ParameterValue, Time};

use super::{ColumnsView, Event, RowView};

/// One answer. Each of several result sets is a response.
#[derive(Clone, PartialEq, Debug)]
pub enum Response {
    Connected,
    Ok(Completion),
    Error(ServerError),
    Prepared(StatementPrepared),
    ResultSet(ResultSet),
    Fields(Vec<Column>),
    Text(Vec<u8>),
}

/// The effect of a statement without a result set.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Completion {
    pub affected_rows: u64,
    pub last_insert_id: u64,
    pub status: StatusFlags,
    pub warnings: u16,
    pub info: Vec<u8>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServerError {
    pub errno: u16,
    pub sqlstate: [u8; 5],
    pub message: String,
}

#[derive(Clone, PartialEq, Debug, Default)]
pub struct ResultSet {
    /// Empty for rows that COM_STMT_FETCH brought: the execute had them.
    pub columns: Vec<Column>,
    pub rows: Vec<Vec<Value>>,
    pub status: StatusFlags,
    pub warnings: u16,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Column {
    pub schema: String,
    pub table: String,
    pub original_table: String,
    pub name: String,
    pub original_name: String,
    pub collation: u16,
    pub length: u32,
    pub column_type: ColumnType,
    pub flags: ColumnFlags,
    pub decimals: u8,
}

impl Column {
    fn from_definition(definition: &ColumnDefinition<'_>) -> Self {
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        Self {
            schema: text(definition.schema),
            table: text(definition.table),
            original_table: text(definition.original_table),
            name: text(definition.name),
            original_name: text(definition.original_name),
            collation: definition.collation,
            length: definition.length,
            column_type: definition.column_type,
            flags: definition.flags,
            decimals: definition.decimals,
        }
    }
}

/// [`ParameterValue`], owned. Cells of a text result are all `Bytes` or `Null`.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    Null,
    Int(i64),
    UInt(u64),
    Float(f32),
    Double(f64),
    Bytes(Vec<u8>),
    Date(Date),
    DateTime(DateTime),
    Time(Time),
}

impl Value {
    /// As a parameter of an execute.
    #[must_use]
    pub fn as_parameter(&self) -> ParameterValue<'_> {
        match self {
            Self::Null => ParameterValue::Null,
            Self::Int(value) => ParameterValue::Int(*value),
            Self::UInt(value) => ParameterValue::UInt(*value),
            Self::Float(value) => ParameterValue::Float(*value),
            Self::Double(value) => ParameterValue::Double(*value),
            Self::Bytes(bytes) => ParameterValue::Bytes(bytes),
            Self::Date(date) => ParameterValue::Date(*date),
            Self::DateTime(value) => ParameterValue::DateTime(*value),
            Self::Time(time) => ParameterValue::Time(*time),
        }
    }
}

impl From<ParameterValue<'_>> for Value {
    fn from(value: ParameterValue<'_>) -> Self {
        match value {
            ParameterValue::Null => Self::Null,
            ParameterValue::Int(value) => Self::Int(value),
            ParameterValue::UInt(value) => Self::UInt(value),
            ParameterValue::Float(value) => Self::Float(value),
            ParameterValue::Double(value) => Self::Double(value),
            ParameterValue::Bytes(bytes) => Self::Bytes(bytes.to_vec()),
            ParameterValue::Date(date) => Self::Date(date),
            ParameterValue::DateTime(value) => Self::DateTime(value),
            ParameterValue::Time(time) => Self::Time(time),
        }
    }
}

/// An event, owned, by its part in an answer.
pub(super) enum Piece {
    Whole(Response),
    Columns(Vec<Column>),
    Row(Vec<Value>),
    End(EndPacket),
}

impl Piece {
    pub(super) fn from_event(event: Event<'_>) -> Result<Self, Malformed> {
        Ok(match event {
            Event::Connected => Self::Whole(Response::Connected),
            Event::Ok(OkPacket { affected_rows, last_insert_id, status, warnings, info }) => {
                let info = info.to_vec();
                Self::Whole(Response::Ok(Completion {
                    affected_rows,
                    last_insert_id,
                    status,
                    warnings,
                    info,
                }))
            }
            Event::Error(ErrorPacket { errno, sqlstate, message }) => {
                let message = String::from_utf8_lossy(message).into_owned();
                Self::Whole(Response::Error(ServerError { errno, sqlstate, message }))
            }
            Event::Prepared(prepared) => Self::Whole(Response::Prepared(prepared)),
            Event::Fields(columns) => Self::Whole(Response::Fields(owned_columns(columns))),
            Event::Text(text) => Self::Whole(Response::Text(text.to_vec())),
            Event::Columns(columns) => Self::Columns(owned_columns(columns)),
            Event::Row(row) => Self::Row(owned_row(row)?),
            Event::End(end) => Self::End(end),
        })
    }
}

fn owned_columns(columns: ColumnsView<'_>) -> Vec<Column> {
    columns.definitions().map(|definition| Column::from_definition(&definition)).collect()
}

fn owned_row(row: RowView<'_>) -> Result<Vec<Value>, Malformed> {
    row.cells()?.map(|cell| cell.map(Value::from)).collect()
}
