//! Deadlocks across nodes, found by probes (after Chandy, Misra and Haas).
//!
//! A waiter sends a probe to every holder of the key it waits for. A probe visits a transaction's session, which
//! knows where that transaction waits, and from there the transactions it waits for. It passes only to transactions lower than its initiator, so
//! exactly the highest transaction of a cycle finds it, and is the victim if it is still in that wait. Probes go out at once and every
//! [`PROBE_INTERVAL`](super::PROBE_INTERVAL) while the wait lasts, because edges come later than probes.

use super::Ldm;
use crate::locks::WaitId;
use protocol::program::Refusal;
use protocol::signal::Probe;
use protocol::{Address, ModuleKind, Outputs, Signal};
use query::Shared;
use types::TransactionId;

/// Transactions a probe visits at most.
const PROBE_HOPS: u8 = 64;

impl Ldm {
    pub(super) fn send_probes(&self, wait: WaitId, outputs: &mut Outputs<Shared>) {
        let Some(waiting) = self.waits.get(&wait) else { return };
        let probe = Probe {
            initiator: waiting.transaction,
            home: self.address,
            wait: wait.0,
            transaction: waiting.transaction,
            hops_left: PROBE_HOPS,
        };
        self.pass_probe(wait, probe, outputs);
    }

    /// Sends a probe on to everyone whom this wait waits for.
    fn pass_probe(&self, wait: WaitId, probe: Probe, outputs: &mut Outputs<Shared>) {
        let Some(waiting) = self.waits.get(&wait) else { return };
        let Some(hops_left) = probe.hops_left.checked_sub(1) else { return };
        let owner = self.implicit_owner(&waiting.key);
        for blocker in self.locks.holders(&waiting.key, waiting.transaction, owner) {
            if blocker == probe.initiator {
                let hit = Signal::ProbeHit {
                    initiator: probe.initiator,
                    wait: probe.wait,
                    other: waiting.transaction,
                };
                outputs.send(self.address, probe.home, hit);
            } else if blocker < probe.initiator {
                let session = Address::new(blocker.node(), ModuleKind::Sql, blocker.module());
                let probe = Probe { transaction: blocker, hops_left, ..probe };
                outputs.send(self.address, session, Signal::ProbeSession(probe));
            }
        }
    }

    pub(super) fn on_probe(&mut self, probe: Probe, outputs: &mut Outputs<Shared>) {
        for wait in self.waits_of_transaction(probe.transaction) {
            self.pass_probe(wait, probe, outputs);
        }
    }

    pub(super) fn on_probe_hit(
        &mut self,
        initiator: TransactionId,
        wait: WaitId,
        other: TransactionId,
        outputs: &mut Outputs<Shared>,
    ) {
        if self.waits.get(&wait).is_some_and(|waiting| waiting.transaction == initiator) {
            self.refuse_wait(wait, Refusal::Deadlock { other }, outputs);
        }
    }
}
