//! sysbench as the load: the same tables and the same mix, as far as its scripts know them.
//!
//! Its output goes into the live file, with a line each second. Its last report is read back for the final files.
//!
//! **Invariants.** An option that sysbench's scripts have no word for is refused before anything runs.

use super::Test;
use super::configuration::Configuration;
use super::results::Live;
use crate::generator::{Counted, Load, Run};
use crate::processes::{self, bind_process};
use rustix::process::Signal;
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

const PROGRAM: &str = "sysbench";

const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Refuses what only the own generator can do.
pub(super) fn check(configuration: &Configuration) -> Result<(), String> {
    let mix = &configuration.mix;
    for (name, is_there) in
        [("SB_USE_IN_STATEMENT", mix.keys_per_select > 1), ("SB_USE_FILTER", mix.has_filter)]
    {
        if is_there {
            return Err(format!("{name}: sysbench's scripts can't; leave `--load sysbench` out"));
        }
    }
    let found = Command::new(PROGRAM).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    found.map(|_| ()).map_err(|error| format!("{PROGRAM}: {error}"))
}

/// Runs it for the time of the load, or until `stop` is set.
pub(super) fn run(
    load: &Load,
    configuration: &Configuration,
    stop: &AtomicBool,
    live: &mut Live,
) -> Result<Run, String> {
    live.line(&format!("{} clients", load.clients))?;
    let mut command = Command::new(PROGRAM);
    command.args(arguments(load, configuration));
    // Ctrl-C at the terminal is for the benchmark, which ends sysbench.
    command.process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(live.handle()?);
    let mut child = command.spawn().map_err(|error| format!("{PROGRAM}: {error}"))?;
    bind_process(child.id(), &load.cpus)?;
    let output = child.stdout.take().ok_or("sysbench without output")?;
    let report = thread::scope(|scope| {
        let copied = scope.spawn(|| copy(output, live));
        let ended = wait(&mut child, stop);
        let copied = copied.join().map_err(|_| "a thread panicked".to_owned())?;
        ended.and(copied)
    })?;
    if stop.load(Ordering::Relaxed) {
        return Ok(Run { counted: Counted::new(), time: Duration::ZERO });
    }
    figures(&report, load.time)
        .ok_or_else(|| format!("{}: sysbench failed; see its file of results", load.server))
}

/// Copies lines to the live file; gives all of them.
fn copy(output: ChildStdout, live: &mut Live) -> Result<String, String> {
    let mut all = String::new();
    for line in BufReader::new(output).lines() {
        let line = line.map_err(|error| format!("{PROGRAM}: {error}"))?;
        live.line(&line)?;
        all.push_str(&line);
        all.push('\n');
    }
    Ok(all)
}

/// Waits for its end, and ends it if the benchmark is to stop.
fn wait(child: &mut Child, stop: &AtomicBool) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{PROGRAM}: {error}");
    while child.try_wait().map_err(failed)?.is_none() {
        if stop.load(Ordering::Relaxed) {
            processes::signal(child.id(), Signal::KILL);
        }
        thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}

fn arguments(load: &Load, configuration: &Configuration) -> Vec<String> {
    let mix = &load.mix;
    let (script, has_updates) = match configuration.test {
        Test::ReadWrite => ("oltp_read_write", true),
        Test::ReadOnly => ("oltp_read_only", false),
    };
    let mut words = vec![
        script.to_owned(),
        format!("--mysql-host={}", load.server.ip()),
        format!("--mysql-port={}", load.server.port()),
        format!("--mysql-user={}", configuration.user),
        format!("--mysql-password={}", configuration.password),
        format!("--mysql-db={}", load.tables.database),
        format!("--tables={}", load.tables.count),
        format!("--table-size={}", load.tables.rows),
        format!("--threads={}", load.clients),
        format!("--time={}", load.time.as_secs()),
        "--report-interval=1".to_owned(),
        "--percentile=95".to_owned(),
        "--histogram=on".to_owned(),
        "--rand-type=uniform".to_owned(),
        format!("--point-selects={}", mix.point_selects),
        format!("--simple-ranges={}", mix.simple_ranges),
        format!("--sum-ranges={}", mix.sum_ranges),
        format!("--order-ranges={}", mix.order_ranges),
        format!("--distinct-ranges={}", mix.distinct_ranges),
        format!("--range-size={}", mix.range_size),
    ];
    if has_updates {
        words.push(format!("--index-updates={}", mix.index_updates));
        words.push(format!("--non-index-updates={}", mix.non_index_updates));
        words.push(format!("--delete-inserts={}", mix.delete_inserts));
    }
    words.push("run".to_owned());
    words
}

/// The last report: counts, and the histogram of latencies (a bucket's value in milliseconds, a bar, its count).
fn figures(report: &str, time: Duration) -> Option<Run> {
    let count = |name: &str| -> Option<u64> {
        let line = report.lines().map(str::trim).find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse().ok()
    };
    let mut counted = Counted::new();
    counted.transactions = count("transactions:")?;
    counted.statements = count("queries:")?;
    counted.retried = count("ignored errors:")?;
    for line in report.lines().filter(|line| line.contains('|')) {
        let (value, bar) = line.split_once('|')?;
        let Ok(ms) = value.trim().parse::<f64>() else { continue };
        let Some(events) = bar.split_whitespace().next_back().and_then(|word| word.parse().ok()) else {
            continue;
        };
        let us = Duration::from_secs_f64(ms / 1_000.0).as_micros();
        counted.latencies.saturating_record_n(u64::try_from(us).unwrap_or(u64::MAX), events);
    }
    Some(Run { counted, time })
}

#[cfg(test)]
mod tests;
