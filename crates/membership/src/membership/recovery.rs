//! An operator's recovery: a majority of the voters is gone with its disks, and the control log goes on from one of the
//! copies that live.
//!
//! Raft alone waits for ever then, and rightly so: a copy cannot tell a majority that is gone from one that it does not
//! reach. Only an operator knows, and names the nodes that are gone. This is a two-phase commit between those that are
//! left:
//!
//! ```text
//! operator -> any management node -> Order -> a node with a copy, the founder
//! founder -> each management and data node that is not named   Prepare     (from here on it is out of the old log)
//! each    -> founder                                           Prepared    its life, its view, the length of its log,
//!                                                                          the named nodes that it hears
//! founder: decides; writes a new file of the log, with another founding, higher numbers and itself as the only voter.
//!          That is the commit.
//! founder -> everybody                                            Replaced, then the first view of the new founding
//! each: drops its old copy, enters that view, asks for a copy of the new log.  (after a refusal: Released)
//! ```
//! The founder goes on with everything that its copy holds, committed or not, and with the newest view that any
//! survivor knows. The decisions of those that are gone are in there, if a survivor has heard of them.
//!
//! Invariants:
//! - *No living node is passed over.* Each management and data node of the configuration is named, or takes part, or
//!   has said itself that it has no log and no rows. None of those named is connected with a node that takes part. So a
//!   minority that is cut off recovers only by a false word of its operator.
//! - *The rows are here*: of each replica group a member takes part that is in sync in the newest view, in the life
//!   that the view names. Where data nodes keep rows on disk they may be there instead. Then the new founding begins
//!   with a view that is stopped, and the cluster starts from disks that hold what is known to be durable.
//! - *One founding follows.* A node takes part in one recovery at a time, the founder in its own. Each that takes part
//!   keeps out of the old log, and out of views of the old founding. It does so until the founder says how it ended, or
//!   an operator names that founder as gone. A process that forgets this has lost its rows with it, so no view without
//!   the others can follow from what it does then.
//! - *Nothing is given twice*: numbers of views, lives, voters and entries go on [`NUMBERS_LEAP`] higher.
//! - *The old logs are void for ever*: messages name their founding, and each node of the new one knows all that it has
//!   replaced. A process of the old one that meets it ends; one that starts with an old copy drops it and asks for a
//!   new one.
//!
//! Deliberately not here: recovering where no copy lives at all; and the rows of a replica group of which no member
//! lives: they are gone.

use super::Membership;
use crate::control_state::{ControlState, NUMBERS_LEAP, RecoveryRecord};
use crate::mutants::{self, Mutant};
use crate::succession;
use protocol::control::{
    ControlMessage, GONE_MAX, GroupId, RecoveryMessage, RecoveryOrder, RecoveryOutcome, Survivor,
};
use protocol::module::EXIT_LEFT_OUT;
use protocol::{Address, NodeRole, Outputs, Severity, Signal, View};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use stdx::{Duration, Instant, Now};
use types::{Incarnation, NodeId, ViewNumber};

/// How long the founder waits for those that live.
const PREPARE_TIME: Duration = Duration::from_secs(3);
/// How long an operator's node waits for the founder: less than its client waits for an answer.
const ORDER_TIME: Duration = Duration::from_secs(8);
/// How often a survivor asks how it ended.
const CHECK_EVERY: Duration = Duration::from_secs(1);

/// An order of this node's operator.
struct Pending {
    order: RecoveryOrder,
    tried: Vec<NodeId>,
    until: Instant,
}

/// The founding that this node has begun.
struct Founding {
    id: GroupId,
    order: RecoveryOrder,
    asker: NodeId,
    missing: BTreeSet<NodeId>,
    survivors: BTreeMap<NodeId, Survivor>,
    until: Instant,
    /// The file is on its way to the disk: there is no way back.
    is_begun: bool,
}

/// The recovery that this node takes part in.
struct Promise {
    id: GroupId,
    founder: NodeId,
    check_at: Instant,
}

/// A node's part in recoveries.
#[derive(Default)]
pub(crate) struct Recovery {
    seed: [u8; 32],
    begun: u64,
    pending: Option<Pending>,
    founding: Option<Founding>,
    promise: Option<Promise>,
    /// The newest founding that says what it has replaced, and what that is.
    replaced: (GroupId, Vec<GroupId>),
    /// Nodes that are connected and have asked for a log, because they have none, and the process start that did.
    without_log: BTreeMap<NodeId, u64>,
}

impl Recovery {
    pub(crate) fn seed(&mut self, seed: &[u8; 32]) {
        self.seed = *seed;
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        let founding = self.founding.as_ref().filter(|founding| !founding.is_begun);
        let times = [
            self.pending.as_ref().map(|pending| pending.until),
            founding.map(|founding| founding.until),
            self.promise.as_ref().map(|promise| promise.check_at),
        ];
        times.into_iter().flatten().min()
    }

    /// The founding that this node waits for, if it takes part in a recovery: views of others are void for it.
    pub(crate) fn awaited(&self) -> Option<GroupId> {
        let founding = self.founding.as_ref().map(|founding| founding.id);
        founding.or(self.promise.as_ref().map(|promise| promise.id))
    }

    /// The node that has begun the recovery that this node waits for.
    pub(crate) fn founder(&self) -> Option<NodeId> {
        self.promise.as_ref().map(|promise| promise.founder)
    }

    /// The process start of a connected node that has no log, as it says.
    pub(crate) fn asker(&self, node: NodeId) -> Option<u64> {
        self.without_log.get(&node).copied()
    }

    /// Whether a founding is one that `founding` has replaced, as was said.
    fn is_replaced(&self, old: GroupId, founding: GroupId) -> bool {
        self.replaced.0 == founding && self.replaced.1.contains(&old)
    }

    fn new_id(&mut self, old: GroupId) -> GroupId {
        self.begun += 1;
        let mut bytes = self.seed.to_vec();
        bytes.extend_from_slice(&self.begun.to_le_bytes());
        bytes.extend_from_slice(&old.0.to_le_bytes());
        GroupId(stdx::hash64(&bytes).max(1))
    }
}

/// The founder decides from the answers of all: the view with which it goes on, or why it does not.
pub fn decide(
    state: &ControlState,
    own: (u64, u64),
    survivors: &BTreeMap<NodeId, Survivor>,
    id: GroupId,
) -> Result<View, Refused> {
    for (node, survivor) in survivors {
        if let Some(reason) = &survivor.refusal {
            return Err(Refused::Text(format!("node {node}: {reason}")));
        }
        if mutants::is(Mutant::RecoveryDespiteAnswer) {
            continue;
        }
        let answering = survivor.hears.iter().find(|(gone, asked)| !is_empty_handed(state, *gone, *asked));
        if let Some((gone, _)) = answering {
            return Err(Refused::Text(format!("node {gone} is not gone: it is connected with node {node}")));
        }
    }
    let logs = survivors.iter().filter_map(|(node, survivor)| Some((survivor.log?, *node)));
    if let Some((_, better)) = logs.max().filter(|(log, _)| *log > own) {
        return Err(Refused::Elsewhere(better));
    }
    let views = survivors.values().map(|survivor| &survivor.view);
    let newest = views.filter(|view| view.founding == state.group).max_by_key(|view| view.number);
    let base = newest.filter(|view| view.number > state.view.number).unwrap_or(&state.view);
    let lives = |node: NodeId| {
        if mutants::is(Mutant::RecoveryWithoutMembers) {
            return true;
        }
        let named = base.node(node).map(|info| info.incarnation);
        survivors.get(&node).is_some_and(|survivor| Some(survivor.incarnation) == named)
    };
    let gone: Vec<NodeId> = base
        .nodes
        .iter()
        .map(|info| info.node)
        .filter(|node| base.is_member(*node) && !lives(*node))
        .collect();
    let mut leap = NUMBERS_LEAP;
    if mutants::is(Mutant::NumbersGivenTwice) {
        leap = 1;
    }
    if let Some(view) = succession::refounded(base, &gone, id, leap) {
        return Ok(view);
    }
    if state.settings.members.iter().any(|(node, _)| state.keeps_rows(*node)) {
        // The rows are on disks, and the cluster starts from those.
        return Ok(succession::refounded_stopped(base, id, leap));
    }
    Err({
        let group =
            base.groups.iter().skip(1).position(|group| group.in_sync.iter().all(|node| !lives(*node)));
        let group = group.unwrap_or(0);
        Refused::Text(format!("no node that lives has all rows of node group {group}"))
    })
}

/// A node that has asked for a log in a process start that was never let in: it has neither log nor rows.
fn is_empty_handed(state: &ControlState, node: NodeId, asked: Option<u64>) -> bool {
    asked.is_some_and(|start| {
        let is_let_in = state.life(node).is_some_and(|life| life.join.start == start);
        let is_voter = state.voter_of(node).is_some_and(|info| info.start == start);
        !is_let_in && !is_voter
    })
}

/// Why a founder founds nothing.
#[derive(PartialEq, Eq, Debug)]
pub enum Refused {
    /// In words.
    Text(String),
    /// The copy of this node is longer.
    Elsewhere(NodeId),
}

fn list(nodes: impl IntoIterator<Item = NodeId>) -> String {
    nodes.into_iter().map(|node| node.to_string()).collect::<Vec<String>>().join(", ")
}

impl Membership {
    fn say<S>(&self, to: NodeId, message: RecoveryMessage, outputs: &mut Outputs<S>) {
        let message = Signal::Control(Box::new(ControlMessage::Recovery(message)));
        outputs.send(self.me(), Address::membership(to), message);
    }

    // ---- the operator's node ----------------------------------------------------------------------------------------

    /// The operator of this node gives an order: the first node that may be able to carry it out gets it.
    pub(crate) fn on_operators_order<S>(&mut self, now: Now, order: RecoveryOrder, outputs: &mut Outputs<S>) {
        if self.recovery.pending.is_some() {
            return self.tell_operator(order.number, "ERROR: another order to recover is under way", outputs);
        }
        let until = now.monotonic + ORDER_TIME;
        self.recovery.pending = Some(Pending { order, tried: Vec::new(), until });
        self.hand_on_order(now, outputs);
    }

    fn hand_on_order<S>(&mut self, now: Now, outputs: &mut Outputs<S>) {
        let me = self.config.node;
        let Some(pending) = &self.recovery.pending else { return };
        let is_open = |node: &NodeId| {
            let is_here = *node == me || self.up.contains(node);
            is_here && !pending.order.without.contains(node) && !pending.tried.contains(node)
        };
        let mut nodes = vec![me];
        nodes.extend(self.config.eligible());
        let next = nodes.into_iter().find(is_open);
        let order = pending.order.clone();
        let Some(next) = next else {
            self.recovery.pending = None;
            let text = "ERROR: no node that lives and is connected has a copy of the control log; nothing was changed";
            return self.tell_operator(order.number, text, outputs);
        };
        if let Some(pending) = &mut self.recovery.pending {
            pending.tried.push(next);
        }
        if next == me {
            self.on_order(now, me, order, outputs);
        } else {
            self.say(next, RecoveryMessage::Order(order), outputs);
        }
    }

    fn tell_operator<S>(&self, number: u64, text: &str, outputs: &mut Outputs<S>) {
        let told = Signal::VotersRecovered { number, text: text.to_owned() };
        outputs.send(self.me(), Address::main(self.config.node), told);
    }

    fn on_answer<S>(
        &mut self,
        now: Now,
        (number, outcome, text): (u64, RecoveryOutcome, &str),
        outputs: &mut Outputs<S>,
    ) {
        let is_its = |pending: &mut Pending| pending.order.number == number;
        if !self.recovery.pending.as_mut().is_some_and(is_its) {
            return;
        }
        match outcome {
            RecoveryOutcome::Elsewhere => self.hand_on_order(now, outputs),
            RecoveryOutcome::Done => {
                self.recovery.pending = None;
                self.tell_operator(number, text, outputs);
            }
            RecoveryOutcome::Refused => {
                self.recovery.pending = None;
                self.tell_operator(number, &format!("ERROR: nothing was changed: {text}"), outputs);
            }
        }
    }

    fn answer_order<S>(
        &mut self,
        now: Now,
        (asker, number): (NodeId, u64),
        outcome: RecoveryOutcome,
        text: String,
        outputs: &mut Outputs<S>,
    ) {
        if asker == self.config.node {
            self.on_answer(now, (number, outcome, &text), outputs);
        } else {
            self.say(asker, RecoveryMessage::Answer { number, outcome, text }, outputs);
        }
    }

    // ---- the founder ------------------------------------------------------------------------------------------------

    /// An order that this node may carry out.
    fn on_order<S>(&mut self, now: Now, asker: NodeId, order: RecoveryOrder, outputs: &mut Outputs<S>) {
        let to = (asker, order.number);
        let is_able = self.log_state().is_some_and(|state| state.view.number > ViewNumber(0));
        if !is_able {
            let text = format!("node {} has no copy of the control log", self.config.node);
            return self.answer_order(now, to, RecoveryOutcome::Elsewhere, text, outputs);
        }
        match self.refusal_of_order(&order) {
            Some((outcome, text)) => self.answer_order(now, to, outcome, text, outputs),
            None => self.begin_founding(now, asker, order, outputs),
        }
    }

    /// The answer that this node can give at once, from what it knows by itself.
    fn refusal_of_order(&self, order: &RecoveryOrder) -> Option<(RecoveryOutcome, String)> {
        let state = self.log_state()?;
        let me = self.config.node;
        let refused = |text: String| Some((RecoveryOutcome::Refused, text));
        if !order.cluster.eq_ignore_ascii_case(&self.config.cluster) {
            return refused(format!("the name of this cluster is '{}'", self.config.cluster));
        }
        let named: BTreeSet<NodeId> = order.without.iter().copied().collect();
        let done = state
            .recoveries()
            .last()
            .is_some_and(|last| last.without.iter().copied().eq(named.iter().copied()));
        if done && self.log.as_ref().is_some_and(|log| log.leader().is_some()) {
            let text = format!("node {me} goes on without node {} already", list(named));
            return Some((RecoveryOutcome::Done, text));
        }
        if self.recovery.awaited().is_some_and(|_| !self.is_freed_by(&order.without)) {
            return refused(format!("node {me} takes part in another recovery, which has not ended"));
        }
        let eligible = self.config.eligible();
        if let Some(unknown) = named.iter().find(|node| !eligible.contains(node)) {
            return refused(format!("there is no management or data node {unknown} in config.ini"));
        }
        if named.is_empty() || named.len() > GONE_MAX || named.contains(&me) {
            return refused(format!("name the nodes that are gone; node {me}, which answers, is not"));
        }
        let is_gone =
            |node: NodeId| named.contains(&node) || is_empty_handed(state, node, self.recovery.asker(node));
        let voting = state.voters().iter().filter(|info| info.votes).map(|info| info.node);
        let (lost, living): (Vec<NodeId>, Vec<NodeId>) = voting.partition(|node| is_gone(*node));
        if living.len() > lost.len() {
            return refused(format!(
                "node {} are a majority of the voters, and not lost: start those of them that do not run; what else is gone is replaced by itself",
                list(living)
            ));
        }
        let is_here = |node: &NodeId| *node == me || self.up.contains(node);
        let away = eligible.iter().copied().filter(|node| !is_here(node) && !named.contains(node));
        let away: Vec<NodeId> = away.collect();
        if !away.is_empty() {
            return refused(format!(
                "node {} is neither connected with node {me} nor named as gone: it may live",
                list(away)
            ));
        }
        None
    }

    /// The founder of the recovery that this node waits for is said to be gone.
    fn is_freed_by(&self, without: &[NodeId]) -> bool {
        self.recovery.founding.is_none()
            && self.recovery.founder().is_some_and(|founder| without.contains(&founder))
    }

    fn begin_founding<S>(&mut self, now: Now, asker: NodeId, order: RecoveryOrder, outputs: &mut Outputs<S>) {
        let Some(old) = self.log_state().map(|state| state.group) else { return };
        let me = self.config.node;
        let id = self.recovery.new_id(old);
        let without = order.without.clone();
        outputs.event(
            Severity::Warning,
            format!(
                "{} orders: the control log goes on without node {}",
                order.operator,
                list(without.clone())
            ),
        );
        self.recovery.promise = None;
        self.freeze_log(now, outputs);
        let own = self.survivor(&without, None);
        let state = self.log_state();
        let takes_part = |node: &NodeId| {
            let asked = self.recovery.asker(*node);
            let is_empty = state.is_some_and(|state| is_empty_handed(state, *node, asked));
            *node != me && !without.contains(node) && !is_empty
        };
        let missing: BTreeSet<NodeId> = self.config.eligible().into_iter().filter(takes_part).collect();
        for node in &missing {
            let prepare = RecoveryMessage::Prepare { recovery: id, replaced: old, without: without.clone() };
            self.say(*node, prepare, outputs);
        }
        let until = now.monotonic + PREPARE_TIME;
        let survivors = BTreeMap::from([(me, own)]);
        self.recovery.founding =
            Some(Founding { id, order, asker, missing, survivors, until, is_begun: false });
        self.found_if_all_said(now, outputs);
    }

    fn freeze_log<S>(&mut self, now: Now, outputs: &mut Outputs<S>) {
        self.with_log(now, outputs, |log, _| log.set_frozen(true));
    }

    fn on_prepared<S>(
        &mut self,
        now: Now,
        from: NodeId,
        recovery: GroupId,
        survivor: Survivor,
        outputs: &mut Outputs<S>,
    ) {
        let Some(founding) = &mut self.recovery.founding else { return };
        if founding.id == recovery && founding.missing.remove(&from) {
            founding.survivors.insert(from, survivor);
            self.found_if_all_said(now, outputs);
        }
    }

    /// All have said what they know: it is decided.
    fn found_if_all_said<S>(&mut self, now: Now, outputs: &mut Outputs<S>) {
        let Some(founding) = self.recovery.founding.as_ref() else { return };
        let Some(log) = &self.log else { return };
        if !founding.missing.is_empty() || founding.is_begun {
            return;
        }
        let (id, without) = (founding.id, founding.order.without.clone());
        let Some((state, last)) = log.everything() else { return };
        let decided = decide(&state, last, &founding.survivors, id);
        let view = match decided {
            Ok(view) if !log.is_writing() => view,
            Ok(_) => return self.refuse_founding(now, "the disk is busy; ask again".to_owned(), outputs),
            Err(Refused::Text(text)) => return self.refuse_founding(now, text, outputs),
            Err(Refused::Elsewhere(node)) => return self.pass_on_founding(node, now, outputs),
        };
        let named: BTreeSet<NodeId> = without.iter().copied().collect();
        let operator = founding.order.operator.clone();
        let record = RecoveryRecord { replaced: state.group, without: named.into_iter().collect(), operator };
        let text = format!(
            "the control log is founded anew without node {}: voter {}, view {}",
            list(without),
            self.config.node,
            view.number
        );
        let founder = (self.config.node, self.config.join.start);
        let next = state.refounded(id, view, record, founder);
        if let Some(founding) = &mut self.recovery.founding {
            founding.is_begun = true;
        }
        outputs.event(Severity::Warning, text);
        self.with_log(now, outputs, |log, todo| log.refound(&next, todo));
    }

    /// Nothing is founded: all go on as before.
    fn refuse_founding<S>(&mut self, now: Now, text: String, outputs: &mut Outputs<S>) {
        let Some(founding) = self.end_founding(now, outputs) else { return };
        outputs.event(Severity::Warning, format!("the control log is not founded anew: {text}"));
        let to = (founding.asker, founding.order.number);
        self.answer_order(now, to, RecoveryOutcome::Refused, text, outputs);
    }

    /// A node with a longer copy is to do it.
    fn pass_on_founding<S>(&mut self, node: NodeId, now: Now, outputs: &mut Outputs<S>) {
        let Some(founding) = self.end_founding(now, outputs) else { return };
        outputs.event(Severity::Info, format!("node {node} has a longer copy of the control log"));
        let to = (founding.asker, founding.order.number);
        let text = format!("node {node} has a longer copy of the control log");
        self.answer_order(now, to, RecoveryOutcome::Elsewhere, text, outputs);
    }

    fn end_founding<S>(&mut self, now: Now, outputs: &mut Outputs<S>) -> Option<Founding> {
        let founding = self.recovery.founding.take_if(|founding| !founding.is_begun)?;
        let all = founding.missing.iter().chain(founding.survivors.keys());
        for node in all.filter(|node| **node != self.config.node) {
            self.say(*node, RecoveryMessage::Released { recovery: founding.id }, outputs);
        }
        self.with_log(now, outputs, |log, _| log.set_frozen(false));
        Some(founding)
    }

    /// The first view of a new founding is this node's: the operator hears of it.
    pub(crate) fn after_refounding<S>(&mut self, now: Now, outputs: &mut Outputs<S>) {
        let founding = self.view.founding;
        let Some(founding) = self.recovery.founding.take_if(|begun| begun.id == founding) else { return };
        let text = format!(
            "the control log goes on at node {} without node {}, with view {}. Nodes that were gone may start again with an empty DataDir or the old one, \
             and get everything anew",
            self.config.node,
            list(founding.order.without.clone()),
            self.view.number
        );
        let to = (founding.asker, founding.order.number);
        self.answer_order(now, to, RecoveryOutcome::Done, text, outputs);
    }

    // ---- those who live ---------------------------------------------------------------------------------------------

    /// The answer to the founder's question.
    fn survivor(&self, without: &[NodeId], refusal: Option<String>) -> Survivor {
        let heard = without.iter().filter(|node| self.up.contains(node));
        let log = self.log.as_ref().and_then(super::ControlLog::everything);
        Survivor {
            incarnation: self.incarnation.unwrap_or(Incarnation(0)),
            log: log.map(|(_, last)| last),
            view: Arc::clone(&self.view),
            hears: heard.map(|node| (*node, self.recovery.asker(*node))).collect(),
            refusal,
        }
    }

    fn on_prepare<S>(
        &mut self,
        now: Now,
        from: NodeId,
        (recovery, replaced): (GroupId, GroupId),
        without: &[NodeId],
        outputs: &mut Outputs<S>,
    ) {
        let own = self.known_founding();
        let is_bound = self.recovery.founding.is_some()
            || self.recovery.founder().is_some_and(|founder| founder != from && !without.contains(&founder));
        let refusal = if own.is_some_and(|own| own != replaced) {
            Some("it belongs to another founding of the cluster".to_owned())
        } else if without.contains(&self.config.node) {
            Some("it is not gone".to_owned())
        } else if is_bound {
            Some("it takes part in another recovery, which has not ended".to_owned())
        } else {
            None
        };
        if refusal.is_none() {
            let check_at = now.monotonic + CHECK_EVERY;
            self.recovery.promise = Some(Promise { id: recovery, founder: from, check_at });
            self.freeze_log(now, outputs);
        }
        let survivor = Box::new(self.survivor(without, refusal));
        self.say(from, RecoveryMessage::Prepared { recovery, survivor }, outputs);
    }

    fn known_founding(&self) -> Option<GroupId> {
        let own = self.log_state().map(|state| state.group);
        own.or((self.view.number > ViewNumber(0)).then_some(self.view.founding))
    }

    fn on_released<S>(&mut self, now: Now, recovery: GroupId, outputs: &mut Outputs<S>) {
        if self.recovery.promise.take_if(|promise| promise.id == recovery).is_some() {
            self.with_log(now, outputs, |log, _| log.set_frozen(false));
        }
    }

    /// A survivor asks how it ended: a process that knows nothing of it, and has the old log, has never begun the new
    /// one.
    fn on_check<S>(&self, from: NodeId, recovery: GroupId, outputs: &mut Outputs<S>) {
        if self.known_founding() == Some(recovery) {
            self.hand_on_view(from, outputs);
        } else if self.recovery.awaited() != Some(recovery) && self.log_state().is_some() {
            self.say(from, RecoveryMessage::Released { recovery }, outputs);
        }
    }

    /// Says which foundings the one of a view that is about to be handed on has replaced.
    pub(crate) fn say_replaced<S>(&self, to: NodeId, view: &View, outputs: &mut Outputs<S>) {
        if mutants::is(Mutant::OldLogsStayValid) {
            return;
        }
        let (founding, replaced) = match self.log_state() {
            Some(state) => (state.group, state.replaced()),
            None => self.recovery.replaced.clone(),
        };
        if founding == view.founding && !replaced.is_empty() {
            self.say(to, RecoveryMessage::Replaced { founding, replaced }, outputs);
        }
    }

    /// The founding of this node has replaced that one: a node that says a view of it has not heard of that yet.
    pub(crate) fn has_replaced(&self, old: GroupId) -> bool {
        let by_log = self.log_state().is_some_and(|state| state.replaced().contains(&old));
        by_log || self.known_founding().is_some_and(|own| self.recovery.is_replaced(old, own))
    }

    /// A founding has taken the place of that of this node, or is about to.
    pub(crate) fn is_replaced_by(&self, founding: GroupId) -> bool {
        let own = self.known_founding();
        let is_said = own.is_some_and(|own| self.recovery.is_replaced(own, founding));
        is_said || self.recovery.awaited() == Some(founding)
    }

    /// There is a view of another founding than this node's. True if this node goes on with it.
    pub(crate) fn follows_founding<S>(&mut self, now: Now, view: &View, outputs: &mut Outputs<S>) -> bool {
        let Some(own) = self.known_founding() else { return true };
        if !self.recovery.is_replaced(own, view.founding) {
            return false;
        }
        let is_promised = self.recovery.awaited() == Some(view.founding);
        let has_state = self.incarnation.is_some() && self.config.join.role != NodeRole::Sql;
        if has_state && !is_promised {
            let text = format!(
                "an operator has given up node {}, and the others go on without it: it ends. Its rows and its control log are void",
                self.config.node
            );
            self.end(EXIT_LEFT_OUT, (Severity::Error, &text), outputs);
            return false;
        }
        if self.log.as_ref().is_some_and(super::ControlLog::is_writing) {
            // It will hear of it again.
            return false;
        }
        self.recovery.promise = None;
        self.voters = (0, Vec::new());
        self.with_log(now, outputs, |log, todo| log.abandon(now.monotonic, todo));
        true
    }

    // ---- inputs -----------------------------------------------------------------------------------------------------

    pub(crate) fn on_recovery<S>(
        &mut self,
        now: Now,
        from: NodeId,
        message: RecoveryMessage,
        outputs: &mut Outputs<S>,
    ) {
        match message {
            RecoveryMessage::Order(order) => self.on_order(now, from, order, outputs),
            RecoveryMessage::Answer { number, outcome, text } => {
                self.on_answer(now, (number, outcome, &text), outputs);
            }
            RecoveryMessage::Prepare { recovery, replaced, without } => {
                self.on_prepare(now, from, (recovery, replaced), &without, outputs);
            }
            RecoveryMessage::Prepared { recovery, survivor } => {
                self.on_prepared(now, from, recovery, *survivor, outputs);
            }
            RecoveryMessage::Released { recovery } => self.on_released(now, recovery, outputs),
            RecoveryMessage::Check { recovery } => self.on_check(from, recovery, outputs),
            RecoveryMessage::Replaced { founding, replaced } => {
                self.recovery.replaced = (founding, replaced);
            }
        }
    }

    /// A node has said that it has no log.
    pub(crate) fn note_asker(&mut self, from: NodeId, message: &ControlMessage) {
        if let ControlMessage::VoterWanted { node, start, is_forwarded: false } = message
            && *node == from
        {
            self.recovery.without_log.insert(from, *start);
        }
    }

    /// A connection begins or ends: what was said over the one before is void, and without one that lives nothing is
    /// founded.
    pub(crate) fn on_recovery_link<S>(&mut self, now: Now, node: NodeId, outputs: &mut Outputs<S>) {
        self.recovery.without_log.remove(&node);
        let founding = self.recovery.founding.as_ref();
        let takes_part =
            |founding: &Founding| founding.missing.contains(&node) || founding.survivors.contains_key(&node);
        if founding.is_some_and(takes_part) {
            self.refuse_founding(now, format!("the connection with node {node} has broken"), outputs);
        }
    }

    pub(crate) fn on_recovery_deadline<S>(&mut self, now: Now, outputs: &mut Outputs<S>) {
        let is_due = |at: Instant| at <= now.monotonic;
        let founding = self.recovery.founding.as_ref().filter(|founding| !founding.is_begun);
        if let Some(founding) = founding.filter(|founding| is_due(founding.until)) {
            let text = format!("node {} does not answer", list(founding.missing.clone()));
            self.refuse_founding(now, text, outputs);
        }
        if let Some(pending) = self.recovery.pending.take_if(|pending| is_due(pending.until)) {
            let asked = list(pending.tried.last().copied());
            let text = format!(
                "ERROR: node {asked} did not answer in time: look at `show`, and give the order again"
            );
            self.tell_operator(pending.order.number, &text, outputs);
        }
        let promise = self.recovery.promise.as_mut().filter(|promise| is_due(promise.check_at));
        if let Some(promise) = promise {
            promise.check_at = now.monotonic + CHECK_EVERY;
            let (founder, recovery) = (promise.founder, promise.id);
            if self.up.contains(&founder) {
                self.say(founder, RecoveryMessage::Check { recovery }, outputs);
            }
        }
    }
}
