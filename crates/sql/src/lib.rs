//! sql: being built.
