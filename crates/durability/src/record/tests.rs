use super::{Entry, HEAD_BYTES_MAX, RecordError, unzigzag, zigzag};
use stdx::Prng;
use types::{Epoch, SlotId, TableId};

fn entry<'a>(key: &'a [u8], row: Option<&'a [u8]>) -> Entry<'a> {
    Entry { slot: SlotId(3), table: TableId(300), epoch: Epoch(1_001), key, row }
}

fn bytes_of(entry: &Entry<'_>, base: Epoch) -> Vec<u8> {
    let mut bytes = Vec::new();
    entry.encode(base, &mut bytes);
    bytes
}

/// The bytes of docs/formats/redo.md.
#[test]
fn entries_have_these_bytes() {
    let row = bytes_of(&entry(b"key", Some(b"row!")), Epoch(1_000));
    assert_eq!(row, [b"\x01\x03\xac\x02\x02\x03\x04".as_slice(), b"keyrow!"].concat());
    let delete = bytes_of(&entry(b"key", None), Epoch(1_002));
    assert_eq!(delete, [b"\x02\x03\xac\x02\x01\x03".as_slice(), b"key"].concat());
}

#[test]
fn every_number_and_length_comes_back() {
    let long = vec![7; 70_000];
    for epoch in [0, 1, 999, 1_000, 1_000_000, Epoch::LIMIT - 1] {
        for base in [0, 1_000, Epoch::LIMIT - 1] {
            for (key, row) in
                [(&b""[..], None), (b"k", Some(&b""[..])), (&long, Some(&b"row"[..])), (b"k", Some(&long))]
            {
                let (slot, table) = (SlotId(u32::MAX), TableId(128));
                let entry = Entry { slot, table, epoch: Epoch(epoch), key, row };
                let mut bytes = bytes_of(&entry, Epoch(base));
                assert!(bytes.len() <= entry.size_max());
                bytes.push(9);
                assert_eq!(Entry::decode(&bytes, Epoch(base)), Ok((entry, &[9][..])));
            }
        }
    }
    for number in [0, 1, -1, i64::MAX, i64::MIN] {
        assert_eq!(unzigzag(zigzag(number)), number);
    }
}

#[test]
fn what_is_no_entry_is_refused() {
    let whole = bytes_of(&entry(b"key", Some(b"row")), Epoch(1_000));
    for end in 0..whole.len() {
        assert_eq!(Entry::decode(&whole[..end], Epoch(1_000)), Err(RecordError::Truncated), "{end}");
    }
    assert_eq!(Entry::decode(&[3, 0, 0, 0, 0, 0], Epoch(0)), Err(RecordError::UnknownKind(3)));
    // An epoch below 0, one at the limit, a slot of 33 bits, a number of 65 bits, one that does not end.
    let refused: [&[u8]; 5] = [
        &[2, 0, 0, 1, 0],
        &[2, 0, 0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40, 0],
        &[2, 0x80, 0x80, 0x80, 0x80, 0x10, 0, 0, 0],
        &[2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02, 0, 0, 0],
        &[2, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0, 0, 0],
    ];
    for bytes in refused {
        assert_eq!(Entry::decode(bytes, Epoch(0)), Err(RecordError::OutOfRange), "{bytes:?}");
    }
}

#[test]
fn any_bytes_give_an_entry_or_an_error() {
    let mut random = Prng::new(1);
    for _ in 0..20_000 {
        let bytes: Vec<u8> = (0..random.below(40)).map(|_| random.next_u64().to_le_bytes()[0] >> 3).collect();
        if let Ok((entry, rest)) = Entry::decode(&bytes, Epoch(50)) {
            let taken = bytes.len() - rest.len();
            assert!(entry.key.len() + entry.row.map_or(0, <[u8]>::len) < taken);
            assert!(taken <= HEAD_BYTES_MAX + bytes.len());
        }
    }
}
