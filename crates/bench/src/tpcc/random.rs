//! Random inputs as TPC-C wants them (clauses 2.1.6 and 4.3.2).

use stdx::Prng;

/// Customers of a district, and items.
pub(super) const CUSTOMERS: u64 = 3_000;
pub(super) const ITEMS: u64 = 100_000;

/// The constants C of clause 2.1.6.1: for names the two differ by 66, which the clause allows.
const C_LAST_OF_LOAD: u64 = 157;
const C_LAST_OF_RUN: u64 = 223;
const C_CUSTOMER: u64 = 259;
const C_ITEM: u64 = 7_911;

const SYLLABLES: [&str; 10] =
    ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];
const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/// The use of a name: it is loaded, or asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    Load,
    Run,
}

/// A source of inputs.
#[derive(Debug)]
pub(super) struct Inputs {
    prng: Prng,
}

impl Inputs {
    pub(super) fn new(seed: u64) -> Self {
        Self { prng: Prng::new(seed) }
    }

    /// A number from `low` to `high`, both included.
    pub(super) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.prng.below(high - low + 1)
    }

    /// True in so many cases of a hundred.
    pub(super) fn percent(&mut self, share: u64) -> bool {
        self.prng.chance(share, 100)
    }

    /// NURand: some numbers of the range come more often than others.
    fn uneven(&mut self, a: u64, c: u64, low: u64, high: u64) -> u64 {
        let mixed = self.between(0, a) | self.between(low, high);
        (mixed + c) % (high - low + 1) + low
    }

    pub(super) fn customer(&mut self) -> u64 {
        self.uneven(1_023, C_CUSTOMER, 1, CUSTOMERS)
    }

    pub(super) fn item(&mut self) -> u64 {
        self.uneven(8_191, C_ITEM, 1, ITEMS)
    }

    pub(super) fn last_name(&mut self, phase: Phase) -> String {
        let c = match phase {
            Phase::Load => C_LAST_OF_LOAD,
            Phase::Run => C_LAST_OF_RUN,
        };
        last_name(self.uneven(255, c, 0, 999))
    }

    /// Letters and digits.
    pub(super) fn text(&mut self, size_min: u64, size_max: u64) -> String {
        let size = self.between(size_min, size_max);
        (0..size).map(|_| char::from(LETTERS[self.prng.index(LETTERS.len())])).collect()
    }

    pub(super) fn digits(&mut self, size: u64) -> String {
        (0..size).map(|_| char::from(LETTERS[52 + self.prng.index(10)])).collect()
    }

    pub(super) fn zip(&mut self) -> String {
        self.digits(4) + "11111"
    }

    /// Data of an item or of its stock: one of ten contains ORIGINAL.
    pub(super) fn data(&mut self) -> String {
        let mut text = self.text(26, 50);
        if self.percent(10) {
            let place = self.prng.index(text.len() - 8);
            text.replace_range(place..place + 8, "ORIGINAL");
        }
        text
    }

    /// The numbers from 1 to `count` in any order.
    pub(super) fn permutation(&mut self, count: u64) -> Vec<u64> {
        let mut numbers: Vec<u64> = (1..=count).collect();
        for index in (1..numbers.len()).rev() {
            let other = self.prng.index(index + 1);
            numbers.swap(index, other);
        }
        numbers
    }
}

/// Three syllables, one for each digit.
pub(super) fn last_name(number: u64) -> String {
    let syllable = |digit: u64| SYLLABLES[usize::try_from(digit % 10).unwrap_or(0)];
    [syllable(number / 100), syllable(number / 10), syllable(number)].concat()
}

/// Hundredths as DECIMAL text.
pub(super) fn money(cents: u64) -> String {
    format!("{}.{:02}", cents / 100, cents % 100)
}

#[cfg(test)]
mod tests;
