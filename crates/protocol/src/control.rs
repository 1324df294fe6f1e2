//! Messages between the members of the control plane, and the contents of its log. The argument is in
//! `membership::control_log`.
//!
//! Raft's messages travel in this form, not as protobuf: each kind has exactly the fields that it needs, so that most
//! wrong messages cannot be written down. Invariants: decoding is bounded by a frame's length, [`ENTRIES_MAX`],
//! [`COMMAND_SIZE_MAX`] and [`STATE_SIZE_MAX`]. Every voter's message names its group, so that voters of a cluster that
//! was founded anew never answer those of the old one.

use crate::View;
use crate::restart::RestartMessage;
use crate::signal::JoinRequest;
use std::sync::Arc;
use types::{Incarnation, NodeId, ViewNumber};
use wire_derive::Wire;

/// Most entries in one message.
pub const ENTRIES_MAX: usize = 1_024;
/// Largest command: a view of the largest cluster takes a tenth of it.
pub const COMMAND_SIZE_MAX: usize = 256 << 10;
/// Largest snapshot of the replicated state.
pub const STATE_SIZE_MAX: usize = 4 << 20;
/// Most voters and learners at a time.
pub const VOTERS_MAX: usize = 16;

/// One copy of the control log. Never given twice: a node whose copy is lost comes back as another voter.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Wire)]
pub struct VoterId(pub u64);

impl std::fmt::Display for VoterId {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(formatter)
    }
}

/// Where a copy of the control log lives, for those who only want to know.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub struct VoterPlace {
    /// The node.
    pub node: NodeId,
    /// It counts in majorities; else it is catching up.
    pub votes: bool,
}

/// A founding of a cluster: a random number, drawn once.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Wire)]
pub struct GroupId(pub u64);

/// A change of the replicated state. Applying one twice, or late, does no harm: it is refused.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub enum Command {
    /// A process start asks for an incarnation.
    Join {
        /// The node.
        node: NodeId,
        /// Its description of itself.
        join: Box<JoinRequest>,
        /// Compare-and-set: the node's newest life when the first copy of the log got this. A request of a process that
        /// is gone may be on its way for long; it must not replace its successor.
        replaces: Incarnation,
    },
    /// Compare-and-set: `next` follows the newest view, or this is void.
    ChangeView {
        /// The whole next view; its number is one more than that of the view it was made from.
        next: Arc<View>,
    },
    /// Compare-and-set on both numbers: a restart from disks begins with this view. Its members have restored.
    Restart {
        /// The first view of it: its number, and that of its restart, are one more than those of the last view. Commits
        /// above its cut are gone at every replica.
        view: Arc<View>,
    },
    /// Compare-and-set: the cluster stops as a whole. The view of this number is followed by one of the same members,
    /// which is stopped: only a restart follows it. All members in sync have all that was ever committed on disk.
    Stop {
        /// The view in which they have said so.
        view: ViewNumber,
    },
    /// Compare-and-set: an operator has given up data nodes, and rows that only they had. It counts for the restart
    /// that follows this view.
    LoseData {
        /// The view.
        view: ViewNumber,
        /// The nodes, by id.
        without: Vec<NodeId>,
        /// The operator who gave the order.
        operator: String,
    },
}

/// A change of who votes. One at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub struct VoterChange {
    /// Which voter.
    pub voter: VoterId,
    /// Where it lives.
    pub node: NodeId,
    /// The process start that asked: a repeated question gets the same voter.
    pub start: u64,
    /// The step that it takes.
    pub step: VoterStep,
}

/// A step of a voter.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub enum VoterStep {
    /// A new copy: it gets the log and does not count.
    AddLearner,
    /// It has caught up: it counts.
    Promote,
    /// It is lost, or not wanted any more.
    Remove,
}

/// The meaning of an entry of the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub enum EntryKind {
    /// `data` is an encoded [`Command`], or empty: a new leader's first entry.
    Command,
    /// `data` is an encoded [`VoterChange`].
    VoterChange,
}

/// An entry of the log.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct LogEntry {
    /// The leader's term.
    pub term: u64,
    /// Its place.
    pub index: u64,
    /// The kind of `data`.
    pub kind: EntryKind,
    /// The encoded change.
    pub data: Arc<[u8]>,
}

/// The state that a voter must not forget between two terms.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Wire)]
pub struct HardState {
    /// The newest term it has seen.
    pub term: u64,
    /// The voter that it voted for in that term; 0 for none.
    pub vote: u64,
    /// The last entry that it knows to be committed.
    pub commit: u64,
}

/// The replicated state after the entry `index`, in place of all entries up to it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Wire)]
pub struct LogSnapshot {
    /// The last entry it covers; 0: nothing.
    pub index: u64,
    /// That entry's term.
    pub term: u64,
    /// The copies that vote.
    pub voters: Vec<VoterId>,
    /// The copies that follow.
    pub learners: Vec<VoterId>,
    /// The encoded state.
    pub state: Arc<[u8]>,
}

impl Default for LogEntry {
    fn default() -> Self {
        Self { term: 0, index: 0, kind: EntryKind::Command, data: Arc::from([]) }
    }
}

/// Which vote is meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub enum Poll {
    /// "Would you vote for me?": changes nothing at the one who is asked.
    PreVote,
    /// "Vote for me."
    Vote,
    /// "Vote for me although you hear your leader": it is gone, or asked for this.
    Urgent,
}

/// Raft's messages.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub enum VoterBody {
    /// Entries that follow the entry `index` of term `log_term`.
    Append {
        /// The entry before the first one.
        index: u64,
        /// Its term.
        log_term: u64,
        /// The index that is committed at the leader.
        commit: u64,
        /// The entries.
        entries: Vec<LogEntry>,
    },
    /// On disk up to `index`.
    AppendDone {
        /// The last entry that is the leader's and on disk.
        index: u64,
        /// The index that is committed here.
        commit: u64,
    },
    /// There is no such entry `index` here.
    AppendRefused {
        /// The `index` of the append.
        index: u64,
        /// Try behind this entry.
        hint: u64,
        /// Its term.
        hint_term: u64,
        /// The index that is committed here.
        commit: u64,
    },
    /// The leader is there.
    Heartbeat {
        /// The index that is committed, as far as the receiver has it.
        commit: u64,
    },
    /// So is the follower.
    HeartbeatDone {
        /// The index that is committed here.
        commit: u64,
    },
    /// A candidate asks.
    Vote {
        /// For what.
        poll: Poll,
        /// Its last entry.
        index: u64,
        /// That entry's term.
        log_term: u64,
        /// The index that it knows to be committed.
        commit: u64,
        /// That entry's term.
        commit_term: u64,
    },
    /// An answer to a candidate.
    VoteDone {
        /// For what (`Urgent` is answered as `Vote`).
        poll: Poll,
        /// Yes.
        granted: bool,
        /// The index that is committed here, with a no.
        commit: u64,
        /// That entry's term.
        commit_term: u64,
    },
    /// In place of entries that the leader has no more.
    Snapshot(LogSnapshot),
    /// From the leader: take over.
    CampaignNow,
}

/// From voter to voter.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct VoterMessage {
    /// The founding.
    pub group: GroupId,
    /// The sender.
    pub from: VoterId,
    /// The receiver.
    pub to: VoterId,
    /// The sender's term (the term it asks for, in a vote).
    pub term: u64,
    /// The message.
    pub body: VoterBody,
}

/// Between nodes, about the control log.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub enum ControlMessage {
    /// Raft.
    Voter(VoterMessage),
    /// Please decide this. No answer (but to a join): who wants to know looks at what is decided, and asks again.
    Propose {
        /// What.
        command: Box<Command>,
        /// It was handed on by a voter already: it goes to no third one.
        is_forwarded: bool,
    },
    /// A node without a log wants to hold one.
    VoterWanted {
        /// The node.
        node: NodeId,
        /// Its process start.
        start: u64,
        /// As in `Propose`.
        is_forwarded: bool,
    },
    /// "I have no log either": an answer to `VoterWanted`. Where nobody has one, the first eligible node may found the
    /// cluster.
    NoLog {
        /// The process start that asked.
        start: u64,
    },
    /// An answer to a proposal to join: it is decided.
    Joined {
        /// The process start that asked.
        start: u64,
        /// Its life.
        incarnation: Incarnation,
    },
    /// Another answer: it will never be. The text is for people.
    JoinRefused {
        /// The process start that asked.
        start: u64,
        /// Why.
        reason: String,
    },
    /// It is this voter.
    VoterGranted {
        /// The founding.
        group: GroupId,
        /// The voter.
        voter: VoterId,
        /// The process start that asked.
        start: u64,
    },
    /// A voter that hears from nobody asks whether it still is one. No answer, but `VoterRemoved`.
    VoterCheck {
        /// The founding.
        group: GroupId,
        /// The voter.
        voter: VoterId,
    },
    /// The receiver's voter has been removed for good: its log is void.
    VoterRemoved {
        /// The founding.
        group: GroupId,
        /// The voter.
        voter: VoterId,
    },
    /// The control log is founded anew from one of its copies.
    Recovery(RecoveryMessage),
    /// The cluster starts from disks.
    Restart(RestartMessage),
}

/// Most nodes that an operator may name as gone.
pub const GONE_MAX: usize = 64;
/// Foundings that were replaced by recoveries, as far as they are remembered.
pub const FOUNDINGS_MAX: usize = 64;

/// An operator's order: the control log goes on without these nodes, which are gone for good. The argument is in
/// `membership::recovery`.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct RecoveryOrder {
    /// Counted by the node that was asked, for the answer.
    pub number: u64,
    /// The cluster's name, as it was typed.
    pub cluster: String,
    /// The nodes that are gone, with their disks or without.
    pub without: Vec<NodeId>,
    /// The operator's address, for the logs.
    pub operator: String,
    /// The part that is to go on without them.
    pub goal: RecoveryGoal,
}

/// The part that goes on without nodes that are gone for good.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub enum RecoveryGoal {
    /// The control log, of which a majority of the copies is gone (`membership::recovery`).
    Voters,
    /// The cluster, which starts from the disks that are left and loses rows (`membership::restart`).
    Rows,
}

/// The end of an order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub enum RecoveryOutcome {
    /// The control log goes on.
    Done,
    /// Nothing has happened.
    Refused,
    /// Nothing has happened: another node may be able to.
    Elsewhere,
}

/// A survivor's answer to the founder.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct Survivor {
    /// Its life; 0: it was not let in.
    pub incarnation: Incarnation,
    /// Term and index of the last entry of its copy of the log, if it has one.
    pub log: Option<(u64, u64)>,
    /// The newest view that it knows.
    pub view: Arc<View>,
    /// Which of the nodes that are said to be gone it is connected with, and the process start that has told it that it
    /// has no log, if one has.
    pub hears: Vec<(NodeId, Option<u64>)>,
    /// Why it takes no part.
    pub refusal: Option<String>,
}

/// From node to node, about a recovery.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub enum RecoveryMessage {
    /// To a node that may found the log anew.
    Order(RecoveryOrder),
    /// Its answer. The text is for people.
    Answer {
        /// The order's.
        number: u64,
        /// How it ended.
        outcome: RecoveryOutcome,
        /// In words.
        text: String,
    },
    /// From the founder to all that live: from now on take no part in the log of `replaced`, and say what you know.
    Prepare {
        /// The founding that is to be.
        recovery: GroupId,
        /// The founding that was.
        replaced: GroupId,
        /// The nodes that are said to be gone.
        without: Vec<NodeId>,
    },
    /// The answer.
    Prepared {
        /// From the question.
        recovery: GroupId,
        /// The answer.
        survivor: Box<Survivor>,
    },
    /// From the founder: there will be no such founding.
    Released {
        /// Which.
        recovery: GroupId,
    },
    /// A survivor that has heard no end asks the founder again.
    Check {
        /// Which.
        recovery: GroupId,
    },
    /// Which foundings the sender's has replaced, the oldest first: their logs and views are void. Said ahead of a view
    /// of the new one.
    Replaced {
        /// The sender's founding.
        founding: GroupId,
        /// Those before it.
        replaced: Vec<GroupId>,
    },
}
