//! Rows from the disk of a node become fragments, on all of its threads at once.
//!
//! ```text
//! disk                                          each ldm, for the slots that it will own
//! Begin: the catalogue, what checkpoints have   ->  bare fragments
//! Piece: rows of a checkpoint                   ->  rows, in the order of keys
//! Log: a slice for everybody                    ->  rows and deletes of its own slots
//! Define: all rows are there                    ->  fragments get their tables, with indexes that are empty
//! Index, until nothing is left                  ->  entries of indexes; at the end the fragments go back
//! ```
//! `disk` sends a step when the ldm has answered enough of those before: each is answered by [`Loaded`]. It has a
//! loader of its own for slot 0, which is loaded before all others, because the catalogue is there. Rows of tables that
//! the catalogue lacks are passed over: the log may have many of tables that were dropped, and memory has no room.
//!
//! Fragments begin bare: without columns and secondary indexes. Rows are put where they belong without being staged
//! ([`Fragment::load`]). An entry of the log that lies before the position of its fragment's checkpoint is in the
//! checkpoint, or something newer is.
//!
//! Invariants:
//! - of two entries of a row the one with the higher epoch counts, and of two with the same epoch the later one.
//!   Nothing is remembered of a deleted row: the log has its entries in their order (`transaction::ldm::redo`), and all
//!   pieces of a fragment come before it;
//! - a fragment is made by the thread that will most likely own it: its memory is shared with that thread's others.
//!
//! Deliberately not here: reading the files (`durability`), the order of the steps (`node::disk_module`), and who owns
//! the fragments afterwards.

use crate::RestoredFragment;
use durability::{Entry, LogSlice, Piece, PieceError, Position};
use memory::{MemoryManager, RegionFull};
use std::sync::Arc;
use stdx::FixedMap;
use storage::{BackfillProgress, Fragment, FragmentDefinition};
use types::{IndexId, Schema, SlotId, TableId};

/// Rows that get their index entries in one step: the more, the closer together in the index are entries that follow
/// each other.
const INDEXED_AT_ONCE: u32 = 250_000;

/// Which slots are loaded by whom.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shares {
    /// The ldms of the node.
    pub ldms: u8,
    /// NoOfReplicas: as many slots are of one rank, and an ldm owns ranks.
    pub replicas: u16,
}

impl Shares {
    /// The ldm that loads a slot; `disk` itself does it for slot 0.
    #[must_use]
    pub fn ldm_of(self, slot: SlotId) -> Option<u8> {
        let rank = slot.0.checked_sub(1)? / u32::from(self.replicas.max(1));
        u8::try_from(rank % u32::from(self.ldms.max(1))).ok()
    }
}

/// Everything that there is to load.
pub struct Expected {
    /// The catalogue.
    pub schema: Arc<Schema>,
    /// Checkpoints have all that was logged of these fragments before these blocks.
    pub checkpoints: Vec<((TableId, SlotId), Position)>,
}

/// A step of loading.
pub enum LoadStep {
    /// Loading begins.
    Begin(Shares, Arc<Expected>),
    /// A piece of a checkpoint.
    Piece(Vec<u8>),
    /// The next part of the log.
    Log(Arc<LogSlice>),
    /// All rows are there.
    Define,
    /// The next index entries.
    Index,
}

/// The end of a step.
pub enum Loaded {
    /// It is done.
    Step,
    /// Memory is full.
    Full(RegionFull),
    /// Nothing is left to do.
    All(Vec<RestoredFragment>),
}

/// The rows of some slots in the making.
pub struct Loader {
    memory: Arc<MemoryManager>,
    shares: Shares,
    /// The ldm that this is on; `None`: `disk`.
    ldm: Option<u8>,
    fragments: FixedMap<(TableId, SlotId), Making>,
    /// The catalogue; `None` while it is loaded itself: then all rows count.
    schema: Option<Arc<Schema>>,
    /// Fragments with their tables, some of which lack index entries; the last one is next.
    defined: Vec<RestoredFragment>,
    /// Its indexes that lack entries, and behind which row.
    indexes: Vec<IndexId>,
    after: Option<Box<[u8]>>,
    done: Vec<RestoredFragment>,
}

/// A fragment in the making.
struct Making {
    fragment: Fragment,
    /// Its checkpoint has everything that was logged before this block.
    from: Position,
}

impl Making {
    fn of(table: TableId, memory: &Arc<MemoryManager>) -> Self {
        let definition = Arc::new(FragmentDefinition::bare(table));
        Self { fragment: Fragment::new(definition, Arc::clone(memory)), from: Position(0) }
    }
}

impl Loader {
    /// The loader of an ldm, or that of `disk` if there is no ldm.
    #[must_use]
    pub fn new(memory: Arc<MemoryManager>, shares: Shares, ldm: Option<u8>) -> Self {
        Self {
            memory,
            shares,
            ldm,
            fragments: FixedMap::default(),
            schema: None,
            defined: Vec::new(),
            indexes: Vec::new(),
            after: None,
            done: Vec::new(),
        }
    }

    /// A fragment that is there, even if it gets no rows.
    pub fn expect(&mut self, place: (TableId, SlotId), from: Position) {
        if self.shares.ldm_of(place.1) == self.ldm && self.counts(place.0) {
            self.making(place).from = from;
        }
    }

    /// A fragment in the making, if it is there.
    #[must_use]
    pub fn fragment(&self, place: (TableId, SlotId)) -> Option<&Fragment> {
        self.fragments.get(&place).map(|making| &making.fragment)
    }

    fn making(&mut self, place: (TableId, SlotId)) -> &mut Making {
        let memory = &self.memory;
        self.fragments.entry(place).or_insert_with(|| Making::of(place.0, memory))
    }

    fn counts(&self, table: TableId) -> bool {
        self.schema.as_ref().is_none_or(|schema| schema.tables().contains_key(table))
    }

    /// Takes the rows of a piece, which was read and checked.
    pub fn load_piece(&mut self, piece: &Piece<'_>) -> Result<(), RegionFull> {
        if !self.counts(piece.table) {
            return Ok(());
        }
        let fragment = &mut self.making((piece.table, piece.slot)).fragment;
        piece.rows().flatten().try_for_each(|row| fragment.load(row.key, row.epoch, Some(row.row)))
    }

    /// Takes its entries of a part of the log.
    pub fn load_log(&mut self, slice: &LogSlice) -> Result<(), RegionFull> {
        let (shares, ldm) = (self.shares, self.ldm);
        self.take(slice.entries().filter(|(_, entry)| shares.ldm_of(entry.slot) == ldm).collect())
    }

    /// Takes entries, with the positions of their blocks: each fragment's in the order of their keys, and those of one
    /// key in the order that they have. A transaction's rows are logged the last one first; keys that descend would
    /// leave the leaves of the primary ordered index half empty.
    pub fn take(&mut self, mut entries: Vec<(Position, Entry<'_>)>) -> Result<(), RegionFull> {
        entries.sort_by(|(_, left), (_, right)| {
            (left.table, left.slot, left.key).cmp(&(right.table, right.slot, right.key))
        });
        entries.iter().try_for_each(|(position, entry)| self.take_entry(*position, entry))
    }

    /// Takes an entry of the block at a position.
    fn take_entry(&mut self, position: Position, entry: &Entry<'_>) -> Result<(), RegionFull> {
        if !self.counts(entry.table) {
            return Ok(());
        }
        let making = self.making((entry.table, entry.slot));
        if position < making.from {
            return Ok(());
        }
        making.fragment.load(entry.key, entry.epoch, entry.row)
    }

    /// All rows are there: gives the fragments their tables.
    pub fn define(&mut self, schema: &Schema) {
        for ((table, slot), Making { mut fragment, .. }) in std::mem::take(&mut self.fragments) {
            let Some(definition) = schema.tables().get(table) else { continue };
            fragment.set_definition(Arc::new(FragmentDefinition::new(definition)));
            self.defined.push(RestoredFragment { table, slot, fragment });
        }
        self.begin_fragment();
    }

    fn begin_fragment(&mut self) {
        if let Some(next) = self.defined.last() {
            self.indexes = next.fragment.definition().secondary_indexes().collect();
        }
    }

    /// Adds some index entries. In the end it gives the fragments.
    pub fn index(&mut self) -> Result<Option<Vec<RestoredFragment>>, RegionFull> {
        loop {
            let Some(next) = self.defined.last_mut() else { return Ok(Some(std::mem::take(&mut self.done))) };
            let Some(index) = self.indexes.last() else {
                self.done.extend(self.defined.pop());
                self.begin_fragment();
                continue;
            };
            let progress = next.fragment.load_index(*index, self.after.as_deref(), INDEXED_AT_ONCE)?;
            match progress {
                BackfillProgress::More(after) => {
                    self.after = Some(after);
                    return Ok(None);
                }
                BackfillProgress::End => {
                    self.after = None;
                    self.indexes.pop();
                }
            }
        }
    }

    /// A step that `disk` has sent.
    pub fn step(&mut self, step: LoadStep) -> Loaded {
        let done = match step {
            LoadStep::Begin(shares, expected) => {
                self.shares = shares;
                self.schema = Some(Arc::clone(&expected.schema));
                expected.checkpoints.iter().for_each(|(place, from)| self.expect(*place, *from));
                Ok(())
            }
            LoadStep::Piece(bytes) => match Piece::decode(&bytes) {
                Ok(piece) => self.load_piece(&piece),
                Err(PieceError::Bad | PieceError::Short(_)) => {
                    stdx::require!(false, "a piece was damaged on its way from disk to ldm");
                    Ok(())
                }
            },
            LoadStep::Log(slice) => self.load_log(&slice),
            LoadStep::Define => {
                let schema = self.schema.take();
                stdx::require!(schema.is_some(), "rows were loaded before their catalogue was known");
                schema.iter().for_each(|schema| self.define(schema));
                Ok(())
            }
            LoadStep::Index => match self.index() {
                Ok(Some(fragments)) => return Loaded::All(fragments),
                Ok(None) => Ok(()),
                Err(full) => Err(full),
            },
        };
        done.map_or_else(Loaded::Full, |()| Loaded::Step)
    }
}
