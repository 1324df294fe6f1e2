//! Epochs are opened and closed by the main modules of data nodes, with one `ldm` and one log each. Their views change
//! one after the other, and the test holds their signals back or loses them.

use protocol::signal::Verdict;
use protocol::{Address, Envelope, ModuleKind, Outputs, Signal, View};
use std::collections::VecDeque;
use stdx::{Duration, Now};
use transaction::{EpochMember, EpochSignals};
use types::{Epoch, NodeId, RestartNumber, ViewNumber};

const BETWEEN_EPOCHS: Duration = Duration::from_millis(10);

struct Member {
    epochs: EpochMember,
    view: ViewNumber,
}

struct Mains {
    members: Vec<Member>,
    view: View,
    now: Now,
    queue: VecDeque<Envelope>,
    /// Signals that were delivered, but those for sessions.
    delivered: usize,
    /// The signals that sessions have heard.
    heard: Vec<(Address, Signal)>,
    /// Each node's log is flushed as soon as an epoch is whole, whether it is awaited or not.
    flushes: bool,
}

fn ldm(node: u16) -> Address {
    Address::new(NodeId(node), ModuleKind::Ldm, 0)
}

fn disk(node: u16) -> Address {
    Address::new(NodeId(node), ModuleKind::Disk, 0)
}

fn session(node: u16) -> Address {
    Address::new(NodeId(node), ModuleKind::Sql, 0)
}

impl Mains {
    /// So many in the first view, all restorable. It has closed its epoch.
    fn at_rest(count: u16) -> Self {
        let member = |id: u16| Member {
            epochs: EpochMember::new(NodeId(id), vec![ldm(id), disk(id)], BETWEEN_EPOCHS),
            view: ViewNumber(0),
        };
        let mut view = fixtures::replicas(count);
        let lives: Vec<_> = view.nodes.iter().map(|info| (info.node, info.incarnation)).collect();
        view.groups.iter_mut().for_each(|group| group.restorable.clone_from(&lives));
        let mut all = Self {
            members: (1..=count).map(member).collect(),
            view,
            now: Now::default(),
            queue: VecDeque::new(),
            delivered: 0,
            heard: Vec::new(),
            flushes: false,
        };
        (1..=count).for_each(|node| all.install(node));
        all.run();
        all
    }

    /// The same with logs that are flushed at once.
    fn with_logs(count: u16) -> Self {
        let mut all = Self::at_rest(count);
        all.flushes = true;
        all
    }

    fn member(&mut self, node: u16) -> &mut Member {
        &mut self.members[usize::from(node) - 1]
    }

    fn epochs(&self, node: u16) -> &EpochMember {
        &self.members[usize::from(node) - 1].epochs
    }

    /// The next view, of these data nodes in sync.
    fn next_view(&mut self, in_sync: &[u16]) {
        self.view.number = ViewNumber(self.view.number.0 + 1);
        for group in &mut self.view.groups {
            group.in_sync = in_sync.iter().copied().map(NodeId).collect();
        }
    }

    /// A member enters the newest view.
    fn install(&mut self, node: u16) {
        let (now, view) = (self.now, self.view.clone());
        let mut outputs: Outputs<()> = Outputs::default();
        let this = self.member(node);
        this.view = view.number;
        this.epochs.install(now, &view, &mut outputs);
        self.emit(node, outputs);
    }

    fn emit(&mut self, node: u16, outputs: Outputs<()>) {
        let view = self.member(node).view;
        self.queue.extend(outputs.signals.into_iter().map(|envelope| Envelope { view, ..envelope }));
    }

    /// A module of a node says something to its main.
    fn say(&mut self, from: Address, signal: Signal) {
        let view = self.member(from.node.0).view;
        let to = Address::main(from.node);
        self.queue.push_back(Envelope { view, ..Envelope::unstamped(from, to, signal) });
    }

    /// An `ldm` does at once what it is told; it has nothing undecided.
    fn answer(&mut self, ldm: Address, signal: &Signal) {
        match *signal {
            Signal::EpochOpen { epoch } => self.say(ldm, Signal::EpochDrained { epoch }),
            Signal::EpochClosed { epoch, .. } => {
                self.say(ldm, Signal::EpochWhole { epoch });
                if self.flushes {
                    self.say(disk(ldm.node.0), Signal::Flushed { epoch });
                }
            }
            ref other => panic!("{other:?}"),
        }
    }

    fn deliver(&mut self, envelope: Envelope) {
        if matches!(envelope.to.kind, ModuleKind::Sql | ModuleKind::Membership) {
            return self.heard.push((envelope.to, envelope.signal));
        }
        self.delivered += 1;
        let node = envelope.to.node.0;
        let installed = self.member(node).view;
        match envelope.verdict(envelope.to, installed, |_| false) {
            Verdict::Handle => {}
            Verdict::OldView => return,
            verdict => panic!("{verdict:?} of {envelope:?}"),
        }
        if envelope.to.kind == ModuleKind::Ldm {
            return self.answer(envelope.to, &envelope.signal);
        }
        if envelope.to.kind == ModuleKind::Disk {
            return;
        }
        let signal = EpochSignals::of(&envelope).expect("one of epochs");
        let (now, mut outputs) = (self.now, Outputs::default());
        self.member(node).epochs.on_signal::<()>(now, envelope.from, signal, &mut outputs);
        self.emit(node, outputs);
    }

    /// Delivers everything but this, and lets time pass until nobody has anything to do.
    fn run_but(&mut self, is_kept: impl Fn(&Envelope) -> bool) {
        let mut kept = VecDeque::new();
        for _ in 0..1_000 {
            while let Some(envelope) = self.queue.pop_front() {
                if is_kept(&envelope) {
                    kept.push_back(envelope);
                } else {
                    self.deliver(envelope);
                }
            }
            let due = self.members.iter().filter_map(|member| member.epochs.deadline()).min();
            let Some(due) = due else {
                self.queue = kept;
                return;
            };
            self.now.monotonic = due;
            for node in 1..=u16::try_from(self.members.len()).expect("few") {
                let (now, mut outputs) = (self.now, Outputs::default());
                self.member(node).epochs.on_deadline::<()>(now, &mut outputs);
                self.emit(node, outputs);
            }
        }
        panic!("they never come to rest");
    }

    fn run(&mut self) {
        self.run_but(|_| false);
    }

    /// An `ldm` stamps in the newest epoch that its node knows.
    fn stamp(&mut self, node: u16) -> Epoch {
        let epoch = self.epochs(node).open();
        let at_ns = self.now.monotonic.0;
        self.say(ldm(node), Signal::EpochStamped { epoch, at_ns });
        epoch
    }

    /// The log of a node has this on disk.
    fn flush(&mut self, node: u16, epoch: Epoch) {
        self.say(disk(node), Signal::Flushed { epoch });
        self.run();
    }

    fn whole(&self) -> Vec<Epoch> {
        self.members.iter().map(|member| member.epochs.whole()).collect()
    }

    fn durable(&self) -> Vec<Epoch> {
        self.members.iter().map(|member| member.epochs.durable()).collect()
    }

    /// The highest D that each session has heard.
    fn heard_durable(&mut self) -> Vec<(Address, Epoch)> {
        let durable = |(to, signal): (Address, Signal)| match signal {
            Signal::EpochDurable { durable, .. } => Some((to, durable)),
            _ => None,
        };
        std::mem::take(&mut self.heard).into_iter().filter_map(durable).collect()
    }

    /// The nodes whose membership has heard that their disk counts, in which view, and whether that is durable.
    fn heard_counted(&mut self) -> Vec<(u16, u64, bool)> {
        let counted = |(to, signal): (Address, Signal)| match signal {
            Signal::DiskCounted { view, is_durable } => Some((to.node.0, view.0, is_durable)),
            _ => None,
        };
        let heard = std::mem::take(&mut self.heard).into_iter().filter_map(counted);
        heard.collect::<std::collections::BTreeSet<_>>().into_iter().collect()
    }
}

fn is_closed_to(node: u16) -> impl Fn(&Envelope) -> bool {
    move |envelope| {
        envelope.to == Address::main(NodeId(node)) && matches!(envelope.signal, Signal::EpochClosed { .. })
    }
}

fn is_durable(envelope: &Envelope) -> bool {
    matches!(envelope.signal, Signal::EpochDurable { .. })
}

// ---- whole ----------------------------------------------------------------------------------------------------------

#[test]
fn what_was_stamped_is_closed_and_whole_and_then_it_is_quiet() {
    let mut all = Mains::at_rest(3);
    let before = all.delivered;
    all.run();
    assert_eq!(all.delivered, before, "nobody says anything of a cluster without commits");
    let epoch = all.stamp(3);
    all.run();
    assert!(all.whole().iter().all(|whole| *whole >= epoch), "{:?}", all.whole());
    // By an ldm and to the master: wanted. Of three nodes: opened, drained, closed (also to logs), whole at each ldm.
    assert_eq!(all.delivered - before, 2 + 3 * 2 + (3 + 2) + 2 + 3 + 3 * 2);
    let before = all.delivered;
    all.run();
    assert_eq!(all.delivered, before);
}

#[test]
pub(crate) fn a_view_closes_again_what_a_member_may_not_have_heard() {
    let mut all = Mains::at_rest(3);
    let epoch = all.stamp(2);
    all.run_but(is_closed_to(3));
    assert!(all.whole()[0] >= epoch && all.whole()[2] < epoch, "{:?}", all.whole());
    // Its word is lost with the master that said it.
    all.queue.clear();
    all.next_view(&[2, 3]);
    [2, 3].iter().for_each(|node| all.install(*node));
    all.run();
    assert!(all.whole()[2] >= epoch, "{:?}", all.whole());
}

#[test]
fn a_closed_epoch_stays_closed_in_a_newer_view() {
    let mut all = Mains::at_rest(2);
    let epoch = all.stamp(2);
    all.run_but(is_closed_to(2));
    all.next_view(&[1, 2]);
    all.install(2);
    // (Node 1 does not know of the view.)
    all.queue.retain(|envelope| envelope.to.node == NodeId(2));
    while let Some(envelope) = all.queue.pop_front() {
        all.deliver(envelope);
    }
    assert!(all.whole()[1] >= epoch);
}

// ---- durable --------------------------------------------------------------------------------------------------------

#[test]
pub(crate) fn an_epoch_is_durable_when_all_members_have_flushed_it() {
    let mut all = Mains::at_rest(3);
    let stamped_at = all.now.monotonic;
    let epoch = all.stamp(1);
    all.run();
    all.flush(1, epoch);
    all.flush(3, epoch);
    assert_eq!(all.durable(), [Epoch(0); 3], "node 2 may still lose it");
    // Each node knows since when there is something that a loss of power would take, whoever has stamped it.
    let since: Vec<_> = (1..=3).map(|node| all.epochs(node).exposed_since()).collect();
    assert_eq!(since, [Some(stamped_at); 3]);
    all.flush(2, epoch);
    assert_eq!(all.durable(), [epoch; 3]);
    let flushed: Vec<Epoch> = (1..=3).map(|node| all.epochs(node).flushed_by_all()).collect();
    assert_eq!(flushed, [epoch; 3]);
    assert_eq!(all.epochs(1).exposed_since(), None);
    let before = all.delivered;
    all.run();
    assert_eq!(all.delivered, before, "it is quiet");
}

#[test]
pub(crate) fn nothing_is_durable_without_a_restorable_member_of_each_group() {
    let mut all = Mains::with_logs(2);
    all.next_view(&[1, 2]);
    all.view.groups[1].restorable.clear();
    [1, 2].iter().for_each(|node| all.install(*node));
    all.run();
    let epoch = all.stamp(1);
    all.run();
    assert_eq!(all.durable(), [Epoch(0); 2]);
    assert!(all.epochs(1).flushed_by_all() >= epoch, "a manifest can be written by that");
    // Somebody waits, and nothing spins.
    all.say(session(2), Signal::DurableWanted { epoch });
    all.run();
    assert_eq!(all.heard_durable(), []);
    // A member becomes restorable by a view.
    all.next_view(&[1, 2]);
    let life = all.view.node(NodeId(2)).map(|info| info.incarnation);
    all.view.groups[1].restorable.extend(life.map(|life| (NodeId(2), life)));
    [1, 2].iter().for_each(|node| all.install(*node));
    all.run();
    assert!(all.durable().iter().all(|durable| *durable >= epoch), "{:?}", all.durable());
    assert!(matches!(all.heard_durable()[..], [(to, durable)] if to == session(2) && durable >= epoch));
}

#[test]
fn somebody_who_waits_hurries_the_next_epoch() {
    let mut all = Mains::with_logs(2);
    let epoch = all.stamp(2);
    let since = all.now.monotonic;
    all.say(session(2), Signal::DurableWanted { epoch });
    all.run();
    assert!(matches!(all.heard_durable()[..], [(to, durable)] if to == session(2) && durable >= epoch));
    assert!(all.now.monotonic < since + BETWEEN_EPOCHS, "it does not wait for the end of the epoch");
    // The next one comes at once, and waits for the end of the shortest epoch.
    let since = all.now.monotonic;
    let next = all.stamp(1);
    all.say(session(1), Signal::DurableWanted { epoch: next });
    all.run();
    assert!(matches!(all.heard_durable()[..], [(to, durable)] if to == session(1) && durable >= next));
    assert_eq!(all.now.monotonic, since + transaction::epochs::TIME_BETWEEN_EPOCHS_MIN);
    // An epoch that is durable is answered without anybody else.
    let before = all.delivered;
    all.say(session(2), Signal::DurableWanted { epoch });
    all.run();
    assert_eq!((all.heard_durable().len(), all.delivered - before), (1, 1));
}

#[test]
fn disks_hurry_when_somebody_waits() {
    let mut all = Mains::at_rest(2);
    let epoch = all.stamp(2);
    all.run();
    all.say(session(2), Signal::DurableWanted { epoch });
    let is_for_disk = |envelope: &Envelope| envelope.to.kind == ModuleKind::Disk;
    all.run_but(is_for_disk);
    let hurried: Vec<NodeId> = all.queue.iter().map(|envelope| envelope.to.node).collect();
    assert_eq!(hurried, [NodeId(1), NodeId(2)], "once each");
}

#[test]
fn those_who_wait_ask_again_in_each_view() {
    let mut all = Mains::with_logs(3);
    let epoch = all.stamp(3);
    all.say(session(3), Signal::DurableWanted { epoch });
    // The question is lost with the master.
    let is_for_first = |envelope: &Envelope| envelope.to == Address::main(NodeId(1));
    all.run_but(is_for_first);
    all.queue.clear();
    all.next_view(&[2, 3]);
    [2, 3].iter().for_each(|node| all.install(*node));
    all.run();
    assert!(matches!(all.heard_durable()[..], [(to, durable)] if to == session(3) && durable >= epoch));
}

#[test]
fn a_node_without_rows_asks_again_over_a_new_link() {
    let mut all = Mains::with_logs(3);
    all.next_view(&[1, 2]);
    (1..=3).for_each(|node| all.install(node));
    all.run();
    let epoch = all.stamp(2);
    all.run();
    all.say(session(3), Signal::DurableWanted { epoch });
    all.run_but(|envelope| is_durable(envelope) && envelope.to == Address::main(NodeId(3)));
    assert_eq!(all.queue.len(), 1, "the answer");
    all.queue.clear();
    let (now, mut outputs) = (all.now, Outputs::default());
    all.member(3).epochs.on_link_up::<()>(now, NodeId(1), &mut outputs);
    all.emit(3, outputs);
    all.run();
    assert!(matches!(all.heard_durable()[..], [(to, durable)] if to == session(3) && durable >= epoch));
}

#[test]
pub(crate) fn a_new_master_says_no_less_than_a_member_knows() {
    let mut all = Mains::at_rest(3);
    all.next_view(&[2, 3]);
    [2, 3].iter().for_each(|node| all.install(*node));
    all.run();
    let epoch = all.stamp(2);
    all.run();
    all.flush(2, epoch);
    all.flush(3, epoch);
    assert_eq!(all.durable()[1..], [epoch; 2]);
    // A node with a lower id has joined. Its log goes back further than the others know.
    all.next_view(&[1, 2, 3]);
    (1..=3).for_each(|node| all.install(node));
    all.run_but(is_durable);
    let before = Epoch(epoch.0 - 1);
    all.say(disk(1), Signal::Flushed { epoch: before });
    all.run_but(is_durable);
    assert_eq!(all.queue, [], "nothing is said of less");
    assert_eq!(all.epochs(1).flushed_by_all(), Epoch(0));
    all.flush(1, epoch);
    assert_eq!(all.durable(), [epoch; 3]);
}

#[test]
pub(crate) fn what_is_durable_after_a_restart_answers_nobody_from_before() {
    let mut all = Mains::at_rest(3);
    all.next_view(&[1, 2]);
    (1..=3).for_each(|node| all.install(node));
    all.run();
    let epoch = all.stamp(3);
    all.run();
    all.say(session(3), Signal::DurableWanted { epoch });
    all.run();
    // The data nodes have started again from their disks: that epoch may be cut off. Node 3 does not know.
    all.queue.clear();
    let (restart, durable) = (RestartNumber(1), Epoch(1 << 32));
    let signal = Signal::EpochDurable { restart, flushed: durable, durable };
    let view = all.view.number;
    let (from, to) = (Address::main(NodeId(1)), Address::main(NodeId(3)));
    all.queue.push_back(Envelope { view, ..Envelope::unstamped(from, to, signal) });
    all.run();
    assert_eq!(all.heard_durable(), []);
    assert_eq!(all.epochs(3).durable(), Epoch(0));
}

#[test]
fn a_restart_begins_without_anything_durable() {
    let mut all = Mains::with_logs(2);
    let epoch = all.stamp(1);
    all.run();
    assert!(all.durable().iter().all(|durable| *durable >= epoch));
    all.view.restart = all.view.restart.next(epoch);
    all.next_view(&[1, 2]);
    all.install(2);
    assert_eq!(all.epochs(2).durable(), Epoch(0));
    assert_eq!(all.epochs(2).open(), all.view.restart.first);
}

#[test]
fn membership_hears_of_what_this_disk_counts_for() {
    let mut all = Mains::with_logs(2);
    all.next_view(&[1, 2]);
    all.view.groups[1].restorable.clear();
    [1, 2].iter().for_each(|node| all.install(*node));
    all.run();
    assert_eq!(all.heard_counted(), [(1, 2, false), (2, 2, false)]);
    let lives: Vec<_> = all.view.nodes.iter().map(|info| (info.node, info.incarnation)).collect();
    all.view.groups[1].restorable = lives;
    all.next_view(&[1, 2]);
    [1, 2].iter().for_each(|node| all.install(*node));
    all.run();
    assert_eq!(all.heard_counted(), [(1, 3, true), (2, 3, true)]);
}

/// Node 3 has joined. Its log begins with an epoch that the others have not flushed yet: it cannot be brought to an
/// older one.
#[test]
pub(crate) fn a_disk_does_not_count_below_its_first_epoch() {
    let mut all = Mains::at_rest(3);
    all.next_view(&[1, 2]);
    [1, 2].iter().for_each(|node| all.install(*node));
    all.run();
    let before = all.stamp(1);
    all.run();
    all.flush(1, before);
    all.flush(2, before);
    all.next_view(&[1, 2, 3]);
    (1..=3).for_each(|node| all.install(node));
    all.run();
    let first = all.stamp(1);
    all.run();
    all.heard.clear();
    all.flush(3, first);
    let view = all.view.number.0;
    assert_eq!(all.epochs(3).flushed_by_all(), before, "that is what all have");
    assert_eq!(all.heard_counted(), [(1, view, true), (2, view, true)]);
    all.flush(1, first);
    all.flush(2, first);
    assert_eq!(all.heard_counted(), [(1, view, true), (2, view, true), (3, view, true)]);
}
