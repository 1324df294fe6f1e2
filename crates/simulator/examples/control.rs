//! Runs seeds of the world of control logs: `--seed N` one, with its transcript's end; `--seeds N [--first M]` a
//! campaign on all CPUs.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a program that drives the simulator; the simulator itself knows no clock and no thread"
)]

use simulator::control::{ControlOutcome, Worth, run_control_seed};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| {
        let position = arguments.iter().position(|argument| argument == name)?;
        arguments.get(position + 1)?.parse::<u64>().ok()
    };
    let failures = match (value("--seed"), value("--seeds")) {
        (Some(seed), _) => one(seed, value("--lines").unwrap_or(200)),
        (None, Some(count)) => campaign(value("--first").unwrap_or(0), count),
        (None, None) => {
            println!("control --seed N [--lines L] | --seeds N [--first M]");
            2
        }
    };
    std::process::exit(i32::from(failures > 0));
}

fn one(seed: u64, lines: u64) -> u64 {
    let outcome = run_control_seed(seed, usize::try_from(lines).unwrap_or(200));
    println!("{}", outcome.tail);
    report(seed, &outcome);
    u64::from(outcome.failure.is_some())
}

fn report(seed: u64, outcome: &ControlOutcome) {
    let verdict = outcome.failure.as_deref().unwrap_or("passed");
    let milliseconds = outcome.virtual_time / 1_000_000;
    println!(
        "seed {seed}: {verdict} ({} steps, {milliseconds} virtual ms, {:?}, digest {:016x})",
        outcome.steps, outcome.worth, outcome.digest
    );
}

fn campaign(first: u64, count: u64) -> u64 {
    let started = Instant::now();
    let next = AtomicU64::new(first);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let run = || {
        let (mut failures, mut steps, mut virtual_time, mut worth) = (0, 0, 0, Worth::default());
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= first + count {
                return (failures, steps, virtual_time, worth);
            }
            let outcome = run_control_seed(seed, 0);
            steps += outcome.steps;
            virtual_time += outcome.virtual_time;
            worth.add(&outcome.worth);
            if outcome.failure.is_some() {
                failures += 1;
                report(seed, &outcome);
            }
        }
    };
    let (mut failures, mut steps, mut virtual_time, mut worth) = (0, 0, 0, Worth::default());
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
        for worker in workers {
            // A seed that dies takes its worker along: the panic has named the place, the campaign fails.
            let Ok(done) = worker.join() else {
                failures += 1;
                continue;
            };
            failures += done.0;
            steps += done.1;
            virtual_time += done.2;
            worth.add(&done.3);
        }
    });
    let seconds = started.elapsed().as_secs_f64();
    println!(
        "{count} seeds from {first}: {failures} failed; {steps} steps, {:.0} virtual s, {seconds:.1} s, {:.1} seeds/s; {worth:?}",
        std::time::Duration::from_nanos(virtual_time).as_secs_f64(),
        count as f64 / seconds
    );
    failures
}
