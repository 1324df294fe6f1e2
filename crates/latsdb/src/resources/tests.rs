use super::*;

const GIB: u64 = 1024 * MIB;
const MEMINFO: &str = "MemTotal:       16777216 kB\nMemFree:         1000 kB\n";

fn memory_of(files: &[(&str, &str)]) -> u64 {
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
fn shares() {
    let share = |gib: u64, cpus: u16, nodes: u16| {
        let share = Machine { memory: gib * GIB, cpu_count: cpus }.share(nodes).expect("enough memory");
        assert!(share.memory * u64::from(nodes) <= gib * GIB / 100 * NODES_MEMORY_PERCENT);
        assert!(share.memory.is_multiple_of(MIB));
        (share.cpu_count, share.ldm_count, share.spin)
    };
    assert_eq!(share(24, 2, 2), (2, 1, SpinMethod::NoSpinning));
    assert_eq!(share(24, 1, 2), (1, 1, SpinMethod::NoSpinning));
    assert_eq!(share(24, 4, 2), (2, 2, SpinMethod::NoSpinning));
    assert_eq!(share(24, 8, 1), (8, 8, SpinMethod::NoSpinning));
    assert_eq!(share(24, 9, 2), (4, 4, SpinMethod::CostBasedSpinning));
    assert_eq!(share(24, 16, 4), (4, 4, SpinMethod::NoSpinning));
    let small = Machine { memory: 600 * MIB, cpu_count: 2 };
    assert!(small.share(2).is_err());
    assert!(small.share(1).is_ok());
}

#[test]
fn this_machine_has_something() {
    let machine = Machine::measure();
    assert!(machine.memory > 0 && machine.cpu_count > 0);
}
