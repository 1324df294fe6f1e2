//! memory: being built.
