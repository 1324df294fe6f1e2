//! How often each kind of statement was begun: the `Com_*` rows of SHOW STATUS.
//!
//! A statement is counted once, where it is begun, by the index of its name in [`NAMES`]. Point selects, which are
//! answered before that, have a counter of their own and are added when the rows are shown.
//!
//! Deliberately not here: kinds that this server does not have are listed, because tools read them, and stay 0.

use catalogue::DdlRequest;
use planner::plan::{
    ChangeVerb, Diagnosed, InsertConflict, NamedStatement, Plan, Prepared, SetItem, SetTarget, Show,
    TableMaintenance, TransactionStatement,
};

/// MySQL's kinds, by name.
pub(crate) const NAMES: [&str; 172] = [
    "admin_commands",
    "alter_db",
    "alter_event",
    "alter_function",
    "alter_instance",
    "alter_procedure",
    "alter_resource_group",
    "alter_server",
    "alter_table",
    "alter_tablespace",
    "alter_user",
    "alter_user_default_role",
    "analyze",
    "assign_to_keycache",
    "begin",
    "binlog",
    "call_procedure",
    "change_db",
    "change_master",
    "change_repl_filter",
    "change_replication_source",
    "check",
    "checksum",
    "clone",
    "commit",
    "create_db",
    "create_event",
    "create_function",
    "create_index",
    "create_procedure",
    "create_resource_group",
    "create_role",
    "create_server",
    "create_spatial_reference_system",
    "create_table",
    "create_trigger",
    "create_udf",
    "create_user",
    "create_view",
    "dealloc_sql",
    "delete",
    "delete_multi",
    "do",
    "drop_db",
    "drop_event",
    "drop_function",
    "drop_index",
    "drop_procedure",
    "drop_resource_group",
    "drop_role",
    "drop_server",
    "drop_spatial_reference_system",
    "drop_table",
    "drop_trigger",
    "drop_user",
    "drop_view",
    "empty_query",
    "execute_sql",
    "explain_other",
    "flush",
    "get_diagnostics",
    "grant",
    "grant_roles",
    "group_replication_start",
    "group_replication_stop",
    "ha_close",
    "ha_open",
    "ha_read",
    "help",
    "import",
    "insert",
    "insert_select",
    "install_component",
    "install_plugin",
    "kill",
    "load",
    "lock_instance",
    "lock_tables",
    "optimize",
    "preload_keys",
    "prepare_sql",
    "purge",
    "purge_before_date",
    "release_savepoint",
    "rename_table",
    "rename_user",
    "repair",
    "replace",
    "replace_select",
    "replica_start",
    "replica_stop",
    "reset",
    "resignal",
    "restart",
    "revoke",
    "revoke_all",
    "revoke_roles",
    "rollback",
    "rollback_to_savepoint",
    "savepoint",
    "select",
    "set_option",
    "set_password",
    "set_resource_group",
    "set_role",
    "show_binlog_events",
    "show_binlogs",
    "show_charsets",
    "show_collations",
    "show_create_db",
    "show_create_event",
    "show_create_func",
    "show_create_proc",
    "show_create_table",
    "show_create_trigger",
    "show_create_user",
    "show_databases",
    "show_engine_logs",
    "show_engine_mutex",
    "show_engine_status",
    "show_errors",
    "show_events",
    "show_fields",
    "show_function_code",
    "show_function_status",
    "show_grants",
    "show_keys",
    "show_master_status",
    "show_open_tables",
    "show_plugins",
    "show_privileges",
    "show_procedure_code",
    "show_procedure_status",
    "show_processlist",
    "show_profile",
    "show_profiles",
    "show_relaylog_events",
    "show_replica_status",
    "show_replicas",
    "show_slave_hosts",
    "show_slave_status",
    "show_status",
    "show_storage_engines",
    "show_table_status",
    "show_tables",
    "show_triggers",
    "show_variables",
    "show_warnings",
    "shutdown",
    "signal",
    "slave_start",
    "slave_stop",
    "stmt_close",
    "stmt_execute",
    "stmt_fetch",
    "stmt_prepare",
    "stmt_reprepare",
    "stmt_reset",
    "stmt_send_long_data",
    "truncate",
    "uninstall_component",
    "uninstall_plugin",
    "unlock_instance",
    "unlock_tables",
    "update",
    "update_multi",
    "xa_commit",
    "xa_end",
    "xa_prepare",
    "xa_recover",
    "xa_rollback",
    "xa_start",
];

/// Where a kind stands.
const fn place(name: &str) -> usize {
    let mut place = 0;
    while place < NAMES.len() {
        if is_same(NAMES[place].as_bytes(), name.as_bytes()) {
            return place;
        }
        place += 1;
    }
    NAMES.len()
}

const fn is_same(left: &[u8], right: &[u8]) -> bool {
    if left.len() != right.len() {
        return false;
    }
    let mut at = 0;
    while at < left.len() {
        if left[at] != right[at] {
            return false;
        }
        at += 1;
    }
    true
}

macro_rules! kind {
    ($name:literal) => {
        const {
            let place = place($name);
            assert!(place < NAMES.len(), "a kind that is listed");
            place
        }
    };
}

/// Counts of all kinds.
#[derive(Clone, Debug)]
pub(crate) struct StatementCounts(Box<[u64; NAMES.len()]>);

impl Default for StatementCounts {
    fn default() -> Self {
        Self(Box::new([0; NAMES.len()]))
    }
}

impl StatementCounts {
    /// A statement begins.
    pub(crate) fn count(&mut self, prepared: &Prepared) {
        let kind = match prepared.sets.as_slice() {
            [] => kind_of(&prepared.plan),
            sets => Some(kind_of_set(sets)),
        };
        if let Some(count) = kind.and_then(|kind| self.0.get_mut(kind)) {
            *count += 1;
        }
    }

    /// A statement is prepared by the protocol.
    pub(crate) fn count_prepare(&mut self) {
        self.0[kind!("stmt_prepare")] += 1;
    }

    /// A statement that the protocol prepared is closed.
    pub(crate) fn count_close(&mut self) {
        self.0[kind!("stmt_close")] += 1;
    }

    /// Rows of a cursor are fetched.
    pub(crate) fn count_fetch(&mut self) {
        self.0[kind!("stmt_fetch")] += 1;
    }

    /// Name and count of each kind. Point selects and executions of prepared statements are counted elsewhere.
    pub(crate) fn rows(&self, point_selects: u64, executions: u64) -> Vec<(String, u64)> {
        let row = |(place, name): (usize, &&str)| {
            let elsewhere = match *name {
                "select" => point_selects,
                "stmt_execute" => executions,
                _ => 0,
            };
            (format!("Com_{name}"), self.0[place] + elsewhere)
        };
        NAMES.iter().enumerate().map(row).collect()
    }
}

/// The kind of a plan; none for what tells no kind.
fn kind_of(plan: &Plan) -> Option<usize> {
    Some(match plan {
        Plan::Select(_) => kind!("select"),
        Plan::Insert(insert) if matches!(insert.conflict, InsertConflict::Replace) => kind!("replace"),
        Plan::Insert(_) => kind!("insert"),
        Plan::Update(_) => kind!("update"),
        Plan::Delete(_) => kind!("delete"),
        Plan::Change(change) if change.verb == ChangeVerb::Update => kind!("update_multi"),
        Plan::Change(_) => kind!("delete_multi"),
        Plan::Explain { .. } => kind!("explain_other"),
        Plan::Ddl(ddl) => kind_of_ddl(&ddl.request),
        Plan::Temporary(ddl) => kind_of_ddl(&ddl.request),
        Plan::Transaction(transaction) => match transaction {
            TransactionStatement::Begin { .. } => kind!("begin"),
            TransactionStatement::Commit => kind!("commit"),
            TransactionStatement::Rollback => kind!("rollback"),
            TransactionStatement::Savepoint(_) => kind!("savepoint"),
            TransactionStatement::RollbackTo(_) => kind!("rollback_to_savepoint"),
            TransactionStatement::Release(_) => kind!("release_savepoint"),
        },
        Plan::Set(items) => kind_of_set(items),
        Plan::SetRole(_) => kind!("set_role"),
        Plan::Use(_) => kind!("change_db"),
        Plan::Show(show) => return kind_of_show(&show.what),
        Plan::Kill { .. } => kind!("kill"),
        Plan::Named(NamedStatement::Prepare { .. }) => kind!("prepare_sql"),
        Plan::Named(NamedStatement::Execute { .. }) => kind!("execute_sql"),
        Plan::Named(NamedStatement::Deallocate { .. }) => kind!("dealloc_sql"),
        Plan::LockTables(_) => kind!("lock_tables"),
        Plan::UnlockTables => kind!("unlock_tables"),
        Plan::FlushUserResources => kind!("flush"),
        Plan::Shutdown => kind!("shutdown"),
        Plan::Nothing { .. } => return None,
    })
}

fn kind_of_set(items: &[SetItem]) -> usize {
    let is_do = items.iter().all(|item| item.target == SetTarget::Nothing);
    if is_do { kind!("do") } else { kind!("set_option") }
}

fn kind_of_ddl(request: &DdlRequest) -> usize {
    match request {
        DdlRequest::CreateDatabase { .. } => kind!("create_db"),
        DdlRequest::DropDatabase { .. } => kind!("drop_db"),
        DdlRequest::AlterDatabase { .. } => kind!("alter_db"),
        DdlRequest::CreateTable(_) | DdlRequest::CreateTableLike { .. } => kind!("create_table"),
        DdlRequest::DropTables { .. } => kind!("drop_table"),
        DdlRequest::Truncate { .. } => kind!("truncate"),
        DdlRequest::RenameTables(_) => kind!("rename_table"),
        DdlRequest::AlterTable { .. } => kind!("alter_table"),
        DdlRequest::CreateUsers { .. } => kind!("create_user"),
        DdlRequest::DropUsers { .. } => kind!("drop_user"),
        DdlRequest::AlterUsers { .. } => kind!("alter_user"),
        DdlRequest::Grant(_) => kind!("grant"),
        DdlRequest::Revoke(_) => kind!("revoke"),
        DdlRequest::RevokeAll { .. } => kind!("revoke_all"),
        DdlRequest::GrantRoles(_) => kind!("grant_roles"),
        DdlRequest::RevokeRoles(_) => kind!("revoke_roles"),
        DdlRequest::SetDefaultRoles { .. } => kind!("alter_user_default_role"),
        DdlRequest::CreateRoles { .. } => kind!("create_role"),
        DdlRequest::DropRoles { .. } => kind!("drop_role"),
        DdlRequest::RenameUsers(_) => kind!("rename_user"),
        DdlRequest::SetVariables(_) => kind!("set_option"),
        DdlRequest::PutView(_) => kind!("create_view"),
        DdlRequest::DropViews { .. } => kind!("drop_view"),
    }
}

fn kind_of_show(what: &Show) -> Option<usize> {
    Some(match what {
        Show::Databases => kind!("show_databases"),
        Show::Tables { .. } => kind!("show_tables"),
        Show::Columns { .. } => kind!("show_fields"),
        Show::Indexes { .. } => kind!("show_keys"),
        Show::CreateTable { .. } => kind!("show_create_table"),
        Show::CreateDatabase { .. } => kind!("show_create_db"),
        Show::CreateView { .. } => kind!("show_create_table"),
        Show::TableStatus { .. } => kind!("show_table_status"),
        Show::Variables { .. } => kind!("show_variables"),
        Show::Status => kind!("show_status"),
        Show::Diagnostics { which: Diagnosed::All, .. } | Show::DiagnosticsCount(Diagnosed::All) => {
            kind!("show_warnings")
        }
        Show::Diagnostics { which: Diagnosed::Errors, .. } | Show::DiagnosticsCount(Diagnosed::Errors) => {
            kind!("show_errors")
        }
        Show::Engines => kind!("show_storage_engines"),
        Show::EngineStatus(_) => kind!("show_engine_status"),
        Show::CharacterSets => kind!("show_charsets"),
        Show::Collations => kind!("show_collations"),
        Show::ProcessList => kind!("show_processlist"),
        Show::Grants { .. } => kind!("show_grants"),
        Show::CreateUser { .. } => kind!("show_create_user"),
        Show::Privileges => kind!("show_privileges"),
        Show::Plugins => kind!("show_plugins"),
        Show::Maintenance { operation, .. } => match operation {
            TableMaintenance::Analyze => kind!("analyze"),
            TableMaintenance::Check => kind!("check"),
            TableMaintenance::Optimize => kind!("optimize"),
            TableMaintenance::Repair => kind!("repair"),
        },
        Show::Nothing { .. } => return None,
    })
}
