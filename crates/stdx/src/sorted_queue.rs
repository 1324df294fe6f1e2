//! A map for keys that come in ascending order, mostly, and go in about the same order: places of a stream, epochs,
//! requests.
//!
//! The entries lie in a ring buffer, sorted. A key above all others is appended, the lowest or highest one is found at
//! once, any other one by halving. Nothing is allocated or freed while as many come as go, unlike in a `BTreeMap`.
//! A key that comes late or goes early costs a move of the entries on its shorter side.
//!
//! Invariant: the keys are sorted, each once.

use std::collections::VecDeque;
use std::fmt;

/// The map.
#[derive(Clone, PartialEq, Eq)]
pub struct SortedQueue<K, V> {
    entries: VecDeque<(K, V)>,
}

impl<K, V> Default for SortedQueue<K, V> {
    fn default() -> Self {
        Self { entries: VecDeque::new() }
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for SortedQueue<K, V> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_map().entries(self.iter()).finish()
    }
}

impl<K, V> SortedQueue<K, V> {
    /// How many entries there are.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entry with the lowest key.
    #[must_use]
    #[inline]
    pub fn first(&self) -> Option<(&K, &V)> {
        self.entries.front().map(|(key, value)| (key, value))
    }

    /// All entries, by key.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.entries.iter().map(|(key, value)| (key, value))
    }

    /// The same, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&K, &mut V)> {
        self.entries.iter_mut().map(|(key, value)| (&*key, value))
    }

    /// The keys, in order.
    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.entries.iter().map(|(key, _)| key)
    }

    /// The values, by key.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.entries.iter().map(|(_, value)| value)
    }

    /// The same, to be changed.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.entries.iter_mut().map(|(_, value)| value)
    }

    /// The values, by key.
    pub fn into_values(self) -> impl Iterator<Item = V> {
        self.entries.into_iter().map(|(_, value)| value)
    }

    /// Keeps the entries for which `keep` is true.
    pub fn retain(&mut self, mut keep: impl FnMut(&K, &V) -> bool) {
        self.entries.retain(|(key, value)| keep(key, value));
    }

    /// Takes out the entries for which `is_taken` is true.
    pub fn take_if(&mut self, mut is_taken: impl FnMut(&K, &V) -> bool) -> Vec<(K, V)> {
        let mut taken = Vec::new();
        // Each goes around once, within the room that there is.
        for _ in 0..self.entries.len() {
            let Some((key, value)) = self.entries.pop_front() else { break };
            if is_taken(&key, &value) {
                taken.push((key, value));
            } else {
                self.entries.push_back((key, value));
            }
        }
        taken
    }

    /// Forgets all entries, and keeps their room.
    pub fn clear(&mut self) {
        self.entries.clear();
    }
}

impl<K: Ord, V> SortedQueue<K, V> {
    /// Where a key is, or belongs.
    #[inline]
    fn position(&self, key: &K) -> Result<usize, usize> {
        let (Some((first, _)), Some((last, _))) = (self.entries.front(), self.entries.back()) else {
            return Err(0);
        };
        if last < key {
            return Err(self.entries.len());
        }
        if last == key {
            return Ok(self.entries.len() - 1);
        }
        if first == key {
            return Ok(0);
        }
        self.entries.binary_search_by(|(other, _)| other.cmp(key))
    }

    /// Whether there is an entry with this key.
    #[must_use]
    #[inline]
    pub fn contains_key(&self, key: &K) -> bool {
        self.position(key).is_ok()
    }

    /// The value of a key.
    #[must_use]
    #[inline]
    pub fn get(&self, key: &K) -> Option<&V> {
        let position = self.position(key).ok()?;
        self.entries.get(position).map(|(_, value)| value)
    }

    /// The same, to be changed.
    #[inline]
    pub fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        let position = self.position(key).ok()?;
        self.entries.get_mut(position).map(|(_, value)| value)
    }

    /// The value of a key; it becomes `default` if there is none.
    #[inline]
    pub fn get_or_insert(&mut self, key: K, default: V) -> &mut V {
        let position = match self.position(&key) {
            Ok(position) => position,
            Err(position) => {
                self.put(position, key, default);
                position
            }
        };
        &mut self.entries[position].1
    }

    /// Gives a key a value; gives back the one that it had.
    #[inline]
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.position(&key) {
            Ok(position) => Some(std::mem::replace(&mut self.entries[position].1, value)),
            Err(position) => {
                self.put(position, key, value);
                None
            }
        }
    }

    #[inline]
    fn put(&mut self, position: usize, key: K, value: V) {
        if position == self.entries.len() {
            self.entries.push_back((key, value));
        } else {
            self.entries.insert(position, (key, value));
        }
    }

    /// Takes out the entry with this key.
    #[inline]
    pub fn remove(&mut self, key: &K) -> Option<V> {
        match self.position(key).ok()? {
            0 => self.entries.pop_front(),
            position => self.entries.remove(position),
        }
        .map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::SortedQueue;
    use crate::Prng;
    use std::collections::BTreeMap;

    /// Keys rise, but not strictly, and any may go: it is as a `BTreeMap` would be.
    #[test]
    fn it_is_a_map() {
        let mut random = Prng::new(7);
        let (mut queue, mut model) = (SortedQueue::default(), BTreeMap::new());
        for step in 0..20_000_u64 {
            let key = step / 4 + random.below(20);
            match random.below(5) {
                0 | 1 => assert_eq!(queue.insert(key, step), model.insert(key, step)),
                2 => {
                    *queue.get_or_insert(key, 0) += step;
                    *model.entry(key).or_insert(0) += step;
                }
                3 => assert_eq!(queue.remove(&key), model.remove(&key)),
                _ => {
                    let lowest = queue.first().map(|(key, _)| *key);
                    assert_eq!(lowest, model.keys().next().copied());
                    if let Some(lowest) = lowest {
                        assert_eq!(queue.remove(&lowest), model.remove(&lowest));
                    }
                }
            }
            assert_eq!(queue.get(&key), model.get(&key));
            assert_eq!(queue.contains_key(&key), model.contains_key(&key));
            assert!(queue.iter().eq(model.iter()));
        }
        queue.retain(|key, _| key % 2 == 0);
        model.retain(|key, _| key % 2 == 0);
        let taken: Vec<_> = model.extract_if(.., |key, _| key % 3 == 0).collect();
        let room = queue.entries.capacity();
        assert_eq!(queue.take_if(|key, _| key % 3 == 0), taken);
        assert_eq!(queue.len(), model.len());
        assert_eq!(format!("{queue:?}"), format!("{model:?}"));
        queue.iter_mut().for_each(|(key, value)| *value += key);
        model.iter_mut().for_each(|(key, value)| *value += key);
        queue.values_mut().for_each(|value| *value *= 2);
        model.values_mut().for_each(|value| *value *= 2);
        assert!(queue.clone().into_values().eq(model.into_values()));
        queue.clear();
        assert!(queue.is_empty() && queue.first().is_none());
        assert_eq!(queue.entries.capacity(), room, "neither gives its room back");
    }
}
