//! The disk of a simulated node: what `runtime::disk` is for a real one, and the faults that a disk may have.
//!
//! It belongs to the machine, and outlives processes. A process that ends leaves what it has written, synced or not;
//! of a request under way nobody knows whether it was done. When the machine loses power, any of the sectors that
//! were not synced are as they were before, and the last changes of names may be undone.
//!
//! All other faults happen only if a scenario asks for them: errors, writes that are lost or go to a wrong place, a
//! disk that is full, rot. Time is the world's: it says when a request is done, and so how long a disk stands still.
//!
//! Invariants: those of `protocol::disk`, as long as no scenario has broken them. All draws come from the generator
//! that is passed in. A file of zeros takes no memory.

use protocol::Address;
use protocol::disk::{DiskAnswer, DiskError, DiskLane, DiskOperation, DiskRequest, FileName};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use stdx::Prng;

#[cfg(test)]
mod tests;

/// The part of a file that a disk writes at once.
pub const SECTOR_SIZE: usize = 512;
const SECTOR: u64 = SECTOR_SIZE as u64;
/// The size of a disk without a quota.
const DISK_SIZE: u64 = 1 << 40;

type Sector = [u8; SECTOR_SIZE];

/// A fault that the next change of a lane suffers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Trouble {
    /// It is not done, and answered with this.
    Error(DiskError),
    /// It is answered as if it were done.
    Lost,
    /// A write goes to another place of the same file, this many sectors away.
    Misdirected(u64),
}

/// A disk.
#[derive(Clone, Default)]
pub struct Disk {
    files: BTreeMap<FileName, File>,
    /// Changes of names that no sync of their folder has followed, in order: what the name meant before.
    renamed: Vec<(FileName, Option<File>)>,
    /// All requests, by lane; the first request of each is under way.
    lanes: [VecDeque<(Address, DiskRequest)>; DiskLane::ALL.len()],
    /// Files that this process has failed to write or to sync.
    failed: BTreeSet<FileName>,
    troubles: VecDeque<(DiskLane, Trouble)>,
    quota: Option<u64>,
    /// Until when nothing is done, by lane, in the world's time.
    pub stalled_until: [u64; DiskLane::ALL.len()],
}

/// A file as processes see it, and what becomes of it without power.
#[derive(Clone, Default)]
struct File {
    size: u64,
    /// Sectors that are not zeros.
    sectors: BTreeMap<u64, Box<Sector>>,
    /// Sectors written since the last sync, and what they held before.
    unsynced: BTreeMap<u64, Option<Box<Sector>>>,
    synced_size: u64,
}

impl Disk {
    // ---- requests ---------------------------------------------------------------------------------------------------

    /// Puts a request into the queue of its lane. True if the lane had nothing to do.
    pub fn ask(&mut self, from: Address, request: DiskRequest) -> bool {
        let lane = &mut self.lanes[request.lane as usize];
        lane.push_back((from, request));
        lane.len() == 1
    }

    /// The request that a lane is busy with.
    #[must_use]
    pub fn under_way(&self, lane: DiskLane) -> Option<&DiskRequest> {
        self.lanes[lane as usize].front().map(|(_, request)| request)
    }

    /// Does the request under way: the module that asked, its ticket, the answer.
    pub fn finish(&mut self, lane: DiskLane) -> Option<(Address, u64, Result<DiskAnswer, DiskError>)> {
        let (from, request) = self.lanes[lane as usize].pop_front()?;
        Some((from, request.ticket, self.run(lane, request.operation)))
    }

    /// Does an operation at once.
    pub fn run(&mut self, lane: DiskLane, operation: DiskOperation) -> Result<DiskAnswer, DiskError> {
        let written = match &operation {
            DiskOperation::Read { file, offset, length } => {
                let found = self.files.get(file).ok_or(DiskError::Absent)?;
                return Ok(DiskAnswer::Bytes(found.read(*offset, *length)));
            }
            DiskOperation::List => {
                let files = self.files.iter().map(|(name, file)| (*name, file.size));
                return Ok(DiskAnswer::Files(files.collect()));
            }
            DiskOperation::Space => {
                let total = self.quota.unwrap_or(DISK_SIZE);
                return Ok(DiskAnswer::Space { free: total.saturating_sub(self.size()), total });
            }
            DiskOperation::Write { file, .. } | DiskOperation::Sync { file } => Some(*file),
            DiskOperation::Replace { .. }
            | DiskOperation::Prepare { .. }
            | DiskOperation::Create { .. }
            | DiskOperation::Rename { .. }
            | DiskOperation::Remove { .. } => None,
        };
        if let Some(file) = written.filter(|file| self.failed.contains(file)) {
            return Err(DiskError::Failed(format!("{file}: an earlier operation failed")));
        }
        let result = self.change_or_suffer(lane, operation);
        if let Some(file) =
            written.filter(|_| result.as_ref().is_err_and(|error| *error != DiskError::Absent))
        {
            self.failed.insert(file);
        }
        result.map(|()| DiskAnswer::Done)
    }

    fn change_or_suffer(&mut self, lane: DiskLane, operation: DiskOperation) -> Result<(), DiskError> {
        let at = self.troubles.iter().position(|(of, _)| *of == lane);
        match (at.and_then(|at| self.troubles.remove(at)).map(|(_, trouble)| trouble), operation) {
            (Some(Trouble::Error(error)), _) => Err(error),
            (Some(Trouble::Lost), _) => Ok(()),
            (Some(Trouble::Misdirected(sectors)), DiskOperation::Write { file, offset, bytes, sync }) => {
                let offset = offset + sectors * SECTOR;
                self.change(DiskOperation::Write { file, offset, bytes, sync })
            }
            (Some(Trouble::Misdirected(_)) | None, operation) => self.change(operation),
        }
    }

    fn change(&mut self, operation: DiskOperation) -> Result<(), DiskError> {
        match operation {
            DiskOperation::Write { file, offset, bytes, sync } => {
                let end = offset + bytes.len() as u64;
                let room = self.room();
                let found = self.files.get_mut(&file).ok_or(DiskError::Absent)?;
                if end.saturating_sub(found.size) > room {
                    return Err(DiskError::Full);
                }
                found.write(offset, &bytes);
                if sync {
                    found.sync();
                }
            }
            DiskOperation::Sync { file } => self.files.get_mut(&file).ok_or(DiskError::Absent)?.sync(),
            DiskOperation::Replace { file, bytes } => {
                let mut new = File::default();
                new.write(0, &bytes);
                self.put(file, new)?;
            }
            DiskOperation::Prepare { file, size } => self.put(file, File { size, ..File::default() })?,
            DiskOperation::Create { file } => {
                self.failed.remove(&file);
                let before = self.files.insert(file, File::default());
                self.renamed.push((file, before));
            }
            DiskOperation::Rename { from, to } => {
                let moved = self.files.remove(&from).ok_or(DiskError::Absent)?;
                self.failed.remove(&to);
                self.files.insert(to, moved);
                self.sync_folder(to);
            }
            DiskOperation::Remove { file } => {
                let gone = self.files.remove(&file).ok_or(DiskError::Absent)?;
                self.failed.remove(&file);
                self.renamed.push((file, Some(gone)));
            }
            DiskOperation::Read { .. } | DiskOperation::List | DiskOperation::Space => {}
        }
        Ok(())
    }

    /// A new file takes its place, synced. Both are there for a moment.
    fn put(&mut self, name: FileName, mut file: File) -> Result<(), DiskError> {
        if file.size > self.room() {
            return Err(DiskError::Full);
        }
        file.sync();
        self.failed.remove(&name);
        self.files.insert(name, file);
        self.sync_folder(name);
        Ok(())
    }

    fn sync_folder(&mut self, name: FileName) {
        self.renamed.retain(|(renamed, _)| folder(*renamed) != folder(name));
    }

    /// Bytes in all files.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.files.values().map(|file| file.size).sum()
    }

    fn room(&self) -> u64 {
        self.quota.unwrap_or(DISK_SIZE).saturating_sub(self.size())
    }

    // ---- processes and power ----------------------------------------------------------------------------------------

    /// A process begins: the bytes of its control log (none if there is no such file), which are on disk from now on.
    /// Scratch files of the one before go.
    pub fn begin_process(&mut self) -> Vec<u8> {
        self.files.retain(|name, _| !matches!(name, FileName::Scratch(_)));
        self.renamed.retain(|(name, _)| !matches!(name, FileName::Scratch(_)));
        let Some(log) = self.files.get_mut(&FileName::ControlLog) else { return Vec::new() };
        log.sync();
        log.read(0, u64::MAX)
    }

    /// The process is gone: what it has written stays. Requests under way were done, or were not; nothing was synced.
    pub fn end_process(&mut self, prng: &mut Prng) {
        let lanes = std::mem::take(&mut self.lanes);
        for (_, DiskRequest { lane, mut operation, .. }) in
            lanes.into_iter().filter_map(|mut lane| lane.pop_front())
        {
            if let DiskOperation::Write { sync, .. } = &mut operation {
                *sync = false;
            }
            // Nobody hears the answer.
            if !matches!(operation, DiskOperation::Sync { .. }) && prng.chance(1, 2) {
                let _ = self.run(lane, operation);
            }
        }
        self.failed.clear();
    }

    /// The machine has lost power: any sectors that were not synced are as before, and names are as they were at one of
    /// the moments since their last sync. No process may run.
    pub fn lose_power(&mut self, prng: &mut Prng) {
        let kept = prng.index(self.renamed.len() + 1);
        for (name, before) in self.renamed.drain(kept..).rev() {
            match before {
                Some(file) => self.files.insert(name, file),
                None => self.files.remove(&name),
            };
        }
        self.renamed.clear();
        for file in self.files.values_mut() {
            file.lose_power(prng);
        }
    }

    /// Everything that was written is on disk, without a sync.
    pub fn settle(&mut self) {
        self.files.values_mut().for_each(File::sync);
    }

    // ---- faults -----------------------------------------------------------------------------------------------------

    /// The next change of this lane suffers this.
    pub fn trouble_next(&mut self, lane: DiskLane, trouble: Trouble) {
        self.troubles.push_back((lane, trouble));
    }

    /// Troubles that no change has suffered yet go; how many.
    pub fn forget_troubles(&mut self) -> usize {
        std::mem::take(&mut self.troubles).len()
    }

    /// The files may have so many bytes together; none: there is room for all.
    pub fn set_quota(&mut self, quota: Option<u64>) {
        self.quota = quota;
    }

    /// The bits of a mask change in a byte of a file. False if there is no such byte.
    pub fn flip(&mut self, file: FileName, offset: u64, mask: u8) -> bool {
        let Some(found) = self.files.get_mut(&file).filter(|file| offset < file.size) else { return false };
        let byte = found.read(offset, 1)[0] ^ mask;
        found.rot(offset, &[byte]);
        true
    }

    /// A bit of a file rots. False if it has none.
    pub fn rot_bit(&mut self, file: FileName, prng: &mut Prng) -> bool {
        let size = self.files.get(&file).map_or(0, |file| file.size);
        size > 0 && self.flip(file, prng.below(size), 1 << prng.below(8))
    }

    /// A sector of a file gets other bytes. False if there is none.
    pub fn rot_sector(&mut self, file: FileName, prng: &mut Prng) -> bool {
        let Some(found) = self.files.get_mut(&file).filter(|file| file.size > 0) else { return false };
        let start = prng.below(found.size.div_ceil(SECTOR)) * SECTOR;
        let mut bytes = [0; SECTOR_SIZE];
        prng.fill(&mut bytes);
        let length = usize::try_from(found.size - start).map_or(SECTOR_SIZE, |left| left.min(SECTOR_SIZE));
        found.rot(start, &bytes[..length]);
        true
    }

    /// A file is cut off at a byte; at 0 it is empty. False if there is no such file.
    pub fn cut_file(&mut self, file: FileName, size: u64) -> bool {
        let Some(found) = self.files.get_mut(&file) else { return false };
        found.cut(size);
        true
    }

    /// A file is gone. False if it never was.
    pub fn lose_file(&mut self, file: FileName) -> bool {
        self.files.remove(&file).is_some()
    }

    /// Another, empty disk is in its place.
    pub fn lose_all(&mut self) {
        *self = Self::default();
    }

    /// All files but the control log are those of an older copy of this disk.
    pub fn replace_rows(&mut self, older: &Self) {
        self.files.retain(|name, _| *name == FileName::ControlLog);
        let rows = older.files.iter().filter(|(name, _)| **name != FileName::ControlLog);
        self.files.extend(rows.map(|(name, file)| (*name, file.clone())));
        self.renamed.clear();
    }

    /// The names of all files.
    pub fn files(&self) -> impl Iterator<Item = FileName> {
        self.files.keys().copied()
    }

    /// All bytes of a file, none if there is no such file.
    #[must_use]
    pub fn bytes(&self, file: FileName) -> Vec<u8> {
        self.files.get(&file).map_or(Vec::new(), |file| file.read(0, u64::MAX))
    }
}

impl File {
    fn read(&self, offset: u64, length: u64) -> Vec<u8> {
        let end = offset.saturating_add(length).min(self.size);
        let length = usize::try_from(end.saturating_sub(offset)).unwrap_or(0);
        let mut bytes = vec![0; length];
        if length > 0 {
            for (sector, content) in self.sectors.range(offset / SECTOR..=end / SECTOR) {
                let first = sector * SECTOR;
                let (from, to) = (first.max(offset), (first + SECTOR).min(end));
                // The last sector may begin at the end.
                if from < to {
                    let part = &content[place(from - first)..place(to - first)];
                    bytes[place(from - offset)..place(to - offset)].copy_from_slice(part);
                }
            }
        }
        bytes
    }

    /// Puts bytes into the file, and says what each sector held before.
    fn put(&mut self, offset: u64, bytes: &[u8]) -> Vec<(u64, Option<Box<Sector>>)> {
        let mut before = Vec::new();
        let (mut at, mut left) = (offset, bytes);
        while !left.is_empty() {
            let (sector, start) = (at / SECTOR, place(at % SECTOR));
            let count = left.len().min(SECTOR_SIZE - start);
            let (now, rest) = left.split_at(count);
            let old = self.sectors.remove(&sector);
            let mut new = old.clone().unwrap_or_else(|| Box::new([0; SECTOR_SIZE]));
            new[start..start + count].copy_from_slice(now);
            if *new != [0; SECTOR_SIZE] {
                self.sectors.insert(sector, new);
            }
            before.push((sector, old));
            (at, left) = (at + count as u64, rest);
        }
        self.size = self.size.max(at);
        before
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) {
        for (sector, before) in self.put(offset, bytes) {
            self.unsynced.entry(sector).or_insert(before);
        }
    }

    /// The contents change behind everybody's back.
    fn rot(&mut self, offset: u64, bytes: &[u8]) {
        self.put(offset, bytes);
    }

    fn cut(&mut self, size: u64) {
        self.size = self.size.min(size);
        self.synced_size = self.synced_size.min(size);
        let first = size.div_ceil(SECTOR);
        self.sectors.split_off(&first);
        self.unsynced.split_off(&first);
        if let Some(last) = self.sectors.get_mut(&(size / SECTOR)) {
            last[place(size % SECTOR)..].fill(0);
        }
    }

    fn sync(&mut self) {
        self.unsynced.clear();
        self.synced_size = self.size;
    }

    fn lose_power(&mut self, prng: &mut Prng) {
        let kept = prng.below(5);
        for (sector, before) in std::mem::take(&mut self.unsynced) {
            if prng.chance(kept, 4) {
                continue;
            }
            match before {
                Some(content) => self.sectors.insert(sector, content),
                None => self.sectors.remove(&sector),
            };
        }
        if self.size > self.synced_size && prng.chance(1, 2) {
            self.cut(self.synced_size);
        }
        self.synced_size = self.size;
    }
}

/// The folder that a file is in.
fn folder(name: FileName) -> String {
    name.to_string().split_once('/').map_or(String::new(), |(folder, _)| folder.to_owned())
}

/// A place in memory.
fn place(at: u64) -> usize {
    usize::try_from(at).unwrap_or(usize::MAX)
}
