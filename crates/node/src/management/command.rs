//! The commands of the management protocol: which lines are one, and what each of them needs.
//!
//! This is the one place that says whether a command needs authority ([`Command::need`]). A command that is added gets
//! its answer there, and the compiler asks for it.
//!
//! Invariants: words are compared without case; the caller gives lines in small letters. A line that is no command is
//! never half understood: its connection is closed, so that nothing behind it is read. Lines of HTTP are none.

use super::pointers::{self, is_start_of, nodes_in_front};

/// A line that is a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Command<'line> {
    /// Help on all commands, or on those that begin so.
    Help(&'line str),
    Show,
    AllStatus,
    /// The status of nodes, by their ids.
    Status(&'line str),
    /// About nodes: their ids, or all.
    Report(&'line str, Report),
    /// A command of NDB that is done elsewhere here, or not at all (`pointers`).
    Elsewhere,
    GetConfig,
    GetStatus,
    TlsInfo,
    /// The first half of a proof: asks for a challenge. The second half brings the answer to it.
    Authenticate(Option<&'line str>),
    Check,
    Stop(&'line str),
    Restart(&'line str),
    AllStop,
    AllRestart,
    /// The text that was typed with it, if any was: the cluster's name.
    Shutdown(Option<&'line str>),
    /// The control log goes on without nodes that are gone: the cluster's name and the list of nodes, if both were
    /// typed.
    RecoverVoters(Option<(&'line str, &'line str)>),
    /// The cluster starts from the disks that are left, and loses rows: its name, and the list of the nodes that are
    /// given up.
    LoseData(Option<(&'line str, &'line str)>),
    /// NDB knows it, and it is refused here whoever asks.
    Refused(Refusal<'line>),
}

/// Why a command of NDB is not done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Refusal<'line> {
    RollingRestart,
    /// An option of `N stop` or `N restart`.
    Option(&'line str),
    /// Several nodes at once.
    Several,
}

/// The report that data nodes are asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Report {
    MemoryUsage,
    BackupStatus,
}

impl Report {
    /// By the beginning of its name, as ndb_mgm takes it.
    fn named(word: &str) -> Option<Self> {
        [("memoryusage", Self::MemoryUsage), ("backupstatus", Self::BackupStatus)]
            .into_iter()
            .find(|(name, _)| is_start_of(name, word))
            .map(|(_, report)| report)
    }
}

/// The proof that a connection must have shown for a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Need {
    /// None: starting nodes and onlookers ask such commands, which change nothing and tell no secret.
    Nothing,
    /// It changes the cluster, or takes all nodes' time.
    Authority,
}

impl<'line> Command<'line> {
    /// The command that a line is, in small letters; `None` if it is none.
    pub(super) fn parse(line: &'line str) -> Option<Self> {
        let words: Vec<&str> = line.split_whitespace().collect();
        Some(match words.as_slice() {
            ["help" | "?", ..] => Self::Help(behind(line, 1)),
            [] => Self::Help(""),
            ["show"] => Self::Show,
            ["get", "config"] => Self::GetConfig,
            ["get", "status"] => Self::GetStatus,
            ["tls", "info"] => Self::TlsInfo,
            ["authenticate"] => Self::Authenticate(None),
            ["authenticate", proof] => Self::Authenticate(Some(proof)),
            ["check"] => Self::Check,
            ["shutdown"] => Self::Shutdown(None),
            ["shutdown", name] => Self::Shutdown(Some(name)),
            ["shutdown", ..] => Self::Shutdown(Some(behind(line, 1))),
            ["recover", "voters", rest @ ..] => match rest {
                [cluster, "without", _, ..] => {
                    let list = line.split_once(" without ").map_or("", |(_, list)| list);
                    Self::RecoverVoters(Some((cluster, list)))
                }
                _ => Self::RecoverVoters(None),
            },
            ["start", cluster, "with", "data", "loss", rest @ ..] => match rest {
                [] => Self::LoseData(Some((cluster, ""))),
                ["without", _, ..] => {
                    let list = line.split_once(" without ").map_or("", |(_, list)| list);
                    Self::LoseData(Some((cluster, list)))
                }
                _ => Self::LoseData(None),
            },
            ["all", "status"] => Self::AllStatus,
            ["all", "stop"] => Self::AllStop,
            ["all", "restart"] => Self::AllRestart,
            ["rolling", "restart"] => Self::Refused(Refusal::RollingRestart),
            words => match nodes_in_front(words) {
                Some((is_all, count, verb)) => {
                    let nodes = before(line, count);
                    match (verb, &words[count + 1..]) {
                        ("status", []) if !is_all => Self::Status(nodes),
                        ("stop" | "restart", []) if count > 1 => Self::Refused(Refusal::Several),
                        ("stop", []) if !is_all => Self::Stop(nodes),
                        ("restart", []) if !is_all => Self::Restart(nodes),
                        ("stop" | "restart", [option, ..]) => Self::Refused(Refusal::Option(option)),
                        ("dump", ["1000"]) => Self::Report(nodes, Report::MemoryUsage),
                        ("report" | "rep", [kind]) if let Some(report) = Report::named(kind) => {
                            Self::Report(nodes, report)
                        }
                        _ if pointers::answer(words).is_some() => Self::Elsewhere,
                        _ => return None,
                    }
                }
                None if pointers::answer(words).is_some() => Self::Elsewhere,
                None => return None,
            },
        })
    }

    /// The proof that a connection must have shown before the command is done.
    pub(super) const fn need(self) -> Need {
        match self {
            Self::Help(_)
            | Self::Show
            | Self::Report(..)
            | Self::Elsewhere
            | Self::AllStatus
            | Self::Status(_)
            | Self::GetConfig
            | Self::GetStatus
            | Self::TlsInfo
            | Self::Authenticate(_)
            | Self::Refused(_) => Need::Nothing,
            Self::Check
            | Self::Stop(_)
            | Self::Restart(_)
            | Self::AllStop
            | Self::AllRestart
            | Self::Shutdown(_)
            | Self::RecoverVoters(_)
            | Self::LoseData(_) => Need::Authority,
        }
    }
}

/// The line behind so many words.
fn behind(line: &str, count: usize) -> &str {
    (0..count)
        .fold(line.trim(), |rest, _| rest.split_once(char::is_whitespace).map_or("", |(_, rest)| rest.trim()))
}

/// So many words of a line.
fn before(line: &str, count: usize) -> &str {
    let line = line.trim();
    line[..line.len() - behind(line, count).len()].trim()
}

#[cfg(test)]
mod tests;
