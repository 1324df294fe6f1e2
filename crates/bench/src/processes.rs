//! Processes of a cluster under test: started, found, paused, killed; never left behind.
//!
//! **Invariants.** A [`Process`] is killed when it is dropped, its children with it if they die with their parent, as
//! LatsDB's nodes do. Signals are sent to own children, or to children of theirs that were found a moment ago.

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{CpuSet, sched_setaffinity};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Lines of a log that are told when a process fails.
const LAST_LINES: usize = 15;

/// A program at work, and its log.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts it; what it prints goes to the end of the log.
    pub(crate) fn start(command: &mut Command, log: &Path) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("{}: {error}", log.display());
        let output = File::options().create(true).append(true).open(log).map_err(failed)?;
        let errors = output.try_clone().map_err(failed)?;
        let child = command.stdin(Stdio::null()).stdout(output).stderr(errors).spawn();
        let name = command.get_program().to_string_lossy().into_owned();
        Ok(Self { child: child.map_err(|error| format!("{name}: {error}"))?, log: log.to_path_buf() })
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn log(&self) -> String {
        fs::read(&self.log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    }

    /// How it ended, if it has.
    pub(crate) fn status(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// A report with the end of the log.
    pub(crate) fn failure(&self, what: &str) -> String {
        let log = self.log();
        let lines: Vec<&str> = log.lines().collect();
        let last = lines[lines.len().saturating_sub(LAST_LINES)..].join("\n");
        format!("{what}; the end of {}:\n{last}", self.log.display())
    }

    /// Waits for its end.
    pub(crate) fn wait(&mut self, limit: Duration) -> Option<ExitStatus> {
        let end = Instant::now() + limit;
        loop {
            let status = self.status();
            if status.is_some() || Instant::now() >= end {
                return status;
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    /// Asks it to end; kills it if it does not. Gives whether it ended by itself, and well.
    pub(crate) fn stop(mut self, limit: Duration) -> bool {
        signal(self.id(), Signal::TERM);
        self.wait(limit).is_some_and(|status| status.success())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself: then there is nobody to kill, and the wait is over at once.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a signal; false if there is no such process.
pub(crate) fn signal(pid: u32, signal: Signal) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| kill_process(pid, signal) != Err(Errno::SRCH))
}

/// The children of a process, with their command lines.
pub(crate) fn children(parent: u32) -> Vec<(u32, Vec<String>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        if parent_of(pid) == Some(parent) {
            // A process that ends meanwhile has no command line.
            let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let words = bytes.split(|byte| *byte == 0);
            found.push((pid, words.map(|word| String::from_utf8_lossy(word).into_owned()).collect()));
        }
    }
    found
}

fn parent_of(pid: u32) -> Option<u32> {
    status_field(pid, 1)?.parse().ok()
}

/// CPU time that a process has used; none if it has ended.
pub(crate) fn cpu_time(pid: u32) -> Duration {
    user_time(pid) + ticks(pid, 12)
}

/// The part of it that was spent in the program, not in the kernel.
pub(crate) fn user_time(pid: u32) -> Duration {
    ticks(pid, 11)
}

/// A field that counts the clock's ticks.
fn ticks(pid: u32, field: usize) -> Duration {
    let ticks = status_field(pid, field).and_then(|ticks| ticks.parse::<u64>().ok()).unwrap_or(0);
    let per_second = rustix::param::clock_ticks_per_second().max(1);
    Duration::from_millis(ticks * 1_000 / per_second)
}

/// A field behind the name of the program in the kernel's line on a process.
fn status_field(pid: u32, index: usize) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields = &text[text.rfind(')')? + 1..];
    fields.split_whitespace().nth(index).map(str::to_owned)
}

/// CPUs in the form of `taskset`: `0-3,8`.
pub(crate) fn cpu_list(text: &str) -> Result<Vec<usize>, String> {
    let mut cpus = Vec::new();
    for piece in text.split(',').map(str::trim).filter(|piece| !piece.is_empty()) {
        let (first, last) = piece.split_once('-').unwrap_or((piece, piece));
        let number = |word: &str| word.parse::<usize>().ok().filter(|cpu| *cpu < CpuSet::MAX_CPU);
        let (Some(first), Some(last)) = (number(first), number(last)) else {
            return Err(format!("'{piece}' is no CPU and no range of CPUs"));
        };
        cpus.extend(first..=last);
    }
    Ok(cpus)
}

/// Binds this thread to these CPUs; to none if there are none.
pub(crate) fn bind_to(cpus: &[usize]) -> Result<(), String> {
    bind(None, cpus)
}

/// Binds a process that has just begun to these CPUs; its threads and children will be there.
pub(crate) fn bind_process(pid: u32, cpus: &[usize]) -> Result<(), String> {
    bind(i32::try_from(pid).ok().and_then(Pid::from_raw), cpus)
}

fn bind(pid: Option<Pid>, cpus: &[usize]) -> Result<(), String> {
    if cpus.is_empty() {
        return Ok(());
    }
    let mut set = CpuSet::new();
    cpus.iter().for_each(|cpu| set.set(*cpu));
    sched_setaffinity(pid, &set).map_err(|error| format!("CPUs {cpus:?}: {error}"))
}
