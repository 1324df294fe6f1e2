//! Links by shared memory: between two runtimes, and between a runtime and a peer that the test plays.

use super::cluster::{RECEIVE_COUNTS, ask_everywhere, free_port, hello, pair, peer, wait_up};
use super::{Node, PATIENCE, Setup};
use crate::Limits;
use crate::connections::{ReadOutcome, WriteOutcome};
use crate::shared_memory::{Rings, read_with_descriptors, write_with_descriptors};
use protocol::transport::{
    decode_envelope, decode_hello, encode_envelope, encode_hello, encode_ring_mark, is_ring_mark, next_frame,
};
use protocol::{Address, Envelope, ModuleKind, Signal};
use rustix::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use stdx::wire::WIRE_VERSION;
use types::{Epoch, NodeId};

fn path(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("latsdb-memory-{}-{name}", std::process::id()));
    let _ = std::fs::remove_file(&path);
    path
}

#[test]
fn rings_far_shorter_than_what_goes_through_them_lose_and_swap_nothing() {
    // 0: no shared memory. 1: the shortest rings that there are.
    for link_memory in [0, 1, Limits::default().link_memory] {
        let limits = Limits { link_memory, ..Limits::default() };
        let (one, two) = pair(
            Setup { cluster_unix: Some(path("one")), limits: limits.clone(), ..Setup::default() },
            Setup { cluster_unix: Some(path("two")), limits, ..Setup::default() },
        );
        let (one, two) = (one.start(), two.start());
        wait_up(&one, &two);
        ask_everywhere(&one, 2, RECEIVE_COUNTS);
        ask_everywhere(&two, 1, RECEIVE_COUNTS);
        let _ = (one.seen.try_iter().count(), two.seen.try_iter().count());
        // Some fifty bytes each: many times the shortest ring, in both directions.
        const COUNT: u64 = 20_000;
        let mut client = one.client();
        assert_eq!(client.ask(&format!("flood {COUNT} 2")), "flooded");
        let mut numbers = Vec::new();
        for seen in two.seen.try_iter() {
            if let super::Seen::Signal(_, number) = seen {
                numbers.push(number);
            }
        }
        assert!(numbers.into_iter().eq(0..COUNT));
    }
}

/// A peer that the test plays: one link to the runtime.
struct Actor {
    socket: OwnedFd,
    node: u16,
    received: Vec<u8>,
    descriptors: Vec<OwnedFd>,
}

/// Where the toy is that the played peer asks, by the link of the first threads.
const LDM_ON_THREAD_0: Option<&str> = Some("recv={count=2}");

impl Actor {
    fn new(stream: UnixStream, node: u16) -> Self {
        stream.set_nonblocking(true).unwrap();
        Self { socket: stream.into(), node, received: Vec::new(), descriptors: Vec::new() }
    }

    /// The payload of the next frame on the socket; none when the runtime has closed the link.
    fn next(&mut self) -> Option<Vec<u8>> {
        let start = crate::clock::monotonic();
        loop {
            if let Some((payload, size)) = next_frame(&self.received).unwrap() {
                let payload = payload.to_vec();
                self.received.drain(..size);
                return Some(payload);
            }
            self.received.reserve(4096);
            if read_with_descriptors(&self.socket, &mut self.received, &mut self.descriptors)
                == ReadOutcome::Ended
            {
                return None;
            }
            assert!(crate::clock::monotonic().since(start) < PATIENCE, "nothing comes");
            std::thread::yield_now();
        }
    }

    fn say(&self, frame: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = Vec::new();
        frame(&mut bytes);
        let outcome = crate::connections::write_once(&self.socket, &bytes);
        assert_eq!(outcome, WriteOutcome::Took(bytes.len()));
    }

    /// Asks a toy, by the socket or by shared memory, and hears its answer the same way.
    fn ask(&mut self, rings: Option<&mut Rings>, number: u64) {
        let (me, other) = (NodeId(self.node), NodeId(3 - self.node));
        let signal = Signal::EpochWanted { epoch: Epoch(number) };
        let (from, to) = (Address::membership(me), Address::new(other, ModuleKind::Ldm, 0));
        let envelope = Envelope { from, to, view: types::ViewNumber(0), epoch: Epoch(0), signal };
        let Some(rings) = rings else {
            self.say(|bytes| encode_envelope(&envelope, bytes).unwrap());
            return Self::check(&self.next().expect("an answer"), number);
        };
        let mut bytes = Vec::new();
        encode_envelope(&envelope, &mut bytes).unwrap();
        assert_eq!(rings.send(&bytes), Ok(bytes.len()));
        rings.wake_reader();
        let mut answer = Vec::new();
        let start = crate::clock::monotonic();
        while next_frame(&answer).unwrap().is_none() {
            rings.receive(&mut answer, 1).unwrap();
            assert!(crate::clock::monotonic().since(start) < PATIENCE, "no answer in shared memory");
            std::thread::yield_now();
        }
        Self::check(next_frame(&answer).unwrap().unwrap().0, number);
    }

    fn check(payload: &[u8], number: u64) {
        let answer = decode_envelope(payload, WIRE_VERSION).unwrap();
        let epoch = Epoch(number | super::NUMBER_ANSWERED);
        assert_eq!(answer.signal, Signal::EpochOpen { epoch });
    }

    fn expect_mark(&mut self) {
        assert!(is_ring_mark(&self.next().expect("a mark")));
    }
}

/// Node 2, played by the test, has connected to node 1 and exchanged hellos.
fn connect_as_two(path: &Path) -> Actor {
    let start = crate::clock::monotonic();
    let stream = loop {
        // The runtime may still be starting.
        if let Ok(stream) = UnixStream::connect(path) {
            break stream;
        }
        assert!(crate::clock::monotonic().since(start) < PATIENCE, "nobody listens");
        std::thread::yield_now();
    };
    let mut actor = Actor::new(stream, 2);
    actor.say(|bytes| encode_hello(&hello("toys", 2, 1), bytes));
    assert_eq!(decode_hello(&actor.next().expect("a hello")).unwrap().1.node, NodeId(1));
    actor
}

fn node_one(path: &Path) -> Node {
    let setup = Setup {
        cluster_unix: Some(path.to_path_buf()),
        thread_config: LDM_ON_THREAD_0,
        peers: vec![peer(2, free_port(), None)],
        ..Setup::default()
    };
    setup.start()
}

#[test]
fn a_peer_that_takes_no_memory_is_served_by_its_socket() {
    let path = path("socket-only");
    let _node = node_one(&path);
    let mut actor = connect_as_two(&path);
    assert_eq!(actor.descriptors.len(), 3);
    actor.descriptors.clear();
    actor.ask(None, 1);
    actor.ask(None, 2);
}

type Misuse<'a> = &'a dyn Fn(&Actor, &mut Rings);

#[test]
fn a_peer_that_misuses_shared_memory_loses_its_links_only() {
    let path = path("misused");
    let node = node_one(&path);
    let mut served = node.client();
    let misuse: [Misuse<'_>; 4] = [
        // Rubbish, which is no frame.
        &|_, rings| assert_eq!(rings.send(&[0xff; 64]), Ok(64)),
        // A frame that is neither hello nor signal.
        &|_, rings| {
            let mut bytes = Vec::new();
            encode_ring_mark(&mut bytes);
            assert_eq!(rings.send(&bytes), Ok(bytes.len()));
        },
        // Frames by the socket after the mark.
        &|actor, _| actor.say(encode_ring_mark),
        &|_, rings| rings.publish_impossible(),
    ];
    for (number, misuse) in (1..).zip(misuse) {
        let mut actor = connect_as_two(&path);
        let handed = std::mem::take(&mut actor.descriptors).try_into().unwrap();
        let mut rings = Rings::take(handed).unwrap();
        actor.ask(None, number);
        actor.say(encode_ring_mark);
        actor.expect_mark();
        actor.ask(Some(&mut rings), number);
        let refused = node.runtime().counters().links_refused;
        misuse(&actor, &mut rings);
        rings.wake_reader();
        assert_eq!(actor.next(), None, "the link is closed");
        assert_eq!(node.runtime().counters().links_refused, refused + 1);
        assert_eq!(served.ask("echo still here"), "still here");
    }
}

#[test]
fn memory_that_was_not_offered_cannot_be_used() {
    let path = path("unoffered");
    let limits = Limits { link_memory: 0, ..Limits::default() };
    let setup = Setup {
        cluster_unix: Some(path.clone()),
        thread_config: LDM_ON_THREAD_0,
        peers: vec![peer(2, free_port(), None)],
        limits,
        ..Setup::default()
    };
    let node = setup.start();
    let mut served = node.client();
    let mut actor = connect_as_two(&path);
    assert!(actor.descriptors.is_empty());
    actor.say(encode_ring_mark);
    assert_eq!(actor.next(), None);
    assert_eq!(served.ask("echo still here"), "still here");
}

/// The test is node 1, which node 2 connects to; its hello comes with these descriptors.
fn accept_as_one(listener: &UnixListener, handed: &[OwnedFd; 3]) -> Actor {
    let mut actor = Actor::new(listener.accept().unwrap().0, 1);
    assert_eq!(decode_hello(&actor.next().expect("a hello")).unwrap().1.node, NodeId(2));
    let mut bytes = Vec::new();
    encode_hello(&hello("toys", 1, 2), &mut bytes);
    assert_eq!(write_with_descriptors(&actor.socket, &bytes, handed), WriteOutcome::Took(bytes.len()));
    actor
}

#[test]
fn offered_memory_is_used() {
    let path = path("offered");
    let listener = UnixListener::bind(&path).unwrap();
    let setup = Setup {
        node: 2,
        thread_config: LDM_ON_THREAD_0,
        peers: vec![peer(1, free_port(), Some(path))],
        ..Setup::default()
    };
    let node = setup.start();
    let mut served = node.client();
    let (mut rings, handed) = Rings::make(1).unwrap();
    let mut actor = accept_as_one(&listener, &handed);
    actor.expect_mark();
    actor.say(encode_ring_mark);
    // Few, because the other links of the set stay unanswered, and that ends it after some seconds.
    for number in 0..3 {
        actor.ask(Some(&mut rings), number);
    }
    assert_eq!(served.ask("echo still here"), "still here");
}

#[test]
fn a_link_whose_offer_is_no_memory_stays_on_its_socket() {
    let path = path("no-memory");
    let listener = UnixListener::bind(&path).unwrap();
    let setup = Setup {
        node: 2,
        thread_config: LDM_ON_THREAD_0,
        peers: vec![peer(1, free_port(), Some(path))],
        ..Setup::default()
    };
    let _node = setup.start();
    let (one, two) = rustix::pipe::pipe().unwrap();
    let three = two.try_clone().unwrap();
    let mut actor = accept_as_one(&listener, &[one, two, three]);
    actor.ask(None, 1);
    actor.ask(None, 2);
}
