//! A node that waits for the control plane says which voters are missing, and what an operator can do about it.
//!
//! A node waits while nobody leads the control log as far as it can tell. Its own copy has no leader that is connected.
//! Or, without a copy, no majority of the voters it was told of is connected. Or it was not let in yet. When that has
//! lasted for [`PATIENCE`], it says so, and again each [`PATIENCE`]: in its log, and to its `main`, for `show`.
//!
//! Invariant: nothing is decided by that.

use super::{Membership, Recovery};
use crate::control_state::VoterInfo;
use protocol::control::VoterPlace;
use protocol::{Address, Outputs, Severity, Signal};
use stdx::{Duration, Instant, Now};
use types::NodeId;

/// How long a node waits before it says so, and until it says it again.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often it looks whether it does.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How long a node has waited.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    look_at: Option<Instant>,
    since: Option<Instant>,
    say_at: Option<Instant>,
    is_said: bool,
}

impl Waits {
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.look_at
    }
}

fn list(nodes: &[NodeId]) -> String {
    nodes.iter().map(ToString::to_string).collect::<Vec<String>>().join(", ")
}

/// In words, what is missing. `is_there`: connected, with its copy.
fn describe(
    cluster: &str,
    voters: &[VoterPlace],
    eligible: &[NodeId],
    (is_up, has_no_log): (impl Fn(NodeId) -> bool, impl Fn(NodeId) -> bool),
) -> String {
    let voting: Vec<NodeId> = voters.iter().filter(|voter| voter.votes).map(|voter| voter.node).collect();
    if voting.is_empty() {
        let away: Vec<NodeId> = eligible.iter().copied().filter(|node| !is_up(*node)).collect();
        return match away.as_slice() {
            [] => "nobody leads the control plane yet".to_owned(),
            away => format!("nobody leads the control plane; not connected: node {}", list(away)),
        };
    }
    let lost = |node: &NodeId| !is_up(*node) || has_no_log(*node);
    let (missing, there): (Vec<NodeId>, Vec<NodeId>) = voting.iter().partition(|node| lost(node));
    let why = |node: &NodeId| match is_up(*node) {
        true => format!("node {node} (it has lost its copy of the control log)"),
        false => format!("node {node} (not connected)"),
    };
    let majority = voting.len() / 2 + 1;
    if there.len() >= majority {
        return "nobody leads the control plane yet, though a majority of the voters is connected".to_owned();
    }
    let named: Vec<String> = missing.iter().map(why).collect();
    format!(
        "{} of {} voters of the control plane are there, {majority} are needed; missing: {}. Until they are back nobody can start, leave or take over. Start \
         them with the disks they had; only if those are gone for good: latsdb mgm -e 'recover voters {cluster} without {}'",
        there.len(),
        voting.len(),
        named.join(", "),
        list(&missing).replace(' ', "")
    )
}

impl Membership {
    /// Looks whether this node waits, and says so.
    pub(crate) fn look_for_waits<S>(&mut self, now: Now, outputs: &mut Outputs<S>) {
        if self.waits.look_at.is_some_and(|at| at > now.monotonic) || self.is_ending {
            return;
        }
        self.waits.look_at = Some(now.monotonic + LOOK_EVERY);
        if !self.is_waiting() {
            let was_said = std::mem::take(&mut self.waits.is_said);
            (self.waits.since, self.waits.say_at) = (None, None);
            if was_said {
                outputs.event(Severity::Info, "the control plane is there again");
                self.tell_awaited(String::new(), outputs);
            }
            return;
        }
        let since = *self.waits.since.get_or_insert(now.monotonic);
        let say_at = *self.waits.say_at.get_or_insert(since + PATIENCE);
        if say_at <= now.monotonic {
            self.waits.say_at = Some(now.monotonic + PATIENCE);
            self.waits.is_said = true;
            let text = self.awaited();
            let seconds = now.monotonic.since(since).as_secs();
            outputs.event(Severity::Warning, format!("has waited for {seconds} s: {text}"));
            self.tell_awaited(text, outputs);
        }
    }

    fn tell_awaited<S>(&self, text: String, outputs: &mut Outputs<S>) {
        let told = Signal::ControlPlaneAwaited { text };
        outputs.send(self.me(), Address::main(self.config.node), told);
    }

    fn is_waiting(&self) -> bool {
        if self.incarnation.is_none() || self.recovery.awaited().is_some() {
            return true;
        }
        let me = self.config.node;
        let is_there = |node: NodeId| node == me || self.up.contains(&node);
        match self.log.as_ref().filter(|log| log.state().is_some()) {
            Some(log) => !log.leader().is_some_and(is_there),
            // A node without a copy is told which nodes have one; until then it has no reason to worry.
            None => {
                let voting = self.voters.1.iter().filter(|voter| voter.votes);
                let (there, away): (Vec<&VoterPlace>, Vec<&VoterPlace>) =
                    voting.partition(|voter| is_there(voter.node) && voter.node != me);
                there.len() <= away.len() && !away.is_empty()
            }
        }
    }

    fn awaited(&self) -> String {
        if let Some(founder) = Recovery::founder(&self.recovery) {
            return format!(
                "node {founder} has begun to recover the control plane, as an operator ordered, and has not said how that ended. Start it again, or give the order \
                 anew and name it, too"
            );
        }
        let me = self.config.node;
        let state = self.log_state();
        let own = state.map(|state| {
            let place = |info: &VoterInfo| VoterPlace { node: info.node, votes: info.votes };
            state.voters().iter().map(place).collect::<Vec<VoterPlace>>()
        });
        let voters = own.as_ref().unwrap_or(&self.voters.1);
        let is_up = |node: NodeId| node == me || self.up.contains(&node);
        let has_no_log = |node: NodeId| match state {
            // Its own copy is not one of the log that the others speak of.
            None => node == me || self.recovery.asker(node).is_some(),
            Some(state) => {
                let start = state.voter_of(node).map(|info| info.start);
                self.recovery.asker(node).is_some_and(|asked| Some(asked) != start)
            }
        };
        describe(&self.config.cluster, voters, &self.config.eligible(), (is_up, has_no_log))
    }
}
