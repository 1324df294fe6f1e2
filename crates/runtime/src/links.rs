//! Links between nodes, as one thread owns them: sockets, frames, and which link leads to which module.
//!
//! Links run thread to thread: a signal for a module of a peer leaves on the sender's own link to the peer's thread
//! that owns the module, and arrives there. With more pairs of threads than `links_per_peer_max`, pairs share links
//! ([`Pairing`]) and the receiver passes signals on. The `supervisor` decides which links there are; this file opens,
//! uses and closes them. A link by a Unix socket soon carries its frames by shared memory (`shared_memory`); the socket
//! stays, so that its end is the link's end.
//!
//! Invariants:
//! - signals from one thread to one module of a peer always take the same link of a set, so they arrive in order or not
//!   at all;
//! - a link belongs to one *set* of links to its peer; when one link of a set closes, all of them close;
//! - frames keep their order when a link goes from its socket to shared memory: a mark is the last frame that goes by
//!   the socket;
//! - the first frame each way is a hello; a hello, a bad frame or an envelope that does not fit the link closes it and
//!   nothing else;
//! - what leaves the machine is encrypted if there are keys: frames are as they are, TLS is a filter on their bytes.

use crate::connections::{ReadOutcome, WriteOutcome, read_once, write_once};
use crate::process::{ModuleTable, Process};
use crate::shared_memory::{self, Broken, HANDED_OVER, Rings};
use crate::tls::TlsFilter;
use protocol::transport::{self, Hello};
use protocol::{Address, ModuleKind};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, connect, sockopt};
use std::net::SocketAddr;
use std::sync::Arc;
use stdx::Instant;
use types::NodeId;

/// Largest first frame: some hundred threads with some modules each.
pub(crate) const HELLO_SIZE_MAX: usize = 64 * 1024;
/// Rings need not be longer.
pub(crate) const RING_SIZE_ENOUGH: usize = 64 * 1024;
/// A link that is encrypted is written when there is so much ciphertext.
const CIPHERTEXT_ENOUGH: usize = 256 * 1024;
/// The bytes that are encrypted at once: as many as keep the ciphertext below twice that.
const PLAINTEXT_PIECE: usize = 64 * 1024;
/// Most threads that a peer may have.
const THREADS_MAX: usize = 1024;

/// A peer's modules on its threads, from its hello.
pub(crate) struct PeerTable {
    modules: ModuleTable,
    pub(crate) thread_count: usize,
}

impl PeerTable {
    pub(crate) fn new(hello: &Hello) -> Option<Self> {
        let thread_count = hello.threads.len();
        if thread_count == 0 || thread_count > THREADS_MAX {
            return None;
        }
        Some(Self { modules: ModuleTable::new(hello.node, &hello.threads)?, thread_count })
    }

    fn thread_of(&self, kind: ModuleKind, instance: u8) -> Option<usize> {
        self.modules.find(kind, instance).map(|(thread, _)| thread)
    }
}

/// Which pairs of threads have a link of their own, and which link the other pairs use. Symmetric: both ends compute
/// the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pairing {
    mine: usize,
    theirs: usize,
    /// Threads are paired when they are equal modulo this; 1 pairs all.
    modulus: usize,
}

impl Pairing {
    pub(crate) fn new(mine: usize, theirs: usize, links_max: usize) -> Self {
        let modulus = if mine * theirs <= links_max { 1 } else { mine.min(theirs) };
        Self { mine, theirs, modulus }
    }

    pub(crate) fn has(&self, my_thread: usize, their_thread: usize) -> bool {
        my_thread < self.mine
            && their_thread < self.theirs
            && my_thread % self.modulus == their_thread % self.modulus
    }

    /// The peer's thread at the end of the link that my thread uses for their thread.
    pub(crate) fn end_for(&self, my_thread: usize, their_thread: usize) -> usize {
        if self.has(my_thread, their_thread) { their_thread } else { my_thread % self.modulus }
    }

    /// All pairs that have a link.
    pub(crate) fn pairs(self) -> impl Iterator<Item = (usize, usize)> {
        (0..self.mine)
            .flat_map(move |mine| (0..self.theirs).map(move |theirs| (mine, theirs)))
            .filter(move |(mine, theirs)| self.has(*mine, *theirs))
    }
}

/// From the supervisor to a thread.
pub(crate) enum LinkOrder {
    /// Connect to a thread of a peer. The table is not known for the first link of a set.
    Open {
        peer: usize,
        set: u64,
        their_thread: usize,
        addresses: Arc<[SocketAddr]>,
        table: Option<Arc<PeerTable>>,
    },
    /// A peer has connected and said hello: answer, and keep the link.
    Adopt(AdoptedLink),
    /// Close all links of this set and older ones.
    Close { peer: usize, set: u64 },
}

/// A link that was accepted elsewhere.
pub(crate) struct AdoptedLink {
    pub(crate) peer: usize,
    pub(crate) set: u64,
    pub(crate) their_thread: usize,
    pub(crate) socket: OwnedFd,
    /// The filter that encrypts it.
    pub(crate) tls: Option<Box<TlsFilter>>,
    pub(crate) version: u16,
    /// The bytes that came behind the hello.
    pub(crate) leftover: Vec<u8>,
    pub(crate) table: Arc<PeerTable>,
}

/// How far a link is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LinkStage {
    /// The connection is being made.
    Connecting,
    /// Our hello is on its way, theirs has not come.
    Greeting,
    /// Both hellos were exchanged.
    Open,
}

/// One link.
pub(crate) struct Link {
    pub(crate) socket: Arc<OwnedFd>,
    farewell_key: u64,
    pub(crate) peer: usize,
    pub(crate) set: u64,
    pub(crate) their_thread: usize,
    pub(crate) stage: LinkStage,
    /// The lower of both wire versions.
    pub(crate) version: u16,
    /// The beginning of a frame.
    pub(crate) receive: Vec<u8>,
    pub(crate) send: Vec<u8>,
    /// How much of `send` the kernel has taken.
    pub(crate) sent: usize,
    pub(crate) is_dirty: bool,
    /// It is in `Links::held`.
    is_held: bool,
    pub(crate) is_blocked: bool,
    /// "Writable" is asked for: the socket's buffer is full, and not a ring.
    pub(crate) is_writable_wanted: bool,
    /// Since when the kernel takes nothing, if there is something for it.
    pub(crate) blocked_since: Option<Instant>,
    pub(crate) is_high: bool,
    pub(crate) is_queued: bool,
    /// The peer will send nothing more: read until the end shows, for no further edge will come.
    pub(crate) is_hung_up: bool,
    /// The filter that encrypts it, if it leaves the machine.
    pub(crate) tls: Option<Box<TlsFilter>>,
    /// Shared memory, once it is there.
    pub(crate) rings: Option<Box<RingWay>>,
    /// The descriptors that go out with the first bytes, for the peer to share our memory.
    offer: Option<[OwnedFd; HANDED_OVER]>,
    /// The descriptors that came with the peer's hello.
    offered: Vec<OwnedFd>,
}

/// Shared memory of a link, and how far each direction uses it.
pub(crate) struct RingWay {
    pub(crate) rings: Rings,
    /// The mark is in `send`, and `by_socket` unsent bytes up to its end still go by the socket.
    sends: bool,
    by_socket: usize,
    /// The peer's mark came.
    pub(crate) receives: bool,
    /// Something was published that the peer, if it sleeps, was not woken for.
    owes_bell: bool,
}

impl Link {
    pub(crate) fn unsent(&self) -> usize {
        self.send.len() - self.sent
    }

    /// Puts what waits into shared memory, as far as there is room, and wakes nobody for it.
    pub(crate) fn publish(&mut self) -> Result<(), Broken> {
        let is_blocked = self.is_blocked;
        if let Some(way) = self.rings.as_mut().filter(|way| way.sends && way.by_socket == 0 && !is_blocked) {
            let count = way.rings.send(&self.send[self.sent..])?;
            way.owes_bell |= count > 0;
            self.sent += count;
            if self.sent == self.send.len() {
                self.sent = 0;
                self.send.clear();
            }
        }
        Ok(())
    }

    /// Writes as much as is taken now.
    pub(crate) fn write(&mut self, system_calls: &mut u64) -> Result<(), &'static str> {
        if self.tls.is_some() {
            return self.write_tls(system_calls);
        }
        let mut is_reader_due = self.rings.as_mut().is_some_and(|way| std::mem::take(&mut way.owes_bell));
        while self.unsent() > 0 {
            let bytes = &self.send[self.sent..];
            let count = match &mut self.rings {
                Some(way) if way.sends && way.by_socket == 0 => {
                    let mut count = way.rings.send(bytes).map_err(|_| RING_BROKEN)?;
                    if count == 0 && way.rings.wait_for_room().map_err(|_| RING_BROKEN)? {
                        count = way.rings.send(bytes).map_err(|_| RING_BROKEN)?;
                    }
                    is_reader_due |= count > 0;
                    count
                }
                Some(way) if way.sends => {
                    *system_calls += 1;
                    let count = write_to(&self.socket, &bytes[..way.by_socket], &mut self.offer)?;
                    way.by_socket -= count;
                    count
                }
                _ => {
                    *system_calls += 1;
                    write_to(&self.socket, bytes, &mut self.offer)?
                }
            };
            self.sent += count;
            if count == 0 {
                break;
            }
        }
        if is_reader_due && self.rings.as_ref().is_some_and(|way| way.rings.wake_reader()) {
            *system_calls += 1;
        }
        self.is_blocked = self.unsent() > 0;
        Ok(())
    }

    /// The same through TLS: once it is established, as much is encrypted as is soon taken.
    #[cold]
    fn write_tls(&mut self, system_calls: &mut u64) -> Result<(), &'static str> {
        let Some(tls) = &mut self.tls else { return Ok(()) };
        loop {
            while tls.is_established()
                && tls.outgoing.len() < CIPHERTEXT_ENOUGH
                && self.sent < self.send.len()
            {
                let end = self.send.len().min(self.sent + PLAINTEXT_PIECE);
                tls.send_slice(&self.send[self.sent..end]);
                self.sent = end;
            }
            if tls.outgoing.is_empty() {
                break;
            }
            *system_calls += 1;
            match write_once(&self.socket, &tls.outgoing) {
                WriteOutcome::Took(count) if count == tls.outgoing.len() => tls.outgoing.clear(),
                WriteOutcome::Took(count) => {
                    tls.outgoing.drain(..count);
                    break;
                }
                WriteOutcome::Broken => return Err("the connection broke"),
            }
        }
        self.is_blocked = !tls.outgoing.is_empty();
        if !self.is_blocked && tls.outgoing.capacity() > 2 * CIPHERTEXT_ENOUGH {
            tls.outgoing = Vec::new();
        }
        Ok(())
    }

    /// A full ring says by its bell when there is room, a full socket by "writable".
    pub(crate) fn wants_writable(&self) -> bool {
        self.is_blocked && self.rings.as_ref().is_none_or(|way| !way.sends || way.by_socket > 0)
    }

    /// Reads once from the socket.
    pub(crate) fn read_socket(&mut self, into: &mut Vec<u8>) -> ReadOutcome {
        if self.stage == LinkStage::Greeting && self.offered.is_empty() && shared_memory::is_for(&self.socket)
        {
            shared_memory::read_with_descriptors(&self.socket, into, &mut self.offered)
        } else {
            read_once(&self.socket, into)
        }
    }

    /// Something came by shared memory.
    pub(crate) fn has_incoming(&self) -> bool {
        self.rings.as_ref().is_some_and(|way| way.receives && way.rings.has_incoming())
    }

    /// Reads once from shared memory; "ended" if its counters are broken.
    pub(crate) fn read_ring(&mut self, into: &mut Vec<u8>) -> ReadOutcome {
        let Some(way) = self.rings.as_mut().filter(|way| way.receives) else { return ReadOutcome::Drained };
        let room = into.capacity() - into.len();
        match way.rings.receive(into, room) {
            Ok(true) => ReadOutcome::More,
            Ok(false) => ReadOutcome::Drained,
            Err(shared_memory::Broken) => ReadOutcome::Ended,
        }
    }

    /// Makes shared memory for a link that was accepted and has sent nothing yet; false if there is none for it.
    pub(crate) fn offer_rings(&mut self, ring_size: usize) -> bool {
        if !shared_memory::is_for(&self.socket) {
            return false;
        }
        // Without memory the link goes on by its socket.
        let Ok((rings, offer)) = Rings::make(ring_size) else { return false };
        self.offer = Some(offer);
        self.rings =
            Some(Box::new(RingWay { rings, sends: false, by_socket: 0, receives: false, owes_bell: false }));
        true
    }

    /// Takes the shared memory that came with the peer's hello; false if none came, or none that will do.
    pub(crate) fn take_rings(&mut self) -> bool {
        let Ok(offered) = std::mem::take(&mut self.offered).try_into() else { return false };
        let Ok(rings) = Rings::take(offered) else { return false };
        self.rings =
            Some(Box::new(RingWay { rings, sends: false, by_socket: 0, receives: false, owes_bell: false }));
        true
    }

    /// From here on frames go out by shared memory.
    pub(crate) fn send_by_ring(&mut self) {
        let unsent = self.unsent();
        if let Some(way) = &mut self.rings
            && !way.sends
        {
            let known = self.send.len();
            transport::encode_ring_mark(&mut self.send);
            way.sends = true;
            way.by_socket = unsent + self.send.len() - known;
        }
    }
}

pub(crate) const RING_BROKEN: &str = "its shared memory holds impossible counters";

/// Writes once; how much was taken.
fn write_to(
    socket: &OwnedFd,
    bytes: &[u8],
    offer: &mut Option<[OwnedFd; HANDED_OVER]>,
) -> Result<usize, &'static str> {
    let outcome = match &*offer {
        None => write_once(socket, bytes),
        Some(descriptors) => shared_memory::write_with_descriptors(socket, bytes, descriptors),
    };
    match outcome {
        WriteOutcome::Took(count) => {
            if count > 0 {
                *offer = None;
            }
            Ok(count)
        }
        WriteOutcome::Broken => Err("the connection broke"),
    }
}

struct Slot {
    generation: u32,
    link: Option<Link>,
}

/// How to reach the modules of one peer from this thread.
#[derive(Default)]
struct Route {
    set: u64,
    table: Option<Arc<PeerTable>>,
    pairing: Option<Pairing>,
    /// By thread of the peer: slot of this thread's link there.
    slots: Vec<Option<u32>>,
}

/// The links of one thread.
pub(crate) struct Links {
    process: Arc<Process>,
    thread: usize,
    slots: Vec<Slot>,
    free: Vec<u32>,
    routes: Vec<Route>,
    pub(crate) dirty: Vec<u32>,
    /// Links to which signals that may wait were appended.
    held: Vec<u32>,
    pub(crate) ready: Vec<u32>,
    /// Links with more unsent bytes than `link_buffer_high`.
    pub(crate) high_count: usize,
    /// Links that receive by shared memory.
    by_ring: Vec<u32>,
}

impl Links {
    pub(crate) fn new(process: &Arc<Process>, thread: usize) -> Self {
        let routes = process.peers.iter().map(|_| Route::default()).collect();
        Self {
            process: Arc::clone(process),
            thread,
            slots: Vec::new(),
            free: Vec::new(),
            routes,
            dirty: Vec::new(),
            held: Vec::new(),
            ready: Vec::new(),
            high_count: 0,
            by_ring: Vec::new(),
        }
    }

    pub(crate) fn get(&mut self, slot: u32) -> Option<&mut Link> {
        self.slots.get_mut(slot as usize)?.link.as_mut()
    }

    /// The link that an epoll event means, unless it is gone.
    pub(crate) fn identify(&self, slot: u32, token_generation: u32) -> Option<u32> {
        let place = self.slots.get(slot as usize)?;
        let same = crate::wake::same_generation(token_generation, place.generation);
        (same && place.link.is_some()).then_some(slot)
    }

    pub(crate) fn generation(&self, slot: u32) -> u32 {
        self.slots[slot as usize].generation
    }

    pub(crate) fn insert(
        &mut self,
        socket: OwnedFd,
        (peer, set, their_thread): (usize, u64, usize),
        stage: LinkStage,
    ) -> u32 {
        let silence = u32::try_from(self.process.limits.link_silence_timeout.as_millis()).unwrap_or(u32::MAX);
        // Fails on Unix sockets, which lose nothing.
        let _ = sockopt::set_tcp_user_timeout(&socket, silence);
        let socket = Arc::new(socket);
        let farewell_key = self.process.remember_link(&socket);
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot { generation: 0, link: None });
            u32::try_from(self.slots.len() - 1).unwrap_or(u32::MAX)
        });
        let place = &mut self.slots[slot as usize];
        place.generation = place.generation.wrapping_add(1);
        place.link = Some(Link {
            socket,
            farewell_key,
            peer,
            set,
            their_thread,
            stage,
            version: stdx::wire::WIRE_VERSION,
            receive: Vec::new(),
            send: Vec::new(),
            sent: 0,
            is_dirty: false,
            is_held: false,
            is_blocked: false,
            is_writable_wanted: stage == LinkStage::Connecting,
            blocked_since: None,
            is_high: false,
            is_queued: false,
            is_hung_up: false,
            tls: None,
            rings: None,
            offer: None,
            offered: Vec::new(),
        });
        let route = &mut self.routes[peer];
        if route.set != set {
            *route = Route { set, ..Route::default() };
        }
        route.slots.resize(route.slots.len().max(their_thread + 1), None);
        route.slots[their_thread] = Some(slot);
        slot
    }

    /// Learns which of the peer's threads has which modules.
    pub(crate) fn set_table(&mut self, peer: usize, set: u64, table: Arc<PeerTable>) {
        let route = &mut self.routes[peer];
        if route.set == set {
            let mine = self.process.threads.len();
            let links_max = self.process.limits.links_per_peer_max;
            route.pairing = Some(Pairing::new(mine, table.thread_count, links_max));
            route.table = Some(table);
        }
    }

    /// Takes a link out and closes its socket.
    pub(crate) fn remove(&mut self, slot: u32) -> Option<Link> {
        let link = self.slots.get_mut(slot as usize)?.link.take()?;
        self.free.push(slot);
        self.by_ring.retain(|other| *other != slot);
        self.process.forget_link(link.farewell_key);
        if link.is_high {
            self.high_count -= 1;
        }
        // The crash handler may hold the socket for a moment: end the connection now, whichever thread closes the
        // descriptor.
        let _ = rustix::net::shutdown(&*link.socket, rustix::net::Shutdown::Both);
        let route = &mut self.routes[link.peer];
        if let Some(entry) = route.slots.get_mut(link.their_thread)
            && *entry == Some(slot)
        {
            *entry = None;
        }
        Some(link)
    }

    /// The slots of a peer's links of this set and older ones.
    pub(crate) fn of_peer(&self, peer: usize, set: u64) -> Vec<u32> {
        let used = (0_u32..).zip(&self.slots);
        used.filter(|(_, place)| place.link.as_ref().is_some_and(|link| link.peer == peer && link.set <= set))
            .map(|(slot, _)| slot)
            .collect()
    }

    /// The link that leads to a module of a peer.
    #[inline]
    pub(crate) fn toward(&self, peer: usize, kind: ModuleKind, instance: u8) -> Option<u32> {
        let route = &self.routes[peer];
        let owner = route.table.as_ref()?.thread_of(kind, instance)?;
        let end = route.pairing?.end_for(self.thread, owner);
        route.slots.get(end).copied().flatten()
    }

    /// Has the link written at the next flush.
    #[inline]
    pub(crate) fn mark_dirty(&mut self, slot: u32) {
        if let Some(link) = self.slots[slot as usize].link.as_mut()
            && !link.is_dirty
        {
            link.is_dirty = true;
            self.dirty.push(slot);
        }
    }

    /// Signals that may wait were appended to the link: it is written with the next one that may not, or by
    /// [`release_held`](Self::release_held).
    #[inline]
    pub(crate) fn hold(&mut self, slot: u32) {
        if let Some(link) = self.slots[slot as usize].link.as_mut()
            && !link.is_held
        {
            link.is_held = true;
            self.held.push(slot);
        }
    }

    /// Whether signals that may wait are still waiting here.
    pub(crate) fn has_held(&mut self) -> bool {
        let slots = &mut self.slots;
        self.held.retain(|slot| {
            let Some(link) = slots[*slot as usize].link.as_mut() else { return false };
            let owes_bell = link.rings.as_ref().is_some_and(|way| way.owes_bell);
            link.is_held = link.unsent() > 0 && !link.is_blocked || owes_bell;
            link.is_held
        });
        !self.held.is_empty()
    }

    /// A link where signals that may wait were appended.
    pub(crate) fn held(&self, index: usize) -> Option<u32> {
        self.held.get(index).copied()
    }

    /// They have waited long enough: their links are written at the next flush.
    pub(crate) fn release_held(&mut self) {
        for slot in std::mem::take(&mut self.held) {
            if let Some(link) = self.get(slot) {
                link.is_held = false;
                self.mark_dirty(slot);
            }
        }
    }

    /// Has the link read again in the next round.
    pub(crate) fn make_ready(&mut self, slot: u32) {
        if let Some(link) = self.get(slot)
            && !link.is_queued
        {
            link.is_queued = true;
            self.ready.push(slot);
        }
    }

    // ---- shared memory ----------------------------------------------------------------------------------------------

    /// Bytes of each ring of a link to this peer: all links to a peer share `link_memory`.
    pub(crate) fn ring_size(&self, peer: usize) -> usize {
        let links = self.routes[peer].pairing.map_or(1, |pairing| pairing.pairs().count().max(1));
        let size = self.process.limits.link_memory / links;
        // Rounded down to a power of two. A ring that is drained every round gains nothing from being longer than a
        // cache.
        (1_usize << size.max(1).ilog2()).min(RING_SIZE_ENOUGH)
    }

    /// The peer's mark came: its frames come by shared memory.
    pub(crate) fn receive_by_ring(&mut self, slot: u32) -> bool {
        let way = self.get(slot).and_then(|link| link.rings.as_mut());
        let Some(way) = way.filter(|way| !way.receives) else { return false };
        way.receives = true;
        self.by_ring.push(slot);
        true
    }

    fn ring_ways(&self) -> impl Iterator<Item = (u32, &RingWay)> {
        self.by_ring.iter().filter_map(|slot| {
            let way = self.slots.get(*slot as usize)?.link.as_ref()?.rings.as_ref()?;
            Some((*slot, &**way))
        })
    }

    /// Something came by shared memory.
    #[inline]
    pub(crate) fn has_incoming(&self) -> bool {
        self.ring_ways().any(|(_, way)| way.rings.has_incoming())
    }

    /// The links that something came to by shared memory.
    pub(crate) fn take_incoming(&self, into: &mut Vec<u32>) {
        for (slot, way) in self.ring_ways() {
            if way.rings.has_incoming() {
                into.push(slot);
            }
        }
    }

    /// Before this thread parks: from there on peers ring its bells.
    pub(crate) fn announce_sleep(&self) {
        self.ring_ways().for_each(|(_, way)| way.rings.announce_sleep());
    }

    /// After it slept.
    pub(crate) fn announce_awake(&self) {
        self.ring_ways().for_each(|(_, way)| way.rings.announce_awake());
    }

    /// Appends our hello to a link.
    pub(crate) fn greet(&mut self, slot: u32) {
        let hello = self.get(slot).map(|link| (link.peer, link.their_thread));
        if let Some((peer, their_thread)) = hello {
            let hello = self.process.hello(self.process.peers[peer].config.node, self.thread, their_thread);
            if let Some(link) = self.get(slot) {
                transport::encode_hello(&hello, &mut link.send);
                self.mark_dirty(slot);
            }
        }
    }
}

impl Process {
    fn hello(&self, to: NodeId, from_thread: usize, to_thread: usize) -> Hello {
        let narrow = |thread| u16::try_from(thread).unwrap_or(u16::MAX);
        Hello {
            cluster: self.cluster.clone(),
            node: self.node,
            start: self.start,
            to,
            from_thread: narrow(from_thread),
            to_thread: narrow(to_thread),
            threads: self.threads.iter().map(|thread| thread.modules.clone()).collect(),
        }
    }

    /// Why a hello is not from a peer that may talk to us; `None` if it is.
    pub(crate) fn refuse_hello(&self, hello: &Hello) -> Option<String> {
        if hello.cluster != self.cluster {
            Some(format!("cluster '{}' is not ours", hello.cluster.escape_debug()))
        } else if hello.to != self.node {
            Some(format!("it looks for node {}", hello.to))
        } else if self.peer(hello.node).is_none() {
            Some(format!("node {} is not configured", hello.node))
        } else if usize::from(hello.to_thread) >= self.threads.len()
            || usize::from(hello.from_thread) >= hello.threads.len()
        {
            Some(format!("node {} names a thread that is not there", hello.node))
        } else {
            None
        }
    }
}

/// Starts to connect to a peer: its Unix socket if that answers, else the first TCP address.
pub(crate) fn connect_to(process: &Process, peer: usize, addresses: &[SocketAddr]) -> Result<OwnedFd, Errno> {
    if let Some(path) = &process.peers[peer].config.unix
        && let Ok(address) = SocketAddrUnix::new(path.as_path())
    {
        let socket = crate::listeners::new_socket(AddressFamily::UNIX)?;
        if connect(&socket, &address).is_ok() && crate::listeners::is_of_this_user(&socket) {
            return Ok(socket);
        }
    }
    let mut last = Errno::HOSTUNREACH;
    for address in addresses {
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let socket = crate::listeners::new_socket(family)?;
        sockopt::set_tcp_nodelay(&socket, true)?;
        if let Some(source) = process.source.filter(|source| source.is_ipv4() == address.is_ipv4()) {
            // The peer compares it with this node's HostName. An address that is not this machine's (behind a
            // translator) is left to the system.
            let _ = rustix::net::bind(&socket, &SocketAddr::new(source, 0));
        }
        match connect(&socket, address) {
            Ok(()) | Err(Errno::INPROGRESS) => return Ok(socket),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// The length that the header of the first frame in `bytes` announces, header included.
pub(crate) fn announced_size(bytes: &[u8]) -> Option<usize> {
    let length = bytes.first_chunk::<4>()?;
    Some(transport::FRAME_HEADER_SIZE + usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX))
}

/// Whether a payload is a hello and not an envelope: an envelope begins with a node id far below these bytes.
pub(crate) fn is_hello(payload: &[u8]) -> bool {
    payload.starts_with(b"LATS")
}

/// An envelope may come over a link only from its peer and for us.
pub(crate) fn fits(from: Address, to: Address, peer: NodeId, me: NodeId) -> bool {
    from.node == peer && to.node == me
}
