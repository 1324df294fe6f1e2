//! `cargo xtask simulate`: clusters from seeds, for as long as wanted.
//!
//! The simulator itself is a crate; this builds its program in the profile that tests use and hands the options on.

use crate::arguments::Arguments;
use crate::processes::{Failure, Profile, Workspace, run};
use std::time::Duration;

/// A campaign may run for days.
const LIMIT: Duration = Duration::from_secs(7 * 24 * 3_600);

pub(crate) fn command(workspace: &Workspace, mut arguments: Arguments) -> Result<(), Failure> {
    let seed: Option<u64> = arguments.value("--seed")?;
    let seeds: Option<u64> = arguments.value("--seeds")?;
    let first: Option<u64> = arguments.value("--first")?;
    let has_mutants = arguments.flag("--mutants");
    let has_points = arguments.flag("--points");
    let has_walks = arguments.flag("--walk");
    let point: Option<String> = arguments.value("--point")?;
    let only: Option<String> = arguments.value("--only")?;
    let kind: Option<String> = arguments.value("--kind")?;
    let is_detailed = arguments.flag("--detail");
    let is_known = arguments.flag("--known");
    let world: Option<String> = arguments.value("--world")?;
    let exhaustive: Option<String> = arguments.value("--exhaustive")?;
    let states: Option<u64> = arguments.value("--states")?;
    arguments.finish()?;
    let mut program = workspace.cargo();
    program.args(["run", "--quiet", "--package", "simulator", "--example", "simulate"]);
    if has_mutants {
        program.args(["--features", "mutants"]);
    }
    program.args(["--profile", Profile::Simulation.name(), "--"]);
    if has_mutants {
        program.arg("--mutants").env("RUST_BACKTRACE", "0");
    }
    if has_points {
        program.arg("--points");
    }
    if has_walks {
        program.arg("--walk");
    }
    if is_detailed {
        program.arg("--detail");
    }
    if is_known {
        program.arg("--known");
    }
    let is_campaign = has_mutants || has_points || has_walks || exhaustive.is_some();
    for (name, value) in [
        ("--only", only),
        ("--kind", kind),
        ("--world", world),
        ("--exhaustive", exhaustive),
        ("--point", point),
    ] {
        if let Some(value) = value {
            program.args([name.to_owned(), value]);
        }
    }
    if let Some(states) = states {
        program.args(["--states".to_owned(), states.to_string()]);
    }
    match (seed, seeds) {
        (Some(seed), None) if !is_campaign => program.args(["--seed".to_owned(), seed.to_string()]),
        (None, Some(seeds)) => program.args(["--seeds".to_owned(), seeds.to_string()]),
        (None, None) if is_campaign => &mut program,
        _ => {
            let text =
                "say --seed N, --seeds N, --mutants [--only NAME], --points, --walk or --exhaustive NAME|all";
            return Err(Failure::new(text));
        }
    };
    if let Some(first) = first {
        program.args(["--first".to_owned(), first.to_string()]);
    }
    run(&mut program, LIMIT)
}
