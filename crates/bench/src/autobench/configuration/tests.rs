use super::*;

fn read(text: &str) -> Result<Configuration, String> {
    parse(Path::new("autobench.conf"), text)
}

#[test]
fn a_file_is_read_as_a_shell_would_read_it() {
    let text = "\
# a comment

BENCHMARK_TO_RUN=\"sysbench\"
export SYSBENCH_TEST='oltp_ro'   # another one
THREAD_COUNTS_TO_RUN=\"1;2;4\"
MAX_TIME=30
MAX_TIME=7
SERVER_HOST=\"127.0.0.1;127.0.0.1\"
SERVER_PORT=\"3306;3307\"
SB_POINT_SELECTS=\"0\"
SB_USE_FILTER=yes
SB_RANGE_SIZE=10
TASKSET=taskset
SERVER_CPUS=
";
    let configuration = read(text).unwrap();
    assert_eq!(configuration.test, Test::ReadOnly);
    assert_eq!(configuration.thread_counts, [1, 2, 4]);
    assert_eq!(configuration.time, Duration::from_secs(7));
    let ports: Vec<u16> = configuration.servers.iter().map(SocketAddr::port).collect();
    assert_eq!(ports, [3306, 3307]);
    assert_eq!(
        configuration.mix,
        Mix { point_selects: 0, has_filter: true, range_size: 10, ..Mix::read_only() }
    );
    assert_eq!(configuration.without_effect, ["TASKSET"]);
}

#[test]
fn an_empty_file_asks_for_the_usual_run() {
    let configuration = read("").unwrap();
    assert_eq!(configuration.mix, Mix::read_write());
    assert_eq!((configuration.rows, configuration.tables, configuration.instances), (1_000_000, 1, 1));
    assert_eq!(configuration.thread_counts.last(), Some(&128));
    assert!(configuration.servers.is_empty());
    assert_eq!(configuration.cluster, ClusterOptions::default());
}

#[test]
fn options_of_the_cluster_become_parameters() {
    let text = "NDBD_NODES=a;b;c;d\nNDB_TOTAL_MEMORY=3G\nNDB_AUTOMATIC_THREAD_CONFIG=no\n\
                NDB_THREAD_CONFIG='ldm={count=1},recv={count=2}'\nSERVER_CPUS=0-1,4\n";
    let cluster = read(text).unwrap().cluster;
    assert_eq!(cluster.data_nodes, 4);
    assert_eq!(cluster.cpus, [0, 1, 4]);
    let parameters: Vec<_> =
        cluster.parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let wanted =
        ["TotalMemoryConfig=3G", "AutomaticThreadConfig=0", "ThreadConfig=ldm={count=1},recv={count=2}"];
    assert_eq!(parameters, wanted);
}

#[test]
fn a_mistake_is_told_with_its_line() {
    for (text, fault) in [
        ("\nSB_POINT_SELECT=1", "autobench.conf:2: SB_POINT_SELECT: unknown option"),
        ("COLOUR=red", "autobench.conf:1: COLOUR: unknown option"),
        ("NDB_COLOUR=red", "autobench.conf:1: NDB_COLOUR: unknown option"),
        ("THREAD_COUNTS_TO_RUN=\"4;0\"", "autobench.conf:1: THREAD_COUNTS_TO_RUN: must be at least 1"),
        ("THREAD_COUNTS_TO_RUN=", "autobench.conf:1: THREAD_COUNTS_TO_RUN: no number"),
        ("MAX_TIME=soon", "autobench.conf:1: MAX_TIME: 'soon' is not a number that fits"),
        ("MAX_TIME=-1", "autobench.conf:1: MAX_TIME: '-1' is not a number that fits"),
        ("MAX_TIME", "autobench.conf:1: not NAME=value"),
        ("ENGINE=\"ndb", "autobench.conf:1: a quote without its end, or words behind the value"),
        ("ENGINE='x; DROP'", "autobench.conf:1: ENGINE: not the name of an engine"),
        (
            "SYSBENCH_TEST=oltp_up",
            "autobench.conf:1: SYSBENCH_TEST: 'oltp_up' is neither oltp_rw nor oltp_ro",
        ),
        (
            "BENCHMARK_TO_RUN=dbt2",
            "autobench.conf:1: BENCHMARK_TO_RUN: only sysbench; for DBT2 there is `latsdb bench tpcc`",
        ),
        ("SERVER_PORT=3306", "autobench.conf:1: SERVER_PORT: a port without SERVER_HOST"),
        (
            "SERVER_HOST=\"127.0.0.1\"\nSERVER_PORT=\"1;2\"",
            "autobench.conf:2: SERVER_PORT: 2 ports for 1 hosts",
        ),
        ("BENCHMARK_CPUS=x", "autobench.conf:1: BENCHMARK_CPUS: 'x' is no CPU and no range of CPUs"),
        ("SB_USE_FILTER=maybe", "autobench.conf:1: SB_USE_FILTER: 'maybe' is neither yes nor no"),
    ] {
        assert_eq!(read(text).err().as_deref(), Some(fault), "{text}");
    }
}
