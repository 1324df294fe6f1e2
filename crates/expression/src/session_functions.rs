//! Functions that tell about the session. They are folded into literals before an expression leaves the session's node.

use crate::evaluation::Evaluated;
use crate::function::{Call, Typed, functions};
use crate::typing::{BIGINT_UNSIGNED, text_type};
use types::{Collation, ValueRef};

functions! {
    /// Functions that tell about the session.
    SessionFunction {
        ConnectionId "CONNECTION_ID" 0..=0,
        Database "DATABASE" ["SCHEMA"] 0..=0,
        LastInsertId "LAST_INSERT_ID" 0..=0,
        User "USER" ["SESSION_USER", "SYSTEM_USER"] 0..=0,
        Version "VERSION" 0..=0,
    }
}

impl SessionFunction {
    pub(crate) fn typed(self) -> Typed {
        let text = |length| text_type(length, Collation::Utf8mb4GeneralCi);
        let sql_type = match self {
            Self::ConnectionId | Self::LastInsertId => BIGINT_UNSIGNED,
            Self::Database => text(64),
            Self::User => text(288),
            Self::Version => text(60),
        };
        Typed { arguments: Vec::new(), sql_type, nullable: self == Self::Database }
    }
}

impl<'a> Call<'a> {
    pub(crate) fn evaluate_session(self, function: SessionFunction) -> Evaluated<'a> {
        let context = self.context;
        Evaluated::Borrowed(match function {
            SessionFunction::ConnectionId => ValueRef::UInt(context.connection_id),
            SessionFunction::LastInsertId => ValueRef::UInt(context.last_insert_id),
            SessionFunction::Database => {
                context.database.map_or(ValueRef::Null, |database| ValueRef::Bytes(database.as_bytes()))
            }
            SessionFunction::User => ValueRef::Bytes(context.user.as_bytes()),
            SessionFunction::Version => ValueRef::Bytes(context.version.as_bytes()),
        })
    }
}
