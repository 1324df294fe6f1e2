//! Tells which plans are chains of keys. They read one row of each of two to four tables, by a whole primary key. It is
//! made of parameters and of columns of the tables before it: `SELECT … FROM a JOIN b ON b.id = a.b_id WHERE a.id = ?`.
//!
//! It is found once per plan; `session::chain` runs it. A chain has one row at most: ORDER BY and DISTINCT say nothing.

use expression::Expression;
use planner::plan::{
    AccessPath, Binding, Join, JoinKind, KeyTemplate, Plan, Prepared, Relation, Scan, SessionValue, Source,
    TableAccess,
};
use types::{ColumnIndex, TableId};

/// Tables of a chain.
const LINKS_MAX: usize = 4;

/// All that it takes to run one.
#[derive(Clone, Debug)]
pub(crate) struct KeyChain {
    pub(crate) links: Vec<Link>,
    /// The items, as positions in the row of all links.
    pub(crate) items: Vec<usize>,
    /// Parameters behind those of the statement: values of rows stand in them.
    pub(crate) outer_count: usize,
}

/// One table.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub(crate) table: TableId,
    pub(crate) version: u32,
    pub(crate) key: KeyTemplate,
    /// The values of the row so far that the key reads.
    pub(crate) bindings: Vec<Binding>,
    /// Over the table's whole row.
    pub(crate) filter: Option<Expression>,
    /// The columns that it adds to the row.
    pub(crate) columns: Vec<ColumnIndex>,
    /// Over the row with these columns.
    pub(crate) condition: Option<Expression>,
    /// Without a row of this table its columns are NULL.
    pub(crate) is_optional: bool,
    /// Over the row with these columns or their NULLs.
    pub(crate) above: Vec<Expression>,
}

impl KeyChain {
    /// The chain that a plan is, if it is one.
    pub(crate) fn of(prepared: &Prepared) -> Option<Box<Self>> {
        let Plan::Select(plan) = &prepared.plan else { return None };
        let Source::Joined { relation, filter } = &plan.source else { return None };
        let is_of_row = |value: &SessionValue| *value == SessionValue::Outer;
        let is_plain = plan.grouping.is_none()
            && plan.over_groups.is_none()
            && plan.windows.is_none()
            && plan.having.is_none()
            && plan.lock.is_none()
            && plan.limit.count.is_none()
            && plan.limit.offset.is_none()
            && !plan.counts_found
            && !prepared.is_volatile
            && prepared.session_values.iter().all(is_of_row)
            && prepared.into.is_empty()
            && !prepared.analyzes;
        if !is_plain {
            return None;
        }
        let mut links = Vec::with_capacity(LINKS_MAX);
        add_links(relation, &mut links)?;
        links.last_mut()?.above.extend(filter.iter().cloned());
        let items = plan.projection.iter().map(|item| item.as_column().map(|slot| slot.index()));
        let items = items.collect::<Option<Vec<_>>>()?;
        let outer_count = prepared.session_values.len();
        (2..=LINKS_MAX).contains(&links.len()).then(|| Box::new(Self { links, items, outer_count }))
    }
}

/// Adds the tables of a relation; None: it is no chain.
fn add_links(relation: &Relation, links: &mut Vec<Link>) -> Option<()> {
    if links.len() > LINKS_MAX {
        return None;
    }
    if let Relation::Filter { input, conditions } = relation {
        add_links(input, links)?;
        links.last_mut()?.above.extend(conditions.iter().cloned());
        return Some(());
    }
    if let Relation::Scan(scan) = relation {
        links.push(link(scan, &scan.access, None)?);
        return Some(());
    }
    let Relation::Join(join) = relation else { return None };
    let Relation::Scan(scan) = &join.right else { return None };
    let is_plain = matches!(join.kind, JoinKind::Inner | JoinKind::Left);
    if !is_plain || !join.outer.is_empty() || join.apply.is_some() {
        return None;
    }
    add_links(&join.left, links)?;
    let access = join.lookup.as_ref().map_or(&scan.access, |lookup| &lookup.access);
    links.push(link(scan, access, Some(join))?);
    Some(())
}

fn link(scan: &Scan, access: &TableAccess, join: Option<&Join>) -> Option<Link> {
    let AccessPath::PrimaryKeys(keys) = &access.path else { return None };
    let [key] = keys.as_slice() else { return None };
    let lookup = join.and_then(|join| join.lookup.as_ref());
    Some(Link {
        table: access.table.id,
        version: access.table.version,
        key: key.clone(),
        bindings: lookup.map(|lookup| lookup.bindings.clone()).unwrap_or_default(),
        filter: access.filter.clone(),
        columns: scan.columns.clone(),
        condition: join.and_then(|join| join.condition.clone()),
        is_optional: join.is_some_and(|join| join.kind == JoinKind::Left),
        above: Vec::new(),
    })
}
