//! The start of a data node with a disk: what it finds there, and what is restored from it.
//!
//! ```text
//! list -> manifests -> log -> the tail is written again -> files that nobody names go -> the claim
//! an order to restore: checkpoints, then the log, then indexes -> a new file, `Restored`
//! a point to join with: the same -> `RestoredToJoin`
//! ```
//! A checkpoint that cannot be read ends this life. Before that its manifest is replaced by one without it, so that the
//! next life does not claim it.
//!
//! Invariants: nothing on the disk changes before all of it is known to be this node's. No row is taken that a checksum
//! does not cover.
//!
//! Deliberately not here: the rows in memory (`restore`), and the log of a node that runs.

use super::checkpoint::Checkpoints;
use super::restore::{GoesOn, Restore, Restored, Trouble};
use super::{Aim, DiskConfig, DiskModule, NextLog, Phase, SPACE_TICKET};
use durability::{Found, LogReader, ManifestScan, Mark, Point, Scan, ScanError};
use protocol::disk::{DiskAnswer, DiskError, DiskLane, DiskOperation, DiskRequest, FileName};
use protocol::module::{EXIT_CANNOT_JOIN, EXIT_CANNOT_START, EXIT_DISK, EXIT_LEFT_OUT};
use protocol::restart::{RestoreOrder, RestorePhase, RestoreProgress};
use protocol::{Address, ClaimPoint, Outputs, Severity, Signal};
use query::{Loaded, Shared};
use stdx::Now;
use types::{Epoch, Incarnation};

/// Why the process ends: its exit code, and a line for people.
type End = (u8, String);

impl DiskModule {
    /// Asks the disk for the next step of the start.
    pub(super) fn ask(&mut self, operation: DiskOperation, outputs: &mut Outputs<Shared>) {
        self.ticket += 1;
        outputs.disk(DiskRequest { ticket: self.ticket, lane: DiskLane::Bulk, operation });
    }

    pub(super) fn on_disk_done(
        &mut self,
        now: Now,
        ticket: u64,
        result: Result<DiskAnswer, DiskError>,
        outputs: &mut Outputs<Shared>,
    ) {
        if ticket == SPACE_TICKET {
            return self.on_space(&result);
        }
        if Checkpoints::is_own(ticket) {
            return self.on_checkpoint_done(now, ticket, result, outputs);
        }
        if matches!(self.phase, Phase::Running) {
            return self.on_written(ticket, result, outputs);
        }
        if let Phase::Restoring(work) = &mut self.phase {
            return match work.on_read(result, outputs) {
                Ok(()) => self.go_on(outputs),
                Err(trouble) => self.end_restore(trouble, outputs),
            };
        }
        match self.on_step_done(result) {
            Ok(()) => self.go_on(outputs),
            Err((exit_code, why)) => self.fail(exit_code, &why, outputs),
        }
    }

    /// The disk has done a step of the start.
    fn on_step_done(&mut self, result: Result<DiskAnswer, DiskError>) -> Result<(), End> {
        match &mut self.phase {
            Phase::Listing => match result {
                Ok(DiskAnswer::Files(files)) => {
                    self.on_files(files);
                    Ok(())
                }
                Err(error) => Err((EXIT_DISK, error.to_string())),
                Ok(DiskAnswer::Done | DiskAnswer::Bytes(_) | DiskAnswer::Space { .. }) => Ok(()),
            },
            Phase::Manifests(work) => work.0.on_done(result).map_err(end_of_scan),
            Phase::Scanning(scan) => scan.on_done(result).map_err(end_of_scan),
            Phase::Rewriting(work) => work.1.on_done(result).map_err(|why| (EXIT_DISK, why)),
            // Names may stay unsynced, and files that nobody names where they are, until there is room.
            Phase::Tidying(_, left) if result == Err(DiskError::Full) => {
                left.clear();
                Ok(())
            }
            Phase::Removing(_) | Phase::Tidying(..) => match result {
                Err(error @ (DiskError::Failed(_) | DiskError::Full)) => Err((EXIT_DISK, error.to_string())),
                Err(DiskError::Absent) | Ok(_) => Ok(()),
            },
            Phase::GivingUp(why, _) => Err((EXIT_LEFT_OUT, std::mem::take(why))),
            Phase::Starting
            | Phase::Claimed(_)
            | Phase::Restoring(_)
            | Phase::Returned(_)
            | Phase::Running => Ok(()),
        }
    }

    /// The files of the node are known.
    fn on_files(&mut self, files: Vec<(FileName, u64)>) {
        self.checkpoints.find(&files);
        if self.config.redo.is_initial {
            let names = || files.iter().map(|(name, _)| *name).filter(|name| *name != FileName::ControlLog);
            // A removal may be undone by a loss of power.
            let manifests = names().filter(|name| matches!(name, FileName::Manifest(_)));
            let emptied = manifests.map(|file| DiskOperation::Replace { file, bytes: Vec::new() });
            let removed = names().map(|file| DiskOperation::Remove { file });
            self.phase = Phase::Removing(emptied.chain(removed).collect());
            return;
        }
        let scan = ManifestScan::new(&self.config.cluster, self.config.node, &files);
        self.phase = Phase::Manifests(Box::new((scan, files)));
    }

    /// The reading of the log among these files.
    fn scan_log(&mut self, files: &[(FileName, u64)]) {
        let reader = LogReader {
            cluster: self.config.cluster.clone(),
            node: self.config.node,
            file_size: self.config.redo.file_size,
            required: self.manifests.required(),
        };
        self.phase = Phase::Scanning(Box::new(Scan::new(reader, files)));
    }

    /// Asks for the next step of the start, or begins the one behind it.
    pub(super) fn go_on(&mut self, outputs: &mut Outputs<Shared>) {
        loop {
            let next = match &mut self.phase {
                Phase::Removing(left) | Phase::Tidying(_, left) => left.pop_front(),
                Phase::Manifests(work) => work.0.poll(),
                Phase::Scanning(scan) => scan.poll(),
                Phase::Rewriting(work) => work.1.poll(),
                Phase::Restoring(work) => work.poll(),
                Phase::GivingUp(_, operation) => operation.take(),
                Phase::Starting
                | Phase::Listing
                | Phase::Claimed(_)
                | Phase::Returned(_)
                | Phase::Running => return,
            };
            if let Some(operation) = next {
                return self.ask(operation, outputs);
            }
            match std::mem::replace(&mut self.phase, Phase::Starting) {
                Phase::Removing(_) => self.scan_log(&[]),
                Phase::Manifests(work) => {
                    let (scan, files) = *work;
                    self.manifests = scan.finish();
                    self.scan_log(&files);
                }
                Phase::Scanning(scan) => {
                    let found = scan.finish();
                    let rewrite = found.rewrite();
                    self.phase = Phase::Rewriting(Box::new((found, rewrite)));
                }
                Phase::Rewriting(work) => {
                    let (found, _) = *work;
                    self.phase = Phase::Tidying(Box::new(found), self.manifests.tidying());
                }
                Phase::Tidying(found, _) => self.claim(*found, outputs),
                Phase::Restoring(mut work) => {
                    match work.go_on(outputs) {
                        Ok(GoesOn::Reading) => {
                            self.phase = Phase::Restoring(work);
                            continue;
                        }
                        Ok(GoesOn::Waiting) => self.phase = Phase::Restoring(work),
                        Ok(GoesOn::Done) => {
                            if let Some(restored) = work.finish() {
                                self.end_restoring(restored, outputs);
                            }
                        }
                        Err(trouble) => self.end_restore(trouble, outputs),
                    }
                    return;
                }
                Phase::GivingUp(why, _) => return self.fail(EXIT_LEFT_OUT, &why, outputs),
                phase @ (Phase::Starting
                | Phase::Listing
                | Phase::Claimed(_)
                | Phase::Returned(_)
                | Phase::Running) => self.phase = phase,
            }
        }
    }

    /// Tells what the disk holds.
    fn claim(&mut self, mut found: Found, outputs: &mut Outputs<Shared>) {
        let mut warn =
            |why: &str| outputs.event(Severity::Warning, format!("node {}: {why}", self.config.node));
        for slot in self.manifests.missing() {
            let file = FileName::Manifest(slot);
            warn(&format!("{file} is missing or damaged: only a whole redo log has the rows of slot {slot}"));
        }
        if !self.manifests.are_of(&found) {
            found.disown();
            warn("its checkpoints are not of its redo log");
        }
        if found.is_damaged {
            warn(
                "something that had been on disk cannot be read any more: the node goes back to what is whole",
            );
        }
        let told = Signal::DiskRead(Box::new(found.claim(self.manifests.low())));
        outputs.send(self.me(), Address::membership(self.config.node), told);
        self.phase = Phase::Claimed(Box::new(found));
    }

    // ---- restoring -----------------------------------------------------------------------------------------------

    pub(super) fn on_restore(&mut self, order: RestoreOrder, outputs: &mut Outputs<Shared>) {
        if !matches!(self.phase, Phase::Claimed(_)) {
            return self.on_restore_again(order, outputs);
        }
        let Phase::Claimed(found) = std::mem::replace(&mut self.phase, Phase::Starting) else { return };
        let point = found.points().find(|point| point.claim.lineage == order.source).copied();
        let Some(point) = point else {
            if order.source != Incarnation(0) {
                return self.fail(EXIT_LEFT_OUT, "its disk lacks what it is to be restored from", outputs);
            }
            // Nothing counts: the view brings a new log.
            self.phase = Phase::Claimed(found);
            return outputs.send(self.me(), Address::membership(self.config.node), Signal::Restored(order));
        };
        if self.manifests.low() > order.restart.cut {
            return self.fail(
                EXIT_LEFT_OUT,
                "its checkpoints are newer than what it is to be restored to",
                outputs,
            );
        }
        self.restore(&found, &point, Aim::Restart(order), outputs);
    }

    /// The cluster goes on: the node joins it with the rows of this point.
    pub(super) fn on_restore_to_join(&mut self, claimed: ClaimPoint, outputs: &mut Outputs<Shared>) {
        let Phase::Claimed(found) = &self.phase else { return };
        let Some(point) = found.chosen(&claimed) else {
            return self.fail(EXIT_LEFT_OUT, "its disk lacks what it is to join with", outputs);
        };
        if let Phase::Claimed(found) = std::mem::replace(&mut self.phase, Phase::Starting) {
            self.restore(&found, &point, Aim::Join(claimed), outputs);
        }
    }

    /// Restores the rows of a point. The log goes on behind it.
    fn restore(&mut self, found: &Found, point: &Point, aim: Aim, outputs: &mut Outputs<Shared>) {
        let (founding, end) = (found.claim(Epoch(0)).founding, found.end_at(Some(point)));
        let text = format!("node {} restores its rows up to epoch {}", self.config.node, aim.cut());
        outputs.event(Severity::Info, text);
        let replay = found.replay(point, aim.cut(), self.manifests.required());
        let next = NextLog { founding, end, closed_at_us: point.claim.closed_at_us };
        let DiskConfig { ldms, replicas, memory, .. } = &self.config;
        let restore =
            Restore::begin((self.me(), ldms, *replicas), memory, &self.manifests, replay, (aim, next));
        self.phase = Phase::Restoring(Box::new(restore));
        self.go_on(outputs);
    }

    /// It is told again, or another plan was made.
    fn on_restore_again(&mut self, order: RestoreOrder, outputs: &mut Outputs<Shared>) {
        let under_way = match &self.phase {
            Phase::Restoring(work) => Some(work.aim),
            Phase::Returned(_) => None,
            Phase::Starting
            | Phase::Listing
            | Phase::Removing(_)
            | Phase::Manifests(_)
            | Phase::Scanning(_)
            | Phase::Rewriting(_)
            | Phase::Tidying(..)
            | Phase::Claimed(_)
            | Phase::GivingUp(..)
            | Phase::Running => self.restored.map(|(order, _)| Aim::Restart(order)),
        };
        if under_way == Some(Aim::Restart(order)) {
            self.is_restored_told = false;
        } else {
            self.fail(EXIT_LEFT_OUT, "it is to be restored to another epoch now: it starts again", outputs);
        }
    }

    /// An ldm has done a step of the loading.
    pub(super) fn on_loaded(&mut self, from: Address, loaded: Loaded, outputs: &mut Outputs<Shared>) {
        let Phase::Restoring(work) = &mut self.phase else { return };
        match work.on_loaded(from, loaded, outputs) {
            Ok(()) => self.go_on(outputs),
            Err(trouble) => self.end_restore(trouble, outputs),
        }
    }

    /// Tells `main` how far the restoring is.
    pub(super) fn tell_progress(&mut self, now: Now, outputs: &mut Outputs<Shared>) {
        let Phase::Restoring(work) = &mut self.phase else { return };
        if let Some(progress) = work.progress(now.monotonic) {
            outputs.send(self.me(), Address::main(self.config.node), Signal::RestoreProgress(progress));
        }
    }

    /// Rows cannot be restored.
    fn end_restore(&mut self, trouble: Trouble, outputs: &mut Outputs<Shared>) {
        match trouble {
            Trouble::Checkpoint(slot, table, why) => {
                self.phase = Phase::GivingUp(why, self.manifests.give_up(slot, table));
                self.go_on(outputs);
            }
            Trouble::Bad(why) => self.fail(EXIT_LEFT_OUT, &why, outputs),
            Trouble::Full(full) => {
                let joins = matches!(&self.phase, Phase::Restoring(work) if matches!(work.aim, Aim::Join(_)));
                self.fail(EXIT_CANNOT_JOIN, &no_memory(&full, joins), outputs);
            }
        }
    }

    /// All rows are there.
    fn end_restoring(&mut self, restored: Restored, outputs: &mut Outputs<Shared>) {
        let Restored { schema, fragments, aim, next } = restored;
        let main = Address::main(self.config.node);
        let done = RestoreProgress { phase: RestorePhase::Done, done: 0, total: 0 };
        outputs.send(self.me(), main, Signal::RestoreProgress(done));
        self.fragments = Some(fragments);
        self.checkpoints.restore(&self.manifests);
        match aim {
            Aim::Restart(order) => {
                outputs.share(self.me(), main, Shared::Catalogue(schema));
                self.begin_restored_log(order, next);
            }
            // The catalogue comes from a member. The log begins with the view that has this node joining.
            Aim::Join(point) => {
                self.phase = Phase::Returned(Box::new((point.flushed, next)));
                outputs.send(self.me(), Address::membership(self.config.node), Signal::RestoredToJoin(point));
            }
        }
    }

    /// All rows for a restart are there: the log says so.
    fn begin_restored_log(&mut self, order: RestoreOrder, next: NextLog) {
        self.begin_log(next.founding, order.restart, next.end);
        if let Some(writer) = &mut self.writer {
            let cut = order.restart.cut;
            let mark = writer.mark(Mark::Restored { cut, closed_at_us: next.closed_at_us });
            writer.flush();
            self.restored = Some((order, mark));
        }
    }
}

fn end_of_scan(error: ScanError) -> End {
    match error {
        ScanError::Foreign(why) => (EXIT_CANNOT_START, why),
        ScanError::Disk(why) => (EXIT_DISK, why),
    }
}

fn no_memory(full: &memory::RegionFull, joins: bool) -> String {
    let other_way = if joins { ", or --initial, to get all rows from the others" } else { "" };
    format!("its {} is full before all its rows are restored: it needs more memory{other_way}", full.name())
}

#[cfg(test)]
mod tests;
