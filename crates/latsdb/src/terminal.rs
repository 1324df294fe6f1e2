//! Lines for people: results on standard output, complaints on standard error.
//!
//! Invariant: nobody dies because the reader of its output is gone.

use std::fmt;
use std::io::Write;

/// Why a command did not do what it was asked to: one line for a person.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Failure(String);

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// A line on standard output.
pub(crate) fn say(line: &str) {
    let mut output = std::io::stdout().lock();
    // A closed pipe means that nobody listens any more.
    let _ = writeln!(output, "{line}").and_then(|()| output.flush());
}

/// Text on standard output without the end of a line.
pub(crate) fn prompt(text: &str) {
    let mut output = std::io::stdout().lock();
    let _ = write!(output, "{text}").and_then(|()| output.flush());
}

/// A line on standard error, which begins with the name of the program.
pub(crate) fn complain(message: &str) {
    let _ = writeln!(std::io::stderr().lock(), "latsdb: {message}");
}
