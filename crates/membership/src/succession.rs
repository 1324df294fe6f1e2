//! Which view may follow which, and how the usual ones are made. Pure: the control log asks when it applies a change,
//! proposers ask before.
//!
//! Invariants that a legal step keeps (ARCHITECTURE.md numbers them):
//! - views are numbered without gaps;
//! - I5: every replica group keeps an in-sync member, and every primary is one;
//! - I4, the part that a view can show: a node that enters the in-sync set was *joining* in the view before, in the
//!   same life. The proposer must know that it has caught up, and that the members have confirmed that they need it.
//! - a member that stays in sync stays in the same life: rows of an earlier process start exist nowhere;
//! - the founding stays;
//! - a slot's group and rank never change: they say which `ldm` of a node owns it;
//! - a primary moves *by hand-over*, to the same line (`since`), only from a member that stays in sync; else a new line
//!   begins.
//!
//! Deliberately not here: adding replica groups (they need their own steps), and suspicion of nodes (`detector`).

use protocol::control::GroupId;
use protocol::{GroupView, NodeInfo, SlotPlace, View};
use std::collections::BTreeMap;
use types::{Incarnation, NodeId, ViewNumber};

/// Why a view may not follow another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Illegal {
    /// Another view came first: make a new proposal from that one.
    Overtaken,
    /// A group would lose its last in-sync member (I5).
    NotViable,
    /// A member would be in sync without having joined (I4).
    NotJoined,
    /// A member would change its life, or have one that nobody was given.
    WrongLife,
    /// Groups, replicas or slots do not fit together.
    Malformed,
}

/// Whether `next` may follow `view`; `lives` are the newest incarnations that were given out.
pub fn check(view: &View, next: &View, lives: &BTreeMap<NodeId, Incarnation>) -> Result<(), Illegal> {
    if view.number.0.checked_add(1) != Some(next.number.0) {
        return Err(Illegal::Overtaken);
    }
    check_lives(next, lives)?;
    let is_alike = next.founding == view.founding
        && next.groups.len() == view.groups.len()
        && next.slots.len() == view.slots.len();
    let stays =
        |(before, after): (&SlotPlace, &SlotPlace)| before.group == after.group && before.rank == after.rank;
    if !is_alike || !view.slots.iter().zip(&next.slots).all(stays) {
        return Err(Illegal::Malformed);
    }
    for (before, after) in view.groups.iter().zip(&next.groups) {
        check_group(view, next, before, after)?;
    }
    for (before, after) in view.slots.iter().zip(&next.slots) {
        let group = next.groups.get(usize::from(after.group)).ok_or(Illegal::Malformed)?;
        let is_same_line = after.since == before.since && group.in_sync.contains(&before.primary);
        let is_new_line = after.since == next.number && after.primary != before.primary;
        if !is_same_line && !is_new_line {
            return Err(Illegal::Malformed);
        }
    }
    if next.is_well_formed() { Ok(()) } else { Err(Illegal::Malformed) }
}

fn check_lives(next: &View, lives: &BTreeMap<NodeId, Incarnation>) -> Result<(), Illegal> {
    let given = |info: &NodeInfo| {
        info.incarnation == Incarnation(0)
            || lives.get(&info.node).is_some_and(|newest| info.incarnation <= *newest)
    };
    if next.nodes.iter().all(given) { Ok(()) } else { Err(Illegal::WrongLife) }
}

fn check_group(view: &View, next: &View, before: &GroupView, after: &GroupView) -> Result<(), Illegal> {
    if before.replicas != after.replicas {
        return Err(Illegal::Malformed);
    }
    if after.in_sync.is_empty() {
        return Err(Illegal::NotViable);
    }
    let life = |view: &View, node: NodeId| view.node(node).map(|info| info.incarnation);
    for node in &after.in_sync {
        if !before.in_sync.contains(node) && !before.joining.contains(node) {
            return Err(Illegal::NotJoined);
        }
        if life(view, *node) != life(next, *node) || life(next, *node).is_none() {
            return Err(Illegal::WrongLife);
        }
    }
    let newly_restorable = after.restorable.iter().filter(|node| !before.restorable.contains(node));
    if newly_restorable.clone().any(|node| !after.in_sync.contains(node)) {
        return Err(Illegal::NotJoined);
    }
    Ok(())
}

/// The view that follows when these nodes are gone; None if a group would be left without an in-sync member (I5).
#[must_use]
pub fn without(view: &View, gone: &[NodeId]) -> Option<View> {
    let mut next = follow(view);
    for group in &mut next.groups {
        group.in_sync.retain(|node| !gone.contains(node));
        group.joining.retain(|node| !gone.contains(node));
        if group.in_sync.is_empty() {
            return None;
        }
    }
    for index in 0..next.slots.len() {
        let place = next.slots[index];
        let group = &next.groups[usize::from(place.group)];
        if !group.in_sync.contains(&place.primary) {
            let heir = least_busy(&next, usize::from(place.group));
            next.slots[index].primary = heir;
            next.slots[index].since = next.number;
        }
    }
    next.leaving.retain(|node| !gone.contains(node));
    Some(next)
}

/// The first view of another founding, `leap` numbers higher, without what is gone; None if a group would be left
/// without an in-sync member (I5).
#[must_use]
pub fn refounded(view: &View, gone: &[NodeId], founding: GroupId, leap: u64) -> Option<View> {
    let mut next = without(view, gone)?;
    let number = ViewNumber(view.number.0 + leap);
    for place in next.slots.iter_mut().filter(|place| place.since == next.number) {
        place.since = number;
    }
    (next.number, next.founding) = (number, founding);
    Some(next)
}

/// The view in which a node that is about to stop leads nothing and gets nothing; its slots are handed over. None if
/// there is nobody to take one of them, or it is so already.
#[must_use]
pub fn with_leaving(view: &View, node: NodeId) -> Option<View> {
    let mut next = follow(view);
    if view.leaving.contains(&node) || !view.is_in_sync(node) {
        return None;
    }
    next.leaving.push(node);
    for index in 0..next.slots.len() {
        let place = next.slots[index];
        if place.primary == node {
            next.slots[index].primary = least_busy_of(&next, usize::from(place.group), true)?;
        }
    }
    Some(next)
}

/// The same members once more. Every view begins new streams between replicas, so this repairs what a broken connection
/// dropped.
#[must_use]
pub fn renewed(view: &View) -> View {
    follow(view)
}

/// The view in which a node, in its newest life, is being copied to in all its groups. None while a group still counts
/// it as in sync.
#[must_use]
pub fn with_joining(view: &View, info: &NodeInfo) -> Option<View> {
    let mut next = follow(view);
    if view.groups.iter().any(|group| group.in_sync.contains(&info.node)) {
        return None;
    }
    for group in next.groups.iter_mut().filter(|group| group.replicas.contains(&info.node)) {
        group.restorable.retain(|node| *node != info.node);
        if !group.joining.contains(&info.node) {
            group.joining.push(info.node);
        }
    }
    let known = next.nodes.iter_mut().find(|known| known.node == info.node)?;
    known.clone_from(info);
    Some(next)
}

/// The view in which a joining node is in sync in all its groups; the proposer knows that it has caught up and is
/// needed by all (I4).
#[must_use]
pub fn with_in_sync(view: &View, node: NodeId) -> Option<View> {
    let mut next = follow(view);
    let mut is_joining = false;
    for group in next.groups.iter_mut().filter(|group| group.joining.contains(&node)) {
        is_joining = true;
        group.joining.retain(|joining| *joining != node);
        group.in_sync.push(node);
        // The order of replicas is the configured one, so that every view lists them alike.
        let order = group.replicas.clone();
        group.in_sync.sort_by_key(|member| order.iter().position(|replica| replica == member));
    }
    is_joining.then_some(next)
}

/// The view in which a node that was about to stop stays, and gets its share of primaries again; None if it was not.
#[must_use]
pub fn with_staying(view: &View, node: NodeId) -> Option<View> {
    if !view.leaving.contains(&node) {
        return None;
    }
    let mut next = follow(view);
    next.leaving.retain(|leaving| *leaving != node);
    spread(&mut next);
    Some(next)
}

/// The view in which primaries are spread evenly over in-sync members that stay; None if they are.
#[must_use]
pub fn with_spread_primaries(view: &View) -> Option<View> {
    let mut next = follow(view);
    spread(&mut next);
    (next.slots != view.slots).then_some(next)
}

fn spread(view: &mut View) {
    for group in 0..view.groups.len() {
        while let Some((slot, heir)) = one_to_move(view, group) {
            view.slots[slot].primary = heir;
        }
    }
}

/// A slot of the busiest member that the least busy one should lead.
fn one_to_move(view: &View, group: usize) -> Option<(usize, NodeId)> {
    let heir = least_busy_of(view, group, true)?;
    let busiest = *view.groups[group].in_sync.iter().max_by_key(|node| primaries(view, group, **node))?;
    if primaries(view, group, busiest) <= primaries(view, group, heir) + 1 {
        return None;
    }
    let led = |place: &SlotPlace| usize::from(place.group) == group && place.primary == busiest;
    // The last one: the first ones were its own at the beginning.
    Some((view.slots.iter().rposition(led)?, heir))
}

fn least_busy(view: &View, group: usize) -> NodeId {
    stdx::require!(!view.groups[group].in_sync.is_empty(), "a group without in-sync members");
    // Rather one that is about to stop than nobody.
    let heir = least_busy_of(view, group, true).or_else(|| least_busy_of(view, group, false));
    heir.unwrap_or(NodeId(0))
}

fn least_busy_of(view: &View, group: usize, stays: bool) -> Option<NodeId> {
    let members = view.groups[group].in_sync.iter();
    let members = members.filter(|node| !stays || !view.leaving.contains(node));
    members.min_by_key(|node| primaries(view, group, **node)).copied()
}

fn primaries(view: &View, group: usize, node: NodeId) -> usize {
    let led = |place: &&SlotPlace| usize::from(place.group) == group && place.primary == node;
    view.slots.iter().filter(led).count()
}

fn follow(view: &View) -> View {
    View { number: ViewNumber(view.number.0 + 1), ..view.clone() }
}

#[cfg(test)]
mod tests;
