//! The rules of the house that no compiler checks: the code read as data.
//!
//! Every file that git knows or would add is read once; each rule is a pure function from its path and text to remarks.
//! A remark names the file, the line and the rule. A rule that no longer holds is deleted, not switched off for a file.

mod circles;
mod dependencies;
mod documents;
mod fields;
mod prose;

use crate::arguments::Arguments;
use crate::processes::{Failure, Workspace, capture};
use std::fs;
use std::time::Duration;

/// Longer files must be cut where they have a joint.
const LINE_COUNT_MAX: usize = 1_500;

/// Names that say nothing about what is inside.
const EMPTY_NAMES: &[&str] = &["util", "utils", "common", "helper", "helpers", "manager", "misc", "data2"];

/// Texts that must not stand in any file, and why. Written in two halves, so that this file obeys its own rule.
const FORBIDDEN_TEXT: &[(&str, &str)] = &[
    (concat!("/wo", "rk/"), "a path of one machine"),
    (concat!("../", "shared/"), "a path outside of the repository"),
];

/// Texts that must not stand in Rust code, and why.
const FORBIDDEN_CODE: &[(&str, &str)] = &[
    (concat!("todo", "!("), "unfinished code"),
    (concat!("unimplemented", "!("), "unfinished code"),
    (concat!("#[ign", "ore"), "a test that is not run proves nothing"),
    (concat!("dbg", "!("), "a trace left behind"),
];

/// Texts that must not stand in tests, and why.
const FORBIDDEN_IN_TESTS: &[(&str, &str)] =
    &[(concat!("thread::", "sleep"), "a test that sleeps is slow on one machine and fails on another")];

/// A fault, and where it is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Remark {
    pub(crate) path: String,
    /// From 1; 0 is the whole file.
    pub(crate) line: usize,
    pub(crate) text: String,
}

impl Remark {
    fn new(path: &str, line: usize, text: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, text: text.into() }
    }
}

/// `cargo xtask tidy`; with `--accept` the exceptions shrink to what is left, with `--prose NAME` the findings of a
/// crate are printed.
pub(crate) fn command(workspace: &Workspace, mut arguments: Arguments) -> Result<(), Failure> {
    let accepts = arguments.flag("--accept");
    let named: Option<String> = arguments.value("--prose")?;
    arguments.finish()?;
    if let Some(names) = named {
        return report(&prose::of_crates(prose_findings(&files(workspace)?), &names), "");
    }
    if accepts {
        let path = workspace.root.join(prose::EXCEPTIONS);
        let findings = prose_findings(&files(workspace)?);
        let accepted = prose::accept(&findings, &read_exceptions(workspace)?);
        let accepted =
            accepted.map_err(|remark| Failure::new(format!("{}: {}", remark.path, remark.text)))?;
        fs::write(&path, accepted).map_err(|error| Failure::new(format!("{}: {error}", path.display())))?;
    }
    check(workspace)
}

/// Reads all files; prints what is wrong.
pub(crate) fn check(workspace: &Workspace) -> Result<(), Failure> {
    let files = files(workspace)?;
    let mut remarks: Vec<Remark> = files.iter().flat_map(|(name, text)| remarks_on(name, text)).collect();
    let known = files.iter().map(|(name, _)| name.as_str()).collect();
    remarks.extend(files.iter().flat_map(|(name, text)| documents::remarks_on(name, text, &known)));
    remarks.extend(circles::remarks(&files));
    remarks.extend(fields::remarks(&files));
    remarks.extend(prose::judge(&prose_findings(&files), &read_exceptions(workspace)?));
    report(&remarks, &format!("{} files read, ", files.len()))
}

/// Every file that git knows or would add, with its text.
fn files(workspace: &Workspace) -> Result<Vec<(String, String)>, Failure> {
    let mut list = std::process::Command::new("git");
    list.current_dir(&workspace.root).args(["ls-files", "--cached", "--others", "--exclude-standard", "-z"]);
    let names = capture(&mut list, Duration::from_secs(60))?;
    // A file that is listed but deleted, or is not text, is nothing to read.
    let read = |name: &str| Some((name.to_owned(), fs::read_to_string(workspace.root.join(name)).ok()?));
    Ok(names.split('\0').filter(|name| !name.is_empty()).filter_map(read).collect())
}

fn prose_findings(files: &[(String, String)]) -> Vec<prose::Finding> {
    let code = files.iter().filter(|(name, _)| has_extension(name, &["rs"]));
    code.flat_map(|(name, text)| prose::findings(name, text)).collect()
}

fn read_exceptions(workspace: &Workspace) -> Result<String, Failure> {
    let path = workspace.root.join(prose::EXCEPTIONS);
    fs::read_to_string(&path).map_err(|error| Failure::new(format!("{}: {error}", path.display())))
}

/// Prints what is wrong.
fn report(remarks: &[Remark], read: &str) -> Result<(), Failure> {
    for remark in remarks {
        println!("{}:{}: {}", remark.path, remark.line, remark.text);
    }
    match remarks.len() {
        0 => {
            println!("tidy: {read}nothing to remark");
            Ok(())
        }
        count => Err(Failure::new(format!("tidy: {count} remarks"))),
    }
}

/// All rules on one file.
fn remarks_on(path: &str, text: &str) -> Vec<Remark> {
    let mut remarks = names(path);
    remarks.extend(forbidden(path, text, FORBIDDEN_TEXT));
    if let Some(crate_name) = path.strip_suffix("/Cargo.toml") {
        remarks.extend(dependency_edges(path, crate_name, text));
    }
    if has_extension(path, &["rs", "py", "go", "lua"]) {
        let line_count = text.lines().count();
        if line_count > LINE_COUNT_MAX {
            remarks.push(Remark::new(path, 0, format!("{line_count} lines; at most {LINE_COUNT_MAX}")));
        }
    }
    if has_extension(path, &["rs"]) {
        // The tests of foo.rs are explained by foo.rs.
        if !text.starts_with("//!") && !path.ends_with("/tests.rs") {
            remarks.push(Remark::new(
                path,
                1,
                "begins without `//!`: what is it, how does it work, what must hold?",
            ));
        }
        remarks.extend(forbidden(path, text, FORBIDDEN_CODE));
        if is_test(path) {
            remarks.extend(forbidden(path, text, FORBIDDEN_IN_TESTS));
        }
    }
    remarks
}

fn has_extension(path: &str, extensions: &[&str]) -> bool {
    path.rsplit_once('.').is_some_and(|(_, extension)| extensions.contains(&extension))
}

fn is_test(path: &str) -> bool {
    path.ends_with("tests.rs") || path.contains("/tests/")
}

fn names(path: &str) -> Vec<Remark> {
    let mut remarks = Vec::new();
    let file = path.rsplit('/').next().unwrap_or(path);
    if file == "mod.rs" {
        remarks.push(Remark::new(path, 0, "write foo.rs beside foo/ instead of foo/mod.rs"));
    }
    let stems = path.split('/').map(|part| part.split('.').next().unwrap_or(part));
    for stem in stems.filter(|stem| EMPTY_NAMES.contains(stem)) {
        remarks.push(Remark::new(path, 0, format!("{stem:?} says nothing about what is inside")));
    }
    remarks
}

fn forbidden(path: &str, text: &str, table: &[(&str, &str)]) -> Vec<Remark> {
    let mut remarks = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for (words, why) in table {
            if line.contains(words) {
                remarks.push(Remark::new(path, index + 1, format!("{words:?}: {why}")));
            }
        }
    }
    remarks
}

/// The manifest of a crate: its edges are in the table, and the lints of the workspace hold for it.
fn dependency_edges(path: &str, folder: &str, manifest: &str) -> Vec<Remark> {
    let name = folder.rsplit('/').next().unwrap_or(folder);
    let Some((_, allowed)) = dependencies::TABLE.iter().find(|(known, _)| *known == name) else {
        return vec![Remark::new(path, 0, format!("crate {name:?} is not in the dependency table of xtask"))];
    };
    let mut remarks = Vec::new();
    for (line, to) in dependencies::edges(manifest) {
        if !allowed.contains(&to.as_str()) {
            remarks.push(Remark::new(path, line, format!("{name} may not depend on {to}")));
        }
    }
    if !manifest.contains("[lints]\nworkspace = true") {
        remarks.push(Remark::new(
            path,
            0,
            "the lints of the workspace do not hold: add `[lints] workspace = true`",
        ));
    }
    remarks
}

#[cfg(test)]
mod tests;
