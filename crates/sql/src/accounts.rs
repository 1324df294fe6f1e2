//! A node's knowledge of its accounts besides the catalogue: passwords seen in clear, counts, and refusals.
//!
//! Every `sql` module keeps a book of its own and tells the others of the node what it has seen (`query::AccountNews`).
//! Each of them counts all of it, a moment later than the one where it happened.
//!
//! *Limits* are counted per hour, from the first thing that was counted; those of connections at one time as they come
//! and go. *Wrong passwords* in a row are counted for accounts that have FAILED_LOGIN_ATTEMPTS and PASSWORD_LOCK_TIME.
//! *Digests* of passwords are in memory only, and good only as long as the account's stored verifier is the one that
//! they were checked against.
//!
//! Invariants: the tables are bounded; what is known of an account never outlives a change of what it depends on.
//!
//! Deliberately not here: what a session does with the answers (`session::login`).

mod guessing;

pub(crate) use guessing::{Admission, Guessing};

use catalogue::{Authentication, Credential};
use mysql_protocol::auth::slow::{PASSWORD_SIZE_MAX, SlowVerifier};
use mysql_protocol::{AuthPlugin, Verifier};
use protocol::SqlError;
use query::{AccountName, AccountNews};
use std::collections::BTreeMap;
use stdx::{Duration, Instant, Now};
use types::{PasswordLifetime, PasswordLockTime, ResourceLimits, User};

/// Accounts of which something is known. Above it the first by name is forgotten.
const ACCOUNTS_MAX: usize = 65_536;
const HOUR: Duration = Duration::from_secs(3_600);
const DAY_S: u64 = 86_400;

/// A password that was seen in clear.
struct Seen {
    stored: Vec<u8>,
    digest: [u8; 32],
}

/// The counts of one account.
#[derive(Default)]
struct Record {
    seen: Option<Seen>,
    /// Connections there are.
    open: u32,
    /// When the hour began.
    since: Option<Instant>,
    queries: u32,
    updates: u32,
    connections: u32,
    /// The limits that all this was last held against.
    limits: ResourceLimits,
    /// Wrong passwords in a row.
    wrong: u16,
    /// The account's `login_resets` when they were counted.
    resets: u32,
    /// When the last of them locked the account, in seconds since 1970.
    locked_s: Option<u64>,
}

impl Record {
    /// Other limits: what is counted per hour begins anew.
    fn hold_to(&mut self, limits: ResourceLimits, now: Instant) {
        if self.limits != limits {
            (self.limits, self.since) = (limits, None);
        }
        self.turn_hour(now);
    }

    /// Counts per hour begin anew when the hour is over.
    fn turn_hour(&mut self, now: Instant) {
        if self.since.is_none_or(|since| now.since(since) >= HOUR) {
            self.since = Some(now);
            (self.queries, self.updates, self.connections) = (0, 0, 0);
        }
    }
}

/// The knowledge of a module.
#[derive(Default)]
pub(crate) struct AccountBook {
    records: BTreeMap<AccountName, Record>,
    pub(crate) guessing: Guessing,
}

/// Which limits a client may be above.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Demand {
    pub(crate) queries: u32,
    pub(crate) updates: u32,
}

impl AccountBook {
    fn record(&mut self, account: &AccountName) -> &mut Record {
        if self.records.len() >= ACCOUNTS_MAX && !self.records.contains_key(account) {
            self.records.pop_first();
        }
        self.records.entry(account.clone()).or_default()
    }

    /// Takes what this module or another one has seen.
    pub(crate) fn take(&mut self, news: &AccountNews, now: Now) {
        match news {
            AccountNews::PasswordSeen { account, stored, digest } => {
                let seen = Seen { stored: stored.clone(), digest: digest.0 };
                self.record(account).seen = Some(seen);
            }
            AccountNews::Opened(account) => {
                let record = self.record(account);
                record.turn_hour(now.monotonic);
                record.open += 1;
                record.connections = record.connections.saturating_add(1);
            }
            AccountNews::Closed(account) => {
                let record = self.record(account);
                record.open = record.open.saturating_sub(1);
            }
            AccountNews::Statements { account, queries, updates } => {
                let record = self.record(account);
                record.turn_hour(now.monotonic);
                record.queries = record.queries.saturating_add(*queries);
                record.updates = record.updates.saturating_add(*updates);
            }
            AccountNews::HourBegun => self.records.values_mut().for_each(|record| record.since = None),
            AccountNews::WrongPassword { account, resets, is_first } => {
                let record = self.record(account);
                if record.resets != *resets || *is_first {
                    (record.resets, record.wrong, record.locked_s) = (*resets, 0, None);
                }
                record.wrong = record.wrong.saturating_add(1);
                record.locked_s = Some(now.wall.0 / 1_000_000);
            }
            AccountNews::RightPassword(account) => {
                if let Some(record) = self.records.get_mut(account) {
                    (record.wrong, record.locked_s) = (0, None);
                }
            }
            AccountNews::Refused { host, user, is_logged } => {
                self.guessing.refused(host, user, *is_logged, now.monotonic);
            }
            AccountNews::Welcomed { host, user } => self.guessing.welcomed(host, user),
        }
    }

    /// The verifier for a client's answer; None if no verifier is stored.
    pub(crate) fn verifier(&self, user: &User) -> Option<Verifier> {
        let stored = Verifier::from_stored(&user.verifier)?;
        let seen = self.records.get(&name_of(user)).and_then(|record| record.seen.as_ref());
        match (&stored, seen) {
            (Verifier::Slow(_), Some(seen)) if seen.stored == user.verifier => {
                Some(Verifier::CachingSha2Password(seen.digest))
            }
            _ => Some(stored),
        }
    }

    /// True if wrong passwords had locked the account, and the time is over.
    pub(crate) fn is_lock_over(&self, user: &User, now: Now) -> bool {
        let attributes = &user.attributes;
        let Some(record) = self.records.get(&name_of(user)) else { return false };
        let (Some(locked_s), PasswordLockTime::Days(days)) = (record.locked_s, attributes.password_lock_time)
        else {
            return false;
        };
        record.wrong >= attributes.failed_login_attempts && rest_of_lock_s(locked_s, days, now) == 0
    }

    /// 3955 if too many wrong passwords were given for the account.
    pub(crate) fn check_lock(&self, user: &User, client: &str, host: &str, now: Now) -> Result<(), SqlError> {
        let attributes = &user.attributes;
        let (attempts, lock_time) = (attributes.failed_login_attempts, attributes.password_lock_time);
        let Some(record) = self.records.get(&name_of(user)) else { return Ok(()) };
        let is_counted = attempts > 0 && record.resets == attributes.login_resets && record.wrong >= attempts;
        let Some(locked_s) = record.locked_s.filter(|_| is_counted) else { return Ok(()) };
        let (days, rest) = match lock_time {
            PasswordLockTime::Unbounded => ("unlimited".to_owned(), "unlimited".to_owned()),
            PasswordLockTime::Days(days) => {
                let rest_s = rest_of_lock_s(locked_s, days, now);
                if rest_s == 0 {
                    return Ok(());
                }
                (days.to_string(), rest_s.div_ceil(DAY_S).to_string())
            }
        };
        let message = format!(
            "Access denied for user '{client}'@'{host}'. Account is blocked for {days} day(s) ({rest} day(s) remaining) due \
             to {attempts} consecutive failed logins."
        );
        Err(SqlError::new(3955, message))
    }

    /// 1226 or 1203 if the account has as many connections as it may.
    pub(crate) fn check_connections(
        &mut self,
        user: &User,
        for_everybody: u32,
        now: Now,
    ) -> Result<(), SqlError> {
        let limits = user.attributes.limits;
        let record = self.record(&name_of(user));
        record.hold_to(limits, now.monotonic);
        if is_reached(limits.user_connections, record.open) {
            return Err(exceeded(&user.name, "max_user_connections", limits.user_connections));
        }
        if limits.user_connections == 0 && is_reached(for_everybody, record.open) {
            let name = &user.name;
            let message =
                format!("User {name} already has more than 'max_user_connections' active connections");
            return Err(SqlError::new(1203, message));
        }
        if is_reached(limits.connections_per_hour, record.connections) {
            return Err(exceeded(&user.name, "max_connections_per_hour", limits.connections_per_hour));
        }
        Ok(())
    }

    /// 1226 if the account has run as many statements this hour as it may.
    pub(crate) fn check_statements(
        &mut self,
        account: &AccountName,
        limits: ResourceLimits,
        demand: Demand,
        now: Now,
    ) -> Result<(), SqlError> {
        let record = self.record(account);
        record.hold_to(limits, now.monotonic);
        if demand.queries > 0 && is_reached(limits.queries_per_hour, record.queries) {
            return Err(exceeded(&account.0, "max_queries_per_hour", limits.queries_per_hour));
        }
        if demand.updates > 0 && is_reached(limits.updates_per_hour, record.updates) {
            return Err(exceeded(&account.0, "max_updates_per_hour", limits.updates_per_hour));
        }
        Ok(())
    }
}

fn rest_of_lock_s(locked_s: u64, days: u16, now: Now) -> u64 {
    let passed_s = (now.wall.0 / 1_000_000).saturating_sub(locked_s);
    (u64::from(days) * DAY_S).saturating_sub(passed_s)
}

fn is_reached(limit: u32, count: u32) -> bool {
    limit > 0 && count >= limit
}

fn exceeded(name: &str, resource: &str, limit: u32) -> SqlError {
    let message = format!("User '{name}' has exceeded the '{resource}' resource (current value: {limit})");
    SqlError::new(1226, message)
}

/// An account's name in the book.
pub(crate) fn name_of(user: &User) -> AccountName {
    (user.name.clone(), user.host.clone())
}

/// Whether a new password is due. `default_lifetime` is in days; 0: for ever.
pub(crate) fn is_password_expired(user: &User, default_lifetime: u32, now: Now) -> bool {
    let attributes = &user.attributes;
    let days = match attributes.password_lifetime {
        PasswordLifetime::Default => default_lifetime,
        PasswordLifetime::Never => 0,
        PasswordLifetime::Days(days) => days.into(),
    };
    let good_until_s = attributes.password_changed_s + u64::from(days) * DAY_S;
    let is_too_old = days > 0 && attributes.password_changed_s > 0 && now.wall.0 / 1_000_000 >= good_until_s;
    attributes.is_password_expired || is_too_old
}

/// The verifier that a password is hashed with in vain if there is no account for it, so that the answer takes as long.
pub(crate) fn decoy() -> Option<SlowVerifier> {
    SlowVerifier::from_bytes(b"$A$005$abcdefghijklmnopqrstaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")
}

#[cfg(test)]
mod tests;

/// Passwords that can be hashed and hashes that can be checked, of a plugin that is known.
pub(crate) fn check_authentication(authentication: &Authentication) -> Result<(), SqlError> {
    let plugin = match &authentication.plugin {
        None => None,
        Some(name) => Some(
            AuthPlugin::from_name(name.as_bytes())
                .ok_or_else(|| SqlError::new(1524, format!("Plugin '{name}' is not loaded")))?,
        ),
    };
    match &authentication.credential {
        Credential::None => Ok(()),
        Credential::Password(password) if password.0.len() > PASSWORD_SIZE_MAX => {
            let message = "Your password does not satisfy the current policy requirements";
            Err(SqlError::new(1819, message))
        }
        Credential::Password(_) => Ok(()),
        Credential::Stored(stored) => match Verifier::from_stored(stored) {
            Some(verifier) if verifier.plugin().is_none() || verifier.plugin() == plugin => Ok(()),
            _ => Err(SqlError::new(1827, "The password hash doesn't have the expected format.")),
        },
    }
}
