//! `disk`: the redo log of a data node, and what is restored from it.
//!
//! ```text
//! start     read manifests and log, write the log's tail again -> the claim goes to `membership`, which joins with it
//! then      an order to restore: rows up to the cut, a new file -> `Restored`; or
//!           the cluster goes on: rows up to the newest point that counts -> `RestoredToJoin`, and the node joins with
//!           them; or nothing counts, and a view begins a new log (`start`)
//! a view    `main` sends the tables by this module, which sends ahead the rows that were restored
//! always    blocks of the ldms -> the log; whole(e) when every ldm has said so; a flush; `Flushed` -> `main`
//! ```
//! - **Marks.** An ldm hands over its blocks before it says that an epoch is whole there. When all have said so, the
//!   log gets the mark whole(e): everything that was ever decided here with an epoch up to e stands before it (I9).
//! - **Flushes.** Every TimeBetweenGlobalCheckpoints, if there is anything to flush, and at once for an epoch that
//!   somebody waits for.
//! - **A member that joins** logs what it publishes and what is copied to it between the marks *joining* and *joined*.
//!   Nothing of that counts before the next whole(e), so there is none in between. The log keeps all that the disk
//!   held before: until the new life is restorable, a restart may have to begin from that.
//! - **A failed write or sync** ends the process: nobody knows what the disk holds.
//!
//! Invariants: the claim is told after the tail of the log was written again and synced. Rows reach the ldms before the
//! first tables do. An epoch is told to be flushed only when its mark is on disk.
//!
//! Deliberately not here: the form of the log (`durability`), which disk a restart begins from (`membership`), and when
//! an epoch is durable in the whole cluster (`transaction::epochs`).

pub(crate) mod checkpoint;
mod marks;
mod restore;
mod start;

use checkpoint::{CheckpointConfig, Checkpoints};
use durability::{
    Codec, Found, LogEnd, LogIdentity, LogLevel, LogSize, ManifestScan, Manifests, Mark, Position, Rewrite,
    Scan, SealedBlock, Writer,
};
use marks::Marks;
use memory::MemoryManager;
use protocol::control::GroupId;
use protocol::disk::{DiskAnswer, DiskError, DiskLane, DiskOperation, DiskRequest, FileName};
use protocol::epoch::NodeEpoch;
use protocol::module::{Counts, EXIT_DISK};
use protocol::redo_room::RedoRoom;
use protocol::restart::RestoreOrder;
use protocol::{
    Address, ClaimPoint, Envelope, Input, Outputs, RequestToRuntime, RestartPoint, Severity, Signal,
};
use query::{NodeMap, RestoredFragment, Shared};
use restore::Restore;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use stdx::{Duration, Instant, Now, earlier};
use types::{Epoch, Incarnation, NodeId};

/// How soon a disk that was full is tried again.
const RETRY: Duration = Duration::from_secs(1);
/// A flush that takes longer is told, so often. A second later the node asks to leave (`membership::laggards`).
const FLUSH_MAX: Duration = Duration::from_secs(2);
const SAY_INTERVAL: Duration = Duration::from_millis(250);
/// How often a node that writes asks how much room its disk has.
const SPACE_INTERVAL: Duration = Duration::from_secs(1);
/// The ticket of that question: no writer comes so far, and checkpoints begin behind it.
const SPACE_TICKET: u64 = checkpoint::FIRST_TICKET - 1;

/// The facts that `disk` must know to start.
pub struct DiskConfig {
    /// This node.
    pub node: NodeId,
    /// The name of its cluster.
    pub cluster: String,
    /// The ldms of the node.
    pub ldms: Vec<Address>,
    /// Its modules of committed reads.
    pub queries: Vec<Address>,
    /// The highest epoch that the node has heard of.
    pub node_epoch: Arc<NodeEpoch>,
    /// NoOfReplicas.
    pub replicas: u16,
    /// Memory of rows that are restored.
    pub memory: Arc<MemoryManager>,
    /// The settings of the log.
    pub redo: RedoSettings,
    /// The ldms look at it before they write.
    pub room: Arc<RedoRoom>,
}

/// The settings of a redo log.
#[derive(Clone, Debug)]
pub struct RedoSettings {
    /// FragmentLogFileSize.
    pub file_size: u64,
    /// How many files it has.
    pub file_count: u64,
    /// TimeBetweenGlobalCheckpoints.
    pub flush_interval: Duration,
    /// RedoBuffer: bytes that may wait for the disk before writes wait for them.
    pub buffer: u64,
    /// MaxDiskWriteSpeed: bytes a second that checkpoints may write.
    pub write_speed_max: u64,
    /// How checkpoints are written.
    pub codec: Codec,
    /// RedoWaitTimeout: how long a write waits for room.
    pub wait_max: Duration,
    /// The files on disk belong to an earlier cluster, and go.
    pub is_initial: bool,
}

/// How far the start is.
enum Phase {
    /// Not begun.
    Starting,
    /// Files are listed.
    Listing,
    /// Files of an earlier cluster go.
    Removing(VecDeque<DiskOperation>),
    /// The manifests among these files are read.
    Manifests(Box<(ManifestScan, Vec<(FileName, u64)>)>),
    /// The log is read.
    Scanning(Box<Scan>),
    /// Its tail is written again.
    Rewriting(Box<(Found, Rewrite)>),
    /// Files that no manifest names go.
    Tidying(Box<Found>, VecDeque<DiskOperation>),
    /// The claim is told.
    Claimed(Box<Found>),
    /// Rows are read, and get their indexes.
    Restoring(Box<Restore>),
    /// A checkpoint is bad, and the next life must not claim it: why the node ends, and what is done before.
    GivingUp(String, Option<DiskOperation>),
    /// Rows are restored, and the node joins with them: the rows of which epoch.
    Returned(Box<(Epoch, NextLog)>),
    /// The log is written.
    Running,
}

/// The use of rows that are restored.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Aim {
    /// A restart of the cluster.
    Restart(RestoreOrder),
    /// To join a cluster that goes on.
    Join(ClaimPoint),
}

impl Aim {
    /// The rows up to this epoch are restored.
    fn cut(&self) -> Epoch {
        match self {
            Self::Restart(order) => order.restart.cut,
            Self::Join(point) => point.flushed,
        }
    }
}

/// Where a log goes on.
struct NextLog {
    founding: GroupId,
    end: LogEnd,
    /// When the epoch of the point was closed.
    closed_at_us: u64,
}

/// The block.
pub struct DiskModule {
    config: DiskConfig,
    phase: Phase,
    /// The ticket of the request that the start waits for.
    ticket: u64,
    /// The manifests that were found.
    manifests: Manifests,
    /// As `membership` has it.
    life: Incarnation,
    writer: Option<Writer>,
    /// The order that was carried out, and the position behind its mark.
    restored: Option<(RestoreOrder, Position)>,
    /// It was told.
    is_restored_told: bool,
    /// Rows that no view has given to ldms yet.
    fragments: Option<Vec<RestoredFragment>>,
    /// Blocks that came before there was a writer.
    early: Vec<SealedBlock>,
    /// The newest whole epoch of each ldm.
    whole: BTreeMap<Address, Epoch>,
    epochs: LogEpochs,
    /// Slots are being copied to this node.
    is_joining: bool,
    flush_at: Option<Instant>,
    retry_at: Option<Instant>,
    checkpoints: Checkpoints,
    marks: Marks,
    room: DiskRoom,
    stall: Stall,
    has_failed: bool,
}

/// How far the log is.
#[derive(Clone, Copy, Default)]
struct LogEpochs {
    /// The newest epoch with a mark.
    marked: Epoch,
    /// The newest that was told to be flushed.
    told: Epoch,
    /// The newest that somebody waits for.
    wanted: Epoch,
}

/// The flush that the log waits for.
#[derive(Clone, Copy, Default)]
struct Stall {
    /// Blocks below were flushed when it was looked at last.
    flushed: Position,
    /// Since when nothing more has been.
    since: Option<Instant>,
    /// When it is said next that this takes long.
    say_at: Option<Instant>,
}

/// The room on the disk.
#[derive(Clone, Copy, Default)]
struct DiskRoom {
    /// It was said that there is none.
    is_said: bool,
    /// How often there was none.
    full_count: u64,
    /// When it is asked for next, and how much of the log was pushed when it was asked for last.
    ask_at: Option<Instant>,
    asked_bytes: u64,
}

impl DiskModule {
    /// The block of a data node that starts.
    #[must_use]
    pub fn new(config: DiskConfig) -> Self {
        let whole = config.ldms.iter().map(|ldm| (*ldm, Epoch(0))).collect();
        let checkpoints = Checkpoints::new(CheckpointConfig {
            node: config.node,
            cluster: config.cluster.clone(),
            ldms: config.ldms.clone(),
            queries: config.queries.clone(),
            node_epoch: Arc::clone(&config.node_epoch),
            space: config.redo.file_size * config.redo.file_count,
            speed_max: config.redo.write_speed_max,
            codec: config.redo.codec,
        });
        Self {
            config,
            checkpoints,
            phase: Phase::Starting,
            ticket: 0,
            manifests: Manifests::default(),
            life: Incarnation(0),
            writer: None,
            restored: None,
            is_restored_told: false,
            fragments: None,
            early: Vec::new(),
            whole,
            epochs: LogEpochs::default(),
            is_joining: false,
            flush_at: None,
            retry_at: None,
            marks: Marks::default(),
            room: DiskRoom::default(),
            stall: Stall::default(),
            has_failed: false,
        }
    }

    fn me(&self) -> Address {
        Address::disk(self.config.node)
    }

    /// When the log is flushed next.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        let of_log = earlier(earlier(self.flush_at, self.retry_at), self.stall.say_at);
        earlier(of_log, self.checkpoints.deadline()).filter(|_| !self.has_failed)
    }

    /// Counts of this life: bytes that went to the log and to checkpoints, bytes of the log that are needed now, and
    /// how often there was no room.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let of_log = |count: fn(&Writer) -> u64| self.writer.as_ref().map_or(0, count);
        vec![
            ("REDO_BYTES_WRITTEN", of_log(Writer::pushed_bytes)),
            ("REDO_BYTES_HELD", of_log(Writer::held_bytes)),
            ("CHECKPOINT_BYTES_WRITTEN", self.checkpoints.written_bytes()),
            ("DISK_FULL", self.room.full_count),
        ]
    }

    /// Handles everything but signals and shared objects.
    pub fn handle(&mut self, now: Now, input: Input<'_, Shared>, outputs: &mut Outputs<Shared>) {
        if self.has_failed {
            return;
        }
        #[expect(clippy::wildcard_enum_match_arm, reason = "inputs of other modules")]
        match input {
            Input::Start { .. } => {
                self.phase = Phase::Listing;
                self.ask(DiskOperation::List, outputs);
            }
            Input::DiskDone { ticket, result } => self.on_disk_done(now, ticket, result, outputs),
            Input::Deadline => self.on_deadline(now),
            _ => {}
        }
        self.end_call(now, outputs);
    }

    /// Handles a signal.
    pub fn on_signal(&mut self, now: Now, envelope: Envelope, outputs: &mut Outputs<Shared>) {
        if self.has_failed {
            return;
        }
        match envelope.signal {
            // The wrapper refuses these.
            protocol::not_for!(disk) => {}
            _ if envelope.from.node != self.config.node => {}
            Signal::JoinAccepted { incarnation } => self.life = incarnation,
            Signal::Restore(order) => self.on_restore(order, outputs),
            Signal::RestoreToJoin(point) => self.on_restore_to_join(point, outputs),
            Signal::EpochClosed { epoch, is_awaited, closed_at_us, .. } => {
                self.marks.close(epoch, closed_at_us);
                if is_awaited {
                    self.epochs.wanted = self.epochs.wanted.max(epoch);
                    self.flush_wanted();
                }
            }
            Signal::EpochDurable { flushed, durable, .. } => {
                self.checkpoints.on_durable(flushed, durable);
                self.marks.end(durable);
                if let Some(writer) = &mut self.writer {
                    writer.set_durable(durable);
                }
            }
        }
        self.end_call(now, outputs);
    }

    /// Takes a shared object from a module.
    pub fn on_shared(&mut self, now: Now, from: Address, shared: Shared, outputs: &mut Outputs<Shared>) {
        if self.has_failed {
            return;
        }
        match shared {
            Shared::Redo { blocks, whole } => self.on_redo(now, from, blocks, whole),
            Shared::Tables(map) => self.on_tables(map, outputs),
            Shared::Map(map) => {
                self.checkpoints.install(&map);
                self.on_map(&map);
            }
            Shared::FragmentsListed(listed) => {
                if let Some(writer) = &self.writer {
                    self.checkpoints.on_listed(from, listed, writer.next());
                }
            }
            Shared::Scanned(scan, piece) => {
                if let Some(writer) = &self.writer {
                    self.checkpoints.on_scanned(now, scan, piece, writer);
                }
            }
            Shared::Loaded(loaded) => self.on_loaded(from, loaded, outputs),
            Shared::Installed { .. }
            | Shared::Readers { .. }
            | Shared::Account(_)
            | Shared::Catalogue(_)
            | Shared::Fragments { .. }
            | Shared::ListFragments
            | Shared::Scan(_)
            | Shared::Load(_) => {}
        }
        self.end_call(now, outputs);
    }

    /// Requests of the writer go to the disk, and epochs that are on disk are told.
    fn end_call(&mut self, now: Now, outputs: &mut Outputs<Shared>) {
        self.tell_progress(now, outputs);
        self.ask_space(now, outputs);
        let Some(writer) = &mut self.writer else { return };
        self.checkpoints.go_on(now, self.is_joining, writer, outputs);
        // Writes wait soon, and a flush lets them go on.
        if writer.buffered_bytes() as u64 > self.config.redo.buffer / 2 {
            writer.flush();
        }
        while let Some(request) = writer.poll() {
            outputs.disk(request);
        }
        self.look_for_stall(now, outputs);
        // Nobody else may push anything for long.
        if self.flush_at.is_none() && self.has_unflushed() {
            self.flush_at = Some(now.monotonic + self.config.redo.flush_interval);
        }
        let Some(writer) = &mut self.writer else { return };
        let (buffered, room) = (writer.buffered_bytes() as u64, &self.config.room);
        if buffered > self.marks.counted {
            room.add(buffered - self.marks.counted);
        } else {
            room.remove(self.marks.counted - buffered);
        }
        self.marks.counted = buffered;
        room.set_exposed(self.marks.exposed(), buffered);
        room.set_percent(percent_of(writer.level()));
        if writer.level() == LogLevel::Exhausted && self.retry_at.is_none() {
            self.retry_at = Some(now.monotonic + RETRY);
        }
        let is_full = writer.is_refused() || self.checkpoints.is_refused();
        let (flushed, position) = (writer.flushed_epoch(), writer.flushed());
        if self.room.is_said != is_full {
            self.say_full(is_full, outputs);
        }
        if flushed > self.epochs.told {
            self.epochs.told = flushed;
            let told = Signal::Flushed { epoch: flushed };
            outputs.send(self.me(), Address::main(self.config.node), told);
        }
        if let Some((order, mark)) = self.restored
            && !self.is_restored_told
            && position > mark
        {
            self.is_restored_told = true;
            outputs.send(self.me(), Address::membership(self.config.node), Signal::Restored(order));
        }
    }

    /// Whether the log waits for its disk for long, which is said. One that is full is no disk that stands still.
    fn look_for_stall(&mut self, now: Now, outputs: &mut Outputs<Shared>) {
        let Some(writer) = &self.writer else { return };
        let stall = &mut self.stall;
        if !writer.is_flushing() || writer.is_refused() {
            (stall.since, stall.say_at) = (None, None);
            return;
        }
        let at = now.monotonic;
        if stall.since.is_none() || writer.flushed() > stall.flushed {
            stall.flushed = writer.flushed();
            (stall.since, stall.say_at) = (Some(at), Some(at + FLUSH_MAX));
        }
        if let (Some(since), Some(say_at)) = (stall.since, stall.say_at)
            && say_at <= at
        {
            stall.say_at = Some(at + SAY_INTERVAL);
            let milliseconds = u32::try_from(at.since(since).as_millis()).unwrap_or(u32::MAX);
            let node = self.config.node;
            let told = Signal::ReplicaLags { node, milliseconds };
            outputs.send(self.me(), Address::membership(node), told);
        }
    }

    /// The disk has no room, or has some again.
    #[cold]
    fn say_full(&mut self, is_full: bool, outputs: &mut Outputs<Shared>) {
        let node = self.config.node;
        self.room.is_said = is_full;
        self.room.full_count += u64::from(is_full);
        let text = if is_full {
            let mib = self.config.redo.file_size.div_ceil(1 << 20);
            format!(
                "node {node}: its disk is full: there is no room for a checkpoint or for the next {mib} MiB of the redo log. Writes go on \
                 until the log is full, then they are refused with 1297; make room"
            )
        } else {
            format!("node {node}: its disk has room again")
        };
        outputs.event(if is_full { Severity::Error } else { Severity::Info }, text);
    }

    /// Asks how much room the disk has, if anything was logged since the last time.
    fn ask_space(&mut self, now: Now, outputs: &mut Outputs<Shared>) {
        let Some(writer) = self.writer.as_ref().filter(|_| matches!(self.phase, Phase::Running)) else {
            return;
        };
        let is_due = self.room.ask_at.is_none_or(|at| at <= now.monotonic);
        if is_due && writer.pushed_bytes() > self.room.asked_bytes {
            self.room.ask_at = Some(now.monotonic + SPACE_INTERVAL);
            self.room.asked_bytes = writer.pushed_bytes();
            let (ticket, operation) = (SPACE_TICKET, DiskOperation::Space);
            outputs.disk(DiskRequest { ticket, lane: DiskLane::Bulk, operation });
        }
    }

    /// The log may grow into what is free, as far as it was configured. So it counts as full, and checkpoints make room
    /// in it, before the disk is.
    fn on_space(&mut self, result: &Result<DiskAnswer, DiskError>) {
        if let (Ok(DiskAnswer::Space { free, .. }), Some(writer)) = (result, &mut self.writer) {
            let configured = self.config.redo.file_size * self.config.redo.file_count;
            let space = configured.min(writer.file_bytes().saturating_add(*free));
            writer.set_space(space);
            self.checkpoints.set_space(space);
        }
    }

    /// The node ends: nobody knows what its disk holds, or it is not this node's.
    fn fail(&mut self, exit_code: u8, why: &str, outputs: &mut Outputs<Shared>) {
        self.has_failed = true;
        outputs.event(Severity::Error, format!("node {}: {why}", self.config.node));
        outputs.request(RequestToRuntime::Exit(exit_code));
    }

    // ---- the log -------------------------------------------------------------------------------------------------

    /// The log goes on with a new file.
    fn begin_log(&mut self, founding: GroupId, restart: RestartPoint, end: LogEnd) {
        self.checkpoints.begin(founding, self.life);
        let redo = &self.config.redo;
        let identity = LogIdentity {
            cluster: self.config.cluster.clone(),
            founding,
            node: self.config.node,
            lineage: self.life,
            restart,
        };
        let size = LogSize { file: redo.file_size, space: redo.file_size * redo.file_count };
        let mut writer = Writer::new(identity, size, end);
        self.early.drain(..).for_each(|block| {
            writer.push(block);
        });
        self.writer = Some(writer);
        self.phase = Phase::Running;
    }

    /// An ldm hands over what it has published.
    fn on_redo(&mut self, now: Now, from: Address, blocks: Vec<SealedBlock>, whole: Option<Epoch>) {
        let bytes = blocks.iter().map(|block| block.size() as u64).sum();
        blocks.iter().for_each(|block| self.marks.push(block.highest(), block.size() as u64));
        self.config.room.remove(bytes);
        self.checkpoints.note_logged(now, bytes);
        match &mut self.writer {
            Some(writer) => blocks.into_iter().for_each(|block| {
                writer.push(block);
            }),
            None => self.early.extend(blocks),
        }
        if let (Some(epoch), Some(known)) = (whole, self.whole.get_mut(&from)) {
            *known = epoch.max(*known);
            self.mark_whole(now);
        }
    }

    fn has_unflushed(&self) -> bool {
        self.writer.as_ref().is_some_and(|writer| writer.flushed() < writer.next())
    }

    /// Marks the newest epoch that is whole at all ldms.
    fn mark_whole(&mut self, now: Now) {
        let whole = self.whole.values().min().copied().unwrap_or(Epoch(0));
        let may_count = !self.is_joining && self.checkpoints.is_clear();
        let Some(writer) = self.writer.as_mut().filter(|_| whole > self.epochs.marked && may_count) else {
            return;
        };
        self.epochs.marked = whole;
        let closed_at_us = self.marks.closed_at_us(whole).unwrap_or(now.wall.0);
        writer.mark(Mark::Whole { epoch: whole, closed_at_us });
        self.flush_wanted();
    }

    /// Flushes at once if somebody waits for an epoch that has its mark.
    fn flush_wanted(&mut self) {
        if let Some(writer) =
            self.writer.as_mut().filter(|_| self.epochs.told < self.epochs.wanted.min(self.epochs.marked))
        {
            writer.flush();
        }
    }

    fn on_deadline(&mut self, now: Now) {
        let is_due = |at: Option<Instant>| at.is_some_and(|at| at <= now.monotonic);
        let Some(writer) = &mut self.writer else { return };
        if is_due(self.flush_at) {
            self.flush_at = None;
            writer.flush();
        }
        if is_due(self.retry_at) {
            self.retry_at = None;
            writer.retry();
        }
    }

    /// The disk has answered the writer.
    fn on_written(
        &mut self,
        ticket: u64,
        result: Result<DiskAnswer, DiskError>,
        outputs: &mut Outputs<Shared>,
    ) {
        let Some(writer) = &mut self.writer else { return };
        if let Err(failure) = writer.on_done(ticket, result) {
            self.fail(EXIT_DISK, &failure.0, outputs);
        }
    }

    // ---- views ---------------------------------------------------------------------------------------------------

    /// `main` has tables for the ldms. Rows that were restored go ahead of the first ones.
    fn on_tables(&mut self, map: Arc<NodeMap>, outputs: &mut Outputs<Shared>) {
        let base = self.begin_in_view(&map);
        let mut of_ldms: BTreeMap<Address, Vec<RestoredFragment>> = BTreeMap::new();
        if let Some(fragments) = self.fragments.take() {
            of_ldms.extend(self.config.ldms.iter().map(|ldm| (*ldm, Vec::new())));
            for fragment in fragments {
                let owner = map.view.ldm(fragment.slot, self.config.node);
                if let Some(fragments) = owner.and_then(|owner| of_ldms.get_mut(&owner)) {
                    fragments.push(fragment);
                }
            }
        }
        for (ldm, fragments) in of_ldms {
            outputs.share(self.me(), ldm, Shared::Fragments { fragments, base });
        }
        for ldm in &self.config.ldms {
            outputs.share(self.me(), *ldm, Shared::Tables(Arc::clone(&map)));
        }
    }

    /// The first view of a node that no restart has brought back: its log begins. Gives the epoch of the rows with
    /// which the node joins. One that joins leaves what its log has.
    fn begin_in_view(&mut self, map: &NodeMap) -> Epoch {
        let view = &map.view;
        let is_joining = !view.is_in_sync(self.config.node);
        let (base, end) = match std::mem::replace(&mut self.phase, Phase::Running) {
            Phase::Returned(work) => (work.0, work.1.end),
            // Nothing counts of what is there.
            Phase::Claimed(found) => {
                self.checkpoints.clear();
                (Epoch(0), found.end_at(None))
            }
            phase @ (Phase::Starting
            | Phase::Listing
            | Phase::Removing(_)
            | Phase::Manifests(_)
            | Phase::Scanning(_)
            | Phase::Rewriting(_)
            | Phase::Tidying(..)
            | Phase::Restoring(_)
            | Phase::GivingUp(..)
            | Phase::Running) => {
                self.phase = phase;
                return Epoch(0);
            }
        };
        let is_new_log = end.next <= Position(1);
        (self.life, self.is_joining) = (map.incarnation, is_joining);
        self.begin_log(view.founding, view.restart, end);
        let Some(writer) = &mut self.writer else { return base };
        if is_new_log {
            writer.release(Position(1));
        }
        if is_joining {
            writer.mark(Mark::Joining { base });
        }
        base
    }

    /// All ldms use this map: a member that was joining may be in sync. It is so in the log once nothing of an earlier
    /// log can come back.
    fn on_map(&mut self, map: &NodeMap) {
        if !self.is_joining || !map.view.is_in_sync(self.config.node) || !self.checkpoints.is_clear() {
            return;
        }
        self.is_joining = false;
        if let Some(writer) = &mut self.writer {
            writer.mark(Mark::Joined);
        }
    }

    /// The disk has answered the checkpoints.
    fn on_checkpoint_done(
        &mut self,
        now: Now,
        ticket: u64,
        result: Result<DiskAnswer, DiskError>,
        outputs: &mut Outputs<Shared>,
    ) {
        let was_clear = self.checkpoints.is_clear();
        if let Err(failure) = self.checkpoints.on_done(now, ticket, result) {
            return self.fail(EXIT_DISK, &failure.0, outputs);
        }
        if let Some(writer) = &mut self.writer {
            self.checkpoints.go_on(now, self.is_joining, writer, outputs);
        }
        if !was_clear && self.checkpoints.is_clear() {
            if let Some(map) = self.checkpoints.map() {
                self.on_map(&map);
            }
            self.mark_whole(now);
        }
    }
}

/// The least fullness of a level.
fn percent_of(level: LogLevel) -> u32 {
    match level {
        LogLevel::Normal => 0,
        LogLevel::High => 75,
        LogLevel::Full => 90,
        LogLevel::Exhausted => 97,
    }
}
