//! Every deliberate protocol bug is caught within a bounded number of seeds; `cargo xtask test --only mutants` runs this.
//!
//! A catch is a failed check, or an invariant of ours that stops the run.
#![cfg(feature = "mutants")]

use simulator::run_seed;
use std::panic::{AssertUnwindSafe, catch_unwind};
use transaction::mutants::{ALL, activate};

/// Seeds within which a bug must show.
const SEEDS: u64 = 400;

#[test]
fn every_mutant_is_caught() {
    let mut survivors = Vec::new();
    for mutant in ALL {
        let caught = (0..SEEDS).find(|seed| {
            activate(Some(mutant));
            let outcome = catch_unwind(AssertUnwindSafe(|| run_seed(*seed)));
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
