//! A number for each set of privileges that a session of the module has: equal sets have one number, which is part of
//! the key of a cached plan.
//!
//! Invariant: a number is never given to another set.

use std::collections::BTreeMap;
use std::sync::Arc;
use types::PrivilegeSet;

/// Sets that a module remembers before it forgets those that no session has.
const SETS_KEPT: usize = 256;

/// The numbers of a module's privilege sets.
#[derive(Debug, Default)]
pub(crate) struct PrivilegeSets {
    numbers: BTreeMap<Arc<PrivilegeSet>, u64>,
    last: u64,
    /// When so many are known, those without a session are forgotten.
    forget_at: usize,
}

impl PrivilegeSets {
    /// The one set that is equal to this, and its number.
    pub(crate) fn number(&mut self, set: PrivilegeSet) -> (Arc<PrivilegeSet>, u64) {
        if let Some((known, number)) = self.numbers.get_key_value(&set) {
            return (Arc::clone(known), *number);
        }
        if self.numbers.len() >= self.forget_at {
            self.numbers.retain(|set, _| Arc::strong_count(set) > 1);
            self.forget_at = SETS_KEPT.max(2 * self.numbers.len());
        }
        self.last += 1;
        let set = Arc::new(set);
        self.numbers.insert(Arc::clone(&set), self.last);
        (set, self.last)
    }
}
