use super::TemporaryTables;
use memory::{MemoryConfig, MemoryManager, Region};
use protocol::program::{
    Access, KeyRange, OnDuplicate, ReadOutput, ReadProgram, Refusal, StatementContext, TableRef,
    WriteOperation,
};
use query::{BatchShape, RowBatchReader};
use std::collections::BTreeMap;
use std::sync::Arc;
use stdx::Prng;
use types::{ColumnIndex, IndexId, TableDefinition, TableId, Value, ValueRef};

const TABLE: TableId = TableId::FIRST_TEMPORARY;
const REFERENCE: TableRef = TableRef { id: TABLE, version: 1 };

fn definition(id: TableId) -> TableDefinition {
    let columns = ["id", "v"].map(|name| fixtures::column(name, fixtures::integer()));
    TableDefinition {
        database: "d".to_owned(),
        name: format!("t{id}"),
        ..fixtures::table(id, columns.to_vec())
    }
}

fn tables(memory: &Arc<MemoryManager>) -> TemporaryTables {
    let mut tables = TemporaryTables::new(memory);
    tables.create(definition(TABLE), Vec::new(), 1);
    tables.name(TABLE);
    tables
}

fn memory() -> Arc<MemoryManager> {
    MemoryManager::new(MemoryConfig::with_data_memory(64 << 20))
}

fn key_of(tables: &TemporaryTables, id: i64) -> Box<[u8]> {
    let mut key = Vec::new();
    tables.info(TABLE).unwrap().primary_key.encode_values(&[ValueRef::Int(id)], &mut key);
    key.into()
}

fn row_of(tables: &TemporaryTables, id: i64, v: i64) -> Box<[u8]> {
    let mut row = Vec::new();
    tables.info(TABLE).unwrap().layout.encode(&[ValueRef::Int(id), ValueRef::Int(v)], &mut row);
    row.into()
}

fn insert(tables: &mut TemporaryTables, id: i64, v: i64) -> Result<(), Refusal> {
    let (key, row) = (key_of(tables, id), row_of(tables, id, v));
    let operation = WriteOperation::Insert { key, row, on_duplicate: OnDuplicate::Fail };
    tables.write(REFERENCE, &[operation]).map(drop).map_err(|failure| failure.refusal)
}

/// All rows.
fn rows(tables: &TemporaryTables) -> BTreeMap<i64, i64> {
    let program = Arc::new(ReadProgram {
        table: REFERENCE,
        filter: None,
        output: ReadOutput::Columns(vec![ColumnIndex(0), ColumnIndex(1)]),
        with_primary_key: false,
        with_index_key: false,
        context: StatementContext::default(),
    });
    let ranges = Arc::new(vec![KeyRange::all()]);
    let access = Access::Scan { index: IndexId(0), ranges, descending: false, limit: None };
    let batch = tables.read(&program, access).unwrap();
    let rows = RowBatchReader::new(BatchShape::of(&program), &batch.rows).map(|row| row.unwrap().values);
    let number = |value: &Value| if let Value::Int(number) = value { *number } else { panic!("{value:?}") };
    rows.map(|row| (number(&row[0]), number(&row[1]))).collect()
}

/// Whatever is written, undone, rolled back to savepoints and published: the rows are those of a map that is copied at
/// each of these points.
#[test]
fn rows_are_those_of_a_model() {
    for seed in 0..50 {
        let mut prng = Prng::new(seed);
        let mut tables = tables(&memory());
        let mut model = BTreeMap::new();
        let (mut of_statement, mut of_transaction) = (model.clone(), model.clone());
        let mut savepoints = Vec::new();
        for _ in 0..400 {
            let (id, v) = (prng.below(12).cast_signed(), prng.below(1_000).cast_signed());
            match prng.below(16) {
                0..=4 => {
                    let is_new = !model.contains_key(&id);
                    assert_eq!(insert(&mut tables, id, v).is_ok(), is_new);
                    model.entry(id).or_insert(v);
                }
                5..=7 => {
                    let put = WriteOperation::Put { key: key_of(&tables, id), row: row_of(&tables, id, v) };
                    tables.write(REFERENCE, &[put]).unwrap();
                    model.insert(id, v);
                }
                8..=10 => {
                    let delete = WriteOperation::Delete { key: key_of(&tables, id), filter: None };
                    tables.write(REFERENCE, &[delete]).unwrap();
                    model.remove(&id);
                }
                11 => {
                    tables.start_statement();
                    of_statement.clone_from(&model);
                }
                12 => {
                    tables.undo_statement();
                    model.clone_from(&of_statement);
                }
                13 => {
                    savepoints.push((tables.mark(), model.clone()));
                    tables.start_statement();
                    of_statement.clone_from(&model);
                }
                14 if !savepoints.is_empty() => {
                    savepoints.truncate(prng.index(savepoints.len()) + 1);
                    let (mark, saved) = savepoints.last().unwrap();
                    tables.undo_to(*mark);
                    model.clone_from(saved);
                    tables.start_statement();
                    of_statement.clone_from(&model);
                }
                14 => {}
                _ => {
                    if prng.chance(1, 2) {
                        tables.publish();
                        of_transaction.clone_from(&model);
                    } else {
                        tables.undo_to(0);
                        model.clone_from(&of_transaction);
                    }
                    savepoints.clear();
                    tables.start_statement();
                    of_statement.clone_from(&model);
                }
            }
            assert_eq!(rows(&tables), model, "seed {seed}");
        }
    }
}

#[test]
fn a_table_has_no_name_before_it_gets_one_and_a_failed_statement_drops_it() {
    let mut tables = tables(&memory());
    let next = tables.next_id();
    tables.start_statement();
    tables.create(definition(next), Vec::new(), 1);
    assert!(tables.info(next).is_some() && tables.named().table_by_id(next).is_none());
    tables.undo_statement();
    assert!(tables.info(next).is_none());
    // Named tables stay, and no id comes twice.
    assert!(tables.named().table("d", &format!("t{TABLE}")).is_some());
    assert!(tables.next_id() > next);
}

#[test]
fn rows_of_a_dropped_table_are_passed_over() {
    let mut tables = tables(&memory());
    insert(&mut tables, 1, 1).unwrap();
    tables.drop_table(TABLE);
    assert!(matches!(insert_into_dropped(&mut tables), Err(Refusal::WrongSchema)));
    tables.undo_to(0);
    tables.publish();
}

fn insert_into_dropped(tables: &mut TemporaryTables) -> Result<(), Refusal> {
    let delete = WriteOperation::Delete { key: [0].into(), filter: None };
    tables.write(REFERENCE, &[delete]).map(drop).map_err(|failure| failure.refusal)
}

#[test]
fn memory_is_query_memory_and_comes_back() {
    let memory = memory();
    let used = |region| memory.used(region);
    let before = used(Region::QueryMemory);
    let mut tables = tables(&memory);
    for id in 0..5_000 {
        insert(&mut tables, id, id).unwrap();
    }
    assert!(used(Region::QueryMemory) > before + 5_000 * 64);
    assert_eq!(used(Region::DataMemory), 0);
    tables.publish();
    drop(tables);
    // A heap keeps an empty page, and a ledger rounds.
    assert!(used(Region::QueryMemory) - before <= 2 * memory::PAGE_BYTES as u64);
}
