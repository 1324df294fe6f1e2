//! Rows of ndbinfo tables that this node answers for: from its own state, from its driver, or gathered from its
//! modules.
//!
//! Columns are in the order of the virtual tables' definitions in `sql::show`: NDB's first, then ours.
//!
//! `driver` makes rows of what the driver reports, `configuration` of config.ini.

mod configuration;
mod driver;

use super::MainModule;
use crate::management::{ConfiguredNode, write_answer};
use memory::{PAGE_BYTES, Region, ResourceRow};
use protocol::signal::{InfoSource, InfoTable, MainTable, RequestId};
use protocol::{
    Address, ConnectionId, GroupView, ModuleKind, NodeInfo, NodeRole, Outputs, RequestToRuntime,
    RuntimeReport, Signal, SlotPlace,
};
use query::Shared;
use std::sync::Arc;
use types::{NodeId, TableDefinition, Value};

pub(crate) use driver::counter_rows;

/// The row of `ndbinfo.resources` for what is in no region.
const BESIDE_REGIONS: &str = "OutsideRegions";
/// As NDB calls DataMemory in `ndbinfo.memoryusage`.
const DATA_MEMORY: &str = "Data memory";
const PAGE: u64 = PAGE_BYTES as u64;

/// The part of its config.ini that a node tells.
#[derive(Clone, Debug, Default)]
pub struct Configuration {
    /// All nodes.
    pub nodes: Vec<ConfiguredNode>,
    /// The parameters of this node that have an effect, and what they are.
    pub values: Vec<(&'static str, String)>,
}

/// Answers being collected for one request.
pub(super) struct Gathering {
    from: Address,
    request: RequestId,
    table: InfoTable,
    missing: usize,
    /// The driver has answered, if it was asked.
    has_report: bool,
    rows: Vec<Vec<Value>>,
}

impl MainModule {
    /// `tls info`: the driver knows.
    pub(super) fn ask_for_tls(&mut self, connection: ConnectionId, outputs: &mut Outputs<Shared>) {
        self.operators.tls_questions.push(connection);
        outputs.request(RequestToRuntime::Report);
    }

    fn answer_tls_questions(&mut self, report: &RuntimeReport, outputs: &mut Outputs<Shared>) {
        let Some(management) = &self.config.management else { return };
        for connection in self.operators.tls_questions.drain(..) {
            let text = management.tls_information(connection, report);
            write_answer(&text, outputs.buffer(connection));
        }
    }

    pub(super) fn on_info_request(
        &mut self,
        from: Address,
        request: RequestId,
        table: InfoTable,
        outputs: &mut Outputs<Shared>,
    ) {
        match table.source() {
            InfoSource::Main(table) => self.answer_info(from, request, self.own_rows(table), outputs),
            InfoSource::Driver(_) => {
                self.gather(from, request, table, 1);
                outputs.request(RequestToRuntime::Report);
            }
            InfoSource::Ldm(_) => self.ask_modules(from, request, table, ModuleKind::Ldm, outputs),
            InfoSource::Sql(_) => self.ask_modules(from, request, table, ModuleKind::Sql, outputs),
            InfoSource::All(_) => {
                // All modules, this one included, and the driver.
                let modules = self.config.modules.clone();
                let own = self.gather(from, request, table, modules.len() + 1);
                for module in modules {
                    outputs.send(self.me(), module, Signal::InfoRequest { request: own, table });
                }
                outputs.request(RequestToRuntime::Report);
            }
        }
    }

    /// The rows that `main` knows by itself.
    fn own_rows(&self, table: MainTable) -> Vec<Vec<Value>> {
        match table {
            MainTable::Nodes => self.node_rows(),
            MainTable::NodeState => self.state_rows(),
            MainTable::Resources => self.resource_rows(),
            MainTable::MemoryUsage => self.memory_rows(),
            MainTable::RestartInfo => self.restart_rows(),
            MainTable::ConfigParams => configuration::parameter_rows(),
            MainTable::ConfigValues => {
                configuration::value_rows(self.config.node, &self.config.configuration)
            }
            MainTable::ConfigNodes => configuration::node_rows(&self.config.configuration),
            MainTable::TableDistributionStatus => self.table_rows(),
            MainTable::TableFragments => self.table_fragment_rows(),
            MainTable::Durability => self.durability_rows(),
        }
    }

    fn answer_info(
        &self,
        to: Address,
        request: RequestId,
        rows: Vec<Vec<Value>>,
        outputs: &mut Outputs<Shared>,
    ) {
        outputs.send(self.me(), to, Signal::InfoDone { request, rows });
    }

    fn gather(&mut self, from: Address, request: RequestId, table: InfoTable, missing: usize) -> RequestId {
        let own = self.new_request();
        self.requests
            .gatherings
            .insert(own.0, Gathering { from, request, table, missing, has_report: false, rows: Vec::new() });
        own
    }

    fn ask_modules(
        &mut self,
        from: Address,
        request: RequestId,
        table: InfoTable,
        kind: ModuleKind,
        outputs: &mut Outputs<Shared>,
    ) {
        let modules = self.modules(kind);
        if modules.is_empty() {
            return self.answer_info(from, request, Vec::new(), outputs);
        }
        let own = self.gather(from, request, table, modules.len());
        for module in modules {
            outputs.send(self.me(), module, Signal::InfoRequest { request: own, table });
        }
    }

    pub(super) fn on_info_done(
        &mut self,
        request: RequestId,
        rows: Vec<Vec<Value>>,
        outputs: &mut Outputs<Shared>,
    ) {
        let Some(gathering) = self.requests.gatherings.get_mut(&request.0) else { return };
        gathering.rows.extend(rows);
        gathering.missing -= 1;
        if gathering.missing == 0
            && let Some(gathering) = self.requests.gatherings.remove(&request.0)
        {
            self.answer_info(gathering.from, gathering.request, gathering.rows, outputs);
        }
    }

    /// A module of a lost node that asked does not wait any more.
    pub(super) fn fail_gatherings(&mut self, node: NodeId, _outputs: &mut Outputs<Shared>) {
        self.requests.gatherings.retain(|_, gathering| gathering.from.node != node);
    }

    pub(super) fn on_runtime_report(&mut self, report: &RuntimeReport, outputs: &mut Outputs<Shared>) {
        let is_for_driver =
            |table: InfoTable| matches!(table.source(), InfoSource::Driver(_) | InfoSource::All(_));
        let waiting: Vec<(u64, InfoTable)> = self
            .requests
            .gatherings
            .iter()
            .filter(|(_, gathering)| is_for_driver(gathering.table) && !gathering.has_report)
            .map(|(request, gathering)| (*request, gathering.table))
            .collect();
        for (request, table) in waiting {
            let rows = driver::report_rows(self.config.node, table, report);
            if let Some(gathering) = self.requests.gatherings.get_mut(&request) {
                gathering.has_report = true;
            }
            self.on_info_done(RequestId(request), rows, outputs);
        }
        self.answer_tls_questions(report, outputs);
    }

    fn node_rows(&self) -> Vec<Vec<Value>> {
        let unreachable = self.unreachable();
        let state = |info: &NodeInfo| match info.role {
            _ if unreachable.contains(&info.node) => "NOT CONNECTED",
            NodeRole::Data if !self.view.is_in_sync(info.node) => "STARTING",
            NodeRole::Data | NodeRole::Sql | NodeRole::Management => "STARTED",
        };
        let rows = self.view.nodes.iter().map(|info| {
            let role = match info.role {
                NodeRole::Data => "data",
                NodeRole::Sql => "sql",
                NodeRole::Management => "management",
            };
            vec![
                Value::UInt(self.config.node.0.into()),
                Value::UInt(info.node.0.into()),
                Value::text(role),
                Value::text(&info.host),
                Value::text(state(info)),
                Value::UInt(self.view.number.0),
                Value::UInt(info.incarnation.0.into()),
                Value::UInt(self.epochs.closed().0),
                self.is_voter(info.node).map_or(Value::Null, |votes| Value::UInt(votes.into())),
            ]
        });
        rows.collect()
    }

    /// Whether a node has a copy of the control log that counts, as far as this node knows.
    fn is_voter(&self, node: NodeId) -> Option<bool> {
        let is_known = !self.control.voters.is_empty();
        is_known.then(|| self.control.voters.iter().any(|voter| voter.node == node && voter.votes))
    }

    /// In pages, then in bytes.
    fn resource_rows(&self) -> Vec<Vec<Value>> {
        let row = |name: &str, pages: [u64; 3], bytes: [u64; 3]| {
            let head = [Value::UInt(self.config.node.0.into()), Value::text(name)];
            head.into_iter().chain(pages.into_iter().chain(bytes).map(Value::UInt)).collect()
        };
        let rows = self.config.memory.resources().into_iter().map(|resource| {
            let pages = [resource.reserved, resource.used, resource.maximum];
            row(resource.region.name(), pages, pages.map(|pages| pages * PAGE))
        });
        let beside = self.config.memory.beside_regions();
        let beside = beside.map(|bytes| row(BESIDE_REGIONS, [0, bytes.div_ceil(PAGE), 0], [0, bytes, 0]));
        rows.chain(beside).collect()
    }

    /// DataMemory of a data node: bytes, pages, and the most of both. Indexes are in it.
    fn memory_rows(&self) -> Vec<Vec<Value>> {
        if self.modules(ModuleKind::Ldm).is_empty() {
            return Vec::new();
        }
        let resources = self.config.memory.resources();
        let data = resources.into_iter().filter(|resource| resource.region == Region::DataMemory);
        let row = |resource: ResourceRow| {
            let (used, total) = (resource.used, resource.maximum);
            let head = [Value::UInt(self.config.node.0.into()), Value::text(DATA_MEMORY)];
            head.into_iter().chain([used * PAGE, used, total * PAGE, total].map(Value::UInt)).collect()
        };
        data.map(row).collect()
    }

    /// The epochs of a data node, for how long there is something that a loss of power would take, and how much of its
    /// log.
    fn durability_rows(&self) -> Vec<Vec<Value>> {
        if self.modules(ModuleKind::Ldm).is_empty() {
            return Vec::new();
        }
        let epochs = &self.epochs;
        let lost = epochs.exposed_since().map(|since| self.now.monotonic.since(since));
        let known =
            [epochs.closed(), epochs.whole(), epochs.flushed(), epochs.flushed_by_all(), epochs.durable()];
        let mut row = vec![Value::UInt(self.config.node.0.into()), Value::UInt(epochs.restart().0.into())];
        row.extend(known.map(|epoch| Value::UInt(epoch.0)));
        // A part of a millisecond counts as a whole one: no less is told than would be lost.
        let lost_ms = lost.map_or(0, |lost| lost.as_nanos().div_ceil(1_000_000));
        row.push(Value::UInt(u64::try_from(lost_ms).unwrap_or(u64::MAX)));
        row.push(self.config.redo.as_ref().map_or(Value::Null, |redo| Value::UInt(redo.lost_bytes())));
        vec![row]
    }

    /// This node: how long it lives, and how far it is.
    fn state_rows(&self) -> Vec<Vec<Value>> {
        let own = self.node_rows().into_iter().find(|row| row[1] == row[0]);
        // reporting node, node, type, host, status, view, incarnation, closed epoch, voter
        let Some([_, node, role, host, status, rest @ ..]) = own.as_deref() else { return Vec::new() };
        let uptime = Value::UInt(self.uptime().as_secs());
        let mut row = vec![node.clone(), uptime, status.clone(), Value::UInt(0), Value::UInt(0)];
        row.extend([role.clone(), host.clone()]);
        row.extend(rest[..4].iter().cloned());
        vec![row]
    }

    // ---- tables -----------------------------------------------------------------------------------------------------

    /// The slots of a table.
    fn places(&self, table: &TableDefinition) -> impl Iterator<Item = (u64, &SlotPlace)> {
        let slots = self.view.slot_terms().slots_of(table);
        slots.into_iter().filter_map(|slot| Some((u64::from(slot.0), self.view.place(slot)?)))
    }

    /// By table: how it is distributed. Everything is there and stays where it is.
    fn table_rows(&self) -> Vec<Vec<Value>> {
        let row = |table: &Arc<TableDefinition>| {
            let slots = self.places(table).count() as u64;
            let replicas: usize =
                self.places(table).map(|(_, place)| self.group_of(place).in_sync.len()).sum();
            let head = [self.config.node.0.into(), table.id.0.into()].map(Value::UInt);
            let states = ["Idle", "Idle", "Idle", "Active", "Normal"].map(Value::text);
            let counts = [slots, replicas as u64, 0, 0, 0].map(Value::UInt);
            let names = [Value::text(&table.database), Value::text(&table.name)];
            head.into_iter().chain(states).chain(counts).chain(names).collect()
        };
        self.schema.tables().values().map(row).collect()
    }

    /// By table and slot: the primary and the backups.
    fn table_fragment_rows(&self) -> Vec<Vec<Value>> {
        let mut rows = Vec::new();
        for table in self.schema.tables().values() {
            for (order, (slot, place)) in self.places(table).enumerate() {
                let group = self.group_of(place);
                let mut backups = group.in_sync.iter().filter(|node| **node != place.primary);
                let mut backup = || backups.next().map_or(Value::Null, |node| Value::UInt(node.0.into()));
                let (alive, all) = (group.in_sync.len() as u64, group.replicas.len() as u64);
                let mut row = [self.config.node.0.into(), table.id.0.into(), slot, slot, order as u64]
                    .map(Value::UInt)
                    .to_vec();
                row.push(Value::UInt(place.rank.into()));
                row.extend([all, place.primary.0.into(), place.primary.0.into()].map(Value::UInt));
                row.extend([backup(), backup(), backup()]);
                row.extend([alive, all - alive, 0].map(Value::UInt));
                row.extend([Value::text(&table.database), Value::text(&table.name)]);
                rows.push(row);
            }
        }
        rows
    }

    fn group_of(&self, place: &SlotPlace) -> &GroupView {
        &self.view.groups[usize::from(place.group)]
    }
}
