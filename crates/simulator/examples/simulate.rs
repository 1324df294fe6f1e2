//! `--mutants [--seeds N] [--only NAME] [--world NAME]`: which seed catches which deliberate bug (with the feature
//! `mutants`); `--mutants --known`: whether those that are known do still.
//!
//! `--exhaustive NAME|all [--states N]`: everything in a small world is tried.
//!
//! `--points [--seeds N]`: every signal with everything that can go wrong with it, each in the first of N seeds in
//! which it strikes. `--point SIGNAL.STEP --seed N [--detail]` runs one of these again.
//!
//! `--walk [--seeds N] [--first M]`: schedules of small worlds that seeds draw, for those that are too large to try
//! everything.
//!
//! Runs seeds: `--seed N` one, with its transcript; `--detail` adds the signals. `--seeds N [--first M]` is a campaign
//! on all CPUs, with a summary. `--kind NAME` makes them seeds of a kind of clusters in which one thing happens for
//! certain, or of clusters with disks.
//!
//! A campaign has a process per CPU, which runs one seed after the other. Simulations in one process would wait for
//! each other's readers before they free memory, and a seed with little of it would not repeat exactly. A fault that
//! ends the process ends one seed.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    reason = "a program that drives the simulator; the simulator itself knows no clock and no thread"
)]

use simulator::transcript::Transcript;
use simulator::world::{SIGNALS, STEPS, Step};
use simulator::{DISK_KINDS, KINDS, Outcome, Scenario, run_kind, run_recorded};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// More than all but runaway seeds have.
const LINES_OF_ONE: usize = 1_000_000;
/// A campaign shows none of them.
const LINES_OF_MANY: usize = 1;
/// A process of a campaign says with these words which seed it begins, and what became of it.
const BEGINS: &str = "begins";
const ENDED: &str = "ended";
/// And which fault point it had, and whether that struck.
const POINT: &str = "point";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| {
        let position = arguments.iter().position(|argument| argument == name)?;
        arguments.get(position + 1)?.parse::<u64>().ok()
    };
    let first = value("--first").unwrap_or(0);
    if arguments.iter().any(|argument| argument == "--points") {
        std::process::exit(i32::from(points(value("--seeds").unwrap_or(40)) > 0));
    }
    if arguments.iter().any(|argument| argument == "--walk") {
        std::process::exit(i32::from(walk(first, value("--seeds").unwrap_or(2_000)) > 0));
    }
    if let Some(position) = arguments.iter().position(|argument| argument == "--exhaustive") {
        let states = value("--states").unwrap_or(u64::MAX);
        std::process::exit(i32::from(exhaustive(arguments.get(position + 1), states) > 0));
    }
    if arguments.iter().any(|argument| argument == "--mutants") {
        let word = |name: &str| {
            let position = arguments.iter().position(|argument| argument == name)?;
            arguments.get(position + 1)
        };
        if arguments.iter().any(|argument| argument == "--known") {
            std::process::exit(i32::from(known_mutants() > 0));
        }
        let survivors = mutants(value("--seeds").unwrap_or(2_000), word("--only"), word("--world"));
        std::process::exit(i32::from(survivors > 0));
    }
    let is_detailed = arguments.iter().any(|argument| argument == "--detail");
    let record = if is_detailed { Transcript::in_detail } else { Transcript::new };
    if let Some(position) = arguments.iter().position(|argument| argument == "--point") {
        let point = arguments.get(position + 1).map_or("", String::as_str);
        let failures = one_point(point, value("--seed").unwrap_or(0), record(LINES_OF_ONE));
        std::process::exit(i32::from(failures > 0));
    }
    let kind = arguments.iter().position(|argument| argument == "--kind").map(|place| place + 1);
    let kind = kind.map_or("any", |place| arguments.get(place).map_or("", String::as_str));
    let names = || KINDS.iter().map(|(name, _)| *name).chain(DISK_KINDS.iter().map(|(name, _)| *name));
    let failures = match (value("--seed"), value("--seeds"), value("--every")) {
        _ if !names().any(|name| name == kind) => {
            println!("there is no kind {kind:?}; kinds: {}", names().collect::<Vec<_>>().join(", "));
            2
        }
        (Some(seed), _, _) => one(kind, seed, record(LINES_OF_ONE)),
        (None, Some(count), None) => campaign(kind, first, count),
        (None, Some(count), Some(every)) => {
            share(kind, (first..first + count).step_by(usize::try_from(every).unwrap()))
        }
        (None, None, _) => {
            println!("simulate --seed N [--kind NAME] [--detail] | --seeds N [--kind NAME] [--first M]");
            2
        }
    };
    std::process::exit(i32::from(failures > 0));
}

/// Schedules of worlds that seeds draw.
fn walk(first: u64, count: u64) -> u64 {
    let started = Instant::now();
    std::panic::set_hook(Box::new(|_| {}));
    let mut failed = 0;
    for seed in first..first + count {
        if let Some(failure) = simulator::exhaustive::walk_seed(seed) {
            println!("walk {seed}: {failure}");
            failed += 1;
        }
    }
    println!("{count} walks from {first}: {failed} failed, {:.1} s", started.elapsed().as_secs_f64());
    failed
}

/// Tries everything in the small world of a name, or in all of them.
fn exhaustive(name: Option<&String>, states: u64) -> u64 {
    let is_wanted = |name: &str, world: &simulator::exhaustive::Named| name == world.name || name == "all";
    let worlds = simulator::exhaustive::WORLDS.iter();
    let wanted: Vec<_> = worlds.filter(|world| name.is_some_and(|name| is_wanted(name, world))).collect();
    let mut failed = u64::from(wanted.is_empty());
    for world in &wanted {
        let started = Instant::now();
        let report = (world.run)(states);
        let end = if report.is_complete { "all" } else { "not all" };
        println!(
            "{}: {end} tried: {} states, {} steps, {} ends, schedules of up to {} choices, {:.1} s ({})",
            world.name,
            report.states,
            report.steps,
            report.ends,
            report.depth,
            started.elapsed().as_secs_f64(),
            world.about
        );
        if let Some(failure) = report.failure {
            println!("{failure}");
            failed += 1;
        }
    }
    if wanted.is_empty() {
        let names = simulator::exhaustive::WORLDS.iter().map(|world| world.name).collect::<Vec<_>>();
        println!("--exhaustive all, or one of {}", names.join(", "));
    }
    failed
}

/// Looks for the first seed that catches each deliberate bug, and prints the table of `simulator::mutants` and of the
/// documentation.
#[cfg(feature = "mutants")]
fn mutants(seeds: u64, only: Option<&String>, world: Option<&String>) -> u64 {
    use simulator::mutants::Bug;
    std::panic::set_hook(Box::new(|_| {}));
    let mut survivors = 0;
    // Those that have a directed schedule are looked for by name only.
    let is_wanted = |bug: &Bug| only.map_or(!bug.is_directed(), |only| *only == bug.name());
    for bug in Bug::all().into_iter().filter(is_wanted) {
        let started = Instant::now();
        let kill = bug.first_kill(seeds, world.map(String::as_str));
        survivors += u64::from(kill.is_none());
        let seconds = started.elapsed().as_secs_f64();
        match kill {
            Some(kill) => println!(
                "(\"{}\", WorldKind::{:?}, {}), // {seconds:.1} s: {}",
                bug.name(),
                kill.world,
                kill.seed,
                kill.checker.chars().take(160).collect::<String>().replace('\n', " ")
            ),
            None => println!("\"{}\", // {seeds} seeds in {seconds:.1} s do not catch it", bug.name()),
        }
    }
    survivors
}

/// Runs every bug with the seed that caught it last, and names those that it does not catch any more.
#[cfg(feature = "mutants")]
fn known_mutants() -> u64 {
    use simulator::mutants::{Bug, KNOWN};
    std::panic::set_hook(Box::new(|_| {}));
    let mut moved = 0;
    for bug in Bug::all() {
        let name = bug.name();
        let Some((_, world, seed)) = KNOWN.iter().find(|(known, ..)| *known == name) else { continue };
        let started = Instant::now();
        let is_caught = bug.run(*world, *seed).is_some();
        moved += u64::from(!is_caught);
        let verdict = if is_caught { "caught" } else { "MOVED" };
        println!("{name} {world:?} {seed}: {verdict}, {:.1} s", started.elapsed().as_secs_f64());
    }
    moved
}

/// Without the feature there are no bugs to look for.
#[cfg(not(feature = "mutants"))]
fn known_mutants() -> u64 {
    mutants(0, None, None)
}

/// Without the feature there are no bugs to look for.
#[cfg(not(feature = "mutants"))]
fn mutants(_seeds: u64, _only: Option<&String>, _world: Option<&String>) -> u64 {
    println!("built without the feature `mutants`");
    1
}

fn one(kind: &str, seed: u64, transcript: Transcript) -> u64 {
    if let Some(scenario) = Scenario::of_kind(kind, seed) {
        println!("{scenario:?}");
    }
    let Some(outcome) = run_kind(kind, seed, transcript) else {
        println!("there is no seed {seed} of kind {kind}");
        return 2;
    };
    print_one(seed, &outcome)
}

/// A seed with a fault point instead of what it drew, as `points` tries it.
fn one_point(point: &str, seed: u64, transcript: Transcript) -> u64 {
    let (signal, step) = point.split_once('.').unwrap_or_default();
    let signal = SIGNALS.iter().map(|entry| entry.name).find(|name| *name == signal);
    let step = STEPS.into_iter().find(|known| format!("{known:?}") == step);
    let (Some(signal), Some(step)) = (signal, step) else {
        println!(
            "there is no point {point:?}: --point SIGNAL.STEP, for example Replicate.Delay; steps: {STEPS:?}"
        );
        return 2;
    };
    let Some(scenario) = with_point(signal, step, seed) else {
        println!(
            "seed {seed} has no {signal} {step:?}: it has one replica, or other faults that exclude this one"
        );
        return 2;
    };
    println!("{scenario:?}");
    print_one(seed, &run_recorded(&scenario, transcript))
}

/// The scenario of a seed with this fault point, if it can have it.
fn with_point(signal: &'static str, step: Step, seed: u64) -> Option<Scenario> {
    let mut scenario = Scenario::from_seed(seed);
    scenario.point = None;
    scenario.add_point(signal, step);
    scenario.point.is_some_and(|point| point.step == step).then_some(scenario)
}

fn print_one(seed: u64, outcome: &Outcome) -> u64 {
    println!("{}", outcome.tail);
    print_injected(outcome.injected.iter().map(|(what, count)| (*what, *count)));
    println!("{}", report(seed, outcome));
    u64::from(outcome.failure.is_some())
}

/// The faults of runs, and how often each happened.
fn print_injected<'a>(injected: impl Iterator<Item = (&'a str, u64)>) {
    let injected = injected.map(|(what, count)| format!("{what} {count}"));
    println!("injected: {}", injected.collect::<Vec<String>>().join(", "));
}

/// How to see a seed that failed.
fn print_replay(kind: &str, seed: u64) {
    println!("to see it all: cargo xtask simulate --kind {kind} --seed {seed}");
}

fn report(seed: u64, outcome: &Outcome) -> String {
    let verdict = outcome.failure.as_deref().unwrap_or("passed");
    let milliseconds = outcome.virtual_time / 1_000_000;
    format!(
        "seed {seed}: {verdict} ({} steps, {milliseconds} virtual ms, digest {:016x})",
        outcome.steps, outcome.digest
    )
}

/// The work of a process of a campaign: its seeds, one after the other.
fn share(kind: &str, seeds: impl Iterator<Item = u64>) -> u64 {
    for seed in seeds {
        println!("{BEGINS} {seed}");
        let Some(outcome) = run_kind(kind, seed, Transcript::new(LINES_OF_MANY)) else {
            println!("{ENDED} 0 0 0");
            continue;
        };
        let failed = u64::from(outcome.failure.is_some());
        if failed > 0 {
            println!("{}", report(seed, &outcome));
            print_replay(kind, seed);
        }
        if let Some((point, is_hit)) = outcome.point {
            let verdict = if is_hit { "hit" } else { "missed" };
            println!("{POINT} {} {:?} {verdict}", point.signal, point.step);
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
    /// How often each fault point was drawn, and struck.
    points: BTreeMap<(String, String), (u64, u64)>,
}

fn campaign(kind: &str, first: u64, count: u64) -> u64 {
    let started = Instant::now();
    let every = std::thread::available_parallelism().map_or(1, |threads| threads.get() as u64);
    let until = first + count;
    let shares: Vec<Totals> = std::thread::scope(|scope| {
        let shares: Vec<_> = (first..until.min(first + every))
            .map(|first| scope.spawn(move || overseen_share(kind, first, until, every)))
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
        "{count} seeds of kind {kind} from {first}: {failed} failed; {} steps, {:.1} virtual s, {seconds:.1} s, {:.1} seeds/s",
        sum(|share| share.steps),
        Duration::from_nanos(sum(|share| share.virtual_time)).as_secs_f64(),
        count as f64 / seconds
    );
    let injected: Vec<(String, u64)> =
        injected.iter().map(|(what, count)| (what.replace('_', " "), *count)).collect();
    print_injected(injected.iter().map(|(what, count)| (&**what, *count)));
    print_points(shares.iter().flat_map(|share| &share.points));
    failed
}

/// Which fault points struck, and which never did.
fn print_points<'a>(drawn: impl Iterator<Item = (&'a (String, String), &'a (u64, u64))>) {
    let mut points: BTreeMap<&(String, String), (u64, u64)> = BTreeMap::new();
    for (name, (drawn, hit)) in drawn {
        let sum = points.entry(name).or_default();
        *sum = (sum.0 + drawn, sum.1 + hit);
    }
    let struck = points.values().filter(|(_, hit)| *hit > 0).count();
    let hits = points.values().map(|(_, hit)| hit).sum::<u64>();
    let all = SIGNALS.len() * STEPS.len();
    println!("fault points: {} of {all} drawn, {struck} struck, {hits} times in all", points.len());
    let missed = points.iter().filter(|(_, (_, hit))| *hit == 0);
    let missed: Vec<String> =
        missed.map(|((signal, step), (drawn, _))| format!("{signal} {step} ({drawn} drawn)")).collect();
    if !missed.is_empty() {
        println!("never struck: {}", missed.join(", "));
    }
}

/// Every signal with every step, each in the first of so many seeds in which it strikes.
fn points(tries: u64) -> u64 {
    let (mut failed, mut struck, mut missed) = (0, 0, Vec::new());
    for signal in SIGNALS.iter().map(|entry| entry.name) {
        for step in STEPS {
            let strikes = (0..tries).any(|seed| {
                let outcome = with_point(signal, step, seed).map(|scenario| simulator::run(&scenario, 0));
                let is_struck = outcome.as_ref().is_some_and(|o| o.point.is_some_and(|(_, is_hit)| is_hit));
                if let Some(failure) = outcome.and_then(|outcome| outcome.failure) {
                    println!("{signal} {step:?}, seed {seed}: {failure}");
                    println!("to see it all: cargo xtask simulate --point {signal}.{step:?} --seed {seed}");
                    failed += 1;
                }
                is_struck
            });
            if strikes {
                struck += 1;
            } else {
                missed.push(format!("{signal} {step:?}"));
            }
        }
    }
    let all = SIGNALS.len() * STEPS.len();
    println!("{struck} of {all} fault points struck, {failed} runs failed");
    println!("never struck in {tries} seeds: {}", missed.join(", "));
    failed
}

/// Every `every`th seed from `first` on, in a process that is started again behind a seed that ended it.
fn overseen_share(kind: &str, first: u64, until: u64, every: u64) -> Totals {
    let mut totals = Totals::default();
    let mut next = first;
    while next < until {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--first", &next.to_string(), "--seeds", &(until - next).to_string()])
            .args(["--every", &every.to_string(), "--kind", kind])
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
                Some(POINT) => {
                    let mut word = || words.next().unwrap_or_default().to_owned();
                    let (drawn, hit) = totals.points.entry((word(), word())).or_default();
                    *drawn += 1;
                    *hit += u64::from(words.next() == Some("hit"));
                }
                _ => println!("{line}"),
            }
        }
        let status = process.wait().unwrap();
        if next < until {
            let seed = running.unwrap_or(next);
            println!("seed {seed}: it ended its process ({status})");
            print_replay(kind, seed);
            totals.failed += 1;
            next = seed + every;
        }
    }
    totals
}
