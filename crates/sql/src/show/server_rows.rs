//! Rows about the server: character sets, collations, engines, plugins, privileges, variables, counters.
//!
//! Character sets and collations are those of MySQL that are here, with MySQL's numbers.

use super::ShowContext;
use super::virtual_tables::{text, yes_or_no};
use crate::variables::{Scope, TABLE};
use planner::plan::Diagnosed;
use types::{CharacterSet, Collation, DynamicPrivileges, Value};

/// Every privilege of MySQL that is not dynamic: name as SHOW PRIVILEGES prints it, what it is about, what it allows.
const PRIVILEGES: [(&str, &str, &str); 31] = [
    ("Alter", "Tables", "Change tables with ALTER TABLE"),
    ("Alter routine", "Functions,Procedures", "Change and drop routines"),
    ("Create", "Databases,Tables,Indexes", "Create databases, tables and indexes"),
    ("Create routine", "Databases", "Create routines"),
    ("Create role", "Server Admin", "Create roles"),
    ("Create temporary tables", "Databases", "Create temporary tables"),
    ("Create view", "Tables", "Create views"),
    ("Create user", "Server Admin", "Create, change, rename and drop accounts"),
    ("Delete", "Tables", "Delete rows"),
    ("Drop", "Databases,Tables", "Drop databases, tables and views"),
    ("Drop role", "Server Admin", "Drop roles"),
    ("Event", "Server Admin", "Create, change, drop and run events"),
    ("Execute", "Functions,Procedures", "Call routines"),
    ("File", "File access on server", "Read and write files of the server"),
    ("Grant option", "Databases,Tables,Functions,Procedures", "Give to others what one may do"),
    ("Index", "Tables", "Create and drop indexes"),
    ("Insert", "Tables", "Insert rows"),
    ("Lock tables", "Databases", "Lock tables that one may select from"),
    ("Process", "Server Admin", "See what other sessions run"),
    ("References", "Databases,Tables", "Refer to tables in foreign keys"),
    ("Reload", "Server Admin", "Use FLUSH"),
    ("Replication client", "Server Admin", "Ask about sources and replicas"),
    ("Replication slave", "Server Admin", "Read the binary log"),
    ("Select", "Tables", "Read rows"),
    ("Show databases", "Server Admin", "See the names of all databases"),
    ("Show view", "Tables", "See how views are defined"),
    ("Shutdown", "Server Admin", "Stop the server"),
    ("Super", "Server Admin", "Administer the server"),
    ("Trigger", "Tables", "Create, drop and fire triggers"),
    ("Create tablespace", "Server Admin", "Create, change and drop tablespaces"),
    ("Update", "Tables", "Change rows"),
];

/// Name, type, description.
const PLUGINS: [(&str, &str, &str); 3] = [
    ("caching_sha2_password", "AUTHENTICATION", "Authentication by a cached SHA-256 digest"),
    (catalogue::show::ENGINE, "STORAGE ENGINE", ENGINE_COMMENT),
    ("mysql_native_password", "AUTHENTICATION", "Authentication by a SHA-1 digest"),
];

const ENGINE_COMMENT: &str = "In memory, shared nothing, replicated synchronously";

/// CHARACTER_SETS.
pub(super) fn character_sets() -> Vec<Vec<Value>> {
    let row = |set: CharacterSet| {
        let size = Value::UInt(set.size_max().into());
        vec![text(set.name()), text(set.default_collation().name()), text(set.description()), size]
    };
    CharacterSet::all().map(row).collect()
}

/// SHOW CHARACTER SET, which has the columns in another order.
pub(super) fn shown_character_sets() -> Vec<Vec<Value>> {
    let mut rows = character_sets();
    for row in &mut rows {
        row.swap(1, 2);
    }
    rows
}

/// COLLATIONS and SHOW COLLATION, by name.
pub(super) fn collations() -> Vec<Vec<Value>> {
    let row = |collation: Collation| {
        let is_default = collation.set().default_collation() == collation;
        vec![
            text(collation.name()),
            text(collation.character_set()),
            Value::UInt(collation.mysql_id().into()),
            text(if is_default { "Yes" } else { "" }),
            text("Yes"),
            Value::UInt(sort_length(collation.name())),
            text(if collation.is_pad_space() { "PAD SPACE" } else { "NO PAD" }),
        ]
    };
    let mut all: Vec<Collation> = Collation::all().collect();
    all.sort_unstable_by_key(|collation| collation.name());
    all.into_iter().map(row).collect()
}

/// The version of MySQL's sys whose tables are here, and the server's.
pub(super) fn sys_version() -> Vec<Vec<Value>> {
    vec![vec![text("2.1.2"), text(crate::variables::VERSION)]]
}

/// MySQL's measure of the memory that sorting needs.
fn sort_length(collation: &str) -> u64 {
    let is_uca = ["utf", "ucs2"].iter().any(|set| collation.starts_with(set))
        && !["_bin", "_general_ci", "_tolower_ci", "_mysql500_ci"].iter().any(|end| collation.ends_with(end));
    match (is_uca, collation.contains("_0900_")) {
        (true, true) => 0,
        (true, false) => 8,
        (false, _) => 1,
    }
}

/// COLLATION_CHARACTER_SET_APPLICABILITY.
pub(super) fn collation_character_sets() -> Vec<Vec<Value>> {
    Collation::all().map(|collation| vec![text(collation.name()), text(collation.character_set())]).collect()
}

/// ENGINES and SHOW ENGINES.
pub(super) fn engines() -> Vec<Vec<Value>> {
    let (transactions, xa, savepoints) = (yes_or_no(true), yes_or_no(false), yes_or_no(true));
    vec![vec![
        text(catalogue::show::ENGINE),
        text("DEFAULT"),
        text(ENGINE_COMMENT),
        transactions,
        xa,
        savepoints,
    ]]
}

/// KEYWORDS.
pub(super) fn keywords() -> Vec<Vec<Value>> {
    planner::reserved_words().iter().map(|word| vec![text(word), Value::Int(1)]).collect()
}

/// PLUGINS.
pub(super) fn plugins() -> Vec<Vec<Value>> {
    let row = |(name, kind, description): (&str, &str, &str)| {
        vec![
            text(name),
            text("1.0"),
            text("ACTIVE"),
            text(kind),
            text("1.0"),
            Value::Null,
            Value::Null,
            Value::Null,
            text(description),
            text(env!("CARGO_PKG_LICENSE")),
            text("FORCE"),
        ]
    };
    PLUGINS.map(row).into()
}

/// SHOW PLUGINS: Name, Status, Type, Library, License.
pub(super) fn shown_plugins() -> Vec<Vec<Value>> {
    let row = |(name, kind, _): (&str, &str, &str)| {
        vec![text(name), text("ACTIVE"), text(kind), Value::Null, text(env!("CARGO_PKG_LICENSE"))]
    };
    PLUGINS.map(row).into()
}

/// SHOW PRIVILEGES.
pub(super) fn privileges() -> Vec<Vec<Value>> {
    let fixed =
        PRIVILEGES.iter().map(|(name, context, comment)| vec![text(name), text(context), text(comment)]);
    let dynamic =
        DynamicPrivileges::NAMES.iter().map(|name| vec![text(name), text("Server Admin"), text("")]);
    fixed.chain(dynamic).collect()
}

/// System variables by name.
pub(super) fn variables(context: &ShowContext<'_>, scope: Scope) -> Vec<Vec<Value>> {
    TABLE
        .iter()
        .filter(|definition| definition.is_shown(scope))
        .map(|definition| vec![text(definition.name), text(&context.variables.text(definition, scope))])
        .collect()
}

/// The values that SET PERSIST and SET PERSIST_ONLY have kept.
pub(super) fn persisted_variables(context: &ShowContext<'_>) -> Vec<Vec<Value>> {
    let persisted = context.schema.variables.iter();
    persisted
        .filter_map(|(name, variable)| Some(vec![text(name), text(variable.persisted.as_ref()?)]))
        .collect()
}

/// Rows about TLS that have one value here: there is no cache of sessions, and who a client is is not asked of its
/// certificate.
const SSL_FIXED: [(&str, &str); 20] = [
    ("Ssl_accept_renegotiates", "0"),
    ("Ssl_callback_cache_hits", "0"),
    ("Ssl_client_connects", "0"),
    ("Ssl_connect_renegotiates", "0"),
    ("Ssl_ctx_verify_depth", "0"),
    ("Ssl_ctx_verify_mode", "0"),
    ("Ssl_default_timeout", "0"),
    ("Ssl_finished_connects", "0"),
    ("Ssl_server_not_after", ""),
    ("Ssl_server_not_before", ""),
    ("Ssl_session_cache_hits", "0"),
    ("Ssl_session_cache_misses", "0"),
    ("Ssl_session_cache_mode", "NONE"),
    ("Ssl_session_cache_overflows", "0"),
    ("Ssl_session_cache_size", "0"),
    ("Ssl_session_cache_timeouts", "0"),
    ("Ssl_sessions_reused", "0"),
    ("Ssl_used_session_cache_entries", "0"),
    ("Ssl_verify_depth", "0"),
    ("Ssl_verify_mode", "0"),
];

/// The ciphers that a client may choose from, as OpenSSL names them.
const CIPHERS: &str = "TLS_AES_256_GCM_SHA384:TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:\
ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-AES256-GCM-SHA384:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-RSA-CHACHA20-POLY1305";

/// Status variables by name.
pub(super) fn status(context: &ShowContext<'_>) -> Vec<Vec<Value>> {
    let status = context.status;
    let numbers = [
        ("Aborted_connects", status.aborted_connects),
        ("Connections", status.connections),
        ("Handler_commit", status.commits),
        ("Handler_rollback", status.rollbacks),
        ("Max_used_connections", status.threads_connected_max),
        ("Open_tables", status.tables),
        ("Queries", status.questions),
        ("Questions", status.questions),
        ("Slow_queries", 0),
        ("Ssl_accepts", status.tls_accepts),
        ("Ssl_finished_accepts", status.tls_accepts),
        ("Threads_connected", status.threads_connected),
        ("Uptime", status.uptime_s),
        ("Uptime_since_flush_status", status.uptime_s),
    ];
    let texts = [
        ("Ssl_cipher", status.tls.map_or("", |tls| tls.cipher)),
        ("Ssl_cipher_list", if status.tls.is_some() { CIPHERS } else { "" }),
        ("Ssl_version", status.tls.map_or("", |tls| tls.version)),
    ];
    let numbers = numbers.map(|(name, number)| (name.to_owned(), number));
    let counted = numbers.into_iter().chain(status.statements.iter().cloned());
    let mut rows: Vec<(String, String)> = counted.map(|(name, number)| (name, number.to_string())).collect();
    let fixed = SSL_FIXED.iter().chain(&texts);
    rows.extend(fixed.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    rows.sort_unstable();
    rows.into_iter().map(|(name, value)| vec![text(&name), text(&value)]).collect()
}

/// SHOW WARNINGS: Level, Code, Message.
pub(super) fn diagnostics(context: &ShowContext<'_>, which: Diagnosed) -> Vec<Vec<Value>> {
    let passes = |level| match which {
        Diagnosed::All => true,
        Diagnosed::Errors => level == super::Level::Error,
    };
    let row = |diagnostic: &super::Diagnostic<'_>| {
        let level = match diagnostic.level {
            super::Level::Note => "Note",
            super::Level::Warning => "Warning",
            super::Level::Error => "Error",
        };
        vec![text(level), Value::UInt(diagnostic.code.into()), text(diagnostic.message)]
    };
    context.diagnostics.iter().filter(|diagnostic| passes(diagnostic.level)).map(row).collect()
}
