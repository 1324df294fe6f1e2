//! storage: being built.
