//! Rings between threads: being built with the runtime.
