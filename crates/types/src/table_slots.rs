//! Which slots a cluster has, and which of them a table uses.
//!
//! ```text
//! slot 0: the system's        slot of (group g >= 1, rank r, column c): 1 + ((g - 1) S + r) R + c
//! ```
//! S is `SlotsPerNode`, R `NoOfReplicas`. A replica group has S ranks of R slots; its slots lie together. The rank says
//! which `ldm` of a node has the slot, the column which replica of the group is its home.
//!
//! A table uses `PartitionsPerNode` ranks of all groups. Partition p of a table with G groups, whose first rank is f,
//! lies in group 1 + p % G, column p / G % R and rank f + p / (G R). A new table gets the ranks with the fewest tables,
//! so that all `ldm` of all nodes get work.
//!
//! Invariants: a slot has one (group, rank, column), and the other way round. The partitions of a table lie in slots of
//! their own. A table's slots follow from its definition and from the terms of the cluster's founding, and never
//! change.

use crate::{SlotId, TableDefinition, TableKind};
use std::collections::BTreeMap;
use wire_derive::Wire;

#[cfg(test)]
mod tests;

/// Where a table's partitions lie; nothing for system tables, which lie in slot 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Wire)]
pub struct TableSlots {
    /// The first of its ranks.
    pub first_rank: u16,
    /// How many ranks it uses.
    pub ranks: u16,
    /// How many replica groups there were when it was made.
    pub groups: u16,
}

impl TableSlots {
    /// A partition for each replica of one group.
    pub const ONE_RANK: Self = Self { first_rank: 0, ranks: 1, groups: 1 };
}

/// The terms of a cluster's founding, and the number of its groups.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SlotTerms {
    /// SlotsPerNode: ranks of a group.
    pub slots_per_node: u16,
    /// PartitionsPerNode: ranks of a table.
    pub partitions_per_node: u16,
    /// Replica groups.
    pub groups: u16,
    /// NoOfReplicas: replicas of a group.
    pub replicas: u16,
}

/// Which slot of which group a slot is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlotPosition {
    /// Counted from 1.
    pub group: u16,
    /// Counted from 0, below `SlotsPerNode`.
    pub rank: u16,
    /// Counted from 0, below `NoOfReplicas`.
    pub column: u16,
}

impl SlotTerms {
    /// All slots, the system's included; none before the cluster is founded.
    #[must_use]
    pub fn slot_count(&self) -> u32 {
        if self.groups == 0 { 0 } else { 1 + self.slots_per_group() * u32::from(self.groups) }
    }

    /// The slots of one group.
    #[must_use]
    pub fn slots_per_group(&self) -> u32 {
        u32::from(self.slots_per_node) * u32::from(self.replicas)
    }

    /// The number of a slot.
    #[must_use]
    pub fn slot(&self, position: SlotPosition) -> SlotId {
        let SlotPosition { group, rank, column } = position;
        let ranks_before =
            u32::from(group.saturating_sub(1)) * u32::from(self.slots_per_node) + u32::from(rank);
        SlotId(1 + ranks_before * u32::from(self.replicas) + u32::from(column))
    }

    /// Where a slot is; None for the system's, and for one that is not there.
    #[must_use]
    pub fn position(&self, slot: SlotId) -> Option<SlotPosition> {
        if slot.0 == 0 || slot.0 >= self.slot_count() {
            return None;
        }
        let (replicas, per_node) = (u32::from(self.replicas), u32::from(self.slots_per_node));
        let ranks_before = (slot.0 - 1) / replicas;
        let narrow = |number: u32| u16::try_from(number).ok();
        Some(SlotPosition {
            group: narrow(1 + ranks_before / per_node)?,
            rank: narrow(ranks_before % per_node)?,
            column: narrow((slot.0 - 1) % replicas)?,
        })
    }

    /// The slots of a group, which lie together.
    #[must_use]
    pub fn slots_of_group(&self, group: u16) -> std::ops::Range<u32> {
        let first = self.slot(SlotPosition { group, rank: 0, column: 0 }).0;
        first..first + self.slots_per_group()
    }

    /// The slots of a table, by partition. Slots that a definition
    /// names and the cluster does not have are omitted.
    #[must_use]
    pub fn slots_of(&self, table: &TableDefinition) -> Vec<SlotId> {
        if table.id.is_temporary() {
            return vec![SlotId::SESSION];
        }
        match table.kind {
            TableKind::System => vec![SlotId(0)],
            TableKind::User | TableKind::UniqueIndex { .. } | TableKind::Copy { .. } | TableKind::New => {
                let TableSlots { first_rank, ranks, groups } = table.slots;
                let mut slots = Vec::new();
                for rank in (first_rank..self.slots_per_node).take(usize::from(ranks)) {
                    for column in 0..self.replicas {
                        let groups = 1..=groups.min(self.groups);
                        slots.extend(groups.map(|group| self.slot(SlotPosition { group, rank, column })));
                    }
                }
                slots
            }
        }
    }
}

/// How many tables use each rank: kept with the schema, so that nobody counts tables when one is made.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RankCounts(BTreeMap<u16, u32>);

impl RankCounts {
    /// A table is there.
    pub fn add(&mut self, table: &TableDefinition) {
        for rank in Self::ranks(table) {
            *self.0.entry(rank).or_insert(0) += 1;
        }
    }

    /// It is gone.
    pub fn remove(&mut self, table: &TableDefinition) {
        for rank in Self::ranks(table) {
            if let Some(count) = self.0.get_mut(&rank) {
                *count -= 1;
                if *count == 0 {
                    self.0.remove(&rank);
                }
            }
        }
    }

    /// Hidden tables share the slots of theirs, and do not count.
    fn ranks(table: &TableDefinition) -> std::ops::Range<u16> {
        let TableSlots { first_rank, ranks, .. } = table.slots;
        if table.kind == TableKind::User { first_rank..first_rank.saturating_add(ranks) } else { 0..0 }
    }

    /// The slots of a new table: the ranks next to each other that the fewest tables use, of several the lowest.
    #[must_use]
    pub fn choose(&self, terms: SlotTerms) -> TableSlots {
        let ranks = terms.partitions_per_node.min(terms.slots_per_node);
        let used = |first: u16| -> u32 { self.0.range(first..first + ranks).map(|(_, count)| count).sum() };
        let firsts = 0..=terms.slots_per_node - ranks;
        let first_rank = firsts.min_by_key(|first| used(*first)).unwrap_or(0);
        TableSlots { first_rank, ranks, groups: terms.groups }
    }
}
