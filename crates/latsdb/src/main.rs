//! The one binary: every subcommand, options, logging, metrics, angel.
fn main() {}
