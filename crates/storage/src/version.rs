//! A version of a row, in memory:
//!
//! ```text
//! previous  8 bytes, only if there was an older version when it was made: pointer to it, or null
//! state     8 bytes: state in the top 2 bits, transaction or epoch below          <- a version's pointer points here
//! length    4 bytes: bit 31 deleted, bit 30 has `previous`, the rest the number of row bytes
//! row       the bytes
//! ```
//! Leaving out `previous` saves 8 bytes in every row that was never updated.
//!
//! The state says all about who sees the version, so publishing a commit is one store. A chain goes from newer to
//! older. Only the owner stores; the bytes never change.
//!
//! Invariants: a state goes staged → prepared → committed, or staged → committed, and never back; `previous` of a
//! version that is still linked changes only to something further down the same chain.
#![expect(
    unsafe_code,
    reason = "a header and bytes of any length in one piece of memory; each block states why it is in bounds and alive"
)]

use crate::arena::{Arena, Purpose};
use memory::{Region, RegionFull, Urgency};
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use types::{Epoch, TransactionId};

/// How far a version has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VersionState {
    /// Only its transaction sees it.
    Staged(TransactionId),
    /// The outcome of its transaction is not known here.
    Prepared(TransactionId),
    /// It is there for everyone since this epoch.
    Committed(Epoch),
}

/// The longest row; a longer one is refused as if memory were full.
pub const ROW_BYTES_MAX: usize = (1 << 30) - 1;
const DELETED: u32 = 1 << 31;
const HAS_PREVIOUS: u32 = 1 << 30;
const LENGTH: u32 = HAS_PREVIOUS - 1;
const HEAD_BYTES: usize = 12;
const LINK_BYTES: usize = 8;
const ID_BITS: u32 = 62;
const PREPARED: u64 = 1 << ID_BITS;
const COMMITTED: u64 = 2 << ID_BITS;
const ID_MASK: u64 = PREPARED - 1;

impl VersionState {
    fn word(self) -> u64 {
        let (state, id) = match self {
            VersionState::Staged(transaction) => (0, transaction.0),
            VersionState::Prepared(transaction) => (PREPARED, transaction.0),
            VersionState::Committed(epoch) => (COMMITTED, epoch.0),
        };
        stdx::require!(id <= ID_MASK, "ids of transactions and epochs have 62 bits");
        state | id
    }

    #[inline]
    fn of_word(word: u64) -> Self {
        let id = word & ID_MASK;
        if word & COMMITTED != 0 {
            VersionState::Committed(Epoch(id))
        } else if word & PREPARED != 0 {
            VersionState::Prepared(TransactionId(id))
        } else {
            VersionState::Staged(TransactionId(id))
        }
    }

    /// The transaction whose outcome is open.
    pub(crate) fn transaction(self) -> Option<TransactionId> {
        match self {
            VersionState::Staged(transaction) | VersionState::Prepared(transaction) => Some(transaction),
            VersionState::Committed(_) => None,
        }
    }
}

/// A version that stays in memory for `'a`: a guard is held for so long, or the owner runs and does not reclaim.
#[derive(Clone, Copy)]
pub(crate) struct Version<'a> {
    pointer: NonNull<u8>,
    _alive: PhantomData<&'a u8>,
}

impl PartialEq for Version<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.pointer == other.pointer
    }
}

impl<'a> Version<'a> {
    /// A version that nobody sees yet. `previous` says what it goes on top of; `row` of `None` is a delete.
    pub(crate) fn allocate(
        arena: &mut Arena,
        state: VersionState,
        row: Option<&[u8]>,
        previous: Option<Version<'a>>,
        urgency: Urgency,
    ) -> Result<Self, RegionFull> {
        let bytes = row.unwrap_or_default();
        if bytes.len() > ROW_BYTES_MAX {
            return Err(RegionFull { region: Region::DataMemory });
        }
        let link = if previous.is_some() { LINK_BYTES } else { 0 };
        let piece = arena.allocate(Purpose::Data, link + HEAD_BYTES + bytes.len(), urgency)?;
        let mut length = u32::try_from(bytes.len()).unwrap_or(LENGTH);
        length |= if row.is_none() { DELETED } else { 0 };
        length |= if previous.is_some() { HAS_PREVIOUS } else { 0 };
        // SAFETY: the piece has room for link, head and bytes; it is aligned to 8 and ours alone.
        let pointer = unsafe {
            let pointer = piece.add(link);
            pointer.cast::<AtomicU64>().write(AtomicU64::new(state.word()));
            pointer.add(8).cast::<u32>().write(length);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), pointer.add(HEAD_BYTES).as_ptr(), bytes.len());
            if let Some(previous) = previous {
                piece.cast::<AtomicPtr<u8>>().write(AtomicPtr::new(previous.pointer.as_ptr()));
            }
            pointer
        };
        Ok(Self { pointer, _alive: PhantomData })
    }

    /// # Safety
    /// The pointer is `as_ptr` of a version that stays in memory for `'a`.
    #[inline]
    pub(crate) unsafe fn from_ptr(pointer: *mut u8) -> Option<Self> {
        NonNull::new(pointer).map(|pointer| Self { pointer, _alive: PhantomData })
    }

    #[inline]
    pub(crate) fn as_ptr(self) -> *mut u8 {
        self.pointer.as_ptr()
    }

    #[inline]
    fn length_and_flags(self) -> u32 {
        // SAFETY: the version is alive for 'a and has a head; these bytes never change.
        unsafe { self.pointer.add(8).cast::<u32>().read() }
    }

    #[inline]
    fn state_word(self) -> &'a AtomicU64 {
        // SAFETY: the version is alive for 'a; its state is only accessed as an atomic.
        unsafe { self.pointer.cast::<AtomicU64>().as_ref() }
    }

    #[inline]
    fn link(self) -> Option<&'a AtomicPtr<u8>> {
        let has_previous = self.length_and_flags() & HAS_PREVIOUS != 0;
        // SAFETY: with the flag there are 8 bytes of link before the state, only accessed as an atomic; alive for 'a.
        has_previous.then(|| unsafe { self.pointer.sub(LINK_BYTES).cast::<AtomicPtr<u8>>().as_ref() })
    }

    /// Its state now.
    #[inline]
    pub(crate) fn state(self) -> VersionState {
        VersionState::of_word(self.state_word().load(Ordering::Acquire))
    }

    /// Publishes a new state; owner only.
    #[inline]
    pub(crate) fn set_state(self, state: VersionState) {
        self.state_word().store(state.word(), Ordering::Release);
    }

    /// The next older version.
    #[inline]
    pub(crate) fn previous(self) -> Option<Version<'a>> {
        let pointer = self.link()?.load(Ordering::Acquire);
        // SAFETY: what a version that is alive for 'a points to was linked during 'a or is retired not earlier than the
        // version, so it is freed after 'a, too.
        unsafe { Self::from_ptr(pointer) }
    }

    /// Links it to another older version; owner only.
    pub(crate) fn set_previous(self, previous: Option<Version<'_>>) {
        match self.link() {
            Some(link) => {
                link.store(previous.map_or(std::ptr::null_mut(), Version::as_ptr), Ordering::Release)
            }
            None => stdx::require!(previous.is_none(), "a version without room for a link"),
        }
    }

    /// True for a delete.
    #[inline]
    pub(crate) fn is_deleted(self) -> bool {
        self.length_and_flags() & DELETED != 0
    }

    /// Its bytes; `None` for a delete.
    #[inline]
    pub(crate) fn row(self) -> Option<&'a [u8]> {
        let head = self.length_and_flags();
        if head & DELETED != 0 {
            return None;
        }
        // SAFETY: so many bytes follow the head; they never change and are alive for 'a.
        Some(unsafe {
            std::slice::from_raw_parts(self.pointer.add(HEAD_BYTES).as_ptr(), (head & LENGTH) as usize)
        })
    }

    /// Its piece of memory.
    pub(crate) fn piece(self) -> (NonNull<u8>, usize) {
        let head = self.length_and_flags();
        let link = if head & HAS_PREVIOUS == 0 { 0 } else { LINK_BYTES };
        // SAFETY: the link is part of the version's piece.
        let piece = unsafe { self.pointer.sub(link) };
        (piece, link + HEAD_BYTES + (head & LENGTH) as usize)
    }
}
