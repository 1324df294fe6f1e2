//! `ndbinfo`: what nodes tell about themselves. Names of tables and columns are NDB's; what only we have stands behind
//! them. Columns are as the nodes answer, in that order. A column that nobody counts here is NULL.
//!
//! A table takes a line in `info_tables!` of `protocol::signal`, its columns and a line in [`TABLES`] here, and the
//! rows, in the part of a node that knows them.

use super::virtual_tables::{
    Column, Kind, Layout, MakeRows, NAME as TEXT, Origin, Respondents, column, nullable, text,
};
use super::{ShowContext, pruning::Pruning};
use protocol::ModuleKind;
use protocol::signal::InfoTable;
use std::sync::Arc;
use types::{BlobSize, IndexKind, TableDefinition, Value};

pub(super) const NAME: &str = "ndbinfo";

const fn asked(name: &'static str, columns: &'static [Column], table: InfoTable, of: Respondents) -> Layout {
    Layout { database: NAME, name, columns, origin: Origin::Asked(table, of) }
}

const fn made(name: &'static str, columns: &'static [Column], rows: MakeRows) -> Layout {
    Layout { database: NAME, name, columns, origin: Origin::Made(rows) }
}

/// INT UNSIGNED.
const fn small(name: &'static str) -> Column {
    column(name, Kind::UnsignedInt)
}

/// BIGINT UNSIGNED.
const fn large(name: &'static str) -> Column {
    column(name, Kind::UnsignedBigInt)
}

/// BIGINT UNSIGNED, NULL where it is not counted.
const fn counted(name: &'static str) -> Column {
    nullable(name, Kind::UnsignedBigInt)
}

/// A name of a database or a table; NULL if the table has just been dropped.
const fn object(name: &'static str) -> Column {
    nullable(name, Kind::Identifier)
}

/// The columns that each node tells of all.
const MEMBERSHIP: &[Column] = &[
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
    column("thread_description", Kind::Text(255)),
    nullable("cpu", Kind::UnsignedInt),
    column("connections", Kind::UnsignedInt),
    nullable("busy", Kind::UnsignedInt),
    nullable("backlog_us", Kind::UnsignedBigInt),
    nullable("weight", Kind::UnsignedInt),
    nullable("reads_given", Kind::UnsignedBigInt),
    nullable("reads_taken", Kind::UnsignedBigInt),
    nullable("longest_call_us", Kind::UnsignedBigInt),
    nullable("longest_call_of", TEXT),
];

const THREAD_BLOCKS: &[Column] =
    &[small("node_id"), small("thr_no"), column("block_name", TEXT), small("block_instance")];

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

/// In pages of 32 KiB, then in bytes.
const RESOURCES: &[Column] = &[
    column("node_id", Kind::UnsignedInt),
    column("resource_name", TEXT),
    column("reserved", Kind::UnsignedBigInt),
    column("used", Kind::UnsignedBigInt),
    column("max", Kind::UnsignedBigInt),
    large("reserved_bytes"),
    large("used_bytes"),
    large("max_bytes"),
];

/// Since the node started.
const DURABILITY: &[Column] = &[
    column("node_id", Kind::UnsignedInt),
    column("restart_number", Kind::UnsignedInt),
    column("closed_epoch", Kind::UnsignedBigInt),
    column("whole_epoch", Kind::UnsignedBigInt),
    column("flushed_epoch", Kind::UnsignedBigInt),
    column("flushed_by_all_epoch", Kind::UnsignedBigInt),
    column("durable_epoch", Kind::UnsignedBigInt),
    column("lost_ms", Kind::UnsignedBigInt),
    nullable("lost_bytes", Kind::UnsignedBigInt),
];

const COUNTERS: &[Column] = &[
    column("node_id", Kind::UnsignedInt),
    column("block_name", TEXT),
    column("block_instance", Kind::UnsignedInt),
    column("counter_id", Kind::UnsignedInt),
    column("counter_name", TEXT),
    column("val", Kind::UnsignedBigInt),
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

/// Each node tells of itself.
const NODES: &[Column] = &[
    small("node_id"),
    large("uptime"),
    column("status", Kind::Text(16)),
    small("start_phase"),
    small("config_generation"),
    column("node_type", Kind::Text(16)),
    column("host", Kind::Text(255)),
    large("view_number"),
    large("incarnation"),
    large("closed_epoch"),
    nullable("is_voter", Kind::UnsignedInt),
];

const MEMORY_USAGE: &[Column] = &[
    small("node_id"),
    column("memory_type", TEXT),
    large("used"),
    large("used_pages"),
    large("total"),
    large("total_pages"),
];

/// The columns of all tables by fragment: `rest` stands between them and the names.
macro_rules! fragment_columns {
    ($($rest:expr,)*) => {
        &[
            column("fq_name", Kind::Text(255)),
            nullable("parent_fq_name", Kind::Text(255)),
            column("type", TEXT),
            small("table_id"),
            small("node_id"),
            small("block_instance"),
            small("fragment_num"),
            $($rest,)*
            object("database_name"),
            object("table_name"),
        ]
    };
}

/// Rows have one size here: the variable parts are all of a row, the hash index is all indexes.
const MEMORY_PER_FRAGMENT: &[Column] = fragment_columns![
    large("fixed_elem_alloc_bytes"),
    large("fixed_elem_free_bytes"),
    large("fixed_elem_size_bytes"),
    large("fixed_elem_count"),
    large("fixed_elem_free_count"),
    large("var_elem_alloc_bytes"),
    large("var_elem_free_bytes"),
    large("var_elem_count"),
    large("hash_index_alloc_bytes"),
    small("is_primary"),
    large("row_count"),
    large("version_count"),
    large("data_bytes"),
    large("index_bytes"),
];

/// Since the node got the fragment; counted by the primary, but commits by every replica. Reads and scans are counted
/// by nobody.
const OPERATIONS_PER_FRAGMENT: &[Column] = fragment_columns![
    counted("tot_key_reads"),
    large("tot_key_inserts"),
    large("tot_key_updates"),
    large("tot_key_writes"),
    large("tot_key_deletes"),
    counted("tot_key_refs"),
    counted("tot_key_attrinfo_bytes"),
    counted("tot_key_keyinfo_bytes"),
    counted("tot_key_prog_bytes"),
    counted("tot_key_inst_exec"),
    counted("tot_key_bytes_returned"),
    counted("tot_frag_scans"),
    counted("tot_scan_rows_examined"),
    counted("tot_scan_rows_returned"),
    counted("tot_scan_bytes_returned"),
    counted("tot_scan_prog_bytes"),
    counted("tot_scan_bound_bytes"),
    counted("tot_scan_inst_exec"),
    counted("tot_qd_frag_scans"),
    counted("conc_frag_scans"),
    counted("conc_qd_frag_scans"),
    large("tot_commits"),
    small("is_primary"),
];

/// Since the node got the fragment; counted by the primary.
const LOCKS_PER_FRAGMENT: &[Column] = fragment_columns![
    large("ex_req"),
    large("ex_imm_ok"),
    large("ex_wait_ok"),
    large("ex_wait_fail"),
    large("sh_req"),
    large("sh_imm_ok"),
    large("sh_wait_ok"),
    large("sh_wait_fail"),
    large("wait_ok_millis"),
    large("wait_fail_millis"),
    small("is_primary"),
];

/// Declares the columns of a table of the cluster, and of the one of this node's sessions, which have the session's
/// number in front.
macro_rules! cluster_and_server {
    ($cluster:ident, $server:ident: $($column:expr,)*) => {
        const $cluster: &[Column] = &[$($column,)*];
        const $server: &[Column] = &[large("mysql_connection_id"), $($column,)*];
    };
}

// By partition. The operations are those at this partition.
cluster_and_server! { CLUSTER_TRANSACTIONS, SERVER_TRANSACTIONS:
    small("node_id"),
    small("block_instance"),
    large("transid"),
    column("state", Kind::Text(16)),
    large("count_operations"),
    large("outstanding_operations"),
    counted("inactive_seconds"),
    small("client_node_id"),
    column("client_block_ref", TEXT),
    small("fragment_num"),
}

cluster_and_server! { CLUSTER_OPERATIONS, SERVER_OPERATIONS:
    small("node_id"),
    small("block_instance"),
    large("transid"),
    column("operation_type", Kind::Text(16)),
    column("state", Kind::Text(16)),
    small("tableid"),
    small("fragmentid"),
    small("client_node_id"),
    column("client_block_ref", TEXT),
    nullable("tc_node_id", Kind::UnsignedInt),
    nullable("tc_block_no", Kind::UnsignedInt),
    nullable("tc_block_instance", Kind::UnsignedInt),
    object("database_name"),
    object("table_name"),
    nullable("row_key", Kind::Text(255)),
}

cluster_and_server! { CLUSTER_LOCKS, SERVER_LOCKS:
    small("node_id"),
    small("block_instance"),
    small("tableid"),
    small("fragmentid"),
    large("rowid"),
    large("transid"),
    column("mode", Kind::Text(1)),
    column("state", Kind::Text(1)),
    column("detail", Kind::Text(1)),
    column("op", Kind::Text(16)),
    counted("duration_millis"),
    large("lock_num"),
    counted("waiting_for"),
    object("database_name"),
    object("table_name"),
    nullable("row_key", Kind::Text(255)),
}

const TRANSPORTERS: &[Column] = &[
    small("node_id"),
    small("remote_node_id"),
    column("status", Kind::Text(16)),
    column("remote_address", Kind::Text(255)),
    counted("bytes_sent"),
    counted("bytes_received"),
    counted("connect_count"),
    counted("overloaded"),
    counted("overload_count"),
    counted("slowdown"),
    counted("slowdown_count"),
    small("encrypted"),
    counted("sendbuffer_used_bytes"),
    counted("sendbuffer_max_used_bytes"),
    counted("sendbuffer_alloc_bytes"),
    counted("sendbuffer_max_alloc_bytes"),
    column("type", Kind::Text(16)),
];

/// Times are in microseconds.
const THREAD_STATISTICS: &[Column] = &[
    small("node_id"),
    small("thr_no"),
    column("thr_nm", TEXT),
    large("c_loop"),
    large("c_exec"),
    large("c_wait"),
    counted("c_l_sent_prioa"),
    counted("c_l_sent_priob"),
    counted("c_r_sent_prioa"),
    counted("c_r_sent_priob"),
    counted("os_tid"),
    counted("os_now"),
    large("os_ru_utime"),
    large("os_ru_stime"),
    counted("os_ru_minflt"),
    counted("os_ru_majflt"),
    counted("os_ru_nvcsw"),
    counted("os_ru_nivcsw"),
];

const CONFIG_PARAMS: &[Column] = &[
    small("param_number"),
    column("param_name", TEXT),
    column("param_description", Kind::Text(255)),
    column("param_type", Kind::Text(16)),
    column("param_default", TEXT),
    column("param_min", TEXT),
    column("param_max", TEXT),
    small("param_mandatory"),
    column("param_status", Kind::Text(255)),
];

const CONFIG_VALUES: &[Column] = &[
    small("node_id"),
    small("config_param"),
    column("config_value", Kind::Text(1024)),
    column("param_name", TEXT),
];

const CONFIG_NODES: &[Column] =
    &[small("node_id"), column("node_type", Kind::Text(16)), column("node_hostname", Kind::Text(255))];

const TABLE_DISTRIBUTION_STATUS: &[Column] = &[
    small("node_id"),
    small("table_id"),
    column("tab_copy_status", Kind::Text(16)),
    column("tab_update_status", Kind::Text(16)),
    column("tab_lcp_status", Kind::Text(16)),
    column("tab_status", Kind::Text(16)),
    column("tab_storage", Kind::Text(16)),
    small("tab_partitions"),
    small("tab_fragments"),
    small("current_scan_count"),
    small("scan_count_wait"),
    small("is_reorg_ongoing"),
    object("database_name"),
    object("table_name"),
];

const TABLE_FRAGMENTS: &[Column] = &[
    small("node_id"),
    small("table_id"),
    small("partition_id"),
    small("fragment_id"),
    small("partition_order"),
    small("log_part_id"),
    small("no_of_replicas"),
    small("current_primary"),
    small("preferred_primary"),
    nullable("current_first_backup", Kind::UnsignedInt),
    nullable("current_second_backup", Kind::UnsignedInt),
    nullable("current_third_backup", Kind::UnsignedInt),
    small("num_alive_replicas"),
    small("num_dead_replicas"),
    small("num_lcp_replicas"),
    object("database_name"),
    object("table_name"),
];

const TABLE_INFO: &[Column] = &[
    small("table_id"),
    small("logged_table"),
    small("row_contains_gci"),
    small("row_contains_checksum"),
    small("read_backup"),
    small("fully_replicated"),
    column("storage_type", Kind::Text(16)),
    nullable("hashmap_id", Kind::UnsignedInt),
    column("partition_balance", TEXT),
    counted("create_gci"),
    object("database_name"),
    object("table_name"),
];

const DICTIONARY_OBJECTS: &[Column] = &[
    small("type"),
    small("id"),
    small("version"),
    small("state"),
    small("parent_obj_type"),
    small("parent_obj_id"),
    column("fq_name", Kind::Text(255)),
];

const DICTIONARY_TYPES: &[Column] = &[small("type_id"), column("type_name", TEXT)];

const BLOCKS: &[Column] = &[small("block_number"), column("block_name", TEXT)];

/// NDB's number for a table's ordered index.
const ORDERED_INDEX: u64 = 6;
/// NDB's number for an object that is complete.
const ONLINE: u64 = 4;

fn block_rows(_: &ShowContext<'_>, _: &Pruning<'_>) -> Vec<Vec<Value>> {
    let kinds = [
        ModuleKind::Sql,
        ModuleKind::Tc,
        ModuleKind::Ldm,
        ModuleKind::Query,
        ModuleKind::Main,
        ModuleKind::Membership,
        ModuleKind::Disk,
    ];
    kinds.iter().map(|kind| vec![Value::UInt(*kind as u64), text(kind.name())]).collect()
}

fn dictionary_type_rows(_: &ShowContext<'_>, _: &Pruning<'_>) -> Vec<Vec<Value>> {
    let names =
        [(1, "System table"), (2, "User table"), (3, "Unique hash index"), (ORDERED_INDEX, "Ordered index")];
    names.iter().map(|(number, name)| vec![Value::UInt(*number), text(name)]).collect()
}

fn dictionary_rows(context: &ShowContext<'_>, _: &Pruning<'_>) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for table in context.schema.tables().values() {
        let (kind, _) = table.kind.dictionary_type();
        let (parent_type, parent) = match table.kind {
            types::TableKind::UniqueIndex { base, .. } => (2, base.0.into()),
            types::TableKind::User
            | types::TableKind::System
            | types::TableKind::Copy { .. }
            | types::TableKind::New => (0, 0),
        };
        let numbers = [kind, table.id.0.into(), table.version.into(), ONLINE, parent_type, parent];
        rows.push(numbers.map(Value::UInt).into_iter().chain([text(&table.dictionary_name())]).collect());
        for index in table.indexes.iter().filter(|index| index.kind == IndexKind::Ordered) {
            let id = u64::from(table.id.0);
            let numbers = [ORDERED_INDEX, index.id.0.into(), table.version.into(), ONLINE, kind, id];
            let name = format!("sys/def/{id}/{}", index.name);
            rows.push(numbers.map(Value::UInt).into_iter().chain([text(&name)]).collect());
        }
    }
    rows
}

/// Every replica answers committed reads.
fn table_rows(context: &ShowContext<'_>, _: &Pruning<'_>) -> Vec<Vec<Value>> {
    let row = |table: &Arc<TableDefinition>| {
        let is_everywhere = u64::from(table.kind == types::TableKind::System);
        let numbers = [table.id.0.into(), 0, 0, 0, 1, is_everywhere].map(Value::UInt);
        let rest = [text("MEMORY"), Value::Null, text("SPECIFIC"), Value::Null];
        let names = [text(&table.database), text(&table.name)];
        numbers.into_iter().chain(rest).chain(names).collect()
    };
    context.schema.tables().values().map(row).collect()
}

/// Rows of the first table, of this node's sessions only.
const fn of_server(name: &'static str, columns: &'static [Column], table: InfoTable) -> Layout {
    Layout { database: NAME, name, columns, origin: Origin::AskedForSessions(table) }
}

pub(super) const TABLES: &[Layout] = &[
    made("blocks", BLOCKS, block_rows),
    asked("certificates", CERTIFICATES, InfoTable::Certificates, Respondents::AllNodes),
    asked("cluster_locks", CLUSTER_LOCKS, InfoTable::ClusterLocks, Respondents::AllNodes),
    asked("cluster_operations", CLUSTER_OPERATIONS, InfoTable::ClusterOperations, Respondents::AllNodes),
    asked(
        "cluster_transactions",
        CLUSTER_TRANSACTIONS,
        InfoTable::ClusterTransactions,
        Respondents::AllNodes,
    ),
    asked("config_nodes", CONFIG_NODES, InfoTable::ConfigNodes, Respondents::OwnNode),
    asked("config_params", CONFIG_PARAMS, InfoTable::ConfigParams, Respondents::OwnNode),
    asked("config_values", CONFIG_VALUES, InfoTable::ConfigValues, Respondents::AllNodes),
    asked("counters", COUNTERS, InfoTable::Counters, Respondents::AllNodes),
    asked("cpustat", CPU_STATISTICS, InfoTable::CpuStat, Respondents::AllNodes),
    made("dict_obj_info", DICTIONARY_OBJECTS, dictionary_rows),
    made("dict_obj_types", DICTIONARY_TYPES, dictionary_type_rows),
    asked("durability", DURABILITY, InfoTable::Durability, Respondents::AllNodes),
    asked("locks_per_fragment", LOCKS_PER_FRAGMENT, InfoTable::LocksPerFragment, Respondents::AllNodes),
    // The same question to every node shows whether they agree.
    asked("membership", MEMBERSHIP, InfoTable::Nodes, Respondents::AllNodes),
    asked("memory_per_fragment", MEMORY_PER_FRAGMENT, InfoTable::MemoryPerFragment, Respondents::AllNodes),
    asked("memoryusage", MEMORY_USAGE, InfoTable::MemoryUsage, Respondents::AllNodes),
    asked("nodes", NODES, InfoTable::NodeState, Respondents::AllNodes),
    asked(
        "operations_per_fragment",
        OPERATIONS_PER_FRAGMENT,
        InfoTable::OperationsPerFragment,
        Respondents::AllNodes,
    ),
    asked("processes", PROCESSES, InfoTable::Processes, Respondents::AllNodes),
    asked("resources", RESOURCES, InfoTable::Resources, Respondents::AllNodes),
    asked("restart_info", RESTART_INFO, InfoTable::RestartInfo, Respondents::AllNodes),
    of_server("server_locks", SERVER_LOCKS, InfoTable::ClusterLocks),
    of_server("server_operations", SERVER_OPERATIONS, InfoTable::ClusterOperations),
    of_server("server_transactions", SERVER_TRANSACTIONS, InfoTable::ClusterTransactions),
    asked(
        "table_distribution_status",
        TABLE_DISTRIBUTION_STATUS,
        InfoTable::TableDistributionStatus,
        Respondents::OwnNode,
    ),
    asked("table_fragments", TABLE_FRAGMENTS, InfoTable::TableFragments, Respondents::OwnNode),
    made("table_info", TABLE_INFO, table_rows),
    asked("threadblocks", THREAD_BLOCKS, InfoTable::ThreadBlocks, Respondents::AllNodes),
    asked("threads", THREADS, InfoTable::Threads, Respondents::AllNodes),
    asked("threadstat", THREAD_STATISTICS, InfoTable::ThreadStat, Respondents::AllNodes),
    asked("transporters", TRANSPORTERS, InfoTable::Transporters, Respondents::AllNodes),
];
