//! Epochs: cluster-wide commit groups, opened and closed by the epoch master.
//!
//! The master (lowest in-sync data node of the view) opens e+1. Every member stamps new prepares e+1, drains what was
//! prepared in ≤ e (its outcome known and applied here), and reports. When all have reported, e is closed: primaries
//! and coordinators have nothing of it to decide any more. Each ldm hears of that, and drains a second time: a backup
//! hears outcomes late. When nothing ≤ e is undecided there either, e is *whole* at this ldm; at the node, when it is
//! so at all of its ldms.
//!
//! Each view closes one epoch at least. A view voids the rounds of the one before, and may have come between a member
//! and the word that an epoch is closed. After that nothing is opened while nothing was stamped: modules say
//! `EpochStamped` when they stamp into an epoch for the first time, and members `EpochWanted`.
//!
//! Invariants: epochs are opened in order, one at a time. closed(e) is said only when every in-sync data node has
//! drained e. The open epoch never goes back, across masters too: a new master opens the highest it knows + 1.
//!
//! `durable` says which epochs a loss of power cannot take any more.

mod durable;
mod exposure;

use crate::mutants::{self, Mutant};
use durable::Durability;
use protocol::{Address, Envelope, ModuleKind, Outputs, Signal, View};
use std::collections::BTreeMap;
use stdx::{Duration, Instant, Now};
use types::{Epoch, NodeId, RestartNumber, ViewNumber};

/// TimeBetweenEpochs: how long an epoch stays open when something was stamped in it.
pub const TIME_BETWEEN_EPOCHS: Duration = Duration::from_millis(10);

/// How long an epoch stays open at least when somebody waits for it to be durable.
pub const TIME_BETWEEN_EPOCHS_MIN: Duration = Duration::from_millis(1);

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
    opened_at: Option<Instant>,
    time_between_epochs: Duration,
    /// The module that writes the node's log, if there is one.
    disk: Option<Address>,
    durability: Durability,
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
    /// A member stamped in this epoch.
    Wanted(Epoch),
    /// A module of this node did, first at that time.
    Stamped(Epoch, Instant),
    /// The master opened this epoch.
    Open(Epoch),
    /// The sender drained everything below this epoch.
    Drained(Epoch),
    /// The master closed an epoch.
    Closed(Closed),
    /// An ldm of this node has everything of this epoch and of those below.
    Whole(Epoch),
    /// The log of this node has it on disk, and all before it.
    Flushed(Epoch),
    /// The log of a member has; and the highest D that the member knows.
    FlushedBy {
        /// The epoch.
        epoch: Epoch,
        /// D.
        durable: Epoch,
    },
    /// The master says F and D.
    Durable {
        /// In this view.
        view: ViewNumber,
        /// The restart of the cluster in which that is so.
        restart: RestartNumber,
        /// F.
        flushed: Epoch,
        /// D.
        durable: Epoch,
    },
    /// The sender waits for this to be durable.
    DurableWanted(Epoch),
}

/// The word that an epoch is closed, as `EpochClosed` has it.
#[derive(Clone, Copy, Debug)]
pub struct Closed {
    epoch: Epoch,
    is_awaited: bool,
    closed_at_us: u64,
    stamped_for_us: Option<u64>,
}

impl Closed {
    fn signal(self) -> Signal {
        let Self { epoch, is_awaited, closed_at_us, stamped_for_us } = self;
        Signal::EpochClosed { epoch, is_awaited, closed_at_us, stamped_for_us }
    }
}

impl EpochSignals {
    /// The meaning of a signal for epochs, if it has any.
    #[must_use]
    #[expect(clippy::wildcard_enum_match_arm, reason = "the others have nothing to do with epochs")]
    pub fn of(envelope: &Envelope) -> Option<Self> {
        Some(match envelope.signal {
            Signal::EpochWanted { epoch } => Self::Wanted(epoch),
            Signal::EpochStamped { epoch, at_ns } => Self::Stamped(epoch, Instant(at_ns)),
            Signal::EpochOpen { epoch } => Self::Open(epoch),
            Signal::EpochDrained { epoch } => Self::Drained(epoch),
            Signal::EpochClosed { epoch, is_awaited, closed_at_us, stamped_for_us } => {
                Self::Closed(Closed { epoch, is_awaited, closed_at_us, stamped_for_us })
            }
            Signal::EpochWhole { epoch } => Self::Whole(epoch),
            Signal::Flushed { epoch } => Self::Flushed(epoch),
            Signal::EpochFlushed { epoch, durable } => Self::FlushedBy { epoch, durable },
            Signal::EpochDurable { restart, flushed, durable } => {
                Self::Durable { view: envelope.view, restart, flushed, durable }
            }
            Signal::DurableWanted { epoch } => Self::DurableWanted(epoch),
            _ => return None,
        })
    }
}

impl EpochMember {
    /// A member before any view. `modules` are those that stamp or decide, and the one that writes the node's log.
    #[must_use]
    pub fn new(node: NodeId, mut modules: Vec<Address>, time_between_epochs: Duration) -> Self {
        let disk = modules.extract_if(.., |module| module.kind == ModuleKind::Disk).next();
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
            opened_at: None,
            time_between_epochs,
            disk,
            durability: Durability::default(),
        }
    }

    /// Installs the members of a view: rounds of the old one are void, and what members wanted they want of the new
    /// master. (A new master may open an epoch again that the old one had opened: that means the same. It never
    /// closes one that some member has not drained.)
    pub fn install<S>(&mut self, now: Now, view: &View, outputs: &mut Outputs<S>) {
        // The epochs of a restart are above all that were ever stamped.
        self.adopt(view.restart.first);
        self.data_nodes = view.groups.first().map_or_else(Vec::new, |group| group.in_sync.clone());
        self.master = view.epoch_master();
        self.round = None;
        self.undrained.clear();
        self.next_open_at = None;
        self.closed_in_view = Epoch(0);
        match self.master {
            Some(master) if master != self.node => {
                if self.wanted > self.closed {
                    let wanted = Signal::EpochWanted { epoch: self.wanted };
                    outputs.send(self.me(), Address::main(master), wanted);
                }
            }
            _ => self.schedule(now),
        }
        self.install_durability(now, view, outputs);
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
            EpochSignals::Wanted(epoch) => self.on_wanted(now, (epoch, now.monotonic), outputs),
            EpochSignals::Stamped(epoch, at) => self.on_wanted(now, (epoch, at), outputs),
            EpochSignals::Open(epoch) => self.on_open(epoch, outputs),
            EpochSignals::Drained(epoch) if from.node == self.node && from != self.me() => {
                self.on_module_drained(now, from, epoch, outputs);
            }
            EpochSignals::Drained(epoch) => self.on_member_drained(now, from.node, epoch, outputs),
            EpochSignals::Closed(closed) => self.on_closed(now, closed, outputs),
            EpochSignals::Whole(epoch) => {
                if let Some(whole) = self.whole.get_mut(&from) {
                    *whole = epoch.max(*whole);
                }
            }
            EpochSignals::Flushed(epoch) => self.on_flushed(epoch, outputs),
            EpochSignals::FlushedBy { epoch, durable } => {
                self.on_member_flushed(from.node, epoch, durable, outputs);
            }
            EpochSignals::Durable { view, restart, flushed, durable } => {
                self.on_durable(view, restart, (flushed, durable), outputs);
            }
            EpochSignals::DurableWanted(epoch) => self.on_durable_wanted(now, from, epoch, outputs),
        }
    }

    fn on_wanted<S>(&mut self, now: Now, (epoch, at): (Epoch, Instant), outputs: &mut Outputs<S>) {
        self.adopt(epoch);
        self.durability.note_stamp(epoch, at);
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
        if !self.is_master() || self.round.is_some() {
            return;
        }
        if self.next_open_at.is_none() && self.is_closing_due() {
            self.next_open_at = Some(now.monotonic + self.time_between_epochs);
        }
        if self.durability.is_closing_due() {
            let soon = self.opened_at.map(|opened| opened + TIME_BETWEEN_EPOCHS_MIN);
            let soon = soon.unwrap_or(now.monotonic).max(now.monotonic);
            self.next_open_at = stdx::earlier(self.next_open_at, Some(soon));
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

    /// An epoch is closed: the ldms of this node say when they have all of it, and its log gets its mark then.
    fn on_closed<S>(&mut self, now: Now, closed: Closed, outputs: &mut Outputs<S>) {
        self.closed = self.closed.max(closed.epoch);
        self.durability.note_closed(closed, now.monotonic);
        for module in self.disk.iter().chain(self.whole.keys()) {
            outputs.send(self.me(), *module, closed.signal());
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
        self.opened_at = Some(now.monotonic);
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
        let epoch = Epoch(epoch.0 - 1);
        self.round = None;
        self.closed_in_view = epoch;
        let is_awaited = self.durability.is_awaited();
        if is_awaited {
            self.durability.hurry(epoch);
        }
        let closed = Closed {
            epoch,
            is_awaited,
            closed_at_us: now.wall.0,
            stamped_for_us: self.durability.stamped_for_us(self.closed, epoch, now.monotonic),
        };
        for node in self.data_nodes.iter().filter(|node| **node != self.node) {
            outputs.send(self.me(), Address::main(*node), closed.signal());
        }
        self.on_closed(now, closed, outputs);
        self.schedule(now);
    }
}

fn is_ldm(module: &Address) -> bool {
    module.kind == ModuleKind::Ldm
}
