//! Transfers between accounts, each with a row that tells of it: transactions over several partitions that must be
//! whole.
//!
//! The rows say which transfers took place, so every outcome can be judged, and the balances must follow from them to
//! the last unit.

use super::{Client, DATABASE, Tables, Turn, numbers, one_row, words};
use crate::driver::{Driver, End};
use crate::record::{Outcome, Record, Writer, now};
use std::collections::BTreeMap;
use std::io;
use std::time::Instant;

const ACCOUNTS: u64 = 40;

/// Balances can't become negative in any run: each transfer takes at most a few units.
const FIRST_BALANCE: u64 = 1_000_000_000;

/// Rows of one answer.
const BATCH: usize = 2_000;

pub(super) fn setup() -> Vec<String> {
    let rows: Vec<String> = (0..ACCOUNTS).map(|id| format!("({id}, {FIRST_BALANCE})")).collect();
    vec![
        format!("CREATE TABLE {DATABASE}.accounts (id INT PRIMARY KEY, balance BIGINT NOT NULL)"),
        format!(
            "CREATE TABLE {DATABASE}.transfers (id BIGINT PRIMARY KEY, source INT NOT NULL, target INT NOT NULL,
             amount BIGINT NOT NULL, KEY by_source (source))"
        ),
        format!("INSERT INTO {DATABASE}.accounts VALUES {}", rows.join(", ")),
    ]
}

impl Client {
    pub(super) fn transfer(
        &mut self,
        driver: &mut Driver,
        log: &mut Writer,
        deadline: Instant,
    ) -> io::Result<Turn> {
        let (from, id) = (now(), self.fresh());
        let source = self.prng.below(ACCOUNTS);
        let target = (source + 1 + self.prng.below(ACCOUNTS - 1)) % ACCOUNTS;
        let amount = 1 + self.prng.below(9);
        let end = driver.transaction(deadline, |connection| {
            let accounts = format!("UPDATE {DATABASE}.accounts SET balance = balance");
            one_row(connection.run(&format!("{accounts} - {amount} WHERE id = {source}"))?)?;
            one_row(connection.run(&format!("{accounts} + {amount} WHERE id = {target}"))?)?;
            let row = format!("({id}, {source}, {target}, {amount})");
            one_row(connection.run(&format!("INSERT INTO {DATABASE}.transfers VALUES {row}"))?)
        });
        let (outcome, turn) = match end {
            End::Done(_) => (Outcome::Acknowledged, Turn::Done),
            End::Refused => (Outcome::Refused, Turn::Failed),
            End::Unknown => (Outcome::Unknown, Turn::Failed),
        };
        log.append(outcome, from, format_args!("{id} {source} {target} {amount}"))?;
        Ok(turn)
    }
}

/// The faults of the bank, a line each.
pub fn check(records: &[Record], tables: &mut dyn Tables) -> Result<Vec<String>, String> {
    let mut faults = Vec::new();
    let mut found: BTreeMap<u64, [u64; 4]> = BTreeMap::new();
    let mut last = 0;
    loop {
        let rows = tables.rows(&format!(
            "SELECT id, source, target, amount FROM {DATABASE}.transfers WHERE id > {last} ORDER BY id LIMIT {BATCH}"
        ))?;
        for row in &rows {
            let transfer: [u64; 4] = numbers(row)?;
            last = transfer[0];
            found.insert(last, transfer);
        }
        if rows.len() < BATCH {
            break;
        }
    }
    let mut balances: BTreeMap<u64, i128> = (0..ACCOUNTS).map(|id| (id, i128::from(FIRST_BALANCE))).collect();
    for [_, source, target, amount] in found.values() {
        *balances.entry(*source).or_default() -= i128::from(*amount);
        *balances.entry(*target).or_default() += i128::from(*amount);
    }
    for record in records {
        let wanted: [u64; 4] = words(&record.detail)?;
        let transfer = found.remove(&wanted[0]);
        match (record.outcome, transfer) {
            (Outcome::Acknowledged, None) => {
                faults.push(format!("acknowledged transfer {wanted:?} is lost"));
            }
            (Outcome::Refused, Some(_)) => faults.push(format!("refused transfer {wanted:?} took place")),
            (Outcome::Acknowledged | Outcome::Unknown, Some(transfer)) if transfer != wanted => {
                faults.push(format!("transfer {wanted:?} has become {transfer:?}"));
            }
            (Outcome::Acknowledged, Some(_)) | (Outcome::Refused, None) | (Outcome::Unknown, _) => {}
        }
    }
    faults.extend(found.values().map(|transfer| format!("transfer {transfer:?} was made by nobody")));
    for row in tables.rows(&format!("SELECT id, balance FROM {DATABASE}.accounts"))? {
        let [id, balance] = numbers(&row)?;
        match balances.remove(&id) {
            Some(expected) if expected == i128::from(balance) => {}
            expected => faults.push(format!(
                "account {id} holds {balance}; by the transfers that are there it should be {expected:?}"
            )),
        }
    }
    faults.extend(balances.keys().map(|id| format!("account {id} is gone")));
    Ok(faults)
}
