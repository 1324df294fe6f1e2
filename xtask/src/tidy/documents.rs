//! Rules for documents: a link inside the repository leads to a file, a path of Rust code ends one, and a line of a
//! `.jsonl` file is an object.
//!
//! Deliberately not here: anchors behind `#`, links to other hosts, and file names without a folder.

use super::{Remark, has_extension};
use serde_json::Value;
use std::collections::BTreeSet;

/// All rules on one document; `known` has every file of the repository.
pub(super) fn remarks_on(path: &str, text: &str, known: &BTreeSet<&str>) -> Vec<Remark> {
    if has_extension(path, &["jsonl"]) {
        return lines_that_are_no_objects(path, text);
    }
    if has_extension(path, &["md"]) {
        let mut remarks = broken_links(path, text, known);
        remarks.extend(dead_paths(path, text, known));
        return remarks;
    }
    Vec::new()
}

fn lines_that_are_no_objects(path: &str, text: &str) -> Vec<Remark> {
    let is_object = |line: &str| matches!(serde_json::from_str(line), Ok(Value::Object(_)));
    let bad = text.lines().enumerate().filter(|(_, line)| !is_object(line));
    bad.map(|(index, _)| Remark::new(path, index + 1, "no JSON object")).collect()
}

fn broken_links(path: &str, text: &str, known: &BTreeSet<&str>) -> Vec<Remark> {
    let mut remarks = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for target in
            line.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target)
        {
            let file = target.split('#').next().unwrap_or_default();
            if file.is_empty() || file.contains("://") || file.contains(char::is_whitespace) {
                continue;
            }
            let resolved = resolve(path, file);
            let is_folder = || known.iter().any(|known| known.starts_with(&format!("{resolved}/")));
            if !known.contains(resolved.as_str()) && !is_folder() {
                remarks.push(Remark::new(path, index + 1, format!("the link to {target:?} leads nowhere")));
            }
        }
    }
    remarks
}

/// Paths like `ldm/slot.rs`, which may begin in any folder. `foo` stands for any name.
fn dead_paths(path: &str, text: &str, known: &BTreeSet<&str>) -> Vec<Remark> {
    let mut remarks = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let spans = line.split('`').skip(1).step_by(2);
        for named in spans.filter(|span| has_extension(span, &["rs"]) && span.contains('/')) {
            let ends = |known: &&str| {
                known.strip_suffix(named).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
            };
            let is_pattern = named.contains('{') || named.starts_with("foo/");
            if !is_pattern && !known.iter().any(ends) {
                remarks.push(Remark::new(path, index + 1, format!("there is no file {named:?}")));
            }
        }
    }
    remarks
}

/// A relative link in a document, as a path from the root.
fn resolve(document: &str, link: &str) -> String {
    let mut parts: Vec<&str> = document.split('/').collect();
    parts.pop();
    for part in link.split('/').filter(|part| !part.is_empty() && *part != ".") {
        if part == ".." {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    parts.join("/")
}
