//! The map of the cluster as one node sees it: the view, the schema, readers of the slots that live here.
//!
//! `main` makes a new map whenever the view, the schema or the readers change, and sends it to every module. A module
//! uses the newest map it was given and keeps it alive by its `Arc`. Invariant: the parts of one map fit each other:
//! every table of the schema has its access info, and readers are only there for tables of the schema.

use crate::check::{Check, checks_of};
use crate::generated::{Generated, generated_columns_of};
use crate::{AccountNews, LoadStep, Loaded, PieceScan, Readers};
use durability::{SealedBlock, SealedPiece};
use protocol::lease::Lease;
use protocol::program::ROW_SIZE_MAX;
use protocol::{Address, ModuleKind, NodeInfo, NodeRole, View};
use std::collections::BTreeMap;
use std::sync::Arc;
use stdx::{IdRange, Instant, hash64};
use storage::{Fragment, Reader};
use types::{
    BUCKET_COUNT, Epoch, Incarnation, IndexId, KeyEncoder, NodeId, RowLayout, Schema, SlotId, SlotTerms,
    TableChunks, TableDefinition, TableId, TableKind,
};

/// Values that modules of a node send each other by reference.
pub enum Shared {
    /// main -> everyone: the newest map.
    Map(Arc<NodeMap>),
    /// main -> ldm: the tables that should exist, in an installed view. On a node that keeps a log they go by `disk`,
    /// which sends ahead what was restored.
    Tables(Arc<NodeMap>),
    /// Any module -> main: it uses this map from now on.
    Installed {
        /// The map's schema.
        version: types::SchemaVersion,
    },
    /// ldm -> main: its fragments are as `version` wants them; readers of those that are new.
    Readers {
        /// The version of the schema that was installed.
        version: types::SchemaVersion,
        /// The fragments that it has made for it.
        readers: Vec<PublishedReader>,
    },
    /// sql -> the other sql modules: what was seen of an account.
    Account(Arc<AccountNews>),
    /// ldm -> disk: what it has published since the last time.
    Redo {
        /// Its blocks, in their order.
        blocks: Vec<SealedBlock>,
        /// Everything that was ever decided there with an epoch up to this one is in these or earlier blocks.
        whole: Option<Epoch>,
    },
    /// disk -> ldm: a step of the loading of rows.
    Load(LoadStep),
    /// ldm -> disk: its end.
    Loaded(Loaded),
    /// disk -> main: the catalogue that was restored.
    Catalogue(Arc<Schema>),
    /// disk -> ldm: the rows that were restored, before the first tables.
    Fragments {
        /// The rows.
        fragments: Vec<RestoredFragment>,
        /// A node that joins with them has all rows as they were at the end of this epoch; 0: it does not join.
        base: Epoch,
    },
    /// disk -> ldm: hand over what you have logged, then say which fragments you have.
    ListFragments,
    /// ldm -> disk, behind its blocks: everything that is counted here is in them or in earlier ones.
    FragmentsListed(Vec<ListedFragment>),
    /// disk -> query: put the next rows of a fragment into a piece.
    Scan(Box<PieceScan>),
    /// query -> disk: the scan, and the piece.
    Scanned(Box<PieceScan>, Option<SealedPiece>),
}

/// A fragment of an ldm, for checkpoints.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ListedFragment {
    /// Its table.
    pub table: TableId,
    /// Its slot.
    pub slot: SlotId,
    /// Rows that were published in it since it was made in this life.
    pub commits: u64,
    /// About how many rows it has.
    pub rows: u64,
    /// Bytes of its rows in memory.
    pub bytes: u64,
}

/// A fragment that was restored from the disk of this node.
pub struct RestoredFragment {
    /// Its table.
    pub table: TableId,
    /// Its slot.
    pub slot: SlotId,
    /// Its rows, with all indexes.
    pub fragment: Fragment,
}

/// A fragment that can be read on this node.
#[derive(Clone)]
pub struct PublishedReader {
    /// Its table.
    pub table: TableId,
    /// Its slot.
    pub slot: SlotId,
    /// How to read it.
    pub reader: Reader,
}

/// The slot of a key of a table that has no slots: no view has it.
const NO_SLOT: SlotId = SlotId(u32::MAX);

/// How keys and rows of one table are encoded, and where they are.
#[derive(Debug)]
pub struct TableAccessInfo {
    /// The table.
    pub definition: Arc<TableDefinition>,
    /// Its rows.
    pub layout: RowLayout,
    /// Its primary keys.
    pub primary_key: KeyEncoder,
    /// Keys of all indexes in order of `definition.indexes`, the primary key included; index entries of the others end
    /// with the primary key.
    pub indexes: Vec<(IndexId, KeyEncoder)>,
    /// Generated columns, in their order.
    pub generated: Vec<Generated>,
    /// CHECK constraints that are enforced.
    pub checks: Vec<Check>,
    /// This node's AUTO_INCREMENT values; the same object in all maps of the node.
    pub auto_increment: Arc<IdRange>,
    /// The slots of its partitions, by partition; none as long as no view is known.
    slots: Box<[SlotId]>,
}

impl TableAccessInfo {
    /// Whether bytes from a peer are a row of this table that belongs under this key. Rows of the version before and
    /// behind this one are readable, too.
    #[must_use]
    pub fn accepts(&self, key: &[u8], row: &[u8]) -> bool {
        if row.len() > ROW_SIZE_MAX || self.layout.check(row).is_err() {
            return false;
        }
        // An entry of a unique index has the key that it has in the base table.
        if self.definition.kind != TableKind::User {
            return true;
        }
        let mut own = Vec::with_capacity(key.len());
        self.primary_key.encode_row(&self.layout, row, &mut own);
        own == key
    }

    /// The access info of a table in a cluster with these slots.
    #[must_use]
    pub fn new(definition: &Arc<TableDefinition>, terms: SlotTerms, auto_increment: Arc<IdRange>) -> Self {
        let encoder = |index: &types::IndexDefinition| (index.id, KeyEncoder::new(definition, &index.parts));
        Self {
            layout: RowLayout::of_table(definition),
            primary_key: KeyEncoder::new(definition, definition.primary_key()),
            indexes: definition.indexes.iter().map(encoder).collect(),
            generated: generated_columns_of(definition),
            checks: checks_of(definition),
            definition: Arc::clone(definition),
            auto_increment,
            slots: terms.slots_of(definition).into(),
        }
    }

    /// The slot of the partition that owns a primary key. (That there is no such slot is found out where it is looked
    /// for.)
    #[must_use]
    #[inline]
    pub fn slot_of_key(&self, key: &[u8]) -> SlotId {
        self.slot_of_hash(hash64(key))
    }

    /// The same by the key's `stdx::hash64`.
    #[must_use]
    #[inline]
    pub fn slot_of_hash(&self, hash: u64) -> SlotId {
        let count = u32::try_from(self.slots.len()).unwrap_or(0);
        let bucket = u32::try_from(hash % u64::from(BUCKET_COUNT)).unwrap_or(0);
        let partition = bucket * count / BUCKET_COUNT;
        self.slots.get(partition as usize).copied().unwrap_or(NO_SLOT)
    }

    /// The slots of its partitions, by partition.
    #[must_use]
    pub fn slots(&self) -> &[SlotId] {
        &self.slots
    }

    /// The encoder of an index.
    #[must_use]
    pub fn index(&self, id: IndexId) -> Option<&KeyEncoder> {
        self.indexes.iter().find(|(index, _)| *index == id).map(|(_, encoder)| encoder)
    }
}

/// The map.
#[derive(Clone)]
pub struct NodeMap {
    /// This node.
    pub node: NodeId,
    /// Its life.
    pub incarnation: Incarnation,
    /// The installed view.
    pub view: Arc<View>,
    /// The installed schema.
    pub schema: Arc<Schema>,
    /// All tables, hidden and system ones included.
    pub tables: TableChunks<Arc<TableAccessInfo>>,
    /// Readers of the fragments on this node.
    readers: Readers,
    /// Nodes out of reach: nothing is asked of them, and a view without them is awaited.
    pub lost: Vec<NodeId>,
    /// How often each node was lost: one that comes back is not in `lost` any more, but what it had open is void.
    pub losses: BTreeMap<NodeId, u64>,
    /// Data nodes of the view out of reach for so long that no view without them is awaited any more: what needs them
    /// is refused.
    pub given_up: Vec<NodeId>,
    /// DDL statements may have ended without this node, which keeps no replica: it answers nobody before it has the
    /// newest schema.
    pub is_behind: bool,
    /// Until when this node may answer reads.
    pub lease: Arc<Lease>,
}

/// The access info of the tables of a schema, on its way into a map.
pub struct TablesAhead {
    terms: SlotTerms,
    schema: Arc<Schema>,
    tables: TableChunks<Arc<TableAccessInfo>>,
    /// Tables that are still to be made, or taken out.
    rest: Vec<TableId>,
    /// The map before knows the slots: what is equal there is kept.
    has_slots: bool,
}

impl TablesAhead {
    /// Whether these are the tables of this schema, in a cluster with these slots.
    #[must_use]
    pub fn are_of(&self, terms: SlotTerms, schema: &Arc<Schema>) -> bool {
        self.terms == terms && Arc::ptr_eq(&self.schema, schema)
    }
}

impl NodeMap {
    /// Whether this node's replicas may answer what was asked before `now`.
    #[must_use]
    #[inline]
    pub fn may_read(&self, now: Instant) -> bool {
        now < self.lease.read_until()
    }

    /// A map without view, tables and readers: what a node has when it starts.
    #[must_use]
    pub fn empty(node: NodeId, schema: Arc<Schema>) -> Self {
        Self {
            node,
            incarnation: Incarnation(0),
            view: Arc::new(View::none()),
            schema,
            tables: TableChunks::default(),
            readers: Readers::default(),
            lost: Vec::new(),
            losses: BTreeMap::new(),
            given_up: Vec::new(),
            is_behind: false,
            lease: Arc::new(Lease::unlimited()),
        }
    }

    /// The map with other parts, without readers.
    #[must_use]
    pub fn with(
        &self,
        incarnation: Incarnation,
        view: Arc<View>,
        schema: Arc<Schema>,
        lost: &[NodeId],
    ) -> Self {
        let mut tables = self.begin_tables(view.slot_terms(), &schema);
        self.make_tables(&mut tables, usize::MAX);
        self.with_tables(incarnation, view, tables, lost)
    }

    /// The tables of the next map, which are made in steps. Only those that are not the same in both schemas are looked
    /// at: the access info of the others is kept. With the cluster's slots known for the first time, all of it is made.
    #[must_use]
    pub fn begin_tables(&self, terms: SlotTerms, schema: &Arc<Schema>) -> TablesAhead {
        // The terms of the founding are the same in every view of a cluster, but not before the first one is known.
        let has_slots = self.view.slot_terms() == terms;
        let none = TableChunks::default();
        // (A node starts with a schema, and without access info.)
        let (tables, known) = if has_slots && !self.tables.is_empty() {
            (self.tables.clone(), self.schema.tables())
        } else {
            (TableChunks::default(), &none)
        };
        let rest = known.changes(schema.tables()).into_iter().map(|(id, ..)| id).collect();
        TablesAhead { terms, schema: Arc::clone(schema), tables, rest, has_slots }
    }

    /// Makes so many tables of the next map; true if all are made.
    pub fn make_tables(&self, ahead: &mut TablesAhead, count: usize) -> bool {
        let first = ahead.rest.len().saturating_sub(count);
        for id in ahead.rest.split_off(first) {
            let Some(definition) = ahead.schema.table_by_id(id) else {
                ahead.tables.remove(id);
                continue;
            };
            let old = self.tables.get(id);
            if ahead.has_slots && old.is_some_and(|old| *old.definition == **definition) {
                continue;
            }
            let range = old.map_or_else(Arc::default, |old| Arc::clone(&old.auto_increment));
            ahead.tables.insert(id, Arc::new(TableAccessInfo::new(definition, ahead.terms, range)));
        }
        ahead.rest.is_empty()
    }

    /// The map with these tables, all of which are made, and with other parts; without readers.
    #[must_use]
    pub fn with_tables(
        &self,
        incarnation: Incarnation,
        view: Arc<View>,
        tables: TablesAhead,
        lost: &[NodeId],
    ) -> Self {
        let TablesAhead { schema, tables, .. } = tables;
        Self {
            node: self.node,
            incarnation,
            view,
            schema,
            tables,
            readers: Readers::default(),
            lost: lost.to_vec(),
            losses: self.losses.clone(),
            given_up: self.given_up.clone(),
            is_behind: self.is_behind,
            lease: Arc::clone(&self.lease),
        }
    }

    /// The map with these readers of its tables. (A slot that is being copied to this node is not whole, and not read.)
    #[must_use]
    pub fn with_readers(self, readers: &Readers) -> Self {
        let readers = readers.only(|slot| self.view.in_sync(slot).contains(&self.node));
        Self { readers, ..self }
    }

    /// A table's access info.
    #[must_use]
    #[inline]
    pub fn table(&self, table: TableId) -> Option<&Arc<TableAccessInfo>> {
        self.tables.get(table)
    }

    /// The local reader of a fragment, if this node has a replica.
    #[must_use]
    #[inline]
    pub fn reader(&self, table: TableId, slot: SlotId) -> Option<&Reader> {
        self.readers.get(table, slot)
    }

    /// The slot that owns a primary key of a table.
    #[must_use]
    #[inline]
    pub fn slot_of_key(&self, table: TableId, key: &[u8]) -> SlotId {
        self.table(table).map_or(NO_SLOT, |info| info.slot_of_key(key))
    }

    /// The slots of a table's partitions, by partition.
    #[must_use]
    pub fn slots_of(&self, table: TableId) -> &[SlotId] {
        self.table(table).map_or(&[], |info| info.slots())
    }

    /// The `ldm` that owns the primary replica of a slot.
    #[must_use]
    pub fn primary(&self, slot: SlotId) -> Option<Address> {
        self.view.primary(slot)
    }

    /// The same if its node is in reach: what is sent to one that is not may be done unheard.
    #[must_use]
    pub fn primary_in_reach(&self, slot: SlotId) -> Option<Address> {
        self.primary(slot).filter(|primary| !self.lost.contains(&primary.node))
    }

    /// A module of another node that can answer a committed read of a slot: a replica that is not lost and has not
    /// `refused`, spread by slot. Its `query` modules are asked in `turn`.
    #[must_use]
    pub fn replica_for_read(&self, slot: SlotId, refused: &[NodeId], turn: u32) -> Option<Address> {
        let replicas = self.view.in_sync(slot).iter().copied();
        let alive: Vec<NodeId> =
            replicas.filter(|node| !self.lost.contains(node) && !refused.contains(node)).collect();
        let node = *alive.get((usize::from(self.node.0) + slot.0 as usize) % alive.len().max(1))?;
        let query_count = self.view.node(node)?.query_count;
        if query_count == 0 {
            return self.view.ldm(slot, node);
        }
        let instance = u8::try_from(turn % u32::from(query_count)).unwrap_or(0);
        Some(Address::new(node, ModuleKind::Query, instance))
    }

    /// The module of this node that reads a slot where reads go to the thread that owns it. It is the `query` with the
    /// number of the slot's `ldm`, and the `ldm` itself on a node without any `query`.
    #[must_use]
    pub fn owner_for_read(&self, slot: SlotId) -> Option<Address> {
        let owner = self.view.ldm(slot, self.node)?;
        let query_count = self.view.node(self.node)?.query_count;
        if query_count == 0 {
            return Some(owner);
        }
        Some(Address::new(self.node, ModuleKind::Query, owner.instance % query_count))
    }

    /// The tc that coordinates for a session on module `instance` of this node. On a data node it is beside it;
    /// else it is the one with the number of the `ldm` that leads `first`.
    #[must_use]
    pub fn coordinator(&self, instance: u8, first: SlotId) -> Option<Address> {
        let here = self.view.node(self.node)?;
        let (node, tc_count, instance) = if here.role == NodeRole::Data {
            (self.node, here.tc_count, instance)
        } else {
            let primary = self.view.primary(first)?;
            (primary.node, self.view.node(primary.node)?.tc_count, primary.instance)
        };
        (tc_count > 0).then(|| Address::new(node, ModuleKind::Tc, instance % tc_count))
    }

    /// Whether a replica of the slot is given up: new writes and locks are refused. For a node that is no member only
    /// the primary counts: the others' connections with each other are not its own.
    #[must_use]
    pub fn is_replica_given_up(&self, slot: SlotId) -> bool {
        if self.given_up.is_empty() {
            return false;
        }
        let is_given_up = |node: &NodeId| self.given_up.contains(node);
        if self.view.is_in_sync(self.node) {
            self.view.in_sync(slot).iter().any(is_given_up)
        } else {
            self.primary(slot).is_some_and(|primary| is_given_up(&primary.node))
        }
    }

    /// Whether sessions and coordinators of a node do not count any more: it is lost, or a data node
    /// that serves nobody.
    #[must_use]
    pub fn is_out(&self, node: NodeId) -> bool {
        self.lost.contains(&node) || self.serves_nobody(node)
    }

    /// Whether this node was about to stop, and is not any more.
    #[must_use]
    pub fn stays_after(&self, before: &Self) -> bool {
        let is_leaving = |map: &Self| map.view.leaving.contains(&self.node);
        is_leaving(before) && !is_leaving(self)
    }

    /// Whether a node is a data node that is not in sync: it was left out or is joining, and has no sessions in this
    /// life. A node that is only lost comes back, with all its sessions.
    #[must_use]
    pub fn serves_nobody(&self, node: NodeId) -> bool {
        let is_closed = |info: &NodeInfo| info.role == NodeRole::Data && !self.view.is_in_sync(node);
        self.view.number.0 > 0 && self.view.node(node).is_none_or(is_closed)
    }
}

#[cfg(test)]
mod tests;
