//! A bounded number of seeds in every test run; long campaigns are run by `cargo xtask simulate`.

use simulator::{Scenario, run, run_seed};

/// Seeds of the ordinary test run.
const SEEDS: u64 = 200;

#[test]
fn seeds_pass() {
    for seed in 0..SEEDS {
        let outcome = run_seed(seed);
        assert!(
            outcome.failure.is_none(),
            "seed {seed}: {}\n{}",
            outcome.failure.unwrap_or_default(),
            outcome.tail
        );
    }
}

/// Primaries that stood still while others took over, and do not know it.
#[test]
fn paused_primaries_answer_nothing() {
    for scenario in (0..40).filter_map(Scenario::paused) {
        let outcome = run(&scenario, 400);
        assert_eq!(outcome.failure, None, "seed {}\n{}", scenario.seed, outcome.tail);
    }
}

/// A revoked privilege is permitted nowhere once REVOKE is acknowledged, whatever happens to the cluster.
#[test]
fn a_revoke_counts_at_every_node() {
    for seed in 0..30 {
        let outcome = run(&Scenario::granted(seed), 400);
        assert_eq!(outcome.failure, None, "seed {seed}\n{}", outcome.tail);
    }
}

/// SKIP LOCKED, LOCK TABLES and GET_LOCK keep clients of all nodes apart.
#[test]
fn locks_keep_others_out() {
    for seed in 0..40 {
        let outcome = run(&Scenario::locked(seed), 400);
        assert_eq!(outcome.failure, None, "seed {seed}\n{}", outcome.tail);
    }
}

/// A data node hangs while its heartbeats go on: it has to leave, and all clients go on within a bound.
#[test]
fn nodes_that_hang_have_to_leave() {
    let mut left = 0;
    for seed in 0..12 {
        let outcome = run(&Scenario::hung(seed), 400);
        assert_eq!(outcome.failure, None, "seed {seed}\n{}", outcome.tail);
        left += outcome.injected.get("left out").copied().unwrap_or(0);
    }
    assert!(left >= 10, "{left} left");
}

/// A majority of the voters is lost with its disks, and an operator goes on with what lives: nothing that was
/// acknowledged is lost.
#[test]
fn lost_voters_are_recovered_from() {
    let mut recovered = 0;
    for seed in 0..24 {
        let outcome = run(&Scenario::lost_voters(seed), 400);
        assert_eq!(outcome.failure, None, "seed {seed}\n{}", outcome.tail);
        recovered += outcome.injected.get("recovered").copied().unwrap_or(0);
    }
    assert!(recovered >= 12, "{recovered} recovered");
}

/// Transactions stay open for long while the schema changes: DDL waits for those on its own tables, for ten seconds,
/// and for no others.
#[test]
fn ddl_waits_for_users_of_its_own_tables_and_gives_way() {
    let (mut held, mut gave_way) = (0, 0);
    for seed in 0..30 {
        let outcome = run(&Scenario::held(seed), 400);
        assert_eq!(outcome.failure, None, "seed {seed}\n{}", outcome.tail);
        held += outcome.injected.get("long transaction").copied().unwrap_or(0);
        gave_way += outcome.injected.get("DDL gave way").copied().unwrap_or(0);
    }
    assert!(held >= 30 && gave_way >= 5, "{held} transactions were long, DDL gave way {gave_way} times");
}
