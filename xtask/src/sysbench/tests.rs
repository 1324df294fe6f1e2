//! sysbench's output is read right, whatever the workload.

use super::{civil, parse};

const OUTPUT: &str = "\
Latency histogram (values are in milliseconds)
       value  ------------- distribution ------------- count
       0.040 |******                                   50
       0.050 |****                                     45
       0.100 |*                                        5

SQL statistics:
    queries performed:
        read:                            100
        total:                           100
    transactions:                        100    (49.98 per sec.)
    queries:                             100    (49.98 per sec.)
    ignored errors:                      2      (1.00 per sec.)
    reconnects:                          0      (0.00 per sec.)

General statistics:
    total time:                          2.0007s
    total number of events:              100

Latency (ms):
         min:                                    0.04
         avg:                                    0.05
         95th percentile:                        0.05
";

#[test]
fn figures_are_read() {
    let figures = parse(OUTPUT).expect("it is sysbench's output");
    assert!((figures.queries_per_second - 49.98).abs() < 1e-9);
    assert!((figures.ignored_errors - 2.0).abs() < 1e-9);
    assert!((figures.p50_ms - 0.040).abs() < 1e-9);
    assert!((figures.p95_ms - 0.050).abs() < 1e-9);
    assert!((figures.p99_ms - 0.100).abs() < 1e-9);
}

#[test]
fn rows_of_a_bulk_insert_are_events() {
    let bulk = OUTPUT.replace("transactions:                        100    (49.98", "transactions:  0 (0.00");
    let figures = parse(&bulk).expect("it is sysbench's output");
    assert!(figures.events_per_second > 49.0);
}

#[test]
fn what_is_not_sysbench_is_refused() {
    assert!(parse("FATAL: unable to connect").is_none());
}

#[test]
fn days_are_dates() {
    assert_eq!(civil(0), (1970, 1, 1));
    assert_eq!(civil(11_016), (2000, 2, 29));
    assert_eq!(civil(20_778), (2026, 11, 21));
}
