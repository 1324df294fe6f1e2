//! When each module next has work. A step looks at all modules, so this is one short list.
//!
//! Invariant: modules stand in order of their addresses, and each at the time that its queue and its deadline say:
//! `World::note_work` follows everything that changes one of them.

use protocol::Address;
use types::NodeId;

/// A module with work in its queue has it at once.
pub(super) const AT_ONCE: u64 = 0;
/// A module with neither input nor deadline.
pub(super) const NEVER: u64 = u64::MAX;

/// The modules of all nodes that run, and the virtual time at which each has work.
#[derive(Default)]
pub(super) struct Agenda(Vec<(Address, u64)>);

impl Agenda {
    /// This module has work at this time.
    pub(super) fn set(&mut self, module: Address, at: u64) {
        match self.0.binary_search_by_key(&module, |(known, _)| *known) {
            Ok(position) => self.0[position].1 = at,
            Err(position) => self.0.insert(position, (module, at)),
        }
    }

    /// The modules of this node are gone.
    pub(super) fn forget(&mut self, node: NodeId) {
        self.0.retain(|(module, _)| module.node != node);
    }

    /// All modules.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Address, u64)> {
        self.0.iter().copied()
    }
}
