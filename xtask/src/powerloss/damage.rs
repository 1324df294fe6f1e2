//! Damage that is done to the redo log or the checkpoints of one node while nothing runs, as by a bad disk or a bad
//! command.
//!
//! The cluster comes back all the same: the other replica has everything. The node must not serve a wrong row; it
//! says in its log what it does not have, and gets its rows from the other one.

use crate::processes::Failure;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The unit in which a log is written.
const PAGE_SIZE: usize = 4096;
/// Bits that are flipped at most.
const FLIPS_MAX: u64 = 8;

/// Damages something in the data directory of a node; gives what was done.
pub(super) fn inflict(data_dir: &Path, random: u64) -> Result<String, Failure> {
    let log = files(&data_dir.join("redo"))?;
    let checkpoints = files(&data_dir.join("lcp")).unwrap_or_default();
    let is_of_log = checkpoints.is_empty() || random & (1 << 60) == 0;
    let (files, folder) = if is_of_log { (log, "redo") } else { (checkpoints, "lcp") };
    let picked = usize::try_from(random >> 8).unwrap_or(0) % files.len().max(1);
    let Some(path) = files.get(picked) else {
        return Err(Failure::new(format!("{} has no log to damage", data_dir.display())));
    };
    let used = used_bytes(path)?;
    let place = (random >> 16) % used.max(1);
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    match random % 4 {
        0 => {
            let flips = 1 + (random >> 40) % FLIPS_MAX;
            for flip in (0..flips).filter(|_| used > 0) {
                flip_bit(path, (place + flip * 7_919) % used)?;
            }
            Ok(format!("{flips} bits of {name} are flipped, from byte {place} of {used} on"))
        }
        1 => {
            let file =
                OpenOptions::new().write(true).open(path).map_err(Failure::while_doing(path.display()))?;
            file.set_len(place).map_err(Failure::while_doing(path.display()))?;
            Ok(format!("{name} ends at byte {place} of {used}"))
        }
        2 => {
            fs::remove_file(path).map_err(Failure::while_doing(path.display()))?;
            Ok(format!("{name} is deleted"))
        }
        _ => {
            let folder = data_dir.join(folder);
            fs::remove_dir_all(&folder).map_err(Failure::while_doing(folder.display()))?;
            Ok(format!("{} is deleted", folder.display()))
        }
    }
}

/// The files of a folder, in order.
fn files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(Failure::while_doing(folder.display()))? {
        files.push(entry.map_err(Failure::while_doing(folder.display()))?.path());
    }
    files.sort();
    Ok(files)
}

/// Up to the last page that is not zeros.
fn used_bytes(path: &PathBuf) -> Result<u64, Failure> {
    let bytes = fs::read(path).map_err(Failure::while_doing(path.display()))?;
    let last = bytes.chunks(PAGE_SIZE).rposition(|page| page.iter().any(|byte| *byte != 0));
    let end = last.map_or(0, |page| (page + 1) * PAGE_SIZE);
    // The last page may be short.
    Ok(end.min(bytes.len()) as u64)
}

fn flip_bit(path: &Path, place: u64) -> Result<(), Failure> {
    let open = OpenOptions::new().read(true).write(true).open(path);
    let file = open.map_err(Failure::while_doing(path.display()))?;
    let mut byte = [0];
    file.read_exact_at(&mut byte, place).map_err(Failure::while_doing(path.display()))?;
    byte[0] ^= 1 << (place % 8);
    file.write_all_at(&byte, place).map_err(Failure::while_doing(path.display()))
}
