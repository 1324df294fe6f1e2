//! The memory of one fragment: pieces of the owner thread's heap, counted, and the list of what waits until no reader
//! can see it.
//!
//! An unlinked object is *retired*: it goes into the open batch. A batch is closed with a period (`memory::quiescence`)
//! and freed when that period has passed. A dropped index is retired by its root and taken apart node by node.
//!
//! Only the owner of a fragment has `&mut Arena`, so a function that takes it is called by the only writer.
//!
//! The memory manager is told of a batch that waits when the batch is closed. The arena of a table that is dropped
//! announces all it has.
//!
//! Invariants: what is in a batch is unlinked: a reader that starts now cannot reach it. `data_bytes` and `index_bytes`
//! count what is linked, `retired_bytes` what waits.
#![expect(unsafe_code, reason = "frees raw memory; each block states why nobody uses it")]

use crate::ordered_index;
use memory::heap::footprint;
use memory::quiescence::{self, Period};
use memory::{HeapKind, MemoryManager, RegionFull, Urgency};
use std::collections::VecDeque;
use std::ptr::NonNull;
use std::sync::Arc;

/// The kind that a piece is counted as.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    /// Row heads and versions.
    Data,
    /// The rest.
    Index,
}

enum Retired {
    Piece(NonNull<u8>, usize),
    /// The root of an index that was dropped; its entries go with it.
    Tree(*mut u8),
    /// Anything that drops itself.
    Object(Box<dyn Send + Sync>),
}

/// While a batch waits, the next is closed when it has so many objects,
const BATCH_MIN: usize = 64;
/// or so many bytes.
const BATCH_BYTES: u64 = 256 * 1024;

/// More bytes than this that wait are looked after at every end of a transaction.
const RETIRED_BYTES_MAX: u64 = 1 << 20;
/// So many objects are then freed at most: more than can come together between two such occasions.
const TIDY_LIMIT: u32 = 4 * 64;

/// The result of a call of `reclaim`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reclaimed {
    /// Objects freed; as many as were allowed: call again soon.
    pub count: u32,
    /// Something waits for readers, or for the next call.
    pub is_left: bool,
}

/// The memory of a fragment.
pub(crate) struct Arena {
    memory: Arc<MemoryManager>,
    heap: usize,
    kind: HeapKind,
    data_bytes: u64,
    index_bytes: u64,
    retired_bytes: u64,
    /// The part of `retired_bytes` that is in the open batch.
    open_bytes: u64,
    /// Bytes that the memory manager was told about and that are not freed.
    announced: u64,
    /// Everything was announced: its table is dropped.
    is_condemned: bool,
    open: Vec<Retired>,
    closed: VecDeque<(Period, Vec<Retired>)>,
    /// Nodes of dropped indexes that nobody can see any more.
    demolition: Vec<*mut u8>,
    /// An empty batch to fill next.
    spare: Vec<Retired>,
}

// SAFETY: the pointers are to memory that the arena owns; nothing in it is bound to a thread.
unsafe impl Send for Arena {}

impl Arena {
    pub(crate) fn new(memory: Arc<MemoryManager>, kind: HeapKind) -> Self {
        Self {
            heap: memory.heap_of_this_thread(kind),
            kind,
            memory,
            data_bytes: 0,
            index_bytes: 0,
            retired_bytes: 0,
            open_bytes: 0,
            announced: 0,
            is_condemned: false,
            open: Vec::new(),
            closed: VecDeque::new(),
            demolition: Vec::new(),
            spare: Vec::new(),
        }
    }

    fn counter(&mut self, purpose: Purpose) -> &mut u64 {
        match purpose {
            Purpose::Data => &mut self.data_bytes,
            Purpose::Index => &mut self.index_bytes,
        }
    }

    /// A piece of `bytes`, its contents undefined, aligned to 8.
    #[inline]
    pub(crate) fn allocate(
        &mut self,
        purpose: Purpose,
        bytes: usize,
        urgency: Urgency,
    ) -> Result<NonNull<u8>, RegionFull> {
        let piece = self.memory.heap(self.heap).allocate(&self.memory, bytes, urgency)?;
        *self.counter(purpose) += footprint(bytes) as u64;
        Ok(piece)
    }

    /// Frees a piece at once.
    ///
    /// # Safety
    /// It came from `allocate` with the same purpose and size, and no other thread has ever seen it or can see it any
    /// more.
    pub(crate) unsafe fn free(&mut self, purpose: Purpose, piece: NonNull<u8>, bytes: usize) {
        *self.counter(purpose) -= footprint(bytes) as u64;
        // SAFETY: the caller's promise.
        unsafe { self.memory.heap(self.heap).free(&self.memory, piece, bytes) };
    }

    /// Frees a piece when no reader can see it any more.
    ///
    /// # Safety
    /// It came from `allocate` with the same purpose and size, is unlinked, and is given once.
    #[inline]
    pub(crate) unsafe fn retire(&mut self, purpose: Purpose, piece: NonNull<u8>, bytes: usize) {
        let counted = footprint(bytes) as u64;
        *self.counter(purpose) -= counted;
        self.retired_bytes += counted;
        self.open_bytes += counted;
        self.open.push(Retired::Piece(piece, bytes));
    }

    /// Takes an index apart when no reader can see it any more.
    ///
    /// # Safety
    /// The root is unlinked, its tree is a secondary index's and nobody changes it any more.
    pub(crate) unsafe fn retire_tree(&mut self, root: *mut u8) {
        if !root.is_null() {
            self.open.push(Retired::Tree(root));
        }
    }

    /// Drops an object when no reader can see it any more.
    pub(crate) fn retire_object(&mut self, object: Box<dyn Send + Sync>) {
        self.open.push(Retired::Object(object));
    }

    /// Frees some of what nobody can see any more if much has come together, so that a busy fragment does not depend on
    /// `reclaim` being called.
    #[inline]
    pub(crate) fn tidy(&mut self) {
        if self.open.len() >= BATCH_MIN || self.retired_bytes > RETIRED_BYTES_MAX {
            self.reclaim(TIDY_LIMIT);
        }
    }

    /// Frees up to `limit` objects that nobody can see any more.
    pub(crate) fn reclaim(&mut self, limit: u32) -> Reclaimed {
        // Closing and looking at all threads' slots touches what other threads write: not for every little thing.
        let is_batch = self.open.len() >= BATCH_MIN || self.open_bytes >= BATCH_BYTES;
        if !self.open.is_empty() && (self.closed.is_empty() || is_batch) {
            self.close();
        }
        match self.closed.front() {
            None if self.demolition.is_empty() => return Reclaimed { count: 0, is_left: false },
            Some((period, _)) if !quiescence::may_have_passed(*period) && self.demolition.is_empty() => {
                return Reclaimed { count: 0, is_left: true };
            }
            _ => {}
        }
        let passed = quiescence::passed();
        let mut left = limit as usize;
        while left > 0 {
            let Some((period, batch)) = self.closed.front_mut() else { break };
            if *period > passed {
                break;
            }
            let count = left.min(batch.len());
            left -= count;
            let mut batch = std::mem::take(batch);
            self.release(&mut batch, count);
            if batch.is_empty() {
                self.spare = batch;
                self.closed.pop_front();
            } else if let Some((_, rest)) = self.closed.front_mut() {
                *rest = batch;
            }
        }
        while left > 0 && self.demolish_one() {
            left -= 1;
        }
        let is_left = !self.open.is_empty() || !self.closed.is_empty() || !self.demolition.is_empty();
        Reclaimed { count: limit - u32::try_from(left).unwrap_or(0), is_left }
    }

    /// Frees everything that waits, and takes trees apart.
    ///
    /// # Safety
    /// The fragment has no reader, and its owner holds no reference to what was unlinked.
    pub(crate) unsafe fn reclaim_unread(&mut self) {
        while let Some((_, mut batch)) = self.closed.pop_front() {
            let count = batch.len();
            self.release(&mut batch, count);
        }
        if !self.open.is_empty() {
            let mut batch = std::mem::take(&mut self.open);
            let count = batch.len();
            self.release(&mut batch, count);
            self.open = batch;
            self.open_bytes = 0;
        }
        while self.demolish_one() {}
    }

    fn close(&mut self) {
        let batch = std::mem::replace(&mut self.open, std::mem::take(&mut self.spare));
        self.closed.push_back((quiescence::begin_period(), batch));
        let bytes = std::mem::take(&mut self.open_bytes);
        if !self.is_condemned {
            self.announce(bytes);
        }
    }

    /// Its table is dropped: all it has will be freed.
    pub(crate) fn condemn(&mut self) {
        if !self.is_condemned {
            self.is_condemned = true;
            self.announce(self.data_bytes + self.index_bytes + self.open_bytes);
        }
    }

    /// Nobody waits for QueryMemory.
    fn announce(&mut self, bytes: u64) {
        if self.kind == HeapKind::Stored {
            self.announced += bytes;
            self.memory.announce(bytes);
        }
    }

    fn withdraw(&mut self, bytes: u64) {
        let bytes = bytes.min(self.announced);
        self.announced -= bytes;
        self.memory.withdraw(bytes);
    }

    /// Frees the last `count` of a batch whose period has passed.
    fn release(&mut self, batch: &mut Vec<Retired>, count: usize) {
        let before = self.retired_bytes;
        let (retired_bytes, demolition) = (&mut self.retired_bytes, &mut self.demolition);
        let pieces = batch.drain(batch.len() - count..).filter_map(|retired| match retired {
            Retired::Piece(piece, bytes) => {
                *retired_bytes -= footprint(bytes) as u64;
                Some((piece, bytes))
            }
            Retired::Tree(root) => {
                demolition.push(root);
                None
            }
            Retired::Object(object) => {
                drop(object);
                None
            }
        });
        // SAFETY: `retire` was promised that they came from this heap with these sizes and are unlinked; every thread
        // has announced since, so nobody holds one.
        unsafe { self.memory.heap(self.heap).free_all(&self.memory, pieces) };
        self.withdraw(before - self.retired_bytes);
    }

    fn demolish_one(&mut self) -> bool {
        let Some(node) = self.demolition.pop() else { return false };
        let mut children = std::mem::take(&mut self.demolition);
        // SAFETY: the node belongs to a dropped index that nobody can see any more, and it was popped, so it is taken
        // apart once.
        unsafe { ordered_index::demolish(node, self, &mut children) };
        self.demolition = children;
        true
    }

    pub(crate) const fn data_bytes(&self) -> u64 {
        self.data_bytes
    }

    pub(crate) const fn index_bytes(&self) -> u64 {
        self.index_bytes
    }

    pub(crate) const fn retired_bytes(&self) -> u64 {
        self.retired_bytes
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // The arena goes with its fragment's last reader: nobody can see anything of it.
        let batches = std::mem::take(&mut self.closed).into_iter().map(|(_, batch)| batch);
        for mut batch in batches.chain([std::mem::take(&mut self.open)]) {
            let count = batch.len();
            self.release(&mut batch, count);
        }
        while self.demolish_one() {}
        self.withdraw(self.announced);
    }
}
