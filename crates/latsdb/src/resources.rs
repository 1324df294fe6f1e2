//! The machine's resources, and how nodes share them.
//!
//! Memory is the smallest of the machine's and the limits of the cgroups this process is in, version 1 or 2, at every
//! level that can be seen. Two more limits ([`Bound`]) make the system refuse memory: that of addresses, and that of
//! strict overcommit. A configuration above one of them cannot work, so the node does not start. CPUs are those the
//! process may run on, quotas of cgroups counted (`runtime::machine::cpu_count`).
//!
//! Invariant: the memory of all data nodes of `dev` together is at most [`NODES_MEMORY_PERCENT`] of the machine's.

use crate::configuration::are_neighbours;
use crate::terminal::Failure;
use memory::MIB;
use node::config::{ClusterConfig, NodeConfig};
use protocol::NodeRole;
use protocol::layout::{CpuFacts, CpuShare};

/// This much of the memory is for data nodes. The rest is for the system, the clients, and the processes' own code and
/// stacks.
pub(crate) const NODES_MEMORY_PERCENT: u64 = 80;
/// So many addresses go with a byte of memory where they are limited. Chunks of pages that are not reserved in one
/// piece take twice their size. Threads' stacks and the C library take some.
const ADDRESSES_PER_BYTE: u64 = 2;
/// The smallest `TotalMemoryConfig`.
pub(crate) const NODE_MEMORY_MINIMUM: u64 = 256 * MIB;

/// The resources that this process may use.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Machine {
    /// Bytes.
    pub(crate) memory: u64,
    /// The limit above which the system refuses memory, if there is one.
    pub(crate) bound: Option<Bound>,
    /// CPUs whose time the process may use, at least 1.
    pub(crate) cpu_count: u16,
    /// The CPUs that it may run on.
    pub(crate) cpus: Vec<u16>,
}

/// The bytes that the system gives to a process at most, and the name of the limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Bound {
    pub(crate) bytes: u64,
    pub(crate) name: &'static str,
}

impl Machine {
    /// Looks.
    pub(crate) fn measure() -> Self {
        let read = |path: &str| std::fs::read_to_string(path).ok();
        let cpu_count = runtime::machine::cpu_count().max(1);
        let (memory, bound) = memory(&read);
        Self { memory, bound, cpu_count, cpus: runtime::machine::cpus() }
    }

    /// The CPUs of a node, of which others of the configuration may be on this machine.
    pub(crate) fn cpu_share(&self, config: &ClusterConfig, me: &NodeConfig) -> CpuShare {
        if me.role == NodeRole::Management {
            return CpuShare::ONE;
        }
        let here = || config.nodes.iter().filter(|node| are_neighbours(node, me));
        let sharing = here().filter(|node| node.role != NodeRole::Management).count();
        CpuShare::of(&CpuFacts {
            usable: self.cpu_count,
            has_quota: usize::from(self.cpu_count) < self.cpus.len(),
            configured: me.threads.cpu_count,
            sharing: u16::try_from(sharing).unwrap_or(u16::MAX),
            has_neighbours: here().count() > 1,
        })
    }

    /// `TotalMemoryConfig` of a node when `data_nodes` of them run here: bytes, whole mebibytes.
    pub(crate) fn memory_share(&self, data_nodes: u16) -> Result<u64, Failure> {
        let nodes = data_nodes.max(1);
        let memory = self.memory / 100 * NODES_MEMORY_PERCENT / u64::from(nodes) / MIB * MIB;
        if memory < NODE_MEMORY_MINIMUM {
            let (have, need) = (self.memory / MIB, NODE_MEMORY_MINIMUM / MIB);
            return Err(Failure::new(format!(
                "{nodes} data nodes need {need} MiB of memory each, and may use {NODES_MEMORY_PERCENT} % of the {have} MiB \
                 that this machine gives: fewer of them (--data-nodes) fit"
            )));
        }
        Ok(memory)
    }
}

/// Bytes that this process may use, from the files that `read` gives, and those that it can get at most.
fn memory(read: &dyn Fn(&str) -> Option<String>) -> (u64, Option<Bound>) {
    let meminfo = read("/proc/meminfo").unwrap_or_default();
    let limits = read("/proc/self/limits").unwrap_or_default();
    let addresses = address_space(&limits).map(|bytes| Bound { bytes, name: "ulimit -v" });
    let is_strict = read("/proc/sys/vm/overcommit_memory").is_some_and(|mode| mode.trim() == "2");
    let commit = kibibytes(&meminfo, "CommitLimit:").filter(|_| is_strict);
    let commit = commit.map(|bytes| Bound { bytes, name: "CommitLimit of vm.overcommit_memory=2" });
    let machine = kibibytes(&meminfo, "MemTotal:").unwrap_or(0);
    let bounds = [commit, addresses.map(|bound| Bound { bytes: bound.bytes / ADDRESSES_PER_BYTE, ..bound })];
    let least = bounds.iter().flatten().fold(machine, |least, bound| least.min(bound.bytes));
    let bound = [commit, addresses].into_iter().flatten().min_by_key(|bound| bound.bytes);
    (of_groups(read, least), bound)
}

/// The least of `least` and the limits of cgroups.
fn of_groups(read: &dyn Fn(&str) -> Option<String>, mut least: u64) -> u64 {
    let groups = read("/proc/self/cgroup").unwrap_or_default();
    for line in groups.lines() {
        let Some((mount, file, path)) = memory_controller(line) else { continue };
        // Inside a container the path may name directories outside of it, which are not there; the limit then is at the
        // root.
        let mut directory = path;
        loop {
            let limit = read(&format!("{mount}{directory}/{file}"));
            if let Some(limit) =
                limit.and_then(|text| text.trim().parse::<u64>().ok()).filter(|limit| *limit > 0)
            {
                least = least.min(limit);
            }
            match directory.rfind('/') {
                Some(end) => directory = &directory[..end],
                None => break,
            }
        }
    }
    least
}

/// Where a line of /proc/self/cgroup says that the memory limit is: mount point, file and path (empty for the root).
fn memory_controller(line: &str) -> Option<(&'static str, &'static str, &str)> {
    let mut parts = line.splitn(3, ':');
    let (number, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
    let path = path.trim_end_matches('/');
    if number == "0" && controllers.is_empty() {
        return Some(("/sys/fs/cgroup", "memory.max", path));
    }
    let is_memory = controllers.split(',').any(|controller| controller == "memory");
    is_memory.then_some(("/sys/fs/cgroup/memory", "memory.limit_in_bytes", path))
}

/// A line of /proc/meminfo, in bytes.
fn kibibytes(meminfo: &str, name: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// The limit of addresses in /proc/self/limits, in bytes; None if there is none.
fn address_space(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests;
