//! Clusters of which disks fail, one node at a time: while they work, and at rest, while everything is stopped.
//!
//! | while it works | at rest |
//! | --- | --- |
//! | a write, or its sync, fails | a bit or a sector is other than it was |
//! | a change is answered and never done, or done elsewhere in the file | a file, or a folder, ends early or is gone |
//! | the disk is full | another disk is in its place, or an older copy of the same |
//! | the disk stands still | |
//!
//! Each other member of its groups is whole, so nothing that was acknowledged as durable may be lost, whatever became
//! of one disk. Nodes return in any order. While they do, one of them, or all, are lost once more: at any step of a
//! restart, of a restore or of a join.
//!
//! Checked, beside what every full stop is held to (`full_stop`): all nodes are in sync and restorable in the end,
//! replicas are equal, and so are the disks (`shadow`).
//!
//! Invariants: a run depends on its seed only. At most one disk has lost anything, until its node is restorable again.
//!
//! Deliberately not here: disks that all go at once (`full_stop::run_data_loss_seed`), and control logs (`control`).

use crate::disk::{Disk, Trouble};
use crate::full_stop::{
    FLUSHED_MS, START_MS, begin_work, broken_promise, compare, end_work, logged_shape, outcome_of, versions,
};
use crate::returning::{lose, view};
use crate::scenario::Outcome;
use crate::shadow;
use crate::transcript::Transcript;
use crate::world::World;
use protocol::disk::{DiskError, DiskLane, DiskOperation, FileName};
use std::collections::BTreeSet;
use stdx::{Prng, hash64};
use types::NodeId;

/// Disks that fail, one after the other.
const ROUNDS: u64 = 3;
/// Virtual milliseconds for a fault to show.
const SHOWN_MS: u64 = 3_000;
/// A disk stands still for so many virtual milliseconds at most.
const STALL_MS: u64 = 6_000;
/// How long a node is waited for that may have to wait for its probation.
const WHOLE_MS: u64 = 4 * START_MS;
/// A disk whose last blocks are gone without a trace may take as much of the others' with it: a restart goes back by
/// `membership::restart::CUT_SLACK_US`, so that more disks count. No claim knows yet that these epochs were durable.
const IN_DOUBT_NS: u64 = 300_000_000;
/// Losses while the cluster comes back, at most.
const LOSSES_MAX: u64 = 3;
/// How long a moment of the restart is waited for.
const MOMENT_MS: u64 = 2_000;

/// A fault of the disk of a node that works.
#[derive(Clone, Copy, Debug)]
enum Fault {
    Fails(DiskLane),
    IsLost(DiskLane),
    IsMisdirected(DiskLane),
    Full,
    Stands(DiskLane),
}

const FAULTS: [Fault; 8] = [
    Fault::Fails(DiskLane::Redo),
    Fault::Fails(DiskLane::Bulk),
    Fault::IsLost(DiskLane::Redo),
    Fault::IsLost(DiskLane::Bulk),
    Fault::IsMisdirected(DiskLane::Redo),
    Fault::IsMisdirected(DiskLane::Bulk),
    Fault::Full,
    Fault::Stands(DiskLane::Redo),
];

/// A change of a disk at rest.
#[derive(Clone, Copy, Debug)]
enum Damage {
    Bit,
    Sector,
    Cut,
    Gone,
    Folder,
    Replaced,
    Older,
}

const DAMAGES: [Damage; 7] =
    [Damage::Bit, Damage::Sector, Damage::Cut, Damage::Gone, Damage::Folder, Damage::Replaced, Damage::Older];

/// Runs a seed with this transcript, which is empty.
#[must_use]
pub fn run_bad_disk_seed(seed: u64, transcript: Transcript) -> Outcome {
    let mut prng = Prng::new(seed ^ hash64(b"bad disks"));
    let mut shape = logged_shape(seed, &mut prng);
    (shape.data_nodes, shape.replicas) = [(2, 2), (3, 3), (4, 2)][prng.index(3)];
    let mut world = World::new(seed, shape, transcript);
    outcome_of(&mut world, |world| drive(world, &mut prng))
}

fn drive(world: &mut World, prng: &mut Prng) -> Result<(), String> {
    let first = begin_work(world)?;
    let mut in_doubt = Vec::new();
    for _ in 0..ROUNDS {
        shadow::run_watched(world, prng.below(1_000), &BTreeSet::new(), |_| false)?;
        await_whole(world)?;
        let nodes: Vec<NodeId> = world.groups().into_iter().flatten().collect();
        let ill = nodes[prng.index(nodes.len())];
        let older = world.disk(ill).cloned().unwrap_or_default();
        if prng.chance(1, 2) {
            fail_at_work(world, prng, ill)?;
        } else {
            shadow::run_watched(world, FLUSHED_MS + prng.below(500), &BTreeSet::new(), |_| false)?;
            if prng.chance(1, 3) {
                lose(world, prng, ill);
                damage(world, prng, ill, &older);
                world.start_later(ill, 1 + prng.below(1_000_000_000));
            } else {
                in_doubt.push(world.now().saturating_sub(IN_DOUBT_NS)..world.now());
                stop_with_damage(world, prng, ill, &older)?;
            }
        }
        await_whole(world)?;
        broken_promise(world, &in_doubt)?;
    }
    end_work(world, first)
}

/// All members are in sync, and a restart may begin from the disk of each.
fn is_whole(world: &World) -> bool {
    world.is_open()
        && view(world).is_some_and(|view| {
            let is_whole = |group: &protocol::GroupView| {
                let all = group.replicas.iter();
                group.in_sync.len() == group.replicas.len()
                    && group.restorable.len() == group.replicas.len()
                    && all.clone().all(|node| view.is_restorable(group, *node))
            };
            view.groups.iter().skip(1).all(is_whole)
        })
}

fn await_whole(world: &mut World) -> Result<(), String> {
    if world.run_until(WHOLE_MS, |world| is_whole(world)) {
        return Ok(());
    }
    let groups = view(world).map(|view| format!("{:?}", view.groups));
    Err(format!("not all nodes are in sync and restorable: {groups:?}"))
}

/// The disk fails while its node works.
fn fail_at_work(world: &mut World, prng: &mut Prng, ill: NodeId) -> Result<(), String> {
    let fault = FAULTS[prng.index(FAULTS.len())];
    let spared = BTreeSet::from([ill]);
    match fault {
        Fault::Fails(lane) => {
            let failed = DiskError::Failed("input/output error".to_owned());
            trouble_next(world, ill, lane, Trouble::Error(failed));
            shadow::run_watched(world, SHOWN_MS, &spared, |world| !world.is_alive(ill))?;
            let has_shown = world.disk_mut(ill).forget_troubles() == 0;
            count(world, if has_shown { "disk failed" } else { "disk was not used" });
            if has_shown && world.is_alive(ill) {
                return Err(format!("node {ill} goes on, though its disk has failed"));
            }
        }
        Fault::IsLost(lane) | Fault::IsMisdirected(lane) => {
            let is_lost = matches!(fault, Fault::IsLost(_));
            let trouble = if is_lost { Trouble::Lost } else { Trouble::Misdirected(1 + prng.below(40)) };
            trouble_next(world, ill, lane, trouble);
            shadow::run_watched(world, prng.below(SHOWN_MS), &spared, |_| false)?;
            let has_shown = world.disk_mut(ill).forget_troubles() == 0;
            count(world, if has_shown { "change went astray" } else { "disk was not used" });
            lose(world, prng, ill);
            // The sync that it lied about comes in time, before its node reads what it holds.
            world.disk_mut(ill).settle();
        }
        Fault::Full => {
            let size = world.disk_mut(ill).size() + prng.below(200_000);
            say(world, ill, &format!("has no more room than {size} bytes"));
            world.disk_mut(ill).set_quota(Some(size));
            shadow::run_watched(world, prng.below(2 * SHOWN_MS), &BTreeSet::new(), |_| false)?;
            if prng.chance(1, 3) {
                lose(world, prng, ill);
            }
            count(world, "disk full");
            say(world, ill, "has room again");
            world.disk_mut(ill).set_quota(None);
        }
        Fault::Stands(lane) => {
            let milliseconds = 1 + prng.below(STALL_MS);
            world.stall_disk(ill, lane, milliseconds * 1_000_000);
            shadow::run_watched(world, milliseconds, &BTreeSet::new(), |_| false)?;
        }
    }
    if !world.is_alive(ill) {
        world.start_later(ill, 1 + prng.below(1_000_000_000));
    }
    Ok(())
}

/// The next change of a lane suffers this.
fn trouble_next(world: &mut World, node: NodeId, lane: DiskLane, trouble: Trouble) {
    say(world, node, &format!("goes wrong at its next change of lane {lane:?}: {trouble:?}"));
    world.disk_mut(node).trouble_next(lane, trouble);
}

/// All stop, a disk is damaged, and they come back in any order, with further losses meanwhile.
fn stop_with_damage(world: &mut World, prng: &mut Prng, ill: NodeId, older: &Disk) -> Result<(), String> {
    let restarts = restart_number(world);
    let before = versions(world);
    world.stop_all(prng.chance(1, 2));
    damage(world, prng, ill, older);
    world.start_all(1 + prng.below(3_000_000_000));
    for _ in 0..prng.below(LOSSES_MAX + 1) {
        let moment = Moment::ALL[prng.index(Moment::ALL.len())];
        world.run_until(prng.below(1_000), |_| false);
        world.run_until(MOMENT_MS, |world| {
            world.is_at(DiskLane::Bulk, |operation| moment.is(operation)) || is_open_anywhere(world)
        });
        if is_open_anywhere(world) {
            break;
        }
        lose_again(world, prng);
    }
    await_whole(world)?;
    let restart = view(world).map(|view| view.restart).ok_or("there is no ldm")?;
    if restart.number.0 == restarts + 1 {
        compare(&before, &versions(world), (restart.cut, restart.first))?;
    }
    Ok(())
}

fn restart_number(world: &World) -> u32 {
    view(world).map_or(0, |view| view.restart.number.0)
}

fn is_open_anywhere(world: &World) -> bool {
    world.sql_nodes().into_iter().any(|node| world.accepts(node))
}

/// One of those that start, or all of them, are lost.
fn lose_again(world: &mut World, prng: &mut Prng) {
    let running: Vec<NodeId> = world.flushed().into_iter().map(|(node, _)| node).collect();
    count(world, "lost while it came back");
    if running.is_empty() || prng.chance(1, 3) {
        world.stop_all(prng.chance(1, 2));
        world.start_all(1 + prng.below(2_000_000_000));
        return;
    }
    let node = running[prng.index(running.len())];
    lose(world, prng, node);
    world.start_later(node, 1 + prng.below(1_000_000_000));
}

/// The step of a start in which something is lost.
#[derive(Clone, Copy)]
enum Moment {
    Any,
    List,
    Read,
    Rewrite,
    Names,
    Removal,
}

impl Moment {
    const ALL: [Self; 6] = [Self::Any, Self::List, Self::Read, Self::Rewrite, Self::Names, Self::Removal];

    fn is(self, operation: &DiskOperation) -> bool {
        match self {
            Self::Any => true,
            Self::List => matches!(operation, DiskOperation::List),
            Self::Read => matches!(operation, DiskOperation::Read { .. }),
            Self::Rewrite => matches!(operation, DiskOperation::Write { .. }),
            Self::Names => matches!(operation, DiskOperation::Replace { .. }),
            Self::Removal => matches!(operation, DiskOperation::Remove { .. }),
        }
    }
}

/// The disk of a node that does not run is not what it was.
fn damage(world: &mut World, prng: &mut Prng, node: NodeId, older: &Disk) {
    let kind = DAMAGES[prng.index(DAMAGES.len())];
    let of_log = |file: &FileName| matches!(file, FileName::Redo(_));
    let of_checkpoints = |file: &FileName| matches!(file, FileName::Manifest(_) | FileName::Piece(_));
    let disk = world.disk_mut(node);
    let in_log = prng.chance(1, 2) || !disk.files().any(|file| of_checkpoints(&file));
    let is_meant = |file: &FileName| if in_log { of_log(file) } else { of_checkpoints(file) };
    let files: Vec<FileName> = disk.files().filter(is_meant).collect();
    if files.is_empty() {
        return;
    }
    let file = files[prng.index(files.len())];
    match kind {
        Damage::Bit => {
            disk.rot_bit(file, prng);
        }
        Damage::Sector => {
            disk.rot_sector(file, prng);
        }
        Damage::Cut => {
            let size = disk.bytes(file).len() as u64;
            disk.cut_file(file, prng.below(size + 1));
        }
        Damage::Gone => {
            disk.lose_file(file);
        }
        Damage::Folder => {
            for file in files {
                disk.lose_file(file);
            }
        }
        Damage::Replaced => disk.lose_all(),
        Damage::Older => disk.replace_rows(older),
    }
    say(world, node, &format!("is damaged: {kind:?} {file}"));
    count(world, "disk damaged");
}

/// Adds a line about a disk to the transcript.
fn say(world: &mut World, node: NodeId, what: &str) {
    let text = format!("{} the disk of node {node} {what}", world.now());
    world.transcript.push(text);
}

fn count(world: &mut World, what: &'static str) {
    *world.injected.entry(what).or_insert(0) += 1;
}
