//! `date ± INTERVAL amount unit`.
//!
//! A DATE with a unit of days and longer stays a DATE, with a shorter one it becomes a DATETIME. A TIME stays a TIME
//! unless the unit has days. Text stays text, in the form its value has. Composite units ('1:30' MINUTE_SECOND) are
//! groups of digits, the missing ones on the left.
//!
//! Invariant: a result outside the calendar is NULL with warning 1441, never a wrapped date.

use crate::context::{Context, ER_DATETIME_FUNCTION_OVERFLOW, EvaluationError};
use crate::conversion::{datetime_of, i64_of, number_of, text_of, time_of};
use crate::evaluation::Evaluated;
use crate::node::{Expression, IntervalUnit};
use crate::typing::{TypingContext, fraction_digits, is_temporal, text_type};
use types::{DateTime, Decimal, Interval, SqlType, Time, Value, ValueRef};

const SECOND: i64 = 1_000_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// Which way `INTERVAL` goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// `+`, DATE_ADD.
    Add,
    /// `-`, DATE_SUB.
    Subtract,
}

/// True if the unit has days or longer, and nothing shorter.
pub(crate) fn is_calendar_unit(unit: IntervalUnit) -> bool {
    matches!(
        unit,
        IntervalUnit::Day
            | IntervalUnit::Week
            | IntervalUnit::Month
            | IntervalUnit::Quarter
            | IntervalUnit::Year
            | IntervalUnit::YearMonth
    )
}

/// True if the unit has nothing as long as a day.
fn is_clock_unit(unit: IntervalUnit) -> bool {
    matches!(
        unit,
        IntervalUnit::Microsecond
            | IntervalUnit::Second
            | IntervalUnit::Minute
            | IntervalUnit::Hour
            | IntervalUnit::SecondMicrosecond
            | IntervalUnit::MinuteMicrosecond
            | IntervalUnit::MinuteSecond
            | IntervalUnit::HourMicrosecond
            | IntervalUnit::HourSecond
            | IntervalUnit::HourMinute
    )
}

fn has_microseconds(unit: IntervalUnit) -> bool {
    matches!(
        unit,
        IntervalUnit::Microsecond
            | IntervalUnit::SecondMicrosecond
            | IntervalUnit::MinuteMicrosecond
            | IntervalUnit::HourMicrosecond
            | IntervalUnit::DayMicrosecond
    )
}

/// The type of `date ± INTERVAL amount unit`.
pub(crate) fn result_type(
    date: &Expression,
    amount: &Expression,
    unit: IntervalUnit,
    typing: &TypingContext,
) -> SqlType {
    let of_unit = match unit {
        unit if has_microseconds(unit) => 6,
        IntervalUnit::Second => fraction_digits(amount),
        _ => 0,
    };
    let fraction = fraction_digits(date).max(of_unit);
    match &date.sql_type {
        SqlType::Date if is_calendar_unit(unit) => SqlType::Date,
        SqlType::Date => SqlType::DateTime { fraction: of_unit },
        SqlType::Time { .. } if is_clock_unit(unit) => SqlType::Time { fraction },
        sql_type if is_temporal(sql_type) => SqlType::DateTime { fraction },
        _ => text_type(29, typing.collation),
    }
}

/// Fields of a composite unit, the longest first, as what each counts.
fn fields(unit: IntervalUnit) -> &'static [i64] {
    match unit {
        IntervalUnit::SecondMicrosecond => &[SECOND, 1],
        IntervalUnit::MinuteMicrosecond => &[MINUTE, SECOND, 1],
        IntervalUnit::MinuteSecond => &[MINUTE, SECOND],
        IntervalUnit::HourMicrosecond => &[HOUR, MINUTE, SECOND, 1],
        IntervalUnit::HourSecond => &[HOUR, MINUTE, SECOND],
        IntervalUnit::HourMinute => &[HOUR, MINUTE],
        IntervalUnit::DayMicrosecond => &[DAY, HOUR, MINUTE, SECOND, 1],
        IntervalUnit::DaySecond => &[DAY, HOUR, MINUTE, SECOND],
        IntervalUnit::DayMinute => &[DAY, HOUR, MINUTE],
        IntervalUnit::DayHour => &[DAY, HOUR],
        IntervalUnit::YearMonth => &[12, 1],
        IntervalUnit::Microsecond
        | IntervalUnit::Second
        | IntervalUnit::Minute
        | IntervalUnit::Hour
        | IntervalUnit::Day
        | IntervalUnit::Week
        | IntervalUnit::Month
        | IntervalUnit::Quarter
        | IntervalUnit::Year => &[],
    }
}

/// The amount of a single unit.
fn simple(unit: IntervalUnit, amount: i64) -> Option<Interval> {
    let months = |months: i64| Some(Interval { months, ..Interval::default() });
    let days = |days: i64| Some(Interval { days, ..Interval::default() });
    let clock = |unit: i64| {
        // Whole days go into `days`, so that long intervals do not overflow.
        let per_day = DAY / unit;
        let microseconds = (amount % per_day) * unit;
        Some(Interval { months: 0, days: amount / per_day, microseconds })
    };
    match unit {
        IntervalUnit::Year => months(amount.checked_mul(12)?),
        IntervalUnit::Quarter => months(amount.checked_mul(3)?),
        IntervalUnit::Month => months(amount),
        IntervalUnit::Week => days(amount.checked_mul(7)?),
        IntervalUnit::Day => days(amount),
        IntervalUnit::Hour => clock(HOUR),
        IntervalUnit::Minute => clock(MINUTE),
        IntervalUnit::Second => clock(SECOND),
        _ => clock(1),
    }
}

/// Digit groups of a composite amount; `None` beyond 64 bits.
fn composite(unit: IntervalUnit, text: &[u8]) -> Option<Interval> {
    let fields = fields(unit);
    let negative = text.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'-');
    let mut groups: Vec<(i64, u32)> = Vec::with_capacity(fields.len());
    let mut rest = text;
    while groups.len() < fields.len() {
        let Some(start) = rest.iter().position(u8::is_ascii_digit) else { break };
        let digits = &rest[start..];
        let end = digits.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(digits.len());
        let number = std::str::from_utf8(&digits[..end]).ok()?.parse::<i64>().ok()?;
        groups.push((number, u32::try_from(end).ok()?));
        rest = &digits[end..];
    }
    let (mut small, mut days) = (0_i64, 0_i64);
    for (field, (number, digit_count)) in fields.iter().rev().zip(groups.iter().rev()) {
        match *field {
            DAY => days = days.checked_add(*number)?,
            // The microsecond field is a fraction: '1.5' is half a second.
            1 if has_microseconds(unit) && *digit_count < 6 => {
                small = small.checked_add(number.checked_mul(10_i64.pow(6 - digit_count))?)?;
            }
            field => small = small.checked_add(number.checked_mul(field)?)?,
        }
    }
    let interval = if unit == IntervalUnit::YearMonth {
        Interval { months: small, ..Interval::default() }
    } else {
        Interval { months: 0, days, microseconds: small }
    };
    if negative { interval.negated() } else { Some(interval) }
}

/// A number of seconds with its fraction.
fn seconds(amount: Decimal) -> Option<Interval> {
    let microseconds = amount.mul(&Decimal::from(SECOND)).ok()?.to_i64()?;
    Some(Interval { months: 0, days: microseconds / DAY, microseconds: microseconds % DAY })
}

/// One kind of addition, ready for values.
pub(crate) struct Addition {
    pub(crate) unit: IntervalUnit,
    pub(crate) negated: bool,
}

impl Addition {
    /// `date ± INTERVAL amount unit` for two values.
    pub(crate) fn apply<'v>(
        &self,
        date: ValueRef<'_>,
        amount: ValueRef<'_>,
        sql_type: &SqlType,
        context: &Context<'_>,
    ) -> Result<Evaluated<'v>, EvaluationError> {
        if date.is_null() || amount.is_null() {
            return Ok(Evaluated::NULL);
        }
        let interval = self.interval(amount, context)?;
        if let SqlType::Time { .. } = sql_type {
            let Some(time) = time_of(date, context)? else { return Ok(Evaluated::NULL) };
            let sum = interval.and_then(|interval| add_to_time(time, interval));
            return overflow_checked(sum.map(ValueRef::Time), "time", context);
        }
        let Some(start) = datetime_of(date, context)? else { return Ok(Evaluated::NULL) };
        if start.date().has_zero_part() {
            context.incorrect("datetime", &text_of(date, &SqlType::Null))?;
            return Ok(Evaluated::NULL);
        }
        let sum = interval.and_then(|interval| start.add_interval(interval));
        let Some(sum) = sum else { return overflow_checked(None, "datetime", context) };
        match sql_type {
            SqlType::Date => Ok(Evaluated::Borrowed(ValueRef::Date(sum.date()))),
            SqlType::DateTime { .. } => Ok(Evaluated::Borrowed(ValueRef::DateTime(sum))),
            _ => Ok(self.as_text(date, sum)),
        }
    }

    /// The interval, sign applied; `None` beyond 64 bits.
    fn interval(
        &self,
        amount: ValueRef<'_>,
        context: &Context<'_>,
    ) -> Result<Option<Interval>, EvaluationError> {
        let interval = if !fields(self.unit).is_empty() {
            composite(self.unit, &text_of(amount, &SqlType::Null))
        } else if self.unit == IntervalUnit::Second {
            let decimal = match amount {
                ValueRef::Bytes(text) => Some(crate::conversion::text_to_decimal(text, context)?),
                _ => number_of(amount, context)?.and_then(crate::conversion::Number::to_decimal),
            };
            decimal.and_then(seconds)
        } else {
            i64_of(amount, context)?.and_then(|amount| simple(self.unit, amount))
        };
        Ok(if self.negated { interval.and_then(Interval::negated) } else { interval })
    }

    /// Text that was a day stays one where the unit has no clock; a fraction is shown where there is one.
    fn as_text<'v>(&self, date: ValueRef<'_>, sum: DateTime) -> Evaluated<'v> {
        let has_time = match date {
            ValueRef::Bytes(text) => DateTime::parse(text).is_some_and(|parsed| parsed.has_time),
            ValueRef::Int(number) => number > 99_999_999,
            ValueRef::UInt(number) => number > 99_999_999,
            _ => true,
        };
        let mut text = Vec::with_capacity(26);
        if !has_time && is_calendar_unit(self.unit) {
            sum.date().write(&mut text);
        } else {
            sum.write(if sum.microsecond() == 0 { 0 } else { 6 }, &mut text);
        }
        Evaluated::Owned(Value::Bytes(text))
    }
}

fn add_to_time(time: Time, interval: Interval) -> Option<Time> {
    let addition = interval.days.checked_mul(DAY)?.checked_add(interval.microseconds)?;
    Time::from_microseconds(time.microseconds().checked_add(addition)?)
}

fn overflow_checked<'v>(
    value: Option<ValueRef<'v>>,
    kind: &str,
    context: &Context<'_>,
) -> Result<Evaluated<'v>, EvaluationError> {
    if let Some(value) = value {
        return Ok(Evaluated::Borrowed(value));
    }
    let message = || format!("Datetime function: {kind} field overflow");
    if context.sql_mode.strict {
        return Err(EvaluationError::new(ER_DATETIME_FUNCTION_OVERFLOW, message()));
    }
    context.warnings.push(ER_DATETIME_FUNCTION_OVERFLOW, message);
    Ok(Evaluated::NULL)
}

/// An interval of one unit, for TIMESTAMPADD and the like; `None` for composite units.
pub(crate) fn is_simple(unit: IntervalUnit) -> bool {
    fields(unit).is_empty()
}
