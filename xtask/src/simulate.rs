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
    arguments.finish()?;
    let mut program = workspace.cargo();
    program.args(["run", "--quiet", "--package", "simulator", "--example", "simulate"]);
    program.args(["--profile", Profile::Simulation.name(), "--"]);
    match (seed, seeds) {
        (Some(seed), None) => program.args(["--seed".to_owned(), seed.to_string()]),
        (None, Some(seeds)) => program.args(["--seeds".to_owned(), seeds.to_string()]),
        _ => return Err(Failure::new("say either --seed N or --seeds N")),
    };
    if let Some(first) = first {
        program.args(["--first".to_owned(), first.to_string()]);
    }
    run(&mut program, LIMIT)
}
