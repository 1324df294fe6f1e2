//! The control log: where views are decided, one after the other, by compare-and-set.
//!
//! `LocalControlLog` is the log with one voter and no disk. Its first and only decision is view 1: every configured data node in sync.

use crate::MembershipConfig;
use protocol::signal::JoinRequest;
use protocol::{NodeInfo, NodeRole, View};
use std::collections::BTreeMap;
use std::sync::Arc;
use types::{Incarnation, NodeId, ViewNumber};

/// What becomes of a join.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum JoinAnswer {
    /// The node is known as this life.
    Accepted(Incarnation),
    /// It cannot be taken in; the text is for people.
    Refused(String),
}

/// What the log has decided.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Decision {
    /// No view yet.
    Nothing,
    /// The newest view.
    View {
        /// The view.
        view: Arc<View>,
        /// It was decided by this call: everybody must hear of it.
        is_new: bool,
    },
}

/// Where views are decided.
pub trait ControlLog {
    /// A process start asks to be taken in.
    fn join(&mut self, node: NodeId, join: &JoinRequest) -> JoinAnswer;
    /// The newest view, decided now if it can be.
    fn decide(&mut self) -> Decision;
}

/// The control log of a single management node.
#[derive(Debug)]
pub struct LocalControlLog {
    members: Vec<(NodeId, NodeRole)>,
    replica_count: usize,
    partitions_per_node: usize,
    joined: BTreeMap<NodeId, (Incarnation, JoinRequest)>,
    last_incarnation: u32,
    view: Option<Arc<View>>,
}

impl LocalControlLog {
    /// An empty log for the configured members.
    #[must_use]
    pub fn new(config: &MembershipConfig) -> Self {
        Self {
            members: config.members.clone(),
            replica_count: config.replica_count,
            partitions_per_node: config.partitions_per_node,
            joined: BTreeMap::new(),
            last_incarnation: 0,
            view: None,
        }
    }

    fn info(&self, node: NodeId, role: NodeRole) -> NodeInfo {
        let joined = self.joined.get(&node);
        let count = |count: fn(&JoinRequest) -> u8| joined.map_or(0, |(_, join)| count(join));
        NodeInfo {
            node,
            role,
            incarnation: joined.map_or(Incarnation(0), |(incarnation, _)| *incarnation),
            host: joined.map_or_else(String::new, |(_, join)| join.host.clone()),
            ldm_count: count(|join| join.ldm_count),
            tc_count: count(|join| join.tc_count),
            query_count: count(|join| join.query_count),
            sql_count: count(|join| join.sql_count),
        }
    }

    /// A member of the newest view tells what it is: the log forgot (it has no disk yet), or the member lost sight of it.
    fn adopt(&mut self, view: &Arc<View>) {
        if self.view.as_ref().is_none_or(|known| known.number < view.number) {
            self.view = Some(Arc::clone(view));
            let highest = view.nodes.iter().map(|info| info.incarnation.0).max().unwrap_or(0);
            // Incarnations given to SQL nodes since are not in the view: leave room for them.
            self.last_incarnation = self.last_incarnation.max(highest + 256);
        }
    }
}

impl ControlLog for LocalControlLog {
    fn join(&mut self, node: NodeId, join: &JoinRequest) -> JoinAnswer {
        let Some(role) = self.members.iter().find(|(member, _)| *member == node).map(|(_, role)| *role)
        else {
            return JoinAnswer::Refused(format!("config.ini has no node {node}"));
        };
        if role != join.role {
            return JoinAnswer::Refused(format!("config.ini gives node {node} another role"));
        }
        if let Some((incarnation, known)) = self.joined.get(&node)
            && known.start == join.start
        {
            return JoinAnswer::Accepted(*incarnation);
        }
        if let Some(view) = &join.view {
            self.adopt(view);
            // A node that the view does not know by its life (an SQL node) gets a new one below.
            let known = view.node(node).map(|info| info.incarnation).filter(|known| *known != Incarnation(0));
            if let Some(incarnation) = known.filter(|_| role == NodeRole::Data) {
                self.joined.insert(node, (incarnation, join.clone()));
                return JoinAnswer::Accepted(incarnation);
            }
        }
        if self.view.is_some() && role == NodeRole::Data && join.view.is_none() {
            return JoinAnswer::Refused(format!(
                "the cluster is running without node {node}, whose rows were lost when it stopped; this version cannot copy \
                 them back: stop all nodes and start the cluster again (it will be empty)"
            ));
        }
        self.last_incarnation += 1;
        let incarnation = Incarnation(self.last_incarnation);
        self.joined.insert(node, (incarnation, join.clone()));
        JoinAnswer::Accepted(incarnation)
    }

    fn decide(&mut self) -> Decision {
        if let Some(view) = &self.view {
            return Decision::View { view: Arc::clone(view), is_new: false };
        }
        let data_nodes = self.members.iter().filter(|(_, role)| *role == NodeRole::Data);
        if !data_nodes.clone().all(|(node, _)| self.joined.contains_key(node)) {
            return Decision::Nothing;
        }
        let nodes: Vec<NodeInfo> = self.members.iter().map(|(node, role)| self.info(*node, *role)).collect();
        let view = Arc::new(View::first(nodes, self.replica_count, self.partitions_per_node));
        stdx::require!(view.number == ViewNumber(1));
        self.view = Some(Arc::clone(&view));
        Decision::View { view, is_new: true }
    }
}
