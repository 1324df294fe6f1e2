use super::{Finding, Rule, accept, findings, judge, of_crates};

/// The rules that a text breaks, with the lines.
fn broken(text: &str) -> Vec<(Rule, usize)> {
    findings("crates/x/src/a.rs", text)
        .into_iter()
        .map(|finding| (finding.rule, finding.remark.line))
        .collect()
}

/// So many words, and a full stop.
fn words(count: usize) -> String {
    format!("{}a.", "a ".repeat(count - 1))
}

#[test]
fn comment_lines_are_not_too_wide() {
    let wide = |text: String| broken(&text).iter().filter(|(rule, _)| *rule == Rule::Columns).count();
    assert_eq!(wide(format!("// {}", "a".repeat(117))), 0);
    assert_eq!(wide(format!("// {}", "a".repeat(118))), 1);
    assert_eq!(wide(format!("    /// {}", "ü".repeat(113))), 1);
    assert_eq!(wide(format!("// http://{}", "a".repeat(118))), 0, "an address cannot be broken");
    assert_eq!(wide(format!("let a = \"{}\"", "a".repeat(118))), 0, "rustfmt sees to code");
}

#[test]
fn sentences_of_documentation_are_not_too_long() {
    assert_eq!(broken(&format!("/// {}", words(30))), []);
    assert_eq!(broken(&format!("/// {}", words(31))), [(Rule::Words, 1)]);
    assert_eq!(broken(&format!("// {}", words(31))), [], "not documentation");
    // A sentence goes over lines; what follows it is another.
    assert_eq!(
        broken(&format!("/// Short.\n/// So {}\n/// {}", "a ".repeat(20), words(10))),
        [(Rule::Words, 2)]
    );
    assert_eq!(broken(&format!("/// {} {}", words(20), words(20))), [(Rule::Words, 1)], "no capital letter");
    assert_eq!(broken(&format!("/// {} So {}", words(20), words(20))), []);
    assert_eq!(broken(&format!("/// ({}) So {}", words(20), words(20))), []);
    assert_eq!(broken(&format!("/// e.g. {}", words(30))), [(Rule::Words, 1)]);
    assert_eq!(
        broken(&format!("/// {}\n/// - {}", "a ".repeat(20), words(20))),
        [],
        "an item is another sentence"
    );
    assert_eq!(broken(&format!("/// {}\n///\n/// {}", "a ".repeat(20), words(20))), []);
}

#[test]
fn code_and_tables_are_no_sentences() {
    assert_eq!(broken(&format!("/// ```text\n/// What {}\n/// ```\n/// {}", words(40), words(9))), []);
    assert_eq!(broken(&format!("//!     {}\n", words(40))), []);
    assert_eq!(broken(&format!("//! | What {} |", words(40))), []);
    assert_eq!(broken(&format!("/// `{}` {}", words(20), words(29))), [], "a span of code is a word");
}

#[test]
fn sentences_name_their_subject() {
    assert_eq!(broken("// Whoever decides asks."), [(Rule::Opening, 1)]);
    assert_eq!(broken("/// One thing.\n/// Another. (Who asks\n/// waits.)"), [(Rule::Opening, 2)]);
    assert_eq!(broken("//! - What it is"), [(Rule::Opening, 1)]);
    assert_eq!(broken("/// Whole words: what follows. Whatever."), []);
}

/// A file of a crate with one wide comment.
fn found() -> Vec<Finding> {
    let mut found = findings("crates/x/src/a.rs", &format!("// {}", "a".repeat(130)));
    found.extend(findings("crates/y/src/a.rs", "// What is it?\n// What is it?"));
    found
}

#[test]
fn exceptions_may_only_shrink() {
    assert_eq!(judge(&found(), "# a comment\nx = 1 0 0\ny = 0 0 2\n"), []);
    assert_eq!(judge(&found(), "x = 0 0 0\ny = 0 0 2\n").len(), 1, "more than allowed");
    assert_eq!(judge(&found(), "y = 0 0 2\n").len(), 1, "not in the list");
    assert_eq!(judge(&found(), "x = 2 0 0\ny = 0 0 2\n").len(), 1, "mended, and not accepted");
    assert_eq!(judge(&found(), "x 1\n").len(), 1, "not read");
}

#[test]
fn accepted_counts_are_never_higher() {
    let text = "# a comment\nx = 0 0 0\ny = 0 5 9\ngone = 1 0 0\n";
    assert_eq!(accept(&found(), text).ok(), Some("# a comment\ny = 0 0 2\n".to_owned()));
    assert_eq!(accept(&found(), "x = 3 0 0\n").ok(), Some("x = 1 0 0\n".to_owned()));
}

#[test]
fn findings_are_listed_by_crate() {
    assert_eq!(of_crates(found(), "x").len(), 1);
    assert_eq!(of_crates(found(), "x+y").len(), 3);
}
