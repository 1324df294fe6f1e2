//! The nodes of an ordered index, in memory:
//!
//! ```text
//! leaf   order     8 bytes: number of entries in the low 4 bits, then per position the 4 bits of its slot
//!        capacity  1 byte    used 1 byte (slots written so far)    prefix 2 bytes
//!        hints     2 bytes per slot: the key's bytes behind the prefix, big-endian
//!        slots     8 bytes per slot (aligned): the entry
//! inner  count     4 bytes, of children    bytes 4 bytes, of separators
//!        children  8 bytes each
//!        ends      4 bytes per separator: where its bytes end
//!        bytes     the separators
//! ```
//! A pointer to a leaf has its lowest bit set.
#![expect(unsafe_code, reason = "see the parent module; each block states why it is in bounds and alive")]

use super::{
    Arena, AtomicPtr, AtomicU8, AtomicU64, Keyed, NonNull, Ordering, PhantomData, Purpose, RegionFull,
    Urgency, common_prefix,
};

/// Slots of the largest leaf: as many as `Order` can name.
pub(super) const LEAF_MAX: usize = 15;
const LEAF_HEAD: usize = 12;
const INNER_HEAD: usize = 8;
const LEAF_BIT: usize = 1;

/// Which slots a leaf uses, in the order of their keys.
#[derive(Clone, Copy)]
pub(super) struct Order(u64);

impl Order {
    #[inline]
    pub(super) const fn len(self) -> usize {
        (self.0 & 15) as usize
    }

    #[inline]
    pub(super) const fn slot(self, position: usize) -> usize {
        (self.0 >> (4 * (position + 1)) & 15) as usize
    }

    /// With `slot` at `position`, the ones from there on behind it.
    const fn with(self, position: usize, slot: usize) -> Self {
        let shift = shift_of(position);
        let below = self.0 & low_bits(shift);
        let above = match (self.0 >> shift).checked_shl(shift + 4) {
            Some(above) => above,
            None => 0,
        };
        Self((below | (slot as u64) << shift | above) + 1)
    }

    const fn without(self, position: usize) -> Self {
        let shift = shift_of(position);
        let below = self.0 & low_bits(shift);
        let above = match self.0.checked_shr(shift + 4) {
            Some(above) => above << shift,
            None => 0,
        };
        Self((below | above) - 1)
    }

    /// Slots 0, 1, 2, …
    fn first(count: usize) -> Self {
        (0..count).fold(Self(0), |order, index| order.with(index, index))
    }
}

#[expect(clippy::cast_possible_truncation, reason = "positions are below 15")]
const fn shift_of(position: usize) -> u32 {
    4 * (position as u32 + 1)
}

const fn low_bits(count: u32) -> u64 {
    (1 << count) - 1
}

/// A leaf that stays in memory for `'a`.
#[derive(Clone, Copy)]
pub(super) struct Leaf<'a> {
    pointer: NonNull<u8>,
    _alive: PhantomData<&'a u8>,
}

const fn slots_offset(capacity: usize) -> usize {
    (LEAF_HEAD + 2 * capacity).next_multiple_of(8)
}

const fn leaf_bytes(capacity: usize) -> usize {
    slots_offset(capacity) + 8 * capacity
}

/// The two bytes of a key behind its prefix; a shorter key is filled with zeros, which keeps the order.
#[inline]
fn hint_of(key: &[u8], prefix: usize) -> u16 {
    let byte = |position: usize| key.get(position).copied().unwrap_or(0);
    u16::from_be_bytes([byte(prefix), byte(prefix + 1)])
}

/// Slots for a leaf that starts with so many entries.
const fn capacity_for(count: usize) -> usize {
    // Few sizes, so that the pages of one size are filled again by leaves of that size.
    match count {
        0..=2 => 4,
        3..=5 => 7,
        6..=9 => 11,
        _ => LEAF_MAX,
    }
}

impl<'a> Leaf<'a> {
    /// A leaf that nobody sees yet, for the keys between two separators.
    pub(super) fn allocate(
        arena: &mut Arena,
        items: &[Keyed<'_>],
        [low, high]: [Option<&[u8]>; 2],
        urgency: Urgency,
    ) -> Result<Self, RegionFull> {
        stdx::require!(items.len() <= LEAF_MAX);
        let prefix = match (low, high) {
            (Some(low), Some(high)) => common_prefix(low, high),
            _ => 0,
        };
        let prefix = u16::try_from(prefix).unwrap_or(u16::MAX);
        let capacity = capacity_for(items.len());
        let pointer = arena.allocate(Purpose::Index, leaf_bytes(capacity), urgency)?;
        let leaf = Self { pointer, _alive: PhantomData };
        // SAFETY: the piece has room for a head; it is aligned to 8 and ours alone.
        unsafe {
            pointer.cast::<AtomicU64>().write(AtomicU64::new(Order::first(items.len()).0));
            pointer.add(8).write(u8::try_from(capacity).unwrap_or(0));
            pointer.add(9).cast::<AtomicU8>().write(AtomicU8::new(u8::try_from(items.len()).unwrap_or(0)));
            pointer.add(10).cast::<u16>().write(prefix);
        }
        for (slot, item) in items.iter().enumerate() {
            leaf.write(slot, *item);
        }
        Ok(leaf)
    }

    fn capacity(self) -> usize {
        // SAFETY: the leaf is alive for 'a; its capacity never changes.
        usize::from(unsafe { self.pointer.add(8).read() })
    }

    /// Slots written so far; the owner's.
    fn used(self) -> &'a AtomicU8 {
        // SAFETY: the leaf is alive for 'a; this byte is only accessed as an atomic.
        unsafe { self.pointer.add(9).cast::<AtomicU8>().as_ref() }
    }

    #[inline]
    fn prefix(self) -> usize {
        // SAFETY: the leaf is alive for 'a; its prefix never changes.
        usize::from(unsafe { self.pointer.add(10).cast::<u16>().read() })
    }

    fn order_word(self) -> &'a AtomicU64 {
        // SAFETY: the leaf is alive for 'a; its order is only accessed as an atomic.
        unsafe { self.pointer.cast::<AtomicU64>().as_ref() }
    }

    #[inline]
    pub(super) fn order(self) -> Order {
        Order(self.order_word().load(Ordering::Acquire))
    }

    /// Fills a slot that no published order mentions.
    fn write(self, slot: usize, item: Keyed<'_>) {
        let capacity = self.capacity();
        stdx::require!(slot < capacity);
        // SAFETY: the slot and its hint are in bounds, and no reader looks at them before an order names the slot.
        unsafe {
            self.pointer.add(LEAF_HEAD + 2 * slot).cast::<u16>().write(hint_of(item.key(), self.prefix()));
            self.pointer
                .add(slots_offset(capacity) + 8 * slot)
                .cast::<*mut u8>()
                .write(item.as_ptr().as_ptr());
        }
    }

    /// The entry in a slot that an order of this leaf names.
    #[inline]
    pub(super) fn item(self, slot: usize) -> Keyed<'a> {
        self.items_in_use().get(slot)
    }

    /// Its slots, for many entries of one order.
    #[inline]
    pub(super) fn items_in_use(self) -> Items<'a> {
        // SAFETY: the slots are part of the leaf's piece.
        let slots = unsafe { self.pointer.add(slots_offset(self.capacity())) };
        Items { slots: slots.cast(), _alive: PhantomData }
    }

    #[inline]
    fn hint(self, slot: usize) -> u16 {
        // SAFETY: as in `Items::get`.
        unsafe { self.pointer.add(LEAF_HEAD + 2 * slot).cast::<u16>().read() }
    }

    /// See `LeafView::search`.
    #[inline]
    pub(super) fn search(self, order: Order, key: &[u8]) -> (usize, bool) {
        let hint = hint_of(key, self.prefix());
        let (mut low, mut high) = (0, order.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            let slot = order.slot(middle);
            let compared = self.hint(slot).cmp(&hint).then_with(|| self.item(slot).key().cmp(key));
            match compared {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Equal => return (middle, true),
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        (low, false)
    }

    /// True if a slot was never used.
    pub(super) fn has_room(self) -> bool {
        usize::from(self.used().load(Ordering::Relaxed)) < self.capacity()
    }

    /// Adds an entry at a position; owner only, and there is room.
    pub(super) fn insert(self, order: Order, position: usize, item: Keyed<'_>) {
        let slot = self.used().load(Ordering::Relaxed);
        self.write(usize::from(slot), item);
        self.used().store(slot + 1, Ordering::Relaxed);
        self.order_word().store(order.with(position, usize::from(slot)).0, Ordering::Release);
    }

    /// Takes out the entry at a position; owner only.
    pub(super) fn remove(self, order: Order, position: usize) -> Order {
        let order = order.without(position);
        self.order_word().store(order.0, Ordering::Release);
        order
    }

    /// The entries, in order.
    pub(super) fn items(self) -> impl Iterator<Item = Keyed<'a>> {
        let order = self.order();
        (0..order.len()).map(move |position| self.item(order.slot(position)))
    }
}

/// The slots of a leaf that stays in memory for `'a`.
#[derive(Clone, Copy)]
pub(super) struct Items<'a> {
    slots: NonNull<*mut u8>,
    _alive: PhantomData<&'a u8>,
}

impl<'a> Items<'a> {
    /// The entry in a slot that an order of the leaf names.
    #[inline]
    pub(super) fn get(self, slot: usize) -> Keyed<'a> {
        // SAFETY: orders name slots below the capacity that were written before the order was published and never
        // change; an entry that an order named during 'a is retired after it left the leaf.
        unsafe { Keyed::from_ptr(NonNull::new_unchecked(self.slots.add(slot).read())) }
    }
}

/// The size of an inner node. Inner nodes are replaced whenever they get a child: in steps, so that their pages are
/// used again by the next.
const fn inner_bytes(children: usize, separators: usize) -> usize {
    (INNER_HEAD + 8 * children + 4 * (children - 1) + separators).next_multiple_of(128)
}

/// An inner node that stays in memory for `'a`.
#[derive(Clone, Copy)]
pub(super) struct Inner<'a> {
    pointer: NonNull<u8>,
    _alive: PhantomData<&'a u8>,
}

impl<'a> Inner<'a> {
    /// An inner node that nobody sees yet.
    pub(super) fn allocate(
        arena: &mut Arena,
        children: &[*mut u8],
        separators: &[&[u8]],
        urgency: Urgency,
    ) -> Result<Self, RegionFull> {
        stdx::require!(children.len() == separators.len() + 1 && children.len() >= 2);
        let bytes: usize = separators.iter().map(|separator| separator.len()).sum();
        stdx::require!(u32::try_from(bytes).is_ok(), "separators of more than 4 GiB");
        let pointer = arena.allocate(Purpose::Index, inner_bytes(children.len(), bytes), urgency)?;
        // SAFETY: the piece has room for head, children, ends and bytes in this order; it is aligned to 8 and ours
        // alone.
        unsafe {
            pointer.cast::<u32>().write(u32::try_from(children.len()).unwrap_or(0));
            pointer.add(4).cast::<u32>().write(u32::try_from(bytes).unwrap_or(0));
            for (index, child) in children.iter().enumerate() {
                let place = pointer.add(INNER_HEAD + 8 * index).cast::<AtomicPtr<u8>>();
                place.write(AtomicPtr::new(*child));
            }
            let ends = pointer.add(INNER_HEAD + 8 * children.len()).cast::<u32>();
            let text = ends.add(separators.len()).cast::<u8>();
            let mut end = 0;
            for (index, separator) in separators.iter().enumerate() {
                std::ptr::copy_nonoverlapping(separator.as_ptr(), text.add(end).as_ptr(), separator.len());
                end += separator.len();
                ends.add(index).write(u32::try_from(end).unwrap_or(0));
            }
        }
        Ok(Self { pointer, _alive: PhantomData })
    }

    /// How many children.
    #[inline]
    pub(super) fn len(self) -> usize {
        // SAFETY: the node is alive for 'a; its count never changes.
        unsafe { self.pointer.cast::<u32>().read() as usize }
    }

    /// Where a child's pointer is; the owner may replace it.
    #[inline]
    pub(super) fn child(self, index: usize) -> &'a AtomicPtr<u8> {
        stdx::require!(index < self.len());
        // SAFETY: in bounds; alive for 'a; only accessed as an atomic.
        unsafe { self.pointer.add(INNER_HEAD + 8 * index).cast::<AtomicPtr<u8>>().as_ref() }
    }

    /// The separator above child `index`: keys of the child are below it, keys of the next are not.
    #[inline]
    pub(super) fn separator(self, index: usize) -> &'a [u8] {
        let count = self.len();
        stdx::require!(index + 1 < count);
        // SAFETY: in bounds; the separators never change and are alive for 'a.
        unsafe {
            let ends = self.pointer.add(INNER_HEAD + 8 * count).cast::<u32>();
            let start = if index == 0 { 0 } else { ends.add(index - 1).read() as usize };
            let end = ends.add(index).read() as usize;
            let text = ends.add(count - 1).cast::<u8>();
            std::slice::from_raw_parts(text.add(start).as_ptr(), end - start)
        }
    }

    /// How many separators there are before the first that is not `before` the key.
    #[inline]
    pub(super) fn partition_point(self, before: impl Fn(&[u8]) -> bool) -> usize {
        let (mut low, mut high) = (0, self.len() - 1);
        while low < high {
            let middle = usize::midpoint(low, high);
            if before(self.separator(middle)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Children and separators, for making another node of them.
    pub(super) fn parts(self) -> (Vec<*mut u8>, Vec<&'a [u8]>) {
        let count = self.len();
        let mut children = Vec::with_capacity(count + 1);
        children.extend((0..count).map(|index| self.child(index).load(Ordering::Relaxed)));
        let mut separators = Vec::with_capacity(count);
        separators.extend((1..count).map(|index| self.separator(index - 1)));
        (children, separators)
    }
}

/// A node that stays in memory for `'a`.
#[derive(Clone, Copy)]
pub(super) enum Node<'a> {
    Leaf(Leaf<'a>),
    Inner(Inner<'a>),
}

impl Node<'_> {
    /// # Safety
    /// The pointer is `as_ptr` of a node that stays in memory for `'a`, or null.
    #[inline]
    pub(super) unsafe fn from_ptr(pointer: *mut u8) -> Option<Self> {
        let untagged = NonNull::new(pointer.map_addr(|address| address & !LEAF_BIT))?;
        Some(if pointer.addr() & LEAF_BIT == 0 {
            Self::Inner(Inner { pointer: untagged, _alive: PhantomData })
        } else {
            Self::Leaf(Leaf { pointer: untagged, _alive: PhantomData })
        })
    }

    pub(super) fn as_ptr(self) -> *mut u8 {
        match self {
            Self::Leaf(leaf) => leaf.pointer.as_ptr().map_addr(|address| address | LEAF_BIT),
            Self::Inner(inner) => inner.pointer.as_ptr(),
        }
    }

    /// Its piece of memory.
    pub(super) fn piece(self) -> (NonNull<u8>, usize) {
        match self {
            Self::Leaf(leaf) => (leaf.pointer, leaf_bytes(leaf.capacity())),
            Self::Inner(inner) => {
                // SAFETY: the node is alive; this never changes.
                let text = unsafe { inner.pointer.add(4).cast::<u32>().read() as usize };
                (inner.pointer, inner_bytes(inner.len(), text))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Order;

    #[test]
    fn orders_keep_all_fifteen_positions() {
        let mut order = Order::first(0);
        let mut model = Vec::new();
        for slot in 0..15 {
            let position = slot * 7 % (slot + 1);
            order = order.with(position, slot);
            model.insert(position, slot);
        }
        let slots = |order: Order| (0..order.len()).map(|at| order.slot(at)).collect::<Vec<_>>();
        assert_eq!(slots(order), model);
        while !model.is_empty() {
            let position = model.len() * 5 / 7;
            order = order.without(position);
            model.remove(position);
            assert_eq!(slots(order), model);
        }
    }
}
