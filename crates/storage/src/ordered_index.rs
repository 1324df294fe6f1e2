//! The ordered index: a B+tree whose leaves point to things with a key (row heads or entries), by one writer for many
//! readers.
//!
//! **Leaf**: up to 15 slots, and one word that says which of them are in use in which order (as in Masstree's leaves,
//! Mao et al. 2012). A slot is written once, before the word that mentions it is stored. So a reader that has loaded
//! the word has an immutable sorted list. Inserting is: write a slot, store the word. Removing is: store the word,
//! which never needs memory. When its slots are used up, a leaf is replaced by a new one of the right size. A full leaf
//! is split in halves. Where keys come in ascending order it is split behind the last of them, so that leaves are full
//! wherever an index is filled in its own order. All keys of a leaf share the first `prefix` bytes, those that its two
//! separators share. Each slot has the two bytes behind them beside it, so most comparisons do not touch the key.
//!
//! **Inner node**: separators and children, immutable but for the child pointers. A child is replaced in place by one
//! for the same range. Splits and merges make a new inner node.
//!
//! Readers go down from the root and look at one leaf at a time. To go on, they ask the inner node that led to the leaf
//! for its next child. That node may be replaced by then: it still leads to all that was there when it was found, and a
//! place of it always stands for the same range. Behind its last child they go down again with the separator that
//! bounded the leaf. So they need not notice splits and merges.
//!
//! Chosen over optimistic validation because readers never read bytes that may change under them: no retry, nothing
//! torn, and no argument about data races beyond publish and retire.
//!
//! Invariants: a node covers `low <= key < high` by the separators above it, and a leaf's `prefix` is at most what they
//! share. An inner node has at least two children; one that would have one child is replaced by it, so paths need not
//! be equally long.
//!
//! Deliberately not here: which key belongs to which row, and what of it is visible.
#![expect(
    unsafe_code,
    reason = "nodes are pieces of memory with tails of any length that readers follow; each block states why it is sound"
)]

use crate::arena::{Arena, Purpose};
use crate::row::{Entry, Keyed};
use memory::{RegionFull, Urgency};
use std::marker::PhantomData;
use std::ops::Bound;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicU64, Ordering};

mod nodes;
use nodes::{Inner, LEAF_MAX, Leaf, Node, Order};

/// Children of an inner node.
const INNER_MAX: usize = 64;
/// A leaf with no more entries than this looks for a neighbour to merge with.
const LEAF_LOW: usize = 5;
/// Two neighbours with no more entries than this together become one.
const LEAF_MERGED_MAX: usize = 10;
/// A leaf that is split by a run of ascending keys keeps at least so many.
const RUN_MIN: usize = 12;
/// Levels of inner nodes. Each takes 32 children at least to come into being.
const DEPTH_MAX: usize = 20;

/// Cache lines of a node that are asked for before they are needed: a leaf's.
const PREFETCHED_LINES: usize = 3;

/// The tree.
pub(crate) struct Tree {
    root: AtomicPtr<u8>,
}

/// Which leaf.
#[derive(Clone, Copy)]
pub(crate) enum Target<'k> {
    /// The leftmost.
    First,
    /// The rightmost.
    Last,
    /// The one whose range has the key.
    At(&'k [u8]),
    /// The one whose range has the keys just below the key.
    Below(&'k [u8]),
}

/// A leaf as it was when it was looked at.
pub(crate) struct LeafView<'a> {
    leaf: Leaf<'a>,
    order: Order,
    /// The separator below it.
    pub(crate) low: Option<&'a [u8]>,
    /// The separator above it.
    pub(crate) high: Option<&'a [u8]>,
    /// The inner node that led to it.
    parent: Option<Parent<'a>>,
}

/// An inner node with one of its children, and the separators around all of them.
#[derive(Clone, Copy)]
struct Parent<'a> {
    step: Step<'a>,
    low: Option<&'a [u8]>,
    high: Option<&'a [u8]>,
}

/// A node and the separators around it.
struct Subtree<'a> {
    node: *mut u8,
    low: Option<&'a [u8]>,
    high: Option<&'a [u8]>,
}

impl<'a> Parent<'a> {
    /// The nodes below another of its children.
    fn subtree(&self, child: usize) -> Subtree<'a> {
        let inner = self.step.inner;
        Subtree {
            node: inner.child(child).load(Ordering::Acquire),
            low: child.checked_sub(1).map_or(self.low, |before| Some(inner.separator(before))),
            high: if child + 1 < inner.len() { Some(inner.separator(child)) } else { self.high },
        }
    }
}

impl<'a> LeafView<'a> {
    /// How many entries.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    /// The entry at a position below `len`.
    #[inline]
    pub(crate) fn get(&self, position: usize) -> Keyed<'a> {
        self.leaf.item(self.order.slot(position))
    }

    /// The entries at these positions below `len`.
    #[inline]
    pub(crate) fn entries(
        &self,
        positions: std::ops::Range<usize>,
    ) -> impl DoubleEndedIterator<Item = Keyed<'a>> + use<'a> {
        let (items, order) = (self.leaf.items_in_use(), self.order);
        positions.map(move |position| items.get(order.slot(position)))
    }

    /// True if this is the leaf of `target`, as far as this view tells.
    #[inline]
    pub(crate) fn covers(&self, target: Target<'_>) -> bool {
        match target {
            Target::First => self.low.is_none(),
            Target::Last => self.high.is_none(),
            Target::At(key) => {
                self.high.is_none_or(|high| key < high) && self.low.is_none_or(|low| low <= key)
            }
            Target::Below(key) => {
                self.low.is_none_or(|low| low < key) && self.high.is_none_or(|high| key <= high)
            }
        }
    }

    /// The first position within a lower bound, which lies in the leaf's range.
    #[inline]
    pub(crate) fn start_of(&self, lower: Bound<&[u8]>) -> usize {
        match lower {
            Bound::Unbounded => 0,
            Bound::Included(key) => self.search(key).0,
            Bound::Excluded(key) => {
                let (position, is_there) = self.search(key);
                position + usize::from(is_there)
            }
        }
    }

    /// The first position behind an upper bound, which lies in the leaf's range or is its upper end.
    #[inline]
    pub(crate) fn end_of(&self, upper: Bound<&[u8]>) -> usize {
        match upper {
            Bound::Unbounded => self.len(),
            Bound::Included(key) => {
                let (position, is_there) = self.search(key);
                position + usize::from(is_there)
            }
            Bound::Excluded(key) => self.search(key).0,
        }
    }

    /// The first position whose key is not below `key`, and whether it is there; `key` lies within the leaf's range or
    /// is its upper end.
    #[inline]
    pub(crate) fn search(&self, key: &[u8]) -> (usize, bool) {
        self.leaf.search(self.order, key)
    }
}

#[derive(Clone, Copy)]
struct Step<'a> {
    inner: Inner<'a>,
    child: usize,
}

/// The inner nodes above a leaf, from the root on.
struct Path<'a> {
    steps: [Option<Step<'a>>; DEPTH_MAX],
    length: usize,
}

impl<'a> Path<'a> {
    const fn new() -> Self {
        Self { steps: [None; DEPTH_MAX], length: 0 }
    }

    fn push(&mut self, step: Step<'a>) {
        stdx::require!(self.length < DEPTH_MAX, "an index deeper than {DEPTH_MAX} levels");
        self.steps[self.length] = Some(step);
        self.length += 1;
    }

    fn last(&self) -> Option<Step<'a>> {
        self.length.checked_sub(1).and_then(|last| self.steps[last])
    }
}

/// Nodes made and replaced by one change, so that it can be taken back until it is published.
#[derive(Default)]
struct Change<'a> {
    made: Vec<Node<'a>>,
    replaced: Vec<Node<'a>>,
}

impl<'a> Change<'a> {
    fn leaf(
        &mut self,
        arena: &mut Arena,
        items: &[Keyed<'_>],
        range: [Option<&[u8]>; 2],
        urgency: Urgency,
    ) -> Result<Leaf<'a>, RegionFull> {
        let leaf = Leaf::allocate(arena, items, range, urgency)?;
        self.made.push(Node::Leaf(leaf));
        Ok(leaf)
    }

    fn inner(
        &mut self,
        arena: &mut Arena,
        children: &[*mut u8],
        separators: &[&[u8]],
        urgency: Urgency,
    ) -> Result<Inner<'a>, RegionFull> {
        let inner = Inner::allocate(arena, children, separators, urgency)?;
        self.made.push(Node::Inner(inner));
        Ok(inner)
    }

    /// It is published: what it replaced goes.
    fn finish(self, arena: &mut Arena) {
        for node in self.replaced {
            let (piece, bytes) = node.piece();
            // SAFETY: it was made with this size and is unlinked.
            unsafe { arena.retire(Purpose::Index, piece, bytes) };
        }
    }

    /// It was not published: what it made goes.
    fn cancel(self, arena: &mut Arena) {
        for node in self.made {
            let (piece, bytes) = node.piece();
            // SAFETY: it was made with this size, and nobody has seen it.
            unsafe { arena.free(Purpose::Index, piece, bytes) };
        }
    }
}

impl Tree {
    pub(crate) const fn new() -> Self {
        Self { root: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// The root, for `Arena::retire_tree` and for freeing.
    pub(crate) fn root(&self) -> *mut u8 {
        self.root.load(Ordering::Acquire)
    }

    /// A leaf, as it is now.
    ///
    /// # Safety
    /// A guard is held for `'a`, or the caller is the owner and does not reclaim during `'a`.
    #[inline]
    pub(crate) unsafe fn leaf<'a>(&'a self, target: Target<'_>) -> Option<LeafView<'a>> {
        // SAFETY: the caller's promise.
        unsafe { self.descend(self.whole(), target, None) }
    }

    /// The leaf above a view's, as it is now; none if the view is of the last one.
    ///
    /// # Safety
    /// As for `leaf`, and the view was found during `'a`.
    #[inline]
    pub(crate) unsafe fn leaf_above<'a>(&'a self, view: &LeafView<'a>) -> Option<LeafView<'a>> {
        let separator = view.high?;
        let in_parent = |parent: &Parent<'a>| parent.step.child + 1 < parent.step.inner.len();
        let Some(parent) = view.parent.filter(in_parent) else {
            // SAFETY: the caller's promise.
            return unsafe { self.leaf(Target::At(separator)) };
        };
        let child = parent.step.child + 1;
        if child + 1 < parent.step.inner.len() {
            prefetch_node(parent.step.inner.child(child + 1).load(Ordering::Relaxed));
        }
        // SAFETY: the caller's promise.
        unsafe { self.descend_in(parent, child, Target::First) }
    }

    /// The leaf below a view's, as it is now; none if the view is of the first one.
    ///
    /// # Safety
    /// As for `leaf_above`.
    #[inline]
    pub(crate) unsafe fn leaf_below<'a>(&'a self, view: &LeafView<'a>) -> Option<LeafView<'a>> {
        let separator = view.low?;
        let Some(parent) = view.parent.filter(|parent| parent.step.child > 0) else {
            // SAFETY: the caller's promise.
            return unsafe { self.leaf(Target::Below(separator)) };
        };
        let child = parent.step.child - 1;
        if let Some(next) = child.checked_sub(1) {
            prefetch_node(parent.step.inner.child(next).load(Ordering::Relaxed));
        }
        // SAFETY: the caller's promise.
        unsafe { self.descend_in(parent, child, Target::Last) }
    }

    /// The leaf below another child of a view's inner node, which usually is that child.
    ///
    /// # Safety
    /// As for `leaf_above`.
    #[inline]
    unsafe fn descend_in<'a>(
        &'a self,
        parent: Parent<'a>,
        child: usize,
        target: Target<'_>,
    ) -> Option<LeafView<'a>> {
        let below = parent.subtree(child);
        // SAFETY: the inner node was found during 'a. Its children were linked then, or were linked to it since.
        if let Node::Leaf(leaf) = unsafe { Node::from_ptr(below.node) }? {
            let parent = Some(Parent { step: Step { child, ..parent.step }, ..parent });
            return Some(LeafView { leaf, order: leaf.order(), low: below.low, high: below.high, parent });
        }
        // SAFETY: the caller's promise.
        unsafe { self.descend(below, target, None) }
    }

    fn whole<'a>(&self) -> Subtree<'a> {
        Subtree { node: self.root.load(Ordering::Acquire), low: None, high: None }
    }

    /// # Safety
    /// As for `leaf`, and the subtree was found during `'a`.
    #[inline]
    unsafe fn descend<'a>(
        &'a self,
        from: Subtree<'a>,
        target: Target<'_>,
        mut path: Option<&mut Path<'a>>,
    ) -> Option<LeafView<'a>> {
        let (mut low, mut high) = (from.low, from.high);
        let mut parent = None;
        // SAFETY: what the root and the inner nodes below it point to was linked during 'a; it is retired after it was
        // unlinked.
        let mut node = unsafe { Node::from_ptr(from.node) }?;
        loop {
            match node {
                Node::Leaf(leaf) => return Some(LeafView { leaf, order: leaf.order(), low, high, parent }),
                Node::Inner(inner) => {
                    let child = match target {
                        Target::First => 0,
                        Target::Last => inner.len() - 1,
                        Target::At(key) => inner.partition_point(|separator| separator <= key),
                        Target::Below(key) => inner.partition_point(|separator| separator < key),
                    };
                    let below = inner.child(child).load(Ordering::Acquire);
                    prefetch_node(below);
                    parent = Some(Parent { step: Step { inner, child }, low, high });
                    if child > 0 {
                        low = Some(inner.separator(child - 1));
                    }
                    if child + 1 < inner.len() {
                        high = Some(inner.separator(child));
                    }
                    if let Some(path) = &mut path {
                        path.push(Step { inner, child });
                    }
                    // SAFETY: as above.
                    node = unsafe { Node::from_ptr(below) }?;
                }
            }
        }
    }

    /// Which share of the entries lies below a key, if all children of a node held as many. They do not where keys come
    /// in ascending order.
    ///
    /// # Safety
    /// As for `leaf`.
    pub(crate) unsafe fn share_below(&self, key: &[u8]) -> f64 {
        let (mut below, mut width) = (0.0, 1.0);
        // SAFETY: as in `descend`.
        let mut node = unsafe { Node::from_ptr(self.root.load(Ordering::Acquire)) };
        while let Some(at) = node {
            let (position, count) = match at {
                Node::Leaf(leaf) => (leaf.search(leaf.order(), key).0, leaf.order().len()),
                Node::Inner(inner) => (inner.partition_point(|separator| separator <= key), inner.len()),
            };
            width /= f64::from(u8::try_from(count.max(1)).unwrap_or(u8::MAX));
            below += width * f64::from(u8::try_from(position).unwrap_or(u8::MAX));
            node = match at {
                Node::Leaf(_) => None,
                // SAFETY: as in `descend`.
                Node::Inner(inner) => unsafe {
                    Node::from_ptr(inner.child(position).load(Ordering::Acquire))
                },
            };
        }
        below
    }

    /// Keys that part the entries into about so many runs of much the same length, ascending: separators of the first
    /// level from the root on that has enough of them.
    ///
    /// # Safety
    /// As for `leaf`.
    pub(crate) unsafe fn separators<'a>(&'a self, runs: usize) -> Vec<&'a [u8]> {
        let mut level: Vec<Subtree<'a>> = vec![self.whole()];
        while level.len() < runs {
            let mut below = Vec::new();
            let count = level.len();
            for subtree in level {
                // SAFETY: as in `descend`.
                match unsafe { Node::from_ptr(subtree.node) } {
                    Some(Node::Inner(inner)) => {
                        let parent = |child| Parent {
                            step: Step { inner, child },
                            low: subtree.low,
                            high: subtree.high,
                        };
                        below.extend((0..inner.len()).map(|child| parent(child).subtree(child)));
                    }
                    Some(Node::Leaf(_)) | None => below.push(subtree),
                }
            }
            level = below;
            if level.len() == count {
                break;
            }
        }
        let runs = runs.min(level.len());
        (1..runs).filter_map(|run| level[run * level.len() / runs].low).collect()
    }

    /// Adds the entry that `make` makes, if there is none with this key; true if it was added.
    pub(crate) fn insert<'a>(
        &'a self,
        arena: &mut Arena,
        key: &[u8],
        urgency: Urgency,
        make: impl FnOnce(&mut Arena) -> Result<Keyed<'a>, RegionFull>,
        unmake: impl FnOnce(&mut Arena, Keyed<'a>),
    ) -> Result<bool, RegionFull> {
        let mut path = Path::new();
        // SAFETY: `&mut Arena` makes us the owner, who does not reclaim here.
        let view = unsafe { self.descend(self.whole(), Target::At(key), Some(&mut path)) };
        let position = match &view {
            Some(view) => match view.search(key) {
                (_, true) => return Ok(false),
                (position, false) => position,
            },
            None => 0,
        };
        let item = make(arena)?;
        let result = match view {
            Some(view) if view.leaf.has_room() => {
                view.leaf.insert(view.order, position, item);
                Ok(())
            }
            view => {
                let mut change = Change::default();
                match self.insert_in_new_leaf(arena, &path, view, (position, item), urgency, &mut change) {
                    Ok(()) => {
                        change.finish(arena);
                        Ok(())
                    }
                    Err(full) => {
                        change.cancel(arena);
                        Err(full)
                    }
                }
            }
        };
        match result {
            Ok(()) => Ok(true),
            Err(full) => {
                unmake(arena, item);
                Err(full)
            }
        }
    }

    fn insert_in_new_leaf<'a>(
        &'a self,
        arena: &mut Arena,
        path: &Path<'a>,
        view: Option<LeafView<'a>>,
        (position, item): (usize, Keyed<'a>),
        urgency: Urgency,
        change: &mut Change<'a>,
    ) -> Result<(), RegionFull> {
        let Some(view) = view else {
            let leaf = change.leaf(arena, &[item], [None, None], urgency)?;
            self.publish(path, 0, Node::Leaf(leaf));
            return Ok(());
        };
        let mut items = [item; LEAF_MAX + 1];
        let count = view.len() + 1;
        for (index, place) in items[..count].iter_mut().enumerate() {
            *place = match index.cmp(&position) {
                std::cmp::Ordering::Less => view.get(index),
                std::cmp::Ordering::Equal => item,
                std::cmp::Ordering::Greater => view.get(index - 1),
            };
        }
        change.replaced.push(Node::Leaf(view.leaf));
        if count <= LEAF_MAX {
            let leaf = change.leaf(arena, &items[..count], [view.low, view.high], urgency)?;
            self.publish(path, path.length, Node::Leaf(leaf));
            return Ok(());
        }
        let middle = match is_run(&view, position) {
            // The key goes with it, if it fits: the next key has a leaf of its own then, without those that are behind.
            true => (position + 1).min(LEAF_MAX),
            false => count / 2,
        };
        let separator = separator_between(items[middle - 1].key(), items[middle].key());
        let left = change.leaf(arena, &items[..middle], [view.low, Some(separator)], urgency)?;
        let right = change.leaf(arena, &items[middle..count], [Some(separator), view.high], urgency)?;
        self.split(arena, path, (Node::Leaf(left), separator, Node::Leaf(right)), urgency, change)
    }

    /// Puts a node where the one was that `path` leads to from its first `level` steps.
    fn publish(&self, path: &Path<'_>, level: usize, node: Node<'_>) {
        match level.checked_sub(1).and_then(|above| path.steps[above]) {
            Some(step) => step.inner.child(step.child).store(node.as_ptr(), Ordering::Release),
            None => self.root.store(node.as_ptr(), Ordering::Release),
        }
    }

    /// Replaces what `path` leads to by two nodes.
    fn split<'a>(
        &'a self,
        arena: &mut Arena,
        path: &Path<'a>,
        (left, separator, right): (Node<'a>, &'a [u8], Node<'a>),
        urgency: Urgency,
        change: &mut Change<'a>,
    ) -> Result<(), RegionFull> {
        let (mut left, mut separator, mut right) = (left, separator, right);
        let mut level = path.length;
        while let Some(step) = level.checked_sub(1).and_then(|above| path.steps[above]) {
            level -= 1;
            let (mut children, mut separators) = step.inner.parts();
            children[step.child] = left.as_ptr();
            children.insert(step.child + 1, right.as_ptr());
            separators.insert(step.child, separator);
            change.replaced.push(Node::Inner(step.inner));
            if children.len() <= INNER_MAX {
                let inner = change.inner(arena, &children, &separators, urgency)?;
                self.publish(path, level, Node::Inner(inner));
                return Ok(());
            }
            // At the right edge of ascending keys the left node stays full.
            let is_append = step.child + 2 == children.len();
            let middle = if is_append { INNER_MAX - 2 } else { children.len() / 2 };
            separator = separators[middle - 1];
            left =
                Node::Inner(change.inner(arena, &children[..middle], &separators[..middle - 1], urgency)?);
            right = Node::Inner(change.inner(arena, &children[middle..], &separators[middle..], urgency)?);
        }
        let root = change.inner(arena, &[left.as_ptr(), right.as_ptr()], &[separator], urgency)?;
        self.publish(path, 0, Node::Inner(root));
        Ok(())
    }

    /// Removes the entry with this key. Never needs memory; merging neighbours takes some if it is there.
    pub(crate) fn remove<'a>(&'a self, arena: &mut Arena, key: &[u8]) -> Option<Keyed<'a>> {
        let mut path = Path::new();
        // SAFETY: `&mut Arena` makes us the owner, who does not reclaim here.
        let view = unsafe { self.descend(self.whole(), Target::At(key), Some(&mut path)) }?;
        let (position, is_found) = view.search(key);
        if !is_found {
            return None;
        }
        let item = view.get(position);
        let order = view.leaf.remove(view.order, position);
        if order.len() <= LEAF_LOW {
            let view = LeafView { order, ..view };
            if path.length == 0 {
                if order.len() == 0 {
                    self.root.store(std::ptr::null_mut(), Ordering::Release);
                    Change { made: Vec::new(), replaced: vec![Node::Leaf(view.leaf)] }.finish(arena);
                }
            } else {
                self.merge(arena, &path, &view);
            }
        }
        Some(item)
    }

    /// Merges a leaf with a neighbour under the same parent, if there is one that fits.
    fn merge<'a>(&'a self, arena: &mut Arena, path: &Path<'a>, view: &LeafView<'a>) {
        let Some(step) = path.last() else { return };
        let neighbours =
            [Some(step.child + 1).filter(|right| *right < step.inner.len()), step.child.checked_sub(1)];
        for neighbour in neighbours.into_iter().flatten() {
            // SAFETY: the child is linked, and only we unlink.
            let node = unsafe { Node::from_ptr(step.inner.child(neighbour).load(Ordering::Relaxed)) };
            let Some(Node::Leaf(leaf)) = node else { continue };
            let count = view.len() + leaf.order().len();
            if count > LEAF_MERGED_MAX && view.len() > 0 {
                continue;
            }
            let mut change = Change::default();
            let left = step.child.min(neighbour);
            let pair = if left == step.child { [view.leaf, leaf] } else { [leaf, view.leaf] };
            // Giving memory back is worth the last 5 %; without any, the leaf stays.
            match self.replace_pair(arena, path, (left, pair), view, &mut change) {
                Ok(()) => change.finish(arena),
                Err(_) => change.cancel(arena),
            }
            return;
        }
    }

    /// Replaces children `left` and `left + 1` of the last node of `path` by one leaf; `view` is of one of them.
    fn replace_pair<'a>(
        &'a self,
        arena: &mut Arena,
        path: &Path<'a>,
        (left, pair): (usize, [Leaf<'a>; 2]),
        view: &LeafView<'a>,
        change: &mut Change<'a>,
    ) -> Result<(), RegionFull> {
        let Some(Step { inner, child }) = path.last() else { return Ok(()) };
        let items: Vec<Keyed<'a>> = pair.iter().flat_map(|leaf| leaf.items()).collect();
        // The separator on the far side of the neighbour; at the parent's edge it comes from further above and may be
        // wider than we know: no separator is always right.
        let low =
            if left < child { left.checked_sub(1).map(|before| inner.separator(before)) } else { view.low };
        let after = left + 1;
        let high = match left < child {
            true => view.high,
            false => (after + 1 < inner.len()).then(|| inner.separator(after)),
        };
        let merged = change.leaf(arena, &items, [low, high], Urgency::Restart)?;
        change.replaced.extend(pair.map(Node::Leaf));
        change.replaced.push(Node::Inner(inner));
        let level = path.length - 1;
        if inner.len() == 2 {
            self.publish(path, level, Node::Leaf(merged));
            return Ok(());
        }
        let (mut children, mut separators) = inner.parts();
        children.remove(after);
        children[left] = Node::Leaf(merged).as_ptr();
        separators.remove(left);
        let inner = change.inner(arena, &children, &separators, Urgency::Restart)?;
        self.publish(path, level, Node::Inner(inner));
        Ok(())
    }
}

/// Brings the beginning of a node into the CPU's caches.
#[inline]
fn prefetch_node(node: *mut u8) {
    for line in 0..PREFETCHED_LINES {
        stdx::prefetch(node.wrapping_add(line * stdx::CACHE_LINE));
    }
}

/// Whether a key that comes to a position of a full leaf goes on with a run of ascending ones. Then the leaf is split
/// there, and what was before stays full. At the right edge any key above all others does; elsewhere one that comes,
/// near the end, behind the one that came last.
fn is_run(view: &LeafView<'_>, position: usize) -> bool {
    let is_append = view.high.is_none() && position == LEAF_MAX;
    is_append || (position >= RUN_MIN && view.order.slot(position - 1) == LEAF_MAX - 1)
}

/// The shortest key above `left` and not above `right`.
fn separator_between<'a>(left: &[u8], right: &'a [u8]) -> &'a [u8] {
    let shared = common_prefix(left, right);
    stdx::require!(shared < right.len(), "keys of an index ascend");
    &right[..=shared]
}

#[inline]
fn common_prefix(left: &[u8], right: &[u8]) -> usize {
    left.iter().zip(right).take_while(|(left, right)| left == right).count()
}

/// Frees one node of a secondary index that nobody can see; its children are added to `left`, its entries are freed.
///
/// # Safety
/// The node is a root or came from `left`, nobody can see it, and it is given once.
pub(crate) unsafe fn demolish(node: *mut u8, arena: &mut Arena, left: &mut Vec<*mut u8>) {
    // SAFETY: the caller's promise.
    let Some(node) = (unsafe { Node::from_ptr(node) }) else { return };
    match node {
        Node::Leaf(leaf) => {
            for item in leaf.items() {
                // SAFETY: secondary indexes hold entries; they belong to the index.
                unsafe {
                    let (piece, bytes) = Entry::of(item).piece();
                    arena.free(Purpose::Index, piece, bytes);
                }
            }
        }
        Node::Inner(inner) => left.extend(inner.parts().0),
    }
    // SAFETY: the caller's promise.
    unsafe { free_node(arena, node) };
}

/// # Safety
/// Nobody can see the node.
unsafe fn free_node(arena: &mut Arena, node: Node<'_>) {
    let (piece, bytes) = node.piece();
    // SAFETY: it was made with this size; the caller's promise.
    unsafe { arena.free(Purpose::Index, piece, bytes) };
}

/// Frees the nodes of an index, not what its leaves point to.
///
/// # Safety
/// Nobody can see the index any more, and it is given once.
pub(crate) unsafe fn free_nodes(root: *mut u8, arena: &mut Arena) {
    let mut left = vec![root];
    while let Some(node) = left.pop() {
        // SAFETY: the caller's promise.
        let Some(node) = (unsafe { Node::from_ptr(node) }) else { continue };
        if let Node::Inner(inner) = node {
            left.extend(inner.parts().0);
        }
        // SAFETY: the caller's promise; its children are noted.
        unsafe { free_node(arena, node) };
    }
}
