//! Replica groups that keep one replica only: logs say so when it comes to that, every [`REPEAT`], and when it is over.
//! `show` says so at any time.
//!
//! Management nodes say it, and the data node that is the last. A group whose nodes have one replica by configuration
//! is not meant.
//!
//! Invariant: what is said is true of the newest view that this node has.

use super::MainModule;
use protocol::{Outputs, Severity, View};
use query::Shared;
use stdx::{Duration, Instant};
use types::NodeId;

/// How often it is said again.
pub(super) const REPEAT: Duration = Duration::from_secs(5 * 60);

/// The warnings that were given.
#[derive(Debug, Default)]
pub(super) struct Alone {
    /// Numbers of the node groups, with the last node of each.
    groups: Vec<(usize, NodeId)>,
    again_at: Option<Instant>,
}

impl Alone {
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.again_at
    }
}

/// The groups that keep one replica in sync of several, numbered as `show` does.
fn alone_in(view: &View) -> Vec<(usize, NodeId)> {
    let groups = view.groups.iter().skip(1).enumerate();
    let last = groups.map(|(number, group)| (number, group.replicas.len(), group.in_sync.as_slice()));
    last.filter_map(|(number, replicas, in_sync)| match in_sync {
        [last] if replicas > 1 => Some((number, *last)),
        _ => None,
    })
    .collect()
}

impl MainModule {
    /// There is a newer view.
    pub(super) fn look_who_is_alone(&mut self, outputs: &mut Outputs<Shared>) {
        let node = self.config.node;
        let is_manager = self.config.management.is_some();
        let is_told = |(_, last): &(usize, NodeId)| is_manager || *last == node;
        let groups: Vec<_> = alone_in(&self.view).into_iter().filter(is_told).collect();
        for (number, _) in &self.control.alone.groups {
            if !groups.iter().any(|(still, _)| still == number) {
                let text = format!("node group {number} has more than one replica again");
                outputs.event(Severity::Info, text);
            }
        }
        if groups == self.control.alone.groups {
            return;
        }
        self.control.alone = Alone { groups, again_at: None };
        self.say_who_is_alone(outputs);
    }

    /// Says it again, if it is time.
    pub(super) fn remind_who_is_alone(&mut self, outputs: &mut Outputs<Shared>) {
        if self.control.alone.again_at.is_some_and(|at| at <= self.now.monotonic) {
            self.say_who_is_alone(outputs);
        }
    }

    fn say_who_is_alone(&mut self, outputs: &mut Outputs<Shared>) {
        for (number, last) in &self.control.alone.groups {
            let text = format!(
                "node group {number} keeps one replica only: its rows are lost, and the cluster stops, if node {last} is lost before another node is in sync"
            );
            outputs.event(Severity::Warning, text);
        }
        self.control.alone.again_at =
            (!self.control.alone.groups.is_empty()).then(|| self.now.monotonic + REPEAT);
    }
}

#[cfg(test)]
mod tests;
