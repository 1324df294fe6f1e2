//! The environment of a handler call for the code below it: time, budget, outputs and the state that all sessions of
//! the module share.

use crate::accounts::AccountBook;
use crate::config::SqlConfig;
use crate::durable::DurableWaits;
use crate::encoded_keys::EncodedKeys;
use crate::nonce::NonceSource;
use crate::orphans::Orphans;
use crate::privilege_sets::PrivilegeSets;
use crate::statement_cache::StatementCache;
use crate::statement_counts::StatementCounts;
use crate::variables::{Globals, globals};
use executor::Site;
use expression::{ShortIds, Volatile};
use memory::{Ledger, MemoryManager, Region};
use protocol::{Address, Budget, ConnectionId, ModuleKind, Outputs, Signal};
use query::{AccountNews, NodeMap, Shared};
use std::collections::BTreeSet;
use std::sync::Arc;
use stdx::{Deadlines, IdRange, Instant, Now};
use types::{NodeId, SlotId, TransactionId};

/// The state that the sessions of a module share.
pub(crate) struct ModuleState {
    /// The part of it that the executor sees.
    pub(crate) site: Site,
    pub(crate) config: SqlConfig,
    pub(crate) memory: Arc<MemoryManager>,
    /// ClientMemory of all its sessions.
    pub(crate) client_memory: Ledger,
    pub(crate) cache: StatementCache,
    /// Numbers of the privilege sets that sessions have.
    pub(crate) privilege_sets: PrivilegeSets,
    pub(crate) nonces: NonceSource,
    /// Knowledge of accounts besides the catalogue.
    pub(crate) accounts: AccountBook,
    pub(crate) deadlines: Deadlines<Alarm>,
    pub(crate) scratch: Scratch,
    /// UUID_SHORT().
    short_ids: Option<Arc<IdRange>>,
    /// System variables as the configuration and SET GLOBAL have made them.
    pub(crate) globals: Arc<Globals>,
    /// Transactions that hold the DDL lock, or wait for it.
    pub(crate) ddl_locks: BTreeSet<TransactionId>,
    /// Commits that are answered when they are durable.
    pub(crate) durable: DurableWaits,
    pub(crate) left: Left,
    /// When the node started; nothing before that.
    pub(crate) started: Option<Instant>,
    /// Counted for SHOW STATUS.
    pub(crate) counters: Counters,
    /// The same by kinds of statements.
    pub(crate) statement_counts: StatementCounts,
    /// Told 1040 since the last log line, and when that was.
    pub(crate) too_many: (u64, Option<Instant>),
    /// The node is about to stop: who is told when there are no sessions any more.
    pub(crate) draining: Option<Address>,
}

/// Work that sessions have left behind.
#[derive(Default)]
pub(crate) struct Left {
    /// Commits whose sessions are gone.
    pub(crate) orphans: Orphans,
    /// Slots that transactions held on nodes when those were lost. If they end before the connection is back, their
    /// aborts do not arrive either. Their requests may have waited there for a view, unseen by those that undo the work
    /// of lost nodes. So they are aborted (again) when the node is back.
    pub(crate) aborts_due: BTreeSet<(TransactionId, SlotId)>,
    /// A DDL statement has ended that may have left its job unfinished.
    pub(crate) has_ddl: bool,
}

/// Bytes that are made on the way, kept so that none is allocated.
#[derive(Default)]
pub(crate) struct Scratch {
    /// Bytes made on the way into a reply.
    pub(crate) reply: Vec<u8>,
    /// Key bytes of point reads.
    pub(crate) key: Vec<u8>,
    /// Keys of lists.
    pub(crate) keys: EncodedKeys,
}

/// Counted for SHOW STATUS, per module.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counters {
    /// Texts that came by COM_QUERY.
    pub(crate) queries: u64,
    /// Statements that came by COM_STMT_EXECUTE.
    pub(crate) executions: u64,
    pub(crate) connections: u64,
    /// The most of `connected` at once.
    pub(crate) connected_max: u64,
    /// Connections whose TLS handshake was done.
    pub(crate) tls_accepts: u64,
    pub(crate) connected: u64,
    /// Connections that have logged in: what max_connections is about.
    pub(crate) logged_in: u64,
    pub(crate) refused: u64,
    /// Those that are no point selects.
    pub(crate) selects: u64,
    pub(crate) point_selects: u64,
    pub(crate) inserts: u64,
    pub(crate) updates: u64,
    pub(crate) deletes: u64,
    pub(crate) rollbacks: u64,
}

impl Counters {
    /// Statements that clients have sent.
    pub(crate) fn questions(&self) -> u64 {
        self.queries + self.executions
    }
}

/// The session that a timer is for (`session::timers`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Alarm {
    pub(crate) connection_id: u32,
    pub(crate) kind: AlarmKind,
}

/// Why a session is woken.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum AlarmKind {
    /// The handshake takes too long.
    Handshake,
    /// A login that had to wait may go on.
    Login,
    /// wait_timeout.
    Idle,
    /// net_read_timeout.
    Reading,
    /// net_write_timeout.
    Writing,
    /// TransactionInactiveTimeout.
    Inactive,
    /// The node is about to stop, and has been patient with an idle session.
    Drain,
    /// The node has been patient with an open transaction.
    DrainOpen,
}

impl ModuleState {
    pub(crate) fn new(
        config: SqlConfig,
        memory: Arc<MemoryManager>,
        map: Arc<NodeMap>,
        seed: [u8; 32],
    ) -> Self {
        let globals = Arc::new(globals(&config.globals, &map.schema.variables));
        let mut site = Site::new(
            Address::new(config.node, ModuleKind::Sql, config.instance),
            map,
            config.lock_wait_timeout_max,
            config.marker_time,
        );
        site.stopwatch = config.stopwatch;
        site.scratch = config.scratch.clone();
        site.read_placement = config.read_placement;
        Self {
            globals,
            cache: StatementCache::new(config.statement_cache_size),
            privilege_sets: PrivilegeSets::default(),
            site,
            config,
            client_memory: Ledger::new(Arc::clone(&memory), Region::ClientMemory),
            memory,
            nonces: NonceSource::new(seed),
            accounts: AccountBook::default(),
            deadlines: Deadlines::default(),
            scratch: Scratch::default(),
            short_ids: None,
            ddl_locks: BTreeSet::new(),
            durable: DurableWaits::default(),
            left: Left::default(),
            started: None,
            counters: Counters::default(),
            statement_counts: StatementCounts::default(),
            too_many: (0, None),
            draining: None,
        }
    }

    /// This node.
    pub(crate) fn node(&self) -> NodeId {
        self.site.node()
    }

    /// The schema may say other values that sessions which begin from now on have, and all show: true if it does.
    pub(crate) fn renew_globals(&mut self) -> bool {
        let globals = globals(&self.config.globals, &self.site.map.schema.variables);
        let is_changed = globals != *self.globals;
        if is_changed {
            self.globals = Arc::new(globals);
        }
        is_changed
    }

    /// The source for the volatile functions of a statement that begins now.
    pub(crate) fn volatile(&mut self, now: Now, is_strict: bool) -> Volatile {
        /// 2^24 numbers are a second's, as in MySQL, and all of 56 bits are the node's.
        const SECOND: u64 = 1 << 24;
        const NODE_BITS: u32 = 56;
        let instance = self.site.address.instance;
        let node = u64::from(self.node().0 & 0xff) << NODE_BITS;
        let range = self.short_ids.get_or_insert_with(|| {
            let since = (now.wall.0 / 1_000_000).wrapping_mul(SECOND) & ((1 << NODE_BITS) - 1);
            let range = IdRange::default();
            range.refill(node | since, (1 << NODE_BITS) - since - 1);
            Arc::new(range)
        });
        let short_ids = ShortIds { range: Arc::clone(range), instance };
        Volatile::new(self.nonces.seed(), now.wall, is_strict, short_ids)
    }

    /// Seconds since the node started.
    pub(crate) fn uptime_s(&self, now: Now) -> u64 {
        self.started.map_or(0, |started| now.monotonic.since(started).as_secs())
    }
}

/// One handler call.
pub(crate) struct Environment<'a> {
    pub(crate) now: Now,
    pub(crate) budget: &'a mut Budget,
    pub(crate) outputs: &'a mut Outputs<Shared>,
    pub(crate) module: &'a mut ModuleState,
}

impl Environment<'_> {
    /// The part of it that the executor gets.
    #[inline]
    pub(crate) fn executor(&mut self) -> executor::Environment<'_> {
        executor::Environment {
            now: self.now,
            budget: self.budget,
            outputs: self.outputs,
            site: &mut self.module.site,
        }
    }

    /// Sends a signal from this module.
    pub(crate) fn send(&mut self, to: Address, signal: Signal) {
        self.outputs.send(self.module.site.address, to, signal);
    }

    /// Notes what was seen of an account, here and in the other `sql` modules of the node.
    pub(crate) fn tell(&mut self, news: AccountNews) {
        self.module.accounts.take(&news, self.now);
        let (own, siblings) = (self.module.site.address, self.module.config.siblings);
        if siblings > 1 {
            let news = Arc::new(news);
            for instance in (0..siblings).filter(|instance| *instance != own.instance) {
                let sibling = Address::new(own.node, ModuleKind::Sql, instance);
                self.outputs.share(own, sibling, Shared::Account(Arc::clone(&news)));
            }
        }
    }

    /// Puts the session behind the module's queue.
    pub(crate) fn continue_later(&mut self, connection_id: u32) {
        let own = self.module.site.address;
        self.send(own, Signal::Continue(u64::from(connection_id)));
    }

    /// The client takes its replies too slowly.
    pub(crate) fn is_congested(&self, connection: ConnectionId) -> bool {
        self.outputs.is_congested(connection)
    }
}
