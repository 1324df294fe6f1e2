//! How long others are waited for, where limits of several parts must stand in an order (`membership`, `laggards.rs`,
//! says why).
//!
//! Invariant: whoever owes answers is judged by those who wait for them before links close for it, which looks the same
//! at both ends.

use membership::detector::DetectorConfig;
use stdx::Duration;

/// A link that takes nothing is closed so long after the other end may have been judged for late answers.
const LINK_AFTER_ANSWERS: Duration = Duration::from_secs(5);
/// But not sooner than this: with the default of TimeBetweenWatchDogCheck a thread that hangs has ended its node by
/// then.
const LINK_SILENCE_MIN: Duration = Duration::from_secs(8);

/// For how long a replica may owe an answer, by ReplicaAnswerTimeout and HeartbeatIntervalDbDb; zero: for ever. If a
/// node leaves whose end is not proved, members enter the view when the last lease that they have granted it is over.
/// These moments are up to a heartbeat's interval apart.
#[must_use]
pub fn answer_limit(answer_timeout: Duration, heartbeat_interval: Duration) -> Duration {
    match answer_timeout {
        Duration::ZERO => Duration::ZERO,
        timeout => timeout.max(DetectorConfig::for_interval(heartbeat_interval).silence_max()),
    }
}

/// After how long a link whose other end takes nothing is closed, by the same parameters.
#[must_use]
pub fn link_silence(answer_timeout: Duration, heartbeat_interval: Duration) -> Duration {
    LINK_SILENCE_MIN.max(answer_limit(answer_timeout, heartbeat_interval) + LINK_AFTER_ANSWERS)
}

#[cfg(test)]
mod tests;
