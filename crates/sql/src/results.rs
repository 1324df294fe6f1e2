//! Results as a client sees them: column definitions, and rows in text or binary form.
//!
//! Definitions are encoded once per prepared statement ([`column_frames`]) and copied into each result. Rows go from
//! borrowed values straight into the connection's send buffer; integers and strings need no memory of their own on the
//! way.
//!
//! A value of a TIMESTAMP column is in UTC; the client sees it in the session's time zone.

#[cfg(test)]
mod tests;

use executor::row::{formatted, shifted};
use mysql_protocol::charset::BINARY;
use mysql_protocol::result::{BinaryRow, RowFormat, TextRow};
use mysql_protocol::{ColumnDefinition, ColumnFlags, ColumnType, PacketWriter};
use planner::plan::ResultColumn;
use protocol::module::SEND_BUFFER_HIGH;
use query::RowSink;
use types::{
    BlobSize, CharacterSet, Collation, DateTime, DefaultValue, IndexDefinition, IndexKind, IntegerWidth,
    NumberFormat, SqlType, ValueRef,
};

/// Column count and definitions as whole packets, to be appended with new numbers.
pub(crate) fn column_frames(columns: &[ResultColumn], results: Option<Collation>) -> Vec<u8> {
    let mut frames = Vec::new();
    if columns.is_empty() {
        return frames;
    }
    let mut writer = PacketWriter::new(&mut frames, 0);
    writer.column_count(u16::try_from(columns.len()).unwrap_or(u16::MAX));
    for column in columns {
        with_definition(column, results, |definition| writer.column_definition(definition));
    }
    frames
}

/// Gives a column's definition to `write`, with its names in the character set of `results`.
pub(crate) fn with_definition(
    column: &ResultColumn,
    results: Option<Collation>,
    write: impl FnOnce(&ColumnDefinition<'_>),
) {
    let plain = definition_of(column, results);
    let Some(set) = results.and_then(Collation::narrow_set) else { return write(&plain) };
    let names =
        [&column.database, &column.table, &column.original_table, &column.name, &column.original_name];
    let [schema, table, original_table, name, original_name] = names.map(|name| {
        let mut bytes = Vec::with_capacity(name.len());
        set.encode(name, &mut bytes);
        bytes
    });
    write(&ColumnDefinition {
        schema: &schema,
        table: &table,
        original_table: &original_table,
        name: &name,
        original_name: &original_name,
        ..plain
    });
}

/// A column as the protocol describes it. Its text is in the character set of `results`; without that, it is UTF-8 and
/// under the column's own collation, if that is one of utf8mb4.
pub(crate) fn definition_of(column: &ResultColumn, results: Option<Collation>) -> ColumnDefinition<'_> {
    let shape = shape_of(&column.sql_type).formatted(&column.sql_type, &column.format);
    let shape = shape.shown_in(column.sql_type.character_collation(), results);
    // A number is binary only where it is computed.
    let is_stored_number = !column.original_name.is_empty() && is_number(&column.sql_type);
    let flags = if is_stored_number { shape.flags.without(ColumnFlags::BINARY) } else { shape.flags };
    let not_null = ColumnFlags::given(ColumnFlags::NOT_NULL, !column.nullable);
    ColumnDefinition {
        schema: column.database.as_bytes(),
        table: column.table.as_bytes(),
        original_table: column.original_table.as_bytes(),
        name: column.name.as_bytes(),
        original_name: column.original_name.as_bytes(),
        collation: shape.collation,
        length: shape.length,
        column_type: shape.column_type,
        flags: flags | not_null | origin_flags(column),
        decimals: shape.decimals,
    }
}

/// The flags that a column has from its table. Only the first part of a key has MULTIPLE_KEY or UNIQUE_KEY.
pub(crate) fn origin_flags(column: &ResultColumn) -> ColumnFlags {
    let Some(origin) = &column.origin else { return ColumnFlags::EMPTY };
    let (table, index) = (&*origin.table, origin.column);
    let column = table.column_at(index);
    let is_moment = matches!(column.sql_type, SqlType::Timestamp { .. });
    let is_now = column.default == DefaultValue::CurrentTimestamp;
    let without_default = column.default == DefaultValue::Missing && !column.flags.nullable;
    let mut flags = ColumnFlags::given(ColumnFlags::AUTO_INCREMENT, table.auto_increment == Some(index))
        | ColumnFlags::given(ColumnFlags::NO_DEFAULT_VALUE, without_default)
        | ColumnFlags::given(ColumnFlags::TIMESTAMP, is_moment && (is_now || column.flags.on_update_now))
        | ColumnFlags::given(ColumnFlags::ON_UPDATE_NOW, column.flags.on_update_now);
    // Without PRIMARY KEY the first unique key of columns that are never NULL acts as it.
    let is_whole = |key: &&IndexDefinition| {
        matches!(key.kind, IndexKind::Unique { .. })
            && key
                .parts
                .iter()
                .all(|part| part.prefix_length.is_none() && !table.column_at(part.column).flags.nullable)
    };
    let declared = table.public_indexes().find(|key| key.kind == IndexKind::Primary);
    let primary = declared.or_else(|| table.public_indexes().find(is_whole)).map(|key| key.id);
    for key in table.public_indexes() {
        let Some(position) = key.parts.iter().position(|part| part.column == index) else { continue };
        flags = flags | ColumnFlags::PART_KEY;
        match key.kind {
            _ if primary == Some(key.id) => flags = flags | ColumnFlags::PRIMARY_KEY,
            IndexKind::Unique { .. } if position == 0 && key.parts.len() == 1 => {
                flags = flags | ColumnFlags::UNIQUE_KEY;
            }
            IndexKind::Unique { .. } | IndexKind::Ordered if position == 0 => {
                flags = flags | ColumnFlags::MULTIPLE_KEY;
            }
            IndexKind::Primary | IndexKind::Unique { .. } | IndexKind::Ordered => {}
        }
    }
    flags
}

/// The part of a definition that follows from the type.
struct Shape {
    column_type: ColumnType,
    length: u32,
    decimals: u8,
    collation: u16,
    flags: ColumnFlags,
}

/// Bytes of one character at most.
const CHARACTER_SIZE: u32 = 4;
/// "Not a fixed number of digits".
const DECIMALS_FLOATING: u8 = 31;

impl Shape {
    fn number(column_type: ColumnType, length: u32) -> Self {
        Self { column_type, length, decimals: 0, collation: BINARY, flags: ColumnFlags::BINARY }
    }

    fn text(column_type: ColumnType, characters: u32, collation: Collation) -> Self {
        let is_binary = collation == Collation::Binary;
        Self {
            column_type,
            length: if is_binary { characters } else { characters.saturating_mul(CHARACTER_SIZE) },
            decimals: 0,
            collation: if is_binary { BINARY } else { collation.mysql_id() },
            flags: ColumnFlags::given(ColumnFlags::BINARY, collation.is_code_point_order()),
        }
    }

    /// Text is described in the client's character set.
    fn shown_in(self, own: Option<Collation>, results: Option<Collation>) -> Self {
        let Some(own) = own else { return self };
        let results = match results {
            Some(results) => results,
            None if own.narrow_set().is_none() => own,
            None => Collation::Utf8mb40900AiCi,
        };
        let length = match self.length {
            u32::MAX => u32::MAX,
            length => (length / CHARACTER_SIZE).saturating_mul(results.set().size_max()),
        };
        Self { collation: results.mysql_id(), length, ..self }
    }

    fn temporal(column_type: ColumnType, length: u32, fraction: u8) -> Self {
        let length = length + if fraction > 0 { u32::from(fraction) + 1 } else { 0 };
        Self { decimals: fraction, ..Self::number(column_type, length) }
    }

    /// With what the table says of its numbers.
    fn formatted(self, sql_type: &SqlType, format: &NumberFormat) -> Self {
        let flags = self.flags
            | ColumnFlags::given(ColumnFlags::UNSIGNED, format.unsigned)
            | ColumnFlags::given(ColumnFlags::ZEROFILL, format.zerofill);
        let length = match format.display_width(sql_type) {
            0 => self.length,
            width => u32::from(width),
        };
        Self { flags, length, decimals: format.scale.unwrap_or(self.decimals), ..self }
    }

    fn with(self, flags: ColumnFlags) -> Self {
        Self { flags: self.flags | flags, ..self }
    }
}

fn blob_length(size: BlobSize) -> u32 {
    match size {
        BlobSize::Tiny => 255,
        BlobSize::Normal => 65_535,
        BlobSize::Medium => 16_777_215,
        BlobSize::Long => u32::MAX,
    }
}

fn shape_of(sql_type: &SqlType) -> Shape {
    match sql_type {
        SqlType::Null => Shape::number(ColumnType::Null, 0),
        SqlType::Integer { width, unsigned } => {
            let column_type = match width {
                IntegerWidth::Tiny => ColumnType::Tiny,
                IntegerWidth::Small => ColumnType::Short,
                IntegerWidth::Medium => ColumnType::Int24,
                IntegerWidth::Normal => ColumnType::Long,
                IntegerWidth::Big => ColumnType::LongLong,
            };
            let length = u32::from(width.digits(*unsigned));
            Shape::number(column_type, length).with(ColumnFlags::given(ColumnFlags::UNSIGNED, *unsigned))
        }
        SqlType::Float => Shape { decimals: DECIMALS_FLOATING, ..Shape::number(ColumnType::Float, 12) },
        SqlType::Double => Shape { decimals: DECIMALS_FLOATING, ..Shape::number(ColumnType::Double, 22) },
        SqlType::Decimal { precision, scale, unsigned } => {
            let length = u32::from(*precision) + u32::from(!*unsigned) + u32::from(*scale > 0);
            let shape = Shape { decimals: *scale, ..Shape::number(ColumnType::NewDecimal, length) };
            shape.with(ColumnFlags::given(ColumnFlags::UNSIGNED, *unsigned))
        }
        SqlType::Bit { length } => {
            Shape::number(ColumnType::Bit, u32::from(*length)).with(ColumnFlags::UNSIGNED)
        }
        SqlType::Char { length, collation } => Shape::text(ColumnType::String, *length, *collation),
        SqlType::VarChar { length, collation } => Shape::text(ColumnType::VarString, *length, *collation),
        SqlType::Binary { length } => Shape::text(ColumnType::String, *length, Collation::Binary),
        SqlType::VarBinary { length } => Shape::text(ColumnType::VarString, *length, Collation::Binary),
        SqlType::Text { size, collation } => {
            let shape = Shape::text(ColumnType::Blob, 0, *collation).with(ColumnFlags::BLOB);
            Shape { length: blob_length(*size).saturating_mul(CHARACTER_SIZE), ..shape }
        }
        SqlType::Blob { size } => {
            let shape = Shape::text(ColumnType::Blob, 0, Collation::Binary).with(ColumnFlags::BLOB);
            Shape { length: blob_length(*size), ..shape }
        }
        SqlType::Enum { members, collation } => {
            Shape::text(ColumnType::String, longest(members), *collation).with(ColumnFlags::ENUM)
        }
        SqlType::Set { members, collation } => {
            let all: usize = members.iter().map(|member| member.chars().count() + 1).sum();
            let length = u32::try_from(all.saturating_sub(1)).unwrap_or(u32::MAX);
            Shape::text(ColumnType::String, length, *collation).with(ColumnFlags::SET)
        }
        SqlType::Date => Shape::number(ColumnType::Date, 10),
        SqlType::Time { fraction } => Shape::temporal(ColumnType::Time, 10, *fraction),
        SqlType::DateTime { fraction } => Shape::temporal(ColumnType::DateTime, 19, *fraction),
        SqlType::Timestamp { fraction } => Shape::temporal(ColumnType::Timestamp, 19, *fraction),
        SqlType::Year => {
            Shape::number(ColumnType::Year, 4).with(ColumnFlags::UNSIGNED | ColumnFlags::ZEROFILL)
        }
        SqlType::Json => {
            Shape { length: u32::MAX, ..Shape::number(ColumnType::Json, 0) }.with(ColumnFlags::BLOB)
        }
    }
}

fn is_number(sql_type: &SqlType) -> bool {
    matches!(
        sql_type,
        SqlType::Integer { .. }
            | SqlType::Decimal { .. }
            | SqlType::Float
            | SqlType::Double
            | SqlType::Bit { .. }
            | SqlType::Year
    )
}

fn longest(members: &[String]) -> u32 {
    let longest = members.iter().map(|member| member.chars().count()).max().unwrap_or(0);
    u32::try_from(longest).unwrap_or(u32::MAX)
}

/// Writes the rows of one result.
pub(crate) struct RowWriter<'a> {
    pub(crate) packets: PacketWriter<'a>,
    pub(crate) format: RowFormat,
    pub(crate) columns: &'a [ResultColumn],
    /// Seconds east of UTC.
    pub(crate) time_zone: i32,
    pub(crate) scratch: &'a mut Vec<u8>,
    /// Rows written.
    pub(crate) count: u64,
    /// Rows still passed over by OFFSET.
    pub(crate) skip: u64,
    /// Rows still wanted by LIMIT.
    pub(crate) left: u64,
}

impl RowWriter<'_> {
    /// Writes one row; values behind the columns are not shown.
    #[inline]
    pub(crate) fn write<'v>(&mut self, values: impl Iterator<Item = ValueRef<'v>>) {
        match self.format {
            RowFormat::Text => {
                let mut row = self.packets.text_row();
                for (value, column) in values.zip(self.columns) {
                    text_cell(&mut row, value, column, self.time_zone, self.scratch);
                }
                row.finish();
            }
            RowFormat::Binary => {
                let mut row = self.packets.binary_row(u16::try_from(self.columns.len()).unwrap_or(u16::MAX));
                for (value, column) in values.zip(self.columns) {
                    binary_cell(&mut row, value, &column.sql_type, self.time_zone, self.scratch);
                }
                row.finish();
            }
        }
        self.count += 1;
    }
}

/// Writes rows of which the client wants text in another character set than UTF-8.
pub(crate) struct TranscodingWriter<'a, 'b> {
    pub(crate) writer: &'a mut RowWriter<'b>,
    pub(crate) set: CharacterSet,
}

impl RowSink for TranscodingWriter<'_, '_> {
    fn row(&mut self, primary_key: &[u8], index_key: &[u8], values: &[ValueRef<'_>]) {
        let columns = self.writer.columns;
        let transcoded =
            values.iter().zip(columns).map(|(value, column)| self.transcoded(*value, &column.sql_type));
        let transcoded: Vec<Option<Vec<u8>>> = transcoded.collect();
        let shown = transcoded.iter().zip(values).map(|(transcoded, value)| match transcoded {
            Some(text) => ValueRef::Bytes(text),
            None => *value,
        });
        let shown: Vec<ValueRef<'_>> = shown.collect();
        self.writer.row(primary_key, index_key, &shown);
    }

    fn is_full(&self) -> bool {
        self.writer.is_full()
    }
}

impl TranscodingWriter<'_, '_> {
    /// The text in the client's character set; None for what is no text.
    fn transcoded(&self, value: ValueRef<'_>, sql_type: &SqlType) -> Option<Vec<u8>> {
        if value.is_null() || (sql_type.character_collation().is_none() && *sql_type != SqlType::Json) {
            return None;
        }
        let mut text = Vec::new();
        types::format_text(value, sql_type, &mut text);
        let mut bytes = Vec::with_capacity(text.len());
        self.set.encode(&String::from_utf8_lossy(&text), &mut bytes);
        Some(bytes)
    }
}

impl RowSink for RowWriter<'_> {
    fn row(&mut self, _: &[u8], _: &[u8], values: &[ValueRef<'_>]) {
        if self.skip > 0 {
            self.skip -= 1;
        } else if self.left > 0 {
            self.left -= 1;
            self.write(values.iter().copied());
        }
    }

    fn is_full(&self) -> bool {
        self.left == 0 || self.packets.buffer_size() >= SEND_BUFFER_HIGH
    }
}

#[inline]
fn text_cell(
    row: &mut TextRow<'_>,
    value: ValueRef<'_>,
    column: &ResultColumn,
    zone: i32,
    scratch: &mut Vec<u8>,
) {
    match (value, &column.sql_type) {
        (ValueRef::Null, _) => row.null(),
        (ValueRef::Int(number), SqlType::Integer { .. }) => row.signed(number),
        (ValueRef::UInt(number), SqlType::Integer { .. }) if !column.format.zerofill => row.unsigned(number),
        (ValueRef::Bytes(bytes), _) => row.bytes(bytes),
        (ValueRef::DateTime(_), SqlType::Timestamp { .. }) => {
            formatted(value, &column.sql_type, zone, scratch);
            row.bytes(scratch);
        }
        (value, sql_type) => {
            scratch.clear();
            types::format_number(value, sql_type, &column.format, scratch);
            row.bytes(scratch);
        }
    }
}

fn signed_of(value: ValueRef<'_>) -> i64 {
    match value {
        ValueRef::Int(number) => number,
        ValueRef::UInt(number) => number.cast_signed(),
        ValueRef::Double(number) => double_to_i64(number),
        ValueRef::Decimal(decimal) => decimal.to_decimal().to_i64().unwrap_or(0),
        ValueRef::Null
        | ValueRef::Bytes(_)
        | ValueRef::Date(_)
        | ValueRef::Time(_)
        | ValueRef::DateTime(_) => 0,
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a float cast saturates")]
fn double_to_i64(number: f64) -> i64 {
    number.round() as i64
}

#[expect(clippy::cast_precision_loss, reason = "the nearest double is what the client asked for")]
fn double_of(value: ValueRef<'_>) -> f64 {
    match value {
        ValueRef::Double(number) => number,
        ValueRef::Int(number) => number as f64,
        ValueRef::UInt(number) => number as f64,
        ValueRef::Decimal(decimal) => decimal.to_decimal().to_f64(),
        ValueRef::Null
        | ValueRef::Bytes(_)
        | ValueRef::Date(_)
        | ValueRef::Time(_)
        | ValueRef::DateTime(_) => 0.0,
    }
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "a column's values fit its declared width")]
fn binary_integer(row: &mut BinaryRow<'_>, value: ValueRef<'_>, width: IntegerWidth, unsigned: bool) {
    let number = signed_of(value);
    match (width, unsigned) {
        (IntegerWidth::Tiny, false) => row.tiny(number as i8),
        (IntegerWidth::Tiny, true) => row.unsigned_tiny(number.cast_unsigned() as u8),
        (IntegerWidth::Small, false) => row.short(number as i16),
        (IntegerWidth::Small, true) => row.unsigned_short(number.cast_unsigned() as u16),
        (IntegerWidth::Medium | IntegerWidth::Normal, false) => row.long(number as i32),
        (IntegerWidth::Medium | IntegerWidth::Normal, true) => {
            row.unsigned_long(number.cast_unsigned() as u32)
        }
        (IntegerWidth::Big, false) => row.long_long(number),
        (IntegerWidth::Big, true) => row.unsigned_long_long(number.cast_unsigned()),
    }
}

#[inline]
fn binary_cell(
    row: &mut BinaryRow<'_>,
    value: ValueRef<'_>,
    sql_type: &SqlType,
    zone: i32,
    scratch: &mut Vec<u8>,
) {
    match (value, sql_type) {
        (ValueRef::Null, _) | (_, SqlType::Null) => row.null(),
        (
            ValueRef::Bytes(bytes),
            SqlType::Char { .. } | SqlType::VarChar { .. } | SqlType::Text { .. } | SqlType::Blob { .. },
        ) => row.bytes(bytes),
        (_, SqlType::Integer { width, unsigned }) => binary_integer(row, value, *width, *unsigned),
        #[expect(clippy::cast_possible_truncation, reason = "a FLOAT column's value is an f32")]
        (_, SqlType::Float) => row.float(double_of(value) as f32),
        (_, SqlType::Double) => row.double(double_of(value)),
        (_, SqlType::Year) => row.unsigned_short(u16::try_from(signed_of(value)).unwrap_or(0)),
        (ValueRef::Date(date), SqlType::Date) => row.date(wire_date(date)),
        (ValueRef::DateTime(moment), SqlType::DateTime { .. }) => row.date_time(wire_date_time(moment)),
        (ValueRef::Date(date), SqlType::DateTime { .. } | SqlType::Timestamp { .. }) => {
            row.date_time(wire_date_time(date.at_midnight()));
        }
        (ValueRef::DateTime(moment), SqlType::Timestamp { .. }) => {
            row.date_time(wire_date_time(shifted(moment, zone)))
        }
        (ValueRef::DateTime(moment), SqlType::Date) => row.date(wire_date(moment.date())),
        (ValueRef::Time(time), SqlType::Time { .. }) => row.time(wire_time(time)),
        (_, SqlType::Date) => row.date(mysql_protocol::Date::default()),
        (_, SqlType::DateTime { .. } | SqlType::Timestamp { .. }) => {
            row.date_time(mysql_protocol::DateTime::default())
        }
        (_, SqlType::Time { .. }) => row.time(mysql_protocol::Time::default()),
        (value, _) => {
            formatted(value, sql_type, zone, scratch);
            row.bytes(scratch);
        }
    }
}

fn byte(number: u32) -> u8 {
    u8::try_from(number).unwrap_or(0)
}

fn wire_date(date: types::Date) -> mysql_protocol::Date {
    let year = u16::try_from(date.year()).unwrap_or(0);
    mysql_protocol::Date { year, month: byte(date.month()), day: byte(date.day()) }
}

fn wire_date_time(moment: DateTime) -> mysql_protocol::DateTime {
    let mysql_protocol::Date { year, month, day } = wire_date(moment.date());
    mysql_protocol::DateTime {
        year,
        month,
        day,
        hour: byte(moment.hour()),
        minute: byte(moment.minute()),
        second: byte(moment.second()),
        microsecond: moment.microsecond(),
    }
}

fn wire_time(time: types::Time) -> mysql_protocol::Time {
    mysql_protocol::Time {
        negative: time.is_negative(),
        days: time.hours() / 24,
        hours: byte(time.hours() % 24),
        minutes: byte(time.minute()),
        seconds: byte(time.second()),
        microseconds: time.microsecond(),
    }
}
