//! SQL over the MySQL protocol: sessions, statements and their execution.
//!
//! ```text
//! bytes -> session (commands, one at a time)
//!       -> `planner` (text -> plan, by a cache) -> `executor` (plan -> rows) -> results -> bytes
//! ```
//! | module | what |
//! | --- | --- |
//! | `module` | [`SqlModule`]: all sessions of one thread, as the node drives them |
//! | `session` | a connection: handshake, commands, the statement that runs |
//! | `session_core` | the part of a session that statements see and change |
//! | `statement_cache`, `point_select` | plans by text; the plans of point selects |
//! | `privilege_sets` | a number for each set of privileges |
//! | `row_counts` | how many rows tables have, as far as this node knows |
//! | `statement` | a statement that runs, and what its steps use |
//! | `locks` | LOCK TABLES, GET_LOCK: what a session locks beside its transaction |
//! | `results`, `result_set` | rows and column definitions as clients see them; a result that is sent |
//! | `cursor` | a result that is kept until it is fetched |
//! | `show`, `variables` | SHOW, information_schema, ndbinfo; system variables |
//! | `ddl_job` | DDL statements as jobs of the catalogue |
//!
//! Invariants: no clock, file, socket or thread; everything that happens follows from the inputs of
//! `SqlModule::handle`.

mod accounts;
mod analyze;
mod config;
mod cursor;
mod ddl_job;
mod durable;
mod encoded_keys;
mod environment;
mod key_chain;
mod key_list;
mod locks;
mod module;
mod nonce;
mod orphans;
mod point_select;
mod privilege_sets;
mod requester;
mod result_set;
mod results;
mod row_counts;
mod select_into;
mod session;
mod session_core;
mod show;
mod statement;
mod statement_cache;
mod statement_counts;
mod temporary_ddl;
mod variables;

pub use config::{INSTANCES_MAX, SqlConfig};
pub use executor::ScratchTerms;
pub use module::SqlModule;
pub use session::too_many_connections;
pub use variables::Globals;
