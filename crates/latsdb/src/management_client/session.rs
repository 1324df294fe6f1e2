//! Commands of `latsdb mgm`, typed or given by `-e`: which of them the client does itself, and the connection that the
//! others are sent by.
//!
//! Invariants: words are compared without case. A lost connection is made anew with the next command.

use super::{Access, ManagementClient, ask, follow, rolling};
use crate::connectstring::Connectstring;
use crate::terminal::{self, Failure};

/// The prompt, if nothing else was chosen.
const PROMPT: &str = "latsdb_mgm> ";

/// A command that the client carries out without a management node.
#[derive(PartialEq, Eq, Debug)]
enum Local<'line> {
    /// `quit`, `exit`, `bye`.
    Leave,
    /// `prompt TEXT`; empty: the usual one.
    Prompt(&'line str),
    /// `connect PLACES`; empty: the same ones.
    Connect(&'line str),
}

/// How a command ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Done {
    Yes,
    /// It was refused, or found something.
    No,
    /// Nothing more is to be done.
    Leave,
}

impl Done {
    fn of(is_done: bool) -> Self {
        if is_done { Self::Yes } else { Self::No }
    }
}

/// The words of a command that the client does itself.
fn local(command: &str) -> Option<Local<'_>> {
    let (word, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
    let rest = rest.trim();
    match (word.to_ascii_lowercase().as_str(), rest) {
        ("quit" | "exit" | "bye", "") => Some(Local::Leave),
        ("prompt", text) => Some(Local::Prompt(text)),
        ("connect", places) => Some(Local::Connect(places)),
        _ => None,
    }
}

/// One run of the client.
pub(super) struct Session {
    access: Access,
    client: Option<ManagementClient>,
    prompt: String,
}

impl Session {
    pub(super) fn new(access: Access) -> Self {
        Self { access, client: None, prompt: PROMPT.to_owned() }
    }

    /// Connects, if that has not been done.
    pub(super) fn connect(&mut self) -> Result<&mut ManagementClient, Failure> {
        let client = self.client.take().map_or_else(|| self.access.connect(), Ok::<_, Failure>)?;
        Ok(self.client.insert(client))
    }

    /// The management nodes, for people.
    pub(super) fn places(&self) -> String {
        self.access.connectstring.to_string()
    }

    /// The prompt.
    pub(super) fn prompt(&self) -> &str {
        &self.prompt
    }

    /// Does a command, without the semicolon behind it.
    pub(super) fn obey(&mut self, command: &str) -> Result<Done, Failure> {
        match local(command) {
            Some(Local::Leave) => return Ok(Done::Leave),
            Some(Local::Prompt(text)) => {
                self.prompt = if text.is_empty() { PROMPT.to_owned() } else { format!("{text} ") };
                return Ok(Done::Yes);
            }
            Some(Local::Connect(places)) => {
                if !places.is_empty() {
                    let parsed: Result<Connectstring, _> = places.parse();
                    self.access.connectstring = parsed.map_err(|bad| Failure::new(bad.to_string()))?;
                }
                self.client = None;
                self.connect()?;
                terminal::say(&format!("Connected to the management node at {}", self.places()));
                return Ok(Done::Yes);
            }
            None => {}
        }
        if let Some(followed) = rolling::parse(command) {
            // The node that is asked may be the one that was connected.
            self.client = None;
            return Ok(Done::of(follow(followed, &self.access)));
        }
        self.connect()?;
        let Some(mut client) = self.client.take() else { return Ok(Done::No) };
        let is_done = ask(&mut client, command)?;
        // A management node closes the connection after what is no command.
        self.client = Some(client).filter(|_| is_done);
        Ok(Done::of(is_done))
    }
}

/// The commands of a line: several are separated by semicolons.
pub(super) fn commands(line: &str) -> impl Iterator<Item = &str> {
    line.split(';').map(str::trim).filter(|command| !command.is_empty())
}

#[cfg(test)]
mod tests;
