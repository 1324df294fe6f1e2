//! Prepared plans by the text they came from: one hash look-up per text statement.
//!
//! The key is the digest of the text with markers and the parameter types, with what else of the session it was bound
//! to ([`Bound`]). Digests are not made to resist chosen collisions, so the text is compared too. An entry that was
//! bound to another schema version is looked at once per version. If its tables are the same as then it goes on, else
//! it is as good as none. So is an entry that was chosen by row counts, once a table has many more rows or fewer: that
//! is looked at whenever it is used. Other entries pay nothing for it.
//!
//! Bounded: two generations. An entry that is used moves to (or stays in) the young one. When that is full the old one
//! is dropped and they change roles. So whatever was used since the last change survives, and no use costs more than a
//! move.
//!
//! A plan's memory is estimated from the length of its text. The true size is not known, and an INSERT of a thousand
//! rows holds ten times what a point select does. The factors are what the heap held after the load of
//! `cargo xtask soak`, rounded up.
//!
//! Invariant: the plans kept weigh at most `2 × capacity`, and none is kept for ever without use while others come.

#[cfg(test)]
mod tests;

use planner::plan::{Plan, Prepared};
use std::sync::Arc;
use stdx::FixedMap;
use types::{CharacterSet, Collation, Schema, SchemaVersion};

/// A plan with what is worth keeping beside it.
#[derive(Debug)]
pub(crate) struct CachedStatement {
    pub(crate) prepared: Prepared,
    /// Column count and definitions as packets; empty if there is no result set.
    pub(crate) column_frames: Vec<u8>,
    /// How it runs if it is a point select.
    pub(crate) point: Option<crate::point_select::PointSelect>,
    /// How it runs if it is a chain of keys.
    pub(crate) chain: Option<Box<crate::key_chain::KeyChain>>,
    /// How it runs if it is a list of keys.
    pub(crate) list: Option<Box<crate::key_list::KeyList>>,
    /// The character set of its results, if that is not UTF-8.
    pub(crate) results: Option<CharacterSet>,
    /// It changes a table whose commits are answered when they are durable.
    pub(crate) asks_durable: bool,
    /// It changes or locks rows of a table whose rows are being copied.
    pub(crate) is_closed: bool,
}

impl CachedStatement {
    /// A plan with its column definitions encoded, for a client that wants text in the character set of `results`.
    pub(crate) fn new(prepared: Prepared, results: Option<Collation>) -> Self {
        let column_frames = crate::results::column_frames(&prepared.columns, results);
        let narrow = results.and_then(Collation::narrow_set);
        // A row that is transcoded is not copied from storage to the client.
        let point = if narrow.is_none() { crate::point_select::PointSelect::of(&prepared) } else { None };
        let chain = if narrow.is_none() { crate::key_chain::KeyChain::of(&prepared) } else { None };
        let list = if narrow.is_none() { crate::key_list::KeyList::of(&prepared) } else { None };
        let asks_durable = asks_durable(&prepared.plan);
        let is_closed = prepared.plan.closed().next().is_some();
        Self { prepared, column_frames, point, chain, list, results: narrow, asks_durable, is_closed }
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "nothing else changes rows of a table")]
fn asks_durable(plan: &Plan) -> bool {
    match plan {
        Plan::Insert(_) | Plan::Update(_) | Plan::Delete(_) => {
            plan.table().is_some_and(|table| table.awaits_durable())
        }
        _ => false,
    }
}

/// The part of a session that a plan is bound to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Bound<D> {
    /// The current database.
    pub(crate) database: Option<D>,
    /// `SessionVariables::bind_key`.
    pub(crate) bind_key: u64,
    /// The number of the privilege set: a plan that is found is permitted.
    pub(crate) privileges: u64,
}

impl Bound<&str> {
    /// The key of a text: sessions that bind otherwise have entries beside each other.
    fn key(self, digest: u128) -> u128 {
        // Multiplied by an odd constant: two texts' keys are as far apart as their digests.
        let bound = u128::from(self.bind_key) ^ u128::from(self.privileges) << 64;
        digest ^ bound.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
    }
}

#[derive(Debug)]
struct Entry {
    text: Box<str>,
    bound: Bound<Arc<str>>,
    statement: Arc<CachedStatement>,
    /// The newest schema that it was found to fit; `NEVER` if it must be looked at each time.
    checked: SchemaVersion,
}

/// The version of no schema.
pub(crate) const NEVER: SchemaVersion = SchemaVersion(u64::MAX);

/// The schema version up to which a plan that fits one need not be looked at again.
pub(crate) fn checked_for(prepared: &Prepared, version: SchemaVersion) -> SchemaVersion {
    if prepared.bands.is_empty() { version } else { NEVER }
}

/// Bytes of the smallest plan, with its entry.
const PLAN_SIZE: usize = 4_096;
/// Bytes of a plan for each byte of its text.
const SIZE_PER_TEXT_BYTE: usize = 24;

impl Entry {
    /// About how many bytes it holds.
    fn weight(&self) -> usize {
        PLAN_SIZE + self.text.len() * SIZE_PER_TEXT_BYTE
    }

    fn is_for(&self, text: &str, bound: Bound<&str>) -> bool {
        *self.text == *text
            && self.bound.bind_key == bound.bind_key
            && self.bound.privileges == bound.privileges
            && self.bound.database.as_deref() == bound.database
    }

    /// Whether its plan is one for this schema, and for tables of these sizes.
    #[inline]
    fn is_current(&mut self, schema: &Schema, fits_rows: impl FnOnce(&Prepared) -> bool) -> bool {
        self.checked == schema.version || self.check(schema, fits_rows)
    }

    #[cold]
    fn check(&mut self, schema: &Schema, fits_rows: impl FnOnce(&Prepared) -> bool) -> bool {
        let prepared = &self.statement.prepared;
        let fits = prepared.fits(schema) && fits_rows(prepared);
        if fits {
            self.checked = checked_for(prepared, schema.version);
        }
        fits
    }
}

/// The plans of one module.
#[derive(Debug)]
pub(crate) struct StatementCache {
    /// Bytes of each generation.
    capacity: usize,
    /// Bytes of the young one.
    weight: usize,
    young: FixedMap<u128, Entry>,
    old: FixedMap<u128, Entry>,
    pub(crate) hits: u64,
    pub(crate) misses: u64,
}

impl StatementCache {
    /// A cache that holds about `size` bytes of plans.
    pub(crate) fn new(size: usize) -> Self {
        Self {
            capacity: size / 2,
            weight: 0,
            young: FixedMap::default(),
            old: FixedMap::default(),
            hits: 0,
            misses: 0,
        }
    }

    /// The plan for a text, if one that fits this schema is kept; `fits_rows` is asked of plans with bands.
    pub(crate) fn get(
        &mut self,
        digest: u128,
        text: &str,
        bound: Bound<&str>,
        schema: &Schema,
        fits_rows: impl FnOnce(&Prepared) -> bool,
    ) -> Option<Arc<CachedStatement>> {
        let digest = bound.key(digest);
        if !self.young.contains_key(&digest)
            && let Some(entry) = self.old.remove(&digest)
        {
            self.insert_entry(digest, entry);
        }
        if let Some(entry) = self.young.get_mut(&digest)
            && entry.is_for(text, bound)
            && entry.is_current(schema, fits_rows)
        {
            self.hits += 1;
            return Some(Arc::clone(&entry.statement));
        }
        self.misses += 1;
        None
    }

    /// Forgets all plans: what all of them may be bound to has changed.
    pub(crate) fn clear(&mut self) {
        (self.young, self.old, self.weight) = (FixedMap::default(), FixedMap::default(), 0);
    }

    /// Keeps a plan, unless it is so large that it would drive out all others.
    pub(crate) fn insert(
        &mut self,
        digest: u128,
        text: &str,
        bound: Bound<&Arc<str>>,
        statement: Arc<CachedStatement>,
    ) {
        let Bound { database, bind_key, privileges } = bound;
        let key = Bound { database: database.map(|database| &**database), bind_key, privileges }.key(digest);
        let bound = Bound { database: database.cloned(), bind_key, privileges };
        let checked = checked_for(&statement.prepared, statement.prepared.schema);
        self.insert_entry(key, Entry { text: text.into(), bound, statement, checked });
    }

    fn insert_entry(&mut self, digest: u128, entry: Entry) {
        let weight = entry.weight();
        if weight > self.capacity {
            return;
        }
        self.forget_young(digest);
        if self.weight + weight > self.capacity {
            self.old = std::mem::take(&mut self.young);
            self.weight = 0;
        }
        self.weight += weight;
        self.young.insert(digest, entry);
    }

    fn forget_young(&mut self, digest: u128) {
        if let Some(entry) = self.young.remove(&digest) {
            self.weight -= entry.weight();
        }
    }

    /// The weight of all that is kept.
    #[cfg(test)]
    fn size(&self) -> usize {
        let weigh = |entries: &FixedMap<u128, Entry>| entries.values().map(Entry::weight).sum::<usize>();
        assert_eq!(weigh(&self.young), self.weight);
        self.weight + weigh(&self.old)
    }
}
