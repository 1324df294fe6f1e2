//! Seeds of the world of control logs; long campaigns are run by `cargo run --example control`.

use simulator::control::{run_control_seed, run_lost_voter_seed};

/// Seeds of the ordinary test run.
const SEEDS: u64 = 300;

#[test]
fn control_logs_agree_and_recover() {
    for seed in 0..SEEDS {
        let outcome = run_control_seed(seed, 200);
        assert!(
            outcome.failure.is_none(),
            "seed {seed}: {}\n{}",
            outcome.failure.unwrap_or_default(),
            outcome.tail
        );
    }
}

#[test]
fn a_lost_voter_is_replaced_by_a_spare_node() {
    for seed in 0..60 {
        let result = run_lost_voter_seed(seed);
        assert!(result.is_ok(), "seed {seed}: {}", result.unwrap_err());
    }
}

#[test]
fn the_same_seed_gives_the_same_history() {
    for seed in [3, 17, 347] {
        let (first, second) = (run_control_seed(seed, 0), run_control_seed(seed, 0));
        assert_eq!((first.digest, first.steps), (second.digest, second.steps), "seed {seed}");
    }
}
