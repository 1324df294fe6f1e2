use super::*;
use crate::floor;
use std::net::TcpListener;

/// A server that answers each statement with one row.
fn server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || floor::serve(&listener, 1));
    address
}

fn load(server: SocketAddr, clients: usize) -> Load {
    Load {
        server,
        login: ClientOptions::new("root", ""),
        tables: Tables { database: "sbtest_0".to_owned(), count: 2, rows: 1_000 },
        mix: Mix { point_selects: 4, keys_per_select: 10, ..Mix::default() },
        clients,
        time: Duration::from_millis(1_500),
        cpus: Vec::new(),
        seed: 1,
    }
}

#[test]
fn all_clients_work_until_the_time_is_over() {
    let mut seconds = Vec::new();
    let stop = AtomicBool::new(false);
    let run = run(&load(server(), 5), &stop, &mut |second, counted| {
        seconds.push((second, counted.transactions));
    })
    .unwrap();
    let counted = &run.counted;
    assert!(counted.transactions > 0);
    // At most one transaction of each client was under way.
    assert!((0..=5 * 3).contains(&(counted.statements - 4 * counted.transactions)), "{counted:?}");
    assert_eq!(counted.latencies.len(), counted.transactions);
    assert_eq!(seconds.iter().map(|(second, _)| *second).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(seconds.iter().map(|(_, transactions)| transactions).sum::<u64>(), counted.transactions);
}

#[test]
fn a_benchmark_that_is_stopped_ends() {
    let stop = AtomicBool::new(true);
    let run =
        run(&Load { time: Duration::from_secs(3_600), ..load(server(), 2) }, &stop, &mut |_, _| {}).unwrap();
    assert!(run.time < Duration::from_secs(3_600));
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let error = run(&load(address, 1), &AtomicBool::new(false), &mut |_, _| {}).unwrap_err();
    assert!(error.starts_with(&format!("{address}: connection lost: ")), "{error}");
}
