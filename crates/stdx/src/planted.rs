//! Deliberate bugs and the tests that catch them: the proof that those tests can fail.
//!
//! Deliberately not here: the bugs themselves (`mutants` of each crate that has some).

use std::panic::catch_unwind;

/// How a bug of an enum is planted on a thread (`activate`), and asked for where it would act (`is`).
///
/// Without the feature `mutants` of the crate that has the enum, `is` is always false and the compiler removes what
/// hangs on it.
#[macro_export]
macro_rules! plantable {
    ($bug:ty) => {
        #[cfg(feature = "mutants")]
        thread_local! {
            static ACTIVE: std::cell::Cell<Option<$bug>> = const { std::cell::Cell::new(None) };
        }

        /// Plants a bug on this thread, or none.
        #[cfg(feature = "mutants")]
        pub fn activate(bug: Option<$bug>) {
            ACTIVE.set(bug);
        }

        /// Whether this bug is planted.
        #[inline]
        pub(crate) fn is(bug: $bug) -> bool {
            #[cfg(feature = "mutants")]
            return ACTIVE.get() == Some(bug);
            #[cfg(not(feature = "mutants"))]
            {
                let _ = bug;
                false
            }
        }
    };
}

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
