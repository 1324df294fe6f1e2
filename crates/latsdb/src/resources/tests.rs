use super::*;

const GIB: u64 = 1024 * MIB;
const MEMINFO: &str = "MemTotal:       16777216 kB\nMemFree:         1000 kB\n";

fn memory_of(files: &[(&str, &str)]) -> u64 {
    memory_and_bound(files).0
}

fn memory_and_bound(files: &[(&str, &str)]) -> (u64, Option<Bound>) {
    memory(&|path| files.iter().find(|(name, _)| *name == path).map(|(_, text)| (*text).to_owned()))
}

#[test]
fn memory_without_cgroups() {
    assert_eq!(memory_of(&[("/proc/meminfo", MEMINFO)]), 16 * GIB);
    assert_eq!(memory_of(&[("/proc/meminfo", "nonsense")]), 0);
}

#[test]
fn the_tightest_limit_of_version_2_counts() {
    let files = [
        ("/proc/meminfo", MEMINFO),
        ("/proc/self/cgroup", "0::/user/shell\n"),
        ("/sys/fs/cgroup/user/shell/memory.max", "max\n"),
        ("/sys/fs/cgroup/user/memory.max", "2147483648\n"),
        ("/sys/fs/cgroup/memory.max", "4294967296\n"),
    ];
    assert_eq!(memory_of(&files), 2 * GIB);
}

#[test]
fn version_1_with_a_path_that_is_outside_of_the_container() {
    let files = [
        ("/proc/meminfo", MEMINFO),
        ("/proc/self/cgroup", "9:name=systemd:/\n4:memory,hugetlb:/docker/abc\n0::/\n"),
        ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "1073741824\n"),
    ];
    assert_eq!(memory_of(&files), GIB);
    let unlimited = [files[0], files[1], (files[2].0, "9223372036854771712\n")];
    assert_eq!(memory_of(&unlimited), 16 * GIB);
}

#[test]
fn memory_that_the_system_refuses_is_not_used() {
    let meminfo = format!("{MEMINFO}CommitLimit:     6291456 kB\n");
    let limits = |addresses: &str| {
        format!(
            "Limit                     Soft Limit           Hard Limit           Units     \n\
             Max cpu time              unlimited            unlimited            seconds   \n\
             Max address space         {addresses}          unlimited            bytes     \n"
        )
    };
    let of = |mode: &str, addresses: &str| {
        let files = [
            ("/proc/meminfo", meminfo.as_str()),
            ("/proc/sys/vm/overcommit_memory", mode),
            ("/proc/self/limits", &limits(addresses)),
        ];
        let (memory, bound) = memory_and_bound(&files);
        (memory, bound.map(|bound| (bound.bytes, bound.name)))
    };
    assert_eq!(of("0\n", "unlimited"), (16 * GIB, None));
    assert_eq!(of("1\n", "unlimited"), (16 * GIB, None));
    let commit = Some((6 * GIB, "CommitLimit of vm.overcommit_memory=2"));
    assert_eq!(of("2\n", "unlimited"), (6 * GIB, commit));
    assert_eq!(of("0\n", "4294967296"), (2 * GIB, Some((4 * GIB, "ulimit -v"))));
    assert_eq!(of("2\n", "8589934592"), (4 * GIB, commit));
    assert_eq!(of("0\n", "4398046511104"), (16 * GIB, Some((4096 * GIB, "ulimit -v"))));
}

fn machine(memory: u64, cpu_count: u16) -> Machine {
    Machine { memory, bound: None, cpu_count, cpus: (0..cpu_count).collect() }
}

#[test]
fn memory_is_divided() {
    for (gib, nodes) in [(24, 1), (24, 2), (7, 3)] {
        let share = machine(gib * GIB, 2).memory_share(nodes).expect("enough memory");
        assert!(share * u64::from(nodes) <= gib * GIB / 100 * NODES_MEMORY_PERCENT);
        assert!(share.is_multiple_of(MIB));
    }
    assert!(machine(600 * MIB, 2).memory_share(2).is_err());
    assert!(machine(600 * MIB, 2).memory_share(1).is_ok());
}

#[test]
fn cpus_are_shared_with_the_nodes_of_the_same_machine() {
    let text = "[ndb_mgmd]\nNodeId=1\nHostName=10.0.0.1\n[ndbd]\nNodeId=2\nHostName=10.0.0.2\n\
                [ndbd]\nNodeId=3\nHostName=10.0.0.1\n[ndbd]\nNodeId=4\nHostName=10.0.0.3\n\
                [ndbd]\nNodeId=5\nHostName=10.0.0.3\nNumCPUs=3\n[mysqld]\nNodeId=6\nHostName=10.0.0.4\n";
    let config = crate::configuration::parse(text, "config.ini").expect("a good configuration");
    let share = |machine: &Machine, id| {
        let share = machine.cpu_share(&config, config.node(types::NodeId(id)).expect("a node"));
        (share.workers, share.ldm_count, share.is_pinned, share.may_spin)
    };
    let eight = machine(GIB, 8);
    assert_eq!(share(&eight, 1), (1, 1, false, true), "a management node has little to do");
    assert_eq!(share(&eight, 2), (8, 8, true, true));
    assert_eq!(share(&eight, 3), (8, 8, false, true));
    assert_eq!(share(&eight, 4), (8, 4, false, false));
    assert_eq!(share(&eight, 5), (3, 3, false, true));
    assert_eq!(share(&eight, 6), (8, 8, true, true));
    // A container that may run on 8 CPUs and use the time of 2.
    let container = Machine { cpu_count: 2, ..eight };
    assert_eq!(share(&container, 2), (2, 2, false, false));
}

#[test]
fn this_machine_has_something() {
    let machine = Machine::measure();
    assert!(machine.memory > 0 && machine.cpu_count > 0 && !machine.cpus.is_empty());
}
