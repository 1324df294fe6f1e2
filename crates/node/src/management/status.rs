//! The answer to `get status`, for programs (`latsdb mgm` follows a restart by it), and the reasons why a node may not
//! stop just now.
//!
//! ```text
//! cluster view=17 node=1 incarnation=9 even=1 name=dev
//! voter node=2 votes=1 up=1
//! node id=2 role=data state=copying incarnation=12 losses=3 leads=0 leaving=0 copied=3 partitions=8 refusal=it is not in sync
//! ```
//! Words are `key=value`; `name` and `refusal` come last and go to the end of their line, and may be missing. `cluster`
//! has the node that answers and its own life, and whether primaries are spread evenly. `incarnation` of a data node is
//! its life in the view: with it, a node that was away and is back can be told from one that never went. `losses`
//! counts how often its link was lost, for nodes whose lives no view has.
//!
//! Invariant: a node that is refused here is refused when it is asked to stop. A node itself may know better and stay
//! all the same (`main_module::stopping`). Then its log says so, and a client that follows it sees nothing happen.

use super::{ClusterState, ConfiguredNode, Management, NodeState};
use membership::succession;
use protocol::NodeRole;
use types::NodeId;

impl Management {
    /// Everything, a line each.
    pub(super) fn machine_status(&self, cluster: &ClusterState<'_>) -> String {
        let view = cluster.view;
        let is_even = succession::with_spread_primaries(view).is_none();
        let mut text = format!(
            "cluster view={} node={} incarnation={} even={} name={}\n",
            view.number,
            self.node,
            cluster.incarnation,
            u8::from(is_even),
            self.cluster
        );
        for voter in cluster.voters {
            let (votes, up) = (u8::from(voter.votes), u8::from(self.is_up(voter.node)));
            text.push_str(&format!("voter node={} votes={votes} up={up}\n", voter.node));
        }
        for node in &self.nodes {
            text.push_str(&self.machine_status_of(node, cluster));
        }
        text
    }

    fn machine_status_of(&self, node: &ConfiguredNode, cluster: &ClusterState<'_>) -> String {
        let (id, view) = (node.node, cluster.view);
        let role = match node.role {
            NodeRole::Data => "data",
            NodeRole::Sql => "sql",
            NodeRole::Management => "management",
        };
        let state = match self.state(node, view) {
            NodeState::NotConnected => "away",
            NodeState::Waiting => "waiting",
            NodeState::Copying => "copying",
            NodeState::Opening => "opening",
            NodeState::Started => "started",
        };
        let incarnation = view.node(id).map_or(0, |info| info.incarnation.0);
        let losses = cluster.losses.get(&id).copied().unwrap_or(0);
        let leads = view.slots.iter().filter(|place| place.primary == id).count();
        let leaving = u8::from(view.leaving.contains(&id));
        let (copied, partitions) = self.progress.get(&id).copied().unwrap_or((0, 0));
        let refusal = self.refusal(node, cluster).map_or_else(String::new, |why| format!(" refusal={why}"));
        format!(
            "node id={id} role={role} state={state} incarnation={incarnation} losses={losses} leads={leads} leaving={leaving} \
             copied={copied} partitions={partitions}{refusal}\n"
        )
    }

    /// Why a node may not stop alone, if so: what would be lost with it that nobody else has.
    pub(super) fn refusal(&self, node: &ConfiguredNode, cluster: &ClusterState<'_>) -> Option<String> {
        let (id, view) = (node.node, cluster.view);
        if !self.is_up(id) {
            return Some("it is not connected".to_owned());
        }
        if view.leaving.contains(&id) {
            return Some("it is about to stop already".to_owned());
        }
        if view.is_in_sync(id) && succession::with_leaving(view, id).is_none() {
            return Some(
                "no other node in sync has its rows, so the cluster would stop; use 'shutdown' for that"
                    .to_owned(),
            );
        }
        self.refusal_of_voter(id, cluster)
    }

    /// Where somebody is away already, the last majority of voters stays: without it the next failure would stop the
    /// cluster.
    fn refusal_of_voter(&self, node: NodeId, cluster: &ClusterState<'_>) -> Option<String> {
        let voting = cluster.voters.iter().filter(|voter| voter.votes).map(|voter| voter.node);
        let (there, away): (Vec<NodeId>, Vec<NodeId>) = voting.partition(|voter| self.is_up(*voter));
        let majority = (there.len() + away.len()) / 2 + 1;
        let is_needed = there.contains(&node) && there.len() <= majority;
        (is_needed && !away.is_empty()).then(|| {
            format!(
                "it is one of the last voters, and without it no failure could be dealt with; start node {} first",
                super::next_loss::list(&away)
            )
        })
    }
}

#[cfg(test)]
mod tests;
