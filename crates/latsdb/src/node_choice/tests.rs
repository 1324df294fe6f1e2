use super::*;

/// Three data nodes, two of them on this machine, on free ports.
fn config(folder: &Path) -> ClusterConfig {
    let ports: Vec<TcpListener> = (0..3).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    let port = |index: usize| ports[index].local_addr().unwrap().port();
    let text = format!(
        "[ndbd default]\nNoOfReplicas=1\nDataDir={}\n[ndb_mgmd]\nNodeId=1\nHostName=127.0.0.1\n\
         [ndbd]\nNodeId=2\nHostName=192.0.2.7\n\
         [ndbd]\nNodeId=3\nHostName=127.0.0.1\nServerPort={}\n\
         [ndbd]\nNodeId=4\nHostName=localhost\nServerPort={}\n",
        folder.display(),
        port(0),
        port(1)
    );
    configuration::parse(&text, "config.ini").unwrap()
}

#[test]
fn a_node_is_found_by_its_address_and_nobody_gets_it_twice() {
    let folder = std::env::temp_dir().join(format!("latsdb-choice-{}", std::process::id()));
    let config = config(&folder);
    let first = choose(&config, NodeRole::Data, None, None).unwrap();
    let second = choose(&config, NodeRole::Data, None, None).unwrap();
    assert_eq!((first.node.node.0, second.node.node.0), (3, 4));
    // One that has ended is free again; one whose port is taken is not.
    drop(first);
    let third = choose(&config, NodeRole::Data, None, None).unwrap();
    assert_eq!(third.node.node.0, 3);
    drop((second, third));
    let _taken =
        TcpListener::bind(("127.0.0.1", config.nodes_of(NodeRole::Data).nth(1).unwrap().server_port))
            .unwrap();
    assert_eq!(choose(&config, NodeRole::Data, None, None).unwrap().node.node.0, 4);
    // A process that says which node it is, or is the only one, is that node.
    assert_eq!(choose(&config, NodeRole::Data, Some(2), None).unwrap().node.node.0, 2);
    assert_eq!(choose(&config, NodeRole::Management, None, None).unwrap().node.node.0, 1);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_machine_that_config_ini_does_not_know_is_told_so() {
    let config = config(Path::new("/nowhere"));
    let failure = candidates(&config, NodeRole::Data, |_| false).unwrap_err().to_string();
    assert!(
        failure.contains("No HostName is an address of this machine (node 2 on 192.0.2.7, node 3"),
        "{failure}"
    );
    let here = candidates(&config, NodeRole::Data, |host| host == "192.0.2.7").unwrap();
    assert_eq!(here.iter().map(|node| node.node.0).collect::<Vec<_>>(), [2]);
}
