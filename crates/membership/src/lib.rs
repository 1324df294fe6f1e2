//! membership: being built.
