//! Which fragment is checkpointed next, and how fast: as slowly as the log allows.
//!
//! The log is needed from the least position of all checkpoints on, so the fragment that holds most of it is always
//! next. A fragment that did not change since its checkpoint only gets a new position.
//!
//! A fragment that holds h bytes of a log that fills at r bytes a second has until (target - h) / r. Then the log would
//! be filled beyond [`TARGET_PERCENT`] of its space. All fragments before it must be written by then, too. The speed is
//! the least that meets each of these deadlines. So the log does not get fuller than the target.
//!
//! Checkpoints write at most twice as much as the log times rows / target. The factor is there because a new checkpoint
//! holds what was logged while it was written. They write nothing while nobody changes anything.
//!
//! Invariants: the decisions depend on the arguments only. The speed is never above the configured one.
//!
//! Deliberately not here: the scan of a fragment, and its files (`piece`, `manifest`).

use types::{SlotId, TableId};

/// The part of the log's space that checkpoints try not to exceed.
pub const TARGET_PERCENT: u64 = 75;
/// A thread that scans rests so many times as long as it has scanned, while there is time.
const REST_FACTOR_MAX: u64 = 9;

/// A fragment as far as its checkpoint goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FragmentState {
    /// The slot.
    pub slot: SlotId,
    /// The table.
    pub table: TableId,
    /// Bytes of the log from the position of its checkpoint on (`Writer::held_from`).
    pub held: u64,
    /// Bytes of its rows.
    pub bytes: u64,
    /// Whether anything was published in it since.
    pub is_changed: bool,
}

/// The next thing to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// Nothing holds the log.
    Nothing,
    /// The fragment gets a new position.
    Advance(SlotId, TableId),
    /// The fragment is written.
    Write(SlotId, TableId),
}

/// The limits of checkpoints.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Bytes of all files of the log.
    pub space: u64,
    /// Bytes a second that the log grew by lately.
    pub rate: u64,
    /// Bytes a second that checkpoints may write.
    pub speed_max: u64,
}

impl Limits {
    fn target(&self) -> u64 {
        self.space / 100 * TARGET_PERCENT
    }

    /// Bytes a second at which checkpoints are written: 0 if there is nothing to do.
    #[must_use]
    pub fn speed(&self, fragments: &[FragmentState]) -> u64 {
        let mut changed: Vec<(u64, u64)> = fragments
            .iter()
            .filter(|fragment| fragment.is_changed && fragment.held > 0)
            .map(|fragment| (fragment.held, fragment.bytes))
            .collect();
        changed.sort_unstable_by(|left, right| right.cmp(left));
        let (mut speed, mut bytes_before) = (0, 0);
        for (held, bytes) in changed {
            bytes_before += u128::from(bytes);
            let room = self.target().saturating_sub(held);
            if room == 0 {
                return self.speed_max;
            }
            speed = speed.max((bytes_before * u128::from(self.rate)).div_ceil(u128::from(room)));
        }
        u64::try_from(speed).unwrap_or(u64::MAX).min(self.speed_max)
    }

    /// How many times as long as a slice of scanning the thread then rests: less as the log fills.
    #[must_use]
    pub fn rest_factor(&self, held: u64) -> u64 {
        let target = self.target().max(1);
        let left = u128::from(target.saturating_sub(held));
        u64::try_from(u128::from(REST_FACTOR_MAX) * left / u128::from(target)).unwrap_or(0)
    }
}

/// The fragment that holds most of the log.
#[must_use]
pub fn next(fragments: &[FragmentState]) -> Next {
    let holding = fragments.iter().filter(|fragment| fragment.held > 0);
    match holding.max_by_key(|fragment| (fragment.held, std::cmp::Reverse((fragment.slot, fragment.table)))) {
        None => Next::Nothing,
        Some(fragment) if fragment.is_changed => Next::Write(fragment.slot, fragment.table),
        Some(fragment) => Next::Advance(fragment.slot, fragment.table),
    }
}

#[cfg(test)]
mod tests;
