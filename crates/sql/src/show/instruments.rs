//! Tables of `performance_schema` about instruments, histories of events and replication: MySQL's columns, and no rows.
//!
//! Nothing is instrumented here and no binary log is read. The tables are there because tools join them, or ask whether
//! anything is switched on, before they show what `threads` and `events_statements_current` have.

use super::performance_schema::{NAME, STATEMENTS, counted};
use super::virtual_tables::{Column, Kind, Layout, NAME as TEXT, column, empty, nullable};
use types::BlobSize;

const LONG: Kind = Kind::LongText(BlobSize::Long);
const EVENT: Kind = Kind::Text(128);
const YES_OR_NO: Kind = Kind::Text(3);
const STATE: Kind = Kind::Text(16);
const UUID: Kind = Kind::Text(36);

pub(super) const TABLES: &[Layout] = &[
    empty(NAME, "events_stages_current", STAGES),
    empty(NAME, "events_stages_history", STAGES),
    empty(NAME, "events_stages_history_long", STAGES),
    empty(NAME, "events_statements_history", STATEMENTS),
    empty(NAME, "events_statements_history_long", STATEMENTS),
    empty(NAME, "events_statements_summary_by_digest", STATEMENT_DIGESTS),
    empty(NAME, "events_transactions_current", TRANSACTIONS),
    empty(NAME, "events_transactions_history", TRANSACTIONS),
    empty(NAME, "events_transactions_history_long", TRANSACTIONS),
    empty(NAME, "events_waits_current", WAITS),
    empty(NAME, "events_waits_history", WAITS),
    empty(NAME, "events_waits_history_long", WAITS),
    empty(NAME, "replication_applier_configuration", APPLIER_CONFIGURATION),
    empty(NAME, "replication_applier_status", APPLIER_STATUS),
    empty(NAME, "replication_connection_status", CONNECTION_STATUS),
    empty(NAME, "replication_group_members", GROUP_MEMBERS),
    empty(NAME, "setup_actors", SETUP_ACTORS),
    empty(NAME, "setup_consumers", SETUP_CONSUMERS),
    empty(NAME, "setup_instruments", SETUP_INSTRUMENTS),
    empty(NAME, "setup_objects", SETUP_OBJECTS),
    empty(NAME, "setup_threads", SETUP_THREADS),
    empty(NAME, "table_io_waits_summary_by_index_usage", INDEX_USAGE),
];

/// A number that may be NULL.
const fn number(name: &'static str) -> Column {
    nullable(name, Kind::UnsignedBigInt)
}

const STAGES: &[Column] = &[
    counted("THREAD_ID"),
    counted("EVENT_ID"),
    number("END_EVENT_ID"),
    column("EVENT_NAME", EVENT),
    nullable("SOURCE", TEXT),
    number("TIMER_START"),
    number("TIMER_END"),
    number("TIMER_WAIT"),
    number("WORK_COMPLETED"),
    number("WORK_ESTIMATED"),
    number("NESTING_EVENT_ID"),
    nullable("NESTING_EVENT_TYPE", Kind::Text(11)),
];

const STATEMENT_DIGESTS: &[Column] = &[
    nullable("SCHEMA_NAME", Kind::Identifier),
    nullable("DIGEST", TEXT),
    nullable("DIGEST_TEXT", LONG),
    counted("COUNT_STAR"),
    counted("SUM_TIMER_WAIT"),
    counted("MIN_TIMER_WAIT"),
    counted("AVG_TIMER_WAIT"),
    counted("MAX_TIMER_WAIT"),
    counted("SUM_LOCK_TIME"),
    counted("SUM_ERRORS"),
    counted("SUM_WARNINGS"),
    counted("SUM_ROWS_AFFECTED"),
    counted("SUM_ROWS_SENT"),
    counted("SUM_ROWS_EXAMINED"),
    counted("SUM_CREATED_TMP_DISK_TABLES"),
    counted("SUM_CREATED_TMP_TABLES"),
    counted("SUM_SELECT_FULL_JOIN"),
    counted("SUM_SELECT_FULL_RANGE_JOIN"),
    counted("SUM_SELECT_RANGE"),
    counted("SUM_SELECT_RANGE_CHECK"),
    counted("SUM_SELECT_SCAN"),
    counted("SUM_SORT_MERGE_PASSES"),
    counted("SUM_SORT_RANGE"),
    counted("SUM_SORT_ROWS"),
    counted("SUM_SORT_SCAN"),
    counted("SUM_NO_INDEX_USED"),
    counted("SUM_NO_GOOD_INDEX_USED"),
    counted("SUM_CPU_TIME"),
    counted("MAX_CONTROLLED_MEMORY"),
    counted("MAX_TOTAL_MEMORY"),
    counted("COUNT_SECONDARY"),
    column("FIRST_SEEN", Kind::Timestamp),
    column("LAST_SEEN", Kind::Timestamp),
    counted("QUANTILE_95"),
    counted("QUANTILE_99"),
    counted("QUANTILE_999"),
    nullable("QUERY_SAMPLE_TEXT", LONG),
    column("QUERY_SAMPLE_SEEN", Kind::Timestamp),
    counted("QUERY_SAMPLE_TIMER_WAIT"),
];

const TRANSACTIONS: &[Column] = &[
    counted("THREAD_ID"),
    counted("EVENT_ID"),
    number("END_EVENT_ID"),
    column("EVENT_NAME", EVENT),
    nullable("STATE", STATE),
    number("TRX_ID"),
    nullable("GTID", Kind::Text(90)),
    nullable("XID_FORMAT_ID", Kind::Int),
    nullable("XID_GTRID", Kind::Text(130)),
    nullable("XID_BQUAL", Kind::Text(130)),
    nullable("XA_STATE", TEXT),
    nullable("SOURCE", TEXT),
    number("TIMER_START"),
    number("TIMER_END"),
    number("TIMER_WAIT"),
    nullable("ACCESS_MODE", STATE),
    nullable("ISOLATION_LEVEL", TEXT),
    column("AUTOCOMMIT", YES_OR_NO),
    number("NUMBER_OF_SAVEPOINTS"),
    number("NUMBER_OF_ROLLBACK_TO_SAVEPOINT"),
    number("NUMBER_OF_RELEASE_SAVEPOINT"),
    number("OBJECT_INSTANCE_BEGIN"),
    number("NESTING_EVENT_ID"),
    nullable("NESTING_EVENT_TYPE", Kind::Text(11)),
];

const WAITS: &[Column] = &[
    counted("THREAD_ID"),
    counted("EVENT_ID"),
    number("END_EVENT_ID"),
    column("EVENT_NAME", EVENT),
    nullable("SOURCE", TEXT),
    number("TIMER_START"),
    number("TIMER_END"),
    number("TIMER_WAIT"),
    nullable("SPINS", Kind::UnsignedInt),
    nullable("OBJECT_SCHEMA", Kind::Identifier),
    nullable("OBJECT_NAME", Kind::Text(512)),
    nullable("INDEX_NAME", TEXT),
    nullable("OBJECT_TYPE", TEXT),
    counted("OBJECT_INSTANCE_BEGIN"),
    number("NESTING_EVENT_ID"),
    nullable("NESTING_EVENT_TYPE", Kind::Text(11)),
    column("OPERATION", Kind::Text(32)),
    nullable("NUMBER_OF_BYTES", Kind::BigInt),
    nullable("FLAGS", Kind::UnsignedInt),
];

const APPLIER_CONFIGURATION: &[Column] = &[
    column("CHANNEL_NAME", TEXT),
    column("DESIRED_DELAY", Kind::Int),
    nullable("PRIVILEGE_CHECKS_USER", Kind::Text(388)),
    column("REQUIRE_ROW_FORMAT", YES_OR_NO),
    column("REQUIRE_TABLE_PRIMARY_KEY_CHECK", Kind::Text(8)),
    column("ASSIGN_GTIDS_TO_ANONYMOUS_TRANSACTIONS_TYPE", Kind::Text(5)),
    nullable("ASSIGN_GTIDS_TO_ANONYMOUS_TRANSACTIONS_VALUE", LONG),
];

const APPLIER_STATUS: &[Column] = &[
    column("CHANNEL_NAME", TEXT),
    column("SERVICE_STATE", Kind::Text(3)),
    nullable("REMAINING_DELAY", Kind::UnsignedInt),
    counted("COUNT_TRANSACTIONS_RETRIES"),
];

const CONNECTION_STATUS: &[Column] = &[
    column("CHANNEL_NAME", TEXT),
    column("GROUP_NAME", UUID),
    column("SOURCE_UUID", UUID),
    number("THREAD_ID"),
    column("SERVICE_STATE", Kind::Text(10)),
    counted("COUNT_RECEIVED_HEARTBEATS"),
    column("LAST_HEARTBEAT_TIMESTAMP", Kind::Timestamp),
    column("RECEIVED_TRANSACTION_SET", LONG),
    column("LAST_ERROR_NUMBER", Kind::Int),
    column("LAST_ERROR_MESSAGE", Kind::Text(1024)),
    column("LAST_ERROR_TIMESTAMP", Kind::Timestamp),
    nullable("LAST_QUEUED_TRANSACTION", Kind::Text(90)),
    column("LAST_QUEUED_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP", Kind::Timestamp),
    column("LAST_QUEUED_TRANSACTION_IMMEDIATE_COMMIT_TIMESTAMP", Kind::Timestamp),
    column("LAST_QUEUED_TRANSACTION_START_QUEUE_TIMESTAMP", Kind::Timestamp),
    column("LAST_QUEUED_TRANSACTION_END_QUEUE_TIMESTAMP", Kind::Timestamp),
    nullable("QUEUEING_TRANSACTION", Kind::Text(90)),
    column("QUEUEING_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP", Kind::Timestamp),
    column("QUEUEING_TRANSACTION_IMMEDIATE_COMMIT_TIMESTAMP", Kind::Timestamp),
    column("QUEUEING_TRANSACTION_START_QUEUE_TIMESTAMP", Kind::Timestamp),
];

const GROUP_MEMBERS: &[Column] = &[
    column("CHANNEL_NAME", TEXT),
    column("MEMBER_ID", UUID),
    column("MEMBER_HOST", Kind::Text(255)),
    nullable("MEMBER_PORT", Kind::Int),
    column("MEMBER_STATE", TEXT),
    column("MEMBER_ROLE", TEXT),
    column("MEMBER_VERSION", TEXT),
    column("MEMBER_COMMUNICATION_STACK", TEXT),
];

const SETUP_ACTORS: &[Column] = &[
    column("HOST", Kind::Text(255)),
    column("USER", Kind::Text(32)),
    column("ROLE", Kind::Text(32)),
    column("ENABLED", YES_OR_NO),
    column("HISTORY", YES_OR_NO),
];

const SETUP_CONSUMERS: &[Column] = &[column("NAME", TEXT), column("ENABLED", YES_OR_NO)];

const SETUP_INSTRUMENTS: &[Column] = &[
    column("NAME", EVENT),
    column("ENABLED", YES_OR_NO),
    nullable("TIMED", YES_OR_NO),
    column("PROPERTIES", Kind::Text(256)),
    nullable("FLAGS", TEXT),
    column("VOLATILITY", Kind::Int),
    nullable("DOCUMENTATION", LONG),
];

const SETUP_OBJECTS: &[Column] = &[
    column("OBJECT_TYPE", TEXT),
    nullable("OBJECT_SCHEMA", Kind::Identifier),
    column("OBJECT_NAME", Kind::Identifier),
    column("ENABLED", YES_OR_NO),
    column("TIMED", YES_OR_NO),
];

const SETUP_THREADS: &[Column] = &[
    column("NAME", EVENT),
    column("ENABLED", YES_OR_NO),
    column("HISTORY", YES_OR_NO),
    column("PROPERTIES", Kind::Text(256)),
    column("VOLATILITY", Kind::Int),
    nullable("DOCUMENTATION", LONG),
];

const INDEX_USAGE: &[Column] = &[
    nullable("OBJECT_TYPE", TEXT),
    nullable("OBJECT_SCHEMA", Kind::Identifier),
    nullable("OBJECT_NAME", Kind::Identifier),
    nullable("INDEX_NAME", TEXT),
    counted("COUNT_STAR"),
    counted("SUM_TIMER_WAIT"),
    counted("MIN_TIMER_WAIT"),
    counted("AVG_TIMER_WAIT"),
    counted("MAX_TIMER_WAIT"),
    counted("COUNT_READ"),
    counted("SUM_TIMER_READ"),
    counted("MIN_TIMER_READ"),
    counted("AVG_TIMER_READ"),
    counted("MAX_TIMER_READ"),
    counted("COUNT_WRITE"),
    counted("SUM_TIMER_WRITE"),
    counted("MIN_TIMER_WRITE"),
    counted("AVG_TIMER_WRITE"),
    counted("MAX_TIMER_WRITE"),
    counted("COUNT_FETCH"),
    counted("SUM_TIMER_FETCH"),
    counted("MIN_TIMER_FETCH"),
    counted("AVG_TIMER_FETCH"),
    counted("MAX_TIMER_FETCH"),
    counted("COUNT_INSERT"),
    counted("SUM_TIMER_INSERT"),
    counted("MIN_TIMER_INSERT"),
    counted("AVG_TIMER_INSERT"),
    counted("MAX_TIMER_INSERT"),
    counted("COUNT_UPDATE"),
    counted("SUM_TIMER_UPDATE"),
    counted("MIN_TIMER_UPDATE"),
    counted("AVG_TIMER_UPDATE"),
    counted("MAX_TIMER_UPDATE"),
    counted("COUNT_DELETE"),
    counted("SUM_TIMER_DELETE"),
    counted("MIN_TIMER_DELETE"),
    counted("AVG_TIMER_DELETE"),
    counted("MAX_TIMER_DELETE"),
];
