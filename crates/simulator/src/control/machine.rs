//! A node with its disk: what was synced survives a crash; of the write that was on its way each sector does or does
//! not.

use membership::control_log::{ControlConfig, ControlLog, ControlOutputs};
use membership::log_file::BLOCK_SIZE;
use protocol::control::{LogPlace, LogWrite};
use stdx::{Instant, Prng};

const SECTOR_SIZE: usize = 512;
/// Zeros behind a new file: it is preallocated.
const PREALLOCATED: usize = 8 * BLOCK_SIZE;

/// A machine.
pub(super) struct Machine {
    pub(super) log: Option<ControlLog>,
    /// The file's bytes that survive.
    pub(super) disk: Vec<u8>,
    pub(super) start: u64,
    pub(super) paused_until: u64,
    writing: Option<LogWrite>,
    /// Counts process starts: completions of an earlier one are void.
    pub(super) life: u64,
    /// How fast its clock runs, per mille.
    skew: u64,
}

impl Machine {
    pub(super) fn new(skew: u64) -> Self {
        Self { log: None, disk: Vec::new(), start: 0, paused_until: 0, writing: None, life: 0, skew }
    }

    /// The time that its clock shows.
    pub(super) fn local(&self, now: u64) -> Instant {
        Instant(now / 1_000 * self.skew)
    }

    /// When its log wants to be called, in the world's time.
    pub(super) fn deadline(&self) -> Option<u64> {
        let local = self.log.as_ref()?.deadline().0;
        // Rounded up, so that the clock has reached it then.
        Some((local.div_ceil(self.skew) * 1_000).max(self.paused_until))
    }

    pub(super) fn is_leader(&self) -> bool {
        self.log.as_ref().and_then(ControlLog::role).is_some_and(|(_, _, leads)| leads)
    }

    pub(super) fn open(
        &mut self,
        now: u64,
        config: ControlConfig,
        outputs: &mut ControlOutputs,
    ) -> Result<(), String> {
        self.life += 1;
        self.start = config.start;
        self.log = Some(ControlLog::open(config, &self.disk, self.local(now), outputs)?);
        Ok(())
    }

    /// A write is on its way: its life and ticket.
    pub(super) fn begin(&mut self, write: LogWrite) -> (u64, u64) {
        let ticket = write.ticket;
        stdx::require!(self.writing.is_none(), "two writes at a time");
        self.writing = Some(write);
        (self.life, ticket)
    }

    /// The write is on disk; false if its process is gone.
    pub(super) fn finish(&mut self, life: u64, ticket: u64) -> bool {
        if life != self.life || self.log.is_none() {
            return false;
        }
        let Some(write) = self.writing.take_if(|write| write.ticket == ticket) else { return false };
        match write.place {
            LogPlace::NewFile => self.replace(write.bytes),
            LogPlace::At(offset) => self.put(offset, &write.bytes, |_| true),
        }
        true
    }

    fn replace(&mut self, mut bytes: Vec<u8>) {
        bytes.resize(bytes.len() + PREALLOCATED, 0);
        self.disk = bytes;
    }

    fn put(&mut self, offset: u64, bytes: &[u8], mut survives: impl FnMut(usize) -> bool) {
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        if self.disk.len() < offset + bytes.len() {
            self.disk.resize(offset + bytes.len(), 0);
        }
        for (index, sector) in bytes.chunks(SECTOR_SIZE).enumerate() {
            if survives(index) {
                let at = offset + index * SECTOR_SIZE;
                self.disk[at..at + sector.len()].copy_from_slice(sector);
            }
        }
    }

    /// The process is gone; what was being written is torn. True if there was something.
    pub(super) fn crash(&mut self, prng: &mut Prng) -> bool {
        self.log = None;
        let Some(write) = self.writing.take() else { return false };
        let chance = prng.below(5);
        match write.place {
            LogPlace::NewFile if chance < 2 => self.replace(write.bytes),
            LogPlace::NewFile => {}
            LogPlace::At(offset) => self.put(offset, &write.bytes, |_| prng.chance(chance, 4)),
        }
        true
    }

    /// Bytes of some record rot, but not of the last one.
    pub(super) fn damage(&mut self, prng: &mut Prng) {
        let is_record = |index: &usize| self.disk[index * BLOCK_SIZE..].starts_with(b"LCTL");
        let starts: Vec<usize> = (0..self.disk.len() / BLOCK_SIZE).filter(is_record).collect();
        let count = starts.len();
        if count < 2 {
            return self.disk.clear();
        }
        let at = starts[prng.index(count - 1)] * BLOCK_SIZE + prng.index(64);
        self.disk[at] ^= 0x55;
    }
}
