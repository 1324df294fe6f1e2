//! A set of nodes: a bit for each id that config.ini allows.
//!
//! A cluster has at most 255 nodes, and the nodes that one of them hears are listed in each heartbeat. As bits they are
//! compared four words at a time, and take no allocation.
//!
//! Invariant: no id above [`NodeSet::ID_MAX`] is in a set. On the wire a set is the list of its ids in order, as it was
//! before there were sets; a list with a higher id is refused.

use crate::NodeId;
use std::fmt;
use stdx::wire::{Decoder, Encoder, Wire, WireError};

const WORDS: usize = 4;

/// A set of nodes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct NodeSet([u64; WORDS]);

impl NodeSet {
    /// No node.
    pub const EMPTY: Self = Self([0; WORDS]);
    /// The highest id that a node of a set can have.
    pub const ID_MAX: u16 = 255;

    /// The word and the bit of a node; None if no set can have it.
    #[inline]
    fn place(node: NodeId) -> Option<(usize, u64)> {
        let id = usize::from(node.0);
        (node.0 <= Self::ID_MAX).then_some((id / 64, 1 << (id % 64)))
    }

    /// Whether a node is in the set.
    #[must_use]
    #[inline]
    pub fn contains(&self, node: NodeId) -> bool {
        Self::place(node).is_some_and(|(word, bit)| self.0[word] & bit != 0)
    }

    /// Adds a node, whose id is not above [`Self::ID_MAX`].
    #[inline]
    pub fn insert(&mut self, node: NodeId) {
        let place = Self::place(node);
        stdx::require!(place.is_some(), "node {node} in a set");
        if let Some((word, bit)) = place {
            self.0[word] |= bit;
        }
    }

    /// Takes a node out.
    #[inline]
    pub fn remove(&mut self, node: NodeId) {
        if let Some((word, bit)) = Self::place(node) {
            self.0[word] &= !bit;
        }
    }

    /// Whether there is no node in it.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        *self == Self::EMPTY
    }

    /// How many nodes are in it.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The nodes of one of the two, or of both.
    #[must_use]
    #[inline]
    pub fn union(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] | other.0[word]))
    }

    /// The nodes that are not in the other one.
    #[must_use]
    #[inline]
    pub fn minus(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] & !other.0[word]))
    }

    /// Without one node.
    #[must_use]
    #[inline]
    pub fn without(mut self, node: NodeId) -> Self {
        self.remove(node);
        self
    }

    /// The nodes, by id.
    pub fn iter(&self) -> impl Iterator<Item = NodeId> + use<> {
        let mut words = self.0;
        (0_u16..).zip(0..WORDS).flat_map(move |(number, word)| {
            std::iter::from_fn(move || {
                let bit = words[word].trailing_zeros();
                words[word] &= words[word].checked_sub(1)?;
                u16::try_from(bit).ok().map(|bit| NodeId(number * 64 + bit))
            })
        })
    }
}

impl FromIterator<NodeId> for NodeSet {
    fn from_iter<I: IntoIterator<Item = NodeId>>(nodes: I) -> Self {
        let mut set = Self::EMPTY;
        nodes.into_iter().for_each(|node| set.insert(node));
        set
    }
}

impl fmt::Debug for NodeSet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.iter()).finish()
    }
}

impl Wire for NodeSet {
    fn encode(&self, encoder: &mut Encoder<'_>) {
        // Less than 257, so it fits.
        u32::try_from(self.len()).unwrap_or(0).encode(encoder);
        self.iter().for_each(|node| node.encode(encoder));
    }

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, WireError> {
        let mut set = Self::EMPTY;
        let count = decoder.count()?;
        for id in decoder.take(count * size_of::<NodeId>())?.chunks_exact(size_of::<NodeId>()) {
            let id = id.try_into().map(u16::from_le_bytes).map_err(|_| WireError::Malformed)?;
            let (word, bit) = Self::place(NodeId(id)).ok_or(WireError::Malformed)?;
            set.0[word] |= bit;
        }
        Ok(set)
    }
}

#[cfg(test)]
mod tests;
