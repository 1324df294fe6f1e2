//! A bounded first-in first-out ring between two threads: one produces, the other consumes, nobody waits.
//!
//! The two ends share a power-of-two array of slots and two ever-growing counters, each on a cache line of its own. The
//! producer writes `published`, the consumer writes `consumed`. Each end keeps a private copy of the other's counter.
//! It reads the shared one only when its copy says "full" or "empty". So a busy ring moves a cache line once per batch
//! and not once per item. This is the technique of Lamport's queue as refined by FastForward and MCRingBuffer.
//!
//! Invariants:
//! - `consumed ≤ published ≤ written ≤ consumed + capacity`, where `written` is private to the producer;
//! - slots in `consumed..written` hold initialised items, all others hold none;
//! - an item becomes visible to the consumer at [`Producer::publish`] and not before, in the order of the pushes;
//! - each end is owned by one thread at a time (`&mut self` everywhere), which is what makes the `unsafe` below sound.
//!
//! Deliberately not here: waking a consumer that sleeps (the runtime's affair), and growing.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[cfg(test)]
mod tests;

/// Keeps its content on cache lines of its own (two lines, because adjacent lines are fetched in pairs).
#[repr(align(128))]
struct Padded<T>(T);

struct Slots<T> {
    slots: Box<[UnsafeCell<MaybeUninit<T>>]>,
    published: Padded<AtomicUsize>,
    consumed: Padded<AtomicUsize>,
}

#[expect(unsafe_code, reason = "the two ends hand items over through raw slots")]
// SAFETY: a slot is touched by the producer only while it lies in `written..consumed + capacity` and by the consumer
// only while it lies in `consumed..published`; the release/acquire pairs on the counters order the hand-over. So
// sharing needs only `T: Send`.
unsafe impl<T: Send> Sync for Slots<T> {}

impl<T> Slots<T> {
    fn slot(&self, position: usize) -> *mut MaybeUninit<T> {
        self.slots[position & (self.slots.len() - 1)].get()
    }
}

impl<T> Drop for Slots<T> {
    fn drop(&mut self) {
        // Items that were pushed but never published were dropped by the producer's own drop: see there.
        let (consumed, published) = (*self.consumed.0.get_mut(), *self.published.0.get_mut());
        let mut position = consumed;
        while position != published {
            #[expect(unsafe_code, reason = "drops the items left between the two ends")]
            // SAFETY: both ends are gone (this is the last owner), and slots in `consumed..published` are initialised.
            unsafe {
                (*self.slot(position)).assume_init_drop();
            }
            position = position.wrapping_add(1);
        }
    }
}

/// A ring with room for `capacity` items (rounded up to a power of two).
#[must_use]
pub fn ring<T>(capacity: usize) -> (Producer<T>, Consumer<T>) {
    crate::require!(capacity > 0);
    let capacity = capacity.next_power_of_two();
    let slots = (0..capacity).map(|_| UnsafeCell::new(MaybeUninit::uninit())).collect();
    let shared = Arc::new(Slots {
        slots,
        published: Padded(AtomicUsize::new(0)),
        consumed: Padded(AtomicUsize::new(0)),
    });
    let producer = Producer { shared: Arc::clone(&shared), written: 0, published: 0, consumed_seen: 0 };
    (producer, Consumer { shared, consumed: 0, published_seen: 0 })
}

/// The end that writes.
pub struct Producer<T> {
    shared: Arc<Slots<T>>,
    written: usize,
    published: usize,
    consumed_seen: usize,
}

impl<T> Producer<T> {
    /// Puts `item` behind the others, invisible until [`publish`](Self::publish); gives it back when the ring is full.
    #[inline]
    pub fn push(&mut self, item: T) -> Result<(), T> {
        if self.written.wrapping_sub(self.consumed_seen) == self.capacity() {
            self.consumed_seen = self.shared.consumed.0.load(Ordering::Acquire);
            if self.written.wrapping_sub(self.consumed_seen) == self.capacity() {
                return Err(item);
            }
        }
        #[expect(unsafe_code, reason = "writes into a slot that the consumer may not read yet")]
        // SAFETY: `written - consumed < capacity`, so the consumer has given this slot back (acquire above) and reads
        // it only after `publish`.
        unsafe {
            (*self.shared.slot(self.written)).write(item);
        }
        self.written = self.written.wrapping_add(1);
        Ok(())
    }

    /// Makes everything pushed so far visible; true if there was anything new.
    #[inline]
    pub fn publish(&mut self) -> bool {
        if self.published == self.written {
            return false;
        }
        self.published = self.written;
        self.shared.published.0.store(self.written, Ordering::Release);
        true
    }

    /// As [`waiting`](Self::waiting), without a look at the other end: more than that never wait.
    #[must_use]
    #[inline]
    pub fn waiting_at_most(&self) -> usize {
        self.written.wrapping_sub(self.consumed_seen)
    }

    /// How many items wait, unpublished ones included; may be more than really do, never fewer.
    #[inline]
    pub fn waiting(&mut self) -> usize {
        if self.written != self.consumed_seen {
            self.consumed_seen = self.shared.consumed.0.load(Ordering::Acquire);
        }
        self.written.wrapping_sub(self.consumed_seen)
    }

    /// How many items fit.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.shared.slots.len()
    }
}

impl<T> Drop for Producer<T> {
    fn drop(&mut self) {
        // Whatever was pushed is handed over or dropped with the ring: never leaked.
        self.publish();
    }
}

/// The end that reads.
pub struct Consumer<T> {
    shared: Arc<Slots<T>>,
    consumed: usize,
    published_seen: usize,
}

impl<T> Consumer<T> {
    /// Takes the oldest published item.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        #[expect(unsafe_code, reason = "takes an item out of a published slot")]
        // SAFETY: `consumed < published`, so the slot is initialised (acquire in `is_empty`) and the producer leaves it
        // alone until `consumed` passes it, which happens below, after the item was moved out.
        let item = unsafe { (*self.shared.slot(self.consumed)).assume_init_read() };
        self.consumed = self.consumed.wrapping_add(1);
        self.shared.consumed.0.store(self.consumed, Ordering::Release);
        Some(item)
    }

    /// True if nothing is published that was not taken.
    #[inline]
    pub fn is_empty(&mut self) -> bool {
        if self.consumed != self.published_seen {
            return false;
        }
        self.published_seen = self.shared.published.0.load(Ordering::Acquire);
        self.consumed == self.published_seen
    }
}
