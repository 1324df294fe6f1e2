//! Answers about what is here: digests for the comparison of replicas, and what checkers ask.

use super::Slot;
use super::transaction::HeldStage;
use crate::ldm::Ldm;
use memory::Guard;
use protocol::program::KeyRange;
use protocol::signal::{ChecksumDone, ChecksumRequest};
use protocol::{Address, Outputs, Signal};
use query::{Shared, TableAccessInfo, bounds_of};
use std::ops::Bound;
use std::sync::Arc;
use stdx::hash64;
use storage::{Direction, KeyBounds, Reader, ScanItem, Visibility};
use types::{
    Epoch, IndexDefinition, IndexId, IndexKind, IndexState, SlotId, TableDefinition, TableId, ViewNumber,
};

/// Rows digested for one answer at most.
const CHECKSUM_ROWS_MAX: u32 = 2_000;

impl Slot {
    /// For checks after a run: what keeps it from being idle, a line each.
    fn unfinished(&self, add: &mut impl FnMut(&str, String)) {
        let id = self.id;
        for (transaction, held) in &self.held {
            let (stage, session, decider) = (held.stage, held.session, held.decider);
            add("holds", format!("{transaction} in {id} {stage:?} for {session:?}, decided by {decider:?}"));
        }
        for (transaction, applied) in &self.applied {
            add("has prepared", format!("{transaction} in {id} {applied:?}"));
        }
        self.ahead.keys().for_each(|transaction| add("has pieces of", format!("{transaction} in {id}")));
        self.outcome_waits
            .keys()
            .for_each(|transaction| add("has readers that wait for", format!("{transaction} in {id}")));
        self.askers.keys().for_each(|transaction| add("is asked about", format!("{transaction} in {id}")));
        if self.is_in_takeover() || !self.stream.pending.is_empty() {
            let (takeover, stream) = (&self.takeover, &self.stream);
            add("is taking over", format!("{id}: {takeover:?} {stream:?} {:?}", self.role));
        }
        self.owed
            .keys()
            .for_each(|transaction| add("owes an answer about", format!("{transaction} in {id}")));
    }
}

impl Ldm {
    /// For checks after a run: what keeps this module from being idle, a line each.
    #[must_use]
    pub fn unfinished(&self) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        let mut add = |what: &str, detail: String| lines.push(format!("{} {what} {detail}", self.address));
        self.slots.iter().for_each(|slot| slot.unfinished(&mut add));
        for (_, wait) in self.waits.iter() {
            add("lets wait", format!("{} for {:?}", wait.transaction, wait.key));
        }
        if lines.is_empty() && !self.is_idle() {
            let postponed = self.postponed.released.len() + self.postponed.resuming.len();
            let shipping: usize = self.slots.iter().map(|slot| slot.shipping.len()).sum();
            let (locks, jobs) = (&self.locks, self.jobs.len() + shipping);
            let (copying, reclaim) = (self.copying.is_over(), self.reclaim.waiting().is_empty());
            lines.push(format!(
                "{}: {postponed} requests postponed, {locks:?}, {jobs} jobs, copied: {copying}, reclaimed: {reclaim}",
                self.address
            ));
        }
        lines.sort_unstable();
        lines
    }

    pub(in crate::ldm) fn on_checksum(
        &self,
        from: Address,
        request: &ChecksumRequest,
        outputs: &mut Outputs<Shared>,
    ) {
        outputs.send(self.address, from, Signal::ChecksumDone(Box::new(self.checksum(request))));
    }

    /// Digests of the rows that a request names.
    #[must_use]
    pub fn checksum(&self, request: &ChecksumRequest) -> ChecksumDone {
        let place = (request.table, request.slot);
        match (self.fragments.get(&place), self.map.table(request.table)) {
            (Some(fragment), Some(info)) => digest(request, &fragment.reader(), info),
            _ => ChecksumDone {
                request: request.request,
                rows: Vec::new(),
                // Not here (any more): no rows. If another replica has some, the comparison says so.
                index_errors: Vec::new(),
                end: true,
            },
        }
    }

    /// The tables of the fragments here, in order, each with its slot.
    #[must_use]
    pub fn fragments(&self) -> Vec<(Arc<TableDefinition>, SlotId)> {
        let mut places: Vec<_> = self.fragments.keys().copied().collect();
        places.sort_unstable();
        let info =
            |(table, slot): (TableId, SlotId)| Some((Arc::clone(&self.map.table(table)?.definition), slot));
        places.into_iter().filter_map(info).collect()
    }

    /// For checks: keys of a fragment with the epochs of their newest committed rows.
    #[must_use]
    pub fn committed_epochs(&self, table: TableId, slot: SlotId) -> Vec<(Box<[u8]>, Epoch)> {
        let Some(fragment) = self.fragments.get(&(table, slot)) else { return Vec::new() };
        let (reader, guard) = (fragment.reader(), Guard::enter());
        let bounds = KeyBounds { lower: Bound::Unbounded, upper: Bound::Unbounded };
        let scan = reader.scan(&guard, IndexId(0), bounds, Direction::Forward, Visibility::Committed);
        let epoch_of = |item: ScanItem<'_>| {
            let (ScanItem::Row { key, .. } | ScanItem::Undecided { key, .. }) = item;
            Some((Box::from(key), fragment.committed(key)?.0))
        };
        scan.map_or_else(|_| Vec::new(), |cursor| cursor.filter_map(epoch_of).collect())
    }

    /// For checks: the lowest stamp of what this ldm, as primary, has sent to backups and nobody has decided; and the
    /// view that it is in.
    #[must_use]
    pub fn lowest_stamp(&self) -> (ViewNumber, Option<Epoch>) {
        let held = self.slots.iter().flat_map(|slot| slot.held.values());
        let stamps = held
            .filter(|held| held.stage == HeldStage::Ending)
            .map(|held| held.epoch)
            .filter(|epoch| *epoch > Epoch(0));
        (self.map.view.number, stamps.min())
    }

    /// For checks: the view that this ldm is in.
    #[must_use]
    pub fn view(&self) -> &protocol::View {
        &self.map.view
    }

    /// For checks: the lowest stamp of what this ldm holds, as primary or as backup, and has not published or undone.
    #[must_use]
    pub fn lowest_undecided(&self) -> Option<Epoch> {
        let held = self.slots.iter().flat_map(|slot| slot.held.values().map(|held| held.epoch));
        let applied = self.slots.iter().flat_map(|slot| slot.applied.values().map(|applied| applied.epoch));
        held.chain(applied).filter(|epoch| *epoch > Epoch(0)).min()
    }
}

fn digest(request: &ChecksumRequest, reader: &Reader, info: &TableAccessInfo) -> ChecksumDone {
    let guard = Guard::enter();
    let lower = request.after.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
    let bounds = KeyBounds { lower, upper: Bound::Unbounded };
    let limit = request.limit.clamp(1, CHECKSUM_ROWS_MAX) as usize;
    let mut done =
        ChecksumDone { request: request.request, rows: Vec::new(), index_errors: Vec::new(), end: true };
    let Ok(cursor) = reader.scan(&guard, IndexId(0), bounds, Direction::Forward, Visibility::Committed)
    else {
        return done;
    };
    for item in cursor {
        match item {
            // Being committed right now: it differs for a moment, and the comparison asks again.
            ScanItem::Undecided { key, .. } => done.rows.push((key.into(), 0)),
            ScanItem::Row { key, row, .. } => {
                done.rows.push((key.into(), hash64(row)));
                check_entries(reader, &guard, info, key, row, &mut done.index_errors);
            }
        }
        if done.rows.len() >= limit {
            done.end = false;
            break;
        }
    }
    done
}

/// Whether each row has an entry in it: an index that is being built (or whose building was abandoned) has not.
fn is_complete(index: &IndexDefinition) -> bool {
    index.kind != IndexKind::Primary && index.state == IndexState::Public
}

/// Whether every index leads to this row.
fn check_entries(
    reader: &Reader,
    guard: &Guard,
    info: &TableAccessInfo,
    key: &[u8],
    row: &[u8],
    errors: &mut Vec<String>,
) {
    for index in info.definition.indexes.iter().filter(|index| is_complete(index)) {
        let Some(encoder) = info.index(index.id).filter(|_| reader.has_index(index.id)) else { continue };
        let mut entry = Vec::new();
        encoder.encode_row_with_primary(&info.primary_key, &info.layout, row, &mut entry);
        let exactly =
            KeyRange { lower: Bound::Included(entry.clone().into()), upper: Bound::Included(entry.into()) };
        let found = reader
            .scan(guard, index.id, bounds_of(&exactly), Direction::Forward, Visibility::Committed)
            .is_ok_and(|mut cursor| match cursor.next() {
                Some(ScanItem::Row { key: found, .. } | ScanItem::Undecided { key: found, .. }) => {
                    found == key
                }
                None => false,
            });
        if !found {
            errors.push(format!(
                "{}.{}: a row has no entry in {}",
                info.definition.database, info.definition.name, index.name
            ));
        }
    }
}
