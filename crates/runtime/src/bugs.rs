//! The tests of this crate that catch deliberate bugs (`mutants`): each runs with its bug, and has to fail.

use crate::long_work::tests as long_work;
use crate::mutants::{ALL, Mutant, activate};
use stdx::planted::survivors;

const TESTS: [(Mutant, fn()); 2] = [
    (Mutant::LongNeverRuns, long_work::short_work_without_end_leaves_a_fifth_to_long_work),
    (Mutant::OneModuleRuns, long_work::modules_have_their_turns_and_keep_their_order),
];

#[test]
fn every_listed_bug_fails_its_test() {
    assert_eq!(TESTS.map(|(mutant, _)| mutant), ALL);
    assert_eq!(survivors(&TESTS, activate), []);
}
