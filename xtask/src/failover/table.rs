//! `cargo xtask failover --table`: what docs/benchmarks.md tells of failover, measured anew, as lines of its table.
//!
//! Each [`Campaign`] here is a cluster of its own, with the probes and checking clients of `latsdb bench failover` and
//! without sysbench, which would take what CPU there is. All of them leave their figures in one file; every line of the
//! table takes its own from there.
//!
//! **Invariants.** A figure that no injection has is omitted, and never taken for zero. p99 of fewer than a hundred
//! injections is the longest.

use super::Campaign;
use crate::cluster::Links;
use crate::processes::{Failure, Workspace};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// MiB of rows that are copied to a node which comes back.
const BALLAST: u32 = 1024;

/// One that copies so much takes a minute and more.
const BALLAST_ROUNDS: u32 = 5;

/// A line of the table.
struct Line {
    what: &'static str,
    /// The campaign's, as its figures name it, and its fault.
    cluster: &'static str,
    fault: &'static str,
    /// The name of the figure, in milliseconds.
    figure: &'static str,
    target: &'static str,
}

const KILL: &str = "kill-data";
const DEFAULT: &str = "default";
const LAN: &str = "lan";
const LEADERS: &str = "leaders";
const COPIED: &str = "ballast";
const CUT: &str = "cut";

const fn line(
    what: &'static str,
    cluster: &'static str,
    fault: &'static str,
    figure: &'static str,
    target: &'static str,
) -> Line {
    Line { what, cluster, fault, figure, target }
}

const SWITCHOVER: &str = "switchover";
const ROLLING: &str = "rolling";

const LINES: [Line; 29] = [
    line(
        "`kill -9` of a primary: writes, other node's clients",
        DEFAULT,
        KILL,
        "survivor_write_ms",
        "50 / 200 ms",
    ),
    line("the same, the dead node's clients", DEFAULT, KILL, "victim_write_ms", ""),
    line("until it is noticed", DEFAULT, KILL, "detection_ms", ""),
    line("from then: the next view", DEFAULT, KILL, "view_ms", ""),
    line("of that, the longest write of a control log", DEFAULT, KILL, "disk_ms", ""),
    line("from noticing: all threads take writes", DEFAULT, KILL, "open_ms", ""),
    line("from noticing: a client's first write", DEFAULT, KILL, "first_write_ms", "p50 10 ms"),
    line("p99 of transactions in the second before", DEFAULT, KILL, "latency_before_ms", ""),
    line("p99 of transactions in the first second after", DEFAULT, KILL, "latency_after_ms", ""),
    line(
        "SIGSTOP for 1 s: writes, other node's clients",
        DEFAULT,
        "pause-data-1000ms",
        "survivor_write_ms",
        "p99 1 s",
    ),
    line(
        "two data nodes cut from each other for 1 s: writes",
        CUT,
        "cut-1000ms",
        "survivor_write_ms",
        "p99 1 s",
    ),
    line("LAN profile, SIGSTOP for 1 s: writes", LAN, "pause-data-1000ms", "survivor_write_ms", "p99 300 ms"),
    line("LAN profile, `kill -9`: writes", LAN, KILL, "survivor_write_ms", ""),
    line(
        "the control plane's leader killed: writes",
        DEFAULT,
        "kill-management",
        "survivor_write_ms",
        "below + 5 ms",
    ),
    line("nothing happens: the longest gap of writes", DEFAULT, "nothing", "survivor_write_ms", ""),
    line(
        "`N restart` of a data node: writes, other node's clients",
        DEFAULT,
        SWITCHOVER,
        "survivor_write_ms",
        "20 ms",
    ),
    line(
        "the same, its own clients, which are sent elsewhere",
        DEFAULT,
        SWITCHOVER,
        "victim_write_ms",
        "20 ms",
    ),
    line("the same: statements that failed", DEFAULT, SWITCHOVER, "failed", "0"),
    line("the same: in sync, with its share of primaries", DEFAULT, SWITCHOVER, "rejoin_ms", ""),
    line("`rolling restart` of all nodes: writes", DEFAULT, ROLLING, "victim_write_ms", "20 ms"),
    line("the same: statements that failed", DEFAULT, ROLLING, "failed", "0"),
    line("the same: until it is done", DEFAULT, ROLLING, "rejoin_ms", ""),
    line(
        "leader and primary in one process, `kill -9`: writes",
        LEADERS,
        "kill-leader",
        "survivor_write_ms",
        "100 / 300 ms",
    ),
    line("the same, SIGSTOP for 3 s: writes", LEADERS, "pause-leader-3000ms", "survivor_write_ms", "p99 2 s"),
    line("1 GiB of rows copied under load: in sync after", COPIED, KILL, "rejoin_ms", "30 s"),
    line("the same: p99 of transactions before", COPIED, KILL, "latency_before_ms", ""),
    line("the same: p99 of transactions meanwhile", COPIED, KILL, "latency_rejoin_ms", "2 x before"),
    line("the same: transactions per second before", COPIED, KILL, "pace_before", ""),
    line("the same: longest gap of writes meanwhile", COPIED, KILL, "rejoin_gap_ms", ""),
];

/// Runs all campaigns, and prints the lines.
pub(super) fn measure(workspace: &Workspace, binary: &Path, rounds: u32) -> Result<(), Failure> {
    let (ballast, memory) = (format!("--ballast={BALLAST}"), format!("--memory={}", 4 * BALLAST));
    let campaigns = [
        (
            DEFAULT,
            "dev",
            campaign(
                &[],
                rounds,
                &[KILL, "pause-data-1s", "kill-management", "nothing", SWITCHOVER, ROLLING],
            ),
        ),
        (CUT, "relayed", campaign(&[], rounds, &["cut-1s"])),
        (LAN, "by-hand", campaign(&["--heartbeat=10"], rounds, &[KILL, "pause-data-1s"])),
        (
            LEADERS,
            "by-hand",
            Campaign { groups: 2, ..campaign(&[], rounds, &["kill-leader", "pause-leader-3s"]) },
        ),
        (
            COPIED,
            "by-hand",
            campaign(&[&ballast, &memory, "--rejoin-limit=300"], rounds.min(BALLAST_ROUNDS), &[KILL]),
        ),
    ];
    println!("\n{}", table(&run_all(workspace, binary, campaigns.into_iter().collect())?));
    Ok(())
}

/// AlwaysOn over TCP, then the same over TLS: a table of each, of the lines that its faults have.
pub(super) fn measure_encrypted(workspace: &Workspace, binary: &Path, rounds: u32) -> Result<(), Failure> {
    let mut tables = String::new();
    for (links, what) in [(Links::Tcp, "TCP without TLS"), (Links::Tls, "TCP with TLS")] {
        let campaign = Campaign { links, ..campaign(&[], rounds, &[KILL, "nothing", SWITCHOVER, ROLLING]) };
        let figures = run_all(workspace, binary, vec![(DEFAULT, "dev", campaign)])?;
        let all = table(&figures);
        // Lines of faults that were not injected have no figures.
        let measured = all.lines().filter(|line| line.split(" | ").nth(1) != Some("0"));
        let lines = measured.fold(String::new(), |text, line| text + line + "\n");
        tables.push_str(&format!("\nLinks by {what}:\n\n{lines}"));
    }
    println!("{tables}");
    Ok(())
}

fn campaign(words: &[&str], rounds: u32, faults: &[&str]) -> Campaign {
    Campaign {
        rounds,
        groups: 1,
        faults: faults.iter().copied().map(ToOwned::to_owned).collect(),
        threads: 0,
        words: words.iter().copied().map(ToOwned::to_owned).collect(),
        figures: None,
        links: Links::Near,
    }
}

/// Runs them; the figures of each injection, with the name of its campaign.
fn run_all(
    workspace: &Workspace,
    binary: &Path,
    campaigns: Vec<(&'static str, &str, Campaign)>,
) -> Result<Vec<(&'static str, Value)>, Failure> {
    let folder = workspace.scratch("failover-table")?;
    let mut figures = Vec::new();
    for (name, kind, campaign) in campaigns {
        let file = folder.join(format!("{name}.jsonl"));
        let campaign = Campaign { figures: Some(file.clone()), ..campaign };
        let scratch = format!("failover-table-{name}");
        match kind {
            "dev" => campaign.run_on_dev(workspace, binary, &scratch)?,
            _ => campaign.run_by_hand(workspace, binary, &scratch, kind)?,
        }
        let text = fs::read_to_string(&file).map_err(Failure::while_doing(file.display()))?;
        for line in text.lines() {
            let injection = serde_json::from_str(line).map_err(Failure::while_doing(file.display()))?;
            figures.push((name, injection));
        }
    }
    Ok(figures)
}

/// The lines, in Markdown.
fn table(figures: &[(&str, Value)]) -> String {
    let mut text =
        "| | injections | p50 | p99 | longest | to reach |\n|---|---:|---:|---:|---:|---:|\n".to_owned();
    for line in &LINES {
        let of_line = figures
            .iter()
            .filter(|(cluster, injection)| *cluster == line.cluster && injection["fault"] == line.fault);
        let mut values: Vec<f64> =
            of_line.filter_map(|(_, injection)| injection[line.figure].as_f64()).collect();
        values.sort_unstable_by(f64::total_cmp);
        let count = values.len();
        // Nearest rank.
        let at = |percent: usize| values.get((count * percent).div_ceil(100).saturating_sub(1));
        let cell = |percent| at(percent).map_or_else(|| "–".to_owned(), |value| shown(*value, line.figure));
        let (p50, p99, longest) = (cell(50), cell(99), cell(100));
        text.push_str(&format!(
            "| {} | {count} | {p50} | {p99} | {longest} | {} |\n",
            line.what, line.target
        ));
    }
    text
}

fn shown(value: f64, figure: &str) -> String {
    match figure.strip_suffix("_ms") {
        None => format!("{value:.0}"),
        Some(_) if value >= 100.0 => format!("{value:.0} ms"),
        Some(_) => format!("{value:.1} ms"),
    }
}

#[cfg(test)]
mod tests;
