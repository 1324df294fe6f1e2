//! Joins: left rows in batches, and for each batch the right rows that can match it.
//!
//! ```text
//! left --up to batch_rows_max --> batch --keys of the batch--> right rows (a lookup)    --> pairs --> sink
//!                                   \--- the first batch ----> right rows (once for all) -/
//! ```
//! Right rows lie in a buffer, by hash where the plan has hash keys. The batch is walked with an explicit position: row
//! by row, and for each its candidates among the right rows. So the join stops between any two pairs. The condition
//! is tested on every candidate.
//!
//! *Subqueries* are joins of kind Mark and Single. One that reads the left row has its right rows gathered for that
//! row, unless a row before had the same values (`join_inner`).
//!
//! *Few or many left rows.* Where the plan says how many are few, these are looked up (or the right side runs for each
//! of them), and right rows are gathered once for those behind. Work that was done for few is at most as much again as
//! what gathering costs.
//!
//! *Too many right rows.* If they find no memory, a join with hash keys divides both sides into parts in scratch
//! (`join_parts`). Another one that has looked up before goes back to that.
//!
//! Invariants: unless there are parts, the order of left rows is kept, and for each that of the right rows. Memory that
//! is held is charged, but for what an operator may keep before it pays.
//!
//! Deliberately not here: which ways there are, and how many left rows are few. The plan says.

use crate::cx::{Cx, warnings_of};
use crate::join_inner::Inner;
use crate::join_parts::{Head, Parts};
use crate::outcome::Failure;
use crate::row_buffer::{RowAt, RowBuffer};
use crate::row_memory::RowMemory;
use crate::select::{Operator, ReadTarget, measured, order_unasked, read_target, reader_of, relation_source};
use crate::statement::Joining;
use crate::table_reader::{Pump, Target};
use expression::{Context, Expression, hash_value};
use planner::explain::{Part, StepKey};
use planner::plan::{AccessPath, HashForm, HashKey, Join, JoinKind, Lookup, Relation, Scan};
use protocol::program::KeyRange;
use protocol::{Budget, SqlError};
use query::RowSink;
use std::sync::Arc;
use stdx::{HashIndex, Pages};
use types::{Decimal, IntegerWidth, SqlType, Value, ValueRef};

/// Bytes of left rows that are matched together, if they are large.
const BATCH_BYTES: usize = 1 << 20;
/// Right rows of one hash that a new one is compared with.
const COMPARED_MAX: usize = 4;

/// A join that runs.
pub struct JoinRun {
    pub(crate) plan: Arc<Join>,
    pub(crate) left: Operator,
    pub(crate) has_left_ended: bool,
    pub(crate) batch: RowBuffer,
    pub(crate) right: RightRows,
    /// The source of right rows, while it gives them.
    pub(crate) reading: Option<Box<Operator>>,
    /// The left row that is matched; None: a new batch is wanted.
    pub(crate) current: Option<RowAt>,
    step: Matching,
    pub(crate) memory: RowMemory,
    /// Both sides are in scratch.
    parts: Option<Box<Parts>>,
    pub(crate) way: Way,
    /// Left rows that may still be looked up, or run the right side for; None: there is no other way.
    few: Option<u64>,
    /// For [`Way::Applied`].
    pub(crate) inner: Option<Box<Inner>>,
}

/// How right rows are found.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// For each left row, with its values in parameters.
    Applied,
    /// For each batch.
    LookedUp,
    /// Once for all.
    Gathered,
}

/// How far a left row is.
enum Matching {
    /// Its right rows may have to be gathered.
    New,
    /// They are there; its candidates are not looked for.
    Ready,
    /// The next candidate, and what was said of those before.
    Candidates { next: Candidate, found: Found },
}

/// The best of the truth values of a left row's candidates so far.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    Nothing,
    /// One was NULL, none true.
    Unknown,
    Match,
}

impl Found {
    fn truth(self) -> ValueRef<'static> {
        match self {
            Found::Match => ValueRef::Int(1),
            Found::Unknown => ValueRef::Null,
            Found::Nothing => ValueRef::Int(0),
        }
    }
}

/// A right row.
#[derive(Clone, Copy)]
enum Candidate {
    /// All rows from this one on.
    Row(RowAt),
    /// An entry of a chain of equal hashes.
    Entry(u32),
    None,
}

enum Walk {
    Full,
    Spent,
    /// The right rows of the current left row are wanted.
    Gather,
    Done,
}

impl JoinRun {
    /// Begins with the left side.
    pub(crate) fn new(plan: &Arc<Join>, left: Operator, cx: &mut Cx<'_>) -> Self {
        let way = match &plan.lookup {
            _ if !plan.outer.is_empty() || plan.apply.is_some() => Way::Applied,
            Some(_) => Way::LookedUp,
            None => Way::Gathered,
        };
        let few = match (&plan.apply, &plan.lookup) {
            (Some(apply), _) => Some(apply.left_rows_max),
            (None, Some(lookup)) => lookup.left_rows_max,
            (None, None) => None,
        };
        let few = match cx.statement.options.joining {
            Joining::Chosen => few,
            Joining::LookedUp => None,
            Joining::Gathered => few.map(|_| 0),
        };
        let inner = (way == Way::Applied).then(|| Box::new(Inner::new(cx)));
        Self {
            plan: Arc::clone(plan),
            left,
            has_left_ended: false,
            batch: RowBuffer::default(),
            right: RightRows::default(),
            reading: None,
            current: None,
            step: Matching::New,
            memory: RowMemory::default(),
            parts: None,
            way,
            few,
            inner,
        }
    }

    /// As [`Operator::pump`].
    pub(crate) fn pump(&mut self, cx: &mut Cx<'_>, sink: &mut dyn RowSink) -> Result<Pump, Failure> {
        let pump = self.pump_pairs(cx, sink)?;
        if pump == Pump::End {
            self.give_up_rows(cx);
        }
        Ok(pump)
    }

    fn pump_pairs(&mut self, cx: &mut Cx<'_>, sink: &mut dyn RowSink) -> Result<Pump, Failure> {
        loop {
            if self.parts.is_some() {
                if self.current.is_none()
                    && let Some(pump) = self.next_of_parts(cx)?
                {
                    return Ok(pump);
                }
            } else if let Some(reading) = &mut self.reading {
                let size_max = self.right.size() + self.memory.uncharged_max();
                let pump = match &mut self.inner {
                    Some(inner) if self.way == Way::Applied => inner
                        .account
                        .within(cx, |cx| gather(reading, &mut self.right, &self.plan, size_max, cx))?,
                    Some(_) | None => gather(reading, &mut self.right, &self.plan, size_max, cx)?,
                };
                match self.pay(cx) {
                    Ok(false) => {}
                    Ok(true) => {
                        self.reading.take_if(|_| pump == Pump::End);
                        self.parts = Parts::new(self, cx);
                        continue;
                    }
                    Err(refused) => {
                        self.give_up_gathering(refused, cx)?;
                        continue;
                    }
                }
                match pump {
                    Pump::End => {
                        self.reading = None;
                        if let Some(inner) = &mut self.inner {
                            inner.account.memory.release_all();
                            if self.way == Way::Applied {
                                inner.remember(&self.right, &mut cx.client.memory);
                            }
                        }
                    }
                    Pump::Rows if cx.env.budget.is_spent() => return Ok(Pump::Spent),
                    Pump::Rows => continue,
                    Pump::Wait => {
                        self.run_ahead(cx);
                        return Ok(pump);
                    }
                    Pump::Spent => return Ok(pump),
                }
            }
            if self.current.is_none() {
                match self.fill(cx)? {
                    Pump::Rows => {}
                    pump @ (Pump::Wait | Pump::Spent | Pump::End) => return Ok(pump),
                }
                if self.way != Way::Applied {
                    self.read_right(cx)?;
                }
                continue;
            }
            match self.walk(cx, sink)? {
                Walk::Full => return Ok(Pump::Rows),
                Walk::Spent => return Ok(Pump::Spent),
                Walk::Gather => {
                    self.step = Matching::Ready;
                    self.gather_for_row(cx)?;
                }
                Walk::Done => {
                    self.end_runs(cx);
                    self.clear_batch();
                }
            }
        }
    }

    /// Nobody wants more rows.
    pub(crate) fn close(&mut self, cx: &mut Cx<'_>) {
        self.left.close(cx);
        if let Some(mut reading) = self.reading.take() {
            match &mut self.inner {
                Some(inner) if self.way == Way::Applied => {
                    inner.account.within(cx, |cx| reading.close(cx));
                }
                Some(_) | None => reading.close(cx),
            }
        }
        self.end_runs(cx);
        self.give_up_rows(cx);
    }

    /// Rows of both sides are of no more use.
    fn give_up_rows(&mut self, cx: &mut Cx<'_>) {
        self.right.give_up_rows();
        (self.batch, self.current, self.parts) = (RowBuffer::default(), None, None);
        self.memory.give_back(cx);
        if let Some(inner) = &mut self.inner {
            inner.forget(&mut cx.client.memory);
        }
    }

    /// Pays for what is held. True if both sides should go into parts.
    pub(crate) fn pay(&mut self, cx: &mut Cx<'_>) -> Result<bool, Failure> {
        let may_divide = self.way == Way::Gathered
            && self.right.is_whole
            && !self.plan.keys.is_empty()
            && self.plan.kind != JoinKind::Single;
        let ahead = self.ahead_size();
        let size = self.batch.size() + self.right.size() + ahead;
        // Batches come and go: their memory is kept.
        match self.memory.pay(size.max(self.memory.charged()), may_divide, cx) {
            Err(_) if ahead > 0 => {
                self.end_ahead(cx);
                self.pay(cx)
            }
            paid => paid,
        }
    }

    /// Goes on with parts until there is a batch whose right rows are in memory. If it has to stop before: why.
    fn next_of_parts(&mut self, cx: &mut Cx<'_>) -> Result<Option<Pump>, Failure> {
        let Some(mut parts) = self.parts.take() else { return Ok(None) };
        let stopped = parts.next_batch(self, cx);
        self.parts = Some(parts);
        stopped
    }

    /// Gathers the next batch: `Rows` if there is one.
    fn fill(&mut self, cx: &mut Cx<'_>) -> Result<Pump, Failure> {
        while !self.has_left_ended {
            let rows_max = cx.statement.options.batch_rows_max;
            let unpaid_max = self.memory.charged() + self.memory.uncharged_max();
            let size_max = BATCH_BYTES.min(unpaid_max.saturating_sub(self.right.size()));
            let pump = self.left.pump(cx, &mut BatchSink { batch: &mut self.batch, rows_max, size_max })?;
            let size = self.batch.size() + self.right.size();
            // Without memory for more, the rows that have come are a batch.
            let is_refused = self.memory.pay(size.max(self.memory.charged()), true, cx)?;
            match pump {
                Pump::Rows if is_refused || is_full(&self.batch, rows_max, BATCH_BYTES) => break,
                Pump::Rows if cx.env.budget.is_spent() => return Ok(Pump::Spent),
                Pump::Rows => {}
                Pump::Wait | Pump::Spent => return Ok(pump),
                Pump::End => self.has_left_ended = true,
            }
        }
        if self.batch.len() == 0 {
            return Ok(Pump::End);
        }
        self.begin_batch();
        Ok(Pump::Rows)
    }

    /// The batch is done. Its memory is kept, unless a large row has made that unusual.
    fn clear_batch(&mut self) {
        self.batch.clear();
        if self.batch.size() > self.memory.uncharged_max() {
            self.batch = RowBuffer::default();
        }
    }

    /// There is a batch of left rows.
    pub(crate) fn begin_batch(&mut self) {
        self.current = Some(RowAt::default());
        self.step = Matching::New;
    }

    /// Begins to read the right rows for a new batch, unless they are there.
    fn read_right(&mut self, cx: &mut Cx<'_>) -> Result<(), Failure> {
        if self.way == Way::LookedUp && !self.is_few(self.batch.len()) {
            self.way = Way::Gathered;
        }
        let source = match (&self.plan.lookup, &self.plan.right) {
            (Some(lookup), Relation::Scan(scan)) if self.way == Way::LookedUp => {
                self.right.clear();
                let source = lookup_source(scan, lookup, &self.batch, cx)?;
                measured(|| StepKey::of(&self.plan.right, Part::Whole), source, cx)
            }
            _ if self.right.is_whole => return Ok(()),
            _ => self.whole_source(cx)?,
        };
        self.reading = Some(Box::new(source));
        Ok(())
    }

    /// All right rows.
    pub(crate) fn whole_source(&mut self, cx: &mut Cx<'_>) -> Result<Operator, Failure> {
        self.right.clear();
        self.right.is_whole = true;
        relation_source(&self.plan.right, &mut None, cx)
    }

    /// Whether with so many more left rows there are still few.
    pub(crate) fn is_few(&mut self, count: usize) -> bool {
        let Some(few) = &mut self.few else { return true };
        let left = few.checked_sub(count as u64);
        *few = left.unwrap_or(0);
        left.is_some()
    }

    /// There is no memory for all right rows: those of few left rows are found, as before.
    fn give_up_gathering(&mut self, refused: Failure, cx: &mut Cx<'_>) -> Result<(), Failure> {
        if self.way != Way::Gathered || self.few.is_none() {
            return Err(refused);
        }
        if let Some(mut reading) = self.reading.take() {
            reading.close(cx);
        }
        self.right = RightRows::default();
        self.memory.pay(self.batch.size(), false, cx)?;
        self.few = None;
        if let Some(inner) = &mut self.inner {
            inner.begin_again();
            (self.way, self.step) = (Way::Applied, Matching::New);
            return Ok(());
        }
        self.way = Way::LookedUp;
        self.read_right(cx)
    }

    /// Tests pairs of the batch and gives what becomes of them.
    fn walk(&mut self, cx: &mut Cx<'_>, sink: &mut dyn RowSink) -> Result<Walk, Failure> {
        let context = cx.statement.context();
        let walked = self.walk_in(&context, cx.env.budget, sink);
        cx.env.budget.spend(context.warnings.take_text_work());
        cx.keep_warnings(warnings_of(&context));
        walked
    }

    fn walk_in(
        &mut self,
        context: &Context<'_>,
        budget: &mut Budget,
        sink: &mut dyn RowSink,
    ) -> Result<Walk, Failure> {
        let plan = &*self.plan;
        let width = plan.left_width + plan.right_width;
        let mut pair: Vec<ValueRef<'_>> = Vec::with_capacity(width + 1);
        while let Some(at) = self.current {
            pair.clear();
            pair.extend(self.batch.values(at));
            let head = self.parts.as_ref().map(|_| Head::of(pair.pop()));
            let (mut next, mut found) = match (&self.step, head) {
                (Matching::Candidates { next, found }, _) => (*next, *found),
                (Matching::New, _) if self.way == Way::Applied => return Ok(Walk::Gather),
                (Matching::New | Matching::Ready, Some(head)) => self.right.first_of(head),
                (Matching::New | Matching::Ready, None) => self.right.first(plan, &pair, context)?,
            };
            loop {
                let is_paused = sink.is_full();
                if is_paused || !budget.spend(1) || context.warnings.is_much_text() {
                    self.step = Matching::Candidates { next, found };
                    return Ok(if is_paused { Walk::Full } else { Walk::Spent });
                }
                let Some(right) = self.right.row(next) else { break };
                pair.truncate(plan.left_width);
                pair.extend(self.right.rows.values(right));
                let truth = match &plan.condition {
                    Some(condition) => truth_of(condition, &pair, plan.kind, context)?,
                    None => Found::Match,
                };
                next = self.right.behind(next);
                match (truth, plan.kind) {
                    (Found::Match, JoinKind::Inner | JoinKind::Left) => sink.row(&[], &[], &pair),
                    // One is enough.
                    (Found::Match, JoinKind::Semi | JoinKind::Anti | JoinKind::Mark) => {
                        next = Candidate::None
                    }
                    _ => {}
                }
                if found != Found::Match && truth != Found::Nothing {
                    found = truth;
                }
            }
            pair.truncate(plan.left_width);
            self.current = self.batch.behind(at);
            self.step = Matching::New;
            if let (Some(parts), Some(head)) = (&mut self.parts, head)
                && parts.is_held(&pair, Head { found, ..head }, plan.kind)
            {
                continue;
            }
            match plan.kind {
                JoinKind::Inner | JoinKind::Semi | JoinKind::Anti => {}
                JoinKind::Left if found == Found::Match => {}
                JoinKind::Left => pair.resize(width, ValueRef::Null),
                JoinKind::Mark => pair.push(found.truth()),
                JoinKind::Single if self.right.rows.len() > 1 => {
                    return Err(Failure::Error(SqlError::new(1242, "Subquery returns more than 1 row")));
                }
                JoinKind::Single => pair.push(match (self.right.rows.len(), &plan.condition) {
                    (0, _) => ValueRef::Null,
                    (_, Some(_)) => found.truth(),
                    (_, None) => self.right.rows.value(RowAt::default(), 0),
                }),
            }
            let is_given = match plan.kind {
                JoinKind::Inner => false,
                JoinKind::Left | JoinKind::Anti => found != Found::Match,
                JoinKind::Semi => found == Found::Match,
                JoinKind::Mark | JoinKind::Single => true,
            };
            if is_given {
                sink.row(&[], &[], &pair);
            }
        }
        Ok(Walk::Done)
    }
}

/// The truth value of a condition for a pair; NULL counts where it is told apart from false.
fn truth_of(
    condition: &Expression,
    pair: &[ValueRef<'_>],
    kind: JoinKind,
    context: &Context<'_>,
) -> Result<Found, Failure> {
    if matches!(kind, JoinKind::Inner | JoinKind::Left | JoinKind::Semi | JoinKind::Anti) {
        let is_true = condition.is_true(&pair, context)?;
        return Ok(if is_true { Found::Match } else { Found::Nothing });
    }
    let value = condition.evaluate(&pair, context)?;
    Ok(if value.is_null() {
        Found::Unknown
    } else if value == Value::Int(0) {
        Found::Nothing
    } else {
        Found::Match
    })
}

/// Reads right rows into their buffer, up to a size.
pub(crate) fn gather(
    source: &mut Operator,
    rows: &mut RightRows,
    plan: &Join,
    size_max: usize,
    cx: &mut Cx<'_>,
) -> Result<Pump, Failure> {
    let context = cx.statement.context();
    let rows_max = plan.rows_max.unwrap_or(usize::MAX);
    let is_set = matches!(plan.kind, JoinKind::Semi | JoinKind::Anti | JoinKind::Mark);
    let keys = &plan.keys;
    let mut sink = RightSink { rows, keys, is_set, context: &context, size_max, rows_max, failure: None };
    let mut pump = source.pump(cx, &mut sink);
    let failure = sink.failure;
    cx.env.budget.spend(context.warnings.take_text_work());
    cx.keep_warnings(warnings_of(&context));
    if rows.rows.len() >= rows_max && matches!(pump, Ok(Pump::Rows)) {
        source.close(cx);
        pump = Ok(Pump::End);
    }
    failure.map_or(pump, Err)
}

/// The rows that a batch of left rows can match.
fn lookup_source(
    scan: &Scan,
    lookup: &Lookup,
    batch: &RowBuffer,
    cx: &mut Cx<'_>,
) -> Result<Operator, Failure> {
    let info = cx.info(&lookup.access.table)?;
    let mut statement = cx.statement.within();
    let (mut keys, mut ranges): (Vec<Box<[u8]>>, Vec<KeyRange>) = (Vec::new(), Vec::new());
    let mut at = Some(RowAt::default());
    while let Some(row) = at {
        for binding in &lookup.bindings {
            statement.bind(binding.parameter, batch.value(row, binding.position).to_value());
        }
        match read_target(&lookup.access.path, &info, &mut cx.within(&statement))? {
            ReadTarget::Direct(Target::Keys(more)) | ReadTarget::ByUnique(_, more) => keys.extend(more),
            ReadTarget::Direct(Target::Ranges(_, more)) => ranges.extend(more),
        }
        at = batch.behind(row);
    }
    keys.sort_unstable();
    keys.dedup();
    let target = match &lookup.access.path {
        AccessPath::Ranges { index, .. } => {
            ReadTarget::Direct(Target::Ranges(*index, crate::access::merged(ranges)))
        }
        AccessPath::UniqueKeys { index, .. } => ReadTarget::ByUnique(*index, keys),
        AccessPath::PrimaryKeys(_) | AccessPath::Empty => ReadTarget::Direct(Target::Keys(keys)),
    };
    let order = order_unasked(&info, &target, cx);
    reader_of(&lookup.access, &[], &scan.columns, &info, (target, order), cx)
}

/// Takes left rows.
struct BatchSink<'a> {
    batch: &'a mut RowBuffer,
    rows_max: usize,
    size_max: usize,
}

impl RowSink for BatchSink<'_> {
    fn row(&mut self, _: &[u8], _: &[u8], values: &[ValueRef<'_>]) {
        self.batch.push(values.iter().copied());
    }

    fn is_full(&self) -> bool {
        is_full(self.batch, self.rows_max, self.size_max)
    }
}

/// A batch of left rows takes no more.
pub(crate) fn is_full(batch: &RowBuffer, rows_max: usize, size_max: usize) -> bool {
    batch.len() >= rows_max || (batch.len() > 0 && batch.size() > size_max)
}

/// Right rows, by hash if there are hash keys. A row with a NULL among its keys equals nothing, and is not kept.
#[derive(Default)]
pub(crate) struct RightRows {
    /// They are all, or will be.
    is_whole: bool,
    /// A row was not kept for a NULL.
    pub(crate) has_null: bool,
    pub(crate) rows: RowBuffer,
    /// With hash keys: where each row is.
    pub(crate) places: Pages<RowAt>,
    pub(crate) entries: HashIndex,
}

impl RightRows {
    /// Bytes that they take.
    pub(crate) fn size(&self) -> usize {
        self.rows.size() + self.places.size() + self.entries.size()
    }

    /// The rows are elsewhere now.
    pub(crate) fn give_up_rows(&mut self) {
        *self = Self { is_whole: self.is_whole, has_null: self.has_null, ..Self::default() };
    }

    pub(crate) fn clear(&mut self) {
        self.is_whole = false;
        self.has_null = false;
        self.rows.clear();
        self.places.clear();
        self.entries.clear();
    }

    /// Whether the first rows of a hash have one with these values: where only the existence of a match counts, such
    /// a row says nothing new.
    pub(crate) fn has(&self, values: &[ValueRef<'_>], hash: u64) -> bool {
        let mut entry = self.entries.first(hash).map_or(Candidate::None, Candidate::Entry);
        for _ in 0..COMPARED_MAX {
            let Some(at) = self.row(entry) else { return false };
            if self.rows.values(at).eq(values.iter().copied()) {
                return true;
            }
            entry = self.behind(entry);
        }
        false
    }

    /// Keeps a row; `hash` is that of its keys, if there are any.
    pub(crate) fn push(&mut self, values: &[ValueRef<'_>], hash: Option<u64>) {
        let at = self.rows.push(values.iter().copied());
        if let Some(hash) = hash {
            self.places.push(at);
            self.entries.push(hash);
        }
    }

    /// Keeps a row by its keys; one with a NULL among them is only noted. Its values are not compared with others.
    pub(crate) fn push_by_keys(
        &mut self,
        values: &[ValueRef<'_>],
        keys: &[HashKey],
        context: &Context<'_>,
    ) -> Result<(), Failure> {
        if keys.is_empty() {
            self.push(values, None);
            return Ok(());
        }
        match hash_of(keys.iter().map(|key| (&key.right, key.form)), values, context)? {
            Some(hash) => self.push(values, Some(hash)),
            None => self.has_null = true,
        }
        Ok(())
    }

    /// The first candidate for a left row, and what is known of rows that are none: beside a NULL they are unknown.
    fn first(
        &self,
        plan: &Join,
        left: &[ValueRef<'_>],
        context: &Context<'_>,
    ) -> Result<(Candidate, Found), Failure> {
        let is_empty = self.rows.len() == 0;
        // The value of the only row is taken as it is, unless the row is compared.
        let is_value = plan.kind == JoinKind::Single && plan.condition.is_none();
        if is_value || (is_empty && !self.has_null) {
            return Ok((Candidate::None, Found::Nothing));
        }
        if plan.keys.is_empty() {
            return Ok((Candidate::Row(RowAt::default()), Found::Nothing));
        }
        let hash = hash_of(plan.keys.iter().map(|key| (&key.left, key.form)), left, context)?;
        let is_unknown = self.has_null || hash.is_none();
        let first = hash.and_then(|hash| self.entries.first(hash));
        let candidate = first.map_or(Candidate::None, Candidate::Entry);
        Ok((candidate, if is_unknown { Found::Unknown } else { Found::Nothing }))
    }

    /// The same for a left row of a part. Another part or block has rows, or one was not kept for a NULL.
    fn first_of(&self, head: Head) -> (Candidate, Found) {
        let is_unknown = self.has_null || head.hash.is_none();
        let first = head.hash.and_then(|hash| self.entries.first(hash.into()));
        let candidate = first.map_or(Candidate::None, Candidate::Entry);
        let found = match head.found {
            Found::Nothing if is_unknown => Found::Unknown,
            Found::Nothing | Found::Unknown | Found::Match => head.found,
        };
        (candidate, found)
    }

    fn row(&self, candidate: Candidate) -> Option<RowAt> {
        match candidate {
            Candidate::Row(at) => Some(at),
            Candidate::Entry(number) => Some(*self.places.get(number as usize)),
            Candidate::None => None,
        }
    }

    fn behind(&self, candidate: Candidate) -> Candidate {
        match candidate {
            Candidate::Row(at) => self.rows.behind(at).map_or(Candidate::None, Candidate::Row),
            Candidate::Entry(number) => self.entries.next(number).map_or(Candidate::None, Candidate::Entry),
            Candidate::None => Candidate::None,
        }
    }
}

/// Takes right rows.
struct RightSink<'a> {
    rows: &'a mut RightRows,
    keys: &'a [HashKey],
    /// Equal rows count once.
    is_set: bool,
    context: &'a Context<'a>,
    size_max: usize,
    rows_max: usize,
    failure: Option<Failure>,
}

impl RowSink for RightSink<'_> {
    fn row(&mut self, _: &[u8], _: &[u8], values: &[ValueRef<'_>]) {
        if self.failure.is_some() {
            return;
        }
        if self.keys.is_empty() {
            return self.rows.push(values, None);
        }
        match hash_of(self.keys.iter().map(|key| (&key.right, key.form)), values, self.context) {
            Ok(Some(hash)) if self.is_set && self.rows.has(values, hash) => {}
            Ok(Some(hash)) => self.rows.push(values, Some(hash)),
            Ok(None) => self.rows.has_null = true,
            Err(failure) => self.failure = Some(failure),
        }
    }

    fn is_full(&self) -> bool {
        self.failure.is_some()
            || self.context.warnings.is_much_text()
            || self.rows.size() > self.size_max
            || self.rows.rows.len() >= self.rows_max
    }
}

/// The hash of the keys of one side; None if one of them is NULL.
pub(crate) fn hash_of<'k>(
    keys: impl Iterator<Item = (&'k Expression, HashForm)>,
    row: &[ValueRef<'_>],
    context: &Context<'_>,
) -> Result<Option<u64>, Failure> {
    let mut hash = 0_u64;
    for (expression, form) in keys {
        let value = match expression.as_column() {
            Some(slot) => row.get(slot.index()).map_or(Value::Null, |value| value.to_value()),
            None => expression.evaluate(&row, context)?,
        };
        if value.is_null() {
            return Ok(None);
        }
        hash = (hash.rotate_left(5) ^ hash_in(form, &value)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    Ok(Some(hash))
}

/// A hash under which values that are equal in this form hash equal, whatever kinds of numbers they are.
fn hash_in(form: HashForm, value: &Value) -> u64 {
    const INTEGER: SqlType = SqlType::Integer { width: IntegerWidth::Big, unsigned: false };
    match (form, value) {
        (HashForm::Exact, Value::Int(number)) => hash_decimal(Decimal::from(*number)),
        (HashForm::Exact, Value::UInt(number)) => hash_decimal(Decimal::from(*number)),
        #[expect(clippy::cast_precision_loss, reason = "as numbers beside a double are compared")]
        (HashForm::Double, Value::Int(number)) => hash_double(*number as f64),
        #[expect(clippy::cast_precision_loss, reason = "as numbers beside a double are compared")]
        (HashForm::Double, Value::UInt(number)) => hash_double(*number as f64),
        (HashForm::Double, Value::Decimal(decimal)) => hash_double(decimal.to_f64()),
        (HashForm::Text(collation), Value::Bytes(text)) => collation.hash(text),
        (_, value) => hash_value(&value.as_ref(), &INTEGER),
    }
}

fn hash_decimal(decimal: Decimal) -> u64 {
    hash_value(&ValueRef::Decimal(decimal.as_decimal_ref()), &SqlType::Null)
}

fn hash_double(number: f64) -> u64 {
    hash_value(&ValueRef::Double(number), &SqlType::Double)
}
