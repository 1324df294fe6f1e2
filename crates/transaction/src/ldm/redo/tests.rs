//! The order of entries: whatever the order in which versions of a row are decided, a replay up to any epoch has the
//! newest version of that epoch.

use super::*;
use durability::Block;
use durability::block::{Heading, Position};
use memory::{MemoryConfig, MemoryManager};
use protocol::control::GroupId;
use std::sync::Arc;
use stdx::Prng;
use storage::{FragmentDefinition, RowHandle};
use types::{NodeId, RestartNumber};

const KEY: &[u8] = b"key";
const PLACE: (TableId, SlotId) = (TableId(1), SlotId(0));
/// Versions of the row that are undecided at once, at most.
const VERSIONS: u64 = 5;

/// An entry as it was read back.
type Logged = (Epoch, Option<Vec<u8>>);

fn log() -> Redo {
    Redo::with_log(0, Arc::new(RedoRoom::new(1 << 20, 1)))
}

fn fragment() -> Fragment {
    let schema = catalogue::bootstrap();
    let table = schema.tables().get(PLACE.0).expect("a system table").clone();
    let memory = MemoryManager::new(MemoryConfig::with_data_memory(4 << 20));
    Fragment::new(Arc::new(FragmentDefinition::new(&table)), memory)
}

/// Everything that was logged.
fn entries(redo: &mut Redo) -> Vec<Logged> {
    let log = redo.log().expect("a log");
    let mut blocks = std::mem::take(&mut log.full);
    blocks.extend(log.open.seal());
    let mut logged = Vec::new();
    for block in blocks {
        let heading = Heading {
            founding: GroupId(1),
            node: NodeId(1),
            restart: RestartNumber(0),
            file: 1,
            position: Position(1),
            previous: 0,
            flushed: Position(0),
            durable: Epoch(0),
        };
        let (bytes, _) = block.finish(&heading);
        let block = Block::decode(&bytes).expect("a block");
        for entry in block.entries() {
            let entry = entry.expect("an entry");
            assert_eq!(entry.key, KEY);
            logged.push((entry.epoch, entry.row.map(<[u8]>::to_vec)));
        }
    }
    logged
}

/// The row after a replay of what is not above the cut.
fn replay(logged: &[Logged], cut: Epoch) -> Option<(Epoch, Vec<u8>)> {
    let mut row: Option<(Epoch, Vec<u8>)> = None;
    for (epoch, bytes) in logged.iter().filter(|(epoch, _)| *epoch <= cut) {
        if row.as_ref().is_none_or(|(there, _)| there <= epoch) {
            row = bytes.clone().map(|bytes| (*epoch, bytes));
        }
    }
    row
}

/// One version of the row.
struct Version {
    transaction: TransactionId,
    handle: RowHandle,
    epoch: Epoch,
    row: Option<Vec<u8>>,
    is_committed: bool,
}

/// Versions are stacked and decided in drawn orders; afterwards each cut has the newest committed one.
fn decide_in_any_order(seed: u64) {
    let mut prng = Prng::new(seed);
    let (mut fragment, mut redo) = (fragment(), log());
    let (mut decided, mut next, mut epoch) = (Vec::new(), 1, Epoch(10));
    while next < 20 {
        let mut open: Vec<Version> = Vec::new();
        for _ in 0..1 + prng.below(VERSIONS) {
            epoch = Epoch(epoch.0 + prng.below(3));
            let transaction = TransactionId(next);
            let row = prng.chance(1, 2).then(|| vec![u8::try_from(next).unwrap_or(0); 8]);
            let handle = fragment.apply_prepared(KEY, transaction, row.as_deref()).expect("memory");
            let is_committed = prng.chance(3, 4);
            open.push(Version { transaction, handle, epoch, row, is_committed });
            next += 1;
        }
        let mut order: Vec<usize> = (0..open.len()).collect();
        while !order.is_empty() {
            let version = &open[order.swap_remove(prng.index(order.len()))];
            let log = redo.log().expect("a log");
            if version.is_committed {
                let row = fragment.decided(version.handle, version.transaction).expect("a version");
                log.publish(PLACE, &row, version.transaction, version.epoch);
                fragment.commit(version.handle, version.transaction, version.epoch);
            } else {
                log.undo(PLACE, KEY, version.transaction);
                fragment.abort(version.handle, version.transaction);
            }
        }
        assert!(redo.log().expect("a log").overtaking.is_empty(), "nothing is remembered for ever");
        decided.extend(open);
    }
    let logged = entries(&mut redo);
    for cut in (0..=epoch.0).map(Epoch) {
        let newest = decided.iter().rfind(|version| version.is_committed && version.epoch <= cut);
        let expected = newest.and_then(|version| Some((version.epoch, version.row.clone()?)));
        assert_eq!(replay(&logged, cut), expected, "seed {seed}, cut {cut}, {logged:?}");
    }
}

#[test]
fn a_replay_has_the_newest_version_whatever_was_decided_first() {
    (0..2_000).for_each(decide_in_any_order);
}

#[test]
fn a_delete_that_was_logged_first_is_logged_again_behind_an_older_row() {
    let (mut fragment, mut redo) = (fragment(), log());
    let older = fragment.apply_prepared(KEY, TransactionId(1), Some(b"old")).expect("memory");
    let newer = fragment.apply_prepared(KEY, TransactionId(2), None).expect("memory");
    for (handle, transaction, epoch) in [(newer, 2, 12), (older, 1, 11)] {
        let transaction = TransactionId(transaction);
        let row = fragment.decided(handle, transaction).expect("a version");
        redo.log().expect("a log").publish(PLACE, &row, transaction, Epoch(epoch));
        fragment.commit(handle, transaction, Epoch(epoch));
    }
    let expected = [(Epoch(12), None), (Epoch(11), Some(b"old".to_vec())), (Epoch(12), None)];
    assert_eq!(entries(&mut redo), expected);
}

#[cfg(feature = "mutants")]
mod bugs {
    use super::*;
    use crate::mutants::{BY_OWN_TEST, activate};
    use stdx::planted::survivors;

    #[test]
    fn every_listed_bug_fails_its_test() {
        let tests: [(Mutant, fn()); 2] = [
            (Mutant::SameEpochOutOfOrder, a_replay_has_the_newest_version_whatever_was_decided_first),
            (Mutant::EntryNotRepeated, a_delete_that_was_logged_first_is_logged_again_behind_an_older_row),
        ];
        assert_eq!(tests.map(|(mutant, _)| mutant), BY_OWN_TEST);
        assert_eq!(survivors(&tests, activate), []);
    }
}
