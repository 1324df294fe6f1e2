//! Transactions that read lists and append to them. Every read shows the order of all appends before it. So
//! dependencies between transactions follow from the answers alone (Kingsbury and Alvaro, Elle, VLDB 2020).
//!
//! A list is a text; lists are left for new ones when they have grown long. Three things are judged. The history is
//! READ COMMITTED as Adya defines it: no cycle of write and read dependencies, nothing read that was aborted or not
//! final. Nothing appended is lost or doubled. Single-row reads are linearizable: a client that reads a list after an
//! append to it was acknowledged sees that append, whichever node either of them asked.

use super::{Client, DATABASE, Tables, Turn};
use crate::connection::{Connection, TextRow};
use crate::driver::{Driver, End, Step, rows};
use crate::record::{Outcome, Record, Writer, now};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Lists in use at a time.
const LISTS: u64 = 8;

/// A list this long is left.
const LENGTH_MAX: usize = 60;

/// Lists of one answer.
const BATCH: usize = 500;

pub(super) fn setup() -> Vec<String> {
    vec![format!("CREATE TABLE {DATABASE}.lists (id BIGINT PRIMARY KEY, content TEXT NOT NULL)")]
}

/// A step of a transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// To this list, this value.
    Append(u64, u64),
    /// This list held these values.
    Read(u64, Vec<u64>),
}

impl fmt::Display for Action {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Append(list, value) => write!(formatter, "a:{list}:{value}"),
            Self::Read(list, values) => {
                let values: Vec<String> = values.iter().map(u64::to_string).collect();
                write!(formatter, "r:{list}:{}", values.join(","))
            }
        }
    }
}

impl Action {
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, ':');
        let (kind, list, rest) = (parts.next()?, parts.next()?.parse().ok()?, parts.next()?);
        match kind {
            "a" => Some(Self::Append(list, rest.parse().ok()?)),
            "r" => Some(Self::Read(list, parse_list(rest)?)),
            _ => None,
        }
    }
}

fn parse_list(text: &str) -> Option<Vec<u64>> {
    text.split(',').filter(|part| !part.is_empty()).map(|part| part.parse().ok()).collect()
}

impl Client {
    pub(super) fn append(
        &mut self,
        driver: &mut Driver,
        log: &mut Writer,
        deadline: Instant,
    ) -> io::Result<Turn> {
        let from = now();
        let generation = self.generation.load(Ordering::Relaxed);
        let mut actions = Vec::new();
        for _ in 0..1 + self.prng.below(4) {
            let list = generation * LISTS + self.prng.below(LISTS);
            let is_append = self.prng.chance(1, 2);
            actions.push(match is_append {
                true => Action::Append(list, self.fresh()),
                false => Action::Read(list, Vec::new()),
            });
        }
        let end = driver.transaction(deadline, |connection| {
            actions.iter_mut().try_for_each(|action| act(connection, action))
        });
        let (outcome, turn) = match end {
            End::Done(()) => (Outcome::Acknowledged, Turn::Done),
            End::Refused => (Outcome::Refused, Turn::Failed),
            End::Unknown => (Outcome::Unknown, Turn::Failed),
        };
        let is_long = |action: &Action| matches!(action, Action::Read(_, list) if list.len() > LENGTH_MAX);
        if actions.iter().any(is_long) {
            // Somebody else may have turned the page already.
            let _ = self.generation.compare_exchange(
                generation,
                generation + 1,
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
        }
        let text: Vec<String> = actions.iter().map(Action::to_string).collect();
        log.append(outcome, from, text.join(" "))?;
        Ok(turn)
    }
}

fn act(connection: &mut Connection, action: &mut Action) -> Step<()> {
    match action {
        Action::Append(list, value) => connection
            .run(&format!(
                "INSERT INTO {DATABASE}.lists VALUES ({list}, ',{value}')
                 ON DUPLICATE KEY UPDATE content = CONCAT(content, ',{value}')"
            ))
            .map(|_| ()),
        Action::Read(list, values) => {
            let found =
                rows(connection.run(&format!("SELECT content FROM {DATABASE}.lists WHERE id = {list}"))?)?;
            let text = found.first().and_then(|row| row.first().cloned().flatten()).unwrap_or_default();
            *values = parse_list(&text).unwrap_or_default();
            Ok(())
        }
    }
}

/// One transaction of the history.
struct Transaction {
    outcome: Outcome,
    from: u64,
    until: u64,
    actions: Vec<Action>,
}

/// The logs and the tables taken together.
struct History {
    transactions: Vec<Transaction>,
    lists: BTreeMap<u64, Vec<u64>>,
    /// The transaction that appended a value, and where it is in its list.
    writers: BTreeMap<u64, usize>,
}

/// The faults of the lists, a line each. `stale` gets the number of reads that missed an acknowledged append.
pub fn check(records: &[Record], tables: &mut dyn Tables, stale: &mut u64) -> Result<Vec<String>, String> {
    let mut transactions = Vec::new();
    let mut writers = BTreeMap::new();
    for record in records {
        let actions: Option<Vec<Action>> = record.detail.split(' ').map(Action::parse).collect();
        let actions = actions.ok_or_else(|| format!("detail {:?} is no transaction", record.detail))?;
        for action in &actions {
            if let Action::Append(_, value) = action {
                writers.insert(*value, transactions.len());
            }
        }
        let Record { outcome, from, until, .. } = *record;
        transactions.push(Transaction { outcome, from, until, actions });
    }
    let history = History { transactions, lists: read_lists(tables)?, writers };
    let mut faults = history.lost_or_doubled();
    faults.extend(history.wrong_reads());
    faults.extend(history.cycle());
    *stale = history.stale_reads();
    Ok(faults)
}

fn read_lists(tables: &mut dyn Tables) -> Result<BTreeMap<u64, Vec<u64>>, String> {
    let mut lists = BTreeMap::new();
    let mut from = 0;
    loop {
        let rows = tables.rows(&format!(
            "SELECT id, content FROM {DATABASE}.lists WHERE id >= {from} ORDER BY id LIMIT {BATCH}"
        ))?;
        for row in &rows {
            let (id, list) = parse_row(row).ok_or_else(|| format!("row {row:?} is no list"))?;
            lists.insert(id, list);
            from = id + 1;
        }
        if rows.len() < BATCH {
            return Ok(lists);
        }
    }
}

fn parse_row(row: &TextRow) -> Option<(u64, Vec<u64>)> {
    Some((row.first()?.as_deref()?.parse().ok()?, parse_list(row.get(1)?.as_deref()?)?))
}

impl History {
    fn committed(&self) -> impl Iterator<Item = (usize, &Transaction)> {
        let all = self.transactions.iter().enumerate();
        all.filter(|(_, transaction)| transaction.outcome == Outcome::Acknowledged)
    }

    fn lost_or_doubled(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let mut present: BTreeSet<(u64, u64)> = BTreeSet::new();
        for (list, values) in &self.lists {
            for value in values {
                if !present.insert((*list, *value)) {
                    faults.push(format!("list {list} has {value} twice"));
                }
                if !self.writers.contains_key(value) {
                    faults.push(format!("list {list} has {value}, which nobody appended"));
                }
            }
        }
        for transaction in &self.transactions {
            let mut there = BTreeSet::new();
            for action in &transaction.actions {
                let Action::Append(list, value) = action else { continue };
                let is_there = present.contains(&(*list, *value));
                there.insert(is_there);
                match transaction.outcome {
                    Outcome::Acknowledged if !is_there => {
                        faults.push(format!("acknowledged append of {value} to list {list} is lost"));
                    }
                    Outcome::Refused if is_there => {
                        faults.push(format!("refused append of {value} to list {list} is there"));
                    }
                    Outcome::Acknowledged | Outcome::Refused | Outcome::Unknown => {}
                }
            }
            if there.len() > 1 && transaction.outcome == Outcome::Unknown {
                faults.push(format!("a transaction was committed in part: {:?}", transaction.actions));
            }
        }
        faults
    }

    /// Committed transactions read prefixes of what the lists became; nothing aborted, nothing intermediate; their own
    /// appends are seen.
    fn wrong_reads(&self) -> Vec<String> {
        let mut faults = Vec::new();
        for (index, transaction) in self.committed() {
            let mut own: Vec<(u64, u64)> = Vec::new();
            for action in &transaction.actions {
                let (list, read) = match action {
                    Action::Append(list, value) => {
                        own.push((*list, *value));
                        continue;
                    }
                    Action::Read(list, read) => (*list, read),
                };
                let became = self.lists.get(&list).map_or(&[][..], Vec::as_slice);
                if !became.starts_with(read) {
                    faults.push(format!(
                        "read of list {list} is no prefix of what it became: {read:?}, {became:?}"
                    ));
                }
                if own.iter().any(|(of, value)| *of == list && !read.contains(value)) {
                    faults.push(format!("own append was not seen in list {list}: {:?}", transaction.actions));
                }
                if let Some(value) = read.last()
                    && let Some(writer) = self.writers.get(value)
                    && *writer != index
                    && self.transactions[*writer].last_append(list) != Some(*value)
                {
                    faults.push(format!("intermediate read of list {list}: {read:?}"));
                }
            }
        }
        faults
    }

    /// "Was appended before" and "was read by" have no cycle. Found by taking away, again and again, what nothing comes
    /// before (Kahn).
    fn cycle(&self) -> Option<String> {
        let mut edges: BTreeSet<(usize, usize)> = BTreeSet::new();
        for values in self.lists.values() {
            let writers: Vec<usize> =
                values.iter().filter_map(|value| self.writers.get(value).copied()).collect();
            edges.extend(writers.windows(2).map(|pair| (pair[0], pair[1])));
        }
        for (index, transaction) in self.committed() {
            for action in &transaction.actions {
                if let Action::Read(_, read) = action
                    && let Some(writer) = read.last().and_then(|value| self.writers.get(value))
                {
                    edges.insert((*writer, index));
                }
            }
        }
        edges.retain(|(from, to)| from != to);
        let mut before = vec![0_usize; self.transactions.len()];
        edges.iter().for_each(|(_, to)| before[*to] += 1);
        let mut free: Vec<usize> = (0..before.len()).filter(|index| before[*index] == 0).collect();
        let mut taken = 0;
        while let Some(index) = free.pop() {
            taken += 1;
            for (_, to) in edges.range((index, 0)..(index + 1, 0)) {
                before[*to] -= 1;
                if before[*to] == 0 {
                    free.push(*to);
                }
            }
        }
        let is_left = |index: &usize| before[*index] > 0;
        let left: Vec<String> = (0..before.len())
            .filter(is_left)
            .take(6)
            .map(|index| format!("{:?}", self.transactions[index].actions))
            .collect();
        (taken < before.len()).then(|| format!("a cycle of dependencies among: {}", left.join("; ")))
    }

    /// Reads that miss an append which was acknowledged before their transaction began.
    fn stale_reads(&self) -> u64 {
        // By list: when an append was acknowledged, and how long the list was at least from then on.
        let mut lengths: BTreeMap<u64, Vec<(u64, usize)>> = BTreeMap::new();
        for (list, values) in &self.lists {
            let of_list = lengths.entry(*list).or_default();
            for (value, length) in values.iter().zip(1..) {
                if let Some(writer) = self.writers.get(value)
                    && self.transactions[*writer].outcome == Outcome::Acknowledged
                {
                    of_list.push((self.transactions[*writer].until, length));
                }
            }
            of_list.sort_unstable();
            let mut longest = 0;
            for (_, length) in of_list {
                longest = longest.max(*length);
                *length = longest;
            }
        }
        let mut stale = 0;
        for (_, transaction) in self.committed() {
            for action in &transaction.actions {
                let Action::Read(list, read) = action else { continue };
                let of_list = lengths.get(list).map_or(&[][..], Vec::as_slice);
                let before = of_list.partition_point(|(until, _)| *until < transaction.from);
                let least = before.checked_sub(1).map_or(0, |index| of_list[index].1);
                stale += u64::from(read.len() < least);
            }
        }
        stale
    }
}

impl Transaction {
    fn last_append(&self, wanted: u64) -> Option<u64> {
        self.actions.iter().rev().find_map(|action| match action {
            Action::Append(list, value) if *list == wanted => Some(*value),
            Action::Append(..) | Action::Read(..) => None,
        })
    }
}

#[cfg(test)]
mod tests;
