//! Increments of shared rows, each a transaction of its own: the shortest write there is, with its commit in one
//! signal.

use super::{Client, DATABASE, Tables, Turn, numbers, words};
use crate::connection::Answer;
use crate::driver::{Driver, End};
use crate::record::{Outcome, Record, Writer, now};
use std::collections::BTreeMap;
use std::io;
use std::time::Instant;

const COUNTERS: u64 = 16;

pub(super) fn setup() -> Vec<String> {
    let rows: Vec<String> = (0..COUNTERS).map(|id| format!("({id}, 0)")).collect();
    vec![
        format!("CREATE TABLE {DATABASE}.counters (id INT PRIMARY KEY, value BIGINT NOT NULL)"),
        format!("INSERT INTO {DATABASE}.counters VALUES {}", rows.join(", ")),
    ]
}

impl Client {
    pub(super) fn count(
        &mut self,
        driver: &mut Driver,
        log: &mut Writer,
        deadline: Instant,
    ) -> io::Result<Turn> {
        let (from, id) = (now(), self.prng.below(COUNTERS));
        let text = format!("UPDATE {DATABASE}.counters SET value = value + 1 WHERE id = {id}");
        let end = driver.statement(&text, deadline);
        if let End::Done(answer) = &end
            && *answer != Answer::Done(1)
        {
            driver.surprises.push(format!("increment of counter {id}: {answer:?}"));
        }
        let (outcome, turn) = match end {
            End::Done(_) => (Outcome::Acknowledged, Turn::Done),
            End::Refused => (Outcome::Refused, Turn::Failed),
            End::Unknown => (Outcome::Unknown, Turn::Failed),
        };
        log.append(outcome, from, id)?;
        Ok(turn)
    }
}

/// The faults of the counters, a line each.
pub fn check(records: &[Record], tables: &mut dyn Tables) -> Result<Vec<String>, String> {
    let mut expected: BTreeMap<u64, (u64, u64)> = (0..COUNTERS).map(|id| (id, (0, 0))).collect();
    for record in records {
        let [id] = words(&record.detail)?;
        let (acknowledged, unknown) = expected.entry(id).or_default();
        match record.outcome {
            Outcome::Acknowledged => *acknowledged += 1,
            Outcome::Unknown => *unknown += 1,
            Outcome::Refused => {}
        }
    }
    let mut faults = Vec::new();
    for row in tables.rows(&format!("SELECT id, value FROM {DATABASE}.counters"))? {
        let [id, value] = numbers(&row)?;
        let Some((acknowledged, unknown)) = expected.remove(&id) else {
            faults.push(format!("counter {id} is there, and nobody made it"));
            continue;
        };
        if value < acknowledged {
            faults.push(format!("counter {id} is {value}: {acknowledged} increments were acknowledged"));
        }
        if value > acknowledged + unknown {
            faults.push(format!(
                "counter {id} is {value}: only {acknowledged} increments were acknowledged, {unknown} are unknown"
            ));
        }
    }
    faults.extend(expected.keys().map(|id| format!("counter {id} is gone")));
    Ok(faults)
}
