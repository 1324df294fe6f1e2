//! All system variables, sorted by name.
//!
//! Clients ask for far more of them than mean anything here: drivers on connect, tools, ORMs. Those that do not apply show the value that a
//! MySQL server without the feature shows.

/// What kind of value a variable has, and which SET takes.
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
}

/// A system variable.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Definition {
    pub(crate) name: &'static str,
    pub(crate) default: &'static str,
    pub(crate) kind: Kind,
    /// SET SESSION changes it.
    pub(crate) is_settable: bool,
    /// SET GLOBAL changes it for the sessions that begin later on this node.
    pub(crate) is_global: bool,
}

/// What clients are told: they derive features from the number before the dash.
pub(crate) const VERSION: &str = concat!("8.0.40-LatsDB-", env!("CARGO_PKG_VERSION"));

/// The variable of that name, in any case.
pub(crate) fn definition(name: &str) -> Option<&'static Definition> {
    let lower = name.to_ascii_lowercase();
    let position = TABLE.binary_search_by(|definition| definition.name.cmp(&lower)).ok()?;
    TABLE.get(position)
}

const fn fixed(name: &'static str, default: &'static str) -> Definition {
    Definition { name, default, kind: Kind::Text, is_settable: false, is_global: false }
}

const fn fixed_number(name: &'static str, default: &'static str) -> Definition {
    let kind = Kind::Integer { minimum: 0, maximum: u64::MAX };
    Definition { name, default, kind, is_settable: false, is_global: false }
}

const fn fixed_bool(name: &'static str, default: &'static str) -> Definition {
    Definition { name, default, kind: Kind::Bool, is_settable: false, is_global: false }
}

const fn set(name: &'static str, default: &'static str, kind: Kind) -> Definition {
    Definition { name, default, kind, is_settable: true, is_global: false }
}

const fn set_number(name: &'static str, default: &'static str, minimum: u64, maximum: u64) -> Definition {
    set(name, default, Kind::Integer { minimum, maximum })
}

const fn set_bool(name: &'static str, default: &'static str) -> Definition {
    set(name, default, Kind::Bool)
}

/// For SET SESSION and SET GLOBAL.
const fn set_both(name: &'static str, default: &'static str, minimum: u64, maximum: u64) -> Definition {
    Definition { is_global: true, ..set_number(name, default, minimum, maximum) }
}

/// For SET GLOBAL alone.
const fn set_global(name: &'static str, default: &'static str, minimum: u64, maximum: u64) -> Definition {
    Definition { is_settable: false, ..set_both(name, default, minimum, maximum) }
}

const YEAR_SECONDS: u64 = 31_536_000;
const CHARSET: Kind = Kind::CharacterSet;
const COLLATION: Kind = Kind::Collation;

/// All of them; sorted, a test holds that.
#[rustfmt::skip]
pub(crate) const TABLE: &[Definition] = &[
    fixed_bool("activate_all_roles_on_login", "OFF"),
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
    fixed("character_set_filesystem", "binary"),
    set("character_set_results", "utf8mb4", CHARSET),
    set("character_set_server", "utf8mb4", CHARSET),
    fixed("character_set_system", "utf8mb3"),
    set("collation_connection", "utf8mb4_0900_ai_ci", COLLATION),
    set("collation_database", "utf8mb4_0900_ai_ci", COLLATION),
    set("collation_server", "utf8mb4_0900_ai_ci", COLLATION),
    set("completion_type", "NO_CHAIN", Kind::Choice(&["NO_CHAIN", "CHAIN", "RELEASE"])),
    fixed_number("connect_timeout", "10"),
    fixed_bool("core_file", "OFF"),
    fixed("datadir", "/"),
    fixed("default_authentication_plugin", "caching_sha2_password"),
    fixed_number("default_password_lifetime", "0"),
    set("default_storage_engine", "LATSDB", Kind::Text),
    set("default_tmp_storage_engine", "LATSDB", Kind::Text),
    set_number("default_week_format", "0", 0, 7),
    fixed_number("div_precision_increment", "4"),
    set_bool("end_markers_in_json", "OFF"),
    set_number("eq_range_index_dive_limit", "200", 0, u32::MAX as u64),
    fixed_bool("event_scheduler", "OFF"),
    set_bool("explicit_defaults_for_timestamp", "ON"),
    set_bool("foreign_key_checks", "ON"),
    set_number("group_concat_max_len", "1024", 1024, 1024),
    fixed_bool("gtid_mode", "OFF"),
    fixed("have_compress", "NO"),
    fixed("have_dynamic_loading", "NO"),
    fixed("have_geometry", "NO"),
    fixed("have_openssl", "YES"),
    fixed("have_profiling", "NO"),
    fixed("have_query_cache", "NO"),
    fixed("have_ssl", "YES"),
    fixed("have_symlink", "DISABLED"),
    fixed("hostname", "latsdb"),
    fixed("init_connect", ""),
    fixed_bool("innodb_autoinc_lock_mode", "ON"),
    fixed_number("innodb_buffer_pool_size", "134217728"),
    fixed_bool("innodb_file_per_table", "ON"),
    fixed_number("innodb_flush_log_at_trx_commit", "1"),
    set_number("innodb_lock_wait_timeout", "50", 1, 1_073_741_824),
    fixed("innodb_version", "8.0.40"),
    set_number("insert_id", "0", 0, 0),
    set_both("interactive_timeout", "28800", 1, YEAR_SECONDS),
    fixed_number("large_page_size", "0"),
    set_number("last_insert_id", "0", 0, u64::MAX),
    set_bool("latsdb_stale_reads", "OFF"),
    fixed("lc_messages", "en_US"),
    fixed("lc_time_names", "en_US"),
    fixed("license", "Apache-2.0"),
    fixed_bool("local_infile", "OFF"),
    set_number("lock_wait_timeout", "31536000", 1, YEAR_SECONDS),
    fixed_bool("log_bin", "OFF"),
    fixed_bool("log_bin_trust_function_creators", "OFF"),
    set_bool("low_priority_updates", "OFF"),
    fixed_bool("lower_case_file_system", "OFF"),
    fixed_number("lower_case_table_names", "0"),
    fixed("mandatory_roles", ""),
    set_global("max_allowed_packet", "67108864", 1024, 1 << 30),
    fixed_number("max_connect_errors", "100"),
    fixed_number("max_connections", "1000"),
    set_number("max_error_count", "1024", 1024, 1024),
    set_number("max_execution_time", "0", 0, 0),
    set_number("max_heap_table_size", "16777216", 0, u64::MAX),
    set_number("max_join_size", "18446744073709551615", 1, u64::MAX),
    fixed_number("max_prepared_stmt_count", "16382"),
    set_number("max_sort_length", "1024", 4, 8_388_608),
    fixed_number("max_user_connections", "0"),
    fixed_number("net_buffer_length", "16384"),
    set_both("net_read_timeout", "30", 1, YEAR_SECONDS),
    set_number("net_retry_count", "10", 1, u64::MAX),
    set_both("net_write_timeout", "60", 1, YEAR_SECONDS),
    set_bool("new", "OFF"),
    set_bool("old_alter_table", "OFF"),
    set_number("optimizer_prune_level", "1", 0, 1),
    set_number("optimizer_search_depth", "62", 0, 62),
    set("optimizer_switch", "", Kind::Text),
    set("optimizer_trace", "enabled=off,one_line=off", Kind::Text),
    fixed_bool("performance_schema", "ON"),
    fixed_number("port", "3306"),
    set_number("preload_buffer_size", "32768", 1024, u64::MAX),
    set_bool("print_identified_with_as_hex", "OFF"),
    set_bool("profiling", "OFF"),
    fixed_number("protocol_version", "10"),
    fixed_number("query_cache_limit", "0"),
    fixed_number("query_cache_size", "0"),
    set("query_cache_type", "OFF", Kind::Choice(&["OFF"])),
    set_number("rand_seed1", "0", 0, u64::MAX),
    set_number("rand_seed2", "0", 0, u64::MAX),
    set_number("range_optimizer_max_mem_size", "8388608", 0, u64::MAX),
    set_number("read_buffer_size", "131072", 0, u64::MAX),
    fixed_bool("read_only", "OFF"),
    set_number("read_rnd_buffer_size", "262144", 0, u64::MAX),
    fixed_bool("require_secure_transport", "OFF"),
    fixed_number("server_id", "1"),
    fixed("server_uuid", "00000000-0000-0000-0000-000000000000"),
    set_bool("session_track_gtids", "OFF"),
    set_bool("session_track_schema", "ON"),
    set_bool("session_track_state_change", "OFF"),
    set("session_track_system_variables", "time_zone,autocommit,character_set_client,character_set_results,character_set_connection", Kind::Text),
    set("session_track_transaction_info", "OFF", Kind::Choice(&["OFF"])),
    fixed_bool("show_create_table_verbosity", "OFF"),
    fixed_bool("skip_name_resolve", "ON"),
    fixed_bool("skip_networking", "OFF"),
    fixed("socket", "/tmp/mysql.sock"),
    set_number("sort_buffer_size", "262144", 0, u64::MAX),
    set_bool("sql_auto_is_null", "OFF"),
    set_bool("sql_big_selects", "ON"),
    set_bool("sql_buffer_result", "OFF"),
    set_bool("sql_log_bin", "ON"),
    set_bool("sql_log_off", "OFF"),
    set("sql_mode", super::SQL_MODE_DEFAULT, Kind::SqlMode),
    set_bool("sql_notes", "ON"),
    set_bool("sql_quote_show_create", "ON"),
    set_bool("sql_require_primary_key", "OFF"),
    set_bool("sql_safe_updates", "OFF"),
    set_number("sql_select_limit", "18446744073709551615", 0, u64::MAX),
    set_bool("sql_warnings", "OFF"),
    fixed("ssl_cipher", ""),
    fixed("storage_engine", "LATSDB"),
    fixed_bool("super_read_only", "OFF"),
    fixed("system_time_zone", "UTC"),
    fixed_number("table_definition_cache", "2000"),
    fixed_number("table_open_cache", "4000"),
    fixed_number("thread_cache_size", "0"),
    fixed("thread_handling", "loaded-dynamically"),
    fixed_number("thread_stack", "1048576"),
    set("time_zone", "SYSTEM", Kind::TimeZone),
    set("timestamp", "0", Kind::Double),
    fixed("tls_version", "TLSv1.2,TLSv1.3"),
    set_number("tmp_table_size", "16777216", 0, u64::MAX),
    fixed("tmpdir", "/tmp"),
    set_number("transaction_alloc_block_size", "8192", 1024, u64::MAX),
    set("transaction_isolation", "READ-COMMITTED", Kind::Isolation),
    set_number("transaction_prealloc_size", "4096", 1024, u64::MAX),
    set_bool("transaction_read_only", "OFF"),
    set("tx_isolation", "READ-COMMITTED", Kind::Isolation),
    set_bool("tx_read_only", "OFF"),
    set_bool("unique_checks", "ON"),
    set_bool("updatable_views_with_limit", "ON"),
    fixed("version", VERSION),
    fixed("version_comment", "LatsDB"),
    fixed("version_compile_machine", std::env::consts::ARCH),
    fixed("version_compile_os", std::env::consts::OS),
    set_both("wait_timeout", "28800", 1, YEAR_SECONDS),
    fixed_number("warning_count", "0"),
    set_bool("windowing_use_high_precision", "ON"),
];
