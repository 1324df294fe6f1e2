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
    (in_the_middle, driver.conclude(trouble, Place::End { is_first: true }))
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
    let _: End<()> = driver.conclude(&Trouble::Refused(1213, "a deadlock".to_owned()), Place::Body);
    let _: End<()> = driver.conclude(&Trouble::Refused(1146, "no such table".to_owned()), Place::Body);
    assert_eq!(driver.surprises, ["error 1146: no such table"]);
}

#[test]
fn who_is_sent_elsewhere_between_transactions_has_not_failed() {
    let tally = |number: u16, text: &str, place| {
        let mut driver = Driver::new(&[floor_address()], 0, PATIENCE, &[]);
        let tally = driver.tally();
        let _: End<()> = driver.conclude(&Trouble::Refused(number, text.to_owned()), place);
        (tally.moved(), tally.failed())
    };
    assert_eq!(tally(1053, "", Place::Begin), (1, 0));
    assert_eq!(tally(1053, "", Place::End { is_first: true }), (1, 0));
    assert_eq!(tally(1053, "", Place::Body), (0, 1));
    assert_eq!(tally(1053, "", Place::End { is_first: false }), (0, 1));
    assert_eq!(tally(1213, "Deadlock found when trying to get lock", Place::Body), (0, 0));
    assert_eq!(tally(1213, "a node is gone", Place::Body), (0, 1));
    let mut driver = Driver::new(&[floor_address()], 0, PATIENCE, &[]);
    let _: End<()> = driver.conclude(&Trouble::Lost(String::new()), Place::Begin);
    assert_eq!((driver.tally().moved(), driver.tally().failed()), (0, 1));
}
