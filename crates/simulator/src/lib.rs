//! A whole cluster in one thread, from a seed.
//!
//! The same modules that the runtime drives, SQL sessions included, are driven here with a virtual clock, a virtual
//! network and a seeded scheduler. Clients speak MySQL bytes through the client half of `mysql_protocol`. The same seed
//! gives the same transcript, always.
//!
//! - `world`: nodes, queues, the clock, the network; what happens next is drawn from the seed.
//! - `disk`: the disks of its nodes, and their faults.
//! - `control`: a world of its own, of control logs only.
//! - `detect`: and one of failure detectors only.
//! - `full_stop`: clusters with redo logs of which all nodes stop at once.
//! - `shadow`: copies of disks that are restored aside, and held against the memory of their nodes.
//! - `returning`: data nodes with redo logs that come back one at a time.
//! - `mutants`: deliberate bugs, and the seeds that catch them.
//! - `exhaustive`: worlds so small that everything in them is tried.
//! - `client`: connections, and scripts that talk over them.
//! - `workload`: what clients do. `check`: what must hold afterwards. `scenario`: a seed becomes shape, workload and
//!   faults, and is run.
//!
//! Deliberately not here: TLS, real sockets, real time.

pub mod check;
pub mod client;
pub mod control;
pub mod detect;
pub mod disk;
pub mod exhaustive;
pub mod full_stop;
#[cfg(feature = "mutants")]
pub mod mutants;
pub mod returning;
pub mod scenario;
pub mod shadow;
mod timed;
pub mod transcript;
pub mod workload;
pub mod world;

pub use scenario::{KINDS, Outcome, Scenario, run, run_in_detail, run_seed};
