//! Two groups of two nodes with disks, which lose their processes twice: one at a time, or all at once.
//!
//! The control state, the steps of views and the plan of a restart are the production ones. The rows are modelled. A
//! node holds the epochs that were closed while it was a member. Its disk holds what it has flushed of them, with the
//! points that its claim names. Epochs are closed, flushed and said to be durable at any moment. Nodes start again,
//! join, become restorable and restore in any order. A restart waits for nobody here: any moment may be the one at
//! which the patience ends.
//!
//! Checked with each restart: all its members hold the same epochs. All that was ever said to be durable is among them,
//! and nothing that an earlier restart has cut off (I11). No epoch is closed twice. At the end all nodes are in sync
//! and restorable.

use super::SmallWorld;
use membership::control_state::{ClusterSettings, ControlState, Verdict};
use membership::restart::{Plan, Standing, plan, runs_still, standing};
use membership::succession;
use protocol::control::{Command, GroupId};
use protocol::{Claim, ClaimPoint, GroupView, NodeRole, View};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use stdx::hash64;
use types::{Epoch, Incarnation, NodeId};

const ALL: [NodeId; 4] = [NodeId(1), NodeId(2), NodeId(3), NodeId(4)];
const FOUNDING: GroupId = GroupId(1);

/// The next event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choice {
    /// An epoch is closed.
    Close,
    /// A node's disk holds all that the node does.
    Flush(NodeId),
    /// All that the members have flushed is said to be durable.
    Say,
    /// A node asks to be restorable.
    Ask(NodeId),
    /// A restorable node asks that those before it are forgotten.
    Forget(NodeId),
    /// A process that has ended starts again.
    Start(NodeId),
    /// A life that has ended is left out.
    Leave(NodeId),
    /// A node is copied to.
    Join(NodeId),
    /// It has everything.
    Sync(NodeId),
    /// Lives of a view that is lost end.
    End,
    /// A restart is planned.
    Plan,
    /// A planned node has restored.
    Restore(NodeId),
    /// All have: the restart is recorded.
    Record,
    /// A process is killed.
    Kill(NodeId),
    /// All are.
    KillAll,
}

/// A point of a disk, and the epochs that it stands for.
type Point = (ClaimPoint, Vec<Epoch>);

#[derive(Clone, Debug, Default)]
struct Machine {
    is_up: bool,
    /// The epochs that it holds.
    rows: Vec<Epoch>,
    /// The newest epoch that it knows to be durable.
    known: Epoch,
    /// On disk: points, the newest first, and the same.
    points: Vec<Point>,
    durable: Epoch,
    /// It has begun to restore.
    is_told: bool,
}

/// The world.
#[derive(Clone)]
pub struct RestartWorld {
    state: ControlState,
    machines: BTreeMap<NodeId, Machine>,
    /// All epochs that were ever closed, those that were said to be durable, and those that a restart has cut off.
    closed: BTreeSet<Epoch>,
    durable: BTreeSet<Epoch>,
    cut_off: BTreeSet<Epoch>,
    /// An epoch was said to be durable in the newest view.
    is_said: bool,
    underway: Option<(Plan, BTreeSet<NodeId>)>,
    closes_left: u8,
    losses_left: u8,
    starts: u64,
}

impl RestartWorld {
    /// A cluster that has been founded; so many epochs are closed, and so many losses happen.
    #[must_use]
    pub fn new(closes: u8, losses: u8) -> Self {
        let settings = ClusterSettings {
            members: ALL.map(|node| (node, NodeRole::Data)).to_vec(),
            replica_count: 2,
            partitions_per_node: 1,
            slots_per_node: 1,
            voter_count: 1,
        };
        let mut world = Self {
            state: ControlState::founded(FOUNDING, settings, ALL[0], 1),
            machines: ALL.map(|node| (node, Machine::default())).into(),
            closed: BTreeSet::new(),
            durable: BTreeSet::new(),
            cut_off: BTreeSet::new(),
            is_said: false,
            underway: None,
            closes_left: closes,
            losses_left: losses,
            starts: 0,
        };
        for node in ALL {
            world.start(node);
        }
        world
    }

    /// The same when all nodes are restorable.
    #[must_use]
    pub fn durable(closes: u8, losses: u8) -> Self {
        let mut world = Self::new(closes + 1, losses);
        let mut steps = vec![Choice::Close];
        steps.extend(ALL.map(Choice::Flush));
        steps.extend(ALL.map(Choice::Ask));
        steps.push(Choice::Say);
        for choice in steps {
            // A step that is not possible shows in the check of the first restart.
            let _ = world.apply(choice);
        }
        world
    }

    // ---- what is known ----------------------------------------------------------------------------------------------

    fn view(&self) -> &View {
        &self.state.view
    }

    fn named(&self, node: NodeId) -> Incarnation {
        self.view().node(node).map_or(Incarnation(0), |info| info.incarnation)
    }

    /// A node runs in the life that the view names.
    fn goes_on(&self, node: NodeId) -> bool {
        self.machines[&node].is_up && self.state.incarnation(node) == self.named(node)
    }

    /// A node has started again, and no view names it yet.
    fn starts(&self, node: NodeId) -> bool {
        self.machines[&node].is_up && self.state.incarnation(node) > self.named(node)
    }

    fn members(&self) -> impl Iterator<Item = NodeId> + '_ {
        ALL.into_iter().filter(|node| self.view().is_member(*node))
    }

    fn is_in_sync(&self, node: NodeId) -> bool {
        self.view().groups.iter().skip(1).any(|group| group.in_sync.contains(&node))
    }

    fn is_whole(&self) -> bool {
        self.members().all(|node| self.goes_on(node))
    }

    fn is_lost(&self) -> bool {
        standing(&self.state, |node| self.machines[&node].is_up) == Standing::Lost
    }

    /// The epoch that all members in sync have flushed in their lives.
    fn flushed(&self) -> Option<Epoch> {
        let flushed = |node: NodeId| {
            let life = self.named(node);
            let newest = self.machines[&node].points.first().map(|(point, _)| *point);
            newest.filter(|point| point.lineage == life).map(|point| point.flushed)
        };
        let in_sync: Vec<NodeId> = ALL.into_iter().filter(|node| self.is_in_sync(*node)).collect();
        let all: Option<Vec<Epoch>> = in_sync.into_iter().map(flushed).collect();
        all?.into_iter().min()
    }

    fn newest_durable(&self) -> Epoch {
        self.durable.last().copied().unwrap_or(Epoch(0))
    }

    fn has_to_flush(&self, node: NodeId) -> bool {
        let machine = &self.machines[&node];
        let life = self.named(node);
        let is_written = machine
            .points
            .first()
            .is_some_and(|(point, rows)| point.lineage == life && *rows == machine.rows);
        !is_written || machine.known > machine.durable
    }

    // ---- what happens -----------------------------------------------------------------------------------------------

    fn start(&mut self, node: NodeId) {
        self.starts += 1;
        let replaces = self.state.incarnation(node);
        let machine = self.machines.entry(node).or_default();
        let points = machine.points.iter().map(|(point, _)| *point).collect();
        let claim = Claim { founding: FOUNDING, durable: machine.durable, points, ..Claim::default() };
        (machine.is_up, machine.is_told) = (true, false);
        machine.known = machine.durable;
        machine.rows.clear();
        let join = Box::new(fixtures::join_request(NodeRole::Data, self.starts, Some(claim)));
        self.state.apply(&Command::Join { node, join, replaces });
    }

    fn kill(&mut self, node: NodeId) {
        if let Some(machine) = self.machines.get_mut(&node) {
            (machine.is_up, machine.is_told, machine.known) = (false, false, machine.durable);
            machine.rows.clear();
        }
    }

    fn change(&mut self, next: Option<View>) -> Result<(), String> {
        let Some(next) = next else { return Ok(()) };
        match self.state.apply(&Command::ChangeView { next: Arc::new(next) }) {
            Verdict::Done => {
                self.is_said = false;
                Ok(())
            }
            verdict @ (Verdict::Repeated | Verdict::Void(_)) => {
                Err(format!("a view that was made for it is refused: {verdict:?}"))
            }
        }
    }

    fn close(&mut self) -> Result<(), String> {
        self.closes_left -= 1;
        let newest = self.machines.values().flat_map(|machine| machine.rows.last()).max().copied();
        let before = newest.unwrap_or(Epoch(0)).max(self.view().restart.first);
        let epoch = Epoch(before.0 + 1);
        if !self.closed.insert(epoch) {
            return Err(format!("epoch {epoch} is closed twice"));
        }
        let members: Vec<NodeId> = self.members().collect();
        for node in members {
            if let Some(machine) = self.machines.get_mut(&node) {
                machine.rows.push(epoch);
            }
        }
        Ok(())
    }

    fn flush(&mut self, node: NodeId) {
        let (restart, lineage) = (self.view().restart.number, self.named(node));
        let first = self.view().restart.cut;
        let Some(machine) = self.machines.get_mut(&node) else { return };
        let flushed = machine.rows.last().copied().unwrap_or(first);
        let point = ClaimPoint { restart, lineage, flushed, closed_at_us: 1, low: Epoch(0) };
        machine.points.retain(|(point, _)| point.lineage != lineage);
        machine.points.insert(0, (point, machine.rows.clone()));
        machine.durable = machine.known;
        machine.points.truncate(4);
    }

    fn say(&mut self) {
        let Some(flushed) = self.flushed() else { return };
        let members: Vec<NodeId> = self.members().collect();
        for node in members {
            if let Some(machine) = self.machines.get_mut(&node) {
                machine.known = machine.known.max(flushed);
                let said = machine.rows.iter().copied().filter(|epoch| *epoch <= flushed);
                self.durable.extend(said);
            }
        }
        self.is_said = true;
    }

    fn sync(&mut self, node: NodeId) -> Result<(), String> {
        let rows = ALL.into_iter().filter(|other| self.is_in_sync(*other));
        let rows = rows.map(|other| self.machines[&other].rows.clone()).next().unwrap_or_default();
        if let Some(machine) = self.machines.get_mut(&node) {
            machine.rows = rows;
        }
        self.change(succession::with_in_sync(self.view(), node))
    }

    fn end_all(&mut self) {
        for node in runs_still(&self.state, |node| self.machines[&node].is_up) {
            self.kill(node);
        }
    }

    fn there(&self) -> Vec<NodeId> {
        ALL.into_iter().filter(|node| self.starts(*node)).collect()
    }

    /// A planned node carries out its order; one that has carried out another ends.
    fn restore(&mut self, node: NodeId) -> Result<(), String> {
        let life = self.state.incarnation(node);
        let Some((plan, restored)) = &mut self.underway else { return Ok(()) };
        let order = plan.nodes.iter().find(|(info, _)| info.node == node).map(|(_, order)| *order);
        let (Some(order), Some(machine)) = (order, self.machines.get_mut(&node)) else { return Ok(()) };
        if machine.is_told {
            self.kill(node);
            return Ok(());
        }
        let cut = order.restart.cut;
        let source = machine.points.iter().position(|(point, _)| point.lineage == order.source);
        if source.is_none() && order.source != Incarnation(0) {
            return Err(format!("node {node} has nothing of life {}", order.source));
        }
        let points = source.map_or(machine.points.len(), |source| source);
        machine.points.drain(..points);
        let kept = machine.points.first().map(|(_, rows)| rows.clone()).unwrap_or_default();
        machine.rows = kept.into_iter().filter(|epoch| *epoch <= cut).collect();
        let restart = order.restart.number;
        let point = ClaimPoint { restart, lineage: life, flushed: cut, closed_at_us: 1, low: Epoch(0) };
        machine.points.insert(0, (point, machine.rows.clone()));
        machine.points.truncate(4);
        machine.is_told = true;
        restored.insert(node);
        Ok(())
    }

    fn record(&mut self) -> Result<(), String> {
        let Some((plan, _)) = self.underway.take() else { return Ok(()) };
        let Some(view) = plan.view(self.view()) else { return Ok(()) };
        if self.state.apply(&Command::Restart { view: Arc::new(view) }) != Verdict::Done {
            return Ok(());
        }
        self.is_said = false;
        let mut held: Option<Vec<Epoch>> = None;
        for (info, order) in &plan.nodes {
            let machine = &self.machines[&info.node];
            let is_it = |(point, _): &&Point| {
                (point.lineage, point.restart) == (info.incarnation, order.restart.number)
            };
            let rows = match machine.points.iter().find(is_it) {
                Some((_, rows)) => rows.clone(),
                None => return Err(format!("node {} has not restored", info.node)),
            };
            if held.get_or_insert_with(|| rows.clone()) != &rows {
                return Err(format!("node {} holds other epochs than the others: {rows:?}", info.node));
            }
        }
        let held: BTreeSet<Epoch> = held.unwrap_or_default().into_iter().collect();
        if let Some(lost) = self.durable.difference(&held).next() {
            return Err(format!("epoch {lost} was durable, and is lost"));
        }
        if let Some(back) = self.cut_off.intersection(&held).next() {
            return Err(format!("epoch {back} was cut off, and is back"));
        }
        self.cut_off.extend(self.closed.difference(&held).copied().collect::<Vec<Epoch>>());
        // Nodes that the restart has passed over end.
        for node in ALL {
            if self.machines[&node].is_told && !self.is_in_sync(node) {
                self.kill(node);
            }
        }
        Ok(())
    }

    // ---- choices ----------------------------------------------------------------------------------------------------

    fn choices_of_running(&self, choices: &mut Vec<Choice>) {
        let is_whole = self.is_whole();
        if is_whole && self.closes_left > 0 {
            choices.push(Choice::Close);
        }
        for node in ALL.into_iter().filter(|node| self.goes_on(*node)) {
            if self.is_in_sync(node) && self.has_to_flush(node) {
                choices.push(Choice::Flush(node));
            }
        }
        // The master asks all members before it says an epoch.
        if let Some(flushed) = self.flushed().filter(|_| is_whole) {
            let is_new = flushed > self.newest_durable() || !self.is_said;
            if self.view().keeps_durable() && is_new {
                choices.push(Choice::Say);
            }
            let known = |node: NodeId| self.machines[&node].known;
            let is_above = flushed >= ALL.into_iter().map(known).max().unwrap_or(Epoch(0));
            for node in ALL.into_iter().filter(|node| self.is_in_sync(*node) && is_above) {
                if succession::with_restorable(self.view(), node).is_some() {
                    choices.push(Choice::Ask(node));
                } else if self.is_said && succession::with_durable(self.view(), node).is_some() {
                    choices.push(Choice::Forget(node));
                }
            }
        }
        for node in ALL {
            let stays = |other: &NodeId| *other != node && self.goes_on(*other);
            let groups = self.view().groups.iter().skip(1).filter(|group| group.in_sync.contains(&node));
            let can_leave = groups.clone().count() > 0
                && groups.clone().all(|group| group.in_sync.iter().any(stays))
                && !self.goes_on(node);
            let is_joiner = self.view().is_member(node) && !self.is_in_sync(node) && !self.goes_on(node);
            if can_leave || is_joiner {
                choices.push(Choice::Leave(node));
            }
            if self.starts(node) && is_whole && !self.view().is_member(node) && !self.machines[&node].is_told
            {
                choices.push(Choice::Join(node));
            }
            let is_joining = self.view().is_member(node) && !self.is_in_sync(node);
            if is_joining && is_whole {
                choices.push(Choice::Sync(node));
            }
        }
    }

    fn choices_of_restart(&self, choices: &mut Vec<Choice>) {
        let is_up = |node: NodeId| self.machines[&node].is_up;
        if !runs_still(&self.state, is_up).is_empty() {
            // A group that has lost nobody ends when it is heard.
            if runs_still(&self.state, is_up).iter().all(|node| is_up(*node)) {
                choices.push(Choice::End);
            }
            return;
        }
        let is_valid = self.underway.as_ref().is_some_and(|(plan, _)| {
            plan.nodes.iter().all(|(info, _)| {
                self.starts(info.node) && self.state.incarnation(info.node) == info.incarnation
            })
        });
        if !is_valid && plan(&self.state, &self.there()).is_ok() {
            choices.push(Choice::Plan);
        }
        let Some((plan, restored)) = &self.underway else { return };
        for (info, _) in &plan.nodes {
            let is_it = self.starts(info.node) && self.state.incarnation(info.node) == info.incarnation;
            if is_it && !restored.contains(&info.node) {
                choices.push(Choice::Restore(info.node));
            }
        }
        if plan.nodes.iter().all(|(info, _)| restored.contains(&info.node)) {
            choices.push(Choice::Record);
        }
    }

    // ---- the canonical form -----------------------------------------------------------------------------------------

    /// Lives of a node that anything here names, in their order: what decides is which are the same.
    fn rank(&self, node: NodeId, life: Incarnation) -> usize {
        let mut lives = vec![self.state.incarnation(node), self.named(node)];
        lives.extend(self.machines[&node].points.iter().map(|(point, _)| point.lineage));
        lives.extend(self.claimed(node).map(|point| point.lineage));
        let groups = self.view().groups.iter().flat_map(|group| &group.restorable);
        lives.extend(groups.filter(|(named, _)| *named == node).map(|(_, life)| *life));
        lives.sort_unstable();
        lives.dedup();
        lives.iter().position(|known| *known == life).unwrap_or(usize::MAX)
    }

    /// The points of the claim with which a node has started, while they decide anything.
    fn claimed(&self, node: NodeId) -> impl Iterator<Item = &ClaimPoint> {
        let life = self.state.life(node).filter(|_| self.starts(node));
        life.into_iter().filter_map(|life| life.join.claim.as_ref()).flat_map(|claim| &claim.points)
    }

    /// All epochs that anything here names, in their order.
    fn epochs(&self) -> BTreeSet<Epoch> {
        let mut epochs = self.closed.clone();
        let restarts = self.state.restarts().iter().chain([&self.view().restart]);
        epochs.extend(restarts.flat_map(|restart| [restart.cut, restart.first]));
        epochs.extend(self.underway.iter().map(|(plan, _)| plan.restart.cut));
        for (node, machine) in &self.machines {
            epochs.extend([machine.known, machine.durable]);
            epochs.extend(machine.points.iter().map(|(point, _)| point.flushed));
            epochs.extend(self.claimed(*node).map(|point| point.flushed));
        }
        epochs
    }

    /// All that there is of a node, without its number.
    fn digest_of(&self, node: NodeId, epoch: &impl Fn(Epoch) -> usize) -> u64 {
        let machine = &self.machines[&node];
        let all = |rows: &[Epoch]| rows.iter().map(|row| epoch(*row)).collect::<Vec<usize>>();
        let point =
            |point: &ClaimPoint| (point.restart.0, self.rank(node, point.lineage), epoch(point.flushed));
        let points: Vec<_> =
            machine.points.iter().map(|(written, rows)| (point(written), all(rows))).collect();
        let claimed: Vec<_> = self.claimed(node).map(point).collect();
        let places = self.view().groups.iter().filter(|group| group.replicas.contains(&node)).map(|group| {
            let lives = group.restorable.iter().filter(|(named, _)| *named == node);
            let lives: Vec<usize> = lives.map(|(_, life)| self.rank(node, *life)).collect();
            (group.in_sync.contains(&node), group.joining.contains(&node), lives)
        });
        let places: Vec<_> = places.collect();
        let planned = self.underway.iter().flat_map(|(plan, restored)| {
            let own = plan.nodes.iter().filter(|(info, _)| info.node == node);
            own.map(|(info, order)| {
                let life = self.rank(node, info.incarnation);
                (life, self.rank(node, order.source), restored.contains(&node))
            })
        });
        let planned: Vec<_> = planned.collect();
        let lives = (self.rank(node, self.state.incarnation(node)), self.rank(node, self.named(node)));
        let known = (machine.is_up, machine.is_told, epoch(machine.known), epoch(machine.durable));
        let rows = all(&machine.rows);
        hash64(
            format!("{lives:?} {known:?} {rows:?} {points:?} {claimed:?} {places:?} {planned:?}").as_bytes(),
        )
    }
}

impl SmallWorld for RestartWorld {
    type Choice = Choice;

    fn choices(&self) -> Vec<Choice> {
        let mut choices: Vec<Choice> =
            ALL.into_iter().filter(|node| !self.machines[node].is_up).map(Choice::Start).collect();
        if self.is_lost() {
            self.choices_of_restart(&mut choices);
        } else {
            self.choices_of_running(&mut choices);
        }
        if self.losses_left > 0 {
            choices.extend(ALL.into_iter().filter(|node| self.machines[node].is_up).map(Choice::Kill));
            choices.push(Choice::KillAll);
        }
        choices
    }

    fn is_quiet(&self, choices: &[Choice]) -> bool {
        let is_fault = |choice: &Choice| matches!(choice, Choice::Kill(_) | Choice::KillAll);
        choices.iter().all(is_fault)
    }

    fn apply(&mut self, choice: Choice) -> Result<(), String> {
        match choice {
            Choice::Close => return self.close(),
            Choice::Flush(node) => self.flush(node),
            Choice::Say => self.say(),
            Choice::Ask(node) => return self.change(succession::with_restorable(self.view(), node)),
            Choice::Forget(node) => return self.change(succession::with_durable(self.view(), node)),
            Choice::Start(node) => self.start(node),
            Choice::Leave(node) => return self.change(succession::without(self.view(), &[node])),
            Choice::Join(node) => {
                let info = self.state.info(node, NodeRole::Data);
                return self.change(succession::with_joining(self.view(), &info));
            }
            Choice::Sync(node) => return self.sync(node),
            Choice::End => self.end_all(),
            Choice::Plan => {
                let planned = plan(&self.state, &self.there());
                self.underway = planned.ok().map(|plan| (plan, BTreeSet::new()));
            }
            Choice::Restore(node) => return self.restore(node),
            Choice::Record => return self.record(),
            Choice::Kill(node) => {
                self.losses_left -= 1;
                self.kill(node);
            }
            Choice::KillAll => {
                self.losses_left -= 1;
                ALL.into_iter().for_each(|node| self.kill(node));
            }
        }
        Ok(())
    }

    fn check_end(&self) -> Result<(), String> {
        let view = self.view();
        for group in view.groups.iter().skip(1) {
            if group.in_sync != group.replicas || group.restorable.len() != group.replicas.len() {
                return Err(format!("a group is not well in the end: {group:?}"));
            }
        }
        if ALL.into_iter().any(|node| !self.goes_on(node)) {
            return Err("a node does not go on in the end".to_owned());
        }
        Ok(())
    }

    /// Nodes of a group, and the groups, are alike: whichever number they have, what follows is the same. So is what an
    /// epoch's number is: which comes first decides.
    fn digest(&self) -> u64 {
        let view = self.view();
        let epochs = self.epochs();
        let rank = |epoch: Epoch| epochs.iter().position(|known| *known == epoch).unwrap_or(usize::MAX);
        let of_group = |group: &GroupView| {
            let mut nodes: Vec<u64> =
                group.replicas.iter().map(|node| self.digest_of(*node, &rank)).collect();
            nodes.sort_unstable();
            nodes
        };
        let mut groups: Vec<Vec<u64>> = view.groups.iter().skip(1).map(of_group).collect();
        groups.sort_unstable();
        let all = |set: &BTreeSet<Epoch>| set.iter().map(|epoch| rank(*epoch)).collect::<Vec<usize>>();
        let told = (all(&self.closed), all(&self.durable), all(&self.cut_off), self.is_said);
        let restarts = self.state.restarts().iter().chain([&view.restart]);
        let restarts: Vec<_> =
            restarts.map(|restart| (restart.number.0, rank(restart.cut), rank(restart.first))).collect();
        let planned = self.underway.as_ref().map(|(plan, _)| rank(plan.restart.cut));
        let left = (self.closes_left, self.losses_left);
        hash64(format!("{groups:?} {told:?} {restarts:?} {planned:?} {left:?}").as_bytes())
    }
}
