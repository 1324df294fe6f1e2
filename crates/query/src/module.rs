//! The `query` module: committed reads and scans of any slot of this node, for sessions of other threads and nodes.
//!
//! It owns no rows: it reads through the node map's readers. A row whose outcome is not known here is answered
//! `Undecided`; the session asks the primary.
//!
//! It also reads fragments for their checkpoints, when `disk` sends it a scan.
//!
//! Invariant: a read begins only while this node may read (`protocol::lease`); what it goes on with later is newer
//! still.

use crate::batch::BatchShape;
use crate::{NodeMap, PieceScan, PieceStep, ReadRun, ReadStep, RowBatchWriter, Shared};
use protocol::program::Refusal;
use protocol::signal::{ReadBatch, ReadDone, ReadRequest};
use protocol::{Address, Budget, Envelope, Outputs, Signal};
use std::sync::Arc;
use stdx::{FixedMap, Now};
use storage::Visibility;

/// A read in progress.
struct Pending {
    from: Address,
    request: Box<ReadRequest>,
    run: ReadRun,
    writer: RowBatchWriter,
}

/// The block.
pub struct Query {
    address: Address,
    map: Arc<NodeMap>,
    jobs: FixedMap<u64, Pending>,
    /// Scans for checkpoints, and who wants them.
    scans: FixedMap<u64, (Address, Box<PieceScan>)>,
    next_job: u64,
}

impl Query {
    /// The query module at `address`.
    #[must_use]
    pub fn new(address: Address, map: Arc<NodeMap>) -> Self {
        Self { address, map, jobs: FixedMap::default(), scans: FixedMap::default(), next_job: 0 }
    }

    /// Installs a newer map.
    pub fn install(&mut self, map: Arc<NodeMap>) {
        self.map = map;
    }

    /// Handles a signal.
    pub fn on_signal(
        &mut self,
        now: Now,
        envelope: Envelope,
        budget: &mut Budget,
        outputs: &mut Outputs<Shared>,
    ) {
        let from = envelope.from;
        match envelope.signal {
            // The wrapper refuses these.
            protocol::not_for!(query) => {}
            // The session tries again.
            Signal::Read(request) if !self.map.may_read(now.monotonic) => {
                self.refuse(from, &request, Refusal::WrongView, outputs);
            }
            Signal::Read(request) if request.transaction.is_none() && request.lock.is_none() => {
                let run = ReadRun::new(Arc::clone(&request.program), request.access.clone());
                let writer = RowBatchWriter::new(BatchShape::of(&request.program));
                self.step(Pending { from, request, run, writer }, budget, outputs);
            }
            Signal::Read(request) => self.refuse(from, &request, Refusal::WrongView, outputs),
            // The wrapper answers what it counts.
            Signal::InfoRequest { .. } => {}
            Signal::CancelRead { request } => {
                self.jobs.retain(|_, read| read.from != from || read.request.request != request);
            }
            Signal::Continue(job) => {
                if let Some(pending) = self.jobs.remove(&job) {
                    self.step(pending, budget, outputs);
                } else if let Some((from, scan)) = self.scans.remove(&job) {
                    self.scan(from, scan, budget, outputs);
                }
            }
        }
    }

    /// Goes on with a scan for a checkpoint up to the next piece.
    pub fn scan(
        &mut self,
        from: Address,
        mut scan: Box<PieceScan>,
        budget: &mut Budget,
        outputs: &mut Outputs<Shared>,
    ) {
        let piece = match scan.step(budget) {
            PieceStep::Spent => {
                self.next_job += 1;
                self.scans.insert(self.next_job, (from, scan));
                return outputs.send(self.address, self.address, Signal::Continue(self.next_job));
            }
            PieceStep::Sealed(piece) => Some(piece),
            PieceStep::End(piece) => piece,
        };
        outputs.share(self.address, from, Shared::Scanned(scan, piece));
    }

    fn refuse(&self, to: Address, request: &ReadRequest, refusal: Refusal, outputs: &mut Outputs<Shared>) {
        let done = ReadDone { request: request.request, result: Err(refusal) };
        outputs.send(self.address, to, Signal::ReadDone(Box::new(done)));
    }

    fn step(&mut self, mut pending: Pending, budget: &mut Budget, outputs: &mut Outputs<Shared>) {
        let table = pending.request.program.table;
        let info = self.map.table(table.id).filter(|info| {
            let installed = info.definition.version;
            table.version <= installed && table.version + 1 >= installed
        });
        let reader = self.map.reader(table.id, pending.request.slot);
        let (Some(info), Some(reader)) = (info, reader) else {
            return self.refuse(pending.from, &pending.request, Refusal::WrongSchema, outputs);
        };
        let stepped = pending.run.step(info, reader, Visibility::Committed, budget, &mut pending.writer);
        match stepped {
            Err(error) => self.refuse(pending.from, &pending.request, Refusal::Error(error), outputs),
            Ok(ReadStep::Spent) => {
                self.next_job += 1;
                self.jobs.insert(self.next_job, pending);
                outputs.send(self.address, self.address, Signal::Continue(self.next_job));
            }
            Ok(step) => self.answer(pending, step, outputs),
        }
    }

    fn answer(&self, mut pending: Pending, step: ReadStep, outputs: &mut Outputs<Shared>) {
        pending.run.emit_groups(&mut pending.writer);
        let progress = pending.run.progress(step);
        let raised = pending.run.take_raised();
        let batch =
            ReadBatch { rows: pending.writer.finish(), progress, operations: 0, raised, granted: None };
        let done = ReadDone { request: pending.request.request, result: Ok(batch) };
        outputs.send(self.address, pending.from, Signal::ReadDone(Box::new(done)));
    }
}
