//! The cost of the runtime: an echo module behind it, a bare epoll loop beside it, the same clients on both.
//!
//! ```text
//! cargo run --release -p runtime --example echo -- [CLIENTS] [SECONDS] [THREADS] [SPIN_METHOD]
//! cargo run --release -p runtime --example echo -- idle [SECONDS]
//! cargo run --release -p runtime --example echo -- linked [CLIENTS] [SECONDS] [THREADS] [SPIN_METHOD]
//! ```
//! Prints requests per second, server CPU per request, system calls, rounds and wakes per request. Clients send 40
//! bytes and wait for 120, which is about a point select. `linked` asks another node for each request.
#![expect(clippy::print_stdout, reason = "a tool that prints its measurement")]

use protocol::layout::{CpuShare, Layout, LayoutRequest};
use protocol::{
    Address, Budget, ConnectionId, Input, Module, ModuleKind, NodeRole, Outputs, RequestToRuntime, Signal,
};
use runtime::{BoxedModule, Limits, Listeners, PeerConfig, Runtime, RuntimeConfig, SpinMethod};
use rustix::event::epoll;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;
use stdx::{Duration, Now};
use types::{Epoch, NodeId};

const REQUEST: [u8; 40] = [b'q'; 40];
const REPLY: [u8; 120] = [b'r'; 120];

struct Echo {
    me: Address,
    /// Asked for each request.
    peer: Option<NodeId>,
}

impl Module for Echo {
    type Shared = ();

    #[expect(clippy::wildcard_enum_match_arm, reason = "an echo hears little")]
    fn handle(&mut self, _: Now, input: Input<'_, ()>, _: &mut Budget, outputs: &mut Outputs<()>) {
        match input {
            Input::Start { .. } if self.me.kind == ModuleKind::Main => {
                outputs.request(RequestToRuntime::OpenListeners);
            }
            Input::Bytes { connection, buffer } => {
                let count = buffer.bytes().len() / REQUEST.len();
                buffer.consume(count * REQUEST.len());
                for _ in 0..count {
                    match self.peer {
                        None => outputs.buffer(connection).extend_from_slice(&REPLY),
                        Some(peer) => {
                            let epoch =
                                Epoch((u64::from(connection.slot) << 32) | u64::from(connection.generation));
                            let to = Address { node: peer, ..self.me };
                            outputs.send(self.me, to, Signal::EpochWanted { epoch });
                        }
                    }
                }
            }
            Input::Signal(envelope) => match envelope.signal {
                Signal::EpochWanted { epoch } => {
                    outputs.send(self.me, envelope.from, Signal::EpochOpen { epoch })
                }
                Signal::EpochOpen { epoch: Epoch(connection) } => {
                    let (slot, generation) = (connection >> 32, connection & 0xffff_ffff);
                    if let (Ok(slot), Ok(generation)) = (u32::try_from(slot), u32::try_from(generation)) {
                        outputs.buffer(ConnectionId { slot, generation }).extend_from_slice(&REPLY);
                    }
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

fn start(threads: u16, spin: SpinMethod, (node, peer): (u16, Option<u16>)) -> Option<Runtime> {
    let kinds = [ModuleKind::Sql, ModuleKind::Main, ModuleKind::Membership];
    let node = NodeId(node);
    let at = |node: u16| std::env::temp_dir().join(format!("latsdb-echo-{}-{node}", std::process::id()));
    let to = |peer| PeerConfig {
        node: NodeId(peer),
        host: "127.0.0.1".to_owned(),
        port: 1,
        unix: Some(at(peer)),
        role: NodeRole::Data,
        requires_tls: false,
    };
    let share = CpuShare { workers: threads, ldm_count: threads, ..CpuShare::ONE };
    let layout =
        Layout::plan(&LayoutRequest { thread_config: None, share, cpus: &[], kinds: &kinds }).ok()?;
    let modules = layout.modules().map(|(kind, instance)| {
        let module: BoxedModule<()> =
            Box::new(Echo { me: Address::new(node, kind, instance), peer: peer.map(NodeId) });
        (Address::new(node, kind, instance), module)
    });
    let modules = modules.collect();
    let config = RuntimeConfig {
        node,
        cluster: "echo".to_owned(),
        start: 0,
        layout,
        spin,
        cluster_tcp: None,
        cluster_unix: peer.map(|_| at(node.0)),
        peers: peer.map(to).into_iter().collect(),
        listeners: Listeners {
            mysql_tcp: Some(SocketAddr::from(([127, 0, 0, 1], 0))),
            ..Listeners::default()
        },
        tls: None,
        keys: None,
        management_requires_tls: false,
        source: None,
        limits: Limits::default(),
        memory: None,
        log: Arc::new(|event| println!("{}", event.message)),
    };
    Runtime::start(config, modules, None).ok()
}

/// The least that a server can do: one thread, epoll, one read, one write.
fn floor_server(listener: &TcpListener, stop: &AtomicBool, cpu_ns: &AtomicU64) -> rustix::io::Result<()> {
    let epoll_fd = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let _ = listener.set_nonblocking(true);
    epoll::add(&epoll_fd, listener, epoll::EventData::new_u64(u64::MAX), epoll::EventFlags::IN)?;
    let mut streams: Vec<OwnedFd> = Vec::new();
    let mut events = Vec::with_capacity(128);
    let mut bytes = vec![0; 65536];
    let mut reply = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let timeout = rustix::time::Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
        epoll::wait(&epoll_fd, rustix::buffer::spare_capacity(&mut events), Some(&timeout))?;
        for event in events.drain(..) {
            let index = event.data.u64();
            if index == u64::MAX {
                if let Ok((stream, _)) = listener.accept() {
                    let _ = stream.set_nodelay(true);
                    let data = epoll::EventData::new_u64(streams.len() as u64);
                    epoll::add(&epoll_fd, &stream, data, epoll::EventFlags::IN | epoll::EventFlags::ET)?;
                    streams.push(stream.into());
                }
                continue;
            }
            let stream = &streams[usize::try_from(index).unwrap_or(0)];
            let count = rustix::io::read(stream, &mut bytes[..]).unwrap_or(0);
            reply.clear();
            for _ in 0..count / REQUEST.len() {
                reply.extend_from_slice(&REPLY);
            }
            let _ = rustix::io::write(stream, &reply);
        }
    }
    let spent = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let spent = spent.tv_sec * 1_000_000_000 + spent.tv_nsec;
    cpu_ns.store(u64::try_from(spent).unwrap_or(0), Ordering::Relaxed);
    Ok(())
}

fn client(address: SocketAddr, in_flight: usize, stop: &AtomicBool) -> std::io::Result<u64> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    let request: Vec<u8> = REQUEST.repeat(in_flight);
    let mut reply = vec![0; REPLY.len() * in_flight];
    let mut done = 0;
    while !stop.load(Ordering::Relaxed) {
        stream.write_all(&request)?;
        stream.read_exact(&mut reply)?;
        done += in_flight as u64;
    }
    Ok(done)
}

/// Requests done and seconds taken.
fn load(address: SocketAddr, clients: usize, in_flight: usize, time: Duration) -> (f64, f64) {
    let stop = AtomicBool::new(false);
    let start = Instant::now();
    let done: u64 = std::thread::scope(|scope| {
        let running: Vec<_> =
            (0..clients).map(|_| scope.spawn(|| client(address, in_flight, &stop).unwrap_or(0))).collect();
        std::thread::park_timeout(time);
        stop.store(true, Ordering::Relaxed);
        running.into_iter().map(|thread| thread.join().unwrap_or(0)).sum()
    });
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    (done as f64, start.elapsed().as_secs_f64())
}

#[expect(clippy::cast_precision_loss, reason = "for people")]
fn measure_runtime(
    (clients, in_flight): (usize, usize),
    time: Duration,
    threads: u16,
    spin: SpinMethod,
    peer: Option<u16>,
) {
    let Some(runtime) = start(threads, spin, (1, peer)) else { return };
    let other = peer.and_then(|peer| start(threads, spin, (peer, Some(1))));
    let address = runtime.addresses().mysql;
    let Some(address) = address else { return };
    while TcpStream::connect(address).is_err() {
        std::thread::yield_now();
    }
    // Links come up meanwhile.
    std::thread::park_timeout(Duration::from_millis(100));
    let (done, seconds) = load(address, clients, in_flight, time);
    // Figures are published 10 ms after a thread fell asleep.
    std::thread::park_timeout(Duration::from_millis(50));
    let mut threads = runtime.report().threads;
    threads.extend(other.iter().flat_map(|other| other.report().threads));
    let sum =
        |count: fn(&protocol::ThreadReport) -> u64| threads.iter().map(count).sum::<u64>() as f64 / done;
    println!(
        "runtime: {:>8.0}/s  {:.2} µs CPU ({:.2} user)  {:.2} system calls  {:.2} rounds  {:.2} wakes per request",
        done / seconds,
        sum(|thread| u64::try_from((thread.user + thread.system).as_nanos()).unwrap_or(0)) / 1000.0,
        sum(|thread| u64::try_from(thread.user.as_nanos()).unwrap_or(0)) / 1000.0,
        sum(|thread| thread.system_calls),
        sum(|thread| thread.rounds),
        sum(|thread| thread.wakes),
    );
}

#[expect(clippy::cast_precision_loss, reason = "for people")]
fn measure_floor(clients: usize, in_flight: usize, time: Duration) -> std::io::Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let address = listener.local_addr()?;
    let (stop, cpu_ns) = (AtomicBool::new(false), AtomicU64::new(0));
    let (done, seconds) = std::thread::scope(|scope| {
        scope.spawn(|| floor_server(&listener, &stop, &cpu_ns));
        let result = load(address, clients, in_flight, time);
        stop.store(true, Ordering::Relaxed);
        result
    });
    let cpu = cpu_ns.load(Ordering::Relaxed) as f64 / 1000.0 / done;
    println!("floor:   {:>8.0}/s  {cpu:.2} µs CPU per request (one thread)", done / seconds);
    Ok(())
}

/// Memory of 1000 connections that have been used once, and CPU time while nothing happens.
fn measure_idle(seconds: u64) {
    let Some(runtime) = start(2, SpinMethod::CostBasedSpinning, (1, None)) else { return };
    let Some(address) = runtime.addresses().mysql else { return };
    while TcpStream::connect(address).is_err() {
        std::thread::yield_now();
    }
    let before = resident_kib();
    let mut streams = Vec::new();
    for _ in 0..1000 {
        let Ok(mut stream) = TcpStream::connect(address) else { return };
        let _ = stream.write_all(&REQUEST.repeat(100));
        let _ = stream.read_exact(&mut [0; REPLY.len() * 100]);
        streams.push(stream);
    }
    std::thread::park_timeout(Duration::from_secs(2));
    println!("1000 idle connections: {} KiB", resident_kib().saturating_sub(before));
    let cpu_us = || {
        let spent = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        spent.tv_sec * 1_000_000 + spent.tv_nsec / 1000
    };
    let before = cpu_us();
    std::thread::park_timeout(Duration::from_secs(seconds));
    println!("idle: {} µs CPU in {seconds} s", cpu_us() - before);
}

fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0)
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number =
        |index: usize, default| arguments.get(index).and_then(|text| text.parse().ok()).unwrap_or(default);
    if arguments.first().is_some_and(|first| first == "idle") {
        measure_idle(number(1, 5));
        return;
    }
    let is_linked = arguments.first().is_some_and(|first| first == "linked");
    let first = usize::from(is_linked);
    let (clients, seconds) = (number(first, 1), number(first + 1, 2));
    let threads = u16::try_from(number(first + 2, 1)).unwrap_or(1);
    let spin = arguments.get(first + 3).and_then(|text| text.parse().ok()).unwrap_or_default();
    let (clients, time) = (usize::try_from(clients).unwrap_or(1), Duration::from_secs(seconds));
    for in_flight in [1, 64] {
        println!("{clients} clients, {in_flight} in flight each, {threads} threads, {spin:?}");
        if is_linked {
            measure_runtime((clients, in_flight), time, threads, spin, Some(2));
            continue;
        }
        if let Err(error) = measure_floor(clients, in_flight, time) {
            println!("floor: {error}");
        }
        measure_runtime((clients, in_flight), time, threads, spin, None);
    }
}
