//! A seed becomes a cluster, a workload and faults (`draw`); the cluster works and suffers them (`run`); the run is
//! judged (`judge`).
//!
//! Half of the seeds are plain. The other half has extras: workloads that collide on unique keys, kills, broken
//! connections, small memory, tiny slices, an SQL node that dies and comes back or joins late. In a scenario of a
//! certain kind (`kinds`) one thing happens for certain.
//!
//! Invariant: each topic is drawn by a generator of its own (`draw::Topic`). A draw that is added to one topic leaves
//! the others as they were. The meaning of a seed may still change with the code, so a run is named by its seed and its
//! commit.

mod draw;
mod judge;
mod kinds;
mod run;

use crate::workload::holders::Hold;
use crate::world::{Disruption, FaultPoint, Shape};
use std::collections::BTreeMap;
use types::NodeId;

pub(crate) use judge::scripts;
pub use kinds::KINDS;
pub use run::{run, run_recorded, run_seed};
pub(crate) use run::{run_statements, text_of_panic};

/// Virtual milliseconds that a workload may take if nodes hang: for ten seconds after their start all are spared, then
/// one leaves, and ten seconds later the next. A transaction that began then may take twenty seconds more.
const HUNG_WORK_MS: u64 = 70_000;
/// Memory of a data node that has enough.
const MEMORY_ENOUGH: u64 = 64 << 20;
/// Memory of a data node that is small for what the clients do.
const MEMORY_SMALL: u64 = 4 << 20;
/// The first SQL node.
const SQL_NODE: NodeId = NodeId(67);

/// The scenario of a seed.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The seed.
    pub seed: u64,
    /// The cluster.
    pub shape: Shape,
    /// Clients that read and write single rows.
    pub registers: u64,
    /// Clients whose transactions append to lists.
    pub lists: u64,
    /// Clients that transfer money.
    pub banks: u64,
    /// Clients that change rows while the schema changes; 0: the schema does not change.
    pub changers: u64,
    /// Rounds of schema changes; after an odd number there is an index.
    pub rounds: u32,
    /// The schema is changed through the last node, an SQL node if there is one, not through the first.
    pub changes_through_last: bool,
    /// The faults of data nodes while clients work, each some virtual milliseconds after the one before.
    pub faults: Vec<(u64, Fault)>,
    /// Nodes that are lost for good, as an operator says.
    pub lost: Vec<NodeId>,
    /// Nothing happens but what operators plan: no statement may fail for it.
    pub is_planned: bool,
    /// Disruptions that end by themselves, each at its virtual millisecond of the work.
    pub disruptions: Vec<(u64, Disruption)>,
    /// Something goes wrong at a signal.
    pub point: Option<FaultPoint>,
    /// The extras.
    pub extras: Extras,
}

/// A fault of a data node.
#[derive(Clone, Copy, Debug)]
pub enum Fault {
    /// It dies, if its group keeps a member in sync.
    Crash(NodeId),
    /// It starts as another life, if it is dead.
    Start(NodeId),
    /// It hands its primaries over.
    HandOver(NodeId),
    /// It gets its share of primaries again.
    Stay(NodeId),
    /// It is asked to stop, if its group keeps a member in sync.
    Stop(NodeId),
    /// It is gone with its disk, whatever is left.
    Lose(NodeId),
    /// Its process is gone, whatever is left; its disk stays.
    Kill(NodeId),
    /// An operator of this node orders that the control log goes on without those that the scenario has lost.
    Recover(NodeId),
}

/// The extras of half of the seeds.
#[derive(Clone, Debug, Default)]
pub struct Extras {
    /// Clients of the table with a unique key.
    pub uniques: u64,
    /// Clients that insert rows with values that the cluster gives out.
    pub numbers: u64,
    /// Clients that read a table while it is renamed; 0: it is not.
    pub name_readers: u64,
    /// Clients of an account whose privilege comes and goes; 0: it does not.
    pub limited: u64,
    /// Clients whose statements read and change several tables.
    pub joiners: u64,
    /// A client kills statements and connections.
    pub killer: bool,
    /// A client sits on locks, and others wait for a second at most.
    pub sleeper: bool,
    /// Clients' connections break at any time.
    pub cuts: bool,
    /// The SQL node dies and starts again, this often.
    pub restarts: u64,
    /// Nanoseconds that clients of the bank may think inside a transfer.
    pub think_max: u64,
    /// Clients that hold rows for long while the schema changes, and which.
    pub holders: Option<(u64, Hold)>,
    /// Clients that keep each other out by locks.
    pub lockers: u64,
}

/// How a run ended.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The failure, if there is one.
    pub failure: Option<String>,
    /// Depends on everything that happened.
    pub digest: u64,
    /// Steps taken.
    pub steps: u64,
    /// Virtual nanoseconds.
    pub virtual_time: u64,
    /// The faults of the cluster, and how often each happened.
    pub injected: BTreeMap<&'static str, u64>,
    /// The point at which something should go wrong, and whether it did.
    pub point: Option<(FaultPoint, bool)>,
    /// The last lines of the transcript.
    pub tail: String,
}

impl Scenario {
    /// Nothing happens that could keep a statement from being done.
    fn is_calm(&self) -> bool {
        let extras = &self.extras;
        let is_disturbed = extras.killer || extras.cuts || extras.restarts > 0 || self.shape.late.is_some();
        let is_small = self.shape.memory <= MEMORY_SMALL || self.shape.cramped.is_some();
        let is_faulty = !self.faults.is_empty() || !self.disruptions.is_empty() || self.point.is_some();
        !is_disturbed && !is_small && !is_faulty
    }

    /// Nodes hang for longer than clients work.
    fn is_hung(&self) -> bool {
        let is_long = |(_, disruption): &(u64, Disruption)| matches!(disruption, Disruption::Hang { time, .. } if *time > HUNG_WORK_MS * 1_000_000);
        self.disruptions.iter().any(is_long)
    }
}
