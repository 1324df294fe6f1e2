//! being built.
