use super::translate::{Modes, translate};
use super::{Program, RegexpFunction};
use crate::{Context, Expression, NoColumns, fold_constants};
use types::{Collation, Value};

fn text(text: &str) -> Expression {
    Expression::text(text, Collation::Utf8mb40900AiCi)
}

fn compiled(expression: &Expression) -> Option<*const Program> {
    let crate::Node::Regexp { compiled, .. } = &expression.node else { return None };
    compiled.0.get().map(std::sync::Arc::as_ptr)
}

#[test]
fn a_constant_pattern_is_compiled_once_for_all_copies_of_a_plan() {
    let column = Expression::column(crate::ColumnSlot(0), text("abc").sql_type, true);
    let call = Expression::regexp(RegexpFunction::Like, vec![column, text("^a.c$")]).unwrap();
    let (first, second) = (fold_constants(&call, &Context::default()), call.clone());
    assert!(compiled(&call).is_some());
    assert_eq!(compiled(&call), compiled(&first));
    assert_eq!(compiled(&call), compiled(&second));
    // A peer compiles it when it first meets it.
    let decoded: Expression = stdx::wire::from_bytes(&stdx::wire::to_bytes(&call)).unwrap();
    assert_eq!(compiled(&decoded), None);
    let row = vec![Value::text("ABC")];
    assert_eq!(decoded.evaluate(&row, &Context::default()), Ok(Value::Int(1)));
    assert!(compiled(&decoded).is_some());
}

#[test]
fn a_pattern_that_is_a_parameter_is_compiled_for_its_value() {
    let sql_type = text("abc").sql_type;
    let column = Expression::column(crate::ColumnSlot(0), sql_type.clone(), true);
    let parameter = Expression::parameter(0, sql_type);
    let call = Expression::regexp(RegexpFunction::Like, vec![column, parameter]).unwrap();
    for (pattern, expected) in [("a", 1), ("^b", 0), ("(", 3691)] {
        let parameters = [Value::text(pattern)];
        let context = Context { parameters: &parameters, ..Context::default() };
        let folded = fold_constants(&call, &context);
        match folded.evaluate(&vec![Value::text("abc")], &Context::default()) {
            Ok(value) => assert_eq!(value, Value::Int(expected)),
            Err(error) => assert_eq!(i64::from(error.code), expected),
        }
    }
    assert_eq!(compiled(&call), None);
}

#[test]
fn no_pattern_and_no_text_holds_a_thread() {
    let like = |subject: &str, pattern: &str| {
        let call = Expression::regexp(RegexpFunction::Replace, vec![text(subject), text(pattern), text("")]);
        call.map_err(|error| error.code())
            .and_then(|call| call.evaluate(&NoColumns, &Context::default()).map_err(|error| error.code))
    };
    assert_eq!(like("a", "(a{1000}){1000}"), Err(3700));
    assert_eq!(like("a", r"\pL{1,1000}{1000}"), Err(3688));
    assert_eq!(like("a", &"(".repeat(100_000)), Err(3700));
    // Each match would read the text to its end.
    assert_eq!(like(&"A".repeat(1 << 19), "A*[^A]|A"), Err(3699));
    assert_eq!(like(&"a".repeat(1 << 20), "(aa?){1000}b"), Err(3699));
    assert_eq!(like(&"some words ".repeat(1_000), r"\s+"), Ok(Value::text(&"somewords".repeat(1_000))));
}

#[test]
fn patterns_of_any_characters_are_refused_or_compiled() {
    let mut prng = stdx::Prng::new(5);
    let parts = [
        "a",
        "b",
        ".",
        "*",
        "+",
        "?",
        "{",
        "}",
        "1",
        ",",
        "(",
        ")",
        "[",
        "]",
        "^",
        "$",
        "|",
        "\\",
        "d",
        "-",
        "&&",
        "[:alpha:]",
        "(?i)",
        "(?:",
        "é",
        "\\p",
        "\\x",
        "\\Q",
        "\\E",
        "u",
    ];
    let (mut good, mut bad) = (0, 0);
    for _ in 0..2_000 {
        let pattern: String = (0..=prng.index(12)).map(|_| parts[prng.index(parts.len())]).collect();
        let modes =
            Modes { ignores_case: prng.chance(1, 2), only_asks: prng.chance(1, 2), ..Modes::default() };
        match Program::new(pattern.as_bytes(), modes) {
            Ok(_) => good += 1,
            Err(error) => {
                assert!((3685..=3700).contains(&error.code) || error.code == 1235, "{pattern}: {error:?}");
                bad += 1;
            }
        }
    }
    assert!(good > 100 && bad > 100, "{good} {bad}");
}

#[test]
fn what_is_translated_is_what_icu_means() {
    let modes = Modes::default();
    let translated = |pattern: &str| translate(pattern, modes).map(|translated| translated.pattern);
    assert_eq!(translated(r"\Qa.b\E+").as_deref(), Ok(r"a\.b+"));
    assert_eq!(translated(r"a(?#c)b").as_deref(), Ok("ab"));
    assert_eq!(translated(r"\u00e9").as_deref(), Ok(r"\x{e9}"));
}
