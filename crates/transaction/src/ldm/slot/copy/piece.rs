//! The rows and entries of a piece of a copy.
//!
//! Table after table: first its rows in the order of the primary key; then, index after index, the primary keys of
//! its rows in the order of the index. The member makes an index's entries as they come, so it fills every index in
//! ascending order, the primary one and all others.
//!
//! **Memory.** The copy takes no more DataMemory than the rows took at the primary, whatever their history:
//! - A copied row has one version, without the link to older ones. So heads, versions and entries have the sizes that
//!   they have at the primary, or 8 bytes less.
//! - An index that is filled in ascending order has full leaves (`storage`, `ordered_index.rs`): none can have fewer.
//!   An index that is filled in the order of the *primary* key, as rows come, has leaves that are two thirds full. At
//!   the primary they may be full: keys that ascend in time beside random primary keys.
//! - The hash index has as many buckets as the number of rows asks for, or more where rows were deleted.
//! - Memory that is freed on the way is used again by the next rows, so pages have no holes. At most the last page of
//!   each size of pieces and thread has room left. Those are what is not proved; so are writes that come meanwhile,
//!   which split full leaves. Both are paid out of what only a restart may use (`memory::budget`): statements at the
//!   primary could not use it.
//!
//! **Ranges.** A member that came back with rows gets the rows above its base, with all entries. The piece says of
//! which range they are, and what the range has else (`difference`). The ranges of a slot have no gaps: each begins
//! behind the one before, the last of a table has no end, and a table without rows has one, too.
//!
//! Invariant: an index is promised for a row (`CopyPiece::later`) only if it is public, hence complete at every
//! primary, and is read behind all rows of its table.
//!
//! Deliberately not here: when pieces are sent, and what becomes of them (`copy`).

use super::difference::{Unsent, is_within};
use crate::ldm::Fragments;
use crate::mutants::{self, Mutant};
use memory::Guard;
use protocol::signal::{CopiedEntries, CopiedRange, CopiedRow, CopyBounds, CopyPosition};
use std::ops::{Bound, ControlFlow};
use storage::{CommittedRow, Direction, Fragment, KeyBounds, ScanItem, Visibility};
use types::{Epoch, IndexId, IndexKind, IndexState, SlotId, TableDefinition, TableId, ViewNumber};

/// Bytes after which a piece ends: with its last row it fits the ring of a link, so nothing waits behind half of it.
const PIECE_BYTES: usize = 48 * 1024;
/// The work of a row that is not sent.
const UNSENT_WORK: usize = 1;
/// That of an entry, and that of a row.
const ENTRY_WORK: usize = 2;
const ROW_WORK: usize = 4;

/// The pieces that a member gets of a slot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) slot: SlotId,
    /// The member has the rows up to this epoch.
    pub(super) base: Epoch,
    /// Begins the hashes of rows.
    pub(super) seed: ViewNumber,
    /// Rows of a piece.
    pub(super) rows_max: usize,
}

impl Plan {
    /// The member came back with rows.
    fn is_difference(&self) -> bool {
        self.base > Epoch(0)
    }
}

/// The rows and entries of one piece.
#[derive(Default)]
pub(in crate::ldm) struct Share {
    pub(in crate::ldm) rows: Vec<CopiedRow>,
    pub(in crate::ldm) later: Vec<(TableId, Vec<IndexId>)>,
    pub(in crate::ldm) entries: Vec<CopiedEntries>,
    pub(in crate::ldm) ranges: Vec<CopiedRange>,
    work: usize,
    bytes: usize,
}

impl Share {
    /// In rows.
    pub(in crate::ldm) fn cost(&self) -> usize {
        self.work.div_ceil(ROW_WORK)
    }

    /// Takes a row in full.
    fn add_row(&mut self, table: TableId, row: &CommittedRow<'_>) {
        self.work += ROW_WORK;
        self.bytes += row.key.len() + row.row.len();
        self.rows.push(CopiedRow { table, key: row.key.into(), row: row.row.into(), epoch: row.epoch });
    }

    fn is_full(&self, rows_max: usize) -> bool {
        self.work >= rows_max * ROW_WORK || self.bytes >= PIECE_BYTES
    }
}

/// The share behind a position, and where the next piece goes on: nowhere if there is no more.
pub(super) fn next_share(
    plan: &Plan,
    after: Option<CopyPosition>,
    fragments: &Fragments,
) -> (Share, Option<CopyPosition>) {
    let slot = plan.slot;
    let mut tables: Vec<TableId> =
        fragments.keys().filter(|(_, of)| *of == slot).map(|(table, _)| *table).collect();
    tables.sort_unstable();
    let from = after.as_ref().map(|position| position.table);
    let mut share = Share::default();
    for table in tables.into_iter().filter(|table| from.is_none_or(|from| *table >= from)) {
        let Some(fragment) = fragments.get(&(table, slot)) else { continue };
        let start = after.as_ref().filter(|position| position.table == table);
        let first = start.and_then(|position| position.index);
        let mut indexes: Vec<IndexId> = fragment.definition().secondary_indexes().collect();
        if plan.is_difference() || (mutants::is(Mutant::CursorSkipsIndexes) && first.is_some()) {
            indexes.clear();
        }
        indexes.sort_unstable();
        let of_rows = std::iter::once(None).filter(|_| first.is_none());
        let of_entries = indexes.into_iter().filter(|index| Some(*index) >= first).map(Some);
        for index in of_rows.chain(of_entries) {
            let behind = start.filter(|position| position.index == index).map(|position| &*position.key);
            let taken = match index {
                None if plan.is_difference() => take_difference(plan, fragment, behind, &mut share),
                None => take_rows(fragment, behind, plan.rows_max, &mut share),
                Some(index) => take_entries(fragment, index, behind, plan.rows_max, &mut share),
            };
            if let ControlFlow::Break(key) = taken {
                return (share, Some(CopyPosition { table, index, key }));
            }
        }
    }
    (share, None)
}

/// All rows of a range, and what is left of it for the next piece.
pub(super) fn exact_share(
    plan: &Plan,
    mut bounds: CopyBounds,
    fragments: &Fragments,
) -> (Share, Option<CopyBounds>) {
    let mut share = Share::default();
    let mut left = None;
    if let Some(fragment) = fragments.get(&(bounds.table, plan.slot)) {
        let (reader, guard) = (fragment.reader(), Guard::enter());
        let rows = reader.committed_rows(&guard, bounds.after.as_deref());
        for row in rows.take_while(|row| is_within(row.key, bounds.to.as_deref())) {
            share.add_row(bounds.table, &row);
            if share.is_full(plan.rows_max) {
                left = Some(CopyBounds { after: Some(row.key.into()), ..bounds.clone() });
                break;
            }
        }
    }
    if let Some(left) = &left {
        bounds.to.clone_from(&left.after);
    }
    share.ranges.push(CopiedRange { bounds, count: 0, hash: 0, is_exact: true });
    (share, left)
}

/// The rows behind a key that are above the base, and the range that they are of. Breaks with the last key if the piece
/// is full.
fn take_difference(
    plan: &Plan,
    fragment: &Fragment,
    behind: Option<&[u8]>,
    share: &mut Share,
) -> ControlFlow<Box<[u8]>> {
    let table = fragment.definition().table().id;
    let (reader, guard) = (fragment.reader(), Guard::enter());
    let mut unsent = Unsent::default();
    let mut end: Option<Box<[u8]>> = None;
    for row in reader.committed_rows(&guard, behind) {
        if row.epoch > plan.base {
            share.add_row(table, &row);
        } else {
            share.work += UNSENT_WORK;
            unsent.add(plan.seed, table, &row);
        }
        if share.is_full(plan.rows_max) {
            end = Some(row.key.into());
            break;
        }
    }
    if mutants::is(Mutant::EmptyTableSkipped) && unsent.count == 0 && end.is_none() {
        return ControlFlow::Continue(());
    }
    share.work += ENTRY_WORK;
    let bounds = CopyBounds { table, after: behind.map(Into::into), to: end.clone() };
    share.ranges.push(unsent.range(bounds));
    end.map_or(ControlFlow::Continue(()), ControlFlow::Break)
}

fn bounds_behind(key: Option<&[u8]>) -> KeyBounds<'_> {
    KeyBounds { lower: key.map_or(Bound::Unbounded, Bound::Excluded), upper: Bound::Unbounded }
}

/// Indexes whose entries can be relied on to be complete.
fn public_indexes(table: &TableDefinition) -> Vec<IndexId> {
    let is_relied_on = |index: &&types::IndexDefinition| {
        index.kind != IndexKind::Primary && index.state == IndexState::Public
    };
    table.indexes.iter().filter(is_relied_on).map(|index| index.id).collect()
}

/// The newest committed rows behind a key. Breaks with the last key if the piece is full.
fn take_rows(
    fragment: &Fragment,
    behind: Option<&[u8]>,
    rows_max: usize,
    share: &mut Share,
) -> ControlFlow<Box<[u8]>> {
    let definition = fragment.definition();
    let table = definition.table().id;
    let (reader, guard) = (fragment.reader(), Guard::enter());
    let scan = reader.scan(
        &guard,
        definition.primary_id(),
        bounds_behind(behind),
        Direction::Forward,
        Visibility::Committed,
    );
    let Ok(cursor) = scan else { return ControlFlow::Continue(()) };
    let mut is_first = true;
    for item in cursor {
        let (ScanItem::Row { key, .. } | ScanItem::Undecided { key, .. }) = item;
        if std::mem::take(&mut is_first) {
            share.later.push((table, public_indexes(definition.table())));
        }
        match fragment.committed(key) {
            Some((epoch, Some(row))) => share.add_row(table, &CommittedRow { key, epoch, row }),
            Some((_, None)) | None => share.work += ROW_WORK,
        }
        if mutants::is(Mutant::CopySkipsPiece) && share.work == ROW_WORK {
            share.rows.clear();
        }
        if share.is_full(rows_max) {
            return ControlFlow::Break(key.into());
        }
    }
    ControlFlow::Continue(())
}

/// The primary keys of an index's entries behind one of its keys. Breaks with the last index key if the piece is full.
fn take_entries(
    fragment: &Fragment,
    index: IndexId,
    behind: Option<&[u8]>,
    rows_max: usize,
    share: &mut Share,
) -> ControlFlow<Box<[u8]>> {
    let table = fragment.definition().table().id;
    let (reader, guard) = (fragment.reader(), Guard::enter());
    let scan = reader.scan(&guard, index, bounds_behind(behind), Direction::Forward, Visibility::Committed);
    let Ok(cursor) = scan else { return ControlFlow::Continue(()) };
    let mut keys = Vec::new();
    let mut last = None;
    for item in cursor {
        let (ScanItem::Row { index_key, key, .. } | ScanItem::Undecided { index_key, key }) = item;
        share.work += ENTRY_WORK;
        share.bytes += key.len();
        keys.push(key.into());
        if share.is_full(rows_max) {
            last = Some(index_key.into());
            break;
        }
    }
    if !keys.is_empty() {
        share.entries.push(CopiedEntries { table, index, keys });
    }
    last.map_or(ControlFlow::Continue(()), ControlFlow::Break)
}
