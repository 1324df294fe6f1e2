//! Decides how a cluster that has lost all rows of a group starts from disks. Pure: the leader of the control log asks
//! (`membership::restarting`).
//!
//! ```text
//! lost: a group whose members in sync have started again, or are not heard, one of them started again at least
//!   -> every life that still runs in the view ends, and starts again with a claim
//! plan: from the claims of process starts that no view names yet
//!   -> Restore to each planned node, Restored back from all of them, Command::Restart
//! ```
//! A *candidate* of a group is a disk whose lineage the last view calls restorable there, and that holds all that was
//! ever said to be durable. *D\** is the highest such epoch that any claim knows. The *cut* is the highest epoch that a
//! candidate of each group can be brought to, or up to [`CUT_SLACK_US`] lower if more candidates can then. A disk that
//! has lost something it had flushed does not lower it.
//!
//! Invariants:
//! - I11: the cut is at least D\*, because every candidate holds D\* and the cut is where one of them ends.
//! - I13: a disk counts only for a life that the last view names. So the header of a restart that was planned and never
//!   recorded counts for nothing: no view names the life that wrote it. The points from before it count.
//! - Epochs that an older restart wrote above a later cut are void (`Claim::confirmed`). A disk that is older than the
//!   list of restarts holds nothing that counts.
//! - A group is lost only when one of its members in sync has started again. Nobody acknowledges writes or reads
//!   without all members in sync, so a member that lives out of earshot serves nothing any more.
//! - Where some group never had a restorable life, nothing was ever said to be durable. The cluster begins without rows
//!   then, as at its founding.
//!
//! - Only an operator's recorded word (`Concession`) lets another disk count. Behind a recovery of lost voters the view
//!   may be an old one, and any life counts that holds D\*. Where rows are given up, D\* does not count either, and a
//!   group without any disk begins empty. The cut is found as always: the cluster comes back as it was at one epoch.
//!
//! Deliberately not here: waiting, messages and what nodes do to restore.

use crate::control_state::{Conceded, ControlState, Life};
use crate::mutants::{self, Mutant};
use crate::succession;
use protocol::restart::RestoreOrder;
use protocol::{Claim, ClaimPoint, GroupView, NodeInfo, NodeRole, RestartPoint, View};
use types::{Epoch, Incarnation, NodeId};

/// How much of the last moments is dropped, in microseconds by the marks' times, so that more disks count.
pub const CUT_SLACK_US: u64 = 100_000;

/// The state of a view.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// Each group has members that go on.
    Runs,
    /// Some group is lost: the cluster starts from disks.
    Lost,
}

/// A restart, and what each planned node is told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// The restart.
    pub restart: RestartPoint,
    /// The planned nodes in their newest lives, by id.
    pub nodes: Vec<(NodeInfo, RestoreOrder)>,
    /// Those of them whose group has no disk, though others have: they begin empty.
    pub empty: Vec<NodeId>,
}

impl Plan {
    /// The view with which the restart begins, when all planned nodes have restored.
    #[must_use]
    pub fn view(&self, view: &View) -> Option<View> {
        let members: Vec<NodeInfo> = self.nodes.iter().map(|(info, _)| info.clone()).collect();
        succession::restarted(view, self.restart.cut, &members, &self.empty)
    }
}

/// A replica group without a candidate, and what is known of the nodes that could be one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Missing {
    /// Index into `View::groups`.
    pub group: usize,
    /// The nodes that the last view calls restorable, and why they are none.
    pub nodes: Vec<(NodeId, Lack)>,
}

/// Why a restorable node is no candidate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lack {
    /// It is not there.
    Away,
    /// Its disk does not hold what its restorable life wrote.
    NoRows,
    /// Its disk ends before what is known to be durable.
    TooOld {
        /// The epoch that it holds.
        flushed: Epoch,
        /// The epoch that was said to be durable.
        durable: Epoch,
    },
    /// It is a candidate, but its checkpoints are newer than what another group can be brought to.
    TooNew,
}

/// A disk that counts for a group.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    node: NodeId,
    group: usize,
    low: Epoch,
    point: ClaimPoint,
    /// It has lost something that it had flushed.
    is_damaged: bool,
}

impl Candidate {
    fn reaches(&self, cut: Epoch) -> bool {
        self.low <= cut && cut <= self.point.flushed
    }
}

/// Whether a member of the last view has ended: its node was given a newer life, or an operator has given it up.
fn has_ended(state: &ControlState, node: NodeId) -> bool {
    let in_view = state.view.node(node).map_or(Incarnation(0), |info| info.incarnation);
    state.incarnation(node) > in_view || is_given_up(state, node)
}

/// Whether an operator has given a node up.
#[must_use]
pub fn is_given_up(state: &ControlState, node: NodeId) -> bool {
    state.concession().is_some_and(|concession| concession.without.contains(&node))
}

/// Whether an operator has said that rows may be lost.
fn may_lose(state: &ControlState) -> bool {
    state.concession().is_some_and(|concession| concession.extent == Conceded::Rows)
}

/// The state of the newest view. `is_heard`: the node was heard within StartPartialTimeout.
#[must_use]
pub fn standing(state: &ControlState, is_heard: impl Fn(NodeId) -> bool) -> Standing {
    if state.view.is_stopped {
        return Standing::Lost;
    }
    let is_lost = |group: &GroupView| {
        let is_gone = |node: &NodeId| has_ended(state, *node) || !is_heard(*node);
        group.in_sync.iter().all(is_gone) && group.in_sync.iter().any(|node| has_ended(state, *node))
    };
    if state.view.groups.iter().any(is_lost) { Standing::Lost } else { Standing::Runs }
}

/// The members of the newest view that have to end before a restart can begin, in the lives that it names. Those are
/// the members that are heard, and those whose group has lost nobody yet.
#[must_use]
pub fn runs_still(state: &ControlState, is_heard: impl Fn(NodeId) -> bool) -> Vec<NodeId> {
    let view = &state.view;
    let members = view.nodes.iter().map(|info| info.node).filter(|node| view.is_member(*node));
    let goes_on = |node: &NodeId| {
        let holds = |group: &&GroupView| group.in_sync.contains(node);
        let is_whole = |group: &GroupView| !group.in_sync.iter().any(|node| has_ended(state, *node));
        let is_in_whole_group = view.groups.iter().skip(1).filter(holds).any(is_whole);
        !has_ended(state, *node) && (is_heard(*node) || is_in_whole_group)
    };
    members.filter(goes_on).collect()
}

/// A process start of a data node that no view names, with what its disk holds. Nodes that keep no rows on disk have no
/// claim.
fn starting(state: &ControlState, node: NodeId) -> Option<(&Life, &Claim)> {
    let life = state.life(node).filter(|life| life.join.role == NodeRole::Data)?;
    let named = state.view.node(node).map_or(Incarnation(0), |info| info.incarnation);
    let claim = life.join.claim.as_deref().filter(|_| life.incarnation > named)?;
    Some((life, claim))
}

fn is_of_this_cluster(state: &ControlState, claim: &Claim) -> bool {
    claim.founding == state.group || state.replaced().contains(&claim.founding)
}

/// The highest epoch that any disk there knows to be durable, as far as no later restart has cut it off.
fn durable(state: &ControlState, there: &[NodeId]) -> Epoch {
    if mutants::is(Mutant::DStarIgnored) || may_lose(state) {
        return Epoch(0);
    }
    let claims = there.iter().filter_map(|node| starting(state, *node));
    let claims = claims.filter(|(_, claim)| is_of_this_cluster(state, claim));
    let kept = |durable: Epoch| {
        // An epoch tells in which restart it was stamped: below the first one of a later restart, its cut counts.
        let cuts =
            state.restarts().iter().filter(|restart| durable < restart.first).map(|restart| restart.cut);
        cuts.min().map_or(durable, |cut| cut.min(durable))
    };
    claims.map(|(_, claim)| kept(claim.durable)).max().unwrap_or(Epoch(0))
}

/// The point of a node's disk that counts for a group: of a life that the last view calls restorable there. It is
/// lowered to the epochs that later restarts have kept.
fn named_point<'a>(
    state: &'a ControlState,
    group: &GroupView,
    node: NodeId,
) -> Option<(ClaimPoint, &'a Claim)> {
    let (_, claim) = starting(state, node).filter(|(_, claim)| is_of_this_cluster(state, claim))?;
    let is_named = |point: &ClaimPoint| {
        let mut is_named = group.restorable.contains(&(node, point.lineage)) || state.concession().is_some();
        if mutants::is(Mutant::LineageIgnored) {
            is_named = true;
        }
        is_named
    };
    let mut point = claim.confirmed(state.restarts(), is_named);
    if mutants::is(Mutant::UnconfirmedHeaderCounts) {
        // The newest header, whoever has planned its restart.
        point = claim.points.first().copied();
    }
    if mutants::is(Mutant::OldTailReturns) {
        // The newest point as it was before any restart.
        point =
            claim.points.iter().find(|point| point.restart < state.view.restart.number).copied().or(point);
    }
    Some((point?, claim))
}

/// The candidates of all replica groups. The system slot's group has all nodes, so whoever holds its own group's rows
/// holds those, too.
fn candidates(state: &ControlState, there: &[NodeId], durable: Epoch) -> Vec<Candidate> {
    let mut found = Vec::new();
    for (group, at) in state.view.groups.iter().enumerate().skip(1) {
        for node in at.replicas.iter().filter(|node| there.contains(node)) {
            let Some((point, claim)) = named_point(state, at, *node) else { continue };
            if point.flushed >= durable {
                let (low, is_damaged) = (claim.low.max(point.low), claim.is_damaged);
                found.push(Candidate { node: *node, group, low, point, is_damaged });
            }
        }
    }
    found
}

/// The cut, if a candidate of each of these groups can be brought to one.
fn cut(candidates: &[Candidate], groups: &[usize]) -> Option<Epoch> {
    let is_cut = |cut: Epoch| {
        let can = |group: &usize| candidates.iter().any(|disk| disk.group == *group && disk.reaches(cut));
        groups.iter().all(can)
    };
    let ends = || candidates.iter().map(|disk| disk.point.flushed);
    let mut highest = ends().filter(|end| is_cut(*end)).max()?;
    if mutants::is(Mutant::CutTooHigh) {
        highest = ends().max()?;
    }
    let marked_at = |cut: Epoch| {
        candidates.iter().filter(|disk| disk.point.flushed == cut).map(|disk| disk.point.closed_at_us).max()
    };
    let newest = marked_at(highest).unwrap_or(0);
    let is_near = |cut: &Epoch| {
        *cut == highest
            || marked_at(*cut).is_some_and(|at| at > 0 && newest.saturating_sub(at) <= CUT_SLACK_US)
    };
    // The epochs that a damaged disk has lost may have been durable, and no claim may know it yet.
    let whole = candidates.iter().filter(|disk| !disk.is_damaged).map(|disk| disk.point.flushed);
    let lower = whole.filter(|end| *end <= highest && is_cut(*end)).filter(is_near);
    // As many as can; of those, the highest.
    lower
        .max_by_key(|end| (candidates.iter().filter(|disk| disk.reaches(*end)).count(), *end))
        .or(Some(highest))
}

/// The restart that the process starts that are there allow, or the groups that lack a disk.
pub fn plan(state: &ControlState, there: &[NodeId]) -> Result<Plan, Vec<Missing>> {
    let there: Vec<NodeId> = there.iter().copied().filter(|node| !is_given_up(state, *node)).collect();
    if began_without_durable(state) && state.concession().is_none() {
        return plan_empty(state, &there);
    }
    let durable = durable(state, &there);
    let candidates = candidates(state, &there, durable);
    let has_disk = |group: &usize| candidates.iter().any(|disk| disk.group == *group);
    let all = 1..state.view.groups.len();
    let (with, without): (Vec<usize>, Vec<usize>) = all.clone().partition(has_disk);
    if with.is_empty() && may_lose(state) {
        return plan_empty(state, &there);
    }
    let groups = if may_lose(state) { with } else { all.collect() };
    let Some(cut) = cut(&candidates, &groups) else {
        return Err(missing(state, &there, durable, &candidates));
    };
    let empty = beginning_empty(state, &there, &without)?;
    let restart = state.view.restart.next(cut);
    let mut nodes: Vec<(NodeInfo, RestoreOrder)> = Vec::new();
    let mut reaching: Vec<&Candidate> = candidates.iter().filter(|disk| disk.reaches(cut)).collect();
    if mutants::is(Mutant::CutTooHigh) {
        reaching = candidates.iter().collect();
    }
    let sources = reaching.into_iter().map(|disk| (disk.node, disk.point.lineage));
    for (node, source) in sources.chain(empty.iter().map(|node| (*node, Incarnation(0)))) {
        nodes.push((state.info(node, NodeRole::Data), RestoreOrder { restart, source }));
    }
    nodes.sort_by_key(|(info, _)| info.node);
    Ok(Plan { restart, nodes, empty })
}

/// The nodes that begin without rows, because their group has no disk that counts.
fn beginning_empty(
    state: &ControlState,
    there: &[NodeId],
    groups: &[usize],
) -> Result<Vec<NodeId>, Vec<Missing>> {
    let (mut empty, mut lacking) = (Vec::new(), Vec::new());
    for group in groups {
        let replicas = state.view.groups.get(*group).map_or(&[][..], |at| &at.replicas);
        let can_begin = |node: &&NodeId| there.contains(*node) && starting(state, **node).is_some();
        let before = empty.len();
        empty.extend(replicas.iter().filter(can_begin).copied());
        if empty.len() == before {
            let nodes = replicas.iter().map(|node| (*node, Lack::Away)).collect();
            lacking.push(Missing { group: *group, nodes });
        }
    }
    if lacking.is_empty() { Ok(empty) } else { Err(lacking) }
}

/// Nothing was ever said to be durable: some group never had a restorable life.
fn began_without_durable(state: &ControlState) -> bool {
    state.view.groups.iter().any(|group| group.restorable.is_empty())
}

/// A restart without rows, of all nodes that are there.
fn plan_empty(state: &ControlState, there: &[NodeId]) -> Result<Plan, Vec<Missing>> {
    let restart = state.view.restart.next(Epoch(0));
    let order = RestoreOrder { restart, source: Incarnation(0) };
    let groups: Vec<usize> = (1..state.view.groups.len()).collect();
    let mut nodes = beginning_empty(state, there, &groups)?;
    nodes.sort_unstable();
    let nodes = nodes.into_iter().map(|node| (state.info(node, NodeRole::Data), order)).collect();
    Ok(Plan { restart, nodes, empty: Vec::new() })
}

/// The groups that keep the cluster from starting, and why.
fn missing(state: &ControlState, there: &[NodeId], durable: Epoch, candidates: &[Candidate]) -> Vec<Missing> {
    let groups = state.view.groups.iter().enumerate().skip(1);
    let lacks = |(group, at): (usize, &GroupView)| {
        let mut named: Vec<NodeId> = at.restorable.iter().map(|(node, _)| *node).collect();
        named.dedup();
        let lack = |node: NodeId| {
            if !there.contains(&node) {
                return Lack::Away;
            }
            match named_point(state, at, node) {
                None => Lack::NoRows,
                Some((point, _)) if point.flushed < durable => {
                    Lack::TooOld { flushed: point.flushed, durable }
                }
                Some(_) => Lack::TooNew,
            }
        };
        let nodes = named.into_iter().map(|node| (node, lack(node))).collect();
        Missing { group, nodes }
    };
    let is_lacking = |(group, _): &(usize, &GroupView)| !candidates.iter().any(|disk| disk.group == *group);
    let without: Vec<Missing> = groups.clone().filter(is_lacking).map(lacks).collect();
    if without.is_empty() { groups.map(lacks).collect() } else { without }
}

#[cfg(test)]
pub(crate) mod tests;
