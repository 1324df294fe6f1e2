//! Runs seeds: `--seed N` one, with its transcript; `--seeds N [--first M]` a campaign on all CPUs, with a summary.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a program that drives the simulator; the simulator itself knows no clock and no thread"
)]

use simulator::{Outcome, Scenario, run, run_seed};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// More than all but runaway seeds have.
const LINES_OF_ONE: usize = 1_000_000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| {
        let position = arguments.iter().position(|argument| argument == name)?;
        arguments.get(position + 1)?.parse::<u64>().ok()
    };
    let failures = match (value("--seed"), value("--seeds")) {
        (Some(seed), _) => one(seed),
        (None, Some(count)) => campaign(value("--first").unwrap_or(0), count),
        (None, None) => {
            println!("simulate --seed N | --seeds N [--first M]");
            2
        }
    };
    std::process::exit(i32::from(failures > 0));
}

fn one(seed: u64) -> u64 {
    let scenario = Scenario::from_seed(seed);
    println!("{scenario:?}");
    let outcome = run(&scenario, LINES_OF_ONE);
    println!("{}", outcome.tail);
    report(seed, &outcome);
    u64::from(outcome.failure.is_some())
}

fn report(seed: u64, outcome: &Outcome) {
    let verdict = outcome.failure.as_deref().unwrap_or("passed");
    let milliseconds = outcome.virtual_time / 1_000_000;
    println!(
        "seed {seed}: {verdict} ({} steps, {milliseconds} virtual ms, digest {:016x})",
        outcome.steps, outcome.digest
    );
}

fn campaign(first: u64, count: u64) -> u64 {
    let started = Instant::now();
    let (next, failures) = (AtomicU64::new(first), AtomicU64::new(0));
    let (steps, virtual_time) = (AtomicU64::new(0), AtomicU64::new(0));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= first + count {
                        return;
                    }
                    let outcome = run_seed(seed);
                    steps.fetch_add(outcome.steps, Ordering::Relaxed);
                    virtual_time.fetch_add(outcome.virtual_time, Ordering::Relaxed);
                    if outcome.failure.is_some() {
                        failures.fetch_add(1, Ordering::Relaxed);
                        report(seed, &outcome);
                    }
                }
            });
        }
    });
    let seconds = started.elapsed().as_secs_f64();
    let failed = failures.load(Ordering::Relaxed);
    println!(
        "{count} seeds from {first}: {failed} failed; {} steps, {:.1} virtual s, {:.1} s, {:.1} seeds/s",
        steps.load(Ordering::Relaxed),
        std::time::Duration::from_nanos(virtual_time.load(Ordering::Relaxed)).as_secs_f64(),
        seconds,
        count as f64 / seconds
    );
    failed
}
