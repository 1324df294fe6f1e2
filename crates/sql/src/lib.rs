//! SQL over the MySQL protocol: sessions, statements and their execution.
//!
//! ```text
//! bytes -> session (commands, one at a time) -> planner (text -> plan, by a cache) -> execute (operators) -> results -> bytes
//!                        |                                   |
//!                        +-- transaction_client              +-- reads of this node's replicas, signals to slots elsewhere
//! ```
//! | module | what |
//! | --- | --- |
//! | `module` | [`SqlModule`]: all sessions of one thread, as the node drives them |
//! | `session` | a connection: handshake, commands, the statement that runs |
//! | `statement_cache` | plans by text |
//! | `execute` | operators and statements as state machines |
//! | `transaction_client`, `inbox` | the session's side of a transaction; requests and answers |
//! | `results` | rows and column definitions as clients see them |
//! | `show`, `variables` | SHOW, information_schema, ndbinfo; system variables |
//! | `ddl_job` | DDL statements as jobs of the catalogue |
//!
//! Invariants: no clock, file, socket or thread; everything that happens follows from the inputs of `SqlModule::handle`.

mod accounts;
mod ddl_job;
mod environment;
mod execute;
mod inbox;
mod module;
mod nonce;
mod orphans;
mod results;
mod session;
mod session_locks;
mod show;
mod statement_cache;
mod statement_counts;
mod transaction_client;
mod variables;

pub use module::{INSTANCES_MAX, SqlConfig, SqlModule};
pub use session::too_many_connections;
pub use variables::Globals;
