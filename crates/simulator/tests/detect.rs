//! Seeds of the world of failure detectors.

use simulator::detect::run_detect_seed;

/// Seeds of the ordinary test run.
const SEEDS: u64 = 600;

#[test]
fn the_fewest_leave_in_time_and_leases_hold() {
    for seed in 0..SEEDS {
        let outcome = run_detect_seed(seed);
        assert!(outcome.failure.is_none(), "seed {seed}: {}: {:?}", outcome.story, outcome.failure);
    }
}

#[test]
fn the_same_seed_gives_the_same_story() {
    for seed in 0..20 {
        assert_eq!(run_detect_seed(seed).digest, run_detect_seed(seed).digest, "seed {seed}");
    }
}
