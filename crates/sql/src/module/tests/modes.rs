//! The effect of sql_mode on texts: each session reads its own as it says, and no plan goes from one to the other.

use super::{affected, errno, harness::Harness, rows, text};
use mysql_protocol::StatusFlags;
use mysql_protocol::client::{Response, Value};

/// The only value of the answer, or its error.
fn answer(harness: &mut Harness, client: usize, statement: &str) -> String {
    match harness.ask(client, statement) {
        Response::Error(error) => error.errno.to_string(),
        response => match rows(response).concat().as_slice() {
            [Value::Bytes(value)] => String::from_utf8_lossy(value).into_owned(),
            other => format!("{other:?}"),
        },
    }
}

/// A statement's answers in the default mode and in another one, in sessions of one node that take turns.
fn check(mode: &str, statements: &[(&str, &str, &str)]) {
    let mut harness = Harness::new();
    let (plain, other) = (harness.connect(), harness.connect());
    for client in [plain, other] {
        assert_eq!(affected(harness.ask(client, "USE test")), 0);
    }
    assert_eq!(affected(harness.ask(other, &format!("SET sql_mode = CONCAT(@@sql_mode, ',{mode}')"))), 0);
    for _ in 0..2 {
        for (statement, default, otherwise) in statements {
            assert_eq!(answer(&mut harness, plain, statement), *default, "{statement}");
            assert_eq!(answer(&mut harness, other, statement), *otherwise, "{mode}: {statement}");
        }
    }
}

#[test]
fn ansi_quotes_makes_names_of_double_quotes() {
    check(
        "ANSI_QUOTES",
        &[
            ("SELECT \"a\"", "a", "1054"),
            ("SELECT 1 AS x HAVING \"x\" = 'x'", "1", "[]"),
            (
                "SELECT COUNT(*) FROM \"information_schema\".\"engines\" WHERE \"engine\" = 'none'",
                "1064",
                "0",
            ),
            ("SELECT 'it''s'", "it's", "it's"),
            ("SELECT \"a\\\"b\"", "a\"b", "1064"),
        ],
    );
    // Neither is a text a name anywhere else.
    let mut harness = Harness::new();
    let client = harness.connect();
    for statement in [
        "SELECT x.'y' FROM test.t AS x",
        "SELECT 1 FROM test.'t'",
        "SELECT 1 FROM test.t AS 'x'",
        "DELETE FROM test.t AS 'x'",
        "DROP TABLE 't'",
    ] {
        assert_eq!(errno(harness.ask(client, statement)), 1064, "{statement}");
    }
}

#[test]
fn pipes_as_concat_joins_texts() {
    check(
        "PIPES_AS_CONCAT",
        &[
            ("SELECT '1' || '2'", "1", "12"),
            ("SELECT '1' || NULL", "1", "[Null]"),
            ("SELECT 1 + 2 || 3 * 2", "1", "47"),
            ("SELECT 'a' FROM DUAL WHERE 'x' || 'y' = 'xy'", "[]", "a"),
        ],
    );
}

#[test]
fn without_backslash_escapes_a_backslash_is_a_character() {
    check(
        "NO_BACKSLASH_ESCAPES",
        &[
            ("SELECT LENGTH('a\\nb')", "3", "4"),
            ("SELECT 'a\\'", "1064", "a\\"),
            ("SELECT 'a\\' , 'b'", "1064", "[Bytes([97, 92]), Bytes([98])]"),
            ("SELECT CONCAT('a', CHAR(92), 'b') LIKE 'a\\\\_'", "0", "0"),
            ("SELECT CONCAT('a', CHAR(92), 'b') LIKE 'a\\_'", "0", "1"),
            ("SELECT 'a' FROM DUAL WHERE LENGTH('a\\tb') = 4", "[]", "a"),
        ],
    );
    let mut harness = Harness::new();
    let client = harness.connect();
    let is_told = |response: Response| match response {
        Response::Ok(ok) => ok.status.contains(StatusFlags::NO_BACKSLASH_ESCAPES),
        other => panic!("{other:?}"),
    };
    assert!(is_told(harness.ask(client, "SET sql_mode = 'NO_BACKSLASH_ESCAPES'")));
    assert!(!is_told(harness.ask(client, "SET sql_mode = DEFAULT")));
}

#[test]
fn high_not_precedence_binds_not_to_its_operand() {
    check(
        "HIGH_NOT_PRECEDENCE",
        &[
            ("SELECT NOT 1 BETWEEN -5 AND 5", "0", "1"),
            ("SELECT NOT 0 + 1", "0", "2"),
            ("SELECT 'a' FROM DUAL WHERE NOT 1 IN (0)", "a", "a"),
            ("SELECT 'a' FROM DUAL WHERE NOT 2 = 0", "a", "a"),
        ],
    );
}

#[test]
fn ignore_space_lets_spaces_stand_before_parentheses() {
    check(
        "IGNORE_SPACE",
        &[
            ("SELECT COUNT (*)", "1064", "1"),
            ("SELECT SUM (2)", "1630", "2"),
            ("SELECT MAX(3)", "3", "3"),
            ("SELECT ABS (-4)", "4", "4"),
            ("DROP TABLE count (", "1064", "1064"),
        ],
    );
}

#[test]
fn real_as_float_says_what_real_is() {
    check(
        "REAL_AS_FLOAT",
        &[("SELECT CAST(1.23456789 AS REAL)", "1.23456789", "1.23457"), ("SELECT 'real'", "real", "real")],
    );
}

#[test]
fn ansi_is_read_back_with_what_it_stands_for() {
    let mut harness = Harness::new();
    let client = harness.connect();
    assert_eq!(affected(harness.ask(client, "SET sql_mode = ansi")), 0);
    let ansi = "REAL_AS_FLOAT,PIPES_AS_CONCAT,ANSI_QUOTES,IGNORE_SPACE,ONLY_FULL_GROUP_BY,ANSI";
    assert_eq!(rows(harness.ask(client, "SELECT @@sql_mode")), [[text(ansi)]]);
    assert_eq!(affected(harness.ask(client, "SET sql_mode = 4")), 0);
    assert_eq!(rows(harness.ask(client, "SELECT @@sql_mode")), [[text("ANSI_QUOTES")]]);
    assert_eq!(errno(harness.ask(client, "SET sql_mode = 'NO_AUTO_CREATE_USER'")), 1231);
}
