use super::{Bound, CachedStatement, StatementCache};
use planner::Band;
use planner::plan::{Plan, Prepared};
use std::sync::Arc;
use types::{Schema, SchemaVersion, TableDefinition, TableId};

fn statement(version: u64) -> Arc<CachedStatement> {
    chosen_by(version, Vec::new())
}

/// A plan that was chosen by the rows of tables.
fn chosen_by(version: u64, bands: Vec<Band>) -> Arc<CachedStatement> {
    let prepared = Prepared {
        bands,
        schema: SchemaVersion(version),
        tables: None,
        virtual_reads: Vec::new(),
        plan: Plan::Nothing { note: None },
        parameters: Vec::new(),
        session_values: Vec::new(),
        assigned: Vec::new(),
        into: Vec::new(),
        sets: Vec::new(),
        analyzes: false,
        is_volatile: false,
        columns: Arc::new(Vec::new()),
        warnings: Vec::new(),
        names_temporary: false,
    };
    Arc::new(CachedStatement::new(prepared, None))
}

fn version(version: u64) -> Schema {
    Schema::empty(SchemaVersion(version))
}

const ANYWHERE: Bound<&str> = Bound { database: None, bind_key: 0, privileges: 1 };
const KEPT_ANYWHERE: Bound<&Arc<str>> = Bound { database: None, bind_key: 0, privileges: 1 };

#[test]
fn a_hit_needs_digest_text_session_and_schema() {
    let mut cache = StatementCache::new(1 << 20);
    let database: Arc<str> = "test".into();
    cache.insert(
        1,
        "SELECT ?",
        Bound { database: Some(&database), bind_key: 7, privileges: 1 },
        statement(5),
    );
    let test = Bound { database: Some("test"), bind_key: 7, privileges: 1 };
    assert!(cache.get(1, "SELECT ?", test, &version(5), |_| true).is_some());
    assert!(cache.get(2, "SELECT ?", test, &version(5), |_| true).is_none());
    assert!(cache.get(1, "SELECT ? ", test, &version(5), |_| true).is_none());
    assert!(cache.get(1, "SELECT ?", Bound { database: None, ..test }, &version(5), |_| true).is_none());
    // A session that binds otherwise has an entry of its own.
    let other = Bound { bind_key: 8, ..test };
    assert!(cache.get(1, "SELECT ?", other, &version(5), |_| true).is_none());
    // So has one that may do other things.
    let less = Bound { privileges: 2, ..test };
    assert!(cache.get(1, "SELECT ?", less, &version(5), |_| true).is_none());
    assert!(cache.get(1, "SELECT ?", test, &version(6), |_| true).is_none());
    assert_eq!((cache.hits, cache.misses), (1, 6));
}

#[test]
fn a_plan_that_was_chosen_by_row_counts_is_looked_at_each_time() {
    let mut cache = StatementCache::new(1 << 20);
    let table = Arc::new(fixtures::table(TableId(7), Vec::new()));
    cache.insert(1, "by rows", KEPT_ANYWHERE, chosen_by(1, vec![Band::of(&table, 100)]));
    cache.insert(2, "not", KEPT_ANYWHERE, statement(1));
    let mut get =
        |digest, text, fits_rows| cache.get(digest, text, ANYWHERE, &version(1), |_| fits_rows).is_some();
    for _ in 0..2 {
        assert!(get(1, "by rows", true));
        assert!(get(2, "not", false), "it is not asked for");
    }
    assert!(!get(1, "by rows", false), "the table has grown");
}

#[test]
fn it_is_bounded_and_keeps_what_is_used() {
    let size = 8 * (super::PLAN_SIZE + super::SIZE_PER_TEXT_BYTE);
    let mut cache = StatementCache::new(size);
    for digest in 0..100 {
        cache.insert(digest, "x", KEPT_ANYWHERE, statement(1));
        assert!(cache.get(0, "x", ANYWHERE, &version(1), |_| true).is_some());
        assert!(cache.get(digest, "x", ANYWHERE, &version(1), |_| true).is_some());
        assert!(cache.size() <= size);
    }
    assert!(cache.get(50, "x", ANYWHERE, &version(1), |_| true).is_none());
}

#[test]
fn long_texts_weigh_more() {
    let mut cache = StatementCache::new(1 << 20);
    let long = "x".repeat(10_000);
    for digest in 0..100 {
        cache.insert(digest, &long, KEPT_ANYWHERE, statement(1));
        // The same again replaces it.
        cache.insert(digest, &long, KEPT_ANYWHERE, statement(2));
        assert!(cache.size() <= 1 << 20);
        assert!(cache.get(digest, &long, ANYWHERE, &version(2), |_| true).is_some());
    }
    assert!(cache.get(95, &long, ANYWHERE, &version(2), |_| true).is_none());
}

#[test]
fn what_is_larger_than_the_cache_is_not_kept() {
    let mut cache = StatementCache::new(1 << 20);
    cache.insert(1, "x", KEPT_ANYWHERE, statement(1));
    let long = "x".repeat(100_000);
    cache.insert(2, &long, KEPT_ANYWHERE, statement(1));
    assert!(cache.get(2, &long, ANYWHERE, &version(1), |_| true).is_none());
    assert!(cache.get(1, "x", ANYWHERE, &version(1), |_| true).is_some());
}

fn table(id: u32, version: u32, name: &str) -> Arc<TableDefinition> {
    Arc::new(TableDefinition { version, name: name.to_owned(), ..fixtures::table(TableId(id), Vec::new()) })
}

fn with_tables(version: u64, tables: &[Arc<TableDefinition>]) -> Schema {
    let mut schema = Schema::empty(SchemaVersion(version));
    tables.iter().for_each(|table| schema.put_table(Arc::clone(table)));
    schema
}

#[test]
fn a_plan_survives_changes_of_other_tables() {
    let bound_to = |tables: Option<Vec<Arc<TableDefinition>>>| {
        let prepared = Prepared { tables, ..statement(1).prepared.clone() };
        Arc::new(CachedStatement::new(prepared, None))
    };
    let (a, b) = (table(100, 1, "a"), table(101, 1, "b"));
    let kept = |schema: &Schema, tables: Option<Vec<Arc<TableDefinition>>>| {
        let mut cache = StatementCache::new(1 << 20);
        cache.insert(1, "x", KEPT_ANYWHERE, bound_to(tables));
        cache.get(1, "x", ANYWHERE, schema, |_| true).is_some()
    };
    let of_a = || Some(vec![Arc::clone(&a)]);
    let others = with_tables(9, &[Arc::clone(&a), table(101, 2, "b"), table(102, 1, "c")]);
    assert!(kept(&others, of_a()), "the others changed");
    assert!(kept(&others, Some(Vec::new())), "it names no table");
    assert!(!kept(&others, None), "it depends on more than tables");
    assert!(!kept(&others, Some(vec![Arc::clone(&a), Arc::clone(&b)])), "one of its tables changed");
    assert!(!kept(&with_tables(2, &[table(100, 2, "a")]), of_a()), "it has another version");
    assert!(!kept(&with_tables(2, &[]), of_a()), "it is gone");
    assert!(!kept(&with_tables(2, &[table(103, 1, "a")]), of_a()), "another table has its name");
    let swapped = with_tables(2, &[table(100, 2, "b"), table(101, 2, "a")]);
    assert!(!kept(&swapped, of_a()), "tables swapped their names");
    assert!(!kept(&swapped, Some(vec![Arc::clone(&b)])));
}

#[test]
fn a_plan_is_looked_at_once_per_schema_and_all_can_be_forgotten() {
    let mut cache = StatementCache::new(1 << 20);
    let a = table(100, 1, "a");
    let prepared = Prepared { tables: Some(vec![Arc::clone(&a)]), ..statement(1).prepared.clone() };
    cache.insert(1, "x", KEPT_ANYWHERE, Arc::new(CachedStatement::new(prepared, None)));
    assert!(cache.get(1, "x", ANYWHERE, &with_tables(2, &[a]), |_| true).is_some());
    // (The same version without the table: nobody looked again.)
    assert!(cache.get(1, "x", ANYWHERE, &version(2), |_| true).is_some());
    assert!(cache.get(1, "x", ANYWHERE, &version(3), |_| true).is_none());
    cache.insert(1, "x", KEPT_ANYWHERE, statement(3));
    cache.clear();
    assert_eq!(cache.size(), 0);
    assert!(cache.get(1, "x", ANYWHERE, &version(3), |_| true).is_none());
}
