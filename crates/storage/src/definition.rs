//! The part of a table's definition that a fragment uses: the row layout, the primary key and its ordered indexes.
//!
//! Invariant: an index id names the same columns for the table's whole life, so an index keeps the encoder it was made
//! with.

use std::sync::Arc;
use types::{
    Collation, IndexDefinition, IndexId, IndexKind, IndexState, KeyEncoder, KeyPart, RowLayout,
    TableDefinition, TableId, TableKind, TableSlots,
};

/// The id of the primary key among a table's indexes.
pub(crate) fn primary_id(table: &TableDefinition) -> IndexId {
    table.indexes.first().map_or(IndexId(0), |index| index.id)
}

/// How one secondary index gets its keys.
#[derive(Clone, Debug)]
pub(crate) struct IndexShape {
    pub(crate) id: IndexId,
    pub(crate) encoder: KeyEncoder,
    pub(crate) layout: Arc<RowLayout>,
    /// Its columns.
    pub(crate) parts: Vec<KeyPart>,
}

/// The table of a fragment as storage sees it.
#[derive(Clone, Debug)]
pub struct FragmentDefinition {
    table: Arc<TableDefinition>,
    layout: Arc<RowLayout>,
    primary_id: IndexId,
    primary_key: KeyEncoder,
    secondary: Vec<IndexShape>,
}

impl FragmentDefinition {
    /// The view of `table`. The fragment keeps every index of it, in whatever state it is. It keeps unique ones as an
    /// ordered index for ranges; their hidden table keeps their uniqueness.
    #[must_use]
    pub fn new(table: &Arc<TableDefinition>) -> Self {
        let layout = Arc::new(RowLayout::of_table(table));
        let secondary = table
            .indexes
            .iter()
            .filter(|index| index.kind != IndexKind::Primary)
            .map(|index| IndexShape {
                id: index.id,
                encoder: KeyEncoder::new(table, &index.parts),
                layout: Arc::clone(&layout),
                parts: index.parts.clone(),
            })
            .collect();
        Self {
            primary_id: primary_id(table),
            primary_key: KeyEncoder::new(table, table.primary_key()),
            table: Arc::clone(table),
            layout,
            secondary,
        }
    }

    /// A table of which only the id is known: its rows are loaded before the catalogue is.
    #[must_use]
    pub fn bare(table: TableId) -> Self {
        let primary = IndexDefinition {
            id: IndexId(0),
            name: String::new(),
            kind: IndexKind::Primary,
            parts: Vec::new(),
            state: IndexState::Public,
        };
        Self::new(&Arc::new(TableDefinition {
            id: table,
            version: 0,
            database: String::new(),
            name: String::new(),
            kind: TableKind::User,
            columns: Vec::new(),
            indexes: vec![primary],
            auto_increment: None,
            comment: String::new(),
            collation: Collation::Binary,
            slots: TableSlots::ONE_RANK,
            copied_to: None,
            checks: Vec::new(),
        }))
    }

    /// The table.
    #[must_use]
    pub fn table(&self) -> &Arc<TableDefinition> {
        &self.table
    }

    /// Its rows.
    #[must_use]
    pub fn layout(&self) -> &RowLayout {
        &self.layout
    }

    /// Its primary keys.
    #[must_use]
    pub fn primary_key(&self) -> &KeyEncoder {
        &self.primary_key
    }

    /// The primary key's index.
    #[must_use]
    pub fn primary_id(&self) -> IndexId {
        self.primary_id
    }

    /// The ids of the ordered indexes beside the primary key's.
    pub fn secondary_indexes(&self) -> impl Iterator<Item = IndexId> {
        self.secondary.iter().map(|shape| shape.id)
    }

    pub(crate) fn secondary(&self) -> &[IndexShape] {
        &self.secondary
    }
}
