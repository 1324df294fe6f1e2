//! A world of control logs only: three or five copies (and spare nodes), their disks, and a network, from a seed.
//!
//! Machines crash (with or without their peers noticing), stop for a while, lose or damage their disks, and tear their
//! last write. Links drop, delay, duplicate and reorder messages, and are cut, one way or both. Clocks run at different
//! rates. Meanwhile every node asks for views, incarnations and restarts, stale and repeated ones too. Then everything
//! heals, and the cluster must get well within a bounded time.
//!
//! `machine`: a node with its disk. `check`: what must hold. The bytes of every message and write go through their
//! codecs.
//!
//! Invariants of the world itself: a disk is lost only while every voter of everybody's configuration is up and has its
//! own. A majority of lost disks loses the cluster, and rightly so. The record that was acknowledged last is never
//! damaged (`log_file` says why).

mod check;
mod machine;

use crate::timed::Timed;
use crate::transcript::Transcript;
use check::Checker;
use machine::Machine;
use membership::control_log::{ControlConfig, ControlOutputs};
use membership::control_state::ClusterSettings;
use membership::succession;
use protocol::control::{Command, ControlMessage, GroupId};
use protocol::{NodeInfo, NodeRole, View};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::sync::Arc;
use stdx::wire::{from_bytes, to_bytes};
use stdx::{Duration, Prng};
use types::{Epoch, Incarnation, NodeId};

const MILLISECOND: u64 = 1_000_000;
const MANAGEMENT: NodeId = NodeId(65);
/// How long a healed cluster may take until all is well: a lost voter is replaced after 10 s, and then by a copy that
/// must catch up.
const RECOVERY: u64 = 40_000 * MILLISECOND;
/// A run that takes more steps spins.
const STEPS_MAX: u64 = 3_000_000;

/// The outcome of a seed.
#[derive(Debug)]
pub struct ControlOutcome {
    /// The failure, if there was one.
    pub failure: Option<String>,
    /// Depends on everything that happened.
    pub digest: u64,
    /// Inputs handled.
    pub steps: u64,
    /// Virtual nanoseconds.
    pub virtual_time: u64,
    /// Views decided, crashes, lost disks and leaders: what the run was worth.
    pub worth: Worth,
    /// The last lines of the transcript.
    pub tail: String,
}

/// The events that a run has met.
#[derive(Clone, Copy, Debug, Default)]
pub struct Worth {
    /// Views decided.
    pub views: u64,
    /// Terms that had a leader.
    pub leaders: u64,
    /// Crashes of machines.
    pub crashes: u64,
    /// Disks that were lost or damaged.
    pub disks_lost: u64,
    /// Writes that were torn by a crash.
    pub torn_writes: u64,
    /// Cuts of links.
    pub cuts: u64,
}

impl Worth {
    /// Adds another run's.
    pub fn add(&mut self, other: &Self) {
        self.views += other.views;
        self.leaders += other.leaders;
        self.crashes += other.crashes;
        self.disks_lost += other.disks_lost;
        self.torn_writes += other.torn_writes;
        self.cuts += other.cuts;
    }
}

/// Runs one seed.
#[must_use]
pub fn run_control_seed(seed: u64, kept_lines: usize) -> ControlOutcome {
    let mut world = World::new(seed, kept_lines);
    let failure = world.run().err();
    ControlOutcome {
        failure,
        digest: world.transcript.digest(),
        steps: world.steps,
        virtual_time: world.now,
        worth: Worth { views: world.checker.views(), leaders: world.checker.leaders(), ..world.worth },
        tail: world.transcript.tail(),
    }
}

/// Runs one seed in fair weather: of a cluster with more eligible nodes than voters, one is lost for good, and
/// returns much later. An error says what was not as it should be: its place goes to a spare node after ten seconds,
/// not before, and is not given back.
pub fn run_lost_voter_seed(seed: u64) -> Result<(), String> {
    let mut prng = Prng::new(seed);
    let mut world = World::of_shape(Prng::new(prng.next_u64()), 4, 3, 200);
    // No faults but this one.
    world.is_healed = true;
    world.lose_voter(&mut prng).map_err(|problem| format!("{problem}\n{}", world.transcript.tail()))
}

enum Delivery {
    Message { from: NodeId, life: u64, to: NodeId, bytes: Vec<u8> },
    Written { node: NodeId, life: u64, ticket: u64 },
    LinkUp { at: NodeId, node: NodeId },
    LinkDown { at: NodeId, node: NodeId },
    Ask(NodeId),
    Fault,
    Blackout,
    Restart(NodeId),
    Mend,
}

/// How bad things are, drawn per seed.
struct Weather {
    /// How many of 1 000 messages.
    dropped: u64,
    duplicated: u64,
    late: u64,
    late_max: u64,
    write_max: u64,
    fault_every: u64,
    faults_until: u64,
}

struct World {
    prng: Prng,
    transcript: Transcript,
    now: u64,
    steps: u64,
    next_order: u64,
    deliveries: BinaryHeap<Reverse<Timed<Delivery>>>,
    machines: BTreeMap<NodeId, Machine>,
    eligible: Vec<NodeId>,
    voter_count: usize,
    settings: ClusterSettings,
    entries_max: usize,
    /// Whether the founder's first file is on disk.
    is_founded: bool,
    cut: BTreeSet<(NodeId, NodeId)>,
    weather: Weather,
    /// Members neither come nor go: views change nothing that decides who should lead.
    is_calm: bool,
    is_healed: bool,
    /// A view that was proposed once and may be proposed again, late.
    stale: Option<Arc<View>>,
    checker: Checker,
    worth: Worth,
}

impl World {
    fn new(seed: u64, kept_lines: usize) -> Self {
        let mut prng = Prng::new(seed);
        let data_nodes = if prng.chance(1, 2) { 2 } else { 4 };
        let voter_count = if data_nodes == 4 && prng.chance(1, 2) { 5 } else { 3 };
        Self::of_shape(prng, data_nodes, voter_count, kept_lines)
    }

    fn of_shape(mut prng: Prng, data_nodes: u16, voter_count: usize, kept_lines: usize) -> Self {
        let mut eligible = vec![MANAGEMENT];
        eligible.extend((1..=data_nodes).map(NodeId));
        let mut members: Vec<(NodeId, NodeRole)> =
            (1..=data_nodes).map(|node| (NodeId(node), NodeRole::Data)).collect();
        members.push((MANAGEMENT, NodeRole::Management));
        let votes = u16::try_from(voter_count).unwrap_or(0);
        let settings = ClusterSettings {
            members,
            replica_count: 2,
            partitions_per_node: 2,
            slots_per_node: 2,
            voter_count: votes,
        };
        let weather = Weather {
            dropped: prng.below(3) * prng.below(60),
            duplicated: prng.below(50),
            late: prng.below(100),
            late_max: MILLISECOND << prng.below(10),
            write_max: (1 + prng.below(20)) * MILLISECOND,
            fault_every: (200 + prng.below(2_000)) * MILLISECOND,
            faults_until: (4_000 + prng.below(16_000)) * MILLISECOND,
        };
        let entries_max = 4 + prng.index(60);
        let mut world = Self {
            prng,
            transcript: Transcript::new(kept_lines),
            now: 0,
            steps: 0,
            next_order: 0,
            deliveries: BinaryHeap::new(),
            machines: BTreeMap::new(),
            eligible: eligible.clone(),
            voter_count,
            settings,
            entries_max,
            is_founded: false,
            cut: BTreeSet::new(),
            weather,
            is_healed: false,
            is_calm: false,
            stale: None,
            checker: Checker::default(),
            worth: Worth::default(),
        };
        for node in eligible {
            let skew = 990 + world.prng.below(21);
            world.machines.insert(node, Machine::new(node, skew));
            world.later(0, Delivery::Restart(node));
            world.later(1_000 * MILLISECOND, Delivery::Ask(node));
        }
        let first_fault = world.weather.fault_every;
        world.later(first_fault, Delivery::Fault);
        world
    }

    // ---- running ----------------------------------------------------------------------------------------------------

    fn run(&mut self) -> Result<(), String> {
        let until = self.weather.faults_until;
        self.run_until(until, |_| false)?;
        self.heal();
        let end = self.now + RECOVERY;
        let mark = self.checker.views();
        let is_well = self.run_until(end, |world| world.is_well(mark))?;
        if !is_well {
            return Err(format!(
                "not well {} ms after everything healed: {}",
                RECOVERY / MILLISECOND,
                self.ills(mark)
            ));
        }
        self.checker.finish(&self.machines)
    }

    /// One voter is lost for good. Everybody is there, and well, before.
    fn lose_voter(&mut self, prng: &mut Prng) -> Result<(), String> {
        if !self.run_until(RECOVERY, |world| world.is_well(0))? {
            return Err(format!("not well in the beginning: {}", self.ills(0)));
        }
        let voters = self.voting().ok_or("the copies differ about the voters")?;
        self.is_calm = true;
        let lost = voters[prng.index(voters.len())];
        self.kill(lost);
        let until = self.now + 9_000 * MILLISECOND;
        self.run_until(until, |_| false)?;
        if self.voting().as_ref() != Some(&voters) {
            return Err(format!(
                "voters {voters:?} are {:?} when node {lost} is away for 9 s",
                self.voting()
            ));
        }
        let is_replaced = |world: &Self| {
            world.voting().is_some_and(|now| now.len() == voters.len() && !now.contains(&lost))
        };
        // After ten, counted by the leader. It may have come to lead when the voter was lost.
        let until = self.now + 11_000 * MILLISECOND;
        if !self.run_until(until, is_replaced)? {
            return Err(format!("node {lost} is a voter still after 20 s: {:?}", self.voting()));
        }
        let mark = self.checker.views();
        self.start(lost)?;
        let until = self.now + 5_000 * MILLISECOND;
        self.run_until(until, |_| false)?;
        let has_copy = self.machines[&lost].log.as_ref().is_some_and(|log| log.state().is_some());
        if has_copy || !is_replaced(self) {
            return Err(format!("node {lost} has its place again: voters {:?}", self.voting()));
        }
        if self.checker.views() < mark + 3 {
            return Err("no new views with the new voters".to_owned());
        }
        Ok(())
    }

    /// The nodes that vote, if all copies that run agree about it.
    fn voting(&self) -> Option<Vec<NodeId>> {
        let states = self.machines.values().filter_map(|machine| machine.log.as_ref()?.state());
        let mut sets = states.map(|state| {
            let voting = state.voters().iter().filter(|info| info.votes);
            voting.map(|info| info.node).collect::<BTreeSet<NodeId>>()
        });
        let first = sets.next()?;
        sets.all(|set| set == first).then(|| first.into_iter().collect())
    }

    fn run_until(&mut self, end: u64, mut done: impl FnMut(&Self) -> bool) -> Result<bool, String> {
        while self.now < end {
            self.steps += 1;
            if self.steps > STEPS_MAX {
                return Err("the run spins".to_owned());
            }
            if self.steps.is_multiple_of(64) && done(self) {
                return Ok(true);
            }
            self.step()?;
        }
        Ok(done(self))
    }

    fn step(&mut self) -> Result<(), String> {
        let delivery = self.deliveries.peek().map(|Reverse(timed)| timed.at);
        let timers = self.machines.iter().filter_map(|(node, machine)| Some((machine.deadline()?, *node)));
        let timer = timers.min();
        match (timer, delivery) {
            (Some((at, node)), later) if later.is_none_or(|later| at < later) => {
                self.now = self.now.max(at);
                let local = self.machines[&node].local(self.now);
                self.handle(node, |log, outputs| log.on_deadline(local, outputs))
            }
            (_, Some(at)) => {
                self.now = self.now.max(at);
                let Some(Reverse(timed)) = self.deliveries.pop() else { return Ok(()) };
                self.deliver(timed.delivery)
            }
            (_, None) => Err("nothing can ever happen again".to_owned()),
        }
    }

    fn later(&mut self, delay: u64, delivery: Delivery) {
        self.next_order += 1;
        let at = self.now + delay;
        self.deliveries.push(Reverse(Timed { at, order: self.next_order, delivery }));
    }

    fn deliver(&mut self, delivery: Delivery) -> Result<(), String> {
        match delivery {
            Delivery::Message { from, life, to, bytes } => {
                if let Some(wait) = self.pause_of(to) {
                    self.later(wait, Delivery::Message { from, life, to, bytes });
                    return Ok(());
                }
                let message: ControlMessage =
                    from_bytes(&bytes).map_err(|error| format!("a message cannot be read: {error}"))?;
                // A node's new link ends its old one. Raft needs no such promise, what a node says of itself does.
                let is_of_link = matches!(message, ControlMessage::Propose { is_forwarded: false, .. });
                if is_of_link && self.machines[&from].life != life {
                    return Ok(());
                }
                let local = self.machines[&to].local(self.now);
                self.handle(to, |log, outputs| log.on_message(local, from, message, outputs))
            }
            Delivery::Written { node, life, ticket } => {
                if let Some(wait) = self.pause_of(node) {
                    self.later(wait, Delivery::Written { node, life, ticket });
                    return Ok(());
                }
                self.written(node, life, ticket)
            }
            Delivery::LinkUp { at, node } => self.handle(at, |log, outputs| log.on_link_up(node, outputs)),
            Delivery::LinkDown { at, node } => {
                let local = self.machines[&at].local(self.now);
                self.handle(at, |log, outputs| log.on_link_down(local, node, outputs))
            }
            Delivery::Ask(node) => {
                let again = (50 + self.prng.below(400)) * MILLISECOND;
                self.later(again, Delivery::Ask(node));
                self.ask(node)
            }
            Delivery::Fault => {
                if !self.is_healed {
                    let again = 1 + self.prng.below(2 * self.weather.fault_every);
                    self.later(again, Delivery::Fault);
                    self.fault();
                }
                Ok(())
            }
            Delivery::Blackout => {
                if !self.is_healed {
                    let nodes: Vec<NodeId> = self.machines.keys().copied().collect();
                    nodes.into_iter().for_each(|node| self.crash(node));
                }
                Ok(())
            }
            Delivery::Restart(node) => self.start(node),
            Delivery::Mend => {
                self.mend();
                Ok(())
            }
        }
    }

    fn pause_of(&self, node: NodeId) -> Option<u64> {
        self.machines[&node].paused_until.checked_sub(self.now).filter(|wait| *wait > 0)
    }

    /// Gives one input to a node's log, if it runs, and does what it wants.
    fn handle(
        &mut self,
        node: NodeId,
        input: impl FnOnce(&mut membership::control_log::ControlLog, &mut ControlOutputs),
    ) -> Result<(), String> {
        let Some(machine) = self.machines.get_mut(&node) else { return Ok(()) };
        let Some(log) = &mut machine.log else { return Ok(()) };
        let mut outputs = ControlOutputs::default();
        input(log, &mut outputs);
        self.take(node, outputs)
    }

    fn take(&mut self, node: NodeId, outputs: ControlOutputs) -> Result<(), String> {
        for event in outputs.events {
            self.transcript.push(format!("{} {node} event {}", self.now, event.message));
        }
        for (to, message) in outputs.messages {
            // The moment when voters change is the one when all should go down together: who remembers what?
            if matches!(message, ControlMessage::VoterGranted { .. }) && self.prng.chance(1, 8) {
                let delay = self.prng.below(120 * MILLISECOND);
                self.later(delay, Delivery::Blackout);
            }
            self.send(node, to, &message);
        }
        for write in outputs.writes {
            let delay = 1 + self.prng.below(self.weather.write_max);
            let (life, ticket) = self.machines.get_mut(&node).map_or((0, 0), |machine| machine.begin(write));
            self.later(delay, Delivery::Written { node, life, ticket });
        }
        for decided in &outputs.decided {
            self.transcript.push(format!("{} {node} decided {}", self.now, check::describe(decided)));
            self.checker.on_decided(node, decided)?;
        }
        let Some(log) = self.machines.get(&node).and_then(|machine| machine.log.as_ref()) else {
            return Ok(());
        };
        self.checker.on_state(node, log)
    }

    fn send(&mut self, from: NodeId, to: NodeId, message: &ControlMessage) {
        let bytes = to_bytes(message);
        self.transcript.push(format!("{} {from} -> {to} {}", self.now, check::name_of(message)));
        let is_lost = !self.is_healed && self.prng.below(1_000) < self.weather.dropped;
        if is_lost || self.cut.contains(&(from, to)) || !self.machines.contains_key(&to) {
            return;
        }
        let copies = if !self.is_healed && self.prng.below(1_000) < self.weather.duplicated { 2 } else { 1 };
        let life = self.machines[&from].life;
        for _ in 0..copies {
            let mut delay = 20_000 + self.prng.below(300_000);
            if !self.is_healed && self.prng.below(1_000) < self.weather.late {
                delay += self.prng.below(self.weather.late_max);
            }
            self.later(delay, Delivery::Message { from, life, to, bytes: bytes.clone() });
        }
    }

    fn written(&mut self, node: NodeId, life: u64, ticket: u64) -> Result<(), String> {
        let Some(machine) = self.machines.get_mut(&node) else { return Ok(()) };
        if !machine.finish(life, ticket) {
            return Ok(());
        }
        self.is_founded |= node == MANAGEMENT;
        self.handle(node, |log, outputs| log.on_written(ticket, outputs))
    }

    // ---- nodes ------------------------------------------------------------------------------------------------------

    fn start(&mut self, node: NodeId) -> Result<(), String> {
        if self.machines[&node].log.is_some() {
            return Ok(());
        }
        let start = self.prng.next_u64();
        let founding = (node == MANAGEMENT && !self.is_founded)
            .then(|| (GroupId(self.prng.next_u64()), self.settings.clone()));
        let config = ControlConfig {
            node,
            start,
            cluster: "simulated".to_owned(),
            eligible: self.eligible.clone(),
            voter_count: self.voter_count,
            founding,
            tick: Duration::from_millis(25),
            entries_max: self.entries_max,
        };
        let mut outputs = ControlOutputs::default();
        let now = self.now;
        let Some(machine) = self.machines.get_mut(&node) else { return Ok(()) };
        machine
            .open(now, config, &mut outputs)
            .map_err(|error| format!("node {node} does not start: {error}"))?;
        self.transcript.push(format!("{now} start of node {node}"));
        self.checker.on_start(node);
        self.take(node, outputs)?;
        let others: Vec<NodeId> = self.machines.keys().copied().filter(|other| *other != node).collect();
        for other in others {
            let delay = self.prng.below(3 * MILLISECOND);
            self.later(delay, Delivery::LinkUp { at: other, node });
        }
        Ok(())
    }

    /// A node asks for something, as members do: from what it knows, which may be old.
    fn ask(&mut self, node: NodeId) -> Result<(), String> {
        if self.pause_of(node).is_some() {
            return Ok(());
        }
        let Some(command) = self.command(node) else { return Ok(()) };
        if let Command::ChangeView { next } | Command::Restart { view: next } = &command {
            if let Some(state) = self.machines[&node].log.as_ref().and_then(|log| log.state()) {
                self.checker.on_proposed(&state.view, next);
            }
            if self.prng.chance(1, 4) && matches!(command, Command::ChangeView { .. }) {
                self.stale = Some(Arc::clone(next));
            }
        }
        self.handle(node, |log, outputs| log.propose(command, outputs))
    }

    fn command(&mut self, node: NodeId) -> Option<Command> {
        if !self.is_calm
            && self.prng.chance(1, 8)
            && let Some(next) = self.stale.clone()
        {
            return Some(Command::ChangeView { next });
        }
        let machine = &self.machines[&node];
        let state = machine.log.as_ref()?.state();
        let role = if node == MANAGEMENT { NodeRole::Management } else { NodeRole::Data };
        let is_known =
            state.is_some_and(|state| state.life(node).is_some_and(|life| life.join.start == machine.start));
        if !is_known {
            return Some(Command::Join {
                node,
                join: Box::new(fixtures::join_request(role, machine.start, None)),
                replaces: Incarnation(0),
            });
        }
        let state = state?;
        if self.prng.chance(1, 10) && !self.is_calm {
            // Nobody has ended for it: the control log asks for lives, not why.
            let data = self.eligible[1..].iter().filter(|node| state.life(**node).is_some());
            let members: Vec<NodeInfo> = data.map(|node| state.info(*node, NodeRole::Data)).collect();
            let cut = Epoch(u64::from(state.view.restart.number.0) + 1);
            let view =
                succession::restarted(&state.view, cut, &members, &[]).filter(|_| state.view.number.0 > 0)?;
            return Some(Command::Restart { view: Arc::new(view) });
        }
        let view = &state.view;
        let data: Vec<NodeId> = self.eligible[1..].to_vec();
        let other = data[self.prng.index(data.len())];
        let next = if self.is_calm && view.is_in_sync(other) {
            Some(succession::renewed(view))
        } else if view.groups.iter().any(|group| group.joining.contains(&other)) {
            succession::with_in_sync(view, other)
        } else if view.groups.iter().any(|group| group.in_sync.contains(&other)) {
            if self.prng.chance(1, 3) {
                succession::with_spread_primaries(view)
            } else {
                succession::without(view, &[other])
            }
        } else {
            succession::with_joining(view, &state.info(other, NodeRole::Data))
        };
        next.map(|next| Command::ChangeView { next: Arc::new(next) })
    }

    // ---- faults -----------------------------------------------------------------------------------------------------

    fn fault(&mut self) {
        let nodes: Vec<NodeId> = self.machines.keys().copied().collect();
        let node = nodes[self.prng.index(nodes.len())];
        match self.prng.below(12) {
            0..=3 => self.crash(node),
            4 => {
                for node in nodes {
                    if self.prng.chance(2, 3) {
                        self.crash(node);
                    }
                }
            }
            5 => {
                let wait = self.prng.below(3_000 * MILLISECOND);
                let now = self.now;
                if let Some(machine) = self.machines.get_mut(&node) {
                    machine.paused_until = now + wait;
                }
                self.transcript.push(format!("{now} pause of node {node} for {} ms", wait / MILLISECOND));
            }
            6..=8 => self.cut_links(&nodes, node),
            9 => self.lose_disk(node),
            _ => {
                self.mend();
            }
        }
    }

    fn crash(&mut self, node: NodeId) {
        if self.machines[&node].log.is_none() {
            return;
        }
        self.kill(node);
        let most = if self.prng.chance(1, 10) { 20_000 } else { 1_500 };
        let back = self.prng.below(most * MILLISECOND);
        self.later(back, Delivery::Restart(node));
    }

    fn kill(&mut self, node: NodeId) {
        let now = self.now;
        let Some(machine) = self.machines.get_mut(&node).filter(|machine| machine.log.is_some()) else {
            return;
        };
        self.worth.crashes += 1;
        self.worth.torn_writes += u64::from(machine.crash(&mut self.prng));
        self.transcript.push(format!("{now} crash of node {node}"));
        // A killed process closes its connections; a machine without power does not.
        if self.prng.chance(2, 3) {
            let others: Vec<NodeId> = self.machines.keys().copied().filter(|other| *other != node).collect();
            for at in others {
                let delay = self.prng.below(2 * MILLISECOND);
                self.later(delay, Delivery::LinkDown { at, node });
            }
        }
    }

    fn cut_links(&mut self, nodes: &[NodeId], node: NodeId) {
        self.worth.cuts += 1;
        let is_one_way = self.prng.chance(1, 3);
        let is_partial = self.prng.chance(1, 3);
        for other in nodes.iter().copied().filter(|other| *other != node) {
            if is_partial && self.prng.chance(1, 2) {
                continue;
            }
            self.cut.insert((node, other));
            if !is_one_way {
                self.cut.insert((other, node));
            }
        }
        self.transcript.push(format!("{} cut around node {node}", self.now));
        let wait = self.prng.below(4_000 * MILLISECOND);
        self.later(wait, Delivery::Mend);
    }

    fn mend(&mut self) {
        self.cut.clear();
        self.transcript.push(format!("{} links are whole", self.now));
    }

    /// A disk is lost, or damaged where that can be told: only if all voters agree who votes, and all are up with their
    /// own logs.
    fn lose_disk(&mut self, node: NodeId) {
        let mut sets = Vec::new();
        for machine in self.machines.values() {
            let Some(state) = machine.log.as_ref().and_then(|log| log.state()) else { return };
            sets.push(state.voters().to_vec());
        }
        let Some(voters) = sets.first().filter(|first| sets.iter().all(|set| set == *first)) else { return };
        let is_own = |info: &membership::control_state::VoterInfo| {
            let log = self.machines.get(&info.node).and_then(|machine| machine.log.as_ref());
            info.votes && log.and_then(|log| log.role()).is_some_and(|(voter, _, _)| voter == info.voter)
        };
        if voters.len() < 3 || !voters.iter().all(is_own) {
            return;
        }
        self.crash(node);
        let is_damage = self.prng.chance(1, 2);
        let Some(machine) = self.machines.get_mut(&node) else { return };
        if is_damage {
            machine.damage(&mut self.prng);
        } else {
            machine.disk.lose_all();
        }
        self.worth.disks_lost += 1;
        self.transcript.push(format!("{} disk of node {node} is lost ({is_damage})", self.now));
    }

    // ---- recovery ---------------------------------------------------------------------------------------------------

    fn heal(&mut self) {
        self.is_healed = true;
        self.mend();
        let nodes: Vec<NodeId> = self.machines.keys().copied().collect();
        for node in nodes {
            if let Some(machine) = self.machines.get_mut(&node) {
                machine.paused_until = 0;
            }
            self.later(MILLISECOND, Delivery::Restart(node));
        }
        self.transcript.push(format!("{} everything heals", self.now));
    }

    fn is_well(&self, mark: u64) -> bool {
        self.ills(mark).is_empty()
    }

    /// The ills that are left, in words.
    fn ills(&self, mark: u64) -> String {
        let mut ills = Vec::new();
        if self.checker.views() < mark + 3 {
            ills.push("no new views".to_owned());
        }
        let wanted = self.voter_count.min(self.eligible.len());
        for (node, machine) in &self.machines {
            let Some(log) = &machine.log else {
                ills.push(format!("node {node} is down"));
                continue;
            };
            let Some(state) = log.state() else { continue };
            if state.view.number.0 <= mark {
                ills.push(format!("node {node} has view {} only", state.view.number));
            }
            let voting = state.voters().iter().filter(|info| info.votes).count();
            if voting != wanted || state.voters().len() != wanted {
                ills.push(format!("node {node} knows {voting} voters of {wanted}"));
            }
        }
        let leaders: Vec<NodeId> =
            self.machines.iter().filter(|(_, machine)| machine.is_leader()).map(|(node, _)| *node).collect();
        let best = leaders.first().and_then(|leader| {
            let state = self.machines[leader].log.as_ref()?.state()?;
            self.eligible.iter().find(|node| state.voter_of(**node).is_some_and(|info| info.votes))
        });
        let newest = self.checker.newest();
        let is_behind = |leader: &NodeId| {
            let state = self.machines[leader].log.as_ref().and_then(|log| log.state());
            state.is_none_or(|state| state.view.number.0 < newest)
        };
        if leaders.iter().any(is_behind) {
            ills.push("the leader has not applied the newest view".to_owned());
        }
        if leaders.len() != 1 || best != leaders.first() {
            ills.push(format!("leaders {leaders:?}, best {best:?}"));
        }
        ills.join("; ")
    }
}
