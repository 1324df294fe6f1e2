//! The memory of rows that an operator keeps.
//!
//! An operator keeps some bytes before it pays for them. When it is refused more, an operator that may use scratch
//! writes its rows there. It is not asked to before it has so many that this is worth while: else a full QueryMemory
//! would make a run of each few rows.
//!
//! When the operator has given all its rows, or nobody wants more, it gives its memory back: operators behind it run on
//! and have the same share.
//!
//! Invariants: what is given back was charged to the same account, because an operator is pumped and closed under one
//! account. On a node with scratch nobody is refused bytes that may be kept unpaid. So a new client can begin where
//! others have all memory.

use crate::cx::Cx;
use crate::outcome::Failure;
use crate::row::UNCHARGED_MAX;

/// The account of an operator.
#[derive(Debug)]
pub(crate) struct RowMemory {
    charged: usize,
    /// Bytes that may be kept before they are paid for.
    uncharged_max: usize,
}

impl Default for RowMemory {
    fn default() -> Self {
        Self { charged: 0, uncharged_max: UNCHARGED_MAX }
    }
}

impl RowMemory {
    /// Bytes that are paid for.
    pub(crate) fn charged(&self) -> usize {
        self.charged
    }

    /// Bytes that may be kept before they are paid for.
    pub(crate) fn uncharged_max(&self) -> usize {
        self.uncharged_max
    }

    /// No more rows before they are paid for.
    pub(crate) fn is_full(&self, size: usize) -> bool {
        size > self.charged + self.uncharged_max
    }

    /// The rows are gone.
    pub(crate) fn give_back(&mut self, cx: &mut Cx<'_>) {
        cx.client.memory.release(std::mem::take(&mut self.charged));
    }

    /// Pays for rows of this size. True if that was refused, and they should go to scratch.
    pub(crate) fn pay(&mut self, size: usize, may_spill: bool, cx: &mut Cx<'_>) -> Result<bool, Failure> {
        self.pay_for_work(size, 0, may_spill, cx)
    }

    /// The same, where the operator will take so many bytes more for its work. They count for the share only.
    pub(crate) fn pay_for_work(
        &mut self,
        size: usize,
        work: usize,
        may_spill: bool,
        cx: &mut Cx<'_>,
    ) -> Result<bool, Failure> {
        let terms = cx.env.site.scratch.as_ref();
        let of_share = terms.filter(|_| may_spill).map(|terms| terms.uncharged_max());
        self.uncharged_max = of_share.unwrap_or(UNCHARGED_MAX);
        let more = size.saturating_sub(self.charged);
        if more == 0 {
            cx.client.memory.release(self.charged - size);
            self.charged = size;
            return Ok(false);
        }
        let used = cx.client.memory.used();
        let is_beyond_share = terms.is_some_and(|terms| terms.is_beyond_share(used, more + work, size));
        if !(may_spill && is_beyond_share) {
            match cx.client.memory.charge(more) {
                Ok(()) => {
                    self.charged = size;
                    return Ok(false);
                }
                Err(refused) if terms.is_none() || (!may_spill && more > self.uncharged_max) => {
                    return Err(refused.into());
                }
                Err(_) => {}
            }
        }
        Ok(more > self.uncharged_max)
    }
}
