//! Faults of processes, machines and the network of a simulated cluster.
//!
//! Links are TCP connections: nothing is lost while one lives. A cut link keeps what is on its way, in order, until it
//! is mended, or breaks after [`SILENCE_MAX`]. Then both ends hear of it, and what was kept is dropped. A link that is
//! reset breaks at once. A process that is killed closes its connections, and its angel tells the others; a machine
//! that loses power does neither.
//!
//! Invariant: every fault ends by itself, so that a cluster that is left alone is whole again, but for the nodes that
//! have died.

use super::{Delivery, Disks, Link, Node, World};
use crate::timed::Timed;
use protocol::disk::DiskLane;
use protocol::signal::LeaveStep;
use protocol::{Address, Envelope, Input, ModuleKind, NodeRole, Signal};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use types::NodeId;

/// How long a connection may be silent with something to send. It is shorter than `Limits::link_silence_timeout`, so
/// that more of them break.
const SILENCE_MAX: u64 = 3_000_000_000;
/// How long it may have something to send to a node that takes nothing, though its machine answers, in milliseconds:
/// `Limits::link_silence_timeout`.
pub const CHOKED_AFTER_MS: u64 = 8_000;

/// A report of a disk that stood still may be under way for so long.
const DISK_SETTLED: u64 = 1_000_000_000;
/// How long it takes at most until everybody knows what a broken connection has cost.
const RESET_SETTLED: u64 = 100_000_000;

/// A fault that ends by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Disruption {
    /// A process stands still (SIGSTOP).
    Pause {
        /// The node.
        node: NodeId,
        /// For so many nanoseconds.
        time: u64,
    },
    /// All modules of a node but `membership` stand still: its heartbeats go on, and it answers nothing.
    Hang {
        /// The node.
        node: NodeId,
        /// For so many nanoseconds.
        time: u64,
    },
    /// A node that hangs has taken nothing for so long that its connections with data nodes close, and are not opened
    /// again while it hangs. With rings in shared memory nothing closes.
    Choke {
        /// The node.
        node: NodeId,
    },
    /// Nothing arrives from one node at the other.
    Cut {
        /// From here.
        from: NodeId,
        /// To there.
        to: NodeId,
        /// Nor the other way.
        is_both_ways: bool,
        /// For so many nanoseconds.
        time: u64,
    },
    /// A connection breaks, and what it carried is lost with it; both nodes live and connect again.
    Reset {
        /// One end.
        one: NodeId,
        /// The other.
        other: NodeId,
        /// After so many nanoseconds.
        time: u64,
    },
    /// A node without rows dies, and starts again with its disk.
    Bounce {
        /// The node.
        node: NodeId,
        /// After so many nanoseconds.
        time: u64,
    },
}

impl Disruption {
    /// How long it lasts, in nanoseconds.
    #[must_use]
    pub fn time(&self) -> u64 {
        match self {
            Self::Pause { time, .. }
            | Self::Hang { time, .. }
            | Self::Cut { time, .. }
            | Self::Reset { time, .. }
            | Self::Bounce { time, .. } => *time,
            Self::Choke { .. } => 0,
        }
    }
}

/// Since when a direction is cut, and what is on its way.
type Cut = (u64, VecDeque<Box<Envelope>>);

/// The faults of the moment.
#[derive(Default)]
pub(super) struct Faults {
    /// Until when processes stand still.
    paused: BTreeMap<NodeId, u64>,
    /// Until when everything of a process but `membership` does.
    hung: BTreeMap<NodeId, u64>,
    /// Processes that hung so, and when they had to leave for it.
    pub(super) has_hung: BTreeMap<NodeId, Option<u64>>,
    /// The nodes that had to leave though they have never hung.
    left_well: Vec<NodeId>,
    /// Whether a connection of a node that hung was closed for that.
    has_choked: bool,
    /// By direction.
    cut: BTreeMap<(NodeId, NodeId), Cut>,
    /// (at, node): what `at` sends to `node` goes nowhere, because `at` knows that its link is down.
    pub(super) down: BTreeSet<(NodeId, NodeId)>,
    /// When the last broken connection was back.
    reset_at: Option<u64>,
}

impl Faults {
    /// Until when a module stands still; 0 if it does not.
    pub(super) fn pause_of(&self, module: Address) -> u64 {
        let until = |of: &BTreeMap<NodeId, u64>| of.get(&module.node).copied().unwrap_or(0);
        let hang = if module.kind == ModuleKind::Membership { 0 } else { until(&self.hung) };
        until(&self.paused).max(hang)
    }

    /// Keeps a signal that cannot arrive now; gives back one that can.
    pub(super) fn keep(&mut self, envelope: Box<Envelope>) -> Option<Box<Envelope>> {
        match self.cut.get_mut(&(envelope.from.node, envelope.to.node)) {
            Some((_, kept)) => {
                kept.push_back(envelope);
                None
            }
            None => Some(envelope),
        }
    }
}

impl World {
    /// Plans a fault.
    pub fn disrupt_later(&mut self, nanoseconds: u64, disruption: Disruption) {
        self.later(self.now + nanoseconds, Delivery::Disruption(disruption));
    }

    /// Something was done to the cluster.
    pub(super) fn count(&mut self, what: &'static str) {
        *self.injected.entry(what).or_default() += 1;
    }

    pub(super) fn begin(&mut self, disruption: Disruption) {
        self.transcript.push(format!("{} {disruption:?}", self.now));
        self.count(match disruption {
            Disruption::Pause { .. } => "pause",
            Disruption::Hang { .. } => "hang",
            Disruption::Choke { .. } => "choke",
            Disruption::Cut { is_both_ways: true, .. } => "cut",
            Disruption::Cut { is_both_ways: false, .. } => "one-way cut",
            Disruption::Bounce { .. } => "bounce",
            Disruption::Reset { .. } => "reset",
        });
        match disruption {
            Disruption::Pause { node, time } => {
                let until = self.faults.paused.entry(node).or_default();
                *until = (*until).max(self.now + time);
            }
            Disruption::Hang { node, time } => {
                if self.is_alive(node) {
                    self.faults.hung.insert(node, self.now + time);
                    self.faults.has_hung.insert(node, None);
                }
            }
            Disruption::Choke { node } => self.choke(node),
            Disruption::Cut { from, to, is_both_ways, time } => {
                self.cut_link(from, to, time);
                if is_both_ways {
                    self.cut_link(to, from, time);
                }
            }
            Disruption::Reset { one, other, time } => self.reset_link(one, other, time),
            Disruption::Bounce { node, time } => {
                self.crash(node);
                self.start_later(node, time);
            }
        }
    }

    fn cut_link(&mut self, from: NodeId, to: NodeId, time: u64) {
        let since = self.now;
        if self.faults.cut.contains_key(&(from, to)) || self.faults.down.contains(&(from, to)) {
            return;
        }
        self.faults.cut.insert((from, to), (since, VecDeque::new()));
        self.later(since + time, Delivery::Mend { from, to, since });
        if time > SILENCE_MAX {
            self.later(since + SILENCE_MAX, Delivery::Break { from, to, since });
        }
    }

    /// A node that still hangs has not taken for long what others send it: its connections close, at both ends.
    fn choke(&mut self, node: NodeId) {
        let Some(until) = self.faults.hung.get(&node).copied().filter(|until| *until > self.now) else {
            return;
        };
        let is_data = |(_, other): &(&NodeId, &Node)| other.role == NodeRole::Data;
        let others: Vec<NodeId> = self.nodes.iter().filter(is_data).map(|(other, _)| *other).collect();
        for other in others.into_iter().filter(|other| *other != node) {
            self.reset_link(node, other, until - self.now);
        }
        self.faults.has_choked = true;
    }

    /// A process ends because a view leaves it out.
    pub(super) fn note_left_out(&mut self, node: NodeId) {
        if self.faults.hung.get(&node).is_some_and(|until| *until > self.now) {
            self.faults.has_hung.insert(node, Some(self.now));
        } else if !self.faults.has_hung.contains_key(&node) {
            self.faults.left_well.push(node);
        }
    }

    /// The nodes that had to leave though they have never hung.
    #[must_use]
    pub fn left_well(&self) -> &[NodeId] {
        &self.faults.left_well
    }

    /// A node asks to leave because its disk stands still: it does.
    fn check_own_disk(&mut self, node: NodeId) {
        self.count("asked to leave for its disk");
        let lane = DiskLane::Redo as usize;
        if self.disk(node).is_none_or(|disk| disk.stalled_until[lane] + DISK_SETTLED < self.now) {
            self.suspicion.get_or_insert_with(|| format!("node {node} blames its disk, which works"));
        }
    }

    /// Nobody may ask for a view without a node because of its late answers that has never hung.
    pub(super) fn check_laggard(&mut self, envelope: &Envelope) {
        if let Signal::ReplicaLags { node, .. } = envelope.signal
            && envelope.from.kind == ModuleKind::Membership
        {
            if envelope.from.node == node {
                return self.check_own_disk(node);
            }
            self.count("asked to leave for late answers");
            if !self.faults.has_hung.contains_key(&node) {
                let from = envelope.from;
                self.suspicion.get_or_insert_with(|| format!("{from} blames node {node} for late answers"));
            }
        }
    }

    /// Whether a process hangs, or did so recently that a view without it may be on its way.
    pub(super) fn has_hung_lately(&self, node: NodeId) -> bool {
        self.faults.hung.get(&node).is_some_and(|until| until + RESET_SETTLED * 20 > self.now)
    }

    /// When nodes had to leave because they answered nothing. Those whose connections have closed leave at once.
    #[must_use]
    pub fn left_while_hung(&self) -> Vec<u64> {
        let left = self.faults.has_hung.values().flatten().copied();
        left.filter(|_| !self.faults.has_choked).collect()
    }

    /// The cut is over: what was kept arrives.
    pub(super) fn mend(&mut self, from: NodeId, to: NodeId, since: u64) {
        if self.faults.cut.get(&(from, to)).is_none_or(|(at, _)| *at != since) {
            return;
        }
        let Some((_, kept)) = self.faults.cut.remove(&(from, to)) else { return };
        for envelope in kept {
            self.enqueue(envelope.to, Input::Signal(*envelope));
        }
        let is_down = |at, node| self.faults.down.contains(&(at, node));
        if (is_down(from, to) || is_down(to, from)) && self.is_alive(from) && self.is_alive(to) {
            for (at, node) in [(from, to), (to, from)] {
                let time = self.now + 1_000_000 + self.prng.below(5_000_000);
                self.later(time, Delivery::LinkUp { at, node });
            }
        }
    }

    /// The connection did not bear the cut.
    pub(super) fn break_link(&mut self, from: NodeId, to: NodeId, since: u64) {
        let Some((at, kept)) = self.faults.cut.get_mut(&(from, to)) else { return };
        if *at != since {
            return;
        }
        kept.clear();
        self.count("broken connection");
        if let Some((_, kept)) = self.faults.cut.get_mut(&(to, from)) {
            kept.clear();
        }
        self.drop_on_the_way(from, to);
        for (at, node) in [(from, to), (to, from)] {
            if self.faults.down.insert((at, node)) {
                self.enqueue(Address::membership(at), Input::LinkDown { node });
            }
        }
    }

    /// Whether a connection between nodes that live is down, or was a moment ago.
    #[must_use]
    pub fn has_broken_links(&self) -> bool {
        let between_living = |(one, other): &(NodeId, NodeId)| self.is_alive(*one) && self.is_alive(*other);
        self.faults.down.iter().any(between_living)
            || self.faults.reset_at.is_some_and(|at| at + RESET_SETTLED > self.now)
    }

    fn reset_link(&mut self, one: NodeId, other: NodeId, time: u64) {
        let is_up =
            |from, to| !self.faults.cut.contains_key(&(from, to)) && !self.faults.down.contains(&(from, to));
        let are_alive = self.is_alive(one) && self.is_alive(other);
        if !are_alive || !is_up(one, other) || !is_up(other, one) {
            return;
        }
        self.faults.reset_at = Some(self.now + time);
        self.drop_on_the_way(one, other);
        for (at, node) in [(one, other), (other, one)] {
            self.faults.down.insert((at, node));
            self.enqueue(Address::membership(at), Input::LinkDown { node });
            let time = self.now + time + self.prng.below(1_000_000);
            self.later(time, Delivery::LinkUp { at, node });
        }
    }

    /// Whether all nodes that live have connections to this one.
    #[must_use]
    pub fn is_connected(&self, node: NodeId) -> bool {
        self.nodes.keys().all(|other| {
            let links = [(node, *other), (*other, node)];
            !links.iter().any(|link| self.faults.down.contains(link) || self.faults.cut.contains_key(link))
        })
    }

    /// Signals on a connection go with it.
    fn drop_on_the_way(&mut self, one: NodeId, other: NodeId) {
        let is_lost = |timed: &Timed<Delivery>| {
            let Delivery::Signal(envelope) = &timed.delivery else { return false };
            let pair = (envelope.from.node, envelope.to.node);
            pair == (one, other) || pair == (other, one)
        };
        self.deliveries.retain(|Reverse(timed)| !is_lost(timed));
    }

    /// A node starts some time from now.
    pub fn start_later(&mut self, node: NodeId, nanoseconds: u64) {
        self.later(self.quiet_at(node).max(self.now + nanoseconds), Delivery::Start(node));
    }

    /// When the signals of a node's earlier life have arrived and everybody knows of its end. A node does not start
    /// before: links of one pair of nodes never belong to two lives.
    pub(super) fn quiet_at(&self, node: NodeId) -> u64 {
        let is_of_node = |(from, to): &(Address, Address)| from.node == node || to.node == node;
        let sent = self.streams.iter().filter(|(stream, _)| is_of_node(stream)).map(|(_, at)| *at).max();
        let is_news =
            |delivery: &Delivery| matches!(delivery, Delivery::LinkDown { node: lost, .. } if *lost == node);
        let known = self.deliveries.iter().filter(|Reverse(timed)| is_news(&timed.delivery));
        let known = known.map(|Reverse(timed)| timed.at);
        known.max().max(sent).unwrap_or(0) + 1
    }

    /// A client's connection breaks, whatever it is doing.
    pub fn cut(&mut self, client: usize) {
        let Some(link) = self.clients[client].link() else { return };
        let Some((_, serial)) = self.peers.get(&link).copied() else { return };
        self.transcript.push(format!("{} connection of client {client} breaks", self.now));
        self.clients[client].lose(serial);
        let at = self.client_time(client, true);
        self.later(at, Delivery::ServerClosed { connection: link });
        self.wake_client(at, client);
    }

    /// SIGTERM.
    pub fn request_stop(&mut self, node: NodeId) {
        self.transcript.push(format!("{} node {node} is asked to stop", self.now));
        self.stopping.insert(node);
        self.stopped.insert(node);
        self.count("planned stop");
        self.enqueue(Address::main(node), Input::StopRequested);
    }

    /// The word of a node's main when the node is about to stop.
    pub fn tell_membership(&mut self, node: NodeId, step: LeaveStep) {
        self.transcript.push(format!("{} node {node}: {step:?}", self.now));
        self.count("hand-over");
        let to = Address::membership(node);
        let signal = Signal::Leaving { step };
        self.enqueue(to, Input::Signal(Envelope::unstamped(Address::main(node), to, signal)));
    }

    /// A machine loses power, with whatever runs there.
    pub fn lose_power(&mut self, node: NodeId) {
        self.crash(node);
        self.count("power lost");
        self.take_power(node);
    }

    /// A disk is left without power; no process runs there.
    fn take_power(&mut self, node: NodeId) {
        let Disks { of, prng, .. } = &mut self.disks;
        of.entry(node).or_default().lose_power(prng);
    }

    /// A node dies at once: its process is killed, or its machine loses power.
    pub fn crash(&mut self, node: NodeId) {
        let Some(gone) = self.nodes.remove(&node) else { return };
        self.turns.agenda.forget(node);
        self.stopping.remove(&node);
        let Disks { of, prng, .. } = &mut self.disks;
        of.entry(node).or_default().end_process(prng);
        let is_silent = gone.role == NodeRole::Data && self.prng.chance(1, 4);
        let has_angel = !is_silent && self.prng.chance(2, 3);
        self.transcript.push(format!("{} crash of node {node}, silent: {is_silent}", self.now));
        self.count(if is_silent { "silent crash" } else { "crash" });
        if is_silent {
            self.take_power(node);
        }
        // Links that were about to come up never do. The next life hears nothing of ends that this one was to hear of.
        let is_link_up = |delivery: &Delivery| matches!(delivery, Delivery::LinkUp { at, node: peer } if *at == node || *peer == node);
        let is_news = |delivery: &Delivery| matches!(delivery, Delivery::LinkDown { at, .. } if *at == node);
        self.deliveries.retain(|Reverse(timed)| !is_link_up(&timed.delivery) && !is_news(&timed.delivery));
        let others: Vec<NodeId> = self.nodes.keys().copied().collect();
        for other in others {
            let cut = self.faults.cut.remove(&(node, other)).map(|(since, _)| since + SILENCE_MAX);
            let cut = cut.max(self.faults.cut.remove(&(other, node)).map(|(since, _)| since + SILENCE_MAX));
            let delay = if is_silent { SILENCE_MAX } else { 1_000_000 + self.draw_delay() * 4 };
            let at = cut.unwrap_or(0).max(self.now + delay);
            self.later(at, Delivery::LinkDown { at: other, node });
            if has_angel && cut.is_none() {
                let at = self.now + 2_000_000 + self.draw_delay() * 4;
                self.later(at, Delivery::Exited { at: other, node, start: gone.start });
            }
        }
        self.faults.paused.remove(&node);
        self.faults.hung.remove(&node);
        let links: Vec<Link> = self.peers.keys().copied().filter(|link| link.module.node == node).collect();
        for link in links {
            if let Some((client, serial)) = self.peers.remove(&link) {
                let at = self.client_time(client, false);
                self.later(at, Delivery::ClientClosed { client, serial });
            }
        }
    }
}
