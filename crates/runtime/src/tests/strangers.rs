//! Connections on the cluster port that are nobody's: they are closed, counted, and cost nobody else anything.

use super::cluster::{free_port, pair, peer, wait_up};
use super::{Node, PATIENCE, Seen, Setup, connect, loopback};
use crate::Limits;
use crate::keys::tests::Realm;
use protocol::transport::{Hello, Notice, encode_hello, encode_notice};
use protocol::{Address, NodeRole};
use std::io::{Read, Write};
use std::net::TcpStream;
use stdx::Duration;
use types::NodeId;

/// Waits until the other end closes.
fn is_closed(mut stream: TcpStream) -> bool {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut rest = Vec::new();
    // A reset is an end, too.
    !matches!(stream.read_to_end(&mut rest), Err(error) if error.kind() == std::io::ErrorKind::WouldBlock)
}

fn hello_of(node: u16) -> Vec<u8> {
    let hello = Hello {
        cluster: "toys".to_owned(),
        node: NodeId(node),
        start: 77,
        to: NodeId(1),
        from_thread: 0,
        to_thread: 0,
        threads: vec![vec![Address::membership(NodeId(node))]],
    };
    let mut bytes = Vec::new();
    encode_hello(&hello, &mut bytes);
    bytes
}

fn exited(node: u16, start: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_notice(
        &Notice::ProcessExited { cluster: "toys".to_owned(), node: NodeId(node), start },
        &mut bytes,
    );
    bytes
}

fn say(port: u16, bytes: &[u8]) -> TcpStream {
    let mut stream = connect(loopback(port));
    stream.write_all(bytes).unwrap();
    stream
}

fn refused(node: &Node) -> u64 {
    node.runtime().counters().strangers_refused
}

#[test]
fn whatever_a_stranger_says_to_a_node_with_keys_it_is_closed_and_counted() {
    let realm = Realm::new("toys");
    let (first, second) = pair(
        Setup { keys: Some(realm.keys_of(1, NodeRole::Data)), ..Setup::default() },
        Setup { keys: Some(realm.keys_of(2, NodeRole::Data)), ..Setup::default() },
    );
    let port = first.cluster_port;
    let peers = first.peers.iter().cloned().map(|peer| crate::PeerConfig { requires_tls: true, ..peer });
    let first = Setup { peers: peers.collect(), ..first };
    let (one, two) = (first.start(), second.start());
    wait_up(&one, &two);
    let half_of_a_handshake = [22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3, 9, 9, 9];
    let broken_tls: Vec<u8> = [&[22, 3, 1, 0, 60][..], &[1; 60]].concat();
    let said: [&[u8]; 7] = [
        b"GET / HTTP/1.1\r\nHost: db\r\n\r\n",
        b"\x00\x00\x00\x00\x00\x00\x00\x00",
        &[0xff; 4096],
        &hello_of(2),
        &hello_of(9),
        &exited(2, 2),
        &broken_tls,
    ];
    for (count, bytes) in (1..).zip(said) {
        assert!(is_closed(say(port, bytes)), "{count}");
        assert_eq!(refused(&one), count);
    }
    let half = say(port, &half_of_a_handshake);
    half.shutdown(std::net::Shutdown::Write).unwrap();
    assert!(is_closed(half));
    assert_eq!(refused(&one), 8);
    assert_eq!(one.client().ask("ask 2 2 0 1"), "1", "the peer's links are as they were");
}

#[test]
fn many_strangers_who_wait_do_not_keep_a_peer_out() {
    let [port, other] = [free_port(), free_port()];
    let limits = Limits { link_open_timeout: Duration::from_secs(3600), ..Limits::default() };
    let first = Setup { cluster_port: port, peers: vec![peer(2, other, None)], limits, ..Setup::default() };
    let one = first.start();
    let strangers: Vec<TcpStream> = (0..600).map(|_| connect(loopback(port))).collect();
    let two = Setup { node: 2, cluster_port: other, peers: vec![peer(1, port, None)], ..Setup::default() };
    let two = two.start();
    wait_up(&one, &two);
    assert!(refused(&one) >= 300, "the oldest ones made room: {}", refused(&one));
    drop(strangers);
}

#[test]
fn a_peer_comes_from_its_host_or_not_at_all() {
    let port = free_port();
    let elsewhere = |host: &str| crate::PeerConfig { host: host.to_owned(), ..peer(2, 1, None) };
    let by_name = crate::PeerConfig { node: NodeId(3), ..elsewhere("no-such-host.invalid") };
    let setup =
        Setup { cluster_port: port, peers: vec![elsewhere("127.0.0.9"), by_name], ..Setup::default() };
    let one = setup.start();
    for (count, bytes) in [(1, hello_of(2)), (2, exited(2, 5)), (3, hello_of(3)), (4, exited(3, 5))] {
        assert!(is_closed(say(port, &bytes)), "{count}");
        assert_eq!(refused(&one), count);
    }
}

#[test]
fn only_its_own_angel_tells_of_a_process_of_this_machine() {
    let port = free_port();
    let folder = std::env::temp_dir();
    let at = |name: &str| folder.join(format!("latsdb-strangers-{}-{name}.sock", std::process::id()));
    let setup = Setup {
        cluster_port: port,
        cluster_unix: Some(at("one")),
        peers: vec![peer(2, 1, Some(at("two")))],
        ..Setup::default()
    };
    let one = setup.start();
    assert!(is_closed(say(port, &exited(2, 5))), "anybody can connect to the port");
    assert_eq!(refused(&one), 1);
    let mut by_socket = std::os::unix::net::UnixStream::connect(at("one")).unwrap();
    by_socket.write_all(&exited(2, 6)).unwrap();
    let told = one.until(|seen| matches!(seen, Seen::ProcessExited(..)));
    assert_eq!(told, Seen::ProcessExited(NodeId(2), 6));
}
