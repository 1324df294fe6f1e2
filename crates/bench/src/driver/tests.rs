use super::*;
use crate::floor;
use std::net::{SocketAddr, TcpListener};
use std::thread;

const PATIENCE: Patience = Patience { connect: Duration::from_secs(10), statement: Duration::from_secs(10) };

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(30)
}

/// An address at which nobody listens.
fn nobody() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

fn floor_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || floor::serve(&listener, 1));
    address
}

#[test]
fn the_next_address_is_tried() {
    let addresses = [floor_address(), nobody()];
    let mut driver = Driver::new(&addresses, 1, PATIENCE, &["SET x = 1".to_owned()]);
    assert_eq!(driver.statement("UPDATE t", soon()), End::Done(Answer::Done(0)));
    assert_eq!(driver.errors, BTreeMap::from([(0, 1)]));
}

#[test]
fn nobody_anywhere_is_a_refusal() {
    let mut driver = Driver::new(&[nobody(), nobody()], 0, PATIENCE, &[]);
    assert_eq!(driver.statement("UPDATE t", Instant::now()), End::Refused);
}

/// A connection that is lost, or refused, in the middle of a transaction and in its end.
fn ends(trouble: &Trouble) -> (End<()>, End<()>) {
    let mut driver = Driver::new(&[floor_address()], 0, PATIENCE, &[]);
    let in_the_middle = driver.transaction(soon(), |_| Err::<(), _>(trouble.clone()));
    driver.connect(soon()).unwrap();
    (in_the_middle, driver.conclude(trouble, true))
}

#[test]
fn what_trouble_means() {
    let refused = |number| Trouble::Refused(number, String::new());
    assert_eq!(ends(&Trouble::Lost(String::new())), (End::Refused, End::Unknown));
    assert_eq!(ends(&refused(1213)), (End::Refused, End::Refused));
    assert_eq!(ends(&refused(1047)), (End::Refused, End::Refused));
    assert_eq!(ends(&refused(1180)), (End::Unknown, End::Unknown));
    assert_eq!(ends(&refused(1146)), (End::Unknown, End::Unknown));
}

#[test]
fn errors_that_no_client_should_get_are_kept() {
    let mut driver = Driver::new(&[floor_address()], 0, PATIENCE, &[]);
    let _: End<()> = driver.conclude(&Trouble::Refused(1213, "a deadlock".to_owned()), false);
    let _: End<()> = driver.conclude(&Trouble::Refused(1146, "no such table".to_owned()), false);
    assert_eq!(driver.surprises, ["error 1146: no such table"]);
}
