//! Statements under way: where their stages are, and what still has to come before they go on.
//!
//! **Invariants.** A client has one statement at a time. A statement is answered once.

use super::operation::{Graph, Operation, Reach, Role};
use super::topology::Topology;
use stdx::Prng;

/// A message to a thread.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Message {
    pub(super) client: u32,
    pub(super) kind: Kind,
    /// The receiver's cost of taking it.
    pub(super) cost_ns: f64,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Kind {
    /// A client's statement, or its answer on the way back.
    Request,
    Answer,
    /// The next stage, by number.
    Stage(u8),
    /// A part of a session's long work for a helper, and the helper's answer.
    Piece(f64),
    PieceDone,
}

/// Long work that goes on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Slice {
    pub(super) client: u32,
    pub(super) left_ns: f64,
    pub(super) of: SliceOf,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum SliceOf {
    Stage(u8),
    /// A piece of the work of the client's session.
    Piece,
}

/// A client and its statement.
pub(super) struct Client {
    /// The thread of its session, and that of the client itself, if there is one.
    pub(super) session: usize,
    pub(super) generator: Option<usize>,
    /// It sends what is beside the workload, and does not count.
    pub(super) is_beside: bool,
    /// When it sent its statement, in nanoseconds.
    pub(super) begun: f64,
    is_elsewhere: bool,
    primary: usize,
    backups: Vec<usize>,
    others: Vec<usize>,
    /// Messages that must come before the next stage begins.
    missing: usize,
    /// Pieces that helpers have, and whether the session's own part is done.
    pub(super) pieces: u32,
    pub(super) is_own_part_done: bool,
}

impl Client {
    pub(super) fn new(session: usize, generator: Option<usize>, is_beside: bool) -> Self {
        Self {
            session,
            generator,
            is_beside,
            begun: 0.0,
            is_elsewhere: false,
            primary: 0,
            backups: Vec::new(),
            others: Vec::new(),
            missing: 0,
            pieces: 0,
            is_own_part_done: false,
        }
    }

    /// Draws the next statement.
    pub(super) fn draw(&mut self, operation: &Operation, topology: &Topology, prng: &mut Prng, begun: f64) {
        let node = topology.threads[self.session].node;
        let group = topology.group_of(node);
        let slot = &topology.slots[prng.index(topology.slots.len())];
        (self.begun, self.missing, self.pieces, self.is_own_part_done) = (begun, 0, 0, false);
        self.others.clear();
        match operation.reach {
            Reach::Write => {
                self.primary = slot.primary;
                self.backups.clone_from(&slot.backups);
                self.is_elsewhere = topology.threads[slot.primary].node != node;
            }
            Reach::OneRow => {
                self.is_elsewhere = slot.group != group;
                if self.is_elsewhere {
                    self.others.push(reader(topology, slot.group, prng));
                }
            }
            Reach::All => {
                let others = (0..topology.groups()).filter(|other| *other != group);
                self.others.extend(others.map(|other| reader(topology, other, prng)));
                self.is_elsewhere = !self.others.is_empty();
            }
        }
    }

    pub(super) fn graph<'o>(&self, operation: &'o Operation) -> &'o Graph {
        if self.is_elsewhere { &operation.elsewhere } else { &operation.here }
    }

    /// The threads that do a stage.
    pub(super) fn threads_of(&self, role: Role) -> &[usize] {
        match role {
            Role::Session => std::slice::from_ref(&self.session),
            Role::Primary => std::slice::from_ref(&self.primary),
            Role::Backups => &self.backups,
            Role::Others => &self.others,
        }
    }

    /// So many threads have a stage now: what follows waits for all of them.
    pub(super) fn expect(&mut self, count: usize) {
        self.missing = count;
    }

    /// A thread has a message of a stage; true if it may begin. Threads that do a stage at once wait for nobody.
    pub(super) fn may_begin(&mut self, role: Role) -> bool {
        match role {
            Role::Backups | Role::Others => true,
            Role::Session | Role::Primary => {
                self.missing = self.missing.saturating_sub(1);
                self.missing == 0
            }
        }
    }
}

/// A thread of a node of the group, whose turn it is: any of them, as they take turns.
fn reader(topology: &Topology, group: u16, prng: &mut Prng) -> usize {
    let replicas = usize::from(topology.shape.replicas);
    let node = usize::from(group) * replicas + prng.index(replicas);
    let workers = &topology.workers[node];
    workers[prng.index(workers.len())]
}
