//! The binary form of everything that leaves a node or is stored in a system table.
//!
//! Little-endian fixed-width integers, one-byte enum tags, `u32` counts. A value is written and read at a *wire
//! version*. Fields marked `#[wire(since = V)]` are omitted below `V` and defaulted when read. So version N and N-1
//! understand each other during a rolling upgrade. `wire_derive` writes the implementations; nobody pushes bytes per
//! signal.
//!
//! Invariants: decoding is total (any bytes give a value or a [`WireError`]), never allocates more than a small
//! multiple of the input's length, and never recurses deeper than [`DEPTH_MAX`].

use smallvec::SmallVec;
use std::sync::Arc;

/// The version this build writes to peers of its own age.
pub const WIRE_VERSION: u16 = 9;
/// How deep recursive values (expressions, plans) may nest.
pub const DEPTH_MAX: u32 = 512;

/// Why bytes are not a value. The sender is refused; nobody else notices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireError {
    /// The input ended inside a value.
    Truncated,
    /// A tag or a flag that no variant has.
    UnknownTag,
    /// A count larger than what the remaining input can hold, or a limit exceeded.
    TooLarge,
    /// Text that is not UTF-8, or a number out of its type's range.
    Malformed,
    /// Nested deeper than [`DEPTH_MAX`].
    TooDeep,
    /// Bytes were left over behind a complete value.
    TrailingBytes,
}

impl std::fmt::Display for WireError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Truncated => "the input ends inside a value",
            Self::UnknownTag => "unknown tag",
            Self::TooLarge => "a count exceeds the input or a limit",
            Self::Malformed => "malformed text or number",
            Self::TooDeep => "nested too deeply",
            Self::TrailingBytes => "bytes are left over behind the value",
        })
    }
}

/// Where values are written.
#[derive(Debug)]
pub struct Encoder<'a> {
    /// The bytes so far. The maker of the encoder may have put a header before them.
    pub bytes: &'a mut Vec<u8>,
    /// The wire version of the receiver.
    pub version: u16,
}

/// Where values are read from.
#[derive(Debug)]
pub struct Decoder<'a> {
    rest: &'a [u8],
    /// The wire version of the sender.
    pub version: u16,
    depth: u32,
}

impl<'a> Decoder<'a> {
    /// Reads `bytes` as written by a sender of `version`.
    #[must_use]
    pub fn new(bytes: &'a [u8], version: u16) -> Self {
        Self { rest: bytes, version, depth: 0 }
    }

    /// The next `count` bytes.
    #[inline]
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], WireError> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(WireError::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }

    /// The next byte, which stays the next one.
    #[must_use]
    #[inline]
    pub fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    /// How many bytes are left.
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// Reads a count of items of which each takes at least one byte, so that a lying count cannot allocate more than
    /// the input's size.
    #[inline]
    pub fn count(&mut self) -> Result<usize, WireError> {
        let count = u32::decode(self)? as usize;
        if count > self.rest.len() { Err(WireError::TooLarge) } else { Ok(count) }
    }

    /// Runs `read` one level deeper.
    pub fn nested<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, WireError>,
    ) -> Result<T, WireError> {
        if self.depth >= DEPTH_MAX {
            return Err(WireError::TooDeep);
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }
}

/// A value with a binary form.
pub trait Wire: Sized {
    /// Appends the value.
    fn encode(&self, encoder: &mut Encoder<'_>);
    /// Reads one value, or says why the bytes are none.
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, WireError>;
}

/// The bytes of `value` at this build's version.
#[must_use]
pub fn to_bytes<T: Wire>(value: &T) -> Vec<u8> {
    let mut bytes = Vec::new();
    value.encode(&mut Encoder { bytes: &mut bytes, version: WIRE_VERSION });
    bytes
}

/// The one value that `bytes` hold.
pub fn from_bytes<T: Wire>(bytes: &[u8]) -> Result<T, WireError> {
    let mut decoder = Decoder::new(bytes, WIRE_VERSION);
    let value = T::decode(&mut decoder)?;
    if decoder.remaining() == 0 { Ok(value) } else { Err(WireError::TrailingBytes) }
}

macro_rules! wire_integer {
    ($($integer:ty),*) => {$(
        impl Wire for $integer {
            #[inline]
            fn encode(&self, encoder: &mut Encoder<'_>) {
                encoder.bytes.extend_from_slice(&self.to_le_bytes());
            }
            #[inline]
            fn decode(decoder: &mut Decoder<'_>) -> Result<Self, WireError> {
                let taken = decoder.take(size_of::<$integer>())?;
                Ok(<$integer>::from_le_bytes(taken.try_into().map_err(|_| WireError::Truncated)?))
            }
        }
    )*};
}
wire_integer!(u8, u16, u32, u64, u128, i8, i16, i32, i64, i128, f32, f64);

impl Wire for bool {
    fn encode(&self, encoder: &mut Encoder<'_>) {
        encoder.bytes.push(u8::from(*self));
    }
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, WireError> {
        match u8::decode(decoder)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(WireError::UnknownTag),
        }
    }
}

/// Counts travel as `u32`; our own values are limited far below it.
fn encode_count(count: usize, encoder: &mut Encoder<'_>) {
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    crate::require!(count < u32::MAX, "a counted value exceeds the wire format");
    count.encode(encoder);
}

/// A byte string: unlike `Vec<u8>` through the generic implementation, copied in one piece. `Vec<u8>` fields use it by
/// `#[wire(bytes)]`.
pub fn encode_bytes(bytes: &[u8], encoder: &mut Encoder<'_>) {
    encode_count(bytes.len(), encoder);
    encoder.bytes.extend_from_slice(bytes);
}

/// Reads what [`encode_bytes`] wrote.
#[inline]
pub fn decode_bytes<'a>(decoder: &mut Decoder<'a>) -> Result<&'a [u8], WireError> {
    let count = decoder.count()?;
    decoder.take(count)
}

impl Wire for Box<[u8]> {
    fn encode(&self, encoder: &mut Encoder<'_>) {
        encode_bytes(self, encoder);
    }
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, WireError> {
        Ok(decode_bytes(decoder)?.into())
    }
}

impl Wire for Arc<[u8]> {
    fn encode(&self, encoder: &mut Encoder<'_>) {
        encode_bytes(self, encoder);
    }
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, WireError> {
        Ok(decode_bytes(decoder)?.into())
    }
}

impl Wire for String {
    fn encode(&self, encoder: &mut Encoder<'_>) {
        encode_bytes(self.as_bytes(), encoder);
    }
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, WireError> {
        let text = std::str::from_utf8(decode_bytes(decoder)?).map_err(|_| WireError::Malformed)?;
        Ok(text.to_owned())
    }
}

impl<T: Wire> Wire for Option<T> {
    fn encode(&self, encoder: &mut Encoder<'_>) {
        match self {
            None => encoder.bytes.push(0),
            Some(value) => {
                encoder.bytes.push(1);
                value.encode(encoder);
            }
        }
    }
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, WireError> {
        if bool::decode(decoder)? { T::decode(decoder).map(Some) } else { Ok(None) }
    }
}

impl<T: Wire, E: Wire> Wire for Result<T, E> {
    fn encode(&self, encoder: &mut Encoder<'_>) {
        match self {
            Ok(value) => {
                encoder.bytes.push(0);
                value.encode(encoder);
            }
            Err(error) => {
                encoder.bytes.push(1);
                error.encode(encoder);
            }
        }
    }
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, WireError> {
        if bool::decode(decoder)? { E::decode(decoder).map(Err) } else { T::decode(decoder).map(Ok) }
    }
}

impl<T: Wire> Wire for Vec<T> {
    fn encode(&self, encoder: &mut Encoder<'_>) {
        encode_count(self.len(), encoder);
        for item in self {
            item.encode(encoder);
        }
    }
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, WireError> {
        let count = decoder.count()?;
        // Each item takes at least a byte, but may be larger in memory: grow as items really come.
        let mut items = Vec::with_capacity(count.min(64));
        for _ in 0..count {
            items.push(T::decode(decoder)?);
        }
        Ok(items)
    }
}

impl<A: smallvec::Array> Wire for SmallVec<A>
where
    A::Item: Wire,
{
    fn encode(&self, encoder: &mut Encoder<'_>) {
        encode_count(self.len(), encoder);
        for item in self {
            item.encode(encoder);
        }
    }
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, WireError> {
        let count = decoder.count()?;
        // As for `Vec`.
        let mut items = Self::with_capacity(count.min(64));
        for _ in 0..count {
            items.push(A::Item::decode(decoder)?);
        }
        Ok(items)
    }
}

impl<T: Wire> Wire for Box<T> {
    fn encode(&self, encoder: &mut Encoder<'_>) {
        (**self).encode(encoder);
    }
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, WireError> {
        decoder.nested(|decoder| T::decode(decoder).map(Box::new))
    }
}

impl<T: Wire> Wire for Arc<T> {
    fn encode(&self, encoder: &mut Encoder<'_>) {
        (**self).encode(encoder);
    }
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, WireError> {
        decoder.nested(|decoder| T::decode(decoder).map(Arc::new))
    }
}

impl<A: Wire, B: Wire> Wire for (A, B) {
    fn encode(&self, encoder: &mut Encoder<'_>) {
        self.0.encode(encoder);
        self.1.encode(encoder);
    }
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, WireError> {
        Ok((A::decode(decoder)?, B::decode(decoder)?))
    }
}

impl Wire for () {
    fn encode(&self, _: &mut Encoder<'_>) {}
    fn decode(_: &mut Decoder<'_>) -> Result<Self, WireError> {
        Ok(())
    }
}
