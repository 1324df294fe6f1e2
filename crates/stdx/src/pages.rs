//! Items in pages of bounded size: a list of millions grows without moving what it has, and is freed page by page
//! ([`disposal`](crate::disposal)).
//!
//! Invariant: only the first page is ever moved, while it grows.

use crate::disposal::{free_later, free_some};

/// Items of a page.
const PAGE: usize = 4_096;

/// The list.
#[derive(Clone, Debug)]
pub struct Pages<T: 'static> {
    pages: Vec<Vec<T>>,
    count: usize,
}

impl<T> Default for Pages<T> {
    fn default() -> Self {
        Self { pages: Vec::new(), count: 0 }
    }
}

impl<T> Pages<T> {
    /// How many items there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// True if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds an item behind the others.
    #[inline]
    pub fn push(&mut self, item: T) {
        if self.count.is_multiple_of(PAGE) && self.pages.len() == self.count / PAGE {
            if self.count > 0 {
                free_some(1);
            }
            // A short list has a short first page.
            self.pages.push(if self.count == 0 { Vec::new() } else { Vec::with_capacity(PAGE) });
        }
        self.pages[self.count / PAGE].push(item);
        self.count += 1;
    }

    /// The item at a position, which there must be.
    #[inline]
    #[must_use]
    pub fn get(&self, position: usize) -> &T {
        &self.pages[position / PAGE][position % PAGE]
    }

    /// The same, to be changed.
    #[inline]
    pub fn get_mut(&mut self, position: usize) -> &mut T {
        &mut self.pages[position / PAGE][position % PAGE]
    }

    /// The memory that it holds itself, in bytes.
    #[inline]
    #[must_use]
    pub fn size(&self) -> usize {
        let last = self.pages.last().map_or(0, Vec::capacity);
        (self.pages.len().saturating_sub(1) * PAGE + last) * size_of::<T>()
    }

    /// Forgets all items, and keeps the memory of one page.
    pub fn clear(&mut self) {
        free_later(self.pages.split_off(self.pages.len().min(1)));
        self.pages.iter_mut().for_each(Vec::clear);
        self.count = 0;
    }
}

impl<T> Drop for Pages<T> {
    fn drop(&mut self) {
        free_later(std::mem::take(&mut self.pages));
    }
}

#[cfg(test)]
mod tests {
    use super::{PAGE, Pages};

    #[test]
    fn is_a_list() {
        let mut pages = Pages::default();
        for round in 0..2 {
            assert!(pages.is_empty());
            for number in 0..3 * PAGE {
                assert_eq!(pages.len(), number);
                pages.push(number + round);
            }
            *pages.get_mut(PAGE) += 1;
            assert!(
                (0..3 * PAGE)
                    .all(|number| *pages.get(number) == number + round + usize::from(number == PAGE))
            );
            assert_eq!(pages.size(), 3 * PAGE * size_of::<usize>());
            pages.clear();
            assert_eq!(pages.size(), PAGE * size_of::<usize>());
        }
    }
}
