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
    let mut cache = StatementCache::new(8);
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
    let mut cache = StatementCache::new(4);
    for digest in 0..100 {
        cache.insert(digest, "x", None, statement(1));
        assert!(cache.get(0, "x", None, SchemaVersion(1)).is_some());
        assert!(cache.len() <= 8);
    }
    assert!(cache.get(50, "x", None, SchemaVersion(1)).is_none());
}
