//! simulator: being built.
