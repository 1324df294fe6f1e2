use super::*;

const LOST_NODE: &str = "\
[ 2s ] thds: 4 tps: 1047.17 qps: 20964.39 (r/w/o: 14681.37/4187.68/2095.34) lat (ms,95%): 7.30 err/s: 2.00 reconn/s: 0.00
FATAL: mysql_stmt_execute() returned error 2013 (Lost connection to server during query) for query 'BEGIN'
FATAL: `thread_run' function failed: oltp_common.lua:405: SQL error, errno = 2013, state = 'HY000': Lost connection to server
";

#[test]
fn what_lost_its_node_is_told_from_what_failed() {
    assert!(has_lost_its_node(LOST_NODE));
    let refused = "FATAL: unable to connect to MySQL server\nFATAL: error 2002: Can't connect\nFATAL: Thread initialization failed!\n";
    assert!(has_lost_its_node(refused));
    let gone = "FATAL: mysql_drv_query() returned error 1146 (Table 'sbtest.sbtest1' doesn't exist) for query 'BEGIN'\n";
    assert!(!has_lost_its_node(gone));
    assert!(!has_lost_its_node(&format!("{LOST_NODE}{gone}")));
    // A crash leaves no word.
    assert!(!has_lost_its_node("[ 1s ] thds: 4 tps: 3.00 qps: 60.00\n"));
}

#[test]
fn reports_are_added() {
    assert!((transactions(&LOST_NODE.repeat(2)) - 2094.34).abs() < 0.01);
}
