//! Small pieces of memory for rows: slots of size classes cut out of pages, shared by all fragments of one owner thread
//! that are charged to one region.
//!
//! A page holds slots of one class. Its header counts the slots in use and heads a list of free ones; pages with a free
//! slot are in their class's list. Sharing the pages among the fragments of a thread makes an almost empty table cost
//! bytes, not pages. Pieces above [`SMALL_BYTES_MAX`] are allocations of their own, charged by the byte; a piece of
//! exactly a page is a page.
//!
//! Where no page can be had, a piece gets a slot of a larger class: rows of one size were deleted, and rows of another
//! size come.
//!
//! Classes: steps of 8 bytes up to 256, of 16 up to 512, then whatever fits k times into a page.
//!
//! Invariants: a page with no slot in use goes back to the pool. One such page per heap is kept, against thrashing. A
//! page is in its class's list exactly when it has a free slot.
//!
//! Deliberately not here: when a piece that readers may see can be freed (`quiescence`).
#![expect(unsafe_code, reason = "slots are raw memory; each block states why it is sound")]

use crate::exclusive::Exclusive;
use crate::pages::PAGE_BYTES;
use crate::{MemoryManager, Region, RegionFull, Urgency};
use std::alloc::Layout;
use std::ptr::NonNull;

/// The largest piece that is a slot in a page.
pub const SMALL_BYTES_MAX: usize = class_bytes(CLASS_COUNT - 1);
const HEADER_BYTES: usize = 64;
const SLOT_BYTES: usize = PAGE_BYTES - HEADER_BYTES;
const CLASS_COUNT: usize = 32 + 16 + 60;
/// Alignment of every piece that is not in a page; pieces in pages are aligned to 8.
const LARGE_ALIGN: usize = 64;

/// The size of the slots of a class.
const fn class_bytes(class: usize) -> usize {
    if class < 32 {
        (class + 1) * 8
    } else if class < 48 {
        256 + (class - 31) * 16
    } else {
        (SLOT_BYTES / (62 - (class - 48))) & !7
    }
}

/// The class of a size, by the size in units of 8 bytes.
static CLASS_OF: [u8; SMALL_BYTES_MAX / 8 + 1] = {
    let mut table = [0; SMALL_BYTES_MAX / 8 + 1];
    let mut class = 0_u8;
    let mut units = 0;
    while units < table.len() {
        if units * 8 > class_bytes(class as usize) {
            class += 1;
        }
        table[units] = class;
        units += 1;
    }
    table
};

const _: () = {
    assert!(CLASS_COUNT <= 256);
    assert!(class_bytes(48) > 512 && SMALL_BYTES_MAX == (SLOT_BYTES / 3) & !7);
    let mut class = 1;
    while class < CLASS_COUNT {
        assert!(class_bytes(class - 1) < class_bytes(class));
        class += 1;
    }
};

#[repr(C)]
struct PageHeader {
    next: Option<NonNull<PageHeader>>,
    previous: Option<NonNull<PageHeader>>,
    /// Offset of the first free slot that was used before; 0 if none. A free slot holds the offset of the next.
    free: u32,
    /// Offset of the first slot never used.
    fresh: u32,
    /// Slots in use.
    live: u32,
    class: u32,
}

const _: () = assert!(size_of::<PageHeader>() <= HEADER_BYTES);

struct Classes {
    /// Pages with a free slot, by class.
    open: [Option<NonNull<PageHeader>>; CLASS_COUNT],
    /// An empty page that is in no list.
    spare: Option<NonNull<u8>>,
    pages: usize,
}

// SAFETY: the pages belong to the heap alone; its lock gives one thread at a time access to their headers and free
// slots.
unsafe impl Send for Classes {}

/// Slots of a region.
pub struct Heap {
    region: Region,
    classes: Exclusive<Classes>,
}

#[inline]
fn class_of(bytes: usize) -> usize {
    usize::from(CLASS_OF[bytes.div_ceil(8)])
}

fn large_layout(bytes: usize) -> Option<Layout> {
    Layout::from_size_align(bytes, LARGE_ALIGN).ok()
}

/// Bytes that a piece of `bytes` really takes, but where memory is full: there it may have a larger slot.
#[must_use]
#[inline]
pub fn footprint(bytes: usize) -> usize {
    if bytes <= SMALL_BYTES_MAX {
        class_bytes(class_of(bytes))
    } else if bytes == PAGE_BYTES {
        PAGE_BYTES
    } else {
        bytes.next_multiple_of(LARGE_ALIGN)
    }
}

impl Classes {
    /// A slot of an open page of this class.
    #[inline]
    fn take(&mut self, class: usize) -> Option<NonNull<u8>> {
        let page = self.open[class]?;
        // SAFETY: pages in `open` are pages of this heap with a header, and the lock makes us their only user.
        let header = unsafe { &mut *page.as_ptr() };
        let bytes = class_bytes(class);
        let offset = if header.free != 0 {
            let offset = header.free;
            // SAFETY: `free` is the offset of a free slot in this page, which holds the next offset.
            header.free = unsafe { page.cast::<u8>().add(offset as usize).cast::<u32>().read() };
            offset
        } else {
            let offset = header.fresh;
            header.fresh += u32::try_from(bytes).unwrap_or(0);
            offset
        };
        header.live += 1;
        if header.free == 0 && header.fresh as usize + bytes > PAGE_BYTES {
            self.unlink(class, page);
        }
        // SAFETY: the slot lies within the page.
        Some(unsafe { page.cast::<u8>().add(offset as usize) })
    }

    /// A free slot of a larger class, the smallest one.
    #[cold]
    fn take_larger(&mut self, class: usize) -> Option<NonNull<u8>> {
        (class + 1..CLASS_COUNT).find_map(|larger| self.take(larger))
    }

    fn unlink(&mut self, class: usize, page: NonNull<PageHeader>) {
        // SAFETY: the page and its neighbours are pages of this heap, used by us alone.
        unsafe {
            let (next, previous) = ((*page.as_ptr()).next.take(), (*page.as_ptr()).previous.take());
            match previous {
                Some(previous) => (*previous.as_ptr()).next = next,
                None => self.open[class] = next,
            }
            if let Some(next) = next {
                (*next.as_ptr()).previous = previous;
            }
        }
    }

    fn link(&mut self, class: usize, page: NonNull<PageHeader>) {
        // SAFETY: as in `unlink`.
        unsafe {
            let next = self.open[class];
            (*page.as_ptr()).next = next;
            (*page.as_ptr()).previous = None;
            if let Some(next) = next {
                (*next.as_ptr()).previous = Some(page);
            }
        }
        self.open[class] = Some(page);
    }

    /// Makes a page one of `class`.
    fn open_page(&mut self, class: usize, page: NonNull<u8>) {
        let page = page.cast::<PageHeader>();
        let header = PageHeader {
            next: None,
            previous: None,
            free: 0,
            fresh: u32::try_from(HEADER_BYTES).unwrap_or(0),
            live: 0,
            class: u32::try_from(class).unwrap_or(0),
        };
        // SAFETY: the page is ours, large enough and aligned to its size.
        unsafe { page.write(header) };
        self.link(class, page);
    }

    /// Takes a slot back; a page that is thereby empty and not kept is returned.
    ///
    /// # Safety
    /// The slot came from `take` of this heap and nobody uses it.
    #[inline]
    unsafe fn put_back(&mut self, slot: NonNull<u8>) -> Option<NonNull<u8>> {
        let offset = slot.addr().get() & (PAGE_BYTES - 1);
        // SAFETY: the header is at the page's start, and pages are aligned to their size.
        let page = unsafe { slot.sub(offset) }.cast::<PageHeader>();
        // SAFETY: as in `take`.
        let header = unsafe { &mut *page.as_ptr() };
        let class = header.class as usize;
        let was_full = header.free == 0 && header.fresh as usize + class_bytes(class) > PAGE_BYTES;
        #[cfg(debug_assertions)]
        // SAFETY: the slot has so many bytes and is free now. A thread that still reads it shall notice.
        unsafe {
            slot.write_bytes(0xdb, class_bytes(class));
        }
        // SAFETY: the slot has at least 8 bytes and is free now.
        unsafe { slot.cast::<u32>().write(header.free) };
        header.free = u32::try_from(offset).unwrap_or(0);
        header.live -= 1;
        if header.live > 0 {
            if was_full {
                self.link(class, page);
            }
            return None;
        }
        if !was_full {
            self.unlink(class, page);
        }
        if self.spare.is_none() {
            self.spare = Some(page.cast());
            return None;
        }
        self.pages -= 1;
        Some(page.cast())
    }
}

impl Heap {
    pub(crate) fn new(region: Region) -> Self {
        let classes = Exclusive::new(Classes { open: [None; CLASS_COUNT], spare: None, pages: 0 });
        Self { region, classes }
    }

    /// A piece of `bytes` (at least 1), its contents undefined, aligned to 8 (to its size if it is a page).
    #[inline]
    pub fn allocate(
        &self,
        memory: &MemoryManager,
        bytes: usize,
        urgency: Urgency,
    ) -> Result<NonNull<u8>, RegionFull> {
        if bytes > SMALL_BYTES_MAX {
            return self.allocate_large(memory, bytes, urgency);
        }
        let class = class_of(bytes);
        self.classes.with(|classes| {
            if let Some(slot) = classes.take(class) {
                return Ok(slot);
            }
            let page = match classes.spare.take() {
                Some(page) => page,
                None => match memory.pages().allocate(memory, self.region, urgency) {
                    Ok(page) => {
                        classes.pages += 1;
                        page
                    }
                    Err(full) => return classes.take_larger(class).ok_or(full),
                },
            };
            classes.open_page(class, page);
            classes.take(class).ok_or(RegionFull { region: self.region })
        })
    }

    fn allocate_large(
        &self,
        memory: &MemoryManager,
        bytes: usize,
        urgency: Urgency,
    ) -> Result<NonNull<u8>, RegionFull> {
        if bytes == PAGE_BYTES {
            return memory.pages().allocate(memory, self.region, urgency);
        }
        let full = RegionFull { region: self.region };
        let charged = footprint(bytes);
        let layout = large_layout(charged).ok_or(full)?;
        memory.try_charge_with(self.region, charged as u64, urgency)?;
        // SAFETY: the layout has a size.
        NonNull::new(unsafe { std::alloc::alloc(layout) }).ok_or_else(|| {
            memory.release(self.region, charged as u64);
            full
        })
    }

    /// Frees pieces given with their sizes.
    ///
    /// # Safety
    /// Each came from `allocate` of this heap with this size and this `memory`, nobody uses it any more, and it is
    /// given once.
    pub unsafe fn free_all(
        &self,
        memory: &MemoryManager,
        pieces: impl Iterator<Item = (NonNull<u8>, usize)>,
    ) {
        self.classes.with(|classes| {
            for (piece, bytes) in pieces {
                if bytes <= SMALL_BYTES_MAX {
                    // SAFETY: the caller's promise.
                    if let Some(page) = unsafe { classes.put_back(piece) } {
                        // SAFETY: the page has no slot in use and is in no list any more.
                        unsafe { memory.pages().free(memory, self.region, page) };
                    }
                } else {
                    // SAFETY: the caller's promise.
                    unsafe { self.free_large(memory, piece, bytes) };
                }
            }
        });
    }

    /// Frees one piece.
    ///
    /// # Safety
    /// As for [`Heap::free_all`].
    pub unsafe fn free(&self, memory: &MemoryManager, piece: NonNull<u8>, bytes: usize) {
        // SAFETY: the caller's promise.
        unsafe { self.free_all(memory, std::iter::once((piece, bytes))) };
    }

    /// # Safety
    /// As for [`Heap::free_all`], for a piece above `SMALL_BYTES_MAX`.
    unsafe fn free_large(&self, memory: &MemoryManager, piece: NonNull<u8>, bytes: usize) {
        if bytes == PAGE_BYTES {
            // SAFETY: the caller's promise.
            unsafe { memory.pages().free(memory, self.region, piece) };
            return;
        }
        let charged = footprint(bytes);
        if let Some(layout) = large_layout(charged) {
            // SAFETY: it was allocated with this layout.
            unsafe { std::alloc::dealloc(piece.as_ptr(), layout) };
        }
        memory.release(self.region, charged as u64);
    }

    /// Gives the kept page back, for a heap that will not be used for a while.
    pub fn trim(&self, memory: &MemoryManager) {
        self.classes.with(|classes| {
            if let Some(page) = classes.spare.take() {
                classes.pages -= 1;
                // SAFETY: the spare page has no slot in use.
                unsafe { memory.pages().free(memory, self.region, page) };
            }
        });
    }

    /// Pages cut into slots.
    #[must_use]
    pub fn page_count(&self) -> usize {
        self.classes.with(|classes| classes.pages)
    }
}

#[cfg(test)]
mod tests;
