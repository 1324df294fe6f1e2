//! A lock that a session asks a primary for, and locks on their way back.
//!
//! The request is a read of one key that locks it, by the transaction that is open in the session's locks.
//!
//! Deliberately not here: which locks are asked for, and what a refusal means (`lock_tables`, `user_locks`).
#![expect(clippy::wildcard_enum_match_arm, reason = "an answer of another kind is none")]

use crate::statement::Cx;
use executor::inbox::{Reply, RequestKind};
use executor::locked_reader::lost_lock;
use executor::{Failure, Retry};
use protocol::Signal;
use protocol::program::{Access, LockMode, LockWait, ReadOutput, ReadProgram, Refusal, TableRef};
use protocol::signal::{ReadRequest, RequestId};
use std::sync::Arc;
use stdx::Duration;
use types::SlotId;

/// Between two attempts.
const PAUSE: Duration = Duration::from_millis(20);

/// A lock that was asked for.
pub(super) struct LockRequest {
    slot: SlotId,
    request: RequestId,
}

/// The answer of the primary.
pub(super) enum Locked {
    Yes,
    Refused(Refusal),
    /// The primary is lost.
    Lost,
}

impl LockRequest {
    /// Asks a primary.
    pub(super) fn ask(
        table: TableRef,
        slot: SlotId,
        key: Box<[u8]>,
        lock: (LockMode, LockWait),
        cx: &mut Cx<'_, '_>,
    ) -> Result<Self, Failure> {
        let to = cx.executor().primary(slot)?;
        let (view, now) = (cx.env.module.site.map.view.number, cx.env.now.monotonic);
        let Some(open) = &mut cx.core.locks.open else { return Err(lost_lock()) };
        open.note_use(table, now);
        let known = open.touch(slot, view, false);
        let transaction = open.id();
        let program = ReadProgram {
            table,
            filter: None,
            output: ReadOutput::Columns(Vec::new()),
            with_primary_key: false,
            with_index_key: false,
            context: cx.statement.program_context(cx.statement.settings),
        };
        let request = cx.core.client.inbox.register(to, RequestKind::Change);
        let read = ReadRequest {
            request,
            transaction,
            lock: Some(lock),
            slot,
            program: Arc::new(program),
            access: Access::Keys(vec![key]),
            known,
            under: None,
            grant_only: false,
        };
        cx.env.send(to, Signal::Read(Box::new(read)));
        Ok(Self { slot, request })
    }

    /// The answer, if it is there.
    pub(super) fn poll(&self, cx: &mut Cx<'_, '_>) -> Option<Locked> {
        Some(match cx.core.client.inbox.take(self.request)? {
            Reply::Read(Ok(batch)) => {
                if let Some(open) = &mut cx.core.locks.open {
                    open.holds(self.slot, batch.operations);
                }
                Locked::Yes
            }
            Reply::Read(Err(refusal)) => Locked::Refused(refusal),
            _ => Locked::Lost,
        })
    }
}

/// Gives up what the running statement has asked for; the pause until it asks again.
pub(super) fn let_go_and_pause(cx: &mut Cx<'_, '_>) -> Retry {
    cx.core.locks.drop_open(cx.env);
    Retry::after(PAUSE, cx.core.client.id, &mut cx.env.executor())
}

/// Locks on their way back: whoever waits for them may have them when all primaries have answered.
pub(super) struct GivingBack {
    open: Vec<RequestId>,
}

impl GivingBack {
    /// Gives back what the session's open locks hold.
    pub(super) fn begin(cx: &mut Cx<'_, '_>) -> Self {
        let mut open = Vec::new();
        let Some((transaction, slots)) =
            cx.core.locks.open.as_ref().and_then(|locks| Some((locks.id()?, locks.participants())))
        else {
            return Self { open };
        };
        for slot in slots {
            let Some(primary) = cx.env.module.site.map.primary(slot) else { continue };
            let request = cx.core.client.inbox.register(primary, RequestKind::Other);
            cx.env.send(primary, Signal::RollbackTo { request, transaction, slot, operations: 0 });
            open.push(request);
        }
        Self { open }
    }

    /// Whether all have answered. A lost primary has nothing any more; one that has not heard of it is told again.
    pub(super) fn is_done(&mut self, cx: &mut Cx<'_, '_>) -> bool {
        self.open.retain(|request| cx.core.client.inbox.take(*request).is_none());
        if self.open.is_empty() {
            cx.core.locks.drop_open(cx.env);
        }
        self.open.is_empty()
    }
}
