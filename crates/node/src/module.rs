//! The wrapper around every module.
//!
//! Invariants:
//! - I2: the fence (`protocol::signal::Fence`) lets a signal through, keeps it until its sender's view is installed
//!   here, or drops it. Work that was dropped with an old view is done again in the new one
//!   (`transaction::ldm::slot::view_change`).
//! - A signal for another kind of module is refused and counted here: no dispatcher behind this wrapper meets one.
//! - An ldm enters a view with the tables, all others with the complete map; what a module sends from then on belongs
//!   to it.
//! - Work that a node had sent from a newer view before it was lost is undone as soon as it is done: its sessions do
//!   not end it.
//! - A signal's epoch is adopted before the signal is handled, by the whole node (`protocol::epoch`); every signal
//!   leaves with the module's view and the node's epoch.
//! - A signal whose epoch is impossibly far ahead comes from a broken peer: it is dropped, and nobody adopts its epoch.
//!   A node that is in no view yet cannot judge: it handles the signal, and takes the epoch of what brings views.

use crate::disk_module::DiskModule;
use crate::main_module::{MainModule, counter_rows};
use crate::mutants::{self, Mutant};
use membership::Membership;
use protocol::epoch::NodeEpoch;
use protocol::module::Counts;
use protocol::restart::{EPOCHS_LEAP, RESTARTS_MAX};
use protocol::signal::{InfoTable, Verdict};
use protocol::{Address, Budget, Envelope, Input, Module, Outputs, Signal};
use query::{NodeMap, Query, Shared};
use sql::SqlModule;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use stdx::{Instant, Now};
use transaction::{Ldm, Tc};
use types::{Epoch, NodeId, ViewNumber};

/// Signals from a newer view that wait for it to be installed here: far more than all peers send in the time that this
/// takes.
const EARLY_MAX: usize = 1_000_000;
/// How far ahead of a node's epoch a peer's may be while the node is in a view. Epochs leap with each restart of the
/// cluster. A management node may hear a node that has restarted before it has the new view, because it ran on or
/// begins with the view in its control log. It may have missed as many restarts as the control log remembers.
const EPOCHS_AHEAD_MAX: u64 = 2 * RESTARTS_MAX as u64 * EPOCHS_LEAP;

/// A module's block.
enum Block {
    Sql(Box<SqlModule>),
    Tc(Box<Tc>),
    Ldm(Box<Ldm>),
    Query(Box<Query>),
    Main(Box<MainModule>),
    Membership(Box<Membership>),
    Disk(Box<DiskModule>),
}

/// A module as drivers see it.
pub struct NodeModule {
    address: Address,
    view: ViewNumber,
    /// Data nodes that the installed view leaves out.
    left_out: Vec<NodeId>,
    /// The highest that this module has heard of.
    epoch: Epoch,
    node_epoch: Arc<NodeEpoch>,
    early: Vec<Envelope>,
    early_max: usize,
    refused: Refused,
    /// As the newest map says.
    losses: BTreeMap<NodeId, u64>,
    /// Nodes without slots that were lost after they had sent something of `early`.
    lost_early: BTreeSet<NodeId>,
    block: Block,
}

/// Signals that were not handled, counted.
#[derive(Default)]
struct Refused {
    /// The replicas' own of an older view.
    old_view: u64,
    /// From nodes that the view leaves out.
    left_out: u64,
    /// With an impossible epoch.
    epoch_ahead: u64,
    /// Signals of a newer view, above [`EARLY_MAX`].
    too_early: u64,
    /// For another kind of module.
    wrong_kind: u64,
}

impl NodeModule {
    fn new(address: Address, block: Block) -> Self {
        Self {
            address,
            view: ViewNumber(0),
            left_out: Vec::new(),
            epoch: Epoch(1),
            node_epoch: Arc::default(),
            early: Vec::new(),
            early_max: EARLY_MAX,
            refused: Refused::default(),
            losses: BTreeMap::new(),
            lost_early: BTreeSet::new(),
            block,
        }
    }

    /// A module of sessions.
    #[must_use]
    pub fn sql(address: Address, module: SqlModule) -> Self {
        Self::new(address, Block::Sql(Box::new(module)))
    }

    /// A coordinator.
    #[must_use]
    pub fn tc(address: Address, tc: Tc) -> Self {
        Self::new(address, Block::Tc(Box::new(tc)))
    }

    /// A local data manager.
    #[must_use]
    pub fn ldm(address: Address, ldm: Ldm) -> Self {
        Self::new(address, Block::Ldm(Box::new(ldm)))
    }

    /// A module of committed reads.
    #[must_use]
    pub fn query(address: Address, query: Query) -> Self {
        Self::new(address, Block::Query(Box::new(query)))
    }

    /// The main module.
    #[must_use]
    pub fn main(address: Address, main: MainModule) -> Self {
        Self::new(address, Block::Main(Box::new(main)))
    }

    /// The membership module.
    #[must_use]
    pub fn membership(address: Address, membership: Membership) -> Self {
        Self::new(address, Block::Membership(Box::new(membership)))
    }

    /// The module of the redo log.
    #[must_use]
    pub fn disk(address: Address, disk: DiskModule) -> Self {
        Self::new(address, Block::Disk(Box::new(disk)))
    }

    /// The same, with the epoch that all modules of its node have together.
    #[must_use]
    pub fn with_epoch(self, node_epoch: &Arc<NodeEpoch>) -> Self {
        Self { node_epoch: Arc::clone(node_epoch), ..self }
    }

    /// Its address.
    #[must_use]
    pub fn address(&self) -> Address {
        self.address
    }

    /// The local data manager, for checks of the simulator.
    #[must_use]
    pub fn as_ldm(&self) -> Option<&Ldm> {
        match &self.block {
            Block::Ldm(ldm) => Some(ldm),
            Block::Sql(_)
            | Block::Tc(_)
            | Block::Query(_)
            | Block::Main(_)
            | Block::Membership(_)
            | Block::Disk(_) => None,
        }
    }

    /// The coordinator, for checks of the simulator.
    #[must_use]
    pub fn as_tc(&self) -> Option<&Tc> {
        match &self.block {
            Block::Tc(tc) => Some(tc),
            Block::Sql(_)
            | Block::Ldm(_)
            | Block::Query(_)
            | Block::Main(_)
            | Block::Membership(_)
            | Block::Disk(_) => None,
        }
    }

    /// A digest of all that decides how an ldm or a tc goes on, its wrapper included. 0 for other modules.
    #[must_use]
    pub fn digest(&self) -> u64 {
        let block = match &self.block {
            Block::Ldm(ldm) => ldm.digest(),
            Block::Tc(tc) => tc.digest(),
            Block::Sql(_) | Block::Query(_) | Block::Main(_) | Block::Membership(_) | Block::Disk(_) => {
                return 0;
            }
        };
        let text = format!("{block} {} {} {:?}", self.view, self.epoch, self.early);
        stdx::hash64(text.as_bytes())
    }

    fn handle_signal(
        &mut self,
        now: Now,
        envelope: Envelope,
        budget: &mut Budget,
        outputs: &mut Outputs<Shared>,
    ) {
        let mut is_adopted = true;
        if self.is_far_ahead(envelope.epoch) {
            if self.node_epoch.is_in_view() {
                self.refused.epoch_ahead += 1;
                return;
            }
            is_adopted = matches!(envelope.signal, Signal::Control(_) | Signal::ViewInstall(..));
        }
        if let Signal::InfoRequest { request, table: InfoTable::Counters } = envelope.signal
            && envelope.from == Address::main(self.address.node)
        {
            let Address { node, kind, instance } = self.address;
            let rows = counter_rows(node, kind.name(), instance, &self.counts());
            return outputs.send(self.address, envelope.from, Signal::InfoDone { request, rows });
        }
        let mut verdict = envelope.verdict(self.address, self.view, |node| self.is_left_out(node));
        if verdict == Verdict::OldView && mutants::is(Mutant::NotFenced) {
            verdict = Verdict::Handle;
        }
        match verdict {
            Verdict::Handle => {}
            Verdict::Early => return self.keep_early(envelope, outputs),
            Verdict::OldView => {
                self.refused.old_view += 1;
                return;
            }
            Verdict::LeftOut => {
                self.refused.left_out += 1;
                return;
            }
            Verdict::WrongKind => {
                self.refused.wrong_kind += 1;
                return;
            }
        }
        if is_adopted {
            self.adopt(envelope.epoch);
        }
        match &mut self.block {
            Block::Sql(sql) => sql.handle(now, Input::Signal(envelope), budget, outputs),
            Block::Tc(tc) => tc.on_signal(now, envelope, outputs),
            Block::Ldm(ldm) => ldm.on_signal(now, envelope, budget, outputs),
            Block::Query(query) => query.on_signal(now, envelope, budget, outputs),
            Block::Main(main) => main.on_signal(now, envelope, outputs),
            Block::Membership(membership) => membership.on_signal(now, envelope, outputs),
            Block::Disk(disk) => disk.on_signal(now, envelope, outputs),
        }
    }

    /// A signal waits for the view of its sender.
    fn keep_early(&mut self, envelope: Envelope, outputs: &mut Outputs<Shared>) {
        if mutants::is(Mutant::EarlySignalsDropped) {
            return;
        }
        if self.early.len() < self.early_max {
            return self.early.push(envelope);
        }
        if self.refused.too_early == 0 {
            let what = format!("more signals of {} than can wait for it are dropped", envelope.view);
            outputs.distrust(envelope.from, what);
        }
        self.refused.too_early += 1;
    }

    /// Whether a node is a data node that the installed view leaves out. Work that it sent before it knew must not be
    /// begun any more: nobody would end it.
    fn is_left_out(&self, node: NodeId) -> bool {
        if mutants::is(Mutant::LeftOutHeard) {
            return false;
        }
        self.left_out.contains(&node)
    }

    /// The counts of this module since its start.
    fn counts(&self) -> Counts {
        let Refused { old_view, left_out, epoch_ahead, too_early, wrong_kind } = self.refused;
        let mut counts = vec![
            ("SIGNALS_OF_OLD_VIEWS", old_view),
            ("SIGNALS_OF_LEFT_OUT_NODES", left_out),
            ("SIGNALS_OF_IMPOSSIBLE_EPOCHS", epoch_ahead),
            ("SIGNALS_TOO_EARLY", too_early),
            ("SIGNALS_OF_WRONG_KIND", wrong_kind),
        ];
        counts.extend(match &self.block {
            Block::Sql(sql) => sql.counts(),
            Block::Membership(membership) => membership.counts(),
            Block::Main(main) => main.counts(),
            Block::Ldm(ldm) => ldm.counts(),
            Block::Disk(disk) => disk.counts(),
            Block::Tc(_) | Block::Query(_) => Counts::new(),
        });
        counts
    }

    /// Whether an epoch is further ahead of this node's than any can be.
    #[inline]
    fn is_far_ahead(&self, epoch: Epoch) -> bool {
        let is_behind = |known: Epoch| epoch.0 > known.0.saturating_add(EPOCHS_AHEAD_MAX);
        is_behind(self.epoch) && is_behind(self.node_epoch.current())
    }

    fn adopt(&mut self, epoch: Epoch) {
        if epoch <= self.epoch {
            return;
        }
        self.raise(epoch);
        match &mut self.block {
            Block::Ldm(ldm) => ldm.adopt(epoch),
            Block::Main(main) => main.adopt(epoch),
            Block::Sql(_) | Block::Tc(_) | Block::Query(_) | Block::Membership(_) | Block::Disk(_) => {}
        }
    }

    fn raise(&mut self, epoch: Epoch) {
        self.epoch = epoch;
        if mutants::is(Mutant::NodeEpochNotRaised) {
            return;
        }
        self.node_epoch.raise(epoch);
    }

    /// Signals leave with the module's view, and the epoch of its node.
    fn stamp(&mut self, signals: &mut [Envelope]) {
        if signals.is_empty() {
            return;
        }
        let own = match &self.block {
            Block::Ldm(ldm) => ldm.epoch(),
            Block::Main(main) => main.epoch(),
            Block::Sql(_) | Block::Tc(_) | Block::Query(_) | Block::Membership(_) | Block::Disk(_) => {
                self.epoch
            }
        };
        if own > self.epoch {
            self.raise(own);
        }
        let epoch = self.epoch.max(self.node_epoch.current());
        for envelope in signals {
            envelope.view = self.view;
            envelope.epoch = epoch;
        }
    }

    fn handle_shared(
        &mut self,
        now: Now,
        from: Address,
        shared: Shared,
        budget: &mut Budget,
        outputs: &mut Outputs<Shared>,
    ) {
        let (installed, is_complete) = match &shared {
            Shared::Map(map) => (Some(Arc::clone(map)), true),
            Shared::Tables(map) => (Some(Arc::clone(map)), false),
            Shared::Readers { .. }
            | Shared::Installed { .. }
            | Shared::Account(_)
            | Shared::Redo { .. }
            | Shared::Catalogue(_)
            | Shared::Fragments { .. }
            | Shared::ListFragments
            | Shared::FragmentsListed(_)
            | Shared::Scan(_)
            | Shared::Scanned(..)
            | Shared::Load(_)
            | Shared::Loaded(_) => (None, false),
        };
        if let Some(map) = &installed {
            // Epochs of a restart are above all from before.
            self.adopt(map.view.restart.first);
        }
        match &mut self.block {
            Block::Sql(sql) => sql.handle(now, Input::Shared { from, shared }, budget, outputs),
            Block::Tc(tc) => {
                if let Shared::Map(map) = shared {
                    tc.install(now, map, outputs);
                }
            }
            Block::Ldm(ldm) => ldm.on_shared(now, shared, outputs),
            Block::Query(query) =>
            {
                #[expect(clippy::wildcard_enum_match_arm, reason = "objects for other modules")]
                match shared {
                    Shared::Map(map) => query.install(map),
                    Shared::Scan(scan) => query.scan(from, scan, budget, outputs),
                    _ => {}
                }
            }
            Block::Main(main) => main.on_shared(now, from, shared, outputs),
            Block::Disk(disk) => disk.on_shared(now, from, shared, outputs),
            Block::Membership(_) => {}
        }
        if let Some(map) = installed {
            if is_complete {
                let version = map.schema.version;
                outputs.share(self.address, Address::main(self.address.node), Shared::Installed { version });
            }
            self.install_view(now, &map, budget, outputs);
        }
    }

    /// Signals that came ahead of the view are handled now.
    fn install_view(&mut self, now: Now, map: &NodeMap, budget: &mut Budget, outputs: &mut Outputs<Shared>) {
        if map.losses != self.losses {
            let is_lost = |node: &NodeId| map.losses.get(node) != self.losses.get(node);
            self.lost_early.extend(self.early.iter().map(|early| early.from.node).filter(is_lost));
            self.losses.clone_from(&map.losses);
        }
        if map.view.number <= self.view {
            return;
        }
        self.view = map.view.number;
        self.node_epoch.enter_view();
        self.left_out = map.view.left_out().collect();
        for envelope in std::mem::take(&mut self.early) {
            self.handle_signal(now, envelope, budget, outputs);
        }
        if let Block::Ldm(ldm) = &mut self.block
            && !self.lost_early.is_empty()
        {
            let lost: Vec<NodeId> = self.lost_early.iter().copied().collect();
            ldm.abort_for_lost_nodes(&lost, outputs);
        }
        let early: BTreeSet<NodeId> = self.early.iter().map(|early| early.from.node).collect();
        self.lost_early.retain(|node| early.contains(node));
    }
}

impl Module for NodeModule {
    type Shared = Shared;

    fn handle(
        &mut self,
        now: Now,
        input: Input<'_, Shared>,
        budget: &mut Budget,
        outputs: &mut Outputs<Shared>,
    ) {
        let first = outputs.signals.len();
        match input {
            Input::Signal(envelope) => self.handle_signal(now, envelope, budget, outputs),
            Input::Shared { from, shared } => self.handle_shared(now, from, shared, budget, outputs),
            input @ (Input::Start { .. }
            | Input::Opened { .. }
            | Input::Bytes { .. }
            | Input::SecurityChanged { .. }
            | Input::Closed { .. }
            | Input::Writable { .. }
            | Input::Blocked { .. }
            | Input::MemoryFull { .. }
            | Input::LinkUp { .. }
            | Input::LinkDown { .. }
            | Input::ProcessExited { .. }
            | Input::DiskDone { .. }
            | Input::Report(_)
            | Input::PasswordKey { .. }
            | Input::StopRequested
            | Input::Deadline) => match &mut self.block {
                Block::Sql(sql) => sql.handle(now, input, budget, outputs),
                Block::Main(main) => main.handle(now, input, outputs),
                Block::Ldm(ldm) => {
                    if matches!(input, Input::Deadline) {
                        ldm.on_deadline(now, outputs);
                    }
                }
                Block::Membership(membership) => handle_membership(membership, now, &input, outputs),
                Block::Disk(disk) => disk.handle(now, input, outputs),
                Block::Tc(tc) => {
                    if matches!(input, Input::Deadline) {
                        tc.on_deadline(now, outputs);
                    }
                }
                Block::Query(_) => {}
            },
        }
        self.stamp(&mut outputs.signals[first..]);
    }

    fn deadline(&self) -> Option<Instant> {
        match &self.block {
            Block::Sql(sql) => sql.deadline(),
            Block::Query(_) => None,
            Block::Tc(tc) => tc.deadline(),
            Block::Ldm(ldm) => ldm.deadline(),
            Block::Main(main) => main.deadline(),
            Block::Membership(membership) => membership.deadline(),
            Block::Disk(disk) => disk.deadline(),
        }
    }
}

fn handle_membership(
    membership: &mut Membership,
    now: Now,
    input: &Input<'_, Shared>,
    outputs: &mut Outputs<Shared>,
) {
    #[expect(clippy::wildcard_enum_match_arm, reason = "membership has no client connections")]
    match input {
        Input::Start { seed } => membership.on_start(now, seed, outputs),
        Input::Deadline => membership.on_deadline(now, outputs),
        Input::LinkUp { node } => membership.on_link_up(now, *node, outputs),
        Input::LinkDown { node } => membership.on_link_down(now, *node, outputs),
        Input::ProcessExited { node, start } => membership.on_process_exited(now, *node, *start, outputs),
        Input::DiskDone { ticket, result } => membership.on_disk_done(now, *ticket, result, outputs),
        _ => {}
    }
}

#[cfg(test)]
pub(crate) mod tests;
