//! `config.ini`: NDB's sections and parameter names, read into a [`ClusterConfig`].
//!
//! ```text
//! [system]                [ndbd default]           [ndb_mgmd]              [ndbd]                  [mysqld]
//! Name=shop               NoOfReplicas=2           NodeId=65               NodeId=1                NodeId=67
//!                         DataMemory=4G            HostName=10.0.0.9       HostName=10.0.0.1       HostName=10.0.0.3
//! ```
//! There are three passes, each a pure function. ini.rs splits the text into sections with line numbers. Here each
//! entry is looked up in the table of known names (parameters.rs) and its value read. Then sections become nodes: own
//! value, else the one of the role's default section, else the default.
//!
//! All problems are told at once, one line each, with its line number. An unknown name is an error that says the
//! nearest known one. A name that NDB knows and that does nothing here is a warning that says why.
//!
//! A node without a set port gets the next free number of its host, in order of node ids. They begin at 2202
//! (`ServerPort`, for the other nodes), 3306 (`port`, MySQL protocol; data nodes serve it too) and 1186 (`PortNumber`,
//! management protocol).
//!
//! **Invariants** of a [`ClusterConfig`]: it has a management node and data nodes, a multiple of `replicas`. Node ids
//! are unique and in order. No two nodes on one host share a port. `ThreadConfig` can be laid out. The same text gives
//! the same configuration on every node.
//!
//! Deliberately not here: files, environment, what the machine has.

mod ini;
mod parameters;
mod redo;

pub use parameters::{Effect, Kind, PARAMETERS, Parameter, Sections};
pub use redo::{Durability, RedoConfig};

use ini::{Entry, Section};
use memory::MemoryOverrides;
use parameters::Number;
use protocol::layout::{CpuShare, Layout, LayoutRequest};
use protocol::placement::ReadPlacement;
use protocol::{ModuleKind, NodeRole};
use std::collections::{BTreeMap, BTreeSet};
use stdx::Duration;
use transaction::epochs::TIME_BETWEEN_EPOCHS_MIN;
use types::NodeId;

/// The first `ServerPort` that is given out.
pub const SERVER_PORT_FIRST: u16 = 2_202;
/// Characters of a cluster's name at most.
const NAME_SIZE_MAX: usize = 64;

/// The first MySQL port that is given out.
pub const MYSQL_PORT_FIRST: u16 = 3_306;
/// The first management port that is given out.
pub const MANAGEMENT_PORT_FIRST: u16 = 1_186;
/// The largest node id.
pub const NODE_ID_MAX: u16 = 255;
/// Bytes of a configuration: far more than 255 nodes need.
pub const TEXT_SIZE_MAX: usize = 4 * 1024 * 1024;

/// An error, for an operator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConfigError {
    /// Counted from 1; None if it is about no line in particular.
    pub line: Option<u32>,
    /// The mistake and what would be right, in one line.
    pub message: String,
}

impl std::fmt::Display for ConfigError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            Some(line) => write!(formatter, "config.ini line {line}: {}", self.message),
            None => write!(formatter, "config.ini: {}", self.message),
        }
    }
}

impl std::error::Error for ConfigError {}

/// A whole cluster.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClusterConfig {
    /// `[system] Name`.
    pub name: String,
    /// `NoOfReplicas`.
    pub replicas: usize,
    /// `PartitionsPerNode`.
    pub partitions_per_node: usize,
    /// `SlotsPerNode`; 0: by the CPUs of the nodes that found the cluster.
    pub slots_per_node: u16,
    /// `TimeBetweenEpochs`; no pause under `Durability=fsync`.
    pub time_between_epochs: Duration,
    /// `Durability`: no session or table has less.
    pub durability: Durability,
    /// `HeartbeatIntervalDbDb`.
    pub heartbeat_interval: Duration,
    /// `ReplicaAnswerTimeout`; zero: no node has to leave for late answers.
    pub answer_timeout: Duration,
    /// `StartPartialTimeout`; zero: a restart waits for all data nodes.
    pub start_partial_timeout: Duration,
    /// All nodes by id.
    pub nodes: Vec<NodeConfig>,
    /// Settings that are accepted and do nothing, one line each, for the log.
    pub warnings: Vec<ConfigError>,
}

/// One node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeConfig {
    /// `NodeId`.
    pub node: NodeId,
    /// From the section's name.
    pub role: NodeRole,
    /// `HostName`.
    pub host: String,
    /// `ServerPort`: where the other nodes connect.
    pub server_port: u16,
    /// `DataDir`.
    pub data_dir: String,
    /// `UseShm`: Unix sockets and shared memory to nodes on the same machine.
    pub use_local_sockets: bool,
    /// `RequireTls`, where it is set.
    pub requires_tls: Option<bool>,
    /// `RequireCertificate`: it does not start without keys.
    pub requires_certificate: bool,
    /// `PortNumber` of management nodes.
    pub management_port: Option<u16>,
    /// Where MySQL clients connect; data and SQL nodes have it.
    pub mysql: Option<MysqlConfig>,
    /// `StopOnError`: its angel does not start it again after an error.
    pub stops_on_error: bool,
    /// Threads.
    pub threads: ThreadSettings,
    /// `TotalMemoryConfig`: memory of all regions in bytes; None: what the machine gives.
    pub total_memory: Option<u64>,
    /// Sizes of single regions, where they are set.
    pub memory: MemoryOverrides,
    /// The redo log; None: it keeps none.
    pub redo: Option<RedoConfig>,
    /// `ScratchSpace`, bytes; 0: statements have no scratch.
    pub scratch_space: u64,
    /// `QueryMemoryPerStatement`, bytes; None: a part of what statements have together.
    pub query_memory_per_statement: Option<u64>,
    /// `TransactionDeadlockDetectionTimeout`: no wait for a lock is longer, whatever the session says; None: as the
    /// session says.
    pub lock_wait_timeout: Option<Duration>,
    /// `TransactionInactiveTimeout`: a transaction without a statement for so long is rolled back; None: never.
    pub transaction_inactive_timeout: Option<Duration>,
    /// All parameters of the node that have an effect, as they are written, or by default.
    pub values: Vec<(&'static str, String)>,
}

/// Where MySQL clients connect.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MysqlConfig {
    /// `port`.
    pub port: u16,
    /// `bind_address`: None: loopback if `HostName` is this machine's loopback name, else all addresses.
    pub bind_address: Option<String>,
    /// `socket`: path of the Unix socket.
    pub socket: Option<String>,
    /// `max_connections`.
    pub max_connections: u32,
    /// `connect_timeout`, seconds.
    pub connect_timeout_s: u32,
    /// `max_allowed_packet`, bytes: a multiple of 1024.
    pub max_allowed_packet: u64,
}

/// How a node's threads are laid out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ThreadSettings {
    /// `ThreadConfig`, if it is to be used.
    pub thread_config: Option<String>,
    /// `NumCPUs`; None: what the process may use.
    pub cpu_count: Option<u16>,
    /// `SpinMethod`, spelled as in NDB.
    pub spin_method: &'static str,
    /// `ReadPlacement`.
    pub read_placement: ReadPlacement,
    /// `SchedulerExecutionTimer`: how long a slice of work may take.
    pub slice: Duration,
    /// `TimeBetweenWatchDogCheck`: a thread that does not come round for so long is taken for dead; zero: never.
    pub stuck_after: Duration,
}

impl ClusterConfig {
    /// Reads the text of a `config.ini`. All problems are reported at once, in order of lines.
    pub fn parse(text: &str) -> Result<Self, Vec<ConfigError>> {
        if text.len() > TEXT_SIZE_MAX {
            let message = format!("the file has {} bytes, at most {TEXT_SIZE_MAX} are read", text.len());
            return Err(vec![ConfigError { line: None, message }]);
        }
        let mut reader = Reader::default();
        let sections = ini::sections(text, &mut reader.errors);
        let cluster = reader.cluster(&sections);
        reader.errors.sort_by_key(|error| error.line.unwrap_or(u32::MAX));
        if reader.errors.is_empty() { cluster.ok_or_else(Vec::new) } else { Err(reader.errors) }
    }

    /// A node by id.
    #[must_use]
    pub fn node(&self, node: NodeId) -> Option<&NodeConfig> {
        self.nodes.iter().find(|config| config.node == node)
    }

    /// Whether rows survive a full stop: every data node keeps a redo log.
    #[must_use]
    pub fn keeps_rows(&self) -> bool {
        self.nodes_of(NodeRole::Data).all(|node| node.redo.is_some())
    }

    /// The nodes of a role.
    pub fn nodes_of(&self, role: NodeRole) -> impl Iterator<Item = &NodeConfig> {
        self.nodes.iter().filter(move |config| config.role == role)
    }
}

/// The kind that a section's name says.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum SectionKind {
    Data,
    Management,
    Sql,
    Api,
    Tcp,
    Shm,
    System,
}

impl SectionKind {
    /// The names that NDB knows, also those of its early years, and whether the section holds defaults.
    fn of(name: &str) -> Option<(Self, bool)> {
        let name = name.split_whitespace().collect::<Vec<_>>().join(" ").to_ascii_lowercase();
        let (base, is_default) =
            name.strip_suffix(" default").map_or((name.as_str(), false), |base| (base, true));
        let kind = match base {
            "ndbd" | "db" => Self::Data,
            "ndb_mgmd" | "mgm" => Self::Management,
            "mysqld" => Self::Sql,
            "api" => Self::Api,
            "tcp" => Self::Tcp,
            "shm" => Self::Shm,
            "system" => Self::System,
            _ => return None,
        };
        Some((kind, is_default))
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Data => "ndbd",
            Self::Management => "ndb_mgmd",
            Self::Sql => "mysqld",
            Self::Api => "api",
            Self::Tcp => "tcp",
            Self::Shm => "shm",
            Self::System => "system",
        }
    }

    const fn bit(self) -> Sections {
        match self {
            Self::Data => Sections::DATA,
            Self::Management => Sections::MANAGEMENT,
            Self::Sql => Sections::SQL,
            Self::Api => Sections::API,
            Self::Tcp => Sections::TCP,
            Self::Shm => Sections::SHM,
            Self::System => Sections::SYSTEM,
        }
    }

    const fn role(self) -> Option<NodeRole> {
        match self {
            Self::Data => Some(NodeRole::Data),
            Self::Management => Some(NodeRole::Management),
            Self::Sql => Some(NodeRole::Sql),
            Self::Api | Self::Tcp | Self::Shm | Self::System => None,
        }
    }
}

/// A value that was read, and where.
#[derive(Clone, Copy, Debug)]
struct Set<'a> {
    text: &'a str,
    number: u64,
    line: u32,
}

/// The known parameters that a section sets, by the table's spelling.
type Values<'a> = BTreeMap<&'static str, Set<'a>>;

/// The values of one node: its own, else its role's defaults.
struct NodeValues<'a> {
    line: u32,
    kind: SectionKind,
    role: NodeRole,
    own: Values<'a>,
}

#[derive(Default)]
struct Reader {
    errors: Vec<ConfigError>,
    warnings: Vec<ConfigError>,
}

impl Reader {
    fn error(&mut self, line: u32, message: String) {
        self.errors.push(ConfigError { line: Some(line), message });
    }

    fn warn(&mut self, line: u32, message: String) {
        self.warnings.push(ConfigError { line: Some(line), message });
    }

    fn cluster(&mut self, sections: &[Section<'_>]) -> Option<ClusterConfig> {
        let mut defaults: BTreeMap<SectionKind, Values<'_>> = BTreeMap::new();
        let mut nodes = Vec::new();
        let mut system = Values::new();
        for section in sections {
            let Some((kind, is_default)) = SectionKind::of(section.name) else {
                let known = "[ndbd default], [ndbd], [ndb_mgmd default], [ndb_mgmd], [mysqld default], [mysqld], [api], \
                             [tcp default], [shm], [system]";
                self.error(section.line, format!("no section [{}] (there are {known})", section.name));
                continue;
            };
            let values = self.values(kind, &section.entries);
            match (is_default, kind.role()) {
                (true, _) => self.add_defaults(section, kind, values, &mut defaults),
                (false, Some(role)) => nodes.push(NodeValues { line: section.line, kind, role, own: values }),
                (false, None) if kind == SectionKind::System => system.extend(values),
                (false, None) => {
                    let reason = if kind == SectionKind::Api { "native clients need no slot" } else { LINKS };
                    self.warn(section.line, format!("[{}] has no effect: {reason}", kind.name()));
                }
            }
        }
        self.drop_open_slots(&mut nodes);
        for node in &mut nodes {
            if let Some(defaults) = defaults.get(&node.kind) {
                for (name, value) in defaults {
                    node.own.entry(name).or_insert(*value);
                }
            }
        }
        self.check_members(&nodes);
        let ids = self.node_ids(&nodes);
        if !self.errors.is_empty() {
            return None;
        }
        let mut nodes: Vec<(NodeId, NodeValues<'_>)> = ids.into_iter().zip(nodes).collect();
        nodes.sort_by_key(|(id, _)| *id);
        self.assemble(&system, &nodes)
    }

    fn add_defaults<'a>(
        &mut self,
        section: &Section<'_>,
        kind: SectionKind,
        values: Values<'a>,
        defaults: &mut BTreeMap<SectionKind, Values<'a>>,
    ) {
        for name in ["NodeId", "ServerPort", "PortNumber", "port", "socket"] {
            if let Some(value) = values.get(name)
                && kind.role().is_some()
            {
                self.error(
                    value.line,
                    format!("{name} is of one node and cannot be in [{} default]", kind.name()),
                );
            }
        }
        if kind == SectionKind::Tcp && !section.entries.is_empty() {
            self.warn(section.line, format!("[tcp default] has no effect: {LINKS}"));
        }
        // A later default section adds to an earlier one, as in NDB.
        defaults.entry(kind).or_default().extend(values);
    }

    /// Reads the entries of a section of some kind.
    fn values<'a>(&mut self, kind: SectionKind, entries: &[Entry<'a>]) -> Values<'a> {
        let mut values = Values::new();
        for entry in entries {
            let Some(parameter) = parameters::find(entry.name, kind.bit()) else {
                let message = unknown(entry.name, kind);
                self.error(entry.line, message);
                continue;
            };
            let number = match parameter.kind.read(entry.value) {
                Ok(number) => number,
                Err(expected) => {
                    self.error(
                        entry.line,
                        format!("{}={}: expected {expected}", parameter.name, entry.value),
                    );
                    continue;
                }
            };
            let set = Set { text: entry.value, number, line: entry.line };
            if let Some(earlier) = values.insert(parameter.name, set) {
                let line = earlier.line;
                self.error(
                    entry.line,
                    format!("{} is set in this section already, in line {line}", parameter.name),
                );
            }
            if let Effect::None(reason) = parameter.effect {
                self.warn(entry.line, format!("{} has no effect: {reason}", parameter.name));
            }
        }
        values
    }

    /// NDB's `[mysqld]` sections without a host are slots that any server may take; ours are nodes.
    fn drop_open_slots(&mut self, nodes: &mut Vec<NodeValues<'_>>) {
        nodes.retain(|node| {
            let is_open = node.role == NodeRole::Sql && !node.own.contains_key("HostName");
            if is_open {
                let message =
                    "[mysqld] without HostName has no effect: SQL nodes are listed by host".to_owned();
                self.warn(node.line, message);
            }
            !is_open
        });
    }

    fn check_members(&mut self, nodes: &[NodeValues<'_>]) {
        for node in nodes {
            match node.own.get("HostName") {
                None => self.error(node.line, format!("[{}] lacks HostName", node.kind.name())),
                Some(host) if host.text.is_empty() => self.error(host.line, "HostName is empty".to_owned()),
                Some(_) => {}
            }
        }
        let count = |role: NodeRole| nodes.iter().filter(|node| node.role == role).count();
        for (role, section) in [(NodeRole::Management, "ndb_mgmd"), (NodeRole::Data, "ndbd")] {
            if count(role) == 0 {
                let message = format!(
                    "there is no [{section}] section: a cluster needs a management node and data nodes"
                );
                self.errors.push(ConfigError { line: None, message });
            }
        }
    }

    /// The ids of the nodes in order of their sections; a node without `NodeId` gets the lowest free one.
    fn node_ids(&mut self, nodes: &[NodeValues<'_>]) -> Vec<NodeId> {
        let mut taken: BTreeMap<u64, u32> = BTreeMap::new();
        for set in nodes.iter().filter_map(|node| node.own.get("NodeId")) {
            if let Some(line) = taken.insert(set.number, set.line) {
                self.error(
                    set.line,
                    format!("NodeId={} is another node's already, in line {line}", set.number),
                );
            }
        }
        let mut free = (1..=u64::from(NODE_ID_MAX)).filter(|id| !taken.contains_key(id));
        let mut ids = Vec::with_capacity(nodes.len());
        for node in nodes {
            match node.own.get("NodeId").map(|set| set.number).or_else(|| free.next()) {
                Some(id) => ids.push(NodeId(u16::try_from(id).unwrap_or(NODE_ID_MAX))),
                None => {
                    let message =
                        format!("there is no NodeId left: a cluster has at most {NODE_ID_MAX} nodes");
                    self.errors.push(ConfigError { line: Some(node.line), message });
                    ids.push(NodeId(0));
                }
            }
        }
        ids
    }

    /// A value that all data nodes must share.
    fn shared(&mut self, name: &'static str, nodes: &[(NodeId, NodeValues<'_>)]) -> u64 {
        let default = parameters::default_number(name);
        let value_of = |values: &NodeValues<'_>| values.own.get(name).map_or(default, |set| set.number);
        let mut data = nodes.iter().filter(|(_, values)| values.role == NodeRole::Data);
        let first = data.next().map_or(default, |(_, values)| value_of(values));
        if let Some((_, other)) = data.find(|(_, values)| value_of(values) != first) {
            let line = other.own.get(name).map_or(other.line, |set| set.line);
            let message = format!("{name} must be the same for all data nodes: set it in [ndbd default]");
            self.error(line, message);
        }
        first
    }

    /// Commits cannot wait for disks that no log is on.
    fn durability(&mut self, nodes: &[(NodeId, NodeValues<'_>)]) -> Durability {
        let durability = Durability::numbered(self.shared("Durability", nodes));
        let mut data = nodes.iter().filter(|(_, values)| values.role == NodeRole::Data);
        let diskless = data.find(|(_, values)| values.number("Diskless") != 0);
        if let Some((node, values)) = diskless.filter(|_| durability > Durability::Memory) {
            let line = values.own.get("Durability").map_or(values.line, |set| set.line);
            let name = durability.name();
            self.error(
                line,
                format!(
                    "Durability={name} needs a redo log on all data nodes: set Diskless=0 for node {node}"
                ),
            );
        }
        durability
    }

    fn assemble(&mut self, system: &Values<'_>, nodes: &[(NodeId, NodeValues<'_>)]) -> Option<ClusterConfig> {
        let replicas = narrow(self.shared("NoOfReplicas", nodes));
        let partitions_per_node = narrow(self.shared("PartitionsPerNode", nodes));
        let slots_per_node = u16::try_from(self.shared("SlotsPerNode", nodes)).unwrap_or(u16::MAX);
        let durability = self.durability(nodes);
        let time_between_epochs = match durability {
            Durability::Fsync => TIME_BETWEEN_EPOCHS_MIN,
            Durability::Memory | Durability::Epoch => {
                Duration::from_millis(self.shared("TimeBetweenEpochs", nodes))
            }
        };
        let heartbeat_interval = Duration::from_millis(self.shared("HeartbeatIntervalDbDb", nodes));
        let answer_timeout = Duration::from_millis(self.shared("ReplicaAnswerTimeout", nodes));
        let start_partial_timeout = Duration::from_millis(self.shared("StartPartialTimeout", nodes));
        let data_count = nodes.iter().filter(|(_, values)| values.role == NodeRole::Data).count();
        if replicas == 0 || !data_count.is_multiple_of(replicas) {
            let set = nodes.iter().find_map(|(_, values)| values.own.get("NoOfReplicas"));
            let message = format!(
                "{data_count} data nodes are not a multiple of NoOfReplicas={replicas}: each replica group needs {replicas}"
            );
            self.errors.push(ConfigError { line: set.map(|set| set.line), message });
        }
        let mut ports = Ports::new(nodes, self);
        let nodes = nodes.iter().map(|(id, values)| self.node(*id, values, &mut ports)).collect();
        let name = system
            .get("Name")
            .map_or_else(|| parameters::default_text("Name").to_owned(), |set| set.text.to_owned());
        if !is_cluster_name(&name) {
            let message = format!(
                "Name={name}: a name has 1 to {NAME_SIZE_MAX} letters, digits or _ . - and is not 'stop' or 'restart': `shutdown` wants it typed"
            );
            self.errors.push(ConfigError { line: system.get("Name").map(|set| set.line), message });
        }
        self.warnings.sort_by_key(|warning| warning.line);
        let warnings = std::mem::take(&mut self.warnings);
        Some(ClusterConfig {
            name,
            replicas,
            partitions_per_node,
            slots_per_node,
            time_between_epochs,
            durability,
            heartbeat_interval,
            answer_timeout,
            start_partial_timeout,
            nodes,
            warnings,
        })
    }

    fn node(&mut self, node: NodeId, values: &NodeValues<'_>, ports: &mut Ports) -> NodeConfig {
        let size = |name: &'static str| values.own.get(name).map(|set| set.number).filter(|size| *size > 0);
        let text = |name: &'static str| values.own.get(name).map(|set| set.text.to_owned());
        let milliseconds = |name: &'static str| {
            let number =
                values.own.get(name).map_or_else(|| parameters::default_number(name), |set| set.number);
            (number > 0).then(|| Duration::from_millis(number))
        };
        let host = text("HostName").unwrap_or_default();
        let mysql = (values.role != NodeRole::Management).then(|| MysqlConfig {
            port: ports.of(values, "port", MYSQL_PORT_FIRST),
            bind_address: text("bind_address"),
            socket: text("socket"),
            max_connections: narrow(values.number("max_connections")),
            connect_timeout_s: narrow(values.number("connect_timeout")),
            max_allowed_packet: (values.number("max_allowed_packet") / 1024 * 1024).max(1024),
        });
        let management_port = (values.role == NodeRole::Management)
            .then(|| ports.of(values, "PortNumber", MANAGEMENT_PORT_FIRST));
        let server_port = ports.of(values, "ServerPort", SERVER_PORT_FIRST);
        let chosen = |name: &str| match name {
            "NodeId" => Some(node.to_string()),
            "ServerPort" => Some(server_port.to_string()),
            "PortNumber" => management_port.map(|port| port.to_string()),
            "port" => mysql.as_ref().map(|mysql| mysql.port.to_string()),
            _ => None,
        };
        let of_node = |parameter: &&Parameter| {
            parameter.effect == Effect::Used && parameter.sections.meets(values.kind.bit())
        };
        let value = |parameter: &Parameter| {
            let written = chosen(parameter.name).or_else(|| text(parameter.name));
            (parameter.name, written.unwrap_or_else(|| parameter.default.to_owned()))
        };
        let all = parameters::PARAMETERS.iter().filter(of_node).map(value).collect();
        NodeConfig {
            node,
            role: values.role,
            server_port,
            data_dir: text("DataDir").unwrap_or_else(|| parameters::default_text("DataDir").to_owned()),
            use_local_sockets: values.number("UseShm") != 0,
            requires_tls: values.own.get("RequireTls").map(|set| set.number != 0),
            requires_certificate: values.own.get("RequireCertificate").is_some_and(|set| set.number != 0),
            management_port,
            mysql,
            stops_on_error: values.number("StopOnError") != 0,
            threads: self.threads(values),
            total_memory: size("TotalMemoryConfig"),
            memory: MemoryOverrides {
                data_memory: size("DataMemory"),
                transaction_memory: size("TransactionMemory"),
                replication_memory: size("ReplicationMemory"),
                schema_memory: size("SchemaMemory"),
                shared_global_memory: size("SharedGlobalMemory"),
                disk_page_buffer_memory: size("DiskPageBufferMemory"),
                redo_buffer: size("RedoBuffer"),
                undo_buffer: size("UndoBuffer"),
                send_buffers: size("TotalSendBufferMemory"),
                client_memory: size("ClientMemory"),
            },
            redo: RedoConfig::of(values),
            scratch_space: values.number("ScratchSpace"),
            query_memory_per_statement: size("QueryMemoryPerStatement"),
            lock_wait_timeout: milliseconds("TransactionDeadlockDetectionTimeout"),
            transaction_inactive_timeout: milliseconds("TransactionInactiveTimeout"),
            host,
            values: all,
        }
    }

    fn threads(&mut self, values: &NodeValues<'_>) -> ThreadSettings {
        let set = values.own.get("ThreadConfig").copied().filter(|set| !set.text.is_empty());
        let automatic = values.own.get("AutomaticThreadConfig");
        // ThreadConfig alone says what is wanted; together with AutomaticThreadConfig=1 the latter wins, as in NDB.
        let wins = automatic.is_some_and(|automatic| automatic.number != 0);
        let used = set.filter(|_| !wins);
        if let Some(set) = set
            && wins
        {
            self.warn(set.line, "ThreadConfig has no effect: AutomaticThreadConfig is on".to_owned());
        }
        if let Some(set) = used {
            let kinds = [ModuleKind::Sql, ModuleKind::Tc, ModuleKind::Ldm, ModuleKind::Query];
            let thread_config = Some(set.text);
            match Layout::plan(&LayoutRequest {
                thread_config,
                share: CpuShare::ONE,
                cpus: &[],
                kinds: &kinds,
            }) {
                Ok(layout) => layout.notes.into_iter().for_each(|note| self.warn(set.line, note)),
                Err(error) => self.error(set.line, error.to_string()),
            }
        }
        let cpu_count = u16::try_from(values.number("NumCPUs")).ok().filter(|count| *count > 0);
        let spin =
            values.own.get("SpinMethod").map_or(parameters::default_text("SpinMethod"), |set| set.text);
        ThreadSettings {
            thread_config: used.map(|set| set.text.to_owned()),
            cpu_count,
            spin_method: parameters::spin_method(spin).unwrap_or(parameters::SPIN_METHODS[0].1),
            read_placement: ReadPlacement::of_number(values.number("ReadPlacement")),
            slice: Duration::from_micros(values.number("SchedulerExecutionTimer")),
            stuck_after: Duration::from_millis(values.number("TimeBetweenWatchDogCheck")),
        }
    }
}

const LINKS: &str = "links are configured by the node sections";

impl NodeValues<'_> {
    fn number(&self, name: &'static str) -> u64 {
        self.own.get(name).map_or_else(|| parameters::default_number(name), |set| set.number)
    }

    fn host(&self) -> String {
        self.own.get("HostName").map_or_else(String::new, |set| set.text.to_ascii_lowercase())
    }
}

/// The ports of each host.
struct Ports {
    taken: BTreeSet<(String, u16)>,
}

impl Ports {
    /// Those that are set, each by one node of its host only.
    fn new(nodes: &[(NodeId, NodeValues<'_>)], reader: &mut Reader) -> Self {
        let mut taken = BTreeMap::new();
        for (_, values) in nodes {
            for set in ["ServerPort", "port", "PortNumber"].iter().filter_map(|name| values.own.get(name)) {
                let place = (values.host(), u16::try_from(set.number).unwrap_or(0));
                if let Some(line) = taken.insert(place, set.line) {
                    let message =
                        format!("port {} is taken on this host already, in line {line}", set.number);
                    reader.error(set.line, message);
                }
            }
        }
        Self { taken: taken.into_keys().collect() }
    }

    /// The node's port: as set, else the next free one of its host.
    fn of(&mut self, values: &NodeValues<'_>, name: &'static str, first: u16) -> u16 {
        if let Some(set) = values.own.get(name) {
            return u16::try_from(set.number).unwrap_or(first);
        }
        let host = values.host();
        let free =
            (first..u16::MAX).find(|port| !self.taken.contains(&(host.clone(), *port))).unwrap_or(first);
        self.taken.insert((host, free));
        free
    }
}

/// Whether it can be typed as one word, and means nothing else where it is.
fn is_cluster_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    (1..=NAME_SIZE_MAX).contains(&name.len())
        && name.bytes().all(is_plain)
        && !["stop", "restart"].iter().any(|verb| name.eq_ignore_ascii_case(verb))
}

/// The message about a name that a section cannot have.
fn unknown(name: &str, kind: SectionKind) -> String {
    let section = kind.name();
    if let Some(elsewhere) = parameters::find(name, Sections::ALL) {
        return format!(
            "{} does not belong to [{section}] but to {}",
            elsewhere.name,
            elsewhere.sections.names()
        );
    }
    match parameters::nearest(name, kind.bit()) {
        Some(nearest) => {
            format!("unknown parameter '{name}' in [{section}]; did you mean {nearest}?")
        }
        None => format!("unknown parameter '{name}' in [{section}]"),
    }
}

fn narrow<T: Number>(number: u64) -> T {
    T::narrow(number)
}

#[cfg(test)]
mod tests;
