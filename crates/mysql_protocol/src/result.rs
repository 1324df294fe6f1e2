//! Answers of a server: OK and EOF packets, column definitions, text and binary rows, prepared statements.
//!
//! A result set is: column count; the definitions; [`PacketWriter::end_of_columns`]; rows; and
//! [`PacketWriter::end_of_rows`] or an error. Clients that negotiated `DEPRECATE_EOF` get no EOF packet after the
//! columns and an OK packet in place of the one after the rows; the writers here know. For a cursor,
//! `end_of_rows` with `CURSOR_EXISTS` follows the definitions directly.
//!
//! **Invariants.** Writers append to the reply buffer and allocate nothing else. A binary row has exactly as many
//! values as it was begun with.

use crate::constants::{Capabilities, ColumnFlags, ColumnType, StatusFlags};
use crate::encoding::{DecimalText, Malformed, Reader};
use crate::framing::{OpenPacket, PacketWriter};
use crate::parameters::ParameterType;
use crate::value::{Date, DateEncoding, DateTime, ParameterValue, Time};

/// NULL in a text row.
const TEXT_NULL: u8 = 0xFB;

/// The effect of a statement without a result set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OkPacket<'a> {
    pub affected_rows: u64,
    pub last_insert_id: u64,
    pub status: StatusFlags,
    pub warnings: u16,
    /// For a human: "Rows matched: 1 …".
    pub info: &'a [u8],
}

impl<'a> OkPacket<'a> {
    pub const HEADER: u8 = 0x00;

    /// An OK packet that is not the end of a result set.
    pub fn parse(payload: &'a [u8]) -> Result<Self, Malformed> {
        Self::parse_with_header(payload, Self::HEADER)
    }

    fn parse_with_header(payload: &'a [u8], header: u8) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        if reader.u8()? != header {
            return Err(Malformed);
        }
        let affected_rows = reader.lenenc_integer()?;
        let last_insert_id = reader.lenenc_integer()?;
        let status = StatusFlags::from_bits(reader.u16()?);
        let warnings = reader.u16()?;
        let info = if reader.is_empty() { &[] } else { reader.lenenc_bytes()? };
        Ok(Self { affected_rows, last_insert_id, status, warnings, info })
    }
}

/// The end of rows or of definitions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EndPacket {
    pub status: StatusFlags,
    pub warnings: u16,
}

impl EndPacket {
    pub const HEADER: u8 = 0xFE;
    /// Without `DEPRECATE_EOF`, a payload that starts like the end but is at least this long is a row.
    const EOF_SIZE_MAX: usize = 8;

    /// Whether `payload`, where a row could stand, is the end of the rows. A row may start with the same byte, but only
    /// if it has a first value of 16 MiB or more.
    #[must_use]
    pub fn is_end(payload: &[u8], capabilities: Capabilities) -> bool {
        let size_max = if capabilities.contains(Capabilities::DEPRECATE_EOF) {
            crate::framing::FRAME_PAYLOAD_SIZE_MAX - 1
        } else {
            Self::EOF_SIZE_MAX
        };
        payload.first() == Some(&Self::HEADER) && payload.len() <= size_max
    }

    pub fn parse(payload: &[u8], capabilities: Capabilities) -> Result<Self, Malformed> {
        if capabilities.contains(Capabilities::DEPRECATE_EOF) {
            let OkPacket { status, warnings, .. } = OkPacket::parse_with_header(payload, Self::HEADER)?;
            return Ok(Self { status, warnings });
        }
        let mut reader = Reader::new(payload);
        if reader.u8()? != Self::HEADER {
            return Err(Malformed);
        }
        let warnings = reader.u16()?;
        Ok(Self { status: StatusFlags::from_bits(reader.u16()?), warnings })
    }
}

/// ColumnDefinition41: one column of a result set, or one parameter of a prepared statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ColumnDefinition<'a> {
    pub schema: &'a [u8],
    /// The table's alias.
    pub table: &'a [u8],
    pub original_table: &'a [u8],
    /// The column's alias.
    pub name: &'a [u8],
    pub original_name: &'a [u8],
    /// Collation id of its text; `charset::BINARY` if it is none.
    pub collation: u16,
    /// Bytes that a value takes at most.
    pub length: u32,
    pub column_type: ColumnType,
    pub flags: ColumnFlags,
    /// Digits after the point; 31 for floating point without a fixed number of them.
    pub decimals: u8,
}

/// Every server calls its catalogue so.
const CATALOGUE: &[u8] = b"def";

/// Size of what follows the names.
const FIXED_FIELDS_SIZE: u64 = 12;

impl<'a> ColumnDefinition<'a> {
    pub fn parse(payload: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        let _catalogue = reader.lenenc_bytes()?;
        let schema = reader.lenenc_bytes()?;
        let table = reader.lenenc_bytes()?;
        let original_table = reader.lenenc_bytes()?;
        let name = reader.lenenc_bytes()?;
        let original_name = reader.lenenc_bytes()?;
        let mut fixed = Reader::new(reader.lenenc_bytes()?);
        let collation = fixed.u16()?;
        let length = fixed.u32()?;
        let column_type = ColumnType::from_byte(fixed.u8()?).ok_or(Malformed)?;
        let flags = ColumnFlags::from_bits(fixed.u16()?);
        let decimals = fixed.u8()?;
        Ok(Self {
            schema,
            table,
            original_table,
            name,
            original_name,
            collation,
            length,
            column_type,
            flags,
            decimals,
        })
    }

    /// How its values travel in binary rows.
    #[must_use]
    pub fn value_type(&self) -> ParameterType {
        let unsigned = self.flags.contains(ColumnFlags::UNSIGNED);
        ParameterType { column_type: self.column_type, unsigned }
    }

    fn write(&self, packet: &mut OpenPacket<'_>) {
        for text in [CATALOGUE, self.schema, self.table, self.original_table, self.name, self.original_name] {
            packet.lenenc_bytes(text);
        }
        packet.lenenc_integer(FIXED_FIELDS_SIZE);
        packet.u16(self.collation);
        packet.u32(self.length);
        packet.u8(self.column_type.byte());
        packet.u16(self.flags.bits());
        packet.u8(self.decimals);
        packet.u16(0);
    }
}

/// COM_STMT_PREPARE's first answer. Definitions of the parameters, then of the columns follow, each (if there are
/// any) with [`PacketWriter::end_of_columns`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StatementPrepared {
    pub statement_id: u32,
    pub column_count: u16,
    pub parameter_count: u16,
    pub warnings: u16,
}

impl StatementPrepared {
    pub fn parse(payload: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        if reader.u8()? != OkPacket::HEADER {
            return Err(Malformed);
        }
        let statement_id = reader.u32()?;
        let column_count = reader.u16()?;
        let parameter_count = reader.u16()?;
        reader.u8()?;
        let warnings = reader.u16()?;
        Ok(Self { statement_id, column_count, parameter_count, warnings })
    }
}

impl PacketWriter<'_> {
    pub fn ok(&mut self, ok: &OkPacket<'_>) {
        self.ok_with_header(ok, OkPacket::HEADER);
    }

    fn ok_with_header(&mut self, ok: &OkPacket<'_>, header: u8) {
        let mut packet = self.open();
        packet.u8(header);
        packet.lenenc_integer(ok.affected_rows);
        packet.lenenc_integer(ok.last_insert_id);
        packet.u16(ok.status.bits());
        packet.u16(ok.warnings);
        // The manual says "to the end of the packet"; servers and clients agree on a counted string.
        if !ok.info.is_empty() {
            packet.lenenc_bytes(ok.info);
        }
        packet.finish();
    }

    /// Begins a result set.
    pub fn column_count(&mut self, count: u16) {
        stdx::require!(count > 0, "a result set without columns");
        let mut packet = self.open();
        packet.lenenc_integer(count.into());
        packet.finish();
    }

    pub fn column_definition(&mut self, column: &ColumnDefinition<'_>) {
        let mut packet = self.open();
        column.write(&mut packet);
        packet.finish();
    }

    /// A definition as COM_FIELD_LIST wants it: with the column's default, `None` for NULL.
    pub fn column_definition_with_default(&mut self, column: &ColumnDefinition<'_>, default: Option<&[u8]>) {
        let mut packet = self.open();
        column.write(&mut packet);
        match default {
            Some(default) => packet.lenenc_bytes(default),
            None => packet.u8(TEXT_NULL),
        }
        packet.finish();
    }

    /// After the last definition: an EOF packet, or nothing where EOF is deprecated.
    #[inline]
    pub fn end_of_columns(&mut self, capabilities: Capabilities, end: EndPacket) {
        if !capabilities.contains(Capabilities::DEPRECATE_EOF) {
            self.eof(end);
        }
    }

    /// After the last row.
    #[inline]
    pub fn end_of_rows(&mut self, capabilities: Capabilities, end: EndPacket) {
        if capabilities.contains(Capabilities::DEPRECATE_EOF) {
            let EndPacket { status, warnings } = end;
            self.ok_with_header(&OkPacket { status, warnings, ..OkPacket::default() }, EndPacket::HEADER);
        } else {
            self.eof(end);
        }
    }

    /// An EOF packet of the old form, whatever was negotiated.
    pub fn eof(&mut self, end: EndPacket) {
        let mut packet = self.open();
        packet.u8(EndPacket::HEADER);
        packet.u16(end.warnings);
        packet.u16(end.status.bits());
        packet.finish();
    }

    pub fn statement_prepared(&mut self, prepared: &StatementPrepared) {
        let mut packet = self.open();
        packet.u8(OkPacket::HEADER);
        packet.u32(prepared.statement_id);
        packet.u16(prepared.column_count);
        packet.u16(prepared.parameter_count);
        packet.u8(0);
        packet.u16(prepared.warnings);
        packet.finish();
    }

    /// Begins a row of a COM_QUERY's result.
    #[inline]
    pub fn text_row(&mut self) -> TextRow<'_> {
        TextRow { packet: self.open() }
    }

    /// Begins a row of a COM_STMT_EXECUTE's result.
    #[inline]
    pub fn binary_row(&mut self, column_count: u16) -> BinaryRow<'_> {
        let mut packet = self.open();
        packet.u8(OkPacket::HEADER);
        let mut bitmap_size = null_bitmap_size(column_count.into());
        while bitmap_size > 0 {
            let size = bitmap_size.min(NO_NULLS.len());
            packet.bytes(&NO_NULLS[..size]);
            bitmap_size -= size;
        }
        BinaryRow { packet, column_count: column_count.into(), index: 0 }
    }
}

/// A piece of a NULL bitmap in which nothing is NULL.
const NO_NULLS: [u8; 32] = [0; 32];

/// The two lowest bits of a binary row's bitmap belong to no column.
const NULL_BITMAP_OFFSET: usize = 2;

fn null_bitmap_size(column_count: usize) -> usize {
    (column_count + NULL_BITMAP_OFFSET).div_ceil(8)
}

/// A row whose values are text. Nothing is sent unless it is finished.
#[derive(Debug)]
pub struct TextRow<'a> {
    packet: OpenPacket<'a>,
}

impl TextRow<'_> {
    #[inline]
    pub fn null(&mut self) {
        self.packet.u8(TEXT_NULL);
    }

    /// Text, or anything that has been made text.
    #[inline]
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.packet.lenenc_bytes(bytes);
    }

    #[inline]
    pub fn signed(&mut self, value: i64) {
        self.packet.lenenc_decimal(&DecimalText::from_i64(value));
    }

    #[inline]
    pub fn unsigned(&mut self, value: u64) {
        self.packet.lenenc_decimal(&DecimalText::from_u64(value));
    }

    #[inline]
    pub fn finish(self) {
        self.packet.finish();
    }
}

/// A row whose values have the types of their columns. Nothing is sent unless it is finished.
///
/// The value's method must be that of the column's type: the client reads by the definition it was sent.
#[derive(Debug)]
pub struct BinaryRow<'a> {
    packet: OpenPacket<'a>,
    column_count: usize,
    /// The index of the next value.
    index: usize,
}

impl BinaryRow<'_> {
    #[inline]
    pub fn null(&mut self) {
        let bit = self.index + NULL_BITMAP_OFFSET;
        self.advance();
        self.packet.set_bits(1 + bit / 8, 1 << (bit % 8));
    }

    /// TINYINT, BOOL.
    #[inline]
    pub fn tiny(&mut self, value: i8) {
        self.advance();
        self.packet.bytes(&value.to_le_bytes());
    }

    #[inline]
    pub fn unsigned_tiny(&mut self, value: u8) {
        self.advance();
        self.packet.u8(value);
    }

    /// SMALLINT.
    #[inline]
    pub fn short(&mut self, value: i16) {
        self.advance();
        self.packet.bytes(&value.to_le_bytes());
    }

    /// SMALLINT UNSIGNED, YEAR.
    #[inline]
    pub fn unsigned_short(&mut self, value: u16) {
        self.advance();
        self.packet.u16(value);
    }

    /// INT, MEDIUMINT.
    #[inline]
    pub fn long(&mut self, value: i32) {
        self.advance();
        self.packet.bytes(&value.to_le_bytes());
    }

    #[inline]
    pub fn unsigned_long(&mut self, value: u32) {
        self.advance();
        self.packet.u32(value);
    }

    /// BIGINT.
    #[inline]
    pub fn long_long(&mut self, value: i64) {
        self.advance();
        self.packet.bytes(&value.to_le_bytes());
    }

    #[inline]
    pub fn unsigned_long_long(&mut self, value: u64) {
        self.advance();
        self.packet.u64(value);
    }

    #[inline]
    pub fn float(&mut self, value: f32) {
        self.advance();
        self.packet.bytes(&value.to_le_bytes());
    }

    #[inline]
    pub fn double(&mut self, value: f64) {
        self.advance();
        self.packet.bytes(&value.to_le_bytes());
    }

    #[inline]
    pub fn date(&mut self, date: Date) {
        self.advance();
        self.packet.bytes(DateEncoding::of_date(date).as_bytes());
    }

    /// DATETIME, TIMESTAMP.
    #[inline]
    pub fn date_time(&mut self, value: DateTime) {
        self.advance();
        self.packet.bytes(DateEncoding::of_date_time(value).as_bytes());
    }

    #[inline]
    pub fn time(&mut self, time: Time) {
        self.advance();
        self.packet.bytes(DateEncoding::of_time(time).as_bytes());
    }

    /// Strings, BLOBs, DECIMAL text, JSON, ENUM, SET, BIT.
    #[inline]
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.advance();
        self.packet.lenenc_bytes(bytes);
    }

    #[inline]
    pub fn finish(self) {
        stdx::require!(self.index == self.column_count, "{} of {} values", self.index, self.column_count);
        self.packet.finish();
    }

    #[inline]
    fn advance(&mut self) {
        stdx::require!(self.index < self.column_count, "more than {} values", self.column_count);
        self.index += 1;
    }
}

/// How the cells of a row are encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RowFormat {
    Text,
    Binary,
}

/// A row received, decoded cell by cell. Cells of a text row are bytes or NULL. Ends after the first error.
#[derive(Clone, Debug)]
pub struct RowCells<'a> {
    reader: Reader<'a>,
    /// Empty for text rows.
    null_bitmap: &'a [u8],
    format: RowFormat,
    types: &'a [ParameterType],
    index: usize,
}

impl<'a> RowCells<'a> {
    /// `types` are those of the columns.
    pub fn new(payload: &'a [u8], format: RowFormat, types: &'a [ParameterType]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        let mut null_bitmap: &[u8] = &[];
        if format == RowFormat::Binary {
            if reader.u8()? != OkPacket::HEADER {
                return Err(Malformed);
            }
            null_bitmap = reader.bytes(null_bitmap_size(types.len()))?;
        }
        Ok(Self { reader, null_bitmap, format, types, index: 0 })
    }

    fn cell(&mut self, column_type: ParameterType) -> Result<ParameterValue<'a>, Malformed> {
        match self.format {
            RowFormat::Text if self.reader.rest().first() == Some(&TEXT_NULL) => {
                self.reader.u8().map(|_| ParameterValue::Null)
            }
            RowFormat::Text => self.reader.lenenc_bytes().map(ParameterValue::Bytes),
            RowFormat::Binary => {
                let bit = self.index + NULL_BITMAP_OFFSET;
                if self.null_bitmap[bit / 8] & (1 << (bit % 8)) != 0 {
                    return Ok(ParameterValue::Null);
                }
                ParameterValue::read(&mut self.reader, column_type)
            }
        }
    }
}

impl<'a> Iterator for RowCells<'a> {
    type Item = Result<ParameterValue<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        let column_type = *self.types.get(self.index)?;
        let cell = self.cell(column_type);
        self.index += 1;
        if cell.is_err() {
            self.types = &[];
        }
        Some(cell)
    }
}

#[cfg(test)]
mod tests;
