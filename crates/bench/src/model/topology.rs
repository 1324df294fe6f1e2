//! The threads of a cluster, the CPUs that they share, and the slots that they own: all by production functions.
//!
//! Each node gets its threads from `Layout::plan`, with the share of CPUs that `CpuShare::of` gives it. Tables get
//! their ranks from `RankCounts::choose` and their slots from `SlotTerms`. The `ldm` of a slot is chosen by its rank,
//! and its home by its column, as in a cluster of which no node is missing.
//!
//! **Invariants.** Threads are numbered node by node, so that the same shape gives the same numbers.
//!
//! **Deliberately not here**: `main`, `membership` and the disk. They have threads of their own, and little work.

use protocol::layout::{CpuFacts, CpuShare, Layout, LayoutRequest};
use protocol::{Address, ModuleKind};
use types::{NodeId, RankCounts, SlotTerms};

/// `SlotsPerNode` and `PartitionsPerNode`, as the defaults are.
const SLOTS_PER_NODE: u16 = 64;
const SLOTS_PER_LARGE_NODE: u16 = 128;
/// Nodes with more CPUs are large.
const LARGE_CPUS: u16 = 64;
const PARTITIONS_PER_NODE: u16 = 2;

/// Where the clients run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ClientsAt {
    /// On machines of their own that are never busy.
    Elsewhere,
    /// On CPUs of this machine, which nothing else uses.
    Apart(u16),
    /// On the CPUs of the nodes.
    Beside,
}

/// The machines and nodes of a cluster.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Shape {
    pub(super) nodes: u16,
    pub(super) replicas: u16,
    /// CPUs of a machine.
    pub(super) cpus: u16,
    /// All nodes are on one machine; otherwise each has one for itself.
    pub(super) is_one_machine: bool,
    pub(super) clients: ClientsAt,
    pub(super) tables: u32,
}

/// A thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Place {
    pub(super) node: u16,
    /// The CPUs that it shares with others, by number.
    pub(super) pool: usize,
    /// Its modules, as the runtime knows them; none for a thread of clients.
    pub(super) modules: Vec<Address>,
}

/// The owners of a slot.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Slot {
    /// Counted from 0.
    pub(super) group: u16,
    /// The threads of its primary's `ldm` and of its backups'.
    pub(super) primary: usize,
    pub(super) backups: Vec<usize>,
}

/// The cluster.
#[derive(Clone, Debug)]
pub(super) struct Topology {
    pub(super) shape: Shape,
    pub(super) threads: Vec<Place>,
    /// CPUs of each pool.
    pub(super) pools: Vec<u16>,
    /// The threads with a `sql` of each node: clients come to these.
    pub(super) workers: Vec<Vec<usize>>,
    /// The slots of all tables, a table's partitions next to each other.
    pub(super) slots: Vec<Slot>,
    /// Threads of clients: for each node, and one for clients that scan beside. None if clients are elsewhere.
    pub(super) generators: Vec<usize>,
}

impl Topology {
    /// The cluster of a shape whose groups are complete.
    pub(super) fn new(shape: Shape) -> Result<Self, String> {
        if shape.replicas == 0 || shape.nodes == 0 || !shape.nodes.is_multiple_of(shape.replicas) {
            return Err(format!("{} nodes do not make groups of {}", shape.nodes, shape.replicas));
        }
        let layout = layout(&shape)?;
        let mut topology = Self {
            shape,
            threads: Vec::new(),
            pools: vec![shape.cpus; if shape.is_one_machine { 1 } else { usize::from(shape.nodes) }],
            workers: Vec::new(),
            slots: Vec::new(),
            generators: Vec::new(),
        };
        let mut managers = Vec::new();
        for node in 0..shape.nodes {
            let pool = if shape.is_one_machine { 0 } else { usize::from(node) };
            let (mut workers, mut ldms) = (Vec::new(), Vec::new());
            for plan in &layout.threads {
                let number = topology.threads.len();
                let has = |kind| plan.modules.iter().any(|(module, _)| *module == kind);
                if !(has(ModuleKind::Sql) || has(ModuleKind::Ldm)) {
                    continue;
                }
                if has(ModuleKind::Sql) {
                    workers.push(number);
                }
                if has(ModuleKind::Ldm) {
                    ldms.push(number);
                }
                let address =
                    |(kind, instance): &(ModuleKind, u8)| Address::new(NodeId(node + 1), *kind, *instance);
                topology.threads.push(Place {
                    node,
                    pool,
                    modules: plan.modules.iter().map(address).collect(),
                });
            }
            topology.workers.push(workers);
            managers.push(ldms);
        }
        topology.slots = slots(&shape, &managers);
        topology.add_generators();
        Ok(topology)
    }

    pub(super) fn groups(&self) -> u16 {
        self.shape.nodes / self.shape.replicas
    }

    pub(super) fn group_of(&self, node: u16) -> u16 {
        node / self.shape.replicas
    }

    fn add_generators(&mut self) {
        let pool = match self.shape.clients {
            ClientsAt::Elsewhere => return,
            ClientsAt::Beside => 0,
            ClientsAt::Apart(cpus) => {
                self.pools.push(cpus);
                self.pools.len() - 1
            }
        };
        for _ in 0..=self.shape.nodes {
            self.generators.push(self.threads.len());
            self.threads.push(Place { node: u16::MAX, pool, modules: Vec::new() });
        }
    }
}

/// The threads of one node.
fn layout(shape: &Shape) -> Result<Layout, String> {
    let sharing = if shape.is_one_machine { shape.nodes } else { 1 };
    let facts = CpuFacts {
        usable: shape.cpus,
        has_quota: false,
        configured: None,
        sharing,
        has_neighbours: sharing > 1,
    };
    let kinds = [
        ModuleKind::Sql,
        ModuleKind::Tc,
        ModuleKind::Ldm,
        ModuleKind::Query,
        ModuleKind::Main,
        ModuleKind::Membership,
    ];
    let request =
        LayoutRequest { thread_config: None, share: CpuShare::of(&facts), cpus: &[], kinds: &kinds };
    Layout::plan(&request).map_err(|error| error.to_string())
}

/// The slots of all tables, made one after the other. `managers` are the threads with an `ldm` of each node.
fn slots(shape: &Shape, managers: &[Vec<usize>]) -> Vec<Slot> {
    let terms = SlotTerms {
        slots_per_node: if shape.cpus > LARGE_CPUS { SLOTS_PER_LARGE_NODE } else { SLOTS_PER_NODE },
        partitions_per_node: PARTITIONS_PER_NODE,
        groups: shape.nodes / shape.replicas,
        replicas: shape.replicas,
    };
    let (mut ranks, mut slots) = (RankCounts::default(), Vec::new());
    for _ in 0..shape.tables {
        let table = types::TableDefinition { slots: ranks.choose(terms), ..crate::tables::definition() };
        ranks.add(&table);
        for slot in terms.slots_of(&table) {
            let Some(position) = terms.position(slot) else { continue };
            let group = position.group - 1;
            let owner = |column: u16| {
                let ldms = &managers[usize::from(group * shape.replicas + column)];
                ldms[usize::from(position.rank) % ldms.len()]
            };
            slots.push(Slot {
                group,
                primary: owner(position.column),
                backups: (0..shape.replicas).filter(|column| *column != position.column).map(owner).collect(),
            });
        }
    }
    slots
}

#[cfg(test)]
mod tests;
