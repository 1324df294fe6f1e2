//! Counts of the process itself, and the functions by which callgrind knows where to count.
//!
//! A call of a module goes through the function of its [`Part`]. Callgrind collects only inside of these functions
//! (`--toggle-collect`), so the driver and the client cost nothing. The instructions below such a function are those
//! of its part.
//!
//! The allocator writes the thread that allocates in front of each block. A block that another thread frees is counted.
//! This adds about ten instructions to each allocation and each free.
//!
//! Invariants: the process has one thread, and says whose work it does ([`measured`]). Outside of that nothing is
//! counted, and blocks made there belong to nobody.

#![expect(unsafe_code, reason = "an allocator cannot be written without")]

use protocol::ModuleKind;
use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The parts of a node that instructions belong to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    /// A module of this kind.
    Module(ModuleKind),
    /// Signals on their way between nodes: they are encoded, framed and decoded.
    Link,
}

/// A thread of the cluster, counted from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Owner(pub(crate) usize);

/// Nobody: the driver, a client.
const NOBODY: usize = 0;

static OWNER: AtomicUsize = AtomicUsize::new(NOBODY);
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static FOREIGN_FREES: AtomicU64 = AtomicU64::new(0);

/// The counts of the allocator since the process began.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Allocated {
    /// Blocks allocated, and blocks that grew.
    pub(crate) allocations: u64,
    /// Blocks freed by another thread than the one that allocated them.
    pub(crate) foreign_frees: u64,
}

/// The counts of the allocator so far.
pub(crate) fn allocated() -> Allocated {
    Allocated {
        allocations: ALLOCATIONS.load(Ordering::Relaxed),
        foreign_frees: FOREIGN_FREES.load(Ordering::Relaxed),
    }
}

/// Makes a call that is counted: as work of this thread, in this part.
pub(crate) fn measured(owner: Owner, part: Part, call: &mut dyn FnMut()) {
    let function = match part {
        Part::Module(ModuleKind::Sql) => part_sql,
        Part::Module(ModuleKind::Tc) => part_tc,
        Part::Module(ModuleKind::Ldm) => part_ldm,
        Part::Module(ModuleKind::Query) => part_query,
        Part::Module(ModuleKind::Main) => part_main,
        Part::Module(ModuleKind::Membership) => part_membership,
        Part::Module(ModuleKind::Disk) => part_disk,
        Part::Link => part_link,
    };
    OWNER.store(owner.0, Ordering::Relaxed);
    function(call);
    OWNER.store(NOBODY, Ordering::Relaxed);
}

/// Functions that differ in a number only, so that no two of them become one.
macro_rules! parts {
    ($($name:ident = $number:literal;)*) => {
        $(
            #[inline(never)]
            fn $name(call: &mut dyn FnMut()) {
                call();
                black_box($number);
            }
        )*
    };
}
parts! {
    part_sql = 1;
    part_tc = 2;
    part_ldm = 3;
    part_query = 4;
    part_main = 5;
    part_membership = 6;
    part_disk = 7;
    part_link = 8;
}

/// Callgrind forgets here what it has counted so far (`--zero-before`).
#[inline(never)]
pub(crate) fn counting_begins() {
    black_box(1);
}

/// Callgrind writes here what it has counted since [`counting_begins`] (`--dump-before`).
#[inline(never)]
pub(crate) fn counting_ends() {
    black_box(2);
}

/// Counts what threads of the cluster allocate.
struct Counting;

/// Room in front of a block for its owner's number.
const HEAD: usize = 16;

/// No other thread counts: an addition that is atomic would itself be counted.
fn add_one(count: &AtomicU64) {
    count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}

/// The block with its head, and where the part of the user begins.
fn with_head(layout: Layout) -> Option<(Layout, usize)> {
    let offset = layout.align().max(HEAD);
    let whole = Layout::from_size_align(layout.size().checked_add(offset)?, offset).ok()?;
    Some((whole, offset))
}

/// Writes the head of a fresh block, and gives the part of its user.
///
/// # Safety
/// `whole` is null, or begins a block that has `offset` bytes at least, a multiple of 16.
unsafe fn begin_block(whole: *mut u8, offset: usize) -> *mut u8 {
    if whole.is_null() {
        return whole;
    }
    let owner = OWNER.load(Ordering::Relaxed);
    if owner != NOBODY {
        add_one(&ALLOCATIONS);
    }
    // SAFETY: the block has room for a number right before `offset`, which is a multiple of 16.
    unsafe {
        let user = whole.add(offset);
        user.cast::<usize>().sub(1).write(owner);
        user
    }
}

/// Notes that the running thread gives up a block.
///
/// # Safety
/// `user` came from [`begin_block`].
unsafe fn end_block(user: *mut u8) {
    // SAFETY: the head was written when the block was made.
    let owner = unsafe { user.cast::<usize>().sub(1).read() };
    let current = OWNER.load(Ordering::Relaxed);
    if owner != NOBODY && current != NOBODY && owner != current {
        add_one(&FOREIGN_FREES);
    }
}

// SAFETY: each block is one of the system's allocator, with a head of its own in front; size and alignment of the rest
// are what was asked for.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some((whole, offset)) = with_head(layout) else { return std::ptr::null_mut() };
        // SAFETY: the size is not zero, and the head has its room.
        unsafe { begin_block(System.alloc(whole), offset) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let Some((whole, offset)) = with_head(layout) else { return std::ptr::null_mut() };
        // SAFETY: as for `alloc`.
        unsafe { begin_block(System.alloc_zeroed(whole), offset) }
    }

    unsafe fn dealloc(&self, user: *mut u8, layout: Layout) {
        let Some((whole, offset)) = with_head(layout) else { return };
        // SAFETY: the block came from `alloc` with this layout, so it begins `offset` before.
        unsafe {
            end_block(user);
            System.dealloc(user.sub(offset), whole);
        }
    }

    unsafe fn realloc(&self, user: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let Some((whole, offset)) = with_head(layout) else { return std::ptr::null_mut() };
        let Some(size) = size.checked_add(offset) else { return std::ptr::null_mut() };
        // SAFETY: the block came from `alloc` with this layout; the system's allocator keeps its content, and the head
        // is written anew.
        unsafe {
            end_block(user);
            begin_block(System.realloc(user.sub(offset), whole, size), offset)
        }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;
