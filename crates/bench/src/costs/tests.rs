use super::*;

fn costs() -> Costs {
    Costs {
        machine: "a test, 2 CPUs".to_owned(),
        hop: 1.0,
        wake: 2.0,
        delay: 3.0,
        receive: 4.0,
        send: 5.0,
        kilobyte: 6.0,
        read: RowCost { cached: 7.0, memory: 70.0 },
        keys: RowCost { cached: 8.0, memory: 80.0 },
        scan: RowCost { cached: 9.0, memory: 90.0 },
        stage: RowCost { cached: 10.0, memory: 100.0 },
        apply: RowCost { cached: 11.0, memory: 110.0 },
        instructions: [("update".to_owned(), 300.5)].into(),
    }
}

#[test]
fn costs_are_read_as_they_were_written() {
    assert_eq!(Costs::of_json(&costs().json()), Some(costs()));
    assert_eq!(Costs::of_json(&json!({ "measured": "nothing" })), None);
    assert!(costs().text().starts_with("measured (a test, 2 CPUs)"));
}

#[test]
fn hops_wakes_and_misses_are_scaled_and_nothing_else() {
    let double = costs().scaled(2.0);
    assert_eq!(double.hop.to_bits(), 2.0_f64.to_bits());
    assert!((double.wake - 4.0).abs() < 1e-9 && (double.delay - 6.0).abs() < 1e-9);
    assert_eq!(double.read, RowCost { cached: 7.0, memory: 133.0 });
    assert_eq!((double.receive, double.send, double.kilobyte), (4.0, 5.0, 6.0));
    assert_eq!(double.instructions, costs().instructions);
}

/// Only that each cost is there: how high it is depends on the machine.
#[test]
fn rows_threads_and_packets_are_measured() {
    let mut costs = Costs::default();
    rows::measure(Duration::from_millis(50), &mut costs).unwrap();
    echo::measure(Duration::from_millis(100), &mut costs).unwrap();
    for (name, cost, _) in costs.rows() {
        assert!(cost.cached > 0.0 && cost.memory >= cost.cached, "{name}: {cost:?}");
    }
    assert!(costs.hop > 0.0 && costs.send > 0.0, "{costs:?}");
}
