use super::book::{Book, Counts};
use super::profile::{self, Code};
use super::read_lines;
use std::collections::BTreeMap;

const BOOK: &str = "\
[tolerance]
instructions = 2

[point_select]
allocations = 0
bytes = 12.50
instructions = 10000
instructions_sql = 400
";

/// One run of `point_select`, with these counts in hundredths.
fn counted(values: &[(&str, u64)]) -> Vec<Counts> {
    let mut counts = Counts::new("point_select", 100);
    values.iter().for_each(|(count, sum)| counts.add(count, *sum));
    vec![counts]
}

/// How many counts rose, and how many fell, beside [`BOOK`].
fn judge(changed: &[(&str, u64)]) -> (usize, usize) {
    let mut values = BTreeMap::from([
        ("allocations", 0),
        ("bytes", 1_250),
        ("instructions", 1_000_000),
        ("instructions_sql", 40_000),
    ]);
    values.extend(changed.iter().copied());
    let book = Book::parse(BOOK).expect("it is well written");
    let verdict = book.judge(&counted(&values.into_iter().collect::<Vec<_>>()));
    (verdict.risen, verdict.fallen)
}

#[test]
fn a_count_may_not_rise_and_is_told_when_it_falls() {
    assert_eq!(judge(&[]), (0, 0));
    assert_eq!(judge(&[("allocations", 1)]), (1, 0), "a hundredth of an allocation");
    assert_eq!(judge(&[("bytes", 1_249)]), (0, 1));
    assert_eq!(judge(&[("wakes", 100)]), (1, 0), "a count that the book does not know");
}

#[test]
fn instructions_have_a_tolerance() {
    assert_eq!(judge(&[("instructions", 1_020_000)]), (0, 0));
    assert_eq!(judge(&[("instructions", 1_020_001)]), (1, 0));
    assert_eq!(judge(&[("instructions", 980_000)]), (0, 0));
    assert_eq!(judge(&[("instructions", 979_999)]), (0, 1));
    assert_eq!(judge(&[("instructions_sql", 42_000)]), (0, 0), "few instructions vary by more");
    assert_eq!(judge(&[("instructions_sql", 42_001)]), (1, 0));
}

#[test]
fn every_operation_of_the_book_has_to_be_counted() {
    let book = Book::parse(BOOK).expect("it is well written");
    assert_eq!(book.judge(&[]).risen, 1);
    // Without callgrind its counts are missing, and the others are compared.
    let verdict = book.judge(&counted(&[("allocations", 100), ("bytes", 1_250)]));
    assert_eq!((verdict.risen, verdict.fallen), (1, 0));
}

#[test]
fn the_book_is_read_as_it_is_written() {
    let book = Book::parse(BOOK).expect("it is well written");
    assert_eq!(Book::parse(&book.text()).expect("so is this"), book);
    for wrong in ["key = 1", "[open", "[a]\nkey", "[a]\nkey = -1", "[a]\nkey = 1.234"] {
        assert!(Book::parse(wrong).is_err(), "{wrong:?}");
    }
}

#[test]
fn lines_of_the_program_are_sums_over_its_runs() {
    let lines =
        read_lines("a operations=4 wakes=8 bytes=3\nb operations=1 wakes=0\n").expect("they are good");
    let book = Book::default().with(lines).text();
    assert!(book.contains("[a]\nbytes = 0.75\nwakes = 2\n\n[b]\nwakes = 0\n"), "{book}");
    for wrong in ["a", "a wakes=1", "a operations=0 wakes=1", "a operations=1 wakes=x"] {
        assert!(read_lines(wrong).is_err(), "{wrong:?}");
    }
}

/// A program of one segment, at address 0x1000, with these instructions.
fn program(code: &[u8]) -> Code {
    let mut file = vec![0; 120];
    file[..6].copy_from_slice(b"\x7fELF\x02\x01");
    file[32] = 64;
    file[54] = 56;
    file[56] = 1;
    file[64] = 1;
    file[64 + 8] = 120;
    file[64 + 17] = 0x10;
    file[64 + 32] = u8::try_from(code.len()).expect("it is short");
    file.extend_from_slice(code);
    Code::parse(file).expect("a program")
}

#[test]
fn atomics_are_known_by_their_bytes() {
    for (bytes, is_atomic) in [
        (&[0xf0, 0x48, 0xff, 0x05][..], true),
        (&[0x66, 0xf0, 0xff, 0x00], true),
        (&[0x48, 0x87, 0x07], true),
        (&[0x87, 0xc1], false),
        (&[0x48, 0xff, 0x05], false),
    ] {
        assert_eq!(program(bytes).is_atomic(0x1000), is_atomic, "{bytes:x?}");
    }
    assert!(!program(&[0xf0]).is_atomic(0xfff) && !program(&[0xf0]).is_atomic(0x1001));
}

#[test]
fn instructions_are_summed_below_their_part() {
    let text = "\
positions: instr
events: Ir

ob=(1) /lib/libc.so
fn=(1) malloc
0x1000 5

ob=(2) /p
fn=(2) counts::meter::part_sql
0x1001 10
cfn=(3) inner::{{closure}}
calls=10 0x1000
0x1001 700
0x1002 10

fn=(4) counts::meter::part_ldm::h0123
0x1001 1
cob=(1)
cfn=(1)
calls=10 0x1000
0x1000 2

fn=(3)
0x1000 20
0x1001 680

fn=(2)
0x1001 3

totals: 728
";
    let code = program(&[0xf0, 0x48, 0xff, 0x05]);
    let findings = profile::read(text, "counts::meter::part_", "/p", &code).expect("it is well written");
    let expected = BTreeMap::from([("sql".to_owned(), 723), ("ldm".to_owned(), 3)]);
    assert_eq!(findings.parts, expected);
    assert_eq!(findings.atomics, 20, "of the program, and not what a call cost");
    assert!(profile::read("fn=(9)\n", "x", "/p", &code).is_err(), "a name that was never said");
}
