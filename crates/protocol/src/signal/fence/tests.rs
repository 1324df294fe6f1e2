use super::{Fence, Verdict};
use crate::{Address, Envelope, ModuleKind, Signal};
use std::collections::BTreeSet;
use types::{Epoch, NodeId, SlotId, ViewNumber};

const ME: Address = Address::new(NodeId(1), ModuleKind::Ldm, 0);
const PEER: Address = Address::new(NodeId(2), ModuleKind::Ldm, 0);

fn strict() -> Signal {
    Signal::CopyApplied { slot: SlotId(1), differing: Vec::new() }
}

fn older() -> Signal {
    Signal::LastWordHeard
}

/// The verdict of a module in view 5 that leaves node 9 out.
fn verdict(signal: Signal, from: Address, view: u64) -> Verdict {
    let envelope = Envelope { from, to: ME, view: ViewNumber(view), epoch: Epoch(1), signal };
    envelope.verdict(ME, ViewNumber(5), |node| node == NodeId(9))
}

#[test]
fn each_fence_says_what_views_mean() {
    assert_eq!((strict().fence(), older().fence()), (Fence::Strict, Fence::Older));
    let all = |signal: fn() -> Signal| [4, 5, 6].map(|view| verdict(signal(), PEER, view));
    assert_eq!(all(strict), [Verdict::OldView, Verdict::Handle, Verdict::Early]);
    assert_eq!(all(older), [Verdict::Handle, Verdict::Handle, Verdict::Early]);
    assert_eq!(all(|| Signal::StandDown), [Verdict::Handle; 3]);
}

#[test]
fn nothing_is_begun_for_a_node_that_the_view_leaves_out() {
    let left_out = Address::new(NodeId(9), ModuleKind::Ldm, 0);
    assert_eq!([4, 5].map(|view| verdict(older(), left_out, view)), [Verdict::LeftOut; 2]);
    assert_eq!(verdict(older(), left_out, 6), Verdict::Early);
    assert_eq!(verdict(Signal::StandDown, left_out, 5), Verdict::Handle);
}

#[test]
fn a_module_hears_itself_in_any_view() {
    assert_eq!([4, 6].map(|view| verdict(strict(), ME, view)), [Verdict::Handle; 2]);
}

#[test]
fn a_signal_for_another_kind_is_refused_in_any_view() {
    assert_eq!([4, 5, 6].map(|view| verdict(Signal::Drained, PEER, view)), [Verdict::WrongKind; 3]);
}

#[test]
fn the_table_has_a_line_for_each_signal() {
    let names: BTreeSet<&str> = Signal::ALL.iter().map(|entry| entry.name).collect();
    assert_eq!(names.len(), Signal::ALL.len());
    let entry = Signal::ALL.iter().find(|entry| entry.name == strict().name()).expect("its line");
    assert_eq!((entry.to, entry.fence), ([ModuleKind::Ldm].as_slice(), strict().fence()));
}

#[test]
fn a_signal_knows_its_slot() {
    assert_eq!(strict().slot(), Some(SlotId(1)));
    assert_eq!(older().slot(), None);
}
