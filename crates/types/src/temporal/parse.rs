//! MySQL's text and number forms of temporal values (skeleton: signatures are final).
use super::{Date, DateTime, Time};

/// A value read from text or a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parsed<T> {
    /// The value, rounded to microseconds.
    pub value: T,
    /// Text was left over behind the value.
    pub truncated: bool,
    /// Digits of a second that the text had, at most 6.
    pub fraction: u8,
    /// The text had a time of day, not only a date.
    pub has_time: bool,
    /// Minutes east of UTC if the text ended in an offset ('+05:30').
    pub offset_minutes: Option<i16>,
}

#[expect(unused_variables, clippy::unimplemented, reason = "skeleton")]
impl DateTime {
    /// Reads '2024-01-02 03:04:05.678', '2024-01-02T03:04:05', '20240102030405', '24-1-2' and the like; zero dates are values.
    #[must_use]
    pub fn parse(text: &[u8]) -> Option<Parsed<DateTime>> {
        unimplemented!()
    }
    /// Reads 20240102030405, 20240102, 240102 as MySQL does.
    #[must_use]
    pub fn from_number(number: u64) -> Option<Parsed<DateTime>> {
        unimplemented!()
    }
}
#[expect(unused_variables, clippy::unimplemented, reason = "skeleton")]
impl Date {
    /// Reads a date; a time of day behind it is `has_time`.
    #[must_use]
    pub fn parse(text: &[u8]) -> Option<Parsed<Date>> {
        unimplemented!()
    }
}
#[expect(unused_variables, clippy::unimplemented, reason = "skeleton")]
impl Time {
    /// Reads '12:30', '1 12:30:00', '-12:30:00.5', '123000', '2024-01-02 03:04:05' (its time of day). Out of range is clamped: `Err(clamped)`.
    #[must_use]
    pub fn parse(text: &[u8]) -> Option<Parsed<Time>> {
        unimplemented!()
    }
    /// Reads 123000 as 12:30:00; `None` if minutes or seconds exceed 59 or the value is out of range.
    #[must_use]
    pub fn from_number(number: i64) -> Option<Time> {
        unimplemented!()
    }
}
