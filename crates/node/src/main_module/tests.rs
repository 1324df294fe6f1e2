use super::{MainConfig, MainModule};
use catalogue::system::SCHEMA_CHANGES;
use catalogue::{DdlJob, DdlRequest, Ids, JobStep, SchemaChanges, SystemTables, SystemWrite};
use fixtures::replicas;
use memory::{MemoryConfig, MemoryManager};
use protocol::lease::Lease;
use protocol::signal::{RequestId, TableUsers};
use protocol::{Address, Envelope, Input, ModuleKind, NodeRole, Outputs, Signal, View};
use query::{NodeMap, Shared};
use std::sync::Arc;
use stdx::{Duration, Now};
use types::{
    Database, Epoch, Incarnation, NodeId, Schema, SchemaPart, SchemaParts, TableDefinition, TableId,
    TransactionId, ViewNumber,
};

const ME: NodeId = NodeId(1);
const OTHER: NodeId = NodeId(2);
const LDM: Address = Address::new(ME, ModuleKind::Ldm, 0);
/// A node without replicas.
const SQL: NodeId = NodeId(4);

/// A view of two data nodes, which both hold everything.
pub(crate) fn view(number: u64) -> Arc<View> {
    Arc::new(View { number: ViewNumber(number), ..replicas(2) })
}

/// A data node all of whose modules use a view.
pub(crate) fn member(number: u64) -> MainModule {
    let mut main = starting();
    enter(&mut main, number);
    main
}

/// The configuration of a node with these modules, without a log, reports and checks.
pub(crate) fn config(node: NodeId, modules: Vec<Address>) -> MainConfig {
    MainConfig {
        node,
        modules,
        time_between_epochs: Duration::from_millis(100),
        redo: None,
        memory: MemoryManager::new(MemoryConfig::with_data_memory(64 << 20)),
        management: None,
        reporting: None,
        start_check: None,
        configuration: Default::default(),
        lease: Arc::new(Lease::unlimited()),
    }
}

/// A data node that is in no view yet.
pub(crate) fn starting() -> MainModule {
    MainModule::new(config(ME, vec![Address::main(ME), LDM]))
}

/// All modules use a newer view.
fn enter(main: &mut MainModule, number: u64) {
    main.view = view(number);
    main.entry.view = ViewNumber(number);
    let empty = NodeMap::empty(ME, Arc::clone(&main.schema));
    let map = empty.with(Incarnation(1), Arc::clone(&main.view), Arc::clone(&main.schema), &[]);
    main.map = Arc::new(map);
}

/// Gives it a signal of a node; what it sends.
fn take(main: &mut MainModule, from: NodeId, signal: Signal) -> Vec<(Address, Signal)> {
    let mut outputs: Outputs<Shared> = Outputs::default();
    let (from, to) = (Address::main(from), Address::main(ME));
    let envelope = Envelope { from, to, view: main.view.number, epoch: Epoch(0), signal };
    main.on_signal(Now::default(), envelope, &mut outputs);
    outputs.signals.into_iter().map(|envelope| (envelope.to, envelope.signal)).collect()
}

#[test]
pub(crate) fn a_view_is_settled_when_all_members_have_installed_it() {
    let mut main = member(2);
    let installed = |view| Signal::ViewInstalled { view: ViewNumber(view) };
    assert_eq!(take(&mut main, ME, installed(2)), []);
    assert_eq!(take(&mut main, ME, installed(2)), [], "it says so again");
    assert_eq!(take(&mut main, OTHER, installed(1)), [], "an older one");
    assert_eq!(take(&mut main, OTHER, installed(2)), [(LDM, Signal::ViewSettled { view: ViewNumber(2) })]);
}

#[test]
pub(crate) fn who_is_in_a_newer_view_gets_no_schema_of_an_older_one() {
    let mut main = member(1);
    let fetch = Signal::SchemaFetch { request: RequestId(7), view: ViewNumber(2), known: None };
    assert_eq!(
        take(&mut main, OTHER, fetch),
        [],
        "tables can be made here that the other one never hears of"
    );
    enter(&mut main, 2);
    let mut outputs: Outputs<Shared> = Outputs::default();
    main.answer_early_fetches(&mut outputs);
    let answered = |envelope: &Envelope| {
        envelope.to == Address::main(OTHER)
            && matches!(envelope.signal, Signal::SchemaFetched { request: RequestId(7), .. })
    };
    assert!(outputs.signals.iter().any(answered), "{:?}", outputs.signals);
}

/// The main module of a node without replicas, which is connected with both data nodes and has the catalogue.
fn sql_node() -> MainModule {
    let mut main =
        MainModule::new(config(SQL, vec![Address::main(SQL), Address::new(SQL, ModuleKind::Sql, 0)]));
    enter(&mut main, 1);
    main.incarnation = Incarnation(3);
    main.reach.found = vec![ME, OTHER];
    main
}

/// Gives the SQL node a signal; what it asks data nodes for the catalogue, and whether the newest map says that it may
/// have missed something.
fn tell(main: &mut MainModule, from: NodeId, signal: Signal) -> (Vec<(NodeId, RequestId)>, Option<bool>) {
    let mut outputs: Outputs<Shared> = Outputs::default();
    let envelope = Envelope {
        from: Address::main(from),
        to: Address::main(SQL),
        view: main.view.number,
        epoch: Epoch(0),
        signal,
    };
    main.on_signal(Now::default(), envelope, &mut outputs);
    let fetch = |envelope: &Envelope| {
        let Signal::SchemaFetch { request, .. } = envelope.signal else { return None };
        Some((envelope.to.node, request))
    };
    let asked = outputs.signals.iter().filter_map(fetch).collect();
    let map = |(_, _, shared): &(Address, Address, Shared)| {
        let Shared::Map(map) = shared else { return None };
        Some(map.is_behind)
    };
    let is_behind = outputs.shared.iter().filter_map(map).next_back();
    let version = main.map.schema.version;
    for module in main.config.modules.clone() {
        main.on_shared(Now::default(), module, Shared::Installed { version }, &mut Outputs::default());
    }
    (asked, is_behind)
}

/// A catalogue that is told in one part.
fn whole(request: RequestId, schema: &Arc<Schema>) -> Signal {
    let parts: Vec<SchemaPart> = SchemaParts::of(schema).collect();
    assert_eq!(parts.len(), 1);
    Signal::SchemaFetched { request, schema: stdx::wire::to_bytes(&parts[0]).into(), since: None }
}

#[test]
pub(crate) fn a_node_that_lost_a_data_node_is_behind_until_that_one_told_it_the_schema() {
    let mut main = sql_node();
    let schema = Arc::clone(&main.schema);
    let fetched = |request| whole(request, &schema);
    let lost = Signal::PeerLost { node: OTHER, incarnation: Incarnation(2) };
    assert_eq!(tell(&mut main, SQL, lost), (vec![], Some(true)));
    let (asked, is_behind) = tell(&mut main, SQL, Signal::PeerFound { node: OTHER });
    assert_eq!(is_behind, Some(true), "it is connected, but a statement may have ended meanwhile");
    let request = asked.iter().find(|(node, _)| *node == OTHER).expect("it is asked").1;
    // The word of another node, or its own word of before, may be older than DDL that ended there without this node.
    assert_eq!(tell(&mut main, ME, fetched(request)).1, Some(true));
    assert_eq!(tell(&mut main, OTHER, fetched(RequestId(0))).1, Some(true));
    // It takes longer than until it is asked again.
    main.fetch_schema(&mut Outputs::default());
    assert_eq!(tell(&mut main, OTHER, fetched(request)).1, Some(false));
}

#[test]
fn the_whole_catalogue_is_told_a_part_in_a_call() {
    let (mut teller, mut taker) = (member(2), sql_node());
    let mut schema = Schema::clone(&teller.schema);
    schema.version.0 += 1;
    schema.put_database(Database { name: "d".to_owned(), collation: types::Collation::Binary });
    for id in 100..300 {
        let table = fixtures::table(TableId(id), vec![fixtures::column("id", fixtures::integer())]);
        schema.put_table(Arc::new(TableDefinition { name: format!("t{id}"), ..table }));
    }
    let schema = Arc::new(schema);
    let mut told = Vec::new();
    let mut outputs: Outputs<Shared> = Outputs::default();
    teller.tell_catalogue(Address::main(SQL), RequestId(3), None, &schema, &mut outputs);
    while let [part] = outputs.signals.as_slice() {
        told.push(part.signal.clone());
        outputs.signals.clear();
        if teller.deadline() == Some(Now::default().monotonic) {
            teller.retry_schema(Now::default(), &mut outputs);
        }
    }
    assert_eq!(outputs.signals.len(), 0, "one part in a call");
    assert!(told.len() > 3, "{} parts", told.len());
    // A part that was lost with a connection: what follows it makes nothing.
    for part in told.iter().skip(1) {
        tell(&mut taker, OTHER, part.clone());
        assert!(taker.schema.version < schema.version);
    }
    for (position, part) in told.iter().enumerate() {
        tell(&mut taker, OTHER, part.clone());
        assert_eq!(taker.schema.version == schema.version, position + 1 == told.len());
    }
    assert_eq!(*taker.schema, *schema);
    // Its map has all tables of it in the end, but not all of them were made in the last call.
    let mut outputs: Outputs<Shared> = Outputs::default();
    assert!(taker.making.rollout.is_none() && taker.making.is_stale);
    let mut calls = 0;
    while taker.making.rollout.is_none() {
        taker.handle(Now::default(), Input::Deadline, &mut outputs);
        calls += 1;
        assert!(calls < 10, "a map is on its way");
    }
    let map = outputs.shared.iter().find_map(
        |(_, _, shared)| {
            if let Shared::Map(map) = shared { Some(map) } else { None }
        },
    );
    assert_eq!(map.expect("a map").tables.len(), schema.tables().len());
}

/// The changes of a step that makes a database, as a data node tells them to a node that had the version before.
fn changes_of(main: &MainModule, database: &str) -> Signal {
    let request = DdlRequest::CreateDatabase { name: database.into(), if_not_exists: false, collation: None };
    let ids = Ids { next_table: TableId(100), next_job: 1 };
    let mut job =
        DdlJob::new(&request, &main.schema, ids, main.view.slot_terms(), TransactionId(7)).expect("a job");
    let JobStep::Write(write) = job.next() else { panic!("a write") };
    let row = |key: &[u8]| {
        let is_it = |write: &&SystemWrite| write.table == SCHEMA_CHANGES && *write.key == *key;
        write.writes.iter().find(is_it).and_then(|write| write.row.as_deref())
    };
    let versions = (write.expected, write.version);
    let changes =
        SchemaChanges::read(&SystemTables::new(), versions, row).expect("rows").expect("all of them");
    let schema = stdx::wire::to_bytes(&changes).into();
    Signal::SchemaFetched { request: RequestId(1), schema, since: Some(write.expected) }
}

#[test]
fn a_node_is_told_what_changed_since_the_version_that_it_has() {
    let mut main = sql_node();
    let before = Arc::clone(&main.schema);
    let first = changes_of(&main, "first");
    tell(&mut main, OTHER, first.clone());
    assert_eq!(main.schema.version.0, before.version.0 + 1);
    assert!(main.schema.database("first").is_some());
    assert!(before.tables().differences(main.schema.tables()).is_empty(), "the tables are the same objects");
    // The same from the other node: it is as new as what is known.
    let (asked, is_behind) = tell(&mut main, ME, first);
    assert_eq!((asked, is_behind), (vec![], None));
    // Changes behind a version that it does not have make no catalogue: it asks again, for the rest.
    let second = changes_of(&main, "second");
    let mut late = sql_node();
    let (asked, _) = tell(&mut late, OTHER, second.clone());
    assert_eq!(asked.len(), 1);
    assert_eq!(late.schema.version, before.version);
    tell(&mut main, OTHER, second);
    assert!(main.schema.database("second").is_some());
}

#[test]
fn an_older_catalogue_that_comes_late_is_not_taken() {
    let mut main = sql_node();
    let older = (*main.schema).clone();
    let mut newer = older.clone();
    newer.version.0 += 1;
    let version = newer.version;
    for schema in [newer, older] {
        tell(&mut main, OTHER, whole(RequestId(1), &Arc::new(schema)));
        assert_eq!(main.schema.version, version);
    }
}

#[test]
fn an_sql_node_answers_a_last_word_when_all_its_modules_use_the_view() {
    let mut main = sql_node();
    let heard = |outputs: Outputs<Shared>| {
        outputs.signals.iter().filter(|envelope| envelope.signal == Signal::LastWordHeard).count()
    };
    let mut outputs = Outputs::default();
    main.on_view(view(2), &mut outputs);
    let envelope = Envelope {
        from: LDM,
        to: Address::main(SQL),
        view: ViewNumber(2),
        epoch: Epoch(0),
        signal: Signal::LastWord,
    };
    main.on_signal(Now::default(), envelope, &mut outputs);
    assert_eq!(heard(outputs), 0);
    let version = main.map.schema.version;
    for (module, count) in main.config.modules.clone().into_iter().zip([0, 1]) {
        let mut outputs = Outputs::default();
        main.on_shared(Now::default(), module, Shared::Installed { version }, &mut outputs);
        assert_eq!(heard(outputs), count);
    }
}

// ---- installing a schema --------------------------------------------------------------------------------------------

/// A job on another node asks for the version that is installed here.
fn install(tables: Vec<TableUsers>) -> Signal {
    Signal::SchemaInstall {
        request: RequestId(7),
        version: catalogue::bootstrap().version,
        tables,
        used_for_ms: 0,
    }
}

fn installed(request: u64, users: Vec<u32>) -> Signal {
    let version = catalogue::bootstrap().version;
    Signal::SchemaInstalled { request: RequestId(request), version, users }
}

#[test]
pub(crate) fn a_version_is_installed_when_the_sql_nodes_in_reach_have_it() {
    let mut main = member(2);
    let mut view = View::clone(&main.view);
    view.nodes.push(fixtures::node(SQL.0, NodeRole::Sql));
    main.view = Arc::new(view);
    main.reach.found = vec![OTHER, SQL];
    assert_eq!(take(&mut main, OTHER, install(Vec::new())), [], "the job's node may not reach that SQL node");
    assert_eq!(take(&mut main, OTHER, install(Vec::new())), [], "it asks again");
    let answer = (Address::main(OTHER), installed(7, Vec::new()));
    assert_eq!(take(&mut main, SQL, installed(0, Vec::new())), std::slice::from_ref(&answer));
    assert_eq!(
        take(&mut main, OTHER, install(Vec::new())),
        std::slice::from_ref(&answer),
        "it is known from now on"
    );
    // A node that is lost and found again tells it anew; one that is away gets no rows, and is not waited for.
    main.schema_reading.forget_told(SQL);
    assert_eq!(take(&mut main, OTHER, install(Vec::new())), []);
    main.reach.found = vec![OTHER];
    assert_eq!(take(&mut main, OTHER, install(Vec::new())), [answer]);
}

#[test]
fn a_job_hears_from_all_modules_who_uses_its_tables() {
    let modules = [0, 1].map(|instance| Address::new(ME, ModuleKind::Sql, instance));
    let mut main = member(2);
    main.config.modules.extend(modules);
    let tables = vec![TableUsers { table: TableId(100), older_than: Some(3) }];
    let asked = take(&mut main, OTHER, install(tables.clone()));
    let Some((_, Signal::SchemaInstall { request, .. })) = asked.first() else {
        panic!("modules are asked: {asked:?}")
    };
    let version = catalogue::bootstrap().version;
    let ask = Signal::SchemaInstall { request: *request, version, tables: tables.clone(), used_for_ms: 0 };
    assert_eq!(asked, modules.map(|module| (module, ask.clone())));
    assert_eq!(take(&mut main, OTHER, install(tables)), [], "it asks again");
    assert_eq!(take(&mut main, ME, installed(request.0, vec![256])), []);
    let answer = take(&mut main, ME, installed(request.0, vec![257, 513]));
    assert_eq!(answer, [(Address::main(OTHER), installed(7, vec![256, 257, 513]))]);
    // A statement that changes no table waits for no user.
    assert_eq!(
        take(&mut main, OTHER, install(Vec::new())),
        [(Address::main(OTHER), installed(7, Vec::new()))]
    );
}
