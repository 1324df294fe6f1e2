//! Runs a scenario: the cluster starts, tables are made, clients work while nodes, connections and statements end, and
//! the run is judged.
//!
//! The order of faults is the scenario's; what the world itself draws (delays, who is next) comes from its own
//! generator.

use super::{Fault, HUNG_WORK_MS, Outcome, SQL_NODE, Scenario, judge};
use crate::client::{Client, Script};
use crate::transcript::Transcript;
use crate::workload::bank::Bank;
use crate::workload::disturbance::{Killer, Sleeper};
use crate::workload::flips::{Fact, Flipper, Onlooker};
use crate::workload::holders::Holder;
use crate::workload::joins::Joins;
use crate::workload::lists::Lists;
use crate::workload::locks::Locker;
use crate::workload::numbers::Numbers;
use crate::workload::registers::Registers;
use crate::workload::schema::{RowChanger, SchemaChanger};
use crate::workload::setup::Setup;
use crate::workload::uniques::Uniques;
use crate::world::World;
use protocol::signal::LeaveStep;
use std::any::Any;
use std::collections::BTreeSet;
use types::NodeId;

/// Virtual milliseconds that a cluster may take to start.
const START_MS: u64 = 20_000;
/// Virtual milliseconds that a workload may take.
const WORK_MS: u64 = 120_000;
/// Virtual milliseconds after which a fault is over and every node knows its outcome.
const FAULT_MS: u64 = 8_000;
/// Lines of transcript kept for a failure.
const LINES_KEPT: usize = 400;

/// Runs a seed.
#[must_use]
pub fn run_seed(seed: u64) -> Outcome {
    run(&Scenario::from_seed(seed), LINES_KEPT)
}

/// Runs a scenario, and keeps this many lines of its transcript.
#[must_use]
pub fn run(scenario: &Scenario, lines: usize) -> Outcome {
    run_recorded(scenario, Transcript::new(lines))
}

/// Runs a scenario with this transcript, which is empty.
pub fn run_recorded(scenario: &Scenario, transcript: Transcript) -> Outcome {
    let mut world = World::new(scenario.seed, scenario.shape.clone(), transcript);
    let driven = std::panic::AssertUnwindSafe(|| drive(scenario, &mut world));
    let broken = |panic: Box<dyn Any + Send>| Err(text_of_panic(panic.as_ref()));
    let failure = std::panic::catch_unwind(driven).unwrap_or_else(broken).err();
    let failure = world.suspicion.take().or(failure);
    let long = judge::long_transactions(&world).into_iter().filter(|(_, count)| *count > 0);
    world.injected.extend(long);
    Outcome {
        failure,
        digest: world.transcript.digest(),
        steps: world.steps(),
        virtual_time: world.now(),
        injected: std::mem::take(&mut world.injected),
        point: scenario.point.map(|point| (point, world.is_point_hit())),
        tail: world.transcript.tail(),
    }
}

/// A block found an invariant broken, and says which.
pub(crate) fn text_of_panic(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
    format!("a block found an invariant broken: {}", text.unwrap_or_default())
}

/// Everything that a scenario says, one after the other; what is wrong, if anything.
fn drive(scenario: &Scenario, world: &mut World) -> Result<(), String> {
    if !world.run_until(START_MS, |world| world.is_open()) {
        return Err("the cluster did not start".to_owned());
    }
    let nodes = world.sql_nodes();
    run_statements(world, nodes[0], scenario.setup())?;
    let first = world.clients().len();
    let faults_end = let_loose(scenario, world, &nodes);
    let dead = disturb(scenario, world, first);
    let is_done = |world: &mut World| world.clients()[first..].iter().all(Client::is_finished);
    if !world.run_until(scenario.work_ms(), is_done) {
        return Err(format!("clients did not end: {}: {}", stuck_clients(world, first), unfinished(world)));
    }
    judge::after_work(world, scenario, first)?;
    let alive = mend(scenario, world, (&nodes, &dead), faults_end)?;
    judge::at_the_end(world, scenario, &alive)
}

/// Clients begin, and what may go wrong meanwhile is made ready; the virtual time at which all of it is over.
fn let_loose(scenario: &Scenario, world: &mut World, nodes: &[NodeId]) -> u64 {
    for script in scenario.scripts(nodes) {
        let client = world.add_client(Client::with_preamble(script, scenario.preamble()));
        world.run_client(client);
    }
    if let Some(point) = scenario.point {
        world.arm(point);
    }
    let mut faults_end = world.now();
    for (wait, disruption) in &scenario.disruptions {
        world.disrupt_later(wait * 1_000_000, *disruption);
        let end = world.now() + (wait + FAULT_MS) * 1_000_000 + disruption.time();
        faults_end = faults_end.max(end);
    }
    faults_end
}

/// Clients that have not ended, and what each is at.
fn stuck_clients(world: &World, first: usize) -> String {
    let clients = world.clients().iter().enumerate().skip(first);
    let stuck = clients.filter(|(_, client)| !client.is_finished());
    stuck.map(|(number, client)| format!("{number}: {}", client.describe())).collect::<Vec<_>>().join("; ")
}

/// Nothing goes wrong any more; every node that is to be there comes back, and a node that was left out has ended.
/// Gives the nodes that serve SQL.
fn mend(
    scenario: &Scenario,
    world: &mut World,
    (nodes, dead): (&[NodeId], &BTreeSet<NodeId>),
    faults_end: u64,
) -> Result<Vec<NodeId>, String> {
    world.disarm();
    let faults_end = if world.is_point_hit() { world.now() + FAULT_MS * 1_000_000 } else { faults_end };
    while world.now() < faults_end {
        world.run_until(100, |_| false);
    }
    let is_disrupted = !scenario.disruptions.is_empty() || world.is_point_hit();
    let is_dead = |node: &NodeId| dead.contains(node) || (is_disrupted && !world.is_alive(*node));
    let alive: Vec<NodeId> = nodes.iter().copied().filter(|node| !is_dead(node)).collect();
    let is_whole = |world: &mut World| alive.iter().all(|node| world.accepts(*node));
    if !world.run_until(START_MS, is_whole) {
        let missing: Vec<&NodeId> = alive.iter().filter(|node| !world.accepts(**node)).collect();
        return Err(format!("nodes {missing:?} did not come back: {}", unfinished(world)));
    }
    Ok(alive)
}

/// Faults, while clients work; gives the nodes that are left dead.
fn disturb(scenario: &Scenario, world: &mut World, first: usize) -> BTreeSet<NodeId> {
    // Operators who go on without lost nodes do so even when no client works any more: a cluster without its control
    // plane is not whole.
    let is_done = |world: &mut World| {
        scenario.lost.is_empty() && world.clients()[first..].iter().all(Client::is_finished)
    };
    if let Some(late) = scenario.shape.late {
        let delay = world.prng.below(300_000_000);
        world.start_later(late, delay);
    }
    let mut dead = BTreeSet::new();
    let mut restarts_left = scenario.extras.restarts;
    let mut faults = scenario.faults.iter().copied().peekable();
    let mut since_fault = world.now();
    let mut cuts_left = if scenario.extras.cuts { 20 } else { 0 };
    while restarts_left > 0 || faults.peek().is_some() || cuts_left > 0 {
        let mut wait = 1 + world.prng.below(if cuts_left > 0 { 20 } else { 200 });
        let due = faults.peek().map(|(wait, _)| since_fault + wait * 1_000_000);
        let until_fault = due.map(|due| due.saturating_sub(world.now()).div_ceil(1_000_000));
        wait = wait.min(until_fault.unwrap_or(wait));
        if world.run_until(wait, is_done) {
            return dead;
        }
        if due.is_some_and(|due| due <= world.now())
            && let Some((_, fault)) = faults.next()
        {
            inflict(world, (fault, &scenario.lost), &mut dead);
            since_fault = world.now();
            continue;
        }
        let working = world.clients().len() - first;
        if cuts_left > 0 && working > 0 {
            cuts_left -= 1;
            let client = first + world.prng.index(working);
            world.cut(client);
        } else if restarts_left > 0 && world.accepts(SQL_NODE) {
            restarts_left -= 1;
            world.crash(SQL_NODE);
            let delay = world.prng.below(100_000_000);
            world.start_later(SQL_NODE, delay);
        } else {
            restarts_left = restarts_left.saturating_sub(1);
        }
    }
    dead
}

fn inflict(world: &mut World, (fault, lost): (Fault, &[NodeId]), dead: &mut BTreeSet<NodeId>) {
    match fault {
        Fault::Crash(node) => {
            if world.is_alive(node) && world.can_spare(node) {
                world.crash(node);
                dead.insert(node);
            }
        }
        Fault::Start(node) => {
            // A node that is stopping still may take a while.
            if !world.is_alive(node) && dead.remove(&node) {
                let delay = world.prng.below(10_000_000);
                world.start_later(node, delay);
            }
        }
        Fault::Lose(node) => {
            world.lose(node);
            dead.insert(node);
        }
        Fault::Kill(node) => {
            world.crash(node);
            dead.insert(node);
        }
        Fault::Recover(node) => world.order_recovery(node, lost),
        // A node that stops has said so itself.
        Fault::HandOver(node) | Fault::Stay(node) if world.is_stopping(node) => {}
        Fault::HandOver(node) => world.tell_membership(node, LeaveStep::HandOver),
        Fault::Stay(node) => world.tell_membership(node, LeaveStep::Stay),
        Fault::Stop(node) => {
            if world.is_alive(node) && world.can_spare(node) {
                world.request_stop(node);
                dead.insert(node);
            }
        }
    }
}

/// Runs statements one after the other; the rows of the last.
pub(crate) fn run_statements(
    world: &mut World,
    node: NodeId,
    statements: Vec<String>,
) -> Result<Vec<Vec<Option<String>>>, String> {
    let client = world.add_client(Client::new(Box::new(Setup::new(node, statements))));
    world.run_client(client);
    let is_done = world.run_until(WORK_MS, |world| world.clients()[client].is_finished());
    let Some(setup) = world.clients()[client].script().as_any().downcast_ref::<Setup>() else {
        return Err("no setup".to_owned());
    };
    match (&setup.failure, is_done && setup.is_done) {
        (Some(failure), _) => Err(failure.clone()),
        (None, true) => Ok(setup.rows.clone()),
        (None, false) => Err("the statements did not end".to_owned()),
    }
}

/// After the last statement nothing may be held, waited for or undecided anywhere.
pub(super) fn unfinished(world: &World) -> String {
    world.ldms().flat_map(transaction::Ldm::unfinished).collect::<Vec<String>>().join("; ")
}

impl Scenario {
    /// How many virtual milliseconds clients may take.
    fn work_ms(&self) -> u64 {
        if self.is_hung() { HUNG_WORK_MS } else { WORK_MS }
    }

    fn scripts(&self, nodes: &[NodeId]) -> Vec<Box<dyn Script>> {
        let mut scripts: Vec<Box<dyn Script>> = Vec::new();
        for client in 0..self.registers {
            scripts.push(Box::new(Registers::new(nodes.to_vec(), client, 40)));
        }
        for client in 0..self.lists {
            scripts.push(Box::new(Lists::new(nodes.to_vec(), client, 30)));
        }
        for _ in 0..self.banks {
            scripts.push(Box::new(Bank::new(nodes.to_vec(), 25).thinking(self.extras.think_max)));
        }
        for client in 0..self.changers {
            scripts.push(Box::new(RowChanger::new(nodes.to_vec(), client * 100, 40)));
        }
        if self.changers > 0 {
            let node = if self.changes_through_last { nodes[nodes.len() - 1] } else { nodes[0] };
            let hold = self.extras.holders.filter(|_| self.is_calm()).map(|(_, hold)| hold);
            scripts.push(Box::new(SchemaChanger::new(node, self.rounds).among(hold)));
        }
        self.add_extra_scripts(nodes, &mut scripts);
        scripts
    }

    fn add_extra_scripts(&self, nodes: &[NodeId], scripts: &mut Vec<Box<dyn Script>>) {
        let extras = &self.extras;
        for client in 0..extras.uniques {
            scripts.push(Box::new(Uniques::new(nodes.to_vec(), client, 40)));
        }
        for _ in 0..extras.numbers {
            scripts.push(Box::new(Numbers::new(nodes.to_vec(), 40)));
        }
        for reader in 0..extras.name_readers {
            let node = nodes[usize::try_from(reader + self.seed).unwrap_or(0) % nodes.len()];
            scripts.push(Box::new(Onlooker::new(Fact::Name, node, 60)));
        }
        if extras.name_readers > 0 {
            scripts.push(Box::new(Flipper::new(Fact::Name, nodes[0], 4)));
        }
        if let Some((count, hold)) = extras.holders {
            for client in 0..count {
                scripts.push(Box::new(Holder::new(nodes.to_vec(), hold, self.is_calm(), client, 2)));
            }
        }
        for client in 0..extras.lockers {
            scripts.push(Box::new(Locker::new(nodes.to_vec(), client, 20)));
        }
        for _ in 0..extras.joiners {
            scripts.push(Box::new(Joins::new(nodes.to_vec(), 40)));
        }
        for client in 0..extras.limited {
            let node = nodes[usize::try_from(client + self.seed).unwrap_or(0) % nodes.len()];
            scripts.push(Box::new(Onlooker::new(Fact::Privilege, node, 120)));
        }
        if extras.limited > 0 {
            scripts.push(Box::new(Flipper::new(Fact::Privilege, nodes[0], 8)));
        }
        if extras.killer {
            scripts.push(Box::new(Killer::new(nodes.to_vec(), 30)));
        }
        if extras.sleeper {
            scripts.push(Box::new(Sleeper::new(nodes.to_vec(), 4)));
        }
    }

    /// The first statements of each connection of a client.
    fn preamble(&self) -> Vec<String> {
        if self.extras.sleeper { vec!["SET innodb_lock_wait_timeout = 1".to_owned()] } else { Vec::new() }
    }

    fn setup(&self) -> Vec<String> {
        let mut statements = vec!["CREATE DATABASE sim".to_owned()];
        statements.extend(Registers::setup());
        statements.extend(Lists::setup());
        statements.extend(Bank::setup());
        statements.extend(SchemaChanger::setup());
        statements.extend(Uniques::setup());
        statements.extend(Fact::Name.setup());
        if self.extras.holders.is_some() {
            statements.extend(Holder::setup());
        }
        if self.extras.lockers > 0 {
            statements.extend(Locker::setup());
        }
        if self.extras.numbers > 0 {
            statements.extend(Numbers::setup());
        }
        if self.extras.joiners > 0 {
            statements.extend(Joins::setup());
        }
        if self.extras.limited > 0 {
            statements.extend(Fact::Privilege.setup());
        }
        statements
    }
}
