//! Aggregates: what a call is, and its state while rows come in.
//!
//! A data node updates states row by row and sends them (they have a binary form); the session merges them and
//! finishes. A call travels with the plan, so that a state holds no types.
//!
//! - COUNT, SUM, AVG: a count and a total. Integers are summed in 128 bits and become a DECIMAL at the end only.
//! - MIN, MAX, ANY_VALUE: one value. BIT_AND, BIT_OR, BIT_XOR: 64 bits.
//! - Variances: count, mean and squared distance (Welford's update, Chan's merge).
//! - DISTINCT and GROUP_CONCAT: the rows themselves (`kept_rows`).
//!
//! Invariants: merging in any grouping of the same rows finishes to the same value, save for floating-point rounding
//! and the order of an unordered GROUP_CONCAT. NULL arguments are skipped everywhere but in COUNT(*) and ANY_VALUE.
//! Updating with an integer column allocates nothing. A state that another function made (only a broken peer could send
//! it) is refused with an error.

mod kept_rows;

pub use self::kept_rows::KeptRows;

use crate::comparison::compare_values;
use crate::context::{ColumnSlot, Columns, Context, ER_DATA_OUT_OF_RANGE, EvaluationError, TypeError};
use crate::conversion::{Number, low_bits, number_of, uint_to_double};
use crate::evaluation::Evaluated;
use crate::node::Expression;
use crate::typing::{
    BIGINT, BIGINT_UNSIGNED, NumericClass, aggregate_collation, decimal_shape, decimal_type, numeric_class,
    text_type,
};
use std::cmp::Ordering;
use types::{Decimal, SqlType, Value, ValueRef};
use wire_derive::Wire;

/// `group_concat_max_len`, default: bytes.
pub const GROUP_CONCAT_SIZE_MAX: u32 = 1024;

/// Which aggregate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub enum AggregateFunction {
    /// COUNT(*) without argument, COUNT(expression), COUNT(DISTINCT expression, …).
    Count,
    /// SUM.
    Sum,
    /// AVG.
    Average,
    /// MIN.
    Minimum,
    /// MAX.
    Maximum,
    /// GROUP_CONCAT.
    GroupConcat,
    /// BIT_AND.
    BitAnd,
    /// BIT_OR.
    BitOr,
    /// BIT_XOR.
    BitXor,
    /// STD, STDDEV, STDDEV_POP.
    StandardDeviation,
    /// STDDEV_SAMP.
    SampleStandardDeviation,
    /// VARIANCE, VAR_POP.
    Variance,
    /// VAR_SAMP.
    SampleVariance,
    /// ANY_VALUE.
    AnyValue,
}

impl AggregateFunction {
    /// The aggregate of that SQL name, any case.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Some(match name.to_ascii_uppercase().as_str() {
            "COUNT" => Self::Count,
            "SUM" => Self::Sum,
            "AVG" => Self::Average,
            "MIN" => Self::Minimum,
            "MAX" => Self::Maximum,
            "GROUP_CONCAT" => Self::GroupConcat,
            "BIT_AND" => Self::BitAnd,
            "BIT_OR" => Self::BitOr,
            "BIT_XOR" => Self::BitXor,
            "STD" | "STDDEV" | "STDDEV_POP" => Self::StandardDeviation,
            "STDDEV_SAMP" => Self::SampleStandardDeviation,
            "VARIANCE" | "VAR_POP" => Self::Variance,
            "VAR_SAMP" => Self::SampleVariance,
            "ANY_VALUE" => Self::AnyValue,
            _ => return None,
        })
    }

    /// Its SQL name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Sum => "sum",
            Self::Average => "avg",
            Self::Minimum => "min",
            Self::Maximum => "max",
            Self::GroupConcat => "group_concat",
            Self::BitAnd => "bit_and",
            Self::BitOr => "bit_or",
            Self::BitXor => "bit_xor",
            Self::StandardDeviation => "stddev_pop",
            Self::SampleStandardDeviation => "stddev_samp",
            Self::Variance => "var_pop",
            Self::SampleVariance => "var_samp",
            Self::AnyValue => "any_value",
        }
    }
}

/// One ORDER BY item inside GROUP_CONCAT.
#[derive(Clone, PartialEq, Debug, Wire)]
pub struct AggregateOrder {
    /// The expression to order by.
    pub expression: Expression,
    /// DESC.
    pub descending: bool,
}

/// One aggregate of a query.
#[derive(Clone, PartialEq, Debug, Wire)]
pub struct AggregateCall {
    /// Which.
    pub function: AggregateFunction,
    /// None for COUNT(*); several for COUNT(DISTINCT …) and GROUP_CONCAT.
    pub arguments: Vec<Expression>,
    /// DISTINCT, where it makes a difference.
    pub distinct: bool,
    /// GROUP_CONCAT's ORDER BY.
    pub order_by: Vec<AggregateOrder>,
    /// GROUP_CONCAT's SEPARATOR.
    #[wire(bytes)]
    pub separator: Vec<u8>,
    /// GROUP_CONCAT's longest result in bytes (`group_concat_max_len`).
    pub size_max: u32,
    /// The type of the result.
    pub sql_type: SqlType,
    /// The result may be NULL.
    pub nullable: bool,
}

impl AggregateCall {
    /// COUNT(*).
    #[must_use]
    pub fn count_rows() -> Self {
        Self::typed(AggregateFunction::Count, Vec::new(), BIGINT)
    }

    fn typed(function: AggregateFunction, arguments: Vec<Expression>, sql_type: SqlType) -> Self {
        let nullable = !matches!(
            function,
            AggregateFunction::Count
                | AggregateFunction::BitAnd
                | AggregateFunction::BitOr
                | AggregateFunction::BitXor
        );
        Self {
            function,
            arguments,
            distinct: false,
            order_by: Vec::new(),
            separator: Vec::new(),
            size_max: GROUP_CONCAT_SIZE_MAX,
            sql_type,
            nullable,
        }
    }

    /// Its results as a column.
    #[must_use]
    pub fn as_column(&self, slot: ColumnSlot) -> Expression {
        let column = Expression::column(slot, self.sql_type.clone(), self.nullable);
        column.as_coercible(crate::typing::strongest(
            self.arguments.iter().map(|argument| argument.coercibility),
        ))
    }

    /// Any aggregate but COUNT(*); GROUP_CONCAT without ORDER BY, with the default separator.
    pub fn new(
        function: AggregateFunction,
        arguments: Vec<Expression>,
        distinct: bool,
    ) -> Result<Self, TypeError> {
        if function == AggregateFunction::GroupConcat {
            return Self::group_concat(arguments, distinct, Vec::new(), b",".to_vec(), GROUP_CONCAT_SIZE_MAX);
        }
        let one = arguments.len() == 1;
        let counts_several = function == AggregateFunction::Count && distinct && !arguments.is_empty();
        if !one && !counts_several {
            return Err(TypeError::WrongArgumentCount(function.name().to_owned()));
        }
        let arguments: Vec<Expression> =
            arguments.into_iter().map(|argument| converted_argument(function, argument)).collect();
        let sql_type = result_type(function, arguments.first());
        let mut call = Self::typed(function, arguments, sql_type);
        call.distinct = distinct
            && matches!(
                function,
                AggregateFunction::Count | AggregateFunction::Sum | AggregateFunction::Average
            );
        Ok(call)
    }

    /// GROUP_CONCAT([DISTINCT] arguments ORDER BY … SEPARATOR …) of at most `size_max` bytes.
    pub fn group_concat(
        arguments: Vec<Expression>,
        distinct: bool,
        order_by: Vec<AggregateOrder>,
        separator: Vec<u8>,
        size_max: u32,
    ) -> Result<Self, TypeError> {
        if arguments.is_empty() {
            return Err(TypeError::WrongArgumentCount("group_concat".to_owned()));
        }
        let arguments: Vec<Expression> = arguments.into_iter().map(Expression::localised).collect();
        let collation = aggregate_collation(arguments.iter(), "group_concat")?;
        let mut call =
            Self::typed(AggregateFunction::GroupConcat, arguments, text_type(u64::from(size_max), collation));
        (call.distinct, call.order_by, call.separator, call.size_max) =
            (distinct, order_by, separator, size_max);
        Ok(call)
    }

    /// Whether rows can be taken away from its states again without a trace: counts and exact sums.
    #[must_use]
    pub fn is_retractable(&self) -> bool {
        // With more digits a sum may lose some.
        let is_exact = |digits_max: u8| matches!(self.sql_type, SqlType::Decimal { precision, .. } if precision <= digits_max);
        !self.distinct
            && match self.function {
                AggregateFunction::Count => true,
                AggregateFunction::Sum => is_exact(Decimal::PRECISION_MAX - 1),
                AggregateFunction::Average => is_exact(Decimal::PRECISION_MAX - 22),
                AggregateFunction::Minimum
                | AggregateFunction::Maximum
                | AggregateFunction::GroupConcat
                | AggregateFunction::BitAnd
                | AggregateFunction::BitOr
                | AggregateFunction::BitXor
                | AggregateFunction::StandardDeviation
                | AggregateFunction::SampleStandardDeviation
                | AggregateFunction::Variance
                | AggregateFunction::SampleVariance
                | AggregateFunction::AnyValue => false,
            }
    }

    /// True if it keeps rows: DISTINCT and GROUP_CONCAT.
    #[must_use]
    pub fn keeps_rows(&self) -> bool {
        self.distinct || self.function == AggregateFunction::GroupConcat
    }

    /// The column whose values its states take (`AggregateState::take`), if nothing has to be computed.
    #[must_use]
    pub fn plain_argument(&self) -> Option<ColumnSlot> {
        if let [argument] = &self.arguments[..] { argument.as_column() } else { None }
            .filter(|_| self.order_by.is_empty())
    }

    /// The state before any row.
    #[must_use]
    pub fn initial_state(&self) -> AggregateState {
        if self.keeps_rows() {
            return AggregateState::Rows(Box::default());
        }
        match self.function {
            AggregateFunction::Count => AggregateState::Count(0),
            AggregateFunction::Sum | AggregateFunction::Average => {
                AggregateState::Total { sum: Sum::Nothing, count: 0 }
            }
            AggregateFunction::Minimum | AggregateFunction::Maximum => AggregateState::Extreme(Value::Null),
            AggregateFunction::AnyValue => AggregateState::Any(None),
            AggregateFunction::BitAnd => AggregateState::Bits(u64::MAX),
            AggregateFunction::BitOr | AggregateFunction::BitXor => AggregateState::Bits(0),
            AggregateFunction::StandardDeviation
            | AggregateFunction::SampleStandardDeviation
            | AggregateFunction::Variance
            | AggregateFunction::SampleVariance => AggregateState::Moments(Moments::default()),
            AggregateFunction::GroupConcat => AggregateState::Rows(Box::default()),
        }
    }

    /// Replaces the arguments' columns (see [`Expression::map_columns`]).
    pub fn map_columns(&mut self, slot_of: &mut impl FnMut(crate::ColumnSlot) -> crate::ColumnSlot) {
        for argument in &mut self.arguments {
            argument.map_columns(slot_of);
        }
        for order in &mut self.order_by {
            order.expression.map_columns(slot_of);
        }
    }

    /// All expressions it evaluates on each row.
    pub fn expressions(&self) -> impl Iterator<Item = &Expression> {
        self.arguments.iter().chain(self.order_by.iter().map(|order| &order.expression))
    }
}

fn converted_argument(function: AggregateFunction, argument: Expression) -> Expression {
    match function {
        AggregateFunction::Sum
        | AggregateFunction::Average
        | AggregateFunction::StandardDeviation
        | AggregateFunction::SampleStandardDeviation
        | AggregateFunction::Variance
        | AggregateFunction::SampleVariance => argument.into_number(),
        AggregateFunction::Minimum | AggregateFunction::Maximum
            if matches!(argument.sql_type, SqlType::Enum { .. } | SqlType::Set { .. }) =>
        {
            argument.into_text()
        }
        AggregateFunction::BitAnd | AggregateFunction::BitOr | AggregateFunction::BitXor => {
            argument.localised()
        }
        AggregateFunction::Count
        | AggregateFunction::Minimum
        | AggregateFunction::Maximum
        | AggregateFunction::GroupConcat
        | AggregateFunction::AnyValue => argument,
    }
}

fn result_type(function: AggregateFunction, argument: Option<&Expression>) -> SqlType {
    let Some(argument) = argument else { return BIGINT };
    let exact = numeric_class(&argument.sql_type) != NumericClass::Double;
    let (precision, scale) = decimal_shape(argument);
    match function {
        AggregateFunction::Count => BIGINT,
        AggregateFunction::Sum if exact => decimal_type(precision + 22, scale),
        AggregateFunction::Average if exact => {
            let increment = u32::from(Decimal::DIVISION_SCALE_INCREMENT);
            decimal_type(precision + increment, scale + increment)
        }
        AggregateFunction::Sum
        | AggregateFunction::Average
        | AggregateFunction::StandardDeviation
        | AggregateFunction::SampleStandardDeviation
        | AggregateFunction::Variance
        | AggregateFunction::SampleVariance => SqlType::Double,
        AggregateFunction::Minimum | AggregateFunction::Maximum | AggregateFunction::AnyValue => {
            argument.sql_type.clone()
        }
        AggregateFunction::BitAnd | AggregateFunction::BitOr | AggregateFunction::BitXor => BIGINT_UNSIGNED,
        AggregateFunction::GroupConcat => argument.sql_type.clone(),
    }
}

/// A running sum, in the kind that its values have.
#[derive(Clone, Copy, PartialEq, Debug, Default, Wire)]
pub enum Sum {
    /// No value yet.
    #[default]
    Nothing,
    /// Integers only.
    Integer(i128),
    /// Exact numbers.
    Decimal(Decimal),
    /// Doubles.
    Double(f64),
}

fn decimal_from_i128(number: i128) -> Option<Decimal> {
    if let Ok(number) = i64::try_from(number) {
        return Some(Decimal::from(number));
    }
    Decimal::parse(number.to_string().as_bytes()).map(|(decimal, _)| decimal)
}

impl Sum {
    #[inline]
    fn add(&mut self, value: Sum) -> Result<(), EvaluationError> {
        let overflow =
            || EvaluationError::new(ER_DATA_OUT_OF_RANGE, "DECIMAL value is out of range in 'sum'");
        *self = match (*self, value) {
            (Sum::Integer(left), Sum::Integer(right)) => {
                Sum::Integer(left.checked_add(right).ok_or_else(overflow)?)
            }
            (sum, Sum::Nothing) => sum,
            (Sum::Nothing, sum) => sum,
            (Sum::Double(left), right) => Sum::Double(left + right.to_double()),
            (left, Sum::Double(right)) => Sum::Double(left.to_double() + right),
            (left, right) => {
                let (left, right) =
                    (left.to_decimal().ok_or_else(overflow)?, right.to_decimal().ok_or_else(overflow)?);
                Sum::Decimal(left.add(&right).map_err(|_| overflow())?)
            }
        };
        Ok(())
    }

    /// Adds a value that is not NULL.
    #[inline]
    fn add_value(&mut self, value: ValueRef<'_>, context: &Context<'_>) -> Result<(), EvaluationError> {
        self.add(match value {
            ValueRef::Int(number) => Sum::Integer(i128::from(number)),
            _ => number_of(value, context)?.map_or(Sum::Nothing, Sum::of),
        })
    }

    /// The same with the other sign; a double is none that could be taken away.
    fn negated(self) -> Result<Self, EvaluationError> {
        Ok(match self {
            Sum::Nothing => Sum::Nothing,
            Sum::Integer(number) => Sum::Integer(-number),
            Sum::Decimal(decimal) => Sum::Decimal(decimal.neg()),
            Sum::Double(_) => return Err(foreign_state()),
        })
    }

    fn of(number: Number) -> Self {
        match number {
            Number::Int(number) => Sum::Integer(i128::from(number)),
            Number::UInt(number) => Sum::Integer(i128::from(number)),
            Number::Double(number) => Sum::Double(number),
            Number::Decimal(decimal) => Sum::Decimal(decimal),
        }
    }

    fn to_decimal(self) -> Option<Decimal> {
        match self {
            Sum::Nothing => Some(Decimal::ZERO),
            Sum::Integer(number) => decimal_from_i128(number),
            Sum::Decimal(decimal) => Some(decimal),
            Sum::Double(number) => Decimal::from_f64(number),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "the nearest double is asked for")]
    fn to_double(self) -> f64 {
        match self {
            Sum::Nothing => 0.0,
            Sum::Integer(number) => number as f64,
            Sum::Decimal(decimal) => decimal.to_f64(),
            Sum::Double(number) => number,
        }
    }

    /// As the call's result type has it; a finite number always.
    fn into_value(self, sql_type: &SqlType) -> Value {
        if let SqlType::Decimal { scale, .. } = sql_type {
            let Some(decimal) = self.to_decimal() else { return Value::Null };
            return Value::Decimal(Box::new(decimal.round(i32::from(*scale)).unwrap_or(decimal)));
        }
        Value::Double(self.to_double())
    }
}

/// Count, mean and squared distance from the mean.
#[derive(Clone, Copy, PartialEq, Debug, Default, Wire)]
pub struct Moments {
    count: u64,
    mean: f64,
    squares: f64,
}

impl Moments {
    fn update(&mut self, number: f64) {
        self.count = self.count.saturating_add(1);
        let distance = number - self.mean;
        self.mean += distance / uint_to_double(self.count);
        self.squares += distance * (number - self.mean);
    }

    fn merge(&mut self, other: Self) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = other;
            return;
        }
        let (left, right) = (uint_to_double(self.count), uint_to_double(other.count));
        let distance = other.mean - self.mean;
        let count = left + right;
        self.mean += distance * right / count;
        self.squares += other.squares + distance * distance * left * right / count;
        self.count = self.count.saturating_add(other.count);
    }

    fn variance(self, sample: bool) -> Option<f64> {
        let divisor = if sample { self.count.checked_sub(1)? } else { self.count };
        if divisor == 0 { None } else { Some(self.squares / uint_to_double(divisor)) }
    }
}

fn value_size(value: &Value) -> usize {
    if let Value::Bytes(bytes) = value { bytes.len() } else { 0 }
}

/// The state of an aggregate after the rows so far.
#[derive(Clone, PartialEq, Debug, Wire)]
pub enum AggregateState {
    /// COUNT.
    Count(u64),
    /// SUM, AVG.
    Total {
        /// The sum of the non-NULL values.
        sum: Sum,
        /// How many those are.
        count: u64,
    },
    /// MIN, MAX: the best so far; NULL before the first.
    Extreme(Value),
    /// ANY_VALUE: the first; none before it.
    Any(Option<Value>),
    /// BIT_AND, BIT_OR, BIT_XOR.
    Bits(u64),
    /// The variances.
    Moments(Moments),
    /// DISTINCT, GROUP_CONCAT.
    Rows(Box<KeptRows>),
}

fn foreign_state() -> EvaluationError {
    EvaluationError::new(1815, "Internal error: an aggregate state of another function")
}

fn is_better(
    function: AggregateFunction,
    candidate: ValueRef<'_>,
    best: ValueRef<'_>,
    sql_type: &SqlType,
) -> bool {
    if candidate.is_null() {
        return false;
    }
    if best.is_null() {
        return true;
    }
    let wanted = if function == AggregateFunction::Minimum { Ordering::Less } else { Ordering::Greater };
    compare_values(&candidate, &best, sql_type) == wanted
}

fn combine_bits(function: AggregateFunction, left: u64, right: u64) -> u64 {
    match function {
        AggregateFunction::BitAnd => left & right,
        AggregateFunction::BitOr => left | right,
        _ => left ^ right,
    }
}

impl AggregateState {
    /// Takes a row into account.
    pub fn update(
        &mut self,
        call: &AggregateCall,
        row: &dyn Columns,
        context: &Context<'_>,
    ) -> Result<(), EvaluationError> {
        if let AggregateState::Rows(rows) = self
            && (call.arguments.len() > 1 || !call.order_by.is_empty())
        {
            return update_rows(rows, call, row, context);
        }
        let Some(argument) = call.arguments.first() else {
            let AggregateState::Count(count) = self else { return Err(foreign_state()) };
            *count += 1;
            return Ok(());
        };
        // The best value is shown, with the digits of its type; sums are made of all digits there are.
        let value = match self {
            AggregateState::Extreme(_) | AggregateState::Any(_) | AggregateState::Rows(_) => {
                argument.evaluate_ref(row, context)?
            }
            _ => argument.value(row, context)?,
        };
        self.take(call, value.as_ref(), context)
    }

    /// Takes one argument value into account, for calls with one argument and nothing to order by. For COUNT(*) each
    /// row has one, which is not NULL.
    #[inline]
    pub fn take(
        &mut self,
        call: &AggregateCall,
        value: ValueRef<'_>,
        context: &Context<'_>,
    ) -> Result<(), EvaluationError> {
        if let AggregateState::Any(any) = self {
            if any.is_none() {
                *any = Some(value.to_value());
            }
            return Ok(());
        }
        if value.is_null() {
            return Ok(());
        }
        match self {
            AggregateState::Count(count) => *count += 1,
            AggregateState::Total { sum, count } => {
                sum.add_value(value, context)?;
                *count += 1;
            }
            AggregateState::Extreme(best) => {
                context.warnings.pass_text(value_size(best));
                if is_better(call.function, value, best.as_ref(), &call.sql_type) {
                    *best = value.to_value();
                }
            }
            AggregateState::Bits(bits) => {
                let integer = crate::conversion::integer_of(value, context)?;
                *bits = combine_bits(call.function, *bits, integer.map_or(0, low_bits));
            }
            AggregateState::Moments(moments) => {
                moments.update(crate::conversion::double_of(value, context)?.unwrap_or(0.0));
            }
            AggregateState::Rows(rows) => {
                // A row is compared with some of those before.
                context.warnings.pass_text(if let ValueRef::Bytes(text) = value {
                    2 * text.len()
                } else {
                    0
                });
                rows.insert(&[value], call)?;
            }
            AggregateState::Any(_) => return Err(foreign_state()),
        }
        Ok(())
    }

    /// Takes back a row that was taken into account, for calls that are retractable.
    pub fn retract(
        &mut self,
        call: &AggregateCall,
        row: &dyn Columns,
        context: &Context<'_>,
    ) -> Result<(), EvaluationError> {
        let mut of_row = call.initial_state();
        of_row.update(call, row, context)?;
        match (self, of_row) {
            (AggregateState::Count(count), AggregateState::Count(own)) => {
                *count = count.saturating_sub(own);
            }
            (
                AggregateState::Total { sum, count },
                AggregateState::Total { sum: own_sum, count: own_count },
            ) => {
                sum.add(own_sum.negated()?)?;
                *count = count.saturating_sub(own_count);
            }
            _ => return Err(foreign_state()),
        }
        Ok(())
    }

    /// Takes the rows of `partial` into account.
    pub fn merge(&mut self, call: &AggregateCall, partial: AggregateState) -> Result<(), EvaluationError> {
        match (self, partial) {
            (AggregateState::Count(count), AggregateState::Count(other)) => {
                *count = count.saturating_add(other);
            }
            (
                AggregateState::Total { sum, count },
                AggregateState::Total { sum: other_sum, count: other_count },
            ) => {
                sum.add(other_sum)?;
                *count = count.saturating_add(other_count);
            }
            (AggregateState::Extreme(best), AggregateState::Extreme(other)) => {
                if is_better(call.function, other.as_ref(), best.as_ref(), &call.sql_type) {
                    *best = other;
                }
            }
            (AggregateState::Any(any), AggregateState::Any(other)) => {
                if any.is_none() {
                    *any = other;
                }
            }
            (AggregateState::Bits(bits), AggregateState::Bits(other)) => {
                *bits = combine_bits(call.function, *bits, other);
            }
            (AggregateState::Moments(moments), AggregateState::Moments(other)) => moments.merge(other),
            (AggregateState::Rows(rows), AggregateState::Rows(other)) => rows.merge(*other, call)?,
            _ => return Err(foreign_state()),
        }
        Ok(())
    }

    /// How many rows of their own a state brings when it is merged.
    #[must_use]
    pub fn row_count(&self, call: &AggregateCall) -> usize {
        if let AggregateState::Rows(rows) = self { rows.count(call) } else { 1 }
    }

    /// The state of a portion of its rows, from this one on (0 at first), and where the next portion begins; None if
    /// this is the last one. Merged one behind the other they are the state again.
    #[must_use]
    pub fn portion(&self, call: &AggregateCall, from: usize) -> (AggregateState, Option<usize>) {
        match self {
            AggregateState::Rows(rows) => {
                let (rows, next) = rows.portion(call, from);
                (AggregateState::Rows(Box::new(rows)), next)
            }
            state if from == 0 => (state.clone(), None),
            _ => (call.initial_state(), None),
        }
    }

    /// Does a portion, `rows_max` rows, of what `finish` would do of its own accord; true if nothing is left.
    pub fn settle(&mut self, call: &AggregateCall, rows_max: usize) -> Result<bool, EvaluationError> {
        if let AggregateState::Rows(rows) = self { rows.settle(call, rows_max) } else { Ok(true) }
    }

    /// The result.
    pub fn finish(&self, call: &AggregateCall, context: &Context<'_>) -> Result<Value, EvaluationError> {
        Ok(match self {
            AggregateState::Count(count) => Value::Int(i64::try_from(*count).unwrap_or(i64::MAX)),
            AggregateState::Total { count: 0, .. } => Value::Null,
            AggregateState::Total { sum, count } if call.function == AggregateFunction::Average => {
                average(*sum, *count, &call.sql_type)
            }
            AggregateState::Total { sum, .. } => finite(sum.into_value(&call.sql_type))?,
            AggregateState::Extreme(value) => value.clone(),
            AggregateState::Any(value) => value.clone().unwrap_or(Value::Null),
            AggregateState::Bits(bits) => Value::UInt(*bits),
            AggregateState::Moments(moments) => {
                let sample = matches!(
                    call.function,
                    AggregateFunction::SampleVariance | AggregateFunction::SampleStandardDeviation
                );
                let root = matches!(
                    call.function,
                    AggregateFunction::StandardDeviation | AggregateFunction::SampleStandardDeviation
                );
                let variance = moments.variance(sample);
                variance.map_or(Value::Null, |variance| {
                    Value::Double(if root { variance.sqrt() } else { variance })
                })
            }
            AggregateState::Rows(rows) => return rows_result(rows, call, context),
        })
    }

    /// Bytes it holds beyond its own size, for the query's memory account.
    #[inline]
    #[must_use]
    pub fn memory_size(&self) -> usize {
        match self {
            AggregateState::Extreme(value) | AggregateState::Any(Some(value)) => value_size(value),
            AggregateState::Rows(rows) => size_of::<KeptRows>() + rows.memory_size(),
            AggregateState::Count(_)
            | AggregateState::Total { .. }
            | AggregateState::Any(None)
            | AggregateState::Bits(_)
            | AggregateState::Moments(_) => 0,
        }
    }
}

/// Takes a row of several values into account where rows are kept.
fn update_rows(
    rows: &mut KeptRows,
    call: &AggregateCall,
    row: &dyn Columns,
    context: &Context<'_>,
) -> Result<(), EvaluationError> {
    let mut values = Vec::with_capacity(call.arguments.len() + call.order_by.len());
    for argument in &call.arguments {
        let value = argument.evaluate_ref(row, context)?;
        if value.is_null() {
            return Ok(());
        }
        values.push(value);
    }
    for order in &call.order_by {
        values.push(order.expression.evaluate_ref(row, context)?);
    }
    let values: Vec<ValueRef<'_>> = values.iter().map(Evaluated::as_ref).collect();
    keep_row(rows, &values, call, context)
}

#[inline(never)]
fn keep_row(
    rows: &mut KeptRows,
    values: &[ValueRef<'_>],
    call: &AggregateCall,
    context: &Context<'_>,
) -> Result<(), EvaluationError> {
    // A row is compared with some of those before.
    for value in values {
        context.warnings.pass_text(if let ValueRef::Bytes(text) = value { 2 * text.len() } else { 0 });
    }
    rows.insert(values, call)
}

fn finite(value: Value) -> Result<Value, EvaluationError> {
    match value {
        Value::Double(number) if !number.is_finite() => {
            Err(EvaluationError::new(ER_DATA_OUT_OF_RANGE, "DOUBLE value is out of range in 'sum'"))
        }
        value => Ok(value),
    }
}

fn average(sum: Sum, count: u64, sql_type: &SqlType) -> Value {
    if let SqlType::Decimal { scale, .. } = sql_type {
        let count = Decimal::from(count);
        let quotient = sum.to_decimal().and_then(|sum| {
            let digits = crate::arithmetic::quotient_scale(&sum, &count).max(*scale);
            let cut =
                sum.div_and_cut(&count, digits).and_then(|quotient| Ok(quotient.round(i32::from(*scale))?));
            // Too many digits: those of the type may do.
            cut.or_else(|_| sum.div_with_scale(&count, *scale)).ok()
        });
        return quotient.map_or(Value::Null, |quotient| Value::Decimal(Box::new(quotient)));
    }
    Value::Double(sum.to_double() / uint_to_double(count))
}

/// GROUP_CONCAT; COUNT, SUM and AVG of distinct rows.
fn rows_result(
    rows: &KeptRows,
    call: &AggregateCall,
    context: &Context<'_>,
) -> Result<Value, EvaluationError> {
    if call.function == AggregateFunction::GroupConcat {
        return rows.concatenate(call, context);
    }
    let count = rows.count(call) as u64;
    let plain = AggregateCall { distinct: false, ..call.clone() };
    if call.function == AggregateFunction::Count {
        return AggregateState::Count(count).finish(&plain, context);
    }
    AggregateState::Total { sum: rows.whole_sum(call)?, count }.finish(&plain, context)
}
