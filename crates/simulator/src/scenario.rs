//! A seed becomes a cluster, a workload and faults; the run is judged.
//!
//! Phases: the cluster starts; tables are made; clients work (and, in a crash scenario, a data node dies among them); when all clients have
//! ended, everything is read back and checked; at last nothing may be left over: no open transaction, lock, wait or undecided row.

use crate::check::{isolation, linearizable};
use crate::client::{Client, Script};
use crate::workload::bank::{ACCOUNT_COUNT, Bank, FIRST_BALANCE};
use crate::workload::lists::Lists;
use crate::workload::registers::{KEY_COUNT, Registers};
use crate::workload::schema::{RowChanger, SchemaChanger};
use crate::workload::setup::Setup;
use crate::world::{Shape, World};
use std::collections::BTreeMap;
use stdx::Prng;
use types::NodeId;

/// Virtual milliseconds that a cluster may take to start.
const START_MS: u64 = 20_000;
/// Virtual milliseconds that a workload may take.
const WORK_MS: u64 = 120_000;
/// Virtual milliseconds that it may take when a data node is lost for good: statements that need it are tried again for seconds, one after the other.
const WORK_AFTER_CRASH_MS: u64 = 1_200_000;
/// Lines of transcript kept for a failure.
const LINES_KEPT: usize = 400;

/// What a seed became.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The seed.
    pub seed: u64,
    /// The cluster.
    pub shape: Shape,
    /// Clients of each workload.
    pub registers: u64,
    /// Clients of each workload.
    pub lists: u64,
    /// Clients of each workload.
    pub banks: u64,
    /// Clients that change rows while the schema changes; 0: the schema does not change.
    pub changers: u64,
    /// A data node dies while clients work.
    pub crash: Option<NodeId>,
}

/// How a run ended.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What is wrong, if anything.
    pub failure: Option<String>,
    /// Depends on everything that happened.
    pub digest: u64,
    /// Steps taken.
    pub steps: u64,
    /// Virtual nanoseconds.
    pub virtual_time: u64,
    /// The last lines of the transcript.
    pub tail: String,
}

impl Scenario {
    /// What this seed means.
    #[must_use]
    pub fn from_seed(seed: u64) -> Self {
        let mut prng = Prng::new(seed ^ 0x5ce4_a210);
        let (data_nodes, replicas) =
            [(2, 2), (2, 2), (2, 2), (1, 1), (3, 3), (4, 2), (4, 4), (2, 1)][prng.index(8)];
        let thread_config = [
            "recv={count=1}",
            "recv={count=2}",
            "ldm={count=1},recv={count=1}",
            "ldm={count=2},tc={count=1},recv={count=2},main={count=1}",
        ][prng.index(4)];
        let shape = Shape {
            data_nodes,
            replicas,
            partitions_per_node: 1 + prng.index(3),
            sql_nodes: u16::from(prng.chance(1, 3)),
            thread_config: thread_config.to_owned(),
            memory: 64 << 20,
            delay_max_us: [100, 1_000, 20_000][prng.index(3)],
        };
        let crash = (replicas > 1 && prng.chance(1, 4))
            .then(|| NodeId(u16::try_from(1 + prng.below(u64::from(data_nodes))).unwrap_or(1)));
        Self {
            seed,
            shape,
            registers: prng.below(4),
            lists: prng.below(4),
            banks: prng.below(4),
            changers: if prng.chance(1, 3) { 1 + prng.below(3) } else { 0 },
            crash,
        }
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
            scripts.push(Box::new(Bank::new(nodes.to_vec(), 25)));
        }
        for client in 0..self.changers {
            scripts.push(Box::new(RowChanger::new(nodes.to_vec(), client * 100, 40)));
        }
        if self.changers > 0 {
            scripts.push(Box::new(SchemaChanger::new(nodes[0], 4)));
        }
        scripts
    }

    fn setup(&self) -> Vec<String> {
        let mut statements = vec!["CREATE DATABASE sim".to_owned()];
        statements.extend(Registers::setup());
        statements.extend(Lists::setup());
        statements.extend(Bank::setup());
        statements.extend(SchemaChanger::setup());
        statements
    }
}

/// Runs a seed.
#[must_use]
pub fn run_seed(seed: u64) -> Outcome {
    run(&Scenario::from_seed(seed))
}

/// Runs a scenario.
#[must_use]
pub fn run(scenario: &Scenario) -> Outcome {
    let mut world = World::new(scenario.seed, scenario.shape.clone(), LINES_KEPT);
    let failure = drive(scenario, &mut world).err();
    Outcome {
        failure,
        digest: world.transcript.digest(),
        steps: world.steps(),
        virtual_time: world.now(),
        tail: world.transcript.tail(),
    }
}

fn drive(scenario: &Scenario, world: &mut World) -> Result<(), String> {
    if !world.run_until(START_MS, |world| world.is_open()) {
        return Err("the cluster did not start".to_owned());
    }
    let nodes = world.sql_nodes();
    run_setup(world, nodes[0], scenario.setup())?;
    let first = world.clients().len();
    for script in scenario.scripts(&nodes) {
        let client = world.add_client(Client::new(script));
        world.run_client(client);
    }
    if let Some(node) = scenario.crash {
        let wait = 1 + world.prng.below(200);
        world.run_until(wait, |_| false);
        world.crash(node);
    }
    let is_done = |world: &mut World| world.clients()[first..].iter().all(Client::is_finished);
    let limit = if scenario.crash.is_some() { WORK_AFTER_CRASH_MS } else { WORK_MS };
    if !world.run_until(limit, is_done) {
        let stuck: Vec<usize> =
            (first..world.clients().len()).filter(|client| !world.clients()[*client].is_finished()).collect();
        let stuck: Vec<String> =
            stuck.iter().map(|client| format!("{client}: {}", world.clients()[*client].describe())).collect();
        return Err(format!("clients did not end: {}", stuck.join("; ")));
    }
    check_scripts(world)?;
    if scenario.crash.is_none() {
        check_rows(world, scenario, nodes[nodes.len() - 1])?;
        check_nothing_left(world)?;
    }
    check_registers(world)
}

/// Runs statements one after the other; the rows of the last.
fn run_setup(
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

fn scripts<T: 'static>(world: &World) -> impl Iterator<Item = &T> {
    world.clients().iter().filter_map(|client| client.script().as_any().downcast_ref::<T>())
}

fn check_scripts(world: &World) -> Result<(), String> {
    let failures = scripts::<Registers>(world)
        .map(|script| &script.failure)
        .chain(scripts::<Lists>(world).map(|script| &script.failure))
        .chain(scripts::<Bank>(world).map(|script| &script.failure))
        .chain(scripts::<SchemaChanger>(world).map(|script| &script.failure))
        .chain(scripts::<RowChanger>(world).map(|script| &script.failure));
    match failures.flatten().next() {
        Some(failure) => Err(failure.clone()),
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
    let sum = run_setup(world, node, vec!["SELECT SUM(balance), COUNT(*) FROM sim.bank".to_owned()])?;
    let expected = FIRST_BALANCE * i64::try_from(ACCOUNT_COUNT).unwrap_or(0);
    if sum != vec![vec![Some(expected.to_string()), Some(ACCOUNT_COUNT.to_string())]] {
        return Err(format!("the bank's sum is {sum:?}, not {expected}"));
    }
    let rows = run_setup(world, node, vec!["SELECT k, v FROM sim.lists ORDER BY k".to_owned()])?;
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
            let count = run_setup(world, node, vec![text.to_owned()])?;
            let expected: i64 = scripts::<RowChanger>(world).map(|script| script.rows).sum();
            let is_certain = scripts::<RowChanger>(world).all(|script| !script.is_uncertain);
            if is_certain && count != vec![vec![Some(expected.to_string())]] {
                return Err(format!("{text}: {count:?}, not {expected}"));
            }
        }
    }
    Ok(())
}

/// After the last statement nothing may be held, waited for or undecided anywhere.
fn check_nothing_left(world: &mut World) -> Result<(), String> {
    if world.run_until(2_000, |world| world.ldms().all(transaction::Ldm::is_idle)) {
        Ok(())
    } else {
        Err("something is left: an open transaction, a lock, a wait or an undecided row".to_owned())
    }
}
