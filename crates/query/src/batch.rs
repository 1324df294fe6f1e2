//! Rows on their way between nodes and threads.
//!
//! ```text
//! row:   [primary key: length u32, bytes] [index key: length u32, bytes] value count u16, values
//! ```
//! The keys are there if the read program asks for them. Values have the wire form of `types::Value`, written here
//! straight from borrowed values (a test holds the two together).

use expression::Evaluated;
use protocol::program::{ReadProgram, RowBatch};
use stdx::wire::{Decoder, Encoder, WIRE_VERSION, Wire, WireError, decode_bytes, encode_bytes};
use types::{Value, ValueRef};

/// Which keys come with each row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BatchShape {
    /// The primary key bytes.
    pub with_primary_key: bool,
    /// The index key bytes.
    pub with_index_key: bool,
}

impl BatchShape {
    /// The shape of the rows of a program.
    #[must_use]
    pub fn of(program: &ReadProgram) -> Self {
        Self { with_primary_key: program.with_primary_key, with_index_key: program.with_index_key }
    }
}

/// Writes rows into a batch.
#[derive(Debug)]
pub struct RowBatchWriter {
    shape: BatchShape,
    batch: RowBatch,
}

impl RowBatchWriter {
    /// An empty batch.
    #[must_use]
    pub fn new(shape: BatchShape) -> Self {
        Self { shape, batch: RowBatch::default() }
    }

    /// Appends a row.
    pub fn push(&mut self, primary_key: &[u8], index_key: &[u8], values: &[ValueRef<'_>]) {
        let mut encoder = Encoder { bytes: &mut self.batch.bytes, version: WIRE_VERSION };
        if self.shape.with_primary_key {
            encode_bytes(primary_key, &mut encoder);
        }
        if self.shape.with_index_key {
            encode_bytes(index_key, &mut encoder);
        }
        let count = u16::try_from(values.len()).unwrap_or(u16::MAX);
        count.encode(&mut encoder);
        for value in values {
            encode_value(*value, &mut encoder);
        }
        self.batch.count += 1;
    }

    /// Rows so far.
    #[must_use]
    pub fn count(&self) -> usize {
        self.batch.count as usize
    }

    /// Bytes so far.
    #[must_use]
    pub fn size(&self) -> usize {
        self.batch.bytes.len()
    }

    /// The batch.
    #[must_use]
    pub fn finish(self) -> RowBatch {
        self.batch
    }
}

/// Reads values that `encode_value` has written one behind the other.
pub(crate) fn decode_values<'a>(bytes: &'a [u8], values: &mut Vec<Evaluated<'a>>) {
    let mut decoder = Decoder::new(bytes, WIRE_VERSION);
    values.clear();
    while decoder.remaining() > 0 {
        let value = decode_value(&mut decoder);
        stdx::require!(value.is_ok(), "what this module has encoded");
        values.extend(value);
    }
}

/// The wire form of `types::Value`, from a borrowed value.
pub(crate) fn encode_value(value: ValueRef<'_>, encoder: &mut Encoder<'_>) {
    match value {
        ValueRef::Null => encoder.bytes.push(0),
        ValueRef::Int(number) => {
            encoder.bytes.push(1);
            number.encode(encoder);
        }
        ValueRef::UInt(number) => {
            encoder.bytes.push(2);
            number.encode(encoder);
        }
        ValueRef::Bytes(bytes) => {
            encoder.bytes.push(5);
            encode_bytes(bytes, encoder);
        }
        ValueRef::Double(_)
        | ValueRef::Decimal(_)
        | ValueRef::Date(_)
        | ValueRef::Time(_)
        | ValueRef::DateTime(_) => value.to_value().encode(encoder),
    }
}

/// A value as `encode_value` has written it; texts stay where they are.
fn decode_value<'a>(decoder: &mut Decoder<'a>) -> Result<Evaluated<'a>, WireError> {
    let kind = decoder.peek();
    if !matches!(kind, Some(0 | 1 | 2 | 5)) {
        return Value::decode(decoder).map(Evaluated::Owned);
    }
    decoder.take(1)?;
    Ok(Evaluated::Borrowed(match kind {
        Some(1) => ValueRef::Int(i64::decode(decoder)?),
        Some(2) => ValueRef::UInt(u64::decode(decoder)?),
        Some(5) => ValueRef::Bytes(decode_bytes(decoder)?),
        _ => ValueRef::Null,
    }))
}

/// The keys of a row in a batch: those that were asked for, the others empty.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RowKeys<'a> {
    /// Its primary key.
    pub primary: &'a [u8],
    /// The index key it was found by.
    pub index: &'a [u8],
}

/// A row of a batch.
#[derive(Clone, PartialEq, Debug)]
pub struct BatchRow<'a> {
    /// Its primary key, if asked for; else empty.
    pub primary_key: &'a [u8],
    /// The index key it was found by, if asked for; else empty.
    pub index_key: &'a [u8],
    /// Its values.
    pub values: Vec<Value>,
}

/// Reads the rows of a batch that came from a peer.
#[derive(Debug)]
pub struct RowBatchReader<'a> {
    shape: BatchShape,
    left: u32,
    decoder: Decoder<'a>,
}

impl<'a> RowBatchReader<'a> {
    /// Reads `batch`.
    #[must_use]
    pub fn new(shape: BatchShape, batch: &'a RowBatch) -> Self {
        Self { shape, left: batch.count, decoder: Decoder::new(&batch.bytes, WIRE_VERSION) }
    }

    /// Reads the next row: gives its keys, and replaces `values` by its own.
    pub fn next_into(&mut self, values: &mut Vec<Evaluated<'a>>) -> Option<Result<RowKeys<'a>, WireError>> {
        self.left = self.left.checked_sub(1)?;
        values.clear();
        let row = self.read(|value| values.push(value));
        self.left = if row.is_err() { 0 } else { self.left };
        Some(row)
    }

    fn read(&mut self, mut take: impl FnMut(Evaluated<'a>)) -> Result<RowKeys<'a>, WireError> {
        let mut key = |is_there: bool| if is_there { decode_bytes(&mut self.decoder) } else { Ok(&[][..]) };
        let primary = key(self.shape.with_primary_key)?;
        let index = key(self.shape.with_index_key)?;
        for _ in 0..u16::decode(&mut self.decoder)? {
            take(decode_value(&mut self.decoder)?);
        }
        Ok(RowKeys { primary, index })
    }
}

impl<'a> Iterator for RowBatchReader<'a> {
    type Item = Result<BatchRow<'a>, WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let mut values = Vec::new();
        let row = self.read(|value| values.push(value.into_value()));
        self.left = if row.is_err() { 0 } else { self.left };
        Some(row.map(|keys| BatchRow { primary_key: keys.primary, index_key: keys.index, values }))
    }
}
