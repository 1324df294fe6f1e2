use super::super::super::tests::member;
use super::{CatalogueScan, Scanned};
use catalogue::system::{FIRST_USER_TABLE, SCHEMA_CHANGES, SCHEMA_VERSION, TABLES};
use catalogue::{SchemaBuilder, SchemaChange, SystemTables, SystemWrite};
use fixtures::{column, integer, table};
use memory::{Guard, MemoryConfig, MemoryManager};
use protocol::signal::RequestId;
use protocol::{Address, Input, Outputs};
use query::{NodeMap, PublishedReader, Readers};
use std::collections::BTreeMap;
use std::sync::Arc;
use stdx::Now;
use storage::{Fragment, FragmentDefinition, Reader};
use types::{
    Epoch, Incarnation, NodeId, Schema, SchemaVersion, SlotId, TableDefinition, TableId, TransactionId,
};

const VERSION: SchemaVersion = SchemaVersion(7);

/// The replicas of the system tables that make a catalogue.
struct Replicas {
    system: SystemTables,
    fragments: BTreeMap<TableId, Fragment>,
}

impl Replicas {
    /// With the rows of a new cluster.
    fn new() -> Self {
        let system = SystemTables::new();
        let memory = MemoryManager::new(MemoryConfig::with_data_memory(64 << 20));
        let fragment = |table: &TableId| {
            let definition = Arc::clone(&system.table(*table).definition);
            let definition = Arc::new(FragmentDefinition::new(&definition));
            (*table, Fragment::new(definition, Arc::clone(&memory)))
        };
        let fragments =
            SchemaBuilder::TABLES.iter().chain(&[SCHEMA_VERSION, SCHEMA_CHANGES]).map(fragment).collect();
        let mut replicas = Self { system, fragments };
        catalogue::bootstrap_rows().iter().for_each(|write| replicas.write(write));
        replicas
    }

    fn write(&mut self, write: &SystemWrite) {
        let Some(fragment) = self.fragments.get_mut(&write.table) else { return };
        let handle = fragment.stage(&write.key, TransactionId(1), write.row.as_deref()).expect("room");
        fragment.commit(handle, TransactionId(1), Epoch(1));
    }

    fn put(&mut self, table: &TableDefinition) {
        self.change(&SchemaChange::PutTable(table.clone()));
    }

    fn change(&mut self, change: &SchemaChange) {
        self.write(&change.write(&self.system));
    }

    fn readers(&self) -> BTreeMap<TableId, Reader> {
        self.fragments.iter().map(|(table, fragment)| (*table, fragment.reader())).collect()
    }

    /// The catalogue, read in slices of this size, and how many there were.
    fn read(&self, slice_size: usize) -> (Schema, usize) {
        let readers = self.readers();
        let mut scan = CatalogueScan::new(&self.system, VERSION);
        let mut count = 1;
        loop {
            match scan.step(&self.system, &Guard::enter(), |table| readers.get(&table), slice_size) {
                Scanned::More(more) => (scan, count) = (more, count + 1),
                Scanned::All(builder) => return (builder.finish(VERSION).expect("a schema"), count),
                Scanned::Refused => panic!("nothing is under way"),
            }
        }
    }
}

/// A table of the only database that a new cluster has.
fn made(number: u32) -> TableDefinition {
    let (database, name) = (catalogue::SYSTEM_DATABASE.to_owned(), format!("t{number}"));
    let columns = vec![column("id", integer())];
    TableDefinition { database, name, ..table(TableId(FIRST_USER_TABLE.0 + number), columns) }
}

#[test]
fn slices_of_any_size_make_the_same_catalogue() {
    let mut replicas = Replicas::new();
    let mut expected = catalogue::bootstrap();
    expected.version = VERSION;
    for table in (0..300).map(made) {
        replicas.put(&table);
        expected.put_table(Arc::new(table));
    }
    let (whole, count) = replicas.read(usize::MAX);
    assert_eq!((&whole, count), (&expected, 1));
    let row_count = replicas.read(1).1;
    assert!(row_count > 300, "a row at a time: {row_count}");
    for slice_size in [1, 100, 1_000, 10_000] {
        let (schema, count) = replicas.read(slice_size);
        assert_eq!(schema, expected, "slices of {slice_size} bytes");
        assert!(count > 1, "slices of {slice_size} bytes");
    }
}

#[test]
fn rows_of_two_versions_may_contradict_each_other() {
    let mut replicas = Replicas::new();
    let first = made(0);
    replicas.put(&first);
    let (readers, system) = (replicas.readers(), SystemTables::new());
    let step = |scan: CatalogueScan, slice_size: usize| {
        scan.step(&system, &Guard::enter(), |table| readers.get(&table), slice_size)
    };
    let mut scan = CatalogueScan::new(&system, VERSION);
    while SchemaBuilder::TABLES[scan.table] != TABLES || scan.behind.is_none() {
        let Scanned::More(more) = step(scan, 1) else { panic!("the table has a row") };
        scan = more;
    }
    // Another table takes its name meanwhile.
    replicas.change(&SchemaChange::DropTable { table: first.id });
    replicas.put(&TableDefinition { name: first.name, ..made(1) });
    let Scanned::All(builder) = step(scan, usize::MAX) else { panic!("nothing is under way") };
    let torn = builder.finish(SchemaVersion(VERSION.0 + 1)).expect_err("another version");
    assert!(torn.is_retryable(), "{torn}");
}

#[test]
fn a_node_reads_a_large_catalogue_in_several_calls() {
    let mut replicas = Replicas::new();
    (0..1_000).for_each(|number| replicas.put(&made(number)));
    replicas.write(&replicas.system.put_schema_version(VERSION));
    let mut readers = Readers::default();
    for (table, reader) in replicas.readers() {
        readers.insert(PublishedReader { table, slot: SlotId(0), reader });
    }
    let mut main = member(2);
    let map = NodeMap::empty(NodeId(1), Arc::clone(&main.schema));
    let map = map.with(Incarnation(1), Arc::clone(&main.view), Arc::clone(&main.schema), &[]);
    main.map = Arc::new(map.with_readers(&readers));
    let (mut outputs, job) = (Outputs::default(), Address::main(NodeId(2)));
    main.on_schema_install(Now::default(), job, RequestId(1), VERSION, (Vec::new(), 0), &mut outputs);
    let mut count = 1;
    while main.schema.version != VERSION {
        assert_eq!(main.deadline(), Some(Now::default().monotonic), "it goes on at once");
        main.handle(Now::default(), Input::Deadline, &mut outputs);
        count += 1;
        assert!(count < 100, "it comes to an end");
    }
    assert!(count > 1);
    assert_eq!(
        main.schema.tables_of(catalogue::SYSTEM_DATABASE).count(),
        replicas.system.iter().count() + 1_000
    );
}
