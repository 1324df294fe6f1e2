//! Which workers and which `ldm` get work, from the CPUs of a node to the partitions of its tables: layout, founding
//! and ranks together, as functions of numbers.

use super::super::slots_for;
use protocol::control::GroupId;
use protocol::layout::{CpuFacts, CpuShare, Layout, LayoutRequest};
use protocol::{ModuleKind, NodeInfo, NodeRole, SlotSizes, View};
use types::{Incarnation, NodeId, RankCounts, TableDefinition, TableId};

const KINDS: &[ModuleKind] =
    &[ModuleKind::Sql, ModuleKind::Tc, ModuleKind::Ldm, ModuleKind::Query, ModuleKind::Main];

/// A data node that has so many CPUs alone.
fn info(node: u16, cpus: u16) -> NodeInfo {
    let facts =
        CpuFacts { usable: cpus, has_quota: false, configured: None, sharing: 1, has_neighbours: false };
    let numbers: Vec<u16> = (0..cpus).collect();
    let share = CpuShare::of(&facts);
    let request = LayoutRequest { thread_config: None, share, cpus: &numbers, kinds: KINDS };
    let layout = Layout::plan(&request).expect("a layout");
    NodeInfo {
        node: NodeId(node),
        incarnation: Incarnation(1),
        role: NodeRole::Data,
        host: String::new(),
        ldm_count: layout.count(ModuleKind::Ldm),
        tc_count: layout.count(ModuleKind::Tc),
        query_count: layout.count(ModuleKind::Query),
        sql_count: layout.count(ModuleKind::Sql),
    }
}

/// A cluster of data nodes with so many CPUs each, in groups of two.
fn cluster(cpus: impl IntoIterator<Item = u16>) -> View {
    let nodes: Vec<NodeInfo> = (1..).zip(cpus).map(|(node, cpus)| info(node, cpus)).collect();
    let slots_per_node = slots_for(nodes.iter().map(|node| node.ldm_count).max().unwrap_or(0));
    View::first(GroupId(1), nodes, 2, SlotSizes { slots_per_node, partitions_per_node: 2 })
}

/// How many partitions each `ldm` leads, by node, when so many tables were made.
fn led(view: &View, tables: usize) -> Vec<Vec<usize>> {
    let terms = view.slot_terms();
    let mut counts = RankCounts::default();
    let mut led: Vec<Vec<usize>> =
        view.nodes.iter().map(|node| vec![0; usize::from(node.ldm_count)]).collect();
    for _ in 0..tables {
        let slots = counts.choose(terms);
        let table = TableDefinition { slots, ..fixtures::table(TableId(1), Vec::new()) };
        counts.add(&table);
        for slot in terms.slots_of(&table) {
            let primary = view.primary(slot).expect("a primary");
            led[usize::from(primary.node.0 - 1)][usize::from(primary.instance)] += 1;
        }
    }
    led
}

/// How many CPUs of a node are at work when its busiest worker is, where the `ldm` have this part of the work and all
/// tables are used alike. The rest is the clients', who are spread over the workers.
fn at_work(node: &NodeInfo, led: &[usize], of_ldm: f64) -> f64 {
    let most = led.iter().max().copied().unwrap_or(0) as f64 / led.iter().sum::<usize>() as f64;
    1.0 / ((1.0 - of_ldm) / f64::from(node.sql_count) + of_ldm * most)
}

#[test]
fn more_cpus_do_more_work_and_powers_of_two_do_all() {
    // Reads have no work for an ldm; a write costs its client's thread as much as its two ldm.
    for of_ldm in [0.0, 0.35, 0.5] {
        let mut before = 0.0;
        for cpus in 1..=192 {
            let view = cluster([cpus, cpus]);
            let busy: Vec<f64> = view
                .nodes
                .iter()
                .zip(led(&view, 64))
                .map(|(node, led)| at_work(node, &led, of_ldm))
                .collect();
            let least = busy.iter().copied().fold(f64::INFINITY, f64::min);
            let part = least / f64::from(cpus);
            let is_sold = [1, 2, 4, 6, 8, 12, 16, 24, 32, 36, 48, 64, 72, 96, 128, 192].contains(&cpus);
            let expected = match cpus {
                _ if of_ldm == 0.0 => 1.0,
                _ if cpus.is_power_of_two() => 1.0,
                _ if is_sold => 0.8,
                _ => 0.66,
            };
            assert!(part >= expected - 1e-9, "{cpus} CPUs, {of_ldm} for ldm: {part}");
            assert!(least >= before - 1e-9, "{cpus} CPUs do {least}, one fewer does {before}");
            before = least;
        }
    }
}

#[test]
fn tables_give_work_to_all_ldm_of_all_nodes() {
    for nodes in [2, 4, 6, 48, 144] {
        for cpus in [1, 2, 3, 8, 12, 16, 48, 64, 192] {
            let view = cluster((0..nodes).map(|_| cpus));
            let ranks = usize::from(view.slots_per_node);
            for tables in [1, 2, 7, 32, 64, 100] {
                for led in led(&view, tables) {
                    let used = led.iter().filter(|led| **led > 0).count();
                    let what = format!("{nodes} nodes, {cpus} CPUs, {tables} tables");
                    assert_eq!(used, led.len().min(2 * tables), "{what}");
                    assert_eq!(led.iter().sum::<usize>(), 2 * tables, "every node leads alike: {what}");
                    let most = ranks.div_ceil(led.len()) * (2 * tables).div_ceil(ranks);
                    assert!(led.iter().all(|led| *led <= most), "{what}: {led:?}");
                }
            }
        }
    }
}

#[test]
fn nodes_of_different_sizes_use_all_their_ldm() {
    let view = cluster([8, 64, 64, 8]);
    assert_eq!(view.slots_per_node, 64);
    let led = led(&view, 32);
    for (node, led) in view.nodes.iter().zip(&led) {
        assert_eq!(led.len(), usize::from(node.ldm_count));
        assert_eq!(led.iter().min(), led.iter().max(), "all of node {:?} lead alike", node.node);
    }
    // Each replica of a slot has an owner among the ldm of its own node.
    for slot in view.user_slots() {
        for node in view.in_sync(slot) {
            let owner = view.ldm(slot, *node).expect("an owner");
            assert!(view.node(*node).is_some_and(|info| owner.instance < info.ldm_count));
        }
    }
}
