use super::super::MainConfig;
use super::*;
use crate::main_module::tests::config;
use crate::management::{ConfiguredNode, Management, StartCheck};
use protocol::{Envelope, Input, NodeRole};
use std::sync::Arc;
use stdx::Now;
use types::Epoch;

const MANAGER: NodeId = NodeId(1);
const DATA: NodeId = NodeId(2);
const CLIENT: ConnectionId = ConnectionId { slot: 7, generation: 1 };

fn at(seconds: u64) -> Now {
    Now { monotonic: Instant(0) + Duration::from_secs(seconds), ..Now::default() }
}

fn main_module(node: NodeId, start_check: Option<StartCheck>) -> MainModule {
    let management = (node == MANAGER).then(|| {
        let nodes = vec![ConfiguredNode { node: DATA, role: NodeRole::Data, host: String::new() }];
        Management::new(MANAGER, "shop".to_owned(), "1".to_owned(), "the text".to_owned(), nodes)
    });
    MainModule::new(MainConfig { management, start_check, ..config(node, vec![Address::main(node)]) })
}

fn give(main: &mut MainModule, from: NodeId, signal: Signal) -> Outputs<Shared> {
    let mut outputs = Outputs::default();
    let (from, to) = (Address::main(from), main.me());
    let envelope = Envelope { from, to, view: main.view.number, epoch: Epoch(0), signal };
    main.on_signal(at(1), envelope, &mut outputs);
    outputs
}

/// A management node that was asked to restart the data node; its question.
fn asked() -> (MainModule, Signal) {
    let mut main = main_module(MANAGER, None);
    let mut outputs = Outputs::default();
    main.now = at(0);
    main.request_stop(CLIENT, DATA, EXIT_LEFT_OUT, &mut outputs);
    assert_eq!(outputs.signals.len(), 1, "nothing stops yet");
    let question = outputs.signals.remove(0).signal;
    assert!(outputs.buffer(CLIENT).is_empty());
    (main, question)
}

fn answer(outputs: &mut Outputs<Shared>) -> String {
    String::from_utf8(std::mem::take(outputs.buffer(CLIENT))).unwrap()
}

fn stops(outputs: &Outputs<Shared>) -> usize {
    outputs.signals.iter().filter(|sent| matches!(sent.signal, Signal::StopNode { exit_code: 3, .. })).count()
}

#[test]
fn a_node_that_could_not_start_again_does_not_stop() {
    let (mut manager, question) = asked();
    let check = |text: &str| {
        assert_eq!(text, "the text");
        Err("there is no program at /opt/latsdb".to_owned())
    };
    let mut data = main_module(DATA, Some(StartCheck(Arc::new(check))));
    let mut said = give(&mut data, MANAGER, question);
    let mut told = give(&mut manager, DATA, said.signals.remove(0).signal);
    assert_eq!(stops(&told), 0);
    let expected =
        "ERROR: node 2 may not restart, it could not start again: there is no program at /opt/latsdb\n.\n";
    assert_eq!(answer(&mut told), expected);
}

#[test]
fn a_node_that_could_start_again_stops() {
    let (mut manager, question) = asked();
    let mut data = main_module(DATA, Some(StartCheck(Arc::new(|_| Ok(())))));
    let answered = give(&mut data, MANAGER, question).signals.remove(0).signal;
    let mut told = give(&mut manager, DATA, answered.clone());
    assert_eq!((stops(&told), answer(&mut told).as_str()), (1, "Node 2: restart requested\n.\n"));
    // Its answer counts once.
    assert_eq!(stops(&give(&mut manager, DATA, answered)), 0);
}

#[test]
fn who_does_not_answer_goes_on_and_so_does_the_operator() {
    let (mut manager, _) = asked();
    assert_eq!(manager.asked_deadline(), Some(at(4).monotonic));
    let mut outputs = Outputs::default();
    manager.handle(at(4), Input::Deadline, &mut outputs);
    let expected = "ERROR: node 2 may not restart: it does not say whether it could start again\n.\n";
    assert_eq!(answer(&mut outputs), expected);
    assert_eq!((stops(&outputs), manager.asked_deadline()), (0, None));
    // Nobody is stopped for an operator who has left.
    let (mut manager, question) = asked();
    let Signal::RestartCheck { request, .. } = question else { panic!("{question:?}") };
    manager.forget_asked(CLIENT);
    assert_eq!(stops(&give(&mut manager, DATA, Signal::RestartChecked { request, refusal: None })), 0);
}

#[test]
fn a_stop_needs_no_look_at_another_life() {
    let mut main = main_module(MANAGER, None);
    let mut outputs = Outputs::default();
    main.request_stop(CLIENT, DATA, 0, &mut outputs);
    assert!(matches!(outputs.signals[0].signal, Signal::StopNode { exit_code: 0, is_alone: true, .. }));
}
