//! The errors of DDL: MySQL's numbers and texts, each in one place.

use crate::TableName;
use crate::show::ENGINE;
use protocol::SqlError;

/// Characters of a database, table, column or index name.
pub(crate) const NAME_CHARACTERS_MAX: usize = 64;
/// Bytes of a key, as InnoDB counts them (4 per character).
pub(crate) const KEY_BYTES_MAX: u64 = 3_072;

macro_rules! errors {
    ($($(#[$meta:meta])* $name:ident($($argument:ident: $type:ty),*) = $code:literal $text:literal $(, $value:expr)*;)*) => {$(
        $(#[$meta])*
        pub(crate) fn $name($($argument: $type),*) -> SqlError {
            SqlError::new($code, format!($text $(, $value)*))
        }
    )*};
}

errors! {
    database_exists(name: &str) = 1007 "Can't create database '{name}'; database exists";
    database_does_not_exist(name: &str) = 1008 "Can't drop database '{name}'; database doesn't exist";
    unknown_database(name: &str) = 1049 "Unknown database '{name}'";
    reserved_database(name: &str) = 3552 "Access to system schema '{name}' is rejected.";
    table_exists(name: &str) = 1050 "Table '{name}' already exists";
    unknown_table(names: &str) = 1051 "Unknown table '{names}'";
    not_view(table: &TableName) = 1347 "'{table}' is not VIEW";
    not_base_table(table: &TableName) = 1347 "'{table}' is not BASE TABLE";
    no_such_table(table: &TableName) = 1146 "Table '{table}' doesn't exist";
    name_too_long(name: &str) = 1059 "Identifier name '{name}' is too long";
    wrong_database_name(name: &str) = 1102 "Incorrect database name '{name}'";
    wrong_table_name(name: &str) = 1103 "Incorrect table name '{name}'";
    wrong_column_name(name: &str) = 1166 "Incorrect column name '{name}'";
    wrong_index_name(name: &str) = 1280 "Incorrect index name '{name}'";
    comment_too_long(of: &str, limit: usize) = 1629 "Comment for {of} is too long (max = {limit})";
    table_comment_too_long(table: &str, limit: usize) = 1628 "Comment for table '{table}' is too long (max = {limit})";
    wrong_modifier(option: &str) =
        1478 "Table storage engine '{ENGINE}' does not support the create option 'NDB_TABLE={option}'";

    no_columns() = 1113 "A table must have at least 1 column";
    too_many_columns() = 1117 "Too many columns";
    duplicate_column(name: &str) = 1060 "Duplicate column name '{name}'";
    unknown_column(name: &str, table: &str) = 1054 "Unknown column '{name}' in '{table}'";
    column_too_long(name: &str, limit: u32) =
        1074 "Column length too big for column '{name}' (max = {limit}); use BLOB or TEXT instead";
    precision_too_big(name: &str, precision: u8, limit: u8) =
        1426 "Too-big precision {precision} specified for '{name}'. Maximum is {limit}.";
    scale_too_big(name: &str, scale: u8, limit: u8) =
        1425 "Too big scale {scale} specified for column '{name}'. Maximum is {limit}.";
    scale_above_precision(name: &str) =
        1427 "For float(M,D), double(M,D) or decimal(M,D), M must be >= D (column '{name}').";
    width_out_of_range(name: &str, limit: u8) = 1439 "Display width out of range for column '{name}' (max = {limit})";
    invalid_size(name: &str) = 3013 "Invalid size for column '{name}'.";
    duplicate_member(name: &str, member: &str, of: &str) = 1291 "Column '{name}' has duplicated value '{member}' in {of}";
    too_many_members(name: &str) = 1097 "Too many strings for column {name} and SET";
    member_too_long(name: &str) = 3505 "Too long enumeration/set value for column {name}.";
    illegal_set_member(member: &str) = 1367 "Illegal set '{member}' value found during parsing";
    wrong_column_specifier(name: &str) = 1063 "Incorrect column specifier for column '{name}'";
    invalid_default(name: &str) = 1067 "Invalid default value for '{name}'";
    blob_default(name: &str) = 1101 "BLOB, TEXT, GEOMETRY or JSON column '{name}' can't have a default value";
    invalid_on_update(name: &str) = 1294 "Invalid ON UPDATE clause for '{name}' column";

    duplicate_key_name(name: &str) = 1061 "Duplicate key name '{name}'";
    two_primary_keys() = 1068 "Multiple primary key defined";
    too_many_keys(limit: usize) = 1069 "Too many keys specified; max {limit} keys allowed";
    too_many_key_parts(limit: usize) = 1070 "Too many key parts specified; max {limit} parts allowed";
    key_too_long() = 1071 "Specified key was too long; max key length is 3072 bytes";
    key_column_missing(name: &str) = 1072 "Key column '{name}' doesn't exist in table";
    wrong_auto_column() =
        1075 "Incorrect table definition; there can be only one auto column and it must be defined as a key";
    wrong_prefix() = 1089 "Incorrect prefix key; the used key part isn't a string, the used length is longer than the \
key part, or the storage engine doesn't support unique prefix keys";
    zero_prefix(name: &str) = 1391 "Key part '{name}' length cannot be 0";
    blob_key_without_length(name: &str) =
        1170 "BLOB/TEXT column '{name}' used in key specification without a key length";
    json_key(name: &str) =
        3152 "JSON column '{name}' supports indexing only via generated columns on a specified JSON path.";
    nullable_primary_key() =
        1171 "All parts of a PRIMARY KEY must be NOT NULL; if you need NULL in a key, use UNIQUE instead";
    definition_changed() = 1412 "Table definition has changed, please retry transaction";
    duplicate_check(name: &str) = 3822 "Duplicate check constraint name '{name}'.";
    no_such_check(name: &str) = 3821 "Check constraint '{name}' is not found in the table.";
    no_such_constraint(name: &str) = 3940 "Constraint '{name}' does not exist.";
    check_depends(check: &str, name: &str) = 3959 "Check constraint '{check}' uses column '{name}', hence column cannot \
be dropped or renamed.";
    generated_depends(name: &str) = 3108 "Column '{name}' has a generated column dependency.";
    generated_order() = 3107 "Generated column can refer only to generated columns defined prior to it.";
    cannot_drop_all() = 1090 "You can't delete all columns with ALTER TABLE; use DROP TABLE instead";
    default_depends(name: &str, table: &str) = 3774 "Column '{name}' of table '{table}' has a default value expression \
dependency and cannot be dropped or renamed.";
    cannot_drop(name: &str) = 1091 "Can't DROP '{name}'; check that column/key exists";
    no_such_key(name: &str, table: &str) = 1176 "Key '{name}' doesn't exist in table '{table}'";

    user_operation_failed(operation: &str, users: &str) = 1396 "Operation {operation} failed for {users}";
    last_administrator(operation: &str, users: &str) =
        1396 "Operation {operation} failed for {users}: no other account may administer";
    user_exists(user: &crate::UserName) = 3163 "Authorization ID {user} already exists.";
    user_does_not_exist(user: &crate::UserName) = 3162 "Authorization ID {user} does not exist.";
    user_part_too_long(part: &str, of: &str, limit: usize) =
        1470 "String '{part}' is too long for {of} (should be no longer than {limit})";
    no_such_grant(user: &crate::UserName) =
        1141 "There is no such grant defined for user '{}' on host '{}'", user.name, user.host;
    no_such_table_grant(user: &crate::UserName, table: &str) =
        1147 "There is no such grant defined for user '{}' on host '{}' on table '{table}'", user.name, user.host;
    cannot_revoke_all() = 1269 "Can't revoke all privileges for one or more of the requested users";
    cannot_create_user_with_grant() = 1410 "You are not allowed to create a user with GRANT";
    unknown_authorization_id(user: &crate::UserName) = 3523 "Unknown authorization ID {}", user.quoted();
    role_not_granted(role: &crate::UserName, user: &crate::UserName) =
        3530 "{} is not granted to {}", role.quoted(), user.quoted();
    mandatory_role(role: &crate::UserName) = 3628 "The role {} is a mandatory role and can't be revoked or dropped. \
The restriction can be lifted by excluding the role identifier from the global variable mandatory_roles.", role.quoted();
    role_granted_to_itself(user: &crate::UserName, role: &crate::UserName) =
        4027 "User account {} is directly or indirectly granted to the role {}. The GRANT would create a loop",
        user.quoted(), role.quoted();
    invalid_user_attribute() = 3140 "Invalid JSON text: the attribute of an account must be an object.";
    unknown_plugin(plugin: &str) = 1524 "Plugin '{plugin}' is not loaded";
}

const _: () = assert!(KEY_BYTES_MAX == 3_072, "the text of 1071 names the limit");

/// The kind of thing that a name names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Named {
    Database,
    Table,
    Column,
    Index,
    Constraint,
}

/// Refuses names that are empty, end with a space, hold a NUL, or are longer than 64 characters. Constraints may have
/// names that end with a space.
pub(crate) fn check_name(name: &str, of: Named) -> Result<(), SqlError> {
    if name.chars().count() > NAME_CHARACTERS_MAX {
        return Err(name_too_long(name));
    }
    let has_wrong_end = name.ends_with(' ') && of != Named::Constraint;
    if name.is_empty() || has_wrong_end || name.contains('\0') {
        return Err(match of {
            Named::Database => wrong_database_name(name),
            Named::Table => wrong_table_name(name),
            Named::Column => wrong_column_name(name),
            Named::Index | Named::Constraint => wrong_index_name(name),
        });
    }
    Ok(())
}
