use super::{ClusterState, ConfiguredNode, LINE_SIZE_MAX, Management, ManagementRequest, StartCheck};
use protocol::{
    Address, ConnectionAction, ConnectionId, NodeRole, Outputs, ReceiveBuffer, RequestToRuntime, Severity,
    Signal, View,
};
use query::Shared;
use std::collections::BTreeMap;
use std::sync::Arc;
use types::{Incarnation, NodeId};

const CLIENT: ConnectionId = ConnectionId { slot: 7, generation: 1 };

fn management() -> Management {
    let node = |id, role| ConfiguredNode { node: NodeId(id), role, host: "here".to_owned() };
    let nodes = vec![node(65, NodeRole::Management), node(1, NodeRole::Data), node(2, NodeRole::Data)];
    let mut management =
        Management::new(NodeId(65), "Shop".to_owned(), "1".to_owned(), "[ndbd]\n".to_owned(), nodes);
    management.welcome(CLIENT, "10.0.0.7:4711".to_owned());
    management
}

/// Says a line; the answer, and what else was done.
fn say(management: &mut Management, line: &str) -> (String, Outputs<Shared>, Vec<ManagementRequest>) {
    let mut buffer = ReceiveBuffer::default();
    buffer.tail().extend_from_slice(format!("{line}\n").as_bytes());
    let mut outputs = Outputs::default();
    let (losses, incarnation) = (BTreeMap::new(), Incarnation(1));
    let cluster = ClusterState { view: &View::none(), voters: &[], losses: &losses, incarnation };
    let me = Address::main(NodeId(65));
    let requests = management.on_bytes(me, CLIENT, &mut buffer, &cluster, &mut outputs);
    let answer = String::from_utf8(std::mem::take(outputs.buffer(CLIENT))).unwrap();
    (answer, outputs, requests)
}

#[test]
fn what_loses_all_rows_wants_the_name_of_the_cluster() {
    let mut management = management();
    for line in ["shutdown", "SHUTDOWN", "shutdown now", "shutdown shop now", "shutdown bookshop"] {
        let (answer, outputs, _) = say(&mut management, line);
        assert!(answer.starts_with("ERROR: shutdown stops all nodes, and all rows are lost"), "{answer}");
        assert!(answer.contains("shutdown Shop\n"), "{answer}");
        assert!(outputs.signals.is_empty() && outputs.requests.is_empty() && outputs.events.is_empty());
    }
}

#[test]
fn who_types_the_name_is_obeyed_and_recorded() {
    let mut management = management();
    management.set_up(NodeId(1), true);
    let (answer, outputs, _) = say(&mut management, "shutdown SHOP");
    assert_eq!(answer, "shutdown requested\nnot connected, and not stopped if it runs: node 2\n.\n");
    let stopped = outputs.signals.iter().filter(|sent| matches!(sent.signal, Signal::StopNode { .. }));
    let stopped: Vec<NodeId> = stopped.map(|sent| sent.to.node).collect();
    assert_eq!(stopped, [NodeId(1), NodeId(2)]);
    assert!(matches!(outputs.requests.as_slice(), [RequestToRuntime::Exit(0)]));
    let recorded: Vec<_> =
        outputs.events.iter().map(|event| (event.severity, event.message.as_str())).collect();
    let what = "10.0.0.7:4711 has shut down cluster 'Shop', and typed its name: all rows are lost";
    assert_eq!(recorded, [(Severity::Warning, what)]);
}

#[test]
fn the_beginning_of_a_line_that_is_too_long_is_no_request() {
    let line = format!("shutdown shop{}", " ".repeat(LINE_SIZE_MAX));
    let (answer, outputs, requests) = say(&mut management(), &line);
    assert_eq!(answer, "");
    assert!(requests.is_empty() && outputs.requests.is_empty() && outputs.signals.is_empty());
    assert_eq!(outputs.actions.as_slice(), [(CLIENT, ConnectionAction::Close)]);
}

#[test]
fn what_stops_too_much_is_refused() {
    let mut management = management();
    management.set_up(NodeId(1), true);
    for (line, answer) in [
        ("2 restart", "ERROR: node 2 may not restart: it is not connected\n.\n"),
        ("7 stop", "ERROR: no node 7 in config.ini\n.\n"),
        (
            "1 restart -i",
            "ERROR: -i is not supported: a node that stops hands its partitions over, and has no rows when it starts\n.\n",
        ),
    ] {
        let (said, outputs, requests) = say(&mut management, line);
        assert_eq!(said, answer);
        assert!(requests.is_empty() && outputs.signals.is_empty());
    }
    for line in ["all stop", "all restart", "rolling restart"] {
        let (said, outputs, requests) = say(&mut management, line);
        assert!(said.starts_with("ERROR: "), "{said}");
        assert!(requests.is_empty() && outputs.signals.is_empty());
    }
}

#[test]
fn a_management_node_that_could_not_start_again_does_not_stop_for_it() {
    let mut management = management()
        .with_start_check(Some(StartCheck(Arc::new(|| Err("config.ini:3: unknown parameter".to_owned())))));
    management.set_up(NodeId(1), true);
    let (said, outputs, requests) = say(&mut management, "65 restart");
    assert_eq!(
        said,
        "ERROR: node 65 may not restart, it could not start again: config.ini:3: unknown parameter\n.\n"
    );
    assert!(requests.is_empty() && outputs.requests.is_empty());
    // Others don't read the file, and who is not to start again needs none.
    assert_eq!(say(&mut management, "1 restart").2.len(), 1);
    assert_eq!(say(&mut management, "65 stop").2.len(), 1);
}

#[test]
fn one_node_is_stopped_or_started_again() {
    let mut management = management();
    management.set_up(NodeId(1), true);
    let requested = |node, exit_code| ManagementRequest::Stop { node: NodeId(node), exit_code };
    assert_eq!(say(&mut management, "1 stop").2, [requested(1, 0)]);
    assert_eq!(say(&mut management, "1 RESTART").2, [requested(1, 3)]);
    // Itself, too.
    assert_eq!(say(&mut management, "65 restart").2, [requested(65, 3)]);
}
