//! Options are taken in any order and form; what is left over is refused.

use super::Arguments;

fn arguments(text: &str) -> Arguments {
    Arguments::new(text.split_whitespace().map(str::to_owned))
}

#[test]
fn values_and_flags_are_taken() {
    let mut given = arguments("--time 5 --list --only=unit --only tidy");
    assert!(given.flag("--list"));
    assert!(!given.flag("--list"));
    assert_eq!(given.value_or("--time", 1u64).ok(), Some(5));
    assert_eq!(given.value_or("--rounds", 3u64).ok(), Some(3));
    assert_eq!(given.values("--only").ok(), Some(vec!["unit".to_owned(), "tidy".to_owned()]));
    assert!(given.finish().is_ok());
}

#[test]
fn what_is_not_understood_is_refused() {
    assert!(arguments("--tmie 5").finish().is_err());
    assert!(arguments("--time").values("--time").is_err());
    assert!(arguments("--time soon").value::<u64>("--time").is_err());
}
