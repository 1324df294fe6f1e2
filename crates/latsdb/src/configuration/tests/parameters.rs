//! docs/operating/parameters.md tells operators what the table of parameters says. Each parameter with an effect is
//! read and used.
//!
//! `UPDATE_GOLDEN=1 cargo test -p latsdb parameters` writes the document's tables anew.

use node::config::{Effect, Kind, PARAMETERS, Parameter, Sections};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/operating/parameters.md");
const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src");
const END: &str = "<!-- end -->";

/// `3 600 000`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join(" ")
}

/// `64M`.
fn size(bytes: u64) -> String {
    let mut units = [("T", 40), ("G", 30), ("M", 20), ("K", 10)].into_iter();
    let unit = units.find(|(_, shift)| bytes > 0 && bytes.is_multiple_of(1 << shift));
    unit.map_or_else(|| grouped(bytes), |(unit, shift)| format!("{}{unit}", bytes >> shift))
}

fn range(kind: Kind) -> String {
    /// NDB's largest number: as good as none.
    const UNBOUNDED: u64 = 0xffff_feff;
    let numbers = |low: u64, high: u64, unit: &str| match (low, high) {
        (0, UNBOUNDED) => format!("any number{}{unit}", if unit.is_empty() { "" } else { " of" }),
        (low, UNBOUNDED) => format!("from {}{unit}", grouped(low)),
        (low, high) => format!("{} to {}{unit}", grouped(low), grouped(high)),
    };
    match kind {
        Kind::Text => "text".to_owned(),
        Kind::Flag => "0 or 1".to_owned(),
        Kind::SpinMethod | Kind::OneOf(_) => "one of the names".to_owned(),
        Kind::Port => numbers(1, u16::MAX.into(), ""),
        Kind::Count(low, high) => numbers(low, high, ""),
        Kind::Milliseconds(low, high) => numbers(low, high, " ms"),
        Kind::Microseconds(low, high) => numbers(low, high, " µs"),
        Kind::Size(low, high) => format!("{} to {}", size(low), size(high)),
    }
}

fn sections(parameter: &Parameter) -> String {
    let known = Sections::DATA.and(Sections::MANAGEMENT).and(Sections::SQL).and(Sections::SYSTEM);
    let names = known.shared_with(parameter.sections).names();
    names.replace(['[', ']'], "")
}

fn with_effect() -> String {
    let mut text =
        "| parameter | sections | default | range | meaning |\n| --- | --- | --- | --- | --- |\n".to_owned();
    for parameter in PARAMETERS.iter().filter(|parameter| parameter.effect == Effect::Used) {
        let star = if parameter.is_agreed { " *" } else { "" };
        let number = parameter.default.parse::<u64>().map(grouped);
        let default = match parameter.default {
            "" => "–".to_owned(),
            text => number.unwrap_or_else(|_| text.to_owned()),
        };
        let (name, sections, range) = (parameter.name, sections(parameter), range(parameter.kind));
        // Writing into a String can't fail.
        let _ =
            writeln!(text, "| {name}{star} | {sections} | {default} | {range} | {} |", parameter.description);
    }
    text
}

fn without_effect() -> String {
    let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for parameter in PARAMETERS {
        if let Effect::None(reason) = parameter.effect {
            by_reason.entry(reason).or_default().push(parameter.name);
        }
    }
    let mut lines: Vec<(&str, Vec<&str>)> = by_reason.into_iter().collect();
    lines.sort_by_key(|(_, names)| std::cmp::Reverse(names.len()));
    let mut text = "| why | parameters |\n| --- | --- |\n".to_owned();
    for (reason, mut names) in lines {
        names.sort_unstable_by_key(|name| name.to_ascii_lowercase());
        names.dedup();
        let _ = writeln!(text, "| {reason} | {} |", names.join(", "));
    }
    text
}

/// The document with a table behind the line that begins with this mark.
fn with_table(document: &str, mark: &str, table: &str) -> String {
    let begin = document.find(mark).expect("the mark of a table");
    let begin = begin + document[begin..].find('\n').expect("a line");
    let end = begin + document[begin..].find(END).expect("the end of a table");
    format!("{}\n\n{table}\n{}", &document[..begin], &document[end..])
}

#[test]
fn operators_are_told_what_the_table_of_parameters_says() {
    let document = std::fs::read_to_string(DOCUMENT).unwrap();
    let written = with_table(&document, "<!-- what has an effect", &with_effect());
    let written = with_table(&written, "<!-- what has none", &without_effect());
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(DOCUMENT, written).unwrap();
        return;
    }
    for (line, (is, should)) in document.lines().zip(written.lines()).enumerate() {
        assert_eq!(
            is,
            should,
            "docs/operating/parameters.md, line {}: UPDATE_GOLDEN=1 writes it anew",
            line + 1
        );
    }
    assert_eq!(document.len(), written.len());
}

/// Names of the fields that a struct of this text has.
fn fields<'text>(text: &'text str, name: &str) -> Vec<&'text str> {
    let begin = text.find(&format!("pub struct {name} {{")).expect("the struct");
    let end = begin + text[begin..].find("\n}").expect("its end");
    let lines = text[begin..end].lines();
    lines
        .filter_map(|line| line.trim().strip_prefix("pub ")?.split_once(": "))
        .map(|(field, _)| field)
        .collect()
}

/// The code of this crate, its tests left out.
fn code_below(folder: &Path) -> String {
    let mut text = String::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            text.push_str(&code_below(&path));
        } else if !path.ends_with("tests.rs") && !path.components().any(|part| part.as_os_str() == "tests") {
            text.push_str(&std::fs::read_to_string(&path).unwrap());
        }
    }
    text
}

#[test]
fn parameters_with_an_effect_are_read_and_used() {
    let reader = concat!(
        include_str!("../../../../node/src/config.rs"),
        include_str!("../../../../node/src/config/redo.rs")
    );
    let used = PARAMETERS.iter().filter(|parameter| parameter.effect == Effect::Used);
    let unread: Vec<&str> = used
        .map(|parameter| parameter.name)
        .filter(|name| !reader.contains(&format!("\"{name}\"")))
        .collect();
    assert_eq!(unread, [""; 0], "no value of these comes out of node/src/config.rs");

    let users = code_below(Path::new(SOURCES));
    let structs = ["ClusterConfig", "NodeConfig", "MysqlConfig", "ThreadSettings", "RedoConfig"];
    let fields = structs.into_iter().flat_map(|name| fields(reader, name));
    let unused: Vec<&str> = fields.filter(|field| !users.contains(&format!(".{field}"))).collect();
    assert_eq!(unused, [""; 0], "no node is started with these values");
}
