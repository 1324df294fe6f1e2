//! catalogue: being built.
