//! What clients do, and the histories they keep for the checkers.
//!
//! - `registers`: single-row statements on a few keys through all SQL ports, for linearizability.
//! - `lists`: transactions that append to and read lists, for isolation (list-append).
//! - `bank`: transfers between accounts, for atomicity: the sum never changes.
//! - `schema`: indexes and tables made and dropped while rows change, for DDL.

pub mod bank;
pub mod lists;
pub mod registers;
pub mod schema;
pub mod setup;

/// Errors after which a statement or transaction was certainly not done, and may be tried again: lock wait timeout, deadlock (also: a
/// replica is lost), a row that cannot be decided or reached, schema changed.
#[must_use]
pub fn is_certain_failure(code: u16) -> bool {
    matches!(code, 1205 | 1213 | 1297 | 1412)
}
