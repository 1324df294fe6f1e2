use super::{CheckpointError, CheckpointReader};
use crate::manifest::{FragmentCheckpoint, Manifest};
use crate::piece::{Codec, Piece, PieceBuilder, PiecePlace, PieceRow};
use crate::simulated_disk::Disk;
use protocol::control::GroupId;
use protocol::disk::{DiskOperation, FileName};
use types::{COLLATION_VERSION, Epoch, Incarnation, NodeId, SlotId, TableId};

type Row = (Vec<u8>, u64, Vec<u8>);

const FILE: FileName = FileName::Piece(7);
const SLOT: SlotId = SlotId(3);

/// Rows of so many tables, the first from table 1 on, all in one file; and the manifest.
fn written(tables: &[Vec<Row>]) -> (Disk, Manifest) {
    let mut disk = Disk::default();
    disk.perform(DiskOperation::Prepare { file: FILE, size: 0 }).expect("there is room");
    let (founding, node) = (GroupId(5), NodeId(2));
    let mut fragments = Vec::new();
    let mut offset = 0;
    for (table, rows) in (1..).zip(tables) {
        let table = TableId(table);
        let mut builder = PieceBuilder::new(SLOT, table, Codec::Plain);
        let start = offset;
        let mut pieces = Vec::new();
        for (key, epoch, row) in rows {
            pieces.extend(builder.add(&PieceRow { key, epoch: Epoch(*epoch), row }));
        }
        pieces.extend(builder.seal());
        for piece in pieces {
            let bytes = piece.finish(&PiecePlace { founding, node, file: 7, offset });
            let size = bytes.len() as u64;
            disk.perform(DiskOperation::Write { file: FILE, offset, bytes, sync: false })
                .expect("it is there");
            offset += size;
        }
        fragments.push(FragmentCheckpoint {
            table,
            epoch: Epoch(99),
            position: 1,
            file: 7,
            offset: start,
            length: offset - start,
            pieces: builder.pieces(),
            rows: rows.len() as u64,
        });
    }
    let (cluster, collations) = ("shop".to_owned(), COLLATION_VERSION.to_owned());
    let (lineage, slot, slots, position, epoch) = (Incarnation(1), SLOT, vec![SLOT], 1, Epoch(99));
    let manifest =
        Manifest { cluster, collations, founding, node, lineage, slot, slots, position, epoch, fragments };
    (disk, manifest)
}

fn read(disk: &mut Disk, manifest: &Manifest, index: usize) -> Result<Vec<Row>, CheckpointError> {
    let mut reader = CheckpointReader::new(manifest, &manifest.fragments[index]);
    let mut rows = Vec::new();
    while let Some(operation) = reader.poll() {
        assert!(reader.poll().is_none(), "one read at a time");
        reader.on_done(disk.perform(operation), |piece| {
            let of_piece = piece.rows().map(|row| row.expect("it was checked"));
            rows.extend(of_piece.map(|row| (row.key.to_vec(), row.epoch.0, row.row.to_vec())));
        })?;
    }
    assert!(reader.is_done());
    Ok(rows)
}

fn rows(count: u32, size: usize) -> Vec<Row> {
    (0..count).map(|id| (id.to_be_bytes().to_vec(), 50 + u64::from(id % 7), vec![9; size])).collect()
}

fn three_tables() -> (Disk, Manifest, Vec<Vec<Row>>) {
    let tables = vec![rows(10, 20), Vec::new(), rows(4_000, 1_000)];
    let (disk, manifest) = written(&tables);
    (disk, manifest, tables)
}

fn refusal(table: u32, piece: u32) -> CheckpointError {
    CheckpointError(format!("piece {piece} of table {table} in slot 3 cannot be read from lcp/7.piece"))
}

#[test]
fn rows_come_back_piece_by_piece() {
    let (mut disk, manifest, tables) = three_tables();
    assert_eq!(manifest.fragments.iter().map(|fragment| fragment.pieces).collect::<Vec<_>>(), [1, 0, 4]);
    for (index, rows) in tables.iter().enumerate() {
        assert_eq!(read(&mut disk, &manifest, index).as_ref(), Ok(rows));
    }
}

#[test]
fn a_piece_of_another_place_is_refused() {
    let (mut disk, manifest, _) = three_tables();
    let mut other = manifest.clone();
    other.fragments[0].table = TableId(9);
    assert_eq!(read(&mut disk, &other, 0), Err(refusal(9, 0)));
    let other = Manifest { slot: SlotId(4), ..manifest.clone() };
    assert!(read(&mut disk, &other, 0).is_err());
    let other = Manifest { founding: GroupId(6), ..manifest.clone() };
    assert!(read(&mut disk, &other, 0).is_err());
    // The second piece of the large table stands where the first one should.
    let at = usize::try_from(manifest.fragments[2].offset).unwrap();
    let size = Piece::decode(&disk.bytes(FILE)[at..]).expect("the first piece").size();
    disk.bytes(FILE).copy_within(at + size..at + 2 * size, at);
    assert_eq!(read(&mut disk, &manifest, 2), Err(refusal(3, 0)));
}

#[test]
fn damage_and_missing_rows_are_noticed() {
    let (mut disk, manifest, tables) = three_tables();
    let at = usize::try_from(manifest.fragments[2].offset).unwrap();
    disk.bytes(FILE)[at + 3_000_000] ^= 1;
    assert_eq!(read(&mut disk, &manifest, 2), Err(refusal(3, 2)));
    assert_eq!(read(&mut disk, &manifest, 0).as_ref(), Ok(&tables[0]));
    disk.bytes(FILE).truncate(at + 500_000);
    assert_eq!(read(&mut disk, &manifest, 2), Err(refusal(3, 0)));
    let mut other = manifest.clone();
    other.fragments[0].rows = 11;
    assert_eq!(read(&mut disk, &other, 0), Err(refusal(1, 1)));
    let mut other = manifest;
    other.fragments[0].pieces = 2;
    assert!(read(&mut disk, &other, 0).is_err());
}

#[test]
fn keys_that_do_not_ascend_are_refused() {
    let mut unordered = rows(10, 20);
    unordered.swap(3, 4);
    let (mut disk, manifest) = written(&[unordered]);
    assert_eq!(read(&mut disk, &manifest, 0), Err(refusal(1, 0)));
}
