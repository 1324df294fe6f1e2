//! Interleavings that seeds seldom meet, each of which one deliberate bug (`mutants`) turns into a failure; and the
//! list of all tests that catch bugs.

use super::*;

impl World {
    /// A node starts again at once, with its disk; nobody is connected with it.
    fn start_unconnected(&mut self, id: NodeId) {
        let disk = self.node(id).disk.clone();
        let block = Membership::new(config(id, 888, &disk), Arc::default());
        *self.node(id) = Node::new(block, disk);
        for (other, _) in MEMBERS.into_iter().filter(|(other, _)| *other != id) {
            self.input(other, |block, now, outputs| block.on_link_down(now, id, outputs));
        }
        self.input(id, |block, now, outputs| block.on_start(now, &[3; 32], outputs));
    }

    /// A node is connected with these others, as they and it see it.
    fn connect(&mut self, id: NodeId, others: &[NodeId]) {
        for other in others {
            self.input(*other, |block, now, outputs| block.on_link_up(now, id, outputs));
        }
        for other in others {
            self.input(id, |block, now, outputs| block.on_link_up(now, *other, outputs));
        }
    }
}

#[test]
fn who_is_not_connected_with_all_members_does_not_join() {
    let mut world = founded(1);
    world.run(12_000);
    world.start_unconnected(OTHER);
    world.connect(OTHER, &[MANAGEMENT, SQL]);
    world.run(2_000);
    assert!(world.node(OTHER).block.incarnation.is_some());
    let is_member = |world: &mut World| world.node(DATA).block.view.is_member(OTHER);
    assert!(!is_member(&mut world), "what the other data node sends would be lost");
    world.connect(OTHER, &[DATA]);
    world.run(2_000);
    assert!(is_member(&mut world));
}

#[test]
fn who_starts_again_does_not_wait_until_its_earlier_life_is_missed() {
    let mut world = founded(1);
    world.run(12_000);
    world.start_unconnected(OTHER);
    world.connect(OTHER, &[DATA, MANAGEMENT, SQL]);
    let is_member = |world: &mut World| {
        let incarnation = world.node(OTHER).block.incarnation;
        let known = world.node(DATA).block.view.node(OTHER).map(|info| info.incarnation);
        incarnation.is_some() && known == incarnation
    };
    let waited = (0..5_000).find(|_| {
        world.run(1);
        is_member(&mut world)
    });
    assert!(waited.is_some_and(|waited| waited < 150), "{waited:?} ms");
}

#[test]
fn a_connection_that_broke_is_there_again_with_the_next_view() {
    let mut world = founded(1);
    world.run(12_000);
    let before = world.node(DATA).block.view.number;
    for (node, other) in [(DATA, OTHER), (OTHER, DATA)] {
        world.input(node, |block, now, outputs| block.on_link_down(now, other, outputs));
    }
    world.run(5);
    world.connect(OTHER, &[DATA]);
    world.run(1_000);
    let view = Arc::clone(&world.node(DATA).block.view);
    assert!(view.number > before, "what was under way is lost, and nobody says it again");
    assert!(view.is_member(DATA) && view.is_member(OTHER));
}

/// The tests that run with each deliberate bug, and have to fail.
#[cfg(feature = "mutants")]
mod bugs {
    use crate::control_state::tests as control_state;
    use crate::detector::tests as detector;
    use crate::membership::tests::{recovery, restarting};
    use crate::mutants::{ALL, Catch, Mutant, activate};
    use crate::restart::tests as restart;
    use crate::succession::tests as succession;
    use stdx::planted::survivors;

    const TESTS: [(Mutant, fn()); 30] = [
        (Mutant::SuspectsAreGranted, detector::who_is_out_of_reach_is_granted_nothing),
        (Mutant::EarlierGrantsForgotten, detector::what_a_dead_life_was_granted_is_over_in_its_next_life),
        (Mutant::DeadWitnessLeaves, detector::a_dead_witness_hides_nobody_elses_death),
        (Mutant::FirstGrantForgotten, detector::who_comes_in_sync_honours_what_the_others_take_as_given),
        (Mutant::LaggardsAreGranted, detector::who_does_not_know_the_view_is_not_let_read),
        (Mutant::JoinersLetRead, detector::who_was_alone_needs_the_grants_of_who_joins),
        (Mutant::JoinUnconnected, super::who_is_not_connected_with_all_members_does_not_join),
        (Mutant::EarlierLifeStays, super::who_starts_again_does_not_wait_until_its_earlier_life_is_missed),
        (Mutant::BrokenLinkNotRenewed, super::a_connection_that_broke_is_there_again_with_the_next_view),
        (Mutant::JoinReplacesAnything, control_state::a_process_start_has_one_incarnation),
        (Mutant::FirstViewWithoutVoters, control_state::the_first_view_waits_for_all_voters),
        (Mutant::RecoveryWithoutMembers, recovery::a_process_that_started_again_has_no_rows),
        (Mutant::RecoveryDespiteAnswer, recovery::a_node_that_lives_is_not_gone),
        (Mutant::OldLogsStayValid, recovery::old_disks_that_come_back_are_void),
        (Mutant::NumbersGivenTwice, recovery::numbers_are_given_once),
        (Mutant::SurvivorsStayUnbound, recovery::who_takes_part_has_done_with_the_old_founding),
        (Mutant::HomeIgnored, succession::primaries_go_home),
        (Mutant::CutTooHigh, restart::the_cut_is_what_a_disk_of_each_group_holds),
        (Mutant::OldTailReturns, restart::what_was_above_a_cut_never_comes_back),
        (Mutant::UnconfirmedHeaderCounts, restart::the_header_of_a_restart_that_was_never_recorded_is_void),
        (Mutant::LineageIgnored, restart::only_the_disk_of_a_life_that_the_view_names_counts),
        (Mutant::DStarIgnored, restart::a_disk_that_ends_before_what_is_durable_is_no_source),
        (
            Mutant::RestorableBeforeJoined,
            restart::the_last_restorable_life_is_waited_for_while_another_one_joins,
        ),
        (Mutant::DeadStayRestorable, restart::only_the_disk_of_a_life_that_the_view_names_counts),
        (Mutant::LastLeavesEarly, restart::the_last_restorable_life_is_waited_for_while_another_one_joins),
        (Mutant::RestartNotCompared, control_state::restarts_are_counted_one_by_one),
        (Mutant::FirstComerLeftOut, restarting::after_a_loss_of_all_who_comes_first_is_not_left_out),
        (Mutant::EarlierLivesJoined, restarting::who_was_left_out_joins_nobody_who_has_started_anew),
        (Mutant::StopUnrecorded, restart::no_view_but_a_restarts_follows_a_stop),
        (Mutant::InitialOfTheLast, restarting::the_last_disk_of_a_group_is_not_begun_anew),
    ];

    #[test]
    fn every_listed_bug_fails_its_test() {
        let directed = ALL.iter().filter(|(.., catch)| *catch == Catch::Directed);
        let directed: Vec<String> = directed.map(|(mutant, ..)| format!("{mutant:?}")).collect();
        let mut tested = TESTS.map(|(mutant, _)| format!("{mutant:?}"));
        tested.sort_unstable();
        let mut listed = directed;
        listed.sort_unstable();
        assert_eq!(tested.as_slice(), listed);
        assert_eq!(survivors(&TESTS, activate), []);
    }
}
