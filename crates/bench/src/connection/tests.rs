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
fn a_statement_is_prepared_once() {
    let mut connection = Connection::open(floor_address(), PATIENCE).unwrap();
    for _ in 0..2 {
        let Ok(Answer::Rows(rows)) = connection.execute("SELECT ?", &[ParameterValue::Int(1)]) else {
            panic!("no rows")
        };
        assert_eq!(rows[0][0].as_ref().map(String::len), Some(119));
    }
    assert_eq!(connection.prepared.len(), 1);
}

#[test]
fn binary_values_are_told_as_text() {
    let date = mysql_protocol::Date { year: 1998, month: 9, day: 2 };
    let moment = mysql_protocol::DateTime {
        year: 2024,
        month: 1,
        day: 2,
        hour: 3,
        minute: 4,
        second: 5,
        microsecond: 0,
    };
    let time =
        mysql_protocol::Time { negative: true, days: 1, hours: 2, minutes: 3, seconds: 4, microseconds: 50 };
    let told = [
        Value::Int(-7),
        Value::UInt(8),
        Value::Double(0.5),
        Value::Date(date),
        Value::DateTime(moment),
        Value::Time(time),
    ]
    .map(|value| text_of(value).unwrap_or_default());
    assert_eq!(told, ["-7", "8", "0.5", "1998-09-02", "2024-01-02 03:04:05", "-26:03:04.000050"]);
    assert_eq!(text_of(Value::Null), None);
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
