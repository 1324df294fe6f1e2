//! The tests of this crate that catch deliberate bugs (`mutants`): each runs with its bug, and has to fail.

use crate::mutants::{ALL, Mutant, activate};
use crate::recovery::tests as recovery;
use crate::writer::tests as writer;
use stdx::planted::survivors;

const TESTS: [(Mutant, fn()); 8] = [
    (Mutant::SyncSkipped, writer::a_flush_survives_a_loss_of_power),
    (Mutant::TornEndIsDamage, recovery::a_torn_end_is_cut_off),
    (Mutant::DamageIsTornEnd, recovery::a_bad_block_before_the_flushed_position_is_damage),
    (Mutant::TailNotRewritten, recovery::a_tail_that_was_found_survives_a_loss_of_power),
    (Mutant::NeededFileRecycled, writer::files_are_used_again_when_they_are_released),
    (Mutant::LeftBehindReturns, recovery::the_tail_that_a_life_left_behind_does_not_come_back),
    (Mutant::JoinedForgetsBefore, recovery::what_was_held_before_joining_counts_until_more_is_durable),
    (Mutant::FailedSyncRetried, writer::a_failed_write_or_sync_ends_the_writer),
];

#[test]
fn every_listed_bug_fails_its_test() {
    assert_eq!(TESTS.map(|(mutant, _)| mutant), ALL);
    assert_eq!(survivors(&TESTS, activate), []);
}
