//! Fragments as the schema and the view want them.
//!
//! `main` sends the tables that should exist; this module makes, changes and drops fragments to match and gives `main` readers of all of
//! them. A dropped table's rows are freed when the last reader is gone; operations of open transactions on it are void, and
//! their prepare is refused (`check_schema`).

use crate::ldm::slot::Slot;
use crate::ldm::slot::transaction::HeldStage;
use crate::ldm::{Job, Ldm, Place};
use crate::mutants::{self, Mutant};
use protocol::program::{Refusal, TableRef};
use protocol::signal::RequestId;
use protocol::{Address, Budget, NodeInfo, NodeRole, Outputs, Signal};
use query::{NodeMap, Shared};
use std::collections::BTreeMap;
use std::sync::Arc;
use stdx::Now;
use storage::{BackfillProgress, Fragment, FragmentDefinition};
use types::{
    Epoch, IndexDefinition, IndexId, IndexState, NodeId, SlotId, TableDefinition, TableId, TableKind,
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

impl Ldm {
    /// Makes the fragments that `map` wants, and answers with their readers.
    pub(super) fn install_tables(&mut self, now: Now, map: Arc<NodeMap>, outputs: &mut Outputs<Shared>) {
        // Who is in sync without having joined was so from the beginning, whichever view it hears of first.
        let is_first_view = self.map.view.number == ViewNumber(0) && map.view.is_in_sync(self.address.node);
        let is_older = map.schema.version < self.map.schema.version;
        stdx::require!(!is_older, "an index that an older schema lacks would be empty when it is back");
        self.install_map(now, map, outputs);
        let schema = Arc::clone(&self.map.schema);
        let is_dropped =
            |(table, _): &(TableId, SlotId), _: &mut Fragment| !schema.tables.contains_key(table);
        let mut dropped: Vec<_> = self.fragments.extract_if(is_dropped).collect();
        if !dropped.is_empty() {
            dropped.sort_by_key(|(place, _)| *place);
            self.drop_fragments(dropped.into_iter().map(|(_, fragment)| fragment).collect(), outputs);
        }
        let mut made = Vec::new();
        for definition in schema.tables.values() {
            for slot in self.slots_of(definition) {
                let place = (definition.id, slot);
                match self.fragments.get_mut(&place) {
                    Some(fragment) if Arc::ptr_eq(fragment.definition().table(), definition) => {}
                    Some(fragment) => {
                        fragment.set_definition(Arc::new(FragmentDefinition::new(definition)));
                        self.reclaim.note(place);
                    }
                    None => {
                        let fragment = Fragment::new(
                            Arc::new(FragmentDefinition::new(definition)),
                            Arc::clone(&self.memory),
                        );
                        self.fragments.insert(place, fragment);
                        made.push(place);
                    }
                }
            }
        }
        if is_first_view {
            self.bootstrap(&made);
        }
        let readers = Shared::Readers { version: schema.version, readers: self.published() };
        outputs.share(self.address, Address::main(self.address.node), readers);
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
                fragment.commit(handle, transaction, Epoch(1));
            }
        }
    }

    /// Which of this ldm's slots a table has a fragment in.
    fn slots_of(&self, definition: &TableDefinition) -> Vec<SlotId> {
        let is_system = definition.kind == TableKind::System;
        self.slots.keys().copied().filter(|slot| (slot.0 == 0) == is_system).collect()
    }

    /// Slots as the map's view wants them; `before` is the view that the module was in.
    /// Gives those whose primary this module was and is no more.
    fn install_slots(&mut self, before: ViewNumber) -> Vec<SlotId> {
        let mut stepped_down = Vec::new();
        let view = Arc::clone(&self.map.view);
        let mut slots = BTreeMap::new();
        for id in (0..u32::try_from(view.slots.len()).unwrap_or(0)).map(SlotId) {
            let is_mine = view.ldm(id, self.address.node) == Some(self.address)
                && view.written(id).any(|node| node == self.address.node);
            if !is_mine {
                continue;
            }
            let mut state: Slot = self.slots.remove(&id).unwrap_or_default();
            let was_primary =
                std::mem::replace(&mut state.is_primary, view.primary(id) == Some(self.address));
            let others = view.written(id).filter(|node| *node != self.address.node);
            state.backups = others.filter_map(|node| view.ldm(id, node)).collect();
            state.copy_in = if view.joining(id).contains(&self.address.node) {
                Some(state.copy_in.unwrap_or_default())
            } else {
                None
            };
            state.is_replica_lost = self.map.is_replica_lost(id);
            if was_primary && !state.is_primary {
                stepped_down.push(id);
            }
            state.alone = Arc::new(vec![id]);
            if view.number > before {
                state.begin_stream(before, view.number, was_primary);
            }
            slots.insert(id, state);
        }
        self.slots = slots;
        self.is_joining = self.slots.values().any(|state| state.copy_in.is_some());
        stepped_down
    }

    /// Installs a newer map: lost members end what waits for them.
    pub(super) fn install_map(&mut self, now: Now, map: Arc<NodeMap>, outputs: &mut Outputs<Shared>) {
        let has_lost = map.lost != self.map.lost || map.losses != self.map.losses;
        let is_again = |(node, count): &(&NodeId, &u64)| self.map.losses.get(*node) != Some(*count);
        let mut gone: Vec<NodeId> = map.losses.iter().filter(is_again).map(|(node, _)| *node).collect();
        let reborn = self.reborn(&map);
        gone.extend(reborn.iter().filter(|node| !map.losses.contains_key(node)));
        let has_given_up = map.given_up != self.map.given_up && !map.given_up.is_empty();
        if map.stays_after(&self.map) {
            self.standing_down.main = None;
        }
        let before = self.map.view.number;
        self.map = map;
        self.is_entering = self.map.view.number > before.max(ViewNumber(1));
        let stepped_down = self.install_slots(before);
        if before == ViewNumber(0) {
            self.learn_floors();
        }
        if has_lost || self.map.view.number > before {
            for node in &gone {
                self.void.remove(node);
            }
            self.forget_listeners(&gone);
            self.abort_of_lost_sessions(&gone, outputs);
        }
        if self.map.view.number > before.max(ViewNumber(1)) {
            self.begin_takeover(now, &reborn, &stepped_down, outputs);
        }
        if has_given_up {
            self.give_up_on_lost(outputs);
            self.fail_reads(outputs);
            self.resume_backfills(outputs);
            self.refuse_waits_of_lost(outputs);
        }
    }

    /// Nodes that are another life in a newer map: this module may never have seen a view without them.
    fn reborn(&self, map: &NodeMap) -> Vec<NodeId> {
        let life = |info: &&NodeInfo| self.map.view.node(info.node).map(|known| known.incarnation);
        let is_reborn = |info: &&NodeInfo| life(info).is_some_and(|known| known != info.incarnation);
        let data_nodes = map.view.nodes.iter().filter(|info| info.role == NodeRole::Data);
        data_nodes.filter(is_reborn).map(|info| info.node).collect()
    }

    /// Sessions of a lost node cannot go on: what they had open here is undone, what is being committed is left to its decider.
    /// That holds when the node is back already, too. Its next life may have begun here before this was known: such transactions go with the
    /// others, and are remembered as void, so that none goes on without what it had done.
    pub fn abort_of_lost_sessions(&mut self, gone: &[NodeId], outputs: &mut Outputs<Shared>) {
        let map = Arc::clone(&self.map);
        let is_lost_session = |session: Address| map.is_out(session.node) || gone.contains(&session.node);
        let held = self.held.iter().filter(|(_, held)| is_lost_session(held.session));
        let mut places: Vec<(NodeId, Place)> =
            held.map(|(place, held)| (held.session.node, *place)).collect();
        let waiting = self.waits.values().filter(|waiting| is_lost_session(waiting.run.from()));
        places.extend(
            waiting.map(|waiting| (waiting.run.from().node, (waiting.transaction, waiting.key.slot))),
        );
        places.sort_unstable();
        places.dedup();
        self.lose_handed_waits(|run| is_lost_session(run.from()), outputs);
        // Who waits for memory or for a takeover is refused when it goes on.
        for (session, place) in self.postponed() {
            if is_lost_session(session) {
                self.void.entry(session.node).or_default().insert(place);
            }
        }
        for (node, place) in places.into_iter().filter(|_| !mutants::is(Mutant::LostSessionsKept)) {
            self.void.entry(node).or_default().insert(place);
            for wait in self.waits_of(place) {
                // (The next life waits for an answer.)
                self.refuse_wait(wait, Refusal::WrongView, outputs);
            }
            self.undo(place, outputs);
        }
    }

    /// A member that joins while an index is being filled has not been asked to help with it, but knows of it.
    fn learn_floors(&mut self) {
        let is_filled = |index: &IndexDefinition| index.state == IndexState::WriteOnly;
        for (id, table) in &self.map.tables {
            if table.definition.indexes.iter().any(is_filled) {
                self.version_floors.insert(*id, table.definition.version);
            }
        }
    }

    // ---- building an index --------------------------------------------------------------------------------------------------------

    pub(super) fn on_backfill(
        &mut self,
        from: Address,
        request: RequestId,
        table: TableRef,
        index: IndexId,
        outputs: &mut Outputs<Shared>,
    ) {
        self.version_floors.insert(table.id, table.version);
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
            if self.has_lost_replicas() {
                return self.end_backfill(&backfill, Some(Refusal::ReplicaLost), outputs);
            }
            return self.waiting_backfills.push(backfill);
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
                Err(full) => return self.end_backfill(&backfill, Some(super::region_full(&full)), outputs),
            }
        }
        self.end_backfill(&backfill, None, outputs);
    }

    /// A transaction ended, or never will: what waited for it looks again.
    pub(super) fn resume_backfills(&mut self, outputs: &mut Outputs<Shared>) {
        for backfill in std::mem::take(&mut self.waiting_backfills) {
            self.later(Job::Backfill(Box::new(backfill)), outputs);
        }
    }

    /// Whether a transaction that is being committed changed rows of the table without knowing of its new index. (One that is still open is
    /// refused when it commits.)
    fn has_older_operations(&self, table: TableId) -> bool {
        let floor = self.version_floors.get(&table).copied().unwrap_or(0);
        let is_older = |(changed, _): &(TableRef, u32)| changed.id == table && changed.version < floor;
        let is_ending = |stage| matches!(stage, HeldStage::Ending | HeldStage::Publishing);
        self.held.values().any(|held| is_ending(held.stage) && held.tables.iter().any(is_older))
    }

    fn end_backfill(&self, backfill: &Backfill, refusal: Option<Refusal>, outputs: &mut Outputs<Shared>) {
        let done = Signal::BackfillDone { request: backfill.request, refusal };
        outputs.send(self.address, backfill.from, done);
    }
}
