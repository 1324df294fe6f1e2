//! `latsdb bench failover`: faults are injected into a cluster under load, what clients notice is measured, and what
//! they were told is checked.
//!
//! ```text
//! start the cluster, make tables, start clients           once per life of the cluster
//!   calm      every client has succeeded lately
//!   inject    kill -9, SIGSTOP … at a moment that is noted
//!   settle    every client has succeeded since, and a second more
//!   rejoin    all nodes are back and in sync; clients go home
//! stop clients, compare replicas, compare the clients' logs with the tables at every node
//! ```
//! A cluster that does not take its nodes back ([`Expectation::Takeover`]) is started anew for each injection.
//!
//! **It fails** if a log contradicts a table, if a read is older than it may be, or if replicas differ. It fails if a
//! client gets an error that none should get. Only LatsDB's reads are judged by their age; Galera does not promise it.
//! It also fails if a client or a node does not come back. Where nothing is broken but a restart is planned, a single
//! failed statement makes it fail. To be told 1053 between two transactions, and to go on elsewhere, is no failure.
//!
//! **Invariants.** A failed campaign leaves its folder; all processes end with it. Times are reported, never judged.

use crate::clients::{self, Clients, Plan, Role, Stopped, prepare};
use crate::connection::Patience;
use crate::processes;
use crate::record::now;
use crate::timeline::{Event, longest_gap, pace};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

mod ballast;
mod by_hand;
mod dev;
mod fault;
mod galera;
mod relay;
mod report;
mod story;
mod target;

pub use by_hand::ByHand;
pub use dev::Shape;
pub use fault::{Fault, Victim};
pub use report::Injection;

use by_hand::ByHandCluster;
use dev::DevCluster;
use galera::GaleraCluster;
use report::table;
use rustix::process::Signal;
use target::{NodeRole, Target};

/// Which cluster is tried.
#[derive(Clone, Debug)]
pub enum Cluster {
    /// `latsdb dev` of this binary.
    Dev { binary: PathBuf, shape: Shape },
    /// Nodes of this binary, started by hand; their links may go through relays that can be cut.
    ByHand { binary: PathBuf, settings: ByHand },
    /// A `latsdb dev` that runs: its process, and the config.ini that it runs with. It is left running.
    Running { binary: PathBuf, pid: u32, config: PathBuf },
    /// Three nodes of MariaDB Galera, with these options of the provider.
    Galera { options: String },
}

/// The behaviour that is expected of a cluster after a fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expectation {
    /// Survivors go on; the node does not come back.
    Takeover,
    /// The node comes back by itself, and has all rows.
    Rejoin,
}

/// A campaign.
#[derive(Clone, Debug)]
pub struct Options {
    pub cluster: Cluster,
    pub expectation: Expectation,
    pub faults: Vec<Fault>,
    /// How often each of them is injected.
    pub rounds: u32,
    pub clients_per_load: usize,
    /// Transactions that a client of a load begins in a second; 0: as many as it can.
    pub rate: u32,
    /// MiB of rows beside those of the clients, to be copied to nodes that come back.
    pub ballast: u32,
    /// How long a client waits for an answer before it goes elsewhere.
    pub patience: Patience,
    /// Load before each fault.
    pub calm: Duration,
    /// Until all clients have succeeded again, and until all nodes are in sync again.
    pub settle_limit: Duration,
    pub rejoin_limit: Duration,
    /// For everything that is written.
    pub folder: PathBuf,
    /// A line of JSON for each injection is appended here.
    pub figures: Option<PathBuf>,
}

/// For a person, a line at a time.
pub type Say<'a> = &'a dyn Fn(&str);

/// Returns when clients that work beside may be disturbed, and when the cluster may be stopped.
pub type Await<'a> = &'a dyn Fn();

/// How long after the end of the first gap clients are watched: the second in which the pace is measured.
const WATCH: Duration = Duration::from_secs(1);

const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// How often a cluster is asked whether it is whole.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

impl Cluster {
    fn name(&self) -> String {
        match self {
            Self::Dev { shape, .. } => format!("latsdb-{}x{}", shape.data_nodes, shape.replicas),
            Self::ByHand { settings, .. } => {
                let kind = if settings.has_relays { "relayed" } else { "by-hand" };
                let profile = settings.heartbeat.map_or_else(String::new, |ms| format!("-heartbeat-{ms}ms"));
                format!("latsdb-{kind}-{}x{}{profile}", settings.shape.data_nodes, settings.shape.replicas)
            }
            Self::Running { .. } => "latsdb".to_owned(),
            Self::Galera { options } if options.is_empty() => "galera".to_owned(),
            Self::Galera { options } => format!("galera with {options}"),
        }
    }

    fn start(&self, options: &Options) -> Result<Box<dyn Target>, String> {
        let folder = options.folder.join("cluster");
        Ok(match self {
            Self::Dev { binary, shape } => Box::new(DevCluster::start(binary, &folder, *shape)?),
            Self::ByHand { binary, settings } => Box::new(ByHandCluster::start(binary, &folder, *settings)?),
            Self::Running { binary, pid, config } => Box::new(DevCluster::attach(binary, *pid, config)?),
            Self::Galera { options } => Box::new(GaleraCluster::start(&folder, options)?),
        })
    }

    /// The first statements of every session: the isolation level that all of them have.
    fn preamble(&self) -> Vec<String> {
        vec!["SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED".to_owned()]
    }

    /// Whether reads through all nodes are promised to be fresh.
    fn promises_fresh_reads(&self) -> bool {
        match self {
            Self::Dev { .. } | Self::ByHand { .. } | Self::Running { .. } => true,
            Self::Galera { .. } => false,
        }
    }
}

/// The totals of a whole campaign.
#[derive(Default)]
struct Totals {
    injections: Vec<Injection>,
    acknowledged: u64,
    unknown: u64,
    refused: u64,
    stale: u64,
    faults: Vec<String>,
}

/// Runs a campaign. An error says what was wrong, a line each.
pub fn run(options: &Options, say: Say<'_>, wait: Await<'_>) -> Result<(), String> {
    std::fs::create_dir_all(&options.folder)
        .map_err(|error| format!("{}: {error}", options.folder.display()))?;
    let mut schedule: Vec<Fault> = (0..options.rounds).flat_map(|_| options.faults.iter().copied()).collect();
    schedule.reverse();
    let mut totals = Totals::default();
    while !schedule.is_empty() && totals.faults.is_empty() {
        Life::begin(options, say, wait)?.run(&mut schedule, &mut totals)?;
    }
    say(&format!("\n{}\n\n{}", options.cluster.name(), table(&totals.injections)));
    let Totals { acknowledged, unknown, refused, stale, faults, injections } = totals;
    say(&format!(
        "{} injections; of the clients' transactions {acknowledged} acknowledged, {unknown} unknown, {refused} refused; \
         {stale} stale reads; {} faults",
        injections.len(),
        faults.len()
    ));
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

/// One life of a cluster, from its start to its stop.
struct Life<'run> {
    options: &'run Options,
    say: Say<'run>,
    wait: Await<'run>,
    target: Box<dyn Target>,
    clients: Clients,
}

/// The target of a fault.
struct Hit {
    at: u64,
    /// When it was taken back: at once, for a kill.
    undone: u64,
    nodes: Vec<usize>,
    /// The processes of these nodes that were killed: others must take their places.
    killed: Vec<u32>,
}

impl<'run> Life<'run> {
    fn begin(options: &'run Options, say: Say<'run>, wait: Await<'run>) -> Result<Self, String> {
        let target = options.cluster.start(options)?;
        let plan = Plan {
            addresses: target.addresses().to_vec(),
            patience: options.patience,
            preamble: options.cluster.preamble(),
            clients_per_load: options.clients_per_load,
            rate: options.rate,
            folder: options.folder.join("logs"),
        };
        prepare(&plan)?;
        let ports: Vec<String> = plan.addresses.iter().map(|address| address.port().to_string()).collect();
        ballast::load(&plan, options.ballast, say)?;
        let clients = Clients::start(plan).map_err(|error| format!("cannot start the clients: {error}"))?;
        say(&format!("{} runs; SQL ports: {}", options.cluster.name(), ports.join(",")));
        wait();
        Ok(Self { options, say, wait, target, clients })
    }

    /// As many faults of the schedule as this cluster can live through; then the judgement.
    fn run(mut self, schedule: &mut Vec<Fault>, totals: &mut Totals) -> Result<(), String> {
        // Nodes that are not expected to be there any more.
        let mut lost = Vec::new();
        while lost.is_empty()
            && let Some(fault) = schedule.pop()
        {
            lost = self.inject(fault, totals)?;
        }
        let Self { options, say, wait, mut target, clients } = self;
        let stopped = clients.stop();
        let is_whole = lost.is_empty();
        let addresses = addresses_without(target.as_ref(), &lost);
        totals.stale += stopped.stale;
        totals.faults.extend(stopped.faults.iter().cloned());
        judge(&stopped, &addresses, totals);
        say(&format!("errors of clients by number (0: a lost connection): {:?}", stopped.errors));
        if options.cluster.promises_fresh_reads() && totals.stale > 0 {
            totals.faults.push(format!("{} reads were older than they may be", totals.stale));
            totals.faults.extend(stopped.stale_reads.iter().cloned());
        }
        if is_whole {
            match target.check() {
                Ok(text) => say(&text),
                Err(text) => totals.faults.push(format!("the check of replicas: {text}")),
            }
        }
        say("all is checked; the cluster stops");
        wait();
        let ended = target.stop();
        // A cluster of which a node was killed, and is not back, may end as it likes.
        if is_whole { ended } else { Ok(()) }
    }

    /// One fault; gives the nodes that are not back afterwards.
    fn inject(&mut self, fault: Fault, totals: &mut Totals) -> Result<Vec<usize>, String> {
        let (count, name) = (totals.injections.len(), fault.to_string());
        // Each kind of fault has its own turns of victims.
        let turn = totals.injections.iter().filter(|injection| injection.fault == name).count();
        self.clients.call_home();
        thread::sleep(self.options.calm);
        self.wait_for_success(now() - 1_000_000_000, self.options.settle_limit);
        let (failed, moved) = self.tally();
        let hit = self.hit(fault, turn)?;
        let (starved, mut rejoin) = self.settle(&hit);
        let settled = now();
        let mut injection = Injection {
            fault: name,
            victim: hit
                .nodes
                .iter()
                .map(|node| self.target.nodes()[*node].name.clone())
                .collect::<Vec<_>>()
                .join(", "),
            starved,
            ..Injection::default()
        };
        let mut is_whole = true;
        if self.options.expectation == Expectation::Rejoin {
            if rejoin.is_none() {
                rejoin = self.wait_for_rejoin(&hit)?;
            }
            (injection.rejoin, is_whole) = (rejoin, rejoin.is_some());
        }
        self.measure(&hit, settled, &mut injection);
        self.tell(&hit, &mut injection);
        let after = self.tally();
        (injection.failed, injection.moved) = (after.0 - failed, after.1 - moved);
        if fault.is_planned() && injection.failed > 0 {
            let what = format!("{fault} of {}: {} statements failed", injection.victim, injection.failed);
            totals.faults.push(what);
        }
        (self.say)(&format!("{:>3}. at {}: {}", count + 1, hit.at, injection.line()));
        self.note(&injection)?;
        let missed = match (starved, is_whole) {
            (0, true) => None,
            (0, false) => Some("the cluster did not become whole again".to_owned()),
            _ => Some(format!("{starved} clients had no success afterwards")),
        };
        totals.faults.extend(missed.map(|what| format!("{fault} of {}: {what}", injection.victim)));
        totals.injections.push(injection);
        Ok(match self.options.expectation {
            Expectation::Rejoin if is_whole && starved == 0 => Vec::new(),
            Expectation::Rejoin | Expectation::Takeover => hit.nodes,
        })
    }

    /// Finds the nodes whose turn it is, and strikes.
    fn hit(&mut self, fault: Fault, turn: usize) -> Result<Hit, String> {
        let victim = match fault {
            Fault::Kill(victim) | Fault::Pause(victim, _) => victim,
            Fault::Cut(_) | Fault::Switchover | Fault::Nothing => Victim::Data,
            Fault::Rolling => return self.strike(fault, (0..self.target.nodes().len()).collect()),
        };
        if victim == Victim::Leader {
            let leader = self.depose_management()?;
            return self.strike(fault, vec![leader]);
        }
        let of_role = |wanted: NodeRole| {
            let nodes = self.target.nodes().iter().enumerate();
            nodes.filter(|(_, node)| node.role == wanted).map(|(index, _)| index).collect::<Vec<_>>()
        };
        let (data, management) = (of_role(NodeRole::Data), of_role(NodeRole::Management));
        let mut nodes = Vec::new();
        if matches!(victim, Victim::Management | Victim::Both) {
            nodes.extend(management.first());
        }
        if matches!(victim, Victim::Data | Victim::Both) {
            nodes.extend(data.get(turn % data.len().max(1)));
        }
        if nodes.is_empty() {
            return Err(format!("{fault}: this cluster has no such node"));
        }
        self.strike(fault, nodes)
    }

    /// Kills the management node, which leads the control plane; gives the data node that leads it then.
    fn depose_management(&mut self) -> Result<usize, String> {
        if !self.target.is_by_hand() {
            return Err(
                "management nodes come back too soon here: use a cluster whose nodes are started by hand"
                    .to_owned(),
            );
        }
        let nodes = self.target.nodes();
        let management = nodes.iter().position(|node| node.role == NodeRole::Management);
        let management = management.ok_or("this cluster has no management node")?;
        let pid = self.target.pid(management).ok_or("the management node does not run")?;
        signal_all(&[pid], Signal::KILL)?;
        let logs: Vec<PathBuf> =
            (0..self.target.nodes().len()).filter_map(|node| self.target.log(node)).collect();
        let end = Instant::now() + self.options.settle_limit;
        while Instant::now() < end {
            thread::sleep(self.options.calm);
            if let Some(leader) = story::leader(&logs).filter(|leader| *leader != management) {
                return Ok(leader);
            }
        }
        Err("no data node leads the control plane".to_owned())
    }

    /// Does it to these nodes, and takes back what is to be taken back.
    fn strike(&mut self, fault: Fault, mut nodes: Vec<usize>) -> Result<Hit, String> {
        // All are found before the first is hit: that takes a look at every process of the machine.
        let found = nodes.iter().map(|node| match self.target.pid(*node) {
            Some(pid) => Ok(pid),
            None => Err(format!("{} does not run", self.target.nodes()[*node].name)),
        });
        let pids = found.collect::<Result<Vec<u32>, String>>()?;
        let at = now();
        match fault {
            Fault::Kill(_) => signal_all(&pids, Signal::KILL)?,
            Fault::Pause(_, time) => {
                signal_all(&pids, Signal::STOP)?;
                thread::sleep(time);
                signal_all(&pids, Signal::CONT)?;
            }
            Fault::Cut(time) => {
                let both = self.cut(nodes[0], time)?;
                // Which of them had to go is for the cluster to decide.
                nodes = both;
            }
            Fault::Switchover => {
                self.target.restart(nodes.first().copied())?;
            }
            Fault::Rolling => {
                self.target.restart(None)?;
            }
            Fault::Nothing => nodes.clear(),
        }
        let (undone, killed) = match fault {
            Fault::Kill(_) => (at, pids),
            Fault::Switchover | Fault::Rolling => (now(), pids),
            Fault::Pause(..) | Fault::Cut(_) | Fault::Nothing => (now(), Vec::new()),
        };
        Ok(Hit { at, undone, nodes, killed })
    }

    /// Cuts a data node from the others of its group, and heals that. Gives those that have left by then; if none has,
    /// the node itself.
    fn cut(&mut self, node: usize, time: Duration) -> Result<Vec<usize>, String> {
        let nodes = self.target.nodes();
        let is_other = |index: &usize| {
            nodes[*index].role == NodeRole::Data && nodes[*index].group == nodes[node].group && *index != node
        };
        let others: Vec<usize> = (0..nodes.len()).filter(is_other).collect();
        for other in &others {
            self.target.set_cut(node, *other, true)?;
        }
        thread::sleep(time);
        let has_left = |index: &usize| {
            let address = self.target.nodes()[*index].address.map(|address| self.target.addresses()[address]);
            address.is_some_and(|address| TcpStream::connect_timeout(&address, WATCH).is_err())
        };
        let left: Vec<usize> = std::iter::once(node).chain(others.iter().copied()).filter(has_left).collect();
        for other in &others {
            self.target.set_cut(node, *other, false)?;
        }
        Ok(if left.is_empty() { vec![node] } else { left })
    }

    /// The outcome of all clients' work so far: how much failed, and how often one was sent to another node.
    fn tally(&self) -> (u64, u64) {
        let tallies = self.clients.views.iter().map(clients::View::tally);
        tallies.fold((0, 0), |(failed, moved), tally| (failed + tally.failed(), moved + tally.moved()))
    }

    /// Waits until every client has succeeded since; gives how many have not.
    fn wait_for_success(&self, since: u64, limit: Duration) -> usize {
        let end = Instant::now() + limit;
        loop {
            let is_starved = |last: Option<u64>| last.is_none_or(|last| last <= since);
            let starved = self.clients.views.iter().filter(|view| is_starved(view.timeline().last())).count();
            if starved == 0 || Instant::now() >= end {
                return starved;
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    /// Waits until every client has succeeded since, and a second more. Gives how many have not, and how long it took
    /// until all nodes were in sync, if they are by then.
    fn settle(&mut self, hit: &Hit) -> (usize, Option<Duration>) {
        let end = Instant::now() + self.options.settle_limit;
        let (mut rejoin, mut next_look) = (None, Instant::now() + LOOK_INTERVAL);
        let mut calm_since = None;
        loop {
            let starved = self.wait_for_success(hit.undone, Duration::ZERO);
            if starved == 0 && calm_since.get_or_insert_with(Instant::now).elapsed() >= WATCH
                || Instant::now() >= end
            {
                return (starved, rejoin);
            }
            if rejoin.is_none() && Instant::now() >= next_look {
                rejoin = self.rejoined(hit).ok();
                next_look = Instant::now() + LOOK_INTERVAL;
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    /// How long it took until all nodes were there, with all rows; else what is missing. Nodes that have ended are
    /// started again: which of them a cluster leaves out is its own choice.
    fn rejoined(&mut self, hit: &Hit) -> Result<Duration, String> {
        if self.options.expectation == Expectation::Rejoin {
            (0..self.target.nodes().len()).try_for_each(|node| self.target.revive(node))?;
        }
        for (node, pid) in hit.nodes.iter().zip(&hit.killed) {
            if self.target.pid(*node).is_none_or(|now| now == *pid) {
                return Err(format!("{} is not started again", self.target.nodes()[*node].name));
            }
        }
        self.target.in_sync()?;
        Ok(Duration::from_nanos(now() - hit.at))
    }

    /// Until all nodes are there and have all rows; `None` if the time was not enough.
    fn wait_for_rejoin(&mut self, hit: &Hit) -> Result<Option<Duration>, String> {
        let end = Instant::now() + self.options.rejoin_limit;
        loop {
            match self.rejoined(hit) {
                Ok(time) => return Ok(Some(time)),
                Err(missing) if Instant::now() >= end => {
                    (self.say)(&format!("not in sync: {missing}"));
                    return Ok(None);
                }
                Err(_) => thread::sleep(LOOK_INTERVAL),
            }
        }
    }

    /// Fills in what the clients have seen.
    fn measure(&self, hit: &Hit, settled: u64, injection: &mut Injection) {
        let homes: Vec<usize> =
            hit.nodes.iter().filter_map(|node| self.target.nodes()[*node].address).collect();
        let end = now();
        let mut gap_end = hit.at;
        let mut loads: Vec<Vec<Event>> = Vec::new();
        for view in &self.clients.views {
            let (events, is_victims) = (view.timeline().events(), homes.contains(&view.home));
            let gap = longest_gap(&events, hit.at, settled);
            let longest = match (view.role, is_victims) {
                (Role::Write, false) => &mut injection.survivor_write,
                (Role::Read, false) => &mut injection.survivor_read,
                (Role::Write, true) => &mut injection.victim_write,
                (Role::Read, true) => &mut injection.victim_read,
                (Role::Load, false) => {
                    loads.push(events);
                    continue;
                }
                (Role::Load, true) => continue,
            };
            if gap.length > *longest {
                *longest = gap.length;
                if view.role == Role::Write
                    && gap.length >= injection.survivor_write.max(injection.victim_write)
                {
                    injection.gap_after = Duration::from_nanos(gap.from.saturating_sub(hit.at));
                }
            }
            if view.role == Role::Write && !is_victims {
                let length = u64::try_from(gap.length.as_nanos()).unwrap_or(u64::MAX);
                gap_end = gap_end.max(gap.from.saturating_add(length));
                let later = longest_gap(&events, settled, end);
                if later.length > injection.rejoin_gap {
                    injection.rejoin_gap = later.length;
                    injection.rejoin_gap_after = Duration::from_nanos(later.from.saturating_sub(hit.at));
                }
            }
        }
        let second = 1_000_000_000;
        // Nobody has looked further than until then.
        let gap_end = gap_end.min(settled.saturating_sub(second));
        let mut events: Vec<Event> = loads.into_iter().flatten().collect();
        events.sort_unstable_by_key(|event| event.until);
        (injection.pace_before, injection.latency_before) = pace(&events, hit.at - second, hit.at);
        (injection.pace_after, injection.latency_after) = pace(&events, gap_end, gap_end + second);
        let back = injection
            .rejoin
            .map_or(gap_end, |time| hit.at + u64::try_from(time.as_nanos()).unwrap_or_default());
        (_, injection.latency_rejoin) = pace(&events, gap_end, back);
    }

    /// Fills in what the logs of the nodes that were not hit tell.
    fn tell(&self, hit: &Hit, injection: &mut Injection) {
        let others = (0..self.target.nodes().len()).filter(|node| !hit.nodes.contains(node));
        let logs: Vec<PathBuf> = others.filter_map(|node| self.target.log(node)).collect();
        let story = story::read(&logs, hit.at);
        let homes: Vec<usize> =
            hit.nodes.iter().filter_map(|node| self.target.nodes()[*node].address).collect();
        let writers =
            self.clients.views.iter().filter(|view| view.role == Role::Write && !homes.contains(&view.home));
        // Each had one statement under way when the view came, and most of these had waited for it.
        let first_after = |view: u64| {
            let timelines = writers.map(|writer| writer.timeline().events());
            let firsts = timelines
                .filter_map(|events| events.iter().find(|event| event.until > view).map(|event| event.until));
            firsts.max()
        };
        injection.first_write = story.view.and_then(first_after);
        (injection.story, injection.at) = (story, hit.at);
    }

    fn note(&self, injection: &Injection) -> Result<(), String> {
        let Some(path) = &self.options.figures else { return Ok(()) };
        let line = format!("{}\n", injection.json(&self.options.cluster.name()));
        crate::append(path, &line).map_err(|error| format!("{}: {error}", path.display()))
    }
}

/// The SQL addresses of all nodes but these.
fn addresses_without(target: &dyn Target, lost: &[usize]) -> Vec<SocketAddr> {
    let nodes = target.nodes().iter().enumerate();
    let left = nodes.filter(|(index, _)| !lost.contains(index));
    left.filter_map(|(_, node)| node.address).map(|address| target.addresses()[address]).collect()
}

fn signal_all(pids: &[u32], wanted: Signal) -> Result<(), String> {
    match pids.iter().find(|pid| !processes::signal(**pid, wanted)) {
        None => Ok(()),
        Some(pid) => Err(format!("process {pid} has ended by itself")),
    }
}

/// Adds what the logs say.
fn judge(stopped: &Stopped, addresses: &[SocketAddr], totals: &mut Totals) {
    match stopped.judge(addresses) {
        Err(problem) => totals.faults.push(format!("the logs can't be checked: {problem}")),
        Ok(verdict) => {
            totals.acknowledged += verdict.acknowledged;
            totals.unknown += verdict.unknown;
            totals.refused += verdict.refused;
            totals.stale += verdict.stale;
            totals.faults.extend(verdict.faults);
        }
    }
}
