use super::*;
use crate::log_file::Durable;
use raft::{Config, RawNode};
use stdx::Prng;
use stdx::wire::{from_bytes, to_bytes};

fn message(term: u64, body: VoterBody) -> VoterMessage {
    VoterMessage { group: GroupId(1), from: VoterId(2), to: VoterId(1), term, body }
}

fn draw_entries(prng: &mut Prng, index: u64, term: u64) -> Vec<LogEntry> {
    (0..prng.below(4))
        .map(|step| LogEntry {
            term,
            index: index + 1 + step,
            kind: if prng.chance(1, 3) { EntryKind::VoterChange } else { EntryKind::Command },
            data: vec![1; prng.index(9)].into(),
        })
        .collect()
}

fn draw(prng: &mut Prng) -> VoterBody {
    let mut number = || prng.below(40);
    let (index, log_term, commit, commit_term) = (number(), number(), number(), number());
    let poll = [Poll::PreVote, Poll::Vote, Poll::Urgent][prng.index(3)];
    match prng.below(9) {
        0 => VoterBody::Append { index, log_term, commit, entries: draw_entries(prng, index, log_term) },
        1 => VoterBody::AppendDone { index, commit },
        2 => VoterBody::AppendRefused { index, hint: log_term, hint_term: commit_term, commit },
        3 => VoterBody::Heartbeat { commit },
        4 => VoterBody::HeartbeatDone { commit },
        5 => VoterBody::Vote { poll, index, log_term, commit, commit_term },
        6 => VoterBody::VoteDone {
            poll: if poll == Poll::Urgent { Poll::Vote } else { poll },
            granted: prng.chance(1, 2),
            commit,
            commit_term,
        },
        7 => VoterBody::Snapshot(LogSnapshot {
            index,
            term: log_term,
            voters: vec![VoterId(1), VoterId(2)],
            learners: vec![VoterId(1 + prng.below(4))],
            state: vec![2; prng.index(30)].into(),
        }),
        _ => VoterBody::CampaignNow,
    }
}

#[test]
fn messages_come_back_from_raft_and_from_bytes() {
    let mut prng = Prng::new(1);
    for _ in 0..5_000 {
        let original = message(1 + prng.below(50), draw(&mut prng));
        assert_eq!(from_raft(GroupId(1), &to_raft(&original)), Some(original.clone()));
        assert_eq!(from_bytes::<VoterMessage>(&to_bytes(&original)), Ok(original));
    }
}

/// The snapshot that a copy begins with, without entries.
fn snapshot() -> LogSnapshot {
    let settings = crate::control_state::ClusterSettings {
        members: Vec::new(),
        replica_count: 1,
        partitions_per_node: 1,
        slots_per_node: 1,
        voter_count: 1,
    };
    let state = crate::control_state::ControlState::founded(GroupId(1), settings, types::NodeId(1), 1);
    let voters = vec![VoterId(1), VoterId(2), VoterId(3)];
    LogSnapshot { index: 4, term: 2, voters, learners: Vec::new(), state: state.encode() }
}

/// A copy with some entries, as a voter among three.
fn copy() -> RawNode<LogStore> {
    let entries =
        (5..10).map(|index| LogEntry { term: 3, index, ..LogEntry::default() }).collect::<Vec<LogEntry>>();
    let durable = Durable {
        group: GroupId(1),
        voter: VoterId(1),
        hard: HardState { term: 3, vote: 0, commit: 6 },
        snapshot: snapshot(),
        entries,
    };
    let config = Config {
        id: 1,
        election_tick: 10,
        heartbeat_tick: 1,
        applied: 4,
        pre_vote: true,
        check_quorum: true,
        ..Config::default()
    };
    let logger = slog::Logger::root(slog::Discard, slog::o!());
    RawNode::new(&config, LogStore::new(durable), &logger).unwrap()
}

#[test]
fn no_message_ends_the_process() {
    let mut prng = Prng::new(2);
    let (mut admitted, mut refused) = (0, 0);
    for _ in 0..400 {
        let mut raft = copy();
        for _ in 0..40 {
            let message = message(prng.below(6), draw(&mut prng));
            // Whatever is let through, Raft must survive; an entry that contradicts what is committed comes from no
            // leader.
            if admit(&raft.raft, &message) && !contradicts(&raft, &message) {
                admitted += 1;
                let _ = raft.step(to_raft(&message));
                if raft.has_ready() {
                    let ready = raft.ready();
                    let store = raft.mut_store();
                    if !ready.snapshot().is_empty() {
                        store.restore(snapshot_from_raft(ready.snapshot()));
                    }
                    store.append(ready.entries().iter().map(entry_from_raft).collect());
                    raft.advance(ready);
                }
            } else {
                refused += 1;
            }
        }
    }
    assert!(admitted > 500 && refused > 500, "{admitted} {refused}");
}

/// Two leaders of one term, or a leader without what is committed: this is not a message of this group.
fn contradicts(raft: &RawNode<LogStore>, message: &VoterMessage) -> bool {
    let is_leaders = matches!(message.body, VoterBody::Snapshot(_) | VoterBody::Append { .. });
    is_leaders && raft.raft.state == raft::StateRole::Leader && message.term == raft.raft.term
}

#[test]
fn lies_are_refused() {
    let raft = copy();
    let refused = |term, body| !admit(&raft.raft, &message(term, body));
    assert!(refused(0, VoterBody::CampaignNow));
    assert!(refused(u64::MAX, VoterBody::HeartbeatDone { commit: 0 }));
    assert!(refused(3, VoterBody::Heartbeat { commit: 10 }), "commits what was never sent here");
    assert!(!refused(3, VoterBody::Heartbeat { commit: 9 }));
    assert!(refused(3, VoterBody::AppendDone { index: 10, commit: 0 }), "has what was never sent there");
    assert!(refused(3, VoterBody::AppendRefused { index: 3, hint: u64::MAX, hint_term: 0, commit: 0 }));
    let gap = vec![LogEntry { term: 3, index: 12, ..LogEntry::default() }];
    assert!(refused(3, VoterBody::Append { index: 9, log_term: 3, commit: 9, entries: gap }));
    let future = vec![LogEntry { term: 9, index: 10, ..LogEntry::default() }];
    assert!(refused(3, VoterBody::Append { index: 9, log_term: 3, commit: 9, entries: future }));
    assert!(refused(3, VoterBody::Snapshot(LogSnapshot { index: 20, term: 3, ..LogSnapshot::default() })));
    let later = |term| VoterBody::Snapshot(LogSnapshot { index: 20, term, ..snapshot() });
    assert!(!refused(3, later(3)));
    assert!(refused(3, later(0)), "an entry of no term");
}
