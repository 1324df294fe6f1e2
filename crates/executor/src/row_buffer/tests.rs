use super::{RowAt, RowBuffer};
use stdx::Prng;
use stdx::disposal::{free_some, has_more};
use types::{Date, DateTime, Decimal, Time, Value};

fn value(prng: &mut Prng) -> Value {
    match prng.below(10) {
        0 => Value::Null,
        1 => Value::Int(-5),
        2 => Value::UInt(u64::MAX),
        3 => Value::Double(0.5),
        4 => Value::Decimal(Box::new(Decimal::from(prng.below(1000)))),
        5 => Value::Date(Date::new(2024, 2, 29).unwrap()),
        6 => Value::Time(Time::from_microseconds_clamped(-1)),
        7 => Value::DateTime(DateTime::new(Date::new(2024, 2, 29).unwrap(), 1, 2, 3, 4).unwrap()),
        _ => {
            let length = prng.index(2_000);
            Value::Bytes((0..length).map(|_| u8::try_from(prng.below(256)).unwrap()).collect())
        }
    }
}

#[test]
fn rows_come_back_as_they_were() {
    let mut prng = Prng::new(1);
    let mut buffer = RowBuffer::default();
    for width in [1, 3, 12] {
        buffer.clear();
        assert_eq!(buffer.len(), 0);
        let rows: Vec<Vec<Value>> =
            (0..400).map(|_| (0..width).map(|_| value(&mut prng)).collect()).collect();
        let places: Vec<RowAt> = rows.iter().map(|row| buffer.push(crate::row::borrowed(row))).collect();
        assert_eq!(buffer.len(), rows.len());
        assert!(places.is_sorted());
        let bytes: usize = rows.iter().map(|row| crate::row_size(row) / 2).sum();
        assert!(buffer.size() > bytes / 2);
        let mut next = Some(RowAt::default());
        for (place, row) in places.iter().zip(&rows) {
            assert_eq!(next, Some(*place));
            assert!(buffer.values(*place).eq(crate::row::borrowed(row)));
            assert_eq!(buffer.value(*place, width - 1), row[width - 1].as_ref());
            assert!(buffer.value(*place, width).is_null());
            buffer.lend(*place, |values| assert!(values.iter().copied().eq(crate::row::borrowed(row))));
            next = buffer.behind(*place);
        }
        assert_eq!(next, None);
    }
}

/// Memory that was given up is not held beside that which is taken in its place.
#[test]
fn new_pieces_free_those_that_wait() {
    while free_some(1) {}
    let filled = || {
        let mut buffer = RowBuffer::default();
        for _ in 0..40 {
            buffer.push([types::ValueRef::Bytes(&[1; 100_000])]);
        }
        buffer
    };
    drop(filled());
    assert!(has_more());
    let next = filled();
    // The last of them waits, and its empty list.
    assert!(!free_some(2) && next.pieces.len() == 40);
}
