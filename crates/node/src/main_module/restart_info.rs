//! How far a data node is that starts while the cluster runs: `ndbinfo.restart_info`, and what `latsdb mgm` says of it.
//!
//! ```text
//! start -> incarnation -> rows of its disk -> a view has it as joining -> catalogue -> that view is used
//!       -> slots are copied -> in sync
//! start -> incarnation -> checkpoints -> log -> indexes -> all rows are there: the cluster starts from its disks
//! ```
//! Each step has the moment at which it was reached first; a view change meanwhile may send the node back, which only
//! takes time.
//!
//! Invariants: a step is reached at most once; a node that starts with the cluster has no row, unless it restores
//! rows from its disk.

use super::MainModule;
use protocol::restart::{RestorePhase, RestoreProgress};
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
const RESTORE_PHASES: usize = 4;
/// Bytes of a mebibyte.
const MIB: u64 = 1 << 20;

/// The moments of this node's start.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RestartInfo {
    reached: [Option<Instant>; STEPS],
    /// Slots that are copied, and all that have to be, as told last.
    copies: (u32, u32),
    /// The moments at which the phases of a restore began, and its progress, as told last.
    restored: [Option<Instant>; RESTORE_PHASES],
    progress: Option<RestoreProgress>,
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

    /// The restoring of rows has got this far.
    fn restore(&mut self, progress: RestoreProgress, now: Instant) {
        for begun in self.restored.iter_mut().take(progress.phase as usize + 1) {
            begun.get_or_insert(now);
        }
        self.progress = Some(progress);
    }

    /// From one phase of a restore to another, or as long as that lasts already.
    fn restoring(&self, from: RestorePhase, to: RestorePhase, now: Instant) -> Duration {
        let Some(from) = self.restored[from as usize] else { return Duration::ZERO };
        self.restored[to as usize].unwrap_or(now).since(from)
    }

    /// For people: how far the restoring of rows is, and how long it may still take; None if no rows are restored.
    pub(super) fn restore_text(&self, now: Instant) -> Option<String> {
        let RestoreProgress { phase, done, total } = self.progress?;
        let from = match phase {
            RestorePhase::Checkpoints => "its rows, which it loads from its checkpoints",
            RestorePhase::Log => "its rows, which it loads from its redo log",
            RestorePhase::Indexes => return Some("the indexes of its rows, which it builds".to_owned()),
            RestorePhase::Done => return None,
        };
        let begun = self.restored[phase as usize].unwrap_or(now);
        let spent = now.since(begun).as_millis();
        let left = spent * u128::from(total.saturating_sub(done)) / u128::from(done.max(1)) / 1_000;
        let time = if done == 0 { String::new() } else { format!(", about {left} s left") };
        Some(format!("{from}: {} of {} MiB{time}", done / MIB, total.div_ceil(MIB)))
    }

    /// NDB's text and number for what the node is doing; None if nothing is copied to it or restored.
    fn status(&self) -> Option<(&'static str, u64)> {
        if self.at(Step::Included).is_none() {
            return Some(match self.progress?.phase {
                RestorePhase::Done => ("Restart completed", 12),
                RestorePhase::Checkpoints | RestorePhase::Log | RestorePhase::Indexes => {
                    ("Restore fragments ongoing", 8)
                }
            });
        }
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
        let has_joined = self.at(Step::Included).is_some();
        let end =
            if has_joined { self.at(Step::Completed) } else { self.restored[RestorePhase::Done as usize] };
        let total = end.unwrap_or(now).since(self.at(Step::Started).unwrap_or(now));
        let restoring = |from, to| self.restoring(from, to, now).as_secs();
        let began = self.restored[RestorePhase::Checkpoints as usize];
        let asked = began.map_or(0, |began| began.since(self.at(Step::Started).unwrap_or(began)).as_secs());
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
                // secs_starting_node_to_request_local_recovery, secs_for_local_recovery, secs_restore_fragments,
                // secs_undo_disk_data, secs_exec_redo_log, secs_index_rebuild
                asked,
                restoring(RestorePhase::Checkpoints, RestorePhase::Done),
                restoring(RestorePhase::Checkpoints, RestorePhase::Log),
                0,
                restoring(RestorePhase::Log, RestorePhase::Indexes),
                restoring(RestorePhase::Indexes, RestorePhase::Done),
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

    /// The module `disk` has got this far with the rows of this node.
    pub(super) fn on_restore_progress(
        &mut self,
        from: Address,
        progress: RestoreProgress,
        outputs: &mut Outputs<Shared>,
    ) {
        if from != Address::disk(self.config.node) {
            return;
        }
        self.restart.restore(progress, self.now.monotonic);
        self.report_state(outputs);
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
