//! runtime: being built.
