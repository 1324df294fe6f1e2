use super::*;
use proptest::prelude::*;

const ALL: [Collation; 8] = [
    Collation::Binary,
    Collation::Utf8mb40900AiCi,
    Collation::Utf8mb40900AsCs,
    Collation::Utf8mb40900Bin,
    Collation::Utf8mb4Bin,
    Collation::Utf8mb4GeneralCi,
    // utf8mb4_0900_as_ci and latin1_swedish_ci.
    packed(305, Order::Secondary, Padding::Counts),
    Collation(packed(8, Order::Swedish, Padding::Ignored).0 | NARROW),
];
const AI: Collation = Collation::Utf8mb40900AiCi;
const CS: Collation = Collation::Utf8mb40900AsCs;

fn key(collation: Collation, text: &[u8]) -> Vec<u8> {
    let mut key = Vec::new();
    collation.sort_key(text, &mut key);
    key
}

fn agree(collation: Collation, left: &[u8], right: &[u8]) {
    let order = collation.compare(left, right);
    let (left_key, right_key) = (key(collation, left), key(collation, right));
    assert_eq!(order, left_key.cmp(&right_key), "{collation:?} {left:?} {right:?}");
    assert_eq!(order, collation.compare(right, left).reverse());
    assert_eq!(collation.equal(left, right), order.is_eq());
    if let (Some(left_prefix), Some(right_prefix)) =
        (collation.order_prefix(left), collation.order_prefix(right))
        && left_prefix != right_prefix
    {
        assert_eq!(order, left_prefix.cmp(&right_prefix), "{collation:?} {left:?} {right:?}");
    }
    if order.is_eq() {
        assert_eq!(collation.hash(left), collation.hash(right), "{collation:?} {left:?} {right:?}");
    }
    if collation.has_zero_free_sort_key() {
        assert!(!left_key.contains(&0));
    }
}

fn as_icu(left: &[u8], right: &[u8]) {
    assert_eq!(ALL[6].compare(left, right), SECONDARY.compare_utf8(left, right), "{left:?} {right:?}");
    assert_eq!(AI.compare(left, right), PRIMARY.compare_utf8(left, right), "{left:?} {right:?}");
    assert_eq!(CS.compare(left, right), TERTIARY.compare_utf8(left, right), "{left:?} {right:?}");
    let mut icu = Vec::new();
    icu_sort_key(&PRIMARY, left, &mut icu);
    assert_eq!(key(AI, left), icu, "{left:?}");
}

#[test]
fn all_pairs_of_ascii_characters() {
    for left in 0..128_u8 {
        for right in 0..128_u8 {
            as_icu(&[left], &[right]);
            as_icu(&[left, right], &[right]);
            as_icu(&[left, right], &[right, left]);
            as_icu(&[b'x', left, right, b'y'], &[b'X', right, b'y']);
            for collation in ALL {
                agree(collation, &[left], &[right]);
            }
        }
    }
}

#[test]
fn plain_strings_have_an_order_prefix() {
    let prefix = |collation: Collation, text: &str| collation.order_prefix(text.as_bytes());
    for collation in ALL {
        assert!(prefix(collation, "12345678-x") < prefix(collation, "12345679-a"), "{collation:?}");
        assert!(prefix(collation, "abc") < prefix(collation, "abcd"), "{collation:?}");
        assert!(prefix(collation, "").is_some());
    }
    assert_eq!(prefix(AI, "ABCDEFGH"), prefix(AI, "abcdefgh!"));
    assert_eq!(prefix(Collation::Utf8mb4GeneralCi, "a  "), prefix(Collation::Utf8mb4GeneralCi, "a"));
    // The next character may change what the last letter means, or nothing follows that counts.
    assert_eq!((prefix(AI, "abcdefgh\u{301}"), prefix(CS, "a\u{1}")), (None, None));
}

#[test]
fn known_orders() {
    assert_eq!(AI.compare(b"a", b"A"), Ordering::Equal);
    assert_eq!(AI.compare("résumé".as_bytes(), b"RESUME"), Ordering::Equal);
    assert_eq!(AI.compare("ß".as_bytes(), b"ss"), Ordering::Equal);
    assert_eq!(AI.compare(b"a", b"a "), Ordering::Less);
    assert_eq!(AI.compare(b"a-b", b"ab"), Ordering::Less);
    assert_eq!(AI.compare(b"a b", b"ab"), Ordering::Less);
    assert_eq!(AI.compare(b"10", b"9"), Ordering::Less);
    assert_eq!(CS.compare(b"a", b"A"), Ordering::Less);
    assert_eq!(CS.compare(b"Aa", b"ab"), Ordering::Less);
    assert_eq!(CS.compare("e".as_bytes(), "é".as_bytes()), Ordering::Less);
    let general = Collation::Utf8mb4GeneralCi;
    assert_eq!(general.compare(b"a", b"A   "), Ordering::Equal);
    assert_eq!(general.hash(b"a"), general.hash(b"A   "));
    assert_eq!(Collation::Utf8mb4Bin.compare(b"a", b"a "), Ordering::Equal);
    assert_eq!(Collation::Utf8mb40900Bin.compare(b"a", b"a "), Ordering::Less);
    assert_eq!(Collation::Utf8mb4Bin.compare("\u{ffff}".as_bytes(), "😀".as_bytes()), Ordering::Less);
}

/// As MariaDB 10.11 compares them.
#[test]
fn general_ci_has_one_weight_a_character() {
    let general = Collation::Utf8mb4GeneralCi;
    for (left, right, order) in [
        ("ß", "s", Ordering::Equal),
        ("ß", "ss", Ordering::Less),
        ("é", "E", Ordering::Equal),
        ("æ", "ae", Ordering::Greater),
        ("æ", "Æ", Ordering::Equal),
        ("ä", "a", Ordering::Equal),
        ("ø", "o", Ordering::Greater),
        ("я", "Я", Ordering::Equal),
        ("й", "и", Ordering::Greater),
        ("ё", "Е", Ordering::Equal),
        ("ά", "Α", Ordering::Equal),
        ("ﬁ", "fi", Ordering::Greater),
        ("😀", "😁", Ordering::Equal),
        ("_", "a", Ordering::Greater),
        ("a ", "A", Ordering::Equal),
        ("\0", "", Ordering::Greater),
        ("\0", "\u{1}", Ordering::Less),
        ("\u{1}", "\u{2}", Ordering::Less),
    ] {
        assert_eq!(general.compare(left.as_bytes(), right.as_bytes()), order, "{left:?} {right:?}");
        agree(general, left.as_bytes(), right.as_bytes());
    }
    let swedish = Collation::by_name("latin1_swedish_ci").unwrap_or(AI);
    for (left, right, order) in [
        ("z", "å", Ordering::Less),
        ("å", "ä", Ordering::Less),
        ("ä", "Æ", Ordering::Equal),
        ("Ä", "ö", Ordering::Less),
        ("ü", "y", Ordering::Equal),
        ("é", "e", Ordering::Equal),
        ("ð", "D", Ordering::Equal),
        ("ß", "s", Ordering::Greater),
    ] {
        assert_eq!(swedish.compare(left.as_bytes(), right.as_bytes()), order, "{left:?} {right:?}");
    }
}

#[test]
fn every_fold_is_a_run_behind_the_one_before() {
    for character in ('\0'..='\u{ffff}').map(|character| character.to_string()) {
        agree(Collation::Utf8mb4GeneralCi, character.as_bytes(), b"a");
    }
    let count = ('\0'..='\u{ffff}').filter(|character| {
        let text = character.to_string();
        key(Collation::Utf8mb4GeneralCi, text.as_bytes()) != text.as_bytes()
    });
    // As many as WEIGHT_STRING has other weights for, and U+0000, U+0001, U+0020.
    assert_eq!(count.count(), 1_108 + 3);
}

#[test]
fn names_and_numbers() {
    for collation in ALL {
        assert_eq!(Collation::by_name(collation.name()), Some(collation));
        assert_eq!(Collation::by_mysql_id(collation.mysql_id()), Some(collation));
    }
    for name in names::all() {
        let Some(collation) = Collation::by_mysql_id(name.id) else {
            assert_eq!(CharacterSet::by_name(name.character_set), None, "{name:?}");
            continue;
        };
        assert_eq!((collation.name(), collation.mysql_id()), (name.name, name.id));
        assert_eq!(collation.character_set(), name.character_set);
        let mut bytes = Vec::new();
        collation.encode(&mut Encoder { bytes: &mut bytes, version: stdx::wire::WIRE_VERSION });
        assert_eq!(stdx::wire::from_bytes::<Collation>(&bytes), Ok(collation));
    }
    assert!(names::COLLATIONS.windows(2).all(|pair| pair[0].0 < pair[1].0));
    assert_eq!(stdx::wire::from_bytes::<Collation>(&[6, 0, 0]), Err(WireError::Malformed));
    assert_eq!(stdx::wire::from_bytes::<Collation>(&[7]), Err(WireError::UnknownTag));
    for (name, known) in [
        ("UTF8MB4_UNICODE_CI", Some("utf8mb4_unicode_ci")),
        ("utf8_general_ci", Some("utf8mb3_general_ci")),
        ("latin1_general_cs", Some("latin1_general_cs")),
        ("utf8mb4_uca1400_nopad_ai_ci", Some("utf8mb4_0900_ai_ci")),
        ("utf8mb4_uca1400_as_cs", Some("utf8mb4_0900_as_cs")),
        ("uca1400_ai_ci", Some("utf8mb4_unicode_520_ci")),
        ("utf8mb3_uca1400_ai_ci", Some("utf8mb3_unicode_520_ci")),
        ("utf8mb4_nopad_bin", Some("utf8mb4_0900_bin")),
        ("latin1_swedish_nopad_ci", Some("latin1_swedish_ci")),
        ("cp850_general_ci", None),
        ("utf8mb4", None),
        ("utf8mb4_x", None),
        ("klingon_general_ci", None),
        ("", None),
    ] {
        assert_eq!(Collation::by_name(name).map(Collation::name), known, "{name}");
    }
    assert_eq!(Collation::by_character_set("UTF8MB4"), Some(AI));
    assert_eq!(Collation::by_character_set("latin1").map(Collation::name), Some("latin1_swedish_ci"));
    assert_eq!(Collation::by_character_set("klingon"), None);
    assert_eq!(Collation::by_mysql_id(9_999), None);
    assert_eq!(Collation::mysql_name(4).map(|known| known.character_set), Some("cp850"));
}

/// The attributes that MySQL 8 lists.
#[test]
fn padding_is_by_collation() {
    for (name, pads) in [
        ("utf8mb4_unicode_ci", true),
        ("utf8mb4_unicode_520_ci", true),
        ("utf8mb4_bin", true),
        ("latin1_bin", true),
        ("utf8mb4_0900_as_ci", false),
        ("utf8mb4_de_pb_0900_ai_ci", false),
        ("utf8mb4_0900_bin", false),
        ("binary", false),
    ] {
        assert_eq!(Collation::by_name(name).map(Collation::is_pad_space), Some(pads), "{name}");
    }
}

/// Pieces that meet in contractions, expansions, reordering, ignorable characters and malformed UTF-8.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let text = |text: &'static str| Just(text.as_bytes().to_vec());
    prop_oneof![
        8 => proptest::collection::vec(prop_oneof![0x20..0x7f_u8, Just(b'l'), Just(b'L'), Just(b' ')], 1..5),
        1 => (0..0x20_u8).prop_map(|byte| vec![byte]),
        1 => text("·"), 1 => text("\u{387}"), 1 => text("\u{301}"), 1 => text("\u{323}"), 1 => text("\u{338}"), 1 => text("é"), 1 => text("ß"),
        1 => text("æ"), 1 => text("\u{fffe}"), 1 => text("\u{ffff}"), 1 => text("\u{fffd}"), 1 => text("เก"), 1 => text("한"), 1 => text("\u{1100}\u{1161}"),
        1 => text("か"), 1 => text("ー"), 1 => text("\u{3099}"), 1 => text("😀"), 1 => text("中"), 1 => text("\u{f71}\u{f72}"), 1 => text("\u{e0001}"),
        1 => any::<char>().prop_map(|character| character.to_string().into_bytes()),
        1 => proptest::collection::vec(any::<u8>(), 1..3),
        1 => (0x80..=0xff_u8).prop_map(|byte| vec![byte]),
    ]
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(piece(), 0..6).prop_map(|pieces| pieces.concat())
}

/// A pair that shares a prefix, or differs only in case or padding.
fn pair() -> impl Strategy<Value = (Vec<u8>, Vec<u8>)> {
    prop_oneof![
        (text(), text()),
        (text(), text(), text())
            .prop_map(|(prefix, left, right)| ([&prefix[..], &left].concat(), [prefix, right].concat())),
        (text(), "[ ]{0,3}").prop_map(|(text, spaces)| (
            text.clone(),
            [&text.to_ascii_uppercase()[..], spaces.as_bytes()].concat()
        )),
        ("[a-cA-C \\-]{0,90}", "[a-cA-C \\-]{0,90}")
            .prop_map(|(left, right)| (left.into_bytes(), right.into_bytes())),
        ("[ -~]{0,140}", "[ -~]{0,140}").prop_map(|(left, right)| (left.into_bytes(), right.into_bytes())),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn compare_equal_hash_and_sort_key_agree((left, right) in pair()) {
        for collation in ALL {
            agree(collation, &left, &right);
        }
    }

    #[test]
    fn fast_paths_say_what_icu_says((left, right) in pair()) {
        as_icu(&left, &right);
    }
}
