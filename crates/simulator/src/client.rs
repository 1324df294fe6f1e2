//! A client: a MySQL connection (bytes, through the client half of `mysql_protocol`) and a script that decides what to
//! say next.
//!
//! Invariants: one statement is outstanding at a time. Every answer reaches the script exactly once, a broken
//! connection as `Answer::Lost`. A statement whose connection broke may or may not have been done, and the script is
//! told no more than that.

use crate::world::Link;
use mysql_protocol::client::{ClientConnection, ClientOptions, Response, Value};
use stdx::Prng;
use types::NodeId;

/// The answer that a script gets.
#[derive(Clone, PartialEq, Debug)]
pub enum Answer {
    /// The run begins, or a pause is over.
    Ready,
    /// Connected and authenticated.
    Connected,
    /// Done; this many rows were affected.
    Done(u64),
    /// Rows of text.
    Rows(Vec<Vec<Option<String>>>),
    /// MySQL's error number and text.
    Error(u16, String),
    /// The connection is gone; what was outstanding may have been done or not.
    Lost,
}

/// In [`Client::complaints`]: the connection broke while a statement was under way.
pub const LOST: &str = "the connection is lost";

/// Texts of errors that a statement has only because something in the cluster was lost or moved.
const COMPLAINTS: [&str; 5] =
    ["view has changed", "is lost", "has no primary", "has lost the transaction", "could not be undone"];

/// The next action of a script.
#[derive(Clone, PartialEq, Debug)]
pub enum Action {
    /// Connect to a node (again).
    Connect(NodeId),
    /// Send a statement.
    Query(String),
    /// Do nothing for some nanoseconds.
    Wait(u64),
    /// End.
    Finish,
}

/// Decides what a client does.
pub trait Script {
    /// Takes the answer to the last action, says the next one.
    fn next(&mut self, now: u64, prng: &mut Prng, answer: Answer) -> Action;
    /// As whom it logs in, without a password.
    fn user(&self) -> &'static str {
        "root"
    }
    /// For checks after the run.
    fn as_any(&self) -> &dyn std::any::Any;
}

/// A client of the simulated cluster.
pub struct Client {
    script: Box<dyn Script>,
    connection: Option<Connected>,
    /// Statements that every new connection begins with; the script hears nothing of them.
    preamble: Vec<String>,
    /// Where it wants to connect.
    target: Option<NodeId>,
    pending: Option<Answer>,
    serial: u32,
    is_finished: bool,
    is_closing: bool,
    /// When it is run next, whatever arrives before.
    wake_at: Option<u64>,
    /// Errors that a statement has only because something in the cluster was lost or moved, and of which node's
    /// session.
    complaints: Vec<(NodeId, String)>,
    /// If somebody wants to know: what it heard last, and what it did then.
    pub exchange: Option<String>,
}

struct Connected {
    link: Link,
    protocol: ClientConnection,
    /// Statements of the preamble that are not sent yet, last first.
    preamble: Vec<String>,
    /// Logged in, and the preamble is done.
    is_ready: bool,
}

impl Client {
    /// A client that has not begun.
    #[must_use]
    pub fn new(script: Box<dyn Script>) -> Self {
        Self::with_preamble(script, Vec::new())
    }

    /// A client whose connections begin with these statements.
    #[must_use]
    pub fn with_preamble(script: Box<dyn Script>, mut preamble: Vec<String>) -> Self {
        preamble.reverse();
        Self {
            script,
            preamble,
            connection: None,
            target: None,
            pending: Some(Answer::Ready),
            serial: 0,
            is_finished: false,
            is_closing: false,
            wake_at: None,
            complaints: Vec::new(),
            exchange: None,
        }
    }

    /// Its script.
    #[must_use]
    pub fn script(&self) -> &dyn Script {
        self.script.as_ref()
    }

    /// Errors that no client should get while nothing but planned moves goes on.
    #[must_use]
    pub fn complaints(&self) -> &[(NodeId, String)] {
        &self.complaints
    }

    /// Where it stands, for a report.
    #[must_use]
    pub fn describe(&self) -> String {
        format!(
            "link {:?}, target {:?}, pending {:?}, closing {}",
            self.link(),
            self.target,
            self.pending,
            self.is_closing
        )
    }

    /// It has nothing more to do.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.is_finished
    }

    /// Where it wants to connect, if it does.
    #[must_use]
    pub fn target(&self) -> Option<NodeId> {
        self.target
    }

    /// Its connection.
    #[must_use]
    pub fn link(&self) -> Option<Link> {
        self.connection.as_ref().map(|connected| connected.link)
    }

    /// A connection was made; its serial number tells its deliveries from those of earlier ones.
    pub fn open(&mut self, link: Link) -> u32 {
        self.serial += 1;
        self.target = None;
        let protocol = ClientConnection::new(ClientOptions::new(self.script.user(), ""));
        let preamble = self.preamble.clone();
        self.connection = Some(Connected { link, protocol, preamble, is_ready: false });
        self.serial
    }

    /// The node does not accept connections (now).
    pub fn refuse(&mut self) {
        self.target = None;
        self.pending = Some(Answer::Lost);
    }

    /// Bytes arrived on the connection with this serial number.
    pub fn receive(&mut self, serial: u32, bytes: &[u8]) {
        if serial == self.serial
            && let Some(connected) = &mut self.connection
        {
            connected.protocol.receive(bytes);
        }
    }

    /// The connection with this serial number is gone.
    pub fn lose(&mut self, serial: u32) {
        if serial == self.serial
            && let Some(connected) = self.connection.take()
        {
            self.complaints.push((connected.link.module.node, LOST.to_owned()));
            self.pending = Some(Answer::Lost);
        }
    }

    /// It is going to be run at this time, and at no other that was said before.
    pub fn expect_wake(&mut self, at: u64) {
        self.wake_at = Some(at);
    }

    /// Whether this is the time at which it was to be run.
    #[must_use]
    pub fn is_due(&self, now: u64) -> bool {
        self.wake_at == Some(now)
    }

    /// The client closed its connection.
    pub fn closed(&mut self) {
        self.connection = None;
        self.is_closing = false;
    }

    /// Whether the client is closing its connection.
    #[must_use]
    pub fn wants_close(&self) -> bool {
        self.is_closing && self.connection.is_some()
    }

    /// The bytes that it has to send.
    pub fn take_output(&mut self) -> Vec<u8> {
        self.connection.as_mut().map_or_else(Vec::new, |connected| connected.protocol.take_output())
    }

    /// Reads answers and lets the script go on; gives a time at which it wants to be run again.
    pub fn run(&mut self, now: u64, prng: &mut Prng) -> Option<u64> {
        let answer = self.next_answer()?;
        if let (Answer::Error(code, text), Some(connected)) = (&answer, &self.connection)
            && (matches!(code, 1180 | 1297) || COMPLAINTS.iter().any(|complaint| text.contains(complaint)))
        {
            self.complaints.push((connected.link.module.node, text.clone()));
        }
        let heard = self.exchange.is_some().then(|| format!("{answer:?}"));
        let action = self.script.next(now, prng, answer);
        self.exchange = heard.map(|heard| format!("{heard} -> {action:?}"));
        match action {
            Action::Query(text) => {
                let Some(connected) = &mut self.connection else {
                    self.pending = Some(Answer::Lost);
                    return Some(now);
                };
                connected.protocol.query(text.as_bytes());
                None
            }
            Action::Connect(node) => {
                self.is_closing = self.connection.is_some();
                self.target = Some(node);
                Some(now)
            }
            Action::Wait(nanoseconds) => {
                self.pending = Some(Answer::Ready);
                Some(now + nanoseconds)
            }
            Action::Finish => {
                self.is_finished = true;
                self.is_closing = self.connection.is_some();
                None
            }
        }
    }

    fn next_answer(&mut self) -> Option<Answer> {
        if self.is_finished || self.target.is_some() {
            return None;
        }
        if let Some(answer) = self.pending.take() {
            return Some(answer);
        }
        let connected = self.connection.as_mut()?;
        match connected.protocol.next_response() {
            Ok(None) => None,
            Ok(Some(response)) if connected.is_ready => Some(answer_of(response)),
            // Whether the preamble worked does not matter: it may have been killed.
            Ok(Some(_)) => match connected.preamble.pop() {
                Some(statement) => {
                    connected.protocol.query(statement.as_bytes());
                    None
                }
                None => {
                    connected.is_ready = true;
                    Some(Answer::Connected)
                }
            },
            Err(_) => {
                self.connection = None;
                Some(Answer::Lost)
            }
        }
    }
}

fn answer_of(response: Response) -> Answer {
    match response {
        Response::Connected => Answer::Connected,
        Response::Ok(completion) => Answer::Done(completion.affected_rows),
        Response::Error(error) => Answer::Error(error.errno, error.message),
        Response::ResultSet(set) => {
            let text = |value: Value| match value {
                Value::Bytes(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
                Value::Null => None,
                Value::Int(_)
                | Value::UInt(_)
                | Value::Float(_)
                | Value::Double(_)
                | Value::Date(_)
                | Value::DateTime(_)
                | Value::Time(_) => Some(format!("{value:?}")),
            };
            Answer::Rows(set.rows.into_iter().map(|row| row.into_iter().map(text).collect()).collect())
        }
        Response::Prepared(_) | Response::Fields(_) | Response::Text(_) => Answer::Rows(Vec::new()),
    }
}
