use super::*;
use proptest::prelude::*;

#[test]
fn lenenc_integers_change_size_at_their_boundaries() {
    for (value, size) in [
        (0, 1),
        (250, 1),
        (251, 3),
        (255, 3),
        (65_535, 3),
        (65_536, 4),
        (0xFF_FFFF, 4),
        (0x100_0000, 9),
        (u64::MAX, 9),
    ] {
        let mut bytes = Vec::new();
        append_lenenc_integer(&mut bytes, value);
        assert_eq!(bytes.len(), size, "{value}");
        let mut reader = Reader::new(&bytes);
        assert_eq!(reader.lenenc_integer(), Ok(value));
        assert!(reader.is_empty());
    }
}

#[test]
fn null_and_error_markers_are_no_integers() {
    assert_eq!(Reader::new(&[0xFB]).lenenc_integer(), Err(Malformed));
    assert_eq!(Reader::new(&[0xFF, 1, 2]).lenenc_integer(), Err(Malformed));
}

#[test]
fn a_string_longer_than_its_packet_is_malformed() {
    assert_eq!(Reader::new(&[5, b'a']).lenenc_bytes(), Err(Malformed));
    assert_eq!(Reader::new(&[0xFE, 255, 255, 255, 255, 255, 255, 255, 255]).lenenc_bytes(), Err(Malformed));
    assert_eq!(Reader::new(b"abc").nul_terminated(), Err(Malformed));
    assert_eq!(Reader::new(b"abc").nul_or_end_terminated(), b"abc");
}

#[test]
fn extreme_integers_as_text() {
    assert_eq!(DecimalText::from_i64(i64::MIN).as_bytes(), b"-9223372036854775808");
    assert_eq!(DecimalText::from_i64(0).as_bytes(), b"0");
    assert_eq!(DecimalText::from_u64(u64::MAX).as_bytes(), b"18446744073709551615");
}

proptest! {
    #[test]
    fn decimal_text_is_what_the_standard_library_writes(unsigned: u64, signed: i64, digits in 0u32..20) {
        let unsigned = unsigned / 10u64.pow(digits);
        prop_assert!(DecimalText::from_u64(unsigned).as_bytes() == unsigned.to_string().as_bytes());
        prop_assert!(DecimalText::from_i64(signed).as_bytes() == signed.to_string().as_bytes());
    }

    #[test]
    fn lenenc_round_trip(value: u64, shift in 0u32..64) {
        let mut bytes = Vec::new();
        append_lenenc_integer(&mut bytes, value >> shift);
        prop_assert_eq!(Reader::new(&bytes).lenenc_integer(), Ok(value >> shift));
    }
}
