//! Runs seeds: `--seed N` one, with its transcript (`--detail`: with what is said); `--seeds N [--first M]` a campaign on all CPUs, with a summary.
//!
//! A campaign has a process per CPU, which runs one seed after the other: simulations in one process would wait for each other's
//! readers before they free memory, and a seed with little of it would not repeat exactly. What ends the process ends one seed.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    reason = "a program that drives the simulator; the simulator itself knows no clock and no thread"
)]

use simulator::{Outcome, Scenario, run_seed};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// More than all but runaway seeds have.
const LINES_OF_ONE: usize = 1_000_000;
/// A process of a campaign says with these words which seed it begins, and what became of it.
const BEGINS: &str = "begins";
const ENDED: &str = "ended";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| {
        let position = arguments.iter().position(|argument| argument == name)?;
        arguments.get(position + 1)?.parse::<u64>().ok()
    };
    let first = value("--first").unwrap_or(0);
    let failures = match (value("--seed"), value("--seeds"), value("--every")) {
        (Some(seed), _, _) => one(seed, arguments.iter().any(|argument| argument == "--detail")),
        (None, Some(count), None) => campaign(first, count),
        (None, Some(count), Some(every)) => {
            share((first..first + count).step_by(usize::try_from(every).unwrap()))
        }
        (None, None, _) => {
            println!("simulate --seed N [--detail] | --seeds N [--first M]");
            2
        }
    };
    std::process::exit(i32::from(failures > 0));
}

fn one(seed: u64, is_detailed: bool) -> u64 {
    let scenario = Scenario::from_seed(seed);
    println!("{scenario:?}");
    let run = if is_detailed { simulator::run_in_detail } else { simulator::run };
    let outcome = run(&scenario, LINES_OF_ONE);
    println!("{}", outcome.tail);
    println!("{}", report(seed, &outcome));
    u64::from(outcome.failure.is_some())
}

fn report(seed: u64, outcome: &Outcome) -> String {
    let verdict = outcome.failure.as_deref().unwrap_or("passed");
    let milliseconds = outcome.virtual_time / 1_000_000;
    format!(
        "seed {seed}: {verdict} ({} steps, {milliseconds} virtual ms, digest {:016x})",
        outcome.steps, outcome.digest
    )
}

/// What a process of a campaign does: its seeds, one after the other.
fn share(seeds: impl Iterator<Item = u64>) -> u64 {
    for seed in seeds {
        println!("{BEGINS} {seed}");
        let outcome = run_seed(seed);
        let failed = u64::from(outcome.failure.is_some());
        if failed > 0 {
            println!("{}", report(seed, &outcome));
        }
        let injected =
            outcome.injected.iter().map(|(what, count)| format!(" {}={count}", what.replace(' ', "_")));
        println!(
            "{ENDED} {failed} {} {}{}",
            outcome.steps,
            outcome.virtual_time,
            injected.collect::<String>()
        );
    }
    0
}

#[derive(Default)]
struct Totals {
    failed: u64,
    steps: u64,
    virtual_time: u64,
    injected: BTreeMap<String, u64>,
}

fn campaign(first: u64, count: u64) -> u64 {
    let started = Instant::now();
    let every = std::thread::available_parallelism().map_or(1, |threads| threads.get() as u64);
    let until = first + count;
    let shares: Vec<Totals> = std::thread::scope(|scope| {
        let shares: Vec<_> = (first..until.min(first + every))
            .map(|first| scope.spawn(move || overseen_share(first, until, every)))
            .collect();
        shares.into_iter().map(|share| share.join().unwrap()).collect()
    });
    let mut injected: BTreeMap<&str, u64> = BTreeMap::new();
    for (what, count) in shares.iter().flat_map(|share| &share.injected) {
        *injected.entry(what).or_default() += count;
    }
    let sum = |part: fn(&Totals) -> u64| shares.iter().map(part).sum::<u64>();
    let (failed, seconds) = (sum(|share| share.failed), started.elapsed().as_secs_f64());
    println!(
        "{count} seeds from {first}: {failed} failed; {} steps, {:.1} virtual s, {seconds:.1} s, {:.1} seeds/s",
        sum(|share| share.steps),
        Duration::from_nanos(sum(|share| share.virtual_time)).as_secs_f64(),
        count as f64 / seconds
    );
    let injected = injected.iter().map(|(what, count)| format!("{} {count}", what.replace('_', " ")));
    println!("injected: {}", injected.collect::<Vec<String>>().join(", "));
    failed
}

/// Every `every`th seed from `first` on, in a process that is started again behind a seed that ended it.
fn overseen_share(first: u64, until: u64, every: u64) -> Totals {
    let mut totals = Totals::default();
    let mut next = first;
    while next < until {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--first", &next.to_string(), "--seeds", &(until - next).to_string()])
            .args(["--every", &every.to_string()])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut running = None;
        for line in BufReader::new(process.stdout.take().unwrap()).lines() {
            let line = line.unwrap();
            let mut words = line.split(' ');
            match words.next() {
                Some(BEGINS) => running = words.next().and_then(|seed| seed.parse::<u64>().ok()),
                Some(ENDED) => {
                    let mut number = || words.next().and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
                    totals.failed += number();
                    totals.steps += number();
                    totals.virtual_time += number();
                    for (what, count) in words.filter_map(|word| word.split_once('=')) {
                        *totals.injected.entry(what.to_owned()).or_default() +=
                            count.parse::<u64>().unwrap_or(0);
                    }
                    next = running.take().map_or(until, |seed| seed + every);
                }
                _ => println!("{line}"),
            }
        }
        let status = process.wait().unwrap();
        if next < until {
            let seed = running.unwrap_or(next);
            println!("seed {seed}: it ended its process ({status})");
            totals.failed += 1;
            next = seed + every;
        }
    }
    totals
}
