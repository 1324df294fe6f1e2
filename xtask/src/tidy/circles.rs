//! Circles of files: files of one crate that import each other in a loop.
//!
//! An arrow runs from a file to the file in which a name that it imports is defined, re-exports followed. Paths are
//! read as text, in `use` and inline. A `mod` and a `pub use` are no arrows: they put files in order and hand names
//! on. No arrow runs to the file that this one is a part of: `foo/bar.rs` may name what `foo.rs` defines.
//!
//! A circle is remarked if it has more than [`FILE_COUNT_MAX`] files, or if it joins folders that do not lie in each
//! other; `foo.rs` belongs to the folder `foo`. Not read: method calls, macros, modules inside a file, tests.

use super::Remark;
use std::collections::{BTreeMap, BTreeSet};

/// Files of a circle at most.
const FILE_COUNT_MAX: usize = 5;

/// Crates whose one idea is recursive: an expression's parts are expressions.
const RECURSIVE: &[&str] = &["expression"];

/// A module's path inside its crate; the root's is empty.
type Module = Vec<String>;

/// A path that a file imports, and the name it gets here.
struct Import {
    path: Vec<String>,
    name: String,
    hands_on: bool,
}

struct File<'a> {
    path: &'a str,
    imports: Vec<Import>,
    /// Paths outside of `use`.
    inline: Vec<Vec<String>>,
}

/// The remarks on all crates.
pub(super) fn remarks(files: &[(String, String)]) -> Vec<Remark> {
    let mut crates: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
    for (path, text) in files {
        if let Some((name, inside)) = path.strip_prefix("crates/").and_then(|rest| rest.split_once("/src/"))
            && inside.ends_with(".rs")
            && !inside.split('/').any(|part| part == "tests" || part == "tests.rs" || part == "bin")
            && !RECURSIVE.contains(&name)
        {
            crates.entry(name).or_default().push((path, text));
        }
    }
    crates.values().flat_map(|files| of_crate(files)).collect()
}

fn of_crate(files: &[(&str, &str)]) -> Vec<Remark> {
    let files: BTreeMap<Module, File<'_>> =
        files.iter().map(|(path, text)| (module_of(path), read(path, text))).collect();
    let arrows: BTreeMap<&Module, BTreeSet<&Module>> =
        files.keys().map(|module| (module, targets(&files, module))).collect();
    circles(&arrows).iter().filter_map(|circle| judge(&files, circle)).collect()
}

fn judge(files: &BTreeMap<Module, File<'_>>, circle: &[&Module]) -> Option<Remark> {
    let folder = |module: &Module| {
        let is_folder = files.keys().any(|other| other.len() > module.len() && other.starts_with(module));
        module[..if is_folder { module.len() } else { module.len().saturating_sub(1) }].to_vec()
    };
    let folders: BTreeSet<Module> = circle.iter().map(|module| folder(module)).collect();
    let lie_in_each_other = folders
        .iter()
        .all(|one| folders.iter().all(|other| one.starts_with(other) || other.starts_with(one)));
    let names: Vec<&str> = circle.iter().map(|module| files[*module].path).collect();
    if circle.len() <= FILE_COUNT_MAX && lie_in_each_other {
        return None;
    }
    Some(Remark::new(
        names[0],
        0,
        format!("{} files import each other in a circle: {}", names.len(), names.join(", ")),
    ))
}

/// `crates/x/src/a/b.rs` is `a::b`.
fn module_of(path: &str) -> Module {
    let inside = path.split_once("/src/").map_or(path, |(_, inside)| inside);
    let inside = inside.strip_suffix(".rs").unwrap_or(inside);
    if inside == "lib" || inside == "main" {
        return Vec::new();
    }
    inside.split('/').map(str::to_owned).collect()
}

/// The files whose names a file uses.
fn targets<'a>(files: &'a BTreeMap<Module, File<'_>>, module: &Module) -> BTreeSet<&'a Module> {
    let file = &files[module];
    let imports = file.imports.iter().filter(|import| !import.hands_on).map(|import| &import.path);
    let found = imports.chain(&file.inline).filter_map(|path| resolve(files, module, path, 0));
    found.filter(|target| !module.starts_with(target)).collect()
}

/// The file that defines what a path in a module names; none outside of the crate.
fn resolve<'a>(
    files: &'a BTreeMap<Module, File<'_>>,
    from: &Module,
    path: &[String],
    depth: usize,
) -> Option<&'a Module> {
    let mut at = from.clone();
    let mut rest = path;
    match path.first()?.as_str() {
        "crate" => (at, rest) = (Vec::new(), &path[1..]),
        "self" => rest = &path[1..],
        "super" => {
            while rest.first().is_some_and(|part| part == "super") {
                at.pop()?;
                rest = &rest[1..];
            }
        }
        child => {
            at.push(child.to_owned());
            let is_child = files.contains_key(&at);
            at.pop();
            if !is_child {
                return None;
            }
        }
    }
    while let Some(part) = rest.first() {
        at.push(part.clone());
        if !files.contains_key(&at) {
            at.pop();
            break;
        }
        rest = &rest[1..];
    }
    let (found, file) = files.get_key_value(&at)?;
    let handed = rest.first().and_then(|name| file.imports.iter().find(|import| import.name == *name));
    match handed {
        // Names that are handed on in a loop are some text that was misread.
        Some(import) if depth < 8 && (found != from || depth == 0) => {
            let mut path = import.path.clone();
            path.extend_from_slice(&rest[1..]);
            resolve(files, found, &path, depth + 1)
        }
        _ => Some(found),
    }
}

// ---- reading --------------------------------------------------------------------------------------------------------

fn read<'a>(path: &'a str, text: &str) -> File<'a> {
    let code: Vec<&str> = text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
    let code = code.join("\n");
    let (mut imports, mut inline) = (Vec::new(), Vec::new());
    let mut rest = code.as_str();
    while let Some((before, tree, hands_on, behind)) = next_use(rest) {
        inline.extend(inline_paths(before));
        expand(&mut Vec::new(), tree, hands_on, &mut imports);
        rest = behind;
    }
    inline.extend(inline_paths(rest));
    File { path, imports, inline }
}

/// The text before the next `use` item, its tree, whether it hands names on, and the text behind it.
fn next_use(code: &str) -> Option<(&str, &str, bool, &str)> {
    let mut from = 0;
    loop {
        let at = from + code[from..].find("use ")?;
        let start = code[..at].rfind('\n').map_or(0, |end| end + 1);
        let head = code[start..at].trim();
        if head.is_empty() || head.starts_with("pub") {
            let tree = &code[at + "use ".len()..];
            let end = tree.find(';')?;
            return Some((&code[..start], &tree[..end], !head.is_empty(), &tree[end + 1..]));
        }
        from = at + 1;
    }
}

/// All paths of a tree of imports.
fn expand(prefix: &mut Vec<String>, tree: &str, hands_on: bool, imports: &mut Vec<Import>) {
    let tree = tree.trim();
    let (path, branches) = match tree.split_once('{') {
        Some((path, branches)) => (path, branches.strip_suffix('}')),
        None => (tree, None),
    };
    let depth = prefix.len();
    let (path, alias) = path.split_once(" as ").unwrap_or((path, ""));
    prefix.extend(
        path.split("::").map(str::trim).filter(|part| !part.is_empty() && *part != "*").map(str::to_owned),
    );
    match branches {
        Some(branches) => {
            split(branches).into_iter().for_each(|branch| expand(prefix, branch, hands_on, imports))
        }
        None => {
            if prefix.last().is_some_and(|last| last == "self") && prefix.len() > 1 {
                prefix.pop();
            }
            let name = if alias.is_empty() {
                prefix.last().cloned().unwrap_or_default()
            } else {
                alias.trim().to_owned()
            };
            imports.push(Import { path: prefix.clone(), name, hands_on });
        }
    }
    prefix.truncate(depth);
}

/// The parts between commas outside of braces.
fn split(branches: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_i32, 0);
    for (at, character) in branches.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&branches[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&branches[start..]);
    parts.into_iter().filter(|part| !part.trim().is_empty()).collect()
}

/// Paths that begin with `crate`, `super`, `self` or a name of their own.
fn inline_paths(code: &str) -> Vec<Vec<String>> {
    let is_part = |character: char| character.is_alphanumeric() || character == '_' || character == ':';
    let words = code.split(|character: char| !is_part(character)).filter(|word| word.contains("::"));
    words
        .map(|word| word.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect::<Vec<_>>())
        .filter(|path| path.len() > 1)
        .collect()
}

// ---- circles --------------------------------------------------------------------------------------------------------

/// Groups of more than one file of which each reaches each.
fn circles<'a>(arrows: &BTreeMap<&'a Module, BTreeSet<&'a Module>>) -> Vec<Vec<&'a Module>> {
    let reached = |from: &'a Module| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
        while let Some(at) = open.pop() {
            open.extend(arrows[at].iter().filter(|next| seen.insert(**next)));
        }
        seen
    };
    let reach: BTreeMap<&Module, BTreeSet<&Module>> =
        arrows.keys().map(|from| (*from, reached(from))).collect();
    let mut circles: BTreeSet<Vec<&Module>> = BTreeSet::new();
    for (from, seen) in &reach {
        let circle: Vec<&Module> =
            seen.iter().filter(|other| reach[**other].contains(from)).copied().collect();
        if circle.len() > 1 {
            circles.insert(circle);
        }
    }
    circles.into_iter().collect()
}

#[cfg(test)]
mod tests;
