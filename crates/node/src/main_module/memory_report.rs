//! `N report memoryusage` at a management node: data nodes are asked for `ndbinfo.memoryusage`, and their answers told
//! as NDB tells them.
//!
//! **Invariants.** One report is under way for a connection: a newer question takes the place of the one before. A node
//! that has not answered within [`ANSWER_PATIENCE`] is told so, and the others are told all the same.

use super::MainModule;
use protocol::signal::{InfoTable, RequestId};
use protocol::{Address, ConnectionId, Outputs, Signal};
use query::Shared;
use stdx::{Duration, Instant};
use types::{NodeId, Value};

/// How long nodes may take.
const ANSWER_PATIENCE: Duration = Duration::from_secs(4);

/// A report under way.
#[derive(Debug)]
pub(super) struct MemoryReport {
    connection: ConnectionId,
    /// Each node, and what it says; until then the request.
    nodes: Vec<(NodeId, Result<String, RequestId>)>,
    until: Instant,
}

impl MainModule {
    /// When nodes have taken too long.
    pub(super) fn memory_report_deadline(&self) -> Option<Instant> {
        self.operators.memory_reports.iter().map(|report| report.until).min()
    }

    pub(super) fn ask_for_memory(
        &mut self,
        connection: ConnectionId,
        nodes: &[NodeId],
        outputs: &mut Outputs<Shared>,
    ) {
        self.forget_memory_report(connection);
        let mut asked = Vec::new();
        for node in nodes {
            if !self.reach.found.contains(node) {
                asked.push((*node, Ok("not connected".to_owned())));
                continue;
            }
            let request = self.new_request();
            let table = InfoTable::MemoryUsage;
            outputs.send(self.me(), Address::main(*node), Signal::InfoRequest { request, table });
            asked.push((*node, Err(request)));
        }
        let until = self.now.monotonic + ANSWER_PATIENCE;
        self.operators.memory_reports.push(MemoryReport { connection, nodes: asked, until });
        self.tell_memory_reports(outputs);
    }

    /// Whether an answer is for one of them.
    pub(super) fn awaits_memory_report(&self, request: RequestId) -> bool {
        let mut nodes = self.operators.memory_reports.iter().flat_map(|report| &report.nodes);
        nodes.any(|(_, said)| *said == Err(request))
    }

    pub(super) fn on_memory_reported(
        &mut self,
        from: NodeId,
        request: RequestId,
        rows: &[Vec<Value>],
        outputs: &mut Outputs<Shared>,
    ) {
        let text = rows.iter().find_map(|row| usage(row)).unwrap_or_else(|| "it has told nothing".to_owned());
        let nodes = self.operators.memory_reports.iter_mut().flat_map(|report| &mut report.nodes);
        for (_, said) in nodes.filter(|(node, said)| *node == from && *said == Err(request)) {
            *said = Ok(text.clone());
        }
        self.tell_memory_reports(outputs);
    }

    /// Tells without those that are late.
    pub(super) fn end_memory_reports(&mut self, outputs: &mut Outputs<Shared>) {
        let now = self.now.monotonic;
        for report in self.operators.memory_reports.iter_mut().filter(|report| report.until <= now) {
            for (_, said) in report.nodes.iter_mut().filter(|(_, said)| said.is_err()) {
                *said = Ok("it does not answer".to_owned());
            }
        }
        self.tell_memory_reports(outputs);
    }

    /// The client that asked has gone.
    pub(super) fn forget_memory_report(&mut self, connection: ConnectionId) {
        self.operators.memory_reports.retain(|report| report.connection != connection);
    }

    /// Answers the questions to which all nodes have said something.
    fn tell_memory_reports(&mut self, outputs: &mut Outputs<Shared>) {
        let is_complete = |report: &MemoryReport| report.nodes.iter().all(|(_, said)| said.is_ok());
        let reports = std::mem::take(&mut self.operators.memory_reports);
        let (complete, open): (Vec<MemoryReport>, Vec<MemoryReport>) =
            reports.into_iter().partition(is_complete);
        self.operators.memory_reports = open;
        for report in complete {
            let line = |(node, said): &(NodeId, Result<String, RequestId>)| {
                said.as_ref().map_or_else(|_| String::new(), |said| format!("Node {node}: {said}\n"))
            };
            let text: String = report.nodes.iter().map(line).collect();
            self.answer_management(report.connection, &text, outputs);
        }
    }
}

/// node, type, used bytes and pages, all bytes and pages.
fn usage(row: &[Value]) -> Option<String> {
    let [_, _, _, Value::UInt(used), _, Value::UInt(total)] = row else { return None };
    let percent = used.saturating_mul(100).checked_div(*total).unwrap_or(0);
    Some(format!("Data usage is {percent}%({used} 32K pages of total {total})"))
}

#[cfg(test)]
mod tests;
