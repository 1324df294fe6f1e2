use super::*;
use stdx::Prng;
use types::NodeId;

mod model;

fn query(instance: u8) -> Vec<Address> {
    vec![Address::new(NodeId(2), ModuleKind::Query, instance)]
}

fn us(microseconds: u64) -> Duration {
    Duration::from_micros(microseconds)
}

const WAITING: Seen = Seen { backlog: None, weight: 0 };

fn busy_with(backlog_us: u64, weight: u8) -> Seen {
    Seen { backlog: Some(us(backlog_us)), weight }
}

/// Weights after so many changes with the same loads.
fn weights_after(times: u64, start: &[u8], busy: &[u32]) -> Vec<u8> {
    let mut weights = Weights { weights: start.to_vec(), changed: Instant(0) };
    for _ in 0..times {
        weights.change(Instant(0), busy);
    }
    weights.weights
}

#[test]
fn the_older_sample_counts_while_both_are_alike() {
    assert_eq!(busy_of(60, 70), 65);
    assert_eq!(busy_of(70, 60), 65);
    assert_eq!(busy_of(60, 71), 71);
    assert_eq!(busy_of(100, 0), 0);
}

#[test]
fn weights_rise_by_one_and_fall_by_up_to_four() {
    assert_eq!(weights_after(1, &[0, 0], &[100, 0]), [0, 1]);
    assert_eq!(weights_after(20, &[0, 0], &[100, 0]), [0, WEIGHT_MAX]);
    assert_eq!(weights_after(1, &[16, 8], &[100, 0]), [12, 9]);
    assert_eq!(weights_after(1, &[16, 8], &[80, 60]), [15, 9]);
    assert_eq!(weights_after(1, &[2, 8], &[100, 0]), [0, 9]);
}

#[test]
fn nobody_has_weight_while_the_node_has_little_to_do() {
    assert_eq!(weights_after(1, &[9, 9, 9], &[39, 20, 30]), [0, 0, 0]);
    assert_eq!(weights_after(1, &[9, 9, 9], &[40, 20, 29]), [8, 10, 9]);
    assert_eq!(weights_after(1, &[0; 3], &[30, 30, 30]), [0, 0, 0]);
    assert!(weights_after(1, &[], &[]).is_empty());
}

#[test]
fn weights_are_due_ten_times_a_second() {
    let mut weights = Weights::new(2, Instant(0));
    assert!(!weights.is_due(Instant(0) + us(99_999)));
    let due = Instant(0) + WEIGHTS_EVERY;
    assert!(weights.is_due(due));
    assert_eq!(weights.change(due, &[100, 0]), [0, 1]);
    assert!(!weights.is_due(due));
}

#[test]
fn threads_that_wait_help_in_turn() {
    let threads = [query(0), query(1), vec![Address::main(NodeId(2))], query(2)];
    let mut turns = Turns::new(1, threads.iter().map(Vec::as_slice));
    let waiting = [0; 4].map(|_| turns.relief(Duration::ZERO, |_, _| WAITING));
    assert_eq!(waiting, [Some(0), Some(2), Some(0), Some(2)]);
    let one_busy = |thread: usize, module: u8| {
        assert_eq!(thread, if module == 0 { 0 } else { 3 });
        if thread == 0 { busy_with(0, 16) } else { WAITING }
    };
    assert_eq!([0; 2].map(|_| turns.relief(us(100), one_busy)), [None, Some(2)]);
    let mut alone = Turns::new(0, [query(0)].iter().map(Vec::as_slice));
    assert_eq!(alone.relief(us(1_000_000), |_, _| WAITING), None);
}

#[test]
fn a_thread_with_work_takes_more_if_it_has_less_than_half() {
    assert!(takes(us(101), busy_with(0, WEIGHT_MAX), 0));
    assert!(!takes(us(100), busy_with(0, WEIGHT_MAX), 0));
    assert!(takes(us(204), busy_with(100, WEIGHT_MAX), 0));
    assert!(!takes(us(203), busy_with(100, WEIGHT_MAX), 0));
    assert!(!takes(us(1_000_000), busy_with(0, 0), 0));
}

#[test]
fn a_weight_is_the_number_of_turns_of_sixteen() {
    for weight in 0..=WEIGHT_MAX {
        let has_turn = |pass: u8| takes(us(1_000), busy_with(0, weight), pass);
        assert_eq!((0..16).filter(|pass| has_turn(*pass)).count(), usize::from(weight));
    }
    let turns: Vec<bool> = (0..8).map(|pass| takes(us(1_000), busy_with(0, 8), pass)).collect();
    assert_eq!(turns, [true, false, true, false, true, false, true, false]);
}

#[test]
fn even_load_gives_nobody_weight() {
    let mut prng = Prng::new(1);
    for _ in 0..200 {
        let count = 1 + prng.index(64);
        let level = u32::try_from(prng.below(97)).expect("small");
        let mut weights = Weights::new(count, Instant(0));
        for _ in 0..50 {
            let busy: Vec<u32> =
                (0..count).map(|_| level + u32::try_from(prng.below(5)).expect("small")).collect();
            let of = weights.change(Instant(0), &busy);
            assert!(of.iter().all(|weight| *weight == 0), "{busy:?}: {of:?}");
        }
    }
}

/// Whatever the loads are: weights stay in their range, move by what is allowed, and never towards the busier.
#[test]
fn weights_follow_the_mean() {
    let mut prng = Prng::new(2);
    for _ in 0..2_000 {
        let count = 2 + prng.index(16);
        let mut draw = |bound: u64| u32::try_from(prng.below(bound)).expect("small");
        let busy: Vec<u32> = (0..count).map(|_| draw(101)).collect();
        let before: Vec<u8> = (0..count).map(|_| u8::try_from(draw(17)).expect("small")).collect();
        let after = weights_after(1, &before, &busy);
        let mean = busy.iter().sum::<u32>() / u32::try_from(count).expect("few");
        let is_quiet = mean < 30 && busy.iter().all(|busy| *busy < 40);
        for ((before, after), busy) in before.iter().zip(&after).zip(busy) {
            assert!(*after <= WEIGHT_MAX);
            match after.cmp(before) {
                std::cmp::Ordering::Greater => assert!(after - before == 1 && busy < mean),
                std::cmp::Ordering::Less => assert!(is_quiet || (before - after <= 4 && busy > mean)),
                std::cmp::Ordering::Equal => {}
            }
        }
    }
}
