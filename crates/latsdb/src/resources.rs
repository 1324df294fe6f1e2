//! The machine's resources, and how the data nodes of `dev` share them.
//!
//! Memory is the smallest of the machine's and the limits of the cgroups this process is in, version 1 or 2, at every
//! level that can be seen. CPUs are those the process may run on, quotas of cgroups counted
//! (`runtime::machine::cpu_count`).
//!
//! Invariants: the shares of all nodes together are at most [`NODES_MEMORY_PERCENT`] of the memory; each node has at
//! least one CPU in its plan and never more than there are.

use crate::terminal::Failure;
use memory::MIB;
use runtime::SpinMethod;

/// This much of the memory is for data nodes. The rest is for the system, the clients, and the processes' own code and
/// stacks.
pub(crate) const NODES_MEMORY_PERCENT: u64 = 80;
/// The smallest `TotalMemoryConfig`.
pub(crate) const NODE_MEMORY_MINIMUM: u64 = 256 * MIB;

/// The resources that this process may use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Machine {
    /// Bytes.
    pub(crate) memory: u64,
    /// At least 1.
    pub(crate) cpu_count: u16,
}

/// The share of one data node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Share {
    /// `TotalMemoryConfig`: bytes, whole mebibytes.
    pub(crate) memory: u64,
    /// `NumCPUs`.
    pub(crate) cpu_count: u16,
    /// How many of its threads own partitions.
    pub(crate) ldm_count: u16,
    /// `SpinMethod`.
    pub(crate) spin: SpinMethod,
}

impl Machine {
    /// Looks.
    pub(crate) fn measure() -> Self {
        let read = |path: &str| std::fs::read_to_string(path).ok();
        Self { memory: memory(&read), cpu_count: runtime::machine::cpu_count().max(1) }
    }

    /// One node's share when `data_nodes` of them run here.
    ///
    /// Two threads per node are the least that shows what several threads do, so on small machines threads outnumber
    /// CPUs. Then, and when no CPU would be left for clients, threads must not spin: a spinning thread keeps the one
    /// from running that it waits for. Threads without a CPU of their own get no slots either. A write that has to
    /// visit them waits for a wake-up, and costs one, where it could be in a thread that is awake.
    pub(crate) fn share(&self, data_nodes: u16) -> Result<Share, Failure> {
        let nodes = data_nodes.max(1);
        let memory = self.memory / 100 * NODES_MEMORY_PERCENT / u64::from(nodes) / MIB * MIB;
        if memory < NODE_MEMORY_MINIMUM {
            let (have, need) = (self.memory / MIB, NODE_MEMORY_MINIMUM / MIB);
            return Err(Failure::new(format!(
                "{nodes} data nodes need {need} MiB of memory each, and may use {NODES_MEMORY_PERCENT} % of the {have} MiB \
                 that this machine gives: fewer of them (--data-nodes) fit"
            )));
        }
        let cpu_count = (self.cpu_count / nodes).max(2).min(self.cpu_count);
        let is_crowded = u32::from(cpu_count) * u32::from(nodes) >= u32::from(self.cpu_count);
        let spin = if is_crowded { SpinMethod::NoSpinning } else { SpinMethod::CostBasedSpinning };
        let ldm_count = (self.cpu_count / nodes).max(1).min(cpu_count);
        Ok(Share { memory, cpu_count, ldm_count, spin })
    }
}

/// Bytes that this process may use, from the files that `read` gives.
fn memory(read: &dyn Fn(&str) -> Option<String>) -> u64 {
    let machine = read("/proc/meminfo").as_deref().and_then(memory_total).unwrap_or(0);
    let groups = read("/proc/self/cgroup").unwrap_or_default();
    let mut least = machine;
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

/// `MemTotal`, in bytes.
fn memory_total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests;
