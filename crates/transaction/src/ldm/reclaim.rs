//! Memory that comes back: what transactions and dropped tables leave behind is freed soon, and writes that find
//! DataMemory full wait for it.
//!
//! Memory that is unlinked from a fragment can be freed once no reader can see it any more (`memory::quiescence`);
//! fragments do so by themselves only while they are written. So each fragment that was changed is *visited*
//! afterwards: after [`FIRST_VISIT`], then after twice as long, and so on, [`VISITS`] times in all, each visit in
//! slices. A write for which DataMemory is full is refused only if no memory is announced to come back, or none did in
//! [`WAIT_MAX`]. Deletes need not wait: they may use as much as a restart.
//!
//! Invariants: unlinked memory waits no longer for a visit than for its readers, however idle its slot is. A request
//! waits for memory or for a lock, never for both. When visits come depends on changes alone, not on when readers let
//! go: a simulation repeats.

use super::Fragments;
use super::Job;
use super::Ldm;
use super::slot::lock_wait::{WaitAlarm, Waits};
use super::slot::stage::WriteRun;
use memory::MemoryManager;
use protocol::program::Refusal;
use protocol::{Budget, Outputs};
use query::Shared;
use std::collections::BTreeMap;
use std::sync::Arc;
use stdx::{Duration, Instant, Now};
use storage::Fragment;
use types::{SlotId, TableId, TransactionId};

/// How long after a change its fragment is visited.
const FIRST_VISIT: Duration = Duration::from_millis(5);
/// Visits after a change; the last comes 1.3 s after it. A thread that holds a reference for longer is taken for dead
/// by its watchdog.
const VISITS: u32 = 8;
/// How long a write or a copied row waits for memory.
pub(super) const WAIT_MAX: Duration = Duration::from_secs(2);
/// How often it looks.
pub(super) const WAIT_INTERVAL: Duration = Duration::from_millis(1);
/// Objects freed at once.
const FREED_AT_ONCE: u32 = 2_000;

type FragmentId = (TableId, SlotId);

/// The fragments whose memory comes back, and when they are visited next.
pub(super) struct Reclaim {
    pub(super) memory: Arc<MemoryManager>,
    /// Fragments that were changed, with the number of visits since.
    changed: BTreeMap<FragmentId, u32>,
    /// The one that was changed last: transactions change one fragment many times.
    last: Option<FragmentId>,
    /// Emptied fragments of dropped tables, with their visits: they go when their memory is free.
    dropped: Vec<(Fragment, u32)>,
    next_visit: Option<Instant>,
    /// A round of visits is on its way.
    is_visiting: bool,
    /// Writes that wait for memory, or for room in the redo log, in the order of their coming.
    waiting: Vec<WriteRun>,
}

/// A round of visits.
pub(super) struct Visits {
    fragments: Vec<FragmentId>,
    /// How many dropped fragments are still to be visited.
    dropped: usize,
}

impl Reclaim {
    pub(super) fn new(memory: Arc<MemoryManager>) -> Self {
        Self {
            memory,
            changed: BTreeMap::new(),
            last: None,
            dropped: Vec::new(),
            next_visit: None,
            is_visiting: false,
            waiting: Vec::new(),
        }
    }

    /// Something was unlinked in this fragment, or will be.
    #[inline]
    pub(super) fn note(&mut self, fragment: FragmentId) {
        if self.last != Some(fragment) {
            self.last = Some(fragment);
            self.changed.insert(fragment, 0);
        }
    }

    /// When the next round of visits is due.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.next_visit
    }

    /// Plans the next round after each call: soon after a change, later and later after that.
    #[inline]
    pub(super) fn plan(&mut self, now: Now) {
        if self.next_visit.is_some() || self.is_visiting {
            return;
        }
        let visits = self.changed.values().chain(self.dropped.iter().map(|(_, visits)| visits));
        if let Some(visits) = visits.min() {
            self.next_visit = Some(now.monotonic + FIRST_VISIT * (1 << visits));
        }
    }

    /// Frees what of changed fragments can be freed at once: when DataMemory is full, or much is replaced. True if it
    /// freed something.
    #[cold]
    pub(super) fn free_at_once(&mut self, fragments: &mut Fragments) -> bool {
        let mut left = FREED_AT_ONCE;
        for id in self.changed.keys() {
            if let Some(fragment) = fragments.get_mut(id) {
                left -= fragment.reclaim_slice(left).count;
            }
            if left == 0 {
                break;
            }
        }
        left < FREED_AT_ONCE
    }

    /// Whether a write that finds DataMemory full may wait for some of it.
    pub(super) fn is_memory_coming(&self, run: &mut WriteRun, now: Now) -> bool {
        let until = *run.waits_for_memory_until.get_or_insert(now.monotonic + WAIT_MAX);
        now.monotonic < until && self.memory.announced() > 0
    }

    /// A write that found DataMemory or the redo log full, or whose functions take long, looks again a moment later.
    pub(super) fn pause(&mut self, run: WriteRun, waits: &mut Waits, now: Now) {
        if self.waiting.is_empty() {
            waits.alarms.register(now.monotonic + WAIT_INTERVAL, WaitAlarm::Pause);
        }
        self.waiting.push(run);
    }

    /// The writes of a transaction in a slot that wait for memory do so no longer.
    pub(super) fn take_waits(&mut self, transaction: TransactionId, slot: SlotId) -> Vec<WriteRun> {
        self.take_waits_if(|run| run.request.transaction == transaction && run.request.slot == slot)
    }

    /// All writes of a slot that wait for memory.
    pub(super) fn take_waits_of(&mut self, slot: SlotId) -> Vec<WriteRun> {
        self.take_waits_if(|run| run.request.slot == slot)
    }

    fn take_waits_if(&mut self, is_taken: impl Fn(&WriteRun) -> bool) -> Vec<WriteRun> {
        if self.waiting.is_empty() {
            return Vec::new();
        }
        let (taken, others) = std::mem::take(&mut self.waiting).into_iter().partition(is_taken);
        self.waiting = others;
        taken
    }

    /// Writes that wait for memory.
    pub(super) fn waiting(&self) -> &[WriteRun] {
        &self.waiting
    }
}

impl Ldm {
    pub(super) fn on_visits_due(&mut self, outputs: &mut Outputs<Shared>) {
        if self.reclaim.next_visit.is_none_or(|due| due > self.now.monotonic) {
            return;
        }
        let reclaim = &mut self.reclaim;
        reclaim.next_visit = None;
        reclaim.is_visiting = true;
        reclaim.last = None;
        let fragments = reclaim.changed.keys().rev().copied().collect();
        for visits in reclaim.changed.values_mut().chain(reclaim.dropped.iter_mut().map(|(_, visits)| visits))
        {
            *visits += 1;
        }
        let visits = Visits { fragments, dropped: reclaim.dropped.len() };
        self.later(Job::Visit(visits), outputs);
    }

    /// Frees what the budget allows; the round goes on in the next slice, or ends.
    pub(super) fn visit(&mut self, mut visits: Visits, budget: &mut Budget, outputs: &mut Outputs<Shared>) {
        while let Some(id) = visits.fragments.last() {
            if budget.is_spent() {
                return self.later(Job::Visit(visits), outputs);
            }
            let is_done = self.fragments.get_mut(id).is_none_or(|fragment| reclaim_some(fragment, budget));
            if is_done {
                visits.fragments.pop();
            }
        }
        while let Some((fragment, _)) =
            visits.dropped.checked_sub(1).and_then(|position| self.reclaim.dropped.get_mut(position))
        {
            if budget.is_spent() {
                return self.later(Job::Visit(visits), outputs);
            }
            if reclaim_some(fragment, budget) {
                visits.dropped -= 1;
            }
        }
        self.reclaim.changed.retain(|_, visits| *visits < VISITS);
        self.reclaim.dropped.retain(|(_, visits)| *visits < VISITS);
        self.reclaim.is_visiting = false;
    }

    // ---- dropped tables ------------------------------------------------------------------------------------------

    /// Tables are dropped: their memory comes back, a slice at a time.
    pub(super) fn drop_fragments(&mut self, mut fragments: Vec<Fragment>, outputs: &mut Outputs<Shared>) {
        fragments.iter_mut().for_each(Fragment::condemn);
        self.later(Job::Clear(fragments), outputs);
    }

    /// Removes rows of dropped tables as the budget allows.
    pub(super) fn clear(
        &mut self,
        mut fragments: Vec<Fragment>,
        budget: &mut Budget,
        outputs: &mut Outputs<Shared>,
    ) {
        if let Some(fragment) = fragments.last_mut()
            && !fragment.clear(budget.rows.max(1))
            && let Some(fragment) = fragments.pop()
        {
            self.reclaim.dropped.push((fragment, 0));
        }
        budget.spend(budget.rows);
        if !fragments.is_empty() {
            self.later(Job::Clear(fragments), outputs);
        }
    }

    // ---- writes that pause ---------------------------------------------------------------------------------------

    /// Writes that pause try again.
    pub(super) fn on_pause_alarm(&mut self, outputs: &mut Outputs<Shared>) {
        let waiting = std::mem::take(&mut self.reclaim.waiting);
        let (slots, mut context) = self.parts(outputs);
        for run in waiting {
            match slots.get_mut(run.request.slot) {
                Some(slot) => slot.run_write(run, &mut context),
                None => context.send(run.from, run.refused(Refusal::WrongView)),
            }
        }
    }
}

/// One visit, of at least one row; true if nothing more can be freed now.
fn reclaim_some(fragment: &mut Fragment, budget: &mut Budget) -> bool {
    let limit = budget.rows.max(1);
    let reclaimed = fragment.reclaim_slice(limit);
    budget.spend(reclaimed.count.max(1));
    reclaimed.count < limit
}
