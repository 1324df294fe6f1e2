//! The UCA collations on ASCII strings, by tables that are derived from ICU4X at first use.
//!
//! Every ASCII character has one collation element of its own, or none, as most control characters. No sequence of
//! ASCII characters contracts. Only a *following* non-ASCII character can change what an ASCII character means: "l·",
//! or "o" with a combining mark that is part of a contraction. So a difference between two ASCII characters decides as
//! soon as both are followed by ASCII or by the end. Where that does not hold, the answer is `None` and ICU4X is asked.
//!
//! Sort keys follow ICU's format, byte for byte: primary weights, whose lead byte is omitted where it repeats and is
//! compressible. Invariant (tested for all pairs of characters and random strings): what these functions say is what
//! ICU4X says.

use super::{PRIMARY, icu_sort_key};
use std::cmp::Ordering;
use std::sync::LazyLock;

/// Characters whose sort key fits [`KEY_BLOCK`].
pub(super) const BLOCK: usize = 64;
/// Per character at most a terminator and four bytes.
const KEY_BLOCK: usize = BLOCK * 5;
/// ICU's "primary compression terminators": lower and higher than any second byte of a compressible weight.
const TERMINATOR_LOW: u8 = 3;
const TERMINATOR_HIGH: u8 = 0xff;

struct Tables {
    /// Rank of the primary weight among ASCII's; 0 for ignored characters.
    ranks: [u8; 128],
    /// The primary weight, first byte highest.
    weights: [u32; 128],
    /// Whether the weight's lead byte is omitted when it repeats.
    compressible: [bool; 128],
}

static TABLES: LazyLock<Tables> = LazyLock::new(Tables::derive);

impl Tables {
    fn derive() -> Self {
        let mut tables = Self { ranks: [0; 128], weights: [0; 128], compressible: [false; 128] };
        for character in 0..128_u8 {
            let (mut single, mut double) = (Vec::new(), Vec::new());
            icu_sort_key(&PRIMARY, &[character], &mut single);
            icu_sort_key(&PRIMARY, &[character, character], &mut double);
            stdx::require!(single.len() <= 4, "an ASCII character has one collation element");
            let mut bytes = [0; 4];
            bytes[..single.len()].copy_from_slice(&single);
            tables.weights[usize::from(character)] = u32::from_be_bytes(bytes);
            tables.compressible[usize::from(character)] = double.len() < 2 * single.len();
        }
        let mut ordered = tables.weights;
        ordered.sort_unstable();
        let mut distinct = ordered.to_vec();
        distinct.dedup();
        stdx::require!(distinct.first() == Some(&0), "control characters are ignored");
        for (rank, weight) in tables.ranks.iter_mut().zip(tables.weights) {
            let position = distinct.binary_search(&weight).unwrap_or(0);
            *rank = u8::try_from(position).unwrap_or(u8::MAX);
        }
        tables
    }
}

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH_BITS: u64 = 0x80 * ONES;

/// Eight ASCII characters with capital letters made small.
#[inline]
const fn small_letters(word: u64) -> u64 {
    // Adding to each byte sets its high bit from 'A', and from the one behind 'Z', on; no byte carries into the next.
    let from_a = word + (0x80 - b'A' as u64) * ONES;
    let behind_z = word + (0x7f - b'Z' as u64) * ONES;
    word | ((from_a ^ behind_z) & HIGH_BITS) >> 2
}

/// Whether a common prefix may differ in case.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Case {
    Counts,
    Ignored,
}

/// Length of a common prefix that is ASCII: a multiple of 8, not necessarily the longest.
#[inline]
fn common_prefix(left: &[u8], right: &[u8], case: Case) -> usize {
    let mut length = 0;
    for (left, right) in left.chunks_exact(8).zip(right.chunks_exact(8)) {
        let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap_or_default());
        let (left, right) = (word(left), word(right));
        let is_ascii = (left | right) & HIGH_BITS == 0;
        if !is_ascii
            || (left != right && (case == Case::Counts || small_letters(left) != small_letters(right)))
        {
            break;
        }
        length += 8;
    }
    length
}

/// True if what follows cannot change the meaning of the ASCII character before it.
#[inline]
fn is_ascii_or_end(text: &[u8], position: usize) -> bool {
    text.get(position).is_none_or(u8::is_ascii)
}

/// Where two ASCII strings differ at the primary level.
enum Walk {
    Decided(Ordering),
    /// Both are ASCII to the end, and no primary difference; how they differ in case behind the common prefix.
    Same(Ordering),
    Unknown,
}

#[inline]
fn walk(left: &[u8], right: &[u8], case_in_prefix: Case) -> Walk {
    let ranks = &TABLES.ranks;
    let start = common_prefix(left, right, case_in_prefix);
    let mut case = Ordering::Equal;
    for (offset, (l, r)) in left[start..].iter().zip(&right[start..]).enumerate() {
        if l == r && l.is_ascii() {
            continue;
        }
        if !l.is_ascii() || !r.is_ascii() {
            return Walk::Unknown;
        }
        let (left_rank, right_rank) = (ranks[usize::from(l & 0x7f)], ranks[usize::from(r & 0x7f)]);
        if left_rank != right_rank {
            let next = start + offset + 1;
            // An ignored character on one side shifts the rest: rare enough to leave to ICU.
            let decides = left_rank != 0
                && right_rank != 0
                && is_ascii_or_end(left, next)
                && is_ascii_or_end(right, next);
            return if decides { Walk::Decided(left_rank.cmp(&right_rank)) } else { Walk::Unknown };
        }
        if case == Ordering::Equal && left_rank != 0 {
            // Small letters come first.
            case = l.is_ascii_uppercase().cmp(&r.is_ascii_uppercase());
        }
    }
    let common = left.len().min(right.len());
    let (rest, order) = if left.len() > common { (left, Ordering::Greater) } else { (right, Ordering::Less) };
    match rest.get(common) {
        None => Walk::Same(case),
        Some(first)
            if first.is_ascii()
                && ranks[usize::from(first & 0x7f)] != 0
                && is_ascii_or_end(rest, common + 1) =>
        {
            Walk::Decided(order)
        }
        Some(_) => Walk::Unknown,
    }
}

/// Compares without case; `None` if ICU4X must be asked.
#[inline]
pub(super) fn compare_primary(left: &[u8], right: &[u8]) -> Option<Ordering> {
    match walk(left, right, Case::Ignored) {
        Walk::Decided(order) => Some(order),
        Walk::Same(_) => Some(Ordering::Equal),
        Walk::Unknown => None,
    }
}

/// Compares with case as the last resort; `None` if ICU4X must be asked.
#[inline]
pub(super) fn compare_tertiary(left: &[u8], right: &[u8]) -> Option<Ordering> {
    match walk(left, right, Case::Counts) {
        Walk::Decided(order) | Walk::Same(order) => Some(order),
        Walk::Unknown => None,
    }
}

/// Characters of an order prefix.
const PREFIX: usize = 8;

/// The ranks of the first characters, the first one highest. `None` unless each of them counts and is followed by an
/// ASCII character that counts, or by the end. Then a difference between two prefixes is one that `walk` decides by.
#[inline]
pub(super) fn order_prefix(text: &[u8]) -> Option<u64> {
    let ranks = &TABLES.ranks;
    let mut prefix = 0;
    for (position, character) in text.iter().take(PREFIX + 1).enumerate() {
        let rank = if character.is_ascii() { ranks[usize::from(character & 0x7f)] } else { 0 };
        if rank == 0 {
            return None;
        }
        if position < PREFIX {
            prefix |= u64::from(rank) << (8 * (PREFIX - 1 - position));
        }
    }
    Some(prefix)
}

/// Writes the key of up to [`BLOCK`] characters; `previous` is the last weight whose lead byte was written and is
/// compressible.
fn write_block(text: &[u8], previous: &mut u32, block: &mut [u8; KEY_BLOCK]) -> usize {
    let tables = &*TABLES;
    let mut length = 0;
    let mut push = |byte: u8| {
        block[length] = byte;
        length += 1;
    };
    for character in text {
        let index = usize::from(character & 0x7f);
        let weight = tables.weights[index];
        if weight == 0 {
            continue;
        }
        let [lead, rest @ ..] = weight.to_be_bytes();
        let [previous_lead, ..] = previous.to_be_bytes();
        let compressible = tables.compressible[index];
        if !compressible || lead != previous_lead {
            if *previous != 0 {
                push(if weight < *previous { TERMINATOR_LOW } else { TERMINATOR_HIGH });
            }
            push(lead);
            *previous = if compressible { weight } else { 0 };
        }
        for byte in rest {
            if byte == 0 {
                break;
            }
            push(byte);
        }
    }
    length
}

/// Appends the primary sort key of an ASCII string.
pub(super) fn sort_key(text: &[u8], key: &mut Vec<u8>) {
    let (mut previous, mut block) = (0, [0; KEY_BLOCK]);
    for text in text.chunks(BLOCK) {
        let length = write_block(text, &mut previous, &mut block);
        key.extend_from_slice(&block[..length]);
    }
}

/// Hashes the sort key of an ASCII string of at most [`BLOCK`] characters.
pub(super) fn hash_short(text: &[u8]) -> u64 {
    let (mut previous, mut block) = (0, [0; KEY_BLOCK]);
    let length = write_block(text, &mut previous, &mut block);
    stdx::hash64(&block[..length])
}
