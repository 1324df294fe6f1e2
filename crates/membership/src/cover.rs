//! Which nodes must leave so that all that stay hear each other: a vertex cover of the broken links. Pure.
//!
//! A node that somebody hears stays if that can be. Among all covers one with the fewest such nodes is taken, and among
//! those one of the fewest nodes. If only their number counted, one that lives would leave for the sake of two that
//! died.
//!
//! Exact as long as few nodes have a broken link (which is every failure that is not a disaster), else by the worst
//! node first.

use std::collections::BTreeSet;
use types::{NodeId, NodeSet};

/// Among more nodes with broken links than this, an exact answer takes too long.
const EXACT_MAX: usize = 16;

type Links = BTreeSet<(NodeId, NodeId)>;

/// Evidence which of two nodes is to blame for a broken link; nobody leaves for it alone.
#[derive(Debug, Default)]
pub struct Evidence {
    /// Broken links that nobody has to leave for: those to witnesses.
    pub hints: Links,
    /// Nodes that answer late, or are about to stop.
    pub blamed: NodeSet,
}

/// The nodes that should leave, given the broken links; `is_heard` says whether somebody hears a node, `may_leave`
/// whether a set of leavers is allowed (I5).
///
/// If several sets are equally good, the one that takes most hints with it is taken. Then the one with most of those
/// that are blamed counts, then the one that keeps the lower ids. So all that see the same choose the same set. None if
/// no allowed set would do.
#[must_use]
pub fn fewest(
    broken: &Links,
    evidence: &Evidence,
    is_heard: impl Fn(NodeId) -> bool,
    may_leave: impl Fn(&[NodeId]) -> bool,
) -> Option<Vec<NodeId>> {
    // The higher ids first: they are tried first as leavers.
    let involved: BTreeSet<NodeId> = broken.iter().flat_map(|(left, right)| [*left, *right]).collect();
    let (heard, unheard): (Vec<NodeId>, Vec<NodeId>) =
        involved.into_iter().rev().partition(|node| is_heard(*node));
    if heard.len() + unheard.len() > EXACT_MAX {
        return Some(greedy(broken, &unheard)).filter(|leavers| may_leave(leavers));
    }
    let sizes = (0..=heard.len()).flat_map(|count| (0..=unheard.len()).map(move |more| (count, more)));
    for (heard_count, unheard_count) in sizes {
        let mut best: Option<((usize, usize), Vec<NodeId>)> = None;
        let mut judge = |chosen: &mut Vec<NodeId>| {
            let goes = |link: &&(NodeId, NodeId)| chosen.contains(&link.0) || chosen.contains(&link.1);
            if !broken.iter().all(|link| goes(&link)) || !may_leave(chosen) {
                return;
            }
            let hints = evidence.hints.iter().filter(goes).count();
            let taken = (hints, chosen.iter().filter(|node| evidence.blamed.contains(**node)).count());
            if best.as_ref().is_none_or(|(most, _)| taken > *most) {
                best = Some((taken, chosen.clone()));
            }
        };
        let mut with_unheard =
            |chosen: &mut Vec<NodeId>| for_each_choice(&unheard, unheard_count, chosen, &mut judge);
        for_each_choice(&heard, heard_count, &mut Vec::new(), &mut with_unheard);
        if let Some((_, chosen)) = best {
            return Some(chosen);
        }
    }
    None
}

/// Calls for every way to add `count` nodes of `rest` to `chosen`, which it leaves as it was.
fn for_each_choice(
    rest: &[NodeId],
    count: usize,
    chosen: &mut Vec<NodeId>,
    call: &mut dyn FnMut(&mut Vec<NodeId>),
) {
    if count == 0 {
        return call(chosen);
    }
    for (index, node) in rest.iter().enumerate().take(rest.len().saturating_sub(count - 1)) {
        chosen.push(*node);
        for_each_choice(&rest[index + 1..], count - 1, chosen, call);
        chosen.pop();
    }
}

/// First those that nobody hears, then the node with the most broken links.
fn greedy(broken: &Links, unheard: &[NodeId]) -> Vec<NodeId> {
    let mut left = broken.clone();
    let mut chosen = unheard.to_vec();
    left.retain(|link| !unheard.contains(&link.0) && !unheard.contains(&link.1));
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
