//! Against those who try passwords: the more often a pair of host and account name was refused, the longer its next try
//! waits.
//!
//! The first [`FREE_TRIES`] refusals cost nothing. From then on each try of the pair is checked some time after the one
//! before; the time doubles up to [`DELAY_MAX`]. Other hosts, and other names from the same host, do not wait. A try
//! that would have to wait longer than a client does is refused unseen.
//!
//! Refusals are logged: a line for each host, at most one a minute, which says how many there were.
//!
//! Invariants: both tables are bounded; a pair is forgotten when it was let in, or after [`QUIET`].

use std::collections::BTreeMap;
use stdx::{Duration, Instant};

/// Refusals without consequences.
const FREE_TRIES: u32 = 3;
const DELAY_MIN: Duration = Duration::from_millis(250);
const DELAY_MAX: Duration = Duration::from_secs(8);
/// A pair that has been quiet for so long is forgotten.
const QUIET: Duration = Duration::from_secs(600);
/// Pairs that are remembered. Above it those that were refused longest ago are forgotten.
const PAIRS_MAX: usize = 4_096;
/// Hosts whose refusals are counted for the log.
const HOSTS_MAX: usize = 1_024;
/// A line per host in this time.
const LOG_INTERVAL: Duration = Duration::from_secs(60);
/// Characters of a name that are remembered and logged: no account's name is longer.
const NAME_MAX: usize = 32;

struct Pair {
    refusals: u32,
    /// Its next try is not checked before.
    next: Instant,
    last: Instant,
}

struct Host {
    logged: Instant,
    /// Since then.
    refusals: u64,
}

/// When a try is checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Admission {
    /// At once.
    Now,
    /// Not before.
    At(Instant),
    /// Never: the client would not wait so long.
    Refused,
}

/// The clients that were refused.
#[derive(Default)]
pub(crate) struct Guessing {
    pairs: BTreeMap<(String, String), Pair>,
    hosts: BTreeMap<String, Host>,
}

fn key(host: &str, user: &str) -> (String, String) {
    (host.to_owned(), user.chars().take(NAME_MAX).collect())
}

impl Guessing {
    /// When the next try of a pair may be checked; that time is taken, the try after it comes later. `patience` is how
    /// long a client waits.
    pub(crate) fn admit(&mut self, host: &str, user: &str, patience: Duration, now: Instant) -> Admission {
        let key = key(host, user);
        let Some(pair) = self.pairs.get_mut(&key) else { return Admission::Now };
        if now.since(pair.last) >= QUIET {
            self.pairs.remove(&key);
            return Admission::Now;
        }
        if pair.refusals < FREE_TRIES {
            return Admission::Now;
        }
        let at = pair.next.max(now);
        if at.since(now) > patience {
            return Admission::Refused;
        }
        let doublings = (pair.refusals - FREE_TRIES).min(5);
        pair.next = at + (DELAY_MIN * (1 << doublings)).min(DELAY_MAX);
        if at == now { Admission::Now } else { Admission::At(at) }
    }

    /// A try was refused, here or in another module of the node.
    pub(super) fn refused(&mut self, host: &str, user: &str, is_logged: bool, now: Instant) {
        let key = key(host, user);
        if self.pairs.len() >= PAIRS_MAX && !self.pairs.contains_key(&key) {
            let oldest = self.pairs.iter().min_by_key(|(_, pair)| pair.last).map(|(key, _)| key.clone());
            oldest.map(|key| self.pairs.remove(&key));
        }
        let pair = self.pairs.entry(key).or_insert(Pair { refusals: 0, next: now, last: now });
        pair.refusals = pair.refusals.saturating_add(1);
        pair.last = now;
        if self.hosts.len() >= HOSTS_MAX && !self.hosts.contains_key(host) {
            let oldest = self.hosts.iter().min_by_key(|(_, host)| host.logged).map(|(host, _)| host.clone());
            oldest.map(|host| self.hosts.remove(&host));
        }
        let host = self.hosts.entry(host.to_owned()).or_insert(Host { logged: now, refusals: 0 });
        if is_logged {
            *host = Host { logged: now, refusals: 0 };
        } else {
            host.refusals += 1;
        }
    }

    /// True if the pair was refused before.
    pub(crate) fn remembers(&self, host: &str, user: &str) -> bool {
        !self.pairs.is_empty() && self.pairs.contains_key(&key(host, user))
    }

    /// A pair was let in.
    pub(super) fn welcomed(&mut self, host: &str, user: &str) {
        self.pairs.remove(&key(host, user));
    }

    /// The line for the log about a refusal that happens now; None if there was one for the host a moment ago.
    pub(crate) fn log_line(&self, host: &str, user: &str, now: Instant) -> Option<String> {
        let user: String = user.chars().take(NAME_MAX).flat_map(char::escape_debug).collect();
        match self.hosts.get(host) {
            Some(known) if now.since(known.logged) < LOG_INTERVAL => None,
            Some(known) if known.refusals > 0 => {
                let count = known.refusals + 1;
                Some(format!(
                    "{count} logins from {host} were refused since the last line about it, now as '{user}'"
                ))
            }
            _ => Some(format!("a login from {host} as '{user}' was refused")),
        }
    }
}
