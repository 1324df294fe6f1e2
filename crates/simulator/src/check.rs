//! Checks after a run.
//!
//! - `linearizable`: registers, one key at a time.
//! - `isolation`: list-append histories, by our own cycle search and by the crate `adya`.

pub mod cluster;
pub mod isolation;
pub mod linearizable;
