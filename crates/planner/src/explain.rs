//! Plans for people: EXPLAIN's table, its tree, and the same as JSON.
//!
//! The tree shows one step per line, the step that feeds it indented below; access paths show their keys and ranges
//! with the constants as they are bound (`?` for parameters). The table has MySQL's columns. `rows` and `filtered` are
//! estimates by the counts that the caller has; where it has none, `rows` is known for lookups by key only.
#![expect(clippy::wildcard_enum_match_arm, reason = "plans that are not named are about no rows")]

mod json;
mod relation;

use crate::estimate;
use crate::plan::{
    AccessPath, ChangePlan, ChangeVerb, ColumnAssignment, DeletePlan, Equals, ExplainFormat, Inclusive,
    InsertConflict, InsertPlan, Limit, Plan, RangeTemplate, ScanDirection, SelectPlan, SortColumn, SortKey,
    Source, TableAccess, UpdatePlan, WindowCall, WindowFunction, WindowStep,
};
use crate::statistics::{NoStatistics, Statistics};
use expression::{AggregateCall, ColumnSlot, Expression};
use protocol::program::LockMode;
use std::borrow::Cow;
use std::fmt::Write;
use std::sync::Arc;
use types::{BlobSize, Collation, IndexDefinition, IndexId, IntegerWidth, SqlType, TableDefinition, Value};

/// Names and types of the result's columns.
pub(crate) fn columns(format: ExplainFormat) -> Vec<(&'static str, SqlType)> {
    let text = |length| SqlType::VarChar { length, collation: Collation::Utf8mb40900AiCi };
    let number = SqlType::Integer { width: IntegerWidth::Big, unsigned: true };
    match format {
        ExplainFormat::Tree | ExplainFormat::Json => vec![("EXPLAIN", text(65_535))],
        ExplainFormat::Table => vec![
            ("id", number.clone()),
            ("select_type", text(19)),
            ("table", text(64)),
            ("partitions", text(1_024)),
            ("type", text(10)),
            ("possible_keys", text(4_096)),
            ("key", text(64)),
            ("key_len", text(4_096)),
            ("ref", text(1_024)),
            ("rows", number),
            ("filtered", SqlType::Double),
            ("Extra", text(255)),
        ],
    }
}

/// The rows of EXPLAIN.
#[must_use]
pub fn rows(plan: &Plan, format: ExplainFormat, statistics: &dyn Statistics) -> Vec<Vec<Value>> {
    match format {
        ExplainFormat::Tree => vec![vec![Value::text(&tree_with(plan, statistics))]],
        ExplainFormat::Json => vec![vec![Value::text(&json::text(plan, statistics))]],
        ExplainFormat::Table => {
            table_facts(plan).into_iter().map(|facts| table_row(facts, statistics)).collect()
        }
    }
}

/// The plan as a tree, one step per line.
#[must_use]
pub fn tree(plan: &Plan) -> String {
    tree_with(plan, &NoStatistics)
}

fn tree_with(plan: &Plan, statistics: &dyn Statistics) -> String {
    let mut tree = Tree::new(None, statistics);
    match plan {
        Plan::Select(select) => tree.select(select),
        Plan::Insert(insert) => tree.insert(insert),
        Plan::Update(update) => tree.update(update),
        Plan::Delete(delete) => tree.delete(delete),
        Plan::Change(change) => tree.change(change),
        Plan::Explain { plan, .. } => return tree_with(plan, statistics),
        _ => tree.step("No rows"),
    }
    tree.text
}

/// The plan of a SELECT that has run as a tree, with what is to be said of each step.
#[must_use]
pub fn analyzed(select: &SelectPlan, note: &dyn Fn(StepKey) -> String) -> String {
    let mut tree = Tree::new(Some(note), &NoStatistics);
    tree.select(select);
    tree.text
}

/// Which rows of a plan's node are meant.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Part {
    /// All that it gives.
    Whole,
    /// Of a query: behind its conditions and groups.
    Grouped,
    /// Of a query: behind DISTINCT.
    Distinct,
}

/// A step of a plan. It tells nodes apart for as long as the plan stays where it is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct StepKey {
    address: usize,
    part: Part,
}

impl StepKey {
    /// A part of a query's or relation's rows.
    #[must_use]
    pub fn of<T>(node: &T, part: Part) -> Self {
        Self { address: std::ptr::from_ref(node).addr(), part }
    }
}

/// An expression over a table's columns; slots behind them are the new row's.
fn shown(expression: &Expression, table: Option<&TableDefinition>) -> String {
    let name_of = |slot: ColumnSlot| {
        let Some(table) = table else { return format!("#{}", slot.0) };
        match table.columns.get(slot.index()) {
            Some(column) => column.name.clone(),
            None => table
                .columns
                .get(slot.index() - table.columns.len())
                .map_or_else(|| format!("#{}", slot.0), |column| format!("values({})", column.name)),
        }
    };
    expression.shown(name_of).to_string()
}

fn shown_list(expressions: &[Expression], table: Option<&TableDefinition>) -> String {
    expressions.iter().map(|expression| shown(expression, table)).collect::<Vec<_>>().join(", ")
}

/// An aggregate call over a table's columns.
fn shown_call(call: &AggregateCall, table: Option<&TableDefinition>) -> String {
    let distinct = if call.distinct { "distinct " } else { "" };
    let arguments =
        if call.arguments.is_empty() { "*".to_owned() } else { shown_list(&call.arguments, table) };
    format!("{}({distinct}{arguments})", call.function.name())
}

/// The meaning of a slot of the group space.
fn shown_group(expression: &Expression, select: &SelectPlan, table: Option<&TableDefinition>) -> String {
    let Some(grouping) = &select.grouping else { return shown(expression, table) };
    let level = grouping.group_by.len() + grouping.calls.len();
    let name_of = |slot: ColumnSlot| match grouping.group_by.get(slot.index()) {
        Some(group) => shown(group, table),
        None if grouping.rolled_up.is_some() && slot.index() == level => "level".to_owned(),
        None => grouping
            .calls
            .get(slot.index().wrapping_sub(grouping.group_by.len()))
            .map_or_else(|| format!("#{}", slot.0), |call| shown_call(call, table)),
    };
    expression.shown(name_of).to_string()
}

/// An expression over the rows that window functions leave, or over the groups if there are none.
fn shown_item(expression: &Expression, select: &SelectPlan, table: Option<&TableDefinition>) -> String {
    let Some(windows) = &select.windows else { return shown_group(expression, select, table) };
    let name_of = |slot: ColumnSlot| match windows.input.get(slot.index()) {
        Some(input) => shown_group(input, select, table),
        None => {
            let mut calls = windows.steps.iter().flat_map(|step| &step.calls);
            let call = calls.nth(slot.index() - windows.input.len());
            call.map_or_else(|| format!("#{}", slot.0), |call| shown_window_call(call, select, table))
        }
    };
    expression.shown(name_of).to_string()
}

fn shown_window_call(call: &WindowCall, select: &SelectPlan, table: Option<&TableDefinition>) -> String {
    let arguments = call.function.arguments();
    let shown: Vec<String> = arguments.iter().map(|argument| shown_item(argument, select, table)).collect();
    let arguments = match &call.function {
        WindowFunction::Aggregate(call) if call.arguments.is_empty() => "*".to_owned(),
        _ => shown.join(", "),
    };
    format!("{}({arguments}) OVER", call.function.name())
}

/// The windows of a step and what is asked of them.
fn window_line(step: &WindowStep, select: &SelectPlan, table: Option<&TableDefinition>) -> String {
    let inputs = select.windows.as_ref().map(|windows| windows.input.as_slice()).unwrap_or_default();
    let key = |column: &SortColumn| {
        let shown = inputs.get(column.position).map(|input| shown_group(input, select, table));
        format!("{}{}", shown.unwrap_or_default(), if column.descending { " DESC" } else { "" })
    };
    let (partitions, order) = step.columns.split_at(step.partition_count);
    let clause = |words: &str, columns: &[SortColumn]| match columns {
        [] => String::new(),
        columns => format!(" {words} {}", columns.iter().map(key).collect::<Vec<_>>().join(", ")),
    };
    let calls: Vec<String> = step.calls.iter().map(|call| shown_window_call(call, select, table)).collect();
    let (partitions, order) = (clause("PARTITION BY", partitions), clause("ORDER BY", order));
    format!("Window{partitions}{order}: {}", calls.join(", "))
}

/// The items of a SELECT as expressions over its table.
#[must_use]
pub fn projection(select: &SelectPlan) -> Vec<String> {
    let table = source_table(&select.source);
    select.projection.iter().map(|item| shown_item(item, select, table.as_deref())).collect()
}

/// The columns of the source's rows by name.
fn source_table(source: &Source) -> Option<Arc<TableDefinition>> {
    match source {
        Source::Nothing => None,
        Source::Table(access) => Some(Arc::clone(&access.table)),
        Source::Joined { relation, .. } => Some(Arc::new(relation::row_of(relation))),
    }
}

struct Tree<'n> {
    text: String,
    depth: usize,
    /// Says what is known of a step, if the plan has run.
    note: Option<&'n dyn Fn(StepKey) -> String>,
    /// To be said of the next step.
    next_note: Option<String>,
    /// Counts of rows, as far as they are to be shown.
    statistics: &'n dyn Statistics,
}

impl<'n> Tree<'n> {
    fn new(note: Option<&'n dyn Fn(StepKey) -> String>, statistics: &'n dyn Statistics) -> Self {
        Self { text: String::new(), depth: 0, note, next_note: None, statistics }
    }

    /// The next step gives these rows.
    fn gives<T>(&mut self, node: &T, part: Part) {
        self.next_note = self.note.map(|note| note(StepKey::of(node, part)));
    }

    /// One more step, fed by what comes next.
    fn step(&mut self, line: impl AsRef<str>) {
        let indent = self.depth * 4;
        let note = self.next_note.take().map(|note| format!(" ({note})")).unwrap_or_default();
        // Writing to a String cannot fail.
        let _ = writeln!(self.text, "{:indent$}-> {}{note}", "", line.as_ref());
        self.depth += 1;
    }

    fn limit(&mut self, limit: &Limit) {
        let Some(count) = &limit.count else { return };
        let offset = limit
            .offset
            .as_ref()
            .map(|offset| format!(", offset {}", shown(offset, None)))
            .unwrap_or_default();
        self.step(format!("Limit: {} row(s){offset}", shown(count, None)));
    }

    fn sort(&mut self, title: &str, keys: &[SortKey], show: impl Fn(&Expression) -> String) {
        let keys: Vec<String> = keys
            .iter()
            .map(|key| format!("{}{}", show(&key.expression), if key.descending { " DESC" } else { "" }))
            .collect();
        self.step(format!("{title}: {}", keys.join(", ")));
    }

    fn select(&mut self, select: &SelectPlan) {
        let table = source_table(&select.source);
        let table = table.as_deref();
        self.limit(&select.limit);
        if let Some(sort) = &select.steps.sort {
            self.gives(select, Part::Whole);
            let title = if sort.equals == Equals::Dropped { "Sort with duplicate removal" } else { "Sort" };
            self.sort(title, &select.order_by, |expression| shown_item(expression, select, table));
        }
        if select.steps.distinct.is_some() {
            self.gives(select, Part::Distinct);
            self.step("Distinct");
        }
        for step in select.windows.iter().flat_map(|windows| &windows.steps).rev() {
            self.gives(step, Part::Whole);
            self.step(window_line(step, select, table));
        }
        self.gives(select, Part::Grouped);
        if let Some(having) = &select.having {
            self.step(format!("Filter: {}", shown_group(having, select, table)));
        }
        if let Some(over_groups) = &select.over_groups {
            let depth = self.depth;
            self.relation(over_groups);
            self.depth = depth + 1;
        }
        if let Some(grouping) = &select.grouping {
            let calls: Vec<String> = grouping.calls.iter().map(|call| shown_call(call, table)).collect();
            let calls = calls.join(", ");
            self.step(match grouping.group_by.is_empty() {
                true => format!("Aggregate: {calls}"),
                false => {
                    let rolled_up = if grouping.rolled_up.is_some() { " with rollup" } else { "" };
                    format!("Group by {}{rolled_up}: {calls}", shown_list(&grouping.group_by, table))
                }
            });
        }
        if let (Some((mode, _)), Source::Table(_)) = (&select.lock, &select.source) {
            self.step(if *mode == LockMode::Exclusive { "Lock exclusively" } else { "Lock shared" });
        }
        match &select.source {
            Source::Nothing => self.step("Rows fetched before execution"),
            Source::Table(access) => self.access(access, select.order_by_index),
            Source::Joined { relation, filter } => {
                self.filters(filter, table);
                self.relation(relation);
            }
        }
    }

    /// Conditions, all of which must be true.
    fn filters(&mut self, conditions: &[Expression], table: Option<&TableDefinition>) {
        if !conditions.is_empty() {
            let shown: Vec<String> = conditions.iter().map(|condition| shown(condition, table)).collect();
            self.step(format!("Filter: {}", shown.join(" and ")));
        }
    }

    /// How rows are found, and about how many.
    fn path(&mut self, access: &TableAccess, mut line: String) {
        if let Some((rows, _)) = estimated(access, self.statistics) {
            // Writing to a String cannot fail.
            let _ = write!(line, " (rows={rows})");
        }
        self.step(line);
    }

    fn access(&mut self, access: &TableAccess, direction: Option<ScanDirection>) {
        if let Some(filter) = &access.filter {
            self.step(format!("Filter: {}", shown(filter, Some(&access.table))));
        }
        self.path(access, path_line(access, direction, None));
    }

    fn insert(&mut self, insert: &InsertPlan) {
        let verb = match &insert.conflict {
            InsertConflict::Fail => "Insert into",
            InsertConflict::Ignore => "Insert, unless it exists, into",
            InsertConflict::Replace => "Replace in",
            InsertConflict::Update(_) | InsertConflict::UpdateIgnoring(_) => "Insert or update in",
        };
        let columns: Vec<&str> =
            insert.columns.iter().map(|column| insert.table.column_at(*column).name.as_str()).collect();
        let update = match &insert.conflict {
            InsertConflict::Update(assignments) | InsertConflict::UpdateIgnoring(assignments) => {
                format!(" set {}", shown_assignments(assignments, &insert.table))
            }
            InsertConflict::Fail | InsertConflict::Ignore | InsertConflict::Replace => String::new(),
        };
        self.step(format!("{verb} {} ({}){update}", insert.table.name, columns.join(", ")));
        match &insert.source {
            Some(source) => self.select(source),
            None => self.step(format!("{} row(s)", insert.rows.len())),
        }
    }

    fn update(&mut self, update: &UpdatePlan) {
        let table = &update.access.table;
        self.step(format!(
            "Update {} set {}",
            update.access.alias,
            shown_assignments(&update.assignments, table)
        ));
        self.limit(&update.limit);
        self.rows_to_change(&update.access, &update.order_by, update.order_by_index, update.sorts());
    }

    fn delete(&mut self, delete: &DeletePlan) {
        self.step(format!("Delete from {}", delete.access.alias));
        self.limit(&delete.limit);
        self.rows_to_change(&delete.access, &delete.order_by, delete.order_by_index, delete.sorts());
    }

    fn change(&mut self, change: &ChangePlan) {
        let verb = if change.verb == ChangeVerb::Update { "Update" } else { "Delete from" };
        let targets: Vec<&str> = change.targets.iter().map(|target| target.found.alias.as_str()).collect();
        self.step(format!("{verb} {}", targets.join(", ")));
        self.select(&change.query);
    }

    fn rows_to_change(
        &mut self,
        access: &TableAccess,
        order_by: &[SortKey],
        direction: Option<ScanDirection>,
        sorts: bool,
    ) {
        if sorts {
            self.sort("Sort", order_by, |expression| shown(expression, Some(&access.table)));
        }
        self.access(access, direction);
    }
}

fn shown_assignments(assignments: &[ColumnAssignment], table: &TableDefinition) -> String {
    let shown: Vec<String> = assignments
        .iter()
        .map(|assignment| {
            let value = assignment
                .value
                .as_ref()
                .map_or_else(|| "DEFAULT".to_owned(), |value| shown(value, Some(table)));
            format!("{} = {value}", table.column_at(assignment.column).name)
        })
        .collect();
    shown.join(", ")
}

fn index_of(table: &TableDefinition, id: IndexId) -> Option<&IndexDefinition> {
    table.index(id)
}

fn index_name(table: &TableDefinition, id: IndexId) -> &str {
    index_of(table, id).map_or("?", |index| &index.name)
}

fn shown_keys(keys: &[Vec<Expression>], values: Option<&TableDefinition>) -> String {
    let keys: Vec<String> = keys.iter().map(|key| format!("({})", shown_list(key, values))).collect();
    keys.join(" ")
}

/// How rows are found; `values` names the columns that its keys read.
fn path_line(
    access: &TableAccess,
    direction: Option<ScanDirection>,
    values: Option<&TableDefinition>,
) -> String {
    let table = &access.table;
    let alias = &access.alias;
    let reverse = if direction == Some(ScanDirection::Backward) { " (reverse)" } else { "" };
    match &access.path {
        AccessPath::Empty => "Zero rows (Impossible WHERE)".to_owned(),
        AccessPath::PrimaryKeys(keys) => {
            format!("Lookup on {alias} using PRIMARY {}", shown_keys(keys, values))
        }
        AccessPath::UniqueKeys { index, keys } => {
            format!("Lookup on {alias} using {} {}", index_name(table, *index), shown_keys(keys, values))
        }
        AccessPath::Ranges { index, ranges } => {
            let name = index_name(table, *index);
            match ranges.as_slice() {
                [range] if is_whole(range) && *index == IndexId(0) && direction.is_none() => {
                    format!("Table scan on {alias}")
                }
                [range] if is_whole(range) => format!("Index scan on {alias} using {name}{reverse}"),
                ranges => {
                    let shown: Vec<String> =
                        ranges.iter().map(|range| shown_range(range, table, *index, values)).collect();
                    format!("Index range scan on {alias} using {name} over {}{reverse}", shown.join(" OR "))
                }
            }
        }
    }
}

fn is_whole(range: &RangeTemplate) -> bool {
    range.equal.is_empty() && range.lower.is_none() && range.upper.is_none() && !range.with_null
}

fn shown_range(
    range: &RangeTemplate,
    table: &TableDefinition,
    index: IndexId,
    values: Option<&TableDefinition>,
) -> String {
    let parts = index_of(table, index).map(|index| index.parts.as_slice()).unwrap_or_default();
    let name = |position: usize| parts.get(position).map_or("?", |part| &table.column_at(part.column).name);
    let mut terms: Vec<String> = range
        .equal
        .iter()
        .enumerate()
        .map(|(position, value)| format!("{} = {}", name(position), shown(value, values)))
        .collect();
    let next = name(range.equal.len());
    let sign = |inclusive: Inclusive| if inclusive == Inclusive::Yes { "<=" } else { "<" };
    let lower = range
        .lower
        .as_ref()
        .map(|(value, inclusive)| format!("{} {} ", shown(value, values), sign(*inclusive)));
    let upper = range
        .upper
        .as_ref()
        .map(|(value, inclusive)| format!(" {} {}", sign(*inclusive), shown(value, values)));
    if lower.is_some() || upper.is_some() {
        terms.push(format!("{}{next}{}", lower.unwrap_or_default(), upper.unwrap_or_default()));
    }
    if range.with_null {
        terms.push(format!("{next} is null"));
    }
    format!("({})", terms.join(", "))
}

/// A plan's source and the way it is read, for EXPLAIN's table.
struct Facts<'p> {
    id: u64,
    select_type: &'static str,
    access: Option<Cow<'p, TableAccess>>,
    /// It is found by values of a row of these columns.
    left: Option<TableDefinition>,
    /// The table's name, where there is no access.
    name: Option<String>,
    extra: Vec<&'static str>,
}

impl Facts<'_> {
    fn new(select_type: &'static str) -> Self {
        Self { id: 1, select_type, access: None, left: None, name: None, extra: Vec::new() }
    }
}

fn facts(plan: &Plan) -> Facts<'_> {
    let nothing = Facts::new;
    match plan {
        Plan::Select(select) => select_facts(select),
        Plan::Insert(insert) => {
            let select_type =
                if matches!(insert.conflict, InsertConflict::Replace) { "REPLACE" } else { "INSERT" };
            Facts { name: Some(insert.table.name.clone()), ..nothing(select_type) }
        }
        Plan::Update(update) => change_facts("UPDATE", &update.access, update.sorts()),
        Plan::Delete(delete) => change_facts("DELETE", &delete.access, delete.sorts()),
        Plan::Explain { plan, .. } => facts(plan),
        _ => nothing("SIMPLE"),
    }
}

fn select_facts(select: &SelectPlan) -> Facts<'_> {
    let mut facts = Facts::new("SIMPLE");
    match &select.source {
        Source::Nothing => facts.extra.push("No tables used"),
        Source::Table(access) => {
            facts.access = Some(Cow::Borrowed(access));
            facts.extra.extend(access.filter.as_ref().map(|_| "Using where"));
        }
        // Each relation has a row of its own.
        Source::Joined { .. } => {}
    }
    facts.extra.extend(block_extras(select));
    facts
}

/// The work that is done with the rows of a query, whatever their source.
fn block_extras(select: &SelectPlan) -> Vec<&'static str> {
    let mut extra = Vec::new();
    let groups = select.grouping.as_ref().is_some_and(|grouping| !grouping.group_by.is_empty());
    if groups || select.distinct || select.windows.is_some() {
        extra.push("Using temporary");
    }
    let mut windows = select.windows.iter().flat_map(|windows| &windows.steps);
    if select.steps.sort.is_some() || windows.any(|step| !step.columns.is_empty()) {
        extra.push("Using filesort");
    }
    if select.order_by_index == Some(ScanDirection::Backward) {
        extra.push("Backward index scan");
    }
    extra
}

fn change_facts<'p>(select_type: &'static str, access: &'p TableAccess, sorts: bool) -> Facts<'p> {
    let mut extra: Vec<&'static str> = access.filter.iter().map(|_| "Using where").collect();
    if sorts {
        extra.push("Using filesort");
    }
    Facts { access: Some(Cow::Borrowed(access)), extra, ..Facts::new(select_type) }
}

fn table_facts(plan: &Plan) -> Vec<Facts<'_>> {
    match plan {
        Plan::Explain { plan, .. } => table_facts(plan),
        Plan::Select(select) if matches!(select.source, Source::Joined { .. }) => relation::facts_of(select),
        Plan::Change(change) => {
            let mut rows = relation::facts_of(&change.query);
            let verb = if change.verb == ChangeVerb::Update { "UPDATE" } else { "DELETE" };
            for row in rows.iter_mut().filter(|row| row.id == 1) {
                let is_changed = |access: &Cow<'_, TableAccess>| {
                    change.targets.iter().any(|target| target.found.alias == access.alias)
                };
                if row.access.as_ref().is_some_and(is_changed) {
                    row.select_type = verb;
                }
            }
            rows
        }
        Plan::Insert(insert) => {
            let source = insert.source.iter().flat_map(|source| relation::facts_of(source));
            std::iter::once(facts(plan)).chain(source).collect()
        }
        plan => vec![facts(plan)],
    }
}

/// How the rows of a table are found, in MySQL's words.
struct Described {
    access_type: Option<&'static str>,
    /// The index.
    key: Option<String>,
    /// Columns of it that are used, and bytes of these.
    parts: usize,
    key_length: Option<u64>,
    reference: Option<String>,
    row_count: Option<u64>,
    /// The share of them that its own conditions leave, in percent.
    filtered: f64,
}

/// About how many rows an access reads, and the percentage of them that its conditions leave; None: nothing is known.
fn estimated(access: &TableAccess, statistics: &dyn Statistics) -> Option<(u64, f64)> {
    if matches!(access.path, AccessPath::Empty) {
        return None;
    }
    let rows = estimate::rows_of(statistics.row_count(&access.table)?);
    let estimate = estimate::of_access(access, rows, statistics);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an estimate, not negative")]
    let count = (estimate.read.round() as u64).max(1);
    let filtered = if estimate.read > 0.0 { estimate.given / estimate.read * 100.0 } else { 100.0 };
    Some((count, (filtered * 100.0).round() / 100.0))
}

fn described(facts: &Facts<'_>, statistics: &dyn Statistics) -> Described {
    let mut described = Described {
        access_type: None,
        key: None,
        parts: 0,
        key_length: None,
        reference: None,
        row_count: None,
        filtered: 100.0,
    };
    let Some(access) = facts.access.as_deref() else {
        described.access_type = facts.name.as_ref().map(|_| "ALL");
        return described;
    };
    let whole_key = if facts.left.is_some() { "eq_ref" } else { "const" };
    let source = |value: &Expression| match (value.as_column(), &facts.left) {
        (Some(slot), Some(left)) => {
            left.columns.get(slot.index()).map_or_else(String::new, |column| column.name.clone())
        }
        _ if value.is_constant() => "const".to_owned(),
        _ => "func".to_owned(),
    };
    let sources = |values: &[Expression]| values.iter().map(source).collect::<Vec<_>>().join(",");
    let mut key = None;
    match &access.path {
        AccessPath::Empty => {}
        AccessPath::PrimaryKeys(keys) | AccessPath::UniqueKeys { keys, .. } => {
            key = Some(match &access.path {
                AccessPath::UniqueKeys { index, .. } => *index,
                _ => IndexId(0),
            });
            described.access_type = Some(if keys.len() == 1 { whole_key } else { "range" });
            described.row_count = Some(keys.len() as u64);
            described.parts = keys.first().map_or(0, Vec::len);
            described.reference = if let [key] = keys.as_slice() { Some(sources(key)) } else { None };
        }
        AccessPath::Ranges { index, ranges } => {
            let used = ranges.iter().map(used_parts).max().unwrap_or(0);
            let is_reference = matches!(ranges.as_slice(), [range] if used > 0 && range.equal.len() == used);
            described.access_type = Some(match (used, *index) {
                (0, IndexId(0)) if !facts.extra.contains(&"Backward index scan") => "ALL",
                (0, _) => "index",
                _ if is_reference => "ref",
                _ => "range",
            });
            if used > 0 || *index != IndexId(0) {
                key = Some(*index);
                let all = index_of(&access.table, *index).map_or(0, |index| index.parts.len());
                described.parts = if used > 0 { used } else { all };
                described.reference =
                    ranges.first().filter(|_| is_reference).map(|range| sources(&range.equal));
            }
        }
    }
    if let Some((rows, filtered)) = estimated(access, statistics) {
        (described.row_count, described.filtered) = (Some(rows), filtered);
    }
    if let Some(key) = key {
        described.key_length = key_use(&access.table, key, described.parts);
        described.key = Some(index_name(&access.table, key).to_owned());
    }
    described
}

fn table_row(mut facts: Facts<'_>, statistics: &dyn Statistics) -> Vec<Value> {
    let text = |text: Option<String>| text.map_or(Value::Null, |text| Value::text(&text));
    let how = described(&facts, statistics);
    let access = facts.access.as_deref();
    let name = access.map(|access| access.alias.clone()).or(facts.name);
    if access.is_some_and(|access| matches!(access.path, AccessPath::Empty)) {
        facts.extra = vec!["Impossible WHERE"];
    }
    let extra = if facts.extra.is_empty() { None } else { Some(facts.extra.join("; ")) };
    vec![
        Value::UInt(facts.id),
        Value::text(facts.select_type),
        text(name),
        Value::Null,
        text(how.access_type.map(str::to_owned)),
        text(how.key.clone()),
        text(how.key),
        text(how.key_length.map(|length| length.to_string())),
        text(how.reference),
        how.row_count.map_or(Value::Null, Value::UInt),
        if how.access_type.is_some() { Value::Double(how.filtered) } else { Value::Null },
        text(extra),
    ]
}

fn used_parts(range: &RangeTemplate) -> usize {
    let is_bounded = range.lower.is_some() || range.upper.is_some() || range.with_null;
    range.equal.len() + usize::from(is_bounded)
}

/// key_len of the first `used` parts.
fn key_use(table: &TableDefinition, index: IndexId, used: usize) -> Option<u64> {
    let index = index_of(table, index)?;
    let used = used.min(index.parts.len());
    let lengths = index.parts[..used].iter().map(|part| {
        let column = table.column_at(part.column);
        key_length(&column.sql_type, part.prefix_length) + u64::from(column.flags.nullable)
    });
    Some(lengths.sum())
}

/// Bytes of a column in a key, as MySQL counts them.
fn key_length(sql_type: &SqlType, prefix: Option<u32>) -> u64 {
    let fraction = |fraction: u8| u64::from(fraction).div_ceil(2);
    let characters = |length: u32| u64::from(prefix.unwrap_or(length)) * 4;
    match sql_type {
        SqlType::Null => 0,
        SqlType::Integer { width, .. } => match width {
            IntegerWidth::Tiny => 1,
            IntegerWidth::Small => 2,
            IntegerWidth::Medium => 3,
            IntegerWidth::Normal => 4,
            IntegerWidth::Big => 8,
        },
        SqlType::Float => 4,
        SqlType::Double => 8,
        SqlType::Decimal { precision, scale, .. } => {
            let digits = |count: u8| u64::from(count / 9) * 4 + u64::from(count % 9).div_ceil(2);
            digits(precision.saturating_sub(*scale)) + digits(*scale)
        }
        SqlType::Bit { length } => u64::from(*length).div_ceil(8),
        SqlType::Char { length, .. } => characters(*length),
        SqlType::VarChar { length, .. } => characters(*length) + 2,
        SqlType::Binary { length } => u64::from(prefix.unwrap_or(*length)),
        SqlType::VarBinary { length } => u64::from(prefix.unwrap_or(*length)) + 2,
        SqlType::Text { size, .. } => characters(blob_size(*size)) + 2,
        SqlType::Blob { size } => u64::from(prefix.unwrap_or(blob_size(*size))) + 2,
        SqlType::Enum { members, .. } => {
            if members.len() > 255 {
                2
            } else {
                1
            }
        }
        SqlType::Set { members, .. } => (members.len() as u64).div_ceil(8).next_power_of_two(),
        SqlType::Date => 3,
        SqlType::Time { fraction: digits } => 3 + fraction(*digits),
        SqlType::DateTime { fraction: digits } => 5 + fraction(*digits),
        SqlType::Timestamp { fraction: digits } => 4 + fraction(*digits),
        SqlType::Year => 1,
        SqlType::Json => 0,
    }
}

fn blob_size(size: BlobSize) -> u32 {
    match size {
        BlobSize::Tiny => 255,
        BlobSize::Normal => 65_535,
        BlobSize::Medium => 16_777_215,
        BlobSize::Long => u32::MAX,
    }
}
