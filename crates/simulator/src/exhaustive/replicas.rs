//! Replicas of a few rows, and sessions on a node without rows: an ldm and a tc per data node, in the wrappers that
//! fence them.
//!
//! The world plays `main` and the control plane. A crash makes the next view at once, and nodes install the newest view
//! when that is chosen (the tc behind the ldm). Each ldm hears that all have installed it. A node that has died starts
//! again with nothing and joins. A joining node that has everything is in sync in the next view. A session commits what
//! it has staged, asks what became of it if the one who should answer is left out, and confirms what it hears.
//!
//! Signals between two modules arrive in order; what a dead node had sent arrives, or is dropped by the fence, as the
//! installing is chosen. No time passes and no epoch is opened.
//!
//! Four reductions, none of which hides an end or what a read may find. The replicas' own signals of an older view than
//! that of their receiver are void for ever. So they are gone at once, if the real wrapper does nothing with them.
//! Those of a newer view wait for it on their way, not in the wrapper, which would handle them, in this order, when it
//! enters that view. A tc that coordinates nothing and is asked for nothing enters a view with its ldm. And if there is
//! no other transaction, for whom a new primary's locks could matter, all ldms hear at once that all have installed a
//! view. `Plan::has_early` does without the latter three.

use super::SmallWorld;
use super::blocks::{BASE, Blocks, Given, MessageId, Seen, StateId, ViewId};
use fixtures::{column, data_node, integer, node};
use membership::succession;
use protocol::program::{
    Access, LockMode, LockWait, OnDuplicate, ReadOutput, ReadProgram, StatementContext, TableRef,
    WriteOperation,
};
use protocol::signal::{
    CommitDone, CommitOneRequest, CommitOutcome, CoordinateRequest, Participant, ReadDone, ReadRequest,
    RequestId, Verdict, WriteRequest,
};
use protocol::{Address, Envelope, ModuleKind, NodeInfo, NodeRole, Signal, View};
use query::NodeMap;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;
use stdx::{Prng, hash64, smallvec};
use transaction::Sizes;
use types::{
    Epoch, Incarnation, NodeId, Schema, SlotId, TableDefinition, TableId, TransactionId, ValueRef, ViewNumber,
};

const TABLE: TableId = TableId(200);
/// The node without rows, and the session of what comes before.
const SQL_NODE: NodeId = NodeId(67);
const SESSION: Address = Address::new(SQL_NODE, ModuleKind::Sql, 0);
/// Requests of the first task; those of the next follow.
const REQUEST: u64 = 77;
/// The first task's transaction; what comes before has lower ids.
const TRANSACTION: u64 = (67 << 54) | 1_000;
/// A task's requests are numbered with so many.
const REQUESTS: u64 = 16;
/// Rows that a transaction locks and changes at most.
const ROWS_MAX: usize = 6;
/// The request of what comes before.
const BEFORE: RequestId = RequestId(1);

/// The beginning of a world, and the events that may happen to it.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Data nodes, all replicas of each other.
    pub nodes: u16,
    /// The changes of the first transaction, by the primaries' nodes of the slots; a second row of a slot is another
    /// row. It is staged when the world begins, and its commit is asked for.
    pub writes: Vec<Write>,
    /// Other transactions; each begins at any moment.
    pub others: Vec<Other>,
    /// Nodes that may die, any, at any moment, as long as one in sync stays.
    pub crashes: u8,
    /// Dead ones that may start again.
    pub restarts: u8,
    /// This node has died and started again before, and joins now.
    pub joins: Option<NodeId>,
    /// Only its copies matter, and the others' deaths meanwhile (`Plan::rejoin_two`).
    pub is_about_copies: bool,
    /// The rows of `writes` on the disk with which a node starts again; none: it starts with nothing.
    pub kept: Vec<Kept>,
    /// Signals of a view that their receiver has not installed yet may arrive.
    pub has_early: bool,
    /// The sizes of what ldms do at once; None: as usual.
    pub sizes: Option<Sizes>,
}

/// Another transaction: rows as numbers of `Plan::writes`.
#[derive(Clone, Debug)]
pub struct Other {
    /// Rows that it reads with locks first; it goes on only if nobody has changed them.
    pub locks: Vec<usize>,
    /// How they are locked.
    pub mode: LockMode,
    /// Rows that it changes.
    pub rows: Vec<usize>,
    /// The node of its session; it ends with it.
    pub home: NodeId,
    /// How its session works.
    pub manner: Manner,
}

/// How a session works.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Manner {
    /// As ours do: one statement after the other, and what was staged at a primary that is not one any more is given
    /// up.
    Patient,
    /// It does not look at that: the participants have to.
    Careless,
    /// It asks for everything at once, the commit too, and waits for nothing but its end: what was refused is not there
    /// then. It has one participant and nothing to look at; otherwise it is patient.
    Hasty,
}

/// The change of the transaction to a row of the slot that a node is primary of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Write {
    /// A new value.
    Change(u16),
    /// It is deleted.
    Delete(u16),
    /// The row is there for others.
    Leave(u16),
}

/// The fate of a row while a node was away that has a disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kept {
    /// Nothing: the disk has it.
    Same,
    /// It was changed.
    Changed,
    /// It was deleted.
    Deleted,
    /// It was added.
    Added,
}

impl Write {
    fn node(self) -> u16 {
        let (Self::Change(node) | Self::Delete(node) | Self::Leave(node)) = self;
        node
    }
}

impl Plan {
    /// One participant.
    #[must_use]
    pub fn commit_one() -> Self {
        Self { nodes: 3, writes: vec![Write::Change(1)], crashes: 1, has_early: true, ..Self::default() }
    }

    /// Two.
    #[must_use]
    pub fn commit_two() -> Self {
        let writes = vec![Write::Change(1), Write::Change(2)];
        Self { nodes: 3, writes, crashes: 1, ..Self::default() }
    }

    /// Two, and two crashes.
    #[must_use]
    pub fn double_takeover() -> Self {
        Self { crashes: 2, ..Self::commit_two() }
    }

    /// A row is changed and one deleted while they are copied.
    #[must_use]
    pub fn rejoin() -> Self {
        let writes = vec![Write::Change(1), Write::Delete(1)];
        Self { nodes: 2, writes, joins: Some(NodeId(2)), ..Self::default() }
    }

    /// The same with a node that may die.
    #[must_use]
    pub fn rejoin_cut() -> Self {
        Self { nodes: 3, crashes: 1, joins: Some(NodeId(3)), ..Self::rejoin() }
    }

    /// One row is changed and one of another slot deleted, by a commit with a coordinator, while they are copied. One
    /// of the two nodes that copy may die at any moment. The other one goes on with both copies behind what the joining
    /// node has, and may not know yet that the row is deleted.
    ///
    /// The copies of two slots and such a commit have too many orders together with all the rest. Three things that
    /// `rejoin_cut` has are left out. The transaction begins when the view of the joining node is installed, and the
    /// slot without rows is copied. The joining node does not die. It comes in sync when all else has happened.
    #[must_use]
    pub fn rejoin_two() -> Self {
        let writes = vec![Write::Change(1), Write::Delete(2)];
        let joins = Some(NodeId(3));
        Self { nodes: 3, writes, crashes: 1, joins, is_about_copies: true, ..Self::default() }
    }

    /// A node comes back with the rows of its disk. While they are compared, a row is changed, one is deleted, and one
    /// is added again that was deleted meanwhile.
    #[must_use]
    pub fn return_with_rows() -> Self {
        let writes =
            vec![Write::Change(1), Write::Delete(1), Write::Change(1), Write::Leave(1), Write::Leave(1)];
        let kept = vec![Kept::Same, Kept::Changed, Kept::Deleted, Kept::Deleted, Kept::Added];
        Self { nodes: 2, writes, kept, joins: Some(NodeId(2)), ..Self::default() }
    }

    /// The same with a node that may die, and fewer rows.
    #[must_use]
    pub fn return_cut() -> Self {
        let writes = vec![Write::Change(1), Write::Delete(1), Write::Leave(1)];
        let kept = vec![Kept::Deleted, Kept::Same, Kept::Deleted];
        Self { nodes: 3, writes, kept, crashes: 1, joins: Some(NodeId(3)), ..Self::default() }
    }

    /// More than can be tried: several transactions on the same rows, and nodes that die and start again. Most seeds
    /// have only some of that, and get further into it.
    #[must_use]
    pub fn drawn(seed: u64) -> Self {
        let mut prng = Prng::new(seed ^ 0x3a11_0a1d);
        match seed % 4 {
            0 => Self::drawn_takeovers(&mut prng),
            1 => Self::drawn_stack(&mut prng),
            2 => Self::drawn_slices(&mut prng),
            _ => Self::drawn_mixed(&mut prng),
        }
    }

    /// One transaction in several slots, and as many deaths as the replicas bear.
    fn drawn_takeovers(prng: &mut Prng) -> Self {
        let nodes = [3, 3, 4][prng.index(3)];
        let node = |prng: &mut Prng| u16::try_from(1 + prng.below(u64::from(nodes))).unwrap_or(1);
        let writes = (0..2 + prng.index(2)).map(|_| Write::Change(node(prng))).collect();
        let restarts = u8::from(prng.chance(1, 2));
        let crashes = u8::try_from(nodes).unwrap_or(3) - 1 + restarts;
        Self { nodes, writes, crashes, restarts, ..Self::default() }
    }

    /// Several transactions on one row, each behind the other, and a death or two.
    fn drawn_stack(prng: &mut Prng) -> Self {
        let nodes = [3, 3, 4][prng.index(3)];
        let other = Other {
            locks: Vec::new(),
            mode: LockMode::Exclusive,
            rows: vec![0],
            home: SQL_NODE,
            manner: Manner::Patient,
        };
        let others = vec![other; 1 + prng.index(3)];
        let crashes = u8::try_from(1 + prng.below(2)).unwrap_or(1);
        let restarts = u8::from(prng.chance(1, 3));
        Self { nodes, writes: vec![Write::Change(1)], others, crashes, restarts, ..Self::default() }
    }

    /// A transaction of several rows that are published one by one, and nodes that die and join meanwhile.
    fn drawn_slices(prng: &mut Prng) -> Self {
        let nodes = [2, 3][prng.index(2)];
        let mut writes = vec![Write::Change(1); 3];
        writes[prng.index(3)] = Write::Delete(1);
        if prng.chance(1, 3) {
            writes.push(Write::Change(2));
        }
        let joins = prng.chance(1, 2).then_some(NodeId(nodes));
        let ahead_rows = [1, 1_000][prng.index(2)];
        let sizes = Some(Sizes { at_once: 1, ahead_rows });
        let crashes = u8::try_from(prng.below(3)).unwrap_or(1);
        Self { nodes, writes, crashes, restarts: crashes, joins, sizes, ..Self::default() }
    }

    fn drawn_mixed(prng: &mut Prng) -> Self {
        let nodes = [2, 3, 3, 4][prng.index(4)];
        let node = |prng: &mut Prng| u16::try_from(1 + prng.below(u64::from(nodes))).unwrap_or(1);
        let mut writes: Vec<Write> = (0..1 + prng.index(3))
            .map(|_| [Write::Change, Write::Change, Write::Delete][prng.index(3)](node(prng)))
            .collect();
        let home = |prng: &mut Prng| if prng.chance(1, 3) { NodeId(node(prng)) } else { SQL_NODE };
        let manner = |prng: &mut Prng| {
            [Manner::Patient, Manner::Patient, Manner::Careless, Manner::Hasty][prng.index(4)]
        };
        let mut others = Vec::new();
        for _ in 0..prng.index(4) {
            let mut rows: Vec<usize> = (0..writes.len()).filter(|_| prng.chance(1, 2)).collect();
            if rows.is_empty() {
                rows.push(prng.index(writes.len()));
            }
            let (home, manner) = (home(prng), manner(prng));
            others.push(Other { locks: Vec::new(), mode: LockMode::Exclusive, rows, home, manner });
        }
        if prng.chance(1, 2) {
            // Two of which only one may be done: each looks whether the other's row is as it was, and then changes its
            // own.
            let (one, two) = (writes.len(), writes.len() + 1);
            writes.extend([Write::Leave(node(prng)), Write::Leave(node(prng))]);
            let (mode, third) = ([LockMode::Shared, LockMode::Exclusive][prng.index(2)], writes.len());
            let has_third = prng.chance(1, 2);
            if has_third {
                // In the slot that is only looked at, so that something is held there by whoever leads it.
                writes.push(Write::Leave(writes[two].node()));
            }
            for (own, other) in [(one, two), (two, one)] {
                let mut locks = vec![other];
                locks.extend((has_third && other == two).then_some(third));
                let (home, manner) = (home(prng), manner(prng));
                others.push(Other { locks, mode, rows: vec![own], home, manner });
            }
        }
        let crashes = u8::try_from(prng.below(4)).unwrap_or(0);
        let joins = prng.chance(1, 3).then_some(NodeId(nodes));
        let has_early = prng.chance(1, 2);
        let sizes =
            [None, Some(Sizes { at_once: 1, ahead_rows: 1_000 }), Some(Sizes { at_once: 1, ahead_rows: 1 })];
        let sizes = sizes[prng.index(3)];
        Self { nodes, writes, others, crashes, restarts: crashes, joins, has_early, sizes, ..Self::default() }
    }
}

/// The next event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choice {
    /// The oldest signal from one module to another arrives.
    Deliver(Address, Address),
    /// A node's ldm enters the newest view.
    Install(NodeId),
    /// So does its tc.
    InstallTc(NodeId),
    /// A node's ldm hears that all nodes have installed the newest view.
    Settle(NodeId),
    /// A joining node that has everything is in sync in the next view.
    Join(NodeId),
    /// A transaction begins.
    Begin(usize),
    /// Its session, which has heard of the newest view, asks again, or gives up if it has not asked for its commit.
    Ask(usize),
    /// A node dies.
    Crash(NodeId),
    /// It starts again, with nothing.
    Restart(NodeId),
}

#[derive(Clone, Copy, Debug)]
struct Member {
    at: Address,
    state: StateId,
    view: ViewNumber,
    settled: ViewNumber,
}

/// A row that transactions change.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) slot: SlotId,
    pub(super) key: Box<[u8]>,
    pub(super) before: Box<[u8]>,
}

/// A transaction: the rows that it changes, and to what.
#[derive(Clone, Debug)]
struct Task {
    transaction: TransactionId,
    session: Address,
    manner: Manner,
    /// Rows that it locks first.
    locks: Vec<usize>,
    mode: LockMode,
    writes: Vec<(usize, Option<Box<[u8]>>)>,
}

impl Task {
    /// The row of a step.
    fn row_of(&self, step: usize) -> Option<usize> {
        let of_writes = self.writes.iter().map(|(row, _)| *row);
        self.locks.iter().copied().chain(of_writes).nth(step)
    }

    fn steps(&self) -> usize {
        self.locks.len() + self.writes.len()
    }
}

/// How far a transaction is, as its session knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    Idle,
    /// It began in this view, and waits for the answer to this step, which it asked for in that view.
    Writing(ViewId, usize, ViewId),
    /// It asked for its commit, or what became of it, in this view: a module in this life.
    Asked(ViewNumber, Option<Address>, Incarnation),
    /// It heard whether it was committed.
    Told(bool),
    /// Its session died with its node.
    Gone,
}

/// The session of a transaction.
#[derive(Clone, Copy, Debug)]
struct Client {
    stage: Stage,
    /// The coordinator of its commit, if there are several participants.
    coordinator: Option<Address>,
    /// The transactions that had heard of their end when it began, a bit each.
    after: u8,
    /// By its writes: how many operations the participant had done for it then.
    operations: [u32; ROWS_MAX],
}

/// The part that is the same in all states.
struct Script {
    plan: Plan,
    tasks: Vec<Task>,
    /// The rows before the transactions; None: it is not there.
    before: Vec<Option<Box<[u8]>>>,
}

/// The world.
#[derive(Clone)]
pub struct ReplicaWorld {
    blocks: Rc<RefCell<Blocks>>,
    script: Rc<Script>,
    members: Vec<Member>,
    /// By sender and receiver, each in order.
    channels: Vec<(Address, Address, MessageId)>,
    view: Arc<View>,
    view_id: ViewId,
    crashes_left: u8,
    restarts_left: u8,
    /// Slots that a joining node has whole in the newest view.
    copied: BTreeSet<(NodeId, SlotId)>,
    clients: Vec<Client>,
    /// Answers of the time before the transactions.
    answers: usize,
    failure: Option<String>,
}

fn table() -> TableDefinition {
    fixtures::table(TABLE, vec![column("id", integer()), column("v", integer())])
}

/// The request of a task's commit; those of its writes follow.
fn request_of(task: usize) -> RequestId {
    RequestId(REQUEST + task as u64 * REQUESTS)
}

fn task_of(request: RequestId) -> usize {
    usize::try_from((request.0 - REQUEST) / REQUESTS).unwrap_or(0)
}

/// The rows of a plan, each in the slot of its node, and what the transactions make of them.
fn rows_and_tasks(plan: &Plan, view: &View, schema: &Arc<Schema>) -> (Vec<Row>, Vec<Task>) {
    let map = NodeMap::empty(NodeId(67), Arc::clone(schema)).with(
        Incarnation(67),
        Arc::new(view.clone()),
        Arc::clone(schema),
        &[],
    );
    let row = |id: i64, value: i64| -> Box<[u8]> {
        let mut row = Vec::new();
        if let Some(info) = map.table(TABLE) {
            info.layout.encode(&[ValueRef::Int(id), ValueRef::Int(value)], &mut row);
        }
        row.into()
    };
    let (mut ids, mut rows, mut first) = (0..1_000, Vec::new(), Vec::new());
    let mut ids_of_rows = Vec::new();
    for write in &plan.writes {
        let node = write.node();
        let placed = ids.find_map(|id| {
            let mut key = Vec::new();
            map.table(TABLE)?.primary_key.encode_values(&[ValueRef::Int(id)], &mut key);
            let slot = map.slot_of_key(TABLE, &key);
            let is_there = view.place(slot).is_some_and(|place| place.primary == NodeId(node));
            is_there.then_some((id, slot, key))
        });
        let Some((id, slot, key)) = placed else { continue };
        match write {
            Write::Change(_) => first.push((rows.len(), Some(row(id, 2)))),
            Write::Delete(_) => first.push((rows.len(), None)),
            Write::Leave(_) => {}
        }
        rows.push(Row { slot, key: key.into(), before: row(id, 1) });
        ids_of_rows.push(id);
    }
    let task = |number: u64, session: NodeId, writes| Task {
        transaction: TransactionId(TRANSACTION + number),
        session: Address::new(session, ModuleKind::Sql, 0),
        manner: Manner::Patient,
        locks: Vec::new(),
        mode: LockMode::Exclusive,
        writes,
    };
    let mut tasks = vec![task(0, SQL_NODE, first)];
    for (value, other) in (3..).zip(&plan.others) {
        let Other { locks, mode, rows, home, manner } = other;
        let writes = rows.iter().map(|number| (*number, Some(row(ids_of_rows[*number], value))));
        let of = task(tasks.len() as u64, *home, writes.collect());
        tasks.push(Task { locks: locks.clone(), mode: *mode, manner: *manner, ..of });
    }
    (rows, tasks)
}

/// The rows on the disk of a node that starts again. A row that was changed meanwhile has other bytes there.
fn disk_of(plan: &Plan, rows: &[Row]) -> Vec<Row> {
    let there = plan.kept.iter().zip(rows).filter(|(kept, _)| **kept != Kept::Added);
    let row = |(kept, row): (&Kept, &Row)| {
        let mut row = row.clone();
        if let Some(last) = row.before.last_mut().filter(|_| *kept == Kept::Changed) {
            *last ^= 1;
        }
        row
    };
    there.map(row).collect()
}

impl ReplicaWorld {
    /// The world at the moment when the first session asks for its commit.
    #[must_use]
    pub fn new(plan: &Plan) -> Self {
        let mut nodes: Vec<NodeInfo> = (1..=plan.nodes).map(data_node).collect();
        nodes.push(node(SQL_NODE.0, NodeRole::Sql));
        // The rows of the system are not counted: they are copied like others.
        let mut schema = Schema::empty(catalogue::system::FIRST_SCHEMA_VERSION);
        schema.put_table(Arc::new(table()));
        let schema = Arc::new(schema);
        let mut view = fixtures::view(nodes, usize::from(plan.nodes));
        let last = plan.writes.iter().map(|write| write.node()).max().unwrap_or(0);
        view.slots.truncate(1 + usize::from(last));
        let (rows, tasks) = rows_and_tasks(plan, &view, &schema);
        let is_gone = |row: usize| plan.kept.get(row) == Some(&Kept::Deleted);
        let before = rows.iter().enumerate();
        let before = before.map(|(number, row)| Some(row.before.clone()).filter(|_| !is_gone(number)));
        let before = before.collect();
        let disk = disk_of(plan, &rows);
        let sizes = plan.sizes.unwrap_or(Sizes::DEFAULT);
        let mut blocks = Blocks::new(sizes, Arc::clone(&schema), TABLE, rows);
        blocks.disk = disk;
        let view_id = blocks.note_view(view.clone());
        let clients =
            vec![
                Client { stage: Stage::Idle, coordinator: None, after: 0, operations: [0; ROWS_MAX] };
                tasks.len()
            ];
        let mut world = Self {
            blocks: Rc::new(RefCell::new(blocks)),
            script: Rc::new(Script { plan: plan.clone(), tasks, before }),
            members: Vec::new(),
            channels: Vec::new(),
            view: Arc::new(view),
            view_id,
            crashes_left: 0,
            restarts_left: 0,
            copied: BTreeSet::new(),
            clients,
            answers: 0,
            failure: None,
        };
        for node in (1..=plan.nodes).map(NodeId) {
            world.start(node);
        }
        world.run_quietly();
        world.load();
        let mut staged_in = world.view_id;
        if let Some(node) = plan.joins {
            world.crash(node);
            world.run_quietly();
            staged_in = world.view_id;
            world.restart(node);
            if plan.is_about_copies {
                world.run_up_to_copies();
                staged_in = world.view_id;
            }
        }
        (world.crashes_left, world.restarts_left) = (plan.crashes, plan.restarts);
        world.begin_first(staged_in);
        world
    }

    // ---- before the transactions ------------------------------------------------------------------------------------

    fn start(&mut self, node: NodeId) {
        for kind in [ModuleKind::Ldm, ModuleKind::Tc] {
            let at = Address::new(node, kind, 0);
            let state = self.blocks.borrow_mut().birth(at);
            let member = Member { at, state, view: ViewNumber(0), settled: ViewNumber(0) };
            let position = self.members.partition_point(|member| member.at < at);
            self.members.insert(position, member);
        }
    }

    /// Everything that can happen happens, in one order, without faults and transactions.
    fn run_quietly(&mut self) {
        self.run_while(|_, _| true);
    }

    /// The same up to the first piece with rows: those of all slots are on their way.
    fn run_up_to_copies(&mut self) {
        self.run_while(
            |world, choice| !matches!(choice, Choice::Deliver(from, to) if world.is_next_a_piece(from, to)),
        );
    }

    fn run_while(&mut self, goes: impl Fn(&Self, Choice) -> bool) {
        loop {
            let choices = self.choices();
            let happens = |choice: &&Choice| {
                !matches!(choice, Choice::Crash(_) | Choice::Restart(_) | Choice::Join(_) | Choice::Begin(_))
                    && goes(self, **choice)
            };
            let Some(next) = choices.iter().find(happens).copied() else { return };
            let applied = self.apply(next);
            stdx::require!(applied.is_ok(), "before the transactions: {applied:?}");
        }
    }

    /// Whether the oldest signal from one module to another is a piece of a slot that may have rows.
    fn is_next_a_piece(&self, from: Address, to: Address) -> bool {
        let next = self.channels.iter().find(|(of, at, _)| (*of, *at) == (from, to));
        let signal = next.map(|(.., message)| self.blocks.borrow().message(*message));
        signal.is_some_and(
            |envelope| matches!(&envelope.signal, Signal::CopyPiece(piece) if piece.slot != SlotId(0)),
        )
    }

    /// The rows as they are before.
    fn load(&mut self) {
        let rows = self.blocks.borrow().rows().to_vec();
        let script = Rc::clone(&self.script);
        let kept = |row: usize| script.plan.kept.get(row).copied();
        for (number, row) in rows.iter().enumerate().filter(|(number, _)| kept(*number) != Some(Kept::Added))
        {
            let row = row.clone();
            let operation =
                WriteOperation::Insert { key: row.key, row: row.before, on_duplicate: OnDuplicate::Fail };
            self.load_row(number, row.slot, operation);
        }
        if script.plan.kept.is_empty() {
            return;
        }
        self.open_epoch(Epoch(BASE.0 + 1));
        for (number, row) in rows.into_iter().enumerate() {
            let operation = match kept(number) {
                Some(Kept::Changed | Kept::Added) => WriteOperation::Put { key: row.key, row: row.before },
                Some(Kept::Deleted) => WriteOperation::Delete { key: row.key, filter: None },
                Some(Kept::Same) | None => continue,
            };
            self.load_row(script.plan.kept.len() + number, row.slot, operation);
        }
    }

    fn load_row(&mut self, number: usize, slot: SlotId, operation: WriteOperation) {
        let transaction = TransactionId((67 << 54) | (1 + number as u64));
        let request = self.write_request(BEFORE, transaction, slot, operation, Some(Epoch(0)));
        let before = self.answers;
        let to = self.view.primary(slot);
        self.say_in(0, self.view.number, to, Signal::Write(Box::new(request)));
        self.run_quietly();
        stdx::require!(self.answers == before + 1, "a write before the transactions was not answered");
    }

    /// All modules stamp with this epoch from now on.
    fn open_epoch(&mut self, epoch: Epoch) {
        for at in self.members.iter().map(|member| member.at).collect::<Vec<_>>() {
            let (from, view) = (Address::main(at.node), self.view.number);
            let envelope = Envelope { from, to: at, view, epoch, signal: Signal::EpochOpen { epoch } };
            let message = self.blocks.borrow_mut().note_message(envelope);
            self.post(message);
        }
        self.run_quietly();
    }

    fn write_request(
        &self,
        request: RequestId,
        transaction: TransactionId,
        slot: SlotId,
        operation: WriteOperation,
        commit: Option<Epoch>,
    ) -> WriteRequest {
        WriteRequest {
            request,
            transaction,
            slot,
            table: TableRef { id: TABLE, version: 1 },
            operations: smallvec![operation],
            wait: LockWait::NoWait,
            commit,
            known: 0,
            under: None,
        }
    }

    /// A node starts again with nothing; the view has it joining. Signals of its earlier life that have not arrived
    /// went with its connections.
    fn restart(&mut self, node: NodeId) {
        let life = self.view.node(node).map_or(0, |info| info.incarnation.0);
        let info = NodeInfo { incarnation: Incarnation(life + 100), ..data_node(node.0) };
        let next = succession::with_joining(&self.view, &info);
        self.channels.retain(|(from, ..)| from.node != node);
        self.start(node);
        if !self.script.plan.kept.is_empty() {
            let given = self.give(Address::new(node, ModuleKind::Ldm, 0), Given::Disk);
            stdx::require!(given.is_ok(), "a module takes the rows of its disk: {given:?}");
        }
        self.follow(next);
    }

    /// The first transaction's writes are staged; its session asks for the commit. If a node joins, that happens in the
    /// view before: joining changes no primary.
    fn begin_first(&mut self, view: ViewId) {
        self.begin(0, view);
        while !matches!(self.clients[0].stage, Stage::Asked(..)) {
            let next = self.channels.iter().find(|(from, ..)| *from == SESSION).map(|(_, to, _)| *to);
            let delivered = next.map(|to| self.deliver(SESSION, to));
            stdx::require!(matches!(delivered, Some(Ok(()))), "the rows are not staged: {delivered:?}");
        }
    }

    // ---- sessions ---------------------------------------------------------------------------------------------------

    fn begin(&mut self, task: usize, view: ViewId) {
        let told = |client: &Client| matches!(client.stage, Stage::Told(_));
        let after = self.clients.iter().enumerate().filter(|(_, client)| told(client));
        let after = after.map(|(other, _)| 1 << other).sum();
        let stage = Stage::Writing(view, 0, view);
        self.clients[task] = Client { stage, coordinator: None, after, operations: [0; ROWS_MAX] };
        let script = Rc::clone(&self.script);
        let is_one = self.participants(task, ViewNumber(0)).len() == 1;
        if script.tasks[task].manner == Manner::Hasty && is_one && script.tasks[task].locks.is_empty() {
            for step in 0..script.tasks[task].steps() {
                self.send_step(task, step, view);
                self.clients[task].operations[step] = u32::try_from(1 + step).unwrap_or(0);
            }
            self.ask_for_commit(task, view);
        } else {
            self.send_step(task, 0, view);
        }
    }

    /// The session asks for a lock or a write.
    fn send_step(&mut self, task: usize, step: usize, view_id: ViewId) {
        let script = Rc::clone(&self.script);
        let Task { transaction, locks, mode, writes, .. } = &script.tasks[task];
        let view = self.blocks.borrow().view(view_id).number;
        let Some(row) = script.tasks[task].row_of(step) else { return };
        let row = self.blocks.borrow().rows()[row].clone();
        let request = RequestId(request_of(task).0 + 1 + step as u64);
        let known = self.known(task, step, row.slot);
        let signal = match step.checked_sub(locks.len()).and_then(|number| writes.get(number)) {
            Some((_, value)) => {
                let operation = match value {
                    Some(value) => WriteOperation::Put { key: row.key, row: value.clone() },
                    None => WriteOperation::Delete { key: row.key, filter: None },
                };
                let write = self.write_request(request, *transaction, row.slot, operation, None);
                Signal::Write(Box::new(WriteRequest { known, ..write }))
            }
            None => Signal::Read(Box::new(ReadRequest {
                request,
                transaction: Some(*transaction),
                lock: Some((*mode, LockWait::NoWait)),
                slot: row.slot,
                program: Arc::new(ReadProgram {
                    table: TableRef { id: TABLE, version: 1 },
                    filter: None,
                    output: ReadOutput::StoredRow,
                    with_primary_key: false,
                    with_index_key: false,
                    context: StatementContext::default(),
                }),
                access: Access::Keys(vec![row.key]),
                known,
                under: None,
                grant_only: false,
            })),
        };
        let to = self.view.primary(row.slot);
        self.say_in(task, view, to, signal);
    }

    /// How many operations a slot is known to hold before a step.
    fn known(&self, task: usize, step: usize, slot: SlotId) -> u32 {
        let (script, blocks) = (&self.script.tasks[task], self.blocks.borrow());
        let is_there = |step: &usize| script.row_of(*step).is_some_and(|row| blocks.rows()[row].slot == slot);
        (0..step).filter(is_there).map(|step| self.clients[task].operations[step]).max().unwrap_or(0)
    }

    /// A lock or a write was answered.
    fn on_step_done(&mut self, request: RequestId, operations: Option<u32>) {
        let task = task_of(request);
        let Stage::Writing(begun, step, _) = self.clients[task].stage else { return };
        if u64::try_from(step).ok() != Some(request.0 - request_of(task).0 - 1) {
            return;
        }
        let Some(operations) = operations else { return self.abandon(task) };
        self.clients[task].operations[step] = operations;
        let (manner, steps) = (self.script.tasks[task].manner, self.script.tasks[task].steps());
        if manner != Manner::Careless && self.has_lost_primary(task, begun) {
            return self.abandon(task);
        }
        if step + 1 == steps {
            return self.ask_for_commit(task, begun);
        }
        // The first transaction works in the view before that of a node that joins.
        let view = if task == 0 { begun } else { self.view_id };
        self.clients[task].stage = Stage::Writing(begun, step + 1, view);
        self.send_step(task, step + 1, view);
    }

    /// The result of a locking read: the operations so far, if nobody has changed the row.
    fn unchanged(&self, done: &ReadDone) -> Option<u32> {
        let task = task_of(done.request);
        let step = usize::try_from(done.request.0 - request_of(task).0 - 1).ok()?;
        let before = self.script.before[self.script.tasks[task].row_of(step)?].as_ref()?;
        let batch = done.result.as_ref().ok()?;
        let is_same = batch.rows.bytes.windows(before.len()).any(|bytes| *bytes == **before);
        is_same.then_some(batch.operations)
    }

    fn ask_for_commit(&mut self, task: usize, begun: ViewId) {
        let view = self.blocks.borrow().view(begun).number;
        let participants = self.participants(task, view);
        let home = self.script.tasks[task].session.node;
        let (transaction, request) = (self.script.tasks[task].transaction, request_of(task));
        let (to, signal) = match participants[..] {
            [participant] => {
                let one = CommitOneRequest { request, transaction, participant, epoch_seen: Epoch(0) };
                (self.view.primary(participant.slot), Signal::CommitOne(Box::new(one)))
            }
            _ => {
                let first = self.view.place(participants[0].slot).map(|place| place.primary);
                let two = CoordinateRequest { request, transaction, participants, epoch_seen: Epoch(0) };
                // A data node's sessions have a coordinator there.
                let tc = if home == SQL_NODE { first } else { Some(home) };
                (tc.map(|node| Address::new(node, ModuleKind::Tc, 0)), Signal::Coordinate(Box::new(two)))
            }
        };
        self.clients[task].coordinator = to.filter(|to| to.kind == ModuleKind::Tc);
        self.note_asked(task, to);
        let view = if task == 0 { view } else { self.view.number };
        self.say_in(task, view, to, signal);
    }

    fn note_asked(&mut self, task: usize, to: Option<Address>) {
        self.clients[task].stage = Stage::Asked(self.view.number, to, self.life_of(to));
    }

    fn life_of(&self, at: Option<Address>) -> Incarnation {
        at.and_then(|at| self.view.node(at.node)).map_or(Incarnation(0), |info| info.incarnation)
    }

    /// Its staged rows are undone; nothing was asked.
    fn abandon(&mut self, task: usize) {
        self.clients[task].stage = Stage::Told(false);
        self.undo_staged(task);
    }

    fn undo_staged(&mut self, task: usize) {
        let transaction = self.script.tasks[task].transaction;
        for participant in self.participants(task, ViewNumber(0)) {
            let abort = Signal::Abort { transaction, slot: participant.slot };
            self.say_in(task, self.view.number, self.view.primary(participant.slot), abort);
        }
    }

    fn participants(&self, task: usize, view: ViewNumber) -> Vec<Participant> {
        let mut participants: BTreeMap<SlotId, Participant> = BTreeMap::new();
        let of = &self.script.tasks[task];
        for (step, count) in (0..of.steps()).zip(self.clients[task].operations) {
            let Some(row) = of.row_of(step) else { continue };
            let slot = self.blocks.borrow().rows()[row].slot;
            let empty = Participant { slot, operations: 0, view, has_writes: false };
            let participant = participants.entry(slot).or_insert(empty);
            participant.operations = match of.manner {
                // The count that it had last.
                Manner::Careless => count,
                Manner::Patient | Manner::Hasty => participant.operations.max(count),
            };
            participant.has_writes |= step >= of.locks.len();
        }
        participants.into_values().collect()
    }

    /// Whether the session waits for somebody who is not there any more.
    fn is_forlorn(&self, task: usize) -> bool {
        let newest = self.view.number;
        match self.clients[task].stage {
            Stage::Idle | Stage::Told(_) | Stage::Gone => false,
            Stage::Asked(view, whom, life) => {
                let is_there = self.members.iter().any(|member| Some(member.at) == whom);
                view < newest && !(is_there && self.life_of(whom) == life)
            }
            Stage::Writing(.., asked) => self.has_lost_primary(task, asked),
        }
    }

    /// Whether what a transaction has staged is lost.
    fn has_lost_primary(&self, task: usize, staged_in: ViewId) -> bool {
        let staged = self.blocks.borrow().view(staged_in);
        let life = |node: Option<NodeId>, view: &View| {
            node.and_then(|node| view.node(node)).map(|info| info.incarnation)
        };
        self.participants(task, ViewNumber(0)).iter().any(|participant| {
            let primary = |view: &View| view.place(participant.slot).map(|place| place.primary);
            let (old, new) = (primary(&staged), primary(&self.view));
            old != new || life(old, &staged) != life(new, &self.view)
        })
    }

    fn ask(&mut self, task: usize) {
        if matches!(self.clients[task].stage, Stage::Writing(..)) {
            return self.abandon(task);
        }
        let row = self.script.tasks[task].writes[0].0;
        let slot = self.blocks.borrow().rows()[row].slot;
        let primary = self.view.primary(slot);
        self.note_asked(task, primary);
        let (request, transaction) = (request_of(task), self.script.tasks[task].transaction);
        self.say_in(
            task,
            self.view.number,
            primary,
            Signal::OutcomeAsk { request, transaction, slot, is_write: false },
        );
    }

    /// A session hears something.
    fn hear(&mut self, envelope: &Envelope) {
        #[expect(clippy::wildcard_enum_match_arm, reason = "sessions hear nothing else")]
        match &envelope.signal {
            Signal::WriteDone(done) if done.request == BEFORE => self.answers += 1,
            Signal::WriteDone(done) => {
                let operations = done.result.as_ref().ok().map(|summary| summary.operations);
                self.on_step_done(done.request, operations);
            }
            Signal::ReadDone(done) => self.on_step_done(done.request, self.unchanged(done)),
            Signal::CommitDone(done) => self.on_commit_done(envelope.from, done),
            _ => {}
        }
    }

    fn on_commit_done(&mut self, from: Address, done: &CommitDone) {
        let task = task_of(done.request);
        if self.clients[task].stage == Stage::Gone {
            return;
        }
        let is_committed = match &done.outcome {
            CommitOutcome::Committed(_) => true,
            CommitOutcome::Aborted(_) => false,
            CommitOutcome::Unknown => {
                self.failure = Some("a session hears \"unknown\"".to_owned());
                return;
            }
        };
        if let Stage::Told(told) = self.clients[task].stage
            && told != is_committed
        {
            self.failure = Some("a session hears two outcomes".to_owned());
        }
        self.clients[task].stage = Stage::Told(is_committed);
        let script = Rc::clone(&self.script);
        let Task { transaction, writes, .. } = &script.tasks[task];
        let (transaction, slot) = (*transaction, self.blocks.borrow().rows()[writes[0].0].slot);
        if !is_committed && from.kind == ModuleKind::Ldm {
            // Its coordinator may have gone before it asked all participants.
            self.undo_staged(task);
        }
        // The decision of a recoverer in its coordinator's stead is kept: nobody knows whether all participants have
        // heard of it.
        let home = script.tasks[task].session.node;
        let (whom, confirm) = match self.clients[task].coordinator {
            Some(tc) => (Some(tc), Signal::Confirm { transaction }),
            None => {
                let forget = Signal::Forget { slot, transactions: vec![transaction] };
                (self.view.primary(slot), forget)
            }
        };
        if whom.is_some_and(|whom| whom.node != home) {
            self.say_in(task, self.view.number, whom, confirm);
        }
    }

    // ---- what happens -----------------------------------------------------------------------------------------------

    fn say_in(&mut self, task: usize, view: ViewNumber, to: Option<Address>, signal: Signal) {
        let Some(to) = to else { return };
        let from = self.script.tasks[task].session;
        let message =
            self.blocks.borrow_mut().note_message(Envelope { from, to, view, epoch: Epoch(1), signal });
        self.post(message);
    }

    fn post(&mut self, message: MessageId) {
        let envelope = self.blocks.borrow().message(message);
        match envelope.to.kind {
            ModuleKind::Sql => self.hear(&envelope),
            ModuleKind::Main => self.note(&envelope),
            ModuleKind::Tc | ModuleKind::Ldm => {
                let is_there = self.members.iter().any(|member| member.at == envelope.to);
                if is_there && !self.is_void(&envelope, message) {
                    let pair = (envelope.from, envelope.to);
                    let position = self.channels.partition_point(|(from, to, _)| (*from, *to) <= pair);
                    self.channels.insert(position, (pair.0, pair.1, message));
                }
            }
            ModuleKind::Query | ModuleKind::Membership | ModuleKind::Disk => {}
        }
    }

    /// Whether a signal is of a view before that of its receiver, which does nothing with it and never will.
    fn is_void(&self, envelope: &Envelope, message: MessageId) -> bool {
        let Some(member) = self.members.iter().find(|member| member.at == envelope.to) else { return true };
        if envelope.verdict(member.at, member.view, |_| false) != Verdict::OldView {
            return false;
        }
        let taken = self.blocks.borrow_mut().step(member.state, Given::Message(message));
        taken.is_ok_and(|taken| taken.next == member.state && taken.sent.is_empty())
    }

    /// `main` hears something: only that a slot is copied matters here.
    fn note(&mut self, envelope: &Envelope) {
        if let Signal::SlotCopied { slot } = envelope.signal
            && envelope.view == self.view.number
        {
            self.copied.insert((envelope.from.node, slot));
        }
    }

    fn deliver(&mut self, from: Address, to: Address) -> Result<(), String> {
        let position = self.channels.iter().position(|(of, at, _)| (*of, *at) == (from, to));
        let Some(position) = position else { return Ok(()) };
        let (.., message) = self.channels.remove(position);
        self.give(to, Given::Message(message))
    }

    fn give(&mut self, to: Address, given: Given) -> Result<(), String> {
        let Some(member) = self.members.iter_mut().find(|member| member.at == to) else { return Ok(()) };
        let taken = self.blocks.borrow_mut().step(member.state, given)?;
        member.state = taken.next;
        member.view = self.blocks.borrow().facts(taken.next).view;
        for message in taken.sent.iter() {
            self.post(*message);
        }
        self.failure.take().map_or(Ok(()), Err)
    }

    fn install(&mut self, node: NodeId, kind: ModuleKind) -> Result<(), String> {
        let at = Address::new(node, kind, 0);
        self.give(at, Given::View(self.view_id))?;
        let mut channels = std::mem::take(&mut self.channels);
        channels.retain(|(_, to, message)| {
            let envelope = self.blocks.borrow().message(*message);
            *to != at || !self.is_void(&envelope, *message)
        });
        self.channels = channels;
        if kind == ModuleKind::Ldm && !self.script.plan.has_early && self.is_idle_tc(node) {
            self.install(node, ModuleKind::Tc)?;
        }
        Ok(())
    }

    /// Whether a node's tc has nothing to do, and no session is about to give it anything.
    fn is_idle_tc(&self, node: NodeId) -> bool {
        let tc = Address::new(node, ModuleKind::Tc, 0);
        let member = self.members.iter().find(|member| member.at == tc);
        member.is_some_and(|member| self.blocks.borrow().facts(member.state).unfinished.is_empty())
            && !self.channels.iter().any(|(from, to, _)| from.kind == ModuleKind::Sql && *to == tc)
    }

    fn follow(&mut self, next: Option<View>) {
        if let Some(next) = next {
            self.copied.clear();
            self.view_id = self.blocks.borrow_mut().note_view(next);
            self.view = self.blocks.borrow().view(self.view_id);
        }
    }

    fn crash(&mut self, node: NodeId) {
        self.members.retain(|member| member.at.node != node);
        self.channels.retain(|(_, to, _)| to.node != node);
        for (client, task) in self.clients.iter_mut().zip(&self.script.tasks) {
            if task.session.node == node && !matches!(client.stage, Stage::Told(_)) {
                client.stage = Stage::Gone;
            }
        }
        self.follow(succession::without(&self.view, &[node]));
    }

    /// A node's ldm hears that all have installed the newest view.
    fn settle(&mut self, node: NodeId) -> Result<(), String> {
        let (at, view) = (Address::new(node, ModuleKind::Ldm, 0), self.view.number);
        if let Some(member) = self.members.iter_mut().find(|member| member.at == at) {
            member.settled = view;
        }
        let (from, signal) = (Address::main(node), Signal::ViewSettled { view });
        let envelope = Envelope { from, to: at, view, epoch: Epoch(1), signal };
        let message = self.blocks.borrow_mut().note_message(envelope);
        self.give(at, Given::Message(message))
    }

    /// The oldest signals that may arrive, one of each sender and receiver.
    fn deliveries(&self) -> Vec<Choice> {
        let mut choices = Vec::new();
        let mut last = None;
        for (from, to, message) in &self.channels {
            if last == Some((from, to)) {
                continue;
            }
            last = Some((from, to));
            let member = self.members.iter().find(|member| member.at == *to);
            let view = self.blocks.borrow().message(*message).view;
            let is_early = from != to && member.is_none_or(|member| view > member.view);
            if !is_early || self.script.plan.has_early {
                choices.push(Choice::Deliver(*from, *to));
            }
        }
        choices
    }

    fn add_faults(&self, choices: &mut Vec<Choice>) {
        let nodes = (1..=self.script.plan.nodes).map(NodeId);
        let is_there = |node: NodeId| self.members.iter().any(|member| member.at.node == node);
        if self.crashes_left > 0 {
            let Plan { joins, is_about_copies, .. } = self.script.plan;
            let may_die = |node: &NodeId| {
                is_there(*node)
                    && !(is_about_copies && joins == Some(*node))
                    && self.view.is_member(*node)
                    && succession::without(&self.view, &[*node]).is_some()
            };
            choices.extend(nodes.clone().filter(may_die).map(Choice::Crash));
        }
        if self.restarts_left > 0 {
            choices.extend(nodes.filter(|node| !is_there(*node)).map(Choice::Restart));
        }
    }

    /// Nodes whose modules all use the newest view.
    fn is_installed_everywhere(&self) -> bool {
        let newest = self.view.number;
        self.members.iter().all(|member| !self.view.is_in_sync(member.at.node) || member.view == newest)
    }

    fn is_whole(&self, node: NodeId) -> bool {
        let slots = (0..u32::try_from(self.view.slots.len()).unwrap_or(0)).map(SlotId);
        let mut mine = slots.filter(|slot| self.view.joining(*slot).contains(&node)).peekable();
        mine.peek().is_some() && mine.all(|slot| self.copied.contains(&(node, slot)))
    }

    // ---- checks -----------------------------------------------------------------------------------------------------

    /// Ldms that answer reads: those in sync in the newest view. A node that was left out has no lease: that is the
    /// other world's.
    fn readers(&self) -> impl Iterator<Item = &Member> {
        let reads =
            |member: &&Member| member.at.kind == ModuleKind::Ldm && self.view.is_in_sync(member.at.node);
        self.members.iter().filter(reads)
    }

    /// Whether a read may find this value of a row: not that of a transaction that was aborted, nor one before another
    /// that was committed.
    fn may_be_seen(&self, row: usize, value: Option<&[u8]>) -> bool {
        let writes = |task: &Task| task.writes.iter().any(|(of, _)| *of == row);
        let wrote =
            |task: &Task| task.writes.iter().any(|(of, written)| *of == row && written.as_deref() == value);
        let tasks = || self.script.tasks.iter().zip(&self.clients).enumerate();
        let writers = tasks().filter(|(_, (task, _))| wrote(task));
        let mut writers: Vec<Option<usize>> = writers.map(|(number, _)| Some(number)).collect();
        if value == self.script.before[row].as_deref() {
            writers.push(None);
        }
        let is_newest = |writer: Option<usize>| {
            writer.is_none_or(|writer| self.clients[writer].stage != Stage::Told(false))
                && tasks().all(|(other, (task, client))| {
                    let is_committed = client.stage == Stage::Told(true) && writes(task);
                    let is_before = writer.is_none_or(|writer| client.after & 1 << writer != 0);
                    !is_committed || writer == Some(other) || !is_before
                })
        };
        writers.into_iter().any(is_newest)
    }

    /// If two transactions each found the other's row as it was, and changed their own, one was not committed.
    fn check_locks(&self) -> Result<(), String> {
        let committed = || {
            let of = self.script.tasks.iter().zip(&self.clients).enumerate();
            of.filter(|(_, (task, client))| !task.locks.is_empty() && client.stage == Stage::Told(true))
        };
        for (one, (first, _)) in committed() {
            let looks = |at: &Task, of: &Task| of.writes.iter().any(|(row, _)| at.locks.contains(row));
            let is_both = |second: &Task| looks(first, second) && looks(second, first);
            if let Some((other, _)) = committed().find(|(other, (task, _))| *other > one && is_both(task)) {
                return Err(format!("transactions {one} and {other} are committed, against their locks"));
            }
        }
        Ok(())
    }

    /// No replica contradicts an outcome that was told, whichever is read.
    fn check_reads(&self, is_end: bool) -> Result<(), String> {
        if !is_end && self.clients.iter().all(|client| !matches!(client.stage, Stage::Told(_))) {
            return Ok(());
        }
        let blocks = self.blocks.borrow();
        let mut first: Option<&Vec<Seen>> = None;
        for member in self.readers() {
            let seen = &blocks.facts(member.state).seen;
            for (row, seen) in seen.iter().enumerate() {
                let is_allowed = match seen {
                    Seen::Row(value) => self.may_be_seen(row, value.as_deref()),
                    Seen::Undecided => !is_end,
                    Seen::Nothing => false,
                };
                if !is_allowed {
                    let stages: Vec<Stage> = self.clients.iter().map(|client| client.stage).collect();
                    return Err(format!("{} shows {seen:?} in row {row}, {stages:?}", member.at));
                }
            }
            if is_end && first.is_some_and(|first| first != seen) {
                return Err(format!("{} shows {seen:?}, others {first:?}", member.at));
            }
            first = Some(seen);
        }
        Ok(())
    }
}

impl SmallWorld for ReplicaWorld {
    type Choice = Choice;

    fn choices(&self) -> Vec<Choice> {
        let mut choices = self.deliveries();
        let newest = self.view.number;
        let is_installed = self.is_installed_everywhere();
        for member in &self.members {
            let node = member.at.node;
            if !self.view.is_member(node) {
                continue;
            }
            if member.at.kind == ModuleKind::Ldm {
                if member.view < newest {
                    choices.push(Choice::Install(node));
                } else if is_installed && member.settled < newest {
                    choices.push(Choice::Settle(node));
                }
                if self.is_whole(node) && !self.script.plan.is_about_copies {
                    choices.push(Choice::Join(node));
                }
            } else if member.view < newest {
                let ldm = self.members.iter().find(|ldm| ldm.at == Address::new(node, ModuleKind::Ldm, 0));
                if ldm.is_some_and(|ldm| ldm.view == newest) {
                    choices.push(Choice::InstallTc(node));
                }
            }
        }
        for (task, client) in self.clients.iter().enumerate() {
            if client.stage == Stage::Idle {
                choices.push(Choice::Begin(task));
            } else if self.is_forlorn(task) {
                choices.push(Choice::Ask(task));
            }
        }
        if choices.is_empty() {
            let nodes = (1..=self.script.plan.nodes).map(NodeId);
            choices.extend(nodes.filter(|node| self.is_whole(*node)).map(Choice::Join));
        }
        self.add_faults(&mut choices);
        choices
    }

    fn describe(&self, choice: Choice) -> String {
        let Choice::Deliver(from, to) = choice else { return format!("{choice:?}") };
        let message = self.channels.iter().find(|(of, at, _)| (*of, *at) == (from, to));
        let envelope = message.map(|(.., message)| self.blocks.borrow().message(*message));
        let text = envelope.map_or_else(String::new, |envelope| {
            let signal: String = format!("{:?}", envelope.signal).chars().take(100).collect();
            format!("in view {}: {signal}", envelope.view)
        });
        format!("{from} -> {to} {text}")
    }

    fn is_quiet(&self, choices: &[Choice]) -> bool {
        choices.iter().all(|choice| matches!(choice, Choice::Crash(_) | Choice::Restart(_)))
    }

    fn apply(&mut self, choice: Choice) -> Result<(), String> {
        match choice {
            Choice::Deliver(from, to) => self.deliver(from, to)?,
            Choice::Install(node) => self.install(node, ModuleKind::Ldm)?,
            Choice::InstallTc(node) => self.install(node, ModuleKind::Tc)?,
            Choice::Settle(node) => self.settle(node)?,
            Choice::Join(node) => self.follow(succession::with_in_sync(&self.view, node)),
            Choice::Begin(task) => self.begin(task, self.view_id),
            Choice::Ask(task) => self.ask(task),
            Choice::Crash(node) => {
                self.crashes_left -= 1;
                self.crash(node);
            }
            Choice::Restart(node) => {
                self.restarts_left -= 1;
                self.restart(node);
            }
        }
        if !self.script.plan.has_early && self.script.plan.others.is_empty() && self.is_installed_everywhere()
        {
            let newest = self.view.number;
            let unsettled = |member: &&Member| member.at.kind == ModuleKind::Ldm && member.settled < newest;
            for at in self.members.iter().filter(unsettled).map(|member| member.at).collect::<Vec<_>>() {
                if self.view.is_member(at.node) {
                    self.settle(at.node)?;
                }
            }
        }
        self.check_locks()?;
        self.check_reads(false)
    }

    fn check_end(&self) -> Result<(), String> {
        let is_over = |client: &Client| matches!(client.stage, Stage::Told(_) | Stage::Gone);
        if let Some(task) = self.clients.iter().position(|client| !is_over(client)) {
            return Err(format!("the session of transaction {task} hears nothing"));
        }
        for member in &self.members {
            if !self.view.is_in_sync(member.at.node) {
                let (node, copied) = (member.at.node, &self.copied);
                return Err(format!("node {node} is not in sync in the end, copied: {copied:?}"));
            }
            let blocks = self.blocks.borrow();
            let unfinished = &blocks.facts(member.state).unfinished;
            if !unfinished.is_empty() {
                return Err(format!("{} has work in the end: {unfinished}", member.at));
            }
        }
        self.check_reads(true)
    }

    fn digest(&self) -> u64 {
        let text = format!(
            "{:?} {} {} {:?} {:?} {:?} {:?}",
            self.view_id,
            self.crashes_left,
            self.restarts_left,
            self.copied,
            self.clients,
            self.members,
            self.channels
        );
        hash64(text.as_bytes())
    }
}
