use super::{CachedStatement, StatementCache};
use crate::plan::{Plan, Prepared};
use std::sync::Arc;
use types::SchemaVersion;

fn statement(version: u64) -> Arc<CachedStatement> {
    Arc::new(CachedStatement::new(Prepared {
        schema: SchemaVersion(version),
        plan: Plan::Nothing { note: None },
        parameters: Vec::new(),
        session_values: Vec::new(),
        columns: Arc::new(Vec::new()),
    }))
}

#[test]
fn a_hit_needs_digest_text_database_and_schema() {
    let mut cache = StatementCache::new(1 << 20);
    let database: Arc<str> = "test".into();
    cache.insert(1, "SELECT ?", Some(&database), statement(5));
    assert!(cache.get(1, "SELECT ?", Some("test"), SchemaVersion(5)).is_some());
    assert!(cache.get(2, "SELECT ?", Some("test"), SchemaVersion(5)).is_none());
    assert!(cache.get(1, "SELECT ? ", Some("test"), SchemaVersion(5)).is_none());
    assert!(cache.get(1, "SELECT ?", None, SchemaVersion(5)).is_none());
    assert!(cache.get(1, "SELECT ?", Some("test"), SchemaVersion(6)).is_none());
    assert_eq!((cache.hits, cache.misses), (1, 4));
}

#[test]
fn it_is_bounded_and_keeps_what_is_used() {
    let size = 8 * (super::PLAN_SIZE + super::SIZE_PER_TEXT_BYTE);
    let mut cache = StatementCache::new(size);
    for digest in 0..100 {
        cache.insert(digest, "x", None, statement(1));
        assert!(cache.get(0, "x", None, SchemaVersion(1)).is_some());
        assert!(cache.get(digest, "x", None, SchemaVersion(1)).is_some());
        assert!(cache.size() <= size);
    }
    assert!(cache.get(50, "x", None, SchemaVersion(1)).is_none());
}

#[test]
fn long_texts_weigh_more() {
    let mut cache = StatementCache::new(1 << 20);
    let long = "x".repeat(10_000);
    for digest in 0..100 {
        cache.insert(digest, &long, None, statement(1));
        // The same again replaces it.
        cache.insert(digest, &long, None, statement(2));
        assert!(cache.size() <= 1 << 20);
        assert!(cache.get(digest, &long, None, SchemaVersion(2)).is_some());
    }
    assert!(cache.get(95, &long, None, SchemaVersion(2)).is_none());
}

#[test]
fn what_is_larger_than_the_cache_is_not_kept() {
    let mut cache = StatementCache::new(1 << 20);
    cache.insert(1, "x", None, statement(1));
    let long = "x".repeat(100_000);
    cache.insert(2, &long, None, statement(1));
    assert!(cache.get(2, &long, None, SchemaVersion(1)).is_none());
    assert!(cache.get(1, "x", None, SchemaVersion(1)).is_some());
}
