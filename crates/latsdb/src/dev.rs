//! `latsdb dev`: a whole cluster on this machine, one process per node, in one command.
//!
//! ```text
//! plan (dev/plan.rs)      ports, memory and CPUs per node; config.ini is written, and read back as by any node
//! start                   one child per node, with a user's command line; logs in DIR/node<N>/latsdb_<N>.log
//! wait until ready        every MySQL port greets, and the management node can check the replicas
//! watch                   until Ctrl-C, SIGTERM, SIGHUP, or until no node is left; a node that dies is reported, and
//!                         started again (`restart`: how soon); one that was asked to stop stays away
//! stop                    with rows on disk all together, as `shutdown` does; else, or if that fails, data and SQL
//!                         nodes, then the management nodes: SIGTERM, and SIGKILL for those that do not stop in time
//! ```
//! `dev` is the angel of its nodes (`angel`): they die with it, whatever ends it.
//!
//! Exit code: 0 after an orderly stop; 1 if the cluster could not start, if a node had to be killed, or if all nodes
//! ended and not by request.
//!
//! Invariant: when `run` returns, no node runs any more.

mod plan;

use crate::command_line::DevOptions;
use crate::configuration::{self, role_name};
use crate::management_client;
use crate::processes::{self, Happening, NodeProcess};
use crate::program;
use crate::restart::{Ending, Lives};
use crate::stop_signal::StopSignal;
use crate::terminal::{self, Failure};
use node::config::NodeConfig;
use plan::Plan;
use protocol::NodeRole;
use rustix::process::Signal;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use types::NodeId;

/// How often a cluster that starts is asked whether it is ready.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// How often progress is told while the cluster starts.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);
/// How often it is told what nodes wait for.
const DETAILS_INTERVAL: Duration = Duration::from_secs(10);
/// Longest wait for the greeting of a MySQL server that has accepted a connection.
const GREETING_TIMEOUT: Duration = Duration::from_secs(2);
/// A node that was asked to stop is killed after this time.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);
/// Lines of its log that are shown when a node dies.
const LAST_LINES: usize = 10;
/// How much of a log is read for that.
const LAST_BYTES: u64 = 16 * 1024;

const WARNING: &str = "note: rows live in memory only: a full stop of the cluster loses all of them";

/// Runs the cluster until it is stopped.
pub(crate) fn run(options: &DevOptions) -> Result<ExitCode, Failure> {
    let mut stop = StopSignal::listen()?;
    let home = Home::open(&options.dir)?;
    let plan = Plan::make(options, &home.directory)?;
    terminal::say(&plan.summary());
    if !plan.config.keeps_rows() {
        terminal::say(WARNING);
    }
    if options.http_port.is_some() {
        terminal::say("note: the HTTP console comes with a later version: --http-port has no effect yet");
    }
    // Without rows on disk, what nodes know of an earlier cluster keeps them from beginning anew.
    let is_initial = options.initial || !plan.config.keeps_rows();
    let mut cluster = Cluster::start(&home, plan, is_initial)?;
    match cluster.wait_until_ready(&mut stop) {
        Ok(true) => terminal::say(&cluster.ready_line()),
        Ok(false) => return cluster.stop(&mut stop),
        Err(failure) => {
            cluster.stop(&mut stop)?;
            return Err(failure);
        }
    }
    cluster.watch(&mut stop)
}

/// The directory of the cluster, locked against a second `latsdb dev`.
struct Home {
    directory: PathBuf,
    _lock: File,
}

impl Home {
    fn open(path: &Path) -> Result<Self, Failure> {
        let failed =
            |what: &str, error: io::Error| Failure::new(format!("cannot {what} {}: {error}", path.display()));
        std::fs::create_dir_all(path).map_err(|error| failed("make the directory", error))?;
        let directory = path.canonicalize().map_err(|error| failed("use the directory", error))?;
        let lock = OpenOptions::new().create(true).truncate(false).write(true).open(directory.join("lock"));
        let lock = lock.map_err(|error| failed("write into the directory", error))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { directory, _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(Failure::new(format!(
                "another `latsdb dev` runs in {}; choose another directory with --dir",
                directory.display()
            ))),
            Err(TryLockError::Error(error)) => Err(failed("lock the directory", error)),
        }
    }
}

/// A node that was started.
struct Member {
    config: NodeConfig,
    process: NodeProcess,
    log: PathBuf,
    /// Where this start's part of the log begins.
    log_start: u64,
    is_ready: bool,
    started: Instant,
    lives: Lives,
    /// When it is to be started again.
    restart_at: Option<Instant>,
    /// When it is told that it has not answered yet since it was started again.
    remind_at: Instant,
}

/// The next condition that is awaited while the cluster starts, for a person.
const MANAGEMENT_KNOWS: &str = "the management node to know all others";

impl Member {
    fn name(&self) -> String {
        format!("node {} ({})", self.config.node, role_name(self.config.role))
    }

    /// It has ended, and is not to be started again.
    fn stays_away(&self) -> bool {
        self.process.status().is_some() && self.restart_at.is_none()
    }

    /// Its last life ended as somebody wanted it.
    fn was_asked_to_stop(&self) -> bool {
        self.process.status().is_some_and(|status| Ending::of(status) == Ending::Stopped)
    }

    /// Whether clients can talk with it.
    fn check_ready(&mut self) -> bool {
        if !self.is_ready
            && let Some(address) = self.address()
        {
            self.is_ready = answers(address, self.config.role);
        }
        self.is_ready
    }

    /// Where clients connect.
    fn address(&self) -> Option<SocketAddr> {
        let port = self.config.mysql.as_ref().map(|mysql| mysql.port).or(self.config.management_port)?;
        let bind = self.config.mysql.as_ref().and_then(|mysql| mysql.bind_address.as_deref());
        configuration::listen_address(&self.config.host, bind, port).ok()
    }

    /// The end of what it has logged since it was started.
    fn last_lines(&self) -> Vec<String> {
        let read = || -> io::Result<Vec<u8>> {
            let mut file = File::open(&self.log)?;
            let size = file.metadata()?.len();
            file.seek(SeekFrom::Start(self.log_start.max(size.saturating_sub(LAST_BYTES))))?;
            let mut bytes = Vec::new();
            file.take(LAST_BYTES).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        let bytes = read().unwrap_or_default();
        last_lines(&String::from_utf8_lossy(&bytes))
    }
}

/// The data nodes (of all, ascending) that hold the same rows as `node`.
fn replica_group(nodes: &[NodeId], replicas: usize, node: NodeId) -> &[NodeId] {
    nodes.chunks(replicas.max(1)).find(|group| group.contains(&node)).unwrap_or_default()
}

fn last_lines(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].iter().map(|line| (*line).to_owned()).collect()
}

/// Whether a server accepts connections; a MySQL server also has to greet.
fn answers(address: SocketAddr, role: NodeRole) -> bool {
    /// First byte of a greeting behind the packet's header of four bytes: version 10 of the protocol.
    const PROTOCOL_VERSION: u8 = 10;
    let Ok(mut stream) = TcpStream::connect_timeout(&address, GREETING_TIMEOUT) else { return false };
    if role == NodeRole::Management {
        return true;
    }
    let mut start = [0; 5];
    let read = stream.set_read_timeout(Some(GREETING_TIMEOUT)).and_then(|()| stream.read_exact(&mut start));
    read.is_ok() && start[4] == PROTOCOL_VERSION
}

/// All nodes.
struct Cluster {
    plan: Plan,
    program: PathBuf,
    directory: PathBuf,
    members: Vec<Member>,
}

impl Cluster {
    /// Starts one process per node, the management nodes first. If one cannot be started, those that were are killed.
    fn start(home: &Home, mut plan: Plan, is_initial: bool) -> Result<Self, Failure> {
        let program = program::path()
            .map_err(|error| Failure::new(format!("cannot find the program itself: {error}")))?;
        let mut nodes = plan.config.nodes.clone();
        nodes.sort_by_key(|node| (node.role != NodeRole::Management, node.node));
        plan.release_ports();
        let mut cluster = Self { plan, program, directory: home.directory.clone(), members: Vec::new() };
        for config in nodes {
            let member = cluster.start_member(config, is_initial)?;
            cluster.members.push(member);
        }
        Ok(cluster)
    }

    /// Starts a node's process. `is_initial`: what its directory knows of a cluster is of an earlier one.
    fn start_member(&self, config: NodeConfig, is_initial: bool) -> Result<Member, Failure> {
        let directory = self.directory.join(format!("node{}", config.node));
        let log = directory.join(format!("latsdb_{}.log", config.node));
        let failed = |error: io::Error| Failure::new(format!("cannot start node {}: {error}", config.node));
        let unusable = |path: &Path, error: io::Error| {
            Failure::new(format!("cannot start node {}: {}: {error}", config.node, path.display()))
        };
        std::fs::create_dir_all(&directory).map_err(|error| unusable(&directory, error))?;
        let output = OpenOptions::new().create(true).append(true).open(&log);
        let output = output.map_err(|error| unusable(&log, error))?;
        let log_start = output.metadata().map_err(failed)?.len();
        let mut command = Command::new(&self.program);
        command.args(self.plan.arguments(&config, is_initial));
        command.current_dir(&self.directory).stdin(Stdio::null());
        command.stdout(output.try_clone().map_err(failed)?).stderr(output);
        let process = NodeProcess::start(command).map_err(failed)?;
        let (started, lives) = (Instant::now(), Lives::new(true));
        let remind_at = started + DETAILS_INTERVAL;
        Ok(Member {
            config,
            process,
            log,
            log_start,
            is_ready: false,
            started,
            lives,
            restart_at: None,
            remind_at,
        })
    }

    /// Waits until clients can connect to every node and `latsdb mgm` finds a complete cluster. False if somebody wants
    /// the cluster to stop first.
    fn wait_until_ready(&mut self, stop: &mut StopSignal) -> Result<bool, Failure> {
        let start = Instant::now();
        let mut told = PROGRESS_INTERVAL;
        let mut details_at = DETAILS_INTERVAL;
        loop {
            match self.wait(stop, Some(POLL_INTERVAL))? {
                Happening::StopRequested => return Ok(false),
                // A cluster that starts from its disks may want a node to begin once more.
                Happening::Ended(index, status) if Ending::of(status) == Ending::Again => {
                    self.plan_restart(index, status);
                }
                // Nothing is wrong with the cluster.
                Happening::Ended(index, status) if status.signal() == Some(Signal::KILL.as_raw()) => {
                    self.plan_restart(index, status);
                    self.tell_end(index, status, "; it is started again");
                }
                Happening::Ended(index, status) => {
                    self.tell_end(index, status, "");
                    return Err(Failure::new("the cluster could not be started"));
                }
                Happening::TimedOut => {}
            }
            if self.members.iter().any(|member| member.restart_at.is_some()) {
                self.restart_due();
            }
            let mut waiting = Vec::new();
            for member in &mut self.members {
                if !member.check_ready() {
                    waiting.push(member.name());
                }
            }
            // A data node serves clients as soon as it has the cluster's map; the management node may get it a moment
            // later.
            if waiting.is_empty() && !self.is_complete() {
                waiting.push(MANAGEMENT_KNOWS.to_owned());
            }
            if waiting.is_empty() {
                return Ok(true);
            }
            if start.elapsed() >= told {
                told += PROGRESS_INTERVAL;
                terminal::say(&format!(
                    "starting, {} s: waiting for {}",
                    start.elapsed().as_secs(),
                    waiting.join(", ")
                ));
                if start.elapsed() >= details_at {
                    details_at += DETAILS_INTERVAL;
                    self.tell_starting();
                }
            }
        }
    }

    /// Tells for what the starting nodes wait, as they tell the management nodes.
    fn tell_starting(&self) {
        let managers = self.members.iter().filter(|member| member.config.role == NodeRole::Management);
        let states = managers
            .filter_map(Member::address)
            .find_map(|address| management_client::states(address, GREETING_TIMEOUT));
        for state in states.unwrap_or_default().iter().filter(|state| !state.ends_with(": started")) {
            terminal::say(&format!("    {state}"));
        }
    }

    /// Whether every management node answers what `latsdb mgm` and `latsdb check` will ask.
    fn is_complete(&self) -> bool {
        let mut managers = self.members.iter().filter(|member| member.config.role == NodeRole::Management);
        managers.all(|member| {
            member.address().is_some_and(|address| management_client::is_complete(address, GREETING_TIMEOUT))
        })
    }

    /// Tells what happens to nodes, and starts those again that died, until the cluster is to stop or is gone.
    fn watch(&mut self, stop: &mut StopSignal) -> Result<ExitCode, Failure> {
        loop {
            let timeout = self.next_turn();
            match self.wait(stop, timeout)? {
                Happening::TimedOut => {}
                Happening::StopRequested => return self.stop(stop),
                Happening::Ended(index, status) => {
                    self.plan_restart(index, status);
                    self.tell_end(index, status, &self.consequence(index));
                    if self.members.iter().all(Member::stays_away) {
                        let is_orderly = self.members.iter().all(Member::was_asked_to_stop);
                        return Ok(if is_orderly { ExitCode::SUCCESS } else { ExitCode::FAILURE });
                    }
                }
            }
            self.restart_due();
        }
    }

    /// A node of `dev` is started again after errors, whatever its StopOnError: a developer wants the cluster whole.
    fn plan_restart(&mut self, index: usize, status: ExitStatus) {
        let member = &mut self.members[index];
        let has_read_configuration = member.process.restarts_after_errors().map(|_| true);
        let life = member.started.elapsed();
        let pause = member.lives.after(Ending::of(status), life, has_read_configuration);
        member.restart_at = pause.map(|pause| Instant::now() + pause);
    }

    /// Until a node is to be started, or looked at while it starts.
    fn next_turn(&self) -> Option<Duration> {
        let now = Instant::now();
        let restarts = self.members.iter().filter_map(|member| member.restart_at);
        let is_starting = |member: &Member| !member.is_ready && member.process.status().is_none();
        let poll = self.members.iter().any(is_starting).then(|| now + POLL_INTERVAL);
        restarts.chain(poll).min().map(|at| at.saturating_duration_since(now))
    }

    /// Starts nodes whose time has come, and tells of those that answer again.
    fn restart_due(&mut self) {
        for index in 0..self.members.len() {
            let member = &mut self.members[index];
            if member.restart_at.is_some_and(|at| at <= Instant::now()) {
                // Its configuration may be another one by now.
                let config = self.plan.reread(&member.config);
                let mut lives = member.lives;
                match self.start_member(config, false) {
                    Ok(fresh) => self.members[index] = Member { lives, ..fresh },
                    // The others live on. The installation of another version of the program may not be done yet.
                    Err(failure) => {
                        terminal::complain(&failure.to_string());
                        let pause = lives.after_no_life();
                        let member = &mut self.members[index];
                        (member.lives, member.restart_at) = (lives, Some(Instant::now() + pause));
                    }
                }
            } else if !member.is_ready && member.process.status().is_none() && member.check_ready() {
                let time = member.started.elapsed().as_millis();
                terminal::say(&format!(
                    "{} serves clients again, {time} ms after it was started",
                    member.name()
                ));
            } else if !member.is_ready
                && member.process.status().is_none()
                && member.remind_at <= Instant::now()
            {
                member.remind_at = Instant::now() + DETAILS_INTERVAL;
                let seconds = member.started.elapsed().as_secs();
                terminal::say(&format!(
                    "{} was started {seconds} s ago and does not serve clients yet:",
                    member.name()
                ));
                self.tell_starting();
            }
        }
    }

    /// The consequence of a node's end, for a person.
    fn consequence(&self, index: usize) -> String {
        // One that has not served yet has no rows yet.
        let serves = |member: &&Member| member.process.status().is_none() && member.is_ready;
        if self.members.iter().all(Member::stays_away) {
            return "; no node is left".to_owned();
        }
        let pause = self.members[index].restart_at.map(|at| at.saturating_duration_since(Instant::now()));
        let again = match pause.map(|pause| pause.as_secs()) {
            None => String::new(),
            Some(0) => "; it is started again".to_owned(),
            Some(seconds) => format!("; it is started again in {seconds} s"),
        };
        let consequence = match self.members[index].config.role {
            NodeRole::Management => "; clients are served as before".to_owned(),
            NodeRole::Sql => "; its clients are disconnected, no row is lost".to_owned(),
            NodeRole::Data => {
                let data: Vec<&Member> =
                    self.members.iter().filter(|member| member.config.role == NodeRole::Data).collect();
                let mut nodes: Vec<_> = data.iter().map(|member| member.config.node).collect();
                nodes.sort_unstable();
                let group = replica_group(&nodes, self.plan.config.replicas, self.members[index].config.node);
                let left: Vec<String> = data
                    .iter()
                    .filter(|member| serves(member) && group.contains(&member.config.node))
                    .map(|member| member.config.node.to_string())
                    .collect();
                match left.as_slice() {
                    [] if self.plan.config.keeps_rows() => {
                        "; no node that serves has the rows it held: they come back from the disks".to_owned()
                    }
                    [] => "; no other node has the rows it held: they are lost. Press Ctrl-C and start again for an empty cluster"
                        .to_owned(),
                    left => format!("; node {} has the rows it held and goes on", left.join(" and node ")),
                }
            }
        };
        consequence + &again
    }

    /// Where rows are on disk, all nodes stop together, so that nothing is lost. Those that are left get SIGTERM.
    fn stop_together(&mut self, stop: &mut StopSignal) -> Result<(), Failure> {
        let mut managers = self
            .members
            .iter()
            .filter(|member| member.config.role == NodeRole::Management && member.process.status().is_none());
        let Some(address) = managers.find_map(Member::address).filter(|_| self.plan.config.keeps_rows())
        else {
            return Ok(());
        };
        if let Err(failure) = management_client::shut_down(address, GREETING_TIMEOUT) {
            terminal::complain(&format!("the nodes are stopped one by one: {failure}"));
            return Ok(());
        }
        let deadline = Instant::now() + STOP_TIMEOUT;
        while self.members.iter().any(|member| member.process.status().is_none()) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || self.wait(stop, Some(left))? == Happening::StopRequested {
                break;
            }
        }
        Ok(())
    }

    /// Stops all nodes that run.
    fn stop(&mut self, stop: &mut StopSignal) -> Result<ExitCode, Failure> {
        terminal::say("stopping");
        self.stop_together(stop)?;
        let mut killed = Vec::new();
        for is_management in [false, true] {
            let is_in_turn = |member: &Member| {
                (member.config.role == NodeRole::Management) == is_management
                    && member.process.status().is_none()
            };
            self.members.iter().filter(|member| is_in_turn(member)).for_each(|member| member.process.stop());
            let deadline = Instant::now() + STOP_TIMEOUT;
            while self.members.iter().any(is_in_turn) {
                let left = deadline.saturating_duration_since(Instant::now());
                let happening = self.wait(stop, Some(left))?;
                if happening == Happening::StopRequested || left.is_zero() {
                    for member in self.members.iter_mut().filter(|member| is_in_turn(member)) {
                        killed.push(member.name());
                        member.process.kill();
                    }
                }
            }
        }
        if killed.is_empty() {
            terminal::say("stopped");
            return Ok(ExitCode::SUCCESS);
        }
        Err(Failure::new(format!("{} did not stop in time and had to be killed", killed.join(", "))))
    }

    fn wait(&mut self, stop: &mut StopSignal, timeout: Option<Duration>) -> Result<Happening, Failure> {
        let mut processes: Vec<&mut NodeProcess> =
            self.members.iter_mut().map(|member| &mut member.process).collect();
        processes::wait(stop, &mut processes, timeout)
            .map_err(|error| Failure::new(format!("cannot watch the nodes: {error}")))
    }

    fn tell_end(&self, index: usize, status: ExitStatus, consequence: &str) {
        let member = &self.members[index];
        terminal::complain(&format!("{} {}{consequence}", member.name(), processes::describe(status)));
        let lines = member.last_lines();
        if !matches!(Ending::of(status), Ending::Stopped | Ending::Again) && !lines.is_empty() {
            terminal::complain(&format!("the last lines of {}:", member.log.display()));
            for line in lines {
                terminal::complain(&format!("    {line}"));
            }
        }
    }

    /// How clients connect.
    fn ready_line(&self) -> String {
        let mut ports = Vec::new();
        let mut sockets = Vec::new();
        let mut host = None;
        for member in &self.members {
            if let Some(mysql) = &member.config.mysql {
                host = host.or(Some(member.config.host.as_str()));
                ports.push(mysql.port.to_string());
                sockets.extend(mysql.socket.clone());
            }
        }
        let management = self.plan.config.nodes_of(NodeRole::Management).next();
        let management = management.map_or_else(String::new, |node| {
            // An IPv6 address has colons of its own.
            let host = if node.host.contains(':') { format!("[{}]", node.host) } else { node.host.clone() };
            format!("latsdb mgm -c {host}:{} -e show", node.management_port.unwrap_or_default())
        });
        let mut others = Vec::new();
        if ports.len() > 1 {
            others.push(format!("also on port {}", ports[1..].join(", ")));
        }
        if !sockets.is_empty() {
            others.push(format!("sockets {}", sockets.join(", ")));
        }
        others.extend([management, "Ctrl-C stops".to_owned()]);
        let (host, first) = (host.unwrap_or("127.0.0.1"), ports.first().map_or("3306", String::as_str));
        format!("ready: mariadb -h {host} -P {first} -u root  ({})", others.join("; "))
    }
}

#[cfg(test)]
mod tests;
