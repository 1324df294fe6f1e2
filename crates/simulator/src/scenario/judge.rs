//! Judges a run: what clients were told against what the cluster holds, and nothing may be left over.
//!
//! Checks come in three moments: when all clients have ended (`after_work`), when the cluster is whole again
//! (`at_the_end`), and the promises of plans that operators make. A check gives the first thing that is wrong, as text
//! for a person.

use super::Scenario;
use super::run::{run_statements, unfinished};
use crate::check::{cluster, isolation, linearizable};
use crate::workload::bank::{ACCOUNT_COUNT, Bank, FIRST_BALANCE};
use crate::workload::disturbance::{Killer, Sleeper};
use crate::workload::flips::{Fact, Flipper, Onlooker};
use crate::workload::holders::Holder;
use crate::workload::joins::{Joins, WRONG_TOTALS};
use crate::workload::lists::Lists;
use crate::workload::locks::Locker;
use crate::workload::numbers::Numbers;
use crate::workload::registers::{Event, KEY_COUNT, Operation, Registers};
use crate::workload::schema::{RowChanger, SchemaChanger};
use crate::workload::uniques::{self, Uniques};
use crate::world::{MARKER_TIME, World};
use std::collections::{BTreeMap, BTreeSet};
use types::NodeId;

/// Two nodes that hang do not leave within so many virtual nanoseconds: a pause of ten seconds, on clocks that differ.
const LEAVE_PAUSE: u64 = 9_500_000_000;

/// All clients have ended.
pub(super) fn after_work(world: &World, scenario: &Scenario, first: usize) -> Result<(), String> {
    check_scripts(world)?;
    if scenario.is_planned {
        check_promises(world, first)?;
    }
    check_leaves(world)?;
    if scenario.is_hung() && !world.left_well().is_empty() {
        return Err(format!("well, and had to leave because others hang: {:?}", world.left_well()));
    }
    Ok(())
}

/// The cluster is whole again; these nodes serve SQL.
pub(super) fn at_the_end(world: &mut World, scenario: &Scenario, alive: &[NodeId]) -> Result<(), String> {
    let last = alive[alive.len() - 1];
    check_rows(world, scenario, last)?;
    check_uniques(world, last)?;
    check_numbers(world, scenario, last)?;
    check_totals(world, scenario, last)?;
    check_locks(world, scenario, last)?;
    check_schema(world, alive)?;
    check_nothing_left(world, scenario)?;
    cluster::check(world)?;
    check_registers(world)?;
    check_flips(world, Fact::Name)?;
    check_flips(world, Fact::Privilege)
}

/// Transactions that stayed open for long, and how often DDL gave way to one.
pub(super) fn long_transactions(world: &World) -> [(&'static str, u64); 2] {
    let held = scripts::<Holder>(world).map(|script| u64::from(script.held)).sum();
    let gave_way = scripts::<SchemaChanger>(world).map(|script| u64::from(script.gave_way)).sum();
    [("long transaction", held), ("DDL gave way", gave_way)]
}

/// Planned events fail no statement: clients of a node that stops hear 1053 between two transactions, the others
/// nothing.
fn check_promises(world: &World, first: usize) -> Result<(), String> {
    for (number, client) in world.clients().iter().enumerate().skip(first) {
        let is_broken =
            |(node, what): &&(NodeId, String)| what != crate::client::LOST || !world.has_stopped(*node);
        if let Some((node, what)) = client.complaints().iter().find(is_broken) {
            return Err(format!("client {number} of node {node} heard of what was planned: {what}"));
        }
    }
    Ok(())
}

/// The scripts of a kind.
pub(crate) fn scripts<T: 'static>(world: &World) -> impl Iterator<Item = &T> {
    world.clients().iter().filter_map(|client| client.script().as_any().downcast_ref::<T>())
}

fn check_scripts(world: &World) -> Result<(), String> {
    let failures = scripts::<Registers>(world)
        .map(|script| &script.failure)
        .chain(scripts::<Lists>(world).map(|script| &script.failure))
        .chain(scripts::<Bank>(world).map(|script| &script.failure))
        .chain(scripts::<SchemaChanger>(world).map(|script| &script.failure))
        .chain(scripts::<RowChanger>(world).map(|script| &script.failure))
        .chain(scripts::<Uniques>(world).map(|script| &script.failure))
        .chain(scripts::<Joins>(world).map(|script| &script.failure))
        .chain(scripts::<Numbers>(world).map(|script| &script.failure))
        .chain(scripts::<Onlooker>(world).map(|script| &script.failure))
        .chain(scripts::<Flipper>(world).map(|script| &script.failure))
        .chain(scripts::<Holder>(world).map(|script| &script.failure))
        .chain(scripts::<Locker>(world).map(|script| &script.failure))
        .chain(scripts::<Killer>(world).map(|script| &script.failure))
        .chain(scripts::<Sleeper>(world).map(|script| &script.failure));
    match failures.flatten().next() {
        Some(failure) => Err(failure.clone()),
        None => Ok(()),
    }
}

/// Those that answer nothing leave one after the other, with time between for the others to catch up.
fn check_leaves(world: &World) -> Result<(), String> {
    let mut left = world.left_while_hung();
    left.sort_unstable();
    match left.windows(2).find(|pair| pair[1] - pair[0] < LEAVE_PAUSE) {
        Some(pair) => Err(format!("two nodes that hung had to leave within {} ns", pair[1] - pair[0])),
        None => Ok(()),
    }
}

fn check_registers(world: &World) -> Result<(), String> {
    for key in 0..KEY_COUNT {
        let events: Vec<_> = scripts::<Registers>(world)
            .flat_map(|script| &script.history)
            .filter(|event| event.key == key)
            .copied()
            .collect();
        if let Some(failure) = linearizable::check(&events) {
            return Err(format!("register {key}: {failure}"));
        }
    }
    Ok(())
}

/// Reads everything back through one node and holds it against what clients were told.
fn check_rows(world: &mut World, scenario: &Scenario, node: NodeId) -> Result<(), String> {
    let sum = run_statements(world, node, vec!["SELECT SUM(balance), COUNT(*) FROM sim.bank".to_owned()])?;
    let expected = FIRST_BALANCE * i64::try_from(ACCOUNT_COUNT).unwrap_or(0);
    if sum != vec![vec![Some(expected.to_string()), Some(ACCOUNT_COUNT.to_string())]] {
        return Err(format!("the bank's sum is {sum:?}, not {expected}"));
    }
    let rows = run_statements(world, node, vec!["SELECT k, v FROM sim.lists ORDER BY k".to_owned()])?;
    let list = |text: &str| text.split(',').filter_map(|part| part.parse().ok()).collect::<Vec<u64>>();
    let final_lists: BTreeMap<u64, Vec<u64>> = rows
        .iter()
        .filter_map(|row| Some((row.first()?.as_ref()?.parse().ok()?, list(row.get(1)?.as_deref()?))))
        .collect();
    let history: Vec<_> = scripts::<Lists>(world).flat_map(|script| script.history.clone()).collect();
    if let Some(failure) = isolation::check(&history, &final_lists) {
        return Err(failure);
    }
    if scenario.changers > 0 {
        let counts = ["SELECT COUNT(*) FROM sim.changing", "SELECT COUNT(*) FROM sim.changing WHERE a >= 0"];
        for text in counts {
            let count = run_statements(world, node, vec![text.to_owned()])?;
            let expected: i64 = scripts::<RowChanger>(world).map(|script| script.rows).sum();
            let is_certain = scripts::<RowChanger>(world).all(|script| !script.is_uncertain);
            if is_certain && count != vec![vec![Some(expected.to_string())]] {
                return Err(format!("{text}: {count:?}, not {expected}"));
            }
        }
    }
    Ok(())
}

/// The table with a unique key, read back by its primary key and by each unique key.
fn check_uniques(world: &mut World, node: NodeId) -> Result<(), String> {
    let rows = run_statements(world, node, vec!["SELECT id, u, v FROM sim.uniques ORDER BY id".to_owned()])?;
    let (mut refused, mut written) = (BTreeSet::new(), BTreeSet::new());
    for script in scripts::<Uniques>(world) {
        refused.extend(script.refused.iter().copied());
        written.extend(script.written.iter().copied());
    }
    let mut by_key = Vec::new();
    for key in 0..uniques::KEY_COUNT {
        let text = format!("SELECT id, u, v FROM sim.uniques WHERE u = {key}");
        by_key.extend(run_statements(world, node, vec![text])?);
    }
    match cluster::uniques(&rows, &by_key, &written, &refused) {
        Some(failure) => Err(failure),
        None => Ok(()),
    }
}

/// Every row that was acknowledged is there, under a value that no other row has.
fn check_numbers(world: &mut World, scenario: &Scenario, node: NodeId) -> Result<(), String> {
    if scenario.extras.numbers == 0 {
        return Ok(());
    }
    let counts = run_statements(world, node, vec!["SELECT COUNT(*) FROM sim.numbers".to_owned()])?;
    let count: Option<u64> = counts.first().and_then(|row| row.first()?.as_ref()?.parse().ok());
    let written: u64 = scripts::<Numbers>(world).map(|script| script.written).sum();
    if count.is_none_or(|count| count < written) {
        return Err(format!("{count:?} numbered rows, {written} were acknowledged"));
    }
    Ok(())
}

/// Each head's total is the sum of its parts.
fn check_totals(world: &mut World, scenario: &Scenario, node: NodeId) -> Result<(), String> {
    if scenario.extras.joiners == 0 {
        return Ok(());
    }
    let wrong = run_statements(world, node, vec![WRONG_TOTALS.to_owned()])?;
    if wrong != vec![vec![Some("0".to_owned())]] {
        return Err(format!("heads whose total is not the sum of their parts: {wrong:?}"));
    }
    Ok(())
}

/// A job went to one client; counts are exact where nothing fails.
fn check_locks(world: &mut World, scenario: &Scenario, node: NodeId) -> Result<(), String> {
    if scenario.extras.lockers == 0 {
        return Ok(());
    }
    let number = |text: &Option<String>| text.as_ref().and_then(|text| text.parse::<u64>().ok());
    let owners = run_statements(world, node, vec!["SELECT id, owner FROM sim.jobs".to_owned()])?;
    let owners: BTreeMap<u64, u64> =
        owners.iter().filter_map(|row| Some((number(row.first()?)?, number(row.get(1)?)?))).collect();
    let mut taken = BTreeSet::new();
    for script in scripts::<Locker>(world) {
        for job in &script.jobs {
            if !taken.insert(*job) || owners.get(job) != Some(&script.owner()) {
                return Err(format!("job {job} was given to {} and {:?}", script.owner(), owners.get(job)));
            }
        }
    }
    for (counter, table) in ["sim.counted", "sim.counted_by_name"].into_iter().enumerate() {
        let found = run_statements(world, node, vec![format!("SELECT n FROM {table}")])?;
        let found = found.first().and_then(|row| number(row.first()?));
        let counted: u64 = scripts::<Locker>(world).map(|script| script.counts[counter]).sum();
        if found.is_none() || scenario.is_calm() && found != Some(counted) {
            return Err(format!("{table} has {found:?}, {counted} were acknowledged"));
        }
    }
    Ok(())
}

/// Every node that serves SQL knows the same tables, and no DDL job is left half done.
fn check_schema(world: &mut World, nodes: &[NodeId]) -> Result<(), String> {
    // A node that opened a moment ago hears of the newest version a moment later, and a job that was left is finished a
    // moment later.
    let mut failure = None;
    for _ in 0..50 {
        failure = differing_schema(world, nodes)?.or_else(|| cluster::unfinished(world));
        if failure.is_none() {
            return Ok(());
        }
        world.run_until(100, |_| false);
    }
    failure.map_or(Ok(()), Err)
}

fn differing_schema(world: &mut World, nodes: &[NodeId]) -> Result<Option<String>, String> {
    let texts = ["SHOW CREATE TABLE sim.changing".to_owned(), "SHOW TABLES FROM sim".to_owned()];
    for text in texts {
        let mut answers = Vec::new();
        for node in nodes {
            answers.push(run_statements(world, *node, vec![text.clone()])?);
        }
        if answers.iter().any(|answer| *answer != answers[0]) {
            return Ok(Some(format!("nodes do not agree about {text}: {answers:?}")));
        }
    }
    Ok(None)
}

/// Through each node what DDL flips is one thing or the other, and once a flip is acknowledged it is that everywhere.
fn check_flips(world: &World, fact: Fact) -> Result<(), String> {
    let flippers = scripts::<Flipper>(world).filter(|script| script.fact == fact);
    let writes: Vec<Event> = flippers.flat_map(|script| script.history.iter().copied()).collect();
    let first = Event { key: 0, from: 0, until: Some(0), operation: Operation::Write(0) };
    let onlookers = || scripts::<Onlooker>(world).filter(|script| script.fact == fact);
    let nodes: BTreeSet<NodeId> = onlookers().map(|script| script.node).collect();
    for node in nodes {
        let mut events = vec![first];
        events.extend(&writes);
        let near = onlookers().filter(|script| script.node == node);
        events.extend(near.flat_map(|script| script.history.iter().copied()));
        if let Some(failure) = linearizable::check(&events) {
            return Err(format!("{fact:?} through node {node}: {failure}"));
        }
    }
    Ok(())
}

fn check_nothing_left(world: &mut World, scenario: &Scenario) -> Result<(), String> {
    if !world.run_until(2_000, |world| world.ldms().all(transaction::Ldm::is_idle)) {
        let left = unfinished(world);
        return Err(format!("an open transaction, a lock, a wait or an undecided row is left: {left}"));
    }
    // Markers that are kept for sessions go when they know or end. Signals on their way to or from a node that was lost
    // go some time later.
    let is_whole = scenario.faults.is_empty()
        && scenario.disruptions.is_empty()
        && scenario.point.is_none()
        && scenario.extras.restarts == 0;
    let milliseconds = if is_whole { 1_000 } else { 3 * MARKER_TIME.as_secs() * 1_000 };
    let has_no_marker = |world: &mut World| {
        world.ldms().all(|ldm| ldm.marker_count() == 0) && world.tcs().all(|tc| tc.open_count() == 0)
    };
    if !world.run_until(milliseconds, has_no_marker) {
        let markers: usize = world.ldms().map(transaction::Ldm::marker_count).sum();
        let commits: usize = world.tcs().map(transaction::Tc::open_count).sum();
        return Err(format!("{markers} markers and {commits} commits are kept for ever"));
    }
    Ok(())
}
