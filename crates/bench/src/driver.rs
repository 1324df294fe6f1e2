//! A driver as it should be: several addresses, and a clear word about what became of each transaction.
//!
//! ```text
//! error 1213, 1205 …            it was not done: roll back, try again here
//! error 1047, 1053, connect     it was not done: go to another address
//! error 1180                    nobody knows; the server closes the connection
//! connection lost               before COMMIT was sent: it was not done; behind it: nobody knows
//! ```
//! A server that is about to stop says so (1053) between transactions: the client goes on elsewhere, and has lost
//! nothing. In a transaction, and as anything else, a refusal or a loss is a *failure*, but for a deadlock among
//! clients. [`Tally`] counts both.
//!
//! The addresses are tried in turn, beginning with the one that the driver calls its home. Between two rounds it pauses
//! a little, so that a thousand drivers do not keep a recovering server busy.
//!
//! **Invariants.** [`End::Refused`] is said only of what certainly has no effect, [`End::Done`] only of what was
//! acknowledged. An error that no list here knows is a *surprise*: it is kept, and the campaign calls it a failure.
//!
//! **Deliberately not here**: retry by itself. The load decides which work is tried again, and under which name: only
//! it knows whether its statement may be done twice.

use crate::connection::{Answer, Connection, Patience, TextRow, Trouble};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Between two rounds over all addresses.
const ROUND_PAUSE: Duration = Duration::from_millis(2);

/// Surprises that are kept word by word.
const SURPRISES_MAX: usize = 20;

/// The meaning of an error number for the transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Meaning {
    /// It is undone, and may be tried again on this connection.
    TryAgain,
    /// This server can't, another one may.
    GoElsewhere,
    /// It may have been done.
    Unknown,
    /// Nobody should get this error.
    Surprise,
}

/// Numbers are MySQL's; 1047 is Galera's "WSREP has not yet prepared node for application use", 1927 MariaDB's
/// "connection was killed".
fn meaning(number: u16) -> Meaning {
    match number {
        1205 | 1213 => Meaning::TryAgain,
        1040 | 1047 | 1053 | 1927 => Meaning::GoElsewhere,
        1180 => Meaning::Unknown,
        _ => Meaning::Surprise,
    }
}

/// A server that is about to stop.
const SHUTDOWN: u16 = 1053;

/// The text of 1213 if nobody but other clients is to blame.
const DEADLOCK: &str = "Deadlock found";

/// The outcome of a client's work, for watchers.
#[derive(Debug, Default)]
pub struct Tally {
    failed: AtomicU64,
    moved: AtomicU64,
}

impl Tally {
    /// Statements and transactions that were refused or lost.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.failed.load(Ordering::Relaxed)
    }

    /// How often a server that was about to stop sent the client elsewhere, between two transactions.
    #[must_use]
    pub fn moved(&self) -> u64 {
        self.moved.load(Ordering::Relaxed)
    }
}

/// Where in a transaction something failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    /// Its first statement, which has done nothing if it was refused: BEGIN.
    Begin,
    /// In the middle.
    Body,
    /// Its last statement, or its only one: it could have committed.
    End { is_first: bool },
}

/// How a piece of work ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum End<T> {
    /// It was acknowledged.
    Done(T),
    /// It certainly has no effect.
    Refused,
    /// It may have an effect, all of it, or none.
    Unknown,
}

/// One client's way to the database.
#[derive(Debug)]
pub struct Driver {
    /// The home first.
    addresses: Vec<SocketAddr>,
    patience: Patience,
    /// Statements that every session begins with.
    preamble: Vec<String>,
    connection: Option<Connection>,
    /// Which address is tried next.
    next: usize,
    /// How often each error number came; lost connections are number 0.
    pub errors: BTreeMap<u16, u64>,
    /// Errors that no client should see.
    pub surprises: Vec<String>,
    tally: Arc<Tally>,
}

/// The end of a transaction's body.
pub type Step<T> = Result<T, Trouble>;

impl Driver {
    /// A driver whose home is the address with this index.
    #[must_use]
    pub fn new(addresses: &[SocketAddr], home: usize, patience: Patience, preamble: &[String]) -> Self {
        let mut addresses = addresses.to_vec();
        let count = addresses.len().max(1);
        addresses.rotate_left(home % count);
        Self {
            addresses,
            patience,
            preamble: preamble.to_vec(),
            connection: None,
            next: 0,
            errors: BTreeMap::new(),
            surprises: Vec::new(),
            tally: Arc::default(),
        }
    }

    /// The outcome of its work so far, to be looked at from outside.
    #[must_use]
    pub fn tally(&self) -> Arc<Tally> {
        Arc::clone(&self.tally)
    }

    /// A session, made anew if there is none; `None` if no address gave one until the deadline.
    pub fn connect(&mut self, deadline: Instant) -> Option<&mut Connection> {
        while self.connection.is_none() {
            for _ in 0..self.addresses.len() {
                let address = self.addresses[self.next % self.addresses.len()];
                match self.open(address) {
                    Ok(connection) => {
                        self.connection = Some(connection);
                        return self.connection.as_mut();
                    }
                    Err(trouble) => self.count(&trouble),
                }
                self.next += 1;
            }
            if Instant::now() >= deadline {
                return None;
            }
            std::thread::sleep(ROUND_PAUSE);
        }
        self.connection.as_mut()
    }

    fn open(&self, address: SocketAddr) -> Result<Connection, Trouble> {
        let mut connection = Connection::open(address, self.patience)?;
        for statement in &self.preamble {
            connection.run(statement)?;
        }
        Ok(connection)
    }

    /// One statement that is its own transaction.
    pub fn statement(&mut self, text: &str, deadline: Instant) -> End<Answer> {
        let Some(connection) = self.connect(deadline) else { return End::Refused };
        match connection.run(text) {
            Ok(answer) => End::Done(answer),
            Err(trouble) => self.conclude(&trouble, Place::End { is_first: true }),
        }
    }

    /// A transaction: BEGIN, the body, COMMIT.
    pub fn transaction<T>(
        &mut self,
        deadline: Instant,
        body: impl FnOnce(&mut Connection) -> Step<T>,
    ) -> End<T> {
        let Some(connection) = self.connect(deadline) else { return End::Refused };
        if let Err(trouble) = connection.run("BEGIN") {
            return self.conclude(&trouble, Place::Begin);
        }
        match body(connection) {
            Err(trouble) => self.conclude(&trouble, Place::Body),
            Ok(value) => match connection.run("COMMIT") {
                Ok(_) => End::Done(value),
                Err(trouble) => self.conclude(&trouble, Place::End { is_first: false }),
            },
        }
    }

    /// Concludes from a failure.
    fn conclude<T>(&mut self, trouble: &Trouble, place: Place) -> End<T> {
        self.count(trouble);
        self.judge(trouble, place);
        let may_be_done = matches!(place, Place::End { .. });
        let Trouble::Refused(number, _) = trouble else {
            self.leave();
            return if may_be_done { End::Unknown } else { End::Refused };
        };
        match meaning(*number) {
            Meaning::TryAgain => {
                // 1205 undoes the statement only, and what is still open must not be committed by the next BEGIN.
                let is_undone = self.connection.as_mut().is_some_and(|open| open.run("ROLLBACK").is_ok());
                if !is_undone {
                    self.leave();
                }
                End::Refused
            }
            Meaning::GoElsewhere => {
                self.leave();
                End::Refused
            }
            Meaning::Unknown | Meaning::Surprise => {
                self.leave();
                End::Unknown
            }
        }
    }

    /// Whether it is a failure.
    fn judge(&self, trouble: &Trouble, place: Place) {
        let is_first = matches!(place, Place::Begin | Place::End { is_first: true });
        let counter = match trouble {
            Trouble::Refused(SHUTDOWN, _) if is_first => &self.tally.moved,
            Trouble::Refused(1213, text) if text.contains(DEADLOCK) => return,
            Trouble::Refused(..) | Trouble::Lost(_) => &self.tally.failed,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Where the session is.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        let index = self.next % self.addresses.len().max(1);
        self.connection.as_ref().and_then(|_| self.addresses.get(index).copied())
    }

    /// Gives the connection up, and turns to the next address.
    pub fn leave(&mut self) {
        self.connection = None;
        self.next += 1;
    }

    /// From now on the home is tried first again.
    pub fn go_home(&mut self) {
        self.connection = None;
        self.next = 0;
    }

    fn count(&mut self, trouble: &Trouble) {
        let number = match trouble {
            Trouble::Lost(_) => 0,
            Trouble::Refused(number, _) => *number,
        };
        *self.errors.entry(number).or_default() += 1;
        let is_surprise = match trouble {
            Trouble::Lost(_) => false,
            Trouble::Refused(number, _) => meaning(*number) == Meaning::Surprise,
        };
        if is_surprise && self.surprises.len() < SURPRISES_MAX {
            self.surprises.push(trouble.to_string());
        }
    }
}

/// The rows of an answer that must have some.
pub fn rows(answer: Answer) -> Step<Vec<TextRow>> {
    match answer {
        Answer::Rows(rows) => Ok(rows),
        Answer::Done(_) => Err(Trouble::Lost("no result set".to_owned())),
    }
}

/// The number in a cell.
#[must_use]
pub fn number(row: &TextRow, column: usize) -> Option<u64> {
    row.get(column)?.as_deref()?.parse().ok()
}

#[cfg(test)]
mod tests;
