use super::*;

#[test]
fn utf8_is_not_copied() {
    for text in ["", "SELECT 'käse 🧀'", "SELECT '\0'", "unfinished '", "SELECT 1\0 garbage", "x\0\0y"] {
        assert!(
            matches!(statement_text(text.as_bytes(), TextModes::default()), Ok(Cow::Borrowed(same)) if same == text),
            "{text:?}"
        );
    }
}

#[test]
fn one_final_zero_is_passed_over() {
    assert_eq!(statement_text(b"SELECT 1\0", TextModes::default()).unwrap(), "SELECT 1");
    assert_eq!(statement_text(b"SELECT 1;\0 \n", TextModes::default()).unwrap(), "SELECT 1;");
    assert_eq!(statement_text(b"SELECT 1\0\0", TextModes::default()).unwrap(), "SELECT 1\0");
    assert_eq!(statement_text(b"\0", TextModes::default()).unwrap(), "");
    assert_eq!(statement_text(b"SELECT 1  ", TextModes::default()).unwrap(), "SELECT 1  ");
}

#[test]
fn literals_that_are_not_utf8_become_hexadecimal() {
    let cases: &[(&[u8], &str)] = &[
        (b"INSERT INTO t VALUES (_binary'\xff\\0\\n''\\'')", "INSERT INTO t VALUES (_binary x'ff000a2727')"),
        (
            b"INSERT INTO t VALUES ('\x80', 'k\xc3\xa4se', \"\xfe\")",
            "INSERT INTO t VALUES (_binary x'80', 'käse', _binary x'fe')",
        ),
        (b"SELECT '\\\xff' -- done", "SELECT _binary x'ff' -- done"),
        (b"SELECT _utf8mb4 '\xff'", "SELECT _utf8mb4  x'ff'"),
    ];
    for (bytes, text) in cases {
        assert_eq!(statement_text(bytes, TextModes::default()).unwrap(), *text);
    }
}

#[test]
fn anything_else_that_is_not_utf8_is_refused() {
    let cases: &[&[u8]] = &[
        b"SELECT \xff",
        b"SELECT `\xff`",
        b"SELECT 1 /* \xff */",
        b"SELECT N'\xff'",
        b"SELECT '\xff",
        b"\xff\0",
    ];
    for bytes in cases {
        assert_eq!(statement_text(bytes, TextModes::default()).unwrap_err().code, 1300, "{bytes:?}");
    }
}
