//! Epochs are opened and closed by the main modules of data nodes, with one `ldm` each. Their views change one after
//! the other, and the test holds their signals back or loses them.

use protocol::signal::Verdict;
use protocol::{Address, Envelope, ModuleKind, Outputs, Signal};
use std::collections::VecDeque;
use stdx::{Duration, Now};
use transaction::{EpochMember, EpochSignals};
use types::{Epoch, NodeId, ViewNumber};

const BETWEEN_EPOCHS: Duration = Duration::from_millis(10);

struct Member {
    epochs: EpochMember,
    view: ViewNumber,
}

struct Mains {
    members: Vec<Member>,
    view: ViewNumber,
    now: Now,
    queue: VecDeque<Envelope>,
    /// Signals that were delivered.
    delivered: usize,
}

fn ldm(node: NodeId) -> Address {
    Address::new(node, ModuleKind::Ldm, 0)
}

fn ids(nodes: &[u16]) -> Vec<NodeId> {
    nodes.iter().copied().map(NodeId).collect()
}

impl Mains {
    /// So many, in no view yet.
    fn new(count: u16) -> Self {
        let member = |id: u16| Member {
            epochs: EpochMember::new(NodeId(id), vec![ldm(NodeId(id))], BETWEEN_EPOCHS),
            view: ViewNumber(0),
        };
        Self {
            members: (1..=count).map(member).collect(),
            view: ViewNumber(0),
            now: Now::default(),
            queue: VecDeque::new(),
            delivered: 0,
        }
    }

    /// All of them in the first view, which has closed its epoch.
    fn at_rest(count: u16) -> Self {
        let mut all = Self::new(count);
        let nodes: Vec<u16> = (1..=count).collect();
        all.view = ViewNumber(1);
        nodes.iter().for_each(|node| all.install(*node, &nodes));
        all.run();
        all
    }

    fn member(&mut self, node: u16) -> &mut Member {
        &mut self.members[usize::from(node) - 1]
    }

    /// A member enters the newest view, of these data nodes.
    fn install(&mut self, node: u16, data_nodes: &[u16]) {
        let (now, view) = (self.now, self.view);
        let mut outputs: Outputs<()> = Outputs::default();
        let this = self.member(node);
        this.view = view;
        this.epochs.install(now, ids(data_nodes), ids(data_nodes).into_iter().min(), &mut outputs);
        self.emit(node, outputs);
    }

    fn emit(&mut self, node: u16, outputs: Outputs<()>) {
        let view = self.member(node).view;
        self.queue.extend(outputs.signals.into_iter().map(|envelope| Envelope { view, ..envelope }));
    }

    /// An `ldm` does at once what it is told; it has nothing undecided.
    fn answer(&mut self, envelope: &Envelope) {
        let answer = match envelope.signal {
            Signal::EpochOpen { epoch } => Signal::EpochDrained { epoch },
            Signal::EpochClosed { epoch } => Signal::EpochWhole { epoch },
            ref other => panic!("{other:?}"),
        };
        let (from, to) = (envelope.to, envelope.from);
        self.queue.push_back(Envelope { view: envelope.view, ..Envelope::unstamped(from, to, answer) });
    }

    fn deliver(&mut self, envelope: Envelope) {
        self.delivered += 1;
        let node = envelope.to.node.0;
        let installed = self.member(node).view;
        match envelope.verdict(envelope.to, installed, |_| false) {
            Verdict::Handle => {}
            Verdict::OldView => return,
            verdict => panic!("{verdict:?} of {envelope:?}"),
        }
        if envelope.to.kind == ModuleKind::Ldm {
            return self.answer(&envelope);
        }
        let signal = match envelope.signal {
            Signal::EpochWanted { epoch } => EpochSignals::Wanted(epoch),
            Signal::EpochOpen { epoch } => EpochSignals::Open(epoch),
            Signal::EpochDrained { epoch } => EpochSignals::Drained(epoch),
            Signal::EpochClosed { epoch } => EpochSignals::Closed(epoch),
            Signal::EpochWhole { epoch } => EpochSignals::Whole(epoch),
            other => panic!("{other:?}"),
        };
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

    /// An `ldm` has stamped in the newest epoch that its node knows.
    fn stamp(&mut self, node: u16) -> Epoch {
        let (now, mut outputs) = (self.now, Outputs::default());
        let this = self.member(node);
        let epoch = this.epochs.open();
        this.epochs.on_signal::<()>(now, ldm(NodeId(node)), EpochSignals::Wanted(epoch), &mut outputs);
        self.emit(node, outputs);
        epoch
    }

    fn whole(&self) -> Vec<Epoch> {
        self.members.iter().map(|member| member.epochs.whole()).collect()
    }
}

fn is_closed_to(node: u16) -> impl Fn(&Envelope) -> bool {
    move |envelope| {
        envelope.to == Address::main(NodeId(node)) && matches!(envelope.signal, Signal::EpochClosed { .. })
    }
}

#[test]
fn what_was_stamped_is_closed_and_whole_and_then_it_is_quiet() {
    let mut all = Mains::at_rest(3);
    let before = all.delivered;
    all.run();
    assert_eq!(all.delivered, before, "nobody says anything of a cluster without commits");
    let epoch = all.stamp(3);
    all.run();
    assert!(all.whole().iter().all(|whole| *whole >= epoch), "{:?}", all.whole());
    // Wanted and told to the master; opened, drained, closed, and whole at each ldm.
    assert_eq!(all.delivered - before, 1 + 3 * 2 + (3 + 2) + 2 + 3 * 2);
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
    all.view = ViewNumber(2);
    [2, 3].iter().for_each(|node| all.install(*node, &[2, 3]));
    all.run();
    assert!(all.whole()[2] >= epoch, "{:?}", all.whole());
}

#[test]
fn a_closed_epoch_stays_closed_in_a_newer_view() {
    let mut all = Mains::at_rest(2);
    let epoch = all.stamp(2);
    all.run_but(is_closed_to(2));
    all.view = ViewNumber(2);
    all.install(2, &[1, 2]);
    // (Node 1 does not know of the view.)
    all.queue.retain(|envelope| envelope.to.node == NodeId(2));
    while let Some(envelope) = all.queue.pop_front() {
        all.deliver(envelope);
    }
    assert!(all.whole()[1] >= epoch);
}
