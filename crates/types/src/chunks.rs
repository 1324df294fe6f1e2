//! [`TableChunks`]: values by table id in shared chunks of 64 ids. A copy shares all chunks; a change copies the one
//! that it touches.
//!
//! So a new version of something that is kept per table costs what it changes, and two versions are compared chunk by
//! chunk: what is shared did not change ([`TableChunks::differences`]). A reader that missed versions compares what
//! it has with what it is given.
//!
//! Invariants: chunks stand in the order of their numbers, no two have one number, none is empty.
//!
//! Deliberately not here: names (`schema::names`), and anything that knows what the values are.

use crate::TableId;
use std::sync::Arc;

/// How many ids a chunk is for.
const CHUNK_SIZE: u32 = 64;

#[derive(Clone, PartialEq, Debug)]
struct Chunk<V> {
    /// The ids of this chunk begin at `number * CHUNK_SIZE`.
    number: u32,
    count: u32,
    values: [Option<V>; CHUNK_SIZE as usize],
}

/// Values by table id.
#[derive(Clone, PartialEq, Debug)]
pub struct TableChunks<V> {
    chunks: Vec<Arc<Chunk<V>>>,
    len: usize,
}

impl<V> Default for TableChunks<V> {
    fn default() -> Self {
        Self { chunks: Vec::new(), len: 0 }
    }
}

/// A table id whose value may differ between two versions: its value in the older and in the newer one.
pub type Difference<'a, V> = (TableId, Option<&'a V>, Option<&'a V>);

impl<V> TableChunks<V> {
    /// The value of a table.
    #[must_use]
    #[inline]
    pub fn get(&self, id: TableId) -> Option<&V> {
        let number = id.0 / CHUNK_SIZE;
        // As long as no chunk is missing, a chunk's number is its position.
        let guess = self.chunks.get(number as usize).filter(|chunk| chunk.number == number);
        let chunk = match guess {
            Some(chunk) => chunk,
            None => self.chunks.get(self.position(number).ok()?)?,
        };
        chunk.values[(id.0 % CHUNK_SIZE) as usize].as_ref()
    }

    fn position(&self, number: u32) -> Result<usize, usize> {
        self.chunks.binary_search_by_key(&number, |chunk| chunk.number)
    }

    /// Whether the table has a value.
    #[must_use]
    pub fn contains_key(&self, id: TableId) -> bool {
        self.get(id).is_some()
    }

    /// How many tables have values.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no table has a value.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All values with their tables, in order of the ids.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (TableId, &V)> {
        self.chunks.iter().flat_map(|chunk| chunk.iter())
    }

    /// The values of the tables from this one on, in order of the ids.
    pub fn from(&self, first: TableId) -> impl Iterator<Item = (TableId, &V)> {
        let position = self.position(first.0 / CHUNK_SIZE).unwrap_or_else(|position| position);
        self.chunks[position..].iter().flat_map(|chunk| chunk.iter()).skip_while(move |(id, _)| *id < first)
    }

    /// All tables, in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = TableId> {
        self.iter().map(|(id, _)| id)
    }

    /// All values, in order of their tables.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> {
        self.iter().map(|(_, value)| value)
    }

    /// The values of all chunks that `newer` does not share with this one: whatever differs is among them.
    pub fn differences<'a>(&'a self, newer: &'a Self) -> Vec<Difference<'a, V>> {
        let mut found = Vec::new();
        let (mut old, mut new) = (self.chunks.iter().peekable(), newer.chunks.iter().peekable());
        loop {
            let number = match (old.peek(), new.peek()) {
                (Some(old), Some(new)) => old.number.min(new.number),
                (Some(only), None) | (None, Some(only)) => only.number,
                (None, None) => return found,
            };
            let before = old.next_if(|chunk| chunk.number == number);
            let after = new.next_if(|chunk| chunk.number == number);
            if before.zip(after).is_some_and(|(before, after)| Arc::ptr_eq(before, after)) {
                continue;
            }
            for position in 0..CHUNK_SIZE {
                let value = |chunk: &'a Arc<Chunk<V>>| chunk.values[position as usize].as_ref();
                let (before, after) = (before.and_then(value), after.and_then(value));
                if before.is_some() || after.is_some() {
                    found.push((TableId(number * CHUNK_SIZE + position), before, after));
                }
            }
        }
    }
}

impl<T> TableChunks<Arc<T>> {
    /// The values of `newer` that are not the same objects as here: what differs in the chunks that are not shared.
    pub fn changes<'a>(&'a self, newer: &'a Self) -> Vec<Difference<'a, Arc<T>>> {
        let mut found = self.differences(newer);
        found.retain(|(_, old, new)| !old.zip(*new).is_some_and(|(old, new)| Arc::ptr_eq(old, new)));
        found
    }
}

impl<V> Chunk<V> {
    fn iter(&self) -> impl DoubleEndedIterator<Item = (TableId, &V)> {
        let first = self.number * CHUNK_SIZE;
        let numbered = (first..first + CHUNK_SIZE).zip(&self.values);
        numbered.filter_map(|(id, value)| Some((TableId(id), value.as_ref()?)))
    }
}

impl<V: Clone> TableChunks<V> {
    /// Puts a value, in place of the one that was there.
    pub fn insert(&mut self, id: TableId, value: V) -> Option<V> {
        let number = id.0 / CHUNK_SIZE;
        let position = self.position(number).unwrap_or_else(|position| {
            let values = [const { None }; CHUNK_SIZE as usize];
            self.chunks.insert(position, Arc::new(Chunk { number, count: 0, values }));
            position
        });
        let chunk = Arc::make_mut(&mut self.chunks[position]);
        let before = chunk.values[(id.0 % CHUNK_SIZE) as usize].replace(value);
        if before.is_none() {
            chunk.count += 1;
            self.len += 1;
        }
        before
    }

    /// Takes a value out.
    pub fn remove(&mut self, id: TableId) -> Option<V> {
        self.get(id)?;
        let position = self.position(id.0 / CHUNK_SIZE).ok()?;
        let chunk = Arc::make_mut(&mut self.chunks[position]);
        let before = chunk.values[(id.0 % CHUNK_SIZE) as usize].take();
        chunk.count -= 1;
        if chunk.count == 0 {
            self.chunks.remove(position);
        }
        self.len -= 1;
        before
    }
}

#[cfg(test)]
mod tests;
