//! xtask: what developers and CI run. `cargo xtask help` lists the commands.
//!
//! It depends on no crate of the project, so that it builds in seconds and can judge a tree that
//! does not compile. It installs the programs that it needs (sysbench, MariaDB, Python packages, Go modules) when it
//! may, else it says what to install.
//!
//! **Invariants.** Every program that it starts has a time limit, and is ended when xtask ends. Servers listen on
//! loopback, on free ports, with data below the target directory.
//!
//! **Deliberately not here**: decide whether a benchmark is good enough. Figures are reported beside their targets.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command-line tool")]

mod arguments;
mod benchmark;
mod cluster;
mod counts;
mod failover;
mod peers;
mod powerloss;
mod processes;
mod simulate;
mod soak;
mod suite;
mod suites;
mod sysbench;
mod tidy;
mod tools;

use arguments::Arguments;
use processes::{Failure, Workspace};
use std::process::ExitCode;

/// Each command: its name, and its part of the help.
const COMMANDS: &[(&str, &str)] = &[
    (
        "test",
        "  test [--only STEP]... [--list]      all that is bounded: format, clippy, tidy, unit tests, simulation seeds, real clients
       [--binary LATSDB]              the steps that start a binary try this one, for example an earlier build
",
    ),
    (
        "suites",
        "  suites [--only NAME]... [--binary LATSDB]
                                      test suites of other projects (go-sql-driver, pymysql): what fails must be as in tests/suites;
                                      startup: what programs send when they start; dumps: from MariaDB and back
",
    ),
    (
        "tidy",
        "  tidy                                the rules of the house that no compiler checks
           --accept                   lower the counts of exceptions to the rules of prose, where comments were mended
           --prose NAME               each line of a crate that breaks these rules
",
    ),
    (
        "simulate",
        "  simulate [--seed N] [--seeds N]     one simulation seed, printed; or the first N seeds
           [--kind NAME] [--detail]   of a kind of clusters; with --seed: with every signal
           [--first N]                where to begin with --seeds
           --mutants [--only NAME]    which seed catches which deliberate protocol bug
           --exhaustive NAME|all      everything that can happen in a small world [--states N]
           --walk                     drawn schedules of worlds too large to try everything [--seeds N] [--first M]
           --points                   every signal, with everything that can go wrong with it
           --point SIGNAL.STEP        one of these, with --seed N
",
    ),
    (
        "counts",
        "  counts                              instructions, allocations, signals, bytes and wakes of single operations, beside
                                      docs/counts.toml: what rose fails
         --accept                     writes what was counted to docs/counts.toml
         --release                    prints the counts of the build that users run, and compares nothing
",
    ),
    (
        "sysbench",
        "  sysbench [--threads 1,8,64] [--time SECONDS] [--tables 4] [--table-size 10000] [--workload NAME]...
           [--host HOST --port PORT] [--binary LATSDB] [--report FILE]
                                      Debian's sysbench, unmodified, against `latsdb dev`; writes docs/sysbench.md
",
    ),
    (
        "soak",
        "  soak [--minutes 60] [--rate 200] [--binary LATSDB]
                                      mixed load and idle connections for as long as wanted: memory must stay flat, and no
                                      error but retryable ones may come; --rate is in transactions per second, 0: no limit
",
    ),
    (
        "failover",
        "  failover [--rounds 10] [--groups 1] [--fault kill-data]... [--all] [--threads 4] [--figures FILE] [--binary LATSDB]
           [--table] [--peer]
                                      nodes are killed, paused or cut off one after the other, under sysbench and checking clients;
                                      --all: all faults but those of leaders; --groups 2: four data nodes; --table: measures
                                      what docs/benchmarks.md tells of failover; --peer: kill -9 in MariaDB Galera instead
",
    ),
    (
        "powerloss",
        "  powerloss [--rounds 20] [--groups 1] [--threads 8] [--damage] [--unsynced-die] [--binary LATSDB]
                                      all processes are killed under load, and started again on the same directory; what was
                                      acknowledged is looked for; --damage: the log of one node is damaged each time;
                                      --unsynced-die: what was not synced dies with a process
",
    ),
    (
        "bench",
        "  bench [--workload NAME]... [--list] [--time SECONDS] [--rounds 3] [--tables 4] [--table-size 250000]
        [--binary LATSDB] [--no-record] [--tls | --durability | --restart | --tpch | --tpcc]
        [--scale 0.1] [--warehouses 4] [--clients 8]
                                      LatsDB, MariaDB and the floor in turn; writes docs/benchmarks.jsonl and .md. With --tls links
                                      with it beside links without; with --durability a redo log beside none, commits on disk;
                                      with --restart the time until a server that was killed is ready; with --tpch the queries
                                      of TPC-H, their times and rows beside MariaDB's; with --tpcc the transactions of TPC-C
",
    ),
];

/// The help of all commands, or of the one that is named.
fn help(command: Option<&str>) -> String {
    let parts = COMMANDS.iter().filter(|(name, _)| command.is_none_or(|command| command == *name));
    format!("cargo xtask COMMAND\n\n{}", parts.map(|(_, text)| *text).collect::<String>())
}

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let command = words.next().unwrap_or_else(|| "help".to_owned());
    match run(&command, Arguments::new(words)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("xtask: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: &str, mut arguments: Arguments) -> Result<(), Failure> {
    if matches!(command, "help" | "--help" | "-h") {
        print!("{}", help(None));
        return Ok(());
    }
    if !COMMANDS.iter().any(|(name, _)| *name == command) {
        return Err(unknown(command));
    }
    if arguments.flag("--help") || arguments.flag("-h") {
        print!("{}", help(Some(command)));
        return Ok(());
    }
    let workspace = Workspace::find()?;
    match command {
        "test" => suite::command(workspace, arguments),
        "suites" => suites::command(&workspace, arguments),
        "tidy" => tidy::command(&workspace, arguments),
        "simulate" => simulate::command(&workspace, arguments),
        "counts" => counts::command(&workspace, arguments),
        "sysbench" => sysbench::command(&workspace, arguments),
        "soak" => soak::command(&workspace, arguments),
        "failover" => failover::command(&workspace, arguments),
        "powerloss" => powerloss::command(&workspace, arguments),
        "bench" => benchmark::command(&workspace, arguments),
        _ => Err(unknown(command)),
    }
}

fn unknown(command: &str) -> Failure {
    Failure::new(format!("there is no command {command:?}; `cargo xtask help` lists them"))
}
