//! `information_schema`: MySQL 8's table and column names, column by column in its order, and which function makes the
//! rows.
//!
//! Tables about things that do not exist here (routines, triggers, foreign keys) are there and empty, because
//! tools ask for them; InnoDB's own tables are not there.

use super::virtual_tables::{
    Column, Kind, Layout, MakeRows, NAME as TEXT, Origin, Respondents, column, empty, nullable,
};
use super::{grants, schema_rows, server_rows};
use protocol::signal::InfoTable;
use types::BlobSize;

pub(super) const NAME: &str = "information_schema";

const fn made(name: &'static str, columns: &'static [Column], rows: MakeRows) -> Layout {
    Layout { database: NAME, name, columns, origin: Origin::Made(rows) }
}

pub(super) const TABLES: &[Layout] = &[
    made("ADMINISTRABLE_ROLE_AUTHORIZATIONS", ROLES, grants::administrable_roles),
    made("APPLICABLE_ROLES", ROLES, grants::applicable_roles),
    made("CHARACTER_SETS", CHARACTER_SETS, |_, _| server_rows::character_sets()),
    made("CHECK_CONSTRAINTS", CHECK_CONSTRAINTS, schema_rows::check_constraints),
    made("COLLATIONS", COLLATIONS, |_, _| server_rows::collations()),
    made("COLLATION_CHARACTER_SET_APPLICABILITY", COLLATION_CHARACTER_SET_APPLICABILITY, |_, _| {
        server_rows::collation_character_sets()
    }),
    made("COLUMNS", COLUMNS, schema_rows::columns),
    made("COLUMN_PRIVILEGES", COLUMN_PRIVILEGES, grants::column_privileges),
    empty(NAME, "COLUMN_STATISTICS", COLUMN_STATISTICS),
    made("ENGINES", ENGINES, |_, _| server_rows::engines()),
    made("ENABLED_ROLES", ENABLED_ROLES, grants::enabled_roles),
    empty(NAME, "EVENTS", EVENTS),
    empty(NAME, "FILES", FILES),
    made("KEYWORDS", KEYWORDS, |_, _| server_rows::keywords()),
    made("KEY_COLUMN_USAGE", KEY_COLUMN_USAGE, schema_rows::key_column_usage),
    empty(NAME, "PARAMETERS", PARAMETERS),
    made("PARTITIONS", PARTITIONS, schema_rows::partitions),
    made("PLUGINS", PLUGINS, |_, _| server_rows::plugins()),
    Layout {
        database: NAME,
        name: "PROCESSLIST",
        columns: PROCESS_LIST,
        origin: Origin::Asked(InfoTable::Processes, Respondents::AllNodes),
    },
    empty(NAME, "PROFILING", PROFILING),
    empty(NAME, "REFERENTIAL_CONSTRAINTS", REFERENTIAL_CONSTRAINTS),
    made("ROLE_COLUMN_GRANTS", ROLE_COLUMN_GRANTS, grants::role_column_grants),
    empty(NAME, "ROLE_ROUTINE_GRANTS", ROLE_ROUTINE_GRANTS),
    made("ROLE_TABLE_GRANTS", ROLE_TABLE_GRANTS, grants::role_table_grants),
    empty(NAME, "ROUTINES", ROUTINES),
    made("SCHEMATA", SCHEMATA, schema_rows::schemata),
    made("SCHEMA_PRIVILEGES", SCHEMA_PRIVILEGES, grants::schema_privileges),
    made("STATISTICS", STATISTICS, schema_rows::statistics),
    made("TABLES", TABLE_COLUMNS, schema_rows::tables),
    made("TABLE_CONSTRAINTS", TABLE_CONSTRAINTS, schema_rows::table_constraints),
    made("TABLE_PRIVILEGES", TABLE_PRIVILEGES, grants::table_privileges),
    empty(NAME, "TRIGGERS", TRIGGERS),
    made("USER_PRIVILEGES", USER_PRIVILEGES, grants::user_privileges),
    made("VIEWS", VIEWS, schema_rows::views),
];

const CHARACTER_SETS: &[Column] = &[
    column("CHARACTER_SET_NAME", TEXT),
    column("DEFAULT_COLLATE_NAME", TEXT),
    column("DESCRIPTION", Kind::Text(2048)),
    column("MAXLEN", Kind::UnsignedInt),
];

const CHECK_CONSTRAINTS: &[Column] = &[
    column("CONSTRAINT_CATALOG", TEXT),
    column("CONSTRAINT_SCHEMA", Kind::Identifier),
    column("CONSTRAINT_NAME", Kind::Identifier),
    column("CHECK_CLAUSE", Kind::LongText(BlobSize::Long)),
];

const COLLATIONS: &[Column] = &[
    column("COLLATION_NAME", TEXT),
    column("CHARACTER_SET_NAME", TEXT),
    column("ID", Kind::UnsignedBigInt),
    column("IS_DEFAULT", Kind::Text(3)),
    column("IS_COMPILED", Kind::Text(3)),
    column("SORTLEN", Kind::UnsignedInt),
    column("PAD_ATTRIBUTE", Kind::Text(9)),
];

const COLLATION_CHARACTER_SET_APPLICABILITY: &[Column] =
    &[column("COLLATION_NAME", TEXT), column("CHARACTER_SET_NAME", TEXT)];

const COLUMNS: &[Column] = &[
    column("TABLE_CATALOG", TEXT),
    column("TABLE_SCHEMA", Kind::Identifier),
    column("TABLE_NAME", Kind::Identifier),
    column("COLUMN_NAME", TEXT),
    column("ORDINAL_POSITION", Kind::UnsignedInt),
    nullable("COLUMN_DEFAULT", Kind::LongText(BlobSize::Normal)),
    column("IS_NULLABLE", Kind::Text(3)),
    column("DATA_TYPE", Kind::LongText(BlobSize::Long)),
    nullable("CHARACTER_MAXIMUM_LENGTH", Kind::BigInt),
    nullable("CHARACTER_OCTET_LENGTH", Kind::BigInt),
    nullable("NUMERIC_PRECISION", Kind::UnsignedBigInt),
    nullable("NUMERIC_SCALE", Kind::UnsignedBigInt),
    nullable("DATETIME_PRECISION", Kind::UnsignedInt),
    nullable("CHARACTER_SET_NAME", TEXT),
    nullable("COLLATION_NAME", TEXT),
    column("COLUMN_TYPE", Kind::LongText(BlobSize::Medium)),
    column("COLUMN_KEY", Kind::Text(3)),
    nullable("EXTRA", Kind::Text(256)),
    nullable("PRIVILEGES", Kind::Text(154)),
    column("COLUMN_COMMENT", Kind::LongText(BlobSize::Normal)),
    column("GENERATION_EXPRESSION", Kind::LongText(BlobSize::Long)),
    nullable("SRS_ID", Kind::UnsignedInt),
];

const COLUMN_PRIVILEGES: &[Column] = &[
    column("GRANTEE", Kind::Text(292)),
    column("TABLE_CATALOG", Kind::Text(512)),
    column("TABLE_SCHEMA", Kind::Identifier),
    column("TABLE_NAME", Kind::Identifier),
    column("COLUMN_NAME", TEXT),
    column("PRIVILEGE_TYPE", TEXT),
    column("IS_GRANTABLE", Kind::Text(3)),
];

const COLUMN_STATISTICS: &[Column] = &[
    column("SCHEMA_NAME", Kind::Identifier),
    column("TABLE_NAME", Kind::Identifier),
    column("COLUMN_NAME", TEXT),
    column("HISTOGRAM", Kind::LongText(BlobSize::Long)),
];

const ENGINES: &[Column] = &[
    column("ENGINE", TEXT),
    column("SUPPORT", Kind::Text(8)),
    column("COMMENT", Kind::Text(80)),
    nullable("TRANSACTIONS", Kind::Text(3)),
    nullable("XA", Kind::Text(3)),
    nullable("SAVEPOINTS", Kind::Text(3)),
];

const EVENTS: &[Column] = &[
    column("EVENT_CATALOG", TEXT),
    column("EVENT_SCHEMA", Kind::Identifier),
    column("EVENT_NAME", TEXT),
    column("DEFINER", Kind::Text(288)),
    column("TIME_ZONE", TEXT),
    column("EVENT_BODY", Kind::Text(3)),
    column("EVENT_DEFINITION", Kind::LongText(BlobSize::Long)),
    column("EVENT_TYPE", Kind::Text(9)),
    nullable("EXECUTE_AT", Kind::DateTime),
    nullable("INTERVAL_VALUE", Kind::Text(256)),
    nullable("INTERVAL_FIELD", Kind::Text(18)),
    column("SQL_MODE", Kind::Text(1024)),
    nullable("STARTS", Kind::DateTime),
    nullable("ENDS", Kind::DateTime),
    column("STATUS", Kind::Text(21)),
    column("ON_COMPLETION", Kind::Text(12)),
    column("CREATED", Kind::Timestamp),
    column("LAST_ALTERED", Kind::Timestamp),
    nullable("LAST_EXECUTED", Kind::DateTime),
    column("EVENT_COMMENT", Kind::Text(2048)),
    column("ORIGINATOR", Kind::UnsignedInt),
    column("CHARACTER_SET_CLIENT", TEXT),
    column("COLLATION_CONNECTION", TEXT),
    column("DATABASE_COLLATION", TEXT),
];

const FILES: &[Column] = &[
    nullable("FILE_ID", Kind::BigInt),
    nullable("FILE_NAME", Kind::LongText(BlobSize::Normal)),
    nullable("FILE_TYPE", Kind::Text(256)),
    column("TABLESPACE_NAME", Kind::Text(268)),
    column("TABLE_CATALOG", Kind::Text(0)),
    nullable("TABLE_SCHEMA", Kind::Identifier),
    nullable("TABLE_NAME", Kind::Identifier),
    nullable("LOGFILE_GROUP_NAME", Kind::Text(256)),
    nullable("LOGFILE_GROUP_NUMBER", Kind::BigInt),
    column("ENGINE", TEXT),
    nullable("FULLTEXT_KEYS", Kind::Text(0)),
    nullable("DELETED_ROWS", Kind::Text(0)),
    nullable("UPDATE_COUNT", Kind::Text(0)),
    nullable("FREE_EXTENTS", Kind::BigInt),
    nullable("TOTAL_EXTENTS", Kind::BigInt),
    nullable("EXTENT_SIZE", Kind::BigInt),
    nullable("INITIAL_SIZE", Kind::BigInt),
    nullable("MAXIMUM_SIZE", Kind::BigInt),
    nullable("AUTOEXTEND_SIZE", Kind::BigInt),
    nullable("CREATION_TIME", Kind::Text(0)),
    nullable("LAST_UPDATE_TIME", Kind::Text(0)),
    nullable("LAST_ACCESS_TIME", Kind::Text(0)),
    nullable("RECOVER_TIME", Kind::Text(0)),
    nullable("TRANSACTION_COUNTER", Kind::Text(0)),
    nullable("VERSION", Kind::BigInt),
    nullable("ROW_FORMAT", Kind::Text(256)),
    nullable("TABLE_ROWS", Kind::Text(0)),
    nullable("AVG_ROW_LENGTH", Kind::Text(0)),
    nullable("DATA_LENGTH", Kind::Text(0)),
    nullable("MAX_DATA_LENGTH", Kind::Text(0)),
    nullable("INDEX_LENGTH", Kind::Text(0)),
    nullable("DATA_FREE", Kind::BigInt),
    nullable("CREATE_TIME", Kind::Text(0)),
    nullable("UPDATE_TIME", Kind::Text(0)),
    nullable("CHECK_TIME", Kind::Text(0)),
    nullable("CHECKSUM", Kind::Text(0)),
    nullable("STATUS", Kind::Text(256)),
    nullable("EXTRA", Kind::Text(256)),
];

const KEY_COLUMN_USAGE: &[Column] = &[
    column("CONSTRAINT_CATALOG", TEXT),
    column("CONSTRAINT_SCHEMA", Kind::Identifier),
    nullable("CONSTRAINT_NAME", TEXT),
    column("TABLE_CATALOG", TEXT),
    column("TABLE_SCHEMA", Kind::Identifier),
    column("TABLE_NAME", Kind::Identifier),
    nullable("COLUMN_NAME", TEXT),
    column("ORDINAL_POSITION", Kind::UnsignedInt),
    nullable("POSITION_IN_UNIQUE_CONSTRAINT", Kind::UnsignedInt),
    nullable("REFERENCED_TABLE_SCHEMA", Kind::Identifier),
    nullable("REFERENCED_TABLE_NAME", Kind::Identifier),
    nullable("REFERENCED_COLUMN_NAME", TEXT),
];

const PARAMETERS: &[Column] = &[
    column("SPECIFIC_CATALOG", TEXT),
    column("SPECIFIC_SCHEMA", Kind::Identifier),
    column("SPECIFIC_NAME", TEXT),
    column("ORDINAL_POSITION", Kind::UnsignedBigInt),
    nullable("PARAMETER_MODE", Kind::Text(5)),
    nullable("PARAMETER_NAME", TEXT),
    nullable("DATA_TYPE", Kind::LongText(BlobSize::Long)),
    nullable("CHARACTER_MAXIMUM_LENGTH", Kind::BigInt),
    nullable("CHARACTER_OCTET_LENGTH", Kind::BigInt),
    nullable("NUMERIC_PRECISION", Kind::UnsignedInt),
    nullable("NUMERIC_SCALE", Kind::BigInt),
    nullable("DATETIME_PRECISION", Kind::UnsignedInt),
    nullable("CHARACTER_SET_NAME", TEXT),
    nullable("COLLATION_NAME", TEXT),
    column("DTD_IDENTIFIER", Kind::LongText(BlobSize::Medium)),
    column("ROUTINE_TYPE", Kind::Text(9)),
];

const PARTITIONS: &[Column] = &[
    column("TABLE_CATALOG", TEXT),
    column("TABLE_SCHEMA", Kind::Identifier),
    column("TABLE_NAME", Kind::Identifier),
    nullable("PARTITION_NAME", TEXT),
    nullable("SUBPARTITION_NAME", TEXT),
    nullable("PARTITION_ORDINAL_POSITION", Kind::UnsignedInt),
    nullable("SUBPARTITION_ORDINAL_POSITION", Kind::UnsignedInt),
    nullable("PARTITION_METHOD", Kind::Text(13)),
    nullable("SUBPARTITION_METHOD", Kind::Text(13)),
    nullable("PARTITION_EXPRESSION", Kind::Text(2048)),
    nullable("SUBPARTITION_EXPRESSION", Kind::Text(2048)),
    nullable("PARTITION_DESCRIPTION", Kind::LongText(BlobSize::Normal)),
    nullable("TABLE_ROWS", Kind::UnsignedBigInt),
    nullable("AVG_ROW_LENGTH", Kind::UnsignedBigInt),
    nullable("DATA_LENGTH", Kind::UnsignedBigInt),
    nullable("MAX_DATA_LENGTH", Kind::UnsignedBigInt),
    nullable("INDEX_LENGTH", Kind::UnsignedBigInt),
    nullable("DATA_FREE", Kind::UnsignedBigInt),
    nullable("CREATE_TIME", Kind::Timestamp),
    nullable("UPDATE_TIME", Kind::DateTime),
    nullable("CHECK_TIME", Kind::DateTime),
    nullable("CHECKSUM", Kind::BigInt),
    column("PARTITION_COMMENT", Kind::LongText(BlobSize::Normal)),
    nullable("NODEGROUP", Kind::Text(256)),
    nullable("TABLESPACE_NAME", Kind::Text(268)),
];

/// Reserved words only; what is not reserved needs no quotes, which is what drivers ask about.
const KEYWORDS: &[Column] = &[column("WORD", Kind::Text(128)), column("RESERVED", Kind::Int)];

const PLUGINS: &[Column] = &[
    column("PLUGIN_NAME", TEXT),
    column("PLUGIN_VERSION", Kind::Text(20)),
    column("PLUGIN_STATUS", Kind::Text(10)),
    column("PLUGIN_TYPE", Kind::Text(80)),
    column("PLUGIN_TYPE_VERSION", Kind::Text(20)),
    nullable("PLUGIN_LIBRARY", TEXT),
    nullable("PLUGIN_LIBRARY_VERSION", Kind::Text(20)),
    nullable("PLUGIN_AUTHOR", TEXT),
    nullable("PLUGIN_DESCRIPTION", Kind::LongText(BlobSize::Long)),
    nullable("PLUGIN_LICENSE", Kind::Text(80)),
    column("LOAD_OPTION", TEXT),
];

/// Sessions, as modules answer them: what is behind the last column is not shown.
pub(super) const PROCESS_LIST: &[Column] = &[
    column("ID", Kind::UnsignedBigInt),
    column("USER", Kind::Text(32)),
    column("HOST", Kind::Text(261)),
    nullable("DB", Kind::Identifier),
    column("COMMAND", Kind::Text(16)),
    column("TIME", Kind::Int),
    nullable("STATE", Kind::Text(64)),
    nullable("INFO", Kind::LongText(BlobSize::Long)),
];

const PROFILING: &[Column] = &[
    column("QUERY_ID", Kind::Int),
    column("SEQ", Kind::Int),
    column("STATE", Kind::Text(30)),
    column("DURATION", Kind::Seconds),
    nullable("CPU_USER", Kind::Seconds),
    nullable("CPU_SYSTEM", Kind::Seconds),
    nullable("CONTEXT_VOLUNTARY", Kind::Int),
    nullable("CONTEXT_INVOLUNTARY", Kind::Int),
    nullable("BLOCK_OPS_IN", Kind::Int),
    nullable("BLOCK_OPS_OUT", Kind::Int),
    nullable("MESSAGES_SENT", Kind::Int),
    nullable("MESSAGES_RECEIVED", Kind::Int),
    nullable("PAGE_FAULTS_MAJOR", Kind::Int),
    nullable("PAGE_FAULTS_MINOR", Kind::Int),
    nullable("SWAPS", Kind::Int),
    nullable("SOURCE_FUNCTION", Kind::Text(30)),
    nullable("SOURCE_FILE", Kind::Text(20)),
    nullable("SOURCE_LINE", Kind::Int),
];

const REFERENTIAL_CONSTRAINTS: &[Column] = &[
    column("CONSTRAINT_CATALOG", TEXT),
    column("CONSTRAINT_SCHEMA", Kind::Identifier),
    nullable("CONSTRAINT_NAME", TEXT),
    column("UNIQUE_CONSTRAINT_CATALOG", TEXT),
    column("UNIQUE_CONSTRAINT_SCHEMA", Kind::Identifier),
    nullable("UNIQUE_CONSTRAINT_NAME", TEXT),
    column("MATCH_OPTION", Kind::Text(7)),
    column("UPDATE_RULE", Kind::Text(11)),
    column("DELETE_RULE", Kind::Text(11)),
    column("TABLE_NAME", Kind::Identifier),
    column("REFERENCED_TABLE_NAME", Kind::Identifier),
];

const ROUTINES: &[Column] = &[
    column("SPECIFIC_NAME", TEXT),
    column("ROUTINE_CATALOG", TEXT),
    column("ROUTINE_SCHEMA", Kind::Identifier),
    column("ROUTINE_NAME", TEXT),
    column("ROUTINE_TYPE", Kind::Text(9)),
    nullable("DATA_TYPE", Kind::LongText(BlobSize::Long)),
    nullable("CHARACTER_MAXIMUM_LENGTH", Kind::BigInt),
    nullable("CHARACTER_OCTET_LENGTH", Kind::BigInt),
    nullable("NUMERIC_PRECISION", Kind::UnsignedInt),
    nullable("NUMERIC_SCALE", Kind::UnsignedInt),
    nullable("DATETIME_PRECISION", Kind::UnsignedInt),
    nullable("CHARACTER_SET_NAME", TEXT),
    nullable("COLLATION_NAME", TEXT),
    nullable("DTD_IDENTIFIER", Kind::LongText(BlobSize::Long)),
    column("ROUTINE_BODY", Kind::Text(8)),
    nullable("ROUTINE_DEFINITION", Kind::LongText(BlobSize::Long)),
    nullable("EXTERNAL_NAME", Kind::Text(0)),
    column("EXTERNAL_LANGUAGE", TEXT),
    column("PARAMETER_STYLE", Kind::Text(3)),
    column("IS_DETERMINISTIC", Kind::Text(3)),
    column("SQL_DATA_ACCESS", Kind::Text(17)),
    nullable("SQL_PATH", Kind::Text(0)),
    column("SECURITY_TYPE", Kind::Text(7)),
    column("CREATED", Kind::Timestamp),
    column("LAST_ALTERED", Kind::Timestamp),
    column("SQL_MODE", Kind::Text(1024)),
    column("ROUTINE_COMMENT", Kind::LongText(BlobSize::Normal)),
    column("DEFINER", Kind::Text(288)),
    column("CHARACTER_SET_CLIENT", TEXT),
    column("COLLATION_CONNECTION", TEXT),
    column("DATABASE_COLLATION", TEXT),
];

const SCHEMATA: &[Column] = &[
    column("CATALOG_NAME", TEXT),
    column("SCHEMA_NAME", Kind::Identifier),
    column("DEFAULT_CHARACTER_SET_NAME", TEXT),
    column("DEFAULT_COLLATION_NAME", TEXT),
    nullable("SQL_PATH", Kind::Text(0)),
    column("DEFAULT_ENCRYPTION", Kind::Text(3)),
];

const SCHEMA_PRIVILEGES: &[Column] = &[
    column("GRANTEE", Kind::Text(292)),
    column("TABLE_CATALOG", Kind::Text(512)),
    column("TABLE_SCHEMA", Kind::Identifier),
    column("PRIVILEGE_TYPE", TEXT),
    column("IS_GRANTABLE", Kind::Text(3)),
];

const STATISTICS: &[Column] = &[
    column("TABLE_CATALOG", TEXT),
    column("TABLE_SCHEMA", Kind::Identifier),
    column("TABLE_NAME", Kind::Identifier),
    column("NON_UNIQUE", Kind::Int),
    column("INDEX_SCHEMA", Kind::Identifier),
    nullable("INDEX_NAME", TEXT),
    column("SEQ_IN_INDEX", Kind::UnsignedInt),
    nullable("COLUMN_NAME", TEXT),
    nullable("COLLATION", Kind::Text(1)),
    nullable("CARDINALITY", Kind::BigInt),
    nullable("SUB_PART", Kind::BigInt),
    nullable("PACKED", Kind::Text(0)),
    column("NULLABLE", Kind::Text(3)),
    column("INDEX_TYPE", Kind::Text(11)),
    column("COMMENT", Kind::Text(8)),
    column("INDEX_COMMENT", Kind::Text(2048)),
    column("IS_VISIBLE", Kind::Text(3)),
    nullable("EXPRESSION", Kind::LongText(BlobSize::Long)),
];

const TABLE_COLUMNS: &[Column] = &[
    column("TABLE_CATALOG", TEXT),
    column("TABLE_SCHEMA", Kind::Identifier),
    column("TABLE_NAME", Kind::Identifier),
    column("TABLE_TYPE", Kind::Text(11)),
    nullable("ENGINE", TEXT),
    nullable("VERSION", Kind::Int),
    nullable("ROW_FORMAT", Kind::Text(10)),
    nullable("TABLE_ROWS", Kind::UnsignedBigInt),
    nullable("AVG_ROW_LENGTH", Kind::UnsignedBigInt),
    nullable("DATA_LENGTH", Kind::UnsignedBigInt),
    nullable("MAX_DATA_LENGTH", Kind::UnsignedBigInt),
    nullable("INDEX_LENGTH", Kind::UnsignedBigInt),
    nullable("DATA_FREE", Kind::UnsignedBigInt),
    nullable("AUTO_INCREMENT", Kind::UnsignedBigInt),
    nullable("CREATE_TIME", Kind::Timestamp),
    nullable("UPDATE_TIME", Kind::DateTime),
    nullable("CHECK_TIME", Kind::DateTime),
    nullable("TABLE_COLLATION", TEXT),
    nullable("CHECKSUM", Kind::BigInt),
    nullable("CREATE_OPTIONS", Kind::Text(256)),
    nullable("TABLE_COMMENT", Kind::LongText(BlobSize::Normal)),
];

const TABLE_CONSTRAINTS: &[Column] = &[
    column("CONSTRAINT_CATALOG", TEXT),
    column("CONSTRAINT_SCHEMA", Kind::Identifier),
    nullable("CONSTRAINT_NAME", TEXT),
    column("TABLE_SCHEMA", Kind::Identifier),
    column("TABLE_NAME", Kind::Identifier),
    column("CONSTRAINT_TYPE", Kind::Text(11)),
    column("ENFORCED", Kind::Text(3)),
];

const TABLE_PRIVILEGES: &[Column] = &[
    column("GRANTEE", Kind::Text(292)),
    column("TABLE_CATALOG", Kind::Text(512)),
    column("TABLE_SCHEMA", Kind::Identifier),
    column("TABLE_NAME", Kind::Identifier),
    column("PRIVILEGE_TYPE", TEXT),
    column("IS_GRANTABLE", Kind::Text(3)),
];

const TRIGGERS: &[Column] = &[
    column("TRIGGER_CATALOG", TEXT),
    column("TRIGGER_SCHEMA", Kind::Identifier),
    column("TRIGGER_NAME", TEXT),
    column("EVENT_MANIPULATION", Kind::Text(6)),
    column("EVENT_OBJECT_CATALOG", TEXT),
    column("EVENT_OBJECT_SCHEMA", Kind::Identifier),
    column("EVENT_OBJECT_TABLE", Kind::Identifier),
    column("ACTION_ORDER", Kind::UnsignedInt),
    nullable("ACTION_CONDITION", Kind::Text(0)),
    column("ACTION_STATEMENT", Kind::LongText(BlobSize::Long)),
    column("ACTION_ORIENTATION", Kind::Text(3)),
    column("ACTION_TIMING", Kind::Text(6)),
    nullable("ACTION_REFERENCE_OLD_TABLE", Kind::Text(0)),
    nullable("ACTION_REFERENCE_NEW_TABLE", Kind::Text(0)),
    column("ACTION_REFERENCE_OLD_ROW", Kind::Text(3)),
    column("ACTION_REFERENCE_NEW_ROW", Kind::Text(3)),
    column("CREATED", Kind::Timestamp),
    column("SQL_MODE", Kind::Text(1024)),
    column("DEFINER", Kind::Text(288)),
    column("CHARACTER_SET_CLIENT", TEXT),
    column("COLLATION_CONNECTION", TEXT),
    column("DATABASE_COLLATION", TEXT),
];

const USER_PRIVILEGES: &[Column] = &[
    column("GRANTEE", Kind::Text(292)),
    column("TABLE_CATALOG", Kind::Text(512)),
    column("PRIVILEGE_TYPE", TEXT),
    column("IS_GRANTABLE", Kind::Text(3)),
];

const VIEWS: &[Column] = &[
    column("TABLE_CATALOG", TEXT),
    column("TABLE_SCHEMA", Kind::Identifier),
    column("TABLE_NAME", Kind::Identifier),
    nullable("VIEW_DEFINITION", Kind::LongText(BlobSize::Long)),
    nullable("CHECK_OPTION", Kind::Text(8)),
    nullable("IS_UPDATABLE", Kind::Text(3)),
    nullable("DEFINER", Kind::Text(288)),
    nullable("SECURITY_TYPE", Kind::Text(7)),
    column("CHARACTER_SET_CLIENT", TEXT),
    column("COLLATION_CONNECTION", TEXT),
];

const ACCOUNT: Kind = Kind::Text(97);
const ACCOUNT_HOST: Kind = Kind::Text(256);

const ROLES: &[Column] = &[
    nullable("USER", ACCOUNT),
    nullable("HOST", ACCOUNT_HOST),
    nullable("GRANTEE", ACCOUNT),
    nullable("GRANTEE_HOST", ACCOUNT_HOST),
    nullable("ROLE_NAME", Kind::Text(255)),
    nullable("ROLE_HOST", Kind::Text(256)),
    column("IS_GRANTABLE", Kind::Text(3)),
    nullable("IS_DEFAULT", Kind::Text(3)),
    column("IS_MANDATORY", Kind::Text(3)),
];

const ENABLED_ROLES: &[Column] = &[
    nullable("ROLE_NAME", Kind::Text(255)),
    nullable("ROLE_HOST", Kind::Text(255)),
    nullable("IS_DEFAULT", Kind::Text(3)),
    column("IS_MANDATORY", Kind::Text(3)),
];

const ROLE_TABLE_GRANTS: &[Column] = &[
    nullable("GRANTOR", ACCOUNT),
    nullable("GRANTOR_HOST", ACCOUNT_HOST),
    column("GRANTEE", Kind::Text(32)),
    column("GRANTEE_HOST", Kind::Text(255)),
    column("TABLE_CATALOG", Kind::Text(3)),
    column("TABLE_SCHEMA", Kind::Identifier),
    column("TABLE_NAME", Kind::Identifier),
    column("PRIVILEGE_TYPE", TEXT),
    column("IS_GRANTABLE", Kind::Text(3)),
];

const ROLE_COLUMN_GRANTS: &[Column] = &[
    nullable("GRANTOR", ACCOUNT),
    nullable("GRANTOR_HOST", ACCOUNT_HOST),
    column("GRANTEE", Kind::Text(32)),
    column("GRANTEE_HOST", Kind::Text(255)),
    column("TABLE_CATALOG", Kind::Text(3)),
    column("TABLE_SCHEMA", Kind::Identifier),
    column("TABLE_NAME", Kind::Identifier),
    column("COLUMN_NAME", TEXT),
    column("PRIVILEGE_TYPE", TEXT),
    column("IS_GRANTABLE", Kind::Text(3)),
];

const ROLE_ROUTINE_GRANTS: &[Column] = &[
    nullable("GRANTOR", ACCOUNT),
    nullable("GRANTOR_HOST", ACCOUNT_HOST),
    column("GRANTEE", Kind::Text(32)),
    column("GRANTEE_HOST", Kind::Text(255)),
    column("SPECIFIC_CATALOG", Kind::Text(3)),
    column("SPECIFIC_SCHEMA", Kind::Identifier),
    column("SPECIFIC_NAME", TEXT),
    column("ROUTINE_CATALOG", Kind::Text(3)),
    column("ROUTINE_SCHEMA", Kind::Identifier),
    column("ROUTINE_NAME", TEXT),
    column("PRIVILEGE_TYPE", TEXT),
    column("IS_GRANTABLE", Kind::Text(3)),
];
