//! `ndbinfo`: what nodes tell about themselves. Table names are NDB's; columns are as the nodes answer, in that order.

use super::virtual_tables::{Column, Kind, Layout, NAME as TEXT, Origin, Respondents, column, nullable};
use protocol::signal::InfoTable;
use types::BlobSize;

pub(super) const NAME: &str = "ndbinfo";

const fn asked(name: &'static str, columns: &'static [Column], table: InfoTable, of: Respondents) -> Layout {
    Layout { database: NAME, name, columns, origin: Origin::Asked(table, of) }
}

const NODES: &[Column] = &[
    column("reporting_node_id", Kind::UnsignedInt),
    column("node_id", Kind::UnsignedInt),
    column("node_type", Kind::Text(16)),
    column("host", Kind::Text(255)),
    column("status", Kind::Text(16)),
    column("view_number", Kind::UnsignedBigInt),
    column("incarnation", Kind::UnsignedBigInt),
    column("closed_epoch", Kind::UnsignedBigInt),
    nullable("is_voter", Kind::UnsignedInt),
];

const THREADS: &[Column] = &[
    column("node_id", Kind::UnsignedInt),
    column("thr_no", Kind::UnsignedInt),
    column("thread_name", TEXT),
    nullable("cpu", Kind::UnsignedInt),
    column("connections", Kind::UnsignedInt),
];

const THREAD_BLOCKS: &[Column] =
    &[column("node_id", Kind::UnsignedInt), column("thr_no", Kind::UnsignedInt), column("block_name", TEXT)];

/// Since the thread began; times in microseconds.
const CPU_STATISTICS: &[Column] = &[
    column("node_id", Kind::UnsignedInt),
    column("thr_no", Kind::UnsignedInt),
    column("user_us", Kind::UnsignedBigInt),
    column("system_us", Kind::UnsignedBigInt),
    column("sleeping_us", Kind::UnsignedBigInt),
    column("rounds", Kind::UnsignedBigInt),
    column("signals", Kind::UnsignedBigInt),
    column("system_calls", Kind::UnsignedBigInt),
    column("wakes", Kind::UnsignedBigInt),
];

/// In pages of 32 KiB.
const RESOURCES: &[Column] = &[
    column("node_id", Kind::UnsignedInt),
    column("resource_name", TEXT),
    column("reserved", Kind::UnsignedBigInt),
    column("used", Kind::UnsignedBigInt),
    column("max", Kind::UnsignedBigInt),
];

const MEMORY_PER_FRAGMENT: &[Column] = &[
    column("node_id", Kind::UnsignedInt),
    column("block_instance", Kind::UnsignedInt),
    column("table_id", Kind::UnsignedInt),
    column("database_name", Kind::Identifier),
    column("table_name", Kind::Identifier),
    column("fragment_num", Kind::UnsignedInt),
    column("is_primary", Kind::UnsignedInt),
    column("row_count", Kind::UnsignedBigInt),
    column("version_count", Kind::UnsignedBigInt),
    column("data_bytes", Kind::UnsignedBigInt),
    column("index_bytes", Kind::UnsignedBigInt),
];

/// Since the node started.
const COUNTERS: &[Column] = &[
    column("node_id", Kind::UnsignedInt),
    column("block_name", TEXT),
    column("block_instance", Kind::UnsignedInt),
    column("counter_id", Kind::UnsignedInt),
    column("counter_name", TEXT),
    column("val", Kind::UnsignedBigInt),
];

const CLUSTER_TRANSACTIONS: &[Column] = &[
    column("node_id", Kind::UnsignedInt),
    column("block_instance", Kind::UnsignedInt),
    column("transid", Kind::UnsignedBigInt),
    column("fragment_num", Kind::UnsignedInt),
    column("client_block_ref", TEXT),
    column("state", Kind::Text(16)),
    column("count_operations", Kind::UnsignedBigInt),
];

/// Client sessions.
const PROCESSES: &[Column] = &[
    column("connection_id", Kind::UnsignedBigInt),
    column("user", Kind::Text(32)),
    column("host", Kind::Text(261)),
    nullable("db", Kind::Identifier),
    column("command", Kind::Text(16)),
    column("time", Kind::Int),
    nullable("state", TEXT),
    nullable("info", Kind::LongText(BlobSize::Long)),
    column("node_id", Kind::UnsignedInt),
];

/// NDB's columns, in whole seconds, then ours. Phases that there are not here took no time.
const RESTART_INFO: &[Column] = &[
    column("node_id", Kind::UnsignedInt),
    column("node_restart_status", TEXT),
    column("node_restart_status_int", Kind::UnsignedInt),
    column("secs_to_complete_node_failure", Kind::UnsignedBigInt),
    column("secs_to_allocate_node_id", Kind::UnsignedBigInt),
    column("secs_to_include_in_heartbeat_protocol", Kind::UnsignedBigInt),
    column("secs_until_wait_for_ndbcntr_master", Kind::UnsignedBigInt),
    column("secs_wait_for_ndbcntr_master", Kind::UnsignedBigInt),
    column("secs_to_get_start_permitted", Kind::UnsignedBigInt),
    column("secs_to_wait_for_lcp_for_copy_meta_data", Kind::UnsignedBigInt),
    column("secs_to_copy_meta_data", Kind::UnsignedBigInt),
    column("secs_to_include_node", Kind::UnsignedBigInt),
    column("secs_starting_node_to_request_local_recovery", Kind::UnsignedBigInt),
    column("secs_for_local_recovery", Kind::UnsignedBigInt),
    column("secs_restore_fragments", Kind::UnsignedBigInt),
    column("secs_undo_disk_data", Kind::UnsignedBigInt),
    column("secs_exec_redo_log", Kind::UnsignedBigInt),
    column("secs_index_rebuild", Kind::UnsignedBigInt),
    column("secs_to_synchronize_starting_node", Kind::UnsignedBigInt),
    column("secs_wait_lcp_for_restart", Kind::UnsignedBigInt),
    column("secs_wait_subscription_handover", Kind::UnsignedBigInt),
    column("total_restart_secs", Kind::UnsignedBigInt),
    column("total_restart_ms", Kind::UnsignedBigInt),
    column("partitions_to_copy", Kind::UnsignedInt),
    column("partitions_copied", Kind::UnsignedInt),
];

/// NDB's columns: the node's own certificate, then those of the authorities that it believes.
const CERTIFICATES: &[Column] = &[
    column("Node_id", Kind::UnsignedInt),
    column("Name", TEXT),
    column("Expires", Kind::Text(16)),
    column("Serial", TEXT),
];

pub(super) const TABLES: &[Layout] = &[
    asked("certificates", CERTIFICATES, InfoTable::Certificates, Respondents::AllNodes),
    asked(
        "cluster_transactions",
        CLUSTER_TRANSACTIONS,
        InfoTable::ClusterTransactions,
        Respondents::AllNodes,
    ),
    asked("counters", COUNTERS, InfoTable::Counters, Respondents::AllNodes),
    asked("cpustat", CPU_STATISTICS, InfoTable::CpuStat, Respondents::AllNodes),
    // The same question to every node shows whether they agree.
    asked("membership", NODES, InfoTable::Nodes, Respondents::AllNodes),
    asked("memory_per_fragment", MEMORY_PER_FRAGMENT, InfoTable::MemoryPerFragment, Respondents::AllNodes),
    asked("nodes", NODES, InfoTable::Nodes, Respondents::OwnNode),
    asked("processes", PROCESSES, InfoTable::Processes, Respondents::AllNodes),
    asked("resources", RESOURCES, InfoTable::Resources, Respondents::AllNodes),
    asked("restart_info", RESTART_INFO, InfoTable::RestartInfo, Respondents::AllNodes),
    asked("threadblocks", THREAD_BLOCKS, InfoTable::ThreadBlocks, Respondents::AllNodes),
    asked("threads", THREADS, InfoTable::Threads, Respondents::AllNodes),
];
