use super::super::MainModule;
use super::ANSWER_PATIENCE;
use crate::main_module::tests::config;
use protocol::signal::{InfoTable, RequestId};
use protocol::{Address, ConnectionId, Envelope, Input, Outputs, Signal};
use query::Shared;
use stdx::Now;
use types::{Epoch, NodeId, Value, ViewNumber};

const MANAGER: NodeId = NodeId(65);
const CLIENT: ConnectionId = ConnectionId { slot: 1, generation: 1 };

fn manager() -> MainModule {
    let mut main = MainModule::new(config(MANAGER, vec![Address::main(MANAGER)]));
    main.reach.found = vec![NodeId(1), NodeId(2)];
    main
}

/// Asks for all three nodes; the requests.
fn ask(main: &mut MainModule) -> (Vec<(NodeId, RequestId)>, String) {
    let mut outputs: Outputs<Shared> = Outputs::default();
    main.ask_for_memory(CLIENT, &[1, 2, 3].map(NodeId), &mut outputs);
    let request = |envelope: &Envelope| {
        let Signal::InfoRequest { request, table: InfoTable::MemoryUsage } = envelope.signal else {
            panic!("{envelope:?}")
        };
        (envelope.to.node, request)
    };
    (outputs.signals.iter().map(request).collect(), told(&mut outputs))
}

fn told(outputs: &mut Outputs<Shared>) -> String {
    String::from_utf8(std::mem::take(outputs.buffer(CLIENT))).expect("a text")
}

fn answer(main: &mut MainModule, (from, request): (NodeId, RequestId), rows: Vec<Vec<Value>>) -> String {
    let mut outputs: Outputs<Shared> = Outputs::default();
    let signal = Signal::InfoDone { request, rows };
    let (from, to) = (Address::main(from), Address::main(MANAGER));
    let envelope = Envelope { from, to, view: ViewNumber(0), epoch: Epoch(0), signal };
    main.on_signal(Now::default(), envelope, &mut outputs);
    told(&mut outputs)
}

fn row(used: u64, total: u64) -> Vec<Vec<Value>> {
    let mut row = vec![Value::UInt(1), Value::text("Data memory")];
    row.extend([used * 32768, used, total * 32768, total].map(Value::UInt));
    vec![row]
}

#[test]
fn memory_is_told_when_all_have_answered() {
    let mut main = manager();
    let (requests, text) = ask(&mut main);
    assert_eq!(requests.iter().map(|(node, _)| node.0).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(text, "");
    // Another node's answer, and one of a newer question, are none.
    assert_eq!(answer(&mut main, (NodeId(2), requests[0].1), row(1, 2)), "");
    assert_eq!(answer(&mut main, requests[1], row(43, 800)), "");
    let text = answer(&mut main, requests[0], row(0, 0));
    let lines = "Node 1: Data usage is 0%(0 32K pages of total 0)\n\
                 Node 2: Data usage is 5%(43 32K pages of total 800)\nNode 3: not connected\n.\n";
    assert_eq!(text, lines);
    assert_eq!(main.memory_report_deadline(), None);
}

#[test]
fn nobody_waits_for_a_node_that_is_late() {
    let mut main = manager();
    let (requests, _) = ask(&mut main);
    answer(&mut main, requests[0], vec![vec![Value::text("nonsense")]]);
    let mut outputs: Outputs<Shared> = Outputs::default();
    let now = Now { monotonic: Now::default().monotonic + ANSWER_PATIENCE, ..Now::default() };
    assert_eq!(main.memory_report_deadline(), Some(now.monotonic));
    main.handle(now, Input::Deadline, &mut outputs);
    let lines = "Node 1: it has told nothing\nNode 2: it does not answer\nNode 3: not connected\n.\n";
    assert_eq!(told(&mut outputs), lines);
    // A client that has gone is told nothing.
    ask(&mut main);
    main.forget_memory_report(CLIENT);
    assert_eq!(main.memory_report_deadline(), None);
}
