//! The token file of a management node: `latsdb_N_management.token` in its DataDir, one line of 64 hexadecimal digits.
//!
//! It is made at the node's first start and kept from then on, so that copies of it (`--token-file`) outlive restarts.
//! To get another token, remove the file and start the node again.
//!
//! Invariant: the token that is used was in a file that nobody but this process's user could read: a file with another
//! owner or more permissions is replaced.

use node::management::{Authority, Token};
use runtime::machine;
use rustix::process::geteuid;
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Permissions of the file: its owner's only.
const MODE: u32 = 0o600;
/// The end of its name.
const SUFFIX: &str = "_management.token";
/// More than this is no token file.
const SIZE_MAX: u64 = 4_096;

/// The name of a node's file.
pub(crate) fn name(node: u16) -> String {
    format!("latsdb_{node}{SUFFIX}")
}

/// Whether a file has the name of a token file.
pub(crate) fn is_name(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    path.is_absolute() && name.is_some_and(|name| name.starts_with("latsdb_") && name.ends_with(SUFFIX))
}

/// The token of a node: that of its file, else a new one, which is put there.
pub(crate) fn open(data_dir: &Path, node: u16) -> Result<Authority, String> {
    let directory = data_dir
        .canonicalize()
        .map_err(|error| format!("cannot use DataDir {}: {error}", data_dir.display()))?;
    let path = directory.join(name(node));
    let token = match read(&path) {
        Some(token) => token,
        None => make(&path).map_err(|error| format!("cannot make {}: {error}", path.display()))?,
    };
    Ok(Authority { token, file: path.display().to_string() })
}

/// The token of a file that only this user can read.
fn read(path: &Path) -> Option<Token> {
    let file = fs::File::open(path).ok()?;
    let metadata = file.metadata().ok()?;
    let is_private = metadata.uid() == geteuid().as_raw() && metadata.mode() & 0o777 & !MODE == 0;
    if !is_private {
        tracing::warn!("{} could be read or written by others: there is a new token now", path.display());
        return None;
    }
    let mut text = String::new();
    file.take(SIZE_MAX).read_to_string(&mut text).ok()?;
    Token::parse(&text)
}

fn make(path: &Path) -> io::Result<Token> {
    let random = machine::random_seed().ok_or_else(|| io::Error::other("the system has no randomness"))?;
    let token = Token::new(random);
    let new = path.with_extension(format!("new-{}", std::process::id()));
    // An earlier process of this number may have left one.
    let _ = fs::remove_file(&new);
    let mut file = OpenOptions::new().create_new(true).write(true).mode(MODE).open(&new)?;
    file.write_all(format!("{}\n", token.line()).as_bytes())?;
    fs::rename(&new, path)?;
    Ok(token)
}

#[cfg(test)]
mod tests;
