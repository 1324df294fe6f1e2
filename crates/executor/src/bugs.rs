//! The tests of this crate that catch deliberate bugs (`mutants`): each runs with its bug, and has to fail.

use crate::locked_reader::tests as locked_reader;
use crate::mutants::{DIRECTED, Mutant, activate};
use crate::scratch::tests as scratch;
use stdx::planted::survivors;

const TESTS: [(Mutant, fn()); 3] = [
    (Mutant::DamagedPiecesTaken, scratch::a_damaged_piece_is_refused),
    (Mutant::GrantReadAtBackup, locked_reader::rows_that_another_node_leads_by_then_are_asked_for),
    (Mutant::GrantReadOfOwnRows, locked_reader::rows_of_a_slot_that_it_has_written_are_sent),
];

#[test]
fn every_listed_bug_fails_its_test() {
    assert_eq!(TESTS.map(|(mutant, _)| mutant), DIRECTED);
    assert_eq!(survivors(&TESTS, activate), []);
}
