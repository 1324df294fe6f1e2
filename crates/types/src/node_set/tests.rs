use super::*;
use proptest::collection::btree_set;
use proptest::prelude::*;
use std::collections::BTreeSet;
use stdx::wire::{from_bytes, to_bytes};

type Model = BTreeSet<NodeId>;

fn nodes() -> impl Strategy<Value = Model> {
    let ids = prop_oneof![0..=NodeSet::ID_MAX, Just(63), Just(64), Just(0), Just(NodeSet::ID_MAX)];
    btree_set(ids.prop_map(NodeId), 0..40)
}

fn set(model: &Model) -> NodeSet {
    model.iter().copied().collect()
}

proptest! {
    /// A set is what a `BTreeSet` is.
    #[test]
    fn sets_are_like_trees(one in nodes(), other in nodes(), node in 0..=300_u16) {
        let node = NodeId(node);
        let (left, right) = (set(&one), set(&other));
        prop_assert!(left.iter().eq(one.iter().copied()));
        prop_assert_eq!(left.len(), one.len());
        prop_assert_eq!(left.is_empty(), one.is_empty());
        prop_assert_eq!(left == right, one == other);
        prop_assert_eq!(left.contains(node), one.contains(&node));
        prop_assert!(left.union(&right).iter().eq(one.union(&other).copied()));
        prop_assert!(left.minus(&right).iter().eq(one.difference(&other).copied()));
        prop_assert_eq!(format!("{left:?}"), format!("{one:?}"));
        let mut removed = one.clone();
        removed.remove(&node);
        prop_assert_eq!(left.without(node), set(&removed));
        if node.0 <= NodeSet::ID_MAX {
            let (mut added, mut with) = (one, left);
            added.insert(node);
            with.insert(node);
            prop_assert_eq!(with, set(&added));
        }
    }

    /// Nodes of other versions send and take a list.
    #[test]
    fn its_bytes_are_those_of_a_list(nodes in nodes()) {
        let list: Vec<NodeId> = nodes.iter().copied().collect();
        let bytes = to_bytes(&set(&nodes));
        prop_assert_eq!(&bytes, &to_bytes(&list));
        prop_assert_eq!(from_bytes::<NodeSet>(&bytes), Ok(set(&nodes)));
    }
}

#[test]
fn a_node_that_cannot_be_is_refused() {
    let bytes = to_bytes(&vec![NodeId(1), NodeId(256)]);
    assert_eq!(from_bytes::<NodeSet>(&bytes), Err(WireError::Malformed));
    assert!(!NodeSet::EMPTY.contains(NodeId(u16::MAX)));
}
