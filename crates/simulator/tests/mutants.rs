//! Every deliberate protocol bug is caught within a bounded number of seeds; `cargo xtask test --only mutants` runs this.
//!
//! A catch is a failed check, or an invariant of ours that stops the run.
#![cfg(feature = "mutants")]

use simulator::{Scenario, run, run_seed};
use std::panic::{AssertUnwindSafe, catch_unwind};
use transaction::mutants::{ALL, Mutant, activate};

/// Seeds within which a bug must show.
const SEEDS: u64 = 400;

#[test]
fn every_mutant_is_caught() {
    let mut survivors = Vec::new();
    for mutant in ALL {
        let caught = (0..SEEDS).find_map(|seed| {
            activate(Some(mutant));
            let outcome = catch_unwind(AssertUnwindSafe(|| run_seed(seed)));
            activate(None);
            let failure = outcome.map_or_else(|_| Some("it stopped".to_owned()), |outcome| outcome.failure);
            failure.map(|failure| (seed, failure))
        });
        match caught {
            Some((seed, failure)) => {
                let failure: String = failure.chars().take(120).collect();
                println!("{mutant:?} is caught by seed {seed}: {failure}");
            }
            None => survivors.push(mutant),
        }
    }
    assert!(survivors.is_empty(), "not caught: {survivors:?}");
}

/// Stale locking reads are what gives it away, and nothing else.
#[test]
fn a_primary_without_its_lease_is_caught_by_what_it_answers() {
    activate(Some(Mutant::LockUnleased));
    let failures = (0..SEEDS).filter_map(Scenario::paused).filter_map(|scenario| run(&scenario, 0).failure);
    let caught = failures.into_iter().find(|failure| failure.starts_with("register"));
    activate(None);
    println!("{caught:?}");
    assert!(caught.is_some());
}
