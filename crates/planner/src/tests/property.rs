//! Properties: total on any text; a plan from normalized text is the plan from the text itself.
#![expect(clippy::wildcard_enum_match_arm, reason = "plans that are not named are about no rows")]

use super::{on_a_worker_stack, outcome, prepared, schema, shown, statements};
use crate::plan::{AccessPath, InsertConflict, Plan, Prepared, Relation, SelectPlan, Source, TableAccess};
use crate::{TextLimits, TextModes, normalize, split_statements};
use expression::{Context, Expression, fold_constants};
use proptest::prelude::*;
use std::sync::Arc;
use types::{Collation, Value};

/// Every expression of a plan.
fn for_each(plan: &mut Plan, change: &mut dyn FnMut(&mut Expression)) {
    match plan {
        Plan::Select(select) => for_each_of_select(select, change),
        Plan::Insert(insert) => {
            insert.rows.iter_mut().flatten().flatten().for_each(&mut *change);
            if let InsertConflict::Update(assignments) | InsertConflict::UpdateIgnoring(assignments) =
                &mut insert.conflict
            {
                assignments.iter_mut().filter_map(|assignment| assignment.value.as_mut()).for_each(change);
            }
        }
        Plan::Update(update) => {
            for_each_of_access(&mut update.access, change);
            update
                .assignments
                .iter_mut()
                .filter_map(|assignment| assignment.value.as_mut())
                .for_each(&mut *change);
            update.order_by.iter_mut().for_each(|key| change(&mut key.expression));
            update.limit.count.iter_mut().for_each(change);
        }
        Plan::Delete(delete) => {
            for_each_of_access(&mut delete.access, change);
            delete.order_by.iter_mut().for_each(|key| change(&mut key.expression));
            delete.limit.count.iter_mut().for_each(change);
        }
        _ => {}
    }
}

fn for_each_of_select(select: &mut SelectPlan, change: &mut dyn FnMut(&mut Expression)) {
    match &mut select.source {
        Source::Nothing => {}
        Source::Table(access) => for_each_of_access(access, change),
        Source::Joined { relation, filter } => {
            filter.iter_mut().for_each(&mut *change);
            if let Relation::Virtual(read) = relation {
                Arc::make_mut(read).filter.iter_mut().for_each(&mut *change);
            }
        }
    }
    if let Some(grouping) = &mut select.grouping {
        grouping.group_by.iter_mut().for_each(&mut *change);
        grouping.calls.iter_mut().flat_map(|call| &mut call.arguments).for_each(&mut *change);
    }
    if let Some(windows) = &mut select.windows {
        windows.input.iter_mut().for_each(&mut *change);
    }
    select.projection.iter_mut().for_each(&mut *change);
    select.having.iter_mut().for_each(&mut *change);
    select.order_by.iter_mut().for_each(|key| change(&mut key.expression));
    select.limit.count.iter_mut().chain(&mut select.limit.offset).for_each(change);
}

fn for_each_of_access(access: &mut TableAccess, change: &mut dyn FnMut(&mut Expression)) {
    match &mut access.path {
        AccessPath::PrimaryKeys(keys) | AccessPath::UniqueKeys { keys, .. } => {
            keys.iter_mut().flatten().for_each(&mut *change);
        }
        AccessPath::Ranges { ranges, .. } => {
            for range in ranges {
                range.equal.iter_mut().for_each(&mut *change);
                range.lower.iter_mut().chain(&mut range.upper).for_each(|(bound, _)| change(bound));
            }
        }
        AccessPath::Empty => {}
    }
    access.filter.iter_mut().chain(&mut access.implied).for_each(change);
}

/// The plan with its parameters' values put in and constants folded.
fn folded(mut prepared: Prepared, parameters: &[Value]) -> String {
    let context = Context { parameters, ..Context::default() };
    for_each(&mut prepared.plan, &mut |expression| *expression = fold_constants(expression, &context));
    shown(&prepared)
}

#[test]
fn normalized_statements_mean_the_same() {
    let schema = schema();
    let golden = [
        include_str!("select.txt"),
        include_str!("access.txt"),
        include_str!("modify.txt"),
        include_str!("session.txt"),
    ];
    let mut replaced = 0;
    for statement in golden.iter().flat_map(|golden| statements(golden)) {
        let normalized =
            normalize(statement, &TextLimits::default(), TextModes::default(), Collation::Utf8mb40900AiCi)
                .unwrap();
        // `<=>` with a parameter may mean IS NULL: that it is not looked up is as it should be.
        if statement.contains("<=>") {
            continue;
        }
        if !normalized.is_cacheable {
            assert_eq!((normalized.text_with_markers.as_str(), normalized.parameters.len()), (statement, 0));
            continue;
        }
        let Ok(direct) = prepared(&schema, statement, &[]) else { continue };
        // A text that cannot be prepared with markers is prepared as it is: that is the contract.
        let Ok(marked) = prepared(&schema, &normalized.text_with_markers, &normalized.parameter_types) else {
            continue;
        };
        replaced += normalized.parameters.len();
        let (direct, marked) = (folded(direct, &[]), folded(marked, &normalized.parameters));
        // Only literals show that a WHERE is never true.
        if direct.contains("Impossible WHERE") {
            continue;
        }
        assert_eq!(
            without_order_of_keys(&marked),
            without_order_of_keys(&direct),
            "{}",
            normalized.text_with_markers
        );
    }
    assert!(replaced > 100, "{replaced}");
}

/// IN lists of literals are sorted when they are bound, those of parameters when they run.
fn without_order_of_keys(shown: &str) -> Vec<String> {
    let mut words: Vec<String> =
        shown.split_whitespace().map(|word| word.trim_matches(',').to_owned()).collect();
    words.sort();
    words
}

const WORDS: [&str; 64] = [
    "select",
    "from",
    "t",
    "p",
    "where",
    "a",
    "b",
    "c",
    "id",
    "x",
    "=",
    "<",
    ">",
    "(",
    ")",
    ",",
    "*",
    "+",
    "-",
    "/",
    "and",
    "or",
    "not",
    "in",
    "between",
    "like",
    "is",
    "null",
    "1",
    "2.5",
    "'x'",
    "?",
    "order",
    "by",
    "group",
    "having",
    "limit",
    "for",
    "update",
    "set",
    "insert",
    "into",
    "values",
    "delete",
    "case",
    "when",
    "then",
    "else",
    "end",
    "count",
    "sum",
    "distinct",
    "as",
    "create",
    "table",
    "int",
    "primary",
    "key",
    "interval",
    "day",
    "cast",
    "char",
    ".",
    "@@max_connections",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn any_words_get_an_answer(words in prop::collection::vec(prop::sample::select(&WORDS[..]), 0..24)) {
        let statement = words.join(" ");
        let schema = schema();
        let _ = outcome(&schema, &statement);
        let _ = normalize(&statement, &TextLimits::default(), TextModes::default(), Collation::Utf8mb40900AiCi);
    }

    #[test]
    fn any_text_gets_an_answer(text in "\\PC{0,80}") {
        let schema = schema();
        let _ = outcome(&schema, &text);
        let _ = normalize(&text, &TextLimits::default(), TextModes::default(), Collation::Utf8mb40900AiCi);
        let _ = split_statements(&text, TextModes::default());
    }

    #[test]
    fn damaged_statements_get_an_answer(which in 0_usize..200, at in 0_usize..120, junk in "[ -~]{0,3}") {
        let golden = include_str!("select.txt");
        let all: Vec<&str> = statements(golden).collect();
        let statement = all[which % all.len()];
        let mut at = at % (statement.len() + 1);
        while !statement.is_char_boundary(at) {
            at -= 1;
        }
        let damaged = format!("{}{junk}{}", &statement[..at], &statement[at..]);
        let schema = schema();
        let _ = outcome(&schema, &damaged);
    }
}

/// All golden statements.
fn golden_statements() -> Vec<&'static str> {
    let golden = [
        include_str!("select.txt"),
        include_str!("access.txt"),
        include_str!("modify.txt"),
        include_str!("session.txt"),
        include_str!("joins.txt"),
        include_str!("join_order.txt"),
        include_str!("subqueries.txt"),
        include_str!("sets.txt"),
        include_str!("rows.txt"),
        include_str!("windows.txt"),
        include_str!("explain.txt"),
        include_str!("ddl.txt"),
        include_str!("errors.txt"),
        include_str!("clients.txt"),
        include_str!("views.txt"),
        include_str!("privileges.txt"),
    ];
    golden.iter().flat_map(|golden| statements(golden)).collect()
}

/// Words, numbers and quoted texts whole, all else one by one.
fn pieces(statement: &str) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    let (mut quote, mut is_word) = (None, false);
    for character in statement.chars() {
        let continues = quote.is_some() || (is_word && (character.is_alphanumeric() || character == '_'));
        match pieces.last_mut().filter(|_| continues) {
            Some(last) => last.push(character),
            None => pieces.push(character.to_string()),
        }
        is_word = character.is_alphanumeric() || character == '_';
        quote = match quote {
            Some(open) if open == character => None,
            None if matches!(character, '\'' | '"' | '`') => Some(character),
            open => open,
        };
    }
    pieces
}

/// A change of a statement: what kind, where, how long, and the place in another statement.
type Edit = (u8, u16, u8, u16);

fn edited(mut pieces: Vec<String>, other: &[String], (kind, at, length, there): Edit) -> Vec<String> {
    let at = usize::from(at) % (pieces.len() + 1);
    let end = (at + usize::from(length)).min(pieces.len());
    let there = usize::from(there) % (other.len() + 1);
    let part = &other[there..(there + usize::from(length)).min(other.len())];
    let wrapped = |before: &str, behind: &str| {
        let (before, behind) = ([before.to_owned()], [behind.to_owned()]);
        [&pieces[..at], &before, &pieces[at..end], &behind, &pieces[end..]].concat()
    };
    match kind % 9 {
        0 => drop(pieces.drain(at..end)),
        1 => pieces = [&pieces[..end], &pieces[at..]].concat(),
        2 => pieces = [&pieces[..at], part, &pieces[end..]].concat(),
        3 => pieces = [&pieces[..at], part, &pieces[at..]].concat(),
        4 => pieces = [&pieces[..at], &other[there..]].concat(),
        5 => pieces = wrapped("(", ")"),
        6 => pieces = [&pieces[..at], &["(".to_owned()], other, &[")".to_owned()], &pieces[end..]].concat(),
        7 => pieces = wrapped(" NOT ", " IS NULL "),
        _ => pieces = wrapped("SUM(", ") OVER () "),
    }
    pieces
}

proptest! {
    /// PROPTEST_CASES makes a campaign of it.
    #[test]
    fn mixtures_of_statements_get_an_answer(
        which in 0_usize..5_000,
        edits in prop::collection::vec((0_usize..5_000, (any::<u8>(), any::<u16>(), 0_u8..12, any::<u16>())), 1..5),
    ) {
        let all = golden_statements();
        let mut mixture = pieces(all[which % all.len()]);
        for (other, edit) in edits {
            mixture = edited(mixture, &pieces(all[other % all.len()]), edit);
        }
        let text = mixture.concat();
        let schema = schema();
        let _ = outcome(&schema, &text);
        let _ = normalize(&text, &TextLimits::default(), TextModes::default(), Collation::Utf8mb40900AiCi);
        let _ = split_statements(&text, TextModes::default());
    }
}

/// Runs on the stack that threads have by default; a depth that overflows it would end the process.
fn code_of(statement: String) -> u16 {
    let schema = schema();
    match prepared(&schema, &statement, &[]) {
        Ok(_) => 0,
        Err(error) => error.code,
    }
}

#[test]
fn deep_and_long_statements_are_refused_or_done() {
    let table = [
        ("parentheses", format!("select {}1{}", "(".repeat(10_000), ")".repeat(10_000)), 1436),
        ("sum", format!("select 1{}", "+1".repeat(1_000_000)), 1436),
        ("minus", format!("select {}1", "- ".repeat(10_000)), 1436),
        ("not", format!("select {}1", "not ".repeat(10_000)), 1436),
        ("or", format!("select 1 from t where a = 1{}", " or a = 1".repeat(100_000)), 1436),
        ("case", format!("select {}1{}", "case when 1 then ".repeat(5_000), " end".repeat(5_000)), 1436),
        ("calls", format!("select {}1{}", "abs(".repeat(5_000), ")".repeat(5_000)), 1436),
        ("subqueries", format!("{}select 1{}", "(".repeat(5_000), ")".repeat(5_000)), 1436),
        ("union", format!("select 1{}", " union select 1".repeat(5_000)), 1436),
        ("tokens", format!("select 1 from t where id in (1{})", ",1".repeat(600_000)), 1436),
        ("deepest parentheses", format!("select {}1{}", "(".repeat(64), ")".repeat(64)), 0),
        ("deepest calls", format!("select {}1{}", "abs(".repeat(64), ")".repeat(64)), 0),
        ("wide case", format!("select case a{} end from t", " when 1 then a + 1".repeat(1_000)), 0),
        ("deepest cases", format!("select {}1{}", "case when 1 then ".repeat(64), " end".repeat(64)), 0),
        ("deepest casts", format!("select {}1{}", "cast(".repeat(64), " as char)".repeat(64)), 0),
        ("deepest lists", format!("select {}1{}", "1 in (".repeat(64), ")".repeat(64)), 0),
        ("longest sum", format!("select 1{}", "+1".repeat(249)), 0),
        ("longest or", format!("select 1 from t where a = 1{}", " or a = 1".repeat(1_999)), 0),
        ("longest and", format!("select 1 from t where a = 1{}", " and b = 1".repeat(1_999)), 0),
        ("mixed", format!("select 1 from t where a = 1{}", " and b = 1 or c = 2".repeat(999)), 0),
        ("long list", format!("select 1 from t where id in (1{})", ",1".repeat(20_000)), 0),
        ("long rows", format!("insert into n values (1,2){}", ",(1,-2)".repeat(20_000)), 0),
        ("long columns", format!("select 1{}", ", 1+1".repeat(3_000)), 0),
    ];
    for (name, statement, code) in table {
        assert_eq!(code_of(statement), code, "{name}");
    }
}

/// A plan that doubles with each level would have a million lines.
#[test]
fn subqueries_within_one_another_have_small_plans() {
    on_a_worker_stack(nest_subqueries);
}

fn nest_subqueries() {
    let schema = schema();
    let depth = 20;
    for (begin, end) in [
        ("a IN (SELECT a FROM t WHERE ", ")"),
        ("a NOT IN (SELECT a FROM t WHERE ", ")"),
        ("EXISTS (SELECT 1 FROM q WHERE q.id = t.b AND ", ")"),
        ("a = (SELECT MAX(b) FROM t WHERE ", ")"),
        ("a IN (SELECT t.a FROM t JOIN q ON q.id = t.b WHERE ", ")"),
    ] {
        let text = format!("SELECT id FROM t WHERE {}1 = 1{}", begin.repeat(depth), end.repeat(depth));
        let lines = outcome(&schema, &text).lines().count();
        assert!(lines > depth && lines < 3_000, "{begin}: {lines}");
    }
}
