use super::{Bound, CachedStatement, StatementCache};
use planner::plan::{Plan, Prepared};
use std::sync::Arc;
use types::SchemaVersion;

fn statement(version: u64) -> Arc<CachedStatement> {
    let prepared = Prepared {
        schema: SchemaVersion(version),
        plan: Plan::Nothing { note: None },
        parameters: Vec::new(),
        session_values: Vec::new(),
        is_volatile: false,
        columns: Arc::new(Vec::new()),
        warnings: Vec::new(),
    };
    Arc::new(CachedStatement::new(prepared, None))
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
    assert!(cache.get(1, "SELECT ?", test, SchemaVersion(5)).is_some());
    assert!(cache.get(2, "SELECT ?", test, SchemaVersion(5)).is_none());
    assert!(cache.get(1, "SELECT ? ", test, SchemaVersion(5)).is_none());
    assert!(cache.get(1, "SELECT ?", Bound { database: None, ..test }, SchemaVersion(5)).is_none());
    // A session that binds otherwise has an entry of its own.
    let other = Bound { bind_key: 8, ..test };
    assert!(cache.get(1, "SELECT ?", other, SchemaVersion(5)).is_none());
    // So has one that may do other things.
    let less = Bound { privileges: 2, ..test };
    assert!(cache.get(1, "SELECT ?", less, SchemaVersion(5)).is_none());
    assert!(cache.get(1, "SELECT ?", test, SchemaVersion(6)).is_none());
    assert_eq!((cache.hits, cache.misses), (1, 6));
}

#[test]
fn it_is_bounded_and_keeps_what_is_used() {
    let size = 8 * (super::PLAN_SIZE + super::SIZE_PER_TEXT_BYTE);
    let mut cache = StatementCache::new(size);
    for digest in 0..100 {
        cache.insert(digest, "x", KEPT_ANYWHERE, statement(1));
        assert!(cache.get(0, "x", ANYWHERE, SchemaVersion(1)).is_some());
        assert!(cache.get(digest, "x", ANYWHERE, SchemaVersion(1)).is_some());
        assert!(cache.size() <= size);
    }
    assert!(cache.get(50, "x", ANYWHERE, SchemaVersion(1)).is_none());
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
        assert!(cache.get(digest, &long, ANYWHERE, SchemaVersion(2)).is_some());
    }
    assert!(cache.get(95, &long, ANYWHERE, SchemaVersion(2)).is_none());
}

#[test]
fn what_is_larger_than_the_cache_is_not_kept() {
    let mut cache = StatementCache::new(1 << 20);
    cache.insert(1, "x", KEPT_ANYWHERE, statement(1));
    let long = "x".repeat(100_000);
    cache.insert(2, &long, KEPT_ANYWHERE, statement(1));
    assert!(cache.get(2, &long, ANYWHERE, SchemaVersion(1)).is_none());
    assert!(cache.get(1, "x", ANYWHERE, SchemaVersion(1)).is_some());
}
