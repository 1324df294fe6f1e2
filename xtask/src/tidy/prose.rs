//! Comments that a reader reads, and need not decode: the rules of plain English that a tool can check.
//!
//! Each rule gives findings: comment lines that are too wide, sentences of doc comments that are too long, and
//! sentences that begin with a word that hides their subject. Code blocks, diagrams, tables and headings are not
//! sentences; a code span counts as one word.
//!
//! **The ratchet.** Findings that are left are counted by crate in `prose_exceptions.txt`, and the counts may only
//! shrink. A count that is too high fails as well as one that is too low, so that nobody can spend what another has
//! mended. `cargo xtask tidy --accept` writes lower counts.
//!
//! **Deliberately not here**: judge whether a sentence is good.

use super::Remark;
use std::collections::BTreeMap;

/// Where the exceptions stand.
pub(super) const EXCEPTIONS: &str = "xtask/src/tidy/prose_exceptions.txt";

/// Comment lines have at most so many columns.
const COLUMN_COUNT_MAX: usize = 120;

/// Sentences of doc comments have at most so many words.
const WORD_COUNT_MAX: usize = 30;

/// Sentences that begin so do not name their subject.
const VAGUE_OPENINGS: &[&str] = &["Who", "Whoever", "What"];

/// A rule of this file; its number is its column in the exceptions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rule {
    Columns,
    Words,
    Opening,
}

const RULE_COUNT: usize = 3;

/// Where a file breaks a rule.
pub(super) struct Finding {
    rule: Rule,
    remark: Remark,
}

/// How often each rule is broken, by its number.
type Counts = [usize; RULE_COUNT];

/// All that a Rust file breaks.
pub(super) fn findings(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut paragraph = Paragraph::default();
    let mut is_in_fence = false;
    for (index, line) in text.lines().enumerate() {
        let comment = line.trim_start();
        if !comment.starts_with("//") {
            findings.extend(paragraph.end(path));
            is_in_fence = false;
            continue;
        }
        let column_count = line.chars().count();
        // An address cannot be broken.
        if column_count > COLUMN_COUNT_MAX && !line.contains("://") {
            let text = format!("{column_count} columns of comment; at most {COLUMN_COUNT_MAX}");
            findings.push(Finding { rule: Rule::Columns, remark: Remark::new(path, index + 1, text) });
        }
        let markers = ["//!", "///", "//"];
        let marker = markers.into_iter().find(|marker| comment.starts_with(marker)).unwrap_or("//");
        let body = &comment[marker.len()..];
        let words = body.trim();
        if words.starts_with("```") {
            is_in_fence = !is_in_fence;
        }
        let is_text = !is_in_fence && !words.starts_with("```") && !is_drawn(body);
        let item = item_of(words);
        if !is_text || words.is_empty() || item.is_some() || !paragraph.goes_on_with(marker) {
            findings.extend(paragraph.end(path));
        }
        if is_text && !words.is_empty() {
            paragraph.add(marker, index + 1, item.unwrap_or(words));
        }
    }
    findings.extend(paragraph.end(path));
    findings
}

/// Whether a line of a comment is a table's, a heading, or drawn: indented like a code block, or the rule in front of a
/// section.
fn is_drawn(body: &str) -> bool {
    let words = body.trim_start();
    body.starts_with("     ") || words.starts_with('|') || words.starts_with('#') || words.starts_with("--")
}

/// The text of a list's item, without its mark.
fn item_of(words: &str) -> Option<&str> {
    let numbered = words.split_once(". ").filter(|(number, _)| number.parse::<u8>().is_ok());
    words.strip_prefix("- ").or(words.strip_prefix("* ")).or(numbered.map(|(_, text)| text))
}

/// Lines of one comment that belong together, as words with the lines they stand on.
#[derive(Default)]
struct Paragraph {
    marker: &'static str,
    words: Vec<(usize, String)>,
}

impl Paragraph {
    fn goes_on_with(&self, marker: &str) -> bool {
        self.marker == marker
    }

    fn add(&mut self, marker: &'static str, line: usize, text: &str) {
        self.marker = marker;
        self.words.extend(text.split_whitespace().map(|word| (line, word.to_owned())));
    }

    /// The findings of what was gathered; nothing is gathered any more.
    fn end(&mut self, path: &str) -> Vec<Finding> {
        let mut findings = Vec::new();
        let is_documentation = self.marker != "//";
        for sentence in sentences(&std::mem::take(&mut self.words)) {
            let line = sentence[0].0;
            let opening = sentence[0].1.trim_start_matches(is_dressing).trim_end_matches([',', '\'', ':']);
            if VAGUE_OPENINGS.contains(&opening) {
                let text = format!("a sentence that begins with {opening:?} does not name its subject");
                findings.push(Finding { rule: Rule::Opening, remark: Remark::new(path, line, text) });
            }
            let count = word_count(&sentence);
            if is_documentation && count > WORD_COUNT_MAX {
                let text = format!("a sentence of {count} words; at most {WORD_COUNT_MAX}");
                findings.push(Finding { rule: Rule::Words, remark: Remark::new(path, line, text) });
            }
        }
        findings
    }
}

/// Whether a character may stand around a word: brackets, quotes, and the marks of emphasis.
fn is_dressing(character: char) -> bool {
    matches!(character, '(' | ')' | '[' | ']' | '*' | '_' | '"' | '\'')
}

/// Cuts words at full stops, question and exclamation marks behind which a word begins that can open a sentence.
fn sentences(words: &[(usize, String)]) -> Vec<Vec<(usize, String)>> {
    let mut sentences = vec![Vec::new()];
    let mut is_in_code = false;
    for (index, word) in words.iter().enumerate() {
        is_in_code ^= word.1.matches('`').count() % 2 == 1;
        sentences.last_mut().expect("there is one").push(word.clone());
        let ends = word.1.trim_end_matches(is_dressing).ends_with(['.', '!', '?', '…']);
        let next =
            words.get(index + 1).and_then(|(_, next)| next.trim_start_matches(is_dressing).chars().next());
        // "e.g. this" goes on; a name in code or a digit may begin a sentence.
        let begins = next.is_some_and(|next| !next.is_lowercase() && !matches!(next, '|' | '-' | '–' | '='));
        if ends && begins && !is_in_code {
            sentences.push(Vec::new());
        }
    }
    sentences.retain(|sentence| !sentence.is_empty());
    sentences
}

/// How many words a reader reads: a code span is one, and what has no letter and no digit is none.
fn word_count(sentence: &[(usize, String)]) -> usize {
    let mut count = 0;
    let mut is_in_code = false;
    for (_, word) in sentence {
        if !is_in_code && word.chars().any(char::is_alphanumeric) {
            count += 1;
        }
        is_in_code ^= word.matches('`').count() % 2 == 1;
    }
    count
}

/// The crate of a file, by its folder: its findings are counted together.
fn crate_of(path: &str) -> &str {
    let mut folders = path.split('/');
    match (folders.next(), folders.next()) {
        (Some("crates"), Some(name)) => name,
        (Some(folder), _) => folder,
        (None, _) => "",
    }
}

/// Reads the exceptions: lines of a crate's name, `=`, and a count for each rule.
fn parse(text: &str) -> Result<Vec<(&str, Counts)>, Remark> {
    let mut exceptions = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if is_remark(line) {
            continue;
        }
        let fields: Vec<&str> = line.split_whitespace().collect();
        let number = |field: &str| field.parse::<usize>().ok();
        let exception = match fields[..] {
            [name, "=", columns, words, opening] => {
                let counts = number(columns).zip(number(words)).zip(number(opening));
                counts.map(|((columns, words), opening)| (name, [columns, words, opening]))
            }
            _ => None,
        };
        let refused = || Remark::new(EXCEPTIONS, index + 1, "not `NAME = COLUMNS WORDS OPENINGS`");
        exceptions.push(exception.ok_or_else(refused)?);
    }
    Ok(exceptions)
}

/// Whether a line of the exceptions is for people only.
fn is_remark(line: &str) -> bool {
    line.starts_with('#') || line.trim().is_empty()
}

/// Compares findings with the exceptions: remarks, if a count is not as it is there.
pub(super) fn judge(findings: &[Finding], exceptions: &str) -> Vec<Remark> {
    let exceptions = match parse(exceptions) {
        Ok(exceptions) => exceptions,
        Err(remark) => return vec![remark],
    };
    let mut found = count(findings);
    let mut remarks = Vec::new();
    for (name, allowed) in exceptions {
        remarks.extend(compare(name, found.remove(name).unwrap_or_default(), allowed));
    }
    for (name, counts) in found {
        remarks.extend(compare(name, counts, [0; RULE_COUNT]));
    }
    remarks
}

fn count(findings: &[Finding]) -> BTreeMap<&str, Counts> {
    let mut counts: BTreeMap<&str, Counts> = BTreeMap::new();
    for finding in findings {
        counts.entry(crate_of(&finding.remark.path)).or_default()[finding.rule as usize] += 1;
    }
    counts
}

fn compare(name: &str, found: Counts, allowed: Counts) -> Vec<Remark> {
    let rules = [
        (Rule::Columns, "comment lines that are too wide"),
        (Rule::Words, "sentences of doc comments that are too long"),
        (Rule::Opening, "sentences that begin with Who, Whoever or What"),
    ];
    let mut remarks = Vec::new();
    for (rule, what) in rules {
        let (found, allowed) = (found[rule as usize], allowed[rule as usize]);
        if found > allowed {
            let text =
                format!("{name}: {found} {what}; at most {allowed}: see `cargo xtask tidy --prose {name}`");
            remarks.push(Remark::new(EXCEPTIONS, 0, text));
        } else if found < allowed {
            let text = format!("{name}: {found} {what}, no longer {allowed}: `cargo xtask tidy --accept`");
            remarks.push(Remark::new(EXCEPTIONS, 0, text));
        }
    }
    remarks
}

/// The exceptions with the counts that were found, where these are lower.
pub(super) fn accept(findings: &[Finding], text: &str) -> Result<String, Remark> {
    let found = count(findings);
    let mut exceptions = parse(text)?.into_iter();
    let mut accepted = String::new();
    for line in text.lines() {
        if is_remark(line) {
            accepted.push_str(line);
            accepted.push('\n');
            continue;
        }
        let Some((name, allowed)) = exceptions.next() else { break };
        let counts = found.get(name).copied().unwrap_or_default();
        let [columns, words, opening] = std::array::from_fn(|index| counts[index].min(allowed[index]));
        // A crate without findings needs no exception.
        if [columns, words, opening] != [0; RULE_COUNT] {
            accepted.push_str(&format!("{name} = {columns} {words} {opening}\n"));
        }
    }
    Ok(accepted)
}

/// The findings in the crates of a list of names joined by `+`.
pub(super) fn of_crates(findings: Vec<Finding>, names: &str) -> Vec<Remark> {
    let is_named = |finding: &Finding| names.split('+').any(|name| name == crate_of(&finding.remark.path));
    findings.into_iter().filter(is_named).map(|finding| finding.remark).collect()
}

#[cfg(test)]
mod tests;
