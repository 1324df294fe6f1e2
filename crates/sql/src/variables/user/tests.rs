use super::*;

fn text_type() -> SqlType {
    SqlType::VarChar { length: 10, collation: types::Collation::Utf8mb40900AiCi }
}

#[test]
fn values_are_kept_and_replaced() {
    let mut variables = UserVariables::default();
    assert!(variables.get("a").is_none());
    variables.set("a", Value::Int(1), SqlType::Double).unwrap();
    variables.set("a", Value::text("x"), text_type()).unwrap();
    assert_eq!(variables.get("a"), Some(&(Value::text("x"), text_type())));
    variables.clear();
    assert!(variables.get("a").is_none());
}

#[test]
fn what_a_session_keeps_is_bounded() {
    let mut variables = UserVariables::default();
    let large = || Value::text(&"x".repeat(SIZE_MAX / 2));
    variables.set("a", large(), text_type()).unwrap();
    assert_eq!(variables.set("b", large(), text_type()).unwrap_err().code, 1041);
    // A replaced value does not count.
    variables.set("a", large(), text_type()).unwrap();
    variables.set("a", Value::Null, text_type()).unwrap();
    variables.set("b", large(), text_type()).unwrap();
    let names =
        (0..SIZE_MAX).find(|number| variables.set(&number.to_string(), Value::Null, text_type()).is_err());
    assert!(names.is_some_and(|count| count < SIZE_MAX / ENTRY_SIZE));
}
