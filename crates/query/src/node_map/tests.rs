use super::*;
use crate::read::tests::table;
use protocol::SlotSizes;
use protocol::control::GroupId;
use types::{SchemaVersion, ViewNumber};

const WORKERS: u8 = 8;

fn info(node: u16, role: NodeRole) -> NodeInfo {
    let count = if role == NodeRole::Data { WORKERS } else { 0 };
    NodeInfo {
        node: NodeId(node),
        incarnation: Incarnation(1),
        role,
        host: String::new(),
        ldm_count: count,
        tc_count: count,
        query_count: count,
        sql_count: WORKERS,
    }
}

/// The map of `node` in a cluster of two data nodes with eight workers each, and a SQL node, 3.
fn map(node: u16) -> NodeMap {
    let nodes = vec![info(1, NodeRole::Data), info(2, NodeRole::Data), info(3, NodeRole::Sql)];
    let view = View::first(GroupId(1), nodes, 2, SlotSizes::least(u16::from(WORKERS)));
    assert_eq!(view.number, ViewNumber(1));
    let empty = NodeMap::empty(NodeId(node), Arc::new(Schema::empty(SchemaVersion(0))));
    NodeMap { view: Arc::new(view), ..empty }
}

#[test]
fn a_data_node_coordinates_beside_the_session() {
    for instance in 0..WORKERS {
        let expected = Address::new(NodeId(2), ModuleKind::Tc, instance);
        assert_eq!(map(2).coordinator(instance, SlotId(1)), Some(expected));
    }
}

#[test]
fn transactions_of_a_sql_node_are_spread_over_all_coordinators() {
    let map = map(3);
    let mut found: Vec<Address> = map.view.user_slots().filter_map(|slot| map.coordinator(0, slot)).collect();
    for (slot, tc) in map.view.user_slots().zip(&found) {
        let primary = map.primary(slot).unwrap();
        assert_eq!((tc.node, tc.instance, tc.kind), (primary.node, primary.instance, ModuleKind::Tc));
    }
    found.sort();
    found.dedup();
    assert_eq!(found.len(), 2 * usize::from(WORKERS), "all of both nodes");
}

#[test]
fn query_modules_of_a_node_are_asked_in_turn() {
    let map = map(3);
    let mut asked = Vec::new();
    for turn in 0..u32::from(WORKERS) {
        let to = map.replica_for_read(SlotId(1), &[], turn).unwrap();
        assert_eq!(
            (to.node, to.kind),
            (map.replica_for_read(SlotId(1), &[], 0).unwrap().node, ModuleKind::Query)
        );
        asked.push(to.instance);
    }
    asked.sort_unstable();
    assert_eq!(asked, (0..WORKERS).collect::<Vec<_>>());
    let other = map.replica_for_read(SlotId(1), &[NodeId(1)], u32::MAX).unwrap();
    assert_eq!(other.node, NodeId(2));
}

fn named(id: u32, version: u32) -> Arc<TableDefinition> {
    Arc::new(TableDefinition { id: TableId(id), version, name: format!("t{id}"), ..(*table()).clone() })
}

#[test]
fn a_step_makes_access_info_of_the_tables_that_it_changes() {
    let mut schema = Schema::empty(SchemaVersion(1));
    (0..20_000).for_each(|id| schema.put_table(named(id, 1)));
    let view = Arc::new(View::none());
    let with = |map: &NodeMap, schema: &Schema| {
        map.with(Incarnation(1), Arc::clone(&view), Arc::new(schema.clone()), &[])
    };
    let empty = NodeMap::empty(NodeId(1), Arc::new(schema.clone()));
    assert!(empty.tables.is_empty());
    let first = with(&empty, &schema);
    assert_eq!(first.tables.len(), 20_000);

    // A map may miss versions: here a table was made, one was changed, and one was dropped.
    let mut newer = schema.clone();
    newer.put_table(named(20_000, 1));
    newer.put_table(named(5, 2));
    newer.remove_table(TableId(700));
    newer.version = SchemaVersion(4);
    let second = with(&first, &newer);
    let changes = first.tables.changes(&second.tables);
    let shown = changes.iter().map(|(id, old, new)| (id.0, old.is_some(), new.is_some()));
    assert_eq!(
        shown.collect::<Vec<_>>(),
        [(5, true, true), (700, true, false), (20_000, false, true)],
        "access info of the others is the same"
    );
    assert!(first.tables.differences(&second.tables).len() <= 3 * 64, "and so are their chunks");
    let info = |map: &NodeMap| Arc::clone(map.table(TableId(5)).expect("the table"));
    assert_eq!(info(&second).definition.version, 2);
    assert!(Arc::ptr_eq(&info(&first).auto_increment, &info(&second).auto_increment));

    // A definition that is equal is no change, whoever read it again.
    let mut again = newer.clone();
    again.put_table(named(6, 1));
    assert!(second.tables.changes(&with(&second, &again).tables).is_empty());
}
