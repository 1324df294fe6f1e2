//! Terms that all nodes of a cluster must have in common. A node whose config.ini says something else is not let in.
//!
//! The control log knows what the cluster was founded with, but not the interval of heartbeats, and only some nodes
//! have a copy. So a node that was let in tells its own terms with the view, when a link comes up. It does so before it
//! answers a Join: a node that starts has heard the cluster's terms before it can be let in.
//!
//! Invariant: all nodes that were let in have the same terms. A peer below wire version 4 says nothing, and is not
//! asked.
//!
//! Deliberately not here: what each node has for itself (memory, threads, limits of clients), and addresses, by which
//! others would not find it.

use super::{Membership, MembershipConfig};
use protocol::module::EXIT_REFUSED;
use protocol::signal::ClusterTerms;
use protocol::{NodeRole, Outputs, Severity};
use types::NodeId;

/// Those of a node's own configuration.
pub(crate) fn of(config: &MembershipConfig) -> ClusterTerms {
    let narrow = |number: usize| u16::try_from(number).unwrap_or(u16::MAX);
    let mut members = config.members.clone();
    members.sort_by_key(|(node, _)| *node);
    ClusterTerms {
        replica_count: narrow(config.replica_count),
        partitions_per_node: narrow(config.partitions_per_node),
        slots_per_node: config.slots_per_node,
        heartbeat_us: u64::try_from(config.detector.interval.as_micros()).unwrap_or(u64::MAX),
        members,
    }
}

/// Where they differ, with both values.
fn differences(own: &ClusterTerms, cluster: &ClusterTerms) -> Vec<String> {
    let mut found = Vec::new();
    let mut compare = |name: &str, own: String, cluster: String| {
        if own != cluster {
            found.push(format!(
                "{name} is {own} in this node's config.ini, and {cluster} in the cluster that runs"
            ));
        }
    };
    compare("NoOfReplicas", own.replica_count.to_string(), cluster.replica_count.to_string());
    let (mine, theirs) = (own.partitions_per_node, cluster.partitions_per_node);
    compare("PartitionsPerNode", mine.to_string(), theirs.to_string());
    compare("SlotsPerNode", own.slots_per_node.to_string(), cluster.slots_per_node.to_string());
    let interval = |terms: &ClusterTerms| format!("{} ms", terms.heartbeat_us / 1_000);
    compare("HeartbeatIntervalDbDb", interval(own), interval(cluster));
    compare("the list of nodes", list(&own.members), list(&cluster.members));
    found
}

fn list(members: &[(NodeId, NodeRole)]) -> String {
    let name = |role: &NodeRole| match role {
        NodeRole::Data => "data",
        NodeRole::Sql => "sql",
        NodeRole::Management => "management",
    };
    let members: Vec<String> =
        members.iter().map(|(node, role)| format!("{node} ({})", name(role))).collect();
    members.join(", ")
}

impl Membership {
    /// A node that was let in says what the cluster runs with.
    pub(crate) fn compare_terms<S>(&mut self, cluster: Option<&ClusterTerms>, outputs: &mut Outputs<S>) {
        let Some(cluster) = cluster.filter(|_| self.incarnation.is_none()) else { return };
        let found = differences(&of(&self.config), cluster);
        if !found.is_empty() {
            let text = format!(
                "node {} may not join: {}. Put back what was there, or stop the whole cluster to change it",
                self.config.node,
                found.join("; ")
            );
            self.end(EXIT_REFUSED, (Severity::Error, &text), outputs);
        }
    }
}
