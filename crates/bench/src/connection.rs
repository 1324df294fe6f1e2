//! A MySQL connection that waits: the client half of `mysql_protocol` on a TCP socket, one statement at a time.
//!
//! Every wait ends: connecting, logging in and each statement have a time limit, after which the connection counts as
//! lost. If an answer did not come, the effect of its statement is not known here; [`crate::driver`] draws the
//! conclusions.
//!
//! **Invariants.** After [`Trouble::Lost`] the connection is not used again. An answer belongs to the one statement
//! that is outstanding.
//!
//! Values of prepared statements come as binary; they are told as the text that they have in a text row, so that both
//! protocols compare.
//!
//! **Deliberately not here**: TLS, several statements at once.

use mysql_protocol::ParameterValue;
use mysql_protocol::client::{ClientConnection, ClientOptions, Response, Value};
use mysql_protocol::command::Cursor;
use std::collections::BTreeMap;
use std::fmt;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

const RECEIVE_SIZE: usize = 16 * 1024;

/// Why there is no answer, or not the one that was wanted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Trouble {
    /// The server refused: MySQL's number and text.
    Refused(u16, String),
    /// The connection is over, for this reason.
    Lost(String),
}

impl fmt::Display for Trouble {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(number, text) => write!(formatter, "error {number}: {text}"),
            Self::Lost(reason) => write!(formatter, "connection lost: {reason}"),
        }
    }
}

impl From<std::io::Error> for Trouble {
    fn from(error: std::io::Error) -> Self {
        Self::Lost(error.to_string())
    }
}

/// A row of text; NULL is `None`.
pub type TextRow = Vec<Option<String>>;

/// The answer to a statement.
#[derive(Clone, PartialEq, Debug)]
pub enum Answer {
    /// No result set; this many rows were affected.
    Done(u64),
    Rows(Vec<TextRow>),
}

/// How long to wait for what.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// For the connection and the login, each.
    pub connect: Duration,
    /// For the answer to a statement: a server that is silent for so long counts as lost.
    pub statement: Duration,
}

/// A session with one server.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    protocol: ClientConnection,
    received: Vec<u8>,
    /// The server's numbers of what [`Connection::execute`] has prepared, by text.
    prepared: BTreeMap<String, u32>,
}

impl Connection {
    /// Connects and logs in as root without a password.
    pub fn open(address: SocketAddr, patience: Patience) -> Result<Self, Trouble> {
        Self::open_as(address, ClientOptions::new("root", ""), patience)
    }

    /// Connects and logs in as somebody.
    pub fn open_as(address: SocketAddr, login: ClientOptions, patience: Patience) -> Result<Self, Trouble> {
        let stream = TcpStream::connect_timeout(&address, patience.connect)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(patience.connect))?;
        stream.set_write_timeout(Some(patience.statement))?;
        let protocol = ClientConnection::new(login);
        let mut connection =
            Self { stream, protocol, received: vec![0; RECEIVE_SIZE], prepared: BTreeMap::new() };
        connection.answer()?;
        connection.stream.set_read_timeout(Some(patience.statement))?;
        Ok(connection)
    }

    /// Runs a statement.
    pub fn run(&mut self, text: &str) -> Result<Answer, Trouble> {
        self.protocol.query(text.as_bytes());
        self.answer()
    }

    /// Runs a statement prepared. It is prepared when it is used for the first time.
    pub fn execute(&mut self, text: &str, parameters: &[ParameterValue<'_>]) -> Result<Answer, Trouble> {
        let statement = match self.prepared.get(text) {
            Some(&statement) => statement,
            None => {
                let statement = self.prepare(text)?;
                self.prepared.insert(text.to_owned(), statement);
                statement
            }
        };
        self.protocol.execute(statement, parameters, Cursor::None);
        self.answer()
    }

    /// The server's number of a statement that is prepared now.
    pub fn prepare(&mut self, text: &str) -> Result<u32, Trouble> {
        self.protocol.prepare(text.as_bytes());
        match self.response()? {
            Response::Prepared(prepared) => Ok(prepared.statement_id),
            Response::Error(error) => Err(Trouble::Refused(error.errno, error.message)),
            Response::Connected
            | Response::Ok(_)
            | Response::ResultSet(_)
            | Response::Fields(_)
            | Response::Text(_) => Err(Trouble::Lost("an answer to another command".to_owned())),
        }
    }

    /// The socket and what is known of the session, for a caller that waits for many connections at once.
    #[must_use]
    pub fn into_parts(self) -> (TcpStream, ClientConnection) {
        (self.stream, self.protocol)
    }

    fn answer(&mut self) -> Result<Answer, Trouble> {
        answer_of(self.response()?)
    }

    fn response(&mut self) -> Result<Response, Trouble> {
        loop {
            let output = self.protocol.take_output();
            self.stream.write_all(&output)?;
            match self.protocol.next_response() {
                Err(error) => return Err(Trouble::Lost(error.to_string())),
                Ok(Some(response)) => return Ok(response),
                Ok(None) => {}
            }
            // The login is a dialogue: what `next_response` has read may have an answer of ours.
            if !self.protocol.output().is_empty() {
                continue;
            }
            let size = self.stream.read(&mut self.received)?;
            if size == 0 {
                return Err(Trouble::Lost("closed by the server".to_owned()));
            }
            self.protocol.receive(&self.received[..size]);
        }
    }
}

fn answer_of(response: Response) -> Result<Answer, Trouble> {
    match response {
        Response::Connected => Ok(Answer::Done(0)),
        Response::Ok(done) => Ok(Answer::Done(done.affected_rows)),
        Response::ResultSet(set) => Ok(Answer::Rows(set.rows.into_iter().map(text_row).collect())),
        Response::Error(error) => Err(Trouble::Refused(error.errno, error.message)),
        // Nothing of this was asked for.
        Response::Prepared(_) | Response::Fields(_) | Response::Text(_) => {
            Err(Trouble::Lost("an answer to another command".to_owned()))
        }
    }
}

fn text_row(row: Vec<Value>) -> TextRow {
    row.into_iter().map(text_of).collect()
}

/// A value as it stands in a text row, but for zeros behind the point of a moment's seconds.
fn text_of(value: Value) -> Option<String> {
    Some(match value {
        Value::Null => return None,
        Value::Bytes(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Value::Int(value) => value.to_string(),
        Value::UInt(value) => value.to_string(),
        Value::Float(value) => value.to_string(),
        Value::Double(value) => value.to_string(),
        Value::Date(date) => format!("{:04}-{:02}-{:02}", date.year, date.month, date.day),
        Value::DateTime(moment) => format!(
            "{:04}-{:02}-{:02} {:02}:{:02}:{:02}{}",
            moment.year,
            moment.month,
            moment.day,
            moment.hour,
            moment.minute,
            moment.second,
            fraction(moment.microsecond)
        ),
        Value::Time(time) => format!(
            "{}{:02}:{:02}:{:02}{}",
            if time.negative { "-" } else { "" },
            time.days * 24 + u32::from(time.hours),
            time.minutes,
            time.seconds,
            fraction(time.microseconds)
        ),
    })
}

fn fraction(microseconds: u32) -> String {
    if microseconds == 0 { String::new() } else { format!(".{microseconds:06}") }
}

#[cfg(test)]
mod tests;
