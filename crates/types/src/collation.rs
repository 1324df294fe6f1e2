//! How character strings compare, are equal, hash and become sort keys, by [`Collation`].
//!
//! - `binary` and the `_bin` collations: bytes, which for UTF-8 is code point order.
//! - `utf8mb4_0900_ai_ci` and its PAD SPACE sibling: CLDR's root collation at primary strength, punctuation not ignored;
//!   `utf8mb4_0900_as_cs`: at tertiary strength. ICU4X has the data and the algorithm; strings of ASCII characters only, the common
//!   case, go through 128-entry tables derived from it ([`ascii`]).
//! - PAD SPACE: trailing spaces are cut before anything else. (MySQL pads the shorter string with spaces instead; the two differ only
//!   for strings that go on with characters below the space, such as tab.)
//!
//! MySQL's 0900 collations are UCA 9.0, ICU4X is a newer CLDR: characters that Unicode added or moved since 2016 sort differently.
//! (Measured against MariaDB's `utf8mb4_uca1400_nopad_ai_ci`: ASCII, Latin, Greek, Cyrillic, kana, Han, Hangul and emoji have the same
//! order and the same equalities; unassigned code points do not.) `utf8mb4_general_ci` is *not* MySQL's one-weight-per-character table
//! but the same order as 0900 with PAD SPACE; likewise every `_ci` collation of another character set or language that
//! [`Collation::by_name`] accepts.
//!
//! **Invariants**: `compare`, `equal`, `hash` and `sort_key` agree with each other for all byte strings, UTF-8 or not: equal ⟺
//! compare is Equal ⟺ same sort key, which implies the same hash; sort keys order as `compare` does, and so do order prefixes as far as
//! they differ. The fast paths agree with ICU4X.
//! Bytes that are not UTF-8 count as U+FFFD. Sort keys may change with the version of ICU4X, hence the pinned dependency and
//! [`COLLATION_VERSION`] in the catalogue.
//!
//! Tables and collators are made once per process from constants: results depend on arguments only.

mod ascii;

use crate::Collation;
use crate::key::TrimSpaces;
use icu_collator::CollatorBorrowed;
use icu_collator::options::{AlternateHandling, CaseLevel, CollatorOptions, Strength};
use std::cmp::Ordering;

/// Names the data behind the sort keys: the version of `icu_collator`. Stored keys of another version must be made again.
pub const COLLATION_VERSION: &str = "icu4x-2.4.0";

const fn options(strength: Strength) -> CollatorOptions {
    let mut options = CollatorOptions::default();
    options.strength = Some(strength);
    options.alternate_handling = Some(AlternateHandling::NonIgnorable);
    options.case_level = Some(CaseLevel::Off);
    options
}

static PRIMARY: CollatorBorrowed<'static> = CollatorBorrowed::new_root(options(Strength::Primary));
static TERTIARY: CollatorBorrowed<'static> = CollatorBorrowed::new_root(options(Strength::Tertiary));

/// What decides the order once padding is cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Order {
    Bytes,
    /// Accents and case ignored.
    Primary,
    /// Accents and case count.
    Tertiary,
}

fn icu_sort_key(collator: &CollatorBorrowed<'_>, text: &[u8], key: &mut Vec<u8>) {
    // The error type is `Infallible`.
    let Ok(()) = collator.write_sort_key_utf8_to::<Vec<u8>>(text, key);
}

impl Collation {
    fn order(self) -> Order {
        match self {
            Collation::Binary | Collation::Utf8mb40900Bin | Collation::Utf8mb4Bin => Order::Bytes,
            Collation::Utf8mb40900AiCi | Collation::Utf8mb4GeneralCi => Order::Primary,
            Collation::Utf8mb40900AsCs => Order::Tertiary,
        }
    }

    /// True if trailing spaces do not count.
    #[must_use]
    pub fn is_pad_space(self) -> bool {
        matches!(self, Collation::Utf8mb4Bin | Collation::Utf8mb4GeneralCi)
    }

    /// True if sort keys hold no zero byte, so that one can end them.
    pub(crate) fn has_zero_free_sort_key(self) -> bool {
        self.order() != Order::Bytes
    }

    #[inline]
    fn without_padding(self, text: &[u8]) -> &[u8] {
        if self.is_pad_space() { text.trim_suffix_spaces() } else { text }
    }

    /// Orders two strings; makes no sort keys.
    #[must_use]
    pub fn compare(self, left: &[u8], right: &[u8]) -> Ordering {
        let (left, right) = (self.without_padding(left), self.without_padding(right));
        match self.order() {
            Order::Bytes => left.cmp(right),
            Order::Primary => {
                ascii::compare_primary(left, right).unwrap_or_else(|| PRIMARY.compare_utf8(left, right))
            }
            Order::Tertiary => {
                ascii::compare_tertiary(left, right).unwrap_or_else(|| TERTIARY.compare_utf8(left, right))
            }
        }
    }

    /// The beginning of a string as a number: of two strings that have one, the one with the smaller number is the smaller string. Equal
    /// numbers say nothing.
    #[must_use]
    #[inline]
    pub fn order_prefix(self, text: &[u8]) -> Option<u64> {
        let text = self.without_padding(text);
        match self.order() {
            Order::Bytes => Some(first_bytes(text)),
            // Accents and case decide only where letters do not.
            Order::Primary | Order::Tertiary => ascii::order_prefix(text),
        }
    }

    /// True if the two strings are equal under this collation and end with as many spaces: what functions that look for a string in
    /// another one ask.
    #[must_use]
    pub fn equal_with_padding(self, left: &[u8], right: &[u8]) -> bool {
        let spaces = |text: &[u8]| text.len() - text.trim_suffix_spaces().len();
        self.equal(left, right) && (!self.is_pad_space() || spaces(left) == spaces(right))
    }

    /// True if the two strings are equal under this collation.
    #[must_use]
    pub fn equal(self, left: &[u8], right: &[u8]) -> bool {
        left == right || self.compare(left, right).is_eq()
    }

    /// Appends bytes whose order is that of [`Collation::compare`]. Keys of the UCA collations hold no zero byte.
    pub fn sort_key(self, text: &[u8], key: &mut Vec<u8>) {
        let text = self.without_padding(text);
        match self.order() {
            Order::Bytes => key.extend_from_slice(text),
            Order::Primary if text.is_ascii() => ascii::sort_key(text, key),
            Order::Primary => icu_sort_key(&PRIMARY, text, key),
            Order::Tertiary => icu_sort_key(&TERTIARY, text, key),
        }
    }

    /// Strings that are equal hash equal.
    #[must_use]
    pub fn hash(self, text: &[u8]) -> u64 {
        let text = self.without_padding(text);
        match self.order() {
            Order::Bytes => stdx::hash64(text),
            Order::Primary if text.len() <= ascii::BLOCK && text.is_ascii() => ascii::hash_short(text),
            Order::Primary | Order::Tertiary => {
                let mut key = Vec::with_capacity(text.len() * 2 + 8);
                self.sort_key(text, &mut key);
                stdx::hash64(&key)
            }
        }
    }

    /// MySQL's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Collation::Binary => "binary",
            Collation::Utf8mb40900AiCi => "utf8mb4_0900_ai_ci",
            Collation::Utf8mb40900AsCs => "utf8mb4_0900_as_cs",
            Collation::Utf8mb40900Bin => "utf8mb4_0900_bin",
            Collation::Utf8mb4Bin => "utf8mb4_bin",
            Collation::Utf8mb4GeneralCi => "utf8mb4_general_ci",
        }
    }

    /// `utf8mb4` or `binary`.
    #[must_use]
    pub fn character_set(self) -> &'static str {
        if self == Collation::Binary { "binary" } else { "utf8mb4" }
    }

    /// The collation of that name, or the nearest to it; `None` for names of no known character set.
    ///
    /// MySQL's and MariaDB's names of the character sets in `CHARACTER_SETS` are accepted, without regard to case: `…_bin` is by code
    /// point (NO PAD where the name says `0900` or `nopad`), `…_as_cs` and `…_cs` is `utf8mb4_0900_as_cs`, all others are insensitive:
    /// `utf8mb4_0900_ai_ci` where the name says `0900` or `nopad`, else `utf8mb4_general_ci`. Languages' own rules are not followed.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Collation> {
        let name = name.to_ascii_lowercase();
        if name == "binary" {
            return Some(Collation::Binary);
        }
        // MariaDB also has the UCA 14.0 collations without a character set in front.
        let (character_set, rest) = name.split_once('_')?;
        let is_known = CHARACTER_SETS.contains(&character_set) || character_set == "uca1400";
        if !is_known || !["bin", "ci", "cs"].contains(&last_word(rest)) {
            return None;
        }
        let no_pad = name.contains("0900") || name.contains("nopad");
        Some(match (last_word(rest), no_pad) {
            ("bin", true) => Collation::Utf8mb40900Bin,
            ("bin", false) => Collation::Utf8mb4Bin,
            ("cs", _) => Collation::Utf8mb40900AsCs,
            (_, true) => Collation::Utf8mb40900AiCi,
            (_, false) => Collation::Utf8mb4GeneralCi,
        })
    }

    /// The default collation of a character set.
    #[must_use]
    pub fn by_character_set(name: &str) -> Option<Collation> {
        match name.to_ascii_lowercase().as_str() {
            "utf8mb4" => Some(Collation::Utf8mb40900AiCi),
            "binary" => Some(Collation::Binary),
            known if CHARACTER_SETS.contains(&known) => Some(Collation::Utf8mb4GeneralCi),
            _ => None,
        }
    }

    /// MySQL's collation number.
    #[must_use]
    pub fn mysql_id(self) -> u16 {
        match self {
            Collation::Binary => 63,
            Collation::Utf8mb40900AiCi => 255,
            Collation::Utf8mb40900AsCs => 278,
            Collation::Utf8mb40900Bin => 309,
            Collation::Utf8mb4Bin => 46,
            Collation::Utf8mb4GeneralCi => 45,
        }
    }

    /// The collation with that number, or the nearest to it: the numbers that clients send in their handshake.
    #[must_use]
    pub fn by_mysql_id(id: u16) -> Option<Collation> {
        Some(match id {
            63 => Collation::Binary,
            // utf8mb4's languages: _0900_ai_ci, _0900_as_cs, …
            255..=277 | 305 | 310 | 316 | 318 | 320 => Collation::Utf8mb40900AiCi,
            278..=304 | 311..=315 | 317 | 319 | 321..=323 => Collation::Utf8mb40900AsCs,
            309 => Collation::Utf8mb40900Bin,
            // utf8mb4_bin, latin1_bin, ascii_bin, utf8mb3_bin
            46 | 47 | 65 | 83 => Collation::Utf8mb4Bin,
            // latin1_general_cs
            49 => Collation::Utf8mb40900AsCs,
            // latin1, ascii, utf8mb3, utf8mb4: general, unicode and languages
            5 | 8 | 11 | 15 | 31 | 33 | 45 | 48 | 76 | 94 | 192..=215 | 223..=247 => {
                Collation::Utf8mb4GeneralCi
            }
            _ => return None,
        })
    }
}

/// The first eight bytes, those that are missing as zeros.
fn first_bytes(text: &[u8]) -> u64 {
    let mut first = [0; 8];
    let length = text.len().min(8);
    first[..length].copy_from_slice(&text[..length]);
    u64::from_be_bytes(first)
}

/// Character sets whose text we keep as UTF-8.
const CHARACTER_SETS: [&str; 8] = ["utf8mb4", "utf8mb3", "utf8", "latin1", "ascii", "ucs2", "utf16", "utf32"];

fn last_word(name: &str) -> &str {
    name.rsplit('_').next().unwrap_or(name)
}

#[cfg(test)]
mod tests;
