use super::*;

#[test]
fn free_ports_are_different() {
    let mut reservation = Reservation::default();
    let mut ports = reservation.take(0, 20, "--mysql-port").unwrap();
    ports.sort_unstable();
    ports.dedup();
    assert_eq!(ports.len(), 20);
}

#[test]
fn a_port_in_use_is_named_with_its_option() {
    let other = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = other.local_addr().unwrap().port();
    let mut reservation = Reservation::default();
    let failure = reservation.take(port, 1, "--mysql-port").unwrap_err().to_string();
    assert_eq!(
        failure,
        format!("port {port} is in use by another process; choose another one with --mysql-port")
    );
}

#[test]
fn a_port_wanted_twice() {
    let mut reservation = Reservation::default();
    let port = reservation.take(0, 1, "--mysql-port").unwrap()[0];
    let failure = reservation.take(port, 1, "--data-port").unwrap_err().to_string();
    assert_eq!(failure, format!("port {port} is wanted twice: by --mysql-port and by --data-port"));
}

#[test]
fn there_is_no_port_above_the_last() {
    let mut reservation = Reservation::default();
    let failure = reservation.take(65_535, 2, "--data-port").unwrap_err().to_string();
    assert!(failure.starts_with("--data-port 65535 is too high") || failure.contains("in use"), "{failure}");
}
