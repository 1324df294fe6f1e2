//! Options of a command: `--name value` or `--name=value`, and flags.
//!
//! Each command takes what it knows; [`Arguments::finish`] refuses what is left, so that a misspelt option is never
//! ignored.

use crate::processes::Failure;
use std::str::FromStr;

/// The words typed after the command, less those that have been taken.
pub(crate) struct Arguments {
    words: Vec<String>,
}

impl Arguments {
    pub(crate) fn new(words: impl Iterator<Item = String>) -> Self {
        let mut split = Vec::new();
        for word in words {
            match word.split_once('=') {
                Some((name, value)) if name.starts_with("--") => {
                    split.push(name.to_owned());
                    split.push(value.to_owned());
                }
                _ => split.push(word),
            }
        }
        Self { words: split }
    }

    /// Was this flag given?
    pub(crate) fn flag(&mut self, name: &str) -> bool {
        let before = self.words.len();
        self.words.retain(|word| word != name);
        self.words.len() < before
    }

    /// The values of an option that may be repeated.
    pub(crate) fn values(&mut self, name: &str) -> Result<Vec<String>, Failure> {
        let mut values = Vec::new();
        while let Some(position) = self.words.iter().position(|word| word == name) {
            if position + 1 >= self.words.len() {
                return Err(Failure::new(format!("{name} needs a value")));
            }
            values.push(self.words.remove(position + 1));
            self.words.remove(position);
        }
        Ok(values)
    }

    /// The value of an option; of several, the last.
    pub(crate) fn value<T: FromStr>(&mut self, name: &str) -> Result<Option<T>, Failure> {
        let Some(text) = self.values(name)?.pop() else { return Ok(None) };
        text.parse().map(Some).map_err(|_| Failure::new(format!("{name}: {text:?} is not understood")))
    }

    /// As [`Arguments::value`], with what holds when it is not given.
    pub(crate) fn value_or<T: FromStr>(&mut self, name: &str, default: T) -> Result<T, Failure> {
        Ok(self.value(name)?.unwrap_or(default))
    }

    /// Refuses what no one has taken.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        match self.words.first() {
            None => Ok(()),
            Some(word) => Err(Failure::new(format!("{word:?} is not understood; see `cargo xtask help`"))),
        }
    }
}

#[cfg(test)]
mod tests;
