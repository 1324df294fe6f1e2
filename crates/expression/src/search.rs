//! Searching a text for a part of it: byte by byte, or under a collation.
//!
//! The obvious search takes time that grows with the *product* of both sizes. `LOCATE` of a hundred thousand times 'a'
//! and a 'b' in a million times 'a' held a thread until its watchdog ended the node. So bytes are searched by an
//! algorithm whose time grows with the sum. ASCII letters are folded for it first. A comparison part by part counts its
//! work as it goes on ([`Meter`]).

use crate::context::{EvaluationError, WIDE_FACTOR, Warnings};
use crate::pattern::{character_size, equal_characters};
use memchr::memmem;
use types::Collation;

/// Work that is told at once.
const METER_STEP: usize = 64 * 1024;

/// Counts the work of one search while it is done, so that one without end is ended.
pub(crate) struct Meter<'a> {
    warnings: &'a Warnings,
    untold: usize,
}

impl<'a> Meter<'a> {
    pub(crate) fn new(warnings: &'a Warnings) -> Self {
        Self { warnings, untold: 0 }
    }

    /// So much was done.
    #[inline]
    pub(crate) fn spend(&mut self, work: usize) -> Result<(), EvaluationError> {
        self.untold += work;
        if self.untold < METER_STEP {
            return Ok(());
        }
        self.warnings.work_on_text(std::mem::take(&mut self.untold))
    }
}

/// Byte position of the first `needle`, byte by byte.
pub(crate) fn find_exact(text: &[u8], needle: &[u8]) -> Option<usize> {
    memmem::find(text, needle)
}

/// Byte position of the last `needle`.
pub(crate) fn find_last(text: &[u8], needle: &[u8]) -> Option<usize> {
    memmem::rfind(text, needle)
}

/// Byte position of the first part of `text` that equals `needle` under `collation`. Only parts of as many bytes as the
/// needle has are tried, as MySQL does: 'o' is not found in 'ö' though they are equal.
pub(crate) fn find(
    text: &[u8],
    needle: &[u8],
    collation: Collation,
    meter: &mut Meter<'_>,
) -> Result<Option<usize>, EvaluationError> {
    if collation.is_code_point_order() {
        return Ok(find_exact(text, needle));
    }
    // Control characters are ignored by most collations.
    let is_plain = needle.iter().all(|byte| matches!(byte, b' '..=b'~')) && !needle.ends_with(b" ");
    if is_plain && text.is_ascii() {
        let ignores_case = collation.equal(b"a", b"A");
        return Ok(match ignores_case {
            true => find_exact(&text.to_ascii_lowercase(), &needle.to_ascii_lowercase()),
            false => find_exact(text, needle),
        });
    }
    let mut at = 0;
    while let Some(window) = text.get(at..at + needle.len()) {
        meter.spend(if begins_alike(window, needle, collation) {
            needle.len() * WIDE_FACTOR
        } else {
            WIDE_FACTOR
        })?;
        if collation.equal(window, needle) {
            return Ok(Some(at));
        }
        at += character_size(&text[at..], false).max(1);
    }
    Ok(None)
}

/// False if the first characters alone tell two texts apart.
fn begins_alike(left: &[u8], right: &[u8], collation: Collation) -> bool {
    let (left, right) = (&left[..character_size(left, false)], &right[..character_size(right, false)]);
    let is_ignored = |character: &[u8]| collation.equal(character, b"");
    equal_characters(left, right, collation) || is_ignored(left) || is_ignored(right)
}

#[cfg(test)]
mod tests {
    use super::{Meter, find, find_exact, find_last};
    use crate::context::Warnings;
    use stdx::Prng;
    use types::Collation;

    const COLLATIONS: [Collation; 4] = [
        Collation::Utf8mb40900AiCi,
        Collation::Utf8mb4GeneralCi,
        Collation::Utf8mb40900AsCs,
        Collation::Utf8mb4Bin,
    ];

    fn obvious(text: &[u8], needle: &[u8], collation: Collation) -> Option<usize> {
        let ends = (0..=text.len()).filter(|at| text.get(*at).is_none_or(|byte| byte & 0xc0 != 0x80));
        let mut parts = ends.filter_map(|at| Some((at, text.get(at..at + needle.len())?)));
        let by_bytes = collation == Collation::Utf8mb4Bin;
        let is_it = |part: &[u8]| if by_bytes { part == needle } else { collation.equal(part, needle) };
        parts.find(|(_, part)| is_it(part)).map(|(at, _)| at)
    }

    #[test]
    fn finds_what_the_obvious_search_finds() {
        let mut prng = Prng::new(11);
        let letters = ["a", "A", "b", " ", "ä", "é", "\u{1}", "-", "日"];
        let mut word = |length: u64| -> String {
            (0..prng.below(length)).map(|_| letters[prng.index(letters.len())]).collect()
        };
        for _ in 0..4_000 {
            let (text, needle) = (word(12), word(4));
            for collation in COLLATIONS {
                let warnings = Warnings::default();
                let found = find(text.as_bytes(), needle.as_bytes(), collation, &mut Meter::new(&warnings));
                let expected = obvious(text.as_bytes(), needle.as_bytes(), collation);
                assert_eq!(found.expect("it is short"), expected, "{needle:?} in {text:?}, {collation:?}");
            }
            let by_bytes = text.find(&needle);
            assert_eq!(find_exact(text.as_bytes(), needle.as_bytes()), by_bytes);
            assert_eq!(find_last(text.as_bytes(), needle.as_bytes()), text.rfind(&needle));
        }
    }

    #[test]
    fn only_the_case_of_a_printable_ascii_character_is_ignored() {
        for (left, right) in (b' '..=b'~').flat_map(|left| (b' '..=b'~').map(move |right| (left, right))) {
            for collation in COLLATIONS {
                // Not at the end, where spaces may not count.
                let is_equal = collation.equal(&[left, b'.'], &[right, b'.']);
                let ignores_case = collation.equal(b"a", b"A");
                let folded = if ignores_case { left.eq_ignore_ascii_case(&right) } else { left == right };
                assert_eq!(is_equal, folded, "{left} {right} {collation:?}");
            }
        }
    }

    /// The obvious search would take minutes for each of these.
    #[test]
    fn time_does_not_grow_with_the_product_of_sizes() {
        let collation = Collation::Utf8mb40900AiCi;
        for letter in ["a", "é"] {
            let (text, needle) = (letter.repeat(4_000_000), letter.repeat(1_000_000) + "b");
            let warnings = Warnings::default();
            let found = find(text.as_bytes(), needle.as_bytes(), collation, &mut Meter::new(&warnings));
            match letter {
                "a" => assert_eq!(found.expect("time grows with the sum"), None),
                _ => assert_eq!(found.expect_err("it is too much for one row").code, 1041),
            }
            assert_eq!(find_last(text.as_bytes(), (String::from("b") + &needle).as_bytes()), None);
        }
    }
}
