use super::*;

/// A report as sysbench 1.0.20 prints it.
const REPORT: &str = "\
[ 1s ] thds: 8 tps: 100.00 qps: 2000.00 (r/w/o: 1400/400/200) lat (ms,95%): 12.00 err/s: 0.00 reconn/s: 0.00
Latency histogram (values are in milliseconds)
       value  ------------- distribution ------------- count
       1.000 |*****                                    30
       2.500 |************************************     70

SQL statistics:
    transactions:                        100    (49.97 per sec.)
    queries:                             2000   (999.33 per sec.)
    ignored errors:                      3      (1.50 per sec.)
    reconnects:                          0      (0.00 per sec.)
";

#[test]
fn the_last_report_is_read() {
    let run = figures(REPORT, Duration::from_secs(2)).unwrap();
    assert_eq!((run.counted.transactions, run.counted.statements, run.counted.retried), (100, 2_000, 3));
    assert!((run.counted.percentile_ms(25.0) - 1.0).abs() < 0.01);
    assert!((run.counted.percentile_ms(95.0) - 2.5).abs() < 0.01);
}

#[test]
fn no_report_is_no_figures() {
    assert!(figures("FATAL: unable to connect", Duration::from_secs(2)).is_none());
}
