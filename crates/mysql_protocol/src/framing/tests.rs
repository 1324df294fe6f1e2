use super::*;
use proptest::prelude::*;

const ANY_SIZE: usize = usize::MAX;

fn framed(payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    PacketWriter::new(&mut bytes, 0).append_payload(payload);
    bytes
}

/// Feeds `bytes` in pieces, as a session does; gives the payloads and what is left in the receive buffer.
fn receive(bytes: &[u8], piece_size: usize, payload_size_max: usize) -> Result<Vec<Vec<u8>>, FrameError> {
    let (mut reassembler, mut buffer, mut payloads) = (Reassembler::new(), Vec::new(), Vec::new());
    for piece in bytes.chunks(piece_size) {
        buffer.extend_from_slice(piece);
        loop {
            match reassembler.next(&buffer, Expected::command(payload_size_max))? {
                Received::Packet { payload, consumed, .. } => {
                    payloads.push(payload.to_vec());
                    buffer.drain(..consumed);
                }
                Received::Incomplete { consumed } => {
                    buffer.drain(..consumed);
                    break;
                }
            }
        }
        assert!(
            buffer.len() <= ABSORBED_FRAME_SIZE_MIN + HEADER_SIZE,
            "a large frame waits in the receive buffer"
        );
    }
    assert!(buffer.is_empty());
    Ok(payloads)
}

#[test]
fn payloads_at_the_frame_boundary_are_split_and_come_back_whole() {
    for (size, frame_count) in [
        (0, 1),
        (FRAME_PAYLOAD_SIZE_MAX - 1, 1),
        (FRAME_PAYLOAD_SIZE_MAX, 2),
        (FRAME_PAYLOAD_SIZE_MAX + 1, 2),
        (2 * FRAME_PAYLOAD_SIZE_MAX, 3),
        (2 * FRAME_PAYLOAD_SIZE_MAX + 70_000, 3),
    ] {
        let payload: Vec<u8> = (0..=250).cycle().take(size).collect();
        let mut bytes = framed(&payload);
        assert_eq!(bytes.len(), size + frame_count * HEADER_SIZE);
        bytes.extend_from_slice(&framed(b"next"));
        for piece_size in [60_000, bytes.len()] {
            let payloads = receive(&bytes, piece_size, ANY_SIZE).unwrap();
            assert_eq!(payloads.len(), 2);
            assert!(payloads[0] == payload && payloads[1] == b"next", "{size}");
        }
    }
}

#[test]
fn a_large_packet_among_others_keeps_the_numbers_in_order() {
    let mut bytes = b"before".to_vec();
    let mut writer = PacketWriter::new(&mut bytes, 254);
    writer.append_payload(b"small");
    writer.append_payload(&vec![7; FRAME_PAYLOAD_SIZE_MAX + 9]);
    writer.append_payload(b"after");
    assert_eq!(writer.sequence(), 2);
    assert!(bytes.starts_with(b"before"));
    let mut position = 6;
    for sequence in [254, 255, 0, 1] {
        let packet = next_packet(&bytes[position..], Expected { sequence, payload_size_max: ANY_SIZE })
            .unwrap()
            .unwrap();
        assert_eq!(packet.continues, sequence == 255);
        position += packet.consumed;
    }
    assert_eq!(position, bytes.len());
}

#[test]
fn an_unfinished_packet_leaves_no_trace() {
    let mut bytes = Vec::new();
    let mut writer = PacketWriter::new(&mut bytes, 1);
    writer.append_payload(b"whole");
    let mut packet = writer.open();
    packet.bytes(b"half");
    drop(packet);
    assert_eq!(writer.sequence(), 2);
    assert_eq!(bytes.len(), HEADER_SIZE + 5);
}

#[test]
fn kept_frames_are_renumbered() {
    let mut kept = Vec::new();
    let mut writer = PacketWriter::new(&mut kept, 0);
    writer.append_payload(b"a");
    writer.append_payload(b"");
    let mut bytes = Vec::new();
    let mut writer = PacketWriter::new(&mut bytes, 9);
    writer.append_frames(&kept);
    writer.append_payload(b"c");
    assert_eq!(bytes, [1, 0, 0, 9, b'a', 0, 0, 0, 10, 1, 0, 0, 11, b'c']);
}

#[test]
fn too_large_is_known_from_the_header_alone() {
    let expected = Expected::command(UNAUTHENTICATED_PAYLOAD_SIZE_MAX);
    assert_eq!(next_packet(&[0x01, 0x40, 0, 0], expected), Err(FrameError::PacketTooLarge));
    assert_eq!(Reassembler::new().next(&[0x01, 0x40, 0, 0], expected), Err(FrameError::PacketTooLarge));
    assert_eq!(next_packet(&[0x00, 0x40, 0, 0], expected), Ok(None));
    assert_eq!(next_packet(&[0x00, 0x40, 0, 1], expected), Err(FrameError::SequenceOutOfOrder));
}

#[test]
fn the_limit_holds_for_the_sum_of_the_frames() {
    let bytes = framed(&vec![0; FRAME_PAYLOAD_SIZE_MAX + 100]);
    assert_eq!(receive(&bytes, 1 << 20, FRAME_PAYLOAD_SIZE_MAX + 99), Err(FrameError::PacketTooLarge));
    assert!(receive(&bytes, 1 << 20, FRAME_PAYLOAD_SIZE_MAX + 100).is_ok());
}

#[test]
fn too_large_a_payload_is_answered_behind_its_last_frame_and_not_kept() {
    // The last frame is empty, short, or too long alone.
    for (size, frame_count) in [
        (2 * FRAME_PAYLOAD_SIZE_MAX, 3),
        (3 * FRAME_PAYLOAD_SIZE_MAX + 5, 4),
        (FRAME_PAYLOAD_SIZE_MAX + 900_000, 2),
        (900_000, 1),
    ] {
        let bytes = framed(&vec![1; size]);
        let expected = Expected::command(100_000);
        let (mut reassembler, mut buffer) = (Reassembler::new(), Vec::new());
        let mut received = 0;
        let error = loop {
            let piece = &bytes[received..(received + 60_000).min(bytes.len())];
            assert!(!piece.is_empty(), "{size} bytes are not refused");
            buffer.extend_from_slice(piece);
            received += piece.len();
            match reassembler.next(&buffer, expected) {
                Err(error) => break error,
                Ok(Received::Incomplete { consumed }) => drop(buffer.drain(..consumed)),
                Ok(Received::Packet { .. }) => panic!("{size} bytes are taken"),
            }
            assert!(reassembler.size() <= 100_000);
        };
        assert_eq!(error, FrameError::PacketTooLarge);
        assert_eq!(reassembler.answer_sequence(expected), frame_count, "{size}");
    }
}

#[test]
fn memory_of_a_large_payload_follows_what_arrived_and_goes_with_it() {
    let size = 8 << 20;
    let bytes = framed(&vec![1; size]);
    let (mut reassembler, expected) = (Reassembler::new(), Expected::command(ANY_SIZE));
    let mut arrived = 0;
    for piece in bytes.chunks(50_000) {
        let _ = reassembler.next(piece, expected).unwrap();
        arrived += piece.len();
        assert!(reassembler.size() <= arrived + arrived / 4 + 50_000, "{} at {arrived}", reassembler.size());
    }
    assert!(reassembler.size() >= size);
    reassembler.let_go();
    assert_eq!(reassembler.size(), 0);
}

#[test]
fn a_payload_without_memory_is_answered_behind_its_last_frame() {
    let bytes = framed(&vec![1; 2 * FRAME_PAYLOAD_SIZE_MAX + 100_000]);
    let last_begins = 2 * (FRAME_PAYLOAD_SIZE_MAX + HEADER_SIZE);
    let (mut reassembler, expected) = (Reassembler::new(), Expected::command(ANY_SIZE));
    let taken = Received::Incomplete { consumed: 5_000_000 };
    assert_eq!(reassembler.next(&bytes[..5_000_000], expected), Ok(taken));
    assert_eq!(reassembler.refuse_for_memory(), Ok(()));
    assert_eq!(reassembler.size(), 0);
    let rest = &bytes[5_000_000..last_begins];
    assert_eq!(reassembler.next(rest, expected), Ok(Received::Incomplete { consumed: rest.len() }));
    assert_eq!((reassembler.size(), reassembler.received()), (0, 2 * FRAME_PAYLOAD_SIZE_MAX));
    assert_eq!(reassembler.next(&bytes[last_begins..], expected), Err(FrameError::OutOfMemory));
    assert_eq!(reassembler.answer_sequence(expected), 3);
    // In its last frame it is refused at once.
    let mut reassembler = Reassembler::new();
    let _ = reassembler.next(&bytes[..last_begins + 50], expected).unwrap();
    assert_eq!(reassembler.refuse_for_memory(), Err(FrameError::OutOfMemory));
    assert_eq!(reassembler.answer_sequence(expected), 3);
}

#[test]
fn a_further_frame_with_a_wrong_number_is_refused() {
    let mut bytes = framed(&vec![0; FRAME_PAYLOAD_SIZE_MAX + 100]);
    bytes[HEADER_SIZE + FRAME_PAYLOAD_SIZE_MAX + 3] = 7;
    assert_eq!(receive(&bytes, 1 << 20, ANY_SIZE), Err(FrameError::SequenceOutOfOrder));
}

proptest! {
    #[test]
    fn any_bytes_in_any_pieces_are_handled(bytes: Vec<u8>, sequence: u8, limit in 0usize..300) {
        let expected = Expected { sequence, payload_size_max: limit };
        let _ = next_packet(&bytes, expected);
        let _ = Reassembler::new().next(&bytes, expected);
    }

    #[test]
    fn packets_survive_any_cut(
        sizes in proptest::collection::vec(0usize..200_000, 1..5),
        piece_size in 1000usize..65_000,
    ) {
        let mut bytes = Vec::new();
        for &size in &sizes {
            bytes.extend_from_slice(&framed(&vec![size.to_le_bytes()[0]; size]));
        }
        let payloads = receive(&bytes, piece_size, ANY_SIZE).unwrap();
        let expected: Vec<_> = sizes.iter().map(|&size| vec![size.to_le_bytes()[0]; size]).collect();
        prop_assert_eq!(payloads, expected);
    }
}
