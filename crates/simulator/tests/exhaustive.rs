//! A bounded part of each small world in every test run; `cargo xtask simulate --exhaustive all` tries everything.

use simulator::exhaustive::{WORLDS, walk_seed};

/// States of each world.
const STATES: u64 = 2_000;

#[test]
fn nothing_breaks_in_small_worlds() {
    for world in WORLDS {
        let report = (world.run)(STATES);
        assert_eq!(report.failure, None, "{}", world.name);
        assert!(report.ends > 0 || !report.is_complete, "{} never ends", world.name);
        assert!(report.is_complete || report.states >= STATES, "{} stopped early", world.name);
    }
}

/// Worlds of replicas that seeds draw, larger than can be tried. Among them are those that found something, each named
/// in docs/campaigns.jsonl.
#[test]
fn nothing_breaks_on_walks() {
    for seed in (0..40).chain([82, 105, 120, 134]) {
        assert_eq!(walk_seed(seed), None, "walk {seed}");
    }
}
