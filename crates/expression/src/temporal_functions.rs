//! Functions on dates and times.
//!
//! Arguments of any type are read as instants, days or durations as `conversion` says. Functions that need a day of the
//! calendar give NULL for dates with zero parts; YEAR, MONTH and DAY take them. TIMESTAMP arguments arrive in the
//! session's time zone already.
//!
//! - `temporal_functions/moment.rs`: EXTRACT, TIMESTAMPDIFF, TIMEDIFF, ADDTIME: what works on an instant or a duration.
//!
//! Invariant: NOW() is the statement's start everywhere; SYSDATE() too (MySQL asks the clock; here no clock can be
//! asked).

mod moment;

use crate::context::EvaluationError;
use crate::context::TypeError;
use crate::conversion::{Number, clamp_i64, shifted};
use crate::evaluation::Evaluated;
use crate::function::{Call, Function, Typed, functions};
use crate::node::{Expression, IntervalUnit, Node};
use crate::temporal_format as format;
use crate::typing::{
    BIGINT, TypingContext, decimal_type, fraction_digits, is_temporal, is_text, text_type,
    time_fraction_digits,
};
use types::{Date, DateTime, Decimal, SqlType, Time, Value, ValueRef, WeekMode};

functions! {
    /// Functions on dates and times.
    TemporalFunction {
        Now "NOW" ["CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP", "SYSDATE"] 0..=1,
        UtcTimestamp "UTC_TIMESTAMP" 0..=1,
        CurrentDate "CURDATE" ["CURRENT_DATE"] 0..=0,
        CurrentTime "CURTIME" ["CURRENT_TIME"] 0..=1,
        UtcDate "UTC_DATE" 0..=0,
        UtcTime "UTC_TIME" 0..=1,
        Timestamp "TIMESTAMP" 2..=2,
        Year "YEAR" 1..=1,
        Month "MONTH" 1..=1,
        Day "DAY" ["DAYOFMONTH"] 1..=1,
        DayOfWeek "DAYOFWEEK" 1..=1,
        DayOfYear "DAYOFYEAR" 1..=1,
        Weekday "WEEKDAY" 1..=1,
        Week "WEEK" 1..=2,
        WeekOfYear "WEEKOFYEAR" 1..=1,
        YearWeek "YEARWEEK" 1..=2,
        Quarter "QUARTER" 1..=1,
        Hour "HOUR" 1..=1,
        Minute "MINUTE" 1..=1,
        Second "SECOND" 1..=1,
        Microsecond "MICROSECOND" 1..=1,
        DayName "DAYNAME" 1..=1,
        MonthName "MONTHNAME" 1..=1,
        LastDay "LAST_DAY" 1..=1,
        DateDifference "DATEDIFF" 2..=2,
        TimeDifference "TIMEDIFF" 2..=2,
        DateFormat "DATE_FORMAT" 2..=3,
        TimeFormat "TIME_FORMAT" 2..=2,
        StringToDate "STR_TO_DATE" 2..=2,
        UnixTimestamp "UNIX_TIMESTAMP" 0..=1,
        FromUnixTime "FROM_UNIXTIME" 1..=2,
        ToDays "TO_DAYS" 1..=1,
        FromDays "FROM_DAYS" 1..=1,
        ToSeconds "TO_SECONDS" 1..=1,
        TimeToSeconds "TIME_TO_SEC" 1..=1,
        SecondsToTime "SEC_TO_TIME" 1..=1,
        MakeDate "MAKEDATE" 2..=2,
        MakeTime "MAKETIME" 3..=3,
        PeriodAdd "PERIOD_ADD" 2..=2,
        PeriodDifference "PERIOD_DIFF" 2..=2,
        AddTime "ADDTIME" 2..=2,
        SubtractTime "SUBTIME" 2..=2,
        GetFormat "GET_FORMAT" 2..=2,
        ConvertTimeZone "CONVERT_TZ" 3..=3,
    }
}

/// The last second that FROM_UNIXTIME knows: 3001-01-18 23:59:59 UTC.
const UNIX_SECONDS_MAX: i64 = 32_536_771_199;

/// The fraction digits that a literal argument asks for.
fn asked_fraction(arguments: &[Expression], name: &str) -> Result<u8, TypeError> {
    let digits = match arguments.first().map(|argument| argument.as_literal()) {
        None => return Ok(0),
        Some(Some(Value::Int(digits))) => u8::try_from(*digits).ok(),
        Some(_) => None,
    };
    match digits {
        Some(digits) if digits <= 6 => Ok(digits),
        Some(digits) => Err(TypeError::BadPrecision(
            1426,
            format!(
                "Too-big precision {digits} specified for '{}'. Maximum is 6.",
                name.to_ascii_lowercase()
            ),
        )),
        None => Err(TypeError::WrongArguments(name.to_owned())),
    }
}

fn fraction_of(arguments: &[Expression], index: usize) -> u8 {
    arguments.get(index).map_or(0, fraction_digits)
}

impl TemporalFunction {
    pub(crate) fn typed(
        self,
        arguments: Vec<Expression>,
        typing: &TypingContext,
    ) -> Result<Typed, TypeError> {
        let arguments: Vec<Expression> = arguments.into_iter().map(member_as_text).collect();
        let text = |length| text_type(length, typing.collation);
        let first = fraction_of(&arguments, 0);
        let time_fraction = |index: usize| arguments.get(index).map_or(0, time_fraction_digits);
        let sql_type = match self {
            Self::Now | Self::UtcTimestamp | Self::CurrentTime | Self::UtcTime => {
                let fraction = asked_fraction(&arguments, self.name())?;
                let sql_type = if matches!(self, Self::Now | Self::UtcTimestamp) {
                    SqlType::DateTime { fraction }
                } else {
                    SqlType::Time { fraction }
                };
                return Ok(Typed { arguments: Vec::new(), sql_type, nullable: false });
            }
            Self::CurrentDate | Self::UtcDate => {
                return Ok(Typed { arguments, sql_type: SqlType::Date, nullable: false });
            }
            Self::UnixTimestamp if arguments.is_empty() => {
                return Ok(Typed { arguments, sql_type: BIGINT, nullable: false });
            }
            Self::UnixTimestamp if first == 0 => BIGINT,
            Self::UnixTimestamp => decimal_type(11 + u32::from(first), u32::from(first)),
            Self::Timestamp => SqlType::DateTime { fraction: first.max(time_fraction(1)) },
            Self::Year
            | Self::Month
            | Self::Day
            | Self::DayOfWeek
            | Self::DayOfYear
            | Self::Weekday
            | Self::Week
            | Self::WeekOfYear
            | Self::YearWeek
            | Self::Quarter
            | Self::Hour
            | Self::Minute
            | Self::Second
            | Self::Microsecond
            | Self::DateDifference
            | Self::ToDays
            | Self::ToSeconds
            | Self::TimeToSeconds
            | Self::PeriodAdd
            | Self::PeriodDifference => BIGINT,
            Self::DayName | Self::MonthName => text(9),
            Self::LastDay | Self::FromDays | Self::MakeDate => SqlType::Date,
            Self::TimeDifference => SqlType::Time { fraction: time_fraction(0).max(time_fraction(1)) },
            Self::SecondsToTime => SqlType::Time { fraction: seconds_fraction(&arguments, 0) },
            Self::MakeTime => SqlType::Time { fraction: seconds_fraction(&arguments, 2) },
            Self::DateFormat | Self::TimeFormat => text(255),
            Self::FromUnixTime if arguments.len() > 1 => text(255),
            Self::FromUnixTime => SqlType::DateTime { fraction: seconds_fraction(&arguments, 0) },
            Self::StringToDate => format::parsed_type(arguments.get(1).and_then(Expression::as_literal)),
            Self::AddTime | Self::SubtractTime => {
                let fraction = first.max(time_fraction(1));
                match arguments.first().map(|argument| &argument.sql_type) {
                    Some(SqlType::Time { .. }) => SqlType::Time { fraction },
                    Some(sql_type) if is_temporal(sql_type) => SqlType::DateTime { fraction },
                    _ => text(29),
                }
            }
            Self::GetFormat => text(17),
            Self::ConvertTimeZone => SqlType::DateTime { fraction: first },
        };
        Ok(Typed::nullable(arguments, sql_type))
    }
}

/// Seconds given as a number keep its digits; text has six.
fn seconds_fraction(arguments: &[Expression], index: usize) -> u8 {
    match arguments.get(index) {
        None => 0,
        Some(argument) if is_temporal(&argument.sql_type) => 0,
        Some(argument) if is_text(&argument.sql_type) => 6,
        Some(argument) => fraction_digits(argument),
    }
}

impl Expression {
    /// EXTRACT(unit FROM operand).
    #[must_use]
    pub fn extract(unit: IntervalUnit, operand: Self) -> Self {
        let node = Node::Function {
            function: Function::Extract(unit),
            arguments: vec![member_as_text(operand.localised())].into(),
        };
        Self::new(node, BIGINT, true)
    }

    /// TIMESTAMPDIFF(unit, from, to).
    pub fn timestamp_difference(unit: IntervalUnit, from: Self, to: Self) -> Result<Self, TypeError> {
        if !crate::interval::is_simple(unit) {
            return Err(TypeError::WrongArguments("timestampdiff".to_owned()));
        }
        let arguments = vec![member_as_text(from.localised()), member_as_text(to.localised())].into();
        let node = Node::Function { function: Function::TimestampDifference(unit), arguments };
        Ok(Self::new(node, BIGINT, true))
    }
}

/// ENUM and SET are read by their text, not by their number.
pub(crate) fn member_as_text(argument: Expression) -> Expression {
    if matches!(argument.sql_type, SqlType::Enum { .. } | SqlType::Set { .. }) {
        argument.into_text()
    } else {
        argument
    }
}

fn int<'v>(number: impl Into<i64>) -> Evaluated<'v> {
    Evaluated::Borrowed(ValueRef::Int(number.into()))
}

fn date_value<'v>(date: Option<Date>) -> Evaluated<'v> {
    Evaluated::Borrowed(date.map_or(ValueRef::Null, ValueRef::Date))
}

fn time_value<'v>(time: Option<Time>) -> Evaluated<'v> {
    Evaluated::Borrowed(time.map_or(ValueRef::Null, ValueRef::Time))
}

fn datetime_value<'v>(datetime: Option<DateTime>) -> Evaluated<'v> {
    Evaluated::Borrowed(datetime.map_or(ValueRef::Null, ValueRef::DateTime))
}

impl<'a> Call<'a> {
    /// A function of one date of the calendar.
    fn of_day(self, function: impl FnOnce(Date) -> Evaluated<'a>) -> Result<Evaluated<'a>, EvaluationError> {
        Ok(self.calendar_day(0)?.map_or(Evaluated::NULL, function))
    }

    /// Argument `index` as a day of the calendar: zero parts count as NULL.
    fn calendar_day(&self, index: usize) -> Result<Option<Date>, EvaluationError> {
        let Some(date) = self.date(index)? else { return Ok(None) };
        if !date.has_zero_part() {
            return Ok(Some(date));
        }
        let value = self.value(index)?;
        if let ValueRef::Bytes(text) = value.as_ref() {
            self.context.incorrect("datetime", text)?;
        }
        Ok(None)
    }

    /// A function of one date that may have zero parts.
    fn of_date(self, function: impl FnOnce(Date) -> u32) -> Result<Evaluated<'a>, EvaluationError> {
        Ok(self.date(0)?.map_or(Evaluated::NULL, |date| int(function(date))))
    }

    fn of_time(self, function: impl FnOnce(Time) -> u32) -> Result<Evaluated<'a>, EvaluationError> {
        Ok(self.time(0)?.map_or(Evaluated::NULL, |time| int(function(time))))
    }

    fn result_fraction(&self) -> u8 {
        match self.sql_type {
            SqlType::Time { fraction } | SqlType::DateTime { fraction } => *fraction,
            _ => 0,
        }
    }

    pub(crate) fn evaluate_temporal(
        self,
        function: TemporalFunction,
    ) -> Result<Evaluated<'a>, EvaluationError> {
        use TemporalFunction as F;
        let fraction = self.result_fraction();
        match function {
            F::Now => Ok(datetime_value(Some(self.context.local_now().truncate(fraction)))),
            F::UtcTimestamp => Ok(datetime_value(Some(self.context.utc_now().truncate(fraction)))),
            F::CurrentDate => Ok(date_value(Some(self.context.local_now().date()))),
            F::CurrentTime => Ok(time_value(Some(self.context.local_now().time().truncate(fraction)))),
            F::UtcDate => Ok(date_value(Some(self.context.utc_now().date()))),
            F::UtcTime => Ok(time_value(Some(self.context.utc_now().time().truncate(fraction)))),
            F::Timestamp | F::AddTime => self.add_time(1),
            F::SubtractTime => self.add_time(-1),
            F::Year => self.of_date(Date::year),
            F::Month => self.of_date(Date::month),
            F::Day => self.of_date(Date::day),
            F::Quarter => self.of_date(|date| date.month().div_ceil(3)),
            F::DayOfWeek => self.of_day(|date| int((date.weekday() + 1) % 7 + 1)),
            F::DayOfYear => self.of_day(|date| int(date.yearday())),
            F::Weekday => self.of_day(|date| int(date.weekday())),
            F::Week => self.week(|date, mode| date.week(WeekMode::new(mode)).1),
            F::WeekOfYear => self.of_day(|date| int(date.week(WeekMode::new(3)).1)),
            F::YearWeek => self.week(|date, mode| {
                let (year, week) = date.week(WeekMode { from_one: true, ..WeekMode::new(mode) });
                year * 100 + week
            }),
            F::Hour => self.of_time(Time::hours),
            F::Minute => self.of_time(Time::minute),
            F::Second => self.of_time(Time::second),
            F::Microsecond => self.of_time(Time::microsecond),
            F::DayName => {
                self.of_day(|date| Evaluated::from_bytes(format::day_name(date).as_bytes().to_vec()))
            }
            F::MonthName => {
                let name = self.date(0)?.and_then(format::month_name);
                Ok(name.map_or(Evaluated::NULL, |name| Evaluated::from_bytes(name.as_bytes().to_vec())))
            }
            F::LastDay => Ok(date_value(self.calendar_day(0)?.and_then(Date::last_day))),
            F::DateDifference => {
                let (Some(left), Some(right)) = (self.calendar_day(0)?, self.calendar_day(1)?) else {
                    return Ok(Evaluated::NULL);
                };
                Ok(int(i64::from(left.to_days()) - i64::from(right.to_days())))
            }
            F::TimeDifference => self.time_difference(),
            F::DateFormat => self.date_format(),
            F::TimeFormat => self.time_format(),
            F::StringToDate => self.string_to_date(),
            F::UnixTimestamp => self.unix_timestamp(),
            F::FromUnixTime => self.local_of_unix_time(),
            F::ToDays => self.of_day(|date| int(date.to_days())),
            F::FromDays => Ok(date_value(self.i64(0)?.and_then(Date::from_days))),
            F::ToSeconds => {
                let datetime = self.datetime(0)?.filter(|datetime| !datetime.date().has_zero_part());
                Ok(datetime.map_or(Evaluated::NULL, |datetime| {
                    let seconds = datetime.time().microseconds() / 1_000_000;
                    int(i64::from(datetime.date().to_days()) * 86_400 + seconds)
                }))
            }
            F::TimeToSeconds => {
                Ok(self.time(0)?.map_or(Evaluated::NULL, |time| int(time.microseconds() / 1_000_000)))
            }
            F::SecondsToTime => self.seconds_to_time(),
            F::MakeDate => self.make_date(),
            F::MakeTime => self.make_time(),
            F::PeriodAdd => self.period_add(),
            F::PeriodDifference => {
                let (Some(left), Some(right)) = (self.i64(0)?, self.i64(1)?) else {
                    return Ok(Evaluated::NULL);
                };
                Ok(int(months_of_period(left).saturating_sub(months_of_period(right))))
            }
            F::GetFormat => {
                let (Some(kind), Some(region)) = (self.text(0)?, self.text(1)?) else {
                    return Ok(Evaluated::NULL);
                };
                let found = format::standard_format(&kind, &region);
                Ok(found.map_or(Evaluated::NULL, |text| Evaluated::from_bytes(text.as_bytes().to_vec())))
            }
            F::ConvertTimeZone => self.convert_time_zone(),
        }
    }

    fn week(self, number: impl FnOnce(Date, u64) -> u32) -> Result<Evaluated<'a>, EvaluationError> {
        let mode = if self.count() > 1 { self.i64(1)? } else { Some(0) };
        let (Some(date), Some(mode)) = (self.calendar_day(0)?, mode) else { return Ok(Evaluated::NULL) };
        Ok(int(number(date, u64::try_from(mode & 7).unwrap_or(0))))
    }

    fn date_format(self) -> Result<Evaluated<'a>, EvaluationError> {
        let (Some(datetime), Some(pattern)) = (self.datetime(0)?, self.text(1)?) else {
            return Ok(Evaluated::NULL);
        };
        let text = format::write(&format::Fields::of_datetime(datetime), &pattern);
        Ok(text.map_or(Evaluated::NULL, Evaluated::from_bytes))
    }

    fn time_format(self) -> Result<Evaluated<'a>, EvaluationError> {
        let (Some(time), Some(pattern)) = (self.time(0)?, self.text(1)?) else { return Ok(Evaluated::NULL) };
        let text = format::write(&format::Fields::of_time(time), &pattern);
        Ok(text.map_or(Evaluated::NULL, Evaluated::from_bytes))
    }

    fn string_to_date(self) -> Result<Evaluated<'a>, EvaluationError> {
        let (Some(text), Some(pattern)) = (self.text(0)?, self.text(1)?) else { return Ok(Evaluated::NULL) };
        let parsed = format::parse(&text, &pattern).filter(|parsed| {
            let date = parsed.datetime.date();
            let mode = &self.context.sql_mode;
            let refused =
                if date.is_zero() { mode.no_zero_date } else { date.has_zero_part() && mode.no_zero_in_date };
            !refused || matches!(self.sql_type, SqlType::Time { .. })
        });
        let Some(parsed) = parsed else {
            self.context.incorrect_for_function("datetime", &text, "str_to_date")?;
            return Ok(Evaluated::NULL);
        };
        if parsed.truncated {
            self.context.truncated("datetime", &text)?;
        }
        Ok(match self.sql_type {
            SqlType::Date => date_value(Some(parsed.datetime.date())),
            SqlType::Time { .. } => time_value(Some(parsed.time)),
            _ => datetime_value(Some(parsed.datetime)),
        })
    }

    fn unix_timestamp(self) -> Result<Evaluated<'a>, EvaluationError> {
        if self.count() == 0 {
            let seconds = self.context.now.0 / 1_000_000;
            return Ok(int(i64::try_from(seconds).unwrap_or(i64::MAX)));
        }
        let Some(local) = self.datetime(0)? else {
            // The zero date is 0 though NO_ZERO_DATE does not let it in.
            let value = self.value(0)?;
            let is_zero = matches!(value.as_ref(), ValueRef::Bytes(text)
                if DateTime::parse(text).is_some_and(|parsed| parsed.value == DateTime::ZERO));
            return Ok(if is_zero { int(0) } else { Evaluated::NULL });
        };
        let utc = shifted(local, -i64::from(self.context.time_zone_offset_seconds));
        let in_range =
            |microseconds: &i64| (0..=UNIX_SECONDS_MAX).contains(&microseconds.div_euclid(1_000_000));
        let microseconds = utc
            .filter(|utc| !utc.date().has_zero_part())
            .map(DateTime::to_unix_microseconds)
            .filter(in_range)
            .unwrap_or(0);
        if let SqlType::Decimal { scale, .. } = self.sql_type {
            let decimal = Decimal::from_parts(i128::from(microseconds), 6).unwrap_or(Decimal::ZERO);
            return Ok(Evaluated::from_decimal(decimal.truncate(i32::from(*scale))));
        }
        Ok(int(microseconds / 1_000_000))
    }

    fn local_of_unix_time(self) -> Result<Evaluated<'a>, EvaluationError> {
        let Some(number) = self.number(0)? else { return Ok(Evaluated::NULL) };
        let microseconds = microseconds_of(number).filter(|microseconds| {
            (0..=i128::from(UNIX_SECONDS_MAX)).contains(&microseconds.div_euclid(1_000_000))
        });
        let offset = i64::from(self.context.time_zone_offset_seconds);
        let local = microseconds
            .and_then(|microseconds| DateTime::from_unix_microseconds(clamp_i64(microseconds)))
            .and_then(|utc| shifted(utc, offset));
        let Some(local) = local else { return Ok(Evaluated::NULL) };
        if self.count() == 1 {
            return Ok(datetime_value(local.round(self.result_fraction())));
        }
        let Some(pattern) = self.text(1)? else { return Ok(Evaluated::NULL) };
        let text = format::write(&format::Fields::of_datetime(local), &pattern);
        Ok(text.map_or(Evaluated::NULL, Evaluated::from_bytes))
    }

    fn seconds_to_time(self) -> Result<Evaluated<'a>, EvaluationError> {
        let Some(number) = self.number(0)? else { return Ok(Evaluated::NULL) };
        let microseconds = microseconds_of(number).unwrap_or(i128::MAX);
        let limit = i128::from(Time::MAX.truncate(0).microseconds());
        if microseconds.abs() > limit {
            self.context.truncated("time", number.to_double().to_string().as_bytes())?;
        }
        let clamped = Time::from_microseconds_clamped(clamp_i64(microseconds.clamp(-limit, limit)));
        Ok(time_value(Some(clamped.round(self.result_fraction()))))
    }

    fn make_date(self) -> Result<Evaluated<'a>, EvaluationError> {
        let (Some(year), Some(day)) = (self.i64(0)?, self.i64(1)?) else { return Ok(Evaluated::NULL) };
        if !(0..=9_999).contains(&year) || day <= 0 {
            return Ok(Evaluated::NULL);
        }
        let year = full_year(year);
        let first = u32::try_from(year).ok().and_then(|year| Date::new(year, 1, 1));
        let days = first.and_then(|first| i64::from(first.to_days()).checked_add(day - 1));
        Ok(date_value(days.and_then(Date::from_days).filter(|date| !date.is_zero())))
    }

    fn make_time(self) -> Result<Evaluated<'a>, EvaluationError> {
        let (Some(hours), Some(minutes), Some(seconds)) = (self.i64(0)?, self.i64(1)?, self.number(2)?)
        else {
            return Ok(Evaluated::NULL);
        };
        let seconds = microseconds_of(seconds).unwrap_or(-1);
        if !(0..60).contains(&minutes) || !(0..60_000_000).contains(&seconds) {
            return Ok(Evaluated::NULL);
        }
        let size =
            i128::from(hours.unsigned_abs()) * 3_600_000_000 + i128::from(minutes) * 60_000_000 + seconds;
        let limit = i128::from(Time::MAX.truncate(0).microseconds());
        if size > limit {
            self.context.truncated("time", format!("{hours}:{minutes:02}:00").as_bytes())?;
        }
        let size = clamp_i64(size.min(limit));
        let time = Time::from_microseconds_clamped(if hours < 0 { -size } else { size });
        Ok(time_value(Some(time.round(self.result_fraction()))))
    }

    fn period_add(self) -> Result<Evaluated<'a>, EvaluationError> {
        let (Some(period), Some(months)) = (self.i64(0)?, self.i64(1)?) else { return Ok(Evaluated::NULL) };
        if period <= 0 {
            return Ok(int(0));
        }
        let count = months_of_period(period).saturating_add(months).max(0);
        Ok(int((count / 12).saturating_mul(100).saturating_add(count % 12 + 1)))
    }

    fn convert_time_zone(self) -> Result<Evaluated<'a>, EvaluationError> {
        let (Some(datetime), Some(from), Some(to)) = (self.datetime(0)?, self.text(1)?, self.text(2)?) else {
            return Ok(Evaluated::NULL);
        };
        let session = i64::from(self.context.time_zone_offset_seconds);
        let (Some(from), Some(to)) = (zone_offset(&from, session), zone_offset(&to, session)) else {
            return Ok(Evaluated::NULL);
        };
        Ok(datetime_value(shifted(datetime, to - from)))
    }
}

/// Seconds as microseconds; `None` beyond what a decimal holds.
fn microseconds_of(seconds: Number) -> Option<i128> {
    let decimal = match seconds {
        Number::Int(seconds) => return Some(i128::from(seconds) * 1_000_000),
        Number::UInt(seconds) => return Some(i128::from(seconds) * 1_000_000),
        Number::Double(_) | Number::Decimal(_) => seconds.to_decimal()?,
    };
    decimal.mul(&Decimal::from(1_000_000_u64)).ok()?.to_i64().map(i128::from)
}

/// Two-digit years are 1970 to 2069.
fn full_year(year: i64) -> i64 {
    match year {
        0..=69 => year + 2_000,
        70..=99 => year + 1_900,
        _ => year,
    }
}

/// Months since year 0 of a period YYMM or YYYYMM.
fn months_of_period(period: i64) -> i64 {
    if period == 0 {
        return 0;
    }
    full_year(period / 100).saturating_mul(12).saturating_add(period % 100 - 1)
}

/// A time zone's offset in seconds: '+05:30', UTC, SYSTEM (the session's). Named zones are not known: NULL, as in MySQL
/// without its time zone tables.
fn zone_offset(name: &[u8], session: i64) -> Option<i64> {
    if name.eq_ignore_ascii_case(b"SYSTEM") {
        return Some(session);
    }
    if name.eq_ignore_ascii_case(b"UTC") {
        return Some(0);
    }
    let text = std::str::from_utf8(name).ok()?;
    let (sign, rest) = match text.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let (hours, minutes) = rest.split_once(':')?;
    let (hours, minutes) = (hours.parse::<i64>().ok()?, minutes.parse::<i64>().ok()?);
    let size = hours.checked_mul(60)?.checked_add(minutes)?;
    let valid = (0..60).contains(&minutes) && hours >= 0 && if sign < 0 { size <= 839 } else { size <= 840 };
    valid.then_some(sign * size * 60)
}
