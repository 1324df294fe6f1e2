//! How the tests of a suite ended, as its runner prints it.
//!
//! Names have no blanks: runners of Go and of Python see to that. A test that has parts has failed when a part has;
//! then the parts are named, not the whole.

use std::collections::{BTreeMap, BTreeSet};

/// The reason of tests that may pass as well.
pub(super) const BY_CHANCE: &str = "which transaction a deadlock ends";

/// Each test is in one of the three.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Outcomes {
    pub(super) passed: BTreeSet<String>,
    pub(super) failed: BTreeSet<String>,
    pub(super) skipped: BTreeSet<String>,
}

impl Outcomes {
    /// The differences from the list, one line each.
    pub(super) fn unlike(&self, listed: &BTreeMap<String, &str>) -> Vec<String> {
        let unlisted = self.failed.iter().filter(|name| !listed.contains_key(*name));
        let mut lines: Vec<String> =
            unlisted.map(|name| format!("{name} fails, and is not listed")).collect();
        for (name, reason) in listed.iter().filter(|(name, _)| !self.failed.contains(*name)) {
            let how = if self.passed.contains(name) && *reason == BY_CHANCE {
                continue;
            } else if self.passed.contains(name) {
                "passes"
            } else if self.skipped.contains(name) {
                "is skipped"
            } else {
                "is not there"
            };
            lines.push(format!("{name} {how}, and is listed as failing for {reason}"));
        }
        lines
    }
}

/// The output of `go test -v`.
pub(super) fn of_go_test(output: &str) -> Outcomes {
    let mut outcomes = Outcomes::default();
    for line in output.lines() {
        let Some((word, rest)) =
            line.trim_start().strip_prefix("--- ").and_then(|line| line.split_once(": "))
        else {
            continue;
        };
        let Some(name) = rest.split(' ').next() else { continue };
        let names = match word {
            "PASS" => &mut outcomes.passed,
            "FAIL" => &mut outcomes.failed,
            "SKIP" => &mut outcomes.skipped,
            _ => continue,
        };
        names.insert(name.to_owned());
    }
    // A test that hangs when the time is over has no such line.
    let mut running = output.lines().skip_while(|line| !line.starts_with("panic: test timed out")).skip(2);
    while let Some(line) = running.next().filter(|line| line.starts_with("\t\t")) {
        outcomes.failed.extend(line.split_whitespace().next().map(ToOwned::to_owned));
    }
    outcomes.without_wholes()
}

/// The output of `pytest -rA`. Lines of tests that were skipped name a place, not a test.
pub(super) fn of_pytest(output: &str) -> Outcomes {
    let mut outcomes = Outcomes::default();
    for line in output.lines() {
        let mut words = line.split(' ');
        let (Some(word), Some(name)) = (words.next(), words.next()) else { continue };
        if !name.contains("::") {
            continue;
        }
        let names = match word {
            "PASSED" | "XPASS" => &mut outcomes.passed,
            "FAILED" | "ERROR" => &mut outcomes.failed,
            "XFAIL" => &mut outcomes.skipped,
            _ => continue,
        };
        names.insert(name.to_owned());
    }
    // A test that passes and can't be cleaned up after has both lines.
    outcomes.passed.retain(|name| !outcomes.failed.contains(name));
    outcomes
}

/// The output of Python's `unittest` with `--verbosity=2`. The name of a test stands on a line of its own if it has a
/// description; what failed, and which parts, is told again behind all of them.
pub(super) fn of_unittest(output: &str) -> Outcomes {
    let mut outcomes = Outcomes::default();
    let mut current = "";
    for line in output.lines() {
        if let Some((_, failed)) = line.split_once(": ").filter(|(word, _)| matches!(*word, "FAIL" | "ERROR"))
        {
            outcomes.failed.extend(test_id(failed).map(ToOwned::to_owned));
            continue;
        }
        current = test_id(line).unwrap_or(current);
        let Some((_, end)) = line.rsplit_once(" ... ") else { continue };
        let names = match end.split(' ').next() {
            Some("ok") => &mut outcomes.passed,
            Some("skipped" | "expected") => &mut outcomes.skipped,
            _ => continue,
        };
        names.insert(current.to_owned());
    }
    outcomes.passed.retain(|name| !outcomes.failed.contains(name));
    outcomes
}

/// `module.Class.test` of a line that begins with `test (module.Class.test)`.
fn test_id(line: &str) -> Option<&str> {
    let (test, rest) = line.split_once(" (")?;
    let (id, _) = rest.split_once(')')?;
    (!test.contains(' ') && id.ends_with(test)).then_some(id)
}

impl Outcomes {
    /// Leaves out a failed test of which a part has failed.
    fn without_wholes(mut self) -> Self {
        let wholes: BTreeSet<String> = self
            .failed
            .iter()
            .flat_map(|name| name.match_indices('/').map(|(end, _)| name[..end].to_owned()))
            .collect();
        self.failed.retain(|name| !wholes.contains(name));
        self
    }
}
