use super::ring;
use std::sync::Arc;

#[test]
fn items_are_invisible_until_published_and_keep_their_order() {
    let (mut producer, mut consumer) = ring(3);
    assert_eq!(producer.capacity(), 4);
    for item in 0..4 {
        producer.push(item).unwrap();
    }
    assert_eq!(producer.push(4), Err(4));
    assert!(consumer.is_empty());
    assert!(producer.publish());
    assert!(!producer.publish());
    assert_eq!(producer.waiting(), 4);
    assert_eq!((0..4).map(|_| consumer.pop().unwrap()).collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert_eq!(consumer.pop(), None);
    assert_eq!(producer.waiting(), 0);
    producer.push(5).unwrap();
}

#[test]
fn what_was_never_taken_is_dropped_once() {
    let item = Arc::new(());
    let (mut producer, mut consumer) = ring(8);
    for _ in 0..6 {
        producer.push(Arc::clone(&item)).unwrap();
    }
    producer.publish();
    drop(consumer.pop());
    producer.push(Arc::clone(&item)).unwrap();
    assert_eq!(Arc::strong_count(&item), 7);
    drop(consumer);
    drop(producer);
    assert_eq!(Arc::strong_count(&item), 1);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a ring is for two threads, so its test needs two")]
fn two_threads_lose_and_reorder_nothing() {
    const ITEMS: u64 = 200_000;
    let (mut producer, mut consumer) = ring::<Box<u64>>(64);
    let sender = std::thread::spawn(move || {
        for item in 0..ITEMS {
            let mut boxed = Box::new(item);
            while let Err(refused) = producer.push(boxed) {
                boxed = refused;
                producer.publish();
                std::thread::yield_now();
            }
            // Uneven batches, so that publishing and wrapping fall on all positions.
            if item % 7 == 0 || item % 11 == 3 {
                producer.publish();
            }
        }
    });
    let mut expected = 0;
    while expected < ITEMS {
        match consumer.pop() {
            Some(item) => {
                assert_eq!(*item, expected);
                expected += 1;
            }
            None => std::thread::yield_now(),
        }
    }
    sender.join().unwrap();
    assert!(consumer.pop().is_none());
}
