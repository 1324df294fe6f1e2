//! When memory that readers may still look at can be used again: quiescent states (as in user-space RCU's QSBR
//! flavour).
//!
//! The process has a *period* that grows. Every thread that reads has a slot; an active thread *announces* the current
//! period at moments when it holds no reference. The thread that unlinks an object begins a new period
//! ([`begin_period`]), and the object waits for that period. Once every active slot has announced that period or a
//! later one ([`passed`]), no thread can still hold the object. A thread that announced it could only reach what was
//! linked then. A parked thread holds nothing and is not waited for.
//!
//! There is one registry for the process, and every owner waits for all threads of it. So a reader cannot be on the
//! wrong list, which makes [`Guard`] safe to use from anywhere. A thread of the runtime registers itself and announces
//! once per loop round: then entering a guard costs one thread-local increment. A thread that did not register (a test,
//! a tool) is active only while it holds a guard.
//!
//! Invariants: a thread with a guard is active, and its slot does not change until its last guard is dropped; a slot
//! belongs to one thread.
//!
//! Why it is sound. *Announce*: the thread loads the period with acquire. If that is at least an object's period, the
//! unlinking happened before, and what the thread loads later does not contain the object. Its earlier reads happen
//! before the release store that the reclaimer acquires. *Becoming active*: the slot's store, a full fence, then the
//! first read. The reclaimer unlinks, then a full fence, then reads the slots. Either the reclaimer sees the slot
//! active, or the thread sees the object unlinked.
//!
//! Deliberately not here: lists of what waits to be freed (each owner has its own).

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};

/// Threads of a process that read at the same time; more is a bug in the thread configuration.
pub const THREADS_MAX: usize = 1024;
const INACTIVE: u64 = u64::MAX;
const NO_SLOT: usize = usize::MAX;

/// One thread; alone on its cache lines because it is stored to once per loop round.
#[repr(align(128))]
struct Slot {
    seen: AtomicU64,
    is_taken: AtomicBool,
}

static SLOTS: [Slot; THREADS_MAX] =
    [const { Slot { seen: AtomicU64::new(INACTIVE), is_taken: AtomicBool::new(false) } }; THREADS_MAX];
/// Slots from here on were never taken.
static SLOTS_USED: AtomicUsize = AtomicUsize::new(0);
static PERIOD: AtomicU64 = AtomicU64::new(1);

/// Why a thread is active.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Activity {
    /// It is not.
    Idle,
    /// It holds a guard.
    ByGuard,
    /// It registered and is not parked.
    Registered,
}

struct Thread {
    slot: Cell<usize>,
    guards: Cell<u64>,
    activity: Cell<Activity>,
    is_registered: Cell<bool>,
}

thread_local! {
    static THREAD: Thread = const {
        Thread {
            slot: Cell::new(NO_SLOT),
            guards: Cell::new(0),
            activity: Cell::new(Activity::Idle),
            is_registered: Cell::new(false),
        }
    };
    /// Gives an unregistered thread's slot back when the thread ends.
    static SLOT_OWNER: SlotOwner = const { SlotOwner };
}

struct SlotOwner;

impl Drop for SlotOwner {
    fn drop(&mut self) {
        THREAD.with(|thread| {
            if thread.guards.get() == 0 && !thread.is_registered.get() {
                thread.give_slot_back();
            }
        });
    }
}

impl Thread {
    fn slot(&self) -> &'static Slot {
        if self.slot.get() == NO_SLOT {
            self.take_slot();
        }
        &SLOTS[self.slot.get()]
    }

    fn take_slot(&self) {
        for (index, slot) in SLOTS.iter().enumerate() {
            if !slot.is_taken.load(Ordering::Relaxed) && !slot.is_taken.swap(true, Ordering::Acquire) {
                SLOTS_USED.fetch_max(index + 1, Ordering::SeqCst);
                self.slot.set(index);
                // If this thread's destructors already ran, the slot stays taken: a few bytes, nothing waits for it.
                let _ = SLOT_OWNER.try_with(|_| ());
                return;
            }
        }
        stdx::require!(false, "more than {THREADS_MAX} threads");
    }

    fn give_slot_back(&self) {
        let index = self.slot.replace(NO_SLOT);
        if index != NO_SLOT {
            SLOTS[index].seen.store(INACTIVE, Ordering::Release);
            SLOTS[index].is_taken.store(false, Ordering::Release);
        }
    }

    #[cold]
    fn activate(&self, activity: Activity) {
        let slot = self.slot();
        slot.seen.store(PERIOD.load(Ordering::SeqCst), Ordering::SeqCst);
        fence(Ordering::SeqCst);
        self.activity.set(activity);
    }

    #[cold]
    fn deactivate(&self) {
        self.activity.set(Activity::Idle);
        self.slot().seen.store(INACTIVE, Ordering::Release);
    }
}

/// Holding one keeps every reference valid that was read under it. Stays on its thread.
#[derive(Debug)]
pub struct Guard {
    _on_this_thread: PhantomData<*const ()>,
}

impl Guard {
    /// Begins to read. Guards nest.
    #[must_use]
    #[inline]
    pub fn enter() -> Self {
        THREAD.with(|thread| {
            if thread.activity.get() == Activity::Idle {
                thread.activate(Activity::ByGuard);
            }
            thread.guards.set(thread.guards.get() + 1);
        });
        Self { _on_this_thread: PhantomData }
    }
}

impl Drop for Guard {
    #[inline]
    fn drop(&mut self) {
        THREAD.with(|thread| {
            let guards = thread.guards.get() - 1;
            thread.guards.set(guards);
            if guards == 0 && thread.activity.get() == Activity::ByGuard {
                thread.deactivate();
            }
        });
    }
}

/// A registered thread. Stays on its thread; dropping it ends the registration.
#[derive(Debug)]
pub struct ThreadSlot {
    _on_this_thread: PhantomData<*const ()>,
}

/// Registers the calling thread, active. It must announce often or park.
#[must_use]
pub fn register_thread() -> ThreadSlot {
    THREAD.with(|thread| {
        stdx::require!(!thread.is_registered.get(), "a thread registers once");
        stdx::require!(thread.guards.get() == 0, "a thread registers before it reads");
        thread.is_registered.set(true);
        thread.activate(Activity::Registered);
    });
    ThreadSlot { _on_this_thread: PhantomData }
}

impl ThreadSlot {
    /// Says that the thread holds no reference now; once per loop round.
    #[inline]
    pub fn announce(&self) {
        THREAD.with(|thread| {
            stdx::require!(thread.guards.get() == 0, "a guard is alive across the end of a round");
            if thread.activity.get() == Activity::Registered {
                thread.slot().seen.store(PERIOD.load(Ordering::Acquire), Ordering::Release);
            }
        });
    }

    /// The thread holds no reference until [`ThreadSlot::unpark`]: nobody waits for it.
    pub fn park(&self) {
        THREAD.with(|thread| {
            stdx::require!(thread.guards.get() == 0, "a guard is alive while the thread parks");
            if thread.activity.get() == Activity::Registered {
                thread.deactivate();
            }
        });
    }

    /// Back from [`ThreadSlot::park`].
    pub fn unpark(&self) {
        THREAD.with(|thread| {
            match thread.activity.get() {
                Activity::Idle => thread.activate(Activity::Registered),
                // A guard made it active; now it stays so.
                Activity::ByGuard => thread.activity.set(Activity::Registered),
                Activity::Registered => {}
            }
        });
    }
}

impl Drop for ThreadSlot {
    fn drop(&mut self) {
        THREAD.with(|thread| {
            thread.is_registered.set(false);
            if thread.guards.get() > 0 {
                // The last guard ends it.
                thread.activity.set(Activity::ByGuard);
            } else {
                thread.deactivate();
                thread.give_slot_back();
            }
        });
    }
}

/// A moment: what was unlinked before it may be freed when it has passed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Period(u64);

/// Begins a new period: everything that the caller has unlinked so far belongs to the one returned.
#[must_use]
pub fn begin_period() -> Period {
    Period(PERIOD.fetch_add(1, Ordering::AcqRel) + 1)
}

/// False if the calling thread alone keeps `period` from having passed: a cheap question before [`passed`].
#[must_use]
#[inline]
pub fn may_have_passed(period: Period) -> bool {
    THREAD.with(|thread| {
        thread.activity.get() == Activity::Idle || thread.slot().seen.load(Ordering::Relaxed) >= period.0
    })
}

/// The newest period that every active thread has announced: what waits for it or an earlier one may be freed.
#[must_use]
pub fn passed() -> Period {
    fence(Ordering::SeqCst);
    let newest = PERIOD.load(Ordering::Acquire);
    let used = SLOTS_USED.load(Ordering::SeqCst);
    let oldest = SLOTS[..used].iter().map(|slot| slot.seen.load(Ordering::Acquire)).min();
    Period(oldest.unwrap_or(newest).min(newest))
}

/// A small number of the calling thread, for spreading what threads should not share; takes a slot if it has none.
#[must_use]
pub fn thread_number() -> usize {
    THREAD.with(|thread| {
        thread.slot();
        thread.slot.get()
    })
}

#[cfg(test)]
mod tests;
