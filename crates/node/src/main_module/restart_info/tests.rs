use super::*;

const SECOND: u64 = 1_000_000_000;

#[test]
fn who_starts_with_the_cluster_has_no_row() {
    let mut restart = RestartInfo::default();
    restart.reach(Step::Started, Instant(0));
    restart.reach(Step::Allocated, Instant(SECOND));
    assert_eq!(restart.row(2, Instant(SECOND)), None);
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
