//! Checkpoints: copies of the fragments' rows on disk, so that a restart needs less of the log, and its files are used
//! again.
//!
//! ```text
//! list      each ldm hands over what it has logged, then lists its fragments: that is the position of its slots
//! write     `query` modules read the fragments that hold most of the log, piece by piece -> one new file, synced
//! await     the epoch that the node had by then is durable
//! manifests of the slots that changed or hold the log are replaced -> files that none names go, the log is released
//! ```
//! - **Positions.** The list of an ldm comes behind its blocks. A row that is not in the log before that position was
//!   published later, so the log behind it completes what is read from then on. A fragment of which the same number of
//!   rows is counted again did not change in between, and only gets the new position.
//! - **Epochs.** When the file is synced, the node has heard of every epoch that was published while it was read. A
//!   manifest waits until that epoch is durable. If that stands still because this node's group has no restorable
//!   member, it is enough that all members have flushed it: the manifest is what they lack.
//! - **Pace.** `durability::pace` says how fast. After each piece the job rests for as long as that takes, and so that
//!   the thread that read it rests several times as long as it has read.
//! - **A full disk** ends the job: its file goes, the manifests stay, and it is tried again later.
//!
//! Invariants (I12): a manifest names synced files, epochs that no later cut can undercut, and positions from which
//! the log is there. Nothing is missing in it that is older than its position. No manifest is written while the node
//! joins. Files and log are given up only for manifests that are on disk.
//!
//! Deliberately not here: bytes (`durability`), and the reading of rows (`query::piece_scan`).

mod fragments;

use crate::mutants::{self, Mutant};
use durability::pace::{self, FragmentState, Limits, Next};
use durability::{
    Codec, FragmentCheckpoint, LogLevel, Manifest, Manifests, PiecePlace, Position, SealedPiece, Writer,
};
use fragments::Fragments;
use protocol::control::GroupId;
use protocol::disk::{DiskAnswer, DiskError, DiskLane, DiskOperation, DiskRequest, FileName};
use protocol::epoch::NodeEpoch;
use protocol::{Address, Outputs, Signal, View};
use query::{ListedFragment, NodeMap, PieceScan, Shared};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use stdx::{Duration, Instant, Now};
use types::{COLLATION_VERSION, Epoch, Incarnation, NodeId, SlotId, TableId};

/// Fragments with fewer bytes share a file.
const SMALL: u64 = 1 << 20;
/// Bytes of small fragments that share a file, about.
const SHARED_FILE: u64 = 8 << 20;
/// Bytes that are written to a file before they are synced: the redo log shares the disk.
const UNSYNCED_MAX: u64 = 4 << 20;
/// How soon it is looked again whether there is something to do.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// How soon a job that found the disk full is tried again.
const RETRY: Duration = Duration::from_secs(10);
/// Tickets of checkpoints begin here; the others of `disk` are far below.
pub(super) const FIRST_TICKET: u64 = 1 << 63;

/// The facts that checkpoints need.
pub(super) struct CheckpointConfig {
    pub(super) node: NodeId,
    pub(super) cluster: String,
    pub(super) ldms: Vec<Address>,
    /// The modules that read rows.
    pub(super) queries: Vec<Address>,
    pub(super) node_epoch: Arc<NodeEpoch>,
    /// Bytes of all files of the log.
    pub(super) space: u64,
    /// MaxDiskWriteSpeed, bytes a second.
    pub(super) speed_max: u64,
    pub(super) codec: Codec,
}

/// How far a job is.
enum Step {
    /// There is none.
    Idle,
    /// Manifests of an earlier log go.
    Clearing,
    /// These have not listed their fragments.
    Listing(BTreeSet<Address>),
    /// A piece is read next, when the rest is over.
    Resting,
    /// A piece is being read, since this moment.
    Reading(Instant),
    /// A piece is being written, or the file synced.
    Writing,
    /// The file is synced. Its epoch is awaited.
    Awaiting(Epoch),
    /// Manifests are replaced.
    Replacing,
    /// Files go.
    Removing,
}

/// The fragments that a job writes.
#[derive(Default)]
struct Job {
    /// Not begun.
    left: VecDeque<Planned>,
    current: Option<Current>,
    file: u64,
    /// Where the next piece begins.
    offset: u64,
    unsynced: u64,
    /// All rows are read.
    is_read: bool,
    /// Complete, with the number of rows that had been published at their positions.
    done: Vec<(SlotId, FragmentCheckpoint, u64)>,
}

/// A fragment that is to be written.
#[derive(Clone, Copy)]
struct Planned {
    slot: SlotId,
    table: TableId,
    position: Position,
    commits: u64,
}

/// The fragment that is being written.
struct Current {
    planned: Planned,
    scan: Option<Box<PieceScan>>,
    /// Where its first piece begins.
    offset: u64,
}

/// The lists of the ldms.
#[derive(Default)]
struct Lists {
    positions: BTreeMap<Address, Position>,
    fragments: Vec<ListedFragment>,
}

/// How fast it goes.
#[derive(Default)]
struct Speed {
    /// Bytes logged since then, and how many a second lately.
    logged: u64,
    since: Instant,
    rate: u64,
    /// Something was logged since it was found that there is nothing to do.
    is_news: bool,
    /// The last piece: its bytes, how long it was read, and until when.
    piece: u64,
    read_for: Duration,
    read_until: Instant,
    /// Nothing is begun or read before.
    next_at: Instant,
}

/// Why the node ends. The text is for people.
pub(super) struct CheckpointFailure(pub(super) String);

/// The checkpoints of a node.
pub(super) struct Checkpoints {
    config: CheckpointConfig,
    founding: GroupId,
    life: Incarnation,
    map: Option<Arc<NodeMap>>,
    fragments: Fragments,
    step: Step,
    lists: Lists,
    job: Job,
    speed: Speed,
    /// Requests of this step: one at a time.
    left: VecDeque<DiskOperation>,
    /// The ticket of the one under way.
    asked: Option<u64>,
    next_ticket: u64,
    /// Manifests that are being replaced.
    manifests: Vec<Manifest>,
    /// Files with pieces that are on disk, and those with manifests that were found there.
    files: BTreeSet<u64>,
    found: BTreeSet<SlotId>,
    next_file: u64,
    next_query: usize,
    /// Bytes of all pieces of this life.
    written: u64,
    /// The last job found the disk full.
    is_refused: bool,
    said: Said,
}

/// F and D, as they were said last.
#[derive(Clone, Copy, Default)]
struct Said {
    flushed: Epoch,
    durable: Epoch,
}

impl Checkpoints {
    /// The checkpoints of a node that starts: none are known.
    pub(super) fn new(config: CheckpointConfig) -> Self {
        Self {
            config,
            founding: GroupId(0),
            life: Incarnation(0),
            map: None,
            fragments: Fragments::default(),
            step: Step::Idle,
            lists: Lists::default(),
            job: Job::default(),
            speed: Speed::default(),
            left: VecDeque::new(),
            asked: None,
            next_ticket: FIRST_TICKET,
            manifests: Vec::new(),
            files: BTreeSet::new(),
            found: BTreeSet::new(),
            next_file: 1,
            next_query: 0,
            written: 0,
            is_refused: false,
            said: Said::default(),
        }
    }

    // ---- the start -----------------------------------------------------------------------------------------------

    /// The files of the node, as they were found.
    pub(super) fn find(&mut self, files: &[(FileName, u64)]) {
        for (name, _) in files {
            match name {
                FileName::Piece(number) => {
                    self.files.insert(*number);
                    self.next_file = self.next_file.max(number.saturating_add(1));
                }
                FileName::Manifest(slot) => {
                    self.found.insert(*slot);
                }
                FileName::ControlLog
                | FileName::Redo(_)
                | FileName::RedoSpare(_)
                | FileName::Claim
                | FileName::Scratch(_) => {}
            }
        }
    }

    /// The node was restored from these.
    pub(super) fn restore(&mut self, manifests: &Manifests) {
        manifests.manifests().for_each(|manifest| self.fragments.restore(manifest));
    }

    /// This life goes on with the log, which may be so full that nothing more is logged.
    pub(super) fn begin(&mut self, founding: GroupId, life: Incarnation) {
        (self.founding, self.life) = (founding, life);
        self.speed.is_news = true;
    }

    /// The log begins anew: the files on disk do not count, and are void before anything in the new log counts. A loss
    /// of power may undo that a file was removed, not that it is empty.
    pub(super) fn clear(&mut self) {
        let names = |found: &BTreeSet<SlotId>| found.iter().map(|slot| FileName::Manifest(*slot)).collect();
        let manifests: Vec<FileName> = names(&self.found);
        let emptied = manifests.iter().map(|file| DiskOperation::Replace { file: *file, bytes: Vec::new() });
        self.left.extend(emptied);
        let pieces = self.files.iter().map(|number| FileName::Piece(*number));
        self.left.extend(manifests.iter().copied().chain(pieces).map(|file| DiskOperation::Remove { file }));
        self.found.clear();
        self.files.clear();
        if !self.left.is_empty() {
            self.step = Step::Clearing;
        }
    }

    /// Nothing of an earlier log can come back.
    pub(super) fn is_clear(&self) -> bool {
        !matches!(self.step, Step::Clearing)
    }

    // ---- inputs --------------------------------------------------------------------------------------------------

    /// The newest map.
    pub(super) fn install(&mut self, map: &Arc<NodeMap>) {
        self.map = Some(Arc::clone(map));
    }

    /// It, if there is one.
    pub(super) fn map(&self) -> Option<Arc<NodeMap>> {
        self.map.clone()
    }

    /// So many bytes were logged.
    pub(super) fn note_logged(&mut self, now: Now, bytes: u64) {
        if bytes > 0 {
            self.speed.note(now.monotonic, bytes);
        }
    }

    /// All members have flushed an epoch, and one is durable.
    pub(super) fn on_durable(&mut self, flushed: Epoch, durable: Epoch) {
        self.said.flushed = self.said.flushed.max(flushed);
        self.said.durable = self.said.durable.max(durable);
    }

    /// An ldm has listed its fragments, behind blocks that end at the position.
    pub(super) fn on_listed(&mut self, from: Address, listed: Vec<ListedFragment>, position: Position) {
        if let Step::Listing(missing) = &mut self.step
            && missing.remove(&from)
        {
            self.lists.positions.insert(from, position);
            self.lists.fragments.extend(listed);
        }
    }

    /// A `query` module has read rows up to the end of a piece.
    pub(super) fn on_scanned(
        &mut self,
        now: Now,
        scan: Box<PieceScan>,
        piece: Option<SealedPiece>,
        writer: &Writer,
    ) {
        let Step::Reading(since) = self.step else { return };
        self.step = Step::Writing;
        let size = piece.as_ref().map_or(0, |piece| piece.size() as u64);
        if let Some(piece) = piece {
            self.write(piece);
        }
        self.end_scan(scan, writer);
        let read_for = now.monotonic.since(since);
        self.speed =
            Speed { piece: size, read_for, read_until: now.monotonic, ..std::mem::take(&mut self.speed) };
    }

    /// The space of the log.
    pub(super) fn set_space(&mut self, space: u64) {
        self.config.space = space;
    }

    /// Bytes of the pieces that this life has written.
    pub(super) fn written_bytes(&self) -> u64 {
        self.written
    }

    /// The last job found the disk full.
    pub(super) fn is_refused(&self) -> bool {
        self.is_refused
    }

    /// Whether a ticket belongs to checkpoints.
    pub(super) fn is_own(ticket: u64) -> bool {
        ticket >= FIRST_TICKET
    }

    /// The disk has answered.
    pub(super) fn on_done(
        &mut self,
        now: Now,
        ticket: u64,
        result: Result<DiskAnswer, DiskError>,
    ) -> Result<(), CheckpointFailure> {
        if self.asked != Some(ticket) {
            return Ok(());
        }
        self.asked = None;
        match result {
            Ok(_) => Ok(()),
            // A file that is to go may be gone.
            Err(DiskError::Absent) if matches!(self.step, Step::Clearing | Step::Removing) => Ok(()),
            Err(DiskError::Full) if matches!(self.step, Step::Writing | Step::Replacing) => {
                self.give_up(now);
                Ok(())
            }
            Err(error) => Err(CheckpointFailure(error.to_string())),
        }
    }

    /// When there is something to do next.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let is_waiting = match self.step {
            Step::Idle => self.speed.is_news && self.map.is_some(),
            Step::Resting => true,
            Step::Clearing
            | Step::Listing(_)
            | Step::Reading(_)
            | Step::Writing
            | Step::Awaiting(_)
            | Step::Replacing
            | Step::Removing => false,
        };
        is_waiting.then_some(self.speed.next_at)
    }

    // ---- the job -------------------------------------------------------------------------------------------------

    /// Goes on as far as it can.
    pub(super) fn go_on(
        &mut self,
        now: Now,
        is_joining: bool,
        writer: &mut Writer,
        outputs: &mut Outputs<Shared>,
    ) {
        if matches!(self.step, Step::Idle) && (self.speed.next_at > now.monotonic || !self.speed.is_news) {
            return;
        }
        loop {
            if self.asked.is_some() {
                return;
            }
            if let Some(operation) = self.left.pop_front() {
                return self.ask(operation, outputs);
            }
            let goes_on = match &self.step {
                Step::Idle => self.begin_job(now, is_joining, writer, outputs),
                Step::Clearing => self.end_step(Step::Idle),
                Step::Listing(missing) => missing.is_empty() && self.plan(now, writer, outputs),
                Step::Resting => self.is_rested(now, writer) && self.read(now, outputs),
                Step::Reading(_) => false,
                Step::Writing if self.job.is_read => self.await_epoch(writer, outputs),
                Step::Writing => self.end_step(Step::Resting),
                Step::Awaiting(epoch) => self.is_durable(*epoch) && self.replace(*epoch, writer),
                Step::Replacing => self.remove(),
                Step::Removing => self.end_job(now, writer),
            };
            if !goes_on {
                return;
            }
        }
    }

    fn end_step(&mut self, next: Step) -> bool {
        self.step = next;
        true
    }

    fn me(&self) -> Address {
        Address::disk(self.config.node)
    }

    fn ask(&mut self, operation: DiskOperation, outputs: &mut Outputs<Shared>) {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.asked = Some(ticket);
        outputs.disk(DiskRequest { ticket, lane: DiskLane::Bulk, operation });
    }

    fn limits(&self) -> Limits {
        let CheckpointConfig { space, speed_max, .. } = self.config;
        Limits { space, rate: self.speed.rate, speed_max }
    }

    /// Whether the log has more than the manifests need. An earlier life of the node did not come to giving it up.
    fn holds_too_much(&self, writer: &Writer) -> bool {
        self.fragments.needed().is_some_and(|needed| writer.held_bytes() > writer.held_from(needed))
    }

    /// Asks the ldms, if checkpoints hold more of the log than its current file.
    fn begin_job(
        &mut self,
        now: Now,
        is_joining: bool,
        writer: &Writer,
        outputs: &mut Outputs<Shared>,
    ) -> bool {
        self.speed.next_at = now.monotonic + LOOK_AGAIN;
        let is_member = self.map.as_ref().is_some_and(|map| map.view.is_in_sync(self.config.node));
        let may_write = is_member && !is_joining || mutants::is(Mutant::ManifestWhileJoining);
        if !may_write {
            // It is looked at again: a log that is full by then gets no news.
            return false;
        }
        let is_held = writer.held_from(self.fragments.least()) > writer.held_from(writer.next());
        if !is_held && !self.holds_too_much(writer) || self.config.queries.is_empty() {
            self.speed.is_news = false;
            return false;
        }
        for ldm in &self.config.ldms {
            outputs.share(self.me(), *ldm, Shared::ListFragments);
        }
        self.lists = Lists::default();
        self.step = Step::Listing(self.config.ldms.iter().copied().collect());
        false
    }

    /// All fragments are listed: chooses those that are written.
    fn plan(&mut self, now: Now, writer: &mut Writer, outputs: &mut Outputs<Shared>) -> bool {
        self.step = Step::Idle;
        let Some(map) = self.map.clone() else { return false };
        let Lists { positions, fragments } = std::mem::take(&mut self.lists);
        let of_slots = slots_of(&map.view, self.config.node, &positions);
        let has_table = |table: TableId| map.table(table).is_some();
        self.fragments.list(&of_slots, &fragments, self.config.node_epoch.current(), has_table);
        let commits: BTreeMap<(SlotId, TableId), u64> =
            fragments.iter().map(|fragment| ((fragment.slot, fragment.table), fragment.commits)).collect();
        let planned = |(slot, table): (SlotId, TableId)| {
            let (position, commits) = (*of_slots.get(&slot)?, *commits.get(&(slot, table))?);
            Some(Planned { slot, table, position, commits })
        };
        let states = self.fragments.states(|position| writer.held_from(position));
        let chosen = choose(states, writer.held_from(writer.next()));
        let mut left: VecDeque<Planned> = chosen.into_iter().filter_map(planned).collect();
        let holds_too_much = self.holds_too_much(writer);
        if holds_too_much {
            // This comes first, and soon: the log may be so full that nobody writes.
            left.clear();
        } else if !left.is_empty() && !self.is_rested(now, writer) {
            return false;
        }
        let is_outdated =
            || !self.fragments.outdated(&BTreeSet::new(), |position| writer.held_from(position)).is_empty();
        if left.is_empty() && !is_outdated() && !holds_too_much {
            self.speed.is_news = false;
            return false;
        }
        let is_read = left.is_empty();
        self.job = Job { left, file: self.next_file, is_read, ..Job::default() };
        self.next_file += 1;
        if is_read { self.await_epoch(writer, outputs) } else { self.end_step(Step::Resting) }
    }

    /// Whether the rest behind the last piece is over. It is looked at again soon: the log fills meanwhile. There is no
    /// rest while the log is nearly full: writes may wait, and then its rate says nothing.
    fn is_rested(&mut self, now: Now, writer: &Writer) -> bool {
        if self.speed.next_at > now.monotonic && matches!(self.step, Step::Resting) {
            return false;
        }
        let (limits, states) = (self.limits(), self.fragments.states(|position| writer.held_from(position)));
        let held = states.iter().map(|state| state.held).max().unwrap_or(0);
        let (speed, factor) = if writer.level() >= LogLevel::High {
            (self.config.speed_max, 0)
        } else {
            (limits.speed(&states), limits.rest_factor(held))
        };
        let until = self.speed.rest_until(speed, factor);
        self.speed.next_at = until.min(now.monotonic + LOOK_AGAIN);
        until <= now.monotonic
    }

    /// Lets the next piece be read.
    fn read(&mut self, now: Now, outputs: &mut Outputs<Shared>) -> bool {
        let codec = self.config.codec;
        while self.job.current.is_none() {
            let Some(planned) = self.job.left.pop_front() else {
                self.end_reading();
                return self.end_step(Step::Writing);
            };
            // A table that is gone has no reader: its rows are not needed any more.
            let reader = self.map.as_ref().and_then(|map| map.reader(planned.table, planned.slot));
            self.job.current = reader.cloned().map(|reader| Current {
                planned,
                scan: Some(Box::new(PieceScan::new(planned.table, planned.slot, reader, codec))),
                offset: self.job.offset,
            });
        }
        let scan = self.job.current.as_mut().and_then(|current| current.scan.take());
        let query = self.config.queries.get(self.next_query % self.config.queries.len().max(1));
        let (Some(scan), Some(query)) = (scan, query) else { return false };
        self.next_query = self.next_query.wrapping_add(1);
        outputs.share(self.me(), *query, Shared::Scan(scan));
        self.step = Step::Reading(now.monotonic);
        false
    }

    /// Writes a piece behind the others.
    fn write(&mut self, piece: SealedPiece) {
        let file = FileName::Piece(self.job.file);
        if self.files.insert(self.job.file) {
            self.left.push_back(DiskOperation::Prepare { file, size: 0 });
        }
        let offset = self.job.offset;
        let place =
            PiecePlace { founding: self.founding, node: self.config.node, file: self.job.file, offset };
        let bytes = piece.finish(&place);
        self.job.offset += bytes.len() as u64;
        self.written += bytes.len() as u64;
        self.job.unsynced += bytes.len() as u64;
        let sync = self.job.unsynced >= UNSYNCED_MAX;
        if sync {
            self.job.unsynced = 0;
        }
        self.left.push_back(DiskOperation::Write { file, offset, bytes, sync });
    }

    /// The scan came back: of the fragment under way, which may be complete.
    fn end_scan(&mut self, scan: Box<PieceScan>, writer: &Writer) {
        let Some(mut current) = self.job.current.take() else { return };
        if !scan.is_done() {
            current.scan = Some(scan);
            self.job.current = Some(current);
            return;
        }
        let Planned { slot, table, mut position, commits } = current.planned;
        if mutants::is(Mutant::PositionAfterScan) {
            position = writer.next();
        }
        let (pieces, rows) = (scan.pieces(), scan.rows());
        let (file, offset) = if pieces == 0 { (0, 0) } else { (self.job.file, current.offset) };
        let checkpoint = FragmentCheckpoint {
            table,
            epoch: self.config.node_epoch.current(),
            position: position.0,
            file,
            offset,
            length: self.job.offset - current.offset,
            pieces,
            rows,
        };
        self.job.done.push((slot, checkpoint, commits));
        if self.job.left.is_empty() {
            self.end_reading();
        }
    }

    /// All rows are read: the file is synced behind the last piece.
    fn end_reading(&mut self) {
        self.job.is_read = true;
        if self.job.unsynced > 0 {
            self.left.push_back(DiskOperation::Sync { file: FileName::Piece(self.job.file) });
        }
    }

    /// Everything is on disk: nothing that was read or omitted is newer than the epoch of the node now.
    fn await_epoch(&mut self, writer: &mut Writer, outputs: &mut Outputs<Shared>) -> bool {
        let mut epoch = self.config.node_epoch.current();
        if mutants::is(Mutant::EpochOfRowsOnly) {
            epoch = self.job.done.iter().map(|(_, read, _)| read.epoch).max().unwrap_or(Epoch(0));
        }
        for (slot, checkpoint, commits) in &self.job.done {
            self.fragments.put(*slot, *checkpoint, *commits);
        }
        if mutants::is(Mutant::TrimBeforeManifest) {
            writer.release(self.fragments.least());
        }
        if mutants::is(Mutant::DropBeforeDurable) {
            let gone = self.files.iter().copied().filter(|file| !self.fragments.is_current(*file));
            self.left.extend(gone.map(|file| DiskOperation::Remove { file: FileName::Piece(file) }));
        }
        if !self.is_durable(epoch) {
            let main = Address::main(self.config.node);
            outputs.send(self.me(), main, Signal::DurableWanted { epoch });
        }
        self.end_step(Step::Awaiting(epoch))
    }

    /// Whether no later restart of the cluster leaves this node below an epoch.
    fn is_durable(&self, epoch: Epoch) -> bool {
        let Some(map) = &self.map else { return false };
        let stands_still = !keeps_durable(&map.view, self.config.node);
        self.said.durable >= epoch
            || stands_still && self.said.flushed >= epoch
            || mutants::is(Mutant::ManifestBeforeDurable)
    }

    /// Replaces the manifests of the slots that changed, and of those that hold the log. Every slot has one before any
    /// of them lets go of the beginning of the log.
    fn replace(&mut self, epoch: Epoch, writer: &Writer) -> bool {
        let changed: BTreeSet<SlotId> = self.job.done.iter().map(|(slot, ..)| *slot).collect();
        let mut outdated = self.fragments.outdated(&changed, |position| writer.held_from(position));
        let first = self.fragments.without_manifest().into_iter();
        let mut manifests: Vec<Manifest> =
            first.map(|slot| self.manifest(slot, Epoch(0), Position(1), Vec::new())).collect();
        if manifests.is_empty() && outdated.is_empty() {
            // An earlier life may not have synced their names. One of them does: all are in one folder.
            outdated.extend(self.fragments.slots().first());
        }
        manifests.extend(outdated.into_iter().map(|slot| {
            let (position, fragments) = self.fragments.manifest_of(slot);
            self.manifest(slot, epoch, position, fragments)
        }));
        for manifest in &manifests {
            self.fragments.begin_to_write(manifest);
            let file = FileName::Manifest(manifest.slot);
            self.left.push_back(DiskOperation::Replace { file, bytes: manifest.encode() });
        }
        self.manifests = manifests;
        self.end_step(Step::Replacing)
    }

    fn manifest(
        &self,
        slot: SlotId,
        epoch: Epoch,
        position: Position,
        fragments: Vec<FragmentCheckpoint>,
    ) -> Manifest {
        Manifest {
            cluster: self.config.cluster.clone(),
            collations: COLLATION_VERSION.to_owned(),
            founding: self.founding,
            node: self.config.node,
            lineage: self.life,
            slot,
            slots: self.fragments.slots(),
            position: position.0,
            epoch,
            fragments,
        }
    }

    /// The manifests are on disk: files that none of them names go.
    fn remove(&mut self) -> bool {
        for manifest in std::mem::take(&mut self.manifests) {
            self.fragments.end_to_write(&manifest);
        }
        self.is_refused = false;
        let is_gone = |file: &u64| !self.fragments.is_on_disk(*file) && !self.fragments.is_current(*file);
        for file in self.files.extract_if(.., |file| is_gone(file)) {
            self.left.push_back(DiskOperation::Remove { file: FileName::Piece(file) });
        }
        self.end_step(Step::Removing)
    }

    /// The log is not needed before what the manifests need of it.
    fn end_job(&mut self, now: Now, writer: &mut Writer) -> bool {
        if let Some(needed) = self.fragments.needed() {
            writer.release(needed);
        }
        if self.job.offset == 0 {
            self.speed.next_at = self.speed.next_at.max(now.monotonic + LOOK_AGAIN);
        }
        self.job = Job::default();
        self.step = Step::Idle;
        false
    }

    /// The disk is full: the job's file goes, unless a manifest may name it, and it is tried again later.
    fn give_up(&mut self, now: Now) {
        let file = self.job.file;
        self.is_refused = true;
        self.left.clear();
        self.manifests.clear();
        self.job = Job::default();
        if !self.fragments.is_on_disk(file) && !self.fragments.is_current(file) && self.files.remove(&file) {
            self.left.push_back(DiskOperation::Remove { file: FileName::Piece(file) });
        }
        self.speed.next_at = now.monotonic + RETRY;
        self.step = Step::Removing;
    }
}

impl Speed {
    fn note(&mut self, now: Instant, bytes: u64) {
        self.is_news = true;
        self.logged += bytes;
        let passed = now.since(self.since);
        if passed >= LOOK_AGAIN {
            let milliseconds = u64::try_from(passed.as_millis()).unwrap_or(u64::MAX);
            let lately = self.logged.saturating_mul(1_000) / milliseconds.max(1);
            self.rate = if self.rate == 0 { lately } else { (self.rate + lately) / 2 };
            (self.logged, self.since) = (0, now);
        }
    }

    /// When the rest behind the last piece is over, at so many bytes a second, and so many times the reading.
    fn rest_until(&self, speed: u64, factor: u64) -> Instant {
        if speed == 0 {
            return Instant::FAR_FUTURE;
        }
        let nanoseconds = u128::from(self.piece) * 1_000_000_000 / u128::from(speed);
        let of_disk = Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX));
        let of_thread = self.read_for.saturating_mul(u32::try_from(factor).unwrap_or(u32::MAX));
        self.read_until + of_disk.max(of_thread)
    }
}

/// The positions of a node's slots: those of their ldms.
fn slots_of(
    view: &View,
    node: NodeId,
    positions: &BTreeMap<Address, Position>,
) -> BTreeMap<SlotId, Position> {
    let slots = (0..).map(SlotId).take(view.slots.len());
    let own = slots.filter(|slot| view.in_sync(*slot).contains(&node));
    own.filter_map(|slot| Some((slot, *positions.get(&view.ldm(slot, node)?)?))).collect()
}

/// Whether each group of this node has a restorable member in sync.
fn keeps_durable(view: &View, node: NodeId) -> bool {
    let mut own = view.groups.iter().filter(|group| group.in_sync.contains(&node));
    own.all(|group| group.in_sync.iter().any(|member| view.is_restorable(group, *member)))
}

/// The fragments that the next job writes: the one that holds most of the log, if that is more than `current`. If it
/// is small, others that are follow it into the same file.
fn choose(mut states: Vec<FragmentState>, current: u64) -> Vec<(SlotId, TableId)> {
    states.retain(|state| state.is_changed && state.held > current);
    let Next::Write(slot, table) = pace::next(&states) else { return Vec::new() };
    let is_first = |state: &FragmentState| (state.slot, state.table) == (slot, table);
    let mut bytes = states.iter().find(|state| is_first(state)).map_or(0, |first| first.bytes);
    let mut chosen = vec![(slot, table)];
    if bytes < SMALL {
        states.retain(|state| state.bytes < SMALL && !is_first(state));
        states.sort_by_key(|state| (std::cmp::Reverse(state.held), state.slot, state.table));
        for state in states {
            bytes += state.bytes;
            if bytes > SHARED_FILE {
                break;
            }
            chosen.push((state.slot, state.table));
        }
    }
    chosen
}

#[cfg(test)]
pub(crate) mod tests;
