//! A value that several threads change, one at a time.
//!
//! The budget, the page pool and the heaps are shared by the owners of all fragments. The first two are visited once
//! per page. A heap is visited by the one thread that owns the fragments on it and, rarely, by a thread that drops the
//! last reader of a dropped table. So the lock is practically never contended. The protected data depends only on the
//! order of calls.

#[expect(
    clippy::disallowed_types,
    reason = "the one lock of this crate; the module's first lines say why there is one"
)]
pub(crate) struct Exclusive<T>(std::sync::Mutex<T>);

impl<T> Exclusive<T> {
    #[expect(clippy::disallowed_types, reason = "see the type")]
    pub(crate) fn new(value: T) -> Self {
        Self(std::sync::Mutex::new(value))
    }

    /// Runs `work` on the value; Locks nest in one order: heap, page pool, budget.
    #[inline]
    pub(crate) fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        // Only a failed `require!` unwinds, and it ends the process: a poisoned lock is seen by tests only.
        let mut value = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        work(&mut value)
    }
}
