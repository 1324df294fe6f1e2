//! The disk of a node: does what modules ask (`protocol::disk`), and knows nothing of what the files hold.
//!
//! A node has a folder, its DataDir. [`NodeFolder`] is this process's right to it. Each lane has a thread
//! (`io-control`, `io-redo`, `io-bulk`, `io-scratch`), which does the lane's requests one after the other and tells
//! the module that asked. The threads end when the workers, which hold the other ends of their queues, have ended.
//!
//! A file takes its place by a rename: it is written beside its place (`NAME.new`), synced and renamed, then its
//! folder is synced. So after the loss of power there is the old file or the new one. A file stays open from its
//! first unsynced write to the sync: the error of a write that the system puts off is told to descriptors that were
//! open then.
//!
//! Scratch files of statements and their folder are never synced, and the files are not kept open. Those of an earlier
//! process are removed when the folder is locked.
//!
//! Bytes of an earlier process may be in the memory of the machine only: it died before its sync, or its sync failed.
//! The records of a control log count all the same, so that file is written anew before anything of it is used.
//!
//! Invariants: one process has the folder, by an advisory lock on its `control.lock`, which goes with the process.
//! Nothing is done twice. A file of which a write or a sync has failed is not written again before it is replaced or
//! removed. After the sync of a folder has failed, its lane changes nothing any more.
//!
//! With the feature `unsynced-writes-die`, writes stay in the memory of the process until their sync: a process that
//! is killed loses them, as a machine without power does. For tests.
//!
//! With `ODirect`, rows go to the disk past the memory of the machine, which keeps it for others: the redo log and
//! checkpoints are read when a node starts only. Their writes are whole pages.
//!
//! Deliberately not here: what a failure means. The module that asked decides.

use crate::process::{External, Process};
use protocol::disk::{DiskAnswer, DiskError, DiskLane, DiskOperation, DiskRequest, FileName};
use std::collections::BTreeMap;
use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

#[cfg(test)]
mod tests;

/// A control log beyond this is not read: it is not one of ours.
const CONTROL_LOG_MAX: u64 = 64 << 20;
const LOCK_NAME: &str = "control.lock";
/// The end of the names of files that have not taken their places yet.
const NEW: &str = ".new";
/// Zeros are written in pieces of this size.
const ZEROS_SIZE: usize = 1 << 20;
/// Writes past the memory of the machine begin at multiples of this, in the file and in memory.
const PAGE_SIZE: usize = 4_096;
/// They are copied to such a place in pieces of this size.
const DIRECT_SIZE: usize = 1 << 20;

/// The folder of a node, for this process alone.
#[derive(Debug)]
pub struct NodeFolder {
    path: PathBuf,
    /// Rows are written past the memory of the machine.
    is_direct: bool,
    _lock: File,
}

impl NodeFolder {
    /// Throws away all files that modules have made in this folder (`--initial`), and locks it.
    pub fn open_anew(path: &Path) -> io::Result<Self> {
        let folder = Self::lock(path)?;
        // The control log last: without it, the node is a new one, and must have nothing else then.
        let mut files = files(&folder.path)?;
        files.sort_by_key(|(file, _)| *file == FileName::ControlLog);
        for (file, _) in files {
            let place = folder.path.join(file.to_string());
            std::fs::remove_file(&place)
                .and_then(|()| sync_folder(&place))
                .map_err(|error| named(&place, &error))?;
        }
        Ok(folder)
    }

    /// Locks this folder, which is made if it is not there. Gives the bytes of the control log, which are on disk (none
    /// if there is no such file yet).
    pub fn open(path: &Path) -> io::Result<(Self, Vec<u8>)> {
        let folder = Self::lock(path)?;
        let place = folder.path.join(FileName::ControlLog.to_string());
        let mut found = match File::open(&place) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((folder, Vec::new())),
            Err(error) => return Err(named(&place, &error)),
        };
        let mut bytes = Vec::new();
        if found.metadata()?.len() > CONTROL_LOG_MAX {
            let message = format!("{} is too long", place.display());
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        found.read_to_end(&mut bytes).map_err(|error| named(&place, &error))?;
        // A sync would not do: one that failed in an earlier process may succeed now, and nothing was written.
        let written = write_beside(&place, |file| file.write_all(&bytes)).and_then(|()| take_place(&place));
        written.map_err(|error| {
            let message = format!("{} cannot be written anew: {error}", place.display());
            io::Error::new(error.kind(), message)
        })?;
        Ok((folder, bytes))
    }

    fn lock(path: &Path) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        let place = path.join(LOCK_NAME);
        let lock = private().write(true).create(true).truncate(false).open(&place);
        let lock = lock.map_err(|error| named(&place, &error))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let message = format!("another process uses {}", path.display());
                return Err(io::Error::new(io::ErrorKind::AddrInUse, message));
            }
            Err(TryLockError::Error(error)) => return Err(named(&place, &error)),
        }
        remove_left(path)?;
        Ok(Self { path: path.to_owned(), is_direct: false, _lock: lock })
    }

    /// Rows will be written past the memory of the machine (`ODirect`), if the file system of the folder can.
    pub fn with_direct_writes(self) -> io::Result<Self> {
        match direct(OpenOptions::new().read(true)).open(self.path.join(LOCK_NAME)) {
            Ok(_) => Ok(Self { is_direct: true, ..self }),
            Err(error) => {
                let message = format!("the file system of {} refuses ODirect: {error}", self.path.display());
                Err(io::Error::new(error.kind(), message))
            }
        }
    }
}

/// A request, and the module that it is from: thread and index.
type Asked = (usize, usize, DiskRequest);

/// The way of a worker's modules to the disk.
#[derive(Clone)]
pub(crate) struct Disk {
    lanes: [mpsc::Sender<Asked>; DiskLane::ALL.len()],
}

impl Disk {
    /// Puts a request into the queue of its lane.
    pub(crate) fn ask(&self, thread: usize, module: usize, request: DiskRequest) {
        // Nobody takes it when the lane has ended, and then the node is about to.
        let _ = self.lanes[request.lane as usize].send((thread, module, request));
    }
}

/// Starts the threads of the lanes.
pub(crate) fn begin(folder: NodeFolder, process: &Arc<Process>) -> io::Result<(Disk, Vec<JoinHandle<()>>)> {
    let folder = Arc::new(folder);
    let mut threads = Vec::new();
    let mut start = |lane: DiskLane| -> io::Result<mpsc::Sender<Asked>> {
        let (requests, wanted) = mpsc::channel::<Asked>();
        let (mut work, process, folder) =
            (Lane::new(folder.path.clone(), folder.is_direct), Arc::clone(process), Arc::clone(&folder));
        let body = move || {
            for (thread, module, DiskRequest { ticket, operation, .. }) in wanted {
                let result = work.run(operation);
                process.threads[thread].tell(External::DiskDone { module, ticket, result });
            }
            drop(folder);
        };
        threads.push(std::thread::Builder::new().name(format!("io-{}", lane.name())).spawn(body)?);
        Ok(requests)
    };
    let [control, redo, bulk, scratch] = DiskLane::ALL;
    let lanes = [start(control)?, start(redo)?, start(bulk)?, start(scratch)?];
    Ok((Disk { lanes }, threads))
}

/// The state of one thread: it does requests.
struct Lane {
    folder: PathBuf,
    is_direct: bool,
    /// Files with writes that no sync has followed yet.
    unsynced: BTreeMap<FileName, Unsynced>,
    /// Files that nobody knows the contents of.
    failed: BTreeMap<FileName, String>,
    /// The sync of a folder failed.
    broken: Option<String>,
}

/// A file with writes that are not synced.
struct Unsynced {
    file: File,
    is_direct: bool,
    /// The writes: they die with the process.
    #[cfg(feature = "unsynced-writes-die")]
    writes: Vec<(u64, Vec<u8>)>,
}

impl Lane {
    fn new(folder: PathBuf, is_direct: bool) -> Self {
        Self { folder, is_direct, unsynced: BTreeMap::new(), failed: BTreeMap::new(), broken: None }
    }

    fn run(&mut self, operation: DiskOperation) -> Result<DiskAnswer, DiskError> {
        match operation {
            DiskOperation::Write { file, offset, bytes, sync } => self.write(file, offset, bytes, sync)?,
            DiskOperation::Sync { file } => self.sync(file)?,
            DiskOperation::Replace { file, bytes } => self.put(file, |new| new.write_all(&bytes))?,
            DiskOperation::Prepare { file, size } => self.put(file, |new| write_zeros(new, size))?,
            DiskOperation::Create { file } => self.create(file)?,
            DiskOperation::Rename { from, to } => self.rename(from, to)?,
            DiskOperation::Remove { file } => self.remove(file)?,
            DiskOperation::Read { file, offset, length } => {
                return self.read(file, offset, length).map(DiskAnswer::Bytes);
            }
            DiskOperation::List => {
                let files = files(&self.folder).map_err(|error| failure(&self.folder, &error))?;
                return Ok(DiskAnswer::Files(files));
            }
            DiskOperation::Space => return self.space(),
        }
        Ok(DiskAnswer::Done)
    }

    fn place(&self, file: FileName) -> PathBuf {
        self.folder.join(file.to_string())
    }

    /// An error of an operation on a file.
    fn error(&self, file: FileName, error: &io::Error) -> DiskError {
        failure(&self.place(file), error)
    }

    /// Whether the lane may still change anything, and this file.
    fn may_change(&self, file: FileName) -> Result<(), DiskError> {
        match self.broken.as_ref().or_else(|| self.failed.get(&file)) {
            None => Ok(()),
            Some(why) => Err(DiskError::Failed(format!("an earlier operation failed: {why}"))),
        }
    }

    /// The file with its unsynced writes.
    fn opened(&mut self, file: FileName) -> Result<&mut Unsynced, DiskError> {
        if !self.unsynced.contains_key(&file) {
            let has_pages = matches!(file, FileName::Redo(_) | FileName::Piece(_));
            let is_direct = self.is_direct && has_pages;
            let mut options = OpenOptions::new();
            options.read(true).write(true);
            let options = if is_direct { direct(&mut options) } else { &mut options };
            let found = options.open(self.place(file));
            let found = Unsynced {
                file: found.map_err(|error| self.error(file, &error))?,
                is_direct,
                #[cfg(feature = "unsynced-writes-die")]
                writes: Vec::new(),
            };
            self.unsynced.insert(file, found);
        }
        self.unsynced.get_mut(&file).ok_or(DiskError::Absent)
    }

    fn write(&mut self, file: FileName, offset: u64, bytes: Vec<u8>, sync: bool) -> Result<(), DiskError> {
        self.may_change(file)?;
        if matches!(file, FileName::Scratch(_)) {
            return self.write_scratch(file, offset, &bytes);
        }
        let result = self.opened(file)?.write(offset, bytes);
        self.keep_failure(file, result)?;
        if sync { self.sync(file) } else { Ok(()) }
    }

    /// Statements have many files, and descriptors are for clients and links: the file is not kept open.
    fn write_scratch(&mut self, file: FileName, offset: u64, bytes: &[u8]) -> Result<(), DiskError> {
        let found = OpenOptions::new().write(true).open(self.place(file));
        let found = found.map_err(|error| self.error(file, &error))?;
        let result = found.write_all_at(bytes, offset);
        self.keep_failure(file, result)
    }

    fn sync(&mut self, file: FileName) -> Result<(), DiskError> {
        self.may_change(file)?;
        let result = self.opened(file)?.sync();
        self.unsynced.remove(&file);
        self.keep_failure(file, result)
    }

    /// After a failed write or sync nobody knows what the file holds.
    fn keep_failure(&mut self, file: FileName, result: io::Result<()>) -> Result<(), DiskError> {
        let Err(error) = result else { return Ok(()) };
        self.unsynced.remove(&file);
        self.failed.insert(file, named(&self.place(file), &error).to_string());
        Err(self.error(file, &error))
    }

    /// Puts a new file in the place of the old one, all or nothing.
    fn put(
        &mut self,
        file: FileName,
        write: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> Result<(), DiskError> {
        if self.broken.is_some() {
            return self.may_change(file);
        }
        let place = self.place(file);
        self.make_folder(&place)?;
        write_beside(&place, write)
            .and_then(|()| std::fs::rename(beside(&place), &place))
            .map_err(|error| self.error(file, &error))?;
        self.forget(file);
        self.sync_folder(&place)
    }

    /// Makes a file that no later process needs: nothing is synced.
    fn create(&mut self, file: FileName) -> Result<(), DiskError> {
        self.forget(file);
        let place = self.place(file);
        let folder = place.parent().unwrap_or(&place);
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(|error| failure(folder, &error))?;
        let made = private().write(true).create(true).truncate(true).open(&place);
        made.map(|_| ()).map_err(|error| self.error(file, &error))
    }

    fn rename(&mut self, from: FileName, to: FileName) -> Result<(), DiskError> {
        self.may_change(from)?;
        let place = self.place(to);
        std::fs::rename(self.place(from), &place).map_err(|error| self.error(from, &error))?;
        self.forget(to);
        if let Some(unsynced) = self.unsynced.remove(&from) {
            self.unsynced.insert(to, unsynced);
        }
        self.sync_folder(&place)
    }

    fn remove(&mut self, file: FileName) -> Result<(), DiskError> {
        std::fs::remove_file(self.place(file)).map_err(|error| self.error(file, &error))?;
        self.forget(file);
        Ok(())
    }

    /// The file of this name is gone.
    fn forget(&mut self, file: FileName) {
        self.unsynced.remove(&file);
        self.failed.remove(&file);
    }

    /// Makes the folder of a place, if it is not there.
    fn make_folder(&mut self, place: &Path) -> Result<(), DiskError> {
        let Some(folder) = place.parent().filter(|folder| !folder.exists()) else { return Ok(()) };
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(|error| failure(folder, &error))?;
        self.sync_folder(folder)
    }

    /// The names beside this place survive the loss of power.
    fn sync_folder(&mut self, place: &Path) -> Result<(), DiskError> {
        sync_folder(place).map_err(|error| {
            self.broken = Some(named(place, &error).to_string());
            failure(place, &error)
        })
    }

    fn read(&self, file: FileName, offset: u64, length: u64) -> Result<Vec<u8>, DiskError> {
        let read = || -> io::Result<Vec<u8>> {
            let found = File::open(self.place(file))?;
            let length = length.min(found.metadata()?.len().saturating_sub(offset));
            let mut bytes = vec![0; usize::try_from(length).map_err(io::Error::other)?];
            found.read_exact_at(&mut bytes, offset)?;
            #[cfg(feature = "unsynced-writes-die")]
            if let Some(unsynced) = self.unsynced.get(&file) {
                unsynced.lay_over(offset, &mut bytes);
            }
            Ok(bytes)
        };
        read().map_err(|error| self.error(file, &error))
    }

    fn space(&self) -> Result<DiskAnswer, DiskError> {
        let found =
            rustix::fs::statvfs(&self.folder).map_err(|error| failure(&self.folder, &error.into()))?;
        let free = found.f_bavail.saturating_mul(found.f_frsize);
        Ok(DiskAnswer::Space { free, total: found.f_blocks.saturating_mul(found.f_frsize) })
    }
}

impl Unsynced {
    /// Writes to the file now.
    fn write_out(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        if !self.is_direct {
            return self.file.write_all_at(bytes, offset);
        }
        let mut room = vec![0; bytes.len().min(DIRECT_SIZE) + PAGE_SIZE];
        let start = room.as_ptr().align_offset(PAGE_SIZE);
        let mut at = offset;
        for piece in bytes.chunks(DIRECT_SIZE) {
            let copied = &mut room[start..start + piece.len()];
            copied.copy_from_slice(piece);
            self.file.write_all_at(copied, at)?;
            at += piece.len() as u64;
        }
        Ok(())
    }
}

#[cfg(not(feature = "unsynced-writes-die"))]
impl Unsynced {
    fn write(&mut self, offset: u64, bytes: Vec<u8>) -> io::Result<()> {
        self.write_out(&bytes, offset)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data()
    }
}

#[cfg(feature = "unsynced-writes-die")]
impl Unsynced {
    fn write(&mut self, offset: u64, bytes: Vec<u8>) -> io::Result<()> {
        self.writes.push((offset, bytes));
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        for (offset, bytes) in std::mem::take(&mut self.writes) {
            self.write_out(&bytes, offset)?;
        }
        self.file.sync_data()
    }

    /// Bytes that were read from the file at this offset, as the writes have made them.
    fn lay_over(&self, offset: u64, bytes: &mut [u8]) {
        for (start, written) in &self.writes {
            for (at, byte) in (*start..).zip(written) {
                let index = at.checked_sub(offset).and_then(|index| usize::try_from(index).ok());
                if let Some(place) = index.and_then(|index| bytes.get_mut(index)) {
                    *place = *byte;
                }
            }
        }
    }
}

/// The files of modules in this folder, with their sizes, in the order of their names.
fn files(folder: &Path) -> io::Result<Vec<(FileName, u64)>> {
    let mut files = Vec::new();
    for (path, size) in all_files(folder)? {
        files.extend(FileName::parse(&path).map(|file| (file, size)));
    }
    files.sort_unstable();
    Ok(files)
}

/// Removes files that an earlier process has not finished, and its scratch files.
fn remove_left(folder: &Path) -> io::Result<()> {
    for (path, _) in all_files(folder)? {
        let is_unfinished = path.strip_suffix(NEW).is_some_and(|path| FileName::parse(path).is_some());
        if is_unfinished || matches!(FileName::parse(&path), Some(FileName::Scratch(_))) {
            let place = folder.join(path);
            std::fs::remove_file(&place).map_err(|error| named(&place, &error))?;
        }
    }
    Ok(())
}

/// The paths of all files, from this folder, and their sizes.
fn all_files(folder: &Path) -> io::Result<Vec<(String, u64)>> {
    let mut files = Vec::new();
    let folders = FileName::FOLDERS.iter().map(|below| format!("{below}/"));
    for below in std::iter::once(String::new()).chain(folders) {
        let entries = match std::fs::read_dir(folder.join(&below)) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(named(&folder.join(&below), &error)),
        };
        for entry in entries {
            let entry = entry?;
            let metadata = match entry.metadata() {
                Ok(metadata) => metadata,
                // Another lane has renamed or removed it since.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(named(&folder.join(&below).join(entry.file_name()), &error)),
            };
            if let (true, Some(name)) = (metadata.is_file(), entry.file_name().to_str()) {
                files.push((format!("{below}{name}"), metadata.len()));
            }
        }
    }
    Ok(files)
}

/// Where a file is written before it takes its place.
fn beside(place: &Path) -> PathBuf {
    let mut path = place.to_owned().into_os_string();
    path.push(NEW);
    path.into()
}

/// Writes a file beside its place; nothing is left of it if that fails.
fn write_beside(place: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let new = beside(place);
    let mut file = private().write(true).create(true).truncate(true).open(&new)?;
    let written = write(&mut file).and_then(|()| file.sync_all());
    if written.is_err() {
        let _ = std::fs::remove_file(&new);
    }
    written
}

/// The file that was written beside its place takes it, for good.
fn take_place(place: &Path) -> io::Result<()> {
    std::fs::rename(beside(place), place)?;
    sync_folder(place)
}

/// Syncs the folder that this place is in.
fn sync_folder(place: &Path) -> io::Result<()> {
    File::open(place.parent().unwrap_or(place))?.sync_all()
}

fn write_zeros(file: &mut File, size: u64) -> io::Result<()> {
    let zeros = vec![0; ZEROS_SIZE];
    let mut left = size;
    while left > 0 {
        let piece = left.min(ZEROS_SIZE as u64);
        file.write_all(&zeros[..usize::try_from(piece).unwrap_or(ZEROS_SIZE)])?;
        left -= piece;
    }
    Ok(())
}

/// The same error, with the file that it is about.
fn named(place: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", place.display()))
}

fn failure(place: &Path, error: &io::Error) -> DiskError {
    #[expect(clippy::wildcard_enum_match_arm, reason = "three kinds of errors are told apart")]
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => DiskError::Full,
        io::ErrorKind::NotFound => DiskError::Absent,
        _ => DiskError::Failed(format!("{}: {error}", place.display())),
    }
}

/// Past the memory of the machine.
fn direct(options: &mut OpenOptions) -> &mut OpenOptions {
    options.custom_flags(rustix::fs::OFlags::DIRECT.bits().cast_signed())
}

/// For the owner's eyes only: the files hold rows, hosts and accounts.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}
