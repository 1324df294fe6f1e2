//! expression: being built.
