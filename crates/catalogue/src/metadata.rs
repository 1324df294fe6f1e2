//! ATTRIBUTE and COMMENT of accounts: the text of a JSON object, into which each statement merges its own (RFC 7396, as
//! MySQL does).
//!
//! Only what is needed for that is understood of JSON: objects are taken apart, all other values stay texts.
//!
//! Invariants: a text that was merged is an object; its keys are in MySQL's order, shorter ones first; total on any
//! text, of bounded depth.

use std::collections::BTreeMap;

/// Objects in objects at most.
const DEPTH_MAX: usize = 100;

/// A value.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Json {
    Object(Members),
    /// Anything else, as it was written.
    Text(String),
}

/// By length and name, without quotes.
type Members = BTreeMap<(usize, String), Json>;

/// An account's metadata with `patch` merged into it; None if `patch` is not the text of an object.
pub(crate) fn merge(present: Option<&str>, patch: &str) -> Option<String> {
    let mut members = present.and_then(parse_object).unwrap_or_default();
    merge_members(&mut members, parse_object(patch)?);
    Some(shown(&Json::Object(members)))
}

/// The object that COMMENT stands for.
pub(crate) fn of_comment(comment: &str) -> String {
    let mut text = String::from("{\"comment\": \"");
    for character in comment.chars() {
        match character {
            '"' | '\\' => text.extend(['\\', character]),
            control if u32::from(control) < 0x20 => text.push_str(&format!("\\u{:04x}", u32::from(control))),
            other => text.push(other),
        }
    }
    text + "\"}"
}

fn merge_members(members: &mut Members, patch: Members) {
    for (name, value) in patch {
        match value {
            Json::Text(text) if text == "null" => {
                members.remove(&name);
            }
            Json::Text(text) => {
                members.insert(name, Json::Text(text));
            }
            Json::Object(patch) => {
                let mut inner = match members.remove(&name) {
                    Some(Json::Object(inner)) => inner,
                    Some(Json::Text(_)) | None => Members::new(),
                };
                merge_members(&mut inner, patch);
                members.insert(name, Json::Object(inner));
            }
        }
    }
}

fn shown(value: &Json) -> String {
    match value {
        Json::Text(text) => text.clone(),
        Json::Object(members) => {
            let members = members.iter().map(|((_, name), value)| format!("\"{name}\": {}", shown(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
    }
}

fn parse_object(text: &str) -> Option<Members> {
    let mut parser = Parser { rest: text.trim_start() };
    let Json::Object(members) = parser.value(0)? else { return None };
    parser.rest.is_empty().then_some(members)
}

struct Parser<'t> {
    /// Begins with no white space.
    rest: &'t str,
}

impl Parser<'_> {
    fn take(&mut self, symbol: char) -> bool {
        match self.rest.strip_prefix(symbol) {
            Some(rest) => {
                self.rest = rest.trim_start();
                true
            }
            None => false,
        }
    }

    fn value(&mut self, depth: usize) -> Option<Json> {
        if depth > DEPTH_MAX {
            return None;
        }
        if self.take('{') {
            return self.members(depth).map(Json::Object);
        }
        if self.take('[') {
            let mut items = Vec::new();
            while !self.take(']') {
                if !items.is_empty() && !self.take(',') {
                    return None;
                }
                items.push(shown(&self.value(depth + 1)?));
            }
            return Some(Json::Text(format!("[{}]", items.join(", "))));
        }
        if self.rest.starts_with('"') {
            return self.string().map(|text| Json::Text(format!("\"{text}\"")));
        }
        let is_part = |character: char| character.is_ascii_alphanumeric() || "+-.".contains(character);
        let end = self.rest.find(|character| !is_part(character)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        let is_number = word.starts_with(|first: char| first == '-' || first.is_ascii_digit())
            && word.ends_with(|last: char| last.is_ascii_digit())
            && word.parse::<f64>().is_ok_and(f64::is_finite);
        if !is_number && !["true", "false", "null"].contains(&word) {
            return None;
        }
        let word = word.to_owned();
        self.rest = rest.trim_start();
        Some(Json::Text(word))
    }

    fn members(&mut self, depth: usize) -> Option<Members> {
        let mut members = Members::new();
        while !self.take('}') {
            if !members.is_empty() && !self.take(',') {
                return None;
            }
            let name = self.string()?;
            if !self.take(':') {
                return None;
            }
            let value = self.value(depth + 1)?;
            members.insert((name.len(), name), value);
        }
        Some(members)
    }

    /// The text between the quotes, with its escapes as they are.
    fn string(&mut self) -> Option<String> {
        let inner = self.rest.strip_prefix('"')?;
        let mut is_escaped = false;
        for (at, character) in inner.char_indices() {
            match character {
                '"' if !is_escaped => {
                    self.rest = inner[at + 1..].trim_start();
                    return Some(inner[..at].to_owned());
                }
                control if u32::from(control) < 0x20 => return None,
                escaped if is_escaped && !"\"\\/bfnrtu".contains(escaped) => return None,
                _ => is_escaped = character == '\\' && !is_escaped,
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_merged_as_mysql_does() {
        let check = |present: Option<&str>, patch: &str, expected: Option<&str>| {
            assert_eq!(merge(present, patch).as_deref(), expected, "{present:?} {patch}");
        };
        check(None, "{}", Some("{}"));
        check(
            None,
            r#" {"b" : 1,"a":[1 ,{"x":-1.5e3}], "aa": null} "#,
            Some(r#"{"a": [1, {"x": -1.5e3}], "b": 1}"#),
        );
        check(
            Some(r#"{"a": 1, "b": {"c": 2, "d": 3}}"#),
            r#"{"b": {"c": null, "e": "x\"y"}, "a": true}"#,
            Some(r#"{"a": true, "b": {"d": 3, "e": "x\"y"}}"#),
        );
        check(Some(r#"{"a": {"b": 1}}"#), r#"{"a": 7}"#, Some(r#"{"a": 7}"#));
        check(
            Some(r#"{"a": 1}"#),
            &of_comment("it's \"so\"\n"),
            Some(r#"{"a": 1, "comment": "it's \"so\"\u000a"}"#),
        );
        for bad in [
            "",
            "1",
            "[]",
            "{",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}x",
            "{a: 1}",
            "{\"a\": nul}",
            "{\"a\": inf}",
            "{\"a\\x\": 1}",
            "{\"a\": 1} 2",
        ] {
            check(None, bad, None);
        }
        check(None, &format!("{}1{}", "{\"a\":".repeat(200), "}".repeat(200)), None);
        check(None, &format!("{{\"a\": {}}}", "[".repeat(100_000)), None);
    }
}
