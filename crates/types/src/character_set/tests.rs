use super::*;
use proptest::prelude::*;

fn encoded(set: CharacterSet, text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    set.encode(text, &mut bytes);
    bytes
}

#[test]
fn the_table_is_in_the_order_of_the_enum() {
    for (position, set) in CharacterSet::all().enumerate() {
        assert_eq!(set as usize, position);
        assert_eq!(CharacterSet::by_name(&set.name().to_uppercase()), Some(set));
        assert_eq!(set.default_collation().set(), set, "{set:?}");
    }
    assert_eq!(CharacterSet::by_name("utf8"), Some(CharacterSet::Utf8mb3));
    assert_eq!(CharacterSet::by_name("cp850"), None);
    assert_eq!(CharacterSet::by_name("klingon"), None);
}

/// Bytes as MariaDB 10.11 converts them.
#[test]
fn bytes_mean_what_they_mean_to_mysql() {
    use CharacterSet as Set;
    let cases: [(Set, &[u8], &str); 33] = [
        (Set::Latin1, b"\xe9\x80\x81", "é€\u{81}"),
        (Set::Latin2, b"\xb1\x80", "ą\u{80}"),
        (Set::Latin5, b"\xfd\x80\xd0", "ı\u{80}Ğ"),
        (Set::Latin7, b"\xe0\xff", "ą’"),
        (Set::Cp1250, b"\xb9\x80\x81", "ą€?"),
        (Set::Cp1251, b"\xff\x88\x98", "я€?"),
        (Set::Cp1256, b"\xc7\xc0", "ا?"),
        (Set::Cp1257, b"\xe0\x8a", "ą?"),
        (Set::Cp866, b"\xef\xfc\xfd", "яⁿ²"),
        (Set::Koi8R, b"\xd1\xb3", "яЁ"),
        (Set::Koi8U, b"\xa4\x95\xae\xbe", "є•╝╬"),
        (Set::Greek, b"\xe1\xa1\xa4", "αʽ?"),
        (Set::Hebrew, b"\xe0\xaf", "א‾"),
        (Set::Tis620, b"\xa1\x80", "ก\u{80}"),
        (Set::MacRoman, b"\x8e", "é"),
        (Set::Gbk, b"\xd6\xd0", "中"),
        (Set::Gb2312, b"\xd6\xd0", "中"),
        (Set::Gb18030, b"\xd6\xd0\x94\x39\xfc\x36", "中😀"),
        (Set::Big5, b"\xa4\xa4", "中"),
        (Set::Sjis, b"\x93\xfa\xb1\x83\x5c", "日ｱソ"),
        (Set::Cp932, b"\x87\x40", "①"),
        (Set::Ujis, b"\xc6\xfc", "日"),
        (Set::EucJpMs, b"\xad\xa1", "①"),
        (Set::EucKr, b"\xc7\xd1", "한"),
        (Set::Ucs2, b"\x00\xe9", "é"),
        (Set::Utf16, b"\xd8\x3d\xde\x00", "😀"),
        (Set::Utf16Le, b"\x3d\xd8\x00\xde", "😀"),
        (Set::Utf32, b"\x00\x01\xf6\x00", "😀"),
        (Set::Utf8mb3, "é€".as_bytes(), "é€"),
        (Set::Utf8mb4, "😀".as_bytes(), "😀"),
        (Set::Ascii, b"a\\~", "a\\~"),
        (Set::Latin1, b"", ""),
        (Set::Ucs2, b"", ""),
    ];
    for (set, bytes, text) in cases {
        assert_eq!(set.decode(bytes).as_deref(), Ok(text), "{set:?}");
        if !text.contains('?') {
            assert_eq!(encoded(set, text), bytes, "{set:?}");
            assert_eq!(set.first_foreign(text), None, "{set:?}");
        }
    }
}

#[test]
fn malformed_bytes_are_found() {
    use CharacterSet as Set;
    let cases: [(Set, &[u8], usize); 10] = [
        (Set::Utf8mb4, b"ab\xff", 2),
        (Set::Utf8mb3, "aé😀".as_bytes(), 3),
        (Set::Ascii, b"a\xe9", 1),
        (Set::Gbk, b"a\x81\x20b", 1),
        (Set::Sjis, b"ab\xfd", 2),
        (Set::Ujis, b"\xc6\xfc\xc6", 2),
        (Set::Ucs2, b"\xd8\x3d\xde\x00", 0),
        (Set::Utf16, b"\x00a\xde\x00", 2),
        (Set::Utf16, b"\x00a\x00", 2),
        (Set::Utf32, b"\x00\x11\x00\x00", 0),
    ];
    for (set, bytes, position) in cases {
        assert_eq!(set.decode(bytes), Err(MalformedAt(position)), "{set:?}");
    }
}

#[test]
fn foreign_characters_become_question_marks() {
    use CharacterSet as Set;
    for (set, text, bytes, position) in [
        (Set::Latin1, "éяé", &b"\xe9?\xe9"[..], 2),
        (Set::Utf8mb3, "é😀x", "é?x".as_bytes(), 2),
        (Set::Ascii, "aé", b"a?", 1),
        (Set::Gbk, "中😀x", b"\xd6\xd0?x", 3),
        (Set::Ucs2, "a😀", b"\x00a\x00?", 1),
    ] {
        assert_eq!(encoded(set, text), bytes, "{set:?}");
        assert_eq!(set.first_foreign(text), Some(position), "{set:?}");
    }
}

proptest! {
    #[test]
    fn any_bytes_decode_or_not_without_harm(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
        for set in CharacterSet::all() {
            match set.decode(&bytes) {
                Ok(text) => drop(encoded(set, &text)),
                Err(MalformedAt(position)) => assert!(position < bytes.len(), "{set:?} {position}"),
            }
        }
    }

    #[test]
    fn what_a_set_has_comes_back(text in "\\PC{0,12}") {
        for set in CharacterSet::all() {
            let bytes = encoded(set, &text);
            let is_whole = set.first_foreign(&text).is_none();
            // The web's big5 and gb18030 write a few characters as what they read as another one.
            if is_whole && !matches!(set, CharacterSet::Big5 | CharacterSet::Gb18030 | CharacterSet::Gbk | CharacterSet::Gb2312) {
                let folded: String = text.chars().map(folded_by_japanese_sets).collect();
                let back = set.decode(&bytes).map(|text| text.chars().map(folded_by_japanese_sets).collect::<String>());
                assert_eq!(back, Ok(folded), "{set:?}");
            }
        }
    }
}

/// Yen and overline are written as backslash and tilde, the minus sign as the full-width one.
fn folded_by_japanese_sets(character: char) -> char {
    match character {
        '¥' => '\\',
        '‾' => '~',
        '\u{2212}' => '\u{ff0d}',
        character => character,
    }
}
