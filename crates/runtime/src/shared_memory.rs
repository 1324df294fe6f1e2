//! Two rings of bytes in memory that two processes of one machine share: what a link uses instead of its Unix socket.
//!
//! The end that accepted the connection makes the memory and an eventfd ("bell") for each end, and hands all three over
//! with its hello. `docs/formats/wire.md` has the layout, and which end says what when. A ring is a stream of bytes,
//! like the socket that it replaces: it has one writer, one reader, and two counters that only grow, `produced` and
//! `consumed`. A node that works looks at its rings once per round and costs its peer no system call. Only a node that
//! announced that it sleeps is woken by its bell. One that ran out of room is rung when there is some.
//!
//! Invariants:
//! - the peer can write anything into this memory at any time, and harms nobody but itself and this link. A counter is
//!   believed only as far as the ring is long ([`Broken`] closes the link). Bytes are copied out before anybody looks
//!   at them. Every access is a relaxed or stronger atomic one. The file is sealed against shrinking, so that no access
//!   can fault;
//! - no lost wake: a sleeper announces itself, *then* looks at the counters; a writer publishes, *then* looks for the
//!   announcement, with a sequentially consistent fence between on both sides. The same holds for a writer that waits
//!   for room;
//! - memory is shared with processes of the same user only. They could stop or trace each other anyhow, so a peer that
//!   blocks a bell gains nothing.
//!
//! Deliberately not here: frames, and noticing that the peer died. The socket stays open, and its end is the link's
//! end.

use crate::connections::{ReadOutcome, WriteOutcome};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{FallocateFlags, MemfdFlags, SealFlags};
use rustix::io::{Errno, IoSlice, IoSliceMut};
use rustix::mm::{MapFlags, ProtFlags};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, sockopt,
};
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering, fence};

#[cfg(test)]
mod tests;

/// Descriptors that the maker of the memory hands over: the memory, the maker's bell, the other's bell.
pub(crate) const HANDED_OVER: usize = 3;
/// Smallest and largest ring.
const RING_SIZE_MIN: usize = 16 * 1024;
const RING_SIZE_MAX: usize = 64 * 1024 * 1024;

/// Bytes of a word; rings are arrays of words.
const WORD: usize = size_of::<usize>();
/// The first word of the memory: this layout, with words of this size.
const LAYOUT: usize = 0x4c41_5401 + WORD;
/// Words before the first ring: a page.
const CONTROL_WORDS: usize = 4096 / WORD;
/// Each counter and flag has two cache lines of its own, because adjacent lines are fetched in pairs.
const CELL: usize = 128 / WORD;
/// The cells of one ring, behind the cell of the layout.
const PRODUCED: usize = 0;
const CONSUMED: usize = 1;
/// The reader sleeps.
const SLEEPS: usize = 2;
/// The writer waits for room.
const WAITS: usize = 3;
const CELLS_PER_RING: usize = 4;

/// The peer's counters cannot be: it does not keep to the protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Broken;

/// One end's view of both rings.
pub(crate) struct Rings {
    memory: Memory,
    /// Words of one ring, a power of two.
    words: usize,
    outgoing: usize,
    incoming: usize,
    /// Bytes written into the outgoing ring, ever.
    produced: usize,
    /// Bytes that the peer has taken from it, when last looked.
    consumed_seen: usize,
    /// Bytes taken from the incoming ring, ever.
    consumed: usize,
    bell: OwnedFd,
    their_bell: OwnedFd,
}

impl Rings {
    /// Makes the memory for two rings of `size` bytes; what is to be handed to the other end.
    pub(crate) fn make(size: usize) -> Result<(Self, [OwnedFd; HANDED_OVER]), Errno> {
        let size = size.clamp(RING_SIZE_MIN, RING_SIZE_MAX).next_power_of_two();
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = rustix::fs::memfd_create("latsdb-link", flags)?;
        let length = CONTROL_WORDS * WORD + 2 * size;
        let length_on_file = u64::try_from(length).map_err(|_| Errno::INVAL)?;
        rustix::fs::ftruncate(&file, length_on_file)?;
        // Pages that are allocated now can't be missing later, when touching them would be fatal.
        rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, length_on_file)?;
        rustix::fs::fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        let memory = Memory::map(&file, length / WORD)?;
        memory.words()[0].store(LAYOUT, Ordering::Release);
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let (bell, their_bell) = (eventfd(0, flags)?, eventfd(0, flags)?);
        let handed = [file, bell.try_clone().map_err(unnamed)?, their_bell.try_clone().map_err(unnamed)?];
        Ok((Self::new(memory, size / WORD, (0, 1), (bell, their_bell)), handed))
    }

    /// Takes what the maker handed over; an error if it is not what [`make`](Self::make) makes.
    pub(crate) fn take(handed: [OwnedFd; HANDED_OVER]) -> Result<Self, Errno> {
        let [file, their_bell, bell] = handed;
        let seals = rustix::fs::fcntl_get_seals(&file)?;
        let length = usize::try_from(rustix::fs::fstat(&file)?.st_size).map_err(|_| Errno::INVAL)?;
        let size = length.saturating_sub(CONTROL_WORDS * WORD) / 2;
        let fits = (RING_SIZE_MIN..=RING_SIZE_MAX).contains(&size)
            && size.is_power_of_two()
            && length == CONTROL_WORDS * WORD + 2 * size;
        if !fits || !seals.contains(SealFlags::SHRINK) {
            return Err(Errno::INVAL);
        }
        let memory = Memory::map(&file, length / WORD)?;
        if memory.words()[0].load(Ordering::Acquire) != LAYOUT {
            return Err(Errno::INVAL);
        }
        Ok(Self::new(memory, size / WORD, (1, 0), (bell, their_bell)))
    }

    fn new(
        memory: Memory,
        words: usize,
        (outgoing, incoming): (usize, usize),
        (bell, their_bell): (OwnedFd, OwnedFd),
    ) -> Self {
        Self {
            memory,
            words,
            outgoing,
            incoming,
            produced: 0,
            consumed_seen: 0,
            consumed: 0,
            bell,
            their_bell,
        }
    }

    /// Rung when this end slept and something came, or waited for room and there is some. Never read: watch it for
    /// edges.
    pub(crate) fn bell(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }

    fn cell(&self, ring: usize, cell: usize) -> &AtomicUsize {
        &self.memory.words()[(1 + ring * CELLS_PER_RING + cell) * CELL]
    }

    fn ring(&self, ring: usize) -> &[AtomicUsize] {
        let start = CONTROL_WORDS + ring * self.words;
        &self.memory.words()[start..start + self.words]
    }

    fn size(&self) -> usize {
        self.words * WORD
    }

    // ---- writing ----------------------------------------------------------------------------------------------------

    /// Publishes as many of these bytes as there is room for; how many.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> Result<usize, Broken> {
        let mut room = self.size() - (self.produced.wrapping_sub(self.consumed_seen));
        if room < bytes.len() {
            room = self.look_for_room()?;
        }
        let count = room.min(bytes.len());
        if count > 0 {
            copy_in(self.ring(self.outgoing), self.produced, &bytes[..count]);
            self.produced = self.produced.wrapping_add(count);
            self.cell(self.outgoing, PRODUCED).store(self.produced, Ordering::Release);
        }
        Ok(count)
    }

    fn look_for_room(&mut self) -> Result<usize, Broken> {
        let consumed = self.cell(self.outgoing, CONSUMED).load(Ordering::Acquire);
        let used = self.produced.wrapping_sub(consumed);
        let room = self.size().checked_sub(used).ok_or(Broken)?;
        self.consumed_seen = consumed;
        Ok(room)
    }

    /// The ring is full: from here on the peer rings when it has taken something; true if it has already.
    pub(crate) fn wait_for_room(&mut self) -> Result<bool, Broken> {
        let waits = self.cell(self.outgoing, WAITS);
        waits.store(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let has_room = self.look_for_room()? > 0;
        if has_room {
            self.cell(self.outgoing, WAITS).store(0, Ordering::Relaxed);
        }
        Ok(has_room)
    }

    /// After sending: wakes the peer's thread if it sleeps; true if that took a system call.
    pub(crate) fn wake_reader(&self) -> bool {
        self.ring_if_asked(self.outgoing, SLEEPS)
    }

    fn ring_if_asked(&self, ring: usize, flag: usize) -> bool {
        fence(Ordering::SeqCst);
        let flag = self.cell(ring, flag);
        let rings = flag.load(Ordering::Relaxed) != 0 && flag.swap(0, Ordering::Relaxed) != 0;
        if rings {
            // A bell whose counter is full has rung already.
            let _ = rustix::io::write(&self.their_bell, &1_u64.to_ne_bytes());
        }
        rings
    }

    // ---- reading ----------------------------------------------------------------------------------------------------

    /// Something came, or the peer's counter is wrong.
    #[inline]
    pub(crate) fn has_incoming(&self) -> bool {
        self.cell(self.incoming, PRODUCED).load(Ordering::Acquire) != self.consumed
    }

    /// Moves what came, at most `limit` bytes of it, to the end of `into`; true if there is more.
    pub(crate) fn receive(&mut self, into: &mut Vec<u8>, limit: usize) -> Result<bool, Broken> {
        let produced = self.cell(self.incoming, PRODUCED).load(Ordering::Acquire);
        let available = produced.wrapping_sub(self.consumed);
        if available > self.size() {
            return Err(Broken);
        }
        let count = available.min(limit);
        let known = into.len();
        into.resize(known + count, 0);
        copy_out(self.ring(self.incoming), self.consumed, &mut into[known..]);
        self.consumed = self.consumed.wrapping_add(count);
        self.cell(self.incoming, CONSUMED).store(self.consumed, Ordering::Release);
        self.ring_if_asked(self.incoming, WAITS);
        Ok(count < available)
    }

    /// Before sleeping; a sequentially consistent fence and a last look at [`has_incoming`](Self::has_incoming) must
    /// follow.
    pub(crate) fn announce_sleep(&self) {
        self.cell(self.incoming, SLEEPS).store(1, Ordering::Relaxed);
    }

    /// After sleeping: the peer need not ring.
    pub(crate) fn announce_awake(&self) {
        self.cell(self.incoming, SLEEPS).store(0, Ordering::Relaxed);
    }
}

/// std's clone of a descriptor says why in another type.
fn unnamed(error: std::io::Error) -> Errno {
    Errno::from_io_error(&error).unwrap_or(Errno::MFILE)
}

/// Writes bytes into a ring from this position on. Only the writer of a ring writes its words. So the rest of a word
/// that is filled partly is as it was: bytes that the reader may be looking at keep their values.
fn copy_in(ring: &[AtomicUsize], position: usize, bytes: &[u8]) {
    let mask = ring.len() - 1;
    let mut at = position / WORD;
    let begin = position % WORD;
    let (first, rest) = bytes.split_at(bytes.len().min((WORD - begin) % WORD));
    if !first.is_empty() {
        merge(&ring[at & mask], begin, first);
        at = at.wrapping_add(1);
    }
    let (words, last) = rest.as_chunks::<WORD>();
    for word in words {
        ring[at & mask].store(usize::from_ne_bytes(*word), Ordering::Relaxed);
        at = at.wrapping_add(1);
    }
    if !last.is_empty() {
        merge(&ring[at & mask], 0, last);
    }
}

fn merge(word: &AtomicUsize, begin: usize, bytes: &[u8]) {
    let mut whole = word.load(Ordering::Relaxed).to_ne_bytes();
    whole[begin..begin + bytes.len()].copy_from_slice(bytes);
    word.store(usize::from_ne_bytes(whole), Ordering::Relaxed);
}

/// Copies bytes out of a ring from this position on.
fn copy_out(ring: &[AtomicUsize], position: usize, into: &mut [u8]) {
    let mask = ring.len() - 1;
    let mut at = position / WORD;
    let begin = position % WORD;
    let split = into.len().min((WORD - begin) % WORD);
    let (first, rest) = into.split_at_mut(split);
    if !first.is_empty() {
        let whole = ring[at & mask].load(Ordering::Relaxed).to_ne_bytes();
        first.copy_from_slice(&whole[begin..begin + split]);
        at = at.wrapping_add(1);
    }
    let (words, last) = rest.as_chunks_mut::<WORD>();
    for word in words {
        *word = ring[at & mask].load(Ordering::Relaxed).to_ne_bytes();
        at = at.wrapping_add(1);
    }
    if !last.is_empty() {
        let whole = ring[at & mask].load(Ordering::Relaxed).to_ne_bytes();
        last.copy_from_slice(&whole[..last.len()]);
    }
}

/// Whether a link may use shared memory: a Unix socket to a process of the same user.
pub(crate) fn is_for(socket: &OwnedFd) -> bool {
    sockopt::socket_domain(socket) == Ok(AddressFamily::UNIX)
        && sockopt::socket_peercred(socket).is_ok_and(|peer| peer.uid == rustix::process::geteuid())
}

/// A file that is mapped as long as this lives.
struct Memory {
    start: NonNull<AtomicUsize>,
    words: usize,
}

#[expect(unsafe_code, reason = "the mapping is owned like a box, and all that it gives out is atomics")]
// SAFETY: the pointer is the only one to this mapping, and what it points to may be used by any thread.
unsafe impl Send for Memory {}

impl Memory {
    /// Maps the file, which must be at least so many words long and sealed against shrinking.
    fn map(file: &OwnedFd, words: usize) -> Result<Self, Errno> {
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        #[expect(unsafe_code, reason = "memory shared between processes has to be mapped")]
        // SAFETY: the address is the kernel's choice, so no memory of ours is replaced.
        let start =
            unsafe { rustix::mm::mmap(std::ptr::null_mut(), words * WORD, protection, flags, file, 0)? };
        let start = NonNull::new(start.cast::<AtomicUsize>()).ok_or(Errno::NOMEM)?;
        Ok(Self { start, words })
    }

    fn words(&self) -> &[AtomicUsize] {
        #[expect(unsafe_code, reason = "a mapping is reached by its address")]
        // SAFETY: the mapping has `words` words, is aligned to pages, lives as long as `self`, and its file cannot
        // shrink (it is sealed). Others write it at any moment, which atomics allow; every bit pattern is a `usize`.
        unsafe {
            std::slice::from_raw_parts(self.start.as_ptr(), self.words)
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        #[expect(unsafe_code, reason = "what was mapped is unmapped")]
        // SAFETY: exactly what `map` mapped; no reference outlives `self`. It can't fail for a whole mapping.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.words * WORD) };
    }
}

/// Writes once, and hands descriptors over with the first byte.
pub(crate) fn write_with_descriptors(
    socket: &OwnedFd,
    bytes: &[u8],
    descriptors: &[OwnedFd; HANDED_OVER],
) -> WriteOutcome {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(HANDED_OVER))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let borrowed = descriptors.each_ref().map(AsFd::as_fd);
    let fits = control.push(SendAncillaryMessage::ScmRights(&borrowed));
    stdx::require!(fits, "no space for {HANDED_OVER} descriptors");
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    match rustix::net::sendmsg(socket, &[IoSlice::new(bytes)], &mut control, flags) {
        Ok(count) => WriteOutcome::Took(count),
        Err(Errno::AGAIN | Errno::INTR) => WriteOutcome::Took(0),
        Err(_) => WriteOutcome::Broken,
    }
}

/// Reads once, and takes the descriptors that come with the bytes, at most [`HANDED_OVER`].
pub(crate) fn read_with_descriptors(
    socket: &OwnedFd,
    into: &mut Vec<u8>,
    descriptors: &mut Vec<OwnedFd>,
) -> ReadOutcome {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(HANDED_OVER))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let known = into.len();
    into.resize(into.capacity(), 0);
    let room = into.len() - known;
    let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    let received =
        rustix::net::recvmsg(socket, &mut [IoSliceMut::new(&mut into[known..])], &mut control, flags);
    into.truncate(known + received.as_ref().map_or(0, |received| received.bytes));
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            descriptors.extend(received.take(HANDED_OVER - descriptors.len()));
        }
    }
    match received {
        Ok(received) if received.bytes == 0 => ReadOutcome::Ended,
        // A message with descriptors may be shorter than what waits: read on.
        Ok(received) if received.bytes == room || !descriptors.is_empty() => ReadOutcome::More,
        Ok(_) | Err(Errno::AGAIN) => ReadOutcome::Drained,
        Err(Errno::INTR) => ReadOutcome::More,
        Err(_) => ReadOutcome::Ended,
    }
}

#[cfg(test)]
impl Rings {
    /// Does what a broken peer might do.
    pub(crate) fn publish_impossible(&self) {
        self.cell(self.outgoing, PRODUCED).store(usize::MAX / 2, Ordering::Release);
    }
}
