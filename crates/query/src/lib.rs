//! query: being built.
