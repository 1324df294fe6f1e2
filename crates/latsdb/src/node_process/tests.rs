use super::*;
use crate::resources::Bound;

const TEXT: &str = "
[ndb_mgmd]
NodeId=1
HostName=127.0.0.1
[ndbd default]
NumCPUs=2
TotalMemoryConfig=1G
[ndbd]
NodeId=2
HostName=127.0.0.1
[ndbd]
NodeId=3
HostName=10.1.1.1
[mysqld]
NodeId=4
HostName=10.1.1.2
[mysqld]
NodeId=5
HostName=10.1.1.3
";

const MACHINE: Machine = Machine { memory: 8 << 30, bound: None, cpu_count: 8, cpus: Vec::new() };

fn layout_of(config: &ClusterConfig, node: &NodeConfig) -> Layout {
    plan_layout(node, MACHINE.cpu_share(config, node), &MACHINE).expect("a layout")
}

fn config() -> ClusterConfig {
    configuration::parse(TEXT, "config.ini").expect("a good configuration")
}

#[test]
fn layouts_have_the_modules_that_are_built() {
    let config = config();
    for node in &config.nodes {
        let layout = layout_of(&config, node);
        let memory = plan_memory(node, &layout, &MACHINE, config.nodes.len()).expect("memory");
        let memory = MemoryManager::new(memory);
        let redo = redo_settings(node, &memory, false);
        let settings = NodeSettings { redo, ..settings(&config, String::new(), node) };
        let built = node::build(&settings, &layout, &memory);
        let mut built: Vec<(ModuleKind, u8)> =
            built.iter().map(|(address, _)| (address.kind, address.instance)).collect();
        let mut planned: Vec<(ModuleKind, u8)> = layout.modules().collect();
        built.sort_unstable();
        planned.sort_unstable();
        assert_eq!(built, planned, "node {}", node.node);
    }
}

#[test]
fn memory_that_the_system_would_refuse_is_not_planned() {
    let config = config();
    let node = config.node(types::NodeId(2)).expect("a node");
    let plan = |bytes: u64| {
        let bound = Some(Bound { bytes, name: "ulimit -v" });
        let machine = Machine { bound, ..MACHINE };
        plan_memory(node, &layout_of(&config, node), &machine, config.nodes.len())
    };
    assert!(plan(1 << 30).is_ok());
    assert_eq!(
        plan((1 << 30) - 1),
        Err("1024 MiB of memory are configured, and the system refuses more than 1023 MiB (ulimit -v): \
             lower TotalMemoryConfig or raise the limit"
            .to_owned())
    );
}

#[test]
fn clients_find_a_socket_in_the_data_directory() {
    let socket = |text: &str| {
        let config = configuration::parse(text, "config.ini").expect("a good configuration");
        let mut node = config.node(types::NodeId(2)).expect("a node").clone();
        give_socket(&mut node);
        node.mysql.expect("it serves clients").socket
    };
    let with = |line: &str| TEXT.replacen("NodeId=2\n", &format!("NodeId=2\n{line}\n"), 1);
    assert_eq!(
        socket(&with("DataDir=/var/lib/latsdb")),
        Some("/var/lib/latsdb/latsdb_2_mysql.sock".to_owned())
    );
    assert_eq!(socket(&with("socket=/run/my.sock")), Some("/run/my.sock".to_owned()));
    assert_eq!(socket(&with(&format!("DataDir=/{}", "x".repeat(100)))), None);
}

#[test]
fn clients_leave_descriptors_to_links() {
    let config = config();
    let node = config.node(types::NodeId(2)).expect("a node");
    let layout = layout_of(&config, node);
    let fitting = |descriptors| {
        let node = with_descriptors(node, &layout, config.nodes.len(), descriptors);
        node.mysql.expect("it serves clients").max_connections
    };
    assert_eq!((fitting(u64::MAX), fitting(100_000)), (1_000, 1_000));
    assert!((300..600).contains(&fitting(1_024)), "{}", fitting(1_024));
    assert_eq!(fitting(10), 1);
}

#[test]
fn threads_by_role() {
    let config = config();
    let threads = |id| {
        let node = config.node(types::NodeId(id)).expect("a node");
        let layout = layout_of(&config, node);
        layout.threads.iter().map(|thread| thread.name.clone()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(threads(1), "recv0 membership");
    assert_eq!(threads(2), "main recv0 recv1 membership");
    let eight = "main recv0 recv1 recv2 recv3 recv4 recv5 recv6 recv7 membership";
    assert_eq!(threads(4), eight, "a SQL node has a worker per CPU");
}

#[test]
fn peers_by_role() {
    let config = config();
    let peers = |id| {
        let node = config.node(types::NodeId(id)).expect("a node");
        peers(&config, node).iter().map(|peer| (peer.node.0, peer.unix.is_some())).collect::<Vec<_>>()
    };
    assert_eq!(peers(1), [(2, true), (3, false), (4, false), (5, false)]);
    assert_eq!(peers(4), [(1, false), (2, false), (3, false)]);
}
