//! The machine's offers and permissions: CPUs, priorities, descriptors, CPU time, randomness.
//!
//! Everything here degrades to "not permitted" without failing the node; the caller decides whether that deserves a
//! line in the log.

use rustix::process::{Resource, Rlimit, getpriority_process, getrlimit, setpriority_process, setrlimit};
use rustix::thread::{CpuSet, gettid, sched_getaffinity, sched_setaffinity};
use stdx::Duration;

/// The CPUs that this process may run on, in order. A quota may allow less time than that of all of them.
#[must_use]
pub fn cpus() -> Vec<u16> {
    let Ok(set) = sched_getaffinity(None) else { return Vec::new() };
    (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).filter_map(|cpu| u16::try_from(cpu).ok()).collect()
}

/// `NumCPUs = 0`: CPUs that this process may use, affinity and cgroup quotas counted.
#[must_use]
pub fn cpu_count() -> u16 {
    let count = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    u16::try_from(count).unwrap_or(u16::MAX)
}

/// Lets the process open as many descriptors as it is permitted to, and says how many that are.
#[must_use]
pub fn raise_open_files_limit() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    let got = if setrlimit(Resource::Nofile, raised).is_ok() { limit.maximum } else { limit.current };
    got.unwrap_or(u64::MAX)
}

/// Binds the calling thread to these CPUs; an error if one of them is not there.
pub(crate) fn pin_this_thread(cpus: &[u16]) -> rustix::io::Result<()> {
    let mut set = CpuSet::new();
    for cpu in cpus {
        if usize::from(*cpu) >= CpuSet::MAX_CPU {
            return Err(rustix::io::Errno::INVAL);
        }
        set.set(usize::from(*cpu));
    }
    sched_setaffinity(None, &set)
}

/// Gives the calling thread a priority of `ThreadConfig`: 0 is lowest, 10 highest, 5 what it has anyway.
pub(crate) fn set_priority_of_this_thread(priority: u8) -> rustix::io::Result<()> {
    let nice = (5 - i32::from(priority)) * 4;
    setpriority_process(Some(gettid()), nice.clamp(-20, 19))
}

/// Gives the calling thread short turns on a CPU that it shares: [`TURN`]. Otherwise a turn takes some milliseconds,
/// and a thread that ends its turn early loses the rest. Kernels before 6.12 take no notice.
pub(crate) fn take_short_turns() -> std::io::Result<()> {
    let attributes = SchedulerAttributes {
        size: u32::try_from(size_of::<SchedulerAttributes>()).unwrap_or(0),
        policy: 0,
        flags: KEEP_POLICY,
        nice: getpriority_process(Some(gettid()))?,
        priority: 0,
        runtime: u64::try_from(TURN.as_nanos()).unwrap_or(0),
        deadline: 0,
        period: 0,
    };
    #[expect(unsafe_code, reason = "sched_setattr is not in rustix")]
    // SAFETY: the kernel reads `size` bytes, which are those of `attributes`, and writes nothing.
    let result = unsafe { syscall(SCHED_SETATTR, 0_i32, &raw const attributes, 0_u32) };
    if result == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// Two slices of long work.
const TURN: Duration = Duration::from_micros(100);

#[cfg(target_arch = "x86_64")]
const SCHED_SETATTR: i64 = 314;
#[cfg(not(target_arch = "x86_64"))]
const SCHED_SETATTR: i64 = 274;
const KEEP_POLICY: u64 = 8;

/// `struct sched_attr`, in its first form.
#[repr(C)]
struct SchedulerAttributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

/// 32 bytes from a cryptographic source; `None` if the system has none.
#[must_use]
pub fn random_seed() -> Option<[u8; 32]> {
    let mut seed = [0; 32];
    rustls::crypto::ring::default_provider().secure_random.fill(&mut seed).ok()?;
    Some(seed)
}

/// CPU time of the calling thread in user mode and in the kernel.
pub(crate) fn cpu_time_of_this_thread() -> (Duration, Duration) {
    let mut usage = ResourceUsage::default();
    #[expect(unsafe_code, reason = "getrusage is not in rustix")]
    // SAFETY: `usage` has the layout of `struct rusage` on 64-bit Linux and lives through the call.
    let result = unsafe { getrusage(RUSAGE_THREAD, &raw mut usage) };
    if result == 0 {
        (usage.user.duration(), usage.system.duration())
    } else {
        (Duration::ZERO, Duration::ZERO)
    }
}

const RUSAGE_THREAD: i32 = 1;

/// `struct rusage` on 64-bit Linux: two times and fourteen counters.
#[repr(C)]
#[derive(Default)]
struct ResourceUsage {
    user: TimeValue,
    system: TimeValue,
    counters: [i64; 14],
}

#[repr(C)]
#[derive(Default)]
struct TimeValue {
    seconds: i64,
    microseconds: i64,
}

impl TimeValue {
    fn duration(&self) -> Duration {
        let seconds = Duration::from_secs(u64::try_from(self.seconds).unwrap_or(0));
        seconds + Duration::from_micros(u64::try_from(self.microseconds).unwrap_or(0))
    }
}

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
compile_error!(
    "the runtime meets 64-bit Linux only: epoll, eventfd, timer descriptors, and the layout of struct rusage"
);

#[expect(unsafe_code, reason = "declares functions of the C library that std links anyway")]
unsafe extern "C" {
    fn getrusage(who: i32, usage: *mut ResourceUsage) -> i32;
    fn syscall(number: i64, ...) -> i64;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_with_short_turns_keeps_its_priority() {
        let niceness = std::thread::spawn(|| {
            set_priority_of_this_thread(3).unwrap();
            if let Err(error) = take_short_turns() {
                eprintln!("skipped: no turns of a thread's own here: {error}");
            }
            getpriority_process(Some(gettid())).unwrap()
        });
        assert_eq!(niceness.join().unwrap(), 8);
    }
}
