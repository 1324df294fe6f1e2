use super::*;

fn samples(values: impl Iterator<Item = u64>) -> Vec<Sample> {
    values.map(|bytes| Sample { resident: vec![("data 2".to_owned(), bytes)] }).collect()
}

const MIB: u64 = 1 << 20;

#[test]
fn means_of_quarters_cover_all_samples() {
    assert_eq!(quarter_means(&[1, 3, 5, 7, 9, 11, 13, 15]), [2, 6, 10, 14]);
    assert_eq!(quarter_means(&[4, 4, 4, 4, 10]), [4, 4, 4, 7]);
    assert_eq!(quarter_means(&[8]), [0, 0, 0, 8]);
}

#[test]
fn memory_that_settles_is_flat() {
    let settles = (0..360).map(|step: u64| 300 * MIB + step.min(120) * MIB);
    assert!(judge(&samples(settles)).is_empty());
    let swings = (0..360).map(|step: u64| 300 * MIB + step % 7 * MIB);
    assert!(judge(&samples(swings)).is_empty());
}

#[test]
fn memory_that_grows_is_told() {
    // An hour of 64 kB every ten seconds.
    let grows = (0..360).map(|step: u64| 300 * MIB + step * MIB / 16);
    let faults = judge(&samples(grows));
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert!(faults[0].starts_with("data 2: memory grows"));
}
