//! Fragments against a model that keeps plain lists of versions, and what is promised about memory.

use crate::reader::batch::tests::in_batches;
use crate::*;
use memory::{Guard, MemoryConfig, MemoryManager, Region};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;
use stdx::Prng;
use types::*;

mod concurrent;

const PRIMARY: IndexId = IndexId(0);
const BY_K: IndexId = IndexId(1);
/// A quick look under Miri, a long one otherwise.
const EFFORT: u64 = if cfg!(miri) { 1 } else { 40 };

fn column(name: &str, sql_type: SqlType) -> ColumnDefinition {
    ColumnDefinition {
        name: name.into(),
        sql_type,
        default: DefaultValue::Missing,
        flags: ColumnFlags::default(),
        comment: String::new(),
        format: types::NumberFormat::default(),
        absent: None,
    }
}

fn index(id: u32, name: &str, kind: IndexKind, column: u16) -> IndexDefinition {
    let parts = vec![KeyPart { column: ColumnIndex(column), prefix_length: None, descending: false }];
    IndexDefinition { id: IndexId(id), name: name.into(), kind, parts, state: IndexState::Public }
}

/// `t (id INT PRIMARY KEY, k INT, pad VARBINARY)`, with or without an index on `k`.
pub(crate) fn definition(with_index: bool) -> Arc<FragmentDefinition> {
    let int = || SqlType::Integer { width: IntegerWidth::Normal, unsigned: false };
    let mut indexes = vec![index(0, "PRIMARY", IndexKind::Primary, 0)];
    if with_index {
        indexes.push(index(1, "k", IndexKind::Ordered, 1));
    }
    Arc::new(FragmentDefinition::new(&Arc::new(TableDefinition {
        id: TableId(1),
        version: 1,
        database: "test".into(),
        name: "t".into(),
        kind: TableKind::User,
        columns: vec![
            column("id", int()),
            column("k", int()),
            column("pad", SqlType::VarBinary { length: u32::MAX >> 1 }),
        ],
        indexes,
        auto_increment: None,
        comment: String::new(),
        collation: Collation::Binary,
        slots: types::TableSlots::ONE_RANK,
        copied_to: None,
        checks: Vec::new(),
    })))
}

pub(crate) fn memory(mib: u64) -> Arc<MemoryManager> {
    MemoryManager::new(MemoryConfig::with_data_memory(mib << 20))
}

pub(crate) fn key(id: i64) -> Vec<u8> {
    let mut key = Vec::new();
    definition(false).primary_key().encode_values(&[ValueRef::Int(id)], &mut key);
    key
}

fn k_bytes(k: i64) -> Vec<u8> {
    key(k)
}

pub(crate) fn row(id: i64, k: i64, pad: &[u8]) -> Vec<u8> {
    let mut row = Vec::new();
    definition(false).layout().encode(&[ValueRef::Int(id), ValueRef::Int(k), ValueRef::Bytes(pad)], &mut row);
    row
}

pub(crate) fn reclaim_all(fragment: &mut Fragment) {
    // Other tests of this process read, too: what they hold back is freed when they are done.
    while fragment.reclaim(u32::MAX) {
        std::thread::yield_now();
    }
}

pub(crate) fn commit_row(fragment: &mut Fragment, id: i64, bytes: Option<&[u8]>, epoch: u64) {
    let transaction = TransactionId(epoch);
    let handle = fragment.stage(&key(id), transaction, bytes).unwrap();
    fragment.commit(handle, transaction, Epoch(epoch));
}

#[derive(Clone, PartialEq, Debug)]
struct ModelVersion {
    state: VersionState,
    /// `k` and the row.
    row: Option<(i64, Vec<u8>)>,
}

/// Versions, newest first.
type Chain = Vec<ModelVersion>;

struct Model {
    fragment: Fragment,
    rows: BTreeMap<i64, Chain>,
    handles: BTreeMap<(u64, i64), RowHandle>,
    epoch: u64,
    lowest: u64,
    prng: Prng,
    indexed: bool,
}

fn owner_of(version: &ModelVersion) -> Option<u64> {
    version.state.transaction().map(|transaction| transaction.0)
}

impl Model {
    fn new(seed: u64, indexed: bool) -> Self {
        Self {
            fragment: Fragment::new(definition(indexed), memory(64)),
            rows: BTreeMap::new(),
            handles: BTreeMap::new(),
            epoch: 10,
            lowest: u64::MAX,
            prng: Prng::new(seed),
            indexed,
        }
    }

    fn bytes(&mut self, id: i64) -> Option<(i64, Vec<u8>)> {
        if self.prng.chance(1, 4) {
            return None;
        }
        let k = i64::try_from(self.prng.below(6)).unwrap() - 2;
        let pad = vec![7; self.prng.index(40)];
        Some((k, row(id, k, &pad)))
    }

    /// Drops what no snapshot needs and rows that show nothing, as far as scans can tell.
    fn tidy(&mut self, id: i64) {
        let chain = self.rows.entry(id).or_default();
        let lowest = self.lowest;
        let mut is_covered = false;
        chain.retain(|version| match version.state {
            VersionState::Committed(epoch) => {
                let is_kept = !is_covered;
                is_covered |= epoch.0 <= lowest;
                is_kept
            }
            VersionState::Staged(_) | VersionState::Prepared(_) => true,
        });
        if chain.len() == 1 && chain[0].row.is_none() && owner_of(&chain[0]).is_none() {
            chain.clear();
        }
        if chain.is_empty() {
            self.rows.remove(&id);
        }
    }

    fn step(&mut self) {
        let id = i64::try_from(self.prng.below(12)).unwrap();
        let transaction = 1 + self.prng.below(4);
        let chain = self.rows.entry(id).or_default().clone();
        let is_mine = |version: &ModelVersion| owner_of(version) == Some(transaction);
        let is_free = chain.iter().all(|version| owner_of(version).is_none_or(|owner| owner == transaction));
        let handle = self.handles.get(&(transaction, id)).copied();
        match (self.prng.below(10), handle) {
            (0..4, _) if is_free && !chain.iter().any(|v| matches!(v.state, VersionState::Prepared(_))) => {
                let row = self.bytes(id);
                let bytes = row.as_ref().map(|(_, bytes)| bytes.as_slice());
                let handle = self.fragment.stage(&key(id), TransactionId(transaction), bytes).unwrap();
                self.handles.insert((transaction, id), handle);
                let state = VersionState::Staged(TransactionId(transaction));
                self.rows.entry(id).or_default().insert(0, ModelVersion { state, row });
            }
            // A backup: on top of whatever others have prepared.
            (4, _) if !chain.iter().any(is_mine) && !has_staged(&chain) => {
                let row = self.bytes(id);
                let bytes = row.as_ref().map(|(_, bytes)| bytes.as_slice());
                let handle =
                    self.fragment.apply_prepared(&key(id), TransactionId(transaction), bytes).unwrap();
                self.handles.insert((transaction, id), handle);
                let state = VersionState::Prepared(TransactionId(transaction));
                self.rows.entry(id).or_default().insert(0, ModelVersion { state, row });
            }
            (5, Some(handle)) if !chain.iter().any(|v| v.state == prepared(transaction)) => {
                self.fragment.unstage(handle, TransactionId(transaction));
                let chain = self.rows.entry(id).or_default();
                if let Some(position) = chain.iter().position(is_mine) {
                    chain.remove(position);
                }
            }
            (6, Some(handle)) => {
                self.fragment.prepare(handle, TransactionId(transaction));
                self.collapse(id, transaction, prepared(transaction));
            }
            (7 | 8, Some(handle)) => {
                self.epoch += self.prng.below(2);
                self.fragment.commit(handle, TransactionId(transaction), Epoch(self.epoch));
                self.collapse(id, transaction, VersionState::Committed(Epoch(self.epoch)));
            }
            (9, Some(handle)) => {
                self.fragment.abort(handle, TransactionId(transaction));
                self.rows.entry(id).or_default().retain(|version| !is_mine(version));
            }
            _ => {}
        }
        self.tidy(id);
        if self.prng.chance(1, 8) {
            self.fragment.reclaim(u32::try_from(self.prng.below(9)).unwrap());
        }
    }

    fn collapse(&mut self, id: i64, transaction: u64, state: VersionState) {
        let chain = self.rows.entry(id).or_default();
        let mut is_first = true;
        chain.retain_mut(|version| {
            if owner_of(version) != Some(transaction) {
                return true;
            }
            version.state = state;
            std::mem::replace(&mut is_first, false)
        });
    }

    fn visible(chain: &Chain, visibility: Visibility) -> Option<Result<(i64, Vec<u8>), ()>> {
        for version in chain {
            let own = match visibility {
                Visibility::Transaction(own) => Some(own.0),
                Visibility::Committed | Visibility::Snapshot(_) | Visibility::Stale => None,
            };
            match (version.state, visibility) {
                (VersionState::Committed(epoch), Visibility::Snapshot(snapshot)) if epoch > snapshot => {}
                (VersionState::Committed(_), _) => return version.row.clone().map(Ok),
                _ if own.is_some() && owner_of(version) == own => return version.row.clone().map(Ok),
                (VersionState::Prepared(_), Visibility::Stale) | (VersionState::Staged(_), _) => {}
                (VersionState::Prepared(_), _) => return Some(Err(())),
            }
        }
        None
    }

    fn check(&mut self) {
        let mut visibilities = vec![Visibility::Committed, Visibility::Stale];
        visibilities.extend((1..5).map(|own| Visibility::Transaction(TransactionId(own))));
        if self.lowest < u64::MAX {
            visibilities.extend((self.lowest..=self.epoch).map(|epoch| Visibility::Snapshot(Epoch(epoch))));
        }
        for visibility in visibilities {
            self.check_visibility(visibility);
        }
        for (id, chain) in &self.rows {
            let newest = self.fragment.newest(&key(*id));
            assert_eq!(newest.state, chain.first().map(|version| version.state));
            let bytes = chain.first().and_then(|version| version.row.as_ref()).map(|row| row.1.as_slice());
            assert_eq!(newest.row, bytes);
            for transaction in 1..5 {
                let top = chain.iter().find(|version| owner_of(version) == Some(transaction));
                if let (Some(top), Some(handle)) = (top, self.handles.get(&(transaction, *id))) {
                    assert_eq!(self.fragment.key_of(*handle), key(*id));
                    let expected = Some(top.row.as_ref().map(|row| row.1.as_slice()));
                    assert_eq!(self.fragment.staged_row(*handle, TransactionId(transaction)), expected);
                }
            }
        }
    }

    fn check_visibility(&mut self, visibility: Visibility) {
        let reader = self.fragment.reader();
        let guard = Guard::enter();
        let mut by_id = BTreeMap::new();
        let mut by_k = BTreeMap::new();
        self.check_many(&reader, &guard, visibility);
        for id in 0..12 {
            let chain = self.rows.get(&id).cloned().unwrap_or_default();
            let visible = Self::visible(&chain, visibility);
            match (&visible, reader.get(&guard, &key(id), visibility)) {
                (None, Lookup::Absent) | (Some(Err(())), Lookup::Undecided) => {}
                (Some(Ok((_, expected))), Lookup::Found(found)) => assert_eq!(found, expected),
                (expected, found) => panic!("{id} {visibility:?}: {expected:?} but {found:?}"),
            }
            match visible {
                Some(Ok((k, bytes))) => {
                    by_k.insert([k_bytes(k), key(id)].concat(), Some(bytes.clone()));
                    by_id.insert(key(id), Some(bytes));
                }
                Some(Err(())) => {
                    by_id.insert(key(id), None);
                    for (k, _) in chain.iter().filter_map(|version| version.row.as_ref()) {
                        by_k.insert([k_bytes(*k), key(id)].concat(), None);
                    }
                }
                None => {}
            }
        }
        let mut indexes = vec![(PRIMARY, by_id)];
        // With snapshots, the model keeps no account of which older versions are still linked.
        if self.indexed && self.lowest == u64::MAX {
            indexes.push((BY_K, by_k));
        }
        for (index, expected) in indexes {
            let lower = self.bound(index);
            let upper = self.bound(index);
            let bounds = KeyBounds { lower: as_slice(&lower), upper: as_slice(&upper) };
            let collect = |direction| -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
                let cursor = reader.scan(&guard, index, bounds, direction, visibility).unwrap();
                cursor.map(entry_of).collect()
            };
            let within: Vec<_> =
                expected.into_iter().filter(|(key, _)| is_within(key, &lower, &upper)).collect();
            assert_eq!(collect(Direction::Forward), within, "{index:?} {visibility:?} {bounds:?}");
            let mut backward = collect(Direction::Backward);
            backward.reverse();
            assert_eq!(backward, within);
            let cursor = reader.scan(&guard, index, bounds, Direction::Forward, visibility).unwrap();
            assert_eq!(in_batches(cursor, &mut self.prng), within, "{index:?} {visibility:?} {bounds:?}");
        }
    }

    /// Many keys at once give what each gives alone, in any order, absent and repeated ones, too.
    fn check_many(&mut self, reader: &Reader, guard: &Guard, visibility: Visibility) {
        let keys: Vec<Vec<u8>> = (0..self.prng.index(MANY_MAX + 1))
            .map(|_| key(i64::try_from(self.prng.below(15)).unwrap()))
            .collect();
        let wanted: Vec<Wanted<'_, '_>> = keys.iter().map(|key| wanted(reader, key)).collect();
        let mut found = [Lookup::Undecided; MANY_MAX];
        get_many(guard, &wanted, visibility, &mut found);
        for (found, key) in found.iter().zip(&keys) {
            assert_eq!(*found, reader.get(guard, key, visibility), "{key:?} {visibility:?}");
        }
    }

    fn bound(&mut self, index: IndexId) -> Bound<Vec<u8>> {
        let value = i64::try_from(self.prng.below(14)).unwrap() - 2;
        let mut bytes = key(value);
        if index == BY_K && self.prng.chance(1, 2) {
            bytes.extend(key(i64::try_from(self.prng.below(12)).unwrap()));
        }
        match self.prng.below(3) {
            0 => Bound::Unbounded,
            1 => Bound::Included(bytes),
            _ => Bound::Excluded(bytes),
        }
    }

    /// Everything is decided and deleted: nothing is left.
    fn finish(mut self) {
        self.fragment.set_lowest_snapshot(Epoch(u64::MAX));
        for ((transaction, _), handle) in std::mem::take(&mut self.handles) {
            self.fragment.abort(handle, TransactionId(transaction));
        }
        for id in 0..12 {
            commit_row(&mut self.fragment, id, None, self.epoch + 1);
        }
        reclaim_all(&mut self.fragment);
        let statistics = self.fragment.statistics();
        assert_eq!((statistics.rows, statistics.versions), (0, 0));
        assert_eq!((statistics.data_bytes, statistics.retired_bytes), (0, 0));
        assert!(statistics.index_bytes < 512, "{statistics:?}");
    }
}

fn wanted<'g, 'k>(reader: &'g Reader, key: &'k [u8]) -> Wanted<'g, 'k> {
    Wanted { reader, key, hash: stdx::hash64(key) }
}

fn prepared(transaction: u64) -> VersionState {
    VersionState::Prepared(TransactionId(transaction))
}

fn has_staged(chain: &Chain) -> bool {
    chain.iter().any(|version| matches!(version.state, VersionState::Staged(_)))
}

fn as_slice(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    match bound {
        Bound::Unbounded => Bound::Unbounded,
        Bound::Included(key) => Bound::Included(key),
        Bound::Excluded(key) => Bound::Excluded(key),
    }
}

fn is_within(key: &Vec<u8>, lower: &Bound<Vec<u8>>, upper: &Bound<Vec<u8>>) -> bool {
    let is_above = match lower {
        Bound::Unbounded => true,
        Bound::Included(bound) => key >= bound,
        Bound::Excluded(bound) => key > bound,
    };
    let is_below = match upper {
        Bound::Unbounded => true,
        Bound::Included(bound) => key <= bound,
        Bound::Excluded(bound) => key < bound,
    };
    is_above && is_below
}

pub(crate) fn entry_of(item: ScanItem<'_>) -> (Vec<u8>, Option<Vec<u8>>) {
    match item {
        ScanItem::Row { index_key, key, row } => {
            assert!(index_key.ends_with(key));
            (index_key.to_vec(), Some(row.to_vec()))
        }
        ScanItem::Undecided { index_key, key } => {
            assert!(index_key.ends_with(key));
            (index_key.to_vec(), None)
        }
    }
}

#[test]
fn behaves_as_the_model_without_snapshots() {
    for seed in 0..EFFORT {
        let mut model = Model::new(seed, true);
        for _ in 0..300 {
            model.step();
            if model.prng.chance(1, 4) {
                model.check();
            }
        }
        model.finish();
    }
}

#[test]
fn behaves_as_the_model_with_snapshots() {
    for seed in 0..EFFORT {
        let mut model = Model::new(1000 + seed, true);
        model.lowest = model.epoch;
        model.fragment.set_lowest_snapshot(Epoch(model.lowest));
        for _ in 0..300 {
            model.step();
            if model.prng.chance(1, 4) {
                model.check();
            }
            if model.prng.chance(1, 16) {
                model.lowest += model.prng.below(model.epoch - model.lowest + 1);
                model.fragment.set_lowest_snapshot(Epoch(model.lowest));
                let ids: Vec<i64> = model.rows.keys().copied().collect();
                ids.into_iter().for_each(|id| model.tidy(id));
                model.fragment.reclaim(1000);
            }
        }
        model.finish();
    }
}

#[test]
fn a_cursor_goes_from_range_to_range() {
    let mut fragment = Fragment::new(definition(true), memory(64));
    for id in 0..300 {
        commit_row(&mut fragment, id * 3, Some(&row(id * 3, id * 7 % 50, b"x")), 1);
    }
    let reader = fragment.reader();
    let guard = Guard::enter();
    let mut prng = Prng::new(11);
    for _ in 0..500 {
        let (index, limit) = if prng.chance(1, 2) { (PRIMARY, 900) } else { (BY_K, 50) };
        let direction = if prng.chance(1, 2) { Direction::Forward } else { Direction::Backward };
        let mut bound = || {
            let key = key(i64::try_from(prng.below(limit)).unwrap());
            match prng.below(5) {
                0 => Bound::Unbounded,
                1 | 2 => Bound::Included(key),
                _ => Bound::Excluded(key),
            }
        };
        let mut ranges: Vec<_> = (0..8).map(|_| (bound(), bound())).collect();
        if prng.chance(3, 4) {
            ranges.sort_by_key(|(lower, _)| match lower {
                Bound::Unbounded => Vec::new(),
                Bound::Included(key) | Bound::Excluded(key) => key.clone(),
            });
        }
        let mut cursor = reader.cursor(&guard, index, direction, Visibility::Committed).unwrap();
        for (lower, upper) in &ranges {
            let bounds = KeyBounds { lower: as_slice(lower), upper: as_slice(upper) };
            cursor.seek(bounds);
            let fresh = reader.scan(&guard, index, bounds, direction, Visibility::Committed).unwrap();
            assert_eq!(
                cursor.by_ref().collect::<Vec<_>>(),
                fresh.collect::<Vec<_>>(),
                "{index:?} {bounds:?}"
            );
        }
    }
}

/// Enough rows for overflow buckets and for tags that two keys share.
#[test]
fn many_keys_at_once_find_rows_of_several_fragments() {
    const ROWS: i64 = if cfg!(miri) { 60 } else { 40_000 };
    let memory = memory(64);
    let mut fragments = [0, 1].map(|_| Fragment::new(definition(false), Arc::clone(&memory)));
    for id in 0..ROWS {
        commit_row(&mut fragments[usize::try_from(id % 2).unwrap()], id, Some(&row(id, id, b"")), 7);
    }
    let readers = [fragments[0].reader(), fragments[1].reader()];
    let guard = Guard::enter();
    // Each key is looked for where it is, and where it is not.
    let keys: Vec<(i64, Vec<u8>)> = (0..ROWS).map(|id| (id, key(id))).collect();
    for keys in keys.chunks(MANY_MAX) {
        for other in 0..2 {
            let reader = |id: i64| &readers[usize::try_from((id + other) % 2).unwrap()];
            let wanted: Vec<_> = keys.iter().map(|(id, key)| wanted(reader(*id), key)).collect();
            let mut found = [Lookup::Undecided; MANY_MAX];
            get_many(&guard, &wanted, Visibility::Committed, &mut found);
            for (found, (id, _)) in found.iter().zip(keys) {
                let expected = row(*id, *id, b"");
                let expected = if other == 0 { Lookup::Found(&expected) } else { Lookup::Absent };
                assert_eq!(*found, expected, "row {id}");
            }
        }
    }
}

#[test]
fn a_sample_is_some_of_the_committed_rows() {
    let mut fragment = Fragment::new(definition(false), memory(16));
    for id in 0..1_000 {
        let handle = fragment.stage(&key(id), TransactionId(1), Some(&row(id, id % 10, b""))).unwrap();
        if id < 900 {
            fragment.commit(handle, TransactionId(1), Epoch(1));
        }
    }
    let reader = fragment.reader();
    let guard = Guard::enter();
    let sample = |count_max| {
        let ids = reader.sample(&guard, count_max).map(|row| {
            let ValueRef::Int(id) = definition(false).layout().column(row, ColumnIndex(0)) else {
                panic!("a number")
            };
            id
        });
        ids.collect::<Vec<i64>>()
    };
    // Those that are only staged count, and are not given.
    let all: BTreeSet<i64> = sample(2_000).into_iter().collect();
    assert_eq!(all, (0..900).collect());
    let some = sample(200);
    assert!((150..=200).contains(&some.len()), "{}", some.len());
    // They are spread over all keys.
    let low = some.iter().filter(|id| **id < 450).count();
    assert!((some.len() * 35 / 100..some.len() * 65 / 100).contains(&low), "{low} of {}", some.len());
    assert_eq!(sample(0), Vec::<i64>::new());
}

#[test]
fn the_share_of_a_range_is_about_right_for_keys_in_any_order() {
    let mut fragment = Fragment::new(definition(false), memory(16));
    let share = |fragment: &Fragment, lower: Bound<i64>, upper: Bound<i64>| {
        let (reader, guard) = (fragment.reader(), Guard::enter());
        let (lower, upper) = (lower.map(key), upper.map(key));
        let bounds = KeyBounds { lower: as_slice(&lower), upper: as_slice(&upper) };
        reader.share_within(&guard, IndexId(0), bounds).unwrap()
    };
    assert!(share(&fragment, Bound::Included(3), Bound::Unbounded) >= 0.0, "of nothing");
    for number in 0..5_000 {
        let id = number * 3_571 % 5_000;
        let handle = fragment.stage(&key(id), TransactionId(1), Some(&row(id, 0, b""))).unwrap();
        fragment.commit(handle, TransactionId(1), Epoch(1));
    }
    for (lower, upper) in [(0, 5_000), (1_000, 2_000), (4_500, 5_000), (700, 701), (2_000, 1_000)] {
        let found = share(&fragment, Bound::Included(lower), Bound::Excluded(upper));
        let exact = f64::from(i32::try_from((upper - lower).max(0)).unwrap()) / 5_000.0;
        assert!((found - exact).abs() < 0.05, "{lower}..{upper}: {found} for {exact}");
    }
    let (reader, guard) = (fragment.reader(), Guard::enter());
    for (lower, upper, count_max, count) in
        [(10, 20, 50, 10), (100, 4_000, 512, 512), (9, 9, 5, 0), (0, 5_000, 9_000, 5_000)]
    {
        let (lower, upper) = (Bound::Included(key(lower)), Bound::Excluded(key(upper)));
        let bounds = KeyBounds { lower: as_slice(&lower), upper: as_slice(&upper) };
        assert_eq!(reader.count_within(&guard, IndexId(0), bounds, count_max), Ok(count));
    }
    let found = share(&fragment, Bound::Unbounded, Bound::Excluded(2_500));
    assert!((0.45..0.55).contains(&found), "{found}");
    assert!((share(&fragment, Bound::Unbounded, Bound::Unbounded) - 1.0).abs() < 1e-9);
}

#[test]
fn separators_part_an_index_into_runs_of_much_the_same_length() {
    for is_ascending in [true, false] {
        let mut fragment = Fragment::new(definition(false), memory(16));
        for number in 0..10_000 {
            let id = if is_ascending { number } else { number * 3_571 % 10_000 };
            commit_row(&mut fragment, id, Some(&row(id, 0, b"")), 1);
        }
        let (reader, guard) = (fragment.reader(), Guard::enter());
        for runs in [1, 2, 5, 20, 64] {
            let separators = reader.separators(&guard, IndexId(0), runs).unwrap();
            assert_eq!(separators.len(), runs - 1, "{runs}");
            let bounds = |run: usize| KeyBounds {
                lower: run
                    .checked_sub(1)
                    .map_or(Bound::Unbounded, |before| Bound::Included(separators[before])),
                upper: separators.get(run).map_or(Bound::Unbounded, |end| Bound::Excluded(*end)),
            };
            let count = |run| reader.count_within(&guard, IndexId(0), bounds(run), 10_000).unwrap();
            let counts: Vec<usize> = (0..runs).map(count).collect();
            assert_eq!(counts.iter().sum::<usize>(), 10_000);
            let longest = counts.iter().max().unwrap() * runs;
            assert!(longest < 20_000, "{runs} runs, in order: {is_ascending}: {counts:?}");
        }
    }
    let empty = Fragment::new(definition(false), memory(16));
    let (reader, guard) = (empty.reader(), Guard::enter());
    assert_eq!(reader.separators(&guard, IndexId(0), 5).unwrap(), Vec::<&[u8]>::new());
}

#[test]
fn many_rows_in_and_out_give_the_memory_back() {
    let memory = memory(64);
    let mut fragment = Fragment::new(definition(true), Arc::clone(&memory));
    let count = if cfg!(miri) { 150 } else { 20_000 };
    let mut ids: Vec<i64> = (0..count).collect();
    let mut prng = Prng::new(5);
    for order in 0..3 {
        if order == 2 {
            for position in (1..ids.len()).rev() {
                ids.swap(position, prng.index(position + 1));
            }
        }
        for (epoch, id) in (1..).zip(&ids) {
            commit_row(&mut fragment, *id, Some(&row(*id, id % 97, b"some bytes")), epoch);
            if epoch % 64 == 0 {
                fragment.reclaim(1000);
            }
        }
        let reader = fragment.reader();
        let guard = Guard::enter();
        for index in [PRIMARY, BY_K] {
            let scan = |direction| {
                reader.scan(&guard, index, KeyBounds::ALL, direction, Visibility::Committed).unwrap()
            };
            let forward: Vec<_> = scan(Direction::Forward).map(|item| entry_of(item).0).collect();
            assert_eq!(forward.len(), ids.len());
            assert!(forward.is_sorted());
            assert!(scan(Direction::Backward).map(|item| entry_of(item).0).eq(forward.into_iter().rev()));
        }
        for id in &ids {
            assert!(matches!(reader.get(&guard, &key(*id), Visibility::Committed), Lookup::Found(_)));
        }
        drop(guard);
        if order == 1 {
            ids.reverse();
        }
        for (epoch, id) in (1_000_000..).zip(&ids) {
            commit_row(&mut fragment, *id, None, epoch);
            if epoch % 64 == 0 {
                fragment.reclaim(1000);
            }
        }
        reclaim_all(&mut fragment);
        let statistics = fragment.statistics();
        assert_eq!((statistics.rows, statistics.data_bytes, statistics.retired_bytes), (0, 0, 0));
        assert!(statistics.index_bytes < 4096, "{statistics:?}");
    }
    // A few nearly empty pages of size classes may stay: the kept one, and what the index's last bytes are in.
    let used = memory.used(Region::DataMemory) / memory::PAGE_BYTES as u64;
    assert!(used <= 6, "{used} pages");
    drop(fragment);
    assert!(memory.used(Region::DataMemory) <= memory::PAGE_BYTES as u64);
}

#[test]
#[cfg_attr(miri, ignore = "much memory")]
fn overhead_of_a_row_of_100_bytes_is_at_most_64_bytes() {
    let mut prng = Prng::new(3);
    let mut shuffled: Vec<i64> = (0..100_000).collect();
    for position in (1..shuffled.len()).rev() {
        shuffled.swap(position, prng.index(position + 1));
    }
    let spread = shuffled.iter().map(|id| id * 20_011 - 1_000_000_000).collect();
    for (name, ids) in [("ascending", (0..100_000).collect::<Vec<i64>>()), ("random", spread)] {
        let memory = memory(64);
        let mut fragment = Fragment::new(definition(false), Arc::clone(&memory));
        for (epoch, id) in (1..).zip(&ids) {
            let mut bytes = row(*id, 1, &[]);
            bytes.resize(100, 0);
            commit_row(&mut fragment, *id, Some(&bytes), epoch);
            if epoch % 64 == 0 {
                // Readers of other tests would have it take more pages than it needs.
                reclaim_all(&mut fragment);
            }
        }
        reclaim_all(&mut fragment);
        let statistics = fragment.statistics();
        let counted = statistics.data_bytes + statistics.index_bytes;
        let per_row = |bytes: u64| bytes as f64 / ids.len() as f64 - 100.0;
        println!(
            "{name}: {:.1} data, {:.1} index, {:.1} with pages",
            per_row(statistics.data_bytes),
            statistics.index_bytes as f64 / ids.len() as f64,
            per_row(memory.used(Region::DataMemory))
        );
        assert!(per_row(counted) <= 64.0, "{name}: {} bytes above the row", per_row(counted));
        assert!(per_row(memory.used(Region::DataMemory)) <= 64.0);
    }
}

#[test]
#[cfg_attr(miri, ignore = "much memory")]
fn an_index_that_is_filled_in_its_own_order_has_full_leaves() {
    const ROWS: i64 = 30_000;
    const LATER: &[IndexId] = &[BY_K];
    // Between the leaves of these, too; and a write now and then has its entries already.
    let last = ROWS * 2;
    let fill = |ks: &mut dyn Iterator<Item = i64>| {
        let mut fragment = Fragment::new(definition(true), memory(64));
        commit_row(&mut fragment, last, Some(&row(last, ROWS, b"")), 1);
        let before = fragment.statistics().index_bytes;
        for id in 0..ROWS {
            let bytes = row(id, id * 7_919 % ROWS, b"");
            let handle = fragment.stage_copied(&key(id), TransactionId(0), &bytes, LATER).unwrap();
            fragment.commit(handle, TransactionId(0), Epoch(1));
            if id % 1_000 == 0 {
                commit_row(&mut fragment, id, Some(&bytes), 2);
            }
        }
        let rows = fragment.statistics().index_bytes - before;
        // The row with the number k: 7 919 is prime, and so has an inverse.
        let inverse = (1..ROWS).find(|number| number * 7_919 % ROWS == 1).unwrap();
        for k in ks {
            fragment.add_copied_entry(BY_K, &key(k * inverse % ROWS)).unwrap();
            fragment.reclaim(u32::MAX);
        }
        fragment.add_copied_entry(IndexId(99), &key(1)).unwrap();
        fragment.add_copied_entry(BY_K, &key(-1)).unwrap();
        let reader = fragment.reader();
        let guard = Guard::enter();
        let scan = reader.scan(&guard, BY_K, KeyBounds::ALL, Direction::Forward, Visibility::Committed);
        assert_eq!(scan.unwrap().count(), 30_001, "each row has its entry, once");
        drop(guard);
        reclaim_all(&mut fragment);
        (fragment.statistics().index_bytes - before - rows) as f64 / ROWS as f64
    };
    // An entry takes 24 bytes, its part of a full leaf 11.2 and of the nodes above 1.1; its part of a half full leaf is
    // 16.
    let ascending = fill(&mut (0..ROWS));
    let scattered = fill(&mut (0..ROWS).map(|k| k * 12_347 % ROWS));
    println!("{ascending:.1} bytes of an entry in order, {scattered:.1} in none");
    assert!(ascending < 24.0 + 11.2 + 1.1 + 0.2, "{ascending}");
    assert!(scattered > ascending + 1.0, "{scattered}");
}

#[test]
#[cfg_attr(miri, ignore = "much memory")]
fn large_rows_come_and_go() {
    let memory = memory(256);
    let mut fragment = Fragment::new(definition(true), Arc::clone(&memory));
    for size in [10_000, 11_000, 32_700, 32_768, 40_000, 20 << 20, 64 << 20] {
        let bytes = row(1, 2, &vec![9; size]);
        commit_row(&mut fragment, 1, Some(&bytes), 5);
        let reader = fragment.reader();
        let guard = Guard::enter();
        assert_eq!(reader.get(&guard, &key(1), Visibility::Committed), Lookup::Found(&bytes));
        drop(guard);
        reclaim_all(&mut fragment);
        assert_eq!(fragment.statistics().rows, 1);
    }
    assert!(memory.used(Region::DataMemory) > 64 << 20);
    commit_row(&mut fragment, 1, None, 6);
    reclaim_all(&mut fragment);
    assert!(memory.used(Region::DataMemory) < 1 << 20);
}

#[test]
#[cfg_attr(miri, ignore = "much memory")]
fn full_memory_refuses_and_changes_nothing() {
    let memory = memory(2);
    let mut fragment = Fragment::new(definition(true), Arc::clone(&memory));
    let transaction = TransactionId(1);
    let mut handles = Vec::new();
    let mut id = 0;
    let refused = loop {
        id += 1;
        match fragment.stage(&key(id), transaction, Some(&row(id, id % 5, &[1; 100]))) {
            Ok(handle) => handles.push(handle),
            Err(full) => break full,
        }
    };
    assert_eq!(refused.name(), "DataMemory");
    let before = fragment.statistics();
    assert_eq!(before.rows, handles.len() as u64);
    for size in [100, 1000, 100_000] {
        for other in id..id + 20 {
            let bytes = row(other, 3, &vec![1; size]);
            if fragment.stage(&key(other), transaction, Some(&bytes)).is_ok() {
                let handle = fragment.stage(&key(other), transaction, None);
                handle.into_iter().for_each(|handle| fragment.abort(handle, transaction));
            }
        }
    }
    reclaim_all(&mut fragment);
    assert_eq!(fragment.statistics().rows, before.rows);
    assert_eq!(fragment.statistics().data_bytes, before.data_bytes);
    // A backup goes on with the last 5 %, and what is there can be committed and deleted.
    let handle = fragment.apply_prepared(&key(-1), transaction, Some(&row(-1, 1, &[1; 2000]))).unwrap();
    fragment.commit(handle, transaction, Epoch(1));
    for handle in handles {
        fragment.commit(handle, transaction, Epoch(1));
    }
    let reader = fragment.reader();
    let guard = Guard::enter();
    let scan = reader.scan(&guard, BY_K, KeyBounds::ALL, Direction::Forward, Visibility::Committed).unwrap();
    assert_eq!(scan.count() as u64, before.rows + 1);
    drop(guard);
    for id in -1..id {
        if id != 0 {
            // On a primary, too.
            let handle = if id % 2 == 0 {
                fragment.apply_prepared(&key(id), transaction, None).unwrap()
            } else {
                fragment.stage(&key(id), transaction, None).unwrap()
            };
            fragment.commit(handle, transaction, Epoch(2));
        }
        fragment.reclaim(100);
    }
    reclaim_all(&mut fragment);
    assert_eq!(fragment.statistics().rows, 0);
    fragment.stage(&key(1), transaction, Some(&row(1, 1, &[1; 100_000]))).unwrap();
}

#[test]
fn what_waits_is_announced_until_it_is_free() {
    let memory = memory(16);
    let mut fragment = Fragment::new(definition(true), Arc::clone(&memory));
    for epoch in 0..500 {
        commit_row(
            &mut fragment,
            epoch_key(epoch),
            Some(&row(epoch_key(epoch), 1, &[1; 200])),
            epoch.unsigned_abs(),
        );
    }
    let guard = Guard::enter();
    for id in 0..7 {
        commit_row(&mut fragment, id, None, 1_000);
    }
    fragment.reclaim(u32::MAX);
    let waiting = fragment.statistics().retired_bytes;
    // The batch that is still being filled is not told yet.
    assert!(memory.announced() > 0 && memory.announced() <= waiting);
    // A table that is dropped announces all it has, and no part of it twice.
    fragment.condemn();
    let statistics = fragment.statistics();
    let all = statistics.data_bytes + statistics.index_bytes + statistics.retired_bytes;
    assert_eq!(memory.announced(), all);
    while fragment.clear(3) {}
    assert!(memory.announced() > 0);
    drop(guard);
    reclaim_all(&mut fragment);
    drop(fragment);
    assert_eq!(memory.announced(), 0);
}

/// A few rows, changed again and again.
fn epoch_key(epoch: i64) -> i64 {
    epoch % 7
}

#[test]
fn an_index_is_added_filled_and_dropped_under_writes() {
    let mut fragment = Fragment::new(definition(false), memory(64));
    let count: i64 = if cfg!(miri) { 40 } else { 3000 };
    for id in 0..count {
        commit_row(&mut fragment, id, Some(&row(id, id % 10, b"x")), 1);
    }
    let open = fragment.stage(&key(5), TransactionId(77), Some(&row(5, 1000, b"open"))).unwrap();
    let reader = fragment.reader();
    assert!(reader.has_index(PRIMARY) && !reader.has_index(BY_K));
    fragment.set_definition(definition(true));
    assert!(reader.has_index(BY_K));
    let mut after: Option<Box<[u8]>> = None;
    let mut epoch = 10;
    let mut prng = Prng::new(1);
    loop {
        match fragment.backfill(BY_K, after.as_deref(), 7).unwrap() {
            BackfillProgress::End => break,
            BackfillProgress::More(last) => after = Some(last),
        }
        for _ in 0..5 {
            epoch += 1;
            let id = i64::try_from(prng.below(count.unsigned_abs())).unwrap();
            if id == 5 {
                continue;
            }
            let bytes = row(id, i64::try_from(prng.below(20)).unwrap(), b"y");
            commit_row(&mut fragment, id, prng.chance(3, 4).then_some(&bytes[..]), epoch);
        }
        fragment.reclaim(10);
    }
    fragment.abort(open, TransactionId(77));
    {
        let guard = Guard::enter();
        let scan = |index| {
            reader.scan(&guard, index, KeyBounds::ALL, Direction::Forward, Visibility::Committed).unwrap()
        };
        let rows = |index| -> BTreeSet<Vec<u8>> { scan(index).filter_map(|item| entry_of(item).1).collect() };
        assert_eq!(rows(BY_K), rows(PRIMARY));
        assert_eq!(scan(BY_K).count(), scan(PRIMARY).count());
    }
    let with_index = fragment.statistics().index_bytes;
    fragment.set_definition(definition(false));
    assert!(!reader.has_index(BY_K));
    reclaim_all(&mut fragment);
    assert!(fragment.statistics().index_bytes < with_index * 2 / 3);
}

#[test]
fn what_a_large_transaction_took_for_its_handles_is_given_back() {
    let mut fragment = Fragment::new(definition(false), memory(64));
    let (first, transaction) = (TransactionId(1), TransactionId(2));
    let count = if cfg!(miri) { 10 } else { 10_000 };
    let stage = |fragment: &mut Fragment, transaction| -> Vec<RowHandle> {
        (0..count).map(|id| fragment.stage(&key(id), transaction, Some(&row(id, 1, b""))).unwrap()).collect()
    };
    let stale = stage(&mut fragment, first);
    stale.iter().for_each(|handle| fragment.abort(*handle, first));
    // The entries are new ones, and no handle of before leads to them.
    let handles = stage(&mut fragment, transaction);
    assert!(handles.iter().all(|handle| fragment.staged_row(*handle, transaction).is_some()));
    assert!(stale.iter().all(|handle| fragment.staged_row(*handle, transaction).is_none()));
    handles.iter().for_each(|handle| fragment.commit(*handle, transaction, Epoch(1)));
    assert_eq!(fragment.statistics().rows, u64::try_from(count).unwrap());
}

#[test]
fn stale_and_foreign_handles_do_nothing() {
    let mut fragment = Fragment::new(definition(false), memory(64));
    let (one, two) = (TransactionId(1), TransactionId(2));
    let handle = fragment.stage(&key(1), one, Some(&row(1, 1, b"a"))).unwrap();
    assert_eq!(fragment.stage(&key(1), one, Some(&row(1, 1, b"b"))).unwrap(), handle);
    fragment.commit(handle, two, Epoch(1));
    fragment.abort(handle, two);
    fragment.unstage(handle, two);
    assert_eq!(fragment.staged_row(handle, two), None);
    assert_eq!(fragment.statistics().versions, 2);
    fragment.commit(handle, one, Epoch(1));
    fragment.commit(handle, one, Epoch(9));
    fragment.abort(handle, one);
    assert_eq!(fragment.staged_row(handle, one), None);
    assert_eq!(fragment.newest(&key(1)).state, Some(VersionState::Committed(Epoch(1))));
    let other = fragment.stage(&key(2), one, Some(&row(2, 1, b"a"))).unwrap();
    assert_ne!(other, handle);
    fragment.abort(handle, one);
    assert_eq!(fragment.statistics().versions, 2);
}

#[test]
fn what_was_read_stays_while_the_guard_lives() {
    let mut fragment = Fragment::new(definition(true), memory(64));
    commit_row(&mut fragment, 1, Some(&row(1, 1, b"before")), 1);
    let reader = fragment.reader();
    let guard = Guard::enter();
    let Lookup::Found(bytes) = reader.get(&guard, &key(1), Visibility::Committed) else { panic!() };
    let mut cursor =
        reader.scan(&guard, BY_K, KeyBounds::ALL, Direction::Forward, Visibility::Committed).unwrap();
    for epoch in 2..100 {
        commit_row(&mut fragment, 1, Some(&row(1, 1, b"after!")), epoch);
        commit_row(&mut fragment, 1, None, epoch);
        assert!(fragment.reclaim(1000));
    }
    assert_eq!(bytes, row(1, 1, b"before"));
    assert!(cursor.next().is_none());
    drop(guard);
    reclaim_all(&mut fragment);
    assert_eq!(fragment.statistics().retired_bytes, 0);
}

/// The time that this thread has run so far, in nanoseconds. Unlike a clock it does not count the time of others on a
/// shared machine.
fn processor_time() -> u64 {
    #[expect(clippy::disallowed_methods, reason = "measures time")]
    let statistics = std::fs::read("/proc/thread-self/schedstat").unwrap_or_default();
    let text = String::from_utf8(statistics).unwrap();
    text.split(' ').next().and_then(|field| field.parse().ok()).unwrap_or(0)
}

/// Prints what operations cost; meant for `--release`.
#[test]
#[cfg_attr(miri, ignore = "measures")]
fn costs_of_operations() {
    let count: i64 = if cfg!(debug_assertions) { 2_000 } else { 1_000_000 };
    for with_index in [false, true] {
        let mut fragment = Fragment::new(definition(with_index), memory(1024));
        let keys: Vec<Vec<u8>> = (0..count).map(key).collect();
        let rows: Vec<Vec<u8>> = (0..count).map(|id| row(id, id * 7 % 1000, &[5; 90])).collect();
        let updated: Vec<Vec<u8>> = (0..count).map(|id| row(id, id * 7 % 1000, &[6; 90])).collect();
        let mut order: Vec<usize> = (0..keys.len()).collect();
        let mut prng = Prng::new(1);
        for position in (1..order.len()).rev() {
            order.swap(position, prng.index(position + 1));
        }
        let mut epoch = 0;
        let mut run = |name: &str, work: &mut dyn FnMut(usize, u64)| {
            let start = processor_time();
            for number in 0..keys.len() {
                epoch += 1;
                work(number, epoch);
            }
            println!("index {with_index}: {name}: {} ns", (processor_time() - start) / keys.len() as u64);
        };
        let put = |fragment: &mut Fragment, number: usize, row: Option<&[u8]>, epoch: u64| {
            let handle = fragment.stage(&keys[number], TransactionId(epoch), row).unwrap();
            fragment.commit(handle, TransactionId(epoch), Epoch(epoch));
            if epoch.is_multiple_of(32) {
                fragment.reclaim(256);
            }
        };
        run("insert ascending", &mut |n, epoch| put(&mut fragment, n, Some(&rows[n]), epoch));
        run("update random", &mut |n, epoch| put(&mut fragment, order[n], Some(&updated[order[n]]), epoch));
        run("update of 1000 hot rows", &mut |n, epoch| {
            put(&mut fragment, n % 1000, Some(&rows[n % 1000]), epoch)
        });
        let reader = fragment.reader();
        let guard = Guard::enter();
        let mut found = 0;
        run("get random", &mut |n, _| {
            let lookup = reader.get(&guard, &keys[order[n]], Visibility::Committed);
            found += usize::from(matches!(lookup, Lookup::Found(_)));
        });
        run("get of 1000 hot rows", &mut |n, _| {
            let lookup = reader.get(&guard, &keys[n % 1000], Visibility::Committed);
            found += usize::from(matches!(lookup, Lookup::Found(_)));
        });
        let mut cursor =
            reader.scan(&guard, PRIMARY, KeyBounds::ALL, Direction::Forward, Visibility::Committed).unwrap();
        run("scan per row", &mut |_, _| found += usize::from(cursor.next().is_some()));
        assert_eq!(found, keys.len() * 3);
        drop(cursor);
        drop(guard);
        drop(reader);
        run("delete random", &mut |n, epoch| put(&mut fragment, order[n], None, epoch));
        run("insert random", &mut |n, epoch| put(&mut fragment, order[n], Some(&rows[order[n]]), epoch));
    }
}

#[test]
fn small_fragments_share_pages() {
    let memory = memory(64);
    let count = if cfg!(miri) { 20 } else { 2000 };
    let mut fragments: Vec<Fragment> =
        (0..count).map(|_| Fragment::new(definition(true), Arc::clone(&memory))).collect();
    assert_eq!(memory.used(Region::DataMemory), 0);
    for fragment in &mut fragments {
        for id in 0..3 {
            commit_row(fragment, id, Some(&row(id, id, b"small")), 1);
        }
    }
    fragments.iter_mut().for_each(reclaim_all);
    let used = memory.used(Region::DataMemory);
    assert!(used < count * 700 + 8 * memory::PAGE_BYTES as u64, "{used}");
    // The order of dropping does not matter: a reader reads on when the fragment is gone.
    let readers: Vec<Reader> = fragments.iter().map(Fragment::reader).collect();
    drop(fragments);
    let guard = Guard::enter();
    for reader in &readers {
        assert!(matches!(reader.get(&guard, &key(2), Visibility::Committed), Lookup::Found(_)));
    }
    drop(guard);
    std::thread::scope(|scope| scope.spawn(move || drop(readers)).join().unwrap());
    assert!(memory.used(Region::DataMemory) <= memory::PAGE_BYTES as u64);
}

#[test]
fn a_fragment_is_cleared_in_steps() {
    let mut fragment = Fragment::new(definition(true), memory(64));
    let count: i64 = if cfg!(miri) { 50 } else { 5000 };
    for id in 0..count {
        commit_row(&mut fragment, id, Some(&row(id, id % 7, b"x")), 1);
        if id % 5 == 0 {
            fragment.stage(&key(id), TransactionId(9), (id % 2 == 0).then_some(&row(id, 100, b"y"))).unwrap();
        }
    }
    let open = fragment.stage(&key(3), TransactionId(9), None).unwrap();
    let mut steps = 0;
    while fragment.clear(10) {
        steps += 1;
        fragment.reclaim(100);
    }
    assert_eq!(steps, count / 10 - 1);
    fragment.commit(open, TransactionId(9), Epoch(2));
    reclaim_all(&mut fragment);
    let statistics = fragment.statistics();
    assert_eq!((statistics.rows, statistics.versions, statistics.data_bytes), (0, 0, 0));
    assert!(statistics.index_bytes < 512, "{statistics:?}");
    commit_row(&mut fragment, 1, Some(&row(1, 1, b"again")), 3);
    assert_eq!(fragment.statistics().rows, 1);
}

/// An index of three inner levels: whole subtrees run empty beside inner nodes, so that leaves without rows stay.
#[test]
fn a_large_fragment_is_cleared_to_its_last_row() {
    let count: i64 = if cfg!(miri) { 50 } else { 100_000 };
    for step in [1, 7_919] {
        let mut fragment = Fragment::new(definition(false), memory(64));
        for number in 0..count {
            let id = number * step % count;
            commit_row(&mut fragment, id, Some(&row(id, 0, b"x")), 1);
        }
        let mut steps = 0;
        while fragment.clear(100) {
            fragment.reclaim(u32::MAX);
            steps += 1;
            assert!(steps < count, "{} rows are left", fragment.statistics().rows);
        }
        assert_eq!(fragment.statistics().rows, 0);
    }
}

/// A table by name with an index whose keys may be equal for different values, and rows added before a column was.
#[test]
fn index_keys_follow_collations_and_added_columns() {
    let text = || SqlType::VarChar { length: 20, collation: Collation::Utf8mb40900AiCi };
    let int = || SqlType::Integer { width: IntegerWidth::Normal, unsigned: false };
    let mut table = TableDefinition::clone(definition(false).table());
    table.columns = vec![column("id", int()), column("name", text())];
    table.indexes.push(index(1, "name", IndexKind::Ordered, 1));
    let before = Arc::new(FragmentDefinition::new(&Arc::new(table.clone())));
    let mut added = column("late", int());
    added.default = DefaultValue::Literal(Value::Int(42));
    table.columns.push(added);
    table.indexes.push(index(2, "late", IndexKind::Ordered, 2));
    let after = Arc::new(FragmentDefinition::new(&Arc::new(table)));
    let named = |definition: &FragmentDefinition, id: i64, name: &str, late: Option<i64>| {
        let mut bytes = Vec::new();
        let mut values = vec![ValueRef::Int(id), ValueRef::Bytes(name.as_bytes())];
        values.extend(late.map(ValueRef::Int));
        definition.layout().encode(&values, &mut bytes);
        bytes
    };
    let mut fragment = Fragment::new(Arc::clone(&before), memory(64));
    let reader = fragment.reader();
    let scan_count = |index: u32| {
        let guard = Guard::enter();
        let (bounds, visibility) = (KeyBounds::ALL, Visibility::Committed);
        reader.scan(&guard, IndexId(index), bounds, Direction::Forward, visibility).map(Iterator::count)
    };
    for id in 0..20 {
        commit_row(&mut fragment, id, Some(&named(&before, id, "Zoë", None)), 1);
    }
    // The same key, other bytes: the entry stays when the older version goes, and when the newer is taken back.
    commit_row(&mut fragment, 1, Some(&named(&before, 1, "zoe", None)), 2);
    let handle = fragment.stage(&key(2), TransactionId(7), Some(&named(&before, 2, "ZOE", None))).unwrap();
    fragment.stage(&key(2), TransactionId(7), Some(&named(&before, 2, "other", None))).unwrap();
    fragment.abort(handle, TransactionId(7));
    assert_eq!(scan_count(1), Ok(20));
    assert_eq!(scan_count(2), Err(NoSuchIndex));
    fragment.set_definition(Arc::clone(&after));
    commit_row(&mut fragment, 3, Some(&named(&after, 3, "Zoe", Some(1))), 3);
    while let BackfillProgress::More(_) = fragment.backfill(IndexId(2), None, 100).unwrap() {}
    assert_eq!((scan_count(1), scan_count(2)), (Ok(20), Ok(20)));
    let guard = Guard::enter();
    let mut scan = reader
        .scan(&guard, IndexId(2), KeyBounds::ALL, Direction::Backward, Visibility::Committed)
        .unwrap()
        .map(|item| entry_of(item).0);
    assert_eq!(scan.next().unwrap(), [key(42), key(19)].concat());
    assert_eq!(scan.last().unwrap(), [key(1), key(3)].concat());
    drop(guard);
    for id in 0..20 {
        commit_row(&mut fragment, id, None, 4);
    }
    reclaim_all(&mut fragment);
    assert!(fragment.statistics().index_bytes < 512);
}

#[test]
fn fragments_may_be_sent_and_readers_shared() {
    fn is_send<T: Send>() {}
    fn is_shared<T: Send + Sync + Clone + std::fmt::Debug>() {}
    is_send::<Fragment>();
    is_shared::<Reader>();
    is_shared::<RowHandle>();
    assert!(size_of::<RowHandle>() == 8);
}

#[test]
fn a_busy_fragment_frees_by_itself() {
    let memory = memory(64);
    let mut fragment = Fragment::new(definition(true), Arc::clone(&memory));
    let mut epoch = 0;
    // Other tests of this process may hold guards for a while.
    loop {
        for _ in 0..1000 {
            epoch += 1;
            commit_row(&mut fragment, 1, Some(&row(1, 1, &[1; 100])), epoch);
        }
        if epoch >= 100_000 && fragment.statistics().retired_bytes < 1 << 20 {
            break;
        }
        std::thread::yield_now();
        if cfg!(miri) {
            break;
        }
    }
    assert!(memory.used(Region::DataMemory) < 16 << 20);
}
