//! The node's memory and the operating system's: one thread fetches what is going to be used, and gives back what was.
//!
//! - The addresses of all pages are reserved at the start ([`range`]).
//! - Chunks of pages are fetched ahead (`memory::pages`): the first user of a huge page would stand still while the
//!   kernel clears it.
//! - Chunks that have been empty for a second or two go back, one after the other with a [`PAUSE`] between, because
//!   each interrupts all CPUs. Where there are very many, several go at a time, so that they are gone in some seconds.
//! - Freed memory that the C library keeps goes back when it is much: large rows, packets, and other things that
//!   threads allocate beside the pages. It lies in the holes between living pieces, so nothing but [`trim`] brings it
//!   back. To give it back takes locks which allocating threads need, for up to half a millisecond per mebibyte where
//!   the holes are small. So it is done when much is kept for some time, or very much, and has become more since.
//! - The memory manager is told how much the process holds beside its regions, for `ndbinfo.resources`.
//!
//! Invariant: while nothing else happens, ten seconds after memory was freed the process holds at most 1.25 times what
//! its regions do, and 64 MiB.
//!
//! Deliberately not here: what memory is used for, and how much (`memory`).

mod range;

use memory::{MemoryConfig, MemoryManager, PageRange};
use rustix::mm::{Advice, madvise};
use std::ptr::NonNull;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// Between two chunks that are given back.
const PAUSE: Duration = Duration::from_millis(10);
/// So much that waits has one chunk more given back at a time.
const BYTES_WAITING: u64 = 256 << 20;
/// Between two looks at what the process holds.
const ROUND: Duration = Duration::from_secs(1);
/// The C library is asked when the process holds so much beside its regions, and a fifth of what they hold (but not
/// more than [`SHARE_MAX`]),
const SLACK: u64 = 48 << 20;
const SHARE_MAX: u64 = 512 << 20;
/// in so many looks, one after the other,
const LOOKS: u32 = 3;
/// or so much more;
const URGENT: u64 = 512 << 20;
/// if it has become so much more since the last time.
const GROWN: u64 = 16 << 20;

/// Memory to be fetched.
type Fetch = (usize, usize);

/// The memory of a node. A thread of its own fetches pages, clears them and gives them back, for as long as the manager
/// lives. Without huge pages, or without that thread, all works as well, only slower. The text, if there is one, says
/// why the pages could not be reserved in one piece.
#[must_use]
pub fn memory_of(config: MemoryConfig) -> (Arc<MemoryManager>, Option<String>) {
    let (range, problem) = match range::reserve(PageRange::bytes_for(&config)) {
        Ok(range) => (Some(range), None),
        Err(problem) => (None, Some(problem)),
    };
    let (sender, requests) = mpsc::channel();
    let is_reserved = range.is_some();
    let prepare = move |start: NonNull<u8>, size| {
        let start = start.as_ptr().expose_provenance();
        if !is_reserved {
            advise(start, size, Advice::LinuxHugepage);
            advise(start, size, Advice::LinuxDontDump);
        }
        let _ = sender.send((start, size));
    };
    let memory = MemoryManager::prepared(config, Box::new(prepare), range);
    let keeper = Keeper { memory: Arc::downgrade(&memory), kept: Kept::default() };
    let _ = std::thread::Builder::new().name("memory".to_owned()).spawn(move || keeper.run(&requests));
    (memory, problem)
}

struct Keeper {
    memory: Weak<MemoryManager>,
    kept: Kept,
}

impl Keeper {
    fn run(mut self, requests: &Receiver<Fetch>) {
        let (mut next_round, mut pause) = (Instant::now() + ROUND, ROUND);
        loop {
            let left = next_round.saturating_duration_since(Instant::now());
            match requests.recv_timeout(pause.min(left)) {
                Ok((start, size)) => {
                    advise(start, size, Advice::LinuxPopulateWrite);
                    continue;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            let Some(memory) = self.memory.upgrade() else { return };
            if Instant::now() >= next_round {
                next_round = Instant::now() + ROUND;
                memory.pages().begin_round();
                self.look(&memory);
            }
            let pages = memory.pages();
            let count = 1 + pages.idle_bytes() / BYTES_WAITING;
            pause = if (0..count).all(|_| pages.give_back_idle(give_back)) { PAUSE } else { ROUND };
        }
    }

    /// Tells what the process holds, and has the C library give back what it keeps.
    fn look(&mut self, memory: &MemoryManager) {
        let Some(resident) = resident() else { return };
        memory.note_resident(resident);
        // Chunks that are idle go back without the C library.
        let accounted = || memory.used_in_all() + memory.pages().idle_bytes();
        if !self.kept.is_due(resident, accounted()) {
            return;
        }
        trim();
        if let Some(resident) = self::resident() {
            memory.note_resident(resident);
            self.kept.is_trimmed(resident, accounted());
        }
    }
}

fn give_back(start: NonNull<u8>, size: usize) {
    advise(start.as_ptr().expose_provenance(), size, Advice::LinuxDontNeed);
}

/// Decides when the C library is asked.
#[derive(Debug, Default)]
struct Kept {
    /// The least that was found beside the regions since it was asked.
    floor: u64,
    /// So many looks have found much.
    looks: u32,
}

impl Kept {
    /// A look: what the process holds, and what its regions and idle chunks do.
    fn is_due(&mut self, resident: u64, used: u64) -> bool {
        let beside = resident.saturating_sub(used);
        let limit = SLACK + (used / 5).min(SHARE_MAX);
        self.floor = self.floor.min(beside);
        if beside <= limit || beside < self.floor + GROWN {
            self.looks = 0;
            return false;
        }
        self.looks += 1;
        self.looks >= LOOKS || beside > limit + URGENT
    }

    fn is_trimmed(&mut self, resident: u64, used: u64) {
        *self = Self { floor: resident.saturating_sub(used), looks: 0 };
    }
}

/// Bytes of memory that the process holds.
fn resident() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split_whitespace().nth(1)?.parse().ok()?;
    pages.checked_mul(rustix::param::page_size() as u64)
}

#[expect(unsafe_code, reason = "advice about memory is unsafe in general")]
fn advise(start: usize, size: usize, advice: Advice) {
    // SAFETY: fetching, huge pages and absence from core dumps change neither what the memory holds nor who may use it,
    // whosever it is by now, and the kernel refuses addresses that are not mapped. The contents of memory that is given
    // back do not matter: the page pool lends its chunk for that, and nobody else knows it. A kernel that does not know
    // an advice refuses, which is no harm.
    let _ = unsafe { madvise(std::ptr::with_exposed_provenance_mut(start), size, advice) };
}

/// Has the C library give back what it can.
#[cfg(target_env = "gnu")]
#[expect(unsafe_code, reason = "calls the C library")]
fn trim() {
    // SAFETY: it may be called at any time, from any thread.
    let _ = unsafe { malloc_trim(0) };
}

/// Other C libraries keep little.
#[cfg(not(target_env = "gnu"))]
fn trim() {}

#[cfg(target_env = "gnu")]
#[expect(unsafe_code, reason = "declares a function of the C library that std links anyway")]
unsafe extern "C" {
    fn malloc_trim(pad: usize) -> i32;
}

#[cfg(test)]
mod tests;
