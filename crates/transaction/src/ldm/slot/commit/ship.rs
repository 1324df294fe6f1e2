//! Large transactions: their rows go ahead of their place, in pieces that wait for the backups' acknowledgements.
//!
//! Only the last, small piece takes an epoch and a sequence, so that a large transaction holds up neither an epoch
//! nor the stream.
//!
//! Invariant: what is on its way to backups is bounded, for a transaction by [`PIECES_IN_FLIGHT`] and for a module by
//! [`SHIPPED_BYTES_MAX`].

use super::Ending;
use super::seal::{Share, Shipped};
use crate::ldm::Context;
use crate::ldm::Sizes;
use crate::ldm::slot::transaction::{Held, HeldStage};
use crate::ldm::slot::{Slot, Slots};
use protocol::program::Refusal;
use protocol::signal::{ReplicateAhead, ReplicatedWrite};
use protocol::{Address, Signal};
use std::collections::VecDeque;
use types::{Epoch, SlotId, TransactionId};

/// Bytes above which a transaction is shipped ahead of its prepare, as it is above so many rows (`Sizes`).
pub(in crate::ldm) const AHEAD_BYTES: u64 = 1 << 20;
/// A piece has as many rows as a backup applies in a slice; so many bytes end it, too.
const PIECE: Share = Share { rows: 100, bytes: 128 * 1024 };
/// Pieces on their way to a backup at a time.
const PIECES_IN_FLIGHT: u32 = 8;
/// Bytes of all pieces of all transactions that are on their way to backups at a time; one piece more than that is
/// sent if it is larger.
const SHIPPED_BYTES_MAX: u64 = 16 << 20;

/// A large transaction on its way to the backups.
#[derive(Debug)]
pub(in crate::ldm) struct Ship {
    pub(in crate::ldm) transaction: TransactionId,
    pub(in crate::ldm) ending: Ending,
    pub(in crate::ldm) epoch_seen: Epoch,
    /// Into the transaction's operations.
    next: usize,
    pieces: u32,
    /// Acknowledgements missing for pieces sent.
    unacknowledged: u32,
    /// Bytes of the pieces since none was on its way.
    pub(in crate::ldm) bytes: u64,
}

impl Ship {
    pub(in crate::ldm) fn new(transaction: TransactionId, ending: Ending, epoch_seen: Epoch) -> Self {
        Self { transaction, ending, epoch_seen, next: 0, pieces: 0, unacknowledged: 0, bytes: 0 }
    }
}

impl Ship {
    /// It commits at this primary alone.
    pub(in crate::ldm) fn is_one_primary(&self) -> bool {
        matches!(self.ending, Ending::One(_))
    }

    /// It begins anew: in a newer view nothing is on its way.
    pub(in crate::ldm) fn restart(&mut self) {
        (self.next, self.pieces, self.unacknowledged, self.bytes) = (0, 0, 0, 0);
    }
}

/// The room that all large transactions of a module have on their way to backups.
#[derive(Debug, Default)]
pub(in crate::ldm) struct ShipWindow {
    pub(in crate::ldm) bytes: u64,
    /// Transactions that wait until there is room, none of them with a piece on its way.
    waiting: VecDeque<(SlotId, TransactionId)>,
}

impl ShipWindow {
    fn has_room(&self) -> bool {
        self.bytes < SHIPPED_BYTES_MAX
    }

    /// Whether somebody waits for room, and there is some.
    pub(in crate::ldm) fn is_due(&self) -> bool {
        !self.waiting.is_empty() && self.has_room()
    }
}

impl Held {
    /// Whether it is shipped ahead.
    pub(super) fn is_large(&self, sizes: Sizes) -> bool {
        self.rows > sizes.ahead_rows || self.bytes > AHEAD_BYTES
    }
}

/// Goes on with transactions that wait for room, as long as there is some.
pub(in crate::ldm) fn ship_waiting(slots: &mut Slots, context: &mut Context<'_>) {
    while context.ship_window.has_room()
        && let Some((slot, transaction)) = context.ship_window.waiting.pop_front()
    {
        if let Some(slot) = slots.get_mut(slot)
            && let Some(ship) = slot.shipping.remove(&transaction)
        {
            slot.ship(ship, context);
        }
    }
}

impl Slot {
    /// Sends pieces as long as the backups keep up; the last is sealed.
    pub(in crate::ldm) fn ship(&mut self, mut ship: Ship, context: &mut Context<'_>) {
        let transaction = ship.transaction;
        let Some(held) = self.held.get(&transaction).filter(|held| held.stage == HeldStage::Ending) else {
            context.ship_window.bytes -= ship.bytes;
            return;
        };
        let total = held.operations.len();
        let backups = match (&ship.ending, self.check_primary()) {
            (Ending::Again(lacking), _) => lacking.clone(),
            (_, Err(refusal)) => return self.refuse_ship(ship, refusal, context),
            (_, Ok(())) => self.members.backups.clone(),
        };
        if backups.is_empty() {
            return self.seal(transaction, ship.ending, ship.epoch_seen, Shipped::NOTHING, context);
        }
        let backup_count = u32::try_from(backups.len()).unwrap_or(1);
        while ship.next < total && ship.unacknowledged < PIECES_IN_FLIGHT * backup_count {
            if !context.ship_window.has_room() {
                if ship.unacknowledged == 0 {
                    context.ship_window.waiting.push_back((self.id, transaction));
                }
                break;
            }
            let (writes, next) = self.replicated_writes(transaction, ship.next, PIECE, context);
            ship.next = next;
            let bytes = writes.iter().map(size_of_write).sum::<usize>() as u64;
            ship.bytes += bytes;
            context.ship_window.bytes += bytes;
            let piece = ReplicateAhead { slot: self.id, transaction, piece: ship.pieces, writes };
            ship.pieces += 1;
            ship.unacknowledged += backup_count;
            context.send_to_all(&backups, Signal::ReplicateAhead(Box::new(piece)));
        }
        if ship.next >= total && ship.unacknowledged == 0 {
            let shipped = Shipped { pieces: ship.pieces, operations: total };
            return self.seal(transaction, ship.ending, ship.epoch_seen, shipped, context);
        }
        self.shipping.insert(transaction, ship);
    }

    /// Ends a large transaction before anything was sealed: no replica can ever commit it.
    pub(in crate::ldm) fn refuse_ship(&mut self, ship: Ship, refusal: Refusal, context: &mut Context<'_>) {
        context.ship_window.bytes -= ship.bytes;
        let answer = match ship.ending {
            Ending::One(reply) => reply.answer(Err(refusal)),
            Ending::Two { coordinator, .. } => {
                Some((coordinator, self.prepared(ship.transaction, Err(refusal))))
            }
            // A sealed transaction may be committed: nobody refuses it any more.
            Ending::Again(_) => return,
        };
        self.undo_shipped(ship.transaction, answer, context);
    }

    /// A replica is given up, and this slot takes no more commits: those that are not sealed are refused.
    pub(super) fn refuse_ships_if_given_up(&mut self, context: &mut Context<'_>) {
        let Err(refusal) = self.check_primary() else { return };
        let is_open = |ship: &Ship| !matches!(ship.ending, Ending::Again(_));
        let mut open: Vec<Ship> =
            self.shipping.extract_if(|_, ship| is_open(ship)).map(|(_, ship)| ship).collect();
        open.sort_unstable_by_key(|ship| ship.transaction);
        for ship in open {
            self.refuse_ship(ship, refusal.clone(), context);
        }
    }

    fn undo_shipped(
        &mut self,
        transaction: TransactionId,
        then: Option<(Address, Signal)>,
        context: &mut Context<'_>,
    ) {
        if let Some(held) = self.held.get_mut(&transaction) {
            held.stage = HeldStage::Open;
        }
        self.undo_then(transaction, then, context);
        self.send_to_backups(Signal::DropAhead { slot: self.id, transaction }, context);
    }

    pub(in crate::ldm) fn on_ahead_applied(&mut self, transaction: TransactionId, context: &mut Context<'_>) {
        if let Some(mut ship) = self.shipping.remove(&transaction) {
            ship.unacknowledged = ship.unacknowledged.saturating_sub(1);
            if ship.unacknowledged == 0 {
                context.ship_window.bytes -= std::mem::take(&mut ship.bytes);
            }
            self.ship(ship, context);
        }
    }

    /// The session gave up before the prepare was sent, or the outcome is known. True if members that lacked it got
    /// it again: what is behind it goes on when its rows are being published.
    pub(in crate::ldm) fn stop_shipping(
        &mut self,
        transaction: TransactionId,
        context: &mut Context<'_>,
    ) -> bool {
        let Some(ship) = self.shipping.remove(&transaction) else { return false };
        context.ship_window.bytes -= ship.bytes;
        match ship.ending {
            Ending::Again(lacking) => {
                context.send_to_all(&lacking, Signal::DropAhead { slot: self.id, transaction });
                true
            }
            Ending::One(_) | Ending::Two { .. } => {
                self.undo_shipped(transaction, None, context);
                false
            }
        }
    }
}

pub(in crate::ldm) fn size_of_write(write: &ReplicatedWrite) -> usize {
    write.key().len() + write.row().map_or(0, <[u8]>::len)
}
