//! The requests of a client to other modules, and their answers.
//!
//! Requests are registered with the module they went to, so that the loss of a node can be answered in its stead.
//! Answers wait here until the operator that asked polls again.
//!
//! Invariants: a request is `Open` until its answer came or it is forgotten. An answer to a request that is not open is
//! dropped, so a late one never reaches another statement.

use protocol::program::Refusal;
use protocol::signal::{CommitOutcome, ReadBatch, RequestId, WriteFailure, WriteSummary};
use protocol::{Address, SqlError, View};
use stdx::SortedQueue;
use types::{Incarnation, NodeId, Value, ViewNumber};

/// The effect of a request where it goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequestKind {
    /// A read without locks: may be asked again elsewhere.
    Read,
    /// A write or a locking read: changes the transaction's state at the participant.
    Change,
    /// A write that carries its commit, CommitOne or Coordinate: its loss leaves the outcome unknown.
    Commit,
    /// Anything else.
    Other,
}

/// An answer.
#[derive(Debug)]
pub enum Reply {
    Read(Result<ReadBatch, Refusal>),
    Write(Result<WriteSummary, WriteFailure>),
    Rollback {
        held: bool,
    },
    Commit(CommitOutcome),
    Sequence {
        first: u64,
        count: u64,
    },
    /// Connections that use the tables in older versions.
    SchemaInstalled {
        users: Vec<u32>,
    },
    Backfilled(Option<Refusal>),
    Info(Vec<Vec<Value>>),
    Failed(SqlError),
    /// The node that was asked is lost.
    Lost,
}

#[derive(Clone, Debug)]
struct Outstanding {
    to: Address,
    kind: RequestKind,
    /// The view in which it came there, if it has moved.
    moved_in: ViewNumber,
    /// Lives of members whose connection broke meanwhile: what waits there is refused, and nobody hears of it.
    cut_off: Vec<(NodeId, Incarnation)>,
}

/// How far a request is.
#[derive(Debug)]
enum Request {
    Open(Outstanding),
    /// Its answer is not read yet.
    Answered(Reply),
}

impl Request {
    fn open(&self) -> Option<&Outstanding> {
        match self {
            Self::Open(open) => Some(open),
            Self::Answered(_) => None,
        }
    }

    fn open_mut(&mut self) -> Option<&mut Outstanding> {
        match self {
            Self::Open(open) => Some(open),
            Self::Answered(_) => None,
        }
    }
}

/// The open requests and unread answers of one session.
#[derive(Debug)]
pub struct Inbox {
    /// The connection's id in the high half of every request id.
    connection: u32,
    last: u32,
    requests: SortedQueue<RequestId, Request>,
    /// The commit that was asked for and whose answer is not taken yet; a session has one at a time.
    commit: Option<RequestId>,
}

/// How far apart the request numbers of two lives of a node begin (2^32 divided by the golden ratio).
const LIFE_STRIDE: u32 = 0x9e37_79b1;

impl Inbox {
    /// Connections are numbered from 1 in every life of a node, and answers to an earlier life may still come: its
    /// requests have other numbers.
    pub fn new(connection: u32, incarnation: Incarnation) -> Self {
        Self {
            connection,
            last: incarnation.0.wrapping_mul(LIFE_STRIDE),
            requests: SortedQueue::default(),
            commit: None,
        }
    }

    /// The connection that a request belongs to.
    pub fn connection_of(request: RequestId) -> u32 {
        u32::try_from(request.0 >> 32).unwrap_or(0)
    }

    /// A new request to `to`.
    pub fn register(&mut self, to: Address, kind: RequestKind) -> RequestId {
        loop {
            self.last = self.last.wrapping_add(1);
            let request = RequestId(u64::from(self.connection) << 32 | u64::from(self.last));
            if !self.requests.contains_key(&request) {
                let open = Outstanding { to, kind, moved_in: ViewNumber(0), cut_off: Vec::new() };
                self.requests.insert(request, Request::Open(open));
                if kind == RequestKind::Commit {
                    self.commit = Some(request);
                }
                return request;
            }
        }
    }

    /// A number that is another one for each request, and for each session: modules that can all answer are asked in
    /// turn by it.
    pub fn turn(&self) -> u32 {
        self.connection.wrapping_add(self.last)
    }

    /// It is sent to another module, in this view; false if nobody waits for it.
    pub fn move_to(&mut self, request: RequestId, view: ViewNumber, to: Address) -> bool {
        let open = self.requests.get_mut(&request).and_then(Request::open_mut);
        open.map(|open| (open.to, open.moved_in) = (to, view)).is_some()
    }

    /// It waits at another primary since a view, or nowhere any more. The word of the second of two moves may come
    /// first. True if nobody answers the request.
    pub fn follow(
        &mut self,
        now: &View,
        request: RequestId,
        moved_in: ViewNumber,
        to: Option<Address>,
    ) -> bool {
        let open = self.requests.get_mut(&request).and_then(Request::open_mut);
        let Some(open) = open.filter(|open| open.moved_in < moved_in) else { return false };
        open.moved_in = moved_in;
        open.to = to.unwrap_or(open.to);
        let life = to.and_then(|to| Some((to.node, now.node(to.node)?.incarnation)));
        let is_cut_off = life.is_none_or(|life| open.cut_off.contains(&life));
        if is_cut_off {
            self.deliver(request, Reply::Lost);
        }
        is_cut_off
    }

    /// An answer came; false if nobody waits for it.
    pub fn deliver(&mut self, request: RequestId, reply: Reply) -> bool {
        match self.requests.get_mut(&request) {
            Some(open @ Request::Open(_)) => {
                *open = Request::Answered(reply);
                true
            }
            Some(Request::Answered(_)) | None => false,
        }
    }

    /// Takes the answer to a request, if it is there.
    #[inline]
    pub fn take(&mut self, request: RequestId) -> Option<Reply> {
        let Some(Request::Answered(_)) = self.requests.get(&request) else { return None };
        let Some(Request::Answered(reply)) = self.requests.remove(&request) else { return None };
        // A commit whose answer is lost is on its way still: somebody else is asked what became of it.
        if self.commit == Some(request) && !matches!(reply, Reply::Lost) {
            self.commit = None;
        }
        Some(reply)
    }

    /// True from the asking for a commit to the taking of its answer, by whomever it is given: until then nobody may
    /// say that it did not take place.
    #[inline]
    pub fn has_commit(&self) -> bool {
        self.commit.is_some()
    }

    /// Where a commit was asked for that is not answered yet.
    pub fn commit_waits_at(&self) -> Option<Address> {
        self.requests.get(&self.commit?)?.open().map(|open| open.to)
    }

    /// Nobody waits for this answer any more.
    pub fn forget(&mut self, request: RequestId) {
        self.requests.remove(&request);
        if self.commit == Some(request) {
            self.commit = None;
        }
    }

    /// Nobody waits for anything any more.
    pub fn forget_all(&mut self) {
        self.requests.clear();
        self.commit = None;
    }

    /// Reads that are not answered yet, and where they were asked for.
    pub fn open_reads(&self) -> Vec<(Address, RequestId)> {
        let open = self.requests.iter().filter_map(|(request, state)| Some((request, state.open()?)));
        let reads = open.filter(|(_, open)| open.kind == RequestKind::Read);
        let mut reads: Vec<(Address, RequestId)> = reads.map(|(request, open)| (open.to, *request)).collect();
        reads.sort_unstable();
        reads
    }

    /// The modules at which the transaction may wait for locks.
    pub fn lock_waits(&self) -> Vec<Address> {
        let waits = |open: &&Outstanding| matches!(open.kind, RequestKind::Change | RequestKind::Commit);
        let open = self.requests.values().filter_map(Request::open);
        let mut modules: Vec<Address> = open.filter(waits).map(|open| open.to).collect();
        modules.sort_unstable();
        modules.dedup();
        modules
    }

    /// The connection to a life of a node broke. A request that waits elsewhere may have moved there already: the word
    /// of it comes later.
    pub fn cut_off(&mut self, node: NodeId, life: Incarnation) {
        let open = self.requests.values_mut().filter_map(Request::open_mut);
        for open in open.filter(|open| !open.cut_off.contains(&(node, life))) {
            open.cut_off.push((node, life));
        }
    }

    /// Answers everything that was asked of a lost node; true if there was anything.
    pub fn node_lost(&mut self, node: NodeId) -> bool {
        let mut any = false;
        for request in self.requests.values_mut() {
            if request.open().is_some_and(|open| open.to.node == node) {
                *request = Request::Answered(Reply::Lost);
                any = true;
            }
        }
        any
    }
}

impl Inbox {
    /// Answers everything that was asked of any of these nodes; true if there was anything.
    #[inline]
    pub fn nodes_lost(&mut self, nodes: &[NodeId]) -> bool {
        let mut any = false;
        for node in nodes {
            any |= self.node_lost(*node);
        }
        any
    }
}

#[cfg(test)]
mod tests {
    use super::{Inbox, Reply, RequestKind};
    use protocol::{Address, ModuleKind};
    use types::Incarnation;
    use types::NodeId;

    #[test]
    fn late_answers_are_dropped_and_lost_nodes_answered() {
        let ldm = |node| Address::new(NodeId(node), ModuleKind::Ldm, 0);
        let mut inbox = Inbox::new(7, Incarnation(1));
        let first = inbox.register(ldm(1), RequestKind::Read);
        let second = inbox.register(ldm(2), RequestKind::Change);
        assert_eq!(Inbox::connection_of(second), 7);
        assert_eq!(inbox.lock_waits(), vec![ldm(2)]);
        inbox.forget(first);
        assert!(!inbox.deliver(first, Reply::Lost));
        assert!(!inbox.node_lost(NodeId(1)));
        assert!(inbox.node_lost(NodeId(2)));
        assert!(matches!(inbox.take(second), Some(Reply::Lost)));
    }
}
