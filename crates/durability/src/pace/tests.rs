use super::{FragmentState, Limits, Next, next};
use stdx::Prng;
use types::{SlotId, TableId};

const MIB: u64 = 1 << 20;

/// Sizes in MiB.
fn fragment(table: u32, held: u64, bytes: u64, is_changed: bool) -> FragmentState {
    let (slot, table) = (SlotId(1), TableId(table));
    FragmentState { slot, table, held: held * MIB, bytes: bytes * MIB, is_changed }
}

fn limits(rate: u64) -> Limits {
    Limits { space: 1_000 * MIB, rate: rate * MIB, speed_max: 100 * MIB }
}

#[test]
fn the_fragment_that_holds_the_log_is_next() {
    let all = [fragment(1, 1, 5, true), fragment(2, 6, 5, true), fragment(3, 3, 5, true)];
    assert_eq!(next(&all), Next::Write(SlotId(1), TableId(2)));
    let unchanged = [fragment(1, 1, 5, true), fragment(2, 6, 5, false)];
    assert_eq!(next(&unchanged), Next::Advance(SlotId(1), TableId(2)));
    let equal = [fragment(2, 6, 5, true), fragment(1, 6, 5, true)];
    assert_eq!(next(&equal), Next::Write(SlotId(1), TableId(1)));
    assert_eq!(next(&[fragment(1, 0, 5, true)]), Next::Nothing);
    assert_eq!(next(&[]), Next::Nothing);
}

#[test]
fn checkpoints_are_as_fast_as_the_deadlines_of_all_fragments_ask() {
    let near = |speed: u64, mib: u64| assert_eq!(speed.div_ceil(MIB), mib);
    let all = [fragment(1, 250, 200, true), fragment(2, 250, 800, false)];
    near(limits(10).speed(&all), 4);
    // 350 MiB in the 70 s of the second one are more than 200 MiB in the 50 s of the first.
    let all = [fragment(1, 250, 200, true), fragment(2, 50, 150, true)];
    near(limits(10).speed(&all), 5);
    let all = [fragment(1, 250, 200, true), fragment(2, 50, 50, true)];
    near(limits(10).speed(&all), 4);
    near(limits(10).speed(&[fragment(1, 749, 200, true)]), 100);
    near(limits(0).speed(&[fragment(1, 800, 200, true)]), 100);
    near(limits(0).speed(&all), 0);
    near(limits(10).speed(&[fragment(2, 50, 50, false)]), 0);
}

#[test]
fn a_scan_rests_less_as_the_log_fills() {
    let factors: Vec<u64> =
        [0, 100, 375, 700, 750, 990].map(|held| limits(1).rest_factor(held * MIB)).to_vec();
    assert_eq!(factors, [9, 7, 4, 0, 0, 0]);
}

/// Steps of 100 ms of a log that fills: it stays at its target, and no more is written than is said above.
#[test]
fn the_log_stays_at_its_target_and_little_is_written() {
    for seed in 0..50 {
        let mut random = Prng::new(seed);
        let count = 1 + u32::try_from(random.below(20)).unwrap();
        let mut all: Vec<FragmentState> =
            (0..count).map(|table| fragment(table, 0, 1 + random.below(100), true)).collect();
        let bytes: u64 = all.iter().map(|fragment| fragment.bytes).sum();
        let rate = (1 + random.below(30)) * MIB;
        let limits = Limits { space: 1_000 * MIB, rate, speed_max: 400 * MIB };
        let (mut logged, mut written) = (0, 0);
        // The fragment that is written, what was logged since that began, and the bytes that are left.
        let mut under_way: Option<(usize, u64, u64)> = None;
        for _ in 0..20_000 {
            let step = rate / 10;
            logged += step;
            all.iter_mut().for_each(|fragment| fragment.held += step);
            let held = all.iter().map(|fragment| fragment.held).max().unwrap_or(0);
            assert!(held < 760 * MIB + 2 * step, "seed {seed}: {} MiB", held / MIB);
            let (index, since, left) = under_way.take().unwrap_or_else(|| {
                let Next::Write(_, table) = next(&all) else { panic!("all of them change") };
                let index = usize::try_from(table.0).unwrap();
                (index, 0, all[index].bytes)
            });
            let mut asked = all.clone();
            asked[index].bytes = left;
            let budget = limits.speed(&asked) / 10;
            written += budget.min(left);
            if budget < left {
                under_way = Some((index, since + step, left - budget));
            } else {
                all[index].held = since + step;
            }
        }
        let bound = u128::from(logged) * u128::from(bytes) / u128::from(375 * MIB) + u128::from(bytes);
        assert!(u128::from(written) <= bound, "seed {seed}: {written} of {bound}");
    }
}
