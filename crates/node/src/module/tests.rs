//! A signal that a module refuses is counted under its name in ndbinfo.counters, and changes nothing.

use super::{EPOCHS_AHEAD_MAX, NodeModule};
use protocol::signal::InfoTable;
use protocol::{Address, Budget, Envelope, Module, ModuleKind, Outputs, RestartPoint, Signal, View};
use query::{NodeMap, Shared};
use std::sync::Arc;
use stdx::Now;
use transaction::{MARKER_TIME, Tc};
use types::{Epoch, Incarnation, NodeId, SlotId, TransactionId, ViewNumber};

const ME: Address = Address::new(NodeId(1), ModuleKind::Tc, 0);
const PEER: Address = Address::new(NodeId(2), ModuleKind::Main, 0);

fn view(number: u64) -> View {
    View { number: ViewNumber(number), ..fixtures::replicas(2) }
}

fn empty() -> NodeMap {
    NodeMap::empty(NodeId(1), Arc::new(catalogue::bootstrap()))
}

/// A coordinator that uses a view.
fn module(view: View) -> NodeModule {
    let mut module = NodeModule::tc(ME, Tc::new(ME, Arc::new(empty()), MARKER_TIME));
    let map = empty().with(Incarnation(1), Arc::new(view), Arc::new(catalogue::bootstrap()), &[]);
    let shared = Shared::Map(Arc::new(map));
    let from = Address::main(NodeId(1));
    let input = protocol::Input::Shared { from, shared };
    module.handle(Now::default(), input, &mut Budget::of(1), &mut Outputs::default());
    module
}

/// Gives the module a signal of a peer; the counters that moved.
fn refused(module: &mut NodeModule, view: u64, epoch: Epoch) -> Vec<(&'static str, u64)> {
    let signal = Signal::OutcomeRecorded { transaction: TransactionId(1), slot: SlotId(0) };
    refused_of(module, view, epoch, signal)
}

fn refused_of(module: &mut NodeModule, view: u64, epoch: Epoch, signal: Signal) -> Vec<(&'static str, u64)> {
    let before = module.counts();
    let envelope = Envelope { from: PEER, to: ME, view: ViewNumber(view), epoch, signal };
    let mut outputs = Outputs::default();
    let input = protocol::Input::Signal(envelope);
    module.handle(Now::default(), input, &mut Budget::of(1), &mut outputs);
    assert!(outputs.signals.is_empty() && outputs.requests.is_empty());
    let moved = module.counts().into_iter().zip(before);
    moved.filter(|(after, before)| after != before).map(|(after, _)| after).collect()
}

#[test]
fn what_is_in_order_is_not_counted() {
    assert_eq!(refused(&mut module(view(3)), 3, Epoch(1)), []);
}

#[test]
fn signals_of_an_older_view_are_counted() {
    let mut module = module(view(3));
    assert_eq!(refused(&mut module, 2, Epoch(1)), [("SIGNALS_OF_OLD_VIEWS", 1)]);
    assert_eq!(refused(&mut module, 2, Epoch(1)), [("SIGNALS_OF_OLD_VIEWS", 2)]);
}

#[test]
pub(crate) fn signals_of_a_node_that_the_view_leaves_out_are_counted() {
    let mut left = view(3);
    for group in &mut left.groups {
        group.in_sync.retain(|node| *node != PEER.node);
    }
    assert_eq!(refused(&mut module(left), 3, Epoch(1)), [("SIGNALS_OF_LEFT_OUT_NODES", 1)]);
}

#[test]
fn signals_of_impossible_epochs_are_counted_and_nobody_adopts_them() {
    let mut module = module(view(3));
    let ahead = Epoch(EPOCHS_AHEAD_MAX + 2);
    assert_eq!(refused(&mut module, 3, ahead), [("SIGNALS_OF_IMPOSSIBLE_EPOCHS", 1)]);
    assert_eq!(module.epoch, Epoch(1));
}

/// A management node begins with the view in its control log, and may hear from nodes that have restarted since before
/// it has their view. It would keep what they had said before.
#[test]
fn a_node_hears_those_that_have_restarted_before_it_has_their_view() {
    let before = RestartPoint::FOUNDING.next(Epoch(5_000));
    let mut module = module(View { restart: before, ..view(3) });
    let mut restart = before;
    for _ in 0..10 {
        restart = restart.next(Epoch(restart.first.0 + 1_000_000));
    }
    assert_eq!(refused(&mut module, 3, Epoch(restart.first.0 + 7)), []);
    assert_eq!(module.epoch, Epoch(restart.first.0 + 7));
}

/// The epoch with which a module's signals leave.
fn said_by(module: &mut NodeModule) -> Epoch {
    let request = protocol::signal::RequestId(1);
    let signal = Signal::InfoRequest { request, table: InfoTable::Counters };
    let (from, view) = (Address::main(NodeId(1)), module.view);
    let envelope = Envelope { from, to: module.address(), view, epoch: Epoch(0), signal };
    let mut outputs = Outputs::default();
    let input = protocol::Input::Signal(envelope);
    module.handle(Now::default(), input, &mut Budget::of(1), &mut outputs);
    outputs.signals[0].epoch
}

#[test]
pub(crate) fn what_one_module_hears_of_epochs_all_of_its_node_say() {
    let epoch = Arc::default();
    let mut hearing = module(view(3)).with_epoch(&epoch);
    let mut reading = module(view(3)).with_epoch(&epoch);
    assert_eq!(refused(&mut hearing, 3, Epoch(9)), []);
    // A session reads rows where another module has published them, and writes then.
    assert_eq!(said_by(&mut reading), Epoch(9));
    assert_eq!(refused(&mut reading, 3, Epoch(4)), []);
    assert_eq!((said_by(&mut reading), said_by(&mut hearing)), (Epoch(9), Epoch(9)));
}

#[test]
fn a_node_that_starts_takes_the_epoch_that_comes_with_its_first_view() {
    let far = |years: u64| Epoch(EPOCHS_AHEAD_MAX * years + 7);
    let epoch = Arc::default();
    let mut tc = NodeModule::tc(ME, Tc::new(ME, Arc::new(empty()), MARKER_TIME)).with_epoch(&epoch);
    let me = Address::main(NodeId(1));
    let mut main = NodeModule::main(me, crate::main_module::tests::starting()).with_epoch(&epoch);
    let mut tell = |from, epoch, signal| {
        let envelope = Envelope { from, to: me, view: ViewNumber(0), epoch, signal };
        let input = protocol::Input::Signal(envelope);
        main.handle(Now::default(), input, &mut Budget::of(1), &mut Outputs::default());
    };
    // This brings no view. It is heard all the same.
    tell(PEER, far(5), Signal::PeerFound { node: PEER.node });
    assert_eq!(said_by(&mut tc), Epoch(1));
    tell(Address::membership(NodeId(1)), far(3), Signal::ViewInstall(Arc::new(view(3)), None, None));
    assert_eq!(said_by(&mut tc), far(3));
    // Now it is in a view.
    let map = empty().with(Incarnation(1), Arc::new(view(3)), Arc::new(catalogue::bootstrap()), &[]);
    let input = protocol::Input::Shared { from: me, shared: Shared::Map(Arc::new(map)) };
    tc.handle(Now::default(), input, &mut Budget::of(1), &mut Outputs::default());
    assert_eq!(refused(&mut tc, 3, far(5)), [("SIGNALS_OF_IMPOSSIBLE_EPOCHS", 1)]);
    assert_eq!(refused(&mut tc, 3, Epoch(far(3).0 + 1)), []);
    assert_eq!(said_by(&mut tc), Epoch(far(3).0 + 1));
}

#[test]
fn signals_for_another_kind_of_module_are_counted_and_their_epoch_is_not_adopted() {
    let mut module = module(view(3));
    let signal = Signal::ViewSettled { view: ViewNumber(3) };
    assert_eq!(refused_of(&mut module, 3, Epoch(7), signal), [("SIGNALS_OF_WRONG_KIND", 1)]);
    assert_eq!(module.epoch, Epoch(1));
}

#[test]
fn signals_of_a_newer_view_wait_and_are_counted_when_too_many_do() {
    let mut module = module(view(3));
    module.early_max = 2;
    assert_eq!(refused(&mut module, 4, Epoch(1)), []);
    assert_eq!(refused(&mut module, 4, Epoch(1)), []);
    assert_eq!(module.early.len(), 2);
    let before = module.early.len();
    let envelope = Envelope {
        from: PEER,
        to: ME,
        view: ViewNumber(4),
        epoch: Epoch(1),
        signal: Signal::OutcomeRecorded { transaction: TransactionId(1), slot: SlotId(0) },
    };
    let mut outputs = Outputs::default();
    let input = protocol::Input::Signal(envelope);
    module.handle(Now::default(), input, &mut Budget::of(1), &mut outputs);
    assert_eq!(module.early.len(), before);
    assert!(module.counts().contains(&("SIGNALS_TOO_EARLY", 1)));
    assert_eq!(outputs.events.len(), 1, "an operator hears of it");
}
