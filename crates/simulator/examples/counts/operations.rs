//! The operations that are counted, each by itself, many times.
//!
//! The table is that of sysbench. Its session is with the first worker of node 1. A row is *own* when its primary is on
//! that worker. It is *near* when its primary is on the second worker of the node, and *other* when it is on the first
//! worker of node 2.
//!
//! Invariants: an operation is answered without time passing, and everything that follows from it is done before the
//! next one begins. Each answer is checked. Time passes between operations of different names, and in the last ones,
//! which need it: a DDL statement, a second without work, a view change.

use crate::cluster::{Cluster, Session, Traffic};
use crate::heartbeats::Heartbeats;
use crate::meter::{allocated, counting_begins, counting_ends};
use mysql_protocol::client::{ClientConnection, Response};
use mysql_protocol::command::Cursor;
use mysql_protocol::value::ParameterValue;
use protocol::{Address, ModuleKind};
use stdx::Duration;
use types::{NodeId, ValueRef};

/// Rows of the table: the first of them belong to anybody.
const ROWS: i64 = 2_000;
/// Rows of an INSERT that fills the table.
const ROWS_AT_ONCE: i64 = 100;
/// Ids above the rows: where new rows get theirs from.
const IDS: std::ops::Range<i64> = 10_000..20_000;
/// The session's node, and its peer.
const HERE: NodeId = NodeId(1);
const THERE: NodeId = NodeId(2);
/// The owners of rows that are own, near and other.
const OWN: Address = Address::new(HERE, ModuleKind::Ldm, 0);
const NEAR: Address = Address::new(HERE, ModuleKind::Ldm, 1);
const OTHER: Address = Address::new(THERE, ModuleKind::Ldm, 0);
/// The time between operations of different names: for epochs, heartbeats, memory that is used again.
const REST: Duration = Duration::from_millis(100);
/// The time in which nobody does anything.
const IDLE: Duration = Duration::from_secs(1);

/// How often a short operation runs before it is counted, and then while it is.
const SHORT: Times = Times { before: 50, counted: 100 };
/// The same for one that visits the whole table.
const LONG: Times = Times { before: 3, counted: 10 };

/// How often an operation runs.
#[derive(Clone, Copy)]
struct Times {
    before: usize,
    counted: usize,
}

/// The sums over all counted operations of a name.
pub(crate) struct Counted {
    pub(crate) name: &'static str,
    pub(crate) operations: usize,
    pub(crate) traffic: Traffic,
    pub(crate) allocations: u64,
    pub(crate) foreign_frees: u64,
}

/// The answer that a statement has to get.
#[derive(Clone, Copy)]
enum Expected {
    Rows(usize),
    Affected(u64),
}

/// Sends the statement of a run, by the run's number.
type Send<'a> = Box<dyn Fn(&mut ClientConnection, usize) + 'a>;

/// A statement of an operation: how its `number`-th run is sent, and what comes.
struct Step<'a> {
    send: Send<'a>,
    expected: Expected,
}

/// The cluster, and the one client.
struct Bench {
    cluster: Cluster,
    session: Session,
    counted: Vec<Counted>,
}

/// Runs all operations.
pub(crate) fn run() -> Vec<Counted> {
    let mut cluster = Cluster::start();
    let session = cluster.connect(HERE);
    let mut bench = Bench { cluster, session, counted: Vec::new() };
    bench.fill();
    bench.reads();
    bench.scans();
    bench.writes();
    bench.slow();
    bench.heartbeats();
    bench.counted
}

impl Bench {
    fn fill(&mut self) {
        self.statement("CREATE DATABASE counts");
        self.statement("USE counts");
        self.statement(
            "CREATE TABLE t (id INT NOT NULL PRIMARY KEY, k INT NOT NULL, c CHAR(120) NOT NULL, pad CHAR(60) NOT NULL, KEY (k))",
        );
        for first in (1..=ROWS).step_by(usize::try_from(ROWS_AT_ONCE).unwrap_or(1)) {
            let rows: Vec<String> = (first..first + ROWS_AT_ONCE).map(row).collect();
            self.statement(&format!("INSERT INTO t VALUES {}", rows.join(",")));
        }
    }

    fn statement(&mut self, text: &str) -> Response {
        self.cluster.statement(&mut self.session, text)
    }

    fn prepare(&mut self, text: &str) -> u32 {
        self.session.client.prepare(text.as_bytes());
        let answer = self.cluster.await_response(&mut self.session);
        let Response::Prepared(prepared) = answer else { panic!("{text}: {answer:?}") };
        prepared.statement_id
    }

    fn reads(&mut self) {
        self.count(
            "point_select_text",
            SHORT,
            &[Step {
                send: Box::new(|client, number| {
                    client.query(format!("SELECT c FROM t WHERE id = {}", id(number)).as_bytes());
                }),
                expected: Expected::Rows(1),
            }],
        );
        let point = self.prepare("SELECT c FROM t WHERE id = ?");
        self.count("point_select", SHORT, &[execute(point, Expected::Rows(1), |number| vec![id(number)])]);
        let marks = vec!["?"; 100].join(",");
        let many = self.prepare(&format!("SELECT id, c FROM t WHERE id IN ({marks})"));
        let ids = |number| (0..100).map(|place| id(number * 7 + place * 13)).collect();
        self.count("in_100", SHORT, &[execute(many, Expected::Rows(100), ids)]);
        let range = self.prepare("SELECT c FROM t WHERE id BETWEEN ? AND ?");
        let bounds = |number| vec![1 + id(number) / 2, 100 + id(number) / 2];
        self.count("range_100", SHORT, &[execute(range, Expected::Rows(100), bounds)]);
        let locked = self.prepare("SELECT c FROM t WHERE id = ? FOR UPDATE");
        for (name, owner) in
            [("locked_read_own", OWN), ("locked_read_near", NEAR), ("locked_read_other", OTHER)]
        {
            let ids = self.ids_of(owner, 1..ROWS);
            let each = move |number: usize| vec![ids[number % ids.len()]];
            self.count(name, SHORT, &[execute(locked, Expected::Rows(1), each)]);
        }
    }

    /// Each visits all rows.
    fn scans(&mut self) {
        let scans = [
            ("scan_count", "SELECT COUNT(*) FROM t WHERE k >= 0", 1),
            ("scan_sum", "SELECT SUM(k), MIN(k), MAX(k) FROM t", 1),
            ("scan_filter", "SELECT id FROM t WHERE k < 1000 AND c LIKE '0000000100%'", 1),
            ("scan_groups", "SELECT k % 10, COUNT(*), SUM(k) FROM t GROUP BY k % 10", 10),
            ("scan_values", "SELECT k, COUNT(*) AS n FROM t GROUP BY k ORDER BY n DESC, k LIMIT 5", 5),
            ("scan_distinct", "SELECT COUNT(DISTINCT k) FROM t", 1),
        ];
        for (name, text, rows) in scans {
            let statement = self.prepare(text);
            self.count(name, LONG, &[execute(statement, Expected::Rows(rows), |_| Vec::new())]);
        }
    }

    fn writes(&mut self) {
        let insert = "INSERT INTO t (id, k, c, pad) VALUES (?, 5, 'a new row', 'with a pad')";
        let insert = self.prepare(insert);
        let update = self.prepare("UPDATE t SET c = 'changed' WHERE id = ?");
        let delete = self.prepare("DELETE FROM t WHERE id = ?");
        for (owner, names) in [
            (OWN, ["insert_own", "update_own", "delete_own"]),
            (NEAR, ["insert_near", "update_near", "delete_near"]),
            (OTHER, ["insert_other", "update_other", "delete_other"]),
        ] {
            let fresh = self.ids_of(owner, IDS);
            for (name, statement) in names.into_iter().zip([insert, update, delete]) {
                let each = |number: usize| vec![fresh[number]];
                self.count(name, SHORT, &[execute(statement, Expected::Affected(1), each)]);
            }
        }
        self.transaction(delete);
    }

    /// That of sysbench's oltp_write_only, with rows of both nodes.
    fn transaction(&mut self, delete: u32) {
        let index = self.prepare("UPDATE t SET k = k + 1 WHERE id = ?");
        let other = self.prepare("UPDATE t SET c = 'by a transaction' WHERE id = ?");
        let insert = self.prepare("INSERT INTO t (id, k, c, pad) VALUES (?, 7, 'new again', 'with a pad')");
        let text = |text: &'static str| Step {
            send: Box::new(|client, _| client.query(text.as_bytes())),
            expected: Expected::Affected(0),
        };
        let one = Expected::Affected(1);
        let transaction = [
            text("BEGIN"),
            execute(index, one, |number| vec![id(number)]),
            execute(other, one, |number| vec![id(number + 400)]),
            execute(delete, one, |number| vec![id(number + 800)]),
            execute(insert, one, |number| vec![id(number + 800)]),
            text("COMMIT"),
        ];
        self.count("write_only", SHORT, &transaction);
    }

    /// Operations that take time, so that heartbeats and epochs are among them. The last one loses a node.
    fn slow(&mut self) {
        self.cluster.pass_time(REST);
        self.count_run("create_table", 1, |bench| {
            bench.statement("CREATE TABLE u (id INT NOT NULL PRIMARY KEY, k INT NOT NULL, KEY (k))");
            bench.cluster.release_held();
        });
        self.cluster.pass_time(IDLE);
        self.count_run("idle_second", 1, |bench| bench.cluster.pass_time(IDLE));
        // It ends with a write that the lost node would have decided.
        let id = self.ids_of(OTHER, 1..ROWS)[0];
        self.count_run("view_change", 1, |bench| {
            bench.cluster.lose(THERE);
            bench.statement(&format!("UPDATE t SET k = k + 1 WHERE id = {id}"));
            bench.cluster.release_held();
        });
    }

    /// Those of another, larger cluster.
    fn heartbeats(&mut self) {
        let mut heartbeats = Heartbeats::start();
        self.count_run("heartbeat_144", Heartbeats::COUNT, |_| heartbeats.interval());
    }

    // ---- counting ---------------------------------------------------------------------------------------------------

    fn count(&mut self, name: &'static str, times: Times, steps: &[Step<'_>]) {
        self.cluster.pass_time(REST);
        for number in 0..times.before {
            self.run_steps(name, number, steps);
        }
        self.count_run(name, times.counted, |bench| {
            for number in times.before..times.before + times.counted {
                bench.run_steps(name, number, steps);
            }
            bench.cluster.release_held();
        });
    }

    /// Counts what happens in `run`, which does so many operations.
    fn count_run(&mut self, name: &'static str, operations: usize, run: impl FnOnce(&mut Self)) {
        // Signals that others left behind are none of it.
        self.cluster.release_held();
        let before = allocated();
        self.cluster.traffic = Traffic::default();
        counting_begins();
        run(self);
        counting_ends();
        let after = allocated();
        self.counted.push(Counted {
            name,
            operations,
            traffic: self.cluster.traffic,
            allocations: after.allocations - before.allocations,
            foreign_frees: after.foreign_frees - before.foreign_frees,
        });
    }

    fn run_steps(&mut self, name: &str, number: usize, steps: &[Step<'_>]) {
        for step in steps {
            (step.send)(&mut self.session.client, number);
            let answer = self.cluster.exchange(&mut self.session);
            let Some(answer) = answer else { panic!("{name}: run {number} is not answered at once") };
            let is_right = match (&answer, step.expected) {
                (Response::ResultSet(set), Expected::Rows(count)) => set.rows.len() == count,
                (Response::Ok(done), Expected::Affected(count)) => done.affected_rows == count,
                _ => false,
            };
            assert!(is_right, "{name}: run {number}: {answer:?}");
        }
    }

    /// The ids whose rows have this owner.
    fn ids_of(&self, owner: Address, ids: std::ops::Range<i64>) -> Vec<i64> {
        let map = self.cluster.map(HERE);
        let table = map.schema.table("counts", "t").and_then(|table| map.table(table.id));
        let Some(table) = table else { panic!("there is no table") };
        let is_there = |id: &i64| {
            let mut key = Vec::new();
            table.primary_key.encode_values(&[ValueRef::Int(*id)], &mut key);
            map.primary(table.slot_of_key(&key)) == Some(owner)
        };
        ids.filter(is_there).collect()
    }
}

/// The text of a row.
fn row(id: i64) -> String {
    format!("({id}, {id}, '{id:010}-{}', '{id:010}-pad')", "0123456789".repeat(10))
}

/// The id that the `number`-th run of an operation asks for.
fn id(number: usize) -> i64 {
    1 + i64::try_from(number).unwrap_or(0) * 17 % ROWS
}

/// A run of a prepared statement with integers.
fn execute<'a>(statement: u32, expected: Expected, parameters: impl Fn(usize) -> Vec<i64> + 'a) -> Step<'a> {
    let send = move |client: &mut ClientConnection, number| {
        let values: Vec<_> = parameters(number).into_iter().map(ParameterValue::Int).collect();
        client.execute(statement, &values, Cursor::None);
    };
    Step { send: Box::new(send), expected }
}
