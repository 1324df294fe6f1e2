//! News about logins that the `sql` modules of a node tell each other, so that each of them knows what is counted per
//! node.
//!
//! It never leaves the node, and `Debug` shows no digest.

use std::fmt;

/// Name and host pattern of an account.
pub type AccountName = (String, String);

/// Something happened to an account, or to somebody who wanted to be one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AccountNews {
    /// A client gave the right password in clear: its scrambles can be checked from now on.
    PasswordSeen {
        /// Whose.
        account: AccountName,
        /// The stored verifier that the password was checked against.
        stored: Vec<u8>,
        /// The digest by which scrambles are checked.
        digest: Digest,
    },
    /// A client is let in.
    Opened(AccountName),
    /// Its connection is gone, or changed its user.
    Closed(AccountName),
    /// Statements of an account whose statements are limited.
    Statements {
        /// Whose.
        account: AccountName,
        /// All of them.
        queries: u32,
        /// Those that change something.
        updates: u32,
    },
    /// FLUSH USER_RESOURCES: what is counted per hour begins anew, for all accounts.
    HourBegun,
    /// A wrong password for an account that is locked after some of them.
    WrongPassword {
        /// Whose.
        account: AccountName,
        /// The account's `login_resets` when it was given.
        resets: u32,
        /// Those before it do not count any more.
        is_first: bool,
    },
    /// The right password.
    RightPassword(AccountName),
    /// Somebody was refused.
    Refused {
        /// From where.
        host: String,
        /// As whom.
        user: String,
        /// There is a line in the log about this host.
        is_logged: bool,
    },
    /// The same, let in.
    Welcomed {
        /// From where.
        host: String,
        /// As whom.
        user: String,
    },
}

/// SHA256(SHA256(password)).
#[derive(Clone, PartialEq, Eq)]
pub struct Digest(pub [u8; 32]);

impl fmt::Debug for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Digest(..)")
    }
}
