use super::*;

const SMALL: &str = "
# A cluster on three machines.
[system]
Name = shop

[ndbd default]
NoOfReplicas = 2
DataMemory=4G        ; rows
ThreadConfig=ldm={count=2,cpubind=0,1},recv={count=2},main={count=1}

[tcp default]
[ndb_mgmd]
NodeId=65
HostName=10.0.0.9
DataDir=/var/lib/latsdb

[NDBD]
NodeId: 2
HostName=10.0.0.2
[ndbd]
NodeId=1
HostName=10.0.0.1
max-connections=50
socket=\"/tmp/mysql.sock\"
TransactionInactiveTimeout=0

[mysqld default]
SpinMethod=databasemachine
[mysqld]
NodeId=67
HostName=10.0.0.3
port=3400
";

fn parse(text: &str) -> ClusterConfig {
    ClusterConfig::parse(text).expect("a good configuration")
}

/// Problems, one per line.
#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let problems = match ClusterConfig::parse(text) {
        Ok(config) => config.warnings,
        Err(errors) => errors,
    };
    let shown: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(shown, expected);
}

#[test]
fn a_small_cluster() {
    let config = parse(SMALL);
    assert_eq!((config.name.as_str(), config.replicas, config.partitions_per_node), ("shop", 2, 2));
    assert_eq!(config.time_between_epochs, Duration::from_millis(10));
    assert_eq!(config.warnings, []);
    let ids: Vec<(u16, NodeRole, &str, u16)> = config
        .nodes
        .iter()
        .map(|node| (node.node.0, node.role, node.host.as_str(), node.server_port))
        .collect();
    let expected = [
        (1, NodeRole::Data, "10.0.0.1", 2202),
        (2, NodeRole::Data, "10.0.0.2", 2202),
        (65, NodeRole::Management, "10.0.0.9", 2202),
        (67, NodeRole::Sql, "10.0.0.3", 2202),
    ];
    assert_eq!(ids, expected);
    let first = config.node(NodeId(1)).expect("node 1");
    let mysql = first.mysql.as_ref().expect("data nodes serve SQL");
    assert_eq!((mysql.port, mysql.max_connections), (3306, 50));
    assert_eq!(mysql.socket.as_deref(), Some("/tmp/mysql.sock"));
    assert_eq!(first.memory.data_memory, Some(4 << 30));
    assert_eq!(first.total_memory, None);
    assert_eq!(first.transaction_inactive_timeout, None);
    assert!(
        first
            .threads
            .thread_config
            .as_ref()
            .is_some_and(|text| text.starts_with("ldm={count=2,cpubind=0,1}"))
    );
    assert_eq!(first.threads.spin_method, "CostBasedSpinning");
    let management = config.node(NodeId(65)).expect("node 65");
    assert_eq!((management.management_port, management.data_dir.as_str()), (Some(1186), "/var/lib/latsdb"));
    assert!(management.mysql.is_none());
    let sql = config.node(NodeId(67)).expect("node 67");
    assert_eq!(sql.mysql.as_ref().map(|mysql| (mysql.port, mysql.max_connections)), Some((3400, 1000)));
    assert_eq!(sql.threads.spin_method, "DatabaseMachineSpinning");
    assert_eq!(config.nodes_of(NodeRole::Data).count(), 2);
}

#[test]
fn ids_and_ports_are_given_out() {
    let config = parse(
        "[ndb_mgmd]\nHostName=localhost\n[ndbd]\nNodeId=1\nHostName=LOCALHOST\n[ndbd]\nHostName=localhost\nport=3306\n\
         [mysqld]\nHostName=localhost\nServerPort=2203\n",
    );
    let shown: Vec<(u16, u16, Option<u16>)> = config
        .nodes
        .iter()
        .map(|node| (node.node.0, node.server_port, node.mysql.as_ref().map(|mysql| mysql.port)))
        .collect();
    assert_eq!(shown, [(1, 2202, Some(3307)), (2, 2204, None), (3, 2205, Some(3306)), (4, 2203, Some(3308))]);
}

const MGMD: &str = "[ndb_mgmd]\nHostName=m\n";

#[test]
fn problems_have_line_numbers_and_suggestions() {
    check(
        &format!("{MGMD}[ndbd]\nHostName=a\n"),
        &["config.ini: 1 data nodes are not a multiple of NoOfReplicas=2: each replica group needs 2"],
    );
    let one = "[ndbd default]\nNoOfReplicas=1\n[ndb_mgmd]\nHostName=m\n[ndbd]\nHostName=a\n";
    check(one, &[]);
    check(
        &format!("{one}DataMemry=1G\n"),
        &["config.ini line 7: unknown parameter 'DataMemry' in [ndbd]; did you mean DataMemory?"],
    );
    check(
        &format!("{one}MaxNoOfFoos=1\nxyzzy=1\n"),
        &[
            "config.ini line 7: unknown parameter 'MaxNoOfFoos' in [ndbd]; did you mean MaxNoOfTables?",
            "config.ini line 8: unknown parameter 'xyzzy' in [ndbd]",
        ],
    );
    check(
        &format!("{one}PortNumber=1\n"),
        &["config.ini line 7: PortNumber does not belong to [ndbd] but to [ndb_mgmd]"],
    );
    check(
        &format!("{one}MaxNoOfTables=128\nStopOnError=0\nStartFailRetryDelay=5\n"),
        &[
            "config.ini line 7: MaxNoOfTables has no effect: there is no such limit: memory is shared by all",
            "config.ini line 9: StartFailRetryDelay has no effect: the angel of a node that has run goes on, with ever longer pauses (up to a minute)",
        ],
    );
    check(
        &format!("{one}DataMemory=lots\nTotalMemoryConfig=1M\nNumCPUs=-1\nUseShm=maybe\nSpinMethod=Some\n"),
        &[
            "config.ini line 7: DataMemory=lots: expected a size 1M–16T (K, M, G, T mean powers of 1024)",
            "config.ini line 8: TotalMemoryConfig=1M: expected a size 256M–16T (K, M, G, T mean powers of 1024)",
            "config.ini line 9: NumCPUs=-1: expected a number 0–1024",
            "config.ini line 10: UseShm=maybe: expected 0 or 1",
            "config.ini line 11: SpinMethod=Some: expected CostBasedSpinning, StaticSpinning, LatencyOptimisedSpinning, \
         DatabaseMachineSpinning, DatabaseMachine, NoSpinning",
        ],
    );
    check(
        &format!("{one}DataMemory=1G\ndatamemory=2G\n"),
        &["config.ini line 8: DataMemory is set in this section already, in line 7"],
    );
    check(
        &format!("{one}what is this\n=1\n"),
        &[
            "config.ini line 7: 'what is this' is neither [section] nor Name=value",
            "config.ini line 8: a value without a name",
        ],
    );
    check(
        "NodeId=1\n",
        &[
            "config.ini line 1: NodeId stands before the first [section]",
            "config.ini: there is no [ndb_mgmd] section: a cluster needs a management node and data nodes",
            "config.ini: there is no [ndbd] section: a cluster needs a management node and data nodes",
        ],
    );
    check(
        &format!("{MGMD}[ndbd]\nNodeId=1\n[ndbd]\nNodeId=1\nHostName=b\n[dbnd]\n"),
        &[
            "config.ini line 3: [ndbd] lacks HostName",
            "config.ini line 6: NodeId=1 is another node's already, in line 4",
            "config.ini line 8: no section [dbnd] (there are [ndbd default], [ndbd], [ndb_mgmd default], [ndb_mgmd], \
         [mysqld default], [mysqld], [api], [tcp default], [shm], [system])",
        ],
    );
    check(
        &format!("[ndbd default]\nNodeId=3\n{one}"),
        &["config.ini line 2: NodeId is of one node and cannot be in [ndbd default]"],
    );
    check(&format!("{one}NodeId=256\n"), &["config.ini line 7: NodeId=256: expected a number 1–255"]);
    check(
        &format!("{one}ThreadConfig=foo={{count=1}}\n"),
        &[
            "config.ini line 7: ThreadConfig: no thread kind 'foo' (there are main, rep, ldm, query, tc, send, recv, io, watchdog, \
         idxbld, recover)",
        ],
    );
    check(
        &format!("{one}port=3306\nServerPort=3306\n"),
        &["config.ini line 7: port 3306 is taken on this host already, in line 8"],
    );
    for name in ["my shop", "stop", ""] {
        let problem = format!(
            "config.ini line 8: Name={name}: a name has 1 to 64 letters, digits or _ . - and is not 'stop' or 'restart': `shutdown` wants it typed"
        );
        check(&format!("{one}[system]\nName={name}\n"), &[&problem]);
    }
}

#[test]
fn warnings_of_sections_and_threads() {
    let one = "[ndbd default]\nNoOfReplicas=1\n[ndb_mgmd]\nHostName=m\n[ndbd]\nHostName=a\n";
    check(
        &format!("{one}[api]\n[mysqld]\n[shm]\nShmSize=1\n"),
        &[
            "config.ini line 7: [api] has no effect: native clients need no slot",
            "config.ini line 8: [mysqld] without HostName has no effect: SQL nodes are listed by host",
            "config.ini line 9: [shm] has no effect: links are configured by the node sections",
            "config.ini line 10: ShmSize has no effect: shared memory is sized automatically",
        ],
    );
    check(
        &format!("{one}ThreadConfig=recv={{count=1}}\nAutomaticThreadConfig=1\n"),
        &["config.ini line 7: ThreadConfig has no effect: AutomaticThreadConfig is on"],
    );
    let different =
        format!("{MGMD}[ndbd]\nHostName=a\nTimeBetweenEpochs=10\n[ndbd]\nHostName=b\nTimeBetweenEpochs=20\n");
    check(
        &different,
        &[
            "config.ini line 8: TimeBetweenEpochs must be the same for all data nodes: set it in [ndbd default]",
        ],
    );
}

#[test]
fn the_table_keeps_its_invariants() {
    for (position, parameter) in PARAMETERS.iter().enumerate() {
        let name = parameter.name;
        let found = parameters::find(name, Sections::ALL).expect("it is in the table");
        assert!(std::ptr::eq(found, &PARAMETERS[position]), "{name} is there twice");
        let has_range = parameter.default.ends_with("and up");
        if !parameter.default.is_empty() && !has_range {
            assert!(parameter.kind.read(parameter.default).is_ok(), "{name}={}", parameter.default);
        }
        assert!(parameter.description.ends_with('.'), "{name}: {}", parameter.description);
        // As many letters has `param_description` of `ndbinfo.config_params`.
        assert!(parameter.description.chars().count() <= 255, "{name}");
        if let Effect::None(reason) = parameter.effect {
            assert!(!reason.is_empty(), "{name}");
        }
    }
    assert_eq!(Sections::DATA.and(Sections::SQL).names(), "[ndbd], [mysqld]");
}

#[test]
fn durability_needs_a_log_and_fsync_leaves_no_pause() {
    let text = |parameters: &str| {
        format!("[ndbd default]\nNoOfReplicas=1\n{parameters}\n[ndb_mgmd]\nHostName=a\n[ndbd]\nHostName=a\n")
    };
    let paces = |parameters: &str| {
        let config = parse(&text(parameters));
        let redo = config.nodes_of(NodeRole::Data).next().and_then(|node| node.redo.clone());
        let paces = [config.time_between_epochs, redo.map_or(Duration::ZERO, |redo| redo.flush_interval)];
        (config.durability, paces.map(|pace| pace.as_millis()))
    };
    assert_eq!(paces(""), (Durability::Memory, [10, 50]));
    assert_eq!(paces("Durability=Epoch"), (Durability::Epoch, [10, 50]));
    let fsync = "Diskless=0\nDurability=fsync\nTimeBetweenEpochs=100\nTimeBetweenGlobalCheckpoints=2000";
    assert_eq!(paces(fsync), (Durability::Fsync, [1, 0]));
    assert_eq!(paces("Diskless=1\nDurability=memory"), (Durability::Memory, [10, 0]));
    check(
        &text("Diskless=1\nDurability=epoch"),
        &[
            "config.ini line 4: Durability=epoch needs a redo log on all data nodes: set Diskless=0 for node 2",
        ],
    );
    check(
        &text("Durability=always"),
        &["config.ini line 3: Durability=always: expected memory, epoch, fsync"],
    );
}

#[test]
fn any_text_is_a_configuration_or_a_report() {
    let mut random = stdx::Prng::new(7);
    let pieces = [
        "[ndbd]",
        "[ndbd default]",
        "[",
        "]",
        "=",
        "HostName=a",
        "NodeId=",
        "1",
        "\n",
        "\n",
        "é",
        "#",
        "\u{0}",
        "9999999999999999999999G",
    ];
    for _ in 0..3_000 {
        let text: String = (0..random.index(30)).map(|_| pieces[random.index(pieces.len())]).collect();
        if let Err(errors) = ClusterConfig::parse(&text) {
            assert!(!errors.is_empty(), "{text:?}");
            assert!(errors.iter().all(|error| !error.to_string().contains('\n')), "{text:?}");
        }
    }
    let huge = "#".repeat(TEXT_SIZE_MAX + 1);
    assert_eq!(ClusterConfig::parse(&huge).expect_err("too large").len(), 1);
}

/// The log of node 1 with these parameters.
fn redo(parameters: &str) -> Option<RedoConfig> {
    let text =
        format!("[ndbd default]\nNoOfReplicas=1\n{parameters}\n[ndb_mgmd]\nHostName=a\n[ndbd]\nHostName=a\n");
    let config = parse(&text);
    config.nodes_of(NodeRole::Data).next().expect("a data node").redo.clone()
}

#[test]
fn the_redo_log_has_the_files_that_are_configured_or_as_much_as_rows_need() {
    const GIB: u64 = 1 << 30;
    assert_eq!(redo("Diskless=1"), None);
    let automatic = redo("Diskless=0").expect("a log");
    assert_eq!((automatic.file_size, automatic.flush_interval), (64 << 20, Duration::from_millis(50)));
    assert_eq!([0, 2 * GIB, 1000 * GIB].map(|memory| automatic.files(memory)), [16, 32, 1024]);
    let chosen = "Diskless=0\nNoOfFragmentLogParts=2\nNoOfFragmentLogFiles=8\nFragmentLogFileSize=4097K";
    let chosen = redo(chosen).expect("a log");
    assert_eq!((chosen.files(GIB), chosen.file_size), (16, 4 << 20));
    assert_eq!(redo("Diskless=0\nNoOfFragmentLogFiles=1").map(|log| log.files(GIB)), Some(3));
    assert_eq!(redo("Diskless=0\nFragmentLogFileSize=0").map(|log| log.file_size), Some(64 << 20));
}
