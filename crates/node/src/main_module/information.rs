//! Rows of ndbinfo tables that this node answers for: from its own state, from its driver, or gathered from its modules.
//!
//! Columns are in the order of the virtual tables' definitions in `sql::show`.

use super::MainModule;
use crate::management::write_answer;
use memory::PAGE_BYTES;
use protocol::module::Counts;
use protocol::signal::{InfoTable, RequestId};
use protocol::{
    Address, CertificateReport, ConnectionId, ModuleKind, NodeInfo, NodeRole, Outputs, RequestToRuntime,
    RuntimeReport, Signal,
};
use query::Shared;
use types::{NodeId, Value};

/// The row of `ndbinfo.resources` for what is in no region.
const BESIDE_REGIONS: &str = "OutsideRegions";

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

/// Rows of ndbinfo.counters.
pub(crate) fn counter_rows(node: NodeId, block: &str, instance: u8, counts: &Counts) -> Vec<Vec<Value>> {
    let row = |(id, (name, count)): (usize, &(&'static str, u64))| {
        vec![
            Value::UInt(node.0.into()),
            Value::text(block),
            Value::UInt(instance.into()),
            Value::UInt(id as u64),
            Value::text(name),
            Value::UInt(*count),
        ]
    };
    counts.iter().enumerate().map(row).collect()
}

/// Rows of ndbinfo.certificates.
fn certificate_rows(node: NodeId, report: &RuntimeReport) -> Vec<Vec<Value>> {
    let row = |certificate: &CertificateReport| {
        let texts = [&certificate.name, &certificate.expires, &certificate.serial];
        let texts = texts.into_iter().map(|text| Value::text(text));
        std::iter::once(Value::UInt(node.0.into())).chain(texts).collect()
    };
    report.certificates.iter().map(row).collect()
}

impl MainModule {
    /// `tls info`: the driver knows.
    pub(super) fn ask_for_tls(&mut self, connection: ConnectionId, outputs: &mut Outputs<Shared>) {
        self.tls_questions.push(connection);
        outputs.request(RequestToRuntime::Report);
    }

    fn answer_tls_questions(&mut self, report: &RuntimeReport, outputs: &mut Outputs<Shared>) {
        let Some(management) = &self.config.management else { return };
        for connection in self.tls_questions.drain(..) {
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
        match table {
            InfoTable::Nodes => self.answer_info(from, request, self.node_rows(), outputs),
            InfoTable::Resources => self.answer_info(from, request, self.resource_rows(), outputs),
            InfoTable::RestartInfo => self.answer_info(from, request, self.restart_rows(), outputs),
            InfoTable::Counters => {
                // All modules, this one included, and the driver.
                let modules = self.config.modules.clone();
                let own = self.gather(from, request, table, modules.len() + 1);
                for module in modules {
                    outputs.send(self.me(), module, Signal::InfoRequest { request: own, table });
                }
                outputs.request(RequestToRuntime::Report);
            }
            InfoTable::Threads | InfoTable::ThreadBlocks | InfoTable::CpuStat | InfoTable::Certificates => {
                self.gather(from, request, table, 1);
                outputs.request(RequestToRuntime::Report);
            }
            InfoTable::MemoryPerFragment | InfoTable::ClusterTransactions => {
                self.ask_modules(from, request, table, ModuleKind::Ldm, outputs);
            }
            InfoTable::Processes => self.ask_modules(from, request, table, ModuleKind::Sql, outputs),
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
        self.gatherings
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
        let Some(gathering) = self.gatherings.get_mut(&request.0) else { return };
        gathering.rows.extend(rows);
        gathering.missing -= 1;
        if gathering.missing == 0
            && let Some(gathering) = self.gatherings.remove(&request.0)
        {
            self.answer_info(gathering.from, gathering.request, gathering.rows, outputs);
        }
    }

    /// Whoever asked from a lost node does not wait any more.
    pub(super) fn fail_gatherings(&mut self, node: NodeId, _outputs: &mut Outputs<Shared>) {
        self.gatherings.retain(|_, gathering| gathering.from.node != node);
    }

    pub(super) fn on_runtime_report(&mut self, report: &RuntimeReport, outputs: &mut Outputs<Shared>) {
        let is_for_driver = |table| {
            matches!(
                table,
                InfoTable::Threads
                    | InfoTable::ThreadBlocks
                    | InfoTable::CpuStat
                    | InfoTable::Certificates
                    | InfoTable::Counters
            )
        };
        let waiting: Vec<(u64, InfoTable)> = self
            .gatherings
            .iter()
            .filter(|(_, gathering)| is_for_driver(gathering.table) && !gathering.has_report)
            .map(|(request, gathering)| (*request, gathering.table))
            .collect();
        for (request, table) in waiting {
            let rows = match table {
                InfoTable::Counters => counter_rows(self.config.node, "runtime", 0, &report.counts),
                InfoTable::Certificates => certificate_rows(self.config.node, report),
                InfoTable::Nodes
                | InfoTable::Threads
                | InfoTable::ThreadBlocks
                | InfoTable::CpuStat
                | InfoTable::Resources
                | InfoTable::MemoryPerFragment
                | InfoTable::ClusterTransactions
                | InfoTable::Processes
                | InfoTable::RestartInfo => self.thread_rows(table, report),
            };
            if let Some(gathering) = self.gatherings.get_mut(&request) {
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
            NodeRole::Data if !self.holds_rows(info.node) => "STARTING",
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
        let is_known = !self.voters.is_empty();
        is_known.then(|| self.voters.iter().any(|voter| voter.node == node && voter.votes))
    }

    fn resource_rows(&self) -> Vec<Vec<Value>> {
        let rows = self.config.memory.resources().into_iter().map(|row| {
            vec![
                Value::UInt(self.config.node.0.into()),
                Value::text(row.region.name()),
                Value::UInt(row.reserved),
                Value::UInt(row.used),
                Value::UInt(row.maximum),
            ]
        });
        let beside = self.config.memory.beside_regions().map(|bytes| {
            let (node, pages) = (self.config.node.0, bytes.div_ceil(PAGE_BYTES as u64));
            let [none, node, pages] = [0, node.into(), pages].map(Value::UInt);
            vec![node, Value::text(BESIDE_REGIONS), none.clone(), pages, none]
        });
        rows.chain(beside).collect()
    }

    fn thread_rows(&self, table: InfoTable, report: &RuntimeReport) -> Vec<Vec<Value>> {
        let node = Value::UInt(self.config.node.0.into());
        let microseconds =
            |duration: stdx::Duration| Value::UInt(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX));
        let mut rows = Vec::new();
        for (number, thread) in report.threads.iter().enumerate() {
            let number = Value::UInt(number as u64);
            if table == InfoTable::ThreadBlocks {
                for module in &thread.modules {
                    rows.push(vec![node.clone(), number.clone(), Value::text(&module.to_string())]);
                }
            } else if table == InfoTable::Threads {
                let cpu = thread.cpu.map_or(Value::Null, |cpu| Value::UInt(cpu.into()));
                let connections = Value::UInt(thread.connections.into());
                rows.push(vec![node.clone(), number, Value::text(&thread.name), cpu, connections]);
            } else {
                rows.push(vec![
                    node.clone(),
                    number,
                    microseconds(thread.user),
                    microseconds(thread.system),
                    microseconds(thread.asleep),
                    Value::UInt(thread.rounds),
                    Value::UInt(thread.signals),
                    Value::UInt(thread.system_calls),
                    Value::UInt(thread.wakes),
                ]);
            }
        }
        rows
    }
}
