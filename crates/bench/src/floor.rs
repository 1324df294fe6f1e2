//! The floor: a server that speaks MySQL and knows one row.
//!
//! It answers every SELECT with the same 119 characters, and everything else with OK. It is the limit that the kernel,
//! the protocol and sysbench itself set. No database on the same machine can be faster, and figures taken in the same
//! hour are given as a share of it.
//!
//! One thread accepts and deals connections out in turn; each worker owns its connections and waits for them with
//! an epoll of its own. Answers are encoded once, for each form that a client may have negotiated, and copied.
//!
//! **Invariants.** A connection belongs to one worker. While an answer has not gone out, nothing more is read from
//! its connection.
//!
//! **Deliberately not here**: check passwords, remember statements, decode parameters. Never listen with
//! it where strangers are.

use std::convert::Infallible;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread;

use mysql_protocol::charset::UTF8MB4_GENERAL_CI;
use mysql_protocol::result::{EndPacket, StatementPrepared};
use mysql_protocol::{
    AuthPlugin, Capabilities, ColumnDefinition, ColumnFlags, ColumnType, Command, Expected, HandshakeOptions,
    HandshakeStep, Nonce, OkPacket, PacketWriter, Reassembler, Received, ServerHandshake, StatusFlags,
    Transport,
};
use rustix::event::{EventfdFlags, epoll, eventfd};
use rustix::fd::OwnedFd;

/// As long as the values that sysbench writes into column `c`.
const CANNED: &[u8; 119] =
    b"68487932199-96439406143-93774651418-41631865787-96406072701-20604855487-25459966574-28203206787-41238978918-19503783441";

const RECEIVE_SIZE: usize = 64 * 1024;
const PAYLOAD_SIZE_MAX: usize = 64 << 20;
const EVENT_COUNT_MAX: usize = 256;

/// The epoll token that says: connections have been dealt. Others are places of connections.
const WAKE: u64 = u64::MAX;

/// Serves at `address` with this many worker threads, until something fails.
pub fn run(address: SocketAddr, threads: usize) -> io::Result<Infallible> {
    serve(&TcpListener::bind(address)?, threads)
}

/// As [`run`], on a socket that listens already.
pub fn serve(listener: &TcpListener, threads: usize) -> io::Result<Infallible> {
    stdx::require!(threads > 0, "a floor without threads");
    let workers = (0..threads).map(start_worker).collect::<io::Result<Vec<_>>>()?;
    for (connection_id, worker) in (1..).zip(workers.iter().cycle()) {
        let (stream, _) = listener.accept()?;
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        let gone = |_| io::Error::other("a worker of the floor has ended");
        worker.connections.send((stream, connection_id)).map_err(gone)?;
        rustix::io::write(&*worker.wake, &1u64.to_ne_bytes())?;
    }
    Err(io::Error::other("connection ids are used up"))
}

/// The accepting thread's end of a worker.
struct WorkerHandle {
    connections: Sender<(TcpStream, u32)>,
    wake: Arc<OwnedFd>,
}

fn start_worker(index: usize) -> io::Result<WorkerHandle> {
    let (sender, receiver) = channel();
    let wake = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
    let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    epoll::add(&poll, &*wake, epoll::EventData::new_u64(WAKE), epoll::EventFlags::IN)?;
    let mut worker = Worker {
        poll,
        wake: Arc::clone(&wake),
        dealt: receiver,
        connections: Vec::new(),
        vacant: Vec::new(),
        scratch: Scratch { received: vec![0; RECEIVE_SIZE], out: Vec::new() },
    };
    // A worker ends only if epoll fails; its connections close with it, which their clients will report.
    thread::Builder::new().name(format!("floor-{index}")).spawn(move || worker.run())?;
    Ok(WorkerHandle { connections: sender, wake })
}

struct Worker {
    poll: OwnedFd,
    wake: Arc<OwnedFd>,
    dealt: Receiver<(TcpStream, u32)>,
    /// By token.
    connections: Vec<Option<Connection>>,
    vacant: Vec<usize>,
    scratch: Scratch,
}

/// Buffers that connections use in turn.
struct Scratch {
    received: Vec<u8>,
    out: Vec<u8>,
}

impl Worker {
    fn run(&mut self) -> io::Result<Infallible> {
        let mut events = Vec::with_capacity(EVENT_COUNT_MAX);
        loop {
            match epoll::wait(&self.poll, rustix::buffer::spare_capacity(&mut events), None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            for event in events.drain(..) {
                match event.data.u64() {
                    WAKE => self.on_dealt()?,
                    token => self.on_ready(token)?,
                }
            }
        }
    }

    fn on_dealt(&mut self) -> io::Result<()> {
        rustix::io::read(&*self.wake, &mut [0; 8])?;
        loop {
            match self.dealt.try_recv() {
                Ok((stream, connection_id)) => self.admit(stream, connection_id)?,
                Err(TryRecvError::Empty) => return Ok(()),
                Err(TryRecvError::Disconnected) => return Err(io::Error::other("the floor has ended")),
            }
        }
    }

    fn admit(&mut self, stream: TcpStream, connection_id: u32) -> io::Result<()> {
        let place = self.vacant.pop().unwrap_or_else(|| {
            self.connections.push(None);
            self.connections.len() - 1
        });
        let token = epoll::EventData::new_u64(place as u64);
        epoll::add(&self.poll, &stream, token, epoll::EventFlags::IN)?;
        let mut connection = Connection::new(stream, connection_id);
        if connection.flush().is_ok() {
            self.connections[place] = Some(connection);
        } else {
            self.vacant.push(place);
        }
        Ok(())
    }

    fn on_ready(&mut self, token: u64) -> io::Result<()> {
        let Ok(place) = usize::try_from(token) else { return Ok(()) };
        let Some(connection) = self.connections.get_mut(place).and_then(Option::as_mut) else {
            return Ok(());
        };
        let was_blocked = !connection.unsent.is_empty();
        if connection.on_ready(&mut self.scratch).is_err() {
            // Closing the socket takes it out of the epoll too.
            self.connections[place] = None;
            self.vacant.push(place);
            return Ok(());
        }
        let is_blocked = !connection.unsent.is_empty();
        if was_blocked != is_blocked {
            let interest = if is_blocked { epoll::EventFlags::OUT } else { epoll::EventFlags::IN };
            let token = epoll::EventData::new_u64(token);
            epoll::modify(&self.poll, &connection.stream, token, interest)?;
        }
        Ok(())
    }
}

/// The connection is over: the client has left, or can't be understood.
struct Over;

impl From<io::Error> for Over {
    fn from(_: io::Error) -> Self {
        Self
    }
}

struct Connection {
    stream: TcpStream,
    stage: Stage,
    /// Bytes received that are not a whole packet yet.
    received: Vec<u8>,
    reassembler: Reassembler,
    unsent: Vec<u8>,
}

enum Stage {
    Handshake(Box<ServerHandshake>),
    Commands { capabilities: Capabilities, answers: Answers },
}

impl Connection {
    fn new(stream: TcpStream, connection_id: u32) -> Self {
        let mut unsent = Vec::new();
        let options = HandshakeOptions {
            server_version: "8.0.39-LatsDB-floor",
            connection_id,
            // Nothing is proved with it.
            nonce: Nonce::from_random([b'x'; 20]),
            capabilities: Capabilities::SERVER,
            collation: UTF8MB4_GENERAL_CI.to_le_bytes()[0],
            status: StatusFlags::AUTOCOMMIT,
            default_plugin: AuthPlugin::MysqlNativePassword,
            transport: Transport::Tcp,
        };
        let stage = Stage::Handshake(Box::new(ServerHandshake::begin(&options, &mut unsent)));
        Self { stream, stage, received: Vec::new(), reassembler: Reassembler::new(), unsent }
    }

    fn on_ready(&mut self, scratch: &mut Scratch) -> Result<(), Over> {
        if !self.unsent.is_empty() {
            self.flush()?;
            if !self.unsent.is_empty() {
                return Ok(());
            }
        }
        let size = match (&self.stream).read(&mut scratch.received) {
            Ok(0) => return Err(Over),
            Ok(size) => size,
            Err(error) if is_transient(&error) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        scratch.out.clear();
        // Almost always whole packets arrive, which are then read where they lie.
        let outcome = if self.received.is_empty() {
            let bytes = &scratch.received[..size];
            self.on_bytes(bytes, &mut scratch.out)
                .map(|consumed| self.received.extend_from_slice(&bytes[consumed..]))
        } else {
            let mut bytes = std::mem::take(&mut self.received);
            bytes.extend_from_slice(&scratch.received[..size]);
            let outcome = self.on_bytes(&bytes, &mut scratch.out);
            outcome.map(|consumed| {
                bytes.drain(..consumed);
                self.received = bytes;
            })
        };
        self.send(&scratch.out)?;
        outcome
    }

    /// Answers the whole packets in `bytes`; gives the bytes that they took.
    fn on_bytes(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<usize, Over> {
        let mut consumed = 0;
        loop {
            let expected = match &self.stage {
                Stage::Handshake(handshake) => handshake.expected(),
                Stage::Commands { .. } => Expected::command(PAYLOAD_SIZE_MAX),
            };
            match self.reassembler.next(&bytes[consumed..], expected) {
                Ok(Received::Incomplete { consumed: absorbed }) => return Ok(consumed + absorbed),
                Ok(Received::Packet { sequence, payload, consumed: size }) => {
                    on_packet(&mut self.stage, sequence, payload, out)?;
                    consumed += size;
                }
                Err(error) => {
                    PacketWriter::new(out, expected.sequence.wrapping_add(1)).error(&error.packet());
                    return Err(Over);
                }
            }
        }
    }

    fn send(&mut self, bytes: &[u8]) -> Result<(), Over> {
        let sent = self.write(bytes)?;
        self.unsent.extend_from_slice(&bytes[sent..]);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Over> {
        let sent = self.write(&self.unsent)?;
        self.unsent.drain(..sent);
        Ok(())
    }

    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        match (&self.stream).write(bytes) {
            Err(error) if is_transient(&error) => Ok(0),
            result => result,
        }
    }
}

fn is_transient(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

fn on_packet(stage: &mut Stage, sequence: u8, payload: &[u8], out: &mut Vec<u8>) -> Result<(), Over> {
    let handshake = match stage {
        Stage::Commands { capabilities, answers } => {
            return on_command(
                payload,
                *capabilities,
                answers,
                &mut PacketWriter::new(out, sequence.wrapping_add(1)),
            );
        }
        Stage::Handshake(handshake) => handshake,
    };
    match handshake.on_packet(payload, out) {
        // Any account is let in.
        Ok(HandshakeStep::FindAccount) => {
            let capabilities = handshake.login().capabilities;
            PacketWriter::new(out, handshake.sequence()).ok(&DONE);
            *stage = Stage::Commands { capabilities, answers: Answers::new(capabilities) };
            Ok(())
        }
        Ok(_) => Err(Over),
        Err(error) => {
            PacketWriter::new(out, handshake.sequence()).error(&error.packet());
            Err(Over)
        }
    }
}

const DONE: OkPacket<'_> =
    OkPacket { affected_rows: 0, last_insert_id: 0, status: StatusFlags::AUTOCOMMIT, warnings: 0, info: b"" };

const END: EndPacket = EndPacket { status: StatusFlags::AUTOCOMMIT, warnings: 0 };

/// Statements are told apart by what they answer, so there is nothing to remember.
const SELECT_STATEMENT: u32 = 1;
const OTHER_STATEMENT: u32 = 2;

fn on_command(
    payload: &[u8],
    capabilities: Capabilities,
    answers: &Answers,
    writer: &mut PacketWriter<'_>,
) -> Result<(), Over> {
    let command = match Command::parse(payload, capabilities) {
        Ok(command) => command,
        Err(error) => {
            writer.error(&error.packet());
            return Ok(());
        }
    };
    match command {
        Command::StatementExecute(execute) if execute.statement_id == SELECT_STATEMENT => {
            writer.append_frames(&answers.binary);
        }
        Command::Query { text, .. } if is_select(text) => writer.append_frames(&answers.text),
        Command::StatementPrepare { text } => prepare(text, capabilities, writer),
        Command::FieldList { .. } => writer.end_of_rows(capabilities, END),
        Command::Statistics => writer.append_payload(b"a floor"),
        Command::StatementFetch { .. } => writer.end_of_rows(capabilities, END),
        Command::Quit => return Err(Over),
        Command::StatementSendLongData { .. } | Command::StatementClose { .. } => {}
        Command::StatementExecute(_)
        | Command::Query { .. }
        | Command::InitDatabase { .. }
        | Command::Refresh { .. }
        | Command::ProcessInfo
        | Command::ProcessKill { .. }
        | Command::Debug
        | Command::Ping
        | Command::ChangeUser(_)
        | Command::ResetConnection
        | Command::SetOption(_)
        | Command::StatementReset { .. } => writer.ok(&DONE),
    }
    Ok(())
}

fn is_select(text: &[u8]) -> bool {
    let text = text.trim_ascii_start();
    text.get(..6).is_some_and(|word| word.eq_ignore_ascii_case(b"SELECT"))
}

/// As many parameters as there are question marks, and a column if it is a SELECT.
fn prepare(text: &[u8], capabilities: Capabilities, writer: &mut PacketWriter<'_>) {
    let marks = text.iter().filter(|&&byte| byte == b'?').count();
    let parameter_count = u16::try_from(marks).unwrap_or(u16::MAX);
    let (statement_id, column_count) =
        if is_select(text) { (SELECT_STATEMENT, 1) } else { (OTHER_STATEMENT, 0) };
    writer.statement_prepared(&StatementPrepared {
        statement_id,
        column_count,
        parameter_count,
        warnings: 0,
    });
    for _ in 0..parameter_count {
        writer.column_definition(&COLUMN);
    }
    if parameter_count > 0 {
        writer.end_of_columns(capabilities, END);
    }
    if column_count > 0 {
        writer.column_definition(&COLUMN);
        writer.end_of_columns(capabilities, END);
    }
}

const COLUMN: ColumnDefinition<'_> = ColumnDefinition {
    schema: b"sbtest",
    table: b"sbtest1",
    original_table: b"sbtest1",
    name: b"c",
    original_name: b"c",
    collation: UTF8MB4_GENERAL_CI,
    length: 480,
    column_type: ColumnType::String,
    flags: ColumnFlags::NOT_NULL,
    decimals: 0,
};

/// The one row, as a whole result set, in the form that the client has negotiated.
struct Answers {
    text: Vec<u8>,
    binary: Vec<u8>,
}

impl Answers {
    fn new(capabilities: Capabilities) -> Self {
        let result = |row: fn(&mut PacketWriter<'_>)| {
            let mut frames = Vec::new();
            let mut writer = PacketWriter::new(&mut frames, 1);
            writer.column_count(1);
            writer.column_definition(&COLUMN);
            writer.end_of_columns(capabilities, END);
            row(&mut writer);
            writer.end_of_rows(capabilities, END);
            frames
        };
        let text = result(|writer| {
            let mut row = writer.text_row();
            row.bytes(CANNED);
            row.finish();
        });
        let binary = result(|writer| {
            let mut row = writer.binary_row(1);
            row.bytes(CANNED);
            row.finish();
        });
        Self { text, binary }
    }
}

#[cfg(test)]
mod tests;
