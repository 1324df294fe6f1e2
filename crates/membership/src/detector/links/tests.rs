use super::*;
use std::collections::BTreeSet;
use stdx::{Duration, Prng};

const CONFIG: DetectorConfig = DetectorConfig::DEFAULT;
const ME: NodeId = NodeId(1);

/// The picture made anew from all rows at each look.
#[derive(Default)]
struct Model {
    /// The nodes that a node hears, and when it said so.
    rows: BTreeMap<NodeId, (BTreeSet<NodeId>, Instant)>,
    broken: BTreeMap<Link, Broken>,
}

impl Model {
    fn look(&mut self, now: Instant, watched: &BTreeSet<NodeId>, heard: &BTreeSet<NodeId>) -> bool {
        let mut links: BTreeMap<Link, Instant> = BTreeMap::new();
        let is_fresh = |came: Instant| now.since(came) < CONFIG.silence_max();
        let fresh = self.rows.iter().filter(|(node, (_, came))| is_fresh(*came) && watched.contains(node));
        let rows = fresh.map(|(node, (hears, came))| (*node, hears, *came));
        for (node, hears, came) in rows.chain([(ME, heard, now)]) {
            for other in watched.iter().filter(|other| **other != node && !hears.contains(other)) {
                let told = links.entry(between(node, *other)).or_insert(came);
                *told = came.max(*told);
            }
        }
        let before = self.broken.len();
        self.broken.retain(|link, _| links.contains_key(link));
        let mut has_changed = self.broken.len() != before;
        for (link, told) in links {
            has_changed |= !self.broken.contains_key(&link);
            let broken = self.broken.entry(link).or_insert(Broken { since: now, told });
            if told.since(broken.told) > CONFIG.interval * 2 {
                broken.since = now;
            }
            broken.told = told;
        }
        has_changed
    }
}

fn some(prng: &mut Prng, of: &BTreeSet<NodeId>, missing: u64) -> BTreeSet<NodeId> {
    of.iter().copied().filter(|_| !prng.chance(missing, 100)).collect()
}

fn set(nodes: &BTreeSet<NodeId>) -> NodeSet {
    nodes.iter().copied().collect()
}

/// Rows that come, run out and are forgotten, and other nodes that are watched: the picture is that of all rows.
#[test]
fn the_picture_is_what_all_rows_say() {
    let mut breaks = 0;
    for seed in 0..400 {
        let mut prng = Prng::new(seed);
        let all: BTreeSet<NodeId> = (1..=2 + u16::try_from(prng.below(7)).unwrap()).map(NodeId).collect();
        // Now and then everything is well for long.
        let missing = [0, 3, 20][usize::try_from(prng.below(3)).unwrap()];
        let (mut links, mut model) = (Links::new(ME, CONFIG), Model::default());
        let (mut watched, mut heard) = (all.clone(), all.clone());
        let mut now = Instant(1_000_000_000);
        for _ in 0..200 {
            now = now + Duration::from_millis(prng.below(60));
            for _ in 0..prng.below(4) {
                let Some(node) = all.iter().copied().nth(usize::try_from(prng.below(9)).unwrap()) else {
                    continue;
                };
                if node == ME {
                    heard = some(&mut prng, &all, missing);
                } else if prng.chance(1, 20) {
                    model.rows.remove(&node);
                    links.forget(node);
                } else {
                    let hears = some(&mut prng, &all, missing);
                    if watched.contains(&node) {
                        links.on_row(node, set(&watched).without(node).minus(&set(&hears)), now);
                    }
                    model.rows.insert(node, (hears, now));
                }
            }
            if prng.chance(1, 20) {
                watched = some(&mut prng, &all, 20);
                watched.insert(ME);
                links.restart();
                for (node, (hears, came)) in model.rows.iter().filter(|(node, _)| watched.contains(node)) {
                    if now.since(*came) < CONFIG.silence_max() {
                        links.on_row(*node, set(&watched).without(*node).minus(&set(hears)), *came);
                    }
                }
            }
            let misses = set(&watched).without(ME).minus(&set(&heard));
            assert_eq!(links.look(now, misses), model.look(now, &watched, &heard), "seed {seed}");
            assert_eq!(format!("{:?}", links.broken), format!("{:?}", model.broken), "seed {seed}");
            breaks += links.broken.len();
        }
    }
    assert!(breaks > 10_000, "links broke: {breaks}");
}

/// A row that shows no broken link any more is news for as long as the last one that did would count.
#[test]
fn rows_that_show_a_broken_link_concern_the_others() {
    let at = |milliseconds| Instant(1_000_000_000) + Duration::from_millis(milliseconds);
    let (teller, missed) = (NodeId(2), NodeSet::from_iter([NodeId(3)]));
    let mut links = Links::new(ME, CONFIG);
    links.on_row(teller, NodeSet::EMPTY, at(0));
    assert!(!links.concern(teller));
    links.on_row(teller, missed, at(10));
    assert!(links.look(at(10), NodeSet::EMPTY) && links.concern(teller));
    links.on_row(teller, NodeSet::EMPTY, at(60));
    assert!(links.look(at(60), NodeSet::EMPTY) && links.concern(teller));
    links.on_row(teller, NodeSet::EMPTY, at(110));
    let end = at(60) + CONFIG.silence_max();
    assert!(!links.look(end, NodeSet::EMPTY) && !links.concern(teller));
}
