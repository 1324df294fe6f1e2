//! The fewest nodes that must leave so that all who stay hear each other: a smallest vertex cover of the broken links. Pure.
//!
//! Exact as long as few nodes have a broken link (which is every failure that is not a disaster), else by the worst node first.

use std::collections::BTreeSet;
use types::NodeId;

/// Among more nodes with broken links than this, an exact answer takes too long.
const EXACT_MAX: usize = 16;

/// The nodes that should leave, given the broken links; `may_leave` says whether a set of leavers is allowed (I5). `hints` are broken links that
/// nobody has to leave for (those to witnesses), but which tell who of two is to blame for a link that somebody has to.
///
/// Of several smallest sets the one that takes most hints with it, of several of these the one that keeps the lower ids is taken, so that all who
/// see the same links choose the same set. None if no allowed set would do.
#[must_use]
pub fn fewest(
    broken: &BTreeSet<(NodeId, NodeId)>,
    hints: &BTreeSet<(NodeId, NodeId)>,
    may_leave: impl Fn(&[NodeId]) -> bool,
) -> Option<Vec<NodeId>> {
    // The higher ids first: they are tried first as leavers.
    let involved: BTreeSet<NodeId> = broken.iter().flat_map(|(left, right)| [*left, *right]).collect();
    let involved: Vec<NodeId> = involved.into_iter().rev().collect();
    if involved.len() > EXACT_MAX {
        return Some(greedy(broken)).filter(|leavers| may_leave(leavers));
    }
    (0..=involved.len()).find_map(|count| {
        let mut search = Search { broken, hints, may_leave: &may_leave, best: None };
        search.choose(&involved, count, &mut Vec::with_capacity(count));
        search.best.map(|(_, chosen)| chosen)
    })
}

/// All sets of one size, and the best so far with the number of its hints.
struct Search<'links, F> {
    broken: &'links BTreeSet<(NodeId, NodeId)>,
    hints: &'links BTreeSet<(NodeId, NodeId)>,
    may_leave: &'links F,
    best: Option<(usize, Vec<NodeId>)>,
}

impl<F: Fn(&[NodeId]) -> bool> Search<'_, F> {
    /// Tries every way to add `count` nodes of `rest` to `chosen`, which it leaves as it was.
    fn choose(&mut self, rest: &[NodeId], count: usize, chosen: &mut Vec<NodeId>) {
        if count == 0 {
            return self.judge(chosen);
        }
        for (index, node) in rest.iter().enumerate().take(rest.len().saturating_sub(count - 1)) {
            chosen.push(*node);
            self.choose(&rest[index + 1..], count - 1, chosen);
            chosen.pop();
        }
    }

    fn judge(&mut self, chosen: &[NodeId]) {
        let goes = |link: &&(NodeId, NodeId)| chosen.contains(&link.0) || chosen.contains(&link.1);
        if !self.broken.iter().all(|link| goes(&link)) || !(self.may_leave)(chosen) {
            return;
        }
        let hints = self.hints.iter().filter(goes).count();
        if self.best.as_ref().is_none_or(|(most, _)| hints > *most) {
            self.best = Some((hints, chosen.to_vec()));
        }
    }
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
