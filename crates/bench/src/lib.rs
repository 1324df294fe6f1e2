//! bench: what measures the database, and what it is measured against.
//!
//! | file | what |
//! | --- | --- |
//! | `floor` | a server that answers with one row: what is left over for a database |
//! | `failover` | faults are injected into a cluster, and what its clients notice is measured and judged |
//! | `clients` | probes and checking loads at work, and the judgement of their logs |
//! | `probe`, `timeline` | a statement each millisecond; gaps between successes |
//! | `load` | counters, bank and lists: what clients do, and what must hold afterwards |
//! | `record` | the synchronised log of a client |
//! | `autobench` | sysbench runs that an `autobench.conf` describes |
//! | `pipeline` | setups of threads against each other, on each workload |
//! | `workload`, `measurement` | what clients send, and one measurement of it |
//! | `counts`, `costs` | how many steps operations have, and what a step costs on this machine |
//! | `model` | what follows for clusters and machines that are not there |
//! | `tables` | a table as nodes define it |
//! | `generator`, `oltp` | the load: many clients on few threads, and the transactions that they send |
//! | `plot` | charts |
//! | `tpch` | the 22 queries of TPC-H, timed, and compared with those of another server |
//! | `tpcc` | the transactions of TPC-C, and the conditions that its tables must meet |
//! | `driver`, `connection` | a MySQL client with several addresses |
//! | `cluster` | a cluster that a benchmark starts for itself |
//! | `processes` | programs at work, and what becomes of them |
//! | `ports` | free ports for nodes that may be away for a while |
//!
//! `tpch` and `tpcc` speak SQL that any MySQL server understands: one driver measures both sides of a comparison.
//!
//! A shell: it has threads, sockets and the clock. Nothing of the product depends on it, but for the command line's
//! `bench` and its search for free ports.

pub mod autobench;
pub mod clients;
mod cluster;
pub mod connection;
pub mod costs;
mod counts;
pub mod driver;
pub mod failover;
pub mod floor;
pub mod generator;
pub mod load;
mod measurement;
pub mod model;
pub mod oltp;
pub mod pipeline;
mod plot;
pub mod ports;
pub mod probe;
mod processes;
pub mod record;
mod tables;
pub mod timeline;
pub mod tpcc;
pub mod tpch;
pub mod workload;

use std::io::Write as _;
use std::path::Path;

/// Appends to a file of figures.
fn append(path: &Path, text: &str) -> std::io::Result<()> {
    std::fs::File::options().create(true).append(true).open(path)?.write_all(text.as_bytes())
}

/// Writes a file of results.
fn put(folder: &Path, name: &str, text: &str) -> Result<(), String> {
    let path = folder.join(name);
    std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
}

/// The middle of some values; the mean of both if there are two in the middle; 0 of none.
#[must_use]
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => 0.0,
        count if count % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn a_median_of_an_even_number_is_between_the_two_in_the_middle() {
        assert!((median(vec![4.0, 1.0, 2.0, 3.0]) - 2.5).abs() < 1e-9);
        assert!(median(Vec::new()).abs() < 1e-9);
    }
}
