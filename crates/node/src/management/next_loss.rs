//! Which loss, the next one, would stop the cluster: what `show` warns of.
//!
//! There are two kinds. A replica group with one replica in sync that is connected loses its rows with it (I5: no view
//! without it can follow). And where one voter less is no majority any more, no failure can be dealt with: traffic goes
//! on until something else fails.
//!
//! Invariant: a cluster in which everything is connected and in sync gets no warning, unless its configuration makes
//! the first loss one too many. That is so with NoOfReplicas=1, or fewer than three nodes that may vote.
//! Then the warning always stands, because it is true.
//!
//! Deliberately not here: voters that share a host. On a machine of a developer all of them do.

use protocol::View;
use protocol::control::VoterPlace;
use types::NodeId;

/// The warnings to an operator, a line each, the worst first. `is_up`: which nodes are connected with the management
/// node that is asked.
pub(super) fn warnings(view: &View, voters: &[VoterPlace], is_up: impl Fn(NodeId) -> bool) -> Vec<String> {
    let mut lines = Vec::new();
    for (number, group) in view.groups.iter().skip(1).enumerate() {
        let there: Vec<NodeId> = group.in_sync.iter().copied().filter(|node| is_up(*node)).collect();
        match there.as_slice() {
            [] => {
                lines.push(format!("no node of node group {number} is connected: its rows cannot be reached"))
            }
            [last] => lines.push(format!(
                "the loss of node {last} stops the cluster: no other node has all rows of node group {number}"
            )),
            _ => {}
        }
    }
    lines.extend(warning_of_voters(voters, is_up));
    lines
}

fn warning_of_voters(voters: &[VoterPlace], is_up: impl Fn(NodeId) -> bool) -> Option<String> {
    let voting = voters.iter().filter(|voter| voter.votes).map(|voter| voter.node);
    let (there, away): (Vec<NodeId>, Vec<NodeId>) = voting.partition(|node| is_up(*node));
    let all = there.len() + away.len();
    let majority = all / 2 + 1;
    if all == 0 || there.len() > majority {
        return None;
    }
    let connected = format!("{} of {all} voters are connected", there.len());
    let missing = if away.is_empty() { String::new() } else { format!(", not node {}", list(&away)) };
    Some(if there.len() < majority {
        format!("{connected}{missing}: no failure can be dealt with until one of them is back")
    } else {
        format!(
            "{connected}{missing}: after the loss of one more (node {}) no failure can be dealt with",
            list(&there)
        )
    })
}

pub(super) fn list(nodes: &[NodeId]) -> String {
    let names: Vec<String> = nodes.iter().map(ToString::to_string).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests;
