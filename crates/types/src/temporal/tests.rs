use super::*;
use proptest::prelude::*;

fn datetime(text: &str) -> String {
    DateTime::parse(text.as_bytes())
        .map_or_else(|| "none".to_owned(), |parsed| shown(parsed.value.to_string(), parsed.truncated))
}

fn time(text: &str) -> String {
    let Some(parsed) = Time::parse(text.as_bytes()) else { return "none".to_owned() };
    let mark = if parsed.clamped { " clamped" } else { "" };
    shown(parsed.value.to_string(), parsed.truncated) + mark
}

fn shown(text: String, truncated: bool) -> String {
    if truncated { text + " truncated" } else { text }
}

fn date(text: &str) -> Date {
    Date::parse(text.as_bytes()).unwrap().value
}

#[test]
fn dates_and_times_are_read_as_mysql_reads_them() {
    for (text, expected) in [
        ("2024-01-02", "2024-01-02 00:00:00"),
        ("2024-01-02 03:04:05", "2024-01-02 03:04:05"),
        ("2024-01-02 03:04:05.678", "2024-01-02 03:04:05.678000"),
        ("2024-01-02T03:04:05", "2024-01-02 03:04:05"),
        ("2024-1-2 3:4:5", "2024-01-02 03:04:05"),
        ("2024-01-02 03:04", "2024-01-02 03:04:00"),
        ("2024-01-02 03", "2024-01-02 03:00:00"),
        ("  2024-01-02  ", "2024-01-02 00:00:00"),
        ("24-01-02", "2024-01-02 00:00:00"),
        ("70-01-02", "1970-01-02 00:00:00"),
        ("69/01/02", "2069-01-02 00:00:00"),
        ("2024.01.02 03.04.05", "2024-01-02 03:04:05"),
        ("2024@01@02", "2024-01-02 00:00:00"),
        ("20240102", "2024-01-02 00:00:00"),
        ("240102", "2024-01-02 00:00:00"),
        ("20240102030405", "2024-01-02 03:04:05"),
        ("20240102.5", "2024-01-02 05:00:00"),
        ("20240102T030405", "2024-01-02 03:04:05"),
        ("20240102030405.5", "2024-01-02 03:04:05.500000"),
        ("240102030405", "2024-01-02 03:04:05"),
        ("2024-01-02 03:04:05.9999995", "2024-01-02 03:04:06"),
        ("2024-12-31 23:59:59.9999999", "2025-01-01 00:00:00"),
        ("9999-12-31 23:59:59.9999999", "none"),
        ("0000-00-00", "0000-00-00 00:00:00"),
        ("0000-00-00 00:00:00", "0000-00-00 00:00:00"),
        ("2024-00-10", "2024-00-10 00:00:00"),
        ("2024-02-29", "2024-02-29 00:00:00"),
        ("2023-02-29", "none"),
        ("2024-13-01", "none"),
        ("2024-01-32", "none"),
        ("2024-01-02 24:00:00", "none"),
        ("2024-01-02 03:60:00", "none"),
        ("2024-01", "none"),
        ("abc", "none"),
        ("", "none"),
        ("2024-01-02abc", "2024-01-02 00:00:00 truncated"),
        ("2024-01-02 03:04:05abc", "2024-01-02 03:04:05 truncated"),
        ("99999-01-01", "none"),
        ("2024-01-02 03:04:05.", "2024-01-02 03:04:05"),
    ] {
        assert_eq!(datetime(text), expected, "{text}");
    }
    let parsed = DateTime::parse(b"2024-01-02 03:04:05.12+05:30").unwrap();
    assert_eq!(
        (parsed.offset_minutes, parsed.fraction, parsed.truncated, parsed.has_time),
        (Some(330), 2, false, true)
    );
    assert_eq!(DateTime::parse(b"2024-01-02 03:04:05-13:59").unwrap().offset_minutes, Some(-839));
    assert!(DateTime::parse(b"2024-01-02 03:04:05-14:00").unwrap().truncated);
    assert!(!DateTime::parse(b"2024-01-02").unwrap().has_time);
}

#[test]
fn times_are_read_as_mysql_reads_them() {
    for (text, expected) in [
        ("12:30", "12:30:00"),
        ("12:30:45", "12:30:45"),
        ("1 12:30:00", "36:30:00"),
        ("1 12", "36:00:00"),
        ("-1 12:30:45.5", "-36:30:45.500000"),
        ("-12:30:00.5", "-12:30:00.500000"),
        ("123000", "12:30:00"),
        ("45", "00:00:45"),
        ("1145", "00:11:45"),
        ("123000.25", "12:30:00.250000"),
        ("2024-01-02 03:04:05", "03:04:05"),
        ("2024-01-02 03:04:05.5", "03:04:05.500000"),
        ("20240102030405", "03:04:05"),
        ("838:59:59", "838:59:59"),
        ("839:00:00", "838:59:59 clamped"),
        ("-900:00:00", "-838:59:59 clamped"),
        ("34 22:59:59", "838:59:59"),
        ("12:60:00", "none"),
        ("12:00:60", "none"),
        ("126000", "none"),
        ("abc", "none"),
        ("", "none"),
        ("12:30abc", "12:30:00 truncated"),
        ("12:30:45.9999999", "12:30:46"),
    ] {
        assert_eq!(time(text), expected, "{text}");
    }
}

#[test]
fn numbers_are_read_as_mysql_reads_them() {
    for (number, expected) in [
        (0, Some("0000-00-00 00:00:00")),
        (100, None),
        (101, Some("2000-01-01 00:00:00")),
        (240_102, Some("2024-01-02 00:00:00")),
        (691_231, Some("2069-12-31 00:00:00")),
        (691_232, None),
        (700_101, Some("1970-01-01 00:00:00")),
        (20_240_102, Some("2024-01-02 00:00:00")),
        (240_102_030_405, Some("2024-01-02 03:04:05")),
        (20_240_102_030_405, Some("2024-01-02 03:04:05")),
        (20_240_102_036_005, None),
        (99_991_231_235_960, None),
        (u64::MAX, None),
    ] {
        let read = DateTime::from_number(number).map(|parsed| parsed.value.to_string());
        assert_eq!(read.as_deref(), expected, "{number}");
    }
    let time = |number| Time::from_number(number).map(|parsed| parsed.value.to_string());
    assert_eq!(time(-123_000).as_deref(), Some("-12:30:00"));
    assert_eq!(time(8_385_959).as_deref(), Some("838:59:59"));
    assert_eq!(time(8_400_000).as_deref(), Some("838:59:59"));
    assert_eq!(time(1_260), None);
    assert_eq!(time(20_240_102_030_405).as_deref(), Some("03:04:05"));
    assert_eq!(date("2024-01-02").to_number(), 20_240_102);
    assert_eq!(DateTime::parse(b"2024-01-02 03:04:05").unwrap().value.to_number(), 20_240_102_030_405);
    assert_eq!(Time::parse(b"-112:30:01").unwrap().value.to_number(), -1_123_001);
}

#[test]
fn calendar_functions_follow_mysql() {
    for (text, days) in [
        ("0000-01-01", 1),
        ("0000-03-01", 60),
        ("1970-01-01", 719_528),
        ("2007-10-07", 733_321),
        ("2024-02-29", 739_310),
        ("9999-12-31", 3_652_424),
    ] {
        assert_eq!(date(text).to_days(), days, "{text}");
    }
    assert_eq!(Date::from_days(730_669).unwrap().to_string(), "2000-07-03");
    assert_eq!(Date::from_days(365), Some(Date::ZERO));
    assert_eq!(Date::from_days(366).unwrap().to_string(), "0001-01-01");
    assert_eq!(Date::from_days(3_652_425), None);
    assert_eq!(date("2008-02-03").weekday(), 6);
    assert_eq!(date("2007-11-06").weekday(), 1);
    assert_eq!(date("2007-02-03").yearday(), 34);
    assert_eq!(date("2004-02-05").last_day().unwrap().to_string(), "2004-02-29");
    for (text, mode, week) in [
        ("2008-02-20", 0, (2008, 7)),
        ("2008-02-20", 1, (2008, 8)),
        ("2008-12-31", 1, (2008, 53)),
        ("2000-01-01", 0, (2000, 0)),
        ("2000-01-01", 2, (1999, 52)),
        ("2008-12-31", 3, (2009, 1)),
        ("1987-01-01", 2, (1986, 52)),
        ("2021-01-03", 0, (2021, 1)),
        ("2021-01-03", 1, (2021, 0)),
        ("2021-01-03", 3, (2020, 53)),
        ("2021-01-04", 5, (2021, 1)),
        ("2021-01-03", 4, (2021, 1)),
        ("2024-12-31", 3, (2025, 1)),
        ("2023-01-01", 6, (2023, 1)),
        ("2022-01-01", 7, (2021, 52)),
    ] {
        assert_eq!(date(text).week(WeekMode::new(mode)), week, "{text} {mode}");
    }
}

#[test]
fn intervals_cut_to_the_months_end() {
    let add = |text: &str, months, days, microseconds| {
        let value = DateTime::parse(text.as_bytes()).unwrap().value;
        value.add_interval(Interval { months, days, microseconds }).map(|value| value.to_string())
    };
    assert_eq!(add("2024-01-31", 1, 0, 0).as_deref(), Some("2024-02-29 00:00:00"));
    assert_eq!(add("2024-02-29", 12, 0, 0).as_deref(), Some("2025-02-28 00:00:00"));
    assert_eq!(add("2024-01-15", -13, 0, 0).as_deref(), Some("2022-12-15 00:00:00"));
    assert_eq!(add("2024-12-31 23:59:59", 0, 0, 1_000_000).as_deref(), Some("2025-01-01 00:00:00"));
    assert_eq!(add("2025-01-01 00:00:00", 0, -1, -1).as_deref(), Some("2024-12-30 23:59:59.999999"));
    assert_eq!(add("9999-12-31 23:59:59", 0, 0, 1_000_000), None);
    assert_eq!(add("0000-00-00", 0, 1, 0), None);
    assert_eq!(add("2024-01-01", i64::MAX, 0, 0), None);
    assert_eq!(add("2024-01-01", 0, i64::MAX, 0), None);
    assert_eq!(date("2024-01-31").add_interval(1, 1).unwrap().to_string(), "2024-03-01");
    let unix = DateTime::from_unix_microseconds(1_700_000_000_123_456).unwrap();
    assert_eq!(unix.to_string(), "2023-11-14 22:13:20.123456");
    assert_eq!(unix.to_unix_microseconds(), 1_700_000_000_123_456);
    assert_eq!(unix.round(3).unwrap().to_string(), "2023-11-14 22:13:20.123000");
    assert_eq!(
        DateTime::parse(b"2024-12-31 23:59:59.6").unwrap().value.round(0).unwrap().to_string(),
        "2025-01-01 00:00:00"
    );
    assert_eq!(DateTime::parse(b"9999-12-31 23:59:59.6").unwrap().value.round(0), None);
    assert_eq!(Time::parse(b"-00:00:00.5").unwrap().value.round(0).to_string(), "-00:00:01");
    assert_eq!(format!("{:.3}", unix), "2023-11-14 22:13:20.123");
}

fn any_date() -> impl Strategy<Value = Date> {
    (366_i64..=3_652_424).prop_map(|days| Date::from_days(days).unwrap())
}

fn any_datetime() -> impl Strategy<Value = DateTime> {
    (any_date(), 0..86_400_000_000_i64).prop_map(|(date, microseconds)| {
        date.at_midnight().add_interval(Interval { microseconds, ..Interval::default() }).unwrap()
    })
}

fn any_time() -> impl Strategy<Value = Time> {
    (Time::MIN.microseconds()..=Time::MAX.microseconds())
        .prop_map(|microseconds| Time::from_microseconds(microseconds).unwrap())
}

proptest! {
    #[test]
    fn text_numbers_and_days_round_trip(value in any_datetime(), time in any_time()) {
        prop_assert_eq!(DateTime::parse(format!("{value:.6}").as_bytes()).unwrap().value, value);
        prop_assert_eq!(DateTime::from_packed(value.packed()), Some(value));
        prop_assert_eq!(DateTime::from_unix_microseconds(value.to_unix_microseconds()), Some(value));
        let date = value.date();
        prop_assert_eq!(Date::parse(date.to_string().as_bytes()).unwrap().value, date);
        prop_assert_eq!(Date::from_days(i64::from(date.to_days())), Some(date));
        prop_assert_eq!(Date::from_packed(date.packed()), Some(date));
        if date.year() >= 1970 {
            prop_assert_eq!(DateTime::from_number(value.to_number()).unwrap().value, value.truncate(0));
        }
        let time = time.truncate(0);
        prop_assert_eq!(Time::parse(time.to_string().as_bytes()).unwrap().value, time);
        prop_assert_eq!(Time::from_number(time.to_number()).unwrap().value, time);
        prop_assert_eq!(stdx::wire::from_bytes::<DateTime>(&stdx::wire::to_bytes(&value)), Ok(value));
        prop_assert_eq!(stdx::wire::from_bytes::<Time>(&stdx::wire::to_bytes(&time)), Ok(time));
        prop_assert_eq!(stdx::wire::from_bytes::<Date>(&stdx::wire::to_bytes(&date)), Ok(date));
    }

    #[test]
    fn order_is_that_of_the_calendar(left in any_datetime(), right in any_datetime(), days in -1_000_i64..1_000) {
        prop_assert_eq!(left.cmp(&right), left.to_unix_microseconds().cmp(&right.to_unix_microseconds()));
        if let Some(moved) = left.date().add_interval(0, days) {
            prop_assert_eq!(i64::from(moved.to_days()) - i64::from(left.date().to_days()), days);
            prop_assert_eq!(i64::from(moved.weekday()), (i64::from(left.date().weekday()) + days).rem_euclid(7));
        }
        prop_assert_eq!(left.date().yearday(), left.date().to_days() - Date::new(left.date().year(), 1, 1).unwrap().to_days() + 1);
    }

    #[test]
    fn any_text_is_a_value_or_none(bytes in proptest::collection::vec(prop_oneof![any::<u8>(), b'0'..=b'9', Just(b':'), Just(b'-'), Just(b' '), Just(b'.')], 0..30), number in any::<i64>()) {
        let _ = (DateTime::parse(&bytes), Time::parse(&bytes), Date::parse(&bytes));
        let _ = (Time::from_number(number), DateTime::from_number(number.unsigned_abs()), DateTime::from_packed(number.unsigned_abs()));
    }
}
