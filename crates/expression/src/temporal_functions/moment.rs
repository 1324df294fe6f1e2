//! Functions whose argument may be an instant or a duration: EXTRACT, TIMESTAMPDIFF, TIMEDIFF, ADDTIME.

use super::{datetime_value, int, time_value};
use crate::context::EvaluationError;
use crate::conversion::{datetime_of, time_of};
use crate::evaluation::Evaluated;
use crate::function::Call;
use crate::interval::is_calendar_unit;
use crate::node::IntervalUnit;
use types::{Date, DateTime, Interval, SqlType, Time, ValueRef};

/// The kinds of temporal argument.
#[derive(Clone, Copy)]
enum Moment {
    Instant(DateTime),
    Duration(Time),
}

/// Text of this length and more is tried as an instant first, shorter text is a duration.
const INSTANT_TEXT_LENGTH: usize = 12;

impl<'a> Call<'a> {
    fn moment(&self, index: usize) -> Result<Option<Moment>, EvaluationError> {
        let value = self.value(index)?;
        let value = value.as_ref();
        let is_instant = match value {
            ValueRef::Null => return Ok(None),
            ValueRef::Date(_) | ValueRef::DateTime(_) => true,
            ValueRef::Bytes(text) => {
                text.len() >= INSTANT_TEXT_LENGTH
                    && DateTime::parse(text).is_some_and(|parsed| parsed.has_time)
            }
            ValueRef::Int(number) => number >= 10_000_000_000,
            ValueRef::UInt(number) => number >= 10_000_000_000,
            ValueRef::Time(_) | ValueRef::Double(_) | ValueRef::Decimal(_) => false,
        };
        if is_instant {
            return Ok(datetime_of(value, self.context)?.map(Moment::Instant));
        }
        Ok(time_of(value, self.context)?.map(Moment::Duration))
    }

    /// ADDTIME (`sign` 1), SUBTIME (-1), TIMESTAMP with two arguments.
    pub(super) fn add_time(self, sign: i64) -> Result<Evaluated<'a>, EvaluationError> {
        let wants_instant = matches!(self.sql_type, SqlType::DateTime { .. });
        let start = if wants_instant { self.datetime(0)?.map(Moment::Instant) } else { self.moment(0)? };
        let (Some(start), Some(Moment::Duration(addition))) = (start, self.moment(1)?) else {
            return Ok(Evaluated::NULL);
        };
        let microseconds = addition.microseconds() * sign;
        let is_text = !matches!(self.sql_type, SqlType::DateTime { .. } | SqlType::Time { .. });
        Ok(match start {
            Moment::Instant(instant) => {
                let sum = instant.add_interval(Interval { microseconds, ..Interval::default() });
                match sum {
                    Some(sum) if is_text => {
                        text(|fraction, text| sum.write(fraction, text), sum.microsecond())
                    }
                    sum => datetime_value(sum),
                }
            }
            Moment::Duration(duration) => {
                let limit = Time::MAX.truncate(0).microseconds();
                let sum = duration.microseconds() + microseconds;
                if sum.abs() > limit {
                    self.context.truncated("time", b"ADDTIME")?;
                }
                let sum = Time::from_microseconds_clamped(sum.clamp(-limit, limit));
                if is_text {
                    text(|fraction, text| sum.write(fraction, text), sum.microsecond())
                } else {
                    time_value(Some(sum))
                }
            }
        })
    }

    /// TIMEDIFF: of two instants or two durations, NULL for one of each.
    pub(super) fn time_difference(self) -> Result<Evaluated<'a>, EvaluationError> {
        let difference = match (self.moment(0)?, self.moment(1)?) {
            (Some(Moment::Instant(left)), Some(Moment::Instant(right))) => left.microseconds_since(right),
            (Some(Moment::Duration(left)), Some(Moment::Duration(right))) => {
                left.microseconds() - right.microseconds()
            }
            _ => return Ok(Evaluated::NULL),
        };
        let limit = Time::MAX.truncate(0).microseconds();
        if difference.abs() > limit {
            let mut shown = Vec::new();
            Time::from_microseconds_clamped(difference).write(0, &mut shown);
            self.context.truncated("time", &shown)?;
        }
        Ok(time_value(Some(Time::from_microseconds_clamped(difference.clamp(-limit, limit)))))
    }

    /// EXTRACT: the fields of a composite unit as one number, two digits each (six for microseconds).
    pub(crate) fn extract(self, unit: IntervalUnit) -> Result<Evaluated<'a>, EvaluationError> {
        if is_calendar_unit(unit) {
            let Some(date) = self.date(0)? else { return Ok(Evaluated::NULL) };
            return Ok(int(extract_date(unit, date)));
        }
        let (day, time) = match self.moment(0)? {
            None => return Ok(Evaluated::NULL),
            Some(Moment::Instant(instant)) => (i64::from(instant.date().day()), instant.time()),
            Some(Moment::Duration(time)) => (0, time),
        };
        let number = extract_clock(unit, day, time);
        Ok(int(if time.is_negative() { -number } else { number }))
    }

    /// TIMESTAMPDIFF: whole units from the first to the second.
    pub(crate) fn timestamp_difference(self, unit: IntervalUnit) -> Result<Evaluated<'a>, EvaluationError> {
        let is_day = |instant: &DateTime| !instant.date().has_zero_part();
        let (from, to) = (self.datetime(0)?.filter(is_day), self.datetime(1)?.filter(is_day));
        let (Some(from), Some(to)) = (from, to) else { return Ok(Evaluated::NULL) };
        let microseconds = to.microseconds_since(from);
        const SECOND: i64 = 1_000_000;
        Ok(int(match unit {
            IntervalUnit::Microsecond => microseconds,
            IntervalUnit::Second => microseconds / SECOND,
            IntervalUnit::Minute => microseconds / (60 * SECOND),
            IntervalUnit::Hour => microseconds / (3_600 * SECOND),
            IntervalUnit::Day => microseconds / (86_400 * SECOND),
            IntervalUnit::Week => microseconds / (7 * 86_400 * SECOND),
            IntervalUnit::Quarter => whole_months(from, to) / 3,
            IntervalUnit::Year => whole_months(from, to) / 12,
            _ => whole_months(from, to),
        }))
    }
}

fn text<'v>(write: impl FnOnce(u8, &mut Vec<u8>), microsecond: u32) -> Evaluated<'v> {
    let mut text = Vec::new();
    write(if microsecond == 0 { 0 } else { 6 }, &mut text);
    Evaluated::from_bytes(text)
}

/// Complete months from one instant to another, negative backwards.
fn whole_months(from: DateTime, to: DateTime) -> i64 {
    if to < from {
        return -whole_months(to, from);
    }
    let months = |date: Date| i64::from(date.year()) * 12 + i64::from(date.month());
    let count = months(to.date()) - months(from.date());
    let incomplete = (to.date().day(), to.time()) < (from.date().day(), from.time());
    count - i64::from(incomplete)
}

fn extract_date(unit: IntervalUnit, date: Date) -> i64 {
    i64::from(match unit {
        IntervalUnit::Year => date.year(),
        IntervalUnit::YearMonth => date.year() * 100 + date.month(),
        IntervalUnit::Quarter => date.month().div_ceil(3),
        IntervalUnit::Month => date.month(),
        IntervalUnit::Week => date.week(types::WeekMode::new(0)).1,
        _ => date.day(),
    })
}

fn extract_clock(unit: IntervalUnit, day: i64, time: Time) -> i64 {
    let (hours, minute) = (i64::from(time.hours()), i64::from(time.minute()));
    let (second, microsecond) = (i64::from(time.second()), i64::from(time.microsecond()));
    let clock = hours * 10_000 + minute * 100 + second;
    match unit {
        IntervalUnit::Hour => hours,
        IntervalUnit::Minute => minute,
        IntervalUnit::Second => second,
        IntervalUnit::SecondMicrosecond => second * 1_000_000 + microsecond,
        IntervalUnit::MinuteSecond => minute * 100 + second,
        IntervalUnit::MinuteMicrosecond => (minute * 100 + second) * 1_000_000 + microsecond,
        IntervalUnit::HourMinute => hours * 100 + minute,
        IntervalUnit::HourSecond => clock,
        IntervalUnit::HourMicrosecond => clock * 1_000_000 + microsecond,
        IntervalUnit::DayHour => day * 100 + hours,
        IntervalUnit::DayMinute => day * 10_000 + hours * 100 + minute,
        IntervalUnit::DaySecond => day * 1_000_000 + clock,
        IntervalUnit::DayMicrosecond => (day * 1_000_000 + clock) * 1_000_000 + microsecond,
        _ => microsecond,
    }
}
