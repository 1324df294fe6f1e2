//! Data nodes with redo logs that come back while others go on, and what is left of the rows when the disks of those
//! others are gone.
//!
//! Invariant: a run depends on its seed only.

use crate::full_stop::{
    FLUSHED_MS, START_MS, begin_work, end_work, logged_shape, newest, outcome_of, stop_and_come_back,
    versions,
};
use crate::scenario::{Outcome, run_statements};
use crate::shadow;
use crate::transcript::Transcript;
use crate::world::World;
use protocol::disk::{DiskLane, FileName};
use protocol::{GroupView, View};
use std::collections::BTreeSet;
use stdx::{Prng, hash64};
use types::{Incarnation, NodeId};

/// Nodes that are lost one after the other.
const LOSSES: u64 = 5;
const FIRST: NodeId = NodeId(1);
const SECOND: NodeId = NodeId(2);
/// Longer than any of these runs, in nanoseconds.
const FOR_EVER: u64 = 1_000_000_000_000;

/// Clients work. Data nodes are lost, with or without their power, and come back with the rows of their disks; some of
/// them are lost again while they join. In the end all replicas are equal, and so are the disks: the cluster stops and
/// comes back from them.
#[must_use]
pub fn run_return_seed(seed: u64, transcript: Transcript) -> Outcome {
    let mut prng = Prng::new(seed ^ hash64(b"returning"));
    let mut shape = logged_shape(seed, &mut prng);
    // Some group has to go on.
    (shape.data_nodes, shape.replicas) = [(2, 2), (3, 3), (4, 2)][prng.index(3)];
    let mut world = World::new(seed, shape, transcript);
    outcome_of(&mut world, |world| return_again_and_again(world, &mut prng))
}

fn return_again_and_again(world: &mut World, prng: &mut Prng) -> Result<(), String> {
    let first = begin_work(world)?;
    for _ in 0..LOSSES {
        shadow::run_watched(world, prng.below(1_500), &BTreeSet::new(), |_| false)?;
        let Some(data_nodes) = all(world).map(|all| all.replicas.clone()) else { continue };
        let node = data_nodes[prng.index(data_nodes.len())];
        let before = life(world, node);
        lose(world, prng, node);
        shadow::run_watched(world, prng.below(1_500), &BTreeSet::new(), |_| false)?;
        world.start_later(node, 1 + prng.below(100_000_000));
        if prng.chance(1, 3) {
            let is_back = |world: &World| life(world, node) > before;
            await_that(world, "a node in another life", is_back)?;
            world.run_until(prng.below(30), |_| false);
            lose(world, prng, node);
            world.start_later(node, 1 + prng.below(100_000_000));
        }
        let is_whole = |world: &World| all(world).is_some_and(|all| all.in_sync == data_nodes);
        await_that(world, "all nodes to be in sync", is_whole)?;
    }
    let flushed = newest(&versions(world));
    shadow::run_watched(world, FLUSHED_MS + prng.below(200), &BTreeSet::new(), |_| false)?;
    stop_and_come_back(world, prng, flushed)?;
    end_work(world, first)
}

pub(crate) fn lose(world: &mut World, prng: &mut Prng, node: NodeId) {
    if prng.chance(1, 2) {
        world.crash(node);
    } else {
        world.lose_power(node);
    }
}

/// The knowledge of the cluster when the second node joins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Known {
    /// Nothing newer than its disk was durable: the first node has not flushed anything yet.
    NoMore,
    /// The first node has gone on, and its epochs were durable.
    More,
}

/// Both nodes have a row. The second node goes on alone with another row, and is restorable alone. The first one comes
/// back, and the second one leaves. While that joins again, both die, the first one with its log. All that the second
/// one held counts, if nothing newer was known to be durable; else the cluster waits.
///
/// The second node may be back in sync before both die, with all that was durable on its disk. Then the cluster may
/// come back with all three rows, and has to if a view already calls that life restorable.
#[must_use]
pub fn run_last_disk_seed(seed: u64, known: Known, transcript: Transcript) -> Outcome {
    let mut prng = Prng::new(seed ^ hash64(b"last disk"));
    let mut shape = logged_shape(seed, &mut prng);
    (shape.data_nodes, shape.replicas, shape.sql_nodes) = (2, 2, 0);
    let mut world = World::new(seed, shape, transcript);
    outcome_of(&mut world, |world| last_disk(world, known))
}

fn last_disk(world: &mut World, known: Known) -> Result<(), String> {
    await_that(world, "start", |world| world.is_open())?;
    let statement = |world: &mut World, node, text: &str| run_statements(world, node, vec![text.to_owned()]);
    statement(world, FIRST, "CREATE DATABASE sim")?;
    statement(world, FIRST, "CREATE TABLE sim.t (id INT PRIMARY KEY, v INT)")?;
    statement(world, FIRST, "INSERT INTO sim.t VALUES (1, 1)")?;
    world.run_until(FLUSHED_MS, |_| false);
    world.crash(FIRST);
    await_that(world, "the second node alone", |world| is_restorable_alone(world, SECOND))?;
    statement(world, SECOND, "INSERT INTO sim.t VALUES (2, 2)")?;
    world.run_until(FLUSHED_MS, |_| false);
    world.start_later(FIRST, 1);
    await_that(world, "the first node back", |world| {
        group(world).is_some_and(|group| group.in_sync.len() == 2)
    })?;
    if known == Known::NoMore {
        world.stall_disk(FIRST, DiskLane::Redo, FOR_EVER);
    } else {
        world.run_until(FLUSHED_MS, |_| false);
    }
    world.crash(SECOND);
    let is_first_alone = |world: &World| group(world).is_some_and(|group| group.in_sync == [FIRST]);
    await_that(world, "the first node alone", is_first_alone)?;
    if known == Known::More {
        await_that(world, "its disk to count", |world| is_restorable_alone(world, FIRST))?;
    } else if group(world).is_some_and(|group| group.restorable.iter().any(|(node, _)| *node == FIRST)) {
        return Err("its disk had counted before it stood still".to_owned());
    }
    await_that(world, "an open port", |world| world.accepts(FIRST))?;
    statement(world, FIRST, "INSERT INTO sim.t VALUES (3, 3)")?;
    world.run_until(FLUSHED_MS, |_| false);
    world.start_later(SECOND, 1);
    let is_joining = |world: &World| group(world).is_some_and(|group| group.joining.contains(&SECOND));
    await_that(world, "the second node to join", is_joining)?;
    // Its log says that it joins.
    world.run_until(20, |_| false);
    let (has_all, is_counted) = (holds_durable(world, SECOND), is_restorable(world, SECOND));
    *world.injected.entry("held all before the stop").or_insert(0) += u64::from(has_all);
    world.stop_all(true);
    lose_log(world, FIRST);
    world.disk_mut(FIRST).stalled_until = Default::default();
    world.start_all(1_000_000_000);
    let is_back = world.run_until(START_MS, |world| world.is_open());
    match known {
        Known::More if is_back && !has_all => {
            Err("it came back from a disk that lacks what was durable".to_owned())
        }
        Known::More if is_back => check_rows(world, &["1", "2", "3"]),
        Known::More if is_counted => Err("the disk that is restorable again does not count".to_owned()),
        Known::More => Ok(()),
        Known::NoMore if !is_back => Err("the disk that had joined before does not count".to_owned()),
        Known::NoMore => check_rows(world, &["1", "2"]),
    }
}

/// The cluster has the rows with these ids, and no others.
fn check_rows(world: &mut World, expected: &[&str]) -> Result<(), String> {
    let select = "SELECT id FROM sim.t ORDER BY id".to_owned();
    let rows = run_statements(world, SECOND, vec![select])?;
    let ids: Vec<String> = rows.into_iter().flatten().flatten().collect();
    if ids == expected { Ok(()) } else { Err(format!("the rows are {ids:?}, not {expected:?}")) }
}

fn await_that(world: &mut World, what: &str, mut is_so: impl FnMut(&World) -> bool) -> Result<(), String> {
    let is_done = world.run_until(START_MS, |world| is_so(world));
    if is_done { Ok(()) } else { Err(format!("waited in vain: {what}")) }
}

/// The newest view that an ldm is in.
pub(crate) fn view(world: &World) -> Option<&View> {
    world.ldms().map(transaction::Ldm::view).max_by_key(|view| view.number)
}

/// The life of a node that the newest view names.
fn life(world: &World, node: NodeId) -> Incarnation {
    view(world).and_then(|view| view.node(node)).map_or(Incarnation(0), |info| info.incarnation)
}

/// The group of all data nodes.
fn all(world: &World) -> Option<&GroupView> {
    view(world)?.groups.first()
}

/// The first group of replicas that user tables have.
fn group(world: &World) -> Option<&GroupView> {
    view(world)?.groups.get(1)
}

fn is_restorable_alone(world: &World, node: NodeId) -> bool {
    group(world).is_some_and(|group| {
        group.in_sync == [node] && group.restorable.iter().all(|(named, _)| *named == node)
    })
}

/// A node is in sync, and has said that its disk holds what was durable.
fn holds_durable(world: &World, node: NodeId) -> bool {
    let is_in_sync = group(world).is_some_and(|group| group.in_sync.contains(&node));
    let flushed = world.flushed().into_iter().find(|(id, _)| *id == node).map(|(_, epoch)| epoch);
    is_in_sync && flushed >= Some(world.promised())
}

/// The newest view calls the life of a node restorable that it names.
fn is_restorable(world: &World, node: NodeId) -> bool {
    view(world).is_some_and(|view| view.groups.get(1).is_some_and(|group| view.is_restorable(group, node)))
}

/// The redo log of a node is gone, as with another disk.
fn lose_log(world: &mut World, node: NodeId) {
    let disk = world.disk_mut(node);
    let logs: Vec<FileName> = disk.files().filter(|file| matches!(file, FileName::Redo(_))).collect();
    for log in logs {
        disk.lose_file(log);
    }
}
