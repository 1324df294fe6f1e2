//! The failure detector: heartbeats of all to all, the matrix of links, leases for reading, and which nodes should
//! leave the view.
//!
//! Every member sends every other one a heartbeat each interval, and lists in it the nodes that it hears: its *row*. A
//! link is *broken* when one of its ends does not hear the other. From the rows every member knows all links; a row
//! travels on through third members while it shows a broken link (`detector/links`).
//!
//! **Nodes that should leave.** They are nodes whose leaving takes all broken links with them, as few as possible of
//! those that somebody hears (`cover`), if every group keeps an in-sync member (I5). Nobody leaves for a link to a
//! witness, which holds no rows, and which may be starting and not have all its links yet. Such a link is only evidence
//! which end of another link is to blame. It is evidence, too, that an end answers late, as its peers say in their
//! rows, or is about to stop. A node that hears nobody says nothing: it is cut off, or nobody is left to agree.
//! - A node whose process is *known* to have ended (its farewell, its angel's notice) leaves at once.
//! - A node that nobody hears leaves when that has not changed for a moment: the others see its connections close a
//!   little later than this one.
//! - Otherwise somebody hears it: the cut is one-way or partial. Such cuts are debounced: the links must be broken for
//!   as long as a silent node may be silent, and their ends must say so still. So a link that flaps costs nothing, nor
//!   does a link of a dead node of which that node had not known yet.
//! - A node that did not run itself (it was stopped, or starved of CPU) has heard nobody meanwhile, and blames nobody
//!   for that. Only proofs count until it has run for half as long again as a node may be silent. The same holds for a
//!   node that hears the first of the others, at its start or after it heard nobody.
//!
//! The lowest member that stays proposes at once, the next ones later, if the view has not changed: the compare-and-set
//! takes one.
//!
//! **Leases (I3).** Heartbeat n of X, received at t, is a request. A node that is willing names n in its next
//! heartbeat, and so grants X to read until t + L, on its own clock and from its receiving. X counts the same L, less a
//! margin for the rates of clocks, from its *sending* of n. So X's lease ends before any granter believes that it has.
//! A node that suspects X, or has installed a view without it, stops granting, and waits for what it has granted.
//!
//! A node that joins may be in sync, and lead, before the others hear of that. So they need its grants from the view on
//! in which it joins. They take the first grant as given when they enter that view. The joiner honours it when it finds
//! itself in sync, which is later: it gets the last rows from members that have entered the view in which it joins.
//!
//! Invariants:
//! - a node is proposed for leaving only from rows of the present lives of present members;
//! - `may_read(now)` implies that every other member that can come to lead, now or in a later view, honours it. Its
//!   `granted_until(this node)` is not over yet, or it still joins and will set it when it is in sync;
//! - grants are never taken back: they run out, or the node is proved dead.
//!
//! Deliberately not here: what a view change does (`Membership`), and acknowledgements of replication as grants: they
//! will call [`Detector::on_granted`] too.

use crate::mutants::{self, Mutant};
use crate::{cover, succession};
use links::{Broken, Link, Links, between};
use protocol::heartbeat::{Heartbeat, LinkRow, ROWS_MAX};
use protocol::{NodeInfo, NodeRole, View};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use stdx::{Duration, Instant};
use types::{Incarnation, NodeId, NodeSet, SlotId, ViewNumber};

mod links;

/// How long a picture must not change, to be steady, before a node that nobody hears has to leave.
const STEADY_AFTER: Duration = Duration::from_millis(5);
/// How much later the next one proposes.
const PROPOSE_STAGGER: Duration = Duration::from_millis(20);
/// Clocks of two nodes differ by less than a 64th.
const RATE_MARGIN: u32 = 64;
/// For how long it counts that a member was reported to answer late: until it is decided what becomes of a link that
/// closed meanwhile.
const LATE_FOR: Duration = Duration::from_secs(1);
/// Heartbeats whose grants may still come.
const UNANSWERED_MAX: usize = 64;

/// How fast.
#[derive(Clone, Copy, Debug)]
pub struct DetectorConfig {
    /// HeartbeatIntervalDbDb.
    pub interval: Duration,
    /// A node that is silent for so many intervals is suspected.
    pub misses: u32,
}

impl DetectorConfig {
    /// The default: 50 ms × 4.
    pub const DEFAULT: Self = Self { interval: Duration::from_millis(50), misses: 4 };
    /// For a local network: 10 ms × 10.
    pub const LAN: Self = Self { interval: Duration::from_millis(10), misses: 10 };

    /// For `HeartbeatIntervalDbDb`: four misses, or as many as it takes to be patient for 100 ms.
    #[must_use]
    pub fn for_interval(interval: Duration) -> Self {
        let interval = interval.max(Duration::from_millis(1));
        let patience = Self::LAN.silence_max().as_nanos().div_ceil(interval.as_nanos());
        let misses = u32::try_from(patience).unwrap_or(u32::MAX).max(Self::DEFAULT.misses);
        Self { interval, misses }
    }

    /// How long a node may be silent.
    #[must_use]
    pub fn silence_max(&self) -> Duration {
        self.interval * self.misses
    }

    /// For how long a node that was away blames nobody: until the others can have heard it and said so, and its own
    /// silence is over.
    fn patience(&self) -> Duration {
        self.silence_max() * 3 / 2
    }

    /// How long a grant lasts, as its granter counts.
    fn lease(&self) -> Duration {
        self.interval * (self.misses - 1)
    }

    /// How long it lasts for its holder, whose clock may be slower.
    fn belief(&self) -> Duration {
        self.lease() - self.lease() / RATE_MARGIN
    }
}

/// The outputs of the block.
#[derive(Debug, Default)]
pub struct DetectorOutputs {
    /// To other members.
    pub heartbeats: Vec<(NodeId, Heartbeat)>,
    /// These should leave: propose the view without them.
    pub leavers: Option<Vec<NodeId>>,
    /// Somebody has a newer view than this node.
    pub behind: Option<NodeId>,
}

/// Until when the others let this node read.
#[derive(Clone, Copy, Default)]
struct Held {
    until: Instant,
    /// Those of them that do not let it read for longer.
    last: NodeSet,
}

/// Another member.
#[derive(Clone, Debug)]
struct Peer {
    incarnation: Incarnation,
    /// When it was heard last; at first, when this node began to listen.
    heard: Instant,
    /// Its connection is closed.
    is_closed: bool,
    is_dead: bool,
    /// The newest view that it knows.
    view: ViewNumber,
    /// Its newest heartbeat that was received, and when a grant on it ends.
    received: u64,
    granted: u64,
    granted_until: Instant,
    /// This node's heartbeats to it: the newest number, and the times of those whose grants may come.
    sent: u64,
    unanswered: VecDeque<(u64, Instant)>,
    /// Until when it lets this node read.
    held_until: Instant,
    /// The newest row of it, and when it came.
    row: Option<(LinkRow, Instant)>,
}

/// The nodes of a view, as heartbeats see them.
#[derive(Clone, Copy, Default)]
struct Nodes {
    /// Members and witnesses, this node too.
    watched: NodeSet,
    /// In sync, or joining.
    members: NodeSet,
    in_sync: NodeSet,
}

impl Nodes {
    fn of(view: &View, node: NodeId) -> Self {
        let groups = || view.groups.iter();
        let in_sync: NodeSet = groups().flat_map(|group| &group.in_sync).copied().collect();
        let joining = groups().flat_map(|group| &group.joining).copied().collect();
        let members = in_sync.union(&joining);
        let is_watched = |info: &&NodeInfo| match info.role {
            NodeRole::Data => members.contains(info.node),
            NodeRole::Management => true,
            NodeRole::Sql => false,
        };
        let watched = view.nodes.iter().filter(is_watched).map(|info| info.node);
        Self { watched: watched.chain([node]).collect(), members, in_sync }
    }
}

/// The nodes that this node hears.
#[derive(Clone, Copy, Default)]
struct Heard {
    /// The watched nodes that it hears.
    nodes: NodeSet,
    /// None of them is silent for too long before.
    until: Instant,
    /// Watched nodes that are proved dead.
    dead: NodeSet,
}

/// The block of one member.
#[derive(Clone)]
pub struct Detector {
    node: NodeId,
    incarnation: Incarnation,
    config: DetectorConfig,
    view: Arc<View>,
    /// Those of the view.
    nodes: Nodes,
    peers: BTreeMap<NodeId, Peer>,
    /// As of the last look.
    heard: Heard,
    held: Held,
    beat_at: Instant,
    row_number: u64,
    links: Links,
    /// When the picture changed last.
    changed: Instant,
    /// It was looked at since it is steady.
    is_steady: bool,
    /// It hears nobody.
    is_alone: bool,
    /// Until then it blames nobody for silence: it did not run itself, or was alone.
    blames_from: Instant,
    /// Members that were reported to answer late, and when.
    late: BTreeMap<NodeId, Instant>,
    /// The proposal that this node has decided on, and when it makes it.
    proposal: Option<(Vec<NodeId>, Instant)>,
}

impl Detector {
    /// The block of a member of `view`, in this life. A witness may be in a later one than the view says.
    #[must_use]
    pub fn new(
        node: NodeId,
        incarnation: Incarnation,
        config: DetectorConfig,
        view: Arc<View>,
        now: Instant,
    ) -> Self {
        let mut detector = Self {
            node,
            incarnation,
            config,
            view: Arc::new(View::none()),
            nodes: Nodes::default(),
            peers: BTreeMap::new(),
            heard: Heard::default(),
            held: Held::default(),
            beat_at: now,
            row_number: 0,
            links: Links::new(node, config),
            changed: now,
            is_steady: false,
            is_alone: false,
            blames_from: now,
            late: BTreeMap::new(),
            proposal: None,
        };
        detector.install(now, view);
        detector
    }

    /// When it must be called at the latest.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        let proposal = self.proposal.as_ref().map_or(Instant::FAR_FUTURE, |(_, at)| *at);
        let is_unsteady = !self.is_steady && !self.links.broken().is_empty();
        let steady = if is_unsteady { self.changed + STEADY_AFTER } else { Instant::FAR_FUTURE };
        self.beat_at.min(proposal).min(steady)
    }

    /// A newer view: fewer, more, or other members.
    pub fn install(&mut self, now: Instant, view: Arc<View>) {
        if view.number <= self.view.number {
            return;
        }
        self.nodes = Nodes::of(&view, self.node);
        let others = self.nodes.watched.without(self.node);
        for info in view.nodes.iter().filter(|info| others.contains(info.node)) {
            let (node, incarnation) = (info.node, info.incarnation);
            let is_witness = !self.nodes.members.contains(node);
            let known = self.peers.get(&node).is_some_and(|peer| {
                peer.incarnation == incarnation || is_witness && peer.incarnation > incarnation
            });
            if !known {
                // The grants of an earlier life run on, unless that is proved dead.
                let mut granted_until = self.granted_until(node);
                if mutants::is(Mutant::EarlierGrantsForgotten) {
                    granted_until = Instant(0);
                }
                let mut peer = Peer::new(incarnation, now, granted_until);
                if view.joining(SlotId(0)).contains(&node) {
                    peer.held_until = now + self.config.belief();
                }
                self.peers.insert(node, peer);
            }
        }
        let was_joining = self.view.joining(SlotId(0)).contains(&self.node);
        let mut has_joined = was_joining && !view.joining(SlotId(0)).contains(&self.node);
        if mutants::is(Mutant::FirstGrantForgotten) {
            has_joined = false;
        }
        if has_joined {
            // A witness takes nothing as given: it does not read. To wait for it would stop all writes, since this
            // node's answers count.
            let reads = |node: NodeId| view.node(node).is_some_and(|info| info.role == NodeRole::Data);
            for (_, peer) in self.peers.iter_mut().filter(|(node, _)| reads(**node)) {
                peer.granted_until = peer.granted_until.max(now + self.config.lease());
            }
        }
        self.view = view;
        self.late.clear();
        self.beat_at = now;
        self.proposal = None;
        self.changed = now;
        self.is_steady = false;
        self.links.restart();
        let (watched, config) = (self.nodes.watched, self.config);
        for node in others.iter() {
            let row = self
                .peers
                .get(&node)
                .and_then(|peer| Some((peer.fresh_row(now, &config)?, peer.row_came()?)));
            if let Some((row, came)) = row {
                self.links.on_row(node, watched.without(node).minus(&row.hears), came);
            }
        }
        self.look_at_grants();
        self.listen(now);
        self.look(now);
    }

    // ---- questions --------------------------------------------------------------------------------------------------

    /// Whether this node may answer reads now: every other member lets it. `now` is read after the input that is
    /// served.
    #[must_use]
    pub fn may_read(&self, now: Instant) -> bool {
        now < self.read_until()
    }

    /// Until when this node may answer reads, as far as it is let now; in the past if it may not. Also those that join
    /// must let it: they may be in sync, and lead, before this node hears of it.
    #[must_use]
    pub fn read_until(&self) -> Instant {
        if mutants::is(Mutant::ReadsWithoutGrants) {
            return Instant::FAR_FUTURE;
        }
        if !self.is_in_sync(self.node) {
            return Instant(0);
        }
        self.held.until
    }

    /// Looks at the grants of all members that may lead.
    fn look_at_grants(&mut self) {
        let mut may_lead = self.nodes.members;
        if mutants::is(Mutant::JoinersLetRead) {
            may_lead = self.nodes.in_sync;
        }
        let mut held = Held { until: Instant::FAR_FUTURE, last: NodeSet::EMPTY };
        for (node, peer) in self.others().filter(|(node, _)| may_lead.contains(*node)) {
            if peer.held_until < held.until {
                held = Held { until: peer.held_until, last: NodeSet::EMPTY };
            }
            if peer.held_until == held.until {
                held.last.insert(node);
            }
        }
        self.held = held;
    }

    /// Until when a node may believe that this one lets it read. In the past if it was never let, or is proved dead.
    #[must_use]
    pub fn granted_until(&self, node: NodeId) -> Instant {
        self.peers.get(&node).filter(|peer| !peer.is_dead).map_or(Instant(0), |peer| peer.granted_until)
    }

    /// When writes may be acknowledged in this view: what was granted to nodes that are no members has run out by then.
    #[must_use]
    pub fn writable_at(&self) -> Instant {
        let left = self.peers.iter().filter(|(node, _)| !self.is_in_sync(**node));
        left.map(|(node, _)| self.granted_until(*node)).max().unwrap_or(Instant(0))
    }

    /// A digest of all that decides how it goes on, among states of one node whose views of one number are the same.
    #[must_use]
    pub fn digest(&self) -> u64 {
        let own =
            (self.incarnation, self.view.number, self.beat_at, self.row_number, &self.proposal, &self.late);
        let picture = (self.changed, self.is_steady, self.is_alone, self.blames_from);
        stdx::hash64(format!("{own:?} {picture:?} {:?} {:?}", self.links.state(), self.peers).as_bytes())
    }

    /// Whether this node does not hear a peer: a member, or one that was.
    #[must_use]
    pub fn suspects(&self, now: Instant, node: NodeId) -> bool {
        self.peers.get(&node).is_some_and(|peer| !peer.is_heard(now, &self.config))
    }

    /// The same of a member; false for other nodes.
    #[must_use]
    pub fn suspects_member(&self, now: Instant, node: NodeId) -> bool {
        self.nodes.watched.contains(node) && self.suspects(now, node)
    }

    /// Whether this node has run well for a while, so that it may blame others.
    #[must_use]
    pub fn is_certain(&self, now: Instant) -> bool {
        now >= self.blames_from && now.since(self.beat_at) < self.config.silence_max() / 2
    }

    /// Whether a member says of this node that it answers late.
    #[must_use]
    pub fn is_called_late_by(&self, now: Instant, node: NodeId) -> bool {
        let row = self.peers.get(&node).and_then(|peer| peer.fresh_row(now, &self.config));
        row.is_some_and(|row| row.late.contains(self.node))
    }

    /// Those that this node, or a member whose row is fresh, calls late.
    fn called_late(&self, now: Instant) -> NodeSet {
        let rows = self.others().filter_map(|(_, peer)| peer.fresh_row(now, &self.config));
        rows.fold(self.own_late(now).collect(), |late: NodeSet, row| late.union(&row.late))
    }

    fn own_late(&self, now: Instant) -> impl Iterator<Item = NodeId> {
        let is_fresh = move |at: &Instant| now.since(*at) < LATE_FOR;
        self.late.iter().filter(move |(_, at)| is_fresh(at)).map(|(node, _)| *node)
    }

    fn is_in_sync(&self, node: NodeId) -> bool {
        self.nodes.in_sync.contains(node)
    }

    fn others(&self) -> impl Iterator<Item = (NodeId, &Peer)> {
        let watched = self.peers.iter().filter(|(node, _)| self.nodes.watched.contains(**node));
        watched.map(|(node, peer)| (*node, peer))
    }

    // ---- inputs -----------------------------------------------------------------------------------------------------

    /// Before every input: if this node should have beaten long ago, it did not run, and what it has not heard proves
    /// nothing. Heartbeats that others sent meanwhile are still to be read.
    fn forgive_own_silence(&mut self, now: Instant) {
        if now.since(self.beat_at) >= self.config.silence_max() / 2 {
            for peer in self.peers.values_mut() {
                peer.heard = peer.heard.max(now);
            }
            self.blames_from = now + self.config.patience();
            self.listen(now);
        }
    }

    /// Looks at all others: which of them this node hears, and which are proved dead.
    fn listen(&mut self, now: Instant) {
        let mut heard = Heard { until: Instant::FAR_FUTURE, ..Heard::default() };
        for (node, peer) in self.others() {
            if peer.is_dead {
                heard.dead.insert(node);
            }
            if peer.is_heard(now, &self.config) {
                heard.nodes.insert(node);
                heard.until = heard.until.min(peer.heard + self.config.silence_max());
            }
        }
        self.heard = heard;
    }

    /// A heartbeat of a life of a node. False if the view has no such life, or it is dead.
    pub fn on_heartbeat(
        &mut self,
        now: Instant,
        from: NodeId,
        incarnation: Incarnation,
        heartbeat: Heartbeat,
        outputs: &mut DetectorOutputs,
    ) -> bool {
        self.forgive_own_silence(now);
        if heartbeat.view > self.view.number {
            outputs.behind = Some(from);
        }
        let is_watched = self.nodes.watched.contains(from);
        let is_witness = is_watched && !self.nodes.members.contains(from);
        let Some(peer) = self.peers.get_mut(&from) else { return false };
        if is_witness && incarnation > peer.incarnation {
            // It holds no rows: another life of it is as good. A node that holds rows is known when the view has it.
            *peer = Peer::new(incarnation, now, peer.granted_until);
            self.links.forget(from);
            self.heard.dead.remove(from);
        }
        if peer.incarnation != incarnation || peer.is_dead || heartbeat.rows.len() > ROWS_MAX {
            return false;
        }
        peer.heard = peer.heard.max(now);
        peer.received = peer.received.max(heartbeat.sequence);
        peer.view = peer.view.max(heartbeat.view);
        if is_watched && peer.is_heard(now, &self.config) {
            self.heard.nodes.insert(from);
            self.heard.until = self.heard.until.min(peer.heard + self.config.silence_max());
        }
        self.on_granted(now, from, heartbeat.granted);
        for row in heartbeat.rows {
            self.take_row(now, row);
        }
        self.look(now);
        self.decide(now, outputs);
        true
    }

    /// A member owes this node answers for too long: everybody hears of it.
    pub fn on_late(&mut self, now: Instant, node: NodeId) {
        self.late.insert(node, now);
    }

    /// A member lets this node read, on its heartbeat of this number.
    pub fn on_granted(&mut self, now: Instant, from: NodeId, sequence: u64) {
        let lease = self.config.belief();
        let Some(peer) = self.peers.get_mut(&from) else { return };
        while let Some((number, sent)) = peer.unanswered.front().copied() {
            if number > sequence {
                break;
            }
            peer.unanswered.pop_front();
            if number == sequence {
                let mut from = sent;
                if mutants::is(Mutant::LeaseFromAnswer) {
                    from = now;
                }
                peer.held_until = peer.held_until.max(from + lease);
            }
        }
        // As long as another one has said nothing newer, the least stays as it is.
        if peer.held_until > self.held.until && self.held.last.contains(from) {
            self.held.last.remove(from);
            if self.held.last.is_empty() {
                self.look_at_grants();
            }
        }
    }

    fn take_row(&mut self, now: Instant, row: LinkRow) {
        let Some(peer) = self.peers.get_mut(&row.node) else { return };
        let is_newer = peer.row.as_ref().is_none_or(|(known, _)| row.number > known.number);
        if row.incarnation == peer.incarnation && is_newer {
            let (node, hears) = (row.node, row.hears);
            peer.row = Some((row, now));
            if self.nodes.watched.contains(node) && !peer.is_dead {
                self.links.on_row(node, self.nodes.watched.without(node).minus(&hears), now);
            }
        }
    }

    /// The links to a member are up (again).
    pub fn on_link_up(&mut self, now: Instant, node: NodeId) {
        self.forgive_own_silence(now);
        if let Some(peer) = self.peers.get_mut(&node) {
            peer.is_closed = false;
        }
        self.listen(now);
        self.look(now);
    }

    /// The connection to a member has closed: it proves nothing.
    pub fn on_link_down(&mut self, now: Instant, node: NodeId, outputs: &mut DetectorOutputs) {
        self.forgive_own_silence(now);
        if let Some(peer) = self.peers.get_mut(&node) {
            peer.is_closed = true;
        }
        self.listen(now);
        self.look(now);
        // The others should know of it before their next interval.
        self.beat(now, outputs);
        self.decide(now, outputs);
    }

    /// A life of a node has ended: its farewell, or its angel says so.
    pub fn on_proved_dead(
        &mut self,
        now: Instant,
        node: NodeId,
        incarnation: Incarnation,
        outputs: &mut DetectorOutputs,
    ) {
        self.forgive_own_silence(now);
        if let Some(peer) = self.peers.get_mut(&node).filter(|peer| peer.incarnation == incarnation) {
            peer.is_dead = true;
            self.links.forget(node);
        }
        self.listen(now);
        self.look(now);
        self.decide(now, outputs);
    }

    /// Time has passed.
    pub fn on_deadline(&mut self, now: Instant, outputs: &mut DetectorOutputs) {
        self.forgive_own_silence(now);
        self.look(now);
        if self.beat_at <= now {
            self.beat_at = now + self.config.interval;
            self.beat(now, outputs);
        }
        self.decide(now, outputs);
    }

    /// A heartbeat to everybody.
    fn beat(&mut self, now: Instant, outputs: &mut DetectorOutputs) {
        self.row_number += 1;
        let mut rows = vec![self.own_row(now)];
        let config = self.config;
        if !self.links.broken().is_empty() {
            let fresh = self.others().filter_map(|(_, peer)| peer.fresh_row(now, &config));
            let relayed = fresh.filter(|row| self.links.concern(row.node) || !row.late.is_empty());
            rows.extend(relayed.cloned());
            rows.truncate(ROWS_MAX);
        }
        let view = self.view.number;
        for node in self.nodes.watched.without(self.node).iter() {
            let is_holder = self.is_in_sync(node);
            let Some(peer) = self.peers.get_mut(&node) else { continue };
            peer.sent += 1;
            if peer.unanswered.len() >= UNANSWERED_MAX {
                peer.unanswered.pop_front();
            }
            peer.unanswered.push_back((peer.sent, now));
            // A node that does not know this view may not know all members that must let it read.
            let (mut knows, mut is_heard) = (peer.view >= view, peer.is_heard(now, &config));
            if mutants::is(Mutant::LaggardsAreGranted) {
                knows = true;
            }
            if mutants::is(Mutant::SuspectsAreGranted) {
                is_heard = true;
            }
            let is_willing = is_holder && knows && is_heard;
            if is_willing && peer.received > peer.granted {
                peer.granted = peer.received;
                // Counted from now, which is later than its receiving: longer than the holder believes.
                peer.granted_until = peer.granted_until.max(now + config.lease());
            }
            let granted = if is_willing { peer.granted } else { 0 };
            let heartbeat = Heartbeat { view, sequence: peer.sent, granted, rows: rows.clone() };
            outputs.heartbeats.push((node, heartbeat));
        }
    }

    /// The own row, as of the last look.
    fn own_row(&self, now: Instant) -> LinkRow {
        LinkRow {
            node: self.node,
            incarnation: self.incarnation,
            number: self.row_number,
            hears: self.heard.nodes,
            late: self.own_late(now).collect(),
        }
    }

    // ---- who should leave -------------------------------------------------------------------------------------------

    /// Brings the picture of broken links up to date.
    fn look(&mut self, now: Instant) {
        if now >= self.heard.until {
            self.listen(now);
        }
        let is_alone = self.heard.nodes.is_empty();
        if self.is_alone && !is_alone {
            self.blames_from = now + self.config.patience();
        }
        self.is_alone = is_alone;
        let misses = self.nodes.watched.without(self.node).minus(&self.heard.nodes);
        let has_changed = self.links.look(now, misses);
        if has_changed {
            self.changed = now;
            self.is_steady = false;
            self.proposal = None;
        }
    }

    /// Says which nodes should leave, when it is this node's turn.
    fn decide(&mut self, now: Instant, outputs: &mut DetectorOutputs) {
        self.is_steady |= now >= self.changed + STEADY_AFTER;
        if self.proposal.is_none()
            && let Some(leavers) = self.leavers(now)
            && !leavers.contains(&self.node)
        {
            let before = self.others().filter(|(node, _)| *node < self.node && !leavers.contains(node));
            let before = u32::try_from(before.count()).unwrap_or(u32::MAX);
            self.proposal = Some((leavers, now + PROPOSE_STAGGER * before));
        }
        if let Some((leavers, at)) = &mut self.proposal
            && *at <= now
        {
            outputs.leavers = Some(leavers.clone());
            // It may not arrive, or be overtaken: if the view stays, say it again.
            *at = now + self.config.silence_max();
        }
    }

    /// The nodes that should leave, by what is known now; None while there is nobody, or it is too early.
    fn leavers(&self, now: Instant) -> Option<Vec<NodeId>> {
        let may_leave = |leavers: &[NodeId]| self.is_allowed(leavers);
        if mutants::is(Mutant::SilenceIsDeath) {
            let silent = self.others().map(|(node, _)| node).filter(|node| self.suspects(now, *node));
            return Some(self.holders(&silent.collect::<Vec<NodeId>>())).filter(|silent| !silent.is_empty());
        }
        let all_dead = || self.heard.dead.iter();
        // A dead witness leaves no view, and hides nobody else's death.
        let mut dead: Vec<NodeId> = all_dead().filter(|node| self.nodes.members.contains(*node)).collect();
        if mutants::is(Mutant::DeadWitnessLeaves) {
            dead = all_dead().collect();
        }
        if !dead.is_empty() && self.is_allowed(&dead) {
            return Some(dead);
        }
        if now < self.changed + STEADY_AFTER || now < self.blames_from {
            return None;
        }
        let is_between_holders =
            |link: &Link| self.nodes.members.contains(link.0) && self.nodes.members.contains(link.1);
        // Witnesses may be away for days.
        if !self.links.broken().keys().any(is_between_holders) {
            return None;
        }
        let unheard: NodeSet =
            self.others().map(|(node, _)| node).filter(|node| self.is_unheard(*node, now)).collect();
        let counts = |link: &Link, broken: &Broken| {
            if mutants::is(Mutant::CutsUndebounced) {
                return true;
            }
            // A report that nobody has repeated for some intervals may be the last words of a node that is silent:
            // which one it is shows soon.
            let is_told = now.since(broken.told) <= self.config.interval * 2;
            let is_old = is_told && now.since(broken.since) >= self.config.silence_max();
            is_old || unheard.contains(link.0) || unheard.contains(link.1)
        };
        let broken = || self.links.broken().iter();
        let between_holders = broken().filter(|(link, _)| is_between_holders(link));
        let links =
            between_holders.filter(|(link, broken)| counts(link, broken)).map(|(link, _)| *link).collect();
        // A hint counts at once: the links of a node that is cut off break one after the other.
        let hints = broken().map(|(link, _)| *link).filter(|link| !is_between_holders(link)).collect();
        let heard = self.heard_by_somebody(now)?;
        let mut blamed = self.called_late(now);
        if mutants::is(Mutant::LateAreBlameless) {
            blamed = NodeSet::EMPTY;
        }
        let leaving = self.view.leaving.iter().copied().filter(|node| self.nodes.members.contains(*node));
        blamed = blamed.union(&leaving.collect());
        let evidence = cover::Evidence { hints, blamed };
        let leavers = cover::fewest(&links, &evidence, |node| heard.contains(node), may_leave)?;
        Some(leavers).filter(|leavers| !leavers.is_empty())
    }

    /// This node, those it hears, and those that they hear; None if it hears nobody.
    fn heard_by_somebody(&self, now: Instant) -> Option<NodeSet> {
        let mut heard = self.heard.nodes;
        if heard.is_empty() {
            return None;
        }
        let here = self.others().filter(|(node, _)| self.heard.nodes.contains(*node));
        for row in here.filter_map(|(_, peer)| peer.fresh_row(now, &self.config)) {
            heard = heard.union(&row.hears);
        }
        heard.insert(self.node);
        Some(heard)
    }

    /// Whether no member that tells whom it hears hears this one, this node included, and there is another witness or
    /// none to ask.
    fn is_unheard(&self, node: NodeId, now: Instant) -> bool {
        let is_link_broken = |other: NodeId| self.links.broken().contains_key(&between(node, other));
        let tellers = self.others().filter(|(other, peer)| {
            *other != node && peer.is_heard(now, &self.config) && peer.fresh_row(now, &self.config).is_some()
        });
        let mut tellers = tellers.map(|(other, _)| other).peekable();
        // A node that nobody hears may be the one that hears nobody: without a witness the silence must last.
        tellers.peek().is_some() && tellers.all(is_link_broken) && is_link_broken(self.node)
    }

    /// Members that hold rows, or are being copied to (every write waits for them, too): a witness does not leave the
    /// view.
    fn holders(&self, nodes: &[NodeId]) -> Vec<NodeId> {
        nodes.iter().copied().filter(|node| self.nodes.members.contains(*node)).collect()
    }

    fn is_allowed(&self, leavers: &[NodeId]) -> bool {
        succession::without(&self.view, &self.holders(leavers)).is_some()
    }

    /// The view that this node has installed.
    #[must_use]
    pub fn view(&self) -> ViewNumber {
        self.view.number
    }
}

impl Peer {
    fn new(incarnation: Incarnation, now: Instant, granted_until: Instant) -> Self {
        Self {
            incarnation,
            heard: now,
            is_closed: false,
            is_dead: false,
            view: ViewNumber(0),
            received: 0,
            granted: 0,
            granted_until,
            sent: 0,
            unanswered: VecDeque::new(),
            held_until: Instant(0),
            row: None,
        }
    }

    fn is_heard(&self, now: Instant, config: &DetectorConfig) -> bool {
        !self.is_dead && !self.is_closed && now.since(self.heard) < config.silence_max()
    }

    fn row_came(&self) -> Option<Instant> {
        self.row.as_ref().map(|(_, came)| *came)
    }

    /// Its row, unless it is as old as its sender would be silent.
    fn fresh_row(&self, now: Instant, config: &DetectorConfig) -> Option<&LinkRow> {
        let (row, came) = self.row.as_ref()?;
        (now.since(*came) < config.silence_max() && !self.is_dead).then_some(row)
    }
}

#[cfg(test)]
pub(crate) mod tests;
