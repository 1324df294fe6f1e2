//! Installing maps: which slots are here, who leads them, and, in a newer view, what each slot does, in this order.
//!
//! 1. Slots begin the view's stream. Those that another member leads now step down.
//! 2. Open transactions of lines that the view has ended are void, and so is what was on its way here.
//! 3. Requests that are kept for a primary that this node is not any more are refused.
//! 4. Transactions of lost coordinators have none; large ones are shipped again.
//! 5. Backups report, or hand over; primaries look whether they have all reports.

use super::Context;
use super::Ldm;
use super::slot::commit::ship::{Ship, ShipWindow};
use super::slot::{Slot, Slots};
use crate::mutants::{self, Mutant};
use protocol::program::Refusal;
use protocol::{Address, NodeInfo, NodeRole, Outputs};
use query::{NodeMap, Shared};
use std::sync::Arc;
use types::{NodeId, SlotId, TransactionId, ViewNumber};

impl Ldm {
    /// Installs a newer map: lost members end what waits for them.
    pub(super) fn install_map(&mut self, map: Arc<NodeMap>, outputs: &mut Outputs<Shared>) {
        let loses = map.lost != self.map.lost || map.losses != self.map.losses;
        let is_again = |(node, count): &(&NodeId, &u64)| self.map.losses.get(*node) != Some(*count);
        let mut gone: Vec<NodeId> = map.losses.iter().filter(is_again).map(|(node, _)| *node).collect();
        let reborn = self.reborn(&map);
        gone.extend(reborn.iter().filter(|node| !map.losses.contains_key(node)));
        let gives_up = map.given_up != self.map.given_up && !map.given_up.is_empty();
        if map.stays_after(&self.map) {
            self.progress.standing_down.main = None;
        }
        let before = self.map.view.number;
        self.map = map;
        let is_newer = self.map.view.number > before;
        // Nothing goes on from before the first view.
        let has_begun = is_newer && !self.map.view.is_first();
        self.progress.is_entering = has_begun;
        let stepped_down = if is_newer { self.install_slots(before) } else { Vec::new() };
        for slot in self.slots.iter_mut() {
            slot.members.is_replica_given_up = self.map.is_replica_given_up(slot.id);
        }
        if before == ViewNumber(0) {
            self.backfills.learn_floors(&self.map);
        }
        if loses || is_newer {
            for slot in self.slots.iter_mut() {
                slot.void.retain(|node, _| !gone.contains(node));
            }
            self.progress.standing_down.forget_listeners(&gone);
            self.abort_for_lost_nodes(&gone, outputs);
        }
        if has_begun {
            self.enter_view(&reborn, &stepped_down, outputs);
        }
        if gives_up {
            self.end_waits_for_given_up(outputs);
        }
    }

    /// Nodes that are another life in a newer map: this module may never have seen a view without them.
    fn reborn(&self, map: &NodeMap) -> Vec<NodeId> {
        let life = |info: &&NodeInfo| self.map.view.node(info.node).map(|known| known.incarnation);
        let is_reborn = |info: &&NodeInfo| life(info).is_some_and(|known| known != info.incarnation);
        let data_nodes = map.view.nodes.iter().filter(|info| info.role == NodeRole::Data);
        data_nodes.filter(is_reborn).map(|info| info.node).collect()
    }

    /// Slots as the map's newer view wants them; `before` is the view that the module was in.
    /// Gives those whose primary this module was and is no more.
    fn install_slots(&mut self, before: ViewNumber) -> Vec<SlotId> {
        let mut stepped_down = Vec::new();
        let view = &self.map.view;
        let mut known = std::mem::take(&mut self.slots).into_slots().into_iter().peekable();
        let mut slots = Vec::new();
        for id in view.slots_of_node(self.address.node) {
            let slot = known.next_if(|slot| slot.id == id);
            let is_mine = view.ldm(id, self.address.node) == Some(self.address)
                && view.written(id).any(|node| node == self.address.node);
            if !is_mine {
                continue;
            }
            let mut slot = slot.unwrap_or_else(|| Slot::new(id));
            let is_primary = view.primary(id) == Some(self.address);
            let was_primary = slot.is_primary();
            slot.role.lead(is_primary);
            let others = view.written(id).filter(|node| *node != self.address.node);
            slot.members.backups = others.filter_map(|node| view.ldm(id, node)).collect();
            if mutants::is(Mutant::OwnerByOwnLayout) {
                slot.members.backups.iter_mut().for_each(|backup| backup.instance = self.address.instance);
            }
            let is_joining = view.joining(id).contains(&self.address.node);
            slot.copy_in = is_joining.then(|| slot.copy_in.take().unwrap_or_default());
            if was_primary && !is_primary {
                stepped_down.push(id);
            }
            slot.begin_stream(before, view, was_primary);
            slots.push(slot);
        }
        self.slots = Slots::new(slots);
        self.progress.is_joining = self.slots.iter().any(|slot| slot.copy_in.is_some());
        stepped_down
    }

    /// Sessions of a lost node cannot go on: what they had open here is undone, what is being committed is left to its
    /// decider. The same holds when the node is back already. Its next life may have begun here before this was known.
    /// Such transactions go with the others, and are remembered as void, so that none goes on without what it had done.
    pub fn abort_for_lost_nodes(&mut self, gone: &[NodeId], outputs: &mut Outputs<Shared>) {
        let (slots, mut context) = self.parts(outputs);
        let map = context.map;
        let is_gone = |session: Address| map.is_out(session.node) || gone.contains(&session.node);
        for slot in slots.iter_mut() {
            slot.abort_for_lost_nodes(is_gone, &mut context);
        }
    }

    /// A newer view is installed: its slots have begun their streams.
    fn enter_view(&mut self, reborn: &[NodeId], stepped_down: &[SlotId], outputs: &mut Outputs<Shared>) {
        self.copying.begin_view();
        self.count_takeovers(outputs);
        let (slots, mut context) = self.parts(outputs);
        for slot in slots.iter_mut().filter(|slot| stepped_down.contains(&slot.id)) {
            slot.step_down(&mut context);
        }
        for slot in slots.iter_mut() {
            slot.continue_line(&mut context);
            slot.void_unread(reborn, &mut context);
            slot.drop_all_ahead(&mut context);
        }
        self.refuse_not_led(outputs);
        let (slots, mut context) = self.parts(outputs);
        context.restart_epochs();
        // One that is only out of reach decides still: a newer view says whether it is gone, and says so to all.
        let map = context.map;
        for slot in slots.iter_mut() {
            slot.forget_coordinators(|node| map.serves_nobody(node) || reborn.contains(&node));
        }
        let ships: Vec<(SlotId, Vec<Ship>)> =
            slots.iter_mut().map(|slot| (slot.id, slot.take_ships())).collect();
        *context.ship_window = ShipWindow::default();
        for (slot, (_, ships)) in slots.iter_mut().zip(ships) {
            slot.ship_again(ships, reborn, &mut context);
        }
        self.count_takeovers(outputs);
        self.progress.is_entering = false;
        let (slots, mut context) = self.parts(outputs);
        for slot in slots.iter_mut() {
            slot.enter_view(&mut context);
        }
    }

    /// Counts the slots whose takeover is not over.
    fn count_takeovers(&mut self, outputs: &mut Outputs<Shared>) {
        let before = self.progress.takeover_count;
        for slot in self.slots.iter_mut() {
            slot.is_counted = slot.is_in_takeover();
        }
        self.progress.takeover_count = self.slots.iter().filter(|slot| slot.is_counted).count();
        if before > 0 && self.progress.takeover_count == 0 {
            self.parts(outputs).1.report_all_open();
        }
    }

    /// A replica is given up: what waits for it ends.
    fn end_waits_for_given_up(&mut self, outputs: &mut Outputs<Shared>) {
        let (slots, mut context) = self.parts(outputs);
        for slot in slots.iter_mut() {
            slot.abandon_commits(&mut context);
            slot.fail_reads(&mut context);
        }
        context.resume_backfills();
        for slot in slots.iter_mut() {
            slot.refuse_waits_if_given_up(&mut context);
        }
    }
}

impl Slot {
    /// Sessions of a lost node cannot go on here.
    fn abort_for_lost_nodes(&mut self, is_gone: impl Fn(Address) -> bool, context: &mut Context<'_>) {
        let held = self.held.iter().filter_map(|(transaction, held)| Some((held.session?, *transaction)));
        let held = held.filter(|(session, _)| is_gone(*session));
        let mut open: Vec<(NodeId, TransactionId)> =
            held.map(|(session, transaction)| (session.node, transaction)).collect();
        let waiting = context.waits.iter().map(|(_, waiting)| waiting);
        let waiting = waiting.filter(|waiting| waiting.key.slot == self.id && is_gone(waiting.run.from()));
        open.extend(waiting.map(|waiting| (waiting.run.from().node, waiting.transaction)));
        open.sort_unstable();
        open.dedup();
        self.void_handed_waits(|run| is_gone(run.from()), context);
        // A request that waits for memory or for a takeover is refused when it goes on.
        for (session, transaction) in self.postponed(context) {
            if is_gone(session) {
                self.void.entry(session.node).or_default().insert(transaction);
            }
        }
        if mutants::is(Mutant::LostSessionsKept) {
            return;
        }
        for (node, transaction) in open {
            self.void.entry(node).or_default().insert(transaction);
            for wait in context.waits.of_in(transaction, self.id) {
                // The next life waits for an answer.
                self.refuse_wait(wait, Refusal::WrongView, context);
            }
            self.undo(transaction, context);
        }
    }

    /// All slots of the module have begun the view: reports go out.
    fn enter_view(&mut self, context: &mut Context<'_>) {
        if self.is_primary() {
            self.tell_taken(context);
            return self.finish_gathering(context);
        }
        if self.role.hand_out().is_some() {
            self.hand_over(context);
        } else {
            self.report(context);
        }
        self.report_copied(context);
    }
}
