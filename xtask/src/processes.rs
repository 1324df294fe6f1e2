//! Programs that xtask starts: with a time limit, with their output where it belongs, and never left behind.
//!
//! [`run`] waits for a program to end; a [`Server`] runs beside and is stopped when it is dropped: asked first, then
//! killed, with all its children. The kernel's counts of a process tree (CPU time, resident memory) are read from
//! `/proc`.

use std::fmt;
use std::fs::{self, File};
use std::io::Read as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How often a child is asked whether it has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// How long a server may take to end by itself.
const STOP_LIMIT: Duration = Duration::from_secs(20);

/// The kernel's unit of CPU time in `/proc`, in microseconds: a hundredth of a second on every Linux that Rust runs on.
const TICK_US: u64 = 10_000;

/// Why a command could not do what it should: a report for a person.
#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
}

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }

    /// For `map_err`: what was being done, and what the system said.
    pub(crate) fn while_doing<E: fmt::Display>(what: impl fmt::Display) -> impl FnOnce(E) -> Self {
        move |error| Self::new(format!("{what}: {error}"))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

/// Where the project is, and where it builds.
pub(crate) struct Workspace {
    pub(crate) root: PathBuf,
    pub(crate) target: PathBuf,
    /// The binary that tests start, if it is not the one that they build.
    pub(crate) binary: Option<PathBuf>,
}

/// Which of the two optimised builds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Profile {
    /// The build that users run.
    Release,
    /// Optimised, with debug assertions: what tests run.
    Simulation,
}

impl Profile {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Release => "release",
            Self::Simulation => "simulation",
        }
    }
}

impl Workspace {
    pub(crate) fn find() -> Result<Self, Failure> {
        // `cargo run` says where it runs. The path that was compiled in may be another working tree's, if its target
        // folder was copied.
        let here =
            std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
        let here = Path::new(&here);
        let root = here.parent().ok_or_else(|| Failure::new("xtask has no parent folder"))?.to_path_buf();
        let mut metadata = cargo(&root);
        metadata.args(["metadata", "--no-deps", "--offline", "--format-version", "1"]);
        let text = capture(&mut metadata, Duration::from_secs(60))?;
        let metadata: serde_json::Value =
            serde_json::from_str(&text).map_err(Failure::while_doing("cargo metadata"))?;
        let target = metadata["target_directory"]
            .as_str()
            .ok_or_else(|| Failure::new("cargo metadata names no target directory"))?;
        Ok(Self { target: PathBuf::from(target), root, binary: None })
    }

    /// `cargo` in this workspace.
    pub(crate) fn cargo(&self) -> Command {
        cargo(&self.root)
    }

    /// A folder of our own for data that can be thrown away, made empty.
    pub(crate) fn scratch(&self, name: &str) -> Result<PathBuf, Failure> {
        let path = self.target.join("xtask").join(name);
        match fs::remove_dir_all(&path) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(Failure::new(format!("{}: {error}", path.display()))),
        }
        fs::create_dir_all(&path).map_err(Failure::while_doing(path.display()))?;
        Ok(path)
    }

    /// Builds the binary; gives its path.
    pub(crate) fn build_latsdb(&self, profile: Profile) -> Result<PathBuf, Failure> {
        let mut build = self.cargo();
        build.args(["build", "--package", "latsdb", "--profile", profile.name()]);
        run(&mut build, Duration::from_secs(1_500))?;
        Ok(self.target.join(profile.name()).join("latsdb"))
    }
}

fn cargo(root: &Path) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.current_dir(root);
    command
}

/// The text between two marks.
pub(crate) fn between<'text>(text: &'text str, before: &str, after: &str) -> Option<&'text str> {
    let rest = &text[text.find(before)? + before.len()..];
    rest.find(after).map(|end| &rest[..end])
}

/// A command, for a person.
pub(crate) fn describe(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// Runs a program to its end, its output going where ours goes. Anything but success is a failure.
pub(crate) fn run(command: &mut Command, limit: Duration) -> Result<(), Failure> {
    let status = status_of(command, limit)?;
    if status.success() { Ok(()) } else { Err(Failure::new(format!("{}: {status}", describe(command)))) }
}

fn status_of(command: &mut Command, limit: Duration) -> Result<ExitStatus, Failure> {
    command.stdin(Stdio::null());
    let mut child = command.spawn().map_err(Failure::while_doing(describe(command)))?;
    wait(&mut child, limit).ok_or_else(|| {
        kill_tree(&mut child);
        Failure::new(format!("{}: not done after {} s", describe(command), limit.as_secs()))
    })
}

/// Runs a program; gives its output and how it ended.
pub(crate) fn output_of(command: &mut Command, limit: Duration) -> Result<(ExitStatus, String), Failure> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(Failure::while_doing(describe(command)))?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    // Both are drained at once: a program that fills one pipe while we read the other would wait for ever.
    let errors = thread::spawn(move || drain(stderr));
    let output = thread::spawn(move || drain(stdout));
    let status = wait(&mut child, limit);
    if status.is_none() {
        kill_tree(&mut child);
    }
    let mut text = output.join().unwrap_or_default();
    text.push_str(&errors.join().unwrap_or_default());
    match status {
        Some(status) => Ok((status, text)),
        None => {
            Err(Failure::new(format!("{}: not done after {} s\n{text}", describe(command), limit.as_secs())))
        }
    }
}

fn drain(pipe: Option<impl std::io::Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        // A pipe that breaks ends the text; how the program ended says the rest.
        let _ = pipe.read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Runs a program for what it prints. Anything but success is a failure, with what it printed.
pub(crate) fn capture(command: &mut Command, limit: Duration) -> Result<String, Failure> {
    let (status, text) = output_of(command, limit)?;
    if status.success() {
        Ok(text)
    } else {
        Err(Failure::new(format!("{}: {status}\n{text}", describe(command))))
    }
}

fn wait(child: &mut Child, limit: Duration) -> Option<ExitStatus> {
    let end = Instant::now() + limit;
    loop {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        if Instant::now() >= end {
            return None;
        }
        thread::sleep(POLL_INTERVAL);
    }
}

fn kill_tree(child: &mut Child) {
    for pid in tree(child.id()) {
        signal(pid, "KILL");
    }
    // It may have ended by itself meanwhile.
    let _ = child.wait();
}

/// Sends a signal. The shell's own `kill` is used: it is on every machine, and xtask stays without unsafe code.
pub(crate) fn signal(pid: u32, name: &str) {
    signal_all(&[pid], name);
}

/// The same to several processes, one right after the other.
pub(crate) fn signal_all(pids: &[u32], name: &str) {
    let mut kill = Command::new("sh");
    kill.args(["-c", "signal=$1; shift; kill -s \"$signal\" \"$@\" 2>/dev/null", "sh", name]);
    kill.args(pids.iter().map(u32::to_string));
    // A process that has gone needs no signal.
    let _ = kill.status();
}

/// A program that runs beside us until this is dropped.
pub(crate) struct Server {
    child: Child,
    name: String,
    log: PathBuf,
}

impl Server {
    /// Starts it, with its output in a file.
    pub(crate) fn start(command: &mut Command, name: &str, log: &Path) -> Result<Self, Failure> {
        if let Some(folder) = log.parent() {
            fs::create_dir_all(folder).map_err(Failure::while_doing(folder.display()))?;
        }
        let file = File::create(log).map_err(Failure::while_doing(log.display()))?;
        let errors = file.try_clone().map_err(Failure::while_doing(log.display()))?;
        let child = command.stdin(Stdio::null()).stdout(file).stderr(errors).spawn();
        let child = child.map_err(Failure::while_doing(describe(command)))?;
        Ok(Self { child, name: name.to_owned(), log: log.to_path_buf() })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// All it has printed.
    pub(crate) fn log(&self) -> String {
        fs::read(&self.log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    }

    /// Waits until `ready` says yes of what was printed, or the server ends, or the time is over.
    pub(crate) fn wait_until(
        &mut self,
        limit: Duration,
        ready: impl Fn(&str) -> bool,
    ) -> Result<(), Failure> {
        let end = Instant::now() + limit;
        loop {
            if ready(&self.log()) {
                return Ok(());
            }
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(self.failure(&format!("ended while starting: {status}")));
            }
            if Instant::now() >= end {
                return Err(self.failure(&format!("not ready after {} s", limit.as_secs())));
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    /// A failure with the last lines that the server printed.
    pub(crate) fn failure(&self, what: &str) -> Failure {
        let log = self.log();
        let lines: Vec<&str> = log.lines().collect();
        let tail = lines[lines.len().saturating_sub(40)..].join("\n");
        Failure::new(format!("{}: {what}; its last lines:\n{tail}", self.name))
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)))
    }

    /// Waits for it to end by itself; gives how it ended.
    pub(crate) fn wait(&mut self, limit: Duration) -> Result<ExitStatus, Failure> {
        wait(&mut self.child, limit)
            .ok_or_else(|| self.failure(&format!("not done after {} s", limit.as_secs())))
    }

    /// Asks it to end, and waits; gives how it ended.
    pub(crate) fn stop(&mut self) -> Result<ExitStatus, Failure> {
        signal(self.child.id(), "TERM");
        let status = wait(&mut self.child, STOP_LIMIT);
        status.ok_or_else(|| self.failure("did not end when asked"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.has_ended() {
            return;
        }
        // The tree is read first: children of a process that has ended belong to others.
        let pids = tree(self.child.id());
        signal(self.child.id(), "TERM");
        if wait(&mut self.child, STOP_LIMIT).is_none() {
            for pid in pids {
                signal(pid, "KILL");
            }
            let _ = self.child.wait();
        }
    }
}

/// The first of `count` consecutive ports of loopback that are free now. The system gives none of them to an outgoing
/// connection: a node that is away for a while gets its port again.
pub(crate) fn free_ports(count: u16) -> Result<u16, Failure> {
    const LOWEST: u32 = 15_000;
    static TRIED: AtomicU32 = AtomicU32::new(0);
    let range = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    let given = range.split_whitespace().next().and_then(|low| low.parse().ok()).unwrap_or(32_768);
    let room = u32::max(given, LOWEST + 1_000) - LOWEST - u32::from(count);
    for _ in 0..200 {
        // Other processes look for ports too.
        let tried = TRIED.fetch_add(1, Ordering::Relaxed);
        let first = LOWEST + (std::process::id().wrapping_mul(97) + tried * 32) % room;
        let mut ports = (first..first + u32::from(count)).map(u16::try_from);
        if ports.all(|port| port.is_ok_and(|port| TcpListener::bind(("127.0.0.1", port)).is_ok())) {
            return u16::try_from(first).map_err(|_| Failure::new("a port above the last"));
        }
    }
    Err(Failure::new(format!("no {count} consecutive free ports")))
}

/// A process and all below it.
pub(crate) fn tree(root: u32) -> Vec<u32> {
    let mut parents = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        if let Some(parent) = stat_field(pid, 1) {
            parents.push((u64::from(pid), parent));
        }
    }
    let mut pids = vec![u64::from(root)];
    let mut next = 0;
    while next < pids.len() {
        let parent = pids[next];
        pids.extend(parents.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| *pid));
        next += 1;
    }
    pids.into_iter().filter_map(|pid| u32::try_from(pid).ok()).collect()
}

/// A field of `/proc/PID/stat`, counted from 0 at the state, which follows the name in parentheses.
fn stat_field(pid: u32, index: usize) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields = &text[text.rfind(')')? + 1..];
    fields.split_whitespace().nth(index)?.parse().ok()
}

/// Nothing of a process is left but its place in the table: its files and ports are closed when its last thread ends.
pub(crate) fn has_ended(pid: u32) -> bool {
    // num_threads is field 20 of proc(5).
    command_line(pid).concat().is_empty() && stat_field(pid, 17).is_none_or(|threads| threads <= 1)
}

/// CPU time that a process tree has used so far, user and system, in microseconds; children that have ended are counted
/// by their parents.
pub(crate) fn cpu_us(root: u32) -> u64 {
    // utime, stime, cutime, cstime are fields 14 to 17 of proc(5), which counts from 1 and begins two before ours.
    let ticks = |pid| (11..15).filter_map(|index| stat_field(pid, index)).sum::<u64>();
    tree(root).into_iter().map(ticks).sum::<u64>() * TICK_US
}

/// Resident bytes of one process.
pub(crate) fn resident(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let kilobytes: u64 = between(&text, "VmRSS:", "kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

/// How a process was started.
pub(crate) fn command_line(pid: u32) -> Vec<String> {
    let mut bytes = Vec::new();
    if let Ok(mut file) = File::open(format!("/proc/{pid}/cmdline")) {
        // A process that ends meanwhile has no command line.
        let _ = file.read_to_end(&mut bytes);
    }
    bytes.split(|&byte| byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}
