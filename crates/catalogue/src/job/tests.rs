//! Jobs are run against rows in a map. Every write must find the expected version. Every rebuilt schema must be the one
//! that the changes make logically. A job that is read back from the journal must go on where it stood.

mod checks;
mod copies;
mod fills;

use super::*;
use crate::request::{
    AccountOptions, AlterAction, Authentication, ColumnSpec, CreateTable, Credential, DefaultSpec,
    KeyPartSpec, KeySpec, KeySpecKind, Nullability, TableName, TableOptions, UserName, UserSpec, ViewRequest,
    ViewVerb,
};
use crate::rows::{CHANGES_KEPT, CatalogueError, SchemaBuilder, SchemaChanges};
use crate::system::{bootstrap, bootstrap_rows};
use std::collections::BTreeMap;
use std::sync::Arc;
use stdx::Prng;
use types::{
    Assembled, Collation, IndexKind, IntegerWidth, SchemaAssembly, SchemaPart, SchemaParts, SqlType,
    TableDefinition, ViewDefinition,
};

/// A cluster with one group of two nodes.
const TERMS: types::SlotTerms =
    types::SlotTerms { slots_per_node: 4, partitions_per_node: 2, groups: 1, replicas: 2 };

/// The runner of the jobs.
const MAKER: TransactionId = TransactionId(7);
const INT: SqlType = SqlType::Integer { width: IntegerWidth::Normal, unsigned: false };

fn varchar(length: u32) -> SqlType {
    SqlType::VarChar { length, collation: Collation::Utf8mb40900AiCi }
}

fn table(name: &str) -> TableName {
    TableName::new("shop", name)
}

fn key(kind: KeySpecKind, name: Option<&str>, columns: &[&str]) -> KeySpec {
    let parts = columns.iter().map(|column| KeyPartSpec::new(*column)).collect();
    KeySpec { kind, name: name.map(str::to_owned), parts }
}

fn primary(columns: &[&str]) -> KeySpec {
    key(KeySpecKind::Primary, None, columns)
}

fn not_null(name: &str, sql_type: SqlType) -> ColumnSpec {
    ColumnSpec { nullability: Nullability::NotNull, ..ColumnSpec::new(name, sql_type) }
}

fn create(name: &str, columns: Vec<ColumnSpec>, keys: Vec<KeySpec>) -> DdlRequest {
    let options = TableOptions::default();
    DdlRequest::CreateTable(Box::new(CreateTable {
        table: table(name),
        if_not_exists: false,
        columns,
        keys,
        options,
        checks: Vec::new(),
        is_filled: false,
    }))
}

/// CREATE TABLE … SELECT.
fn create_filled(name: &str, columns: Vec<ColumnSpec>, keys: Vec<KeySpec>) -> DdlRequest {
    let DdlRequest::CreateTable(mut request) = create(name, columns, keys) else { unreachable!() };
    request.is_filled = true;
    DdlRequest::CreateTable(request)
}

fn alter(name: &str, actions: Vec<AlterAction>) -> DdlRequest {
    DdlRequest::AlterTable { table: table(name), actions }
}

fn add_unique(name: &str, column: &str) -> AlterAction {
    AlterAction::AddIndex(key(KeySpecKind::Unique, Some(name), &[column]))
}

fn add_key(name: &str, column: &str) -> AlterAction {
    AlterAction::AddIndex(key(KeySpecKind::Ordered, Some(name), &[column]))
}

fn drop_index(name: &str) -> AlterAction {
    AlterAction::DropIndex { name: name.to_owned() }
}

fn create_shop() -> DdlRequest {
    DdlRequest::CreateDatabase { name: "shop".into(), if_not_exists: false, collation: None }
}

fn create_item() -> DdlRequest {
    let columns =
        vec![not_null("id", INT), ColumnSpec::new("sku", varchar(20)), ColumnSpec::new("price", INT)];
    create("item", columns, vec![primary(&["id"]), key(KeySpecKind::Unique, None, &["sku"])])
}

/// System table and primary key.
type RowName = (TableId, Box<[u8]>);

/// The rows of the system tables, and the schema that they mean.
struct World {
    system: SystemTables,
    rows: BTreeMap<RowName, Box<[u8]>>,
    schema: Schema,
}

/// The faults of a run.
#[derive(Clone, Copy, Default)]
struct Faults<'a> {
    /// Fails the backfill with this number, counted from 0.
    backfill: Option<usize>,
    /// Which of the steps that can go back waits in vain for users of its tables.
    held_up: Option<usize>,
    /// After which step (counted from 0) the runner dies and another one goes on from the journal.
    crash: Option<&'a dyn Fn(usize) -> bool>,
}

impl World {
    fn new() -> Self {
        let mut world = World { system: SystemTables::new(), rows: BTreeMap::new(), schema: bootstrap() };
        world.put(bootstrap_rows());
        assert_eq!(world.rebuilt().as_ref(), Ok(&world.schema));
        world
    }

    fn with_item() -> Self {
        let mut world = World::new();
        world.run(&create_shop()).expect("a database");
        world.run(&create_item()).expect("a table");
        world
    }

    fn put(&mut self, writes: Vec<SystemWrite>) {
        for write in writes {
            match write.row {
                Some(row) => self.rows.insert((write.table, write.key), row),
                None => self.rows.remove(&(write.table, write.key)),
            };
        }
    }

    fn version(&self) -> SchemaVersion {
        let row = &self.rows[&(system::SCHEMA_VERSION, self.system.schema_version_key())];
        self.system.schema_version(row).expect("a version row")
    }

    fn rebuilt(&self) -> Result<Schema, CatalogueError> {
        let mut builder = SchemaBuilder::new(&self.system, self.version());
        for ((table, _), row) in &self.rows {
            if SchemaBuilder::TABLES.contains(table) {
                builder.add(&self.system, *table, row)?;
            }
        }
        builder.finish(self.version())
    }

    /// The schema that a node which has this one makes of the rows; None: it has to read them all.
    fn caught_up(&self, schema: &Schema) -> Option<Schema> {
        let row = |key: &[u8]| self.rows.get(&(system::SCHEMA_CHANGES, key.into())).map(|row| &**row);
        let changes = SchemaChanges::read(&self.system, (schema.version, self.version()), row);
        changes.expect("rows of ours")?.apply(schema)
    }

    fn journal(&self) -> Journal {
        let mut journal = Journal::default();
        for ((table, _), row) in &self.rows {
            if Journal::TABLES.contains(table) {
                journal.add(&self.system, *table, row).expect("a journal row");
            }
        }
        journal
    }

    fn run(&mut self, request: &DdlRequest) -> Result<Vec<String>, SqlError> {
        self.run_with(request, Faults::default())
    }

    /// Runs a statement; gives one line per step.
    fn run_with(&mut self, request: &DdlRequest, faults: Faults<'_>) -> Result<Vec<String>, SqlError> {
        let ids = self.journal().ids().expect("rows of ids");
        let mut job = DdlJob::new(request, &self.schema, ids, TERMS, MAKER)?;
        let mut lines: Vec<String> = job.notes().iter().map(|note| format!("note {}", note.code)).collect();
        let (mut backfills, mut installs) = (0, 0);
        for step_number in 0..100 {
            let step = job.next();
            match &step {
                JobStep::Write(write) => {
                    assert_eq!(write.expected, self.version());
                    assert_eq!(write.writes[0].table, system::SCHEMA_VERSION);
                    lines.push(self.write(&job, write));
                }
                JobStep::Install(InstallStep { version, tables, can_go_back }) => {
                    assert_eq!(*version, self.version());
                    let users: String = tables
                        .iter()
                        .map(|table| format!(", {} below {}", table.id, table.version))
                        .collect();
                    let back = if *can_go_back { " or back" } else { "" };
                    lines.push(format!("install {version}{users}{back}"));
                }
                JobStep::Backfill { table, index } => {
                    lines.push(format!("backfill {}@{} index {index}", table.id, table.version));
                }
                JobStep::BackfillUnique { table, index, hidden } => {
                    let hidden = hidden.id;
                    lines
                        .push(format!("backfill {}@{} index {index} into {hidden}", table.id, table.version));
                }
                JobStep::Copy(copy) => lines.push(copy_line(copy)),
                JobStep::Fill(table) => lines.push(format!("fill {}@{}", table.id, table.version)),
                JobStep::Raise { table, at_least } => lines.push(format!("raise {table} above {at_least}")),
                JobStep::Done => {
                    lines.push("done".to_owned());
                    self.check_ended(&job, None);
                    return Ok(lines);
                }
                JobStep::Failed(error) => {
                    lines.push(format!("failed {}", error.code));
                    self.check_ended(&job, Some(error));
                    return Ok(lines);
                }
            }
            let is_long = matches!(
                step,
                JobStep::Backfill { .. }
                    | JobStep::BackfillUnique { .. }
                    | JobStep::Copy(_)
                    | JobStep::Fill(_)
            );
            if is_long {
                if faults.backfill == Some(backfills) {
                    job.fail(SqlError::new(1062, "Duplicate entry"));
                }
                backfills += 1;
            }
            if matches!(&step, JobStep::Install(install) if install.can_go_back) {
                if faults.held_up == Some(installs) {
                    job.fail(SqlError::new(1205, "Lock wait timeout exceeded"));
                }
                installs += 1;
            }
            if faults.crash.is_some_and(|crash| crash(step_number))
                && let Some(unfinished) = self.journal().unfinished()
            {
                job = unfinished.clone();
            }
        }
        panic!("the job does not end: {lines:?}");
    }

    /// Does the write, both ways, and compares.
    fn write(&mut self, job: &DdlJob, write: &StepWrite) -> String {
        let steps = if job.direction == Direction::Back { &job.undo } else { &job.steps };
        let Step::Write { changes, .. } = &steps[job.position as usize - 1] else {
            panic!("a write comes from a write")
        };
        let before = self.schema.clone();
        changes.iter().for_each(|change| change.apply(&mut self.schema));
        self.schema.version = write.version;
        self.put(write.writes.clone());
        assert_eq!(self.rebuilt().as_ref(), Ok(&self.schema), "rows and changes mean the same");
        assert_eq!(self.caught_up(&before).as_ref(), Some(&self.schema), "so does what is told of the step");
        let shown: Vec<String> = changes.iter().map(shown).collect();
        format!("write {}: {}", write.version, shown.join(", "))
    }

    fn check_ended(&self, job: &DdlJob, error: Option<&SqlError>) {
        let journal = self.journal();
        assert_eq!(journal.unfinished(), None);
        match (journal.outcome(job.name), error) {
            (JobOutcome::Done, None) | (JobOutcome::NeverBegun, _) => {}
            (JobOutcome::Failed(kept), Some(error)) => assert_eq!(&kept, error),
            (outcome, _) => panic!("the journal says {outcome:?} of a job that ended with {error:?}"),
        }
    }

    fn item(&self) -> &TableDefinition {
        self.schema.table("shop", "item").expect("the table")
    }
}

/// The step, and for each column of the copy where its values are.
fn copy_line(copy: &TableCopy) -> String {
    let source = |column: &Option<ColumnIndex>| column.map_or("-".to_owned(), |column| column.0.to_string());
    let columns: Vec<String> = copy.columns.iter().map(source).collect();
    format!("copy {}@{} into {} [{}]", copy.from.id, copy.from.version, copy.to.id, columns.join(" "))
}

fn shown(change: &SchemaChange) -> String {
    match change {
        SchemaChange::PutTable(table) => {
            let index = |index: &types::IndexDefinition| match index.kind {
                IndexKind::Unique { table } => {
                    format!("{}:{}→{table}:{:?}", index.id, index.name, index.state)
                }
                IndexKind::Primary | IndexKind::Ordered => {
                    format!("{}:{}:{:?}", index.id, index.name, index.state)
                }
            };
            let indexes: Vec<String> = table.indexes.iter().map(index).collect();
            format!(
                "{}@{} {}.{} [{}]",
                table.id,
                table.version,
                table.database,
                table.name,
                indexes.join(" ")
            )
        }
        SchemaChange::PutDatabase(database) => format!("database {}", database.name),
        SchemaChange::DropDatabase { name } => format!("no database {name}"),
        SchemaChange::DropTable { table } => format!("no {table}"),
        SchemaChange::PutVariable { name, variable } => format!("{name} = {variable:?}"),
        SchemaChange::DropVariable { name } => format!("no {name}"),
        SchemaChange::PutView(view) => {
            format!("view {}.{}: {}", view.table.database, view.table.name, view.query)
        }
        SchemaChange::DropView { database, name } => format!("no view {database}.{name}"),
        SchemaChange::PutSequence { table, next } => format!("{table} from {next}"),
        SchemaChange::DropSequence { table } => format!("no sequence {table}"),
        SchemaChange::PutUser(user) => format!("user {}@{}", user.name, user.host),
        SchemaChange::DropUser { name, host } => format!("no user {name}@{host}"),
        SchemaChange::PutGrant(row) => format!("{:?} to {}", row.place, row.account),
        SchemaChange::DropGrant { account, place } => format!("no {place:?} to {account}"),
        SchemaChange::PutRoleEdge(edge) => format!("role {} to {}", edge.role, edge.to),
        SchemaChange::DropRoleEdge { to, role } => format!("no role {role} to {to}"),
        SchemaChange::PutDefaultRole(default) => format!("default {} of {}", default.role, default.account),
        SchemaChange::DropDefaultRole(default) => {
            format!("no default {} of {}", default.role, default.account)
        }
    }
}

#[track_caller]
fn check(result: Result<Vec<String>, SqlError>, expected: &str) {
    let transcript =
        result.map_or_else(|error| format!("{} {}", error.code, error.message), |lines| lines.join("\n"));
    let expected: Vec<&str> = expected.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    assert_eq!(transcript, expected.join("\n"), "\n{transcript}");
}

#[test]
fn create_drop_database() {
    let mut world = World::new();
    check(world.run(&create_shop()), "write 2: database shop\ninstall 2\ndone");
    check(world.run(&create_shop()), "1007 Can't create database 'shop'; database exists");
    let again = DdlRequest::CreateDatabase { name: "shop".into(), if_not_exists: true, collation: None };
    check(world.run(&again), "note 1007\ndone");
    let reserved = DdlRequest::CreateDatabase { name: "mysql".into(), if_not_exists: false, collation: None };
    check(world.run(&reserved), "1007 Can't create database 'mysql'; database exists");
    let drop = |name: &str, if_exists| DdlRequest::DropDatabase { name: name.into(), if_exists };
    check(world.run(&drop("sys", true)), "3552 Access to system schema 'sys' is rejected.");
    check(world.run(&drop("Shop", false)), "1008 Can't drop database 'Shop'; database doesn't exist");
    check(world.run(&drop("Shop", true)), "note 1008\ndone");
    world.run(&create_item()).expect("a table");
    check(world.run(&drop("shop", false)), "write 4: no 100, no 101, no database shop\ninstall 4\ndone");
    check(world.run(&create_item()), "1049 Unknown database 'shop'");
}

fn view_request(verb: ViewVerb, name: &str, query: &str) -> DdlRequest {
    let any = bootstrap().named_tables().next().cloned().expect("a system table");
    let table =
        TableDefinition { database: "shop".into(), name: name.into(), indexes: Vec::new(), ..(*any).clone() };
    let view = ViewDefinition {
        table: std::sync::Arc::new(table),
        query: query.into(),
        definer: crate::UserName::new("root", "%"),
        security: types::ViewSecurity::Definer,
        algorithm: types::ViewAlgorithm::Undefined,
        check: types::ViewCheck::None,
        is_merged: false,
        is_updatable: false,
        collation: Collation::Utf8mb40900AiCi,
        character_set: "utf8mb4".into(),
    };
    DdlRequest::PutView(Box::new(ViewRequest { verb, view }))
}

/// The journal's rows are read back after each step: a view is there with its version or not at all.
#[test]
fn create_alter_drop_view() {
    let mut world = World::new();
    world.run(&create_shop()).expect("a database");
    world.run(&create_item()).expect("a table");
    let name = |name: &str| TableName::new("shop", name);
    let put = |verb, query: &str| view_request(verb, "v", query);
    check(world.run(&put(ViewVerb::Create, "one")), "write 4: view shop.v: one\ninstall 4\ndone");
    check(world.run(&put(ViewVerb::Create, "two")), "1050 Table 'v' already exists");
    check(world.run(&put(ViewVerb::CreateOrReplace, "two")), "write 5: view shop.v: two\ninstall 5\ndone");
    check(world.run(&put(ViewVerb::Alter, "three")), "write 6: view shop.v: three\ninstall 6\ndone");
    assert_eq!(world.schema.view("shop", "v").map(|view| view.query.as_str()), Some("three"));
    check(world.run(&view_request(ViewVerb::Alter, "w", "one")), "1146 Table 'shop.w' doesn't exist");
    // Tables and views share their names, and neither is the other.
    check(world.run(&view_request(ViewVerb::Create, "item", "one")), "1050 Table 'item' already exists");
    for verb in [ViewVerb::CreateOrReplace, ViewVerb::Alter] {
        check(world.run(&view_request(verb, "item", "one")), "1347 'shop.item' is not VIEW");
    }
    let drop = |names: &[&str], if_exists| DdlRequest::DropViews {
        views: names.iter().map(|view| name(view)).collect(),
        if_exists,
    };
    check(world.run(&drop(&["item"], false)), "1347 'shop.item' is not VIEW");
    check(world.run(&drop(&["v", "w"], false)), "1051 Unknown table 'shop.w'");
    let tables = DdlRequest::DropTables { tables: vec![name("v")], if_exists: false };
    check(world.run(&tables), "1051 Unknown table 'shop.v'");
    check(world.run(&DdlRequest::Truncate { table: name("v") }), "1146 Table 'shop.v' doesn't exist");
    let like = DdlRequest::CreateTableLike { table: name("copy"), if_not_exists: false, like: name("v") };
    check(world.run(&like), "1347 'shop.v' is not BASE TABLE");
    let rename = |from: &str, to: TableName| DdlRequest::RenameTables(vec![(name(from), to)]);
    check(world.run(&rename("v", name("item"))), "1050 Table 'item' already exists");
    check(world.run(&rename("v", name("w"))), "write 7: no view shop.v, view shop.w: three\ninstall 7\ndone");
    check(world.run(&drop(&["v", "w"], true)), "note 1051\nwrite 8: no view shop.w\ninstall 8\ndone");
    check(world.run(&put(ViewVerb::Create, "one")), "write 9: view shop.v: one\ninstall 9\ndone");
    let database = DdlRequest::DropDatabase { name: "shop".into(), if_exists: false };
    check(
        world.run(&database),
        "write 10: no 100, no 101, no view shop.v, no database shop\ninstall 10\ndone",
    );
    assert!(world.schema.view("shop", "v").is_none());
}

#[test]
fn create_truncate_drop_table() {
    let mut world = World::new();
    world.run(&create_shop()).expect("a database");
    let columns =
        vec![ColumnSpec { auto_increment: true, ..not_null("id", INT) }, ColumnSpec::new("sku", varchar(20))];
    let request = create("item", columns, vec![primary(&["ID"]), key(KeySpecKind::Unique, None, &["sku"])]);
    check(
        world.run(&request),
        "write 3: 100@1 shop.item [0:PRIMARY:Public 1:sku→101:Public], 101@1 shop.$unique_100_1 [0:PRIMARY:Public], 100 from 1
         install 3
         done",
    );
    check(world.run(&request), "1050 Table 'item' already exists");
    check(
        world.run(&DdlRequest::Truncate { table: table("item") }),
        "write 4: no 100, no 101, no sequence 100, 102@1 shop.item [0:PRIMARY:Public 1:sku→103:Public], 103@1 shop.$unique_102_1 [0:PRIMARY:Public], 102 from 1
         install 4
         done",
    );
    let like =
        DdlRequest::CreateTableLike { table: table("copy"), if_not_exists: false, like: table("item") };
    check(
        world.run(&like),
        "write 5: 104@1 shop.copy [0:PRIMARY:Public 1:sku→105:Public], 105@1 shop.$unique_104_1 [0:PRIMARY:Public], 104 from 1
         install 5
         done",
    );
    let drop =
        |if_exists| DdlRequest::DropTables { tables: vec![table("a"), table("item"), table("b")], if_exists };
    check(world.run(&drop(false)), "1051 Unknown table 'shop.a,shop.b'");
    check(
        world.run(&drop(true)),
        "note 1051
         note 1051
         write 6: no 102, no 103, no sequence 102
         install 6
         done",
    );
    check(world.run(&DdlRequest::Truncate { table: table("item") }), "1146 Table 'shop.item' doesn't exist");
}

#[test]
fn rename_swaps() {
    let mut world = World::with_item();
    world.run(&create("old", vec![ColumnSpec::new("a", INT)], vec![])).expect("a table");
    let pairs = [("item", "swap"), ("old", "item"), ("swap", "old")];
    let request = DdlRequest::RenameTables(pairs.iter().map(|(from, to)| (table(from), table(to))).collect());
    check(
        world.run(&request),
        "write 5: 100@2 shop.old [0:PRIMARY:Public 1:sku→101:Public], 102@2 shop.item [0:PRIMARY:Public]
         install 5
         done",
    );
    let missing = DdlRequest::RenameTables(vec![(table("nothing"), table("something"))]);
    check(world.run(&missing), "1146 Table 'shop.nothing' doesn't exist");
    let taken = DdlRequest::RenameTables(vec![(table("old"), table("item"))]);
    check(world.run(&taken), "1050 Table 'item' already exists");
    world
        .run(&DdlRequest::CreateDatabase { name: "b".into(), if_not_exists: false, collation: None })
        .expect("b");
    let moved = DdlRequest::RenameTables(vec![(table("old"), TableName::new("b", "x"))]);
    check(
        world.run(&moved),
        "write 7: 100@3 b.x [0:PRIMARY:Public 1:sku→101:Public], 101@2 b.$unique_100_1 [0:PRIMARY:Public]
         install 7
         done",
    );
}

const ADD_UNIQUE: &str = "
    write 4: 102@1 shop.$unique_100_102 [0:PRIMARY:Public], 100@2 shop.item [0:PRIMARY:Public 1:sku→101:Public 102:p→102:DeleteOnly]
    install 4, 102 below 1, 100 below 2 or back
    write 5: 100@3 shop.item [0:PRIMARY:Public 1:sku→101:Public 102:p→102:WriteOnly]
    install 5, 100 below 3 or back
    backfill 100@3 index 102
    backfill 100@3 index 102 into 102
";

#[test]
fn add_unique_index() {
    let mut world = World::with_item();
    let expected = format!(
        "{ADD_UNIQUE}
         write 6: 100@4 shop.item [0:PRIMARY:Public 1:sku→101:Public 102:p→102:Public]
         install 6
         done"
    );
    check(world.run(&alter("item", vec![add_unique("p", "price")])), &expected);
}

#[test]
fn a_duplicate_steps_back() {
    let mut world = World::with_item();
    let before = world.schema.clone();
    let expected = format!(
        "{ADD_UNIQUE}
         write 6: 100@4 shop.item [0:PRIMARY:Public 1:sku→101:Public 102:p→102:DeleteOnly]
         install 6, 100 below 4
         write 7: 100@5 shop.item [0:PRIMARY:Public 1:sku→101:Public], no 102
         install 7
         failed 1062"
    );
    let faults = Faults { backfill: Some(1), ..Faults::default() };
    check(world.run_with(&alter("item", vec![add_unique("p", "price")]), faults), &expected);
    assert_eq!(world.item().indexes, before.table("shop", "item").expect("a table").indexes);
    assert_eq!(world.schema.tables().len(), before.tables().len(), "nothing is left behind");
    let failed = JobOutcome::Failed(SqlError::new(1062, "Duplicate entry"));
    assert_eq!(world.journal().outcome(JobName { id: 3, maker: MAKER }), failed);
}

#[test]
fn a_step_that_is_held_up_steps_back() {
    for held_up in 0..2 {
        let mut world = World::with_item();
        let before = world.schema.clone();
        let faults = Faults { held_up: Some(held_up), ..Faults::default() };
        let request = alter("item", vec![add_unique("p", "price"), drop_index("sku")]);
        let lines = world.run_with(&request, faults).expect("a job");
        assert_eq!(lines.last().map(String::as_str), Some("failed 1205"));
        assert_eq!(world.item().indexes, before.table("shop", "item").expect("a table").indexes);
        assert_eq!(world.schema.tables().len(), before.tables().len(), "nothing is left behind");
    }
}

#[test]
fn a_statement_names_the_tables_whose_users_it_waits_for() {
    let world = World::with_item();
    let of = |request: &DdlRequest| {
        let tables = DdlJob::tables_of(request, &world.schema).into_iter();
        tables.map(|table| table.0).collect::<Vec<u32>>()
    };
    assert_eq!(of(&alter("item", vec![add_unique("p", "price")])), [100]);
    assert_eq!(of(&DdlRequest::Truncate { table: table("item") }), [100, 101]);
    assert_eq!(of(&DdlRequest::DropTables { tables: vec![table("item")], if_exists: false }), [100, 101]);
    assert_eq!(of(&DdlRequest::RenameTables(vec![(table("item"), table("other"))])), [100]);
    assert_eq!(of(&DdlRequest::DropDatabase { name: "shop".into(), if_exists: false }), [100, 101]);
    // New tables have no users, accounts are no tables, and a statement that makes no sense waits for nobody.
    assert_eq!(of(&create("new", vec![ColumnSpec::new("a", INT)], vec![])), [0; 0]);
    assert_eq!(of(&create_shop()), [0; 0]);
    let account = UserName { name: "ann".into(), host: "%".into() };
    assert_eq!(of(&DdlRequest::DropUsers { users: vec![account], if_exists: true }), [0; 0]);
    assert_eq!(of(&DdlRequest::Truncate { table: table("nothing") }), [0; 0]);
}

#[test]
fn a_job_goes_on_after_any_crash() {
    for crash_at in 0..9 {
        for backfill in [None, Some(0), Some(1)] {
            let crash = move |step: usize| step == crash_at;
            let mut world = World::with_item();
            let faults = Faults { backfill, crash: Some(&crash), held_up: None };
            let request = alter("item", vec![add_unique("p", "price"), drop_index("sku")]);
            let lines = world.run_with(&request, faults).expect("a job");
            let is_done = lines.last().expect("a line") == "done";
            let has_p = world.item().index_by_name("p").is_some();
            let has_sku = world.item().index_by_name("sku").is_some();
            assert_eq!((has_p, has_sku), (is_done, !is_done), "all or nothing: {lines:?}");
            assert_eq!(world.item().indexes.len(), 2);
        }
    }
}

#[test]
fn drop_and_replace_index() {
    let mut world = World::with_item();
    world.run(&alter("item", vec![add_key("p", "price")])).expect("an index");
    check(
        world.run(&alter("item", vec![drop_index("sku"), add_key("sku", "sku"), drop_index("P")])),
        "write 7: 100@5 shop.item [0:PRIMARY:Public 1:sku→101:Public 102:p:Public 103:sku:DeleteOnly]
         install 7, 100 below 5 or back
         write 8: 100@6 shop.item [0:PRIMARY:Public 1:sku→101:Public 102:p:Public 103:sku:WriteOnly]
         install 8, 100 below 6 or back
         backfill 100@6 index 103
         write 9: 100@7 shop.item [0:PRIMARY:Public 103:sku:Public 1:sku→101:WriteOnly 102:p:WriteOnly]
         install 9, 100 below 7
         write 10: 100@8 shop.item [0:PRIMARY:Public 103:sku:Public 1:sku→101:DeleteOnly 102:p:DeleteOnly]
         install 10, 100 below 8
         write 11: 100@9 shop.item [0:PRIMARY:Public 103:sku:Public], no 101
         install 11
         done",
    );
    check(
        world.run(&alter("item", vec![drop_index("nothing")])),
        "1091 Can't DROP 'nothing'; check that column/key exists",
    );
    check(world.run(&alter("item", vec![add_key("SKU", "price")])), "1061 Duplicate key name 'SKU'");
    let rename = AlterAction::RenameIndex { from: "sku".into(), to: "s".into() };
    check(
        world.run(&alter("item", vec![rename])),
        "write 12: 100@10 shop.item [0:PRIMARY:Public 103:s:Public]\ninstall 12\ndone",
    );
}

#[test]
fn columns_and_names_change_in_one_version() {
    let mut world = World::with_item();
    let weight = ColumnSpec { default: DefaultSpec::Literal(Value::text("7")), ..not_null("weight", INT) };
    let actions = vec![
        AlterAction::AddColumn(weight.clone()),
        AlterAction::RenameColumn { from: "PRICE".into(), to: "cost".into() },
        AlterAction::Comment("goods".into()),
        AlterAction::RenameTo(table("goods")),
    ];
    check(
        world.run(&alter("item", actions)),
        "write 4: 100@2 shop.goods [0:PRIMARY:Public 1:sku→101:Public]\ninstall 4\ndone",
    );
    let goods = world.schema.table("shop", "goods").expect("the table");
    let names: Vec<&str> = goods.columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!((names, goods.comment.as_str()), (vec!["id", "sku", "cost", "weight"], "goods"));
    assert_eq!(goods.columns[3].default, types::DefaultValue::Literal(Value::Int(7)));
    let twice = alter("goods", vec![AlterAction::AddColumn(weight)]);
    check(world.run(&twice), "1060 Duplicate column name 'weight'");
    check(world.run(&alter("goods", vec![])), "done");
}

#[test]
fn users() {
    let mut world = World::new();
    let user = |name: &str| UserName { name: name.into(), host: "%".into() };
    let spec = |name: &str, plugin: &str| UserSpec {
        user: user(name),
        authentication: Some(Authentication {
            plugin: Some(plugin.into()),
            credential: Credential::Stored(vec![1, 2]),
        }),
    };
    let alter = |users: Vec<UserSpec>, options: AccountOptions| DdlRequest::AlterUsers {
        users,
        options,
        if_exists: false,
    };
    let sha2 = "caching_sha2_password";
    let create = |names: &[&str], if_not_exists| DdlRequest::CreateUsers {
        users: names.iter().map(|name| spec(name, sha2)).collect(),
        options: AccountOptions::default(),
        if_not_exists,
    };
    check(world.run(&create(&["ann", "bob"], false)), "write 2: user ann@%, user bob@%\ninstall 2\ndone");
    check(world.run(&create(&["ann", "cat"], false)), "1396 Operation CREATE USER failed for 'ann'@'%'");
    check(world.run(&create(&["ann", "cat"], true)), "note 3163\nwrite 3: user cat@%\ninstall 3\ndone");
    let drop = |names: &[&str], if_exists| DdlRequest::DropUsers {
        users: names.iter().map(|name| user(name)).collect(),
        if_exists,
    };
    check(
        world.run(&drop(&["ann", "dan", "eve"], false)),
        "1396 Operation DROP USER failed for 'dan'@'%','eve'@'%'",
    );
    check(world.run(&drop(&["ann", "dan"], true)), "note 3162\nwrite 4: no user ann@%\ninstall 4\ndone");
    let change = alter(vec![spec("bob", "mysql_native_password")], AccountOptions::default());
    check(world.run(&change), "write 5: user bob@%\ninstall 5\ndone");
    check(
        world.run(&drop(&["bob", "cat", "root"], false)),
        "1396 Operation DROP USER failed for 'root'@'%': no other account may administer",
    );
    let lock = AccountOptions { is_locked: Some(true), ..AccountOptions::default() };
    let names = ["root", "bob", "cat"].map(|name| UserSpec { user: user(name), authentication: None });
    check(
        world.run(&alter(names.to_vec(), lock)),
        "1396 Operation ALTER USER failed for 'root'@'%': no other account may administer",
    );
    let rename = |pairs: &[(&str, &str)]| {
        DdlRequest::RenameUsers(pairs.iter().map(|(from, to)| (user(from), user(to))).collect())
    };
    check(
        world.run(&rename(&[("dan", "eve"), ("bob", "cat")])),
        "1396 Operation RENAME USER failed for 'dan'@'%','bob'@'%'",
    );
    check(
        world.run(&rename(&[("bob", "tmp"), ("cat", "bob"), ("tmp", "cat")])),
        "write 6: user cat@%, user bob@%\ninstall 6\ndone",
    );
    let unknown = alter(vec![spec("bob", "sha256_password")], AccountOptions::default());
    check(world.run(&unknown), "1524 Plugin 'sha256_password' is not loaded");
    let long = create(&["a name of more than thirty-two letters"], false);
    let error = world.run(&long).expect_err("too long");
    assert_eq!(error.code, 1470);
}

#[test]
fn what_makes_no_sense_is_refused_with_mysqls_number() {
    let mut world = World::with_item();
    let blob = SqlType::Blob { size: types::BlobSize::Normal };
    let a = || ColumnSpec::new("a", INT);
    let auto = |name: &str| ColumnSpec { auto_increment: true, ..ColumnSpec::new(name, INT) };
    let with_default = |sql_type: SqlType, value: Value| ColumnSpec {
        default: DefaultSpec::Literal(value),
        ..not_null("a", sql_type)
    };
    let long_name = "n".repeat(65);
    let many_keys =
        || (0..65).map(|number| key(KeySpecKind::Ordered, Some(&format!("k{number}")), &["a"])).collect();
    let many_columns: Vec<ColumnSpec> =
        (0..17).map(|number| ColumnSpec::new(format!("c{number}"), INT)).collect();
    let many_names: Vec<String> = (0..17).map(|number| format!("c{number}")).collect();
    let many_names: Vec<&str> = many_names.iter().map(String::as_str).collect();
    let explicit_null = ColumnSpec { nullability: Nullability::Null, ..a() };
    let prefix = |column: &str, length| KeySpec {
        parts: vec![KeyPartSpec { length: Some(length), ..KeyPartSpec::new(column) }],
        ..key(KeySpecKind::Ordered, None, &[])
    };
    let members = |members: &[&str]| SqlType::Enum {
        members: std::sync::Arc::new(members.iter().map(ToString::to_string).collect()),
        collation: Collation::Utf8mb40900AiCi,
    };
    let ordered = |columns: &[&str]| key(KeySpecKind::Ordered, None, columns);
    let decimal = |precision, scale| SqlType::Decimal { precision, scale, unsigned: false };
    let formatted = |sql_type, width, scale| ColumnSpec {
        format: types::NumberFormat { width: Some(width), scale, ..types::NumberFormat::default() },
        ..ColumnSpec::new("a", sql_type)
    };
    let on_update = ColumnSpec { on_update_now: Some(0), ..a() };
    let cases: Vec<(u16, Vec<ColumnSpec>, Vec<KeySpec>)> = vec![
        (1113, vec![], vec![]),
        (1060, vec![a(), ColumnSpec::new("A", INT)], vec![]),
        (1166, vec![ColumnSpec::new("a ", INT)], vec![]),
        (1166, vec![ColumnSpec::new("", INT)], vec![]),
        (1059, vec![ColumnSpec::new(long_name.as_str(), INT)], vec![]),
        (1068, vec![a()], vec![primary(&["a"]), primary(&["a"])]),
        (1069, vec![a()], many_keys()),
        (1070, many_columns, vec![ordered(&many_names)]),
        (1071, vec![ColumnSpec::new("a", varchar(769))], vec![ordered(&["a"])]),
        (1072, vec![a()], vec![ordered(&["b"])]),
        (1072, vec![a()], vec![primary(&["b"])]),
        (1060, vec![a()], vec![ordered(&["a", "A"])]),
        (1075, vec![auto("a")], vec![]),
        (1075, vec![auto("a"), auto("b")], vec![primary(&["a", "b"])]),
        (1075, vec![auto("a"), not_null("b", INT)], vec![primary(&["b", "a"])]),
        (1063, vec![ColumnSpec { sql_type: varchar(3), ..auto("a") }], vec![primary(&["a"])]),
        (
            1067,
            vec![ColumnSpec { default: DefaultSpec::Literal(Value::Int(1)), ..auto("a") }],
            vec![primary(&["a"])],
        ),
        (1067, vec![with_default(INT, Value::text("x"))], vec![]),
        (1067, vec![with_default(INT, Value::Null)], vec![]),
        (1067, vec![with_default(varchar(2), Value::text("abc"))], vec![]),
        (1067, vec![with_default(SqlType::Date, Value::text("2024-02-32"))], vec![]),
        (1067, vec![ColumnSpec { default: DefaultSpec::CurrentTimestamp { fraction: 0 }, ..a() }], vec![]),
        (1101, vec![with_default(blob.clone(), Value::text("x"))], vec![]),
        (1294, vec![on_update], vec![]),
        (1074, vec![ColumnSpec::new("a", varchar(20_000))], vec![]),
        (1074, vec![ColumnSpec::new("a", SqlType::Binary { length: 256 })], vec![]),
        (1170, vec![ColumnSpec::new("a", blob)], vec![ordered(&["a"])]),
        (1171, vec![explicit_null], vec![primary(&["a"])]),
        (1089, vec![a()], vec![prefix("a", 2)]),
        (1089, vec![ColumnSpec::new("a", varchar(5))], vec![prefix("a", 6)]),
        (1391, vec![ColumnSpec::new("a", varchar(5))], vec![prefix("a", 0)]),
        (1280, vec![a()], vec![key(KeySpecKind::Ordered, Some("primary"), &["a"])]),
        (
            1061,
            vec![a()],
            vec![key(KeySpecKind::Ordered, Some("k"), &["a"]), key(KeySpecKind::Unique, Some("K"), &["a"])],
        ),
        (1425, vec![ColumnSpec::new("a", decimal(40, 31))], vec![]),
        (1426, vec![ColumnSpec::new("a", decimal(66, 2))], vec![]),
        (1427, vec![ColumnSpec::new("a", decimal(2, 3))], vec![]),
        (1426, vec![ColumnSpec::new("a", SqlType::Time { fraction: 7 })], vec![]),
        (1439, vec![ColumnSpec::new("a", SqlType::Bit { length: 65 })], vec![]),
        (1291, vec![ColumnSpec::new("a", members(&["x", "X"]))], vec![]),
        (1425, vec![formatted(SqlType::Float, 5, Some(31))], vec![]),
        (1427, vec![formatted(SqlType::Double, 5, Some(6))], vec![]),
        (1439, vec![formatted(SqlType::Float, 256, Some(3))], vec![]),
        (1439, vec![formatted(INT, 256, None)], vec![]),
    ];
    for (number, (code, columns, keys)) in cases.into_iter().enumerate() {
        let error = world.run(&create("t", columns, keys)).expect_err("refused");
        assert_eq!(error.code, code, "case {number}: {error:?}");
    }
    let columns = (0..4_097).map(|number| ColumnSpec::new(format!("c{number}"), INT)).collect();
    assert_eq!(world.run(&create("t", columns, vec![])).expect_err("refused").code, 1117);
    assert_eq!(world.run(&create(&long_name, vec![a()], vec![])).expect_err("refused").code, 1059);
    assert_eq!(world.version(), SchemaVersion(3), "nothing was written");
}

#[test]
fn keys_are_named_sorted_and_given_hidden_tables() {
    let mut world = World::with_item();
    let columns = vec![ColumnSpec::new("a", varchar(10)), not_null("b", INT), not_null("primary", INT)];
    let keys = vec![
        key(KeySpecKind::Ordered, None, &["b"]),
        key(KeySpecKind::Unique, None, &["a"]),
        key(KeySpecKind::Unique, None, &["b"]),
        key(KeySpecKind::Ordered, None, &["primary"]),
    ];
    world.run(&create("t", columns, keys)).expect("a table");
    let table = world.schema.table("shop", "t").expect("the table");
    let names: Vec<&str> = table.indexes.iter().map(|index| index.name.as_str()).collect();
    assert_eq!(names, ["PRIMARY", "b_2", "a", "b", "primary_2"]);
    assert!(table.has_hidden_row_id());
    let shown: Vec<&str> = table.public_indexes().map(|index| index.name.as_str()).collect();
    assert_eq!(shown, ["b_2", "a", "b", "primary_2"]);
    let hidden: Vec<TableId> = table.hidden_tables().collect();
    let entries = world.schema.table_by_id(hidden[1]).expect("the hidden table");
    let columns: Vec<(&str, bool)> =
        entries.columns.iter().map(|column| (column.name.as_str(), column.flags.nullable)).collect();
    assert_eq!(columns, [("a", true), ("$row_id", false)]);
}

#[test]
fn the_journal_forgets_old_jobs() {
    let mut world = World::new();
    for number in 0..JOURNAL_LENGTH + 3 {
        let name = format!("d{number}");
        world
            .run(&DdlRequest::CreateDatabase { name, if_not_exists: false, collation: None })
            .expect("a database");
    }
    let journal = world.journal();
    assert_eq!(journal.jobs.len() as u64, JOURNAL_LENGTH);
    let name = |id| JobName { id, maker: MAKER };
    assert_eq!(journal.outcome(name(3)), JobOutcome::Forgotten);
    assert_eq!(journal.outcome(name(4)), JobOutcome::Done);
    assert_eq!(journal.outcome(JobName { maker: TransactionId(8), ..name(4) }), JobOutcome::NeverBegun);
    assert_eq!(journal.outcome(name(4 + JOURNAL_LENGTH)), JobOutcome::NeverBegun);
}

#[test]
fn a_write_that_fails_leaves_nothing_or_the_journal() {
    let mut world = World::with_item();
    let ids = world.journal().ids().expect("ids");
    let full = || SqlError::region_full("tables", "DataMemory");
    let mut job =
        DdlJob::new(&create("t", vec![ColumnSpec::new("a", INT)], vec![]), &world.schema, ids, TERMS, MAKER)
            .expect("a job");
    assert!(matches!(job.next(), JobStep::Write(_)));
    job.fail(full());
    assert_eq!(job.next(), JobStep::Failed(full()));
    // Dropping an index cannot be undone once readers do not see it: the next runner finishes it.
    let mut job = DdlJob::new(&alter("item", vec![drop_index("sku")]), &world.schema, ids, TERMS, MAKER)
        .expect("a job");
    let JobStep::Write(write) = job.next() else { panic!("a write") };
    world.write(&job, &write);
    assert!(matches!(job.next(), JobStep::Install(_)));
    assert!(matches!(job.next(), JobStep::Write(_)));
    job.fail(full());
    assert_eq!(job.next(), JobStep::Failed(full()));
    assert_eq!(job.next(), JobStep::Failed(full()));
    let mut resumed = world.journal().unfinished().expect("the job").clone();
    let mut steps = 0;
    while let step @ (JobStep::Write(_) | JobStep::Install(_)) = resumed.next() {
        if let JobStep::Write(write) = step {
            world.write(&resumed, &write);
        }
        steps += 1;
    }
    assert_eq!((steps, resumed.next()), (5, JobStep::Done));
    assert_eq!(world.journal().unfinished(), None);
    assert_eq!(world.item().indexes.len(), 1);
}

// ---- random statements ----------------------------------------------------------------------------------------------

fn random_name(random: &mut Prng) -> TableName {
    let database = ["a", "b", "shop"][random.index(3)];
    TableName::new(database, ["t", "u", "v", "T"][random.index(4)])
}

fn random_column(random: &mut Prng) -> ColumnSpec {
    let sql_type = match random.below(6) {
        0 => varchar(30),
        1 => SqlType::Decimal { precision: 10, scale: 2, unsigned: false },
        2 => SqlType::DateTime { fraction: 3 },
        3 => SqlType::Blob { size: types::BlobSize::Normal },
        4 => SqlType::Bit { length: 9 },
        _ => INT,
    };
    let mut column = ColumnSpec::new(["c", "d", "e", "f"][random.index(4)], sql_type);
    if random.chance(1, 2) {
        column.nullability = Nullability::NotNull;
    }
    if random.chance(1, 4) {
        column.default = DefaultSpec::Literal(Value::Int(7));
    }
    column.auto_increment = random.chance(1, 8);
    column
}

fn random_key(random: &mut Prng) -> KeySpec {
    let kind = [KeySpecKind::Primary, KeySpecKind::Unique, KeySpecKind::Ordered][random.index(3)];
    let name = [None, Some("k"), Some("l")][random.index(3)];
    let columns = ["c", "d", "e", "f"];
    let count = 1 + random.index(2);
    let columns: Vec<&str> = (0..count).map(|_| columns[random.index(4)]).collect();
    key(kind, name, &columns)
}

fn random_action(random: &mut Prng) -> AlterAction {
    let index = || "k".to_owned();
    match random.below(8) {
        0 => AlterAction::DropIndex { name: index() },
        1 => AlterAction::RenameIndex { from: index(), to: "m".into() },
        2 => AlterAction::AddColumn(random_column(random)),
        3 => AlterAction::RenameColumn { from: "c".into(), to: "f".into() },
        4 => AlterAction::RenameTo(random_name(random)),
        5 => AlterAction::Comment("changed".into()),
        _ => AlterAction::AddIndex(random_key(random)),
    }
}

fn random_request(random: &mut Prng) -> DdlRequest {
    let database = |random: &mut Prng| ["a", "b", "shop"][random.index(3)].to_owned();
    let user =
        |random: &mut Prng| UserName { name: ["ann", "bob"][random.index(2)].into(), host: "%".into() };
    let spec = |random: &mut Prng| UserSpec {
        user: user(random),
        authentication: random.chance(1, 2).then(|| Authentication {
            plugin: Some("mysql_native_password".into()),
            credential: Credential::Stored(random.next_u64().to_le_bytes().to_vec()),
        }),
    };
    let options = |random: &mut Prng| AccountOptions {
        is_locked: random.chance(1, 2).then(|| random.chance(1, 2)),
        expires_now: random.chance(1, 2),
        now_s: random.next_u64(),
        ..AccountOptions::default()
    };
    match random.below(29) {
        0..=1 => DdlRequest::CreateDatabase { name: database(random), if_not_exists: true, collation: None },
        2 => DdlRequest::DropDatabase { name: database(random), if_exists: false },
        3 => DdlRequest::AlterDatabase { name: database(random), collation: Collation::Utf8mb4Bin },
        4..=8 => {
            let columns = (0..1 + random.index(3)).map(|_| random_column(random)).collect();
            let keys = (0..random.index(3)).map(|_| random_key(random)).collect();
            let (table, options) = (random_name(random), TableOptions::default());
            DdlRequest::CreateTable(Box::new(CreateTable {
                table,
                if_not_exists: false,
                columns,
                keys,
                options,
                checks: Vec::new(),
                is_filled: random.below(3) == 0,
            }))
        }
        9 => {
            let (table, like) = (random_name(random), random_name(random));
            DdlRequest::CreateTableLike { table, if_not_exists: false, like }
        }
        10 => {
            DdlRequest::DropTables { tables: vec![random_name(random), random_name(random)], if_exists: true }
        }
        11 => DdlRequest::Truncate { table: random_name(random) },
        12 => {
            let pair = |random: &mut Prng| (random_name(random), random_name(random));
            DdlRequest::RenameTables(vec![pair(random), pair(random)])
        }
        13..=16 => {
            let actions = (0..1 + random.index(3)).map(|_| random_action(random)).collect();
            DdlRequest::AlterTable { table: random_name(random), actions }
        }
        17 => DdlRequest::CreateUsers {
            users: vec![spec(random)],
            options: options(random),
            if_not_exists: true,
        },
        18 => DdlRequest::DropUsers { users: vec![user(random)], if_exists: false },
        19 => DdlRequest::RenameUsers(vec![(user(random), user(random)), (user(random), user(random))]),
        20 => {
            DdlRequest::AlterUsers { users: vec![spec(random)], options: options(random), if_exists: false }
        }
        _ => random_grant(random),
    }
}

fn random_grant(random: &mut Prng) -> DdlRequest {
    let account = |random: &mut Prng| UserName::new(["ann", "bob", "eve", "root"][random.index(4)], "%");
    let accounts = |random: &mut Prng| vec![account(random), account(random)];
    let bits = |random: &mut Prng| types::Privileges(random.next_u64()).of(types::Privileges::OF_TABLE);
    let change = |random: &mut Prng| crate::PrivilegeChange {
        level: match random.below(3) {
            0 => crate::GrantLevel::Global,
            1 => crate::GrantLevel::Database(["a", "b%", "shop"][random.index(3)].to_owned()),
            _ => crate::GrantLevel::Table(random_name(random)),
        },
        privileges: bits(random),
        columns: (0..random.index(3)).map(|_| ("C".to_owned(), types::Privileges::SELECT)).collect(),
        dynamic: types::DynamicPrivileges(random.below(4)),
        grantable: types::DynamicPrivileges(random.below(2)),
        accounts: accounts(random),
    };
    let roles = |random: &mut Prng| crate::RoleChange {
        roles: accounts(random),
        accounts: accounts(random),
        admin: if random.chance(1, 2) { types::AdminOption::Yes } else { types::AdminOption::No },
        mandatory: Vec::new(),
    };
    match random.below(9) {
        8 => DdlRequest::SetVariables(vec![random_variable(random), random_variable(random)]),
        0 | 1 => DdlRequest::Grant(Box::new(change(random))),
        2 => DdlRequest::Revoke(Box::new(change(random))),
        3 => DdlRequest::RevokeAll { accounts: vec![account(random)] },
        4 => DdlRequest::GrantRoles(roles(random)),
        5 => DdlRequest::RevokeRoles(roles(random)),
        6 => DdlRequest::SetDefaultRoles {
            accounts: vec![account(random)],
            roles: crate::DefaultRoles::All,
            mandatory: Vec::new(),
        },
        _ => DdlRequest::CreateRoles { roles: vec![account(random)], if_not_exists: true },
    }
}

fn random_variable(random: &mut Prng) -> crate::VariableChange {
    let value = random.index(2).to_string();
    let setting = match random.below(4) {
        0 => crate::VariableSetting::Global(value),
        1 => crate::VariableSetting::Persist(value),
        2 => crate::VariableSetting::PersistOnly(value),
        _ => crate::VariableSetting::Reset,
    };
    crate::VariableChange { name: ["a", "b"][random.index(2)].to_owned(), setting }
}

#[test]
fn variables_are_set_persisted_and_reset() {
    use crate::VariableSetting::{Global, Persist, PersistOnly, Reset};
    let mut world = World::new();
    let mut set = |changes: &[(&str, crate::VariableSetting)]| {
        let change = |(name, setting): &(&str, crate::VariableSetting)| crate::VariableChange {
            name: (*name).to_owned(),
            setting: setting.clone(),
        };
        let lines =
            world.run(&DdlRequest::SetVariables(changes.iter().map(change).collect())).expect("a job");
        let shown = |(name, variable): (&String, &types::GlobalVariable)| {
            format!("{name} {:?} {:?}", variable.value.as_deref(), variable.persisted.as_deref())
        };
        (lines.len(), world.schema.variables.iter().map(shown).collect::<Vec<_>>())
    };
    let one = || "1".to_owned();
    let (steps, shown) = set(&[("a", Global(one())), ("b", PersistOnly(one()))]);
    assert_eq!(shown, ["a Some(\"1\") None", "b None Some(\"1\")"]);
    let (fewer, same) = set(&[("a", Global(one()))]);
    assert!(fewer < steps && same == shown, "nothing is written where nothing changes");
    assert_eq!(set(&[("a", Persist("2".to_owned()))]).1[0], "a Some(\"2\") Some(\"2\")");
    assert_eq!(set(&[("a", Reset), ("b", Reset)]).1, ["a Some(\"2\") None"]);
}

#[test]
fn random_statements_keep_rows_and_schema_together() {
    let mut done = 0;
    for seed in 0..60 {
        let mut random = Prng::new(seed);
        let mut world = World::new();
        let mut highest = TableId(0);
        for _ in 0..60 {
            let request = random_request(&mut random);
            let bytes = stdx::wire::to_bytes(&request);
            assert_eq!(stdx::wire::from_bytes::<DdlRequest>(&bytes).as_ref(), Ok(&request));
            let id = |table: &std::sync::Arc<TableDefinition>| table.id;
            let before = world.schema.clone();
            let crash_seed = random.next_u64();
            let crash = |step: usize| Prng::new(crash_seed ^ step as u64).chance(1, 4);
            let backfill = random.chance(1, 3).then(|| random.index(3));
            let faults = Faults { backfill, crash: Some(&crash), held_up: None };
            match world.run_with(&request, faults) {
                Ok(lines) if lines.last().is_some_and(|line| line.starts_with("failed")) => {
                    assert!(
                        world.schema.named_tables().map(id).eq(before.named_tables().map(id)),
                        "{request:?}"
                    );
                    assert_eq!(world.schema.tables().len(), before.tables().len(), "{request:?}");
                }
                Ok(_) => done += 1,
                Err(_) => assert_eq!(world.schema, before, "what is refused changes nothing"),
            }
            assert_eq!(received(&sent(&world.schema)).as_ref(), Some(&world.schema));
            let newest = world.schema.tables().keys().max().unwrap_or_default();
            for new in world.schema.tables().keys().filter(|id| !before.tables().contains_key(*id)) {
                assert!(new > highest, "table ids are never used again");
            }
            highest = highest.max(newest);
            for table in world.schema.tables().values().filter(|table| table.kind == types::TableKind::User) {
                let text = crate::show_create_table(table, None);
                assert!(text.starts_with("CREATE TABLE `"), "{text}");
                let sequence =
                    world.rows.contains_key(&(system::SEQUENCES, world.system.sequence_key(table.id)));
                assert_eq!(sequence, table.has_sequence());
            }
        }
    }
    assert!(done > 1_000, "only {done} random statements made sense");
}

/// The bytes of a schema's parts.
fn sent(schema: &Schema) -> Vec<Vec<u8>> {
    SchemaParts::of(&Arc::new(schema.clone())).map(|part| stdx::wire::to_bytes(&part)).collect()
}

/// The schema of these parts.
fn received(parts: &[Vec<u8>]) -> Option<Schema> {
    let mut parts = parts.iter().map(|bytes| stdx::wire::from_bytes::<SchemaPart>(bytes).ok());
    let first = parts.next()??;
    let none = Schema::empty(first.version);
    let mut assembled = SchemaAssembly::new(first.version).add(first, &none)?;
    for part in parts {
        let Assembled::More(assembly) = assembled else { return None };
        assembled = assembly.add(part?, &none)?;
    }
    match assembled {
        Assembled::Whole(schema) => Some(schema),
        Assembled::More(_) => None,
    }
}

#[test]
fn damaged_bytes_never_panic() {
    let mut world = World::with_item();
    world.run(&alter("item", vec![add_unique("p", "price")])).expect("an index");
    let ids = world.journal().ids().expect("ids");
    let mut job = DdlJob::new(&alter("item", vec![add_key("q", "price")]), &world.schema, ids, TERMS, MAKER)
        .expect("a job");
    let JobStep::Write(write) = job.next() else { panic!("a write") };
    world.write(&job, &write);
    let parts = sent(&world.schema);
    let rows: Vec<(TableId, Box<[u8]>)> =
        world.rows.iter().map(|((table, _), row)| (*table, row.clone())).collect();
    let mut random = Prng::new(1);
    let mut damage = |bytes: &[u8]| -> Vec<u8> {
        let mut damaged = bytes.to_vec();
        for _ in 0..1 + random.index(3) {
            let at = random.index(damaged.len());
            damaged[at] ^= 1 << random.index(8);
        }
        if random.chance(1, 4) {
            damaged.truncate(random.index(damaged.len()));
        }
        damaged
    };
    for _ in 0..4_000 {
        let damaged: Vec<Vec<u8>> = parts.iter().map(|part| damage(part)).collect();
        if let Some(schema) = received(&damaged) {
            for table in schema.tables().values() {
                let _ =
                    (types::RowLayout::of_table(table), types::KeyEncoder::new(table, table.primary_key()));
                let _ = crate::show_create_table(table, None);
            }
        }
        let mut builder = SchemaBuilder::new(&world.system, world.version());
        let mut journal = Journal::default();
        for (table, row) in &rows {
            let row = damage(row);
            if SchemaBuilder::TABLES.contains(table) {
                let _ = builder.add(&world.system, *table, &row);
            }
            if Journal::TABLES.contains(table) {
                let _ = journal.add(&world.system, *table, &row);
            }
        }
        let _ = builder.finish(world.version());
        if let Some(job) = journal.unfinished() {
            let mut job = job.clone();
            job.fail(SqlError::new(1, "x"));
            let _ = job.summary();
        }
    }
}

/// A table of one column.
fn small(number: u64) -> DdlRequest {
    create(&format!("t{number}"), vec![not_null("id", INT)], vec![primary(&["id"])])
}

#[test]
fn a_node_that_missed_versions_catches_up_as_long_as_their_changes_are_kept() {
    let mut world = World::with_item();
    let mut seen = vec![world.schema.clone()];
    for number in 0..CHANGES_KEPT + 3 {
        let request = match number % 3 {
            0 => alter("item", vec![add_key(&format!("k{number}"), "price")]),
            1 => small(number),
            _ => {
                DdlRequest::DropTables { tables: vec![table(&format!("t{}", number - 1))], if_exists: false }
            }
        };
        world.run(&request).expect("it makes sense");
        seen.push(world.schema.clone());
    }
    for old in &seen {
        let caught_up = world.caught_up(old);
        let is_near = world.schema.version.0 - old.version.0 <= CHANGES_KEPT;
        assert_eq!(
            caught_up.is_some(),
            is_near,
            "{} versions behind",
            world.schema.version.0 - old.version.0
        );
        assert!(caught_up.is_none_or(|schema| schema == world.schema));
    }
    let rows = world.rows.keys().filter(|(table, _)| *table == system::SCHEMA_CHANGES).count();
    assert_eq!(rows as u64, CHANGES_KEPT, "older rows go");
    let mut far_ahead = world.schema.clone();
    far_ahead.version.0 += 1;
    assert_eq!(world.caught_up(&far_ahead), None);
}

#[test]
fn a_step_looks_at_what_it_changes_however_many_tables_there_are() {
    let mut world = World::new();
    world.run(&create_shop()).expect("a database");
    // (Put at once: a job for each would rebuild the schema each time.)
    for id in 0..20_000_u32 {
        let mut definition = TableDefinition::clone(world.schema.table("latsdb", "ids").expect("a table"));
        (definition.id, definition.kind) = (TableId(1_000 + id), types::TableKind::User);
        (definition.database, definition.name) = ("shop".to_owned(), format!("t{id}"));
        world.schema.put_table(std::sync::Arc::new(definition));
    }
    let ids = Ids { next_table: TableId(30_000), next_job: 9 };
    let mut job = DdlJob::new(&small(20_000), &world.schema, ids, TERMS, MAKER).expect("a job");
    let JobStep::Write(write) = job.next() else { panic!("a write") };
    let before = world.schema.clone();
    world.put(write.writes);
    let after = world.caught_up(&before).expect("one version");
    let touched = before.tables().differences(after.tables());
    let changed = before.tables().changes(after.tables());
    assert!(touched.len() <= 64, "{} tables are looked at", touched.len());
    assert_eq!(changed.iter().map(|(id, ..)| *id).collect::<Vec<_>>(), [TableId(30_000)]);
    assert!(std::sync::Arc::ptr_eq(&before.users, &after.users));
    assert!(std::sync::Arc::ptr_eq(&before.databases, &after.databases));
}

#[test]
fn a_step_that_changes_much_is_read_whole() {
    let mut world = World::new();
    world.run(&create_shop()).expect("a database");
    let before = world.schema.clone();
    let comment = "c".repeat(1_000);
    let columns = (0..100).map(|number| {
        let name = format!("c{number}");
        ColumnSpec { comment: comment.clone(), ..not_null(&name, INT) }
    });
    world.schema.version = before.version;
    let request = create("wide", columns.collect(), vec![primary(&["c0"])]);
    let job = DdlJob::new(&request, &world.schema, world.journal().ids().expect("ids"), TERMS, MAKER);
    let JobStep::Write(write) = job.expect("a job").next() else { panic!("a write") };
    world.put(write.writes);
    assert_eq!(world.caught_up(&before), None);
}
