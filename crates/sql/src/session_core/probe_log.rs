//! The deadlock probes that a session has passed on a moment ago.
//!
//! A probe reaches a transaction on every path that leads to it; one of them is enough. So each is passed on once per
//! [`PASS_INTERVAL`], which is less than the pause between two rounds of probes of one wait. However many there are, no
//! more than [`KNOWN_MAX`] are passed on in that time: the others come again.

use stdx::{Duration, Instant};
use types::TransactionId;

/// How long a probe is remembered.
const PASS_INTERVAL: Duration = Duration::from_millis(5);
/// Different probes passed on in that time.
const KNOWN_MAX: usize = 256;

/// The log.
#[derive(Debug, Default)]
pub(crate) struct ProbeLog {
    /// The transaction that asked, by which of its waits, and when that was passed on; in order of time.
    passed: Vec<(TransactionId, u64, Instant)>,
}

impl ProbeLog {
    /// Whether a probe of this wait of `initiator` is to be passed on; it is then noted.
    pub(crate) fn pass(&mut self, initiator: TransactionId, wait: u64, now: Instant) -> bool {
        self.passed.retain(|(_, _, at)| now.since(*at) < PASS_INTERVAL);
        let is_known = self.passed.iter().any(|(known, of, _)| (*known, *of) == (initiator, wait));
        if is_known || self.passed.len() >= KNOWN_MAX {
            return false;
        }
        self.passed.push((initiator, wait, now));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::{KNOWN_MAX, PASS_INTERVAL, ProbeLog};
    use stdx::Instant;
    use types::TransactionId;

    #[test]
    fn a_probe_is_passed_on_once_per_interval() {
        let (mut log, now) = (ProbeLog::default(), Instant::default());
        assert!(log.pass(TransactionId(1), 1, now));
        assert!(!log.pass(TransactionId(1), 1, now));
        assert!(log.pass(TransactionId(1), 2, now));
        assert!(log.pass(TransactionId(1), 1, now + PASS_INTERVAL));
        let passed = (0..1000).filter(|wait| log.pass(TransactionId(9), *wait, now + PASS_INTERVAL)).count();
        assert_eq!(passed, KNOWN_MAX - 1);
    }
}
