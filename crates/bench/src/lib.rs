//! bench: what measures the database, and what it is measured against.
//!
//! A shell: it has threads, sockets and the clock. Nothing of the product depends on it.

pub mod floor;
