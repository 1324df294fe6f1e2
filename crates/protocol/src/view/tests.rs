use super::*;
use stdx::wire::{from_bytes, to_bytes};

fn info(node: u16, ldm_count: u8) -> NodeInfo {
    NodeInfo {
        node: NodeId(node),
        incarnation: Incarnation(u32::from(node)),
        role: NodeRole::Data,
        host: String::new(),
        ldm_count,
        tc_count: 1,
        query_count: 1,
        sql_count: 1,
    }
}

fn first(nodes: u16, replicas: usize, slots_per_node: u16) -> View {
    let nodes = (1..=nodes).map(|node| info(node, 3)).collect();
    let sizes = SlotSizes { slots_per_node, partitions_per_node: 1 };
    View::first(GroupId(1), nodes, replicas, sizes)
}

#[test]
fn every_node_leads_its_column_and_every_ldm_its_ranks() {
    for (nodes, replicas, per_node) in [(2, 2, 64), (1, 1, 5), (6, 3, 4), (4, 2, 128)] {
        let view = first(nodes, replicas, per_node);
        assert!(view.is_well_formed());
        assert_eq!(view.slots.len(), 1 + usize::from(nodes) * usize::from(per_node));
        for node in (1..=nodes).map(NodeId) {
            let own: Vec<SlotId> = view.slots_of_node(node).collect();
            assert_eq!(own[0], SlotId(0));
            assert_eq!(own.len(), 1 + replicas * usize::from(per_node));
            assert!(own.iter().all(|slot| view.in_sync(*slot).contains(&node)));
            let led = own.iter().filter(|slot| view.home(**slot) == Some(node)).count();
            assert_eq!(led, usize::from(per_node));
            assert!(
                own[1..].iter().all(|slot| view.home(*slot) == Some(view.slots[slot.0 as usize].primary))
            );
            for slot in &own[1..] {
                let rank = view.slot_terms().position(*slot).map(|position| position.rank);
                assert_eq!(
                    view.ldm(*slot, node).map(|ldm| u16::from(ldm.instance)),
                    rank.map(|rank| rank % 3)
                );
            }
        }
        let others: Vec<SlotId> = view.slots_of_node(NodeId(nodes + 1)).collect();
        assert_eq!((others.len(), view.home(SlotId(0))), (0, None));
    }
}

#[test]
fn a_node_with_another_layout_has_the_same_slots_on_other_ldms() {
    let mut view = first(2, 2, 8);
    view.nodes[1].ldm_count = 5;
    for slot in view.user_slots() {
        let rank = view.place(slot).map_or(0, |place| place.rank);
        let instance = |node| view.ldm(slot, NodeId(node)).map(|ldm| u16::from(ldm.instance));
        assert_eq!((instance(1), instance(2)), (Some(rank % 3), Some(rank % 5)));
    }
}

#[test]
fn the_wire_form_lists_what_is_away_from_home() {
    for view in [View::none(), first(2, 2, 1), first(6, 3, 64)] {
        assert_eq!(from_bytes::<View>(&to_bytes(&view)), Ok(view));
    }
    let mut view = first(6, 3, 64);
    let at_home = to_bytes(&view).len();
    assert!(at_home < 600, "{at_home} bytes for {} slots", view.slots.len());
    (view.slots[7].primary, view.slots[7].since) = (NodeId(2), ViewNumber(9));
    view.slots[8].since = ViewNumber(9);
    view.slots[0].primary = NodeId(4);
    let moved = to_bytes(&view);
    assert_eq!(moved.len(), at_home + 2 * 6 + 2 * 12);
    assert_eq!(from_bytes::<View>(&moved), Ok(view));
}

#[test]
fn slots_that_do_not_fit_are_refused() {
    let good = first(4, 2, 2);
    let changed = |change: fn(&mut View)| {
        let mut view = good.clone();
        change(&mut view);
        view.is_well_formed()
    };
    assert!(changed(|_| {}));
    assert!(!changed(|view| view.slots.truncate(3)));
    assert!(!changed(|view| view.slots_per_node = 3));
    assert!(!changed(|view| view.slots[3].rank = 1 - view.slots[3].rank));
    assert!(!changed(|view| view.slots[1].group = 2));
    assert!(!changed(|view| view.slots[1].primary = NodeId(3)));
    assert!(!changed(|view| view.groups[2].replicas.truncate(1)));
}

#[test]
fn few_bytes_do_not_ask_for_many_slots() {
    let view = View { slots_per_node: u16::MAX, slots: Vec::new(), ..first(144, 2, 1) };
    assert_eq!(from_bytes::<View>(&to_bytes(&view)), Err(WireError::TooLarge));
    let view = View { slots: Vec::new(), ..first(100, 100, 1) };
    assert_eq!(from_bytes::<View>(&to_bytes(&view)), Err(WireError::TooLarge));
}
