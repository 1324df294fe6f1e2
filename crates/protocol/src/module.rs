//! `Module`, which a driver drives, its inputs and its outputs.
//!
//! Invariants of every implementation: `handle` runs to completion, never blocks, and its effects depend only on the
//! module's state and its arguments. Nothing borrowed from storage outlives a call. A driver calls `handle(Deadline)`
//! no earlier than `deadline()` and, unless it is late, soon after; spurious `Deadline` inputs are harmless.

use crate::disk::{DiskAnswer, DiskError, DiskRequest};
use crate::{Address, Envelope, Signal};
use std::sync::Arc;
use stdx::{Duration, FixedMap, Instant, Now};
use types::NodeId;

/// A group of blocks that one thread runs.
pub trait Module {
    /// Values that the runtime moves between threads of a node without knowing them (`node::Shared`: readers, the node
    /// map).
    type Shared: Send;

    /// Takes one input, changes state, says what should happen.
    fn handle(
        &mut self,
        now: Now,
        input: Input<'_, Self::Shared>,
        budget: &mut Budget,
        outputs: &mut Outputs<Self::Shared>,
    );

    /// When `Input::Deadline` must come at the latest.
    fn deadline(&self) -> Option<Instant>;
}

/// A client connection of this thread. Slots are reused, generations are not.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ConnectionId {
    /// Index into the thread's connections.
    pub slot: u32,
    /// Distinguishes users of one slot.
    pub generation: u32,
}

/// Which listener accepted a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConnectionKind {
    /// MySQL protocol over TCP; true if the peer is a loopback address.
    MySqlTcp {
        /// The peer's address is a loopback address.
        loopback: bool,
    },
    /// MySQL protocol over a Unix socket.
    MySqlUnix {
        /// The client's process runs as the user that this process runs as.
        is_owner: bool,
    },
    /// Management protocol.
    Management,
}

/// Why a connection ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CloseReason {
    /// The peer closed it, or the network failed.
    Peer,
    /// The module asked for it.
    Requested,
    /// A limit of the runtime (send buffer, TLS failure).
    Limit,
}

/// The terms that the two ends of a TLS connection agreed on, as OpenSSL names them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TlsSession {
    /// `TLSv1.3`.
    pub version: &'static str,
    /// `TLS_AES_256_GCM_SHA384`.
    pub cipher: &'static str,
}

/// An input. It borrows the bytes of a client, and owns everything else.
pub enum Input<'a, S> {
    /// The first input of a module's life: 32 bytes from a cryptographic source (nonces, salts). In the simulator, from
    /// the seed.
    Start {
        /// Secret randomness.
        seed: [u8; 32],
    },
    /// A signal from a module of this or another node.
    Signal(Envelope),
    /// A shared object from a module of this node.
    Shared {
        /// The sender.
        from: Address,
        /// The object.
        shared: S,
    },
    /// A client connected.
    Opened {
        /// Its connection.
        connection: ConnectionId,
        /// The listener.
        kind: ConnectionKind,
        /// For SHOW PROCESSLIST and logs.
        peer: String,
    },
    /// Bytes arrived; what is not consumed comes again with more.
    Bytes {
        /// From whom.
        connection: ConnectionId,
        /// All unconsumed bytes.
        buffer: &'a mut ReceiveBuffer,
    },
    /// The TLS handshake asked for by `Outputs::start_tls` is done: bytes are plaintext from now on.
    SecurityChanged {
        /// Whose.
        connection: ConnectionId,
        /// The terms that both ends agreed on.
        tls: TlsSession,
    },
    /// The connection is gone; its id never comes again.
    Closed {
        /// Whose.
        connection: ConnectionId,
        /// Why.
        reason: CloseReason,
    },
    /// The send buffer that was above its high mark has drained.
    Writable {
        /// Whose.
        connection: ConnectionId,
    },
    /// The client takes its replies more slowly than they come: `Outputs::is_blocked` says until when, `Outputs::taken`
    /// how fast.
    Blocked {
        /// Whose.
        connection: ConnectionId,
    },
    /// The driver's bytes of the connection find no room in ClientMemory: the module says so and closes it.
    MemoryFull {
        /// Whose.
        connection: ConnectionId,
    },
    /// All links to a node are up (to `membership` only).
    LinkUp {
        /// The node.
        node: NodeId,
    },
    /// A link to a node is lost (to `membership` only).
    LinkDown {
        /// The node.
        node: NodeId,
    },
    /// A process of a node has ended: its angel, who has reaped it, says so, or it did itself, at its very end (to
    /// `membership` only).
    ProcessExited {
        /// The node.
        node: NodeId,
        /// The process start.
        start: u64,
    },
    /// The answer to a request of this module to the disk.
    DiskDone {
        /// From the request.
        ticket: u64,
        /// Its result.
        result: Result<DiskAnswer, DiskError>,
    },
    /// The answer to `RequestToRuntime::Report`.
    Report(Box<RuntimeReport>),
    /// The answer to `RequestToRuntime::PublicKey` and `Decrypt`.
    PasswordKey {
        /// The connection that was named.
        connection: ConnectionId,
        /// The answer.
        answer: PasswordKeyAnswer,
    },
    /// The operator asked this process to stop (SIGTERM, Ctrl-C); to `main` only.
    StopRequested,
    /// The module's deadline has come.
    Deadline,
}

impl<S> Input<'_, S> {
    /// A signal's own name, or that of another input.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Start { .. } => "Start",
            Self::Signal(envelope) => envelope.signal.name(),
            Self::Shared { .. } => "Shared",
            Self::Opened { .. } => "Opened",
            Self::Bytes { .. } => "Bytes",
            Self::SecurityChanged { .. } => "SecurityChanged",
            Self::Closed { .. } => "Closed",
            Self::Writable { .. } => "Writable",
            Self::Blocked { .. } => "Blocked",
            Self::MemoryFull { .. } => "MemoryFull",
            Self::LinkUp { .. } => "LinkUp",
            Self::LinkDown { .. } => "LinkDown",
            Self::ProcessExited { .. } => "ProcessExited",
            Self::DiskDone { .. } => "DiskDone",
            Self::Report(_) => "Report",
            Self::PasswordKey { .. } => "PasswordKey",
            Self::StopRequested => "StopRequested",
            Self::Deadline => "Deadline",
        }
    }
}

/// An input that borrows nothing: a driver may keep it in a queue.
pub type OwnedInput<S> = Input<'static, S>;

/// Bytes received on a connection: contiguous, consumed from the front.
#[derive(Debug, Default)]
pub struct ReceiveBuffer {
    bytes: Vec<u8>,
    start: usize,
}

impl ReceiveBuffer {
    /// The unconsumed bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    /// Forgets the first `count` unconsumed bytes.
    pub fn consume(&mut self, count: usize) {
        stdx::require!(count <= self.bytes.len() - self.start);
        self.start += count;
        if self.start == self.bytes.len() {
            self.bytes.clear();
            self.start = 0;
        }
    }

    /// Where a driver appends what arrived; moves unconsumed bytes to the front first when that is cheap.
    pub fn tail(&mut self) -> &mut Vec<u8> {
        if self.start > 0 && self.start * 2 >= self.bytes.len() {
            self.bytes.drain(..self.start);
            self.start = 0;
        }
        &mut self.bytes
    }

    /// Memory that it takes.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// Gives back memory that is much more than what is unconsumed.
    pub fn shrink(&mut self) {
        if self.bytes.capacity() > 2 * self.bytes().len() + SLACK_MAX {
            self.bytes = self.bytes().to_vec();
            self.start = 0;
        }
    }
}

/// A receive buffer that is kept may be larger than twice its content by this.
const SLACK_MAX: usize = 4 * 1024;

/// How much work a handler may do before it must put `Signal::Continue` behind its module's queue: counted in rows, not
/// time.
#[derive(Debug)]
pub struct Budget {
    /// Rows left in this slice.
    pub rows: u32,
    /// A module `query` of this node whose thread has nothing to do, or much less than this one (`placement`). It may
    /// be asked for a part of a long read, once.
    pub relief: Option<u8>,
    /// Rows that a read visits one by one before it looks at columns of whole batches (`query`). None: it always goes
    /// row by row. The answers are the same.
    pub batches_after: Option<u16>,
    /// About how many rows a piece of a long scan has, which another thread is asked for as a whole.
    pub piece_rows: u32,
}

/// Rows of a read that columns of batches are not worth their making for: that costs as much as two rows.
pub const BATCHES_AFTER: u16 = 16;

/// Rows of a piece: a quarter of a millisecond of a quick scan. To ask and to answer takes some 15 µs.
pub const PIECE_ROWS: u32 = 10_000;

impl Budget {
    /// So many rows, and nobody to help.
    #[must_use]
    pub const fn of(rows: u32) -> Self {
        Self { rows, relief: None, batches_after: Some(BATCHES_AFTER), piece_rows: PIECE_ROWS }
    }

    /// Takes one row from the slice; false when it is spent.
    #[inline]
    pub fn spend(&mut self, rows: u32) -> bool {
        let enough = self.rows >= rows;
        self.rows = self.rows.saturating_sub(rows);
        enough
    }

    /// Nothing is left.
    #[must_use]
    pub fn is_spent(&self) -> bool {
        self.rows == 0
    }
}

/// An action of a driver on connections after a `handle` call, besides sending.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConnectionAction {
    /// Answer the client's TLS handshake (after the bytes appended so far were sent).
    StartTls,
    /// Stop reading: the module cannot take more now.
    PauseReading,
    /// Read again.
    ResumeReading,
    /// Send what is buffered, then close.
    Close,
    /// The same for a client that may still be sending: what it sends is dropped for a while, or the last bytes would
    /// be lost with the connection.
    Reject,
}

/// The exit code of a data node that cannot go on in this life: whoever watches it may start it again.
pub const EXIT_LEFT_OUT: u8 = 3;
/// The exit code of a node that must not start: the cluster has said so.
pub const EXIT_REFUSED: u8 = 1;
/// The exit code of a node whose disk has failed: in this life it writes nothing more.
pub const EXIT_DISK: u8 = 4;
/// The exit code of a data node that has too little memory for the rows of the others: whoever starts it again lets
/// time pass.
pub const EXIT_CANNOT_JOIN: u8 = 5;
/// The exit code of a node that could not begin: its configuration, its disk, its ports.
pub const EXIT_CANNOT_START: u8 = 6;

/// Questions to the driver and orders that concern the process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RequestToRuntime {
    /// CPU times and queues of all threads: answered by `Input::Report` to this module.
    Report,
    /// The public key with which a client without TLS encrypts its password: answered by `Input::PasswordKey` to this
    /// module.
    PublicKey {
        /// Named in the answer.
        connection: ConnectionId,
    },
    /// Decrypts what a client has encrypted with it: answered in the same way.
    Decrypt {
        /// Named in the answer.
        connection: ConnectionId,
        /// As it came.
        encrypted: Vec<u8>,
    },
    /// End the process in an orderly way with this exit code.
    Exit(u8),
    /// This node may now accept client connections of every kind.
    OpenListeners,
}

/// The answer of the runtime about the key for passwords.
#[derive(Clone, PartialEq, Eq)]
pub enum PasswordKeyAnswer {
    /// The public key, in PEM.
    Public(Arc<str>),
    /// The clear text of what was encrypted.
    Clear(Vec<u8>),
    /// There is no key, or it is of no use for what came.
    None,
    /// No thread could be had for it: nothing is known of the password.
    Busy,
}

/// Without what is secret.
impl std::fmt::Debug for PasswordKeyAnswer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Public(_) => "Public(..)",
            Self::Clear(_) => "Clear(..)",
            Self::None => "None",
            Self::Busy => "Busy",
        })
    }
}

/// How loud an event is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Severity {
    /// For developers.
    Debug,
    /// For operators.
    Info,
    /// Something needs attention.
    Warning,
    /// Something was lost or refused.
    Error,
}

/// How messages about broken peers begin.
pub const BROKEN_PEER: &str = "a peer is broken";

/// Something worth a log line. The runtime logs it, the simulator puts it into the transcript.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// How loud.
    pub severity: Severity,
    /// One line.
    pub message: String,
}

/// The report of one thread for ndbinfo.threads, threadblocks, threadstat and cpustat.
#[derive(Clone, PartialEq, Debug)]
pub struct ThreadReport {
    /// `recv`, `ldm`, `main` …
    pub name: String,
    /// Modules on it.
    pub modules: Vec<Address>,
    /// CPU it is pinned to.
    pub cpu: Option<u16>,
    /// CPU time spent in user mode.
    pub user: Duration,
    /// CPU time spent in the kernel.
    pub system: Duration,
    /// Time asleep in epoll.
    pub asleep: Duration,
    /// Loop rounds.
    pub rounds: u64,
    /// Signals handled.
    pub signals: u64,
    /// System calls made.
    pub system_calls: u64,
    /// Wakes of other threads.
    pub wakes: u64,
    /// Client connections open on it.
    pub connections: u32,
    /// The share of the last moments that it has worked, in percent.
    pub busy: u32,
    /// The time that its queued work takes.
    pub backlog: Duration,
    /// Its weight for moved reads, if it has a module `query`.
    pub weight: Option<u8>,
    /// Reads that other threads of the node were asked for.
    pub reads_given: u64,
    /// Reads for sessions of other threads of the node.
    pub reads_taken: u64,
    /// The longest time of the last minute, or the one before, between two looks at the clock while it worked.
    pub longest_call: Duration,
    /// The input that it handled last in that time: a signal, or another input.
    pub longest_call_of: &'static str,
}

/// Events counted since the start, each by its name in ndbinfo.counters.
pub type Counts = Vec<(&'static str, u64)>;

/// The driver's report on this process.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RuntimeReport {
    /// One row per thread.
    pub threads: Vec<ThreadReport>,
    /// Counts of faults that are nobody's bug here.
    pub counts: Counts,
    /// The nodes that this one has links with.
    pub peers: Vec<PeerReport>,
    /// This node's certificate, then those of the authorities that it believes.
    pub certificates: Vec<CertificateReport>,
}

/// How a link is protected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkSecurity {
    /// By the operating system: it does not leave the machine.
    Local,
    /// By TLS.
    Tls,
    /// By nothing but the network.
    Plain,
}

/// A node at the other end of links, as the driver sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PeerReport {
    /// The node.
    pub node: NodeId,
    /// Where it really is: an address, or `localhost`.
    pub address: String,
    /// How the links are protected.
    pub security: LinkSecurity,
    /// Its certificate, if it has presented one.
    pub certificate: Option<CertificateReport>,
}

/// The facts of a certificate that people want to know.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CertificateReport {
    /// The common name.
    pub name: String,
    /// The day on which it expires, as `18-Dec-2023`.
    pub expires: String,
    /// The serial number.
    pub serial: String,
}

/// High mark of a connection's send buffer: above it, `is_congested` is true and a session stops producing until
/// `Writable`.
pub const SEND_BUFFER_HIGH: usize = 256 * 1024;

/// The outputs of a handler. One per thread, reused: signals and actions are drained after each call, send buffers live
/// as long as their connections and are flushed once per round.
pub struct Outputs<S> {
    /// Signals to send, in order.
    pub signals: Vec<Envelope>,
    /// Shared objects for modules of this node, in order: sender, receiver, object.
    pub shared: Vec<(Address, Address, S)>,
    /// The actions on connections, in order.
    pub actions: Vec<(ConnectionId, ConnectionAction)>,
    /// Log lines.
    pub events: Vec<Event>,
    /// Questions and orders to the driver.
    pub requests: Vec<RequestToRuntime>,
    /// Requests to the disk, in order: each is answered by `Input::DiskDone` to this module.
    pub disk_requests: Vec<DiskRequest>,
    buffers: FixedMap<ConnectionId, SendBuffer>,
    dirty: Vec<ConnectionId>,
}

#[derive(Default)]
struct SendBuffer {
    bytes: Vec<u8>,
    /// Bytes that the kernel took since it was first full.
    taken: u64,
    is_dirty: bool,
    is_congested: bool,
}

impl<S> Default for Outputs<S> {
    fn default() -> Self {
        Self {
            signals: Vec::new(),
            shared: Vec::new(),
            actions: Vec::new(),
            events: Vec::new(),
            requests: Vec::new(),
            disk_requests: Vec::new(),
            buffers: FixedMap::default(),
            dirty: Vec::new(),
        }
    }
}

impl<S> Outputs<S> {
    /// Sends a signal; its view and epoch are stamped by the module's wrapper (`node`).
    pub fn send(&mut self, from: Address, to: Address, signal: Signal) {
        self.signals.push(Envelope::unstamped(from, to, signal));
    }

    /// Sends a shared object to a module of this node.
    pub fn share(&mut self, from: Address, to: Address, shared: S) {
        self.shared.push((from, to, shared));
    }

    /// The connection's send buffer: append replies to it. A connection that is gone takes bytes to nowhere.
    pub fn buffer(&mut self, connection: ConnectionId) -> &mut Vec<u8> {
        let buffer = self.buffers.entry(connection).or_default();
        if !buffer.is_dirty {
            buffer.is_dirty = true;
            self.dirty.push(connection);
        }
        &mut buffer.bytes
    }

    /// True while the client takes its replies more slowly than the session makes them.
    #[must_use]
    pub fn is_congested(&self, connection: ConnectionId) -> bool {
        self.buffers
            .get(&connection)
            .is_some_and(|buffer| buffer.is_congested || buffer.bytes.len() >= SEND_BUFFER_HIGH)
    }

    /// True while the kernel's buffer is full.
    #[must_use]
    pub fn is_blocked(&self, connection: ConnectionId) -> bool {
        self.buffers.get(&connection).is_some_and(|buffer| buffer.is_congested)
    }

    /// Bytes that the client has taken in writes that left something over: it grows as long as a client that is blocked
    /// takes any.
    #[must_use]
    pub fn taken(&self, connection: ConnectionId) -> u64 {
        self.buffers.get(&connection).map_or(0, |buffer| buffer.taken)
    }

    /// Asks for an action on a connection.
    pub fn act(&mut self, connection: ConnectionId, action: ConnectionAction) {
        self.actions.push((connection, action));
    }

    /// Reports what only a broken peer can have sent; nothing was done because of it.
    pub fn distrust(&mut self, peer: Address, what: impl std::fmt::Display) {
        self.event(Severity::Error, format!("{BROKEN_PEER}: {peer}: {what}"));
    }

    /// Reports an event.
    pub fn event(&mut self, severity: Severity, message: impl Into<String>) {
        self.events.push(Event { severity, message: message.into() });
    }

    /// Asks the disk of this node.
    pub fn disk(&mut self, request: DiskRequest) {
        self.disk_requests.push(request);
    }

    /// Asks the driver.
    pub fn request(&mut self, request: RequestToRuntime) {
        self.requests.push(request);
    }

    /// For drivers: puts connections with unsent bytes since the last call into `dirty`, which is empty. Its memory is
    /// used for the next ones.
    pub fn take_dirty(&mut self, dirty: &mut Vec<ConnectionId>) {
        std::mem::swap(&mut self.dirty, dirty);
        for connection in dirty {
            if let Some(buffer) = self.buffers.get_mut(connection) {
                buffer.is_dirty = false;
            }
        }
    }

    /// For drivers: the unsent bytes of a connection, to be drained from the front; does not mark it dirty.
    pub fn unsent(&mut self, connection: ConnectionId) -> Option<&mut Vec<u8>> {
        self.buffers.get_mut(&connection).map(|buffer| &mut buffer.bytes)
    }

    /// For drivers: whether the kernel's buffer is full, so that bytes pile up here.
    pub fn set_congested(&mut self, connection: ConnectionId, is_congested: bool) {
        if let Some(buffer) = self.buffers.get_mut(&connection) {
            buffer.is_congested = is_congested;
        }
    }

    /// For drivers: so many bytes left in a write that left something over.
    pub fn add_taken(&mut self, connection: ConnectionId, count: usize) {
        if let Some(buffer) = self.buffers.get_mut(&connection) {
            buffer.taken += count as u64;
        }
    }

    /// For drivers: the connection is gone.
    pub fn forget(&mut self, connection: ConnectionId) {
        self.buffers.remove(&connection);
    }
}
