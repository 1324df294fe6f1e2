//! Connections on the cluster port whose other end has not proved who it is. Anybody can make them.
//!
//! ```text
//! accepted ─▶ TLS, if it begins like TLS ─▶ first frame ─▶ a hello:  judged, and handed to the supervisor
//!                                                      └─▶ a notice: that a process has ended
//! ```
//! A stranger has to prove this, whichever node it says it is:
//! - by TLS: it has that node's certificate (`keys`); where TLS is required, nothing else will do;
//! - by TCP: it comes from an address of that node's HostName, which is looked up anew each time;
//! - by the Unix socket: it is a process of this user (or root), on this machine.
//!
//! A notice that a process has ended counts only with the same proof: that node's own angel sends it, from its host,
//! with its keys. One of a node of this machine comes by the Unix socket.
//!
//! Invariants: a stranger costs at most a slot of [`STRANGERS_MAX`], [`STRANGER_BYTES_MAX`] bytes, the time
//! `link_open_timeout`, and with others a line of the log in [`LOG_PAUSE`]. When slots are scarce, the address that
//! holds most of them loses its oldest one. A stranger is answered nothing but TLS before its proof.

use super::{Timer, Worker};
use crate::connections::{ReadOutcome, read_once, write_once};
use crate::keys::NodeKeys;
use crate::links::{HELLO_SIZE_MAX, announced_size};
use crate::listeners::{Accepted, ListenerKind, is_of_this_user};
use crate::process::External;
use crate::tls::{TlsFilter, TlsProgress};
use crate::wake::{Readiness, Token};
use protocol::transport::{self, Hello, Notice, decode_hello, next_frame};
use protocol::{Input, Severity};
use rustix::fd::OwnedFd;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use stdx::{Duration, Instant};
use types::NodeId;

/// Connections that have not proved who they are, at most.
pub const STRANGERS_MAX: usize = 256;
/// The bytes that are read of one: its hello, and what TLS says before it.
const STRANGER_BYTES_MAX: usize = HELLO_SIZE_MAX + 64 * 1024;
/// Bytes read at once.
const PIECE_SIZE: usize = 4096;
/// Refusals are logged no more often than this.
const LOG_PAUSE: Duration = Duration::from_secs(60);

/// One connection.
struct Stranger {
    socket: OwnedFd,
    generation: u32,
    since: Instant,
    /// The bytes that it has said, decrypted.
    receive: Vec<u8>,
    /// How much was read of it.
    read_count: usize,
    tls: Option<Box<TlsFilter>>,
    /// For people.
    from: String,
    /// None by the Unix socket.
    ip: Option<IpAddr>,
    host: HostLookup,
}

/// The addresses of the host on which it says it is.
enum HostLookup {
    NotAsked,
    /// For this peer.
    Waiting(usize),
    Found(Vec<IpAddr>),
}

/// A proof, or that it waits for the resolver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Proof {
    Complete,
    Waiting,
}

/// All of them.
#[derive(Default)]
pub(super) struct Strangers {
    slots: Vec<Option<Stranger>>,
    generation: u32,
    /// Peers whose hosts are being looked up.
    lookups: Vec<usize>,
    log_at: Instant,
    /// Refusals since the last line of the log.
    unlogged: u64,
}

impl Strangers {
    fn get(&mut self, slot: u32) -> Option<&mut Stranger> {
        self.slots.get_mut(slot as usize)?.as_mut()
    }

    /// The oldest stranger of the address that has most.
    fn least_welcome(&self) -> Option<u32> {
        let mut by_address: BTreeMap<Option<IpAddr>, (usize, Instant, u32)> = BTreeMap::new();
        for (slot, stranger) in (0_u32..).zip(&self.slots) {
            let Some(stranger) = stranger else { continue };
            let entry = by_address.entry(stranger.ip).or_insert((0, stranger.since, slot));
            entry.0 += 1;
            if stranger.since < entry.1 {
                (entry.1, entry.2) = (stranger.since, slot);
            }
        }
        by_address.into_values().max_by_key(|(count, _, _)| *count).map(|(_, _, slot)| slot)
    }
}

impl Stranger {
    /// Reads what there is, up to the limit. The error says why it is refused.
    fn read(&mut self, is_hung_up: bool, keys: Option<Arc<NodeKeys>>) -> Result<ReadOutcome, String> {
        let mut raw = Vec::new();
        let mut outcome = ReadOutcome::More;
        // Edge-triggered, so read to the end (also to the end of a connection that hung up).
        let goes_on =
            |outcome| outcome == ReadOutcome::More || (outcome == ReadOutcome::Drained && is_hung_up);
        while goes_on(outcome) && self.read_count + raw.len() < STRANGER_BYTES_MAX {
            raw.reserve(PIECE_SIZE);
            outcome = read_once(&self.socket, &mut raw);
        }
        self.read_count += raw.len();
        let progress = match &mut self.tls {
            Some(tls) => tls.receive(&raw, &mut self.receive),
            None => {
                self.receive.append(&mut raw);
                if self.ip.is_none() || !begins_like_tls(&self.receive) {
                    return Ok(outcome);
                }
                let keys = keys.ok_or("it speaks TLS, and this node has no keys")?;
                let filter = self.tls.insert(Box::new(keys.accept().map_err(|error| error.to_string())?));
                filter.receive(&std::mem::take(&mut self.receive), &mut self.receive)
            }
        };
        let Some(tls) = &mut self.tls else { return Ok(outcome) };
        // A flight of a handshake fits the empty buffer of a new connection.
        if !tls.outgoing.is_empty() {
            let _ = write_once(&self.socket, &tls.outgoing);
            tls.outgoing.clear();
        }
        if progress == TlsProgress::Failed {
            return Err(format!("TLS: {}", tls.failure()));
        }
        Ok(if tls.has_ended() { ReadOutcome::Ended } else { outcome })
    }
}

/// A record of a TLS handshake. As a frame's length it would be more than any hello's.
fn begins_like_tls(bytes: &[u8]) -> bool {
    matches!(bytes, [22, 3, version, ..] if *version > 0)
}

impl<S: Send + 'static> Worker<S> {
    pub(super) fn open_cluster_listeners(&mut self) {
        for index in 0..self.listeners.len() {
            if !self.listeners[index].kind.is_for_clients() {
                self.open_listener(index);
            }
        }
    }

    pub(super) fn welcome_stranger(&mut self, listener: ListenerKind, accepted: Accepted) {
        if listener == ListenerKind::ClusterUnix && !is_of_this_user(&accepted.socket) {
            return self.count_refusal(&accepted.peer, "another user's process");
        }
        if let Some(slot) = self.slot_for_stranger() {
            self.strangers.generation = self.strangers.generation.wrapping_add(1) & 0x00ff_ffff;
            let generation = self.strangers.generation;
            let index = u32::try_from(slot).unwrap_or(u32::MAX);
            if self.poller.watch(&accepted.socket, Token::Stranger(index, generation)).is_ok() {
                let timeout = self.now.monotonic + self.process.limits.link_open_timeout;
                self.timers.register(timeout, Timer::Stranger(index, generation));
                let address = accepted.peer.parse::<SocketAddr>().ok();
                self.strangers.slots[slot] = Some(Stranger {
                    socket: accepted.socket,
                    generation,
                    since: self.now.monotonic,
                    receive: Vec::new(),
                    read_count: 0,
                    tls: None,
                    from: accepted.peer,
                    ip: address.map(|address| address.ip().to_canonical()),
                    host: HostLookup::NotAsked,
                });
            }
        }
    }

    /// A free slot, at the cost of the address that has most if there is none.
    fn slot_for_stranger(&mut self) -> Option<usize> {
        let slots = &mut self.strangers.slots;
        match slots.iter().position(Option::is_none) {
            Some(slot) => Some(slot),
            None if slots.len() < STRANGERS_MAX => {
                slots.push(None);
                Some(slots.len() - 1)
            }
            None => {
                let victim = self.strangers.least_welcome()?;
                self.refuse_stranger(victim, "too many connections have not said who they are");
                Some(victim as usize)
            }
        }
    }

    fn stranger(&mut self, slot: u32, generation: u32) -> Option<&mut Stranger> {
        self.strangers.get(slot).filter(|stranger| stranger.generation == generation)
    }

    pub(super) fn on_stranger_timeout(&mut self, slot: u32, generation: u32) {
        if self.stranger(slot, generation).is_some() {
            self.refuse_stranger(slot, "it did not say who it is in time");
        }
    }

    fn refuse_stranger(&mut self, slot: u32, reason: &str) {
        if let Some(stranger) = self.strangers.slots.get_mut(slot as usize).and_then(Option::take) {
            self.count_refusal(&stranger.from, reason);
        }
    }

    /// Anybody can connect as often as he likes: that is counted, and logged sparingly.
    fn count_refusal(&mut self, from: &str, reason: &str) {
        self.process.counters.strangers_refused.fetch_add(1, Ordering::Relaxed);
        let now = self.now.monotonic;
        if now < self.strangers.log_at {
            self.strangers.unlogged += 1;
            return;
        }
        self.strangers.log_at = now + LOG_PAUSE;
        let others = match std::mem::take(&mut self.strangers.unlogged) {
            0 => String::new(),
            count => format!(" ({count} others since the last such line)"),
        };
        let message = format!("cluster port: connection from {from} refused: {reason}{others}");
        self.process.log(Severity::Warning, message);
    }

    pub(super) fn on_stranger_event(&mut self, slot: u32, generation: u32, event: Readiness) {
        let keys = self.process.keys();
        let Some(stranger) = self.stranger(slot, generation) else { return };
        match stranger.read(event.hung_up, keys) {
            Ok(outcome) => self.judge_stranger(slot, outcome),
            Err(reason) => self.refuse_stranger(slot, &reason),
        }
    }

    /// Looks whether its first frame is complete, and what it is.
    fn judge_stranger(&mut self, slot: u32, outcome: ReadOutcome) {
        let Some(stranger) = self.strangers.get(slot) else { return };
        if matches!(stranger.host, HostLookup::Waiting(_)) && outcome != ReadOutcome::Ended {
            return;
        }
        let is_too_long = announced_size(&stranger.receive).is_some_and(|size| size > HELLO_SIZE_MAX);
        let frame = match next_frame(&stranger.receive) {
            Ok(Some((payload, size))) if !is_too_long => Ok((payload.to_vec(), size)),
            Ok(None) if !is_too_long && outcome == ReadOutcome::Drained => return,
            Ok(None) if !is_too_long => Err("it left before its hello was complete".to_owned()),
            _ => Err("its first frame is no hello".to_owned()),
        };
        let judged = frame.and_then(|(payload, size)| match transport::decode_notice(&payload) {
            Some(Ok(Notice::ProcessExited { cluster, node, start })) if cluster == self.process.cluster => {
                self.take_exit(slot, node, start)
            }
            Some(_) => Err("a notice that is not for this cluster".to_owned()),
            None => {
                let (version, hello) =
                    decode_hello(&payload).map_err(|error| format!("bad hello: {error}"))?;
                self.admit(slot, version, &hello, size)
            }
        });
        if let Err(reason) = judged {
            self.refuse_stranger(slot, &reason);
        }
    }

    /// A node's angel says that its process has ended.
    fn take_exit(&mut self, slot: u32, node: NodeId, start: u64) -> Result<(), String> {
        let peer = self.process.peer(node).ok_or_else(|| format!("node {node} is not configured"))?;
        let is_neighbour = self.process.peers[peer].config.unix.is_some() && self.process.has_cluster_socket;
        let stranger = self.strangers.get(slot).ok_or("it is gone")?;
        if stranger.ip.is_some() && is_neighbour {
            return Err(format!("it is not the angel of node {node} that says that it has ended"));
        }
        if self.prove(slot, peer)? == Proof::Complete {
            self.strangers.slots[slot as usize] = None;
            self.notify_membership(Input::ProcessExited { node, start });
        }
        Ok(())
    }

    fn admit(&mut self, slot: u32, version: u16, hello: &Hello, hello_size: usize) -> Result<(), String> {
        if let Some(reason) = self.process.refuse_hello(hello) {
            return Err(reason);
        }
        let peer = self.process.peer(hello.node).ok_or("unknown node")?;
        if self.prove(slot, peer)? == Proof::Waiting {
            return Ok(());
        }
        let Some(stranger) = self.strangers.slots[slot as usize].take() else { return Ok(()) };
        let Stranger { socket, mut tls, receive, from, .. } = stranger;
        if let Some(supervisor) = &self.supervisor
            && let Some(reason) = supervisor.refuse_second(peer, hello, &from)
        {
            // Others are told nothing: this one is of our cluster, and its operator should know.
            tell_refusal(&socket, tls.as_deref_mut(), &reason);
            self.count_refusal(&from, &reason);
            return Ok(());
        }
        self.poller.forget(&socket);
        let leftover = receive[hello_size..].to_vec();
        let now = self.now.monotonic;
        let mut steps = Vec::new();
        let result = match &mut self.supervisor {
            Some(supervisor) => {
                let link = (socket, tls, version, leftover);
                supervisor.on_hello(peer, (hello, from.as_str()), link, now, &mut steps)
            }
            None => Err("this thread does not supervise links".to_owned()),
        };
        self.take_steps(steps);
        if let Err(reason) = result {
            self.count_refusal(&from, &reason);
        }
        Ok(())
    }

    /// Whether it is the peer that it says it is; the error says why not.
    fn prove(&mut self, slot: u32, peer: usize) -> Result<Proof, String> {
        let process = Arc::clone(&self.process);
        let config = &process.peers[peer].config;
        let (node, host) = (config.node, config.host.as_str());
        let Some(stranger) = self.strangers.get(slot) else { return Err("it is gone".to_owned()) };
        // By the Unix socket, which only this user's processes can use.
        let Some(ip) = stranger.ip else { return Ok(Proof::Complete) };
        match &stranger.tls {
            Some(tls) => drop(NodeKeys::judge(tls, process.peers[peer].identity())?),
            None if config.requires_tls => return Err(format!("node {node} has to speak TLS")),
            None => {}
        }
        let is_there = match (host.parse::<IpAddr>(), &stranger.host) {
            (Ok(address), _) => address.to_canonical() == ip,
            (Err(_), _) if host.eq_ignore_ascii_case("localhost") => ip.is_loopback(),
            (Err(_), HostLookup::Found(addresses)) => addresses.contains(&ip),
            (Err(_), HostLookup::NotAsked | HostLookup::Waiting(_)) => {
                stranger.host = HostLookup::Waiting(peer);
                self.look_up(peer);
                return Ok(Proof::Waiting);
            }
        };
        let refusal = || format!("node {node} is on {host} in config.ini, and that is not {ip}");
        if is_there { Ok(Proof::Complete) } else { Err(refusal()) }
    }

    /// Asks the system's resolver, which may take seconds, on a thread of its own; one for each peer at a time.
    fn look_up(&mut self, peer: usize) {
        if self.strangers.lookups.contains(&peer) {
            return;
        }
        let (process, index) = (Arc::clone(&self.process), self.index);
        let look_up = move || {
            let host = process.peers[peer].config.host.as_str();
            let found = (host, 0).to_socket_addrs();
            let address = |address: SocketAddr| address.ip().to_canonical();
            let addresses = found.map_or_else(|_| Vec::new(), |found| found.map(address).collect());
            process.threads[index].tell(External::HostFound { peer, addresses });
        };
        match std::thread::Builder::new().name("resolver".to_owned()).spawn(look_up) {
            Ok(_) => self.strangers.lookups.push(peer),
            // Their time will run out.
            Err(error) => self.process.log(Severity::Warning, format!("no host can be looked up: {error}")),
        }
    }

    pub(super) fn on_host_found(&mut self, peer: usize, addresses: &[IpAddr]) {
        self.strangers.lookups.retain(|other| *other != peer);
        for slot in 0..u32::try_from(self.strangers.slots.len()).unwrap_or(u32::MAX) {
            if let Some(stranger) = self.strangers.get(slot)
                && matches!(stranger.host, HostLookup::Waiting(other) if other == peer)
            {
                stranger.host = HostLookup::Found(addresses.to_vec());
                self.judge_stranger(slot, ReadOutcome::Drained);
            }
        }
    }
}

/// Tells the sender of an unacceptable hello why. It fits the empty buffer of a new connection; a stranger that does
/// not take it does not learn it.
fn tell_refusal(socket: &OwnedFd, tls: Option<&mut TlsFilter>, reason: &str) {
    let mut bytes = Vec::new();
    transport::encode_notice(&Notice::Refused { reason: reason.to_owned() }, &mut bytes);
    if let Some(tls) = tls {
        tls.send(&mut bytes);
        bytes = std::mem::take(&mut tls.outgoing);
    }
    let _ = write_once(socket, &bytes);
}
