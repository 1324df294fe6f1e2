//! Linearizability of a register: is there one order of all operations on a key that respects real time and in which
//! every answer is right?
//!
//! A depth-first search over sets of operations done and the value then (Wing and Gong, with Lowe's memory of states
//! visited). An operation whose answer is not known may be placed anywhere behind its start, or omitted.

use crate::workload::registers::{Event, Operation};
use stdx::FixedSet;

/// More operations on one key than this are not searched: the workload keeps below it.
pub const EVENTS_MAX: usize = 512;

/// None if the history of one key is linearizable, else what is wrong.
#[must_use]
pub fn check(events: &[Event]) -> Option<String> {
    // A read that got no answer says nothing; a write without an answer may have happened.
    let mut events: Vec<Event> = events
        .iter()
        .copied()
        .filter(|event| event.until.is_some() || !matches!(event.operation, Operation::Read(_)))
        .collect();
    events.sort_by_key(|event| event.from);
    stdx::require!(events.len() <= EVENTS_MAX, "too many operations for the checker");
    let mut search = Search { events: &events, visited: FixedSet::default(), deepest: 0 };
    if search.run() {
        return None;
    }
    let stuck = search.deepest;
    let near: Vec<String> = events.iter().map(|event| format!("{event:?}")).collect();
    Some(format!(
        "not linearizable: at most {stuck} of {} operations fit; history:\n{}",
        events.len(),
        near.join("\n")
    ))
}

/// Which operations are done.
type Done = Vec<u64>;

struct Search<'a> {
    events: &'a [Event],
    visited: FixedSet<(Done, Option<u64>)>,
    deepest: usize,
}

impl Search<'_> {
    fn run(&mut self) -> bool {
        let words = self.events.len().div_ceil(64);
        let mut stack: Vec<(Done, Option<u64>)> = vec![(vec![0; words], None)];
        while let Some((done, value)) = stack.pop() {
            let count = done.iter().map(|word| word.count_ones() as usize).sum::<usize>();
            self.deepest = self.deepest.max(count);
            if self.is_complete(&done) {
                return true;
            }
            if !self.visited.insert((done.clone(), value)) {
                continue;
            }
            for index in self.candidates(&done) {
                for next in outcomes(&self.events[index], value) {
                    let mut done = done.clone();
                    done[index / 64] |= 1 << (index % 64);
                    stack.push((done, next));
                }
            }
        }
        false
    }

    /// Every operation with a known answer has its place.
    fn is_complete(&self, done: &Done) -> bool {
        (0..self.events.len()).all(|index| is_done(done, index) || self.events[index].until.is_none())
    }

    /// Operations that may come next: those that began before every undone answered one ended.
    fn candidates(&self, done: &Done) -> Vec<usize> {
        let undone = || (0..self.events.len()).filter(|index| !is_done(done, *index));
        let first_end = undone().filter_map(|index| self.events[index].until).min().unwrap_or(u64::MAX);
        undone().filter(|index| self.events[*index].from <= first_end).collect()
    }
}

fn is_done(done: &Done, index: usize) -> bool {
    done[index / 64] >> (index % 64) & 1 == 1
}

/// The values that the register may have after this operation; none if its answer is wrong here.
fn outcomes(event: &Event, value: Option<u64>) -> Vec<Option<u64>> {
    let is_known = event.until.is_some();
    match event.operation {
        Operation::Read(read) if read == value => vec![value],
        Operation::Read(_) => Vec::new(),
        Operation::Write(new) => vec![Some(new)],
        Operation::Update(new, was_there) => match value {
            Some(_) if was_there || !is_known => vec![Some(new)],
            None if !was_there || !is_known => vec![None],
            _ => Vec::new(),
        },
        Operation::Delete(was_there) if !is_known || was_there == value.is_some() => vec![None],
        Operation::Delete(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests;
