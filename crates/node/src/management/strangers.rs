//! Strangers at the management port, who send something that is no command or prove something that is not true: they
//! are counted, with a line a minute for each host.
//!
//! Invariant: at most [`HOSTS_MAX`] hosts are remembered; while there are as many, those that come anew are counted
//! only.

use std::collections::BTreeMap;
use stdx::{Duration, Instant};

/// Between two lines about one host.
const LINE_INTERVAL: Duration = Duration::from_secs(60);
/// Hosts that are remembered.
const HOSTS_MAX: usize = 1_000;
/// How much of what was sent is told.
const TOLD_MAX: usize = 60;

/// A host that was told of.
struct Told {
    at: Instant,
    /// How often it was refused since.
    since: u64,
}

/// All of them.
#[derive(Default)]
pub(super) struct Strangers {
    hosts: BTreeMap<String, Told>,
    count: u64,
}

impl Strangers {
    /// How many were refused.
    pub(super) const fn count(&self) -> u64 {
        self.count
    }

    /// One more, who comes `from` host and port; what to log, if it is time.
    pub(super) fn refuse(&mut self, now: Instant, from: &str, why: &str) -> Option<String> {
        self.count += 1;
        let host = from.rsplit_once(':').map_or(from, |(host, _)| host);
        if let Some(told) = self.hosts.get_mut(host)
            && now.since(told.at) < LINE_INTERVAL
        {
            told.since += 1;
            return None;
        }
        self.hosts.retain(|known, told| known == host || now.since(told.at) < LINE_INTERVAL);
        if self.hosts.len() >= HOSTS_MAX && !self.hosts.contains_key(host) {
            return None;
        }
        let before = self.hosts.insert(host.to_owned(), Told { at: now, since: 0 });
        let more = match before.map_or(0, |told| told.since) {
            0 => String::new(),
            more => format!(" (and {more} times more since the last such line)"),
        };
        Some(format!("management port: connection from {from} closed: {why}{more}"))
    }
}

/// The text of a line, safe for a log.
pub(super) fn quoted(line: &[u8]) -> String {
    let part = &line[..line.len().min(TOLD_MAX)];
    let more = if part.len() < line.len() { "…" } else { "" };
    format!("{:?}{more}", String::from_utf8_lossy(part))
}

#[cfg(test)]
mod tests {
    use super::{Duration, HOSTS_MAX, Instant, Strangers};

    #[test]
    fn a_host_gets_a_line_a_minute() {
        let mut strangers = Strangers::default();
        let begin = Instant(0);
        let line = strangers.refuse(begin, "10.0.0.7:4711", "why").unwrap();
        assert_eq!(line, "management port: connection from 10.0.0.7:4711 closed: why");
        assert_eq!(strangers.refuse(begin, "10.0.0.7:4712", "why"), None);
        assert_eq!(strangers.refuse(begin + Duration::from_secs(59), "10.0.0.7:4713", "why"), None);
        assert!(strangers.refuse(begin, "10.0.0.8:1", "why").is_some());
        let line = strangers.refuse(begin + Duration::from_secs(60), "10.0.0.7:9", "why").unwrap();
        assert!(line.ends_with("(and 2 times more since the last such line)"), "{line}");
        assert_eq!(strangers.count(), 5);
    }

    #[test]
    fn hosts_without_number_take_no_memory() {
        let mut strangers = Strangers::default();
        let lines = (0..HOSTS_MAX + 50)
            .filter_map(|host| strangers.refuse(Instant(0), &format!("host{host}:1"), "why"))
            .count();
        assert_eq!((lines, strangers.hosts.len()), (HOSTS_MAX, HOSTS_MAX));
        assert!(strangers.refuse(Instant(0) + Duration::from_secs(61), "late:1", "why").is_some());
        assert_eq!(strangers.hosts.len(), 1);
    }
}
