use super::*;
use crate::ports::free_ports;

/// A server that says what it hears.
fn echo(port: u16) {
    let listener = TcpListener::bind(loopback(port)).unwrap();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut again = stream.try_clone().unwrap();
            thread::spawn(move || std::io::copy(&mut stream, &mut again));
        }
    });
}

#[test]
fn a_cut_holds_bytes_back_and_loses_none() {
    let first = free_ports(2).unwrap();
    let cut = Cut::default();
    echo(first);
    start(first + 1, first, &cut).unwrap();
    let mut client = TcpStream::connect(loopback(first + 1)).unwrap();
    let mut heard = [0; 3];
    client.write_all(b"one").unwrap();
    client.read_exact(&mut heard).unwrap();
    assert_eq!(&heard, b"one");
    cut.store(true, Ordering::Relaxed);
    client.write_all(b"two").unwrap();
    client.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    assert!(client.read(&mut heard).is_err(), "bytes crossed a cut");
    cut.store(false, Ordering::Relaxed);
    client.set_read_timeout(None).unwrap();
    client.read_exact(&mut heard).unwrap();
    assert_eq!(&heard, b"two");
}

#[test]
fn an_end_is_passed_on() {
    let first = free_ports(2).unwrap();
    echo(first);
    start(first + 1, first, &Cut::default()).unwrap();
    let mut client = TcpStream::connect(loopback(first + 1)).unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    assert_eq!(client.read(&mut [0; 8]).unwrap_or(0), 0);
}
