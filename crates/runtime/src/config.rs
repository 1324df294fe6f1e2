//! The configuration of a runtime, its limits by name, and why it may refuse to start.
//!
//! Plain data: the binary, which reads `config.ini`, fills it in. Every limit of the runtime is a field of [`Limits`]
//! or a named constant next to the code that keeps it.

use memory::MemoryManager;
use protocol::{Event, NodeRole, layout::Layout};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use stdx::Duration;
use types::NodeId;

/// Where events go: the binary decides what a log line looks like.
pub type LogSink = Arc<dyn Fn(&Event) + Send + Sync>;

/// Everything a runtime needs to know.
#[derive(Clone)]
pub struct RuntimeConfig {
    /// This node.
    pub node: NodeId,
    /// Name and identity of the cluster: links to other clusters are refused.
    pub cluster: String,
    /// A number of this process start, told apart from others of the same node.
    pub start: u64,
    /// Which modules run on which threads.
    pub layout: Layout,
    /// How threads wait for work.
    pub spin: SpinMethod,
    /// Where peers connect (`ServerPort`); port 0 takes a free one.
    pub cluster_tcp: Option<SocketAddr>,
    /// Where peers on the same machine connect.
    pub cluster_unix: Option<PathBuf>,
    /// The other nodes of the cluster.
    pub peers: Vec<PeerConfig>,
    /// Where clients connect.
    pub listeners: Listeners,
    /// Certificate for clients that ask for TLS; without one, `StartTls` closes the connection.
    pub tls: Option<crate::TlsIdentity>,
    /// Keys for links over TCP, and for the management port.
    pub keys: Option<crate::keys::NodeKeys>,
    /// Whether operators' tools on other machines must speak TLS with the management port.
    pub management_requires_tls: bool,
    /// The address of this node's HostName, which links are made from where the system permits it: peers compare it.
    pub source: Option<IpAddr>,
    /// Limits by name.
    pub limits: Limits,
    /// Where buffers of clients are charged; nobody else's memory needs a budget here.
    pub memory: Option<Arc<MemoryManager>>,
    /// Where events go.
    pub log: LogSink,
}

/// A node to keep links to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PeerConfig {
    /// The node.
    pub node: NodeId,
    /// Host name or address.
    pub host: String,
    /// Its `ServerPort`.
    pub port: u16,
    /// Its Unix socket: preferred when it can be connected, that is, when it is on this machine.
    pub unix: Option<PathBuf>,
    /// Its role: its certificate has to say the same.
    pub role: NodeRole,
    /// Links over TCP have to speak TLS (`RequireTls` at either end).
    pub requires_tls: bool,
}

/// Where clients connect. Addresses are bound at start, connections are accepted once a module asks `OpenListeners`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Listeners {
    /// MySQL protocol over TCP.
    pub mysql_tcp: Option<SocketAddr>,
    /// MySQL protocol over a Unix socket.
    pub mysql_unix: Option<PathBuf>,
    /// File of the private key with which passwords are decrypted that come without TLS; None: they cannot come.
    pub password_key: Option<PathBuf>,
    /// Management protocol over TCP.
    pub management_tcp: Option<SocketAddr>,
}

/// `SpinMethod`: what a thread does between running out of work and sleeping.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SpinMethod {
    /// Sleeps at once: right when threads outnumber CPUs.
    NoSpinning,
    /// Always spins for as long as `spintime` says (50 µs if it does not).
    StaticSpinning,
    /// Spins while the waits seen lately promise that it pays.
    #[default]
    CostBasedSpinning,
    /// As cost-based, valuing latency higher than CPU time.
    LatencyOptimisedSpinning,
    /// As cost-based, for a machine that does nothing else.
    DatabaseMachineSpinning,
}

/// The values that `SpinMethod` may have in a configuration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownSpinMethod(String);

impl fmt::Display for UnknownSpinMethod {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "SpinMethod '{}' is none of NoSpinning, StaticSpinning, CostBasedSpinning, LatencyOptimisedSpinning, \
             DatabaseMachineSpinning",
            self.0
        )
    }
}

impl std::error::Error for UnknownSpinMethod {}

impl std::str::FromStr for SpinMethod {
    type Err = UnknownSpinMethod;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.to_ascii_lowercase().as_str() {
            "nospinning" => Ok(Self::NoSpinning),
            "staticspinning" => Ok(Self::StaticSpinning),
            "costbasedspinning" => Ok(Self::CostBasedSpinning),
            "latencyoptimisedspinning" => Ok(Self::LatencyOptimisedSpinning),
            "databasemachinespinning" => Ok(Self::DatabaseMachineSpinning),
            _ => Err(UnknownSpinMethod(text.to_owned())),
        }
    }
}

/// Connections by the Unix socket above `connections_max`: strangers on the network do not lock out the machine's
/// administrator.
pub const UNIX_SPARE: u32 = 16;

/// Limits of the runtime, by name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Client connections of the node; more are told `refusal` and closed as they come. [`UNIX_SPARE`] more come in by
    /// the Unix socket.
    pub connections_max: u32,
    /// Client connections that a module should have at most; more go to others as long as these have fewer.
    pub connections_per_module: u32,
    /// The bytes that a client above `connections_max` is told.
    pub refusal: Vec<u8>,
    /// Unconsumed bytes of one connection; more close it.
    pub receive_buffer_max: usize,
    /// Unsent bytes of one connection; more close it.
    pub send_buffer_max: usize,
    /// Shared memory in each direction of all links to a peer on the same machine; 0 keeps them on their sockets.
    pub link_memory: usize,
    /// Unsent bytes of one link above which this thread stops reading its clients.
    pub link_buffer_high: usize,
    /// Unsent bytes of one link above which it is closed, which fails the peer, if the peer takes nothing for
    /// `link_silence_timeout`.
    pub link_buffer_max: usize,
    /// Slots of each ring between two threads.
    pub ring_capacity: usize,
    /// Parcels that may wait behind full rings of one thread: more mean that it makes them without end, which is a bug.
    /// With a quarter of them the thread reads no links, so that peers cannot bring it there.
    pub ring_spill_max: usize,
    /// Links between two nodes; with more pairs of threads, several share a link.
    pub links_per_peer_max: usize,
    /// Time for a link to be opened, hello included.
    pub link_open_timeout: Duration,
    /// A TCP link is closed if its peer acknowledges nothing for this long. Then it can be opened anew as soon as the
    /// network is back, without waiting for ever longer retransmissions. It is also closed if its peer *reads* nothing
    /// for this long, so that its window is closed: a thread hangs there. Both ends see the same then, so it must have
    /// been found out before which of them hangs (`membership`, `laggards.rs`).
    pub link_silence_timeout: Duration,
    /// First pause before a lost peer is tried again; doubles up to `reconnect_pause_max`.
    pub reconnect_pause_min: Duration,
    /// Longest pause between tries.
    pub reconnect_pause_max: Duration,
    /// `SchedulerExecutionTimer`: how long one slice of long work should take.
    pub slice: Duration,
    /// Time for a closed connection's last bytes to be taken by the client.
    pub close_linger: Duration,
    /// A process that peers refuse for so long, because they are connected with another one of its node, ends. Longer
    /// than `link_silence_timeout`, within which they notice that an earlier one is gone.
    pub refused_patience: Duration,
    /// `ReadPlacement`: threads with less to do are asked for parts of long reads.
    pub shares_reads: bool,
    /// A thread that stays in one round for so long hangs, and the process ends; zero: never.
    pub stuck_after: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections_max: 100_000,
            connections_per_module: u32::MAX,
            refusal: Vec::new(),
            receive_buffer_max: 128 * 1024 * 1024,
            send_buffer_max: 256 * 1024 * 1024,
            link_memory: 4 * 1024 * 1024,
            link_buffer_high: 8 * 1024 * 1024,
            link_buffer_max: 512 * 1024 * 1024,
            ring_capacity: 1024,
            ring_spill_max: 1_000_000,
            links_per_peer_max: 256,
            link_open_timeout: Duration::from_secs(5),
            link_silence_timeout: Duration::from_secs(8),
            reconnect_pause_min: Duration::from_millis(5),
            reconnect_pause_max: Duration::from_millis(500),
            slice: Duration::from_micros(50),
            close_linger: Duration::from_secs(10),
            refused_patience: Duration::from_secs(12),
            shares_reads: true,
            stuck_after: Duration::from_secs(6),
        }
    }
}

/// Why a runtime does not start: one line for the operator.
#[derive(Debug)]
pub enum StartError {
    /// An address cannot be listened on.
    Listen {
        /// `MySQL port`, `cluster port` …
        what: &'static str,
        /// The address.
        address: String,
        /// Why.
        error: std::io::Error,
    },
    /// The system refused something else.
    System {
        /// The attempted action.
        what: &'static str,
        /// Why.
        error: std::io::Error,
    },
}

impl fmt::Display for StartError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listen { what, address, error } if error.kind() == std::io::ErrorKind::AddrInUse => {
                write!(formatter, "{what} {address} is in use by another process")
            }
            Self::Listen { what, address, error } => {
                write!(formatter, "cannot listen on {what} {address}: {error}")
            }
            Self::System { what, error } => write!(formatter, "cannot {what}: {error}"),
        }
    }
}

impl std::error::Error for StartError {}
