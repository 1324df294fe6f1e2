use super::*;
use crate::main_module::tests::config;
use protocol::module::EXIT_LEFT_OUT;
use protocol::{Envelope, Input};
use std::sync::Arc;
use stdx::Now;

const ME: NodeId = NodeId(1);
const OTHER: NodeId = NodeId(2);
const SESSIONS: Address = Address::new(ME, ModuleKind::Sql, 0);
const COORDINATOR: Address = Address::new(ME, ModuleKind::Tc, 0);
const LEADER: Address = Address::main(NodeId(65));

/// A data node in sync with another one, which keeps a log.
fn data_node() -> MainModule {
    let ldm = Address::new(ME, ModuleKind::Ldm, 0);
    let mut main =
        MainModule::new(config(ME, vec![Address::main(ME), SESSIONS, COORDINATOR, ldm, Address::disk(ME)]));
    main.view = Arc::new(fixtures::replicas(2));
    main.epochs.install(Now::default(), &fixtures::replicas(2), &mut Outputs::<Shared>::default());
    main.reach.found = vec![OTHER];
    main.is_open = true;
    main
}

fn take(main: &mut MainModule, from: Address, signal: Signal) -> Vec<(Address, Signal)> {
    let mut outputs = Outputs::default();
    main.on_signal(main.now, Envelope::unstamped(from, Address::main(ME), signal), &mut outputs);
    told(outputs)
}

/// The signals, and as one to itself, that the node ends.
fn told(outputs: Outputs<Shared>) -> Vec<(Address, Signal)> {
    let end = |request| {
        let RequestToRuntime::Exit(exit_code) = request else { return None };
        let end = Signal::FullStopRequest { step: FullStopStep::End, exit_code: Some(exit_code) };
        Some((Address::main(ME), end))
    };
    let said = outputs.signals.into_iter().map(|sent| (sent.to, sent.signal));
    said.chain(outputs.requests.into_iter().filter_map(end)).collect()
}

/// So much later, deadlines pass.
fn wait(main: &mut MainModule, time: Duration) -> Vec<(Address, Signal)> {
    let mut outputs = Outputs::default();
    let now = Now { monotonic: main.now.monotonic + time, ..main.now };
    main.handle(now, Input::Deadline, &mut outputs);
    told(outputs)
}

fn request(step: FullStopStep) -> Signal {
    Signal::FullStopRequest { step, exit_code: Some(0) }
}

fn done(main: &mut MainModule, node: NodeId, step: FullStopStep, open: u64) -> Vec<(Address, Signal)> {
    take(main, Address::main(node), Signal::FullStopDone { step, open: Epoch(open) })
}

/// The nodes that are asked for a step.
fn asked(said: &[(Address, Signal)], wanted: FullStopStep) -> Vec<NodeId> {
    let is_it = |signal: &Signal| matches!(signal, Signal::FullStopRequest { step, .. } if *step == wanted);
    said.iter().filter(|(_, signal)| is_it(signal)).map(|(to, _)| to.node).collect()
}

fn answers(said: &[(Address, Signal)]) -> usize {
    said.iter().filter(|(to, signal)| *to == LEADER && matches!(signal, Signal::FullStopDone { .. })).count()
}

#[test]
fn a_step_is_done_when_all_modules_have_done_it() {
    let mut main = data_node();
    let said = take(&mut main, LEADER, request(FullStopStep::EndSessions));
    assert!(said.iter().any(|(to, signal)| *to == SESSIONS && matches!(signal, Signal::Drain { .. })));
    assert_eq!(answers(&said), 0);
    assert_eq!(answers(&take(&mut main, SESSIONS, Signal::Drained)), 1);
    assert_eq!(answers(&take(&mut main, LEADER, request(FullStopStep::EndSessions))), 1, "asked again");
    let said = take(&mut main, LEADER, request(FullStopStep::AnswerCommits));
    assert!(said.contains(&(COORDINATOR, Signal::StandDown)) && answers(&said) == 0);
    assert_eq!(answers(&take(&mut main, COORDINATOR, Signal::StoodDown)), 1);
    let flush = FullStopStep::Flush { epoch: Epoch(5) };
    assert_eq!(answers(&take(&mut main, LEADER, request(flush))), 0);
    assert_eq!(main.epochs.open(), Epoch(5), "what is to be flushed is closed first");
    assert_eq!(answers(&take(&mut main, Address::disk(ME), Signal::Flushed { epoch: Epoch(4) })), 0);
    assert_eq!(answers(&take(&mut main, Address::disk(ME), Signal::Flushed { epoch: Epoch(5) })), 1);
}

/// TimeBetweenEpochs and TimeBetweenGlobalCheckpoints may be half a minute.
#[test]
fn a_flush_waits_for_no_timer() {
    let mut main = data_node();
    take(&mut main, LEADER, request(FullStopStep::Flush { epoch: Epoch(5) }));
    let said = wait(&mut main, Duration::from_millis(1));
    assert!(
        said.iter().any(|(_, signal)| matches!(signal, Signal::EpochOpen { epoch } if *epoch > Epoch(5)))
    );
}

#[test]
fn the_record_is_asked_for_when_all_members_have_flushed() {
    let mut main = data_node();
    let said = take(
        &mut main,
        SESSIONS,
        Signal::FullStopWanted { extent: FullStop::Shutdown, reason: "asked".to_owned() },
    );
    assert_eq!(asked(&said, FullStopStep::EndSessions), [ME, OTHER]);
    assert_eq!(asked(&wait(&mut main, ASK_EVERY), FullStopStep::EndSessions), [ME, OTHER], "again");
    done(&mut main, ME, FullStopStep::EndSessions, 1);
    let said = done(&mut main, OTHER, FullStopStep::EndSessions, 1);
    assert_eq!(asked(&said, FullStopStep::AnswerCommits), [ME, OTHER]);
    done(&mut main, OTHER, FullStopStep::AnswerCommits, 9);
    let said = done(&mut main, ME, FullStopStep::AnswerCommits, 3);
    let flush = FullStopStep::Flush { epoch: Epoch(9) };
    assert_eq!(asked(&said, flush), [ME, OTHER]);
    done(&mut main, ME, flush, 9);
    // A newer view may have other members.
    main.view = Arc::new(View { number: ViewNumber(2), ..fixtures::replicas(2) });
    let said = wait(&mut main, ASK_EVERY);
    assert_eq!(asked(&said, flush), [ME, OTHER]);
    done(&mut main, ME, flush, 9);
    let said = done(&mut main, OTHER, flush, 9);
    let stop = LeaveStep::Stop { exit_code: Some(0), flushed_in: Some(ViewNumber(2)) };
    assert!(said.contains(&(Address::membership(ME), Signal::Leaving { step: stop })), "{said:?}");
}

#[test]
fn a_node_that_ends_before_the_others_is_not_called_away() {
    let mut main = data_node();
    let operator = ConnectionId { slot: 7, generation: 1 };
    let mut outputs = Outputs::default();
    main.begin_full_stop(FullStop::Shutdown, (Some(operator), "asked"), &mut outputs);
    let flush = FullStopStep::Flush { epoch: Epoch(3) };
    for step in [FullStopStep::EndSessions, FullStopStep::AnswerCommits, flush] {
        done(&mut main, ME, step, 3);
        done(&mut main, OTHER, step, 3);
    }
    // The other one has learned of the record first, and has ended.
    main.reach.found.clear();
    main.on_cluster_stopped(&fixtures::replicas(3), &mut outputs);
    let told = String::from_utf8(outputs.buffer(operator).clone()).unwrap();
    let expected =
        "the cluster has stopped; nothing is lost\nnot connected, and not stopped if it runs: node 3\n";
    assert!(told.contains(expected), "{told}");
}

#[test]
fn a_stop_ends_in_bounded_time_whoever_does_not_answer() {
    let mut main = data_node();
    take(
        &mut main,
        SESSIONS,
        Signal::FullStopWanted { extent: FullStop::Shutdown, reason: "asked".to_owned() },
    );
    assert_eq!(asked(&wait(&mut main, STEP_PATIENCE), FullStopStep::AnswerCommits), [ME, OTHER]);
    wait(&mut main, STEP_PATIENCE);
    let said = wait(&mut main, STEP_PATIENCE);
    assert_eq!(asked(&said, FullStopStep::End), [ME, OTHER], "it is not recorded: {said:?}");
    // And so does a node whose leader is gone.
    let mut main = data_node();
    take(&mut main, LEADER, request(FullStopStep::EndSessions));
    assert_eq!(asked(&wait(&mut main, PATIENCE - ASK_EVERY), FullStopStep::End), []);
    assert_eq!(asked(&wait(&mut main, ASK_EVERY), FullStopStep::End), [ME]);
}

/// `all stop` and `all restart` leave the management nodes alone, also when the stop takes no end.
#[test]
fn a_node_that_is_to_stay_does_not_end() {
    let stay = Signal::FullStopRequest { step: FullStopStep::EndSessions, exit_code: None };
    let stopped = View { number: ViewNumber(9), is_stopped: true, ..fixtures::replicas(2) };
    let mut main = data_node();
    take(&mut main, LEADER, stay.clone());
    assert!(main.operators.full_stops.is_on_its_way());
    main.on_cluster_stopped(&stopped, &mut Outputs::default());
    assert!(!main.operators.full_stops.is_on_its_way(), "the record ends its part");
    assert_eq!(asked(&wait(&mut main, PATIENCE), FullStopStep::End), []);
    let mut main = data_node();
    take(&mut main, LEADER, stay);
    let said = wait(&mut main, PATIENCE);
    assert_eq!(asked(&said, FullStopStep::End), []);
    let stays = Signal::Leaving { step: LeaveStep::Stay };
    assert!(said.contains(&(Address::membership(ME), stays)), "{said:?}");
    assert!(!main.operators.full_stops.is_on_its_way());
}

#[test]
fn what_ends_and_what_starts_again() {
    let codes = |extent: FullStop| {
        [NodeRole::Data, NodeRole::Sql, NodeRole::Management].map(|role| exit_code(extent, role))
    };
    assert_eq!(codes(FullStop::Shutdown), [Some(0); 3]);
    assert_eq!(codes(FullStop::Stop), [Some(0), Some(EXIT_LEFT_OUT), None]);
    assert_eq!(codes(FullStop::Restart), [Some(EXIT_LEFT_OUT), Some(EXIT_LEFT_OUT), None]);
}
