//! Copying a slot to a member that joins, while reads and writes go on.
//!
//! ```text
//! view v has X joining: X gets every write of v's stream, and its answers count like those of any backup
//! primary, when its takeover in v is over:  CopyPiece*, {last}  -> X            X -> primary  CopyApplied, after each
//! X, when nothing that was copied waits:    SlotCopied -> main of X -> control plane: X is in sync in a later view
//! ```
//! A joining member is a backup that lacks old rows. So only *rows* are copied (key, bytes and epoch of the newest committed version), a piece may
//! come to X before or behind the writes that the primary sends meanwhile, and a copied row never overtakes a write. Behind a table's rows come the
//! entries of its indexes (`copy/piece.rs`).
//!
//! Invariants, each closing an interleaving:
//! - I4: from the view that has X joining, nothing is committed without X's answer, so what is decided after a row was read for a piece reaches X
//!   through the stream. Every view replicates again what is undecided, to X too.
//! - A copied row takes no place that a write of the stream has taken: not above a committed version; not where a committed delete was (X
//!   remembers the keys deleted while it is copied to); and below a prepared version only when that is decided: the row waits.
//! - An outcome that overtakes the place of its transaction waits for it: an in-sync member has the rows by then, this one has not. When the first
//!   piece is here, all places of undecided transactions were before it.
//! - What was decided before X joined, and is still being published, is in no stream: the copy begins when it is published.
//! - Outcomes that sessions may still ask for come with the first pieces: the member may be the next primary, and answer "aborted" of what it does
//!   not know.
//! - X makes the entries of a copied row when they come, if the row's piece said that they would (`later`); else, and whenever a row had to wait, with the
//!   row. Let a row at X lack an entry of its newest decided version, one that was copied then: the primary has had that entry since it read the
//!   row, and has it until a write is committed that X has, too; so the primary meets it when it reads the index, which it does behind the rows.
//! - A view change begins the copy again from its first row, unless X has it whole: what is there is only passed over.
//! - X answers no reads and is no primary until a view has it in sync: its fragments are not published (`query::NodeMap`).
//!
//! The speed: a thread sends or applies one piece, which is a small slice, and then does everything else for [`REST`] times as long as that round of its
//! took. So copying takes a share of an idle thread and less of a busy one, at both ends, and nobody's request waits for more than a piece. Few pieces are
//! on their way, so the slower end decides. Deliberately not here: copying only what changed since X left (it has nothing: rows are in memory only).

mod piece;

use crate::ldm::reclaim::{WAIT_INTERVAL, WAIT_MAX};
use crate::ldm::slot::lock_wait::WaitAlarm;
use crate::ldm::slot::markers::Marker;
use crate::ldm::{Job, Ldm, Place};
use crate::mutants::{self, Mutant};
use memory::{MIB, RegionFull};
use piece::{Position, Share};
use protocol::module::EXIT_CANNOT_JOIN;
use protocol::signal::{CopiedOutcome, CopiedRow, CopyPiece, Outcome};
use protocol::{Address, Budget, Outputs, RequestToRuntime, Severity, Signal};
use query::Shared;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use stdx::{Duration, Instant, Now};
use storage::{RowHandle, VersionState};
use types::{Epoch, IndexId, NodeId, SlotId, TableId, TransactionId};

/// Rows of a piece at most: some hundred microseconds of work for who applies it. (With a quarter of them nobody waits less, and the copy takes twice as
/// long where clients keep all CPUs busy: a turn comes as rarely.)
const PIECE_ROWS: usize = 128;
/// Pieces on their way from one thread to a member.
const PIECES_IN_FLIGHT: u32 = 2;
/// How many times as long as a round with a piece in it took there is none.
const REST: u32 = 2;
/// What counts of a round at most: on a machine that others keep busy rounds are long without work, and the copy has to come to an end all the same.
const ROUND_MAX: Duration = Duration::from_micros(500);
/// Nobody's: it puts copied rows where they belong.
const COPIER: TransactionId = TransactionId(0);

type RowKey = (TableId, Box<[u8]>);

/// How far the primary has copied a slot to a member.
#[derive(Debug)]
pub(in crate::ldm) struct CopyOut {
    to: Address,
    /// Whose outcomes are to be sent yet; None: it has not begun.
    outcomes: Option<Vec<TransactionId>>,
    /// Behind this row or entry; None: from the first.
    after: Option<Position>,
    in_flight: u32,
    is_over: bool,
    /// Transactions whose outcome was being carried out when the copy began: they are in no stream of this view, so their rows are read when
    /// they are published.
    publishing: BTreeSet<TransactionId>,
}

/// What a joining member knows of a slot that is copied to it.
#[derive(Debug, Default)]
pub(in crate::ldm) struct CopyIn {
    /// A piece of this view has come, so everything undecided was replicated before.
    has_begun: bool,
    /// The last piece of this view has come.
    has_last: bool,
    /// Every row is here.
    is_whole: bool,
    /// Copied rows lack entries that were to come later.
    lacks_entries: bool,
    /// Keys whose deletion was committed here: what is copied of them is older.
    deleted: BTreeSet<RowKey>,
    /// Copied rows under prepared versions.
    waiting: BTreeMap<RowKey, CopiedRow>,
    /// Commits that came before the place of their transaction, and their coordinators.
    early: BTreeMap<TransactionId, (Address, Epoch)>,
}

impl CopyIn {
    /// Every row is here.
    pub(in crate::ldm) fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// A newer view: the copy begins again, if it was not over.
    pub(in crate::ldm) fn begin_view(&mut self) {
        self.has_begun = false;
        self.has_last = false;
        self.early.clear();
    }
}

/// What copying there is to do in this thread, and how far its turn is.
#[derive(Debug, Default)]
pub(in crate::ldm) struct Copying {
    turns: VecDeque<Turn>,
    /// A turn or its rest is under way.
    is_busy: bool,
}

impl Copying {
    /// Pieces of older views are void.
    pub(in crate::ldm) fn begin_view(&mut self) {
        self.turns.clear();
    }

    /// Nothing is to be done, and nothing is being done.
    pub(in crate::ldm) fn is_over(&self) -> bool {
        self.turns.is_empty() && !self.is_busy
    }
}

/// A piece to be sent or applied.
#[derive(Debug)]
enum Turn {
    Send {
        slot: SlotId,
        node: NodeId,
    },
    /// `until`: how long it may wait for memory that is coming.
    Apply {
        from: Address,
        piece: CopyPiece,
        until: Option<Instant>,
    },
}

/// What became of a turn.
enum Taken {
    /// There was none to take.
    Nothing,
    Done,
    /// Memory is full, and some of it is coming.
    Waits,
}

/// A step of copying.
#[derive(Clone, Copy, Debug)]
pub(in crate::ldm) enum Copy {
    Turn,
    /// The turn was taken then, and the round with it is over.
    Rest {
        since: Instant,
    },
}

impl Ldm {
    // ---- the primary --------------------------------------------------------------------------------------------------------------

    /// The takeover of a slot is over: members that join and do not have it whole are copied to.
    pub(in crate::ldm) fn begin_copies(
        &mut self,
        slot: SlotId,
        whole: &[NodeId],
        outputs: &mut Outputs<Shared>,
    ) {
        let view = self.map.view.clone();
        let publishing = self.publishing(slot);
        for node in view.joining(slot).iter().filter(|node| !whole.contains(node)) {
            let Some(to) = view.ldm(slot, *node) else { continue };
            let Some(state) = self.slots.get_mut(&slot) else { return };
            let publishing = publishing.clone();
            let copy = CopyOut { to, outcomes: None, after: None, in_flight: 0, is_over: false, publishing };
            state.copies.insert(*node, copy);
            let turn = Turn::Send { slot, node: *node };
            self.copying.turns.push_back(turn);
        }
        self.go_on_copying(outputs);
    }

    // ---- turns --------------------------------------------------------------------------------------------------------------------

    /// Takes the next turn soon, if there is one and none is under way.
    fn go_on_copying(&mut self, outputs: &mut Outputs<Shared>) {
        if !self.copying.is_busy && !self.copying.turns.is_empty() {
            self.copying.is_busy = true;
            self.later(Job::Copy(Copy::Turn), outputs);
        }
    }

    /// The rest is over.
    pub(in crate::ldm) fn on_copy_alarm(&mut self, outputs: &mut Outputs<Shared>) {
        self.copying.is_busy = false;
        self.go_on_copying(outputs);
    }

    /// One step: a turn, or the rest behind it.
    pub(in crate::ldm) fn step_copy(
        &mut self,
        now: Now,
        step: Copy,
        budget: &mut Budget,
        outputs: &mut Outputs<Shared>,
    ) {
        match step {
            Copy::Turn => match self.take_turn(now, budget, outputs) {
                Taken::Nothing => self.copying.is_busy = false,
                Taken::Done => self.later(Job::Copy(Copy::Rest { since: now.monotonic }), outputs),
                Taken::Waits => self.alarms.register(now.monotonic + WAIT_INTERVAL, WaitAlarm::Copy),
            },
            Copy::Rest { since } => {
                let rest = now.monotonic.since(since).min(ROUND_MAX) * REST;
                if rest == Duration::ZERO {
                    self.on_copy_alarm(outputs);
                } else {
                    self.alarms.register(now.monotonic + rest, WaitAlarm::Copy);
                }
            }
        }
    }

    /// Does what is first and may be done.
    fn take_turn(&mut self, now: Now, budget: &mut Budget, outputs: &mut Outputs<Shared>) -> Taken {
        for _ in 0..self.copying.turns.len() {
            let Some(turn) = self.copying.turns.pop_front() else { return Taken::Nothing };
            match turn {
                Turn::Apply { from, piece, until } => {
                    let applied = self.apply_piece(from, &piece, outputs);
                    // Nodes of indexes that grow are replaced: what waits in many tables would make holes in many pages.
                    let is_coming = self.free_at_once() || self.memory.announced() > 0;
                    let Err(full) = applied else { return Taken::Done };
                    let until = until.unwrap_or(now.monotonic + WAIT_MAX);
                    if now.monotonic >= until || !is_coming {
                        self.give_up_for_memory(full, outputs);
                        return Taken::Done;
                    }
                    // What of it has found its place is passed over.
                    self.copying.turns.push_front(Turn::Apply { from, piece, until: Some(until) });
                    return Taken::Waits;
                }
                Turn::Send { slot, node } if self.pieces_in_flight(node) < PIECES_IN_FLIGHT => {
                    if self.waits_for_publication(slot, node) || self.send_piece(slot, node, budget, outputs)
                    {
                        self.copying.turns.push_back(turn);
                    }
                    return Taken::Done;
                }
                // It goes on when the member has applied one.
                Turn::Send { .. } => self.copying.turns.push_back(turn),
            }
        }
        Taken::Nothing
    }

    fn pieces_in_flight(&self, node: NodeId) -> u32 {
        let of_node = self.slots.values().filter_map(|state| state.copies.get(&node));
        of_node.map(|out| out.in_flight).sum()
    }

    /// Sends the next piece; false if there is none behind it.
    fn send_piece(
        &mut self,
        slot: SlotId,
        node: NodeId,
        budget: &mut Budget,
        outputs: &mut Outputs<Shared>,
    ) -> bool {
        let rows_max = PIECE_ROWS.min(usize::try_from(budget.rows).unwrap_or(PIECE_ROWS)).max(1);
        let Some(out) = self.copy_out(slot, node).filter(|out| !out.is_over) else { return false };
        let (after, left) = (out.after.take(), out.outcomes.take());
        let mut left = left.unwrap_or_else(|| self.outcomes.transactions_of(slot));
        let outcomes = self.next_outcomes(slot, &mut left, rows_max);
        let (share, after) = match left.is_empty() {
            true => self.next_share(slot, after, rows_max),
            false => (Share::default(), after),
        };
        let is_last = left.is_empty() && after.is_none();
        budget.spend(u32::try_from(share.cost() + outcomes.len()).unwrap_or(u32::MAX));
        let Some(out) = self.copy_out(slot, node) else { return false };
        (out.outcomes, out.after, out.is_over) = (Some(left), after, is_last);
        out.in_flight += 1;
        let to = out.to;
        let Share { rows, later, entries, .. } = share;
        let piece = CopyPiece { slot, rows, outcomes, is_last, later, entries, with_entries: true };
        let piece = Signal::CopyPiece(Box::new(piece));
        outputs.send(self.address, to, piece);
        !is_last
    }

    fn copy_out(&mut self, slot: SlotId, node: NodeId) -> Option<&mut CopyOut> {
        self.slots.get_mut(&slot)?.copies.get_mut(&node)
    }

    /// Committed transactions whose rows are being published.
    fn publishing(&self, slot: SlotId) -> BTreeSet<TransactionId> {
        let of = |job: &Job| match job {
            Job::Publish(publish) if publish.place.1 == slot && publish.outcome.is_some() => {
                Some(publish.place.0)
            }
            Job::Publish(_)
            | Job::Read(_)
            | Job::Mark(_)
            | Job::Undo(_)
            | Job::Backfill(_)
            | Job::Copy(_)
            | Job::Clear(_)
            | Job::Visit(_)
            | Job::Sweep(_)
            | Job::Look(_) => None,
        };
        self.jobs.values().filter_map(of).collect()
    }

    fn waits_for_publication(&mut self, slot: SlotId, node: NodeId) -> bool {
        let waits = |out: &CopyOut| !out.publishing.is_empty();
        let state = self.slot(slot);
        if !state.is_some_and(|state| state.copies.get(&node).is_some_and(waits))
            || mutants::is(Mutant::CopyHalfPublished)
        {
            return false;
        }
        let publishing = self.publishing(slot);
        let Some(out) = self.copy_out(slot, node) else { return false };
        out.publishing.retain(|transaction| publishing.contains(transaction));
        !out.publishing.is_empty()
    }

    /// Takes the next of the outcomes that are left. (A session may have confirmed one meanwhile: it is not sent any more.)
    fn next_outcomes(&self, slot: SlotId, left: &mut Vec<TransactionId>, count: usize) -> Vec<CopiedOutcome> {
        let next = left.split_off(left.len().saturating_sub(count));
        let copied = next.into_iter().filter_map(|transaction| {
            let Marker { outcome, results } = self.outcomes.get(&(transaction, slot))?;
            Some(CopiedOutcome { transaction, outcome: *outcome, results: results.clone() })
        });
        copied.collect()
    }

    /// A member has applied a piece.
    pub(in crate::ldm) fn on_copy_applied(
        &mut self,
        node: NodeId,
        slot: SlotId,
        outputs: &mut Outputs<Shared>,
    ) {
        let Some(out) = self.copy_out(slot, node) else { return };
        out.in_flight = out.in_flight.saturating_sub(1);
        self.go_on_copying(outputs);
    }

    // ---- the joining member -------------------------------------------------------------------------------------------------------

    /// A piece is here: its rows are applied when its turn comes. Outcomes are kept at once, because the word that forgets them may be next.
    pub(in crate::ldm) fn on_copy_piece(
        &mut self,
        from: Address,
        mut piece: CopyPiece,
        outputs: &mut Outputs<Shared>,
    ) {
        let slot = piece.slot;
        self.begin_copy_in(slot, outputs);
        for CopiedOutcome { transaction, outcome, results } in std::mem::take(&mut piece.outcomes) {
            // One that this member got in the stream is decided here by the word that is on its way: with a marker it would be passed over.
            if !self.applied.contains_key(&(transaction, slot)) {
                self.outcomes.keep((transaction, slot), Marker { outcome, results });
            }
        }
        self.copying.turns.push_back(Turn::Apply { from, piece, until: None });
        self.go_on_copying(outputs);
    }

    fn apply_piece(
        &mut self,
        from: Address,
        piece: &CopyPiece,
        outputs: &mut Outputs<Shared>,
    ) -> Result<(), RegionFull> {
        let slot = piece.slot;
        for row in &piece.rows {
            let later = piece.later.iter().find(|(table, _)| *table == row.table);
            self.apply_copied(slot, row, later.map_or(&[], |(_, indexes)| indexes))?;
        }
        for copied in &piece.entries {
            let place = (copied.table, slot);
            let Some(fragment) = self.fragments.get_mut(&place) else { continue };
            self.reclaim.note(place);
            copied.keys.iter().try_for_each(|key| fragment.add_copied_entry(copied.index, key))?;
        }
        let Some(copy) = self.copy_in(slot) else { return Ok(()) };
        copy.has_last |= piece.is_last;
        if piece.is_last && copy.lacks_entries && !piece.with_entries {
            let why = "who began to copy rows to it has a newer version than who ended it, and left the indexes to its end";
            self.give_up_joining(why, outputs);
            return Ok(());
        }
        outputs.send(self.address, from, Signal::CopyApplied { slot });
        self.end_copy(slot, outputs);
        Ok(())
    }

    fn copy_in(&mut self, slot: SlotId) -> Option<&mut CopyIn> {
        self.slots.get_mut(&slot)?.copy_in.as_mut()
    }

    /// The first piece of a view: commits that came early and whose transactions were not replicated are in the rows to come.
    fn begin_copy_in(&mut self, slot: SlotId, outputs: &mut Outputs<Shared>) {
        let Some(copy) = self.copy_in(slot).filter(|copy| !copy.has_begun) else { return };
        copy.has_begun = true;
        for (transaction, (from, epoch)) in std::mem::take(&mut copy.early) {
            self.on_outcome(from, Outcome { transaction, slot, committed: Some(epoch) }, outputs);
        }
    }

    /// A commit: true if it is kept until the place of its transaction comes, because this member joined while it was under way.
    pub(in crate::ldm) fn is_early_commit(&mut self, from: Address, outcome: &Outcome) -> bool {
        let place = (outcome.transaction, outcome.slot);
        let Some(epoch) = outcome.committed.filter(|_| !self.applied.contains_key(&place)) else {
            return false;
        };
        let is_early = |copy: &&mut CopyIn| !copy.is_whole && !copy.has_begun;
        let Some(copy) = self.copy_in(outcome.slot).filter(is_early) else { return false };
        if !mutants::is(Mutant::EarlyCommitLost) {
            copy.early.insert(outcome.transaction, (from, epoch));
        }
        !mutants::is(Mutant::EarlyCommitRecorded)
    }

    /// A place was consumed: if its outcome came before, it is carried out.
    pub(in crate::ldm) fn take_early_commit(
        &mut self,
        (transaction, slot): Place,
        outputs: &mut Outputs<Shared>,
    ) {
        let Some(copy) = self.copy_in(slot) else { return };
        if let Some((from, epoch)) = copy.early.remove(&transaction) {
            if !self.applied.contains_key(&(transaction, slot)) {
                return self.give_up_joining("it cannot take what is committed", outputs);
            }
            self.on_outcome(from, Outcome { transaction, slot, committed: Some(epoch) }, outputs);
        }
    }

    /// This node has too little memory, and ends; it may try again as another life.
    pub(in crate::ldm) fn give_up_for_memory(&mut self, full: RegionFull, outputs: &mut Outputs<Shared>) {
        let (used, maximum) =
            (self.memory.used(full.region), self.memory.config().region(full.region).maximum);
        let rows: u64 = self.fragments.values().map(|fragment| fragment.statistics().rows).sum();
        let why = format!(
            "its {} is full: {} of {} MiB are in use, and there are more rows than the {rows} that thread {} has got. It needs as much memory as \
             the nodes that have the rows: compare TotalMemoryConfig and {0} of both, or delete rows",
            full.name(),
            used / MIB,
            maximum / MIB,
            self.address.instance
        );
        self.give_up_joining(&why, outputs);
    }

    /// This node ends; it may try again as another life. Until its process is gone it says and takes nothing more.
    pub(in crate::ldm) fn give_up_joining(&mut self, why: &str, outputs: &mut Outputs<Shared>) {
        self.has_given_up = true;
        outputs.event(Severity::Error, format!("node {} cannot join: {why}", self.address.node));
        outputs.request(RequestToRuntime::Exit(EXIT_CANNOT_JOIN));
    }

    /// Puts a copied row where it belongs.
    fn apply_copied(&mut self, slot: SlotId, row: &CopiedRow, later: &[IndexId]) -> Result<(), RegionFull> {
        let place = (row.table, slot);
        // Else the table was dropped, or is so new that this member got all of its rows.
        let Some(fragment) = self.fragments.get_mut(&place) else { return Ok(()) };
        let copy = self.slots.get_mut(&slot).and_then(|state| state.copy_in.as_mut());
        let Some(copy) = copy else { return Ok(()) };
        let is_new = match fragment.newest(&row.key).state {
            Some(VersionState::Committed(_)) => mutants::is(Mutant::CopyOvertakesWrite),
            Some(VersionState::Prepared(_) | VersionState::Staged(_)) => {
                if fragment.committed(&row.key).is_none() {
                    copy.waiting.insert((row.table, row.key.clone()), row.clone());
                }
                false
            }
            None => {
                mutants::is(Mutant::CopyWithoutTombstones)
                    || !copy.deleted.contains(&(row.table, row.key.clone()))
            }
        };
        if is_new {
            let handle = fragment.stage_copied(&row.key, COPIER, &row.row, later)?;
            fragment.commit(handle, COPIER, row.epoch);
            copy.lacks_entries |= !later.is_empty();
            self.reclaim.note(place);
        }
        Ok(())
    }

    /// A row of the stream is about to be published: a deletion is remembered while older rows may come.
    pub(in crate::ldm) fn note_deletion(&mut self, place: Place, table: TableId, row: RowHandle) {
        let Some(fragment) = self.fragments.get(&(table, place.1)) else { return };
        if fragment.staged_row(row, place.0) != Some(None) {
            return;
        }
        let key: Box<[u8]> = fragment.key_of(row).into();
        if let Some(copy) = self.copy_in(place.1).filter(|copy| !copy.is_whole) {
            copy.deleted.insert((table, key));
        }
    }

    /// A transaction is decided here: rows that waited under its versions find their place.
    pub(in crate::ldm) fn retry_copied(&mut self, slot: SlotId, outputs: &mut Outputs<Shared>) {
        let Some(copy) = self.copy_in(slot).filter(|copy| !copy.is_whole) else { return };
        for (_, row) in std::mem::take(&mut copy.waiting) {
            // Its entries may have passed by.
            if let Err(full) = self.apply_copied(slot, &row, &[]) {
                return self.give_up_for_memory(full, outputs);
            }
        }
        self.end_copy(slot, outputs);
    }

    /// Everything is here: `main` hears of it, in each view.
    fn end_copy(&mut self, slot: SlotId, outputs: &mut Outputs<Shared>) {
        let Some(copy) = self.copy_in(slot) else { return };
        let is_whole = copy.waiting.is_empty() || mutants::is(Mutant::CopyLeavesWaiting);
        if copy.has_last && is_whole && !copy.is_whole {
            copy.is_whole = true;
            copy.deleted.clear();
            self.report_copied(slot, outputs);
        }
    }

    /// Says that a slot is whole.
    pub(in crate::ldm) fn report_copied(&mut self, slot: SlotId, outputs: &mut Outputs<Shared>) {
        if self.copy_in(slot).is_some_and(|copy| copy.is_whole) {
            let main = Address::main(self.address.node);
            outputs.send(self.address, main, Signal::SlotCopied { slot });
        }
    }
}
