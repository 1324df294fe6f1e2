//! `cargo xtask bench --tls`: what TLS between nodes costs. Two clusters on loopback whose links are TCP (`UseShm=0`),
//! with keys and without, in turn.
//!
//! Only what uses links is measured: reads by an SQL node, which has no rows, and writes, which go to both replicas.
//! The other cluster is idle meanwhile. How links on one machine fare (shared memory) is told by `cargo xtask bench`
//! without `--tls`, which is another comparison.

use super::{Options, Recorder, Run, WORKLOADS, Workload, load, measure as run, middle};
use crate::cluster::{Cluster, Links, Shape};
use crate::processes::Failure;
use crate::sysbench::create_database;
use std::path::Path;

/// Those that are measured, and whether clients are at the SQL node.
const CHOSEN: [(&str, bool); 5] = [
    ("point_select_8", true),
    ("read_write_8", true),
    ("read_write_8", false),
    ("write_only_16", false),
    ("insert_16", false),
];

const WAYS: [(Links, &str); 2] = [(Links::Tcp, "latsdb-tcp"), (Links::Tls, "latsdb-tls")];

pub(super) fn measure(binary: &Path, options: &Options, recorder: &mut Recorder<'_>) -> Result<(), Failure> {
    let workspace = recorder.workspace;
    let mut clusters = Vec::new();
    for (links, name) in WAYS {
        let shape = Shape { sql_nodes: 1, memory: Some("2G"), links, ..Shape::default() };
        let cluster = Cluster::start(workspace, binary, name, &shape)?;
        println!("loading {name}");
        create_database(cluster.mysql_ports[0])?;
        load(workspace, options, ("oltp_point_select", &[]), cluster.mysql_ports[0])
            .prepare(options.tables)?;
        clusters.push((name, cluster));
    }
    let mut table =
        "| workload | clients at | TCP | TLS | TLS / TCP |\n|---|---|---:|---:|---:|\n".to_owned();
    for (name, is_sql_node) in CHOSEN {
        let is_wanted = options.workloads.is_empty() || options.workloads.iter().any(|one| one == name);
        if let Some(workload) = WORKLOADS.iter().find(|one| one.name == name && is_wanted) {
            let runs = rounds(workload, is_sql_node, &clusters, options, recorder)?;
            table.push_str(&line(workload, is_sql_node, &runs));
        }
    }
    for (_, cluster) in clusters {
        cluster.verify()?;
        cluster.stop()?;
    }
    println!("\n{} rounds of {} s in turn, medians\n\n{table}", options.rounds, options.seconds);
    Ok(())
}

/// The runs of each way.
fn rounds(
    workload: &Workload,
    is_sql_node: bool,
    clusters: &[(&str, Cluster)],
    options: &Options,
    recorder: &mut Recorder<'_>,
) -> Result<[Vec<Run>; 2], Failure> {
    let mut runs = [Vec::new(), Vec::new()];
    for round in 1..=options.rounds {
        for ((name, cluster), runs) in clusters.iter().zip(&mut runs) {
            // SQL nodes come last.
            let port = if is_sql_node { cluster.mysql_ports.last() } else { cluster.mysql_ports.first() };
            let port = port.copied().unwrap_or_default();
            let load = load(recorder.workspace, options, (workload.script, workload.extra), port);
            let run = run(workload, &load, options.seconds, cluster.server.pid())?;
            println!(
                "{:<16} round {round} {name} {:>9.0} events/s, {:.3} ms, p95 {:.3} ms, {:.1} µs CPU per query",
                workload.name,
                run.figures.events_per_second,
                run.figures.average_ms,
                run.figures.p95_ms,
                run.cpu_us_per_query
            );
            let server = format!("{name}{}", if is_sql_node { "-sql-node" } else { "" });
            recorder.sysbench(workload, &server, round, &run)?;
            runs.push(run);
        }
    }
    Ok(runs)
}

fn line(workload: &Workload, is_sql_node: bool, runs: &[Vec<Run>; 2]) -> String {
    let of = |runs: &Vec<Run>, value: fn(&Run) -> f64| middle(runs.iter().map(value)).unwrap_or_default();
    let [plain, encrypted] = runs;
    let cell = |runs| {
        let (rate, tail) =
            (of(runs, |run| run.figures.events_per_second), of(runs, |run| run.figures.p95_ms));
        format!("{rate:.0}/s (p95 {tail:.2} ms), {:.1} µs CPU", of(runs, |run| run.cpu_us_per_query))
    };
    let rate = |runs| of(runs, |run| run.figures.events_per_second);
    format!(
        "| {}, {} clients | {} | {} | {} | {:.2} |\n",
        workload.script,
        workload.threads,
        if is_sql_node { "an SQL node" } else { "a data node" },
        cell(plain),
        cell(encrypted),
        rate(encrypted) / rate(plain).max(1.0)
    )
}
