//! Options of a table that its comment says, in NDB's form: `NDB_TABLE=READ_BACKUP=1,DURABILITY=epoch`.
//!
//! The list begins behind the first `NDB_TABLE=` of the comment, and ends with white space. Upper and lower case are
//! the same. `DURABILITY` is ours; NDB's own options are known, and mean nothing here. Any other is an error, so that a
//! misspelled promise is not taken for a remark.
//!
//! The comment is the only place of these options. An `ALTER TABLE … COMMENT` that leaves one out takes it back.
//!
//! Deliberately not here: whether the cluster can keep what a table wants (`sql`).

use crate::TableDefinition;

#[cfg(test)]
mod tests;

const PREFIX: &str = "NDB_TABLE=";

/// The values that an option takes.
#[derive(Clone, Copy)]
enum Values {
    /// `memory` or `epoch`.
    Durability,
    /// 0 or 1; the name alone is 1.
    Flag,
    /// Any word.
    Word,
}

const OPTIONS: [(&str, Values); 5] = [
    ("DURABILITY", Values::Durability),
    ("FULLY_REPLICATED", Values::Flag),
    ("NOLOGGING", Values::Flag),
    ("PARTITION_BALANCE", Values::Word),
    ("READ_BACKUP", Values::Flag),
];

/// The options of a table that mean something.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TableModifiers {
    /// `DURABILITY=epoch`: commits that change the table are answered when they are durable.
    pub awaits_durable: bool,
}

impl TableModifiers {
    /// The options of a comment; an error is the one that is none, as it is written.
    pub fn of_comment(comment: &str) -> Result<Self, &str> {
        let mut modifiers = Self::default();
        let mut windows = comment.as_bytes().windows(PREFIX.len());
        let Some(start) = windows.position(|bytes| bytes.eq_ignore_ascii_case(PREFIX.as_bytes())) else {
            return Ok(modifiers);
        };
        let list = comment.get(start + PREFIX.len()..).unwrap_or_default();
        let list = list.split(char::is_whitespace).next().unwrap_or_default();
        let mut seen = Vec::new();
        for option in list.split(',') {
            let (name, value) =
                option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value)));
            let known = OPTIONS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
            let (known, values) = known.filter(|(known, _)| !seen.contains(known)).ok_or(option)?;
            seen.push(*known);
            match (values, value) {
                (Values::Durability, Some(mode)) if mode.eq_ignore_ascii_case("epoch") => {
                    modifiers.awaits_durable = true;
                }
                (Values::Durability, Some(mode)) if mode.eq_ignore_ascii_case("memory") => {}
                (Values::Flag, None | Some("0" | "1")) => {}
                (Values::Word, Some(word)) if !word.is_empty() => {}
                (Values::Durability | Values::Flag | Values::Word, _) => return Err(option),
            }
        }
        Ok(modifiers)
    }
}

impl TableDefinition {
    /// Whether commits that change it are answered when they are durable.
    #[must_use]
    pub fn awaits_durable(&self) -> bool {
        // DDL has refused what is wrong; a comment from before that is a remark.
        TableModifiers::of_comment(&self.comment).is_ok_and(|modifiers| modifiers.awaits_durable)
    }
}
