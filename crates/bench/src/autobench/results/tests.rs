use super::*;

fn figures(transactions_per_second: f64) -> Figures {
    Figures {
        transactions_per_second,
        queries_per_second: transactions_per_second * 20.0,
        p50_ms: 1.0,
        p95_ms: 2.0,
        p99_ms: 3.0,
        retried_per_second: 0.0,
    }
}

#[test]
fn instances_side_by_side_are_summed() {
    let run = |transactions| {
        let mut counted = Counted::new();
        counted.transactions = transactions;
        counted.statements = transactions * 20;
        counted.latencies.saturating_record_n(1_500, transactions);
        Run { counted, time: Duration::from_secs(2) }
    };
    let sum = Figures::of(&[run(100), run(300)]);
    assert!((sum.transactions_per_second - 200.0).abs() < 1e-9);
    assert!((sum.queries_per_second - 4_000.0).abs() < 1e-9);
    assert!((sum.p50_ms - 1.5).abs() < 0.01);
}

#[test]
fn the_table_has_medians_over_runs() {
    let mut results = Results::new(Path::new("nowhere"), "oltp_rw");
    results.figures.insert(8, vec![figures(30.0), figures(10.0), figures(20.0)]);
    results.figures.insert(1, vec![figures(5.0)]);
    let table = results.table();
    let lines: Vec<Vec<&str>> = table.lines().skip(3).map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0][..4], ["1", "1", "5.0", "100.0"]);
    assert_eq!(lines[1][..4], ["8", "3", "20.0", "400.0"]);
}
