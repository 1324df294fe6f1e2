//! One node and its clients.

use super::{Client, Seen, Setup, loopback};
use crate::{Limits, Runtime, SpinMethod, TlsIdentity};
use memory::{MemoryConfig, MemoryManager, Region};
use protocol::CloseReason;
use rustls::pki_types::{CertificateDer, ServerName, pem::PemObject};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;

fn scratch_path(name: &str) -> std::path::PathBuf {
    std::env::temp_dir().join(format!("latsdb-test-{}-{name}", std::process::id()))
}

#[test]
fn echo_over_tcp_and_a_unix_socket() {
    let path = scratch_path("echo.sock");
    let node = Setup { mysql_unix: Some(path.clone()), ..Setup::default() }.start();
    let mut tcp = node.client();
    assert_eq!(tcp.ask("echo hello"), "hello");
    let mut unix = Client::new(UnixStream::connect(&path).unwrap());
    assert_eq!(unix.ask("echo over a file"), "over a file");
    // Requests in one packet are answered in order, requests in pieces once they are whole.
    tcp.stream.write_all(b"echo 1\necho 2\nech").unwrap();
    assert_eq!((tcp.hear(), tcp.hear()), ("1".into(), "2".into()));
    tcp.stream.write_all(b"o 3\n").unwrap();
    assert_eq!(tcp.hear(), "3");
    drop(tcp);
    node.until(|seen| *seen == Seen::Closed(CloseReason::Peer));
    drop(node);
    assert!(!path.exists(), "the socket file is removed");
}

#[test]
fn management_connections_go_to_main() {
    let node = Setup::default().start();
    let address = node.runtime().addresses().management.unwrap();
    let mut client = Client::new(super::connect(address));
    assert_eq!(client.ask("echo managed"), "managed");
    client.say("report");
    let Seen::Report(report) = node.until(|seen| matches!(seen, Seen::Report(_))) else { unreachable!() };
    assert_eq!(
        report.threads.iter().map(|thread| &*thread.name).collect::<Vec<_>>(),
        ["main", "recv0", "recv1", "membership"]
    );
    assert_eq!(report.threads[0].connections, 1);
    assert!(
        report.threads[0].rounds > 0 && report.threads[0].signals > 0 && report.threads[0].system_calls > 0
    );
}

#[test]
fn clients_are_spread_evenly() {
    let node = Setup { cpu_count: 4, ..Setup::default() }.start();
    let mut clients: Vec<_> = (0..12).map(|_| node.client()).collect();
    for client in &mut clients {
        assert_eq!(client.ask("echo here"), "here");
    }
    let connections = |node: &super::Node| -> Vec<u32> {
        node.runtime().report().threads.iter().map(|thread| thread.connections).collect()
    };
    assert_eq!(connections(&node), [0, 3, 3, 3, 3, 0]);
    clients.truncate(4);
    for _ in 0..8 {
        node.until(|seen| *seen == Seen::Closed(CloseReason::Peer));
    }
    assert_eq!(connections(&node).iter().sum::<u32>(), 4);
}

/// The first client is on the first worker. The second worker has nothing to do.
#[test]
fn a_thread_with_long_work_is_told_who_may_help() {
    let node = Setup::default().start();
    let mut client = node.client();
    assert_eq!(client.ask("relief"), "1");
    let report = node.runtime().report();
    let weights: Vec<bool> = report.threads.iter().map(|thread| thread.weight.is_some()).collect();
    assert_eq!(weights, [false, true, true, false], "main, two workers, membership");
}

#[test]
fn a_module_says_goodbye_and_the_last_bytes_arrive() {
    let node = Setup::default().start();
    let mut client = node.client();
    assert_eq!(client.ask("bye"), "bye");
    assert_eq!(client.stream.read(&mut [0; 8]).unwrap(), 0);
    node.until(|seen| *seen == Seen::Closed(CloseReason::Requested));
}

#[test]
fn what_was_left_over_comes_again_after_a_pause() {
    let node = Setup::default().start();
    let mut client = node.client();
    client.stream.write_all(b"pause\necho behind the pause\n").unwrap();
    assert_eq!(client.hear(), "resumed");
    assert_eq!(client.hear(), "behind the pause");
    assert_eq!(client.ask("echo afterwards"), "afterwards");
}

#[test]
fn a_client_that_leaves_during_a_pause_is_noticed() {
    let node = Setup::default().start();
    let mut client = node.client();
    assert_eq!(client.ask("echo there"), "there");
    client.say("pause");
    drop(client);
    node.until(|seen| *seen == Seen::Closed(CloseReason::Peer));
}

#[test]
fn deadlines_come_and_never_early() {
    let node = Setup::default().start();
    let mut client = node.client();
    for us in [0, 1, 150, 2500, 20_000] {
        assert_eq!(client.ask(&format!("later {us}")), "later");
        assert_eq!(node.until(|seen| matches!(seen, Seen::Deadline { .. })), Seen::Deadline { late: true });
    }
}

#[test]
fn a_reply_larger_than_all_buffers_waits_for_its_client() {
    const SIZE: usize = 30_000_000;
    let node = Setup::default().start();
    let mut client = node.client();
    client.say(&format!("big {SIZE}"));
    node.until(|seen| *seen == Seen::Opened);
    let mut received = 0;
    let mut bytes = vec![0; 1 << 20];
    while received < SIZE {
        let count = client.stream.read(&mut bytes).unwrap();
        assert!(count > 0 && bytes[..count].iter().all(|byte| *byte == b'x'));
        received += count;
    }
    assert_eq!(received, SIZE);
    node.until(|seen| *seen == Seen::Writable);
    assert_eq!(client.ask("echo still there"), "still there");
}

#[test]
fn a_client_that_does_not_read_is_closed_at_the_limit() {
    let limits = Limits { send_buffer_max: 1_000_000, ..Limits::default() };
    let node = Setup { limits, ..Setup::default() }.start();
    let mut client = node.client();
    // This toy does not look whether the client takes its echoes.
    let line = format!("echo {}\n", "y".repeat(100_000));
    while client.stream.write_all(line.as_bytes()).is_ok() {}
    node.until(|seen| *seen == Seen::Closed(CloseReason::Limit));
    assert_eq!(node.runtime().counters().connections_refused, 1);
    assert_eq!(node.client().ask("echo others are well"), "others are well");
}

#[test]
fn too_long_a_request_closes_its_connection() {
    let limits = Limits { receive_buffer_max: 100_000, ..Limits::default() };
    let node = Setup { limits, ..Setup::default() }.start();
    let mut client = node.client();
    while client.stream.write_all(&[b'z'; 50_000]).is_ok() {}
    node.until(|seen| *seen == Seen::Closed(CloseReason::Limit));
}

#[test]
fn connections_above_the_limit_are_closed() {
    let limits = Limits { connections_max: 2, refusal: b"one too many\n".to_vec(), ..Limits::default() };
    let path = scratch_path("above.sock");
    let node = Setup { limits, mysql_unix: Some(path.clone()), ..Setup::default() }.start();
    let mut clients = [node.client(), node.client()];
    for client in &mut clients {
        assert_eq!(client.ask("echo in"), "in");
    }
    for count in 1..=50 {
        let mut refused = node.client();
        assert_eq!(refused.hear(), "one too many");
        assert_eq!(refused.stream.read(&mut [0; 8]).unwrap(), 0);
        assert_eq!(node.runtime().counters().connections_refused, count);
    }
    // The machine's administrator comes in all the same.
    assert_eq!(Client::new(UnixStream::connect(&path).unwrap()).ask("echo here"), "here");
}

#[test]
fn long_work_is_cut_so_that_others_get_their_turn() {
    let node = Setup { cpu_count: 1, ..Setup::default() }.start();
    let (mut worker, mut other) = (node.client(), node.client());
    worker.say("work 20000");
    // Every one of these is served between two slices.
    for round in 0..50 {
        assert_eq!(other.ask(&format!("echo {round}")), round.to_string());
    }
    assert_eq!(worker.hear(), "worked");
}

#[test]
fn full_rings_lose_nothing_and_push_back_on_clients() {
    const COUNT: u64 = 20_000;
    let limits = Limits { ring_capacity: 16, ..Limits::default() };
    let node =
        Setup { thread_config: Some("ldm={count=1},recv={count=1}"), limits, ..Setup::default() }.start();
    let (mut flooder, mut other) = (node.client(), node.client());
    assert_eq!(other.ask("echo before"), "before");
    let closed = node.gate.lock().unwrap();
    flooder.say(&format!("flood {COUNT} 1"));
    // The ldm thread now stands at the gate. This request lies in the kernel until the ring has room again.
    node.until(|seen| *seen == Seen::Opened);
    drop(closed);
    assert_eq!(flooder.hear(), "flooded");
    other.say("echo after");
    assert_eq!(other.hear(), "after");
    let mut expected = 0;
    while expected < COUNT {
        let Seen::Signal(_, number) = node.until(|seen| matches!(seen, Seen::Signal(..))) else {
            unreachable!()
        };
        assert_eq!(number, expected);
        expected += 1;
    }
}

#[test]
fn a_congested_thread_does_not_read_its_clients() {
    const COUNT: u64 = 20_000;
    /// The signals that may lie between the sender's ring and the handler: the ring, and those that the receiving
    /// thread has taken but not handled.
    const IN_FLIGHT_MAX: u64 = 16 + 256;
    let limits = Limits { ring_capacity: 16, ..Limits::default() };
    let node =
        Setup { thread_config: Some("ldm={count=1},recv={count=1}"), limits, ..Setup::default() }.start();
    let (mut flooder, mut other) = (node.client(), node.client());
    // One packet, so that the flood is on its way when the second client's request is looked at.
    let closed = node.gate.lock().unwrap();
    flooder.say(&format!("flood {COUNT} 1"));
    // Signal 0 waits at the gate once something was taken; what matters is that the flood was sent: the report says so.
    while node.runtime().report().threads.iter().all(|thread| thread.name != "recv0" || thread.signals < 3) {
        std::thread::yield_now();
    }
    other.say("echo now");
    drop(closed);
    assert_eq!(other.hear(), "now");
    let handled = node.handled_at_echo.load(Ordering::SeqCst);
    assert!(handled + IN_FLIGHT_MAX >= COUNT, "read with {} signals waiting", COUNT - handled);
    assert_eq!(flooder.hear(), "flooded");
}

#[test]
fn a_tls_client_is_served_and_plain_clients_beside_it() {
    let identity = TlsIdentity::self_signed(&["localhost".to_owned()]).unwrap();
    let node = Setup { tls: Some(identity.clone()), ..Setup::default() }.start();
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(identity.certificate_pem().as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let config = Arc::new(config);
    for pipelined in [false, true] {
        let mut plain = node.client();
        assert_eq!(plain.ask("echo plaintext first"), "plaintext first");
        let name = ServerName::try_from("localhost").unwrap();
        let mut session = rustls::ClientConnection::new(Arc::clone(&config), name).unwrap();
        let mut first = b"tls\n".to_vec();
        if pipelined {
            // The client's first TLS bytes come in the same packet.
            session.write_tls(&mut first).unwrap();
        }
        plain.stream.write_all(&first).unwrap();
        // Leaves with the last words of the client's handshake; the reply must leave behind the node's last words.
        session.writer().write_all(b"echo with the handshake\n").unwrap();
        let mut client = Client::new(rustls::StreamOwned::new(session, plain.stream));
        assert_eq!(client.hear(), "with the handshake");
        assert_eq!(client.ask("echo secret"), "secret");
        node.until(|seen| *seen == Seen::SecurityChanged);
        assert!(!client.stream.conn.is_handshaking());
        client.say("big 3000000");
        let mut bytes = vec![0; 3_000_000];
        client.stream.read_exact(&mut bytes).unwrap();
        assert!(bytes.iter().all(|byte| *byte == b'x'));
        assert_eq!(client.ask("echo after much"), "after much");
        // Nothing may follow the end of TLS.
        let mut last = Vec::new();
        client.stream.conn.send_close_notify();
        client.stream.conn.write_tls(&mut last).unwrap();
        last.extend_from_slice(b"plaintext again");
        client.stream.sock.write_all(&last).unwrap();
        node.until(|seen| matches!(seen, Seen::Closed(_)));
    }
    // Somebody who does not speak TLS after asking for it is closed.
    let mut liar = node.client();
    liar.say("tls");
    liar.say("this is no ClientHello at all, not even nearly");
    node.until(|seen| *seen == Seen::Closed(CloseReason::Limit));
    assert_eq!(node.client().ask("echo others"), "others");
}

#[test]
fn without_a_certificate_tls_is_refused() {
    let node = Setup::default().start();
    node.client().say("tls");
    node.until(|seen| *seen == Seen::Closed(CloseReason::Limit));
}

#[test]
fn pem_files_make_an_identity_and_bad_ones_say_why() {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let (certificate, key) = (made.cert.pem(), made.signing_key.serialize_pem());
    assert_eq!(TlsIdentity::from_pem(&certificate, &key).unwrap().certificate_pem(), certificate);
    let error =
        |certificate: &str, key: &str| TlsIdentity::from_pem(certificate, key).unwrap_err().to_string();
    assert!(error("", &key).starts_with("no usable certificate"));
    assert!(error(&certificate, "").starts_with("no usable private key"));
    let other = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    assert!(
        error(&certificate, &other.signing_key.serialize_pem())
            .starts_with("certificate and key cannot be used")
    );
}

#[test]
fn a_port_in_use_is_one_line_at_start() {
    let taken = std::net::TcpListener::bind(loopback(0)).unwrap();
    let address = taken.local_addr().unwrap();
    let mut config = Setup::default().config();
    config.listeners.mysql_tcp = Some(address);
    let error = Runtime::start::<u64>(config, Vec::new(), None).err().unwrap();
    assert_eq!(error.to_string(), format!("MySQL port {address} is in use by another process"));

    let path = scratch_path("taken.sock");
    let _ = std::fs::remove_file(&path);
    let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let mut config = Setup::default().config();
    config.listeners.mysql_unix = Some(path.clone());
    let error = Runtime::start::<u64>(config, Vec::new(), None).err().unwrap();
    assert_eq!(error.to_string(), format!("MySQL socket {} is in use by another process", path.display()));
    // Its file is left behind when it dies, and taken over.
    drop(listener);
    assert!(path.exists());
    let node = Setup { mysql_unix: Some(path.clone()), ..Setup::default() }.start();
    let mut client = node.client();
    assert_eq!(client.ask("echo up"), "up");
    assert_eq!(Client::new(UnixStream::connect(&path).unwrap()).ask("echo taken over"), "taken over");
}

#[test]
fn it_stops_when_asked_and_exits_with_the_code_of_main() {
    let mut node = Setup::default().start();
    node.runtime().request_stop();
    assert_eq!(node.runtime.take().unwrap().wait(), 7);
    let mut node = Setup { spin: SpinMethod::StaticSpinning, ..Setup::default() }.start();
    node.client().say("exit 3");
    assert_eq!(node.runtime.take().unwrap().wait(), 3);
}

/// A region for the buffers of a node's clients.
fn client_memory(bytes: u64) -> Arc<MemoryManager> {
    let own = |region| if region == Region::ClientMemory { bytes } else { 0 };
    MemoryManager::new(MemoryConfig::new(64 << 20, own).unwrap())
}

#[test]
fn what_is_left_over_is_charged_and_without_room_ends_its_connection() {
    let memory = client_memory(1 << 20);
    let node = Setup { memory: Some(Arc::clone(&memory)), ..Setup::default() }.start();
    let mut other = node.client();
    assert_eq!(other.ask("echo before"), "before");
    let mut hoarders: Vec<_> = (0..40).map(|_| node.client()).collect();
    for client in &mut hoarders {
        client.stream.write_all(&[b'z'; 60_000]).unwrap();
    }
    node.until(|seen| *seen == Seen::MemoryFull);
    assert_eq!(other.ask("echo meanwhile"), "meanwhile");
    assert!(memory.used(Region::ClientMemory) <= 1 << 20);
    assert!(memory.used(Region::ClientMemory) >= 512 << 10);
    assert!(node.runtime().counters().memory_refused > 0);
    // Those that found room are answered, and hold nothing then.
    let mut words = Vec::new();
    for client in &mut hoarders {
        let _ = client.stream.write_all(b"\n");
        words.push(client.hear());
    }
    assert!(words.iter().all(|word| word == "full" || word == "what?"));
    assert!(words.iter().any(|word| word == "full") && words.iter().any(|word| word == "what?"));
    drop(node);
    assert_eq!(memory.used(Region::ClientMemory), 0);
}

#[test]
fn a_client_that_does_not_take_its_result_holds_no_more_than_there_is() {
    // Not a page.
    let node = Setup { memory: Some(client_memory(1)), ..Setup::default() }.start();
    let mut client = node.client();
    client.say("big 30000000");
    // It is closed at once, or told why if the kernel has taken nearly all.
    node.until(|seen| matches!(seen, Seen::Closed(CloseReason::Limit) | Seen::MemoryFull));
    assert_eq!(node.runtime().counters().memory_refused, 1);
    assert_eq!(node.client().ask("echo others"), "others");
}

#[test]
fn a_rejected_client_hears_why_though_it_is_still_sending() {
    let node = Setup::default().start();
    let mut client = node.client();
    let mut lines = b"reject\n".to_vec();
    lines.resize(3_000_000, b'x');
    client.stream.write_all(&lines).unwrap();
    assert_eq!(client.hear(), "rejected");
    assert_eq!(client.stream.read(&mut [0; 8]).unwrap(), 0);
    // It may even go on for a while; the connection is over when it ends.
    client.stream.write_all(&lines).unwrap();
    drop(client);
    node.until(|seen| *seen == Seen::Closed(CloseReason::Requested));
}

#[test]
fn a_module_hears_that_its_client_is_slow() {
    let node = Setup::default().start();
    let mut client = node.client();
    client.say("big 30000000");
    node.until(|seen| *seen == Seen::Blocked);
}
