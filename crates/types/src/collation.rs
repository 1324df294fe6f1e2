//! How character strings compare, are equal, hash and become sort keys, by [`Collation`].
//!
//! A collation has MySQL's name and number and belongs to a character set. How it compares is one of six rules:
//!
//! - `binary` and the `_bin` collations: bytes, which for UTF-8 is code point order.
//! - `general_ci`, and the `_ci` collations of character sets other than Unicode's: one weight a character
//!   ([`weights`]), as MySQL has it for `general_ci` and `latin1_swedish_ci`; other such collations compare as
//!   `general_ci`.
//! - All others: CLDR's root collation, punctuation not ignored. `_ai_ci` and `unicode_ci` at primary strength,
//!   `_as_ci` at secondary, `_as_cs` at tertiary. ICU4X has the data and the algorithm; strings of ASCII characters
//!   only, the common case, go through 128-entry tables derived from it ([`ascii`]). A language's own order is not
//!   followed.
//! - PAD SPACE (all but `binary` and the 0900 collations): trailing spaces are cut before anything else. MySQL pads the
//!   shorter string with spaces instead. The two differ only for strings that go on with characters below the space,
//!   such as tab.
//!
//! MySQL's 0900 collations are UCA 9.0, ICU4X is a newer CLDR: characters that Unicode added or moved since 2016 sort
//! differently. Measured against MariaDB's `utf8mb4_uca1400_nopad_ai_ci`, ASCII, Latin, Greek, Cyrillic, kana, Han,
//! Hangul and emoji have the same order and the same equalities. Unassigned code points do not.
//!
//! **Invariants**: `compare`, `equal`, `hash` and `sort_key` agree with each other for all byte strings, UTF-8 or not.
//! Equal ⟺ compare is Equal ⟺ same sort key, which implies the same hash. Sort keys order as `compare` does, and so do
//! order prefixes as far as they differ. The fast paths agree with ICU4X. Bytes that are not UTF-8 count as U+FFFD.
//! Sort keys may change with the version of ICU4X, hence the pinned dependency and [`COLLATION_VERSION`] in the
//! catalogue.
//!
//! Tables and collators are made once per process from constants: results depend on arguments only.

mod ascii;
mod names;
mod weights;

pub use names::CollationName;

use crate::CharacterSet;
use icu_collator::CollatorBorrowed;
use icu_collator::options::{AlternateHandling, CaseLevel, CollatorOptions, Strength};
use std::cmp::Ordering;
use stdx::wire::{Decoder, Encoder, Wire, WireError};
use weights::Weights;

/// Names the data behind the sort keys: the version of `icu_collator`, and of our own weights. Stored keys of another
/// version must be made again.
pub const COLLATION_VERSION: &str = "icu4x-2.4.0 weights-1";

const fn options(strength: Strength) -> CollatorOptions {
    let mut options = CollatorOptions::default();
    options.strength = Some(strength);
    options.alternate_handling = Some(AlternateHandling::NonIgnorable);
    options.case_level = Some(CaseLevel::Off);
    options
}

static PRIMARY: CollatorBorrowed<'static> = CollatorBorrowed::new_root(options(Strength::Primary));
static SECONDARY: CollatorBorrowed<'static> = CollatorBorrowed::new_root(options(Strength::Secondary));
static TERTIARY: CollatorBorrowed<'static> = CollatorBorrowed::new_root(options(Strength::Tertiary));

/// The rule that decides the order once padding is cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Order {
    Bytes = 0,
    /// Accents and case ignored.
    Primary = 1,
    /// Case ignored.
    Secondary = 2,
    /// Accents and case count.
    Tertiary = 3,
    /// A weight for each character.
    General = 4,
    /// As `General`, with Swedish letters.
    Swedish = 5,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Padding {
    /// NO PAD.
    Counts,
    /// PAD SPACE.
    Ignored,
}

/// How character strings compare. Strings are stored as UTF-8 whatever their declared character set.
///
/// MySQL's number in the low bits, and above them how it compares, so that no comparison looks that up.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Collation(u16);

const ID_BITS: u32 = 9;
const ORDER_BITS: u32 = 3;
const PAD_SPACE: u16 = 1 << (ID_BITS + ORDER_BITS);
const NARROW: u16 = PAD_SPACE << 1;

const fn packed(id: u16, order: Order, padding: Padding) -> Collation {
    let padding = match padding {
        Padding::Counts => 0,
        Padding::Ignored => PAD_SPACE,
    };
    Collation(id | (order as u16) << ID_BITS | padding)
}

#[expect(non_upper_case_globals, reason = "they are used as the variants of an enum that has 280 of them")]
impl Collation {
    /// `binary`: bytes, no padding.
    pub const Binary: Self = packed(63, Order::Bytes, Padding::Counts);
    /// `utf8mb4_0900_ai_ci` (default): UCA, accents and case ignored, NO PAD.
    pub const Utf8mb40900AiCi: Self = packed(255, Order::Primary, Padding::Counts);
    /// `utf8mb4_0900_as_cs`: UCA, accents and case count, NO PAD.
    pub const Utf8mb40900AsCs: Self = packed(278, Order::Tertiary, Padding::Counts);
    /// `utf8mb4_0900_bin`: code points, NO PAD.
    pub const Utf8mb40900Bin: Self = packed(309, Order::Bytes, Padding::Counts);
    /// `utf8mb4_bin`: code points, PAD SPACE.
    pub const Utf8mb4Bin: Self = packed(46, Order::Bytes, Padding::Ignored);
    /// `utf8mb4_general_ci`: a weight for each character, PAD SPACE.
    pub const Utf8mb4GeneralCi: Self = packed(45, Order::General, Padding::Ignored);
}

/// The collations that have a tag of their own on the wire; others follow their tag as MySQL's number.
const TAGGED: [Collation; 6] = [
    Collation::Binary,
    Collation::Utf8mb40900AiCi,
    Collation::Utf8mb40900AsCs,
    Collation::Utf8mb40900Bin,
    Collation::Utf8mb4Bin,
    Collation::Utf8mb4GeneralCi,
];
const OTHER_TAG: u8 = 6;

impl Wire for Collation {
    fn encode(&self, encoder: &mut Encoder<'_>) {
        let tag = (0..OTHER_TAG).zip(TAGGED).find(|(_, tagged)| tagged == self);
        match tag {
            Some((tag, _)) => tag.encode(encoder),
            None => {
                OTHER_TAG.encode(encoder);
                self.mysql_id().encode(encoder);
            }
        }
    }

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, WireError> {
        let tag = u8::decode(decoder)?;
        match TAGGED.get(usize::from(tag)) {
            Some(tagged) => Ok(*tagged),
            None if tag == OTHER_TAG => Self::by_mysql_id(u16::decode(decoder)?).ok_or(WireError::Malformed),
            None => Err(WireError::UnknownTag),
        }
    }
}

impl std::fmt::Debug for Collation {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // As the constants are called.
        for word in self.name().split('_') {
            let (first, rest) = word.split_at_checked(1).unwrap_or((word, ""));
            write!(formatter, "{}{rest}", first.to_ascii_uppercase())?;
        }
        Ok(())
    }
}

fn icu_sort_key(collator: &CollatorBorrowed<'_>, text: &[u8], key: &mut Vec<u8>) {
    // The error type is `Infallible`.
    let Ok(()) = collator.write_sort_key_utf8_to::<Vec<u8>>(text, key);
}

impl Collation {
    #[inline]
    fn order(self) -> Order {
        match self.0 >> ID_BITS & ((1 << ORDER_BITS) - 1) {
            0 => Order::Bytes,
            1 => Order::Primary,
            2 => Order::Secondary,
            3 => Order::Tertiary,
            4 => Order::General,
            _ => Order::Swedish,
        }
    }

    /// True if trailing spaces do not count.
    #[must_use]
    #[inline]
    pub fn is_pad_space(self) -> bool {
        self.0 & PAD_SPACE != 0
    }

    /// The character set, unless that is utf8mb4 or binary: one that does not have all characters, or has them in other
    /// bytes.
    #[must_use]
    #[inline]
    pub fn narrow_set(self) -> Option<CharacterSet> {
        (self.0 & NARROW != 0).then(|| self.set())
    }

    /// True for `binary` and the `_bin` collations: strings of other bytes differ, and their bytes say how they are
    /// ordered.
    #[must_use]
    #[inline]
    pub fn is_code_point_order(self) -> bool {
        self.order() == Order::Bytes
    }

    /// True if a capital letter equals the small one.
    #[must_use]
    #[inline]
    pub fn ignores_case(self) -> bool {
        match self.order() {
            Order::Bytes | Order::Tertiary => false,
            Order::Primary | Order::Secondary | Order::General | Order::Swedish => true,
        }
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
            // ASCII has no accents.
            Order::Secondary => {
                ascii::compare_primary(left, right).unwrap_or_else(|| SECONDARY.compare_utf8(left, right))
            }
            Order::General => Weights::General.compare(left, right),
            Order::Swedish => Weights::Swedish.compare(left, right),
        }
    }

    /// The beginning of a string as a number: of two strings that have one, the one with the smaller number is the
    /// smaller string. Equal numbers say nothing.
    #[must_use]
    #[inline]
    pub fn order_prefix(self, text: &[u8]) -> Option<u64> {
        let text = self.without_padding(text);
        match self.order() {
            Order::Bytes => Some(first_bytes(text)),
            // Accents and case decide only where letters do not.
            Order::Primary | Order::Secondary | Order::Tertiary => ascii::order_prefix(text),
            Order::General => Some(Weights::General.order_prefix(text)),
            Order::Swedish => Some(Weights::Swedish.order_prefix(text)),
        }
    }

    /// True if the two strings are equal under this collation and end with as many spaces: what functions that look for
    /// a string in another one ask.
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

    /// Appends bytes whose order is that of [`Collation::compare`]. Only keys of the `_bin` collations may hold a zero
    /// byte.
    pub fn sort_key(self, text: &[u8], key: &mut Vec<u8>) {
        let text = self.without_padding(text);
        match self.order() {
            Order::Bytes => key.extend_from_slice(text),
            Order::Primary if text.is_ascii() => ascii::sort_key(text, key),
            Order::Primary => icu_sort_key(&PRIMARY, text, key),
            Order::Secondary => icu_sort_key(&SECONDARY, text, key),
            Order::Tertiary => icu_sort_key(&TERTIARY, text, key),
            Order::General => Weights::General.sort_key(text, key),
            Order::Swedish => Weights::Swedish.sort_key(text, key),
        }
    }

    /// Strings that are equal hash equal.
    #[must_use]
    pub fn hash(self, text: &[u8]) -> u64 {
        let text = self.without_padding(text);
        match self.order() {
            Order::Bytes => stdx::hash64(text),
            Order::Primary if text.len() <= ascii::BLOCK && text.is_ascii() => ascii::hash_short(text),
            Order::Primary | Order::Secondary | Order::Tertiary | Order::General | Order::Swedish => {
                let mut key = Vec::with_capacity(text.len() * 2 + 8);
                self.sort_key(text, &mut key);
                stdx::hash64(&key)
            }
        }
    }

    /// MySQL's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        names::by_id(self.mysql_id()).map_or("binary", |known| known.name)
    }

    /// The name of its character set.
    #[must_use]
    pub fn character_set(self) -> &'static str {
        names::by_id(self.mysql_id()).map_or("binary", |known| known.character_set)
    }

    /// Its character set.
    #[must_use]
    pub fn set(self) -> CharacterSet {
        CharacterSet::by_name(self.character_set()).unwrap_or(CharacterSet::Binary)
    }

    /// MySQL's collation number.
    #[must_use]
    #[inline]
    pub fn mysql_id(self) -> u16 {
        self.0 & ((1 << ID_BITS) - 1)
    }

    /// A number that no other collation has, the cheapest to get.
    #[must_use]
    #[inline]
    pub fn to_bits(self) -> u16 {
        self.0
    }

    /// The collation with that number, if its character set is here.
    #[must_use]
    pub fn by_mysql_id(id: u16) -> Option<Collation> {
        names::by_id(id).and_then(of_name)
    }

    /// MySQL's name of the collation with that number, whether its character set is here or not.
    #[must_use]
    pub fn mysql_name(id: u16) -> Option<CollationName> {
        names::by_id(id)
    }

    /// The collation of that name, without regard to case; `None` if there is none, or if its character set is not
    /// here.
    ///
    /// Besides MySQL's names there are `utf8_…`, MySQL's older names of the utf8mb3 collations, and MariaDB's names
    /// that have no equal in MySQL: these mean the nearest collation ([`nearest`]).
    #[must_use]
    pub fn by_name(name: &str) -> Option<Collation> {
        let name = name.to_ascii_lowercase();
        let name = match name.strip_prefix("utf8_") {
            Some(rest) => format!("utf8mb3_{rest}"),
            None => name,
        };
        names::all().find(|known| known.name == name).and_then(of_name).or_else(|| nearest(&name))
    }

    /// The default collation of a character set.
    #[must_use]
    pub fn by_character_set(name: &str) -> Option<Collation> {
        CharacterSet::by_name(name).map(CharacterSet::default_collation)
    }

    /// The `_bin` collation of its character set: what the column attribute BINARY asks for.
    #[must_use]
    pub fn bin(self) -> Collation {
        Self::by_name(&format!("{}_bin", self.character_set())).unwrap_or(Collation::Binary)
    }

    /// Every collation whose character set is here, by number.
    pub fn all() -> impl Iterator<Item = Collation> {
        names::all().filter_map(of_name)
    }
}

/// The collation that a name means, if its character set is here.
fn of_name(known: CollationName) -> Option<Collation> {
    CharacterSet::by_name(known.character_set)?;
    let CollationName { id, name, character_set } = known;
    let is_unicode = character_set.starts_with("utf") || character_set == "ucs2";
    let has_weights =
        ["_general_ci", "_general_mysql500_ci", "_tolower_ci"].iter().any(|end| name.ends_with(end));
    let order = match last_word(name) {
        "binary" | "bin" => Order::Bytes,
        "cs" | "ks" => Order::Tertiary,
        _ if name.ends_with("_as_ci") => Order::Secondary,
        _ if name == "latin1_swedish_ci" => Order::Swedish,
        _ if (is_unicode && !has_weights) || name == "gb18030_unicode_520_ci" => Order::Primary,
        _ => Order::General,
    };
    let is_no_pad = name == "binary" || name.contains("_0900_");
    let Collation(bits) = packed(id, order, if is_no_pad { Padding::Counts } else { Padding::Ignored });
    let is_narrow = !matches!(character_set, "utf8mb4" | "binary");
    Some(Collation(if is_narrow { bits | NARROW } else { bits }))
}

/// For MariaDB's names: `nopad` and the UCA 14.0.0 collations, which MariaDB also has without a character set in front.
fn nearest(name: &str) -> Option<Collation> {
    let no_pad = name.contains("_nopad_");
    let name = name.replacen("_nopad_", "_", 1);
    let (set, rest) = match name.split_once("uca1400_") {
        Some(("", rest)) => ("utf8mb4", rest),
        Some((set, rest)) => (set.strip_suffix('_')?, rest),
        None if no_pad => {
            let padded = Collation::by_name(&name)?;
            return Some(match padded.order() {
                _ if padded.set() != CharacterSet::Utf8mb4 => padded,
                Order::Bytes => Collation::Utf8mb40900Bin,
                Order::Primary => Collation::Utf8mb40900AiCi,
                Order::Secondary | Order::Tertiary | Order::General | Order::Swedish => padded,
            });
        }
        None => return None,
    };
    let is_utf8mb4 = CharacterSet::by_name(set)? == CharacterSet::Utf8mb4;
    Collation::by_name(&match (last_word(rest), is_utf8mb4) {
        ("cs", true) => "utf8mb4_0900_as_cs".to_owned(),
        ("ci", true) if rest.ends_with("as_ci") => "utf8mb4_0900_as_ci".to_owned(),
        ("ci", true) if no_pad => "utf8mb4_0900_ai_ci".to_owned(),
        ("ci" | "cs", _) => format!("{set}_unicode_520_ci"),
        _ => return None,
    })
}

/// The first eight bytes, those that are missing as zeros.
fn first_bytes(text: &[u8]) -> u64 {
    let mut first = [0; 8];
    let length = text.len().min(8);
    first[..length].copy_from_slice(&text[..length]);
    u64::from_be_bytes(first)
}

fn last_word(name: &str) -> &str {
    name.rsplit('_').next().unwrap_or(name)
}

#[cfg(test)]
mod tests;

impl CharacterSet {
    /// The collation of columns for which none is named.
    #[must_use]
    pub fn default_collation(self) -> Collation {
        Collation::by_mysql_id(self.default_collation_id()).unwrap_or(Collation::Binary)
    }
}

/// Cutting the spaces that CHAR and PAD SPACE do not count.
pub(crate) trait TrimSpaces {
    /// Without spaces at the end.
    fn trim_suffix_spaces(&self) -> &Self;
}

impl TrimSpaces for [u8] {
    #[inline]
    fn trim_suffix_spaces(&self) -> &Self {
        let mut text = self;
        while let [rest @ .., b' '] = text {
            text = rest;
        }
        text
    }
}
