use super::*;

/// A status from the words of `get status`.
#[track_caller]
pub(in super::super) fn status(text: &str) -> Status {
    let lines: Vec<String> = text.trim().lines().map(|line| line.trim().to_owned()).collect();
    Status::parse(&lines).unwrap()
}

const TEXT: &str = "
    cluster view=7 node=1 incarnation=9 even=1 name=a shop=1
    voter node=1 votes=1 up=1
    voter node=2 votes=1 up=0
    voter node=3 votes=0 up=1
    node id=1 role=management state=started incarnation=0 losses=0 leads=0 leaving=0 copied=0 partitions=0
    node id=2 role=data state=copying incarnation=12 losses=3 leads=0 leaving=0 copied=3 partitions=8 news=1 refusal=it waits = sleeps
    node id=5 role=sql state=away";

#[test]
fn an_answer_is_read() {
    let status = status(TEXT);
    assert_eq!((status.name.as_str(), status.node, status.incarnation), ("a shop=1", 1, 9));
    assert!(status.is_even);
    assert_eq!(status.voters, [(1, true), (2, false)]);
    let node = status.find(2).unwrap();
    assert_eq!((node.role, node.state, node.incarnation, node.losses), (Role::Data, State::Copying, 12, 3));
    assert_eq!((node.copied, node.partitions), (3, 8));
    assert_eq!(node.refusal.as_deref(), Some("it waits = sleeps"));
    assert_eq!(status.find(5).unwrap().state, State::Away);
    assert_eq!(status.find(3), None);
}

#[test]
fn another_answer_is_refused() {
    for text in [
        "",
        "ERROR: unknown command 'get status'",
        "cluster node=99999",
        "cluster node=1\nnode id=2 role=king",
    ] {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        assert_eq!(Status::parse(&lines), None, "{text}");
    }
}

#[test]
fn what_is_missing() {
    let mut status = status(TEXT);
    assert_eq!(status.missing(2), ["node 2 (data) is being copied to"]);
    status.nodes[1].state = State::Started;
    assert_eq!(status.missing(2), ["1 of 2 voters are connected"]);
    status.voters[1].1 = true;
    assert_eq!(status.missing(2), Vec::<String>::new());
    // The third one has not got its vote back.
    assert_eq!(status.missing(3), ["2 of 3 voters are connected"]);
}
