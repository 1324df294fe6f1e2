//! D: the newest epoch that a loss of power cannot take any more.
//!
//! ```text
//! disk of a node -> its main: Flushed            the node's log has whole(e) on disk
//! main of each member -> the master's: EpochFlushed
//! master -> mains of all members, and whoever waits: EpochDurable   F is the least flushed of all in-sync members
//! session -> its main -> the master's: DurableWanted                closed at once, at most each millisecond
//! ```
//! D is F while each replica group has a restorable member in sync. Else it stands still: a restart would have nobody
//! to begin from. Somebody who waits is told of each step of D, until it has reached what he waits for. He is asked
//! for again in each view, and over each new link.
//!
//! Invariants (I10): D is said only when every in-sync member of the view has flushed that epoch, and each group has a
//! restorable member among them. It never goes back: members tell a master the highest D that they know, and it says
//! no F below those. In each view a member says again how much it has flushed. A D counts in the restart number that
//! said it, and in no other.
//!
//! Deliberately not here: the log itself, and when it is flushed without anybody waiting (module `disk`).

use super::exposure::Exposure;
use super::{Closed, EpochMember};
use crate::mutants::{self, Mutant};
use protocol::{Address, Outputs, Signal, View};
use std::collections::BTreeMap;
use stdx::{Instant, Now};
use types::{Epoch, NodeId, RestartNumber, ViewNumber};

/// The word of a member.
#[derive(Clone, Copy, Debug)]
struct Told {
    flushed: Epoch,
    durable: Epoch,
}

/// The durable part of a node's epochs.
#[derive(Debug, Default)]
pub(super) struct Durability {
    /// The restart of the cluster whose epochs these are.
    restart: RestartNumber,
    /// On this node's disk.
    flushed: Epoch,
    /// The first epoch that this process has flushed. A disk that rows were copied to can be brought to no older one.
    first_flushed: Epoch,
    /// F, as it was said last.
    flushed_by_all: Epoch,
    /// D, as far as it is known here.
    durable: Epoch,
    /// Each group of this view has a restorable member in sync.
    is_restorable: bool,
    view: ViewNumber,
    /// The master's: what the members have told in this view.
    told: BTreeMap<NodeId, Told>,
    has_said: bool,
    /// Modules of this node that wait for D, and at the master mains of others: for which epoch.
    waiting: BTreeMap<Address, Epoch>,
    /// The epoch that the master of this view was asked for.
    asked: Epoch,
    /// The newest epoch that this view has closed for somebody who waits.
    hurried: Epoch,
    exposure: Exposure,
}

impl Durability {
    /// Something was stamped in an epoch at this time.
    pub(super) fn note_stamp(&mut self, epoch: Epoch, at: Instant) {
        if epoch > self.durable {
            self.exposure.note(epoch, at);
        }
    }

    /// An epoch is closed: what others have stamped in it is known now.
    pub(super) fn note_closed(&mut self, closed: Closed, now: Instant) {
        if let Some(us) = closed.stamped_for_us {
            self.note_stamp(closed.epoch, Instant(now.0.saturating_sub(us.saturating_mul(1_000))));
        }
    }

    /// For how long the epochs above `before`, up to `closed`, have had a stamp; none: there is none.
    pub(super) fn stamped_for_us(&self, before: Epoch, closed: Epoch, now: Instant) -> Option<u64> {
        let since = self.exposure.first_of(before, closed)?;
        Some(u64::try_from(now.since(since).as_micros()).unwrap_or(u64::MAX))
    }

    /// The highest epoch that somebody waits for.
    fn wanted(&self) -> Option<Epoch> {
        self.waiting.values().max().copied()
    }

    /// Whether somebody waits, so that disks flush at once what is closed.
    pub(super) fn is_awaited(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Whether somebody waits for what no disk was hurried for in this view.
    pub(super) fn is_closing_due(&self) -> bool {
        self.wanted().is_some_and(|wanted| wanted > self.hurried)
    }

    /// This view has closed an epoch while somebody waits.
    pub(super) fn hurry(&mut self, closed: Epoch) {
        self.hurried = self.hurried.max(closed);
    }

    fn signal(&self) -> Signal {
        let Self { restart, flushed_by_all, durable, .. } = *self;
        Signal::EpochDurable { restart, flushed: flushed_by_all, durable }
    }

    /// The least that members have flushed, when all have told; and the highest D that any of them knows.
    fn least_flushed(&self, members: &[NodeId]) -> Option<(Epoch, Epoch)> {
        let told = members.iter().filter_map(|node| self.told.get(node));
        let known = told.clone().map(|told| told.durable).max().max(Some(self.durable))?;
        if mutants::is(Mutant::DurableByOne) {
            return told.map(|told| told.flushed).max().map(|flushed| (flushed, known));
        }
        let is_complete = told.clone().count() == members.len();
        let flushed = told.map(|told| told.flushed).min().filter(|_| is_complete)?;
        Some((flushed, known))
    }
}

impl EpochMember {
    /// The newest epoch that this node has on disk, with all before it.
    #[must_use]
    pub fn flushed(&self) -> Epoch {
        self.durability.flushed
    }

    /// The newest epoch that all members have on disk, as the master said last.
    #[must_use]
    pub fn flushed_by_all(&self) -> Epoch {
        self.durability.flushed_by_all
    }

    /// The newest epoch that a loss of power cannot take, as far as this node knows.
    #[must_use]
    pub fn durable(&self) -> Epoch {
        self.durability.durable
    }

    /// The restart of the cluster whose epochs these are.
    #[must_use]
    pub fn restart(&self) -> RestartNumber {
        self.durability.restart
    }

    /// Since when there is something that a loss of power would take; none: there is nothing.
    #[must_use]
    pub fn exposed_since(&self) -> Option<Instant> {
        self.durability.exposure.since()
    }

    /// A newer view is installed: what was told in the old one is void, and is told and asked again.
    pub(super) fn install_durability<S>(&mut self, now: Now, view: &View, outputs: &mut Outputs<S>) {
        let (node, restart) = (self.node, view.restart.number);
        let durability = &mut self.durability;
        if restart > durability.restart {
            *durability = Durability {
                restart,
                waiting: std::mem::take(&mut durability.waiting),
                ..Default::default()
            };
        }
        durability.view = view.number;
        durability.is_restorable = view.keeps_durable() || mutants::is(Mutant::DurableWithoutRestorable);
        durability.told.clear();
        durability.has_said = false;
        durability.waiting.retain(|asker, _| asker.node == node);
        (durability.asked, durability.hurried) = (Epoch(0), Epoch(0));
        self.tell_flushed(outputs);
        self.ask_for_durable(now, outputs);
    }

    /// The links to a node are up: what the master was asked, and what it answered, may have been lost with others.
    pub fn on_link_up<S>(&mut self, now: Now, node: NodeId, outputs: &mut Outputs<S>) {
        if self.master == Some(node) {
            self.durability.asked = Epoch(0);
            self.ask_for_durable(now, outputs);
        }
    }

    /// The log of this node has this epoch on disk, and all before it.
    pub(super) fn on_flushed<S>(&mut self, epoch: Epoch, outputs: &mut Outputs<S>) {
        if epoch > self.durability.flushed {
            if self.durability.flushed == Epoch(0) {
                self.durability.first_flushed = epoch;
            }
            self.durability.flushed = epoch;
            self.tell_flushed(outputs);
        }
    }

    fn tell_flushed<S>(&mut self, outputs: &mut Outputs<S>) {
        let Durability { flushed: epoch, durable, .. } = self.durability;
        match self.master {
            _ if epoch == Epoch(0) => {}
            Some(master) if master != self.node => {
                outputs.send(self.me(), Address::main(master), Signal::EpochFlushed { epoch, durable });
            }
            _ => self.on_member_flushed(self.node, epoch, durable, outputs),
        }
    }

    /// A member has told the master.
    pub(super) fn on_member_flushed<S>(
        &mut self,
        node: NodeId,
        flushed: Epoch,
        durable: Epoch,
        outputs: &mut Outputs<S>,
    ) {
        if !self.is_master() || !self.data_nodes.contains(&node) {
            return;
        }
        self.durability.told.insert(node, Told { flushed, durable });
        let Some((flushed, known)) = self.durability.least_flushed(&self.data_nodes) else { return };
        if flushed < known && !mutants::is(Mutant::KnownDIgnored) {
            return;
        }
        let durable = if self.durability.is_restorable { flushed } else { known };
        let is_news = !std::mem::replace(&mut self.durability.has_said, true)
            || (flushed, durable) != (self.durability.flushed_by_all, self.durability.durable);
        if !is_news {
            return;
        }
        let restart = self.durability.restart;
        for other in self.data_nodes.iter().filter(|other| **other != self.node) {
            outputs.send(
                self.me(),
                Address::main(*other),
                Signal::EpochDurable { restart, flushed, durable },
            );
        }
        self.on_durable(self.durability.view, restart, (flushed, durable), outputs);
    }

    /// The master of a view has said F and D. If it is this view, `membership` hears that this node's disk counts.
    pub(super) fn on_durable<S>(
        &mut self,
        view: ViewNumber,
        restart: RestartNumber,
        (flushed, durable): (Epoch, Epoch),
        outputs: &mut Outputs<S>,
    ) {
        if restart != self.durability.restart && !mutants::is(Mutant::WaiterOutlivesRestart) {
            return;
        }
        self.durability.flushed_by_all = flushed;
        let mut own = self.durability.first_flushed..=self.durability.flushed;
        if mutants::is(Mutant::CountedBelowFirst) {
            own = Epoch(0)..=self.durability.flushed;
        }
        let is_counted = self.data_nodes.contains(&self.node) && own.contains(&flushed);
        if is_counted && view == self.durability.view {
            let counted = Signal::DiskCounted { view, is_durable: durable == flushed };
            outputs.send(self.me(), Address::membership(self.node), counted);
        }
        if durable <= self.durability.durable {
            return;
        }
        self.durability.durable = durable;
        self.durability.exposure.end(durable);
        for asker in self.durability.waiting.keys() {
            outputs.send(self.me(), *asker, self.durability.signal());
        }
        self.durability.waiting.retain(|_, epoch| *epoch > durable);
    }

    /// A module of this node, or the main of another one, waits for D.
    pub(super) fn on_durable_wanted<S>(
        &mut self,
        now: Now,
        from: Address,
        epoch: Epoch,
        outputs: &mut Outputs<S>,
    ) {
        self.adopt(epoch);
        if epoch <= self.durability.durable {
            return outputs.send(self.me(), from, self.durability.signal());
        }
        let waiting = self.durability.waiting.entry(from).or_insert(epoch);
        *waiting = epoch.max(*waiting);
        self.ask_for_durable(now, outputs);
    }

    fn ask_for_durable<S>(&mut self, now: Now, outputs: &mut Outputs<S>) {
        match (self.master, self.durability.wanted()) {
            (Some(master), Some(epoch)) if master != self.node => {
                if epoch > self.durability.asked {
                    self.durability.asked = epoch;
                    outputs.send(self.me(), Address::main(master), Signal::DurableWanted { epoch });
                }
            }
            _ => self.schedule(now),
        }
    }
}
