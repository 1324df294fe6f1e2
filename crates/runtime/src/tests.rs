//! Whole runtimes with toy modules, real threads and loopback sockets. Nothing here asserts a time or sleeps to wait
//! for something: a test waits for what it wants to see, and [`PATIENCE`] only ends a test that has failed already.

use crate::{BoxedModule, Limits, Listeners, PeerConfig, Runtime, RuntimeConfig, SpinMethod};
use protocol::layout::{CpuShare, Layout, LayoutRequest};
use protocol::module::ConnectionAction;
use protocol::{
    Address, Budget, ConnectionId, Input, Module, ModuleKind, Outputs, ReceiveBuffer, RequestToRuntime,
    Signal,
};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use stdx::{Duration, Instant, Now};
use types::{Epoch, NodeId, TransactionId};

mod clients;
mod cluster;
mod encrypted_links;
mod memory_links;
mod strangers;

/// Ends tests that hang.
const PATIENCE: Duration = Duration::from_secs(30);
const DATA: &[ModuleKind] = &[
    ModuleKind::Sql,
    ModuleKind::Tc,
    ModuleKind::Ldm,
    ModuleKind::Query,
    ModuleKind::Main,
    ModuleKind::Membership,
];

/// The events that toys tell the test.
#[derive(Clone, PartialEq, Debug)]
enum Seen {
    Opened,
    Closed(protocol::CloseReason),
    SecurityChanged,
    Writable,
    Blocked,
    MemoryFull,
    LinkUp(NodeId),
    LinkDown(NodeId),
    ProcessExited(NodeId, u64),
    Deadline { late: bool },
    Signal(Address, u64),
    Report(protocol::RuntimeReport),
}

/// A module that obeys lines of text from its clients and answers numbers with numbers.
///
/// | line | what |
/// | --- | --- |
/// | `echo TEXT` | writes `TEXT` |
/// | `ask NODE KIND INSTANCE NUMBER` | sends the number there; writes `NUMBER` when it comes back |
/// | `tell NODE KIND INSTANCE NUMBER` | sends the number there by a signal that may wait; there is no answer |
/// | `flood COUNT NODE` | sends 0..COUNT to ldm 0 of the node; writes `flooded` when the last comes back |
/// | `big SIZE` | writes SIZE bytes, as fast as the client takes them |
/// | `pause` | pauses reading until the next deadline |
/// | `later US` | writes `later` at a deadline |
/// | `work SLICES` | works for that many slices; writes `worked` |
/// | `relief` | works until another thread may help; writes the number of its module |
/// | `tls` | starts TLS |
/// | `bye` | writes `bye` and closes |
/// | `reject` | writes `rejected` and closes, though the client may still be sending |
/// | `report`, `exit CODE` | asks the runtime |
struct Toy {
    me: Address,
    seen: Sender<Seen>,
    deadline: Option<Instant>,
    at_deadline: Vec<(ConnectionId, &'static str)>,
    big: Option<(ConnectionId, usize)>,
    asking: Vec<(u64, ConnectionId)>,
    flooding: Option<(ConnectionId, u64)>,
    working: Option<(ConnectionId, u64)>,
    overworked: Option<ConnectionId>,
    gate: Option<Arc<std::sync::Mutex<()>>>,
    handled: Arc<AtomicU64>,
    handled_at_echo: Arc<AtomicU64>,
}

const NUMBER_ANSWERED: u64 = 1 << 60;

impl Toy {
    fn obey(&mut self, now: Now, connection: ConnectionId, line: &str, outputs: &mut Outputs<u64>) {
        let mut words = line.split(' ');
        let verb = words.next().unwrap();
        let mut number = || words.next().unwrap().parse::<u64>().unwrap();
        match verb {
            "echo" => {
                self.handled_at_echo.store(self.handled.load(Ordering::SeqCst), Ordering::SeqCst);
                let reply = outputs.buffer(connection);
                reply.extend_from_slice(&line.as_bytes()[5..]);
                reply.push(b'\n');
            }
            "ask" | "tell" => {
                let node = NodeId(u16::try_from(number()).unwrap());
                let kind = [
                    ModuleKind::Sql,
                    ModuleKind::Tc,
                    ModuleKind::Ldm,
                    ModuleKind::Query,
                    ModuleKind::Main,
                    ModuleKind::Membership,
                ][usize::try_from(number()).unwrap()];
                let to = Address::new(node, kind, u8::try_from(number()).unwrap());
                let number = number();
                if verb == "tell" {
                    outputs.send(self.me, to, Signal::Confirm { transaction: TransactionId(number) });
                } else {
                    self.asking.push((number, connection));
                    outputs.send(self.me, to, Signal::EpochWanted { epoch: Epoch(number) });
                }
            }
            "flood" => {
                let (count, node) = (number(), NodeId(u16::try_from(number()).unwrap()));
                self.flooding = Some((connection, count));
                for number in 0..count {
                    let to = Address::new(node, ModuleKind::Ldm, 0);
                    outputs.send(self.me, to, Signal::EpochWanted { epoch: Epoch(number) });
                }
            }
            "big" => {
                self.big = Some((connection, usize::try_from(number()).unwrap()));
                self.go_on_big(outputs);
            }
            "pause" => {
                outputs.act(connection, ConnectionAction::PauseReading);
                self.at_deadline.push((connection, "resumed\n"));
                self.deadline = Some(now.monotonic);
            }
            "later" => {
                self.at_deadline.push((connection, "later\n"));
                self.deadline = Some(now.monotonic + Duration::from_micros(number()));
            }
            "work" => {
                self.working = Some((connection, number()));
                outputs.send(self.me, self.me, Signal::Continue(0));
            }
            "relief" => {
                self.overworked = Some(connection);
                outputs.send(self.me, self.me, Signal::Continue(1));
            }
            "tls" => outputs.act(connection, ConnectionAction::StartTls),
            "bye" => {
                outputs.buffer(connection).extend_from_slice(b"bye\n");
                outputs.act(connection, ConnectionAction::Close);
            }
            "reject" => {
                outputs.buffer(connection).extend_from_slice(b"rejected\n");
                outputs.act(connection, ConnectionAction::Reject);
            }
            "report" => outputs.request(RequestToRuntime::Report),
            "exit" => outputs.request(RequestToRuntime::Exit(u8::try_from(number()).unwrap())),
            _ => outputs.buffer(connection).extend_from_slice(b"what?\n"),
        }
    }

    fn obey_all(
        &mut self,
        now: Now,
        connection: ConnectionId,
        buffer: &mut ReceiveBuffer,
        outputs: &mut Outputs<u64>,
    ) {
        while let Some(end) = buffer.bytes().iter().position(|byte| *byte == b'\n') {
            let line = String::from_utf8_lossy(&buffer.bytes()[..end]).into_owned();
            buffer.consume(end + 1);
            self.obey(now, connection, &line, outputs);
            if line == "pause" || line == "tls" {
                // The rest is for later, or is not plaintext.
                break;
            }
        }
    }

    fn go_on_big(&mut self, outputs: &mut Outputs<u64>) {
        if let Some((connection, left)) = &mut self.big {
            while *left > 0 && !outputs.is_congested(*connection) {
                let size = (*left).min(10_000);
                outputs.buffer(*connection).extend((0..size).map(|_| b'x'));
                *left -= size;
            }
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "toys know four words")]
    fn on_signal(&mut self, envelope: &protocol::Envelope, budget: &mut Budget, outputs: &mut Outputs<u64>) {
        match envelope.signal {
            Signal::EpochWanted { epoch } => {
                if let Some(gate) = &self.gate {
                    drop(gate.lock().unwrap());
                }
                self.handled.fetch_add(1, Ordering::SeqCst);
                if self.me.kind != ModuleKind::Sql {
                    let _ = self.seen.send(Seen::Signal(self.me, epoch.0));
                }
                outputs.send(
                    self.me,
                    envelope.from,
                    Signal::EpochOpen { epoch: Epoch(epoch.0 | NUMBER_ANSWERED) },
                );
            }
            Signal::EpochOpen { epoch } => {
                let number = epoch.0 & !NUMBER_ANSWERED;
                if let Some((connection, count)) = self.flooding
                    && number + 1 == count
                {
                    outputs.buffer(connection).extend_from_slice(b"flooded\n");
                    self.flooding = None;
                }
                if let Some(place) = self.asking.iter().position(|(asked, _)| *asked == number) {
                    let (_, connection) = self.asking.remove(place);
                    outputs.buffer(connection).extend_from_slice(format!("{number}\n").as_bytes());
                }
            }
            Signal::Confirm { transaction } => {
                let _ = self.seen.send(Seen::Signal(self.me, transaction.0));
            }
            Signal::Continue(1) => {
                let Some(connection) = self.overworked else { return };
                match budget.relief.take() {
                    Some(module) => {
                        outputs.buffer(connection).extend_from_slice(format!("{module}\n").as_bytes())
                    }
                    None => outputs.send(self.me, self.me, Signal::Continue(1)),
                }
            }
            Signal::Continue(_) => {
                if let Some((connection, slices)) = &mut self.working {
                    budget.spend(budget.rows);
                    *slices -= 1;
                    if *slices == 0 {
                        outputs.buffer(*connection).extend_from_slice(b"worked\n");
                        self.working = None;
                    } else {
                        outputs.send(self.me, self.me, Signal::Continue(0));
                    }
                }
            }
            ref other => panic!("toys do not say {other:?}"),
        }
    }
}

impl Module for Toy {
    type Shared = u64;

    fn handle(&mut self, now: Now, input: Input<'_, u64>, budget: &mut Budget, outputs: &mut Outputs<u64>) {
        match input {
            Input::Start { seed } => {
                assert_ne!(seed, [0; 32]);
                if self.me.kind == ModuleKind::Main {
                    outputs.request(RequestToRuntime::OpenListeners);
                }
            }
            Input::Signal(envelope) => self.on_signal(&envelope, budget, outputs),
            Input::Shared { from, shared } => {
                let _ = self.seen.send(Seen::Signal(from, shared));
            }
            Input::Opened { .. } => drop(self.seen.send(Seen::Opened)),
            Input::Bytes { connection, buffer } => self.obey_all(now, connection, buffer, outputs),
            Input::SecurityChanged { .. } => drop(self.seen.send(Seen::SecurityChanged)),
            Input::Closed { reason, .. } => drop(self.seen.send(Seen::Closed(reason))),
            Input::Writable { .. } => {
                let _ = self.seen.send(Seen::Writable);
                self.go_on_big(outputs);
            }
            Input::Blocked { .. } => drop(self.seen.send(Seen::Blocked)),
            Input::MemoryFull { connection } => {
                let _ = self.seen.send(Seen::MemoryFull);
                outputs.buffer(connection).extend_from_slice(b"full\n");
                outputs.act(connection, ConnectionAction::Reject);
            }
            Input::LinkUp { node } => drop(self.seen.send(Seen::LinkUp(node))),
            Input::LinkDown { node } => drop(self.seen.send(Seen::LinkDown(node))),
            Input::DiskDone { .. } | Input::PasswordKey { .. } => {}
            Input::ProcessExited { node, start } => {
                drop(self.seen.send(Seen::ProcessExited(node, start)));
            }
            Input::Report(report) => drop(self.seen.send(Seen::Report(*report))),
            Input::StopRequested => outputs.request(RequestToRuntime::Exit(7)),
            Input::Deadline => {
                let Some(deadline) = self.deadline.filter(|deadline| *deadline <= now.monotonic) else {
                    return;
                };
                let _ = self.seen.send(Seen::Deadline { late: now.monotonic >= deadline });
                self.deadline = None;
                for (connection, reply) in self.at_deadline.drain(..) {
                    outputs.buffer(connection).extend_from_slice(reply.as_bytes());
                    outputs.act(connection, ConnectionAction::ResumeReading);
                }
            }
        }
    }

    fn deadline(&self) -> Option<Instant> {
        self.deadline
    }
}

/// A node of toys.
pub(crate) struct Node {
    pub(crate) runtime: Option<Runtime>,
    seen: Receiver<Seen>,
    logged: Receiver<String>,
    handled_at_echo: Arc<AtomicU64>,
    gate: Arc<std::sync::Mutex<()>>,
}

/// The choices of a test.
pub(crate) struct Setup {
    pub(crate) node: u16,
    pub(crate) thread_config: Option<&'static str>,
    pub(crate) cpu_count: u16,
    pub(crate) limits: Limits,
    pub(crate) mysql_unix: Option<PathBuf>,
    pub(crate) cluster_unix: Option<PathBuf>,
    pub(crate) cluster_port: u16,
    pub(crate) peers: Vec<PeerConfig>,
    pub(crate) tls: Option<crate::TlsIdentity>,
    pub(crate) keys: Option<crate::keys::NodeKeys>,
    pub(crate) spin: SpinMethod,
    pub(crate) cluster: &'static str,
    pub(crate) memory: Option<Arc<memory::MemoryManager>>,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            node: 1,
            thread_config: None,
            cpu_count: 2,
            limits: Limits::default(),
            mysql_unix: None,
            cluster_unix: None,
            cluster_port: 0,
            peers: Vec::new(),
            tls: None,
            keys: None,
            spin: SpinMethod::NoSpinning,
            cluster: "toys",
            memory: None,
        }
    }
}

fn loopback(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}

impl Setup {
    fn config(&self) -> RuntimeConfig {
        let share = CpuShare { workers: self.cpu_count, ldm_count: self.cpu_count, ..CpuShare::ONE };
        let request = LayoutRequest { thread_config: self.thread_config, share, cpus: &[], kinds: DATA };
        RuntimeConfig {
            node: NodeId(self.node),
            cluster: self.cluster.to_owned(),
            start: u64::from(self.node),
            layout: Layout::plan(&request).unwrap(),
            spin: self.spin,
            cluster_tcp: Some(loopback(self.cluster_port)),
            cluster_unix: self.cluster_unix.clone(),
            peers: self.peers.clone(),
            listeners: Listeners {
                mysql_tcp: Some(loopback(0)),
                mysql_unix: self.mysql_unix.clone(),
                management_tcp: Some(loopback(0)),
                password_key: None,
            },
            tls: self.tls.clone(),
            keys: self.keys.clone(),
            management_requires_tls: false,
            source: None,
            limits: self.limits.clone(),
            memory: self.memory.clone(),
            log: Arc::new(|event| println!("{:?} {}", event.severity, event.message)),
        }
    }

    pub(crate) fn start(&self) -> Node {
        let (log, logged) = channel();
        let mut config = self.config();
        config.log = Arc::new(move |event| {
            println!("{:?} {}", event.severity, event.message);
            let _ = log.send(event.message.clone());
        });
        let (sender, seen) = channel();
        let handled = Arc::new(AtomicU64::new(0));
        let handled_at_echo = Arc::new(AtomicU64::new(u64::MAX));
        let gate = Arc::new(std::sync::Mutex::new(()));
        let modules = config.layout.modules().map(|(kind, instance)| {
            let me = Address::new(config.node, kind, instance);
            let toy = Toy {
                me,
                seen: sender.clone(),
                deadline: None,
                at_deadline: Vec::new(),
                big: None,
                asking: Vec::new(),
                flooding: None,
                working: None,
                overworked: None,
                gate: (kind == ModuleKind::Ldm).then(|| Arc::clone(&gate)),
                handled: Arc::clone(&handled),
                handled_at_echo: Arc::clone(&handled_at_echo),
            };
            (me, Box::new(toy) as BoxedModule<u64>)
        });
        let modules = modules.collect();
        let runtime = Some(Runtime::start(config, modules, None).unwrap());
        Node { runtime, seen, logged, handled_at_echo, gate }
    }
}

impl Node {
    pub(crate) fn runtime(&self) -> &Runtime {
        self.runtime.as_ref().unwrap()
    }

    /// Waits until a toy tells this.
    fn until(&self, mut wanted: impl FnMut(&Seen) -> bool) -> Seen {
        loop {
            let seen = self.seen.recv_timeout(PATIENCE).expect("a toy tells what the test waits for");
            if wanted(&seen) {
                return seen;
            }
        }
    }

    pub(crate) fn client(&self) -> Client<TcpStream> {
        let address = self.runtime().addresses().mysql.unwrap();
        Client::new(connect(address))
    }
}

/// A port that listens only once its node is ready refuses before: that is not a failure, it is a client's life.
fn connect(address: SocketAddr) -> TcpStream {
    for _ in 0..100_000 {
        match TcpStream::connect(address) {
            Ok(stream) => {
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
                return stream;
            }
            Err(_) => std::thread::yield_now(),
        }
    }
    panic!("{address} does not listen");
}

/// Talks lines.
pub(crate) struct Client<T> {
    stream: T,
    received: Vec<u8>,
}

impl<T: Read + Write> Client<T> {
    fn new(stream: T) -> Self {
        Self { stream, received: Vec::new() }
    }

    pub(crate) fn say(&mut self, line: &str) {
        self.stream.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    pub(crate) fn hear(&mut self) -> String {
        loop {
            if let Some(end) = self.received.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.received.drain(..=end).collect();
                return String::from_utf8_lossy(&line[..end]).into_owned();
            }
            let mut bytes = [0; 4096];
            let count = self.stream.read(&mut bytes).unwrap();
            assert_ne!(count, 0, "the node closed the connection");
            self.received.extend_from_slice(&bytes[..count]);
        }
    }

    pub(crate) fn ask(&mut self, line: &str) -> String {
        self.say(line);
        self.hear()
    }
}
