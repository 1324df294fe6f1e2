//! All system variables, sorted by name.
//!
//! Clients ask for far more of them than mean anything here: drivers on connect, tools, ORMs. Those that do not apply
//! show the value that a MySQL server without the feature shows.

use super::Scope;
use planner::plan::Reach;

/// The kind of value that a variable has, and that SET takes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// ON, OFF, 1, 0.
    Bool,
    /// A whole number; what is outside is brought inside, as MySQL does.
    Integer { minimum: u64, maximum: u64 },
    /// A number.
    Double,
    /// Any text.
    Text,
    /// One of these.
    Choice(&'static [&'static str]),
    /// Modes joined by commas.
    SqlMode,
    /// SYSTEM or an offset.
    TimeZone,
    /// A character set's name.
    CharacterSet,
    /// A collation's name.
    Collation,
    /// An isolation level.
    Isolation,
    /// The name of a locale.
    Locale,
}

/// A system variable.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Definition {
    pub(crate) name: &'static str,
    pub(crate) default: &'static str,
    pub(crate) kind: Kind,
    pub(crate) reach: Reach,
    /// SET changes it.
    pub(crate) is_settable: bool,
}

impl Definition {
    /// Whether SHOW VARIABLES of this scope lists it.
    pub(crate) fn is_shown(&self, scope: Scope) -> bool {
        scope == Scope::Session || self.reach != Reach::Session
    }
}

/// The version that clients are told: they derive features from the number before the dash.
pub(crate) const VERSION: &str = concat!("8.0.40-LatsDB-", env!("CARGO_PKG_VERSION"));

/// The same number as NDB writes it: 8.0.40 in three bytes.
const NDB_VERSION: &str = "524328";

/// The variable of that name, in any case.
pub(crate) fn definition(name: &str) -> Option<&'static Definition> {
    let lower = name.to_ascii_lowercase();
    let position = TABLE.binary_search_by(|definition| definition.name.cmp(&lower)).ok()?;
    TABLE.get(position)
}

const NUMBER: Kind = Kind::Integer { minimum: 0, maximum: u64::MAX };

const fn fixed(name: &'static str, default: &'static str) -> Definition {
    Definition { name, default, kind: Kind::Text, reach: Reach::Global, is_settable: false }
}

const fn fixed_number(name: &'static str, default: &'static str) -> Definition {
    Definition { kind: NUMBER, ..fixed(name, default) }
}

const fn fixed_bool(name: &'static str, default: &'static str) -> Definition {
    Definition { kind: Kind::Bool, ..fixed(name, default) }
}

/// For SET SESSION and SET GLOBAL.
const fn set(name: &'static str, default: &'static str, kind: Kind) -> Definition {
    Definition { name, default, kind, reach: Reach::Both, is_settable: true }
}

const fn set_number(name: &'static str, default: &'static str, minimum: u64, maximum: u64) -> Definition {
    set(name, default, Kind::Integer { minimum, maximum })
}

const fn set_bool(name: &'static str, default: &'static str) -> Definition {
    set(name, default, Kind::Bool)
}

/// For SET GLOBAL alone.
const fn global(definition: Definition) -> Definition {
    Definition { reach: Reach::Global, ..definition }
}

/// For SET SESSION alone.
const fn session(definition: Definition) -> Definition {
    Definition { reach: Reach::Session, ..definition }
}

/// For SET GLOBAL alone, and sessions keep the value that they began with.
const fn begin(definition: Definition) -> Definition {
    Definition { reach: Reach::Begin, ..definition }
}

/// How much a commit waits for before it is answered, the least first. Sessions choose between the first two.
pub(super) const DURABILITY: [&str; 3] = ["memory", "epoch", "fsync"];
const YEAR_SECONDS: u64 = 31_536_000;
const CHARSET: Kind = Kind::CharacterSet;
const COLLATION: Kind = Kind::Collation;

/// All of them; sorted, a test holds that.
#[rustfmt::skip]
pub(crate) const TABLE: &[Definition] = &[
    global(set_bool("activate_all_roles_on_login", "OFF")),
    set_number("auto_increment_increment", "1", 1, 1),
    set_number("auto_increment_offset", "1", 1, 1),
    set_bool("autocommit", "ON"),
    fixed_bool("automatic_sp_privileges", "ON"),
    fixed_number("back_log", "1024"),
    fixed("basedir", "/"),
    set("big_tables", "OFF", Kind::Bool),
    fixed("bind_address", "*"),
    fixed("binlog_format", "ROW"),
    fixed("binlog_row_image", "FULL"),
    set("character_set_client", "utf8mb4", CHARSET),
    set("character_set_connection", "utf8mb4", CHARSET),
    set("character_set_database", "utf8mb4", CHARSET),
    set("character_set_filesystem", "binary", CHARSET),
    set("character_set_results", "utf8mb4", CHARSET),
    set("character_set_server", "utf8mb4", CHARSET),
    fixed("character_set_system", "utf8mb3"),
    fixed("character_sets_dir", "/usr/share/mysql/charsets/"),
    set("collation_connection", "utf8mb4_0900_ai_ci", COLLATION),
    set("collation_database", "utf8mb4_0900_ai_ci", COLLATION),
    set("collation_server", "utf8mb4_0900_ai_ci", COLLATION),
    set("completion_type", "NO_CHAIN", Kind::Choice(&["NO_CHAIN", "CHAIN", "RELEASE"])),
    fixed_number("connect_timeout", "10"),
    fixed_bool("core_file", "OFF"),
    set_number("cte_max_recursion_depth", "1000", 0, u32::MAX as u64),
    fixed("datadir", "/"),
    fixed("default_authentication_plugin", "caching_sha2_password"),
    set("default_collation_for_utf8mb4", "utf8mb4_0900_ai_ci", Kind::Choice(&["utf8mb4_0900_ai_ci", "utf8mb4_general_ci"])),
    fixed_number("default_password_lifetime", "0"),
    set("default_storage_engine", "LATSDB", Kind::Text),
    set_bool("default_table_encryption", "OFF"),
    set("default_tmp_storage_engine", "LATSDB", Kind::Text),
    set_number("default_week_format", "0", 0, 7),
    fixed("disabled_storage_engines", ""),
    set_number("div_precision_increment", "4", 4, 4),
    set("durability", "memory", Kind::Choice(&DURABILITY)),
    set_bool("end_markers_in_json", "OFF"),
    fixed("enforce_gtid_consistency", "OFF"),
    set_number("eq_range_index_dive_limit", "200", 0, u32::MAX as u64),
    session(fixed_number("error_count", "0")),
    global(set_bool("event_scheduler", "OFF")),
    set_bool("explicit_defaults_for_timestamp", "ON"),
    session(fixed("external_user", "")),
    set_bool("foreign_key_checks", "ON"),
    fixed_number("ft_max_word_len", "84"),
    fixed_number("ft_min_word_len", "4"),
    global(set_bool("general_log", "OFF")),
    fixed("general_log_file", ""),
    set_number("generated_random_password_length", "20", 5, 255),
    set_number("group_concat_max_len", "1024", 1024, 1024),
    fixed("gtid_executed", ""),
    fixed_bool("gtid_mode", "OFF"),
    session(set("gtid_next", "AUTOMATIC", Kind::Choice(&["AUTOMATIC"]))),
    fixed("gtid_owned", ""),
    global(set("gtid_purged", "", Kind::Choice(&[""]))),
    fixed("have_compress", "NO"),
    fixed("have_dynamic_loading", "NO"),
    fixed("have_geometry", "NO"),
    fixed("have_openssl", "YES"),
    fixed("have_profiling", "NO"),
    fixed("have_query_cache", "NO"),
    fixed("have_rtree_keys", "NO"),
    fixed("have_ssl", "YES"),
    fixed("have_statement_timeout", "NO"),
    fixed("have_symlink", "DISABLED"),
    fixed("hostname", "latsdb"),
    session(set_number("identity", "0", 0, u64::MAX)),
    set_number("information_schema_stats_expiry", "86400", 0, YEAR_SECONDS),
    fixed("init_connect", ""),
    fixed_bool("innodb_autoinc_lock_mode", "ON"),
    fixed_number("innodb_buffer_pool_size", "134217728"),
    fixed("innodb_default_row_format", "dynamic"),
    fixed_bool("innodb_file_per_table", "ON"),
    global(set_number("innodb_flush_log_at_trx_commit", "1", 0, u64::MAX)),
    fixed_number("innodb_ft_max_token_size", "84"),
    fixed_number("innodb_ft_min_token_size", "3"),
    set_number("innodb_lock_wait_timeout", "50", 1, 1_073_741_824),
    fixed_number("innodb_page_size", "16384"),
    fixed_bool("innodb_read_only", "OFF"),
    fixed_bool("innodb_rollback_on_timeout", "OFF"),
    global(set_bool("innodb_stats_on_metadata", "OFF")),
    global(set_bool("innodb_stats_persistent", "ON")),
    set_bool("innodb_strict_mode", "ON"),
    set_bool("innodb_table_locks", "ON"),
    fixed("innodb_version", "8.0.40"),
    session(set_number("insert_id", "0", 0, 0)),
    set_number("interactive_timeout", "28800", 1, YEAR_SECONDS),
    set("internal_tmp_mem_storage_engine", "TempTable", Kind::Choice(&["MEMORY", "TempTable"])),
    set_number("join_buffer_size", "262144", 128, u64::MAX),
    set_bool("keep_files_on_create", "OFF"),
    global(set_number("key_buffer_size", "8388608", 0, u64::MAX)),
    fixed_bool("large_files_support", "ON"),
    fixed_number("large_page_size", "0"),
    session(set_number("last_insert_id", "0", 0, u64::MAX)),
    fixed_bool("latsdb_diskless", "ON"),
    fixed("latsdb_durability", "memory"),
    set_bool("latsdb_stale_reads", "OFF"),
    set("lc_messages", "en_US", Kind::Locale),
    set("lc_time_names", "en_US", Kind::Locale),
    fixed("license", "Apache-2.0"),
    global(set_bool("local_infile", "OFF")),
    set_number("lock_wait_timeout", "31536000", 1, YEAR_SECONDS),
    fixed_bool("log_bin", "OFF"),
    global(set_bool("log_bin_trust_function_creators", "OFF")),
    fixed("log_error", "stderr"),
    global(set("log_output", "FILE", Kind::Choice(&["NONE", "FILE", "TABLE"]))),
    fixed_bool("log_replica_updates", "OFF"),
    fixed_bool("log_slave_updates", "OFF"),
    set("long_query_time", "10", Kind::Double),
    set_bool("low_priority_updates", "OFF"),
    fixed_bool("lower_case_file_system", "OFF"),
    fixed_number("lower_case_table_names", "0"),
    global(set("mandatory_roles", "", Kind::Text)),
    begin(set_number("max_allowed_packet", "67108864", 1024, 1 << 30)),
    global(set_number("max_connect_errors", "100", 0, u64::MAX)),
    fixed_number("max_connections", "1000"),
    set_number("max_delayed_threads", "20", 0, 16_384),
    set_number("max_error_count", "1024", 1024, 1024),
    set_number("max_execution_time", "0", 0, u32::MAX as u64),
    set_number("max_heap_table_size", "16777216", 0, u64::MAX),
    set_number("max_insert_delayed_threads", "20", 0, 16_384),
    set_number("max_join_size", "18446744073709551615", 1, u64::MAX),
    set_number("max_length_for_sort_data", "4096", 4, 8_388_608),
    set_number("max_points_in_geometry", "65536", 3, 1_048_576),
    fixed_number("max_prepared_stmt_count", "16382"),
    set_number("max_seeks_for_key", "18446744073709551615", 1, u64::MAX),
    set_number("max_sort_length", "1024", 4, 8_388_608),
    set_number("max_sp_recursion_depth", "0", 0, 255),
    begin(fixed_number("max_user_connections", "0")),
    set_number("min_examined_row_limit", "0", 0, u64::MAX),
    set_number("myisam_sort_buffer_size", "8388608", 4096, u64::MAX),
    set_bool("ndb_allow_copying_alter_table", "ON"),
    set_number("ndb_autoincrement_prefetch_sz", "512", 1, 65_536),
    set_number("ndb_batch_size", "32768", 0, 2_147_483_648),
    set_number("ndb_blob_read_batch_bytes", "65536", 0, u32::MAX as u64),
    set_number("ndb_blob_write_batch_bytes", "65536", 0, u32::MAX as u64),
    fixed_number("ndb_cluster_connection_pool", "1"),
    fixed("ndb_cluster_connection_pool_nodeids", ""),
    global(set_number("ndb_data_node_neighbour", "0", 0, 255)),
    global(set("ndb_default_column_format", "FIXED", Kind::Choice(&["FIXED", "DYNAMIC"]))),
    set_number("ndb_deferred_constraints", "0", 0, 1),
    global(set("ndb_distribution", "KEYHASH", Kind::Choice(&["KEYHASH"]))),
    global(set_number("ndb_eventbuffer_free_percent", "20", 1, 99)),
    global(set_number("ndb_eventbuffer_max_alloc", "0", 0, u32::MAX as u64)),
    global(set_number("ndb_extra_logging", "1", 0, 20)),
    set_bool("ndb_force_send", "ON"),
    set_bool("ndb_fully_replicated", "OFF"),
    set_bool("ndb_index_stat_enable", "ON"),
    set_bool("ndb_join_pushdown", "ON"),
    fixed_bool("ndb_log_bin", "OFF"),
    global(set_bool("ndb_metadata_check", "ON")),
    global(set_number("ndb_optimization_delay", "10", 0, 100_000)),
    fixed_number("ndb_optimized_node_selection", "3"),
    global(set_bool("ndb_read_backup", "ON")),
    global(set_bool("ndb_row_checksum", "ON")),
    set_bool("ndb_table_no_logging", "OFF"),
    set_bool("ndb_table_temporary", "OFF"),
    fixed_bool("ndb_use_copying_alter_table", "OFF"),
    set_bool("ndb_use_exact_count", "OFF"),
    set_bool("ndb_use_transactions", "ON"),
    fixed_number("ndb_version", NDB_VERSION),
    fixed("ndb_version_string", "ndb-8.0.40"),
    fixed_number("ndb_wait_connected", "120"),
    fixed_number("ndb_wait_setup", "120"),
    fixed("ndbinfo_database", "ndbinfo"),
    set_number("ndbinfo_max_bytes", "0", 0, 65_535),
    set_number("ndbinfo_max_rows", "10", 1, 256),
    global(set_bool("ndbinfo_offline", "OFF")),
    set_bool("ndbinfo_show_hidden", "OFF"),
    fixed("ndbinfo_table_prefix", "ndb$"),
    fixed_number("ndbinfo_version", NDB_VERSION),
    begin(set_number("net_buffer_length", "16384", 1024, 1 << 20)),
    set_number("net_read_timeout", "30", 1, YEAR_SECONDS),
    set_number("net_retry_count", "10", 1, u64::MAX),
    set_number("net_write_timeout", "60", 1, YEAR_SECONDS),
    set_bool("new", "OFF"),
    set_bool("old_alter_table", "OFF"),
    fixed_number("open_files_limit", "1048576"),
    set_number("optimizer_max_subgraph_pairs", "100000", 1, u64::MAX),
    set_number("optimizer_prune_level", "1", 0, 1),
    set_number("optimizer_search_depth", "62", 0, 62),
    set("optimizer_switch", "", Kind::Text),
    set("optimizer_trace", "enabled=off,one_line=off", Kind::Text),
    set_number("optimizer_trace_limit", "1", 0, u32::MAX as u64),
    set_number("optimizer_trace_max_mem_size", "1048576", 0, u64::MAX),
    set_number("optimizer_trace_offset", "0", 0, u32::MAX as u64),
    set_number("parser_max_mem_size", "18446744073709551615", 10_000_000, u64::MAX),
    fixed_bool("performance_schema", "ON"),
    fixed("pid_file", ""),
    fixed("plugin_dir", ""),
    fixed_number("port", "3306"),
    set_number("preload_buffer_size", "32768", 1024, u64::MAX),
    set_bool("print_identified_with_as_hex", "OFF"),
    set_bool("profiling", "OFF"),
    set_number("profiling_history_size", "15", 0, 100),
    fixed_number("protocol_version", "10"),
    session(fixed("proxy_user", "")),
    session(set_bool("pseudo_replica_mode", "OFF")),
    session(set_bool("pseudo_slave_mode", "OFF")),
    session(set_number("pseudo_thread_id", "0", 0, u64::MAX)),
    set_number("query_alloc_block_size", "8192", 1024, u32::MAX as u64),
    fixed_number("query_cache_limit", "0"),
    fixed_number("query_cache_size", "0"),
    set("query_cache_type", "OFF", Kind::Choice(&["OFF"])),
    set_number("query_prealloc_size", "8192", 8192, u64::MAX),
    session(set_number("rand_seed1", "0", 0, u64::MAX)),
    session(set_number("rand_seed2", "0", 0, u64::MAX)),
    set_number("range_optimizer_max_mem_size", "8388608", 0, u64::MAX),
    set_number("read_buffer_size", "131072", 0, u64::MAX),
    fixed_bool("read_only", "OFF"),
    set_number("read_rnd_buffer_size", "262144", 0, u64::MAX),
    fixed_bool("require_secure_transport", "OFF"),
    session(set("resultset_metadata", "FULL", Kind::Choice(&["FULL"]))),
    fixed("secure_file_priv", "NULL"),
    set_number("select_into_buffer_size", "131072", 8192, u64::MAX),
    set_bool("select_into_disk_sync", "OFF"),
    fixed_number("server_id", "1"),
    fixed("server_uuid", "00000000-0000-0000-0000-000000000000"),
    set_bool("session_track_gtids", "OFF"),
    set_bool("session_track_schema", "ON"),
    set_bool("session_track_state_change", "OFF"),
    set("session_track_system_variables", "time_zone,autocommit,character_set_client,character_set_results,character_set_connection", Kind::Text),
    set("session_track_transaction_info", "OFF", Kind::Choice(&["OFF"])),
    set_bool("show_create_table_skip_secondary_engine", "OFF"),
    set_bool("show_create_table_verbosity", "OFF"),
    set_bool("show_gipk_in_create_table_and_information_schema", "ON"),
    fixed_bool("skip_name_resolve", "ON"),
    fixed_bool("skip_networking", "OFF"),
    global(set_bool("slow_query_log", "OFF")),
    fixed("slow_query_log_file", ""),
    fixed("socket", "/tmp/mysql.sock"),
    set_number("sort_buffer_size", "262144", 0, u64::MAX),
    set_bool("sql_auto_is_null", "OFF"),
    set_bool("sql_big_selects", "ON"),
    set_bool("sql_buffer_result", "OFF"),
    set("sql_generate_invisible_primary_key", "OFF", Kind::Choice(&["OFF"])),
    session(set_bool("sql_log_bin", "ON")),
    set_bool("sql_log_off", "OFF"),
    set("sql_mode", super::SQL_MODE_DEFAULT, Kind::SqlMode),
    set_bool("sql_notes", "ON"),
    set_bool("sql_quote_show_create", "ON"),
    set_bool("sql_require_primary_key", "OFF"),
    set_bool("sql_safe_updates", "OFF"),
    set_number("sql_select_limit", "18446744073709551615", 0, u64::MAX),
    set_bool("sql_warnings", "OFF"),
    fixed("ssl_ca", ""),
    fixed("ssl_cert", ""),
    fixed("ssl_cipher", ""),
    fixed("ssl_key", ""),
    fixed("storage_engine", "LATSDB"),
    fixed_bool("super_read_only", "OFF"),
    fixed("system_time_zone", "UTC"),
    global(set_number("table_definition_cache", "2000", 0, u64::MAX)),
    global(set_number("table_open_cache", "4000", 0, u64::MAX)),
    set("terminology_use_previous", "NONE", Kind::Choice(&["NONE", "BEFORE_8_0_26", "BEFORE_8_2_0"])),
    global(set_number("thread_cache_size", "0", 0, u64::MAX)),
    fixed("thread_handling", "loaded-dynamically"),
    fixed_number("thread_stack", "1048576"),
    set("time_zone", "SYSTEM", Kind::TimeZone),
    session(set("timestamp", "0", Kind::Double)),
    fixed("tls_version", "TLSv1.2,TLSv1.3"),
    set_number("tmp_table_size", "16777216", 0, u64::MAX),
    fixed("tmpdir", "/tmp"),
    set_number("transaction_alloc_block_size", "8192", 1024, u64::MAX),
    session(set_bool("transaction_allow_batching", "OFF")),
    set("transaction_isolation", "READ-COMMITTED", Kind::Isolation),
    set_number("transaction_prealloc_size", "4096", 1024, u64::MAX),
    set_bool("transaction_read_only", "OFF"),
    set("tx_isolation", "READ-COMMITTED", Kind::Isolation),
    set_bool("tx_read_only", "OFF"),
    set_bool("unique_checks", "ON"),
    set_bool("updatable_views_with_limit", "ON"),
    session(set("use_secondary_engine", "ON", Kind::Choice(&["OFF", "ON", "FORCED"]))),
    fixed("version", VERSION),
    fixed("version_comment", "LatsDB"),
    fixed("version_compile_machine", std::env::consts::ARCH),
    fixed("version_compile_os", std::env::consts::OS),
    fixed("version_compile_zlib", ""),
    set_number("wait_timeout", "28800", 1, YEAR_SECONDS),
    session(fixed_number("warning_count", "0")),
    set_bool("windowing_use_high_precision", "ON"),
];
