//! The tests of this crate that catch deliberate bugs (`mutants`): each runs with its bug, and has to fail.

use crate::mutants::{ALL, Mutant, activate};
use crate::pieces;
use crate::read::tests as read;
use stdx::planted::survivors;

const TESTS: [(Mutant, fn()); 4] = [
    (Mutant::KernelPassesUndecided, read::a_scan_with_a_kernel_gives_what_keys_give_without),
    (Mutant::KernelForgetsRest, read::a_scan_with_a_kernel_gives_what_keys_give_without),
    (Mutant::KernelGuesses, read::a_scan_with_a_kernel_gives_what_keys_give_without),
    (Mutant::CutSkipsKey, pieces::tests::each_key_is_in_one_piece),
];

#[test]
fn every_listed_bug_fails_its_test() {
    assert_eq!(TESTS.map(|(mutant, _)| mutant), ALL);
    assert_eq!(survivors(&TESTS, activate), []);
}
