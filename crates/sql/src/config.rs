//! The configuration of a `sql` module.

use crate::variables::Globals;
use executor::ScratchTerms;
use planner::TextLimits;
use protocol::placement::ReadPlacement;
use std::sync::Arc;
use stdx::{Duration, Instant};
use types::NodeId;

/// Modules of a node at most: the low part of connection ids.
pub const INSTANCES_MAX: u32 = 256;

/// The module is told this at its start.
#[derive(Clone, Debug)]
pub struct SqlConfig {
    /// This node.
    pub node: NodeId,
    /// Which `sql` module of the node, counted from 0.
    pub instance: u8,
    /// Connections of this module that may be logged in, and one more for an administrator: those above get 1040.
    pub max_connections: u32,
    /// Connections over TCP of this module that may be about to log in: with one more the oldest is closed, if it has
    /// had a second.
    pub handshakes_max: usize,
    /// How long a client may take to log in.
    pub handshake_timeout_ms: u64,
    /// The driver can answer a TLS handshake.
    pub has_tls: bool,
    /// Which threads of the node read for its statements.
    pub read_placement: ReadPlacement,
    /// TransactionDeadlockDetectionTimeout: no wait for a lock is longer, whatever innodb_lock_wait_timeout says.
    pub lock_wait_timeout_max: Option<Duration>,
    /// TransactionInactiveTimeout: an open transaction without a statement for so long is rolled back.
    pub transaction_inactive_timeout: Option<Duration>,
    /// How long what became of a commit is kept for a session that has not confirmed that it knows.
    pub marker_time: Duration,
    /// Bytes of plans kept for statements that come again.
    pub statement_cache_size: usize,
    /// Limits on statements' texts.
    pub text_limits: TextLimits,
    /// System variables that the node's configuration says.
    pub globals: Arc<Globals>,
    /// How many `sql` modules the node has, this one included.
    pub siblings: u8,
    /// Scratch for statements that have too little memory; None: there is none.
    pub scratch: Option<ScratchTerms>,
    /// Tells the time for what is shown only: EXPLAIN ANALYZE.
    pub stopwatch: Option<fn() -> Instant>,
}

impl SqlConfig {
    /// The defaults.
    #[must_use]
    pub fn new(node: NodeId, instance: u8) -> Self {
        Self {
            node,
            instance,
            max_connections: 1000,
            handshakes_max: 128,
            handshake_timeout_ms: 10_000,
            has_tls: false,
            read_placement: ReadPlacement::default(),
            lock_wait_timeout_max: None,
            transaction_inactive_timeout: None,
            marker_time: Duration::from_secs(600),
            statement_cache_size: 16 << 20,
            text_limits: TextLimits::default(),
            globals: Arc::default(),
            siblings: 1,
            scratch: None,
            stopwatch: None,
        }
    }
}
