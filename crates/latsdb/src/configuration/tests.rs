use super::*;

mod parameters;

const TEXT: &str = "
[ndb_mgmd]
NodeId=1
HostName=127.0.0.1
[ndbd]
NodeId=2
HostName=127.0.0.1
DataDir=/tmp/a
[ndbd]
NodeId=3
HostName=localhost
UseShm=0
";

fn config() -> ClusterConfig {
    parse(TEXT, "config.ini").expect("a good configuration")
}

#[test]
fn problems_name_file_and_line() {
    let failure =
        parse("[ndbd]\nNoOfReplica=2\nHostName=a\n", "/etc/my.ini").expect_err("a bad configuration");
    let text = failure.to_string();
    assert!(text.starts_with("/etc/my.ini:2: unknown parameter 'NoOfReplica'"), "{text}");
    let missing = load(Path::new("/no/such/file")).expect_err("no file").to_string();
    assert!(missing.starts_with("cannot read /no/such/file: "), "{missing}");
}

#[test]
fn finding_oneself() {
    let config = config();
    let find = |role, id| {
        find_node(&config, role, id).map(|node| node.node.0).map_err(|failure| failure.to_string())
    };
    assert_eq!(find(NodeRole::Management, None), Ok(1));
    assert_eq!(find(NodeRole::Data, Some(3)), Ok(3));
    let which = "which data node is this? Give --ndb-nodeid (there is 2, 3)";
    assert_eq!(find(NodeRole::Data, None), Err(which.to_owned()));
    let wrong = "node 1 is a management node in config.ini, not a data node (there is 2, 3)";
    assert_eq!(find(NodeRole::Data, Some(1)), Err(wrong.to_owned()));
    assert_eq!(
        find(NodeRole::Data, Some(9)),
        Err("config.ini has no node 9; of data nodes, there is 2, 3".to_owned())
    );
    assert_eq!(find(NodeRole::Sql, None), Err("config.ini has no sql node".to_owned()));
}

#[test]
fn where_nodes_listen() {
    let listen = |host, bind| listen_address(host, bind, 7).expect("an address").to_string();
    assert_eq!(listen("127.0.0.1", None), "127.0.0.1:7");
    assert_eq!(listen("localhost", None), "127.0.0.1:7");
    assert_eq!(listen("::1", None), "[::1]:7");
    assert_eq!(listen("10.0.0.1", None), "0.0.0.0:7");
    assert_eq!(listen("some.host", None), "0.0.0.0:7");
    assert_eq!(listen("fe80::1", None), "[::]:7");
    assert_eq!(listen("10.0.0.1", Some("127.0.0.1")), "127.0.0.1:7");
    assert_eq!(listen("10.0.0.1", Some("*")), "[::]:7");
}

#[test]
fn sockets_between_neighbours() {
    let config = config();
    let node = |id| config.node(NodeId(id)).expect("a node");
    assert!(are_neighbours(node(2), node(3)));
    assert_eq!(cluster_socket(node(2)), Some(PathBuf::from("/tmp/a/latsdb_2_cluster.sock")));
    assert_eq!(cluster_socket(node(3)), None);
    assert!(!fits_socket(Path::new(&"x".repeat(108))));
}
