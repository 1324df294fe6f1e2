//! The client connections of one thread: sockets, their state, and their slots. The worker decides whom to tell.
//!
//! Reading is edge-triggered: an edge makes a connection *ready*, ready connections are read once per round, and a read
//! that filled its buffer leaves the connection ready. Pausing and push-back are therefore free: a connection that may
//! not be read just stays ready.
//!
//! Invariants:
//! - a slot's generation grows with each use, so that an id never means two clients;
//! - an idle connection owns no receive buffer: bytes are read into the thread's buffer, and only what a module leaves
//!   over is kept;
//! - what a module leaves over, what the kernel does not take and the state of TLS are charged to ClientMemory;
//! - `is_queued` is true exactly for the connections in `ready`.

use crate::process::Process;
use crate::tls::TlsFilter;
use memory::Holding;
use protocol::{ConnectionId, ConnectionKind, ReceiveBuffer};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use std::collections::VecDeque;
use std::sync::atomic::Ordering;

/// Bytes read at once.
pub(crate) const READ_SIZE: usize = 64 * 1024;
/// An empty send buffer keeps this much memory at most once the connection has been idle for a while.
pub(crate) const IDLE_BUFFER_SIZE: usize = 512;

/// The size of TLS's state while nothing is on its way: keys, and the buffer of the last record.
const TLS_STATE_SIZE: usize = 8 * 1024;

/// A connection on its way to the thread that will own it.
pub(crate) struct NewClient {
    pub(crate) socket: OwnedFd,
    pub(crate) kind: ConnectionKind,
    pub(crate) peer: String,
    /// Index of its module on the owning thread.
    pub(crate) module: usize,
    /// Index into `Process::sql_modules`, for the count of connections there.
    pub(crate) sql: Option<usize>,
}

/// Where a connection is in its life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stage {
    /// Read and written.
    Open,
    /// `StartTls` was asked for: the plaintext before it must leave first.
    StartingTls,
    /// Asked to close: unsent bytes are still sent, nothing is read.
    Closing,
    /// All is sent and the client told so; what it still sends is dropped.
    Discarding,
}

/// The first byte of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FirstByte {
    /// A byte of its own protocol.
    Plain,
    /// TLS or not.
    Either,
    /// Nothing but TLS.
    Tls,
}

/// One client.
pub(crate) struct Client {
    pub(crate) socket: OwnedFd,
    pub(crate) module: usize,
    sql: Option<usize>,
    pub(crate) stage: Stage,
    /// The bytes that the module has not consumed.
    pub(crate) receive: ReceiveBuffer,
    pub(crate) tls: Option<Box<TlsFilter>>,
    /// Its first byte says whether it speaks TLS.
    pub(crate) first_byte: FirstByte,
    /// An edge was seen and not answered by a short read.
    pub(crate) is_readable: bool,
    /// The peer will send nothing more: read until the end shows.
    pub(crate) is_hung_up: bool,
    /// The module asked not to be given bytes.
    pub(crate) is_paused: bool,
    /// The module may want to see again what it left over.
    pub(crate) is_owed_bytes: bool,
    /// The kernel's buffer is full: waiting for "writable".
    pub(crate) is_blocked: bool,
    /// The module was told to hold back and waits for `Writable`.
    pub(crate) is_congested: bool,
    /// Its send buffer is listed for the next sweep.
    pub(crate) is_swollen: bool,
    /// It is closing, and the time that its client has for the last bytes is running.
    pub(crate) is_lingering: bool,
    /// Before it is closed, what the client still sends is dropped.
    pub(crate) is_rejected: bool,
    /// The part of this thread's ledger that its buffers have.
    pub(crate) holding: Holding,
    is_queued: bool,
}

impl Client {
    fn new(new: NewClient) -> Self {
        Self {
            socket: new.socket,
            module: new.module,
            sql: new.sql,
            stage: Stage::Open,
            receive: ReceiveBuffer::default(),
            tls: None,
            first_byte: FirstByte::Plain,
            is_readable: false,
            is_hung_up: false,
            is_paused: false,
            is_owed_bytes: false,
            is_blocked: false,
            is_congested: false,
            is_swollen: false,
            is_lingering: false,
            is_rejected: false,
            holding: Holding::default(),
            is_queued: false,
        }
    }

    /// There is something to do that reading may bring forward.
    pub(crate) fn wants_service(&self) -> bool {
        let open = self.stage == Stage::Open && !self.is_paused;
        (open && (self.is_readable || self.is_owed_bytes))
            || (self.stage == Stage::Discarding && self.is_readable)
    }

    /// Its module is a session's, which tells clients why they are closed.
    pub(crate) fn is_mysql(&self) -> bool {
        self.sql.is_some()
    }

    /// Memory of its buffers besides the send buffer.
    pub(crate) fn buffers_size(&self) -> usize {
        let tls = self.tls.as_ref().map_or(0, |tls| TLS_STATE_SIZE + tls.outgoing.len());
        self.receive.capacity() + tls
    }
}

struct Slot {
    generation: u32,
    client: Option<Client>,
}

/// The connections of one thread.
#[derive(Default)]
pub(crate) struct Clients {
    slots: Vec<Slot>,
    free: Vec<u32>,
    ready: VecDeque<ConnectionId>,
    /// Connections whose empty send buffers may be shrunk.
    pub(crate) swollen: Vec<ConnectionId>,
}

impl Clients {
    pub(crate) fn insert(&mut self, new: NewClient) -> ConnectionId {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot { generation: 0, client: None });
            u32::try_from(self.slots.len() - 1).unwrap_or(u32::MAX)
        });
        let place = &mut self.slots[slot as usize];
        place.generation = place.generation.wrapping_add(1);
        place.client = Some(Client::new(new));
        ConnectionId { slot, generation: place.generation }
    }

    pub(crate) fn get(&mut self, connection: ConnectionId) -> Option<&mut Client> {
        let slot = self.slots.get_mut(connection.slot as usize)?;
        if slot.generation == connection.generation { slot.client.as_mut() } else { None }
    }

    /// The connection that an epoll event means, unless it is gone.
    pub(crate) fn identify(&self, slot: u32, token_generation: u32) -> Option<ConnectionId> {
        let place = self.slots.get(slot as usize)?;
        let same = crate::wake::same_generation(token_generation, place.generation);
        (same && place.client.is_some()).then_some(ConnectionId { slot, generation: place.generation })
    }

    /// Takes a connection out; its socket closes when the result is dropped.
    pub(crate) fn remove(&mut self, connection: ConnectionId, process: &Process) -> Option<Client> {
        self.get(connection)?;
        let client = self.slots[connection.slot as usize].client.take()?;
        self.free.push(connection.slot);
        process.connections.fetch_sub(1, Ordering::Relaxed);
        if let Some(sql) = client.sql {
            process.sql_modules[sql].2.fetch_sub(1, Ordering::Relaxed);
        }
        Some(client)
    }

    /// Queues a connection for service in this or the next round.
    pub(crate) fn make_ready(&mut self, connection: ConnectionId) {
        if let Some(client) = self.get(connection)
            && !client.is_queued
        {
            client.is_queued = true;
            self.ready.push_back(connection);
        }
    }

    /// The next connection to serve.
    pub(crate) fn next_ready(&mut self) -> Option<ConnectionId> {
        loop {
            let connection = self.ready.pop_front()?;
            if let Some(client) = self.get(connection) {
                client.is_queued = false;
                return Some(connection);
            }
        }
    }

    pub(crate) fn ready_count(&self) -> usize {
        self.ready.len()
    }
}

/// The result of one read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ReadOutcome {
    /// Bytes, and there may be more.
    More,
    /// Bytes or none, and nothing more before the next edge.
    Drained,
    /// The peer has closed, or the network failed.
    Ended,
}

/// Reads once into the free capacity of `into`, which must have some.
pub(crate) fn read_once(socket: &OwnedFd, into: &mut Vec<u8>) -> ReadOutcome {
    let room = into.capacity() - into.len();
    stdx::require!(room > 0);
    match rustix::net::recv(socket, rustix::buffer::spare_capacity(into), RecvFlags::DONTWAIT) {
        Ok((0, _)) => ReadOutcome::Ended,
        Ok((count, _)) if count == room => ReadOutcome::More,
        Ok(_) | Err(Errno::AGAIN) => ReadOutcome::Drained,
        Err(Errno::INTR) => ReadOutcome::More,
        Err(_) => ReadOutcome::Ended,
    }
}

/// The result of one attempt to write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WriteOutcome {
    /// The kernel took this many bytes, possibly not all.
    Took(usize),
    /// Nobody is there to take bytes.
    Broken,
}

/// Writes once.
pub(crate) fn write_once(socket: &OwnedFd, bytes: &[u8]) -> WriteOutcome {
    match rustix::net::send(socket, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
        Ok(count) => WriteOutcome::Took(count),
        Err(Errno::AGAIN | Errno::INTR) => WriteOutcome::Took(0),
        Err(_) => WriteOutcome::Broken,
    }
}
