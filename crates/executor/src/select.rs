//! SELECT: a tree of operators over a table, a virtual table or nothing, and the writing of its rows.
//!
//! ```text
//! table reader (filter, projection or partial aggregates done where the rows are)
//!   -> merge of groups -> ROLLUP -> HAVING -> projection   (only with a grouping)
//!   -> window functions -> projection                      (only with these)
//!   -> DISTINCT -> sort                                    (as needed; if all items are sorted by, the sort does both)
//!   -> LIMIT and OFFSET while writing
//! ```
//! An operator is pumped: it gives rows to the sink of the one behind it, borrowed, for as long as that takes them. So
//! a row is copied only where it is kept, and a table reader without anything behind it writes rows straight from
//! storage into the connection's send buffer.
//!
//! Invariant: nothing is sent before the first row or the end is known, so an early error is a plain error packet.
#![expect(clippy::wildcard_enum_match_arm, reason = "LIMIT takes whole numbers, nothing else")]

mod derived;
mod locked;
mod measured;
mod rollup;
mod set;
mod values;
mod window;
mod with;

pub(crate) use derived::DerivedRun;
pub(crate) use measured::measured;
pub use with::lend;

use self::locked::LockedRun;
use self::measured::Measured;
use self::rollup::RollupRun;
use self::set::SetRun;
use self::values::ValuesRun;
use self::window::WindowRun;
use self::with::{CommonRun, WithRun};
use crate::access;
use crate::cx::{Cx, warnings_of};
use crate::distinct::Distinct;
use crate::grouping::{AllGroups, GroupRows, GroupSink, Groups, Incoming};
use crate::held::Held;
use crate::join::JoinRun;
use crate::locked_reader::{Candidates, LockedReader};
use crate::outcome::{Failure, Pull};
use crate::row::Row;
use crate::row::borrowed;
use crate::sort::{Merged, Sorted, Sorter};
use crate::statement::Statement;
use crate::table_reader::{Order, Pump, TableReader, Target};
use crate::unique_reader::UniqueReader;
use expression::aggregate::AggregateCall;
use expression::{Columns, Context, Expression, NoColumns};
use planner::explain::{Part, StepKey};
use planner::plan::{
    AccessPath, Equals, Evaluation, Grouping, Narrow, Relation, ScanDirection, SelectPlan, SortColumn,
    SortKey, Source, TableAccess,
};
use protocol::SqlError;
use protocol::program::{KeyRange, LockMode, LockWait, ROW_SIZE_MAX, ReadOutput};
use query::{RowSink, TableAccessInfo, are_wide, give_row, with_evaluated};
use std::sync::Arc;
use storage::Reader;
use types::{ColumnIndex, IndexId, KeyEncoder, Value, ValueRef};

/// A source of rows that are not of stored tables; only its owner knows how they are made.
pub trait RowSource: Send {
    /// The next rows.
    fn next(&mut self, cx: &mut Cx<'_>) -> Result<Pull, Failure>;
}

/// A node of the tree.
pub enum Operator {
    /// Rows that are there.
    Rows(std::vec::IntoIter<Row>),
    Table(TableReader),
    Unique(Box<UniqueReader>),
    Locked(Box<LockedReader>),
    /// Rows that are made when they are read: of virtual tables and of SHOW.
    Made(Box<dyn RowSource>),
    /// Filter and projection of a statement with volatile functions.
    Held(Box<Held>),
    Join(Box<JoinRun>),
    Derived(Box<DerivedRun>),
    Set(Box<SetRun>),
    With(Box<WithRun>),
    Common(CommonRun),
    Window(Box<WindowRun>),
    Values(ValuesRun),
    Measured(Box<Measured>),
    /// Rows of a query that locks.
    LockedRows(Box<LockedRun>),
    Filter {
        input: Box<Operator>,
        condition: Expression,
    },
    Project {
        input: Box<Operator>,
        expressions: Vec<Expression>,
    },
    /// `is_partial`: rows are partial aggregates.
    Group {
        input: Box<Operator>,
        groups: Option<Groups>,
        grouping: Grouping,
        is_partial: bool,
        has_ended: bool,
    },
    /// All rows of the groups have come.
    Groups(AllGroups),
    Rollup(Box<RollupRun>),
    Distinct {
        input: Box<Operator>,
        distinct: Distinct,
        has_ended: bool,
    },
    Sort {
        input: Box<Operator>,
        sorter: Sorter,
    },
    /// All rows have come.
    Sorting(Sorter),
    Sorted(Sorted),
    /// The same, from scratch.
    Merged(Box<Merged>),
}

impl Operator {
    /// Rows that are there.
    pub fn rows(rows: Vec<Row>) -> Self {
        Operator::Rows(rows.into_iter())
    }

    /// Gives rows to `sink` until it is full, an answer must come, the budget is spent, or there are no more.
    pub fn pump(&mut self, cx: &mut Cx<'_>, sink: &mut dyn RowSink) -> Result<Pump, Failure> {
        match self {
            Operator::Rows(rows) => {
                while !sink.is_full() {
                    let Some(row) = rows.next() else { return Ok(Pump::End) };
                    give(&row, sink);
                    if !cx.env.budget.spend(1) {
                        return Ok(Pump::Spent);
                    }
                }
                Ok(Pump::Rows)
            }
            Operator::Table(reader) => reader.pump(cx, sink),
            Operator::Unique(reader) => reader.pump(cx, sink),
            Operator::Locked(reader) => Ok(given(reader.next(cx)?, sink)),
            Operator::Made(source) => Ok(given(source.next(cx)?, sink)),
            Operator::Held(held) => held.pump(cx, sink),
            Operator::Join(join) => join.pump(cx, sink),
            Operator::Derived(derived) => derived.pump(cx, sink),
            Operator::Set(set) => set.pump(cx, sink),
            Operator::With(with) => with.pump(cx, sink),
            Operator::Common(common) => common.pump(cx, sink),
            Operator::Window(window) => window.pump(cx, sink),
            Operator::Values(values) => values.pump(cx, sink),
            Operator::Measured(measured) => measured.pump(cx, sink),
            Operator::LockedRows(locked) => locked.pump(cx, sink),
            Operator::Rollup(rollup) => rollup.pump(cx, sink),
            Operator::Filter { input, condition } => {
                let context = cx.statement.context();
                let mut filter = FilterSink { condition, context: &context, sink, failure: None };
                let pump = input.pump(cx, &mut filter);
                let failure = filter.failure;
                cx.env.budget.spend(context.warnings.take_text_work());
                cx.keep_warnings(warnings_of(&context));
                failure.map_or(pump.map(|pump| rested(pump, cx)), Err)
            }
            Operator::Project { input, expressions } => {
                let context = cx.statement.context();
                let are_columns = expressions.iter().all(|expression| expression.as_column().is_some());
                let mut project =
                    ProjectSink { expressions, are_columns, context: &context, sink, failure: None };
                let pump = input.pump(cx, &mut project);
                let failure = project.failure;
                cx.env.budget.spend(context.warnings.take_text_work());
                cx.keep_warnings(warnings_of(&context));
                failure.map_or(pump.map(|pump| rested(pump, cx)), Err)
            }
            Operator::Group { .. } => self.pump_groups(cx, sink),
            Operator::Groups(groups) => groups.pump(cx, sink),
            Operator::Distinct { .. } => self.pump_distinct(cx, sink),
            Operator::Sort { input, sorter } => loop {
                if let Some(pump) = sorter.pay(cx)? {
                    return Ok(pump);
                }
                match input.pump(cx, sorter)? {
                    Pump::Rows if cx.env.budget.is_spent() => return Ok(Pump::Spent),
                    Pump::Rows => {}
                    pump @ (Pump::Wait | Pump::Spent) => return Ok(pump),
                    Pump::End => {
                        let sorter = std::mem::replace(sorter, Sorter::new(Vec::new(), Equals::Kept, None));
                        *self = Operator::Sorting(sorter);
                        return self.pump(cx, sink);
                    }
                }
            },
            Operator::Sorting(sorter) if sorter.has_spilled() => match sorter.merge(cx)? {
                Ok(merged) => {
                    *self = Operator::Merged(Box::new(merged));
                    self.pump(cx, sink)
                }
                Err(pump) => Ok(pump),
            },
            Operator::Sorting(sorter) => {
                let Some(sorted) = sorter.finish(cx)? else { return Ok(Pump::Spent) };
                *self = Operator::Sorted(sorted);
                self.pump(cx, sink)
            }
            Operator::Sorted(sorted) => Ok(sorted.give(cx, sink)),
            Operator::Merged(merged) => merged.give(cx, sink),
        }
    }

    fn pump_distinct(&mut self, cx: &mut Cx<'_>, sink: &mut dyn RowSink) -> Result<Pump, Failure> {
        let Operator::Distinct { input, distinct, has_ended } = self else { return Ok(Pump::End) };
        if !*has_ended {
            if let Some(pump) = distinct.pay(cx)? {
                return Ok(pump);
            }
            match input.pump(cx, &mut distinct.before(sink))? {
                Pump::End => *has_ended = true,
                pump @ (Pump::Rows | Pump::Wait | Pump::Spent) => return Ok(rested(pump, cx)),
            }
            if let Some(column) = distinct.lost_order() {
                let sorter = Sorter::new(vec![column], Equals::Kept, None).spilling(cx.env.site);
                let rest = std::mem::replace(self, Operator::rows(Vec::new()));
                *self = Operator::Sort { input: Box::new(rest), sorter };
                return self.pump(cx, sink);
            }
        }
        distinct.give_rest(cx, sink)
    }

    fn pump_groups(&mut self, cx: &mut Cx<'_>, sink: &mut dyn RowSink) -> Result<Pump, Failure> {
        let Operator::Group { input, groups, grouping, is_partial, has_ended } = self else {
            return Ok(Pump::End);
        };
        while let Some(running) = groups {
            if let Some(pump) = running.pay(cx)? {
                return Ok(pump);
            }
            if *has_ended {
                let rows = match grouping.rolled_up {
                    Some(_) => GroupRows::Partials,
                    None => GroupRows::Results,
                };
                let all = match AllGroups::of(groups, rows, cx)? {
                    Ok(all) => Operator::Groups(all),
                    Err(pump) => return Ok(pump),
                };
                *self = match rows {
                    GroupRows::Partials => {
                        Operator::Rollup(Box::new(RollupRun::new(grouping, all, cx.env.site)))
                    }
                    GroupRows::Results => all,
                };
                return self.pump(cx, sink);
            }
            let context = cx.statement.context();
            let incoming = if *is_partial {
                Incoming::Partial
            } else {
                Incoming::Rows { group_by: &grouping.group_by, context: &context }
            };
            let mut group = GroupSink { groups: running, incoming, failure: None };
            let pump = input.pump(cx, &mut group);
            if let Some(failure) = group.failure {
                return Err(failure);
            }
            let pump = pump?;
            cx.env.budget.spend(context.warnings.take_text_work());
            cx.keep_warnings(warnings_of(&context));
            match pump {
                Pump::Rows if cx.env.budget.is_spent() => return Ok(Pump::Spent),
                Pump::Rows => {}
                Pump::Wait | Pump::Spent => return Ok(pump),
                Pump::End => *has_ended = true,
            }
        }
        Ok(Pump::End)
    }

    /// Nobody wants more rows.
    pub fn close(&mut self, cx: &mut Cx<'_>) {
        match self {
            Operator::Rows(_)
            | Operator::Made(_)
            | Operator::Common(_)
            | Operator::Values(_)
            | Operator::LockedRows(_)
            | Operator::Locked(_) => {}
            Operator::Sorting(sorter) => sorter.close(cx),
            Operator::Sorted(sorted) => sorted.close(cx),
            Operator::Merged(merged) => merged.close(cx),
            Operator::Groups(groups) => groups.close(cx),
            Operator::Rollup(rollup) => rollup.close(cx),
            Operator::Table(reader) => reader.close(cx),
            Operator::Unique(reader) => reader.close(cx),
            Operator::Held(held) => held.close(cx),
            Operator::Join(join) => join.close(cx),
            Operator::Derived(derived) => derived.close(cx),
            Operator::Set(set) => set.close(cx),
            Operator::With(with) => with.close(cx),
            Operator::Window(window) => window.close(cx),
            Operator::Measured(measured) => measured.close(cx),
            Operator::Filter { input, .. } | Operator::Project { input, .. } => input.close(cx),
            Operator::Group { input, groups, .. } => {
                input.close(cx);
                if let Some(groups) = groups {
                    groups.close(cx);
                }
            }
            Operator::Distinct { input, distinct, .. } => {
                input.close(cx);
                distinct.close(cx);
            }
            Operator::Sort { input, sorter } => {
                input.close(cx);
                sorter.close(cx);
            }
        }
    }
}

/// Gives a row to a sink.
pub fn give(row: &[Value], sink: &mut dyn RowSink) {
    let values: Vec<ValueRef<'_>> = borrowed(row).collect();
    sink.row(&[], &[], &values);
}

/// Gives a batch to a sink.
fn given(pull: Pull, sink: &mut dyn RowSink) -> Pump {
    match pull {
        Pull::Batch(rows) => {
            rows.iter().for_each(|row| give(row, sink));
            Pump::Rows
        }
        Pull::Wait => Pump::Wait,
        Pull::Spent => Pump::Spent,
        Pull::End => Pump::End,
    }
}

/// Gives on the rows for which a condition is true, until it can't be evaluated.
struct FilterSink<'a> {
    condition: &'a Expression,
    context: &'a Context<'a>,
    sink: &'a mut dyn RowSink,
    failure: Option<Failure>,
}

impl RowSink for FilterSink<'_> {
    fn row(&mut self, primary_key: &[u8], index_key: &[u8], values: &[ValueRef<'_>]) {
        if self.failure.is_some() {
            return;
        }
        match self.condition.is_true(&values, self.context) {
            Ok(true) => self.sink.row(primary_key, index_key, values),
            Ok(false) => {}
            Err(error) => self.failure = Some(error.into()),
        }
    }

    fn is_full(&self) -> bool {
        self.failure.is_some() || self.context.warnings.is_much_text() || self.sink.is_full()
    }
}

/// Gives on the values of expressions, until one can't be evaluated.
struct ProjectSink<'a> {
    expressions: &'a [Expression],
    /// None of them computes anything.
    are_columns: bool,
    context: &'a Context<'a>,
    sink: &'a mut dyn RowSink,
    failure: Option<Failure>,
}

impl<'a> RowSink for ProjectSink<'a> {
    fn row(&mut self, _: &[u8], _: &[u8], values: &[ValueRef<'_>]) {
        if self.failure.is_some() {
            return;
        }
        if self.are_columns {
            let shown = self.expressions.iter().filter_map(Expression::as_column);
            let shown = shown.map(|slot| values.get(slot.index()).copied().unwrap_or(ValueRef::Null));
            return give_row(self.sink, (&[], &[]), self.expressions.len(), shown);
        }
        let shown =
            |expression: &'a Expression| Ok::<_, Failure>(expression.evaluate_ref(&values, self.context)?);
        let given = with_evaluated(self.expressions.len(), self.expressions.iter().map(shown), |shown| {
            self.sink.row(&[], &[], shown);
            Ok(())
        });
        self.failure = given.err();
    }

    fn is_full(&self) -> bool {
        self.failure.is_some() || self.context.warnings.is_much_text() || self.sink.is_full()
    }
}

/// The word of a pump whose expressions have used up the slice.
fn rested(pump: Pump, cx: &Cx<'_>) -> Pump {
    if pump == Pump::Rows && cx.env.budget.is_spent() { Pump::Spent } else { pump }
}

/// A row's values. Each may be as large as a function makes it, so they are weighed as they are made.
pub(crate) fn projected(
    expressions: &[Expression],
    values: &dyn Columns,
    context: &Context<'_>,
) -> Result<Row, Failure> {
    let mut row = Row::with_capacity(expressions.len());
    let mut size = 0;
    for expression in expressions {
        let value = expression.evaluate(values, context)?;
        if let Value::Bytes(bytes) = &value {
            size += bytes.len();
            if size > ROW_SIZE_MAX {
                return Err(Failure::Error(SqlError::packet_too_large()));
            }
        }
        row.push(value);
    }
    Ok(row)
}

/// LIMIT and OFFSET of this execution.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    pub skip: u64,
    pub count: u64,
}

impl Window {
    /// Evaluates the clauses.
    pub fn of(limit: &planner::plan::Limit, unlimited: u64, statement: &Statement) -> Result<Self, Failure> {
        if limit.offset.is_none() && limit.count.is_none() {
            return Ok(Self { skip: 0, count: unlimited });
        }
        let context = statement.context();
        let evaluate = |expression: &Option<Expression>, missing: u64| -> Result<u64, Failure> {
            let Some(expression) = expression else { return Ok(missing) };
            match whole_number(expression.evaluate(&NoColumns, &context)?) {
                Some(number) => Ok(number),
                None => Err(Failure::Error(SqlError::new(1210, "Incorrect arguments to LIMIT"))),
            }
        };
        Ok(Self { skip: evaluate(&limit.offset, 0)?, count: evaluate(&limit.count, unlimited)? })
    }

    /// Rows of use; None: all.
    pub(crate) fn useful(self) -> Option<u64> {
        (self.count != u64::MAX).then(|| self.skip.saturating_add(self.count))
    }
}

/// A number of rows. Drivers send it as what their language has: JavaScript's numbers are DOUBLEs, or strings.
fn whole_number(value: Value) -> Option<u64> {
    /// Above this a DOUBLE may be another number than was meant.
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Int(number) => u64::try_from(number).ok(),
        Value::UInt(number) => Some(number),
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is whole and in range"
        )]
        Value::Double(number) if number.fract() == 0.0 && (0.0..=EXACT_MAX).contains(&number) => {
            Some(number as u64)
        }
        Value::Bytes(digits) if digits.iter().all(u8::is_ascii_digit) => {
            std::str::from_utf8(&digits).ok()?.parse().ok()
        }
        _ => None,
    }
}

/// A SELECT that runs.
pub struct SelectRun {
    root: Operator,
    /// LIMIT and OFFSET are for who takes the rows.
    pub window: Window,
    /// Rows outside of the window are counted, too.
    pub counts_found: bool,
}

impl SelectRun {
    /// Builds the tree.
    pub fn new(plan: &SelectPlan, cx: &mut Cx<'_>) -> Result<Self, Failure> {
        let window = Window::of(&plan.limit, cx.statement.options.select_limit, cx.statement)?;
        Self::within(plan, window, cx)
    }

    /// The same for a query in a query, or in another statement: sql_select_limit is not for it.
    pub fn inner(plan: &SelectPlan, cx: &mut Cx<'_>) -> Result<Self, Failure> {
        let window = Window::of(&plan.limit, u64::MAX, cx.statement)?;
        Self::within(plan, window, cx)
    }

    fn within(plan: &SelectPlan, window: Window, cx: &mut Cx<'_>) -> Result<Self, Failure> {
        let all = Window { skip: 0, count: u64::MAX };
        let needed = if plan.counts_found { all } else { window };
        let root = source_of(plan, needed, cx)?;
        let mut root = measured(|| StepKey::of(plan, Part::Grouped), root, cx);
        for step in plan.windows.iter().flat_map(|windows| &windows.steps) {
            root = Operator::Window(Box::new(WindowRun::new(step, root, cx)?));
            root = measured(|| StepKey::of(step, Part::Whole), root, cx);
        }
        if let Some(shown) = &plan.steps.windowed {
            root = selected(plan.steps.evaluation, root, Vec::new(), shown);
        }
        if let Some(types) = &plan.steps.distinct {
            let distinct = match plan.order_by_index {
                Some(_) => Distinct::in_order(types.clone()),
                None => Distinct::new(types.clone()),
            };
            root = Operator::Distinct { input: Box::new(root), distinct, has_ended: false };
            root = measured(|| StepKey::of(plan, Part::Distinct), root, cx);
        }
        if let Some(sort) = &plan.steps.sort {
            let sorter = Sorter::new(sort.columns.clone(), sort.equals, needed.useful());
            let sorter = sorter.spilling(cx.env.site);
            root = Operator::Sort { input: Box::new(root), sorter };
            root = measured(|| StepKey::of(plan, Part::Whole), root, cx);
        }
        if let Some(items) = &plan.steps.deferred {
            root = selected(plan.steps.evaluation, root, Vec::new(), items);
        }
        Ok(Self { root, window, counts_found: plan.counts_found })
    }

    /// Rows that were made for a statement that is no SELECT (SHOW).
    pub fn of_operator(root: Operator) -> Self {
        Self { root, window: Window { skip: 0, count: u64::MAX }, counts_found: false }
    }

    /// Gives rows to `sink` until it is full, an answer must come, the budget is spent, or there are no more.
    pub fn pump(&mut self, cx: &mut Cx<'_>, sink: &mut dyn RowSink) -> Result<Pump, Failure> {
        self.root.pump(cx, sink)
    }

    /// Nobody wants more rows.
    pub fn close(&mut self, cx: &mut Cx<'_>) {
        self.root.close(cx);
    }
}

/// Rows in the shape of items and sort columns, or in that which window functions read.
fn source_of(plan: &SelectPlan, window: Window, cx: &mut Cx<'_>) -> Result<Operator, Failure> {
    match &plan.source {
        Source::Table(table) => table_source(plan, table, window, cx),
        Source::Nothing => Ok(local_tail(Tail::of(plan), Operator::rows(vec![Vec::new()]), Vec::new())),
        Source::Joined { relation, filter } => {
            let source = relation_source(relation, &mut None, cx)?;
            joined_tail(plan, source, filter.clone(), cx)
        }
    }
}

/// The work that is left with rows of relations, subqueries over groups included.
fn joined_tail(
    plan: &SelectPlan,
    source: Operator,
    filters: Vec<Expression>,
    cx: &mut Cx<'_>,
) -> Result<Operator, Failure> {
    let tail = Tail::of(plan);
    let (Some(grouping), Some(over_groups)) = (&plan.grouping, &plan.over_groups) else {
        return Ok(local_tail(tail, source, filters));
    };
    let input = Box::new(filtered(tail.evaluation, source, filters));
    let groups = Some(Groups::new(grouping));
    let grouping = grouping.clone();
    let groups = Operator::Group { input, groups, grouping, is_partial: false, has_ended: false };
    let source = relation_source(over_groups, &mut Some(groups), cx)?;
    let having = plan.having.iter().cloned().collect();
    Ok(selected(tail.evaluation, source, having, tail.output))
}

/// Rows of a relation; `groups` are those of [`Relation::Groups`], which is in it once at most.
pub(crate) fn relation_source(
    relation: &Relation,
    groups: &mut Option<Operator>,
    cx: &mut Cx<'_>,
) -> Result<Operator, Failure> {
    let operator = match relation {
        Relation::One => Operator::rows(vec![vec![Value::Null]]),
        Relation::Values(values) => Operator::Values(ValuesRun::new(values)),
        Relation::Groups => groups.take().unwrap_or_else(|| Operator::rows(Vec::new())),
        Relation::Scan(scan) => {
            let info = cx.info(&scan.access.table)?;
            if matches!(scan.access.path, AccessPath::Empty) {
                return Ok(Operator::rows(Vec::new()));
            }
            let target = read_target(&scan.access.path, &info, cx)?;
            let (target, implied) = or_scan(&scan.access, &info, target, cx);
            let order = order_unasked(&info, &target, cx);
            reader_of(&scan.access, implied, &scan.columns, &info, (target, order), cx)?
        }
        Relation::Derived(derived) => Operator::Derived(Box::new(DerivedRun::new(&derived.plan, cx)?)),
        Relation::Locked(locked) => Operator::LockedRows(Box::new(LockedRun::new(locked, cx)?)),
        Relation::Set(set) => Operator::Set(Box::new(SetRun::new(set))),
        Relation::With { tables, input } => {
            let input = relation_source(input, groups, cx)?;
            Operator::With(Box::new(WithRun::new(tables, input, cx)))
        }
        Relation::Common(read) => Operator::Common(CommonRun::new(read.number)),
        Relation::Virtual(read) => {
            let rows = Operator::Common(CommonRun::new(read.number));
            filtered(Evaluation::Flowing, rows, read.filter.iter().cloned().collect())
        }
        Relation::Join(join) => {
            let left = relation_source(&join.left, groups, cx)?;
            Operator::Join(Box::new(JoinRun::new(join, left, cx)))
        }
        Relation::Filter { input, conditions } => {
            filtered(Evaluation::Flowing, relation_source(input, groups, cx)?, conditions.clone())
        }
    };
    Ok(measured(|| StepKey::of(relation, Part::Whole), operator, cx))
}

/// Columns of the rows that have these keys or are in these ranges, in this order.
pub(crate) fn reader_of(
    access: &TableAccess,
    implied: &[Expression],
    columns: &[ColumnIndex],
    info: &Arc<TableAccessInfo>,
    (target, order): (ReadTarget, Order),
    cx: &mut Cx<'_>,
) -> Result<Operator, Failure> {
    let filter = conjunction_of(conditions_with(implied, &access.filter), cx.statement);
    let output = ReadOutput::Columns(columns.to_vec());
    let program = TableReader::program(info, filter, output, cx.statement);
    Ok(match target {
        ReadTarget::Direct(target) => Operator::Table(TableReader::new(info, program, target, order, None)),
        ReadTarget::ByUnique(index, keys) => {
            Operator::Unique(Box::new(UniqueReader::new(info, index, keys, program, order, cx)?))
        }
    })
}

fn filtered(evaluation: Evaluation, input: Operator, conditions: Vec<Expression>) -> Operator {
    if conditions.is_empty() {
        return input;
    }
    if evaluation == Evaluation::RowByRow {
        return Operator::Held(Box::new(Held::new(input, conditions, None)));
    }
    conditions
        .into_iter()
        .fold(input, |input, condition| Operator::Filter { input: Box::new(input), condition })
}

/// A filter, then a projection: as one where rows are taken one by one, so that no row is tested before the one before
/// it has left.
fn selected(
    evaluation: Evaluation,
    input: Operator,
    conditions: Vec<Expression>,
    expressions: &[Expression],
) -> Operator {
    let expressions = expressions.to_vec();
    match evaluation {
        Evaluation::Flowing => {
            let input = Box::new(filtered(evaluation, input, conditions));
            Operator::Project { input, expressions }
        }
        Evaluation::RowByRow => Operator::Held(Box::new(Held::new(input, conditions, Some(expressions)))),
    }
}

/// The work that is left for the session with rows of a source: grouping, HAVING, projection.
#[derive(Clone, Copy)]
struct Tail<'p> {
    grouping: Option<&'p Grouping>,
    having: Option<&'p Expression>,
    output: &'p [Expression],
    evaluation: Evaluation,
}

impl<'p> Tail<'p> {
    /// Over whole rows.
    fn of(plan: &'p SelectPlan) -> Self {
        Self {
            grouping: plan.grouping.as_ref(),
            having: plan.having.as_ref(),
            output: &plan.steps.output,
            evaluation: plan.steps.evaluation,
        }
    }

    fn of_narrow(narrow: &'p Narrow) -> Self {
        Self {
            grouping: narrow.grouping.as_ref(),
            having: narrow.having.as_ref(),
            output: &narrow.output,
            evaluation: Evaluation::RowByRow,
        }
    }
}

/// Everything that is done with rows that are made here.
fn local_tail(tail: Tail<'_>, source: Operator, mut filters: Vec<Expression>) -> Operator {
    if tail.grouping.is_some() {
        return group_tail(tail, filtered(tail.evaluation, source, filters), false);
    }
    filters.extend(tail.having.cloned());
    selected(tail.evaluation, source, filters, tail.output)
}

/// Grouping, HAVING and projection in the session.
fn group_tail(tail: Tail<'_>, mut root: Operator, is_partial: bool) -> Operator {
    let mut having = Vec::new();
    if let Some(grouping) = tail.grouping {
        root = Operator::Group {
            input: Box::new(root),
            groups: Some(Groups::new(grouping)),
            grouping: grouping.clone(),
            is_partial,
            has_ended: false,
        };
        having.extend(tail.having.cloned());
    }
    selected(tail.evaluation, root, having, tail.output)
}

/// Rows of a table for a SELECT with volatile functions: slots filter by what is not volatile and give the columns that
/// are read; the rest is done here.
fn narrow_source(
    plan: &SelectPlan,
    narrow: &Narrow,
    table: &TableAccess,
    info: &Arc<TableAccessInfo>,
    cx: &mut Cx<'_>,
) -> Result<Operator, Failure> {
    let filter = conjunction_of(narrow.pushed.iter().cloned().map(Some), cx.statement);
    let output = ReadOutput::Columns(narrow.columns.clone());
    let program = TableReader::program(info, filter.clone(), output, cx.statement);
    let order = plan.order_by_index.map_or(Order::Any, Order::Key);
    let source = match plan.lock {
        Some(lock) => {
            let options = CandidateOptions { order, must_match: false, settings: cx.statement.settings };
            let candidates = candidates(table, info, filter, options, &[], cx)?;
            let lock = locked_for(lock, cx);
            Operator::Locked(Box::new(LockedReader::new(info, program, lock, candidates, None)))
        }
        None => match read_target(&table.path, info, cx)? {
            ReadTarget::Direct(target) => {
                Operator::Table(TableReader::new(info, program, target, order, None))
            }
            ReadTarget::ByUnique(index, keys) => {
                Operator::Unique(Box::new(UniqueReader::new(info, index, keys, program, order, cx)?))
            }
        },
    };
    Ok(local_tail(Tail::of_narrow(narrow), source, narrow.conditions.clone()))
}

/// The part of each row that a slot gives.
fn pushed_output(plan: &SelectPlan, statement: &Statement) -> ReadOutput {
    if let Some(grouping) = &plan.grouping {
        let fold_call = |call: &AggregateCall| {
            let mut call = call.clone();
            call.arguments = statement.folded_all(&call.arguments);
            for order in &mut call.order_by {
                order.expression = statement.folded(&order.expression);
            }
            call
        };
        return ReadOutput::Aggregate {
            group_by: statement.folded_all(&grouping.group_by),
            calls: grouping.calls.iter().map(fold_call).collect(),
        };
    }
    match &plan.steps.output_columns {
        Some(columns) => ReadOutput::Columns(columns.clone()),
        None => ReadOutput::Expressions(statement.folded_all(&plan.steps.output)),
    }
}

/// These ranges, or a scan of all rows if they hold so much of the table that this is cheaper. With the scan come the
/// conditions that it has to ask for itself.
fn or_scan<'p>(
    access: &'p TableAccess,
    info: &TableAccessInfo,
    target: ReadTarget,
    cx: &Cx<'_>,
) -> (ReadTarget, &'p [Expression]) {
    let ReadTarget::Direct(Target::Ranges(index, ranges)) = &target else { return (target, &[]) };
    if cx.statement.is_for_a_row {
        return (target, &[]);
    }
    match largest_here(info, cx).is_some_and(|reader| are_wide(info, reader, *index, ranges)) {
        false => (target, &[]),
        true => {
            let all = Target::Ranges(IndexId(0), vec![KeyRange::all()]);
            (ReadTarget::Direct(all), &access.implied)
        }
    }
}

/// The order for a statement that does not ask for one. Rows of a small table come in the order of the index that finds
/// them, which is the primary key for a scan. Programs that were written for InnoDB expect it without saying so.
pub(crate) fn order_unasked(info: &TableAccessInfo, target: &ReadTarget, cx: &Cx<'_>) -> Order {
    /// So many rows are merged in less time than a statement costs anyway.
    const ROWS_MAX: u64 = 1_000;
    let ReadTarget::Direct(Target::Ranges(..)) = target else { return Order::Any };
    if cx.statement.is_for_a_row {
        return Order::Any;
    }
    // Fragments are about as large as the largest one of this node.
    let rows = largest_here(info, cx).map(|reader| reader.row_count() * info.slots().len() as u64);
    match rows.is_some_and(|rows| rows <= ROWS_MAX) {
        true => Order::Key(ScanDirection::Forward),
        false => Order::Any,
    }
}

/// The largest fragment of a table that this node may read.
fn largest_here<'cx>(info: &TableAccessInfo, cx: &'cx Cx<'_>) -> Option<&'cx Reader> {
    let map = &cx.env.site.map;
    let here = info.slots().iter().filter_map(|slot| map.reader(info.definition.id, *slot));
    here.max_by_key(|reader| reader.row_count())
}

/// Conditions that raise nothing, then those that may.
fn conditions_with(
    implied: &[Expression],
    filter: &Option<Expression>,
) -> impl Iterator<Item = Option<Expression>> {
    implied.iter().cloned().map(Some).chain([filter.clone()])
}

/// All of these conditions with the statement's parameters.
pub(crate) fn conjunction_of(
    conditions: impl IntoIterator<Item = Option<Expression>>,
    statement: &Statement,
) -> Option<Expression> {
    let mut conditions = conditions.into_iter().flatten().map(|condition| statement.folded(&condition));
    let first = conditions.next()?;
    match conditions.next() {
        None => Some(first),
        Some(second) => Some(Expression::and([first, second].into_iter().chain(conditions).collect())),
    }
}

fn table_source(
    plan: &SelectPlan,
    table: &TableAccess,
    window: Window,
    cx: &mut Cx<'_>,
) -> Result<Operator, Failure> {
    let info = cx.info(&table.table)?;
    if matches!(table.path, AccessPath::Empty) {
        return Ok(group_or_empty(plan));
    }
    if let Some(narrow) = &plan.steps.narrow {
        return narrow_source(plan, narrow, table, &info, cx);
    }
    let having = if plan.grouping.is_none() { plan.having.clone() } else { None };
    if let Some(lock) = plan.lock {
        return locked_source(plan, table, &info, having, lock, window, cx);
    }
    let order = plan.order_by_index.map_or(Order::Any, Order::Key);
    let limit = if plan.steps.limits_source { window.useful() } else { None };
    let target = read_target(&table.path, &info, cx)?;
    let (target, implied) = match (order, limit) {
        (Order::Any, None) => or_scan(table, &info, target, cx),
        (Order::Any | Order::Key(_), _) => (target, &[][..]),
    };
    let filter = conjunction_of(conditions_with(implied, &table.filter).chain([having]), cx.statement);
    let output = pushed_output(plan, cx.statement);
    let order = match (order, &output) {
        (Order::Any, ReadOutput::Columns(_) | ReadOutput::Expressions(_)) => {
            order_unasked(&info, &target, cx)
        }
        // Groups that slots make have no order.
        (Order::Any | Order::Key(_), _) => order,
    };
    let program = TableReader::program(&info, filter, output, cx.statement);
    let source = match target {
        ReadTarget::Direct(target) => Operator::Table(TableReader::new(&info, program, target, order, limit)),
        ReadTarget::ByUnique(index, keys) => {
            Operator::Unique(Box::new(UniqueReader::new(&info, index, keys, program, order, cx)?))
        }
    };
    Ok(if plan.grouping.is_some() { group_tail(Tail::of(plan), source, true) } else { source })
}

fn group_or_empty(plan: &SelectPlan) -> Operator {
    if plan.grouping.is_some() {
        group_tail(Tail::of(plan), Operator::rows(Vec::new()), false)
    } else {
        Operator::rows(Vec::new())
    }
}

fn locked_source(
    plan: &SelectPlan,
    table: &TableAccess,
    info: &Arc<TableAccessInfo>,
    having: Option<Expression>,
    lock: (LockMode, LockWait),
    window: Window,
    cx: &mut Cx<'_>,
) -> Result<Operator, Failure> {
    // Limits count rows that were locked, and only if no later step drops rows.
    let limit = if plan.steps.limits_locks { window.useful() } else { None };
    let order = plan.order_by_index.map_or(Order::Any, Order::Key);
    let sort: &[SortKey] = if plan.steps.sort.is_some() && limit.is_some() { &plan.order_by } else { &[] };
    let filter = conjunction_of([table.filter.clone(), having], cx.statement);
    let options = CandidateOptions { order, must_match: false, settings: cx.statement.settings };
    let candidates = candidates(table, info, filter.clone(), options, sort, cx)?;
    // Aggregates are made here: a locking read answers row by row.
    let (output, is_grouped) = match &plan.grouping {
        Some(_) => {
            let count = u16::try_from(info.definition.columns.len()).unwrap_or(u16::MAX);
            (ReadOutput::Columns((0..count).map(ColumnIndex).collect()), true)
        }
        None => (pushed_output(plan, cx.statement), false),
    };
    let program = TableReader::program(info, filter, output, cx.statement);
    let lock = locked_for(lock, cx);
    let reader = Operator::Locked(Box::new(LockedReader::new(info, program, lock, candidates, limit)));
    Ok(if is_grouped { group_tail(Tail::of(plan), reader, false) } else { reader })
}

/// A lock with the session's patience.
fn locked_for(lock: (LockMode, LockWait), cx: &Cx<'_>) -> (LockMode, LockWait) {
    match lock {
        (mode, LockWait::Wait { .. }) => (mode, cx.lock_wait()),
        other => other,
    }
}

/// How candidates are found.
pub struct CandidateOptions {
    pub order: Order,
    /// Only rows that pass the filter now, even where the keys are in the statement.
    pub must_match: bool,
    /// The filter's.
    pub settings: expression::context::Settings,
}

/// The rows that UPDATE, DELETE and locking reads look at: in order of an index, sorted, or as they come. With
/// `must_match` each is read before it counts, even if its key is known.
pub fn candidates(
    table: &TableAccess,
    info: &Arc<TableAccessInfo>,
    filter: Option<Expression>,
    options: CandidateOptions,
    sort: &[SortKey],
    cx: &mut Cx<'_>,
) -> Result<Candidates, Failure> {
    let CandidateOptions { order, must_match, settings } = options;
    let is_sorted = !sort.is_empty();
    let target = match read_target(&table.path, info, cx)? {
        ReadTarget::Direct(Target::Keys(keys)) if !is_sorted && !must_match => {
            return Ok(Candidates::Keys(keys.into()));
        }
        target => target,
    };
    let output = if is_sorted {
        ReadOutput::Expressions(sort.iter().map(|key| cx.statement.folded(&key.expression)).collect())
    } else {
        ReadOutput::Columns(Vec::new())
    };
    let mut program = TableReader::program(info, filter, output, cx.statement);
    program.with_primary_key = true;
    program.context.settings = settings;
    let reader = match target {
        ReadTarget::Direct(target) => TableReader::new(info, program, target, order, None),
        ReadTarget::ByUnique(index, keys) => {
            // A scan of each key's entries in the index finds the same rows without the hidden table.
            let ranges = access::key_ranges(keys);
            TableReader::new(info, program, Target::Ranges(index, ranges), order, None)
        }
    };
    let numbered = sort.iter().enumerate();
    let columns = numbered.map(|(position, key)| SortColumn {
        position,
        sql_type: key.expression.sql_type.clone(),
        descending: key.descending,
    });
    Ok(if is_sorted { Candidates::sorted(reader, columns.collect()) } else { Candidates::Found(reader) })
}

/// The keys or ranges that an access path comes to in this execution.
pub enum ReadTarget {
    Direct(Target),
    /// Keys of a unique index.
    ByUnique(IndexId, Vec<Box<[u8]>>),
}

/// Evaluates an access path.
pub(crate) fn read_target(
    path: &AccessPath,
    info: &TableAccessInfo,
    cx: &mut Cx<'_>,
) -> Result<ReadTarget, Failure> {
    let definition = &info.definition;
    Ok(match path {
        AccessPath::Empty => ReadTarget::Direct(Target::Keys(Vec::new())),
        AccessPath::PrimaryKeys(keys) => ReadTarget::Direct(Target::Keys(access::evaluate_keys(
            keys,
            definition,
            definition.primary_key(),
            &info.primary_key,
            cx,
        )?)),
        AccessPath::UniqueKeys { index, keys } => {
            let parts = &definition.index(*index).ok_or(Failure::WrongSchema)?.parts;
            let encoder: &KeyEncoder = info.index(*index).ok_or(Failure::WrongSchema)?;
            ReadTarget::ByUnique(*index, access::evaluate_keys(keys, definition, parts, encoder, cx)?)
        }
        AccessPath::Ranges { index, ranges } => {
            ReadTarget::Direct(Target::Ranges(*index, access::evaluate_ranges(ranges, info, *index, cx)?))
        }
    })
}
