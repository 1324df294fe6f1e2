//! Costs of threads and packets: the production runtime, with modules that do nothing but answer.
//!
//! ```text
//! echo      client ──► worker ──► client                 many clients: receive + send, kilobyte
//! relay     client ──► worker ──► other worker ──► worker ──► client
//!           one client: two threads wake each other, so beside the echo's there are two hops and some wakes
//! hop       two threads pass an item to and fro through two rings, and do not sleep
//! ```
//! The kernel's part of an echo is `receive` and `send`. A client's `write` does to its end of the connection what the
//! server's does: its median is `send`. CPU time in the program belongs to instructions, and is measured there.
//!
//! **Invariants.** When a measurement returns, its node and its clients are gone.

use super::Costs;
use crate::median;
use mysql_protocol::{Expected, PacketWriter, Reassembler, Received};
use protocol::layout::{CpuShare, Layout, LayoutRequest};
use protocol::{
    Address, Budget, ConnectionId, Input, Module, ModuleKind, Outputs, RequestToRuntime, Signal, ThreadReport,
};
use runtime::{BoxedModule, Limits, Listeners, Runtime, RuntimeConfig, SpinMethod};
use rustix::event::epoll;
use rustix::fd::OwnedFd;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use stdx::Now;
use stdx::ring::{Consumer, Producer, ring};
use types::{Epoch, NodeId};

/// An execution of a prepared statement with one parameter, and an answer with one row of sysbench.
const REQUEST_SIZE: usize = 40;
const REPLY_SIZE: usize = 200;
/// A reply with a hundred rows.
const LONG_REPLY_SIZE: usize = REPLY_SIZE + 12 * 1024;

/// Clients that keep a thread busy.
const CLIENTS: usize = 32;

const NODE: NodeId = NodeId(1);
const EVENT_COUNT_MAX: usize = 256;
/// The node opens its port by then.
const OPEN_LIMIT: Duration = Duration::from_secs(20);
/// Threads publish what they have counted when they sleep, a little later.
const PUBLISHED_AFTER: Duration = Duration::from_millis(50);

/// Round trips of one sample of a hop.
const TRIPS: u32 = 200;

/// Measures all of them.
pub(super) fn measure(time: Duration, costs: &mut Costs) -> Result<(), String> {
    costs.hop = hop(time / 4)?;
    let echo = run(1, CLIENTS, REPLY_SIZE, time)?;
    let long = run(1, CLIENTS, LONG_REPLY_SIZE, time)?;
    costs.send = echo.write_ns;
    costs.receive = (echo.system_ns - costs.send).max(0.0);
    costs.kilobyte = (long.system_ns - echo.system_ns).max(0.0) / 12.0;
    let single = run(1, 1, REPLY_SIZE, time)?;
    let relay = run(2, 1, REPLY_SIZE, time)?;
    let more = relay.user_ns + relay.system_ns - single.user_ns - single.system_ns;
    costs.wake = (more - 2.0 * costs.hop).max(0.0) / relay.wakes.max(1.0);
    costs.delay = ((relay.latency_ns - single.latency_ns) / 2.0 - costs.hop - costs.wake).max(0.0);
    Ok(())
}

/// The costs of a request, in the mean.
struct Echo {
    user_ns: f64,
    system_ns: f64,
    wakes: f64,
    /// The median of a client's `write`.
    write_ns: f64,
    latency_ns: f64,
}

/// Answers each packet; with a second worker only after that one was asked.
struct Answerer {
    me: Address,
    asks: Option<Address>,
    reply: Arc<[u8]>,
}

impl Answerer {
    fn on_packet(&self, connection: ConnectionId, outputs: &mut Outputs<()>) {
        let Some(other) = self.asks else {
            outputs.buffer(connection).extend_from_slice(&self.reply);
            return;
        };
        // The number of an epoch is as good as any to tell whose packet it was.
        let epoch = Epoch(u64::from(connection.slot) << 32 | u64::from(connection.generation));
        outputs.send(self.me, other, Signal::EpochWanted { epoch });
    }
}

impl Module for Answerer {
    type Shared = ();

    #[expect(clippy::wildcard_enum_match_arm, reason = "nothing else comes")]
    fn handle(&mut self, _: Now, input: Input<'_, ()>, _: &mut Budget, outputs: &mut Outputs<()>) {
        match input {
            Input::Start { .. } if self.me.kind == ModuleKind::Main => {
                outputs.request(RequestToRuntime::OpenListeners);
            }
            Input::Bytes { connection, buffer } => {
                let mut packets = Reassembler::new();
                while let Ok(Received::Packet { consumed, .. }) =
                    packets.next(buffer.bytes(), Expected::command(REQUEST_SIZE))
                {
                    buffer.consume(consumed);
                    self.on_packet(connection, outputs);
                }
            }
            Input::Signal(envelope) => match envelope.signal {
                Signal::EpochWanted { epoch } => {
                    outputs.send(self.me, envelope.from, Signal::EpochOpen { epoch });
                }
                Signal::EpochOpen { epoch: Epoch(number) } => {
                    let half = |bits: u64| u32::try_from(bits & u64::from(u32::MAX)).unwrap_or(0);
                    let connection = ConnectionId { slot: half(number >> 32), generation: half(number) };
                    outputs.buffer(connection).extend_from_slice(&self.reply);
                }
                _ => {}
            },
            _ => {}
        }
    }

    fn deadline(&self) -> Option<stdx::Instant> {
        None
    }
}

/// A node with so many workers, which do not spin.
fn start(workers: u16, reply: &Arc<[u8]>) -> Result<Runtime, String> {
    let kinds = [ModuleKind::Sql, ModuleKind::Main, ModuleKind::Membership];
    let share = CpuShare { workers, ..CpuShare::ONE };
    let request = LayoutRequest { thread_config: None, share, cpus: &[], kinds: &kinds };
    let layout = Layout::plan(&request).map_err(|error| error.to_string())?;
    let module = |(kind, instance): (ModuleKind, u8)| -> (Address, BoxedModule<()>) {
        let me = Address::new(NODE, kind, instance);
        let asks = (workers > 1).then(|| Address::new(NODE, ModuleKind::Sql, 1 - instance.min(1)));
        (me, Box::new(Answerer { me, asks, reply: Arc::clone(reply) }))
    };
    let modules = layout.modules().map(module).collect();
    let config = RuntimeConfig {
        node: NODE,
        cluster: "costs".to_owned(),
        start: 0,
        layout,
        spin: SpinMethod::NoSpinning,
        cluster_tcp: None,
        cluster_unix: None,
        peers: Vec::new(),
        listeners: Listeners {
            mysql_tcp: Some(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))),
            ..Listeners::default()
        },
        tls: None,
        keys: None,
        management_requires_tls: false,
        source: None,
        limits: Limits::default(),
        memory: None,
        log: Arc::new(|_| {}),
    };
    Runtime::start(config, modules, None).map_err(|error| error.to_string())
}

/// Runs clients against a node with so many workers.
fn run(workers: u16, clients: usize, reply_size: usize, time: Duration) -> Result<Echo, String> {
    let mut reply = Vec::new();
    PacketWriter::new(&mut reply, 1).append_payload(&vec![b'r'; reply_size - 4]);
    let runtime = start(workers, &reply.into())?;
    let address = runtime.addresses().mysql.ok_or("a node without an address")?;
    let mut load = Clients::connect(address, clients, reply_size).map_err(|error| error.to_string())?;
    // Until then connections are accepted, and buffers grow.
    load.run(time / 4).map_err(|error| error.to_string())?;
    thread::sleep(PUBLISHED_AFTER);
    let before = Sum::of(&runtime.report().threads);
    let begun = Instant::now();
    let counted = load.run(time).map_err(|error| error.to_string())?;
    let took = begun.elapsed();
    thread::sleep(PUBLISHED_AFTER);
    let after = Sum::of(&runtime.report().threads);
    // Counts are far below 2^52.
    let requests = counted.requests.max(1) as f64;
    let clients = clients as f64;
    Ok(Echo {
        user_ns: (after.user_ns - before.user_ns) / requests,
        system_ns: (after.system_ns - before.system_ns) / requests,
        wakes: (after.wakes - before.wakes) / requests,
        write_ns: median(counted.writes),
        latency_ns: took.as_secs_f64() * 1e9 / requests * clients,
    })
}

/// The counts of all threads so far.
struct Sum {
    user_ns: f64,
    system_ns: f64,
    wakes: f64,
}

impl Sum {
    fn of(threads: &[ThreadReport]) -> Self {
        let ns = |time: fn(&ThreadReport) -> Duration| {
            threads.iter().map(time).sum::<Duration>().as_secs_f64() * 1e9
        };
        // A count of some seconds is far below 2^52.
        let wakes = threads.iter().map(|thread| thread.wakes).sum::<u64>() as f64;
        Self { user_ns: ns(|thread| thread.user), system_ns: ns(|thread| thread.system), wakes }
    }
}

/// Connections of one thread, each with one request under way.
struct Clients {
    poll: OwnedFd,
    connections: Vec<Connection>,
    request: Vec<u8>,
    reply_size: usize,
}

struct Connection {
    stream: TcpStream,
    /// Bytes of the reply that have not come.
    missing: usize,
}

#[derive(Default)]
struct Counted {
    requests: u64,
    /// Nanoseconds of each `write`.
    writes: Vec<f64>,
}

impl Clients {
    fn connect(address: SocketAddr, count: usize, reply_size: usize) -> std::io::Result<Self> {
        let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let mut connections = Vec::new();
        for token in 0..count {
            let stream = connect(address)?;
            stream.set_nodelay(true)?;
            stream.set_nonblocking(true)?;
            epoll::add(&poll, &stream, epoll::EventData::new_u64(token as u64), epoll::EventFlags::IN)?;
            connections.push(Connection { stream, missing: 0 });
        }
        let mut request = Vec::new();
        PacketWriter::new(&mut request, 0).append_payload(&[b'q'; REQUEST_SIZE - 4]);
        Ok(Self { poll, connections, request, reply_size })
    }

    /// Sends and receives for so long; all answers have come when it returns.
    fn run(&mut self, time: Duration) -> std::io::Result<Counted> {
        let (begun, mut counted) = (Instant::now(), Counted::default());
        let mut events = Vec::with_capacity(EVENT_COUNT_MAX);
        let mut received = vec![0; LONG_REPLY_SIZE];
        let mut under_way = 0;
        for place in 0..self.connections.len() {
            self.send(place, &mut counted)?;
            under_way += 1;
        }
        while under_way > 0 {
            match epoll::wait(&self.poll, rustix::buffer::spare_capacity(&mut events), None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            for event in events.drain(..) {
                let place = usize::try_from(event.data.u64()).unwrap_or(0);
                if !self.connections[place].receive(&mut received)? {
                    continue;
                }
                counted.requests += 1;
                if begun.elapsed() < time {
                    self.send(place, &mut counted)?;
                } else {
                    under_way -= 1;
                }
            }
        }
        Ok(counted)
    }

    fn send(&mut self, place: usize, counted: &mut Counted) -> std::io::Result<()> {
        let connection = &mut self.connections[place];
        connection.missing = self.reply_size;
        let begun = Instant::now();
        // A small request always fits: the one before it was answered.
        connection.stream.write_all(&self.request)?;
        counted.writes.push(begun.elapsed().as_secs_f64() * 1e9);
        Ok(())
    }
}

impl Connection {
    /// Takes what has come; true if the reply is whole.
    fn receive(&mut self, buffer: &mut [u8]) -> std::io::Result<bool> {
        match self.stream.read(buffer) {
            Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
            Ok(size) => {
                self.missing = self.missing.saturating_sub(size);
                Ok(self.missing == 0)
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Connects as soon as the node lets it.
fn connect(address: SocketAddr) -> std::io::Result<TcpStream> {
    let end = Instant::now() + OPEN_LIMIT;
    loop {
        match TcpStream::connect(address) {
            Err(error) if error.kind() == ErrorKind::ConnectionRefused && Instant::now() < end => {
                thread::sleep(Duration::from_millis(1));
            }
            result => return result,
        }
    }
}

/// The median of half a round trip between two threads that look for items all the time.
fn hop(time: Duration) -> Result<f64, String> {
    let (mut there, from_here) = ring::<u32>(64);
    let (to_here, mut back) = ring::<u32>(64);
    thread::scope(|scope| {
        let other = scope.spawn(move || answer(from_here, to_here));
        let (begun, mut samples) = (Instant::now(), Vec::new());
        while begun.elapsed() < time || samples.len() < 10 {
            let sample = Instant::now();
            for trip in 1..=TRIPS {
                pass(&mut there, trip);
                await_item(&mut back);
            }
            samples.push(sample.elapsed().as_secs_f64() * 1e9 / f64::from(TRIPS) / 2.0);
        }
        pass(&mut there, 0);
        other.join().map_err(|_| "a thread panicked".to_owned())?;
        Ok(median(samples))
    })
}

/// Gives back each item until 0 comes.
fn answer(mut from: Consumer<u32>, mut to: Producer<u32>) {
    loop {
        let item = await_item(&mut from);
        if item == 0 {
            return;
        }
        pass(&mut to, item);
    }
}

fn pass(ring: &mut Producer<u32>, item: u32) {
    // One item is under way at a time: there is room.
    let _ = ring.push(item);
    ring.publish();
}

fn await_item(ring: &mut Consumer<u32>) -> u32 {
    loop {
        if let Some(item) = ring.pop() {
            return item;
        }
        std::hint::spin_loop();
    }
}
