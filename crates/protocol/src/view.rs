//! The view: numbered membership and ownership of the cluster. It changes only for those, never for schema or epochs.
//!
//! Slot 0 holds the system tables: it is a group of its own with a replica on every data node. Slots 1.. are spread
//! over the replica groups; each group's primaries are spread over its nodes, and over the `ldm` instances of each
//! node, so that all of them work.

use crate::control::GroupId;
use crate::{Address, ModuleKind};
use types::{BUCKET_COUNT, Incarnation, NodeId, SlotId, TransactionId, ViewNumber};
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
    /// Those whose own disk holds everything acknowledged as durable: a full restart begins from one of them (I7).
    pub restorable: Vec<NodeId>,
}

/// Where a slot lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub struct SlotPlace {
    /// Index into `View::groups`.
    pub group: u16,
    /// The primary, a member of the group's `in_sync`.
    pub primary: NodeId,
    /// The position of the slot among those of its group with the same primary: chooses the `ldm` instance on each
    /// replica.
    pub rank: u16,
    /// The first view of this line of primaries: they handed over to each other what was open. Work of transactions
    /// from before is void.
    pub since: ViewNumber,
}

/// Membership and ownership.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct View {
    /// Its number; 0 means "no view yet".
    pub number: ViewNumber,
    /// The cluster's founding: views of two foundings have nothing to do with each other.
    pub founding: GroupId,
    /// All nodes, by id.
    pub nodes: Vec<NodeInfo>,
    /// Group 0 is the system slot's, with all data nodes; the others are the replica groups.
    pub groups: Vec<GroupView>,
    /// By slot id.
    pub slots: Vec<SlotPlace>,
    /// Data nodes that are about to stop: they get no primaries.
    pub leaving: Vec<NodeId>,
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
            slots: Vec::new(),
            leaving: Vec::new(),
        }
    }

    /// The first view of a cluster: every configured data node is there and in sync.
    ///
    /// `nodes` in order of id; data nodes fill replica groups of `replica_count` in that order, so their number must be
    /// a multiple of it.
    #[must_use]
    pub fn first(
        founding: GroupId,
        nodes: Vec<NodeInfo>,
        replica_count: usize,
        partitions_per_node: usize,
    ) -> Self {
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
        let mut slots = vec![SlotPlace { group: 0, primary: data[0], rank: 0, since: ViewNumber(1) }];
        for index in 0..partitions_per_node * data.len() {
            let group_count = groups.len() - 1;
            let group = 1 + index % group_count;
            let within = index / group_count;
            let primary = groups[group].replicas[within % replica_count];
            let narrow = |number: usize| u16::try_from(number).unwrap_or(u16::MAX);
            slots.push(SlotPlace {
                group: narrow(group),
                primary,
                rank: narrow(within / replica_count),
                since: ViewNumber(1),
            });
        }
        Self { number: ViewNumber(1), founding, nodes, groups, slots, leaving: Vec::new() }
    }

    /// Whether its parts fit together, whatever came before: nodes in order, members that are replicas, each counted
    /// once, primaries in sync.
    #[must_use]
    pub fn is_well_formed(&self) -> bool {
        let is_set = |nodes: &[NodeId]| (1..nodes.len()).all(|index| !nodes[..index].contains(&nodes[index]));
        let is_group = |group: &GroupView| {
            let members = [&group.in_sync, &group.joining, &group.restorable];
            is_set(&group.replicas)
                && members.iter().all(|nodes| is_set(nodes))
                && members.iter().all(|nodes| nodes.iter().all(|node| group.replicas.contains(node)))
                && !group.joining.iter().any(|node| group.in_sync.contains(node))
        };
        let is_place = |place: &SlotPlace| {
            let group = self.groups.get(usize::from(place.group));
            group.is_some_and(|group| group.in_sync.contains(&place.primary))
        };
        self.nodes.is_sorted_by(|left, right| left.node < right.node)
            && self.groups.iter().all(is_group)
            && self.slots.iter().all(is_place)
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
    pub fn is_lost(&self, slot: SlotId, began: ViewNumber) -> bool {
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

    /// The slot that owns a key with this hash, for tables other than system tables.
    #[must_use]
    #[inline]
    pub fn slot_of_hash(&self, hash: u64) -> SlotId {
        let count = u32::try_from(self.slots.len().saturating_sub(1)).unwrap_or(u32::MAX);
        let bucket = u32::try_from(hash % u64::from(BUCKET_COUNT)).unwrap_or(0);
        SlotId(1 + bucket * count / BUCKET_COUNT)
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
