//! Meets the machine: threads, pinning, epoll, sockets, TLS, links between nodes, clocks, crashes. Drives
//! `protocol::Module` and knows no block.
//!
//! The binary plans a [`Layout`](protocol::layout::Layout), makes the modules, and calls [`Runtime::start`]; everything
//! after that happens on the layout's threads, each of which runs the loop described in `worker`. Modules see inputs
//! and outputs as `protocol::module` defines them; the simulator drives the same modules with the same inputs.
//!
//! | file | contents |
//! | --- | --- |
//! | `runtime` | starting and stopping; what the binary sees |
//! | `worker`, `worker/clients`, `worker/peers` | one thread's loop; client connections; links |
//! | `exchange` | rings between threads |
//! | `wake`, `spin` | sleeping, waking, spinning |
//! | `connections`, `listeners`, `tls` | clients' sockets |
//! | `certificates`, `keys`, `signing` | certificates of nodes: contents, checks, signing |
//! | `links`, `supervisor` | which links there are, and frames on them |
//! | `shared_memory` | rings of bytes between two nodes of one machine |
//! | `process`, `statistics`, `report` | what threads share; what they count; the report of it |
//! | `long_work` | slices of long work: how many a round takes, and whose turn it is |
//! | `load` | how busy each thread is, for the placement of reads and clients |
//! | `disk` | the files of modules |
//! | `crash` | traces of a node that dies |
//! | `machine`, `clock` | CPUs, priorities, time |
//! | `resident` | memory that the process takes from the system and gives back |
//!
//! Invariants: a module is handled by one thread only, for its whole life. Signals between two modules are handled in
//! the order of sending. Between nodes they may be dropped from some point on until the link is up again. Nothing
//! blocks but the wait in epoll. An idle node makes no system calls other than for deadlines of its modules, and one
//! look at its memory a second.
//!
//! Deliberately not here: what signals mean.

#[cfg(all(test, feature = "mutants"))]
mod bugs;
pub mod certificates;
mod clock;
pub mod config;
mod connections;
pub mod crash;
pub mod disk;
mod exchange;
pub mod keys;
mod links;
mod listeners;
mod load;
pub mod long_work;
pub mod machine;
pub mod mutants;
mod password_key;
mod placement;
mod process;
mod report;
pub mod resident;
mod runtime;
mod shared_memory;
pub mod signing;
mod spin;
mod statistics;
mod supervisor;
mod tls;
mod wake;
mod watchdog;
mod worker;

#[cfg(test)]
mod tests;

pub use clock::monotonic as stopwatch;
pub use config::{Limits, Listeners, LogSink, PeerConfig, RuntimeConfig, SpinMethod, StartError};
pub use crash::install_crash_handler;
pub use runtime::{BoundAddresses, KeyHolder, Runtime};
pub use statistics::RuntimeCounters;
pub use tls::{TlsError, TlsIdentity};
pub use worker::{BoxedModule, STRANGERS_MAX};
