//! Commits whose sessions are gone before their coordinators have answered.
//!
//! A coordinator ends what it was asked to commit, whether anybody listens or not. If it is lost before it has asked
//! all participants to prepare, nobody knows of the others. The session would have asked for the outcome, and then
//! undone the rest. This file does so instead.
//!
//! Invariant: what is sent is `Abort`, which undoes what is open and leaves alone what is prepared: that is recovered,
//! one way or the other.

use protocol::signal::RequestId;
use protocol::{Address, Outputs, Signal};
use query::{NodeMap, Shared};
use std::collections::BTreeMap;
use types::{NodeId, SlotId, TransactionId};

#[derive(Debug)]
struct Orphan {
    coordinator: NodeId,
    transaction: TransactionId,
    participants: Vec<SlotId>,
}

/// Those of one module.
#[derive(Debug, Default)]
pub(crate) struct Orphans {
    by_request: BTreeMap<RequestId, Orphan>,
}

impl Orphans {
    /// The session of a commit that was asked of `coordinator` ends.
    pub(crate) fn adopt(
        &mut self,
        request: RequestId,
        coordinator: Address,
        transaction: TransactionId,
        participants: Vec<SlotId>,
    ) {
        let orphan = Orphan { coordinator: coordinator.node, transaction, participants };
        self.by_request.insert(request, orphan);
    }

    /// The coordinator has answered.
    pub(crate) fn on_answer(&mut self, request: RequestId) {
        if !self.by_request.is_empty() {
            self.by_request.remove(&request);
        }
    }

    /// Undoes the commits that coordinators on lost nodes were asked for.
    pub(crate) fn on_lost(
        &mut self,
        is_lost: impl Fn(NodeId) -> bool,
        map: &NodeMap,
        from: Address,
        outputs: &mut Outputs<Shared>,
    ) {
        self.by_request.retain(|_, orphan| {
            if !is_lost(orphan.coordinator) {
                return true;
            }
            for slot in &orphan.participants {
                if let Some(primary) = map.primary(*slot) {
                    let abort = Signal::Abort { transaction: orphan.transaction, slot: *slot };
                    outputs.send(from, primary, abort);
                }
            }
            false
        });
    }
}
