//! The fence (I2): what a module does with a signal that has come, by the signal's line in the table and by the views
//! of both ends.
//!
//! Invariants:
//! - A signal for another kind of module is refused, whatever its view.
//! - A signal with a fence is handled only in the view of its sender or, if its fence allows that, in a later one. From
//!   a newer view it waits.
//! - A signal with a fence from a node that the receiver's view leaves out is refused: nobody would end what it begins.
//! - A signal of a module to itself passes in any view.
//!
//! The wrapper of modules (`node`) does what the verdict says, and so does every harness in which modules run without
//! it.

use super::Envelope;
use crate::{Address, ModuleKind};
use types::{NodeId, ViewNumber};

/// The meaning of a signal's view for its receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fence {
    /// Nothing: the signal makes views, or goes between modules that have none.
    None,
    /// The signal waits for a newer view, and is handled in any later one. A primary that stayed goes on, one that
    /// changed refuses.
    Older,
    /// The signal waits for a newer view, and is void in any later one. Its work is done again in the new view.
    Strict,
}

/// A line of the table of signals.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SignalEntry {
    /// The name of the variant.
    pub name: &'static str,
    /// The kinds of modules that receive it.
    pub to: &'static [ModuleKind],
    /// The meaning of its view.
    pub fence: Fence,
    /// Whether it may be held back for a moment.
    pub is_deferrable: bool,
}

/// The treatment of a signal that has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Handle it.
    Handle,
    /// Keep it until the view of its sender is installed here.
    Early,
    /// Drop it: it belongs to a view that is over.
    OldView,
    /// Drop it: the installed view leaves its sender out.
    LeftOut,
    /// Drop it: it is for another kind of module.
    WrongKind,
}

impl Envelope {
    /// The verdict of the module `at` on this signal while it uses the view `installed`, which leaves some nodes out.
    #[must_use]
    #[inline]
    pub fn verdict(
        &self,
        at: Address,
        installed: ViewNumber,
        is_left_out: impl FnOnce(NodeId) -> bool,
    ) -> Verdict {
        if !self.signal.is_for(at.kind) {
            return Verdict::WrongKind;
        }
        let fence = self.signal.fence();
        if fence == Fence::None {
            return Verdict::Handle;
        }
        if self.view <= installed && is_left_out(self.from.node) {
            return Verdict::LeftOut;
        }
        if self.from == at || self.view == installed {
            return Verdict::Handle;
        }
        match (self.view > installed, fence) {
            (true, _) => Verdict::Early,
            (false, Fence::Strict) => Verdict::OldView,
            (false, Fence::None | Fence::Older) => Verdict::Handle,
        }
    }
}

#[cfg(test)]
mod tests;
