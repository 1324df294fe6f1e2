use super::{Contents, Digest, differing, uniques};
use std::collections::BTreeSet;
use types::{SlotId, TableId};

fn digest(rows: &[(u8, u64)]) -> Digest {
    rows.iter().map(|(key, hash)| (vec![*key].into(), *hash)).collect()
}

fn contents(replicas: &[&[(u8, u64)]]) -> Contents {
    let replicas = replicas.iter().map(|rows| digest(rows)).collect();
    Contents { replicas: [((TableId(100), SlotId(1)), replicas)].into(), ..Contents::default() }
}

#[test]
fn replicas_must_be_equal() {
    assert_eq!(differing(&contents(&[&[(1, 10), (2, 20)], &[(1, 10), (2, 20)]])), None);
    assert!(differing(&contents(&[&[(1, 10), (2, 20)], &[(1, 10), (2, 21)]])).is_some(), "another row");
    assert!(differing(&contents(&[&[(1, 10), (2, 20)], &[(1, 10)]])).is_some(), "a row is missing");
    assert!(differing(&contents(&[&[(1, 0)], &[(1, 0)]])).is_some(), "a row is not decided");
    let errors = Contents { index_errors: vec!["a row has no entry".into()], ..Contents::default() };
    assert!(differing(&errors).is_some());
}

fn rows(rows: &[(u64, Option<u64>, u64)]) -> Vec<Vec<Option<String>>> {
    rows.iter()
        .map(|(id, u, v)| vec![Some(id.to_string()), u.map(|u| u.to_string()), Some(v.to_string())])
        .collect()
}

#[test]
fn unique_entries_must_fit_rows() {
    let written = BTreeSet::from([7, 8]);
    let refused = BTreeSet::from([9]);
    let table = rows(&[(1, Some(3), 7), (2, None, 8)]);
    assert_eq!(uniques(&table, &rows(&[(1, Some(3), 7)]), &written, &refused), None);
    assert!(uniques(&table, &[], &written, &refused).is_some(), "the entry is missing");
    let stray = rows(&[(1, Some(3), 7), (5, Some(4), 8)]);
    assert!(uniques(&table, &stray, &written, &refused).is_some(), "an entry without its row");
    let twice = rows(&[(1, Some(3), 7), (2, Some(3), 8)]);
    assert!(uniques(&twice, &twice, &written, &refused).is_some(), "a key is there twice");
    let undone = rows(&[(1, Some(3), 9)]);
    assert!(uniques(&undone, &undone, &written, &refused).is_some(), "a refused value is there");
}
