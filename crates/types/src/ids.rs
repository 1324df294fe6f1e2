//! Identifiers, each a type of its own so that one cannot be passed for another.

use stdx::wire::{Decoder, Encoder, Wire, WireError};
use wire_derive::Wire;

/// Buckets that a primary key hashes into; a table's partitions own ranges of buckets. Many small numbers divide it, so
/// that partitions are alike.
pub const BUCKET_COUNT: u32 = 61_440;

macro_rules! id {
    ($(#[$meta:meta])* $name:ident($inner:ty)) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Wire)]
        pub struct $name(pub $inner);

        impl std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(formatter)
            }
        }
    };
}

id!(
    /// A node, as numbered in config.ini: 1 to 255.
    NodeId(u16)
);
id!(
    /// One life of a node: a process start. Unique per node id, given out by the control plane.
    Incarnation(u32)
);
impl TableId {
    /// The first id of temporary tables. Such a table belongs to one session; sessions have tables of the same ids.
    pub const FIRST_TEMPORARY: Self = Self(1 << 31);

    /// Whether it is a table of one session, or the hidden table of one.
    #[must_use]
    #[inline]
    pub const fn is_temporary(self) -> bool {
        self.0 >= Self::FIRST_TEMPORARY.0
    }
}

impl SlotId {
    /// Where the temporary tables of a session lie: in no slot of the cluster.
    pub const SESSION: Self = Self(u32::MAX - 1);
}

id!(
    /// A slot has one stream of writes, one table of locks and one primary. Slot 0 holds the system tables and lives on
    /// every data node.
    SlotId(u32)
);
id!(
    /// A table; never used again after DROP or TRUNCATE.
    TableId(u32)
);
id!(
    /// An index within its table; 0 is the primary key.
    IndexId(u32)
);
id!(
    /// A column by position, counted from 0, hidden columns included.
    ColumnIndex(u16)
);
id!(
    /// Numbered membership and ownership of the cluster; every message between nodes carries it.
    ViewNumber(u64)
);
id!(
    /// The place of a replicated write in its slot's stream, counted from 1.
    Sequence(u64)
);
id!(
    /// A restart of the whole cluster, counted from 1 within a founding. 0 is the time before the first one.
    RestartNumber(u32)
);
id!(
    /// A version of the catalogue; each DDL step makes one.
    SchemaVersion(u64)
);

/// Cluster-wide commit group. From a peer always below 2^61, which leaves room for all that come after it: versions of
/// rows have 62 bits for it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Epoch(pub u64);

impl Epoch {
    /// All epochs that are read from elsewhere are below it.
    pub const LIMIT: u64 = 1 << 61;
}

impl std::fmt::Display for Epoch {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(formatter)
    }
}

impl Wire for Epoch {
    fn encode(&self, encoder: &mut Encoder<'_>) {
        self.0.encode(encoder);
    }
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, WireError> {
        below(Self::LIMIT, decoder).map(Self)
    }
}

/// A number that must be less than `limit`.
fn below(limit: u64, decoder: &mut Decoder<'_>) -> Result<u64, WireError> {
    let number = u64::decode(decoder)?;
    if number < limit { Ok(number) } else { Err(WireError::Malformed) }
}

/// The bit of transactions that lock whole tables.
const OF_TABLES: u64 = 1 << 35;

/// A transaction, unique among all that are known in the cluster. Its number is made of node (8 bits), incarnation
/// (10), sql module (8), whether it locks tables (1), and counter (35). The counter begins again behind its end: the
/// transaction that had the number 34 thousand million transactions ago is forgotten. Always below 2^62.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct TransactionId(pub u64);

impl Wire for TransactionId {
    fn encode(&self, encoder: &mut Encoder<'_>) {
        self.0.encode(encoder);
    }
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, WireError> {
        below(1 << 62, decoder).map(Self)
    }
}

impl TransactionId {
    /// The `counter`-th transaction of a session module.
    #[must_use]
    pub fn new(node: NodeId, incarnation: Incarnation, module: u16, counter: u64) -> Self {
        stdx::require!(node.0 < 256 && module < 256);
        let counter = counter % OF_TABLES;
        let incarnation = u64::from(incarnation.0 % 1024);
        Self(u64::from(node.0) << 54 | incarnation << 44 | u64::from(module) << 36 | counter)
    }

    /// The same transaction, as one of LOCK TABLES.
    #[must_use]
    pub fn of_tables(self) -> Self {
        Self(self.0 | OF_TABLES)
    }

    /// The transaction with the highest rank in a deadlock gives way: first of all one that wants whole tables, and can
    /// begin again unseen.
    #[must_use]
    pub fn rank(self) -> (bool, Self) {
        (self.0 & OF_TABLES != 0, self)
    }

    /// The node whose session runs it.
    #[must_use]
    pub fn node(self) -> NodeId {
        NodeId(u16::try_from(self.0 >> 54 & 0xff).unwrap_or(0))
    }

    /// Whether it is of this life of its node (or of one 1 024 lives apart).
    #[must_use]
    pub fn is_of(self, incarnation: Incarnation) -> bool {
        self.0 >> 44 & 0x3ff == u64::from(incarnation.0 % 1024)
    }

    /// The instance of the sql module that runs it.
    #[must_use]
    pub fn module(self) -> u8 {
        u8::try_from(self.0 >> 36 & 0xff).unwrap_or(0)
    }
}

impl std::fmt::Display for TransactionId {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{:#x}", self.0)
    }
}
