//! Character sets with one byte for each character, the lower half of which is ASCII.
//!
//! The tables come from `encoding_rs`. [`CORRECTIONS`] says where MySQL's differ; they were measured with MariaDB 10.11
//! for every byte.

use super::CharacterSet;
use encoding_rs::Encoding;
use std::sync::LazyLock;

/// The upper half of a character set.
#[derive(Clone, Copy)]
pub(super) struct Table(&'static Half);

struct Half {
    /// The characters of the bytes from 0x80 on; U+0000 for none.
    characters: [char; 128],
    /// The same the other way, by character.
    bytes: Vec<(char, u8)>,
}

impl Table {
    pub(super) fn character(self, byte: u8) -> char {
        match byte.checked_sub(0x80) {
            None => char::from(byte),
            Some(upper) => match self.0.characters[usize::from(upper)] {
                '\0' => '?',
                character => character,
            },
        }
    }

    pub(super) fn byte(self, character: char) -> Option<u8> {
        if character.is_ascii() {
            return u8::try_from(character).ok();
        }
        let position = self.0.bytes.binary_search_by_key(&character, |(known, _)| *known).ok()?;
        Some(self.0.bytes[position].1)
    }
}

const NONE: char = '\0';

type Source = (CharacterSet, &'static Encoding, &'static [(u8, char)]);

/// Where Windows has letters and quotes, ISO has control characters.
const CONTROLS: &[(u8, char)] = &{
    let mut controls = [(0, NONE); 32];
    let mut byte = 0x80_u8;
    while byte <= 0x9f {
        controls[(byte - 0x80) as usize] = (byte, byte as char);
        byte += 1;
    }
    controls
};

#[rustfmt::skip]
static SOURCES: [Source; 15] = [
    (CharacterSet::Latin1, encoding_rs::WINDOWS_1252, &[]),
    (CharacterSet::Latin2, encoding_rs::ISO_8859_2, &[]),
    (CharacterSet::Latin5, encoding_rs::WINDOWS_1254, CONTROLS),
    (CharacterSet::Latin7, encoding_rs::ISO_8859_13, &[]),
    (CharacterSet::Cp1250, encoding_rs::WINDOWS_1250, &[(0x81, NONE), (0x83, NONE), (0x88, NONE), (0x90, NONE), (0x98, NONE)]),
    (CharacterSet::Cp1251, encoding_rs::WINDOWS_1251, &[(0x98, NONE)]),
    (CharacterSet::Cp1256, encoding_rs::WINDOWS_1256, &[(0x8a, NONE), (0x8f, NONE), (0x98, NONE), (0x9a, NONE), (0x9f, NONE), (0xaa, NONE), (0xc0, NONE), (0xff, NONE)]),
    (CharacterSet::Cp1257, encoding_rs::WINDOWS_1257, &[(0x81, NONE), (0x83, NONE), (0x88, NONE), (0x8a, NONE), (0x8c, NONE), (0x90, NONE), (0x98, NONE), (0x9a, NONE), (0x9c, NONE), (0x9f, NONE)]),
    (CharacterSet::Cp866, encoding_rs::IBM866, &[(0xfc, '\u{207f}'), (0xfd, '\u{b2}')]),
    (CharacterSet::Koi8R, encoding_rs::KOI8_R, &[]),
    (CharacterSet::Koi8U, encoding_rs::KOI8_U, &[(0x95, '\u{2022}'), (0xae, '\u{255d}'), (0xbe, '\u{256c}')]),
    (CharacterSet::Greek, encoding_rs::ISO_8859_7, &[(0xa1, '\u{2bd}'), (0xa2, '\u{2bc}'), (0xa4, NONE), (0xa5, NONE), (0xaa, NONE)]),
    (CharacterSet::Hebrew, encoding_rs::ISO_8859_8, &[(0xaf, '\u{203e}')]),
    (CharacterSet::Tis620, encoding_rs::WINDOWS_874, CONTROLS),
    (CharacterSet::MacRoman, encoding_rs::MACINTOSH, &[]),
];

static HALVES: LazyLock<[Half; 15]> = LazyLock::new(|| SOURCES.each_ref().map(half));

fn half((_, encoding, corrections): &Source) -> Half {
    let mut characters = [NONE; 128];
    for (byte, character) in (0x80..=0xff_u8).zip(&mut characters) {
        let single = [byte];
        let text = encoding.decode_without_bom_handling_and_without_replacement(&single);
        *character = text.and_then(|text| text.chars().next()).unwrap_or(NONE);
    }
    for (byte, character) in *corrections {
        characters[usize::from(byte & 0x7f)] = *character;
    }
    let known = characters.iter().copied().zip(0x80..=0xff_u8).filter(|(character, _)| *character != NONE);
    let mut bytes: Vec<(char, u8)> = known.collect();
    bytes.sort_unstable();
    Half { characters, bytes }
}

/// The table of a character set of one byte a character; latin1's for any other.
pub(super) fn table(set: CharacterSet) -> Table {
    let position = SOURCES.iter().position(|(known, ..)| *known == set);
    Table(&HALVES[position.unwrap_or(0)])
}
