//! Blocks composed into modules, modules into nodes.
//!
//! `build` makes all modules of a node from its role and layout. `NodeModule` is the wrapper that both drivers
//! (`runtime` and the simulator) see. It does the same for every module: fencing by view (I2), adoption of epochs,
//! setting the view and epoch of outgoing signals, and taking new maps.

#[cfg(all(test, feature = "mutants"))]
mod bugs;
pub mod build;
pub mod config;
pub mod disk_module;
pub mod main_module;
pub mod management;
pub mod module;
pub mod mutants;
pub mod patience;

pub use build::{Driver, FullStopSettings, NodeSettings, ScratchSettings, SessionSettings, build};
pub use disk_module::RedoSettings;
pub use module::NodeModule;
pub use sql::{Globals, too_many_connections};
pub use transaction::{MARKER_TIME, Sizes};
