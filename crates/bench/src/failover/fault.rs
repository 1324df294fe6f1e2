//! Faults of a cluster, by name: `kill-data`, `kill-management`, `kill-both`, `kill-leader`, `pause-data-1s`, `cut-3s`;
//! and planned events, which are no faults: `switchover`, `rolling`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// The node that a fault hits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Victim {
    /// A data node, another one each time.
    Data,
    Management,
    /// A data node and the management node, at once.
    Both,
    /// The data node that leads the control plane; the management node was killed before, so that there is one.
    Leader,
}

/// One kind of fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// `kill -9`.
    Kill(Victim),
    /// SIGSTOP, and SIGCONT after this time.
    Pause(Victim, Duration),
    /// The data nodes of a replica group can't reach each other for this time; everybody else reaches both.
    Cut(Duration),
    /// `N restart` of a data node, another one each time: its primaries and its sessions go elsewhere first, and come
    /// back.
    Switchover,
    /// `rolling restart` of all nodes.
    Rolling,
    /// None: what a rejoin, a check and the machine alone do to clients.
    Nothing,
}

impl fmt::Display for Victim {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Data => "data",
            Self::Management => "management",
            Self::Both => "both",
            Self::Leader => "leader",
        })
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kill(victim) => write!(formatter, "kill-{victim}"),
            Self::Pause(victim, time) => write!(formatter, "pause-{victim}-{}ms", time.as_millis()),
            Self::Cut(time) => write!(formatter, "cut-{}ms", time.as_millis()),
            Self::Switchover => formatter.write_str("switchover"),
            Self::Rolling => formatter.write_str("rolling"),
            Self::Nothing => formatter.write_str("nothing"),
        }
    }
}

impl Fault {
    /// Whether no client may lose anything by it.
    #[must_use]
    pub fn is_planned(self) -> bool {
        match self {
            Self::Switchover | Self::Rolling => true,
            Self::Kill(_) | Self::Pause(..) | Self::Cut(_) | Self::Nothing => false,
        }
    }
}

impl FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split('-').collect();
        let fault = match words[..] {
            ["kill", victim] => parse_victim(victim).map(Self::Kill),
            ["pause", victim, time] => {
                parse_victim(victim).zip(parse_time(time)).map(|(victim, time)| Self::Pause(victim, time))
            }
            ["cut", time] => parse_time(time).map(Self::Cut),
            ["switchover"] => Some(Self::Switchover),
            ["rolling"] => Some(Self::Rolling),
            ["nothing"] => Some(Self::Nothing),
            _ => None,
        };
        fault.ok_or_else(|| {
            format!("{text:?} is no fault; kill-data, kill-management, kill-both, kill-leader, pause-data-200ms, cut-3s, switchover, rolling, nothing")
        })
    }
}

fn parse_victim(text: &str) -> Option<Victim> {
    match text {
        "data" => Some(Victim::Data),
        "management" => Some(Victim::Management),
        "both" => Some(Victim::Both),
        "leader" => Some(Victim::Leader),
        _ => None,
    }
}

/// `200ms` or `3s`.
fn parse_time(text: &str) -> Option<Duration> {
    match text.strip_suffix("ms") {
        Some(number) => number.parse().ok().map(Duration::from_millis),
        None => text.strip_suffix('s')?.parse().ok().map(Duration::from_secs),
    }
}

#[cfg(test)]
mod tests;
