//! transaction: being built.
