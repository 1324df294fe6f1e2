//! The fewest nodes that must leave so that all who stay hear each other: a smallest vertex cover of the broken links. Pure.
//!
//! Exact as long as few nodes have a broken link (which is every failure that is not a disaster), else by the worst node first.

use std::collections::BTreeSet;
use types::NodeId;

/// Among more nodes with broken links than this, an exact answer takes too long.
const EXACT_MAX: usize = 16;

/// The nodes that should leave, given the broken links; `may_leave` says whether a set of leavers is allowed (I5).
///
/// Of several smallest sets the one that keeps the lower ids is taken, so that all who see the same links choose the same set. None if no
/// allowed set would do.
#[must_use]
pub fn fewest(
    broken: &BTreeSet<(NodeId, NodeId)>,
    may_leave: impl Fn(&[NodeId]) -> bool,
) -> Option<Vec<NodeId>> {
    // The higher ids first: they are tried first as leavers.
    let involved: BTreeSet<NodeId> = broken.iter().flat_map(|(left, right)| [*left, *right]).collect();
    let involved: Vec<NodeId> = involved.into_iter().rev().collect();
    if involved.len() > EXACT_MAX {
        return Some(greedy(broken)).filter(|leavers| may_leave(leavers));
    }
    (0..=involved.len()).find_map(|count| {
        let mut chosen = Vec::with_capacity(count);
        choose(&involved, count, broken, &may_leave, &mut chosen).then_some(chosen)
    })
}

/// Whether `count` more nodes of `rest` can be added to `chosen` so that all is covered; leaves them in `chosen`.
fn choose(
    rest: &[NodeId],
    count: usize,
    broken: &BTreeSet<(NodeId, NodeId)>,
    may_leave: &impl Fn(&[NodeId]) -> bool,
    chosen: &mut Vec<NodeId>,
) -> bool {
    if count == 0 {
        let covers = |link: &(NodeId, NodeId)| chosen.contains(&link.0) || chosen.contains(&link.1);
        return broken.iter().all(covers) && may_leave(chosen);
    }
    for (index, node) in rest.iter().enumerate().take(rest.len().saturating_sub(count - 1)) {
        chosen.push(*node);
        if choose(&rest[index + 1..], count - 1, broken, may_leave, chosen) {
            return true;
        }
        chosen.pop();
    }
    false
}

fn greedy(broken: &BTreeSet<(NodeId, NodeId)>) -> Vec<NodeId> {
    let mut left: BTreeSet<(NodeId, NodeId)> = broken.clone();
    let mut chosen = Vec::new();
    loop {
        let degree = |node: NodeId| left.iter().filter(|link| link.0 == node || link.1 == node).count();
        let nodes: BTreeSet<NodeId> = left.iter().flat_map(|(one, other)| [*one, *other]).collect();
        let Some(worst) = nodes.into_iter().max_by_key(|node| (degree(*node), *node)) else { return chosen };
        chosen.push(worst);
        left.retain(|link| link.0 != worst && link.1 != worst);
    }
}

#[cfg(test)]
mod tests;
