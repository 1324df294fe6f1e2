//! Rows about accounts: SHOW CREATE USER and `mysql.user`.
//!
//! Invariant: verifiers are shown only to accounts that may read `mysql.user`.

use super::mysql::USER;
use super::pruning::Pruning;
use super::virtual_tables::{Column, Kind, text};
use super::{ShowContext, grants};
use crate::variables::Scope;
use protocol::SqlError;
use std::fmt::Write as _;
use types::{
    Date, DateTime, Interval, PasswordLifetime, PasswordLockTime, Privileges, RequiredSecurity, User, Value,
};

/// The text in place of a verifier.
const HIDDEN: &str = "<secret>";

/// Whether the session may see verifiers, and other accounts.
fn sees_accounts(context: &ShowContext<'_>) -> bool {
    context.privileges.on_table("mysql", "user").has(Privileges::SELECT)
}

/// SHOW CREATE USER.
pub(super) fn create_user(
    context: &ShowContext<'_>,
    account: Option<&(String, String)>,
) -> Result<Vec<Vec<Value>>, SqlError> {
    let (name, host) = account.map_or(context.account, |(name, host)| (name, host));
    let sees_all = sees_accounts(context);
    if !sees_all && (name, host) != context.account {
        let (own, from) = context.account;
        let message = format!("Access denied for user '{own}'@'{from}' to database 'mysql'");
        return Err(SqlError::new(1044, message));
    }
    let Some(user) = context.schema.user(name, host) else {
        return Err(SqlError::new(1396, format!("Operation SHOW CREATE USER failed for '{name}'@'{host}'")));
    };
    let as_hex = context.variables.get("print_identified_with_as_hex", Scope::Session);
    let as_hex = as_hex.is_some_and(|(value, _)| matches!(value, Value::Int(1) | Value::UInt(1)));
    let verifier = if sees_all { shown_verifier(&user.verifier, as_hex) } else { format!("'{HIDDEN}'") };
    Ok(vec![vec![text(&statement(user, &verifier))]])
}

/// A verifier as a literal: in hexadecimal if asked for, or if it cannot be shown as text.
fn shown_verifier(verifier: &[u8], as_hex: bool) -> String {
    match std::str::from_utf8(verifier) {
        Ok(text) if !as_hex => format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'")),
        _ => format!("0x{}", verifier.iter().map(|byte| format!("{byte:02X}")).collect::<String>()),
    }
}

/// The statement that makes this account again.
fn statement(user: &User, verifier: &str) -> String {
    let attributes = &user.attributes;
    let quoted = |name: &str| name.replace('`', "``");
    let mut statement = format!(
        "CREATE USER `{}`@`{}` IDENTIFIED WITH '{}'",
        quoted(&user.name),
        quoted(&user.host),
        user.plugin
    );
    let mut add = |part: String| {
        // Writing to a String does not fail.
        let _ = write!(statement, " {part}");
    };
    if !user.verifier.is_empty() {
        add(format!("AS {verifier}"));
    }
    add(match attributes.security {
        RequiredSecurity::None => "REQUIRE NONE".to_owned(),
        RequiredSecurity::Ssl => "REQUIRE SSL".to_owned(),
    });
    let limits = attributes.limits;
    let limits = [
        ("MAX_QUERIES_PER_HOUR", limits.queries_per_hour),
        ("MAX_UPDATES_PER_HOUR", limits.updates_per_hour),
        ("MAX_CONNECTIONS_PER_HOUR", limits.connections_per_hour),
        ("MAX_USER_CONNECTIONS", limits.user_connections),
    ];
    let set: Vec<String> = limits
        .iter()
        .filter(|(_, limit)| *limit > 0)
        .map(|(name, limit)| format!("{name} {limit}"))
        .collect();
    if !set.is_empty() {
        add(format!("WITH {}", set.join(" ")));
    }
    add(match attributes.password_lifetime {
        _ if attributes.is_password_expired => "PASSWORD EXPIRE".to_owned(),
        PasswordLifetime::Default => "PASSWORD EXPIRE DEFAULT".to_owned(),
        PasswordLifetime::Never => "PASSWORD EXPIRE NEVER".to_owned(),
        PasswordLifetime::Days(days) => format!("PASSWORD EXPIRE INTERVAL {days} DAY"),
    });
    add(format!("ACCOUNT {}", if attributes.is_locked { "LOCK" } else { "UNLOCK" }));
    add("PASSWORD HISTORY DEFAULT PASSWORD REUSE INTERVAL DEFAULT PASSWORD REQUIRE CURRENT DEFAULT"
        .to_owned());
    if attributes.failed_login_attempts > 0 || attributes.password_lock_time != PasswordLockTime::default() {
        let time = match attributes.password_lock_time {
            PasswordLockTime::Days(days) => days.to_string(),
            PasswordLockTime::Unbounded => "UNBOUNDED".to_owned(),
        };
        let attempts = attributes.failed_login_attempts;
        add(format!("FAILED_LOGIN_ATTEMPTS {attempts} PASSWORD_LOCK_TIME {time}"));
    }
    if let Some(metadata) = &attributes.metadata {
        add(format!("ATTRIBUTE '{}'", metadata.replace('\\', "\\\\").replace('\'', "\\'")));
    }
    statement
}

/// `mysql.user`.
pub(super) fn users(context: &ShowContext<'_>, _: &Pruning<'_>) -> Vec<Vec<Value>> {
    let sees_all = sees_accounts(context);
    let row = |user: &User| {
        let global = grants::global_of(context, user);
        USER.iter().map(|column| user_value(user, global, column, sees_all)).collect()
    };
    context.schema.users.iter().map(row).collect()
}

fn user_value(user: &User, global: Privileges, column: &Column, sees_verifiers: bool) -> Value {
    let attributes = &user.attributes;
    let flag = |is_set| text(if is_set { "Y" } else { "N" });
    match column.name {
        "Host" => text(&user.host),
        "User" => text(&user.name),
        "plugin" => text(&user.plugin),
        "authentication_string" if !sees_verifiers && !user.verifier.is_empty() => text(HIDDEN),
        "authentication_string" => text(&String::from_utf8_lossy(&user.verifier)),
        "ssl_type" if attributes.security == RequiredSecurity::Ssl => text("ANY"),
        "max_questions" => Value::UInt(attributes.limits.queries_per_hour.into()),
        "max_updates" => Value::UInt(attributes.limits.updates_per_hour.into()),
        "max_connections" => Value::UInt(attributes.limits.connections_per_hour.into()),
        "max_user_connections" => Value::UInt(attributes.limits.user_connections.into()),
        "password_expired" => flag(attributes.is_password_expired),
        "password_last_changed" if attributes.password_changed_s > 0 => {
            date_of(attributes.password_changed_s).map_or(Value::Null, Value::DateTime)
        }
        "password_lifetime" => match attributes.password_lifetime {
            PasswordLifetime::Default => Value::Null,
            PasswordLifetime::Never => Value::UInt(0),
            PasswordLifetime::Days(days) => Value::UInt(days.into()),
        },
        "account_locked" => flag(attributes.is_locked),
        "User_attributes" => user_attributes(user),
        privilege if privilege.ends_with("_priv") => grants::flag(global, privilege),
        _ if column.nullable => Value::Null,
        _ if column.kind == Kind::UnsignedInt => Value::UInt(0),
        _ => text(""),
    }
}

/// A moment in seconds since 1970.
fn date_of(seconds: u64) -> Option<DateTime> {
    let microseconds = i64::try_from(seconds).ok()?.checked_mul(1_000_000)?;
    let epoch = Date::new(1970, 1, 1)?.at_midnight();
    epoch.add_interval(Interval { months: 0, days: 0, microseconds })
}

/// The attributes of an account that MySQL keeps there.
fn user_attributes(user: &User) -> Value {
    let attributes = &user.attributes;
    let metadata = attributes.metadata.as_ref().map(|metadata| format!("\"metadata\": {metadata}"));
    if attributes.failed_login_attempts == 0 {
        return metadata.map_or(Value::Null, |metadata| text(&format!("{{{metadata}}}")));
    }
    let days = match attributes.password_lock_time {
        PasswordLockTime::Days(days) => i32::from(days),
        PasswordLockTime::Unbounded => -1,
    };
    let attempts = attributes.failed_login_attempts;
    let locking = format!(
        r#""Password_locking": {{"failed_login_attempts": {attempts}, "password_lock_time_days": {days}}}"#
    );
    let members: Vec<String> = metadata.into_iter().chain([locking]).collect();
    text(&format!("{{{}}}", members.join(", ")))
}
