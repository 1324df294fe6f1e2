//! An operator's order to start from the disks that are left, though rows are lost with it.
//!
//! A cluster without a disk that counts for some group waits for ever: nothing but a person knows that a disk will not
//! come back. The order names the data nodes that are given up, and the cluster:
//!
//! ```text
//! operator -> any management node -> RestartMessage::LoseData -> the leader of the control log
//! leader: looks whether it is needed, and whether anybody answers who is given up -> Command::LoseData
//!         it is recorded: the restart is planned anew (`crate::restart`)          -> DataLost, for the operator
//! ```
//! Invariants:
//! - nothing is given up while the cluster runs, or can start by itself;
//! - each node that may have the rows of a group without a disk has been named, or is there and has shown its disk;
//! - no node that is named is connected with the leader.
//!
//! A false word of an operator loses what the named node has on its disk. It loses nothing else: that node comes back
//! as one whose life no view names, and is copied to.
//!
//! Deliberately not here: what the disks that are left are brought to (`crate::restart`), and the control log's own
//! loss (`recovery`). Both orders go together, that of the control log first.

use super::Membership;
use super::restarting::{describe, list};
use crate::control_state::{Conceded, Concession, ControlState};
use crate::restart::{Lack, Missing, Standing, plan, runs_still, standing};
use crate::succession;
use protocol::control::{Command, ControlMessage, RecoveryOrder};
use protocol::restart::RestartMessage;
use protocol::{Address, NodeRole, Outputs, Severity, Signal};
use stdx::{Duration, Instant, Now};
use types::NodeId;

/// How long an order may take to be recorded.
const RECORD_TIME: Duration = Duration::from_secs(5);

/// An order that is to be recorded.
#[derive(Debug)]
pub(crate) struct Ordered {
    concession: Concession,
    /// The node whose operator waits, and the number of the order there.
    asker: (NodeId, u64),
    until: Instant,
}

impl Membership {
    /// The operator of this node gives an order: it goes to the leader of the control log.
    pub(crate) fn on_order_to_lose<S>(&mut self, now: Now, order: RecoveryOrder, outputs: &mut Outputs<S>) {
        let leader = self.log.as_ref().and_then(super::ControlLog::leader);
        match leader {
            Some(leader) if leader == self.config.node => self.lose_data(now, leader, order, outputs),
            Some(leader) if self.up.contains(&leader) => {
                let message =
                    Signal::Control(Box::new(ControlMessage::Restart(RestartMessage::LoseData(order))));
                outputs.send(self.me(), Address::membership(leader), message);
            }
            Some(_) | None => {
                let text = format!(
                    "nobody leads the control plane: see what `show` says. If a majority of the voters is gone for good, `recover voters {} without …` comes first",
                    self.config.cluster
                );
                self.answer_loss(self.config.node, order.number, &format!("ERROR: {text}"), outputs);
            }
        }
    }

    /// The leader is given an order.
    pub(crate) fn lose_data<S>(
        &mut self,
        now: Now,
        asker: NodeId,
        mut order: RecoveryOrder,
        outputs: &mut Outputs<S>,
    ) {
        order.without.sort_unstable();
        order.without.dedup();
        let (number, until) = (order.number, now.monotonic + RECORD_TIME);
        match self.concession_of(now, &order) {
            Err(why) => {
                let text = format!("ERROR: nothing was changed: {why}");
                self.answer_loss(asker, number, &text, outputs);
            }
            Ok(concession) => {
                let text = format!(
                    "{} orders: the cluster starts with data loss without node {}",
                    concession.operator,
                    list(concession.without.clone())
                );
                outputs.event(Severity::Warning, text);
                self.restarting.ordered = Some(Ordered { concession, asker: (asker, number), until });
                self.record_loss(now, outputs);
            }
        }
    }

    /// The concession that is to be recorded, or why not.
    fn concession_of(&self, now: Now, order: &RecoveryOrder) -> Result<Concession, String> {
        let state =
            self.log_state().filter(|_| self.leads()).ok_or("this node leads the control plane no more")?;
        if !order.cluster.eq_ignore_ascii_case(&self.config.cluster) {
            return Err(format!("the name of this cluster is '{}'", self.config.cluster));
        }
        let is_data = |node: &NodeId| state.settings.members.contains(&(*node, NodeRole::Data));
        if let Some(unknown) = order.without.iter().find(|node| !is_data(node)) {
            return Err(format!("there is no data node {unknown} in config.ini"));
        }
        let answers = |node: &&NodeId| **node == self.config.node || self.up.contains(*node);
        if let Some(answering) = order.without.iter().find(answers) {
            return Err(format!("node {answering} answers: only what is gone for good can be given up"));
        }
        let there: Vec<NodeId> = self.there(state).into_iter().map(|(node, _)| node).collect();
        let concession = Concession {
            view: state.view.number,
            without: order.without.clone(),
            operator: order.operator.clone(),
            extent: Conceded::Rows,
        };
        let mut conceded = state.clone();
        conceded.concede(concession.clone());
        let is_heard = |node: NodeId| self.is_heard(now, node);
        let keeps_rows = state.settings.members.iter().any(|(node, _)| state.keeps_rows(*node));
        if standing(&conceded, is_heard) == Standing::Runs || !keeps_rows {
            return Err("no node group has lost all its rows".to_owned());
        }
        let still = runs_still(&conceded, is_heard);
        if !still.is_empty() {
            return Err(format!(
                "node {} still runs, or may: stop it first, or name it if it is gone",
                list(still)
            ));
        }
        match plan(state, &there) {
            Ok(_) => return Err("the cluster starts by itself".to_owned()),
            Err(missing) => not_named(&missing, &order.without)?,
        }
        plan(&conceded, &there).map(|_| concession).map_err(|missing| describe(&missing))
    }

    /// Asks for the record until it is there.
    pub(crate) fn record_loss<S>(&mut self, now: Now, outputs: &mut Outputs<S>) {
        let Some(ordered) = &self.restarting.ordered else { return };
        let is_recorded = self.log_state().and_then(ControlState::concession) == Some(&ordered.concession);
        let (asker, number) = ordered.asker;
        if is_recorded || ordered.until <= now.monotonic {
            let mut text = "the cluster starts with what is left".to_owned();
            if !is_recorded {
                text =
                    "ERROR: the order was not recorded in time: look at `show`, and give it again".to_owned();
            } else if !ordered.concession.without.is_empty() {
                text += &format!(", without node {}", list(ordered.concession.without.clone()));
            }
            self.restarting.ordered = None;
            return self.answer_loss(asker, number, &text, outputs);
        }
        let Concession { view, without, operator, .. } = ordered.concession.clone();
        let command = Command::LoseData { view, without, operator };
        self.with_log(now, outputs, |log, todo| log.propose(command, todo));
    }

    /// Nothing is copied in the first view of a restart, because nothing goes on from before it. Where a node begins
    /// empty and needs the system's rows, another view with the same members follows.
    pub(crate) fn copy_to_empty<S>(&mut self, now: Now, outputs: &mut Outputs<S>) {
        let is_joining = self.view.groups.iter().any(|group| !group.joining.is_empty());
        if self.leads() && self.view.is_first() && is_joining {
            self.propose(now, succession::renewed(&self.view), outputs);
        }
    }

    fn answer_loss<S>(&self, asker: NodeId, number: u64, text: &str, outputs: &mut Outputs<S>) {
        let text = text.to_owned();
        if asker == self.config.node {
            let told = Signal::VotersRecovered { number, text };
            return outputs.send(self.me(), Address::main(asker), told);
        }
        let message = ControlMessage::Restart(RestartMessage::DataLost { number, text });
        outputs.send(self.me(), Address::membership(asker), Signal::Control(Box::new(message)));
    }
}

/// Nodes that may have the rows have to be named.
fn not_named(missing: &[Missing], without: &[NodeId]) -> Result<(), String> {
    for group in missing {
        let away = group.nodes.iter().filter(|(_, lack)| *lack == Lack::Away).map(|(node, _)| *node);
        let unnamed: Vec<NodeId> = away.filter(|node| !without.contains(node)).collect();
        if !unnamed.is_empty() {
            return Err(format!(
                "node {} may have the rows of node group {}: start it or, if its disk is gone for good, name it, too",
                list(unnamed),
                group.group - 1
            ));
        }
    }
    Ok(())
}
