//! The catalogue of this node: read from the system tables' local replica, or fetched from a data node by a node
//! without one.
//!
//! A DDL job also asks who uses tables in older versions. The `sql` modules of the node know, and are asked after the
//! version is installed, so that nobody begins to use an older one behind the answer. A data node reports a version
//! when the SQL nodes that it reaches have it, too. An SQL node that the job's node does not reach still gets its rows
//! from data nodes, and a REVOKE must be known there before it is acknowledged.
//!
//! The whole catalogue is read in slices (`scan`) and told in parts (`parts`): a node that starts, or is far behind,
//! answers others meanwhile.
//!
//! Invariants: a schema is built from rows that belong to one version (the version row is read before and after. A row
//! that is still being committed makes the reading start again a little later). A version is reported installed once
//! every module of this node uses it or a newer one. A node without a replica that lost a data node answers no client
//! before that one has told it the catalogue, or is left out and another one has.

mod parts;
pub(super) mod scan;

use super::MainModule;
use super::restart_info::Step;
use crate::mutants::{self, Mutant};
use catalogue::{SchemaChanges, SystemTables};
use memory::Guard;
use parts::{Taking, Telling, Told};
use protocol::program::{Refusal, TableRef};
use protocol::signal::{RequestId, SCHEMA_USERS_MAX, TableUsers};
use protocol::{Address, ModuleKind, NodeInfo, NodeRole, Outputs, Severity, Signal, SqlError, View};
use query::Shared;
use scan::{CatalogueScan, SLICE_SIZE, Scanned};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use stdx::{Duration, Instant, Now};
use storage::{Lookup, Visibility};
use types::{IndexId, NodeId, Schema, SchemaVersion, SlotId, TableId, ViewNumber};

/// How soon the system tables are read again when a commit was still under way.
const READ_AGAIN: Duration = Duration::from_millis(1);
/// How soon a node without slots asks again for the catalogue.
const FETCH_AGAIN: Duration = Duration::from_millis(200);

/// The readers of the schema, and the versions that they wait for.
#[derive(Default)]
pub(super) struct SchemaReading {
    system: SystemTables,
    waiting: Vec<Waiting>,
    /// The newest version that each node without replicas has told this one, since it was found.
    told: BTreeMap<NodeId, SchemaVersion>,
    /// Asked of this node's `sql` modules: who uses tables that change.
    asked: BTreeMap<u64, Asked>,
    read_at: Option<Instant>,
    /// The whole catalogue is being read, slice by slice.
    scan: Option<CatalogueScan>,
    /// A node without slots: the catalogue that it asked for has not come.
    is_fetching: bool,
    /// How often it has asked.
    fetches: usize,
    /// Data nodes that were lost and have not told the catalogue since, and what they were asked.
    unheard: BTreeMap<NodeId, Option<RequestId>>,
    /// Some version came.
    has_fetched: bool,
    /// The modules that asked for the catalogue from a view that this node does not use yet.
    early: BTreeMap<Address, (RequestId, ViewNumber, Option<SchemaVersion>)>,
    /// Nodes that are told the whole catalogue, in turn, and when the next part goes.
    telling: VecDeque<Telling>,
    tell_at: Option<Instant>,
    /// Nodes that tell this one the whole catalogue.
    taking: BTreeMap<NodeId, Taking>,
}

/// A DDL job that waits for this node to install a version.
struct Waiting {
    from: Address,
    request: RequestId,
    version: SchemaVersion,
    tables: Vec<TableUsers>,
    used_for_ms: u32,
}

/// A DDL job that is told who uses its tables when all `sql` modules have answered.
struct Asked {
    from: Address,
    request: RequestId,
    missing: usize,
    users: Vec<u32>,
}

/// A new index whose entries the ldms of this node are building.
pub(super) struct Backfill {
    table: TableRef,
    index: IndexId,
    /// The modules that are told when it is done.
    askers: Vec<(Address, RequestId)>,
    missing: usize,
    refusal: Option<Refusal>,
}

/// The word that there is a version, which nobody waits for.
fn hint(version: SchemaVersion) -> Signal {
    Signal::SchemaInstall { request: RequestId(0), version, tables: Vec::new(), used_for_ms: 0 }
}

impl SchemaReading {
    pub(super) fn deadline(&self) -> Option<Instant> {
        stdx::earlier(self.read_at, self.tell_at)
    }

    pub(super) fn has_fetched(&self) -> bool {
        self.has_fetched
    }

    pub(super) fn is_fetching(&self) -> bool {
        self.is_fetching
    }

    /// A node is out of reach: it tells anew what it has installed, and asks again for the catalogue.
    pub(super) fn forget_told(&mut self, node: NodeId) {
        self.told.remove(&node);
        self.telling.retain(|telling| telling.to.node != node);
        self.taking.remove(&node);
    }

    /// A data node is lost: what ended there from now on is not known here.
    pub(super) fn lose(&mut self, node: NodeId) {
        self.unheard.insert(node, None);
    }

    /// A node that is left out is not asked any more: the others have all that was committed.
    pub(super) fn begin_view(&mut self, view: &View) {
        self.unheard.retain(|node, _| view.in_sync(SlotId(0)).contains(node));
    }
}

impl MainModule {
    /// A DDL job has written a new version.
    pub(super) fn on_schema_install(
        &mut self,
        now: Now,
        from: Address,
        request: RequestId,
        version: SchemaVersion,
        (tables, used_for_ms): (Vec<TableUsers>, u32),
        outputs: &mut Outputs<Shared>,
    ) {
        // A job that does not hear anything asks again.
        let waiting = &mut self.schema_reading.waiting;
        waiting.retain(|waiting| (waiting.from, waiting.request) != (from, request));
        waiting.push(Waiting { from, request, version, tables, used_for_ms });
        if self.schema.version >= version {
            if self.making.rollout.is_none() {
                self.report_installed(outputs);
            }
            return;
        }
        if mutants::is(Mutant::RevokeNotAwaited) {
            let installed = Signal::SchemaInstalled { request, version, users: Vec::new() };
            outputs.send(self.me(), from, installed);
        }
        self.read_or_fetch(now, outputs);
    }

    pub(super) fn retry_schema(&mut self, now: Now, outputs: &mut Outputs<Shared>) {
        if self.schema_reading.tell_at.is_some_and(|at| at <= now.monotonic) {
            self.tell_part(outputs);
        }
        if self.schema_reading.read_at.is_some_and(|at| at <= now.monotonic) {
            self.schema_reading.read_at = None;
            self.read_or_fetch(now, outputs);
        }
    }

    fn read_or_fetch(&mut self, now: Now, outputs: &mut Outputs<Shared>) {
        if self.fetches_schema() {
            return self.fetch_schema(outputs);
        }
        let waited_for = self.schema_reading.waiting.iter().map(|waiting| waiting.version);
        let wanted = waited_for.chain([self.schema.version]).max();
        match self.read_schema() {
            Some(schema) if Some(schema.version) >= wanted => {
                self.schema = schema;
                self.changed(outputs);
            }
            // It goes on at once, behind what else there is to do.
            _ if self.schema_reading.scan.is_some() => {}
            // A transaction that a lost replica left undecided stays so in this view.
            _ if self.has_given_up_nodes() => self.fail_installs(outputs),
            _ => self.schema_reading.read_at = Some(now.monotonic + READ_AGAIN),
        }
    }

    fn fail_installs(&mut self, outputs: &mut Outputs<Shared>) {
        let me = self.me();
        for Waiting { from, request, .. } in std::mem::take(&mut self.schema_reading.waiting) {
            let error =
                SqlError::deadlock("a replica of the system tables is lost: the schema cannot change");
            outputs.send(me, from, Signal::Failed { request, error });
        }
    }

    /// The schema in the local replica of the system tables; None while a commit to them is under way, or while there
    /// is more to read.
    fn read_schema(&mut self) -> Option<Arc<Schema>> {
        // It is put back if it goes on.
        let scan = self.schema_reading.scan.take();
        let guard = Guard::enter();
        let version = self.read_version(&guard)?;
        if version == self.schema.version {
            return Some(Arc::clone(&self.schema));
        }
        let changes = self.read_changes(&guard, self.schema.version, version);
        if let Some(schema) = changes.and_then(|changes| changes.apply(&self.schema)) {
            return Some(Arc::new(schema));
        }
        let mut schema = self.read_whole_schema(&guard, version, scan)?;
        schema.share(&self.schema);
        Some(Arc::new(schema))
    }

    /// The changes of the versions behind `since`, up to `version`. None if they are not known any more, or a commit is
    /// under way.
    fn read_changes(
        &self,
        guard: &Guard,
        since: SchemaVersion,
        version: SchemaVersion,
    ) -> Option<SchemaChanges> {
        let reader = self.map.reader(catalogue::system::SCHEMA_CHANGES, SlotId(0))?;
        let row = |key: &[u8]| match reader.get(guard, key, Visibility::Committed) {
            Lookup::Found(row) => Some(row),
            Lookup::Absent | Lookup::Undecided => None,
        };
        let changes = SchemaChanges::read(&self.schema_reading.system, (since, version), row);
        stdx::require!(changes.is_ok(), "a row of the system table of schema changes is damaged");
        changes.ok().flatten()
    }

    /// Reads a slice of the whole catalogue: goes on with a scan of this version, or begins one.
    fn read_whole_schema(
        &mut self,
        guard: &Guard,
        version: SchemaVersion,
        scan: Option<CatalogueScan>,
    ) -> Option<Schema> {
        let reading = &mut self.schema_reading;
        let scan = scan
            .filter(|scan| scan.version() == version)
            .unwrap_or_else(|| CatalogueScan::new(&reading.system, version));
        let reader = |table| self.map.reader(table, SlotId(0));
        match scan.step(&reading.system, guard, reader, SLICE_SIZE) {
            Scanned::More(scan) => {
                reading.scan = Some(scan);
                reading.read_at = Some(self.now.monotonic);
                None
            }
            Scanned::Refused => None,
            Scanned::All(builder) => match builder.finish(self.read_version(guard)?) {
                Ok(schema) => Some(schema),
                Err(error) => {
                    stdx::require!(error.is_retryable(), "{error}");
                    None
                }
            },
        }
    }

    fn read_version(&self, guard: &Guard) -> Option<SchemaVersion> {
        let system = &self.schema_reading.system;
        let reader = self.map.reader(catalogue::system::SCHEMA_VERSION, SlotId(0))?;
        match reader.get(guard, &system.schema_version_key(), Visibility::Committed) {
            Lookup::Found(row) => system.schema_version(row).ok(),
            Lookup::Absent | Lookup::Undecided => None,
        }
    }

    /// Tells DDL jobs that this node has installed what they wait for.
    pub(super) fn report_installed(&mut self, outputs: &mut Outputs<Shared>) {
        let (version, told) = (self.map.schema.version, self.told_by_all());
        let is_installed = |waiting: &mut Waiting| {
            waiting.version <= version && (waiting.request.0 == 0 || waiting.version <= told)
        };
        let installed: Vec<Waiting> = self.schema_reading.waiting.extract_if(.., is_installed).collect();
        for waiting in installed {
            self.report_users(waiting, outputs);
        }
    }

    /// The version that all SQL nodes have which this data node reaches. A job waits for the SQL nodes in its own
    /// reach. Through the data nodes it waits for those that these reach: an SQL node that reaches none of them gets no
    /// rows.
    fn told_by_all(&self) -> SchemaVersion {
        if mutants::is(Mutant::SqlNodesUnheard) {
            return SchemaVersion(u64::MAX);
        }
        let is_reached =
            |info: &&NodeInfo| info.role == NodeRole::Sql && self.reach.found.contains(&info.node);
        let told =
            |info: &NodeInfo| self.schema_reading.told.get(&info.node).copied().unwrap_or(SchemaVersion(0));
        let relays = self.view.is_in_sync(self.config.node);
        let reached = self.view.nodes.iter().filter(|info| relays && is_reached(info));
        reached.map(told).min().unwrap_or(SchemaVersion(u64::MAX))
    }

    /// Another node has told which version it has installed.
    pub(super) fn on_schema_told(
        &mut self,
        node: NodeId,
        version: SchemaVersion,
        outputs: &mut Outputs<Shared>,
    ) {
        let told = self.schema_reading.told.entry(node).or_default();
        *told = version.max(*told);
        if self.making.rollout.is_none() {
            self.report_installed(outputs);
        }
    }

    /// The version is installed: the job hears it, and who uses its tables in an older one. The `sql` modules know
    /// that; they have the version, too.
    fn report_users(&mut self, waiting: Waiting, outputs: &mut Outputs<Shared>) {
        let Waiting { from, request, mut tables, used_for_ms, .. } = waiting;
        if mutants::is(Mutant::StepWaitsForNobody) {
            tables.clear();
        }
        let version = self.map.schema.version;
        let modules = self.modules(ModuleKind::Sql);
        if tables.is_empty() || modules.is_empty() {
            let installed = Signal::SchemaInstalled { request, version, users: Vec::new() };
            return outputs.send(self.me(), from, installed);
        }
        let asked = &mut self.schema_reading.asked;
        if asked.values().any(|asked| (asked.from, asked.request) == (from, request)) {
            return;
        }
        let own = self.new_request();
        let asked = Asked { from, request, missing: modules.len(), users: Vec::new() };
        self.schema_reading.asked.insert(own.0, asked);
        for module in modules {
            let tables = tables.clone();
            let ask = Signal::SchemaInstall { request: own, version, tables, used_for_ms };
            outputs.send(self.me(), module, ask);
        }
    }

    /// A `sql` module of this node has said who uses the tables of a job.
    pub(super) fn on_schema_users(
        &mut self,
        request: RequestId,
        users: Vec<u32>,
        outputs: &mut Outputs<Shared>,
    ) {
        let version = self.map.schema.version;
        let Some(asked) = self.schema_reading.asked.get_mut(&request.0) else { return };
        asked.users.extend(users);
        asked.users.truncate(SCHEMA_USERS_MAX);
        asked.missing -= 1;
        if asked.missing == 0
            && let Some(Asked { from, request, users, .. }) = self.schema_reading.asked.remove(&request.0)
        {
            outputs.send(self.me(), from, Signal::SchemaInstalled { request, version, users });
        }
    }

    /// A DDL job waits only for the members that it knows of, and may end before it has told them. Everybody hears of
    /// the newest version from the data nodes, each of which says it when it installs a version or view and when it
    /// finds a node. Nobody waits for the answer.
    pub(super) fn announce_schema(&self, node: NodeId, outputs: &mut Outputs<Shared>) {
        let is_management = self.view.node(node).is_none_or(|info| info.role == NodeRole::Management);
        if !is_management && !self.fetches_schema() {
            let version = self.map.schema.version;
            outputs.send(self.me(), Address::main(node), hint(version));
        }
    }

    // ---- building an index ------------------------------------------------------------------------------------------

    /// A DDL job wants a new index's entries: every ldm of this node builds those of its fragments. A job that asks
    /// again waits for the backfill that is under way.
    pub(super) fn on_backfill(
        &mut self,
        from: Address,
        request: RequestId,
        table: TableRef,
        index: IndexId,
        outputs: &mut Outputs<Shared>,
    ) {
        let is_same = |backfill: &&mut Backfill| (backfill.table, backfill.index) == (table, index);
        if let Some(backfill) = self.requests.backfills.values_mut().find(is_same) {
            if !backfill.askers.contains(&(from, request)) {
                backfill.askers.push((from, request));
            }
            return;
        }
        let ldms = self.modules(ModuleKind::Ldm);
        let own = self.new_request();
        for ldm in &ldms {
            outputs.send(self.me(), *ldm, Signal::BackfillRequest { request: own, table, index });
        }
        let askers = vec![(from, request)];
        self.requests
            .backfills
            .insert(own.0, Backfill { table, index, askers, missing: ldms.len(), refusal: None });
        if ldms.is_empty() {
            self.end_backfill(own, outputs);
        }
    }

    pub(super) fn on_backfill_done(
        &mut self,
        request: RequestId,
        refusal: Option<Refusal>,
        outputs: &mut Outputs<Shared>,
    ) {
        let Some(backfill) = self.requests.backfills.get_mut(&request.0) else { return };
        backfill.missing -= 1;
        backfill.refusal = backfill.refusal.take().or(refusal);
        if backfill.missing == 0 {
            self.end_backfill(request, outputs);
        }
    }

    fn end_backfill(&mut self, request: RequestId, outputs: &mut Outputs<Shared>) {
        let Some(Backfill { askers, refusal, .. }) = self.requests.backfills.remove(&request.0) else {
            return;
        };
        for (from, request) in askers {
            outputs.send(self.me(), from, Signal::BackfillDone { request, refusal: refusal.clone() });
        }
    }

    // ---- nodes without slots ----------------------------------------------------------------------------------------

    /// Whether DDL statements may have ended that this node does not know of, for they wait only for replicas and for
    /// nodes in reach.
    pub(super) fn is_behind(&self) -> bool {
        if mutants::is(Mutant::AnswersBehind) {
            return false;
        }
        let is_behind = self.schema_reading.is_fetching || !self.schema_reading.unheard.is_empty();
        self.fetches_schema() && is_behind
    }

    fn is_in_reach(&self, node: NodeId) -> bool {
        self.reach.found.contains(&node) && !self.reach.lost.contains(&node)
    }

    /// Whether there is anybody to fetch the catalogue from.
    pub(super) fn reaches_a_replica(&self) -> bool {
        self.view.in_sync(SlotId(0)).iter().any(|node| self.is_in_reach(*node))
    }

    /// Asks the data nodes that it has not heard of since they were lost: each counts this node again, in all of its
    /// modules, when it answers. For the catalogue itself any will do.
    pub(super) fn fetch_schema(&mut self, outputs: &mut Outputs<Shared>) {
        self.schema_reading.is_fetching = true;
        self.schema_reading.read_at = Some(self.now.monotonic + FETCH_AGAIN);
        let request = self.new_request();
        let in_reach = |node: &&NodeId| self.is_in_reach(**node);
        let unheard: Vec<NodeId> = self.schema_reading.unheard.keys().filter(in_reach).copied().collect();
        let others: Vec<NodeId> = self.view.in_sync(SlotId(0)).iter().filter(in_reach).copied().collect();
        // Another one each time: one that hangs does not keep everybody waiting.
        let turn = self.schema_reading.fetches;
        self.schema_reading.fetches = turn.wrapping_add(1);
        let other = others.get(turn % others.len().max(1)).copied();
        let asked: BTreeSet<NodeId> = unheard.into_iter().chain(other).collect();
        for node in asked {
            if let Some(asked) = self.schema_reading.unheard.get_mut(&node) {
                asked.get_or_insert(request);
            }
            // (The version it starts with is none of this cluster.)
            let known = self.schema_reading.has_fetched.then_some(self.schema.version);
            let fetch = Signal::SchemaFetch { request, view: self.view.number, known };
            outputs.send(self.me(), Address::main(node), fetch);
        }
    }

    pub(super) fn on_schema_fetch(
        &mut self,
        from: Address,
        request: RequestId,
        (view, known): (ViewNumber, Option<SchemaVersion>),
        outputs: &mut Outputs<Shared>,
    ) {
        if self.fetches_schema() {
            return;
        }
        // As long as this node is in an older view, tables can be made and filled there without the asker, who would
        // take what is copied to it of such a table for rows of one that was dropped. From its view on commits wait for
        // its answers if it is a replica.
        let mut is_early = self.map.view.number < view || self.making.rollout.is_some();
        if mutants::is(Mutant::SchemaBeforeView) {
            is_early = false;
        }
        if is_early {
            self.schema_reading.early.insert(from, (request, view, known));
            return;
        }
        if let Some(schema) = self.read_schema() {
            self.tell_catalogue(from, request, known, &schema, outputs);
            self.spread_schema(schema, outputs);
        } else if self.view.is_member(from.node) {
            // A commit may wait for this joining member, which waits for a schema. It hears of the newer one like all
            // others.
            let schema = Arc::clone(&self.map.schema);
            self.tell_catalogue(from, request, known, &schema, outputs);
        }
    }

    /// All modules of this node use a newer map: whoever waited for its view is answered.
    pub(super) fn answer_early_fetches(&mut self, outputs: &mut Outputs<Shared>) {
        for (from, (request, view, known)) in std::mem::take(&mut self.schema_reading.early) {
            self.on_schema_fetch(from, request, (view, known), outputs);
        }
    }

    /// The node that asked may be ahead of the others now: the DDL job that wrote this version may have died before it
    /// told anybody.
    fn spread_schema(&mut self, schema: Arc<Schema>, outputs: &mut Outputs<Shared>) {
        if schema.version <= self.schema.version {
            return;
        }
        let version = schema.version;
        self.schema = schema;
        self.changed(outputs);
        let install = hint(version);
        for node in self.reach.found.iter().filter(|node| self.view.is_in_sync(**node)) {
            outputs.send(self.me(), Address::main(*node), install.clone());
        }
    }

    pub(super) fn on_schema_fetched(
        &mut self,
        from: NodeId,
        request: RequestId,
        (bytes, since): (&[u8], Option<SchemaVersion>),
        outputs: &mut Outputs<Shared>,
    ) {
        let Some(told) = self.take_catalogue(from, request, bytes, since) else {
            outputs.event(Severity::Warning, "a data node sent a catalogue that cannot be read");
            return;
        };
        let (version, schema) = match told {
            Told::Part => return,
            Told::Whole(schema) => (schema.version, Some(schema)),
            Told::Changes(version, schema) => (version, schema),
        };
        let is_newer = version > self.schema.version;
        if is_newer && schema.is_none() {
            // It has gone on since it asked.
            return self.fetch_schema(outputs);
        }
        let wanted = self.schema_reading.waiting.iter().map(|waiting| waiting.version).max();
        let is_entering = self.is_joining() && self.entry.view == ViewNumber(0);
        if Some(version) < wanted && !is_entering {
            return;
        }
        self.schema_reading.has_fetched = true;
        self.reach(Step::CatalogueRead);
        let was_behind = self.is_behind();
        // It may take longer to answer than until it is asked again.
        let asked = self.schema_reading.unheard.get(&from).copied().flatten();
        if asked.is_some_and(|asked| request.0 >= asked.0) {
            self.schema_reading.unheard.remove(&from);
        }
        if Some(version) >= wanted {
            self.schema_reading.is_fetching = false;
            // A node that is in reach and has not answered yet is asked again.
            if !self.schema_reading.unheard.keys().any(|node| self.reach.found.contains(node)) {
                self.schema_reading.read_at = None;
            }
        }
        // Answers may overtake each other.
        if let Some(schema) = schema.filter(|_| is_newer) {
            self.schema = Arc::new(schema);
        }
        if is_newer || was_behind || !self.is_open {
            self.changed(outputs);
        }
        self.start_checks(outputs);
    }

    /// The table's definition, if it exists.
    pub(super) fn has_table(&self, table: TableId) -> bool {
        self.schema.tables().contains_key(table)
    }
}
