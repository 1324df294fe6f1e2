//! The commands of the management protocol: which lines are one, and what each of them needs.
//!
//! This is the one place that says whether a command needs authority ([`Command::need`]). A command that is added gets its answer there, and the compiler
//! asks for it.
//!
//! Invariants: words are compared without case (the caller gives lines in small letters); a line that is no command is never half understood: its
//! connection is closed, so that what comes behind it is not read. Lines of HTTP are none.

/// A line that is a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Command<'line> {
    Help,
    Show,
    AllStatus,
    /// Of a node, by its id.
    Status(&'line str),
    GetConfig,
    GetStatus,
    TlsInfo,
    /// The first half of a proof: asks for a challenge. The second half brings the answer to it.
    Authenticate(Option<&'line str>),
    Check,
    Stop(&'line str),
    Restart(&'line str),
    /// The name that was typed with it, if one was.
    Shutdown(Option<&'line str>),
    /// The control log goes on without nodes that are gone: the cluster's name and the list of nodes, if both were typed.
    RecoverVoters(Option<(&'line str, &'line str)>),
    /// NDB knows it, and it is refused here whoever asks.
    Refused(Refusal<'line>),
}

/// Why a command of NDB is not done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Refusal<'line> {
    AllStop,
    AllRestart,
    RollingRestart,
    /// An option of `N stop` or `N restart`.
    Option(&'line str),
    NotYet,
}

/// What a connection must have shown for a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Need {
    /// What starting nodes and onlookers ask: it changes nothing and tells no secret.
    Nothing,
    /// It changes the cluster, or takes all nodes' time.
    Authority,
}

impl<'line> Command<'line> {
    /// The command that a line is, in small letters; `None` if it is none.
    pub(super) fn parse(line: &'line str) -> Option<Self> {
        let words: Vec<&str> = line.split_whitespace().collect();
        Some(match words.as_slice() {
            ["help"] | [] => Self::Help,
            ["show"] => Self::Show,
            ["get", "config"] => Self::GetConfig,
            ["get", "status"] => Self::GetStatus,
            ["tls", "info"] => Self::TlsInfo,
            ["authenticate"] => Self::Authenticate(None),
            ["authenticate", proof] => Self::Authenticate(Some(proof)),
            ["check"] => Self::Check,
            ["shutdown"] => Self::Shutdown(None),
            ["shutdown", name] => Self::Shutdown(Some(name)),
            ["shutdown", ..] => Self::Shutdown(None),
            ["recover", "voters", rest @ ..] => match rest {
                [cluster, "without", _, ..] => {
                    let list = line.split_once(" without ").map_or("", |(_, list)| list);
                    Self::RecoverVoters(Some((cluster, list)))
                }
                _ => Self::RecoverVoters(None),
            },
            ["all", "status"] => Self::AllStatus,
            ["all", "stop"] => Self::Refused(Refusal::AllStop),
            ["all", "restart"] => Self::Refused(Refusal::AllRestart),
            ["rolling", "restart"] => Self::Refused(Refusal::RollingRestart),
            ["start" | "abort", "backup", ..] | ["enter" | "exit", "single", ..] => {
                Self::Refused(Refusal::NotYet)
            }
            [node, rest @ ..] if is_number(node) => match rest {
                ["status"] => Self::Status(node),
                ["stop"] => Self::Stop(node),
                ["restart"] => Self::Restart(node),
                ["stop" | "restart", option, ..] => Self::Refused(Refusal::Option(option)),
                _ => return None,
            },
            _ => return None,
        })
    }

    /// What a connection must have shown before it is done.
    pub(super) const fn need(self) -> Need {
        match self {
            Self::Help
            | Self::Show
            | Self::AllStatus
            | Self::Status(_)
            | Self::GetConfig
            | Self::GetStatus
            | Self::TlsInfo
            | Self::Authenticate(_)
            | Self::Refused(_) => Need::Nothing,
            Self::Check | Self::Stop(_) | Self::Restart(_) | Self::Shutdown(_) | Self::RecoverVoters(_) => {
                Need::Authority
            }
        }
    }
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests;
