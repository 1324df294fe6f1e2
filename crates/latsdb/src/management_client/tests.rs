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
fn a_management_node_is_complete_when_it_knows_all_others_to_have_started() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let limit = Duration::from_secs(2);
    let server = std::thread::spawn(move || {
        let status = |state: &str| {
            format!(
                "cluster node=1 name=dev\nnode id=1 role=management state=started\nnode id=2 role=data state={state}\n"
            )
        };
        let started = format!("{}.\n", status("started"));
        for answer in
            [format!("{}.\n", status("opening")), started, status("started"), "ERROR: no\n.\n".to_owned()]
        {
            let mut stream = listener.accept().unwrap().0;
            let mut request = String::new();
            BufReader::new(stream.try_clone().unwrap()).read_line(&mut request).unwrap();
            // Not `check`, which takes as long as there are rows.
            assert_eq!(request, "get status\n");
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    assert!(!is_complete(address, limit));
    assert!(is_complete(address, limit));
    assert!(!is_complete(address, limit));
    assert!(!is_complete(address, limit));
    server.join().unwrap();
    assert!(!is_complete(address, limit));
}

#[test]
fn a_wrong_port_is_guessed() {
    // The first words of MySQL 8.0 and MariaDB 10.11.
    for version in ["8.0.36", "5.5.5-10.11.6-MariaDB"] {
        let mut greeting = vec![0x4a, 0, 0, 0, 10];
        greeting.extend_from_slice(version.as_bytes());
        greeting.extend_from_slice(b"\0abc\ndef");
        let error = explain("db1:3306", read_answer(&mut greeting.as_slice(), false).unwrap_err());
        assert!(
            error
                .to_string()
                .starts_with("db1:3306 speaks MySQL: it is the port of SQL clients. A management node"),
            "{error}"
        );
    }
    let closed = read_answer(&mut "".as_bytes(), false).unwrap_err();
    let error = explain("db1:2202", closed);
    assert!(error.to_string().contains("2202 is usually a data node's port (ServerPort)"), "{error}");
    let closed = read_answer(&mut "".as_bytes(), false).unwrap_err();
    assert_eq!(explain("db1:1186", closed).to_string(), "the connection was closed");
}

#[test]
fn how_far_a_long_answer_is_does_not_belong_to_it() {
    let mut bytes: &[u8] = b"PROGRESS: checking, 10 s: 5 rows\nchecked 7 rows\n.\n";
    assert_eq!(read_answer(&mut bytes, false).unwrap(), ["checked 7 rows"]);
}

/// Fails once, and has ended then, as a connection does.
struct FailsOnce(Option<io::Error>);

impl Read for FailsOnce {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

#[test]
fn why_tls_failed_is_told_and_not_that_the_connection_has_ended() {
    let why = "TLS: the other end says that this certificate has expired";
    let mut connection = BufReader::new(FailsOnce(Some(io::Error::other(why))));
    assert_eq!(read_answer(&mut connection, false).unwrap_err().to_string(), why);
}
