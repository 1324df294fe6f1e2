//! sql: being built.

pub mod front;
pub mod plan;
