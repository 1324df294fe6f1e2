//! Parameters of COM_STMT_EXECUTE, and the attributes of COM_QUERY, which have the same shape: a NULL bitmap, types
//! (with names, where query attributes were negotiated), values one after the other.
//!
//! A client sends types once and then only if they change, so the statement keeps them in [`ParameterTypes`]. Values
//! sent ahead by COM_STMT_SEND_LONG_DATA wait in [`LongData`] and are missing from the execute.
//!
//! **Invariants.** Values are decoded as they are asked for and borrow from the packet or from the long data. Types are
//! replaced as a whole or not at all. Memory grows only with bytes received.

use std::collections::BTreeMap;

use crate::constants::{Capabilities, ColumnType};
use crate::encoding::{Reader, append_lenenc_bytes};
use crate::error::CommandError;
use crate::value::ParameterValue;

/// How a client binds one parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ParameterType {
    pub column_type: ColumnType,
    pub unsigned: bool,
}

const UNSIGNED: u16 = 0x8000;

impl ParameterType {
    #[must_use]
    pub fn from_wire(wire: u16) -> Option<Self> {
        let [column_type, _] = wire.to_le_bytes();
        let column_type = ColumnType::from_byte(column_type)?;
        Some(Self { column_type, unsigned: wire & UNSIGNED != 0 })
    }

    #[must_use]
    pub fn to_wire(self) -> u16 {
        u16::from(self.column_type.byte()) | if self.unsigned { UNSIGNED } else { 0 }
    }
}

/// The types that a statement's parameters were last bound with.
#[derive(Clone, Debug, Default)]
pub struct ParameterTypes {
    types: Vec<ParameterType>,
}

impl ParameterTypes {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Empty until the first execute; may be longer than the parameters (attributes follow them).
    #[must_use]
    pub fn as_slice(&self) -> &[ParameterType] {
        &self.types
    }

    fn replace(&mut self, reader: &mut Reader<'_>, count: usize, names: Names) -> Result<(), CommandError> {
        self.types.clear();
        let result = (0..count).try_for_each(|_| {
            let (parameter_type, _) = read_definition(reader, names)?;
            self.types.push(parameter_type);
            Ok(())
        });
        if result.is_err() {
            self.types.clear();
        }
        result
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Names {
    Sent,
    Absent,
}

fn read_definition<'a>(
    reader: &mut Reader<'a>,
    names: Names,
) -> Result<(ParameterType, &'a [u8]), CommandError> {
    let parameter_type = ParameterType::from_wire(reader.u16()?).ok_or(CommandError::WrongArguments)?;
    let name = if names == Names::Sent { reader.lenenc_bytes()? } else { &[] };
    Ok((parameter_type, name))
}

fn is_null(null_bitmap: &[u8], index: usize) -> bool {
    null_bitmap.get(index / 8).is_some_and(|bits| bits & (1 << (index % 8)) != 0)
}

/// Parameters sent ahead of the execute, piece by piece. Belongs to a statement; COM_STMT_RESET and the execute
/// that used it clear it.
#[derive(Clone, Debug, Default)]
pub struct LongData {
    parameters: BTreeMap<u16, Vec<u8>>,
    size: usize,
    /// Why pieces were dropped: the command has no answer that could say so earlier than the execute.
    refused: Option<CommandError>,
}

impl LongData {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a piece. Bytes beyond `size_max` for the statement are dropped, and its execute is refused: the command has
    /// no answer that could say so earlier.
    pub fn append(&mut self, parameter: u16, data: &[u8], size_max: usize) {
        if self.refused.is_some() {
            return;
        }
        if data.len() > size_max.saturating_sub(self.size) {
            *self = Self { refused: Some(CommandError::LongDataTooLarge), ..Self::default() };
            return;
        }
        self.size += data.len();
        self.parameters.entry(parameter).or_default().extend_from_slice(data);
    }

    /// There is no memory for it: it is dropped, and the execute refused.
    pub fn refuse_for_memory(&mut self) {
        *self = Self { refused: Some(CommandError::LongDataWithoutMemory), ..Self::default() };
    }

    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Bytes kept.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }

    fn get(&self, index: usize) -> Option<&[u8]> {
        self.parameters.get(&u16::try_from(index).ok()?).map(Vec::as_slice)
    }
}

/// The body of an execute, after statement id, flags and iteration count.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExecuteBody<'a> {
    pub(crate) bytes: &'a [u8],
    /// The client counted its parameters even if the statement has none.
    pub(crate) count_sent: bool,
}

impl<'a> ExecuteBody<'a> {
    pub(crate) fn parameters<'statement>(
        self,
        parameter_count: u16,
        types: &'statement mut ParameterTypes,
        long_data: &'a LongData,
        capabilities: Capabilities,
    ) -> Result<Parameters<'a, 'statement>, CommandError> {
        if let Some(error) = long_data.refused {
            return Err(error);
        }
        let count = usize::from(parameter_count);
        let attributes = capabilities.contains(Capabilities::QUERY_ATTRIBUTES);
        let mut reader = Reader::new(self.bytes);
        let mut sent_count = count;
        if attributes && (count > 0 || self.count_sent) {
            sent_count = reader.lenenc_size()?;
        }
        if sent_count < count {
            return Err(CommandError::WrongArguments);
        }
        if sent_count == 0 {
            return Ok(Parameters { reader, null_bitmap: &[], types: &[], long_data, index: 0 });
        }
        let null_bitmap = reader.bytes(sent_count.div_ceil(8))?;
        if reader.u8()? == 1 {
            types.replace(&mut reader, sent_count, if attributes { Names::Sent } else { Names::Absent })?;
        }
        let types = types.types.get(..count).ok_or(CommandError::WrongArguments)?;
        Ok(Parameters { reader, null_bitmap, types, long_data, index: 0 })
    }
}

/// The values of a statement's parameters, in order. Ends after the first error.
///
/// Query attributes that came with the execute are behind the last parameter and are not decoded: no statement can
/// read them.
#[derive(Clone, Debug)]
pub struct Parameters<'a, 'statement> {
    reader: Reader<'a>,
    null_bitmap: &'a [u8],
    types: &'statement [ParameterType],
    long_data: &'a LongData,
    index: usize,
}

impl<'a> Iterator for Parameters<'a, '_> {
    type Item = Result<ParameterValue<'a>, CommandError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let parameter_type = *self.types.get(self.index)?;
        let index = self.index;
        self.index += 1;
        if let Some(bytes) = self.long_data.get(index) {
            return Some(Ok(ParameterValue::Bytes(bytes)));
        }
        if is_null(self.null_bitmap, index) {
            return Some(Ok(ParameterValue::Null));
        }
        let value = ParameterValue::read(&mut self.reader, parameter_type);
        if value.is_err() {
            self.types = &[];
        }
        Some(value.map_err(CommandError::from))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.types.len().saturating_sub(self.index);
        (0, Some(left))
    }
}

/// Named values that a client attached to a COM_QUERY.
///
/// **Invariant**: checked when the command was parsed, so iteration meets no error.
#[derive(Clone, Copy, Debug, Default)]
pub struct QueryAttributes<'a> {
    count: usize,
    null_bitmap: &'a [u8],
    definitions: &'a [u8],
    values: &'a [u8],
}

impl<'a> QueryAttributes<'a> {
    pub(crate) fn read(reader: &mut Reader<'a>) -> Result<Self, CommandError> {
        let count = reader.lenenc_size()?;
        let set_count = reader.lenenc_integer()?;
        if set_count != 1 {
            return Err(CommandError::Malformed);
        }
        if count == 0 {
            return Ok(Self::default());
        }
        let null_bitmap = reader.bytes(count.div_ceil(8))?;
        if reader.u8()? != 1 {
            return Err(CommandError::Malformed);
        }
        let definitions = reader.rest();
        for _ in 0..count {
            read_definition(reader, Names::Sent)?;
        }
        let definitions = &definitions[..definitions.len() - reader.rest().len()];
        let mut attributes = Self { count, null_bitmap, definitions, values: reader.rest() };
        let mut entries = attributes.entries();
        entries.by_ref().try_for_each(|entry| entry.map(|_| ()))?;
        *reader = entries.values;
        let values_size = attributes.values.len() - reader.rest().len();
        attributes.values = &attributes.values[..values_size];
        Ok(attributes)
    }

    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Name and value of each.
    pub fn iter(&self) -> impl Iterator<Item = (&'a [u8], ParameterValue<'a>)> {
        self.entries().map_while(Result::ok)
    }

    fn entries(&self) -> AttributeEntries<'a> {
        AttributeEntries {
            indexes: 0..self.count,
            null_bitmap: self.null_bitmap,
            definitions: Reader::new(self.definitions),
            values: Reader::new(self.values),
        }
    }
}

struct AttributeEntries<'a> {
    indexes: std::ops::Range<usize>,
    null_bitmap: &'a [u8],
    definitions: Reader<'a>,
    values: Reader<'a>,
}

impl<'a> AttributeEntries<'a> {
    fn entry(&mut self, index: usize) -> Result<(&'a [u8], ParameterValue<'a>), CommandError> {
        let (parameter_type, name) = read_definition(&mut self.definitions, Names::Sent)?;
        if is_null(self.null_bitmap, index) {
            return Ok((name, ParameterValue::Null));
        }
        Ok((name, ParameterValue::read(&mut self.values, parameter_type)?))
    }
}

impl<'a> Iterator for AttributeEntries<'a> {
    type Item = Result<(&'a [u8], ParameterValue<'a>), CommandError>;

    fn next(&mut self) -> Option<Self::Item> {
        let index = self.indexes.next()?;
        Some(self.entry(index))
    }
}

/// A client's argument for one parameter.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Argument<'a> {
    Value(ParameterValue<'a>),
    /// By COM_STMT_SEND_LONG_DATA.
    SentAhead,
}

impl Argument<'_> {
    fn parameter_type(&self) -> ParameterType {
        match self {
            Self::Value(value) => value.parameter_type(),
            Self::SentAhead => ParameterType { column_type: ColumnType::Blob, unsigned: false },
        }
    }
}

/// Appends what [`ExecuteBody::parameters`] and [`QueryAttributes::read`] take, from the NULL bitmap on.
pub(crate) fn append_parameters<'a>(
    buffer: &mut Vec<u8>,
    arguments: impl Iterator<Item = (&'a [u8], Argument<'a>)> + Clone,
    capabilities: Capabilities,
) {
    let bitmap_start = buffer.len();
    for (index, (_, argument)) in arguments.clone().enumerate() {
        if index % 8 == 0 {
            buffer.push(0);
        }
        if argument == Argument::Value(ParameterValue::Null) {
            buffer[bitmap_start + index / 8] |= 1 << (index % 8);
        }
    }
    // Types are sent each time: the client half does not keep what it sent before.
    buffer.push(1);
    for (name, argument) in arguments.clone() {
        buffer.extend_from_slice(&argument.parameter_type().to_wire().to_le_bytes());
        if capabilities.contains(Capabilities::QUERY_ATTRIBUTES) {
            append_lenenc_bytes(buffer, name);
        }
    }
    for (_, argument) in arguments {
        if let Argument::Value(value) = argument {
            value.append(buffer);
        }
    }
}

#[cfg(test)]
mod tests;
