//! The tests of this crate that catch deliberate bugs (`mutants`): each runs with its bug, and has to fail.

use crate::mutants::{DIRECTED, Mutant, activate};
use crate::scratch::tests as scratch;
use stdx::planted::survivors;

const TESTS: [(Mutant, fn()); 1] = [(Mutant::DamagedPiecesTaken, scratch::a_damaged_piece_is_refused)];

#[test]
fn every_listed_bug_fails_its_test() {
    assert_eq!(TESTS.map(|(mutant, _)| mutant), DIRECTED);
    assert_eq!(survivors(&TESTS, activate), []);
}
