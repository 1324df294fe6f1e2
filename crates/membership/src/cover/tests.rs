use super::*;
use stdx::Prng;

fn links(links: &[(u16, u16)]) -> BTreeSet<(NodeId, NodeId)> {
    links.iter().map(|(left, right)| (NodeId(*left), NodeId(*right))).collect()
}

fn leavers(broken: &[(u16, u16)]) -> Vec<u16> {
    fewest(&links(broken), &Evidence::default(), |_| true, |_| true)
        .unwrap()
        .iter()
        .map(|node| node.0)
        .collect()
}

#[test]
fn the_fewest_leave() {
    assert!(leavers(&[]).is_empty());
    assert_eq!(leavers(&[(1, 2)]), [2]);
    assert_eq!(leavers(&[(1, 2), (1, 3), (1, 65)]), [1]);
    assert_eq!(leavers(&[(1, 2), (3, 4)]), [4, 2]);
    // A switch with 1 and 2 on one side, 3 and 4 on the other.
    assert_eq!(leavers(&[(1, 3), (1, 4), (2, 3), (2, 4)]), [4, 3]);
}

#[test]
fn nobody_who_is_heard_leaves_for_the_sake_of_the_dead() {
    let hints = Evidence { hints: links(&[(1, 65), (4, 65)]), ..Evidence::default() };
    let leavers = |broken: &[(u16, u16)], dead: &[u16]| {
        let leavers = fewest(&links(broken), &hints, |node| !dead.contains(&node.0), |_| true).unwrap();
        leavers.iter().map(|node| node.0).collect::<Vec<u16>>()
    };
    assert_eq!(leavers(&[(1, 2), (2, 4)], &[1, 4]), [4, 1]);
    assert_eq!(leavers(&[(1, 2), (1, 3), (1, 4)], &[2, 3, 4]), [4, 3, 2]);
    // Two that live do not hear each other, and a third is dead.
    assert_eq!(leavers(&[(1, 2), (1, 3), (2, 3)], &[1]), [3, 1]);
    // The last node of its group cannot leave: the other end of its broken link does.
    let keeps_one = |leavers: &[NodeId]| !leavers.contains(&NodeId(4));
    let one = fewest(&links(&[(1, 4)]), &hints, |node| node != NodeId(4), keeps_one);
    assert_eq!(one, Some(vec![NodeId(1)]));
}

#[test]
fn a_set_that_may_not_leave_is_passed_over() {
    let keeps_two = |leavers: &[NodeId]| !leavers.contains(&NodeId(2));
    assert_eq!(fewest(&links(&[(1, 2)]), &Evidence::default(), |_| true, keeps_two), Some(vec![NodeId(1)]));
    assert_eq!(fewest(&links(&[(1, 2)]), &Evidence::default(), |_| true, |_| false), None);
}

#[test]
fn a_hint_tells_who_is_to_blame_and_makes_nobody_leave() {
    let leavers = |broken: &[(u16, u16)], hints: &[(u16, u16)]| {
        let evidence = Evidence { hints: links(hints), ..Evidence::default() };
        let leavers = fewest(&links(broken), &evidence, |_| true, |_| true).unwrap();
        leavers.iter().map(|node| node.0).collect::<Vec<u16>>()
    };
    assert!(leavers(&[], &[(1, 2)]).is_empty());
    assert_eq!(leavers(&[(2, 3)], &[]), [3]);
    assert_eq!(leavers(&[(2, 3)], &[(1, 2)]), [2]);
    assert_eq!(leavers(&[(2, 3)], &[(1, 2), (1, 3)]), [3]);
    assert_eq!(leavers(&[(2, 3), (4, 5)], &[(1, 2), (1, 4)]), [4, 2]);
}

#[test]
fn who_answers_late_is_to_blame_for_a_link() {
    let leavers = |blamed: &[u16], hints: &[(u16, u16)]| {
        let blamed = blamed.iter().map(|node| NodeId(*node)).collect();
        let evidence = Evidence { hints: links(hints), blamed };
        fewest(&links(&[(1, 2)]), &evidence, |_| true, |_| true).unwrap()
    };
    assert_eq!(leavers(&[1], &[]), [NodeId(1)]);
    assert_eq!(leavers(&[1, 2], &[]), [NodeId(2)], "each says it of the other");
    assert_eq!(leavers(&[1], &[(2, 65)]), [NodeId(2)], "it is cut off from others, too");
    let nobody = Evidence { blamed: NodeSet::from_iter([NodeId(1)]), ..Evidence::default() };
    assert_eq!(fewest(&links(&[]), &nobody, |_| true, |_| true), Some(Vec::new()));
}

#[test]
fn every_answer_covers_and_none_is_smaller() {
    let mut prng = Prng::new(5);
    for _ in 0..300 {
        let count = 2 + prng.below(5);
        let mut broken = BTreeSet::new();
        for left in 0..count {
            for right in left + 1..count {
                if prng.chance(1, 3) {
                    broken.insert((
                        NodeId(u16::try_from(left).unwrap()),
                        NodeId(u16::try_from(right).unwrap()),
                    ));
                }
            }
        }
        let covers =
            |set: &[NodeId]| broken.iter().all(|link| set.contains(&link.0) || set.contains(&link.1));
        let chosen = fewest(&broken, &Evidence::default(), |_| true, |_| true).unwrap();
        assert!(covers(&chosen) && covers(&greedy(&broken, &[])) && covers(&greedy(&broken, &[NodeId(1)])));
        let smallest = (0_u32..1 << count)
            .map(|bits| {
                (0..u16::try_from(count).unwrap()).filter(|bit| bits >> bit & 1 == 1).map(NodeId).collect()
            })
            .filter(|set: &Vec<NodeId>| covers(set))
            .map(|set| set.len())
            .min();
        assert_eq!(Some(chosen.len()), smallest);
    }
}
