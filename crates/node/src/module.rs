//! The wrapper around every module.
//!
//! Invariants:
//! - I2: a signal between modules is handled only in the installed view. An older one is dropped and counted; a newer one waits until the
//!   view is installed here. (Signals that make views, and those to and from modules without one, are exempt.)
//! - A signal's epoch is adopted before the signal is handled; every signal leaves with the module's view and epoch. One whose epoch is
//!   impossibly far ahead comes from a broken peer: it is dropped, and nobody adopts its epoch.

use crate::main_module::MainModule;
use membership::Membership;
use protocol::{Address, Budget, Envelope, Input, Module, Outputs, Signal};
use query::{NodeMap, Query, Shared};
use sql::SqlModule;
use std::sync::Arc;
use stdx::{Instant, Now};
use transaction::{Ldm, Tc};
use types::{Epoch, ViewNumber};

/// Signals from a newer view that wait for it to be installed here; more than this in a start is a bug of ours.
const EARLY_MAX: usize = 100_000;
/// How far ahead of a node's epoch a peer's may be: years of epochs.
const EPOCHS_AHEAD_MAX: u64 = 1 << 32;

/// A module's block.
enum Block {
    Sql(Box<SqlModule>),
    Tc(Box<Tc>),
    Ldm(Box<Ldm>),
    Query(Box<Query>),
    Main(Box<MainModule>),
    Membership(Box<Membership>),
}

/// A module as drivers see it.
pub struct NodeModule {
    address: Address,
    view: ViewNumber,
    epoch: Epoch,
    early: Vec<Envelope>,
    block: Block,
}

impl NodeModule {
    fn new(address: Address, block: Block) -> Self {
        Self { address, view: ViewNumber(0), epoch: Epoch(1), early: Vec::new(), block }
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
            Block::Sql(_) | Block::Tc(_) | Block::Query(_) | Block::Main(_) | Block::Membership(_) => None,
        }
    }

    fn handle_signal(
        &mut self,
        now: Now,
        envelope: Envelope,
        budget: &mut Budget,
        outputs: &mut Outputs<Shared>,
    ) {
        if envelope.epoch.0 > self.epoch.0.saturating_add(EPOCHS_AHEAD_MAX) {
            return;
        }
        if is_fenced(&envelope.signal) && envelope.from != self.address {
            if envelope.view < self.view {
                return;
            }
            if envelope.view > self.view {
                stdx::require!(self.early.len() < EARLY_MAX, "too many signals from view {}", envelope.view);
                self.early.push(envelope);
                return;
            }
        }
        self.adopt(envelope.epoch);
        match &mut self.block {
            Block::Sql(sql) => sql.handle(now, Input::Signal(envelope), budget, outputs),
            Block::Tc(tc) => tc.on_signal(envelope, outputs),
            Block::Ldm(ldm) => ldm.on_signal(now, envelope, budget, outputs),
            Block::Query(query) => query.on_signal(envelope, budget, outputs),
            Block::Main(main) => main.on_signal(now, envelope, outputs),
            Block::Membership(membership) => membership.on_signal(envelope, outputs),
        }
    }

    fn adopt(&mut self, epoch: Epoch) {
        self.epoch = self.epoch.max(epoch);
        match &mut self.block {
            Block::Ldm(ldm) => ldm.adopt(epoch),
            Block::Main(main) => main.adopt(epoch),
            Block::Sql(_) | Block::Tc(_) | Block::Query(_) | Block::Membership(_) => {}
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
        let installed = match &shared {
            Shared::Map(map) => Some(Arc::clone(map)),
            Shared::Tables(_) | Shared::Readers { .. } | Shared::Installed { .. } => None,
        };
        match &mut self.block {
            Block::Sql(sql) => sql.handle(now, Input::Shared { from, shared }, budget, outputs),
            Block::Tc(tc) => {
                if let Shared::Map(map) = shared {
                    tc.install(map, outputs);
                }
            }
            Block::Ldm(ldm) => ldm.on_shared(shared, outputs),
            Block::Query(query) => {
                if let Shared::Map(map) = shared {
                    query.install(map);
                }
            }
            Block::Main(main) => main.on_shared(now, from, shared, outputs),
            Block::Membership(_) => {}
        }
        if let Some(map) = installed {
            let version = map.schema.version;
            outputs.share(self.address, Address::main(self.address.node), Shared::Installed { version });
            self.install_view(now, &map, budget, outputs);
        }
    }

    /// Signals that came ahead of the view are handled now.
    fn install_view(&mut self, now: Now, map: &NodeMap, budget: &mut Budget, outputs: &mut Outputs<Shared>) {
        if map.view.number <= self.view {
            return;
        }
        self.view = map.view.number;
        for envelope in std::mem::take(&mut self.early) {
            self.handle_signal(now, envelope, budget, outputs);
        }
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
            | Input::LinkUp { .. }
            | Input::LinkDown { .. }
            | Input::Report(_)
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
                Block::Tc(_) | Block::Query(_) => {}
            },
        }
        let epoch = match &self.block {
            Block::Ldm(ldm) => ldm.epoch(),
            Block::Main(main) => main.epoch(),
            Block::Sql(_) | Block::Tc(_) | Block::Query(_) | Block::Membership(_) => self.epoch,
        };
        self.epoch = self.epoch.max(epoch);
        for envelope in &mut outputs.signals[first..] {
            envelope.view = self.view;
            envelope.epoch = self.epoch;
        }
    }

    fn deadline(&self) -> Option<Instant> {
        match &self.block {
            Block::Sql(sql) => sql.deadline(),
            Block::Tc(_) | Block::Query(_) => None,
            Block::Ldm(ldm) => ldm.deadline(),
            Block::Main(main) => main.deadline(),
            Block::Membership(membership) => membership.deadline(),
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
        Input::Start { .. } => membership.on_start(now, outputs),
        Input::Deadline => membership.on_deadline(now, outputs),
        Input::LinkUp { node } => membership.on_link_up(now, *node, outputs),
        Input::LinkDown { node } => membership.on_link_down(*node, outputs),
        _ => {}
    }
}

/// Whether a signal belongs to a view: everything that touches rows, locks, outcomes and epochs does.
fn is_fenced(signal: &Signal) -> bool {
    !matches!(
        signal,
        Signal::Continue(_)
            | Signal::Join(_)
            | Signal::JoinAccepted { .. }
            | Signal::JoinRefused { .. }
            | Signal::ViewInstall(_)
            | Signal::PeerLost { .. }
            | Signal::PeerFound { .. }
            | Signal::SchemaFetch { .. }
            | Signal::SchemaFetched { .. }
            | Signal::SchemaInstall { .. }
            | Signal::SchemaInstalled { .. }
            | Signal::InfoRequest { .. }
            | Signal::InfoDone { .. }
            | Signal::StopNode { .. }
            | Signal::KillSession { .. }
            | Signal::Failed { .. }
    )
}
