//! The step `autobench`: `latsdb bench run` with its own cluster, with servers that are named, under sysbench, and when
//! it is interrupted; and a short `latsdb bench pipeline`.

use super::{CLIENT_LIMIT, Passed, or_skip};
use crate::cluster::{Cluster, test_binary};
use crate::processes::{Failure, Server, Workspace, output_of, run, signal};
use crate::tools::{Missing, Tool};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

/// How long the kernel may take to end the processes of a benchmark that has ended.
const GONE_LIMIT: Duration = Duration::from_secs(10);

const SMALL: &str =
    "SYSBENCH_ROWS=1000\nSB_NUM_TABLES=2\nSYSBENCH_INSTANCES=2\nTHREAD_COUNTS_TO_RUN=\"1;4\"\n";

pub(super) fn step(workspace: &Workspace) -> Result<Passed, Failure> {
    or_skip!(Tool::Sysbench.ensure());
    let folder = workspace.scratch("autobench")?;
    let bench = |words: &[&str]| {
        let mut command = Command::new(test_binary(workspace));
        command.args(["bench", "run"]).arg(&folder).args(words);
        command
    };
    configure(&folder, "MAX_TIME=1\nSB_USE_IN_STATEMENT=10\nSB_USE_FILTER=yes\n")?;
    run(&mut bench(&[]), CLIENT_LIMIT)?;
    expect_results(&folder)?;
    none_left(&folder)?;

    let cluster = Cluster::for_test(workspace, "autobench-servers")?;
    let ports: Vec<String> = cluster.mysql_ports.iter().map(u16::to_string).collect();
    let servers = format!("SERVER_HOST='127.0.0.1;127.0.0.1'\nSERVER_PORT='{}'\n", ports.join(";"));
    configure(&folder, &format!("MAX_TIME=2\nSYSBENCH_TEST=oltp_ro\n{servers}"))?;
    run(&mut bench(&["--load", "sysbench"]), CLIENT_LIMIT)?;
    expect_results(&folder)?;

    configure(&folder, &format!("MAX_TIME=3600\n{servers}"))?;
    let log = workspace.target.join("xtask").join("autobench.log");
    // The file of the first run would say that this one is at work.
    let live = folder.join("sysbench_results/oltp_rw_1_0.res");
    fs::remove_file(&live).map_err(Failure::while_doing(live.display()))?;
    let mut working = Server::start(&mut bench(&["--keep-tables"]), "latsdb bench run", &log)?;
    let deadline = Instant::now() + CLIENT_LIMIT;
    while fs::read_to_string(&live).unwrap_or_default().is_empty() {
        if working.has_ended() || Instant::now() >= deadline {
            return Err(working.failure("no second was measured"));
        }
        thread::sleep(Duration::from_millis(50));
    }
    signal(working.pid(), "INT");
    let status = working.wait(CLIENT_LIMIT)?;
    if !status.success() || !working.log().contains("stopped; the results so far") {
        return Err(working.failure(&format!("interrupted: {status}")));
    }
    drop(cluster);
    for (text, fault) in [
        ("SB_POINT_SELECT=1", "autobench.conf:1: SB_POINT_SELECT: unknown option"),
        ("THREAD_COUNTS_TO_RUN=0", "autobench.conf:1: THREAD_COUNTS_TO_RUN: must be at least 1"),
        ("MAX_TIME=1\nSERVER_HOST=127.0.0.1\nSERVER_PORT=1", "autobench.conf:2: 127.0.0.1:1 does not answer"),
    ] {
        fs::write(folder.join("autobench.conf"), text).map_err(Failure::while_doing(folder.display()))?;
        let (status, told) = output_of(&mut bench(&[]), CLIENT_LIMIT)?;
        if status.success() || !told.contains(fault) || told.trim().lines().count() != 1 {
            return Err(Failure::new(format!("{text}: {told}")));
        }
    }
    let pipeline = folder.join("pipeline");
    let mut command = Command::new(test_binary(workspace));
    command.args(["bench", "pipeline", "--rounds=1", "--time=1", "--table-size=1000", "--clients=3"]);
    command.args(["--workload=update", "--workload=scan-beside-points", "--out"]).arg(&pipeline);
    run(&mut command, CLIENT_LIMIT)?;
    let path = pipeline.join("pipeline.txt");
    let told = fs::read_to_string(&path).map_err(Failure::while_doing(path.display()))?;
    if told.matches("adaptive: ").count() != 2 {
        return Err(Failure::new(format!("pipeline.txt has no verdict for each workload:\n{told}")));
    }
    none_left(&folder)?;
    Ok(Passed::Done)
}

fn configure(folder: &Path, more: &str) -> Result<(), Failure> {
    fs::write(folder.join("autobench.conf"), format!("{SMALL}{more}"))
        .map_err(Failure::while_doing(folder.display()))
}

/// The final table has a line for each thread count, and a throughput in each.
fn expect_results(folder: &Path) -> Result<(), Failure> {
    let path = folder.join("final_results.txt");
    let text = fs::read_to_string(&path).map_err(Failure::while_doing(path.display()))?;
    println!("{text}");
    let throughputs =
        text.lines().skip(3).map(|line| line.split_whitespace().nth(2).and_then(|word| word.parse().ok()));
    let throughputs: Vec<f64> = throughputs.map(Option::unwrap_or_default).collect();
    if throughputs.len() == 2 && throughputs.iter().all(|throughput| *throughput > 0.0) {
        return Ok(());
    }
    Err(Failure::new(format!("{}: not two lines with a throughput:\n{text}", path.display())))
}

/// No process names the folder of the benchmark in its command.
fn none_left(folder: &Path) -> Result<(), Failure> {
    let name = folder.display().to_string();
    let deadline = Instant::now() + GONE_LIMIT;
    loop {
        let left: Vec<String> = fs::read_dir("/proc")
            .map_err(Failure::while_doing("/proc"))?
            .flatten()
            .filter_map(|entry| fs::read_to_string(entry.path().join("cmdline")).ok())
            .filter(|command| command.contains(&name))
            .collect();
        if left.is_empty() {
            return Ok(());
        }
        if Instant::now() >= deadline {
            return Err(Failure::new(format!("processes that are left: {left:?}")));
        }
        thread::sleep(Duration::from_millis(50));
    }
}
