//! Work on rows, wherever it happens: key reads, scans, filters, projections, partial aggregates and write programs
//! over storage's read handles. Sessions use it for local reads, `query` modules and `ldm`s for reads that came by
//! signal.
//!
//! `PieceScan` reads the rows of a fragment for its checkpoint.
//!
//! `NodeMap` is how a session finds a slot: by a reader on this node, or by the address of a module that has one.
//!
//! Deliberately not here: locks, transactions and who may read when (`transaction`), and SQL text (`sql`).

pub mod account_news;
pub mod batch;
#[cfg(all(test, feature = "mutants"))]
mod bugs;
pub mod check;
pub mod generated;
pub mod loading;
pub mod module;
pub mod mutants;
pub mod node_map;
pub mod piece_scan;
mod pieces;
pub mod range_share;
pub mod read;
pub mod readers;
pub mod write;

pub use account_news::{AccountName, AccountNews};
pub use batch::{BatchRow, BatchShape, RowBatchReader, RowBatchWriter, RowKeys};
pub use check::{Check, check_row};
pub use expression::context::{Raised, Warnings};
pub use generated::Generated;
pub use loading::{Expected, LoadStep, Loaded, Loader, Shares};
pub use module::Query;
pub use node_map::{
    ListedFragment, NodeMap, PublishedReader, RestoredFragment, Shared, TableAccessInfo, TablesAhead,
};
pub use piece_scan::{PieceScan, PieceStep};
pub use pieces::cut;
pub use range_share::{are_wide, sampled_share};
pub use read::{
    GroupTable, ReadRun, ReadStep, RowSink, bounds_of, give_locked_row, give_row, passes_filter, read_row,
    remaining, with_evaluated, with_values,
};
pub use readers::Readers;
pub use write::{
    Evaluated, RowChange, evaluate_insert_conflict, evaluate_operation, evaluate_update, generated_value,
    now_for, store_error, store_value, timestamp_in_range,
};
