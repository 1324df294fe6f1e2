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
    assert!(one.json("latsdb").contains(r#""survivor_write_ms":12.000,"#));
    assert!(one.json("latsdb").contains(r#""rejoin_ms":null"#));
    one.rejoin = Some(Duration::from_millis(1500));
    assert!(one.json("latsdb").contains(r#""rejoin_ms":1500.000"#));
}
