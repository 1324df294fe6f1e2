use crate::main_module::MainModule;
use crate::main_module::tests::config;
use protocol::module::EXIT_LEFT_OUT;
use protocol::{Address, Envelope, Input, ModuleKind, Outputs, RequestToRuntime, Signal};
use query::Shared;
use stdx::Now;
use types::{Epoch, NodeId, ViewNumber};

const ME: NodeId = NodeId(9);
const SESSIONS: Address = Address::new(ME, ModuleKind::Sql, 0);

/// A node that serves clients and holds no rows.
fn serving() -> MainModule {
    let mut main = MainModule::new(config(ME, vec![Address::main(ME), SESSIONS]));
    main.is_open = true;
    main
}

/// An operator at a management node.
fn ask(main: &mut MainModule, exit_code: u8) -> Outputs<Shared> {
    let signal = Signal::StopNode { reason: "asked".to_owned(), exit_code, is_alone: true };
    take(main, Address::main(NodeId(1)), signal)
}

fn take(main: &mut MainModule, from: Address, signal: Signal) -> Outputs<Shared> {
    let mut outputs = Outputs::default();
    let to = Address::main(ME);
    let envelope = Envelope { from, to, view: ViewNumber(0), epoch: Epoch(0), signal };
    main.on_signal(Now::default(), envelope, &mut outputs);
    outputs
}

/// SIGTERM.
fn end(main: &mut MainModule) -> Outputs<Shared> {
    let mut outputs = Outputs::default();
    main.handle(Now::default(), Input::StopRequested, &mut outputs);
    outputs
}

/// How it ends when its sessions have ended.
fn exit_code(main: &mut MainModule) -> u8 {
    let outputs = take(main, SESSIONS, Signal::Drained);
    match outputs.requests.as_slice() {
        [RequestToRuntime::Exit(code)] => *code,
        other => panic!("{other:?}"),
    }
}

#[test]
fn sigterm_during_a_restart_is_as_orderly_and_the_node_stays_away() {
    let mut main = serving();
    assert!(ask(&mut main, EXIT_LEFT_OUT).requests.is_empty());
    assert!(end(&mut main).requests.is_empty(), "sessions get their time");
    assert_eq!(exit_code(&mut main), 0);
}

#[test]
fn a_process_that_is_asked_twice_ends_at_once() {
    let mut main = serving();
    assert!(end(&mut main).requests.is_empty());
    assert!(matches!(end(&mut main).requests.as_slice(), [RequestToRuntime::Exit(0)]));
}

#[test]
fn the_later_command_says_whether_it_is_started_again() {
    for (first, second) in [(0, EXIT_LEFT_OUT), (EXIT_LEFT_OUT, 0)] {
        let mut main = serving();
        ask(&mut main, first);
        assert!(ask(&mut main, second).requests.is_empty());
        assert_eq!(exit_code(&mut main), second);
    }
}

#[test]
fn no_command_takes_sigterm_back() {
    let mut main = serving();
    end(&mut main);
    assert!(ask(&mut main, EXIT_LEFT_OUT).requests.is_empty());
    assert_eq!(exit_code(&mut main), 0);
}
