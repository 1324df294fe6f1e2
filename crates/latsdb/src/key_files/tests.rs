use super::*;

fn config(first: &str, second: &str, parameters: &str) -> ClusterConfig {
    let text = format!(
        "[ndbd default]\nNoOfReplicas=1\n{parameters}\n[ndb_mgmd]\nNodeId=1\nHostName={first}\n[ndbd]\nNodeId=2\nHostName={second}\n"
    );
    configuration::parse(&text, "config.ini").expect("a good configuration")
}

#[test]
fn a_cluster_on_several_machines_needs_keys_unless_it_says_otherwise() {
    let is_needed = |config: &ClusterConfig| {
        config.nodes.iter().map(|node| needed(config, node).is_some()).collect::<Vec<_>>()
    };
    let far = |parameters| config("10.0.0.1", "10.0.0.2", parameters);
    let near = |parameters| config("127.0.0.1", "localhost", parameters);
    assert_eq!(is_needed(&far("")), [true, true]);
    assert_eq!(is_needed(&far("RequireTls=0")), [false, false]);
    assert_eq!(is_needed(&far("RequireTls=1")), [true, true]);
    assert_eq!(is_needed(&near("")), [false, false]);
    assert_eq!(is_needed(&near("RequireTls=1")), [true, true], "each of them has a link with node 2");
    assert_eq!(is_needed(&near("RequireCertificate=1")), [false, true]);
    assert_eq!(is_needed(&config("db1", "DB1", "")), [false, false], "one machine by its name");
    let said = needed(&far(""), &far("").nodes[0]).expect("a reason");
    assert!(said.contains("more than one machine") && said.contains("latsdb keys"), "{said}");
}

#[test]
fn expiry_is_warned_of_in_time() {
    let day = i64::try_from(DAY).expect("a small number");
    let warning = |left| expiry_warning(1_000_000_000 + left, 1_000_000_000);
    assert_eq!(warning(31 * day), None);
    assert_eq!(warning(29 * day).as_deref(), Some("expires in 29 days"));
    assert_eq!(warning(day).as_deref(), Some("expires in one day"));
    assert_eq!(warning(60).as_deref(), Some("expires today"));
    assert_eq!(warning(-1).as_deref(), Some("has expired"));
}

#[test]
fn files_are_found_by_node_or_role() {
    let folder = std::env::temp_dir().join(format!("latsdb-key-files-{}", std::process::id()));
    let write = |path: &str| {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, "").expect("a file");
    };
    write("one/node3/ndb-data-node-cert");
    write("one/node4/ndb-data-node-cert");
    write("one/node1/ndb-mgm-server-cert");
    write("two/ndb-data-node-cert");
    write("two/client/ndb-api-cert");
    let path = format!("{0}/none:{0}/one:{0}/two", folder.display());
    let options = TlsOptions { ndb_tls_search_path: Some(path) };
    let found = |role, node| {
        let files = options.find(role, node)?;
        files.certificate.strip_prefix(&folder).ok().map(|path| path.display().to_string())
    };
    let name = |name: &str| Some(name.to_owned());
    assert_eq!(found(NodeRole::Data, Some(3)), name("one/node3/ndb-data-node-cert"));
    assert_eq!(found(NodeRole::Data, Some(7)), name("two/ndb-data-node-cert"), "as NDB has them");
    assert_eq!(found(NodeRole::Data, None), name("two/ndb-data-node-cert"), "node 3 or 4?");
    assert_eq!(found(NodeRole::Management, None), name("one/node1/ndb-mgm-server-cert"));
    assert_eq!(found(NodeRole::Sql, Some(9)), None);
    assert!(options.find_for_tools().is_some_and(|files| files.key.ends_with("client/ndb-api-private-key")));
    std::fs::remove_dir_all(&folder).expect("it is ours");
}
