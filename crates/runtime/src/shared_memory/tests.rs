use super::{Broken, CONTROL_WORDS, LAYOUT, PRODUCED, RING_SIZE_MIN, Rings, WORD};
use crate::wake::{Poller, Token, Wait};
use rustix::fd::OwnedFd;
use rustix::fs::{MemfdFlags, SealFlags};
use std::collections::VecDeque;
use std::sync::atomic::{Ordering, fence};
use stdx::prng::Prng;

fn pair() -> (Rings, Rings) {
    let (maker, handed) = Rings::make(RING_SIZE_MIN).unwrap();
    (maker, Rings::take(handed).unwrap())
}

#[test]
fn a_ring_is_a_stream_of_bytes_whatever_the_sizes() {
    let mut random = Prng::new(7);
    let mut below = |limit: usize| random.index(limit);
    let (mut maker, mut taker) = pair();
    for turn in 0..2 {
        let (from, to) = if turn == 0 { (&mut maker, &mut taker) } else { (&mut taker, &mut maker) };
        let (mut expected, mut next) = (VecDeque::new(), 0_u8);
        let mut is_full_seen = false;
        for _ in 0..20_000 {
            // Writes are larger than reads on the whole, so that the ring is full now and then.
            let bytes: Vec<u8> = (0..below(if is_full_seen { 40 } else { 300 }))
                .map(|_| {
                    next = next.wrapping_mul(5).wrapping_add(1);
                    next
                })
                .collect();
            let taken = from.send(&bytes).unwrap();
            assert!(taken == bytes.len() || expected.len() + taken == RING_SIZE_MIN, "room was left");
            is_full_seen |= taken < bytes.len();
            expected.extend(&bytes[..taken]);
            assert_eq!(to.has_incoming(), !expected.is_empty());
            let limit = below(100);
            let mut received = b"known".to_vec();
            let more = to.receive(&mut received, limit).unwrap();
            let count = received.len() - 5;
            assert_eq!(count, limit.min(expected.len()));
            assert!(received[5..].iter().copied().eq(expected.drain(..count)));
            assert_eq!(more, !expected.is_empty());
        }
        assert!(is_full_seen);
        to.receive(&mut Vec::new(), usize::MAX).unwrap();
    }
}

#[test]
fn impossible_counters_are_noticed_at_both_ends() {
    for wrong in [1, 2 * RING_SIZE_MIN, usize::MAX / 2, 1 << 63] {
        let (mut maker, taker) = pair();
        let mut bytes = Vec::new();
        // The reader claims to have taken what was never written.
        taker.cell(taker.incoming, super::CONSUMED).store(wrong, Ordering::Relaxed);
        assert_eq!(maker.send(&[1; RING_SIZE_MIN + 1]), Err(Broken));
        assert_eq!(maker.wait_for_room(), Err(Broken));
        // The writer claims to have written more than there is room for.
        if wrong > RING_SIZE_MIN {
            taker.cell(taker.outgoing, PRODUCED).store(wrong, Ordering::Relaxed);
            assert!(maker.has_incoming());
            assert_eq!(maker.receive(&mut bytes, 100), Err(Broken));
            assert!(bytes.is_empty());
        }
    }
}

#[test]
fn a_counter_that_goes_back_gives_the_peer_rubbish_and_nothing_else() {
    let (mut maker, mut taker) = pair();
    maker.send(&[1; 1000]).unwrap();
    taker.receive(&mut Vec::new(), 1000).unwrap();
    maker.cell(maker.outgoing, PRODUCED).store(10, Ordering::Relaxed);
    assert_eq!(taker.receive(&mut Vec::new(), 1000), Err(Broken));
    taker.cell(taker.incoming, super::CONSUMED).store(10, Ordering::Relaxed);
    assert_eq!(maker.send(&[1; RING_SIZE_MIN]), Ok(RING_SIZE_MIN - 990));
}

/// A file as handed over, and what is wrong with it.
fn file(words: usize, seals: SealFlags, layout: usize) -> [OwnedFd; 3] {
    let file = rustix::fs::memfd_create("test", MemfdFlags::ALLOW_SEALING).unwrap();
    rustix::fs::ftruncate(&file, u64::try_from(words * WORD).unwrap()).unwrap();
    rustix::fs::fcntl_add_seals(&file, seals).unwrap();
    rustix::io::write(&file, &layout.to_ne_bytes()).unwrap();
    let bell = || rustix::event::eventfd(0, rustix::event::EventfdFlags::NONBLOCK).unwrap();
    [file, bell(), bell()]
}

#[test]
fn only_memory_that_cannot_shrink_and_has_our_layout_is_taken() {
    let words = CONTROL_WORDS + 2 * RING_SIZE_MIN / WORD;
    assert!(Rings::take(file(words, SealFlags::SHRINK, LAYOUT)).is_ok());
    assert!(Rings::take(file(words, SealFlags::GROW, LAYOUT)).is_err());
    assert!(Rings::take(file(words, SealFlags::SHRINK, LAYOUT + 1)).is_err());
    for wrong in [1, CONTROL_WORDS, CONTROL_WORDS + 2, words - 1, words + 2] {
        assert!(Rings::take(file(wrong, SealFlags::SHRINK, LAYOUT)).is_err());
    }
    // Something that is no memory at all.
    let [_, one, two] = file(words, SealFlags::SHRINK, LAYOUT);
    let pipe = rustix::pipe::pipe().unwrap().0;
    assert!(Rings::take([pipe, one, two]).is_err());
}

#[test]
fn a_sleeper_is_woken_and_a_blocked_writer_too() {
    const TOTAL: usize = 3_000_000;
    let (mut maker, mut taker) = pair();
    let sleep = |rings: &Rings| {
        let poller = Poller::create().unwrap();
        poller.watch(rings.bell(), Token::Wake).unwrap();
        poller
    };
    let writer = std::thread::spawn(move || {
        let (mut poller, mut events, mut written) = (sleep(&maker), Vec::new(), 0);
        while written < TOTAL {
            let count = (TOTAL - written).min(1 + written % 5_000);
            let bytes: Vec<u8> = (written..written + count).map(|index| index.to_le_bytes()[0]).collect();
            let taken = maker.send(&bytes).unwrap();
            written += taken;
            maker.wake_reader();
            if taken == 0 && !maker.wait_for_room().unwrap() {
                // Without its bell this sleeps for ever.
                poller.take(Wait::Until(None), &mut events);
            }
        }
    });
    let (mut poller, mut events, mut received) = (sleep(&taker), Vec::new(), Vec::new());
    while received.len() < TOTAL {
        taker.announce_sleep();
        fence(Ordering::SeqCst);
        if !taker.has_incoming() {
            poller.take(Wait::Until(None), &mut events);
        }
        taker.announce_awake();
        taker.receive(&mut received, 3_000).unwrap();
    }
    assert!(received.iter().enumerate().all(|(index, byte)| index.to_le_bytes()[0] == *byte));
    writer.join().unwrap();
}
