//! Three voters with their disks and an SQL node, and what strangers say to them.

use super::*;
use crate::log_file::tests::put;
use protocol::DiskRequest;
use protocol::heartbeat::LinkRow;
use protocol::restart::RestoreOrder;
use protocol::{Claim, ClaimPoint};
use stdx::WallTime;
use types::NodeSet;

mod directed;
mod recovery;
mod restarting;

const START_PARTIAL_TIMEOUT: Duration = Duration::from_secs(30);
const MANAGEMENT: NodeId = NodeId(65);
const DATA: NodeId = NodeId(1);
const OTHER: NodeId = NodeId(2);
const SQL: NodeId = NodeId(67);
const MEMBERS: [(NodeId, NodeRole); 4] = [
    (DATA, NodeRole::Data),
    (OTHER, NodeRole::Data),
    (MANAGEMENT, NodeRole::Management),
    (SQL, NodeRole::Sql),
];

/// A node with its disk.
struct Node {
    block: Membership,
    disk: Vec<u8>,
    /// Whether the disk fails from now on.
    disk_error: Option<DiskError>,
    events: Vec<String>,
    exit: Option<u8>,
    /// The order that its main was given.
    restore: Option<RestoreOrder>,
    /// The rows with which it joins: its disk has brought them back at once.
    joins_with: Option<ClaimPoint>,
    /// The answers to its operator, and the condition that the restart waits for.
    answers: Vec<String>,
    awaited: String,
}

impl Node {
    fn new(block: Membership, disk: Vec<u8>) -> Self {
        Self {
            block,
            disk,
            disk_error: None,
            events: Vec::new(),
            exit: None,
            restore: None,
            joins_with: None,
            answers: Vec::new(),
            awaited: String::new(),
        }
    }
}

fn config(node: NodeId, start: u64, disk: &[u8]) -> MembershipConfig {
    let role = MEMBERS.iter().find(|(member, _)| *member == node).map_or(NodeRole::Sql, |(_, role)| *role);
    MembershipConfig {
        node,
        cluster: "test".to_owned(),
        join: JoinRequest {
            role,
            start,
            host: "here".to_owned(),
            ldm_count: 1,
            tc_count: 1,
            query_count: 0,
            sql_count: 1,
            claim: None,
        },
        awaits_claim: false,
        members: MEMBERS.to_vec(),
        replica_count: 2,
        partitions_per_node: 1,
        slots_per_node: 1,
        start_partial_timeout: START_PARTIAL_TIMEOUT,
        detector: DetectorConfig::DEFAULT,
        log_file: disk.to_vec(),
    }
}

/// All nodes, linked.
struct World {
    nodes: Vec<(NodeId, Node)>,
    now: u64,
    /// It hears others, and its own deadlines pass.
    asleep: Option<NodeId>,
}

/// An input of a block.
type Input<'a> = Box<dyn FnOnce(&mut Membership, Now, &mut Outputs<()>) + 'a>;

impl World {
    /// All start with empty disks; `seed` decides what the founding is called.
    fn start(seed: u8) -> Self {
        Self::start_with(seed, None)
    }

    /// The same with a claim of each data node.
    fn start_with(seed: u8, claim: Option<Claim>) -> Self {
        let node = |(id, role): (NodeId, NodeRole)| {
            let start = u64::from(seed) * 100 + u64::from(id.0);
            let mut config = config(id, start, &[]);
            config.join.claim = claim.clone().filter(|_| role == NodeRole::Data).map(Box::new);
            let block = Membership::new(config, Arc::default());
            (id, Node::new(block, Vec::new()))
        };
        let mut world = Self { nodes: MEMBERS.map(node).into(), now: 1_000_000_000, asleep: None };
        for (id, _) in MEMBERS {
            world.input(id, |block, now, outputs| block.on_start(now, &[seed; 32], outputs));
        }
        for (id, _) in MEMBERS {
            world.link(id);
        }
        world
    }

    /// A node is connected with all others, as it sees it.
    fn link(&mut self, id: NodeId) {
        for (other, _) in MEMBERS.into_iter().filter(|(other, _)| *other != id) {
            self.input(id, |block, now, outputs| block.on_link_up(now, other, outputs));
        }
    }

    /// A node that has ended starts again at once, with its disk.
    fn start_again(&mut self, id: NodeId) {
        let disk = self.node(id).disk.clone();
        self.begin(id, config(id, 888, &disk), disk);
    }

    /// Another life of a node begins.
    fn begin(&mut self, id: NodeId, config: MembershipConfig, disk: Vec<u8>) {
        let block = Membership::new(config, Arc::default());
        *self.node(id) = Node::new(block, disk);
        self.input(id, |block, now, outputs| block.on_start(now, &[3; 32], outputs));
        for (node, _) in MEMBERS.into_iter().filter(|(node, _)| *node != id) {
            self.input(node, |block, now, outputs| block.on_link_down(now, id, outputs));
            self.input(node, |block, now, outputs| block.on_link_up(now, id, outputs));
            if self.node(node).exit.is_none() {
                self.input(id, |block, now, outputs| block.on_link_up(now, node, outputs));
            }
        }
    }

    fn node(&mut self, id: NodeId) -> &mut Node {
        let found = self.nodes.iter_mut().find(|(node, _)| *node == id);
        &mut found.expect("a node of this world").1
    }

    /// Gives a node an input, and does at once what it wants.
    fn input(&mut self, id: NodeId, input: impl FnOnce(&mut Membership, Now, &mut Outputs<()>)) {
        self.apply(id, Box::new(input));
    }

    fn apply(&mut self, id: NodeId, input: Input<'_>) {
        let now = Now { monotonic: Instant(self.now), wall: WallTime(0) };
        let mut outputs = Outputs::default();
        let node = self.node(id);
        if node.exit.is_some() {
            return;
        }
        input(&mut node.block, now, &mut outputs);
        node.events.extend(outputs.events.into_iter().map(|event| event.message));
        for request in outputs.requests {
            if let RequestToRuntime::Exit(code) = request {
                node.exit = Some(code);
            }
        }
        let mut answers = Vec::new();
        for DiskRequest { ticket, operation, .. } in outputs.disk_requests {
            let result = match &node.disk_error {
                Some(error) => Err(error.clone()),
                None => {
                    put(&mut node.disk, operation);
                    Ok(DiskAnswer::Done)
                }
            };
            answers.push((ticket, result));
        }
        for (ticket, result) in answers {
            let done: Input<'_> =
                Box::new(move |block, now, outputs| block.on_disk_done(now, ticket, &result, outputs));
            self.apply(id, done);
        }
        for envelope in outputs.signals {
            if let Signal::Restore(order) = &envelope.signal {
                self.node(id).restore = Some(*order);
            }
            if let Signal::RestoreToJoin(point) = &envelope.signal {
                let (from, to) = (Address::disk(id), Address::membership(id));
                let done = Envelope::unstamped(from, to, Signal::RestoredToJoin(*point));
                self.node(id).joins_with = Some(*point);
                self.apply(id, Box::new(move |block, now, outputs| block.on_signal(now, done, outputs)));
            }
            if let Signal::VotersRecovered { text, .. } = &envelope.signal {
                self.node(id).answers.push(text.clone());
            }
            if let Signal::RestartAwaited { text } = &envelope.signal {
                self.node(id).awaited.clone_from(text);
            }
            if envelope.to.kind == protocol::ModuleKind::Membership && envelope.to.node != id {
                self.now += 1_000;
                let to = envelope.to.node;
                self.apply(to, Box::new(move |block, now, outputs| block.on_signal(now, envelope, outputs)));
            }
        }
    }

    /// The main of a node that stops says what comes next.
    fn step(&mut self, id: NodeId, step: LeaveStep) {
        let (from, to) = (Address::main(id), Address::membership(id));
        let envelope = Envelope::unstamped(from, to, Signal::Leaving { step });
        self.input(id, |block, now, outputs| block.on_signal(now, envelope, outputs));
        self.run(100);
    }

    /// Two nodes lose their connection; the nodes that have ended a second later.
    fn cut(&mut self, one: NodeId, other: NodeId) -> Vec<NodeId> {
        for (at, node) in [(one, other), (other, one)] {
            self.input(at, |block, now, outputs| block.on_link_down(now, node, outputs));
        }
        self.run(1_000);
        let ended = self.nodes.iter().filter(|(_, node)| node.exit.is_some());
        ended.map(|(id, _)| *id).collect()
    }

    /// An ldm of a node, so many views behind, reports another node.
    fn say_late(&mut self, id: NodeId, late: NodeId, behind: u64) {
        let from = Address::new(id, protocol::ModuleKind::Ldm, 0);
        let signal = Signal::ReplicaLags { node: late, milliseconds: 3_000 };
        let view = ViewNumber(self.node(id).block.view.number.0 - behind);
        let envelope = Envelope { view, ..Envelope::unstamped(from, Address::membership(id), signal) };
        self.input(id, |block, now, outputs| block.on_signal(now, envelope, outputs));
    }

    /// Time goes on.
    fn run(&mut self, milliseconds: u64) {
        let end = self.now + milliseconds * 1_000_000;
        while self.now < end {
            self.now += 1_000_000;
            let asleep = self.asleep;
            for (id, _) in MEMBERS.into_iter().filter(|(id, _)| Some(*id) != asleep) {
                let now = Instant(self.now);
                if self.node(id).block.deadline().is_some_and(|at| at <= now) {
                    self.input(id, |block, now, outputs| block.on_deadline(now, outputs));
                }
            }
        }
    }

    fn count(&mut self, name: &str) -> u64 {
        let counts = self.node(DATA).block.counts();
        counts.into_iter().find(|(known, _)| *known == name).unwrap().1
    }
}

/// Founds a cluster; the disks of its nodes.
fn founded(seed: u8) -> World {
    let mut world = World::start(seed);
    world.run(2_000);
    let view = world.node(DATA).block.view.number;
    assert_eq!(view, ViewNumber(1), "{:?}", world.node(DATA).events);
    world
}

#[test]
fn a_disk_of_another_founding_is_said_so() {
    let foreign = founded(1).node(DATA).disk.clone();
    let mut world = founded(2);
    // The data node is started with the wrong disk.
    let wrong = Membership::new(config(DATA, 999, &foreign), Arc::default());
    *world.node(DATA) = Node::new(wrong, foreign);
    world.input(DATA, |block, now, outputs| block.on_start(now, &[3; 32], outputs));
    assert_eq!(world.node(DATA).exit, None, "nobody has said it yet");
    world.link(DATA);
    world.input(MANAGEMENT, |block, now, outputs| block.on_link_up(now, DATA, outputs));
    world.run(200);
    assert_eq!(world.node(DATA).exit, Some(EXIT_REFUSED));
    let text = world.node(DATA).events.last().unwrap().clone();
    assert!(text.contains("not of the cluster 'test' that runs"), "{text}");
    assert_eq!(world.node(MANAGEMENT).exit, None, "whoever runs goes on");
}

/// Two directories were exchanged.
#[test]
fn a_disk_of_another_node_is_refused_by_name() {
    let foreign = founded(1).node(DATA).disk.clone();
    let mut block = Membership::new(config(MANAGEMENT, 888, &foreign), Arc::default());
    let mut outputs: Outputs<()> = Outputs::default();
    block.on_start(Now::default(), &[3; 32], &mut outputs);
    let exits = outputs.requests.contains(&RequestToRuntime::Exit(EXIT_REFUSED));
    let said = outputs.events.last().map(|event| event.message.clone());
    let expected = format!("control.log on this disk belongs to node {DATA}, not to node {MANAGEMENT}");
    assert_eq!((exits, said), (true, Some(expected)));
    assert!(outputs.disk_requests.is_empty(), "nothing is written");
}

/// It has lost its log, and hears of one node after the other that has, too.
#[test]
fn who_was_let_in_founds_no_second_cluster() {
    for is_let_in in [false, true] {
        let mut block = Membership::new(config(MANAGEMENT, 888, &[]), Arc::default());
        let mut outputs: Outputs<()> = Outputs::default();
        block.on_start(Now::default(), &[3; 32], &mut outputs);
        let joined = ControlMessage::Joined { start: 888, incarnation: Incarnation(5) };
        let let_in = is_let_in.then_some((DATA, joined));
        let lost = [DATA, OTHER].map(|node| (node, ControlMessage::NoLog { start: 888 }));
        for (node, message) in let_in.into_iter().chain(lost) {
            let signal = Signal::Control(Box::new(message));
            let envelope =
                Envelope::unstamped(Address::membership(node), Address::membership(MANAGEMENT), signal);
            block.on_signal(Now::default(), envelope, &mut outputs);
        }
        let founds = outputs.events.iter().any(|event| event.message.contains("is founded"));
        assert_eq!(founds, !is_let_in);
    }
}

#[test]
fn who_has_another_configuration_than_the_cluster_is_not_let_in() {
    let told = |change: fn(&mut MembershipConfig)| {
        let mut world = founded(1);
        // A voter, which knows the log from its disk.
        let disk = world.node(MANAGEMENT).disk.clone();
        let mut changed = config(MANAGEMENT, 888, &disk);
        change(&mut changed);
        world.begin(MANAGEMENT, changed, disk);
        world.run(200);
        assert_eq!(world.node(DATA).exit, None, "whoever runs goes on");
        let node = world.node(MANAGEMENT);
        (node.exit, node.events.last().unwrap().clone())
    };
    assert_eq!(told(|_| {}).0, None, "the same as before");
    let (exit, text) = told(|config| {
        config.replica_count = 1;
        config.detector = DetectorConfig::for_interval(Duration::from_millis(10));
    });
    assert_eq!(exit, Some(EXIT_REFUSED));
    assert!(
        text.contains("NoOfReplicas is 1 in this node's config.ini, and 2 in the cluster that runs"),
        "{text}"
    );
    assert!(text.contains("HeartbeatIntervalDbDb is 10 ms in this node's config.ini, and 50 ms"), "{text}");
    let (exit, text) = told(|config| config.partitions_per_node = 2);
    assert_eq!(exit, Some(EXIT_REFUSED));
    assert!(text.contains("PartitionsPerNode is 2"), "{text}");
    let (exit, text) = told(|config| config.members.retain(|(node, _)| *node != SQL));
    assert_eq!(exit, Some(EXIT_REFUSED));
    assert!(text.contains("(sql) in the cluster that runs"), "{text}");
}

#[test]
fn views_of_another_founding_and_malformed_ones_are_counted() {
    let mut world = founded(1);
    let view = (*world.node(DATA).block.view).clone();
    let other = View { number: ViewNumber(9), founding: GroupId(77), ..view.clone() };
    let mut malformed = View { number: ViewNumber(9), ..view };
    malformed.groups[0].in_sync.push(NodeId(200));
    for (count, bad) in [(1, other), (2, malformed)] {
        let from = Address::membership(MANAGEMENT);
        let signal = Signal::ViewInstall(Arc::new(bad), None, None);
        let envelope = Envelope::unstamped(from, Address::membership(DATA), signal);
        world.input(DATA, |block, now, outputs| block.on_signal(now, envelope, outputs));
        assert_eq!(world.count("VIEWS_REFUSED"), count);
        assert_eq!(world.node(DATA).block.view.number, ViewNumber(1));
        assert_eq!(world.node(DATA).exit, None);
    }
}

#[test]
fn heartbeats_of_unknown_lives_are_counted() {
    let mut world = founded(1);
    let before = world.count("HEARTBEATS_REFUSED");
    let row = LinkRow {
        node: MANAGEMENT,
        incarnation: Incarnation(0),
        number: 1,
        hears: NodeSet::EMPTY,
        late: NodeSet::EMPTY,
    };
    for (count, rows) in [(1, vec![row]), (2, Vec::new())] {
        let heartbeat = Heartbeat { view: ViewNumber(1), sequence: 1, granted: 0, rows };
        let signal = Signal::Heartbeat(Box::new(heartbeat));
        let envelope =
            Envelope::unstamped(Address::membership(MANAGEMENT), Address::membership(DATA), signal);
        world.input(DATA, |block, now, outputs| block.on_signal(now, envelope, outputs));
        assert_eq!(world.count("HEARTBEATS_REFUSED"), before + count);
    }
}

#[test]
fn nodes_without_a_copy_of_the_log_hear_who_votes() {
    let mut world = founded(1);
    let (applied, voters) = world.node(MANAGEMENT).block.voters.clone();
    let mut voting: Vec<NodeId> = voters.iter().filter(|voter| voter.votes).map(|voter| voter.node).collect();
    voting.sort_unstable();
    assert_eq!(voting, [DATA, OTHER, MANAGEMENT]);
    assert_eq!(world.node(SQL).block.voters, (applied, voters));
}

/// An ldm of the data node, in its newest view, reports the other one four times in a second; when that one has to
/// leave for it, in milliseconds.
fn report(world: &mut World, milliseconds: u64) -> Option<u64> {
    report_from(world, milliseconds, 0)
}

/// The same of an ldm that is so many views behind.
fn report_from(world: &mut World, milliseconds: u64, behind: u64) -> Option<u64> {
    (0..milliseconds).step_by(250).find(|_| {
        world.say_late(DATA, OTHER, behind);
        world.run(250);
        world.node(OTHER).exit.is_some()
    })
}

#[test]
fn who_answers_late_has_to_leave_and_waits_for_its_return() {
    let mut world = founded(1);
    world.run(12_000);
    let when = report(&mut world, 5_000);
    assert!(when.is_some_and(|when| (1_000..1_500).contains(&when)), "{when:?}");
    assert_eq!(world.node(OTHER).exit, Some(EXIT_LEFT_OUT));
    assert_eq!(world.count("LAGGARDS_TO_LEAVE"), 1);
    for node in [DATA, MANAGEMENT, OTHER] {
        let is_told = |event: &&String| event.contains("asks for a view without node 2");
        assert_eq!(world.node(node).events.iter().filter(is_told).count(), 1, "node {node}");
    }
    world.start_again(OTHER);
    world.run(8_000);
    assert!(world.node(OTHER).block.incarnation.is_some() && world.node(OTHER).exit.is_none());
    assert!(!world.node(DATA).block.view.is_member(OTHER), "it is on probation");
    world.run(4_000);
    assert!(world.node(DATA).block.view.is_member(OTHER), "it joins");
}

#[test]
fn nobody_leaves_for_being_late_soon_after_the_start_or_the_last_of_a_group() {
    let mut world = founded(1);
    assert_eq!(report(&mut world, 7_000), None);
    world.run(20_000);
    assert!(report(&mut world, 5_000).is_some());
    // The last one stays, whatever is reported.
    world.run(20_000);
    for _ in 0..40 {
        let from = Address::new(DATA, protocol::ModuleKind::Ldm, 0);
        let signal = Signal::ReplicaLags { node: DATA, milliseconds: 3_000 };
        let view = world.node(DATA).block.view.number;
        for to in [DATA, MANAGEMENT] {
            let envelope =
                Envelope { view, ..Envelope::unstamped(from, Address::membership(to), signal.clone()) };
            world.input(to, |block, now, outputs| block.on_signal(now, envelope, outputs));
        }
        world.run(250);
    }
    assert_eq!(world.node(DATA).exit, None);
    assert!(world.node(DATA).block.view.is_member(DATA));
}

#[test]
fn a_node_whose_control_log_cannot_be_written_ends_and_says_why() {
    let told = "/data/control.log: Input/output error (os error 5)";
    let failed = DiskError::Failed(told.to_owned());
    for (error, text) in [(failed, told), (DiskError::Full, "control.log: the disk is full")] {
        let mut world = founded(1);
        let disk = world.node(DATA).disk.clone();
        world.node(DATA).disk_error = Some(error);
        // Another node stops: views follow, which are written.
        world.step(OTHER, LeaveStep::HandOver);
        world.run(1_000);
        let node = world.node(DATA);
        assert_eq!(node.exit, Some(EXIT_DISK));
        assert_eq!(node.events.last().unwrap(), &format!("the control log cannot be written: {text}"));
        assert!(node.disk == disk, "nothing is written after that");
    }
}

#[test]
fn nobody_leaves_on_the_word_of_an_ldm_that_is_behind() {
    let mut world = founded(1);
    world.run(12_000);
    assert_eq!(report_from(&mut world, 5_000, 1), None);
    assert!(report(&mut world, 5_000).is_some());
}

#[test]
fn the_heir_of_a_node_that_stops_does_not_leave_for_being_late() {
    let mut world = founded(1);
    world.run(12_000);
    world.step(DATA, LeaveStep::HandOver);
    assert_eq!(world.node(DATA).block.view.leaving, [DATA]);
    assert_eq!(report(&mut world, 5_000), None);
    world.step(DATA, LeaveStep::Stay);
    assert!(report(&mut world, 5_000).is_some());
}

#[test]
fn only_members_are_believed_that_another_one_is_late() {
    let mut world = founded(1);
    for (from, node, is_believed) in [(SQL, DATA, false), (DATA, NodeId(9), false), (DATA, OTHER, true)] {
        let signal = Signal::ReplicaLags { node, milliseconds: 3_000 };
        let envelope =
            Envelope::unstamped(Address::membership(from), Address::membership(MANAGEMENT), signal);
        world.input(MANAGEMENT, |block, now, outputs| block.on_signal(now, envelope, outputs));
        let now = Instant(world.now);
        assert_eq!(!world.node(MANAGEMENT).block.laggards.on_asked(now, node), is_believed, "{from} {node}");
    }
}

#[test]
fn who_is_called_late_leaves_for_a_link_that_closes() {
    for late in [DATA, OTHER] {
        let mut world = founded(1);
        // Nobody has to leave for being late so soon after the start.
        for _ in 0..8 {
            world.say_late(if late == DATA { OTHER } else { DATA }, late, 0);
            world.run(250);
        }
        assert!(world.nodes.iter().all(|(_, node)| node.exit.is_none()));
        assert_eq!(world.cut(DATA, OTHER), [late]);
    }
}

#[test]
fn who_is_about_to_stop_leaves_for_a_link_that_closes() {
    let mut world = founded(1);
    world.step(DATA, LeaveStep::HandOver);
    assert_eq!(world.cut(DATA, OTHER), [DATA]);
    assert_eq!(founded(1).cut(DATA, OTHER), [OTHER], "else the higher one does");
}

#[test]
fn two_that_call_each_other_late_stay_until_a_watchdog_could_tell() {
    let mut world = founded(1);
    world.run(12_000);
    let mut told = (0..10_000).step_by(250).skip_while(|_| {
        world.say_late(DATA, OTHER, 0);
        world.say_late(OTHER, DATA, 0);
        world.run(250);
        [DATA, OTHER].iter().all(|id| world.node(*id).exit.is_none())
    });
    assert!(told.next().is_some_and(|when| (4_000..5_000).contains(&when)));
}

#[test]
fn who_leads_the_control_log_waits_for_its_return_too() {
    let mut world = founded(1);
    world.run(12_000);
    // The management node is gone: a data node leads, the lowest one.
    world.node(MANAGEMENT).exit = Some(0);
    for node in [DATA, OTHER, SQL] {
        world.input(node, |block, now, outputs| block.on_link_down(now, MANAGEMENT, outputs));
    }
    world.run(2_000);
    assert!(world.node(DATA).block.leads());
    let mut times = (0..5_000).step_by(250);
    let left = times.find(|_| {
        world.say_late(OTHER, DATA, 0);
        world.run(250);
        world.node(DATA).exit.is_some()
    });
    assert!(left.is_some());
    // The other one has no majority until it is back, and then it is the first to be elected.
    world.input(OTHER, |block, now, outputs| block.on_link_down(now, DATA, outputs));
    world.run(1_000);
    world.asleep = Some(OTHER);
    world.start_again(DATA);
    world.run(1_000);
    assert!(world.node(DATA).block.leads() && world.node(DATA).block.incarnation.is_some());
    world.asleep = None;
    for _ in 0..7 {
        assert!(!world.node(OTHER).block.view.is_member(DATA), "it is on probation");
        world.run(1_000);
    }
    assert!(world.node(OTHER).block.leads());
    world.run(4_000);
    assert!(world.node(OTHER).block.view.is_member(DATA), "it joins");
}
