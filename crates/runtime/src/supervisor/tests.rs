use super::{LinkNews, PeerPlan, Step, Supervisor, SupervisorLimits};
use crate::links::{LinkOrder, Pairing, PeerTable};
use crate::tls::TlsFilter;
use protocol::transport::Hello;
use protocol::{Address, ModuleKind};
use std::sync::Arc;
use stdx::{Duration, Instant};
use types::NodeId;

const LIMITS: SupervisorLimits = SupervisorLimits {
    open_timeout: Duration::from_secs(5),
    pause_min: Duration::from_millis(5),
    pause_max: Duration::from_millis(500),
    links_max: 256,
    refused_patience: Duration::from_secs(10),
};

fn supervisor(me: u16, thread_count: usize, peers: &[(u16, &str)]) -> Supervisor {
    let plan =
        |(node, host): &(u16, &str)| PeerPlan { node: NodeId(*node), host: (*host).to_owned(), port: 2202 };
    Supervisor::new(NodeId(me), thread_count, peers.iter().map(plan).collect(), LIMITS, Instant(0))
}

/// A hello of a node with one module on each of its threads.
fn hello(node: u16, thread_count: u8, from_thread: u16, to_thread: u16) -> Hello {
    let module = |instance| vec![Address::new(NodeId(node), ModuleKind::Ldm, instance)];
    Hello {
        cluster: String::new(),
        node: NodeId(node),
        start: u64::from(node),
        to: NodeId(0),
        from_thread,
        to_thread,
        threads: (0..thread_count).map(module).collect(),
    }
}

/// Steps as a transcript.
fn written(steps: &mut Vec<Step>) -> Vec<String> {
    let line = |step| match step {
        Step::Order { thread, order: LinkOrder::Open { set, their_thread, addresses, table, .. } } => {
            let known = if table.is_some() { "known" } else { "unknown" };
            format!("open {thread}->{their_thread} set {set} {known} {}", addresses[0])
        }
        Step::Order { thread, order: LinkOrder::Adopt(link) } => {
            format!("adopt {thread}<-{} set {}", link.their_thread, link.set)
        }
        Step::Order { thread, order: LinkOrder::Close { set, .. } } => format!("close {thread} set {set}"),
        Step::Resolve { set, .. } => format!("resolve set {set}"),
        Step::Confirm { .. } => "confirm".to_owned(),
        Step::Up(node) => format!("up {node}"),
        Step::Down(node) => format!("down {node}"),
        Step::Log(severity, message) => format!("{severity:?}: {message}"),
        Step::End(reason) => format!("end: {reason}"),
    };
    std::mem::take(steps).into_iter().map(line).collect()
}

fn opened(set: u64, my_thread: usize, their_thread: usize, their_threads: u8) -> LinkNews {
    let table = Arc::new(PeerTable::new(&hello(1, their_threads, 0, 0)).unwrap());
    LinkNews::Opened { peer: 0, set, my_thread, their_thread, table }
}

#[test]
fn the_connector_opens_one_link_then_all_then_tells() {
    let mut supervisor = supervisor(2, 2, &[(1, "10.0.0.1")]);
    let mut steps = Vec::new();
    assert_eq!(supervisor.deadline(), Some(Instant(0)));
    supervisor.on_deadline(Instant(0), &mut steps);
    assert_eq!(written(&mut steps), ["open 0->0 set 1 unknown 10.0.0.1:2202"]);
    supervisor.on_news(opened(1, 0, 0, 2), Instant(1), &mut steps);
    assert_eq!(
        written(&mut steps),
        [
            "open 0->1 set 1 known 10.0.0.1:2202",
            "open 1->0 set 1 known 10.0.0.1:2202",
            "open 1->1 set 1 known 10.0.0.1:2202"
        ]
    );
    supervisor.on_news(opened(1, 1, 1, 2), Instant(2), &mut steps);
    supervisor.on_news(opened(1, 0, 1, 2), Instant(3), &mut steps);
    assert!(steps.is_empty());
    supervisor.on_news(opened(1, 1, 0, 2), Instant(4), &mut steps);
    assert_eq!(written(&mut steps), ["confirm", "Info: node 1 is connected, 4 links", "up 1"]);
    assert_eq!(supervisor.deadline(), None);
    // A link closes: all go, membership hears it first, and a new set is tried after a pause. Old news is ignored.
    supervisor.on_news(closed(1), Instant(10), &mut steps);
    assert_eq!(
        written(&mut steps),
        ["down 1", "Warning: node 1 is disconnected: broken", "close 0 set 1", "close 1 set 1"]
    );
    supervisor.on_news(closed(1), Instant(11), &mut steps);
    supervisor.on_news(opened(1, 0, 0, 2), Instant(12), &mut steps);
    assert!(steps.is_empty());
    let retry = supervisor.deadline().unwrap();
    assert_eq!(retry, Instant(10) + LIMITS.pause_min);
    supervisor.on_deadline(retry, &mut steps);
    assert_eq!(written(&mut steps), ["open 0->0 set 2 unknown 10.0.0.1:2202"]);
}

fn closed(set: u64) -> LinkNews {
    LinkNews::Closed { peer: 0, set, reason: "broken".to_owned() }
}

#[test]
fn a_link_that_opened_when_its_set_had_failed_does_not_count_in_the_next() {
    let mut supervisor = supervisor(2, 2, &[(1, "10.0.0.1")]);
    let mut steps = Vec::new();
    supervisor.on_deadline(Instant(0), &mut steps);
    supervisor.on_news(opened(1, 0, 0, 2), Instant(1), &mut steps);
    supervisor.on_news(closed(1), Instant(2), &mut steps);
    supervisor.on_news(opened(1, 1, 1, 2), Instant(3), &mut steps);
    supervisor.on_deadline(supervisor.deadline().unwrap(), &mut steps);
    for pair in [(0, 0), (0, 1), (1, 0)] {
        supervisor.on_news(opened(2, pair.0, pair.1, 2), Instant(10_000_000), &mut steps);
    }
    assert!(!written(&mut steps).contains(&"up 1".to_owned()), "a link is missing");
    supervisor.on_news(opened(2, 1, 1, 2), Instant(10_000_001), &mut steps);
    assert_eq!(written(&mut steps), ["confirm", "Info: node 1 is connected, 4 links", "up 1"]);
}

#[test]
fn failures_are_told_once_and_tried_ever_more_slowly() {
    let mut supervisor = supervisor(2, 1, &[(1, "10.0.0.1")]);
    let mut steps = Vec::new();
    let mut now = Instant(0);
    let mut pauses = Vec::new();
    let mut told = 0;
    for set in 1..12 {
        supervisor.on_deadline(now, &mut steps);
        supervisor.on_news(closed(set), now, &mut steps);
        told += written(&mut steps).iter().filter(|line| line.starts_with("Info")).count();
        let next = supervisor.deadline().unwrap();
        pauses.push(next.since(now).as_millis());
        now = next;
    }
    assert_eq!(told, 1);
    assert_eq!(pauses, [5, 10, 20, 40, 80, 160, 320, 500, 500, 500, 500]);
}

#[test]
fn a_set_that_does_not_fill_in_time_is_given_up() {
    let mut supervisor = supervisor(2, 1, &[(1, "10.0.0.1")]);
    let mut steps = Vec::new();
    supervisor.on_deadline(Instant(0), &mut steps);
    let timeout = supervisor.deadline().unwrap();
    assert_eq!(timeout, Instant(0) + LIMITS.open_timeout);
    steps.clear();
    supervisor.on_deadline(timeout, &mut steps);
    assert_eq!(
        written(&mut steps),
        [
            "Info: node 1 at 10.0.0.1:2202 cannot be reached yet: it took too long to open the links",
            "close 0 set 1"
        ]
    );
}

#[test]
fn names_are_resolved_and_each_attempt_begins_with_another_address() {
    let mut supervisor = supervisor(2, 1, &[(1, "data1")]);
    let mut steps = Vec::new();
    supervisor.on_deadline(Instant(0), &mut steps);
    assert_eq!(written(&mut steps), ["resolve set 1"]);
    let addresses = ["10.0.0.1:2202".parse().unwrap(), "10.0.0.2:2202".parse().unwrap()];
    // An answer to an older question is ignored.
    supervisor.on_resolved((0, 0), &addresses, Instant(1), &mut steps);
    assert!(steps.is_empty());
    supervisor.on_resolved((0, 1), &addresses, Instant(1), &mut steps);
    assert_eq!(written(&mut steps), ["open 0->0 set 1 unknown 10.0.0.2:2202"]);
    supervisor.on_news(closed(1), Instant(2), &mut steps);
    supervisor.on_deadline(supervisor.deadline().unwrap(), &mut steps);
    steps.clear();
    supervisor.on_resolved((0, 2), &addresses, Instant(3), &mut steps);
    assert_eq!(written(&mut steps), ["open 0->0 set 2 unknown 10.0.0.1:2202"]);
    supervisor.on_news(closed(2), Instant(4), &mut steps);
    supervisor.on_deadline(supervisor.deadline().unwrap(), &mut steps);
    steps.clear();
    supervisor.on_resolved((0, 3), &[], Instant(5), &mut steps);
    assert_eq!(written(&mut steps), ["close 0 set 3"]);
}

/// A socket that nobody uses.
fn socket() -> (rustix::fd::OwnedFd, Option<Box<TlsFilter>>, u16, Vec<u8>) {
    (crate::listeners::new_socket(rustix::net::AddressFamily::UNIX).unwrap(), None, 1, Vec::new())
}

#[test]
fn the_acceptor_tells_when_the_connector_confirms() {
    let mut supervisor = supervisor(1, 2, &[(2, "10.0.0.2")]);
    let mut steps = Vec::new();
    assert_eq!(supervisor.deadline(), None, "it only waits");
    let mut say = |supervisor: &mut Supervisor, from, to| {
        let result =
            supervisor.on_hello(0, (&hello(2, 1, from, to), "there"), socket(), Instant(0), &mut steps);
        result.map(|()| written(&mut steps))
    };
    // Only the first pair begins a set.
    assert!(say(&mut supervisor, 0, 1).is_err());
    assert_eq!(say(&mut supervisor, 0, 0).unwrap(), ["adopt 0<-0 set 1"]);
    assert_eq!(say(&mut supervisor, 0, 1).unwrap(), ["adopt 1<-0 set 1"]);
    assert!(say(&mut supervisor, 0, 1).is_err(), "one link per pair");
    let mut steps = Vec::new();
    supervisor.on_news(LinkNews::Confirmed { peer: 0, set: 7 }, Instant(1), &mut steps);
    assert!(steps.is_empty());
    supervisor.on_news(LinkNews::Confirmed { peer: 0, set: 1 }, Instant(1), &mut steps);
    assert_eq!(written(&mut steps), ["Info: node 2 is connected, 2 links", "up 2"]);
    // The connector comes anew before we noticed that it was gone.
    supervisor.on_hello(0, (&hello(2, 1, 0, 0), "there"), socket(), Instant(2), &mut steps).unwrap();
    assert_eq!(
        written(&mut steps),
        [
            "down 2",
            "Warning: node 2 is disconnected: it has connected anew",
            "close 0 set 1",
            "close 1 set 1",
            "adopt 0<-0 set 2"
        ]
    );
}

#[test]
fn a_second_process_of_a_node_is_refused_with_both_addresses_while_the_first_is_connected() {
    let mut supervisor = supervisor(1, 1, &[(2, "10.0.0.2")]);
    let mut steps = Vec::new();
    let first = hello(2, 1, 0, 0);
    let second = Hello { start: first.start + 1, ..first.clone() };
    assert_eq!(supervisor.refuse_second(0, &second, "there"), None, "nobody is connected");
    supervisor.on_hello(0, (&first, "here"), socket(), Instant(0), &mut steps).unwrap();
    supervisor.on_news(LinkNews::Confirmed { peer: 0, set: 1 }, Instant(1), &mut steps);
    assert_eq!(supervisor.refuse_second(0, &first, "here"), None, "the same process connects anew");
    let reason = supervisor.refuse_second(0, &second, "there").unwrap();
    assert_eq!(reason, "node 2 runs already, connected from here; another one connects from there");
    let closed = LinkNews::Closed { peer: 0, set: 1, reason: String::new() };
    supervisor.on_news(closed, Instant(2), &mut steps);
    assert_eq!(supervisor.refuse_second(0, &second, "there"), None, "the first has gone");
}

#[test]
fn a_process_that_is_refused_for_long_ends() {
    let mut supervisor = supervisor(2, 1, &[(1, "10.0.0.1")]);
    let mut steps = Vec::new();
    let mut refuse = |supervisor: &mut Supervisor, set, seconds: u64| {
        let now = Instant(seconds * 1_000_000_000);
        supervisor.on_deadline(now, &mut steps);
        let reason = "node 2 runs already".to_owned();
        supervisor.on_news(LinkNews::Refused { peer: 0, set, reason }, now, &mut steps);
        let is_end = |line: &String| line.starts_with("end");
        written(&mut steps).into_iter().find(is_end)
    };
    // The first process may be gone, and its peer about to notice.
    assert_eq!(refuse(&mut supervisor, 1, 0), None);
    assert_eq!(refuse(&mut supervisor, 2, 9), None);
    // Any other fault in between begins it anew.
    supervisor.on_deadline(Instant(9_900_000_000), &mut Vec::new());
    supervisor.on_news(closed(3), Instant(9_900_000_000), &mut Vec::new());
    assert_eq!(refuse(&mut supervisor, 4, 11), None);
    assert_eq!(refuse(&mut supervisor, 5, 20), None);
    let end = "end: node 1 refuses this process: node 2 runs already".to_owned();
    assert_eq!(refuse(&mut supervisor, 6, 21), Some(end));
}

#[test]
fn who_is_connected_with_somebody_is_not_the_one_too_many() {
    let mut supervisor = supervisor(2, 1, &[(1, "10.0.0.1"), (3, "10.0.0.3")]);
    let mut steps = Vec::new();
    supervisor.on_hello(1, (&hello(3, 1, 0, 0), "there"), socket(), Instant(0), &mut steps).unwrap();
    supervisor.on_news(LinkNews::Confirmed { peer: 1, set: 1 }, Instant(1), &mut steps);
    for (set, seconds) in [(1, 1), (2, 30)] {
        let now = Instant(seconds * 1_000_000_000);
        supervisor.on_deadline(now, &mut steps);
        let reason = "node 2 runs already".to_owned();
        supervisor.on_news(LinkNews::Refused { peer: 0, set, reason }, now, &mut steps);
    }
    let lines = written(&mut steps);
    assert!(lines.iter().any(|line| line.contains("refuses")), "{lines:?}");
    assert!(!lines.iter().any(|line| line.starts_with("end")), "{lines:?}");
}

#[test]
fn who_should_wait_may_not_connect() {
    let mut supervisor = supervisor(3, 1, &[(2, "10.0.0.2")]);
    let result = supervisor.on_hello(0, (&hello(2, 1, 0, 0), "there"), socket(), Instant(0), &mut Vec::new());
    assert!(result.unwrap_err().contains("lower"));
}

#[test]
fn every_pair_of_threads_finds_a_link_and_both_ends_agree() {
    for mine in 1..9 {
        for theirs in 1..9 {
            for links_max in [1, 8, 256] {
                let here = Pairing::new(mine, theirs, links_max);
                let there = Pairing::new(theirs, mine, links_max);
                assert!(here.pairs().count() <= links_max.max(mine.max(theirs)));
                assert!(here.has(0, 0));
                for my_thread in 0..mine {
                    for their_thread in 0..theirs {
                        assert_eq!(here.has(my_thread, their_thread), there.has(their_thread, my_thread));
                        assert!(here.has(my_thread, here.end_for(my_thread, their_thread)));
                    }
                }
            }
        }
    }
}
