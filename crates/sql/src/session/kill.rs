//! KILL: the module that owns the connection is asked to end it, or the statement that it runs.
//!
//! The id names the module; connections of other nodes are not reached.

use crate::statement::Cx;
use executor::inbox::{Reply, RequestKind};
use executor::{Completion, Failure, Progress};
use protocol::signal::RequestId;
use protocol::{Address, ModuleKind, Signal, SqlError};
use types::DynamicPrivileges;

/// The statement.
pub(crate) struct KillRun {
    request: RequestId,
}

impl KillRun {
    /// Asks for the end of a connection of this node. Without CONNECTION_ADMIN or SUPER only sessions of the same user
    /// end.
    pub(crate) fn new(connection: u64, query_only: bool, cx: &mut Cx<'_, '_>) -> Result<Self, Failure> {
        let instance = u8::try_from(connection % u64::from(crate::config::INSTANCES_MAX)).ok();
        let is_number = connection <= u64::from(u32::MAX);
        let instance = instance.filter(|instance| is_number && *instance < cx.env.module.config.siblings);
        let Some(instance) = instance else {
            return Err(Failure::Error(SqlError::new(1094, format!("Unknown thread id: {connection}"))));
        };
        let module = Address::new(cx.env.module.node(), ModuleKind::Sql, instance);
        cx.core.renew_rights(cx.env.module);
        let may_end_all = cx.core.rights.set().is_super_or(DynamicPrivileges::CONNECTION_ADMIN);
        let only_of = (!may_end_all).then(|| cx.core.account.0.to_string());
        let request = cx.core.client.inbox.register(module, RequestKind::Other);
        cx.env.send(module, Signal::KillSession { connection, query_only, only_of, request });
        Ok(Self { request })
    }

    pub(crate) fn step(&self, cx: &mut Cx<'_, '_>) -> Result<Progress, Failure> {
        match cx.core.client.inbox.take(self.request) {
            None => Ok(Progress::Wait),
            Some(Reply::Failed(error)) => Err(Failure::Error(error)),
            Some(_) => Ok(Progress::Done(Completion::default())),
        }
    }
}
