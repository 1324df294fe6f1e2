//! Parcels between the threads of a node: one ring per ordered pair, published and woken for once per round.
//!
//! Invariants:
//! - parcels from one thread to another arrive in the order in which they were sent, full ring or not;
//! - a parcel is never lost and sending never waits: what does not fit waits at the sender (`spill`, at most
//!   `ring_spill_max`);
//! - a parcel that may wait (`hold`) enters the ring and becomes visible with the round's others, but wakes nobody.
//!   Parcels that a sleeping receiver has not taken are left to [`release_held`](Exchange::release_held);
//! - `is_congested` is true while any ring out of this thread is nearly full: the thread then reads no client, because
//!   a session can wait;
//! - `is_overfull` is true while so much waits that only peers can have sent it: the thread then reads no links either.
//!   The signals of `membership` cannot wait: it has links and a thread of its own.
//!
//! Messages from outside the runtime's threads (a stop request, an address that was resolved) come by the inbox with a
//! lock, in `process`.

use crate::connections::NewClient;
use crate::links::LinkOrder;
use crate::process::Process;
use crate::supervisor::LinkNews;
use protocol::{Address, Envelope};
use std::collections::VecDeque;
use std::sync::Arc;
use stdx::ring::{Consumer, Producer, ring};

/// A message from one thread to another.
pub(crate) enum Parcel<S> {
    Signal(Envelope),
    Shared { from: Address, to: Address, shared: S },
    Control(Box<Control>),
}

/// Orders that the runtime's threads give each other.
pub(crate) enum Control {
    /// A client connection for the receiver's module.
    Client(NewClient),
    /// Accept connections from now on.
    OpenListeners,
    /// Open, adopt or close links.
    Link(LinkOrder),
    /// To the supervisor of links.
    News(LinkNews),
}

struct Outbox<S> {
    producer: Producer<Parcel<S>>,
    spill: VecDeque<Parcel<S>>,
    is_dirty: bool,
    /// Parcels that may wait were sent; the receiver was perhaps not woken for them.
    is_held: bool,
    /// The ring was nearly full when it was last looked at.
    is_crowded: bool,
}

impl<S> Outbox<S> {
    /// Parcels in a ring that is nearly full.
    fn crowd(&self) -> usize {
        self.producer.capacity() / 4 * 3
    }
}

/// One thread's ends of all rings.
pub(crate) struct Exchange<S> {
    process: Arc<Process>,
    /// By thread; none to itself.
    outboxes: Vec<Option<Outbox<S>>>,
    inboxes: Vec<Consumer<Parcel<S>>>,
    dirty: Vec<usize>,
    held: Vec<usize>,
    /// Those with rings that were nearly full: only these are looked at again.
    crowded: Vec<usize>,
    spilled: usize,
    spill_max: usize,
    /// Where `receive` starts, so that no sender is always the last.
    turn: usize,
}

/// The rings between `count` threads, by thread.
pub(crate) fn exchanges<S>(count: usize, process: &Arc<Process>) -> Vec<Exchange<S>> {
    // Rings are quadratic in threads: many threads get shorter ones.
    let capacity = process.limits.ring_capacity.min(32_768 / count.max(1)).max(16);
    let mut exchanges: Vec<Exchange<S>> = (0..count)
        .map(|_| Exchange {
            process: Arc::clone(process),
            outboxes: Vec::new(),
            inboxes: Vec::new(),
            dirty: Vec::new(),
            held: Vec::new(),
            crowded: Vec::new(),
            spilled: 0,
            spill_max: process.limits.ring_spill_max,
            turn: 0,
        })
        .collect();
    for from in 0..count {
        for to in 0..count {
            if from == to {
                exchanges[from].outboxes.push(None);
                continue;
            }
            let (producer, consumer) = ring(capacity);
            let spill = VecDeque::new();
            let outbox = Outbox { producer, spill, is_dirty: false, is_held: false, is_crowded: false };
            exchanges[from].outboxes.push(Some(outbox));
            exchanges[to].inboxes.push(consumer);
        }
    }
    exchanges
}

impl<S> Exchange<S> {
    /// Sends a parcel to another thread; it leaves at the next [`flush`](Self::flush).
    pub(crate) fn send(&mut self, thread: usize, parcel: Parcel<S>) {
        self.push(thread, parcel);
        self.mark_dirty(thread);
    }

    /// Sends a parcel for which nobody needs to be woken, as long as there are few of them.
    pub(crate) fn hold(&mut self, thread: usize, parcel: Parcel<S>) {
        self.push(thread, parcel);
        let Some(outbox) = &mut self.outboxes[thread] else { return };
        if outbox.producer.waiting() > outbox.producer.capacity() / 4 {
            self.mark_dirty(thread);
        } else if !outbox.is_held {
            outbox.is_held = true;
            self.held.push(thread);
        }
    }

    /// Has the receiver woken at the next flush.
    fn mark_dirty(&mut self, thread: usize) {
        if let Some(outbox) = &mut self.outboxes[thread]
            && !outbox.is_dirty
        {
            outbox.is_dirty = true;
            self.dirty.push(thread);
        }
    }

    fn push(&mut self, thread: usize, parcel: Parcel<S>) {
        let outbox = self.outboxes.get_mut(thread).and_then(Option::as_mut);
        let Some(outbox) = outbox else {
            stdx::require!(false, "a parcel to thread {thread}, which is not another thread of this node");
            return;
        };
        if outbox.spill.is_empty() {
            if let Err(parcel) = outbox.producer.push(parcel) {
                outbox.spill.push_back(parcel);
                self.spilled += 1;
            }
            if outbox.producer.waiting_at_most() > outbox.crowd() && !outbox.is_crowded {
                outbox.is_crowded = true;
                self.crowded.push(thread);
            }
        } else {
            outbox.spill.push_back(parcel);
            self.spilled += 1;
            stdx::require!(
                self.spilled <= self.spill_max,
                "a thread takes no parcels: {} wait for it",
                self.spilled
            );
        }
    }

    /// Publishes what was sent since the last flush and wakes the receivers that sleep; the number of wakes.
    pub(crate) fn flush(&mut self) -> u64 {
        if self.spilled > 0 {
            self.drain_spill();
        }
        for thread in &self.held {
            if let Some(outbox) = &mut self.outboxes[*thread]
                && !outbox.is_dirty
            {
                outbox.producer.publish();
            }
        }
        let mut wakes = 0;
        for thread in self.dirty.drain(..) {
            if let Some(outbox) = &mut self.outboxes[thread] {
                outbox.is_dirty = false;
                outbox.producer.publish();
                if self.process.threads[thread].waker.wake_if_parked() {
                    wakes += 1;
                }
            }
        }
        wakes
    }

    /// Whether parcels that may wait are still waiting for a receiver to be woken.
    pub(crate) fn has_held(&mut self) -> bool {
        let outboxes = &mut self.outboxes;
        self.held.retain(|thread| {
            let Some(outbox) = &mut outboxes[*thread] else { return false };
            outbox.is_held = outbox.producer.waiting() > 0;
            outbox.is_held
        });
        !self.held.is_empty()
    }

    /// They have waited long enough: their receivers are woken at the next flush.
    pub(crate) fn release_held(&mut self) {
        for thread in std::mem::take(&mut self.held) {
            if let Some(outbox) = &mut self.outboxes[thread] {
                outbox.is_held = false;
            }
            self.mark_dirty(thread);
        }
    }

    fn drain_spill(&mut self) {
        for (thread, outbox) in self.outboxes.iter_mut().enumerate() {
            let Some(outbox) = outbox else { continue };
            while let Some(parcel) = outbox.spill.pop_front() {
                if let Err(parcel) = outbox.producer.push(parcel) {
                    outbox.spill.push_front(parcel);
                    break;
                }
                self.spilled -= 1;
                if !outbox.is_dirty {
                    outbox.is_dirty = true;
                    self.dirty.push(thread);
                }
            }
        }
    }

    /// Something waits behind a full ring: come back soon.
    pub(crate) fn has_spilled(&self) -> bool {
        self.spilled > 0
    }

    /// A receiver takes nothing: take no signals from peers.
    pub(crate) fn is_overfull(&self) -> bool {
        self.spilled > self.spill_max / 4
    }

    /// A receiver is slow: take no new work from clients.
    pub(crate) fn is_congested(&mut self) -> bool {
        let outboxes = &mut self.outboxes;
        self.crowded.retain(|thread| {
            let Some(outbox) = &mut outboxes[*thread] else { return false };
            outbox.is_crowded = outbox.producer.waiting() > outbox.crowd();
            outbox.is_crowded
        });
        self.spilled > 0 || !self.crowded.is_empty()
    }

    /// Takes what others have published, at most `limit` parcels from each; true if there was anything.
    pub(crate) fn receive(&mut self, limit: usize, mut take: impl FnMut(Parcel<S>)) -> bool {
        let count = self.inboxes.len();
        let mut any = false;
        for offset in 0..count {
            let inbox = &mut self.inboxes[(self.turn + offset) % count];
            for _ in 0..limit {
                let Some(parcel) = inbox.pop() else { break };
                any = true;
                take(parcel);
            }
        }
        self.turn = self.turn.wrapping_add(1);
        any
    }

    /// Nothing published waits for this thread.
    pub(crate) fn is_empty(&mut self) -> bool {
        self.inboxes.iter_mut().all(Consumer::is_empty)
    }
}
