//! Operators' recoveries: five voters in four data nodes of two groups and a management node, an SQL node, disks that
//! take their time, links that are cut.

use crate::control_state::NUMBERS_LEAP;
use crate::log_file::tests::put;
use crate::membership::tests::{Input, config};
use crate::{Membership, MembershipConfig};
use protocol::control::{ControlMessage, RecoveryGoal, RecoveryMessage, RecoveryOrder};
use protocol::module::EXIT_LEFT_OUT;
use protocol::signal::JoinRequest;
use protocol::{
    Address, DiskAnswer, DiskOperation, DiskRequest, Envelope, ModuleKind, NodeRole, Outputs,
    RequestToRuntime, Signal, View,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use stdx::{Instant, Now, WallTime};
use types::{Incarnation, NodeId, ViewNumber};

const MANAGEMENT: u16 = 65;
const SQL: u16 = 67;
const MEMBERS: [(u16, NodeRole); 6] = [
    (1, NodeRole::Data),
    (2, NodeRole::Data),
    (3, NodeRole::Data),
    (4, NodeRole::Data),
    (MANAGEMENT, NodeRole::Management),
    (SQL, NodeRole::Sql),
];

struct Node {
    block: Membership,
    exit: Option<u8>,
    writing: Option<DiskRequest>,
}

/// The nodes that run, and the disks of all.
struct Cluster {
    replica_count: usize,
    nodes: BTreeMap<u16, Node>,
    disks: BTreeMap<u16, Vec<u8>>,
    queue: VecDeque<Envelope>,
    /// Links that are not there, one way or the other.
    cut: BTreeSet<(u16, u16)>,
    /// Disks that stand still.
    stalled: BTreeSet<u16>,
    now: u64,
    starts: u64,
    told: Vec<String>,
    events: Vec<(u16, String)>,
}

impl Cluster {
    /// All run, and the first view is there.
    fn founded() -> Self {
        Self::of_groups(2)
    }

    /// The same, with so many replicas.
    fn of_groups(replica_count: usize) -> Self {
        let mut cluster = Self {
            replica_count,
            nodes: BTreeMap::new(),
            disks: BTreeMap::new(),
            queue: VecDeque::new(),
            cut: BTreeSet::new(),
            stalled: BTreeSet::new(),
            now: 1_000_000_000,
            starts: 0,
            told: Vec::new(),
            events: Vec::new(),
        };
        for (id, _) in MEMBERS {
            cluster.start(id);
        }
        cluster.run(12_000);
        for (id, _) in MEMBERS {
            assert!(cluster.view(id).number > ViewNumber(0), "node {id} has no view");
        }
        cluster
    }

    fn config(&mut self, id: u16) -> MembershipConfig {
        self.starts += 1;
        let disk = self.disks.get(&id).cloned().unwrap_or_default();
        let role = MEMBERS.iter().find(|(member, _)| *member == id).expect("a member").1;
        let base = config(NodeId(id), self.starts * 1_000 + u64::from(id), &disk);
        MembershipConfig {
            members: MEMBERS.map(|(node, role)| (NodeId(node), role)).to_vec(),
            join: JoinRequest { role, ..base.join.clone() },
            replica_count: self.replica_count,
            ..base
        }
    }

    /// A process begins, with what is on its disk; it is connected with all that run.
    fn start(&mut self, id: u16) {
        let config = self.config(id);
        let seed = [u8::try_from(self.starts).expect("few starts"); 32];
        let block = Membership::new(config, Arc::default());
        self.nodes.insert(id, Node { block, exit: None, writing: None });
        self.input(id, |block, now, outputs| block.on_start(now, &seed, outputs));
        for other in self.running().into_iter().filter(|other| *other != id) {
            self.connect(id, other);
        }
    }

    fn running(&self) -> Vec<u16> {
        self.nodes.keys().copied().collect()
    }

    fn is_cut(&self, one: u16, other: u16) -> bool {
        self.cut.contains(&(one.min(other), one.max(other)))
    }

    fn connect(&mut self, one: u16, other: u16) {
        if !self.is_cut(one, other) && self.nodes.contains_key(&one) && self.nodes.contains_key(&other) {
            for (at, node) in [(one, other), (other, one)] {
                self.input(at, |block, now, outputs| block.on_link_up(now, NodeId(node), outputs));
            }
        }
    }

    fn disconnect(&mut self, one: u16, other: u16) {
        self.queue.retain(|envelope| {
            let ends = (envelope.from.node.0, envelope.to.node.0);
            ends != (one, other) && ends != (other, one)
        });
        for (at, node) in [(one, other), (other, one)] {
            self.input(at, |block, now, outputs| block.on_link_down(now, NodeId(node), outputs));
        }
    }

    /// Its process is gone; the write that was on its way is lost.
    fn kill(&mut self, id: u16) {
        self.nodes.remove(&id);
        for other in self.running() {
            self.disconnect(id, other);
        }
    }

    /// These machines are gone, with their disks.
    fn lose(&mut self, ids: &[u16]) {
        for id in ids {
            self.kill(*id);
            self.disks.remove(id);
        }
    }

    fn cut_off(&mut self, id: u16, others: &[u16]) {
        for other in others {
            self.cut.insert((id.min(*other), id.max(*other)));
            self.disconnect(id, *other);
        }
    }

    fn mend(&mut self) {
        for (one, other) in std::mem::take(&mut self.cut) {
            self.connect(one, other);
        }
    }

    fn input(&mut self, id: u16, input: impl FnOnce(&mut Membership, Now, &mut Outputs<()>)) {
        let input: Input<'_> = Box::new(input);
        let now = Now { monotonic: Instant(self.now), wall: WallTime(0) };
        let mut outputs = Outputs::default();
        let Some(node) = self.nodes.get_mut(&id) else { return };
        input(&mut node.block, now, &mut outputs);
        assert!(
            outputs.disk_requests.len() + usize::from(node.writing.is_some()) <= 1,
            "two writes at a time"
        );
        node.writing = node.writing.take().or(outputs.disk_requests.pop());
        for request in outputs.requests {
            if let RequestToRuntime::Exit(code) = request {
                node.exit = Some(code);
            }
        }
        self.events.extend(outputs.events.into_iter().map(|event| (id, event.message)));
        for envelope in outputs.signals {
            if let Signal::VotersRecovered { text, .. } = &envelope.signal {
                self.told.push(text.clone());
            } else if envelope.to.kind == ModuleKind::Membership && envelope.to.node != NodeId(id) {
                self.queue.push_back(envelope);
            }
        }
        if self.nodes.get(&id).is_some_and(|node| node.exit.is_some()) {
            let exit = self.nodes.get(&id).and_then(|node| node.exit);
            self.kill(id);
            self.events.push((id, format!("exit {exit:?}")));
        }
    }

    /// Time goes on; a disk takes a millisecond.
    fn run(&mut self, milliseconds: u64) {
        for _ in 0..milliseconds {
            self.now += 1_000_000;
            self.finish_writes();
            self.deliver();
            for id in self.running() {
                let now = Instant(self.now);
                let is_due = |node: &Node| node.block.deadline().is_some_and(|at| at <= now);
                if self.nodes.get(&id).is_some_and(is_due) {
                    self.input(id, |block, now, outputs| block.on_deadline(now, outputs));
                }
            }
            self.deliver();
        }
    }

    fn finish_writes(&mut self) {
        for id in self.running() {
            if self.stalled.contains(&id) {
                continue;
            }
            let Some(DiskRequest { ticket, operation, .. }) =
                self.nodes.get_mut(&id).and_then(|node| node.writing.take())
            else {
                continue;
            };
            put(self.disks.entry(id).or_default(), operation);
            let done = Ok(DiskAnswer::Done);
            self.input(id, |block, now, outputs| block.on_disk_done(now, ticket, &done, outputs));
        }
    }

    fn deliver(&mut self) {
        while let Some(envelope) = self.queue.pop_front() {
            let (from, to) = (envelope.from.node.0, envelope.to.node.0);
            if !self.is_cut(from, to) && self.nodes.contains_key(&from) {
                self.input(to, |block, now, outputs| block.on_signal(now, envelope, outputs));
            }
        }
    }

    /// An operator types at a node, and hears the answer.
    fn order(&mut self, id: u16, without: &[u16]) -> String {
        self.give_order(id, "TEST", without);
        self.run(12_000);
        assert_eq!(self.told.len(), 1, "{:?} {:#?}", self.told, self.events);
        self.told.pop().unwrap_or_default()
    }

    fn give_order(&mut self, id: u16, cluster: &str, without: &[u16]) {
        self.starts += 1;
        let without = without.iter().map(|node| NodeId(*node)).collect();
        let (number, cluster, operator) = (self.starts, cluster.to_owned(), "an operator".to_owned());
        let order =
            Box::new(RecoveryOrder { number, cluster, without, operator, goal: RecoveryGoal::Voters });
        let (from, to) = (Address::main(NodeId(id)), Address::membership(NodeId(id)));
        let envelope = Envelope::unstamped(from, to, Signal::RecoverVoters(order));
        self.input(id, |block, now, outputs| block.on_signal(now, envelope, outputs));
    }

    fn view(&self, id: u16) -> &View {
        let node = self.nodes.get(&id);
        &node.unwrap_or_else(|| panic!("node {id} has ended: {:#?}", self.events)).block.view
    }

    fn in_sync(&self, id: u16) -> Vec<u16> {
        self.view(id).groups[0].in_sync.iter().map(|node| node.0).collect()
    }

    fn voters(&self, id: u16) -> Vec<(u64, u16)> {
        let state = self.nodes.get(&id).and_then(|node| node.block.log_state());
        let voters = state.map_or(&[][..], |state| state.voters()).iter().filter(|info| info.votes);
        voters.map(|info| (info.voter.0, info.node.0)).collect()
    }

    fn has_said(&self, id: u16, text: &str) -> bool {
        self.events.iter().any(|(node, event)| *node == id && event.contains(text))
    }

    /// Those that live go on without those that are gone, and nothing that was lost is heard any more.
    fn assert_goes_on(&self, living: &[u16], before: &View) {
        for id in living {
            let view = self.view(*id);
            assert_ne!(view.founding, before.founding, "node {id}");
            assert!(view.number.0 >= before.number.0 + NUMBERS_LEAP, "view {} at node {id}", view.number);
            assert_eq!(view.founding, self.view(living[0]).founding, "node {id}");
        }
    }
}

/// Three of five voters are gone, a member of each group lives.
fn with_lost_majority() -> (Cluster, View) {
    let mut cluster = Cluster::founded();
    let before = cluster.view(2).clone();
    cluster.lose(&[MANAGEMENT, 1, 3]);
    cluster.run(3_000);
    assert_eq!(cluster.view(2).number, before.number, "nobody can decide");
    (cluster, before)
}

fn an_operator_goes_on_with_what_lives() -> (Cluster, View) {
    let (mut cluster, before) = with_lost_majority();
    cluster.start(MANAGEMENT);
    cluster.run(1_000);
    let told = cluster.order(MANAGEMENT, &[1, 3, MANAGEMENT]);
    assert!(told.starts_with("the control log goes on at node 2 without node 1, 3, 65"), "{told}");
    cluster.assert_goes_on(&[2, 4, SQL, MANAGEMENT], &before);
    assert_eq!(cluster.in_sync(4), [2, 4]);
    assert_eq!(cluster.voters(2), cluster.voters(4));
    let voters = cluster.voters(MANAGEMENT);
    let nodes: BTreeSet<u16> = voters.iter().map(|(_, node)| *node).collect();
    assert_eq!(nodes, BTreeSet::from([2, 4, MANAGEMENT]));
    assert!(voters.iter().all(|(voter, _)| *voter > NUMBERS_LEAP), "{voters:?}");
    (cluster, before)
}

#[test]
fn an_empty_management_node_takes_the_order() {
    let (mut cluster, _) = an_operator_goes_on_with_what_lives();
    // A node that was lost may come back with nothing, and is numbered above all that was there.
    cluster.start(1);
    cluster.run(3_000);
    let info = cluster.view(2).node(NodeId(1)).expect("it is configured").clone();
    assert!(cluster.view(2).groups[0].joining.contains(&NodeId(1)));
    assert!(u64::from(info.incarnation.0) > NUMBERS_LEAP, "{info:?}");
    // Typed twice, nothing happens.
    let number = cluster.view(2).number;
    let told = cluster.order(MANAGEMENT, &[3, 65, 1]);
    assert!(told.contains("already"), "{told}");
    assert_eq!(cluster.view(2).number, number);
    assert!(cluster.has_said(2, "an operator orders: the control log goes on without node 1, 3, 65"));
}

/// The lost ones were only away for long: they come back with their disks, a majority of the old log among themselves.
#[test]
pub(crate) fn old_disks_that_come_back_are_void() {
    let mut cluster = Cluster::founded();
    let before = cluster.view(2).clone();
    for id in [MANAGEMENT, 1, 3] {
        cluster.kill(id);
    }
    cluster.run(3_000);
    let told = cluster.order(2, &[MANAGEMENT, 1, 3]);
    assert!(told.starts_with("the control log goes on"), "{told}");
    for id in [MANAGEMENT, 1, 3] {
        cluster.start(id);
    }
    cluster.run(20_000);
    for id in [MANAGEMENT, 1, 3] {
        if !cluster.nodes.contains_key(&id) {
            // Let in by the old log before it heard of the new one, it has ended, and its angel starts it again.
            cluster.start(id);
        }
    }
    cluster.run(20_000);
    cluster.assert_goes_on(&[1, 2, 3, 4, SQL, MANAGEMENT], &before);
    assert_eq!(cluster.in_sync(1), [2, 4], "rows exist in those processes only");
    let voters = cluster.voters(2);
    assert!(voters.len() >= 3 && voters.iter().all(|(voter, _)| *voter > NUMBERS_LEAP), "{voters:?}");
}

/// Node 1 is named, and only cut off from the founder: another survivor hears it.
#[test]
pub(crate) fn a_node_that_lives_is_not_gone() {
    let mut cluster = Cluster::founded();
    cluster.lose(&[MANAGEMENT, 3]);
    cluster.run(1_000);
    // It is too soon for anybody to be left out.
    cluster.cut_off(1, &[2]);
    cluster.give_order(2, "test", &[MANAGEMENT, 1, 3]);
    cluster.run(5);
    let told = cluster.told.pop().expect("an answer");
    assert!(told.contains("node 1 is not gone: it is connected with node 4"), "{told}");
    assert!(cluster.voters(2).iter().all(|(voter, _)| *voter < NUMBERS_LEAP));
}

#[test]
fn what_may_live_is_not_passed_over() {
    let (mut cluster, before) = with_lost_majority();
    for (without, reason) in [
        (&[MANAGEMENT, 1][..], "are a majority of the voters, and not lost"),
        (&[MANAGEMENT, 1, 3, 2], "node 2 is not gone: it is connected with node 4"),
        (&[MANAGEMENT, 1, 3, 9], "no management or data node 9"),
    ] {
        let told = cluster.order(2, without);
        assert!(told.starts_with("ERROR: nothing was changed") && told.contains(reason), "{told}");
    }
    cluster.give_order(2, "prod", &[MANAGEMENT, 1, 3]);
    assert!(cluster.told.pop().is_some_and(|told| told.contains("the name of this cluster is 'test'")));
    cluster.cut_off(4, &[2]);
    cluster.give_order(2, "test", &[MANAGEMENT, 1, 3]);
    let told = cluster.told.pop().expect("an answer");
    assert!(told.contains("node 4 is neither connected with node 2 nor named"), "{told}");
    cluster.give_order(2, "test", &[MANAGEMENT, 1, 3, 4]);
    let told = cluster.told.pop().expect("an answer");
    assert!(told.contains("no node that lives has all rows of node group 1"), "{told}");
    // A refusal has changed nothing.
    cluster.mend();
    cluster.run(1_000);
    assert_eq!(cluster.view(4).number, before.number);
    assert!(cluster.order(4, &[MANAGEMENT, 1, 3]).starts_with("the control log goes on"));
    cluster.assert_goes_on(&[2, 4, SQL], &before);
}

#[test]
pub(crate) fn a_process_that_started_again_has_no_rows() {
    let (mut cluster, _) = with_lost_majority();
    cluster.kill(4);
    cluster.start(4);
    cluster.run(1_000);
    let told = cluster.order(2, &[MANAGEMENT, 1, 3]);
    assert!(told.contains("no node that lives has all rows of node group 1"), "{told}");
}

#[test]
fn a_crash_before_the_file_is_written_changes_nothing() {
    let (mut cluster, before) = with_lost_majority();
    cluster.stalled.insert(4);
    cluster.give_order(4, "test", &[MANAGEMENT, 1, 3]);
    cluster.run(100);
    // It is being written: an operator who asks another node meanwhile is refused.
    cluster.give_order(2, "test", &[MANAGEMENT, 1, 3]);
    cluster.run(100);
    let told = cluster.told.pop().expect("an answer");
    assert!(told.contains("takes part in another recovery, which has not ended"), "{told}");
    // The founder's process starts again, with the old log: that says so, and the survivor is free.
    cluster.kill(4);
    cluster.stalled.clear();
    cluster.start(4);
    cluster.run(5_000);
    assert_eq!(cluster.view(2).founding, before.founding);
    assert!(cluster.nodes[&2].block.recovery.awaited().is_none());
}

/// The founder dies with its file on disk and before anybody has heard of it. The others wait for it, and follow when
/// it is back.
#[test]
fn a_founder_that_has_written_the_file_goes_on_with_it() {
    let mut cluster = Cluster::of_groups(4);
    let before = cluster.view(2).clone();
    cluster.lose(&[MANAGEMENT, 1, 3]);
    cluster.run(3_000);
    cluster.stalled.insert(4);
    cluster.give_order(4, "test", &[MANAGEMENT, 1, 3]);
    cluster.run(100);
    let write = cluster.nodes.get_mut(&4).and_then(|node| node.writing.take()).expect("a new file");
    let DiskOperation::Replace { bytes, .. } = write.operation else { panic!("no new file") };
    cluster.kill(4);
    cluster.disks.insert(4, bytes);
    cluster.stalled.clear();
    cluster.run(15_000);
    assert_eq!(cluster.view(2).founding, before.founding);
    assert!(cluster.has_said(2, "node 4 has begun to recover the control plane"));
    cluster.start(4);
    cluster.run(3_000);
    cluster.assert_goes_on(&[2, 4, SQL], &before);
    assert_eq!(cluster.in_sync(4), [2]);
}

/// The same, but the founder is lost, too, and the operator gives the order anew. When it comes back after all, it is a
/// stranger.
#[test]
fn a_founder_that_is_lost_is_named_in_the_next_order() {
    let mut cluster = Cluster::of_groups(4);
    let before = cluster.view(2).clone();
    cluster.lose(&[MANAGEMENT, 1, 3]);
    cluster.run(3_000);
    cluster.stalled.insert(4);
    cluster.give_order(4, "test", &[MANAGEMENT, 1, 3]);
    cluster.run(100);
    let write = cluster.nodes.get_mut(&4).and_then(|node| node.writing.take()).expect("a new file");
    let DiskOperation::Replace { bytes, .. } = write.operation else { panic!("no new file") };
    cluster.kill(4);
    cluster.disks.insert(4, bytes);
    cluster.stalled.clear();
    let told = cluster.order(2, &[MANAGEMENT, 1, 3, 4]);
    assert!(told.starts_with("the control log goes on at node 2"), "{told}");
    cluster.assert_goes_on(&[2, SQL], &before);
    let founding = cluster.view(2).founding;
    cluster.start(4);
    cluster.run(3_000);
    assert_eq!(cluster.view(2).founding, founding);
    assert_eq!(cluster.view(SQL).founding, founding);
    assert_eq!(cluster.in_sync(2), [2]);
}

#[test]
fn who_waits_says_for_whom() {
    let (mut cluster, _) = with_lost_majority();
    cluster.start(MANAGEMENT);
    cluster.run(25_000);
    let waits = |id: u16, text: &str| {
        let said = cluster.events.iter().filter(|(node, event)| *node == id && event.contains(text));
        said.count()
    };
    let missing = "2 of 5 voters of the control plane are there, 3 are needed; missing: node 65 (it has lost its copy of the control log), node 1 (not \
                   connected), node 3 (not connected)";
    for id in [2, 4, MANAGEMENT] {
        assert_eq!(waits(id, missing), 2, "{:#?}", cluster.events);
    }
    assert!(waits(2, "latsdb mgm -e 'recover voters test without 65,1,3'") > 0);
    let told = cluster.order(MANAGEMENT, &[MANAGEMENT, 1, 3]);
    assert!(told.starts_with("the control log goes on"), "{told}");
    for id in [2, 4, MANAGEMENT] {
        assert!(cluster.has_said(id, "the control plane is there again"), "node {id}");
    }
}

/// While the founder's disk works the old majority comes back and decides something.
#[test]
pub(crate) fn who_takes_part_has_done_with_the_old_founding() {
    let (mut cluster, before) = with_lost_majority();
    cluster.stalled.insert(2);
    cluster.give_order(2, "test", &[MANAGEMENT, 1, 3]);
    cluster.run(10);
    let old = crate::succession::without(&before, &[NodeId(1), NodeId(3)]);
    let install = Signal::ViewInstall(Arc::new(old.expect("viable")), None, None);
    let (from, to) = (Address::membership(NodeId(1)), Address::membership(NodeId(4)));
    let envelope = Envelope::unstamped(from, to, install);
    cluster.input(4, |block, now, outputs| block.on_signal(now, envelope, outputs));
    assert_eq!(cluster.view(4).number, before.number, "the founder goes on with the view before");
    cluster.stalled.clear();
    cluster.run(3_000);
    cluster.assert_goes_on(&[2, 4, SQL], &before);
}

#[test]
fn a_named_process_that_lives_after_all_ends() {
    let mut cluster = Cluster::founded();
    let before = cluster.view(2).clone();
    cluster.lose(&[MANAGEMENT, 3]);
    cluster.run(300);
    // Nobody hears it: the operator is wrong, and it is void.
    cluster.cut_off(1, &[2, 4, SQL]);
    cluster.give_order(2, "test", &[MANAGEMENT, 1, 3]);
    cluster.run(3_000);
    cluster.assert_goes_on(&[2, 4, SQL], &before);
    cluster.mend();
    cluster.run(100);
    assert!(cluster.has_said(1, "an operator has given up node 1"));
    assert!(cluster.has_said(1, &format!("exit Some({EXIT_LEFT_OUT})")));
    cluster.assert_goes_on(&[2, 4, SQL], &before);
}

#[test]
fn a_second_loss_is_recovered_from_in_turn() {
    let (mut cluster, _) = an_operator_goes_on_with_what_lives();
    let second = cluster.view(2).clone();
    cluster.start(1);
    cluster.run(3_000);
    cluster.lose(&[MANAGEMENT, 1]);
    cluster.run(1_000);
    let told = cluster.order(4, &[MANAGEMENT, 1, 3]);
    assert!(told.starts_with("the control log goes on"), "{told}");
    cluster.assert_goes_on(&[2, 4, SQL], &second);
    let state = cluster.nodes[&2].block.log_state().expect("a copy");
    assert_eq!(state.replaced().last(), Some(&second.founding));
    assert_eq!(state.replaced().len(), 2);
}

#[test]
pub(crate) fn numbers_are_given_once() {
    let (cluster, before) = an_operator_goes_on_with_what_lives();
    let lives: BTreeSet<Incarnation> = before.nodes.iter().map(|info| info.incarnation).collect();
    let state = cluster.nodes[&2].block.log_state().expect("a copy").clone();
    let mut next = state.clone();
    let life = state.life(NodeId(1)).expect("it was let in").clone();
    next.apply(&protocol::control::Command::Join {
        node: NodeId(1),
        join: Box::new(JoinRequest { start: 4_711, ..life.join.clone() }),
        replaces: life.incarnation,
    });
    let given = next.incarnation(NodeId(1));
    assert!(!lives.contains(&given) && u64::from(given.0) > NUMBERS_LEAP, "{given}");
    assert_eq!(state.replaced(), [before.founding]);
    assert_eq!(crate::control_state::ControlState::decode(&state.encode()), Ok(state));
}

#[test]
fn strangers_words_about_recoveries_change_nothing() {
    let mut cluster = Cluster::founded();
    let view = cluster.view(2).clone();
    let words = [
        RecoveryMessage::Released { recovery: view.founding },
        RecoveryMessage::Check { recovery: view.founding },
        RecoveryMessage::Answer {
            number: 1,
            outcome: protocol::control::RecoveryOutcome::Done,
            text: "x".to_owned(),
        },
        RecoveryMessage::Replaced { founding: protocol::control::GroupId(5), replaced: Vec::new() },
    ];
    for word in words {
        let (from, to) = (Address::membership(NodeId(4)), Address::membership(NodeId(2)));
        let signal = Signal::Control(Box::new(ControlMessage::Recovery(word)));
        let envelope = Envelope::unstamped(from, to, signal);
        cluster.input(2, |block, now, outputs| block.on_signal(now, envelope, outputs));
    }
    cluster.run(1_000);
    assert_eq!(cluster.view(2), &view);
}
