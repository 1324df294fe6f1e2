//! The view: numbered membership and ownership of the cluster. It changes only for those, never for schema or epochs.
//!
//! Slot 0 holds the system tables: it is a group of its own with a replica on every data node. Each replica group has
//! `SlotsPerNode` ranks of as many slots as it has replicas (`types::SlotTerms`). A slot's *home* is the replica of its
//! column: it leads the slot while it is there. A slot's rank says which `ldm` of a node has it.
//!
//! The wire form omits what follows from that: it lists only the primaries that are away from home, and lines as
//! runs.
//!
//! Invariant: a view has the slots that its terms say, each at its place.

use crate::claim::RestartPoint;
use crate::control::GroupId;
use crate::{Address, ModuleKind};
use stdx::wire::{Decoder, Encoder, Wire, WireError};
use types::{
    Epoch, Incarnation, NodeId, NodeSet, SlotId, SlotPosition, SlotTerms, TransactionId, ViewNumber,
};
use wire_derive::Wire;

/// The role of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub enum NodeRole {
    /// Holds slots, serves SQL too.
    Data,
    /// Serves SQL only.
    Sql,
    /// Configuration, management verbs, a voter of the control plane.
    Management,
}

/// A node that the view knows.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct NodeInfo {
    /// Its id.
    pub node: NodeId,
    /// Its life.
    pub incarnation: Incarnation,
    /// Its role.
    pub role: NodeRole,
    /// Host name and port, for people.
    pub host: String,
    /// How many `ldm` modules it has.
    pub ldm_count: u8,
    /// How many `tc` modules it has.
    pub tc_count: u8,
    /// How many `query` modules it has.
    pub query_count: u8,
    /// How many `sql` modules it has.
    pub sql_count: u8,
}

/// Nodes that hold the same slots.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct GroupView {
    /// All replicas in configured order.
    pub replicas: Vec<NodeId>,
    /// Those that hold everything committed.
    pub in_sync: Vec<NodeId>,
    /// Those that are being copied to: they get every write, and their answers count, but they answer no reads and are
    /// never primaries.
    pub joining: Vec<NodeId>,
    /// The lives whose disk holds everything acknowledged as durable: a full restart begins from one of them (I7). One
    /// that has left stays named while it is the last, so a node may be named in an earlier life than it has now.
    pub restorable: Vec<(NodeId, Incarnation)>,
}

/// Where a slot lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlotPlace {
    /// Index into `View::groups`.
    pub group: u16,
    /// The primary, a member of the group's `in_sync`.
    pub primary: NodeId,
    /// Chooses the `ldm` instance on each replica; the system's slot has rank 0.
    pub rank: u16,
    /// The first view of this line of primaries: they handed over to each other what was open. Work of transactions
    /// from before is void.
    pub since: ViewNumber,
}

/// How many slots a cluster is founded with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlotSizes {
    /// SlotsPerNode.
    pub slots_per_node: u16,
    /// PartitionsPerNode.
    pub partitions_per_node: u16,
}

impl SlotSizes {
    /// No more slots than one table uses.
    #[must_use]
    pub const fn least(partitions_per_node: u16) -> Self {
        Self { slots_per_node: partitions_per_node, partitions_per_node }
    }
}

/// Membership and ownership.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct View {
    /// Its number; 0 means "no view yet".
    pub number: ViewNumber,
    /// The cluster's founding: views of two foundings have nothing to do with each other.
    pub founding: GroupId,
    /// All nodes, by id.
    pub nodes: Vec<NodeInfo>,
    /// Group 0 is the system slot's, with all data nodes; the others are the replica groups.
    pub groups: Vec<GroupView>,
    /// SlotsPerNode, as the cluster was founded.
    pub slots_per_node: u16,
    /// PartitionsPerNode, as the cluster was founded.
    pub partitions_per_node: u16,
    /// By slot id.
    pub slots: Vec<SlotPlace>,
    /// Data nodes that are about to stop: they get no primaries.
    pub leaving: Vec<NodeId>,
    /// The restart in which it is.
    pub restart: RestartPoint,
    /// The first view of that restart: its members are in sync from the beginning, and nothing from before goes on.
    pub begun: ViewNumber,
    /// The cluster has stopped as a whole: all lives that are named here end, and only a restart follows.
    pub is_stopped: bool,
}

impl View {
    /// The view before the first: no slots, nobody in sync.
    #[must_use]
    pub const fn none() -> Self {
        Self {
            number: ViewNumber(0),
            founding: GroupId(0),
            nodes: Vec::new(),
            groups: Vec::new(),
            slots_per_node: 0,
            partitions_per_node: 0,
            slots: Vec::new(),
            leaving: Vec::new(),
            restart: RestartPoint::FOUNDING,
            begun: ViewNumber(0),
            is_stopped: false,
        }
    }

    /// The first view of a cluster: every configured data node is there and in sync.
    ///
    /// `nodes` in order of id; data nodes fill replica groups of `replica_count` in that order, so their number must be
    /// a multiple of it. A node has slots for the partitions of one table at least.
    #[must_use]
    pub fn first(founding: GroupId, nodes: Vec<NodeInfo>, replica_count: usize, sizes: SlotSizes) -> Self {
        let data: Vec<NodeId> =
            nodes.iter().filter(|node| node.role == NodeRole::Data).map(|node| node.node).collect();
        stdx::require!(replica_count > 0 && !data.is_empty() && data.len().is_multiple_of(replica_count));
        let group = |members: &[NodeId]| GroupView {
            replicas: members.to_vec(),
            in_sync: members.to_vec(),
            joining: Vec::new(),
            restorable: Vec::new(),
        };
        let mut groups = vec![group(&data)];
        groups.extend(data.chunks(replica_count).map(group));
        let partitions_per_node = sizes.partitions_per_node.max(1);
        let slots_per_node = sizes.slots_per_node.max(partitions_per_node);
        let none = Self::none();
        let number = ViewNumber(1);
        let begun = number;
        let view =
            Self { number, founding, nodes, groups, slots_per_node, partitions_per_node, begun, ..none };
        let place = |(group, rank, primary)| SlotPlace { group, rank, primary, since: number };
        let slots = view.homes().map(place).collect();
        Self { slots, ..view }
    }

    /// The terms of the founding, and how many groups the cluster has.
    #[must_use]
    pub fn slot_terms(&self) -> SlotTerms {
        let narrow = |number: usize| u16::try_from(number).unwrap_or(u16::MAX);
        SlotTerms {
            slots_per_node: self.slots_per_node,
            partitions_per_node: self.partitions_per_node,
            groups: narrow(self.groups.len().saturating_sub(1)),
            replicas: self.groups.get(1).map_or(0, |group| narrow(group.replicas.len())),
        }
    }

    /// Group, rank and home of each slot. (The system's slot has no home; in the first view the first data node leads
    /// it.)
    fn homes(&self) -> impl Iterator<Item = (u16, u16, NodeId)> + '_ {
        let first = self.groups.first().and_then(|group| group.replicas.first());
        let system = first.map(|node| (0, 0, *node));
        let of_group = |(number, group): (u16, &'_ GroupView)| {
            let replicas = group.replicas.clone();
            (0..self.slots_per_node)
                .flat_map(move |rank| replicas.clone().into_iter().map(move |home| (number, rank, home)))
        };
        system.into_iter().chain((0..).zip(&self.groups).skip(1).flat_map(of_group))
    }

    /// The node that leads a slot while it is there; None for the system's slot.
    #[must_use]
    pub fn home(&self, slot: SlotId) -> Option<NodeId> {
        let SlotPosition { group, column, .. } = self.slot_terms().position(slot)?;
        self.groups.get(usize::from(group))?.replicas.get(usize::from(column)).copied()
    }

    /// The slots of a node's groups: the system's, and those of its replica group.
    pub fn slots_of_node(&self, node: NodeId) -> impl Iterator<Item = SlotId> + use<> {
        let own = (0..).zip(&self.groups).skip(1).find(|(_, group)| group.replicas.contains(&node));
        let own = own.map_or(0..0, |(group, _)| self.slot_terms().slots_of_group(group));
        let count = u32::try_from(self.slots.len()).unwrap_or(u32::MAX);
        let is_data = self.groups.first().is_some_and(|group| group.replicas.contains(&node));
        let system = 0..u32::from(is_data);
        system.chain(own).filter(move |slot| *slot < count).map(SlotId)
    }

    /// Whether nothing goes on from the view before: it is the first one of the cluster, or of a restart.
    #[must_use]
    pub fn is_first(&self) -> bool {
        self.number == self.begun
    }

    /// Whether the cluster began without rows: the system tables begin with the same rows everywhere.
    #[must_use]
    pub fn began_empty(&self) -> bool {
        self.restart.cut == Epoch(0)
    }

    /// Whether a group names a node as restorable, in the life that the view has of it.
    #[must_use]
    pub fn is_restorable(&self, group: &GroupView, node: NodeId) -> bool {
        self.node(node).is_some_and(|info| group.restorable.contains(&(node, info.incarnation)))
    }

    /// Whether every group has a restorable member in sync: only then what all of them have flushed is durable.
    #[must_use]
    pub fn keeps_durable(&self) -> bool {
        let keeps = |group: &GroupView| group.in_sync.iter().any(|node| self.is_restorable(group, *node));
        self.groups.iter().all(keeps)
    }

    /// Whether its parts fit together, whatever came before: nodes in order, members that are replicas, each counted
    /// once, primaries in sync.
    #[must_use]
    pub fn is_well_formed(&self) -> bool {
        let is_set = |nodes: &[NodeId]| (1..nodes.len()).all(|index| !nodes[..index].contains(&nodes[index]));
        let is_group = |group: &GroupView| {
            let members = [&group.in_sync, &group.joining];
            let is_restorable = |(node, _): &(NodeId, Incarnation)| group.replicas.contains(node);
            let restorable = &group.restorable;
            is_set(&group.replicas)
                && group.replicas.iter().all(|node| node.0 <= NodeSet::ID_MAX)
                && restorable.iter().all(is_restorable)
                && (1..restorable.len()).all(|index| !restorable[..index].contains(&restorable[index]))
                && members.iter().all(|nodes| is_set(nodes))
                && members.iter().all(|nodes| nodes.iter().all(|node| group.replicas.contains(node)))
                && !group.joining.iter().any(|node| group.in_sync.contains(node))
        };
        let is_place = |(place, (group, rank, _)): (&SlotPlace, (u16, u16, NodeId))| {
            let members = self.groups.get(usize::from(place.group)).map(|group| &group.in_sync);
            (place.group, place.rank) == (group, rank)
                && members.is_some_and(|members| members.contains(&place.primary))
        };
        let replicas = self.groups.get(1).map_or(0, |group| group.replicas.len());
        self.nodes.is_sorted_by(|left, right| left.node < right.node)
            && self.nodes.iter().all(|info| info.node.0 <= NodeSet::ID_MAX)
            && self.groups.iter().all(is_group)
            && self.groups.iter().skip(1).all(|group| group.replicas.len() == replicas)
            && self.slots.len() == self.slot_terms().slot_count() as usize
            && self.slots.iter().zip(self.homes()).all(is_place)
            && self.leaving.iter().all(|node| self.is_in_sync(*node))
            && self.groups.iter().flat_map(|group| &group.replicas).all(|node| self.node(*node).is_some())
    }

    /// Whether a node is an in-sync data node: a member that is not joining.
    #[must_use]
    pub fn is_in_sync(&self, node: NodeId) -> bool {
        self.groups.first().is_some_and(|group| group.in_sync.contains(&node))
    }

    /// Whether work of a transaction in a slot, begun there in a view, is void in this view: its line has ended.
    #[must_use]
    pub fn is_void(&self, slot: SlotId, began: ViewNumber) -> bool {
        self.place(slot).is_none_or(|place| began < place.since)
    }

    /// The data nodes that are not members: nothing that they begin is ended by anybody.
    pub fn left_out(&self) -> impl Iterator<Item = NodeId> + '_ {
        let data = self.nodes.iter().filter(|info| info.role == NodeRole::Data).map(|info| info.node);
        data.filter(|node| !self.is_member(*node))
    }

    /// Whether a node is a member: a data node that is in sync, or joining.
    #[must_use]
    pub fn is_member(&self, node: NodeId) -> bool {
        self.groups.iter().any(|group| group.in_sync.contains(&node) || group.joining.contains(&node))
    }

    /// The members that get every write of a slot and whose answers count: those in sync and those joining.
    pub fn written(&self, slot: SlotId) -> impl Iterator<Item = NodeId> + '_ {
        let group = self.place(slot).map(|place| &self.groups[usize::from(place.group)]);
        group.into_iter().flat_map(|group| group.in_sync.iter().chain(&group.joining)).copied()
    }

    /// The members that a slot is being copied to.
    #[must_use]
    pub fn joining(&self, slot: SlotId) -> &[NodeId] {
        self.place(slot).map_or(&[], |place| &self.groups[usize::from(place.group)].joining)
    }

    /// The tc that decides a transaction whose coordinator is lost: every member finds the same.
    #[must_use]
    pub fn recoverer(&self, transaction: TransactionId) -> Option<Address> {
        let members = &self.groups.first()?.in_sync;
        let hash = stdx::hash64(&transaction.0.to_le_bytes());
        let node = *members.get(usize::try_from(hash % members.len().max(1) as u64).unwrap_or(0))?;
        let tc_count = u64::from(self.node(node)?.tc_count).max(1);
        let instance = u8::try_from((hash >> 32) % tc_count).unwrap_or(0);
        Some(Address::new(node, ModuleKind::Tc, instance))
    }

    /// Where a slot lives.
    #[must_use]
    #[inline]
    pub fn place(&self, slot: SlotId) -> Option<&SlotPlace> {
        self.slots.get(slot.0 as usize)
    }

    /// The in-sync replicas of a slot.
    #[must_use]
    pub fn in_sync(&self, slot: SlotId) -> &[NodeId] {
        self.place(slot).map_or(&[], |place| &self.groups[usize::from(place.group)].in_sync)
    }

    /// The `ldm` that owns `node`'s replica of a slot.
    #[must_use]
    pub fn ldm(&self, slot: SlotId, node: NodeId) -> Option<Address> {
        let place = self.place(slot)?;
        let count = u16::from(self.node(node)?.ldm_count);
        if count == 0 {
            return None;
        }
        let instance = u8::try_from(place.rank % count).unwrap_or(0);
        Some(Address::new(node, ModuleKind::Ldm, instance))
    }

    /// The `ldm` that owns the primary replica of a slot.
    #[must_use]
    pub fn primary(&self, slot: SlotId) -> Option<Address> {
        self.ldm(slot, self.place(slot)?.primary)
    }

    /// A node by id.
    #[must_use]
    pub fn node(&self, node: NodeId) -> Option<&NodeInfo> {
        self.nodes.iter().find(|info| info.node == node)
    }

    /// The node that opens and closes epochs: the lowest in-sync data node.
    #[must_use]
    pub fn epoch_master(&self) -> Option<NodeId> {
        self.groups.first()?.in_sync.iter().min().copied()
    }

    /// All slots but the system slot.
    pub fn user_slots(&self) -> impl Iterator<Item = SlotId> + use<> {
        (1..u32::try_from(self.slots.len()).unwrap_or(0)).map(SlotId)
    }
}

/// Views of earlier wire versions had other slots: they are refused.
const WIRE_SINCE: u16 = 7;
/// Most slots per node; few bytes must not ask for much memory.
const SLOTS_PER_NODE_MAX: u16 = 256;
/// Most replicas of a replica group.
const REPLICAS_MAX: usize = 4;

/// Slots whose primary is away from home, with it; and the lines of the slots in their order, as runs of slots with the
/// same one.
impl Wire for View {
    fn encode(&self, encoder: &mut Encoder<'_>) {
        self.number.encode(encoder);
        self.founding.encode(encoder);
        self.nodes.encode(encoder);
        self.groups.encode(encoder);
        self.slots_per_node.encode(encoder);
        self.partitions_per_node.encode(encoder);
        let placed = (0..).map(SlotId).zip(&self.slots).zip(self.homes());
        let away = placed.filter(|((_, place), (.., home))| place.primary != *home);
        let away: Vec<(SlotId, NodeId)> = away.map(|((slot, place), _)| (slot, place.primary)).collect();
        away.encode(encoder);
        let runs = self.slots.chunk_by(|one, next| one.since == next.since);
        let runs: Vec<(u32, ViewNumber)> =
            runs.map(|run| (u32::try_from(run.len()).unwrap_or(u32::MAX), run[0].since)).collect();
        runs.encode(encoder);
        self.leaving.encode(encoder);
        self.restart.encode(encoder);
        self.begun.encode(encoder);
        self.is_stopped.encode(encoder);
    }

    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, WireError> {
        if decoder.version < WIRE_SINCE {
            return Err(WireError::Malformed);
        }
        let view = Self {
            number: Wire::decode(decoder)?,
            founding: Wire::decode(decoder)?,
            nodes: Wire::decode(decoder)?,
            groups: Wire::decode(decoder)?,
            slots_per_node: Wire::decode(decoder)?,
            partitions_per_node: Wire::decode(decoder)?,
            ..Self::none()
        };
        let away: Vec<(SlotId, NodeId)> = Wire::decode(decoder)?;
        let runs: Vec<(u32, ViewNumber)> = Wire::decode(decoder)?;
        let leaving = Wire::decode(decoder)?;
        let (restart, begun, is_stopped) =
            (Wire::decode(decoder)?, Wire::decode(decoder)?, Wire::decode(decoder)?);
        let is_large = |group: &GroupView| group.replicas.len() > REPLICAS_MAX;
        if view.slots_per_node > SLOTS_PER_NODE_MAX || view.groups.iter().skip(1).any(is_large) {
            return Err(WireError::TooLarge);
        }
        let place = |(group, rank, primary)| SlotPlace { group, rank, primary, since: ViewNumber(0) };
        let mut slots: Vec<SlotPlace> = view.homes().map(place).collect();
        for (slot, primary) in away {
            slots.get_mut(slot.0 as usize).ok_or(WireError::Malformed)?.primary = primary;
        }
        let mut rest = slots.iter_mut();
        for (count, since) in runs {
            for _ in 0..count {
                rest.next().ok_or(WireError::Malformed)?.since = since;
            }
        }
        if rest.next().is_some() {
            return Err(WireError::Malformed);
        }
        drop(rest);
        Ok(Self { slots, leaving, restart, begun, is_stopped, ..view })
    }
}

#[cfg(test)]
mod tests;
