//! The work of clients, and the histories they keep for the checkers.
//!
//! - `registers`: single-row statements on a few keys through all SQL ports, for linearizability.
//! - `lists`: transactions that append to and read lists, for isolation (list-append).
//! - `bank`: transfers between accounts, for atomicity: the sum never changes.
//! - `uniques`: rows with a unique secondary key, made, changed and replaced by several clients at once.
//! - `numbers`: rows with AUTO_INCREMENT values, for the ranges that nodes reserve.
//! - `flips`: a table that changes its name while it is read, an account whose privilege comes and goes while it runs
//!   statements.
//! - `disturbance`: clients that kill others' statements and connections, or hold locks for long.
//! - `joins`: joins, and changes of several tables, of heads and their parts: each total is the sum of its parts.
//! - `locks`: clients that keep each other out, by SKIP LOCKED, LOCK TABLES and GET_LOCK.
//! - `holders`: transactions that stay open for long while the schema changes.
//! - `promises`: rows and tables whose commits are to survive a stop of all nodes, or may be lost for a while.
//! - `sorts`: sorts, groups and joins of more rows than a statement has memory for.
//! - `schema`: indexes and tables made and dropped while rows change, for DDL.

pub mod bank;
pub mod disturbance;
pub mod flips;
pub mod holders;
pub mod joins;
pub mod lists;
pub mod locks;
pub mod numbers;
pub mod promises;
pub mod registers;
pub mod schema;
pub mod setup;
pub mod sorts;
pub mod uniques;

/// Errors after which a statement or transaction was certainly not done, and may be tried again. The node stops, a lock
/// wait times out, a deadlock or a lost replica, a row that cannot be decided or reached, a changed schema, KILL, full
/// memory.
#[must_use]
pub fn is_certain_failure(code: u16) -> bool {
    matches!(code, 1053 | 1114 | 1205 | 1213 | 1297 | 1317 | 1412)
}
