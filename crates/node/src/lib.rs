//! node: being built.
