//! MySQL's text and number forms of temporal values.
//!
//! Text with delimiters ('2024-01-02 03:04:05.678', '24/1/2', '2024-01-02T03:04:05+05:30') reads a number per field,
//! whatever the punctuation between; text of digits only ('20240102030405', '240102') reads fixed widths. Two-digit
//! years are 1970 to 2069. Digits of a second beyond the sixth round.
//!
//! Zero dates and zero parts are values here, and with `written` days that their month lacks, too; callers refuse what
//! their [`super::DateMode`] does not let in.

use super::{Date, DateTime, Interval, MICROSECONDS_PER_SECOND, Time};

/// A value read from text or a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parsed<T> {
    /// The value, rounded to microseconds.
    pub value: T,
    /// Text was left over behind the value.
    pub truncated: bool,
    /// The text was beyond the type's range (TIME only); `value` is the nearest.
    pub clamped: bool,
    /// Digits of a second that the text had, at most 6.
    pub fraction: u8,
    /// The text had a time of day, not only a date.
    pub has_time: bool,
    /// Minutes east of UTC if the text ended in an offset ('+05:30').
    pub offset_minutes: Option<i16>,
}

impl<T> Parsed<T> {
    pub(crate) fn exact(value: T, has_time: bool) -> Self {
        Self { value, truncated: false, clamped: false, fraction: 0, has_time, offset_minutes: None }
    }

    /// The same about another value.
    pub fn with<U>(self, value: U) -> Parsed<U> {
        let Parsed { truncated, clamped, fraction, has_time, offset_minutes, .. } = self;
        Parsed { value, truncated, clamped, fraction, has_time, offset_minutes }
    }
}

/// Two-digit years below this are in the 21st century.
const PIVOT_YEAR: u32 = 70;
/// A field of more digits is none.
const FIELD_MAX: u32 = 999_999;

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// Reads text from left to right.
#[derive(Clone, Copy)]
struct Scanner<'a> {
    rest: &'a [u8],
}

impl<'a> Scanner<'a> {
    fn new(text: &'a [u8]) -> Self {
        let mut scanner = Self { rest: text };
        scanner.skip_spaces();
        scanner
    }

    fn skip_spaces(&mut self) {
        self.skip(is_space);
    }

    fn skip(&mut self, what: impl Fn(u8) -> bool) {
        while let [first, rest @ ..] = self.rest
            && what(*first)
        {
            self.rest = rest;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        match self.rest {
            [first, rest @ ..] if *first == byte => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }

    fn at_digit(&self) -> bool {
        self.peek().is_some_and(|byte| byte.is_ascii_digit())
    }

    /// A number of at least one and at most `digits_max` digits, and how many it had.
    fn number(&mut self, digits_max: usize) -> Option<(u32, usize)> {
        let digits = self.rest.iter().take(digits_max).take_while(|byte| byte.is_ascii_digit()).count();
        let (taken, rest) = self.rest.split_at(digits);
        let mut number = 0_u32;
        for digit in taken {
            number = number.checked_mul(10)?.checked_add(u32::from(digit - b'0'))?;
        }
        self.rest = rest;
        (digits > 0).then_some((number, digits))
    }

    /// The digits behind a decimal point: microseconds, how many digits counted, and whether the seventh rounds up.
    fn fraction(&mut self) -> (u32, u8, bool) {
        let (mut microsecond, mut count) = (0, 0);
        while count < 6
            && let Some((digit, _)) = self.number(1)
        {
            microsecond = microsecond * 10 + digit;
            count += 1;
        }
        microsecond *= 10_u32.pow(6 - u32::from(count));
        let round_up = count == 6 && self.peek().is_some_and(|byte| (b'5'..=b'9').contains(&byte));
        if count == 6 {
            self.skip(|byte| byte.is_ascii_digit());
        }
        (microsecond, count, round_up)
    }

    /// '+05:30' at the end of the text: minutes east of UTC, within MySQL's -13:59 to +14:00.
    fn offset(&mut self) -> Option<i16> {
        let [sign @ (b'+' | b'-'), rest @ ..] = self.rest else { return None };
        let mut scanner = Scanner { rest };
        let (hours, hour_digits) = scanner.number(2)?;
        let colon = scanner.take(b':');
        let (minutes, minute_digits) = scanner.number(2)?;
        let size = i16::try_from(hours * 60 + minutes).ok()?;
        let offset = if *sign == b'-' { -size } else { size };
        let is_valid =
            colon && hour_digits == 2 && minute_digits == 2 && minutes < 60 && (-839..=840).contains(&offset);
        // '-00:00' is none, as in MySQL.
        if !is_valid || (*sign == b'-' && size == 0) {
            return None;
        }
        self.rest = scanner.rest;
        Some(offset)
    }

    /// True if anything but spaces is left.
    fn has_rest(mut self) -> bool {
        self.skip_spaces();
        !self.rest.is_empty()
    }
}

/// The fields of a date and time, as far as the text has them.
#[derive(Default)]
struct Fields {
    /// Year, month, day, hour, minute, second.
    numbers: [u32; 6],
    count: usize,
    year_digits: usize,
    microsecond: u32,
    fraction: u8,
    round_up: bool,
    found_delimiter: bool,
    found_space: bool,
    offset_minutes: Option<i16>,
}

/// [`Date::new`], or [`Date::written`].
type DateOfFields = fn(u32, u32, u32) -> Option<Date>;

const DAY: usize = 2;
const SECOND: usize = 5;

impl Fields {
    /// Year to second. With `packed_digits` each field has a fixed width, and 8 or 14 and more digits have a year of
    /// four; without, a field goes on to the next delimiter.
    fn read_numbers(scanner: &mut Scanner<'_>, packed_digits: Option<usize>) -> Option<Fields> {
        let mut fields = Fields::default();
        let mut behind_last_field = *scanner;
        while fields.count <= SECOND && scanner.at_digit() {
            let index = fields.count;
            let width = match (packed_digits, index) {
                (None, _) => 9,
                (Some(4 | 8 | 14..), 0) => 4,
                (Some(_), _) => 2,
            };
            let (number, digits) = scanner.number(width).filter(|(number, _)| *number <= FIELD_MAX)?;
            if index == 0 {
                fields.year_digits = digits;
            }
            fields.numbers[index] = number;
            fields.count += 1;
            behind_last_field = *scanner;
            let is_offset =
                index > DAY && matches!(scanner.peek(), Some(b'+' | b'-')) && { *scanner }.offset().is_some();
            if index == SECOND || is_offset {
                break;
            }
            if index == DAY && scanner.take(b'T') {
                fields.found_space = true;
                continue;
            }
            fields.found_space |= index == DAY && scanner.peek().is_some_and(is_space);
            scanner.skip(|byte| byte.is_ascii_punctuation() || (is_space(byte) && index == DAY));
            fields.found_delimiter |= scanner.rest.len() < behind_last_field.rest.len();
        }
        *scanner = behind_last_field;
        Some(fields)
    }

    /// Everything; the scanner is left behind what was read.
    fn read(scanner: &mut Scanner<'_>) -> Option<Fields> {
        let run = scanner.rest.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'T').count();
        let is_packed = matches!(scanner.rest.get(run), None | Some(b'.'));
        let mut fields = Fields::read_numbers(scanner, is_packed.then_some(run))?;
        if fields.count == SECOND + 1 && scanner.take(b'.') {
            (fields.microsecond, fields.fraction, fields.round_up) = scanner.fraction();
        }
        if fields.count > DAY + 1 {
            fields.offset_minutes = scanner.offset();
        }
        let is_zero = fields.numbers == [0; 6] && fields.microsecond == 0;
        if fields.year_digits == 2 && !is_zero {
            fields.numbers[0] += if fields.numbers[0] < PIVOT_YEAR { 2_000 } else { 1_900 };
        }
        Some(fields)
    }

    fn value(&self, date: DateOfFields) -> Option<DateTime> {
        let [year, month, day, hour, minute, second] = self.numbers;
        if self.count < 3 || self.year_digits > 4 {
            return None;
        }
        let value = DateTime::new(date(year, month, day)?, hour, minute, second, self.microsecond)?;
        if !self.round_up {
            return Some(value);
        }
        match Time::new(false, hour, minute, second, self.microsecond)?.microseconds() + 1 {
            86_400_000_000 => value.add_interval(Interval { microseconds: 1, ..Interval::default() }),
            rounded => {
                let time = Time::from_microseconds(rounded)?;
                DateTime::new(value.date(), time.hours(), time.minute(), time.second(), time.microsecond())
            }
        }
    }
}

impl DateTime {
    /// Reads '2024-01-02 03:04:05.678', '2024-01-02T03:04:05+05:30', '20240102030405', '24-1-2' and the like. A date
    /// alone is its midnight; zero dates are values. An offset is reported, not applied.
    #[must_use]
    pub fn parse(text: &[u8]) -> Option<Parsed<DateTime>> {
        DateTime::parse_with(text, Date::new)
    }

    /// As [`DateTime::parse`], but of days up to 31 in every month.
    #[must_use]
    pub fn parse_written(text: &[u8]) -> Option<Parsed<DateTime>> {
        DateTime::parse_with(text, Date::written)
    }

    fn parse_with(text: &[u8], date: DateOfFields) -> Option<Parsed<DateTime>> {
        let mut scanner = Scanner::new(text);
        let fields = Fields::read(&mut scanner)?;
        Some(Parsed {
            value: fields.value(date)?,
            truncated: scanner.has_rest(),
            clamped: false,
            fraction: fields.fraction,
            has_time: fields.count > DAY + 1,
            offset_minutes: fields.offset_minutes,
        })
    }

    /// Reads 20240102030405, 240102030405, 20240102 and 240102 as MySQL does; 0 is the zero date.
    #[must_use]
    pub fn from_number(number: u64) -> Option<Parsed<DateTime>> {
        DateTime::written_as_number(number).filter(|parsed| parsed.value.date().is_in_month())
    }

    /// As [`DateTime::from_number`], but of days up to 31 in every month.
    #[must_use]
    pub fn written_as_number(number: u64) -> Option<Parsed<DateTime>> {
        const DAY_UNIT: u64 = 1_000_000;
        let (full, has_time) = match number {
            0 => return Some(Parsed::exact(DateTime::ZERO, false)),
            101..=691_231 => ((number + 20_000_000) * DAY_UNIT, false),
            700_101..=991_231 => ((number + 19_000_000) * DAY_UNIT, false),
            10_000_101..=99_991_231 => (number * DAY_UNIT, false),
            101_000_000..=691_231_235_959 => (number + 20_000_000_000_000, true),
            700_101_000_000..=991_231_235_959 => (number + 19_000_000_000_000, true),
            10_000_101_000_000..=99_991_231_235_959 => (number, true),
            _ => return None,
        };
        let pair = |unit: u64| u32::try_from(full / unit % 100).unwrap_or(0);
        let year = u32::try_from(full / 10_000_000_000).ok()?;
        let date = Date::written(year, pair(100_000_000), pair(DAY_UNIT))?;
        Some(Parsed::exact(DateTime::new(date, pair(10_000), pair(100), pair(1), 0)?, has_time))
    }
}

impl Date {
    /// Reads a date; whether a time of day stood behind it is in `has_time`.
    #[must_use]
    pub fn parse(text: &[u8]) -> Option<Parsed<Date>> {
        let parsed = DateTime::parse(text)?;
        Some(parsed.with(parsed.value.date()))
    }
}

impl Time {
    /// Reads '12:30', '1 12:30:00', '-12:30:00.5', '123000', '2024-01-02 03:04:05' (its time of day). A time beyond the
    /// range is clamped and says so.
    #[must_use]
    pub fn parse(text: &[u8]) -> Option<Parsed<Time>> {
        let mut scanner = Scanner::new(text);
        if scanner.rest.len() >= 12 && scanner.at_digit() {
            let mut attempt = scanner;
            if let Some(fields) = Fields::read(&mut attempt)
                && fields.count > DAY + 1
                && (fields.found_space || !fields.found_delimiter)
                && let Some(value) = fields.value(Date::new)
            {
                let parsed = Parsed::exact(value.time(), true);
                return Some(Parsed {
                    truncated: attempt.has_rest(),
                    fraction: fields.fraction,
                    offset_minutes: fields.offset_minutes,
                    ..parsed
                });
            }
        }
        let negative = scanner.take(b'-');
        if !scanner.at_digit() {
            return None;
        }
        let (seconds, mut scanner) = Time::read_clock(scanner)?;
        let (mut microsecond, mut fraction) = (0, 0);
        if scanner.take(b'.') {
            let (read, count, round_up) = scanner.fraction();
            (microsecond, fraction) = (i64::from(read) + i64::from(round_up), count);
        }
        let size = seconds.saturating_mul(MICROSECONDS_PER_SECOND).saturating_add(microsecond);
        // The limit of the text form has no fraction.
        let limit = Time::MAX.truncate(0).microseconds();
        let clamped = size > limit;
        let size = size.min(limit);
        Some(Parsed {
            value: Time::from_microseconds_clamped(if negative { -size } else { size }),
            truncated: scanner.has_rest(),
            clamped,
            fraction,
            has_time: true,
            offset_minutes: None,
        })
    }

    /// '[days ]hours[:minutes[:seconds]]' or 'HHMMSS': seconds, and the rest of the text. `None` if minutes or seconds
    /// exceed 59.
    fn read_clock(mut scanner: Scanner<'_>) -> Option<(i64, Scanner<'_>)> {
        let first = i64::from(scanner.number(9)?.0);
        let behind_first = scanner;
        scanner.skip_spaces();
        let has_days = scanner.rest.len() < behind_first.rest.len() && scanner.at_digit();
        let mut numbers = [0_i64; 3];
        if has_days {
            numbers[0] = i64::from(scanner.number(9)?.0);
        } else if !followed_by_colon(behind_first) {
            let (minutes, seconds) = (first / 100 % 100, first % 100);
            let is_clock = minutes < 60 && seconds < 60;
            return is_clock.then_some((first / 10_000 * 3_600 + minutes * 60 + seconds, behind_first));
        } else {
            (numbers[0], scanner) = (first, behind_first);
        }
        for number in &mut numbers[1..] {
            if !followed_by_colon(scanner) {
                break;
            }
            scanner.take(b':');
            *number = i64::from(scanner.number(9)?.0);
        }
        let [hours, minutes, seconds] = numbers;
        let days = if has_days { first } else { 0 };
        let is_clock = minutes < 60 && seconds < 60;
        is_clock.then_some(((days * 24 + hours) * 3_600 + minutes * 60 + seconds, scanner))
    }

    /// Reads 123000 as 12:30:00, and numbers of 11 digits and more as date and time. `None` if minutes or seconds
    /// exceed 59; what is beyond the range is clamped and says so.
    #[must_use]
    pub fn from_number(number: i64) -> Option<Parsed<Time>> {
        let size = number.unsigned_abs();
        if size > 8_385_959 {
            if number >= 10_000_000_000
                && let Some(parsed) = DateTime::from_number(size)
            {
                return Some(parsed.with(parsed.value.time()));
            }
            let limit = Time::MAX.truncate(0).microseconds();
            let value = Time(if number < 0 { -limit } else { limit });
            return Some(Parsed { clamped: true, ..Parsed::exact(value, true) });
        }
        let part = |unit: u64, modulus: u64| u32::try_from(size / unit % modulus).unwrap_or(0);
        let time = Time::new(number < 0, part(10_000, 1_000), part(100, 100), part(1, 100), 0)?;
        Some(Parsed::exact(time, true))
    }
}

fn followed_by_colon(scanner: Scanner<'_>) -> bool {
    matches!(scanner.rest, [b':', digit, ..] if digit.is_ascii_digit())
}
