//! Nanoseconds of steps, as orders of magnitude.

/// A source begins to give rows, or a batch of keys is asked for.
pub(crate) const BEGIN: f64 = 2_000.0;
/// A row in the order of the primary key.
pub(crate) const READ: f64 = 120.0;
/// A row by an entry of another index.
pub(crate) const FETCH: f64 = 350.0;
/// A row by a whole key.
pub(crate) const KEY: f64 = 900.0;
/// The first entry of a range.
pub(crate) const SEEK: f64 = 1_800.0;
/// A row that is kept.
pub(crate) const KEEP: f64 = 150.0;
/// A row that does not fit into memory with the others.
pub(crate) const CROWD: f64 = 2_000.0;
/// A hash that is looked for.
pub(crate) const PROBE: f64 = 100.0;
/// A pair that is tested.
pub(crate) const PAIR: f64 = 60.0;
/// A value that a group takes.
pub(crate) const GROUP: f64 = 120.0;
/// A query begins.
pub(crate) const QUERY: f64 = 5_000.0;
