//! The end of a statement that has committed, or has ended a transaction, and asks for durability: it is answered when
//! its epoch is durable. Locks are gone long before, and others see its rows.
//!
//! The session may ask (`durability`), or a table that the transaction has changed (`NDB_TABLE=DURABILITY=epoch`). DDL
//! always does. Where data nodes keep no log, nobody waits.
//!
//! Reads never wait. A client that has waited for [`DURABLE_TIMEOUT`] hears 1180: the commit stands, but a loss of
//! power might take it still.

use super::{Running, Stage, Step};
use crate::environment::Environment;
use crate::session::Session;
use executor::Completion;
use protocol::{Address, Signal, SqlError};
use stdx::{Duration, Instant};
use types::Epoch;

/// How long a client waits.
pub(crate) const DURABLE_TIMEOUT: Duration = Duration::from_secs(30);

/// An answer that waits.
pub(super) struct DurableWait {
    completion: Completion,
    /// The highest that the session has committed in.
    epoch: Epoch,
    until: Instant,
}

impl Session {
    /// Whether the answer waits; then the stage says so.
    pub(super) fn awaits_durable(
        &mut self,
        env: &mut Environment<'_>,
        running: &mut Running,
        completion: &Completion,
    ) -> bool {
        let epoch = self.core.client.transaction.epoch_seen;
        let is_open = self.core.client.transaction.is_open();
        let is_done = completion.is_result_set || is_open || env.module.durable.is_durable(epoch);
        if is_done || self.core.variables.is_diskless() {
            return false;
        }
        if env.module.durable.wait(epoch, self.core.client.id) {
            let main = Address::main(env.module.node());
            env.send(main, Signal::DurableWanted { epoch });
        }
        let until = env.now.monotonic + DURABLE_TIMEOUT;
        env.module.site.wakes.register(until, self.core.client.id);
        running.stage = Some(Stage::Durable(DurableWait { completion: completion.clone(), epoch, until }));
        true
    }

    /// Answers when the epoch is durable, or the time is over.
    pub(super) fn poll_durable(
        &mut self,
        env: &mut Environment<'_>,
        running: &mut Running,
        wait: DurableWait,
    ) -> Option<Step> {
        if env.module.durable.is_durable(wait.epoch) {
            self.reply_completion(env, &wait.completion, &running.statement);
            return Some(Step::Finished);
        }
        if env.now.monotonic < wait.until {
            running.stage = Some(Stage::Durable(wait));
            return Some(Step::Wait);
        }
        env.module.durable.forget(wait.epoch, self.core.client.id);
        let text = "Got error 'committed, not known to be durable' during COMMIT: the change stands unless all nodes of a group stop at once";
        self.report(env, &SqlError::new(1180, text))
    }
}
