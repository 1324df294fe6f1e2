//! Deliberate bugs and the tests that catch them: the proof that those tests can fail.
//!
//! Deliberately not here: the bugs themselves, and how one is planted (`mutants` of each crate that has some).

use std::panic::catch_unwind;

/// Those of the bugs with which their test passes all the same. Each test runs without its bug first, and has to pass.
#[must_use]
pub fn survivors<B: Copy>(tests: &[(B, fn())], plant: fn(Option<B>)) -> Vec<B> {
    let survives = |(bug, test): &(B, fn())| {
        test();
        plant(Some(*bug));
        let ended = catch_unwind(test);
        plant(None);
        ended.is_ok().then_some(*bug)
    };
    tests.iter().filter_map(survives).collect()
}

#[cfg(test)]
mod tests {
    use super::survivors;
    use std::cell::Cell;

    thread_local! {
        static PLANTED: Cell<Option<u32>> = const { Cell::new(None) };
    }

    fn plant(bug: Option<u32>) {
        PLANTED.set(bug);
    }

    fn notices_one() {
        assert_ne!(PLANTED.get(), Some(1));
    }

    #[test]
    fn a_bug_that_its_test_does_not_notice_survives() {
        assert_eq!(survivors(&[(1, notices_one), (2, notices_one)], plant), [2]);
        assert_eq!(PLANTED.get(), None);
    }
}
