use super::*;

struct Node {
    placement: Placement,
    now: Instant,
    loads: Vec<u32>,
    clients: Vec<u32>,
}

impl Node {
    fn new(loads: &[u32], clients: &[u32]) -> Self {
        let (loads, clients) = (loads.to_vec(), clients.to_vec());
        Self { placement: Placement::default(), now: Instant(1), loads, clients }
    }

    fn give(&mut self, count: u32, share: u32) -> Vec<u32> {
        for _ in 0..count {
            let known = self.loads.iter().zip(&self.clients);
            let candidates = known.map(|(load, clients)| Candidate { load: *load, clients: *clients });
            let chosen = self.placement.choose(self.now, share, candidates);
            self.clients[chosen] += 1;
        }
        self.clients.clone()
    }
}

#[test]
fn a_pool_is_spread_over_idle_threads() {
    for workers in [1, 2, 8, 64, 192] {
        let each = Node::new(&vec![0; workers], &vec![0; workers])
            .give(3 * u32::try_from(workers).unwrap(), u32::MAX);
        assert!(each.iter().all(|clients| *clients == 3), "{workers} workers: {each:?}");
    }
}

#[test]
fn clients_that_come_one_by_one_go_where_the_fewest_are() {
    let mut node = Node::new(&[3, 0, 9, 1], &[0; 4]);
    for _ in 0..8 {
        node.now = node.now + SAMPLE;
        node.give(1, u32::MAX);
    }
    assert_eq!(node.clients, [2, 2, 2, 2], "loads below ten points are alike");
}

#[test]
fn the_least_load_counts_before_the_fewest_clients() {
    assert_eq!(Node::new(&[95, 20], &[1, 9]).give(1, u32::MAX), [1, 10]);
    // A pool of many fills up the difference of 70 points, 14 clients, and is even from there on.
    assert_eq!(Node::new(&[90, 20], &[0, 0]).give(34, u32::MAX), [10, 24]);
}

#[test]
fn a_new_sample_replaces_what_was_given() {
    let mut node = Node::new(&[0, 40], &[0, 0]);
    assert_eq!(node.give(8, u32::MAX), [8, 0]);
    // They have begun to work.
    node.loads = vec![80, 40];
    assert_eq!(node.give(2, u32::MAX), [9, 1], "the sample is not old enough");
    node.now = node.now + SAMPLE;
    assert_eq!(node.give(2, u32::MAX), [9, 3]);
}

#[test]
fn nobody_is_refused_while_another_module_has_room() {
    assert_eq!(Node::new(&[90, 0], &[0, 0]).give(6, 3), [3, 3]);
    assert_eq!(Node::new(&[0, 0], &[3, 3]).give(2, 3), [4, 4], "administrators come in above it");
}
