use super::*;
use crate::record::{Outcome, Record};

/// Answers each query whose text contains a mark with rows of numbers and text.
struct Fixed(Vec<(&'static str, Vec<Vec<String>>)>);

impl Tables for Fixed {
    fn rows(&mut self, query: &str) -> Result<Vec<TextRow>, String> {
        let found = self.0.iter().find(|(mark, _)| query.contains(mark));
        let rows = found.map(|(_, rows)| rows.clone()).ok_or_else(|| format!("unexpected: {query}"))?;
        Ok(rows.into_iter().map(|row| row.into_iter().map(Some).collect()).collect())
    }
}

fn record(outcome: Outcome, detail: &str) -> Record {
    Record { outcome, from: 0, until: 0, detail: detail.to_owned() }
}

use Outcome::{Acknowledged, Refused, Unknown};

/// Counter 3 holds a value, all others 0.
fn counters_with(value: u64, records: &[Record]) -> Vec<String> {
    let rows = (0..16).map(|id| vec![id.to_string(), if id == 3 { value } else { 0 }.to_string()]).collect();
    counters::check(records, &mut Fixed(vec![("counters", rows)])).unwrap()
}

#[test]
fn a_counter_lies_between_acknowledged_and_unknown() {
    let records =
        [record(Acknowledged, "3"), record(Acknowledged, "3"), record(Unknown, "3"), record(Refused, "3")];
    assert_eq!(counters_with(2, &records), [""; 0]);
    assert_eq!(counters_with(3, &records), [""; 0]);
    assert!(counters_with(1, &records)[0].contains("2 increments were acknowledged"));
    assert!(counters_with(4, &records)[0].contains("only 2"));
}

#[test]
fn a_missing_counter_is_a_fault() {
    let faults = counters::check(&[], &mut Fixed(vec![("counters", Vec::new())])).unwrap();
    assert_eq!(faults.len(), 16);
}

/// Transfers that are there; balances follow from them but for account 0, which has `extra` more.
fn bank_with(transfers: &[[u64; 4]], extra: u64, records: &[Record]) -> Vec<String> {
    let mut balances = [1_000_000_000_u64; 40];
    balances[0] += extra;
    for [_, source, target, amount] in transfers {
        balances[usize::try_from(*source).unwrap()] -= amount;
        balances[usize::try_from(*target).unwrap()] += amount;
    }
    let accounts = (0..40_usize).map(|id| vec![id.to_string(), balances[id].to_string()]).collect();
    let rows = transfers.iter().map(|row| row.iter().map(u64::to_string).collect()).collect();
    bank::check(records, &mut Fixed(vec![("transfers", rows), ("accounts", accounts)])).unwrap()
}

#[test]
fn a_bank_that_is_right() {
    let records = [
        record(Acknowledged, "1 5 6 7"),
        record(Unknown, "2 5 6 1"),
        record(Unknown, "3 5 6 1"),
        record(Refused, "4 5 6 1"),
    ];
    assert_eq!(bank_with(&[[1, 5, 6, 7], [3, 5, 6, 1]], 0, &records), [""; 0]);
}

#[test]
fn every_fault_of_a_bank_is_found() {
    let acknowledged = [record(Acknowledged, "1 5 6 7")];
    assert!(bank_with(&[], 0, &acknowledged)[0].contains("is lost"));
    assert!(bank_with(&[[1, 5, 6, 8]], 0, &acknowledged)[0].contains("has become"));
    assert!(bank_with(&[[1, 5, 6, 7]], 1, &acknowledged)[0].contains("account 0 holds"));
    assert!(bank_with(&[[1, 5, 6, 7]], 0, &[record(Refused, "1 5 6 7")])[0].contains("took place"));
    assert!(bank_with(&[[1, 5, 6, 7]], 0, &[])[0].contains("by nobody"));
}
