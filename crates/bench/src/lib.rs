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
//! | `tpch` | the 22 queries of TPC-H, timed, and compared with those of another server |
//! | `tpcc` | the transactions of TPC-C, and the conditions that its tables must meet |
//! | `driver`, `connection` | a MySQL client with several addresses |
//! | `ports` | free ports for nodes that may be away for a while |
//!
//! `tpch` and `tpcc` speak SQL that any MySQL server understands: one driver measures both sides of a comparison.
//!
//! A shell: it has threads, sockets and the clock. Nothing of the product depends on it, but for the command line's
//! `bench` and its search for free ports.

pub mod clients;
pub mod connection;
pub mod driver;
pub mod failover;
pub mod floor;
pub mod load;
pub mod ports;
pub mod probe;
pub mod record;
pub mod timeline;
pub mod tpcc;
pub mod tpch;

use std::io::Write as _;
use std::path::Path;

/// Appends to a file of figures.
fn append(path: &Path, text: &str) -> std::io::Result<()> {
    std::fs::File::options().create(true).append(true).open(path)?.write_all(text.as_bytes())
}
