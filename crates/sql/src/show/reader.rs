//! Rows of virtual tables and of SHOW as the executor reads them: the one part of `show` that talks to a session and to
//! nodes.
//!
//! Nodes that are asked answer when they can. A node that is lost, or has not answered after [`ANSWER_TIMEOUT`], is
//! omitted with a warning: these tables are read most when something is wrong.
//!
//! Invariants: rows come in order of the nodes that were asked, cut or filled up to the table's columns (a node of
//! another version may have others). They are charged to QueryMemory while the statement runs. Statements of others,
//! and keys of rows, are shown to who has PROCESS only.

use super::engine_status::EngineReader;
use super::virtual_tables::{Respondents, Shape};
use super::{Diagnostic, Level, ShowContext, Status, VirtualRows, columns_of, rows, shape_of, statement};
use crate::row_counts::LocalCounts;
use crate::statement::Cx;
use executor::Client;
use executor::inbox::{Reply, RequestKind};
use executor::select::{Operator, RowSource};
use executor::temporary::TemporaryTables;
use executor::{Failure, Pull, Row, row_size};
use planner::plan::{Show, ShowPlan, VirtualRead};
use protocol::signal::{INFO_ROWS_MAX, InfoTable, RequestId};
use protocol::{Address, Signal};
use query::NodeMap;
use std::collections::BTreeMap;
use std::sync::Arc;
use stdx::{Duration, Instant};
use types::{NodeId, Privileges, TableDefinition, Value};

/// How long to wait for nodes.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// Rows of one batch.
const BATCH_ROWS: usize = 512;
/// Tables whose last column is the key of a user's row.
const TABLES_WITH_KEYS: [InfoTable; 2] = [InfoTable::ClusterLocks, InfoTable::ClusterOperations];
/// The user's name in a row of `InfoTable::Processes`.
const USER_OF_SESSION: usize = 1;
/// ER_GET_TEMPORARY_ERRMSG.
const TEMPORARY_ERROR: u16 = 1297;

/// The answer of a node.
enum Answer {
    Awaited(NodeId, RequestId),
    Here(Vec<Row>),
}

impl Answer {
    fn rows(self) -> Vec<Row> {
        match self {
            Self::Here(rows) => rows,
            Self::Awaited(..) => Vec::new(),
        }
    }
}

/// Rows about transactions of sessions, with the session's number in front; `sessions` has transaction and session in
/// each row.
fn of_sessions(rows: Vec<Row>, transaction_at: usize, sessions: &[Row]) -> Vec<Row> {
    let pair = |row: &Row| match row.as_slice() {
        [Value::UInt(transaction), session, ..] => Some((*transaction, session.clone())),
        _ => None,
    };
    let sessions: BTreeMap<u64, Value> = sessions.iter().filter_map(pair).collect();
    let with_session = |mut row: Row| {
        let Some(Value::UInt(transaction)) = row.get(transaction_at) else { return None };
        row.insert(0, sessions.get(transaction)?.clone());
        Some(row)
    };
    rows.into_iter().filter_map(with_session).collect()
}

/// Reads a virtual table, or the rows of a SHOW.
pub(crate) struct VirtualReader {
    /// The columns of the table; none: rows come as they are.
    column_count: Option<usize>,
    answers: Vec<Answer>,
    /// When nobody is waited for any more.
    deadline: Instant,
    /// Only sessions of this user are shown; None: the rows are not about sessions, or all may be seen.
    only_of: Option<Arc<str>>,
    /// The table that nodes were asked for.
    asked: Option<InfoTable>,
    /// The last answer says which sessions transactions belong to; their position in the other rows.
    transaction_at: Option<usize>,
    /// The key of a row is not shown.
    hides_keys: bool,
    /// Makes the table's rows of answered ones.
    shape: Option<Shape>,
    rows: std::vec::IntoIter<Row>,
}

impl VirtualReader {
    /// Begins to read a table for the statement that runs; rows that its conditions reject may still come.
    pub(crate) fn new(read: &VirtualRead, cx: &mut Cx<'_, '_>) -> Result<Self, Failure> {
        let evaluation = cx.statement.context();
        let known = read.known.as_ref().map(|known| (known, &evaluation));
        let made = with_show_context(cx, |context| rows(&read.table, known, context));
        let reader = Self::of(made, Some(read.definition.columns.len()), cx)?;
        Ok(Self { shape: shape_of(&read.table, super::known_tables::registry()), ..reader })
    }

    /// Rows that the modules of all nodes know.
    pub(crate) fn asked(table: InfoTable, cx: &mut Cx<'_, '_>) -> Result<Self, Failure> {
        Self::asked_of(table, Respondents::AllNodes, cx)
    }

    /// Rows that these nodes know, all columns of them.
    pub(super) fn asked_of(table: InfoTable, of: Respondents, cx: &mut Cx<'_, '_>) -> Result<Self, Failure> {
        Self::of(VirtualRows::Ask(table, of), None, cx)
    }

    fn of(made: VirtualRows, column_count: Option<usize>, cx: &mut Cx<'_, '_>) -> Result<Self, Failure> {
        let sees_all = cx.core.rights.set().global().has(Privileges::PROCESS);
        let is_about_sessions = matches!(made, VirtualRows::Ask(InfoTable::Processes, _));
        let only_of = (is_about_sessions && !sees_all).then(|| Arc::clone(&cx.core.account.0));
        let (mut asked, mut transaction_at) = (None, None);
        let (answers, rows) = match made {
            VirtualRows::Now(rows) => {
                charge(&rows, &mut cx.executor())?;
                (Vec::new(), rows)
            }
            VirtualRows::Ask(table, of) => {
                asked = Some(table);
                (ask(table, of, cx), Vec::new())
            }
            VirtualRows::AskForSessions(table, place) => {
                (asked, transaction_at) = (Some(table), Some(place));
                let mut answers = ask(table, Respondents::AllNodes, cx);
                answers.extend(ask(InfoTable::ServerTransactions, Respondents::OwnNode, cx));
                (answers, Vec::new())
            }
        };
        let hides_keys = !sees_all && asked.is_some_and(|table| TABLES_WITH_KEYS.contains(&table));
        let deadline = cx.env.now.monotonic + ANSWER_TIMEOUT;
        if !answers.is_empty() {
            cx.env.module.site.wakes.register(deadline, cx.core.client.id);
        }
        let rows = rows.into_iter();
        let shape = None;
        Ok(Self { column_count, answers, deadline, only_of, asked, transaction_at, hides_keys, shape, rows })
    }

    /// The next rows.
    fn next_batch(&mut self, cx: &mut executor::Cx<'_>) -> Result<Pull, Failure> {
        if !self.collect(cx)? {
            return Ok(Pull::Wait);
        }
        let batch: Vec<Row> = self.rows.by_ref().take(BATCH_ROWS).collect();
        cx.env.budget.spend(u32::try_from(batch.len()).unwrap_or(u32::MAX));
        Ok(if batch.is_empty() { Pull::End } else { Pull::Batch(batch) })
    }

    /// Takes the answers that came; false while some are missing.
    fn collect(&mut self, cx: &mut executor::Cx<'_>) -> Result<bool, Failure> {
        let is_late = cx.env.now.monotonic >= self.deadline;
        let mut is_complete = true;
        for answer in &mut self.answers {
            let Answer::Awaited(node, request) = answer else { continue };
            match cx.client.inbox.take(*request) {
                Some(Reply::Info(rows)) => {
                    charge(&rows, cx)?;
                    let may_be_cut = self.asked.is_some_and(|table| TABLES_WITH_KEYS.contains(&table));
                    if may_be_cut && rows.len() >= INFO_ROWS_MAX {
                        let what = format!(
                            "Node {node} may have left rows out: each ldm gives {INFO_ROWS_MAX} at most"
                        );
                        cx.client.diagnostics.warn(TEMPORARY_ERROR, what);
                    }
                    *answer = Answer::Here(rows);
                }
                Some(Reply::Failed(error)) => return Err(Failure::Error(error)),
                Some(_) => *answer = omitted(*node, "it is lost", cx),
                None if is_late => {
                    cx.client.inbox.forget(*request);
                    *answer = omitted(*node, "it does not answer", cx);
                }
                None => is_complete = false,
            }
        }
        if is_complete && !self.answers.is_empty() {
            let mut answers = std::mem::take(&mut self.answers);
            let sessions =
                self.transaction_at.and_then(|_| answers.pop()).map_or_else(Vec::new, Answer::rows);
            let mut rows: Vec<Row> = answers.into_iter().flat_map(Answer::rows).collect();
            if let Some(place) = self.transaction_at {
                rows = of_sessions(rows, place, &sessions);
            }
            let is_seen = |row: &Row| match (&self.only_of, row.get(USER_OF_SESSION)) {
                (None, _) => true,
                (Some(own), Some(Value::Bytes(user))) => **user == *own.as_bytes(),
                (Some(_), _) => false,
            };
            let cut = |mut row: Row| {
                row.resize(self.column_count.unwrap_or(row.len()), Value::Null);
                if let Some(key) = row.last_mut().filter(|_| self.hides_keys) {
                    *key = Value::Null;
                }
                row
            };
            let shaped = |row: Row| match self.shape {
                Some(shape) => shape(row),
                None => Some(row),
            };
            let rows = rows.into_iter().filter(is_seen).filter_map(shaped).map(cut);
            self.rows = rows.collect::<Vec<Row>>().into_iter();
        }
        Ok(is_complete)
    }
}

impl RowSource for VirtualReader {
    fn next(&mut self, cx: &mut executor::Cx<'_>) -> Result<Pull, Failure> {
        self.next_batch(cx)
    }
}

/// All rows of a virtual table are kept until they are read: many clients may ask for them at once.
fn charge(rows: &[Row], cx: &mut executor::Cx<'_>) -> Result<(), Failure> {
    let size = rows.iter().map(|row| row_size(row)).sum();
    Ok(cx.client.memory.charge(size)?)
}

fn ask(table: InfoTable, of: Respondents, cx: &mut Cx<'_, '_>) -> Vec<Answer> {
    let map = Arc::clone(&cx.env.module.site.map);
    let nodes: Vec<NodeId> = match of {
        Respondents::OwnNode => vec![map.node],
        Respondents::AllNodes => {
            let is_there = |node: &NodeId| !map.lost.contains(node);
            map.view.nodes.iter().map(|info| info.node).filter(is_there).collect()
        }
    };
    let ask_one = |node: NodeId| {
        let to = Address::main(node);
        let request = cx.core.client.inbox.register(to, RequestKind::Other);
        cx.env.send(to, Signal::InfoRequest { request, table });
        Answer::Awaited(node, request)
    };
    nodes.into_iter().map(ask_one).collect()
}

fn omitted(node: NodeId, why: &str, cx: &mut executor::Cx<'_>) -> Answer {
    cx.client.diagnostics.warn(TEMPORARY_ERROR, format!("Node {node} is omitted: {why}"));
    Answer::Here(Vec::new())
}

/// The rows of a SHOW, filtered.
pub(crate) fn operator_of(plan: &ShowPlan, cx: &mut Cx<'_, '_>) -> Result<Operator, Failure> {
    if let Show::EngineStatus(form) = plan.what {
        return Ok(Operator::Made(Box::new(EngineReader::new(form, cx)?)));
    }
    let made = with_show_context(cx, |context| statement::show(&plan.what, plan.like.as_deref(), context))?;
    let reader = VirtualReader::of(made, Some(columns_of(&plan.what).len()), cx)?;
    let operator = Operator::Made(Box::new(reader));
    Ok(match &plan.filter {
        Some(condition) => Operator::Filter { input: Box::new(operator), condition: condition.clone() },
        None => operator,
    })
}

/// The context of this session.
fn with_show_context<T>(cx: &Cx<'_, '_>, use_it: impl FnOnce(&ShowContext<'_>) -> T) -> T {
    let map = &cx.env.module.site.map;
    let counters = &cx.env.module.counters;
    let status = Status {
        uptime_s: cx.env.module.uptime_s(cx.env.now),
        questions: counters.questions(),
        threads_connected_max: counters.connected_max,
        tables: map.tables.len() as u64,
        statements: cx.env.module.statement_counts.rows(counters.point_selects, counters.executions),
        tls: cx.core.tls,
        tls_accepts: counters.tls_accepts,
        connections: counters.connections,
        threads_connected: counters.connected,
        aborted_connects: counters.refused,
        commits: cx.env.module.site.commits,
        rollbacks: counters.rollbacks,
    };
    let diagnostics: Vec<Diagnostic<'_>> =
        cx.core.client.diagnostics.conditions.iter().map(diagnostic).collect();
    use_it(&ShowContext {
        schema: &map.schema,
        temporary: cx.core.client.transaction.own().map(TemporaryTables::named),
        virtual_tables: super::known_tables::registry(),
        variables: &cx.core.variables,
        user_variables: &cx.core.user_variables,
        account: (&cx.core.account.0, &cx.core.account.1),
        connection_id: cx.core.client.id,
        connection_attributes: &cx.core.attributes,
        privileges: cx.core.rights.set(),
        active_roles: cx.core.rights.roles(),
        mandatory_roles: &cx.core.mandatory_roles(),
        status: &status,
        diagnostics: &diagnostics,
        statistics: &LocalCounts::new(map, &cx.core.client),
        next_id: &|table| next_id(table, map, &cx.core.client),
    })
}

/// The AUTO_INCREMENT value that this node would draw next.
fn next_id(table: &TableDefinition, map: &NodeMap, client: &Client) -> Option<u64> {
    table.auto_increment?;
    let own = client.transaction.own();
    let range = match table.id.is_temporary() {
        true => &own?.info(table.id)?.auto_increment,
        false => &map.table(table.id)?.auto_increment,
    };
    range.span().map(|(next, _)| next)
}

fn diagnostic(condition: &executor::diagnostics::Condition) -> Diagnostic<'_> {
    let level = match condition.level {
        executor::diagnostics::Level::Note => Level::Note,
        executor::diagnostics::Level::Warning => Level::Warning,
        executor::diagnostics::Level::Error => Level::Error,
    };
    Diagnostic { level, code: condition.code, message: &condition.message }
}
