//! A node with its disk. Each crash takes the power with it, so the write under way is torn.

use crate::disk::Disk;
use membership::control_log::{ControlConfig, ControlLog, ControlOutputs};
use membership::log_file::BLOCK_SIZE;
use protocol::Address;
use protocol::disk::{DiskLane, DiskRequest, FileName};
use stdx::{Instant, Prng};
use types::NodeId;

/// A machine.
pub(super) struct Machine {
    pub(super) log: Option<ControlLog>,
    me: Address,
    pub(super) disk: Disk,
    pub(super) start: u64,
    pub(super) paused_until: u64,
    /// Counts process starts: completions of an earlier one are void.
    pub(super) life: u64,
    /// How fast its clock runs, per mille.
    skew: u64,
}

impl Machine {
    pub(super) fn new(node: NodeId, skew: u64) -> Self {
        let (me, disk) = (Address::membership(node), Disk::default());
        Self { log: None, me, disk, start: 0, paused_until: 0, life: 0, skew }
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
        let file = self.disk.begin_process();
        self.log = Some(ControlLog::open(config, &file, self.local(now), outputs)?);
        Ok(())
    }

    /// A write is on its way: its life and ticket.
    pub(super) fn begin(&mut self, write: DiskRequest) -> (u64, u64) {
        let ticket = write.ticket;
        let is_first = self.disk.ask(self.me, write);
        stdx::require!(is_first, "two writes at a time");
        (self.life, ticket)
    }

    /// The write is on disk; false if its process is gone.
    pub(super) fn finish(&mut self, life: u64, ticket: u64) -> bool {
        let is_under_way = self.disk.under_way(DiskLane::Control).is_some_and(|write| write.ticket == ticket);
        if life != self.life || self.log.is_none() || !is_under_way {
            return false;
        }
        self.disk.finish(DiskLane::Control).is_some_and(|(_, _, result)| result.is_ok())
    }

    /// The process is gone; what was being written is torn. True if there was something.
    pub(super) fn crash(&mut self, prng: &mut Prng) -> bool {
        self.log = None;
        let was_writing = self.disk.under_way(DiskLane::Control).is_some();
        self.disk.end_process(prng);
        self.disk.lose_power(prng);
        was_writing
    }

    /// Bytes of some record rot, but not of the last one.
    pub(super) fn damage(&mut self, prng: &mut Prng) {
        let bytes = self.disk.bytes(FileName::ControlLog);
        let is_record = |index: &usize| bytes[index * BLOCK_SIZE..].starts_with(b"LCTL");
        let starts: Vec<usize> = (0..bytes.len() / BLOCK_SIZE).filter(is_record).collect();
        let count = starts.len();
        if count < 2 {
            return self.disk.lose_all();
        }
        let at = starts[prng.index(count - 1)] * BLOCK_SIZE + prng.index(64);
        self.disk.flip(FileName::ControlLog, at as u64, 0x55);
    }
}
