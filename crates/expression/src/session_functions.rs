//! Functions that tell about the session. They are folded into literals before an expression leaves the session's node.

use crate::context::EvaluationError;
use crate::evaluation::Evaluated;
use crate::function::{Call, Function, Typed, functions};
use crate::node::{Expression, Node};
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

impl Expression {
    /// VERSION(), which is `version`: the server's, so it is told here and nowhere else.
    #[must_use]
    pub fn version(version: &str) -> Self {
        let typed = SessionFunction::Version.typed();
        let arguments = vec![Self::text(version, Collation::Utf8mb4GeneralCi)];
        let function = Function::Session(SessionFunction::Version);
        Self::new(Node::Function { function, arguments: arguments.into() }, typed.sql_type, false)
    }
}

impl<'a> Call<'a> {
    pub(crate) fn evaluate_session(
        self,
        function: SessionFunction,
    ) -> Result<Evaluated<'a>, EvaluationError> {
        let context = self.context;
        Ok(Evaluated::Borrowed(match function {
            SessionFunction::Version => return self.value(0),
            SessionFunction::ConnectionId => ValueRef::UInt(context.connection_id),
            SessionFunction::LastInsertId => ValueRef::UInt(context.last_insert_id),
            SessionFunction::Database => {
                context.database.map_or(ValueRef::Null, |database| ValueRef::Bytes(database.as_bytes()))
            }
            SessionFunction::User => ValueRef::Bytes(context.user.as_bytes()),
        }))
    }
}
