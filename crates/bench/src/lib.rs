//! bench: being built.
