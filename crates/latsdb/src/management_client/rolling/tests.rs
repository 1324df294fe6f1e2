use super::super::status::tests::status;
use super::*;

#[test]
fn what_is_followed() {
    assert_eq!(parse(" Rolling  RESTART "), Some(Followed::Rolling));
    assert_eq!(parse("2 restart"), Some(Followed::Node(2, Wanted::Restart)));
    assert_eq!(parse("2 Stop"), Some(Followed::Node(2, Wanted::Stop)));
    for other in ["", "rolling", "all restart", "2 restart -i", "2 status", "x stop", "99999 stop"] {
        assert_eq!(parse(other), None, "{other}");
    }
}

const WHOLE: &str = "cluster view=7 node=1 incarnation=9 even=1 name=shop
    voter node=1 votes=1 up=1
    voter node=2 votes=1 up=1
    voter node=3 votes=1 up=1
    node id=2 role=data state=started
    node id=3 role=data state=started
    node id=1 role=management state=started
    node id=5 role=sql state=started
    node id=6 role=sql state=away refusal=it is not connected";

#[test]
fn the_order() {
    let order: Vec<u16> = plan(&status(WHOLE)).unwrap().iter().map(|node| node.id).collect();
    assert_eq!(order, [1, 2, 3, 5]);
}

#[test]
fn what_cannot_be_safe_is_not_begun() {
    let refused = |from: &str, to: &str| plan(&status(&WHOLE.replace(from, to))).unwrap_err();
    assert_eq!(
        refused("id=2 role=data state=started", "id=2 role=data state=away"),
        "node 2 (data) is not connected"
    );
    assert_eq!(
        refused("id=2 role=data state=started", "id=2 role=data state=copying"),
        "node 2 (data) is being copied to"
    );
    assert_eq!(
        refused("voter node=3 votes=1 up=1", "voter node=3 votes=1 up=0"),
        "2 of 3 voters are connected"
    );
    assert_eq!(
        refused("id=3 role=data state=started", "id=3 role=data state=started refusal=nobody has its rows"),
        "node 3 (data) may not stop: nobody has its rows"
    );
}

const CONFIG: &str = "[system]
Name=shop
[ndbd default]
TotalMemoryConfig=1G
[ndb_mgmd]
NodeId=1
HostName=10.0.0.9
[ndbd]
NodeId=2
HostName=10.0.0.1
[ndbd]
NodeId=3
HostName=10.0.0.2
";

#[test]
fn what_may_change_between_two_configurations() {
    let parse = |text: &str| configuration::parse(text, "test").unwrap();
    let old = parse(CONFIG);
    let changes = |from: &str, to: &str| changed(&old, &parse(&CONFIG.replace(from, to)));
    let none: [String; 0] = [];
    assert_eq!(changes("", ""), none);
    assert_eq!(changes("=1G", "=2G\nNumCPUs=4\nmax_connections=7\nStopOnError=0"), none);
    assert_eq!(
        changes("=1G", "=1G\nHeartbeatIntervalDbDb=10"),
        ["HeartbeatIntervalDbDb was 50 ms, is 10 ms"]
    );
    assert_eq!(changes("=1G", "=1G\nNoOfReplicas=1"), ["NoOfReplicas was 2, is 1"]);
    assert_eq!(changes("=1G", "=1G\nPartitionsPerNode=4"), ["PartitionsPerNode was 2, is 4"]);
    assert_eq!(changes("Name=shop", "Name=shops"), ["Name was shop, is shops"]);
    assert_eq!(
        changes("NodeId=3", "NodeId=4"),
        ["the list of nodes was 1 (management), 2 (data), 3 (data), is 1 (management), 2 (data), 4 (data)"]
    );
    assert_eq!(
        changes("10.0.0.2", "10.0.0.3"),
        ["node 3 was data at 10.0.0.2, ServerPort 2202, is data at 10.0.0.3, ServerPort 2202"]
    );
    assert_eq!(
        changes("NodeId=1", "NodeId=1\nPortNumber=1187"),
        [
            "node 1 was management at 10.0.0.9, ServerPort 2202, PortNumber 1186, is management at 10.0.0.9, ServerPort 2202, PortNumber 1187"
        ]
    );
}
