use super::*;
use crate::floor;
use std::net::TcpListener;
use std::thread;
use std::time::Instant;

const PATIENCE: Patience = Patience { connect: Duration::from_secs(10), statement: Duration::from_secs(10) };

fn floor_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || floor::serve(&listener, 1));
    address
}

#[test]
fn a_server_that_answers() {
    let mut connection = Connection::open(floor_address(), PATIENCE).unwrap();
    assert_eq!(connection.run("UPDATE t SET a = 1"), Ok(Answer::Done(0)));
    let Ok(Answer::Rows(rows)) = connection.run("SELECT 1") else { panic!("no rows") };
    assert_eq!((rows.len(), rows[0][0].as_ref().map(String::len)), (1, Some(119)));
}

#[test]
fn a_server_that_is_silent_is_lost() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let patience = Patience { connect: Duration::from_millis(50), ..PATIENCE };
    let begun = Instant::now();
    let refused = Connection::open(listener.local_addr().unwrap(), patience);
    assert!(matches!(refused, Err(Trouble::Lost(_))), "{refused:?}");
    assert!(begun.elapsed() >= Duration::from_millis(50));
}

#[test]
fn a_server_that_hangs_up_is_lost() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || drop(listener.accept()));
    assert!(matches!(Connection::open(address, PATIENCE), Err(Trouble::Lost(_))));
}
