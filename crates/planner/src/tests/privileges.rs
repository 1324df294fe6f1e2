//! Privileges: every statement of `privileges.txt` for six accounts, as MySQL 8 answers.
//!
//! Below each statement stands one outcome per account: `ok`, or the error's number. DDL is planned as far as the
//! catalogue checks it. `tests/differential/privileges.py` runs the same statements on clusters and on MariaDB.

use super::surroundings::{TestSurroundings, schema, virtual_table};
use crate::plan::{Plan, Reach, SessionValue, Show};
use crate::{BindContext, Surroundings, TextLimits, TextModes, prepare};
use catalogue::{Authentication, Credential, DdlJob, DdlRequest, Ids};
use expression::TypingContext;
use protocol::SqlError;
use std::sync::Arc;
use types::{
    AdminOption, GrantPlace, GrantRow, PrivilegeSet, RoleEdge, Schema, SqlType, TableDefinition, TableId,
    TransactionId, User, UserName, Value,
};

/// A cluster with one group of two nodes.
const TERMS: types::SlotTerms =
    types::SlotTerms { slots_per_node: 4, partitions_per_node: 2, groups: 1, replicas: 2 };

const ACCOUNTS: [&str; 6] = ["root", "admin", "owner", "writer", "column", "nobody"];

/// Databases of virtual tables. That a table is there is all that privileges depend on.
const VIRTUAL: [&str; 4] = ["information_schema", "mysql", "ndbinfo", "performance_schema"];

/// The surroundings of the other tests, with every virtual table that a statement names.
struct ManyTables;

impl Surroundings for ManyTables {
    fn session_value(&self, name: &SessionValue) -> Option<Value> {
        TestSurroundings.session_value(name)
    }
    fn user_variable_type(&self, name: &str) -> Option<SqlType> {
        TestSurroundings.user_variable_type(name)
    }
    fn virtual_table(&self, database: &str, name: &str) -> Option<Arc<TableDefinition>> {
        VIRTUAL.contains(&database).then(|| virtual_table(database, name, ["user", "table_name"]))
    }
    fn show_columns(&self, show: &Show) -> Vec<(String, SqlType)> {
        TestSurroundings.show_columns(show)
    }
    fn variable_reach(&self, name: &str) -> Option<Reach> {
        TestSurroundings.variable_reach(name)
    }
    fn version(&self) -> &'static str {
        TestSurroundings.version()
    }
    fn check_authentication(&self, authentication: &Authentication) -> Result<(), SqlError> {
        TestSurroundings.check_authentication(authentication)
    }
}

fn plan(schema: &Schema, account: &str, text: &str) -> Result<Plan, SqlError> {
    let privileges = PrivilegeSet::of(&schema.grants, &UserName::new(account, "%"), []);
    let context = BindContext {
        schema,
        temporary: None,
        database: None,
        user: (account, "%"),
        privileges: &privileges,
        typing: TypingContext::default(),
        only_full_group_by: true,
        time_zone_offset_s: 0,
        server_collation: types::Collation::Utf8mb40900AiCi,
        limits: &TextLimits::default(),
        modes: TextModes::default(),
        surroundings: &ManyTables,
        statistics: &crate::NoStatistics,
    };
    prepare(text, &context, &[]).map(|prepared| prepared.plan)
}

fn job(schema: &Schema, request: &DdlRequest) -> Result<DdlJob, SqlError> {
    let ids = Ids { next_table: TableId(1_000), next_job: 1 };
    let mut request = request.clone();
    // A session hashes passwords first.
    let authentications = request
        .accounts_mut()
        .into_iter()
        .flat_map(|(users, _)| users)
        .filter_map(|spec| spec.authentication.as_mut());
    authentications
        .for_each(|authentication| authentication.credential = Credential::Stored(b"hash".to_vec()));
    DdlJob::new(&request, schema, ids, TERMS, TransactionId(1))
}

fn grant(account: &str, place: GrantPlace, privileges: u64) -> GrantRow {
    GrantRow { account: UserName::new(account, "%"), place, privileges, grantable: 0 }
}

/// The tables of the other tests, six accounts, and role r, which `column` has.
fn world() -> Schema {
    use types::{DynamicPrivileges as Dynamic, Privileges as Static};
    let system = catalogue::bootstrap();
    let mut world = schema();
    world.users = std::sync::Arc::clone(&system.users);
    world.grants = std::sync::Arc::clone(&system.grants);
    for database in system.databases.values() {
        world.put_database(database.clone());
    }
    for table in system.tables().values() {
        world.put_table(std::sync::Arc::clone(table));
    }
    for account in ACCOUNTS.into_iter().chain(["r"]) {
        world.put_user(User::new(account, "%"));
    }
    let administration = [Static::CREATE_USER, Static::RELOAD, Static::PROCESS, Static::REPLICATION_CLIENT];
    let administration = administration.into_iter().fold(Static::NONE, Static::with);
    let dynamic = Dynamic::ROLE_ADMIN.with(Dynamic::SYSTEM_VARIABLES_ADMIN).with(Dynamic::CONNECTION_ADMIN);
    let rows = Static::OF_COLUMN.without(Static::REFERENCES).with(Static::DELETE);
    let table = |name: &str| GrantPlace::Table { database: "d".into(), table: name.into() };
    let column =
        |name: &str| GrantPlace::Column { database: "d".into(), table: "t".into(), column: name.into() };
    for row in [
        grant("admin", GrantPlace::Global, administration.0),
        grant("admin", GrantPlace::Dynamic, dynamic.0),
        grant("owner", GrantPlace::Database("d".into()), Static::OF_DATABASE.0),
        grant("writer", table("t"), rows.0),
        grant("column", column("id"), Static::SELECT.with(Static::INSERT).0),
        grant("column", column("a"), Static::SELECT.with(Static::UPDATE).0),
        grant("r", table("n"), Static::SELECT.0),
    ] {
        std::sync::Arc::make_mut(&mut world.grants).put(&row);
    }
    let (role, to) = (UserName::new("r", "%"), UserName::new("column", "%"));
    std::sync::Arc::make_mut(&mut world.grants).put_role(&RoleEdge { to, role, admin: AdminOption::No });
    world
}

fn outcome(schema: &Schema, account: &str, text: &str) -> String {
    let done = plan(schema, account, text).and_then(|plan| {
        if let Plan::Ddl(ddl) = plan { job(schema, &ddl.request).map(|_| ()) } else { Ok(()) }
    });
    done.map_or_else(|error| error.code.to_string(), |()| "ok".to_owned())
}

#[test]
fn statements_of_six_accounts() {
    let schema = world();
    let golden = include_str!("privileges.txt");
    let mut different = Vec::new();
    let mut lines = golden.lines();
    let mut count = 0;
    while let Some(line) = lines.next() {
        let Some(statement) = line.strip_prefix("> ") else { continue };
        let expected = lines.next().unwrap_or_default();
        let found = ACCOUNTS.map(|account| outcome(&schema, account, statement)).join(" ");
        if found != expected {
            different.push(format!("> {statement}\n{found}\n  instead of\n{expected}"));
        }
        count += 1;
    }
    assert!(count >= 150, "{count} statements");
    assert!(different.is_empty(), "{} differ\n{}\n==== end ====", different.len(), different.join("\n"));
}
