//! Conducts the restoring of rows: reads checkpoints and the log, and lets the ldms of the node make fragments of them.
//!
//! ```text
//! catalogue  slot 0, which has the system tables, is loaded here, from its checkpoints and the whole log
//! rows       a piece goes to the ldm of its slot, a slice of the log to all; whoever has least to do gets the next piece
//! indexes    all rows are there: every ldm builds its indexes, step by step
//! ```
//! The loading itself is `query::loading`. The log is read twice, so that rows of tables that are gone take no memory:
//! a table was perhaps dropped because memory was full, and filled anew.
//!
//! Invariants: the log follows when all pieces were handed out. An ldm has at most [`OPEN_MAX`] steps to do. Indexes
//! begin when every step was answered.
//!
//! Deliberately not here: when a restore begins and what becomes of a bad checkpoint (`start`), and who owns the
//! fragments afterwards.

use super::{Aim, NextLog};
use crate::main_module::{CatalogueScan, Scanned};
use catalogue::system::SCHEMA_VERSION;
use catalogue::{SchemaBuilder, SystemTables};
use durability::{CheckpointError, CheckpointReader, Manifests, Piece, Position, Replay};
use memory::{Guard, MemoryManager, RegionFull};
use protocol::disk::{DiskAnswer, DiskError, DiskOperation};
use protocol::restart::{RestorePhase, RestoreProgress};
use protocol::{Address, Outputs};
use query::{Expected, LoadStep, Loaded, Loader, RestoredFragment, Shared, Shares};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use stdx::{Duration, Instant};
use storage::Reader;
use types::{Schema, SlotId, TableId};

/// Steps that an ldm may have before it: each is about a MiB.
const OPEN_MAX: u32 = 8;
/// Between two reports of progress.
const TELL_INTERVAL: Duration = Duration::from_secs(1);
/// The slot of the system tables.
const SYSTEM: SlotId = SlotId(0);

/// A restore that is under way.
pub(super) struct Restore {
    pub(super) aim: Aim,
    next: NextLog,
    me: Address,
    shares: Shares,
    stage: Stage,
    /// Fragments with checkpoints, and where the log goes on behind them.
    checkpoints: Vec<((TableId, SlotId), Position)>,
    lanes: Vec<Lane>,
    replay: Replay,
    reading: Option<Source>,
    /// Bytes that were read before the log is loaded, and all of them; the same of the log.
    checkpoint_bytes: (u64, u64),
    log_bytes: (u64, u64),
    /// The progress that was told last, and when.
    told: Option<(RestorePhase, Instant)>,
    fragments: Vec<RestoredFragment>,
}

/// The part of the restore that is under way.
enum Stage {
    Catalogue(Box<SystemRows>),
    Rows(Arc<Schema>),
    Indexes(Arc<Schema>),
}

/// Slot 0 in the making.
struct SystemRows {
    readers: VecDeque<CheckpointReader>,
    replay: Replay,
    loader: Loader,
}

/// How a restore goes on.
pub(super) enum GoesOn {
    /// The next read, if there is one.
    Reading,
    /// The ldms answer first.
    Waiting,
    /// Nothing: everything is built.
    Done,
}

/// The part of an ldm.
struct Lane {
    ldm: Address,
    /// Checkpoints of its slots that are not read yet.
    readers: VecDeque<CheckpointReader>,
    /// Steps that it has not answered.
    open: u32,
    /// It has given its fragments.
    is_done: bool,
}

/// The origin of what is being read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    System,
    SystemLog,
    Lane(usize),
    Log,
}

/// Why a restore ends without rows.
pub(super) enum Trouble {
    /// This checkpoint is bad. The text is for people.
    Checkpoint(SlotId, TableId, String),
    /// The log is, or the catalogue in it.
    Bad(String),
    /// Memory is full.
    Full(RegionFull),
}

/// A catalogue, the rows of its tables, and where the log goes on.
pub(super) struct Restored {
    pub(super) schema: Arc<Schema>,
    pub(super) fragments: Vec<RestoredFragment>,
    pub(super) aim: Aim,
    pub(super) next: NextLog,
}

impl Restore {
    /// Begins, with the catalogue.
    pub(super) fn begin(
        (me, ldms, replicas): (Address, &[Address], u16),
        memory: &Arc<MemoryManager>,
        manifests: &Manifests,
        replay: Replay,
        (aim, next): (Aim, NextLog),
    ) -> Self {
        let shares = Shares { ldms: u8::try_from(ldms.len()).unwrap_or(u8::MAX), replicas };
        let places = manifests.fragments();
        let checkpoints: Vec<((TableId, SlotId), Position)> =
            places.map(|(slot, fragment)| ((fragment.table, slot), Position(fragment.position))).collect();
        let mut loader = loader_of_system(memory, shares);
        checkpoints.iter().for_each(|(place, from)| loader.expect(*place, *from));
        let mut system = SystemRows { readers: VecDeque::new(), replay: replay.clone(), loader };
        let lane = |ldm: &Address| Lane { ldm: *ldm, readers: VecDeque::new(), open: 0, is_done: false };
        let mut lanes: Vec<Lane> = ldms.iter().map(lane).collect();
        for reader in manifests.readers() {
            let owner = shares.ldm_of(reader.fragment().0);
            match owner.and_then(|ldm| lanes.get_mut(usize::from(ldm))) {
                Some(lane) => lane.readers.push_back(reader),
                None => system.readers.push_back(reader),
            }
        }
        let rows: u64 = manifests.fragments().map(|(_, fragment)| fragment.length).sum();
        Self {
            aim,
            next,
            me,
            shares,
            stage: Stage::Catalogue(Box::new(system)),
            checkpoints,
            lanes,
            reading: None,
            checkpoint_bytes: (0, rows + replay.size()),
            log_bytes: (0, replay.size()),
            told: None,
            replay,
            fragments: Vec::new(),
        }
    }

    /// The next read; `None` while one is under way, while the ldms have enough to do, and when all is read.
    pub(super) fn poll(&mut self) -> Option<DiskOperation> {
        if self.reading.is_some() {
            return None;
        }
        if let Stage::Catalogue(system) = &mut self.stage {
            let (source, operation) = match system.readers.front_mut() {
                Some(reader) => (Source::System, reader.poll()?),
                None => (Source::SystemLog, system.replay.poll()?),
            };
            self.reading = Some(source);
            return Some(operation);
        }
        let is_busy = self.lanes.iter().any(|lane| lane.open >= OPEN_MAX);
        let lanes = self.lanes.iter_mut().enumerate();
        let unread = lanes.filter(|(_, lane)| !lane.readers.is_empty()).min_by_key(|(_, lane)| lane.open);
        let (source, operation) = match unread {
            Some((_, lane)) if lane.open >= OPEN_MAX => return None,
            Some((index, lane)) => (Source::Lane(index), lane.readers.front_mut()?.poll()?),
            None if is_busy => return None,
            None => (Source::Log, self.replay.poll()?),
        };
        self.reading = Some(source);
        Some(operation)
    }

    /// The answer to the last read.
    pub(super) fn on_read(
        &mut self,
        result: Result<DiskAnswer, DiskError>,
        outputs: &mut Outputs<Shared>,
    ) -> Result<(), Trouble> {
        let me = self.me;
        if let Ok(DiskAnswer::Bytes(bytes)) = &result {
            let counted = if self.reading == Some(Source::Log) {
                &mut self.log_bytes
            } else {
                &mut self.checkpoint_bytes
            };
            counted.0 += bytes.len() as u64;
        }
        match self.reading.take() {
            None => Ok(()),
            Some(source @ (Source::System | Source::SystemLog)) => match &mut self.stage {
                Stage::Catalogue(system) => system.on_read(source, result),
                Stage::Rows(_) | Stage::Indexes(_) => Ok(()),
            },
            Some(Source::Lane(index)) => {
                let Some(Lane { ldm, readers, open, .. }) = self.lanes.get_mut(index) else { return Ok(()) };
                read_checkpoint(readers, result, |piece| {
                    *open += 1;
                    outputs.share(me, *ldm, Shared::Load(LoadStep::Piece(piece.bytes().to_vec())));
                })
            }
            Some(Source::Log) => {
                let slice = self.replay.on_done(result).map_err(|error| Trouble::Bad(error.0))?;
                let slice = Arc::new(slice);
                for lane in &mut self.lanes {
                    lane.send(me, LoadStep::Log(Arc::clone(&slice)), outputs);
                }
                Ok(())
            }
        }
    }

    /// An ldm has done a step.
    pub(super) fn on_loaded(
        &mut self,
        from: Address,
        loaded: Loaded,
        outputs: &mut Outputs<Shared>,
    ) -> Result<(), Trouble> {
        let (me, is_indexing) = (self.me, matches!(self.stage, Stage::Indexes(_)));
        let Some(lane) = self.lanes.iter_mut().find(|lane| lane.ldm == from) else { return Ok(()) };
        lane.open = lane.open.saturating_sub(1);
        match loaded {
            Loaded::Full(full) => return Err(Trouble::Full(full)),
            Loaded::Step if is_indexing => lane.send(me, LoadStep::Index, outputs),
            Loaded::Step => {}
            Loaded::All(fragments) => {
                lane.is_done = true;
                self.fragments.extend(fragments);
            }
        }
        Ok(())
    }

    /// How far it is, if that is to be told.
    pub(super) fn progress(&mut self, now: Instant) -> Option<RestoreProgress> {
        let (phase, (done, total)) = if matches!(self.stage, Stage::Indexes(_)) {
            (RestorePhase::Indexes, (0, 0))
        } else if self.log_bytes.0 > 0 {
            (RestorePhase::Log, self.log_bytes)
        } else {
            (RestorePhase::Checkpoints, self.checkpoint_bytes)
        };
        let is_news = |(told, at): (RestorePhase, Instant)| told < phase || at + TELL_INTERVAL <= now;
        if !self.told.is_none_or(is_news) {
            return None;
        }
        self.told = Some((phase, now));
        Some(RestoreProgress { phase, done, total })
    }

    /// Begins what follows, if the stage has ended.
    pub(super) fn go_on(&mut self, outputs: &mut Outputs<Shared>) -> Result<GoesOn, Trouble> {
        match &mut self.stage {
            Stage::Catalogue(system) => {
                let is_read = system.readers.is_empty() && system.replay.is_done();
                if self.reading.is_some() || !is_read {
                    return Ok(GoesOn::Waiting);
                }
                let schema = Arc::new(read_catalogue(&system.loader).map_err(Trouble::Bad)?);
                self.fragments = finished(&mut system.loader, &schema)?;
                self.begin_rows(schema, outputs);
                Ok(GoesOn::Reading)
            }
            Stage::Rows(schema) => {
                let has_readers = |lane: &Lane| !lane.readers.is_empty() || lane.open > 0;
                let is_read = self.reading.is_none() && self.replay.is_done();
                if is_read && !self.lanes.iter().any(has_readers) {
                    for lane in &mut self.lanes {
                        lane.send(self.me, LoadStep::Define, outputs);
                    }
                    self.stage = Stage::Indexes(Arc::clone(schema));
                }
                Ok(GoesOn::Waiting)
            }
            Stage::Indexes(_) if self.lanes.iter().all(|lane| lane.is_done) => Ok(GoesOn::Done),
            Stage::Indexes(_) => Ok(GoesOn::Waiting),
        }
    }

    /// The catalogue is known: checkpoints of tables that it lacks are not read.
    fn begin_rows(&mut self, schema: Arc<Schema>, outputs: &mut Outputs<Shared>) {
        let checkpoints = std::mem::take(&mut self.checkpoints);
        let expected = Arc::new(Expected { schema: Arc::clone(&schema), checkpoints });
        for lane in &mut self.lanes {
            lane.readers.retain(|reader| schema.tables().contains_key(reader.fragment().1));
            lane.send(self.me, LoadStep::Begin(self.shares, Arc::clone(&expected)), outputs);
        }
        self.stage = Stage::Rows(schema);
    }

    /// Everything is built.
    pub(super) fn finish(self) -> Option<Restored> {
        let Self { stage, fragments, aim, next, .. } = self;
        let Stage::Indexes(schema) = stage else { return None };
        Some(Restored { schema, fragments, aim, next })
    }
}

impl SystemRows {
    /// A part of a checkpoint or of the log was read.
    fn on_read(&mut self, source: Source, result: Result<DiskAnswer, DiskError>) -> Result<(), Trouble> {
        let Self { readers, replay, loader } = self;
        if source == Source::SystemLog {
            let slice = replay.on_done(result).map_err(|error| Trouble::Bad(error.0))?;
            return loader.load_log(&slice).map_err(Trouble::Full);
        }
        let mut loaded = Ok(());
        read_checkpoint(readers, result, |piece| {
            if loaded.is_ok() {
                loaded = loader.load_piece(piece);
            }
        })?;
        loaded.map_err(Trouble::Full)
    }
}

impl Lane {
    fn send(&mut self, me: Address, step: LoadStep, outputs: &mut Outputs<Shared>) {
        self.open += 1;
        outputs.share(me, self.ldm, Shared::Load(step));
    }
}

/// The answer to a read of the first of these checkpoints.
fn read_checkpoint(
    readers: &mut VecDeque<CheckpointReader>,
    result: Result<DiskAnswer, DiskError>,
    take: impl FnMut(&Piece<'_>),
) -> Result<(), Trouble> {
    let Some(reader) = readers.front_mut() else { return Ok(()) };
    let (slot, table) = reader.fragment();
    reader.on_done(result, take).map_err(|CheckpointError(why)| Trouble::Checkpoint(slot, table, why))?;
    if reader.is_done() {
        readers.pop_front();
    }
    Ok(())
}

/// The loader of slot 0. All system tables are there, even if nothing was ever written to them.
fn loader_of_system(memory: &Arc<MemoryManager>, shares: Shares) -> Loader {
    let mut loader = Loader::new(Arc::clone(memory), shares, None);
    for table in SystemTables::new().iter() {
        loader.expect((table.definition.id, SYSTEM), Position(0));
    }
    loader
}

/// The fragments of a loader that has all rows, with their indexes. In one call: rows of the catalogue are few.
fn finished(loader: &mut Loader, schema: &Schema) -> Result<Vec<RestoredFragment>, Trouble> {
    loader.define(schema);
    loop {
        if let Some(fragments) = loader.index().map_err(Trouble::Full)? {
            return Ok(fragments);
        }
    }
}

/// The catalogue among the rows.
fn read_catalogue(loader: &Loader) -> Result<Schema, String> {
    let system = SystemTables::new();
    let of = |table: TableId| loader.fragment((table, SYSTEM));
    let row = of(SCHEMA_VERSION).and_then(|rows| rows.committed(&system.schema_version_key())?.1);
    let version = row.and_then(|row| system.schema_version(row).ok());
    let version = version.ok_or("the system tables lack their version")?;
    let reader = |table: TableId| Some((table, of(table)?.reader()));
    let readers: BTreeMap<TableId, Reader> = SchemaBuilder::TABLES.into_iter().filter_map(reader).collect();
    let scan = CatalogueScan::new(&system, version);
    match scan.step(&system, &Guard::enter(), |table| readers.get(&table), usize::MAX) {
        Scanned::All(builder) => builder.finish(version).map_err(|error| error.to_string()),
        Scanned::More(_) | Scanned::Refused => Err("the system tables are not whole".to_owned()),
    }
}

#[cfg(test)]
pub(super) mod tests;
