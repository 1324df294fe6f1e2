use super::*;

fn shape(nodes: u16, cpus: u16) -> Shape {
    Shape { nodes, replicas: 2, cpus, is_one_machine: false, clients: ClientsAt::Elsewhere, tables: 4 }
}

#[test]
fn a_node_has_a_worker_on_each_cpu() {
    let topology = Topology::new(shape(4, 16)).unwrap();
    assert_eq!(topology.pools, [16; 4]);
    assert!(topology.workers.iter().all(|workers| workers.len() == 16));
    assert_eq!(topology.groups(), 2);
    assert!(topology.generators.is_empty());
    assert_eq!(topology.threads.len(), 64);
}

/// As `latsdb dev` has it: workers on all CPUs, few of them with an `ldm`.
#[test]
fn nodes_of_one_machine_share_its_cpus() {
    let shape = Shape { is_one_machine: true, clients: ClientsAt::Beside, ..shape(2, 2) };
    let topology = Topology::new(shape).unwrap();
    assert_eq!(topology.pools, [2]);
    let primaries: std::collections::BTreeSet<usize> =
        topology.slots.iter().map(|slot| slot.primary).collect();
    assert_eq!(primaries.len(), 2);
    assert_eq!(topology.generators.len(), 3);
}

/// Four tables with two ranks each: eight `ldm` of each node have the same number of partitions.
#[test]
fn slots_of_tables_are_spread_over_nodes_and_threads() {
    let topology = Topology::new(shape(4, 16)).unwrap();
    assert_eq!(topology.slots.len(), 4 * 2 * 4);
    let mut primaries = std::collections::BTreeMap::new();
    for slot in &topology.slots {
        *primaries.entry(slot.primary).or_insert(0) += 1;
        assert_eq!(slot.backups.len(), 1);
        let node = |thread: usize| topology.threads[thread].node;
        assert_ne!(node(slot.primary), node(slot.backups[0]));
        assert_eq!(topology.group_of(node(slot.primary)), slot.group);
    }
    assert_eq!(primaries.len(), 32);
    assert!(primaries.values().all(|count| *count == 1));
}

#[test]
fn groups_are_complete() {
    assert!(Topology::new(shape(3, 2)).is_err());
}
