use super::*;

#[test]
fn an_answer_ends_with_a_dot() {
    let mut bytes: &[u8] = b"one\n..hidden\n\nthree\n.\nnext";
    let lines = read_answer(&mut bytes, false).unwrap();
    assert_eq!(lines, ["one", ".hidden", "", "three"]);
    assert_eq!(bytes, b"next");
}

#[test]
fn an_answer_that_breaks_off_is_an_error() {
    for text in ["", "one", "one\n", "one\n."] {
        assert!(read_answer(&mut text.as_bytes(), false).is_err(), "{text:?}");
    }
    assert_eq!(read_answer(&mut "bye\n".as_bytes(), true).unwrap(), ["bye"]);
}

#[test]
fn an_answer_has_a_limit() {
    let mut endless = BufReader::new(io::repeat(b'x'));
    let error = read_answer(&mut endless, false).unwrap_err();
    assert_eq!(error.to_string(), "the answer is too long");
}

#[test]
fn a_management_node_is_complete_when_it_can_check() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let limit = Duration::from_secs(2);
    let server = std::thread::spawn(move || {
        for answer in ["ERROR: the cluster has not started\n.\n", "checked 5 rows\n.\n", "checked"] {
            let mut stream = listener.accept().unwrap().0;
            let mut request = String::new();
            BufReader::new(stream.try_clone().unwrap()).read_line(&mut request).unwrap();
            assert_eq!(request, "check\n");
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    assert!(!is_complete(address, limit));
    assert!(is_complete(address, limit));
    assert!(!is_complete(address, limit));
    server.join().unwrap();
    assert!(!is_complete(address, limit));
}
