//! Modules as machines whose states have numbers: what is shared by all states of a world of replicas.
//!
//! A cluster's state is the product of its modules' states and of what is on its way. Modules cannot be copied (they
//! own memory), but they have few states each. A state is the address, the installed view and the digest of a module. A
//! step leads from it, by the module's input, to another state and to outputs. Every step is taken once by the
//! production block and remembered; the world, which is a list of numbers, is copied and compared.
//!
//! ```text
//! step(state, given) known? --yes--> next state, what was sent
//!                     | no
//!                     v
//!          is a module alive in that state? --no--> a new one is given all that led to that state
//!                     +--> it is given this, too: its new digest is the next state
//! ```
//! Invariants: a step depends on nothing but the state and what is given (`Ldm::digest`, `Tc::digest` say what decides
//! how a block goes on). A state that is reached in two ways goes on as the first way's: both say the same up to names,
//! and names must be of one way.

use super::replicas::Row;
use memory::{Guard, MemoryConfig, MemoryManager};
use node::NodeModule;
use protocol::{Address, Budget, Envelope, Input, Module, ModuleKind, Outputs, View};
use query::{NodeMap, PublishedReader, RestoredFragment, Shared};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use stdx::{Duration, FixedMap, Instant, Now, hash64};
use storage::{Fragment, FragmentDefinition, Lookup, Visibility};
use transaction::{Ldm, Sizes, Tc};
use types::{Epoch, Incarnation, Schema, SlotId, TableId, TransactionId, ViewNumber};

/// How long markers stay: no time passes.
const MARKER_TIME: Duration = Duration::from_secs(600);
/// Rows that a slice works on: a copied piece has one row.
const SLICE: u32 = 1;
/// Until then a module's rounds last, each a nanosecond.
const SOME_ROUNDS: Instant = Instant(100);
/// Modules that are kept alive, each in a state of its own.
const LIVE_MAX: usize = 64;
/// The epoch at whose end a node that starts again with rows had them.
pub(super) const BASE: Epoch = Epoch(1);

/// A state of a module.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct StateId(u32);

/// Something that is on its way.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct MessageId(pub(super) u32);

/// A view.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct ViewId(pub(super) u32);

/// The input of a module.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Given {
    Message(MessageId),
    View(ViewId),
    /// The rows of the node's disk.
    Disk,
}

/// The result of it.
#[derive(Clone, Debug)]
pub(super) struct Taken {
    pub(super) next: StateId,
    pub(super) sent: Rc<[MessageId]>,
}

/// The result of a read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Seen {
    /// No fragment.
    Nothing,
    /// A version that nobody has decided.
    Undecided,
    /// A row, or that there is none.
    Row(Option<Box<[u8]>>),
}

/// The facts about a state that a world wants to know.
#[derive(Debug)]
pub(super) struct Facts {
    address: Address,
    /// The state before it and what it was given there; None: it is new.
    came: Option<(StateId, Given)>,
    /// The installed view.
    pub(super) view: ViewNumber,
    /// The results of committed reads of the world's rows.
    pub(super) seen: Vec<Seen>,
    /// The work that keeps the module from being idle.
    pub(super) unfinished: String,
}

struct Live {
    module: NodeModule,
    view: Option<ViewId>,
    readers: Vec<PublishedReader>,
}

/// All states, steps, views and messages that were met.
pub(super) struct Blocks {
    sizes: Sizes,
    schema: Arc<Schema>,
    table: TableId,
    rows: Vec<Row>,
    /// The rows on the disk of a node that starts again, as they were at [`BASE`].
    pub(super) disk: Vec<Row>,
    memory: Arc<MemoryManager>,
    states: Vec<Facts>,
    by_digest: FixedMap<u64, StateId>,
    steps: FixedMap<(StateId, Given), Taken>,
    messages: Vec<Rc<Envelope>>,
    by_text: FixedMap<u64, MessageId>,
    views: Vec<Arc<View>>,
    view_by_text: FixedMap<u64, ViewId>,
    live: FixedMap<StateId, Live>,
}

impl Blocks {
    pub(super) fn new(sizes: Sizes, schema: Arc<Schema>, table: TableId, rows: Vec<Row>) -> Self {
        Self {
            sizes,
            schema,
            table,
            rows,
            disk: Vec::new(),
            memory: MemoryManager::new(MemoryConfig::with_data_memory(1 << 30)),
            states: Vec::new(),
            by_digest: FixedMap::default(),
            steps: FixedMap::default(),
            messages: Vec::new(),
            by_text: FixedMap::default(),
            views: Vec::new(),
            view_by_text: FixedMap::default(),
            live: FixedMap::default(),
        }
    }

    /// The rows that the world is about.
    pub(super) fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The facts about a state.
    pub(super) fn facts(&self, state: StateId) -> &Facts {
        &self.states[state.0 as usize]
    }

    /// A message.
    pub(super) fn message(&self, message: MessageId) -> Rc<Envelope> {
        Rc::clone(&self.messages[message.0 as usize])
    }

    /// A view.
    pub(super) fn view(&self, view: ViewId) -> Arc<View> {
        Arc::clone(&self.views[view.0 as usize])
    }

    /// The number of a view.
    pub(super) fn note_view(&mut self, view: View) -> ViewId {
        let next = ViewId(u32::try_from(self.views.len()).unwrap_or(u32::MAX));
        let id = *self.view_by_text.entry(hash64(format!("{view:?}").as_bytes())).or_insert(next);
        if id == next {
            self.views.push(Arc::new(view));
        }
        id
    }

    /// The number of a message.
    pub(super) fn note_message(&mut self, envelope: Envelope) -> MessageId {
        let next = MessageId(u32::try_from(self.messages.len()).unwrap_or(u32::MAX));
        let id = *self.by_text.entry(hash64(format!("{envelope:?}").as_bytes())).or_insert(next);
        if id == next {
            self.messages.push(Rc::new(envelope));
        }
        id
    }

    /// A module that was just made.
    pub(super) fn birth(&mut self, address: Address) -> StateId {
        let live = self.make(address);
        self.note(live, None)
    }

    fn make(&self, address: Address) -> Live {
        let empty = Arc::new(NodeMap::empty(address.node, Arc::clone(&self.schema)));
        let module = if address.kind == ModuleKind::Ldm {
            let ldm = Ldm::new(address, empty, Arc::clone(&self.memory), MARKER_TIME);
            NodeModule::ldm(address, ldm.with_sizes(self.sizes))
        } else {
            NodeModule::tc(address, Tc::new(address, empty, MARKER_TIME).telling_at_once())
        };
        Live { module, view: None, readers: Vec::new() }
    }

    /// A module in this state is given something.
    pub(super) fn step(&mut self, state: StateId, given: Given) -> Result<Taken, String> {
        if let Some(taken) = self.steps.get(&(state, given)) {
            return Ok(taken.clone());
        }
        let mut live = self.revive(state);
        let sent = self.give(&mut live, given)?;
        let sent: Rc<[MessageId]> = sent.into_iter().map(|envelope| self.note_message(envelope)).collect();
        let next = self.note(live, Some((state, given)));
        let taken = Taken { next, sent };
        self.steps.insert((state, given), taken.clone());
        Ok(taken)
    }

    fn revive(&mut self, state: StateId) -> Live {
        if let Some(live) = self.live.remove(&state) {
            return live;
        }
        let (mut at, mut path) = (state, Vec::new());
        while let Some((before, given)) = self.facts(at).came {
            path.push(given);
            at = before;
        }
        let mut live = self.make(self.facts(at).address);
        for given in path.into_iter().rev() {
            // It went well before.
            let _ = self.give(&mut live, given);
        }
        live
    }

    fn give(&self, live: &mut Live, given: Given) -> Result<Vec<Envelope>, String> {
        let mut outputs = Outputs::default();
        match given {
            Given::Message(message) => {
                let envelope = (*self.message(message)).clone();
                Self::handle(live, Input::Signal(envelope), &mut outputs);
            }
            Given::Disk => {
                let shared = Shared::Fragments { fragments: self.restored(), base: BASE };
                let from = Address::disk(live.module.address().node);
                Self::handle(live, Input::Shared { from, shared }, &mut outputs);
            }
            Given::View(id) => {
                let (view, at) = (self.view(id), live.module.address());
                let life = view.node(at.node).map_or(Incarnation(0), |info| info.incarnation);
                let empty = NodeMap::empty(at.node, Arc::clone(&self.schema));
                let map = Arc::new(empty.with(life, view, Arc::clone(&self.schema), &[]));
                live.view = Some(id);
                let main = Address::main(at.node);
                if at.kind == ModuleKind::Ldm {
                    let shared = Shared::Tables(Arc::clone(&map));
                    Self::handle(live, Input::Shared { from: main, shared }, &mut outputs);
                }
                Self::handle(live, Input::Shared { from: main, shared: Shared::Map(map) }, &mut outputs);
            }
        }
        for (_, _, shared) in outputs.shared {
            if let Shared::Readers { readers, .. } = shared {
                live.readers.extend(readers);
            }
        }
        if !outputs.requests.is_empty() {
            let why = outputs.events.last().map(|event| &event.message);
            return Err(format!("{} gives up: {why:?}", live.module.address()));
        }
        Ok(outputs.signals)
    }

    /// The rows of a disk.
    fn restored(&self) -> Vec<RestoredFragment> {
        let mut fragments: BTreeMap<SlotId, Fragment> = BTreeMap::new();
        let definition = self.schema.tables().get(self.table);
        for row in &self.disk {
            let Some(definition) = definition else { continue };
            let fragment = fragments.entry(row.slot).or_insert_with(|| {
                let definition = Arc::new(FragmentDefinition::new(definition));
                Fragment::new(definition, Arc::clone(&self.memory))
            });
            let nobody = TransactionId(0);
            if let Ok(handle) = fragment.stage_copied(&row.key, nobody, &row.before, &[]) {
                fragment.commit(handle, nobody, BASE);
            }
        }
        let table = self.table;
        fragments.into_iter().map(|(slot, fragment)| RestoredFragment { table, slot, fragment }).collect()
    }

    /// Time stands still, but for a pause of some rounds that a module makes.
    fn handle(live: &mut Live, input: Input<'_, Shared>, outputs: &mut Outputs<Shared>) {
        live.module.handle(Now::default(), input, &mut Budget::of(SLICE), outputs);
        while let Some(due) = live.module.deadline().filter(|due| *due <= SOME_ROUNDS) {
            let now = Now { monotonic: due, ..Now::default() };
            live.module.handle(now, Input::Deadline, &mut Budget::of(SLICE), outputs);
        }
    }

    fn note(&mut self, live: Live, came: Option<(StateId, Given)>) -> StateId {
        let address = live.module.address();
        let text = format!("{address:?} {:?} {:x}", live.view, live.module.digest());
        let next = StateId(u32::try_from(self.states.len()).unwrap_or(u32::MAX));
        let id = *self.by_digest.entry(hash64(text.as_bytes())).or_insert(next);
        if id != next {
            // Not kept: names that it gives (numbers of jobs) are not those that the known way to this state gives.
            return id;
        }
        let view = live.view.map_or(ViewNumber(0), |view| self.view(view).number);
        let seen = self.rows.iter().map(|row| self.seen(&live, row)).collect();
        let open = live.module.as_tc().map_or(0, Tc::open_count);
        let unfinished = live.module.as_ldm().map_or_else(Vec::new, Ldm::unfinished);
        let is_idle = open == 0 && unfinished.is_empty();
        let unfinished = if is_idle { String::new() } else { format!("{open} open commits, {unfinished:?}") };
        self.states.push(Facts { address, came, view, seen, unfinished });
        if self.live.len() >= LIVE_MAX {
            self.live.clear();
        }
        self.live.insert(id, live);
        id
    }

    /// The result that a committed read of a row would have at a replica.
    fn seen(&self, live: &Live, row: &Row) -> Seen {
        let is_its =
            |published: &&PublishedReader| published.table == self.table && published.slot == row.slot;
        let Some(published) = live.readers.iter().find(is_its) else { return Seen::Nothing };
        match published.reader.get(&Guard::enter(), &row.key, Visibility::Committed) {
            Lookup::Absent => Seen::Row(None),
            Lookup::Found(bytes) => Seen::Row(Some(bytes.into())),
            Lookup::Undecided => Seen::Undecided,
        }
    }
}
