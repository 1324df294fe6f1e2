//! Which `sql` module gets a new client: the one on the thread with the least load.
//!
//! A thread's load is the share of time that it has worked lately (`load`), in percent, rounded down to
//! [`NOISE_POINTS`]: threads that differ by less are alike. Loads are looked at once per [`SAMPLE`]. A client that
//! was given since then counts [`CLIENT_POINTS`], because a pool connects all at once and works later. Among threads
//! with the same load the one with the fewest clients gets it.
//!
//! Invariant: a module above its share of `max_connections` gets no client while another one is below.
//!
//! Deliberately not here: moving a client that is connected already.

use protocol::placement::SAMPLE;
use stdx::Instant;

#[cfg(test)]
mod tests;

/// Points of a client that the sample has not seen.
const CLIENT_POINTS: u32 = 5;
/// Loads that differ by less are taken for the same.
const NOISE_POINTS: u32 = 10;

/// Knowledge of the modules that clients are spread over.
#[derive(Default)]
pub(crate) struct Placement {
    sampled: Option<Instant>,
    /// By module: its thread's load in the sample, and the clients it was given since.
    points: Vec<(u32, u32)>,
}

/// One module, as it is now.
#[derive(Clone, Copy)]
pub(crate) struct Candidate {
    /// Of its thread, in percent.
    pub(crate) load: u32,
    /// How many clients it has.
    pub(crate) clients: u32,
}

impl Placement {
    /// The module for a client that comes now; `share` is how many clients each should have at most. 0 if there are no
    /// modules.
    pub(crate) fn choose(
        &mut self,
        now: Instant,
        share: u32,
        candidates: impl ExactSizeIterator<Item = Candidate>,
    ) -> usize {
        let is_old = self.sampled.is_none_or(|sampled| now.since(sampled) >= SAMPLE);
        if is_old {
            self.sampled = Some(now);
            self.points.clear();
        }
        self.points.resize(candidates.len(), (0, 0));
        let mut best: Option<(bool, u32, u32, usize)> = None;
        for (index, (candidate, points)) in candidates.zip(&mut self.points).enumerate() {
            if is_old {
                points.0 = candidate.load / NOISE_POINTS * NOISE_POINTS;
            }
            let load = points.0 + CLIENT_POINTS * points.1;
            let this = (candidate.clients >= share, load, candidate.clients, index);
            if best.is_none_or(|best| this < best) {
                best = Some(this);
            }
        }
        let chosen = best.map_or(0, |(.., index)| index);
        if let Some(points) = self.points.get_mut(chosen) {
            points.1 += 1;
        }
        chosen
    }
}
