//! The program's own path, by which it is started again: as a node, or as the next version of itself.
//!
//! The system tells the path of the file that runs, with all symbolic links resolved. An operator who installs versions
//! side by side and turns a link (`/opt/latsdb/current`) would get the old one again. So the path that was typed is
//! kept where it leads to this file.
//!
//! Invariant: when [`path`] is called, the path leads to the file that runs.

use std::io;
use std::path::{Path, PathBuf};

/// The path, absolute.
pub(crate) fn path() -> io::Result<PathBuf> {
    let resolved = std::env::current_exe()?;
    let typed = std::env::args_os().next().map(PathBuf::from).unwrap_or_default();
    let here = std::env::current_dir().unwrap_or_default();
    let folders: Vec<PathBuf> =
        std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default();
    Ok(typed_path(&typed, &here, &folders, &resolved).unwrap_or(resolved))
}

/// Where a shell finds what was typed, if that is the file that runs.
fn typed_path(typed: &Path, here: &Path, folders: &[PathBuf], resolved: &Path) -> Option<PathBuf> {
    let is_it = |path: &PathBuf| path.canonicalize().is_ok_and(|found| found == resolved);
    if typed.components().count() > 1 || typed.is_absolute() {
        return Some(here.join(typed)).filter(is_it);
    }
    folders.iter().map(|folder| here.join(folder).join(typed)).find(is_it)
}

#[cfg(test)]
mod tests;
