//! The text of `config.ini`: sections of `Name = value` lines, with line numbers.
//!
//! `Name = value` and `Name: value` both work. `#` and `;` begin a comment at the start of a line or behind white
//! space. A value may stand in quotes. Lines that are none of these are errors; reading goes on behind them.
//!
//! Deliberately not here: what names mean.

use super::ConfigError;

/// A section and its entries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Section<'a> {
    /// Between the brackets, as written.
    pub(super) name: &'a str,
    /// Its line, counted from 1.
    pub(super) line: u32,
    /// Its entries in order.
    pub(super) entries: Vec<Entry<'a>>,
}

/// One `Name = value`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Entry<'a> {
    /// As written.
    pub(super) name: &'a str,
    /// As written, without quotes around it.
    pub(super) value: &'a str,
    /// Its line, counted from 1.
    pub(super) line: u32,
}

/// The sections of a text in order.
pub(super) fn sections<'a>(text: &'a str, errors: &mut Vec<ConfigError>) -> Vec<Section<'a>> {
    let mut sections: Vec<Section<'a>> = Vec::new();
    // Some editors begin files with a byte order mark.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (line, content) in (1..).zip(text.lines()) {
        let content = without_comment(content).trim();
        if content.is_empty() {
            continue;
        }
        if let Some(name) = content.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            sections.push(Section { name: name.trim(), line, entries: Vec::new() });
            continue;
        }
        let mut complain =
            |message: &str| errors.push(ConfigError { line: Some(line), message: message.to_owned() });
        let Some(position) = content.find(['=', ':']) else {
            complain(&format!("'{content}' is neither [section] nor Name=value"));
            continue;
        };
        let (name, value) = (content[..position].trim(), unquoted(content[position + 1..].trim()));
        match sections.last_mut() {
            _ if name.is_empty() => complain("a value without a name"),
            Some(section) => section.entries.push(Entry { name, value, line }),
            None => complain(&format!("{name} stands before the first [section]")),
        }
    }
    sections
}

fn without_comment(line: &str) -> &str {
    let mut previous = ' ';
    for (position, character) in line.char_indices() {
        if matches!(character, '#' | ';') && previous.is_whitespace() {
            return &line[..position];
        }
        previous = character;
    }
    line
}

fn unquoted(value: &str) -> &str {
    for quote in ['"', '\''] {
        if let Some(inner) = value.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)) {
            return inner;
        }
    }
    value
}
