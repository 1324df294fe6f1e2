//! Which links this node has: one set of links per peer, all up or none. A pure state machine on the `membership`
//! thread.
//!
//! ```text
//! higher node id (connects)                          lower node id (accepts)
//! thread 0 connects, Hello(0 -> 0)        ------->   begins a new set, closing an older one; thread 0 adopts the link
//!                                         <-------   Hello with the table of its threads
//! every paired thread connects, Hello(a -> b) ---->  thread b adopts the link
//!                                         <-------   Hello
//! all links open: Hello again, from the
//! membership thread; LinkUp               ------->   LinkUp
//! ```
//! Invariants:
//! - LinkUp is told once per set and before any signal from that peer's `membership` of that set is delivered to ours;
//! - when one link of a set closes, LinkDown follows if LinkUp was told, and all links of the set are closed. A new set
//!   has a new number, and news about older sets is ignored;
//! - the acceptor's LinkUp follows the connector's, so that a module that hears it finds all links open at the other
//!   end.
//!
//! Signals to other modules may arrive shortly before LinkUp: views fence them. An attempt uses a peer's Unix socket if
//! it answers, else the first of its addresses that does not refuse at once.

use crate::links::{AdoptedLink, LinkOrder, Pairing, PeerTable};
use crate::tls::TlsFilter;
use protocol::Severity;
use protocol::transport::Hello;
use rustix::fd::OwnedFd;
use std::net::SocketAddr;
use std::sync::Arc;
use stdx::{Duration, FixedSet, Instant};
use types::NodeId;

#[cfg(test)]
mod tests;

/// From threads to the supervisor.
pub(crate) enum LinkNews {
    /// Both hellos were exchanged.
    Opened { peer: usize, set: u64, my_thread: usize, their_thread: usize, table: Arc<PeerTable> },
    /// A link closed, or could not be opened.
    Closed { peer: usize, set: u64, reason: String },
    /// The peer refuses this very process, and says why.
    Refused { peer: usize, set: u64, reason: String },
    /// The connector has opened all links of the set.
    Confirmed { peer: usize, set: u64 },
}

/// The steps that the supervisor wants done, in this order.
pub(crate) enum Step {
    /// Give a thread an order.
    Order { thread: usize, order: LinkOrder },
    /// Find the addresses of the peer's host.
    Resolve { peer: usize, set: u64 },
    /// Send the second hello to the peer's `membership`.
    Confirm { peer: usize },
    /// Tell `membership`.
    Up(NodeId),
    /// Tell `membership`.
    Down(NodeId),
    /// Tell the operator.
    Log(Severity, String),
    /// This process may not run: tell the operator, and end.
    End(String),
}

/// The facts about a peer that the supervisor needs.
#[derive(Clone)]
pub(crate) struct PeerPlan {
    pub(crate) node: NodeId,
    pub(crate) host: String,
    pub(crate) port: u16,
}

/// Times and sizes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SupervisorLimits {
    pub(crate) open_timeout: Duration,
    pub(crate) pause_min: Duration,
    pub(crate) pause_max: Duration,
    pub(crate) links_max: usize,
    pub(crate) refused_patience: Duration,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    Connects,
    Accepts,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// No links; the connector tries again at `at`.
    Down,
    /// The first link is being opened, and with it the peer's table comes.
    First,
    /// The other links are being opened.
    Filling,
    /// All links are open, and `membership` knows.
    Up,
}

struct PeerState {
    plan: PeerPlan,
    role: Role,
    phase: Phase,
    set: u64,
    /// The peer's process at the other end of the set, and where it connected from.
    process: Option<(u64, String)>,
    opened: FixedSet<(usize, usize)>,
    pairing: Option<Pairing>,
    table: Option<Arc<PeerTable>>,
    /// Where this attempt connects.
    addresses: Arc<[SocketAddr]>,
    /// Retry or timeout.
    at: Option<Instant>,
    pause: Duration,
    /// The failure to connect is told once.
    is_failure_told: bool,
    /// Since when it refuses this process, without anything else in between.
    refused_since: Option<Instant>,
}

/// The supervisor of all peers' links.
pub(crate) struct Supervisor {
    thread_count: usize,
    limits: SupervisorLimits,
    peers: Vec<PeerState>,
}

impl Supervisor {
    /// `now` is when connecting begins.
    pub(crate) fn new(
        me: NodeId,
        thread_count: usize,
        peers: Vec<PeerPlan>,
        limits: SupervisorLimits,
        now: Instant,
    ) -> Self {
        let state = |plan: PeerPlan| {
            let role = if me > plan.node { Role::Connects } else { Role::Accepts };
            PeerState {
                at: (role == Role::Connects).then_some(now),
                plan,
                role,
                phase: Phase::Down,
                set: 0,
                process: None,
                opened: FixedSet::default(),
                pairing: None,
                table: None,
                addresses: Arc::new([]),
                pause: limits.pause_min,
                is_failure_told: false,
                refused_since: None,
            }
        };
        Self { thread_count, limits, peers: peers.into_iter().map(state).collect() }
    }

    /// When [`on_deadline`](Self::on_deadline) must be called.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.peers.iter().filter_map(|peer| peer.at).min()
    }

    /// Time has passed: retries and timeouts.
    pub(crate) fn on_deadline(&mut self, now: Instant, steps: &mut Vec<Step>) {
        for index in 0..self.peers.len() {
            let peer = &mut self.peers[index];
            if peer.at.is_none_or(|at| at > now) {
                continue;
            }
            if peer.phase == Phase::Down {
                peer.set += 1;
                peer.phase = Phase::First;
                peer.at = Some(now + self.limits.open_timeout);
                match peer.plan.host.parse() {
                    Ok(ip) => {
                        let address = SocketAddr::new(ip, peer.plan.port);
                        self.open_first(index, Arc::new([address]), steps);
                    }
                    Err(_) => steps.push(Step::Resolve { peer: index, set: peer.set }),
                }
            } else {
                self.fail(index, "it took too long to open the links", now, steps);
            }
        }
    }

    /// The addresses of a peer were found, or none.
    pub(crate) fn on_resolved(
        &mut self,
        (index, set): (usize, u64),
        addresses: &[SocketAddr],
        now: Instant,
        steps: &mut Vec<Step>,
    ) {
        let peer = &self.peers[index];
        if peer.set != set || peer.phase != Phase::First {
            return;
        }
        if addresses.is_empty() {
            let reason = format!("host {} is not known", peer.plan.host);
            self.fail(index, &reason, now, steps);
        } else {
            // Each attempt begins with another address of a host that has several.
            let mut addresses = addresses.to_vec();
            let turn = usize::try_from(set).unwrap_or(0) % addresses.len();
            addresses.rotate_left(turn);
            self.open_first(index, addresses.into(), steps);
        }
    }

    fn open_first(&mut self, index: usize, addresses: Arc<[SocketAddr]>, steps: &mut Vec<Step>) {
        let peer = &mut self.peers[index];
        peer.addresses = Arc::clone(&addresses);
        let order = LinkOrder::Open { peer: index, set: peer.set, their_thread: 0, addresses, table: None };
        steps.push(Step::Order { thread: 0, order });
    }

    /// Why a hello comes from a second process with the id of a peer that is connected already; `None` if it does not.
    pub(crate) fn refuse_second(&self, index: usize, hello: &Hello, from: &str) -> Option<String> {
        let peer = &self.peers[index];
        let (start, first) = peer.process.as_ref().filter(|_| peer.phase == Phase::Up)?;
        (hello.start != *start).then(|| {
            format!(
                "node {} runs already, connected from {first}; another one connects from {from}",
                hello.node
            )
        })
    }

    /// A peer connected and said an acceptable hello.
    pub(crate) fn on_hello(
        &mut self,
        index: usize,
        (hello, from): (&Hello, &str),
        (socket, tls, version, leftover): (OwnedFd, Option<Box<TlsFilter>>, u16, Vec<u8>),
        now: Instant,
        steps: &mut Vec<Step>,
    ) -> Result<(), String> {
        let node = hello.node;
        let peer = &self.peers[index];
        if peer.role != Role::Accepts {
            return Err(format!("node {node} connects, though its id is lower than ours"));
        }
        let pair = (usize::from(hello.to_thread), usize::from(hello.from_thread));
        let table = if pair == (0, 0) {
            let table =
                PeerTable::new(hello).ok_or_else(|| format!("node {node} has an impossible layout"))?;
            if peer.phase != Phase::Down {
                self.fail(index, "it has connected anew", now, steps);
            }
            let table = Arc::new(table);
            let peer = &mut self.peers[index];
            peer.set += 1;
            peer.phase = Phase::Filling;
            peer.process = Some((hello.start, from.to_owned()));
            peer.at = Some(now + self.limits.open_timeout);
            peer.pairing = Some(Pairing::new(self.thread_count, table.thread_count, self.limits.links_max));
            peer.table = Some(Arc::clone(&table));
            table
        } else {
            let expected = peer.phase == Phase::Filling && !peer.opened.contains(&pair);
            let paired = peer.pairing.is_some_and(|pairing| pairing.has(pair.0, pair.1));
            let table = peer.table.clone().filter(|_| expected && paired);
            table.ok_or_else(|| format!("node {node} opens a link that does not belong to a set"))?
        };
        let peer = &mut self.peers[index];
        peer.opened.insert(pair);
        let adopted = AdoptedLink {
            peer: index,
            set: peer.set,
            their_thread: pair.1,
            socket,
            tls,
            version,
            leftover,
            table,
        };
        steps.push(Step::Order { thread: pair.0, order: LinkOrder::Adopt(adopted) });
        Ok(())
    }

    /// A thread has news about a link.
    pub(crate) fn on_news(&mut self, news: LinkNews, now: Instant, steps: &mut Vec<Step>) {
        match news {
            LinkNews::Opened { peer, set, my_thread, their_thread, table } => {
                let state = &self.peers[peer];
                // A set that has failed keeps its number until the next one begins: its link does not count in that
                // one.
                let is_filling = matches!(state.phase, Phase::First | Phase::Filling);
                if state.set == set && is_filling && state.role == Role::Connects {
                    self.on_opened(peer, (my_thread, their_thread), table, steps);
                }
            }
            LinkNews::Closed { peer, set, reason } => {
                if self.peers[peer].set == set && self.peers[peer].phase != Phase::Down {
                    self.peers[peer].refused_since = None;
                    self.fail(peer, &reason, now, steps);
                }
            }
            LinkNews::Refused { peer, set, reason } => {
                if self.peers[peer].set == set && self.peers[peer].phase != Phase::Down {
                    self.on_refused(peer, &reason, now, steps);
                }
            }
            LinkNews::Confirmed { peer, set } => {
                let state = &self.peers[peer];
                if state.set == set && state.phase == Phase::Filling && state.role == Role::Accepts {
                    self.up(peer, steps);
                }
            }
        }
    }

    /// The peer is connected with another process of this node. It may be about to notice that the other one is gone.
    /// If it does not, the other one lives, and this one is too many, unless somebody is connected with this one.
    fn on_refused(&mut self, index: usize, reason: &str, now: Instant, steps: &mut Vec<Step>) {
        let peer = &mut self.peers[index];
        let since = *peer.refused_since.get_or_insert(now);
        let (node, limit) = (peer.plan.node, self.limits.refused_patience);
        self.fail(index, &format!("it refuses: {reason}"), now, steps);
        let is_alone = self.peers.iter().all(|peer| peer.phase != Phase::Up);
        if is_alone && now.since(since) >= limit {
            steps.push(Step::End(format!("node {node} refuses this process: {reason}")));
        }
    }

    fn on_opened(
        &mut self,
        index: usize,
        pair: (usize, usize),
        table: Arc<PeerTable>,
        steps: &mut Vec<Step>,
    ) {
        let peer = &mut self.peers[index];
        if peer.phase == Phase::First {
            peer.phase = Phase::Filling;
            let pairing = Pairing::new(self.thread_count, table.thread_count, self.limits.links_max);
            peer.pairing = Some(pairing);
            for (my_thread, their_thread) in pairing.pairs().filter(|other| *other != pair) {
                let order = LinkOrder::Open {
                    peer: index,
                    set: peer.set,
                    their_thread,
                    addresses: Arc::clone(&peer.addresses),
                    table: Some(Arc::clone(&table)),
                };
                steps.push(Step::Order { thread: my_thread, order });
            }
        }
        peer.opened.insert(pair);
        let all = peer.pairing.is_some_and(|pairing| pairing.pairs().count() == peer.opened.len());
        if all && peer.phase == Phase::Filling {
            steps.push(Step::Confirm { peer: index });
            self.up(index, steps);
        }
    }

    fn up(&mut self, index: usize, steps: &mut Vec<Step>) {
        let peer = &mut self.peers[index];
        peer.phase = Phase::Up;
        peer.at = None;
        peer.pause = self.limits.pause_min;
        peer.is_failure_told = false;
        peer.refused_since = None;
        let links = peer.opened.len();
        let plural = if links == 1 { "" } else { "s" };
        steps.push(Step::Log(
            Severity::Info,
            format!("node {} is connected, {links} link{plural}", peer.plan.node),
        ));
        steps.push(Step::Up(peer.plan.node));
    }

    fn fail(&mut self, index: usize, reason: &str, now: Instant, steps: &mut Vec<Step>) {
        let peer = &mut self.peers[index];
        let node = peer.plan.node;
        if peer.phase == Phase::Up {
            steps.push(Step::Down(node));
            steps.push(Step::Log(Severity::Warning, format!("node {node} is disconnected: {reason}")));
        } else if !peer.is_failure_told {
            peer.is_failure_told = true;
            let message = format!(
                "node {node} at {}:{} cannot be reached yet: {reason}",
                peer.plan.host, peer.plan.port
            );
            steps.push(Step::Log(Severity::Info, message));
        }
        for thread in 0..self.thread_count {
            steps.push(Step::Order { thread, order: LinkOrder::Close { peer: index, set: peer.set } });
        }
        peer.phase = Phase::Down;
        peer.opened.clear();
        peer.pairing = None;
        peer.table = None;
        peer.at = (peer.role == Role::Connects).then(|| now + peer.pause);
        peer.pause = (peer.pause * 2).min(self.limits.pause_max);
    }
}
