//! Statements as graphs of stages: which module works for how long, and who goes on then.
//!
//! ```text
//! read here        session
//! read elsewhere   session ──► a node of each other group that is asked ──► session
//! update           session ──► primary ──► backups ──► primary ──► session
//! ```
//! Instructions are counted (`counts`), the time of a thousand of them and that of a row in memory are measured
//! (`costs`). The book does not split the work of one kind of module, so it is split here:
//! - A session has three quarters of its instructions before it asks others, and one quarter after.
//! - A primary has all instructions of a locked read, and half of those that an update has beyond them. It has half of
//!   its work before it asks the backups.
//! - Backups have the other half of those.
//! - Of a read of many rows the session keeps the instructions of a read of one row. The rest is with the rows.
//!
//! **Invariants.** The stages of a graph at one node add up to all instructions that are counted for its operation.
//! Where another node is asked, that node does the work of a session once more. Signals between nodes that no stage
//! waits for are charged to the stages that make and take them.

use crate::costs::Costs;
use crate::counts::{Book, Counts};
use crate::workload::Workload;

/// KiB of the answer to a read of a hundred rows, beyond that of one row.
const LONG_ANSWER_KIB: f64 = 12.0;
/// Rows of a read of many rows.
const ROWS: f64 = 100.0;
/// Rows that a counted scan visits.
const COUNTED_SCAN_ROWS: f64 = 2_000.0;

/// The module that does a stage.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    Session,
    /// The `ldm` of the row's primary.
    Primary,
    /// Those of its backups, all of them at once.
    Backups,
    /// A `query` of one node of each other group that is asked, all of them at once.
    Others,
}

/// The work of one role.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Stage {
    pub(super) role: Role,
    pub(super) ns: f64,
}

/// The stages of a statement, one after the other.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Graph {
    pub(super) stages: Vec<Stage>,
    /// The coding of a signal between nodes, both ends together.
    pub(super) link_ns: f64,
}

/// Which groups a read asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reach {
    /// That of one row.
    OneRow,
    /// All.
    All,
    /// None: it writes one row.
    Write,
}

/// A statement of a client.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Operation {
    pub(super) reach: Reach,
    /// Its stages if the session's node has the primary or, for a read, the rows.
    pub(super) here: Graph,
    /// Its stages if other nodes have a part in it.
    pub(super) elsewhere: Graph,
    /// The kernel's time to send the answer.
    pub(super) answer_ns: f64,
}

/// The statements of a workload: that of most clients, and that of clients beside them.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Statements {
    pub(super) main: Operation,
    pub(super) beside: Option<Operation>,
}

/// The rows that statements visit.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Rows {
    /// Of each table.
    pub(super) table: f64,
    /// Replica groups.
    pub(super) groups: f64,
}

/// Whether the book counts all statements of a workload.
pub(super) fn is_counted(workload: Workload) -> bool {
    match workload {
        Workload::Point
        | Workload::Keys
        | Workload::Range
        | Workload::Update
        | Workload::ScanBesidePoints => true,
        Workload::Ranges | Workload::Filter | Workload::ReadOnly | Workload::ReadWrite | Workload::Tpcc => {
            false
        }
    }
}

/// The statements of a workload; None if the book does not count one of them.
pub(super) fn statements(
    workload: Workload,
    book: &Book,
    costs: &Costs,
    rows: Rows,
) -> Result<Option<Statements>, String> {
    let maker = Maker { book, costs, rows };
    let main = match workload {
        Workload::Point | Workload::ScanBesidePoints => maker.point()?,
        Workload::Keys => maker.many("in_100", costs.keys.miss())?,
        Workload::Range => maker.many("range_100", costs.scan.miss())?,
        Workload::Update => maker.update()?,
        Workload::Ranges | Workload::Filter | Workload::ReadOnly | Workload::ReadWrite | Workload::Tpcc => {
            return Ok(None);
        }
    };
    let beside = if workload == Workload::ScanBesidePoints { Some(maker.scan()?) } else { None };
    Ok(Some(Statements { main, beside }))
}

struct Maker<'a> {
    book: &'a Book,
    costs: &'a Costs,
    rows: Rows,
}

impl Maker<'_> {
    /// Nanoseconds for an instruction of an operation.
    fn instruction(&self, name: &str) -> Result<f64, String> {
        let found = self.costs.instructions.get(name);
        found.map(|ns| ns / 1_000.0).ok_or_else(|| format!("the costs lack the instructions of {name}"))
    }

    fn point(&self) -> Result<Operation, String> {
        let ns = self.instruction("point_select")?;
        let work = self.book.of("point_select")?.instructions() * ns + self.costs.read.miss();
        Ok(Operation {
            reach: Reach::OneRow,
            here: Graph { stages: vec![Stage { role: Role::Session, ns: work }], link_ns: 0.0 },
            // The session plans, the other node reads: about the same work at both.
            elsewhere: self.asking(work, work, ns)?,
            answer_ns: self.costs.send,
        })
    }

    fn many(&self, name: &str, miss: f64) -> Result<Operation, String> {
        let ns = self.instruction(name)?;
        let one = self.book.of("point_select")?.instructions() * ns;
        let all = self.book.of(name)?.instructions() * ns;
        let reading = (all - one).max(0.0) + ROWS * miss;
        let share = reading / self.rows.groups;
        Ok(Operation {
            reach: Reach::All,
            here: Graph { stages: vec![Stage { role: Role::Session, ns: one + reading }], link_ns: 0.0 },
            elsewhere: self.asking(one + share, share, ns)?,
            answer_ns: self.costs.send + LONG_ANSWER_KIB * self.costs.kilobyte,
        })
    }

    fn scan(&self) -> Result<Operation, String> {
        let ns = self.instruction("scan_count")?;
        let row =
            self.book.of("scan_count")?.instructions() / COUNTED_SCAN_ROWS * ns + self.costs.scan.miss();
        let share = row * self.rows.table / self.rows.groups;
        Ok(Operation {
            reach: Reach::All,
            here: Graph { stages: vec![Stage { role: Role::Session, ns: share }], link_ns: 0.0 },
            elsewhere: self.asking(share, share, ns)?,
            answer_ns: self.costs.send,
        })
    }

    /// A session that asks other nodes; a signal costs what one of a locked read does.
    fn asking(&self, session: f64, other: f64, instruction_ns: f64) -> Result<Graph, String> {
        let link_ns = self.book.of("locked_read_other")?.per_signal() * instruction_ns;
        Ok(Graph {
            stages: vec![
                Stage { role: Role::Session, ns: session * 0.75 },
                Stage { role: Role::Others, ns: other },
                Stage { role: Role::Session, ns: session * 0.25 },
            ],
            link_ns,
        })
    }

    fn update(&self) -> Result<Operation, String> {
        let here = self.book.of("update_own")?.between(&self.book.of("update_near")?);
        Ok(Operation {
            reach: Reach::Write,
            here: self.writing(&here, 2.0)?,
            elsewhere: self.writing(&self.book.of("update_other")?, 4.0)?,
            answer_ns: self.costs.send,
        })
    }

    /// `crossings`: the signals between nodes that are between stages.
    fn writing(&self, counts: &Counts, crossings: f64) -> Result<Graph, String> {
        let ns = self.instruction("update")?;
        let locked = self.book.of("locked_read_own")?.ldm.min(counts.ldm);
        let backup = (counts.ldm - locked) / 2.0;
        let primary = (counts.ldm - backup) / 2.0;
        let link_ns = counts.per_signal() * ns;
        // Those that tell the outcome wait for nobody: each end has half of their coding.
        let late = (counts.signals_cluster - crossings).max(0.0) * link_ns / 2.0;
        let stage = |role, ns| Stage { role, ns };
        Ok(Graph {
            stages: vec![
                stage(Role::Session, counts.session * 0.75 * ns),
                stage(Role::Primary, primary * ns + self.costs.stage.miss()),
                stage(Role::Backups, backup * ns + self.costs.apply.miss() + late),
                stage(Role::Primary, primary * ns + late),
                stage(Role::Session, counts.session * 0.25 * ns),
            ],
            link_ns,
        })
    }
}

#[cfg(test)]
mod tests;
