//! The files of `latsdb bench model`: the check against measured figures, predictions with their ranges, a plot.
//!
//! **Invariants.** Each figure says *measured* with its machine, or *model* with its range.

use super::check::{Check, TOLERANCE, Verdict};
use super::{LEFT_OUT, Options, Prediction, Results};
use crate::plot::{self, Chart, Series};
use crate::workload::Workload;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Writes model.txt, model.json and model.svg.
pub(super) fn write(options: &Options, results: &Results) -> Result<(), String> {
    crate::put(&options.folder, "model.txt", &text(results))?;
    crate::put(&options.folder, "model.json", &format!("{:#}\n", json(options, results)))?;
    crate::put(&options.folder, "model.svg", &plot::page(&charts(options, results)))
}

/// How a check ended, in a line.
pub(super) fn check_line(check: &Check) -> String {
    let name = check.workload.name();
    let per_cent = TOLERANCE * 100.0;
    match check.verdict {
        Verdict::Met => format!("{name}: the model meets what was measured within {per_cent:.0} %"),
        Verdict::Missed => {
            let far = check
                .compared
                .iter()
                .max_by(|one, other| one.deviation().abs().total_cmp(&other.deviation().abs()));
            let far = far.map_or_else(String::new, |one| {
                let (cpus, clients) = (one.figure.cpus, one.figure.clients);
                format!(" ({:+.0} % at {cpus} CPUs and {clients} clients)", one.deviation() * 100.0)
            });
            format!("{name}: the model misses what was measured{far}: nothing is predicted")
        }
        Verdict::NotMeasured(cpus) => {
            format!("{name}: there is no measured figure of {cpus} CPUs: nothing is predicted")
        }
        Verdict::NotCounted => {
            format!("{name}: docs/counts.toml does not count its statements: nothing is predicted")
        }
    }
}

/// A prediction in a line.
pub(super) fn prediction_line(one: &Prediction) -> String {
    format!(
        "{:<19} {:>3} nodes of {:>3} CPUs {:>7} clients {:>12.0}/s  model ({:.0} to {:.0})  mean {:>7.0} µs  busy {:>3.0} %",
        one.workload.name(),
        one.nodes,
        one.cpus,
        one.clients,
        one.outcome.per_second,
        one.range.0,
        one.range.1,
        one.outcome.mean_us,
        one.outcome.busy * 100.0
    )
}

/// Everything for a person.
pub(super) fn text(results: &Results) -> String {
    let mut text = format!(
        "costs: measured ({})\nfigures: measured ({}), two data nodes, tables of {} rows\nleft out: {LEFT_OUT}\n",
        results.costs.machine, results.measured.machine, results.measured.rows
    );
    // Writing into a String can't fail, here and below.
    for check in &results.checks {
        let _ = writeln!(text, "\n{}", check_line(check));
        for one in &check.compared {
            let figure = &one.figure;
            let _ = writeln!(
                text,
                "  {} CPUs {:>4} clients  measured {:>9.0}/s {:>7.1} µs CPU  model {:>9.0}/s {:>7.1} µs CPU  {:+.0} %",
                figure.cpus,
                figure.clients,
                figure.per_second,
                figure.cpu_us,
                one.model.per_second,
                one.model.cpu_us,
                one.deviation() * 100.0
            );
        }
    }
    if !results.predictions.is_empty() {
        text.push_str("\nmodel; the range is what it gives with hop, wake and misses at half and double\n");
    }
    for one in &results.predictions {
        let _ = writeln!(text, "{}", prediction_line(one));
    }
    text
}

fn json(options: &Options, results: &Results) -> Value {
    let check = |check: &Check| {
        let compared = check.compared.iter().map(|one| {
            json!({
                "cpus": one.figure.cpus,
                "clients": one.figure.clients,
                "measured": one.figure.per_second,
                "measured_cpu_us": one.figure.cpu_us,
                "model": one.model.per_second,
                "model_cpu_us": one.model.cpu_us,
            })
        });
        json!({
            "workload": check.workload.name(),
            "is_met": check.verdict == Verdict::Met,
            "verdict": check_line(check),
            "figures": compared.collect::<Vec<_>>(),
        })
    };
    let prediction = |one: &Prediction| {
        json!({
            "workload": one.workload.name(),
            "nodes": one.nodes,
            "cpus": one.cpus,
            "clients": one.clients,
            "model": one.outcome.per_second,
            "range": [one.range.0, one.range.1],
            "mean_us": one.outcome.mean_us,
            "busy": one.outcome.busy,
        })
    };
    json!({
        "costs_measured": results.costs.machine,
        "figures_measured": results.measured.machine,
        "seed": options.seed,
        "left_out": LEFT_OUT,
        "checks": results.checks.iter().map(check).collect::<Vec<_>>(),
        "predictions": results.predictions.iter().map(prediction).collect::<Vec<_>>(),
    })
}

/// A chart for each workload: throughput by CPUs of a node, a series for each number of nodes.
fn charts(options: &Options, results: &Results) -> Vec<Chart> {
    let workloads: BTreeSet<_> = results.predictions.iter().map(|one| one.workload).collect();
    let chart = |workload: Workload| {
        let find = |nodes: u16, cpus: u16| {
            let mut all = results.predictions.iter();
            all.find(|one| (one.workload, one.nodes, one.cpus) == (workload, nodes, cpus))
        };
        let series = |nodes: &u16| Series {
            name: format!("{nodes} nodes, model"),
            values: options.cpus.iter().map(|cpus| Some(find(*nodes, *cpus)?.outcome.per_second)).collect(),
            ranges: options.cpus.iter().map(|cpus| Some(find(*nodes, *cpus)?.range)).collect(),
        };
        Chart {
            title: workload.name().to_owned(),
            unit: "statements/s by CPUs of a node, model; hatched: its range".to_owned(),
            labels: options.cpus.iter().map(u16::to_string).collect(),
            series: options.nodes.iter().map(series).collect(),
        }
    };
    workloads.into_iter().map(chart).collect()
}
