//! Clusters whose statements have little memory, and use scratch on disks that are slow, full, fail or lie.
//!
//! Clients at all nodes sort, group and join a table that is larger than the memory of a statement (`workload::sorts`),
//! while others kill statements and connections. In each round the disk of one node has a fault, or that node is lost,
//! or other sessions hold all of its QueryMemory.
//!
//! Checked: a statement gives the right rows or an error of scratch, and none has that error while all disks are well.
//! In the end no node has a file of scratch left, unless its disk has failed to remove it, and replicas are equal.
//!
//! Invariant: a run depends on its seed only.

use crate::client::Client;
use crate::disk::Trouble;
use crate::full_stop::{START_MS, outcome_of};
use crate::scenario::{Outcome, Scenario, run_statements};
use crate::transcript::Transcript;
use crate::workload::disturbance::Killer;
use crate::workload::sorts::Sorts;
use crate::world::World;
use node::ScratchSettings;
use protocol::disk::{DiskError, DiskLane, FileName};
use std::collections::BTreeSet;
use stdx::{Prng, hash64};
use types::NodeId;

/// Rounds, each with its fault.
const ROUNDS: u64 = 4;
/// Queries of a client in a round.
const QUERIES: u32 = 4;
/// A disk stands still for so many virtual milliseconds at most.
const STALL_MS: u64 = 3_000;

/// The fault of a round.
#[derive(Clone, Copy, Debug)]
enum Fault {
    /// Nothing: no statement fails.
    None,
    Killer,
    Fails,
    IsFull,
    IsLost,
    IsMisdirected,
    Stands,
    Rots,
    Crash,
    /// New clients have no QueryMemory.
    NoMemory,
}

const FAULTS: [Fault; 10] = [
    Fault::None,
    Fault::Killer,
    Fault::Fails,
    Fault::IsFull,
    Fault::IsLost,
    Fault::IsMisdirected,
    Fault::Stands,
    Fault::Rots,
    Fault::Crash,
    Fault::NoMemory,
];

/// Runs a seed with this transcript, which is empty.
#[must_use]
pub fn run_spilled_seed(seed: u64, transcript: Transcript) -> Outcome {
    let mut prng = Prng::new(seed ^ hash64(b"spilled"));
    let mut shape = Scenario::from_seed(seed).shape;
    (shape.late, shape.cramped, shape.scant) = (None, None, None);
    (shape.data_nodes, shape.replicas) = [(2, 2), (3, 3)][prng.index(2)];
    let statement_memory_max = [64 << 10, 100 << 10][prng.index(2)];
    // Some clusters have too little scratch for all clients at once.
    let space = [1 << 30, 500_000][prng.index(2)];
    shape.scratch = Some(ScratchSettings { space, statement_memory_max });
    let mut world = World::new(seed, shape, transcript);
    outcome_of(&mut world, |world| drive(world, &mut prng, space))
}

fn drive(world: &mut World, prng: &mut Prng, space: u64) -> Result<(), String> {
    if !world.run_until(START_MS, |world| world.is_open()) {
        return Err("the cluster did not start".to_owned());
    }
    let nodes = world.sql_nodes();
    let mut setup = vec!["CREATE DATABASE sim".to_owned()];
    setup.extend(Sorts::setup());
    run_statements(world, nodes[0], setup)?;
    let mut clean: BTreeSet<NodeId> = nodes.iter().copied().collect();
    for _ in 0..ROUNDS {
        let fault = FAULTS[prng.index(FAULTS.len())];
        let (ill, refused) = round(world, prng, &nodes, fault)?;
        // The fault may hit a removal: that file is there until the next start, or until its client has one again.
        if matches!(fault, Fault::Fails | Fault::IsLost) {
            clean.remove(&ill);
        }
        let is_well =
            matches!(fault, Fault::None | Fault::Killer | Fault::Stands | Fault::Crash | Fault::NoMemory);
        if refused > 0 && is_well && space > 1 << 20 {
            return Err(format!("{refused} statements found no scratch, with {fault:?}"));
        }
    }
    world.run_until(1_000, |_| false);
    check_no_file(world, &clean)?;
    crate::check::cluster::check(world)
}

/// Clients sort while one node suffers a fault: that node, and how many statements were refused.
fn round(
    world: &mut World,
    prng: &mut Prng,
    nodes: &[NodeId],
    fault: Fault,
) -> Result<(NodeId, u32), String> {
    let data_nodes: Vec<NodeId> = world.groups().into_iter().flatten().collect();
    let ill = data_nodes[prng.index(data_nodes.len())];
    if matches!(fault, Fault::NoMemory) {
        world.take_query_memory(ill);
    }
    let first = world.clients().len();
    for node in nodes {
        for _ in 0..1 + prng.below(2) {
            let client = world.add_client(Client::new(Box::new(Sorts::new(*node, QUERIES))));
            world.run_client(client);
        }
    }
    if matches!(fault, Fault::Killer) {
        let client = world.add_client(Client::new(Box::new(Killer::new(nodes.to_vec(), 12))));
        world.run_client(client);
    }
    let is_at_work = |world: &mut World| world.disk_mut(ill).under_way(DiskLane::Scratch).is_some();
    world.run_until(500, is_at_work);
    world.run_until(prng.below(8), |_| false);
    suffer(world, prng, ill, fault);
    let is_done = |world: &mut World| world.clients()[first..].iter().all(Client::is_finished);
    if !world.run_until(START_MS, is_done) {
        return Err(format!("clients did not end, with {fault:?}"));
    }
    world.disk_mut(ill).forget_troubles();
    world.disk_mut(ill).set_quota(None);
    world.give_query_memory(ill);
    if !world.run_until(START_MS, |world| world.is_open()) {
        return Err("a node did not come back".to_owned());
    }
    let (mut answered, mut refused) = (0, 0);
    for client in &world.clients()[first..] {
        if let Some(sorts) = client.script().as_any().downcast_ref::<Sorts>() {
            if let Some(failure) = &sorts.failure {
                return Err(format!("{failure}, with {fault:?} at node {ill}"));
            }
            answered += sorts.answered;
            refused += sorts.refused;
        }
    }
    *world.injected.entry("scratch answered").or_insert(0) += u64::from(answered);
    if refused > 0 {
        count(world, "scratch refused");
    }
    Ok((ill, refused))
}

fn suffer(world: &mut World, prng: &mut Prng, ill: NodeId, fault: Fault) {
    let trouble = |world: &mut World, trouble| world.disk_mut(ill).trouble_next(DiskLane::Scratch, trouble);
    match fault {
        Fault::None | Fault::Killer | Fault::NoMemory => {}
        Fault::Fails => {
            trouble(world, Trouble::Error(DiskError::Failed("input/output error".to_owned())));
        }
        Fault::IsFull => {
            let size = world.disk_mut(ill).size() + prng.below(60_000);
            world.disk_mut(ill).set_quota(Some(size));
        }
        Fault::IsLost => trouble(world, Trouble::Lost),
        Fault::IsMisdirected => trouble(world, Trouble::Misdirected(1 + prng.below(40))),
        Fault::Stands => world.stall_disk(ill, DiskLane::Scratch, (1 + prng.below(STALL_MS)) * 1_000_000),
        Fault::Rots => {
            let files: Vec<FileName> = world.disk_mut(ill).files().filter(is_scratch).collect();
            for file in files {
                world.disk_mut(ill).rot_sector(file, prng);
            }
        }
        Fault::Crash => {
            world.crash(ill);
            world.start_later(ill, 1 + prng.below(200_000_000));
        }
    }
    count(world, "scratch disturbed");
}

fn count(world: &mut World, what: &'static str) {
    *world.injected.entry(what).or_insert(0) += 1;
}

fn is_scratch(file: &FileName) -> bool {
    matches!(file, FileName::Scratch(_))
}

fn check_no_file(world: &World, nodes: &BTreeSet<NodeId>) -> Result<(), String> {
    for node in nodes {
        let mut left = world.disk(*node).into_iter().flat_map(crate::disk::Disk::files).filter(is_scratch);
        if let Some(file) = left.next() {
            return Err(format!("node {node} has kept {file}"));
        }
    }
    Ok(())
}
