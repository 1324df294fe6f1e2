//! All modules of a node, from what it is and how its threads are laid out.

use crate::disk_module::{DiskConfig, DiskModule, RedoSettings};
use crate::main_module::{Configuration, MainConfig, MainModule, Reporting};
use crate::management::{Authority, ConfiguredNode, Management, StartCheck};
use crate::module::NodeModule;
use crate::patience;
use membership::detector::DetectorConfig;
use membership::{Membership, MembershipConfig};
use memory::MemoryManager;
use protocol::epoch::NodeEpoch;
use protocol::layout::Layout;
use protocol::lease::Lease;
use protocol::placement::ReadPlacement;
use protocol::redo_room::RedoRoom;
use protocol::scratch_room::ScratchRoom;
use protocol::signal::JoinRequest;
use protocol::{Address, ModuleKind, NodeRole};
use query::{NodeMap, Query};
use sql::{Globals, ScratchTerms, SqlConfig, SqlModule};
use std::sync::Arc;
use stdx::{Duration, Instant};
use transaction::{Ldm, Sizes, Tc};
use types::NodeId;

/// The abilities of the driver that matter to sessions.
#[derive(Clone, Copy, Debug, Default)]
pub struct Driver {
    /// It can answer a TLS handshake.
    pub has_tls: bool,
    /// Its time for texts that are shown; none: that of each handler call.
    pub stopwatch: Option<fn() -> Instant>,
}

/// The settings of a node.
#[derive(Clone, Debug)]
pub struct NodeSettings {
    /// Its id.
    pub node: NodeId,
    /// The cluster's name.
    pub cluster: String,
    /// Its role.
    pub role: NodeRole,
    /// Host and port, for people.
    pub host: String,
    /// A number of this process start, told apart from earlier ones of the same node.
    pub start: u64,
    /// The whole configured cluster.
    pub members: Vec<(NodeId, NodeRole)>,
    /// The same, as `show` prints it.
    pub configured: Vec<ConfiguredNode>,
    /// The parameters of this node that have an effect, and what they are.
    pub configured_values: Vec<(&'static str, String)>,
    /// The text of config.ini, which management nodes serve.
    pub config_text: String,
    /// Whether this node could start again.
    pub start_check: Option<StartCheck>,
    /// The secret that gives authority over the cluster, on management nodes.
    pub authority: Option<Authority>,
    /// NoOfReplicas.
    pub replica_count: usize,
    /// PartitionsPerNode.
    pub partitions_per_node: usize,
    /// SlotsPerNode; 0: by the CPUs of the nodes that found the cluster.
    pub slots_per_node: u16,
    /// TimeBetweenEpochs.
    pub time_between_epochs: Duration,
    /// Settings of sessions.
    pub sessions: SessionSettings,
    /// Abilities of the driver.
    pub driver: Driver,
    /// How long what became of a commit is kept for a session that has not confirmed that it knows.
    pub marker_time: Duration,
    /// The sizes from which a transaction is large; smaller ones are for simulations.
    pub sizes: Sizes,
    /// HeartbeatIntervalDbDb.
    pub heartbeat_interval: Duration,
    /// ReplicaAnswerTimeout; zero: nobody is made to leave for late answers.
    pub answer_timeout: Duration,
    /// The redo log of a data node; none: it keeps none.
    pub redo: Option<RedoSettings>,
    /// Full stops.
    pub full_stops: FullStopSettings,
    /// The contents of the file of the node's control log; empty without one.
    pub control_log: Vec<u8>,
    /// The version, for people.
    pub version: String,
    /// The report of this node to management nodes; none in simulations, where nobody asks.
    pub reporting: Option<Reporting>,
}

/// Settings of the sessions of a node.
#[derive(Clone, Debug, Default)]
pub struct SessionSettings {
    /// max_connections.
    pub max_connections: u32,
    /// connect_timeout, seconds; none: the default of sessions.
    pub connect_timeout_s: Option<u32>,
    /// System variables that the configuration says.
    pub globals: Arc<Globals>,
    /// TransactionDeadlockDetectionTimeout.
    pub lock_wait_timeout_max: Option<Duration>,
    /// TransactionInactiveTimeout.
    pub transaction_inactive_timeout: Option<Duration>,
    /// ReadPlacement.
    pub read_placement: ReadPlacement,
    /// Scratch of statements; none: they have none.
    pub scratch: Option<ScratchSettings>,
}

/// How much memory and scratch statements have.
#[derive(Clone, Copy, Debug)]
pub struct ScratchSettings {
    /// ScratchSpace.
    pub space: u64,
    /// QueryMemoryPerStatement.
    pub statement_memory_max: u64,
}

/// Settings for a full stop of the cluster and for the restart that follows.
#[derive(Clone, Copy, Debug)]
pub struct FullStopSettings {
    /// The cluster's data nodes keep rows on disk.
    pub keeps_rows: bool,
    /// StartPartialTimeout; zero: a restart waits for all data nodes.
    pub start_partial_timeout: Duration,
}

/// Connections of a node that may be about to log in, and of one of its `sql` modules at least.
const HANDSHAKES_MAX: usize = 128;
const HANDSHAKES_MIN: usize = 4;

/// The kinds of a data node's modules; the last one is that of nodes with a redo log.
const DATA_KINDS: [ModuleKind; 6] =
    [ModuleKind::Main, ModuleKind::Sql, ModuleKind::Tc, ModuleKind::Ldm, ModuleKind::Query, ModuleKind::Disk];

/// The modules of a node. `layout` says how many of each kind there are; management and SQL nodes have no slots
/// whatever it says.
#[must_use]
pub fn build(
    settings: &NodeSettings,
    layout: &Layout,
    memory: &Arc<MemoryManager>,
) -> Vec<(Address, NodeModule)> {
    let kinds: &[ModuleKind] = match settings.role {
        NodeRole::Data if settings.redo.is_some() => &DATA_KINDS,
        NodeRole::Data => &DATA_KINDS[..DATA_KINDS.len() - 1],
        NodeRole::Sql => &[ModuleKind::Main, ModuleKind::Sql],
        NodeRole::Management => &[ModuleKind::Main],
    };
    let count = |kind: ModuleKind| if kinds.contains(&kind) { layout.count(kind) } else { 0 };
    let addresses: Vec<Address> = kinds
        .iter()
        .flat_map(|kind| {
            (0..layout.count(*kind)).map(|instance| Address::new(settings.node, *kind, instance))
        })
        .collect();
    // A node without rows needs nobody's leave.
    let lease = Arc::new(if settings.role == NodeRole::Data { Lease::default() } else { Lease::unlimited() });
    let epoch = Arc::new(NodeEpoch::default());
    let (buffer, wait_max) =
        settings.redo.as_ref().map_or((0, Duration::ZERO), |redo| (redo.buffer, redo.wait_max));
    let room = Arc::new(RedoRoom::new(buffer, count(ModuleKind::Ldm)).with_wait_max(wait_max));
    let scratch = settings.sessions.scratch.map(|scratch| ScratchTerms {
        room: Arc::new(ScratchRoom::new(scratch.space)),
        statement_memory_max: scratch.statement_memory_max,
    });
    let empty = Arc::new(NodeMap::empty(settings.node, Arc::new(catalogue::bootstrap())));
    let mut modules: Vec<(Address, NodeModule)> = Vec::with_capacity(addresses.len() + 1);
    for address in &addresses {
        let module = match address.kind {
            ModuleKind::Sql => {
                let config = sql_config(settings, *address, count(ModuleKind::Sql), scratch.clone());
                NodeModule::sql(*address, SqlModule::new(config, Arc::clone(memory)))
            }
            ModuleKind::Tc => {
                NodeModule::tc(*address, Tc::new(*address, Arc::clone(&empty), settings.marker_time))
            }
            ModuleKind::Ldm => {
                let (map, memory) = (Arc::clone(&empty), Arc::clone(memory));
                let ldm = Ldm::new(*address, map, memory, settings.marker_time).with_sizes(settings.sizes);
                let limit = patience::answer_limit(settings.answer_timeout, settings.heartbeat_interval);
                let ldm = ldm.with_answer_timeout(limit);
                let keeps = settings.redo.is_some();
                NodeModule::ldm(*address, if keeps { ldm.with_redo(Arc::clone(&room)) } else { ldm })
            }
            ModuleKind::Query => NodeModule::query(*address, Query::new(*address, Arc::clone(&empty))),
            ModuleKind::Disk => match &settings.redo {
                Some(redo) => {
                    let config = disk_config(settings, redo, &addresses, memory, (&room, &epoch));
                    NodeModule::disk(*address, DiskModule::new(config))
                }
                None => continue,
            },
            ModuleKind::Main | ModuleKind::Membership => {
                NodeModule::main(*address, main_module(settings, &addresses, memory, &lease, &room))
            }
        };
        modules.push((*address, module.with_epoch(&epoch)));
    }
    let join = JoinRequest {
        role: settings.role,
        start: settings.start,
        host: settings.host.clone(),
        ldm_count: count(ModuleKind::Ldm),
        tc_count: count(ModuleKind::Tc),
        query_count: count(ModuleKind::Query),
        sql_count: count(ModuleKind::Sql),
        claim: None,
    };
    let membership = MembershipConfig {
        node: settings.node,
        cluster: settings.cluster.clone(),
        join,
        awaits_claim: settings.role == NodeRole::Data && settings.redo.is_some(),
        members: settings.members.clone(),
        replica_count: settings.replica_count,
        partitions_per_node: settings.partitions_per_node,
        slots_per_node: settings.slots_per_node,
        start_partial_timeout: settings.full_stops.start_partial_timeout,
        detector: DetectorConfig::for_interval(settings.heartbeat_interval),
        log_file: settings.control_log.clone(),
    };
    let address = Address::membership(settings.node);
    let membership = NodeModule::membership(address, Membership::new(membership, lease));
    modules.push((address, membership.with_epoch(&epoch)));
    modules
}

/// The configuration of one of so many modules `sql`.
fn sql_config(
    settings: &NodeSettings,
    address: Address,
    siblings: u8,
    scratch: Option<ScratchTerms>,
) -> SqlConfig {
    let sessions = &settings.sessions;
    let default = SqlConfig::new(settings.node, address.instance);
    SqlConfig {
        // Connections are spread evenly over the modules.
        max_connections: sessions.max_connections.div_ceil(u32::from(siblings.max(1))),
        handshakes_max: HANDSHAKES_MAX.div_ceil(usize::from(siblings.max(1))).max(HANDSHAKES_MIN),
        has_tls: settings.driver.has_tls,
        scratch,
        stopwatch: settings.driver.stopwatch,
        read_placement: sessions.read_placement,
        lock_wait_timeout_max: sessions.lock_wait_timeout_max,
        transaction_inactive_timeout: sessions.transaction_inactive_timeout,
        marker_time: settings.marker_time,
        globals: Arc::clone(&sessions.globals),
        siblings,
        handshake_timeout_ms: sessions
            .connect_timeout_s
            .map_or(default.handshake_timeout_ms, |seconds| u64::from(seconds) * 1_000),
        ..default
    }
}

fn disk_config(
    settings: &NodeSettings,
    redo: &RedoSettings,
    modules: &[Address],
    memory: &Arc<MemoryManager>,
    (room, epoch): (&Arc<RedoRoom>, &Arc<NodeEpoch>),
) -> DiskConfig {
    let of_kind = |kind: ModuleKind| modules.iter().copied().filter(|module| module.kind == kind).collect();
    DiskConfig {
        node: settings.node,
        cluster: settings.cluster.clone(),
        ldms: of_kind(ModuleKind::Ldm),
        queries: of_kind(ModuleKind::Query),
        node_epoch: Arc::clone(epoch),
        replicas: u16::try_from(settings.replica_count).unwrap_or(1),
        memory: Arc::clone(memory),
        redo: redo.clone(),
        room: Arc::clone(room),
    }
}

fn main_module(
    settings: &NodeSettings,
    modules: &[Address],
    memory: &Arc<MemoryManager>,
    lease: &Arc<Lease>,
    room: &Arc<RedoRoom>,
) -> MainModule {
    let management = (settings.role == NodeRole::Management).then(|| {
        Management::new(
            settings.node,
            settings.cluster.clone(),
            settings.version.clone(),
            settings.config_text.clone(),
            settings.configured.clone(),
        )
        .with_start_check(settings.start_check.clone())
        .with_authority(settings.authority.clone())
    });
    let management = match settings.full_stops.keeps_rows {
        true => management.map(Management::with_rows_on_disk),
        false => management,
    };
    MainModule::new(MainConfig {
        node: settings.node,
        modules: modules.to_vec(),
        time_between_epochs: settings.time_between_epochs,
        memory: Arc::clone(memory),
        management,
        redo: settings.redo.is_some().then(|| Arc::clone(room)),
        lease: Arc::clone(lease),
        reporting: settings.reporting.clone(),
        start_check: settings.start_check.clone(),
        configuration: Configuration {
            nodes: settings.configured.clone(),
            values: settings.configured_values.clone(),
        },
    })
}
