//! Transactions on replicas: the local data manager (participant: locks, staged writes, replication), the coordinator
//! of two-phase commits, and epochs.
//!
//! The protocol is the one of ARCHITECTURE.md ("Life of a write"). Writes lock and stage at the primaries while
//! statements run, and a session's COMMIT carries no rows. Each primary sends what it has staged to its backups, which
//! apply it as *prepared*. "Committed" is said only when every replica of every written slot holds the writes (I1).
//!
//! Deliberately not here: SQL, who the members are (`membership`), and where threads run.

pub mod epochs;
pub mod ldm;
pub mod locks;
pub mod mutants;
pub mod tc;

/// How long what became of a commit is kept for a session that has not confirmed that it knows.
pub const MARKER_TIME: stdx::Duration = stdx::Duration::from_secs(600);

pub use epochs::{EpochMember, EpochSignals};
pub use ldm::{Ldm, Sizes};
pub use tc::Tc;
