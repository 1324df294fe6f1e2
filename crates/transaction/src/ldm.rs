//! The local data manager: the only writer of the slots it owns, and the participant of every transaction that touches them.
//!
//! One `Ldm` owns some slots of its node, as primary of some and backup of others. Its state, by what it is for:
//!
//! - `fragments`: the rows. `held`: what open transactions have staged and locked here (primaries only). `applied`: what primaries have
//!   replicated here (backups only). `outcomes`: commit-ack markers. `locks`, `waits`: row locks and who waits.
//! - `jobs`: work that is cut into slices (long reads; preparing, publishing and undoing of large transactions; freeing memory); each slice is
//!   one `Continue`.
//!
//! Invariants:
//! - I1: a one-primary commit is published and answered only when every in-sync backup has said `Applied`.
//! - Backups apply the numbered stream of a slot in order, each place once; a place refused is consumed too.
//! - A version is *prepared* exactly while its outcome cannot be known here; it is published or undone only by its coordinator's or its
//!   primary's word, never by guess.
//! - Epoch stamps come from primaries only and are never below the highest epoch this module has heard of.
//!
//! `slot` is what each slot has and does. `deadlock` finds cycles, `schema` makes and drops fragments, `reclaim` frees what nobody needs any more, `lease`
//! keeps requests while the node may not read, `information` answers ndbinfo, `lag` looks how late other replicas' answers are, `digest` tells checkers apart
//! what they have seen.

mod deadlock;
mod digest;
mod information;
mod lag;
mod lease;
mod reclaim;
mod schema;
mod slot;

use crate::locks::{LockKey, Locks, WaitId};
use crate::mutants::{self, Mutant};
use lag::Lag;
use memory::{Ledger, MemoryManager, Region};
use protocol::program::Refusal;
use protocol::{Address, Budget, Envelope, ModuleKind, Outputs, Signal};
use query::{NodeMap, PublishedReader, Shared};
use reclaim::{Reclaim, Visits};
use slot::Slot;
use slot::backup::{Ahead, Applied};
use slot::commit::{self, Mark, Publish, Reply, Ship, ShipWindow};
use slot::copy::{Copy, Copying};
use slot::lock_wait::{Run, WaitAlarm, Waiting};
use slot::markers::{Markers, Sweep};
use slot::question::Asker;
use slot::read::PendingRead;
use slot::transaction::{Held, HeldStage, OPERATION_COST};
use slot::undo::Undo;
use slot::view_change::handover::StandingDown;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use stdx::{Deadlines, Duration, FixedMap, Instant, Now, earlier};
use storage::Fragment;
use types::{Epoch, NodeId, Sequence, SlotId, TableId, TransactionId, ViewNumber};

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
/// Work that goes on in slices.
enum Job {
    Read(Box<PendingRead>),
    Publish(Box<Publish>),
    Mark(Box<Mark>),
    Undo(Box<Undo>),
    Backfill(Box<schema::Backfill>),
    Copy(Copy),
    /// Remove the rows of dropped tables.
    Clear(Vec<Fragment>),
    /// Free what readers have let go.
    Visit(Visits),
    /// Drop what became of old transactions.
    Sweep(Sweep),
    /// Look at what other replicas owe; it was due at this moment.
    Look(Instant),
}

/// A transaction in a slot.
type Place = (TransactionId, SlotId);

/// The block.
pub struct Ldm {
    address: Address,
    sizes: Sizes,
    map: Arc<NodeMap>,
    memory: Arc<MemoryManager>,
    transaction_memory: Ledger,
    epoch: Epoch,
    /// The last epoch that `main` was told about.
    epoch_wanted: Epoch,
    /// Undecided transactions by epoch stamp, primaries and backups.
    undecided: BTreeMap<Epoch, u32>,
    draining: Option<Epoch>,
    fragments: FixedMap<(TableId, SlotId), Fragment>,
    slots: BTreeMap<SlotId, Slot>,
    held: FixedMap<Place, Held>,
    /// Lowest versions that statements may be bound to, of tables whose new index is being filled.
    version_floors: FixedMap<TableId, u32>,
    applied: FixedMap<Place, Applied>,
    ahead: FixedMap<Place, Ahead>,
    outcomes: Markers,
    /// Sessions that wait for an outcome.
    askers: FixedMap<Place, Vec<Asker>>,
    /// Every data node has installed this view.
    settled: ViewNumber,
    /// Slots whose takeover is not over: while there are none, nothing is held back.
    unsettled_count: usize,
    /// Requests that were held back and may go on.
    released: VecDeque<(Address, Signal)>,
    is_lease_awaited: bool,
    /// Requests that waited at another primary, or here before it stepped down.
    resuming: VecDeque<Run>,
    /// How the end of commits is told that were sealed here by a primary that stepped down.
    owed: FixedMap<Place, Reply>,
    locks: Locks,
    waits: FixedMap<WaitId, Waiting>,
    waits_by_transaction: BTreeSet<(TransactionId, WaitId)>,
    next_wait: u64,
    alarms: Deadlines<WaitAlarm>,
    /// Keys whose waiters may be able to go on; served before `handle` returns.
    to_serve: VecDeque<LockKey>,
    /// Reads that wait for the outcome of a prepared transaction.
    outcome_waits: FixedMap<TransactionId, Vec<PendingRead>>,
    /// Large transactions that wait for their backups' acknowledgements.
    shipping: FixedMap<Place, Ship>,
    ship_window: ShipWindow,
    reclaim: Reclaim,
    lag: Lag,
    jobs: FixedMap<u64, Job>,
    copying: Copying,
    /// Transactions of nodes without slots that were open here when their node was lost the last time.
    void: BTreeMap<NodeId, BTreeSet<Place>>,
    /// New indexes whose entries wait for the end of transactions that do not know them.
    waiting_backfills: Vec<schema::Backfill>,
    next_job: u64,
    next_order: u64,
    /// Some slot is being copied to this node.
    is_joining: bool,
    /// This node cannot join: its process is about to end.
    has_given_up: bool,
    standing_down: StandingDown,
    /// A view is being installed: what ends in slices meanwhile is looked at when it is.
    is_entering: bool,
    /// Modules of sessions that were told of moves, or have something open here, and were sent no last word since.
    told: BTreeSet<Address>,
    /// The participants of transactions that do not end.
    no_participants: Arc<Vec<SlotId>>,
    /// When the call began that is under way.
    called_at: Instant,
}

impl Ldm {
    /// The ldm at `address`, owning nothing until a map with a view is installed; `marker_time` is how long a session may ask for an outcome.
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
            transaction_memory: Ledger::new(Arc::clone(&memory), Region::TransactionMemory),
            memory,
            epoch: Epoch(1),
            epoch_wanted: Epoch(0),
            undecided: BTreeMap::new(),
            draining: None,
            fragments: FixedMap::default(),
            slots: BTreeMap::new(),
            held: FixedMap::default(),
            version_floors: FixedMap::default(),
            applied: FixedMap::default(),
            ahead: FixedMap::default(),
            outcomes: Markers::new(marker_time),
            askers: FixedMap::default(),
            settled: ViewNumber(0),
            unsettled_count: 0,
            released: VecDeque::new(),
            is_lease_awaited: false,
            resuming: VecDeque::new(),
            owed: FixedMap::default(),
            locks: Locks::default(),
            waits: FixedMap::default(),
            waits_by_transaction: BTreeSet::new(),
            next_wait: 0,
            alarms: Deadlines::default(),
            to_serve: VecDeque::new(),
            outcome_waits: FixedMap::default(),
            shipping: FixedMap::default(),
            ship_window: ShipWindow::default(),
            reclaim: Reclaim::default(),
            lag: Lag::default(),
            jobs: FixedMap::default(),
            copying: Copying::default(),
            void: BTreeMap::new(),
            waiting_backfills: Vec::new(),
            next_job: 0,
            next_order: 0,
            is_joining: false,
            has_given_up: false,
            standing_down: StandingDown::default(),
            is_entering: false,
            told: BTreeSet::new(),
            no_participants: Arc::default(),
            called_at: Instant::default(),
        }
    }

    /// The same with other sizes: small ones show with few rows what else takes many.
    #[must_use]
    pub fn with_sizes(self, sizes: Sizes) -> Self {
        Self { sizes, ..self }
    }

    /// The highest epoch heard of; the wrapper stamps it on every message and raises it by `adopt`.
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// A message carried this epoch.
    pub fn adopt(&mut self, epoch: Epoch) {
        if !mutants::is(Mutant::EpochNotAdopted) {
            self.epoch = self.epoch.max(epoch);
        }
    }

    /// When a lock wait ends or is probed again, or memory and markers are looked after.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        let others = earlier(self.reclaim.deadline(), earlier(self.outcomes.deadline(), self.lag_deadline()));
        earlier(self.alarms.next(), others).filter(|_| !self.has_given_up)
    }

    /// Takes a shared object from `main`.
    pub fn on_shared(&mut self, now: Now, shared: Shared, outputs: &mut Outputs<Shared>) {
        if self.has_given_up {
            return;
        }
        match shared {
            Shared::Tables(map) => {
                self.install_tables(now, map, outputs);
            }
            Shared::Map(map) => self.install_map(now, map, outputs),
            Shared::Readers { .. } | Shared::Installed { .. } | Shared::Account(_) => {}
        }
        self.resume_waits(now, outputs);
        self.end_call(now, outputs);
    }

    /// Each call ends so, for it may be the last for long: who is unblocked goes on, and what has begun to be owed or kept gets its deadline.
    #[inline]
    fn end_call(&mut self, now: Now, outputs: &mut Outputs<Shared>) {
        self.serve(now, outputs);
        self.plan_visits(now);
        self.outcomes.watch(now);
        if self.standing_down.main.is_some() {
            self.stand_down(outputs);
        }
        self.watch_lag(now);
    }

    /// Handles a deadline.
    pub fn on_deadline(&mut self, now: Now, outputs: &mut Outputs<Shared>) {
        if self.has_given_up {
            return;
        }
        self.called_at = now.monotonic;
        self.on_alarms(now, outputs);
        self.resume_waits(now, outputs);
        self.on_visits_due(now, outputs);
        self.turn_markers(now, outputs);
        self.on_look_due(now, outputs);
        self.end_call(now, outputs);
    }

    /// Handles a signal.
    pub fn on_signal(
        &mut self,
        now: Now,
        envelope: Envelope,
        budget: &mut Budget,
        outputs: &mut Outputs<Shared>,
    ) {
        if self.has_given_up {
            return;
        }
        self.called_at = now.monotonic;
        if self.is_postponed(now, &envelope.signal) {
            self.released.push_back((envelope.from, envelope.signal));
        } else {
            self.dispatch(now, envelope.from, envelope.signal, budget, outputs);
        }
        if !self.resuming.is_empty() {
            self.resume_waits(now, outputs);
        }
        if !self.released.is_empty() {
            self.go_on_released(now, budget, outputs);
        }
        self.end_call(now, outputs);
    }

    /// What was held back goes on, as much as the slice allows.
    fn go_on_released(&mut self, now: Now, budget: &mut Budget, outputs: &mut Outputs<Shared>) {
        if !self.is_leased(now) {
            return self.await_lease(now);
        }
        while budget.spend(1)
            && let Some((from, signal)) = self.released.pop_front()
        {
            self.dispatch(now, from, signal, budget, outputs);
        }
        if !self.released.is_empty() {
            outputs.send(self.address, self.address, Signal::Continue(RELEASE));
        }
    }

    fn dispatch(
        &mut self,
        now: Now,
        from: Address,
        signal: Signal,
        budget: &mut Budget,
        outputs: &mut Outputs<Shared>,
    ) {
        if self.unsettled_count > 0 && self.is_held_back(&signal) {
            return self.hold_back(from, signal);
        }
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "signals of other modules; a peer that sends them is only ignored"
        )]
        match signal {
            Signal::Read(request) => self.on_read(now, from, request, budget, outputs),
            Signal::CancelRead { request } => self.cancel_read(from, request),
            Signal::Write(request) => self.on_write(now, from, request, outputs),
            Signal::RollbackTo { slot, .. } | Signal::OutcomeAsk { slot, .. } if self.is_elsewhere(slot) => {
                self.send_back(from, signal, outputs);
            }
            Signal::RollbackTo { request, transaction, slot, operations } => {
                self.on_rollback_to(from, request, (transaction, slot), operations, outputs);
            }
            Signal::Abort { transaction, slot } => {
                if self.is_elsewhere(slot) {
                    self.send_back(from, signal, outputs);
                } else {
                    self.on_abort((transaction, slot), outputs);
                }
            }
            Signal::CommitOne(request) => self.on_commit_one(from, &request, outputs),
            Signal::OutcomeAsk { request, transaction, slot, is_write } => {
                self.on_outcome_ask((transaction, slot), Asker { from, request, is_write }, outputs);
            }
            Signal::Prepare { transaction, participant, epoch_seen, participants } => {
                self.on_prepare(from, transaction, participant, epoch_seen, participants, outputs);
            }
            Signal::Outcome(outcome) => self.on_outcome(from, outcome, outputs),
            Signal::ReplicateAhead(piece) => self.on_replicate_ahead(from, *piece, outputs),
            Signal::AheadApplied { slot, transaction } => self.on_ahead_applied((transaction, slot), outputs),
            Signal::DropAhead { slot, transaction } => {
                self.drop_ahead((transaction, slot), outputs);
            }
            Signal::Replicate(replicate) => self.on_replicate(from, *replicate, outputs),
            Signal::Applied { slot, sequence, refusal } => {
                self.on_applied(from.node, slot, sequence, refusal, outputs);
            }
            Signal::OutcomeRecorded { transaction, slot } => {
                self.on_abort_recorded(from.node, (transaction, slot), outputs);
            }
            Signal::Decided { slot, sequence } => self.on_decided(slot, sequence, outputs),
            Signal::Forget { slot, .. } if from.kind != ModuleKind::Ldm && self.is_elsewhere(slot) => {
                self.send_back(from, signal, outputs);
            }
            Signal::Forget { slot, transactions } => self.on_forget(slot, transactions, outputs),
            Signal::HandOver(piece) => self.on_hand_over(from.node, *piece),
            Signal::StandDown if from == Address::main(self.address.node) => self.begin_stand_down(from),
            Signal::LastWordHeard => self.on_last_word_heard(from),
            Signal::Taken { slot } if self.map.primary(slot) == Some(from) => self.on_taken(slot, outputs),
            Signal::Gather(report) => self.on_gather(from.node, *report, outputs),
            Signal::RecoveryAsk { transaction, slot, participants } => {
                self.on_recovery_ask(from, (transaction, slot), participants, outputs);
            }
            Signal::CopyPiece(piece) => self.on_copy_piece(from, *piece, outputs),
            Signal::CopyApplied { slot } => self.on_copy_applied(from.node, slot, outputs),
            Signal::ViewSettled { view } => self.on_settled(view, outputs),
            Signal::LagProbe { probe } => self.on_lag_probe(from, probe, outputs),
            Signal::LagProbed { probe } => self.on_lag_probed(from, probe),
            Signal::ProbeWait(probe) => self.on_probe(probe, outputs),
            Signal::ProbeHit { initiator, wait, other } => {
                self.on_probe_hit(initiator, WaitId(wait), other, outputs)
            }
            Signal::EpochOpen { epoch } => {
                self.adopt(epoch);
                self.draining = Some(epoch);
                self.report_drained(outputs);
            }
            Signal::BackfillRequest { request, table, index } => {
                self.on_backfill(from, request, table, index, outputs)
            }
            Signal::InfoRequest { request, table } => self.on_info(from, request, table, outputs),
            Signal::Checksum(request) => self.on_checksum(from, &request, outputs),
            Signal::Continue(job) => self.on_continue(now, job, budget, outputs),
            _ => {}
        }
    }

    fn on_continue(&mut self, now: Now, number: u64, budget: &mut Budget, outputs: &mut Outputs<Shared>) {
        match self.jobs.remove(&number) {
            None => {}
            Some(Job::Read(read)) => self.step_read(*read, budget, outputs),
            Some(Job::Publish(publish)) => self.publish(*publish, budget, outputs),
            Some(Job::Mark(mark)) => self.mark_prepared(*mark, budget, outputs),
            Some(Job::Undo(undo)) => self.step_undo(*undo, budget, outputs),
            Some(Job::Clear(fragments)) => self.clear(fragments, budget, outputs),
            Some(Job::Visit(visits)) => self.visit(visits, budget, outputs),
            Some(Job::Copy(copy)) => self.step_copy(now, copy, budget, outputs),
            Some(Job::Sweep(sweep)) => self.sweep(sweep, budget, outputs),
            Some(Job::Look(due)) => self.look_for_lag(now, due, outputs),
            Some(Job::Backfill(backfill)) => self.step_backfill(*backfill, budget, outputs),
        }
    }

    /// Goes on with a job after everything that waits in the module's queue.
    fn later(&mut self, job: Job, outputs: &mut Outputs<Shared>) {
        let number = self.next_job;
        self.next_job += 1;
        self.jobs.insert(number, job);
        outputs.send(self.address, self.address, Signal::Continue(number));
    }

    /// Markers go. The primary passes the word on behind everything it has replicated, so that no late place of an aborted transaction
    /// finds its marker gone; while a transaction is not decided here it only remembers: a backup's refusal is a marker, too.
    fn on_forget(
        &mut self,
        slot: SlotId,
        mut transactions: Vec<TransactionId>,
        outputs: &mut Outputs<Shared>,
    ) {
        transactions.retain(|transaction| {
            let place = (*transaction, slot);
            let held = self.held.get_mut(&place);
            let is_decided = held.is_none();
            match held {
                Some(held) => held.is_confirmed = true,
                None => self.outcomes.remove(&place),
            }
            is_decided
        });
        let state = self.slot(slot).filter(|state| state.is_primary);
        if let Some(state) = state.filter(|_| !transactions.is_empty()) {
            let forget = Signal::Forget { slot, transactions };
            commit::send_to_all(self.address, &state.backups, forget, outputs);
        }
    }

    // ---- epochs -------------------------------------------------------------------------------------------------------------------

    /// Stamps a transaction that begins to commit; `main` hears of an epoch's first stamp.
    fn stamp(&mut self, epoch_seen: Epoch, outputs: &mut Outputs<Shared>) -> Epoch {
        self.adopt(epoch_seen);
        let epoch = self.epoch;
        self.count_undecided(epoch, outputs);
        epoch
    }

    fn count_undecided(&mut self, epoch: Epoch, outputs: &mut Outputs<Shared>) {
        *self.undecided.entry(epoch).or_insert(0) += 1;
        if epoch > self.epoch_wanted {
            self.epoch_wanted = epoch;
            outputs.send(self.address, Address::main(self.address.node), Signal::EpochWanted { epoch });
        }
    }

    fn count_decided(&mut self, epoch: Epoch, outputs: &mut Outputs<Shared>) {
        let Some(count) = self.undecided.get_mut(&epoch) else {
            stdx::require!(false, "a transaction of epoch {epoch} was decided twice");
            return;
        };
        *count -= 1;
        if *count == 0 {
            self.undecided.remove(&epoch);
            self.report_drained(outputs);
        }
    }

    fn report_drained(&mut self, outputs: &mut Outputs<Shared>) {
        let Some(epoch) = self.draining else { return };
        if self.undecided.first_key_value().is_none_or(|(lowest, _)| *lowest >= epoch) {
            self.draining = None;
            outputs.send(self.address, Address::main(self.address.node), Signal::EpochDrained { epoch });
        }
    }

    // ---- shared by the parts ------------------------------------------------------------------------------------------------------

    fn slot(&self, slot: SlotId) -> Option<&Slot> {
        self.slots.get(&slot)
    }

    /// Whether this ldm may take writes and locks for a slot.
    fn check_primary(&self, slot: SlotId) -> Result<(), Refusal> {
        match self.slot(slot) {
            Some(state) if state.is_primary && state.is_replica_lost => Err(Refusal::ReplicaLost),
            Some(state) if state.is_primary => Ok(()),
            _ => Err(Refusal::WrongView),
        }
    }

    /// Whether a statement bound to this version of a table may run: the installed version or the one before.
    fn check_schema(&self, table: protocol::program::TableRef, slot: SlotId) -> Result<(), Refusal> {
        let installed = self.map.table(table.id).map(|info| info.definition.version);
        let floor = self.version_floors.get(&table.id).copied().unwrap_or(0);
        let is_known = installed.is_some_and(|installed| {
            table.version <= installed && table.version + 1 >= installed && table.version >= floor
        });
        if is_known && self.fragments.contains_key(&(table.id, slot)) {
            Ok(())
        } else {
            Err(Refusal::WrongSchema)
        }
    }

    /// The transaction at this primary, made when it does its first operation.
    fn held_mut(&mut self, place: Place, session: Address) -> &mut Held {
        let participants = &self.no_participants;
        self.held.entry(place).or_insert_with(|| Held {
            session,
            operations: Vec::new(),
            rows: 0,
            bytes: 0,
            tables: Vec::new(),
            stage: HeldStage::Open,
            epoch: Epoch(0),
            sealed: ViewNumber(0),
            sequence: Sequence(0),
            order: 0,
            coordinator: None,
            participants: Arc::clone(participants),
            marker: None,
            is_confirmed: false,
            is_marked: false,
            is_taken_over: false,
        })
    }

    fn operation_count(&self, place: Place) -> u32 {
        self.held.get(&place).map_or(0, |held| u32::try_from(held.operations.len()).unwrap_or(u32::MAX))
    }

    fn charge_operation(&mut self) -> Result<(), Refusal> {
        self.transaction_memory.charge(OPERATION_COST).map_err(|full| region_full(&full))
    }

    /// Readers of everything here, for `main`.
    fn published(&self) -> Vec<PublishedReader> {
        let mut readers: Vec<PublishedReader> = self
            .fragments
            .iter()
            .map(|((table, slot), fragment)| PublishedReader {
                table: *table,
                slot: *slot,
                reader: fragment.reader(),
            })
            .collect();
        readers.sort_by_key(|published| (published.table, published.slot));
        readers
    }

    /// Nodes whose sessions and coordinators do not count any more.
    fn is_lost(&self, node: NodeId) -> bool {
        self.map.is_out(node)
    }

    /// For checks after a run: bytes that wait until no reader can see them.
    #[must_use]
    pub fn retired_bytes(&self) -> u64 {
        self.fragments.values().map(|fragment| fragment.statistics().retired_bytes).sum()
    }

    /// For checks after a run: outcomes that are kept for somebody.
    #[must_use]
    pub fn marker_count(&self) -> usize {
        self.outcomes.len()
    }

    /// For checks after a run: nothing is held, waited for or undecided.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.held.is_empty()
            && self.applied.is_empty()
            && self.ahead.is_empty()
            && self.waits.is_empty()
            && self.locks.is_empty()
            && self.jobs.is_empty()
            && self.copying.is_over()
            && self.waiting_backfills.is_empty()
            && self.shipping.is_empty()
            && self.outcome_waits.is_empty()
            && self.is_reclaim_idle()
            && self.askers.is_empty()
            && self.released.is_empty()
            && self.owed.is_empty()
            && self.resuming.is_empty()
            && self.slots.values().all(|state| state.hand_out.is_none())
            && self.unsettled_count == 0
    }
}

fn region_full(full: &memory::RegionFull) -> Refusal {
    Refusal::RegionFull { region: full.name().to_owned() }
}

/// The number of the `Continue` that lets requests go on that were held back: no job has it.
const RELEASE: u64 = u64::MAX;
