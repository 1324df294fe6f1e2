//! From plan to rows: operators that are polled, never block and hold nothing of storage between polls.
//!
//! | file | what |
//! | --- | --- |
//! | `access` | key templates and ranges become key bytes |
//! | `table_reader` | rows of one table from all its slots, here or elsewhere, merged in key order if wanted |
//! | `locked_reader` | candidates, then locking reads of them |
//! | `select`, `sort`, `grouping`, `distinct` | the operators of SELECT |
//! | `join`, `join_parts`, `memo` | joins, in memory and in parts on the disk; answers that are remembered |
//! | `select/` | queries in FROM; UNION and its like; WITH |
//! | `row_buffer` | rows that operators keep |
//! | `scratch`, `hash_runs` | rows for which there is no memory, on the disk of the node; those of tables by hash |
//! | `measure` | what the steps of EXPLAIN ANALYZE do |
//! | `row_builder`, `insert` | INSERT and its kin |
//! | `copied_row` | rows that ALTER TABLE writes again |
//! | `modify`, `change` | UPDATE and DELETE: of one table; of rows that a query finds |
//! | `found_rows` | rows of several tables that a query finds and locks |
//! | `conflicts`, `write_set` | writes that the client computes itself: unique keys, key changes |
//! | `cx`, `statement` | what a step uses; what a statement sees of the session |
//! | `client`, `diagnostics` | the one that statements run for; what they warn of |
//! | `site` | the module in which they run: its map, ids, deadlines |
//! | `transaction_client`, `inbox`, `commit` | the client's side of a transaction; requests and answers; commits |
//! | `temporary` | the session's temporary tables: definitions, rows, undo |
//! | `outcome`, `row` | rows, ends and failures |
//!
//! A statement is a state machine: `step` runs until it is done, must wait for an answer (the client polls it again
//! when one came) or has spent its budget. Answers come by the client's inbox.
//!
//! Invariants: a failed statement leaves undoing to its client; memory that grows with rows is charged to QueryMemory.
//!
//! Deliberately not here: texts of statements, connections, the client protocol. Rows go to a sink that the caller has.

pub mod access;
#[cfg(all(test, feature = "mutants"))]
mod bugs;
pub mod change;
mod client;
pub mod commit;
pub mod conflicts;
pub mod copied_row;
mod cx;
pub mod diagnostics;
mod distinct;
mod found_rows;
mod grouping;
mod hash_runs;
mod held;
pub mod inbox;
pub mod insert;
mod join;
mod join_inner;
mod join_parts;
pub mod locked_reader;
mod measure;
mod memo;
pub mod modify;
pub mod mutants;
mod outcome;
pub mod row;
mod row_buffer;
pub mod row_builder;
mod row_memory;
mod scratch;
pub mod select;
mod site;
mod sort;
mod statement;
pub mod table_reader;
pub mod temporary;
pub mod transaction_client;
mod unique_reader;
pub mod write_set;

pub use client::{Client, QueryMemory};
pub use cx::{Cx, table_ref, warnings_of};
pub use diagnostics::Diagnostics;
pub use measure::Measures;
pub use outcome::{Completion, Failure, Pending, Progress, Pull, failure_of, lock_wait_timeout};
pub use row::{Row, row_size};
pub use scratch::{Scratch, ScratchBytes, ScratchTerms};
pub use site::{Environment, Retry, Site};
pub use statement::{Joining, Options, Statement};
