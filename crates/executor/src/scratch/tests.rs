#![expect(clippy::wildcard_enum_match_arm, reason = "any other request fails the test")]

use super::*;
use crate::site::Site;
use protocol::{Address, Budget, ModuleKind};
use query::NodeMap;
use stdx::{Duration, Instant, Now, WallTime};
use types::{NodeId, Schema, SchemaVersion};

/// The scratch of a client, its module and its disk.
struct World {
    scratch: Scratch,
    site: Site,
    outputs: Outputs<Shared>,
    budget: Budget,
    disk: Vec<u8>,
}

const NODE: NodeId = NodeId(1);

impl World {
    fn new(space: u64) -> Self {
        let map = NodeMap::empty(NODE, Arc::new(Schema::empty(SchemaVersion(0))));
        let address = Address::new(NODE, ModuleKind::Sql, 0);
        let mut site = Site::new(address, Arc::new(map), None, Duration::from_secs(1));
        let room = Arc::new(ScratchRoom::new(space));
        site.scratch = Some(ScratchTerms { room, statement_memory_max: 0 });
        let (outputs, budget) = (Outputs::default(), Budget::of(1));
        Self { scratch: Scratch::new(7), site, outputs, budget, disk: Vec::new() }
    }

    fn with<T>(&mut self, act: impl FnOnce(&mut Scratch, &mut Environment<'_>) -> T) -> T {
        let now = Now { monotonic: Instant(0), wall: WallTime(0) };
        let (budget, outputs, site) = (&mut self.budget, &mut self.outputs, &mut self.site);
        act(&mut self.scratch, &mut Environment { now, budget, outputs, site })
    }

    fn write(&mut self, hold: &Hold, bytes: &[u8]) -> Result<Piece, SqlError> {
        self.with(|scratch, env| scratch.write(hold, bytes.to_vec(), env))
    }

    /// Reads a piece to which the disk adds `damage`.
    fn read(&mut self, hold: &Hold, piece: Piece, damage: u8) -> Result<Option<Vec<u8>>, SqlError> {
        let reading = self.with(|scratch, env| scratch.read(hold, piece, env));
        self.work(damage);
        self.with(|scratch, env| scratch.take(hold, reading, piece, env))
    }

    /// The disk does what it was asked.
    fn work(&mut self, damage: u8) {
        for DiskRequest { ticket, lane, operation } in std::mem::take(&mut self.outputs.disk_requests) {
            assert_eq!((lane, Scratch::client_of(ticket)), (DiskLane::Scratch, 7));
            let answer = match operation {
                DiskOperation::Write { offset, bytes, .. } => {
                    let start = usize::try_from(offset).unwrap();
                    self.disk.resize(self.disk.len().max(start + bytes.len()), 0);
                    self.disk[start..start + bytes.len()].copy_from_slice(&bytes);
                    DiskAnswer::Done
                }
                DiskOperation::Read { offset, length, .. } => {
                    let start = usize::try_from(offset).unwrap();
                    let mut bytes = self.disk[start..start + usize::try_from(length).unwrap()].to_vec();
                    bytes[0] = bytes[0].wrapping_add(damage);
                    DiskAnswer::Bytes(bytes)
                }
                DiskOperation::Create { .. } | DiskOperation::Remove { .. } => DiskAnswer::Done,
                other => panic!("scratch asks for {other:?}"),
            };
            self.scratch.on_done(ticket, Ok(answer), &mut self.outputs);
        }
    }

    fn used(&self) -> u64 {
        self.site.scratch.as_ref().map_or(0, |terms| terms.room.used())
    }
}

const PIECE: usize = 4 << 10;

#[test]
fn slots_are_used_again() {
    let mut world = World::new(1 << 20);
    let (one, other) = (Hold::default(), Hold::default());
    let first = world.write(&one, &[1; PIECE]).unwrap();
    let second = world.write(&other, &[2; 3]).unwrap();
    assert_eq!((first.slot, second.slot, world.used()), (0, 1, 2 * PIECE as u64));
    assert_eq!(world.read(&one, first, 0), Ok(Some(vec![1; PIECE])));
    let third = world.write(&other, &[3; 9]).unwrap();
    assert_eq!((third.slot, world.used()), (0, 2 * PIECE as u64));
    assert_eq!(world.read(&other, second, 0), Ok(Some(vec![2; 3])));
    assert_eq!(world.read(&other, third, 0), Ok(Some(vec![3; 9])));
    let pieces: Vec<Piece> = (0..5).map(|_| world.write(&one, &[5]).unwrap()).collect();
    assert_eq!(world.used(), 5 * PIECE as u64);
    // Those that nobody will read are used again.
    for piece in pieces {
        world.scratch.give_up(&one, piece);
        world.scratch.give_up(&one, piece);
    }
    for _ in 0..5 {
        world.write(&one, &[6]).unwrap();
    }
    assert_eq!(world.used(), 5 * PIECE as u64);
    // Those of an operator that is gone are found when another one begins.
    drop(one);
    let third = Hold::default();
    for _ in 0..5 {
        world.write(&third, &[7]).unwrap();
    }
    assert_eq!(world.used(), 5 * PIECE as u64);
    world.scratch.end(&mut world.outputs);
    assert_eq!(world.used(), 0);
    let last = world.outputs.disk_requests.pop().unwrap();
    assert_eq!(last.operation, DiskOperation::Remove { file: FileName::Scratch(7) });
}

#[test]
fn no_more_is_written_than_there_is_room_for() {
    let mut world = World::new(2 * PIECE as u64);
    let hold = Hold::default();
    world.write(&hold, &[1]).unwrap();
    world.write(&hold, &[2; PIECE]).unwrap();
    assert_eq!(world.write(&hold, &[3]).unwrap_err().code, 1021);
}

/// As where a subquery runs for each row, and each run sorts in scratch.
#[test]
fn operators_that_are_gone_leave_nothing() {
    let mut world = World::new(1 << 20);
    for number in 0..1_000 {
        let hold = Hold::default();
        let piece = world.write(&hold, &[1; PIECE]).unwrap();
        assert_eq!(world.read(&hold, piece, 0), Ok(Some(vec![1; PIECE])));
        assert!(world.scratch.file.as_ref().unwrap().holders.len() <= 2, "{number}");
    }
    assert!(world.used() <= PIECE as u64);
}

#[test]
fn few_bytes_are_on_their_way() {
    let mut world = World::new(1 << 30);
    let hold = Hold::default();
    let mut count = 0;
    while world.scratch.may_write().unwrap() {
        world.write(&hold, &[1; PIECE]).unwrap();
        count += 1;
    }
    assert_eq!(count, WRITING_MAX / PIECE as u64);
    world.work(0);
    assert!(world.scratch.may_write().unwrap());
}

#[test]
pub(crate) fn a_damaged_piece_is_refused() {
    let mut world = World::new(1 << 20);
    let hold = Hold::default();
    let (good, bad) = (world.write(&hold, &[1; 99]).unwrap(), world.write(&hold, &[2; 99]).unwrap());
    assert_eq!(world.read(&hold, bad, 1).map_err(|error| error.code), Err(1024));
    // From then on the statement gets nothing.
    assert_eq!(world.read(&hold, good, 0).map_err(|error| error.code), Err(1024));
    assert_eq!(world.scratch.may_write().map_err(|error| error.code), Err(1024));
}
