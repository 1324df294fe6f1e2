//! The step `unit`: cargo builds all test programs of the workspace, and they run side by side.
//!
//! Cargo runs them one after the other. The seeds of the simulator run one at a time within their program, because
//! worlds of one process share the periods of its readers. For minutes they leave all CPUs but one to the others.
//!
//! Invariant: each program prints what it prints, in one piece.

use super::{CARGO_LIMIT, Passed};
use crate::processes::{Failure, Profile, Workspace, capture, output_of};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Its programs take the longest, and begin first.
const LONGEST: &str = "simulator";

/// A test program, and the folder of its package.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Program {
    path: PathBuf,
    folder: PathBuf,
}

pub(super) fn step(workspace: &Workspace) -> Result<Passed, Failure> {
    let mut build = workspace.cargo();
    build.args(["test", "--quiet", "--workspace", "--no-run", "--message-format=json"]);
    build.args(["--profile", Profile::Simulation.name()]);
    let mut programs = programs(&capture(&mut build, CARGO_LIMIT)?);
    if programs.is_empty() {
        return Err(Failure::new("cargo has built no test program"));
    }
    programs.sort_by_key(|program| !program.folder.ends_with(LONGEST));
    let waiting = Mutex::new(programs.into_iter());
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
    let failed = Mutex::new(Vec::new());
    let work = || {
        while let Some(program) = next() {
            if let Err(failure) = run(&program) {
                failed.lock().unwrap_or_else(PoisonError::into_inner).push(failure.to_string());
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    if failed.is_empty() { Ok(Passed::Done) } else { Err(Failure::new(failed.join("; "))) }
}

/// As cargo runs it, in the folder of its package.
fn run(program: &Program) -> Result<(), Failure> {
    let mut command = Command::new(&program.path);
    command.arg("--quiet").current_dir(&program.folder).env("CARGO_MANIFEST_DIR", &program.folder);
    let (status, text) = output_of(&mut command, CARGO_LIMIT)?;
    let name = program.path.file_name().unwrap_or_default().to_string_lossy();
    println!("running {name}{text}");
    if status.success() { Ok(()) } else { Err(Failure::new(format!("{name}: {status}"))) }
}

/// The test programs that cargo names, a JSON object on each line.
fn programs(messages: &str) -> Vec<Program> {
    let program = |line: &str| {
        let message: Value = serde_json::from_str(line).ok()?;
        let is_test = message["profile"]["test"].as_bool().unwrap_or(false);
        let path = message["executable"].as_str().filter(|_| is_test)?;
        let folder = Path::new(message["manifest_path"].as_str()?).parent()?;
        Some(Program { path: path.into(), folder: folder.into() })
    };
    messages.lines().filter_map(program).collect()
}

#[cfg(test)]
mod tests {
    use super::{Program, programs};

    #[test]
    fn test_programs_are_found_among_cargos_messages() {
        let messages = concat!(
            "{\"reason\":\"compiler-artifact\",\"manifest_path\":\"/w/a/Cargo.toml\",\"profile\":{\"test\":false},\"executable\":\"/t/a\"}\n",
            "{\"reason\":\"compiler-artifact\",\"manifest_path\":\"/w/b/Cargo.toml\",\"profile\":{\"test\":true},\"executable\":null}\n",
            "{\"reason\":\"compiler-artifact\",\"manifest_path\":\"/w/c/Cargo.toml\",\"profile\":{\"test\":true},\"executable\":\"/t/c-1\"}\n",
            "{\"reason\":\"build-finished\",\"success\":true}\nwarning: text of a compiler\n",
        );
        let expected = Program { path: "/t/c-1".into(), folder: "/w/c".into() };
        assert_eq!(programs(messages), [expected]);
    }
}
