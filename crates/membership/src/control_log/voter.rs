//! One copy of the control log: Raft, the state that it replicates, and the file under it.
//!
//! Every input is followed by `pump`. State that Raft wants to keep goes into the log in memory at once and to the file
//! in order. Messages that it may send only then wait for the file. Committed entries are applied. One write is on its
//! way at a time; what comes up meanwhile shares the next one.
//!
//! Invariants:
//! - A vote, or a promise about entries, leaves this node only when it is on disk. Only a leader's appends go out
//!   before its own flush.
//! - Every record on disk says what is committed, and a change of voters takes effect here only when a record says so
//!   of the change. Otherwise a copy that restarts would fall back to an older set of voters, by several steps at once.
//!   Then two leaders could be elected in one term by majorities that do not meet.
//! - While a leader's snapshot is being written nothing else is handled: Raft has forgotten the entries before it and
//!   cannot campaign on them.
//! - Nothing depends on Raft's own random numbers: it draws an election timeout at each reset, and that is overwritten
//!   before the next tick.

use super::{ControlOutputs, Decided, convert, store::LogStore};
use crate::control_state::{ControlState, Verdict};
use crate::log_file::{Durable, LogWriter};
use crate::mutants::{self, Mutant};
use protocol::Severity;
use protocol::control::{
    Command, EntryKind, GroupId, LogEntry, LogSnapshot, VOTERS_MAX, VoterChange, VoterId, VoterMessage,
    VoterStep,
};
use raft::eraftpb::{ConfChange, ConfChangeType, Message, MessageType};
use raft::{Config, RawNode, Ready, StateRole};
use std::collections::VecDeque;
use stdx::wire::{from_bytes, to_bytes};
use types::NodeId;

/// Ticks between a leader's heartbeats.
const HEARTBEAT_TICKS: usize = 2;
/// Ticks without a leader before the first in rank campaigns.
pub(super) const ELECTION_TICKS: usize = 8;
/// How many ticks later the next in rank does.
const STAGGER_TICKS: usize = 2;
/// Most entries' bytes in one message.
const MESSAGE_SIZE_MAX: u64 = 64 << 10;
/// Most bytes that wait to be committed: more proposals are dropped, and come again.
const UNCOMMITTED_SIZE_MAX: u64 = 1 << 20;
const IN_FLIGHT_MAX: usize = 64;

/// Messages that wait for the file.
struct Unwritten {
    number: u64,
    entries: Vec<LogEntry>,
    messages: Vec<Message>,
}

/// A write that is on its way.
#[derive(Clone, Copy)]
struct Writing {
    ticket: u64,
    /// The newest of what it covers.
    number: Option<u64>,
    /// The index that is known to be committed, in it.
    commit: u64,
}

/// The copy.
pub(super) struct Voter {
    pub(super) id: VoterId,
    pub(super) raft: RawNode<LogStore>,
    /// None until the leader's first snapshot has come.
    pub(super) state: Option<ControlState>,
    applied: u64,
    /// Committed, not applied yet.
    committed: VecDeque<LogEntry>,
    /// The index that is committed as the disk knows it.
    commit_on_disk: u64,
    /// A change of voters waits for the disk to know that it is committed.
    is_commit_due: bool,
    unwritten: Vec<Unwritten>,
    writing: Option<Writing>,
    writer: LogWriter,
    /// The next write is a new file.
    is_file_due: bool,
    /// A learner was added: it needs a snapshot in which it is.
    is_snapshot_due: bool,
    /// The leader's snapshot that is not on disk yet.
    restoring: Option<u64>,
    /// A snapshot is made when there are more entries.
    entries_max: usize,
}

impl Voter {
    /// A copy with what is on its disk. `is_file_due`: it has no file yet.
    pub(super) fn new(
        durable: Durable,
        writer: LogWriter,
        is_file_due: bool,
        entries_max: usize,
    ) -> Result<Self, String> {
        let (id, applied) = (durable.voter, durable.snapshot.index);
        let state = if applied == 0 {
            None
        } else {
            let decoded = ControlState::decode(&durable.snapshot.state);
            Some(decoded.map_err(|error| format!("the snapshot cannot be read: {error}"))?)
        };
        let commit_on_disk = if is_file_due { 0 } else { durable.hard.commit };
        let config = Config {
            id: id.0,
            election_tick: ELECTION_TICKS,
            heartbeat_tick: HEARTBEAT_TICKS,
            min_election_tick: ELECTION_TICKS,
            max_election_tick: ELECTION_TICKS + STAGGER_TICKS * VOTERS_MAX + 1,
            applied,
            max_size_per_msg: MESSAGE_SIZE_MAX,
            max_inflight_msgs: IN_FLIGHT_MAX,
            max_uncommitted_size: UNCOMMITTED_SIZE_MAX,
            check_quorum: true,
            pre_vote: true,
            ..Config::default()
        };
        let logger = slog::Logger::root(slog::Discard, slog::o!());
        let raft = RawNode::new(&config, LogStore::new(durable), &logger)
            .map_err(|error| format!("the log cannot be used: {error}"))?;
        Ok(Self {
            id,
            raft,
            state,
            applied,
            committed: VecDeque::new(),
            commit_on_disk,
            is_commit_due: false,
            unwritten: Vec::new(),
            writing: None,
            writer,
            is_file_due,
            is_snapshot_due: false,
            restoring: None,
            entries_max,
        })
    }

    /// The founding.
    pub(super) fn group(&self) -> GroupId {
        self.raft.store().durable().group
    }

    pub(super) fn applied(&self) -> u64 {
        self.applied
    }

    pub(super) fn is_leader(&self) -> bool {
        self.raft.raft.state == StateRole::Leader
    }

    /// Nothing may be handled now.
    pub(super) fn is_restoring(&self) -> bool {
        self.restoring.is_some()
    }

    /// This copy has no leader, and it may not campaign, which would tell it why: now and then it asks.
    pub(super) fn is_forgotten(&self) -> bool {
        let raft = &self.raft.raft;
        let silent = raft.election_elapsed;
        !raft.promotable() && silent > 0 && silent.is_multiple_of(4 * ELECTION_TICKS)
    }

    /// The nodes whose voters count, this one's included.
    pub(super) fn counting(&self) -> impl Iterator<Item = (VoterId, NodeId)> {
        let voters = self.state.iter().flat_map(|state| state.voters());
        voters.filter(|info| info.votes).map(|info| (info.voter, info.node))
    }

    /// Sets how long this copy waits for a leader: by its rank among those who vote, 0 first.
    pub(super) fn set_rank(&mut self, rank: usize) {
        let raft = &mut self.raft.raft;
        raft.set_randomized_election_timeout(ELECTION_TICKS + STAGGER_TICKS * rank.min(VOTERS_MAX));
        if mutants::is(Mutant::RankRefusesVotes) {
            raft.set_priority(i64::try_from(VOTERS_MAX.saturating_sub(rank)).unwrap_or(0));
        }
    }

    /// A message from another voter. False if no voter in its right mind sends it.
    pub(super) fn step(&mut self, message: &VoterMessage) -> bool {
        if !convert::admit(&self.raft.raft, message) {
            return false;
        }
        // A message that Raft refuses (an answer from someone it does not know) is nothing to worry about.
        let _ = self.raft.step(convert::to_raft(message));
        true
    }

    /// Campaigns at once, although the leader was heard of a moment ago: it is gone.
    pub(super) fn campaign(&mut self) {
        let mut order = Message::default();
        order.set_msg_type(MessageType::MsgTimeoutNow);
        order.from = self.raft.raft.leader_id;
        let _ = self.raft.raft.step(order);
    }

    /// The only voter need not wait for anybody.
    pub(super) fn campaign_alone(&mut self) {
        let _ = self.raft.campaign();
    }

    /// As leader, puts a command into the log. A dropped proposal is asked again.
    pub(super) fn propose(&mut self, command: &Command) {
        let bytes = to_bytes(command);
        if bytes.len() <= protocol::control::COMMAND_SIZE_MAX {
            let _ = self.raft.propose(Vec::new(), bytes);
        }
    }

    /// As leader, puts a change of voters into the log, if none is under way.
    pub(super) fn propose_change(&mut self, change: &VoterChange) {
        if !self.raft.raft.has_pending_conf() {
            let _ = self.raft.propose_conf_change(to_bytes(change), raft_change(change));
        }
    }

    /// Does everything that can be done now.
    pub(super) fn pump(&mut self, tickets: &mut u64, outputs: &mut ControlOutputs) {
        while self.raft.has_ready() {
            let ready = self.raft.ready();
            self.take(ready, outputs);
            self.apply_committed(outputs);
        }
        self.compact_if_long();
        self.write(tickets, outputs);
    }

    fn take(&mut self, mut ready: Ready, outputs: &mut ControlOutputs) {
        outputs.raft_messages.extend(ready.take_messages());
        let number = ready.number();
        if !ready.snapshot().is_empty() {
            self.restore(number, convert::snapshot_from_raft(ready.snapshot()), outputs);
        }
        let entries: Vec<LogEntry> = ready.entries().iter().map(convert::entry_from_raft).collect();
        let store = self.raft.mut_store();
        store.append(entries.clone());
        if let Some(hard) = ready.hs() {
            store.set_hard(convert::hard_from_raft(hard));
        }
        let mut messages = ready.take_persisted_messages();
        if mutants::is(Mutant::AnswerBeforeFlush) {
            outputs.raft_messages.append(&mut messages);
        }
        self.committed.extend(ready.take_committed_entries().iter().map(convert::entry_from_raft));
        let must_wait = ready.must_sync() || !self.unwritten.is_empty() || self.restoring.is_some();
        self.raft.advance_append_async(ready);
        if must_wait {
            self.unwritten.push(Unwritten { number, entries, messages });
        } else {
            // Only what is committed is new: that may be forgotten.
            outputs.raft_messages.append(&mut messages);
            self.raft.on_persist_ready(number);
        }
    }

    /// Applies what is committed, up to a change of voters of which the disk does not know that it is.
    fn apply_committed(&mut self, outputs: &mut ControlOutputs) {
        while let Some(entry) = self.committed.front() {
            let mut is_change = entry.kind == EntryKind::VoterChange;
            if mutants::is(Mutant::VotersFallBack) {
                is_change = false;
            }
            if is_change && entry.index > self.commit_on_disk {
                self.is_commit_due = true;
                break;
            }
            if let Some(entry) = self.committed.pop_front() {
                self.apply(&entry, outputs);
            }
        }
        self.tell_applied();
    }

    /// Raft may know of what is applied only when it is on disk.
    fn tell_applied(&mut self) {
        let log = &self.raft.raft.raft_log;
        let known = self.applied.min(log.committed).min(log.persisted);
        if known > log.applied && self.restoring.is_none() {
            self.raft.advance_apply_to(known);
        }
    }

    fn restore(&mut self, number: u64, snapshot: LogSnapshot, outputs: &mut ControlOutputs) {
        let state = ControlState::decode(&snapshot.state);
        // `admit` has decoded it already.
        stdx::require!(state.is_ok(), "a snapshot of the control log cannot be read");
        let Ok(state) = state else { return };
        let known = self.state.as_ref().map_or(0, |state| state.view.number.0);
        if state.view.number.0 > known {
            outputs.decided.push(Decided::View(state.view.clone()));
        }
        self.applied = snapshot.index;
        self.committed.clear();
        self.state = Some(state);
        self.raft.mut_store().restore(snapshot);
        self.restoring = Some(number);
        self.is_file_due = true;
    }

    fn apply(&mut self, entry: &LogEntry, outputs: &mut ControlOutputs) {
        stdx::require!(
            entry.index == self.applied + 1,
            "an entry of the control log is applied out of order"
        );
        self.applied = entry.index;
        stdx::require!(self.state.is_some(), "an entry of the control log without a state");
        let Some(state) = &mut self.state else { return };
        let before = state.view.number;
        match entry.kind {
            EntryKind::Command if entry.data.is_empty() => {}
            EntryKind::Command => {
                // A command that cannot be read is void, at every copy alike.
                if let Ok(command) = from_bytes::<Command>(&entry.data)
                    && state.apply(&command) == Verdict::Done
                    && let Command::Join { node, .. } = &command
                {
                    outputs.decided.extend(state.life(*node).cloned().map(Decided::Joined));
                }
            }
            EntryKind::VoterChange => {
                if let Ok(change) = from_bytes::<VoterChange>(&entry.data)
                    && state.apply_voter_change(&change)
                {
                    let applied = self.raft.apply_conf_change(&raft_change(&change));
                    stdx::require!(applied.is_ok(), "Raft cannot take a change of voters");
                    outputs.event(Severity::Info, describe(&change));
                    if change.step == VoterStep::AddLearner {
                        self.is_snapshot_due = true;
                        outputs.added.push((change.voter, change.node, change.start));
                    }
                }
            }
        }
        let newest = self.state.as_ref().map(|state| &state.view).filter(|view| view.number != before);
        outputs.decided.extend(newest.cloned().map(Decided::View));
    }

    /// A snapshot takes the place of the entries, before they are many.
    fn compact_if_long(&mut self) {
        let is_long = self.raft.store().entry_count() > self.entries_max
            || self.writer.is_long()
            || self.is_snapshot_due;
        let is_known = self.raft.raft.raft_log.applied == self.applied;
        let covers = self.applied > self.raft.store().durable().snapshot.index;
        if !(is_long && is_known && covers) || self.restoring.is_some() || self.is_file_due {
            return;
        }
        let Some(state) = &self.state else { return };
        let voters = self.raft.raft.prs().conf().to_conf_state();
        let snapshot = LogSnapshot {
            index: self.applied,
            term: self.raft.raft.raft_log.term(self.applied).unwrap_or(0),
            voters: convert::voters_from_raft(&voters.voters),
            learners: convert::voters_from_raft(&voters.learners),
            state: state.encode(),
        };
        stdx::require!(snapshot.term > 0);
        self.raft.mut_store().compact(snapshot);
        self.is_file_due = true;
        self.is_snapshot_due = false;
    }

    /// Begins the next write, if none is on its way.
    fn write(&mut self, tickets: &mut u64, outputs: &mut ControlOutputs) {
        let is_due = self.is_file_due || self.is_commit_due || !self.unwritten.is_empty();
        if self.writing.is_some() || !is_due {
            return;
        }
        *tickets += 1;
        let ticket = *tickets;
        let number = self.unwritten.last().map(|unwritten| unwritten.number);
        let mut hard = self.raft.store().durable().hard;
        if mutants::is(Mutant::VotersFallBack) {
            let covered = self.raft.store().durable().snapshot.index;
            hard.commit = hard.commit.min(self.commit_on_disk.max(covered));
        }
        self.is_commit_due = false;
        let write = if self.is_file_due {
            self.is_file_due = false;
            self.writer.begin(ticket, self.raft.store().durable())
        } else {
            let entries = self.unwritten.iter().flat_map(|unwritten| unwritten.entries.clone()).collect();
            self.writer.append(ticket, Some(hard), entries)
        };
        self.writing = Some(Writing { ticket, number, commit: hard.commit });
        outputs.writes.push(write);
    }

    /// A write is on disk.
    pub(super) fn on_written(&mut self, ticket: u64, outputs: &mut ControlOutputs) {
        let Some(writing) = self.writing.take_if(|writing| writing.ticket == ticket) else { return };
        self.commit_on_disk = self.commit_on_disk.max(writing.commit);
        if let Some(number) = writing.number {
            self.on_written_up_to(number, outputs);
        }
        self.apply_committed(outputs);
    }

    fn on_written_up_to(&mut self, number: u64, outputs: &mut ControlOutputs) {
        let waiting = self.unwritten.iter().take_while(|unwritten| unwritten.number <= number).count();
        for unwritten in self.unwritten.drain(..waiting) {
            outputs.raft_messages.extend(unwritten.messages);
        }
        self.restoring = self.restoring.filter(|restoring| *restoring > number);
        self.raft.on_persist_ready(number);
    }

    /// Its file is on disk.
    pub(super) fn is_on_disk(&self) -> bool {
        self.commit_on_disk > 0
    }

    /// The state behind the last entry of this copy, committed or not, and that entry's term and index.
    pub(super) fn everything(&self) -> Option<(ControlState, (u64, u64))> {
        let mut state = self.state.clone()?;
        let durable = self.raft.store().durable();
        for entry in durable.entries.iter().filter(|entry| entry.index > self.applied) {
            match entry.kind {
                EntryKind::Command => {
                    if let Ok(command) = from_bytes::<Command>(&entry.data) {
                        state.apply(&command);
                    }
                }
                EntryKind::VoterChange => {
                    if let Ok(change) = from_bytes::<VoterChange>(&entry.data) {
                        state.apply_voter_change(&change);
                    }
                }
            }
        }
        let term = durable.entries.last().map_or(durable.snapshot.term, |entry| entry.term);
        Some((state, (term, durable.last_index())))
    }

    /// The newest term that this copy has seen.
    pub(super) fn term(&self) -> u64 {
        self.raft.raft.term
    }

    /// A file that was begun belongs to nobody any more while a write is on its way to it.
    pub(super) fn is_writing(&self) -> bool {
        self.writing.is_some()
    }
}

fn raft_change(change: &VoterChange) -> ConfChange {
    let kind = match change.step {
        VoterStep::AddLearner => ConfChangeType::AddLearnerNode,
        VoterStep::Promote => ConfChangeType::AddNode,
        VoterStep::Remove => ConfChangeType::RemoveNode,
    };
    ConfChange { change_type: kind, node_id: change.voter.0, ..ConfChange::default() }
}

fn describe(change: &VoterChange) -> String {
    let what = match change.step {
        VoterStep::AddLearner => "is being added to the control plane",
        VoterStep::Promote => "votes in the control plane",
        VoterStep::Remove => "has left the control plane",
    };
    format!("node {} (voter {}) {what}", change.node, change.voter)
}
