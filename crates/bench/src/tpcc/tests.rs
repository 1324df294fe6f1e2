use super::*;

#[test]
fn the_mix_is_that_of_the_specification() {
    let terminal = Terminal { warehouse: 2, district: 3, warehouses: 3 };
    let mut inputs = Inputs::new(7);
    let mut counts: BTreeMap<Kind, u32> = BTreeMap::new();
    for _ in 0..20_000 {
        *counts.entry(Work::draw(&mut inputs, terminal).kind()).or_default() += 1;
    }
    // Clause 5.2.3: at least 43 % payments, at least 4 % of each of the last three; one of a hundred is chance.
    let share = |kind| counts[&kind] / 200;
    assert!(share(Kind::Payment) >= 42 && share(Kind::NewOrder) >= 43, "{counts:?}");
    for kind in [Kind::OrderStatus, Kind::Delivery, Kind::StockLevel] {
        assert!((3..=5).contains(&share(kind)), "{counts:?}");
    }
}

#[test]
fn percentiles_are_of_sorted_times() {
    let mut tally = Tally::default();
    tally.times.insert(Kind::Payment, (1..=200).collect());
    assert_eq!([50, 95, 99].map(|share| tally.percentile(Kind::Payment, share)), [100, 190, 198]);
    assert_eq!(tally.percentile(Kind::Delivery, 99), 0);
    let mut one = Tally::default();
    one.times.insert(Kind::Payment, vec![5]);
    assert_eq!(one.percentile(Kind::Payment, 50), 5);
    one.add(tally);
    assert_eq!(one.count(Kind::Payment), 201);
}
