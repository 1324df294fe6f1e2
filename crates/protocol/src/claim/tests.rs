use super::{Claim, ClaimPoint, RestartPoint};
use types::{Epoch, Incarnation, RestartNumber};

fn restart(number: u32, cut: u64, first: u64) -> RestartPoint {
    RestartPoint { number: RestartNumber(number), cut: Epoch(cut), first: Epoch(first) }
}

fn point(restart: u32, flushed: u64) -> ClaimPoint {
    let restart = RestartNumber(restart);
    ClaimPoint { restart, lineage: Incarnation(7), flushed: Epoch(flushed), closed_at_us: 5, low: Epoch(0) }
}

fn claim(points: &[ClaimPoint]) -> Claim {
    Claim { points: points.to_vec(), ..Claim::default() }
}

#[test]
fn without_restarts_the_newest_point_counts() {
    assert_eq!(claim(&[]).confirmed(&[], |_| true), None);
    assert_eq!(claim(&[point(0, 90)]).confirmed(&[], |_| true), Some(point(0, 90)));
}

#[test]
fn a_point_of_a_restart_that_was_not_recorded_is_void() {
    let claim = claim(&[point(1, 80), point(0, 90)]);
    assert_eq!(claim.confirmed(&[], |_| true), Some(point(0, 90)));
    assert_eq!(claim.confirmed(&[restart(1, 80, 1_000)], |_| true), Some(point(1, 80)));
    // Another plan of the same number was recorded, without this disk: it comes back from what is below its cut.
    assert_eq!(claim.confirmed(&[restart(1, 70, 1_000)], |_| true), Some(point(0, 70)));
}

#[test]
fn each_later_cut_lowers_what_an_older_number_wrote() {
    let restarts = [restart(1, 80, 1_000), restart(2, 60, 2_000), restart(3, 2_005, 3_000)];
    assert_eq!(claim(&[point(0, 90)]).confirmed(&restarts, |_| true), Some(point(0, 60)));
    assert_eq!(claim(&[point(0, 50)]).confirmed(&restarts, |_| true), Some(point(0, 50)));
    assert_eq!(claim(&[point(2, 2_050)]).confirmed(&restarts, |_| true), Some(point(2, 2_005)));
    assert_eq!(claim(&[point(3, 3_001)]).confirmed(&restarts, |_| true), Some(point(3, 3_001)));
}

#[test]
fn a_point_older_than_the_list_of_restarts_does_not_count() {
    let restarts = [restart(5, 80, 1_000), restart(6, 1_010, 2_000)];
    assert_eq!(claim(&[point(4, 70)]).confirmed(&restarts, |_| true), None, "4 is not in the list");
    assert_eq!(claim(&[point(0, 70)]).confirmed(&restarts, |_| true), None, "1 to 4 are not known any more");
    assert_eq!(claim(&[point(5, 1_007)]).confirmed(&restarts, |_| true), Some(point(5, 1_007)));
}

/// It was copied to between the points: what lies in between cannot be had from it.
#[test]
fn a_point_that_a_cut_would_bring_below_its_copy_does_not_count() {
    let joined = ClaimPoint { low: Epoch(85), ..point(0, 90) };
    let claim = claim(&[joined, point(0, 60)]);
    assert_eq!(claim.confirmed(&[], |_| true), Some(joined));
    assert_eq!(
        claim.confirmed(&[restart(1, 85, 1_000)], |_| true).map(|point| point.flushed),
        Some(Epoch(85))
    );
    assert_eq!(claim.confirmed(&[restart(1, 84, 1_000)], |_| true), Some(point(0, 60)));
}
