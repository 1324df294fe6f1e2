//! `main`: the node's map, its catalogue, its epochs; AUTO_INCREMENT ranges; answers about the node.
//!
//! How a map is made, in this order, whenever the view, the schema or the lost members change:
//!
//! ```text
//! Tables(map without readers) -> every ldm       each makes its fragments -> Readers
//! Map(complete map)           -> every module    each uses it             -> Installed
//! ```
//! Invariants: one map is on its way at a time, and the next one waits. The first complete map with a view opens the
//! listeners. A schema version is reported installed only when every module of the node uses it.
//!
//! `schema` reads the system tables, `sequences` reserves ids, `information` answers ndbinfo.

mod alone;
mod check;
mod full_stop;
mod information;
mod memory_report;
mod restart_info;
mod restarting;
mod schema;
mod sequences;
mod stopping;
mod waiting;

use crate::management::{ClusterState, Management, ManagementRequest, StartCheck};
use crate::mutants::{self, Mutant};
use alone::Alone;
use check::Check;
use full_stop::FullStops;
pub use information::Configuration;
use information::Gathering;
pub(crate) use information::counter_rows;
use memory::MemoryManager;
use memory_report::MemoryReport;
use protocol::control::{RecoveryOrder, VoterPlace};
use protocol::lease::Lease;
use protocol::module::Counts;
use protocol::redo_room::RedoRoom;
use protocol::signal::{NodeReport, RequestId};
use protocol::{
    Address, ConnectionAction, ConnectionId, Envelope, Input, ModuleKind, Outputs, ReceiveBuffer,
    RequestToRuntime, Severity, Signal, View,
};
use query::{NodeMap, PublishedReader, Readers, Shared, TablesAhead};
use restart_info::{RestartInfo, Step};
use restarting::Asked;
pub(crate) use schema::scan::{CatalogueScan, Scanned};
use schema::{Backfill, SchemaReading};
use sequences::Sequences;
use std::collections::BTreeMap;
use std::sync::Arc;
use stdx::{Instant, Now};
use stopping::Stopping;
use transaction::{EpochMember, EpochSignals};
use types::{Epoch, Incarnation, NodeId, Schema, SchemaVersion, SlotId, ViewNumber};
pub use waiting::Reporting;
use waiting::Waiting;

/// How long a member of a view may take to connect.
const CONNECT_PATIENCE: stdx::Duration = stdx::Duration::from_secs(10);
/// How long a view without a lost data node is awaited before what needs that node is refused.
const VIEW_PATIENCE: stdx::Duration = stdx::Duration::from_secs(5);

/// New tables that one call makes of a map, at most.
const TABLES_PER_CALL: usize = 128;

/// The facts that `main` must know to start.
pub struct MainConfig {
    /// This node.
    pub node: NodeId,
    /// All modules of this node.
    pub modules: Vec<Address>,
    /// TimeBetweenEpochs.
    pub time_between_epochs: stdx::Duration,
    /// The node's memory.
    pub memory: Arc<MemoryManager>,
    /// On management nodes: the management protocol.
    pub management: Option<Management>,
    /// The numbers of the node's redo log; none: it keeps none.
    pub redo: Option<Arc<RedoRoom>>,
    /// The lease under which `membership` lets the other modules read.
    pub lease: Arc<Lease>,
    /// The report of this node to management nodes, if there is one.
    pub reporting: Option<Reporting>,
    /// Whether this node could start again. A management node's is in `management`.
    pub start_check: Option<StartCheck>,
    /// The part of config.ini that is told.
    pub configuration: Configuration,
}

/// A map on its way to the modules.
struct Rollout {
    map: NodeMap,
    /// Ldms that have not answered `Tables` yet.
    tables_missing: Vec<Address>,
    /// Modules that do not use the map yet.
    installs_missing: Vec<Address>,
}

/// The block.
pub struct MainModule {
    config: MainConfig,
    view: Arc<View>,
    incarnation: Incarnation,
    reach: Reach,
    entry: Entry,
    restart: RestartInfo,
    waiting: Waiting,
    schema: Arc<Schema>,
    map: Arc<NodeMap>,
    making: Making,
    is_open: bool,
    epochs: EpochMember,
    schema_reading: SchemaReading,
    sequences: Sequences,
    requests: Requests,
    operators: Operators,
    stopping: Option<Stopping>,
    /// A node without replicas: who asks whether its sessions use this view.
    last_words: Vec<Address>,
    control: Control,
    now: Now,
}

/// The nodes that this one reaches, and does not.
#[derive(Default)]
struct Reach {
    /// Nodes whose links are up.
    found: Vec<NodeId>,
    /// Data nodes of the view whose links went down.
    lost: Vec<NodeId>,
    /// How often the others were lost.
    losses: BTreeMap<NodeId, u64>,
    /// Those without whom no view is awaited any more.
    given_up: Vec<NodeId>,
    /// When those that are lost are given up.
    give_up_at: Option<Instant>,
    /// When data nodes that are not connected count as lost.
    connect_until: Option<Instant>,
}

/// How far this node and the others are in a view.
#[derive(Default)]
struct Entry {
    /// The view in which this node's epochs run.
    view: ViewNumber,
    /// This node has installed it whole.
    is_installed: bool,
    /// The members that have installed it whole, this one included once it has.
    installed: Vec<NodeId>,
    /// This node joins: the slots that are copied to it in this view.
    copied: Vec<SlotId>,
}

/// The next map of this node.
#[derive(Default)]
struct Making {
    /// Readers of all fragments that this node's ldms have made, of tables in the map.
    readers: Readers,
    /// The map that is on its way.
    rollout: Option<Rollout>,
    /// The view, the schema or the lost members changed while it was; or tables of the next map are being made.
    is_stale: bool,
    /// Those tables, and when it goes on with them.
    ahead: Option<TablesAhead>,
    go_on_at: Option<Instant>,
}

/// Questions that this module has asked others, by its own numbers.
#[derive(Default)]
struct Requests {
    gatherings: BTreeMap<u64, Gathering>,
    backfills: BTreeMap<u64, Backfill>,
    next: u64,
}

/// Orders and questions of operators at the management port that are not answered yet.
#[derive(Default)]
struct Operators {
    /// `tls info`, which the driver answers.
    tls_questions: Vec<ConnectionId>,
    /// `report memoryusage`.
    memory_reports: Vec<MemoryReport>,
    /// `shutdown` of a cluster with rows on disk.
    full_stops: FullStops,
    /// `N restart`: nodes that were asked whether they could start again.
    restarts: Vec<Asked>,
    /// `check`, under way.
    check: Option<Check>,
    /// `check`, for which the newest catalogue is awaited.
    checks_wanted: Vec<ConnectionId>,
    /// The end of an order to recover.
    recoveries: BTreeMap<u64, ConnectionId>,
}

/// The control plane as this module knows it.
#[derive(Default)]
struct Control {
    alone: Alone,
    /// The nodes that have copies of the control log; empty while that is not known.
    voters: Vec<VoterPlace>,
    /// `membership` waits for this; empty: for nothing.
    awaited: String,
}

impl MainModule {
    /// The block of a node that starts.
    #[must_use]
    pub fn new(config: MainConfig) -> Self {
        let schema = Arc::new(catalogue::bootstrap());
        let has_part =
            |module: &&Address| matches!(module.kind, ModuleKind::Ldm | ModuleKind::Tc | ModuleKind::Disk);
        let of_epochs = config.modules.iter().filter(has_part).copied().collect();
        let mut map = NodeMap::empty(config.node, Arc::clone(&schema));
        map.lease = Arc::clone(&config.lease);
        Self {
            view: Arc::new(View::none()),
            incarnation: Incarnation(0),
            reach: Reach::default(),
            entry: Entry::default(),
            restart: RestartInfo::default(),
            waiting: Waiting::default(),
            map: Arc::new(map),
            schema,
            making: Making::default(),
            is_open: false,
            epochs: EpochMember::new(config.node, of_epochs, config.time_between_epochs),
            schema_reading: SchemaReading::default(),
            sequences: Sequences::default(),
            requests: Requests::default(),
            operators: Operators::default(),
            stopping: None,
            last_words: Vec::new(),
            control: Control::default(),
            now: Now::default(),
            config,
        }
    }

    fn me(&self) -> Address {
        Address::main(self.config.node)
    }

    /// The highest epoch heard of.
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        self.epochs.open()
    }

    /// Its counts since its start.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let management = self.config.management.as_ref();
        management.map_or_else(Counts::new, |management| {
            vec![("MANAGEMENT_CONNECTIONS_REFUSED", management.refused())]
        })
    }

    /// A message carried this epoch.
    pub fn adopt(&mut self, epoch: Epoch) {
        self.epochs.adopt(epoch);
    }

    /// When something is due.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        let check = self.operators.check.as_ref().map(Check::deadline);
        let waits = [
            self.making.go_on_at,
            self.reach.connect_until,
            self.reach.give_up_at,
            self.waiting.deadline(),
            self.asked_deadline(),
            self.memory_report_deadline(),
        ];
        let deadlines =
            [self.epochs.deadline(), self.schema_reading.deadline(), check].into_iter().chain(waits);
        let stops = self.stop_deadline().into_iter().chain(self.full_stop_deadline());
        let others = stops.chain(self.control.alone.deadline());
        deadlines.flatten().chain(others).min()
    }

    fn new_request(&mut self) -> RequestId {
        self.requests.next += 1;
        RequestId(self.requests.next)
    }

    /// Handles everything but signals and shared objects.
    pub fn handle(&mut self, now: Now, input: Input<'_, Shared>, outputs: &mut Outputs<Shared>) {
        self.now = now;
        #[expect(clippy::wildcard_enum_match_arm, reason = "inputs of other modules")]
        match input {
            Input::Deadline => {
                self.epochs.on_deadline(now, outputs);
                self.retry_schema(now, outputs);
                if self.making.go_on_at.take_if(|at| *at <= now.monotonic).is_some() {
                    self.changed(outputs);
                }
                self.continue_check(outputs);
                self.lose_unconnected(now, outputs);
                self.give_up_lost(now, outputs);
                self.continue_stop(outputs);
                self.continue_full_stop(outputs);
                self.tell_waiting(outputs);
                self.end_asked(outputs);
                self.end_memory_reports(outputs);
                self.remind_who_is_alone(outputs);
            }
            Input::Start { seed } => {
                self.reach(Step::Started);
                if let Some(management) = &mut self.config.management {
                    management.start(seed);
                    outputs.request(RequestToRuntime::OpenListeners);
                }
                self.begin_waiting(outputs);
            }
            Input::Bytes { connection, buffer } => self.on_management_bytes(connection, buffer, outputs),
            Input::Opened { connection, peer, .. } => {
                if let Some(management) = &mut self.config.management {
                    management.welcome(connection, peer, outputs);
                }
            }
            Input::SecurityChanged { connection, .. } => {
                if let Some(management) = &mut self.config.management {
                    management.certify(connection);
                }
            }
            Input::Closed { connection, .. } => {
                if let Some(management) = &mut self.config.management {
                    management.forget(connection);
                }
                self.forget_check(connection);
                self.operators.recoveries.retain(|_, waiting| *waiting != connection);
                self.forget_asked(connection);
                self.operators.tls_questions.retain(|other| *other != connection);
                self.forget_memory_report(connection);
                self.forget_full_stop(connection);
            }
            Input::Report(report) => {
                if let Some(management) = &mut self.config.management {
                    management
                        .set_addresses(report.peers.iter().map(|peer| (peer.node, peer.address.as_str())));
                }
                self.on_runtime_report(&report, outputs);
            }
            Input::StopRequested => self.begin_stop(0, "this process was asked to", false, outputs),
            _ => {}
        }
    }

    /// Handles a signal.
    pub fn on_signal(&mut self, now: Now, envelope: Envelope, outputs: &mut Outputs<Shared>) {
        self.now = now;
        let from = envelope.from;
        match envelope.signal {
            // The wrapper refuses these.
            protocol::not_for!(main) => {}
            // Only this node's own modules say these.
            Signal::ViewInstall(..)
            | Signal::PeerLost { .. }
            | Signal::SlotCopied { .. }
            | Signal::Voters { .. }
            | Signal::ControlPlaneAwaited { .. }
            | Signal::VotersRecovered { .. }
            | Signal::EpochStamped { .. }
            | Signal::RestartAwaited { .. }
            | Signal::EpochWhole { .. }
            | Signal::Flushed { .. }
            | Signal::PeerFound { .. }
                if from.node != self.config.node => {}
            Signal::JoinAccepted { incarnation } => self.on_joined(incarnation, outputs),
            Signal::ViewInstall(view, ..) => self.on_view(view, outputs),
            Signal::PeerLost { node, incarnation } => self.on_peer_lost(node, incarnation, outputs),
            Signal::ViewInstalled { view } => self.on_view_installed(from.node, view, outputs),
            Signal::SlotCopied { slot } => self.on_slot_copied(slot, outputs),
            Signal::RestartProgress { copied, slots } => self.on_progress(from.node, copied, slots),
            Signal::RestartCheck { request, config } => {
                self.on_restart_check(from, request, &config, outputs)
            }
            Signal::RestartChecked { request, refusal } => {
                self.on_restart_checked(from.node, request, refusal, outputs);
            }
            Signal::NodeReport(report) => self.on_node_report(from.node, *report, outputs),
            Signal::Voters { voters, .. } => self.control.voters = voters,
            Signal::ControlPlaneAwaited { text } => self.control.awaited = text,
            Signal::RestartAwaited { text } => self.on_restart_awaited(text, outputs),
            Signal::VotersRecovered { number, text } => self.on_voters_recovered(number, &text, outputs),
            Signal::PeerFound { node } => self.on_peer_found(node, outputs),
            Signal::EpochWanted { .. }
            | Signal::EpochOpen { .. }
            | Signal::EpochDrained { .. }
            | Signal::EpochClosed { .. }
            | Signal::EpochStamped { .. }
            | Signal::EpochWhole { .. }
            | Signal::Flushed { .. }
            | Signal::EpochFlushed { .. }
            | Signal::EpochDurable { .. }
            | Signal::DurableWanted { .. } => {
                if let Some(signal) = EpochSignals::of(&envelope) {
                    self.on_epoch(now, from, signal, outputs);
                }
            }
            signal @ (Signal::Restore(_) | Signal::RestoreToJoin(_)) => self.to_disk(from, signal, outputs),
            Signal::RestoreProgress(progress) => self.on_restore_progress(from, progress, outputs),
            Signal::SchemaInstall { request, version, tables, used_for_ms } => {
                self.on_schema_install(now, from, request, version, (tables, used_for_ms), outputs)
            }
            Signal::SchemaInstalled { request, users, .. } if from.node == self.config.node => {
                self.on_schema_users(request, users, outputs);
            }
            Signal::SchemaInstalled { version, .. } => self.on_schema_told(from.node, version, outputs),
            Signal::SchemaFetch { request, view, known } => {
                self.on_schema_fetch(from, request, (view, known), outputs);
            }
            Signal::SchemaFetched { request, schema, since } => {
                self.on_schema_fetched(from.node, request, (&schema, since), outputs)
            }
            Signal::SequenceRequest { request, table, count, at_least } => {
                self.on_sequence_request(from, request, table, count, at_least, outputs);
            }
            Signal::ReadDone(done) => self.on_sequence_read(*done, outputs),
            Signal::WriteDone(done) => self.on_sequence_written(*done, outputs),
            Signal::CommitDone(done) => self.on_sequence_unknown(&done, outputs),
            Signal::TransactionMoved { transaction, slot } => {
                self.on_reservation_moved(from, transaction, slot, outputs);
            }
            Signal::BackfillRequest { request, table, index } => {
                self.on_backfill(from, request, table, index, outputs)
            }
            Signal::BackfillDone { request, refusal } => self.on_backfill_done(request, refusal, outputs),
            Signal::InfoRequest { request, table } => self.on_info_request(from, request, table, outputs),
            Signal::InfoDone { request, rows } if self.awaits_memory_report(request) => {
                self.on_memory_reported(from.node, request, &rows, outputs);
            }
            Signal::InfoDone { request, rows } => self.on_info_done(request, rows, outputs),
            Signal::ChecksumDone(done) => self.on_checksum_done(now, from.node, *done, outputs),
            Signal::StopNode { reason, exit_code, is_alone: true } => {
                self.begin_stop(exit_code, &reason, true, outputs);
            }
            Signal::StopNode { reason, exit_code, is_alone: false } => {
                outputs.event(Severity::Info, format!("stopping: {reason}"));
                outputs.request(RequestToRuntime::Exit(exit_code));
            }
            Signal::LastWord => {
                self.last_words.push(from);
                self.answer_last_words(outputs);
            }
            Signal::StoodDown | Signal::Drained => self.on_stopped(from, outputs),
            signal @ (Signal::FullStopWanted { .. }
            | Signal::FullStopRequest { .. }
            | Signal::FullStopDone { .. }) => self.on_full_stop(from, signal, outputs),
            // A new view begins every reservation again, and nobody waits for the answer to a hint.
            Signal::Returned(_) | Signal::WaitMoved { .. } | Signal::Failed { .. } => {}
        }
    }

    /// This process start is known to the cluster.
    fn on_joined(&mut self, incarnation: Incarnation, outputs: &mut Outputs<Shared>) {
        self.incarnation = incarnation;
        self.tell_disk(Signal::JoinAccepted { incarnation }, outputs);
        self.reach(Step::Allocated);
        self.changed(outputs);
    }

    /// The module `disk`, if this node keeps a log, hears what this one has heard.
    fn tell_disk(&self, signal: Signal, outputs: &mut Outputs<Shared>) {
        for disk in self.modules(ModuleKind::Disk) {
            outputs.send(self.me(), disk, signal.clone());
        }
    }

    /// The membership of this node has an order for `disk`.
    fn to_disk(&self, from: Address, signal: Signal, outputs: &mut Outputs<Shared>) {
        if from.node == self.config.node {
            self.tell_disk(signal, outputs);
        }
    }

    fn on_epoch(&mut self, now: Now, from: Address, signal: EpochSignals, outputs: &mut Outputs<Shared>) {
        let known = (self.epochs.flushed_by_all(), self.epochs.durable());
        self.epochs.on_signal(now, from, signal, outputs);
        let restart = self.view.restart.number;
        let (flushed, durable) = (self.epochs.flushed_by_all(), self.epochs.durable());
        if (flushed, durable) != known {
            self.tell_disk(Signal::EpochDurable { restart, flushed, durable }, outputs);
        }
        self.answer_if_done(outputs);
    }

    fn modules(&self, kind: ModuleKind) -> Vec<Address> {
        self.config.modules.iter().copied().filter(|module| module.kind == kind).collect()
    }

    // ---- members ----------------------------------------------------------------------------------------------------

    fn on_view(&mut self, view: Arc<View>, outputs: &mut Outputs<Shared>) {
        if view.number <= self.view.number {
            return;
        }
        if view.is_stopped {
            self.on_cluster_stopped(&view, outputs);
            // The others end, or have started since, and wait for a restart.
            if self.config.management.is_none() {
                return;
            }
        }
        let is_first = self.view.number.0 == 0;
        if is_first {
            self.reach.connect_until = Some(self.now.monotonic + CONNECT_PATIENCE);
        }
        self.waiting.forget_restart();
        self.view = view;
        self.reach(Step::Included);
        // A node that is connected again in a newer view has not been lost in it.
        self.reach.lost.retain(|node| self.view.is_in_sync(*node) && !self.reach.found.contains(node));
        self.reach.given_up.retain(|node| self.reach.lost.contains(node));
        self.schema_reading.begin_view(&self.view);
        if !is_first {
            self.lose_new_members();
        }
        if self.fetches_schema() && (!self.is_joining() || self.entry.view == ViewNumber(0)) {
            // A joining member does not enter a view before it knows the tables that it is going to get rows of.
            self.fetch_schema(outputs);
        }
        self.check_in_new_view(outputs);
        self.continue_full_stop(outputs);
        self.look_who_is_alone(outputs);
        self.changed(outputs);
    }

    /// A member whose link was down when it came to be in sync is lost, too: its loss said nothing then. Between
    /// replicas a newer view repairs it.
    fn lose_new_members(&mut self) {
        if self.view.is_in_sync(self.config.node) {
            return;
        }
        let is_silent = |node: &NodeId| !self.reach.found.contains(node) && !self.reach.lost.contains(node);
        let silent: Vec<NodeId> = self.view.in_sync(SlotId(0)).iter().copied().filter(is_silent).collect();
        if !silent.is_empty() {
            self.reach.lost.extend(silent);
            self.reach.give_up_at = Some(self.now.monotonic + VIEW_PATIENCE);
        }
    }

    /// This node holds slots that are being copied to it.
    pub(super) fn is_joining(&self) -> bool {
        self.view.is_member(self.config.node) && !self.view.is_in_sync(self.config.node)
    }

    /// The local replica of the system tables, if there is one, is not whole.
    pub(super) fn fetches_schema(&self) -> bool {
        self.modules(ModuleKind::Ldm).is_empty() || !self.view.is_in_sync(self.config.node)
    }

    /// A slot was copied: when all were, the control plane hears of it.
    fn on_slot_copied(&mut self, slot: SlotId, outputs: &mut Outputs<Shared>) {
        if !self.entry.copied.contains(&slot) {
            self.entry.copied.push(slot);
            self.report_progress(outputs);
        }
        let slots = self.view.slots_of_node(self.config.node);
        let mut mine = slots.filter(|id| self.view.joining(*id).contains(&self.config.node));
        if self.entry.view == self.view.number
            && self.is_joining()
            && mine.all(|id| self.entry.copied.contains(&id))
        {
            self.reach(Step::Copied);
            outputs.event(Severity::Info, format!("node {} has all rows", self.config.node));
            let caught_up = Signal::CaughtUp { view: self.entry.view };
            outputs.send(self.me(), Address::membership(self.config.node), caught_up);
        }
    }

    /// This module uses a newer view: the epochs go on in it.
    fn enter_view(&mut self, outputs: &mut Outputs<Shared>) {
        if self.view.number <= self.entry.view || self.map.view.number != self.view.number {
            return;
        }
        self.entry.view = self.view.number;
        self.entry.is_installed = false;
        self.entry.installed.clear();
        self.entry.copied.clear();
        self.reach(Step::Entered);
        if self.is_joining() {
            self.report_progress(outputs);
        }
        self.epochs.install(self.now, &self.view, outputs);
        self.restart_reservations(outputs);
    }

    /// All modules of this node use the view: every data node hears of it.
    fn report_view_installed(&mut self, outputs: &mut Outputs<Shared>) {
        if self.entry.is_installed
            || self.map.view.number != self.entry.view
            || !self.view.is_in_sync(self.config.node)
        {
            return;
        }
        self.entry.is_installed = true;
        for node in self.view.in_sync(SlotId(0)) {
            let installed = Signal::ViewInstalled { view: self.entry.view };
            outputs.send(self.me(), Address::main(*node), installed);
        }
    }

    fn on_view_installed(&mut self, node: NodeId, view: ViewNumber, outputs: &mut Outputs<Shared>) {
        if view != self.entry.view || self.entry.installed.contains(&node) {
            return;
        }
        self.entry.installed.push(node);
        let members = self.map.view.in_sync(SlotId(0));
        let mut is_settled = members.iter().all(|member| self.entry.installed.contains(member));
        if mutants::is(Mutant::SettledByOne) {
            is_settled = true;
        }
        if is_settled {
            for ldm in self.modules(ModuleKind::Ldm) {
                outputs.send(self.me(), ldm, Signal::ViewSettled { view });
            }
            self.continue_stop(outputs);
        }
    }

    /// No view without the lost data nodes came.
    fn give_up_lost(&mut self, now: Now, outputs: &mut Outputs<Shared>) {
        if self.reach.give_up_at.is_none_or(|at| at > now.monotonic) {
            return;
        }
        self.reach.give_up_at = None;
        if self.reach.given_up == self.reach.lost {
            return;
        }
        self.reach.given_up.clone_from(&self.reach.lost);
        if self.view.place(SlotId(0)).is_some_and(|place| self.reach.given_up.contains(&place.primary)) {
            self.fail_reservations(outputs);
        }
        self.changed(outputs);
    }

    /// A member is out of reach: a data node stays lost until a view leaves it out; other nodes may come back.
    fn on_peer_lost(&mut self, node: NodeId, incarnation: Incarnation, outputs: &mut Outputs<Shared>) {
        if let Some(management) = &mut self.config.management {
            management.set_up(node, false);
        }
        self.reach.found.retain(|found| *found != node);
        self.schema_reading.forget_told(node);
        if self.making.rollout.is_none() {
            self.report_installed(outputs);
        }
        if self.view.node(node).is_none() {
            return;
        }
        outputs.event(Severity::Warning, format!("node {node} is lost"));
        if self.view.is_in_sync(node) && !self.reach.lost.contains(&node) {
            self.reach.lost.push(node);
            self.reach.give_up_at = Some(self.now.monotonic + VIEW_PATIENCE);
            self.schema_reading.lose(node);
        }
        // Counted, because one that is back before the next map is told is not `lost` in any.
        *self.reach.losses.entry(node).or_default() += 1;
        self.fail_gatherings(node, outputs);
        if self.view.is_in_sync(node) {
            self.fail_check(node, outputs);
        }
        self.changed(outputs);
        for module in self.modules(ModuleKind::Sql) {
            outputs.send(self.me(), module, Signal::PeerLost { node, incarnation });
        }
    }

    fn on_peer_found(&mut self, node: NodeId, outputs: &mut Outputs<Shared>) {
        if let Some(management) = &mut self.config.management {
            management.set_up(node, true);
            if self.config.reporting.is_some() {
                // It says from where the node is connected.
                outputs.request(RequestToRuntime::Report);
            }
        }
        self.report_state_to(node, outputs);
        self.epochs.on_link_up(self.now, node, outputs);
        if !self.reach.found.contains(&node) {
            self.reach.found.push(node);
        }
        if !self.view.is_in_sync(self.config.node) {
            // Nothing that a replica needs was lost with the connection. Between replicas a newer view repairs it.
            self.reach.lost.retain(|lost| *lost != node);
            self.reach.given_up.retain(|lost| *lost != node);
            // But what was asked of the primary, or its answer, may have been.
            if self.view.place(SlotId(0)).is_some_and(|place| place.primary == node) {
                self.restart_reservations(outputs);
            }
        }
        self.changed(outputs);
        self.announce_schema(node, outputs);
        if self.view.number.0 > 0 && self.is_behind() {
            self.fetch_schema(outputs);
        }
    }

    fn is_lost(&self, node: NodeId) -> bool {
        self.reach.lost.contains(&node)
    }

    fn has_given_up_nodes(&self) -> bool {
        !self.reach.given_up.is_empty()
    }

    /// Data nodes that never answered count as lost some time after the view was installed.
    fn lose_unconnected(&mut self, now: Now, outputs: &mut Outputs<Shared>) {
        if self.reach.connect_until.is_none_or(|until| until > now.monotonic) {
            return;
        }
        self.reach.connect_until = None;
        let silent = |node: &NodeId| {
            *node != self.config.node && !self.reach.found.contains(node) && !self.is_lost(*node)
        };
        let missing: Vec<NodeId> = self.view.in_sync(SlotId(0)).iter().copied().filter(silent).collect();
        for node in missing {
            self.on_peer_lost(node, Incarnation(0), outputs);
        }
    }

    /// Members that nobody can wait for: lost data nodes, and other nodes that are not connected.
    fn unreachable(&self) -> Vec<NodeId> {
        let nodes = self.view.nodes.iter().map(|info| info.node).filter(|node| *node != self.config.node);
        nodes
            .filter(|node| {
                if self.view.is_in_sync(*node) {
                    self.reach.lost.contains(node)
                } else {
                    !self.reach.found.contains(node)
                }
            })
            .collect()
    }

    /// Whether this node reaches every data node that is not lost: what it sends them arrives.
    fn is_connected(&self) -> bool {
        let others = self.view.in_sync(SlotId(0)).iter().filter(|node| **node != self.config.node);
        others.clone().all(|node| self.reach.found.contains(node) || self.reach.lost.contains(node))
    }

    // ---- maps -------------------------------------------------------------------------------------------------------

    /// Something that maps are made of has changed: make a new one, now or after the one that is on its way.
    fn changed(&mut self, outputs: &mut Outputs<Shared>) {
        if self.making.rollout.is_some() {
            self.making.is_stale = true;
            return;
        }
        if self.view.number.0 == 0 || self.incarnation == Incarnation(0) {
            return;
        }
        if self.is_joining() && !self.schema_reading.has_fetched() {
            return;
        }
        let Some(tables) = self.tables_of_next_map() else { return };
        self.making.is_stale = false;
        let ldms = self.modules(ModuleKind::Ldm);
        let map = self.make_map(tables);
        let tables = Arc::new(map.clone());
        let disk = self.modules(ModuleKind::Disk);
        for module in if disk.is_empty() { &ldms } else { &disk } {
            outputs.share(self.me(), *module, Shared::Tables(Arc::clone(&tables)));
        }
        self.making.rollout = Some(Rollout { map, tables_missing: ldms, installs_missing: Vec::new() });
        self.publish_map(outputs);
    }

    /// The tables of the next map. None: too many of them are new to be made in one call, so it goes on in the next.
    fn tables_of_next_map(&mut self) -> Option<TablesAhead> {
        let terms = self.view.slot_terms();
        let ahead = self.making.ahead.take().filter(|ahead| ahead.are_of(terms, &self.schema));
        let mut ahead = ahead.unwrap_or_else(|| self.map.begin_tables(terms, &self.schema));
        if self.map.make_tables(&mut ahead, TABLES_PER_CALL) {
            self.making.go_on_at = None;
            return Some(ahead);
        }
        (self.making.ahead, self.making.is_stale) = (Some(ahead), true);
        self.making.go_on_at = Some(self.now.monotonic);
        None
    }

    fn make_map(&self, tables: TablesAhead) -> NodeMap {
        let view = Arc::clone(&self.view);
        let mut map = self.map.with_tables(self.incarnation, view, tables, &self.unreachable());
        map.losses.clone_from(&self.reach.losses);
        map.given_up.clone_from(&self.reach.given_up);
        map.is_behind = self.is_behind();
        map
    }

    /// Takes a shared object from a module.
    pub fn on_shared(&mut self, now: Now, from: Address, shared: Shared, outputs: &mut Outputs<Shared>) {
        self.now = now;
        match shared {
            Shared::Readers { version, readers } => self.on_readers(from, version, readers, outputs),
            Shared::Installed { version } => self.on_installed(from, version, outputs),
            Shared::Map(_) => self.enter_view(outputs),
            Shared::Catalogue(schema) => self.schema = schema,
            Shared::Tables(_)
            | Shared::Account(_)
            | Shared::Redo { .. }
            | Shared::Fragments { .. }
            | Shared::ListFragments
            | Shared::FragmentsListed(_)
            | Shared::Scan(_)
            | Shared::Scanned(..)
            | Shared::Load(_)
            | Shared::Loaded(_) => {}
        }
    }

    fn on_readers(
        &mut self,
        from: Address,
        version: SchemaVersion,
        readers: Vec<PublishedReader>,
        outputs: &mut Outputs<Shared>,
    ) {
        readers.into_iter().for_each(|published| self.making.readers.insert(published));
        if let Some(rollout) = &mut self.making.rollout
            && rollout.map.schema.version == version
        {
            rollout.tables_missing.retain(|missing| *missing != from);
        }
        self.publish_map(outputs);
    }

    /// All fragments exist: every module may use them.
    fn publish_map(&mut self, outputs: &mut Outputs<Shared>) {
        let Some(rollout) = &mut self.making.rollout else { return };
        if !rollout.tables_missing.is_empty() || !rollout.installs_missing.is_empty() {
            return;
        }
        for (table, _, definition) in self.map.schema.tables().changes(rollout.map.schema.tables()) {
            if definition.is_none() {
                self.making.readers.remove_table(table);
            }
        }
        let map = rollout.map.with(
            rollout.map.incarnation,
            Arc::clone(&rollout.map.view),
            Arc::clone(&rollout.map.schema),
            &rollout.map.lost,
        );
        let map = Arc::new(map.with_readers(&self.making.readers));
        rollout.installs_missing.clone_from(&self.config.modules);
        self.map = Arc::clone(&map);
        for module in &self.config.modules {
            outputs.share(Address::main(self.config.node), *module, Shared::Map(Arc::clone(&map)));
        }
    }

    fn on_installed(&mut self, from: Address, version: SchemaVersion, outputs: &mut Outputs<Shared>) {
        let Some(rollout) = &mut self.making.rollout else { return };
        if rollout.map.schema.version != version {
            return;
        }
        rollout.installs_missing.retain(|missing| *missing != from);
        if !rollout.installs_missing.is_empty() {
            return;
        }
        self.making.rollout = None;
        self.report_view_installed(outputs);
        self.answer_early_fetches(outputs);
        self.answer_last_words(outputs);
        if self.making.is_stale {
            self.changed(outputs);
        } else {
            self.report_installed(outputs);
            for node in self.reach.found.clone() {
                self.announce_schema(node, outputs);
            }
        }
        let is_ready = self.is_schema_known()
            && self.is_connected()
            && !self.making.is_stale
            && self.making.rollout.is_none();
        let is_ready = is_ready && !self.is_joining();
        if !self.is_open && self.config.management.is_none() && is_ready {
            self.is_open = true;
            self.restart.reach(Step::Completed, self.now.monotonic);
            outputs.event(Severity::Info, format!("node {} started", self.config.node));
            outputs.request(RequestToRuntime::OpenListeners);
        }
        self.report_state(outputs);
    }

    /// A node with slots knows the schema from the start; another one has to ask first.
    fn is_schema_known(&self) -> bool {
        !self.fetches_schema() || !self.schema_reading.is_fetching()
    }

    // ---- management -------------------------------------------------------------------------------------------------

    fn on_management_bytes(
        &mut self,
        connection: ConnectionId,
        buffer: &mut ReceiveBuffer,
        outputs: &mut Outputs<Shared>,
    ) {
        let (me, awaited) = (self.me(), self.awaited_by_all().to_owned());
        let Some(management) = &mut self.config.management else {
            return outputs.act(connection, ConnectionAction::Close);
        };
        let cluster = ClusterState {
            view: &self.view,
            voters: &self.control.voters,
            losses: &self.reach.losses,
            incarnation: self.incarnation,
            awaited: &awaited,
            now: self.now.monotonic,
        };
        for request in management.on_bytes(me, connection, buffer, &cluster, outputs) {
            match request {
                ManagementRequest::Check => self.request_check(connection, outputs),
                ManagementRequest::TlsInfo => self.ask_for_tls(connection, outputs),
                ManagementRequest::MemoryReport { nodes } => {
                    self.ask_for_memory(connection, &nodes, outputs);
                }
                ManagementRequest::FullStop { extent, reason } => {
                    self.begin_full_stop(extent, (Some(connection), &reason), outputs);
                }
                ManagementRequest::Stop { node, exit_code } => {
                    self.request_stop(connection, node, exit_code, outputs)
                }
                ManagementRequest::Recover { cluster, without, operator, goal } => {
                    let number = self.new_request().0;
                    self.operators.recoveries.insert(number, connection);
                    let order = RecoveryOrder { number, cluster, without, operator, goal };
                    let order = Signal::RecoverVoters(Box::new(order));
                    outputs.send(self.me(), Address::membership(self.config.node), order);
                }
            }
        }
    }

    fn on_progress(&mut self, node: NodeId, copied: u32, slots: u32) {
        if let Some(management) = &mut self.config.management {
            management.set_progress(node, copied, slots);
        }
    }

    fn on_node_report(&mut self, node: NodeId, report: NodeReport, outputs: &mut Outputs<Shared>) {
        if let Some(management) = &mut self.config.management {
            management.set_report(node, report, outputs);
        }
    }

    /// `membership` has done, or refused, what an operator ordered.
    fn on_voters_recovered(&mut self, number: u64, text: &str, outputs: &mut Outputs<Shared>) {
        if let Some(connection) = self.operators.recoveries.remove(&number) {
            self.answer_management(connection, text, outputs);
        }
    }

    /// The answer to a request that took some time.
    fn answer_management(&self, connection: ConnectionId, text: &str, outputs: &mut Outputs<Shared>) {
        crate::management::write_answer(text, outputs.buffer(connection));
    }
}

#[cfg(test)]
pub(crate) mod tests;
