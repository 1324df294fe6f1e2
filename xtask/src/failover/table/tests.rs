use super::*;

fn figures(
    cluster: &'static str,
    fault: &str,
    values: std::ops::RangeInclusive<u32>,
) -> Vec<(&'static str, Value)> {
    let injection = |value| serde_json::json!({"fault": fault, "survivor_write_ms": f64::from(value) + 0.5, "view_ms": null, "starved": 0});
    values.map(|value| (cluster, injection(value))).collect()
}

#[test]
fn a_line_has_the_figures_of_its_own_campaign() {
    let all = [figures(DEFAULT, KILL, 1..=30), figures(LAN, KILL, 500..=510)].concat();
    let table = table(&all);
    let mut lines = table.lines().skip(2);
    assert!(lines.next().unwrap().ends_with("| 30 | 15.5 ms | 30.5 ms | 30.5 ms | 50 / 200 ms |"), "{table}");
    assert!(
        table.contains("| LAN profile, `kill -9`: writes | 11 | 506 ms | 510 ms | 510 ms |  |"),
        "{table}"
    );
}

#[test]
fn what_nobody_has_measured_is_left_out() {
    let table = table(&figures(DEFAULT, KILL, 1..=3));
    assert!(table.contains("| from then: the next view | 0 | – | – | – |  |"), "{table}");
}
