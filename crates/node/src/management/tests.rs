use super::{ClusterState, ConfiguredNode, Management, ManagementRequest};
use protocol::{
    Address, ConnectionId, NodeRole, Outputs, ReceiveBuffer, RequestToRuntime, Severity, Signal, View,
};
use query::Shared;
use types::NodeId;

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
    let cluster = ClusterState { view: &View::none(), voters: &[] };
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
    let (answer, outputs, _) = say(&mut management(), "shutdown SHOP");
    assert_eq!(answer, "shutdown requested\n.\n");
    let stopped = outputs.signals.iter().filter(|sent| matches!(sent.signal, Signal::StopNode { .. }));
    let stopped: Vec<NodeId> = stopped.map(|sent| sent.to.node).collect();
    assert_eq!(stopped, [NodeId(1), NodeId(2)]);
    assert!(matches!(outputs.requests.as_slice(), [RequestToRuntime::Exit(0)]));
    let recorded: Vec<_> =
        outputs.events.iter().map(|event| (event.severity, event.message.as_str())).collect();
    let what = "10.0.0.7:4711 has shut down cluster 'Shop', and typed its name: all rows are lost";
    assert_eq!(recorded, [(Severity::Warning, what)]);
}
