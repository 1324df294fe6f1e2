//! EXPLAIN of joins and derived tables.

use super::{Facts, Part, Tree, block_extras, path_line, shown};
use crate::bind::result_table;
use crate::plan::{
    AccessPath, CommonTable, Derived, Equals, Join, JoinKind, LockedQuery, Lookup, Reads, Relation,
    SelectPlan, SetOperation, SetVerb, Source, TableAccess,
};
use expression::{ColumnSlot, Expression, Node};
use protocol::program::LockMode;
use std::borrow::Cow;
use std::sync::Arc;
use types::{SqlType, TableDefinition};

/// The rows of a relation as a table: its columns are named `alias.column`.
pub(super) fn row_of(relation: &Relation) -> TableDefinition {
    let columns: Vec<(String, SqlType)> =
        names_of(relation).into_iter().map(|name| (name, SqlType::Null)).collect();
    result_table(&columns)
}

fn names_of(relation: &Relation) -> Vec<String> {
    match relation {
        Relation::One | Relation::Groups => vec![String::new()],
        Relation::Scan(scan) => {
            let name = |column| format!("{}.{}", scan.access.alias, scan.access.table.column_at(column).name);
            scan.columns.iter().copied().map(name).collect()
        }
        Relation::Derived(derived) => {
            derived.names.iter().map(|name| format!("{}.{name}", derived.alias)).collect()
        }
        Relation::Set(set) => set.names.clone(),
        Relation::Locked(locked) => {
            let mut items = super::projection(&locked.query);
            items.truncate(locked.width);
            items
        }
        Relation::Values(values) => values.names.clone(),
        Relation::Common(read) => read.names.iter().map(|name| format!("{}.{name}", read.alias)).collect(),
        Relation::Virtual(read) => {
            let columns = read.definition.columns.iter();
            columns.map(|column| format!("{}.{}", read.alias, column.name)).collect()
        }
        Relation::Join(join) => {
            let mut names = names_of(&join.left);
            match join.kind {
                JoinKind::Inner | JoinKind::Left => names.extend(names_of(&join.right)),
                JoinKind::Semi | JoinKind::Anti => {}
                JoinKind::Mark | JoinKind::Single => names.push("(subquery)".to_owned()),
            }
            names
        }
        Relation::Filter { input, .. } | Relation::With { input, .. } => names_of(input),
    }
}

impl Tree<'_> {
    pub(super) fn relation(&mut self, relation: &Relation) {
        self.gives(relation, Part::Whole);
        match relation {
            Relation::One | Relation::Values(_) => self.step("Rows fetched before execution"),
            Relation::Groups => self.step("Groups"),
            Relation::Scan(scan) => self.access(&scan.access, None),
            Relation::Derived(derived) => {
                self.step(format!("Derived table {}", derived.alias));
                self.select(&derived.plan);
            }
            Relation::Set(set) => self.set_operation(set),
            Relation::Locked(locked) => self.locked(locked),
            Relation::Common(read) => self.step(format!("Rows of common table {}", read.alias)),
            Relation::Virtual(read) => {
                if let Some(filter) = &read.filter {
                    self.step(format!("Filter: {}", shown(filter, Some(&read.definition))));
                }
                self.step(format!("Table scan on {}.{}", read.table.database, read.table.name));
            }
            Relation::With { tables, input } => self.with(tables, input),
            Relation::Filter { input, conditions } => {
                self.filters(conditions, Some(&row_of(input)));
                self.relation(input);
            }
            Relation::Join(join) => self.join(join),
        }
    }

    fn locked(&mut self, locked: &LockedQuery) {
        let of = |mode: LockMode| {
            let tables = locked.tables.iter().filter(|(_, lock)| lock.0 == mode);
            tables.map(|(table, _)| table.alias.as_str()).collect::<Vec<_>>().join(", ")
        };
        for (mode, how) in [(LockMode::Exclusive, "exclusively"), (LockMode::Shared, "shared")] {
            let tables = of(mode);
            if !tables.is_empty() {
                self.step(format!("Lock rows of {tables} {how}"));
            }
        }
        self.select(&locked.query);
    }

    /// The reader, then what it reads.
    fn with(&mut self, tables: &[Arc<CommonTable>], input: &Relation) {
        let depth = self.depth;
        self.relation(input);
        for table in tables {
            self.depth = depth;
            let reads = if table.reads == Reads::Once { "" } else { ", kept" };
            self.step(format!("Common table {}{reads}", table.name));
            self.select(&table.query);
            for step in table.recursion.iter().flat_map(|recursion| &recursion.steps) {
                self.depth = depth + 1;
                self.step("Repeat");
                self.select(step);
            }
        }
        self.depth = depth;
    }

    /// Branch by branch, each behind what is done with it.
    fn set_operation(&mut self, set: &SetOperation) {
        self.step("Rows of queries");
        let depth = self.depth;
        for (position, branch) in set.branches.iter().enumerate() {
            self.depth = depth;
            if position > 0 {
                let verb = match branch.step.verb {
                    SetVerb::Union => "Union",
                    SetVerb::Intersect => "Intersect",
                    SetVerb::Except => "Except",
                };
                let all = if branch.step.equals == Equals::Kept { " all" } else { "" };
                self.step(format!("{verb}{all}"));
            }
            self.select(&branch.query);
        }
        self.depth = depth;
    }

    fn join(&mut self, join: &Join) {
        let mut row = row_of(&join.left);
        row.columns.extend(row_of(&join.right).columns);
        let kind = match join.kind {
            JoinKind::Inner => "inner",
            JoinKind::Left => "left",
            JoinKind::Semi => "semi",
            JoinKind::Anti => "anti",
            JoinKind::Mark => "mark",
            JoinKind::Single => "single",
        };
        let dependent = if join.outer.is_empty() { "" } else { "dependent " };
        let how = if join.lookup.is_none() && !join.keys.is_empty() { "hash" } else { "nested loop" };
        let on = join.condition.as_ref().map(|condition| format!(" on {}", shown(condition, Some(&row))));
        let left_rows_max = join.lookup.as_ref().and_then(|lookup| lookup.left_rows_max);
        let beyond = left_rows_max.map(|count| format!(", by hash beyond {count} rows"));
        let (on, beyond) = (on.unwrap_or_default(), beyond.unwrap_or_default());
        self.step(format!("{dependent}{kind} {how} join{on}{beyond}"));
        let depth = self.depth;
        self.relation(&join.left);
        self.depth = depth;
        match (&join.lookup, &join.right) {
            (Some(lookup), Relation::Scan(_)) => {
                self.gives(&join.right, Part::Whole);
                let access = looked_up(lookup);
                if let Some(filter) = &access.filter {
                    self.step(format!("Filter: {}", shown(filter, Some(&access.table))));
                }
                self.path(&access, path_line(&access, None, Some(&row_of(&join.left))));
            }
            (_, right) => self.relation(right),
        }
        if let Some(apply) = &join.apply {
            self.depth = depth;
            self.step(format!("Instead, for each of the first {} rows", apply.left_rows_max));
            self.relation(&apply.right);
        }
        self.depth = depth;
    }
}

/// A row that is the value of a subquery.
pub(super) fn is_value(join: &Join) -> bool {
    join.kind == JoinKind::Single && matches!(join.left, Relation::One)
}

/// The query that runs for each left row.
pub(super) fn applied_query(relation: &Relation) -> Option<&Derived> {
    if let Relation::Filter { input, .. } = relation {
        return applied_query(input);
    }
    if let Relation::Derived(derived) = relation { Some(derived) } else { None }
}

/// The access by a lookup; its keys read columns of the left row.
pub(super) fn looked_up(lookup: &Lookup) -> TableAccess {
    let mut access = lookup.access.clone();
    let mut unbind = |expression: &mut Expression| unbound(expression, lookup);
    match &mut access.path {
        AccessPath::PrimaryKeys(keys) | AccessPath::UniqueKeys { keys, .. } => {
            keys.iter_mut().flatten().for_each(unbind);
        }
        AccessPath::Ranges { ranges, .. } => {
            for range in ranges {
                range.equal.iter_mut().for_each(&mut unbind);
                range.lower.iter_mut().chain(&mut range.upper).for_each(|(bound, _)| unbind(bound));
            }
        }
        AccessPath::Empty => {}
    }
    access
}

fn unbound(expression: &mut Expression, lookup: &Lookup) {
    if let Node::Parameter(number) = expression.node
        && let Some(binding) = lookup.bindings.iter().find(|binding| binding.parameter == number)
    {
        expression.node = Node::Column(ColumnSlot(u16::try_from(binding.position).unwrap_or(u16::MAX)));
    }
    for operand in expression.operands_mut() {
        unbound(operand, lookup);
    }
}

/// EXPLAIN's rows of a SELECT from relations: those of its own tables, then those of its derived tables.
pub(super) fn facts_of(select: &SelectPlan) -> Vec<Facts<'_>> {
    if let Source::Joined { relation: Relation::Locked(locked), .. } = &select.source {
        return facts_of(&locked.query);
    }
    let mut queue = vec![(1, "PRIMARY", select)];
    let mut rows = Vec::new();
    let mut last_id = 1;
    let mut next = 0;
    while let Some((id, select_type, select)) = queue.get(next).copied() {
        next += 1;
        let mut id_of = |select_type, query| {
            last_id += 1;
            queue.push((last_id, select_type, query));
            last_id
        };
        let mut own = match &select.source {
            Source::Joined { relation, filter } => {
                let mut own = Vec::new();
                leaves(relation, None, &mut own, &mut id_of);
                if let Some(last) = own.last_mut().filter(|_| !filter.is_empty()) {
                    last.extra.push("Using where");
                }
                let block = block_extras(select);
                if let Some(first) = own.first_mut() {
                    first.extra.extend(block);
                }
                own
            }
            Source::Nothing | Source::Table(_) => vec![super::select_facts(select)],
        };
        for row in &mut own {
            row.id = id;
            row.select_type = select_type;
        }
        if let Some(over_groups) = &select.over_groups {
            leaves(over_groups, None, &mut Vec::new(), &mut id_of);
        }
        rows.append(&mut own);
    }
    if last_id == 1 {
        rows.iter_mut().for_each(|row| row.select_type = "SIMPLE");
    }
    rows
}

fn leaves<'p>(
    relation: &'p Relation,
    join: Option<&'p Join>,
    rows: &mut Vec<Facts<'p>>,
    id_of: &mut dyn FnMut(&'static str, &'p SelectPlan) -> u64,
) {
    let gathered = join.filter(|join| join.lookup.is_none()).map(|join| match join.keys.is_empty() {
        true => "Using join buffer (nested loop)",
        false => "Using join buffer (hash join)",
    });
    match relation {
        Relation::Groups => {}
        Relation::Common(read) => {
            let mut facts = Facts::new("SIMPLE");
            facts.name = Some(read.alias.clone());
            facts.extra.extend(gathered);
            rows.push(facts);
        }
        Relation::Virtual(read) => {
            let mut facts = Facts::new("SIMPLE");
            facts.name = Some(read.alias.clone());
            facts.extra.extend(read.filter.as_ref().map(|_| "Using where"));
            facts.extra.extend(gathered);
            rows.push(facts);
        }
        Relation::With { tables, input } => {
            leaves(input, join, rows, id_of);
            for table in tables {
                id_of("DERIVED", &table.query);
                for step in table.recursion.iter().flat_map(|recursion| &recursion.steps) {
                    id_of("UNION", step);
                }
            }
        }
        Relation::One | Relation::Values(_) => {
            let mut facts = Facts::new("SIMPLE");
            facts.extra.push("No tables used");
            rows.push(facts);
        }
        Relation::Scan(scan) => {
            let mut facts = Facts::new("SIMPLE");
            facts.extra.extend(scan.access.filter.as_ref().map(|_| "Using where"));
            facts.extra.extend(gathered);
            match join.and_then(|join| join.lookup.as_ref()) {
                Some(lookup) => {
                    facts.left = join.map(|join| row_of(&join.left));
                    facts.access = Some(Cow::Owned(looked_up(lookup)));
                }
                None => facts.access = Some(Cow::Borrowed(&scan.access)),
            }
            rows.push(facts);
        }
        Relation::Derived(derived) => {
            let mut facts = Facts::new("SIMPLE");
            let select_type = if is_lateral(join) { "DEPENDENT DERIVED" } else { "DERIVED" };
            facts.name = Some(format!("<derived{}>", id_of(select_type, &derived.plan)));
            facts.extra.extend(gathered);
            rows.push(facts);
        }
        Relation::Locked(locked) => {
            id_of("SUBQUERY", &locked.query);
        }
        Relation::Set(set) => {
            let mut facts = Facts::new("SIMPLE");
            let ids: Vec<String> =
                set.branches.iter().map(|branch| id_of("UNION", &branch.query).to_string()).collect();
            facts.name = Some(format!("<union{}>", ids.join(",")));
            facts.extra.extend((set.compared_count() > 0).then_some("Using temporary"));
            facts.extra.extend(gathered);
            rows.push(facts);
        }
        Relation::Filter { input, .. } => {
            leaves(input, join, rows, id_of);
            if let Some(last) = rows.last_mut().filter(|last| !last.extra.contains(&"Using where")) {
                last.extra.insert(0, "Using where");
            }
        }
        Relation::Join(own) => {
            if !is_value(own) {
                leaves(&own.left, join, rows, id_of);
            }
            match (&own.right, own.kind) {
                (Relation::Derived(derived), JoinKind::Mark | JoinKind::Single) => {
                    let is_dependent = !own.outer.is_empty() || is_lateral(join);
                    let select_type = if is_dependent { "DEPENDENT SUBQUERY" } else { "SUBQUERY" };
                    id_of(select_type, &derived.plan);
                }
                (right, _) => leaves(right, Some(own), rows, id_of),
            }
            if let Some(derived) = own.apply.as_ref().and_then(|apply| applied_query(&apply.right)) {
                id_of("DEPENDENT DERIVED", &derived.plan);
            }
        }
    }
}

/// Whether the right side of a join reads its left rows.
fn is_lateral(join: Option<&Join>) -> bool {
    join.is_some_and(|join| !join.outer.is_empty())
}
