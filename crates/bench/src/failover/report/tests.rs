use super::*;

fn injection(fault: &str, write_ms: u64) -> Injection {
    Injection {
        fault: fault.to_owned(),
        victim: "node 2".to_owned(),
        survivor_write: Duration::from_millis(write_ms),
        pace_before: 200,
        pace_after: 150,
        latency_before: Duration::from_millis(2),
        latency_after: Duration::from_millis(3),
        ..Injection::default()
    }
}

#[test]
fn a_table_has_a_line_for_each_fault() {
    let injections: Vec<Injection> =
        (1..=100).map(|ms| injection("kill-data", ms)).chain([injection("cut-3s", 7)]).collect();
    let table = table(&injections);
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 4, "{table}");
    assert!(lines[2].starts_with("| kill-data | 100 | 50.0 / 99.0 / 100.0 ms |"), "{table}");
    assert!(lines[3].starts_with("| cut-3s | 1 | 7.0 / 7.0 / 7.0 ms |"), "{table}");
    assert!(lines[2].ends_with("| 75 % | 1.5 × | 0 |"), "{table}");
    let columns = |line: &str| line.matches('|').count();
    assert!(lines.iter().all(|line| columns(line) == columns(lines[0])), "{table}");
}

#[test]
fn json_has_every_figure() {
    let mut one = injection("kill-data", 12);
    one.rejoin_gap = Duration::from_nanos(1_234_567);
    let figures = |one: &Injection| serde_json::from_str::<serde_json::Value>(&one.json("latsdb")).unwrap();
    let before = figures(&one);
    assert_eq!((&before["cluster"], &before["fault"]), (&json!("latsdb"), &json!("kill-data")));
    assert_eq!((&before["survivor_write_ms"], &before["rejoin_gap_ms"]), (&json!(12.0), &json!(1.235)));
    assert_eq!(before["rejoin_ms"], json!(null));
    one.rejoin = Some(Duration::from_millis(1500));
    assert_eq!(figures(&one)["rejoin_ms"], json!(1500.0));
}
