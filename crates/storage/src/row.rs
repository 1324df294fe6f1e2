//! Row heads and index entries: things with a key that indexes point to. In memory:
//!
//! ```text
//! link    8 bytes: a row's newest version or null; an entry's row
//! length  4 bytes: of the key
//! key     the bytes
//! ```
//!
//! Invariants: the key never changes; an entry's link never changes; a row's link is stored to by the owner only.
#![expect(
    unsafe_code,
    reason = "a header and bytes of any length in one piece of memory; each block states why it is in bounds and alive"
)]

use crate::arena::{Arena, Purpose};
use crate::version::Version;
use memory::{RegionFull, Urgency};
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicPtr, Ordering};

const HEAD_BYTES: usize = 12;

/// A row head or an entry that stays in memory for `'a`.
#[derive(Clone, Copy)]
pub(crate) struct Keyed<'a> {
    pointer: NonNull<u8>,
    _alive: PhantomData<&'a u8>,
}

impl<'a> Keyed<'a> {
    fn allocate(
        arena: &mut Arena,
        purpose: Purpose,
        link: *mut u8,
        key: [&[u8]; 2],
        urgency: Urgency,
    ) -> Result<Self, RegionFull> {
        let length = key[0].len() + key[1].len();
        stdx::require!(u32::try_from(length).is_ok(), "a key longer than 4 GiB");
        let pointer = arena.allocate(purpose, HEAD_BYTES + length, urgency)?;
        // SAFETY: the piece has room for head and key; it is aligned to 8 and ours alone.
        unsafe {
            pointer.cast::<AtomicPtr<u8>>().write(AtomicPtr::new(link));
            pointer.add(8).cast::<u32>().write(u32::try_from(length).unwrap_or(0));
            let bytes = pointer.add(HEAD_BYTES).as_ptr();
            std::ptr::copy_nonoverlapping(key[0].as_ptr(), bytes, key[0].len());
            std::ptr::copy_nonoverlapping(key[1].as_ptr(), bytes.add(key[0].len()), key[1].len());
        }
        Ok(Self { pointer, _alive: PhantomData })
    }

    /// # Safety
    /// The pointer is that of a row head or an entry which stays in memory for `'a`.
    #[inline]
    pub(crate) unsafe fn from_ptr(pointer: NonNull<u8>) -> Self {
        Self { pointer, _alive: PhantomData }
    }

    #[inline]
    pub(crate) fn as_ptr(self) -> NonNull<u8> {
        self.pointer
    }

    #[inline]
    pub(crate) fn key(self) -> &'a [u8] {
        // SAFETY: head and key are alive for 'a and never change.
        unsafe {
            let length = self.pointer.add(8).cast::<u32>().read() as usize;
            std::slice::from_raw_parts(self.pointer.add(HEAD_BYTES).as_ptr(), length)
        }
    }

    #[inline]
    fn link(self) -> &'a AtomicPtr<u8> {
        // SAFETY: the head is alive for 'a; its link is only accessed as an atomic.
        unsafe { self.pointer.cast::<AtomicPtr<u8>>().as_ref() }
    }

    /// Brings it into the CPU's caches.
    #[inline]
    pub(crate) fn prefetch(self) {
        stdx::prefetch(self.pointer.as_ptr());
    }

    /// Brings what it links to into the CPU's caches.
    #[inline]
    pub(crate) fn prefetch_target(self) {
        let target = self.link().load(Ordering::Relaxed);
        stdx::prefetch(target);
        stdx::prefetch(target.wrapping_add(stdx::CACHE_LINE));
    }

    fn bytes(self) -> usize {
        HEAD_BYTES + self.key().len()
    }
}

/// A row head.
#[derive(Clone, Copy)]
pub(crate) struct Row<'a>(Keyed<'a>);

impl<'a> Row<'a> {
    /// A row without versions.
    pub(crate) fn allocate(arena: &mut Arena, key: &[u8], urgency: Urgency) -> Result<Self, RegionFull> {
        Keyed::allocate(arena, Purpose::Data, std::ptr::null_mut(), [key, &[]], urgency).map(Self)
    }

    /// # Safety
    /// `keyed` is a row head.
    #[inline]
    pub(crate) unsafe fn of(keyed: Keyed<'a>) -> Self {
        Self(keyed)
    }

    #[inline]
    pub(crate) fn keyed(self) -> Keyed<'a> {
        self.0
    }

    #[inline]
    pub(crate) fn key(self) -> &'a [u8] {
        self.0.key()
    }

    /// Its newest version.
    #[inline]
    pub(crate) fn newest(self) -> Option<Version<'a>> {
        // SAFETY: a row that is alive for 'a points to a version that was linked during 'a or is retired not earlier
        // than the row.
        unsafe { Version::from_ptr(self.0.link().load(Ordering::Acquire)) }
    }

    /// Publishes another newest version; owner only.
    #[inline]
    pub(crate) fn set_newest(self, newest: Option<Version<'_>>) {
        self.0.link().store(newest.map_or(std::ptr::null_mut(), Version::as_ptr), Ordering::Release);
    }

    /// All versions, newest first.
    pub(crate) fn versions(self) -> impl Iterator<Item = Version<'a>> {
        std::iter::successors(self.newest(), |version| version.previous())
    }

    /// Its piece of memory.
    pub(crate) fn piece(self) -> (NonNull<u8>, usize) {
        (self.0.pointer, self.0.bytes())
    }
}

/// An entry of a secondary index.
#[derive(Clone, Copy)]
pub(crate) struct Entry<'a>(Keyed<'a>);

impl<'a> Entry<'a> {
    /// An entry for `row` with the key `parts` ++ primary key.
    pub(crate) fn allocate(
        arena: &mut Arena,
        row: Row<'_>,
        parts: &[u8],
        urgency: Urgency,
    ) -> Result<Self, RegionFull> {
        let link = row.0.pointer.as_ptr();
        Keyed::allocate(arena, Purpose::Index, link, [parts, row.key()], urgency).map(Self)
    }

    /// # Safety
    /// `keyed` is an entry.
    #[inline]
    pub(crate) unsafe fn of(keyed: Keyed<'a>) -> Self {
        Self(keyed)
    }

    #[inline]
    pub(crate) fn keyed(self) -> Keyed<'a> {
        self.0
    }

    /// Its row.
    #[inline]
    pub(crate) fn row(self) -> Row<'a> {
        let link = self.0.link().load(Ordering::Relaxed);
        // SAFETY: an entry always points to a row, which is retired not earlier than its entries, so it is alive for
        // 'a, too. The link was written before the entry was published.
        unsafe { Row(Keyed::from_ptr(NonNull::new_unchecked(link))) }
    }

    /// Its piece of memory.
    pub(crate) fn piece(self) -> (NonNull<u8>, usize) {
        (self.0.pointer, self.0.bytes())
    }
}
