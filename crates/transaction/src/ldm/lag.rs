//! How late the other replicas' answers are: a replica that lives and answers late, or not at all, is reported to
//! this node's `membership`.
//!
//! Every commit waits for all replicas (I1), so one whose heartbeats come while its ldm gets no CPU, or hangs, holds
//! up all the others. Each ldm looks at what the ldms of the same slots owe it, every [`LOOK_EVERY`]:
//!
//! - primaries: one-primary commits that a backup has not applied, until one of them refuses: what follows is work
//!   (undoing its rows), not an answer;
//! - all: the answer to a *probe*, which each look sends. It waits in the other's queue behind everything that was sent
//!   before, writes of large transactions and prepares of others' commits included, so it is as late as they are. In
//!   this way a backup also hears from a primary of which it expects nothing.
//!
//! An answer that was owed for longer than the limit (ReplicaAnswerTimeout) is reported, at each look again.
//! `membership::laggards` decides on the reports.
//!
//! **Time is counted in looks**, not by the clock, and a look is taken behind everything that waits in this module's
//! own queue. One that comes late says that it is here, or on the whole machine, that time is short: then everything
//! that is owed counts as asked for just now. So a replica that stands still, or gets little CPU itself, blames nobody;
//! nor do nodes of one busy machine blame each other.
//!
//! Invariants: of the answers owed from before the installed view only probes count, if those of the view are not
//! answered either. Nothing counts from before the last late look. A replica that answers nothing is spared at
//! [`SPARED_LOOKS_MAX`] looks at most while views come, however fast that is. Then it is reported at each look, since
//! an interruption makes reports begin anew (`membership::laggards`). A replica that owes nothing is never reported.
//! All that is remembered is bounded by slots and looks. Nothing is done for it when a transaction ends, and a look
//! passes over those that are late, no others.
//!
//! Deliberately not here: what coordinators are owed, because the probes are as late. Reports about the view before
//! (`takeover`): a replica that undoes or publishes much sends them behind that, and answers probes meanwhile. Modules
//! that are no ldm: a thread that hangs ends its node (`runtime`, `watchdog`).

use super::Job;
use super::Ldm;
use protocol::{Address, Outputs, Signal};
use query::Shared;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use stdx::{Duration, Instant, Now};
use types::{Incarnation, NodeId, Sequence, SlotId, ViewNumber};

/// How often it is looked at what is owed.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// A look that comes later than this part of the limit is late, if it is more than a moment.
const LATE_PART: u32 = 8;
const MOMENT: Duration = Duration::from_millis(50);

/// Looks that a view may take to be everywhere: a replica that has not answered earlier probes may have been kept in
/// the view before.
const ENTERING_LOOKS: u64 = 4;
/// At so many such looks, of several views, a replica is spared that answers at none. It does not count for how long it
/// has answered nothing. It may have been out of reach in the view before, for as long as there was nobody to decide on
/// another one.
const SPARED_LOOKS_MAX: u64 = 3 * ENTERING_LOOKS;

/// An ldm of the same slots.
#[derive(Clone, Copy, Debug)]
struct Probed {
    /// The life of its node: another life begins anew.
    life: Incarnation,
    /// The last probe that it has answered.
    answered: u64,
    /// Looks since then at which it was spared: it may be entering.
    spared: u64,
}

/// Memory of earlier looks.
#[derive(Debug, Default)]
pub(super) struct Lag {
    /// ReplicaAnswerTimeout; zero: nobody looks.
    limit: Duration,
    look_at: Option<Instant>,
    /// A look waits behind what is in the queue.
    is_looking: bool,
    /// The number of the last look.
    look: u64,
    /// An answer that is owed since an earlier look counts as owed since this one.
    from: u64,
    view: ViewNumber,
    /// The last look before it.
    view_from: u64,
    peers: BTreeMap<Address, Probed>,
    /// By slot with commits that are not applied everywhere: the last place given out at the looks since the oldest
    /// of them.
    places: BTreeMap<SlotId, VecDeque<(u64, Sequence)>>,
}

impl Lag {
    /// A newer view: new streams, perhaps with others. A replica that has not answered before goes on doing so: else it
    /// would never be late while views come fast.
    fn begin_view(&mut self, now: Now, view: ViewNumber, peers: BTreeMap<Address, Incarnation>) {
        self.view = view;
        self.view_from = self.look;
        self.places.clear();
        let before = std::mem::take(&mut self.peers);
        let known = |peer, life| before.get(&peer).copied().filter(|known: &Probed| known.life == life);
        let look = self.look;
        let peers = peers.into_iter();
        self.peers = peers
            .map(|(peer, life)| {
                (peer, known(peer, life).unwrap_or(Probed { life, answered: look, spared: 0 }))
            })
            .collect();
        if self.look_at.is_none() && !self.is_looking && !self.peers.is_empty() {
            self.look_at = Some(now.monotonic + LOOK_EVERY);
        }
    }

    /// It is this look's turn, which was due at this moment.
    fn begin_look(&mut self, now: Now, due: Instant) {
        self.look += 1;
        self.is_looking = false;
        self.look_at = (!self.peers.is_empty()).then(|| now.monotonic + LOOK_EVERY);
        if now.monotonic.since(due) >= (self.limit / LATE_PART).max(MOMENT) {
            self.from = self.look;
            self.peers.values_mut().for_each(|peer| peer.spared = 0);
        }
        if self.is_entering() {
            let look = self.look;
            let owing = self.peers.values_mut().filter(|peer| peer.answered + 1 < look);
            owing.for_each(|peer| peer.spared += 1);
        }
    }

    /// The installed view may not be everywhere yet.
    fn is_entering(&self) -> bool {
        self.look <= self.view_from + ENTERING_LOOKS
    }

    /// An answer that was owed at that look already is owed for so long at least, as far as this module's own time
    /// counts.
    fn age(&self, since: u64) -> Duration {
        let looks = self.look - since.max(self.from).min(self.look);
        LOOK_EVERY * u32::try_from(looks).unwrap_or(u32::MAX)
    }

    fn note_answer(&mut self, from: Address, probe: u64) {
        if let Some(peer) = self.peers.get_mut(&from) {
            peer.answered = probe.min(self.look).max(peer.answered);
            peer.spared = 0;
        }
    }

    /// Since which look each ldm owes the answer to a probe, the ones of this view included. A replica that was spared
    /// for long may owe others only.
    fn probes_owed(&self) -> impl Iterator<Item = (NodeId, u64)> {
        let is_entering = self.is_entering();
        let may_be_entering = move |peer: &Probed| is_entering && peer.spared <= SPARED_LOOKS_MAX;
        let owing = self.peers.iter();
        let owing = owing.filter(move |(_, peer)| peer.answered + 1 < self.look && !may_be_entering(peer));
        owing.map(|(address, peer)| (address.node, peer.answered + 1))
    }

    /// The place that a slot has given out last; the oldest that somebody has not applied, if there is one.
    fn note_places(&mut self, slot: SlotId, oldest: Option<Sequence>, last: Sequence) {
        let Some(oldest) = oldest else {
            self.places.remove(&slot);
            return;
        };
        let places = self.places.entry(slot).or_default();
        while places.front().is_some_and(|(_, last)| *last < oldest) {
            places.pop_front();
        }
        // More of them tell nothing: the front one is older than anybody may be late.
        if u128::from(places.len() as u64) * LOOK_EVERY.as_nanos() <= self.limit.as_nanos() * 2 {
            places.push_back((self.look, last));
        }
    }

    /// Since which look a place of a slot is owed.
    fn place_since(&self, slot: SlotId, place: Sequence) -> u64 {
        let places = self.places.get(&slot).into_iter().flatten();
        places.clone().find(|(_, last)| *last >= place).map_or(self.look, |(look, _)| *look)
    }
}

impl Ldm {
    /// The same, which reports replicas that owe an answer for longer than `limit`; zero: none.
    #[must_use]
    pub fn with_answer_timeout(mut self, limit: Duration) -> Self {
        self.lag.limit = limit;
        self
    }

    pub(super) fn lag_deadline(&self) -> Option<Instant> {
        self.lag.look_at
    }

    /// After each signal and deadline: in a newer view it is looked at its replicas.
    #[inline]
    pub(super) fn watch_lag(&mut self) {
        if self.lag.view != self.map.view.number && self.lag.limit > Duration::ZERO {
            let view = &self.map.view;
            let life = |peer: &Address| view.node(peer.node).map_or(Incarnation(0), |info| info.incarnation);
            let peers = self.slots.iter().flat_map(|slot| slot.members.backups.iter());
            let peers = peers.map(|peer| (*peer, life(peer))).collect();
            self.lag.begin_view(self.now, self.map.view.number, peers);
        }
    }

    /// It is time to look: behind everything that waits here, answers among it.
    pub(super) fn on_look_due(&mut self, outputs: &mut Outputs<Shared>) {
        let now = self.now.monotonic;
        if let Some(due) = self.lag.look_at.take_if(|due| *due <= now) {
            self.lag.is_looking = true;
            self.later(Job::Look(due), outputs);
        }
    }

    /// Looks at what is owed, reports who is late, and sends the next probes.
    pub(super) fn look_for_lag(&mut self, due: Instant, outputs: &mut Outputs<Shared>) {
        self.lag.begin_look(self.now, due);
        let mut since: BTreeMap<NodeId, u64> = BTreeMap::new();
        for (node, look) in self.answers_owed() {
            let oldest = since.entry(node).or_insert(look);
            *oldest = look.min(*oldest);
        }
        for (node, look) in since {
            let age = self.lag.age(look);
            // A joining replica has lacked CPU for its own start, and is waited for anyway.
            if age >= self.lag.limit && !self.progress.is_joining {
                let milliseconds = u32::try_from(age.as_millis()).unwrap_or(u32::MAX);
                let report = Signal::ReplicaLags { node, milliseconds };
                outputs.send(self.address, Address::membership(self.address.node), report);
            }
        }
        for peer in self.lag.peers.keys() {
            outputs.send(self.address, *peer, Signal::LagProbe { probe: self.lag.look });
        }
    }

    /// The nodes that owe something, since which look.
    fn answers_owed(&mut self) -> Vec<(NodeId, u64)> {
        let mut owed: Vec<(NodeId, u64)> = self.lag.probes_owed().collect();
        for slot in self.slots.iter().filter(|slot| slot.is_primary()) {
            let stream = &slot.stream;
            let mut awaited =
                stream.pending.iter().filter(|(_, pending)| pending.refused.is_none()).peekable();
            self.lag.note_places(slot.id, awaited.peek().map(|(place, _)| **place), stream.given);
            let mut backups: BTreeSet<NodeId> =
                slot.members.backups.iter().map(|backup| backup.node).collect();
            // Each is younger than the one before.
            for (place, pending) in awaited {
                let since = self.lag.place_since(slot.id, *place);
                if backups.is_empty() || self.lag.age(since) < self.lag.limit {
                    break;
                }
                let late = pending.missing.iter().filter(|node| backups.remove(node));
                owed.extend(late.map(|node| (node, since)));
            }
        }
        owed
    }

    pub(super) fn on_lag_probed(&mut self, from: Address, probe: u64) {
        self.lag.note_answer(from, probe);
    }
}

#[cfg(test)]
mod tests;
