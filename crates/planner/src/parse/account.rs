//! CREATE, ALTER, DROP and RENAME USER, SET PASSWORD: everything about accounts but their privileges.

use super::ddl::{if_exists, if_not_exists};
use crate::cursor::Cursor;
use crate::statement::{Account, AccountWithPassword, DdlStatement, Statement};
use catalogue::{AccountOptions, Authentication, Credential, MetadataOption, Secret};
use protocol::SqlError;
use sqlparser::tokenizer::Token;
use types::{PasswordLifetime, PasswordLockTime, RequiredSecurity};

/// Behind CREATE USER.
pub(super) fn create(cursor: &mut Cursor<'_>) -> Result<DdlStatement, SqlError> {
    let if_not_exists = if_not_exists(cursor)?;
    let users = cursor.list(account_with_password)?;
    let options = account_options(cursor)?;
    Ok(DdlStatement::CreateUsers { users, options: Box::new(options), if_not_exists })
}

/// Behind ALTER USER.
pub(super) fn alter(cursor: &mut Cursor<'_>) -> Result<DdlStatement, SqlError> {
    let if_exists = if_exists(cursor)?;
    if let Some(statement) = alter_default_role(cursor)? {
        return Ok(statement);
    }
    let users = cursor.list(account_with_password)?;
    let options = account_options(cursor)?;
    Ok(DdlStatement::AlterUsers { users, options: Box::new(options), if_exists })
}

/// `account DEFAULT ROLE roles`, which stands alone in ALTER USER.
fn alter_default_role(cursor: &mut Cursor<'_>) -> Result<Option<DdlStatement>, SqlError> {
    if !cursor.mentions("DEFAULT", &["ROLE"]) {
        return Ok(None);
    }
    let account = cursor.account()?;
    cursor.expect_words("DEFAULT ROLE")?;
    let roles = super::grant::default_roles(cursor)?;
    Ok(Some(DdlStatement::SetDefaultRoles { accounts: vec![account], roles }))
}

/// Behind DROP USER.
pub(super) fn drop(cursor: &mut Cursor<'_>) -> Result<DdlStatement, SqlError> {
    let if_exists = if_exists(cursor)?;
    Ok(DdlStatement::DropUsers { users: cursor.list(Cursor::account)?, if_exists })
}

/// Behind RENAME USER.
pub(super) fn rename(cursor: &mut Cursor<'_>) -> Result<DdlStatement, SqlError> {
    let renames = cursor.list(|cursor| {
        let from = cursor.account()?;
        cursor.expect_words("TO")?;
        Ok((from, cursor.account()?))
    })?;
    Ok(DdlStatement::RenameUsers(renames))
}

/// `SET PASSWORD [FOR account] = 'text'`, behind PASSWORD.
pub(super) fn set_password(cursor: &mut Cursor<'_>) -> Result<Statement, SqlError> {
    let account = if cursor.take_words("FOR") { cursor.account()? } else { Account::Current };
    if cursor.take_words("TO RANDOM") {
        return Err(SqlError::unsupported("SET PASSWORD TO RANDOM"));
    }
    cursor.expect(&Token::Eq)?;
    let credential = Credential::Password(Secret(cursor.text_literal()?));
    refuse_second_passwords(cursor)?;
    let authentication = Some(Authentication { plugin: None, credential });
    let user = AccountWithPassword { account, authentication };
    Ok(Statement::Ddl(Box::new(DdlStatement::SetPassword(user))))
}

/// `account [IDENTIFIED [WITH plugin] [BY 'text' | AS 'verifier']]`.
fn account_with_password(cursor: &mut Cursor<'_>) -> Result<AccountWithPassword, SqlError> {
    let account = cursor.account()?;
    if !cursor.take_words("IDENTIFIED") {
        return Ok(AccountWithPassword { account, authentication: None });
    }
    let plugin = if cursor.take_words("WITH") { Some(cursor.identifier_or_text()?) } else { None };
    let credential = if cursor.take_words("BY") {
        if cursor.take_words("RANDOM PASSWORD") {
            return Err(SqlError::unsupported("IDENTIFIED BY RANDOM PASSWORD"));
        }
        Credential::Password(Secret(cursor.text_literal()?))
    } else if plugin.is_none() {
        return Err(cursor.unexpected());
    } else if cursor.take_words("AS") {
        Credential::Stored(match cursor.next() {
            Token::SingleQuotedString(text) => text.into_bytes(),
            Token::HexStringLiteral(digits) => crate::lexer::hex_bytes(&digits).unwrap_or_default(),
            _ => return Err(cursor.unexpected()),
        })
    } else {
        Credential::None
    };
    refuse_second_passwords(cursor)?;
    Ok(AccountWithPassword { account, authentication: Some(Authentication { plugin, credential }) })
}

fn refuse_second_passwords(cursor: &Cursor<'_>) -> Result<(), SqlError> {
    if cursor.is_word("REPLACE") || cursor.are_words("RETAIN CURRENT PASSWORD") || cursor.is_word("AND") {
        return Err(SqlError::unsupported("REPLACE, RETAIN CURRENT PASSWORD and several factors"));
    }
    Ok(())
}

/// The options behind the accounts.
fn account_options(cursor: &mut Cursor<'_>) -> Result<AccountOptions, SqlError> {
    let mut options = AccountOptions::default();
    if cursor.take_words("REQUIRE") {
        options.security = Some(required_security(cursor)?);
    }
    if cursor.take_words("WITH") {
        if !resource_limit(cursor, &mut options)? {
            return Err(cursor.unexpected());
        }
        while resource_limit(cursor, &mut options)? {}
    }
    while password_or_lock_option(cursor, &mut options)? {}
    if cursor.take_words("COMMENT") {
        options.metadata = Some(MetadataOption::Comment(cursor.text_literal()?));
    } else if cursor.take_words("ATTRIBUTE") {
        options.metadata = Some(MetadataOption::Attribute(cursor.text_literal()?));
    }
    for missing in ["DEFAULT ROLE", "DISCARD OLD PASSWORD"] {
        if cursor.are_words(missing) {
            return Err(SqlError::unsupported(&format!("account option {missing}")));
        }
    }
    Ok(options)
}

fn required_security(cursor: &mut Cursor<'_>) -> Result<RequiredSecurity, SqlError> {
    match cursor.take_one_of(&["NONE", "SSL", "X509", "CIPHER", "ISSUER", "SUBJECT"]) {
        Some("NONE") => Ok(RequiredSecurity::None),
        Some("SSL") => Ok(RequiredSecurity::Ssl),
        // The server asks no client for a certificate.
        Some(word) => Err(SqlError::unsupported(&format!("REQUIRE {word}"))),
        None => Err(cursor.unexpected()),
    }
}

fn resource_limit(cursor: &mut Cursor<'_>, options: &mut AccountOptions) -> Result<bool, SqlError> {
    let limit = match cursor.take_one_of(&[
        "MAX_QUERIES_PER_HOUR",
        "MAX_UPDATES_PER_HOUR",
        "MAX_CONNECTIONS_PER_HOUR",
        "MAX_USER_CONNECTIONS",
    ]) {
        Some("MAX_QUERIES_PER_HOUR") => &mut options.queries_per_hour,
        Some("MAX_UPDATES_PER_HOUR") => &mut options.updates_per_hour,
        Some("MAX_CONNECTIONS_PER_HOUR") => &mut options.connections_per_hour,
        Some(_) => &mut options.user_connections,
        None => return Ok(false),
    };
    *limit = Some(u32::try_from(cursor.integer()?).unwrap_or(u32::MAX));
    Ok(true)
}

fn password_or_lock_option(cursor: &mut Cursor<'_>, options: &mut AccountOptions) -> Result<bool, SqlError> {
    if cursor.take_words("ACCOUNT LOCK") {
        options.is_locked = Some(true);
    } else if cursor.take_words("ACCOUNT UNLOCK") {
        options.is_locked = Some(false);
    } else if cursor.take_words("PASSWORD EXPIRE") {
        expiry(cursor, options)?;
    } else if cursor.take_words("FAILED_LOGIN_ATTEMPTS") {
        options.failed_login_attempts = Some(small_number(cursor)?);
    } else if cursor.take_words("PASSWORD_LOCK_TIME") {
        let is_unbounded = cursor.take_words("UNBOUNDED");
        options.password_lock_time = Some(match is_unbounded {
            true => PasswordLockTime::Unbounded,
            false => PasswordLockTime::Days(small_number(cursor)?),
        });
    } else if cursor.take_words("PASSWORD HISTORY DEFAULT")
        || cursor.take_words("PASSWORD REUSE INTERVAL DEFAULT")
        || cursor.take_words("PASSWORD REQUIRE CURRENT DEFAULT")
        || cursor.take_words("PASSWORD REQUIRE CURRENT OPTIONAL")
    {
        // The defaults are that nothing is asked for.
    } else if cursor.is_word("PASSWORD") {
        return Err(SqlError::unsupported("PASSWORD HISTORY, REUSE and REQUIRE CURRENT"));
    } else {
        return Ok(false);
    }
    Ok(true)
}

fn expiry(cursor: &mut Cursor<'_>, options: &mut AccountOptions) -> Result<(), SqlError> {
    if cursor.take_words("DEFAULT") {
        options.password_lifetime = Some(PasswordLifetime::Default);
    } else if cursor.take_words("NEVER") {
        options.password_lifetime = Some(PasswordLifetime::Never);
    } else if cursor.take_words("INTERVAL") {
        let written = cursor.integer()?;
        let days = u16::try_from(written).ok().filter(|days| *days > 0);
        let wrong = || SqlError::new(1525, format!("Incorrect DAY value: '{written}'"));
        options.password_lifetime = Some(PasswordLifetime::Days(days.ok_or_else(wrong)?));
        cursor.expect_words("DAY")?;
    } else {
        options.expires_now = true;
    }
    Ok(())
}

/// The numbers of FAILED_LOGIN_ATTEMPTS and PASSWORD_LOCK_TIME end at 32767.
fn small_number(cursor: &mut Cursor<'_>) -> Result<u16, SqlError> {
    let unexpected = cursor.unexpected();
    u16::try_from(cursor.integer()?).ok().filter(|number| *number <= 32_767).ok_or(unexpected)
}
