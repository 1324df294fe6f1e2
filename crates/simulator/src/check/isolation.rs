//! READ COMMITTED as Adya defines it, from list-append histories. There is no cycle of write and read dependencies (G0,
//! G1c), nothing read that was aborted (G1a) or not final (G1b), nothing appended lost or twice.
//!
//! Two judges: our own, below, and the crate `adya`, which knows nothing of us.

use crate::workload::lists::{End, Step, Transaction};
use std::collections::{BTreeMap, BTreeSet};

/// None if the history is as promised, else what is wrong. `final_lists` is what was read after everything ended.
#[must_use]
pub fn check(history: &[Transaction], final_lists: &BTreeMap<u64, Vec<u64>>) -> Option<String> {
    own(history, final_lists).or_else(|| by_adya(history))
}

/// Our own check.
#[must_use]
pub fn own(history: &[Transaction], final_lists: &BTreeMap<u64, Vec<u64>>) -> Option<String> {
    let mut writer: BTreeMap<u64, usize> = BTreeMap::new();
    for (index, transaction) in history.iter().enumerate() {
        for step in &transaction.steps {
            if let Step::Append(_, value) = step {
                writer.insert(*value, index);
            }
        }
    }
    lost_or_doubled(history, final_lists)
        .or_else(|| unseen_own(history))
        .or_else(|| wrong_reads(history, final_lists, &writer))
        .or_else(|| cycle(history, final_lists, &writer))
}

/// Every acknowledged append is in the final list once; no aborted one is.
fn lost_or_doubled(history: &[Transaction], final_lists: &BTreeMap<u64, Vec<u64>>) -> Option<String> {
    let mut seen: BTreeSet<u64> = BTreeSet::new();
    for (key, list) in final_lists {
        for value in list {
            if !seen.insert(*value) {
                return Some(format!("list {key} has {value} twice"));
            }
        }
    }
    for transaction in history {
        for step in &transaction.steps {
            let Step::Append(key, value) = step else { continue };
            let is_there = final_lists.get(key).is_some_and(|list| list.contains(value));
            match transaction.end {
                End::Committed if !is_there => {
                    return Some(format!(
                        "acknowledged append of {value} to list {key} is lost: {transaction:?}"
                    ));
                }
                End::Aborted if is_there => {
                    return Some(format!("aborted append of {value} is in list {key}: {transaction:?}"));
                }
                End::Committed | End::Aborted | End::Unknown => {}
            }
        }
    }
    None
}

/// A transaction sees what it has appended itself.
fn unseen_own(history: &[Transaction]) -> Option<String> {
    for transaction in history.iter().filter(|transaction| transaction.end == End::Committed) {
        let mut own: Vec<(u64, u64)> = Vec::new();
        for step in &transaction.steps {
            match step {
                Step::Append(key, value) => own.push((*key, *value)),
                Step::Read(key, Some(read)) => {
                    let missing = own.iter().find(|(list, value)| list == key && !read.contains(value));
                    if let Some((_, value)) = missing {
                        return Some(format!(
                            "own append of {value} to list {key} was not seen: {transaction:?}"
                        ));
                    }
                }
                Step::Read(_, None) => {}
            }
        }
    }
    None
}

/// Committed transactions read only prefixes of the final lists (then followed by their own appends), nothing aborted,
/// nothing intermediate.
fn wrong_reads(
    history: &[Transaction],
    final_lists: &BTreeMap<u64, Vec<u64>>,
    writer: &BTreeMap<u64, usize>,
) -> Option<String> {
    for (index, transaction) in
        history.iter().enumerate().filter(|(_, transaction)| transaction.end == End::Committed)
    {
        for step in &transaction.steps {
            let Step::Read(key, Some(read)) = step else { continue };
            let list = final_lists.get(key).map_or(&[][..], Vec::as_slice);
            if !list.starts_with(read) {
                return Some(format!(
                    "read of list {key} is no prefix of what it became: {read:?} of {list:?}"
                ));
            }
            let Some(last) = read.last().and_then(|value| writer.get(value)) else { continue };
            if *last != index && is_intermediate(&history[*last], *key, read.last().copied()) {
                return Some(format!("intermediate read of list {key}: {read:?} in {transaction:?}"));
            }
        }
    }
    None
}

/// Whether `value` is not the last of the transaction's appends to the list.
fn is_intermediate(transaction: &Transaction, key: u64, value: Option<u64>) -> bool {
    let last = transaction.steps.iter().rev().find_map(|step| match step {
        Step::Append(list, value) if *list == key => Some(*value),
        Step::Append(..) | Step::Read(..) => None,
    });
    last != value
}

/// A cycle of "appended before" and "was read by" among committed transactions.
fn cycle(
    history: &[Transaction],
    final_lists: &BTreeMap<u64, Vec<u64>>,
    writer: &BTreeMap<u64, usize>,
) -> Option<String> {
    let mut edges: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    let mut edge = |from: usize, to: usize| {
        if from != to {
            edges.entry(from).or_default().insert(to);
        }
    };
    for list in final_lists.values() {
        let writers: Vec<usize> = list.iter().filter_map(|value| writer.get(value).copied()).collect();
        for pair in writers.windows(2) {
            edge(pair[0], pair[1]);
        }
    }
    for (index, transaction) in
        history.iter().enumerate().filter(|(_, transaction)| transaction.end == End::Committed)
    {
        for step in &transaction.steps {
            if let Step::Read(_, Some(read)) = step
                && let Some(source) = read.last().and_then(|value| writer.get(value))
            {
                edge(*source, index);
            }
        }
    }
    find_cycle(&edges).map(|nodes| {
        let transactions: Vec<String> = nodes.iter().map(|node| format!("{:?}", history[*node])).collect();
        format!("a cycle of dependencies:\n{}", transactions.join("\n"))
    })
}

/// Nodes on a cycle: what is left after nodes without successors were taken away again and again.
fn find_cycle(edges: &BTreeMap<usize, BTreeSet<usize>>) -> Option<Vec<usize>> {
    let mut edges = edges.clone();
    loop {
        let before: usize = edges.values().map(BTreeSet::len).sum();
        let alive: BTreeSet<usize> =
            edges.iter().filter(|(_, to)| !to.is_empty()).map(|(from, _)| *from).collect();
        for to in edges.values_mut() {
            to.retain(|node| alive.contains(node));
        }
        edges.retain(|_, to| !to.is_empty());
        if edges.is_empty() {
            return None;
        }
        if edges.values().map(BTreeSet::len).sum::<usize>() == before {
            return Some(edges.keys().copied().collect());
        }
    }
}

/// The judgement of the crate `adya`.
#[must_use]
pub fn by_adya(history: &[Transaction]) -> Option<String> {
    let mut events: Vec<(u64, bool, usize)> = Vec::new();
    for (index, transaction) in history.iter().enumerate() {
        events.push((transaction.from, false, index));
        events.push((transaction.until, true, index));
    }
    events.sort_unstable();
    let mut text = String::new();
    for (_, is_end, index) in events {
        let transaction = &history[index];
        let kind = match (is_end, transaction.end) {
            (false, _) => "invoke",
            (true, End::Committed) => "ok",
            (true, End::Aborted) => "fail",
            (true, End::Unknown) => "info",
        };
        let steps: Vec<String> = transaction.steps.iter().map(|step| step_text(step, kind == "ok")).collect();
        // Each transaction is a process of its own: sessions are judged elsewhere.
        text.push_str(&format!(r#"{{"type":"{kind}","process":{index},"value":[{}]}}"#, steps.join(",")));
        text.push('\n');
    }
    if history.is_empty() {
        return None;
    }
    let parsed = match adya::History::from_json(&text) {
        Ok(parsed) => parsed,
        Err(error) => return Some(format!("adya cannot read the history: {error}")),
    };
    let options = adya::Opts { models: vec!["read-committed".into()], ..adya::Opts::default() };
    let report = adya::check(&parsed, adya::Workload::ListAppend, &options);
    (report.valid == adya::Valid::False).then(|| format!("adya: {:?}", report.anomaly_types))
}

fn step_text(step: &Step, is_known: bool) -> String {
    match step {
        Step::Append(key, value) => format!(r#"["append",{key},{value}]"#),
        Step::Read(key, Some(read)) if is_known => {
            let list: Vec<String> = read.iter().map(u64::to_string).collect();
            format!(r#"["r",{key},[{}]]"#, list.join(","))
        }
        Step::Read(key, _) => format!(r#"["r",{key},null]"#),
    }
}

#[cfg(test)]
mod tests;
