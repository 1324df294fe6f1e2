//! The local data manager: the only writer of the slots it owns, and the participant of every transaction that
//! touches them.
//!
//! One `Ldm` owns some slots of its node, as primary of some and backup of others. `slot` is what each of them has
//! and does; a signal that names a slot is handled there. Here is what belongs to no slot: where signals go, jobs,
//! deadlines.
//!
//! - `fragments`: the rows. `locks`, `waits`: row locks and who waits; a deadlock has waits in several slots.
//! - `jobs`: work that is cut into slices (long reads; preparing, publishing and undoing of large transactions;
//!   freeing memory); each slice is one `Continue`.
//! - [`Context`] is what slots see of all this.
//!
//! `views` installs maps, in the order that a view change needs. `schema` makes and drops fragments, `stamps` are its
//! epochs, `redo` is what it logs, `deadlock` finds cycles, `reclaim` frees memory that nobody needs any more. `lease`
//! keeps requests while the node may not read, `information` answers ndbinfo, `lag` looks how late other replicas'
//! answers are. `digest` tells checkers apart what they have seen.
//!
//! Invariant: epoch stamps come from primaries only and are never below the highest epoch this module has heard of.

mod digest;
mod information;
mod lag;
mod lease;
mod reclaim;
mod redo;
mod schema;
mod slot;
mod stamps;
mod views;

use crate::locks::{Locks, WaitId};
use lag::Lag;
use memory::{Ledger, MemoryManager, Region};
use protocol::program::{Refusal, TableRef};
use protocol::redo_room::RedoRoom;
use protocol::signal::{CommitDone, CommitOutcome};
use protocol::{Address, Budget, Envelope, Outputs, Signal};
use query::{NodeMap, Shared};
use reclaim::{Reclaim, Visits};
use redo::Redo;
use schema::{Backfill, Backfills};
use slot::Slots;
use slot::commit::prepared;
use slot::commit::publish::Publish;
use slot::commit::seal::Mark;
use slot::commit::ship::{ShipWindow, ship_waiting};
use slot::copy::{Copying, copy_in_turn};
use slot::deadlock::PROBES_AT_ONCE;
use slot::lock_wait::{Run, WaitAlarm, Waits};
use slot::markers::{MarkerTurns, Sweep};
use slot::read::PendingRead;
use slot::stage::WriteRun;
use slot::transaction::OPERATION_COST;
use slot::undo::Undo;
use slot::view_change::handover::StandingDown;
use stamps::Stamps;
use std::collections::VecDeque;
use std::sync::Arc;
use stdx::{Duration, FixedMap, Instant, Now, earlier};
use storage::Fragment;
use types::{Epoch, NodeId, SlotId, TableId, ViewNumber};

/// How much is done at once, and what is too large for that.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Rows prepared, published or undone at once, without a turn of others.
    pub at_once: u32,
    /// Rows above which a transaction is shipped ahead of its prepare.
    pub ahead_rows: u32,
}

impl Sizes {
    /// More than most transactions have.
    pub const DEFAULT: Self = Self { at_once: 64, ahead_rows: 1_000 };
}
/// The number of the `Continue` that lets requests go on that were held back: no job has it.
const RELEASE: u64 = u64::MAX;

/// Work of a module.
enum Job {
    /// A slot's work.
    Slot(SlotId, Work),
    Backfill(Box<Backfill>),
    /// The next piece of a copy.
    CopyTurn,
    /// Remove the rows of dropped tables.
    Clear(Vec<Fragment>),
    /// Free what readers have let go.
    Visit(Visits),
    /// Look at what other replicas owe; it was due at this moment.
    Look(Instant),
}

/// Work of a slot.
enum Work {
    Read(Box<PendingRead>),
    Publish(Box<Publish>),
    Mark(Box<Mark>),
    Undo(Box<Undo>),
    /// Drop what became of old transactions.
    Sweep(Sweep),
}

/// The jobs of a module, by number.
#[derive(Default)]
struct Jobs {
    by_number: FixedMap<u64, Job>,
    next: u64,
}

impl Jobs {
    fn remove(&mut self, number: u64) -> Option<Job> {
        self.by_number.remove(&number)
    }

    fn retain(&mut self, mut keep: impl FnMut(&Job) -> bool) {
        self.by_number.retain(|_, job| keep(job));
    }

    fn len(&self) -> usize {
        self.by_number.len()
    }

    fn iter(&self) -> impl Iterator<Item = (u64, &Job)> {
        self.by_number.iter().map(|(number, job)| (*number, job))
    }

    /// The work that is under way in a slot, in no particular order.
    fn of(&self, slot: SlotId) -> impl Iterator<Item = (u64, &Work)> {
        self.by_number.iter().filter_map(move |(number, job)| match job {
            Job::Slot(of, work) if *of == slot => Some((*number, work)),
            Job::Slot(..)
            | Job::Backfill(_)
            | Job::CopyTurn
            | Job::Clear(_)
            | Job::Visit(_)
            | Job::Look(_) => None,
        })
    }
}

impl Context<'_> {
    /// Goes on with a job after everything that waits in the module's queue.
    fn later(&mut self, job: Job) {
        let number = self.jobs.next;
        self.jobs.next += 1;
        self.jobs.by_number.insert(number, job);
        self.send(self.address, Signal::Continue(number));
    }
}

/// The rows of a module, by table and slot.
type Fragments = FixedMap<(TableId, SlotId), Fragment>;

/// How far a module is in the installed view.
#[derive(Default)]
struct Progress {
    /// Every data node has installed this view.
    settled: ViewNumber,
    /// Slots whose takeover is not over: while there are none, nothing is held back.
    takeover_count: usize,
    /// A view is being installed: what ends in slices meanwhile is looked at when it is.
    is_entering: bool,
    /// Some slot is being copied to this node.
    is_joining: bool,
    /// This node cannot join: its process is about to end.
    is_ending: bool,
    /// This node is about to stop.
    standing_down: StandingDown,
}

/// Requests that go on when something is over.
#[derive(Default)]
struct Postponed {
    /// Requests that were held back and may go on.
    released: VecDeque<(Address, Signal)>,
    is_lease_awaited: bool,
    /// Requests that waited at another primary, or here before it stepped down.
    resuming: VecDeque<Run>,
}

/// The things that all slots of a module share, and the outputs of a call.
struct Context<'a> {
    now: Now,
    address: Address,
    sizes: Sizes,
    map: &'a Arc<NodeMap>,
    transaction_memory: &'a mut Ledger,
    stamps: &'a mut Stamps,
    redo: &'a mut Redo,
    fragments: &'a mut Fragments,
    backfills: &'a mut Backfills,
    locks: &'a mut Locks,
    waits: &'a mut Waits,
    reclaim: &'a mut Reclaim,
    jobs: &'a mut Jobs,
    copying: &'a mut Copying,
    ship_window: &'a mut ShipWindow,
    marker_turns: &'a mut MarkerTurns,
    postponed: &'a mut Postponed,
    progress: &'a mut Progress,
    outputs: &'a mut Outputs<Shared>,
}

impl Context<'_> {
    #[inline]
    fn send(&mut self, to: Address, signal: Signal) {
        self.outputs.send(self.address, to, signal);
    }

    fn send_to_all(&mut self, to: &[Address], signal: Signal) {
        if let Some((last, others)) = to.split_last() {
            for address in others {
                self.send(*address, signal.clone());
            }
            self.send(*last, signal);
        }
    }

    /// A slice that is done at once.
    fn at_once(&self) -> Budget {
        Budget::of(self.sizes.at_once)
    }

    /// Whether a statement bound to this version of a table may run: the installed version or the one before.
    fn check_schema(&self, table: TableRef, slot: SlotId) -> Result<(), Refusal> {
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

    fn charge_operation(&mut self) -> Result<(), Refusal> {
        self.transaction_memory.charge(OPERATION_COST).map_err(|full| region_full(&full))
    }

    fn release_operation(&mut self) {
        self.transaction_memory.release(OPERATION_COST);
    }

    /// Whether a node's sessions and coordinators do not count any more.
    fn is_out(&self, node: NodeId) -> bool {
        self.map.is_out(node)
    }

    /// A data node is given up: what is prepared may never be decided, so nobody waits for it.
    fn has_given_up_nodes(&self) -> bool {
        !self.map.given_up.is_empty()
    }
}

fn region_full(full: &memory::RegionFull) -> Refusal {
    Refusal::RegionFull { region: full.name().to_owned() }
}

/// The block.
pub struct Ldm {
    address: Address,
    sizes: Sizes,
    map: Arc<NodeMap>,
    slots: Slots,
    fragments: Fragments,
    transaction_memory: Ledger,
    stamps: Stamps,
    redo: Redo,
    backfills: Backfills,
    locks: Locks,
    waits: Waits,
    reclaim: Reclaim,
    jobs: Jobs,
    copying: Copying,
    ship_window: ShipWindow,
    marker_turns: MarkerTurns,
    postponed: Postponed,
    progress: Progress,
    lag: Lag,
    /// When the call began that is under way.
    now: Now,
}

impl Ldm {
    /// The ldm at `address`, owning nothing until a map with a view is installed; `marker_time` is how long a session
    /// may ask for an outcome.
    #[must_use]
    pub fn new(
        address: Address,
        map: Arc<NodeMap>,
        memory: Arc<MemoryManager>,
        marker_time: Duration,
    ) -> Self {
        Self {
            address,
            sizes: Sizes::DEFAULT,
            map,
            slots: Slots::default(),
            fragments: Fragments::default(),
            transaction_memory: Ledger::new(Arc::clone(&memory), Region::TransactionMemory),
            stamps: Stamps::default(),
            redo: Redo::default(),
            backfills: Backfills::default(),
            locks: Locks::default(),
            waits: Waits::default(),
            reclaim: Reclaim::new(memory),
            jobs: Jobs::default(),
            copying: Copying::default(),
            ship_window: ShipWindow::default(),
            marker_turns: MarkerTurns::new(marker_time),
            postponed: Postponed::default(),
            progress: Progress::default(),

            lag: Lag::default(),
            now: Now::default(),
        }
    }

    /// The same with other sizes: small ones show with few rows what else takes many.
    #[must_use]
    pub fn with_sizes(self, sizes: Sizes) -> Self {
        Self { sizes, ..self }
    }

    /// The same with a log: what it publishes goes to the module `disk` of its node.
    #[must_use]
    pub fn with_redo(self, room: Arc<RedoRoom>) -> Self {
        Self { redo: Redo::with_log(self.address.instance, room), ..self }
    }

    /// The highest epoch heard of; the wrapper stamps it on every message and raises it by `adopt`.
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        self.stamps.current
    }

    /// A message carried this epoch.
    pub fn adopt(&mut self, epoch: Epoch) {
        self.stamps.adopt(epoch);
    }

    /// When a lock wait ends or is probed again, or memory and markers are looked after.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        let others =
            earlier(self.reclaim.deadline(), earlier(self.marker_turns.deadline(), self.lag_deadline()));
        earlier(self.waits.alarms.next(), others).filter(|_| !self.progress.is_ending)
    }

    /// Takes a shared object from `main`.
    pub fn on_shared(&mut self, now: Now, shared: Shared, outputs: &mut Outputs<Shared>) {
        if self.progress.is_ending {
            return;
        }
        self.now = now;
        match shared {
            Shared::Tables(map) => self.install_tables(map, outputs),
            Shared::Map(map) => self.install_map(map, outputs),
            Shared::Fragments { fragments, base } => self.redo.keep_restored(fragments, base),
            Shared::ListFragments => self.parts(outputs).1.list_fragments(),
            Shared::Load(step) => self.load(step, outputs),
            Shared::Readers { .. }
            | Shared::Installed { .. }
            | Shared::Account(_)
            | Shared::Redo { .. }
            | Shared::Loaded(_)
            | Shared::Catalogue(_)
            | Shared::FragmentsListed(_)
            | Shared::Scan(_)
            | Shared::Scanned(..) => {}
        }
        self.resume_waits(outputs);
        self.watch_markers();
        self.end_call(outputs);
    }

    /// Handles a deadline.
    pub fn on_deadline(&mut self, now: Now, outputs: &mut Outputs<Shared>) {
        if self.progress.is_ending {
            return;
        }
        self.now = now;
        self.on_alarms(outputs);
        self.resume_waits(outputs);
        self.on_visits_due(outputs);
        self.turn_markers(outputs);
        self.on_look_due(outputs);
        self.watch_markers();
        self.end_call(outputs);
    }

    /// Handles a signal.
    pub fn on_signal(
        &mut self,
        now: Now,
        envelope: Envelope,
        budget: &mut Budget,
        outputs: &mut Outputs<Shared>,
    ) {
        if self.progress.is_ending {
            return;
        }
        self.now = now;
        if self.is_postponed(&envelope.signal) {
            self.postponed.released.push_back((envelope.from, envelope.signal));
        } else {
            self.dispatch(envelope.from, envelope.signal, budget, outputs);
        }
        if !self.postponed.resuming.is_empty() {
            self.resume_waits(outputs);
        }
        if !self.postponed.released.is_empty() {
            self.go_on_released(budget, outputs);
        }
        self.end_call(outputs);
    }

    /// Each call ends so, for it may be the last for long: who is unblocked goes on, and what has begun to be owed or
    /// kept gets its deadline.
    #[inline]
    fn end_call(&mut self, outputs: &mut Outputs<Shared>) {
        if self.ship_window.is_due() {
            let (slots, mut context) = self.parts(outputs);
            ship_waiting(slots, &mut context);
        }
        if !self.waits.to_serve.is_empty() {
            self.serve(outputs);
        }
        if self.redo.is_full() {
            self.parts(outputs).1.hand_over_redo(None);
        }
        self.reclaim.plan(self.now);
        if self.progress.standing_down.main.is_some() {
            self.stand_down(outputs);
        }
        self.watch_lag();
    }

    /// The slots, and what they see.
    #[inline]
    fn parts<'a>(&'a mut self, outputs: &'a mut Outputs<Shared>) -> (&'a mut Slots, Context<'a>) {
        let context = Context {
            now: self.now,
            address: self.address,
            sizes: self.sizes,
            map: &self.map,
            transaction_memory: &mut self.transaction_memory,
            stamps: &mut self.stamps,
            redo: &mut self.redo,
            fragments: &mut self.fragments,
            backfills: &mut self.backfills,
            locks: &mut self.locks,
            waits: &mut self.waits,
            reclaim: &mut self.reclaim,
            jobs: &mut self.jobs,
            copying: &mut self.copying,
            ship_window: &mut self.ship_window,
            marker_turns: &mut self.marker_turns,
            postponed: &mut self.postponed,
            progress: &mut self.progress,

            outputs,
        };
        (&mut self.slots, context)
    }

    /// A signal goes to its slot, or is handled here.
    fn dispatch(
        &mut self,
        from: Address,
        signal: Signal,
        budget: &mut Budget,
        outputs: &mut Outputs<Shared>,
    ) {
        let Some(id) = signal.slot() else {
            return self.on_module_signal(from, signal, budget, outputs);
        };
        let (slots, mut context) = self.parts(outputs);
        let Some(slot) = slots.get_mut(id) else {
            return refuse(from, signal, &mut context);
        };
        slot.on_signal(from, signal, budget, &mut context);
        slot.watch_markers(&mut context);
    }

    /// Handles a signal that names no slot.
    fn on_module_signal(
        &mut self,
        from: Address,
        signal: Signal,
        budget: &mut Budget,
        outputs: &mut Outputs<Shared>,
    ) {
        match signal {
            // The wrapper refuses these, or their slots handle them.
            protocol::not_for!(ldm, module) => {}
            Signal::CancelRead { request } => {
                let (slots, mut context) = self.parts(outputs);
                slot::read::cancel(from, request, slots, &mut context);
            }
            Signal::StandDown if from != Address::main(self.address.node) => {}
            Signal::StandDown => {
                self.progress.standing_down.begin(from, &self.map);
            }
            Signal::LastWordHeard => self.progress.standing_down.on_last_word_heard(from),
            Signal::ViewSettled { view } => {
                self.progress.settled = self.progress.settled.max(view);
                let (slots, mut context) = self.parts(outputs);
                slots.iter_mut().for_each(|slot| slot.open_if_ready(&mut context));
            }
            Signal::LagProbe { probe } => {
                outputs.send(self.address, from, Signal::LagProbed { probe });
            }
            Signal::LagProbed { probe } => self.on_lag_probed(from, probe),
            Signal::ProbeWait(probe) => self.on_probe(probe, outputs),
            Signal::ProbeHit { initiator, wait, other } => {
                self.on_probe_hit(initiator, WaitId(wait), other, outputs);
            }
            Signal::EpochOpen { epoch } => self.parts(outputs).1.on_epoch_open(epoch),
            Signal::EpochClosed { epoch, .. } => self.parts(outputs).1.on_epoch_closed(epoch),
            Signal::BackfillRequest { request, table, index } => {
                self.on_backfill(from, request, table, index, outputs);
            }
            Signal::InfoRequest { request, table } => self.on_info(from, request, table, outputs),
            Signal::Checksum(request) => self.on_checksum(from, &request, outputs),
            Signal::Continue(job) => self.on_continue(job, budget, outputs),
        }
    }

    // ---- jobs ----------------------------------------------------------------------------------------------------

    fn on_continue(&mut self, number: u64, budget: &mut Budget, outputs: &mut Outputs<Shared>) {
        match self.jobs.remove(number) {
            None => {}
            Some(Job::Slot(id, work)) => {
                let (slots, mut context) = self.parts(outputs);
                let Some(slot) = slots.get_mut(id) else { return };
                slot.go_on(work, budget, &mut context);
                slot.watch_markers(&mut context);
            }
            Some(Job::Clear(fragments)) => self.clear(fragments, budget, outputs),
            Some(Job::Visit(visits)) => self.visit(visits, budget, outputs),
            Some(Job::CopyTurn) => {
                let (slots, mut context) = self.parts(outputs);
                copy_in_turn(slots, budget, &mut context);
                self.watch_markers();
            }
            Some(Job::Look(due)) => self.look_for_lag(due, outputs),
            Some(Job::Backfill(backfill)) => self.step_backfill(*backfill, budget, outputs),
        }
    }

    /// Goes on with a job after everything that waits in the module's queue.
    fn later(&mut self, job: Job, outputs: &mut Outputs<Shared>) {
        self.parts(outputs).1.later(job);
    }

    /// Requests that were held back go on, as much as the slice allows.
    fn go_on_released(&mut self, budget: &mut Budget, outputs: &mut Outputs<Shared>) {
        let (_, mut context) = self.parts(outputs);
        if !context.is_leased() {
            return context.await_lease();
        }
        while budget.spend(1)
            && let Some((from, signal)) = self.postponed.released.pop_front()
        {
            self.dispatch(from, signal, budget, outputs);
        }
        if !self.postponed.released.is_empty() {
            outputs.send(self.address, self.address, Signal::Continue(RELEASE));
        }
    }

    /// Requests that waited elsewhere, or before this member stepped down, look for their locks again, in their order.
    fn resume_waits(&mut self, outputs: &mut Outputs<Shared>) {
        if self.postponed.resuming.is_empty() {
            return;
        }
        let (slots, mut context) = self.parts(outputs);
        if !context.is_leased() {
            return context.await_lease();
        }
        let resuming = std::mem::take(&mut context.postponed.resuming);
        let is_early = |slot| slots.get(slot).is_some_and(|slot| !slot.takeover.is_over());
        let (early, due): (VecDeque<_>, VecDeque<_>) =
            resuming.into_iter().partition(|run| is_early(run.slot()));
        context.postponed.resuming = early;
        for run in due {
            if let Some(slot) = slots.get_mut(run.slot()) {
                slot.resume(run, &mut context);
            }
        }
        self.watch_markers();
    }

    /// Works off the keys whose locks were released.
    fn serve(&mut self, outputs: &mut Outputs<Shared>) {
        let (slots, mut context) = self.parts(outputs);
        if !context.is_leased() {
            return context.await_lease();
        }
        while let Some(key) = context.waits.to_serve.pop_front() {
            let Some(slot) = slots.get_mut(key.slot) else { continue };
            let first = if key.is_whole() {
                slot.first_at_table(&key, context.locks)
            } else {
                context.locks.first_grantable(&key, || context.implicit_owner(&key))
            };
            if let Some(wait) = first {
                slot.serve(wait, &mut context);
                slot.watch_markers(&mut context);
            }
        }
    }

    // ---- deadlines -----------------------------------------------------------------------------------------------

    /// Handles what is due, but not all probes at once: the rest is still due afterwards.
    fn on_alarms(&mut self, outputs: &mut Outputs<Shared>) {
        let mut probes_left = PROBES_AT_ONCE;
        while probes_left > 0
            && let Some(alarm) = self.waits.alarms.expired(self.now.monotonic)
        {
            match alarm {
                WaitAlarm::Pause => self.on_pause_alarm(outputs),
                WaitAlarm::Copy => self.parts(outputs).1.on_copy_alarm(),
                WaitAlarm::Lease => {
                    self.postponed.is_lease_awaited = false;
                    outputs.send(self.address, self.address, Signal::Continue(RELEASE));
                }
                WaitAlarm::Timeout(wait) => {
                    let now = self.now.monotonic;
                    if self.waits.get(wait).is_some_and(|waiting| waiting.deadline <= now) {
                        self.refuse_wait(wait, Refusal::LockTimeout, outputs);
                    }
                }
                WaitAlarm::Probe(wait) => {
                    if self.on_probe_alarm(wait, outputs) {
                        probes_left -= 1;
                    }
                }
            }
        }
    }

    /// Ends a wait without the lock.
    fn refuse_wait(&mut self, wait: WaitId, refusal: Refusal, outputs: &mut Outputs<Shared>) {
        let (slots, mut context) = self.parts(outputs);
        let slot = context.waits.get(wait).and_then(|waiting| slots.get_mut(waiting.key.slot));
        if let Some(slot) = slot {
            slot.refuse_wait(wait, refusal, &mut context);
        }
    }

    /// If there are markers, a turn will come.
    fn watch_markers(&mut self) {
        if self.marker_turns.deadline().is_some() {
            return;
        }
        for slot in self.slots.iter() {
            self.marker_turns.watch(self.now, &slot.outcomes);
        }
    }

    /// Markers that nobody asks for any more begin to go.
    fn turn_markers(&mut self, outputs: &mut Outputs<Shared>) {
        if !self.marker_turns.is_due(self.now) {
            return;
        }
        let map = Arc::clone(&self.map);
        let lacks_member = |slot| map.view.written(slot).any(|node| map.lost.contains(&node));
        if self.progress.takeover_count == 0 && !self.slots.iter().any(|slot| lacks_member(slot.id)) {
            let (slots, mut context) = self.parts(outputs);
            slots.iter_mut().for_each(|slot| slot.turn_markers(&mut context));
        }
    }

    // ---- for `main` and checks -----------------------------------------------------------------------------------

    /// For checks after a run: bytes that wait until no reader can see them.
    #[must_use]
    pub fn retired_bytes(&self) -> u64 {
        self.fragments.values().map(|fragment| fragment.statistics().retired_bytes).sum()
    }

    /// For checks after a run: outcomes that are kept for somebody.
    #[must_use]
    pub fn marker_count(&self) -> usize {
        self.slots.iter().map(|slot| slot.outcomes.len()).sum()
    }

    /// For checks after a run: nothing is held, waited for or undecided.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.slots.iter().all(slot::Slot::is_idle)
            && self.waits.is_empty()
            && self.locks.is_empty()
            && self.jobs.len() == 0
            && self.copying.is_over()
            && self.backfills.is_idle()
            && self.reclaim.waiting().is_empty()
            && self.postponed.released.is_empty()
            && self.postponed.resuming.is_empty()
            && self.progress.takeover_count == 0
    }
}

/// A request for a slot that is not here.
fn refuse(from: Address, signal: Signal, context: &mut Context<'_>) {
    let refusal = Refusal::WrongView;
    #[expect(clippy::wildcard_enum_match_arm, reason = "nobody waits for an answer to the others")]
    match signal {
        Signal::Read(request) => context.refuse_read(from, &request, refusal),
        Signal::Write(request) => context.send(from, WriteRun::new(from, request).refused(refusal)),
        Signal::CommitOne(request) => {
            let outcome = CommitOutcome::Aborted(refusal);
            let done = CommitDone { request: request.request, outcome };
            context.send(from, Signal::CommitDone(done));
        }
        Signal::Prepare { transaction, participant, .. } => {
            let slot = participant.slot;
            context.send(from, prepared(transaction, slot, Err(refusal)));
        }
        Signal::RollbackTo { request, operations, .. } => {
            context.send(from, Signal::RollbackDone { request, held: operations == 0 });
        }
        _ => {}
    }
}
