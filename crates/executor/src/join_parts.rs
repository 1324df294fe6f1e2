//! A hash join whose right rows find no memory. Both sides are divided by bits of their hashes into parts in scratch.
//! The parts are joined one after the other.
//!
//! ```text
//! right rows --bits of the hash--> 16 right parts     each pair of parts: right rows --> memory, by hash
//! left rows  --the same bits-----> 16 left parts                          left rows  --> batches that look them up
//! ```
//! A right part for which there is no memory either is divided again by the next bits, and its left part with it. After
//! [`DIVISIONS_MAX`] divisions it is joined *block by block*: as many right rows as find memory are joined with the
//! left part. Left rows that the next block may still match are written again, with what was found so far. So is a
//! part that begins with a block of one hash. A block with another one is divided, with all behind it.
//!
//! The order of left rows is not kept. No plan asks for it: ORDER BY sorts what a join gives.
//!
//! A row in scratch has its *head* behind its values: the bits that are kept of its hash, and for a left row what the
//! blocks so far have said. So keys are evaluated once.
//!
//! Invariants: rows that match are in the same pair. A left row comes out once for each match, and where it has none
//! once, with the last block. There is at least one right row, or one was not kept for a NULL. While right rows come
//! into memory there is no batch. A batch of left rows is not charged: it has one row, or as many as an operator may
//! keep before it pays.

use crate::cx::{Cx, warnings_of};
use crate::join::{Found, JoinRun, hash_of, is_full};
use crate::outcome::Failure;
use crate::row_buffer::{RowAt, RowBuffer};
use crate::scratch::{Advance, Hold, PackedRow, Run, RunReader, RunWriter};
use crate::table_reader::Pump;
use expression::Context;
use planner::plan::{Join, JoinKind};
use query::RowSink;
use stdx::HashIndex;
use types::ValueRef;

/// Parts of a division, and their bits.
const PARTS: usize = 16;
const PART_BITS: u32 = 4;
/// So often rows are divided.
const DIVISIONS_MAX: u32 = 3;

/// The part of a hash in a division. These are the upper bits: tables of a part spread those that are left.
fn part_of(hash: u32, division: u32) -> usize {
    (hash << (division * PART_BITS) >> (u32::BITS - PART_BITS)) as usize
}

/// The value behind those of a row in scratch.
#[derive(Clone, Copy)]
pub(crate) struct Head {
    /// None: a key of the left row is NULL.
    pub(crate) hash: Option<u32>,
    /// Of a left row.
    pub(crate) found: Found,
}

impl Head {
    /// Where the hash ends among the bits of the value.
    const FOUND_BIT: u32 = 40;

    pub(crate) fn value(self) -> ValueRef<'static> {
        let hash = self.hash.map_or(1 << 32, u64::from);
        let found = match self.found {
            Found::Nothing => 0,
            Found::Unknown => 1,
            Found::Match => 2,
        };
        ValueRef::UInt(hash | found << Self::FOUND_BIT)
    }

    pub(crate) fn of(value: Option<ValueRef<'_>>) -> Self {
        let Some(ValueRef::UInt(number)) = value else { return Self { hash: None, found: Found::Nothing } };
        let found = match number >> Self::FOUND_BIT {
            0 => Found::Nothing,
            1 => Found::Unknown,
            _ => Found::Match,
        };
        Self { hash: u32::try_from(number & ((1 << Self::FOUND_BIT) - 1)).ok(), found }
    }

    /// Rows that match none are in the first part.
    fn part(self, division: u32) -> usize {
        self.hash.map_or(0, |hash| part_of(hash, division))
    }
}

/// The parts of a join.
pub(crate) struct Parts {
    hold: Hold,
    piece_size: u64,
    stage: Stage,
    pairs: Vec<Pair>,
    /// Left rows that were in the batch when this began: the next of them.
    batched: Option<RowAt>,
}

/// Rows of both sides that may match.
struct Pair {
    right: Run,
    left: Run,
    /// How often they were divided.
    divisions: u32,
}

enum Stage {
    /// Right rows go into parts, and then the left rows of this run, or of the operator.
    Right(Division, Option<Run>),
    /// The same for left rows; the right parts are there.
    Left(Division, Vec<Run>),
    /// The next pair is wanted.
    Next,
    /// Right rows come into memory.
    Loading(Loading),
    /// Left rows look them up. Behind these come right rows of the next block, and the left rows that go on to it.
    Joining { left: RunReader, next: Option<(Loading, RunWriter)> },
}

/// Right rows on their way into memory.
struct Loading {
    right: RunReader,
    left: Run,
    divisions: u32,
    /// The hash of the first row of the pair, and the bits in which those of this block differ from it.
    first: Option<u32>,
    differing: u32,
}

impl Loading {
    fn new(right: RunReader, left: Run, divisions: u32) -> Self {
        Self { right, left, divisions, first: None, differing: 0 }
    }
}

/// Rows of one side on their way into parts.
struct Division {
    number: u32,
    writers: Vec<RunWriter>,
    runs: Vec<Run>,
    /// How many of the right rows in memory are written; None: all.
    written: Option<u32>,
    /// The rows behind those in memory: from scratch; None: from the operator.
    rest: Option<RunReader>,
    has_ended: bool,
}

impl Division {
    fn new(number: u32, piece_size: u64, written: Option<u32>, rest: Option<RunReader>) -> Self {
        let writers = (0..PARTS).map(|_| RunWriter::new(piece_size)).collect();
        Self { number, writers, runs: Vec::new(), written, rest, has_ended: false }
    }

    /// All that is full is written. False if an answer of the disk comes.
    fn is_ready(&mut self, hold: &Hold, cx: &mut Cx<'_>) -> Result<bool, Failure> {
        for writer in &mut self.writers {
            if writer.is_full() && !writer.is_ready(hold, cx)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Puts a row with its head into its part.
    fn put<'v>(&mut self, values: impl Iterator<Item = ValueRef<'v>>, head: Head) {
        self.writers[head.part(self.number)].put(values.chain([head.value()]));
    }

    /// Divides the rows of a run. If it has to go on with that: why it has stopped.
    fn divide_rest(&mut self, hold: &Hold, cx: &mut Cx<'_>) -> Result<Option<Pump>, Failure> {
        while !self.has_ended {
            if !self.is_ready(hold, cx)? {
                return Ok(Some(Pump::Wait));
            }
            let Some(rest) = &mut self.rest else { return Ok(None) };
            match rest.advance(hold, cx)? {
                Advance::Row => {
                    let row = rest.row();
                    self.writers[head_of(row).part(self.number)].put(row.values());
                }
                Advance::Wait => return Ok(Some(Pump::Wait)),
                Advance::End => self.has_ended = true,
            }
            if !cx.env.budget.spend(1) {
                return Ok(Some(Pump::Spent));
            }
        }
        Ok(None)
    }

    /// Writes what is left. False if an answer of the disk comes.
    fn finish(&mut self, hold: &Hold, cx: &mut Cx<'_>) -> Result<bool, Failure> {
        while let Some(writer) = self.writers.get_mut(self.runs.len()) {
            match writer.finish(hold, cx)? {
                Some(run) => self.runs.push(run),
                None => return Ok(false),
            }
        }
        Ok(true)
    }
}

fn head_of(row: PackedRow<'_>) -> Head {
    Head::of(row.values().last())
}

impl Parts {
    /// The right rows that were gathered, and those to come, find no memory.
    pub(crate) fn new(join: &mut JoinRun, cx: &Cx<'_>) -> Option<Box<Self>> {
        let piece_size = cx.env.site.scratch.as_ref()?.piece_size();
        let stage = Stage::Right(Division::new(0, piece_size, Some(0), None), None);
        let batched = join.current.take();
        Some(Box::new(Self { hold: Hold::default(), piece_size, stage, pairs: Vec::new(), batched }))
    }

    /// Whether a left row that has met the right rows in memory goes on to the next block.
    pub(crate) fn is_held(&mut self, row: &[ValueRef<'_>], head: Head, kind: JoinKind) -> bool {
        let Stage::Joining { next: Some((_, writer)), .. } = &mut self.stage else { return false };
        let is_decided = match kind {
            JoinKind::Semi | JoinKind::Anti | JoinKind::Mark => head.found == Found::Match,
            JoinKind::Inner | JoinKind::Left | JoinKind::Single => false,
        };
        if !is_decided {
            writer.put(row.iter().copied().chain([head.value()]));
        }
        !is_decided
    }

    /// Goes on until the join has a batch of left rows whose right rows are in memory. If it has to stop before: why.
    pub(crate) fn next_batch(
        &mut self,
        join: &mut JoinRun,
        cx: &mut Cx<'_>,
    ) -> Result<Option<Pump>, Failure> {
        loop {
            let stopped = match &mut self.stage {
                Stage::Right(..) => self.divide_right(join, cx)?,
                Stage::Left(..) => self.divide_left(join, cx)?,
                Stage::Next => {
                    let Some(Pair { right, left, divisions }) = self.pairs.pop() else {
                        return Ok(Some(Pump::End));
                    };
                    self.stage = Stage::Loading(Loading::new(RunReader::new(right), left, divisions));
                    None
                }
                Stage::Loading(_) => self.load(join, cx)?,
                Stage::Joining { .. } => {
                    let stopped = self.fill(join, cx)?;
                    if stopped.is_none() && join.current.is_some() {
                        return Ok(None);
                    }
                    stopped
                }
            };
            if stopped.is_some() {
                return Ok(stopped);
            }
        }
    }

    /// Right rows go into parts.
    fn divide_right(&mut self, join: &mut JoinRun, cx: &mut Cx<'_>) -> Result<Option<Pump>, Failure> {
        let Stage::Right(division, left) = &mut self.stage else { return Ok(None) };
        while let Some(written) = division.written {
            if !division.is_ready(&self.hold, cx)? {
                return Ok(Some(Pump::Wait));
            }
            if written as usize == join.right.places.len() {
                division.written = None;
                join.right.give_up_rows();
                // From now on there are the pieces that are filled.
                let pieces = usize::try_from(self.piece_size).unwrap_or(usize::MAX).saturating_mul(PARTS);
                join.memory.pay(join.batch.size() + pieces, true, cx)?;
                break;
            }
            let head = Head { hash: Some(join.right.entries.hash(written)), found: Found::Nothing };
            division.put(join.right.rows.values(*join.right.places.get(written as usize)), head);
            division.written = Some(written + 1);
            if !cx.env.budget.spend(1) {
                return Ok(Some(Pump::Spent));
            }
        }
        if let Some(pump) = division.divide_rest(&self.hold, cx)? {
            return Ok(Some(pump));
        }
        while let Some(reading) = join.reading.as_mut().filter(|_| !division.has_ended) {
            if !division.is_ready(&self.hold, cx)? {
                return Ok(Some(Pump::Wait));
            }
            let side = Side::Right { has_null: &mut join.right.has_null };
            if let Some(pump) = division.pump(|cx, sink| reading.pump(cx, sink), &join.plan, side, cx)? {
                return Ok(Some(pump));
            }
        }
        join.reading = None;
        if !division.finish(&self.hold, cx)? {
            return Ok(Some(Pump::Wait));
        }
        let rights = std::mem::take(&mut division.runs);
        let rest = left.take().map(RunReader::new);
        self.stage = Stage::Left(Division::new(division.number, self.piece_size, None, rest), rights);
        Ok(None)
    }

    /// Left rows go into parts: those of the batch, then those behind them.
    fn divide_left(&mut self, join: &mut JoinRun, cx: &mut Cx<'_>) -> Result<Option<Pump>, Failure> {
        let Stage::Left(division, rights) = &mut self.stage else { return Ok(None) };
        if self.batched.is_some() {
            let context = cx.statement.context();
            let side = Side::Left { rights };
            let mut sink = PartSink { division, plan: &join.plan, context: &context, side, failure: None };
            while let Some(at) = self.batched {
                let row: Vec<ValueRef<'_>> = join.batch.values(at).collect();
                sink.row(&[], &[], &row);
                self.batched = join.batch.behind(at);
                if sink.is_full() || !cx.env.budget.spend(1) {
                    break;
                }
            }
            let failure = sink.failure;
            settle(&context, cx);
            failure.map_or(Ok(()), Err)?;
            if !division.is_ready(&self.hold, cx)? {
                return Ok(Some(Pump::Wait));
            }
            let is_spent = cx.env.budget.is_spent();
            return Ok(is_spent.then_some(Pump::Spent));
        }
        join.batch = RowBuffer::default();
        if let Some(pump) = division.divide_rest(&self.hold, cx)? {
            return Ok(Some(pump));
        }
        while !division.has_ended && !join.has_left_ended {
            if !division.is_ready(&self.hold, cx)? {
                return Ok(Some(Pump::Wait));
            }
            let left = &mut join.left;
            let side = Side::Left { rights };
            if let Some(pump) = division.pump(|cx, sink| left.pump(cx, sink), &join.plan, side, cx)? {
                return Ok(Some(pump));
            }
            join.has_left_ended = division.has_ended;
        }
        if !division.finish(&self.hold, cx)? {
            return Ok(Some(Pump::Wait));
        }
        let divisions = division.number + 1;
        let lefts = std::mem::take(&mut division.runs);
        let needs_right = matches!(join.plan.kind, JoinKind::Inner | JoinKind::Semi);
        for (right, left) in std::mem::take(rights).into_iter().zip(lefts) {
            if left.is_empty() || (needs_right && right.is_empty()) {
                right.give_up(&self.hold, cx);
                left.give_up(&self.hold, cx);
            } else {
                self.pairs.push(Pair { right, left, divisions });
            }
        }
        self.stage = Stage::Next;
        Ok(None)
    }

    /// Right rows come into memory: all of a pair, or those of a block.
    fn load(&mut self, join: &mut JoinRun, cx: &mut Cx<'_>) -> Result<Option<Pump>, Failure> {
        let Stage::Loading(loading) = &mut self.stage else { return Ok(None) };
        let is_set = matches!(join.plan.kind, JoinKind::Semi | JoinKind::Anti | JoinKind::Mark);
        let has_memory = loop {
            // There is no batch. So a block that is full has a row.
            let size = join.right.size();
            if join.memory.is_full(size) && join.memory.pay(size, true, cx)? {
                break false;
            }
            match loading.right.advance(&self.hold, cx)? {
                Advance::Row => {
                    let row = loading.right.row();
                    let Some(hash) = head_of(row).hash else { continue };
                    loading.differing |= hash ^ *loading.first.get_or_insert(hash);
                    row.lend(|values| {
                        let values = &values[..values.len().saturating_sub(1)];
                        if !(is_set && join.right.has(values, hash.into())) {
                            join.right.push(values, Some(hash.into()));
                        }
                    });
                }
                Advance::Wait => return Ok(Some(Pump::Wait)),
                Advance::End => break true,
            }
            if !cx.env.budget.spend(1) {
                return Ok(Some(Pump::Spent));
            }
        };
        let Stage::Loading(loading) = std::mem::replace(&mut self.stage, Stage::Next) else {
            return Ok(None);
        };
        let Loading { right, left, divisions, first, differing } = loading;
        self.stage = if has_memory {
            Stage::Joining { left: RunReader::new(left), next: None }
        } else if differing != 0 && divisions < DIVISIONS_MAX {
            let division = Division::new(divisions, self.piece_size, Some(0), Some(right));
            Stage::Right(division, Some(left))
        } else {
            // It gets its left rows when they are all written.
            let next = Loading { first, ..Loading::new(right, Run::default(), divisions) };
            Stage::Joining { left: RunReader::new(left), next: Some((next, RunWriter::new(self.piece_size))) }
        };
        Ok(None)
    }

    /// Fills a batch with left rows; without one, all of them have met the right rows in memory.
    fn fill(&mut self, join: &mut JoinRun, cx: &mut Cx<'_>) -> Result<Option<Pump>, Failure> {
        let Stage::Joining { left, next } = &mut self.stage else { return Ok(None) };
        if let Some((_, writer)) = next
            && !writer.is_ready(&self.hold, cx)?
        {
            return Ok(Some(Pump::Wait));
        }
        let rows_max = cx.statement.options.batch_rows_max;
        while !is_full(&join.batch, rows_max, join.memory.uncharged_max()) {
            match left.advance(&self.hold, cx)? {
                Advance::Row => {
                    join.batch.push(left.row().values());
                }
                Advance::Wait => return Ok(Some(Pump::Wait)),
                Advance::End => break,
            }
            if !cx.env.budget.spend(1) {
                return Ok(Some(Pump::Spent));
            }
        }
        if join.batch.len() > 0 {
            join.begin_batch();
            return Ok(None);
        }
        let going_on = match next {
            Some((_, writer)) => match writer.finish(&self.hold, cx)? {
                Some(run) => Some(run),
                None => return Ok(Some(Pump::Wait)),
            },
            None => None,
        };
        join.right.give_up_rows();
        join.batch = RowBuffer::default();
        join.memory.pay(0, true, cx)?;
        let stage = std::mem::replace(&mut self.stage, Stage::Next);
        if let (Stage::Joining { next: Some((loading, _)), .. }, Some(left)) = (stage, going_on)
            && !left.is_empty()
        {
            self.stage = Stage::Loading(Loading { left, ..loading });
        }
        Ok(None)
    }
}

impl Division {
    /// Divides rows that `pump` gives. If it has to go on with that: why it has stopped.
    fn pump(
        &mut self,
        pump: impl FnOnce(&mut Cx<'_>, &mut dyn RowSink) -> Result<Pump, Failure>,
        plan: &Join,
        side: Side<'_>,
        cx: &mut Cx<'_>,
    ) -> Result<Option<Pump>, Failure> {
        let context = cx.statement.context();
        let mut sink = PartSink { division: self, plan, context: &context, side, failure: None };
        let pump = pump(cx, &mut sink);
        let failure = sink.failure;
        settle(&context, cx);
        failure.map_or(Ok(()), Err)?;
        Ok(match pump? {
            Pump::End => {
                self.has_ended = true;
                None
            }
            Pump::Rows if cx.env.budget.is_spent() => Some(Pump::Spent),
            Pump::Rows => None,
            pump @ (Pump::Wait | Pump::Spent) => Some(pump),
        })
    }
}

/// Pays for what an evaluation has cost, and keeps its warnings.
fn settle(context: &Context<'_>, cx: &mut Cx<'_>) {
    cx.env.budget.spend(context.warnings.take_text_work());
    cx.keep_warnings(warnings_of(context));
}

/// The side whose rows are divided.
enum Side<'a> {
    Right {
        /// A row was not kept for a NULL.
        has_null: &'a mut bool,
    },
    Left {
        rights: &'a [Run],
    },
}

/// Puts rows into parts.
struct PartSink<'a> {
    division: &'a mut Division,
    plan: &'a Join,
    context: &'a Context<'a>,
    side: Side<'a>,
    failure: Option<Failure>,
}

impl RowSink for PartSink<'_> {
    fn row(&mut self, _: &[u8], _: &[u8], values: &[ValueRef<'_>]) {
        if self.failure.is_some() {
            return;
        }
        let keys = self.plan.keys.iter();
        let hash = match self.side {
            Side::Right { .. } => hash_of(keys.map(|key| (&key.right, key.form)), values, self.context),
            Side::Left { .. } => hash_of(keys.map(|key| (&key.left, key.form)), values, self.context),
        };
        let hash = match hash {
            Ok(hash) => hash.map(HashIndex::kept),
            Err(failure) => {
                self.failure = Some(failure);
                return;
            }
        };
        let head = Head { hash, found: Found::Nothing };
        match &mut self.side {
            Side::Right { has_null } if hash.is_none() => **has_null = true,
            Side::Left { rights }
                if matches!(self.plan.kind, JoinKind::Inner | JoinKind::Semi)
                    && (hash.is_none() || rights[head.part(self.division.number)].is_empty()) => {}
            Side::Right { .. } | Side::Left { .. } => self.division.put(values.iter().copied(), head),
        }
    }

    fn is_full(&self) -> bool {
        self.failure.is_some()
            || self.context.warnings.is_much_text()
            || self.division.writers.iter().any(RunWriter::is_full)
    }
}

#[cfg(test)]
mod tests {
    use super::{Found, Head, PARTS, part_of};

    #[test]
    fn heads_are_read_as_they_were_written() {
        for hash in [None, Some(0), Some(1), Some(0x8000_0001), Some(u32::MAX)] {
            for found in [Found::Nothing, Found::Unknown, Found::Match] {
                let head = Head::of(Some(Head { hash, found }.value()));
                assert!(head.hash == hash && head.found == found);
            }
        }
    }

    #[test]
    fn each_division_looks_at_other_bits() {
        assert_eq!([0, 1, 2].map(|division| part_of(0xabc0_0000, division)), [0xa, 0xb, 0xc]);
        assert!((0..3).all(|division| part_of(u32::MAX, division) == PARTS - 1));
    }
}
