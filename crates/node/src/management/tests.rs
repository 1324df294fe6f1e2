use super::{
    Authority, CONNECTIONS_MAX, ClusterState, ConfiguredNode, LINE_SIZE_MAX, Management, ManagementRequest,
    NOT_AUTHORIZED, StartCheck, Token,
};
use protocol::control::RecoveryGoal;
use protocol::signal::{FullStop, NodeReport};
use protocol::{
    Address, ConnectionAction, ConnectionId, NodeRole, Outputs, ReceiveBuffer, RequestToRuntime, Severity,
    Signal, View,
};
use query::Shared;
use std::collections::BTreeMap;
use std::sync::Arc;
use stdx::Instant;
use types::{Incarnation, NodeId};

const CLIENT: ConnectionId = ConnectionId { slot: 7, generation: 1 };

fn token() -> Token {
    Token::new([3; 32])
}

/// A management node with a connection that has proved nothing.
fn with_stranger() -> Management {
    let node = |id, role| ConfiguredNode { node: NodeId(id), role, host: "here".to_owned() };
    let nodes = vec![node(65, NodeRole::Management), node(1, NodeRole::Data), node(2, NodeRole::Data)];
    let mut management =
        Management::new(NodeId(65), "Shop".to_owned(), "1".to_owned(), "[ndbd]\n".to_owned(), nodes)
            .with_authority(Some(Authority { token: token(), file: "/data/token".to_owned() }));
    management.start([9; 32]);
    management.welcome(CLIENT, "10.0.0.7:4711".to_owned(), &mut Outputs::default());
    management
}

/// A management node with a connection that has proved to know the token.
fn management() -> Management {
    let mut management = with_stranger();
    let answer = prove(&mut management, &token());
    assert_eq!(answer, "authorized\n.\n");
    management
}

/// Asks for a challenge and answers it with a token; what is said to that.
fn prove(management: &mut Management, token: &Token) -> String {
    let (asked, ..) = say(management, "authenticate");
    let challenge = asked.lines().find_map(|line| line.strip_prefix("challenge ")).unwrap().to_owned();
    say(management, &format!("authenticate {}", token.answer(&challenge).unwrap())).0
}

/// Says a line; the answer, and what else was done.
fn say(management: &mut Management, line: &str) -> (String, Outputs<Shared>, Vec<ManagementRequest>) {
    send(management, CLIENT, format!("{line}\n").as_bytes())
}

fn send(
    management: &mut Management,
    connection: ConnectionId,
    bytes: &[u8],
) -> (String, Outputs<Shared>, Vec<ManagementRequest>) {
    let mut buffer = ReceiveBuffer::default();
    buffer.tail().extend_from_slice(bytes);
    let mut outputs = Outputs::default();
    let (losses, incarnation) = (BTreeMap::new(), Incarnation(1));
    let (view, now) = (View::none(), Instant(0));
    let awaited = "nobody leads";
    let cluster = ClusterState { view: &view, voters: &[], losses: &losses, incarnation, awaited, now };
    let me = Address::main(NodeId(65));
    let requests = management.on_bytes(me, connection, &mut buffer, &cluster, &mut outputs);
    let answer = String::from_utf8(std::mem::take(outputs.buffer(connection))).unwrap();
    (answer, outputs, requests)
}

/// As a page in a browser can send it: the body of a request is whatever it likes.
#[test]
fn the_body_of_an_http_request_is_not_read() {
    let mut management = management();
    let request =
        b"POST / HTTP/1.1\r\nHost: 127.0.0.1:1186\r\nContent-Length: 13\r\n\r\nshutdown shop\n1 stop\n";
    let (answer, outputs, requests) = send(&mut management, CLIENT, request);
    assert_eq!(answer, "");
    assert!(requests.is_empty() && outputs.requests.is_empty() && outputs.signals.is_empty());
    assert_eq!(outputs.actions.as_slice(), [(CLIENT, ConnectionAction::Close)]);
    let told: Vec<&str> = outputs.events.iter().map(|event| event.message.as_str()).collect();
    let line = "management port: connection from 10.0.0.7:4711 closed: it sent what is no command: \"POST / HTTP/1.1\\r\"";
    assert_eq!(told, [line]);
    assert_eq!(management.refused(), 1);
    // Nor is what comes later.
    let (answer, outputs, requests) = send(&mut management, CLIENT, b"shutdown shop\n");
    assert!(answer.is_empty() && requests.is_empty() && outputs.requests.is_empty());
}

#[test]
fn who_mistypes_is_told_so() {
    let (answer, outputs, _) = say(&mut management(), "shwo");
    assert_eq!(answer, "ERROR: this is no command, so the connection is closed; try 'help'\n.\n");
    assert_eq!(outputs.actions.as_slice(), [(CLIENT, ConnectionAction::Close)]);
}

#[test]
fn verbs_are_named_where_one_is_mistyped() {
    let (answer, ..) = say(&mut management(), "2 dance");
    let hint = "behind nodes there are status, stop, restart, report and dump";
    assert_eq!(answer, format!("ERROR: this is no command, so the connection is closed; {hint}\n.\n"));
}

/// Case, spaces and the semicolon are free; the connection stays.
#[test]
fn words_of_ndb_mgm_are_answered() {
    let mut management = with_stranger();
    for (line, answer) in [
        (
            "  ALL   Report  BackupStatus ;",
            "Node 1: no backup: there are none yet\nNode 2: no backup: there are none yet\n",
        ),
        ("2 report backup", "Node 2: no backup: there are none yet\n"),
        ("1 2 STATUS", "Node 1: not connected\nNode 2: not connected\n"),
        ("9 report memory", "ERROR: no node 9 in config.ini; there are 65, 1, 2\n"),
        ("9 status", "ERROR: no node 9 in config.ini; there are 65, 1, 2\n"),
        ("65 report memory", "ERROR: node 65 is no data node, and has nothing to report\n"),
        ("1 2 stop", "ERROR: one node at a time; 'rolling restart' restarts all, one after the other\n"),
        (
            "PURGE STALE SESSIONS",
            "nothing to purge: a node id is free as soon as its node is not connected\n",
        ),
        ("help get config", "get config           the text of config.ini\n"),
        (
            "help purge stale sessions",
            "nothing to purge: a node id is free as soon as its node is not connected\n",
        ),
        ("help dance", "ERROR: no help for 'dance'; 'help' lists the commands\n"),
    ] {
        let (said, outputs, requests) = say(&mut management, line);
        assert_eq!(said, format!("{answer}.\n"), "{line}");
        assert!(requests.is_empty() && outputs.actions.is_empty(), "{line}");
    }
    for line in ["all report memoryusage", "1 2 rep mem", "all dump 1000"] {
        let (said, _, requests) = say(&mut management, line);
        assert_eq!(said, "", "{line}");
        assert_eq!(
            requests,
            [ManagementRequest::MemoryReport { nodes: vec![NodeId(1), NodeId(2)] }],
            "{line}"
        );
    }
    assert_eq!(say(&mut management, "?").0, say(&mut management, "help").0);
    let (stop, ..) = say(&mut management, "help stop");
    assert!(stop.starts_with("<id> stop ") && stop.lines().count() == 3, "{stop}");
}

#[test]
fn without_a_proof_nothing_can_be_changed() {
    let mut management = with_stranger();
    management.set_up(NodeId(1), true);
    for line in
        ["shutdown shop", "shutdown", "1 stop", "65 restart", "check", "recover voters shop without 1"]
    {
        let (answer, outputs, requests) = say(&mut management, line);
        assert!(answer.starts_with(&format!("{NOT_AUTHORIZED}'{line}' needs authority")), "{answer}");
        assert!(answer.contains("/data/token") && answer.contains("--token-file"), "{answer}");
        assert!(requests.is_empty() && outputs.requests.is_empty() && outputs.signals.is_empty());
        assert!(outputs.actions.is_empty() && outputs.events.is_empty());
    }
    // The text that starting nodes need is told to everybody.
    assert_eq!(say(&mut management, "get config").0, "[ndbd]\n.\n");
    for line in ["show", "all status", "get status"] {
        let (answer, ..) = say(&mut management, line);
        assert!(!answer.starts_with("ERROR"), "{answer}");
    }
    // Another connection's proof is not this one's.
    assert_eq!(prove(&mut management, &token()), "authorized\n.\n");
    let other = ConnectionId { slot: 8, generation: 1 };
    management.welcome(other, "10.0.0.8:1".to_owned(), &mut Outputs::default());
    assert!(send(&mut management, other, b"1 stop\n").0.starts_with(NOT_AUTHORIZED));
    assert_eq!(say(&mut management, "1 stop").2.len(), 1);
}

#[test]
fn a_certificate_is_proof_enough() {
    let mut management = with_stranger();
    management.set_up(NodeId(1), true);
    assert!(say(&mut management, "1 stop").0.starts_with(NOT_AUTHORIZED));
    management.certify(CLIENT);
    assert_eq!(say(&mut management, "1 stop").2.len(), 1);
    let other = ConnectionId { slot: 8, generation: 1 };
    management.welcome(other, "10.0.0.8:1".to_owned(), &mut Outputs::default());
    assert!(send(&mut management, other, b"1 stop\n").0.starts_with(NOT_AUTHORIZED));
}

#[test]
fn a_wrong_proof_closes_the_connection() {
    let mut management = with_stranger();
    let (asked, ..) = say(&mut management, "authenticate");
    assert!(asked.contains(&format!("id {}\n", token().id())), "{asked}");
    assert!(asked.ends_with("file /data/token\n.\n"), "{asked}");
    let answer = prove(&mut management, &Token::new([4; 32]));
    assert_eq!(answer, "ERROR: that does not prove to know the token of node 65\n.\n");
    assert_eq!(management.refused(), 1);
    assert_eq!(say(&mut management, "show").0, "");
    // An answer to nothing is none.
    let mut management = with_stranger();
    let (answer, outputs, _) = say(&mut management, &format!("authenticate {}", "0".repeat(64)));
    assert!(answer.starts_with("ERROR"), "{answer}");
    assert_eq!(outputs.actions.as_slice(), [(CLIENT, ConnectionAction::Close)]);
}

#[test]
fn idle_strangers_make_room() {
    let mut management = management();
    let connection = |slot| ConnectionId { slot, generation: 2 };
    let mut closed = Vec::new();
    for slot in 0..600 {
        let mut outputs = Outputs::default();
        management.welcome(connection(slot), format!("10.0.0.8:{slot}"), &mut outputs);
        closed.extend(outputs.actions.iter().copied());
        // The first of them is at work all the time.
        send(&mut management, connection(0), b"show\n");
    }
    assert_eq!(management.clients.len(), CONNECTIONS_MAX);
    let expected: Vec<_> =
        (1..).take(closed.len()).map(|slot| (connection(slot), ConnectionAction::Close)).collect();
    assert_eq!(closed, expected);
    assert!(!send(&mut management, connection(0), b"show\n").0.is_empty());
    // A connection that has proved something stays.
    assert_eq!(say(&mut management, "65 stop").2.len(), 1);
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
            "ERROR: -i is not supported: a node that stops hands over what it leads, and gets what it missed when it starts\n.\n",
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
        .with_start_check(Some(StartCheck(Arc::new(|_| Err("config.ini:3: unknown parameter".to_owned())))));
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

#[test]
fn who_recovers_voters_names_the_cluster_and_those_that_are_gone() {
    let mut management = management();
    let (said, _, requests) = say(&mut management, "recover voters Shop without 1, 65");
    assert_eq!(said, "");
    let (cluster, operator) = ("shop".to_owned(), "10.0.0.7:4711".to_owned());
    let (without, goal) = (vec![NodeId(1), NodeId(65)], RecoveryGoal::Voters);
    assert_eq!(requests, [ManagementRequest::Recover { cluster, without, operator, goal }]);
    for line in [
        "recover voters",
        "recover voters shop",
        "recover voters shop without",
        "recover voters shop without a",
    ] {
        let (said, outputs, requests) = say(&mut management, line);
        assert!(said.starts_with("ERROR: ") && said.contains("recover voters Shop without 1,3"), "{said}");
        assert!(requests.is_empty() && outputs.signals.is_empty());
    }
}

#[test]
fn show_says_what_is_waited_for() {
    let (said, ..) = say(&mut management(), "show");
    assert!(said.contains("WARNING: nobody leads\n"), "{said}");
}

fn report(config: &str, serves: bool) -> NodeReport {
    let waits = if serves { String::new() } else { "its rows\u{7}".to_owned() };
    NodeReport { version: "LatsDB 7".to_owned(), config: config.to_owned(), mysql_port: 3306, serves, waits }
}

#[test]
fn started_means_that_rows_can_be_read() {
    let mut management = management();
    management.nodes.push(ConfiguredNode { node: NodeId(4), role: NodeRole::Sql, host: "there".to_owned() });
    management.set_report(NodeId(65), report("a", true), &mut Outputs::default());
    management.set_up(NodeId(4), true);
    assert_eq!(
        say(&mut management, "4 status").0,
        "Node 4: starting (it has not told yet what it waits for)\n.\n"
    );
    management.set_report(NodeId(4), report("a", false), &mut Outputs::default());
    assert_eq!(say(&mut management, "4 status").0, "Node 4: starting (waits for its rows)\n.\n");
    let (shown, ..) = say(&mut management, "show");
    assert!(shown.contains("id=4\t@there  (LatsDB 7, starting, MySQL port 3306)\n"), "{shown}");
    assert!(say(&mut management, "get status").0.contains("id=4 role=sql state=opening "));
    management.set_report(NodeId(4), report("a", true), &mut Outputs::default());
    management.set_addresses([(NodeId(4), "10.0.0.4")].into_iter());
    assert_eq!(say(&mut management, "4 status").0, "Node 4: started\n.\n");
    let (shown, ..) = say(&mut management, "show");
    assert!(shown.contains("id=4\t@there = 10.0.0.4  (LatsDB 7, MySQL port 3306)\n"), "{shown}");
    // A report of another life is not one of this life.
    management.set_up(NodeId(4), false);
    management.set_up(NodeId(4), true);
    let (shown, ..) = say(&mut management, "show");
    assert!(shown.contains("id=4\t@there  (connected, starting)\n"), "{shown}");
    // Its report may overtake the news that it is there.
    management.set_up(NodeId(4), false);
    management.set_report(NodeId(4), report("a", true), &mut Outputs::default());
    management.set_up(NodeId(4), true);
    assert_eq!(say(&mut management, "4 status").0, "Node 4: started\n.\n");
}

#[test]
fn management_nodes_with_different_configurations_are_told() {
    let mut management = management();
    let other = NodeId(66);
    management.nodes.push(ConfiguredNode {
        node: other,
        role: NodeRole::Management,
        host: "there".to_owned(),
    });
    management.set_up(other, true);
    let tell = |management: &mut Management, node, config| {
        let mut outputs = Outputs::default();
        management.set_report(node, report(config, true), &mut outputs);
        outputs.events.into_iter().map(|event| event.message).collect::<Vec<_>>()
    };
    assert_eq!(tell(&mut management, NodeId(65), "a"), [""; 0]);
    // Data nodes run with what they were given when they started.
    assert_eq!(tell(&mut management, NodeId(1), "b"), [""; 0]);
    assert_eq!(tell(&mut management, other, "a"), [""; 0]);
    let told = tell(&mut management, other, "b");
    assert!(told[0].starts_with("management nodes 65 and 66 have read different config.ini"), "{told:?}");
    assert_eq!(tell(&mut management, other, "b"), [""; 0]);
    let (shown, ..) = say(&mut management, "show");
    assert!(shown.contains(&format!("WARNING: {}", told[0])), "{shown}");
}

#[test]
fn who_gives_rows_up_names_the_cluster_and_disks_that_are_gone() {
    let mut management = management();
    for (line, without) in [
        ("start Shop with data loss without 3, 4", vec![NodeId(3), NodeId(4)]),
        ("START shop WITH DATA LOSS", Vec::new()),
    ] {
        let (said, _, requests) = say(&mut management, line);
        assert_eq!(said, "");
        let (cluster, operator) = ("shop".to_owned(), "10.0.0.7:4711".to_owned());
        let goal = RecoveryGoal::Rows;
        assert_eq!(requests, [ManagementRequest::Recover { cluster, without, operator, goal }]);
    }
    for line in ["start shop with data loss without a", "start shop with data loss 3"] {
        let (said, _, requests) = say(&mut management, line);
        assert!(said.contains("start Shop with data loss without 3,4 names the cluster"), "{said}");
        assert!(requests.is_empty());
    }
}

#[test]
fn with_rows_on_disk_the_cluster_stops_together() {
    let mut management = management().with_rows_on_disk();
    for (line, extent) in [
        ("shutdown", FullStop::Shutdown),
        ("SHUTDOWN Shop", FullStop::Shutdown),
        ("all stop", FullStop::Stop),
        ("ALL RESTART", FullStop::Restart),
    ] {
        let (answer, outputs, requests) = say(&mut management, line);
        let reason = format!("10.0.0.7:4711 ordered '{}' at management node 65", line.to_ascii_lowercase());
        assert_eq!(requests, [ManagementRequest::FullStop { extent, reason }]);
        assert!(answer.is_empty() && outputs.requests.is_empty() && outputs.signals.is_empty());
    }
    let (answer, _, requests) = say(&mut management, "shutdown now");
    assert_eq!(answer, "ERROR: the name of this cluster is 'Shop'; shutdown needs none\n.\n");
    assert!(requests.is_empty());
}
