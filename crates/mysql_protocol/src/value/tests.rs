use super::*;
use proptest::prelude::*;

fn round_trip(value: ParameterValue<'_>) {
    let mut bytes = Vec::new();
    value.append(&mut bytes);
    let mut reader = Reader::new(&bytes);
    assert_eq!(ParameterValue::read(&mut reader, value.parameter_type()), Ok(value));
    assert!(reader.is_empty());
}

#[test]
fn integers_are_extended_from_their_width() {
    let read = |column_type, unsigned, bytes: &'static [u8]| {
        ParameterValue::read(&mut Reader::new(bytes), ParameterType { column_type, unsigned }).unwrap()
    };
    assert_eq!(read(ColumnType::Tiny, false, &[0xFF]), ParameterValue::Int(-1));
    assert_eq!(read(ColumnType::Tiny, true, &[0xFF]), ParameterValue::UInt(255));
    assert_eq!(read(ColumnType::Short, false, &[0, 0x80]), ParameterValue::Int(-32_768));
    assert_eq!(read(ColumnType::Year, true, &[0xE8, 0x07]), ParameterValue::UInt(2024));
    assert_eq!(read(ColumnType::Long, false, &[0xFE, 0xFF, 0xFF, 0xFF]), ParameterValue::Int(-2));
    assert_eq!(read(ColumnType::Int24, true, &[0xFE, 0xFF, 0xFF, 0xFF]), ParameterValue::UInt(0xFFFF_FFFE));
    assert_eq!(read(ColumnType::LongLong, false, &[0xFF; 8]), ParameterValue::Int(-1));
    assert_eq!(read(ColumnType::LongLong, true, &[0xFF; 8]), ParameterValue::UInt(u64::MAX));
}

#[test]
fn dates_leave_out_trailing_zeros() {
    let midnight = DateTime { year: 2024, month: 2, day: 29, ..DateTime::default() };
    for (value, size) in [
        (DateTime::default(), 1),
        (midnight, 5),
        (DateTime { second: 1, ..midnight }, 8),
        (DateTime { microsecond: 1, ..midnight }, 12),
    ] {
        let mut bytes = Vec::new();
        ParameterValue::DateTime(value).append(&mut bytes);
        assert_eq!(bytes.len(), size);
        round_trip(ParameterValue::DateTime(value));
    }
    round_trip(ParameterValue::Date(Date::default()));
    round_trip(ParameterValue::Date(Date { year: 9999, month: 12, day: 31 }));
}

#[test]
fn a_date_with_a_time_of_day_is_cut_to_the_date() {
    let mut bytes = Vec::new();
    let value = DateTime { year: 2024, month: 2, day: 29, hour: 23, ..DateTime::default() };
    ParameterValue::DateTime(value).append(&mut bytes);
    let date = ParameterType { column_type: ColumnType::Date, unsigned: false };
    let expected = Date { year: 2024, month: 2, day: 29 };
    assert_eq!(ParameterValue::read(&mut Reader::new(&bytes), date), Ok(ParameterValue::Date(expected)));
}

#[test]
fn impossible_sizes_of_dates_are_malformed() {
    for (column_type, sizes) in [(ColumnType::DateTime, [0, 4, 7, 11]), (ColumnType::Time, [0, 8, 12, 12])] {
        for size in 0..=255 {
            let mut bytes = vec![0; 256];
            bytes[0] = size;
            let parameter_type = ParameterType { column_type, unsigned: false };
            let read = ParameterValue::read(&mut Reader::new(&bytes), parameter_type);
            assert_eq!(read.is_ok(), sizes.contains(&size), "{column_type:?} {size}");
        }
    }
}

proptest! {
    #[test]
    fn values_round_trip(
        signed: i64,
        unsigned: u64,
        float in any::<f32>(),
        double in any::<f64>(),
        bytes: Vec<u8>,
        (year, month, day) in any::<(u16, u8, u8)>(),
        (hour, minute, second, microsecond) in any::<(u8, u8, u8, u32)>(),
        (negative, days) in any::<(bool, u32)>(),
    ) {
        round_trip(ParameterValue::Null);
        round_trip(ParameterValue::Int(signed));
        round_trip(ParameterValue::UInt(unsigned));
        round_trip(ParameterValue::Float(float));
        round_trip(ParameterValue::Double(double));
        round_trip(ParameterValue::Bytes(&bytes));
        round_trip(ParameterValue::Date(Date { year, month, day }));
        round_trip(ParameterValue::DateTime(DateTime { year, month, day, hour, minute, second, microsecond }));
        let zero = (days, hour, minute, second, microsecond) == (0, 0, 0, 0, 0);
        let time = Time {
            negative: negative && !zero, days, hours: hour, minutes: minute, seconds: second, microseconds: microsecond,
        };
        round_trip(ParameterValue::Time(time));
    }

    #[test]
    fn any_bytes_of_any_type_are_handled(bytes: Vec<u8>, wire: u16) {
        if let Some(parameter_type) = ParameterType::from_wire(wire) {
            let _ = ParameterValue::read(&mut Reader::new(&bytes), parameter_type);
        }
        for &column_type in ColumnType::ALL {
            let parameter_type = ParameterType { column_type, unsigned: wire & 1 == 0 };
            let _ = ParameterValue::read(&mut Reader::new(&bytes), parameter_type);
        }
    }
}
