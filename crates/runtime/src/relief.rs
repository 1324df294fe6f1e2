//! Which thread may be asked for a part of a long read: another one of this node with a module `query` that has
//! nothing to do.
//!
//! Threads have their turns. One is looked at in a round with long work, because its state lies in its own cache.
//!
//! Deliberately not here: which reads are long (`executor`), and threads that have little to do.

use protocol::{Address, ModuleKind};

/// The other threads with a `query`, and whose turn it is.
#[derive(Default)]
pub(crate) struct Relief {
    /// The thread, and its module.
    helpers: Vec<(usize, u8)>,
    turn: usize,
}

impl Relief {
    /// That of thread `own` among all threads of the node with their modules.
    pub(crate) fn new<'t>(own: usize, threads: impl Iterator<Item = &'t [Address]>) -> Self {
        let others = threads.enumerate().filter(|(thread, _)| *thread != own);
        let query =
            |modules: &[Address]| modules.iter().find(|module| module.kind == ModuleKind::Query).copied();
        let helpers = others.filter_map(|(thread, modules)| Some((thread, query(modules)?.instance)));
        Self { helpers: helpers.collect(), turn: 0 }
    }

    /// The module of the thread whose turn it is, if that has nothing to do.
    pub(crate) fn next(&mut self, is_idle: impl FnOnce(usize) -> bool) -> Option<u8> {
        let (thread, module) = *self.helpers.get(self.turn)?;
        self.turn = (self.turn + 1) % self.helpers.len();
        is_idle(thread).then_some(module)
    }
}

#[cfg(test)]
mod tests {
    use super::Relief;
    use protocol::{Address, ModuleKind};
    use types::NodeId;

    #[test]
    fn idle_threads_help_in_turn() {
        let query = |instance| vec![Address::new(NodeId(2), ModuleKind::Query, instance)];
        let threads = [query(0), query(1), vec![Address::main(NodeId(2))], query(2)];
        let mut relief = Relief::new(1, threads.iter().map(Vec::as_slice));
        let idle = [0, 1, 2, 3].map(|_| relief.next(|_| true));
        assert_eq!(idle, [Some(0), Some(2), Some(0), Some(2)]);
        let one_busy = [0, 1].map(|_| relief.next(|thread| thread != 0));
        assert_eq!(one_busy, [None, Some(2)]);
        assert_eq!(Relief::new(0, [query(0)].iter().map(Vec::as_slice)).next(|_| true), None);
    }
}
