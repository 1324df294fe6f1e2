//! DATE_FORMAT and TIME_FORMAT patterns, written and (STR_TO_DATE) read. Names of days and months are English.

use types::{Date, DateTime, SqlType, Time, Value, WeekMode};

const DAY_NAMES: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const MONTH_NAMES: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

fn index(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// The English name of a calendar day's weekday.
pub(crate) fn day_name(date: Date) -> &'static str {
    DAY_NAMES.get(index(date.weekday())).unwrap_or(&"")
}

/// The English name of the month; `None` for month 0.
pub(crate) fn month_name(date: Date) -> Option<&'static str> {
    MONTH_NAMES.get(index(date.month().checked_sub(1)?)).copied()
}

/// GET_FORMAT.
pub(crate) fn standard_format(kind: &[u8], region: &[u8]) -> Option<&'static str> {
    let kind = kind.to_ascii_uppercase();
    let region = region.to_ascii_uppercase();
    Some(match (kind.as_slice(), region.as_slice()) {
        (b"DATE", b"USA") => "%m.%d.%Y",
        (b"DATE", b"JIS" | b"ISO") => "%Y-%m-%d",
        (b"DATE", b"EUR") => "%d.%m.%Y",
        (b"DATE", b"INTERNAL") => "%Y%m%d",
        (b"DATETIME" | b"TIMESTAMP", b"USA" | b"EUR") => "%Y-%m-%d %H.%i.%s",
        (b"DATETIME" | b"TIMESTAMP", b"JIS" | b"ISO") => "%Y-%m-%d %H:%i:%s",
        (b"DATETIME" | b"TIMESTAMP", b"INTERNAL") => "%Y%m%d%H%i%s",
        (b"TIME", b"USA") => "%h:%i:%s %p",
        (b"TIME", b"JIS" | b"ISO") => "%H:%i:%s",
        (b"TIME", b"EUR") => "%H.%i.%s",
        (b"TIME", b"INTERNAL") => "%H%i%s",
        _ => return None,
    })
}

/// The fields that a pattern can show.
pub(crate) struct Fields {
    date: Date,
    negative: bool,
    hours: u32,
    minute: u32,
    second: u32,
    microsecond: u32,
}

impl Fields {
    pub(crate) fn of_datetime(datetime: DateTime) -> Self {
        Self {
            date: datetime.date(),
            negative: false,
            hours: datetime.hour(),
            minute: datetime.minute(),
            second: datetime.second(),
            microsecond: datetime.microsecond(),
        }
    }

    pub(crate) fn of_time(time: Time) -> Self {
        Self {
            date: Date::ZERO,
            negative: time.is_negative(),
            hours: time.hours(),
            minute: time.minute(),
            second: time.second(),
            microsecond: time.microsecond(),
        }
    }

    fn hour_of_twelve(&self) -> u32 {
        (self.hours % 24 + 11) % 12 + 1
    }

    fn half_of_day(&self) -> &'static str {
        if self.hours % 24 < 12 { "AM" } else { "PM" }
    }

    fn weekday(&self) -> Option<u32> {
        // As in MySQL '2024-00-00' has a weekday: that of its day number.
        let is_none = self.date.year() == 0 && self.date.month() == 0;
        if is_none { None } else { Some(self.date.weekday()) }
    }

    fn week(&self, mode: u64) -> Option<(u32, u32)> {
        if self.date.has_zero_part() { None } else { Some(self.date.week(WeekMode::new(mode))) }
    }

    /// One specifier; `None` if the value has no such part.
    fn specifier(&self, specifier: u8) -> Option<String> {
        let date = self.date;
        let (h, i, s) = (self.hours, self.minute, self.second);
        Some(match specifier {
            b'a' => DAY_NAMES.get(index(self.weekday()?))?.get(..3)?.to_owned(),
            b'b' => month_name(date)?.get(..3)?.to_owned(),
            b'c' => date.month().to_string(),
            b'D' => format!("{}{}", date.day(), ordinal_suffix(date.day())),
            b'd' => format!("{:02}", date.day()),
            b'e' => date.day().to_string(),
            b'f' => format!("{:06}", self.microsecond),
            b'H' => format!("{h:02}"),
            b'h' | b'I' => format!("{:02}", self.hour_of_twelve()),
            b'i' => format!("{i:02}"),
            b'j' => self.weekday().map(|_| format!("{:03}", date.yearday()))?,
            b'k' => h.to_string(),
            b'l' => self.hour_of_twelve().to_string(),
            b'M' => month_name(date)?.to_owned(),
            b'm' => format!("{:02}", date.month()),
            b'p' => self.half_of_day().to_owned(),
            b'r' => format!("{:02}:{i:02}:{s:02} {}", self.hour_of_twelve(), self.half_of_day()),
            b'S' | b's' => format!("{s:02}"),
            b'T' => format!("{h:02}:{i:02}:{s:02}"),
            b'U' => format!("{:02}", self.week(0)?.1),
            b'u' => format!("{:02}", self.week(1)?.1),
            b'V' => format!("{:02}", self.week(2)?.1),
            b'v' => format!("{:02}", self.week(3)?.1),
            b'W' => DAY_NAMES.get(index(self.weekday()?))?.to_string(),
            b'w' => ((self.weekday()? + 1) % 7).to_string(),
            b'X' => format!("{:04}", self.week(2)?.0),
            b'x' => format!("{:04}", self.week(3)?.0),
            b'Y' => format!("{:04}", date.year()),
            b'y' => format!("{:02}", date.year() % 100),
            other => char::from(other).to_string(),
        })
    }
}

fn ordinal_suffix(day: u32) -> &'static str {
    match (day / 10, day % 10) {
        (1, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    }
}

/// The value by a pattern; `None` (NULL) if it lacks a part that the pattern names.
pub(crate) fn write(fields: &Fields, pattern: &[u8]) -> Option<Vec<u8>> {
    let mut text = Vec::with_capacity(pattern.len() * 2);
    if fields.negative {
        text.push(b'-');
    }
    let mut rest = pattern;
    while let [first, behind @ ..] = rest {
        rest = behind;
        match (first, behind) {
            (b'%', [specifier, behind @ ..]) if specifier.is_ascii() => {
                text.extend_from_slice(fields.specifier(*specifier)?.as_bytes());
                rest = behind;
            }
            _ => text.push(*first),
        }
    }
    Some(text)
}

/// The type of STR_TO_DATE by its pattern.
pub(crate) fn parsed_type(pattern: Option<&Value>) -> SqlType {
    let Some(Value::Bytes(pattern)) = pattern else { return SqlType::DateTime { fraction: 6 } };
    let (mut has_date, mut has_time, mut fraction) = (false, false, 0);
    let mut bytes = pattern.iter();
    while let Some(byte) = bytes.next() {
        if *byte != b'%' {
            continue;
        }
        match bytes.next() {
            Some(b'f') => (has_time, fraction) = (true, 6),
            Some(b'H' | b'h' | b'I' | b'i' | b'k' | b'l' | b'p' | b'r' | b'S' | b's' | b'T') => {
                has_time = true
            }
            Some(b'%') | None => {}
            Some(_) => has_date = true,
        }
    }
    match (has_date, has_time) {
        (true, true) => SqlType::DateTime { fraction },
        (false, true) => SqlType::Time { fraction },
        (_, false) => SqlType::Date,
    }
}

/// The text that STR_TO_DATE has read.
pub(crate) struct ParsedText {
    /// With the date that was read, zero parts where the pattern names none.
    pub(crate) datetime: DateTime,
    /// The time of day alone.
    pub(crate) time: Time,
    /// Text was left over.
    pub(crate) truncated: bool,
}

/// The fields gathered while a text is read by a pattern.
#[derive(Default)]
struct Gathered {
    year: u32,
    month: u32,
    day: u32,
    hour: u32,
    minute: u32,
    second: u32,
    microsecond: u32,
    yearday: Option<u32>,
    weekday: Option<u32>,
    week: Option<(u32, u64)>,
    week_year: Option<u32>,
    twelve_hours: bool,
    afternoon: bool,
}

/// Reads `text` by `pattern`; `None` if it does not fit or is no date.
pub(crate) fn parse(text: &[u8], pattern: &[u8]) -> Option<ParsedText> {
    let mut gathered = Gathered::default();
    let rest = gathered.read(text, pattern)?;
    let truncated = rest.iter().any(|byte| !byte.is_ascii_whitespace());
    let date = gathered.date()?;
    let mut hour = gathered.hour;
    if gathered.twelve_hours {
        if hour == 0 || hour > 12 {
            return None;
        }
        hour = hour % 12 + if gathered.afternoon { 12 } else { 0 };
    }
    let datetime = DateTime::new(date, hour, gathered.minute, gathered.second, gathered.microsecond)?;
    Some(ParsedText { datetime, time: datetime.time(), truncated })
}

/// At most `limit` digits at the start of `text`.
fn number(text: &[u8], limit: usize) -> Option<(u32, &[u8])> {
    let count = text.iter().take(limit).take_while(|byte| byte.is_ascii_digit()).count();
    let digits = std::str::from_utf8(text.get(..count)?).ok()?;
    Some((digits.parse().ok()?, &text[count..]))
}

/// One of `names`, whole or (`short`) by its first three letters, any case.
fn name<'t>(text: &'t [u8], names: &[&str], short: bool) -> Option<(u32, &'t [u8])> {
    let found = names.iter().position(|name| {
        let wanted = if short { &name.as_bytes()[..3] } else { name.as_bytes() };
        text.get(..wanted.len()).is_some_and(|start| start.eq_ignore_ascii_case(wanted))
    })?;
    let size = if short { 3 } else { names.get(found)?.len() };
    Some((u32::try_from(found).ok()?, &text[size..]))
}

fn skip_while(text: &[u8], what: impl Fn(u8) -> bool) -> &[u8] {
    let count = text.iter().take_while(|byte| what(**byte)).count();
    &text[count..]
}

impl Gathered {
    /// Follows the pattern; gives what is left of the text.
    fn read<'t>(&mut self, text: &'t [u8], pattern: &[u8]) -> Option<&'t [u8]> {
        let (mut text, mut pattern) = (text, pattern);
        while let [first, behind @ ..] = pattern {
            text = skip_while(text, |byte| byte.is_ascii_whitespace());
            if text.is_empty() {
                break;
            }
            pattern = behind;
            match (first, behind) {
                (b'%', [specifier, behind @ ..]) => {
                    text = self.specifier(*specifier, text)?;
                    pattern = behind;
                }
                (space, _) if space.is_ascii_whitespace() => {}
                (literal, _) => {
                    text = text.strip_prefix(&[*literal])?;
                }
            }
        }
        Some(text)
    }

    fn specifier<'t>(&mut self, specifier: u8, text: &'t [u8]) -> Option<&'t [u8]> {
        let read = |limit: usize| number(text, limit);
        let (value, rest) = match specifier {
            b'Y' | b'X' | b'x' => {
                let (value, rest) = read(4)?;
                let value = if text.len() - rest.len() == 2 { two_digit_year(value) } else { value };
                (value, rest)
            }
            b'y' => read(2).map(|(value, rest)| (two_digit_year(value), rest))?,
            b'm' | b'c' | b'd' | b'e' | b'H' | b'k' | b'h' | b'I' | b'l' | b'i' | b'S' | b's' => read(2)?,
            b'U' | b'u' | b'V' | b'v' => read(2)?,
            b'D' => read(2).map(|(value, rest)| (value, rest.get(2..).unwrap_or_default()))?,
            b'j' => read(3)?,
            b'w' => read(1)?,
            b'f' => {
                let (value, rest) = read(6)?;
                let digits = u32::try_from(text.len() - rest.len()).ok()?;
                (value * 10_u32.pow(6 - digits), rest)
            }
            b'M' => name(text, &MONTH_NAMES, false)?,
            b'b' => name(text, &MONTH_NAMES, true)?,
            b'W' => name(text, &DAY_NAMES, false)?,
            b'a' => name(text, &DAY_NAMES, true)?,
            b'p' => half_of_day(text)?,
            b'T' => return self.read(text, b"%H:%i:%S"),
            b'r' => return self.read(text, b"%I:%i:%S %p"),
            b'.' => return Some(skip_while(text, |byte| byte.is_ascii_punctuation())),
            b'@' => return Some(skip_while(text, |byte| byte.is_ascii_alphabetic())),
            b'#' => return Some(skip_while(text, |byte| byte.is_ascii_digit())),
            b'%' => return text.strip_prefix(b"%"),
            _ => return None,
        };
        self.gather(specifier, value);
        Some(rest)
    }

    fn gather(&mut self, specifier: u8, value: u32) {
        match specifier {
            b'Y' | b'y' => self.year = value,
            b'X' | b'x' => self.week_year = Some(value),
            b'm' | b'c' => self.month = value,
            b'M' | b'b' => self.month = value + 1,
            b'd' | b'e' | b'D' => self.day = value,
            b'H' | b'k' => self.hour = value,
            b'h' | b'I' | b'l' => (self.hour, self.twelve_hours) = (value, true),
            b'i' => self.minute = value,
            b'S' | b's' => self.second = value,
            b'f' => self.microsecond = value,
            b'j' => self.yearday = Some(value),
            b'w' => self.weekday = Some((value + 6) % 7),
            b'W' | b'a' => self.weekday = Some(value),
            b'U' => self.week = Some((value, 0)),
            b'u' => self.week = Some((value, 1)),
            b'V' => self.week = Some((value, 2)),
            b'v' => self.week = Some((value, 3)),
            _ => self.afternoon = value == 1,
        }
    }

    fn date(&self) -> Option<Date> {
        if let Some(yearday) = self.yearday {
            let first = Date::new(self.year, 1, 1)?;
            return Date::from_days(i64::from(first.to_days()) + i64::from(yearday.checked_sub(1)?));
        }
        if let (Some((week, mode)), Some(weekday)) = (self.week, self.weekday) {
            return self.date_of_week(week, mode, weekday);
        }
        Date::new(self.year, self.month, self.day)
    }

    /// The day of a week: the first day of week 1 by the mode, then on.
    fn date_of_week(&self, week: u32, mode: u64, weekday: u32) -> Option<Date> {
        let year = self.week_year.unwrap_or(self.year);
        if week > 53 {
            return None;
        }
        let first = Date::new(year, 1, 1)?;
        let monday_first = mode & 1 == 1;
        // Days since the start of the week, for January 1st and for the day asked for.
        let place = |weekday: u32| i64::from(if monday_first { weekday } else { (weekday + 1) % 7 });
        let offset = place(first.weekday());
        let starts_late = if monday_first { offset >= 4 } else { offset != 0 };
        let week_one = i64::from(first.to_days()) - offset + if starts_late { 7 } else { 0 };
        Date::from_days(week_one + (i64::from(week) - 1) * 7 + place(weekday))
    }
}

fn two_digit_year(year: u32) -> u32 {
    match year {
        0..=69 => year + 2_000,
        70..=99 => year + 1_900,
        _ => year,
    }
}

fn half_of_day(text: &[u8]) -> Option<(u32, &[u8])> {
    let start = text.get(..2)?.to_ascii_uppercase();
    match start.as_slice() {
        b"AM" => Some((0, &text[2..])),
        b"PM" => Some((1, &text[2..])),
        _ => None,
    }
}
