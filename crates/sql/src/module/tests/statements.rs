//! Long select lists, and what SHOW STATUS and SHOW ENGINE tell.

use super::harness::{Harness, column_table};
use super::{affected, errno, read_in, texts, write_in};
use mysql_protocol::client::Response;
use protocol::Signal;
use protocol::program::{Access, OperationResult, ReadProgress};
use protocol::signal::InfoTable;
use std::sync::Arc;
use types::{ColumnIndex, DefaultValue, Epoch, IntegerWidth, NodeId, SqlType, TableDefinition, Value};

/// A status variable.
fn status(harness: &mut Harness, client: usize, name: &str) -> String {
    let shown = texts(harness.ask(client, &format!("SHOW GLOBAL STATUS LIKE '{name}'")));
    assert_eq!(shown.len(), 1, "{name}: {shown:?}");
    shown[0][1].clone()
}

#[test]
fn a_select_list_has_65_535_items_at_most() {
    let mut harness = Harness::new();
    let client = harness.connect();
    let list = |count: usize| format!("SELECT {}", vec!["1"; count].join(","));
    harness.query(client, &list(65_535));
    // The definitions alone fill the send buffer many times.
    for _ in 0..3 {
        harness.pump(client);
        harness.unblock(client);
    }
    let Response::ResultSet(result) = harness.response(client) else { panic!("a result") };
    assert_eq!((result.columns.len(), result.rows[0].len()), (65_535, 65_535));
    assert_eq!(errno(harness.ask(client, &list(65_536))), 1117);
    // Before anything of it is parsed: what stands behind is not looked at.
    assert_eq!(errno(harness.ask(client, &format!("{} FROM )(", list(1_000_000)))), 1117);
}

#[test]
fn pi_is_shown_with_six_decimals_and_has_all() {
    let mut harness = Harness::new();
    let client = harness.connect();
    let shown = texts(harness.ask(client, "SELECT PI(), PI() * 1000000, 2 * PI() > 6.2831853"));
    assert_eq!(shown, [["3.141593", "3141592.653589793", "1"]]);
}

#[test]
fn found_rows_counts_what_limit_leaves_out() {
    let mut harness = Harness::new();
    let client = harness.connect();
    let rows = "(SELECT 1 AS a UNION SELECT 2 UNION SELECT 3 UNION SELECT 4) AS x";
    for (modifier, limit, sent, found) in [
        ("SQL_CALC_FOUND_ROWS", "LIMIT 1", 1, "4"),
        ("SQL_CALC_FOUND_ROWS", "ORDER BY a DESC LIMIT 2 OFFSET 1", 2, "4"),
        ("SQL_CALC_FOUND_ROWS", "LIMIT 0", 0, "4"),
        ("SQL_CALC_FOUND_ROWS", "LIMIT 5 OFFSET 9", 0, "4"),
        ("SQL_CALC_FOUND_ROWS DISTINCT", "LIMIT 3", 3, "4"),
        ("SQL_CALC_FOUND_ROWS", "", 4, "4"),
        ("", "LIMIT 3", 3, "3"),
    ] {
        let shown = texts(harness.ask(client, &format!("SELECT {modifier} a FROM {rows} {limit}")));
        assert_eq!(shown.len(), sent, "{modifier} {limit}");
        assert_eq!(texts(harness.ask(client, "SELECT FOUND_ROWS()")), [[found]], "{modifier} {limit}");
    }
}

#[test]
fn statements_are_counted_by_kind() {
    let mut harness = Harness::new();
    let client = harness.connect();
    let shown = texts(harness.ask(client, "SHOW STATUS LIKE 'Com\\_%'"));
    assert!(shown.len() > 150, "{}", shown.len());
    let before: u64 = status(&mut harness, client, "Questions").parse().unwrap();
    for statement in
        ["SELECT 1", "BEGIN", "SAVEPOINT a", "COMMIT", "SET @a = 1", "DO 1", "USE test", "SHOW TABLES"]
    {
        harness.ask(client, statement);
    }
    harness.ask(client, "EXPLAIN SELECT 1");
    let kinds = [
        ("select", "1"),
        ("begin", "1"),
        ("savepoint", "1"),
        ("commit", "1"),
        ("set_option", "1"),
        ("do", "1"),
        ("change_db", "1"),
        ("show_tables", "1"),
        ("explain_other", "1"),
        ("xa_start", "0"),
    ];
    for (kind, count) in kinds {
        let name = format!("Com\\_{}", kind.replace('_', "\\_"));
        assert_eq!(status(&mut harness, client, &name), count, "{kind}");
    }
    let after: u64 = status(&mut harness, client, "Questions").parse().unwrap();
    assert_eq!(after - before, 9 + 10 + 1);
}

#[test]
fn show_engine_tells_of_the_cluster() {
    let mut harness = Harness::new();
    let client = harness.connect();
    assert_eq!(errno(harness.ask(client, "SHOW ENGINE MYISAM STATUS")), 1286);
    let number = Value::UInt;
    for (engine, parts) in [
        (
            "INNODB",
            [
                "1 transactions that hold",
                "---TRANSACTION 77, Started in 1",
                "LOCK_WAITS 3",
                "DataMemory: used 65536 of 131072 bytes",
            ],
        ),
        (
            "NDB",
            [
                "open=1, operations=5",
                "connected=0, running=0",
                "LOCK_WAITS=3",
                "resource=DataMemory, reserved=0, used=65536, max=131072",
            ],
        ),
    ] {
        harness.query(client, &format!("SHOW ENGINE {engine} STATUS"));
        for (to, signal) in harness.addressees().into_iter().zip(harness.signals()) {
            let Signal::InfoRequest { request, table } = signal else { panic!("{signal:?}") };
            let rows = match table {
                InfoTable::ClusterTransactions => {
                    vec![vec![
                        number(2),
                        number(0),
                        number(77),
                        number(1),
                        Value::text("s"),
                        Value::text("Started"),
                        number(5),
                    ]]
                }
                InfoTable::Resources => {
                    vec![vec![number(2), Value::text("DataMemory"), number(0), number(2), number(4)]]
                }
                InfoTable::Counters => {
                    vec![vec![
                        number(2),
                        Value::text("ldm"),
                        number(0),
                        number(1),
                        Value::text("LOCK_WAITS"),
                        number(3),
                    ]]
                }
                _ => Vec::new(),
            };
            // Two nodes are asked, and one has nothing to say.
            let rows = if to.node == NodeId(2) { rows } else { Vec::new() };
            harness.signal(to, Signal::InfoDone { request, rows });
        }
        let shown = texts(harness.response(client));
        assert_eq!(shown[0].len(), 3);
        let all = format!("{shown:?}");
        for part in parts {
            assert!(all.contains(part), "{part} in {all}");
        }
    }
}

#[test]
fn a_change_takes_its_first_rows_from_an_index_in_order() {
    let mut harness = Harness::new();
    let client = harness.connect();
    harness.query(client, "UPDATE test.t SET v = 1 WHERE v > 5 ORDER BY id DESC LIMIT 1");
    let read = read_in(harness.only_signal());
    assert!(matches!(read.access, Access::Scan { descending: true, .. }), "{:?}", read.access);
    // The first row is enough: no other has to be known.
    let more = ReadProgress::More { after: Some(Box::from(*b"key")), position: 0 };
    harness.read_part(&read, &[Vec::new()], more);
    let write = harness.signals().into_iter().find(|signal| matches!(signal, Signal::Write(_)));
    let write = write_in(write.expect("the row is changed"));
    harness.written(&write, vec![OperationResult::Updated], Some(Epoch(2)));
    assert_eq!(affected(harness.response(client)), 1);
}

/// Ids that a node has drawn ahead are lost with it: of small types it draws few. Hidden keys have 64 bits.
#[test]
fn few_ids_are_drawn_at_once_of_small_types() {
    let drawn = |change: &dyn Fn(&mut TableDefinition)| {
        let mut harness = Harness::new();
        harness.change_schema(|schema| {
            let mut table = column_table();
            change(&mut table);
            schema.put_table(Arc::new(table));
        });
        let client = harness.connect();
        harness.query(client, "INSERT INTO test.t (v) VALUES (1)");
        let signal = harness.only_signal();
        let Signal::SequenceRequest { count, .. } = signal else { panic!("{signal:?}") };
        count
    };
    for (width, count) in [(IntegerWidth::Tiny, 1), (IntegerWidth::Small, 32), (IntegerWidth::Normal, 1024)] {
        let of_width = drawn(&|table| {
            table.columns[0].sql_type = SqlType::Integer { width, unsigned: false };
            table.columns[0].default = DefaultValue::AutoIncrement;
            table.auto_increment = Some(ColumnIndex(0));
        });
        assert_eq!(of_width, count, "{width:?}");
    }
    let hidden = drawn(&|table| {
        table.columns[0].sql_type = SqlType::Integer { width: IntegerWidth::Big, unsigned: true };
        table.columns[0].default = DefaultValue::AutoIncrement;
        table.columns[0].flags.hidden = true;
    });
    assert_eq!(hidden, 1024);
}
