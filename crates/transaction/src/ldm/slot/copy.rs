//! Copying a slot to a member that joins, while reads and writes go on.
//!
//! ```text
//! view v has X joining: X gets every write of v's stream, and its answers count like those of any backup
//! primary, when its takeover in v is over:  CopyPiece*, {last}  -> X            X -> primary  CopyApplied, after each
//! X, when nothing that was copied waits:    SlotCopied -> main of X -> control plane: X is in sync in a later view
//! ```
//! A joining member is a backup that lacks old rows. So only *rows* are copied: key, bytes and epoch of the newest
//! committed version. A piece may come to X before or behind the writes that the primary sends meanwhile, and a copied
//! row never overtakes a write. Behind a table's rows come the entries of its indexes (`copy/piece.rs`).
//!
//! **A member that comes back** with rows has them as they were at the end of an epoch, its *base*. A member that has
//! nothing has the base 0. The primary cuts all its tables into ranges, without gaps, and sends only the rows above the
//! base. Of the others in a range it sends their number and a hash; the member compares, and asks for all rows of a
//! range that differs (`copy/difference.rs`).
//!
//! Invariants, each closing an interleaving:
//! - I4: from the view that has X joining, nothing is committed without X's answer. So a transaction that is decided
//!   after a row was read for a piece reaches X through the stream. Every view replicates again what is undecided, to X
//!   too.
//! - A copied row never replaces a write of the stream. It is not put above a committed version that is newer than the
//!   base, nor where a committed delete was: X remembers the keys deleted while it is copied to. It is put below a
//!   prepared version only when that is decided: the row waits. So does the removal of a row.
//! - An outcome that overtakes the place of its transaction waits for it: an in-sync member has the rows by then,
//!   this one has not. When the first piece is here, all places of undecided transactions were before it.
//! - A transaction that was decided before X joined, and is still being published, is in no stream: the copy begins
//!   when it is published.
//! - Outcomes that sessions may still ask for come with the first pieces: the member may be the next primary, and
//!   answer "aborted" of what it does not know.
//! - X makes the entries of a copied row when they come, if the row's piece said that they would (`later`). Else, and
//!   whenever a row had to wait, X makes them with the row. Let a row at X lack an entry of its newest decided version,
//!   one that was copied then. The primary has had that entry since it read the row, and has it until a write is
//!   committed that X has, too. So the primary meets it when it reads the index, which it does behind the rows.
//! - In the next view in which X joins, any primary goes on behind the last piece that X has *applied*: X says in its
//!   report which. The rows up to there stay right. They were committed when a primary read them, and what was
//!   undecided then, or began later, came to X by the stream or is replicated again. The primary may be slower than the
//!   one before: it waits until what was decided is published. X keeps the keys that were deleted, because this primary
//!   may not have heard of that yet. Ranges that X has asked for, and not got, it asks for again.
//! - X answers no reads and is no primary until a view has it in sync: its fragments are not published
//!   (`query::NodeMap`).
//!
//! The speed: a thread sends or applies one piece, which is a small slice. Then it goes [`QUIET_ROUNDS`] rounds without
//! one. If all of them are short, it has nothing else to do, and takes the next piece. If one is not, it does
//! everything else for [`REST`] times as long as the round with the piece took. So copying takes all of an idle thread
//! and a small share of a busy one, at both ends, and nobody's request waits for more than a piece. Few pieces are on
//! their way, so the slower end decides. Rounds are counted by alarms: a thread looks at those once a round, while it
//! may take several slices of long work.
//!
//! Deliberately not here: how the member got the rows that it has (`node::disk_module`).

mod difference;
mod piece;

use super::markers::Marker;
use super::{Slot, Slots};
use crate::ldm::Context;
use crate::ldm::reclaim::{WAIT_INTERVAL, WAIT_MAX};
use crate::ldm::slot::lock_wait::WaitAlarm;
use crate::ldm::{Job, Work};
use crate::mutants::{self, Mutant};
use memory::{MIB, RegionFull};
use piece::{Plan, Share};
use protocol::module::{Counts, EXIT_CANNOT_JOIN};
use protocol::signal::{CopiedOutcome, CopiedRow, CopyBounds, CopyPiece, CopyPosition, Outcome};
use protocol::{Address, Budget, RequestToRuntime, Severity, Signal};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use stdx::{Duration, Instant};
use storage::{Fragment, RowHandle, VersionState};
use types::{Epoch, IndexId, NodeId, SlotId, TableId, TransactionId};

/// Rows of a piece at most: some hundred microseconds of work for who applies it. With a quarter of them nobody waits
/// less, and the copy takes twice as long where clients keep all CPUs busy: a turn comes as rarely.
const PIECE_ROWS: usize = 128;
/// Pieces on their way from one thread to a member.
const PIECES_IN_FLIGHT: u32 = 2;
/// How many times as long as a round with a piece in it took there is none, if the thread has other work.
const REST: u32 = 2;
/// Rounds without a piece after each: requests that came during the piece are served in them.
const QUIET_ROUNDS: u32 = 3;
/// A round in which nobody was served: it takes some microseconds to look whether anything came.
const QUIET_ROUND: Duration = Duration::from_micros(20);
/// An alarm that is due then is not due in the round that is under way.
const NEXT_ROUND: Duration = Duration::from_nanos(1);
/// The part of a round that counts at most. On a machine that others keep busy rounds are long without work, and the
/// copy has to come to an end all the same.
const ROUND_MAX: Duration = Duration::from_micros(500);
/// Bytes of a copied row, or of a range, beside its keys and its row.
const OVERHEAD: usize = 20;
/// Nobody's: it puts copied rows where they belong.
const COPIER: TransactionId = TransactionId(0);

type RowKey = (TableId, Box<[u8]>);
/// Where a range begins or ends, as in [`CopyBounds`].
type Edge = Option<Box<[u8]>>;

/// The part of a slot that a joining member has.
#[derive(Clone, Debug, Default)]
pub(in crate::ldm) struct Has {
    /// All rows as they were at the end of this epoch; 0: it began with nothing.
    pub(super) base: Epoch,
    /// All rows and entries up to here.
    pub(super) until: Option<CopyPosition>,
}

/// How far the primary has copied a slot to a member.
#[derive(Debug)]
pub(in crate::ldm) struct CopyOut {
    to: Address,
    /// The member has all rows as they were at the end of this epoch.
    base: Epoch,
    /// The transactions whose outcomes are still to be sent; None: it has not begun.
    outcomes: Option<Vec<TransactionId>>,
    /// Behind this row or entry; None: from the first.
    after: Option<CopyPosition>,
    /// The rows of which the member has asked for all.
    exact: VecDeque<CopyBounds>,
    in_flight: u32,
    is_over: bool,
    /// Transactions whose outcome was being carried out when the copy began: they are in no stream of this view, so
    /// their rows are read when they are published.
    publishing: BTreeSet<TransactionId>,
}

/// A copy of a slot, as the joining member knows it.
#[derive(Debug, Default)]
pub(in crate::ldm) struct CopyIn {
    /// A piece of this view has come, so everything undecided was replicated before.
    has_begun: bool,
    /// The last piece of this view has come.
    has_last: bool,
    /// Every row is here.
    is_whole: bool,
    /// The member has every row and entry up to here, by pieces of any view.
    until: Option<CopyPosition>,
    /// Copied rows lack entries that were to come later.
    lacks_entries: bool,
    /// Keys whose deletion was committed here: what is copied of them is older.
    deleted: BTreeSet<RowKey>,
    /// Copied rows under prepared versions; None: the row that is there is to be removed.
    waiting: BTreeMap<RowKey, Option<CopiedRow>>,
    /// The ranges that this member has asked for: where each begins, by its end.
    awaited: BTreeMap<(TableId, Edge), Edge>,
    /// It has asked for them in this view.
    has_asked: bool,
    /// Commits that came before the place of their transaction, and their coordinators.
    early: BTreeMap<TransactionId, (Address, Epoch)>,
}

impl CopyIn {
    /// Every row is here.
    pub(in crate::ldm) fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// The member has every row and entry up to here, whatever comes.
    pub(in crate::ldm) fn until(&self) -> Option<&CopyPosition> {
        self.until.as_ref()
    }

    /// Whether a newer version of a copied row was deleted here.
    fn has_deleted(&self, row: &CopiedRow) -> bool {
        if mutants::is(Mutant::CopyWithoutTombstones) {
            return false;
        }
        self.deleted.contains(&(row.table, row.key.clone()))
    }

    /// Whether a copied row goes into an empty place, or takes the place of a row that this member came back with. One
    /// below a prepared version waits.
    fn is_new(&mut self, row: &CopiedRow, fragment: &Fragment, base: Epoch) -> bool {
        let state = fragment.newest(&row.key).state;
        if mutants::is(Mutant::CopyOvertakesWrite) && matches!(state, Some(VersionState::Committed(_))) {
            return true;
        }
        let is_open = matches!(state, Some(VersionState::Prepared(_) | VersionState::Staged(_)));
        let is_newer = match fragment.committed(&row.key) {
            Some(there) => there.0 <= base && there != (row.epoch, Some(&*row.row)),
            None => is_open || !self.has_deleted(row),
        };
        if is_open && is_newer {
            self.waiting.insert((row.table, row.key.clone()), Some(row.clone()));
        }
        is_newer && !is_open
    }

    /// A piece is applied. One of a range that was asked for says nothing of what follows.
    fn note_until(&mut self, piece: &CopyPiece) {
        if piece.until.is_some() {
            self.until.clone_from(&piece.until);
        }
    }

    /// No copied row waits below a prepared version.
    fn has_placed_all(&self) -> bool {
        if mutants::is(Mutant::CopyLeavesWaiting) {
            return true;
        }
        self.waiting.is_empty()
    }

    /// A newer view: the copy goes on behind what is here, if it was not over.
    pub(in crate::ldm) fn begin_view(&mut self) {
        self.has_begun = false;
        self.has_last = false;
        self.has_asked = false;
        self.early.clear();
        if mutants::is(Mutant::CursorForgetsDeleted) {
            self.deleted.clear();
        }
        if mutants::is(Mutant::AwaitedForgotten) {
            self.awaited.clear();
        }
    }
}

/// The cost of copies to this node since it started, and their use.
#[derive(Clone, Copy, Default)]
struct CopyTally {
    /// Bytes of rows, entries of indexes and ranges that came.
    received: u64,
    /// Bytes of those rows that this node had in another version, or not at all, and keys of rows that it removed.
    changed: u64,
    /// Ranges that were compared, and those in which it had other rows.
    compared: u64,
    differing: u64,
}

/// The copying that is to do in this thread, and how far its turn is.
#[derive(Debug, Default)]
pub(in crate::ldm) struct Copying {
    tally: CopyTally,
    turns: VecDeque<Turn>,
    /// Indexes that the rows of this node's disk do not have yet. They come first.
    fills: VecDeque<Fill>,
    pace: Pace,
}

/// How far the turn is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Pace {
    /// There is nothing to do.
    #[default]
    Idle,
    /// It comes as soon as the thread gets to it.
    Turn,
    /// It was taken then, in the round that is under way.
    Taken { since: Instant },
    /// A round without a turn began then. So many may be left. A rest would be so long.
    Watch { since: Instant, left: u32, rest: Duration },
    /// Everything else goes first.
    Rest,
}

impl Copying {
    /// Pieces of older views are void.
    pub(in crate::ldm) fn begin_view(&mut self) {
        self.turns.clear();
    }

    /// Counts since the start of the node.
    pub(in crate::ldm) fn counts(&self) -> Counts {
        let CopyTally { received, changed, compared, differing } = self.tally;
        vec![
            ("COPY_BYTES_RECEIVED", received),
            ("COPY_BYTES_CHANGED", changed),
            ("COPY_RANGES_COMPARED", compared),
            ("COPY_RANGES_DIFFERING", differing),
        ]
    }

    /// Nothing is to be done. A rest behind the last turn may not be over.
    pub(in crate::ldm) fn is_over(&self) -> bool {
        self.turns.is_empty() && self.fills.is_empty()
    }
}

/// An index that is newer than the rows that came from this node's disk.
#[derive(Debug)]
struct Fill {
    place: (TableId, SlotId),
    index: IndexId,
    /// The entries up to this row are there.
    after: Option<Box<[u8]>>,
}

/// A piece to be sent or applied.
#[derive(Debug)]
enum Turn {
    Send {
        slot: SlotId,
        node: NodeId,
    },
    /// `waits_until`: how long it may wait for memory that is coming.
    Apply {
        from: Address,
        piece: CopyPiece,
        waits_until: Option<Instant>,
    },
}

/// The part of a piece beside its rows and entries. One of a range that was asked for says nothing.
#[derive(Default)]
struct Beside {
    outcomes: Vec<CopiedOutcome>,
    is_last: bool,
    until: Option<CopyPosition>,
}

/// How much of a piece was applied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Applied {
    Wholly,
    /// More is to be removed than is done at once.
    Partly,
}

/// The end of a turn.
enum Taken {
    /// There was none to take.
    Nothing,
    Done,
    /// Memory is full, and some of it is coming.
    Waits,
}

/// Bytes of a row on its way: ids, epoch and lengths take about as many.
fn size_of_row(row: &CopiedRow) -> u64 {
    (row.key.len() + row.row.len() + OVERHEAD) as u64
}

/// Counts decide nothing that follows: the digest of a node is made of this text.
impl std::fmt::Debug for CopyTally {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("counts")
    }
}

impl CopyTally {
    /// A piece was applied, in which so many ranges differed.
    fn note(&mut self, piece: &CopyPiece, differing: usize) {
        let entries = piece.entries.iter().flat_map(|copied| &copied.keys);
        let bound = |bound: &Option<Box<[u8]>>| bound.as_ref().map_or(0, |key| key.len());
        let ranges = piece.ranges.iter().map(|range| bound(&range.bounds.after) + bound(&range.bounds.to));
        self.received += piece.rows.iter().map(size_of_row).sum::<u64>();
        self.received += entries.map(|key| key.len() as u64).sum::<u64>();
        self.received += ranges.map(|keys| (keys + OVERHEAD) as u64).sum::<u64>();
        self.compared += piece.ranges.iter().filter(|range| !range.is_exact).count() as u64;
        self.differing += differing as u64;
    }
}

// ---- turns -------------------------------------------------------------------------------------------------------

impl Context<'_> {
    /// Takes the next turn soon, if there is one and none is under way.
    fn go_on_copying(&mut self) {
        let has_work = !self.copying.turns.is_empty() || !self.copying.fills.is_empty();
        if has_work && self.copying.pace == Pace::Idle {
            self.copying.pace = Pace::Turn;
            self.later(Job::CopyTurn);
        }
    }

    /// A round is over, or a rest.
    pub(in crate::ldm) fn on_copy_alarm(&mut self) {
        let now = self.now.monotonic;
        let watch = |left, rest| Pace::Watch { since: now, left, rest };
        let next = match self.copying.pace {
            Pace::Taken { since } => match now.since(since).min(ROUND_MAX) * REST {
                Duration::ZERO => Pace::Idle,
                rest => watch(QUIET_ROUNDS, rest),
            },
            Pace::Watch { since, rest, .. } if now.since(since) > QUIET_ROUND => {
                return self.pause_copying(Pace::Rest, rest);
            }
            Pace::Watch { left, rest, .. } if left > 1 => watch(left - 1, rest),
            Pace::Idle | Pace::Turn | Pace::Watch { .. } | Pace::Rest => Pace::Idle,
        };
        if next == Pace::Idle {
            self.copying.pace = next;
            self.go_on_copying();
        } else {
            self.pause_copying(next, NEXT_ROUND);
        }
    }

    fn pause_copying(&mut self, pace: Pace, pause: Duration) {
        self.copying.pace = pace;
        self.waits.alarms.register(self.now.monotonic + pause, WaitAlarm::Copy);
    }

    /// This node has too little memory, and ends; it may try again as another life.
    fn end_for_memory(&mut self, full: RegionFull) {
        let memory = &self.reclaim.memory;
        let (used, maximum) = (memory.used(full.region), memory.config().region(full.region).maximum);
        let rows: u64 = self.fragments.values().map(|fragment| fragment.statistics().rows).sum();
        let why = format!(
            "its {} is full: {} of {} MiB are in use, and there are more rows than the {rows} that thread {} has got. It needs as much memory as \
             the nodes that have the rows: compare TotalMemoryConfig and {0} of both, or delete rows",
            full.name(),
            used / MIB,
            maximum / MIB,
            self.address.instance
        );
        self.end_joining(&why);
    }

    /// This node ends; it may try again as another life. Until its process is gone it says and takes nothing more.
    pub(in crate::ldm) fn end_joining(&mut self, why: &str) {
        self.progress.is_ending = true;
        let node = self.address.node;
        self.outputs.event(Severity::Error, format!("node {node} cannot join: {why}"));
        self.outputs.request(RequestToRuntime::Exit(EXIT_CANNOT_JOIN));
    }
}

/// A turn.
pub(in crate::ldm) fn copy_in_turn(slots: &mut Slots, budget: &mut Budget, context: &mut Context<'_>) {
    match take_turn(slots, budget, context) {
        Taken::Nothing => context.copying.pace = Pace::Idle,
        Taken::Done => context.pause_copying(Pace::Taken { since: context.now.monotonic }, NEXT_ROUND),
        Taken::Waits => context.pause_copying(Pace::Rest, WAIT_INTERVAL),
    }
}

/// Does what is first and may be done.
fn take_turn(slots: &mut Slots, budget: &mut Budget, context: &mut Context<'_>) -> Taken {
    if let Some(fill) = context.copying.fills.pop_front() {
        if let Err(full) = context.fill_index(fill) {
            context.end_for_memory(full);
        }
        return Taken::Done;
    }
    for _ in 0..context.copying.turns.len() {
        let Some(turn) = context.copying.turns.pop_front() else { return Taken::Nothing };
        match turn {
            Turn::Apply { from, piece, waits_until } => {
                let Some(slot) = slots.get_mut(piece.slot) else { continue };
                let applied = slot.apply_piece(from, &piece, context);
                // Nodes of indexes that grow are replaced: what waits in many tables would make holes in many pages.
                let has_freed = context.reclaim.free_at_once(context.fragments);
                let is_coming = has_freed || context.reclaim.memory.announced() > 0;
                let full = match applied {
                    Ok(Applied::Wholly) => return Taken::Done,
                    Ok(Applied::Partly) => {
                        context.copying.turns.push_front(Turn::Apply { from, piece, waits_until });
                        return Taken::Done;
                    }
                    Err(full) => full,
                };
                let waits_until = waits_until.unwrap_or(context.now.monotonic + WAIT_MAX);
                if context.now.monotonic >= waits_until || !is_coming {
                    context.end_for_memory(full);
                    return Taken::Done;
                }
                // Rows of it that have found their place are passed over.
                let waits_until = Some(waits_until);
                context.copying.turns.push_front(Turn::Apply { from, piece, waits_until });
                return Taken::Waits;
            }
            Turn::Send { slot, node } => {
                if pieces_in_flight(slots, node) < PIECES_IN_FLIGHT {
                    let goes_on =
                        slots.get_mut(slot).is_some_and(|slot| slot.send_turn(node, budget, context));
                    context.copying.turns.extend(goes_on.then_some(turn));
                    return Taken::Done;
                }
                // It goes on when the member has applied one.
                context.copying.turns.push_back(turn);
            }
        }
    }
    Taken::Nothing
}

fn pieces_in_flight(slots: &Slots, node: NodeId) -> u32 {
    let of_node = slots.iter().filter_map(|slot| slot.members.copies.get(&node));
    of_node.map(|out| out.in_flight).sum()
}

// ---- the primary -------------------------------------------------------------------------------------------------

impl Slot {
    /// The takeover is over: members that join and do not have the slot whole are copied to. `there`: what they have;
    /// `None` for all rows.
    pub(super) fn begin_copies(&mut self, there: &BTreeMap<NodeId, Option<Has>>, context: &mut Context<'_>) {
        let view = &context.map.view;
        let publishing = self.publishing(context);
        for node in view.joining(self.id) {
            let has = there.get(node).cloned().unwrap_or_else(|| Some(Has::default()));
            let (Some(to), Some(Has { base, until })) = (view.ldm(self.id, *node), has) else {
                continue;
            };
            let copy = CopyOut {
                to,
                base,
                outcomes: None,
                after: until,
                exact: VecDeque::new(),
                in_flight: 0,
                is_over: false,
                publishing: publishing.clone(),
            };
            self.members.copies.insert(*node, copy);
            context.copying.turns.push_back(Turn::Send { slot: self.id, node: *node });
        }
        context.go_on_copying();
    }

    /// Sends a piece, if nothing is in the way; false if there is none behind it.
    fn send_turn(&mut self, node: NodeId, budget: &mut Budget, context: &mut Context<'_>) -> bool {
        self.waits_for_publication(node, context) || self.send_piece(node, budget, context)
    }

    /// Sends the next piece; false if there is none behind it.
    fn send_piece(&mut self, node: NodeId, budget: &mut Budget, context: &mut Context<'_>) -> bool {
        let rows_max = PIECE_ROWS.min(usize::try_from(budget.rows).unwrap_or(PIECE_ROWS)).max(1);
        let Some(out) = self.members.copies.get_mut(&node) else { return false };
        let plan = Plan { slot: self.id, base: out.base, seed: context.map.view.number, rows_max };
        if let Some(bounds) = out.exact.pop_front() {
            let (share, left) = piece::exact_share(&plan, bounds, context.fragments);
            out.exact.extend(left);
            let goes_on = !(out.is_over && out.exact.is_empty());
            self.send_share(node, share, Beside::default(), budget, context);
            return goes_on;
        }
        if out.is_over {
            return false;
        }
        let (after, left) = (out.after.take(), out.outcomes.take());
        let of_all = || self.outcomes.sorted().into_iter().map(|(transaction, _)| transaction).collect();
        let mut left = left.unwrap_or_else(of_all);
        let outcomes = self.next_outcomes(&mut left, rows_max);
        let (share, after) = match left.is_empty() {
            true => piece::next_share(&plan, after, context.fragments),
            false => (Share::default(), after),
        };
        let is_last = left.is_empty() && after.is_none();
        let Some(out) = self.members.copies.get_mut(&node) else { return false };
        (out.outcomes, out.after, out.is_over) = (Some(left), after.clone(), is_last);
        let goes_on = !is_last || !out.exact.is_empty();
        self.send_share(node, share, Beside { outcomes, is_last, until: after }, budget, context);
        goes_on
    }

    fn send_share(
        &mut self,
        node: NodeId,
        share: Share,
        beside: Beside,
        budget: &mut Budget,
        context: &mut Context<'_>,
    ) {
        let Some(out) = self.members.copies.get_mut(&node) else { return };
        let Beside { outcomes, is_last, until } = beside;
        out.in_flight += 1;
        budget.spend(u32::try_from(share.cost() + outcomes.len()).unwrap_or(u32::MAX));
        let Share { rows, later, entries, ranges, .. } = share;
        let slot = self.id;
        let with_entries = true;
        let piece = CopyPiece { slot, rows, outcomes, is_last, later, entries, with_entries, ranges, until };
        context.send(out.to, Signal::CopyPiece(Box::new(piece)));
    }

    /// Committed transactions whose rows are being published.
    fn publishing(&self, context: &Context<'_>) -> BTreeSet<TransactionId> {
        let committed = |(_, work): (u64, &Work)| match work {
            Work::Publish(publish) => publish.outcome.map(|_| publish.transaction),
            Work::Read(_) | Work::Mark(_) | Work::Undo(_) | Work::Sweep(_) => None,
        };
        context.jobs.of(self.id).filter_map(committed).collect()
    }

    fn waits_for_publication(&mut self, node: NodeId, context: &Context<'_>) -> bool {
        if mutants::is(Mutant::CopyHalfPublished) {
            return false;
        }
        if self.members.copies.get(&node).is_none_or(|out| out.publishing.is_empty()) {
            return false;
        }
        let publishing = self.publishing(context);
        let Some(out) = self.members.copies.get_mut(&node) else { return false };
        out.publishing.retain(|transaction| publishing.contains(transaction));
        !out.publishing.is_empty()
    }

    /// Takes the next of the outcomes that are left. A session may have confirmed one meanwhile: it is not sent any
    /// more.
    fn next_outcomes(&self, left: &mut Vec<TransactionId>, count: usize) -> Vec<CopiedOutcome> {
        let next = left.split_off(left.len().saturating_sub(count));
        let copied = next.into_iter().filter_map(|transaction| {
            let Marker { outcome, results } = self.outcomes.get(transaction)?;
            Some(CopiedOutcome { transaction, outcome: *outcome, results: results.clone() })
        });
        copied.collect()
    }

    /// A member has applied a piece, and has other rows in these ranges.
    pub(super) fn on_copy_applied(
        &mut self,
        node: NodeId,
        differing: Vec<CopyBounds>,
        context: &mut Context<'_>,
    ) {
        let Some(out) = self.members.copies.get_mut(&node) else { return };
        out.in_flight = out.in_flight.saturating_sub(1);
        // Its last turn is over, and so it has no more.
        if out.is_over && out.exact.is_empty() && !differing.is_empty() {
            context.copying.turns.push_back(Turn::Send { slot: self.id, node });
        }
        out.exact.extend(differing);
        context.go_on_copying();
    }
}

// ---- the joining member ------------------------------------------------------------------------------------------

impl Slot {
    /// A piece is here: its rows are applied when its turn comes. Outcomes are kept at once, because the word that
    /// forgets them may be next.
    pub(super) fn on_copy_piece(&mut self, from: Address, mut piece: CopyPiece, context: &mut Context<'_>) {
        self.begin_copy_in(context);
        for CopiedOutcome { transaction, outcome, results } in std::mem::take(&mut piece.outcomes) {
            // One that this member got in the stream is decided here by the word that is on its way: with a marker it
            // would be passed over.
            if !self.applied.contains_key(&transaction) {
                self.outcomes.keep(transaction, Marker { outcome, results });
            }
        }
        if mutants::is(Mutant::CursorAheadOfApplied)
            && let Some(copy) = &mut self.copy_in
        {
            copy.note_until(&piece);
        }
        context.copying.turns.push_back(Turn::Apply { from, piece, waits_until: None });
        context.go_on_copying();
    }

    fn apply_piece(
        &mut self,
        from: Address,
        piece: &CopyPiece,
        context: &mut Context<'_>,
    ) -> Result<Applied, RegionFull> {
        // Before the rows: what they replace is no difference.
        let differing = self.differing(piece, context);
        if self.remove_unnamed(piece, context)? == Applied::Partly {
            return Ok(Applied::Partly);
        }
        for row in &piece.rows {
            let later = piece.later.iter().find(|(table, _)| *table == row.table);
            self.apply_copied(row, later.map_or(&[], |(_, indexes)| indexes), context)?;
        }
        for copied in &piece.entries {
            let place = (copied.table, self.id);
            let Some(fragment) = context.fragments.get_mut(&place) else { continue };
            context.reclaim.note(place);
            copied.keys.iter().try_for_each(|key| fragment.add_copied_entry(copied.index, key))?;
        }
        context.copying.tally.note(piece, differing.len());
        let Some(copy) = &mut self.copy_in else { return Ok(Applied::Wholly) };
        let differing = copy.note_asked(piece, differing);
        copy.note_until(piece);
        copy.has_last |= piece.is_last;
        if piece.is_last && copy.lacks_entries && !piece.with_entries {
            let why = "who began to copy rows to it has a newer version than who ended it, and left the indexes to its end";
            context.end_joining(why);
            return Ok(Applied::Wholly);
        }
        context.send(from, Signal::CopyApplied { slot: self.id, differing });
        self.end_copy(context);
        Ok(Applied::Wholly)
    }

    /// The first piece of a view: commits that came early and whose transactions were not replicated are in the rows
    /// that are here, or to come.
    fn begin_copy_in(&mut self, context: &mut Context<'_>) {
        let Some(copy) = self.copy_in.as_mut().filter(|copy| !copy.has_begun) else { return };
        copy.has_begun = true;
        for (transaction, (from, epoch)) in std::mem::take(&mut copy.early) {
            let outcome = Outcome { transaction, slot: self.id, committed: Some(epoch) };
            self.on_outcome(from, outcome, context);
        }
    }

    /// A commit: true if it is kept until the place of its transaction comes, because this member joined while it was
    /// under way.
    pub(super) fn is_early_commit(&mut self, from: Address, outcome: &Outcome) -> bool {
        let transaction = outcome.transaction;
        let Some(epoch) = outcome.committed.filter(|_| !self.applied.contains_key(&transaction)) else {
            return false;
        };
        let is_early = |copy: &&mut CopyIn| !copy.is_whole && !copy.has_begun;
        let Some(copy) = self.copy_in.as_mut().filter(is_early) else { return false };
        if mutants::is(Mutant::EarlyCommitLost) {
            return true;
        }
        copy.early.insert(transaction, (from, epoch));
        if mutants::is(Mutant::EarlyCommitRecorded) {
            return false;
        }
        true
    }

    /// A place was consumed: if its outcome came before, it is carried out.
    pub(super) fn take_early_commit(&mut self, transaction: TransactionId, context: &mut Context<'_>) {
        let Some(copy) = &mut self.copy_in else { return };
        if let Some((from, epoch)) = copy.early.remove(&transaction) {
            if !self.applied.contains_key(&transaction) {
                return context.end_joining("it cannot take what is committed");
            }
            let outcome = Outcome { transaction, slot: self.id, committed: Some(epoch) };
            self.on_outcome(from, outcome, context);
        }
    }

    /// Puts a copied row where it belongs.
    fn apply_copied(
        &mut self,
        row: &CopiedRow,
        later: &[IndexId],
        context: &mut Context<'_>,
    ) -> Result<(), RegionFull> {
        let place = (row.table, self.id);
        // Else the table was dropped, or is so new that this member got all of its rows.
        let Some(fragment) = context.fragments.get_mut(&place) else { return Ok(()) };
        let Some(copy) = &mut self.copy_in else { return Ok(()) };
        if copy.is_new(row, fragment, context.redo.base) {
            let handle = fragment.stage_copied(&row.key, COPIER, &row.row, later)?;
            if let Some(log) = context.redo.log()
                && let Some(copied) = fragment.decided(handle, COPIER)
            {
                log.put(place, &copied, row.epoch);
            }
            fragment.commit(handle, COPIER, row.epoch);
            context.copying.tally.changed += size_of_row(row);
            copy.lacks_entries |= !later.is_empty();
            context.reclaim.note(place);
        }
        Ok(())
    }

    /// A row of the stream is about to be published: a deletion is remembered while older rows may come.
    pub(super) fn note_deletion(
        &mut self,
        transaction: TransactionId,
        table: TableId,
        row: RowHandle,
        context: &Context<'_>,
    ) {
        let Some(fragment) = context.fragments.get(&(table, self.id)) else { return };
        if fragment.staged_row(row, transaction) != Some(None) {
            return;
        }
        let key: Box<[u8]> = fragment.key_of(row).into();
        if let Some(copy) = self.copy_in.as_mut().filter(|copy| !copy.is_whole) {
            copy.deleted.insert((table, key));
        }
    }

    /// A transaction is decided here: rows that waited under its versions find their place.
    pub(super) fn retry_copied(&mut self, context: &mut Context<'_>) {
        let Some(copy) = self.copy_in.as_mut().filter(|copy| !copy.is_whole) else { return };
        for ((table, key), row) in std::mem::take(&mut copy.waiting) {
            let placed = match row {
                // Its entries may have passed by.
                Some(row) => self.apply_copied(&row, &[], context),
                None => self.remove_row(table, &key, context),
            };
            if let Err(full) = placed {
                return context.end_for_memory(full);
            }
        }
        self.end_copy(context);
    }

    /// Everything is here: `main` hears of it, in each view.
    fn end_copy(&mut self, context: &mut Context<'_>) {
        let Some(copy) = &mut self.copy_in else { return };
        if copy.has_last && copy.awaited.is_empty() && copy.has_placed_all() && !copy.is_whole {
            copy.is_whole = true;
            copy.deleted.clear();
            self.report_copied(context);
        }
    }

    /// Says that the slot is whole.
    pub(in crate::ldm) fn report_copied(&self, context: &mut Context<'_>) {
        if self.copy_in.as_ref().is_some_and(CopyIn::is_whole) {
            context.send(Address::main(context.address.node), Signal::SlotCopied { slot: self.id });
        }
    }
}
