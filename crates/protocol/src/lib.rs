//! protocol: being built.
