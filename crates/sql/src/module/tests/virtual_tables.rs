//! Virtual tables beside others: joins, subqueries and groups of them, as drivers and tools ask for them.

use super::harness::Harness;
use super::{affected, errno, read_in, texts, write_in};
use fixtures::{index, integer};
use mysql_protocol::client::Response;
use protocol::Signal;
use protocol::program::OperationResult;
use std::sync::Arc;
use types::{Epoch, IndexDefinition, IndexKind, NodeId, TableDefinition, TableId, Value};

/// `test.made (id INT, a INT, PRIMARY KEY (id), UNIQUE by_a_id (a, id))` beside `test.t`.
fn harness() -> (Harness, usize) {
    let mut harness = Harness::new();
    let columns = vec![fixtures::column("id", integer()), fixtures::column("a", integer())];
    let by_a = IndexDefinition {
        name: "by_a_id".to_owned(),
        ..index(1, IndexKind::Unique { table: TableId(202) }, &[1, 0])
    };
    let mut made = TableDefinition {
        database: "test".to_owned(),
        name: "made".to_owned(),
        ..fixtures::table(TableId(201), columns)
    };
    made.indexes.push(by_a);
    harness.change_schema(|schema| schema.put_table(Arc::new(made)));
    let client = harness.connect();
    (harness, client)
}

fn shown(response: Response) -> Vec<String> {
    texts(response).into_iter().map(|row| row.join(",")).collect()
}

#[test]
fn drivers_join_the_tables_of_constraints() {
    let (mut harness, client) = harness();
    let mut ask = |text: &str| shown(harness.ask(client, text));
    // Laravel.
    let foreign_keys = "select kc.constraint_name as `name`, \
        group_concat(kc.column_name order by kc.ordinal_position) as `columns`, \
        kc.referenced_table_schema as `foreign_schema`, kc.referenced_table_name as `foreign_table`, \
        group_concat(kc.referenced_column_name order by kc.ordinal_position) as `foreign_columns`, \
        rc.update_rule as `on_update`, rc.delete_rule as `on_delete` \
        from information_schema.key_column_usage kc join information_schema.referential_constraints rc \
        on kc.constraint_schema = rc.constraint_schema and kc.constraint_name = rc.constraint_name \
        where kc.table_schema = schema() and kc.table_name = 'made' and kc.referenced_table_name is not null \
        group by kc.constraint_name, kc.referenced_table_schema, kc.referenced_table_name, rc.update_rule, \
        rc.delete_rule";
    assert_eq!(ask(foreign_keys), [] as [String; 0]);
    // Connector/J.
    let keys = "SELECT A.TABLE_SCHEMA, A.COLUMN_NAME, A.CONSTRAINT_NAME, B.CONSTRAINT_TYPE, \
        CASE WHEN R.UPDATE_RULE='CASCADE' THEN 0 WHEN R.UPDATE_RULE='SET NULL' THEN 2 ELSE 1 END AS UPDATE_RULE \
        FROM INFORMATION_SCHEMA.KEY_COLUMN_USAGE A \
        JOIN INFORMATION_SCHEMA.TABLE_CONSTRAINTS B USING (TABLE_SCHEMA, TABLE_NAME, CONSTRAINT_NAME) \
        LEFT JOIN INFORMATION_SCHEMA.REFERENTIAL_CONSTRAINTS R \
        ON R.CONSTRAINT_NAME = B.CONSTRAINT_NAME AND R.TABLE_NAME = B.TABLE_NAME \
        AND R.CONSTRAINT_SCHEMA = B.TABLE_SCHEMA \
        WHERE A.TABLE_SCHEMA = 'test' AND A.TABLE_NAME = 'made' \
        ORDER BY A.TABLE_SCHEMA, A.TABLE_NAME, A.CONSTRAINT_NAME, A.ORDINAL_POSITION";
    assert_eq!(
        ask(keys),
        ["test,a,by_a_id,UNIQUE,1", "test,id,by_a_id,UNIQUE,1", "test,id,PRIMARY,PRIMARY KEY,1"]
    );
    // Prisma and Django.
    let checks = "SELECT tc.table_name, tc.constraint_type, cc.check_clause \
        FROM information_schema.table_constraints tc LEFT JOIN information_schema.check_constraints cc \
        ON cc.constraint_schema = tc.constraint_schema AND cc.constraint_name = tc.constraint_name \
        WHERE tc.constraint_schema = 'test' AND tc.table_name = 'made' AND tc.constraint_type <> 'CHECK' \
        ORDER BY tc.constraint_name";
    assert_eq!(ask(checks), ["made,UNIQUE,Null", "made,PRIMARY KEY,Null"]);
    // SQLAlchemy.
    let referred = "SELECT table_schema, table_name, column_name FROM information_schema.columns \
        WHERE (table_schema = 'test' AND table_name = 'made' AND LOWER(column_name) IN ('id', 'x'))";
    assert_eq!(ask(referred), ["test,made,id"]);
    // Names of the database in any case.
    let qualified = "SELECT INFORMATION_SCHEMA.TABLES.TABLE_NAME FROM INFORMATION_SCHEMA.TABLES \
        WHERE Information_Schema.tables.TABLE_SCHEMA = 'test' ORDER BY 1";
    assert_eq!(ask(qualified), ["made", "t"]);
}

#[test]
fn virtual_tables_stand_wherever_tables_do() {
    let (mut harness, client) = harness();
    let mut ask = |text: &str| shown(harness.ask(client, text));
    let of_test = "FROM information_schema.tables WHERE table_schema = 'test'";
    assert_eq!(ask(&format!("SELECT COUNT(*), MAX(x) FROM (SELECT table_name x {of_test}) d")), ["2,t"]);
    assert_eq!(
        ask(&format!("SELECT table_name {of_test} UNION SELECT 'z' ORDER BY 1 DESC LIMIT 2")),
        ["z", "t"]
    );
    assert_eq!(
        ask(&format!(
            "WITH n AS (SELECT table_name x {of_test}) SELECT a.x, b.x FROM n a, n b WHERE a.x < b.x"
        )),
        ["made,t"]
    );
    assert_eq!(
        ask("SELECT t.table_name, (SELECT GROUP_CONCAT(c.column_name ORDER BY c.ordinal_position) \
             FROM information_schema.columns c WHERE c.table_schema = t.table_schema AND c.table_name = t.table_name) \
             FROM information_schema.tables t WHERE t.table_schema = 'test' ORDER BY 1"),
        ["made,id,a", "t,id,v"]
    );
    assert_eq!(
        ask("SELECT table_name FROM information_schema.tables t WHERE t.table_schema = 'test' AND EXISTS \
             (SELECT 1 FROM information_schema.statistics s WHERE s.table_name = t.table_name AND s.index_name LIKE 'by%')"),
        ["made"]
    );
    assert_eq!(
        ask("SELECT t.table_name, COUNT(s.index_name) FROM information_schema.tables t LEFT JOIN \
             information_schema.statistics s ON s.table_schema = t.table_schema AND s.table_name = t.table_name \
             WHERE t.table_schema = 'test' GROUP BY t.table_name HAVING COUNT(*) > 0 ORDER BY 2 DESC"),
        ["made,3", "t,1"]
    );
    assert_eq!(
        ask("SELECT a.variable_value = b.variable_value FROM performance_schema.global_variables a \
             JOIN performance_schema.session_variables b USING (variable_name) WHERE variable_name = 'autocommit'"),
        ["1"]
    );
    assert_eq!(
        ask("SELECT s.schema_name FROM information_schema.schemata s WHERE s.schema_name IN \
                    (SELECT table_schema FROM information_schema.tables WHERE table_name = 'made')"),
        ["test"]
    );
}

#[test]
fn virtual_tables_are_joined_with_stored_ones() {
    let (mut harness, client) = harness();
    let text = "SELECT t.id, c.column_name FROM test.t JOIN information_schema.columns c \
                ON c.ordinal_position = t.id WHERE c.table_schema = 'test' AND c.table_name = 't' ORDER BY 1";
    harness.query(client, text);
    let read = read_in(harness.only_signal());
    harness.read_done(&read, &[vec![Value::Int(2)], vec![Value::Int(1)], vec![Value::Int(3)]]);
    assert_eq!(shown(harness.response(client)), ["1,id", "2,v"]);
    // Their rows can be stored.
    harness.query(
        client,
        "INSERT INTO test.t SELECT ordinal_position, 7 FROM information_schema.columns \
         WHERE table_schema = 'test' AND table_name = 'made' AND column_name = 'a'",
    );
    let write = write_in(harness.only_signal());
    assert_eq!(write.operations.len(), 1);
    harness.written(&write, vec![OperationResult::Inserted], Some(Epoch(9)));
    assert_eq!(affected(harness.response(client)), 1);
    // They cannot be changed.
    let change = "UPDATE test.t JOIN information_schema.columns c ON c.ordinal_position = t.id SET c.column_name = 'x'";
    assert!(errno(harness.ask(client, change)) > 0);
}

/// Sessions of two nodes, as MySQL Workbench asks for the statement of one.
#[test]
fn threads_and_their_statements() {
    let (mut harness, client) = harness();
    let session = |id: u64, info: Value| {
        let texts = ["app", "host:1", "test", "Query"].map(Value::text);
        let mut row = vec![Value::UInt(id)];
        row.extend(texts);
        row.extend([Value::Int(3), Value::text("executing"), info, Value::UInt(2)]);
        row
    };
    let mut ask = |text: &str| {
        harness.query(client, text);
        for (to, signal) in harness.addressees().into_iter().zip(harness.signals()) {
            let Signal::InfoRequest { request, .. } = signal else { panic!("a question: {signal:?}") };
            let here = to.node == NodeId(2);
            let rows = vec![session(11, Value::text("SELECT 1")), session(12, Value::Null)];
            harness.signal(to, Signal::InfoDone { request, rows: if here { rows } else { Vec::new() } });
        }
        shown(harness.response(client))
    };
    let statement = "SELECT st.thread_id, st.sql_text, st.timer_wait, st.current_schema, st.rows_sent \
                     FROM performance_schema.events_statements_current st \
                     JOIN performance_schema.threads thr ON thr.thread_id = st.thread_id \
                     WHERE thr.processlist_id = 11 GROUP BY 1, 2, 3, 4, 5";
    assert_eq!(ask(statement), ["11,SELECT 1,3000000000000,test,0"]);
    let threads = "SELECT DISTINCT thread_id, type, processlist_user, processlist_time, instrumented, total_memory \
                   FROM performance_schema.threads ORDER BY 1";
    assert_eq!(ask(threads), ["11,FOREGROUND,app,3,NO,0", "12,FOREGROUND,app,3,NO,0"]);
}
