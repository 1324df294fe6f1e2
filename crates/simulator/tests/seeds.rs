//! A bounded number of seeds in every test run; long campaigns are run by `cargo xtask simulate`.
#![expect(clippy::disallowed_types, reason = "tests of one process take turns")]

use simulator::transcript::Transcript;
use simulator::{Outcome, run_kind};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Seeds of the ordinary test run.
const SEEDS: u64 = 200;

/// Clusters that stop as a whole.
const FULL_STOPS: u64 = 100;

/// Clusters that lose the disks of a group.
const DATA_LOSSES: u64 = 12;

/// Clusters of which a node comes back.
const RETURNS: u64 = 6;

/// Clusters of which disks fail.
const BAD_DISKS: u64 = 16;

/// Clusters whose statements use scratch.
const SPILLED: u64 = 24;

/// Lines of a failed run that are shown.
const LINES: usize = 400;

/// The worlds of one process share the periods after which memory is used again (`memory::quiescence`). A run depends
/// on its seed only while no other one is beside it.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a seed of a kind, and says how to run it again if it fails. `None` if the kind has no such seed.
fn passes(kind: &str, seed: u64) -> Option<Outcome> {
    let outcome = run_kind(kind, seed, Transcript::new(LINES))?;
    let again = format!("cargo xtask simulate --kind {kind} --seed {seed}");
    assert_eq!(outcome.failure, None, "to see it all: {again}\n{}", outcome.tail);
    Some(outcome)
}

#[test]
fn seeds_pass() {
    let _alone = alone();
    for seed in 0..SEEDS {
        assert!(passes("any", seed).is_some());
    }
}

/// Primaries that stood still while others took over, and do not know it.
#[test]
fn paused_primaries_answer_nothing() {
    let _alone = alone();
    let paused = (0..40).filter_map(|seed| passes("paused", seed)).count();
    assert!(paused > 10, "{paused} clusters were paused");
}

/// A revoked privilege is permitted nowhere once REVOKE is acknowledged, whatever happens to the cluster.
#[test]
fn a_revoke_counts_at_every_node() {
    let _alone = alone();
    for seed in 0..30 {
        assert!(passes("granted", seed).is_some());
    }
}

/// Joins find each row once, and changes of several tables are one, whatever happens to the cluster.
#[test]
fn joins_and_changes_of_several_tables_are_whole() {
    let _alone = alone();
    for seed in 0..40 {
        assert!(passes("joined", seed).is_some());
    }
}

/// SKIP LOCKED, LOCK TABLES and GET_LOCK keep clients of all nodes apart.
#[test]
fn locks_keep_others_out() {
    let _alone = alone();
    for seed in 0..40 {
        assert!(passes("locked", seed).is_some());
    }
}

/// A data node hangs while its heartbeats go on: it has to leave, and all clients go on within a bound.
#[test]
fn nodes_that_hang_have_to_leave() {
    let _alone = alone();
    let mut left = 0;
    for seed in 0..12 {
        let Some(outcome) = passes("hung", seed) else { continue };
        left += outcome.injected.get("left out").copied().unwrap_or(0);
    }
    assert!(left >= 10, "{left} left");
}

/// A majority of the voters is lost with its disks, and an operator goes on with what lives: nothing that was
/// acknowledged is lost.
#[test]
fn lost_voters_are_recovered_from() {
    let _alone = alone();
    let mut recovered = 0;
    for seed in 0..24 {
        let Some(outcome) = passes("lost-voters", seed) else { continue };
        recovered += outcome.injected.get("recovered").copied().unwrap_or(0);
    }
    assert!(recovered >= 12, "{recovered} recovered");
}

/// Transactions stay open for long while the schema changes: DDL waits for those on its own tables, for ten seconds,
/// and for no others.
#[test]
fn ddl_waits_for_users_of_its_own_tables_and_gives_way() {
    let _alone = alone();
    let (mut held, mut gave_way) = (0, 0);
    for seed in 0..30 {
        let Some(outcome) = passes("held", seed) else { continue };
        held += outcome.injected.get("long transaction").copied().unwrap_or(0);
        gave_way += outcome.injected.get("DDL gave way").copied().unwrap_or(0);
    }
    assert!(held >= 30 && gave_way >= 5, "{held} transactions were long, DDL gave way {gave_way} times");
}

/// All processes end at once, killed or without power, and the cluster comes back from its disks. Most of the logs are
/// so small that only checkpoints keep them within their space.
#[test]
fn a_full_stop_loses_nothing_that_was_flushed() {
    let _alone = alone();
    let mut counts = [("promises", 0), ("figures", 0), ("log trimmed", 0), ("disks restored aside", 0)];
    for seed in 0..FULL_STOPS {
        let Some(outcome) = passes("full-stop", seed) else { continue };
        for (what, count) in &mut counts {
            *count += outcome.injected.get(what).copied().unwrap_or(0);
        }
    }
    assert!(counts.iter().all(|(_, count)| *count > 0), "something never happened: {counts:?}");
}

/// All disks of a replica group are lost: the cluster waits for an operator, and goes on without those rows.
#[test]
fn rows_are_given_up_by_an_order_only() {
    let _alone = alone();
    let mut given_up = 0;
    for seed in 0..DATA_LOSSES {
        let Some(outcome) = passes("data-loss", seed) else { continue };
        given_up += outcome.injected.get("rows given up").copied().unwrap_or(0);
    }
    assert!(given_up > 0, "no cluster of these seeds has two groups");
}

/// A node whose disk is the last that counts joins, and the others are lost meanwhile.
#[test]
fn the_last_disk_counts_while_its_node_joins() {
    let _alone = alone();
    for seed in 0..RETURNS {
        for kind in ["last-disk", "last-disk-known"] {
            assert!(passes(kind, seed).is_some());
        }
    }
}

/// A node is in sync, and its disk has all that was durable, before both nodes die and the other one loses its log.
#[test]
fn the_disk_of_a_node_that_has_joined_counts_again() {
    let _alone = alone();
    assert!(passes("last-disk-known", 35_092).is_some());
}

/// Nodes are lost one at a time and come back with the rows of their disks: what they lack is found by comparing.
#[test]
fn nodes_that_come_back_are_brought_up_to_date() {
    let _alone = alone();
    for seed in 0..RETURNS {
        assert!(passes("return", seed).is_some());
    }
}

/// Writes fail, go astray or find no room, disks stand still, and rot at rest: one at a time. Whatever becomes of one,
/// nothing is lost that was promised, and its node comes back.
#[test]
fn a_bad_disk_costs_nothing_that_was_promised() {
    let _alone = alone();
    let kinds = [
        "disk failed",
        "change went astray",
        "disk full",
        "disk stalled",
        "disk damaged",
        "lost while it came back",
    ];
    let mut counts = kinds.map(|kind| (kind, 0));
    for seed in 0..BAD_DISKS {
        let Some(outcome) = passes("bad-disks", seed) else { continue };
        for (what, count) in &mut counts {
            *count += outcome.injected.get(what).copied().unwrap_or(0);
        }
    }
    assert!(counts.iter().all(|(_, count)| *count > 0), "something never happened: {counts:?}");
}

/// Sorts with little memory give the right rows, or an error of scratch, whatever becomes of the disk.
#[test]
fn sorts_that_use_scratch_give_the_right_rows_or_none() {
    let _alone = alone();
    let (mut disturbed, mut refused, mut answered) = (0, 0, 0);
    for seed in 0..SPILLED {
        let Some(outcome) = passes("spilled", seed) else { continue };
        answered += outcome.injected.get("scratch answered").copied().unwrap_or(0);
        disturbed += outcome.injected.get("scratch disturbed").copied().unwrap_or(0);
        refused += outcome.injected.get("scratch refused").copied().unwrap_or(0);
    }
    assert!(
        disturbed > 20 && refused > 10 && answered > 5 * disturbed,
        "{disturbed} rounds were disturbed, in {refused} statements were refused, {answered} were answered"
    );
}
