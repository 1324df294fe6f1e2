//! Rules for documents: a link inside the repository leads to a file, and a line of a `.jsonl` file is an object.
//!
//! Deliberately not here: anchors behind `#`, and links to other hosts.

use super::{Remark, has_extension};
use serde_json::Value;
use std::collections::BTreeSet;

/// All rules on one document; `known` has every file of the repository.
pub(super) fn remarks_on(path: &str, text: &str, known: &BTreeSet<&str>) -> Vec<Remark> {
    if has_extension(path, &["jsonl"]) {
        return lines_that_are_no_objects(path, text);
    }
    if has_extension(path, &["md"]) {
        return broken_links(path, text, known);
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
