//! SHOW ENGINE … STATUS: the cluster as an operator wants to see it at a glance, in the form that tools for InnoDB or
//! NDB read.
//!
//! All nodes are asked for what `ndbinfo` shows of nodes, transactions, memory, sessions and counters; this file only
//! puts the answers into words. A node that does not answer is omitted with a warning, as there.

use super::reader::VirtualReader;
use super::virtual_tables::{Respondents, text};
use crate::statement::Cx;
use executor::select::RowSource;
use executor::{Failure, Pull, Row};
use planner::plan::EngineForm;
use protocol::signal::InfoTable;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use types::{DateTime, Value};

/// The questions, in this order.
const QUESTIONS: [(InfoTable, Respondents); 5] = [
    (InfoTable::Nodes, Respondents::OwnNode),
    (InfoTable::ClusterTransactions, Respondents::AllNodes),
    (InfoTable::Resources, Respondents::AllNodes),
    (InfoTable::Processes, Respondents::AllNodes),
    (InfoTable::Counters, Respondents::AllNodes),
];
/// Transactions that are shown one by one.
const TRANSACTIONS_MAX: usize = 1_000;
/// The size of a page in `InfoTable::Resources`.
const PAGE_SIZE: u64 = memory::PAGE_BYTES as u64;

/// Asks, and makes the rows when all answers are there.
pub(crate) struct EngineReader {
    form: EngineForm,
    readers: Vec<VirtualReader>,
    answers: Vec<Vec<Row>>,
    is_done: bool,
}

impl EngineReader {
    pub(crate) fn new(form: EngineForm, cx: &mut Cx<'_, '_>) -> Result<Self, Failure> {
        let mut readers = Vec::with_capacity(QUESTIONS.len());
        for (table, of) in QUESTIONS {
            readers.push(VirtualReader::asked_of(table, of, cx)?);
        }
        let answers = vec![Vec::new(); readers.len()];
        Ok(Self { form, readers, answers, is_done: false })
    }
}

impl RowSource for EngineReader {
    /// The rows, all at once.
    fn next(&mut self, cx: &mut executor::Cx<'_>) -> Result<Pull, Failure> {
        if self.is_done {
            return Ok(Pull::End);
        }
        for (reader, answer) in self.readers.iter_mut().zip(&mut self.answers) {
            loop {
                match reader.next(cx)? {
                    Pull::Batch(mut rows) => answer.append(&mut rows),
                    Pull::End => break,
                    pull @ (Pull::Wait | Pull::Spent) => return Ok(pull),
                }
            }
        }
        self.is_done = true;
        let facts = Facts::of(&self.answers);
        Ok(Pull::Batch(match self.form {
            EngineForm::InnoDb => vec![vec![text("InnoDB"), text(""), text(&facts.as_text(cx))]],
            EngineForm::Ndb => facts.as_rows(cx),
        }))
    }
}

fn word(row: &[Value], column: usize) -> String {
    match row.get(column) {
        Some(Value::Bytes(text)) => String::from_utf8_lossy(text).into_owned(),
        Some(Value::UInt(number)) => number.to_string(),
        Some(Value::Int(number)) => number.to_string(),
        _ => String::new(),
    }
}

fn number(row: &[Value], column: usize) -> u64 {
    match row.get(column) {
        Some(Value::UInt(number)) => *number,
        Some(Value::Int(number)) => u64::try_from(*number).unwrap_or(0),
        _ => 0,
    }
}

/// A transaction over all partitions in which it has changed or locked something.
#[derive(Default)]
struct Transaction {
    partitions: u64,
    operations: u64,
    session: String,
    states: BTreeMap<String, u64>,
}

impl Transaction {
    fn states(&self) -> String {
        let state = |(state, count): (&String, &u64)| format!("{state} in {count}");
        self.states.iter().map(state).collect::<Vec<_>>().join(", ")
    }
}

/// The nodes' answers.
struct Facts<'a> {
    nodes: &'a [Row],
    transactions: BTreeMap<u64, Transaction>,
    /// Node, region, pages: reserved, used, at most.
    resources: &'a [Row],
    sessions: &'a [Row],
    /// By name, over all blocks of all nodes.
    counters: BTreeMap<String, u64>,
}

impl<'a> Facts<'a> {
    fn of(answers: &'a [Vec<Row>]) -> Self {
        let answer = |place: usize| answers.get(place).map_or(&[][..], Vec::as_slice);
        let mut transactions: BTreeMap<u64, Transaction> = BTreeMap::new();
        // Node, block, transaction, partition, session, state, operations.
        for row in answer(1) {
            let transaction = transactions.entry(number(row, 2)).or_default();
            transaction.partitions += 1;
            transaction.operations += number(row, 6);
            transaction.session = word(row, 4);
            *transaction.states.entry(word(row, 5)).or_default() += 1;
        }
        let mut counters: BTreeMap<String, u64> = BTreeMap::new();
        // Node, block, instance, id, name, value.
        for row in answer(4) {
            *counters.entry(word(row, 4)).or_default() += number(row, 5);
        }
        Self { nodes: answer(0), transactions, resources: answer(2), sessions: answer(3), counters }
    }

    fn data_nodes(&self) -> (usize, usize) {
        let is_data = |row: &&Row| word(row, 2) == "data";
        let data = self.nodes.iter().filter(is_data);
        (data.clone().count(), data.filter(|row| word(row, 4) == "STARTED").count())
    }

    fn running(&self) -> usize {
        self.sessions.iter().filter(|row| word(row, 4) != "Sleep").count()
    }

    /// The text of SHOW ENGINE INNODB STATUS.
    fn as_text(&self, cx: &executor::Cx<'_>) -> String {
        let mut text = String::new();
        let mut section = |title: &str, lines: Vec<String>| {
            let rule = "-".repeat(title.len());
            // Writing into a String can't fail.
            let _ = writeln!(text, "{rule}\n{title}\n{rule}");
            for line in lines {
                let _ = writeln!(text, "{line}");
            }
        };
        let (data, ready) = self.data_nodes();
        let nodes = self
            .nodes
            .iter()
            .map(|row| format!("Node {}: {} {} {}", word(row, 1), word(row, 2), word(row, 3), word(row, 4)));
        let heading =
            vec![format!("{data} data nodes, {ready} started, view {}", cx.env.site.map.view.number.0)];
        section("CLUSTER", heading.into_iter().chain(nodes).collect());
        let transactions = self.transactions.iter().take(TRANSACTIONS_MAX).map(|(id, transaction)| {
            let Transaction { partitions, operations, session, .. } = transaction;
            format!("---TRANSACTION {id}, {}\n{operations} row lock(s) and change(s) in {partitions} partition(s), session {session}", transaction.states())
        });
        let heading = vec![format!("{} transactions that hold locks or changes", self.transactions.len())];
        section("TRANSACTIONS", heading.into_iter().chain(transactions).collect());
        let is_about_locks =
            |name: &&String| ["LOCK", "WAIT", "DEADLOCK"].iter().any(|part| name.contains(part));
        let counted = |wanted: &dyn Fn(&&String) -> bool| -> Vec<String> {
            let wanted = self.counters.iter().filter(|(name, _)| wanted(name));
            wanted.map(|(name, count)| format!("{name} {count}")).collect()
        };
        section("LOCK WAITS", counted(&is_about_locks));
        let memory = self.resources.iter().map(|row| {
            let bytes = |column: usize| number(row, column).saturating_mul(PAGE_SIZE);
            format!("Node {} {}: used {} of {} bytes", word(row, 0), word(row, 1), bytes(3), bytes(4))
        });
        section("MEMORY", memory.collect());
        section(
            "SESSIONS",
            vec![format!("{} sessions, {} running a statement", self.sessions.len(), self.running())],
        );
        section("OPERATIONS", counted(&|name: &&String| !is_about_locks(name)));
        let moment = i64::try_from(cx.env.now.wall.0).ok().and_then(DateTime::from_unix_microseconds);
        let moment = moment.map_or_else(String::new, |moment| moment.to_string());
        let rule = "=".repeat(37);
        format!(
            "\n{rule}\n{moment} LATSDB MONITOR OUTPUT\n{rule}\n{text}{}\nEND OF LATSDB MONITOR OUTPUT\n{}\n",
            "-".repeat(28),
            "=".repeat(28)
        )
    }

    /// The rows of SHOW ENGINE NDB STATUS.
    fn as_rows(&self, cx: &executor::Cx<'_>) -> Vec<Row> {
        let row = |name: &str, status: String| vec![text("ndbcluster"), text(name), text(&status)];
        let (data, ready) = self.data_nodes();
        let connection = format!(
            "cluster_node_id={}, number_of_data_nodes={data}, number_of_ready_data_nodes={ready}, view={}",
            cx.env.site.node(),
            cx.env.site.map.view.number.0
        );
        let operations: u64 = self.transactions.values().map(|transaction| transaction.operations).sum();
        let mut rows = vec![
            row("connection", connection),
            row("transactions", format!("open={}, operations={operations}", self.transactions.len())),
            row("sessions", format!("connected={}, running={}", self.sessions.len(), self.running())),
        ];
        for resource in self.resources {
            let bytes = |column: usize| number(resource, column).saturating_mul(PAGE_SIZE);
            let status = format!(
                "node={}, resource={}, reserved={}, used={}, max={}",
                word(resource, 0),
                word(resource, 1),
                bytes(2),
                bytes(3),
                bytes(4)
            );
            rows.push(row("memory", status));
        }
        rows.extend(self.counters.iter().map(|(name, count)| row("counter", format!("{name}={count}"))));
        rows
    }
}
