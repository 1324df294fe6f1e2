//! Deadlocks across nodes, found by probes (after Chandy, Misra and Haas).
//!
//! A waiter sends a probe to the holders of the key it waits for. A probe visits a transaction's session, which knows
//! where that transaction waits, and from there the transactions it waits for. Each transaction of a cycle would
//! find it, and one victim is enough. So a probe passes only to transactions lower than its initiator, by
//! [`TransactionId::rank`]. The highest transaction of a cycle alone finds it, and is the victim if it is still in that
//! wait.
//!
//! Probes go out when a wait begins. The wait may close a cycle of which another transaction is the highest. So a probe
//! that comes to a higher transaction *asks it to probe* for itself. A lock that is given to one of several waiters may
//! close a cycle, too: its new holder is asked to probe. So a cycle is found as soon as its last edge is there. Two
//! messages that pass each other may miss a cycle. Repeating finds it, first after [`PAUSE_MIN`], then with doubling
//! pauses up to [`PAUSE_MAX`].
//!
//! Invariants: the work of waiters for all that is bounded. A round goes to at most [`FANOUT`] holders, and the next
//! round to the next ones; the transaction that asks is looked for among all of them. A session passes each probe on
//! once in a while. A deadline sends at most [`PROBES_AT_ONCE`] rounds.

use super::Slot;
use crate::ldm::{Context, Ldm};
use crate::locks::{LockKey, WaitId};
use crate::mutants::{self, Mutant};
use protocol::program::Refusal;
use protocol::signal::Probe;
use protocol::{Address, ModuleKind, Outputs, Signal};
use query::Shared;
use stdx::Duration;
use types::TransactionId;

/// Transactions a probe visits at most.
const PROBE_HOPS: u8 = 64;
/// Holders to whom a probe goes at a time.
const FANOUT: usize = 64;
/// Rounds of probes that one deadline sends.
pub(in crate::ldm) const PROBES_AT_ONCE: u32 = 64;
/// The first pause between two rounds of a wait.
const PAUSE_MIN: Duration = Duration::from_millis(10);
/// The longest.
const PAUSE_MAX: Duration = Duration::from_secs(1);
/// Instead of a wait's number: the initiator is asked to probe for all of its waits.
const ASKED: u64 = 0;

/// The pause behind a wait's round of probes, counted from 0.
pub(in crate::ldm) fn probe_pause(round: u32) -> Duration {
    PAUSE_MAX.min(PAUSE_MIN * (1 << round.min(7)))
}

impl Slot {
    /// A request that waits here looks for deadlocks.
    pub(in crate::ldm) fn send_probes(&self, wait: WaitId, context: &mut Context<'_>) {
        let Some(waiting) = context.waits.get(wait) else { return };
        let probe = Probe {
            initiator: waiting.transaction,
            home: context.address,
            wait: wait.0,
            transaction: waiting.transaction,
            hops_left: PROBE_HOPS,
        };
        self.pass_probe(wait, probe, context);
    }

    /// Sends a probe on to everyone whom this wait waits for.
    fn pass_probe(&self, wait: WaitId, probe: Probe, context: &mut Context<'_>) {
        let Some(waiting) = context.waits.get(wait) else { return };
        let Some(hops_left) = probe.hops_left.checked_sub(1) else { return };
        let blockers = if waiting.key.is_whole() {
            self.blockers_at_table(wait, waiting, context.locks)
        } else {
            let owner = context.implicit_owner(&waiting.key);
            context.locks.holders(&waiting.key, waiting.transaction, owner)
        };
        let (other, rounds) = (waiting.transaction, waiting.probe_rounds as usize);
        if blockers.contains(&probe.initiator) {
            let hit = Signal::ProbeHit { initiator: probe.initiator, wait: probe.wait, other };
            context.send(probe.home, hit);
        }
        let first = rounds * FANOUT % blockers.len().max(1);
        let (before, behind) = blockers.split_at(first);
        for blocker in behind.iter().chain(before).take(FANOUT) {
            if blocker.rank() < probe.initiator.rank() {
                let probe = Probe { transaction: *blocker, hops_left, ..probe };
                context.send(session_of(*blocker), Signal::ProbeSession(probe));
            } else if *blocker != probe.initiator {
                context.ask(*blocker);
            }
        }
    }
}

impl Context<'_> {
    /// A key that others wait for goes to this transaction, which may wait for them elsewhere.
    pub(in crate::ldm) fn ask_to_probe(&mut self, key: &LockKey, holder: TransactionId) {
        if self.locks.has_waiters(key) {
            self.ask(holder);
        }
    }

    fn ask(&mut self, transaction: TransactionId) {
        let probe = Probe {
            initiator: transaction,
            home: self.address,
            wait: ASKED,
            transaction,
            hops_left: PROBE_HOPS,
        };
        self.send(session_of(transaction), Signal::ProbeSession(probe));
    }
}

impl Ldm {
    pub(in crate::ldm) fn on_probe(&mut self, probe: Probe, outputs: &mut Outputs<Shared>) {
        let (slots, mut context) = self.parts(outputs);
        for wait in context.waits.of(probe.transaction) {
            let slot = context.waits.get(wait).and_then(|waiting| slots.get(waiting.key.slot));
            match slot {
                Some(slot) if probe.wait == ASKED => slot.send_probes(wait, &mut context),
                Some(slot) => slot.pass_probe(wait, probe, &mut context),
                None => {}
            }
        }
    }

    pub(in crate::ldm) fn on_probe_hit(
        &mut self,
        initiator: TransactionId,
        wait: WaitId,
        other: TransactionId,
        outputs: &mut Outputs<Shared>,
    ) {
        if mutants::is(Mutant::DeadlockUnnoticed) {
            return;
        }
        if self.waits.get(wait).is_some_and(|waiting| waiting.transaction == initiator) {
            self.refuse_wait(wait, Refusal::Deadlock { other }, outputs);
        }
    }

    /// It is time for a wait's next round of probes; false if none goes out.
    pub(in crate::ldm) fn on_probe_alarm(&mut self, wait: WaitId, outputs: &mut Outputs<Shared>) -> bool {
        let (slots, mut context) = self.parts(outputs);
        let Some(waiting) = context.waits.get(wait) else { return false };
        let Some(slot) = slots.get_mut(waiting.key.slot) else { return false };
        if slot.waits_for_ever(waiting, &context) {
            slot.refuse_wait(wait, Refusal::ReplicaLost, &mut context);
            return false;
        }
        context.waits.probe_again(wait, context.now);
        slot.send_probes(wait, &mut context);
        true
    }
}

/// The module with the session of a transaction.
fn session_of(transaction: TransactionId) -> Address {
    Address::new(transaction.node(), ModuleKind::Sql, transaction.module())
}
