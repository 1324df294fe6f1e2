//! Transfers between accounts: each a transaction over two rows, sometimes rolled back, sometimes with a locking read
//! first, sometimes through a savepoint. The sum of all balances never changes.

use crate::client::{Action, Answer, Script};
use stdx::Prng;
use types::NodeId;

/// Accounts.
pub const ACCOUNT_COUNT: u64 = 8;
/// The first balance of each.
pub const FIRST_BALANCE: i64 = 1_000;

/// A client of the bank.
pub struct Bank {
    nodes: Vec<NodeId>,
    left: u32,
    /// Statements of the running transfer that are not sent yet, last first.
    statements: Vec<String>,
    /// The balances that locking reads of this transfer have shown, in order of the reads.
    balances: Vec<i64>,
    /// With locked balances known, the updates write absolute values: (account, change).
    absolute: Vec<(u64, i64)>,
    is_running: bool,
    is_rolling_back: bool,
    /// Nanoseconds that it may think about the next statement, inside a transfer.
    think_max: u64,
    /// Transfers acknowledged.
    pub committed: u32,
    /// An answer that no correct server gives.
    pub failure: Option<String>,
}

impl Bank {
    /// A client that makes `count` transfers.
    #[must_use]
    pub fn new(nodes: Vec<NodeId>, count: u32) -> Self {
        Self {
            nodes,
            left: count,
            statements: Vec::new(),
            balances: Vec::new(),
            absolute: Vec::new(),
            is_running: false,
            is_rolling_back: false,
            think_max: 0,
            committed: 0,
            failure: None,
        }
    }

    /// It stops to think, for so many nanoseconds at most, while it has rows locked.
    #[must_use]
    pub fn thinking(self, think_max: u64) -> Self {
        Self { think_max, ..self }
    }

    /// The table and its rows.
    #[must_use]
    pub fn setup() -> Vec<String> {
        let rows: Vec<String> =
            (0..ACCOUNT_COUNT).map(|key| format!("({key}, {FIRST_BALANCE}, 'owner {key}')")).collect();
        vec![
            "CREATE TABLE sim.bank (id INT PRIMARY KEY, balance BIGINT NOT NULL, owner VARCHAR(40), KEY (balance))".to_owned(),
            format!("INSERT INTO sim.bank VALUES {}", rows.join(", ")),
        ]
    }

    fn begin(&mut self, prng: &mut Prng) -> Action {
        if self.left == 0 {
            return Action::Finish;
        }
        self.left -= 1;
        let (from, to) = (prng.below(ACCOUNT_COUNT), prng.below(ACCOUNT_COUNT));
        let amount = 1 + prng.below(50);
        let mut statements = vec!["BEGIN".to_owned()];
        self.balances.clear();
        self.absolute.clear();
        if from != to && prng.chance(1, 3) {
            // Read under lock, in order of accounts, then write absolute values: wrong at once if a lock is lost.
            let change = i64::try_from(amount).unwrap_or(0);
            self.absolute = vec![(from, -change), (to, change)];
            self.absolute.sort_unstable();
            for (account, _) in &self.absolute {
                statements.push(format!("SELECT balance FROM sim.bank WHERE id = {account} FOR UPDATE"));
            }
            statements.push(ABSOLUTE.to_owned());
            statements.push(ABSOLUTE.to_owned());
        } else {
            statements.push(format!("UPDATE sim.bank SET balance = balance - {amount} WHERE id = {from}"));
            if prng.chance(1, 4) {
                let other = prng.below(ACCOUNT_COUNT);
                statements.push("SAVEPOINT s".to_owned());
                statements.push(format!("UPDATE sim.bank SET balance = balance + 7 WHERE id = {other}"));
                statements.push("ROLLBACK TO s".to_owned());
            }
            statements.push(format!("UPDATE sim.bank SET balance = balance + {amount} WHERE id = {to}"));
        }
        statements.push(if prng.chance(1, 8) { "ROLLBACK" } else { "COMMIT" }.to_owned());
        statements.reverse();
        self.statements = statements;
        self.is_running = true;
        self.go_on()
    }

    fn go_on(&mut self) -> Action {
        match self.statements.pop() {
            Some(statement) if statement == ABSOLUTE => Action::Query(self.absolute_update()),
            Some(statement) => Action::Query(statement),
            None => Action::Wait(1),
        }
    }
}

/// Stands for an update whose value comes from the locking reads before it.
const ABSOLUTE: &str = "absolute";

impl Bank {
    fn absolute_update(&mut self) -> String {
        let (account, change) = self.absolute.remove(0);
        let balance = if self.balances.is_empty() { 0 } else { self.balances.remove(0) };
        format!("UPDATE sim.bank SET balance = {} WHERE id = {account}", balance + change)
    }

    fn keep_balance(&mut self, answer: &Answer) {
        if let Answer::Rows(rows) = answer {
            let balance = rows.first().and_then(|row| row.first()?.as_deref()?.parse().ok());
            self.balances.push(balance.unwrap_or(0));
        }
    }
}

impl Script for Bank {
    fn next(&mut self, _: u64, prng: &mut Prng, answer: Answer) -> Action {
        self.keep_balance(&answer);
        match answer {
            Answer::Ready if !self.is_running => {
                return Action::Connect(self.nodes[prng.index(self.nodes.len())]);
            }
            // It has thought.
            Answer::Ready if !self.statements.is_empty() => return self.go_on(),
            Answer::Ready | Answer::Connected => {}
            Answer::Lost | Answer::Error(1180, _) => {
                self.is_running = false;
                self.is_rolling_back = false;
                self.statements.clear();
                return Action::Wait(5_000_000);
            }
            Answer::Done(_) | Answer::Rows(_) => {
                if !self.statements.is_empty() {
                    let thinks = self.think_max > 0 && prng.chance(1, 2);
                    return if thinks { Action::Wait(1 + prng.below(self.think_max)) } else { self.go_on() };
                }
                self.committed += u32::from(!self.is_rolling_back);
                self.is_rolling_back = false;
            }
            Answer::Error(code, message) => {
                if !super::is_certain_failure(code) {
                    self.failure = Some(format!("unexpected error {code} {message}"));
                    return Action::Finish;
                }
                self.statements.clear();
                // A refused COMMIT, too: what is still open must not be committed by the next BEGIN.
                self.is_rolling_back = true;
                return Action::Query("ROLLBACK".to_owned());
            }
        }
        self.begin(prng)
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}
