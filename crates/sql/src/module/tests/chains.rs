//! Chains and lists of keys: rows that are here and decided are given in the call that decoded the statement.

use super::harness::Harness;
use super::texts;
use catalogue::TableName;
use catalogue::temporary::TemporaryTable;
use fixtures::{index, integer};
use memory::{MemoryConfig, MemoryManager};
use protocol::Signal;
use query::{PublishedReader, TableAccessInfo};
use std::sync::Arc;
use storage::{Fragment, FragmentDefinition};
use types::{Epoch, IndexKind, Schema, TableDefinition, TableId, TransactionId, Value, ValueRef};

const WRITER: TransactionId = TransactionId(7);

/// `test.u (id INT PRIMARY KEY, n INT, v INT, UNIQUE KEY (n))` with its rows and entries.
struct Here {
    table: Stored,
    hidden: Stored,
}

pub(super) struct Stored {
    info: Arc<TableAccessInfo>,
    fragment: Fragment,
}

impl Stored {
    pub(super) fn new(harness: &Harness, id: TableId) -> Self {
        let info = Arc::clone(harness.map().table(id).expect("a table"));
        let shape = Arc::new(FragmentDefinition::new(&info.definition));
        let memory = MemoryManager::new(MemoryConfig::with_data_memory(64 << 20));
        Self { info, fragment: Fragment::temporary(shape, memory) }
    }

    /// Commits a row, or prepares it; its key is its first column.
    pub(super) fn put(&mut self, values: &[i64], is_committed: bool) {
        let values: Vec<ValueRef<'_>> = values.iter().map(|value| ValueRef::Int(*value)).collect();
        let (mut key, mut row) = (Vec::new(), Vec::new());
        self.info.primary_key.encode_values(&values[..1], &mut key);
        self.info.layout.encode(&values, &mut row);
        let handle = self.fragment.stage(&key, WRITER, Some(&row)).expect("memory");
        if is_committed {
            self.fragment.commit(handle, WRITER, Epoch(1));
        } else {
            self.fragment.prepare(handle, WRITER);
        }
    }

    pub(super) fn published(&self) -> Vec<PublishedReader> {
        let (table, reader) = (self.info.definition.id, self.fragment.reader());
        let published = |slot: &types::SlotId| PublishedReader { table, slot: *slot, reader: reader.clone() };
        self.info.slots().iter().map(published).collect()
    }
}

impl Here {
    fn new(harness: &mut Harness) -> Self {
        let columns = ["id", "n", "v"].map(|name| fixtures::column(name, integer()));
        let mut like = fixtures::table(TableId(199), columns.to_vec());
        like.indexes.push(index(1, IndexKind::Unique { table: TableId(198) }, &[1]));
        let name = TableName::new("test", "u");
        let schema = Schema::clone(&harness.map().schema);
        let made = TemporaryTable::like(
            &name,
            &TableDefinition { database: "test".to_owned(), ..like },
            &schema,
            TableId(200),
        );
        let TemporaryTable { table, hidden, .. } = made.expect("a table");
        let ids = (table.id, hidden[0].id);
        harness.change_schema(|schema| {
            hidden.into_iter().chain([table]).for_each(|table| schema.put_table(Arc::new(table)));
        });
        Self { table: Stored::new(harness, ids.0), hidden: Stored::new(harness, ids.1) }
    }

    fn put(&mut self, id: i64, n: i64, v: i64) {
        self.table.put(&[id, n, v], true);
        self.hidden.put(&[n, id], true);
    }

    fn publish(&self, harness: &mut Harness) {
        harness.publish(self.table.published().into_iter().chain(self.hidden.published()));
    }
}

#[test]
fn rows_are_found_by_unique_keys_at_once() {
    let mut harness = Harness::with_own_rows();
    let client = harness.connect();
    let mut here = Here::new(&mut harness);
    here.put(1, 7, 20);
    here.put(2, 8, 1);
    // An entry whose row has another key by now.
    here.hidden.put(&[9, 1], true);
    here.publish(&mut harness);
    for (text, expected) in [
        ("SELECT v, id FROM test.u WHERE n = 7", vec![vec!["20", "1"]]),
        ("SELECT v FROM test.u WHERE n = 7 AND v > 20", vec![]),
        ("SELECT v FROM test.u WHERE n = 6", vec![]),
        ("SELECT v FROM test.u WHERE n = 9", vec![]),
        ("SELECT v FROM test.u WHERE n = 3000000000", vec![]),
        ("SELECT v FROM test.u WHERE id = 2 AND v = 1", vec![vec!["1"]]),
        ("SELECT v FROM test.u WHERE id = 2 AND v = 2", vec![]),
        ("SELECT a.v, b.v FROM test.u a JOIN test.u b ON b.id = a.v WHERE a.n = 8", vec![vec!["1", "20"]]),
        ("SELECT b.v FROM test.u a JOIN test.u b ON b.n = a.v + 6 WHERE a.id = 2", vec![vec!["20"]]),
        (
            "SELECT a.v, b.v FROM test.u a LEFT JOIN test.u b ON b.n = a.v WHERE a.n = 7",
            vec![vec!["20", "Null"]],
        ),
    ] {
        let before = harness.answered_at_once();
        assert_eq!(texts(harness.ask(client, text)), expected, "{text}");
        assert_eq!(harness.answered_at_once() - before, 1, "{text}");
        assert!(harness.signals().is_empty(), "{text}");
    }
}

#[test]
fn undecided_rows_and_entries_are_left_to_the_executor() {
    let mut harness = Harness::with_own_rows();
    let client = harness.connect();
    let mut here = Here::new(&mut harness);
    here.put(1, 7, 20);
    here.hidden.put(&[8, 2], true);
    here.table.put(&[2, 8, 1], false);
    here.hidden.put(&[5, 3], false);
    here.publish(&mut harness);
    for (text, is_here) in [
        ("SELECT v FROM test.u WHERE n = 7", true),
        ("SELECT v FROM test.u WHERE n = 8", false),
        ("SELECT v FROM test.u WHERE n = 5", false),
        ("SELECT b.v FROM test.u a LEFT JOIN test.u b ON b.id = a.v - 18 WHERE a.n = 7", false),
    ] {
        let before = harness.answered_at_once();
        harness.query(client, text);
        assert_eq!(harness.answered_at_once() - before, u64::from(is_here), "{text}");
        harness.signals();
        harness.reset(client);
    }
}

/// `id IN (…)` of these.
fn list(ids: impl IntoIterator<Item = i64>) -> String {
    let ids: Vec<String> = ids.into_iter().map(|id| id.to_string()).collect();
    format!("SELECT id, v FROM test.u WHERE id IN ({})", ids.join(", "))
}

fn ids_of(rows: &[Vec<String>]) -> Vec<i64> {
    rows.iter().map(|row| row[0].parse().expect("a number")).collect()
}

#[test]
fn rows_of_a_list_come_at_once_in_the_order_of_the_key() {
    let mut harness = Harness::with_own_rows();
    let client = harness.connect();
    let mut here = Here::new(&mut harness);
    (1..=60).for_each(|id| here.put(id, id + 100, id * 10));
    here.publish(&mut harness);
    let cases = [
        (list([3, 1, 2]), vec![1, 2, 3]),
        (list([3, 1, 2]) + " ORDER BY id DESC", vec![3, 2, 1]),
        (list([2, 99, 2, -7, 3_000_000_000, 1]), vec![1, 2]),
        (list([99, 98]), vec![]),
        ("SELECT id FROM test.u WHERE id IN (5, NULL, 4)".to_owned(), vec![4, 5]),
        (list((1..=60).rev()), (1..=60).collect()),
        (list(1..=60) + " ORDER BY id DESC", (1..=60).rev().collect()),
        // Every third, and ones that are not there between them.
        (list((0..60).map(|number| number * 37 % 90)), {
            let mut ids: Vec<i64> = (0..60).map(|number| number * 37 % 90).collect();
            ids.retain(|id| (1..=60).contains(id));
            ids.sort_unstable();
            ids
        }),
    ];
    for (text, expected) in cases {
        let before = harness.answered_at_once();
        let rows = texts(harness.ask(client, &text));
        assert_eq!(ids_of(&rows), expected, "{text}");
        assert!(rows.iter().all(|row| row.len() == 1 || row[1] == format!("{}0", row[0])), "{rows:?}");
        assert_eq!(harness.answered_at_once() - before, 1, "{text}");
        assert!(harness.signals().is_empty(), "{text}");
    }
}

#[test]
fn lists_that_are_more_than_keys_are_left_to_the_executor() {
    let mut harness = Harness::with_own_rows();
    let client = harness.connect();
    let mut here = Here::new(&mut harness);
    (1..=60).for_each(|id| here.put(id, id + 100, id * 10));
    here.publish(&mut harness);
    let mut check = |text: &str, expected: &[i64]| {
        let before = harness.answered_at_once();
        let mut ids = ids_of(&texts(harness.ask(client, text)));
        if !text.contains("ORDER BY") {
            ids.sort_unstable();
        }
        assert_eq!(ids, expected, "{text}");
        assert_eq!(harness.answered_at_once(), before, "{text}");
    };
    check(&(list([1, 2, 3]) + " AND v > 15"), &[2, 3]);
    check(&(list([1, 3, 2]) + " ORDER BY n DESC"), &[3, 2, 1]);
    check(&(list([1, 3, 2]) + " ORDER BY id DESC LIMIT 2"), &[3, 2]);
    // More than a slice.
    check(&list(-30..=60), &(1..=60).collect::<Vec<i64>>());
    harness.ask(client, "SET sql_select_limit = 1");
    let before = harness.answered_at_once();
    assert_eq!(texts(harness.ask(client, &list([1, 2]))).len(), 1);
    assert_eq!(harness.answered_at_once(), before);
}

/// Whichever way a statement takes, its time is that of the session.
#[test]
fn keys_are_made_at_the_time_that_the_session_says() {
    let mut harness = Harness::with_own_rows();
    let client = harness.connect();
    let mut here = Here::new(&mut harness);
    (1..=60).for_each(|id| here.put(id, id + 100, id * 10));
    here.publish(&mut harness);
    harness.ask(client, "SET timestamp = 5");
    let (now, later) = ("UNIX_TIMESTAMP()", "UNIX_TIMESTAMP() + 1");
    let cases: [(String, &[i64]); 3] = [
        (format!("SELECT id FROM test.u WHERE id = {now}"), &[5]),
        (format!("SELECT id FROM test.u WHERE id IN ({now}, {later})"), &[5, 6]),
        (format!("SELECT a.id FROM test.u a JOIN test.u b ON b.id = a.id WHERE a.id = {now}"), &[5]),
    ];
    for (text, expected) in cases {
        assert_eq!(ids_of(&texts(harness.ask(client, &text))), expected, "{text}");
    }
}

#[test]
fn an_undecided_row_takes_back_what_was_written_of_a_list() {
    let mut harness = Harness::with_own_rows();
    let client = harness.connect();
    let mut here = Here::new(&mut harness);
    (1..=20).for_each(|id| here.put(id, id + 100, id * 10));
    here.table.put(&[20, 120, 1], false);
    here.publish(&mut harness);
    let before = harness.answered_at_once();
    harness.query(client, &list([19, 20, 1]));
    assert_eq!(harness.answered_at_once(), before);
    let Signal::Read(read) = harness.only_signal() else { panic!("its primary is asked") };
    harness.read_done(&read, &[vec![Value::Int(20), Value::Int(200)]]);
    let mut ids = ids_of(&texts(harness.response(client)));
    ids.sort_unstable();
    assert_eq!(ids, [1, 19, 20]);
}
