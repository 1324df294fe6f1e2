//! Epochs: cluster-wide commit groups, opened and closed by the epoch master.
//!
//! The master (lowest in-sync data node of the view) opens e+1. Every member stamps new prepares e+1, drains what was
//! prepared in ≤ e (its outcome known and applied here), and reports. When all have reported, e is closed: primaries
//! and coordinators have nothing of it to decide any more. Each ldm hears of that, and drains a second time: a backup
//! hears outcomes late. When nothing ≤ e is undecided there either, e is *whole* at this ldm; at the node, when it is
//! so at all of its ldms.
//!
//! Each view closes one epoch at least. A view voids the rounds of the one before, and may have come between a member
//! and the word that an epoch is closed. After that nothing is opened while nothing was stamped: members say
//! `EpochWanted` when they stamp into an epoch for the first time.
//!
//! Invariants: epochs are opened in order, one at a time. closed(e) is said only when every in-sync data node has
//! drained e. The open epoch never goes back, across masters too: a new master opens the highest it knows + 1.

use crate::mutants::{self, Mutant};
use protocol::{Address, ModuleKind, Outputs, Signal};
use std::collections::BTreeMap;
use stdx::{Duration, Instant, Now};
use types::{Epoch, NodeId};

/// TimeBetweenEpochs: how long an epoch stays open when something was stamped in it.
pub const TIME_BETWEEN_EPOCHS: Duration = Duration::from_millis(10);

/// One node's part in opening and closing epochs; runs in `main`.
#[derive(Debug)]
pub struct EpochMember {
    node: NodeId,
    /// Modules of this node that stamp or decide: its ldms and tcs.
    modules: Vec<Address>,
    data_nodes: Vec<NodeId>,
    master: Option<NodeId>,
    /// The newest epoch known to be open.
    open: Epoch,
    closed: Epoch,
    /// The newest epoch that was closed in this view, as its master knows it; 0: none yet.
    closed_in_view: Epoch,
    /// The newest whole epoch of each ldm.
    whole: BTreeMap<Address, Epoch>,
    /// Modules that have not drained for `open` yet.
    undrained: Vec<Address>,
    /// The highest epoch that the master was told to close.
    wanted: Epoch,
    /// The master's state.
    round: Option<Round>,
    next_open_at: Option<Instant>,
    time_between_epochs: Duration,
}

/// A closing in progress at the master.
#[derive(Debug)]
struct Round {
    epoch: Epoch,
    missing: Vec<NodeId>,
}

/// The signals that `EpochMember` understands.
#[derive(Clone, Copy, Debug)]
pub enum EpochSignals {
    /// A module or member stamped in this epoch.
    Wanted(Epoch),
    /// The master opened this epoch.
    Open(Epoch),
    /// The sender drained everything below this epoch.
    Drained(Epoch),
    /// The master closed this epoch.
    Closed(Epoch),
    /// An ldm of this node has everything of this epoch and of those below.
    Whole(Epoch),
}

impl EpochMember {
    /// A member before any view.
    #[must_use]
    pub fn new(node: NodeId, modules: Vec<Address>, time_between_epochs: Duration) -> Self {
        Self {
            node,
            whole: modules.iter().filter(|module| is_ldm(module)).map(|ldm| (*ldm, Epoch(0))).collect(),
            modules,
            data_nodes: Vec::new(),
            master: None,
            open: Epoch(1),
            closed: Epoch(0),
            closed_in_view: Epoch(0),
            undrained: Vec::new(),
            wanted: Epoch(0),
            round: None,
            next_open_at: None,
            time_between_epochs,
        }
    }

    /// Installs the members of a view: rounds of the old one are void, and what members wanted they want of the new
    /// master. (A new master may open an epoch again that the old one had opened: that means the same. It never
    /// closes one that some member has not drained.)
    pub fn install<S>(
        &mut self,
        now: Now,
        data_nodes: Vec<NodeId>,
        master: Option<NodeId>,
        outputs: &mut Outputs<S>,
    ) {
        self.data_nodes = data_nodes;
        self.master = master;
        self.round = None;
        self.undrained.clear();
        self.next_open_at = None;
        self.closed_in_view = Epoch(0);
        match master {
            Some(master) if master != self.node => {
                if self.wanted > self.closed {
                    let wanted = Signal::EpochWanted { epoch: self.wanted };
                    outputs.send(self.me(), Address::main(master), wanted);
                }
            }
            _ => self.schedule(now),
        }
    }

    /// The newest open epoch.
    #[must_use]
    pub fn open(&self) -> Epoch {
        self.open
    }

    /// The newest closed epoch.
    #[must_use]
    pub fn closed(&self) -> Epoch {
        self.closed
    }

    /// The newest epoch of which all is here: it was closed, and every ldm of this node has decided what was stamped in
    /// it and below.
    #[must_use]
    pub fn whole(&self) -> Epoch {
        self.whole.values().min().copied().unwrap_or(Epoch(0))
    }

    /// A message carried a higher epoch.
    pub fn adopt(&mut self, epoch: Epoch) {
        self.open = self.open.max(epoch);
    }

    /// When the master opens the next epoch.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.next_open_at
    }

    fn is_master(&self) -> bool {
        self.master == Some(self.node)
    }

    fn me(&self) -> Address {
        Address::main(self.node)
    }

    /// Handles a signal of the epoch protocol.
    pub fn on_signal<S>(&mut self, now: Now, from: Address, signal: EpochSignals, outputs: &mut Outputs<S>) {
        match signal {
            EpochSignals::Wanted(epoch) => self.on_wanted(now, epoch, outputs),
            EpochSignals::Open(epoch) => self.on_open(epoch, outputs),
            EpochSignals::Drained(epoch) if from.node == self.node && from != self.me() => {
                self.on_module_drained(now, from, epoch, outputs);
            }
            EpochSignals::Drained(epoch) => self.on_member_drained(now, from.node, epoch, outputs),
            EpochSignals::Closed(epoch) => self.on_closed(epoch, outputs),
            EpochSignals::Whole(epoch) => {
                if let Some(whole) = self.whole.get_mut(&from) {
                    *whole = epoch.max(*whole);
                }
            }
        }
    }

    fn on_wanted<S>(&mut self, now: Now, epoch: Epoch, outputs: &mut Outputs<S>) {
        self.adopt(epoch);
        if epoch <= self.wanted || epoch <= self.closed {
            return;
        }
        self.wanted = epoch;
        match self.master {
            Some(master) if master != self.node => {
                outputs.send(self.me(), Address::main(master), Signal::EpochWanted { epoch });
            }
            _ => self.schedule(now),
        }
    }

    fn schedule(&mut self, now: Now) {
        if self.is_master() && self.round.is_none() && self.next_open_at.is_none() && self.is_closing_due() {
            self.next_open_at = Some(now.monotonic + self.time_between_epochs);
        }
    }

    /// Whether something was stamped that this view has not closed, or it has closed nothing at all. Epochs that an
    /// earlier view has closed do not count: a member may not have heard of that.
    fn is_closing_due(&self) -> bool {
        if mutants::is(Mutant::WantedAgainstClosed) {
            return self.wanted > self.closed;
        }
        self.closed_in_view == Epoch(0) || self.wanted > self.closed_in_view
    }

    /// An epoch is closed: the ldms of this node say when they have all of it.
    fn on_closed<S>(&mut self, epoch: Epoch, outputs: &mut Outputs<S>) {
        self.closed = self.closed.max(epoch);
        for ldm in self.whole.keys() {
            outputs.send(self.me(), *ldm, Signal::EpochClosed { epoch });
        }
    }

    /// The master's deadline has come: open the next epoch.
    pub fn on_deadline<S>(&mut self, now: Now, outputs: &mut Outputs<S>) {
        if self.next_open_at.is_none_or(|at| at > now.monotonic) {
            return;
        }
        self.next_open_at = None;
        if !self.is_master() || self.round.is_some() {
            return;
        }
        let epoch = Epoch(self.open.0.max(self.wanted.0) + 1);
        self.round = Some(Round { epoch, missing: self.data_nodes.clone() });
        for node in &self.data_nodes {
            outputs.send(self.me(), Address::main(*node), Signal::EpochOpen { epoch });
        }
    }

    fn on_open<S>(&mut self, epoch: Epoch, outputs: &mut Outputs<S>) {
        self.adopt(epoch);
        self.undrained.clone_from(&self.modules);
        for module in &self.modules {
            outputs.send(self.me(), *module, Signal::EpochOpen { epoch });
        }
    }

    fn on_module_drained<S>(&mut self, now: Now, module: Address, epoch: Epoch, outputs: &mut Outputs<S>) {
        self.undrained.retain(|waiting| *waiting != module);
        if !self.undrained.is_empty() {
            return;
        }
        match self.master {
            Some(master) if master != self.node => {
                outputs.send(self.me(), Address::main(master), Signal::EpochDrained { epoch });
            }
            _ => self.on_member_drained(now, self.node, epoch, outputs),
        }
    }

    fn on_member_drained<S>(&mut self, now: Now, node: NodeId, epoch: Epoch, outputs: &mut Outputs<S>) {
        let Some(round) = &mut self.round else { return };
        if round.epoch != epoch {
            return;
        }
        if mutants::is(Mutant::EpochClosedEarly) {
            round.missing.clear();
        }
        round.missing.retain(|missing| *missing != node);
        if !round.missing.is_empty() {
            return;
        }
        let closed = Epoch(epoch.0 - 1);
        self.round = None;
        self.closed_in_view = closed;
        for node in self.data_nodes.iter().filter(|node| **node != self.node) {
            outputs.send(self.me(), Address::main(*node), Signal::EpochClosed { epoch: closed });
        }
        self.on_closed(closed, outputs);
        self.schedule(now);
    }
}

fn is_ldm(module: &Address) -> bool {
    module.kind == ModuleKind::Ldm
}
