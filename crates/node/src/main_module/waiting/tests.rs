use super::super::{MainConfig, tests::view};
use super::*;
use crate::main_module::tests::config;
use protocol::{Envelope, Input, ModuleKind};
use stdx::Now;
use types::Epoch;

const ME: NodeId = NodeId(1);
const OTHER: NodeId = NodeId(2);
const MANAGER: NodeId = NodeId(9);
const LDM: Address = Address::new(ME, ModuleKind::Ldm, 0);

fn at(seconds: u64) -> Now {
    Now { monotonic: Instant(0) + Duration::from_secs(seconds), ..Now::default() }
}

/// A data node that has been started just now.
fn starting() -> MainModule {
    let members = vec![(ME, NodeRole::Data), (OTHER, NodeRole::Data), (MANAGER, NodeRole::Management)];
    let reporting = Reporting { version: "1".to_owned(), config: "aa".to_owned(), mysql_port: 3306, members };
    let mut main = MainModule::new(MainConfig {
        reporting: Some(reporting),
        ..config(ME, vec![Address::main(ME), LDM])
    });
    main.handle(at(0), Input::Start { seed: [0; 32] }, &mut Outputs::default());
    main
}

fn signal(main: &mut MainModule, now: Now, signal: Signal) -> Outputs<Shared> {
    let mut outputs = Outputs::default();
    let envelope = Envelope {
        from: Address::membership(ME),
        to: Address::main(ME),
        view: main.view.number,
        epoch: Epoch(0),
        signal,
    };
    main.on_signal(now, envelope, &mut outputs);
    outputs
}

/// The lines of its log at a moment.
fn lines(main: &mut MainModule, seconds: u64) -> Vec<String> {
    let mut outputs: Outputs<Shared> = Outputs::default();
    main.handle(at(seconds), Input::Deadline, &mut outputs);
    outputs.events.into_iter().map(|event| event.message).collect()
}

fn reports(outputs: &Outputs<Shared>) -> Vec<(NodeId, NodeReport)> {
    let report = |envelope: &Envelope| {
        let Signal::NodeReport(report) = &envelope.signal else { return None };
        Some((envelope.to.node, (**report).clone()))
    };
    outputs.signals.iter().filter_map(report).collect()
}

#[test]
fn a_node_that_waits_says_for_whom_each_ten_seconds() {
    let mut main = starting();
    assert_eq!(lines(&mut main, 9), [""; 0]);
    assert_eq!(
        lines(&mut main, 10),
        ["starting, 10 s: waits for a majority of voters to let it in; not connected: node 2, node 9"]
    );
    assert_eq!(lines(&mut main, 19), [""; 0]);
    let found = signal(&mut main, at(19), Signal::PeerFound { node: MANAGER });
    let told = reports(&found);
    assert_eq!((told.len(), told[0].0, told[0].1.serves, told[0].1.mysql_port), (1, MANAGER, false, 3306));
    assert!(told[0].1.waits.starts_with("a majority of voters"), "{told:?}");
    // No manager: nothing to tell.
    assert_eq!(reports(&signal(&mut main, at(19), Signal::PeerFound { node: OTHER })), []);
    assert_eq!(
        lines(&mut main, 20),
        [
            "starting, 20 s: waits for a majority of voters to let it in; all management and data nodes are connected"
        ]
    );
    signal(&mut main, at(21), Signal::JoinAccepted { incarnation: Incarnation(1) });
    signal(&mut main, at(21), Signal::PeerLost { node: OTHER, incarnation: Incarnation(0) });
    assert_eq!(
        lines(&mut main, 30),
        ["starting, 30 s: waits for the first view of the cluster; not connected: node 2"]
    );
    signal(&mut main, at(31), Signal::ViewInstall(view(1), None, None));
    assert_eq!(lines(&mut main, 40).last().unwrap(), "starting, 40 s: waits for links to data nodes: node 2");
}

#[test]
fn a_node_that_serves_is_silent_and_says_so_once() {
    let mut main = starting();
    signal(&mut main, at(1), Signal::PeerFound { node: MANAGER });
    main.is_open = true;
    let mut outputs = Outputs::default();
    main.report_state(&mut outputs);
    let told = reports(&outputs);
    assert_eq!((told.len(), told[0].1.serves, told[0].1.waits.as_str()), (1, true, ""));
    let mut outputs = Outputs::default();
    main.report_state(&mut outputs);
    assert_eq!(reports(&outputs), []);
    assert_eq!(lines(&mut main, 10), [""; 0]);
    assert_eq!(main.waiting.deadline(), None);
}
