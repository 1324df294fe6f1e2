use super::*;

const SECOND: u64 = 1_000_000_000;

#[test]
fn a_node_that_starts_with_the_cluster_and_restores_nothing_has_no_row() {
    let mut restart = RestartInfo::default();
    restart.reach(Step::Started, Instant(0));
    restart.reach(Step::Allocated, Instant(SECOND));
    assert_eq!(restart.row(2, Instant(SECOND)), None);
}

#[test]
fn rows_that_are_restored_have_phases_bytes_and_time_left() {
    let mut restart = RestartInfo::default();
    restart.reach(Step::Started, Instant(0));
    let tell = |restart: &mut RestartInfo, phase, done, total, second: u64| {
        let progress = RestoreProgress { phase, done: done * MIB, total: total * MIB };
        restart.restore(progress, Instant(second * SECOND));
        let text = restart.restore_text(Instant(second * SECOND));
        (text, restart.status())
    };
    let ongoing = Some(("Restore fragments ongoing", 8));
    let text = |text: &str| Some(text.to_owned());
    let began = tell(&mut restart, RestorePhase::Checkpoints, 0, 2_048, 3);
    assert_eq!(began, (text("its rows, which it loads from its checkpoints: 0 of 2048 MiB"), ongoing));
    let half = tell(&mut restart, RestorePhase::Checkpoints, 512, 2_048, 5);
    let expected = "its rows, which it loads from its checkpoints: 512 of 2048 MiB, about 6 s left";
    assert_eq!(half.0, text(expected));
    let log = tell(&mut restart, RestorePhase::Log, 1, 10, 11);
    assert_eq!(log.0, text("its rows, which it loads from its redo log: 1 of 10 MiB, about 0 s left"));
    let indexes = tell(&mut restart, RestorePhase::Indexes, 0, 0, 15);
    assert_eq!(indexes, (text("the indexes of its rows, which it builds"), ongoing));
    assert_eq!(tell(&mut restart, RestorePhase::Done, 0, 0, 17), (None, Some(("Restart completed", 12))));
    let row = restart.row(3, Instant(100 * SECOND)).expect("a row");
    let recovery: Vec<Value> = row[12..18].to_vec();
    assert_eq!(recovery, [3, 14, 8, 0, 4, 2].map(Value::UInt));
    assert_eq!(row[21], Value::UInt(17));
}

#[test]
fn phases_follow_each_other() {
    let mut restart = RestartInfo::default();
    let steps = [
        (Step::Started, None),
        (Step::Allocated, None),
        (Step::Included, Some(6)),
        (Step::CatalogueRead, Some(7)),
        (Step::Entered, Some(9)),
        (Step::Copied, Some(9)),
        (Step::Completed, Some(12)),
    ];
    for (number, (step, status)) in steps.into_iter().enumerate() {
        let second = u64::try_from(number).unwrap();
        restart.reach(step, Instant(second * second * SECOND));
        // A later view does not begin a phase anew.
        restart.reach(step, Instant(900 * SECOND));
        assert_eq!(restart.status().map(|(_, number)| number), status, "{step:?}");
    }
    restart.copies = (7, 8);
    let row = restart.row(3, Instant(1_000 * SECOND)).unwrap();
    let number = |index: usize| row[index].clone();
    assert_eq!(row.len(), 25);
    // Node id; the phases that there are; the total in seconds and milliseconds; the slots.
    let phases =
        [(0, 3), (4, 1), (5, 3), (10, 5), (11, 7), (18, 20), (21, 36), (22, 36_000), (23, 8), (24, 7)];
    for (index, expected) in phases {
        assert_eq!(number(index), Value::UInt(expected), "column {index}");
    }
}
