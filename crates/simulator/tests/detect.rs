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

/// Every deliberate bug is caught within a bounded number of seeds.
#[cfg(feature = "mutants")]
#[test]
fn every_mutant_of_the_detector_is_caught() {
    use membership::mutants::{OF_DETECTOR, activate};

    for mutant in OF_DETECTOR {
        activate(Some(mutant));
        let caught = (0..SEEDS).find(|seed| run_detect_seed(*seed).failure.is_some());
        activate(None);
        println!("{mutant:?} is caught by seed {caught:?}");
        assert!(caught.is_some(), "{mutant:?} survives");
    }
}
