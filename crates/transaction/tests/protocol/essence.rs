//! The essence of a signal, for a line of a transcript: its transaction, its rows by their names, its place, its
//! result.

use protocol::Signal;
use protocol::program::{Access, Refusal, WriteOperation};
use protocol::signal::{CommitOutcome, ReplicatedWrite, ReturnedRequest};
use std::collections::{BTreeMap, BTreeSet};
use types::{SlotId, TransactionId};

/// The names of the rows and slots of a script.
#[derive(Default)]
pub(crate) struct Names {
    by_key: BTreeMap<Box<[u8]>, String>,
    rows: BTreeMap<String, (i64, SlotId)>,
}

impl Names {
    pub(crate) fn add(&mut self, name: &str, row: (i64, SlotId), key: Box<[u8]>) {
        self.by_key.insert(key, name.to_owned());
        self.rows.insert(name.to_owned(), row);
    }

    pub(crate) fn rows(&self) -> Vec<(String, i64, SlotId)> {
        self.rows.iter().map(|(name, (id, slot))| (name.clone(), *id, *slot)).collect()
    }

    /// Slots of which the script names rows.
    pub(crate) fn slots(&self) -> BTreeSet<SlotId> {
        self.rows.values().map(|(_, slot)| *slot).collect()
    }

    fn of_keys<'a>(&self, keys: impl Iterator<Item = &'a [u8]>) -> String {
        let names = keys.map(|key| self.by_key.get(key).map_or("?", String::as_str));
        names.collect::<Vec<_>>().join(" ")
    }

    /// A slot is called after the node that led it first.
    fn of_slot(&self, slot: SlotId) -> String {
        let row = self.rows.iter().find(|(_, (_, of))| *of == slot);
        row.map_or_else(|| "?".to_owned(), |(name, _)| format!("slot {}", &name[..1]))
    }

    fn of_slots(&self, slots: &[SlotId]) -> String {
        slots.iter().map(|slot| self.of_slot(*slot)).collect::<Vec<_>>().join(", ")
    }
}

/// The name of a signal.
pub(crate) fn name(signal: &Signal) -> String {
    word(signal)
}

/// The name of a variant.
fn word(value: &impl std::fmt::Debug) -> String {
    format!("{value:?}").chars().take_while(|c| c.is_alphanumeric()).collect()
}

fn id(transaction: TransactionId) -> String {
    format!("t{}", transaction.0)
}

fn refused(refusal: Option<&Refusal>) -> String {
    refusal.map(|refusal| format!(" refused: {}", word(refusal))).unwrap_or_default()
}

fn returned(request: &ReturnedRequest) -> TransactionId {
    match request {
        ReturnedRequest::Read(read) => read.transaction.unwrap_or(TransactionId(0)),
        ReturnedRequest::Write(write) => write.transaction,
        ReturnedRequest::CommitOne(commit) => commit.transaction,
        ReturnedRequest::RollbackTo { transaction, .. } | ReturnedRequest::OutcomeAsk { transaction, .. } => {
            *transaction
        }
    }
}

fn of_operation(operation: &WriteOperation) -> &[u8] {
    match operation {
        WriteOperation::Put { key, .. } | WriteOperation::Delete { key, .. } => key,
        _ => &[],
    }
}

/// The text of a signal in a transcript; None if it says nothing of it.
pub(crate) fn essence(signal: &Signal, names: &Names) -> Option<String> {
    let known = names.slots();
    let of_session = of_session(signal, names);
    let (slot, text) = of_session.or_else(|| of_commit(signal, names)).or_else(|| of_view(signal))?;
    match slot {
        None => Some(text),
        Some(slot) if known.contains(&slot) => {
            // With one slot it goes without saying.
            let place = if known.len() > 1 { format!(" in {}", names.of_slot(slot)) } else { String::new() };
            Some(format!("{}{place}", text.trim_end()).trim_start().to_owned())
        }
        Some(_) => None,
    }
}

type Essence = Option<(Option<SlotId>, String)>;

/// Between sessions and primaries or coordinators.
fn of_session(signal: &Signal, names: &Names) -> Essence {
    let text = match signal {
        Signal::Read(read) => {
            let Access::Keys(keys) = &read.access else { return None };
            let keys = names.of_keys(keys.iter().map(|key| &**key));
            let lock =
                read.lock.map(|(mode, _)| format!(" {}", word(&mode).to_lowercase())).unwrap_or_default();
            format!("{}{lock} {keys}", id(read.transaction?))
        }
        Signal::ReadDone(done) => match &done.result {
            Ok(_) => format!("t{} ok", done.request.0),
            Err(refusal) => format!("t{}{}", done.request.0, refused(Some(refusal))),
        },
        Signal::Write(write) => {
            let keys = names.of_keys(write.operations.iter().map(of_operation));
            let commit = if write.commit.is_some() { " and commit" } else { "" };
            format!("{} {keys}{commit}", id(write.transaction))
        }
        Signal::WriteDone(done) => match &done.result {
            Ok(summary) if summary.committed.is_some() => format!("t{} committed", done.request.0),
            Ok(_) => format!("t{} ok", done.request.0),
            Err(failure) => format!("t{}{}", done.request.0, refused(Some(&failure.refusal))),
        },
        Signal::CommitOne(commit) => id(commit.transaction),
        Signal::Abort { transaction, slot } => return Some((Some(*slot), id(*transaction))),
        Signal::OutcomeAsk { transaction, slot, .. } => return Some((Some(*slot), id(*transaction))),
        Signal::Coordinate(request) => {
            let slots: Vec<SlotId> =
                request.participants.iter().map(|participant| participant.slot).collect();
            format!("{} over {}", id(request.transaction), names.of_slots(&slots))
        }
        Signal::CommitDone(done) => match &done.outcome {
            CommitOutcome::Committed(_) => format!("t{} committed", done.request.0),
            CommitOutcome::Aborted(refusal) => format!("t{} aborted: {}", done.request.0, word(refusal)),
            CommitOutcome::Unknown => format!("t{} unknown", done.request.0),
        },
        Signal::Confirm { transaction } => id(*transaction),
        Signal::Returned(request) => id(returned(request)),
        Signal::WaitMoved { request, to: Some(to) } => format!("t{} to {to}", request.0),
        Signal::WaitMoved { request, to: None } => format!("t{} to nobody", request.0),
        Signal::TransactionMoved { transaction, slot } => return Some((Some(*slot), id(*transaction))),
        Signal::ProbeSession(probe) | Signal::ProbeWait(probe) => {
            format!("{} waits for {}", id(probe.initiator), id(probe.transaction))
        }
        Signal::ProbeHit { initiator, other, .. } => {
            format!("{} in a cycle with {}", id(*initiator), id(*other))
        }
        _ => return None,
    };
    Some((None, text))
}

/// Between coordinators, primaries and backups.
fn of_commit(signal: &Signal, names: &Names) -> Essence {
    let (slot, text) = match signal {
        Signal::Prepare { transaction, participant, .. } => (participant.slot, id(*transaction)),
        Signal::Prepared(prepared) => (
            prepared.slot,
            format!("{}{}", id(prepared.transaction), refused(prepared.result.as_ref().err())),
        ),
        Signal::Outcome(outcome) => {
            let what = if outcome.committed.is_some() { "commit" } else { "abort" };
            (outcome.slot, format!("{} {what}", id(outcome.transaction)))
        }
        Signal::OutcomeRecorded { transaction, slot } => (*slot, id(*transaction)),
        Signal::Forget { slot, transactions } => {
            (*slot, transactions.iter().map(|transaction| id(*transaction)).collect::<Vec<_>>().join(" "))
        }
        Signal::Replicate(replicate) => {
            let keys = names.of_keys(replicate.writes.iter().map(ReplicatedWrite::key));
            (replicate.slot, format!("{} #{} {keys}", id(replicate.transaction), replicate.sequence.0))
        }
        Signal::Applied { slot, sequence, refusal } => {
            (*slot, format!("#{}{}", sequence.0, refused(refusal.as_ref())))
        }
        Signal::Decided { slot, sequence } => (*slot, format!("#{}", sequence.0)),
        Signal::DropAhead { slot, transaction } => (*slot, id(*transaction)),
        _ => return None,
    };
    Some((Some(slot), text))
}

/// When the view changes.
fn of_view(signal: &Signal) -> Essence {
    let (slot, text) = match signal {
        Signal::Gather(report) => (report.slot, String::new()),
        Signal::HandOver(piece) => {
            let open =
                piece.transactions.iter().map(|open| id(open.transaction)).collect::<Vec<_>>().join(" ");
            let waits = piece.waits.len();
            let text = if waits > 0 { format!("{open}, waiting requests: {waits}") } else { open };
            (piece.slot, text)
        }
        Signal::Taken { slot } | Signal::SlotCopied { slot } => (*slot, String::new()),
        Signal::CopyApplied { slot, differing } => {
            let count = differing.len();
            (*slot, if count > 0 { format!("differing: {count}") } else { String::new() })
        }
        Signal::CopyPiece(piece) => {
            let last = if piece.is_last { ", the last piece" } else { "" };
            let exact = if piece.ranges.iter().any(|range| range.is_exact) { ", exact" } else { "" };
            let same: u32 = piece.ranges.iter().map(|range| range.count).sum();
            let same = if same > 0 { format!(", not sent: {same}") } else { String::new() };
            (piece.slot, format!("rows: {}{same}{exact}{last}", piece.rows.len()))
        }
        Signal::RecoveryAsk { transaction, slot, .. } => (*slot, id(*transaction)),
        Signal::RecoveryReport(report) => {
            (report.slot, format!("{} {}", id(report.transaction), word(&report.state)))
        }
        _ => return None,
    };
    Some((Some(slot), text))
}
