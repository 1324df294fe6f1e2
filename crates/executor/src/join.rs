//! Joins: left rows in batches, and for each batch the right rows that can match it.
//!
//! ```text
//! left --up to BATCH_ROWS rows--> batch --keys of the batch--> right rows (a lookup)    --> pairs --> sink
//!                                   \--- the first batch ----> right rows (once for all) -/
//! ```
//! Right rows lie in a buffer, by hash where the plan has hash keys. The batch is walked with an explicit position: row
//! by row, and for each its candidates among the right rows. So the join stops between any two pairs. The condition
//! is tested on every candidate.
//!
//! Invariants: the order of left rows is kept, and for each that of the right rows; memory that is held is charged.
//!
//! Deliberately not here: which way is taken. The plan says.

use crate::cx::{Cx, warnings_of};
use crate::outcome::Failure;
use crate::row::UNCHARGED_MAX;
use crate::row_buffer::{RowAt, RowBuffer};
use crate::select::{Operator, ReadTarget, read_target, reader_of, relation_source};
use crate::table_reader::{Pump, Target};
use expression::{Context, Expression, hash_value};
use planner::plan::{AccessPath, HashForm, HashKey, Join, JoinKind, Lookup, Relation, Scan};
use protocol::Budget;
use protocol::program::KeyRange;
use query::RowSink;
use std::sync::Arc;
use stdx::FixedMap;
use types::{Decimal, IntegerWidth, SqlType, Value, ValueRef};

/// Left rows that are matched together.
const BATCH_ROWS: usize = 256;
/// The same, if they are large.
const BATCH_BYTES: usize = 1 << 20;

/// A join that runs.
pub struct JoinRun {
    plan: Arc<Join>,
    left: Operator,
    has_left_ended: bool,
    batch: RowBuffer,
    right: RightRows,
    /// The source of right rows, while it gives them.
    reading: Option<Box<Operator>>,
    /// The left row that is matched; None: a new batch is wanted.
    current: Option<RowAt>,
    step: Matching,
    charged: usize,
}

/// How far a left row is.
enum Matching {
    /// Its candidates are not looked for.
    New,
    /// The next candidate, and whether one before has matched.
    Candidates { next: Candidate, has_matched: bool },
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
    Done,
}

impl JoinRun {
    /// Begins with the left side.
    pub(crate) fn new(plan: &Arc<Join>, cx: &mut Cx<'_>) -> Result<Self, Failure> {
        Ok(Self {
            plan: Arc::clone(plan),
            left: relation_source(&plan.left, cx)?,
            has_left_ended: false,
            batch: RowBuffer::default(),
            right: RightRows::default(),
            reading: None,
            current: None,
            step: Matching::New,
            charged: 0,
        })
    }

    /// As [`Operator::pump`].
    pub(crate) fn pump(&mut self, cx: &mut Cx<'_>, sink: &mut dyn RowSink) -> Result<Pump, Failure> {
        loop {
            if let Some(reading) = &mut self.reading {
                let pump = gather(reading, &mut self.right, &self.plan.keys, cx)?;
                self.settle(cx)?;
                match pump {
                    Pump::End => self.reading = None,
                    Pump::Rows if cx.env.budget.is_spent() => return Ok(Pump::Spent),
                    Pump::Rows => continue,
                    Pump::Wait | Pump::Spent => return Ok(pump),
                }
            }
            if self.current.is_none() {
                match self.fill(cx)? {
                    Pump::Rows => {}
                    pump @ (Pump::Wait | Pump::Spent | Pump::End) => return Ok(pump),
                }
                self.read_right(cx)?;
                continue;
            }
            match self.walk(cx, sink)? {
                Walk::Full => return Ok(Pump::Rows),
                Walk::Spent => return Ok(Pump::Spent),
                Walk::Done => self.batch.clear(),
            }
        }
    }

    /// Nobody wants more rows.
    pub(crate) fn close(&mut self, cx: &mut Cx<'_>) {
        self.left.close(cx);
        if let Some(reading) = &mut self.reading {
            reading.close(cx);
        }
    }

    /// Pays for what is held.
    fn settle(&mut self, cx: &mut Cx<'_>) -> Result<(), Failure> {
        let size = self.batch.size() + self.right.size();
        cx.client.memory.charge(size.saturating_sub(self.charged))?;
        self.charged = self.charged.max(size);
        Ok(())
    }

    /// Gathers the next batch: `Rows` if there is one.
    fn fill(&mut self, cx: &mut Cx<'_>) -> Result<Pump, Failure> {
        while !self.has_left_ended {
            let pump = self.left.pump(cx, &mut BatchSink(&mut self.batch))?;
            self.settle(cx)?;
            match pump {
                Pump::Rows if BatchSink(&mut self.batch).is_full() => break,
                Pump::Rows if cx.env.budget.is_spent() => return Ok(Pump::Spent),
                Pump::Rows => {}
                Pump::Wait | Pump::Spent => return Ok(pump),
                Pump::End => self.has_left_ended = true,
            }
        }
        if self.batch.len() == 0 {
            return Ok(Pump::End);
        }
        self.current = Some(RowAt::default());
        self.step = Matching::New;
        Ok(Pump::Rows)
    }

    /// Begins to read the right rows for a new batch, unless they are there.
    fn read_right(&mut self, cx: &mut Cx<'_>) -> Result<(), Failure> {
        let source = match (&self.plan.lookup, &self.plan.right) {
            (Some(lookup), Relation::Scan(scan)) => {
                self.right.clear();
                lookup_source(scan, lookup, &self.batch, cx)?
            }
            _ if self.right.is_gathered => return Ok(()),
            _ => relation_source(&self.plan.right, cx)?,
        };
        self.right.is_gathered = true;
        self.reading = Some(Box::new(source));
        Ok(())
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
        let mut pair: Vec<ValueRef<'_>> = Vec::with_capacity(width);
        while let Some(at) = self.current {
            pair.clear();
            pair.extend(self.batch.values(at));
            let (mut next, mut has_matched) = match self.step {
                Matching::New => (self.right.first(&plan.keys, &pair, context)?, false),
                Matching::Candidates { next, has_matched } => (next, has_matched),
            };
            while let Some(right) = self.right.row(next) {
                let is_paused = sink.is_full();
                if is_paused || !budget.spend(1) || context.warnings.is_much_text() {
                    self.step = Matching::Candidates { next, has_matched };
                    return Ok(if is_paused { Walk::Full } else { Walk::Spent });
                }
                pair.truncate(plan.left_width);
                pair.extend(self.right.rows.values(right));
                let is_match = match &plan.condition {
                    Some(condition) => condition.is_true(&pair.as_slice(), context)?,
                    None => true,
                };
                next = self.right.behind(next);
                if is_match {
                    has_matched = true;
                    sink.row(&[], &[], &pair);
                }
            }
            let is_paused = sink.is_full();
            if is_paused || !budget.spend(1) {
                self.step = Matching::Candidates { next, has_matched };
                return Ok(if is_paused { Walk::Full } else { Walk::Spent });
            }
            if plan.kind == JoinKind::Left && !has_matched {
                pair.truncate(plan.left_width);
                pair.resize(width, ValueRef::Null);
                sink.row(&[], &[], &pair);
            }
            self.current = self.batch.behind(at);
            self.step = Matching::New;
        }
        Ok(Walk::Done)
    }
}

/// Reads right rows into their buffer, as far as they are paid for.
fn gather(
    source: &mut Operator,
    rows: &mut RightRows,
    keys: &[HashKey],
    cx: &mut Cx<'_>,
) -> Result<Pump, Failure> {
    let context = cx.statement.context();
    let size_max = rows.size() + UNCHARGED_MAX;
    let mut sink = RightSink { rows, keys, context: &context, size_max, failure: None };
    let pump = source.pump(cx, &mut sink);
    let failure = sink.failure;
    cx.env.budget.spend(context.warnings.take_text_work());
    cx.keep_warnings(warnings_of(&context));
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
    reader_of(&lookup.access, &scan.columns, &info, target, cx)
}

/// Takes left rows.
struct BatchSink<'a>(&'a mut RowBuffer);

impl RowSink for BatchSink<'_> {
    fn row(&mut self, _: &[u8], _: &[u8], values: &[ValueRef<'_>]) {
        self.0.push(values.iter().copied());
    }

    fn is_full(&self) -> bool {
        self.0.len() >= BATCH_ROWS || (self.0.len() > 0 && self.0.size() >= BATCH_BYTES)
    }
}

/// Right rows, by hash if there are hash keys. A row with a NULL among its keys equals nothing, and is not kept.
#[derive(Default)]
struct RightRows {
    is_gathered: bool,
    rows: RowBuffer,
    entries: Vec<Entry>,
    /// The first and the last entry of each hash.
    by_hash: FixedMap<u64, (u32, u32)>,
}

/// A row with its hash.
struct Entry {
    at: RowAt,
    /// The next one with the same hash.
    next: Candidate,
}

impl RightRows {
    fn size(&self) -> usize {
        self.rows.size()
            + self.entries.capacity() * size_of::<Entry>()
            + self.by_hash.capacity() * (size_of::<(u64, (u32, u32))>() + 1)
    }

    fn clear(&mut self) {
        self.rows.clear();
        self.entries.clear();
        self.by_hash.clear();
    }

    /// Keeps a row; `hash` is that of its keys, if there are any.
    fn push(&mut self, values: &[ValueRef<'_>], hash: Option<u64>) {
        let at = self.rows.push(values.iter().copied());
        let Some(hash) = hash else { return };
        let number = u32::try_from(self.entries.len()).unwrap_or(u32::MAX);
        stdx::require!(number < u32::MAX, "fewer right rows than numbers of them");
        self.entries.push(Entry { at, next: Candidate::None });
        let (_, last) = self.by_hash.entry(hash).or_insert((number, number));
        if *last != number {
            self.entries[*last as usize].next = Candidate::Entry(number);
            *last = number;
        }
    }

    /// The first candidate for a left row.
    fn first(
        &self,
        keys: &[HashKey],
        left: &[ValueRef<'_>],
        context: &Context<'_>,
    ) -> Result<Candidate, Failure> {
        if self.rows.len() == 0 {
            return Ok(Candidate::None);
        }
        if keys.is_empty() {
            return Ok(Candidate::Row(RowAt::default()));
        }
        let hash = hash_of(keys.iter().map(|key| (&key.left, key.form)), left, context)?;
        let first = hash.and_then(|hash| self.by_hash.get(&hash));
        Ok(first.map_or(Candidate::None, |(first, _)| Candidate::Entry(*first)))
    }

    fn row(&self, candidate: Candidate) -> Option<RowAt> {
        match candidate {
            Candidate::Row(at) => Some(at),
            Candidate::Entry(number) => Some(self.entries[number as usize].at),
            Candidate::None => None,
        }
    }

    fn behind(&self, candidate: Candidate) -> Candidate {
        match candidate {
            Candidate::Row(at) => self.rows.behind(at).map_or(Candidate::None, Candidate::Row),
            Candidate::Entry(number) => self.entries[number as usize].next,
            Candidate::None => Candidate::None,
        }
    }
}

/// Takes right rows.
struct RightSink<'a> {
    rows: &'a mut RightRows,
    keys: &'a [HashKey],
    context: &'a Context<'a>,
    size_max: usize,
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
            Ok(Some(hash)) => self.rows.push(values, Some(hash)),
            Ok(None) => {}
            Err(failure) => self.failure = Some(failure),
        }
    }

    fn is_full(&self) -> bool {
        self.failure.is_some() || self.context.warnings.is_much_text() || self.rows.size() > self.size_max
    }
}

/// The hash of the keys of one side; None if one of them is NULL.
fn hash_of<'k>(
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
