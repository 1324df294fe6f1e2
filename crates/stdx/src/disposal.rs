//! Memory that is given back in small parts, so that no call takes long because it drops millions of rows.
//!
//! The owner of much memory in parts gives them to [`free_later`] when it is dropped. They wait in their thread, and
//! its driver calls [`free_some`] while nothing more urgent is to do. An owner that takes one more part frees one that
//! waits. So memory that was given up and is taken anew at once is not held twice.
//!
//! Invariants: what waits is freed when its thread ends, if not before. Nothing can see whether it was freed: that it
//! waits in a thread-local decides nothing.

use std::cell::RefCell;

/// So few parts are freed at once.
const FEW: usize = 4;

/// Things of one type that are freed one by one.
trait Waiting {
    /// Frees one; false if there is none.
    fn free_one(&mut self) -> bool;
}

impl<T> Waiting for Vec<T> {
    fn free_one(&mut self) -> bool {
        self.pop().is_some()
    }
}

thread_local! {
    static WAITING: RefCell<Vec<Box<dyn Waiting>>> = const { RefCell::new(Vec::new()) };
}

/// Frees the parts some time later, each of them in one step.
pub fn free_later<T: 'static>(parts: Vec<T>) {
    if parts.len() <= FEW {
        return;
    }
    // A thread that ends has no such list any more: then they are freed here.
    let _ = WAITING.try_with(|waiting| waiting.borrow_mut().push(Box::new(parts)));
}

/// Frees up to so many parts of this thread; true if there are more.
pub fn free_some(parts: usize) -> bool {
    for _ in 0..parts {
        // Taken out, because what is freed may hold parts of its own.
        let Some(mut last) = WAITING.with_borrow_mut(Vec::pop) else { return false };
        if last.free_one() {
            WAITING.with_borrow_mut(|waiting| waiting.push(last));
        }
    }
    has_more()
}

/// Whether anything waits in this thread.
#[must_use]
pub fn has_more() -> bool {
    WAITING.with_borrow(|waiting| !waiting.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::rc::Rc;

    #[test]
    fn few_parts_are_freed_at_once_and_many_one_by_one() {
        let part = Rc::new(());
        let parts = |count: usize| vec![Rc::clone(&part); count];
        free_later(parts(FEW));
        assert!(!has_more());
        free_later(parts(10));
        free_later(parts(5));
        assert_eq!(Rc::strong_count(&part), 16);
        assert!(free_some(3));
        assert_eq!(Rc::strong_count(&part), 13);
        while free_some(2) {}
        assert_eq!(Rc::strong_count(&part), 1);
    }

    #[test]
    fn a_part_may_hold_parts() {
        struct Outer(Vec<Rc<()>>);
        impl Drop for Outer {
            fn drop(&mut self) {
                free_later(std::mem::take(&mut self.0));
            }
        }
        let part = Rc::new(());
        free_later((0..6).map(|_| Outer(vec![Rc::clone(&part); 6])).collect());
        while free_some(1) {}
        assert_eq!(Rc::strong_count(&part), 1);
    }
}
