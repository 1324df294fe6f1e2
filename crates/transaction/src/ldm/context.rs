//! The part of a module that a slot sees while it handles a signal.

use super::Sizes;
use super::jobs::Jobs;
use super::reclaim::Reclaim;
use super::schema::Backfills;
use super::slot::commit::ship::ShipWindow;
use super::slot::copy::Copying;
use super::slot::lock_wait::{Run, Waits};
use super::slot::markers::MarkerTurns;
use super::slot::transaction::OPERATION_COST;
use super::slot::view_change::handover::StandingDown;
use super::stamps::Stamps;
use crate::locks::Locks;
use memory::Ledger;
use protocol::program::{Refusal, TableRef};
use protocol::{Address, Budget, Outputs, Signal};
use query::{NodeMap, Shared};
use std::collections::VecDeque;
use std::sync::Arc;
use stdx::{FixedMap, Now};
use storage::Fragment;
use types::{NodeId, SlotId, TableId, ViewNumber};

/// The rows of a module, by table and slot.
pub(super) type Fragments = FixedMap<(TableId, SlotId), Fragment>;

/// How far a module is in the installed view.
#[derive(Default)]
pub(super) struct Progress {
    /// Every data node has installed this view.
    pub(super) settled: ViewNumber,
    /// Slots whose takeover is not over: while there are none, nothing is held back.
    pub(super) unsettled_count: usize,
    /// A view is being installed: what ends in slices meanwhile is looked at when it is.
    pub(super) is_entering: bool,
    /// Some slot is being copied to this node.
    pub(super) is_joining: bool,
    /// This node cannot join: its process is about to end.
    pub(super) has_given_up: bool,
}

/// Requests that go on when something is over.
#[derive(Default)]
pub(super) struct Postponed {
    /// Requests that were held back and may go on.
    pub(super) released: VecDeque<(Address, Signal)>,
    pub(super) is_lease_awaited: bool,
    /// Requests that waited at another primary, or here before it stepped down.
    pub(super) resuming: VecDeque<Run>,
}

/// The things that all slots of a module share, and the outputs of a call.
pub(super) struct Context<'a> {
    pub(super) now: Now,
    pub(super) address: Address,
    pub(super) sizes: Sizes,
    pub(super) map: &'a Arc<NodeMap>,
    pub(super) transaction_memory: &'a mut Ledger,
    pub(super) stamps: &'a mut Stamps,
    pub(super) fragments: &'a mut Fragments,
    pub(super) backfills: &'a mut Backfills,
    pub(super) locks: &'a mut Locks,
    pub(super) waits: &'a mut Waits,
    pub(super) reclaim: &'a mut Reclaim,
    pub(super) jobs: &'a mut Jobs,
    pub(super) copying: &'a mut Copying,
    pub(super) ship_window: &'a mut ShipWindow,
    pub(super) marker_turns: &'a mut MarkerTurns,
    pub(super) postponed: &'a mut Postponed,
    pub(super) progress: &'a mut Progress,
    pub(super) standing_down: &'a mut StandingDown,
    pub(super) outputs: &'a mut Outputs<Shared>,
}

impl Context<'_> {
    #[inline]
    pub(super) fn send(&mut self, to: Address, signal: Signal) {
        self.outputs.send(self.address, to, signal);
    }

    pub(super) fn send_to_all(&mut self, to: &[Address], signal: Signal) {
        if let Some((last, others)) = to.split_last() {
            for address in others {
                self.send(*address, signal.clone());
            }
            self.send(*last, signal);
        }
    }

    /// A slice that is done at once.
    pub(super) fn at_once(&self) -> Budget {
        Budget { rows: self.sizes.at_once }
    }

    /// Whether a statement bound to this version of a table may run: the installed version or the one before.
    pub(super) fn check_schema(&self, table: TableRef, slot: SlotId) -> Result<(), Refusal> {
        let installed = self.map.table(table.id).map(|info| info.definition.version);
        let floor = self.backfills.floor(table.id);
        let is_known = installed.is_some_and(|installed| {
            table.version <= installed && table.version + 1 >= installed && table.version >= floor
        });
        if is_known && self.fragments.contains_key(&(table.id, slot)) {
            Ok(())
        } else {
            Err(Refusal::WrongSchema)
        }
    }

    pub(super) fn charge_operation(&mut self) -> Result<(), Refusal> {
        self.transaction_memory.charge(OPERATION_COST).map_err(|full| region_full(&full))
    }

    pub(super) fn release_operation(&mut self) {
        self.transaction_memory.release(OPERATION_COST);
    }

    /// Nodes whose sessions and coordinators do not count any more.
    pub(super) fn is_lost(&self, node: NodeId) -> bool {
        self.map.is_out(node)
    }

    /// A data node is given up: what is prepared may never be decided, so nobody waits for it.
    pub(super) fn has_lost_replicas(&self) -> bool {
        !self.map.given_up.is_empty()
    }
}

pub(super) fn region_full(full: &memory::RegionFull) -> Refusal {
    Refusal::RegionFull { region: full.name().to_owned() }
}
