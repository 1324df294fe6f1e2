use super::*;
use crate::{Collation, TableId};

fn table(kind: TableKind, slots: TableSlots) -> TableDefinition {
    TableDefinition {
        id: TableId(1),
        version: 1,
        database: String::new(),
        name: String::new(),
        kind,
        columns: Vec::new(),
        indexes: Vec::new(),
        auto_increment: None,
        comment: String::new(),
        collation: Collation::Binary,
        slots,
        copied_to: None,
        checks: Vec::new(),
    }
}

/// Clusters of so many nodes.
fn terms(nodes: u16, replicas: u16, slots_per_node: u16) -> SlotTerms {
    SlotTerms { slots_per_node, partitions_per_node: 2, groups: nodes / replicas, replicas }
}

#[test]
fn a_slot_has_one_place_and_groups_lie_together() {
    for (nodes, replicas, per_node) in [(2, 2, 1), (2, 1, 3), (4, 2, 2), (6, 3, 4), (144, 2, 128)] {
        let terms = terms(nodes, replicas, per_node);
        assert_eq!(terms.slot_count(), 1 + u32::from(nodes) * u32::from(per_node));
        assert_eq!((terms.position(SlotId(0)), terms.position(SlotId(terms.slot_count()))), (None, None));
        let mut expected = 1;
        for group in 1..=terms.groups {
            assert_eq!(terms.slots_of_group(group).start, expected);
            for rank in 0..per_node {
                for column in 0..replicas {
                    let position = SlotPosition { group, rank, column };
                    assert_eq!(terms.slot(position), SlotId(expected));
                    assert_eq!(terms.position(SlotId(expected)), Some(position));
                    expected += 1;
                }
            }
            assert_eq!(terms.slots_of_group(group).end, expected);
        }
    }
}

#[test]
fn partitions_go_round_groups_then_columns_then_ranks() {
    let terms = terms(4, 2, 8);
    let slots = TableSlots { first_rank: 3, ranks: 2, groups: 2 };
    let found = terms.slots_of(&table(TableKind::User, slots));
    for (partition, slot) in (0_u16..).zip(&found) {
        let (group, column, rank) = (1 + partition % 2, partition / 2 % 2, 3 + partition / 4);
        assert_eq!(terms.position(*slot), Some(SlotPosition { group, rank, column }));
    }
    assert_eq!(found.len(), 8);
    assert_eq!(terms.slots_of(&table(TableKind::System, TableSlots::default())), [SlotId(0)]);
    // A definition from elsewhere may name slots that the cluster does not have.
    let beyond = TableSlots { first_rank: 7, ranks: u16::MAX, groups: u16::MAX };
    assert_eq!(terms.slots_of(&table(TableKind::User, beyond)).len(), 4);
    assert_eq!(SlotTerms::default().slots_of(&table(TableKind::User, beyond)), []);
}

/// How many partitions each `ldm` of a group's nodes leads, when this many tables were made, each node has as many
/// `ldm`, and all primaries are at home.
fn led(terms: SlotTerms, ldm_count: u16, tables: usize) -> Vec<u32> {
    let (mut counts, mut led) = (RankCounts::default(), BTreeMap::new());
    for _ in 0..tables {
        let made = table(TableKind::User, counts.choose(terms));
        counts.add(&made);
        let slots = terms.slots_of(&made);
        assert_eq!(slots.len(), usize::from(terms.partitions_per_node * terms.groups * terms.replicas));
        for position in slots.iter().filter_map(|slot| terms.position(*slot)) {
            *led.entry((position.group, position.column, position.rank % ldm_count)).or_insert(0) += 1;
        }
    }
    let nodes = (1..=terms.groups).flat_map(|group| (0..terms.replicas).map(move |column| (group, column)));
    let ldms = nodes.flat_map(|(group, column)| (0..ldm_count).map(move |ldm| (group, column, ldm)));
    ldms.map(|ldm| led.get(&ldm).copied().unwrap_or(0)).collect()
}

#[test]
fn every_ldm_of_every_node_gets_work() {
    for nodes in [2, 4, 48, 144] {
        for (cpus, per_node) in [(1, 64), (2, 64), (8, 64), (64, 64), (192, 128)] {
            let ldm_count = std::cmp::min(cpus, 128);
            for tables in [1, 2, 7, 32, 64, 100] {
                let led = led(terms(nodes, 2, per_node), ldm_count, tables);
                let used = led.iter().filter(|led| **led > 0).count();
                let all = usize::from(ldm_count) * usize::from(nodes);
                assert_eq!(used, all.min(2 * tables * usize::from(nodes)), "{nodes} {cpus} {tables}");
                // A table has two partitions per node: no ldm has more than its share, rounded up.
                let share = (2 * tables).div_ceil(usize::from(ldm_count));
                let most = led.iter().max().copied().unwrap_or(0) as usize;
                assert_eq!(most, share, "{nodes} nodes, {cpus} CPUs, {tables} tables");
            }
        }
    }
}

#[test]
fn thirty_two_tables_use_64_cpus_evenly() {
    for nodes in 1..=72 {
        let led = led(terms(2 * nodes, 2, 64), 64, 32);
        let (most, sum) = (led.iter().max().copied().unwrap_or(0), led.iter().sum::<u32>());
        assert!(led.iter().all(|led| *led > 0));
        assert!(f64::from(most) <= 1.2 * f64::from(sum) / led.len() as f64);
    }
}

#[test]
fn ranks_of_dropped_tables_are_taken_again_and_hidden_tables_do_not_count() {
    let terms = terms(2, 2, 8);
    let mut counts = RankCounts::default();
    let make = |counts: &mut RankCounts| {
        let made = table(TableKind::User, counts.choose(terms));
        counts.add(&made);
        made
    };
    let made: Vec<TableDefinition> = (0..4).map(|_| make(&mut counts)).collect();
    let firsts: Vec<u16> = made.iter().map(|table| table.slots.first_rank).collect();
    assert_eq!(firsts, [0, 2, 4, 6]);
    let kind = TableKind::UniqueIndex { base: TableId(1), index: crate::IndexId(1) };
    counts.add(&table(kind, made[0].slots));
    counts.remove(&made[2]);
    assert_eq!(make(&mut counts).slots.first_rank, 4);
    assert_eq!(make(&mut counts).slots.first_rank, 0, "the lowest of several");
    // Three ranks of eight: the last two are taken with one that is used, without wrapping round.
    let odd = SlotTerms { partitions_per_node: 3, ..terms };
    let mut counts = RankCounts::default();
    let firsts: Vec<u16> = (0..4)
        .map(|_| {
            let made = table(TableKind::User, counts.choose(odd));
            counts.add(&made);
            made.slots.first_rank
        })
        .collect();
    assert_eq!(firsts, [0, 3, 5, 0]);
}
