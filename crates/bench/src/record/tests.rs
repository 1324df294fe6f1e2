use super::*;

/// A folder of this test's own.
fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("latsdb-record-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&path).unwrap();
    path
}

#[test]
fn what_is_written_is_read() {
    let folder = folder("round-trip");
    let mut writer = Writer::create(&folder, "client").unwrap();
    writer.append(Outcome::Acknowledged, 1, "7 8 9").unwrap();
    writer.append(Outcome::Unknown, 2, 3).unwrap();
    writer.append(Outcome::Refused, 4, "a:1:2 r:1:2,3").unwrap();
    let records = read(writer.path()).unwrap();
    let seen: Vec<_> =
        records.iter().map(|record| (record.outcome, record.from, record.detail.as_str())).collect();
    assert_eq!(
        seen,
        [
            (Outcome::Acknowledged, 1, "7 8 9"),
            (Outcome::Unknown, 2, "3"),
            (Outcome::Refused, 4, "a:1:2 r:1:2,3")
        ]
    );
    assert!(records.windows(2).all(|pair| pair[0].until <= pair[1].until));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn half_a_last_line_is_passed_over_and_any_other_is_an_error() {
    let folder = folder("torn");
    let path = folder.join("torn.log");
    std::fs::write(&path, "A 1 2 x\nU 3 4 y\nA 5").unwrap();
    assert_eq!(read(&path).unwrap().len(), 2);
    for broken in ["A 1 2\n", "Q 1 2 x\n", "A x 2 y\n", "\n"] {
        std::fs::write(&path, broken).unwrap();
        assert!(read(&path).is_err(), "{broken:?} was taken for a record");
    }
    std::fs::remove_dir_all(folder).unwrap();
}
