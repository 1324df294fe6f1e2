//! Over a real socket: the floor is a shell, and the socket is most of what it does.

use super::*;
use mysql_protocol::client::{ClientConnection, ClientOptions, Response, Value};
use mysql_protocol::command::Cursor;
use mysql_protocol::value::ParameterValue;

struct Client {
    stream: TcpStream,
    connection: ClientConnection,
}

impl Client {
    fn connect(address: SocketAddr, capabilities: Capabilities) -> Self {
        let options = ClientOptions { capabilities, ..ClientOptions::new("anybody", "any password") };
        let stream = TcpStream::connect(address).unwrap();
        let mut client = Self { stream, connection: ClientConnection::new(options) };
        assert_eq!(client.response(), Response::Connected);
        client
    }

    fn response(&mut self) -> Response {
        loop {
            if let Some(response) = self.connection.next_response().unwrap() {
                return response;
            }
            self.stream.write_all(&self.connection.take_output()).unwrap();
            let mut bytes = [0; 1000];
            let size = self.stream.read(&mut bytes).unwrap();
            assert!(size > 0, "the floor hung up");
            self.connection.receive(&bytes[..size]);
        }
    }

    fn rows(&mut self) -> Vec<Vec<Value>> {
        match self.response() {
            Response::ResultSet(result) => result.rows,
            other @ (Response::Connected
            | Response::Ok(_)
            | Response::Error(_)
            | Response::Prepared(_)
            | Response::Fields(_)
            | Response::Text(_)) => panic!("{other:?}"),
        }
    }
}

fn start() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || serve(&listener, 2));
    address
}

#[test]
fn every_select_has_the_one_row() {
    let address = start();
    for capabilities in [Capabilities::CLIENT, Capabilities::CLIENT.without(Capabilities::DEPRECATE_EOF)] {
        for _ in 0..3 {
            let mut client = Client::connect(address, capabilities);
            let canned = vec![vec![Value::Bytes(CANNED.to_vec())]];
            client.connection.query(b"select c from sbtest1 where id=7");
            assert_eq!(client.rows(), canned);
            client.connection.prepare(b"SELECT c FROM sbtest1 WHERE id=?");
            let Response::Prepared(prepared) = client.response() else { panic!() };
            assert_eq!((prepared.parameter_count, prepared.column_count), (1, 1));
            for id in 0..100 {
                client.connection.execute(prepared.statement_id, &[ParameterValue::Int(id)], Cursor::None);
                assert_eq!(client.rows(), canned);
            }
            for text in [&b"SET NAMES utf8mb4"[..], b"SHOW TABLES", b"BEGIN"] {
                client.connection.query(text);
                assert!(matches!(client.response(), Response::Ok(_)));
            }
        }
    }
}

#[test]
fn requests_sent_ahead_and_large_ones_are_answered() {
    let mut client = Client::connect(start(), Capabilities::CLIENT);
    let large = vec![b' '; 17 << 20];
    client.connection.query(&large);
    for _ in 0..1000 {
        client.connection.query(b"SELECT 1");
    }
    assert!(matches!(client.response(), Response::Ok(_)));
    for _ in 0..1000 {
        assert_eq!(client.rows().len(), 1);
    }
}
