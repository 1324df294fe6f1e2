use super::*;
use std::io::Write;
use std::net::{Ipv4Addr, TcpListener};

#[test]
fn the_last_lines() {
    let text: String = (0..30).map(|line| format!("line {line}\n")).collect();
    let lines = last_lines(&text);
    assert_eq!((lines.len(), lines[0].as_str(), lines[9].as_str()), (10, "line 20", "line 29"));
    assert!(last_lines("").is_empty());
}

#[test]
fn who_has_the_rows_of_a_node() {
    let nodes = [2, 3, 4, 5].map(NodeId);
    assert_eq!(replica_group(&nodes, 2, NodeId(3)), [NodeId(2), NodeId(3)]);
    assert_eq!(replica_group(&nodes, 2, NodeId(4)), [NodeId(4), NodeId(5)]);
    assert_eq!(replica_group(&nodes, 1, NodeId(4)), [NodeId(4)]);
    assert!(replica_group(&nodes, 2, NodeId(9)).is_empty());
}

#[test]
fn a_server_is_ready_when_it_greets() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let server = std::thread::spawn(move || {
        for first in [b"\x4a\x00\x00\x00\x0a8.4.0", b"HTTP/1.1 4"] {
            listener.accept().unwrap().0.write_all(first).unwrap();
        }
    });
    assert!(answers(address, NodeRole::Data));
    assert!(!answers(address, NodeRole::Data));
    server.join().unwrap();
    assert!(!answers(address, NodeRole::Data));
}
