//! Accounts: their names, what proves them, and what they are held to, as MySQL 8 has them.
//!
//! A role is an account too: a locked one without a password.
//!
//! In a host pattern `%` stands for any characters and `_` for one. A pattern of IPv4 addresses may be a network:
//! `10.1.0.0/16`, or `10.1.0.0/255.255.0.0`.
//!
//! Deliberately not here: privileges; how verifiers are made and checked.

use std::net::Ipv4Addr;
use wire_derive::Wire;

/// An account.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct User {
    /// Name; empty for an anonymous account.
    pub name: String,
    /// Host pattern: `%`, `localhost`, an address, a network.
    pub host: String,
    /// `caching_sha2_password` or `mysql_native_password`.
    pub plugin: String,
    /// The stored verifier, as the plugin defines it; empty if there is no password.
    #[wire(bytes)]
    pub verifier: Vec<u8>,
    /// All else.
    #[wire(since = 5)]
    pub attributes: AccountAttributes,
}

impl User {
    /// An account with this name and host pattern, without a password and without attributes.
    #[must_use]
    pub fn new(name: impl Into<String>, host: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            host: host.into(),
            plugin: "caching_sha2_password".to_owned(),
            verifier: Vec::new(),
            attributes: AccountAttributes::default(),
        }
    }
}

/// The demands on an account, besides its password and its privileges.
#[derive(Clone, PartialEq, Eq, Debug, Default, Wire)]
pub struct AccountAttributes {
    /// ACCOUNT LOCK: nobody can connect as this account.
    pub is_locked: bool,
    /// PASSWORD EXPIRE: sessions can only set a new password.
    pub is_password_expired: bool,
    /// When the password was set, in seconds since 1970; 0 if that is not known.
    pub password_changed_s: u64,
    /// PASSWORD EXPIRE INTERVAL: how long a password is good.
    pub password_lifetime: PasswordLifetime,
    /// REQUIRE.
    pub security: RequiredSecurity,
    /// WITH MAX_…: counted per node.
    pub limits: ResourceLimits,
    /// Raised by what makes every node forget the wrong passwords that it has counted: ACCOUNT UNLOCK, and new values
    /// of the next two.
    pub login_resets: u32,
    /// FAILED_LOGIN_ATTEMPTS: so many wrong passwords in a row lock the account at a node; 0: never.
    pub failed_login_attempts: u16,
    /// PASSWORD_LOCK_TIME: for how long.
    pub password_lock_time: PasswordLockTime,
    /// ATTRIBUTE and COMMENT: the text of a JSON object.
    pub metadata: Option<String>,
}

/// How long a password is good.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Wire)]
pub enum PasswordLifetime {
    /// As `default_password_lifetime` says.
    #[default]
    Default,
    /// For ever.
    Never,
    /// For so many days, at least one.
    Days(u16),
}

/// How long an account stays locked after too many wrong passwords.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub enum PasswordLockTime {
    /// So many days; 0: it is never locked.
    Days(u16),
    /// Until somebody unlocks it.
    Unbounded,
}

impl Default for PasswordLockTime {
    fn default() -> Self {
        Self::Days(0)
    }
}

/// The security that REQUIRE demands of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Wire)]
pub enum RequiredSecurity {
    /// Nothing.
    #[default]
    None,
    /// TLS.
    Ssl,
}

/// How much an account may do; 0: without a limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Wire)]
pub struct ResourceLimits {
    /// MAX_QUERIES_PER_HOUR.
    pub queries_per_hour: u32,
    /// MAX_UPDATES_PER_HOUR: statements that change something.
    pub updates_per_hour: u32,
    /// MAX_CONNECTIONS_PER_HOUR.
    pub connections_per_hour: u32,
    /// MAX_USER_CONNECTIONS: connections at one time.
    pub user_connections: u32,
}

/// How specific a host pattern is; of the accounts that match a client, the most specific one is taken.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum HostSpecificity {
    /// The empty pattern matches every host.
    Empty,
    /// So many bytes stand before the first wildcard.
    Wildcards(usize),
    /// A network with a mask of so many bits.
    Netmask(u32),
    /// A network with a prefix of so many bits.
    Prefix(u32),
    /// One host.
    Literal,
}

impl HostSpecificity {
    pub(crate) fn of(pattern: &str) -> Self {
        if pattern.is_empty() {
            return Self::Empty;
        }
        if let Some((_, mask)) = network(pattern) {
            let is_prefix = pattern.rsplit('/').next().is_some_and(|prefix| !prefix.contains('.'));
            return if is_prefix {
                Self::Prefix(mask.count_ones())
            } else {
                Self::Netmask(mask.count_ones())
            };
        }
        pattern.find(['%', '_']).map_or(Self::Literal, Self::Wildcards)
    }
}

/// Whether a host, an address or a name, is one of those that an account's pattern stands for.
pub(crate) fn matches_host(pattern: &str, host: &str) -> bool {
    match network(pattern) {
        Some((network, mask)) => host.parse::<Ipv4Addr>().is_ok_and(|host| host.to_bits() & mask == network),
        None => pattern.is_empty() || is_like(pattern.as_bytes(), host.as_bytes()),
    }
}

/// Address and mask of `10.1.0.0/16` and `10.1.0.0/255.255.0.0`.
fn network(pattern: &str) -> Option<(u32, u32)> {
    let (network, mask) = pattern.split_once('/')?;
    let network: Ipv4Addr = network.parse().ok()?;
    let mask = match mask.parse::<u32>() {
        Ok(bits @ 0..=32) => u32::MAX.checked_shl(32 - bits).unwrap_or(0),
        Ok(_) => return None,
        Err(_) => mask.parse::<Ipv4Addr>().ok()?.to_bits(),
    };
    Some((network.to_bits(), mask))
}

/// LIKE without escapes, ASCII case ignored.
fn is_like(pattern: &[u8], host: &[u8]) -> bool {
    // Where to go on if the last `%` has to stand for one character more.
    let (mut at, mut from, mut retry) = (0, 0, None);
    while from < host.len() {
        match pattern.get(at) {
            Some(b'%') => {
                retry = Some((at + 1, from + 1));
                at += 1;
            }
            Some(byte) if *byte == b'_' || byte.eq_ignore_ascii_case(&host[from]) => {
                at += 1;
                from += 1;
            }
            _ => match retry {
                Some((after_percent, next)) => {
                    (at, from) = (after_percent, next);
                    retry = Some((after_percent, next + 1));
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'%')
}

#[cfg(test)]
mod tests;
