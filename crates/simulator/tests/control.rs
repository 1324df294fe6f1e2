//! Seeds of the world of control logs; long campaigns are run by `cargo run --example control`.

use simulator::control::run_control_seed;

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
fn the_same_seed_gives_the_same_history() {
    for seed in [3, 17, 347] {
        let (first, second) = (run_control_seed(seed, 0), run_control_seed(seed, 0));
        assert_eq!((first.digest, first.steps), (second.digest, second.steps), "seed {seed}");
    }
}

/// Every deliberate bug is caught within a bounded number of seeds.
#[cfg(feature = "mutants")]
#[test]
fn every_mutant_of_the_control_log_is_caught() {
    use membership::mutants::{OF_CONTROL_LOG, activate};
    use std::panic::{AssertUnwindSafe, catch_unwind};

    const MUTANT_SEEDS: u64 = 2_000;
    let mut survivors = Vec::new();
    for mutant in OF_CONTROL_LOG {
        let caught = (0..MUTANT_SEEDS).find(|seed| {
            activate(Some(mutant));
            // A broken invariant that stops the node is a catch, too.
            let outcome = catch_unwind(AssertUnwindSafe(|| run_control_seed(*seed, 0)));
            activate(None);
            outcome.is_err() || outcome.is_ok_and(|outcome| outcome.failure.is_some())
        });
        match caught {
            Some(seed) => println!("{mutant:?} is caught by seed {seed}"),
            None => survivors.push(mutant),
        }
    }
    assert!(survivors.is_empty(), "not caught: {survivors:?}");
}
