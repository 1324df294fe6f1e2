//! The protocol's integers and strings: little-endian fixed integers, length-encoded (*lenenc*) integers and
//! strings, NUL-terminated strings, and integers as decimal text.
//!
//! **Invariants.** [`Reader`] never reads past its bytes and never panics; what it returns borrows from them.
//! Writers append to a `Vec<u8>` and touch nothing before its end.

use std::fmt;

/// The bytes end too soon, or break the format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Malformed;

impl fmt::Display for Malformed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("malformed packet")
    }
}

impl std::error::Error for Malformed {}

/// A cursor over bytes that we did not write.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The bytes that have not been read yet.
    #[must_use]
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// All that is left; the reader is empty afterwards.
    pub fn take_rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    pub fn bytes(&mut self, size: usize) -> Result<&'a [u8], Malformed> {
        let (head, tail) = self.rest.split_at_checked(size).ok_or(Malformed)?;
        self.rest = tail;
        Ok(head)
    }

    pub fn array<const SIZE: usize>(&mut self) -> Result<[u8; SIZE], Malformed> {
        let (head, tail) = self.rest.split_first_chunk::<SIZE>().ok_or(Malformed)?;
        self.rest = tail;
        Ok(*head)
    }

    pub fn u8(&mut self) -> Result<u8, Malformed> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub fn u16(&mut self) -> Result<u16, Malformed> {
        self.array().map(u16::from_le_bytes)
    }

    pub fn u24(&mut self) -> Result<u32, Malformed> {
        self.array().map(|[low, middle, high]| u32::from_le_bytes([low, middle, high, 0]))
    }

    pub fn u32(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_le_bytes)
    }

    pub fn u64(&mut self) -> Result<u64, Malformed> {
        self.array().map(u64::from_le_bytes)
    }

    /// A length-encoded integer; 0xFB (NULL in rows) and 0xFF (an error packet) are no integers.
    pub fn lenenc_integer(&mut self) -> Result<u64, Malformed> {
        match self.u8()? {
            small @ 0..=0xFA => Ok(small.into()),
            0xFC => self.u16().map(u64::from),
            0xFD => self.u24().map(u64::from),
            0xFE => self.u64(),
            0xFB | 0xFF => Err(Malformed),
        }
    }

    /// A length-encoded integer that counts or measures something in memory.
    pub fn lenenc_size(&mut self) -> Result<usize, Malformed> {
        usize::try_from(self.lenenc_integer()?).map_err(|_| Malformed)
    }

    pub fn lenenc_bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let size = self.lenenc_size()?;
        self.bytes(size)
    }

    /// The bytes up to a NUL, which is consumed and not returned.
    pub fn nul_terminated(&mut self) -> Result<&'a [u8], Malformed> {
        let size = self.rest.iter().position(|&byte| byte == 0).ok_or(Malformed)?;
        let text = self.bytes(size)?;
        self.u8()?;
        Ok(text)
    }

    /// As [`Self::nul_terminated`], but the end of the bytes ends the string too: several clients leave the last
    /// NUL out.
    pub fn nul_or_end_terminated(&mut self) -> &'a [u8] {
        let mut parts = self.rest.splitn(2, |&byte| byte == 0);
        let text = parts.next().unwrap_or_default();
        self.rest = parts.next().unwrap_or_default();
        text
    }
}

/// Appends the shortest length-encoded form of `value`.
#[inline]
pub fn append_lenenc_integer(buffer: &mut Vec<u8>, value: u64) {
    let bytes = value.to_le_bytes();
    match value {
        0..=0xFA => buffer.push(bytes[0]),
        0xFB..=0xFFFF => {
            buffer.push(0xFC);
            buffer.extend_from_slice(&bytes[..2]);
        }
        0x1_0000..=0xFF_FFFF => {
            buffer.push(0xFD);
            buffer.extend_from_slice(&bytes[..3]);
        }
        _ => {
            buffer.push(0xFE);
            buffer.extend_from_slice(&bytes);
        }
    }
}

#[inline]
pub fn append_lenenc_bytes(buffer: &mut Vec<u8>, bytes: &[u8]) {
    append_lenenc_integer(buffer, bytes.len() as u64);
    buffer.extend_from_slice(bytes);
}

/// Appends `text` and a NUL. A NUL within `text` would end it early on the other side, so it ends here too.
pub fn append_nul_terminated(buffer: &mut Vec<u8>, text: &[u8]) {
    let size = text.iter().position(|&byte| byte == 0).unwrap_or(text.len());
    buffer.extend_from_slice(&text[..size]);
    buffer.push(0);
}

/// Decimal text of an integer, on the stack.
///
/// Text rows need the length before the digits, so the digits are made first, from the right, two at a time.
#[derive(Clone, Copy)]
pub struct DecimalText {
    bytes: [u8; DECIMAL_TEXT_SIZE_MAX],
    start: usize,
}

/// A sign and the 20 digits of `u64::MAX`, of which `i64::MIN` uses 19.
const DECIMAL_TEXT_SIZE_MAX: usize = 21;

const DIGIT_PAIRS: [u8; 200] = digit_pairs();

const fn digit_pairs() -> [u8; 200] {
    let mut pairs = [0; 200];
    let mut tens = 0;
    while tens < 10 {
        let mut ones = 0;
        while ones < 10 {
            let index = (tens as usize * 10 + ones as usize) * 2;
            pairs[index] = b'0' + tens;
            pairs[index + 1] = b'0' + ones;
            ones += 1;
        }
        tens += 1;
    }
    pairs
}

impl DecimalText {
    #[must_use]
    pub fn from_u64(mut value: u64) -> Self {
        let mut bytes = [0; DECIMAL_TEXT_SIZE_MAX];
        let mut start = DECIMAL_TEXT_SIZE_MAX;
        while value >= 100 {
            let pair = (value % 100) as usize * 2;
            value /= 100;
            start -= 2;
            bytes[start..start + 2].copy_from_slice(&DIGIT_PAIRS[pair..pair + 2]);
        }
        if value >= 10 {
            let pair = (value % 100) as usize * 2;
            start -= 2;
            bytes[start..start + 2].copy_from_slice(&DIGIT_PAIRS[pair..pair + 2]);
        } else {
            start -= 1;
            bytes[start] = b'0' + (value % 10) as u8;
        }
        Self { bytes, start }
    }

    #[must_use]
    pub fn from_i64(value: i64) -> Self {
        let mut text = Self::from_u64(value.unsigned_abs());
        if value < 0 {
            text.start -= 1;
            text.bytes[text.start] = b'-';
        }
        text
    }

    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[self.start..]
    }
}

#[cfg(test)]
mod tests;
