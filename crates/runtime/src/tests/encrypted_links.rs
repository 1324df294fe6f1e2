//! Links over TCP that are encrypted: what is carried arrives, and only those are let in whose certificate says who
//! they are.

use super::cluster::{RECEIVE_COUNTS, ask_everywhere, pair, wait_up};
use super::{Client, Node, Seen, Setup, connect};
use crate::certificates::Bearer;
use crate::keys::tests::Realm;
use crate::keys::{Forgets, Identity, NodeKeys, TlsStream};
use crate::signing::Wish;
use protocol::{LinkSecurity, NodeRole, PeerReport};
use types::NodeId;

fn with_keys(keys: NodeKeys) -> Setup {
    Setup { keys: Some(keys), ..Setup::default() }
}

/// A node's report on its only peer.
fn peer_of(node: &Node) -> PeerReport {
    let mut client = node.client();
    client.say("report");
    let report = node.until(|seen| matches!(seen, Seen::Report(_)));
    let Seen::Report(report) = report else { panic!("{report:?}") };
    report.peers.into_iter().next().unwrap()
}

fn requiring(setup: Setup) -> Setup {
    let peers = setup.peers.iter().cloned().map(|peer| crate::PeerConfig { requires_tls: true, ..peer });
    Setup { peers: peers.collect(), ..setup }
}

#[test]
fn two_nodes_with_keys_talk_through_tls() {
    let realm = Realm::new("toys");
    let (one, two) = pair(
        with_keys(realm.keys_of(1, NodeRole::Data)),
        Setup { thread_config: Some("recv={count=2}"), ..with_keys(realm.keys_of(2, NodeRole::Data)) },
    );
    let (one, two) = (requiring(one).start(), requiring(two).start());
    wait_up(&one, &two);
    ask_everywhere(&one, 2, RECEIVE_COUNTS);
    // More than any buffer holds, so that writes are taken in pieces.
    assert_eq!(one.client().ask("flood 200000 2"), "flooded");
    for (node, other) in [(&one, 2), (&two, 1)] {
        let peer = peer_of(node);
        assert_eq!((peer.node, peer.security), (NodeId(other), LinkSecurity::Tls));
        assert_eq!(peer.address, "127.0.0.1");
        let certificate = peer.certificate.unwrap();
        assert_eq!(certificate.name, format!("LatsDB data node {other} of toys"));
        assert_eq!(node.runtime().counters(), crate::RuntimeCounters::default());
    }
}

#[test]
fn links_live_on_while_keys_are_renewed_and_new_ones_use_the_new_keys() {
    let realm = Realm::new("toys");
    let (one, two) =
        pair(with_keys(realm.keys_of(1, NodeRole::Data)), with_keys(realm.keys_of(2, NodeRole::Data)));
    let (one, second) = (requiring(one).start(), requiring(two));
    let two = second.start();
    wait_up(&one, &two);
    let serial = peer_of(&two).certificate.unwrap().serial;
    one.runtime().key_holder().replace(realm.keys_of(1, NodeRole::Data));
    assert_eq!(one.client().ask("ask 2 2 0 1"), "1");
    assert_eq!(peer_of(&two).certificate.unwrap().serial, serial, "the links are those that there were");
    drop(two);
    one.until(|seen| *seen == Seen::LinkDown(NodeId(2)));
    let two = second.start();
    wait_up(&one, &two);
    assert_ne!(peer_of(&two).certificate.unwrap().serial, serial);
}

/// Node 1 has good keys; node 2 these: whether they connect. Node 2 is the one that calls.
fn meets(realm: &Realm, second: Option<NodeKeys>) -> bool {
    let (one, two) =
        pair(with_keys(realm.keys_of(1, NodeRole::Data)), Setup { keys: second, ..Setup::default() });
    let (one, two) = (requiring(one).start(), two.start());
    loop {
        if one.runtime().counters().strangers_refused > 0 {
            return false;
        }
        if let Ok(Seen::LinkUp(_)) = one.seen.try_recv() {
            return true;
        }
        std::thread::yield_now();
        assert!(two.runtime().counters().undeliverable == 0);
    }
}

#[test]
fn a_node_without_the_right_certificate_is_not_let_in() {
    let realm = Realm::new("toys");
    assert!(meets(&realm, Some(realm.keys_of(2, NodeRole::Data))));
    assert!(!meets(&realm, None), "no keys");
    assert!(!meets(&realm, Some(realm.keys(&Realm::expired(2, NodeRole::Data)))), "expired");
    assert!(!meets(&realm, Some(Realm::new("toys").keys_of(2, NodeRole::Data))), "another authority");
    assert!(!meets(&realm, Some(realm.keys_of(3, NodeRole::Data))), "another node");
    assert!(!meets(&realm, Some(realm.keys_of(2, NodeRole::Sql))), "another role");
}

#[test]
fn a_node_that_is_not_there_yet_is_called_through_tls_again() {
    let realm = Realm::new("toys");
    let (one, two) =
        pair(with_keys(realm.keys_of(1, NodeRole::Data)), with_keys(realm.keys_of(2, NodeRole::Data)));
    let two = two.start();
    let has_called = |line: String| line.contains("cannot be reached yet: Connection refused");
    assert!(two.logged.iter().any(has_called));
    let one = requiring(one).start();
    wait_up(&one, &two);
    assert_eq!(one.runtime().counters().strangers_refused, 0);
}

#[test]
fn a_node_that_need_not_speak_tls_and_has_no_keys_is_linked_without() {
    let realm = Realm::new("toys");
    for (first, second) in [(true, false), (false, true)] {
        let keys = |node: u16, has: bool| has.then(|| realm.keys_of(node, NodeRole::Data));
        let (one, two) = pair(
            Setup { keys: keys(1, first), ..Setup::default() },
            Setup { keys: keys(2, second), ..Setup::default() },
        );
        let (one, two) = (one.start(), two.start());
        wait_up(&one, &two);
        assert_eq!(peer_of(&one).security, LinkSecurity::Plain);
    }
}

#[test]
fn a_tool_with_a_certificate_is_told_apart_at_the_management_port() {
    let realm = Realm::new("toys");
    let node = with_keys(realm.keys_of(1, NodeRole::Data)).start();
    let address = node.runtime().addresses().management.unwrap();
    let client =
        |realm: &Realm| realm.keys(&Wish { bearer: Bearer::Client, ..Realm::wish(2, NodeRole::Data) });
    // Without TLS nothing is known of it.
    assert_eq!(Client::new(connect(address)).ask("echo here"), "here");
    let identity = Identity { node: NodeId(1), role: NodeRole::Data, host: "127.0.0.1" };
    let tool = TlsStream::connect(connect(address), &client(&realm), Some(identity)).unwrap();
    assert_eq!(tool.peer_name(), "LatsDB data node 1 of toys");
    assert_eq!(Client::new(tool).ask("echo there"), "there");
    let seen: Vec<Seen> = std::iter::from_fn(|| node.seen.try_recv().ok()).collect();
    let certified = seen.iter().filter(|seen| **seen == Seen::SecurityChanged).count();
    assert_eq!(certified, 1, "{seen:?}");
    let elsewhere = Identity { node: NodeId(7), ..identity };
    assert!(TlsStream::connect(connect(address), &client(&realm), Some(elsewhere)).is_err());
    // One of another cluster does not even get its lines read.
    let refused = node.runtime().counters().connections_refused;
    assert!(TlsStream::connect(connect(address), &client(&Realm::new("toys")), None).is_err());
    while node.runtime().counters().connections_refused == refused {
        std::thread::yield_now();
    }
}

/// The words that operators read about TLS that failed at the management port.
fn told(node: &Node) -> Vec<String> {
    let lines = node.logged.try_iter().filter(|line| line.starts_with("management port: connection from "));
    lines.filter_map(|line| line.split_once(" refused: ").map(|(_, why)| why.to_owned())).collect()
}

fn tool(realm: &Realm, wish: Wish) -> NodeKeys {
    realm.keys(&Wish { bearer: Bearer::Client, ..wish })
}

/// Asks through TLS until the node has refused it; what the tool learns.
fn refusal(node: &Node, keys: &NodeKeys) -> String {
    let refused = node.runtime().counters().connections_refused;
    let address = node.runtime().addresses().management.unwrap();
    let met = TlsStream::connect(connect(address), keys, None);
    // In TLS 1.3 the caller learns by reading that its certificate is refused.
    let error = met.and_then(|mut stream| std::io::Read::read(&mut stream, &mut [0; 100])).unwrap_err();
    while node.runtime().counters().connections_refused == refused {
        std::thread::yield_now();
    }
    error.to_string()
}

#[test]
fn tls_that_fails_at_the_management_port_is_explained_to_both_ends() {
    let realm = Realm::new("toys");
    let good = tool(&realm, Realm::wish(2, NodeRole::Data));
    let node = Setup::default().start();
    assert_eq!(refusal(&node, &good), "TLS: the other end has no keys, and speaks no TLS");
    assert_eq!(told(&node), ["TLS: it speaks TLS, and this node has no keys"]);

    let node = with_keys(realm.keys_of(1, NodeRole::Data)).start();
    let expired = tool(&realm, Realm::expired(2, NodeRole::Data));
    assert_eq!(refusal(&node, &expired), "TLS: the other end says that this certificate has expired");
    let lines = told(&node);
    assert!(
        matches!(lines.as_slice(), [line] if line.starts_with("TLS: the certificate has expired, 36")),
        "{lines:?}"
    );
    // The next ones within a minute are counted.
    for _ in 0..3 {
        refusal(&node, &expired);
    }
    assert_eq!(told(&node), [""; 0]);
}

#[test]
fn a_certificate_of_another_cluster_is_named_in_the_log() {
    let realm = Realm::new("toys").abused_for("shelf");
    // A stranger does not mind whom it meets.
    let foreign = realm.forgetful(2, Forgets::Cluster);
    let node = with_keys(realm.abused_for("toys").keys_of(1, NodeRole::Data)).start();
    assert_eq!(
        refusal(&node, &foreign),
        "TLS: the other end says that this certificate is not of its cluster"
    );
    assert_eq!(told(&node), ["TLS: the certificate is of cluster 'shelf', not 'toys'"]);
}

#[test]
fn a_port_that_speaks_no_tls_is_called_so() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = std::thread::spawn(move || {
        let mut stream = listener.accept().unwrap().0;
        std::io::Write::write_all(&mut stream, b"\x4a\0\0\0\x0a8.0.36\0abcdefgh").unwrap();
        // It is open until the other end has gone.
        let _ = std::io::Read::read_to_end(&mut stream, &mut Vec::new());
    });
    let keys = tool(&Realm::new("toys"), Realm::wish(2, NodeRole::Data));
    let error = TlsStream::connect(connect(address), &keys, None).unwrap_err();
    assert_eq!(error.to_string(), "TLS: what the other end says is no TLS: is this the right port?");
    server.join().unwrap();
}
