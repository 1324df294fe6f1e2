use super::*;
use types::NodeId;

fn choice(directory: &Path) -> Choice<'_> {
    Choice {
        directory,
        mysql_ports: vec![3306, 3307],
        management_port: 1186,
        server_ports: vec![2202, 2203, 2204],
        replicas: 2,
        max_connections: Some(77),
        memory: 512 * MIB,
    }
}

#[test]
fn what_is_written_is_what_is_read() {
    let directory = Path::new("/tmp/with space/dev");
    let text = choice(directory).config_text();
    let config = configuration::parse(&text, "config.ini").expect("a good configuration");
    assert_eq!(config.warnings, []);
    assert_eq!((config.name.as_str(), config.replicas, config.nodes.len()), ("dev", 2, 3));
    let management = config.node(NodeId(1)).expect("node 1");
    assert_eq!((management.server_port, management.management_port), (2204, Some(1186)));
    for (id, mysql_port, server_port) in [(2, 3306, 2202), (3, 3307, 2203)] {
        let node = config.node(NodeId(id)).expect("a data node");
        let mysql = node.mysql.as_ref().expect("it serves SQL");
        assert_eq!((node.server_port, mysql.port, mysql.max_connections), (server_port, mysql_port, 77));
        assert_eq!(mysql.socket, Some(format!("/tmp/with space/dev/node{id}.sock")));
        assert_eq!(node.data_dir, format!("/tmp/with space/dev/node{id}"));
        assert_eq!((node.total_memory, node.threads.cpu_count), (Some(512 * MIB), None));
        assert_eq!(node.threads.spin_method, "NoSpinning");
        assert_eq!(node.threads.thread_config, None);
        assert_eq!(node.host, HOST);
        assert_eq!(node.redo.as_ref().map(|log| log.files(0) * log.file_size), Some(1 << 30));
    }
}

#[test]
fn rows_of_a_cluster_of_another_shape_are_not_thrown_away() {
    let directory = std::env::temp_dir().join(format!("latsdb-shape-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory");
    let file = directory.join("config.ini");
    assert!(check_shape(&file, 4, 2).is_ok(), "nothing is there");
    std::fs::write(&file, choice(&directory).config_text()).expect("written");
    assert!(check_shape(&file, 2, 2).is_ok());
    for (data_nodes, replicas) in [(4, 2), (2, 1)] {
        let failure = check_shape(&file, data_nodes, replicas).expect_err("another shape").to_string();
        assert!(failure.contains("2 data nodes with 2 replicas"), "{failure}");
    }
    let diskless = choice(&directory).config_text().replace(REDO_LOG, "Diskless=1");
    std::fs::write(&file, diskless).expect("written");
    assert!(check_shape(&file, 4, 2).is_ok(), "it has no rows");
    std::fs::remove_dir_all(&directory).expect("removed");
}

#[test]
fn a_path_too_long_for_sockets_does_without() {
    let long = format!("/tmp/{}", "x".repeat(120));
    let text = choice(Path::new(&long)).config_text();
    assert!(!text.contains("socket="));
    assert!(configuration::parse(&text, "config.ini").is_ok());
}

#[test]
fn command_lines_are_those_of_users() {
    let text = choice(Path::new("/tmp/dev")).config_text();
    let config = configuration::parse(&text, "config.ini").expect("a good configuration");
    let plan = Plan { config, file: PathBuf::from("/tmp/dev/config.ini"), ports: Reservation::default() };
    let line = |id| {
        let arguments = plan.arguments(plan.config.node(NodeId(id)).expect("a node"), true);
        arguments.join(std::ffi::OsStr::new(" ")).into_string().expect("text")
    };
    assert_eq!(line(1), "mgmd -f /tmp/dev/config.ini --ndb-nodeid 1 --initial");
    assert_eq!(line(3), "data --ndb-nodeid 3 --ndb-connectstring 127.0.0.1:1186 --initial");
}
