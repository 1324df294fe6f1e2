//! The names that `config.ini` may use: NDB's, with their units, defaults and one line of description, and whether they
//! do anything here.
//!
//! One table for the parser, for `ndbinfo` and for docs/operating/parameters.md, whose tables are made of it (a test of
//! `latsdb`). Names are compared without case, and `-` is `_`.
//!
//! **Invariants** (tested): names are unique; defaults can be read by their kind; every parameter without effect says
//! why.

use super::redo::Durability;
use protocol::placement::ReadPlacement;
use std::fmt::Write;

const MIB: u64 = 1024 * 1024;
/// The largest size: 16 TiB.
const SIZE_MAX: u64 = 16 * 1024 * 1024 * MIB;
/// The largest count and time.
const COUNT_MAX: u64 = 0xffff_feff;
/// A suggestion differs from what was written by at most this part of its length, and by 3 characters in any case.
const SUGGESTION_PART: usize = 2;

/// Sections in which a parameter may stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sections(u8);

impl Sections {
    /// `[ndbd]`.
    pub const DATA: Self = Self(1);
    /// `[ndb_mgmd]`.
    pub const MANAGEMENT: Self = Self(2);
    /// `[mysqld]`.
    pub const SQL: Self = Self(4);
    /// `[api]`.
    pub const API: Self = Self(8);
    /// `[tcp]`.
    pub const TCP: Self = Self(16);
    /// `[shm]`.
    pub const SHM: Self = Self(32);
    /// `[system]`.
    pub const SYSTEM: Self = Self(64);
    /// All of them.
    pub const ALL: Self = Self(127);

    /// These and those.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Those that are in both.
    #[must_use]
    pub const fn shared_with(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// True if some section is in both.
    #[must_use]
    pub const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// `[ndbd], [mysqld]`.
    #[must_use]
    pub fn names(self) -> String {
        let all = ["ndbd", "ndb_mgmd", "mysqld", "api", "tcp", "shm", "system"];
        let mut names = String::new();
        for (position, name) in all.iter().enumerate().filter(|(position, _)| self.0 >> position & 1 != 0) {
            let separator = if self.0 & ((1 << position) - 1) == 0 { "" } else { ", " };
            let written = write!(names, "{separator}[{name}]");
            stdx::require!(written.is_ok(), "writing to a string cannot fail");
        }
        names
    }
}

/// The values that a parameter takes. Bounds are inclusive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Any text.
    Text,
    /// 0 or 1, also true/false, yes/no, on/off.
    Flag,
    /// A number.
    Count(u64, u64),
    /// Bytes, with K, M, G, T for powers of 1024; 0 (automatic) is always allowed.
    Size(u64, u64),
    /// Milliseconds.
    Milliseconds(u64, u64),
    /// Microseconds.
    Microseconds(u64, u64),
    /// A TCP port.
    Port,
    /// One of [`SPIN_METHODS`].
    SpinMethod,
    /// One of these; its number is its place.
    OneOf(&'static [&'static str]),
}

/// Whether a parameter does anything.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// It does what it says.
    Used,
    /// It is accepted with a warning that says this.
    None(&'static str),
}

/// A known name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parameter {
    /// As NDB (or mysqld) spells it.
    pub name: &'static str,
    /// Where it may stand.
    pub sections: Sections,
    /// Its values.
    pub kind: Kind,
    /// The value if it is not set; empty: none.
    pub default: &'static str,
    /// Whether it does anything.
    pub effect: Effect,
    /// A description, for `ndbinfo.config_params` and for docs/operating/parameters.md.
    pub description: &'static str,
    /// The whole cluster agrees upon it: a change takes a full stop.
    pub is_agreed: bool,
}

/// Spellings that are understood, and the method each means.
pub(super) const SPIN_METHODS: [(&str, &str); 6] = [
    ("CostBasedSpinning", "CostBasedSpinning"),
    ("StaticSpinning", "StaticSpinning"),
    ("LatencyOptimisedSpinning", "LatencyOptimisedSpinning"),
    ("DatabaseMachineSpinning", "DatabaseMachineSpinning"),
    ("DatabaseMachine", "DatabaseMachineSpinning"),
    ("NoSpinning", "NoSpinning"),
];

/// The spin method that `text` names.
pub(super) fn spin_method(text: &str) -> Option<&'static str> {
    SPIN_METHODS.iter().find(|(spelling, _)| spelling.eq_ignore_ascii_case(text)).map(|(_, method)| *method)
}

impl Kind {
    /// The value as a number (0 for texts), or what would be right.
    pub(super) fn read(self, text: &str) -> Result<u64, String> {
        let within = |number: Option<u64>, low: u64, high: u64, unit: &str| match number {
            Some(number) if (low..=high).contains(&number) => Ok(number),
            _ => Err(format!("a number {low}–{high}{unit}")),
        };
        match self {
            Kind::Text => Ok(0),
            Kind::Flag => flag(text).ok_or_else(|| "0 or 1".to_owned()),
            Kind::Count(low, high) => within(size(text), low, high, ""),
            Kind::Milliseconds(low, high) => within(size(text), low, high, " (milliseconds)"),
            Kind::Microseconds(low, high) => within(size(text), low, high, " (microseconds)"),
            Kind::Port => within(text.parse().ok(), 1, 65_535, ""),
            Kind::Size(low, high) => match size(text) {
                Some(0) => Ok(0),
                Some(number) if (low..=high).contains(&number) => Ok(number),
                _ => Err(format!("a size {}–{} (K, M, G, T mean powers of 1024)", shown(low), shown(high))),
            },
            Kind::SpinMethod => spin_method(text)
                .map(|_| 0)
                .ok_or_else(|| SPIN_METHODS.map(|(spelling, _)| spelling).join(", ")),
            Kind::OneOf(names) => names
                .iter()
                .zip(0..)
                .find(|(name, _)| name.eq_ignore_ascii_case(text))
                .map(|(_, number)| number)
                .ok_or_else(|| names.join(", ")),
        }
    }
}

fn flag(text: &str) -> Option<u64> {
    let text = text.to_ascii_lowercase();
    match text.as_str() {
        "1" | "true" | "yes" | "y" | "on" => Some(1),
        "0" | "false" | "no" | "n" | "off" => Some(0),
        _ => None,
    }
}

fn size(text: &str) -> Option<u64> {
    let units = [('k', 10), ('m', 20), ('g', 30), ('t', 40)];
    let last = text.chars().last()?.to_ascii_lowercase();
    let (digits, shift) = match units.iter().find(|(unit, _)| *unit == last) {
        Some((_, shift)) => (&text[..text.len() - 1], *shift),
        None => (text, 0),
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// A size with the largest unit that divides it.
fn shown(size: u64) -> String {
    let units = [("T", 40), ("G", 30), ("M", 20), ("K", 10)];
    let whole = units.iter().find(|(_, shift)| size > 0 && size.is_multiple_of(1 << shift));
    whole.map_or_else(|| size.to_string(), |(unit, shift)| format!("{}{unit}", size >> shift))
}

/// Numbers that the table's bounds keep in range.
pub(super) trait Number {
    fn narrow(number: u64) -> Self;
}

impl Number for usize {
    fn narrow(number: u64) -> Self {
        usize::try_from(number).unwrap_or(usize::MAX)
    }
}

impl Number for u32 {
    fn narrow(number: u64) -> Self {
        u32::try_from(number).unwrap_or(u32::MAX)
    }
}

fn same_name(left: &str, right: &str) -> bool {
    let folded = |name: &str| name.replace('-', "_").to_ascii_lowercase();
    folded(left) == folded(right)
}

/// The parameter called `name` that may stand in one of these sections.
pub(super) fn find(name: &str, sections: Sections) -> Option<&'static Parameter> {
    // NDB knows the id by its old name, too.
    let name = if name.eq_ignore_ascii_case("Id") { "NodeId" } else { name };
    PARAMETERS.iter().find(|parameter| parameter.sections.meets(sections) && same_name(parameter.name, name))
}

/// The default of a parameter, which must be in the table.
pub(super) fn default_text(name: &str) -> &'static str {
    let found = find(name, Sections::ALL);
    stdx::require!(found.is_some(), "{name} is not in the table of parameters");
    found.map_or("", |parameter| parameter.default)
}

/// The default of a parameter as a number.
pub(super) fn default_number(name: &str) -> u64 {
    size(default_text(name)).unwrap_or(0)
}

/// The name most like `name` that may stand in one of these sections, if one is alike at all.
pub(super) fn nearest(name: &str, sections: Sections) -> Option<&'static str> {
    let distances = PARAMETERS
        .iter()
        .filter(|parameter| parameter.sections.meets(sections))
        .map(|parameter| (edit_distance(name, parameter.name), parameter.name));
    let (distance, nearest) = distances.min()?;
    (distance <= (nearest.len() / SUGGESTION_PART).max(3)).then_some(nearest)
}

/// Insertions, deletions and replacements that make one name the other, case aside (Levenshtein).
fn edit_distance(left: &str, right: &str) -> usize {
    // Names longer than any known one are like none.
    let left: Vec<char> = left.chars().take(100).map(|character| character.to_ascii_lowercase()).collect();
    let right: Vec<char> = right.chars().map(|character| character.to_ascii_lowercase()).collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (index, from) in left.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = index + 1;
        for (column, to) in right.iter().enumerate() {
            let replaced = diagonal + usize::from(from != to);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[right.len()]
}

const fn parameter(
    name: &'static str,
    sections: Sections,
    kind: Kind,
    default: &'static str,
    effect: Effect,
    description: &'static str,
) -> Parameter {
    Parameter { name, sections, kind, default, effect, description, is_agreed: false }
}

const fn agreed(parameter: Parameter) -> Parameter {
    Parameter { is_agreed: true, ..parameter }
}

/// All known names: first those that do something, then NDB's others.
#[rustfmt::skip]
pub static PARAMETERS: &[Parameter] = &[
    agreed(parameter("NodeId", Sections::DATA.and(Sections::MANAGEMENT).and(Sections::SQL).and(Sections::API), Kind::Count(1, 255), "", Effect::Used, "The node's number, unique in the cluster (Id is the same). Not set: the lowest free one.")),
    agreed(parameter("HostName", Sections::DATA.and(Sections::MANAGEMENT).and(Sections::SQL).and(Sections::API), Kind::Text, "", Effect::Used, "Name or address of the machine; it must be set. A [mysqld] section without it has no effect.")),
    parameter("DataDir", Sections::DATA.and(Sections::MANAGEMENT).and(Sections::SQL), Kind::Text, ".", Effect::Used, "Directory of the redo log, checkpoints, control.log, traces, the certificate, the socket between neighbours and the token of a management node."),
    agreed(parameter("ServerPort", Sections::DATA.and(Sections::MANAGEMENT).and(Sections::SQL), Kind::Port, "2202 and up", Effect::Used, "Where the other nodes connect. Not set: the next free one of the host.")),
    agreed(parameter("PortNumber", Sections::MANAGEMENT, Kind::Port, "1186 and up", Effect::Used, "Where latsdb mgm and starting nodes connect. Not set: the next free one of the host.")),
    agreed(parameter("NoOfReplicas", Sections::DATA, Kind::Count(1, 4), "2", Effect::Used, "Replicas of each partition; the number of data nodes is a multiple of it.")),
    agreed(parameter("PartitionsPerNode", Sections::DATA, Kind::Count(1, 128), "2", Effect::Used, "Partitions of each table per data node.")),
    agreed(parameter("SlotsPerNode", Sections::DATA, Kind::Count(0, 256), "0", Effect::Used, "Slots per data node that the partitions of all tables are spread over. 0: by the CPUs of the data nodes when the cluster is founded: 16 below 16 CPUs, 64 up to 64, else 128. At least PartitionsPerNode.")),
    parameter("TotalMemoryConfig", Sections::DATA, Kind::Size(256 * MIB, SIZE_MAX), "0", Effect::Used, "Memory of all regions; 0: what the machine or the control group gives, 64 MiB at least."),
    parameter("DataMemory", Sections::DATA, Kind::Size(MIB, SIZE_MAX), "0", Effect::Used, "Memory of rows and indexes; 0: what the other regions leave of the total."),
    parameter("TransactionMemory", Sections::DATA, Kind::Size(0, SIZE_MAX), "0", Effect::Used, "Reserve for open transactions; 0: automatic."),
    parameter("SharedGlobalMemory", Sections::DATA, Kind::Size(0, SIZE_MAX), "0", Effect::Used, "Memory that regions share; 0: automatic."),
    parameter("ReplicationMemory", Sections::DATA, Kind::Size(0, SIZE_MAX), "0", Effect::Used, "Reserve for change streams, which are not there yet; 0: none."),
    parameter("SchemaMemory", Sections::DATA, Kind::Size(0, SIZE_MAX), "0", Effect::Used, "Reserve for definitions of tables; 0: a twentieth of SharedGlobalMemory."),
    parameter("DiskPageBufferMemory", Sections::DATA, Kind::Size(0, SIZE_MAX), "0", Effect::Used, "Reserve for disk columns, which are not there yet; 0: none."),
    parameter("RedoBuffer", Sections::DATA, Kind::Size(0, SIZE_MAX), "0", Effect::Used, "Memory for what waits to be written to the redo log; 0: automatic."),
    parameter("Diskless", Sections::DATA, Kind::Flag, "0", Effect::Used, "1: nothing is kept on disk, and a full stop of the cluster loses all rows."),
    parameter("Durability", Sections::DATA, Kind::OneOf(&Durability::NAMES), "memory", Effect::Used, "When a commit is acknowledged: memory, when all replicas have it in memory; epoch, when it is on their disks; fsync, the same with epochs that are closed and flushed without pause. No session or table has less."),
    parameter("FragmentLogFileSize", Sections::DATA, Kind::Size(4 * MIB, 1024 * MIB), "64M", Effect::Used, "Size of one file of the redo log."),
    parameter("NoOfFragmentLogFiles", Sections::DATA, Kind::Count(0, COUNT_MAX), "0", Effect::Used, "Files of the redo log, times NoOfFragmentLogParts; 0: as much as DataMemory, 1 GiB at least and 64 GiB at most."),
    parameter("MaxDiskWriteSpeed", Sections::DATA, Kind::Size(0, SIZE_MAX), "0", Effect::Used, "Bytes a second that checkpoints write at most; 0: as many as the disk takes."),
    parameter("NoOfFragmentLogParts", Sections::DATA, Kind::Count(1, 32), "1", Effect::Used, "Multiplies NoOfFragmentLogFiles. The log of a node is one sequence of files, whatever its threads are."),
    parameter("TimeBetweenGlobalCheckpoints", Sections::DATA, Kind::Milliseconds(10, 32000), "50", Effect::Used, "How often the redo log is flushed, if nobody waits for it."),
    parameter("RedoWaitTimeout", Sections::DATA, Kind::Milliseconds(0, COUNT_MAX), "2000", Effect::Used, "How long a write waits for room in a redo log that is nearly full, before it fails with error 1297; 0: not at all."),
    parameter("UndoBuffer", Sections::DATA, Kind::Size(0, SIZE_MAX), "0", Effect::Used, "Reserve for the undo log, which is not there yet; 0: none."),
    parameter("TotalSendBufferMemory", Sections::DATA.and(Sections::MANAGEMENT).and(Sections::SQL).and(Sections::API), Kind::Size(0, SIZE_MAX), "0", Effect::Used, "Reserve for signals to other nodes; 0: automatic."),
    parameter("NumCPUs", Sections::DATA.and(Sections::SQL), Kind::Count(0, 1024), "0", Effect::Used, "CPUs of this node alone: as many workers, at most 240; 0: those that the process may use, divided among the nodes of the configuration on this machine."),
    parameter("ThreadConfig", Sections::DATA.and(Sections::SQL), Kind::Text, "", Effect::Used, "Modules on threads, taken literally: ldm={count=2,cpubind=0,1},recv={count=2},main={count=1}. host=recv beside ldm, query or tc puts them on that many receiving threads."),
    parameter("AutomaticThreadConfig", Sections::DATA.and(Sections::SQL), Kind::Flag, "1", Effect::Used, "A worker per CPU, which serves clients and owns slots, pinned if the node has the CPUs alone; set to 1 beside a ThreadConfig it wins."),
    parameter("SpinMethod", Sections::DATA.and(Sections::SQL), Kind::SpinMethod, "CostBasedSpinning", Effect::Used, "What a thread does before it sleeps: CostBasedSpinning, StaticSpinning, LatencyOptimisedSpinning, DatabaseMachineSpinning, NoSpinning. Threads that share CPUs with other nodes, or have a quota of CPU time, spin only if a ThreadConfig is set."),
    parameter("ReadPlacement", Sections::DATA.and(Sections::SQL), Kind::OneOf(&ReadPlacement::NAMES), "adaptive", Effect::Used, "Which threads read for a statement: adaptive has those of the node with nothing or less to do read parts of long scans, local leaves all to the client's thread, owner to those that own the slots, by signals."),
    parameter("SchedulerExecutionTimer", Sections::DATA.and(Sections::SQL), Kind::Microseconds(1, 11000), "50", Effect::Used, "How long one slice of work may take."),
    parameter("UseShm", Sections::DATA.and(Sections::MANAGEMENT).and(Sections::SQL), Kind::Flag, "1", Effect::Used, "Unix sockets and shared memory between nodes of one machine."),
    parameter("TimeBetweenEpochs", Sections::DATA, Kind::Milliseconds(1, 32000), "10", Effect::Used, "How often epochs are closed. The same for all data nodes."),
    agreed(parameter("HeartbeatIntervalDbDb", Sections::DATA, Kind::Milliseconds(10, COUNT_MAX), "50", Effect::Used, "Time between heartbeats; after four without one a node is missed. The same for all data nodes.")),
    parameter("ReplicaAnswerTimeout", Sections::DATA, Kind::Milliseconds(0, COUNT_MAX), "3000", Effect::Used, "A member that has owed an answer for longer, and a second more, leaves, if its replica group keeps another one; 0: never. The same for all data nodes."),
    parameter("StartPartialTimeout", Sections::DATA, Kind::Milliseconds(0, COUNT_MAX), "30000", Effect::Used, "How long a restart of the cluster from disks waits for data nodes that are not there, if those that are suffice; 0: for ever. The same for all data nodes."),
    parameter("TransactionDeadlockDetectionTimeout", Sections::DATA.and(Sections::SQL), Kind::Milliseconds(0, COUNT_MAX), "0", Effect::Used, "Longest wait for a lock, whatever the session says; 0: the session's innodb_lock_wait_timeout."),
    parameter("QueryMemoryPerStatement", Sections::DATA.and(Sections::SQL), Kind::Size(64 * 1024, SIZE_MAX), "0", Effect::Used, "A statement with so much memory for rows writes the next ones to scratch, if it can; 0: a quarter of the memory that no region has for itself, 8 MiB at least."),
    parameter("ScratchSpace", Sections::DATA.and(Sections::SQL), Kind::Size(MIB, SIZE_MAX), "4G", Effect::Used, "Room in DataDir for rows of statements that have too little memory; 0: none, and such a statement fails with 1041."),
    parameter("TransactionInactiveTimeout", Sections::DATA.and(Sections::SQL), Kind::Milliseconds(0, COUNT_MAX), "3600000", Effect::Used, "An open transaction without a statement for so long is rolled back; 0: never."),
    parameter("ClientMemory", Sections::DATA.and(Sections::SQL), Kind::Size(0, SIZE_MAX), "0", Effect::Used, "Memory of clients: packets, results, prepared statements, TLS; 0: at most a quarter of what regions share. A size is reserved, and the maximum."),
    parameter("max_connections", Sections::DATA.and(Sections::SQL), Kind::Count(1, 100000), "1000", Effect::Used, "Client connections of the node that may be logged in; fewer, with a warning, if ulimit -n does not allow as many."),
    parameter("max_allowed_packet", Sections::DATA.and(Sections::SQL), Kind::Size(1024, 1024 * MIB), "64M", Effect::Used, "The largest packet that a client may send, in multiples of 1 024 bytes."),
    parameter("connect_timeout", Sections::DATA.and(Sections::SQL), Kind::Count(2, 31536000), "10", Effect::Used, "Seconds that a client has to log in."),
    parameter("StopOnError", Sections::DATA.and(Sections::MANAGEMENT).and(Sections::SQL), Kind::Flag, "1", Effect::Used, "0: the angel starts the node again after an error, too."),
    parameter("port", Sections::DATA.and(Sections::SQL), Kind::Port, "3306 and up", Effect::Used, "Where MySQL clients connect. Not set: the next free one of the host."),
    parameter("socket", Sections::DATA.and(Sections::SQL), Kind::Text, "", Effect::Used, "Path of the Unix socket for MySQL clients, at most 107 bytes. Not set: latsdb_NODE_mysql.sock in DataDir."),
    parameter("bind_address", Sections::DATA.and(Sections::SQL), Kind::Text, "", Effect::Used, "The address on which MySQL clients are accepted; not set: all, or the loopback address only if HostName is one."),
    agreed(parameter("Name", Sections::SYSTEM, Kind::Text, "latsdb", Effect::Used, "Name of the cluster: 1 to 64 letters, digits or _ . -.")),
    parameter("Arbitration", Sections::DATA, Kind::Text, "Default", Effect::None("the control plane decides; no arbitrator is needed"), "How a split cluster is decided."),
    parameter("ArbitrationTimeout", Sections::DATA, Kind::Milliseconds(10, COUNT_MAX), "7500", Effect::None("the control plane decides; no arbitrator is needed"), "Wait for an arbitrator."),
    parameter("ArbitrationRank", Sections::MANAGEMENT.and(Sections::SQL).and(Sections::API), Kind::Count(0, 2), "1", Effect::None("the control plane decides; no arbitrator is needed"), "Rank as an arbitrator."),
    parameter("ArbitrationDelay", Sections::MANAGEMENT.and(Sections::SQL).and(Sections::API), Kind::Milliseconds(0, COUNT_MAX), "0", Effect::None("the control plane decides; no arbitrator is needed"), "Delay of an arbitrator."),
    parameter("ApiFailureHandlingTimeout", Sections::DATA, Kind::Text, "600", Effect::None("it is not adjustable here"), "Wait for the cleaning up after a client."),
    parameter("AutomaticMemoryConfig", Sections::DATA, Kind::Flag, "1", Effect::None("regions that are not set are always sized automatically"), "Size memory regions automatically."),
    parameter("BackupDataDir", Sections::DATA, Kind::Text, "", Effect::None("backups do not exist yet"), "Directory of backups."),
    parameter("BackupDataBufferSize", Sections::DATA, Kind::Size(0, SIZE_MAX), "0", Effect::None("backups do not exist yet"), "A buffer of backups."),
    parameter("BackupLogBufferSize", Sections::DATA, Kind::Size(0, SIZE_MAX), "0", Effect::None("backups do not exist yet"), "A buffer of backups."),
    parameter("BackupMemory", Sections::DATA, Kind::Size(0, SIZE_MAX), "0", Effect::None("backups do not exist yet"), "A buffer of backups."),
    parameter("BackupWriteSize", Sections::DATA, Kind::Size(0, SIZE_MAX), "0", Effect::None("backups do not exist yet"), "A buffer of backups."),
    parameter("BackupMaxWriteSize", Sections::DATA, Kind::Size(0, SIZE_MAX), "0", Effect::None("backups do not exist yet"), "A buffer of backups."),
    parameter("BackupDiskWriteSpeedPct", Sections::DATA, Kind::Count(0, 90), "50", Effect::None("backups do not exist yet"), "Share of backups in disk writes."),
    parameter("BackupReportFrequency", Sections::DATA, Kind::Text, "0", Effect::None("backups do not exist yet"), "Reports of a running backup."),
    parameter("CompressedBackup", Sections::DATA, Kind::Flag, "0", Effect::None("backups do not exist yet"), "How backups are written."),
    parameter("EnableMultithreadedBackup", Sections::DATA, Kind::Flag, "0", Effect::None("backups do not exist yet"), "How backups are written."),
    parameter("RequireEncryptedBackup", Sections::DATA, Kind::Flag, "0", Effect::None("backups do not exist yet"), "How backups are written."),
    parameter("BatchSizePerLocalScan", Sections::DATA, Kind::Count(1, 992), "256", Effect::None("it is not adjustable here"), "Rows of a batch of a scan."),
    parameter("BuildIndexThreads", Sections::DATA, Kind::Count(0, 128), "128", Effect::None("indexes are built by the ldm threads"), "Threads that build indexes."),
    parameter("ClassicFragmentation", Sections::DATA, Kind::Flag, "1", Effect::None("PartitionsPerNode says how many partitions there are"), "Partitions by node groups and ldm threads."),
    parameter("CompressedLCP", Sections::DATA, Kind::Flag, "0", Effect::Used, "1: checkpoints are compressed (LZ4): they take less of the disk, and more of the CPUs."),
    parameter("EnablePartialLcp", Sections::DATA, Kind::Flag, "0", Effect::None("a checkpoint of a fragment has all its rows"), "Checkpoints of what has changed."),
    parameter("EnableRedoControl", Sections::DATA, Kind::Flag, "0", Effect::None("checkpoints always keep pace with the redo log"), "The pace of checkpoints."),
    parameter("EncryptedFileSystem", Sections::DATA, Kind::Flag, "0", Effect::None("files are not encrypted: use an encrypted file system"), "Encryption of files."),
    parameter("ODirect", Sections::DATA, Kind::Flag, "0", Effect::Used, "1: the redo log and checkpoints are written past the memory of the machine."),
    parameter("ODirectSyncFlag", Sections::DATA, Kind::Flag, "0", Effect::None("writes are always synced"), "Writes without a sync."),
    parameter("LateAlloc", Sections::DATA, Kind::Flag, "0", Effect::None("memory is taken when it is needed"), "When memory is taken."),
    parameter("DiskDataUsingSameDisk", Sections::DATA, Kind::Flag, "0", Effect::None("there are no disk data tables"), "Disk data tables."),
    parameter("ConnectCheckIntervalDelay", Sections::DATA, Kind::Milliseconds(0, COUNT_MAX), "0", Effect::None("it is not adjustable here"), "Further checks of a silent node."),
    parameter("CrashOnCorruptedTuple", Sections::DATA, Kind::Flag, "1", Effect::None("a node that finds damage always stops; its replica takes over"), "Stop when a row is damaged."),
    parameter("DefaultHashMapSize", Sections::DATA.and(Sections::SQL).and(Sections::API), Kind::Count(0, 3840), "3840", Effect::None("tables always have 3840 buckets"), "Buckets of tables."),
    parameter("DictTrace", Sections::DATA, Kind::Text, "", Effect::None("DDL jobs are in latsdb.jobs"), "Trace of DDL."),
    parameter("DiskIOThreadPool", Sections::DATA, Kind::Count(0, COUNT_MAX), "0", Effect::None("there are no disk data tables"), "Threads of disk data tables."),
    parameter("InitialNoOfOpenFiles", Sections::DATA, Kind::Count(0, COUNT_MAX), "0", Effect::None("a thread opens a file at a time"), "Open files."),
    parameter("MaxNoOfOpenFiles", Sections::DATA, Kind::Count(0, COUNT_MAX), "0", Effect::None("a thread opens a file at a time"), "Open files."),
    parameter("DiskPageBufferEntries", Sections::DATA, Kind::Count(0, COUNT_MAX), "0", Effect::None("there are no disk data tables"), "Memory of disk data tables."),
    parameter("DiskSyncSize", Sections::DATA, Kind::Size(0, SIZE_MAX), "0", Effect::None("a checkpoint is synced before it counts"), "Bytes between two syncs of a checkpoint."),
    parameter("MinDiskWriteSpeed", Sections::DATA, Kind::Size(0, SIZE_MAX), "0", Effect::None("checkpoints are as slow as the redo log allows, and pause when nothing is written"), "The lowest speed of checkpoints."),
    parameter("MaxDiskWriteSpeedOtherNodeRestart", Sections::DATA, Kind::Size(0, SIZE_MAX), "0", Effect::None("MaxDiskWriteSpeed counts always"), "The speed of checkpoints while another node starts."),
    parameter("MaxDiskWriteSpeedOwnRestart", Sections::DATA, Kind::Size(0, SIZE_MAX), "0", Effect::None("MaxDiskWriteSpeed counts always"), "The speed of checkpoints while the node starts."),
    parameter("InitFragmentLogFiles", Sections::DATA, Kind::Text, "", Effect::None("files are filled with zeros before they are used"), "How files of the redo log are made."),
    parameter("InitialLogFileGroup", Sections::DATA, Kind::Text, "", Effect::None("there are no disk data tables"), "The log of disk data tables."),
    parameter("InitialTablespace", Sections::DATA, Kind::Text, "", Effect::None("there are no disk data tables"), "The files of disk data tables."),
    parameter("FileSystemPath", Sections::DATA, Kind::Text, "", Effect::None("files are in DataDir"), "Where files are."),
    parameter("FileSystemPathDataFiles", Sections::DATA, Kind::Text, "", Effect::None("there are no disk data tables"), "Where files of disk data tables are."),
    parameter("FileSystemPathDD", Sections::DATA, Kind::Text, "", Effect::None("there are no disk data tables"), "Where files of disk data tables are."),
    parameter("FileSystemPathUndoFiles", Sections::DATA, Kind::Text, "", Effect::None("there are no disk data tables"), "Where the log of disk data tables is."),
    parameter("MaxDiskDataLatency", Sections::DATA, Kind::Text, "", Effect::None("there are no disk data tables"), "When requests of disk data tables are ended."),
    parameter("LcpScanProgressTimeout", Sections::DATA, Kind::Text, "", Effect::None("a disk that stands still is noticed after three seconds"), "When a checkpoint that stands still ends the node."),
    parameter("MaxLCPStartDelay", Sections::DATA, Kind::Text, "", Effect::None("checkpoints of nodes do not wait for each other"), "How nodes wait for each other with checkpoints."),
    parameter("TimeBetweenGlobalCheckpointsTimeout", Sections::DATA, Kind::Text, "", Effect::None("a disk that stands still is noticed after three seconds"), "When a flush that stands still ends the node."),
    parameter("TimeBetweenLocalCheckpoints", Sections::DATA, Kind::Text, "", Effect::None("checkpoints follow the redo log, without pause while it grows"), "How much is written between two checkpoints."),
    parameter("InsertRecoveryWork", Sections::DATA, Kind::Count(0, COUNT_MAX), "0", Effect::None("a checkpoint of a fragment has all its rows"), "Balance of checkpoints and redo log."),
    parameter("RecoveryWork", Sections::DATA, Kind::Count(0, COUNT_MAX), "0", Effect::None("a checkpoint of a fragment has all its rows"), "Balance of checkpoints and redo log."),
    parameter("RedoOverCommitCounter", Sections::DATA, Kind::Count(0, COUNT_MAX), "0", Effect::None("writes wait for the redo log when RedoBuffer is full"), "When the disk is too slow for the redo log."),
    parameter("RedoOverCommitLimit", Sections::DATA, Kind::Count(0, COUNT_MAX), "0", Effect::None("writes wait for the redo log when RedoBuffer is full"), "When the disk is too slow for the redo log."),
    parameter("EventLogBufferSize", Sections::DATA.and(Sections::SQL).and(Sections::API), Kind::Size(0, SIZE_MAX), "8192", Effect::None("it is not adjustable here"), "Buffer of cluster events."),
    parameter("ExecuteOnComputer", Sections::DATA.and(Sections::MANAGEMENT).and(Sections::SQL).and(Sections::API), Kind::Text, "", Effect::None("HostName says which machine it is"), "The machine by a [computer] section."),
    parameter("ExtraSendBufferMemory", Sections::DATA.and(Sections::MANAGEMENT).and(Sections::SQL).and(Sections::API), Kind::Size(0, SIZE_MAX), "0", Effect::None("send buffers take what they need of the shared memory"), "More send buffers."),
    parameter("HeartbeatIntervalDbApi", Sections::DATA, Kind::Milliseconds(100, COUNT_MAX), "1500", Effect::None("clients are watched by their connections"), "Time between heartbeats of clients."),
    parameter("HeartbeatIntervalMgmdMgmd", Sections::MANAGEMENT, Kind::Milliseconds(100, COUNT_MAX), "1500", Effect::None("HeartbeatIntervalDbDb is for all nodes"), "Time between heartbeats of management nodes."),
    parameter("HeartbeatOrder", Sections::DATA, Kind::Count(0, 65535), "0", Effect::None("heartbeats go from all to all"), "Order of heartbeats."),
    parameter("HeartbeatThreadPriority", Sections::MANAGEMENT.and(Sections::SQL).and(Sections::API), Kind::Text, "", Effect::None("the membership thread always has a raised priority"), "Priority of heartbeats."),
    parameter("IndexMemory", Sections::DATA, Kind::Size(0, SIZE_MAX), "0", Effect::None("DataMemory holds the indexes too"), "Memory of hash indexes."),
    parameter("IndexStatAutoCreate", Sections::DATA, Kind::Flag, "1", Effect::None("no index statistics are kept: the planner asks the indexes"), "Keep index statistics."),
    parameter("IndexStatAutoUpdate", Sections::DATA, Kind::Flag, "1", Effect::None("no index statistics are kept: the planner asks the indexes"), "Keep index statistics."),
    parameter("IndexStatSaveScale", Sections::DATA, Kind::Count(0, COUNT_MAX), "0", Effect::None("no index statistics are kept: the planner asks the indexes"), "Upkeep of index statistics."),
    parameter("IndexStatSaveSize", Sections::DATA, Kind::Count(0, COUNT_MAX), "0", Effect::None("no index statistics are kept: the planner asks the indexes"), "Upkeep of index statistics."),
    parameter("IndexStatTriggerPct", Sections::DATA, Kind::Count(0, COUNT_MAX), "0", Effect::None("no index statistics are kept: the planner asks the indexes"), "Upkeep of index statistics."),
    parameter("IndexStatTriggerScale", Sections::DATA, Kind::Count(0, COUNT_MAX), "0", Effect::None("no index statistics are kept: the planner asks the indexes"), "Upkeep of index statistics."),
    parameter("IndexStatUpdateDelay", Sections::DATA, Kind::Count(0, COUNT_MAX), "0", Effect::None("no index statistics are kept: the planner asks the indexes"), "Upkeep of index statistics."),
    parameter("KeepAliveSendInterval", Sections::DATA, Kind::Milliseconds(0, COUNT_MAX), "60000", Effect::None("heartbeats keep links alive"), "Time between signals on idle links."),
    parameter("LocationDomainId", Sections::DATA.and(Sections::MANAGEMENT).and(Sections::SQL).and(Sections::API), Kind::Count(0, 16), "0", Effect::None("replica groups are formed in order of node ids"), "Availability domain of the machine."),
    parameter("LockExecuteThreadToCPU", Sections::DATA, Kind::Text, "", Effect::None("ThreadConfig binds threads to CPUs"), "CPUs of threads."),
    parameter("LockMaintThreadsToCPU", Sections::DATA, Kind::Text, "", Effect::None("ThreadConfig binds threads to CPUs"), "CPUs of threads."),
    parameter("LockPagesInMainMemory", Sections::DATA, Kind::Count(0, 2), "0", Effect::None("it is not adjustable here"), "Keep memory from being swapped."),
    parameter("LogLevelCheckpoint", Sections::DATA, Kind::Count(0, 15), "0", Effect::None("log levels are set with --log"), "How much is logged."),
    parameter("LogLevelCongestion", Sections::DATA, Kind::Count(0, 15), "0", Effect::None("log levels are set with --log"), "How much is logged."),
    parameter("LogLevelConnection", Sections::DATA, Kind::Count(0, 15), "0", Effect::None("log levels are set with --log"), "How much is logged."),
    parameter("LogLevelError", Sections::DATA, Kind::Count(0, 15), "0", Effect::None("log levels are set with --log"), "How much is logged."),
    parameter("LogLevelInfo", Sections::DATA, Kind::Count(0, 15), "0", Effect::None("log levels are set with --log"), "How much is logged."),
    parameter("LogLevelNodeRestart", Sections::DATA, Kind::Count(0, 15), "0", Effect::None("log levels are set with --log"), "How much is logged."),
    parameter("LogLevelShutdown", Sections::DATA, Kind::Count(0, 15), "0", Effect::None("log levels are set with --log"), "How much is logged."),
    parameter("LogLevelStartup", Sections::DATA, Kind::Count(0, 15), "0", Effect::None("log levels are set with --log"), "How much is logged."),
    parameter("LogLevelStatistic", Sections::DATA, Kind::Count(0, 15), "0", Effect::None("log levels are set with --log"), "How much is logged."),
    parameter("LogDestination", Sections::MANAGEMENT, Kind::Text, "", Effect::None("log levels are set with --log"), "Where the cluster log goes."),
    parameter("LongMessageBuffer", Sections::DATA, Kind::Size(0, SIZE_MAX), "64M", Effect::None("it is sized automatically"), "Memory of long signals."),
    parameter("MaxAllocate", Sections::DATA, Kind::Size(0, SIZE_MAX), "32M", Effect::None("it is sized automatically"), "Most memory taken at once."),
    parameter("MaxBufferedEpochBytes", Sections::DATA, Kind::Size(0, SIZE_MAX), "26214400", Effect::None("change streams do not exist yet"), "Memory of epochs that wait for subscribers."),
    parameter("MaxBufferedEpochs", Sections::DATA, Kind::Count(0, COUNT_MAX), "100", Effect::None("change streams do not exist yet"), "Epochs that wait for subscribers."),
    parameter("MaxNoOfSubscribers", Sections::DATA, Kind::Count(0, COUNT_MAX), "0", Effect::None("change streams do not exist yet"), "Subscribers of changes."),
    parameter("MaxNoOfSubscriptions", Sections::DATA, Kind::Count(0, COUNT_MAX), "0", Effect::None("change streams do not exist yet"), "Subscribers of changes."),
    parameter("RestartSubscriberConnectTimeout", Sections::DATA, Kind::Milliseconds(0, COUNT_MAX), "0", Effect::None("change streams do not exist yet"), "Wait for slow subscribers."),
    parameter("TimeBetweenEpochsTimeout", Sections::DATA, Kind::Milliseconds(0, COUNT_MAX), "0", Effect::None("change streams do not exist yet"), "Wait for slow subscribers."),
    parameter("MaxDMLOperationsPerTransaction", Sections::DATA, Kind::Count(0, COUNT_MAX), "0", Effect::None("there is no such limit: memory is shared by all"), "A limit of NDB."),
    parameter("MaxFKBuildBatchSize", Sections::DATA, Kind::Count(0, COUNT_MAX), "0", Effect::None("there is no such limit: memory is shared by all"), "A limit of NDB."),
    parameter("MaxNoOfAttributes", Sections::DATA, Kind::Count(0, COUNT_MAX), "0", Effect::None("there is no such limit: memory is shared by all"), "A limit of NDB."),
    parameter("MaxNoOfConcurrentIndexOperations", Sections::DATA, Kind::Count(0, COUNT_MAX), "0", Effect::None("there is no such limit: memory is shared by all"), "A limit of NDB."),
    parameter("MaxNoOfConcurrentOperations", Sections::DATA, Kind::Count(0, COUNT_MAX), "0", Effect::None("there is no such limit: memory is shared by all"), "A limit of NDB."),
    parameter("MaxNoOfConcurrentScans", Sections::DATA, Kind::Count(0, COUNT_MAX), "0", Effect::None("there is no such limit: memory is shared by all"), "A limit of NDB."),
    parameter("MaxNoOfConcurrentSubOperations", Sections::DATA, Kind::Count(0, COUNT_MAX), "0", Effect::None("there is no such limit: memory is shared by all"), "A limit of NDB."),
    parameter("MaxNoOfConcurrentTransactions", Sections::DATA, Kind::Count(0, COUNT_MAX), "0", Effect::None("there is no such limit: memory is shared by all"), "A limit of NDB."),
    parameter("MaxNoOfFiredTriggers", Sections::DATA, Kind::Count(0, COUNT_MAX), "0", Effect::None("there is no such limit: memory is shared by all"), "A limit of NDB."),
    parameter("MaxNoOfLocalOperations", Sections::DATA, Kind::Count(0, COUNT_MAX), "0", Effect::None("there is no such limit: memory is shared by all"), "A limit of NDB."),
    parameter("MaxNoOfLocalScans", Sections::DATA, Kind::Count(0, COUNT_MAX), "0", Effect::None("there is no such limit: memory is shared by all"), "A limit of NDB."),
    parameter("MaxNoOfOrderedIndexes", Sections::DATA, Kind::Count(0, COUNT_MAX), "0", Effect::None("there is no such limit: memory is shared by all"), "A limit of NDB."),
    parameter("MaxNoOfTables", Sections::DATA, Kind::Count(0, COUNT_MAX), "0", Effect::None("there is no such limit: memory is shared by all"), "A limit of NDB."),
    parameter("MaxNoOfTriggers", Sections::DATA, Kind::Count(0, COUNT_MAX), "0", Effect::None("there is no such limit: memory is shared by all"), "A limit of NDB."),
    parameter("MaxNoOfUniqueHashIndexes", Sections::DATA, Kind::Count(0, COUNT_MAX), "0", Effect::None("there is no such limit: memory is shared by all"), "A limit of NDB."),
    parameter("MaxParallelCopyInstances", Sections::DATA, Kind::Count(0, COUNT_MAX), "0", Effect::None("there is no such limit: memory is shared by all"), "A limit of NDB."),
    parameter("MaxParallelScansPerFragment", Sections::DATA, Kind::Count(0, COUNT_MAX), "0", Effect::None("there is no such limit: memory is shared by all"), "A limit of NDB."),
    parameter("MaxReorgBuildBatchSize", Sections::DATA, Kind::Count(0, COUNT_MAX), "0", Effect::None("there is no such limit: memory is shared by all"), "A limit of NDB."),
    parameter("MaxUIBuildBatchSize", Sections::DATA, Kind::Count(0, COUNT_MAX), "0", Effect::None("there is no such limit: memory is shared by all"), "A limit of NDB."),
    parameter("ReservedConcurrentIndexOperations", Sections::DATA, Kind::Count(0, COUNT_MAX), "0", Effect::None("there is no such limit: memory is shared by all"), "A limit of NDB."),
    parameter("ReservedConcurrentOperations", Sections::DATA, Kind::Count(0, COUNT_MAX), "0", Effect::None("there is no such limit: memory is shared by all"), "A limit of NDB."),
    parameter("ReservedConcurrentScans", Sections::DATA, Kind::Count(0, COUNT_MAX), "0", Effect::None("there is no such limit: memory is shared by all"), "A limit of NDB."),
    parameter("ReservedConcurrentTransactions", Sections::DATA, Kind::Count(0, COUNT_MAX), "0", Effect::None("there is no such limit: memory is shared by all"), "A limit of NDB."),
    parameter("ReservedFiredTriggers", Sections::DATA, Kind::Count(0, COUNT_MAX), "0", Effect::None("there is no such limit: memory is shared by all"), "A limit of NDB."),
    parameter("ReservedLocalScans", Sections::DATA, Kind::Count(0, COUNT_MAX), "0", Effect::None("there is no such limit: memory is shared by all"), "A limit of NDB."),
    parameter("ReservedTransactionBufferMemory", Sections::DATA, Kind::Size(0, SIZE_MAX), "0", Effect::None("there is no such limit: memory is shared by all"), "A memory pool of NDB."),
    parameter("TransactionBufferMemory", Sections::DATA, Kind::Size(0, SIZE_MAX), "0", Effect::None("there is no such limit: memory is shared by all"), "A memory pool of NDB."),
    parameter("StringMemory", Sections::DATA, Kind::Size(0, SIZE_MAX), "0", Effect::None("there is no such limit: memory is shared by all"), "A memory pool of NDB."),
    parameter("UndoDataBuffer", Sections::DATA, Kind::Size(0, SIZE_MAX), "0", Effect::None("there is no such limit: memory is shared by all"), "A memory pool of NDB."),
    parameter("UndoIndexBuffer", Sections::DATA, Kind::Size(0, SIZE_MAX), "0", Effect::None("there is no such limit: memory is shared by all"), "A memory pool of NDB."),
    parameter("MaxNoOfSavedMessages", Sections::DATA, Kind::Count(0, COUNT_MAX), "25", Effect::None("it is not adjustable here"), "Traces that are kept."),
    parameter("MaxNoOfSavedEvents", Sections::MANAGEMENT, Kind::Count(0, COUNT_MAX), "100", Effect::None("it is not adjustable here"), "Events that are kept."),
    parameter("MaxStartFailRetries", Sections::DATA, Kind::Count(0, COUNT_MAX), "3", Effect::None("the angel of a node that has run goes on, with ever longer pauses (up to a minute)"), "How often a failed start is tried again."),
    parameter("StartFailRetryDelay", Sections::DATA, Kind::Count(0, COUNT_MAX), "0", Effect::None("the angel of a node that has run goes on, with ever longer pauses (up to a minute)"), "Wait before a failed start is tried again."),
    parameter("MemReportFrequency", Sections::DATA, Kind::Count(0, COUNT_MAX), "0", Effect::None("ndbinfo shows it at any time"), "Reports in the log."),
    parameter("StartupStatusReportFrequency", Sections::DATA, Kind::Count(0, COUNT_MAX), "0", Effect::None("ndbinfo shows it at any time"), "Reports in the log."),
    parameter("MinFreePct", Sections::DATA, Kind::Count(0, 100), "5", Effect::None("the last 5 % are always kept for restarts"), "DataMemory kept for restarts."),
    parameter("NodeActive", Sections::DATA.and(Sections::MANAGEMENT).and(Sections::SQL), Kind::Flag, "1", Effect::None("all configured nodes take part"), "The node takes part."),
    parameter("NodeGroup", Sections::DATA, Kind::Count(0, 65536), "", Effect::None("replica groups are formed in order of node ids"), "The replica group."),
    parameter("NodeGroupTransporters", Sections::DATA, Kind::Count(0, 32), "0", Effect::None("links run from thread to thread"), "Links within a replica group."),
    parameter("Numa", Sections::DATA, Kind::Flag, "1", Effect::None("it is not adjustable here"), "Spread memory over the machine."),
    parameter("RealtimeScheduler", Sections::DATA, Kind::Flag, "0", Effect::None("thread_prio of ThreadConfig sets priorities"), "Run with realtime priority."),
    parameter("SchedulerResponsiveness", Sections::DATA, Kind::Count(0, 10), "5", Effect::None("SchedulerExecutionTimer sets the slices"), "Speed against throughput."),
    parameter("SchedulerSpinTimer", Sections::DATA, Kind::Microseconds(0, 500), "0", Effect::None("SpinMethod and spintime of ThreadConfig say how threads spin"), "How long threads spin."),
    parameter("RequireCertificate", Sections::DATA.and(Sections::MANAGEMENT), Kind::Flag, "0", Effect::Used, "The node does not start without keys (security.md)."),
    parameter("RequireTls", Sections::DATA.and(Sections::MANAGEMENT), Kind::Flag, "", Effect::Used, "Links over TCP with this node are encrypted, or are not made; of a management node also what tools on other machines say. Not set: if nodes are on more than one machine, and no node says 0."),
    parameter("RestartOnErrorInsert", Sections::DATA, Kind::Count(0, 4), "2", Effect::None("it is for tests of NDB"), "For tests of NDB."),
    parameter("StartFailureTimeout", Sections::DATA, Kind::Milliseconds(0, COUNT_MAX), "0", Effect::None("a cluster starts when all its data nodes have joined"), "How long a start waits for other nodes."),
    parameter("StartNoNodeGroupTimeout", Sections::DATA, Kind::Milliseconds(0, COUNT_MAX), "0", Effect::None("each data node has a node group"), "How long a start waits for other nodes."),
    parameter("StartPartitionedTimeout", Sections::DATA, Kind::Milliseconds(0, COUNT_MAX), "0", Effect::None("a majority of the voters starts a cluster, so no two parts of it do"), "How long a start waits for other nodes."),
    parameter("TcpBind_INADDR_ANY", Sections::DATA, Kind::Flag, "0", Effect::None("links are configured by the node sections"), "Accept links on all addresses."),
    parameter("TimeBetweenInactiveTransactionAbortCheck", Sections::DATA, Kind::Milliseconds(0, COUNT_MAX), "1000", Effect::None("each transaction has its own deadline"), "How often inactive transactions are looked for."),
    parameter("TimeBetweenWatchDogCheck", Sections::DATA, Kind::Milliseconds(0, COUNT_MAX), "6000", Effect::Used, "A node ends when one of its threads does not come round for so long; 0: never."),
    parameter("TimeBetweenWatchDogCheckInitial", Sections::DATA, Kind::Milliseconds(0, COUNT_MAX), "6000", Effect::None("TimeBetweenWatchDogCheck alone says when a node ends"), "How often threads are looked at."),
    parameter("WatchDogImmediateKill", Sections::DATA, Kind::Flag, "0", Effect::None("TimeBetweenWatchDogCheck alone says when a node ends"), "Kill a stuck process."),
    parameter("TwoPassInitialNodeRestartCopy", Sections::DATA, Kind::Flag, "1", Effect::None("indexes are always built in their own order"), "Build indexes after copying."),
    parameter("wan", Sections::MANAGEMENT.and(Sections::SQL).and(Sections::API), Kind::Flag, "0", Effect::None("it is not adjustable here"), "Socket options for long ways."),
    parameter("PortNumberStats", Sections::MANAGEMENT, Kind::Port, "", Effect::None("statistics come by ndbinfo"), "A port for statistics."),
    parameter("ApiVerbose", Sections::SQL.and(Sections::API), Kind::Count(0, 100), "", Effect::None("sessions of SQL nodes need no such setting"), "Trace of the NDB API."),
    parameter("AutoReconnect", Sections::SQL.and(Sections::API), Kind::Flag, "0", Effect::None("sessions of SQL nodes need no such setting"), "Reconnect as another node."),
    parameter("BatchByteSize", Sections::SQL.and(Sections::API), Kind::Size(0, SIZE_MAX), "0", Effect::None("it is not adjustable here"), "Bytes of a batch."),
    parameter("MaxScanBatchSize", Sections::SQL.and(Sections::API), Kind::Size(0, SIZE_MAX), "0", Effect::None("it is not adjustable here"), "Bytes of a batch."),
    parameter("BatchSize", Sections::SQL.and(Sections::API), Kind::Count(1, 992), "256", Effect::None("it is not adjustable here"), "Rows of a batch."),
    parameter("ConnectBackoffMaxTime", Sections::SQL.and(Sections::API), Kind::Milliseconds(0, COUNT_MAX), "0", Effect::None("it is not adjustable here"), "Pauses between tries to connect."),
    parameter("StartConnectBackoffMaxTime", Sections::SQL.and(Sections::API), Kind::Milliseconds(0, COUNT_MAX), "0", Effect::None("it is not adjustable here"), "Pauses between tries to connect."),
    parameter("ConnectionMap", Sections::SQL.and(Sections::API), Kind::Text, "", Effect::None("sessions of SQL nodes need no such setting"), "A setting of the NDB API."),
    parameter("DefaultOperationRedoProblemAction", Sections::SQL.and(Sections::API), Kind::Text, "", Effect::None("sessions of SQL nodes need no such setting"), "A setting of the NDB API."),
    parameter("AllowUnresolvedHostNames", Sections::TCP, Kind::Flag, "0", Effect::None("links are configured by the node sections"), "Start with unknown hosts."),
    parameter("Checksum", Sections::TCP.and(Sections::SHM), Kind::Flag, "0", Effect::None("frames always carry a checksum"), "What signals carry."),
    parameter("PreSendChecksum", Sections::TCP.and(Sections::SHM), Kind::Flag, "0", Effect::None("frames always carry a checksum"), "What signals carry."),
    parameter("SendSignalId", Sections::TCP.and(Sections::SHM), Kind::Flag, "0", Effect::None("frames always carry a checksum"), "What signals carry."),
    parameter("Group", Sections::TCP.and(Sections::SHM), Kind::Count(0, 255), "0", Effect::None("links are configured by the node sections"), "The ends of a link."),
    parameter("NodeIdServer", Sections::TCP.and(Sections::SHM), Kind::Count(0, 255), "0", Effect::None("links are configured by the node sections"), "The ends of a link."),
    parameter("NodeId1", Sections::TCP.and(Sections::SHM), Kind::Count(0, 255), "0", Effect::None("links are configured by the node sections"), "The ends of a link."),
    parameter("NodeId2", Sections::TCP.and(Sections::SHM), Kind::Count(0, 255), "0", Effect::None("links are configured by the node sections"), "The ends of a link."),
    parameter("HostName1", Sections::TCP, Kind::Text, "", Effect::None("links are configured by the node sections"), "The ends of a link."),
    parameter("HostName2", Sections::TCP, Kind::Text, "", Effect::None("links are configured by the node sections"), "The ends of a link."),
    parameter("Proxy", Sections::TCP, Kind::Text, "", Effect::None("links are configured by the node sections"), "The ends of a link."),
    parameter("OverloadLimit", Sections::TCP.and(Sections::SHM), Kind::Size(0, SIZE_MAX), "0", Effect::None("it is sized automatically"), "Buffers of a link."),
    parameter("SendBufferMemory", Sections::TCP.and(Sections::SHM), Kind::Size(0, SIZE_MAX), "0", Effect::None("it is sized automatically"), "Buffers of a link."),
    parameter("ReceiveBufferMemory", Sections::TCP, Kind::Size(0, SIZE_MAX), "0", Effect::None("it is sized automatically"), "Buffers of a link."),
    parameter("TCP_MAXSEG_SIZE", Sections::TCP, Kind::Size(0, SIZE_MAX), "0", Effect::None("it is sized automatically"), "Buffers of a link."),
    parameter("TCP_RCV_BUF_SIZE", Sections::TCP, Kind::Size(0, SIZE_MAX), "0", Effect::None("it is sized automatically"), "Buffers of a link."),
    parameter("TCP_SND_BUF_SIZE", Sections::TCP, Kind::Size(0, SIZE_MAX), "0", Effect::None("it is sized automatically"), "Buffers of a link."),
    parameter("PreferIPVersion", Sections::TCP, Kind::Count(4, 6), "4", Effect::None("it is not adjustable here"), "How host names are resolved."),
    parameter("TcpSpinTime", Sections::TCP, Kind::Microseconds(0, 2000), "0", Effect::None("SpinMethod says how threads spin"), "How long receivers spin."),
    parameter("RequireLinkTls", Sections::TCP, Kind::Flag, "0", Effect::None("RequireTls of the nodes says which links are encrypted; `tls info` shows them"), "An encrypted link."),
    parameter("ShmKey", Sections::SHM, Kind::Count(0, COUNT_MAX), "0", Effect::None("shared memory is sized automatically"), "A shared memory segment."),
    parameter("ShmSize", Sections::SHM, Kind::Count(0, COUNT_MAX), "0", Effect::None("shared memory is sized automatically"), "A shared memory segment."),
    parameter("ShmSpintime", Sections::SHM, Kind::Count(0, COUNT_MAX), "0", Effect::None("shared memory is sized automatically"), "A shared memory segment."),
    parameter("SigNum", Sections::SHM, Kind::Count(0, COUNT_MAX), "0", Effect::None("shared memory is sized automatically"), "A shared memory segment."),
    parameter("ConfigGenerationNumber", Sections::SYSTEM, Kind::Count(0, COUNT_MAX), "0", Effect::None("it is not adjustable here"), "Number of the configuration."),
    parameter("PrimaryMGMNode", Sections::SYSTEM, Kind::Count(0, 255), "0", Effect::None("the control plane chooses"), "The first management node."),
];
