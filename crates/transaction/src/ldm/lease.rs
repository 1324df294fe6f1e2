//! Requests and the read lease (I3): what a primary answers alone is as much a read as what a replica answers.
//!
//! A change is acknowledged when all backups have it, so a primary that was left out without knowing it acknowledges
//! none. But nobody else answers a locking read, a statement that changes nothing, a refusal because of a row's
//! contents, the commit of locks alone, and "aborted". They need the grants of all other members when they are made. A
//! primary may lack these grants because it stood still, or it or another member is cut off. It keeps such requests, in
//! their order, until it has the grants again or a newer view is installed. There they are looked at like any others.
//!
//! Only a primary keeps anything. A request for a row where this node does not lead is refused at once. So is a request
//! that was kept when a view moves the primary: the session turns to the new primary, and undoes there what it takes
//! back. A joining node, which has no lease for long, would else carry out in a later view what was taken back in
//! between.
//!
//! Invariants: no request of a session overtakes another one of it that is kept, but for `Abort`, which takes away what
//! is kept. Nothing is evaluated for a session while the lease has run out, not even for one whose turn for a lock has
//! come.

use super::Context;
use super::Ldm;
use super::slot::Slot;
use super::slot::lock_wait::WaitAlarm;
use super::slot::stage::WriteRun;
use crate::mutants::{self, Mutant};
use protocol::program::Refusal;
use protocol::{Outputs, Signal};
use query::{NodeMap, Shared};
use stdx::{Duration, Now};
use types::SlotId;

/// How soon the lease is looked at again. It is renewed with every heartbeat, unless somebody is silent.
const LEASE_RETRY: Duration = Duration::from_millis(5);

impl Context<'_> {
    /// Whether this node may answer what no other member looks at.
    pub(super) fn is_leased(&self) -> bool {
        is_leased(self.map, self.now)
    }

    /// The same as a refusal, for what goes on after a wait.
    pub(super) fn check_lease(&self) -> Result<(), Refusal> {
        if self.is_leased() { Ok(()) } else { Err(Refusal::WrongView) }
    }

    /// Looks at the lease again a little later.
    pub(super) fn await_lease(&mut self) {
        if !self.postponed.is_lease_awaited {
            self.postponed.is_lease_awaited = true;
            self.waits.alarms.register(self.now.monotonic + LEASE_RETRY, WaitAlarm::Lease);
        }
    }
}

impl Ldm {
    fn is_primary(&self, slot: SlotId) -> bool {
        self.slots.get(slot).is_some_and(Slot::is_primary)
    }

    /// Whether a request has to wait: the lease has run out, or others wait before it.
    pub(super) fn is_postponed(&self, signal: &Signal) -> bool {
        if self.postponed.released.is_empty() && is_leased(&self.map, self.now) {
            return false;
        }
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "the others are not answered to sessions, or not alone"
        )]
        match signal {
            // Committed reads have a rule of their own: the session tries elsewhere.
            Signal::Read(request) => request.lock.is_some() && self.is_primary(request.slot),
            Signal::Write(request) => self.is_primary(request.slot),
            Signal::CommitOne(_)
            | Signal::Prepare { .. }
            | Signal::RollbackTo { .. }
            | Signal::OutcomeAsk { .. } => true,
            _ => false,
        }
    }

    /// A newer view is installed: what is kept for a primary that this node is not any more is refused.
    pub(super) fn refuse_not_led(&mut self, outputs: &mut Outputs<Shared>) {
        for (from, signal) in std::mem::take(&mut self.postponed.released) {
            let is_primary = |slot| self.is_primary(slot);
            #[expect(
                clippy::wildcard_enum_match_arm,
                reason = "the others are answered by whoever leads, or by nobody"
            )]
            match signal {
                Signal::Write(request) if !is_primary(request.slot) => {
                    self.refuse_write(WriteRun::new(from, request), Refusal::WrongView, outputs);
                }
                Signal::Read(request) if !is_primary(request.slot) => {
                    let (_, mut context) = self.parts(outputs);
                    context.refuse_read(from, &request, Refusal::WrongView);
                }
                signal => self.postponed.released.push_back((from, signal)),
            }
        }
    }

    /// Refuses a write, whether or not its slot is here.
    pub(super) fn refuse_write(&mut self, run: WriteRun, refusal: Refusal, outputs: &mut Outputs<Shared>) {
        let (slots, mut context) = self.parts(outputs);
        match slots.get_mut(run.request.slot) {
            Some(slot) => slot.refuse_write(run, refusal, &mut context),
            None => context.send(run.from, run.refused(refusal)),
        }
    }
}

fn is_leased(map: &NodeMap, now: Now) -> bool {
    if mutants::is(Mutant::LockUnleased) {
        return true;
    }
    map.may_read(now.monotonic)
}
