use super::*;
use std::collections::BTreeSet;

#[test]
fn names_are_made_of_digits() {
    assert_eq!(
        [last_name(0), last_name(371), last_name(999)],
        ["BARBARBAR", "PRICALLYOUGHT", "EINGEINGEING"]
    );
}

#[test]
fn the_two_constants_of_names_may_stand_together() {
    // Clause 2.1.6.1: 65 to 119, without 96 and 112.
    let distance = C_LAST_OF_RUN.abs_diff(C_LAST_OF_LOAD);
    assert!((65..=119).contains(&distance) && distance != 96 && distance != 112 && C_LAST_OF_RUN < 256);
}

#[test]
fn inputs_stay_in_their_ranges() {
    let mut inputs = Inputs::new(1);
    for _ in 0..5_000 {
        assert!((1..=CUSTOMERS).contains(&inputs.customer()));
        assert!((1..=ITEMS).contains(&inputs.item()));
        assert!((26..=50).contains(&inputs.data().len()));
        assert!(inputs.last_name(Phase::Run).len() <= 16);
    }
    let originals = (0..1_000).filter(|_| inputs.data().contains("ORIGINAL")).count();
    assert!((50..200).contains(&originals), "{originals}");
    assert_eq!(inputs.permutation(100).into_iter().collect::<BTreeSet<_>>().len(), 100);
    assert_eq!([money(0), money(7), money(12_345)], ["0.00", "0.07", "123.45"]);
}
