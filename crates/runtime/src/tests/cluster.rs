//! Several runtimes in one process, linked.

use super::{Node, PATIENCE, Seen, Setup, connect, loopback};
use crate::{Limits, PeerConfig};
use protocol::transport::{
    Hello, Notice, decode_envelope, decode_hello, encode_envelope, encode_hello, encode_notice,
    encode_ring_mark, next_frame,
};
use protocol::{Address, Envelope, ModuleKind, NodeRole, Signal};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use types::{Epoch, NodeId};

/// A port that was free a moment ago.
pub(super) fn free_port() -> u16 {
    let [port] = free_ports();
    port
}

/// Several, each another one. No port is given out twice: nodes of a test that has ended may still try to connect. The
/// system gives ports below 32 768 to no outgoing connection.
fn free_ports<const COUNT: usize>() -> [u16; COUNT] {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    [(); COUNT].map(|()| {
        loop {
            let number =
                std::process::id().wrapping_mul(97).wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
            let port = u16::try_from(15_000 + number % 17_000).unwrap();
            if std::net::TcpListener::bind(loopback(port)).is_ok() {
                return port;
            }
        }
    })
}

pub(super) fn peer(node: u16, port: u16, unix: Option<PathBuf>) -> PeerConfig {
    let host = "127.0.0.1".to_owned();
    PeerConfig { node: NodeId(node), host, port, unix, role: NodeRole::Data, requires_tls: false }
}

pub(super) fn pair(first: Setup, second: Setup) -> (Setup, Setup) {
    let ports = free_ports::<2>();
    let peers = (
        vec![peer(2, ports[1], second.cluster_unix.clone())],
        vec![peer(1, ports[0], first.cluster_unix.clone())],
    );
    (
        Setup { node: 1, cluster_port: ports[0], peers: peers.0, ..first },
        Setup { node: 2, cluster_port: ports[1], peers: peers.1, ..second },
    )
}

pub(super) fn wait_up(one: &Node, two: &Node) {
    one.until(|seen| *seen == Seen::LinkUp(NodeId(2)));
    two.until(|seen| *seen == Seen::LinkUp(NodeId(1)));
}

/// Every module of the other node can be asked, and answers to the module that asked.
pub(super) fn ask_everywhere(node: &Node, other: u16, counts: [u64; 6]) {
    for _ in 0..2 {
        let mut client = node.client();
        let mut number = 0;
        for (kind, count) in (0..).zip(counts) {
            for instance in 0..count {
                number += 1;
                assert_eq!(
                    client.ask(&format!("ask {other} {kind} {instance} {number}")),
                    number.to_string()
                );
            }
        }
    }
}

/// The number of `ldm` in what toys are told.
const LDM: u64 = 2;
const RECEIVE: Option<&str> = Some("recv={count=2}");
const PIPELINE: Option<&str> =
    Some("ldm={count=2},query={count=1},tc={count=1},recv={count=2},main={count=1}");
pub(super) const RECEIVE_COUNTS: [u64; 6] = [2, 2, 2, 2, 1, 1];
const PIPELINE_COUNTS: [u64; 6] = [2, 1, 2, 1, 1, 1];

#[test]
fn signals_reach_every_module_through_any_pair_of_layouts() {
    for links_per_peer_max in [256, 1] {
        let limits = Limits { links_per_peer_max, ..Limits::default() };
        let (one, two) = pair(
            Setup { thread_config: RECEIVE, limits: limits.clone(), ..Setup::default() },
            Setup { thread_config: PIPELINE, limits, ..Setup::default() },
        );
        let (one, two) = (one.start(), two.start());
        wait_up(&one, &two);
        ask_everywhere(&one, 2, PIPELINE_COUNTS);
        ask_everywhere(&two, 1, RECEIVE_COUNTS);
        assert_eq!(one.runtime().counters(), crate::RuntimeCounters::default());
    }
}

#[test]
fn a_signal_that_may_wait_arrives_in_its_place_and_alone_if_nothing_follows() {
    let (one, two) = pair(
        Setup { thread_config: PIPELINE, ..Setup::default() },
        Setup { thread_config: PIPELINE, ..Setup::default() },
    );
    let (one, two) = (one.start(), two.start());
    wait_up(&one, &two);
    let mut client = one.client();
    for (to, node) in [(1, &one), (2, &two)] {
        for instance in 0..2 {
            // Nothing follows.
            client.say(&format!("tell {to} {LDM} {instance} 7"));
            node.until(|seen| matches!(seen, Seen::Signal(_, 7)));
            // The next signal overtakes nothing.
            client.say(&format!("tell {to} {LDM} {instance} 1"));
            client.say(&format!("tell {to} {LDM} {instance} 2"));
            assert_eq!(client.ask(&format!("ask {to} {LDM} {instance} 3")), "3");
            for number in 1..=3 {
                let seen = node.until(|seen| matches!(seen, Seen::Signal(_, 1..=3)));
                assert!(matches!(seen, Seen::Signal(_, seen) if seen == number), "{seen:?}");
            }
        }
    }
}

#[test]
fn much_for_a_peer_that_takes_it_waits_and_arrives() {
    let limits = || Limits { link_buffer_high: 8 << 10, link_buffer_max: 16 << 10, ..Limits::default() };
    let (one, two) =
        pair(Setup { limits: limits(), ..Setup::default() }, Setup { limits: limits(), ..Setup::default() });
    let (one, two) = (one.start(), two.start());
    wait_up(&one, &two);
    // All of it is made in one handler call.
    assert_eq!(one.client().ask("flood 20000 2"), "flooded");
    assert_eq!(one.runtime().counters(), crate::RuntimeCounters::default());
}

#[test]
fn what_peers_send_to_a_thread_that_takes_nothing_stays_with_them() {
    const COUNT: u64 = 100_000;
    // One link: what comes by it for the ldm goes on through a ring.
    let limits = Limits { links_per_peer_max: 1, link_memory: 0, ..Limits::default() };
    let small = Limits { ring_capacity: 16, ring_spill_max: 20_000, ..limits.clone() };
    let (one, two) = pair(
        Setup { limits, ..Setup::default() },
        Setup { thread_config: PIPELINE, limits: small, ..Setup::default() },
    );
    let (one, two) = (one.start(), two.start());
    wait_up(&one, &two);
    let closed = two.gate.lock().unwrap();
    let (mut flooder, mut other) = (one.client(), one.client());
    flooder.say(&format!("flood {COUNT} 2"));
    // Each round sends some of it; without a limit all would be in the other node long before the last one.
    for round in 0..2_000 {
        assert_eq!(other.ask(&format!("echo {round}")), round.to_string());
    }
    drop(closed);
    assert_eq!(flooder.hear(), "flooded");
}

#[test]
fn a_unix_socket_is_preferred_and_tcp_taken_without_it() {
    let path = |name: &str| std::env::temp_dir().join(format!("latsdb-link-{}-{name}", std::process::id()));
    let (mut one, two) = pair(
        Setup { cluster_unix: Some(path("one")), ..Setup::default() },
        Setup { cluster_unix: Some(path("two")), ..Setup::default() },
    );
    // The path is known to the other, but only one of the two nodes is there: links must go over TCP once the path is
    // wrong.
    {
        let (one, two) = (one.start(), two.start());
        wait_up(&one, &two);
        ask_everywhere(&two, 1, RECEIVE_COUNTS);
    }
    one.cluster_unix = None;
    let (one, two) = (one.start(), two.start());
    wait_up(&one, &two);
    ask_everywhere(&two, 1, RECEIVE_COUNTS);
}

#[test]
fn a_lost_node_is_noticed_and_welcomed_back() {
    let (one_setup, two_setup) =
        pair(Setup::default(), Setup { thread_config: PIPELINE, ..Setup::default() });
    let one = one_setup.start();
    // Nobody is there yet: what is sent is dropped and counted.
    one.client().say("ask 2 5 0 999");
    while one.runtime().counters().dropped == 0 {
        std::thread::yield_now();
    }
    for _ in 0..3 {
        let two = two_setup.start();
        wait_up(&one, &two);
        ask_everywhere(&one, 2, PIPELINE_COUNTS);
        drop(two);
        one.until(|seen| *seen == Seen::LinkDown(NodeId(2)));
    }
    // The other way round: the node that connects stays.
    let two = two_setup.start();
    wait_up(&one, &two);
    drop(one);
    two.until(|seen| *seen == Seen::LinkDown(NodeId(1)));
    let one = one_setup.start();
    wait_up(&one, &two);
    ask_everywhere(&two, 1, RECEIVE_COUNTS);
}

#[test]
fn a_node_that_ends_in_order_says_farewell() {
    let (one, two) = pair(Setup { thread_config: PIPELINE, ..Setup::default() }, Setup::default());
    let (one, two) = (one.start(), two.start());
    wait_up(&one, &two);
    two.client().say("exit 0");
    one.until(|seen| *seen == Seen::ProcessExited(NodeId(2), 2));
}

#[test]
fn an_angel_is_believed_if_it_knows_the_cluster() {
    let (one, two) = pair(Setup::default(), Setup::default());
    let port = one.cluster_port;
    let (one, two) = (one.start(), two.start());
    wait_up(&one, &two);
    let say = |cluster: &str, start| {
        let notice = Notice::ProcessExited { cluster: cluster.to_owned(), node: NodeId(2), start };
        let mut bytes = Vec::new();
        encode_notice(&notice, &mut bytes);
        std::net::TcpStream::connect(loopback(port)).unwrap().write_all(&bytes).unwrap();
    };
    say("others", 7);
    say("toys", 8);
    one.until(|seen| {
        assert_ne!(*seen, Seen::ProcessExited(NodeId(2), 7), "of another cluster");
        *seen == Seen::ProcessExited(NodeId(2), 8)
    });
}

#[test]
fn three_nodes_and_one_of_them_by_name() {
    let ports = free_ports::<3>();
    let setup = |node: u16| {
        let others = (1..=3).filter(|other| *other != node);
        let peers = others.map(|other| {
            let mut peer = peer(other, ports[usize::from(other) - 1], None);
            if other == 1 {
                peer.host = "localhost".to_owned();
            }
            peer
        });
        Setup { node, cluster_port: ports[usize::from(node) - 1], peers: peers.collect(), ..Setup::default() }
    };
    let nodes: Vec<Node> = (1..=3).map(|node| setup(node).start()).collect();
    for node in &nodes {
        let mut up = 0;
        while up < 2 {
            node.until(|seen| matches!(seen, Seen::LinkUp(_)));
            up += 1;
        }
    }
    for (index, node) in nodes.iter().enumerate() {
        for other in (1..=3).filter(|other| usize::from(*other) != index + 1) {
            ask_everywhere(node, other, RECEIVE_COUNTS);
        }
    }
}

pub(super) fn hello(cluster: &str, node: u16, to: u16) -> Hello {
    Hello {
        cluster: cluster.to_owned(),
        node: NodeId(node),
        start: u64::from(node),
        to: NodeId(to),
        from_thread: 0,
        to_thread: 0,
        threads: vec![vec![protocol::Address::membership(NodeId(node))]],
    }
}

#[test]
fn garbage_on_the_cluster_port_harms_nobody() {
    let (one, two) = pair(Setup::default(), Setup::default());
    let port = one.cluster_port;
    let (one, two) = (one.start(), two.start());
    wait_up(&one, &two);
    let framed = |hello: &Hello| {
        let mut bytes = Vec::new();
        encode_hello(hello, &mut bytes);
        bytes
    };
    let mut corrupt = framed(&hello("toys", 2, 1));
    *corrupt.last_mut().unwrap() ^= 1;
    let mut truncated = framed(&hello("toys", 2, 1));
    truncated.truncate(20);
    let mut bad_thread = hello("toys", 2, 1);
    bad_thread.to_thread = 9;
    let mut second_link = hello("toys", 2, 1);
    second_link.to_thread = 1;
    let rubbish: Vec<Vec<u8>> = vec![
        b"GET / HTTP/1.1\r\nHost: you\r\n\r\n".to_vec(),
        vec![0; 100_000],
        vec![0xff; 64],
        Vec::new(),
        corrupt,
        truncated,
        framed(&hello("other", 2, 1)),
        framed(&hello("toys", 9, 1)),
        framed(&hello("toys", 2, 7)),
        framed(&hello("toys", 1, 1)),
        framed(&bad_thread),
        framed(&second_link),
    ];
    for bytes in &rubbish {
        let refused = one.runtime().counters().strangers_refused;
        let mut stream = connect(loopback(port));
        let _ = stream.write_all(bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        // Refused: the node closes, and says nothing.
        assert!(matches!(stream.read(&mut [0; 64]), Ok(0) | Err(_)), "{bytes:?}");
        // It closes when it has counted.
        assert!(one.runtime().counters().strangers_refused > refused, "{bytes:?} is not counted");
        // An abrupt end as well.
        drop(connect(loopback(port)));
    }
    assert_eq!(one.runtime().counters().links_refused, 0);
    // The real links did not notice.
    ask_everywhere(&one, 2, RECEIVE_COUNTS);
    ask_everywhere(&two, 1, RECEIVE_COUNTS);
    assert!(one.seen.try_iter().chain(two.seen.try_iter()).all(|seen| !matches!(seen, Seen::LinkDown(_))));
}

/// One link of a peer that the test plays.
struct Played {
    stream: TcpStream,
    received: Vec<u8>,
}

impl Played {
    fn new(stream: TcpStream) -> Self {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self { stream, received: Vec::new() }
    }

    fn say(&mut self, frame: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = Vec::new();
        frame(&mut bytes);
        self.stream.write_all(&bytes).unwrap();
    }

    /// The payload of the next frame.
    fn hear(&mut self) -> Vec<u8> {
        loop {
            if let Some((payload, size)) = next_frame(&self.received).unwrap() {
                let payload = payload.to_vec();
                self.received.drain(..size);
                return payload;
            }
            let mut bytes = [0; 512];
            let count = self.stream.read(&mut bytes).unwrap();
            assert_ne!(count, 0);
            self.received.extend_from_slice(&bytes[..count]);
        }
    }

    fn is_closed(&mut self) -> bool {
        let mut bytes = [0; 512];
        loop {
            match self.stream.read(&mut bytes) {
                Ok(0) => return true,
                Ok(_) => {}
                Err(error) => return error.kind() == std::io::ErrorKind::ConnectionReset,
            }
        }
    }
}

/// The hello of a peer with two threads, the first of which has its `membership`.
fn hello_of_two_threads(node: u16, to: u16, from_thread: u16, to_thread: u16) -> Hello {
    let ldm = Address::new(NodeId(node), ModuleKind::Ldm, 0);
    let threads = vec![vec![Address::membership(NodeId(node))], vec![ldm]];
    Hello { from_thread, to_thread, threads, ..hello("toys", node, to) }
}

/// The thread that supervises a node's links.
fn supervising(hello: &Hello) -> u16 {
    let is_there = |modules: &Vec<Address>| modules.contains(&Address::membership(hello.node));
    u16::try_from(hello.threads.iter().position(is_there).unwrap()).unwrap()
}

fn question(from: u16, to: u16, number: u64) -> Envelope {
    Envelope {
        from: Address::membership(NodeId(from)),
        to: Address::membership(NodeId(to)),
        view: types::ViewNumber(0),
        epoch: Epoch(0),
        signal: Signal::EpochWanted { epoch: Epoch(number) },
    }
}

type Frame<'a> = &'a dyn Fn(&mut Vec<u8>);

#[test]
fn a_bad_frame_by_one_of_several_links_to_the_supervising_thread_harms_no_other_peer() {
    let [port, unused, third] = free_ports();
    let peers = vec![peer(2, unused, None), peer(3, third, None)];
    let node = Setup { cluster_port: port, peers, ..Setup::default() }.start();
    let peers = vec![peer(1, port, None)];
    let other = Setup { node: 3, cluster_port: third, peers, ..Setup::default() }.start();
    node.until(|seen| *seen == Seen::LinkUp(NodeId(3)));
    other.until(|seen| *seen == Seen::LinkUp(NodeId(1)));
    let mut served = node.client();
    let link = |from, to| {
        let mut link = Played::new(connect(loopback(port)));
        link.say(|bytes| encode_hello(&hello_of_two_threads(2, 1, from, to), bytes));
        let (_, answer) = decode_hello(&link.hear()).unwrap();
        (link, answer)
    };
    let bad: [Frame<'_>; 4] = [
        &|bytes| bytes.extend_from_slice(&[0xff; 32]),
        &|bytes| encode_envelope(&question(3, 1, 1), bytes).unwrap(),
        &|bytes| {
            let notice = Notice::ProcessExited { cluster: "toys".to_owned(), node: NodeId(3), start: 3 };
            encode_notice(&notice, bytes);
        },
        &encode_ring_mark,
    ];
    for (number, bad) in (1..).zip(bad) {
        let (first, answer) = link(0, 0);
        let supervising = supervising(&answer);
        let mut links = vec![first];
        for pair in [(0, supervising), (1, supervising)] {
            if pair != (0, 0) {
                links.push(link(pair.0, pair.1).0);
            }
        }
        links[0].say(|bytes| encode_hello(&hello_of_two_threads(2, 1, 0, 0), bytes));
        node.until(|seen| *seen == Seen::LinkUp(NodeId(2)));
        let refused = node.runtime().counters().links_refused;
        // A signal that came before by another link is heard.
        let [.., good, broken] = &mut links[..] else { panic!("there are two") };
        good.say(|bytes| encode_envelope(&question(2, 1, number), bytes).unwrap());
        broken.say(bad);
        let mut is_down = false;
        let mut is_heard = false;
        while !(is_down && is_heard) {
            let seen = node.until(|seen| matches!(seen, Seen::LinkDown(_) | Seen::Signal(..)));
            assert_ne!(seen, Seen::LinkDown(NodeId(3)));
            is_down |= seen == Seen::LinkDown(NodeId(2));
            is_heard |= seen == Seen::Signal(Address::membership(NodeId(1)), number);
        }
        assert!(links.iter_mut().all(Played::is_closed));
        assert_eq!(node.runtime().counters().links_refused, refused + 1);
        assert_eq!(served.ask("echo still here"), "still here");
    }
    ask_everywhere(&node, 3, RECEIVE_COUNTS);
    ask_everywhere(&other, 1, RECEIVE_COUNTS);
    assert!(node.seen.try_iter().chain(other.seen.try_iter()).all(|seen| !matches!(seen, Seen::LinkDown(_))));
}

#[test]
fn a_refusal_by_one_of_several_links_of_the_supervising_thread_ends_the_set_only() {
    let listener = std::net::TcpListener::bind(loopback(0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let node = Setup { node: 2, peers: vec![peer(1, port, None)], ..Setup::default() }.start();
    let mut served = node.client();
    let accept = || {
        let mut link = Played::new(listener.accept().unwrap().0);
        let (_, hello) = decode_hello(&link.hear()).unwrap();
        (link, hello)
    };
    let answer = |link: &mut Played, hello: &Hello| {
        let answer = hello_of_two_threads(1, 2, hello.to_thread, hello.from_thread);
        link.say(|bytes| encode_hello(&answer, bytes));
    };
    for number in 1..4 {
        let (mut first, hello) = accept();
        let supervising = supervising(&hello);
        answer(&mut first, &hello);
        let mut links = vec![(first, hello)];
        while links.len() < 2 * links[0].1.threads.len() {
            links.push(accept());
        }
        let mut find = |to_thread| {
            let wanted = (supervising, to_thread);
            let place = links.iter().position(|(_, hello)| (hello.from_thread, hello.to_thread) == wanted);
            links.swap_remove(place.unwrap())
        };
        let ((mut open, hello), (mut refusing, _)) = (find(0), find(1));
        if supervising > 0 {
            answer(&mut open, &hello);
        }
        // It is open at the other end as well: an answer comes.
        open.say(|bytes| encode_envelope(&question(1, 2, number), bytes).unwrap());
        let answered = decode_envelope(&open.hear(), stdx::wire::WIRE_VERSION).unwrap().signal;
        assert_eq!(answered, Signal::EpochOpen { epoch: Epoch(number | super::NUMBER_ANSWERED) });
        let reason = "for a test".to_owned();
        refusing.say(|bytes| encode_notice(&Notice::Refused { reason }, bytes));
        assert!(open.is_closed() && refusing.is_closed());
        assert!(links.iter_mut().all(|(link, _)| link.is_closed()));
        assert_eq!(served.ask("echo still here"), "still here");
    }
}

#[test]
fn a_peer_that_breaks_the_protocol_loses_its_links_only() {
    let [port, other] = free_ports();
    let setup = Setup { cluster_port: port, peers: vec![peer(2, other, None)], ..Setup::default() };
    let node = setup.start();
    let mut served = node.client();
    let broken: [&[u8]; 3] = [&[0xff; 32], &[4, 0, 0, 0, 1, 2, 3, 4, 9, 9, 9, 9], &[0; 8]];
    for bytes in broken {
        let mut link = Played::new(connect(loopback(port)));
        link.say(|bytes| encode_hello(&hello("toys", 2, 1), bytes));
        let (version, answered) = decode_hello(&link.hear()).unwrap();
        assert_eq!(
            (version, answered.node, answered.threads.len()),
            (stdx::wire::WIRE_VERSION, NodeId(1), 4)
        );
        let refused = node.runtime().counters().links_refused;
        link.stream.write_all(bytes).unwrap();
        assert!(link.is_closed());
        assert_eq!(node.runtime().counters().links_refused, refused + 1);
        assert_eq!(served.ask("echo still here"), "still here");
    }
}
