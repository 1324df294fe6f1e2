//! How far a data node is that starts while the cluster runs: `ndbinfo.restart_info`, and what `latsdb mgm` says of it.
//!
//! ```text
//! start -> incarnation -> a view has it as joining -> catalogue -> that view is used -> every slot is copied -> in sync: it opens
//! ```
//! Each step has the moment at which it was reached first; a view change meanwhile may send the node back, which only
//! takes time.
//!
//! Invariants: a step is reached at most once; who starts with the cluster has no row, because nothing is copied to it.

use super::MainModule;
use protocol::{Address, NodeRole, Outputs, Signal};
use query::Shared;
use stdx::{Duration, Instant};
use types::Value;

/// The steps of a restart, in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Step {
    Started,
    Allocated,
    Included,
    CatalogueRead,
    Entered,
    Copied,
    Completed,
}

const STEPS: usize = 7;

/// The moments of this node's start.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RestartInfo {
    reached: [Option<Instant>; STEPS],
    /// Slots that are copied, and all that have to be, as told last.
    copies: (u32, u32),
}

impl RestartInfo {
    /// A step is reached, perhaps not for the first time.
    pub(super) fn reach(&mut self, step: Step, now: Instant) {
        self.reached[step as usize].get_or_insert(now);
    }

    fn at(&self, step: Step) -> Option<Instant> {
        self.reached[step as usize]
    }

    /// From one step to another, or as long as that lasts already.
    fn between(&self, from: Step, to: Step, now: Instant) -> Duration {
        let Some(from) = self.at(from) else { return Duration::ZERO };
        self.at(to).unwrap_or(now).since(from)
    }

    /// NDB's text and number for what the node is doing; None if nothing is copied to it.
    fn status(&self) -> Option<(&'static str, u64)> {
        self.at(Step::Included)?;
        let has = |step| self.at(step).is_some();
        Some(match () {
            () if has(Step::Completed) => ("Restart completed", 12),
            () if has(Step::Entered) => ("Synchronize starting node with live nodes", 9),
            () if has(Step::CatalogueRead) => ("Include node in LCP and GCP protocols", 7),
            () => ("Copy metadata to starting node", 6),
        })
    }

    /// The row; columns as `sql::show` has them. Phases that this cluster does not have took no time.
    fn row(&self, node: u64, now: Instant) -> Option<Vec<Value>> {
        let (status, number) = self.status()?;
        let seconds = |from, to| self.between(from, to, now).as_secs();
        let (copied, slots) = self.copies;
        let total = self.between(Step::Started, Step::Completed, now);
        let mut row = vec![Value::UInt(node), Value::text(status), Value::UInt(number)];
        row.extend(
            [
                // secs_to_complete_node_failure, ..allocate_node_id, ..include_in_heartbeat_protocol
                0,
                seconds(Step::Started, Step::Allocated),
                seconds(Step::Allocated, Step::Included),
                // secs_until_wait_for_ndbcntr_master, secs_wait_for_ndbcntr_master, secs_to_get_start_permitted,
                // secs_to_wait_for_lcp_..
                0,
                0,
                0,
                0,
                // secs_to_copy_meta_data, secs_to_include_node
                seconds(Step::Included, Step::CatalogueRead),
                seconds(Step::CatalogueRead, Step::Entered),
                // secs_starting_node_to_request_local_recovery .. secs_index_rebuild: nothing is on disk
                0,
                0,
                0,
                0,
                0,
                0,
                // secs_to_synchronize_starting_node, secs_wait_lcp_for_restart, secs_wait_subscription_handover
                seconds(Step::Entered, Step::Completed),
                0,
                0,
                total.as_secs(),
                u64::try_from(total.as_millis()).unwrap_or(u64::MAX),
                slots.into(),
                copied.into(),
            ]
            .map(Value::UInt),
        );
        Some(row)
    }
}

impl MainModule {
    /// The node joins, and has got this far.
    pub(super) fn reach(&mut self, step: Step) {
        if step <= Step::Allocated || self.is_joining() {
            self.restart.reach(step, self.now.monotonic);
        }
    }

    /// How long this life of the node lasts.
    pub(super) fn uptime(&self) -> Duration {
        let now = self.now.monotonic;
        now.since(self.restart.at(Step::Started).unwrap_or(now))
    }

    /// Slots that were copied here in this view, and all that have to be.
    pub(super) fn copies(&self) -> (u32, u32) {
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let slots = self.view.slots_of_node(self.config.node);
        let mine = slots.filter(|id| self.view.joining(*id).contains(&self.config.node));
        (count(self.entry.copied.len()), count(mine.count()))
    }

    pub(super) fn restart_rows(&self) -> Vec<Vec<Value>> {
        self.restart.row(self.config.node.0.into(), self.now.monotonic).into_iter().collect()
    }

    /// Tells the management nodes how far the copying is.
    pub(super) fn report_progress(&mut self, outputs: &mut Outputs<Shared>) {
        let (copied, slots) = self.copies();
        self.restart.copies = (copied, slots);
        let managers = self.view.nodes.iter().filter(|info| info.role == NodeRole::Management);
        for node in managers.map(|info| info.node).filter(|node| self.reach.found.contains(node)) {
            outputs.send(self.me(), Address::main(node), Signal::RestartProgress { copied, slots });
        }
    }
}

#[cfg(test)]
mod tests;
