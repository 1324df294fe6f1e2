//! Tells what a starting node waits for, and for which nodes: a line of its log every ten seconds, and an answer to
//! `latsdb mgm`.
//!
//! A node *serves* when rows can be read through it. A data or SQL node does when it opens its MySQL port, a management
//! node when it has a map of the cluster. Until then it is *starting*. It tells the management nodes at once when it
//! reaches one of them, when it serves, and with each of its lines ([`NodeReport`]).
//!
//! Invariants: a node that does not serve says so each [`TELL_INTERVAL`], and names what it waits for; one that serves
//! says nothing. A node without [`Reporting`] (in simulations, where nobody asks) says and sends nothing.

use super::MainModule;
use protocol::signal::NodeReport;
use protocol::{Address, NodeRole, Outputs, Severity, Signal};
use query::Shared;
use stdx::{Duration, Instant};
use types::{Incarnation, NodeId, SlotId};

/// Between two lines.
const TELL_INTERVAL: Duration = Duration::from_secs(10);

/// A node's report on itself besides how far it is.
#[derive(Clone, Debug)]
pub struct Reporting {
    /// The version, for people.
    pub version: String,
    /// A hash of config.ini as the node has it.
    pub config: String,
    /// Where it serves MySQL clients; 0: nowhere.
    pub mysql_port: u16,
    /// The whole configured cluster.
    pub members: Vec<(NodeId, NodeRole)>,
}

/// How long it has waited, and what was said of it.
#[derive(Default)]
pub(super) struct Waiting {
    begun: Instant,
    tell_at: Option<Instant>,
    /// The last report.
    told: Option<NodeReport>,
    /// The restart of the cluster waits for this, as the leader of the control log says; empty: for nothing.
    restart: String,
}

impl Waiting {
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.tell_at
    }

    /// A newer view is there: if the restart still waits, that is said again.
    pub(super) fn forget_restart(&mut self) {
        self.restart.clear();
    }
}

impl MainModule {
    pub(super) fn begin_waiting(&mut self, outputs: &mut Outputs<Shared>) {
        if self.config.reporting.is_some() {
            self.waiting.begun = self.now.monotonic;
            self.waiting.tell_at = Some(self.now.monotonic + TELL_INTERVAL);
            self.report_state(outputs);
        }
    }

    /// The restart of the cluster waits for this.
    pub(super) fn on_restart_awaited(&mut self, text: String, outputs: &mut Outputs<Shared>) {
        self.waiting.restart = text;
        self.report_state(outputs);
    }

    /// The condition that keeps the whole cluster waiting; empty: none.
    pub(super) fn awaited_by_all(&self) -> &str {
        if self.control.awaited.is_empty() { &self.waiting.restart } else { &self.control.awaited }
    }

    /// Says what is waited for, if it is time.
    pub(super) fn tell_waiting(&mut self, outputs: &mut Outputs<Shared>) {
        let now = self.now.monotonic;
        if self.waiting.tell_at.is_none_or(|at| at > now) {
            return;
        }
        let what = self.waits_for();
        self.waiting.tell_at = what.is_some().then(|| now + TELL_INTERVAL);
        if let Some(what) = what {
            let seconds = now.since(self.waiting.begun).as_secs();
            outputs.event(Severity::Info, format!("starting, {seconds} s: waits for {what}"));
        }
        self.report_state(outputs);
    }

    /// Tells the management nodes how far this node is, if they do not know.
    pub(super) fn report_state(&mut self, outputs: &mut Outputs<Shared>) {
        let Some(report) = self.report() else { return };
        if self.waiting.told.as_ref() == Some(&report) {
            return;
        }
        let me = self.config.node;
        if let Some(management) = &mut self.config.management {
            management.set_report(me, report.clone(), outputs);
        }
        for node in self.reach.found.iter().filter(|node| self.is_manager(**node)) {
            outputs.send(self.me(), Address::main(*node), Signal::NodeReport(Box::new(report.clone())));
        }
        self.waiting.told = Some(report);
    }

    /// A management node is there that knows nothing of this one.
    pub(super) fn report_state_to(&self, node: NodeId, outputs: &mut Outputs<Shared>) {
        if let Some(report) = self.report().filter(|_| self.is_manager(node)) {
            outputs.send(self.me(), Address::main(node), Signal::NodeReport(Box::new(report)));
        }
    }

    fn report(&self) -> Option<NodeReport> {
        let reporting = self.config.reporting.as_ref()?;
        let waits = self.waits_for();
        Some(NodeReport {
            version: reporting.version.clone(),
            config: reporting.config.clone(),
            mysql_port: reporting.mysql_port,
            serves: waits.is_none(),
            waits: waits.unwrap_or_default(),
        })
    }

    pub(super) fn role_of(&self, node: NodeId) -> Option<NodeRole> {
        let members = self.config.reporting.as_ref().map_or(&[][..], |reporting| &reporting.members);
        members.iter().find(|(member, _)| *member == node).map(|(_, role)| *role)
    }

    fn is_manager(&self, node: NodeId) -> bool {
        self.role_of(node) == Some(NodeRole::Management)
    }

    /// The condition that this node waits for before rows can be read through it; `None` if they can.
    fn waits_for(&self) -> Option<String> {
        let is_manager = self.config.management.is_some();
        let has_map = self.map.view.number.0 > 0 && self.making.rollout.is_none();
        if self.is_open || (is_manager && has_map) {
            return None;
        }
        if let Some(text) = self.restart.restore_text(self.now.monotonic) {
            return Some(text);
        }
        let is_let_in = self.incarnation != Incarnation(0) && self.view.number.0 > 0;
        if !is_let_in && !self.control.awaited.is_empty() {
            return Some(format!("the control plane: {}", self.control.awaited));
        }
        if self.incarnation != Incarnation(0) && !self.waiting.restart.is_empty() {
            return Some(format!("the restart of the cluster: {}", self.waiting.restart));
        }
        Some(if self.incarnation == Incarnation(0) {
            format!("a majority of voters to let it in{}", self.away())
        } else if self.view.number.0 == 0 {
            format!("the first view of the cluster{}", self.away())
        } else if self.role_of(self.config.node) == Some(NodeRole::Data)
            && !self.view.is_member(self.config.node)
        {
            self.waits_to_be_taken_in()
        } else if self.is_joining() && !self.schema_reading.has_fetched() {
            "the catalogue, which it reads from the others".to_owned()
        } else if self.is_joining() {
            let (copied, partitions) = self.copies();
            format!("its rows, which the others copy to it: {copied} of {partitions} slots are here")
        } else if !self.is_connected() {
            let away = self.not_found(self.view.in_sync(SlotId(0)).iter().copied());
            format!("links to data nodes: {}", names(&away))
        } else if !self.is_schema_known() {
            "the catalogue, which no data node has told it yet".to_owned()
        } else {
            "its own threads to take the map of the cluster".to_owned()
        })
    }

    fn waits_to_be_taken_in(&self) -> String {
        let members = self.view.nodes.iter().map(|info| info.node).filter(|node| self.view.is_member(*node));
        let away = self.not_found(members);
        if away.is_empty() {
            "the members to take it in (who has left for late answers waits ten seconds and more)".to_owned()
        } else {
            format!("links to all members, before they take it in: {} not connected", names(&away))
        }
    }

    /// Which of the nodes that may have a say are not connected.
    fn away(&self) -> String {
        let members = self.config.reporting.iter().flat_map(|reporting| &reporting.members);
        let may_vote = members.filter(|(_, role)| *role != NodeRole::Sql).map(|(node, _)| *node);
        match self.not_found(may_vote).as_slice() {
            [] => "; all management and data nodes are connected".to_owned(),
            away => format!("; not connected: {}", names(away)),
        }
    }

    fn not_found(&self, nodes: impl Iterator<Item = NodeId>) -> Vec<NodeId> {
        nodes.filter(|node| *node != self.config.node && !self.reach.found.contains(node)).collect()
    }
}

fn names(nodes: &[NodeId]) -> String {
    let names: Vec<String> = nodes.iter().map(|node| format!("node {node}")).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests;
