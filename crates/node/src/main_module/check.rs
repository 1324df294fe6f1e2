//! `check`: compares the replicas of every fragment and checks index entries against rows, while the cluster works.
//!
//! Each fragment is walked in primary key order, a range at a time: all in-sync replicas digest the range, the digests
//! are compared. Rows being committed differ for a moment, so a range that differs is asked for again, up to [`TRIES`]
//! times, before it counts as a difference. In a new view the members in sync there are asked, and again after
//! [`ASK_AGAIN`] in any case. Questions on the way from one view to the next may not arrive.
//!
//! Invariants: one check at a time; every fragment of every table is walked to its end; a replica that is lost ends the
//! check with an error.

use super::MainModule;
use crate::management::PROGRESS_PREFIX;
use protocol::signal::{ChecksumDone, ChecksumRequest, RequestId};
use protocol::{ConnectionId, NodeRole, Outputs, Signal};
use query::Shared;
use std::collections::BTreeMap;
use stdx::{Duration, Instant, Now};
use types::{NodeId, SlotId, TableId};

/// How often a range that differs is asked for again.
const TRIES: u32 = 50;
/// How soon.
const TRY_AGAIN: Duration = Duration::from_millis(20);
/// How soon a range is asked for again that somebody does not answer.
const ASK_AGAIN: Duration = Duration::from_secs(1);
/// Between two lines that say how far it is.
const TELL_INTERVAL: Duration = Duration::from_secs(10);
/// Rows in a range.
const RANGE_ROWS: u32 = 1_000;
/// Differences that are told one by one.
const ERRORS_MAX: usize = 100;

/// A check under way.
pub(super) struct Check {
    connection: ConnectionId,
    /// Fragments still to walk.
    fragments: Vec<(TableId, SlotId)>,
    after: Option<Box<[u8]>>,
    request: RequestId,
    answers: BTreeMap<NodeId, ChecksumDone>,
    tries: u32,
    again_at: Instant,
    begun: Instant,
    tell_at: Instant,
    rows: u64,
    walked: u64,
    errors: Vec<String>,
}

impl Check {
    pub(super) fn deadline(&self) -> Instant {
        self.again_at
    }

    /// How far it is, and who of the replicas has not answered.
    fn progress(&self, now: Instant, replicas: &[NodeId]) -> String {
        let silent = replicas.iter().filter(|node| !self.answers.contains_key(node));
        let silent: Vec<String> = silent.map(|node| format!("node {node}")).collect();
        let silent =
            if silent.is_empty() { String::new() } else { format!("; waits for {}", silent.join(", ")) };
        format!(
            "{PROGRESS_PREFIX}checking, {} s: {} rows in {} fragments are checked, {} fragments are left{silent}\n",
            now.since(self.begun).as_secs(),
            self.rows,
            self.walked,
            self.fragments.len()
        )
    }
}

impl MainModule {
    /// A check is asked for: it begins when the newest catalogue is here.
    pub(super) fn request_check(&mut self, connection: ConnectionId, outputs: &mut Outputs<Shared>) {
        self.operators.checks_wanted.push(connection);
        if self.view.number.0 == 0 {
            return self.start_checks(outputs);
        }
        if !self.reaches_a_replica() {
            return self.refuse_checks(outputs);
        }
        self.fetch_schema(outputs);
    }

    fn refuse_checks(&mut self, outputs: &mut Outputs<Shared>) {
        for connection in std::mem::take(&mut self.operators.checks_wanted) {
            self.answer_management(connection, "ERROR: no data node is in reach\n", outputs);
        }
    }

    /// The client that wanted it is gone.
    pub(super) fn forget_check(&mut self, connection: ConnectionId) {
        self.operators.checks_wanted.retain(|wanted| *wanted != connection);
        self.operators.check.take_if(|check| check.connection == connection);
    }

    /// The catalogue has come.
    pub(super) fn start_checks(&mut self, outputs: &mut Outputs<Shared>) {
        for connection in std::mem::take(&mut self.operators.checks_wanted) {
            self.start_check(connection, outputs);
        }
    }

    fn start_check(&mut self, connection: ConnectionId, outputs: &mut Outputs<Shared>) {
        if self.operators.check.is_some() {
            return self.answer_management(connection, "ERROR: a check is under way already\n", outputs);
        }
        if self.view.number.0 == 0 || self.schema_reading.is_fetching() {
            return self.answer_management(connection, "ERROR: the cluster has not started\n", outputs);
        }
        if self.has_given_up_nodes() {
            return self.answer_management(
                connection,
                "ERROR: a data node is lost: there is nothing to compare with\n",
                outputs,
            );
        }
        let mut fragments: Vec<(TableId, SlotId)> = Vec::new();
        let terms = self.view.slot_terms();
        for table in self.schema.tables().values() {
            fragments.extend(terms.slots_of(table).into_iter().map(|slot| (table.id, slot)));
        }
        self.operators.check = Some(Check {
            connection,
            fragments,
            after: None,
            request: RequestId(0),
            answers: BTreeMap::new(),
            tries: 0,
            again_at: self.now.monotonic,
            begun: self.now.monotonic,
            tell_at: self.now.monotonic + TELL_INTERVAL,
            rows: 0,
            walked: 0,
            errors: Vec::new(),
        });
        self.ask_range(outputs);
    }

    /// Asks all replicas of the current fragment for the next range. Answers to earlier questions are void.
    fn ask_range(&mut self, outputs: &mut Outputs<Shared>) {
        if self.operators.check.is_none() {
            return;
        }
        let (request, me) = (self.new_request(), self.me());
        let again_at = self.now.monotonic + ASK_AGAIN;
        let Some(check) = &mut self.operators.check else { return };
        let Some((table, slot)) = check.fragments.last().copied() else {
            return self.end_check(outputs);
        };
        if check.tell_at <= self.now.monotonic {
            check.tell_at = self.now.monotonic + TELL_INTERVAL;
            let line = check.progress(self.now.monotonic, self.view.in_sync(slot));
            outputs.buffer(check.connection).extend_from_slice(line.as_bytes());
        }
        check.request = request;
        check.again_at = again_at;
        check.answers.clear();
        for node in self.view.in_sync(slot) {
            let Some(ldm) = self.view.ldm(slot, *node) else { continue };
            let ask = ChecksumRequest { request, slot, table, after: check.after.clone(), limit: RANGE_ROWS };
            outputs.send(me, ldm, Signal::Checksum(Box::new(ask)));
        }
    }

    pub(super) fn on_checksum_done(
        &mut self,
        now: Now,
        from: NodeId,
        done: ChecksumDone,
        outputs: &mut Outputs<Shared>,
    ) {
        let Some(check) = &mut self.operators.check else { return };
        if done.request != check.request {
            return;
        }
        check.answers.insert(from, done);
        let Some((table, slot)) = check.fragments.last().copied() else { return };
        if self.view.in_sync(slot).iter().any(|node| !check.answers.contains_key(node)) {
            return;
        }
        let name = self
            .schema
            .table_by_id(table)
            .map_or_else(String::new, |table| format!("{}.{} slot {slot}", table.database, table.name));
        let range = compare(&check.answers);
        let is_clean = range.differences.is_empty();
        if !is_clean && check.tries < TRIES {
            check.tries += 1;
            check.again_at = now.monotonic + TRY_AGAIN;
            return;
        }
        check.tries = 0;
        check.rows += range.rows;
        for difference in range.differences {
            if check.errors.len() < ERRORS_MAX {
                check.errors.push(format!("{name}: {difference}"));
            }
        }
        check.after = range.last;
        if check.after.is_none() {
            check.fragments.pop();
            check.walked += 1;
        }
        self.ask_range(outputs);
    }

    pub(super) fn continue_check(&mut self, outputs: &mut Outputs<Shared>) {
        if self.operators.check.as_ref().is_some_and(|check| check.again_at <= self.now.monotonic) {
            self.ask_range(outputs);
        }
    }

    /// Others are in sync.
    pub(super) fn check_in_new_view(&mut self, outputs: &mut Outputs<Shared>) {
        if let Some(check) = &mut self.operators.check {
            check.tries = 0;
            self.ask_range(outputs);
        }
    }

    /// A replica that is asked is lost: there is nothing to compare with.
    pub(super) fn fail_check(&mut self, node: NodeId, outputs: &mut Outputs<Shared>) {
        if let Some(check) = self.operators.check.take() {
            let text = format!("ERROR: node {node} was lost while its replicas were compared\n");
            self.answer_management(check.connection, &text, outputs);
        }
        if !self.reaches_a_replica() {
            self.refuse_checks(outputs);
        }
    }

    /// Data nodes of the configuration that have no whole replicas now.
    fn nodes_not_in_sync(&self) -> Vec<NodeId> {
        let data_nodes = self.view.nodes.iter().filter(|info| info.role == NodeRole::Data);
        data_nodes.map(|info| info.node).filter(|node| !self.view.is_in_sync(*node)).collect()
    }

    fn end_check(&mut self, outputs: &mut Outputs<Shared>) {
        let Some(check) = self.operators.check.take() else { return };
        let mut text = String::new();
        for error in &check.errors {
            text.push_str(&format!("DIFFERENCE: {error}\n"));
        }
        let verdict = if check.errors.is_empty() {
            let absent = self.nodes_not_in_sync();
            let which = if absent.is_empty() { "the replicas" } else { "the replicas that are in sync" };
            format!("{which} are equal and index entries match rows{}", not_compared(&absent))
        } else {
            format!("{} differences", check.errors.len())
        };
        text.push_str(&format!("checked {} rows in {} fragments: {verdict}\n", check.rows, check.walked));
        self.answer_management(check.connection, &text, outputs);
    }
}

/// For a person: whose rows nobody has looked at.
fn not_compared(nodes: &[NodeId]) -> String {
    if nodes.is_empty() {
        return String::new();
    }
    let names: Vec<String> = nodes.iter().map(ToString::to_string).collect();
    format!("; not in sync, and not compared: node {}", names.join(", "))
}

/// Primary key and digest.
type DigestedRow = (Box<[u8]>, u64);

/// The result of a range.
struct Range {
    rows: u64,
    differences: Vec<String>,
    /// Where it ended; None at the end of the fragment.
    last: Option<Box<[u8]>>,
}

/// Compares what all replicas answered, up to the last key that all of them have reached.
fn compare(answers: &BTreeMap<NodeId, ChecksumDone>) -> Range {
    let reached = answers.values().filter(|done| !done.end);
    let last = reached.filter_map(|done| done.rows.last().map(|(key, _)| key.clone())).min();
    let within = |key: &[u8]| last.as_deref().is_none_or(|last| key <= last);
    let mut differences: Vec<String> = Vec::new();
    let mut rows: Option<(NodeId, Vec<&DigestedRow>)> = None;
    for (node, done) in answers {
        differences.extend(done.index_errors.iter().map(|error| format!("node {node}: {error}")));
        let own: Vec<&DigestedRow> = done.rows.iter().filter(|(key, _)| within(key)).collect();
        match &rows {
            None => rows = Some((*node, own)),
            Some((first, expected)) if *expected != own => {
                let (left, right) = (expected.len(), own.len());
                differences.push(format!(
                    "nodes {first} and {node} hold different rows ({left} and {right} in this range)"
                ));
            }
            Some(_) => {}
        }
    }
    Range { rows: rows.map_or(0, |(_, rows)| rows.len() as u64), differences, last }
}
