//! Whole clusters with redo logs that stop as a whole while clients work: all processes are killed, all machines lose
//! power, or an operator orders it. In the midst of a stop that was ordered a node may be killed, or all. The cluster
//! comes back from its disks, several times, and is held against what it had in memory.
//!
//! The checks after a restart, whose cut is known:
//! - every row whose newest version was not above the cut is there with that version;
//! - no row has a version above the cut, but for what was written since;
//! - the cut is not below what was committed long before the stop: it was flushed. Nor is it below any epoch that was
//!   ever said to be durable (I11);
//! - nothing at all is lost if an ordered stop came so far that it is to be recorded. If no node was killed, all disks
//!   count: no node is copied to;
//! - everything that was acknowledged as durable is there, tables that were made among it, and no more is lost than
//!   `ndbinfo.durability` said;
//! - replicas are equal, with epochs, and indexes match; transfers have kept the sum of the bank.
//!
//! Invariant: a run depends on its seed only.

use crate::check::cluster::{self, Contents};
use crate::client::Client;
use crate::scenario::{Outcome, Scenario, run_statements, scripts, text_of_panic};
use crate::shadow;
use crate::transcript::Transcript;
use crate::workload::bank::{ACCOUNT_COUNT, Bank, FIRST_BALANCE};
use crate::workload::lists::Lists;
use crate::workload::numbers::Numbers;
use crate::workload::promises::{Figure, Promise, Promises, Watcher};
use crate::world::{MANAGEMENT, Shape, World};
use durability::Codec;
use node::RedoSettings;
use protocol::disk::{DiskLane, DiskOperation};
use protocol::signal::FullStop;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use stdx::{Duration, Prng, hash64};
use types::{Epoch, SlotId, TableId};

/// Virtual milliseconds that a cluster may take to start: longer than a restart waits for nodes that are not there.
pub(crate) const START_MS: u64 = 60_000;
/// Virtual milliseconds in which everything that was committed has reached the disks.
pub(crate) const FLUSHED_MS: u64 = 1_000;
/// Virtual milliseconds that an ordered stop may take.
const STOP_MS: u64 = 40_000;
/// Virtual milliseconds after which something is killed in its midst.
const KILLED_MS: u64 = 800;
/// Counted when all members have flushed, and the stop is to be recorded.
const RECORDED: &str = "stop is to be recorded";

/// Virtual milliseconds that are waited for a moment.
const MOMENT_MS: u64 = 400;

/// The step of a checkpoint in which the cluster stops.
#[derive(Clone, Copy)]
enum Moment {
    Any,
    Pieces,
    Sync,
    Manifest,
    Removal,
}

impl Moment {
    const ALL: [Self; 5] = [Self::Any, Self::Pieces, Self::Sync, Self::Manifest, Self::Removal];

    fn is(self, operation: &DiskOperation) -> bool {
        match self {
            Self::Any => true,
            Self::Pieces => matches!(operation, DiskOperation::Write { .. }),
            Self::Sync => matches!(operation, DiskOperation::Sync { .. }),
            Self::Manifest => matches!(operation, DiskOperation::Replace { .. }),
            Self::Removal => matches!(operation, DiskOperation::Remove { .. }),
        }
    }
}

/// The newest committed version of each row that any replica has: its epoch, and a hash of its bytes. The hash is 0 if
/// a newer version is undecided at that moment.
type Versions = BTreeMap<(TableId, SlotId, Box<[u8]>), (Epoch, u64)>;

/// Runs a seed with this transcript, which is empty.
#[must_use]
pub fn run_full_stop_seed(seed: u64, transcript: Transcript) -> Outcome {
    run(seed, transcript, drive)
}

/// Runs a seed of a cluster of two groups that stops, and loses the disks of one group. An operator gives them up.
#[must_use]
pub fn run_data_loss_seed(seed: u64, transcript: Transcript) -> Outcome {
    run(seed, transcript, drive_with_data_loss)
}

fn run(
    seed: u64,
    transcript: Transcript,
    drive: impl FnOnce(&mut World, &mut Prng) -> Result<(), String>,
) -> Outcome {
    let mut prng = Prng::new(seed ^ hash64(b"full stop"));
    let shape = logged_shape(seed, &mut prng);
    let mut world = World::new(seed, shape, transcript);
    outcome_of(&mut world, |world| drive(world, &mut prng))
}

/// A drawn cluster whose data nodes keep redo logs.
pub(crate) fn logged_shape(seed: u64, prng: &mut Prng) -> Shape {
    let mut shape = Scenario::from_seed(seed).shape;
    (shape.late, shape.cramped, shape.scant) = (None, None, None);
    shape.memory = 64 << 20;
    // Most logs are so small that they go round: only checkpoints make room.
    let (file_size, file_count) =
        [(64 << 10, 12), (64 << 10, 30), (256 << 10, 6), (4 << 20, 100)][prng.index(4)];
    shape.redo = Some(RedoSettings {
        file_size,
        file_count,
        flush_interval: Duration::from_millis(5 + prng.below(60)),
        buffer: [64 << 10, 8 << 20][prng.index(2)],
        write_speed_max: u64::MAX,
        codec: if prng.chance(1, 3) { Codec::Lz4 } else { Codec::Plain },
        wait_max: Duration::from_secs(2),
        is_initial: false,
    });
    shape
}

/// The outcome of a world that something drives.
pub(crate) fn outcome_of(world: &mut World, drive: impl FnOnce(&mut World) -> Result<(), String>) -> Outcome {
    let driven = catch_unwind(AssertUnwindSafe(|| drive(world)));
    let broken = |panic: Box<dyn std::any::Any + Send>| Err(text_of_panic(panic.as_ref()));
    let failure = driven.unwrap_or_else(broken).err();
    let failure = world.suspicion.take().or(failure);
    Outcome {
        failure,
        digest: world.transcript.digest(),
        steps: world.steps(),
        virtual_time: world.now(),
        injected: std::mem::take(&mut world.injected),
        point: None,
        tail: world.transcript.tail(),
    }
}

/// The disks of one group are gone. Without an order the cluster waits; with it that group begins empty, and the others
/// have what they had at the cut.
fn drive_with_data_loss(world: &mut World, prng: &mut Prng) -> Result<(), String> {
    let groups = world.groups();
    if groups.len() < 2 {
        return Ok(());
    }
    if !world.run_until(START_MS, |world| world.is_open()) {
        return Err("the cluster did not start".to_owned());
    }
    let nodes = world.sql_nodes();
    let mut setup = vec!["CREATE DATABASE sim".to_owned()];
    setup.extend(Numbers::setup());
    run_statements(world, nodes[0], setup)?;
    let client = world.add_client(Client::new(Box::new(Numbers::new(nodes.clone(), 200))));
    world.run_client(client);
    world.run_until(FLUSHED_MS + prng.below(1_500), |_| false);
    let lost = groups[prng.index(groups.len())].clone();
    let slots = world.slots_of(&lost);
    let kind = ENDS[prng.index(ENDS.len())];
    let Stopped { before, .. } = stop(world, kind, prng)?;
    if !world.is_down() {
        world.stop_all(true);
    }
    for node in &lost {
        world.disk_mut(*node).lose_all();
    }
    // One of them comes with an empty disk. The others never do.
    let (fresh, gone) = lost.split_at(1);
    for node in world.sql_nodes().into_iter().chain([MANAGEMENT]).filter(|node| !gone.contains(node)) {
        let delay = prng.below(2_000_000_000);
        world.start_later(node, delay);
    }
    world.run_until(START_MS, |_| false);
    if world.sql_nodes().into_iter().any(|node| world.accepts(node)) {
        return Err("the cluster has started without an order".to_owned());
    }
    for _ in 0..20 {
        world.order_data_loss(gone);
        if world.run_until(3_000, |world| world.count_of("rows given up") > 0) {
            break;
        }
    }
    let fresh = fresh[0];
    if !world.run_until(START_MS, |world| world.accepts(fresh)) {
        return Err("the cluster did not come back without its rows".to_owned());
    }
    for node in gone {
        world.start_later(*node, 1);
    }
    if !world.run_until(START_MS, |world| world.is_open()) {
        return Err("the nodes that were given up did not come back".to_owned());
    }
    let restart = world.ldms().map(|ldm| ldm.view().restart).max_by_key(|restart| restart.number);
    let restart = restart.ok_or("there is no ldm")?;
    let kept = before.into_iter().filter(|((_, slot, _), _)| !slots.contains(slot)).collect();
    compare(&kept, &versions(world), (restart.cut, restart.first))?;
    if !world.run_until(START_MS * 2, |world| world.clients()[client].is_finished()) {
        return Err("a client did not end".to_owned());
    }
    run_statements(world, nodes[0], vec!["INSERT INTO sim.numbers (v) VALUES (7)".to_owned()])?;
    world.run_until(FLUSHED_MS, |_| false);
    cluster::check(world)
}

fn drive(world: &mut World, prng: &mut Prng) -> Result<(), String> {
    let first = begin_work(world)?;
    let mut kept = Kept::default();
    for _ in 0..1 + prng.below(3) {
        let watched = |world: &mut World, milliseconds| {
            shadow::run_watched(world, milliseconds, &BTreeSet::new(), |_| false)
        };
        watched(world, prng.below(1_500))?;
        let flushed = newest(&versions(world));
        watched(world, FLUSHED_MS + prng.below(200))?;
        let moment = Moment::ALL[prng.index(Moment::ALL.len())];
        world.run_until(MOMENT_MS, |world| world.is_at(DiskLane::Bulk, |operation| moment.is(operation)));
        shadow::check(world, shadow::Moment::Busy, &BTreeSet::new())?;
        let stopped_at = stop_and_come_back(world, prng, flushed)?;
        kept.check(world, stopped_at)?;
    }
    end_work(world, first)
}

/// The cluster starts, and clients begin to work; the first of them.
pub(crate) fn begin_work(world: &mut World) -> Result<usize, String> {
    if !world.run_until(START_MS, |world| world.is_open()) {
        return Err("the cluster did not start".to_owned());
    }
    let nodes = world.sql_nodes();
    let mut setup = vec!["CREATE DATABASE sim".to_owned()];
    setup.extend(Bank::setup());
    setup.extend(Lists::setup());
    setup.extend(Numbers::setup());
    setup.extend(Promises::setup());
    run_statements(world, nodes[0], setup)?;
    let first = world.clients().len();
    for client in 0..2_u64 {
        let scripts: [Box<dyn crate::client::Script>; 5] = [
            Box::new(Promises::new(nodes.clone(), client, 400)),
            Box::new(Watcher::new(nodes.clone(), world.data_node_count(), 400)),
            Box::new(Bank::new(nodes.clone(), 400)),
            Box::new(Lists::new(nodes.clone(), client, 400)),
            Box::new(Numbers::new(nodes.clone(), 400)),
        ];
        for script in scripts {
            let client = world.add_client(Client::new(script));
            world.run_client(client);
        }
    }
    Ok(first)
}

/// All clients have done their work, and the cluster is as it should be.
pub(crate) fn end_work(world: &mut World, first: usize) -> Result<(), String> {
    let is_done = |world: &mut World| world.clients()[first..].iter().all(Client::is_finished);
    if !world.run_until(START_MS, is_done) {
        return Err("clients did not end".to_owned());
    }
    check_bank(world)?;
    world.run_until(FLUSHED_MS, |_| false);
    // Its start may still be ahead.
    if !world.run_until(START_MS, |world| world.is_alive(MANAGEMENT)) {
        return Err("the management node has ended".to_owned());
    }
    cluster::check(world)?;
    shadow::check(world, shadow::Moment::Quiet, &BTreeSet::new())
}

/// How a cluster stops.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stop {
    Killed,
    WithoutPower,
    /// By `shutdown`, `all stop` or `all restart`.
    Ordered(FullStop),
    /// A node is killed in the midst of it.
    OrderedOneKilled,
    /// All are.
    OrderedAllKilled,
}

const STOPS: [Stop; 7] = [
    Stop::Killed,
    Stop::WithoutPower,
    Stop::Ordered(FullStop::Shutdown),
    Stop::Ordered(FullStop::Stop),
    Stop::Ordered(FullStop::Restart),
    Stop::OrderedOneKilled,
    Stop::OrderedAllKilled,
];

/// Those after which no process starts by itself.
const ENDS: [Stop; 5] = [
    Stop::Killed,
    Stop::WithoutPower,
    Stop::Ordered(FullStop::Shutdown),
    Stop::OrderedOneKilled,
    Stop::OrderedAllKilled,
];

/// The rows of a cluster when it stopped.
struct Stopped {
    before: Versions,
    /// Everything up to this epoch was said to be durable.
    promised: Epoch,
    /// Nothing may be lost.
    is_lossless: bool,
    /// All disks count.
    is_whole: bool,
}

/// All processes end, or those that the operator means.
fn stop(world: &mut World, kind: Stop, prng: &mut Prng) -> Result<Stopped, String> {
    if matches!(kind, Stop::Killed | Stop::WithoutPower) {
        let stopped = stopped_now(world, false, false);
        world.stop_all(kind == Stop::Killed);
        return Ok(stopped);
    }
    let records = world.count_of(RECORDED);
    let is_recorded = |world: &World| world.count_of(RECORDED) > records;
    let (extent, is_disturbed) = match kind {
        Stop::Ordered(extent) => (extent, false),
        Stop::Killed | Stop::WithoutPower | Stop::OrderedOneKilled | Stop::OrderedAllKilled => {
            (FullStop::Shutdown, true)
        }
    };
    let is_whole = !is_disturbed && world.is_open();
    let lives = world.lives();
    world.order_full_stop(extent);
    if is_disturbed {
        world.run_until(prng.below(KILLED_MS), |world| is_recorded(world) || world.is_down());
        let nodes = world.sql_nodes();
        let is_early = !is_recorded(world);
        if kind == Stop::OrderedOneKilled && is_early {
            world.crash(nodes[prng.index(nodes.len())]);
        }
        if kind == Stop::OrderedAllKilled && is_early {
            let stopped = stopped_now(world, false, is_whole);
            world.stop_all(prng.chance(1, 2));
            return Ok(stopped);
        }
    }
    world.run_until(STOP_MS, |world| is_recorded(world) || world.is_down());
    let stopped = stopped_now(world, is_recorded(world), is_whole);
    if is_whole && !stopped.is_lossless {
        return Err("a stop that nothing disturbs is not recorded".to_owned());
    }
    // Those that restart may be back before the last one has ended.
    let has_ended =
        |world: &World, (node, life)| !world.is_alive(node) || world.lives().get(&node) > Some(&life);
    let have_ended = |world: &World| match extent {
        FullStop::Shutdown => world.is_down(),
        FullStop::Stop | FullStop::Restart => lives.clone().into_iter().all(|life| has_ended(world, life)),
    };
    if !world.run_until(STOP_MS, |world| have_ended(world)) {
        // A process that was started meanwhile was not told.
        world.stop_all(true);
    }
    Ok(stopped)
}

fn stopped_now(world: &World, is_lossless: bool, is_whole: bool) -> Stopped {
    Stopped { before: versions(world), promised: world.promised(), is_lossless, is_whole }
}

/// Gives the time at which no node of those that stopped was left.
pub(crate) fn stop_and_come_back(world: &mut World, prng: &mut Prng, flushed: Epoch) -> Result<u64, String> {
    let copies = world.count_of("copied");
    let kind = STOPS[prng.index(STOPS.len())];
    let Stopped { before, promised, is_lossless, is_whole } = stop(world, kind, prng)?;
    let stopped_at = world.now();
    let flushed = if is_lossless { newest(&before) } else { flushed };
    world.run_until(1 + prng.below(3_000), |_| false);
    world.start_all(1 + prng.below(2_000_000_000));
    if !world.run_until(START_MS, |world| world.is_open()) {
        return Err("the cluster did not come back".to_owned());
    }
    if is_whole && world.count_of("copied") > copies {
        return Err("a node was copied to after a stop in which all flushed".to_owned());
    }
    let restart = world.ldms().map(|ldm| ldm.view().restart).max_by_key(|restart| restart.number);
    let restart = restart.ok_or("there is no ldm")?;
    if restart.cut < flushed {
        return Err(format!("epoch {flushed} was committed long ago, the cut is {}", restart.cut));
    }
    if restart.cut < promised {
        return Err(format!("epoch {promised} was said to be durable, the cut is {}", restart.cut));
    }
    compare(&before, &versions(world), (restart.cut, restart.first))?;
    Ok(stopped_at)
}

/// Everything that is committed in memory.
pub(crate) fn versions(world: &World) -> Versions {
    let mut found = Versions::new();
    let contents = Contents::of(world);
    for ((table, slot), digests) in contents.replicas {
        let stamps = contents.epochs.get(&(table, slot)).into_iter().flatten();
        for (digest, stamps) in digests.into_iter().zip(stamps) {
            let hashes: BTreeMap<Box<[u8]>, u64> = digest.into_iter().collect();
            for (key, epoch) in stamps {
                let hash = hashes.get(key).copied().unwrap_or(0);
                let newest = found.entry((table, slot, key.clone())).or_insert((*epoch, hash));
                if *epoch > newest.0 {
                    *newest = (*epoch, hash);
                }
            }
        }
    }
    found
}

/// The promises that were looked at already.
#[derive(Default)]
struct Kept {
    /// Those that a stop has taken, as it may.
    lost: BTreeSet<String>,
    /// When the cluster was back after the last stop.
    since: u64,
}

/// A lost row takes so many bytes of a log, and more.
const ROW_SIZE_MIN: u64 = 8;
/// Clocks of nodes go as much faster or slower, in per cent, and signals are on their way for so long.
const CLOCK_PERCENT: u64 = 1;
const SIGNAL_NS: u64 = 2_000_000;

impl Kept {
    /// After a stop of all: everything that was promised is there.
    fn check(&mut self, world: &mut World, stopped_at: u64) -> Result<(), String> {
        let (promises, figures) = (promises(world)?, figures(world, self.since..stopped_at));
        let there = there(world)?;
        let (held, told) = (promises.len(), figures.len());
        let lost: Vec<Promise> = promises
            .into_iter()
            .filter(|promise| !there.contains(&promise.name) && !self.lost.contains(&promise.name))
            .collect();
        // An answer that was on its way when the cluster stopped is heard a little later.
        let has_to_be_there =
            |promise: &&Promise| promise.is_durable || promise.acknowledged_at > stopped_at + SIGNAL_NS;
        if let Some(broken) = lost.iter().find(has_to_be_there) {
            return Err(format!("{broken:?} is lost after the stop at {stopped_at}"));
        }
        for figure in figures {
            let lost_ns = figure.lost_ms * 1_000_000;
            let since = figure.asked_at.saturating_sub(lost_ns + lost_ns * CLOCK_PERCENT / 100 + SIGNAL_NS);
            if let Some(older) = lost.iter().find(|promise| promise.acknowledged_at < since) {
                return Err(format!("{older:?} is lost, though ndbinfo.durability said {figure:?}"));
            }
            let before =
                lost.iter().filter(|promise| promise.acknowledged_at < figure.asked_at).count() as u64;
            if before * ROW_SIZE_MIN > figure.lost_bytes {
                return Err(format!("{before} rows are lost, though ndbinfo.durability said {figure:?}"));
            }
        }
        for (what, count) in [("promises", held), ("lost promises", lost.len()), ("figures", told)] {
            *world.injected.entry(what).or_insert(0) += count as u64;
        }
        self.lost.extend(lost.into_iter().map(|promise| promise.name));
        self.since = world.now();
        Ok(())
    }
}

/// Everything that was promised as durable is there, but for what was acknowledged in these times.
pub(crate) fn broken_promise(world: &mut World, but: &[Range<u64>]) -> Result<(), String> {
    let promises = promises(world)?;
    let there = there(world)?;
    let counts = |promise: &&Promise| !but.iter().any(|time| time.contains(&promise.acknowledged_at));
    let durable = promises.iter().filter(|promise| promise.is_durable).filter(counts);
    let broken = durable.into_iter().find(|promise| !there.contains(&promise.name));
    *world.injected.entry("promises").or_insert(0) += promises.len() as u64;
    broken.map_or(Ok(()), |broken| Err(format!("{broken:?} is lost")))
}

/// All that were made.
fn promises(world: &World) -> Result<Vec<Promise>, String> {
    if let Some(failure) = scripts::<Promises>(world).find_map(|script| script.failure.clone()) {
        return Err(failure);
    }
    Ok(scripts::<Promises>(world).flat_map(|script| script.promises.iter().cloned()).collect())
}

/// The figures that were shown in this time.
fn figures(world: &World, during: Range<u64>) -> Vec<Figure> {
    let figures = scripts::<Watcher>(world).flat_map(|script| script.figures.iter().copied());
    figures.filter(|figure| during.contains(&figure.asked_at)).collect()
}

/// The names of all promises that are there now.
fn there(world: &mut World) -> Result<BTreeSet<String>, String> {
    let node = world.sql_nodes()[0];
    let mut there = BTreeSet::new();
    for text in Promises::check() {
        let rows = run_statements(world, node, vec![text])?;
        there.extend(rows.into_iter().filter_map(|row| row.into_iter().next()?));
    }
    Ok(there)
}

pub(crate) fn newest(versions: &Versions) -> Epoch {
    versions.values().map(|(epoch, _)| *epoch).max().unwrap_or(Epoch(0))
}

/// Holds what came back against what was there.
pub(crate) fn compare(
    before: &Versions,
    after: &Versions,
    (cut, first): (Epoch, Epoch),
) -> Result<(), String> {
    for (row, (epoch, hash)) in before.iter().filter(|(_, (epoch, _))| *epoch <= cut) {
        let now = after.get(row);
        let is_kept = now.is_some_and(|(now, is)| {
            *now >= first || (*now == *epoch && (*is == *hash || *hash == 0 || *is == 0))
        });
        // Work has begun: it may be deleted again.
        let may_be_gone = now.is_none() && newest(after) >= first;
        if !is_kept && !may_be_gone {
            return Err(format!("row {row:?} of epoch {epoch} is {now:?} after a restart with cut {cut}"));
        }
    }
    for (row, (epoch, _)) in after {
        if *epoch > cut && *epoch < first {
            return Err(format!("row {row:?} has epoch {epoch} after a restart with cut {cut}"));
        }
    }
    Ok(())
}

fn check_bank(world: &mut World) -> Result<(), String> {
    let node = world.sql_nodes()[0];
    let sum = run_statements(world, node, vec!["SELECT SUM(balance), COUNT(*) FROM sim.bank".to_owned()])?;
    let expected = FIRST_BALANCE * i64::try_from(ACCOUNT_COUNT).unwrap_or(0);
    if sum != vec![vec![Some(expected.to_string()), Some(ACCOUNT_COUNT.to_string())]] {
        return Err(format!("the bank's sum is {sum:?}, not {expected}"));
    }
    Ok(())
}
