//! A disk for the tests of this crate: what was synced, and sectors that were written and not synced.

use protocol::disk::{DiskAnswer, DiskError, DiskOperation, FileName};
use std::collections::{BTreeMap, BTreeSet};
use stdx::Prng;

const SECTOR_SIZE: usize = 512;

#[derive(Clone, Debug, Default)]
struct File {
    durable: Vec<u8>,
    current: Vec<u8>,
    dirty: BTreeSet<usize>,
}

impl File {
    fn sync(&mut self) {
        self.durable = self.current.clone();
        self.dirty.clear();
    }

    fn sectors(range: std::ops::Range<usize>) -> std::ops::Range<usize> {
        range.start / SECTOR_SIZE..range.end.div_ceil(SECTOR_SIZE)
    }

    fn keep(&mut self, sector: usize) {
        let end = self.current.len().min((sector + 1) * SECTOR_SIZE);
        self.durable.resize(self.durable.len().max(end), 0);
        let range = sector * SECTOR_SIZE..end;
        self.durable[range.clone()].copy_from_slice(&self.current[range]);
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Disk {
    files: BTreeMap<FileName, File>,
    /// Room for files that are made.
    pub(crate) is_full: bool,
}

impl Disk {
    pub(crate) fn perform(&mut self, operation: DiskOperation) -> Result<DiskAnswer, DiskError> {
        let done = Ok(DiskAnswer::Done);
        match operation {
            DiskOperation::Write { file, offset, bytes, sync } => {
                let file = self.files.get_mut(&file).ok_or(DiskError::Absent)?;
                let range = at(offset)..at(offset) + bytes.len();
                file.current.resize(file.current.len().max(range.end), 0);
                file.current[range.clone()].copy_from_slice(&bytes);
                file.dirty.extend(File::sectors(range));
                if sync {
                    file.sync();
                }
                done
            }
            DiskOperation::Sync { file } => {
                self.files.get_mut(&file).ok_or(DiskError::Absent)?.sync();
                done
            }
            DiskOperation::Replace { file, bytes } => {
                self.put(file, bytes);
                done
            }
            DiskOperation::Read { file, offset, length } => {
                let bytes = &self.files.get(&file).ok_or(DiskError::Absent)?.current;
                let end = bytes.len().min(at(offset + length));
                Ok(DiskAnswer::Bytes(bytes.get(at(offset)..end).unwrap_or_default().to_vec()))
            }
            DiskOperation::Prepare { .. } if self.is_full => Err(DiskError::Full),
            DiskOperation::Prepare { file, size } => {
                self.put(file, vec![0; at(size)]);
                done
            }
            DiskOperation::Create { file } => {
                self.put(file, Vec::new());
                done
            }
            DiskOperation::Rename { from, to } => {
                let file = self.files.remove(&from).ok_or(DiskError::Absent)?;
                self.files.insert(to, file);
                done
            }
            DiskOperation::Remove { file } => {
                self.files.remove(&file).ok_or(DiskError::Absent)?;
                done
            }
            DiskOperation::List => Ok(DiskAnswer::Files(self.list())),
            DiskOperation::Space => Ok(DiskAnswer::Space { free: 0, total: 0 }),
        }
    }

    fn put(&mut self, name: FileName, bytes: Vec<u8>) {
        let file = File { durable: bytes.clone(), current: bytes, dirty: BTreeSet::new() };
        self.files.insert(name, file);
    }

    pub(crate) fn list(&self) -> Vec<(FileName, u64)> {
        self.files.iter().map(|(name, file)| (*name, file.current.len() as u64)).collect()
    }

    /// The power goes: any unsynced sectors reach the disk.
    pub(crate) fn lose_power(&mut self, random: &mut Prng) {
        let chance = random.below(5);
        self.keep_sectors(|_, _| random.below(4) < chance);
    }

    /// The power goes: exactly these unsynced sectors reach the disk.
    pub(crate) fn keep_sectors(&mut self, mut is_kept: impl FnMut(FileName, usize) -> bool) {
        for (name, file) in &mut self.files {
            for sector in std::mem::take(&mut file.dirty) {
                if is_kept(*name, sector) {
                    file.keep(sector);
                }
            }
            file.current = file.durable.clone();
        }
    }

    pub(crate) fn bytes(&mut self, name: FileName) -> &mut Vec<u8> {
        &mut self.files.get_mut(&name).expect("the file is there").current
    }
}

fn at(number: u64) -> usize {
    usize::try_from(number).expect("files of tests are small")
}
