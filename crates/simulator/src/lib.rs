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
//! - `bad_disks`: disks that fail while their node works, or that have changed at rest.
//! - `spilled`: clusters whose statements have little memory, and scratch on bad disks.
//! - `returning`: data nodes with redo logs that come back one at a time.
//! - `mutants`: deliberate bugs, and the seeds that catch them.
//! - `exhaustive`: worlds so small that everything in them is tried.
//! - `client`: connections, and scripts that talk over them.
//! - `workload`: what clients do. `check`: what must hold afterwards. `scenario`: a seed becomes shape, workload and
//!   faults, and is run.
//!
//! Deliberately not here: TLS, real sockets, real time.

pub mod bad_disks;
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
pub mod spilled;
mod timed;
pub mod transcript;
pub mod workload;
pub mod world;

pub use scenario::{KINDS, Outcome, Scenario, run, run_recorded, run_seed};

use returning::Known;
use transcript::Transcript;

/// Runs a seed of a kind of clusters with this transcript, which is empty.
pub type RunSeed = fn(u64, Transcript) -> Outcome;

/// Kinds of clusters with disks, by the names that `cargo xtask simulate --kind` takes beside [`KINDS`].
pub const DISK_KINDS: [(&str, RunSeed); 7] = [
    ("full-stop", full_stop::run_full_stop_seed),
    ("data-loss", full_stop::run_data_loss_seed),
    ("return", returning::run_return_seed),
    ("last-disk", |seed, transcript| returning::run_last_disk_seed(seed, Known::NoMore, transcript)),
    ("last-disk-known", |seed, transcript| returning::run_last_disk_seed(seed, Known::More, transcript)),
    ("bad-disks", bad_disks::run_bad_disk_seed),
    ("spilled", spilled::run_spilled_seed),
];

/// Runs a seed of a kind with this transcript, which is empty. `None` if there is no such kind, or none with this seed.
#[must_use]
pub fn run_kind(kind: &str, seed: u64, transcript: Transcript) -> Option<Outcome> {
    if let Some((_, run)) = DISK_KINDS.iter().find(|(name, _)| *name == kind) {
        return Some(run(seed, transcript));
    }
    let scenario = Scenario::of_kind(kind, seed)?;
    Some(scenario::run_recorded(&scenario, transcript))
}
