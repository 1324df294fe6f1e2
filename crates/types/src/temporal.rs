//! DATE, TIME and DATETIME values, each one order-preserving integer.
//!
//! - [`Date`] packs year (14 bits), month (4) and day (5); month and day may be 0 as MySQL's zero dates have them.
//! - [`Time`] counts microseconds and is signed: ±838:59:59.999999.
//! - [`DateTime`] packs date, hour (5), minute (6), second (6) and microsecond (20). It knows no time zone: a TIMESTAMP
//!   is a `DateTime` in UTC while stored, and its caller shifts it.
//!
//! The calendar is the proleptic Gregorian one with years 0 to 9999; day numbers count as TO_DAYS does ('0000-01-01' is
//! day 1).
//!
//! Invariants: the integer order is the order of the values; every constructor refuses fields out of range, so fields
//! need no check when read. A day up to 31 is in range in every month, because ALLOW_INVALID_DATES keeps '2024-02-31';
//! [`DateMode`] says which dates a statement lets in. No clock is read here: NOW() is an argument.
//!
//! `calendar.rs` has day numbers, weeks and intervals; `parse.rs` MySQL's text and number forms.

mod calendar;
mod parse;

pub use calendar::{Interval, WeekMode};
pub use parse::Parsed;

use stdx::wire::{Decoder, Encoder, Wire, WireError};

const MICROSECONDS_PER_SECOND: i64 = 1_000_000;
const MICROSECONDS_PER_DAY: i64 = 86_400 * MICROSECONDS_PER_SECOND;

/// Which dates that are no days of the calendar are let in: the parts of sql_mode about dates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DateMode {
    /// NO_ZERO_DATE: not '0000-00-00'.
    pub no_zero_date: bool,
    /// NO_ZERO_IN_DATE: not '2024-00-00' or '2024-05-00'.
    pub no_zero_in_date: bool,
    /// ALLOW_INVALID_DATES: '2024-02-31', too.
    pub allow_invalid_dates: bool,
}

impl DateMode {
    /// Only days of the calendar: MySQL 8's default sql_mode.
    pub const CALENDAR: DateMode =
        DateMode { no_zero_date: true, no_zero_in_date: true, allow_invalid_dates: false };
    /// Every date that can be written.
    pub const ANY: DateMode =
        DateMode { no_zero_date: false, no_zero_in_date: false, allow_invalid_dates: true };

    /// The mode of a TIMESTAMP column: it lets in moments, and the zero date if the mode has it.
    #[must_use]
    pub const fn of_timestamp(self) -> DateMode {
        DateMode { no_zero_in_date: true, allow_invalid_dates: false, ..self }
    }

    /// Whether a moment is let in.
    #[must_use]
    pub const fn admits(self, moment: DateTime) -> bool {
        let date = moment.date();
        if moment.0 == 0 {
            return !self.no_zero_date;
        }
        (date.is_in_month() || self.allow_invalid_dates) && !(date.has_zero_part() && self.no_zero_in_date)
    }
}

/// A day, or one of MySQL's zero dates ('0000-00-00', '2024-00-00', '2024-05-00'), or a day that its month lacks
/// ('2024-02-31').
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Date(u32);

/// A signed duration or time of day.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(i64);

/// A day and a time of that day.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct DateTime(u64);

#[expect(clippy::cast_possible_truncation, reason = "each field is masked to the width it was packed with")]
const fn field(packed: u64, shift: u32, bits: u32) -> u32 {
    (packed >> shift & ((1 << bits) - 1)) as u32
}

const fn is_leap_year(year: u32) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

/// Days of a month; 31 for month 0, so that '2024-00-31' is as good as MySQL thinks it.
const fn days_in_month(year: u32, month: u32) -> u32 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap_year(year) => 29,
        2 => 28,
        _ => 31,
    }
}

impl Date {
    /// '0000-00-00'.
    pub const ZERO: Date = Date(0);
    /// '9999-12-31'.
    pub const MAX: Date = Date(9_999 << 9 | 12 << 5 | 31);

    /// The date with these fields; month and day may be 0. `None` if there is no such day.
    #[must_use]
    pub const fn new(year: u32, month: u32, day: u32) -> Option<Date> {
        match Date::written(year, month, day) {
            Some(date) if date.is_in_month() => Some(date),
            _ => None,
        }
    }

    /// The date with these fields, though its month may have fewer days. `None` if a field is out of range.
    #[must_use]
    pub const fn written(year: u32, month: u32, day: u32) -> Option<Date> {
        if year > 9_999 || month > 12 || day > 31 {
            return None;
        }
        Some(Date(year << 9 | month << 5 | day))
    }

    /// True if the month has so many days.
    #[must_use]
    pub const fn is_in_month(self) -> bool {
        self.day() <= days_in_month(self.year(), self.month())
    }

    /// The order-preserving integer: 23 bits.
    #[must_use]
    pub const fn packed(self) -> u32 {
        self.0
    }

    /// The date behind an integer that [`Date::packed`] gave; `None` if no date has it.
    #[must_use]
    pub const fn from_packed(packed: u32) -> Option<Date> {
        Date::written(packed >> 9, packed >> 5 & 15, packed & 31)
    }

    /// 0–9999.
    #[must_use]
    pub const fn year(self) -> u32 {
        self.0 >> 9
    }

    /// 0–12.
    #[must_use]
    pub const fn month(self) -> u32 {
        self.0 >> 5 & 15
    }

    /// 0–31.
    #[must_use]
    pub const fn day(self) -> u32 {
        self.0 & 31
    }

    /// True for '0000-00-00'.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// True if month or day is 0: no day of the calendar.
    #[must_use]
    pub const fn has_zero_part(self) -> bool {
        self.month() == 0 || self.day() == 0
    }

    /// Midnight of the day.
    #[must_use]
    pub const fn at_midnight(self) -> DateTime {
        DateTime((self.0 as u64) << 37)
    }

    /// As MySQL's number: 20240131.
    #[must_use]
    pub const fn to_number(self) -> u32 {
        self.year() * 10_000 + self.month() * 100 + self.day()
    }

    /// Appends 'YYYY-MM-DD'.
    pub fn write(self, text: &mut Vec<u8>) {
        push_digits(self.year(), 4, text);
        text.push(b'-');
        push_digits(self.month(), 2, text);
        text.push(b'-');
        push_digits(self.day(), 2, text);
    }
}

impl Time {
    /// '00:00:00'.
    pub const ZERO: Time = Time(0);
    /// '838:59:59.999999'. A column holds at most '838:59:59'; intermediate results keep their fraction.
    pub const MAX: Time = Time(((838 * 60 + 59) * 60 + 59) * MICROSECONDS_PER_SECOND + 999_999);
    /// '-838:59:59.999999'.
    pub const MIN: Time = Time(-Time::MAX.0);

    /// The time with these fields; hours up to 838. `None` if a field is out of range.
    #[must_use]
    pub const fn new(
        negative: bool,
        hours: u32,
        minutes: u32,
        seconds: u32,
        microsecond: u32,
    ) -> Option<Time> {
        if hours > 838 || minutes > 59 || seconds > 59 || microsecond > 999_999 {
            return None;
        }
        let whole = ((hours * 60 + minutes) * 60 + seconds) as i64;
        let microseconds = whole * MICROSECONDS_PER_SECOND + microsecond as i64;
        Some(Time(if negative { -microseconds } else { microseconds }))
    }

    /// A signed count of microseconds; `None` beyond ±838:59:59.999999.
    #[must_use]
    pub const fn from_microseconds(microseconds: i64) -> Option<Time> {
        if microseconds > Time::MAX.0 || microseconds < Time::MIN.0 { None } else { Some(Time(microseconds)) }
    }

    /// The nearest time to a count of microseconds.
    #[must_use]
    pub fn from_microseconds_clamped(microseconds: i64) -> Time {
        Time(microseconds.clamp(Time::MIN.0, Time::MAX.0))
    }

    /// The signed count of microseconds.
    #[must_use]
    pub const fn microseconds(self) -> i64 {
        self.0
    }

    /// True below zero.
    #[must_use]
    pub const fn is_negative(self) -> bool {
        self.0 < 0
    }

    #[expect(clippy::cast_possible_truncation, reason = "at most 839 × 3600 seconds")]
    const fn seconds_in_all(self) -> u32 {
        (self.0.unsigned_abs() / 1_000_000) as u32
    }

    /// Hours without sign, 0–838.
    #[must_use]
    pub const fn hours(self) -> u32 {
        self.seconds_in_all() / 3_600
    }

    /// 0–59.
    #[must_use]
    pub const fn minute(self) -> u32 {
        self.seconds_in_all() / 60 % 60
    }

    /// 0–59.
    #[must_use]
    pub const fn second(self) -> u32 {
        self.seconds_in_all() % 60
    }

    /// 0–999999.
    #[must_use]
    pub const fn microsecond(self) -> u32 {
        (self.0.unsigned_abs() % 1_000_000) as u32
    }

    /// Rounded half away from zero to `fraction` digits of a second; may exceed the range by a carry, then clamped.
    #[must_use]
    pub fn round(self, fraction: u8) -> Time {
        Time::from_microseconds_clamped(round_microseconds(self.0, fraction))
    }

    /// Cut to `fraction` digits of a second.
    #[must_use]
    pub const fn truncate(self, fraction: u8) -> Time {
        Time(self.0 - self.0 % unit_of_fraction(fraction))
    }

    /// As MySQL's number without the fraction: -1123000 for '-112:30:00'.
    #[must_use]
    pub const fn to_number(self) -> i64 {
        let number = (self.hours() * 10_000 + self.minute() * 100 + self.second()) as i64;
        if self.is_negative() { -number } else { number }
    }

    /// Appends '[-]HH:MM:SS[.ffffff]' with `fraction` digits (cut, not rounded).
    pub fn write(self, fraction: u8, text: &mut Vec<u8>) {
        if self.is_negative() {
            text.push(b'-');
        }
        push_digits(self.hours(), if self.hours() > 99 { 3 } else { 2 }, text);
        write_minute_and_second(self.minute(), self.second(), text);
        write_fraction(self.microsecond(), fraction, text);
    }
}

impl DateTime {
    /// '0000-00-00 00:00:00'.
    pub const ZERO: DateTime = DateTime(0);

    /// `date` at a time of day. `None` if a field is out of range.
    #[must_use]
    pub const fn new(date: Date, hour: u32, minute: u32, second: u32, microsecond: u32) -> Option<DateTime> {
        if hour > 23 || minute > 59 || second > 59 || microsecond > 999_999 {
            return None;
        }
        let clock = (hour as u64) << 32 | (minute as u64) << 26 | (second as u64) << 20 | microsecond as u64;
        Some(DateTime((date.0 as u64) << 37 | clock))
    }

    /// The order-preserving integer: 60 bits.
    #[must_use]
    pub const fn packed(self) -> u64 {
        self.0
    }

    /// The value behind an integer that [`DateTime::packed`] gave; `None` if none has it.
    #[must_use]
    pub const fn from_packed(packed: u64) -> Option<DateTime> {
        if packed >> 60 != 0 {
            return None;
        }
        match Date::from_packed(field(packed, 37, 23)) {
            Some(date) => {
                let (hour, minute) = (field(packed, 32, 5), field(packed, 26, 6));
                DateTime::new(date, hour, minute, field(packed, 20, 6), field(packed, 0, 20))
            }
            None => None,
        }
    }

    /// The day.
    #[must_use]
    pub const fn date(self) -> Date {
        Date(field(self.0, 37, 23))
    }

    /// The time of day.
    #[must_use]
    pub const fn time(self) -> Time {
        let seconds = (self.hour() * 60 + self.minute()) * 60 + self.second();
        Time(seconds as i64 * MICROSECONDS_PER_SECOND + self.microsecond() as i64)
    }

    /// 0–23.
    #[must_use]
    pub const fn hour(self) -> u32 {
        field(self.0, 32, 5)
    }

    /// 0–59.
    #[must_use]
    pub const fn minute(self) -> u32 {
        field(self.0, 26, 6)
    }

    /// 0–59.
    #[must_use]
    pub const fn second(self) -> u32 {
        field(self.0, 20, 6)
    }

    /// 0–999999.
    #[must_use]
    pub const fn microsecond(self) -> u32 {
        field(self.0, 0, 20)
    }

    /// Cut to `fraction` digits of a second.
    #[must_use]
    pub const fn truncate(self, fraction: u8) -> DateTime {
        DateTime(self.0 - (self.microsecond() as u64) % unit_of_fraction(fraction).unsigned_abs())
    }

    /// As MySQL's number without the fraction: 20240131123000.
    #[must_use]
    pub const fn to_number(self) -> u64 {
        let clock = self.hour() * 10_000 + self.minute() * 100 + self.second();
        self.date().to_number() as u64 * 1_000_000 + clock as u64
    }

    /// Appends 'YYYY-MM-DD HH:MM:SS[.ffffff]' with `fraction` digits (cut, not rounded).
    pub fn write(self, fraction: u8, text: &mut Vec<u8>) {
        self.date().write(text);
        text.push(b' ');
        push_digits(self.hour(), 2, text);
        write_minute_and_second(self.minute(), self.second(), text);
        write_fraction(self.microsecond(), fraction, text);
    }
}

/// How many microseconds the last of `fraction` digits stands for.
const fn unit_of_fraction(fraction: u8) -> i64 {
    10_i64.pow(6 - if fraction > 6 { 6 } else { fraction as u32 })
}

fn round_microseconds(microseconds: i64, fraction: u8) -> i64 {
    let unit = unit_of_fraction(fraction);
    let half = if microseconds < 0 { -(unit / 2) } else { unit / 2 };
    (microseconds + half) / unit * unit
}

fn push_digits(number: u32, count: usize, text: &mut Vec<u8>) {
    let mut digits = [b'0'; 10];
    let mut rest = number;
    for digit in digits.iter_mut().rev().take(count) {
        *digit = b'0' + u8::try_from(rest % 10).unwrap_or(0);
        rest /= 10;
    }
    text.extend_from_slice(&digits[10 - count..]);
}

fn write_minute_and_second(minute: u32, second: u32, text: &mut Vec<u8>) {
    text.push(b':');
    push_digits(minute, 2, text);
    text.push(b':');
    push_digits(second, 2, text);
}

fn write_fraction(microsecond: u32, fraction: u8, text: &mut Vec<u8>) {
    let count = usize::from(fraction.min(6));
    if count > 0 {
        text.push(b'.');
        push_digits(microsecond, 6, text);
        text.truncate(text.len() - (6 - count));
    }
}

/// As many digits of a second as `Display` was asked for (`{:.3}`), else as many as are needed: none or six.
fn display_fraction(microsecond: u32, formatter: &std::fmt::Formatter<'_>) -> u8 {
    let shortest = if microsecond == 0 { 0 } else { 6 };
    formatter.precision().map_or(shortest, |precision| u8::try_from(precision.min(6)).unwrap_or(6))
}

fn display(text: &[u8], formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
    formatter.write_str(std::str::from_utf8(text).unwrap_or_default())
}

impl std::fmt::Display for Date {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut text = Vec::with_capacity(10);
        self.write(&mut text);
        display(&text, formatter)
    }
}

impl std::fmt::Display for Time {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut text = Vec::with_capacity(17);
        self.write(display_fraction(self.microsecond(), formatter), &mut text);
        display(&text, formatter)
    }
}

impl std::fmt::Display for DateTime {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut text = Vec::with_capacity(26);
        self.write(display_fraction(self.microsecond(), formatter), &mut text);
        display(&text, formatter)
    }
}

macro_rules! debug_as_display {
    ($($name:ident),*) => {$(
        impl std::fmt::Debug for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(self, formatter)
            }
        }
    )*};
}
debug_as_display!(Date, Time, DateTime);

impl Wire for Date {
    fn encode(&self, encoder: &mut Encoder<'_>) {
        self.0.encode(encoder);
    }
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, WireError> {
        Date::from_packed(u32::decode(decoder)?).ok_or(WireError::Malformed)
    }
}

impl Wire for Time {
    fn encode(&self, encoder: &mut Encoder<'_>) {
        self.0.encode(encoder);
    }
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, WireError> {
        Time::from_microseconds(i64::decode(decoder)?).ok_or(WireError::Malformed)
    }
}

impl Wire for DateTime {
    fn encode(&self, encoder: &mut Encoder<'_>) {
        self.0.encode(encoder);
    }
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, WireError> {
        DateTime::from_packed(u64::decode(decoder)?).ok_or(WireError::Malformed)
    }
}

#[cfg(test)]
mod tests;
