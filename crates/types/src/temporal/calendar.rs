//! Day numbers, weeks and intervals.
//!
//! Day numbers count from '0000-01-01' = 1 (TO_DAYS), proleptic Gregorian. MySQL's own functions use the same rule for
//! every year (its year 0 is not a leap year: TO_DAYS('0000-03-01') = 60).

use super::{
    Date, DateTime, MICROSECONDS_PER_DAY, MICROSECONDS_PER_SECOND, Time, days_in_month, round_microseconds,
};

/// The day number of 1970-01-01.
const UNIX_EPOCH_DAYS: i64 = 719_528;
/// The day number of 9999-12-31.
const DAYS_MAX: i64 = 3_652_424;

/// An amount that is added to a date: months first (the day is cut to the month's last), then days, then microseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Interval {
    /// Months; a year is 12, a quarter 3.
    pub months: i64,
    /// Days; a week is 7.
    pub days: i64,
    /// Microseconds.
    pub microseconds: i64,
}

impl Interval {
    /// The opposite; `None` on overflow.
    #[must_use]
    pub fn negated(self) -> Option<Interval> {
        Some(Interval {
            months: self.months.checked_neg()?,
            days: self.days.checked_neg()?,
            microseconds: self.microseconds.checked_neg()?,
        })
    }
}

/// How WEEK() counts, by MySQL's mode numbers 0–7.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WeekMode {
    /// Weeks start on Monday, else on Sunday.
    pub monday_first: bool,
    /// Weeks run from 1 (the first days may be in week 52 or 53 of the year before), else from 0.
    pub from_one: bool,
    /// Week 1 is the first with a first weekday (Sunday or Monday) in this year, else the first with four days in it.
    pub first_weekday: bool,
}

impl WeekMode {
    /// MySQL's mode; only the low three bits count.
    #[must_use]
    pub const fn new(mode: u64) -> Self {
        let monday_first = mode & 1 != 0;
        // With Monday first, bit 2 means the opposite of what it means with Sunday first.
        Self { monday_first, from_one: mode & 2 != 0, first_weekday: (mode & 4 != 0) == monday_first }
    }
}

/// The day number of a date with nonzero or zero parts, by MySQL's formula.
fn day_number(year: u32, month: u32, day: u32) -> u32 {
    if year == 0 && month == 0 {
        return 0;
    }
    let mut days = 365 * i64::from(year) + 31 * (i64::from(month) - 1) + i64::from(day);
    let counted_year = if month <= 2 {
        i64::from(year) - 1
    } else {
        days -= (i64::from(month) * 4 + 23) / 10;
        i64::from(year)
    };
    let centuries = (counted_year / 100 + 1) * 3 / 4;
    u32::try_from(days + counted_year / 4 - centuries).unwrap_or(0)
}

impl Date {
    /// TO_DAYS: the day number; '0000-01-01' is 1. Zero parts count as MySQL counts them.
    #[must_use]
    pub fn to_days(self) -> u32 {
        day_number(self.year(), self.month(), self.day())
    }

    /// FROM_DAYS: the zero date for numbers up to 365, `None` beyond 9999-12-31.
    #[must_use]
    pub fn from_days(days: i64) -> Option<Date> {
        if days > DAYS_MAX {
            return None;
        }
        if days <= 365 {
            return Some(Date::ZERO);
        }
        let days = u32::try_from(days).ok()?;
        let mut year = days * 100 / 36_525;
        let mut day_of_year = days - day_number(year, 1, 1) + 1;
        let mut days_in_year = days_in_month(year, 2) + 337;
        while day_of_year > days_in_year {
            day_of_year -= days_in_year;
            year += 1;
            days_in_year = days_in_month(year, 2) + 337;
        }
        let mut month = 1;
        while day_of_year > days_in_month(year, month) {
            day_of_year -= days_in_month(year, month);
            month += 1;
        }
        Date::new(year, month, day_of_year)
    }

    /// WEEKDAY: 0 is Monday.
    #[must_use]
    pub fn weekday(self) -> u32 {
        (self.to_days() + 5) % 7
    }

    /// DAYOFYEAR, counted from 1.
    #[must_use]
    pub fn yearday(self) -> u32 {
        self.to_days() + 1 - day_number(self.year(), 1, 1)
    }

    /// LAST_DAY.
    #[must_use]
    pub fn last_day(self) -> Option<Date> {
        if self.month() == 0 {
            return None;
        }
        Date::new(self.year(), self.month(), days_in_month(self.year(), self.month()))
    }

    /// The year and week of YEARWEEK and WEEK. With `from_one` unset the year is the date's own, and the week may be 0.
    #[must_use]
    pub fn week(self, mode: WeekMode) -> (u32, u32) {
        let days = self.to_days();
        let mut year = self.year();
        let mut first_day = day_number(year, 1, 1);
        // Where in the week January 1st is: 0 is the first day of the week.
        let weekday_of = |day: u32| if mode.monday_first { (day + 5) % 7 } else { (day + 6) % 7 };
        let mut weekday = weekday_of(first_day);
        let starts_late = |weekday: u32| if mode.first_weekday { weekday != 0 } else { weekday >= 4 };
        if self.month() == 1 && self.day() <= 7 - weekday && starts_late(weekday) {
            if !mode.from_one {
                return (year, 0);
            }
            if year == 0 {
                return (0, 0);
            }
            year -= 1;
            first_day = day_number(year, 1, 1);
            weekday = weekday_of(first_day);
        }
        let first_week_start =
            if starts_late(weekday) { first_day + (7 - weekday) } else { first_day.saturating_sub(weekday) };
        let week = days.saturating_sub(first_week_start) / 7 + 1;
        if mode.from_one && week == 53 {
            let next_weekday = weekday_of(day_number(year + 1, 1, 1));
            let next_first = day_number(year + 1, 1, 1);
            if !starts_late(next_weekday) && days + next_weekday >= next_first {
                return (year + 1, 1);
            }
        }
        (year, week)
    }

    /// The date plus an interval without microseconds; `None` out of range or for dates with zero parts.
    #[must_use]
    pub fn add_interval(self, months: i64, days: i64) -> Option<Date> {
        let moved = self.add_months(months)?;
        if days == 0 {
            return Some(moved);
        }
        let number = i64::from(moved.to_days()).checked_add(days)?;
        Date::from_days(number).filter(|date| !date.is_zero())
    }

    fn add_months(self, months: i64) -> Option<Date> {
        if self.has_zero_part() {
            return None;
        }
        if months == 0 {
            // '2024-02-31' and a day is '2024-03-03'.
            return Some(self);
        }
        let count = (i64::from(self.year()) * 12 + i64::from(self.month()) - 1).checked_add(months)?;
        let (year, month) = (u32::try_from(count.checked_div_euclid(12)?).ok()?, count.rem_euclid(12) + 1);
        let month = u32::try_from(month).ok()?;
        Date::new(year, month, self.day().min(days_in_month(year, month)))
    }
}

impl DateTime {
    /// Microseconds since day number 0.
    fn absolute_microseconds(self) -> i64 {
        i64::from(self.date().to_days()) * MICROSECONDS_PER_DAY + self.time().microseconds()
    }

    fn from_absolute_microseconds(microseconds: i64) -> Option<DateTime> {
        let date =
            Date::from_days(microseconds.div_euclid(MICROSECONDS_PER_DAY)).filter(|date| !date.is_zero())?;
        Some(date.at_time_of_day(microseconds.rem_euclid(MICROSECONDS_PER_DAY)))
    }

    /// The value plus an interval; `None` out of range or for dates with zero parts.
    #[must_use]
    pub fn add_interval(self, interval: Interval) -> Option<DateTime> {
        let date = self.date().add_months(interval.months)?;
        let microseconds =
            interval.days.checked_mul(MICROSECONDS_PER_DAY)?.checked_add(interval.microseconds)?;
        if microseconds == 0 {
            return Some(date.at_time_of_day(self.time().microseconds()));
        }
        let start = i64::from(date.to_days()) * MICROSECONDS_PER_DAY + self.time().microseconds();
        DateTime::from_absolute_microseconds(start.checked_add(microseconds)?)
    }

    /// Microseconds from `earlier` to `self`.
    #[must_use]
    pub fn microseconds_since(self, earlier: DateTime) -> i64 {
        self.absolute_microseconds() - earlier.absolute_microseconds()
    }

    /// Microseconds since 1970-01-01 00:00:00, the value taken as UTC.
    #[must_use]
    pub fn to_unix_microseconds(self) -> i64 {
        self.absolute_microseconds() - UNIX_EPOCH_DAYS * MICROSECONDS_PER_DAY
    }

    /// The value in UTC; `None` outside the years 1 to 9999.
    #[must_use]
    pub fn from_unix_microseconds(microseconds: i64) -> Option<DateTime> {
        let absolute = microseconds.checked_add(UNIX_EPOCH_DAYS * MICROSECONDS_PER_DAY)?;
        DateTime::from_absolute_microseconds(absolute)
    }

    /// True if a TIMESTAMP column can hold the value (in UTC): '1970-01-01 00:00:01' to '2038-01-19 03:14:07', or the
    /// zero date.
    #[must_use]
    pub fn is_timestamp(self) -> bool {
        const LAST_SECOND: i64 = 2_147_483_647;
        let seconds = self.to_unix_microseconds().div_euclid(MICROSECONDS_PER_SECOND);
        let is_day = !self.date().has_zero_part() && self.date().is_in_month();
        self == DateTime::ZERO || (is_day && (1..=LAST_SECOND).contains(&seconds))
    }

    /// Rounded half up to `fraction` digits of a second, with carry into the date; `None` beyond 9999-12-31 23:59:59.
    #[must_use]
    pub fn round(self, fraction: u8) -> Option<DateTime> {
        let rounded = round_microseconds(self.time().microseconds(), fraction);
        if rounded < MICROSECONDS_PER_DAY {
            return Some(self.date().at_time_of_day(rounded));
        }
        Some(self.date().add_interval(0, 1)?.at_midnight())
    }

    /// The day `time` after midnight of `date`: how TIME becomes DATETIME. `None` out of range.
    #[must_use]
    pub fn from_date_and_duration(date: Date, time: Time) -> Option<DateTime> {
        date.at_midnight().add_interval(Interval { microseconds: time.microseconds(), ..Interval::default() })
    }
}

impl Date {
    fn at_time_of_day(self, microseconds: i64) -> DateTime {
        let (seconds, microsecond) =
            (microseconds / MICROSECONDS_PER_SECOND, microseconds % MICROSECONDS_PER_SECOND);
        let narrow = |number: i64| u32::try_from(number).unwrap_or(0);
        let (hour, minute) = (narrow(seconds / 3_600), narrow(seconds / 60 % 60));
        let value = DateTime::new(self, hour, minute, narrow(seconds % 60), narrow(microsecond));
        stdx::require!(value.is_some(), "a time of day is below 24 hours");
        value.unwrap_or(DateTime::ZERO)
    }
}
