//! Fragments as the schema and the view want them.
//!
//! `main` sends the tables that should exist; this module makes, changes and drops fragments to match and gives
//! `main` readers of those that are new. It compares the schema with the one that it had, chunk by chunk: a step costs
//! the tables that it changes. A dropped table's rows are freed when the last reader is gone; operations of open
//! transactions on it are void, and their prepare is refused (`check_schema`).

use super::Job;
use super::Ldm;
use super::slot::transaction::HeldStage;
use super::{Context, region_full};
use crate::mutants::{self, Mutant};
use protocol::program::{Refusal, TableRef};
use protocol::signal::RequestId;
use protocol::{Address, Budget, Outputs, Signal};
use query::{NodeMap, PublishedReader, Shared};
use std::sync::Arc;
use stdx::FixedMap;
use storage::{BackfillProgress, Fragment, FragmentDefinition};
use types::{
    Epoch, IndexDefinition, IndexId, IndexState, Schema, SlotId, TableChunks, TableDefinition, TableId,
    TransactionId, ViewNumber,
};

/// Rows of a backfill that are worked on before its fragment's other users have their turn.
const BACKFILL_ROWS: u32 = 500;

/// The building of a new index's entries.
pub(super) struct Backfill {
    from: Address,
    request: RequestId,
    table: TableId,
    index: IndexId,
    /// Fragments still to do.
    slots: Vec<SlotId>,
    after: Option<Box<[u8]>>,
}

/// New indexes that are being filled.
#[derive(Default)]
pub(super) struct Backfills {
    /// Lowest versions that statements may be bound to, of tables whose new index is being filled.
    floors: FixedMap<TableId, u32>,
    /// Those whose entries wait for the end of transactions that do not know them.
    waiting: Vec<Backfill>,
}

impl Backfills {
    /// The lowest version of a table that statements may be bound to.
    #[inline]
    pub(super) fn floor(&self, table: TableId) -> u32 {
        self.floors.get(&table).copied().unwrap_or(0)
    }

    pub(super) fn is_idle(&self) -> bool {
        self.waiting.is_empty()
    }

    /// A member that joins while an index is being filled has not been asked to help with it, but knows of it.
    pub(super) fn learn_floors(&mut self, map: &NodeMap) {
        let is_filled = |index: &IndexDefinition| index.state == IndexState::WriteOnly;
        for (id, table) in map.tables.iter() {
            if table.definition.indexes.iter().any(is_filled) {
                self.floors.insert(id, table.definition.version);
            }
        }
    }
}

impl Context<'_> {
    /// A transaction ended, or never will: what waited for it looks again.
    #[inline]
    pub(super) fn resume_backfills(&mut self) {
        if self.backfills.waiting.is_empty() {
            return;
        }
        for backfill in std::mem::take(&mut self.backfills.waiting) {
            self.later(Job::Backfill(Box::new(backfill)));
        }
    }
}

impl Ldm {
    /// Makes the fragments that `map` wants, and answers with their readers.
    pub(super) fn install_tables(&mut self, map: Arc<NodeMap>, outputs: &mut Outputs<Shared>) {
        // A member that is in sync without having joined was so from the beginning, whichever view it hears of first. A
        // restart that kept rows has them all in its first view.
        let is_first_view = self.map.view.number == ViewNumber(0) && map.view.is_in_sync(self.address.node);
        let is_founded = is_first_view && map.view.began_empty();
        let is_older = map.schema.version < self.map.schema.version;
        stdx::require!(!is_older, "an index that an older schema lacks would be empty when it is back");
        let before = Arc::clone(&self.map.schema);
        let slots_before = self.slot_ids();
        self.install_map(map, outputs);
        let schema = Arc::clone(&self.map.schema);
        self.drop_tables(&before, &schema, outputs);
        // Only tables that are not the same in both schemas are looked at, unless there are other slots.
        let none = TableChunks::default();
        let known = if self.slot_ids() == slots_before { before.tables() } else { &none };
        let mut made = Vec::new();
        for (_, _, definition) in known.changes(schema.tables()) {
            if let Some(definition) = definition {
                self.make_fragments(definition, &mut made);
            }
        }
        if is_founded {
            self.bootstrap(&made);
        }
        let unclaimed = self.redo.take_unclaimed();
        if !unclaimed.is_empty() {
            self.drop_fragments(unclaimed, outputs);
        }
        let published = |place: &(TableId, SlotId)| {
            let reader = self.fragments.get(place)?.reader();
            Some(PublishedReader { table: place.0, slot: place.1, reader })
        };
        let readers = made.iter().filter_map(published).collect();
        let readers = Shared::Readers { version: schema.version, readers };
        outputs.share(self.address, Address::main(self.address.node), readers);
    }

    fn slot_ids(&self) -> Vec<SlotId> {
        self.slots.iter().map(|slot| slot.id).collect()
    }

    /// Takes out the fragments of tables that are gone.
    fn drop_tables(&mut self, before: &Schema, schema: &Schema, outputs: &mut Outputs<Shared>) {
        let terms = self.map.view.slot_terms();
        let mut dropped = Vec::new();
        for (table, definition, newer) in before.tables().changes(schema.tables()) {
            let slots = definition.map_or_else(Vec::new, |definition| terms.slots_of(definition));
            let mut take =
                || dropped.extend(slots.iter().filter_map(|slot| self.fragments.remove(&(table, *slot))));
            if mutants::is(Mutant::TableLeavesSlot) {
                take();
            }
            if newer.is_none() {
                self.redo.forget_table(table);
                take();
            }
        }
        if !dropped.is_empty() {
            self.drop_fragments(dropped, outputs);
        }
    }

    /// Makes the fragments of a table in this ldm's slots, or changes those that are there; `made` gets the new ones.
    fn make_fragments(&mut self, definition: &Arc<TableDefinition>, made: &mut Vec<(TableId, SlotId)>) {
        for slot in self.slots_of(definition) {
            let place = (definition.id, slot);
            match self.fragments.get_mut(&place) {
                Some(fragment) if Arc::ptr_eq(fragment.definition().table(), definition) => {}
                Some(fragment) => {
                    fragment.set_definition(Arc::new(FragmentDefinition::new(definition)));
                    self.reclaim.note(place);
                }
                None => {
                    let definition = Arc::new(FragmentDefinition::new(definition));
                    let fragment = match self.redo.take_restored(place) {
                        Some(mut restored) => {
                            self.copying.fill_new_indexes(place, restored.definition(), &definition);
                            restored.set_definition(definition);
                            restored
                        }
                        None => Fragment::new(definition, Arc::clone(&self.reclaim.memory)),
                    };
                    self.fragments.insert(place, fragment);
                    made.push(place);
                }
            }
        }
    }

    /// A new cluster begins with the same rows in the system tables of every replica.
    fn bootstrap(&mut self, made: &[(TableId, SlotId)]) {
        let transaction = TransactionId(0);
        for write in catalogue::bootstrap_rows() {
            let place = (write.table, SlotId(0));
            let Some(fragment) = self.fragments.get_mut(&place).filter(|_| made.contains(&place)) else {
                continue;
            };
            let staged = fragment.stage(&write.key, transaction, write.row.as_deref());
            stdx::require!(staged.is_ok(), "the node's memory does not hold the system tables");
            if let Ok(handle) = staged {
                if let Some(log) = self.redo.log()
                    && let Some(first) = fragment.decided(handle, transaction)
                {
                    log.put(place, &first, Epoch(1));
                }
                fragment.commit(handle, transaction, Epoch(1));
            }
        }
    }

    /// Which of this ldm's slots a table has a fragment in.
    fn slots_of(&self, definition: &TableDefinition) -> Vec<SlotId> {
        let slots = self.map.slots_of(definition.id).iter().copied();
        slots.filter(|slot| self.slots.get(*slot).is_some()).collect()
    }

    // ---- building an index ---------------------------------------------------------------------------------------

    pub(super) fn on_backfill(
        &mut self,
        from: Address,
        request: RequestId,
        table: TableRef,
        index: IndexId,
        outputs: &mut Outputs<Shared>,
    ) {
        self.backfills.floors.insert(table.id, table.version);
        let slots = self.fragments.keys().filter(|(id, _)| *id == table.id).map(|(_, slot)| *slot);
        let mut slots: Vec<SlotId> = slots.collect();
        slots.sort_unstable();
        let backfill = Backfill { from, request, table: table.id, index, slots, after: None };
        self.later(Job::Backfill(Box::new(backfill)), outputs);
    }

    pub(super) fn step_backfill(
        &mut self,
        mut backfill: Backfill,
        budget: &mut Budget,
        outputs: &mut Outputs<Shared>,
    ) {
        if self.has_older_operations(backfill.table) {
            if !self.map.given_up.is_empty() {
                return self.end_backfill(&backfill, Some(Refusal::ReplicaLost), outputs);
            }
            return self.backfills.waiting.push(backfill);
        }
        while let Some(slot) = backfill.slots.last() {
            if !budget.spend(BACKFILL_ROWS.min(budget.rows.max(1))) {
                return self.later(Job::Backfill(Box::new(backfill)), outputs);
            }
            let Some(fragment) = self.fragments.get_mut(&(backfill.table, *slot)) else {
                return self.end_backfill(&backfill, Some(Refusal::WrongSchema), outputs);
            };
            match fragment.backfill(backfill.index, backfill.after.as_deref(), BACKFILL_ROWS) {
                Ok(BackfillProgress::More(after)) => backfill.after = Some(after),
                Ok(BackfillProgress::End) => {
                    backfill.after = None;
                    backfill.slots.pop();
                }
                Err(full) => return self.end_backfill(&backfill, Some(region_full(&full)), outputs),
            }
        }
        self.end_backfill(&backfill, None, outputs);
    }

    /// Whether a transaction that is being committed changed rows of the table without knowing of its new index. A
    /// transaction that is still open is refused when it commits.
    fn has_older_operations(&self, table: TableId) -> bool {
        let floor = self.backfills.floor(table);
        let is_older = |(changed, _): &(TableRef, u32)| changed.id == table && changed.version < floor;
        let is_ending = |stage| matches!(stage, HeldStage::Ending | HeldStage::Publishing);
        let mut held = self.slots.iter().flat_map(|slot| slot.held.values());
        held.any(|held| is_ending(held.stage) && held.tables.iter().any(is_older))
    }

    fn end_backfill(&self, backfill: &Backfill, refusal: Option<Refusal>, outputs: &mut Outputs<Shared>) {
        let done = Signal::BackfillDone { request: backfill.request, refusal };
        outputs.send(self.address, backfill.from, done);
    }
}
