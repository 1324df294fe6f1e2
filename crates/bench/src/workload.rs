//! The workloads that setups of threads and the model are compared on.
//!
//! Each is a mix of sysbench's statements: one statement a transaction, or a whole transaction of its OLTP tests. The
//! last one is TPC-C, which has tables of its own.

use crate::oltp::Mix;

/// Clients that scan beside those that look up.
pub(crate) const SCANNERS: usize = 2;

/// The statements of clients.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Workload {
    Point,
    Keys,
    Range,
    Ranges,
    Filter,
    ReadOnly,
    ReadWrite,
    Update,
    ScanBesidePoints,
    Tpcc,
}

impl Workload {
    pub const ALL: [Self; 10] = [
        Self::Point,
        Self::Keys,
        Self::Range,
        Self::Ranges,
        Self::Filter,
        Self::ReadOnly,
        Self::ReadWrite,
        Self::Update,
        Self::ScanBesidePoints,
        Self::Tpcc,
    ];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Point => "point",
            Self::Keys => "in-100",
            Self::Range => "range",
            Self::Ranges => "four-ranges",
            Self::Filter => "filter",
            Self::ReadOnly => "read-only",
            Self::ReadWrite => "read-write",
            Self::Update => "update",
            Self::ScanBesidePoints => "scan-beside-points",
            Self::Tpcc => "tpcc",
        }
    }

    /// A transaction of one client; none: those of TPC-C.
    pub(crate) fn mix(self) -> Option<Mix> {
        let ranges = Mix { range_size: 100, ..Mix::default() };
        let mix = match self {
            Self::Tpcc => return None,
            Self::Point | Self::ScanBesidePoints => Mix { point_selects: 1, ..Mix::default() },
            Self::Keys => Mix { point_selects: 1, keys_per_select: 100, ..Mix::default() },
            Self::Range => Mix { simple_ranges: 1, ..ranges },
            Self::Ranges => {
                Mix { simple_ranges: 1, sum_ranges: 1, order_ranges: 1, distinct_ranges: 1, ..ranges }
            }
            Self::Filter => Mix { simple_ranges: 1, has_filter: true, ..ranges },
            Self::ReadOnly => Mix::read_only(),
            Self::ReadWrite => Mix::read_write(),
            Self::Update => Mix { non_index_updates: 1, ..Mix::default() },
        };
        Some(mix)
    }

    /// A transaction of [`SCANNERS`] clients beside the others, if there are such.
    pub(crate) fn mix_beside(self) -> Option<Mix> {
        (self == Self::ScanBesidePoints).then(|| Mix { scans: 1, ..Mix::default() })
    }
}
