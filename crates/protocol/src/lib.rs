//! Every signal and its bytes, the view of the cluster, the limits, and the `Module` trait that the two drivers
//! (`runtime` and the simulator) drive.
//!
//! A *block* owns data and is a state machine; a *module* is a group of blocks that run together and may call each
//! other; modules talk only by *signals*. `handle` runs to completion and reads no clock, file, socket or random
//! source.
//!
//! Deliberately not here: what any block does.

pub mod address;
pub mod claim;
pub mod control;
pub mod disk;
pub mod epoch;
pub mod error;
pub mod heartbeat;
pub mod known;
pub mod layout;
pub mod lease;
pub mod module;
pub mod placement;
pub mod program;
pub mod redo_room;
pub mod restart;
pub mod scratch_room;
pub mod signal;
pub mod transport;
pub mod view;

pub use address::{Address, ModuleKind};
pub use claim::{Claim, ClaimPoint, RestartPoint};
pub use disk::{DiskAnswer, DiskError, DiskLane, DiskOperation, DiskRequest, FileName};
pub use error::SqlError;
pub use known::KnownOutcomes;
pub use module::{
    Budget, CertificateReport, CloseReason, ConnectionAction, ConnectionId, ConnectionKind, Event, Input,
    LinkSecurity, Module, Outputs, OwnedInput, PasswordKeyAnswer, PeerReport, ReceiveBuffer,
    RequestToRuntime, RuntimeReport, Severity, ThreadReport,
};
pub use signal::{Envelope, Signal};
pub use view::{GroupView, NodeInfo, NodeRole, SlotPlace, SlotSizes, View};
