//! Window functions: the windows that a SELECT defines, and the calls over them.
//!
//! A call stands in the mixed space as a column of its own, from [`WINDOW_SLOTS`] on. When all of the SELECT is bound,
//! [`WindowsDraft::finish`] says which values of the source's rows (or of the groups) the calls and the items read.
//! Behind the window functions all expressions are over these values and the results.
//!
//! *Names.* A window may begin with another: it inherits that one's PARTITION BY, and its ORDER BY if it has none.

use super::expression::{Place, WindowPlace, interval_unit};
use super::grouping::ordinal;
use super::scope::same_name;
use super::{Binder, Clause};
use crate::algebra::{WINDOW_COUNT_MAX, WINDOW_SLOTS};
use crate::plan::{
    Direction, Distance, Frame, FrameEdge, SortColumn, SortKey, WindowCall, WindowFunction, WindowStep,
    Windows,
};
use crate::syntax::{syntax_error_at_word, syntax_error_behind_word};
use ::expression::{
    AggregateFunction, BinaryOperator, ColumnSlot, Comparison, Direction as Shift, Expression, IntervalUnit,
};
use protocol::SqlError;
use sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, FunctionArgumentList, NamedWindowDefinition, NamedWindowExpr,
    OrderByExpr, OrderByOptions, OrderBySort, Value as AstValue, WindowFrame, WindowFrameBound,
    WindowFrameUnits, WindowSpec, WindowType,
};
use std::collections::BTreeMap;
use std::sync::Arc;
use types::{IntegerWidth, SqlType};

/// The name of a window without one, in messages.
const UNNAMED: &str = "<unnamed window>";
/// Windows of one WINDOW clause.
const NAMED_WINDOW_COUNT_MAX: usize = 127;
/// The type of ranks.
const RANK: SqlType = SqlType::Integer { width: IntegerWidth::Big, unsigned: true };

/// The window functions of a SELECT in the making.
#[derive(Debug, Default)]
pub(crate) struct WindowsDraft {
    named: Vec<NamedWindow>,
    orders: Vec<WindowOrder>,
    /// Each with the position of its order.
    calls: Vec<(usize, WindowCall)>,
}

impl WindowsDraft {
    /// Whether there are window functions.
    pub(super) fn has_calls(&self) -> bool {
        !self.calls.is_empty()
    }
}

/// A window of the WINDOW clause.
#[derive(Debug)]
struct NamedWindow {
    definition: Definition,
    is_used: bool,
}

/// A window as it is written, with all that it inherits.
#[derive(Clone, Debug)]
struct Definition {
    name: String,
    partition_by: Vec<Expr>,
    order_by: Vec<OrderByExpr>,
    frame: Option<WindowFrame>,
}

/// The partitions of a window and the order within them.
#[derive(PartialEq, Debug)]
struct WindowOrder {
    partition_by: Vec<Expression>,
    order_by: Vec<SortKey>,
}

/// 3593.
pub(super) fn misplaced(function: &str) -> SqlError {
    SqlError::new(3593, format!("You cannot use the window function '{function}' in this context.'"))
}

/// Whether an expression reads the value of a window function.
pub(super) fn reads_window(expression: &Expression) -> bool {
    let is_window = |slot: &ColumnSlot| (WINDOW_SLOTS..WINDOW_SLOTS + WINDOW_COUNT_MAX).contains(&slot.0);
    expression.columns().iter().any(is_window)
}

/// Whether a function has no meaning but over a window.
pub(super) fn is_window_only(name: &str) -> bool {
    matches!(
        name,
        "ROW_NUMBER"
            | "RANK"
            | "DENSE_RANK"
            | "PERCENT_RANK"
            | "CUME_DIST"
            | "NTILE"
            | "LAG"
            | "LEAD"
            | "FIRST_VALUE"
            | "LAST_VALUE"
            | "NTH_VALUE"
    )
}

fn undefined(name: &str) -> SqlError {
    SqlError::new(3579, format!("Window name '{name}' is not defined."))
}

fn illegal_frame(name: &str) -> SqlError {
    SqlError::new(
        3586,
        format!("Window '{name}': frame start or end is negative, NULL or of non-integral type"),
    )
}

impl Definition {
    fn of(spec: &WindowSpec, name: &str) -> Self {
        Self {
            name: name.to_owned(),
            partition_by: spec.partition_by.clone(),
            order_by: spec.order_by.clone(),
            frame: spec.window_frame.clone(),
        }
    }

    /// Takes over what the window that this one begins with has.
    fn inherit(
        &mut self,
        parent: &str,
        partition_by: &[Expr],
        order_by: &[OrderByExpr],
        frame: Option<&WindowFrame>,
    ) -> Result<(), SqlError> {
        if !self.partition_by.is_empty() {
            let text = "A window which depends on another cannot define partitioning.";
            return Err(SqlError::new(3581, text));
        }
        if frame.is_some() {
            let text = format!(
                "Window '{parent}' has a frame definition, so cannot be referenced by another window."
            );
            return Err(SqlError::new(3582, text));
        }
        if !self.order_by.is_empty() && !order_by.is_empty() {
            let name = &self.name;
            let text =
                format!("Window '{name}' cannot inherit '{parent}' since both contain an ORDER BY clause.");
            return Err(SqlError::new(3583, text));
        }
        self.partition_by = partition_by.to_vec();
        if self.order_by.is_empty() {
            self.order_by = order_by.to_vec();
        }
        Ok(())
    }

    /// A window of the clause with all that it inherits.
    fn named(spec: &WindowSpec, name: &str, named: &[NamedWindowDefinition]) -> Result<Self, SqlError> {
        let mut definition = Self::of(spec, name);
        let mut parent = spec.window_name.as_ref();
        for _ in 0..=named.len() {
            let Some(parent_name) = parent else { return Ok(definition) };
            let parent_name = &parent_name.value;
            let found = named.iter().find(|other| same_name(&other.0.value, parent_name));
            let Some(NamedWindowDefinition(_, NamedWindowExpr::WindowSpec(inherited))) = found else {
                return Err(undefined(parent_name));
            };
            let WindowSpec { window_name, partition_by, order_by, window_frame } = inherited;
            definition.inherit(parent_name, partition_by, order_by, window_frame.as_ref())?;
            parent = window_name.as_ref();
        }
        Err(SqlError::new(3580, "There is a circularity in the window dependency graph."))
    }
}

impl Binder<'_> {
    /// The windows that a SELECT defines by name.
    pub(super) fn named_windows(&self, named: &[NamedWindowDefinition]) -> Result<WindowsDraft, SqlError> {
        if named.len() > NAMED_WINDOW_COUNT_MAX {
            return Err(SqlError::unsupported("so many named windows"));
        }
        let mut draft = WindowsDraft::default();
        for (position, NamedWindowDefinition(name, window)) in named.iter().enumerate() {
            if named[..position].iter().any(|other| same_name(&other.0.value, &name.value)) {
                return Err(SqlError::new(3591, format!("Window '{}' is defined twice.", name.value)));
            }
            let NamedWindowExpr::WindowSpec(spec) = window else {
                return Err(syntax_error_at_word(self.text, &["WINDOW"]));
            };
            let definition = Definition::named(spec, &name.value, named)?;
            draft.named.push(NamedWindow { definition, is_used: false });
        }
        Ok(draft)
    }

    /// Binds the named windows that no call is over: what they name must exist.
    pub(super) fn check_unused_windows(&mut self, place: &mut Place<'_>) -> Result<(), SqlError> {
        let unused = self.windows.iter().flat_map(|windows| &windows.named).filter(|window| !window.is_used);
        let unused: Vec<Definition> = unused.map(|window| window.definition.clone()).collect();
        unused.iter().try_for_each(|definition| self.defined(definition, place).map(|_| ()))
    }

    /// A call with OVER.
    pub(super) fn window_function(
        &mut self,
        name: &str,
        list: &FunctionArgumentList,
        over: &WindowType,
        place: &mut Place<'_>,
    ) -> Result<Expression, SqlError> {
        let aggregate = AggregateFunction::by_name(name);
        if !is_window_only(name) && aggregate.is_none_or(|function| function == AggregateFunction::AnyValue) {
            return Err(syntax_error_at_word(self.text, &["OVER"]));
        }
        match place.windows {
            WindowPlace::Allowed if self.windows.is_some() => {}
            WindowPlace::Allowed | WindowPlace::Nowhere => {
                return Err(misplaced(&name.to_ascii_lowercase()));
            }
        }
        // Window functions do not nest, and what they are made of sees no aliases.
        let items = place.items.take();
        let clause = place.clause;
        place.windows = WindowPlace::Nowhere;
        let bound = self.window_call(name, aggregate, list, over, place);
        (place.windows, place.items, place.clause) = (WindowPlace::Allowed, items, clause);
        let (order, call) = bound?;
        self.placed_window(order, call)
    }

    fn window_call(
        &mut self,
        name: &str,
        aggregate: Option<AggregateFunction>,
        list: &FunctionArgumentList,
        over: &WindowType,
        place: &mut Place<'_>,
    ) -> Result<(WindowOrder, WindowCall), SqlError> {
        let (function, sql_type, nullable) = match aggregate {
            Some(function) => self.windowed_aggregate(function, list, place)?,
            None => self.plain_window_function(name, list, place)?,
        };
        let definition = self.definition_of(over)?;
        let (order, frame) = self.defined(&definition, place)?;
        Ok((order, WindowCall { function, frame, sql_type, nullable }))
    }

    /// The window that OVER means.
    fn definition_of(&mut self, over: &WindowType) -> Result<Definition, SqlError> {
        let Some(windows) = &mut self.windows else { return Err(undefined(UNNAMED)) };
        match over {
            WindowType::NamedWindow(name) => windows.used(&name.value).cloned(),
            WindowType::WindowSpec(spec) => {
                let mut definition = Definition::of(spec, UNNAMED);
                if let Some(parent) = &spec.window_name {
                    let Definition { name, partition_by, order_by, frame } = windows.used(&parent.value)?;
                    definition.inherit(name, partition_by, order_by, frame.as_ref())?;
                }
                Ok(definition)
            }
        }
    }

    fn windowed_aggregate(
        &mut self,
        function: AggregateFunction,
        list: &FunctionArgumentList,
        place: &mut Place<'_>,
    ) -> Result<(WindowFunction, SqlType, bool), SqlError> {
        if function == AggregateFunction::GroupConcat {
            return Err(SqlError::unsupported("group_concat as window function"));
        }
        let call = self.aggregate_call(function, list, place)?;
        if call.distinct || list.duplicate_treatment.is_some() {
            return Err(SqlError::unsupported("<window function>(DISTINCT ..)"));
        }
        let (sql_type, nullable) = (call.sql_type.clone(), call.nullable);
        Ok((WindowFunction::Aggregate(Box::new(call)), sql_type, nullable))
    }

    fn plain_window_function(
        &mut self,
        name: &str,
        list: &FunctionArgumentList,
        place: &mut Place<'_>,
    ) -> Result<(WindowFunction, SqlType, bool), SqlError> {
        if list.duplicate_treatment.is_some() || !list.clauses.is_empty() {
            return Err(syntax_error_behind_word(self.text, name));
        }
        let mut arguments = Vec::with_capacity(list.args.len());
        for argument in &list.args {
            let FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) = argument else {
                return Err(syntax_error_behind_word(self.text, name));
            };
            let bound = self.expression(expr, place)?;
            arguments.push(self.padded(bound)?);
        }
        let mut arguments = arguments.into_iter();
        let first = arguments.next();
        let rest: Vec<Expression> = arguments.collect();
        let constant = |number: Expression| match number.is_constant() {
            true => Ok(number),
            false => {
                Err(SqlError::new(1210, format!("Incorrect arguments to {}", name.to_ascii_lowercase())))
            }
        };
        let of_type = |value: &Expression| value.sql_type.clone();
        Ok(match (name, first, rest.as_slice()) {
            ("ROW_NUMBER", None, []) => (WindowFunction::RowNumber, RANK, false),
            ("RANK", None, []) => (WindowFunction::Rank, RANK, false),
            ("DENSE_RANK", None, []) => (WindowFunction::DenseRank, RANK, false),
            ("PERCENT_RANK", None, []) => (WindowFunction::PercentRank, SqlType::Double, false),
            ("CUME_DIST", None, []) => (WindowFunction::CumulativeDistribution, SqlType::Double, false),
            ("NTILE", Some(count), []) => (WindowFunction::Tile(constant(count)?), RANK, false),
            ("FIRST_VALUE", Some(value), []) => {
                let sql_type = of_type(&value);
                (WindowFunction::First(value), sql_type, true)
            }
            ("LAST_VALUE", Some(value), []) => {
                let sql_type = of_type(&value);
                (WindowFunction::Last(value), sql_type, true)
            }
            ("NTH_VALUE", Some(value), [number]) => {
                let sql_type = of_type(&value);
                (WindowFunction::Nth(value, constant(number.clone())?), sql_type, true)
            }
            ("LAG" | "LEAD", Some(value), rest) if rest.len() <= 2 => {
                let direction = if name == "LAG" { Direction::Before } else { Direction::Behind };
                let count = rest.first().cloned().unwrap_or_else(|| Expression::integer(1));
                let (value, default) = self.with_default(name, value, rest.get(1).cloned())?;
                let nullable = value.nullable || default.as_ref().is_none_or(|default| default.nullable);
                let sql_type = of_type(&value);
                let count = constant(count)?;
                (WindowFunction::Offset { value, direction, count, default }, sql_type, nullable)
            }
            _ => return Err(syntax_error_behind_word(self.text, name)),
        })
    }

    /// The value of LAG and LEAD and its default in one type.
    fn with_default(
        &self,
        name: &str,
        value: Expression,
        default: Option<Expression>,
    ) -> Result<(Expression, Option<Expression>), SqlError> {
        let Some(default) = default else { return Ok((value, None)) };
        let name = name.to_ascii_lowercase();
        let sql_type = self.typed(Expression::common_type_of(&[&value, &default], &name))?;
        Ok((value.brought_into(&sql_type), Some(default.brought_into(&sql_type))))
    }

    /// Partitions, order and frame of a window.
    fn defined(
        &mut self,
        definition: &Definition,
        place: &mut Place<'_>,
    ) -> Result<(WindowOrder, Frame), SqlError> {
        let nested = |error: SqlError| match error.code {
            3593 => SqlError::new(
                3595,
                format!(
                    "You cannot nest a window function in the specification of window '{}'.",
                    definition.name
                ),
            ),
            _ => error,
        };
        let clause = place.clause;
        let bound = self.window_order(definition, place);
        let bound = bound.and_then(|order| Ok((self.frame(definition, &order, place)?, order)));
        place.clause = clause;
        let (frame, order) = bound.map_err(nested)?;
        Ok((order, frame))
    }

    fn window_order(
        &mut self,
        definition: &Definition,
        place: &mut Place<'_>,
    ) -> Result<WindowOrder, SqlError> {
        let is_position = |expr: &Expr| {
            ordinal(expr).is_some()
                || matches!(expr, Expr::Value(value) if matches!(value.value, AstValue::Placeholder(_)))
        };
        let keys = definition.order_by.iter().map(|key| &key.expr);
        if definition.partition_by.iter().chain(keys).any(is_position) {
            let text = format!(
                "Window '{}': ORDER BY or PARTITION BY uses legacy position indication which is not supported, use expression.",
                definition.name
            );
            return Err(SqlError::new(3592, text));
        }
        let mut partition_by: Vec<Expression> = Vec::new();
        place.clause = Clause::WindowPartition;
        for expr in &definition.partition_by {
            let bound = self.expression(expr, place)?;
            if !bound.is_constant() && !partition_by.contains(&bound) {
                partition_by.push(bound);
            }
        }
        let mut order_by: Vec<SortKey> = Vec::new();
        place.clause = Clause::WindowOrder;
        for item in &definition.order_by {
            let OrderByExpr { expr, options: OrderByOptions { sort, nulls_first: None }, with_fill: None } =
                item
            else {
                return Err(syntax_error_at_word(self.text, &["NULLS", "FILL"]));
            };
            let descending = match sort {
                None | Some(OrderBySort::Asc) => false,
                Some(OrderBySort::Desc) => true,
                Some(OrderBySort::Using(_)) => return Err(syntax_error_at_word(self.text, &["USING"])),
            };
            let expression = self.expression(expr, place)?;
            if !expression.is_constant() && !order_by.iter().any(|key| key.expression == expression) {
                order_by.push(SortKey { expression, descending });
            }
        }
        Ok(WindowOrder { partition_by, order_by })
    }

    fn frame(
        &mut self,
        definition: &Definition,
        order: &WindowOrder,
        place: &mut Place<'_>,
    ) -> Result<Frame, SqlError> {
        let name = &definition.name;
        let Some(WindowFrame { units, start_bound, end_bound }) = &definition.frame else {
            let end = if order.order_by.is_empty() { FrameEdge::Unbounded } else { FrameEdge::Peers };
            return Ok(Frame { window: name.clone(), start: FrameEdge::Unbounded, end });
        };
        if *units == WindowFrameUnits::Groups {
            return Err(SqlError::unsupported("GROUPS"));
        }
        let end_bound = end_bound.as_ref().unwrap_or(&WindowFrameBound::CurrentRow);
        if matches!(start_bound, WindowFrameBound::Following(None)) {
            let text = format!("Window '{name}': frame start cannot be UNBOUNDED FOLLOWING.");
            return Err(SqlError::new(3584, text));
        }
        if matches!(end_bound, WindowFrameBound::Preceding(None)) {
            let text = format!("Window '{name}': frame end cannot be UNBOUNDED PRECEDING.");
            return Err(SqlError::new(3585, text));
        }
        let way = |bound: &WindowFrameBound| match bound {
            WindowFrameBound::Preceding(_) => 0,
            WindowFrameBound::CurrentRow => 1,
            WindowFrameBound::Following(_) => 2,
        };
        if way(start_bound) > way(end_bound) {
            return Err(illegal_frame(name));
        }
        let start = self.edge(*units, start_bound, (name, order), place)?;
        let end = self.edge(*units, end_bound, (name, order), place)?;
        Ok(Frame { window: name.clone(), start, end })
    }

    fn edge(
        &mut self,
        units: WindowFrameUnits,
        bound: &WindowFrameBound,
        window: (&str, &WindowOrder),
        place: &mut Place<'_>,
    ) -> Result<FrameEdge, SqlError> {
        let (direction, amount) = match bound {
            WindowFrameBound::CurrentRow if units == WindowFrameUnits::Rows => return Ok(FrameEdge::Row),
            WindowFrameBound::CurrentRow => return Ok(FrameEdge::Peers),
            WindowFrameBound::Preceding(None) | WindowFrameBound::Following(None) => {
                return Ok(FrameEdge::Unbounded);
            }
            WindowFrameBound::Preceding(Some(amount)) => (Direction::Before, &**amount),
            WindowFrameBound::Following(Some(amount)) => (Direction::Behind, &**amount),
        };
        let (name, order) = window;
        let (amount, unit) = match amount {
            Expr::Interval(interval) => {
                let unit = interval.leading_field.as_ref().map(ToString::to_string).unwrap_or_default();
                (&*interval.value, Some(interval_unit(&unit)?))
            }
            amount => (amount, None),
        };
        let amount = self.expression(amount, place)?;
        if !amount.is_constant() {
            return Err(SqlError::new(3590, format!("Window '{name}' has a non-constant frame bound.")));
        }
        match (units, unit) {
            (WindowFrameUnits::Rows, None) => Ok(FrameEdge::Rows(direction, amount)),
            (WindowFrameUnits::Rows, Some(_)) => {
                let text = format!("Window '{name}': INTERVAL can only be used with RANGE frames.");
                Err(SqlError::new(3596, text))
            }
            (WindowFrameUnits::Range | WindowFrameUnits::Groups, unit) => {
                self.distance(direction, amount, unit, (name, order))
            }
        }
    }

    /// An edge of a RANGE frame.
    fn distance(
        &mut self,
        direction: Direction,
        amount: Expression,
        unit: Option<IntervalUnit>,
        (name, order): (&str, &WindowOrder),
    ) -> Result<FrameEdge, SqlError> {
        let wrong_order = || {
            let text = format!(
                "Window '{name}' with RANGE N PRECEDING/FOLLOWING frame requires exactly one ORDER BY expression, of numeric or \
                 temporal type"
            );
            SqlError::new(3587, text)
        };
        let [SortKey { expression: value, descending }] = order.order_by.as_slice() else {
            return Err(wrong_order());
        };
        let kind = RangeKind::of(&value.sql_type).ok_or_else(wrong_order)?;
        let is_less = (direction == Direction::Before) != *descending;
        let limit = match (kind, unit) {
            (RangeKind::Moment, None) => {
                let text = format!(
                    "Window '{name}' with RANGE frame has ORDER BY expression of datetime type. Only INTERVAL bound value allowed."
                );
                return Err(SqlError::new(3588, text));
            }
            (RangeKind::Whole | RangeKind::Number, Some(_)) => {
                let text = format!(
                    "Window '{name}' with RANGE frame has ORDER BY expression of numeric type, INTERVAL bound value not allowed."
                );
                return Err(SqlError::new(3589, text));
            }
            (RangeKind::Moment, Some(unit)) => {
                let shift = if is_less { Shift::Subtract } else { Shift::Add };
                let typing = &self.context.typing;
                self.typed(Expression::interval(value.clone(), amount.clone(), unit, shift, typing))?
            }
            (RangeKind::Whole | RangeKind::Number, None) => {
                let wide = SqlType::Decimal { precision: 20, scale: 0, unsigned: false };
                let value = match kind {
                    // An unsigned number may become a negative one.
                    RangeKind::Whole => self.typed(Expression::cast(value.clone(), wide))?,
                    RangeKind::Number | RangeKind::Moment => value.clone(),
                };
                let operator = if is_less { BinaryOperator::Subtract } else { BinaryOperator::Add };
                self.typed(Expression::binary(operator, value, amount.clone()))?
            }
        };
        let compared = |comparison: Comparison| {
            let value = Expression::column(ColumnSlot(0), value.sql_type.clone(), true);
            let limit = Expression::column(ColumnSlot(1), limit.sql_type.clone(), true);
            self.typed(Expression::compare(comparison, value, limit))
        };
        let (before, behind) = match descending {
            false => (Comparison::Less, Comparison::Greater),
            true => (Comparison::Greater, Comparison::Less),
        };
        let (is_before, is_behind) = (compared(before)?, compared(behind)?);
        Ok(FrameEdge::Distance(Box::new(Distance { direction, amount, limit, is_before, is_behind })))
    }

    /// The call's column in the mixed space; equal calls share one.
    fn placed_window(&mut self, order: WindowOrder, call: WindowCall) -> Result<Expression, SqlError> {
        let Some(windows) = &mut self.windows else { return Err(misplaced(call.function.name())) };
        let order = match windows.orders.iter().position(|known| *known == order) {
            Some(position) => position,
            None => {
                windows.orders.push(order);
                windows.orders.len() - 1
            }
        };
        let (sql_type, nullable) = (call.sql_type.clone(), call.nullable);
        let placed = (order, call);
        let position = match windows.calls.iter().position(|known| *known == placed) {
            Some(position) => position,
            None => {
                windows.calls.push(placed);
                windows.calls.len() - 1
            }
        };
        let position = u16::try_from(position).ok().filter(|position| *position < WINDOW_COUNT_MAX);
        let slot = ColumnSlot(WINDOW_SLOTS + position.ok_or_else(too_many)?);
        Ok(Expression::column(slot, sql_type, nullable))
    }
}

fn too_many() -> SqlError {
    SqlError::unsupported("so many window functions")
}

/// Types whose values have distances.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RangeKind {
    Whole,
    Number,
    Moment,
}

impl RangeKind {
    fn of(sql_type: &SqlType) -> Option<Self> {
        match sql_type {
            SqlType::Integer { .. } | SqlType::Bit { .. } | SqlType::Year => Some(Self::Whole),
            SqlType::Float | SqlType::Double | SqlType::Decimal { .. } => Some(Self::Number),
            SqlType::Date | SqlType::Time { .. } | SqlType::DateTime { .. } | SqlType::Timestamp { .. } => {
                Some(Self::Moment)
            }
            SqlType::Null
            | SqlType::Char { .. }
            | SqlType::VarChar { .. }
            | SqlType::Binary { .. }
            | SqlType::VarBinary { .. }
            | SqlType::Text { .. }
            | SqlType::Blob { .. }
            | SqlType::Enum { .. }
            | SqlType::Set { .. }
            | SqlType::Json => None,
        }
    }
}

impl WindowsDraft {
    /// The window of this name, over which there is a call.
    fn used(&mut self, name: &str) -> Result<&Definition, SqlError> {
        let is_meant = |window: &&mut NamedWindow| same_name(&window.definition.name, name);
        let window = self.named.iter_mut().find(is_meant).ok_or_else(|| undefined(name))?;
        window.is_used = true;
        Ok(&window.definition)
    }

    /// All expressions that are evaluated on rows of the source or on groups.
    pub(super) fn expressions_mut(&mut self) -> impl Iterator<Item = &mut Expression> {
        let of_orders = self.orders.iter_mut().flat_map(|order| {
            let keys = order.order_by.iter_mut().map(|key| &mut key.expression);
            order.partition_by.iter_mut().chain(keys)
        });
        let of_calls = self.calls.iter_mut().flat_map(|(_, call)| {
            let WindowCall { function, frame, .. } = call;
            function.arguments_mut().into_iter().chain(frame.limits_mut())
        });
        of_orders.chain(of_calls)
    }

    /// The window functions; `others` are brought over the rows that these leave. None: there are none.
    pub(super) fn finish<'e>(
        self,
        others: impl Iterator<Item = &'e mut Expression>,
    ) -> Result<Option<Windows>, SqlError> {
        if self.calls.is_empty() {
            return Ok(None);
        }
        let mut input = Input::default();
        let mut steps: Vec<WindowStep> = Vec::with_capacity(self.orders.len());
        for WindowOrder { partition_by, order_by } in self.orders {
            let partition_count = partition_by.len();
            let ascending = partition_by.into_iter().map(|expression| (expression, false));
            let keys = ascending.chain(order_by.into_iter().map(|key| (key.expression, key.descending)));
            let mut columns = Vec::new();
            for (expression, descending) in keys {
                let sql_type = expression.sql_type.clone();
                columns.push(SortColumn { position: input.place(expression)?, sql_type, descending });
            }
            steps.push(WindowStep { columns, partition_count, calls: Vec::new() });
        }
        let mut places: Vec<(usize, usize)> = Vec::with_capacity(self.calls.len());
        for (order, mut call) in self.calls {
            for argument in call.function.arguments_mut() {
                if argument.is_volatile() { input.compute(argument)? } else { input.read(argument)? }
            }
            for limit in call.frame.limits_mut() {
                input.compute(limit)?;
            }
            places.push((order, steps[order].calls.len()));
            steps[order].calls.push(call);
        }
        let others: Vec<&mut Expression> = others.collect();
        let mut read = Vec::with_capacity(others.len());
        for expression in others {
            input.read(expression)?;
            read.push(expression);
        }
        if input.expressions.is_empty() {
            input.expressions.push(Expression::integer(0));
        }
        let width = input.expressions.len();
        let first_of = |order: usize| steps[..order].iter().map(|step| step.calls.len()).sum::<usize>();
        let result_of = |slot: ColumnSlot| {
            let call = slot.0.checked_sub(WINDOW_SLOTS)?;
            let (order, position) = places.get(usize::from(call))?;
            u16::try_from(width + first_of(*order) + position).ok().map(ColumnSlot)
        };
        for expression in read {
            expression.map_columns(&mut |slot| result_of(slot).unwrap_or(slot));
        }
        let steps = steps.into_iter().map(Arc::new).collect();
        Ok(Some(Windows { input: input.expressions, steps }))
    }
}

/// The first values of the rows that go into window functions.
#[derive(Default)]
struct Input {
    expressions: Vec<Expression>,
    /// The positions of plain columns.
    columns: BTreeMap<ColumnSlot, usize>,
}

impl Input {
    /// The position of an expression's value.
    fn place(&mut self, expression: Expression) -> Result<usize, SqlError> {
        let slot = expression.as_column();
        if let Some(known) = slot.and_then(|slot| self.columns.get(&slot)) {
            return Ok(*known);
        }
        let position = self.expressions.len();
        if position + usize::from(WINDOW_COUNT_MAX) >= usize::from(WINDOW_SLOTS) {
            return Err(SqlError::new(1117, "Too many columns"));
        }
        if let Some(slot) = slot {
            self.columns.insert(slot, position);
        }
        self.expressions.push(expression);
        Ok(position)
    }

    /// Makes it a column of the rows: it is computed before the window functions.
    fn compute(&mut self, expression: &mut Expression) -> Result<(), SqlError> {
        let position = self.place(expression.clone())?;
        let slot = u16::try_from(position).map_err(|_| SqlError::new(1117, "Too many columns"))?;
        *expression = Expression::column_of(ColumnSlot(slot), expression);
        Ok(())
    }

    /// Brings the columns that an expression reads into the rows. Results of window functions stay as they are.
    fn read(&mut self, expression: &mut Expression) -> Result<(), SqlError> {
        if let Some(slot) = expression.as_column() {
            let is_result = (WINDOW_SLOTS..WINDOW_SLOTS + WINDOW_COUNT_MAX).contains(&slot.0);
            return if is_result { Ok(()) } else { self.compute(expression) };
        }
        expression.operands_mut().into_iter().try_for_each(|operand| self.read(operand))
    }
}
