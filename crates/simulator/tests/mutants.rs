//! Every deliberate protocol bug is caught by the seed that the last campaign found, or by another near.
//! `cargo xtask test --only mutants` runs this and, in their crates, the directed schedules that catch the others.
//! `cargo xtask simulate --mutants` is the campaign.
#![cfg(feature = "mutants")]

use membership::mutants::{Mutant, activate};
use simulator::mutants::{Bug, KNOWN, UNCAUGHT};
use simulator::{Scenario, run};
use std::collections::BTreeSet;

/// Seeds in which a bug is looked for whose known seed catches it no more.
const SEEDS: u64 = 500;
/// Seeds of the world in which it was caught, which are tried first.
const SEEDS_NEAR: u64 = 100;

#[test]
fn every_bug_is_listed_once() {
    let directed = Bug::all().into_iter().filter(|bug| bug.is_directed()).map(Bug::name);
    let named = KNOWN.iter().map(|(name, ..)| *name).chain(UNCAUGHT.iter().copied()).map(str::to_owned);
    let listed: Vec<String> = named.chain(directed).collect();
    let names: BTreeSet<String> = Bug::all().into_iter().map(Bug::name).collect();
    assert_eq!(listed.len(), names.len(), "`cargo xtask simulate --mutants` makes the table");
    assert_eq!(listed.into_iter().collect::<BTreeSet<String>>(), names);
}

#[test]
fn every_bug_is_caught() {
    std::panic::set_hook(Box::new(|_| {}));
    let mut survivors = Vec::new();
    for bug in Bug::all() {
        let name = bug.name();
        let Some((_, world, seed)) = KNOWN.iter().find(|(known, ..)| *known == name) else { continue };
        if bug.run(*world, *seed).is_some() {
            continue;
        }
        let near = bug.first_kill(SEEDS_NEAR, Some(&format!("{world:?}")));
        match near.or_else(|| bug.first_kill(SEEDS, None)) {
            Some(kill) => println!("{name} has moved: {kill:?}"),
            None => survivors.push(name),
        }
    }
    let _ = std::panic::take_hook();
    assert!(survivors.is_empty(), "not caught: {survivors:?}");
}

/// Stale reads are what gives it away, and nothing else.
#[test]
fn a_node_without_its_lease_is_caught_by_what_it_answers() {
    activate(Some(Mutant::ReadsWithoutGrants));
    let failures = (0..SEEDS).filter_map(Scenario::paused).filter_map(|scenario| run(&scenario, 0).failure);
    let caught = failures.into_iter().find(|failure| failure.starts_with("register"));
    activate(None);
    println!("{caught:?}");
    assert!(caught.is_some());
}
