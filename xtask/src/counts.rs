//! `cargo xtask counts`: what an operation costs, counted and not timed, beside what was accepted.
//!
//! The simulator's example `counts` runs the production modules one operation at a time, under callgrind. It prints
//! signals, bytes, wakes and allocations. Callgrind writes one file for each operation: instructions by module and, by
//! the addresses that were executed, atomic read-modify-writes ([`profile`]). [`book`] reads and writes
//! `docs/counts.toml`, and judges.
//!
//! **Invariants.** A count that rose by more than its tolerance fails. A count that fell is told, so that it can be
//! written down. An operation that the book does not know, or that was not counted, fails. Without valgrind, and on
//! machines other than x86-64, nothing is compared that callgrind counts, and it is said so.
//!
//! **Deliberately not here**: times, and work of the runtime and the kernel (sockets, rings, wakes themselves).

mod book;
mod profile;

use crate::arguments::Arguments;
use crate::processes::{Failure, Profile, Workspace, capture, run};
use crate::tools::Tool;
use book::{Book, Counts, Verdict};
use profile::Code;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The book, below the root.
const BOOK: &str = "docs/counts.toml";
/// The program is built as the tests are.
const BUILD_LIMIT: Duration = Duration::from_secs(2_400);
/// It takes seconds by itself and some fifty times as long under callgrind.
const RUN_LIMIT: Duration = Duration::from_secs(300);

/// The functions of the program that callgrind heeds (`crates/simulator/examples/counts/meter.rs`).
const PARTS: &str = "counts::meter::part_";
const BEGINS: &str = "counts::meter::counting_begins";
const ENDS: &str = "counts::meter::counting_ends";

/// `cargo xtask counts`.
pub(crate) fn command(workspace: &Workspace, mut arguments: Arguments) -> Result<(), Failure> {
    let accepts = arguments.flag("--accept");
    let is_release = arguments.flag("--release");
    arguments.finish()?;
    if is_release {
        if accepts {
            return Err(Failure::new(
                "the book is of the build that tests run: --accept goes without --release",
            ));
        }
        let counted = count(workspace, Profile::Release)?;
        print!("{}", counted.text());
        return Ok(());
    }
    if !accepts {
        return step(workspace).map(|note| note.into_iter().for_each(|note| println!("{note}")));
    }
    let counted = count(workspace, Profile::Simulation)?;
    if let Some(reason) = counted.lack {
        return Err(Failure::new(format!("nothing is accepted: {reason}")));
    }
    let path = workspace.root.join(BOOK);
    let before = read_book(&path).unwrap_or_default();
    let verdict = before.judge(&counted.counts);
    print!("{}", verdict.text);
    fs::write(&path, before.with(counted.counts).text()).map_err(Failure::while_doing(path.display()))?;
    println!("{BOOK} is written; the commit says why a count rose");
    Ok(())
}

/// Counts and compares; gives what could not be compared.
pub(crate) fn step(workspace: &Workspace) -> Result<Option<String>, Failure> {
    let counted = count(workspace, Profile::Simulation)?;
    let book = read_book(&workspace.root.join(BOOK))?;
    let Verdict { text, risen, fallen } = book.judge(&counted.counts);
    print!("{text}");
    if fallen > 0 {
        println!(
            "{fallen} counts fell: `cargo xtask counts --accept` writes them down, so that they stay low"
        );
    }
    if risen > 0 {
        return Err(Failure::new(format!(
            "{risen} counts rose or are new: make them fall, or accept them with `cargo xtask counts --accept` in a \
             commit that says why"
        )));
    }
    Ok(counted.lack)
}

fn read_book(path: &Path) -> Result<Book, Failure> {
    let text = fs::read_to_string(path).map_err(Failure::while_doing(path.display()))?;
    Book::parse(&text).map_err(Failure::while_doing(path.display()))
}

/// The counts of all operations, and why some are missing.
struct Counted {
    counts: Vec<Counts>,
    lack: Option<String>,
}

impl Counted {
    fn text(&self) -> String {
        let book = Book::default().with(self.counts.clone());
        format!("{}{}\n", book.text(), self.lack.as_deref().unwrap_or_default())
    }
}

fn count(workspace: &Workspace, profile: Profile) -> Result<Counted, Failure> {
    let program = build(workspace, profile)?;
    let valgrind = match Tool::Valgrind.ensure() {
        Ok(_) if !cfg!(target_arch = "x86_64") => Err("the book's instructions are of x86-64".to_owned()),
        Ok(path) => Ok(path),
        Err(missing) => Err(missing.0),
    };
    let valgrind = match valgrind {
        Ok(path) => path,
        Err(reason) => {
            let output = capture(&mut Command::new(&program), RUN_LIMIT)?;
            let lack = format!("instructions and atomics were not counted: {reason}");
            return Ok(Counted { counts: read_lines(&output)?, lack: Some(lack) });
        }
    };
    let directory = workspace.scratch("counts")?;
    let out = directory.join("callgrind.out");
    let mut callgrind = Command::new(valgrind);
    callgrind.args([
        "--quiet",
        "--tool=callgrind",
        "--dump-instr=yes",
        "--dump-line=no",
        "--compress-pos=no",
    ]);
    callgrind.arg(format!("--callgrind-out-file={}", out.display()));
    callgrind.arg(format!("--toggle-collect={PARTS}*"));
    callgrind.arg(format!("--zero-before={BEGINS}*")).arg(format!("--dump-before={ENDS}*"));
    let output = capture(callgrind.arg(&program), RUN_LIMIT)?;
    let mut counts = read_lines(&output)?;
    let code = Code::read(&program)?;
    for (number, operation) in (1..).zip(&mut counts) {
        let path = directory.join(format!("callgrind.out.{number}"));
        let text = fs::read_to_string(&path).map_err(Failure::while_doing(path.display()))?;
        let found = profile::read(&text, PARTS, &program.display().to_string(), &code);
        let found = found.map_err(Failure::while_doing(path.display()))?;
        operation.add("atomics", found.atomics);
        operation.add("instructions", found.parts.values().sum());
        for (part, instructions) in found.parts {
            operation.add(&format!("instructions_{part}"), instructions);
        }
    }
    Ok(Counted { counts, lack: None })
}

fn build(workspace: &Workspace, profile: Profile) -> Result<PathBuf, Failure> {
    let mut build = workspace.cargo();
    // An incremental build has other units of code: it takes a tenth more instructions.
    build.env("CARGO_INCREMENTAL", "0");
    build.args(["build", "--quiet", "--package", "simulator", "--example", "counts"]);
    run(build.args(["--profile", profile.name()]), BUILD_LIMIT)?;
    Ok(workspace.target.join(profile.name()).join("examples").join("counts"))
}

/// Reads what the program prints: `NAME operations=N COUNT=SUM …`.
fn read_lines(output: &str) -> Result<Vec<Counts>, Failure> {
    let wrong = |line: &str| Failure::new(format!("the counting program says {line:?}"));
    let mut operations = Vec::new();
    for line in output.lines() {
        let mut words = line.split(' ');
        let name = words.next().unwrap_or_default();
        let values: Option<Vec<(&str, u64)>> = words
            .map(|word| word.split_once('=').and_then(|(count, sum)| Some((count, sum.parse().ok()?))))
            .collect();
        match values.as_deref() {
            Some([("operations", times), values @ ..]) if *times > 0 => {
                let mut operation = Counts::new(name, *times);
                values.iter().for_each(|(count, sum)| operation.add(count, *sum));
                operations.push(operation);
            }
            _ => return Err(wrong(line)),
        }
    }
    Ok(operations)
}

#[cfg(test)]
mod tests;
