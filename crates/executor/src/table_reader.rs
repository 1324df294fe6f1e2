//! Rows of one table from all its slots: from this node's replica by its reader, else by signal.
//!
//! ```text
//! Idle --its access---> Local (a run on this node's replica) --undecided row--> Resolving (at its primary) --> Local
//!   |                     | slot not here
//!   |                     v
//!   +----------------> Asked (a batch by signal) --more--> Asked ...   --undecided row--> Resolving --> Asked
//!                         | node lost, or it may not answer: the next replica is asked
//!                         v none left
//!                      Delayed --later, or in a newer view--> Idle
//! ```
//! Without an order, slots are read one after the other (remote ones are all asked at once) and rows go straight into
//! the sink. Other threads of this node that have nothing to do read parts of a long scan, too (`Budget::relief`):
//! slots, and pieces of long ones. With an order, each slot's rows come in key order and the reader merges them. It
//! gives a row out only when it knows the next row of every slot that has more.
//!
//! Invariants: every row visible throughout the read is given out once. Nothing of storage is held between polls. A
//! read that was not answered is asked again from where it stood, elsewhere if need be.
#![expect(clippy::wildcard_enum_match_arm, reason = "an answer of another kind is an error of the peer")]

use crate::cx::{Cx, Place, table_ref};
use crate::inbox::Reply;
use crate::mutants::{self, Mutant};
use crate::outcome::{Failure, failure_of};
use crate::row::Row;
use crate::row_buffer::{RowAt, RowBuffer};
use crate::row_memory::RowMemory;
use crate::site::Retry;
use crate::temporary::OWN;
use expression::{Evaluated, Expression};
use memory::Guard;
use planner::plan::ScanDirection;
use protocol::program::{Access, KeyRange, ReadOutput, ReadProgram, ReadProgress, Refusal, RowBatch};
use protocol::signal::{ReadBatch, RequestId};
use protocol::{Address, ModuleKind, SqlError};
use query::{
    BatchShape, ReadRun, ReadStep, RowBatchReader, RowSink, TableAccessInfo, cut, give_row, remaining,
};
use std::ops::Bound;
use std::sync::Arc;
use storage::{Reader, Visibility};
use types::{IndexId, NodeId, SlotId, TransactionId, Value, ValueRef};

/// Rows that wait to be merged, per slot, at most; fewer if they are large.
const MERGE_ROWS: usize = 256;
const MERGE_BYTES: usize = 1 << 20;

/// Pieces of a slot. Those of very long ones have more rows.
const PIECES_MAX: usize = 64;

/// In which order rows come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// Any.
    Any,
    /// By index key.
    Key(ScanDirection),
}

/// Which rows.
#[derive(Clone, Debug)]
pub enum Target {
    /// By primary key, ascending, without duplicates.
    Keys(Vec<Box<[u8]>>),
    /// By ranges of an index, ascending and disjoint.
    Ranges(IndexId, Vec<KeyRange>),
}

/// A row with the keys it was found by.
#[derive(Clone, PartialEq, Debug)]
pub struct KeyedRow {
    pub primary_key: Box<[u8]>,
    pub index_key: Box<[u8]>,
    pub values: Row,
}

/// The result of a poll.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pump {
    /// The sink is full, or rows came: poll again.
    Rows,
    /// An answer must come first.
    Wait,
    /// The budget is spent.
    Spent,
    /// No more rows.
    End,
}

/// A sink that keeps rows.
pub struct Collector {
    pub rows: Vec<KeyedRow>,
    limit: usize,
    with_keys: bool,
}

impl Collector {
    pub fn new(limit: usize, with_keys: bool) -> Self {
        Self { rows: Vec::new(), limit, with_keys }
    }
}

impl RowSink for Collector {
    fn row(&mut self, primary_key: &[u8], index_key: &[u8], values: &[ValueRef<'_>]) {
        let key = |key: &[u8]| if self.with_keys { key.into() } else { Box::default() };
        self.rows.push(KeyedRow {
            primary_key: key(primary_key),
            index_key: key(index_key),
            values: values.iter().map(|value| value.to_value()).collect(),
        });
    }

    fn is_full(&self) -> bool {
        self.rows.len() >= self.limit
    }
}

/// How to go on behind a row whose outcome its primary is asked for.
enum Behind {
    Local(Box<ReadRun>),
    Remote(Option<Access>),
}

enum State {
    /// Nothing is under way.
    Idle,
    /// On this node's replica.
    Local(ReadRun),
    /// A batch was asked for.
    Asked { request: RequestId, to: Address, access: Access },
    /// A row's primary was asked.
    Resolving { request: RequestId, access: Access, behind: Behind },
    /// To be asked again.
    Delayed { retry: Retry, access: Access, behind: Option<Behind> },
}

/// The read of a slot, or of a piece of it.
struct SlotRead {
    slot: SlotId,
    is_piece: bool,
    /// The module of this node that was asked to do this thread's work.
    helper: Option<Address>,
    /// The access that has not begun.
    access: Option<Access>,
    state: State,
    /// The nodes that did not answer since the last rows or the last pause.
    refused: Vec<NodeId>,
    attempts: u32,
    merge: MergeBuffer,
}

/// Rows of one slot that wait to be merged, in order: index key, primary key, values.
#[derive(Default)]
struct MergeBuffer {
    rows: RowBuffer,
    /// The next row.
    next: Option<RowAt>,
    memory: RowMemory,
}

impl MergeBuffer {
    /// Bytes of the next row's index key.
    fn key(&self) -> Option<&[u8]> {
        match self.rows.value(self.next?, 0) {
            ValueRef::Bytes(key) => Some(key),
            _ => None,
        }
    }

    /// Gives the next row to a sink.
    fn give_next(&mut self, sink: &mut dyn RowSink) {
        let Some(at) = self.next else { return };
        self.rows.lend(at, |row| {
            if let [ValueRef::Bytes(index_key), ValueRef::Bytes(primary_key), values @ ..] = row {
                sink.row(primary_key, index_key, values);
            }
        });
        self.next = self.rows.behind(at);
        if self.next.is_none() {
            self.rows.clear();
        }
    }

    /// Pays for the largest size that it had. A refusal is no error on a node with scratch: these are few rows.
    fn pay(&mut self, cx: &mut Cx<'_>) -> Result<(), Failure> {
        let size = self.rows.size().max(self.memory.charged());
        self.memory.pay(size, true, cx)?;
        Ok(())
    }
}

impl RowSink for MergeBuffer {
    fn row(&mut self, primary_key: &[u8], index_key: &[u8], values: &[ValueRef<'_>]) {
        let keys = [ValueRef::Bytes(index_key), ValueRef::Bytes(primary_key)];
        let at = self.rows.push(keys.into_iter().chain(values.iter().copied()));
        self.next.get_or_insert(at);
    }

    fn is_full(&self) -> bool {
        // An empty one takes a row even if it still holds the memory of large ones.
        // One more row may double the memory.
        let size_max = MERGE_BYTES.min(self.memory.charged() + self.memory.uncharged_max() / 2);
        self.rows.len() >= MERGE_ROWS || (self.next.is_some() && self.rows.size() >= size_max)
    }
}

enum Poll {
    /// It moved on: poll again.
    Moved,
    /// The sink is full.
    Full,
    Wait,
    Spent,
    Done,
}

/// The parts of a request that are the same for all slots.
struct Common {
    info: Arc<TableAccessInfo>,
    program: Arc<ReadProgram>,
    shape: BatchShape,
    index: IndexId,
    /// Values a row must have: bytes from a peer may hold fewer.
    width: usize,
}

/// The reader.
pub struct TableReader {
    common: Common,
    order: Order,
    slots: Vec<SlotRead>,
    is_started: bool,
    /// Long slots were cut into pieces.
    is_cut: bool,
}

impl TableReader {
    /// Reads `target`; `limit` is how many rows of each slot can be of use.
    pub fn new(
        info: &Arc<TableAccessInfo>,
        program: ReadProgram,
        target: Target,
        order: Order,
        limit: Option<u64>,
    ) -> Self {
        let mut program = program;
        program.with_index_key |= order != Order::Any;
        let is_backward = order == Order::Key(ScanDirection::Backward);
        let mut index = IndexId(0);
        let slots = match target {
            Target::Keys(mut keys) => {
                if is_backward {
                    keys.reverse();
                }
                let groups = by_slot(keys, |key| info.slot_of_key(key));
                let read = |(slot, keys)| SlotRead::new(slot, Access::Keys(keys));
                groups.into_iter().map(read).collect()
            }
            Target::Ranges(of_index, mut ranges) => {
                index = of_index;
                if is_backward {
                    ranges.reverse();
                }
                let access = Access::Scan { index, ranges: Arc::new(ranges), descending: is_backward, limit };
                info.slots().iter().map(|slot| SlotRead::new(*slot, access.clone())).collect()
            }
        };
        let width = match &program.output {
            ReadOutput::Columns(columns) => columns.len(),
            ReadOutput::Expressions(expressions) => expressions.len(),
            ReadOutput::StoredRow => 1,
            ReadOutput::Aggregate { group_by, calls } => group_by.len() + calls.len(),
        };
        let shape = BatchShape::of(&program);
        let common = Common { info: Arc::clone(info), program: Arc::new(program), shape, index, width };
        Self { common, order, slots, is_started: false, is_cut: false }
    }

    /// A program over `info`'s table.
    pub fn program(
        info: &TableAccessInfo,
        filter: Option<expression::Expression>,
        output: ReadOutput,
        statement: &super::Statement,
    ) -> ReadProgram {
        ReadProgram {
            table: table_ref(&info.definition),
            filter,
            output,
            with_primary_key: false,
            with_index_key: false,
            context: statement.program_context(statement.settings),
        }
    }

    /// Gives rows to `sink` until it is full, an answer must come, the budget is spent, or there are no more.
    pub fn pump(&mut self, cx: &mut Cx<'_>, sink: &mut dyn RowSink) -> Result<Pump, Failure> {
        self.start(cx)?;
        self.share_out(cx)?;
        match self.order {
            Order::Any => self.pump_any(cx, sink),
            Order::Key(direction) => self.pump_merged(direction, cx, sink),
        }
    }

    /// Nobody wants more: answers on their way are dropped.
    pub fn close(&mut self, cx: &mut Cx<'_>) {
        for read in &self.slots {
            if let State::Asked { request, .. } | State::Resolving { request, .. } = &read.state {
                cx.client.inbox.forget(*request);
            }
        }
        self.slots.clear();
    }

    /// Asks all slots that are not here, so that their answers come at the same time.
    fn start(&mut self, cx: &mut Cx<'_>) -> Result<(), Failure> {
        if self.is_started {
            return Ok(());
        }
        self.is_started = true;
        for read in &mut self.slots {
            if let Place::There(..) = cx.place(self.common.info.definition.id, read.slot, &[]) {
                read.begin(&self.common, cx)?;
            }
        }
        self.put_asked_first();
        Ok(())
    }

    /// Answers are taken before this thread goes on with what it reads itself: who gave one may be asked for more.
    fn put_asked_first(&mut self) {
        self.slots.sort_by_key(|read| !matches!(read.state, State::Asked { .. }));
    }

    /// Asks a thread of this node that has nothing to do for a part of what is to be read here. It is asked for another
    /// one at once, so that it need not wait between them.
    fn share_out(&mut self, cx: &mut Cx<'_>) -> Result<(), Failure> {
        let is_shared = self.order == Order::Any;
        let Some(module) = cx.env.budget.relief.take().filter(|_| is_shared) else { return Ok(()) };
        self.cut_long_slots(cx);
        let helper = Address::new(cx.env.site.node(), ModuleKind::Query, module);
        // It looks idle until it has woken.
        if !self.slots.iter().any(|read| read.helper == Some(helper)) {
            self.give_part(helper, cx)?;
            self.give_part(helper, cx)?;
        }
        Ok(())
    }

    /// Asks a helper for the last part that takes longer than a slice, while this thread keeps more than the helper
    /// had.
    fn give_part(&mut self, helper: Address, cx: &mut Cx<'_>) -> Result<(), Failure> {
        let given = self.slots.iter().filter(|read| read.helper == Some(helper)).count();
        let kept = self.slots.iter().filter(|read| read.is_here()).count();
        let last = self.slots.iter().rposition(|read| read.is_long_here(&self.common, cx));
        if let Some(last) = last.filter(|_| kept > given + 1) {
            self.slots[last].ask_helper(helper, &self.common, cx)?;
            self.put_asked_first();
        }
        Ok(())
    }

    /// Cuts what is left of long scans of this node's slots, so that no helper has much more to do than another.
    fn cut_long_slots(&mut self, cx: &Cx<'_>) {
        if !std::mem::replace(&mut self.is_cut, true) {
            let slots = std::mem::take(&mut self.slots);
            for mut read in slots {
                let behind = read.cut(&self.common, cx);
                self.slots.push(read);
                self.slots.extend(behind);
            }
        }
    }

    fn pump_any(&mut self, cx: &mut Cx<'_>, sink: &mut dyn RowSink) -> Result<Pump, Failure> {
        let mut position = 0;
        while position < self.slots.len() {
            if sink.is_full() {
                return Ok(Pump::Rows);
            }
            match self.slots[position].poll(&self.common, cx, sink)? {
                Poll::Moved => {}
                Poll::Full => return Ok(Pump::Rows),
                Poll::Wait => position += 1,
                Poll::Spent => return Ok(Pump::Spent),
                Poll::Done => {
                    // The others keep their order: none is begun before the one under way has ended.
                    let done = self.slots.remove(position);
                    if let Some(helper) = done.helper {
                        self.give_part(helper, cx)?;
                        position = 0;
                    }
                }
            }
        }
        Ok(if self.slots.is_empty() { Pump::End } else { Pump::Wait })
    }

    fn pump_merged(
        &mut self,
        direction: ScanDirection,
        cx: &mut Cx<'_>,
        sink: &mut dyn RowSink,
    ) -> Result<Pump, Failure> {
        loop {
            let mut is_waiting = false;
            let mut position = 0;
            while position < self.slots.len() {
                let read = &mut self.slots[position];
                match read.fill(&self.common, cx)? {
                    Poll::Wait => {
                        is_waiting = true;
                        position += 1;
                    }
                    Poll::Spent => return Ok(Pump::Spent),
                    Poll::Done => self.slots.remove(position).merge.memory.give_back(cx),
                    Poll::Moved | Poll::Full => position += 1,
                }
            }
            if is_waiting {
                return Ok(Pump::Wait);
            }
            // Every slot left has a next row: give rows out until one of them runs dry.
            loop {
                if sink.is_full() {
                    return Ok(Pump::Rows);
                }
                let Some(position) = self.first(direction) else { return Ok(Pump::End) };
                let buffer = &mut self.slots[position].merge;
                buffer.give_next(sink);
                if buffer.next.is_none() {
                    break;
                }
            }
        }
    }

    /// The slot whose next row is the first of all.
    fn first(&self, direction: ScanDirection) -> Option<usize> {
        let keys = self.slots.iter().enumerate();
        let keys = keys.filter_map(|(position, read)| Some((read.merge.key()?, position)));
        match direction {
            ScanDirection::Forward => keys.min_by(|left, right| left.0.cmp(right.0)),
            ScanDirection::Backward => keys.max_by(|left, right| left.0.cmp(right.0)),
        }
        .map(|(_, position)| position)
    }
}

/// Whether rows are read here as they are, because the session wants that and nothing better will come. This node has
/// no lease any more, and no view that could give it another is awaited. The statement has a warning then.
fn reads_stale(cx: &mut Cx<'_>) -> bool {
    let map = &cx.env.site.map;
    let is_stale =
        cx.statement.options.reads_stale && !map.given_up.is_empty() && !map.may_read(cx.env.now.monotonic);
    if is_stale && cx.client.diagnostics.count() == 0 {
        let text = "latsdb_stale_reads: rows are shown as this node has them; it has lost others, and what they committed since may be missing";
        cx.client.diagnostics.warn(1105, text.to_owned());
    }
    is_stale
}

/// Keys grouped by the slot that owns them, in their order.
pub(crate) fn by_slot<T: AsRef<[u8]>>(
    keys: Vec<T>,
    mut slot_of: impl FnMut(&[u8]) -> SlotId,
) -> Vec<(SlotId, Vec<T>)> {
    let mut groups: Vec<(SlotId, Vec<T>)> = Vec::new();
    for key in keys {
        let slot = slot_of(key.as_ref());
        match groups.iter_mut().find(|(other, _)| *other == slot) {
            Some((_, keys)) => keys.push(key),
            None => groups.push((slot, vec![key])),
        }
    }
    groups
}

impl SlotRead {
    fn new(slot: SlotId, access: Access) -> Self {
        Self {
            slot,
            is_piece: false,
            helper: None,
            access: Some(access),
            state: State::Idle,
            refused: Vec::new(),
            attempts: 0,
            merge: MergeBuffer::default(),
        }
    }

    /// Whether this thread is to read all of the slot or a piece, has not begun, and needs more than one slice.
    fn is_long_here(&self, common: &Common, cx: &Cx<'_>) -> bool {
        let is_due = match (&self.state, &self.access) {
            (State::Idle, Some(Access::Scan { ranges, limit: None, .. })) => {
                self.is_piece || **ranges == [KeyRange::all()]
            }
            _ => false,
        };
        let is_long = |reader: &Reader| self.is_piece || reader.row_count() > cx.env.budget.rows.into();
        is_due && self.reader_here(common, cx).is_some_and(is_long)
    }

    /// This node's replica, if it may be read.
    fn reader_here<'a>(&self, common: &Common, cx: &'a Cx<'_>) -> Option<&'a Reader> {
        let (table, map) = (common.info.definition.id, &cx.env.site.map);
        let is_here = matches!(cx.place(table, self.slot, &[]), Place::Here);
        map.reader(table, self.slot).filter(|_| is_here && map.may_read(cx.env.now.monotonic))
    }

    /// Keeps the first piece of what is left to be scanned here, and gives the others.
    fn cut(&mut self, common: &Common, cx: &Cx<'_>) -> Vec<Self> {
        let ranges = match (&self.state, &self.access) {
            (State::Idle, Some(Access::Scan { ranges, descending: false, limit: None, .. })) => {
                ranges.to_vec()
            }
            (State::Local(run), _) => run.ranges_left().unwrap_or_default(),
            _ => return Vec::new(),
        };
        let Some(reader) = self.reader_here(common, cx) else { return Vec::new() };
        let count = reader.row_count() / u64::from(cx.env.budget.piece_rows.max(1));
        let guard = Guard::enter();
        let separators = match usize::try_from(count) {
            Ok(count) if count >= 2 => reader.separators(&guard, common.index, count.min(PIECES_MAX)),
            _ => return Vec::new(),
        };
        let mut pieces = cut(ranges, &separators.unwrap_or_default()).into_iter();
        let scan = |ranges| Access::Scan {
            index: common.index,
            ranges: Arc::new(ranges),
            descending: false,
            limit: None,
        };
        match (&mut self.state, pieces.next()) {
            (State::Local(run), Some(first)) => run.keep(first),
            (_, Some(first)) => self.access = Some(scan(first)),
            (_, None) => {}
        }
        let slot = self.slot;
        pieces.map(|ranges| Self { is_piece: true, ..Self::new(slot, scan(ranges)) }).collect()
    }

    /// This thread reads it, or will.
    fn is_here(&self) -> bool {
        matches!(self.state, State::Idle | State::Local(_))
    }

    /// Has another module of this node read what has not begun.
    fn ask_helper(&mut self, helper: Address, common: &Common, cx: &mut Cx<'_>) -> Result<(), Failure> {
        self.helper = Some(helper);
        let access = if mutants::is(Mutant::MovedTwice) { self.access.clone() } else { self.access.take() };
        match access {
            Some(access) => self.ask(access, helper, None, common, cx),
            None => Ok(()),
        }
    }

    fn ask(
        &mut self,
        access: Access,
        to: Address,
        transaction: Option<TransactionId>,
        common: &Common,
        cx: &mut Cx<'_>,
    ) -> Result<(), Failure> {
        let request = cx.read(to, transaction, self.slot, &common.program, access.clone())?;
        self.state = State::Asked { request, to, access };
        Ok(())
    }

    /// Makes sure that a row is buffered: `Moved` if one is.
    fn fill(&mut self, common: &Common, cx: &mut Cx<'_>) -> Result<Poll, Failure> {
        while self.merge.next.is_none() {
            let mut merge = std::mem::take(&mut self.merge);
            let polled = self.poll(common, cx, &mut merge);
            self.merge = merge;
            let poll = polled?;
            self.merge.pay(cx)?;
            if self.merge.next.is_none() && !matches!(poll, Poll::Moved | Poll::Full) {
                return Ok(poll);
            }
        }
        Ok(Poll::Moved)
    }

    /// Begins the access; `Done` if it was begun before: then nothing is left of it.
    fn begin(&mut self, common: &Common, cx: &mut Cx<'_>) -> Result<Poll, Failure> {
        let Some(access) = self.access.take() else { return Ok(Poll::Done) };
        self.begin_access(access, common, cx)
    }

    fn begin_access(&mut self, access: Access, common: &Common, cx: &mut Cx<'_>) -> Result<Poll, Failure> {
        match cx.place(common.info.definition.id, self.slot, &self.refused) {
            // Rows may change elsewhere unseen. A node that took over a moment ago answers instead, or this replica
            // when it may read again.
            Place::Here if !cx.env.site.map.may_read(cx.env.now.monotonic) && !reads_stale(cx) => {
                self.delay(access, None, cx)?
            }
            Place::Here | Place::Own => {
                self.attempts = 0;
                self.state = State::Local(ReadRun::new(Arc::clone(&common.program), access));
            }
            Place::There(to, transaction) => self.ask(access, to, transaction, common, cx)?,
            Place::Nowhere => self.delay(access, None, cx)?,
        }
        Ok(Poll::Moved)
    }

    /// Asks again later.
    fn delay(&mut self, access: Access, behind: Option<Behind>, cx: &mut Cx<'_>) -> Result<(), Failure> {
        let what = format!("no replica of slot {} can be reached", self.slot);
        let retry = cx.retry_at(&mut self.attempts, &what)?;
        self.refused.clear();
        self.state = State::Delayed { retry, access, behind };
        Ok(())
    }

    fn poll(&mut self, common: &Common, cx: &mut Cx<'_>, sink: &mut dyn RowSink) -> Result<Poll, Failure> {
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Idle => self.begin(common, cx),
            State::Local(run) => self.step_local(run, common, cx, sink),
            State::Asked { request, to, access } => match cx.client.inbox.take(request) {
                None => {
                    self.state = State::Asked { request, to, access };
                    Ok(Poll::Wait)
                }
                Some(reply) => self.on_batch(reply, to, access, common, cx, sink),
            },
            State::Resolving { request, access, behind } => match cx.client.inbox.take(request) {
                None => {
                    self.state = State::Resolving { request, access, behind };
                    Ok(Poll::Wait)
                }
                Some(reply) => self.on_resolved(reply, access, behind, common, cx, sink),
            },
            State::Delayed { retry, access, behind } if !retry.is_due(&cx.env) => {
                self.state = State::Delayed { retry, access, behind };
                Ok(Poll::Wait)
            }
            State::Delayed { access, behind: None, .. } => self.begin_access(access, common, cx),
            State::Delayed { access, behind: Some(behind), .. } => self.resolve(access, behind, common, cx),
        }
    }

    fn step_local(
        &mut self,
        mut run: ReadRun,
        common: &Common,
        cx: &mut Cx<'_>,
        sink: &mut dyn RowSink,
    ) -> Result<Poll, Failure> {
        let (map, table) = (Arc::clone(&cx.env.site.map), common.info.definition.id);
        let is_own = self.slot == SlotId::SESSION;
        let visibility = match () {
            () if is_own => OWN,
            () if reads_stale(cx) => Visibility::Stale,
            () => Visibility::Committed,
        };
        let reader = if is_own {
            cx.client.transaction.own().and_then(|own| own.reader(table))
        } else {
            map.reader(table, self.slot)
        };
        let Some(reader) = reader else {
            // The fragment went away under the read: the table was dropped, or the node left its group.
            return Err(Failure::WrongSchema);
        };
        let step = run.step(&common.info, reader, visibility, cx.env.budget, sink)?;
        cx.keep_raised(run.take_raised());
        match step {
            ReadStep::End => Ok(Poll::Moved),
            ReadStep::Spent => {
                self.state = State::Local(run);
                Ok(Poll::Spent)
            }
            ReadStep::Full => {
                self.state = State::Local(run);
                Ok(Poll::Full)
            }
            ReadStep::Undecided { primary_key, index_key } => {
                let access = entry_access(common.index, primary_key, index_key);
                self.resolve(access, Behind::Local(Box::new(run)), common, cx)
            }
        }
    }

    /// Asks the primary for an index entry whose row's outcome is not known here.
    fn resolve(
        &mut self,
        access: Access,
        behind: Behind,
        common: &Common,
        cx: &mut Cx<'_>,
    ) -> Result<Poll, Failure> {
        let Some(primary) = cx.env.site.map.primary(self.slot) else {
            self.delay(access, Some(behind), cx)?;
            return Ok(Poll::Moved);
        };
        let request = cx.read(primary, None, self.slot, &common.program, access.clone())?;
        self.state = State::Resolving { request, access, behind };
        Ok(Poll::Moved)
    }

    fn on_batch(
        &mut self,
        reply: Reply,
        to: Address,
        access: Access,
        common: &Common,
        cx: &mut Cx<'_>,
        sink: &mut dyn RowSink,
    ) -> Result<Poll, Failure> {
        let batch = match reply {
            // Another thread of this node has the table in another version.
            Reply::Read(Err(Refusal::WrongSchema)) if to.node == cx.env.site.node() => None,
            reply => self.batch_of(reply, common)?,
        };
        let Some(batch) = batch else {
            // One that has just come in sync has no lease yet, one that stopped hears of its loss last: others may
            // answer.
            self.refused.push(to.node);
            return self.begin_access(access, common, cx);
        };
        self.attempts = 0;
        self.refused.clear();
        cx.keep_raised(batch.raised);
        give(&batch.rows, common, sink)?;
        let count = u64::from(batch.rows.count);
        let rest = remaining(&access, &batch.progress, count);
        match batch.progress {
            ReadProgress::End => {}
            ReadProgress::More { .. } => {
                if let Some(rest) = rest {
                    let transaction = match cx.place(common.info.definition.id, self.slot, &[]) {
                        Place::There(_, transaction) => transaction,
                        Place::Here | Place::Own | Place::Nowhere => None,
                    };
                    self.ask(rest, to, transaction, common, cx)?;
                }
            }
            ReadProgress::Undecided { primary_key, after, .. } => {
                let entry = entry_access(common.index, primary_key, after);
                return self.resolve(entry, Behind::Remote(rest), common, cx);
            }
        }
        Ok(Poll::Moved)
    }

    fn on_resolved(
        &mut self,
        reply: Reply,
        access: Access,
        behind: Behind,
        common: &Common,
        cx: &mut Cx<'_>,
        sink: &mut dyn RowSink,
    ) -> Result<Poll, Failure> {
        // A primary that has stepped down since does not know either: the one of the next view does.
        let is_decided = |batch: &ReadBatch| !matches!(batch.progress, ReadProgress::Undecided { .. });
        let Some(batch) = self.batch_of(reply, common)?.filter(is_decided) else {
            self.delay(access, Some(behind), cx)?;
            return Ok(Poll::Moved);
        };
        self.attempts = 0;
        cx.keep_raised(batch.raised);
        if !mutants::is(Mutant::CountBeforeUndecided) {
            give(&batch.rows, common, sink)?;
        }
        match behind {
            Behind::Local(mut run) => {
                run.count_resolved(batch.rows.count);
                self.state = State::Local(*run);
                Ok(Poll::Moved)
            }
            Behind::Remote(Some(rest)) => self.begin_access(rest, common, cx),
            Behind::Remote(None) => Ok(Poll::Moved),
        }
    }

    /// The batch of an answer; None if it must be asked for again.
    fn batch_of(&self, reply: Reply, common: &Common) -> Result<Option<ReadBatch>, Failure> {
        match reply {
            Reply::Read(Ok(batch)) => Ok(Some(batch)),
            Reply::Read(Err(Refusal::WrongView)) | Reply::Lost => Ok(None),
            // Nobody can say in this view what the row is: trying again would not help.
            Reply::Read(Err(Refusal::ReplicaLost)) => Err(Failure::Error(SqlError::new(
                1297,
                "Got temporary error 'the outcome of a row is not known: a replica is lost' from LatsDB",
            ))),
            Reply::Read(Err(refusal)) => Err(failure_of(refusal, &common.info.definition.name)),
            _ => Err(malformed()),
        }
    }
}

/// Exactly one entry of an index: what is asked of a row's primary.
fn entry_access(index: IndexId, primary_key: Box<[u8]>, index_key: Box<[u8]>) -> Access {
    if index == IndexId(0) {
        return Access::Keys(vec![primary_key]);
    }
    let range = KeyRange { lower: Bound::Included(index_key.clone()), upper: Bound::Included(index_key) };
    Access::Scan { index, ranges: Arc::new(vec![range]), descending: false, limit: None }
}

/// Gives the rows of a batch to a sink; bytes that are no rows are an error of the peer.
fn give(rows: &RowBatch, common: &Common, sink: &mut dyn RowSink) -> Result<(), Failure> {
    let mut reader = RowBatchReader::new(common.shape, rows);
    let mut values = Vec::new();
    while let Some(keys) = reader.next_into(&mut values) {
        let keys = keys.map_err(|_| malformed())?;
        if values.len() != common.width {
            return Err(malformed());
        }
        give_row(sink, (keys.primary, keys.index), values.len(), values.iter().map(Evaluated::as_ref));
    }
    Ok(())
}

/// A program that gives whole rows by primary key.
pub fn stored_rows(info: &TableAccessInfo, filter: Option<Expression>, cx: &Cx<'_>) -> Arc<ReadProgram> {
    let filter = filter.map(|filter| cx.statement.folded(&filter));
    let program = TableReader::program(info, filter, ReadOutput::StoredRow, cx.statement);
    Arc::new(ReadProgram { with_primary_key: true, ..program })
}

/// The bytes of a row that such a program gave.
pub fn stored_bytes(row: &KeyedRow, info: &TableAccessInfo) -> Result<Vec<u8>, Failure> {
    match row.values.first() {
        Some(Value::Bytes(bytes)) if info.layout.check(bytes).is_ok() => Ok(bytes.clone()),
        _ => Err(malformed()),
    }
}

/// A peer sent rows that are none.
pub fn malformed() -> Failure {
    Failure::Error(protocol::SqlError::new(1815, "Internal error: rows from another node are malformed"))
}
