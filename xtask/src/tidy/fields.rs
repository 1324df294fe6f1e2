//! Structs stay small enough to be read at once: at most [`FIELDS_MAX`] fields.
//!
//! Larger ones stand in [`EXCEPTIONS`] with a reason. Their numbers may only shrink: who takes a field away changes the
//! table, too. Deliberately not here: tests, tuple structs, and the variants of enums.

use super::{Remark, has_extension, is_test};

/// The fields of a struct at most.
const FIELDS_MAX: usize = 20;

/// Structs that have more: their files and names, how many they have, and why.
const EXCEPTIONS: &[(&str, &str, usize, &str)] = &[
    ("bench/src/failover/report.rs", "Injection", 21, "a line of figures, one by one"),
    ("latsdb/src/command_line.rs", "FailoverOptions", 21, "the options of a command, one by one"),
    ("node/src/build.rs", "NodeSettings", 26, "the settings of a node, one by one"),
    ("runtime/src/links.rs", "Link", 22, "the state of a socket, read in each round"),
    ("runtime/src/process.rs", "Process", 26, "everything that threads share"),
    ("runtime/src/worker.rs", "Worker", 46, "everything that a thread owns"),
    ("simulator/src/world.rs", "World", 21, "everything that a run of the simulator owns"),
];

/// All structs of all files.
pub(super) fn remarks(files: &[(String, String)]) -> Vec<Remark> {
    let code = files.iter().filter(|(path, _)| has_extension(path, &["rs"]) && !is_test(path));
    code.flat_map(|(path, text)| of_file(path, text)).collect()
}

pub(super) fn of_file(path: &str, text: &str) -> Vec<Remark> {
    let mut remarks = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        let Some(name) = struct_that_begins(line) else { continue };
        let indent = " ".repeat(line.len() - line.trim_start().len());
        let fields = lines.by_ref().map(|(_, line)| line).take_while(|line| *line != format!("{indent}}}"));
        let count = fields.filter(|line| is_field(line, indent.len() + 4)).count();
        let is_this = |(file, known, ..): &&(&str, &str, usize, &str)| *known == name && path.ends_with(file);
        let allowed = EXCEPTIONS.iter().find(is_this).map(|(.., count, _)| *count);
        if count > allowed.unwrap_or(FIELDS_MAX) {
            let most = allowed.unwrap_or(FIELDS_MAX);
            remarks.push(Remark::new(path, index + 1, format!("{name} has {count} fields; at most {most}")));
        }
        if allowed.is_some_and(|allowed| count < allowed) {
            let text =
                format!("{name} has {count} fields: lower its number in tidy/fields.rs, or take it out");
            remarks.push(Remark::new(path, index + 1, text));
        }
    }
    remarks
}

/// The name of a struct with named fields whose first line this is.
fn struct_that_begins(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let (before, after) = line.split_once("struct ")?;
    let is_first = before.is_empty() || before.starts_with("pub");
    let name = after.split(|letter: char| !letter.is_alphanumeric()).next()?;
    (is_first && line.ends_with('{')).then_some(name)
}

/// Whether a field begins in this line: a name and a colon behind its visibility, at this column.
fn is_field(line: &str, column: usize) -> bool {
    let Some(field) = line.strip_prefix(&" ".repeat(column)) else { return false };
    let name = match field.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(") ").map_or("", |(_, name)| name),
        Some(rest) if rest.starts_with(' ') => rest.trim_start(),
        _ => field,
    };
    let end =
        name.find(|letter: char| !letter.is_ascii_lowercase() && !letter.is_ascii_digit() && letter != '_');
    end.is_some_and(|end| end > 0 && name[end..].starts_with(": "))
}
