//! Links to other nodes as the worker uses them, and the supervisor's wishes carried out.

use super::Worker;
use crate::clock;
use crate::connections::{READ_SIZE, ReadOutcome, read_once, write_once};
use crate::exchange::{Control, Parcel};
use crate::keys::{NodeKeys, peer_facts};
use crate::links::{
    AdoptedLink, HELLO_SIZE_MAX, Link, LinkOrder, LinkStage, PeerTable, RING_BROKEN, RING_SIZE_ENOUGH,
    announced_size, connect_to, fits, is_hello,
};
use crate::process::{External, Process, unpoisoned};
use crate::report;
use crate::shared_memory;
use crate::supervisor::{LinkNews, Step};
use crate::tls::{TlsFilter, TlsProgress};
use crate::wake::{Readiness, Token, Wanted};
use protocol::module::EXIT_REFUSED;
use protocol::transport::{self, Notice, decode_envelope, decode_hello, next_frame};
use protocol::{Envelope, Input, LinkSecurity, ModuleKind, OwnedInput, PeerReport, Severity};
use rustix::fd::OwnedFd;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use stdx::Instant;
use stdx::wire::WIRE_VERSION;

/// Signals that may wait do so until there are this many bytes of them.
const DEFERRED_MAX: usize = 16 * 1024;
/// Reads of a link that is closed because another one of its peer was.
const LEFTOVER_READS_MAX: usize = 64;
/// How long the other threads may take to stop before the process ends without a farewell.
const FAREWELL_PATIENCE: stdx::Duration = stdx::Duration::from_secs(1);
/// A link's buffer that is larger than this is given back once it is empty.
const LINK_BUFFER_KEEP: usize = 256 * 1024;

/// Where a link's bytes come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Source {
    Socket,
    Ring,
}

impl<S: Send + 'static> Worker<S> {
    // ---- sending ----------------------------------------------------------------------------------------------------

    /// Appends a signal to the link that leads to its receiver. Without a link it is dropped: `membership` knows that
    /// the peer is down.
    pub(super) fn send_to_peer(&mut self, envelope: &Envelope) {
        let to = envelope.to;
        let Some(peer) = self.process.peer(to.node) else {
            self.process.counters.undeliverable.fetch_add(1, Ordering::Relaxed);
            return;
        };
        let Some(slot) = self.links.toward(peer, to.kind, to.instance) else {
            self.process.peers[peer].dropped.fetch_add(1, Ordering::Relaxed);
            return;
        };
        let limits = &self.process.limits;
        let (high, max, silence) =
            (limits.link_buffer_high, limits.link_buffer_max, limits.link_silence_timeout);
        let now = self.now.monotonic;
        let Some(link) = self.links.get(slot) else { return };
        if transport::encode_envelope(envelope, &mut link.send).is_err() {
            self.process.peers[peer].dropped.fetch_add(1, Ordering::Relaxed);
            let message =
                format!("a signal from {} to {} exceeds the frame limit", envelope.from, envelope.to);
            self.process.log(Severity::Error, message);
            return;
        }
        let unsent = link.unsent();
        // Much that waits is no fault of a peer that takes it: what makes it wait less is that this thread reads no
        // client meanwhile.
        let is_stuck = link.blocked_since.is_some_and(|since| now.since(since) >= silence);
        if unsent > high && !link.is_high {
            link.is_high = true;
            self.links.high_count += 1;
        }
        if envelope.signal.is_deferrable() && unsent < DEFERRED_MAX {
            self.links.hold(slot);
        } else {
            self.links.mark_dirty(slot);
        }
        if unsent > max && is_stuck {
            self.close_link(slot, "it takes no more signals");
        }
    }

    pub(super) fn flush_links(&mut self) {
        self.publish_held();
        let mut dirty = std::mem::take(&mut self.links.dirty);
        for slot in dirty.drain(..) {
            if let Some(link) = self.links.get(slot) {
                link.is_dirty = false;
                if link.stage != LinkStage::Connecting && !link.is_blocked {
                    self.write_link(slot);
                }
            }
        }
        // Closing a link while writing may have marked others; they are written in the next round.
        dirty.append(&mut self.links.dirty);
        self.links.dirty = dirty;
    }

    /// Signals that are held back are put into shared memory all the same, without a bell. A peer that is awake sees
    /// them, and a peer that survives this process has them.
    fn publish_held(&mut self) {
        let mut index = 0;
        while let Some(slot) = self.links.held(index) {
            index += 1;
            if let Some(link) = self.links.get(slot)
                && link.publish().is_err()
            {
                self.close_link(slot, RING_BROKEN);
            }
        }
    }

    fn write_link(&mut self, slot: u32) {
        let high = self.process.limits.link_buffer_high;
        let now = self.now.monotonic;
        let Some(link) = self.links.get(slot) else { return };
        let sent_before = link.sent;
        if let Err(reason) = link.write(&mut self.counting.system_calls) {
            self.close_link(slot, reason);
            return;
        }
        if !link.is_blocked || link.sent > sent_before {
            link.blocked_since = None;
        }
        if link.is_blocked {
            link.blocked_since.get_or_insert(now);
            if link.sent * 2 > link.send.len() {
                link.send.drain(..link.sent);
                link.sent = 0;
            }
        }
        // Bytes that TLS has encrypted already may wait all the same, and bytes that it may not encrypt yet are kept.
        if link.unsent() == 0 {
            link.sent = 0;
            link.send.clear();
            if link.send.capacity() > LINK_BUFFER_KEEP {
                link.send = Vec::new();
            }
        }
        let eased = link.is_high && link.unsent() <= high / 2;
        if eased {
            link.is_high = false;
        }
        let is_wanted = link.wants_writable();
        if is_wanted != link.is_writable_wanted {
            link.is_writable_wanted = is_wanted;
            let socket = Arc::clone(&link.socket);
            let token = Token::Link(slot, self.links.generation(slot));
            let wanted = if is_wanted { Wanted::Yes } else { Wanted::No };
            self.counting.system_calls += 1;
            self.poller.set_writable_wanted(&*socket, token, wanted);
        }
        if eased {
            self.links.high_count -= 1;
        }
    }

    // ---- receiving --------------------------------------------------------------------------------------------------

    pub(super) fn on_link_event(&mut self, slot: u32, generation: u32, event: Readiness) {
        let Some(slot) = self.links.identify(slot, generation) else { return };
        let Some(link) = self.links.get(slot) else { return };
        link.is_hung_up |= event.hung_up;
        if link.stage == LinkStage::Connecting {
            if event.writable || event.hung_up {
                self.on_connected(slot);
            }
        } else if event.writable && link.is_blocked {
            self.write_link(slot);
        }
        if event.readable && self.links.get(slot).is_some_and(|link| link.stage != LinkStage::Connecting) {
            self.links.make_ready(slot);
        }
    }

    /// The connection was made, or was refused.
    fn on_connected(&mut self, slot: u32) {
        let Some(link) = self.links.get(slot) else { return };
        match rustix::net::sockopt::socket_error(&*link.socket) {
            Ok(Ok(())) => {}
            Ok(Err(error)) | Err(error) => {
                self.close_link(slot, &error.to_string());
                return;
            }
        }
        link.stage = LinkStage::Greeting;
        // From now on "writable" means "no longer blocked", and is not watched for otherwise.
        self.write_link(slot);
    }

    /// The peer rang: there is room in a ring. Bytes that it may have put into the other one are found without a bell.
    pub(super) fn on_bell(&mut self, slot: u32, generation: u32) {
        let Some(slot) = self.links.identify(slot, generation) else { return };
        if self.links.get(slot).is_some_and(|link| link.is_blocked && !link.is_writable_wanted) {
            self.write_link(slot);
        }
    }

    pub(super) fn read_ready_links(&mut self) {
        // Another thread takes nothing: what peers sent stays with them. It takes it in the end, or the node dies of it
        // (`watchdog`).
        if self.exchange.is_overfull() {
            return;
        }
        let mut slots = std::mem::take(&mut self.slots_scratch);
        self.links.take_incoming(&mut slots);
        for slot in slots.drain(..) {
            self.read_link(slot, Source::Ring);
        }
        slots.append(&mut self.links.ready);
        for slot in slots.drain(..) {
            if let Some(link) = self.links.get(slot) {
                link.is_queued = false;
                self.read_link(slot, Source::Socket);
            }
        }
        self.slots_scratch = slots;
    }

    /// Reads once, and handles what came. The supervisor's steps wait until the link is left alone: closing its set
    /// reads other links with the same buffer, and opening one may take its slot.
    fn read_link(&mut self, slot: u32, source: Source) {
        let are_held = std::mem::replace(&mut self.are_orders_held, true);
        self.read_and_take(slot, source);
        self.are_orders_held = are_held;
        self.take_orders();
    }

    fn read_and_take(&mut self, slot: u32, source: Source) {
        let Some(link) = self.links.get(slot) else { return };
        let owns_buffer = !link.receive.is_empty();
        let mut buffer = std::mem::take(if owns_buffer { &mut link.receive } else { &mut self.raw_scratch });
        if owns_buffer {
            // A large frame is read in as few pieces as its size allows.
            let missing = announced_size(&buffer).map_or(0, |size| size.saturating_sub(buffer.len()));
            buffer.reserve(missing.clamp(READ_SIZE, transport::FRAME_SIZE_MAX));
        } else {
            buffer.clear();
        }
        let outcome = match source {
            Source::Socket if link.tls.is_some() => self.read_tls(slot, &mut buffer),
            Source::Socket => {
                self.counting.system_calls += 1;
                link.read_socket(&mut buffer)
            }
            Source::Ring => link.read_ring(&mut buffer),
        };
        let consumed = self.take_frames(slot, &buffer);
        let rest = buffer.len() - consumed;
        if let Some(link) = self.links.get(slot)
            && rest > 0
        {
            if owns_buffer {
                buffer.drain(..consumed);
                link.receive = buffer;
            } else {
                link.receive.extend_from_slice(&buffer[consumed..]);
                self.raw_scratch = buffer;
            }
        } else if !owns_buffer {
            self.raw_scratch = buffer;
        }
        if source == Source::Ring {
            // The rest shows by itself in the next round.
            if outcome == ReadOutcome::Ended {
                self.refuse_link(slot, RING_BROKEN);
            }
            return;
        }
        match outcome {
            ReadOutcome::More => self.links.make_ready(slot),
            ReadOutcome::Drained => {
                if self.links.get(slot).is_some_and(|link| link.is_hung_up) {
                    self.links.make_ready(slot);
                }
            }
            ReadOutcome::Ended => {
                self.take_last_words(slot);
                self.close_link(slot, "the peer closed it");
            }
        }
    }

    /// Reads once from the socket, and decrypts what came. Once the process at the other end is known, it has to be the
    /// node that was called.
    #[cold]
    fn read_tls(&mut self, slot: u32, buffer: &mut Vec<u8>) -> ReadOutcome {
        self.counting.system_calls += 1;
        let mut raw = std::mem::take(&mut self.cipher_scratch);
        raw.clear();
        raw.reserve(READ_SIZE);
        let process = Arc::clone(&self.process);
        let Some(link) = self.links.get(slot) else { return ReadOutcome::Drained };
        let mut outcome = read_once(&link.socket, &mut raw);
        let Some(tls) = &mut link.tls else { return outcome };
        let progress = tls.receive(&raw, buffer);
        let refusal = match progress {
            TlsProgress::Going => None,
            TlsProgress::Established => NodeKeys::judge(tls, process.peers[link.peer].identity()).err(),
            TlsProgress::Failed => Some(format!("TLS: {}", tls.failure())),
        };
        if tls.has_ended() {
            outcome = ReadOutcome::Ended;
        }
        let has_more = progress == TlsProgress::Established || !tls.outgoing.is_empty();
        self.cipher_scratch = raw;
        if let Some(reason) = refusal {
            // The alert that says why; nothing of ours was encrypted for it.
            let _ = write_once(&link.socket, &tls.outgoing);
            self.refuse_link(slot, &reason);
        } else if has_more {
            self.links.mark_dirty(slot);
        }
        outcome
    }

    /// Another link of the peer has ended: what it said by this one before is here already, and still heard.
    fn take_leftovers(&mut self, slot: u32) {
        for _ in 0..LEFTOVER_READS_MAX {
            let Some(link) = self.links.get(slot).filter(|link| link.stage == LinkStage::Open) else {
                return;
            };
            link.is_queued = false;
            self.read_link(slot, Source::Socket);
            if !self.links.get(slot).is_some_and(|link| link.is_queued && !link.is_hung_up) {
                break;
            }
        }
        self.take_last_words(slot);
    }

    /// The peer is gone: what it said by shared memory before it went is still heard, as a socket would have it.
    fn take_last_words(&mut self, slot: u32) {
        for _ in 0..=RING_SIZE_ENOUGH / READ_SIZE {
            let Some(link) = self.links.get(slot) else { return };
            if !link.has_incoming() {
                return;
            }
            self.read_link(slot, Source::Ring);
        }
    }

    /// Handles the complete frames in `bytes`; how many bytes they take. The link may be gone afterwards.
    fn take_frames(&mut self, slot: u32, bytes: &[u8]) -> usize {
        let mut consumed = 0;
        loop {
            let Some(link) = self.links.get(slot) else { return bytes.len() };
            let rest = &bytes[consumed..];
            if link.stage != LinkStage::Open && announced_size(rest).is_some_and(|size| size > HELLO_SIZE_MAX)
            {
                self.refuse_link(slot, "its first frame is no hello");
                return bytes.len();
            }
            if link.stage != LinkStage::Open && transport::is_mysql_greeting(rest) {
                let port = self.process.peers[link.peer].config.port;
                let reason = format!(
                    "port {port} speaks MySQL: is ServerPort of that node in config.ini the port of a MySQL server?"
                );
                self.refuse_link(slot, &reason);
                return bytes.len();
            }
            match next_frame(rest) {
                Ok(Some((payload, size))) => {
                    consumed += size;
                    self.take_frame(slot, payload);
                }
                Ok(None) => return consumed,
                Err(error) => {
                    self.refuse_link(slot, &format!("bad frame: {error}"));
                    return bytes.len();
                }
            }
        }
    }

    fn take_frame(&mut self, slot: u32, payload: &[u8]) {
        let Some(link) = self.links.get(slot) else { return };
        let (peer, set, version, stage) = (link.peer, link.set, link.version, link.stage);
        match stage {
            LinkStage::Open if is_hello(payload) => {
                self.tell_supervisor(LinkNews::Confirmed { peer, set });
            }
            LinkStage::Open if transport::decode_notice(payload).is_some() => {
                let node = self.process.peers[peer].config.node;
                match transport::decode_notice(payload) {
                    Some(Ok(Notice::ProcessExited { node: ended, start, .. })) if ended == node => {
                        self.notify_membership(Input::ProcessExited { node, start });
                    }
                    _ => self.refuse_link(slot, "a notice that is not this peer's"),
                }
            }
            LinkStage::Open if transport::is_ring_mark(payload) => self.take_ring_mark(slot),
            LinkStage::Open => {
                let node = self.process.peers[peer].config.node;
                match decode_envelope(payload, version) {
                    Ok(envelope) if fits(envelope.from, envelope.to, node, self.process.node) => {
                        self.route(envelope)
                    }
                    Ok(_) => self.refuse_link(slot, "a signal that is not from this peer to this node"),
                    Err(error) => self.refuse_link(slot, &format!("bad signal: {error}")),
                }
            }
            LinkStage::Greeting | LinkStage::Connecting => self.take_answer(slot, payload),
        }
    }

    /// The hello that answers ours.
    fn take_answer(&mut self, slot: u32, payload: &[u8]) {
        let Some(link) = self.links.get(slot) else { return };
        let (peer, set, their_thread) = (link.peer, link.set, link.their_thread);
        if let Some(Ok(Notice::Refused { reason })) = transport::decode_notice(payload) {
            let reason = reason.escape_debug().to_string();
            self.remove_link(slot);
            return self.tell_supervisor(LinkNews::Refused { peer, set, reason });
        }
        let (version, hello) = match decode_hello(payload) {
            Ok(answer) => answer,
            Err(error) => return self.refuse_link(slot, &format!("bad hello: {error}")),
        };
        if let Some(reason) = self.process.refuse_hello(&hello) {
            return self.refuse_link(slot, &reason);
        }
        if hello.node != self.process.peers[peer].config.node
            || usize::from(hello.from_thread) != their_thread
        {
            return self.refuse_link(slot, "another node or thread answers than was called");
        }
        let Some(table) = PeerTable::new(&hello) else {
            return self.refuse_link(slot, "it has an impossible layout");
        };
        link.stage = LinkStage::Open;
        link.version = version.min(WIRE_VERSION);
        remember_peer(&self.process, peer, &link.socket, link.tls.as_deref());
        let has_rings = self.process.limits.link_memory > 0 && link.take_rings();
        if has_rings {
            link.send_by_ring();
            self.links.mark_dirty(slot);
        }
        let table = Arc::new(table);
        self.links.set_table(peer, set, Arc::clone(&table));
        self.tell_supervisor(LinkNews::Opened { peer, set, my_thread: self.index, their_thread, table });
        if has_rings {
            self.watch_bell(slot);
        }
    }

    /// The peer goes on by shared memory, and so do we.
    fn take_ring_mark(&mut self, slot: u32) {
        if !self.links.receive_by_ring(slot) {
            return self.refuse_link(slot, "it speaks of shared memory that there is not, or twice");
        }
        if let Some(link) = self.links.get(slot) {
            link.send_by_ring();
            self.links.mark_dirty(slot);
        }
    }

    fn watch_bell(&mut self, slot: u32) {
        let token = Token::Bell(slot, self.links.generation(slot));
        let Some(way) = self.links.get(slot).and_then(|link| link.rings.as_ref()) else { return };
        if let Err(error) = self.poller.watch(way.rings.bell(), token) {
            self.close_link(slot, &error.to_string());
        }
    }

    /// Takes a link out. Its bell must be forgotten by hand: the peer has it as well, so closing it here does not end
    /// it.
    pub(super) fn remove_link(&mut self, slot: u32) -> Option<Link> {
        let link = self.links.remove(slot)?;
        if let Some(way) = &link.rings {
            self.poller.forget_quietly(way.rings.bell());
        }
        Some(link)
    }

    /// Closes a link whose peer does not keep to the protocol.
    fn refuse_link(&mut self, slot: u32, reason: &str) {
        self.process.counters.links_refused.fetch_add(1, Ordering::Relaxed);
        self.close_link(slot, reason);
    }

    fn close_link(&mut self, slot: u32, reason: &str) {
        if let Some(link) = self.remove_link(slot) {
            let peer = &self.process.peers[link.peer];
            // A peer that was reached and need not speak TLS may not be able to: the next attempt is made without, the
            // one after that with it.
            let was_refused = link.tls.is_some() && link.stage == LinkStage::Greeting;
            peer.is_tried_plain.store(was_refused && !peer.config.requires_tls, Ordering::Relaxed);
            self.tell_supervisor(LinkNews::Closed {
                peer: link.peer,
                set: link.set,
                reason: reason.to_owned(),
            });
        }
    }

    // ---- the supervisor's orders ------------------------------------------------------------------------------------

    pub(super) fn on_link_order(&mut self, order: LinkOrder) {
        match order {
            LinkOrder::Open { peer, set, their_thread, addresses, table } => {
                let connected =
                    connect_to(&self.process, peer, &addresses).map_err(|error| error.to_string());
                let secured = connected.and_then(|socket| self.begin_tls(peer, socket));
                match secured {
                    Ok((socket, tls)) => {
                        let slot =
                            self.links.insert(socket, (peer, set, their_thread), LinkStage::Connecting);
                        if let Some(link) = self.links.get(slot) {
                            link.tls = tls;
                        }
                        if let Some(table) = table {
                            self.links.set_table(peer, set, table);
                        }
                        self.links.greet(slot);
                        self.watch_link(slot);
                    }
                    Err(reason) => self.tell_supervisor(LinkNews::Closed { peer, set, reason }),
                }
            }
            LinkOrder::Adopt(adopted) => self.adopt_link(adopted),
            LinkOrder::Close { peer, set } => {
                for slot in self.links.of_peer(peer, set) {
                    self.take_leftovers(slot);
                    self.remove_link(slot);
                }
            }
        }
    }

    /// The filter that encrypts a link that this node makes; none for one that does not leave the machine.
    fn begin_tls(&self, peer: usize, socket: OwnedFd) -> Result<(OwnedFd, Option<Box<TlsFilter>>), String> {
        let to = &self.process.peers[peer];
        if shared_memory::is_for(&socket) {
            return Ok((socket, None));
        }
        match self.process.keys() {
            Some(_) if to.is_tried_plain.load(Ordering::Relaxed) => Ok((socket, None)),
            Some(keys) => {
                let mut filter = keys.connect().map_err(|error| error.to_string())?;
                filter.begin();
                Ok((socket, Some(Box::new(filter))))
            }
            None if to.config.requires_tls => Err("RequireTls, and this node has no keys".to_owned()),
            None => Ok((socket, None)),
        }
    }

    fn adopt_link(&mut self, adopted: AdoptedLink) {
        let AdoptedLink { peer, set, their_thread, socket, tls, version, leftover, table } = adopted;
        remember_peer(&self.process, peer, &socket, tls.as_deref());
        let slot = self.links.insert(socket, (peer, set, their_thread), LinkStage::Open);
        if let Some(link) = self.links.get(slot) {
            link.tls = tls;
        }
        self.links.set_table(peer, set, table);
        self.links.greet(slot);
        let ring_size = self.links.ring_size(peer);
        let wants_rings = self.process.limits.link_memory > 0;
        let mut has_rings = false;
        if let Some(link) = self.links.get(slot) {
            link.version = version.min(WIRE_VERSION);
            has_rings = wants_rings && link.offer_rings(ring_size);
        }
        self.watch_link(slot);
        if has_rings {
            self.watch_bell(slot);
        }
        let consumed = self.take_frames(slot, &leftover);
        if let Some(link) = self.links.get(slot)
            && consumed < leftover.len()
        {
            link.receive.extend_from_slice(&leftover[consumed..]);
        }
    }

    fn watch_link(&mut self, slot: u32) {
        let token = Token::Link(slot, self.links.generation(slot));
        let Some(link) = self.links.get(slot) else { return };
        let watched = if link.stage == LinkStage::Connecting {
            self.poller.watch_connecting(&*link.socket, token)
        } else {
            self.poller.watch(&*link.socket, token)
        };
        self.counting.system_calls += 1;
        if let Err(error) = watched {
            self.close_link(slot, &error.to_string());
        }
    }

    // ---- the supervisor's thread ------------------------------------------------------------------------------------

    fn tell_supervisor(&mut self, news: LinkNews) {
        if self.supervisor.is_some() {
            self.on_link_news(news);
        } else {
            let supervisor = self.process.supervisor;
            self.exchange.send(supervisor, Parcel::Control(Box::new(Control::News(news))));
        }
    }

    pub(super) fn on_link_news(&mut self, news: LinkNews) {
        let now = self.now.monotonic;
        let mut steps = Vec::new();
        if let Some(supervisor) = &mut self.supervisor {
            supervisor.on_news(news, now, &mut steps);
        }
        self.take_steps(steps);
    }

    pub(super) fn on_resolved(&mut self, peer: usize, set: u64, addresses: &[SocketAddr]) {
        let now = self.now.monotonic;
        let mut steps = Vec::new();
        if let Some(supervisor) = &mut self.supervisor {
            supervisor.on_resolved((peer, set), addresses, now, &mut steps);
        }
        self.take_steps(steps);
    }

    pub(super) fn supervise_deadline(&mut self, now: Instant) {
        let Some(supervisor) = &mut self.supervisor else { return };
        if supervisor.deadline().is_some_and(|deadline| deadline <= now) {
            let mut steps = Vec::new();
            supervisor.on_deadline(now, &mut steps);
            self.take_steps(steps);
        }
    }

    /// Does what the supervisor wants, but for what it orders of its own thread while a link is being read there: that
    /// follows.
    pub(super) fn take_steps(&mut self, steps: Vec<Step>) {
        for step in steps {
            match step {
                Step::Order { thread, order } if thread == self.index => self.orders.push_back(order),
                Step::Order { thread, order } => {
                    self.exchange.send(thread, Parcel::Control(Box::new(Control::Link(order))));
                }
                Step::Resolve { peer, set } => self.resolve(peer, set),
                Step::Confirm { peer } => {
                    if let Some(slot) = self.links.toward(peer, ModuleKind::Membership, 0) {
                        self.links.greet(slot);
                    }
                }
                Step::Up(node) => self.notify_membership(Input::LinkUp { node }),
                Step::Down(node) => {
                    if let Some(peer) = self.process.peer(node) {
                        *unpoisoned(&self.process.peers[peer].connected) = None;
                    }
                    self.notify_membership(Input::LinkDown { node });
                }
                Step::Log(severity, message) => self.process.log(severity, message),
                Step::End(reason) => {
                    self.process.log(Severity::Error, reason);
                    self.process.exit(EXIT_REFUSED);
                }
            }
        }
        self.take_orders();
    }

    /// Carries out the supervisor's orders to its own thread, one after the other: what follows from one comes behind
    /// those that wait.
    fn take_orders(&mut self) {
        if self.are_orders_held {
            return;
        }
        self.are_orders_held = true;
        while let Some(order) = self.orders.pop_front() {
            self.on_link_order(order);
        }
        self.are_orders_held = false;
    }

    pub(super) fn notify_membership(&mut self, input: OwnedInput<S>) {
        let module = self.modules.iter().position(|slot| slot.address.kind == ModuleKind::Membership);
        if let Some(module) = module {
            self.notify(module, input);
        }
    }

    /// Asks the system's resolver, which may take seconds, on a thread of its own.
    fn resolve(&mut self, peer: usize, set: u64) {
        let process = Arc::clone(&self.process);
        let index = self.index;
        let look_up = move || {
            let config = &process.peers[peer].config;
            let found = (config.host.as_str(), config.port).to_socket_addrs();
            let addresses = found.map_or_else(|_| Vec::new(), Iterator::collect);
            process.threads[index].tell(External::Resolved { peer, set, addresses });
        };
        if std::thread::Builder::new().name("resolver".to_owned()).spawn(look_up).is_err() {
            self.on_resolved(peer, set, &[]);
        }
    }

    // ---- the end ----------------------------------------------------------------------------------------------------

    /// The last word of a process whose other threads have all stopped: its peers need not wait for any lease of it.
    pub(super) fn say_farewell(&mut self) {
        let end = clock::monotonic() + FAREWELL_PATIENCE;
        while !self.process.are_others_stopped() {
            if clock::monotonic() > end {
                return;
            }
            #[expect(
                clippy::disallowed_methods,
                reason = "the last thread has nothing else to do, and nobody is left to wake it"
            )]
            std::thread::sleep(std::time::Duration::from_micros(200));
        }
        let process = Arc::clone(&self.process);
        let notice = Notice::ProcessExited {
            cluster: process.cluster.clone(),
            node: process.node,
            start: process.start,
        };
        for peer in 0..process.peers.len() {
            if let Some(slot) = self.links.toward(peer, ModuleKind::Membership, 0)
                && let Some(link) = self.links.get(slot)
                && link.stage == LinkStage::Open
            {
                transport::encode_notice(&notice, &mut link.send);
                self.links.mark_dirty(slot);
            }
        }
        self.flush_links();
    }

    /// Nobody watches any more whether a thread hangs, which may be why this node ends: it would never be started
    /// again.
    pub(super) fn await_other_threads(&self) {
        let limit = self.process.limits.stuck_after;
        let mut waited = stdx::Duration::ZERO;
        while limit > stdx::Duration::ZERO && !self.process.are_others_stopped() {
            stdx::require!(waited < limit, "a thread does not stop within {} ms", limit.as_millis());
            #[expect(
                clippy::disallowed_methods,
                reason = "the last thread has nothing else to do, and nobody is left to wake it"
            )]
            std::thread::sleep(std::time::Duration::from_millis(1));
            waited += stdx::Duration::from_millis(1);
        }
    }
}

/// Notes the process at the other end of a link, for people.
fn remember_peer(process: &Process, peer: usize, socket: &OwnedFd, tls: Option<&TlsFilter>) {
    let is_local = shared_memory::is_for(socket);
    let address = rustix::net::getpeername(socket).ok().flatten();
    let address = address.and_then(|address| SocketAddr::try_from(address).ok());
    let security = match tls {
        _ if is_local => LinkSecurity::Local,
        Some(_) => LinkSecurity::Tls,
        None => LinkSecurity::Plain,
    };
    let report = PeerReport {
        node: process.peers[peer].config.node,
        address: address.map_or_else(|| "localhost".to_owned(), |it| it.ip().to_canonical().to_string()),
        security,
        certificate: tls.and_then(|tls| peer_facts(tls).ok()).as_ref().map(report::certificate),
    };
    *unpoisoned(&process.peers[peer].connected) = Some(report);
}
