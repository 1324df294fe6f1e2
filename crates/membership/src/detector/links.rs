//! The picture of broken links: which links are seen broken, since when, and by whose rows.
//!
//! A link is broken when a row of one of its ends does not list the other. Only rows that show a broken link are kept
//! here, and only the links of a row that came, ran out or changed are looked at. So a heartbeat in a cluster in which
//! everybody hears everybody costs nothing here, however many nodes there are.
//!
//! Invariant, after [`Links::look`]: the picture is what all rows say that have not run out, and the own row.
//!
//! Deliberately not here: which rows count (`Detector`), and what follows from a broken link.

use crate::detector::DetectorConfig;
use std::collections::BTreeMap;
use stdx::Instant;
use types::{NodeId, NodeSet};

/// A link, the lower end first.
pub(super) type Link = (NodeId, NodeId);

pub(super) fn between(one: NodeId, other: NodeId) -> Link {
    (one.min(other), one.max(other))
}

/// A link that is seen broken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Broken {
    pub(super) since: Instant,
    /// When one of its ends was heard to say so last.
    pub(super) told: Instant,
}

/// The links to these nodes are broken, says a row that came then. If there is none, this is the first row that says so
/// again.
#[derive(Clone, Copy, Debug)]
struct Told {
    misses: NodeSet,
    came: Instant,
}

/// The picture of one node.
#[derive(Clone)]
pub(super) struct Links {
    node: NodeId,
    config: DetectorConfig,
    /// Other nodes whose rows show a broken link, or did until a moment ago.
    told: BTreeMap<NodeId, Told>,
    /// No row runs out before.
    told_until: Instant,
    /// The nodes that the own row does not list.
    misses: NodeSet,
    broken: BTreeMap<Link, Broken>,
    /// Links of rows that changed since the last look.
    changed: Vec<Link>,
}

impl Links {
    pub(super) fn new(node: NodeId, config: DetectorConfig) -> Self {
        Self {
            node,
            config,
            told: BTreeMap::new(),
            told_until: Instant::FAR_FUTURE,
            misses: NodeSet::EMPTY,
            broken: BTreeMap::new(),
            changed: Vec::new(),
        }
    }

    /// The links that are seen broken.
    pub(super) fn broken(&self) -> &BTreeMap<Link, Broken> {
        &self.broken
    }

    /// All that decides how it goes on, for a digest.
    pub(super) fn state(&self) -> impl std::fmt::Debug + use<'_> {
        (&self.broken, &self.told)
    }

    /// Whether the row of a node shows a broken link, or did until a moment ago. The others then need it, also if they
    /// do not hear the node.
    pub(super) fn concern(&self, node: NodeId) -> bool {
        self.told.contains_key(&node)
    }

    /// A row of another node came: it does not hear these.
    pub(super) fn on_row(&mut self, node: NodeId, misses: NodeSet, came: Instant) {
        let before = self.told.get(&node).map_or(NodeSet::EMPTY, |told| told.misses);
        if misses.is_empty() && before.is_empty() {
            return;
        }
        self.note(node, &before.union(&misses));
        self.told.insert(node, Told { misses, came });
        self.told_until = self.told_until.min(came + self.config.silence_max());
    }

    /// The rows of a node count no more.
    pub(super) fn forget(&mut self, node: NodeId) {
        if let Some(told) = self.told.remove(&node) {
            self.note(node, &told.misses);
        }
    }

    /// Other nodes are watched: all rows have to be told again.
    pub(super) fn restart(&mut self) {
        self.changed.extend(self.broken.keys());
        self.told.clear();
        self.told_until = Instant::FAR_FUTURE;
    }

    fn note(&mut self, node: NodeId, others: &NodeSet) {
        self.changed.extend(others.iter().map(|other| between(node, other)));
    }

    /// Brings the picture up to date; the own row does not list these. Whether other links are broken than before.
    pub(super) fn look(&mut self, now: Instant, misses: NodeSet) -> bool {
        self.drop_old_rows(now);
        self.note(self.node, &self.misses.union(&misses));
        self.misses = misses;
        let mut has_changed = false;
        while let Some(link) = self.changed.pop() {
            has_changed |= self.judge(now, link);
        }
        has_changed
    }

    /// Forgets rows that are as old as their sender would be silent.
    fn drop_old_rows(&mut self, now: Instant) {
        if now < self.told_until {
            return;
        }
        let silence_max = self.config.silence_max();
        let is_old = |told: &mut Told| now.since(told.came) >= silence_max;
        for (node, told) in self.told.extract_if(.., |_, told| is_old(told)) {
            self.changed.extend(told.misses.iter().map(|other| between(node, other)));
        }
        let ends = self.told.values().map(|told| told.came + silence_max);
        self.told_until = ends.min().unwrap_or(Instant::FAR_FUTURE);
    }

    /// Looks at one link. Whether it has broken, or is whole again.
    fn judge(&mut self, now: Instant, link: Link) -> bool {
        let says = |node: NodeId, other: NodeId| {
            if node == self.node {
                return self.misses.contains(other).then_some(now);
            }
            self.told.get(&node).filter(|told| told.misses.contains(other)).map(|told| told.came)
        };
        let Some(told) = says(link.0, link.1).max(says(link.1, link.0)) else {
            return self.broken.remove(&link).is_some();
        };
        let before = self.broken.get(&link).copied();
        let mut broken = before.unwrap_or(Broken { since: now, told });
        // One that was not heard of in between was not broken all that time.
        if told.since(broken.told) > self.config.interval * 2 {
            broken.since = now;
        }
        broken.told = told;
        self.broken.insert(link, broken);
        before.is_none()
    }
}

#[cfg(test)]
mod tests;
