//! Which view may follow which, and how the usual ones are made. Pure: the control log asks when it applies a change,
//! proposers ask before.
//!
//! Invariants that a legal step keeps (ARCHITECTURE.md numbers them):
//! - views are numbered without gaps;
//! - I5: every replica group keeps an in-sync member, and every primary is one;
//! - I4, the part that a view can show: a node that enters the in-sync set was *joining* in the view before, in the
//!   same life. The proposer must know that it has caught up. All others wait for its answers from that view on;
//! - a member that stays in sync stays in the same life: rows of an earlier process start exist nowhere;
//! - the founding stays;
//! - a slot's group and rank never change: they say which `ldm` of a node owns it;
//! - a slot is led from home if it can be; else whole tables, whose slots lie in a few ranks, would be led by one node
//!   after a restart;
//! - a primary moves *by hand-over*, to the same line (`since`), only from a member that stays in sync; else a new line
//!   begins;
//! - I7, the part that a view can show: a life becomes restorable while it is in sync. A group's restorable lives go
//!   only while one of them stays that is in sync. So the disk of the last of them is waited for;
//! - a cluster that stops as a whole ends with a view of the same members ([`stopped`]); only a restart follows it;
//! - a restart begins with a view of its own kind ([`check_restart`]): everybody in it is in sync and restorable in the
//!   newest life, and nothing from before goes on.
//!
//! Deliberately not here: adding replica groups (they need their own steps), and suspicion of nodes (`detector`).

use crate::mutants::{self, Mutant};
use protocol::control::GroupId;
use protocol::{GroupView, NodeInfo, SlotPlace, View};
use std::collections::BTreeMap;
use types::{Epoch, Incarnation, NodeId, SlotId, ViewNumber};

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
    /// A group would lose its last restorable life (I7).
    NotRestorable,
    /// Groups, replicas or slots do not fit together.
    Malformed,
    /// The cluster is stopped: only a restart follows.
    Stopped,
}

/// Whether `next` may follow `view`; `lives` are the newest incarnations that were given out.
pub fn check(view: &View, next: &View, lives: &BTreeMap<NodeId, Incarnation>) -> Result<(), Illegal> {
    if view.number.0.checked_add(1) != Some(next.number.0) {
        return Err(Illegal::Overtaken);
    }
    if view.is_stopped && !mutants::is(Mutant::StopUnrecorded) {
        return Err(Illegal::Stopped);
    }
    check_lives(next, lives)?;
    let is_of_restart = next.restart == view.restart && next.begun == view.begun;
    if !is_alike(view, next) || !is_of_restart || next.is_stopped != view.is_stopped {
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

/// The same slots in the same groups of the same founding.
fn is_alike(view: &View, next: &View) -> bool {
    let stays =
        |(before, after): (&SlotPlace, &SlotPlace)| before.group == after.group && before.rank == after.rank;
    next.founding == view.founding
        && next.groups.len() == view.groups.len()
        && next.slots.len() == view.slots.len()
        && next.slot_terms() == view.slot_terms()
        && view.slots.iter().zip(&next.slots).all(stays)
}

/// The view of a cluster that has stopped as a whole: the same members, whose lives are over. All that were in sync and
/// keep rows on disk are restorable, because they have flushed everything.
#[must_use]
pub fn stopped(view: &View, keeps_rows: impl Fn(NodeId) -> bool) -> View {
    let mut next = follow(view);
    next.is_stopped = true;
    for group in &mut next.groups {
        let named = |node: &NodeId| view.node(*node).map(|info| (*node, info.incarnation));
        let on_disk = group.in_sync.iter().filter(|node| keeps_rows(**node));
        group.restorable = on_disk.filter_map(named).collect();
    }
    next
}

/// Whether a restart may begin with `next`. Its members are in sync in the newest life that their nodes were given: a
/// life that has ended has nothing in memory any more.
pub fn check_restart(view: &View, next: &View, lives: &BTreeMap<NodeId, Incarnation>) -> Result<(), Illegal> {
    let is_next = view.number.0.checked_add(1) == Some(next.number.0);
    if !is_next || view.restart.next(next.restart.cut) != next.restart {
        return Err(Illegal::Overtaken);
    }
    check_lives(next, lives)?;
    let is_new = |place: &SlotPlace| place.since == next.number;
    if !is_alike(view, next) || next.begun != next.number || !next.slots.iter().all(is_new) {
        return Err(Illegal::Malformed);
    }
    for (index, (before, after)) in view.groups.iter().zip(&next.groups).enumerate() {
        let life = |node: &NodeId| next.node(*node).map(|info| info.incarnation);
        if after.in_sync.is_empty() {
            return Err(Illegal::NotViable);
        }
        let mut members = after.in_sync.iter().chain(&after.joining);
        if members.any(|node| life(node).is_none() || life(node) != lives.get(node).copied()) {
            return Err(Illegal::WrongLife);
        }
        let named = after.in_sync.iter().filter_map(|node| Some((*node, life(node)?)));
        let leads = |node: &NodeId| next.groups.iter().skip(1).any(|group| group.in_sync.contains(node));
        let may_join = after.joining.is_empty() || index == 0 && after.joining.iter().all(leads);
        let is_whole = before.replicas == after.replicas && may_join;
        if !is_whole || !named.eq(after.restorable.iter().copied()) {
            return Err(Illegal::Malformed);
        }
    }
    let is_running = next.leaving.is_empty() && !next.is_stopped;
    if next.is_well_formed() && is_running { Ok(()) } else { Err(Illegal::Malformed) }
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
    let is_new = |named: &&(NodeId, Incarnation)| !before.restorable.contains(named);
    let is_joined = |(node, named): &(NodeId, Incarnation)| {
        before.in_sync.contains(node) && after.in_sync.contains(node) && life(next, *node) == Some(*named)
    };
    if !after.restorable.iter().filter(is_new).all(is_joined) {
        return Err(Illegal::NotJoined);
    }
    let is_kept = |named: &(NodeId, Incarnation)| after.restorable.contains(named);
    let stays = |named: &(NodeId, Incarnation)| is_kept(named) && is_in_sync(next, after, *named);
    if !before.restorable.iter().all(is_kept) && !before.restorable.iter().any(stays) {
        return Err(Illegal::NotRestorable);
    }
    Ok(())
}

/// A life is in sync in a group.
fn is_in_sync(view: &View, group: &GroupView, (node, life): (NodeId, Incarnation)) -> bool {
    group.in_sync.contains(&node) && view.node(node).is_some_and(|info| info.incarnation == life)
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
        // A group's last restorable lives stay, though they have left: what they have on disk is waited for.
        let stays = group.restorable.iter().any(|named| is_in_sync(view, group, *named));
        let mut is_left = stays;
        if mutants::is(Mutant::LastLeavesEarly) {
            is_left = true;
        }
        if mutants::is(Mutant::DeadStayRestorable) {
            is_left = false;
        }
        if is_left {
            group.restorable.retain(|(node, _)| !gone.contains(node));
        }
    }
    for slot in
        orphans(&next, |next, place| !next.groups[usize::from(place.group)].in_sync.contains(&place.primary))
    {
        // Rather one that is about to stop than nobody.
        let heir = heir(&next, slot, true).or_else(|| heir(&next, slot, false))?;
        let place = &mut next.slots[slot.0 as usize];
        (place.primary, place.since) = (heir, next.number);
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

/// The first view of another founding when no group is sure to have a member that lives: the rows are on disks.
#[must_use]
pub fn refounded_stopped(view: &View, founding: GroupId, leap: u64) -> View {
    let number = ViewNumber(view.number.0 + leap);
    View { number, founding, is_stopped: true, ..view.clone() }
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
    for slot in orphans(&next, |_, place| place.primary == node) {
        next.slots[slot.0 as usize].primary = heir(&next, slot, true)?;
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
/// it as in sync. An earlier life that is restorable still stays so: either disk counts until one of them does.
#[must_use]
pub fn with_joining(view: &View, info: &NodeInfo) -> Option<View> {
    let mut next = follow(view);
    if view.groups.iter().any(|group| group.in_sync.contains(&info.node)) {
        return None;
    }
    for group in next.groups.iter_mut().filter(|group| group.replicas.contains(&info.node)) {
        if !group.joining.contains(&info.node) {
            group.joining.push(info.node);
        }
    }
    let known = next.nodes.iter_mut().find(|known| known.node == info.node)?;
    known.clone_from(info);
    Some(next)
}

/// The view in which a joining node is in sync in all its groups; the proposer knows that it has caught up (I4).
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

/// The view in which a node in sync is restorable in all its groups; None if it is, or is not in sync. The proposer
/// knows that its log is on disk, behind its *joined* mark, and that an epoch was said that counts it.
#[must_use]
pub fn with_restorable(view: &View, node: NodeId) -> Option<View> {
    let named = (node, view.node(node)?.incarnation);
    let mut next = follow(view);
    let mut is_new = false;
    for group in &mut next.groups {
        let mut is_joined = group.in_sync.contains(&node);
        if mutants::is(Mutant::RestorableBeforeJoined) {
            is_joined |= group.joining.contains(&node);
        }
        if is_joined && !group.restorable.contains(&named) {
            is_new = true;
            group.restorable.push(named);
            let order = group.replicas.clone();
            group.restorable.sort_by_key(|(node, _)| order.iter().position(|replica| replica == node));
        }
    }
    is_new.then_some(next)
}

/// The view without the restorable lives that have left, in groups where this node is restorable and in sync; None if
/// there are none. The proposer knows that an epoch was said to be durable that counts its disk.
#[must_use]
pub fn with_durable(view: &View, node: NodeId) -> Option<View> {
    let named = (node, view.node(node)?.incarnation);
    let mut next = follow(view);
    for group in &mut next.groups {
        if group.restorable.contains(&named) && group.in_sync.contains(&node) {
            let in_sync = group.in_sync.clone();
            let is_here = |(node, life): &(NodeId, Incarnation)| {
                in_sync.contains(node) && view.node(*node).is_some_and(|info| info.incarnation == *life)
            };
            group.restorable.retain(is_here);
        }
    }
    (next.groups != view.groups).then_some(next)
}

/// The first view of a restart: these lives are in sync and restorable, and nobody else is there. None if a group would
/// have no member. Those that begin empty, where others have rows, are in sync in their own group only: the system's
/// rows are copied to them.
#[must_use]
pub fn restarted(view: &View, cut: Epoch, members: &[NodeInfo], empty: &[NodeId]) -> Option<View> {
    let mut next = follow(view);
    (next.restart, next.begun, next.is_stopped) = (view.restart.next(cut), next.number, false);
    next.leaving.clear();
    for info in members {
        next.nodes.iter_mut().find(|known| known.node == info.node)?.clone_from(info);
    }
    for (index, group) in next.groups.iter_mut().enumerate() {
        let joins = |node: &NodeId| index == 0 && empty.contains(node);
        let life = |node: &NodeId| members.iter().find(|info| info.node == *node);
        let named = group.replicas.iter().filter_map(life).map(|info| (info.node, info.incarnation));
        group.restorable = named.clone().filter(|(node, _)| !joins(node)).collect();
        group.joining = named.map(|(node, _)| node).filter(joins).collect();
        group.in_sync = group.restorable.iter().map(|(node, _)| *node).collect();
        if group.in_sync.is_empty() {
            return None;
        }
    }
    let is_orphan = |next: &View, place: &SlotPlace| {
        !next.groups[usize::from(place.group)].in_sync.contains(&place.primary)
    };
    for slot in orphans(&next, is_orphan) {
        next.slots[slot.0 as usize].primary = heir(&next, slot, false)?;
    }
    spread(&mut next);
    for place in &mut next.slots {
        place.since = next.number;
    }
    Some(next)
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

/// Primaries go home. Those of a home that is away are spread over the others then, rank by rank.
fn spread(view: &mut View) {
    let at_home = |view: &View, slot, heir| is_at_home(view, slot, heir);
    let less_busy = |view: &View, slot, heir| {
        let led = |node| led_by(view, slot, node).0;
        view.place(slot)
            .is_some_and(|place| !is_at_home(view, slot, place.primary) && led(heir) + 1 < led(place.primary))
    };
    move_where(view, at_home);
    move_where(view, less_busy);
}

/// Gives those slots to their heirs for which that is better.
fn move_where(view: &mut View, is_better: impl Fn(&View, SlotId, NodeId) -> bool) {
    for slot in view.user_slots() {
        let heir = heir(view, slot, true).filter(|heir| is_better(view, slot, *heir));
        if let Some(heir) = heir {
            view.slots[slot.0 as usize].primary = heir;
        }
    }
}

fn is_at_home(view: &View, slot: SlotId, node: NodeId) -> bool {
    view.home(slot) == Some(node) && !mutants::is(Mutant::HomeIgnored)
}

/// Slots that need another primary.
fn orphans(view: &View, needs: impl Fn(&View, &SlotPlace) -> bool) -> Vec<SlotId> {
    let of_view = (0..).map(SlotId).zip(&view.slots);
    of_view.filter(|(_, place)| needs(view, place)).map(|(slot, _)| slot).collect()
}

/// The next primary of a slot: its home, or the member that leads the fewest slots of its rank, then of its group.
/// `stays`: only members that are not about to stop.
fn heir(view: &View, slot: SlotId, stays: bool) -> Option<NodeId> {
    let group = view.groups.get(usize::from(view.place(slot)?.group))?;
    let members = group.in_sync.iter().copied().filter(|node| !stays || !view.leaving.contains(node));
    members
        .clone()
        .find(|node| is_at_home(view, slot, *node))
        .or_else(|| members.min_by_key(|node| led_by(view, slot, *node)))
}

/// How many slots of a slot's rank, and of its group, a node leads.
fn led_by(view: &View, slot: SlotId, node: NodeId) -> (usize, usize) {
    let Some(position) = view.slot_terms().position(slot) else { return (0, 0) };
    let slots = view.slot_terms().slots_of_group(position.group);
    let led = slots.filter_map(|slot| view.place(SlotId(slot))).filter(|place| place.primary == node);
    led.fold((0, 0), |(of_rank, of_group), place| {
        (of_rank + usize::from(place.rank == position.rank), of_group + 1)
    })
}

fn follow(view: &View) -> View {
    View { number: ViewNumber(view.number.0 + 1), ..view.clone() }
}

#[cfg(test)]
pub(crate) mod tests;
