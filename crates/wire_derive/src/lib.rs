//! wire_derive: being built.
