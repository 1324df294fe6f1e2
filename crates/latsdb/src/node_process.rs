//! One node: fetches its configuration, plans its threads and memory, makes its modules and runs them.
//!
//! ```text
//! config.ini ─ get config ─▶ ClusterConfig ─▶ Layout ─▶ MemoryConfig ─▶ node::build ─▶ Runtime::start ─▶ exit code
//! ```
//! A management node reads the file; the others ask a management node for its text, so that all nodes work with the
//! same one.
//!
//! Invariant: the same text gives every node the same members, replicas and addresses; only what the machine has
//! differs.
//!
//! Deliberately not here: when a node is ready. It opens its MySQL port once the cluster is complete (`node`).

use crate::command_line::{ManagementOptions, MemberOptions};
use crate::configuration::{self, role_name};
use crate::exit_notice;
use crate::key_files::{self, TlsOptions};
use crate::logging;
use crate::management_client::{self, Access};
use crate::management_token;
use crate::node_choice;
use crate::resources::Machine;
use crate::start_check;
use crate::terminal::Failure;
use memory::{ConfigError as MemoryError, MIB, MemoryConfig, MemoryManager, Region, ThreadCounts};
use node::config::{ClusterConfig, MysqlConfig, NodeConfig};
use node::main_module::Reporting;
use node::management::{Authority, ConfiguredNode, StartCheck};
use node::{
    FullStopSettings, Globals, NodeModule, NodeSettings, RedoSettings, ScratchSettings, SessionSettings,
};
use protocol::layout::{CpuShare, Layout, LayoutRequest, ThreadKind};
use protocol::placement::ReadPlacement;
use protocol::{Address, ModuleKind, NodeRole};
use runtime::disk::NodeFolder;
use runtime::{BoxedModule, Limits, Listeners, PeerConfig, Runtime, RuntimeConfig, SpinMethod, TlsIdentity};
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// The version, for people.
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Memory of a management node: it holds a catalogue and no rows.
const MANAGEMENT_MEMORY: u64 = 256 * MIB;
/// Connections above `max_connections` that the runtime still accepts: those that are about to log in, those that a
/// session refuses, and administrators.
const CONNECTIONS_SPARE: u32 = 200;

/// How a process was started.
#[derive(Clone, Debug)]
pub(crate) struct Start {
    /// As a node of a new, empty cluster.
    pub(crate) is_initial: bool,
    /// The angel's pipe.
    pub(crate) angel: Option<i32>,
    /// Whether it could start again.
    pub(crate) check: Option<StartCheck>,
    /// Where its keys are.
    pub(crate) tls: TlsOptions,
}

/// `latsdb mgmd`.
pub(crate) fn run_management(options: &ManagementOptions, angel: Option<i32>) -> Result<ExitCode, Failure> {
    let (text, config) = configuration::load(&options.config_file)?;
    logging::start(&options.log)?;
    let choice = node_choice::choose(&config, NodeRole::Management, options.ndb_nodeid, None)?;
    let me = choice.node.clone();
    logging::set_node(me.node);
    let file = options.config_file.display().to_string();
    for warning in &config.warnings {
        tracing::warn!("{}", configuration::locate(warning, &file));
    }
    if options.configdir.is_some() {
        tracing::warn!("--configdir has no effect: {file} is read at each start and no cache of it is kept");
    }
    let tls = options.tls.clone();
    let check = start_check::of_manager(options.config_file.clone(), config.clone(), me.clone(), tls.clone());
    run(&config, text, &me, Start { is_initial: options.initial, angel, check: Some(check), tls })
}

/// `latsdb data` and `latsdb sql`. `mysql` replaces port and socket of the configuration.
pub(crate) fn run_member(
    role: NodeRole,
    options: &MemberOptions,
    mysql: Option<(Option<u16>, Option<&Path>)>,
    start: Start,
) -> Result<ExitCode, Failure> {
    logging::start(&options.log)?;
    let wanted = options.ndb_nodeid.or(options.ndb_connectstring.node);
    if let Some(id) = wanted {
        logging::set_node(types::NodeId(id));
    }
    let keys = options.tls.for_node(role, wanted);
    let access = Access { connectstring: options.ndb_connectstring.clone(), token_file: None, keys };
    let text = management_client::fetch_config(&access);
    let config = configuration::parse(&text, &format!("configuration from {}", options.ndb_connectstring))?;
    let choice = node_choice::choose(&config, role, wanted, Some(&access))?;
    let mut me = choice.node.clone();
    logging::set_node(me.node);
    if let (Some(served), Some((port, socket))) = (&mut me.mysql, mysql) {
        served.port = port.unwrap_or(served.port);
        served.socket = socket.map(|path| path.display().to_string()).or(served.socket.take());
    }
    give_socket(&mut me);
    run(&config, text, &me, start)
}

/// Without `socket` in the configuration clients find the node's Unix socket in its DataDir.
fn give_socket(me: &mut NodeConfig) {
    let path = configuration::default_mysql_socket(me);
    if let Some(served) = me.mysql.as_mut().filter(|served| served.socket.is_none()) {
        if configuration::fits_socket(&path) {
            served.socket = Some(path.display().to_string());
        } else {
            let path = path.display();
            tracing::warn!("there is no Unix socket for clients: {path} is too long a path; set socket");
        }
    }
}

fn run(config: &ClusterConfig, text: String, me: &NodeConfig, start: Start) -> Result<ExitCode, Failure> {
    let (role, node) = (me.role, me.node);
    let of_node = |problem: String| Failure::new(format!("node {node}: {problem}"));
    let keys = start.tls.load(config, me).map_err(|failure| of_node(failure.to_string()))?;
    if let Some(why) = key_files::needed(config, me).filter(|_| keys.is_none()) {
        return Err(of_node(why));
    }
    // The files there are for this user only: the sockets of links, the control log.
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&me.data_dir)
        .map_err(|error| of_node(format!("cannot make DataDir {}: {error}", me.data_dir)))?;
    runtime::install_crash_handler(format!("latsdb_{node}"), &me.data_dir);
    let machine = Machine::measure();
    let share = machine.cpu_share(config, me);
    let layout = plan_layout(me, share, &machine).map_err(&of_node)?;
    for note in &layout.notes {
        tracing::warn!("{note}");
    }
    let me = &with_descriptors(me, &layout, config.nodes.len(), runtime::machine::raise_open_files_limit());
    let memory = plan_memory(me, &layout, &machine, config.nodes.len()).map_err(&of_node)?;
    let (memory, problem) = runtime::resident::memory_of(memory);
    if let Some(problem) = problem {
        tracing::warn!("{problem}; each 2 MiB of rows take two of the maps that vm.max_map_count allows");
    }
    let (folder, control_log) = open_folder(me, start.is_initial).map_err(&of_node)?;
    let authority = authority(me).map_err(&of_node)?;
    let check = || start_check::of_member(config.clone(), me.clone(), start.tls.clone(), Arc::clone(&memory));
    let start_check = Some(start.check.unwrap_or_else(check));
    let redo = redo_settings(me, &memory, start.is_initial);
    let mut settings =
        NodeSettings { control_log, redo, start_check, authority, ..settings(config, text, me) };
    settings.sessions.scratch = scratch_settings(me, memory.config());
    if let Some(descriptor) = start.angel {
        let life = (config.name.as_str(), node, settings.start);
        let files = keys.as_ref().map(|(_, files)| files);
        exit_notice::write(descriptor, life, me.stops_on_error, files, &peers(config, me));
    }
    let modules: Vec<(Address, BoxedModule<_>)> = node::build(&settings, &layout, &memory)
        .into_iter()
        .map(|(address, module): (Address, NodeModule)| (address, Box::new(module) as BoxedModule<_>))
        .collect();
    let threads: Vec<&str> = layout.threads.iter().map(|thread| thread.name.as_str()).collect();
    tracing::info!(
        "{} node of cluster '{}' starts: LatsDB {}, process {}, {} MiB of memory, threads {}",
        role_name(role),
        config.name,
        settings.version,
        std::process::id(),
        memory.config().total / MIB,
        threads.join(" "),
    );
    let runtime_config = RuntimeConfig {
        memory: Some(Arc::clone(&memory)),
        keys: keys.as_ref().map(|(keys, _)| keys.clone()),
        ..runtime_config(config, me, layout.clone(), share, settings.start)?
    };
    let certificate = runtime_config.tls.as_ref().map(|identity| identity.certificate_pem().to_owned());
    let runtime =
        Runtime::start(runtime_config, modules, folder).map_err(|error| of_node(error.to_string()))?;
    write_certificate(me, certificate);
    runtime.stop_on_signals();
    log_addresses(&runtime, me);
    if let Some((keys, files)) = keys {
        tracing::info!(
            "keys from {}: the certificate expires on {}",
            files.certificate.display(),
            keys.own().expires()
        );
        key_files::watch(config, me, keys, files, runtime.key_holder());
    }
    let code = runtime.wait();
    tracing::info!("stopped with exit code {code}");
    Ok(ExitCode::from(code))
}

/// The secrets that give authority over the cluster at this node, if it is a management node.
fn authority(me: &NodeConfig) -> Result<Option<Authority>, String> {
    match me.role {
        NodeRole::Management => management_token::open(Path::new(&me.data_dir), me.node.0).map(Some),
        NodeRole::Data | NodeRole::Sql => Ok(None),
    }
}

/// The right to the node's files, and the bytes of its control log. An SQL node has scratch only, in a folder of its
/// own: other nodes may have the same DataDir.
fn open_folder(me: &NodeConfig, is_initial: bool) -> Result<(Option<NodeFolder>, Vec<u8>), String> {
    let directory = Path::new(&me.data_dir);
    let opened = match me.role {
        NodeRole::Sql if me.scratch_space == 0 => return Ok((None, Vec::new())),
        NodeRole::Sql => NodeFolder::open(&directory.join(format!("latsdb_{}_files", me.node))),
        NodeRole::Data | NodeRole::Management if is_initial => {
            NodeFolder::open_anew(directory).map(|folder| (folder, Vec::new()))
        }
        NodeRole::Data | NodeRole::Management => NodeFolder::open(directory),
    };
    let is_direct = me.redo.as_ref().is_some_and(|redo| redo.is_direct);
    let opened = opened.and_then(|(folder, bytes)| {
        let folder = if is_direct { folder.with_direct_writes()? } else { folder };
        Ok((folder, bytes))
    });
    let (folder, bytes) = opened.map_err(|error| format!("cannot use DataDir: {error}"))?;
    Ok((Some(folder), bytes))
}

/// Kinds of modules that `node::build` makes for a node, besides `main` and `membership`.
fn module_kinds(me: &NodeConfig) -> &'static [ModuleKind] {
    match me.role {
        NodeRole::Data if me.redo.is_some() => {
            &[ModuleKind::Sql, ModuleKind::Tc, ModuleKind::Ldm, ModuleKind::Query, ModuleKind::Disk]
        }
        NodeRole::Data => &[ModuleKind::Sql, ModuleKind::Tc, ModuleKind::Ldm, ModuleKind::Query],
        NodeRole::Sql => &[ModuleKind::Sql],
        NodeRole::Management => &[],
    }
}

pub(crate) fn plan_layout(me: &NodeConfig, share: CpuShare, machine: &Machine) -> Result<Layout, String> {
    let request = LayoutRequest {
        thread_config: me.threads.thread_config.as_deref(),
        share,
        cpus: &machine.cpus,
        kinds: module_kinds(me),
    };
    Layout::plan(&request).map_err(|error| error.to_string())
}

pub(crate) fn plan_memory(
    me: &NodeConfig,
    layout: &Layout,
    machine: &Machine,
    nodes: usize,
) -> Result<MemoryConfig, String> {
    let total = match me.role {
        NodeRole::Management => MANAGEMENT_MEMORY,
        NodeRole::Data | NodeRole::Sql => me.total_memory.unwrap_or(machine.memory),
    };
    if let Some(bound) = machine.bound.filter(|bound| total > bound.bytes) {
        return Err(format!(
            "{} MiB of memory are configured, and the system refuses more than {} MiB ({}): \
             lower TotalMemoryConfig or raise the limit",
            total / MIB,
            bound.bytes / MIB,
            bound.name
        ));
    }
    if total > machine.memory {
        tracing::warn!(
            "{} MiB of memory are configured, the machine has {} MiB",
            total / MIB,
            machine.memory / MIB
        );
    }
    let count = |kind: ThreadKind| {
        u32::try_from(layout.threads.iter().filter(|thread| thread.kind == kind).count()).unwrap_or(u32::MAX)
    };
    let threads = ThreadCounts {
        ldm: count(ThreadKind::Ldm),
        tc: count(ThreadKind::Tc),
        query: count(ThreadKind::Query),
        main: count(ThreadKind::Main),
        receive: count(ThreadKind::Recv),
        loggers: if me.redo.is_some() { layout.count(ModuleKind::Ldm).into() } else { 0 },
    };
    let nodes = u32::try_from(nodes).unwrap_or(u32::MAX);
    MemoryConfig::automatic(total, &threads, nodes, &me.memory).map_err(|error| match error {
        MemoryError::TotalTooSmall => format!("{} MiB of memory are too little for a node", total / MIB),
        MemoryError::ReservesAboveTotal { needed } => {
            format!(
                "the configured memory regions need {} MiB, the node has {} MiB",
                needed / MIB,
                total / MIB
            )
        }
    })
}

fn settings(config: &ClusterConfig, text: String, me: &NodeConfig) -> NodeSettings {
    let port = me.mysql.as_ref().map(|mysql| mysql.port).or(me.management_port).unwrap_or(me.server_port);
    let start = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    NodeSettings {
        node: me.node,
        cluster: config.name.clone(),
        role: me.role,
        host: format!("{}:{port}", me.host),
        start: u64::try_from(start.as_nanos()).unwrap_or(u64::MAX),
        members: config.nodes.iter().map(|node| (node.node, node.role)).collect(),
        configured: config
            .nodes
            .iter()
            .map(|node| ConfiguredNode { node: node.node, role: node.role, host: node.host.clone() })
            .collect(),
        configured_values: me.values.clone(),
        start_check: None,
        authority: None,
        replica_count: config.replicas,
        partitions_per_node: config.partitions_per_node,
        slots_per_node: config.slots_per_node,
        time_between_epochs: config.time_between_epochs,
        sessions: SessionSettings {
            max_connections: me.mysql.as_ref().map_or(0, |mysql| mysql.max_connections),
            connect_timeout_s: me.mysql.as_ref().map(|mysql| mysql.connect_timeout_s),
            globals: Arc::new(me.mysql.as_ref().map(|mysql| globals(config, me, mysql)).unwrap_or_default()),
            lock_wait_timeout_max: me.lock_wait_timeout,
            transaction_inactive_timeout: me.transaction_inactive_timeout,
            read_placement: me.threads.read_placement,
            scratch: None,
        },
        // Every node that serves MySQL makes itself a certificate.
        driver: node::Driver { has_tls: me.mysql.is_some(), stopwatch: Some(runtime::stopwatch) },
        marker_time: node::MARKER_TIME,
        sizes: node::Sizes::DEFAULT,
        heartbeat_interval: config.heartbeat_interval,
        answer_timeout: config.answer_timeout,
        redo: None,
        full_stops: FullStopSettings {
            keeps_rows: config.keeps_rows(),
            start_partial_timeout: config.start_partial_timeout,
        },
        control_log: Vec::new(),
        version: VERSION.to_owned(),
        reporting: Some(Reporting {
            version: format!("LatsDB {VERSION}"),
            config: node::management::digest(&text),
            mysql_port: me.mysql.as_ref().map_or(0, |mysql| mysql.port),
            members: config.nodes.iter().map(|node| (node.node, node.role)).collect(),
        }),
        config_text: text,
    }
}

/// The redo log of a node that keeps one, in a node with this memory.
fn redo_settings(me: &NodeConfig, memory: &MemoryManager, is_initial: bool) -> Option<RedoSettings> {
    me.redo.as_ref().map(|redo| RedoSettings {
        file_size: redo.file_size,
        file_count: redo.files(memory.config().region(Region::DataMemory).maximum),
        flush_interval: redo.flush_interval,
        buffer: memory.config().region(Region::RedoBuffer).reserved,
        write_speed_max: redo.write_speed_max,
        codec: redo.codec,
        wait_max: redo.wait_max,
        is_initial,
    })
}

/// Scratch of the statements of a node with this memory; None: it has none.
fn scratch_settings(me: &NodeConfig, memory: &MemoryConfig) -> Option<ScratchSettings> {
    /// A statement has so many bytes in any case.
    const STATEMENT_MIN: u64 = 8 * MIB;
    let reserved: u64 = Region::ALL.iter().map(|region| memory.region(*region).reserved).sum();
    let quarter = (memory.total.saturating_sub(reserved) / 4).max(STATEMENT_MIN);
    let statement_memory_max = me.query_memory_per_statement.unwrap_or(quarter);
    let space = me.scratch_space;
    (space > 0).then_some(ScratchSettings { space, statement_memory_max })
}

/// The node with as many connections as there are descriptors for: clients must not take those of the links.
fn with_descriptors(me: &NodeConfig, layout: &Layout, nodes: usize, descriptors: u64) -> NodeConfig {
    let mut me = me.clone();
    let Some(mysql) = &mut me.mysql else { return me };
    // Each thread has epoll, wake, alarm, listeners, and to each node a link, a bell and what is offered while it is
    // opened. Connections that have not said who they are, and files of the disk, must not want for any either.
    let reserved = 64 + runtime::STRANGERS_MAX + layout.threads.len() * (4 + 4 * nodes);
    let reserved = u64::try_from(reserved).unwrap_or(u64::MAX).saturating_add(CONNECTIONS_SPARE.into());
    let left = descriptors.saturating_sub(reserved);
    let fitting = u32::try_from(left).unwrap_or(u32::MAX).max(1);
    if fitting < mysql.max_connections {
        tracing::warn!(
            "max_connections is {fitting} instead of {}: this process may have {descriptors} open files (ulimit -n)",
            mysql.max_connections
        );
        mysql.max_connections = fitting;
    }
    me
}

/// The part of the configuration that clients see as system variables.
fn globals(config: &ClusterConfig, me: &NodeConfig, mysql: &MysqlConfig) -> Globals {
    let address = configuration::listen_address(&me.host, mysql.bind_address.as_deref(), mysql.port);
    let all = [
        ("bind_address", address.map(|address| address.ip().to_string()).unwrap_or_default()),
        ("connect_timeout", mysql.connect_timeout_s.to_string()),
        ("durability", config.durability.name().to_owned()),
        ("hostname", me.host.clone()),
        ("latsdb_diskless", if config.keeps_rows() { "OFF" } else { "ON" }.to_owned()),
        ("max_allowed_packet", mysql.max_allowed_packet.to_string()),
        ("max_connections", mysql.max_connections.to_string()),
        ("ndb_cluster_connection_pool_nodeids", me.node.0.to_string()),
        ("port", mysql.port.to_string()),
        ("server_id", me.node.0.to_string()),
        ("socket", mysql.socket.clone().unwrap_or_default()),
    ];
    all.into()
}

fn runtime_config(
    config: &ClusterConfig,
    me: &NodeConfig,
    layout: Layout,
    share: CpuShare,
    start: u64,
) -> Result<RuntimeConfig, Failure> {
    let link_silence_timeout = node::patience::link_silence(config.answer_timeout, config.heartbeat_interval);
    let default = Limits::default();
    let mut limits = Limits {
        slice: me.threads.slice,
        stuck_after: me.threads.stuck_after,
        shares_reads: me.threads.read_placement == ReadPlacement::Adaptive,
        link_silence_timeout,
        refused_patience: default.refused_patience.max(link_silence_timeout * 3 / 2),
        ..default
    };
    if let Some(mysql) = &me.mysql {
        limits.connections_max = mysql.max_connections.saturating_add(CONNECTIONS_SPARE);
        let modules = u32::from(layout.count(ModuleKind::Sql)).max(1);
        limits.connections_per_module = mysql.max_connections.div_ceil(modules);
        limits.refusal = node::too_many_connections();
    }
    // A ThreadConfig has been made with the machine in mind.
    let may_spin = share.may_spin || me.threads.thread_config.is_some();
    let spin: SpinMethod = match me.role {
        NodeRole::Management => SpinMethod::NoSpinning,
        NodeRole::Data | NodeRole::Sql if !may_spin => SpinMethod::NoSpinning,
        NodeRole::Data | NodeRole::Sql => me
            .threads
            .spin_method
            .parse()
            .map_err(|error| Failure::new(format!("node {}: {error}", me.node)))?,
    };
    Ok(RuntimeConfig {
        node: me.node,
        cluster: config.name.clone(),
        start,
        layout,
        spin,
        cluster_tcp: Some(configuration::listen_address(&me.host, None, me.server_port)?),
        cluster_unix: configuration::cluster_socket(me),
        peers: peers(config, me),
        listeners: listeners(me)?,
        tls: tls(me)?,
        keys: None,
        management_requires_tls: configuration::requires_tls(config, me, me),
        source: configuration::source_address(&me.host),
        limits,
        memory: None,
        log: logging::sink(),
    })
}

/// All other nodes; SQL nodes have nothing to tell each other.
fn peers(config: &ClusterConfig, me: &NodeConfig) -> Vec<PeerConfig> {
    let is_peer = |node: &&NodeConfig| {
        node.node != me.node && !(node.role == NodeRole::Sql && me.role == NodeRole::Sql)
    };
    let peer = |node: &NodeConfig| PeerConfig {
        node: node.node,
        host: node.host.clone(),
        port: node.server_port,
        role: node.role,
        requires_tls: configuration::requires_tls(config, me, node),
        unix: if configuration::are_neighbours(node, me) {
            configuration::cluster_socket(node)
        } else {
            None
        },
    };
    config.nodes.iter().filter(is_peer).map(peer).collect()
}

fn listeners(me: &NodeConfig) -> Result<Listeners, Failure> {
    let mut listeners = Listeners::default();
    if let Some(MysqlConfig { port, bind_address, socket, .. }) = &me.mysql {
        listeners.mysql_tcp = Some(configuration::listen_address(&me.host, bind_address.as_deref(), *port)?);
        listeners.mysql_unix = socket.as_ref().map(PathBuf::from);
        let key = format!("latsdb_{}_private_key.pem", me.node);
        listeners.password_key = Some(Path::new(&me.data_dir).join(key));
        if let Some(path) = listeners.mysql_unix.as_deref().filter(|path| !configuration::fits_socket(path)) {
            return Err(Failure::new(format!(
                "node {}: the path of socket {} is too long",
                me.node,
                path.display()
            )));
        }
    }
    if let Some(port) = me.management_port {
        listeners.management_tcp = Some(configuration::listen_address(&me.host, None, port)?);
    }
    Ok(listeners)
}

/// A certificate for MySQL clients that ask for TLS, made anew at each start. Clients that want to verify it find it in
/// DataDir.
fn tls(me: &NodeConfig) -> Result<Option<TlsIdentity>, Failure> {
    if me.mysql.is_none() {
        return Ok(None);
    }
    let names = [me.host.clone(), "localhost".to_owned()];
    let identity = TlsIdentity::self_signed(&names)
        .map_err(|error| Failure::new(format!("node {}: {error}", me.node)))?;
    Ok(Some(identity))
}

/// Puts the certificate where clients find it, once the ports are this process's: a second one of the same node must
/// not replace it.
fn write_certificate(me: &NodeConfig, certificate: Option<String>) {
    let Some(certificate) = certificate else { return };
    let path = certificate_path(me);
    let new = path.with_extension("new");
    if let Err(error) = std::fs::write(&new, certificate).and_then(|()| std::fs::rename(&new, &path)) {
        tracing::warn!("cannot write the certificate {}: {error}", path.display());
    }
}

/// The certificate with which clients verify the server.
fn certificate_path(me: &NodeConfig) -> PathBuf {
    Path::new(&me.data_dir).join(format!("latsdb_{}_certificate.pem", me.node))
}

fn log_addresses(runtime: &Runtime, me: &NodeConfig) {
    let bound = runtime.addresses();
    let addresses = [("links", bound.cluster), ("MySQL", bound.mysql), ("management", bound.management)];
    let mut places: Vec<String> = addresses
        .iter()
        .filter_map(|(what, address)| address.map(|address| format!("{what} on {address}")))
        .collect();
    if let Some(socket) = me.mysql.as_ref().and_then(|mysql| mysql.socket.as_ref()) {
        places.push(format!("MySQL on {socket}"));
    }
    tracing::info!("addresses: {}", places.join(", "));
}

#[cfg(test)]
mod tests;
