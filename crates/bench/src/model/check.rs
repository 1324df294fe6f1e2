//! The model against what was measured: a workload that it does not meet is not predicted.
//!
//! **Invariants.** Every measured figure of a workload counts: the model meets the workload only if it meets each one,
//! and only if there are figures of one CPU and of two.

use super::figures::{Figure, Measured, NODES, TABLES};
use super::operation::{Rows, statements};
use super::simulation::{self, Load, Outcome};
use super::topology::{ClientsAt, Shape, Topology};
use crate::costs::Costs;
use crate::counts::Book;
use crate::workload::{SCANNERS, Workload};

/// The part by which the model may differ from what was measured.
pub(super) const TOLERANCE: f64 = 0.15;

/// The numbers of CPUs that have to be measured.
const CPUS: [u16; 2] = [1, 2];

/// A measured figure, and the model's.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Compared {
    pub(super) figure: Figure,
    pub(super) model: Outcome,
}

impl Compared {
    /// The part by which the model is above the measured figure.
    pub(super) fn deviation(&self) -> f64 {
        self.model.per_second / self.figure.per_second.max(f64::MIN_POSITIVE) - 1.0
    }
}

/// Why a workload is predicted, or not.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Verdict {
    Met,
    /// A figure is further away than the tolerance.
    Missed,
    /// No figure of so many CPUs.
    NotMeasured(u16),
    /// The book has no counts for its statements.
    NotCounted,
}

/// A workload's check.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Check {
    pub(super) workload: Workload,
    pub(super) compared: Vec<Compared>,
    pub(super) verdict: Verdict,
}

/// Compares the model with all figures of a workload.
pub(super) fn check(
    workload: Workload,
    book: &Book,
    costs: &Costs,
    measured: &Measured,
    seed: u64,
) -> Result<Check, String> {
    let figures: Vec<Figure> =
        measured.figures.iter().filter(|figure| figure.workload == workload).copied().collect();
    let rows = Rows { table: measured.rows as f64, groups: 1.0 };
    let Some(statements) = statements(workload, book, costs, rows)? else {
        return Ok(Check { workload, compared: Vec::new(), verdict: Verdict::NotCounted });
    };
    let mut compared = Vec::new();
    for figure in figures {
        let topology = Topology::new(shape(&figure))?;
        let load = Load {
            statements: &statements,
            clients: figure.clients,
            beside: if statements.beside.is_some() { u32::try_from(SCANNERS).unwrap_or(0) } else { 0 },
            client_ns: figure.client_us * 1_000.0,
            seed,
        };
        compared.push(Compared { figure, model: simulation::run(&topology, &load, costs) });
    }
    let verdict = judge(&compared);
    Ok(Check { workload, compared, verdict })
}

/// The cluster that was measured.
fn shape(figure: &Figure) -> Shape {
    Shape {
        nodes: NODES,
        replicas: 2,
        cpus: figure.cpus,
        is_one_machine: true,
        clients: if figure.client_cpus == 0 {
            ClientsAt::Beside
        } else {
            ClientsAt::Apart(figure.client_cpus)
        },
        tables: TABLES,
    }
}

fn judge(compared: &[Compared]) -> Verdict {
    let lacks = |cpus: &&u16| !compared.iter().any(|one| one.figure.cpus == **cpus);
    if let Some(cpus) = CPUS.iter().find(lacks) {
        return Verdict::NotMeasured(*cpus);
    }
    let is_met = compared.iter().all(|one| one.deviation().abs() <= TOLERANCE);
    if is_met { Verdict::Met } else { Verdict::Missed }
}

#[cfg(test)]
mod tests;
