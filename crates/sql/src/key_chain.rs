//! Tells which plans are chains of keys. They read one row of each of one to four tables, by a whole primary or unique
//! key. It is made of parameters and of columns of the tables before it: `SELECT … FROM a JOIN b ON b.id = a.b_id WHERE
//! a.name = ?`.
//!
//! It is found once per plan; `session::chain` runs it. A chain has one row at most: ORDER BY and DISTINCT say nothing.
//! One table by its primary key without another condition is a point select.

use expression::Expression;
use planner::plan::{
    AccessPath, Binding, Join, JoinKind, KeyTemplate, Plan, Prepared, Relation, SessionValue, Source,
    TableAccess,
};
use types::{ColumnIndex, IndexId, IndexKind, TableId};

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
    /// The unique index that the key is of, and its hidden table; None: it is the primary key.
    pub(crate) unique: Option<(IndexId, TableId)>,
    pub(crate) key: KeyTemplate,
    /// The values of the row so far that the key reads.
    pub(crate) bindings: Vec<Binding>,
    /// Over the table's whole row. Beside a unique key it says all that is asked of the row, the key too.
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
        let is_of_row = |value: &SessionValue| *value == SessionValue::Outer;
        let is_plain = plan.gives_rows_as_found()
            && plan.over_groups.is_none()
            && !plan.counts_found
            && !prepared.is_volatile
            && prepared.session_values.iter().all(is_of_row)
            && prepared.sends_rows_of_select();
        if !is_plain {
            return None;
        }
        let items = plan.projection.iter().map(|item| item.as_column().map(|slot| slot.index()));
        let mut items = items.collect::<Option<Vec<_>>>()?;
        let mut links = Vec::with_capacity(LINKS_MAX);
        match &plan.source {
            Source::Joined { relation, filter } => {
                add_links(relation, &mut links)?;
                links.last_mut()?.above.extend(filter.iter().cloned());
            }
            Source::Table(access) => {
                let columns = columns_of(&mut items)?;
                links.push(link(access, columns, None)?);
            }
            Source::Nothing => return None,
        }
        let outer_count = prepared.session_values.len();
        (links.len() <= LINKS_MAX).then(|| Box::new(Self { links, items, outer_count }))
    }
}

/// The columns that items name, each once; the items then are positions among them.
fn columns_of(items: &mut [usize]) -> Option<Vec<ColumnIndex>> {
    let mut columns = Vec::with_capacity(items.len());
    for item in items {
        let column = ColumnIndex(u16::try_from(*item).ok()?);
        *item = columns.iter().position(|known| *known == column).unwrap_or(columns.len());
        if *item == columns.len() {
            columns.push(column);
        }
    }
    Some(columns)
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
        links.push(link(&scan.access, scan.columns.clone(), None)?);
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
    links.push(link(access, scan.columns.clone(), Some(join))?);
    Some(())
}

fn link(access: &TableAccess, columns: Vec<ColumnIndex>, join: Option<&Join>) -> Option<Link> {
    let (unique, keys) = match &access.path {
        AccessPath::PrimaryKeys(keys) => (None, keys),
        AccessPath::UniqueKeys { index, keys } => {
            let IndexKind::Unique { table } = access.table.index(*index)?.kind else { return None };
            (Some((*index, table)), keys)
        }
        AccessPath::Ranges { .. } | AccessPath::Empty => return None,
    };
    let [key] = keys.as_slice() else { return None };
    let lookup = join.and_then(|join| join.lookup.as_ref());
    Some(Link {
        table: access.table.id,
        version: access.table.version,
        unique,
        key: key.clone(),
        bindings: lookup.map(|lookup| lookup.bindings.clone()).unwrap_or_default(),
        filter: access.filter.clone(),
        columns,
        condition: join.and_then(|join| join.condition.clone()),
        is_optional: join.is_some_and(|join| join.kind == JoinKind::Left),
        above: Vec::new(),
    })
}
