//! Character sets: their names, and text between them and UTF-8.
//!
//! Rows hold UTF-8 always. A column's character set says which characters it may hold; a client's, in what bytes it
//! speaks.
//!
//! | character sets | how |
//! |---|---|
//! | utf8mb4, utf8mb3, ascii, binary | the bytes of UTF-8 |
//! | one byte a character | a table derived from `encoding_rs`, corrected where MySQL's differs ([`single`]) |
//! | Chinese, Japanese, Korean | `encoding_rs` |
//! | ucs2, utf16, utf16le, utf32 | computed |
//!
//! The encodings are the web's. They know more than MySQL's in some places: gb2312 also reads what only gbk has, sjis
//! what only cp932 has, euckr what Windows added, big5 what Hong Kong added.
//!
//! Deliberately not here: armscii8, cp850, cp852, dec8, geostd8, hp8, keybcs2, macce and swe7, for which `encoding_rs`
//! has nothing.

mod single;
#[cfg(test)]
mod tests;

use encoding_rs::{DecoderResult, EncoderResult, Encoding};
use std::borrow::Cow;

/// A character set that text can be read from and written in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[expect(missing_docs, reason = "the names are MySQL's")]
pub enum CharacterSet {
    Ascii,
    Big5,
    Binary,
    Cp1250,
    Cp1251,
    Cp1256,
    Cp1257,
    Cp866,
    Cp932,
    EucJpMs,
    EucKr,
    Gb18030,
    Gb2312,
    Gbk,
    Greek,
    Hebrew,
    Koi8R,
    Koi8U,
    Latin1,
    Latin2,
    Latin5,
    Latin7,
    MacRoman,
    Sjis,
    Tis620,
    Ucs2,
    Ujis,
    Utf16,
    Utf16Le,
    Utf32,
    Utf8mb3,
    Utf8mb4,
}

/// MySQL's description of a character set: name, number of its default collation, description, bytes of a character at
/// most.
type Row = (CharacterSet, &'static str, u16, &'static str, u32);

#[rustfmt::skip]
const TABLE: [Row; 32] = [
    (CharacterSet::Ascii, "ascii", 11, "US ASCII", 1),
    (CharacterSet::Big5, "big5", 1, "Big5 Traditional Chinese", 2),
    (CharacterSet::Binary, "binary", 63, "Binary pseudo charset", 1),
    (CharacterSet::Cp1250, "cp1250", 26, "Windows Central European", 1),
    (CharacterSet::Cp1251, "cp1251", 51, "Windows Cyrillic", 1),
    (CharacterSet::Cp1256, "cp1256", 57, "Windows Arabic", 1),
    (CharacterSet::Cp1257, "cp1257", 59, "Windows Baltic", 1),
    (CharacterSet::Cp866, "cp866", 36, "DOS Russian", 1),
    (CharacterSet::Cp932, "cp932", 95, "SJIS for Windows Japanese", 2),
    (CharacterSet::EucJpMs, "eucjpms", 97, "UJIS for Windows Japanese", 3),
    (CharacterSet::EucKr, "euckr", 19, "EUC-KR Korean", 2),
    (CharacterSet::Gb18030, "gb18030", 248, "China National Standard GB18030", 4),
    (CharacterSet::Gb2312, "gb2312", 24, "GB2312 Simplified Chinese", 2),
    (CharacterSet::Gbk, "gbk", 28, "GBK Simplified Chinese", 2),
    (CharacterSet::Greek, "greek", 25, "ISO 8859-7 Greek", 1),
    (CharacterSet::Hebrew, "hebrew", 16, "ISO 8859-8 Hebrew", 1),
    (CharacterSet::Koi8R, "koi8r", 7, "KOI8-R Relcom Russian", 1),
    (CharacterSet::Koi8U, "koi8u", 22, "KOI8-U Ukrainian", 1),
    (CharacterSet::Latin1, "latin1", 8, "cp1252 West European", 1),
    (CharacterSet::Latin2, "latin2", 9, "ISO 8859-2 Central European", 1),
    (CharacterSet::Latin5, "latin5", 30, "ISO 8859-9 Turkish", 1),
    (CharacterSet::Latin7, "latin7", 41, "ISO 8859-13 Baltic", 1),
    (CharacterSet::MacRoman, "macroman", 39, "Mac West European", 1),
    (CharacterSet::Sjis, "sjis", 13, "Shift-JIS Japanese", 2),
    (CharacterSet::Tis620, "tis620", 18, "TIS620 Thai", 1),
    (CharacterSet::Ucs2, "ucs2", 35, "UCS-2 Unicode", 2),
    (CharacterSet::Ujis, "ujis", 12, "EUC-JP Japanese", 3),
    (CharacterSet::Utf16, "utf16", 54, "UTF-16 Unicode", 4),
    (CharacterSet::Utf16Le, "utf16le", 56, "UTF-16LE Unicode", 4),
    (CharacterSet::Utf32, "utf32", 60, "UTF-32 Unicode", 4),
    (CharacterSet::Utf8mb3, "utf8mb3", 33, "UTF-8 Unicode", 3),
    (CharacterSet::Utf8mb4, "utf8mb4", 255, "UTF-8 Unicode", 4),
];

/// Bytes that are no text in a character set; they begin here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MalformedAt(pub usize);

/// How a character set is read and written.
enum Form {
    /// As it is, if every character is at most this one.
    Utf8(char),
    Single(single::Table),
    Multiple(&'static Encoding),
    /// Units of two bytes: big-endian or not, surrogates or not.
    Wide {
        is_big: bool,
        has_surrogates: bool,
    },
    Utf32,
}

impl CharacterSet {
    fn row(self) -> &'static Row {
        &TABLE[self as usize]
    }

    /// MySQL's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// MySQL's description of it for people.
    #[must_use]
    pub fn description(self) -> &'static str {
        self.row().3
    }

    /// Bytes of a character at most.
    #[must_use]
    pub fn size_max(self) -> u32 {
        self.row().4
    }

    /// MySQL's number of the collation of columns for which none is named.
    pub(crate) fn default_collation_id(self) -> u16 {
        self.row().2
    }

    /// The character set of that name, without regard to case; `utf8` is utf8mb3.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        let name = if name.eq_ignore_ascii_case("utf8") { "utf8mb3" } else { name };
        TABLE.iter().find(|row| row.1.eq_ignore_ascii_case(name)).map(|row| row.0)
    }

    /// All, by name.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|row| row.0)
    }

    /// True if a client may speak it: its characters of ASCII are bytes of ASCII.
    #[must_use]
    pub fn is_for_clients(self) -> bool {
        !matches!(self, Self::Ucs2 | Self::Utf16 | Self::Utf16Le | Self::Utf32)
    }

    /// True if it can write every character that any of them can (but for utf8mb3 and ucs2, those beyond U+FFFF).
    #[must_use]
    pub fn is_unicode(self) -> bool {
        matches!(self, Self::Utf8mb4 | Self::Utf8mb3) || !self.is_for_clients()
    }

    /// True if text in it has the bytes of UTF-8.
    #[must_use]
    pub fn is_utf8(self) -> bool {
        matches!(self, Self::Utf8mb4 | Self::Utf8mb3 | Self::Ascii | Self::Binary)
    }

    fn form(self) -> Form {
        match self {
            Self::Ascii => Form::Utf8('\u{7f}'),
            Self::Utf8mb3 => Form::Utf8('\u{ffff}'),
            Self::Utf8mb4 | Self::Binary => Form::Utf8(char::MAX),
            Self::Big5 => Form::Multiple(encoding_rs::BIG5),
            Self::Sjis | Self::Cp932 => Form::Multiple(encoding_rs::SHIFT_JIS),
            Self::Ujis | Self::EucJpMs => Form::Multiple(encoding_rs::EUC_JP),
            Self::EucKr => Form::Multiple(encoding_rs::EUC_KR),
            Self::Gb18030 => Form::Multiple(encoding_rs::GB18030),
            Self::Gbk | Self::Gb2312 => Form::Multiple(encoding_rs::GBK),
            Self::Ucs2 => Form::Wide { is_big: true, has_surrogates: false },
            Self::Utf16 => Form::Wide { is_big: true, has_surrogates: true },
            Self::Utf16Le => Form::Wide { is_big: false, has_surrogates: true },
            Self::Utf32 => Form::Utf32,
            Self::Cp1250
            | Self::Cp1251
            | Self::Cp1256
            | Self::Cp1257
            | Self::Cp866
            | Self::Greek
            | Self::Hebrew
            | Self::Koi8R
            | Self::Koi8U
            | Self::Latin1
            | Self::Latin2
            | Self::Latin5
            | Self::Latin7
            | Self::MacRoman
            | Self::Tis620 => Form::Single(single::table(self)),
        }
    }

    /// The text that these bytes are. A byte that a one-byte character set has no character for is a question mark.
    pub fn decode(self, bytes: &[u8]) -> Result<Cow<'_, str>, MalformedAt> {
        if self.is_for_clients() && bytes.is_ascii() {
            return std::str::from_utf8(bytes).map(Cow::Borrowed).map_err(|_| MalformedAt(0));
        }
        match self.form() {
            Form::Utf8(last) => {
                let text = std::str::from_utf8(bytes).map_err(|error| MalformedAt(error.valid_up_to()))?;
                match text.char_indices().find(|(_, character)| *character > last) {
                    Some((position, _)) => Err(MalformedAt(position)),
                    None => Ok(Cow::Borrowed(text)),
                }
            }
            Form::Single(table) => Ok(Cow::Owned(bytes.iter().map(|byte| table.character(*byte)).collect())),
            Form::Multiple(encoding) => decode_multiple(encoding, bytes).map(Cow::Owned),
            Form::Wide { is_big, has_surrogates } => {
                decode_wide(bytes, is_big, has_surrogates).map(Cow::Owned)
            }
            Form::Utf32 => decode_utf32(bytes).map(Cow::Owned),
        }
    }

    /// The bytes of a hexadecimal literal, with the zeros in front that its first character lacks.
    #[must_use]
    pub fn filled<'a>(self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let is_wide = !self.is_for_clients();
        let unit = if self == Self::Utf32 { 4 } else { 1 + usize::from(is_wide) };
        let missing = bytes.len().next_multiple_of(unit) - bytes.len();
        if missing == 0 { Cow::Borrowed(bytes) } else { Cow::Owned([&[0; 4][..missing], bytes].concat()) }
    }

    /// Appends the text in this character set; question marks stand for characters that it does not have.
    pub fn encode(self, text: &str, bytes: &mut Vec<u8>) {
        self.write(text, bytes);
    }

    /// The text with question marks for characters that this character set does not have.
    #[must_use]
    pub fn with_question_marks(self, text: &str) -> String {
        let mut buffer = [0; 4];
        let shown = |character: char| {
            let is_foreign = self.first_foreign(character.encode_utf8(&mut buffer)).is_some();
            if is_foreign { '?' } else { character }
        };
        text.chars().map(shown).collect()
    }

    /// The byte position in `text` of the first character that this character set does not have.
    #[must_use]
    pub fn first_foreign(self, text: &str) -> Option<usize> {
        if text.is_ascii() {
            return None;
        }
        match self.form() {
            Form::Utf8(last) => {
                text.char_indices().find(|(_, character)| *character > last).map(|found| found.0)
            }
            Form::Single(_) | Form::Multiple(_) | Form::Wide { .. } | Form::Utf32 => {
                self.write(text, &mut Vec::with_capacity(text.len()))
            }
        }
    }

    /// Appends the text; where the first character stood that became a question mark.
    fn write(self, text: &str, bytes: &mut Vec<u8>) -> Option<usize> {
        if self.is_for_clients() && text.is_ascii() {
            bytes.extend_from_slice(text.as_bytes());
            return None;
        }
        let mut foreign = None;
        match self.form() {
            Form::Utf8(last) => {
                for (position, character) in text.char_indices() {
                    if character <= last {
                        bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                    } else {
                        foreign.get_or_insert(position);
                        bytes.push(b'?');
                    }
                }
            }
            Form::Single(table) => {
                for (position, character) in text.char_indices() {
                    let byte = table.byte(character);
                    if byte.is_none() {
                        foreign.get_or_insert(position);
                    }
                    bytes.push(byte.unwrap_or(b'?'));
                }
            }
            Form::Multiple(encoding) => return encode_multiple(encoding, text, bytes),
            Form::Wide { is_big, has_surrogates } => {
                for (position, character) in text.char_indices() {
                    let is_known = has_surrogates || character <= '\u{ffff}';
                    if !is_known {
                        foreign.get_or_insert(position);
                    }
                    for unit in (if is_known { character } else { '?' }).encode_utf16(&mut [0; 2]) {
                        bytes.extend_from_slice(&if is_big {
                            unit.to_be_bytes()
                        } else {
                            unit.to_le_bytes()
                        });
                    }
                }
            }
            Form::Utf32 => {
                for character in text.chars() {
                    bytes.extend_from_slice(&u32::from(character).to_be_bytes());
                }
            }
        }
        foreign
    }
}

fn decode_multiple(encoding: &'static Encoding, bytes: &[u8]) -> Result<String, MalformedAt> {
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let capacity = decoder.max_utf8_buffer_length_without_replacement(bytes.len()).unwrap_or(0);
    let mut text = String::with_capacity(capacity);
    match decoder.decode_to_string_without_replacement(bytes, &mut text, true) {
        (DecoderResult::InputEmpty, _) => Ok(text),
        (DecoderResult::Malformed(length, behind), read) => {
            Err(MalformedAt(read.saturating_sub(usize::from(length) + usize::from(behind))))
        }
        (DecoderResult::OutputFull, read) => Err(MalformedAt(read)),
    }
}

fn encode_multiple(encoding: &'static Encoding, text: &str, bytes: &mut Vec<u8>) -> Option<usize> {
    let mut encoder = encoding.new_encoder();
    let (mut at, mut foreign) = (0, None);
    loop {
        let rest = &text[at..];
        let room = encoder.max_buffer_length_from_utf8_without_replacement(rest.len()).unwrap_or(0);
        bytes.reserve(room);
        let (result, read) = encoder.encode_from_utf8_to_vec_without_replacement(rest, bytes, true);
        at += read;
        match result {
            EncoderResult::Unmappable(character) => {
                foreign.get_or_insert(at - character.len_utf8());
                bytes.push(b'?');
            }
            EncoderResult::InputEmpty | EncoderResult::OutputFull => return foreign,
        }
    }
}

fn decode_wide(bytes: &[u8], is_big: bool, has_surrogates: bool) -> Result<String, MalformedAt> {
    let (units, rest) = bytes.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(MalformedAt(bytes.len() - 1));
    }
    let units =
        units.iter().map(|unit| if is_big { u16::from_be_bytes(*unit) } else { u16::from_le_bytes(*unit) });
    let (mut text, mut at) = (String::with_capacity(bytes.len()), 0);
    for character in char::decode_utf16(units) {
        match character {
            Ok(character) if has_surrogates || character <= '\u{ffff}' => {
                text.push(character);
                at += character.len_utf16() * 2;
            }
            Ok(_) | Err(_) => return Err(MalformedAt(at)),
        }
    }
    Ok(text)
}

fn decode_utf32(bytes: &[u8]) -> Result<String, MalformedAt> {
    let (units, rest) = bytes.as_chunks::<4>();
    if !rest.is_empty() {
        return Err(MalformedAt(bytes.len() - rest.len()));
    }
    let character = |(index, unit): (usize, &[u8; 4])| {
        char::from_u32(u32::from_be_bytes(*unit)).ok_or(MalformedAt(index * 4))
    };
    units.iter().enumerate().map(character).collect()
}
