//! Which modules run on which threads: our automatic layout, or NDB's `ThreadConfig`, as a pure function.
//!
//! The automatic layout has a *worker* per CPU: a receiving thread that carries instance *i* of `sql`, `tc`, `query`
//! and `ldm`. So every CPU has a part of the work, whatever the mix of reads and writes is. `main` and `membership`
//! have threads of their own, which are not pinned; `disk` is on the thread of `main`. Workers are pinned only if the
//! node has its CPUs alone. [`CpuShare::of`] says how many workers there are, and how many of them have an `ldm`.
//!
//! `ThreadConfig` is taken literally:
//!
//! ```text
//! ldm={count=2,cpubind=0,1},query={count=2},tc={count=1},recv={count=2,cpubind=2,3},main={count=1},send={count=0},io={count=1}
//! ```
//! A kind with count 0 lives in other threads. `sql` always runs in the receiving threads. `tc`, `ldm` and `query` run
//! there too when they have no threads of their own: every receiving thread carries instance *i* of each (the "receive
//! setup"). `main` runs in the first of them. Without `recv` threads the `main` thread receives.
//! `ldm={count=1,host=recv}`, which NDB does not have, says how many of the receiving threads carry a kind. Where the
//! threads of several nodes share CPUs, each thread less that a write has to visit is a wake-up less.
//!
//! Invariants of a [`Layout`]: each module is on exactly one thread. `membership` has a thread of its own. The
//! instances of a kind are numbered from 0 without gaps. No thread is without modules. The result depends on the
//! arguments alone.
//!
//! Deliberately not here: what the machine has. Whether a CPU exists and whether a priority is permitted is found out,
//! and only warned about, by the runtime.

use crate::ModuleKind;
use std::fmt;
use stdx::Duration;

#[cfg(test)]
mod tests;

/// Most threads of one kind in `ThreadConfig`.
pub const THREADS_PER_KIND_MAX: u16 = 128;
/// Most workers of the automatic layout: instances of modules are numbered by a byte.
pub const WORKERS_MAX: u16 = 240;
/// Most `ldm` of the automatic layout: more would have no slots.
pub const LDM_MAX: u16 = 128;
/// Longest `spintime`.
pub const SPIN_TIME_MAX: Duration = Duration::from_micros(9000);
/// Highest `thread_prio`.
pub const THREAD_PRIORITY_MAX: u8 = 10;
/// Priority of the `membership` thread: its heartbeats and leases must not wait behind work.
const MEMBERSHIP_PRIORITY: u8 = 10;

/// The kinds of threads that `ThreadConfig` names, and `membership`, which it cannot.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ThreadKind {
    /// Catalogue, epochs, node map.
    Main,
    /// Change streams.
    Rep,
    /// Local data managers.
    Ldm,
    /// Committed reads and scans.
    Query,
    /// Transaction coordinators.
    Tc,
    /// Sends on behalf of others.
    Send,
    /// Client sockets and sessions.
    Recv,
    /// Disk I/O.
    Io,
    /// NDB's watchdog.
    Watchdog,
    /// NDB's offline index build.
    IndexBuild,
    /// NDB's extra restore threads.
    Recover,
    /// Heartbeats, leases, control plane.
    Membership,
}

impl ThreadKind {
    const NAMED: [Self; 11] = [
        Self::Main,
        Self::Rep,
        Self::Ldm,
        Self::Query,
        Self::Tc,
        Self::Send,
        Self::Recv,
        Self::Io,
        Self::Watchdog,
        Self::IndexBuild,
        Self::Recover,
    ];

    /// As `ThreadConfig` spells it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Rep => "rep",
            Self::Ldm => "ldm",
            Self::Query => "query",
            Self::Tc => "tc",
            Self::Send => "send",
            Self::Recv => "recv",
            Self::Io => "io",
            Self::Watchdog => "watchdog",
            Self::IndexBuild => "idxbld",
            Self::Recover => "recover",
            Self::Membership => "membership",
        }
    }

    fn index(self) -> usize {
        self as usize
    }

    /// Why threads of this kind are accepted but not started.
    const fn unused_because(self) -> Option<&'static str> {
        match self {
            Self::Main | Self::Ldm | Self::Query | Self::Tc | Self::Recv | Self::Membership => None,
            Self::Rep => Some("change streams need no thread of their own yet"),
            Self::Send => Some("each thread sends what it produced"),
            Self::Io => Some("each lane of the disk has one thread in any case"),
            Self::Watchdog => Some("the thread of membership watches the others"),
            Self::IndexBuild => Some("indexes are built by the ldm threads"),
            Self::Recover => Some("the ldm threads restore their own slots"),
        }
    }
}

/// One thread to start.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ThreadPlan {
    /// `recv0`, `ldm1`, `main`, `membership`.
    pub name: String,
    /// Its kind.
    pub kind: ThreadKind,
    /// Where it may run: nowhere in particular if empty, pinned if one.
    pub cpus: Vec<u16>,
    /// The modules on it: kind and instance.
    pub modules: Vec<(ModuleKind, u8)>,
    /// How long it spins before it sleeps, if the configuration says so (`spintime`).
    pub spin: Option<Duration>,
    /// 0 (lowest) to 10, if the configuration says so (`thread_prio`); 5 is what a process has anyway.
    pub priority: Option<u8>,
}

impl ThreadPlan {
    /// The CPU it is pinned to.
    #[must_use]
    pub fn cpu(&self) -> Option<u16> {
        match self.cpus[..] {
            [cpu] => Some(cpu),
            _ => None,
        }
    }
}

/// All threads of a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Layout {
    /// The threads; `membership` is the last.
    pub threads: Vec<ThreadPlan>,
    /// Wishes of the operator that are not met, one line each, for the log.
    pub notes: Vec<String>,
}

/// The facts that decide how many CPUs a node has for itself.
#[derive(Clone, Copy, Debug)]
pub struct CpuFacts {
    /// CPUs that the process may use, quotas of control groups counted.
    pub usable: u16,
    /// Whether a quota is below the number of CPUs that the process may run on.
    pub has_quota: bool,
    /// `NumCPUs`, if it is set.
    pub configured: Option<u16>,
    /// Data and SQL nodes of the configuration on this machine, this one included.
    pub sharing: u16,
    /// Whether any other node of the configuration is on this machine.
    pub has_neighbours: bool,
}

/// How a node uses CPUs where no `ThreadConfig` says it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CpuShare {
    /// Workers, 1 to [`WORKERS_MAX`].
    pub workers: u16,
    /// How many of them have an `ldm`, the first ones: 1 to [`LDM_MAX`].
    pub ldm_count: u16,
    /// Whether each worker has a CPU for itself, to be pinned to.
    pub is_pinned: bool,
    /// Whether threads may spin: under a quota, spinning uses up what the heartbeats need later; beside other nodes, it
    /// takes their CPUs.
    pub may_spin: bool,
}

impl CpuShare {
    /// One worker, pinned nowhere.
    pub const ONE: Self = Self { workers: 1, ldm_count: 1, is_pinned: false, may_spin: true };

    /// The share of a node. Where several nodes share the CPUs, each has a worker on every CPU, because clients come to
    /// any of them. Only as many workers as there are CPUs per node have an `ldm`: a write that has to visit a thread
    /// without a CPU waits for a wake-up. A configured number counts as CPUs of the node alone.
    #[must_use]
    pub fn of(facts: &CpuFacts) -> Self {
        let workers = facts.configured.unwrap_or(facts.usable).clamp(1, WORKERS_MAX);
        let own = match facts.configured {
            Some(_) => workers,
            None => (facts.usable / facts.sharing.max(1)).max(1),
        };
        let fits = workers <= facts.usable && !facts.has_quota;
        Self {
            workers,
            ldm_count: own.min(workers).min(LDM_MAX),
            is_pinned: fits && !facts.has_neighbours,
            may_spin: fits && (facts.configured.is_some() || facts.sharing <= 1),
        }
    }
}

/// The request that a layout is made from.
#[derive(Clone, Copy, Debug)]
pub struct LayoutRequest<'a> {
    /// `ThreadConfig`; `None` means `AutomaticThreadConfig`.
    pub thread_config: Option<&'a str>,
    /// For the automatic layout.
    pub share: CpuShare,
    /// The CPUs that the process may run on, in order: what workers are pinned to, if they are.
    pub cpus: &'a [u16],
    /// The kinds of modules that this node's roles need; `main` and `membership` are always there.
    pub kinds: &'a [ModuleKind],
}

/// Why a `ThreadConfig` is refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LayoutError {
    /// Not `kind={option=value,...},...` at this byte.
    Syntax {
        /// Counted from 0.
        position: usize,
        /// The expected text.
        expected: &'static str,
    },
    /// No such kind of thread.
    UnknownKind(String),
    /// No such option.
    UnknownOption(String),
    /// A value that the option cannot have.
    BadValue {
        /// The option.
        option: String,
        /// The value.
        value: String,
        /// The allowed values.
        allowed: &'static str,
    },
    /// More threads than a kind may have.
    TooMany {
        /// The kind.
        kind: &'static str,
        /// How many were asked for.
        count: u32,
        /// How many there may be.
        limit: u16,
    },
}

impl fmt::Display for LayoutError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax { position, expected } => {
                write!(formatter, "ThreadConfig: expected {expected} at character {}", position + 1)
            }
            Self::UnknownKind(kind) => {
                let kinds = ThreadKind::NAMED.map(ThreadKind::name).join(", ");
                write!(formatter, "ThreadConfig: no thread kind '{kind}' (there are {kinds})")
            }
            Self::UnknownOption(option) => {
                write!(formatter, "ThreadConfig: no option '{option}' (there are {})", OPTIONS.join(", "))
            }
            Self::BadValue { option, value, allowed } => {
                write!(formatter, "ThreadConfig: {option}={value} is not {allowed}")
            }
            Self::TooMany { kind, count, limit } => {
                write!(formatter, "ThreadConfig: {count} {kind} threads, at most {limit} are possible")
            }
        }
    }
}

impl std::error::Error for LayoutError {}

impl Layout {
    /// Lays the modules on threads.
    pub fn plan(request: &LayoutRequest<'_>) -> Result<Self, LayoutError> {
        let has = |kind| request.kinds.contains(&kind);
        let mut config = match request.thread_config {
            Some(text) => parse(text)?,
            None => automatic(request, has(ModuleKind::Sql)),
        };
        let mut notes = Vec::new();
        for kind in ThreadKind::NAMED {
            let group = &mut config[kind.index()];
            if group.count > 0
                && let Some(reason) = kind.unused_because()
            {
                if request.thread_config.is_some() {
                    notes.push(format!("ThreadConfig: no {} thread is started: {reason}", kind.name()));
                }
                group.count = 0;
            }
        }
        if !has(ModuleKind::Sql) {
            // Nothing that could be spread: one thread receives what `main` answers.
            config[ThreadKind::Recv.index()].count = config[ThreadKind::Recv.index()].count.min(1);
        }
        let threads = place(&config, request.kinds);
        Ok(Self { threads, notes })
    }

    /// How many modules of a kind there are.
    #[must_use]
    pub fn count(&self, kind: ModuleKind) -> u8 {
        let modules = self.threads.iter().flat_map(|thread| &thread.modules);
        u8::try_from(modules.filter(|(module, _)| *module == kind).count()).unwrap_or(u8::MAX)
    }

    /// All modules, in the order of their threads.
    pub fn modules(&self) -> impl Iterator<Item = (ModuleKind, u8)> {
        self.threads.iter().flat_map(|thread| thread.modules.iter().copied())
    }
}

/// The part of `ThreadConfig` about one kind.
#[derive(Clone, Default, Debug)]
struct ThreadGroup {
    count: u16,
    /// Thread *i* is pinned to CPU *i* of this list, cyclically.
    bind: Vec<u16>,
    /// All threads may run on any of these.
    set: Vec<u16>,
    spin: Option<Duration>,
    priority: Option<u8>,
    /// `host=recv`: it has no threads; `count` of the receiving ones carry it.
    is_hosted: bool,
}

type Groups = [ThreadGroup; ThreadKind::NAMED.len()];

fn place(config: &Groups, kinds: &[ModuleKind]) -> Vec<ThreadPlan> {
    let mut threads = Vec::new();
    let mut start = |kind: ThreadKind| {
        let group = &config[kind.index()];
        let first = threads.len();
        let count = if group.is_hosted { 0 } else { group.count };
        for index in 0..count {
            threads.push(plan_one(kind, group, index));
        }
        first..threads.len()
    };
    let wants = |module: ModuleKind| kinds.contains(&module);
    let main_threads = start(ThreadKind::Main);
    let own = |start: &mut dyn FnMut(ThreadKind) -> std::ops::Range<usize>, module, kind| {
        if wants(module) { start(kind) } else { 0..0 }
    };
    let ldm_threads = own(&mut start, ModuleKind::Ldm, ThreadKind::Ldm);
    let query_threads = own(&mut start, ModuleKind::Query, ThreadKind::Query);
    let tc_threads = own(&mut start, ModuleKind::Tc, ThreadKind::Tc);
    let mut recv_threads = start(ThreadKind::Recv);
    if recv_threads.is_empty() {
        recv_threads = if main_threads.is_empty() {
            // Somebody must receive.
            let at = threads.len();
            threads.push(plan_one(ThreadKind::Recv, &ThreadGroup { count: 1, ..ThreadGroup::default() }, 0));
            at..at + 1
        } else {
            main_threads.clone()
        };
    }
    let spread = [
        (ModuleKind::Sql, recv_threads.clone(), ThreadKind::Recv),
        (ModuleKind::Tc, tc_threads, ThreadKind::Tc),
        (ModuleKind::Ldm, ldm_threads, ThreadKind::Ldm),
        (ModuleKind::Query, query_threads, ThreadKind::Query),
    ];
    for (module, own_threads, kind) in spread {
        if wants(module) {
            let group = &config[kind.index()];
            let hosted = if group.is_hosted { usize::from(group.count) } else { usize::MAX };
            let hosts = if own_threads.is_empty() { recv_threads.clone() } else { own_threads };
            for (instance, host) in (0_u8..).zip(hosts.take(hosted)) {
                threads[host].modules.push((module, instance));
            }
        }
    }
    let main_host = if main_threads.is_empty() { recv_threads.start } else { main_threads.start };
    threads[main_host].modules.push((ModuleKind::Main, 0));
    if wants(ModuleKind::Disk) {
        threads[main_host].modules.push((ModuleKind::Disk, 0));
    }
    threads.push(ThreadPlan {
        name: ThreadKind::Membership.name().to_owned(),
        kind: ThreadKind::Membership,
        cpus: Vec::new(),
        modules: vec![(ModuleKind::Membership, 0)],
        spin: Some(Duration::ZERO),
        priority: Some(MEMBERSHIP_PRIORITY),
    });
    threads.retain(|thread| !thread.modules.is_empty());
    threads
}

fn plan_one(kind: ThreadKind, group: &ThreadGroup, index: u16) -> ThreadPlan {
    let name =
        if kind == ThreadKind::Main { kind.name().to_owned() } else { format!("{}{index}", kind.name()) };
    let cpus = match group.bind.len() {
        0 => group.set.clone(),
        count => vec![group.bind[usize::from(index) % count]],
    };
    ThreadPlan { name, kind, cpus, modules: Vec::new(), spin: group.spin, priority: group.priority }
}

/// `AutomaticThreadConfig`: a worker per CPU, and a thread for `main`. A node without sessions has nothing to spread:
/// one thread does all.
fn automatic(request: &LayoutRequest<'_>, has_sessions: bool) -> Groups {
    let mut groups = Groups::default();
    let workers = &mut groups[ThreadKind::Recv.index()];
    workers.count = request.share.workers.clamp(1, WORKERS_MAX);
    if request.share.is_pinned {
        workers.bind = request.cpus.to_vec();
    }
    if has_sessions {
        let main = &mut groups[ThreadKind::Main.index()];
        (main.count, main.spin) = (1, Some(Duration::ZERO));
    }
    let ldm = &mut groups[ThreadKind::Ldm.index()];
    (ldm.count, ldm.is_hosted) = (request.share.ldm_count.clamp(1, LDM_MAX), true);
    groups
}

const OPTIONS: [&str; 10] = [
    "count",
    "cpubind",
    "cpubind_exclusive",
    "cpuset",
    "cpuset_exclusive",
    "realtime",
    "spintime",
    "thread_prio",
    "nosend",
    "host",
];

/// Reads `kind={option=value,...},...`; a kind may come several times, which adds threads.
fn parse(text: &str) -> Result<Groups, LayoutError> {
    let mut groups = Groups::default();
    let mut rest = Cursor { text, position: 0 };
    rest.skip_space();
    while !rest.is_at_end() {
        let name = rest.word();
        if name.is_empty() {
            return Err(rest.expected("the name of a thread kind"));
        }
        let kind = ThreadKind::NAMED
            .into_iter()
            .find(|kind| kind.name().eq_ignore_ascii_case(name))
            .ok_or_else(|| LayoutError::UnknownKind(name.to_owned()))?;
        let mut count = None;
        let mut given = ThreadGroup::default();
        if rest.take('=') {
            parse_options(&mut rest, &mut given, &mut count)?;
        }
        add_group(kind, &mut groups[kind.index()], given, count)?;
        if !rest.is_at_end() && !rest.take(',') {
            return Err(rest.expected("',' or the end"));
        }
    }
    Ok(groups)
}

fn parse_options(
    rest: &mut Cursor<'_>,
    group: &mut ThreadGroup,
    count: &mut Option<u32>,
) -> Result<(), LayoutError> {
    if !rest.take('{') {
        return Err(rest.expected("'{'"));
    }
    while !rest.take('}') {
        let option = rest.word();
        if option.is_empty() {
            return Err(rest.expected("the name of an option"));
        }
        let option = option.to_ascii_lowercase();
        if !OPTIONS.contains(&option.as_str()) {
            return Err(LayoutError::UnknownOption(option));
        }
        if !rest.take('=') {
            return Err(rest.expected("'='"));
        }
        let value = rest.value();
        apply(&option, value, group, count)?;
        if !rest.take(',') && !rest.is_at('}') {
            return Err(rest.expected("',' or '}'"));
        }
    }
    Ok(())
}

fn apply(
    option: &str,
    value: &str,
    group: &mut ThreadGroup,
    count: &mut Option<u32>,
) -> Result<(), LayoutError> {
    let bad = |allowed| LayoutError::BadValue { option: option.to_owned(), value: value.to_owned(), allowed };
    match option {
        "count" => *count = Some(value.parse().map_err(|_| bad("a number"))?),
        "host" => {
            if !value.eq_ignore_ascii_case("recv") {
                return Err(bad("recv"));
            }
            group.is_hosted = true;
        }
        "cpubind" | "cpubind_exclusive" => {
            group.bind = cpu_list(value).ok_or_else(|| bad("a list of CPUs such as 0,1,4-7"))?;
        }
        "cpuset" | "cpuset_exclusive" => {
            group.set = cpu_list(value).ok_or_else(|| bad("a list of CPUs such as 0,1,4-7"))?;
        }
        "spintime" => {
            let spin = value.parse().ok().map(Duration::from_micros).filter(|spin| *spin <= SPIN_TIME_MAX);
            group.spin = Some(spin.ok_or_else(|| bad("a number of microseconds from 0 to 9000"))?);
        }
        "thread_prio" => {
            let priority = value.parse().ok().filter(|priority| *priority <= THREAD_PRIORITY_MAX);
            group.priority = Some(priority.ok_or_else(|| bad("a number from 0 to 10"))?);
        }
        // `realtime` and `nosend` are accepted for NDB's sake; OPTIONS has admitted nothing else.
        _ => {
            if !matches!(value, "0" | "1") {
                return Err(bad("0 or 1"));
            }
        }
    }
    Ok(())
}

/// Adds what one `kind={...}` says; without `count`, there are as many threads as CPUs in `cpubind`, or one.
fn add_group(
    kind: ThreadKind,
    group: &mut ThreadGroup,
    given: ThreadGroup,
    count: Option<u32>,
) -> Result<(), LayoutError> {
    let bound = u32::try_from(given.bind.len()).unwrap_or(u32::MAX);
    let total = u32::from(group.count).saturating_add(count.unwrap_or(bound.max(1)));
    let limit = if kind == ThreadKind::Main { 1 } else { THREADS_PER_KIND_MAX };
    group.count = u16::try_from(total).ok().filter(|total| *total <= limit).ok_or(LayoutError::TooMany {
        kind: kind.name(),
        count: total,
        limit,
    })?;
    if given.is_hosted {
        let is_possible = matches!(kind, ThreadKind::Ldm | ThreadKind::Query | ThreadKind::Tc) && total > 0;
        if !is_possible {
            let (option, value) = ("host".to_owned(), "recv".to_owned());
            let allowed = "possible here: only ldm, query and tc have a host, with a count of 1 or more";
            return Err(LayoutError::BadValue { option, value, allowed });
        }
    }
    group.is_hosted |= given.is_hosted;
    group.bind.extend(given.bind);
    group.set.extend(given.set);
    group.spin = given.spin.or(group.spin);
    group.priority = given.priority.or(group.priority);
    Ok(())
}

fn cpu_list(text: &str) -> Option<Vec<u16>> {
    const CPU_MAX: u16 = 1023;
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = match part.split_once('-') {
            Some((first, last)) => (first.trim().parse().ok()?, last.trim().parse().ok()?),
            None => {
                let cpu: u16 = part.trim().parse().ok()?;
                (cpu, cpu)
            }
        };
        if first > last || last > CPU_MAX {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
}

struct Cursor<'a> {
    text: &'a str,
    position: usize,
}

impl<'a> Cursor<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.position..]
    }

    fn is_at_end(&self) -> bool {
        self.position == self.text.len()
    }

    fn is_at(&self, character: char) -> bool {
        self.rest().starts_with(character)
    }

    fn skip_space(&mut self) {
        let rest = self.rest();
        self.position += rest.len() - rest.trim_start().len();
    }

    fn take(&mut self, character: char) -> bool {
        let found = self.is_at(character);
        if found {
            self.position += character.len_utf8();
            self.skip_space();
        }
        found
    }

    fn word(&mut self) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        self.position += end;
        self.skip_space();
        &rest[..end]
    }

    /// Up to the next `}` or to a `,` that an option's name and `=` follow: values are lists with commas of their own.
    fn value(&mut self) -> &'a str {
        let rest = self.rest();
        let is_option = |behind: &str| {
            let behind = behind.trim_start();
            let end = behind.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(behind.len());
            behind.starts_with(|c: char| c.is_ascii_alphabetic())
                && behind[end..].trim_start().starts_with('=')
        };
        let end = rest
            .char_indices()
            .find(|(at, character)| match character {
                '}' => true,
                ',' => is_option(&rest[at + 1..]),
                _ => false,
            })
            .map_or(rest.len(), |(at, _)| at);
        self.position += end;
        rest[..end].trim()
    }

    fn expected(&self, expected: &'static str) -> LayoutError {
        LayoutError::Syntax { position: self.position, expected }
    }
}
