//! EXPLAIN FORMAT=JSON: MySQL's names, as far as they say something here. There are no costs; rows are estimates.

use super::relation::{applied_query, is_value, looked_up, row_of};
use super::{Facts, block_extras, described, select_facts, shown, shown_list};
use crate::plan::{
    AccessPath, ChangeVerb, CommonTable, Join, JoinKind, Plan, Relation, SelectPlan, SetOperation, Source,
    TableAccess, Target,
};
use crate::statistics::Statistics;
use std::borrow::Cow;
use std::fmt::Write;
use std::sync::Arc;
use types::{IndexId, TableDefinition};

/// A JSON value.
enum Json {
    Text(String),
    Number(u64),
    Truth(bool),
    List(Vec<Json>),
    Object(Object),
}

type Object = Vec<(&'static str, Json)>;

/// The plan as a JSON text.
pub(super) fn text(plan: &Plan, statistics: &dyn Statistics) -> String {
    let mut blocks = Blocks { last_id: 0, common: Vec::new(), statistics };
    let block = match plan {
        Plan::Select(select) => blocks.query(select, None),
        Plan::Change(change) => {
            let update = change.verb == ChangeVerb::Update;
            let verb = if update { "update" } else { "delete" };
            blocks.query(&change.query, Some(Changed { verb, targets: &change.targets }))
        }
        Plan::Insert(insert) => {
            let table = vec![
                ("insert", Json::Truth(true)),
                ("table_name", Json::Text(insert.table.name.clone())),
                ("access_type", Json::Text("ALL".to_owned())),
            ];
            let mut block = vec![("select_id", Json::Number(1)), ("table", Json::Object(table))];
            blocks.last_id = u64::from(insert.source.is_none());
            if let Some(source) = &insert.source {
                block.push(("insert_from", Json::Object(blocks.query(source, None))));
            }
            block
        }
        Plan::Explain { plan, .. } => return text(plan, statistics),
        Plan::Update(update) => changed("update", &update.access, update.sorts(), statistics),
        Plan::Delete(delete) => changed("delete", &delete.access, delete.sorts(), statistics),
        _ => vec![("select_id", Json::Number(1))],
    };
    let mut text = String::new();
    Json::Object(vec![("query_block", Json::Object(block))]).write(&mut text, 0);
    text
}

/// The block of an UPDATE or DELETE of one table.
fn changed(verb: &'static str, access: &TableAccess, sorts: bool, statistics: &dyn Statistics) -> Object {
    let facts = Facts { access: Some(Cow::Borrowed(access)), ..Facts::new("SIMPLE") };
    let mut table = vec![(verb, Json::Truth(true))];
    table.extend(table_of(&facts, statistics));
    let table = vec![("table", Json::Object(table))];
    let mut block = vec![("select_id", Json::Number(1))];
    block.extend(if sorts { ordered(table) } else { table });
    block
}

fn ordered(inner: Object) -> Object {
    let mut operation = vec![("using_filesort", Json::Truth(true))];
    operation.extend(inner);
    vec![("ordering_operation", Json::Object(operation))]
}

/// A change of rows that a query finds.
#[derive(Clone, Copy)]
struct Changed<'p> {
    verb: &'static str,
    targets: &'p [Target],
}

/// The blocks of a statement so far.
struct Blocks<'p> {
    last_id: u64,
    /// Common table expressions, and the block of each that was shown.
    common: Vec<(&'p CommonTable, Option<u64>)>,
    statistics: &'p dyn Statistics,
}

/// The queries in the expressions of a block.
type Subqueries = Vec<Json>;

impl<'p> Blocks<'p> {
    /// A block; some of its tables may be changed.
    fn query(&mut self, select: &'p SelectPlan, changed: Option<Changed<'_>>) -> Object {
        if let Source::Joined { relation: Relation::Locked(locked), .. } = &select.source {
            return self.query(&locked.query, changed);
        }
        self.last_id += 1;
        let mut block = vec![("select_id", Json::Number(self.last_id))];
        let mut subqueries = Vec::new();
        let mut inner = self.rows(select, changed, &mut subqueries);
        if let Some(over_groups) = &select.over_groups {
            self.tables(over_groups, None, &mut subqueries);
        }
        let extras = block_extras(select);
        let groups = select.grouping.as_ref().is_some_and(|grouping| !grouping.group_by.is_empty());
        let wrap = |name: &'static str, inner: Object| {
            let mut operation = vec![("using_temporary_table", Json::Truth(true))];
            operation.extend(inner);
            vec![(name, Json::Object(operation))]
        };
        if groups {
            inner = wrap("grouping_operation", inner);
        }
        if select.windows.is_some() {
            inner = wrap("windowing", inner);
        }
        if select.distinct {
            inner = wrap("duplicates_removal", inner);
        }
        if extras.contains(&"Using filesort") {
            inner = ordered(inner);
        }
        block.append(&mut inner);
        if !subqueries.is_empty() {
            block.push(("attached_subqueries", Json::List(subqueries)));
        }
        block
    }

    fn rows(
        &mut self,
        select: &'p SelectPlan,
        changed: Option<Changed<'_>>,
        subqueries: &mut Subqueries,
    ) -> Object {
        let mut tables = match &select.source {
            Source::Nothing => return vec![("message", Json::Text("No tables used".to_owned()))],
            Source::Table(_) => vec![table_of(&select_facts(select), self.statistics)],
            Source::Joined { relation: Relation::Set(set), .. } => return self.union(set),
            Source::Joined { relation, .. } => self.tables(relation, None, subqueries),
        };
        if let Some(Changed { verb, targets }) = changed {
            for table in &mut tables {
                let is_target = |target: &Target| {
                    let is_name = |(key, value): &(&str, Json)| {
                        *key == "table_name"
                            && matches!(value, Json::Text(name) if *name == target.found.alias)
                    };
                    table.iter().any(is_name)
                };
                if targets.iter().any(is_target) {
                    table.insert(0, (verb, Json::Truth(true)));
                }
            }
        }
        if tables.len() == 1 {
            if tables[0].iter().any(|(name, _)| *name == "union_result") {
                return tables.pop().unwrap_or_default();
            }
            return tables.pop().map(|table| vec![("table", Json::Object(table))]).unwrap_or_default();
        }
        let tables = tables.into_iter().map(|table| Json::Object(vec![("table", Json::Object(table))]));
        vec![("nested_loop", Json::List(tables.collect()))]
    }

    fn union(&mut self, set: &'p SetOperation) -> Object {
        let queries = set.branches.iter().map(|branch| self.nested(&branch.query, false)).collect();
        let union = vec![
            ("using_temporary_table", Json::Truth(set.compared_count() > 0)),
            ("query_specifications", Json::List(queries)),
        ];
        vec![("union_result", Json::Object(union))]
    }

    fn nested(&mut self, select: &'p SelectPlan, is_dependent: bool) -> Json {
        Json::Object(vec![
            ("dependent", Json::Truth(is_dependent)),
            ("cacheable", Json::Truth(!is_dependent)),
            ("query_block", Json::Object(self.query(select, None))),
        ])
    }

    fn materialized(&mut self, select: &'p SelectPlan, is_dependent: bool) -> (&'static str, Json) {
        let mut query = vec![("using_temporary_table", Json::Truth(true))];
        if let Json::Object(nested) = self.nested(select, is_dependent) {
            query.extend(nested);
        }
        ("materialized_from_subquery", Json::Object(query))
    }

    /// The tables of a relation, in the order in which they are read.
    fn tables(
        &mut self,
        relation: &'p Relation,
        join: Option<&'p Join>,
        subqueries: &mut Subqueries,
    ) -> Vec<Object> {
        let named = |name: &str| {
            let name = ("table_name", Json::Text(name.to_owned()));
            vec![name, ("access_type", Json::Text("ALL".to_owned()))]
        };
        let mut tables = match relation {
            Relation::Groups => return Vec::new(),
            Relation::One | Relation::Values(_) => {
                return vec![vec![("message", Json::Text("No tables used".to_owned()))]];
            }
            Relation::Scan(scan) => {
                let facts = scan_facts(&scan.access, join);
                vec![table_of(&facts, self.statistics)]
            }
            Relation::Virtual(read) => {
                let mut table = named(&read.alias);
                if let Some(filter) = &read.filter {
                    table.push(("attached_condition", Json::Text(shown(filter, Some(&read.definition)))));
                }
                vec![table]
            }
            Relation::Derived(derived) => {
                let mut table = named(&derived.alias);
                let is_dependent = join.is_some_and(|join| !join.outer.is_empty());
                table.push(self.materialized(&derived.plan, is_dependent));
                vec![table]
            }
            Relation::Set(set) => vec![self.union(set)],
            Relation::Locked(locked) => {
                let own = self.rows(&locked.query, None, subqueries);
                return vec![own];
            }
            Relation::Common(read) => {
                let mut table = named(&read.alias);
                let known = self.common.iter().position(|(common, _)| common.number == read.number);
                if let Some(position) = known {
                    table.push(self.common_table(position));
                }
                vec![table]
            }
            Relation::With { tables, input } => {
                self.common.extend(tables.iter().map(|table: &Arc<CommonTable>| (&**table, None)));
                self.tables(input, join, subqueries)
            }
            Relation::Filter { input, conditions } => {
                let mut tables = self.tables(input, join, subqueries);
                if let Some(last) = tables.last_mut() {
                    let condition = shown_list(conditions, Some(&row_of(input))).replace(", ", " and ");
                    last.push(("attached_condition", Json::Text(condition)));
                }
                return tables;
            }
            Relation::Join(own) => return self.joined(own, join, subqueries),
        };
        let gathered = join.filter(|join| join.lookup.is_none());
        if let (Some(join), Some(first)) = (gathered, tables.first_mut()) {
            let kind = if join.keys.is_empty() { "nested loop" } else { "hash join" };
            first.push(("using_join_buffer", Json::Text(kind.to_owned())));
            if let Some(condition) = &join.condition {
                let mut row = row_of(&join.left);
                row.columns.extend(row_of(&join.right).columns);
                first.push(("attached_condition", Json::Text(shown(condition, Some(&row)))));
            }
        }
        tables
    }

    fn joined(&mut self, own: &'p Join, join: Option<&'p Join>, subqueries: &mut Subqueries) -> Vec<Object> {
        let mut tables = if is_value(own) { Vec::new() } else { self.tables(&own.left, join, subqueries) };
        match (&own.right, own.kind) {
            (Relation::Derived(derived), JoinKind::Mark | JoinKind::Single) => {
                subqueries.push(self.nested(&derived.plan, !own.outer.is_empty()));
            }
            (right, _) => tables.append(&mut self.tables(right, Some(own), subqueries)),
        }
        if let Some(derived) = own.apply.as_ref().and_then(|apply| applied_query(&apply.right)) {
            subqueries.push(self.nested(&derived.plan, true));
        }
        tables
    }

    /// The query of a common table expression where it is read first; later its block.
    fn common_table(&mut self, position: usize) -> (&'static str, Json) {
        let (common, shown) = self.common[position];
        if let Some(id) = shown {
            let block = vec![("select_id", Json::Number(id))];
            return ("sharing_temporary_table_with", Json::Object(block));
        }
        self.common[position].1 = Some(self.last_id + 1);
        let (name, mut query) = self.materialized(&common.query, false);
        let steps = common.recursion.iter().flat_map(|recursion| &recursion.steps);
        let steps: Vec<Json> = steps.map(|step| self.nested(step, true)).collect();
        if let (Json::Object(query), false) = (&mut query, steps.is_empty()) {
            query.push(("recursive_query_specifications", Json::List(steps)));
        }
        (name, query)
    }
}

fn scan_facts<'p>(access: &'p TableAccess, join: Option<&'p Join>) -> Facts<'p> {
    let mut facts = Facts::new("SIMPLE");
    match join.and_then(|join| join.lookup.as_ref()) {
        Some(lookup) => {
            facts.left = join.map(|join| row_of(&join.left));
            facts.access = Some(Cow::Owned(looked_up(lookup)));
        }
        None => facts.access = Some(Cow::Borrowed(access)),
    }
    facts
}

/// A stored table.
fn table_of(facts: &Facts<'_>, statistics: &dyn Statistics) -> Object {
    let Some(access) = facts.access.as_deref() else { return Vec::new() };
    let text = |text: &str| Json::Text(text.to_owned());
    let mut table = vec![("table_name", text(&access.alias))];
    if matches!(access.path, AccessPath::Empty) {
        table.push(("message", text("Impossible WHERE")));
        return table;
    }
    let how = described(facts, statistics);
    table.extend(how.access_type.map(|access_type| ("access_type", text(access_type))));
    if let Some(key) = &how.key {
        table.push(("possible_keys", Json::List(vec![text(key)])));
        table.push(("key", text(key)));
        table.push(("used_key_parts", Json::List(key_parts(access, how.parts))));
    }
    table.extend(how.key_length.map(|length| ("key_length", Json::Text(length.to_string()))));
    if let Some(reference) = &how.reference {
        table.push(("ref", Json::List(reference.split(',').map(text).collect())));
    }
    table.extend(how.row_count.map(|count| ("rows_examined_per_scan", Json::Number(count))));
    table.push(("filtered", Json::Text(format!("{:.2}", how.filtered))));
    if let Some(filter) = &access.filter {
        table.push(("attached_condition", Json::Text(shown(filter, Some(&access.table)))));
    }
    table
}

/// Names of the first columns of the key.
fn key_parts(access: &TableAccess, count: usize) -> Vec<Json> {
    let table: &TableDefinition = &access.table;
    let index = match &access.path {
        AccessPath::PrimaryKeys(_) | AccessPath::Empty => IndexId(0),
        AccessPath::UniqueKeys { index, .. } | AccessPath::Ranges { index, .. } => *index,
    };
    let parts = table.index(index).map(|index| index.parts.as_slice()).unwrap_or_default();
    parts.iter().take(count).map(|part| Json::Text(table.column_at(part.column).name.clone())).collect()
}

impl Json {
    /// As MySQL prints it: a line for each member, two spaces deeper than what it is in.
    fn write(&self, text: &mut String, depth: usize) {
        // Writing to a String cannot fail.
        let line = |text: &mut String, depth: usize| {
            let _ = write!(text, "\n{:width$}", "", width = depth * 2);
        };
        match self {
            Json::Text(string) => write_text(string, text),
            Json::Number(number) => {
                let _ = write!(text, "{number}");
            }
            Json::Truth(truth) => {
                let _ = write!(text, "{truth}");
            }
            Json::List(items) => {
                text.push('[');
                for (position, item) in items.iter().enumerate() {
                    text.push_str(if position > 0 { "," } else { "" });
                    line(text, depth + 1);
                    item.write(text, depth + 1);
                }
                line(text, depth);
                text.push(']');
            }
            Json::Object(members) => {
                text.push('{');
                for (position, (name, value)) in members.iter().enumerate() {
                    text.push_str(if position > 0 { "," } else { "" });
                    line(text, depth + 1);
                    let _ = write!(text, "\"{name}\": ");
                    value.write(text, depth + 1);
                }
                line(text, depth);
                text.push('}');
            }
        }
    }
}

fn write_text(string: &str, text: &mut String) {
    text.push('"');
    for character in string.chars() {
        match character {
            '"' | '\\' => {
                text.push('\\');
                text.push(character);
            }
            '\n' => text.push_str("\\n"),
            '\t' => text.push_str("\\t"),
            '\r' => text.push_str("\\r"),
            control if control < ' ' => {
                let _ = write!(text, "\\u{:04x}", u32::from(control));
            }
            other => text.push(other),
        }
    }
    text.push('"');
}
