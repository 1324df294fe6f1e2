//! Replicas that are reported for late answers: those that do not answer, not those that work.

use super::nodes::{Nodes, SESSION, ldm};
use memory::Urgency;
use protocol::signal::WriteRequest;
use protocol::{Envelope, Signal};
use stdx::Duration;
use types::{Epoch, NodeId};

/// More than is done in a slice.
const MANY: usize = 12;
/// Long enough for everybody who owes something to be reported.
const LONG: Duration = Duration::from_secs(5);

fn is_probe_to(node: u16) -> impl Fn(&Envelope) -> bool {
    move |envelope| matches!(envelope.signal, Signal::LagProbe { .. }) && envelope.to == ldm(node)
}

fn is_continue_of(node: u16) -> impl Fn(&Envelope) -> bool {
    move |envelope| matches!(envelope.signal, Signal::Continue(_)) && envelope.to == ldm(node)
}

/// The nodes that were reported.
fn reported(heard: &[Signal]) -> Vec<NodeId> {
    let mut nodes: Vec<NodeId> = Vec::new();
    for signal in heard {
        if let Signal::ReplicaLags { node, .. } = signal
            && !nodes.contains(node)
        {
            nodes.push(*node);
        }
    }
    nodes
}

#[test]
fn a_primary_that_undoes_before_it_hands_over_is_not_late() {
    let mut all = Nodes::new(2);
    let ids = all.ids[..MANY].to_vec();
    all.stage(1, &ids);
    let abort = all.abort(1);
    all.send(SESSION, ldm(1), abort);
    all.run_but(is_continue_of(1));
    all.hand_over_to(2);
    all.install_at(&[1, 2]);
    let heard = all.pass(LONG, is_continue_of(1));
    assert!(all.queue.iter().any(is_continue_of(1)), "node 1 undoes in slices");
    assert_eq!(reported(&heard), [], "it answers");
    // If it does not answer any more, it is late.
    let heard = all.pass(LONG, |envelope| is_continue_of(1)(envelope) || is_probe_to(1)(envelope));
    assert_eq!(reported(&heard), [NodeId(1)]);
    assert_eq!(reported(&all.run()), []);
    all.assert_committed(&ids, &[]);
}

/// Node 3 has no room for what transaction 1 commits; nodes 1 and 2 have.
fn refused_by_the_third() -> Nodes {
    let mut all = Nodes::new(3);
    all.fill_memory(3, Urgency::Replica);
    let small = all.ids[..MANY].iter().map(|id| all.put(*id, 10));
    let operations = small.chain([all.put(all.ids[MANY], 1 << 20)]).collect();
    let staged = WriteRequest { operations, ..all.write(1, &[]) };
    all.ask(1, Signal::Write(Box::new(staged)));
    let commit = all.commit(1, u32::try_from(MANY + 1).expect("few"));
    all.send(SESSION, ldm(1), commit);
    all
}

#[test]
fn a_backup_that_undoes_what_another_one_refused_is_not_late() {
    let mut all = refused_by_the_third();
    let heard = all.pass(LONG, is_continue_of(2));
    assert!(all.queue.iter().any(is_continue_of(2)), "node 2 undoes in slices");
    assert_eq!(reported(&heard), []);
    // A replica that does not apply commits meanwhile is late, though it answers.
    let row = all.ids[MANY + 1];
    let staged = WriteRequest { commit: Some(Epoch(0)), ..all.write(2, &[row]) };
    all.send(SESSION, ldm(1), Signal::Write(Box::new(staged)));
    let is_lost =
        |envelope: &Envelope| matches!(envelope.signal, Signal::Replicate(_)) && envelope.to == ldm(2);
    let heard = all.pass(LONG, |envelope| is_continue_of(2)(envelope) || is_lost(envelope));
    assert_eq!(reported(&heard), [NodeId(2)]);
    all.run();
    all.assert_committed(&all.ids[..MANY + 2], &[row]);
}

#[test]
fn who_has_not_entered_the_view_is_late() {
    let mut all = Nodes::new(2);
    all.hand_over_to(2);
    // It is the last that node 2 hears for long.
    all.install(2);
    let heard = all.pass(LONG, |_| false);
    assert!(reported(&heard).contains(&NodeId(1)), "{heard:?}");
    let row = all.ids[0];
    all.install(1);
    all.run();
    let staged = WriteRequest { commit: Some(Epoch(0)), ..all.write(2, &[row]) };
    all.ask(2, Signal::Write(Box::new(staged)));
    all.assert_committed(&[row], &[row]);
}

#[test]
fn who_answers_nothing_is_reported_though_views_come_fast() {
    let mut all = Nodes::new(3);
    let mut counts = Vec::new();
    for _ in 0..12 {
        let heard = all.pass(Duration::from_secs(1), is_probe_to(2));
        assert!(reported(&heard).iter().all(|node| *node == NodeId(2)), "{heard:?}");
        counts.push(heard.iter().filter(|signal| matches!(signal, Signal::ReplicaLags { .. })).count());
        // The same once more.
        all.hand_over_to(1);
        all.install_at(&[1, 2, 3]);
    }
    // By nodes 1 and 3, at each look: what came with pauses would begin anew each time.
    assert_eq!(counts[..3], [0; 3]);
    assert_eq!(counts[7..], [8; 5], "{counts:?}");
}
