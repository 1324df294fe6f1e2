//! Raft's messages and records in our form, and back.
//!
//! Invariants: `to_raft(from_raft(m)) == m` for every message that Raft sends here, but for what only the proposer
//! needs (its own bytes of a change of voters). Messages that Raft never sends in our use (proposals, read indexes,
//! local messages) have no form. [`admit`] lets through only messages that Raft can take: the crate ends the process on
//! some others, and a bad message must harm nobody but its sender.

use super::store::LogStore;
use protocol::control::{
    COMMAND_SIZE_MAX, ENTRIES_MAX, EntryKind, GroupId, HardState, LogEntry, LogSnapshot, Poll,
    STATE_SIZE_MAX, VOTERS_MAX, VoterBody, VoterId, VoterMessage,
};
use raft::eraftpb::{
    ConfState, Entry, EntryType, HardState as RaftHardState, Message, MessageType, Snapshot, SnapshotMetadata,
};
use raft::{CAMPAIGN_TRANSFER, Raft};

/// Terms and places beyond this were never reached by counting.
const COUNT_MAX: u64 = 1 << 56;

pub(super) fn hard_to_raft(hard: HardState) -> RaftHardState {
    RaftHardState { term: hard.term, vote: hard.vote, commit: hard.commit, ..RaftHardState::default() }
}

pub(super) fn hard_from_raft(hard: &RaftHardState) -> HardState {
    HardState { term: hard.term, vote: hard.vote, commit: hard.commit }
}

pub(super) fn voters_to_raft(voters: &[VoterId], learners: &[VoterId]) -> ConfState {
    let ids = |voters: &[VoterId]| voters.iter().map(|voter| voter.0).collect::<Vec<u64>>();
    ConfState { voters: ids(voters), learners: ids(learners), ..ConfState::default() }
}

/// Sorted: Raft keeps them in a set.
pub(super) fn voters_from_raft(ids: &[u64]) -> Vec<VoterId> {
    let mut voters: Vec<VoterId> = ids.iter().map(|id| VoterId(*id)).collect();
    voters.sort();
    voters
}

pub(super) fn entry_to_raft(entry: &LogEntry) -> Entry {
    let mut raft = Entry { term: entry.term, index: entry.index, ..Entry::default() };
    let data = entry.data.to_vec();
    match entry.kind {
        EntryKind::Command => raft.data = data.into(),
        EntryKind::VoterChange => {
            raft.entry_type = EntryType::EntryConfChange;
            raft.context = data.into();
        }
    }
    raft
}

pub(super) fn entry_from_raft(entry: &Entry) -> LogEntry {
    let (kind, data) = match entry.entry_type {
        EntryType::EntryNormal => (EntryKind::Command, &entry.data),
        EntryType::EntryConfChange | EntryType::EntryConfChangeV2 => (EntryKind::VoterChange, &entry.context),
    };
    LogEntry { term: entry.term, index: entry.index, kind, data: data.as_ref().into() }
}

pub(super) fn snapshot_to_raft(snapshot: &LogSnapshot) -> Snapshot {
    let mut metadata =
        SnapshotMetadata { index: snapshot.index, term: snapshot.term, ..SnapshotMetadata::default() };
    metadata.set_conf_state(voters_to_raft(&snapshot.voters, &snapshot.learners));
    let mut raft = Snapshot { data: snapshot.state.to_vec().into(), ..Snapshot::default() };
    raft.set_metadata(metadata);
    raft
}

pub(super) fn snapshot_from_raft(snapshot: &Snapshot) -> LogSnapshot {
    let metadata = snapshot.get_metadata();
    let voters = metadata.get_conf_state();
    LogSnapshot {
        index: metadata.index,
        term: metadata.term,
        voters: voters_from_raft(&voters.voters),
        learners: voters_from_raft(&voters.learners),
        state: snapshot.data.as_ref().into(),
    }
}

/// A message of Raft in our form; None for kinds that we do not use.
pub(super) fn from_raft(group: GroupId, message: &Message) -> Option<VoterMessage> {
    let body = body_from_raft(message)?;
    Some(VoterMessage {
        group,
        from: VoterId(message.from),
        to: VoterId(message.to),
        term: message.term,
        body,
    })
}

fn body_from_raft(message: &Message) -> Option<VoterBody> {
    Some(match message.msg_type {
        MessageType::MsgAppend => VoterBody::Append {
            index: message.index,
            log_term: message.log_term,
            commit: message.commit,
            entries: message.entries.iter().map(entry_from_raft).collect(),
        },
        MessageType::MsgAppendResponse if message.reject => VoterBody::AppendRefused {
            index: message.index,
            hint: message.reject_hint,
            hint_term: message.log_term,
            commit: message.commit,
        },
        MessageType::MsgAppendResponse => {
            VoterBody::AppendDone { index: message.index, commit: message.commit }
        }
        MessageType::MsgHeartbeat => VoterBody::Heartbeat { commit: message.commit },
        MessageType::MsgHeartbeatResponse => VoterBody::HeartbeatDone { commit: message.commit },
        MessageType::MsgRequestVote | MessageType::MsgRequestPreVote => VoterBody::Vote {
            poll: if message.msg_type == MessageType::MsgRequestPreVote {
                Poll::PreVote
            } else if message.context.as_ref() == CAMPAIGN_TRANSFER {
                Poll::Urgent
            } else {
                Poll::Vote
            },
            index: message.index,
            log_term: message.log_term,
            commit: message.commit,
            commit_term: message.commit_term,
        },
        MessageType::MsgRequestVoteResponse | MessageType::MsgRequestPreVoteResponse => {
            let is_pre_vote = message.msg_type == MessageType::MsgRequestPreVoteResponse;
            VoterBody::VoteDone {
                poll: if is_pre_vote { Poll::PreVote } else { Poll::Vote },
                granted: !message.reject,
                commit: message.commit,
                commit_term: message.commit_term,
            }
        }
        MessageType::MsgSnapshot => VoterBody::Snapshot(snapshot_from_raft(message.get_snapshot())),
        MessageType::MsgTimeoutNow => VoterBody::CampaignNow,
        MessageType::MsgHup
        | MessageType::MsgBeat
        | MessageType::MsgPropose
        | MessageType::MsgUnreachable
        | MessageType::MsgSnapStatus
        | MessageType::MsgCheckQuorum
        | MessageType::MsgTransferLeader
        | MessageType::MsgReadIndex
        | MessageType::MsgReadIndexResp => return None,
    })
}

/// A message of ours as Raft takes it.
pub(super) fn to_raft(message: &VoterMessage) -> Message {
    let mut raft =
        Message { from: message.from.0, to: message.to.0, term: message.term, ..Message::default() };
    match &message.body {
        VoterBody::Append { index, log_term, commit, entries } => {
            raft.msg_type = MessageType::MsgAppend;
            (raft.index, raft.log_term, raft.commit) = (*index, *log_term, *commit);
            raft.entries = entries.iter().map(entry_to_raft).collect::<Vec<_>>().into();
        }
        VoterBody::AppendDone { index, commit } => {
            raft.msg_type = MessageType::MsgAppendResponse;
            (raft.index, raft.commit) = (*index, *commit);
        }
        VoterBody::AppendRefused { index, hint, hint_term, commit } => {
            raft.msg_type = MessageType::MsgAppendResponse;
            raft.reject = true;
            (raft.index, raft.commit) = (*index, *commit);
            (raft.reject_hint, raft.log_term) = (*hint, *hint_term);
        }
        VoterBody::Heartbeat { commit } => {
            raft.msg_type = MessageType::MsgHeartbeat;
            raft.commit = *commit;
        }
        VoterBody::HeartbeatDone { commit } => {
            raft.msg_type = MessageType::MsgHeartbeatResponse;
            raft.commit = *commit;
        }
        VoterBody::Vote { poll, index, log_term, commit, commit_term } => {
            raft.msg_type = match poll {
                Poll::PreVote => MessageType::MsgRequestPreVote,
                Poll::Vote | Poll::Urgent => MessageType::MsgRequestVote,
            };
            if *poll == Poll::Urgent {
                raft.context = CAMPAIGN_TRANSFER.to_vec().into();
            }
            (raft.index, raft.log_term) = (*index, *log_term);
            (raft.commit, raft.commit_term) = (*commit, *commit_term);
        }
        VoterBody::VoteDone { poll, granted, commit, commit_term } => {
            raft.msg_type = match poll {
                Poll::PreVote => MessageType::MsgRequestPreVoteResponse,
                Poll::Vote | Poll::Urgent => MessageType::MsgRequestVoteResponse,
            };
            raft.reject = !granted;
            (raft.commit, raft.commit_term) = (*commit, *commit_term);
        }
        VoterBody::Snapshot(snapshot) => {
            raft.msg_type = MessageType::MsgSnapshot;
            raft.set_snapshot(snapshot_to_raft(snapshot));
        }
        VoterBody::CampaignNow => raft.msg_type = MessageType::MsgTimeoutNow,
    }
    raft
}

/// Whether Raft, as it is now, can take this message. False for what no voter in its right mind sends to this one.
pub(super) fn admit(raft: &Raft<LogStore>, message: &VoterMessage) -> bool {
    if message.term == 0 || message.term > COUNT_MAX || message.from == message.to {
        return false;
    }
    // An older term is answered without a look at the rest.
    let is_current = message.term >= raft.term;
    let last = raft.raft_log.last_index();
    match &message.body {
        VoterBody::Append { index, log_term, entries, .. } => {
            are_entries(*index, *log_term, message.term, entries)
        }
        VoterBody::Heartbeat { commit } => !is_current || *commit <= last,
        VoterBody::AppendDone { index, .. } => !is_current || *index <= last,
        VoterBody::AppendRefused { index, hint, .. } => *hint <= *index && *index <= COUNT_MAX,
        VoterBody::HeartbeatDone { .. } => true,
        VoterBody::Vote { index, .. } => *index <= COUNT_MAX,
        VoterBody::VoteDone { .. } => true,
        VoterBody::Snapshot(snapshot) => is_snapshot(snapshot, message.term),
        VoterBody::CampaignNow => message.term < raft.term || message.from.0 == raft.leader_id,
    }
}

fn are_entries(index: u64, log_term: u64, term: u64, entries: &[LogEntry]) -> bool {
    let mut before = (index, log_term);
    let follows = |entry: &LogEntry| {
        let fits = entry.index == before.0 + 1 && entry.term >= before.1 && entry.term <= term;
        before = (entry.index, entry.term);
        fits && entry.data.len() <= COMMAND_SIZE_MAX
    };
    // Raft takes term 0 for that of any entry that it does not have.
    let is_place = (index == 0) == (log_term == 0);
    is_place
        && index <= COUNT_MAX
        && log_term <= term
        && entries.len() <= ENTRIES_MAX
        && entries.iter().all(follows)
}

fn is_snapshot(snapshot: &LogSnapshot, term: u64) -> bool {
    let mut ids: Vec<VoterId> = snapshot.voters.iter().chain(&snapshot.learners).copied().collect();
    ids.sort();
    let are_distinct = ids.is_sorted_by(|left, right| left < right);
    let in_range = (1..=COUNT_MAX).contains(&snapshot.index) && (1..=term).contains(&snapshot.term);
    let sizes = ids.len() <= VOTERS_MAX && snapshot.state.len() <= STATE_SIZE_MAX;
    let is_state = || crate::control_state::ControlState::decode(&snapshot.state).is_ok();
    in_range
        && sizes
        && are_distinct
        && ids.first() > Some(&VoterId(0))
        && !snapshot.voters.is_empty()
        && is_state()
}

#[cfg(test)]
mod tests;
